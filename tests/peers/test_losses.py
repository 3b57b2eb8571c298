"""Losses with all their arguments, in PyTorch: what its own samples leave out is how these go together."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg

torch = pytest.importorskip("torch", reason="needs PyTorch: pip install -e '.[peers]'")
pytestmark = pytest.mark.peers

OURS, THEIRS = tg.nn.functional, torch.nn.functional
REDUCTIONS = ("mean", "sum", "none")


def agree(name: str, x: Any, target: Any, arrays: dict[str, Any], options: dict[str, Any]) -> None:
    """The loss, and its gradients for ``x`` and for a target that has one."""
    found, expected = [], []
    for module, losses, results in ((tg, OURS, found), (torch, THEIRS, expected)):
        leaves = [module.tensor(a, requires_grad=a.dtype.kind == "f") for a in (x, target)]
        given = {key: module.tensor(a) for key, a in arrays.items()}
        loss = getattr(losses, name)(*leaves, **given, **options)
        wanted = [leaf for leaf in leaves if leaf.requires_grad]
        results += [loss, *module.autograd.grad(loss.sum(), wanted)]
    for ours, theirs in zip(found, expected, strict=True):
        assert tuple(ours.shape) == tuple(theirs.shape)
        np.testing.assert_allclose(ours.detach().numpy(), theirs.detach().numpy(), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("smoothing", [0.0, 0.3])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shape", [(4,), (5, 4), (2, 4, 3), (2, 4, 3, 2)], ids=str)
def test_cross_entropy(shape: tuple[int, ...], weighted: bool, smoothing: float, reduction: str) -> None:
    rng = np.random.default_rng(1)
    x, arrays = rng.normal(size=shape), {"weight": rng.uniform(0.5, 2.0, 4)} if weighted else {}
    labels = rng.integers(0, 4, shape[:1][: len(shape) - 1] + shape[2:])
    spoilt = np.where(labels == 1, -100, labels)
    options = {"reduction": reduction, "label_smoothing": smoothing}
    for target, ignored in ((labels, -100), (labels, 2), (spoilt, -100)):
        agree("cross_entropy", x, target, arrays, {**options, "ignore_index": ignored})
        agree("nll_loss", x, target, arrays, {"reduction": reduction, "ignore_index": ignored})
    agree("cross_entropy", x, rng.uniform(size=shape), arrays, options)


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_yes_or_no(reduction: str) -> None:
    rng = np.random.default_rng(2)
    x, target = rng.uniform(0.05, 0.95, (5, 4)), rng.uniform(0.0, 1.0, (5, 4))
    weights = [rng.uniform(0.5, 2.0, shape) for shape in ((4,), (5, 1), (5, 4))]
    for weight, pos_weight in itertools.product((None, *weights), (None, *weights)):
        arrays = {} if weight is None else {"weight": weight}
        agree("binary_cross_entropy", x, target, arrays, {"reduction": reduction})
        if pos_weight is not None:
            arrays["pos_weight"] = pos_weight
        agree("binary_cross_entropy_with_logits", x * 20 - 10, target, arrays, {"reduction": reduction})


@pytest.mark.filterwarnings("ignore:reduction. 'mean' divides")  # of kl_div: PyTorch says that it means to change it
@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_distances(reduction: str) -> None:
    rng = np.random.default_rng(3)
    x, target, weight = rng.normal(size=(5, 4)) * 2, rng.normal(size=(5, 4)), rng.uniform(0.5, 2.0, (5, 4))
    for arrays in ({}, {"weight": weight}):
        agree("mse_loss", x, target, arrays, {"reduction": reduction})
        agree("l1_loss", x, target, arrays, {"reduction": reduction})
        agree("huber_loss", x, target, arrays, {"reduction": reduction, "delta": 0.7})
    for beta in (0.0, 0.5, 2.0):
        agree("smooth_l1_loss", x, target, {}, {"reduction": reduction, "beta": beta})
    for log_target in (False, True):
        agree("kl_div", x, abs(target), {}, {"reduction": reduction, "log_target": log_target})
        agree("kl_div", x, abs(target), {}, {"reduction": "batchmean", "log_target": log_target})


CTC: list[tuple[tuple[int, ...], Any, Any, Any]] = [  # T, N, C; targets; input_lengths; target_lengths
    ((6, 2, 4), [[1, 2, 3], [2, 2, 1]], [6, 6], [3, 3]), ((6, 2, 4), [[1, 2, 3], [2, 2, 1]], (5, 6), (2, 0)),
    ((6, 2, 4), [1, 1, 2, 3], [6, 4], [3, 1]), ((6, 4), [1, 1, 3], 6, 3), ((6, 4), [[3, 1]], (4,), (2,)),
    ((4, 2, 3), [[1, 2], [1, 1]], [4, 0], [2, 0]), ((1, 2, 3), [[1], [2]], [1, 1], [1, 0]),
    ((3, 3, 3), [[1, 1], [1, 2], [1, 1]], [3, 2, 2], [2, 2, 2]),
]  # fmt: skip


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("zero", [False, True])
@pytest.mark.parametrize("last", [False, True], ids=["blank-first", "blank-last"])
@pytest.mark.parametrize(("shape", "targets", "steps", "lengths"), CTC, ids=str)
def test_ctc(
    shape: tuple[int, ...], targets: Any, steps: Any, lengths: Any, last: bool, zero: bool, reduction: str
) -> None:
    """Also by leaves that are no log-probabilities. Both give nan where a loss is infinite."""
    numbers, labels = np.random.default_rng(7).normal(size=shape), np.array(targets) - last
    blank = shape[-1] - 1 if last else 0
    for normal in (True, False):
        results = []
        for module, losses in ((tg, OURS), (torch, THEIRS)):
            logits = module.tensor(numbers, requires_grad=True)
            logs = logits.log_softmax(-1) if normal else logits
            given = [module.tensor(one) if isinstance(one, (list, int)) else one for one in (steps, lengths)]
            loss = losses.ctc_loss(logs, module.tensor(labels), *given, blank, reduction, zero)
            results.append((loss, *module.autograd.grad(loss.sum(), logits)))
        for ours, theirs in zip(*results, strict=True):
            assert tuple(ours.shape) == tuple(theirs.shape)
            np.testing.assert_allclose(ours.detach().numpy(), theirs.detach().numpy(), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_sixteen_bits(dtype: str) -> None:
    """The same number, or its neighbour."""
    rng = np.random.default_rng(4)
    raw, labels = rng.normal(size=(6, 4)).astype("f4"), rng.integers(0, 4, 6)
    for smoothing in (0.0, 0.1):
        ours = OURS.cross_entropy(tg.tensor(raw).to(dtype), tg.tensor(labels), label_smoothing=smoothing)
        x = torch.tensor(raw).to(getattr(torch, dtype))
        theirs = THEIRS.cross_entropy(x, torch.tensor(labels), label_smoothing=smoothing)
        assert ours.dtype.name == str(theirs.dtype).removeprefix("torch.")
        assert float(ours.item()) == pytest.approx(theirs.item(), rel=2e-3 if dtype == "float16" else 2e-2)
