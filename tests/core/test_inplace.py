"""Views and in-place writes: what reaches whom, what is refused, and in which words."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tests.support import teaches
from tinygrad_edu.common.lines import own
from tinygrad_edu.core.slow import Interceptor
from tinygrad_edu.errors import DtypeError, EduError, InplaceError, ShapeError

OLD_VALUES = ": its old values would be lost to the graph that starts there"
OVERLAPS = "several of its elements are the same place in memory: it was expanded, or shows windows that overlap"
CLONE = "write inside no_grad(), or work on a clone: x = x.clone()"


def leaf(*values: Any) -> tg.Tensor:
    return tg.tensor(list(values), requires_grad=True)


def grads(loss: Any, *leaves: Any) -> list[Any]:
    loss.sum().backward()
    return [x.grad.tolist() for x in leaves]


# Refusals -----------------------------------------------------------------------------------------------------------

WRITES: dict[str, Callable[[Any], Any]] = {
    "add_": lambda x: x.add_(1), "sub_": lambda x: x.sub_(1), "mul_": lambda x: x.mul_(2), "div_": lambda x: x.div_(2),
    "relu_": lambda x: x.relu_(), "clamp_": lambda x: x.clamp_(0, 1), "zero_": lambda x: x.zero_(),
}  # fmt: skip


@pytest.mark.parametrize("name", WRITES)
def test_a_leaf_that_requires_grad(name: str) -> None:
    x = leaf(1.0, 2.0)
    tried = f"{name} on a tensor (2,) float32"
    with teaches(InplaceError, tried, "it is a leaf that requires grad" + OLD_VALUES, CLONE, line='"' + name):
        WRITES[name](x)
    assert x.tolist() == [1.0, 2.0]


def test_a_view_of_such_a_leaf() -> None:
    x = leaf(1.0, 2.0)
    why = "it is a view of a leaf that requires grad" + OLD_VALUES
    with teaches(InplaceError, "x[…] = … on a tensor (1,) float32", why, CLONE, line="x[1:][0] = 5"):
        x[1:][0] = 5
    with tg.no_grad():
        view = x[0]
    with teaches(InplaceError, "mul_ on a tensor () float32", why, CLONE):
        view.mul_(2)


def test_expanded_memory() -> None:
    x = tg.zeros(1, 2)
    with teaches(
        InplaceError,
        "add_ on a tensor (3, 2) float32",
        OVERLAPS,
        "clone() it first, and write to the clone",
        line="x.expand(3, 2).add_(1)",
    ):
        x.expand(3, 2).add_(1)
    x.expand(1, 2).add_(1)  # nothing was stretched
    assert x.tolist() == [[1.0, 1.0]]


@pytest.mark.parametrize(
    "make",
    [
        lambda x: x.unfold(0, 3, 2),
        lambda x: x.unfold(0, 3, 2).T,
        lambda x: x.as_strided((2, 2), (1, 1)),
        lambda x: tg.from_numpy(np.lib.stride_tricks.as_strided(x.numpy(), (3, 2), (4, 4))),
    ],
    ids=["windows", "windows turned", "strided", "strided by NumPy"],
)
def test_overlapping_memory(make: Callable[[Any], Any]) -> None:
    """Which of two values would stay is left to chance, so neither is written."""
    x = tg.zeros(5)
    view = make(x)
    tried = f"add_ on a tensor {tuple(view.shape)} float32"
    with teaches(InplaceError, tried, OVERLAPS, "clone() it first, and write to the clone"):
        view.add_(1)
    assert x.tolist() == [0.0] * 5


def test_a_part_of_a_base_that_overlaps() -> None:
    """Its other elements would change unseen by the graph. Without one, there is nothing to be unseen by."""
    memory = tg.zeros(4)
    base = memory.unfold(0, 3, 1).detach()
    words = OVERLAPS.replace("its", "its base's", 1)
    with teaches(InplaceError, "add_ on a tensor (3,) float32", words, "clone() it first, and write to the clone"):
        base[0].add_(leaf(1.0))
    with tg.no_grad():
        base[0].add_(leaf(1.0))
    base[1].add_(1)
    assert memory.tolist() == [1.0, 2.0, 2.0, 1.0]


def test_a_place_that_is_shown_twice_is_written_once() -> None:
    w = leaf(1.0, 2.0, 3.0)
    x = w * 1
    rows = x.expand(2, 3)
    rows[tg.tensor([1])] = w.detach() * 10
    rows.masked_fill_(rows > 25, 4.0)
    assert x.tolist() == [10.0, 20.0, 4.0]
    assert grads(rows, w) == [[0.0, 0.0, 0.0]]
    value, y = leaf(5.0, 6.0, 7.0), w * 1
    y.expand(2, 3)[0] = value
    y.expand(2, 3)[tg.tensor([0]), 1] = value[:1]
    assert grads(y, w, value) == [[0.0, 0.0, 0.0], [2.0, 0.0, 1.0]]


def test_a_write_to_what_was_expanded_while_the_guard_holds_it() -> None:
    array = np.ones((3, 2))[:, :1]
    x = tg.from_numpy(array)
    product = x * leaf(1.0)
    assert not array.flags.writeable
    rows = x.expand(3, 2)
    rows[0, 0] = 5.0
    assert array[0, 0] == 5.0
    with pytest.raises(InplaceError, match="has overwritten it since"):
        product.sum().backward()


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda x: x[:5].unfold(0, 2, 2), [1.0, 1.0, 1.0, 1.0, 0.0, 0.0]),
        (lambda x: x.unfold(0, 3, 1)[1], [0.0, 1.0, 1.0, 1.0, 0.0, 0.0]),
        (lambda x: x.as_strided((2, 2), (3, 2)), [1.0, 0.0, 1.0, 1.0, 0.0, 1.0]),
        (lambda x: x.as_strided((0, 3), (0, 0)), [0.0] * 6),
    ],
    ids=["side by side", "one window", "woven", "nothing"],
)
def test_windows_that_do_not_overlap(make: Callable[[Any], Any], expected: list[float]) -> None:
    x = tg.zeros(6)
    make(x).add_(1)
    assert x.tolist() == expected


def test_memory_that_numpy_keeps_read_only() -> None:
    sealed = np.zeros(3)
    sealed.flags.writeable = False
    for x in (tg.from_numpy(sealed), tg.from_numpy(sealed).expand(2, 3)[0]):
        with teaches(
            InplaceError,
            f"add_ on a tensor {x.shape} {x.dtype}",
            "it shares the memory of a NumPy array that is read-only",
            "clone() it first, and write to the clone",
        ):
            x.add_(1)


def test_a_view_made_inside_no_grad() -> None:
    base = leaf(1.0, 2.0) * 1
    constant = tg.zeros(2)
    with tg.no_grad():
        view, other = base[0], constant[0]
    words = (
        "the view was made inside no_grad(), so its base cannot learn of the write",
        "make the view outside no_grad(), or write inside it",
    )
    with teaches(InplaceError, "add_ on a tensor () float32", *words):
        view.add_(1)
    with teaches(InplaceError, "add_ on a tensor () float32", *words):
        other.add_(leaf(1.0).sum())  # a history that the base would miss
    other.add_(1)  # a number has none
    with tg.no_grad():
        view.add_(1)
    assert base.tolist() == [2.0, 2.0]
    assert constant.tolist() == [1.0, 0.0]


def test_dtypes_that_do_not_fit() -> None:
    with teaches(
        DtypeError,
        "add_ on a tensor of dtype int64",
        "the result is float32, which int64 cannot hold",
        "use the out-of-place form, or convert the target first: x.to('float32')",
        line="tg.arange(3).add_(0.5)",
    ):
        tg.arange(3).add_(0.5)
    with pytest.raises(DtypeError, match="the result is int64, which bool cannot hold"):
        tg.zeros(2, dtype="bool").add_(1)
    with pytest.raises(DtypeError, match="the result is float32, which int64 cannot hold"):
        tg.arange(3).div_(2)


def test_dtypes_that_fit() -> None:
    """As in PyTorch: a narrower float takes a wider one, and assignment converts."""
    x = tg.zeros(2)
    x.add_(tg.full((2,), 0.5, dtype="float64"))
    assert (x.tolist(), x.dtype) == ([0.5, 0.5], tg.float32)
    n = tg.zeros(2, dtype="int64")
    n[0] = 2.9
    assert n.tolist() == [2, 0]


def test_shapes_that_do_not_fit() -> None:
    with teaches(
        ShapeError,
        "add_ on a tensor (3,)",
        "the result has shape (2, 3), and a buffer cannot grow",
        "use the out-of-place form, or make the target that large first",
        line="tg.zeros(3).add_(tg.ones(2, 3))",
    ):
        tg.zeros(3).add_(tg.ones(2, 3))


def test_a_refused_write_changes_nothing() -> None:
    x = leaf(1.0, 2.0) * 1
    node, version = x.node, x.storage
    for wrong in (lambda: x.add_(tg.ones(3)), lambda: x.add_("1"), lambda: x.__setitem__(5, 1.0)):
        with pytest.raises(tg.errors.EduError):
            wrong()
    assert (x.tolist(), x.node) == ([1.0, 2.0], node)
    assert version is None


# Saved and overwritten ------------------------------------------------------------------------------------------------


def test_both_ops_and_both_lines_are_named() -> None:
    x = leaf(1.0, 2.0) * 1
    y = x.exp()
    y.mul_(2)
    own.pop(__file__, None)
    with pytest.raises(InplaceError) as caught:
        y.sum().backward()
    error = caught.value
    assert error.tried == "backward through exp, which saved its out (2,)"
    assert error.why.startswith("mul_ has overwritten it since, at test_inplace.py, line ")
    assert error.why.endswith(": y.mul_(2)")
    assert error.line.endswith(": y = x.exp()")
    assert error.mend == "use the out-of-place form of mul_, or write after backward()"


def test_a_step_has_no_out_of_place_form() -> None:
    w = tg.ones(2, requires_grad=True)
    optimiser = tg.optim.SGD([w], lr=0.1)
    state = tg.ones(2)
    with pytest.raises(InplaceError) as caught:
        for _ in range(3):
            state = state * w
            state.sum().backward(retain_graph=True)
            optimiser.step()
    assert caught.value.why.startswith("SGD.step has overwritten it since, at test_inplace.py, line ")
    mend = "call backward() before it, and detach() what an earlier step left behind: h = h.detach()"
    assert caught.value.mend == mend


def overwritten(save: Callable[[Any], Any], write: Callable[[Any], Any], x: Any) -> bool:
    """Whether backward refuses after ``write(x)`` followed ``save(x)``."""
    y = save(x)
    write(x)
    try:
        y.sum().backward()
    except InplaceError:
        return True
    return False


@pytest.mark.parametrize(
    "write",
    [lambda x: x.add_(1), lambda x: x.detach().add_(1), lambda x: x.reshape(-1)[0:1].add_(1), lambda x: x.zero_()],
    ids=["itself", "detached", "through a view", "assignment"],
)
@pytest.mark.parametrize("shape", [(), (2,), (2, 2)])
def test_every_way_of_overwriting_is_noticed(write: Callable[[Any], Any], shape: tuple[int, ...]) -> None:
    """Shape () is a NumPy scalar underneath: it becomes an array when it is first written."""
    w = tg.full(shape, 3.0, requires_grad=True)
    assert overwritten(lambda x: x * x, write, w * w)
    assert overwritten(lambda x: (x * x).exp(), write, w * w)
    assert not overwritten(lambda x: x + x, write, w * w)


def test_a_write_inside_no_grad_is_noticed() -> None:
    w = leaf(1.0, 2.0)
    loss = (w * w).sum()
    with tg.no_grad():
        w.add_(1)
    with pytest.raises(InplaceError):
        loss.backward()


def test_a_write_before_the_save_is_fine() -> None:
    w = leaf(1.0, 2.0)
    x = w * 1
    x.add_(1)
    assert grads(x * x, w) == [[4.0, 6.0]]


def test_a_view_of_other_elements_is_refused_too_as_versions_are_per_buffer() -> None:
    w = leaf(1.0, 2.0)
    x = w * 1
    y = x[0] * x[0]
    x[1] = 5
    with pytest.raises(InplaceError):
        y.backward()


# What an op both overwrites and saves -------------------------------------------------------------------------------

SELF: dict[str, tuple[Callable[[Any], Any], list[float]]] = {
    "mul_ by itself": (lambda x: x.mul_(x), [2.0, 4.0, 6.0]),
    "mul_ by a view of itself": (lambda x: x.mul_(x.reshape(3)), [2.0, 4.0, 6.0]),
    "mul_ by its reverse": (lambda x: x.mul_(x[::-1]), [6.0, 4.0, 2.0]),
    "mul_ by its first element": (lambda x: x.mul_(x[0]), [7.0, 1.0, 1.0]),
    "mul_ by its detached self": (lambda x: x.mul_(x.detach()), [1.0, 2.0, 3.0]),
    "div_ by itself": (lambda x: x.div_(x), [0.0, 0.0, 0.0]),
    "add_ itself": (lambda x: x.add_(x), [2.0, 2.0, 2.0]),
    "relu_": (lambda x: x.relu_(), [1.0, 1.0, 1.0]),
    "copy_ of its reverse": (lambda x: x.copy_(x[::-1]), [1.0, 1.0, 1.0]),
    "shifted": (lambda x: x.__setitem__(slice(1, None), x[:-1]), [2.0, 1.0, 0.0]),
}


@pytest.mark.parametrize(("write", "expected"), SELF.values(), ids=SELF)
def test_an_operand_in_the_targets_own_buffer(write: Callable[[Any], Any], expected: list[float]) -> None:
    w = leaf(1.0, 2.0, 3.0)
    x = w * 1
    write(x)
    x.sum().backward()
    assert w.grad.tolist() == expected


# Through views ------------------------------------------------------------------------------------------------------


def test_a_write_through_a_view_reaches_base_and_siblings() -> None:
    w, v = leaf(1.0, 2.0, 3.0), leaf(10.0)
    base = w * 1
    left, right, whole = base[:2], base[1:], base.reshape(3, 1)
    left.mul_(v)
    assert base.tolist() == [10.0, 20.0, 3.0]
    assert right.tolist() == [20.0, 3.0]
    assert whole.tolist() == [[10.0], [20.0], [3.0]]
    weights = tg.tensor([1.0, 10.0])
    assert grads((right * weights).sum() + whole.sum(), w, v) == [[10.0, 20.0, 11.0], [5.0]]


def test_a_write_to_the_base_reaches_its_views() -> None:
    w = leaf(1.0, 2.0)
    base = w * 1
    view = base[1:]
    base.mul_(3)
    assert view.tolist() == [6.0]
    assert repr(view.grad_fn) == "<view>"
    assert grads(view, w) == [[0.0, 3.0]]


def test_chains_of_views() -> None:
    w = tg.ones(2, 3, 4, requires_grad=True)
    base = w * 1
    view = base[1].T[1:, ::2].unsqueeze(0)  # (1, 3, 2): elements 1 to 3 of rows 0 and 2
    view.mul_(5)
    expected = np.ones((2, 3, 4))
    expected[1, ::2, 1:] = 5
    assert base.tolist() == expected.tolist()
    assert grads(base, w) == [expected.tolist()]


def test_several_writes_each_way() -> None:
    w = leaf(1.0, 2.0, 3.0)
    base = w * 1
    view = base[:2]
    view.mul_(2)
    base.mul_(3)
    view[0] = 7
    base[2] = view[1] * 10
    assert base.tolist() == [7.0, 12.0, 120.0]
    assert view.tolist() == [7.0, 12.0]
    assert grads(base, w) == [[0.0, 66.0, 0.0]]


def test_a_view_of_a_constant_brings_history_to_its_base() -> None:
    w = leaf(2.0)
    base = tg.zeros(3)
    view, sibling = base[1:], base[:2]
    view.add_(w)
    assert base.requires_grad
    assert sibling.requires_grad
    assert grads(base * tg.tensor([1.0, 10.0, 100.0]) + sibling.sum(), w) == [[113.0]]


def test_second_derivatives_through_a_written_view() -> None:
    w = tg.tensor([1.0, 2.0], requires_grad=True)
    base = w * w * w
    base[0:1].mul_(w[1:])
    (first,) = tg.autograd.grad(base.sum(), w, create_graph=True)
    (second,) = tg.autograd.grad(first.sum(), w)
    assert first.tolist() == [6.0, 13.0]  # of a³b + b³
    assert second.tolist() == [15.0, 15.0]


def test_assignment_of_recorded_values() -> None:
    w, v = leaf(1.0, 2.0, 3.0), leaf(5.0)
    x = w * 1
    x[1] = v.sum() * 2
    x[tg.tensor([0])] = v * 3
    assert x.tolist() == [15.0, 10.0, 3.0]
    assert grads(x, w, v) == [[0.0, 0.0, 1.0], [5.0]]


@pytest.mark.parametrize("shape", [(3,), (1, 3), (1, 1, 3), (1,), (1, 1), ()])
def test_assignment_broadcasts_and_sums_back(shape: tuple[int, ...]) -> None:
    v = tg.ones(shape, requires_grad=True)
    x = tg.zeros(2, 3)
    x[0] = v
    (x * tg.tensor([1.0, 10.0, 100.0])).sum().backward()
    assert v.grad.shape == shape
    assert v.grad.sum().item() == 111.0
    if v.numel() == 3:
        assert v.grad.reshape(3).tolist() == [1.0, 10.0, 100.0]


def test_a_wider_value_gets_its_gradient_in_its_own_dtype() -> None:
    w, v = leaf(1.0, 2.0), tg.tensor([3.0, 4.0], dtype="float64", requires_grad=True)
    x = w * 1
    x.mul_(v)
    assert grads(x, w, v) == [[3.0, 4.0], [1.0, 2.0]]
    assert (x.dtype, w.grad.dtype, v.grad.dtype) == (tg.float32, tg.float32, tg.float64)


# Without history ----------------------------------------------------------------------------------------------------


def test_writes_inside_no_grad_leave_history_as_it_was() -> None:
    w = leaf(1.0, 2.0)
    x = w * 3
    with tg.no_grad():
        x.mul_(100)
        w[0] = 50
    assert x.tolist() == [300.0, 600.0]
    assert w.tolist() == [50.0, 2.0]
    assert grads(x, w) == [[3.0, 3.0]]


def test_a_view_made_inside_no_grad_stays_outside_the_graph() -> None:
    base = leaf(1.0, 2.0) * 1
    with tg.no_grad():
        view = base[0]
    part = view.reshape(1)
    base.mul_(2)
    assert view.item() == 2.0  # the memory is shared
    assert not view.requires_grad
    assert not part.requires_grad


def test_a_view_made_inside_no_grad_of_a_view_made_outside() -> None:
    """It is as much outside the graph as a view of the base: no write to it could be recorded."""
    base = leaf(1.0, 2.0, 3.0) * 1
    view = base[:2]
    with tg.no_grad():
        part = view[:1]
    words = (
        "the view was made inside no_grad(), so its base cannot learn of the write",
        "make the view outside no_grad(), or write inside it",
    )
    for value in (2, leaf(2.0)):
        with teaches(InplaceError, "mul_ on a tensor (1,) float32", *words):
            part.mul_(value)
    view.mul_(3)
    assert part.tolist() == [3.0]
    assert view.requires_grad
    assert not part.requires_grad
    with tg.no_grad():
        part.mul_(5)
    assert base.tolist() == [15.0, 6.0, 3.0]


# NumPy scalars ------------------------------------------------------------------------------------------------------

SCALAR_VIEWS: dict[str, Callable[[Any], Any]] = {
    "reshape": lambda x: x.reshape(1), "view": lambda x: x.view(1), "flatten": lambda x: x.flatten(),
    "unsqueeze": lambda x: x.unsqueeze(0), "squeeze": lambda x: x.squeeze(), "T": lambda x: x.T,
    "permute": lambda x: x.permute(), "ellipsis": lambda x: x[...], "new axis": lambda x: x[None],
    "detach": lambda x: x.detach(),
}  # fmt: skip


@pytest.mark.parametrize("make", SCALAR_VIEWS.values(), ids=SCALAR_VIEWS)
def test_a_view_of_a_scalar_shares_memory(make: Callable[[Any], Any]) -> None:
    """NumPy's reductions and 0-d arithmetic give scalars, which own no memory that two tensors could share."""
    x = tg.tensor([1.0, 2.0]).sum()
    assert isinstance(x.array, np.generic)
    make(x).add_(10)
    assert x.item() == 13.0


