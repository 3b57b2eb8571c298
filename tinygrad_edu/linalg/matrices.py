"""What every function here requires of its matrices, and the errors for others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import backends
from ..core.above import above
from ..dtypes import float32, float64, is_float
from ..errors import DeviceError, DtypeError, LinAlgError, ShapeError
from ..inputs.arguments import as_tensor

SINGULAR = (
    "is singular: some column is a sum of multiples of the others, so no matrix undoes what it does",
    "look for columns that are zero or alike, or add a little to the diagonal: A + 1e-6 * eye(n)",
)


def shown(*tensors: Any) -> str:
    """Shapes and dtypes, for errors."""
    return " and ".join(f"{tuple(x.shape)} {x.dtype}" for x in tensors)


def floats(name: str, x: Any) -> Any:
    """``x`` as a tensor. Raises `DtypeError` unless it holds 32- or 64-bit floats."""
    x = as_tensor(x)
    if x.dtype not in (float32, float64):
        why = "errors grow from step to step, and 16-bit floats begin with large ones"
        if not is_float(x.dtype):
            why = "determinants, inverses and factors are computed in floats"
        raise DtypeError(f"linalg.{name} of {shown(x)}", why, "convert it first: x.float()")
    return x


def matrices(name: str, x: Any) -> Any:
    """``x`` as a tensor of matrices, (…, m, n). Raises `ShapeError` for fewer axes, else as `floats` does."""
    x = floats(name, x)
    if x.ndim < 2:
        why, mend = "a matrix has two axes", "give it both: x.unsqueeze(-1) is a column, x.unsqueeze(0) a row"
        raise ShapeError(f"linalg.{name} of {shown(x)}", why, mend)
    return x


def square(name: str, x: Any) -> Any:
    """``x`` as a tensor of square matrices, (…, n, n). Raises `ShapeError` for others, else as `matrices` does."""
    x = matrices(name, x)
    rows, columns = x.shape[-2:]
    if rows != columns:
        why = f"it has {rows} rows and {columns} columns, but this takes square matrices"
        raise ShapeError(f"linalg.{name} of {shown(x)}", why, "make it square, such as x.mT @ x, or use svd() or qr()")
    return x


def by_numpy(name: str, function: Callable[..., Any], *tensors: Any, why: tuple[str, str]) -> Any:
    """NumPy's ``function`` of the values, as a tensor or a tuple of tensors.

    Raises `DeviceError` unless they are on the CPU. Where NumPy finds no answer, raises `LinAlgError` with the reason
    and the fix in ``why``.
    """
    for x in tensors:
        backend = backends.of(x.array)
        if backend is not backends.CPU:
            reason = f"NumPy does this work, but it cannot reach what is on {backend.name}"
            raise DeviceError(f"linalg.{name} of {shown(x)} on {backend.name}", reason, "bring it here: x.cpu()")
    try:
        found = function(*(x.array for x in tensors))
    except np.linalg.LinAlgError:
        which = "a matrix among them" if tensors[0].ndim > 2 else "the matrix"
        raise LinAlgError(f"linalg.{name} of {shown(*tensors)}", f"{which} {why[0]}", why[1]) from None
    return tuple(map(_tensor, found)) if isinstance(found, tuple) else _tensor(found)


def _tensor(array: Any) -> Any:
    return above.wrap(np.asarray(array))


def eye(n: int, like: Any) -> Any:
    """The identity matrix, in the dtype and on the device of ``like``."""
    xp = backends.of(like.array).xp
    along = xp.arange(n)
    return above.wrap(xp.astype(xp.reshape(along, (n, 1)) == along, like.dtype))


def diagonal_matrix(x: Any) -> Any:
    """(…, n) as (…, n, n): zeros except on the diagonal."""
    return x.unsqueeze(-1) * eye(x.shape[-1], x)


def inverse_or_0(x: Any) -> Any:
    """``1 / x``, but 0 for 0: whatever is multiplied by it drops out there."""
    zero = x == 0
    return x.masked_fill(zero, 1.0).reciprocal().masked_fill(zero, 0.0)
