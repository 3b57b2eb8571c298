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


@pytest.mark.parametrize("name", set(BENDS) - {"hardtanh", "relu6", "threshold"})
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


# Images and sequences ------------------------------------------------------------------------------------------------


def test_adaptive_pool_of_sequences() -> None:
    x = np.arange(7.0)
    found = F.adaptive_avg_pool1d(tg.tensor(x[None]), 3)
    np.testing.assert_allclose(found.array, [[x[0:3].mean(), x[2:5].mean(), x[4:7].mean()]])
    tried = "adaptive_avg_pool1d of a tensor (7,) to 3"
    with teaches(ShapeError, tried, "it takes (N, C, L) or (C, L), and one size", "add the missing axes", line="adapt"):
        F.adaptive_avg_pool1d(tg.tensor(x), 3)


RESIZED: dict[str, tuple[tuple[int, ...], dict[str, Any]]] = {
    "nearest": ((1, 2, 3, 2), {"size": (5, 4)}),
    "twice": ((1, 2, 3, 2), {"scale_factor": 2}),
    "linear": ((2, 2, 4), {"size": 7, "mode": "linear"}),
    "bilinear": ((1, 2, 3, 2), {"scale_factor": (1.7, 0.6), "mode": "bilinear"}),
    "aligned": ((1, 2, 3, 2), {"size": (5, 1), "mode": "bilinear", "align_corners": True}),
}


@pytest.mark.parametrize("name", RESIZED)
def test_resizing_keeps_what_is_level_and_has_a_gradient(name: str) -> None:
    """Each result is a mean of inputs, so that the slopes of all results add up to how many there are."""
    shape, how = RESIZED[name]
    x = tg.tensor(np.random.default_rng(0).normal(size=shape), requires_grad=True)
    np.testing.assert_allclose(F.interpolate(x * 0 + 3.0, **how).detach().array, 3.0, rtol=1e-12)
    assert tg.autograd.gradcheck(lambda x: F.interpolate(x, **how), (x,))
    y = F.interpolate(x, **how)
    (slopes,) = tg.autograd.grad(y.sum(), x)
    assert slopes.sum().item() == pytest.approx(y.numel())


@pytest.mark.parametrize(
    ("kind", "how", "why", "mend"),
    [
        (ArgumentError, {"size": 2, "mode": "bicubic"}, "there is no such mode here", "use 'nearest' or 'bilinear'"),
        (ArgumentError, {}, "the size of the result comes from either size or scale_factor", "give one of them"),
        (
            ArgumentError, {"size": 2, "scale_factor": 2},
            "the size of the result comes from either size or scale_factor", "give one of them",
        ),
        (
            ShapeError, {"size": 3, "mode": "linear"},
            "it takes sequences (N, C, L), or images (N, C, H, W), and a size for each axis after the channels",
            "add the missing axes; 'linear' is for sequences, 'bilinear' for images",
        ),
        (ShapeError, {"scale_factor": 0.2}, "axis 2 has 3 places, and would have 0", "leave at least 1"),
    ],
)  # fmt: skip
def test_sizes_that_cannot_be(kind: Any, how: dict[str, Any], why: str, mend: str) -> None:
    given = {"size": None, "scale_factor": None, "mode": "nearest", **how}
    tried = ", ".join(f"{key}={value!r}" for key, value in given.items())
    with teaches(kind, f"interpolate((1, 2, 3, 2), {tried})", why, mend, line="interpolate"):
        F.interpolate(tg.zeros(1, 2, 3, 2), **how)


def test_instance_norm_needs_places() -> None:
    tried, mend = "instance_norm of a tensor (2, 3)", "add the missing axes: x.unsqueeze(0)"
    with teaches(ShapeError, tried, "it takes (N, C, L) or (N, C, H, W)", mend, line="instance_norm"):
        F.instance_norm(tg.zeros(2, 3))
    why = "each channel has a single place, which is its own mean: the result would be 0 for any input"
    mean = tg.zeros(3)
    mend = "use batch_norm, or normalise before the images are this small"
    with teaches(ShapeError, "instance_norm of a tensor (2, 3, 1)", why, mend, line="instance_norm"):
        F.instance_norm(tg.ones(2, 3, 1), mean)
    assert mean.tolist() == [0.0, 0.0, 0.0]


