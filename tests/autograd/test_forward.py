"""Forward mode: tangents of every op, of programs that write in place, and derivatives of derivatives."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tests.ops.cases import CASES, Case, is_float, leaf
from tests.support import teaches
from tinygrad_edu.autograd import grad, jvp
from tinygrad_edu.errors import AutogradError, DtypeError, ShapeError

SMOOTH = [case for case in CASES if case.differentiable]
STEP = 1e-6


def tensor(*values: float) -> tg.Tensor:
    return tg.tensor(list(values), dtype="float64")


def directions(operands: tuple[Any, ...]) -> list[Any]:
    rng = np.random.default_rng(11)
    return [np.asarray(rng.normal(size=o.shape)) if is_float(o) else None for o in operands]


@pytest.mark.parametrize("case", SMOOTH, ids=str)
def test_every_op(case: Case) -> None:
    """The tangent is the finite difference along the direction."""
    operands = case.operands()
    moves = directions(operands)
    floats = [i for i, move in enumerate(moves) if move is not None]

    def function(*xs: Any) -> Any:
        args = [leaf(o, requires_grad=False) for o in operands]
        for i, x in zip(floats, xs, strict=True):
            args[i] = x
        return case.run(*args)

    def at(step: float) -> Any:
        with tg.no_grad():
            return np.array(function(*(leaf(operands[i] + step * moves[i], False) for i in floats)).array)

    primals = tuple(leaf(operands[i], requires_grad=False) for i in floats)
    value, slope = jvp(function, primals, tuple(leaf(moves[i], False) for i in floats))
    np.testing.assert_array_equal(value.array, at(0.0))
    np.testing.assert_allclose(slope.array, (at(STEP) - at(-STEP)) / (2 * STEP), rtol=2e-6, atol=2e-7)


def curve(x: Any) -> Any:
    return (x.sin() * x.exp() + x**3).softmax(0)


def test_it_is_backward_transposed() -> None:
    """Row by row forward, column by column backward: one Jacobian."""
    x = tensor(0.1, 0.5, -0.3)
    units = [tensor(*row) for row in np.eye(3)]
    forward = np.array([jvp(curve, (x,), (u,))[1].tolist() for u in units]).T
    x.requires_grad_()
    y = curve(x)
    backward = np.array([grad(y, x, u, retain_graph=True)[0].tolist() for u in units])
    np.testing.assert_allclose(forward, backward, rtol=1e-12, atol=1e-15)


def test_nested_calls_give_higher_derivatives() -> None:
    one = tensor(1.0)

    def derivative(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
        return lambda x: jvp(f, (x,), (one,))[1]

    f: Any = lambda x: x**4  # noqa: E731
    for expected in (32.0, 48.0, 48.0, 24.0):
        f = derivative(f)
        assert f(tensor(2.0)).item() == pytest.approx(expected)


def slope(x: Any) -> Any:
    return grad(curve(x)[0], x, create_graph=True)[0]


@pytest.mark.parametrize("create", [True, False])
def test_forward_over_backward(create: bool) -> None:
    """A Hessian times a vector, without the Hessian; also where the gradient itself is not recorded."""
    x, v = tensor(0.1, 0.5, -0.3).requires_grad_(), tensor(1.0, -2.0, 0.5)
    expected = grad((slope(x) * v).sum(), x)[0]
    _, found = jvp(lambda x: grad(curve(x)[0], x, create_graph=create)[0], (x,), (v,))
    np.testing.assert_allclose(found.detach().array, expected.array, rtol=1e-10, atol=1e-14)


def test_backward_over_forward() -> None:
    x, v = tensor(0.1, 0.5, -0.3).requires_grad_(), tensor(1.0, -2.0, 0.5)
    expected = grad((slope(x) * v).sum(), x)[0]
    _, along = jvp(lambda x: curve(x)[0], (x,), (v,))
    np.testing.assert_allclose(grad(along, x)[0].array, expected.array, rtol=1e-10, atol=1e-14)


def test_backward_inside_adds_to_grad() -> None:
    w = tensor(2.0).requires_grad_()

    def step(x: Any) -> Any:
        w.grad = None
        (w * w * x).sum().backward()
        return w.grad * 1.0

    value, along = jvp(step, (tensor(3.0),), (tensor(1.0),))
    assert (value.tolist(), along.tolist()) == ([12.0], [4.0])
    w.grad = None


def _through_a_view(x: Any) -> Any:
    y = x * 2.0
    y[1:].mul_(x[1:])
    return y * y


def _seen_by_a_view(x: Any) -> Any:
    y = x * 2.0
    view, other = y[1:], y.reshape(3, 1)
    y.mul_(x)
    return view.sum() + (other * other).sum()


def _an_item(x: Any) -> Any:
    y = x.exp()
    y[0] = x[1] * x[2]
    y[2] = 7.0
    return y * x


def _overwritten(x: Any) -> Any:
    y = x.exp()
    y.zero_()
    return y + x


def _into_zeros(x: Any) -> Any:
    y = tg.zeros(2, 3, dtype="float64")
    y[1].add_(x)
    return y.sum(0) * x


WRITES: dict[str, Callable[[Any], Any]] = {
    "in place": lambda x: x.clone().mul_(x).add_(1.0),
    "through a view": _through_a_view,
    "seen by a view": _seen_by_a_view,
    "an item": _an_item,
    "overwritten by a constant": _overwritten,
    "into zeros": _into_zeros,
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_writes(write: Callable[[Any], Any]) -> None:
    x, v = np.array([0.3, -0.8, 1.2]), np.array([1.0, 2.0, -0.5])
    value, found = jvp(write, (tg.tensor(x),), (tg.tensor(v),))
    np.testing.assert_allclose(value.array, write(tg.tensor(x)).array)
    above, below = (write(tg.tensor(x + step * v)).array for step in (STEP, -STEP))
    np.testing.assert_allclose(found.array, (above - below) / (2 * STEP), rtol=1e-6, atol=1e-8)


def test_what_is_detached_is_constant() -> None:
    assert jvp(lambda x: x * x.detach(), (tensor(3.0),), (tensor(1.0),))[1].tolist() == [3.0]
    assert jvp(lambda x: x.detach(), (tensor(3.0),), (tensor(1.0),))[1].tolist() == [0.0]


def test_writes_beside_detached_aliases() -> None:
    """They share memory with the base, and no derivative."""

    def through_an_alias(x: Any) -> Any:
        y = x * 1.0
        view = y[0:1]
        y.detach().add_(1.0)
        return view * 1.0

    def seen_by_an_alias(x: Any) -> Any:
        y = x * 1.0
        alias = y[1:].detach()[0:1]
        y.mul_(2.0)
        return alias * 1.0

    x, v = tensor(1.0, 2.0, 3.0), tensor(1.0, 1.0, 1.0)
    assert jvp(through_an_alias, (x,), (v,))[1].tolist() == [1.0]
    assert jvp(seen_by_an_alias, (x,), (v,))[1].tolist() == [0.0]


def test_no_cycles_are_left() -> None:
    gc.collect()
    gc.disable()
    try:
        w = tensor(1.0, 2.0).requires_grad_()
        for _ in range(3):
            jvp(lambda x: (x * w).sin().sum(), (tensor(1.0, 1.0),), (tensor(1.0, 0.0),))
        assert gc.collect() == 0
    finally:
        gc.enable()


def test_a_name_outside_is_a_constant() -> None:
    """Only the argument moves, not another tensor of the same memory."""
    x = tensor(3.0)
    assert jvp(lambda y: x * y, (x,), (tensor(1.0),))[1].tolist() == [3.0]


def test_several_arguments_and_results() -> None:
    (a, b), (da, db) = jvp(lambda x, y: (x * y, x.sum()), (tensor(2.0, 3.0), tensor(5.0, 7.0)), (tensor(1.0, 0.0),) * 2)
    assert (a.tolist(), b.item(), da.tolist(), db.item()) == ([10.0, 21.0], 5.0, [7.0, 0.0], 1.0)


def test_results_that_do_not_move() -> None:
    value, along = jvp(lambda x: tg.ones(2), tensor(1.0), tensor(1.0))
    assert (value.tolist(), along.tolist()) == ([1.0, 1.0], [0.0, 0.0])
    positions, zeros = jvp(lambda x: x.argmax(0), tensor(1.0, 2.0), tensor(1.0, 1.0))
    assert (positions.item(), zeros.item()) == (1, 0)


def test_on_another_device() -> None:
    x, v = tensor(1.0, 2.0).to("far"), tensor(1.0, 1.0).to("far")
    value, along = jvp(lambda x: (x * x).sum(), (x,), (v,))
    assert (value.item(), along.item(), along.device) == (5.0, 6.0, "far")


def test_no_graph_is_kept() -> None:
    """Neither values nor tangents outlive their use: memory does not grow with the length of the chain."""
    alive: list[weakref.ref[Any]] = []

    def chain(x: Any) -> Any:
        for _ in range(50):
            x = x * 1.01
            alive.append(weakref.ref(x))
        return x

    gc.disable()
    try:
        jvp(chain, tensor(1.0, 2.0), tensor(1.0, 1.0))
        assert sum(reference() is not None for reference in alive) == 0
    finally:
        gc.enable()


def test_a_recorded_write_is_refused() -> None:
    w = tensor(1.0, 2.0).requires_grad_()

    def f(x: Any) -> Any:
        y = w * x
        y.mul_(x)
        return y

    with teaches(
        AutogradError,
        "mul in place, inside jvp(), on a tensor that requires grad",
        "forward mode does not support a recorded write: the tangent of what was overwritten would be lost",
        "use the out-of-place form there",
        line="y.mul_(x)",
    ):
        jvp(f, tensor(1.0, 1.0), tensor(1.0, 1.0))


MISTAKES: dict[str, tuple[Any, type[Exception], str]] = {
    "count": (lambda: jvp(curve, (tensor(1.0),), ()), ShapeError, "jvp with 1 primals and 0 tangents"),
    "shape": (
        lambda: jvp(curve, tensor(1.0), tensor(1.0, 2.0)), ShapeError,
        "jvp with primal 0 of shape (1,) and a tangent (2,)",
    ),
    "dtype": (
        lambda: jvp(curve, tensor(1.0), tg.ones(1)), DtypeError,
        "jvp with primal 0 of dtype float64 and a tangent of dtype float32",
    ),
    "integers": (
        lambda: jvp(curve, tg.tensor([1]), tg.tensor([1])), DtypeError,
        "jvp with primal 0 of dtype int64 and a tangent of dtype int64",
    ),
    "numbers": (
        lambda: jvp(curve, 1.0, 1.0), DtypeError, "jvp with primal 0 of type float and a tangent of type float",
    ),
    "result": (
        lambda: jvp(lambda x: x.item(), tensor(1.0), tensor(1.0)), AutogradError,
        "jvp of a function that returned float",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("call", "kind", "tried"), MISTAKES.values(), ids=MISTAKES)
def test_mistakes(call: Callable[[], Any], kind: type[Exception], tried: str) -> None:
    with pytest.raises(kind) as caught:
        call()
    assert caught.value.tried == tried  # type: ignore[attr-defined]
