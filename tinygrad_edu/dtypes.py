"""Dtypes and how they meet. One table as data: the engine reads it and widgets draw it.

A dtype *is* a NumPy dtype, so ``tensor.dtype == np.float32`` and ``tensor.dtype == tinygrad_edu.float32`` both hold.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .errors import DtypeError

bool_ = np.dtype(np.bool_)
uint8 = np.dtype(np.uint8)
int8 = np.dtype(np.int8)
int16 = np.dtype(np.int16)
int32 = np.dtype(np.int32)
int64 = np.dtype(np.int64)
float16 = np.dtype(np.float16)
float32 = np.dtype(np.float32)
float64 = np.dtype(np.float64)


def _load_bfloat16() -> np.dtype[Any]:
    import ml_dtypes  # 3 ms: paid by those who use it

    return np.dtype(ml_dtypes.bfloat16)


def __getattr__(name: str) -> Any:
    if name == "bfloat16":
        globals()["bfloat16"] = dtype = _load_bfloat16()
        return dtype
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


NAMES = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64")
_SHORT = dict(zip(("b", "u1", "i1", "i2", "i4", "i8", "f2", "bf", "f4", "f8"), NAMES, strict=True))

# Row meets column. The order of rows and columns is that of NAMES.
GRIDS = {
    "torch": """
        b  u1 i1 i2 i4 i8 f2 bf f4 f8
        u1 u1 i2 i2 i4 i8 f2 bf f4 f8
        i1 i2 i1 i2 i4 i8 f2 bf f4 f8
        i2 i2 i2 i2 i4 i8 f2 bf f4 f8
        i4 i4 i4 i4 i4 i8 f2 bf f4 f8
        i8 i8 i8 i8 i8 i8 f2 bf f4 f8
        f2 f2 f2 f2 f2 f2 f2 f4 f4 f8
        bf bf bf bf bf bf f4 bf f4 f8
        f4 f4 f4 f4 f4 f4 f4 f4 f4 f8
        f8 f8 f8 f8 f8 f8 f8 f8 f8 f8
    """,
}
TABLES: dict[str, dict[tuple[str, str], str]] = {
    name: {
        (NAMES[i], NAMES[j]): _SHORT[cell]
        for i, row in enumerate(grid.strip().splitlines())
        for j, cell in enumerate(row.split())
    }
    for name, grid in GRIDS.items()
}
_RANK = {"b": 0, "u": 1, "i": 1, "f": 2, "V": 2}  # bool < integer < float; NumPy files bfloat16 under V


def as_dtype(dtype: Any) -> np.dtype[Any]:
    """The dtype meant by ``dtype``: a NumPy dtype, its name (``"bfloat16"`` too), or ``float``, ``int``, ``bool``.

    ``float`` means float32, as in PyTorch. Raises `DtypeError` for what the engine has no arithmetic for.
    """
    if dtype is float:
        return float32
    if dtype == "bfloat16":
        return _load_bfloat16()
    try:
        found = np.dtype(dtype)
    except TypeError:
        found = None
    if found is None or found.name not in NAMES:
        raise DtypeError(
            f"dtype {dtype!r}",
            f"tensors have one of the dtypes {', '.join(NAMES)}",
            "name one of them, such as 'float32'",
        )
    return found if found.isnative else np.dtype(found.type)  # files may bring the other byte order


def is_float(dtype: np.dtype[Any]) -> bool:
    """Whether gradients exist for this dtype: float16, bfloat16, float32 or float64."""
    return dtype.kind == "f" or dtype.name == "bfloat16"


def promote(table: str, x: np.dtype[Any], y: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype in which ``x`` and ``y`` meet, by the named table."""
    return x if x is y else as_dtype(TABLES[table][x.name, y.name])


def scalar_dtype(value: object, default_float: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype that a Python scalar has on its own: bool, int64 or the default float."""
    if isinstance(value, bool):
        return bool_
    return int64 if isinstance(value, int) else default_float


def result_type(
    table: str,
    arrays: list[np.dtype[Any]],
    zero_dim: list[np.dtype[Any]],
    scalars: list[np.dtype[Any]],
) -> np.dtype[Any]:
    """PyTorch's rule: arrays with dimensions first; then 0-d ones and scalars, only where their *kind* is higher."""
    result: np.dtype[Any] | None = None
    for group in (arrays, zero_dim, scalars):
        for dtype in group:
            if result is None:
                result = dtype
            elif group is arrays or _RANK[dtype.kind] > _RANK[result.kind]:
                result = promote(table, result, dtype)
        if group is zero_dim and result is not None and not arrays:
            for dtype in zero_dim:  # several 0-d tensors among themselves promote in full
                result = promote(table, result, dtype)
    if result is None:
        raise ValueError("result_type needs at least one dtype")
    return result
