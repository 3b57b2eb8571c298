"""In-place twins and ``out=``: the same numbers and gradients as the plain form, in the buffer that was given."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tests.support import teaches
from tinygrad_edu.core.op import OPS
from tinygrad_edu.errors import ArgumentError, AutogradError, DtypeError, InplaceError, ShapeError
from tinygrad_edu.ops import out as out_functions

Y = np.array([[0.5, 1.5, 2.0], [1.0, 0.7, 1.2]])
INDEX = np.array([[1, 0, 1]])


def y() -> tg.Tensor:
    return tg.tensor(Y)


def mask() -> tg.Tensor:
    return tg.tensor(Y > 1)


# Arguments to try each twin with. A name that is missing here fails `test_every_twin_is_tried`.
FLOATS: dict[str, tuple[Callable[[], tuple[Any, ...]], dict[str, Any]]] = {
    **{
        name: (tuple, {})
        for name in """
            abs_ neg_ sign_ floor_ ceil_ round_ exp_ expm1_ log_ log1p_ log2_ sqrt_ rsqrt_ reciprocal_ square_ sin_
            cos_ tan_ tanh_ erf_ exp2_ log10_ trunc_ asin_ acos_ atan_ arcsin_ arccos_ arctan_ sinh_ cosh_ asinh_ acosh_
            atanh_ erfc_ logit_ lgamma_ digamma_ nan_to_num_ sigmoid_ relu_ logical_not_ tril_ triu_
            """.split()
    },
    **{
        name: (lambda: (y(),), {})
        for name in """
            add_ sub_ mul_ div_ pow_ floor_divide_ remainder_ fmod_ atan2_ arctan2_ hypot_ xlogy_
            eq_ ne_ lt_ le_ gt_ ge_ logical_and_ logical_or_ logical_xor_ copy_
            """.split()
    },
    "lerp_": (lambda: (y(), 0.3), {}),
    "addcmul_": (lambda: (y(), y()), {"value": 2.0}),
    "addcdiv_": (lambda: (y(), y()), {"value": 2.0}),
    "addmm_": (lambda: (y() @ y().T, y()), {"beta": 0.5, "alpha": 2.0}),
    "clamp_": (lambda: (0.8, 1.4), {}),
    "clip_": (lambda: (0.8, 1.4), {}),
    "clamp_min_": (lambda: (0.8,), {}),
    "clamp_max_": (lambda: (1.4,), {}),
    "masked_fill_": (lambda: (mask(), 7.0), {}),
    "cumsum_": (lambda: (1,), {}),
    "cumprod_": (lambda: (0,), {}),
    "scatter_": (lambda: (0, tg.tensor(INDEX), y()), {}),
    "scatter_add_": (lambda: (0, tg.tensor(INDEX), y()), {}),
    "index_add_": (lambda: (1, tg.tensor([0, 2, 0]), y()), {"alpha": 3.0}),
    "index_copy_": (lambda: (1, tg.tensor([2, 0, 1]), y()), {}),
    "index_fill_": (lambda: (1, tg.tensor([0, 2]), 5.0), {}),
    "index_put_": (lambda: ((tg.tensor([0, 1]), tg.tensor([2, 0])), tg.tensor([8.0, 9.0], dtype="float64")), {}),
}
INTEGERS = {"bitwise_and_", "bitwise_or_", "bitwise_xor_", "bitwise_not_"}
FILL = {
    "zero_",
    "fill_",
    "normal_",
    "uniform_",
    "bernoulli_",
    "random_",
    "exponential_",
}  # tried in test_random, test_tensor
BATCHES = {"baddbmm_"}  # tried in test_products
SWITCHES = {"requires_grad_", "detach_"}
RESHAPERS = {"unsqueeze_", "squeeze_", "transpose_", "t_"}  # tried in test_reshaped_in_place
X = np.array([[0.4, 1.3, 2.2], [0.9, 1.1, 0.6]])


def values(name: str) -> Any:
    """What to try a function with: X, brought to where it has a result."""
    name = name.rstrip("_").replace("arc", "a")
    return X / 4 if name in ("asin", "acos", "atanh", "logit") else X + 1 if name == "acosh" else X


def test_every_twin_is_tried() -> None:
    twins = {name for name in dir(tg.ones(1)) if name.endswith("_") and not name.startswith("_")}
    assert twins == set(FLOATS) | INTEGERS | FILL | BATCHES | SWITCHES | RESHAPERS


def plain(name: str) -> Callable[..., Any]:
    """The out-of-place form."""
    if name == "copy_":
        return lambda x, source: x * 0 + source
    return getattr(tg.Tensor, name[:-1])


@pytest.mark.parametrize("name", FLOATS)
def test_a_twin_writes_the_same_numbers_into_its_buffer(name: str) -> None:
    args, kwargs = FLOATS[name]
    x = tg.tensor(values(name))
    view, array = x[0], x.array
    expected = plain(name)(tg.tensor(values(name)), *args(), **kwargs)
    assert getattr(x, name)(*args(), **kwargs) is x
    assert x.array is array
    np.testing.assert_array_equal(array, expected.array)
    np.testing.assert_array_equal(view.array, array[0])
    assert x.dtype == np.float64


@pytest.mark.parametrize("name", FLOATS)
def test_a_twin_has_the_gradients_of_the_plain_form(name: str) -> None:
    """In the tensor itself, and in every float among its arguments."""
    args, kwargs = FLOATS[name]
    grads = []
    for form in (getattr(tg.Tensor, name), plain(name)):
        leaves = [tg.tensor(values(name), requires_grad=True)]
        given = []
        for value in args():
            smooth = isinstance(value, tg.Tensor) and value.dtype == np.float64
            given.append(value.requires_grad_() if smooth else value)
            leaves += [value] if smooth else []
        result = form(leaves[0] * 1.0, *given, **kwargs)
        if result.requires_grad:
            (result * tg.tensor(Y)).sum().backward()
        grads.append([None if leaf.grad is None else leaf.grad.tolist() for leaf in leaves])
    for ours, expected in zip(*grads, strict=True):
        zero = np.zeros_like(np.array(expected if ours is None else ours, dtype=float))
        np.testing.assert_allclose(
            zero if ours is None else ours, zero if expected is None else expected, rtol=1e-12, atol=1e-15
        )


@pytest.mark.parametrize("name", FLOATS)
def test_a_twin_refuses_a_leaf(name: str) -> None:
    args, kwargs = FLOATS[name]
    x = tg.tensor(values(name), requires_grad=True)
    with pytest.raises(InplaceError, match="a leaf that requires grad"):
        getattr(x, name)(*args(), **kwargs)
    assert x.tolist() == values(name).tolist()


@pytest.mark.parametrize("name", sorted(INTEGERS))
def test_bitwise_twins(name: str) -> None:
    a, b = np.array([12, 10, 5]), np.array([10, 3, 5])
    x, args = tg.tensor(a), (() if name == "bitwise_not_" else (tg.tensor(b),))
    array = x.array
    expected = getattr(tg, name[:-1])(tg.tensor(a), *args)
    assert getattr(x, name)(*args) is x
    assert x.array is array
    assert x.tolist() == expected.tolist()


def test_augmented_operators_are_in_place() -> None:
    x = tg.tensor([7.0, 8.0])
    array = x.array
    x += 1
    x -= 2
    x *= 3
    x /= 2
    x //= 1
    x **= 2
    x %= 50
    assert x.array is array
    assert x.tolist() == [31.0, 0.0]
    bits = tg.tensor([True, False])
    bits |= tg.tensor([False, True])
    bits &= tg.tensor([True, False])
    bits ^= True
    assert bits.tolist() == [False, True]


def test_a_result_of_a_higher_kind_does_not_fit() -> None:
    x = tg.tensor([1, 2])
    for call in (lambda: x.add_(0.5), lambda: x.clamp_(0.5), lambda: x.div_(2), lambda: x.lerp_(x, 0.5)):
        with pytest.raises(DtypeError):
            call()
    assert x.tolist() == [1, 2]
    with teaches(
        DtypeError,
        "exp_ on a tensor of dtype int64",
        "the result is float32, which int64 cannot hold",
        "use the out-of-place form, or convert the target first: x.to('float32')",
        "x.exp_()",
    ):
        x.exp_()


def test_a_result_of_another_shape_does_not_fit() -> None:
    with pytest.raises(ShapeError, match=r"add_ on a tensor \(2,\)"):
        tg.ones(2).add_(tg.ones(3, 2))
    with pytest.raises(ShapeError, match=r"lerp_ on a tensor \(2,\)"):
        tg.ones(2).lerp_(tg.ones(3, 2), 0.5)


def test_what_goes_into_a_buffer_needs_no_temporary(monkeypatch: pytest.MonkeyPatch) -> None:
    """The body is not even called: NumPy writes where it should."""
    x, other = tg.tensor(X), y()
    direct = [op for op in OPS.values() if op.into]
    assert len(direct) >= 25
    for op in direct:
        monkeypatch.setattr(op, "forward", staticmethod(lambda *a, **k: pytest.fail("a temporary was made")))
    for call in (x.mul_, x.add_, x.div_, x.sub_):
        call(other)
    for call in (x.exp_, x.sqrt_, x.sin_, x.neg_, x.abs_, x.relu_):
        call()
    tg.mul(x, other, out=x)
    x.clamp_(0.0, 1.0)
    x[0, 1:] = 5.0
    x.zero_()
    x.copy_(other)
    assert x.tolist() == Y.tolist()


INTO = [op for op in OPS.values() if op.into]


@pytest.mark.parametrize("op", INTO, ids=lambda op: op.name)
def test_into_computes_what_the_body_computes(op: Any) -> None:
    from tinygrad_edu import backends

    xs = (
        (X, Y.T.copy())
        if op.name == "matmul"
        else tuple(np.array(a) for a in (values(op.name), Y, Y)[: len(op.operands)])
    )
    if op.name.startswith("bitwise"):
        xs = tuple((x * 10).astype("i8") for x in xs)
    if op.name == "put":
        xs = (X, Y[0])
    params: dict[str, Any] = {
        "clamp": {"min": 0.5, "max": 1.0}, "put": {"index": (1,)}, "fast_activation": {"activation": "fast_sigmoid"},
        "fast_activation_of_input": {"activation": "fast_silu"}, "bias_activation": {"activation": "tanh"},
        "bias_activation_of_sum": {"activation": "gelu"},
    }.get(op.name, {})  # fmt: skip
    expected = op.forward(backends.CPU.xp, *xs, **params)
    buffer = X.copy() if op.name == "put" else np.empty_like(expected)
    assert backends.CPU.into(op.into[0], buffer, *xs, *op.into[1:], **params)
    np.testing.assert_array_equal(buffer, expected)


# out= --------------------------------------------------------------------------------------------------------------

OUT = {
    name: f for name, f in vars(out_functions).items() if callable(f) and f.__module__.startswith("tinygrad_edu.ops")
}
OUT = {name: f for name, f in OUT.items() if name not in ("with_out", "Function") and not name.startswith("_")}
PAIRS = ("sort", "topk", "kthvalue", "aminmax", "cummax", "cummin")  # with two results, and so two to write to
TWO = {
    "add", "sub", "mul", "div", "pow", "floor_divide", "remainder", "fmod", "atan2", "arctan2", "hypot",
    "xlogy", "logaddexp", "logaddexp2", "maximum", "minimum", "eq", "ne", "lt", "le", "gt", "ge", "logical_and",
    "logical_or", "logical_xor", "bitwise_and", "bitwise_or", "bitwise_xor",
}  # fmt: skip
SPECIAL: dict[str, Callable[[], tuple[Any, ...]]] = {
    "matmul": lambda: (tg.tensor(X), y().T), "mm": lambda: (tg.tensor(X), y().T),
    "bmm": lambda: (tg.tensor(X[None]), tg.tensor(Y.T[None])), "mv": lambda: (tg.tensor(X), tg.tensor(Y[0])),
    "dot": lambda: (tg.tensor(X[0]), tg.tensor(Y[0])), "outer": lambda: (tg.tensor(X[0]), tg.tensor(Y[0])),
    "addmm": lambda: (y(), y() @ y().T, y()), "lerp": lambda: (tg.tensor(X), y(), 0.5),
    "addcmul": lambda: (tg.tensor(X), y(), y()), "addcdiv": lambda: (tg.tensor(X), y(), y()),
    **dict.fromkeys(("clamp", "clip"), lambda: (tg.tensor(X), 0.5, 1.0)), "clamp_min": lambda: (tg.tensor(X), 0.5),
    "clamp_max": lambda: (tg.tensor(X), 0.5), "where": lambda: (mask(), tg.tensor(X), y()),
    "quantile": lambda: (tg.tensor(X), 0.4, 1), "isin": lambda: (tg.tensor(X), tg.tensor(X[0])),
    "searchsorted": lambda: (tg.tensor(np.sort(X)), y()),
    "cumsum": lambda: (tg.tensor(X), 0), "cumprod": lambda: (tg.tensor(X), 1),
    "cat": lambda: ([tg.tensor(X), y()],), "stack": lambda: ([tg.tensor(X), y()], 1),
    "bitwise_not": lambda: (tg.tensor(INDEX),), "column_stack": lambda: ([tg.tensor(X), y()],),
    "baddbmm": lambda: (y(), (y() @ y().T)[None], y()[None]), "cross": lambda: (tg.tensor(X), y()),
    "inner": lambda: (tg.tensor(X), y()), "kron": lambda: (tg.tensor(X), y()),
    "tensordot": lambda: (tg.tensor(X), y().T, 1),
    **dict.fromkeys(("concat", "hstack", "vstack", "dstack"), lambda: ([tg.tensor(X), y()],)),
    **dict.fromkeys(("softmax", "log_softmax", "logsumexp"), lambda: (tg.tensor(X), 1)),
    **dict.fromkeys(("cummax", "cummin"), lambda: (tg.tensor(X), 1)),
    "topk": lambda: (tg.tensor(X), 2), "kthvalue": lambda: (tg.tensor(X), 2),
    "gather": lambda: (tg.tensor(X), 0, tg.tensor(INDEX)),
    "take_along_dim": lambda: (tg.tensor(X), tg.tensor(INDEX), 0),
    "scatter": lambda: (tg.tensor(X), 0, tg.tensor(INDEX), y()),
    "scatter_add": lambda: (tg.tensor(X), 0, tg.tensor(INDEX), y()),
    "index_select": lambda: (tg.tensor(X), 1, tg.tensor([0, 2])),
    "index_add": lambda: (tg.tensor(X), 1, tg.tensor([0, 2]), y()[:, :2]),
    "index_copy": lambda: (tg.tensor(X), 1, tg.tensor([0, 2]), y()[:, :2]),
    "masked_select": lambda: (tg.tensor(X), mask()),
}  # fmt: skip


def arguments(name: str) -> tuple[Any, ...]:
    if name in SPECIAL:
        return SPECIAL[name]()
    if name in TWO:
        whole = name.startswith("bitwise")
        return (tg.tensor((X * 10).astype("i8")), tg.tensor((Y * 10).astype("i8"))) if whole else (tg.tensor(X), y())
    return (tg.tensor(values(name)),)


@pytest.mark.parametrize("name", OUT)
def test_out_is_filled_and_returned(name: str) -> None:
    function, args = getattr(tg, name), arguments(name)
    expected = function(*args)
    if name in PAIRS:
        outs = tuple(tg.zeros_like(part) for part in expected)
        given = function(*args, out=outs)
        assert all(a is b for a, b in zip(given, outs, strict=True)) and type(given) is type(expected)
        assert [part.tolist() for part in outs] == [part.tolist() for part in expected]
        return
    buffer = tg.zeros_like(expected) if expected.ndim else tg.zeros(1, dtype=expected.dtype)[0]
    array = buffer.array
    assert function(*args, out=buffer) is buffer
    assert buffer.array is array
    np.testing.assert_array_equal(array, expected.array)


def test_two_results_need_two_buffers() -> None:
    x = tg.tensor(X)
    with pytest.raises(ArgumentError, match="there are 2 results, but out has 1"):
        tg.sort(x, out=tg.zeros_like(x))
    values, places = tg.zeros(2), tg.zeros(3, dtype="int64")
    with pytest.raises(ShapeError, match="max"):
        tg.max(x, 1, out=(values, places))
    assert values.tolist() == [0.0, 0.0], "nothing is written before all fit"


def test_the_functions_at_top_level_take_out() -> None:
    assert {name for name in OUT if getattr(tg, name) is not OUT[name]} == set()
    assert len(OUT) >= 60


def test_out_may_be_an_operand() -> None:
    x = tg.tensor([1.0, 2.0])
    tg.add(x, x, out=x)
    assert x.tolist() == [2.0, 4.0]
    square = tg.tensor([[1.0, 1.0], [0.0, 1.0]])
    tg.matmul(square, square, out=square)
    assert square.tolist() == [[1.0, 2.0], [0.0, 1.0]]


def test_out_of_a_narrow_dtype() -> None:
    x = tg.tensor([1.0, 2.0], dtype="bfloat16")
    buffer = tg.zeros(2, dtype="bfloat16")
    assert tg.exp(x, out=buffer).tolist() == tg.exp(x).tolist()


def test_out_and_gradients() -> None:
    w, buffer = tg.ones(2, requires_grad=True), tg.zeros(2)
    for function in (tg.exp, tg.cumsum):
        args = (w, 0) if function is tg.cumsum else (w,)
        with teaches(
            AutogradError,
            f"{function.__name__}(…, out=…)",
            "an operand or out itself requires grad, and a buffer that is reused keeps no history",
            "leave out= out, or compute inside no_grad()",
            "function(*args, out=buffer)",
        ):
            function(*args, out=buffer)
        with tg.no_grad():
            function(*args, out=buffer)
    with pytest.raises(AutogradError, match="or out itself requires grad"):
        tg.exp(buffer, out=w)
    assert buffer.tolist() == [1.0, 2.0]


def test_mistaken_outs() -> None:
    x = tg.ones(2)
    with pytest.raises(ShapeError, match=r"exp\(…, out=…\) on a tensor \(3,\)"):
        tg.exp(x, out=tg.ones(3))
    with pytest.raises(ShapeError, match=r"cumsum\(…, out=…\) on a tensor \(3,\)"):
        tg.cumsum(x, 0, out=tg.ones(3))
    with pytest.raises(DtypeError, match=r"exp\(…, out=…\) with out=ndarray"):
        tg.exp(x, out=np.ones(2))
    with pytest.raises(DtypeError, match="which int64 cannot hold"):
        tg.exp(x, out=tg.zeros(2, dtype="int64"))
    with pytest.raises(InplaceError, match="it was expanded"):
        tg.exp(x, out=tg.ones(1).expand(2))


def test_methods_and_operators_do_not_ask_for_out() -> None:
    assert "out" not in inspect.signature(tg.Tensor.sum).parameters
    with pytest.raises(TypeError):
        tg.ones(2).exp(out=tg.ones(2))
