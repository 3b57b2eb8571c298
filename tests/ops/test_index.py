"""Reading and writing by index: what a view is, where axes go, what is refused and in which words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tests.support import teaches
from tinygrad_edu.compiler.trace import TraceError, trace
from tinygrad_edu.errors import ArgumentError, AutogradError, DeviceError, DtypeError, InplaceError, ShapeError
from tinygrad_edu.errors import IndexRangeError as Beyond

X = np.arange(24.0).reshape(2, 3, 4)


def grad(function: Any, *values: Any) -> list[Any]:
    """The gradients of ``function(...).sum()``."""
    leaves = [tg.tensor(v, dtype="float64", requires_grad=True) for v in values]
    function(*leaves).sum().backward()
    return [x.grad.tolist() for x in leaves]


# Reading ------------------------------------------------------------------------------------------------------------

VIEWS: dict[str, Any] = {
    "int": 1, "negative": -1, "slice": slice(1, None), "step": slice(None, None, 2), "backwards": slice(None, None, -1),
    "ellipsis": ..., "none": None, "empty": (), "element": (1, 2, 3), "mixed": (..., None, 0), "numpy int": np.int64(1),
    "0-d tensor": tg.tensor(1), "0-d array": np.array(1), "small 0-d tensor": tg.tensor(1, dtype="int8"),
    "slice of tensors": slice(tg.tensor(0), tg.tensor(1)),
}  # fmt: skip
COPIES: dict[str, Any] = {
    "list": [1, 0], "array": np.array([1]), "tensor": tg.tensor([0]), "int32": tg.tensor([0], dtype="int32"),
    "small array": np.array([1], dtype=np.int8), "range": range(2), "mask": X > 3, "rows": [True, False], "bool": True,
    "numpy bool": np.bool_(True), "0-d mask": tg.tensor(True), "False": False, "no positions": [], "tuple": ((0, 1), 2),
}  # fmt: skip


@pytest.mark.parametrize("index", VIEWS.values(), ids=VIEWS)
def test_ints_and_slices_give_views(index: Any) -> None:
    x = tg.tensor(X)
    y = x[index]
    assert np.shares_memory(y.array, x.array)
    y.add_(100)
    expected = X.copy()
    expected[_plain(index)] += 100
    assert x.tolist() == expected.tolist()


def _plain(index: Any) -> Any:
    if isinstance(index, slice):
        return slice(*(None if n is None else int(n) for n in (index.start, index.stop, index.step)))
    return int(index) if isinstance(index, (tg.Tensor, np.ndarray)) else index


@pytest.mark.parametrize("index", COPIES.values(), ids=COPIES)
def test_tensors_lists_and_bools_give_copies(index: Any) -> None:
    x = tg.tensor(X)
    y = x[index]
    assert y.origin is None
    np.testing.assert_array_equal(y.array, X[index.array if isinstance(index, tg.Tensor) else index])
    y.fill_(-1.0)
    assert x.tolist() == X.tolist()


def test_the_axes_of_index_tensors_go_where_pytorch_puts_them() -> None:
    """NumPy counts ints among the index arrays, and would give (2, 3), (2, 2) and (2, 2, 3)."""
    x = tg.tensor(X)
    assert x[0, :, [0, 1]].shape == (3, 2)
    assert x[0, :, [0, 1]].tolist() == X[0][:, [0, 1]].tolist()
    assert x[:, [0, 1], 0].shape == (2, 2)
    assert tg.zeros(2, 3, 4, 5)[:, [0, 1], :, 0].shape == (2, 2, 4)
    assert tg.zeros(2, 3, 4, 5)[[0, 1], :, [0, 1]].shape == (2, 3, 5)  # tensors apart: in front
    assert x[0, ..., [0, 1]].shape == (3, 2)
    assert tg.zeros(3, 4)[[0], ..., [0]].shape == (1,)  # "..." for no axis keeps nothing apart
    x[0, :, [0, 1]] = tg.zeros(3, 2)
    assert x[0].tolist() == [[0, 0, 2, 3], [0, 0, 6, 7], [0, 0, 10, 11]]


def test_gradients_of_two_steps_meet() -> None:
    def weigh(x: Any) -> Any:
        return x[0, :, [0, 0]] * tg.tensor([[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]])

    assert grad(weigh, X)[0] == [[[11, 0, 0, 0], [22, 0, 0, 0], [33, 0, 0, 0]], np.zeros((3, 4)).tolist()]


def test_index_tensors_are_never_differentiated() -> None:
    x, i = tg.ones(3, requires_grad=True), tg.tensor([0, 0, 2])
    x[i].sum().backward()
    assert (x.grad.tolist(), i.grad, i.requires_grad) == ([2.0, 0.0, 1.0], None, False)


NO_INDEX: dict[str, tuple[Any, type[Exception], str, str, str]] = {
    "too large": (5, Beyond, "x[5]", "axis 0 has 2 elements, and index 5 is not among them", "use -2 to 1"),
    "too negative": (
        (slice(None), -4), Beyond, "x[:, -4]", "axis 1 has 3 elements, and index -4 is not among them", "use -3 to 2",
    ),
    "after ...": ((..., 4), Beyond, "x[..., 4]", "axis 2 has 4 elements, and index 4 is not among them", "use -4 to 3"),
    "in a list": (
        (0, [0, 3]), Beyond, "x[0, [0, 3]]", "axis 1 has 3 elements, and index 3 is not among them", "use -3 to 2",
    ),
    "in a tensor": (
        (slice(1), tg.tensor([0, -4])), Beyond, "x[:1, [0, -4]]",
        "axis 1 has 3 elements, and index -4 is not among them", "use -3 to 2",
    ),
    "too many": ((0, 0, 0, 0), Beyond, "x[0, 0, 0, 0]", "the tensor has 3 axes, and 4 are indexed",
                 "leave an index out"),
    "two ellipses": ((..., ...), Beyond, "x[..., ...]",
                     "... stands for all axes that are left, so there can be only one",
                     "write : for each axis instead"),
    "mask of another shape": (
        X[:, :2] > 0, Beyond, "x[mask (2, 2, 4)]", "the mask has shape (2, 2, 4), and those axes have shape (2, 3, 4)",
        "make the mask by comparing this tensor itself",
    ),
    "mask of rows": (
        (slice(None), [True, False]), Beyond, "x[:, [True, False]]",
        "the mask has shape (2,), and those axes have shape (3,)", "make the mask by comparing this tensor itself",
    ),
    "unequal lengths": (
        ([0, 1], [0, 1, 2]), Beyond, "x[[0, 1], [0, 1, 2]]",
        "the index tensors have shapes (2,) and (3,), which cannot be stretched to one",
        "give them one length, or an axis of length 1 where one should be repeated: i[:, None]",
    ),
    "a float": (1.0, DtypeError, "x[1.0]",
                "an index is made of ints, slices, ..., None and tensors of ints or bools, not of float",
                "round it to an int first: x[int(i)]"),
    "a name": ("row", DtypeError, "x['row']",
               "an index is made of ints, slices, ..., None and tensors of ints or bools, not of str",
               "round it to an int first: x[int(i)]"),
    "floats": ([0.0, 1.0], DtypeError, "x[[0.0, 1.0]]",
               "it has dtype float64, but positions are integers and masks are bools",
               "convert it: i.long() for positions, x > 0 for a mask"),
    "a float tensor": (tg.tensor([1.0]), DtypeError, "x[[1.0]]",
                       "it has dtype float32, but positions are integers and masks are bools",
                       "convert it: i.long() for positions, x > 0 for a mask"),
    "uint8": (tg.tensor([0, 1], dtype="uint8"), DtypeError, "x[[0, 1]]",
              "PyTorch reads uint8 as a mask, and you may have meant positions",
              "say which: i.bool() for a mask, i.long() for positions"),
    "int8": (tg.tensor([0, 1], dtype="int8"), DtypeError, "x[[0, 1]]",
             "it is int8, and PyTorch takes int32, int64 and bool", "convert it: x.long()"),
    "list of lists": (
        [[0, 1], [1, 0]], DtypeError, "x[[[0, 1], [1, 0]]]",
        "PyTorch reads a list of lists, tensors or slices as a tuple of indices, and NumPy as one index tensor",
        "say which: x[tuple(index)], or x[tensor(index)]",
    ),
    "ragged": (([[0, 1], [0]],), DtypeError, "x[[[0, 1], [0]]]", "its rows differ in length", "pad them to one length"),
    "step 0": (slice(None, None, 0), ShapeError, "x[::0]", "with a step of 0, a slice stays where it is",
               "use a step of 1"),
    "slice of floats": (slice(0.5, None), DtypeError, "x[0.5:]", "a slice runs from int to int",
                        "round first: x[int(i) :]"),
}  # fmt: skip


@pytest.mark.parametrize(("index", "kind", "tried", "why", "mend"), NO_INDEX.values(), ids=NO_INDEX)
def test_what_is_no_index(index: Any, kind: Any, tried: str, why: str, mend: str) -> None:
    x = tg.tensor(X)
    with teaches(kind, f"{tried} of a tensor (2, 3, 4)", why, mend, line="x[index]"):
        x[index]
    with pytest.raises(kind) as caught:
        x[index] = 0.0
    assert (caught.value.why, caught.value.mend) == (why, mend)
    assert x.tolist() == X.tolist()


def test_words_for_small_and_empty_tensors() -> None:
    with teaches(
        Beyond, "x[0] of a tensor ()", "the tensor has 0 axes, and 1 are indexed",
        "use item() for the number in a 0-d tensor", line="tg.tensor(1.0)[0]",
    ):  # fmt: skip
        tg.tensor(1.0)[0]
    with teaches(
        Beyond, "x[0] of a tensor (0, 3)", "axis 0 has no elements, so none has index 0",
        "check how the tensor came to be empty", line="tg.zeros(0, 3)[0]",
    ):  # fmt: skip
        tg.zeros(0, 3)[0]
    with teaches(
        Beyond, "x[:, [7]] of a tensor (3, 4)", "axis 1 has 4 elements, and index 7 is not among them", "use -4 to 3",
        line="tg.tensor(X)[0, :, [7]]",
    ):  # fmt: skip
        tg.tensor(X)[0, :, [7]]  # the words are about what is left once the ints are out
    with pytest.raises(Beyond, match=r"^x\[int64 tensor \(3, 3\)\] of a tensor \(2,\)"):
        tg.zeros(2)[np.full((3, 3), 9)]


def test_an_index_of_another_device_is_looked_at_there() -> None:
    x = tg.tensor(X, device="far")
    assert x[tg.tensor([1], device="far")].tolist() == X[[1]].tolist()
    assert x[tg.tensor(1, device="far")].tolist() == X[1].tolist()
    assert x[[0, 1], [1, 0]].tolist() == X[[0, 1], [1, 0]].tolist()
    with pytest.raises(Beyond, match=r"^x\[\[2\]\] of a tensor \(2, 3, 4\)\n  why:  axis 0 has 2 elements"):
        x[tg.tensor([2], device="far")]


def test_the_truth_of_a_traced_index_is_not_asked() -> None:
    program = trace(lambda x, i: x[i], tg.tensor(X), tg.tensor([1, 0]))
    assert "getitem" in str(program)
    with pytest.raises(TraceError, match="reading a traced value"):
        trace(lambda x, i: x[i:], tg.tensor(X), tg.tensor(1))


# Writing ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("index", "value"),
    [
        (1, 5.0), ((0, [0, 1]), tg.ones(2, 4)), (X > 5, tg.arange(18.0)), (X > 5, 7), ((..., 0), [[1, 2, 3]] * 2),
        (([True, False], [0, 0]), tg.tensor([[1.0], [2.0]])), (True, tg.zeros(1, 1, 1, 4)), ([], 3.0), (False, 3.0),
        ((slice(None), None, 0), np.ones((1, 4))), (None, 4.0), ((1, 2, 3), 9.0), ([1, 1], 2),
        (slice(None, None, -1), tg.arange(4.0)),
    ],
)  # fmt: skip
def test_writing(index: Any, value: Any) -> None:
    x, expected = tg.tensor(X), X.copy()
    x[index] = value
    expected[index] = value.array if isinstance(value, tg.Tensor) else value
    assert x.tolist() == expected.tolist()


def test_a_single_element_is_written_from_a_vector_of_one() -> None:
    x = tg.zeros(2, 2)
    x[1, 0] = tg.tensor([9.0])
    x[0, 1] = tg.tensor([[8.0]])
    assert x.tolist() == [[0, 8], [9, 0]]


def test_what_is_written_comes_in_the_dtype_of_the_tensor() -> None:
    x = tg.zeros(3, dtype="int64")
    x[0] = 2.7
    x[[1, 2]] = tg.tensor([1.9, -1.9], dtype="float32")
    assert (x.tolist(), x.dtype) == ([2, 1, -1], np.int64)


def test_writing_through_a_view_and_its_gradient() -> None:
    def scale(x: Any, v: Any) -> Any:
        y = x * 1
        y[0, :, [0, 1]] = v
        return y * 2

    gx, gv = grad(scale, X, np.ones((3, 2)))
    assert gx == [[[0, 0, 2, 2]] * 3, [[2] * 4] * 3]
    assert gv == [[2, 2]] * 3


def test_of_values_written_to_one_place_the_last_gets_the_gradient() -> None:
    def overwrite(x: Any, v: Any) -> Any:
        y = x * 1
        y[[0, 0, 1]] = v
        return y * tg.tensor([1.0, 10.0, 100.0])

    x, v = tg.zeros(3), tg.tensor([1.0, 2.0, 3.0])
    assert overwrite(x, v).tolist() == [2.0, 30.0, 0.0]
    assert grad(overwrite, [0.0] * 3, [1.0, 2.0, 3.0]) == [[0.0, 0.0, 100.0], [0.0, 1.0, 10.0]]
    assert grad(overwrite, [0.0] * 3, [5.0]) == [[0.0, 0.0, 100.0], [11.0]]


def test_writing_what_does_not_fit() -> None:
    x = tg.tensor(X)
    with teaches(
        ShapeError, "x[0, [0, 1]] = (3, 4) of a tensor (2, 3, 4)",
        "the index names a region (2, 4), but a tensor (3, 4) cannot be stretched to it",
        "give it that shape, or axes of length 1", line="x[0, [0, 1]] = tg.ones(3, 4)",
    ):  # fmt: skip
        x[0, [0, 1]] = tg.ones(3, 4)
    with teaches(
        ShapeError, "copy_ with a tensor (3,) on a tensor (2, 3, 4)",
        "the index names a region (2, 3, 4), but a tensor (3,) cannot be stretched to it",
        "give it that shape, or axes of length 1", line="x.copy_(tg.ones(3))",
    ):  # fmt: skip
        x.copy_(tg.ones(3))
    for value in ("a", None, {}):
        with pytest.raises(DtypeError):
            x[0] = value
    assert x.tolist() == X.tolist()


def test_leaves_are_not_written_to() -> None:
    x = tg.zeros(3, requires_grad=True)
    with pytest.raises(InplaceError, match=r"x\[…\] = … on a tensor \(3,\) float32\n  why:  it is a leaf"):
        x[0] = 1.0
    with tg.no_grad():
        x[0] = 1.0
    assert x.tolist() == [1.0, 0.0, 0.0]


# Along one axis -----------------------------------------------------------------------------------------------------


def test_gather_in_its_own_words() -> None:
    x, index = tg.tensor(X[0]), tg.tensor([[0, 3], [1, 1]])
    assert x.gather(1, index).tolist() == [[X[0, i, index.tolist()[i][j]] for j in range(2)] for i in range(2)]
    assert x.gather(0, tg.tensor([[2, 1, 0, 0]])).tolist() == [[8, 5, 2, 3]]
    assert tg.tensor(3.0).gather(0, tg.tensor([0, 0])).tolist() == [3, 3]
    assert tg.gather(x, -1, tg.zeros(0, 9, dtype="int64")).shape == (0, 9)
    assert x.gather(1, tg.zeros(2, 0, 5)).shape == (2, 0, 5)  # no positions have no dtype


def test_scatter_and_gather_are_adjoint() -> None:
    rng = np.random.default_rng(0)
    for dim in (0, 1):
        x, index = rng.normal(size=(3, 4)), rng.integers(0, (3, 4)[dim], (2, 3))
        g = rng.normal(size=(2, 3))
        read = tg.tensor(x).gather(dim, tg.tensor(index))
        back = tg.zeros(3, 4, dtype="float64").scatter_add(dim, tg.tensor(index), tg.tensor(g))
        assert (read * tg.tensor(g)).sum().item() == pytest.approx((tg.tensor(x) * back).sum().item())


def test_scatter() -> None:
    x, index = tg.zeros(2, 3), tg.tensor([[2, 0]])
    assert x.scatter(1, index, tg.tensor([[5.0, 6.0, 7.0]])).tolist() == [[6, 0, 5], [0, 0, 0]]
    assert x.scatter(1, index, 4).tolist() == x.scatter(1, index, value=4.0).tolist() == [[4, 0, 4], [0, 0, 0]]
    assert x.tolist() == [[0.0] * 3] * 2
    twice = tg.tensor([[1], [1], [0]])
    assert tg.ones(2, 1).scatter(0, twice, tg.tensor([[2.0], [3.0], [4.0]])).tolist() == [[4], [3]]
    assert tg.ones(2, 1).scatter(0, twice, tg.tensor([[2.0], [3.0], [4.0]]), reduce="add").tolist() == [[5], [6]]
    assert tg.ones(2, 1).scatter(0, twice, 5.0, reduce="add").tolist() == [[6], [11]]
    product = tg.full((2, 1), 10.0).scatter(0, twice, tg.tensor([[2.0], [3.0], [4.0]]), reduce="multiply")
    assert product.tolist() == [[40], [60]]
    assert tg.full((2, 1), 10).scatter(0, twice, 3, reduce="multiply").tolist() == [[30], [90]]
    assert tg.tensor(1.0).scatter(0, tg.tensor(0), 3.0).shape == ()


def test_gradients_of_products_in_one_place() -> None:
    """Each factor's gradient is the product of the others."""

    def product(x: Any, src: Any) -> Any:
        return x.scatter(0, tg.tensor([0, 0, 1]), src, reduce="multiply")

    assert grad(product, [10.0, 20.0], [2.0, 3.0, 4.0]) == [[6.0, 4.0], [30.0, 20.0, 20.0]]


