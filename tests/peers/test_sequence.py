"""Recurrent layers, attention and transformers beside PyTorch's: weights move both ways, and then all numbers agree."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg

torch = pytest.importorskip("torch", reason="needs PyTorch: pip install -e '.[peers]'")
NESTED = "ignore:enable_nested_tensor is True:UserWarning"  # PyTorch's, of a way in which it does not compute
pytestmark = [pytest.mark.peers, pytest.mark.filterwarnings(NESTED)]

TOLERANCE = 1e-10  # in float64


def data(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng([seed, *shape]).normal(size=shape)


def pair(name: str, *sizes: Any, **how: Any) -> tuple[Any, Any]:
    """The same module of both, in float64, with PyTorch's values; and back again, so that both ways are gone."""
    theirs = getattr(torch.nn, name)(*sizes, dtype=torch.float64, **how)
    ours = getattr(tg.nn, name)(*sizes, dtype="f8", **how)
    with torch.no_grad():
        for p in theirs.parameters():
            p.copy_(torch.randn(p.shape, dtype=p.dtype, generator=torch.Generator().manual_seed(p.numel())) * 0.5)
    agree(ours, theirs)
    return ours, theirs


def agree(ours: Any, theirs: Any) -> None:
    """Names, order, shapes and repr are equal; then values are loaded into ours, and from there into PyTorch's."""
    state = {name: value.numpy() for name, value in theirs.state_dict().items()}
    assert [(name, t.shape) for name, t in ours.state_dict().items()] == [(n, v.shape) for n, v in state.items()]
    assert [name for name, _ in ours.named_parameters()] == [name for name, _ in theirs.named_parameters()]
    assert repr(ours) == repr(theirs).replace("NonDynamicallyQuantizableLinear", "Linear")
    ours.load_state_dict(state)
    back = {name: torch.from_numpy(value.array.copy()) for name, value in ours.state_dict().items()}
    assert not any(theirs.load_state_dict(back))


def flat(tree: Any) -> list[Any]:
    """The tensors of a nested result."""
    return [x for part in tree for x in flat(part)] if isinstance(tree, tuple) else [] if tree is None else [tree]


def same(ours: Any, theirs: Any, inputs: list[Any], call: Any) -> None:
    """Results, and the gradients of inputs and parameters, of ``call(module, *inputs)``."""
    here = [tg.tensor(x, requires_grad=x.dtype.kind == "f") for x in inputs]
    there = [torch.tensor(x, requires_grad=x.dtype.kind == "f") for x in inputs]
    results, expected = flat(call(ours, *here)), flat(call(theirs, *there))
    assert [r.shape for r in results] == [tuple(r.shape) for r in expected]
    total: Any = sum((r * tg.tensor(data(*r.shape, seed=i))).sum() for i, r in enumerate(results))
    wanted: Any = sum((r * torch.tensor(data(*r.shape, seed=i))).sum() for i, r in enumerate(expected))
    total.backward()
    wanted.backward()
    pairs = [*zip(results, expected, strict=True), *zip(ours.parameters(), theirs.parameters(), strict=True)]
    pairs += [(x, y) for x, y in zip(here, there, strict=True) if y.requires_grad]
    for mine, other in pairs:
        other_grad = other.grad if other.is_leaf else None
        for a, b in ((mine, other), (mine.grad if other.is_leaf else None, other_grad)):
            assert (a is None) == (b is None)
            if a is not None:
                np.testing.assert_allclose(a.detach().array, b.detach().numpy(), rtol=TOLERANCE, atol=TOLERANCE)


# Recurrences -------------------------------------------------------------------------------------------------

RECURRENT = [("RNN", {}), ("RNN", {"nonlinearity": "relu"}), ("LSTM", {}), ("GRU", {})]


@pytest.mark.parametrize(("layers", "bias", "first", "both"), [(1, True, False, False), (2, False, True, True)])
@pytest.mark.parametrize("begun", [False, True])
@pytest.mark.parametrize("batched", [False, True])
def test_projections(layers: int, bias: bool, first: bool, both: bool, begun: bool, batched: bool) -> None:
    """The names of the weights too, and the order of PyTorch's arguments."""
    ours, theirs = pair("LSTM", 3, 5, layers, bias, first, 0.0, both, 2)
    assert repr(ours) == repr(theirs)
    assert ours._flat_weights_names == theirs._flat_weights_names
    assert [w.shape for w in ours._flat_weights] == [tuple(w.shape) for w in theirs._flat_weights]
    assert [len(row) for row in ours.all_weights] == [len(row) for row in theirs.all_weights]
    x = data(*((2, 4, 3) if first and batched else (4, *((2,) if batched else ()), 3)))
    lead = (layers * (1 + both), *((2,) if batched else ()))
    states = [data(*lead, 2, seed=1), data(*lead, 5, seed=2)] if begun else []
    same(ours, theirs, [x, *states], lambda m, x, *states: m(x, states or None))


