"""The stateless forms that draw numbers or are made of other operations."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tests.support import teaches
from tinygrad_edu import nn
from tinygrad_edu.errors import ArgumentError, DtypeError, EduError, IndexRangeError, ShapeError

F = tg.nn.functional


# Dropout -------------------------------------------------------------------------------------------------------------


def test_dropout_keeps_the_mean() -> None:
    tg.manual_seed(0)
    x = tg.ones(100, 100, requires_grad=True)
    out = F.dropout(x, 0.25)
    kept = out.detach().array != 0
    assert set(np.unique(out.detach().array).tolist()) == {0.0, np.float32(1 / 0.75).item()}
    assert kept.mean() == pytest.approx(0.75, abs=0.02)
    out.sum().backward()
    np.testing.assert_array_equal(x.grad.array, out.detach().array)


def test_dropout_draws_from_the_seeded_generator_and_anew_each_time() -> None:
    x = tg.ones(64)
    tg.manual_seed(7)
    first, second = F.dropout(x).tolist(), F.dropout(x).tolist()
    tg.manual_seed(7)
    assert F.dropout(x).tolist() == first
    assert first != second


def test_dropout_at_the_ends_and_outside_of_training() -> None:
    x = tg.tensor([1.0, 2.0], requires_grad=True)
    assert F.dropout(x, 0.0).tolist() == [1.0, 2.0]
    assert F.dropout(x, 1.0).tolist() == [0.0, 0.0]
    assert F.dropout(x, 0.5, training=False) is x
    F.dropout(x, 1.0).sum().backward()
    assert x.grad.tolist() == [0.0, 0.0]


def test_dropout_in_place() -> None:
    x = tg.ones(50, requires_grad=True)
    y = x * 1.0
    tg.manual_seed(3)
    assert F.dropout(y, 0.5, inplace=True) is y
    tg.manual_seed(3)
    assert y.tolist() == F.dropout(tg.ones(50), 0.5).tolist()
    y.sum().backward()
    assert x.grad.tolist() == y.tolist()


def test_dropout_on_another_device() -> None:
    x = tg.ones(8, device="far", requires_grad=True)
    out = F.dropout(x)
    assert out.device == "far"
    out.sum().backward()
    assert x.grad.tolist() == out.tolist()


# Attention -----------------------------------------------------------------------------------------------------------


def qkv(*sizes: int) -> list[Any]:
    rng = np.random.default_rng(2)
    return [tg.tensor(rng.normal(size=sizes), requires_grad=True) for _ in range(3)]


def by_hand(q: Any, k: Any, v: Any, mask: Any = None, scale: float | None = None) -> Any:
    scores = q @ k.mT * (1 / math.sqrt(q.shape[-1]) if scale is None else scale)
    if mask is not None:
        scores = scores + mask
    return scores.softmax(-1) @ v


def same(mine: Any, theirs: Any, leaves: list[Any]) -> None:
    np.testing.assert_allclose(mine.detach().array, theirs.detach().array, rtol=1e-12, atol=1e-14)
    slopes = [tg.autograd.grad((out * out).sum(), leaves) for out in (mine, theirs)]
    for ours, expected in zip(*slopes, strict=True):
        np.testing.assert_allclose(ours.array, expected.array, rtol=1e-10, atol=1e-12)


def test_attention_by_hand() -> None:
    leaves = qkv(2, 4, 3)
    mask = tg.tensor(np.random.default_rng(3).normal(size=(4, 4)), requires_grad=True)
    same(F.scaled_dot_product_attention(*leaves), by_hand(*leaves), leaves)
    same(F.scaled_dot_product_attention(*leaves, scale=2.0), by_hand(*leaves, scale=2.0), leaves)
    same(F.scaled_dot_product_attention(*leaves, mask), by_hand(*leaves, mask), [*leaves, mask])
    lower = tg.tensor(np.tril(np.ones((4, 4), bool)))
    added = tg.tensor(np.where(lower.array, 0.0, -np.inf))
    for found in (
        F.scaled_dot_product_attention(*leaves, is_causal=True),
        F.scaled_dot_product_attention(*leaves, lower),
        F.scaled_dot_product_attention(*leaves, added),
    ):
        same(found, by_hand(*leaves, added), leaves)


def test_causal_and_a_mask_both_hold() -> None:
    q, k, v = qkv(3, 2)
    mask = tg.tensor([[True, True, True], [False, True, True], [True, False, True]])
    both = tg.tensor([[True, False, False], [False, True, False], [True, False, True]])
    found = F.scaled_dot_product_attention(q, k, v, mask, is_causal=True)
    assert found.tolist() == F.scaled_dot_product_attention(q, k, v, both).tolist()


@pytest.mark.parametrize("kind", ["bool", "float"])
def test_a_row_that_sees_nothing_gives_zeros(kind: str) -> None:
    leaves = qkv(2, 3)
    mask = tg.tensor([[True, True], [False, False]])
    found = F.scaled_dot_product_attention(*leaves, mask if kind == "bool" else tg.where(mask, 0.0, -math.inf))
    assert found[1].tolist() == [0.0, 0.0, 0.0]
    found.sum().backward()
    assert all(np.isfinite(x.grad.array).all() for x in leaves)
    assert leaves[0].grad[1].tolist() == [0.0, 0.0, 0.0]


def test_large_scores_overflow_nowhere() -> None:
    q = tg.tensor([[1e4, 0.0]])
    assert F.scaled_dot_product_attention(q, tg.tensor([[1e4, 0.0], [0.0, 1.0]]), tg.tensor([[1.0], [2.0]])).item() == 1


def test_heads_that_share_keys_and_values() -> None:
    rng = np.random.default_rng(5)
    q, k, v = (tg.tensor(rng.normal(size=(2, heads, 3, 2)), requires_grad=True) for heads in (4, 2, 1))
    found = F.scaled_dot_product_attention(q, k, v, enable_gqa=True)
    repeated = k[:, [0, 0, 1, 1]], v[:, [0, 0, 0, 0]]
    same(found, by_hand(q, *repeated), [q, k, v])


def test_attention_drops_weights() -> None:
    """With the identity for a value, the result shows the weights."""
    tg.manual_seed(0)
    q, k = tg.zeros(1, 40, 2), tg.zeros(1, 50, 2)
    v = tg.tensor(np.eye(50, dtype="f4")[None], requires_grad=True)
    out = F.scaled_dot_product_attention(q, k, v, dropout_p=0.2)
    weights = out.detach().array
    np.testing.assert_allclose(np.unique(weights), [0.0, 1 / 50 / 0.8], rtol=1e-6)
    assert (weights != 0).mean() == pytest.approx(0.8, abs=0.05)
    out.sum().backward()
    np.testing.assert_allclose(v.grad.array.sum(-1)[0] / 50, weights.sum((0, 1)), rtol=1e-5)
    assert F.scaled_dot_product_attention(q, k, v, dropout_p=1.0).abs().sum().item() == 0


def test_each_weight_is_dropped_by_itself() -> None:
    """Also along an axis that only the mask has."""
    tg.manual_seed(0)
    x, v = tg.zeros(5, 2), tg.tensor(np.eye(5, dtype="f4"))
    first, second = F.scaled_dot_product_attention(x, x, v, tg.zeros(2, 5, 5), dropout_p=0.5).tolist()
    assert first != second


def test_attention_of_16_bits() -> None:
    q, k, v = (x.detach().to("bfloat16") for x in qkv(2, 3, 4))
    found = F.scaled_dot_product_attention(q, k, v, tg.zeros(3, 3))
    assert found.dtype == tg.bfloat16
    wide = F.scaled_dot_product_attention(q.float(), k.float(), v.float())
    assert found.tolist() == wide.to("bfloat16").tolist()


# Small ones ----------------------------------------------------------------------------------------------------------


def test_one_hot() -> None:
    assert F.one_hot(tg.tensor([[0], [2]])).tolist() == [[[1, 0, 0]], [[0, 0, 1]]]
    assert F.one_hot(tg.tensor(1), 4).tolist() == [0, 1, 0, 0]
    assert F.one_hot(tg.zeros(0, dtype="int64"), 3).shape == (0, 3)
    assert F.one_hot(tg.tensor([1])).dtype == np.int64


def test_normalize() -> None:
    x = tg.tensor([[3.0, 4.0], [0.0, 0.0]], dtype="float64", requires_grad=True)
    assert F.normalize(x).tolist() == [[0.6, 0.8], [0.0, 0.0]]
    assert F.normalize(x, p=1.0, dim=0).tolist() == [[1.0, 1.0], [0.0, 0.0]]
    F.normalize(x).sum().backward()
    np.testing.assert_allclose(x.grad.array, [[0.032, -0.024], [1e12, 1e12]])


@pytest.mark.parametrize("name", ["softmax", "log_softmax", "softmin"])
@pytest.mark.parametrize(("shape", "dim"), [((), 0), ((4,), 0), ((2, 3), 1), ((2, 3, 4), 0), ((2, 3, 4, 2), 1)])
def test_an_axis_that_nobody_named(name: str, shape: tuple[int, ...], dim: int) -> None:
    """PyTorch's choice, and its warning at the line that did not say it."""
    x, layer = tg.rand(shape), {"softmax": nn.Softmax, "log_softmax": nn.LogSoftmax, "softmin": nn.Softmin}[name]
    message = f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X"
    for call in (getattr(F, name), layer()):
        with pytest.warns(UserWarning, match=message) as caught:
            assert call(x).tolist() == getattr(F, name)(x, dim).tolist()
        assert [record.filename for record in caught] == [__file__]
    assert repr(layer()) == f"{layer.__name__}(dim=None)"


