"""Shapes: what is a view and what a copy, the ways to name axes, and the words for what cannot be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tests.support import teaches
from tinygrad_edu.compiler.interpret import interpret
from tinygrad_edu.compiler.trace import trace
from tinygrad_edu.errors import DtypeError, EduError, ShapeError


def numbers(*shape: int) -> tg.Tensor:
    return tg.tensor(np.arange(float(np.prod(shape))).reshape(shape))


# Views and copies ---------------------------------------------------------------------------------------------------

VIEWS: dict[str, Callable[[Any], Any]] = {
    "reshape": lambda x: x.reshape(4, 3, 2),
    "same shape": lambda x: x.reshape(2, 3, 4),
    "view": lambda x: x.view(6, -1),
    "view_as": lambda x: x.view_as(tg.zeros(24)),
    "reshape_as": lambda x: x.reshape_as(tg.zeros(24)),
    "ravel": lambda x: x.ravel(),
    "flatten": lambda x: x.flatten(1),
    "unflatten": lambda x: x.unflatten(2, (2, -1)),
    "squeeze": lambda x: x.squeeze(),
    "unsqueeze": lambda x: x.unsqueeze(1),
    "permute": lambda x: x.permute(2, 0, 1),
    "transpose": lambda x: x.transpose(0, 2),
    "swapaxes": lambda x: x.swapaxes(0, 0),
    "T": lambda x: x.T,
    "mT": lambda x: x.mT,
    "t": lambda x: x[0].t(),
    "movedim": lambda x: x.movedim(0, -1),
    "expand": lambda x: x[:1].expand(3, -1, -1),
    "expand_as": lambda x: x.expand_as(x),
    "broadcast_to": lambda x: x.broadcast_to(5, 2, 3, 4),
    "broadcast_tensors": lambda x: tg.broadcast_tensors(x[0], x)[0],
}


@pytest.mark.parametrize("make", VIEWS.values(), ids=VIEWS)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int64", "bool"])
def test_views_show_the_memory_of_their_base(make: Callable[[Any], Any], dtype: str) -> None:
    x = tg.zeros(2, 3, 4, dtype=dtype)
    view = make(x)
    assert view.origin is not None
    x.fill_(1)
    assert bool((view == 1).all())


@pytest.mark.parametrize("make", VIEWS.values(), ids=VIEWS)
def test_gradients_reach_the_base_through_views(make: Callable[[Any], Any]) -> None:
    """Each element of the base gets the weights of the places that show it."""
    w = tg.zeros(2, 3, 4, dtype="float64", requires_grad=True)
    view = make(w)
    weights = numbers(*view.shape) + 1.0
    (view * weights).sum().backward()
    where = make(numbers(2, 3, 4)).array.astype(int)
    np.testing.assert_array_equal(w.grad.array.ravel(), np.bincount(where.ravel(), weights.array.ravel(), 24))


@pytest.mark.parametrize("make", VIEWS.values(), ids=VIEWS)
def test_writes_through_views_reach_the_base(make: Callable[[Any], Any]) -> None:
    w = tg.ones(2, 3, 4, dtype="float64", requires_grad=True)
    base = w * 1
    view = make(base)
    if 0 in view.stride():
        return  # nothing may be written to these
    view.mul_(3)
    where = make(numbers(2, 3, 4)).array.astype(int)
    expected = np.ones(24)
    expected[where.ravel()] = 3
    assert base.flatten().tolist() == expected.tolist()
    base.sum().backward()
    assert w.grad.flatten().tolist() == expected.tolist()


TURNED: dict[str, Callable[[], Any]] = {
    "turned": lambda: tg.zeros(4, 3).T,
    "cut": lambda: tg.zeros(3, 9)[:, :8:2],
    "backwards": lambda: tg.zeros(3, 4)[::-1],
    "from the middle": lambda: tg.zeros(5, 6)[1:4, 1:5],
}


@pytest.mark.parametrize("shape", [(1, 3, 4), (3, 1, 4), (3, 4, 1), (3, 2, 2), (1, 3, 2, 1, 2)])
@pytest.mark.parametrize("make", TURNED.values(), ids=TURNED)
def test_axes_of_length_1_and_split_axes_never_need_a_copy(make: Callable[[], Any], shape: tuple[int, ...]) -> None:
    x = make()
    view = x.view(shape)
    x.fill_(1)
    assert bool((view == 1).all())
    with pytest.raises(ShapeError, match="no shape and strides"):
        x.view(12)


def test_copies_where_no_strides_show_it() -> None:
    x = tg.zeros(2, 3)
    for copy in (x.T.reshape(6), x.T.flatten(), x[:, :2].flatten(), x.expand(2, 2, 3).reshape(12)):
        assert copy.origin is None
        copy.fill_(1)
    assert x.tolist() == [[0.0] * 3] * 2
    row = x.T.ravel()  # a view, of a copy that nobody else has
    row.fill_(1)
    assert x.tolist() == [[0.0] * 3] * 2


def test_itself_where_nothing_changes() -> None:
    x, y = tg.zeros(3), tg.zeros(2, 3)
    assert x.flatten() is x
    assert y.flatten(1, 1) is y
    assert y.contiguous() is y
    assert tg.broadcast_tensors(x, y)[1] is y
    assert tg.tensor(1.0).flatten().shape == (1,)


@pytest.mark.parametrize("shape", [(0,), (0, 3), (5, 0, 2)])
def test_empty_tensors_can_be_viewed_as_anything_empty(shape: tuple[int, ...]) -> None:
    x = tg.zeros(0, 6)[:, ::2]
    for made in (x.view(shape), x.T.view(shape), x.reshape(shape)):
        assert (made.shape, made.origin is not None) == (shape, True)


def test_views_while_recording() -> None:
    """Recorded arrays have no memory of their own; whether a view is possible is told from shape and strides."""
    program = trace(lambda x: x.view(3, 2).T.contiguous().view(-1), tg.zeros(2, 3))
    (found,) = interpret(program, np.arange(6.0, dtype="f4").reshape(2, 3))
    assert found.tolist() == [0.0, 2.0, 4.0, 1.0, 3.0, 5.0]
    with pytest.raises(ShapeError, match="no shape and strides"):
        trace(lambda x: x.T.view(6), tg.zeros(2, 3))


def test_views_on_another_device() -> None:
    x = tg.zeros(2, 3, device="far")
    x.T.view(3, 2)[0].fill_(1)
    assert x.tolist() == [[1.0, 0.0, 0.0], [1.0, 0.0, 0.0]]
    with pytest.raises(ShapeError, match="no shape and strides"):
        x.T.view(6)


# Ways to say it -----------------------------------------------------------------------------------------------------

WAYS: list[list[Callable[[Any], Any]]] = [
    [
        lambda x: x.reshape(3, 2),
        lambda x: x.reshape((3, 2)),
        lambda x: x.reshape([3, 2]),
        lambda x: x.reshape(shape=(3, 2)),
        lambda x: tg.reshape(x, (3, -1)),
        lambda x: x.view(size=(3, 2)),
        lambda x: x.reshape(np.int64(3), tg.tensor(2)),
    ],
    [
        lambda x: x.permute(1, 0),
        lambda x: x.permute((-1, 0)),
        lambda x: x.permute(dims=[1, 0]),
        lambda x: tg.permute(x, (1, 0)),
        lambda x: x.T,
        lambda x: x.mT,
        lambda x: x.t(),
        lambda x: x.transpose(-1, 0),
        lambda x: tg.swapaxes(x, 0, 1),
        lambda x: x.swapaxes(axis0=1, axis1=0),
        lambda x: tg.movedim(x, 0, 1),
        lambda x: x.moveaxis((0, 1), (1, 0)),
    ],
    [
        lambda x: x.expand(2, 2, 3),
        lambda x: x.expand((2, -1, -1)),
        lambda x: x.expand(size=(2, 2, 3)),
        lambda x: tg.broadcast_to(x, (2, 2, 3)),
        lambda x: x.broadcast_to(size=[2, 2, 3]),
        lambda x: x.expand_as(tg.zeros(2, 2, 3)),
    ],
    [
        lambda x: x.unsqueeze(0).squeeze(0),
        lambda x: x.unsqueeze(0).unsqueeze(-1).squeeze((0, -1)),
        lambda x: x.unsqueeze(1).squeeze(),
        lambda x: x.squeeze(()),
        lambda x: x.squeeze(0),
        lambda x: tg.flatten(tg.unsqueeze(x, 0), 0, 1),
        lambda x: tg.unflatten(tg.ravel(x), -1, (2, 3)),
    ],
    [
        lambda x: tg.cat([x, x]),
        lambda x: tg.concat((x, x), 0),
        lambda x: tg.cat([x, x], dim=-2),
        lambda x: tg.stack([x, x]).reshape(4, 3),
        lambda x: tg.cat([tg.zeros(0), x, x]),
    ],
]


@pytest.mark.parametrize("ways", WAYS, ids=["reshape", "permute", "expand", "squeeze", "cat"])
def test_ways_to_say_the_same(ways: list[Callable[[Any], Any]]) -> None:
    x = numbers(2, 3)
    expected = ways[0](x)
    for way in ways:
        found = way(x)
        assert (found.shape, found.tolist()) == (expected.shape, expected.tolist())


@pytest.mark.parametrize("seed", range(20))
def test_movedim_against_numpy(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=tuple(rng.integers(1, 4, 4)))
    count = int(rng.integers(0, 5))
    source, destination = (tuple(rng.permutation(4)[:count] - 4 * int(rng.integers(2))) for _ in range(2))
    np.testing.assert_array_equal(
        tg.movedim(tg.tensor(x), source, destination).array, np.moveaxis(x, source, destination)
    )


def test_numbers_and_lists_in_place_of_tensors() -> None:
    assert tg.transpose([[1, 2], [3, 4]], 0, 1).tolist() == [[1, 3], [2, 4]]
    assert tg.reshape(np.arange(4), (2, 2)).tolist() == [[0, 1], [2, 3]]
    assert tg.unsqueeze(5, 0).tolist() == [5]
    assert tg.cat([np.ones(1), [2.0]]).dtype == tg.float64
    assert [t.shape for t in tg.broadcast_tensors([1.0, 2.0], 3.0)] == [(2,), (2,)]


# Joining ------------------------------------------------------------------------------------------------------------


def test_joined_tensors_meet_in_one_dtype() -> None:
    half, wide, whole = tg.ones(2, dtype="float16"), tg.ones(2, dtype="float64"), tg.ones(2, dtype="int32")
    for join in (tg.cat, tg.stack):
        assert join([half, wide]).dtype == tg.float64
        assert join([whole, half]).dtype == tg.float16
        assert join([whole, whole > 0]).dtype == tg.int32
    x = tg.ones(2, dtype="float16", requires_grad=True)
    tg.cat([x, wide]).sum().backward()
    assert (x.grad.dtype, x.grad.tolist()) == (tg.float16, [1.0, 1.0])


def test_what_is_passed_over_has_a_say_in_the_dtype_and_a_gradient() -> None:
    nothing, x = tg.zeros(0, dtype="float64", requires_grad=True), tg.ones(2, 3, requires_grad=True)
    joined = tg.cat([nothing, x, nothing], 1)
    assert (joined.shape, joined.dtype) == ((2, 3), tg.float64)
    joined.sum().backward()
    assert (nothing.grad.shape, x.grad.tolist()) == ((0,), [[1.0] * 3] * 2)
    assert tg.cat([nothing, nothing]).shape == (0,)
    with pytest.raises(ShapeError, match="differ in more than axis 0"):
        tg.cat([tg.zeros(0, 0), x])  # of another shape, nothing is passed over


def test_joined_tensors_have_memory_of_their_own() -> None:
    x = tg.zeros(2, 2)
    for joined in (tg.cat([x]), tg.stack([x]), tg.cat([x.T])):
        joined.fill_(1)
    assert x.tolist() == [[0.0, 0.0], [0.0, 0.0]]


def test_a_stack_is_one_node() -> None:
    x = tg.ones(2, requires_grad=True)
    stacked = tg.stack([x, x, x], -1)
    assert (stacked.grad_fn.op.name, len(stacked.grad_fn.parents)) == ("stack", 3)
    (stacked * numbers(2, 3)).sum().backward()
    assert x.grad.tolist() == [3.0, 12.0]


def test_joining_as_numpy_does() -> None:
    lists = [
        [2.0, 3.0], [np.arange(3.0), np.arange(2.0)], [np.ones((2, 1)), np.zeros((2, 3))], [np.ones((1, 2, 3))] * 2,
    ]  # fmt: skip
    for name in ("hstack", "vstack", "dstack"):
        for arrays in lists:
            if name != "hstack" and np.ndim(arrays[0]) == 1:
                arrays = arrays[:1] * 2
            if name == "vstack" and np.shape(arrays[0]) == (2, 1):
                arrays = [array.T for array in (np.ones((3, 2)), np.zeros((3, 1)))][:1] * 2
            if name == "dstack" and np.ndim(arrays[0]) == 2:
                arrays = arrays[:1] * 3
            expected = getattr(np, name)(arrays)
            found = getattr(tg, name)([tg.tensor(array) for array in arrays])
            np.testing.assert_array_equal(found.array, expected)
    x = tg.ones(3, requires_grad=True)
    (tg.vstack([x, x * 2]) * tg.tensor([[1.0], [10.0]])).sum().backward()
    assert x.grad.tolist() == [21.0, 21.0, 21.0]


# What cannot be -----------------------------------------------------------------------------------------------------

COMPUTED = "let one size be -1 to have it computed"
JOIN = "put them into a list: "
WRONG: list[tuple[Callable[[Any], Any], type[EduError], str, str, str]] = [
    (
        lambda x: x.reshape(-1, -1),
        ShapeError,
        "reshape((2, 3) float32, shape=(-1, -1)) on cpu",
        "(-1, -1) leaves more than one size open",
        "give all sizes but one",
    ),
    (lambda x: x.reshape(-2, 3), ShapeError, "reshape(-2, 3)", "a size is negative", COMPUTED),
    (
        lambda x: x.view(4),
        ShapeError,
        "view((2, 3) float32, shape=(4,)) on cpu",
        "(2, 3) has 6 elements, and (4,) needs another number",
        COMPUTED,
    ),
    (
        lambda x: x.view(-1, 4),
        ShapeError,
        "view((2, 3) float32, shape=(-1, 4)) on cpu",
        "(2, 3) has 6 elements, which is not a multiple of 4",
        "check the sizes; to join all axes after the first, use flatten(1)",
    ),
    (
        lambda x: x[:0].reshape(-1, 0),
        ShapeError,
        "reshape((0, 3) float32, shape=(-1, 0)) on cpu",
        "(0, 3) has no elements, so any size would do for the -1",
        "give all sizes",
    ),
    (
        tg.hstack,
        DtypeError,
        "hstack of one tensor",
        "it takes a list of tensors to join",
        "put them into a list: hstack([x, y])",
    ),
    (
        lambda x: tg.vstack([]),
        ShapeError,
        "vstack of no tensors",
        "there is nothing to take a shape from",
        "pass at least one tensor",
    ),
    (
        lambda x: x.reshape(2.0, 3),
        DtypeError,
        "reshape(2.0, 3)",
        "these are not all integers",
        "pass integers, or one tuple of them",
    ),
    (
        lambda x: x.reshape(True, 6),
        DtypeError,
        "reshape(True, 6)",
        "these are not all integers",
        "pass integers, or one tuple of them",
    ),
    (
        lambda x: x.reshape(),
        DtypeError,
        "reshape()",
        "no sizes or axes were given",
        "pass integers, one by one or as a tuple: reshape((2, 3))",
    ),
    (
        lambda x: x.view(tg.int32),
        DtypeError,
        "view(dtype)",
        "it shows the same memory in another shape, but does not read the bytes as another dtype",
        "x.to(dtype) converts the values",
    ),
    (
        lambda x: x.flatten(1, 0),
        ShapeError,
        "flatten(1, 0) of a tensor (2, 3)",
        "its first axis comes after its last",
        "flatten(0, 1)",
    ),
    (
        lambda x: x.unflatten(1, (2, 2)),
        ShapeError,
        "unflatten(1, (2, 2)) of a tensor (2, 3)",
        "the axis has 3 elements, and the product of these sizes is another number",
        COMPUTED,
    ),
    (
        lambda x: x.unflatten(1, (2, -1)),
        ShapeError,
        "unflatten(1, (2, -1)) of a tensor (2, 3)",
        "the axis has 3 elements, and the product of these sizes is another number",
        "check the sizes; only one may be -1",
    ),
    (
        lambda x: x.unflatten(1, (-1, -1)),
        ShapeError,
        "unflatten(1, (-1, -1)) of a tensor (2, 3)",
        "the axis has 3 elements, and the product of these sizes is another number",
        "check the sizes; only one may be -1",
    ),
    (
        lambda x: x.unflatten(1, ()),
        ShapeError,
        "unflatten(1, ()) of a tensor (2, 3)",
        "the axis has 3 elements, and the product of these sizes is another number",
        COMPUTED,
    ),
    (
        lambda x: x.squeeze((0, -2)),
        ShapeError,
        "dims (0, -2) of a tensor (2, 3)",
        "they name one axis twice",
        "name each axis once",
    ),
    (
        lambda x: x.permute(1),
        ShapeError,
        "permute((2, 3) float32, dims=(1,)) on cpu",
        "(2, 3) has 2 axes, but (1,) does not name each of them once",
        "order all of (0, 1)",
    ),
    (
        lambda x: x.permute(0, -2),
        ShapeError,
        "dims (0, -2) of a tensor (2, 3)",
        "they name one axis twice",
        "name each axis once",
    ),
    (
        lambda x: x.transpose(0, 2),
        ShapeError,
        "dim=2 of a tensor (2, 3)",
        "it has 2 axes, so dim lies between -2 and 1",
        "count the axes from 0, or from -1 at the end",
    ),
    (
        lambda x: x.unsqueeze(0).t(),
        ShapeError,
        "t() of a tensor (1, 2, 3)",
        "it has 3 axes, but t() swaps the two of a matrix",
        "use mT for the last two axes, or permute()",
    ),
    (
        lambda x: x.movedim((0, 1), 0),
        ShapeError,
        "movedim((0, 1), 0) of a tensor (2, 3)",
        "2 axes cannot go to 1 places",
        "name a place for each axis",
    ),
    (
        lambda x: x.movedim((0, 1), (1, 1)),
        ShapeError,
        "dims (1, 1) of a tensor (2, 3)",
        "they name one axis twice",
        "name each axis once",
    ),
    (
        lambda x: x.expand(3),
        ShapeError,
        "expand(3,) of a tensor (2, 3)",
        "1 sizes do not name all of its 2 axes",
        "give every axis of the result a size; -1 keeps the length of an existing one",
    ),
    (
        lambda x: x.expand(-1, 2, 3),
        ShapeError,
        "expand(-1, 2, 3) of a tensor (2, 3)",
        "-1 keeps an axis as it is, but a new axis has no length yet",
        "give every axis of the result a size; -1 keeps the length of an existing one",
    ),
    (
        lambda x: x.expand(4, 3),
        ShapeError,
        "expand((2, 3) float32, shape=(4, 3)) on cpu",
        "axis -2 has 2 elements, but only axes of length 1 can be stretched",
        "give it an axis of length 1 where one is missing: x.unsqueeze(…)",
    ),
    (
        lambda x: x.expand(-2, 3),
        ShapeError,
        "expand((2, 3) float32, shape=(-2, 3)) on cpu",
        "(-2, 3) asks for a negative number of elements",
        "use sizes from 0 up; -1 keeps an axis as it is",
    ),
    (
        lambda x: tg.broadcast_tensors(x, tg.zeros(2)),
        ShapeError,
        "broadcast_tensors of (2, 3), (2,)",
        "from the last axis on, sizes must be equal, and only a 1 can be stretched",
        "give the shorter ones axes of length 1 where they lack them: x.unsqueeze(…)",
    ),
    (tg.cat, DtypeError, "cat of one tensor", "it takes a list of tensors to join", JOIN + "cat([x, y])"),
    (tg.stack, DtypeError, "stack of one tensor", "it takes a list of tensors to join", JOIN + "stack([x, y])"),
    (
        lambda x: tg.stack([]),
        ShapeError,
        "stack of no tensors",
        "there is nothing to take a shape from",
        "pass at least one tensor",
    ),
    (
        lambda x: tg.stack([x, x.T]),
        ShapeError,
        "stack((2, 3) float32, (3, 2) float32, dim=0) on cpu",
        "the shapes (2, 3), (3, 2) are not all the same",
        "make them equal, or join along an axis that they have: cat()",
    ),
    (
        lambda x: tg.stack([x], 3),
        ShapeError,
        "dim=3 of a tensor (2, 3)",
        "it has 2 axes, so dim lies between -3 and 2",
        "count the axes from 0, or from -1 at the end",
    ),
]


@pytest.mark.parametrize(("call", "kind", "tried", "why", "mend"), WRONG, ids=[w[2] for w in WRONG])
def test_words(call: Callable[[Any], Any], kind: type[EduError], tried: str, why: str, mend: str) -> None:
    x = tg.ones(2, 3)
    with teaches(kind, tried, why, mend):
        call(x)
