"""The memory guard: NumPy arrays that the graph still needs cannot be changed behind its back.

Only *exposed* arrays are locked, those that user code can reach: those handed in, with the arrays that they are views
of, and those that ``numpy()`` handed out. A `Lock` lives exactly as long as some node refers to it; when the last one
goes (after backward, with the loss, or with a failed op) the arrays become writable again.

There are known holes. A view that was taken *before* the lock can still write, and so can a second array over the same
buffer. ``np.add.at`` and the ``at`` of every other ufunc write to read-only arrays too: they never check. Level
``verify`` finds such writes at backward, by checksum. A view taken *while* locked stays read-only. Arrays that NumPy
could not make writable again are never locked: memory that another library lends (``torch_tensor.numpy()``), and what
``as_strided`` returns.
"""

from __future__ import annotations

import gc
import sys
import weakref
from collections.abc import Callable
from functools import partial
from io import BytesIO
from itertools import chain, starmap
from typing import Any

import numpy as np

from .. import backends
from ..common.locks import RLock
from ..settings import modes
from .graph import Extra, Node
from .storage import Storage, find, storage_of

_mutex = RLock()  # reentrant: garbage may be collected while it is held, and that may run code which locks


class Lock:
    """Shared by the nodes that need one buffer unchanged. When the last of them goes, the arrays are released."""

    __slots__ = ("__weakref__", "complete", "holders", "limit")

    def __init__(self) -> None:
        self.complete = False  # are all reachable arrays locked?
        self.holders: list[weakref.ref[Node]] = []  # for `guard.explain`
        self.limit = 64  # with more holders than this, those that are gone are taken off the list

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


def hold(node: Node, storage: Storage) -> None:
    """Lock the reachable arrays of ``storage`` for as long as ``node`` needs them."""
    if storage.reachable:
        lock = storage.lock()
        if lock is None or not lock.complete:
            with _mutex:
                lock = _lock(storage)
        lock.add(node)


def _lock(storage: Storage) -> Lock:
    """The storage's lock, made now if need be. One that an interrupt left half made is completed."""
    lock: Lock = storage.lock()
    if lock is None:
        lock = Lock()
        storage.lock = weakref.ref(lock, _releaser(storage))
    for reference in storage.reachable:
        array = reference()
        if array is not None:
            _make_readonly(storage, array)
    lock.complete = True
    return lock


def _releaser(storage: Storage) -> Callable[[Any], Any]:
    """What the weak reference to a lock calls when the lock goes: it does what `Storage.restore` lists, and empties it.

    All of it runs in C, without a line of Python. Between two such lines an interrupt (Ctrl-C) could come and be lost,
    with the rest of the work; or another thread could run, find the arrays locked, and take that for lasting.
    """
    restore = storage.restore
    work = chain(starmap(np.ndarray.setflags, restore), map(list.clear, (restore,)))
    release: Any = partial(next, filter(None, work))  # each step gives None, so `next` runs to the end
    # `next` returns its default: the weak reference, which Python only lends it. Releasing the last array may free the
    # storage, and with it that reference. So the storage has to stay until `next` is done.
    release.storage = storage
    return release


def _make_readonly(storage: Storage, array: Any) -> None:
    if not array.flags.writeable:
        return
    restore, owner = storage.restore, backends.CPU.owner(array)
    if array is owner:
        restore.insert(0, (owner, True))  # NumPy refuses to make a view writable before its owner
    elif owner.flags.writeable or any(owner is other for other, _ in restore):
        restore.append((array, True))
    else:  # the user has made the owner read-only: open it just long enough to release the view
        restore += [(owner, True), (array, True), (owner, False)]
    np.ndarray.setflags(array, write=False)


def expose_input(array: np.ndarray[Any, Any]) -> Storage:
    """The user handed in this array: it and all it is a view of can be reached from outside."""
    fresh = find(array) is None
    storage = storage_of(array)
    with _mutex:
        if fresh:
            storage.searched = True  # no node can have saved it before
        known = {id(reference()) for reference in storage.reachable}
        for link in reversed(backends.CPU.chain(array)):  # owner first
            if id(link) not in known:
                _reach(storage, link)
    return storage


