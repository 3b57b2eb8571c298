"""What a module learns."""

from __future__ import annotations

from typing import Any

from ..tensor import Tensor, as_tensor, wrap
from ..tensor.creation import empty


class _IsParameter(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor) and instance.parameter


class Parameter(metaclass=_IsParameter):
    """A tensor that a module learns. ``Parameter(data)`` shares the memory of ``data`` and requires grad.

    The result is a plain `Tensor` with a mark, so that operations on it take the fast path; ``isinstance`` sees it.
    Copies made by ``copy`` and ``pickle`` have the mark too; `detach` and operations give tensors without it.

    >>> import tinygrad_edu as tg
    >>> Parameter(tg.ones(2))
    Parameter containing:
    tensor([1., 1.], requires_grad=True)
    """

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Any:
        source = empty(0) if data is None else as_tensor(data)
        result = wrap(source.array)
        result.storage, result.parameter = source.storage, True
        return result.requires_grad_(requires_grad)