def test_of_what_scatter_overwrites_nothing_gets_a_gradient() -> None:
    found = grad(lambda x, s: x.scatter(0, tg.tensor([0, 0, 1]), s), [1.0, 2.0, 3.0], [4.0, 5.0, 6.0, 7.0])
    assert found == [[0.0, 0.0, 1.0], [0.0, 1.0, 1.0, 0.0]]


def test_slices_at_positions() -> None:
    x, i = tg.arange(6.0).reshape(3, 2), tg.tensor([2, 0, 2])
    assert x.index_select(0, i).tolist() == [[4, 5], [0, 1], [4, 5]]
    assert x.index_select(1, tg.tensor(1)).tolist() == [[1], [3], [5]]
    assert x.index_add(0, i, tg.ones(3, 2)).tolist() == [[1, 2], [2, 3], [6, 7]]
    assert x.index_add(0, i, tg.ones(3, 2), alpha=-10).tolist() == [[-10, -9], [2, 3], [-16, -15]]
    assert x.index_copy(1, tg.tensor([1]), -tg.ones(3, 1)).tolist() == [[0, -1], [2, -1], [4, -1]]
    assert x.index_copy(0, i, tg.arange(6.0).reshape(3, 2)).tolist() == [[2, 3], [2, 3], [4, 5]]  # the last stays
    assert x.index_fill(0, tg.tensor([-1]), 9).tolist() == [[0, 1], [2, 3], [9, 9]]
    assert x.index_put((i, tg.tensor([0, 1, 0])), tg.tensor(8.0)).tolist() == [[0, 8], [2, 3], [8, 5]]
    assert x.index_put((i,), tg.tensor([1.0, 2.0]), accumulate=True).tolist() == [[1, 3], [2, 3], [6, 9]]
    assert x.tolist() == [[0, 1], [2, 3], [4, 5]]
    zero = tg.tensor(5.0)
    assert zero.index_select(0, tg.tensor([0])).shape == zero.index_fill(0, tg.tensor([0]), 1.0).shape == ()
    assert zero.index_add(0, tg.tensor([0]), tg.tensor(2.0)).item() == 7
    assert zero.index_copy(0, tg.tensor([0, 0]), tg.tensor([3.0, 4.0])).item() == 4
    assert x.bool().index_add(0, tg.tensor([0]), tg.ones(1, 2, dtype="bool"), alpha=-1).dtype == np.bool_


