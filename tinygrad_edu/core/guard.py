"""The memory guard: NumPy arrays that the graph still needs cannot be changed behind its back.

Only arrays that user code can reach are locked: those handed in, with the arrays that they are views of, and those
that ``numpy()`` handed out. A `Lock` lives exactly as long as some node refers to it; when the last one goes (after
backward, with the loss, or with a failed op) the arrays become writable again. Holes are known. A view that was
taken *before* the lock still writes: level ``verify`` finds that out at backward, by checksum. A view taken *while*
locked stays read-only. Memory that belongs to another library (``torch_tensor.numpy()``) is not locked: NumPy could
not unlock it.
"""

from __future__ import annotations

import gc
import sys
import threading
import weakref
from typing import Any

import numpy as np

from .. import backends
from ..errors import MemoryGuardError
from ..settings import modes
from .graph import Extra, Node
from .storage import Storage, find, storage_of

_mutex = threading.RLock()  # reentrant: a Lock may die while another is made


class Lock:
    """Keeps one buffer's reachable arrays read-only while any node refers to it."""

    __slots__ = ("__weakref__", "holders", "limit", "storage")

    def __init__(self, storage: Storage) -> None:
        self.storage = storage
        self.holders: list[weakref.ref[Node]] = []
        self.limit = 64
        with _mutex:
            storage.locks += 1
            for reference in storage.reachable:
                _make_readonly(storage, reference)

    def add(self, node: Node) -> None:
        """Let ``node`` hold the lock."""
        holders = self.holders
        holders.append(weakref.ref(node))
        if node.extra is None:
            node.extra = Extra(self)
        else:
            node.extra.locks += (self,)
        if len(holders) > self.limit:
            holders[:] = [reference for reference in holders if reference() is not None]
            self.limit = 2 * len(holders) + 64

    def __del__(self) -> None:
        with _mutex:
            self.storage.locks -= 1
            if not self.storage.locks:
                for reference in self.storage.restore:  # owner before view: NumPy refuses the other order
                    array = reference()
                    if array is not None:
                        _make_writable(array)
                self.storage.restore.clear()


def _make_writable(array: Any) -> None:
    """Undo `_make_readonly`. NumPy refuses while the owner is read-only, as the user may have made it meanwhile."""
    owner = backends.CPU.owner(array)
    sealed = owner is not array and not owner.flags.writeable
    if sealed:
        owner.flags.writeable = True
    array.flags.writeable = True
    if sealed:
        owner.flags.writeable = False


def _make_readonly(storage: Storage, reference: weakref.ref[Any]) -> None:
    array = reference()
    if array is not None and array.flags.writeable:
        array.flags.writeable = False
        storage.restore.append(reference)


def hold(node: Node, storage: Storage) -> None:
    """Lock the reachable arrays of ``storage`` for as long as ``node`` needs them."""
    if not storage.reachable:
        return
    lock = None if storage.lock is None else storage.lock()
    if lock is None:
        with _mutex:
            lock = Lock(storage)
            storage.lock = weakref.ref(lock)
    lock.add(node)


def expose_input(array: np.ndarray[Any, Any]) -> Storage:
    """The user handed in this array: it and all it is a view of can be reached from outside."""
    storage = storage_of(array)
    chain = backends.CPU.chain(array)
    if not _can_be_unlocked(chain[-1]):
        return storage
    with _mutex:
        known = {id(reference()) for reference in storage.reachable}
        for link in reversed(chain):  # owner first
            if id(link) not in known:
                _reach(storage, link)
    return storage


def _can_be_unlocked(owner: Any) -> bool:
    """NumPy makes no array writable again whose memory belongs to another library: that one must never be locked."""
    if owner.base is None:
        return True
    try:
        return not memoryview(owner.base).readonly  # what NumPy asks before it makes an array writable
    except TypeError:
        return False


def expose_output(array: np.ndarray[Any, Any], storage: Storage) -> None:
    """``numpy()`` hands out this view of a tensor's memory. Nodes that saved the memory before lock it now."""
    with _mutex:
        _reach(storage, array)
        if not storage.searched and modes().guard != "off":
            storage.searched = True  # from now on, every node that saves this memory locks it by itself
            for node in _savers(array, storage):
                hold(node, storage)


