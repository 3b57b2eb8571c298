"""Functions with a backward of one's own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tests.support import teaches
from tinygrad_edu.autograd import Function, grad, gradcheck, gradgradcheck, jvp
from tinygrad_edu.autograd.function import once_differentiable
from tinygrad_edu.core.op import OPS
from tinygrad_edu.core.slow import Call, Interceptor
from tinygrad_edu.errors import AutogradError, InplaceError, ShapeError


def leaf(*values: float, dtype: str = "float64") -> tg.Tensor:
    return tg.tensor(list(values), dtype=dtype, requires_grad=True)


class Cube(Function):
    """Keeps its argument."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return g * 3 * x * x


class Exp(Function):
    """Keeps its result."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (y,) = ctx.saved_tensors
        return g * y


class Product(Function):
    """Two tensors and a number, and two results."""

    @staticmethod
    def forward(ctx: Any, x: Any, factor: float, y: Any) -> Any:
        ctx.save_for_backward(x, y)
        ctx.factor = factor
        return x * y * factor, (x + y).sum()

    @staticmethod
    def backward(ctx: Any, g: Any, g_sum: Any) -> Any:
        x, y = ctx.saved_tensors
        return g * y * ctx.factor + g_sum, None, g * x * ctx.factor + g_sum


class Newer(Function):
    """The form with setup_context."""

    @staticmethod
    def forward(x: Any, n: int) -> Any:
        return x**n

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        x, ctx.n = inputs
        ctx.save_for_backward(x)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return g * ctx.n * x ** (ctx.n - 1), None


@pytest.mark.parametrize("function", [Cube.apply, Exp.apply, lambda x: Newer.apply(x, 3)], ids=["in", "out", "newer"])
def test_first_second_and_forward_derivatives(function: Any) -> None:
    x = leaf(0.5, -1.2, 2.0)
    assert gradcheck(function, x, check_forward_ad=True)
    assert gradgradcheck(function, x)


def test_several_arguments_and_results() -> None:
    x, y = leaf(1.0, 2.0), leaf(3.0, -4.0)
    assert gradcheck(lambda x, y: Product.apply(x, 2.5, y), (x, y), check_forward_ad=True)
    assert gradgradcheck(lambda x, y: Product.apply(x, 2.5, y), (x, y))
    product, total = Product.apply(x, 1.0, y)
    assert (product.tolist(), total.item()) == ([3.0, -8.0], 2.0)
    product.sum().backward()  # the other result was not used: its gradient is zeros
    assert x.grad.tolist() == [3.0, -4.0]


def test_it_is_one_node_with_the_name_of_the_class() -> None:
    x = leaf(1.0)
    y = Cube.apply(x)
    assert repr(y.grad_fn) == "<Cube>"
    assert y.grad_fn.parents == (x.node,)
    assert "Cube" not in OPS


def test_forward_is_not_recorded_and_constants_stay_constants() -> None:
    assert not Cube.apply(tg.ones(2)).requires_grad
    with tg.no_grad():
        assert not Cube.apply(leaf(1.0)).requires_grad

    class Look(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            y = x * 2
            assert not y.requires_grad
            assert ctx.needs_input_grad == (True,)
            return y

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            assert not (g * 2).requires_grad
            return g * 2

    x = leaf(1.0)
    Look.apply(x).backward()
    assert x.grad.tolist() == [2.0]


def test_a_gradient_of_ones_own_choice() -> None:
    """A straight-through estimator: the value is rounded, the gradient is not; forward mode follows it."""

    class Straight(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return (x + 0.5).floor()

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g

    x = leaf(0.4, 1.7)
    y = Straight.apply(x)
    assert y.tolist() == [0.0, 2.0]
    assert grad(y.sum(), x)[0].tolist() == [1.0, 1.0]
    one = tg.ones(2, dtype="float64")
    assert jvp(Straight.apply, (x.detach(),), (one,))[1].tolist() == [1.0, 1.0]


def test_an_argument_handed_through() -> None:
    class Same(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 10

    x = leaf(1.0)
    y = Same.apply(x)
    assert y is not x
    y.backward()
    assert x.grad.tolist() == [10.0]


def test_a_view_of_an_argument_is_a_tensor_of_its_own() -> None:
    """In PyTorch it is a view that must not be written to; here it has memory of its own."""

    class Flat(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.reshape(-1)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g.reshape(2, 1)

    w = tg.ones(2, 1, dtype="float64", requires_grad=True)
    flat = Flat.apply(w)
    flat.mul_(5.0)
    assert w.tolist() == [[1.0], [1.0]]
    flat.sum().backward()
    assert w.grad.tolist() == [[5.0], [5.0]]


def test_forward_mode_of_constants() -> None:
    """Nothing requires grad, and still the tangent needs what was saved."""
    x, y, one = (tg.tensor([v, 2.0], dtype="float64") for v in (3.0, 4.0, 1.0))
    (product, total), (moved, _) = jvp(lambda x, y: Product.apply(x, 1.0, y), (x, y), (one, one))
    assert (product.tolist(), total.item(), moved.tolist()) == ([12.0, 4.0], 11.0, [7.0, 8.0])


def test_results_without_gradient() -> None:
    class Largest(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            at, copy = x.argmax(0), x * 1.0
            ctx.mark_non_differentiable(copy)
            ctx.save_for_backward(x, at)
            return x.amax(0), at, copy

        @staticmethod
        def backward(ctx: Any, g: Any, g_at: Any, g_copy: Any) -> Any:
            _, at = ctx.saved_tensors
            assert (g_at.tolist(), g_copy.tolist()) == (0, [0.0, 0.0])
            hit = tg.zeros(2, dtype="float64")
            hit[at.item()] = g.item()
            return hit

    x = leaf(1.0, 3.0)
    top, at, copy = Largest.apply(x)
    assert (top.requires_grad, at.requires_grad, copy.requires_grad) == (True, False, False)
    assert (top.item(), at.item(), copy.tolist()) == (3.0, 1, [1.0, 3.0])
    top.backward()
    assert x.grad.tolist() == [0.0, 1.0]


def test_gradients_come_back_in_the_dtype_of_the_argument() -> None:
    class Wide(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.double()

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g

    x = leaf(1.0, dtype="float32")
    Wide.apply(x).backward()
    assert x.grad.dtype == np.float32


def test_on_another_device() -> None:
    x = tg.tensor([1.0, 2.0], device="far", requires_grad=True)
    Cube.apply(x).sum().backward()
    assert x.grad.tolist() == [3.0, 12.0]
    assert x.grad.device == "far"


def test_a_write_to_what_was_saved_is_noticed() -> None:
    x = leaf(1.0) * 1.0
    y = Cube.apply(x)
    x.add_(1.0)
    with pytest.raises(InplaceError, match="backward through Cube, which saved its argument 0"):
        y.backward()


def test_it_is_freed_by_backward() -> None:
    x = leaf(1.0)
    y = Cube.apply(x)
    y.backward()
    with pytest.raises(AutogradError, match="backward through Cube"):
        y.backward()


def test_interceptors_see_one_operation() -> None:
    class Names(Interceptor):
        def __init__(self) -> None:
            self.seen: list[str] = []

        def forward(self, call: Call, proceed: Any) -> Any:
            self.seen.append(call.op.name)
            return proceed()

        def backward(self, node: Any, g: Any, proceed: Any) -> Any:
            self.seen.append(f"{node.op.name}'")
            return proceed()

    x = leaf(1.0)
    with Names() as names:
        Cube.apply(x).sum().backward()
    assert names.seen == ["Cube", "sum", "sum'", "Cube'"]


def wrong(backward: Any) -> Any:
    """A function of two arguments with this backward."""

    class Wrong(Function):
        @staticmethod
        def forward(ctx: Any, x: Any, y: Any) -> Any:
            return x * y

    Wrong.backward = staticmethod(backward)  # type: ignore[method-assign]
    return Wrong


def test_too_few_gradients() -> None:
    with teaches(
        AutogradError,
        "Wrong.backward",
        "it returned 1 gradient(s), but Wrong.forward takes 2 argument(s)",
        "return one per argument, None for those that need none",
    ):
        wrong(lambda ctx, g: g).apply(leaf(1.0), leaf(1.0)).backward()


def test_a_gradient_of_the_wrong_shape() -> None:
    with teaches(
        ShapeError,
        "Wrong.backward",
        "the gradient of argument 1 has shape (2,), but the argument has (1,)",
        "return a gradient of the argument's shape: sum over what was broadcast",
    ):
        wrong(lambda ctx, g: (g, g)).apply(leaf(1.0, 2.0), leaf(1.0)).sum().backward()


def test_a_gradient_that_is_no_tensor() -> None:
    with pytest.raises(AutogradError, match="the gradient of argument 0 is a float"):
        wrong(lambda ctx, g: (1.0, g)).apply(leaf(1.0), leaf(1.0)).backward()


def test_a_result_that_is_no_tensor() -> None:
    class Number(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.item()

    with teaches(
        AutogradError,
        "Number.apply",
        "forward returned float",
        "return a tensor, or a tuple of tensors",
        "Number.apply",
    ):
        Number.apply(leaf(1.0))


def test_a_saved_result_among_several_allows_no_second_derivative() -> None:
    class Pair(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            y = x.exp()
            ctx.save_for_backward(y)
            return y, x * 1.0

        @staticmethod
        def backward(ctx: Any, g: Any, h: Any) -> Any:
            return g * ctx.saved_tensors[0] + h

    x = leaf(0.5)
    assert gradcheck(Pair.apply, x)
    with pytest.raises(AutogradError, match="a second derivative or forward mode of Pair"):
        grad(Pair.apply(x)[0], x, create_graph=True)
    with pytest.raises(AutogradError, match="save the arguments instead"):
        jvp(Pair.apply, (x.detach(),), (tg.ones(1, dtype="float64"),))


def test_saved_tensors_are_for_backward() -> None:
    class Early(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return ctx.saved_tensors[0]

    with pytest.raises(AutogradError, match="they are handed to backward, but this is not backward"):
        Early.apply(leaf(1.0))


def test_arguments_are_not_changed() -> None:
    class Doubled(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.set_materialize_grads(False)
            ctx.mark_dirty(x)

    with pytest.raises(AutogradError, match="mark_dirty in a Function"):
        Doubled.apply(leaf(1.0))


def test_a_backward_without_a_derivative() -> None:
    class Cubed(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        @once_differentiable
        def backward(ctx: Any, g: Any) -> Any:
            """By NumPy."""
            (x,) = ctx.saved_tensors
            return tg.from_numpy(3 * x.detach().numpy() ** 2) * g

    x, seed = leaf(2.0), leaf(1.0)
    (slope,) = grad(Cubed.apply(x), x)
    assert (slope.item(), slope.requires_grad, Cubed.backward.__doc__) == (12.0, False, "By NumPy.")
    (slope,) = grad(Cubed.apply(x), x, seed, create_graph=True)
    assert (slope.item(), slope.requires_grad) == (12.0, True)  # nothing is refused before it is asked for
    why = "its backward is marked with once_differentiable: it has no derivative"
    mend = "take the mark away, or leave that part out"
    with teaches(AutogradError, "a second derivative of a Function", why, mend):
        slope.backward()


def test_what_must_be_written() -> None:
    class Empty(Function):
        pass

    with pytest.raises(NotImplementedError, match="write forward"):
        Empty.apply(leaf(1.0))

    class Half(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 1.0

    with pytest.raises(NotImplementedError, match="write backward"):
        Half.apply(leaf(1.0)).backward()
