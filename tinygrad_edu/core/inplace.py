"""Views and in-place writes, by PyTorch's rules.

A view shares its base's buffer. Writing through either rewrites *history* and copies no data: the base gets a new node
that stands for "the old base, with this region replaced", and every view's node is marked stale. The one buffer that is
copied is that of an operand which the op both overwrites and needs later.

Two words are used here and elsewhere. To *adopt* a tensor is to note that it is a view, of which base, by which steps.
To *settle* a stale view is to give it a node again, one that repeats these steps from the base's new node. That waits
until the view is next used, because most views are not used after a write.
"""

from __future__ import annotations

import math
import weakref
from typing import Any

from .. import backends
from ..backends.layout import overlaps
from ..common.lines import Line, user_line
from ..common.locks import Lock
from ..dtypes import is_float
from ..errors import InplaceError
from ..settings import modes
from .above import above
from .base import TensorBase
from .graph import KEEP, Leaf, Node
from .op import Op, Params
from .slow import Call, announce, arrange, operands_of, record, run_body, through
from .storage import number, replace_scalar, storage_of

# mypy: disable-error-code="override"
# A body names its operands; the base class cannot know how many there are.

_pruning = Lock()
STALE: Any = Leaf.__new__(Leaf)  # the node of a view whose base was written since
STALE.op, STALE.parents, STALE.saved, STALE.number = None, (), (), 0

Chain = tuple[tuple[type[Op], Params], ...]


class View:
    """How a tensor came from the base whose memory it shares. One made inside no_grad() stays outside the graph."""

    __slots__ = ("base", "chain", "tracked")

    def __init__(self, base: TensorBase, chain: Chain, tracked: bool) -> None:
        self.base, self.chain, self.tracked = base, chain, tracked


def adopt(tensor: TensorBase, source: TensorBase, op: type[Op], params: Params) -> None:
    """Note that ``tensor``, just made from ``source`` by a view op, is a view, if the two do share memory."""
    if not hasattr(source.array, "__setitem__"):  # a NumPy scalar: it needs memory now, for both to share
        tensor.array = op.forward(backends.CPU.xp, own_buffer(source), **params)
    array, owner = tensor.array, getattr(tensor.array, "base", None)
    if array is not source.array and owner is not source.array:
        if owner is None:
            return  # this time it was a copy
        memory = backends.of(array).owner
        if owner is not getattr(source.array, "base", None) and memory(array) is not memory(source.array):
            return
    share_storage(source, tensor)
    step = ((op, params),)
    outer = source.origin
    if outer is None or isinstance(source.node, Leaf):  # the graph starts at a leaf, even at one that is a view itself
        tensor.origin = View(source, step, modes().grad)
    else:
        tensor.origin = View(outer.base, outer.chain + step, outer.tracked and modes().grad)


def share_storage(source: TensorBase, other: TensorBase) -> None:
    """Give both tensors the one storage of their common buffer."""
    if source.storage is None:
        source.storage = storage_of(source.array)
        note_sharer(source)
    other.storage = source.storage
    note_sharer(other)


def note_sharer(tensor: TensorBase) -> None:
    """Let the tensor's storage know of it."""
    views = tensor.storage.views
    views.append(weakref.ref(tensor))
    count = len(views)
    if count > 32 and count & (count - 1) == 0 and not _pruning.locked():  # at powers of two, one thread at a time
        with _pruning:
            views[:count] = [reference for reference in views[:count] if reference() is not None]  # others may append


def own_buffer(tensor: TensorBase) -> Any:
    """The tensor's array as something that can be written to: a NumPy scalar becomes a 0-d array first."""
    array = tensor.array
    if tensor.storage is None:
        backend = backends.of(array)
        if backend is backends.CPU and not hasattr(array, "__setitem__"):
            scalar = array
            tensor.array = array = backend.xp.full((), scalar, scalar.dtype)
            tensor.storage = replace_scalar(scalar, array)
        else:
            tensor.storage = storage_of(array)
        note_sharer(tensor)
    return array


