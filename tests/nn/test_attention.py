"""Attention of several heads against attention written out in NumPy; what masks hide; what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tinygrad_edu as tg
from tests.support import teaches
from tinygrad_edu import nn
from tinygrad_edu.errors import ArgumentError, DtypeError, ShapeError

Array = Any


def numbers(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng([seed, *shape]).normal(size=shape)


def close(ours: Any, expected: Array) -> None:
    assert ours.shape == expected.shape
    np.testing.assert_allclose(ours.detach().array, expected, rtol=1e-11, atol=1e-13)


def by_hand(m: Any, query: Array, key: Array, value: Array, hidden: Array) -> tuple[Array, Array]:
    """Output (N, L, E) and weights (N, heads, L, S), sample by sample and head by head; ``hidden`` is (N, L, S)."""
    state = {name: t.array for name, t in m.state_dict().items()}
    if "in_proj_weight" in state:
        projections = np.split(state["in_proj_weight"], 3)
    else:
        projections = [state[f"{name}_proj_weight"] for name in "qkv"]
    biases = np.split(state.get("in_proj_bias", np.zeros(3 * m.embed_dim)), 3)
    q, k, v = (x @ w.T + b for x, w, b in zip((query, key, value), projections, biases, strict=True))
    found, weights = np.zeros(q.shape), np.zeros((len(q), m.num_heads, q.shape[1], k.shape[1]))
    for n in range(len(q)):
        for head in range(m.num_heads):
            part = slice(head * m.head_dim, (head + 1) * m.head_dim)
            powers = np.exp(q[n, :, part] @ k[n, :, part].T / np.sqrt(m.head_dim)) * ~hidden[n]
            weights[n, head] = powers / powers.sum(-1, keepdims=True)
            found[n, :, part] = weights[n, head] @ v[n, :, part]
    return found @ state["out_proj.weight"].T + state.get("out_proj.bias", 0.0), weights


@settings(max_examples=60, deadline=None)
@given(
    sizes=st.tuples(*(st.integers(1, 4),) * 5),
    features=st.tuples(st.none() | st.integers(1, 4), st.none() | st.integers(1, 4)),
    flags=st.tuples(*(st.booleans(),) * 6),
)
def test_attention_is_what_it_says(sizes: Any, features: Any, flags: Any) -> None:
    """Output and weights, for all sizes, layouts, projections and masks, in both ways of computing."""
    (batch, rows, columns, heads, size), (first, bias, need, average, looks, pads) = sizes, flags
    m = nn.MultiheadAttention(
        heads * size, heads, bias=bias, kdim=features[0], vdim=features[1], batch_first=first, dtype="f8"
    )
    inputs = [numbers(batch, rows, m.embed_dim), numbers(batch, columns, m.kdim), numbers(batch, columns, m.vdim)]
    rng = np.random.default_rng(rows)
    look, pad = rng.random((rows, columns)) < 0.5 * looks, rng.random((batch, columns)) < 0.5 * pads
    look[:, 0] = pad[:, 0] = False  # every row may look somewhere
    output, weights = m(
        *(tg.tensor(x if first else x.swapaxes(0, 1)) for x in inputs), need_weights=need,
        average_attn_weights=average, attn_mask=tg.tensor(look) if looks else None,
        key_padding_mask=tg.tensor(pad) if pads else None,
    )  # fmt: skip
    expected, expected_weights = by_hand(m, *inputs, look | pad[:, None])
    close(output, expected if first else expected.swapaxes(0, 1))
    if need:
        close(weights, expected_weights.mean(1) if average else expected_weights)
    else:
        assert weights is None


@pytest.mark.parametrize("first", [False, True])
def test_one_sequence_is_a_batch_of_one(first: bool) -> None:
    m, axis = nn.MultiheadAttention(6, 2, batch_first=first), 0 if first else 1
    x, padding = tg.randn(4, 6), tg.tensor([False, True, False, False])
    output, weights = m(x, x, x, key_padding_mask=padding)
    outputs, many = m(*(x.unsqueeze(axis),) * 3, key_padding_mask=padding.unsqueeze(0))
    assert output.shape == (4, 6)
    assert weights.shape == (4, 4)
    assert output.tolist() == outputs.squeeze(axis).tolist()
    assert weights.tolist() == many.squeeze(0).tolist()


@pytest.mark.parametrize("need", [True, False])
@pytest.mark.parametrize("how", [{}, {"kdim": 3, "vdim": 5}, {"add_bias_kv": True, "add_zero_attn": True}], ids=str)
def test_gradients_are_the_slopes(need: bool, how: dict[str, Any]) -> None:
    m = nn.MultiheadAttention(4, 2, dtype="f8", **how)
    q, k, v = (tg.tensor(numbers(2, 1, size, seed=i), requires_grad=True) for i, size in enumerate((4, m.kdim, m.vdim)))
    names = dict(m.named_parameters())

    def run(q: Any, k: Any, v: Any, *parameters: Any) -> Any:
        for name, parameter in zip(names, parameters, strict=True):
            path, _, last = name.rpartition(".")
            vars(m.get_submodule(path))[last] = parameter
        return tuple(x for x in m(q, k, v, need_weights=need) if x is not None)

    assert tg.autograd.gradcheck(run, (q, k, v, *names.values()))


def test_itself_in_one_product() -> None:
    """The same tensor three times gives what three equal tensors give, by one product in place of three."""
    m, x = nn.MultiheadAttention(6, 2, dtype="f8"), tg.tensor(numbers(4, 2, 6))
    with tg.no_grad():
        close(m(x, x, x)[0], m(x, x.clone(), x.clone())[0].array)
    products = []

    class Products(tg.core.slow.Interceptor):
        def forward(self, call: Any, proceed: Any) -> Any:
            products.extend([call.op.name] * (call.op.name == "linear"))
            return proceed()

    with Products():
        m(x, x, x)
        assert len(products) == 2
        m(x, x, x.clone())
        assert len(products) == 6


# Masks -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("need", [True, False])
@pytest.mark.parametrize("floats", [False, True])
def test_what_a_mask_hides_does_not_matter(need: bool, floats: bool) -> None:
    """True hides, in both masks; nothing that is hidden changes the output or gets a gradient."""
    m = nn.MultiheadAttention(6, 2, batch_first=True)
    hidden = tg.tensor([[False, True, False, True], [False, False, True, True]])
    padding = tg.zeros(2, 4).masked_fill(hidden, -float("inf")) if floats else hidden
    query, key = tg.randn(2, 3, 6), tg.randn(2, 4, 6).requires_grad_()
    output, _ = m(query, key, key, key_padding_mask=padding, need_weights=need)
    other = key.detach() + hidden.unsqueeze(-1) * 100.0
    assert m(query, other, other, key_padding_mask=padding, need_weights=need)[0].tolist() == output.tolist()
    output.sum().backward()
    reached = (key.grad != 0).any(-1)
    assert reached.tolist() == (~hidden).tolist()


@pytest.mark.parametrize("need", [True, False])
def test_bools_and_their_floats_are_one_mask(need: bool) -> None:
    m, x = nn.MultiheadAttention(6, 2, batch_first=True, dtype="f8"), tg.tensor(numbers(2, 4, 6))
    look, pad = tg.ones(4, 4).triu(1).bool(), tg.tensor([[False] * 4, [False, False, False, True]])
    plain = m(x, x, x, pad, need, look)[0]

    def added(mask: Any) -> Any:
        return tg.zeros(mask.shape).masked_fill(mask, -float("inf"))

    for one, other in ((added(look), pad), (look, added(pad)), (added(look), added(pad))):
        close(m(x, x, x, other, need, one)[0], plain.detach().array)
    close(m(x, x, x, pad, need, look.expand(4, 4, 4))[0], plain.detach().array)


@pytest.mark.parametrize("need", [True, False])
@pytest.mark.parametrize("floats", [False, True])
def test_a_row_that_may_look_at_nothing_finds_zeros(need: bool, floats: bool) -> None:
    """Where PyTorch has nan as soon as weights are asked for. What is learnt of it stays finite."""
    m = nn.MultiheadAttention(6, 2, batch_first=True)
    x, padding = tg.randn(2, 3, 6, requires_grad=True), tg.tensor([[True] * 3, [False] * 3])
    if floats:
        padding = tg.zeros(2, 3).masked_fill(padding, -float("inf"))
    output, weights = m(x, x, x, padding, need)
    np.testing.assert_array_equal(output[0].detach().array, np.tile(m.out_proj.bias.detach().array, (3, 1)))
    if need:
        assert weights[0].tolist() == [[0.0] * 3] * 3
    output.sum().backward()
    assert all(g.isfinite().all().item() for g in (x.grad, *(p.grad for p in m.parameters())))


def test_dropout_takes_weights_in_training_only() -> None:
    m, x = nn.MultiheadAttention(6, 2, dropout=1.0), tg.randn(4, 2, 6)
    for need in (True, False):
        dropped, weights = m.train()(x, x, x, need_weights=need)
        assert dropped.tolist() == m.out_proj.bias.expand(4, 2, 6).tolist()
        assert weights is None or not weights.any().item()
        assert m.eval()(x, x, x, need_weights=need)[0].tolist() != dropped.tolist()


def test_rows_that_are_added() -> None:
    """A row that is learnt and one of zeros, last, seen by all, whatever masks say of the others."""
    m = nn.MultiheadAttention(6, 2, add_bias_kv=True, add_zero_attn=True)
    assert list(m.state_dict())[2:4] == ["bias_k", "bias_v"]
    assert m.bias_k.shape == (1, 1, 6)
    x = tg.randn(4, 2, 6)
    assert m(x, x, x)[1].shape == (2, 4, 6)
    for hidden in (tg.ones(2, 4).bool(), tg.full((2, 4), -float("inf"))):
        weights = m(x, x, x, key_padding_mask=hidden)[1]
        assert not weights[..., :4].any().item()
        np.testing.assert_allclose(weights[..., 4:].sum(-1).tolist(), 1, rtol=1e-6)


# Parameters --------------------------------------------------------------------------------------------------


def test_names_shapes_and_order_are_those_of_pytorch() -> None:
    shapes = {name: t.shape for name, t in nn.MultiheadAttention(6, 2).state_dict().items()}
    assert list(shapes.items()) == [
        ("in_proj_weight", (18, 6)), ("in_proj_bias", (18,)), ("out_proj.weight", (6, 6)), ("out_proj.bias", (6,))
    ]  # fmt: skip
    separate = nn.MultiheadAttention(6, 2, kdim=3, bias=False)
    assert {name: t.shape for name, t in separate.state_dict().items()} == {
        "q_proj_weight": (6, 6), "k_proj_weight": (6, 3), "v_proj_weight": (6, 6), "out_proj.weight": (6, 6)
    }  # fmt: skip
    assert separate.in_proj_weight is None


def test_initial_values() -> None:
    """Spread by Glorot's rule over the packed weight; biases are 0."""
    m = nn.MultiheadAttention(60, 3)
    bound = (6 / (60 + 180)) ** 0.5
    assert 0.98 * bound < m.in_proj_weight.detach().abs().max().item() <= bound
    assert not m.in_proj_bias.any().item()
    assert not m.out_proj.bias.any().item()
    assert 0.98 * 60**-0.5 < m.out_proj.weight.detach().abs().max().item() <= 60**-0.5


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("need", [True, False])
def test_half_precision(dtype: str, need: bool) -> None:
    exact, half = nn.MultiheadAttention(6, 2), nn.MultiheadAttention(6, 2, dtype=dtype)
    half.load_state_dict(exact.state_dict())
    x, mask = tg.randn(4, 2, 6), nn.Transformer.generate_square_subsequent_mask(4)
    output, weights = half(*(x.to(dtype),) * 3, attn_mask=mask, need_weights=need)
    assert output.dtype.name == dtype
    assert weights is None or weights.dtype.name == dtype
    np.testing.assert_allclose(output.float().tolist(), exact(x, x, x, attn_mask=mask)[0].tolist(), atol=0.05)