@pytest.mark.parametrize(("name", "how"), RECURRENT)
@pytest.mark.parametrize(
    ("layers", "bias", "first", "both", "begun", "batched"), [
        (1, True, False, False, False, True), (1, True, False, False, True, False), (1, False, True, True, True, True),
        (2, True, True, False, True, True), (2, False, False, True, False, True), (3, True, False, True, True, True),
        (2, True, True, True, True, False),
    ],
)  # fmt: skip
def test_recurrent_layers(
    name: str, how: dict[str, str], layers: int, bias: bool, first: bool, both: bool, begun: bool, batched: bool
) -> None:
    ours, theirs = pair(name, 3, 4, layers, bias=bias, batch_first=first, bidirectional=both, **how)
    batch = (2,) if batched else ()
    x = data(*((2, 5, 3) if first and batched else (5, *batch, 3)))
    states = [data(layers * (1 + both), *batch, 4, seed=i) for i in range(1 + (name == "LSTM"))] if begun else []

    def call(m: Any, x: Any, *states: Any) -> Any:
        return m(x, (states if name == "LSTM" else states[0]) if states else None)

    for mode in (True, False):
        same(ours.train(mode), theirs.train(mode), [x, *states], call)
        ours.zero_grad()
        theirs.zero_grad()


@pytest.mark.parametrize(("name", "how"), RECURRENT)
@pytest.mark.parametrize(("bias", "begun", "batched"), list(product([True, False], repeat=3)))
def test_cells(name: str, how: dict[str, str], bias: bool, begun: bool, batched: bool) -> None:
    ours, theirs = pair(f"{name}Cell", 3, 4, bias=bias, **how)
    batch = (2,) if batched else ()
    states = [data(*batch, 4, seed=i) for i in range(1 + (name == "LSTM"))] if begun else []

    def call(m: Any, x: Any, *states: Any) -> Any:
        return m(x, (states if name == "LSTM" else states[0]) if states else None)

    same(ours, theirs, [data(*batch, 3), *states], call)


@pytest.mark.parametrize("name", ["RNN", "LSTM", "GRU"])
def test_dropout_between_layers_in_eval_mode(name: str) -> None:
    ours, theirs = pair(name, 3, 4, 2, dropout=0.5)
    same(ours.eval(), theirs.eval(), [data(5, 2, 3)], lambda m, x: m(x))


@pytest.mark.parametrize("name", ["RNN", "LSTM", "GRU", "RNNCell", "LSTMCell", "GRUCell"])
def test_recurrent_weights_are_drawn_alike(name: str) -> None:
    drawn_alike(name, 60, 50)


def drawn_alike(name: str, *sizes: Any, **how: Any) -> None:
    """The quantiles of every parameter are equal, as far as that can be told from one draw."""
    tg.manual_seed(1)
    torch.manual_seed(1)
    ours, theirs = getattr(tg.nn, name)(*sizes, **how), getattr(torch.nn, name)(*sizes, **how)
    for (parameter, mine), other in zip(ours.named_parameters(), theirs.parameters(), strict=True):
        a, b = mine.detach().array, other.detach().numpy()
        slack = 12 * b.std() / np.sqrt(a.size)  # some four times what quantiles of two draws differ by
        shares = np.linspace(0.02, 0.98, 9)
        np.testing.assert_allclose(np.quantile(a, shares), np.quantile(b, shares), atol=slack, err_msg=parameter)


@pytest.mark.parametrize("name", ["RNN", "GRU", "LSTM"])
def test_both_refuse(name: str) -> None:
    for library in (tg, torch):
        layer = getattr(library.nn, name)(3, 4)
        for shape in ((2, 5, 2), (3,), (1, 1, 5, 3)):
            with pytest.raises((ValueError, RuntimeError)):
                layer(library.zeros(shape))
        with pytest.raises((ValueError, RuntimeError)):
            layer(library.zeros((0, 5, 3)))
        wrong = library.zeros((1, 4, 4))
        with pytest.raises((ValueError, RuntimeError)):
            layer(library.zeros((2, 5, 3)), (wrong, wrong) if name == "LSTM" else wrong)


# Attention ---------------------------------------------------------------------------------------------------

NONE, BOOLS, FLOATS = "none", "bools", "floats"