def test_a_number_that_fills_gets_the_whole_gradient() -> None:
    assert grad(lambda x, v: x.index_fill(0, tg.tensor([0, 2]), v.sum()), [[1.0] * 2] * 3, [7.0]) == [
        [[0.0, 0.0], [1.0, 1.0], [0.0, 0.0]],
        [4.0],
    ]
    assert grad(lambda x, v: tg.fill(x, v.sum()), [1.0, 2.0], [7.0]) == [[0.0, 0.0], [2.0]]


def test_take_along_dim_stretches() -> None:
    x = tg.tensor(X[0])
    assert tg.take_along_dim(x, x.argsort(1), 1).tolist() == X[0].tolist()
    assert x.take_along_dim(tg.tensor([[-1, 0]]), 1).tolist() == [[3, 0], [7, 4], [11, 8]]
    assert tg.take_along_dim(x, tg.tensor([11, 0])).tolist() == [11, 0]
    assert grad(lambda x: tg.take_along_dim(x, tg.tensor([[0, 0]]), 1), X[0]) == [[[2, 0, 0, 0]] * 3]


def test_an_index_written_after_its_use_is_noticed() -> None:
    """`gather` keeps its index as an operand, as PyTorch does; the others take a copy."""
    x, index = tg.ones(3, requires_grad=True), tg.tensor([0, 1])
    read, added = x.gather(0, index), x.index_add(0, index, x[:2])
    index[0] = 2
    added.sum().backward(retain_graph=True)
    assert x.grad.tolist() == [2.0, 2.0, 1.0]
    with pytest.raises(AutogradError, match="overwritten"):
        read.sum().backward()


