"""Locks from inside: who holds them, in which order they are undone, what sharing costs."""

from __future__ import annotations

import ctypes
import gc
import mmap
import sys
import threading
import weakref
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tinygrad_edu.core import guard
from tinygrad_edu.core.storage import find
from tinygrad_edu.errors import MemoryGuardError
from tinygrad_edu.guard import holders
from tinygrad_edu.guard.checksums import checksum


def leaf(*shape: int) -> tg.Tensor:
    return tg.ones(*shape, dtype="float64", requires_grad=True)


def test_nothing_shared_costs_nothing() -> None:
    w = leaf(3)
    y = (w * tg.ones(3, dtype="float64")).exp()
    assert y.node.extra is None
    assert y.node.parents[0].extra is None


def test_one_lock_for_all_nodes_of_a_buffer() -> None:
    a, w = np.ones(3), leaf(3)
    nodes = [(a * w).node for _ in range(3)]
    storage = find(a)
    assert storage is not None
    assert storage.lock() is not None
    assert holders(a) == nodes
    assert [holders(a[1:]), holders(np.ones(3)), holders(3)] == [nodes, [], []]


def test_the_owner_is_exposed_before_its_views() -> None:
    """NumPy makes a view writable only after its owner."""
    owner = np.ones((2, 3))
    view = owner[0]
    storage = guard.expose_input(view)
    assert [reference() for reference in storage.reachable] == [owner, view] or storage.reachable[0]() is owner
    assert storage.reachable[1]() is view
    guard.expose_input(view)
    assert len(storage.reachable) == 2


def test_a_view_handed_in_first_is_released_with_its_owner() -> None:
    owner, w = np.ones((2, 3)), leaf(3)
    view = owner[0]
    loss = (view * w).sum() + (owner * w).sum()
    other = owner[1]  # taken while locked
    loss.backward()
    assert [owner.flags.writeable, view.flags.writeable, other.flags.writeable] == [True, True, False]


def test_arrays_that_died_are_forgotten() -> None:
    x = tg.zeros(3)
    for _ in range(100):
        x.numpy()
    assert len(x.storage.reachable) <= 2


def test_the_array_outlives_its_tensor_and_the_other_way_round() -> None:
    a, w = np.ones(3), leaf(3)
    kept = weakref.ref(a)
    loss = (tg.from_numpy(a) * w).sum()
    del a
    assert kept() is not None  # the node has its memory
    loss.backward()
    assert w.grad.tolist() == [1.0, 1.0, 1.0]
    del loss
    assert kept() is None