def test_softmax_converts_first() -> None:
    x = tg.tensor([1, 1])
    assert (F.softmax(x, 0, dtype="float64").tolist(), F.log_softmax(x, 0, dtype="float64").dtype) == (
        [0.5, 0.5], np.float64,
    )  # fmt: skip


WRONG: list[tuple[Callable[[], Any], type[EduError], str, str, str]] = [
    (
        lambda: F.dropout(tg.ones(2), 1.5),
        ArgumentError,
        "dropout with p=1.5",
        "a fraction lies between 0 and 1",
        "use p=0.5, for example",
    ),
    (
        lambda: F.dropout(tg.ones(2, dtype="int64")),
        DtypeError,
        "dropout((2,) int64)",
        "kept elements are divided by 1 - p, but int64 has no fractions",
        "convert it first: x.float()",
    ),
    (
        lambda: F.scaled_dot_product_attention(tg.ones(2, 3), tg.ones(2, 3), tg.ones(2, 3).double()),
        DtypeError,
        "attention of query (2, 3), key (2, 3) and value (2, 3)",
        "they are float32 and float64, but attention takes three tensors of one float dtype",
        "convert them first: key.to(query.dtype)",
    ),
    (
        lambda: F.scaled_dot_product_attention(tg.ones(2, 3), tg.ones(2, 3), tg.ones(2, 3), tg.ones(2, 2).long()),
        DtypeError,
        "attention of query (2, 3), key (2, 3) and value (2, 3)",
        "the mask is int64: a mask is bool (what to attend to) or float (added to the scores)",
        "make it bool: mask.bool()",
    ),
    (
        lambda: F.scaled_dot_product_attention(tg.ones(2, 3), tg.ones(2, 4), tg.ones(2, 4), scale=1.0),
        ShapeError,
        "scaled_dot_product_attention((2, 3) float32, (2, 4) float32, (2, 4) float32, scale=1.0, causal=False, "
        "dropout_p=0.0) on cpu",
        "query has 3 features and key 4, but they are compared one by one",
        "project both to the same number of features",
    ),
    (
        lambda: F.scaled_dot_product_attention(tg.ones(2, 4), tg.ones(2, 4), tg.ones(3, 4), scale=1.0),
        ShapeError,
        "scaled_dot_product_attention((2, 4) float32, (2, 4) float32, (3, 4) float32, scale=1.0, causal=False, "
        "dropout_p=0.0) on cpu",
        "key has 2 rows, but value has 3",
        "give one row of value for each row of key",
    ),
    (
        lambda: F.scaled_dot_product_attention(tg.ones(3), tg.ones(2, 4), tg.ones(3, 4), scale=1.0),
        ShapeError,
        "scaled_dot_product_attention((3,) float32, (2, 4) float32, (3, 4) float32, scale=1.0, causal=False, "
        "dropout_p=0.0) on cpu",
        "query, key and value come as (…, rows, features)",
        "add the missing axes: x.unsqueeze(0)",
    ),
    (
        lambda: F.scaled_dot_product_attention(*[tg.ones(4, 2, 3)] * 3, tg.ones(5, 2, 2), 0.5, scale=1.0),
        ShapeError,
        "scaled_dot_product_attention((4, 2, 3) float32, (4, 2, 3) float32, (4, 2, 3) float32, (5, 2, 2) float32, "
        "scale=1.0, causal=False, dropout_p=0.5) on cpu",
        "a mask (5, 2, 2) cannot be stretched to the weights (…, 2, 2), or: the leading axes of (4, 2, 3), (4, 2, 3) "
        "and (4, 2, 3) cannot be stretched to one shape",
        "check which axis counts the heads; with enable_gqa=True heads of query share those of key",
    ),
    (
        lambda: F.scaled_dot_product_attention(*[tg.ones(n, 2, 3) for n in (3, 2, 2)], enable_gqa=True),
        ShapeError,
        "attention of query (3, 2, 3), key (2, 2, 3) and value (2, 2, 3)",
        "3 heads of query cannot be divided among 2 of key or value",
        "use a number of heads that divides query's",
    ),
    (
        lambda: F.one_hot(tg.tensor([0.0])),
        DtypeError,
        "one_hot((1,) float32, -1)",
        "class indices are int64",
        "convert them: x.long()",
    ),
    (
        lambda: F.one_hot(tg.tensor([0, 3]), 3),
        IndexRangeError,
        "one_hot((2,) int64, 3)",
        "the indices run from 0 to 3, but there are 3 classes, counted from 0",
        "count the classes from 0, or pass a larger num_classes",
    ),
    (
        lambda: F.one_hot(tg.tensor([-1])),
        IndexRangeError,
        "one_hot((1,) int64, -1)",
        "the indices run from -1 to -1, but there are 0 classes, counted from 0",
        "count the classes from 0, or pass a larger num_classes",
    ),
    (
        lambda: F.one_hot(tg.zeros(0, dtype="int64")),
        ShapeError,
        "one_hot((0,) int64, -1)",
        "there are no values to count the classes from",
        "pass num_classes",
    ),
]