def test_gradients_through_a_scalars_view() -> None:
    w = leaf(3.0)
    x = w.sum() * 2
    x.reshape(1).mul_(5)
    assert grads(x, w) == [[10.0]]


def test_in_place_on_a_scalar_keeps_its_type() -> None:
    x = tg.tensor([1.0, 2.0]).sum()
    same = x
    x += 1
    assert x is same
    assert x.item() == 4.0
    assert x.array.shape == ()


def test_operators_in_place() -> None:
    x = tg.tensor([8.0])
    y = x
    x += 1
    x -= 3
    x *= 4
    x /= 2
    assert y is x
    assert x.tolist() == [12.0]


def test_numpy_sees_writes_and_the_other_way_round() -> None:
    array = np.zeros(3)
    x = tg.from_numpy(array)
    x[0] = 1
    array[1] = 2
    x.numpy()[2] = 3
    assert x.tolist() == array.tolist() == [1.0, 2.0, 3.0]


def test_a_leaf_that_is_a_view_of_a_plain_tensor() -> None:
    view = tg.zeros(3)[1:]
    view.requires_grad_()
    with pytest.raises(InplaceError, match="it is a leaf that requires grad"):
        view.mul_(2.0)


def test_retain_grad_follows_a_write() -> None:
    x = tg.tensor([1.0, 2.0], requires_grad=True)
    y = x * 1.0
    y.retain_grad()
    y.mul_(3.0)
    (y * y).sum().backward()
    assert y.grad.tolist() == [6.0, 12.0]