def test_savers_are_found_only_where_there_may_be_some(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looking through all objects takes milliseconds: numpy() on memory that nobody else has must not do it."""
    looked: list[int] = []
    monkeypatch.setattr(gc, "get_objects", lambda *young: looked.append(1) or [])
    x = tg.tensor([1.0, 2.0])
    x.numpy()
    (x + 1).numpy()
    assert looked == []
    y = tg.tensor([1.0, 2.0])
    loss = (y * tg.ones(2, requires_grad=True)).sum()
    y.numpy()
    assert looked != []
    del loss


def _kept() -> Any:
    x = leaf(3)
    y = x * 2
    return y, (x, y)


def _saved_by_its_maker() -> Any:
    y = leaf(3).exp()
    return y, (y,)


def _saved_by_another() -> Any:
    y = leaf(3) * 2
    return y, (y, y.exp(), y * y)


def _saved_and_released() -> Any:
    y = leaf(3) * 2
    loss = (y * y).sum()
    loss.backward()
    return y, (y, loss)


def _row() -> Any:
    y = leaf(2, 3) * 2
    return y[0], (y,)


def _saved_row() -> Any:
    y = leaf(2, 3) * 2
    return y[0], (y, y[1] * y[0])


def _through_another_name() -> Any:
    y = leaf(2, 3) * 2
    return y.reshape(6), (y, y.detach(), y.T)


def _overwritten() -> Any:
    y = leaf(3) * 2
    y += 1
    return y, (y, y[1:])


def _handed_in() -> Any:
    return tg.from_numpy(np.ones(3)), ()


def _parameter() -> Any:
    layer = tg.nn.Linear(3, 3)
    layer(tg.ones(1, 3)).sum().backward()
    return layer.weight, (layer,)


def _given_other_memory() -> Any:
    x = leaf(3)
    x.data = tg.zeros(3, dtype="float64")
    return x, ()


def _converted() -> Any:
    layer = tg.nn.Linear(3, 3)
    layer(tg.ones(1, 3)).sum().backward()
    return layer.double().weight, (layer,)


def _stepped(size: int, kind: Any, what: str = "", **settings: Any) -> Any:
    def program() -> Any:
        layer = tg.nn.Linear(size, size)
        optimizer = kind(layer.parameters(), **settings)
        for _ in range(2):
            optimizer.zero_grad()
            layer(tg.ones(1, size)).sum().backward()
            optimizer.step()
        return optimizer.state[layer.weight][what] if what else layer.weight, (layer, optimizer)

    program.__name__ = f"{kind.__name__}_{size}_{what}"
    return program


def _all_savers(x: Any) -> set[Any]:
    owner = guard.backends.CPU.owner(x.array)
    nodes = [node for node in gc.get_objects() if type(node) is guard.Node]
    return {
        node
        for node in nodes
        for value in node.saved or ()
        if isinstance(value, np.ndarray) and guard.backends.CPU.owner(value) is owner
    }


@pytest.mark.parametrize(
    ("program", "looks"),
    [
        (_kept, False), (_saved_by_its_maker, False), (_saved_by_another, True), (_saved_and_released, False),
        (_row, False), (_saved_row, True), (_through_another_name, False), (_overwritten, False), (_handed_in, False),
        (_parameter, False), (_given_other_memory, False), (_converted, False),
        (_stepped(3, tg.optim.SGD, lr=0.1), False), (_stepped(99, tg.optim.SGD, lr=0.1), False),
        (_stepped(3, tg.optim.Adam), False), (_stepped(99, tg.optim.Adam), False),
        (_stepped(3, tg.optim.Adam, "exp_avg"), False), (_stepped(99, tg.optim.Adam, "exp_avg_sq"), False),
        (_stepped(3, tg.optim.Adam, "step"), False),
    ],
)  # fmt: skip
def test_counting_references_finds_what_looking_finds(
    program: Any, looks: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    y, kept = program()
    savers = _all_savers(y)
    everything, looked = gc.get_objects, []
    monkeypatch.setattr(gc, "get_objects", lambda *young: looked.append(1) or everything(*young))
    array = y.detach().numpy()
    assert bool(looked) == looks
    assert set(holders(array)) == savers
    assert array.flags.writeable == (not savers)
    assert kept is not None


def test_a_saver_of_this_step_is_found_among_young_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between forward and backward, numpy() looks through a few thousand objects, however many the program has."""
    old = [[] for _ in range(20_000)]
    gc.collect()
    y = leaf(3) * 2
    loss = y.exp().sum() + (y * y).sum()
    everything, looked = gc.get_objects, []
    monkeypatch.setattr(gc, "get_objects", lambda young=None: looked.append(young) or everything(young))
    array = y.detach().numpy()
    assert None not in looked
    assert len(holders(array)) == 1  # the product; exp has saved its own result
    del old, loss


def test_a_saver_is_found_however_old_it_is() -> None:
    y = leaf(3) * 2
    loss = (y * y).sum()
    gc.collect()
    assert not y.detach().numpy().flags.writeable
    del loss


def test_threads_that_share_one_array() -> None:
    a = np.ones(200)
    errors: list[BaseException] = []
    together = threading.Barrier(4, timeout=20)

    def work() -> None:
        try:
            w = leaf(200)
            together.wait()
            for _ in range(200):
                loss = (a * w).sum()
                assert not a.flags.writeable
                loss.backward()
        except BaseException as error:
            errors.append(error)
            raise

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert a.flags.writeable
    assert find(a).lock() is None


def test_checksums_depend_on_values_and_order() -> None:
    a = np.arange(6.0)
    assert checksum(a) == checksum(a.copy())
    assert checksum(a) != checksum(a[::-1])
    assert checksum(a.reshape(2, 3).T) == checksum(np.ascontiguousarray(a.reshape(2, 3).T))
    assert checksum(np.float32(1.5)) == checksum(np.array(1.5, np.float32))
    assert checksum(tg.ones(3, dtype="bfloat16").array) != checksum(tg.zeros(3, dtype="bfloat16").array)


def test_verify_takes_checksums_of_what_was_saved_and_drops_them() -> None:
    a, w = np.ones(3), leaf(3)
    with tg.guard.verify():
        y = a * w
        loss = y.exp().sum()
    assert [len(node.extra.checks) for node in (y.node, loss.node.parents[0])] == [1, 1]
    assert loss.node.extra is None  # sum saved a shape only
    loss.backward()
    assert y.node.extra.checks == ()


def test_a_view_written_between_two_walks() -> None:
    a, w = np.ones(3), leaf(3)
    view = a[:1]
    with tg.guard.verify():
        loss = (a * w).sum()
    loss.backward(retain_graph=True)
    view[0] = 2
    with pytest.raises(MemoryGuardError):
        loss.backward()


class Foreign:
    """Memory that another library owns, and lends as an array only."""

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self.keep = array
        self.__array_interface__ = array.__array_interface__


def test_memory_of_another_library_is_not_locked() -> None:
    """NumPy could not unlock it again. A buffer that can be written to, such as a bytearray's, is locked as ever."""
    lent = np.asarray(Foreign(np.ones(3)))
    x = tg.from_numpy(lent).requires_grad_()
    loss = (x * x).sum()
    assert lent.flags.writeable
    loss.backward()
    assert x.grad.tolist() == [2.0, 2.0, 2.0]
    owned = np.frombuffer(bytearray(8 * 3))
    y = tg.from_numpy(owned).requires_grad_()
    loss = (y * y).sum()
    assert not owned.flags.writeable
    del loss
    assert owned.flags.writeable


def _strided() -> tuple[Any, Any]:
    array = np.lib.stride_tricks.as_strided(np.arange(3.0), (2, 3), (0, 8))
    return array, array


def _numpy_of_strided() -> tuple[Any, Any]:
    x = tg.from_numpy(_strided()[0])
    return x, x.numpy()


def _numpy_of_foreign() -> tuple[Any, Any]:
    x = tg.from_numpy(np.asarray(Foreign(np.ones((2, 3)))))
    return x, x.numpy()


def _windows() -> tuple[Any, Any]:
    array = np.lib.stride_tricks.sliding_window_view(np.ones(7), 3, writeable=True)[:2]
    return array, array


def _every_second_of_a_buffer() -> tuple[Any, Any]:
    array = np.asarray(memoryview(bytearray(48)).cast("d")[::2])
    return array, array


def _buffer() -> tuple[Any, Any]:
    array = np.frombuffer(bytearray(48)).reshape(2, 3)
    return array, array


def _shared_by_ctypes() -> tuple[Any, Any]:
    array = np.ctypeslib.as_array((ctypes.c_double * 6)()).reshape(2, 3)
    return array, array


def _mapped() -> tuple[Any, Any]:
    array = np.frombuffer(mmap.mmap(-1, 48)).reshape(2, 3)
    return array, array


def _field() -> tuple[Any, Any]:
    array = np.ones((2, 3), [("a", "f8"), ("b", "i4")])["a"]
    return array, array


def _subclass() -> tuple[Any, Any]:
    array = np.ones((2, 3)).view(np.recarray)
    return array, array


def _masked() -> tuple[Any, Any]:
    array = np.ma.ones((2, 3))
    return array, array


def _numpy_of_expanded() -> tuple[Any, Any]:
    x = tg.ones(3, dtype="float64").expand(2, 3)
    return x, x.numpy()


def _numpy_of_windows() -> tuple[Any, Any]:
    x = tg.ones(4, dtype="float64").unfold(0, 3, 1)
    return x, x.numpy()


def _numpy_of_strided_tensor() -> tuple[Any, Any]:
    x = tg.ones(6, dtype="float64").as_strided((2, 3), (1, 2))
    return x, x.numpy()


def _capsule() -> tuple[Any, Any]:
    array = np.from_dlpack(np.ones((2, 3)))
    return array, array


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("program", "locked"),
    [
        (_strided, False), (_numpy_of_strided, True), (_windows, True), (_every_second_of_a_buffer, False),
        (_buffer, True), (_shared_by_ctypes, True), (_mapped, True), (_field, True), (_subclass, True),
        (_masked, True), (_numpy_of_foreign, True), (_numpy_of_expanded, True), (_numpy_of_windows, True),
        (_numpy_of_strided_tensor, True), (_capsule, False),
    ],
)  # fmt: skip
def test_whatever_is_locked_is_unlocked(program: Any, locked: bool) -> None:
    """NumPy makes no array writable again whose memory it did not make, and could not write to as plain bytes."""
    given, array = program()
    x = given if isinstance(given, tg.Tensor) else tg.from_numpy(given)
    before = array.flags.writeable
    with pytest.MonkeyPatch.context() as patch:
        unraisable: list[Any] = []
        patch.setattr(sys, "unraisablehook", lambda failed: unraisable.append(failed.exc_value))
        loss = (x * leaf(2, 3)).sum()
        assert array.flags.writeable == (before and not locked)
        loss.backward()
        assert unraisable == []
    assert array.flags.writeable == before
    assert find(x.array).restore == []


def test_an_array_handed_out_and_in_again_is_released_after_its_owner() -> None:
    x = tg.zeros(2, 3, dtype="float64")
    array = x[0].numpy()
    loss = (tg.from_numpy(array) * leaf(3)).sum()
    assert [array.flags.writeable, x.array.flags.writeable] == [False, False]
    del loss
    assert [array.flags.writeable, x.array.flags.writeable] == [True, True]


def test_what_releases_keeps_the_storage_until_it_is_done() -> None:
    """It is handed the storage's own weak reference, which Python only lends: were the storage to go meanwhile, with
    the last array, `next` would return what is freed already. (Second derivatives of recurrent cells then crash.)"""
    w = leaf(3)
    array = w.detach().numpy()
    y = w * w
    storage = find(array)
    assert storage is not None and storage.lock() is not None
    assert storage.lock.__callback__.storage is storage
    del y
    assert storage.lock() is None
    assert storage.lock.__callback__ is None
    assert array.flags.writeable
