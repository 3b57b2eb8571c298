"""Transformers: what a layer computes, what masks hide, how copies are made."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tests.support import teaches
from tinygrad_edu import nn
from tinygrad_edu.errors import ArgumentError

F = nn.functional
causal = nn.Transformer.generate_square_subsequent_mask


def encoder(**how: Any) -> nn.TransformerEncoderLayer:
    return nn.TransformerEncoderLayer(6, 2, 8, **{"dropout": 0.0, "batch_first": True, **how})


def close(ours: Any, expected: Any) -> None:
    np.testing.assert_allclose(ours.detach().array, expected.detach().array, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("activation", "function"),
    [("relu", F.relu), ("gelu", F.gelu), (F.silu, F.silu), (tg.tanh, tg.tanh), (nn.ELU(), F.elu)],
)
@pytest.mark.parametrize("norm_first", [False, True])
def test_an_encoder_layer_is_its_parts(activation: Any, function: Any, norm_first: bool) -> None:
    layer, x = encoder(activation=activation, norm_first=norm_first), tg.randn(3, 4, 6)

    def look(x: Any) -> Any:
        return layer.self_attn(x, x, x)[0]

    def feed(x: Any) -> Any:
        return layer.linear2(function(layer.linear1(x)))

    if norm_first:
        middle = x + look(layer.norm1(x))
        expected = middle + feed(layer.norm2(middle))
    else:
        middle = layer.norm1(x + look(x))
        expected = layer.norm2(middle + feed(middle))
    close(layer(x), expected)


@pytest.mark.parametrize("norm_first", [False, True])
def test_a_decoder_layer_is_its_parts(norm_first: bool) -> None:
    layer = nn.TransformerDecoderLayer(6, 2, 8, 0.0, batch_first=True, norm_first=norm_first)
    x, memory = tg.randn(3, 4, 6), tg.randn(3, 5, 6)
    parts = [
        lambda x: layer.self_attn(x, x, x)[0],
        lambda x: layer.multihead_attn(x, memory, memory)[0],
        lambda x: layer.linear2(F.relu(layer.linear1(x))),
    ]
    expected = x
    for part, norm in zip(parts, (layer.norm1, layer.norm2, layer.norm3), strict=True):
        expected = expected + part(norm(expected)) if norm_first else norm(expected + part(expected))
    close(layer(x, memory), expected)


@pytest.mark.parametrize("kind", ["layer", "encoder", "decoder"])
def test_the_future_does_not_change_the_past(kind: str) -> None:
    """Under the causal mask, element i depends on elements 0 to i, and on each of them."""
    mask, memory = causal(5), tg.randn(2, 3, 6)
    if kind == "decoder":
        decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(6, 2, 8, 0.0, batch_first=True), 2)
        run: Any = lambda x: decoder(x, memory, tgt_mask=mask, tgt_is_causal=True)  # noqa: E731
    else:
        model = encoder() if kind == "layer" else nn.TransformerEncoder(encoder(), 2)
        run = lambda x: model(x, mask, is_causal=True)  # noqa: E731
    x = tg.randn(2, 5, 6)
    before = run(x)
    for place in range(5):
        changed = x.clone()
        changed[:, place] += tg.randn(6)
        after = run(changed)
        moved = (after - before).abs().amax((0, 2)) > 1e-5
        assert moved.tolist() == [i >= place for i in range(5)]
        assert after[:, :place].tolist() == before[:, :place].tolist()


def test_padding_does_not_matter() -> None:
    """What is padded changes no other element, however long the padding is."""
    model = nn.TransformerEncoder(encoder(), 2).eval()
    x, padding = tg.randn(2, 5, 6), tg.tensor([[False] * 5, [False] * 3 + [True] * 2])
    output = model(x, src_key_padding_mask=padding)
    other = model(x + padding.unsqueeze(-1) * 10.0, src_key_padding_mask=padding)
    assert output[1, :3].tolist() == other[1, :3].tolist()
    close(output[1:, :3], model(x[1:, :3]))


def test_memory_can_be_padded_too() -> None:
    layer = nn.TransformerDecoderLayer(6, 2, 8, 0.0, batch_first=True)
    x, memory = tg.randn(1, 4, 6), tg.randn(1, 5, 6)
    padding = tg.tensor([[False, False, False, True, True]])
    close(layer(x, memory, memory_key_padding_mask=padding), layer(x, memory[:, :3]))
    close(layer(x, memory, memory_mask=padding.expand(4, 5)), layer(x, memory[:, :3]))


def test_dropout_acts_in_training_only() -> None:
    """Everything dropped, the residuals are left, and the norms above them."""
    layer, x = encoder(dropout=1.0), tg.randn(2, 4, 6)
    close(layer(x), layer.norm2(layer.norm1(x)))
    layer.eval()
    assert (layer(x) - layer.norm2(layer.norm1(x))).abs().max().item() > 0.01


def test_layers_of_a_stack_are_copies() -> None:
    """Equal at the beginning, and each with parameters of its own."""
    one = encoder()
    stack = nn.TransformerEncoder(one, 3, nn.LayerNorm(6))
    assert len(stack.layers) == 3
    assert len(list(stack.parameters())) == 3 * len(list(one.parameters())) + 2
    assert not {id(p) for p in one.parameters()} & {id(p) for p in stack.parameters()}
    for layer in stack.layers:
        for ours, own in zip(layer.parameters(), one.parameters(), strict=True):
            assert isinstance(ours, nn.Parameter)
            assert ours.tolist() == own.tolist()
    with tg.no_grad():
        stack.layers[0].linear1.bias.fill_(7.0)
    assert not (stack.layers[1].linear1.bias == 7.0).any().item()
    x = tg.randn(2, 4, 6)
    close(stack(x), stack.norm(stack.layers[2](stack.layers[1](stack.layers[0](x)))))


def test_the_whole_transformer() -> None:
    model = nn.Transformer(6, 2, 2, 1, 8, 0.0, batch_first=True)
    src, tgt, mask = tg.randn(2, 5, 6), tg.randn(2, 4, 6), causal(4)
    close(model(src, tgt, tgt_mask=mask), model.decoder(tgt, model.encoder(src), mask))
    assert [len(model.encoder.layers), len(model.decoder.layers)] == [2, 1]
    own = nn.Transformer(6, 2, custom_encoder=nn.Identity(), custom_decoder=model.decoder)
    assert own.decoder is model.decoder
    assert type(own.encoder) is nn.Identity


def test_the_causal_mask() -> None:
    nothing = -float("inf")
    assert causal(3).tolist() == [[0.0, nothing, nothing], [0.0, 0.0, nothing], [0.0, 0.0, 0.0]]
    assert causal(2, dtype="float64").dtype == np.float64
    assert causal(2, device="far").device == "far"
    assert causal(2).dtype == np.float32


def test_a_layer_learns_in_half_precision() -> None:
    layer = encoder(dtype="bfloat16")
    output = layer(tg.randn(2, 4, 6).bfloat16(), causal(4))
    output.float().square().sum().backward()
    assert output.dtype.name == "bfloat16"
    assert {p.grad.dtype.name for p in layer.parameters()} == {"bfloat16"}


def test_names_are_those_of_pytorch() -> None:
    names = list(nn.TransformerDecoderLayer(6, 2, 8).state_dict())
    attention = ["in_proj_weight", "in_proj_bias", "out_proj.weight", "out_proj.bias"]
    assert names == [
        *(f"{part}.{name}" for part in ("self_attn", "multihead_attn") for name in attention),
        *(
            f"{part}.{name}"
            for part in ("linear1", "linear2", "norm1", "norm2", "norm3")
            for name in ("weight", "bias")
        ),
    ]
    without = list(encoder(bias=False).state_dict())
    assert without == [
        "self_attn.in_proj_weight", "self_attn.out_proj.weight", "linear1.weight", "linear2.weight", "norm1.weight",
        "norm2.weight",
    ]  # fmt: skip


def test_repr() -> None:
    assert (
        repr(nn.TransformerEncoder(encoder(activation=nn.ReLU()), 2))
        == """\
TransformerEncoder(
  (layers): ModuleList(
    (0-1): 2 x TransformerEncoderLayer(
      (self_attn): MultiheadAttention(
        (out_proj): Linear(in_features=6, out_features=6, bias=True)
      )
      (linear1): Linear(in_features=6, out_features=8, bias=True)
      (dropout): Dropout(p=0.0, inplace=False)
      (linear2): Linear(in_features=8, out_features=6, bias=True)
      (norm1): LayerNorm((6,), eps=1e-05, elementwise_affine=True, bias=True)
      (norm2): LayerNorm((6,), eps=1e-05, elementwise_affine=True, bias=True)
      (dropout1): Dropout(p=0.0, inplace=False)
      (dropout2): Dropout(p=0.0, inplace=False)
      (activation): ReLU()
    )
  )
)"""
    )


def test_an_unknown_activation() -> None:
    tried, why = "a transformer layer with activation='swish'", "the names are 'relu' and 'gelu'"
    with teaches(
        ArgumentError, tried, why, "use one of them, or pass a function or a module", "TransformerEncoderLayer("
    ):
        encoder(activation="swish")
