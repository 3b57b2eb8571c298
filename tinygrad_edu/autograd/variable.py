"""PyTorch's old wrapper of tensors that take part in the graph. Today every tensor does."""

from __future__ import annotations

from typing import Any

from ..core.base import TensorBase
from ..errors import ArgumentError, DtypeError


class _AnyTensor(type):
    """``isinstance(x, Variable)`` holds for every tensor."""

    def __instancecheck__(cls, x: object) -> bool:
        return isinstance(x, TensorBase)


class Variable(metaclass=_AnyTensor):
    """``Variable(x, requires_grad=True)``: the same memory as ``x`` in a new leaf. New programs use ``x`` itself.

    Raises `DtypeError` for anything but a tensor.
    """

    def __new__(cls, data: Any, requires_grad: bool = False, volatile: bool = False) -> Any:
        if not isinstance(data, TensorBase):
            why, mend = "it takes a tensor", "write tensor(data, requires_grad=True), without Variable"
            raise DtypeError(f"Variable({type(data).__name__})", why, mend)
        if volatile and requires_grad:
            why = "volatile asked for no gradients, as no_grad() does today"
            raise ArgumentError("Variable with requires_grad=True and volatile=True", why, "leave volatile out")
        x: Any = data
        return x.detach().requires_grad_(requires_grad)