def masks(kind: str, *shape: int) -> Any:
    """A mask; the first column stays free, so that every row may look somewhere: PyTorch gives nan for others."""
    mask = np.random.default_rng([5, *shape]).random(shape) < 0.4
    mask[..., 0] = False
    return mask if kind == BOOLS else np.where(mask, -np.inf, data(*shape))


ARGUMENTS: list[dict[str, Any]] = [
    {}, {"bias": False}, {"kdim": 5, "vdim": 3}, {"kdim": 5, "bias": False}, {"add_bias_kv": True},
    {"add_zero_attn": True}, {"add_bias_kv": True, "add_zero_attn": True, "vdim": 3},
]  # fmt: skip


@pytest.mark.parametrize("how", ARGUMENTS, ids=str)
@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("batched", [False, True])
@pytest.mark.parametrize("weights", ["mean", "heads", "none"])
def test_attention(how: dict[str, Any], first: bool, batched: bool, weights: str) -> None:
    ours, theirs = pair("MultiheadAttention", 6, 3, batch_first=first, **how)

    def rows(count: int, size: int, seed: int) -> Any:
        return data(*((2, count) if first else (count, 2)), size, seed=seed) if batched else data(count, size)

    inputs = [rows(4, 6, 0), rows(5, how.get("kdim", 6), 1), rows(5, how.get("vdim", 6), 2)]
    options = {"need_weights": weights != "none", "average_attn_weights": weights != "heads"}
    same(ours, theirs, inputs, lambda m, q, k, v: m(q, k, v, **options))


@pytest.mark.parametrize("looks", [NONE, BOOLS, FLOATS, "per head"])
@pytest.mark.parametrize("pads", [NONE, BOOLS, FLOATS])
@pytest.mark.parametrize("weights", [True, False])
@pytest.mark.parametrize("more", [False, True])
@pytest.mark.filterwarnings("ignore:Support for mismatched:UserWarning")  # PyTorch's, of bools beside floats
def test_masks(looks: str, pads: str, weights: bool, more: bool) -> None:
    """Self-attention in one product, under every pair of masks."""
    ours, theirs = pair("MultiheadAttention", 6, 3, batch_first=True, add_bias_kv=more, add_zero_attn=more)
    given = {}
    if looks != NONE:
        given["attn_mask"] = masks(BOOLS, 6, 4, 4) if looks == "per head" else masks(looks, 4, 4)
    if pads != NONE:
        given["key_padding_mask"] = masks(pads, 2, 4)

    def call(m: Any, x: Any) -> Any:
        library = tg if isinstance(m, tg.nn.Module) else torch
        return m(x, x, x, need_weights=weights, **{name: library.tensor(mask) for name, mask in given.items()})

    for mode in (True, False):
        same(ours.train(mode), theirs.train(mode), [data(2, 4, 6)], call)
        ours.zero_grad()
        theirs.zero_grad()


@pytest.mark.parametrize("weights", [True, False])
@pytest.mark.parametrize("pads", [False, True])
def test_causal_attention(weights: bool, pads: bool) -> None:
    ours, theirs = pair("MultiheadAttention", 6, 3, batch_first=True)

    def call(m: Any, x: Any) -> Any:
        library = tg if isinstance(m, tg.nn.Module) else torch
        mask = library.nn.Transformer.generate_square_subsequent_mask(4, dtype=x.dtype)
        padding = library.tensor(masks(FLOATS, 2, 4)) if pads else None
        return m(x, x, x, attn_mask=mask, key_padding_mask=padding, is_causal=True, need_weights=weights)

    same(ours, theirs, [data(2, 4, 6)], call)


@pytest.mark.parametrize("how", ARGUMENTS, ids=str)
def test_attention_weights_are_drawn_alike(how: dict[str, Any]) -> None:
    drawn_alike("MultiheadAttention", 60, 3, **how)


def test_attention_refuses_alike() -> None:
    for library in (tg, torch):
        attention = library.nn.MultiheadAttention(6, 3)
        x = library.zeros((4, 2, 6))
        for q, k, v in ((x[..., :5], x, x), (x, x[0], x), (x, x[:3], x), (x, x[:, :1], x[:, :1])):
            with pytest.raises((AssertionError, RuntimeError, ValueError)):
                attention(q, k, v)
        for mask in ({"attn_mask": library.zeros((3, 4))}, {"attn_mask": library.zeros((2, 4, 4))},
                     {"key_padding_mask": library.zeros((4, 2))}, {"is_causal": True},
                     {"attn_mask": library.zeros((4, 4)).int()}):  # fmt: skip
            with pytest.raises((AssertionError, RuntimeError, ValueError)):
                attention(x, x, x, **mask)
        with pytest.raises((AssertionError, ValueError)):
            library.nn.MultiheadAttention(6, 4)


# Transformers ------------------------------------------------------------------------------------------------