def expose_output(array: np.ndarray[Any, Any], storage: Storage) -> None:
    """``numpy()`` hands out this view of a tensor's memory. Nodes that saved the memory before lock it now."""
    with _mutex:
        _reach(storage, array)
        if not storage.searched and storage.reachable and modes().guard != "off":
            for node in _savers(array, storage):
                hold(node, storage)
            storage.searched = True  # from now on, every node that saves this memory locks it by itself


def _reach(storage: Storage, array: Any) -> None:
    if not _can_be_unlocked(array):
        return
    storage.reachable[:] = [reference for reference in storage.reachable if reference() is not None]
    lock = storage.lock()  # it has a name here, so it cannot go before the array is on the list
    if lock is not None:
        _make_readonly(storage, array)
    storage.reachable.append(weakref.ref(array))


def _can_be_unlocked(array: Any) -> bool:
    """Whether NumPy would make this array writable again, once its bases are. Otherwise it is never locked."""
    base = array.base
    if isinstance(base, np.ndarray):
        return base.flags.writeable or _can_be_unlocked(base)
    if array.flags.owndata or base is None:
        return bool(array.flags.owndata)
    try:
        BytesIO().readinto(base)  # reads nothing, but checks as NumPy does: is this plain, writable memory?
    except TypeError:
        return False
    return True


# Who saved it before ---------------------------------------------------------------------------------------------


def _savers(array: Any, storage: Storage) -> set[Node]:
    """Live nodes that saved this memory. They are looked for only here, so saving costs nothing.

    A search through all objects takes long, so it is done in steps, youngest objects first, and only until every
    reference to the memory is accounted for. Mostly no search is needed.
    """
    owner = backends.CPU.owner(array)
    tensors = {tensor for reference in storage.views if (tensor := reference()) is not None}
    users = [user for reference in storage.users if (user := reference()) is not None]
    handed_out = {id(one) for reference in storage.reachable if (one := reference()) is not None and one.base is owner}
    nodes = {tensor.node for tensor in tensors if type(tensor.node) is Node and _saved(tensor.node, owner)}
    one = None
    for generation in (0, 1, None):
        held = [tensor.array for tensor in tensors]
        held += [part for user in users for part in user.memory()]
        held += [value for node in nodes for value in node.saved or ()]
        if _all_known(owner, held, handed_out):
            break
        # Not isinstance: that asks every object for its __class__, and in some objects that runs code.
        nodes.update(node for node in gc.get_objects(generation) if type(node) is Node and _saved(node, owner))
    return nodes


def _saved(node: Node, owner: Any) -> bool:
    """Whether the node saved this memory. A node that another thread is just making has saved nothing yet."""
    values = getattr(node, "saved", None) or ()
    return any(isinstance(value, np.ndarray) and backends.CPU.owner(value) is owner for value in values)


def _all_known(owner: Any, held: list[Any], handed_out: set[int]) -> bool:
    """Whether all references to the memory are known: ``held`` lists their arrays, once for each place."""
    held[:] = [a for a in held if a is owner or getattr(a, "base", None) is owner]
    arrays = {id(a): a for a in (owner, *held)}
    # The references that we can explain: counting adds `_OWN` to each array. Each of `held` has one from its place and
    # one from that list. The owner has one from each view, and a name here and in the caller: `len(arrays) + 1`
    # together. The views that were handed out refer to it too.
    found = sum(map(sys.getrefcount, arrays.values()))
    return found <= _OWN * len(arrays) + 2 * len(held) + len(arrays) + 1 + len(handed_out - set(arrays))


def _counted() -> int:
    """What counting adds to each array's references: it differs between Pythons."""
    arrays = {0: np.empty(1)}
    return sum(map(sys.getrefcount, arrays.values()))


_OWN = _counted()