def _reach(storage: Storage, array: Any) -> None:
    storage.reachable[:] = [reference for reference in storage.reachable if reference() is not None]
    reference = weakref.ref(array)
    storage.reachable.append(reference)
    if storage.locks:
        _make_readonly(storage, reference)


def _references(arrays: dict[int, Any]) -> int:
    return sum(map(sys.getrefcount, arrays.values()))


_OWN = _references({0: np.empty(1)})  # what counting adds to each array: it differs between Pythons


def _savers(array: Any, storage: Storage) -> list[Node]:
    """Live nodes that saved this memory. They are looked for only here, so that saving costs nothing.

    Mostly it is enough to count: where every reference belongs to a tensor that is known to share the memory, to the
    node of one, or to an array handed out, there can be no other node, and nobody has to look through all objects.
    """
    owner = backends.CPU.owner(array)
    tensors = {tensor for reference in storage.views if (tensor := reference()) is not None}
    nodes = {tensor.node for tensor in tensors if type(tensor.node) is Node and tensor.node.saved}
    held = [tensor.array for tensor in tensors] + [value for node in nodes for value in node.saved or ()]
    held = [a for a in held if a is owner or getattr(a, "base", None) is owner]
    arrays = {id(a): a for a in (owner, *held)}
    handed_out = {id(a) for reference in storage.reachable if getattr(a := reference(), "base", None) is owner}
    # Each of `held` counts twice, in its place and in that list; so does the owner, as a name here and for each view.
    known = _OWN * len(arrays) + 2 * len(held) + len(arrays) + len(handed_out - set(arrays))
    candidates: Any = nodes if _references(arrays) <= known else gc.get_objects()
    return [
        node
        for node in candidates
        if type(node) is Node  # not isinstance: that asks every object for its __class__, and some answer with effects
        and node.saved
        and any(isinstance(value, np.ndarray) and backends.CPU.owner(value) is owner for value in node.saved)
    ]


# Level "verify" ------------------------------------------------------------------------------------------------


def checksum(array: Any) -> int:
    """CRC of the values, as they lie in memory."""
    import zlib  # only level `verify` looks this closely

    return zlib.crc32(np.ascontiguousarray(backends.of(array).to_numpy(array)).view(np.uint8).data)


_checked: weakref.WeakSet[Node] = weakref.WeakSet()  # nodes with checksums


def watched() -> weakref.WeakSet[Node]:
    """The nodes with checksums that exist now, so that a scope can tell its own from those before it."""
    return weakref.WeakSet(_checked)


def verify_all(earlier: weakref.WeakSet[Node]) -> None:
    """`verify` every live node whose checksums were taken since ``earlier``."""
    for node in sorted(_checked, key=lambda node: node.number):
        if node not in earlier and node.saved is not None:
            verify(node)


def note_checksums(node: Node) -> None:
    """Remember what the saved arrays look like now."""
    for save, value in zip(node.op.save_plan, node.saved or (), strict=False):
        if not save.part and isinstance(value, np.ndarray):
            node.extras().checks += ((value, checksum(value)),)
            _checked.add(node)


def verify(node: Node) -> None:
    """Compare the saved arrays with their checksums. Raises `MemoryGuardError` when one has changed."""
    assert node.extra is not None
    for value, before in node.extra.checks:
        storage = find(value)
        if storage is not None and storage.stamp > node.number:
            continue  # written through a tensor: backward says so, and names the op
        if checksum(value) != before:
            raise MemoryGuardError(
                f"backward through {node.op.name}, which saved an array {value.shape} {value.dtype}",
                "its values have changed since, through a view that was taken before the array was locked",
                "write to a copy, or after backward()",
                node.line,
            )


def holders(array: Any) -> list[Node]:
    """The graph nodes that keep this array locked, oldest first."""
    storage = find(array) if isinstance(array, np.ndarray) else None
    lock = storage.lock() if storage is not None and storage.lock is not None else None
    if lock is None:
        return []
    nodes = [node for reference in lock.holders if (node := reference()) is not None and node.saved is not None]
    return sorted(set(nodes), key=lambda node: node.number)