@pytest.mark.parametrize(
    ("call", "kind", "tried", "why", "mend"), WRONG, ids=[f"{w[2].split('(')[0]}-{i}" for i, w in enumerate(WRONG)]
)
def test_text(call: Callable[[], Any], kind: type[EduError], tried: str, why: str, mend: str) -> None:
    with teaches(kind, tried, why, mend, "lambda: F."):
        call()


# Dropout of channels -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("drop", "shape"), [(F.dropout1d, (4, 5, 3)), (F.dropout1d, (5, 3)), (F.dropout2d, (4, 5, 3, 2))]
)
def test_dropout_of_channels_outside_of_training(drop: Any, shape: tuple[int, ...]) -> None:
    x = tg.ones(*shape)
    assert drop(x, 0.5, training=False) is x
    assert drop(x, 0.0).tolist() == x.tolist()


def test_dropout_of_channels_needs_channels() -> None:
    why, mend = "it drops channels of sequences (N, C, L) or (C, L)", "use dropout, which drops single elements"
    with teaches(ShapeError, "dropout1d((2, 3, 4, 5))", why, mend, line="dropout1d"):
        F.dropout1d(tg.zeros(2, 3, 4, 5))
    why, mend = (
        "it drops channels of images (N, C, H, W)",
        "use dropout1d for sequences (N, C, L), x.unsqueeze(0) for a single image",
    )
    with teaches(ShapeError, "dropout2d((3, 4, 5))", why, mend, line="dropout2d"):
        F.dropout2d(tg.zeros(3, 4, 5))
    with pytest.raises(DtypeError, match=r"^dropout1d\(\(3, 4\) int64\)"):
        F.dropout1d(tg.zeros(3, 4, dtype="int64"))


