"""The tensor: an array that can remember what made it. Methods have PyTorch's names; most are one line to an op."""

from __future__ import annotations

import builtins
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import backends
from ..autograd import backward as run_backward
from ..autograd.leaves import WAITED_FOR, move, put_to_sleep, wake
from ..backends.layout import contiguous
from ..common.late import LateModule
from ..core import guard
from ..core.above import above
from ..core.base import TensorBase
from ..core.graph import KEEP, Leaf, Node
from ..core.inplace import note_sharer, own_buffer, settle, share_storage
from ..core.narrow import is_narrow
from ..core.slow import announce
from ..dtypes import is_float
from ..errors import AutogradError, DeviceError, DtypeError, ShapeError
from ..inputs import arguments
from ..inputs.kinds import explained
from ..inputs.outside import outside
from ..ops import convert as ct
from ..settings import modes
from . import creation
from .absent import Absent
from .conversions import Conversions, formats
from .handle import RemovableHandle
from .size import Size

_as_is = tuple.__new__  # what NumPy gives for a shape needs no check
_guard, _checksums = LateModule("tinygrad_edu.guard"), LateModule("tinygrad_edu.guard.checksums")
Dims = int | tuple[int, ...] | None
Scalar = bool | int | float


class Tensor(Conversions, Absent):
    """An n-dimensional array of one dtype on one device, with a gradient if it wants one.

    Make tensors with `tensor`, `zeros`, `randn` and the like. ``array`` is the raw array underneath.

    >>> import tinygrad_edu as tg
    >>> x = tg.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> x @ x.T
    tensor([[ 5., 11.],
            [11., 25.]])
    >>> row = x[1]  # a view: the same memory
    >>> row += 10
    >>> x
    tensor([[ 1.,  2.],
            [13., 14.]])
    """

    __slots__ = ()
    __array_priority__ = 1000  # NumPy's operators leave the work to ours
    __hash__ = object.__hash__  # tensors compare elementwise, and are told apart by identity

    def __new__(cls, *data: Any, device: str | None = None) -> Tensor:
        """PyTorch's old constructor: ``Tensor([1, 2])`` holds these as floats, ``Tensor(2, 3)`` has this size.

        The dtype is the default one, and with a size the values are whatever the memory held. Better use `tensor` or
        `empty`, which say what is meant. The engine makes its own tensors without it.
        """
        if len(data) == 1 and not isinstance(data[0], (int, float, np.number, Size)):
            made = as_tensor(data[0], modes().dtype, device)
        else:
            made = creation.empty(*data or (0,), device=device)
        if cls is Tensor:
            return made
        result: Tensor = object.__new__(cls)
        for slot in TensorBase.__slots__[1:]:
            setattr(result, slot, getattr(made, slot))
        return result

    # What it is ---------------------------------------------------------------------------------------------

    @property
    def shape(self) -> Size:
        """The length of each axis."""
        return _as_is(Size, self.array.shape)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self.array.ndim

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the elements."""
        return self.array.dtype

    @property
    def device(self) -> backends.Device:
        """Where the elements live: ``"cpu"`` or another backend's name, with ``type`` and ``index``."""
        return backends.of(self.array).device

    @property
    def requires_grad(self) -> bool:
        """Whether gradients are recorded for this tensor. Can be set on leaves."""
        settle(self)
        return self.node is not None

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self.requires_grad_(value)

    @property
    def is_leaf(self) -> bool:
        """Whether no recorded operation made it."""
        settle(self)
        return self.node is None or isinstance(self.node, Leaf)

    @property
    def grad_fn(self) -> Node | None:
        """The graph node of the operation that made it; None for a leaf."""
        return None if self.is_leaf else self.node

    @property
    def data(self) -> Tensor:
        """The same memory, outside the graph."""
        return self.detach()

    @data.setter
    def data(self, other: Tensor) -> None:
        if not isinstance(other, Tensor) or (self.requires_grad and not is_float(other.dtype)):
            what = f"a tensor of dtype {other.dtype}" if isinstance(other, Tensor) else f"a {type(other).__name__}"
            why, mend = f"x holds {self.dtype} elements, but is given {what}", "give it a tensor of that dtype"
            raise DtypeError("x.data = …", why, mend)
        if self.origin is not None or tuple(other.shape) != tuple(self.shape):
            raise ShapeError(
                f"x.data = {tuple(other.shape)}",
                f"x has shape {tuple(self.shape)}{'' if self.origin is None else ', and is a view of another tensor'}",
                "give it a tensor of the same shape" if self.origin is None else "write to it: x.copy_(…)",
            )
        own_buffer(self)
        own_buffer(other)
        move(self)
        self.array, self.storage = other.array, other.storage
        if all(reference() is not self for reference in self.storage.views):
            note_sharer(self)
        self._stand_on_fast_path(True)

    @property
    def grad(self) -> Any:
        """The gradient that backward has added up here: a tensor of the same shape, or None.

        Can be set to None, or to such a tensor; raises `DtypeError` and `ShapeError` for anything else.
        """
        if modes().observers:
            outside("grad", self)
        return self.gradient

    @grad.setter
    def grad(self, value: Any) -> None:
        if value is not None and not isinstance(value, TensorBase):
            why = f"the type is {type(value).__name__}, and a gradient is a tensor or None"
            raise DtypeError("x.grad = …", why, "write x.grad = None to clear it, or make a tensor first: tensor(…)")
        if value is not None and tuple(value.array.shape) != tuple(self.array.shape):
            why = f"x has shape {tuple(self.array.shape)}, and each of its elements has one derivative"
            raise ShapeError(f"x.grad = {tuple(value.array.shape)}", why, "give it a tensor of that shape")
        outside("gradient", self)
        self.gradient = value

    def size(self, dim: int | None = None) -> Any:
        """The shape as a `Size`, or the length of one axis."""
        if dim is None:
            return _as_is(Size, self.array.shape)
        return self.array.shape[arguments.axis(self, dim, self.ndim)]

    def dim(self) -> int:
        """The number of axes."""
        return self.array.ndim

    def ndimension(self) -> int:
        """The number of axes; `dim` under its other name."""
        return self.array.ndim

    def numel(self) -> int:
        """The number of elements."""
        return self.array.size

    def stride(self, dim: int | None = None) -> Any:
        """Elements, not bytes, between neighbours along each axis, or along one."""
        array = own_buffer(self)
        steps = tuple(step // array.dtype.itemsize for step in array.strides)
        return steps if dim is None else steps[arguments.axis(self, dim, self.ndim)]

    def storage_offset(self) -> int:
        """How many elements lie before the first one in the memory that this tensor has or shares.

        Raises `DeviceError` off the CPU. Memory handed in by `from_numpy` begins where NumPy's does.
        """
        owner = backends.of(self.array).owner(self._memory("storage_offset"))
        return (self.data_ptr() - int(owner.ctypes.data)) // self.dtype.itemsize if self.numel() else 0

    def data_ptr(self) -> int:
        """The address of the first element; 0 where there is none. Raises `DeviceError` off the CPU."""
        array = self._memory("data_ptr")
        return int(array.ctypes.data) if array.size else 0

    def _memory(self, name: str) -> Any:
        if backends.of(self.array) is not backends.CPU:
            why, mend = f"the elements live on {self.device!r}, which gives no addresses", "copy them first: x.cpu()"
            raise DeviceError(f"{name}()", why, mend)
        return own_buffer(self)

    def is_contiguous(self, *, memory_format: Any = None) -> bool:
        """Whether the elements lie in memory in row-major order without gaps, or in that of ``memory_format``."""
        if memory_format is not None:
            fm = formats()
            if memory_format is not fm.channels_last or self.array.ndim == 4:
                fm.checked("is_contiguous", self, memory_format)
            return fm.lies(self, memory_format)
        return contiguous(tuple(self.array.shape), self.array.strides, self.array.dtype.itemsize)

    def _stand_on_fast_path(self, plain: builtins.bool) -> None:
        """Set whether generated callers may treat this tensor as a plain one. Users' subclasses never are."""
        if type(self) in (Tensor, SlowTensor):
            self.__class__ = _CLASSES[type(self.array), self.array.dtype] if plain else SlowTensor

    # The graph ----------------------------------------------------------------------------------------------

    @explained
    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Start or stop recording gradients for this leaf; returns it.

        Raises `DtypeError` for integers and bools, `AutogradError` for a tensor that an operation made.
        """
        if not self.is_leaf and not requires_grad:
            raise AutogradError(
                f"requires_grad = {requires_grad} on the result of {self.node}",
                "only leaves can be switched: what an operation made follows its operands",
                "use detach() for a tensor outside the graph",
            )
        if requires_grad and self.node is None:
            if not is_float(self.dtype):
                raise DtypeError(
                    f"requires_grad on a tensor of dtype {self.dtype}",
                    "a derivative needs arbitrarily small steps, and integers have none",
                    "convert it first: x.float()",
                )
            wake(self)
        elif not requires_grad and self.node is not None:
            put_to_sleep(self)
        return self

    @explained
    def backward(self, gradient: Any = None, retain_graph: bool | None = None, create_graph: bool = False) -> None:
        """Add the gradient of this tensor to the ``.grad`` of every leaf that it was computed from.

        ``gradient`` has this tensor's shape; for a single element it is 1. With ``create_graph`` the gradients are
        themselves recorded. Raises `AutogradError` for several elements without ``gradient``, for a tensor outside
        the graph, and for a graph that an earlier backward freed.

        >>> import tinygrad_edu as tg
        >>> x = tg.tensor([1.0, 2.0, 3.0], requires_grad=True)
        >>> (x * x).sum().backward()
        >>> x.grad
        tensor([2., 4., 6.])
        """
        run_backward((self,), (gradient,), bool(retain_graph) or create_graph, create_graph)

    def detach(self) -> Tensor:
        """The same memory, outside the graph: a write to one is seen by both.

        >>> import tinygrad_edu as tg
        >>> w = tg.ones(2, requires_grad=True)
        >>> (w * 2).detach().requires_grad
        False
        """
        if modes().observers:
            outside("tensor", self)
        own_buffer(self)
        result = wrap(self.array)
        share_storage(self, result)
        for observer in modes().observers:
            observer.detached(result)
        return result

    def detach_(self) -> Tensor:
        """Take this tensor itself out of the graph; returns it. Views of it, made before, stay where they are.

        Raises `AutogradError` for a view: its base would not learn of it.
        """
        if self.origin is not None:
            why, mend = "it is a view, and the next write to its base would tie it to the graph again", "use detach()"
            raise AutogradError(f"detach_ of a tensor {tuple(self.shape)}", why, mend)
        if self.is_leaf:
            return self.requires_grad_(False)
        if self.storage is not None and self.storage.stale:
            from ..ops.inplace import settle_views

            settle_views(self)
        self.node = None
        return self

    @explained
    def register_hook(self, hook: Callable[[Tensor], Tensor | None]) -> RemovableHandle:
        """Call ``hook(grad)`` when this tensor's gradient is known; what it returns, if anything, replaces it.

        Returns a handle whose ``remove()`` takes the hook away. Raises `AutogradError` for a tensor that does not
        require grad.

        >>> import tinygrad_edu as tg
        >>> x = tg.tensor([1.0, 2.0], requires_grad=True)
        >>> handle = x.register_hook(lambda g: g.clamp(max=1.0))
        >>> (x * x * 0.4).sum().backward()
        >>> x.grad
        tensor([0.8000, 1.0000])
        """
        node = self._node_for("register_hook")

        def call(g: Any) -> Any:
            given = g if isinstance(g, Tensor) else wrap(g)
            result = hook(given)
            if result is None:
                return g
            if not isinstance(result, Tensor) or result.shape != given.shape:
                raise ShapeError(
                    f"a hook on a gradient {tuple(given.shape)}",
                    f"it returned {result!r}, and what it returns replaces the gradient",
                    "return a tensor of that shape, or None to leave the gradient as it is",
                )
            result = result.to(given.dtype)
            return result if isinstance(g, Tensor) else result.array

        hooks = node.hooks()
        handle = RemovableHandle(hooks, call)
        if KEEP in hooks:
            hooks[KEEP] = hooks.pop(KEEP)  # last, so that it keeps what all other hooks have made of the gradient
        return handle

    def register_post_accumulate_grad_hook(self, hook: Callable[[Tensor], None]) -> RemovableHandle:
        """Call ``hook(self)`` each time backward has added to ``.grad`` of this leaf: for a step without an optimiser.

        Raises `AutogradError` for a tensor that is not a leaf, or does not require grad.
        """
        node = self._node_for("register_post_accumulate_grad_hook")
        if not isinstance(node, Leaf):
            why, mend = "an operation made this tensor, and .grad is kept for leaves", "use register_hook"
            raise AutogradError("register_post_accumulate_grad_hook", why, mend)
        extra = node.extras()
        extra.after = {} if extra.after is None else extra.after
        WAITED_FOR.add(node)
        return RemovableHandle(extra.after, hook)

    def _node_for(self, what: str) -> Node:
        if not self.requires_grad:
            why, mend = "this tensor does not require grad, so no gradient will come", "set requires_grad first"
            raise AutogradError(what, why, mend)
        assert self.node is not None
        return self.node

    def retain_grad(self) -> None:
        """Keep ``.grad`` on this tensor too, though it is not a leaf.

        Raises `AutogradError` if it does not require grad.
        """
        self._node_for("retain_grad")
        if not self.is_leaf:
            assert self.node is not None
            reference = weakref.ref(self)

            def keep(g: Any) -> Any:
                if (tensor := reference()) is not None:
                    new = g if isinstance(g, Tensor) else wrap(g)
                    tensor.grad = new.clone() if tensor.grad is None else tensor.grad + new
                return g

            self.node.hooks()[KEEP] = keep

    # In and out ---------------------------------------------------------------------------------------------

    @explained
    def numpy(self, *, force: builtins.bool = False) -> np.ndarray[Any, Any]:
        """The elements as a NumPy array over the same memory. Read-only while the graph needs them.

        Raises `AutogradError` for a tensor that requires grad, `DeviceError` off the CPU, both as PyTorch does.
        ``force=True`` is short for ``x.detach().cpu().numpy()``, which raises neither.
        """
        if force:
            return self.detach().cpu().numpy()
        if modes().observers:
            outside("tensor", self)
            if not (home := backends.of(self.array)).readable:
                home.to_numpy(self.array)  # which says why not
        if self.requires_grad:
            raise AutogradError(
                "numpy() on a tensor that requires grad",
                "the graph cannot record what NumPy does with the values",
                "say so with x.detach().numpy()",
            )
        if backends.of(self.array) is not backends.CPU:
            why, mend = f"the elements live on {self.device!r}", "copy them first: x.cpu().numpy()"
            raise DeviceError("numpy()", why, mend)
        own_buffer(self)
        array = self.array.view()
        guard.expose_output(array, self.storage)
        _guard.listen()
        return array

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        if copy is None and dtype is None:
            return self.numpy()
        return np.array(self.numpy(), dtype=dtype, copy=True if copy is None else copy)

    def item(self) -> Any:
        """The one element as a Python number. Raises `ShapeError` when there is not exactly one."""
        if self.array.size != 1:
            raise ShapeError(
                f"item() on a tensor {tuple(self.shape)}",
                f"it has {self.array.size} elements, and item() gives one number",
                "reduce it first (x.sum()), or use tolist()",
            )
        if modes().observers:
            outside("tensor", self)
        return backends.of(self.array).to_numpy(self.array).item()

    def tolist(self) -> Any:
        """The elements as nested Python lists."""
        if modes().observers:
            outside("tensor", self)
        return backends.of(self.array).to_numpy(self.array).tolist()

    def new_zeros(self, *size: Any, **options: Any) -> Tensor:
        """`zeros` in this dtype and on this device, unless the options ``dtype`` and ``device`` say otherwise."""
        return creation.zeros(*size, **self._beside(options))

    def new_ones(self, *size: Any, **options: Any) -> Tensor:
        """`ones` in this dtype and on this device, unless the options ``dtype`` and ``device`` say otherwise."""
        return creation.ones(*size, **self._beside(options))

    def new_empty(self, *size: Any, **options: Any) -> Tensor:
        """`empty` in this dtype and on this device, unless the options ``dtype`` and ``device`` say otherwise."""
        return creation.empty(*size, **self._beside(options))

    def new_full(self, size: Any, fill_value: Any, **options: Any) -> Tensor:
        """`full` in this dtype and on this device, unless the options ``dtype`` and ``device`` say otherwise."""
        return creation.full(size, fill_value, **self._beside(options))

    def new_tensor(self, data: Any, **options: Any) -> Tensor:
        """`tensor` in this dtype and on this device, unless the options ``dtype`` and ``device`` say otherwise."""
        return tensor(data, **self._beside(options))

    def _beside(self, options: dict[str, Any]) -> dict[str, Any]:
        """Options of a new tensor, completed from this one."""
        own = {"dtype": self.dtype, "device": self.device}
        return own | {key: value for key, value in options.items() if value is not None}

    # Python and NumPy ---------------------------------------------------------------------------------------

    def __reduce_ex__(self, protocol: Any) -> Any:
        """For ``copy`` and ``pickle``: a leaf with its own memory, and with its mark as a parameter or its gradient.

        The gradient of a parameter stays behind, as in PyTorch: a copy of a model begins without any. Raises
        `AutogradError` for the result of an operation, because its history cannot be copied with it.
        """
        if not self.is_leaf:
            raise AutogradError(
                f"copying or pickling the result of {self.node}",
                "it belongs to a graph, and a copy would not",
                "detach() it first, or clone() it to stay in the graph",
            )
        values, grad = backends.of(self.array).to_numpy(self.array), None if self.parameter else self.grad
        marks = (self.requires_grad, self.parameter, self.name, None if grad is None else grad.detach().clone())
        return _rebuild, (values, self.device, *marks)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        from .numpy_protocol import ufunc as call

        return call(ufunc, method, inputs, kwargs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        from .numpy_protocol import function as call

        return call(function, args, kwargs)


class SlowTensor(Tensor):
    """A tensor that generated callers must not treat as a plain one.

    It is off the CPU, being traced, a stale view, or of a 16-bit float dtype.
    """

    __slots__ = ()


SlowTensor.__name__ = "Tensor"  # Python's own messages name the class, and to users it is a Tensor


class _Classes(dict[Any, type[Tensor]]):
    """The class of a tensor, by the type and the dtype of its array."""

    def __missing__(self, key: tuple[type, Any]) -> type[Tensor]:
        usual = issubclass(key[0], (np.ndarray, np.generic)) and not is_narrow(key[1])
        self[key] = found = Tensor if usual else SlowTensor
        return found


_CLASSES = _Classes()


def clear_gradient(tensor: Tensor, set_to_none: bool) -> None:
    """Release the gradient, or fill it with zeros: what every ``zero_grad`` does."""
    if modes().observers:
        outside("gradient" if set_to_none else "grad", tensor)
    if set_to_none:
        tensor.gradient = None
    elif tensor.gradient is not None:
        if tensor.gradient.requires_grad:  # it was made with create_graph; zeros have no history
            tensor.gradient = tensor.gradient.detach()
        tensor.gradient.zero_()


def wrap(array: Any) -> Tensor:
    """A tensor around a raw array of any device, outside the graph. The array is not copied."""
    result: Tensor = object.__new__(_CLASSES[type(array), array.dtype])
    result.array, result.parameter = array, False
    result.node = result.storage = result.gradient = result.origin = result.name = None
    return result


def _rebuild(values: Any, device: str, requires_grad: bool, parameter: bool, name: str | None, grad: Any) -> Tensor:
    """What `Tensor.__reduce_ex__` took apart."""
    result = wrap(backends.get(device).from_numpy(np.array(values))).requires_grad_(requires_grad)
    result.parameter, result.name, result.grad = parameter, name, grad
    return result


@explained
def tensor(data: Any, *, dtype: Any = None, device: str | None = None, requires_grad: bool = False) -> Tensor:
    """A new tensor with a copy of ``data``: numbers, nested lists, NumPy arrays or a tensor.

    Python floats become the default dtype (float32), ints int64; arrays keep their dtype unless ``dtype`` says
    otherwise. Raises `ShapeError` for ragged lists, `DtypeError` for what is not a number.

    >>> tensor([[1.0, 2.0], [3.0, 4.0]]).sum(dim=0)
    tensor([4., 6.])
    """
    array = _to_device_array(arguments.numbers(data, dtype, copy=True), device)
    if modes().observers:
        outside("data", data)
    announce(modes().observers, array, "created")
    result = wrap(array)
    return result.requires_grad_() if requires_grad else result


def as_tensor(data: Any, dtype: Any = None, device: str | None = None) -> Tensor:
    """``data`` as a tensor, sharing memory where it can: a tensor is returned as it is, a NumPy array is not copied.

    A shared array becomes read-only while the graph needs its values; see `tinygrad_edu.guard`.
    """
    if isinstance(data, TensorBase):
        assert isinstance(data, Tensor)
        return data.to(dtype=dtype, device=device) if dtype is not None or device is not None else data
    array = arguments.numbers(data, dtype, copy=False)
    result = wrap(_to_device_array(array, device))
    if modes().observers and isinstance(data, (bool, int, float)):
        outside("made", result.array)
    if isinstance(data, np.ndarray) and result.array is array and np.may_share_memory(array, data):
        result.array = array.view()  # the guard locks the user's array, and this view stays writable
        result.storage = guard.expose_input(data)
        note_sharer(result)
        _guard.listen()
    return result


def _as_operand(data: Any, dtype: Any = None, device: str | None = None) -> Tensor:
    """`as_tensor`, for the operand of an operation. Tensors in a tuple were hardly meant to be stacked."""
    if isinstance(data, tuple) and any(isinstance(item, TensorBase) and item.array.ndim for item in data):
        why = "one tensor is wanted, and layers such as GRU and LSTM return several"
        mend = "take it out of the tuple first: output, state = layer(x); or join them with stack or cat"
        raise DtypeError(f"a tuple of {len(data)} with tensors in it", why, mend)
    return as_tensor(data, dtype, device)


@explained
def from_numpy(ndarray: np.ndarray[Any, Any]) -> Tensor:
    """A tensor over the memory of a NumPy array: a write to one is seen by both.

    Raises `DtypeError` for anything but an array.

    >>> array = np.zeros(2)
    >>> tensor = from_numpy(array)
    >>> array[0] = 5
    >>> tensor
    tensor([5., 0.], dtype=float64)
    """
    if not isinstance(ndarray, np.ndarray):
        why, mend = "it takes a NumPy array", "use tensor() or as_tensor()"
        raise DtypeError(f"from_numpy({type(ndarray).__name__})", why, mend)
    return as_tensor(ndarray, device=backends.CPU.name)


def _to_device_array(array: Any, device: str | None) -> Any:
    return backends.get(device or modes().device).from_numpy(array)


above.note_checksums, above.verify = _checksums.note_checksums, _checksums.verify
above.Tensor, above.classes, above.wrap, above.as_tensor, above.cast = Tensor, _CLASSES, wrap, _as_operand, ct.cast
