"""What is known of a buffer: made when asked for, shared by all views, gone with the memory."""

from __future__ import annotations

import gc

import numpy as np

import tinygrad_edu as tg
from tinygrad_edu.core import storage
from tinygrad_edu.core.storage import clock, find, number, replace_scalar, storage_of


def test_nothing_is_kept_until_something_asks() -> None:
    x = tg.ones(3, requires_grad=True)
    y = (x * 2).exp()
    assert y.storage is None
    assert find(y.array) is None
    y.detach()
    assert y.storage is find(y.array) is not None


def test_views_and_detached_tensors_share_one_storage() -> None:
    x = tg.zeros(2, 3)
    views = [x[0], x.T, x.reshape(6)[1:], x.expand(4, 2, 3), x.detach()]
    assert {id(view.storage) for view in views} == {id(x.storage)}
    assert x.clone().storage is None


def test_arrays_are_found_by_their_owner() -> None:
    owner = np.zeros((2, 3))
    found = storage_of(owner[0])
    assert storage_of(owner) is storage_of(owner.T[1:]) is find(owner[:, 1]) is found
    assert storage_of(owner.copy()) is not found


def test_the_storage_goes_with_the_memory() -> None:
    gc.disable()
    try:
        before = len(storage._STORAGES)
        array = np.zeros(3)
        view = array[1:]
        storage_of(array)
        assert len(storage._STORAGES) == before + 1
        del array
        assert len(storage._STORAGES) == before + 1  # the view still has the memory
        del view
        assert len(storage._STORAGES) == before
    finally:
        gc.enable()


def test_a_write_takes_a_number_and_a_name() -> None:
    found = storage_of(np.zeros(3))
    before = number()
    found.written("add_", None)
    assert found.stamp == clock.last_write > before
    assert found.writer == ("add_", None)
    assert number() > found.stamp


def test_a_scalar_is_found_by_the_buffer_that_replaced_it() -> None:
    before = len(storage._STORAGES)
    scalar = np.float32(2.0)
    array = np.full((), scalar)
    found = replace_scalar(scalar, array)
    assert find(scalar) is find(array) is found
    del array, found
    assert find(scalar) is None
    assert len(storage._STORAGES) == before


def test_dead_views_do_not_pile_up() -> None:
    x = tg.zeros(4)
    for _ in range(1000):
        x[1:]
    assert len(x.storage.views) < 100
