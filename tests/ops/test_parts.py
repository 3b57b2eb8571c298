"""Parts of a tensor: they share its memory, gradients find their places, and nothing is read outside."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tests.support import teaches
from tinygrad_edu.compiler.interpret import interpret
from tinygrad_edu.compiler.trace import trace
from tinygrad_edu.errors import ArgumentError, DeviceError, DtypeError, EduError, IndexRangeError, ShapeError

Parts = Callable[[Any], Any]


def numbers(*shape: int) -> tg.Tensor:
    return tg.tensor(np.arange(float(np.prod(shape))).reshape(shape))


PARTS: dict[str, Parts] = {
    "narrow": lambda x: x.narrow(1, 1, 2),
    "narrow from the end": lambda x: x.narrow(0, -2, 1),
    "narrow by a tensor": lambda x: tg.narrow(x, 0, tg.tensor(1), 2),
    "select": lambda x: x.select(1, -1),
    "select a number": lambda x: x[0].select(0, 2),
    "unbind": lambda x: x.unbind(1)[2],
    "split": lambda x: x.split(2)[1],
    "split by a list": lambda x: x.split([1, 3], dim=1)[1],
    "split_with_sizes": lambda x: x.split_with_sizes((1, 2))[1],
    "chunk": lambda x: x.chunk(2, dim=-1)[0],
    "diagonal": lambda x: x.diagonal(),
    "diagonal below": lambda x: x.diagonal(-1),
    "diagonal of turned": lambda x: tg.diagonal(x, 1, -1, 0),
    "unfold": lambda x: x.unfold(1, 2, 2),
    "one window": lambda x: x.unfold(1, 3, 1)[:, 1],
    "as_strided": lambda x: x.as_strided((2, 3), (6, 1), 2),
    "as_strided of a part": lambda x: x[1:].as_strided((2, 2), (4, 2)),
    "chain": lambda x: x.T.narrow(0, 1, 3).unfold(0, 2, 2).diagonal(0, 1, 2),
}
OVERLAPPING: dict[str, Parts] = {
    "unfold": lambda x: x.unfold(1, 3, 1),
    "as_strided": lambda x: x.as_strided((3, 2, 3), (4, 1, 1), 0),
    "windows of windows": lambda x: x.unfold(0, 2, 1).unfold(1, 2, 1),
    "expand": lambda x: x.select(0, 1).expand(2, 2, 4),
}


@pytest.mark.parametrize("make", [*PARTS.values(), *OVERLAPPING.values()], ids=[*PARTS, *OVERLAPPING])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int64", "bool"])
def test_parts_show_the_memory_of_their_base(make: Parts, dtype: str) -> None:
    x = tg.zeros(3, 4, dtype=dtype)
    part = make(x)
    assert part.origin.base is x
    x.fill_(1)
    assert bool((part == 1).all())


@pytest.mark.parametrize("make", [*PARTS.values(), *OVERLAPPING.values()], ids=[*PARTS, *OVERLAPPING])
def test_gradients_add_up_where_elements_were_read(make: Parts) -> None:
    w = tg.zeros(3, 4, dtype="float64", requires_grad=True)
    part = make(w * 1)
    weights = numbers(*part.shape) + 1.0
    (part * weights).sum().backward()
    where = make(numbers(3, 4)).array.astype(int)
    np.testing.assert_array_equal(w.grad.array.ravel(), np.bincount(where.ravel(), weights.array.ravel(), 12))


@pytest.mark.parametrize("make", PARTS.values(), ids=PARTS)
def test_writes_through_parts(make: Parts) -> None:
    """They reach the base, and gradients go to what was written there and to what stayed."""
    w, v = tg.ones(3, 4, dtype="float64", requires_grad=True), tg.tensor(5.0, dtype="float64", requires_grad=True)
    base = w * 1
    part, sibling = make(base), base.T[1:]
    part.mul_(v)
    where = make(numbers(3, 4)).array.astype(int).ravel()
    expected = np.ones(12)
    expected[where] = 5
    assert base.flatten().tolist() == expected.tolist()
    assert sibling.tolist() == base.T[1:].tolist()
    (base * numbers(3, 4)).sum().backward()
    slopes = np.arange(12.0)
    assert v.grad.item() == slopes[where].sum()
    assert w.grad.flatten().tolist() == (slopes * expected).tolist()


@pytest.mark.parametrize("make", [*PARTS.values(), *OVERLAPPING.values()], ids=[*PARTS, *OVERLAPPING])
def test_parts_see_a_write_to_their_base(make: Parts) -> None:
    w = tg.ones(3, 4, dtype="float64", requires_grad=True)
    base = w * 1
    part = make(base)
    base.mul_(numbers(3, 4))
    where = make(numbers(3, 4)).array.astype(int)
    assert part.tolist() == where.astype(float).tolist()
    part.sum().backward()
    assert w.grad.flatten().tolist() == (np.bincount(where.ravel(), minlength=12) * np.arange(12.0)).tolist()


def test_all_parts_of_a_split_can_be_written() -> None:
    """PyTorch refuses it for several views at once. Here history keeps them apart."""
    w = tg.ones(6, requires_grad=True)
    base = w * 1
    for factor, parts in ((2.0, base.split(2)), (3.0, base.chunk(3)), (5.0, base.unbind())):
        for i, part in enumerate(parts):
            part.mul_(factor if i else 1.0)
    assert base.tolist() == [1.0, 5.0, 30.0, 30.0, 30.0, 30.0]
    base.sum().backward()
    assert w.grad.tolist() == base.tolist()


# Sizes --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "sizes"),
    [
        (lambda x: x.split(3), [3, 3, 1]), (lambda x: x.split(7), [7]), (lambda x: x.split(9), [7]),
        (lambda x: x.split([7, 0]), [7, 0]), (lambda x: x[:0].split(2), [0]), (lambda x: x[:0].split(0), [0]),
        (lambda x: x[:0].split([]), []), (lambda x: x.chunk(3), [3, 3, 1]), (lambda x: x.chunk(4), [2, 2, 2, 1]),
        (lambda x: x.chunk(5), [2, 2, 2, 1]), (lambda x: x.chunk(9), [1] * 7), (lambda x: x[:0].chunk(3), [0, 0, 0]),
    ],
)  # fmt: skip
def test_sizes_of_pieces(call: Parts, sizes: list[int]) -> None:
    assert [len(piece) for piece in call(tg.zeros(7))] == sizes


def test_windows() -> None:
    x = numbers(5)
    assert x.unfold(0, 3, 2).tolist() == [[0.0, 1.0, 2.0], [2.0, 3.0, 4.0]]
    assert x.unfold(-1, 2, 3).tolist() == [[0.0, 1.0], [3.0, 4.0]]
    assert x.unfold(dimension=0, size=0, step=1).shape == (6, 0)
    number = tg.tensor(3.0, requires_grad=True)
    assert number.unfold(0, 1, 1).tolist() == [3.0]
    assert number.unfold(0, 0, 1).tolist() == []
    number.unfold(0, 1, 1).sum().backward()
    assert number.grad.item() == 1.0


# Strides ------------------------------------------------------------------------------------------------------------


def test_strides_count_in_the_memory_of_the_base() -> None:
    x = numbers(3, 4)
    assert x.as_strided((2, 2), (5, 1)).tolist() == [[0.0, 1.0], [5.0, 6.0]]
    for view in (x[1:], x.T[1:], x.reshape(12)[4:], x.as_strided((2,), (3,), 4), x[1:, ::2]):
        assert view.as_strided((2,), (1,), 1).tolist() == [1.0, 2.0]
    assert x[1:].as_strided((2,), (3,)).tolist() == [4.0, 7.0]
    assert x.T[1:].as_strided((2,), (3,)).tolist() == [1.0, 4.0]
    assert x[2:].as_strided((), (), 11).tolist() == 11.0
    assert x[3:].as_strided((2,), (0,), 11).tolist() == [11.0, 11.0]
    assert x.sum().as_strided((2, 2), (0, 0)).tolist() == [[66.0, 66.0]] * 2
    assert tg.as_strided(x, size=[0], stride=[1], storage_offset=99).shape == (0,)


def test_strides_on_another_device() -> None:
    x = numbers(3, 4).to("far")
    assert x[1:].as_strided((2,), (3,)).tolist() == [4.0, 7.0]


def test_parts_while_recording() -> None:
    """With their gradients."""

    def slopes(x: Any) -> Any:
        parts = [*x.split(2), x.diagonal(), x.unfold(1, 2, 1), x.as_strided((2, 2), (1, 1), 3), x.narrow(1, 1, 2)]
        sum((part * part).sum() for part in parts).backward()
        return x.grad

    x = tg.tensor(numbers(3, 4).array, requires_grad=True)
    (found,) = interpret(trace(slopes, tg.zeros(3, 4, dtype="float64", requires_grad=True)), x.array)
    np.testing.assert_array_equal(found, slopes(x).array)


def test_strides_of_a_view_made_inside_no_grad() -> None:
    """It stays outside the graph, as the view itself does."""
    base = tg.ones(4, requires_grad=True) * 1
    with tg.no_grad():
        view = base[1:]
    assert not view.as_strided((2,), (1,)).requires_grad
    assert base[1:].as_strided((2,), (1,)).requires_grad


@pytest.mark.parametrize(
    ("size", "stride", "offset"),
    [
        ((13,), (1,), 0), ((2,), (12,), 0), ((1,), (1,), 12), ((2, 2), (8, 4), 0), ((2,), (-1,), 1), ((2,), (1,), -1),
        ((-1,), (1,), 0), ((2**40,), (2**40,), 0), ((3, 4), (4, 1), 1),
    ],
)  # fmt: skip
@pytest.mark.parametrize("device", ["cpu", "far"])
def test_nothing_outside_the_memory_is_read(size: Any, stride: Any, offset: int, device: str) -> None:
    x = numbers(3, 4).to(device)
    for tensor in (x, x[1:2]):
        with pytest.raises(ShapeError):
            tensor.as_strided(size, stride, offset)


def test_the_memory_must_be_known() -> None:
    x = numbers(3, 4)
    with teaches(
        ShapeError,
        "as_strided((2,), (1,), None) of a tensor (4, 3)",
        "its memory belongs to a tensor (4, 3) with strides (1, 4), not in row-major order",
        "take contiguous() of that tensor first",
    ):
        (x.T * 2).as_strided((2,), (1,))
    for part in (x[1:].detach(), tg.from_numpy(np.arange(4.0)[1:])):
        with teaches(
            ShapeError,
            f"as_strided((1,), (1,), None) of a tensor {tuple(part.shape)}",
            "its memory is part of a larger block that no tensor of the graph shows, so strides have no fixed start",
            "clone() it first",
        ):
            part.as_strided((1,), (1,))
    with teaches(
        ShapeError,
        "as_strided((1,), (1,), None) of a tensor (0, 4)",
        "x is empty, so it has no first element",
        "pass storage_offset",
    ):
        x[3:].as_strided((1,), (1,))
    assert x.detach().as_strided((1,), (1,), 3).tolist() == [3.0]
    assert x.T.contiguous().as_strided((2,), (1,)).tolist() == [0.0, 4.0]


def test_where_elements_lie() -> None:
    x = tg.zeros(3, 4)
    assert [x.stride(0), x.stride(-1), x.T.stride(dim=1)] == [4, 1, 4]
    views = (x, x[1], x[1:, 2:], x.T[1], x.diagonal(1), x.detach()[2], x[1:].detach(), x.as_strided((1,), (1,), 7))
    assert [view.storage_offset() for view in views] == [0, 4, 6, 1, 1, 8, 4, 7]
    assert tg.tensor(1.0).storage_offset() == x.sum().storage_offset() == 0
    assert x[1:].data_ptr() - x.data_ptr() == 16
    assert tg.zeros(0).data_ptr() == 0
    assert tg.zeros(0, 3).T.is_contiguous()
    assert x.to("far").T.is_contiguous() is False
    for name in ("data_ptr", "storage_offset"):
        with teaches(
            DeviceError,
            f"{name}()",
            "the elements live on 'far', which gives no addresses",
            "copy them first: x.cpu()",
        ):
            getattr(x.to("far"), name)()


# What cannot be -----------------------------------------------------------------------------------------------------

END = "count them from 0, or from -1 at the end"
WRONG: list[tuple[Parts, type[EduError], str, str, str]] = [
    (
        lambda x: x.narrow(0, 2, 2),
        IndexRangeError,
        "narrow(dim=0, start=2, length=2) of a tensor (3, 4)",
        "the axis has 3 elements, and these do not all lie within it",
        "start at 0 to 3, and leave room for the length",
    ),
    (
        lambda x: x.narrow(0, -4, 1),
        IndexRangeError,
        "narrow(dim=0, start=-4, length=1) of a tensor (3, 4)",
        "the axis has 3 elements, and these do not all lie within it",
        "start at 0 to 3, and leave room for the length",
    ),
    (
        lambda x: x.narrow(0, 1, -1),
        IndexRangeError,
        "narrow(dim=0, start=1, length=-1) of a tensor (3, 4)",
        "the axis has 3 elements, and these do not all lie within it",
        "start at 0 to 3, and leave room for the length",
    ),
    (lambda x: x.narrow(0, 1.0, 1), DtypeError, "narrow with 1.0", "it is not an integer", "pass an integer"),
    (
        lambda x: x.narrow(0, tg.tensor([1]), 1),
        DtypeError,
        "narrow with tensor([1])",
        "it is not an integer",
        "pass an integer",
    ),
    (
        lambda x: x.narrow(0, tg.tensor(True), 1),
        DtypeError,
        "narrow with tensor(True)",
        "it is not an integer",
        "pass an integer",
    ),
    (
        lambda x: x.select(1, 4),
        IndexRangeError,
        "select(dim=1, index=4) of a tensor (3, 4)",
        "the axis has 4 elements",
        END,
    ),
    (
        lambda x: x.select(1, -5),
        IndexRangeError,
        "select(dim=1, index=-5) of a tensor (3, 4)",
        "the axis has 4 elements",
        END,
    ),
    (
        lambda x: x.sum().select(0, 0),
        ShapeError,
        "select of a 0-d tensor",
        "it has no axis to loop over",
        "give it one: x.unsqueeze(0)",
    ),
    (
        lambda x: x.sum().unbind(),
        ShapeError,
        "unbind of a 0-d tensor",
        "it has no axis to loop over",
        "give it one: x.unsqueeze(0)",
    ),
    (
        lambda x: x.split(0),
        ArgumentError,
        "split(0, dim=0) of a tensor (3, 4)",
        "pieces of this size never fill the axis",
        "use pieces of at least 1 element",
    ),
    (
        lambda x: x.split([1, 1]),
        ShapeError,
        "split([1, 1], dim=0) of a tensor (3, 4)",
        "the sizes add up to 2, but the axis has 3 elements",
        "give a size for every piece, none of them negative, or one size for all: split(2)",
    ),
    (
        lambda x: x.split([4, -1]),
        ShapeError,
        "split([4, -1], dim=0) of a tensor (3, 4)",
        "the sizes add up to 3, but the axis has 3 elements",
        "give a size for every piece, none of them negative, or one size for all: split(2)",
    ),
    (
        lambda x: x.chunk(0, 1),
        ArgumentError,
        "chunk(0, dim=1) of a tensor (3, 4)",
        "there must be at least one piece",
        "ask for 1 or more",
    ),
    (lambda x: x.chunk(2.0), DtypeError, "chunk with 2.0", "it is not an integer", "pass an integer"),
    (
        lambda x: x.diagonal(0, 1, -1),
        ShapeError,
        "diagonal(dim1=1, dim2=-1) of a tensor (3, 4)",
        "both are the same axis, but a diagonal needs two",
        "name two axes",
    ),
    (
        lambda x: x[0].diagonal(),
        ShapeError,
        "dim=1 of a tensor (4,)",
        "it has 1 axis, so dim lies between -1 and 0",
        "count the axes from 0, or from -1 at the end",
    ),
    (
        lambda x: x.unfold(0, 4, 1),
        ShapeError,
        "unfold((3, 4) float64, dim=0, size=4, step=1) on cpu",
        "the axis has 3 elements, but a window has 4",
        "use windows of 0 to 3 elements",
    ),
    (
        lambda x: x.unfold(0, -1, 1),
        ShapeError,
        "unfold((3, 4) float64, dim=0, size=-1, step=1) on cpu",
        "the axis has 3 elements, but a window has -1",
        "use windows of 0 to 3 elements",
    ),
    (
        lambda x: x.unfold(0, 2, 0),
        ShapeError,
        "unfold((3, 4) float64, dim=0, size=2, step=0) on cpu",
        "the step is 0, but windows move by at least 1",
        "use step=1 or more",
    ),
    (
        lambda x: x.as_strided((2, 2), (1,)),
        ShapeError,
        "as_strided((2, 2), (1,), None) of a tensor (3, 4)",
        "there are 2 sizes and 1 strides",
        "give each axis of the result a size and a stride",
    ),
    (
        lambda x: x.as_strided((3, 5), (4, 1)),
        ShapeError,
        "as_strided((3, 4) float64, size=(3, 5), stride=(4, 1), offset=0) on cpu",
        "its last element would be number 12 in memory that holds 12",
        "check sizes, strides and offset",
    ),
    (
        lambda x: x.as_strided((2,), (-1,), 1),
        ShapeError,
        "as_strided((3, 4) float64, size=(2,), stride=(-1,), offset=1) on cpu",
        "a size, a stride or the offset is negative",
        "use flip() to go backwards: it copies",
    ),
]


@pytest.mark.parametrize(("call", "kind", "tried", "why", "mend"), WRONG, ids=[w[2] for w in WRONG])
def test_words(call: Parts, kind: type[EduError], tried: str, why: str, mend: str) -> None:
    x = numbers(3, 4)
    with teaches(kind, tried, why, mend):
        call(x)