# Activations ---------------------------------------------------------------------------------------------------------

BENDS: dict[str, tuple[Callable[..., Any], Callable[[float], float]]] = {
    "relu6": (F.relu6, lambda x: min(max(x, 0), 6)),
    "hardtanh": (F.hardtanh, lambda x: min(max(x, -1), 1)),
    "selu": (F.selu, lambda x: 1.0507009873554805 * (x if x > 0 else 1.6732632423543772 * math.expm1(x))),
    "celu": (lambda x: F.celu(x, 0.5), lambda x: x if x > 0 else 0.5 * math.expm1(x / 0.5)),
    "mish": (F.mish, lambda x: x * math.tanh(math.log1p(math.exp(x)))),
    "hardsigmoid": (F.hardsigmoid, lambda x: min(max(x / 6 + 0.5, 0), 1)),
    "hardswish": (F.hardswish, lambda x: x * min(max(x / 6 + 0.5, 0), 1)),
    "threshold": (lambda x: F.threshold(x, 0.5, -2.0), lambda x: x if x > 0.5 else -2),
    "prelu": (lambda x: F.prelu(x, tg.tensor(0.3, dtype="float64")), lambda x: x if x > 0 else 0.3 * x),
    "softsign": (F.softsign, lambda x: x / (1 + abs(x))),
    "tanhshrink": (F.tanhshrink, lambda x: x - math.tanh(x)),
    "hardshrink": (F.hardshrink, lambda x: x if abs(x) > 0.5 else 0),
    "softshrink": (F.softshrink, lambda x: math.copysign(max(abs(x) - 0.5, 0), x)),
    "logsigmoid": (F.logsigmoid, lambda x: -math.log1p(math.exp(-x))),
}
AWAY = np.array([-4.1, -2.2, -1.3, -0.7, -0.4, 0.3, 0.7, 1.3, 2.2, 4.1, 6.3])  # from every corner