def layer_arguments() -> list[dict[str, Any]]:
    changes: list[dict[str, Any]] = [
        {}, {"norm_first": True}, {"activation": "gelu"}, {"bias": False}, {"batch_first": True},
        {"layer_norm_eps": 0.1}, {"norm_first": True, "bias": False, "batch_first": True},
    ]  # fmt: skip
    return [{"dim_feedforward": 5, "dropout": 0.0, **change} for change in changes]


@pytest.mark.parametrize("how", layer_arguments(), ids=str)
@pytest.mark.parametrize("kind", ["Encoder", "Decoder"])
@pytest.mark.parametrize("masked", [False, True])
def test_transformer_layers(how: dict[str, Any], kind: str, masked: bool) -> None:
    ours, theirs = pair(f"Transformer{kind}Layer", 6, 3, **how)
    first = how.get("batch_first", False)
    x, memory = data(*((2, 4) if first else (4, 2)), 6), data(*((2, 5) if first else (5, 2)), 6, seed=1)

    def call(m: Any, x: Any, *memory: Any) -> Any:
        library = tg if isinstance(m, tg.nn.Module) else torch
        t, name = library.tensor, "src" if kind == "Encoder" else "tgt"
        given = {f"{name}_mask": t(masks(BOOLS, 4, 4)), f"{name}_key_padding_mask": t(masks(BOOLS, 2, 4))}
        if memory:
            given |= {"memory_mask": t(masks(FLOATS, 4, 5)), "memory_key_padding_mask": t(masks(FLOATS, 2, 5))}
        return m(x, *memory, **(given if masked else {}))

    for mode in (True, False):
        same(ours.train(mode), theirs.train(mode), [x, memory] if kind == "Decoder" else [x], call)
        ours.zero_grad()
        theirs.zero_grad()


@pytest.mark.parametrize("activation", ["tanh", "SiLU"])
def test_an_activation_of_ones_own(activation: str) -> None:
    """A function, or a module, which then shows up among the modules."""
    made = [
        getattr(m.nn, activation)() if activation[0].isupper() else getattr(m, activation) for m in (tg, torch)
    ]  # fmt: skip
    ours = tg.nn.TransformerEncoderLayer(6, 3, 5, 0.0, made[0], dtype="f8")
    theirs = torch.nn.TransformerEncoderLayer(6, 3, 5, 0.0, made[1], dtype=torch.float64)
    agree(ours, theirs)
    same(ours, theirs, [data(4, 2, 6)], lambda m, x: m(x))


@pytest.mark.parametrize("norm", [False, True])
def test_encoders_and_decoders(norm: bool) -> None:
    made = []
    for m, dtype in ((tg, tg.float64), (torch, torch.float64)):
        layers = [
            kind(6, 3, 5, 0.0, dtype=dtype) for kind in (m.nn.TransformerEncoderLayer, m.nn.TransformerDecoderLayer)
        ]
        norms = [m.nn.LayerNorm(6, dtype=dtype) if norm else None for _ in layers]
        made.append((m.nn.TransformerEncoder(layers[0], 2, norms[0]), m.nn.TransformerDecoder(layers[1], 2, norms[1])))
    for ours, theirs in zip(*made, strict=True):
        agree(ours, theirs)
    same(made[0][0], made[1][0], [data(4, 2, 6)], lambda m, x: m(x))
    same(made[0][1], made[1][1], [data(4, 2, 6), data(5, 2, 6)], lambda m, x, memory: m(x, memory))


@pytest.mark.parametrize("how", [{}, {"batch_first": True, "norm_first": True}])
def test_the_whole_transformer(how: dict[str, Any]) -> None:
    ours, theirs = pair("Transformer", 6, 3, 2, 1, 5, 0.0, **how)

    def call(m: Any, src: Any, tgt: Any) -> Any:
        length = tgt.shape[1 if how else 0]
        return m(
            src, tgt, tgt_mask=type(m).generate_square_subsequent_mask(length, dtype=src.dtype), tgt_is_causal=True
        )

    shapes = ((2, 5, 6), (2, 4, 6)) if how else ((5, 2, 6), (4, 2, 6))
    same(ours, theirs, [data(*shape) for shape in shapes], call)


def test_transformers_are_drawn_alike() -> None:
    drawn_alike("TransformerEncoderLayer", 40, 4, 60)
    drawn_alike("Transformer", 40, 4, 1, 1, 60)


def test_the_causal_mask() -> None:
    ours = tg.nn.Transformer.generate_square_subsequent_mask(4)
    theirs = torch.nn.Transformer.generate_square_subsequent_mask(4)
    assert ours.tolist() == theirs.tolist()