def test_relu_in_place() -> None:
    x = tg.tensor([-1.0, 2.0])
    assert F.relu_(x) is x
    assert x.tolist() == [0.0, 2.0]


def test_gumbel_softmax_draws_classes() -> None:
    scores = tg.tensor([[0.0, math.log(3.0)]]).expand(4000, 2)
    soft, hard = F.gumbel_softmax(scores, tau=0.5), F.gumbel_softmax(scores, hard=True)
    np.testing.assert_allclose(soft.sum(1).array, 1, rtol=1e-6)
    assert 0 < soft.min().item() < soft.max().item() < 1.0001
    np.testing.assert_allclose(hard.sort(1).values.mean(0).array, [0.0, 1.0], atol=1e-6)
    assert abs(hard[:, 1].mean().item() - 0.75) < 0.03
    along = F.gumbel_softmax(tg.zeros(3, 5), hard=True, dim=0)
    np.testing.assert_allclose(along.sum(0).array, 1, rtol=1e-6)


def test_a_hard_draw_has_the_soft_ones_gradient() -> None:
    grads = []
    for hard in (False, True):
        tg.manual_seed(3)
        x = tg.tensor([0.5, -1.0, 2.0], requires_grad=True)
        (F.gumbel_softmax(x, hard=hard) * tg.tensor([1.0, 10.0, 100.0])).sum().backward()
        grads.append(x.grad.tolist())
    assert grads[0] == pytest.approx(grads[1])
    with teaches(
        ArgumentError, "gumbel_softmax with tau=0", "scores are divided by this temperature",
        "use a number above 0; 1 is usual",
    ):  # fmt: skip
        F.gumbel_softmax(tg.zeros(2), tau=0)


@pytest.mark.parametrize("single", [False, True])
def test_unfold_makes_a_convolution_a_product(single: bool) -> None:
    rng = np.random.default_rng(0)
    x, weight = tg.tensor(rng.normal(size=(2, 3, 7, 6))), tg.tensor(rng.normal(size=(4, 3, 3, 2)))
    x = x[0] if single else x
    how = {"dilation": (2, 1), "padding": (1, 0), "stride": 2}
    expected = F.conv2d(x, weight, **how)
    columns = F.unfold(x, (3, 2), **how)
    assert columns.shape == (*x.shape[:-3], 18, expected.shape[-1] * expected.shape[-2])
    np.testing.assert_allclose((weight.reshape(4, -1) @ columns).array, expected.flatten(-2).array, rtol=1e-12)


@pytest.mark.parametrize(
    ("shape", "how", "why", "mend"),
    [
        ((5, 5), {}, "images come as (N, C, H, W) or (C, H, W), but this has 2 axes",
         "add the missing axes: x.unsqueeze(0)"),
        ((1, 2, 5), {}, "the window does not fit", "add padding, or use a smaller window"),
        ((1, 5, 5), {"stride": 0}, "the stride is (0, 0)", "use stride=1"),
        ((1, 5, 5), {"padding": -1}, "the padding is (-1, -1)", "use padding=1"),
    ],
)  # fmt: skip
def test_windows_that_cannot_be(shape: tuple[int, ...], how: dict[str, Any], why: str, mend: str) -> None:
    with teaches(ShapeError, f"unfold of a tensor {shape} into windows (3, 3)", why, mend):
        F.unfold(tg.ones(*shape), 3, **how)


# Images and bags ------------------------------------------------------------------------------------------------------


def test_fold_adds_up_what_overlaps() -> None:
    x = tg.arange(1.0, 10.0).reshape(1, 1, 3, 3)
    times = F.fold(F.unfold(tg.ones(1, 1, 3, 3), 2), 3, 2)
    assert times.tolist() == [[[[1, 2, 1], [2, 4, 2], [1, 2, 1]]]]
    assert F.fold(F.unfold(x, 2), 3, 2).tolist() == (x * times).tolist()