@pytest.mark.parametrize("need", [True, False])
def test_another_device(need: bool) -> None:
    m = nn.MultiheadAttention(6, 2, add_bias_kv=True, add_zero_attn=True, device="far")
    x, padding = tg.randn(4, 2, 6, device="far"), tg.zeros(2, 4, device="far").bool()
    output, _ = m(x, x, x, padding, need, tg.zeros(4, 4, device="far"))
    output.sum().backward()
    assert {output.device, *(p.grad.device for p in m.parameters())} == {"far"}


# Refusals ----------------------------------------------------------------------------------------------------


def test_inputs_that_do_not_fit() -> None:
    m, x = nn.MultiheadAttention(6, 2), tg.zeros(4, 2, 6)
    tried = "MultiheadAttention of query {}, key {}, value {}"
    mend = "check the axes, or make the layer with other embed_dim, kdim or vdim"
    for name, inputs in (("query", (x[..., :5], x, x)), ("key", (x, x[..., :5], x)), ("value", (x, x, x[..., :5]))):
        said = tried.format(*(x.shape for x in inputs))
        with teaches(ShapeError, said, f"{name} has 5 features, but the layer was made for 6", mend, "m(*inputs)"):
            m(*inputs)
    why, mend = (
        "all three must have axes (L, N, features), or all (L, features) without a batch",
        "add or join axes: unsqueeze, flatten",
    )
    for inputs in ((x, x[0], x), (x[0, 0],) * 3, (x.unsqueeze(0),) * 3):
        with teaches(ShapeError, tried.format(*(x.shape for x in inputs)), why, mend, "m(*inputs)"):
            m(*inputs)
    said, mend = tried.format(x.shape, x.shape, (3, 2, 6)), "give one row of value per row of key"
    with teaches(ShapeError, said, "key and value differ in length", mend, "m(x, x, x[:3])"):
        m(x, x, x[:3])
    why, other = "query is a batch of 2, but key and value of 3", tg.zeros(4, 3, 6)
    said, mend = tried.format(x.shape, other.shape, other.shape), "check batch_first, which is False"
    with teaches(ShapeError, said, why, mend, "m(x, other, other)"):
        m(x, other, other)


