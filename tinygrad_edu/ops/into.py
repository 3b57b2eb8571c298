"""Results written into existing memory: PyTorch's ``out=``."""

from __future__ import annotations

from typing import Any

from .. import backends
from ..common.lines import user_line
from ..core.above import above
from ..core.base import TensorBase
from ..core.inplace import refuse, settle, tracked_among, write, write_plainly
from ..core.op import Op, Params
from ..core.slow import Call, arrange, operands_of, through
from ..errors import AutogradError, DeviceError, DtypeError
from ..settings import modes


def compute_into(op: type[Op], operands: tuple[Any, ...], params: Params, out: TensorBase) -> Any:
    """``op(*operands)``, written to ``out``, for PyTorch's ``out=``. Returns ``out``.

    Raises `AutogradError` when gradients are on and an operand or ``out`` wants one: what is overwritten has no
    history. Otherwise raises as `inplace` does.
    """
    line, m = user_line(), modes()
    name = f"{op.name}(…, out=…)"
    if m.plain and write_plainly(op, out, operands, params, name, line, m.grad):
        return out
    operands = operands_of(op, operands)
    check_out(name, out, operands)
    refuse(name, out, False)
    plan, operands = arrange(op, operands, params, out.device)
    call = Call(plan.op, operands, params, line, m, out)
    return through(call, len(m.observers) - 1, lambda call: write(call, name))


def check_out(name: str, out: Any, operands: tuple[Any, ...]) -> None:
    """Refuse an ``out`` that is not a tensor, or that gradients would have to pass through."""
    if not isinstance(out, TensorBase):
        why, mend = "results are written into a tensor", "make one of the right shape first: empty_like(x)"
        raise DtypeError(f"{name} with out={type(out).__name__}", why, mend)
    operands = tuple(part for o in operands for part in (o if isinstance(o, (list, tuple)) else (o,)))
    for tensor in (out, *operands):
        if isinstance(tensor, TensorBase):
            settle(tensor)
            home, other = backends.of(out.array), backends.of(tensor.array)
            if home is not other and not (other is backends.CPU and not tensor.array.ndim):
                raise DeviceError(
                    f"{name} with an operand on {other.name} and out on {home.name}",
                    "the result is where the operands are, and nothing is moved behind your back",
                    "make out there: empty_like(x)"
                )  # fmt: skip
    if modes().grad and tracked_among((*operands, out)):
        raise AutogradError(
            name, "an operand or out itself requires grad, and a buffer that is reused keeps no history",
            "leave out= out, or compute inside no_grad()"
        )  # fmt: skip


above.into = compute_into