def test_shuffled_pixels_come_back_and_are_copies() -> None:
    x = tg.arange(16.0).reshape(4, 2, 2)
    assert F.pixel_shuffle(x, 2).tolist() == [[[0, 4, 1, 5], [8, 12, 9, 13], [2, 6, 3, 7], [10, 14, 11, 15]]]
    assert F.pixel_unshuffle(F.pixel_shuffle(x, 2), 2).tolist() == x.tolist()
    for copied in (F.pixel_shuffle(x, 1), F.pixel_unshuffle(x, 1)):
        copied.zero_()
    assert x.tolist() == np.arange(16.0).reshape(4, 2, 2).tolist()


def test_rows_named_more_often_in_bags_get_less() -> None:
    """By how often they are named in all bags together: PyTorch counts others than those that it divides."""
    table = tg.ones(4, 1, requires_grad=True)
    F.embedding_bag(tg.tensor([[0, 1], [1, 1]]), table, mode="sum", scale_grad_by_freq=True).sum().backward()
    assert table.grad.tolist() == [[1], [1], [0], [0]]


def test_the_last_offset_ends_the_last_bag() -> None:
    """As PyTorch's words have it. Its sums and means go on to the last index; its largest elements do not."""
    for mode in ("sum", "max"):
        out = bags(tg.tensor([0, 1, 2]), tg.tensor([0, 1]), mode=mode, include_last_offset=True)
        assert out.tolist() == [[1, 1]]


@pytest.mark.parametrize(
    ("call", "kind", "why", "mend"),
    [
        (lambda: F.fold(tg.ones(4), 3, 2), ShapeError, "columns are", "into one"),
        (lambda: F.fold(tg.ones(3, 4), 3, 2), ShapeError, "a column has 3 elements", "kernel_size"),
        (lambda: F.fold(tg.ones(4, 5), 3, 2), ShapeError, "there are 5 windows", "H and W"),
        (lambda: F.fold(tg.ones(4, 5), 3, 4), ShapeError, "does not fit", "smaller window"),
        (lambda: F.pixel_shuffle(tg.ones(3, 2, 2), 2), ShapeError, "3 channels do not make squares", "multiple of 4"),
        (lambda: F.pixel_shuffle(tg.ones(2, 2), 1), ShapeError, "images are", "unsqueeze"),
        (lambda: F.pixel_shuffle(tg.ones(2, 2, 2), 0), ArgumentError, "side of a square", "upscale_factor=2"),
        (lambda: F.pixel_unshuffle(tg.ones(1, 4, 3), 2), ShapeError, "4 x 3 pixels", "multiples of 2"),
        (lambda: F.adaptive_max_pool1d(tg.ones(3), 2), ShapeError, "(N, C, L) or (C, L)", "unsqueeze"),
        (lambda: F.adaptive_max_pool2d(tg.ones(1, 3, 3), (2,)), ShapeError, "2 axes to divide, but 1", "one size"),
        (lambda: F.adaptive_max_pool2d(tg.ones(1, 3, 3), 0), ArgumentError, "result would be empty", "1 or more"),
        (lambda: F.local_response_norm(tg.ones(2, 3), 2), ShapeError, "(N, C, …)", "add the missing axes"),
        (lambda: F.local_response_norm(tg.ones(2, 3, 1), 0), ArgumentError, "number of channels", "size=1"),
        (lambda: bags(tg.tensor([0, 1])), ShapeError, "with the offsets", "pass offsets"),
        (lambda: bags(tg.tensor([[0, 1]]), tg.tensor([0])), ShapeError, "with the offsets", "pass offsets"),
        (lambda: bags(tg.tensor([0, 1]), tg.tensor([1])), IndexRangeError, "rise from 0", "start with 0"),
        (lambda: bags(tg.tensor([0, 1]), tg.tensor([0, 3])), IndexRangeError, "to at most 2 indices", "start with 0"),
        (lambda: bags(tg.tensor([0, 1]), tg.tensor([0.0])), DtypeError, "offsets must be integers", "begins"),
        (lambda: bags(tg.tensor([0, 1]), tg.tensor([[0]])), ShapeError, "offsets must be integers", "begins"),
        (lambda: bags(tg.tensor([[0, 1]]), mode="last"), ArgumentError, "no such mode", "'sum'"),
        (lambda: bags(tg.tensor([[0, 1]]), sparse=True), ArgumentError, "are dense", "sparse out"),
        (lambda: bags(tg.tensor([[0, 5]])), IndexRangeError, "the table has 3 rows", "larger"),
        (
            lambda: bags(tg.tensor([[0, 1]]), mode="max", scale_grad_by_freq=True),
            ArgumentError, "goes to one row", "mode='sum'",
        ),
        (
            lambda: bags(tg.tensor([[0, 1]]), per_sample_weights=tg.ones(1, 2)),
            ArgumentError, "the rows of a sum", "mode='sum'",
        ),
        (
            lambda: bags(tg.tensor([[0, 1]]), mode="sum", per_sample_weights=tg.ones(2)),
            ShapeError, "do not fit indices", "one weight for each",
        ),
        (
            lambda: bags(tg.tensor([[0, 1]]), mode="sum", per_sample_weights=tg.ones(1, 2, dtype="float64")),
            DtypeError, "the table is float32", "weight.dtype",
        ),
    ],
)  # fmt: skip
def test_images_and_bags_that_cannot_be(call: Any, kind: type[EduError], why: str, mend: str) -> None:
    with pytest.raises(kind) as caught:
        call()
    assert type(caught.value) is kind
    assert why in caught.value.why
    assert mend in caught.value.mend


