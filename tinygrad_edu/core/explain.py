"""What went wrong in an operation, in words: NumPy's complaints turned into ours."""

from __future__ import annotations

from typing import Any, NoReturn

from .. import backends
from ..dtypes import is_float
from ..errors import DtypeError, EduError, IndexRangeError, OutOfMemoryError, ShapeError
from ..room import refused
from .base import TensorBase
from .op import Op, Params


def describe_call(op: type[Op], operands: Any, params: Params) -> str:
    """``matmul((32, 10) float32, (32, 4) float32) on cpu``: what was tried, for errors."""
    parts = [
        f"{tuple(o.array.shape)} {o.array.dtype}" if isinstance(o, TensorBase) else repr(o)
        for o in operands
        if o is not None
    ]
    parts += [f"{key}={value!r}" for key, value in params.items() if value is not None and not hasattr(value, "dtype")]
    devices = {o.device for o in operands if isinstance(o, TensorBase)}
    return f"{op.name}({', '.join(parts)}) on {' and '.join(sorted(devices)) or 'cpu'}"


def fail(op: type[Op], operands: tuple[Any, ...], params: Params, error: Exception) -> NoReturn:
    """Raise what a body has raised, in our words where it is a complaint of NumPy's."""
    if isinstance(error, EduError):
        raise error
    if absurd := refused(error):
        raise OutOfMemoryError(describe_call(op, operands, params), *absurd) from error
    if isinstance(error, (ValueError, IndexError, TypeError, OverflowError)):
        arrays = [o.array if isinstance(o, TensorBase) else o for o in operands]
        hint = op.hint([tuple(a.shape) for a in arrays if hasattr(a, "shape")], params)
        why, mend = hint or (str(error), "check the shapes and the arguments named above")
        kind: type[EduError] = IndexRangeError if isinstance(error, IndexError) else ShapeError
        if isinstance(error, (TypeError, OverflowError)):
            kind = DtypeError
        raise kind(describe_call(op, operands, params), why, mend) from error
    bare = [n for n, o in zip(op.operands, operands, strict=False) if isinstance(o, (bool, int, float))]
    if isinstance(error, AttributeError) and bare and isinstance(error.obj, (bool, int, float)):
        why, mend = f"{bare[0]} is a number, and it takes a tensor", "make one of it: tensor([…])"
        raise DtypeError(describe_call(op, operands, params), why, mend) from error
    if isinstance(error, AttributeError) and isinstance(error.obj, backends.Namespace):
        known = " ".join(backends.ALL_NAMES)
        message = f"xp.{error.name} is not among the names that every world has; an operation's body may use: {known}"
        raise AttributeError(message, name=error.name, obj=error.obj) from None
    raise error


def mixed(op: type[Op], operands: tuple[Any, ...]) -> DtypeError:
    """The error for a product of several dtypes: convert the integers among them, or else the first, the data."""
    dtypes = {n: o.array.dtype for n, o in zip(op.operands, operands, strict=False) if isinstance(o, TensorBase)}
    names = " and ".join(dict.fromkeys(dtype.name for dtype in dtypes.values()))
    odd = next((n for n, dtype in dtypes.items() if not is_float(dtype)), next(iter(dtypes)))
    target = next(dtype for dtype in dtypes.values() if dtype != dtypes[odd])
    why = f"the operands are {names}, and a matrix product mixes no dtypes"
    return DtypeError("", why, f"convert one of them first: {odd}.to('{target}')")
