"""Dtypes, and in which dtype two of them meet: in PyTorch, NumPy and JAX, as data that the engine and widgets read.

A dtype *is* a NumPy dtype, so ``tensor.dtype == np.float32`` and ``tensor.dtype == tinygrad_edu.float32`` both hold.
"""

from __future__ import annotations

from typing import Any, NamedTuple

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
    import ml_dtypes  # takes 3 ms, so only programs that use it pay for it

    return np.dtype(ml_dtypes.bfloat16)


def __getattr__(name: str) -> Any:
    if name == "bfloat16":
        globals()["bfloat16"] = dtype = _load_bfloat16()
        return dtype
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


NAMES = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64")
_SHORT = dict(zip(("b", "u1", "i1", "i2", "i4", "i8", "f2", "bf", "f4", "f8"), NAMES, strict=True))

# Row meets column. Rows and columns are in the order of NAMES; "--" is a pair that the framework refuses.
_TORCH_GRID = """
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
"""
_NUMPY_GRID = """
    b  u1 i1 i2 i4 i8 f2 bf f4 f8
    u1 u1 i2 i2 i4 i8 f2 bf f4 f8
    i1 i2 i1 i2 i4 i8 f2 bf f4 f8
    i2 i2 i2 i2 i4 i8 f4 -- f4 f8
    i4 i4 i4 i4 i4 i8 f8 -- f8 f8
    i8 i8 i8 i8 i8 i8 f8 -- f8 f8
    f2 f2 f2 f4 f8 f8 f2 -- f4 f8
    bf bf bf -- -- -- -- bf f4 f8
    f4 f4 f4 f4 f8 f8 f4 f4 f4 f8
    f8 f8 f8 f8 f8 f8 f8 f8 f8 f8
"""


class Promotion(NamedTuple):
    """How dtypes meet in one framework. The engine reads it, and widgets draw it."""

    grid: dict[tuple[str, str], str]  # two tensors; "" where the framework refuses
    zero_dim_yields: bool  # does a 0-d tensor count by its kind alone, as a Python number does?
    products_mix: bool  # may the operands of a matrix product differ in dtype?
    integers_average: bool  # do integers have a mean, a variance, a softmax?
    python_float: str  # what integers become next to a Python float; "" is the default dtype
    exp_of: dict[str, str]  # what integers and bools become under exp and the like; "" is the default dtype
    quotient_of: dict[str, str]  # what they become under true division
    source: str


def _grid(text: str) -> dict[tuple[str, str], str]:
    return {
        (NAMES[i], NAMES[j]): _SHORT.get(cell, "")
        for i, row in enumerate(text.strip().splitlines())
        for j, cell in enumerate(row.split())
    }


def _of_integers(cells: str) -> dict[str, str]:
    return dict(zip(NAMES[:6], (_SHORT.get(cell, "") for cell in cells.split()), strict=True))


PROMOTIONS = {
    "torch": Promotion(
        _grid(_TORCH_GRID),
        zero_dim_yields=True, products_mix=False, integers_average=False, python_float="",
        exp_of=_of_integers("-- -- -- -- -- --"), quotient_of=_of_integers("-- -- -- -- -- --"),
        source="PyTorch 2.13: torch.promote_types, torch.result_type",
    ),
    "numpy": Promotion(
        _grid(_NUMPY_GRID),
        zero_dim_yields=False, products_mix=True, integers_average=True, python_float="float64",
        exp_of=_of_integers("f2 f2 f2 f4 f8 f8"), quotient_of=_of_integers("f8 f8 f8 f8 f8 f8"),
        source="NumPy 2.4 (NEP 50) with ml_dtypes 0.5: numpy.promote_types",
    ),
    "jax": Promotion(
        _grid(_TORCH_GRID),  # for these dtypes JAX's lattice, with 64-bit types enabled, has the same joins
        zero_dim_yields=False, products_mix=True, integers_average=True, python_float="float64",
        exp_of=_of_integers("f4 f4 f4 f4 f4 f8"), quotient_of=_of_integers("f4 f4 f4 f4 f4 f8"),
        source="JAX 0.10 with jax_enable_x64: type promotion semantics",
    ),
}  # fmt: skip
_RANK = {"b": 0, "u": 1, "i": 1, "f": 2, "V": 2}  # bool < integer < float; NumPy files bfloat16 under V