def settle(tensor: TensorBase) -> None:
    """Bring a view's node up to date after its base was written."""
    if tensor.node is not STALE:
        return
    base, chain = tensor.origin.base, tensor.origin.chain
    settle(base)
    if base.node is None or not tensor.origin.tracked:
        tensor.node = None
    else:
        node = Node()
        node.op, node.parents, node.shapes = ViewOf, (base.node,), None
        node.saved = (tuple(base.array.shape), chain)
        node.number, node.scope, node.extra = number(), modes().scope, None
        node.line = base.node.line
        tensor.node = node
    tensor._stand_on_fast_path(True)
    note_sharer(tensor)  # again: `_rewrite` took it off the list when it became stale


def replay(chain: Chain, xp: Any, array: Any) -> Any:
    """Apply a view's steps to another array of the base's shape."""
    for op, params in chain:
        array = op.forward(xp, array, **params)
    return array


def positions(shape: tuple[int, ...], chain: Chain) -> Any:
    """Which elements of the base a view shows: flat positions, in the view's shape."""
    xp, count = backends.CPU.xp, math.prod(shape)
    return replay(chain, xp, xp.reshape(xp.arange(count), shape))


class ViewOf(Op, name="view"):
    """A view, seen from its base as it is after an in-place write."""

    saves = ("shape", "chain")

    @staticmethod
    def forward(xp: Any, base: Any, *, shape: Any, chain: Any) -> Any:
        """The elements of ``base`` that the view shows."""
        return replay(chain, xp, base)

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, shape: Any, chain: Any) -> Any:
        """Put the gradient where the view reads."""
        where = positions(shape, chain)
        flat = xp.scatter_add((math.prod(shape),), where.reshape(-1), xp.reshape(g, (-1,)))
        return xp.reshape(flat, shape)


class ViewPut(Op, name="write_view"):
    """A base after an in-place write through a view of it: the old base, with the view's region replaced."""

    saves = ("chain",)
    dtypes = "each"

    @staticmethod
    def forward(xp: Any, base: Any, value: Any, *, chain: Any) -> Any:
        """``base`` with ``value`` in the view's region, as a new array."""
        where = positions(tuple(base.shape), chain)
        flat = xp.put(xp.reshape(base, (-1,)), where.reshape(-1), xp.reshape(value, (-1,)))
        return xp.reshape(flat, tuple(base.shape))

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, chain: Any) -> Any:
        """The region's gradient belongs to the new value, the rest to the old base."""
        where = positions(tuple(g.shape), chain)
        flat = xp.reshape(g, (-1,))
        region = flat[where.reshape(-1)]
        rest = xp.reshape(xp.put(flat, where.reshape(-1), xp.zeros_like(region)), tuple(g.shape)) if needs[0] else None
        return rest, xp.reshape(region, where.shape) if needs[1] else None


def inplace(
    op: type[Op], target: TensorBase, others: tuple[Any, ...] = (), params: Params | None = None, name: str = "",
    once: bool = False,
) -> Any:  # fmt: skip
    """``target`` becomes ``op(target, *others)``, in its own buffer. Returns ``target``.

    ``name`` is what errors call it, by default the op's name with an underscore. With ``once`` the caller promises
    that no place in memory gets two values, even where elements share one.

    Raises `InplaceError` for a leaf that requires grad, a view of one, and overlapping memory; `DtypeError` when the
    result does not fit the target's dtype; `ShapeError` when it does not fit its shape.
    """
    params, line, m = params or {}, user_line(), modes()
    name = name or f"{op.name}_"
    if m.plain and write_plainly(op, target, (target, *others), params, name, line, m.grad):
        return target
    operands = operands_of(op, (target, *others))
    refuse(name, target, m.grad and tracked_among(operands), once)
    plan, operands = arrange(op, operands, params, target.device)
    call = Call(plan.op, operands, params, line, m, target)
    return through(call, len(m.observers) - 1, lambda call: write(call, name))