# The short way ----------------------------------------------------------------------------------------------------

BOTH_WAYS: dict[str, Callable[[tg.Tensor, tg.Tensor], Any]] = {
    "add_ number": lambda x, y: x.add_(2),
    "mul_ float": lambda x, y: x.mul_(1.5),
    "sub_ tensor": lambda x, y: x.sub_(y),
    "div_ itself": lambda x, y: x.div_(x),
    "unary": lambda x, y: x.exp_().neg_().tanh_(),
    "relu_": lambda x, y: x.relu_(),
    "clamp_": lambda x, y: x.clamp_(0.2, 0.7),
    "a row": lambda x, y: x.add_(y[0]),
    "a stretched column": lambda x, y: x.mul_(y[:, :1]),
    "through a view": lambda x, y: x[1:].add_(y[:1]),
    "through a transposed view": lambda x, y: x.T.mul_(3.0),
    "shifted over itself": lambda x, y: x[1:].add_(x[:-1]),
    "assigned number": lambda x, y: x.__setitem__((1, slice(None)), 4),
    "assigned tensor": lambda x, y: x.__setitem__((slice(None), 2), y[:, 0]),
    "assigned over itself": lambda x, y: x.__setitem__(slice(1, None), x[:-1]),
    "out=": lambda x, y: tg.add(y, y, out=x),
    "out= of a number": lambda x, y: tg.mul(y, 3, out=x),
    "out= an operand": lambda x, y: tg.sub(x, y, out=x),
    "matmul out=": lambda x, y: tg.matmul(y, y, out=x),
    # What the short way leaves to the long one:
    "wider": lambda x, y: x.add_(y.double()),
    "integers": lambda x, y: x.add_(tg.arange(4)),
    "too large": lambda x, y: x.add_(tg.ones(2, 4, 4)),
    "out= too large": lambda x, y: tg.add(y[0], y[0], out=x),
    "no such place": lambda x, y: x.__setitem__(7, 0.0),
    "does not fit": lambda x, y: x.__setitem__(0, tg.ones(3)),
    "expanded": lambda x, y: x[:1].expand(4, 4).add_(1),
    "bool": lambda x, y: x.add_(True),
    "NumPy scalar": lambda x, y: x.add_(np.float64(0.5)),
    "none": lambda x, y: x.add_(None),
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int64"])
@pytest.mark.parametrize("name", BOTH_WAYS)
def test_the_short_way_and_the_long_way_agree(name: str, dtype: str) -> None:
    """An interceptor sends every write the long way: values, errors and what the buffer remembers are the same."""

    def outcome(*watching: Any) -> Any:
        x = tg.tensor([[1 + i * 0.1 + j for j in range(4)] for i in range(4)]).to(dtype=dtype)
        y = (x + 1) / 2 if x.is_floating_point() else x + 1
        saved = x.T  # somebody shares the memory
        with contextlib.ExitStack() as stack, np.errstate(all="ignore"):
            for one in watching:
                stack.enter_context(one)
            try:
                returned = BOTH_WAYS[name](x, y)
            except EduError as error:
                return type(error), error.tried, error.why, error.mend, x.tolist()
        assert returned is None or returned.storage is x.storage
        return x.tolist(), saved.tolist(), x.storage.writer[0], x.storage.stamp > 0

    assert outcome() == outcome(Interceptor())


def test_the_short_way_is_taken_only_where_there_is_no_graph() -> None:
    w = leaf(1.0, 2.0)
    y = tg.ones(2)
    y.add_(w)  # now it has a history
    assert y.node is not None and y.node.op.name == "add"
    with tg.no_grad():
        w.add_(1)
    assert (w.tolist(), w.storage.writer[0]) == ([2.0, 3.0], "add_")
    constant = tg.ones(2)
    product = w * constant
    constant.mul_(5)
    with pytest.raises(InplaceError, match="mul_ has overwritten it since"):
        product.sum().backward()
    base = w * 1
    base[:1].mul_(3)
    assert base.node is not None and base.node.op.name == "write_view"


def test_the_short_way_does_not_write_to_read_only_memory() -> None:
    array = np.ones(2, np.float32)
    array.flags.writeable = False
    x = tg.from_numpy(array)
    with pytest.raises(InplaceError, match="read-only"):
        x.add_(1)
    assert array.tolist() == [1, 1]