def as_dtype(dtype: Any) -> np.dtype[Any]:
    """The dtype meant by ``dtype``: a NumPy dtype, its name (``"bfloat16"`` too), or ``float``, ``int``, ``bool``.

    Python's ``float`` means float64, as in PyTorch. Raises `DtypeError` for one that the engine cannot compute with.
    """
    try:
        return _KNOWN[dtype]
    except (KeyError, TypeError):  # not asked for before, or not hashable
        found = _find(dtype)
    if isinstance(dtype, (str, type, np.dtype)):
        _KNOWN[dtype] = found
    return found


_KNOWN: dict[Any, np.dtype[Any]] = {}  # by every name that was asked for so far: the search takes microseconds


def _find(dtype: Any) -> np.dtype[Any]:
    if isinstance(dtype, str) and dtype == "bfloat16":
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


class _Floats(dict[np.dtype[Any], bool]):
    """By dtype: do gradients exist for it? Looked up, because asking a dtype for its name takes a microsecond."""

    def __missing__(self, dtype: np.dtype[Any]) -> bool:
        self[dtype] = found = dtype.kind == "f" or dtype.name == "bfloat16"
        return found


FLOATS = _Floats()


def is_float(dtype: np.dtype[Any]) -> bool:
    """Whether gradients exist for this dtype: float16, bfloat16, float32 or float64."""
    return FLOATS[dtype]


def promote(table: str, x: np.dtype[Any], y: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype in which ``x`` and ``y`` meet, by the named table. Raises `DtypeError` where it has none."""
    if x is y:
        return x
    found = PROMOTIONS[table].grid[x.name, y.name]
    if not found:
        raise DtypeError(
            f"{x.name} with {y.name}, by the rules of {table}",
            "they have no dtype in common there",
            "convert one of them first: x.to('float32')",
        )
    return as_dtype(found)


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
    """The dtype in which tensors, 0-d tensors and Python scalars meet.

    Tensors with dimensions count in full. Python scalars count only if their *kind* is higher (bool, integer, float);
    in PyTorch's table, so do 0-d tensors.
    """
    groups = (arrays, zero_dim, scalars) if PROMOTIONS[table].zero_dim_yields else ([*arrays, *zero_dim], scalars)
    result: np.dtype[Any] | None = None
    for group in groups:
        own: np.dtype[Any] | None = None
        # Floats first: int8 and uint8 meet in int16, which would spoil their meeting with float16.
        for dtype in sorted(group, key=lambda one: -_RANK[one.kind]):
            own = dtype if own is None else promote(table, own, dtype)
        if result is None or (own is not None and _RANK[own.kind] > _RANK[result.kind]):
            result = own
    if result is None:
        raise ValueError("result_type needs at least one dtype")
    return result


def real_type(table: str, dtype: np.dtype[Any], quotient: bool, default_float: np.dtype[Any]) -> np.dtype[Any]:
    """The float dtype that integers become under exp and the like, or under division; floats stay."""
    if is_float(dtype):
        return dtype
    rules = PROMOTIONS[table]
    name = (rules.quotient_of if quotient else rules.exp_of)[dtype.name]
    return as_dtype(name) if name else default_float


def meeting(
    rule: str, table: str, default: np.dtype[Any], arrays: list[Any], zero_dim: list[Any], numbers: list[type]
) -> np.dtype[Any]:
    """The dtype in which the operands of an operation meet, by one of the rules of `core.op.Op.dtypes`.

    ``arrays`` and ``zero_dim`` are dtypes of tensors, ``numbers`` types of Python scalars. Raises `DtypeError` for
    operands that have no such dtype, or none with the fractions that the operation needs.
    """
    rules = PROMOTIONS[table]
    widest = as_dtype(rules.python_float or default)
    scalars = [{bool: bool_, int: int64}.get(kind, widest) for kind in numbers]
    target = result_type(table, arrays, zero_dim, scalars)
    if rule == "floating" and not is_float(target) and not rules.integers_average:
        raise DtypeError("", f"{target} has no fractions, but the result needs them", "convert it first: x.float()")
    if rule in ("float", "quotient", "floating"):
        target = real_type(table, target, rule != "float", default)
    return target
