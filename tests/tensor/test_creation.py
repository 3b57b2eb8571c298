"""Tensors from a shape, a range or a likeness, and tensors joined."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tests.support import teaches
from tinygrad_edu.errors import DeviceError, DtypeError, ShapeError


def same(found: tg.Tensor, values: Any, dtype: Any) -> None:
    assert found.tolist() == values
    assert found.dtype == dtype


def test_values_and_dtypes() -> None:
    same(tg.zeros(2, 1), [[0.0], [0.0]], np.float32)
    same(tg.zeros((2,)), [0.0, 0.0], np.float32)
    same(tg.ones([2], dtype="int8"), [1, 1], np.int8)
    same(tg.zeros(()), 0.0, np.float32)
    same(tg.full((2,), 7), [7, 7], np.int64)
    same(tg.full((2,), 7.0), [7.0, 7.0], np.float32)
    same(tg.full((1,), True), [True], np.bool_)
    same(tg.full((1,), np.int64(3)), [3], np.int64)
    same(tg.full((1,), np.float64(3)), [3.0], np.float32)
    same(tg.full((1,), tg.tensor(3)), [3], np.int64)
    same(tg.arange(3), [0, 1, 2], np.int64)
    same(tg.arange(1, 7, 2), [1, 3, 5], np.int64)
    same(tg.arange(0, 1, 0.25), [0.0, 0.25, 0.5, 0.75], np.float32)
    same(tg.arange(2, dtype="float64"), [0.0, 1.0], np.float64)
    same(tg.arange(5, 0, -2), [5, 3, 1], np.int64)


def test_ranges_by_hand() -> None:
    same(tg.arange(end=2), [0, 1], np.int64)
    same(tg.arange(1, end=6, step=2), [1, 3, 5], np.int64)
    same(tg.arange(True), [0], np.int64)
    same(tg.arange(np.int64(2)), [0, 1], np.int64)
    same(tg.arange(tg.tensor(2.0)), [0.0, 1.0], np.float32)
    same(tg.arange(0), [], np.int64)
    same(tg.arange(2, 2.0), [], np.float32)
    same(tg.arange(0.5, 3.5, dtype="int64"), [0, 1, 2], np.int64)
    same(tg.arange(2**53, 2**53 + 2), [2**53, 2**53 + 1], np.int64)
    same(tg.arange(256, dtype="uint8").amax(), 255, np.uint8)
    assert tg.arange(0, 1, 0.1).shape == (10,)
    assert tg.arange(0, 1, 0.1).array[3] == np.float32(0.3)  # not 0.1 three times over
    assert tg.arange(3, dtype="bfloat16").tolist() == [0, 1, 2]


def test_numbers_between_two() -> None:
    same(tg.linspace(0, 1, 3), [0.0, 0.5, 1.0], np.float32)
    same(tg.linspace(3, -3, 4, dtype="float64"), [3.0, 1.0, -1.0, -3.0], np.float64)
    same(tg.linspace(0, 3, 7, dtype="int64"), [0, 0, 1, 1, 2, 2, 3], np.int64)
    same(tg.logspace(0, 3, 4, 2), [1.0, 2.0, 4.0, 8.0], np.float32)
    same(tg.logspace(0.5, 2, 5, dtype="int64"), [1, 3, 10, 31, 100], np.int64)
    same(tg.logspace(0, 1, 2, -2.0), [1.0, -2.0], np.float32)
    for base, end, value in ((10.0, 5, "100000.0"), (-2.0, 1, "nan")):
        why = f"int16 holds -32768 to 32767, and {value} is not among them"
        with teaches(DtypeError, "logspace", why, "use a larger dtype"):
            tg.logspace(0, end, 3, base, dtype="int16")
    same(tg.linspace(tg.tensor(5), 7.0, steps=1), [5.0], np.float32)
    same(tg.linspace(5, 7, 0), [], np.float32)
    ends = tg.linspace(0.1, 0.7, 11, dtype="float64").array
    assert (ends[0], ends[-1]) == (0.1, 0.7)
    np.testing.assert_allclose(ends + ends[::-1], 0.8, rtol=1e-15)
    assert tg.linspace(0, 1, 2, requires_grad=True, device="far").requires_grad


def test_identity_matrices_and_memory_as_it_is() -> None:
    same(tg.eye(2), [[1.0, 0.0], [0.0, 1.0]], np.float32)
    same(tg.eye(2, 3, dtype="bool"), [[True, False, False], [False, True, False]], np.bool_)
    same(tg.eye(0, 2), [], np.float32)
    assert tg.empty(2, 3).shape == tg.empty((2, 3)).shape == (2, 3)
    assert tg.empty(2, dtype="bfloat16", device="far").device == "far"


def test_the_default_dtype_is_a_setting() -> None:
    with tg.settings.scoped(dtype="float64"):
        assert [t.dtype for t in (tg.zeros(1), tg.full((1,), 0.5), tg.arange(0.5), tg.rand(1))] == [np.float64] * 4


def test_likeness() -> None:
    x = tg.ones(2, 3, dtype="float16")
    same(tg.zeros_like(x), [[0.0] * 3] * 2, np.float16)
    same(tg.ones_like(np.zeros(2)), [1.0, 1.0], np.float64)
    same(tg.zeros_like(x, dtype="int32"), [[0] * 3] * 2, np.int32)
    assert tg.ones_like(x, requires_grad=True).requires_grad
    assert tg.zeros_like(tg.ones(2, device="far")).device == "far"
    assert tg.zeros_like(tg.tensor(2.0) * 2).shape == ()
    same(tg.full_like(x, 7), [[7.0] * 3] * 2, np.float16)
    same(tg.full_like(x, True, dtype="int64"), [[1] * 3] * 2, np.int64)
    same(tg.full_like(tg.tensor([1, 2]), 7.9), [7, 7], np.int64)
    assert (tg.empty_like(x).shape, tg.empty_like(x, dtype="int8").dtype) == ((2, 3), np.int8)
    for like in (tg.zeros_like, tg.ones_like, tg.empty_like, lambda *a, **k: tg.full_like(*a, 1.0, **k)):
        made = like(x, device="far", dtype="float64", requires_grad=True)
        assert (made.device, made.dtype, made.requires_grad, made.is_leaf) == ("far", np.float64, True, True)
    assert not tg.ones_like(tg.ones(1, requires_grad=True)).requires_grad


def test_new_tensors_beside_another() -> None:
    x = tg.ones(2, dtype="float16", device="far")
    made = (
        x.new_zeros(2, 3),
        x.new_ones((2, 3)),
        x.new_full((2, 3), 5),
        x.new_tensor([[1, 2, 3]] * 2),
        x.new_empty(2, 3),
    )
    assert {(t.shape, t.dtype.name, t.device) for t in made} == {((2, 3), "float16", "far")}
    assert [t.tolist()[0] for t in made[:4]] == [[0] * 3, [1] * 3, [5] * 3, [1, 2, 3]]
    other = x.new_full((1,), 2.5, dtype="int64", device="cpu")
    assert (other.tolist(), other.dtype, other.device) == ([2], np.int64, "cpu")
    assert x.new_zeros(1, requires_grad=True).requires_grad
    assert x.new_ones(1, dtype=None, device=None).dtype == np.float16


def test_devices_and_gradients() -> None:
    for made in (
        tg.zeros(2, device="far"),
        tg.ones(2, device="far"),
        tg.full((2,), 1.0, device="far"),
        tg.arange(2, device="far"),
    ):
        assert made.device == "far"
    with tg.settings.scoped(device="far"):
        assert tg.zeros(1).device == "far"
    assert tg.ones(1, requires_grad=True).is_leaf
    with pytest.raises(DeviceError, match="device 'nowhere'"):
        tg.zeros(1, device="nowhere")
    with pytest.raises(DtypeError, match="requires_grad on a tensor of dtype int64"):
        tg.arange(3, requires_grad=True)


def test_a_size_by_name() -> None:
    for make in (tg.zeros, tg.ones, tg.empty, tg.rand, tg.randn):
        assert [make(size=size).shape for size in ((2, 3), [4], (), tg.ones(2).size())] == [(2, 3), (4,), (), (2,)]
        with teaches(ShapeError, f"{make.__name__}(size=3)", "size= takes a tuple", "write size=(3,)"):
            make(size=3)
        tried = f"{make.__name__}((2,), size=(3,))"
        with teaches(ShapeError, tried, "the size is given twice", "give it once"):
            make(2, size=(3,))
    x = tg.ones(1, dtype="int8")
    made = [x.new_zeros(size=(2,)), x.new_ones(size=(2,)), x.new_empty(size=(2,)), x.new_full(size=(2,), fill_value=3)]
    assert {(y.shape, y.dtype.name) for y in made} == {((2,), "int8")}
    draws = [tg.randint(5, size=(3,)), tg.randint(high=5, size=(3,)), tg.randint(low=0, high=5, size=(3,))]
    assert all(draw.shape == (3,) and draw.max().item() < 5 for draw in draws)
    assert (tg.full(size=(2,), fill_value=1).tolist(), tg.normal(0.0, 1.0, size=(2,)).shape) == ([1, 1], (2,))


def test_sizes_that_cannot_be() -> None:
    with teaches(
        ShapeError, "zeros((2, -1))", "an axis cannot have fewer than 0 elements", "sizes are integers from 0 up",
        line="tg.zeros(2, -1)",
    ):  # fmt: skip
        tg.zeros(2, -1)
    with teaches(ShapeError, "ones((2.5,))", "sizes are integers", "use // where / gave a fraction"):
        tg.ones(2.5)
    with teaches(
        ShapeError, "zeros()", "it was given no size", "write zeros(3) for a vector, zeros(()) for a single number"
    ):
        tg.zeros()
    with teaches(ShapeError, "full(2, …)", "its size is a tuple, and the value follows it", "write full((2,), …)"):
        tg.full(2, 3.0)
    with pytest.raises(ShapeError, match=r"^eye\(\(-1, 2\)\)"):
        tg.eye(-1, 2)
    assert tg.zeros(tg.tensor(2), np.int64(3)).shape == (2, 3)


ARANGE: dict[str, tuple[Any, type[Exception], str]] = {
    "step 0": (lambda: tg.arange(0, 1, 0), ShapeError, "arange(0, 1, 0)\n  why:  a step of 0 (the step, as int64)"),
    "step 0 in integers": (
        lambda: tg.arange(0, 1, 0.25, dtype="int32"), ShapeError, "a step of 0 (the step, as int32) leads nowhere",
    ),
    "away": (lambda: tg.arange(3, 0), ShapeError, "mend: use a step of -1, or swap start and end"),
    "away below": (lambda: tg.arange(-1), ShapeError, "arange(0, -1, 1)\n  why:  the step leads away from the end"),
    "endless": (lambda: tg.arange(0, float("inf")), ShapeError, "it would never end"),
    "nan": (lambda: tg.arange(0, float("nan")), ShapeError, "it would never end"),
    "bools": (lambda: tg.arange(2, dtype="bool"), DtypeError, "arange(0, 2, 1) of bools"),
    "too large": (lambda: tg.arange(300, dtype="uint8"), DtypeError, "uint8 holds 0 to 255, and 299 is not among them"),
    "a name": (lambda: tg.arange("3"), DtypeError, "it takes a number, but this is str"),
    "a vector": (lambda: tg.arange(tg.ones(2)), DtypeError, "mend: take one element: x[0].item()"),
    "steps": (lambda: tg.linspace(0, 1, 2.0), DtypeError, "linspace(0, 1, 2.0)\n  why:  steps is the number of values"),
    "fewer than no steps": (lambda: tg.linspace(0, 1, -1), ShapeError, "there cannot be fewer than 0 values"),
    "linspace of bools": (lambda: tg.linspace(0, 1, 2, dtype="bool"), DtypeError, "linspace(0, 1, 2) of bools"),
    "full of words": (lambda: tg.full((2,), "a"), DtypeError, "full with 'a'\n  why:  it takes a number"),
    "full of too much": (lambda: tg.full((2,), 300, dtype="uint8"), DtypeError, "uint8 holds 0 to 255"),
    "full of nan": (lambda: tg.full((2,), float("nan"), dtype="int8"), DtypeError, "and nan is not among them"),
}  # fmt: skip


@pytest.mark.parametrize(("make", "kind", "words"), ARANGE.values(), ids=ARANGE)
def test_numbers_that_cannot_be(make: Any, kind: Any, words: str) -> None:
    with pytest.raises(kind) as caught:
        make()
    assert words in str(caught.value)
    assert caught.value.line.startswith("test_creation.py, line "), caught.value.line


def test_cat_and_stack() -> None:
    a, b = tg.tensor([[1.0, 2.0]]), tg.tensor([[3.0, 4.0]])
    assert tg.cat([a, b]).tolist() == [[1, 2], [3, 4]]
    assert tg.cat((a, b), -1).tolist() == [[1, 2, 3, 4]]
    assert tg.stack([a, b]).shape == (2, 1, 2)
    assert tg.stack([a, b], -1).tolist() == [[[1, 3], [2, 4]]]
    assert tg.stack([1.0, tg.tensor(2.0), np.float32(3)]).tolist() == [1, 2, 3]
    assert tg.cat([a, tg.tensor([[5]])], 1).dtype == np.float32
    assert tg.cat([np.ones(1), [2.0]]).dtype == np.float64


def test_cat_hands_each_its_gradient() -> None:
    a, b = tg.ones(2, 1, requires_grad=True), tg.ones(2, 2, requires_grad=True)
    (tg.cat([a, b, a], 1) * tg.tensor([[1.0, 2.0, 3.0, 4.0]])).sum().backward()
    assert (a.grad.tolist(), b.grad.tolist()) == ([[5.0], [5.0]], [[2.0, 3.0], [2.0, 3.0]])


def test_a_copy_even_of_one() -> None:
    a = tg.ones(2)
    tg.cat([a]).zero_()
    assert a.tolist() == [1.0, 1.0]


def test_joining_what_cannot_be() -> None:
    with pytest.raises(ShapeError, match="cat of no tensors\n  why:  there is nothing to take a shape from\n"):
        tg.cat([])
    with pytest.raises(ShapeError, match=r"the shapes \(2,\), \(3,\) are not all the same"):
        tg.stack([tg.ones(2), tg.ones(3)])