def test_masks() -> None:
    x = tg.tensor(X[0], requires_grad=True)
    rows = tg.tensor([[True], [False], [True]])
    found = x.masked_select(rows)
    assert found.tolist() == [0, 1, 2, 3, 8, 9, 10, 11]
    (found * found).sum().backward()
    assert x.grad.tolist() == [[0, 2, 4, 6], [0, 0, 0, 0], [16, 18, 20, 22]]
    assert tg.tensor(3.0).masked_select(tg.tensor([True, True])).tolist() == [3, 3]
    assert grad(lambda v: v.masked_select(tg.tensor([[True], [True]])), [1.0, 2.0]) == [[2.0, 2.0]]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16", "int8", "bool"])
def test_nonzero(dtype: str) -> None:
    x = tg.tensor([[0, 1], [2, 0]]).to(dtype)
    assert x.nonzero().tolist() == tg.argwhere(x).tolist() == [[0, 1], [1, 0]]
    assert x.nonzero().dtype == np.int64
    assert x[x.nonzero(as_tuple=True)].shape == (2,)
    assert x.to("far").nonzero().device == "far"


def test_nonzero_of_little() -> None:
    assert tg.tensor(3).nonzero().shape == (1, 0)
    assert tg.tensor(0).nonzero().shape == (0, 0)
    assert [i.tolist() for i in tg.tensor(3).nonzero(as_tuple=True)] == [[0]]
    assert len(tg.zeros(2, 3).nonzero(as_tuple=True)) == 2
    assert not tg.ones(2, requires_grad=True).nonzero().requires_grad