def write_plainly(
    op: type[Op], target: TensorBase, operands: tuple[Any, ...], params: Params, name: str, line: Line, grad: bool
) -> bool:
    """Do the write here if nothing about it is special, for speed. Returns whether it was done.

    Not special are plain tensors of one float dtype and Python numbers, with none of them in the graph, and memory
    that no two elements share.
    """
    if not op.into or type(target) is not above.Tensor or (grad and target.node is not None):
        return False
    array, view = target.array, target.origin
    dtype, flags = array.dtype, array.flags
    if dtype.char not in "fd" or not array.ndim or not flags.writeable:
        return False
    if not flags.c_contiguous and overlaps(array.shape, array.strides):
        return False
    if view is not None and ((grad and view.base.node is not None) or not view.base.array.flags.c_contiguous):
        return False
    arrays = []
    for o in operands:
        if type(o) is above.Tensor:
            if (grad and o.node is not None) or o.array.dtype is not dtype or o.array.ndim > array.ndim:
                return False
            arrays.append(o.array)
        elif type(o) is float or type(o) is int:
            arrays.append(o)
        else:
            return False
    new, shapes = operands[0] is not target, [getattr(a, "shape", array.shape) for a in arrays]
    if new and any(shape != array.shape for shape in shapes) and op.result_shape(shapes) != array.shape:
        return False  # with `out`, NumPy would stretch the result without a word
    own_buffer(target)
    try:
        done = backends.CPU.into(op.into[0], array, *arrays, *op.into[1:], **params)
        if done:
            target.storage.written(name, line)
    except (ValueError, IndexError, TypeError, OverflowError):
        return False  # the long way explains what is wrong
    except BaseException:  # Ctrl-C waits until NumPy is done: now it is written
        target.storage.written(name, line)
        raise
    return done


def tracked_among(operands: tuple[Any, ...]) -> bool:
    return any(isinstance(o, TensorBase) and o.node is not None for o in operands)


def write(call: Call, name: str) -> Any:
    """The write itself, and its entry into history."""
    op, operands, target = call.op, call.operands, call.target
    tracked = modes().grad and tracked_among(operands)
    array = own_buffer(target)
    backend = backends.of(array)
    xp, owner = backend.xp, backend.owner(array)
    arrays = tuple(o.array if isinstance(o, TensorBase) else o for o in operands)
    if tracked:  # copy what the op saves and is about to overwrite: the target, or another operand in its buffer
        pairs = zip(op.operands, operands, strict=True)
        wanting = {key for key, o in pairs if isinstance(o, TensorBase) and o.node is not None}
        plan = (save for save in op.save_plan if not save.part and (not save.needed_by or save.needed_by in wanting))
        saved = {save.source for save in plan}
        arrays = tuple(
            xp.copy(a) if key in saved and isinstance(o, TensorBase) and backend.owner(a) is owner else a
            for key, o, a in zip(op.operands, operands, arrays, strict=True)
        )
        for o, a in zip(operands, arrays, strict=True):
            if isinstance(o, TensorBase) and a is not o.array:
                announce(call.modes.observers, a, "saved")
    cache, out = None, array
    try:
        if not _into(call, backend, array, arrays):
            result = run_body(op, xp, arrays, call.params, operands)
            out, cache = result if op.caches else (result, None)
            above.check_fits(name, target, out)
            announce(call.modes.observers, out, "passing")
            array[...] = out
        target.storage.written(name, call.line)
    except BaseException as error:
        if not isinstance(error, Exception):  # Ctrl-C: it may be written
            target.storage.written(name, call.line)
        raise
    if tracked:
        # The op's own result is recorded first. Where the target has another dtype, a recorded cast leads on to it.
        value = above.wrap(array if out.dtype == array.dtype else out)
        value.node = record(call, operands, arrays, value.array, cache)
        _rewrite(target, value.to(array.dtype).node)
    return target