def test_masks_that_do_not_fit() -> None:
    m, x = nn.MultiheadAttention(6, 2), tg.zeros(4, 3, 6)
    tried = "MultiheadAttention of query (4, 3, 6), key (4, 3, 6), value (4, 3, 6)"
    mend = "its rows are queries, its columns keys"
    why = "attn_mask is (3, 4), but it must be (4, 4) or (6, 4, 4)"
    with teaches(ShapeError, tried, why, mend, "attn_mask="):
        m(x, x, x, attn_mask=tg.zeros(3, 4))
    why = "key_padding_mask is (4, 3), but it must be (3, 4)"
    with teaches(ShapeError, tried, why, mend, "key_padding_mask="):
        m(x, x, x, key_padding_mask=tg.zeros(4, 3))
    why = "attn_mask is int64: a mask is bool (what to ignore) or float (added to the scores)"
    with teaches(DtypeError, tried, why, "make it bool: mask.bool()", "attn_mask="):
        m(x, x, x, attn_mask=tg.zeros(4, 4).long())
    why = "is_causal only says that the mask is causal, but attn_mask is missing"
    mend = "pass attn_mask=nn.Transformer.generate_square_subsequent_mask(L)"
    with teaches(ArgumentError, tried, why, mend, "is_causal=True"):
        m(x, x, x, is_causal=True)


@pytest.mark.parametrize("sizes", [(6, 4), (0, 1), (6, 0), (6, -2)])
def test_heads_share_the_features(sizes: tuple[int, int]) -> None:
    tried = "MultiheadAttention with embed_dim={} and num_heads={}".format(*sizes)
    why, mend = "each head gets the same number of features", "use a number of heads that divides embed_dim"
    with teaches(ArgumentError, tried, why, mend, "nn.MultiheadAttention("):
        nn.MultiheadAttention(*sizes)
