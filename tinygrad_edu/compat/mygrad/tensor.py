"""MyGrad's tensor: one of this engine's inside, with MyGrad's rules for constants, gradients and writes."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ...autograd import backward as run_backward
from ...core.graph import Leaf, Node
from ...errors import ArgumentError
from ...settings import modes, no_grad, promotion
from ...tensor import Tensor as _Tensor
from ...tensor import from_numpy
from ...tensor.creation import ones_like

_DONE: weakref.WeakSet[Node] = weakref.WeakSet()  # what backward has been through


class Tensor(np.lib.mixins.NDArrayOperatorsMixin):
    """An array that takes part in a graph. ``constant`` tensors have no gradient; see `tensor` for how one is made."""

    __hash__ = object.__hash__

    def __init__(self, inner: _Tensor, constant: bool, base: Tensor | None = None, look: Any = None) -> None:
        self._inner, self.constant = inner, constant
        self.base = base  # the tensor whose memory this one looks at, or None
        self._look: Callable[[_Tensor], _Tensor] = look  # how: from the base to this view
        self._seen_by: list[weakref.ref[Tensor]] = []  # views; a set would compare them, which compares elements
        self._grad: Any = None
        if base is not None:
            base._seen_by.append(weakref.ref(self))
        self._listen()

    def _views(self) -> list[Tensor]:
        return [view for ref in self._seen_by if (view := ref()) is not None]

    def _listen(self) -> None:
        if self._inner.requires_grad and not self._inner.is_leaf:
            self._inner.retain_grad()

    # What it is ---------------------------------------------------------------------------------------------------

    @property
    def data(self) -> np.ndarray[Any, Any]:
        """The values: the memory itself. It is read-only while the graph needs it."""
        return self._inner.detach().numpy()

    @property
    def grad(self) -> np.ndarray[Any, Any] | None:
        """The gradient of what `backward` was last called on, as an array; None for constants, and before that.

        That of a view looks at its place in the gradient of the tensor that owns the memory.
        """
        if self.base is not None and self.base.grad is not None:
            with no_grad():
                return self._look(from_numpy(self.base.grad)).numpy()
        found = self._inner.grad if self._inner.requires_grad else None
        return None if found is None else found.detach().numpy()

    @property
    def creator(self) -> str | None:
        """The operation that it came from, while the graph is there."""
        node = self._inner.node
        return None if node is None or isinstance(node, Leaf) or node in _DONE else str(node.op.name)

    shape = property(lambda self: tuple(self._inner.shape), doc="The lengths of the axes.")
    ndim = property(lambda self: len(self.shape), doc="How many axes there are.")
    size = property(lambda self: self._inner.numel(), doc="How many elements there are.")
    dtype = property(lambda self: self._inner.dtype, doc="The type of the elements.")
    T = property(lambda self: self.transpose(), doc="The axes in reverse order; a view.")

    def __repr__(self) -> str:
        return f"Tensor({np.array2string(self.data, separator=', ', prefix='Tensor(')})"

    def __len__(self) -> int:
        return len(self._inner)

    def __iter__(self) -> Iterator[Tensor]:
        return (self[i] for i in range(len(self)))

    def __bool__(self) -> bool:
        return bool(self._inner)

    def __float__(self) -> float:
        return float(self._inner)

    def __int__(self) -> int:
        return int(self._inner)

    def item(self) -> Any:
        """The value of a tensor with one element, as a Python number."""
        return self._inner.item()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return np.array(self.data, dtype, copy=copy)

    # NumPy's functions ---------------------------------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: Any, method: str, *args: Any, out: Any = None, **kwargs: Any) -> Any:
        result = _applied(getattr(ufunc, method), args, kwargs)
        if out is None:
            return result
        (target,) = out
        if not isinstance(target, Tensor):
            target[...] = result.data
            return target
        return target._write(lambda inner: inner.copy_(result._inner))

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return _applied(function, args, kwargs)

    def __getitem__(self, key: Any) -> Any:
        return _applied(lambda inner, key: inner[key], (self, _inside(key)), {})

    def __setitem__(self, key: Any, value: Any) -> None:
        self._write(lambda inner: inner.__setitem__(_inside(key), _inside(value)))

    def reshape(self, *shape: Any) -> Any:
        """``np.reshape`` of this tensor; the shape may be given as several numbers."""
        return np.reshape(self, shape[0] if len(shape) == 1 else shape)

    def transpose(self, *axes: int) -> Any:
        """``np.transpose`` of this tensor."""
        return np.transpose(self, axes or None)

    def _write(self, write: Callable[[_Tensor], Any]) -> Tensor:
        """Write into this memory, for all that look at it. What was computed before keeps the old values."""
        root = self if self.base is None else self.base
        if modes().grad:  # the graph may need the old values
            root._inner = root._inner.clone()
            for view in root._views():
                view._inner = view._look(root._inner)
        with promotion("numpy"):
            write(self._inner)
        for one in (root, *root._views()):
            one._listen()
        return self

    # Gradients -----------------------------------------------------------------------------------------------------

    def backward(self, grad: Any = None) -> None:
        """Give all tensors that this one came from, and itself, their gradients. Then the graph is forgotten.

        Without ``grad`` it is the gradient of the sum of all elements.
        """
        if self.constant or not self._inner.requires_grad:
            return
        if grad is None:
            start = ones_like(self._inner)
        else:
            start = from_numpy(np.broadcast_to(asarray(grad), self.shape).astype(self.dtype))
        before = _reached(self._inner.node)
        run_backward(self._inner, start)
        _DONE.update(before)

    def clear_graph(self) -> None:
        """Forget how it was computed."""
        found, inner = self._inner.grad, self._inner
        if inner.node is not None:
            self._inner = inner.detach().requires_grad_(True)
            self._inner.grad = found

    def null_grad(self) -> Tensor:
        """Forget the gradient. Returns the tensor."""
        self._inner.grad = None
        return self

    def as_constant(self) -> Tensor:
        """The same values, as a constant."""
        return Tensor(self._inner.detach(), constant=True)

    def copy(self, *, constant: bool | None = None) -> Tensor:
        """A tensor with the same values and its own memory, without a graph."""
        return tensor(self.data, constant=self.constant if constant is None else constant)

    def astype(self, dtype: Any, *, constant: bool | None = None) -> Tensor:
        """The values in another dtype, without a graph."""
        return tensor(self.data.astype(dtype), constant=constant, copy=False)


def tensor(
    arr_like: Any, dtype: Any = None, *, constant: bool | None = None, copy: bool = True, ndmin: int = 0
) -> Tensor:
    """A tensor of these values. Floats are not constant unless ``constant`` says so; integers and bools always are.

    ``copy=False`` shares the memory of an array. Raises `ArgumentError` for integers with constant=False.
    """
    array = np.array(asarray(arr_like), dtype, ndmin=ndmin) if copy else np.asarray(asarray(arr_like), dtype)
    floats = array.dtype.kind == "f"
    if constant is False and not floats:
        why = "integers and truth values have no gradients"
        raise ArgumentError(f"tensor({array.dtype}, constant=False)", why, "give floats: dtype=float")
    constant = bool(constant) or not floats
    inner = from_numpy(array)
    return Tensor(inner if constant else inner.requires_grad_(True), constant)


def astensor(t: Any, dtype: Any = None, *, constant: bool | None = None) -> Tensor:
    """The tensor itself, or one that shares the memory of an array."""
    if isinstance(t, Tensor) and dtype in (None, t.dtype) and constant in (None, t.constant):
        return t
    return tensor(t, dtype, constant=constant, copy=False)


def asarray(a: Any) -> Any:
    """The values of a tensor as an array; of anything else what NumPy makes of it."""
    return a.data if isinstance(a, Tensor) else np.asarray(a)


# How NumPy's functions are applied -----------------------------------------------------------------------------------


def _inside(tree: Any, seen: list[Tensor] | None = None) -> Any:
    """The engine's tensors in place of MyGrad's and of arrays, also in tuples and lists. MyGrad's are collected."""
    if isinstance(tree, Tensor):
        if seen is not None:
            seen.append(tree)
        if tree._inner.node in _DONE:
            tree.clear_graph()  # backward has been through it, and now it is a beginning
        return tree._inner
    if isinstance(tree, np.ndarray) and seen is not None:
        return from_numpy(tree)  # which shares its memory, so that the guard knows the array
    if isinstance(tree, (list, tuple)):
        return type(tree)([_inside(item, seen) for item in tree])
    return tree