def _into(call: Call, backend: Any, out: Any, arrays: tuple[Any, ...]) -> bool:
    """Compute straight into ``out``, without a temporary, where op and backend can. Returns whether it was done."""
    op = call.op
    same = all(getattr(a, "dtype", out.dtype) == out.dtype for a in arrays)
    if not op.into or not same or (op.dtypes in ("float", "quotient", "floating") and not is_float(out.dtype)):
        return False
    if op.result_shape([tuple(getattr(a, "shape", ())) for a in arrays]) != tuple(out.shape):
        return False  # the body will fail too, and explain
    try:
        done: bool = backend.into(op.into[0], out, *arrays, *op.into[1:], **call.params)
    except (ValueError, IndexError, TypeError, OverflowError):
        return False  # the same
    return done


def _rewrite(target: TensorBase, node: Node) -> None:
    """Enter ``node`` as the new history of ``target``, of its base and of all that views them."""
    view = target.origin
    _move_keep(target.node, node)
    if view is not None:
        base = view.base
        settle(base)
        put = Node()
        put.op, put.parents, put.saved, put.shapes = ViewPut, (base.node, node), (view.chain,), None
        put.number, put.line, put.scope, put.extra = number(), node.line, node.scope, None
        _rewrite(base, put)
        return
    target.node = node
    storage = target.storage
    known, storage.views = storage.views, []
    for reference in known:
        tensor = reference()
        if tensor is not None and tensor.origin is None:  # the target, or another tensor over all of its memory
            storage.views.append(reference)
        elif tensor is not None:
            tensor.node = STALE
            storage.stale[id(tensor)] = reference
            tensor._stand_on_fast_path(False)


def _move_keep(old: Node | None, new: Node) -> None:
    """``retain_grad`` follows the tensor to its new node; other hooks stay where they were put, as in PyTorch."""
    if old is not None and old.extra is not None and old.extra.hooks and KEEP in old.extra.hooks:
        new.hooks()[KEEP] = old.extra.hooks.pop(KEEP)


def shows_twice(array: Any) -> bool:
    """Are two elements of this array the same place in memory?"""
    flags = getattr(array, "flags", None)
    return not (flags is not None and flags.c_contiguous) and overlaps(array.shape, array.strides)


def refuse(name: str, target: TensorBase, tracked: bool, once: bool = False) -> None:
    tried = f"{name} on a tensor {tuple(target.array.shape)} {target.array.dtype}"
    base = target if target.origin is None else target.origin.base
    if modes().grad:
        own = isinstance(target.node, Leaf)
        if own or isinstance(base.node, Leaf):
            what = "a leaf that requires grad" if own else "a view of a leaf that requires grad"
            why = f"it is {what}: its old values would be lost to the graph that starts there"
            raise InplaceError(tried, why, "write inside no_grad(), or work on a clone: x = x.clone()")
        if target.origin is not None and not target.origin.tracked and (tracked or base.node is not None):
            why = "the view was made inside no_grad(), so its base cannot learn of the write"
            raise InplaceError(tried, why, "make the view outside no_grad(), or write inside it")
    whose = "its" if not once and shows_twice(target.array) else ""
    if (tracked or (modes().grad and base.node is not None)) and shows_twice(base.array):
        # What is written to one of them shows in the others, and the graph has no way to record that.
        whose = whose or ("its" if base is target else "its base's")
    if whose:
        why = (
            f"several of {whose} elements are the same place in memory: it was expanded, or shows windows that overlap"
        )
        raise InplaceError(tried, why, "clone() it first, and write to the clone")
    if not getattr(getattr(target.array, "flags", None), "writeable", True) and hasattr(target.array, "__setitem__"):
        why = "it shares the memory of a NumPy array that is read-only"
        raise InplaceError(tried, why, "clone() it first, and write to the clone")


above.adopt, above.settle = adopt, settle