def bags(x: Any, offsets: Any = None, **how: Any) -> Any:
    return F.embedding_bag(x, tg.ones(3, 2), offsets, **how)


# Volumes --------------------------------------------------------------------------------------------------------------


def test_a_kernel_of_one_plane_sees_planes() -> None:
    """And of one row in depth, what a convolution of sequences sees."""
    rng = np.random.default_rng(0)
    x, plane = tg.tensor(rng.normal(size=(2, 3, 4, 5, 6))), tg.tensor(rng.normal(size=(2, 3, 2, 3)))
    found = F.conv3d(x, plane.unsqueeze(2))
    for d in range(4):
        np.testing.assert_allclose(found[:, :, d].numpy(), F.conv2d(x[:, :, d], plane).numpy())
    deep = F.conv3d(x, plane[:, :, 0].reshape(2, 3, 3, 1, 1), stride=(1, 5, 6))
    along = F.conv1d(x[:, :, :, 0, 0], plane[:, :, 0])
    np.testing.assert_allclose(deep.flatten(2).numpy(), along.numpy())


@pytest.mark.parametrize("how", [{}, {"stride": 2, "padding": 1}, {"groups": 2, "dilation": (2, 1, 1)}], ids=str)
def test_a_transpose_of_volumes_is_the_adjoint(how: dict[str, Any]) -> None:
    rng = np.random.default_rng(1)
    weight = tg.tensor(rng.normal(size=(4, 4 // how.get("groups", 1), 2, 2, 2)))
    x = tg.tensor(rng.normal(size=(1, 4, 4, 4, 4)), requires_grad=True)
    out = F.conv3d(x, weight, **how)
    g = tg.tensor(rng.normal(size=out.shape))
    (out * g).sum().backward()
    np.testing.assert_allclose(F.conv_transpose3d(g, weight, **how).numpy(), x.grad.numpy())


def test_slopes_of_volumes() -> None:
    rng = np.random.default_rng(2)
    x = tg.tensor(rng.permutation(24).astype(float).reshape(1, 2, 3, 2, 2), requires_grad=True)
    weight = tg.tensor(rng.normal(size=(2, 2, 2, 1, 2)), requires_grad=True)
    for call in (F.conv3d, F.conv_transpose3d):
        assert tg.autograd.gradcheck(lambda x, w, call=call: call(x, w, None, 1, (1, 0, 0)), (x, weight))
        assert tg.autograd.gradgradcheck(lambda x, w, call=call: call(x, w, None, 1, (1, 0, 0)), (x, weight))
    for pool in (F.max_pool3d, F.avg_pool3d):
        assert tg.autograd.gradcheck(lambda x, pool=pool: pool(x, (2, 1, 2), 1), x)
    for adaptive in (F.adaptive_max_pool3d, F.adaptive_avg_pool3d):
        assert tg.autograd.gradcheck(lambda x, adaptive=adaptive: adaptive(x, (2, 1, 2)), x)


SOLID = (1, 2, 3, 3, 3)


@pytest.mark.parametrize(
    ("call", "kind", "why", "mend"),
    [
        (lambda x: F.conv3d(x, tg.ones(2, 2, 2, 2)), ShapeError, "kernels are (F, C, kd, kh, kw)", "reshape"),
        (lambda x: F.conv3d(x[0, 0], tg.ones(2, 2, 2, 2, 2)), ShapeError, "volumes are", "unsqueeze"),
        (lambda x: F.conv3d(x, tg.ones(2, 3, 2, 2, 2)), ShapeError, "reads 3 channels, but the volume has 2", "for 2"),
        (lambda x: F.conv3d(x, tg.ones(2, 2, 4, 2, 2)), ShapeError, "(4, 2, 2) does not fit", "smaller kernel"),
        (lambda x: F.conv3d(x, tg.ones(3, 1, 2, 2, 2), groups=2), ArgumentError, "among 2 groups", "divides"),
        (lambda x: F.conv3d(x, tg.ones(2, 2, 2, 2, 2), tg.ones(3)), ShapeError, "the bias is (3,)", "bias (2,)"),
        (lambda x: F.conv3d(x, tg.ones(2, 2, 2, 2, 2).double()), DtypeError, "are float32, but", "x.to(weight.dtype)"),
        (lambda x: F.conv3d(x, tg.ones(2, 2, 2, 2, 2), stride=0), ShapeError, "stride must be at least 1", "stride=1"),
        (lambda x: F.conv3d(x, tg.ones(2, 2, 2, 2, 2), padding=-1), ShapeError, "at least 0", "padding=0"),
        (lambda x: F.conv3d(x, tg.ones(2, 2, 2, 2, 2), None, 2, "same"), ArgumentError, "smaller", "as a number"),
        (lambda x: F.conv_transpose3d(x, tg.ones(3, 2, 2, 2, 2)), ShapeError, "the volume has 2", "for 2 channels"),
        (
            lambda x: F.conv_transpose3d(x, tg.ones(2, 2, 2, 2, 2), output_padding=1),
            ShapeError, "not below stride", "less output_padding",
        ),
        (lambda x: F.conv_transpose3d(x, tg.ones(2, 2, 1, 1, 1), padding=2), ShapeError, "cuts off", "less padding"),
        (lambda x: F.max_pool3d(x[0, 0], 2), ShapeError, "(N, C, D, H, W) or (C, D, H, W)", "unsqueeze"),
        (lambda x: F.max_pool3d(x, 4), ShapeError, "a window of 4 does not fit into 3", "smaller window"),
        (lambda x: F.max_pool3d(x, 2, 0), ShapeError, "the stride is (0, 0, 0)", "stride=1"),
        (lambda x: F.max_pool3d(x, 2, 1, 2), ShapeError, "more than half", "less padding"),
        (lambda x: F.max_pool3d(x, 2, 1, 2, 4), ShapeError, "nothing but padding", "less padding"),
        (lambda x: F.avg_pool3d(x, 2, divisor_override=0), ArgumentError, "divided by 0", "leave it out"),
        (lambda x: F.adaptive_avg_pool3d(x, 0), ArgumentError, "result would be empty", "1 or more"),
        (lambda x: F.dropout3d(x[0, 0]), ShapeError, "channels of volumes", "dropout2d"),
    ],
)  # fmt: skip
def test_volumes_that_cannot_be(call: Any, kind: type[EduError], why: str, mend: str) -> None:
    with pytest.raises(kind) as caught:
        call(tg.ones(SOLID))
    assert type(caught.value) is kind
    assert why in caught.value.why
    assert mend in caught.value.mend