def test_meshgrid() -> None:
    x, y = tg.tensor([1.0, 2.0], requires_grad=True), tg.tensor([10.0, 20.0, 30.0])
    a, b = tg.meshgrid(x, y)
    assert (a + b).tolist() == [[11, 21, 31], [12, 22, 32]]
    c, d = tg.meshgrid([x, y], indexing="xy")
    assert (c + d).tolist() == [[11, 12], [21, 22], [31, 32]]
    assert np.shares_memory(a.array, x.array)
    (a * c.T).sum().backward()
    assert x.grad.tolist() == [6.0, 12.0]
    assert [g.shape for g in tg.meshgrid(tg.tensor(1), tg.tensor([1, 2]))] == [(1, 2)] * 2


ONE, P = tg.tensor([0]), tg.tensor([[0], [1]])
WRONG: dict[str, tuple[Any, type[Exception], str]] = {
    "gather beyond": (lambda x: x.gather(1, P + 3), Beyond, "gather(dim=1)"),
    "gather negative": (lambda x: x.gather(1, P - 1), Beyond, "use 0 to 3: positions count from the front here"),
    "gather of floats": (lambda x: x.gather(1, P * 1.0), DtypeError, "convert it: index.long()"),
    "gather of bytes": (lambda x: x.gather(1, P.byte()), DtypeError, "positions are integers, but this is uint8"),
    "gather rank": (lambda x: x.gather(1, ONE), ShapeError, "gather of a tensor (3, 4) with an index (1,)"),
    "gather axis": (lambda x: x.gather(2, P), ShapeError, "dim lies between -2 and 1"),
    "gather longer": (
        lambda x: x.gather(0, tg.zeros(1, 5, dtype="int64")), ShapeError,
        "along axis 1, index has 5 elements, but the tensor has 4\n",
    ),
    "gather elsewhere": (lambda x: x.gather(1, P.to("far")), DeviceError, "with an index on 'far'"),
    "scatter dtype": (lambda x: x.scatter(1, P, P), DtypeError, "scatter of int64 into float64"),
    "scatter rank": (lambda x: x.scatter(1, P, tg.ones(2, dtype="float64")), ShapeError, "differ in their number of"),
    "scatter small": (lambda x: x.scatter(1, P, x[:1]), ShapeError, "make index no larger than src"),
    "scatter nothing": (lambda x: x.scatter(1, P), DtypeError, "either a tensor (src) or a number (value)"),
    "scatter both": (lambda x: x.scatter(1, P, x, value=1.0), DtypeError, "either a tensor (src) or a number (value)"),
    "scatter mean": (lambda x: x.scatter(1, P, 1.0, reduce="mean"), ArgumentError, "'add' or 'multiply'"),
    "scatter beyond": (lambda x: x.scatter_add(0, P + 2, x), Beyond, "scatter_add(dim=0)"),
    "select matrix": (lambda x: x.index_select(0, P), ShapeError, "index is a vector of positions"),
    "select beyond": (lambda x: x.index_select(0, ONE + 3), Beyond, "index 3 is not among them"),
    "select negative": (lambda x: x.index_select(0, ONE - 1), Beyond, "positions count from the front here"),
    "select of one": (lambda x: x.sum().index_select(0, tg.tensor([0, 0])), ShapeError, "index names 2"),
    "add short": (lambda x: x.index_add(0, P[:, 0], x[:1]), ShapeError, "source has shape (2, 4), but this has (1, 4)"),
    "add dtype": (lambda x: x.index_add(0, ONE, x[:1].float()), DtypeError, "index_add of float32 into float64"),
    "add half of integers": (
        lambda x: x.long().index_add(0, ONE, x[:1].long(), alpha=0.5), DtypeError, "int64 holds no fractions",
    ),
    "copy short": (lambda x: x.index_copy(0, P[:, 0], x[:1]), ShapeError, "each position gets a slice"),
    "fill with two": (lambda x: x.index_fill(0, ONE, tg.ones(2)), ShapeError, "it fills with one number"),
    "fill negative": (lambda x: x.index_fill(0, ONE - 4, 1.0), Beyond, "use -3 to 2"),
    "put without a tuple": (lambda x: x.index_put(ONE, 1.0), DtypeError, "put it into one: (index,)"),
    "put dtype": (lambda x: x.index_put((ONE,), P), DtypeError, "index_put of int64 into float64"),
    "put shape": (lambda x: x.index_put((ONE,), x), ShapeError, "region (1, 4), and a tensor (3, 4)"),
    "put_add shape": (lambda x: x.index_put((ONE,), x, True), ShapeError, "region (1, 4), and a tensor (3, 4)"),
    "put beyond": (lambda x: x.index_put((ONE + 9,), 1.0), Beyond, "index_put into x[[9]] of a tensor (3, 4)\n"),
    "select by numbers": (lambda x: x.masked_select(x), DtypeError, "the mask is float64"),
    "select by another shape": (
        lambda x: x.masked_select(tg.tensor([True, False])), ShapeError, "with a mask (2,)",
    ),
    "along beyond": (lambda x: x.take_along_dim(P[:1] + 4, 1), Beyond, "index 4 is not among them"),
    "along rank": (lambda x: x.take_along_dim(ONE, 1), ShapeError, "number of axes"),
    "along lengths": (lambda x: x.take_along_dim(P, 1), ShapeError, "cannot be stretched to each other"),
    "grid of nothing": (lambda x: tg.meshgrid(), ShapeError, "meshgrid of no tensors"),
    "grid of matrices": (tg.meshgrid, ShapeError, "pass vectors"),
    "grid of two dtypes": (lambda x: tg.meshgrid(x[0], ONE), DtypeError, "differ in dtype"),
    "grid in disorder": (lambda x: tg.meshgrid(x[0], indexing="yx"), ArgumentError, "'ij' or as 'xy'"),
}  # fmt: skip


@pytest.mark.parametrize(("call", "kind", "words"), WRONG.values(), ids=WRONG)
def test_what_is_refused(call: Any, kind: Any, words: str) -> None:
    x = tg.tensor(X[0])
    with pytest.raises(kind) as caught:
        call(x)
    assert type(caught.value) is kind
    assert words in str(caught.value)
    assert caught.value.line.startswith("test_index.py, line "), caught.value.line
    assert x.tolist() == X[0].tolist()
