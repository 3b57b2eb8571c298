"""Gradients on request: backward, grad, hooks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tests.support import teaches
from tinygrad_edu.autograd import grad
from tinygrad_edu.errors import ArgumentError, AutogradError, DeviceError, DtypeError, InplaceError, ShapeError


def leaf(*values: float) -> tg.Tensor:
    return tg.tensor(list(values), requires_grad=True)


# backward ------------------------------------------------------------------------------------------------------------


def test_a_scalar_needs_no_gradient() -> None:
    x = leaf(1.0, 2.0)
    (x * x).sum().backward()
    assert x.grad.tolist() == [2.0, 4.0]
    y = leaf(3.0)
    (y * 2).backward()  # one element, whatever its shape
    assert y.grad.tolist() == [2.0]


def test_several_elements_do() -> None:
    x = leaf(1.0, 2.0)
    with teaches(
        AutogradError,
        "backward() from a tensor (2,) float32",
        "it has 2 elements, and each has a gradient of its own",
        "reduce it to one number first (y.sum().backward()), or pass y.backward(gradient)",
        line="(x * x).backward()",
    ):
        (x * x).backward()
    (x * x).backward(tg.tensor([1.0, 10.0]))
    assert x.grad.tolist() == [2.0, 40.0]


@pytest.mark.parametrize(
    "gradient", [[1.0, 2.0], np.array([1.0, 2.0]), tg.tensor([1, 2])], ids=["list", "array", "ints"]
)
def test_the_gradient_may_be_anything_that_is_a_tensor(gradient: Any) -> None:
    x = leaf(1.0, 1.0)
    (x * 3).backward(gradient)
    assert (x.grad.tolist(), x.grad.dtype) == ([3.0, 6.0], tg.float32)


@pytest.mark.parametrize(("gradient", "shape"), [([1.0, 2.0, 3.0], "(3,)"), (1.0, "()"), ([[1.0, 2.0]], "(1, 2)")])
def test_a_gradient_of_another_shape(gradient: Any, shape: str) -> None:
    with teaches(
        ShapeError,
        "backward() from a tensor (2,) float32",
        f"the gradient given has shape {shape}",
        "pass one of shape (2,)",
        line="backward(gradient)",
    ):
        (leaf(1.0, 2.0) * 2).backward(gradient)


def test_a_gradient_on_another_device() -> None:
    with teaches(
        DeviceError,
        "backward() from a tensor (1,) float32",
        "it lives on 'cpu', and the gradient given on 'far'",
        "move it first: gradient.to('cpu')",
    ):
        (leaf(1.0) * 2).backward(tg.ones(1, device="far"))


def test_a_gradient_that_is_no_number() -> None:
    with pytest.raises(DtypeError, match="a tensor from str holding 'x'"):
        (leaf(1.0) * 2).backward("x")


@pytest.mark.parametrize("how", ["constant", "no_grad", "detach", "comparison"])
def test_backward_without_grad(how: str) -> None:
    x = leaf(1.0)
    with tg.no_grad():
        outside = x * 2
    y = {"constant": tg.ones(1), "no_grad": outside, "detach": (x * 2).detach(), "comparison": x > 0}[how]
    with teaches(
        AutogradError,
        f"backward() from a tensor (1,) {y.dtype}",
        "nothing that it was computed from requires grad, or a step on the way lets no gradient through: no_grad(), "
        "detach(), argmax, a comparison",
        "make the leaves with requires_grad=True before computing, and compute the loss from the scores themselves",
        line="y.backward()",
    ):
        y.backward()


def test_backward_from_a_leaf() -> None:
    x = tg.tensor(2.0, requires_grad=True)
    x.backward()
    x.backward()
    assert x.grad.item() == 2.0


def test_backward_inside_no_grad() -> None:
    x = leaf(3.0)
    y = x * x
    with tg.no_grad():
        y.backward()
    assert x.grad.tolist() == [6.0]


def test_a_gradient_given_stays_the_callers() -> None:
    x, given = leaf(1.0, 2.0), tg.ones(2)
    (x + 0).backward(given)
    x.grad.add_(5)
    assert given.tolist() == [1.0, 1.0]


def test_create_graph_implies_retain_graph() -> None:
    x = leaf(2.0)
    y = (x**3).sum()
    y.backward(create_graph=True)
    x.grad = None
    y.backward()
    assert x.grad.tolist() == [12.0]


# grad ---------------------------------------------------------------------------------------------------------------


def test_grad_leaves_dot_grad_alone() -> None:
    x, y = leaf(1.0, 2.0), leaf(3.0, 4.0)
    gx, gy = grad((x * y).sum(), [x, y])
    assert (gx.tolist(), gy.tolist()) == ([3.0, 4.0], [1.0, 2.0])
    assert x.grad is None
    assert y.grad is None


def test_grad_of_results_on_the_way() -> None:
    x = leaf(2.0)
    y = x * x
    z = y * 3
    gz, gy, gx = grad(z.sum(), [z, y, x])
    assert (gz.tolist(), gy.tolist(), gx.tolist()) == ([1.0], [3.0], [12.0])


def test_grad_with_respect_to_itself_and_twice_the_same() -> None:
    x = leaf(2.0)
    assert [g.tolist() for g in grad(x * x, [x, x])] == [[4.0], [4.0]]
    y = (x * 1).sum()
    assert grad(y, y)[0].item() == 1.0


def test_grad_of_several_outputs() -> None:
    x = leaf(1.0, 2.0)
    (g,) = grad([x * 2, x * x], x, [tg.ones(2), tg.tensor([1.0, 10.0])])
    assert g.tolist() == [4.0, 42.0]
    (g,) = grad([(x * 2).sum(), (x * 3).sum()], x)
    assert g.tolist() == [5.0, 5.0]


def test_grad_frees_the_graph_unless_told_otherwise() -> None:
    x = leaf(1.0)
    z = (x * x).sum()
    grad(z, x, retain_graph=True)
    grad(z, x)
    with pytest.raises(AutogradError, match="freed by an earlier backward"):
        grad(z, x)


def test_grad_and_other_leaves() -> None:
    """Only what was asked for gets a gradient; other leaves of the graph are untouched."""
    x, y = leaf(1.0), leaf(2.0)
    assert grad(x * y, [x])[0].tolist() == [2.0]
    assert y.grad is None


@pytest.mark.parametrize("unused", [tg.ones(1), tg.ones(1, requires_grad=True)], ids=["constant", "other leaf"])
def test_grad_of_what_was_not_used(unused: Any) -> None:
    x = leaf(1.0)
    with teaches(
        AutogradError,
        "grad with respect to input 1",
        "the outputs were not computed from it, or it does not require grad",
        "leave it out, or pass allow_unused=True to get None for it",
        line="grad(x * 2, [x, unused])",
    ):
        grad(x * 2, [x, unused])
    g, nothing = grad(x * 2, [x, unused], allow_unused=True)
    assert (g.tolist(), nothing) == ([2.0], None)


def test_grad_with_zeros_for_what_was_not_used() -> None:
    x, unused = leaf(1.0), tg.ones(2, 3, requires_grad=True)
    g, zeros = grad(x * 2, [x, unused], materialize_grads=True)
    assert (g.tolist(), zeros.tolist(), zeros.requires_grad) == ([2.0], [[0.0] * 3] * 2, False)
    why = "it finds one gradient for each input, and touches no others"
    mend = "call it once for each gradient, or backward() for all"
    for setting, options in (("is_grads_batched=True", (True, None, True)), ("only_inputs=False", (False,))):
        with teaches(ArgumentError, f"grad with {setting}", why, mend):
            grad(x * 2, x, None, None, False, *options)
    tried = "grad with materialize_grads=True and allow_unused=False"
    with teaches(
        ArgumentError, tried, "zeros stand for the gradients of inputs that were not used", "leave allow_unused out"
    ):
        grad(x * 2, x, allow_unused=False, materialize_grads=True)


def test_grad_of_what_is_no_tensor() -> None:
    x = leaf(1.0)
    with teaches(
        DtypeError,
        "grad with respect to input 0, a int",
        "gradients are taken with respect to tensors",
        "pass the tensor itself, or a list of tensors",
    ):
        grad(x * 2, 3)


def test_grad_with_too_few_gradients() -> None:
    x = leaf(1.0)
    with teaches(
        AutogradError,
        "grad of 2 outputs",
        "1 gradients were given for them",
        "pass one for each; None stands for 1 where an output has one element",
    ):
        grad([x * 2, x * 3], x, [tg.ones(1)])


# Hooks --------------------------------------------------------------------------------------------------------------


def test_hooks_watch_and_replace() -> None:
    x = leaf(1.0, 2.0)
    y = x * 3
    seen: list[Any] = []
    y.register_hook(lambda g: seen.append(g.tolist()))
    y.register_hook(lambda g: g * 10)
    y.register_hook(lambda g: seen.append(g.tolist()))
    y.sum().backward()
    assert seen == [[1.0, 1.0], [10.0, 10.0]]
    assert x.grad.tolist() == [30.0, 30.0]


def test_a_leafs_hook_sees_the_whole_gradient_of_a_run() -> None:
    x = leaf(1.0)
    seen: list[Any] = []
    x.register_hook(lambda g: seen.append(g.tolist()))
    (x * 2 + x * 3).sum().backward()
    (x * 4).sum().backward()
    assert seen == [[5.0], [4.0]]
    assert x.grad.tolist() == [9.0]


def test_removing_a_hook() -> None:
    x = leaf(1.0)
    handle = x.register_hook(lambda g: g * 10)
    x.register_hook(lambda g: g + 1)
    handle.remove()
    handle.remove()  # once is enough, twice does no harm
    (x * 2).sum().backward()
    assert x.grad.tolist() == [3.0]


def test_hooks_run_for_grad_and_with_create_graph() -> None:
    x = leaf(3.0)
    y = x * 1
    y.register_hook(lambda g: g * 2)
    (g,) = grad(y * y * y, x, create_graph=True)
    assert g.tolist() == [54.0]
    assert grad(g, x)[0].tolist() == [72.0]  # 36, and through y's hook once more


@pytest.mark.parametrize("result", [3.0, tg.ones(3)], ids=["a number", "another shape"])
def test_a_hook_that_returns_something_else(result: Any) -> None:
    x = leaf(1.0, 2.0)
    x.register_hook(lambda g: result)
    with teaches(
        ShapeError,
        "a hook on a gradient (2,)",
        f"it returned {result!r}, and what it returns replaces the gradient",
        "return a tensor of that shape, or None to leave the gradient as it is",
    ):
        (x * 2).sum().backward()


def test_a_hook_where_no_gradient_comes() -> None:
    why = "this tensor does not require grad, so no gradient will come"
    with teaches(AutogradError, "register_hook", why, "set requires_grad first"):
        tg.ones(1).register_hook(print)


def test_retain_grad() -> None:
    x = leaf(1.0, 2.0)
    y = x * 2
    y.retain_grad()
    y.retain_grad()  # once is enough, twice does no harm
    z = (y * y).sum()
    z.backward(retain_graph=True)
    assert y.grad.tolist() == [4.0, 8.0]
    z.backward()
    assert y.grad.tolist() == [8.0, 16.0]
    assert x.grad.tolist() == [16.0, 32.0]
    x.retain_grad()  # a leaf does so anyway


def test_retained_gradients_own_their_memory() -> None:
    x = leaf(1.0, 2.0)
    y, z = x * 2, x * 3
    y.retain_grad()
    z.retain_grad()
    (y + z).sum().backward()
    y.grad.add_(1)
    assert (y.grad.tolist(), z.grad.tolist()) == ([2.0, 2.0], [1.0, 1.0])


def test_what_is_retained_is_what_hooks_have_made_of_it() -> None:
    x = leaf(1.0)
    y = x * 2
    y.retain_grad()
    y.register_hook(lambda g: g * 10)
    y.sum().backward()
    assert (y.grad.tolist(), x.grad.tolist()) == ([10.0], [20.0])


def test_a_hook_may_call_backward_itself() -> None:
    x, other = leaf(1.0), leaf(1.0)
    y = x * 2

    def hook(g: tg.Tensor) -> None:
        with tg.enable_grad():  # gradients are off while backward runs
            (other * 7).sum().backward()

    y.register_hook(hook)
    y.sum().backward()
    assert (x.grad.tolist(), other.grad.tolist()) == ([2.0], [7.0])


# Second derivatives -------------------------------------------------------------------------------------------------

CURVES: dict[str, tuple[Callable[[Any], Any], Callable[[float], float]]] = {
    "cube": (lambda x: x * x * x, lambda x: 6 * x),
    "power": (lambda x: x**5, lambda x: 20 * x**3),
    "exp": (lambda x: (x * 2).exp(), lambda x: 4 * np.exp(2 * x)),
    "log": (lambda x: x.log(), lambda x: -1 / x**2),
    "reciprocal": (lambda x: 1 / x, lambda x: 2 / x**3),
    "tanh": (lambda x: x.tanh(), lambda x: -2 * np.tanh(x) * (1 - np.tanh(x) ** 2)),
    "sin": (lambda x: x.sin(), lambda x: -np.sin(x)),
    "sqrt": (lambda x: x.sqrt(), lambda x: -0.25 * x**-1.5),
}


@pytest.mark.parametrize(("curve", "expected"), CURVES.values(), ids=CURVES)
def test_second_derivatives(curve: Callable[[Any], Any], expected: Callable[[float], float]) -> None:
    x = tg.tensor(0.7, dtype="float64", requires_grad=True)
    (slope,) = grad(curve(x), x, create_graph=True)
    (bend,) = grad(slope, x)
    assert bend.item() == pytest.approx(expected(0.7), rel=1e-12)


def test_a_saved_value_overwritten_before_a_second_derivative() -> None:
    x = leaf(2.0)
    y = x * 1
    (g,) = grad(y * y * y, x, create_graph=True)
    y.add_(1)
    with pytest.raises(InplaceError):
        grad(g, x)


def test_namespaces_of_tensors_are_made_once_per_device() -> None:
    assert tg.autograd.tensor_namespace("far") is tg.autograd.tensor_namespace("far")
    assert repr(tg.autograd.tensor_namespace("far")) == "<namespace tensors on far>"


def test_backward_of_several_outputs() -> None:
    x = leaf(1.0, 2.0)
    a, b = (x * 2).sum(), x * 3
    tg.autograd.backward([a, b], [None, tg.tensor([1.0, 10.0])])
    assert x.grad.tolist() == [5.0, 32.0]
    tg.autograd.backward((x * 1.0).sum())
    assert x.grad.tolist() == [6.0, 33.0]
    with pytest.raises(AutogradError, match="backward of 2 outputs"):
        tg.autograd.backward([a, b], [None])
    with pytest.raises(DtypeError, match=r"grad\(\) from a float"):
        tg.autograd.grad(3.0, x)


def test_hooks_after_accumulation() -> None:
    x, steps = leaf(1.0, 2.0), []
    handle = x.register_post_accumulate_grad_hook(lambda leaf: steps.append(leaf.grad.tolist()))
    (x * 2).sum().backward()
    (x * 2).sum().backward()
    assert steps == [[2.0, 2.0], [4.0, 4.0]]
    assert tg.autograd.grad((x * 3).sum(), x)[0].tolist() == [3.0, 3.0]
    handle.remove()
    (x * 2).sum().backward()
    assert len(steps) == 2
    with pytest.raises(AutogradError, match="an operation made this tensor"):
        (x * 2).register_post_accumulate_grad_hook(print)
    with leaf(1.0).register_hook(print) as inside:
        assert inside


def test_hooks_after_accumulation_run_while_the_walk_goes_on() -> None:
    """As in PyTorch: once the last gradient of a leaf is there, and before older nodes compute."""
    first, second, happened = leaf(1.0, 2.0), leaf(3.0, 4.0), []
    between = first * 2
    between.register_hook(lambda g: happened.append("between"))
    first.register_post_accumulate_grad_hook(lambda leaf: happened.append("first"))
    second.register_post_accumulate_grad_hook(lambda leaf: happened.append(("second", tg.is_grad_enabled())))
    (between * second + between).sum().backward()
    assert happened == [("second", True), "between", "first"]
    happened.clear()
    x = leaf(1.0, 2.0)
    x.register_post_accumulate_grad_hook(lambda leaf: happened.append(leaf.grad.tolist()))
    (x * x * x + x).sum().backward()
    assert happened == [[4.0, 13.0]], "once, with all that comes"


def test_a_hook_that_writes_a_gradient_leaves_those_of_others_alone() -> None:
    """A sum hands the same array to both of its operands."""
    x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
    w.register_post_accumulate_grad_hook(lambda leaf: leaf.grad.zero_())
    (x * 2 + w).sum().backward()
    assert (x.grad.tolist(), w.grad.tolist()) == ([2.0, 2.0], [0.0, 0.0])
    x.grad = w.grad = None
    y = x * 2
    (y.reshape(2) + w).backward(tg.tensor([5.0, 6.0]))
    assert (x.grad.tolist(), w.grad.tolist()) == ([10.0, 12.0], [0.0, 0.0])


def test_a_leaf_that_some_edges_do_not_reach_is_served_in_the_end() -> None:
    class Half(tg.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: tg.Tensor) -> tg.Tensor:
            return x * 1

        @staticmethod
        def backward(ctx: Any, g: tg.Tensor) -> None:
            return None

    x, seen = leaf(1.0), []
    x.register_post_accumulate_grad_hook(lambda leaf: seen.append(leaf.grad.tolist()))
    (x * 2 + Half.apply(x * 3)).sum().backward()
    assert seen == [[2.0]]
    (x * 2).sum().backward(create_graph=True)
    assert seen == [[2.0], [4.0]]


def test_retain_grad_needs_a_gradient() -> None:
    with pytest.raises(AutogradError, match="retain_grad"):
        tg.ones(2).retain_grad()
    y = leaf(1.0) * 2
    assert y.requires_grad_() is y  # it does already
