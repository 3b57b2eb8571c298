"""The tensor: an array that can remember what made it. Methods carry PyTorch's names; each is one line to an op."""

from __future__ import annotations

import builtins
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from . import arguments, backends
from .autograd import backward as run_backward
from .core import dispatch, guard
from .core.base import TensorBase, make_leaf
from .core.dispatch import here
from .core.graph import Leaf, Node
from .core.inplace import adopt, inplace, own_buffer, settle, share_storage
from .core.narrow import is_narrow
from .dtypes import as_dtype, is_float
from .errors import AutogradError, DeviceError, DtypeError, ShapeError
from .guard import listen
from .ops import arithmetic as ar
from .ops import conv as _conv  # noqa: F401  (registers its ops)
from .ops import convert as ct
from .ops import index as ix
from .ops import linalg as la
from .ops import logic as lg
from .ops import loss as _loss  # noqa: F401
from .ops import movement as mv
from .ops import reduce as rd
from .ops import scan as sc
from .ops import unary as un
from .settings import modes

Dims = int | tuple[int, ...] | None
Scalar = bool | int | float
_KEEP = "retain_grad"  # its key among a node's hooks


class Tensor(TensorBase):
    """An n-dimensional array of one dtype on one device, with a gradient if it wants one.

    Make tensors with `tensor`, `zeros`, `randn` and the like. ``array`` is the raw array underneath.
    """

    __slots__ = ()
    __array_priority__ = 1000  # NumPy's operators leave the work to ours
    __hash__ = object.__hash__  # tensors compare elementwise, and are told apart by identity

    # What it is ---------------------------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, ...]:
        """The length of each axis."""
        return self.array.shape

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self.array.ndim

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the elements."""
        return self.array.dtype

    @property
    def device(self) -> str:
        """Where the elements live: ``"cpu"`` or another backend's name."""
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
        if self.origin is not None or tuple(other.shape) != tuple(self.shape):
            raise ShapeError(
                f"x.data = {tuple(other.shape)}",
                f"x has shape {tuple(self.shape)}{'' if self.origin is None else ', and is a view of another tensor'}",
                "give it a tensor of the same shape" if self.origin is None else "write to it: x.copy_(…)",
                here(),
            )
        own_buffer(other)
        self.array, self.storage = other.array, other.storage
        self.stand_on_fast_path(_class_for(other.array) is Tensor)

    def size(self, dim: int | None = None) -> Any:
        """The shape, or the length of one axis."""
        return self.shape if dim is None else self.shape[arguments.axis(self, dim, self.ndim)]

    def dim(self) -> int:
        """The number of axes."""
        return self.array.ndim

    def numel(self) -> int:
        """The number of elements."""
        return self.array.size

    def stride(self) -> tuple[int, ...]:
        """Elements, not bytes, between neighbours along each axis, as in PyTorch."""
        array = own_buffer(self)
        return tuple(step // array.dtype.itemsize for step in array.strides)

    def data_ptr(self) -> int:
        """The address of the first element."""
        return int(own_buffer(self).ctypes.data)

    def is_contiguous(self) -> bool:
        """Whether the elements lie in memory in row-major order without gaps."""
        return bool(self.array.flags.c_contiguous)

    def stand_on_fast_path(self, plain: builtins.bool) -> None:
        """Say whether generated callers may take this tensor for a plain one. Subclasses never are."""
        if type(self) in (Tensor, SlowTensor):
            self.__class__ = Tensor if plain and _class_for(self.array) is Tensor else SlowTensor

    # The graph ----------------------------------------------------------------------------------------------

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Start or stop recording gradients for this leaf; returns it.

        Raises `DtypeError` for integers and bools, `AutogradError` for a tensor that an operation made.
        """
        if not self.is_leaf:
            raise AutogradError(
                f"requires_grad = {requires_grad} on the result of {self.node}",
                "only leaves can be switched: what an operation made follows its operands",
                "use detach() for a tensor outside the graph",
                here(),
            )
        if requires_grad and self.node is None:
            if not is_float(self.dtype):
                raise DtypeError(
                    f"requires_grad on a tensor of dtype {self.dtype}",
                    "a derivative needs steps as small as one likes, and integers have none",
                    "convert it first: x.float()",
                    here(),
                )
            make_leaf(self)
        elif not requires_grad:
            self.node = None
        return self

    def backward(self, gradient: Any = None, retain_graph: bool = False, create_graph: bool = False) -> None:
        """Add the gradient of this tensor to the ``.grad`` of every leaf that it was computed from.

        ``gradient`` has this tensor's shape; for a single element it is 1. With ``create_graph`` the gradients are
        themselves recorded. Raises `AutogradError` for several elements without ``gradient``, for a tensor outside
        the graph, and for a graph that an earlier backward freed.
        """
        run_backward((self,), (gradient,), retain_graph or create_graph, create_graph)

    def detach(self) -> Tensor:
        """The same memory, outside the graph: a write to one is seen by both."""
        own_buffer(self)
        result = wrap(self.array)
        share_storage(self, result)
        return result

    def register_hook(self, hook: Callable[[Tensor], Tensor | None]) -> Callable[[], None]:
        """Call ``hook(grad)`` when this tensor's gradient is known; what it returns, if anything, replaces it.

        Returns a function that removes the hook.
        """
        if not self.requires_grad:
            raise AutogradError(
                "register_hook",
                "this tensor wants no gradient, so none will come",
                "set requires_grad first",
                here(),
            )
        assert self.node is not None
        hooks, key = self.node.hooks(), object()

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

        hooks[key] = call
        if _KEEP in hooks:
            hooks[_KEEP] = hooks.pop(_KEEP)  # what is kept is what all other hooks have made of it

        def remove() -> None:
            hooks.pop(key, None)

        return remove

    def retain_grad(self) -> None:
        """Keep ``.grad`` on this tensor too, though it is not a leaf."""
        if not self.is_leaf:
            assert self.node is not None
            reference = weakref.ref(self)

            def keep(g: Any) -> Any:
                if (tensor := reference()) is not None:
                    new = g if isinstance(g, Tensor) else wrap(g)
                    tensor.grad = new.clone() if tensor.grad is None else tensor.grad + new
                return g

            self.node.hooks()[_KEEP] = keep

    # In and out ---------------------------------------------------------------------------------------------

    def numpy(self) -> np.ndarray[Any, Any]:
        """The elements as a NumPy array over the same memory. Read-only while the graph needs them.

        Raises `AutogradError` for a tensor that requires grad, `DeviceError` off the CPU, both as PyTorch does.
        """
        if self.requires_grad:
            raise AutogradError(
                "numpy() on a tensor that requires grad",
                "what NumPy does with the values, the graph cannot record",
                "say so with x.detach().numpy()",
                here(),
            )
        if backends.of(self.array) is not backends.CPU:
            why, mend = f"the elements live on {self.device!r}", "copy them first: x.cpu().numpy()"
            raise DeviceError("numpy()", why, mend, here())
        own_buffer(self)
        array = self.array.view()
        guard.expose_output(array, self.storage)
        listen()
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
                here(),
            )
        return backends.of(self.array).to_numpy(self.array).item()

    def tolist(self) -> Any:
        """The elements as nested Python lists."""
        return backends.of(self.array).to_numpy(self.array).tolist()

    def to(self, target: Any = None, *, dtype: Any = None, device: str | None = None) -> Tensor:
        """The same values in another dtype or on another device; itself, when nothing changes."""
        if isinstance(target, str) and target in backends.names():
            device = target
        elif target is not None:
            dtype = target
        result = self
        if dtype is not None and as_dtype(dtype) != self.dtype:
            result = ct.cast(result, dtype=as_dtype(dtype))
        if device is not None and device != self.device:
            result = _to_device(result, device)
        return result

    def cpu(self) -> Tensor:
        """The same values in main memory."""
        return self.to("cpu")

    def float(self) -> Tensor:
        """As float32."""
        return self.to(np.float32)

    def double(self) -> Tensor:
        """As float64."""
        return self.to(np.float64)

    def half(self) -> Tensor:
        """As float16."""
        return self.to(np.float16)

    def long(self) -> Tensor:
        """As int64."""
        return self.to(np.int64)

    def int(self) -> Tensor:
        """As int32."""
        return self.to(np.int32)

    def bool(self) -> Tensor:
        """As bool: False for 0."""
        return self.to(np.bool_)

    def clone(self) -> Tensor:
        """A copy in memory of its own; gradients pass through."""
        return ct.clone(self)

    def contiguous(self) -> Tensor:
        """Itself when it is row-major already, else a copy that is."""
        return self if self.is_contiguous() else ct.clone(self)

    # Arithmetic. The operators *are* the generated callers, so that `x * y` costs one call. -------------------

    __add__ = __radd__ = add = ar.add
    __sub__ = sub = ar.sub
    __mul__ = __rmul__ = mul = ar.mul
    __truediv__ = div = ar.div
    __pow__ = pow = ar.pow
    __neg__ = neg = ar.neg
    __matmul__ = matmul = mm = la.matmul
    __abs__ = abs = un.abs
    __eq__ = eq = lg.eq
    __ne__ = ne = lg.ne
    __lt__ = lt = lg.lt
    __le__ = le = lg.le
    __gt__ = gt = lg.gt
    __ge__ = ge = lg.ge
    exp, log, sqrt, sin, cos = un.exp, un.log, un.sqrt, un.sin, un.cos
    tanh, sigmoid, relu, sign = un.tanh, un.sigmoid, un.relu, un.sign
    maximum, minimum = ar.maximum, ar.minimum

    def __rsub__(self, other: Any) -> Tensor:
        return ar.sub(other, self)

    def __rtruediv__(self, other: Any) -> Tensor:
        return ar.div(other, self)

    def __rpow__(self, other: Any) -> Tensor:
        return ar.pow(other, self)

    def __rmatmul__(self, other: Any) -> Tensor:
        return la.matmul(other, self)

    def clamp(self, min: Scalar | None = None, max: Scalar | None = None) -> Tensor:
        """Values held between ``min`` and ``max``."""
        return ar.clamp(self, min=min, max=max)

    # Reductions ---------------------------------------------------------------------------------------------

    sum, mean, amax, amin, argmax = rd.sum, rd.mean, rd.amax, rd.amin, rd.argmax
    softmax, log_softmax, logsumexp = rd.softmax, rd.log_softmax, rd.logsumexp
    cumsum = sc.cumsum

    # Shape --------------------------------------------------------------------------------------------------

    reshape, permute, transpose, expand = mv.reshape, mv.permute, mv.transpose, mv.expand
    squeeze, unsqueeze, flatten = mv.squeeze, mv.unsqueeze, mv.flatten

    def view(self, *shape: Any) -> Tensor:
        """Like `reshape`, but never a copy: raises `ShapeError` where the strides do not allow a view."""
        result = mv.reshape_op(self, shape=arguments.sizes(shape))
        if result.origin is None and self.array.size:
            raise ShapeError(
                f"view{arguments.sizes(shape)} of a tensor {tuple(self.shape)} with strides {self.stride()}",
                "no shape and strides over the same bytes show these elements in this order",
                "use reshape(), which copies where it must, or contiguous() first",
                here(),
            )
        return result

    @property
    def T(self) -> Tensor:
        """The axes in reverse; a view."""
        return mv.permute_op(self, dims=tuple(range(self.ndim))[::-1])

    @property
    def mT(self) -> Tensor:
        """The last two axes swapped; a view."""
        return self.transpose(-1, -2)

    # Indexing -----------------------------------------------------------------------------------------------

    def __getitem__(self, index: Any) -> Tensor:
        return ix.getitem(self, index=arguments.plain_index(index, self))

    def __setitem__(self, index: Any, value: Any) -> None:
        self._put(index, value, "x[…] = …")

    def _put(self, index: Any, value: Any, name: str) -> Tensor:
        """Write ``value`` at ``index``; ``name`` is what the user called."""
        device = None if isinstance(value, TensorBase) else self.device
        params = {"index": arguments.plain_index(index, self)}
        return inplace(ix.Put, self, (as_tensor(value, self.dtype, device),), params, name)

    def __len__(self) -> builtins.int:
        if not self.ndim:
            raise ShapeError(
                "len() of a 0-d tensor", "it has no axis to count along", "use item() for its value", here()
            )
        return self.shape[0]

    def __iter__(self) -> Iterator[Tensor]:
        return (self[i] for i in range(len(self)))

    def __contains__(self, value: Any) -> builtins.bool:
        return builtins.bool((self == value).array.any())

    # In place -----------------------------------------------------------------------------------------------

    def add_(self, other: Any) -> Tensor:
        """Add to this buffer."""
        return inplace(ar.Add, self, (other,))

    def sub_(self, other: Any) -> Tensor:
        """Subtract from this buffer."""
        return inplace(ar.Sub, self, (other,))

    def mul_(self, other: Any) -> Tensor:
        """Multiply this buffer."""
        return inplace(ar.Mul, self, (other,))

    def div_(self, other: Any) -> Tensor:
        """Divide this buffer."""
        return inplace(ar.Div, self, (other,))

    def relu_(self) -> Tensor:
        """`relu` in this buffer."""
        return inplace(un.Relu, self)

    def clamp_(self, min: Scalar | None = None, max: Scalar | None = None) -> Tensor:
        """`clamp` in this buffer."""
        return inplace(ar.Clamp, self, (), {"min": min, "max": max})

    def zero_(self) -> Tensor:
        """Fill with zeros."""
        return self._put(..., 0, "zero_")

    def fill_(self, value: Any) -> Tensor:
        """Fill with one value."""
        return self._put(..., value, "fill_")

    def copy_(self, source: Any) -> Tensor:
        """Overwrite with ``source``, broadcast to this shape."""
        return self._put(..., source, "copy_")

    def normal_(self, mean: builtins.float = 0.0, std: builtins.float = 1.0) -> Tensor:
        """Fill with normally distributed numbers."""
        from .random import generator

        return self._put(..., generator().normal(mean, std, self.shape), "normal_")

    def uniform_(self, low: builtins.float = 0.0, high: builtins.float = 1.0) -> Tensor:
        """Fill with numbers spread evenly over ``low`` to ``high``."""
        from .random import generator

        return self._put(..., generator().uniform(low, high, self.shape), "uniform_")

    __iadd__, __isub__, __imul__, __itruediv__ = add_, sub_, mul_, div_

    # Python and NumPy ---------------------------------------------------------------------------------------

    def __bool__(self) -> builtins.bool:
        if self.array.size != 1:
            raise ShapeError(
                f"the truth of a tensor {tuple(self.shape)}",
                f"it has {self.array.size} elements, some perhaps true and some not",
                "reduce it first: (x > 0).all() or .any() on x.numpy(), or compare one element",
                here(),
            )
        return builtins.bool(self.item())

    def __float__(self) -> builtins.float:
        return builtins.float(self.item())

    def __int__(self) -> builtins.int:
        return builtins.int(self.item())

    def __index__(self) -> builtins.int:
        value = self.item()
        if not isinstance(value, builtins.int):
            raise DtypeError(
                f"a tensor of dtype {self.dtype} as an index",
                "an index is an integer",
                "use x.long()",
                here(),
            )
        return value

    def __repr__(self) -> str:
        return arguments.describe(self)

    def __reduce_ex__(self, protocol: Any) -> Any:
        """For ``copy`` and ``pickle``: a leaf with memory of its own, its gradient and its mark as a parameter.

        Raises `AutogradError` for what an operation made: its history cannot be copied with it.
        """
        if not self.is_leaf:
            raise AutogradError(
                f"copying or pickling the result of {self.node}",
                "it belongs to a graph, and a copy would not",
                "detach() it first, or clone() it to stay in the graph",
                here(),
            )
        values, grad = backends.of(self.array).to_numpy(self.array), self.grad
        marks = (self.requires_grad, self.parameter, self.name, None if grad is None else grad.detach())
        return _rebuild, (values, self.device, *marks)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        from .numpy_protocol import ufunc as call

        return call(ufunc, method, inputs, kwargs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        from .numpy_protocol import function as call

        return call(function, args, kwargs)


class SlowTensor(Tensor):
    """A tensor that generated callers must not take for a plain one.

    It is off the CPU, being traced, a stale view, or of a 16-bit float dtype.
    """

    __slots__ = ()


def _class_for(array: Any) -> type[Tensor]:
    return Tensor if isinstance(array, (np.ndarray, np.generic)) and not is_narrow(array.dtype) else SlowTensor


def wrap(array: Any) -> Tensor:
    """A tensor around a raw array of any device, outside the graph. The array is not copied."""
    result: Tensor = object.__new__(_class_for(array))
    result.array, result.node, result.storage = array, None, None
    return result


def _rebuild(values: Any, device: str, requires_grad: bool, parameter: bool, name: str | None, grad: Any) -> Tensor:
    """What `Tensor.__reduce_ex__` took apart."""
    result = wrap(backends.get(device).from_numpy(np.array(values))).requires_grad_(requires_grad)
    result.parameter, result.name, result.grad = parameter, name, grad
    return result


def tensor(data: Any, *, dtype: Any = None, device: str | None = None, requires_grad: bool = False) -> Tensor:
    """A new tensor with a copy of ``data``: numbers, nested lists, NumPy arrays or a tensor.

    Python floats become the default dtype (float32), ints int64; arrays keep their dtype unless ``dtype`` says
    otherwise. Raises `ShapeError` for ragged lists, `DtypeError` for what is not a number.

    >>> tensor([[1.0, 2.0], [3.0, 4.0]]).sum(dim=0)
    tensor([4., 6.])
    """
    result = wrap(_to_device_array(arguments.numbers(data, dtype, copy=True), device))
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
    if isinstance(data, np.ndarray) and result.array is array and np.may_share_memory(array, data):
        result.array = array.view()  # ours stays writable when the guard locks theirs
        result.storage = guard.expose_input(data)
        listen()
    return result


def from_numpy(array: np.ndarray[Any, Any]) -> Tensor:
    """A tensor over the memory of a NumPy array: a write to one is seen by both.

    Raises `DtypeError` for anything but an array.
    """
    if not isinstance(array, np.ndarray):
        why, mend = "it takes a NumPy array", "use tensor() or as_tensor()"
        raise DtypeError(f"from_numpy({type(array).__name__})", why, mend, here())
    return as_tensor(array, device=backends.CPU.name)


def _to_device_array(array: Any, device: str | None) -> Any:
    return backends.get(device or modes().device).from_numpy(array)


def _to_device(source: Tensor, device: str) -> Tensor:
    return mv.transfer(source, device=device)


dispatch.install(
    Tensor=Tensor, wrap=wrap, adopt=adopt, settle=settle, as_tensor=as_tensor, cast=ct.cast,
)  # fmt: skip
