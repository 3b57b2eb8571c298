"""What went wrong in an operation or in backward, in words; and NumPy's errors turned into ours."""

from __future__ import annotations

from typing import Any, NoReturn

from .. import backends
from ..backends.room import refused
from ..common.lines import Line, describe_line
from ..core.above import above
from ..core.base import TensorBase
from ..core.graph import Node
from ..core.op import Op, Params
from ..dtypes import is_float
from ..errors import AutogradError, DtypeError, EduError, IndexRangeError, InplaceError, OutOfMemoryError, ShapeError


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
    """Raise the error that a body has raised, in our words if it is one of NumPy's."""
    if isinstance(error, EduError):
        try:
            raise error
        finally:
            del error  # or the error and this frame would keep each other alive, and the operands with them
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
        why, mend = f"{bare[0]} is a number, and the operation takes a tensor", "make a tensor of it: tensor([…])"
        raise DtypeError(describe_call(op, operands, params), why, mend) from error
    if isinstance(error, AttributeError) and isinstance(error.obj, backends.Namespace):
        known = " ".join(backends.ALL_NAMES)
        message = f"xp.{error.name} is not among the names that every world has; an operation's body may use: {known}"
        raise AttributeError(message, name=error.name, obj=error.obj) from None
    try:
        raise error
    finally:
        del error


def mixed(op: type[Op], operands: tuple[Any, ...]) -> DtypeError:
    """The error for a product of several dtypes. Convert the integers among them, or else the first: the data."""
    dtypes = {n: o.array.dtype for n, o in zip(op.operands, operands, strict=False) if isinstance(o, TensorBase)}
    names = " and ".join(dict.fromkeys(dtype.name for dtype in dtypes.values()))
    odd = next((n for n, dtype in dtypes.items() if not is_float(dtype)), next(iter(dtypes)))
    target = next(dtype for dtype in dtypes.values() if dtype != dtypes[odd])
    why = f"the operands are {names}, and a matrix product does not mix dtypes"
    return DtypeError("", why, f"convert one of them first: {odd}.to('{target}')")


# Into existing memory ------------------------------------------------------------------------------------------------

_KIND = {"b": 0, "u": 1, "i": 1, "f": 2, "V": 2}


def check_fits(name: str, target: TensorBase, out: Any) -> None:
    """Refuse an array that a target's buffer cannot hold: of another shape, or of a higher kind of dtype."""
    shape, dtype = tuple(target.array.shape), target.array.dtype
    if tuple(out.shape) != shape:
        raise ShapeError(
            f"{name} on a tensor {shape}",
            f"the result has shape {tuple(out.shape)}, and a buffer cannot grow",
            "use the out-of-place form, or make the target that large first",
        )
    if _KIND[out.dtype.kind] > _KIND[dtype.kind]:
        raise DtypeError(
            f"{name} on a tensor of dtype {dtype}",
            f"the result is {out.dtype}, which {dtype} cannot hold",
            f"use the out-of-place form, or convert the target first: x.to('{out.dtype}')",
        )


# On the way back -----------------------------------------------------------------------------------------------------


def freed(node: Node) -> AutogradError:
    """The error for a second walk over a graph that the first one freed."""
    return AutogradError(
        f"backward through {node.op.name}",
        "the arrays it saved were freed by an earlier backward()",
        "compute the loss again, and detach() what an earlier step left behind (h = h.detach()); to go through one "
        "graph twice, call the first backward(retain_graph=True)",
        node.line,
    )


def overwritten(node: Node, source: str, value: Any, writer: tuple[str, Line]) -> InplaceError:
    """The error for a saved array that was written to since."""
    return InplaceError(
        f"backward through {node.op.name}, which saved its {source} {tuple(value.shape)}",
        f"{writer[0]} has overwritten it since, at {describe_line(writer[1]) or 'an unknown line'}",
        _instead_of(writer[0]),
        node.line,
    )


# Writes of values that do not depend on the old ones, under the names that users call them by.
_NEW_VALUES = ("x[…] = …", *"copy_ fill_ zero_ normal_ uniform_ bernoulli_ random_ exponential_".split())


def _instead_of(writer: str) -> str:
    """What to do in place of an in-place write: some have an out-of-place form, assignments have none."""
    if writer in _NEW_VALUES:
        return "write into a clone (x = x.clone()), or write after backward()"
    if writer.endswith(".step"):
        return "call backward() before it, and detach() what an earlier step left behind: h = h.detach()"
    return f"use the out-of-place form of {writer}, or write after backward()"


above.fail, above.describe_call, above.mixed, above.check_fits = fail, describe_call, mixed, check_fits
above.freed, above.overwritten = freed, overwritten
