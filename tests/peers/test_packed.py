"""Packed sequences in PyTorch and here: values, states and gradients, through every recurrence."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg

torch = pytest.importorskip("torch", reason="needs PyTorch: pip install -e '.[peers]'")
pytestmark = pytest.mark.peers

LENGTHS = {"sorted": [4, 4, 2, 1], "unsorted": [2, 4, 1, 4], "all alike": [3, 3, 3, 3]}


def alike(ours: Any, theirs: Any) -> None:
    assert (ours is None) == (theirs is None)
    if ours is not None:
        assert ours.dtype.name == str(theirs.dtype).removeprefix("torch.")
        np.testing.assert_allclose(ours.detach().numpy(), theirs.detach().numpy(), atol=1e-12)


@pytest.mark.parametrize("mode", ["RNN", "LSTM", "GRU", "projected LSTM"])
@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("both", [False, True], ids=["one way", "both ways"])
@pytest.mark.parametrize("order", LENGTHS)
@pytest.mark.parametrize("given", [True, False], ids=["states", "no states"])
def test_recurrences(mode: str, layers: int, both: bool, order: str, given: bool) -> None:
    mode, width = mode.removeprefix("projected "), 2 if mode.startswith("projected") else 5
    options = {"bidirectional": both} | ({"proj_size": width} if width < 5 else {})
    theirs = getattr(torch.nn, mode)(3, 5, layers, **options).double()
    ours = getattr(tg.nn, mode)(3, 5, layers, **options).double()
    ours.load_state_dict({name: tg.tensor(value.numpy()) for name, value in theirs.state_dict().items()})
    results = []
    for m, layer in ((tg, ours), (torch, theirs)):
        rng = np.random.default_rng(0)
        x = m.tensor(rng.normal(size=(4, 4, 3))).requires_grad_()
        h = m.tensor(rng.normal(size=(layers * (1 + both), 4, width))).requires_grad_()
        cells = m.tensor(rng.normal(size=(layers * (1 + both), 4, 5)))
        packed = m.nn.utils.rnn.pack_padded_sequence(x, LENGTHS[order], enforce_sorted=order != "unsorted")
        output, final = layer(packed, ((h, cells) if mode == "LSTM" else h) if given else None)
        assert type(output) is m.nn.utils.rnn.PackedSequence
        padded, lengths = m.nn.utils.rnn.pad_packed_sequence(output, True, 7.0, total_length=6)
        final = final if mode == "LSTM" else (final,)
        weights = m.tensor(rng.normal(size=tuple(padded.shape)))
        ((padded * weights).sum() + sum((state * state).sum() for state in final)).backward()
        results.append([*output, padded, lengths, *final, x.grad, h.grad, *(p.grad for p in layer.parameters())])
    for mine, expected in zip(*results, strict=True):
        alike(mine, expected)


@pytest.mark.parametrize("shape", [(), (2,), (2, 3)], ids=str)
@pytest.mark.parametrize("lengths", [[3, 2, 2], [1, 3, 2], [1]], ids=str)
@pytest.mark.parametrize("dtype", ["float64", "int64"])
def test_packing_and_padding(shape: tuple[int, ...], lengths: list[int], dtype: str) -> None:
    rng, found = np.random.default_rng(1), []
    arrays = [rng.integers(0, 9, (length, *shape)).astype(dtype) for length in lengths]
    for m in (tg, torch):
        rnn = m.nn.utils.rnn
        parts = [m.tensor(array) for array in arrays]
        packed = rnn.pack_sequence(parts, enforce_sorted=lengths == sorted(lengths, reverse=True))
        again = rnn.pack_padded_sequence(rnn.pad_sequence(parts, True), m.tensor(lengths), True, False)
        found.append([*packed, *again, *rnn.pad_packed_sequence(packed, False, -1), *packed.double()])
        assert packed.to(packed.data.dtype) is packed
    for mine, expected in zip(*found, strict=True):
        alike(mine, expected)