def _reached(node: Node | None) -> list[Node]:
    """All nodes of operations that lead to this one, and itself."""
    found: dict[int, Node] = {}
    waiting = [node]
    while waiting:
        one = waiting.pop()
        if one is not None and not isinstance(one, Leaf) and id(one) not in found:
            found[id(one)] = one
            waiting += one.parents
    return [*found.values()]


def _applied(function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """The result of one of NumPy's functions, with NumPy's dtypes."""
    seen: list[Tensor] = []
    inside = _inside(tuple(args), seen)
    with promotion("numpy"):
        result = function(*inside, **kwargs)
    if modes().grad:
        for one in seen:
            root = one if one.base is None else one.base
            for used in (one, root):
                if used._inner.requires_grad:
                    used._inner.grad = None  # what is used anew forgets its gradient
    if not isinstance(result, _Tensor):
        return result
    constant = all(one.constant for one in seen) or result.dtype.kind != "f"
    root = seen[0]
    if np.may_share_memory(result.array, root._inner.array):
        return _view(root, result, constant, lambda inner: function(inner, *inside[1:], **kwargs))
    return Tensor(result, constant)


def _view(seen: Tensor, result: _Tensor, constant: bool, look: Callable[[_Tensor], _Tensor]) -> Tensor:
    """A tensor that looks at another one's memory, by way of the tensor that owns it."""
    if seen.base is None:
        return Tensor(result, constant, seen, look)
    before = seen._look
    return Tensor(result, constant, seen.base, lambda inner: look(before(inner)))


def _method(name: str) -> Any:
    function = getattr(np, name)

    def method(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        return function(self, *args, **kwargs)

    method.__name__, method.__doc__ = name, f"``np.{name}`` of this tensor."
    return method


for _name in "sum mean max min prod std var cumsum cumprod argmax argmin swapaxes squeeze ravel any all".split():
    setattr(Tensor, _name, _method(_name))
