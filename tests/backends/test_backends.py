"""Namespaces, the registry of backends, and the functions of the CPU that NumPy does not have."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.second_device import FAR
from tinygrad_edu import backends
from tinygrad_edu.backends import ALL_NAMES, CPU, Backend, Namespace
from tinygrad_edu.backends.cpu import col2im, im2col, is_basic
from tinygrad_edu.errors import DeviceError

XP = CPU.xp


def test_a_namespace_has_exactly_the_agreed_names() -> None:
    functions = {name: getattr(XP, name) for name in ALL_NAMES}
    Namespace("copy", **functions)
    with pytest.raises(TypeError, match=r"namespace 'less': missing \['exp'\], not agreed \[\]"):
        Namespace("less", **{n: f for n, f in functions.items() if n != "exp"})
    with pytest.raises(TypeError, match=r"namespace 'more': missing \[\], not agreed \['median'\]"):
        Namespace("more", **functions, median=np.median)


def test_the_names_of_the_namespace() -> None:
    assert len(ALL_NAMES) == len(set(ALL_NAMES))
    assert repr(XP) == "<namespace numpy>"
    with pytest.raises(AttributeError, match="'Namespace' object has no attribute 'linalg'"):
        _ = XP.linalg


def test_backends_are_found_by_name_and_by_array() -> None:
    assert backends.get("cpu") is CPU
    assert backends.get("far") is FAR
    assert backends.names()[0] == "cpu"
    assert "trace" not in backends.names()
    for array in (np.ones(2), np.float32(1), np.ma.ones(2)):  # subclasses too
        assert backends.of(array) is CPU
    assert backends.of(FAR.from_numpy(np.ones(2))) is FAR
    assert repr(CPU) == "<backend cpu>"


def test_unknown_devices_and_arrays() -> None:
    with pytest.raises(DeviceError) as caught:
        backends.get("gpu")
    assert caught.value.tried == "device 'gpu'"
    assert caught.value.why == f"there is no such device here; the devices are {', '.join(backends.names())}"
    with pytest.raises(TypeError, match="list is not an array of any device"):
        backends.of([1.0])


def test_names_and_array_types_are_taken_once() -> None:
    class Again(Backend):
        name = "cpu"
        xp = XP
        array_types = ()

    class Thief(Backend):
        name = "thief"
        xp = XP
        array_types = (np.ndarray,)

    for backend in (Again(), Thief()):
        with pytest.raises(ValueError, match="is registered already, or owns a type of another"):
            backends.register(backend)
    assert "thief" not in backends.names()


def test_a_backend_says_how_arrays_come_and_go() -> None:
    blank = Backend()
    for call in (blank.from_numpy, blank.to_numpy, blank.owner):
        with pytest.raises(NotImplementedError):
            call(np.ones(1))
    x = np.ones((3, 4))
    assert CPU.from_numpy(x) is x
    assert CPU.to_numpy(x) is x
    assert CPU.owner(x[1:].T[0]) is x


# What the CPU adds to NumPy ---------------------------------------------------------------------------------


def test_scatter_add_adds_repeated_places() -> None:
    found = XP.scatter_add((3,), (np.array([0, 2, 0]),), np.array([1.0, 10.0, 100.0]))
    assert found.tolist() == [101.0, 0.0, 10.0]
    assert XP.scatter_add((2, 2), (slice(None), 1), np.array([1, 2])).tolist() == [[0, 1], [0, 2]]


@pytest.mark.parametrize(
    ("index", "basic"),
    [
        ((1, slice(2), ..., None), True), (0, True), (slice(None), True), ((), True),
        ((np.array([1]),), False), (True, False), (([0],), False),
    ],
)  # fmt: skip
def test_basic_indices(index: Any, basic: bool) -> None:
    assert is_basic(index) is basic
    x = np.zeros((3, 3))
    assert np.may_share_memory(x, x[index]) is basic  # NumPy agrees


def test_put_leaves_its_operand_alone() -> None:
    x = np.zeros(3)
    assert XP.put(x, (slice(1, None),), 5.0).tolist() == [0.0, 5.0, 5.0]
    assert x.tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("stride", [(1, 1), (2, 3)])
@pytest.mark.parametrize("padding", [(0, 0), (1, 2)])
def test_col2im_is_the_adjoint_of_im2col(stride: tuple[int, int], padding: tuple[int, int]) -> None:
    """<im2col(x), y> = <x, col2im(y)> for all x and y."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2, 3, 5, 7))
    cols = im2col(x, (2, 3), stride, padding)
    y = rng.normal(size=cols.shape)
    assert (cols * y).sum() == pytest.approx((x * col2im(y, x.shape, stride, padding)).sum())


def test_im2col_by_hand() -> None:
    x = np.arange(6.0).reshape(1, 1, 2, 3)
    cols = im2col(x, (2, 2), (1, 1), (0, 0))
    assert cols.shape == (1, 1, 2, 2, 1, 2)
    assert cols[0, 0, :, :, 0, 0].tolist() == [[0, 1], [3, 4]]
    assert cols[0, 0, :, :, 0, 1].tolist() == [[1, 2], [4, 5]]
    padded = im2col(x, (2, 2), (1, 1), (1, 1), fill=-1.0)
    assert padded[0, 0, :, :, 0, 0].tolist() == [[-1, -1], [-1, 0]]
    with pytest.raises(ValueError, match="a window of 3x3 does not fit into 2x3"):
        im2col(x, (3, 3), (1, 1), (0, 0))
    with pytest.raises(
        ValueError, match=r"the stride is \(0, 1\) and the dilation \(1, 1\), but windows move by at least 1"
    ):
        im2col(x, (1, 1), (0, 1), (0, 0))


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i4", "u1"])
def test_relu_keeps_the_dtype(dtype: str) -> None:
    found = XP.relu(np.array([0, 3], dtype))
    assert (found.tolist(), found.dtype) == ([0, 3], np.dtype(dtype))
