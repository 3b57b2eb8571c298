"""Parameters, the tensors that a module learns, and their stand-ins while the shape is unknown."""

from __future__ import annotations

from typing import Any, ClassVar, NoReturn

from ..core.base import TensorBase
from ..dtypes import is_float
from ..errors import DtypeError, ShapeError
from ..inputs.kinds import explained
from ..tensor import Tensor, as_tensor, wrap
from ..tensor.creation import empty

__all__ = ["Parameter", "UninitializedBuffer", "UninitializedParameter", "is_lazy"]


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


# Without a shape yet --------------------------------------------------------------------------------------------------

_ARRAY: Any = TensorBase.__dict__["array"]  # the slot itself, which holds an empty array


class _Uninitialized(Tensor):
    """A tensor that has a dtype, a device and a place in its module, but no shape yet.

    Every computation starts by reading ``array``, so it is enough to refuse that.
    """

    __slots__ = ()
    cls_to_become: ClassVar[Any]  # its class once it has a shape

    @classmethod
    def _make(cls, requires_grad: bool, device: str | None, dtype: Any, learnt: bool) -> Any:
        result, blank = object.__new__(cls), empty(0, device=device, dtype=dtype)
        result.array, result.parameter = blank.array, learnt
        result.node = result.storage = result.gradient = result.origin = result.name = None
        return result.requires_grad_(requires_grad)

    @property
    def array(self) -> NoReturn:
        """Refused: there are no elements yet."""
        raise ShapeError(
            f"using an {type(self).__name__}{'' if self.name is None else f' named {self.name!r}'}",
            "it has no shape and no elements yet: a lazy layer learns its sizes from its first input",
            "first call the model once on a batch of the right shape: model(x)",
        )

    @array.setter
    def array(self, value: Any) -> None:
        _ARRAY.__set__(self, value)

    @explained
    def materialize(self, shape: Any, device: str | None = None, dtype: Any = None) -> None:
        """Become an ordinary tensor of this ``shape``, with whatever the memory held.

        It stays the same object, so that an optimiser, for example, still holds it. Device and dtype are its own
        by default. Raises `DtypeError` if it requires grad and ``dtype`` is not a float.
        """
        device, dtype = self.device if device is None else device, self.dtype if dtype is None else dtype
        made = empty(shape, device=device, dtype=dtype)
        if self.requires_grad and not is_float(made.dtype):
            tried, why = f"materialize with dtype={made.dtype}", "it requires grad, and integers have no derivative"
            raise DtypeError(tried, why, "use a float, or switch it off first: requires_grad_(False)")
        self.array, self.storage = made.array, made.storage
        self.__class__ = type(made)  # type: ignore[assignment]

    # What is known of it ------------------------------------------------------------------------------------------

    @property
    def data(self) -> Tensor:
        """An empty tensor of its dtype, on its device. Set it to a tensor to take over its dtype and device."""
        return wrap(_ARRAY.__get__(self))

    @data.setter
    def data(self, other: Tensor) -> None:
        self.array = empty(0, device=other.device, dtype=other.dtype).array

    @property
    def dtype(self) -> Any:
        """The dtype that its elements will have."""
        return self.data.dtype

    @property
    def device(self) -> Any:
        """The device of its elements."""
        return self.data.device

    def is_floating_point(self) -> bool:
        """Whether its elements will be floats of any width."""
        return is_float(self.dtype)

    @explained
    def to(self, *target: Any, **options: Any) -> Any:
        """The same for elements of another dtype or on another device; itself, if nothing changes."""
        like = self.data.to(*target, **options)
        if (like.dtype, like.device) == (self.dtype, self.device) and not options.get("copy"):
            return self
        return self._make(self.requires_grad and is_float(like.dtype), like.device, like.dtype, self.parameter)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    def __format__(self, spec: str) -> str:
        return object.__format__(self, spec)

    def __reduce_ex__(self, protocol: Any) -> Any:
        """For ``copy`` and ``pickle``."""
        return _again, (type(self), self.requires_grad, self.device, self.dtype, self.name)


class UninitializedParameter(_Uninitialized):
    """A `Parameter` whose shape is not known yet: lazy layers, such as `LazyLinear`, have them.

    It can be moved to another device or dtype, frozen, copied, and given to an optimiser. Whatever needs a shape or
    elements raises `ShapeError`, until `materialize` makes it an ordinary parameter.

    >>> weight = UninitializedParameter()
    >>> weight
    <UninitializedParameter>
    >>> weight.materialize((2, 3))
    >>> weight.shape, type(weight).__name__, isinstance(weight, Parameter)
    ((2, 3), 'Tensor', True)
    """

    __slots__ = ()
    cls_to_become = Parameter

    def __new__(cls, requires_grad: bool = True, device: str | None = None, dtype: Any = None) -> Any:
        return cls._make(requires_grad, device, dtype, True)


class UninitializedBuffer(_Uninitialized):
    """A buffer whose shape is not known yet, such as the running mean of a `LazyBatchNorm1d`.

    Assigned to an attribute of a module, it is registered as a buffer; ``persistent`` ones are part of `state_dict`.
    Everything else is as for `UninitializedParameter`.
    """

    __slots__ = ()
    cls_to_become = Tensor
    persistent: ClassVar[bool] = True  # in the class, because a tensor has no room for it

    def __new__(
        cls, requires_grad: bool = False, device: str | None = None, dtype: Any = None, persistent: bool = True
    ) -> Any:
        return (cls if persistent else _Passing)._make(requires_grad, device, dtype, False)


class _Passing(UninitializedBuffer):
    """An `UninitializedBuffer` that is not part of the state."""

    __slots__ = ()
    persistent = False


_Passing.__name__ = "UninitializedBuffer"  # its name for users


def is_lazy(param: Any) -> bool:
    """Whether it is an `UninitializedParameter` or an `UninitializedBuffer`."""
    return isinstance(param, _Uninitialized)


def _again(cls: Any, requires_grad: bool, device: str, dtype: Any, name: str | None) -> Any:
    """What ``__reduce_ex__`` took apart."""
    result = cls._make(requires_grad, device, dtype, issubclass(cls, UninitializedParameter))
    result.name = name
    return result
