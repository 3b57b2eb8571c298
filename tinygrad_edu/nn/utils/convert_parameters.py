"""Parameters as one vector."""

from __future__ import annotations

from collections.abc import Iterable

from ...errors import ArgumentError, ShapeError
from ...inputs.kinds import explain_all
from ...ops.movement import concat
from ...settings import no_grad
from ...tensor import Tensor


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """All elements of all parameters in one vector; gradients pass through. Raises `ArgumentError` for none."""
    parts = [p.reshape(-1) for p in parameters]
    if not parts:
        raise ArgumentError("parameters_to_vector([])", "there is nothing to join", "pass model.parameters()")
    result: Tensor = concat(parts)
    return result


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Write the elements of a vector into the parameters, in their order.

    They are copied; in PyTorch the parameters share the vector's memory. Raises `ShapeError`, and changes
    nothing, when there are more or fewer elements than the parameters have; PyTorch ignores the rest.
    """
    parameters = list(parameters)
    count = sum(p.numel() for p in parameters)
    if tuple(vec.shape) != (count,):
        why, mend = f"the parameters have {count} elements", "pass a vector of that many, as parameters_to_vector gives"
        raise ShapeError(f"vector_to_parameters of a tensor {tuple(vec.shape)}", why, mend)
    with no_grad():
        start = 0
        for p in parameters:
            p.copy_(vec[start : start + p.numel()].reshape(p.shape))
            start += p.numel()


explain_all(globals())