@pytest.mark.parametrize("name", BENDS)
def test_activations_by_hand(name: str) -> None:
    """Values, and slopes as finite differences."""
    bend, by_hand = BENDS[name]
    x = tg.tensor(AWAY, requires_grad=True)
    y = bend(x)
    np.testing.assert_allclose(y.detach().array, [by_hand(v) for v in AWAY], rtol=1e-12, atol=1e-14)
    y.sum().backward()
    slopes = [(by_hand(v + 1e-6) - by_hand(v - 1e-6)) / 2e-6 for v in AWAY]
    np.testing.assert_allclose(x.grad.array, slopes, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", sorted(BENDS.keys() - {"hardtanh", "relu6", "threshold"}))
def test_activations_of_integers(name: str) -> None:
    x = tg.tensor([1, 2])
    if name in ("softsign", "tanhshrink"):
        assert BENDS[name][0](x).dtype == np.float32
        return
    with pytest.raises(DtypeError, match="int64 has no fractions, but the result needs them"):
        BENDS[name][0](x)


def test_integers_that_stay_integers() -> None:
    x = tg.tensor([-3, 0, 4, 9])
    assert F.relu6(x).tolist() == [0, 0, 4, 6]
    assert F.hardtanh(x, -1.5, 5.5).tolist() == [-1, 0, 4, 5]
    assert F.threshold(x, 3, 7).tolist() == [7, 7, 4, 9]
    assert {f.dtype.name for f in (F.relu6(x), F.hardtanh(x), F.threshold(x, 3, 7))} == {"int64"}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_far_out_nothing_overflows(dtype: str) -> None:
    """Warnings are errors here."""
    x = tg.tensor([-1e4, 1e4], dtype=dtype, requires_grad=True)
    for bend, values, slopes in (
        (F.mish, [0.0, 1e4], [0.0, 1.0]),
        (F.logsigmoid, [-1e4, 0.0], [1.0, 0.0]),
        (F.hardswish, [0.0, 1e4], [0.0, 1.0]),
        (F.celu, [-1.0, 1e4], [0.0, 1.0]),
    ):
        y = bend(x)
        assert y.tolist() == values
        assert tg.autograd.grad(y.sum(), x)[0].tolist() == slopes


def test_small_logarithms_keep_their_digits() -> None:
    assert F.logsigmoid(tg.tensor(50.0, dtype="float64")).item() == pytest.approx(-math.exp(-50), rel=1e-12)


def test_slopes_at_corners() -> None:
    """PyTorch's: 0 at both ends of what is cut off, 1 where branches are tangents, the negative side's for prelu."""
    for bend, at, slope in (
        (F.relu6, 0.0, 0.0), (F.relu6, 6.0, 0.0), (F.hardtanh, 1.0, 0.0), (F.hardsigmoid, 3.0, 0.0),
        (F.hardswish, -3.0, 0.0), (F.hardswish, 3.0, 1.0), (F.celu, 0.0, 1.0), (F.softshrink, 0.5, 0.0),
        (lambda x: F.prelu(x, tg.tensor(0.25)), 0.0, 0.25), (F.softsign, 0.0, 1.0),
    ):  # fmt: skip
        x = tg.tensor(at, requires_grad=True)
        assert tg.autograd.grad(bend(x), x)[0].item() == slope


def test_prelu_has_a_slope_for_each_channel() -> None:
    x = tg.tensor([[[-1.0, 2.0], [-1.0, -3.0]]])
    weight = tg.tensor([0.5, 0.25], requires_grad=True)
    out = F.prelu(x, weight)
    assert out.tolist() == [[[-0.5, 2.0], [-0.25, -0.75]]]
    out.sum().backward()
    assert weight.grad.tolist() == [-1.0, -4.0]
    tried, why = "prelu of a tensor (1, 2, 2) with weight (3,)", "there are 2 channels along axis 1"
    with teaches(ShapeError, tried, why, "give it one weight, or one for each channel", line="prelu"):
        F.prelu(x, tg.zeros(3))


def test_glu_halves_an_axis() -> None:
    x = np.random.default_rng(0).normal(size=(4, 3))
    for dim in (0, -2):
        expected = x[:2] / (1 + np.exp(-x[2:]))
        np.testing.assert_allclose(F.glu(tg.tensor(x), dim).array, expected, rtol=1e-12)
    mend = "make the layer before it give twice as many numbers"
    with teaches(
        ShapeError, "glu of a tensor (4, 3) along dim=-1", "the axis has 3 elements, an odd number", mend, line="glu"
    ):
        F.glu(tg.tensor(x))
    with teaches(ShapeError, "glu of a tensor () along dim=-1", "a 0-d tensor has no axis to halve", mend, line="glu"):
        F.glu(tg.tensor(1.0))


def test_softmin_is_softmax_of_the_negative() -> None:
    x = tg.tensor([0.5, -1.0, 2.0])
    assert F.softmin(x, 0).tolist() == F.softmax(-x, 0).tolist()


@pytest.mark.parametrize(
    ("call", "tried", "why", "mend"),
    [
        (
            lambda x: F.celu(x, -1.0), "celu with alpha=-1.0",
            "x is divided by it, and below 0 the curve would bend the other way", "use a number above 0",
        ),
        (lambda x: F.softshrink(x, -0.5), "softshrink with lambd=-0.5", "it moves x towards 0", "use 0 or more"),
        (
            lambda x: F.hardtanh(x, 1.0, -1.0), "hardtanh with min_val=1.0 and max_val=-1.0",
            "min_val must be below max_val", "give the smaller one first",
        ),
    ],
    ids=["celu", "softshrink", "hardtanh"],
)  # fmt: skip
def test_numbers_that_bend_nothing(call: Any, tried: str, why: str, mend: str) -> None:
    with teaches(ArgumentError, tried, why, mend, line="F."):
        call(tg.ones(2))
