"""What an operation keeps for backward: whether its result and its operands may be overwritten before, as in PyTorch.

Each is overwritten in turn. Both refuse backward or neither does, and where ours allows it, the gradient is that
without the write.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tests.ops.cases import CASES, Case, is_float
from tinygrad_edu.core.op import OPS
from tinygrad_edu.errors import InplaceError

torch = pytest.importorskip("torch", reason="needs PyTorch: pip install -e '.[peers]'")
pytestmark = pytest.mark.peers

SMOOTH = [
    case for case in CASES if case.torch is not None and case.differentiable and any(map(is_float, case.operands()))
]

# Where the two differ, and why. The second part of a name is the operand that is overwritten, or "out".
STRICTER = {
    "div y": "PyTorch makes two operations of 3 / x, and keeps the result of the first; here it is one, which keeps x",
    "scaled_dot_product_attention out": "PyTorch too keeps it where the operands have four axes, and not for fewer",
    "scaled_dot_product_attention query": "PyTorch too keeps it where the operands have four axes, and not for fewer",
    "scaled_dot_product_attention key": "PyTorch too keeps it where the operands have four axes, and not for fewer",
    **{
        f"blockwise_attention {name}": "PyTorch's own blocks need it too; this is compared with its whole matrix"
        for name in ("query", "key", "mask", "out")
    },
    "conv1d x": "PyTorch keeps a padded copy where the padding differs on the two sides",
    "conv2d x": "PyTorch keeps a padded copy where the padding differs on the two sides",
    "matmul x": "PyTorch stretches a batch into a copy, and keeps that",
    "matmul y": "PyTorch stretches a batch into a copy, and keeps that",
    "unfold out": "its elements meet in memory: see test_shared_places.py",
    "as_strided out": "its elements meet in memory: see test_shared_places.py",
    "bias_activation_of_sum x": "PyTorch keeps the sum, which is made again here",
    "bias_activation_of_sum bias": "PyTorch keeps the sum, which is made again here",
    # What is compared with is not the operation itself, but others that amount to it:
    "weighted_mean out": "in PyTorch a part of losses, where weights want no gradient; then it is not kept",
    "weighted_mean weights": "inside losses nobody else has them",
    "dropout keep": "inside dropout nobody else has it",
    "norm out": "the sum that keeps PyTorch's slopes finite makes another result of it",
    "batch_norm_eval x": "compared with a formula",
    "batch_norm_eval mean": "compared with a formula",
    "batch_norm_eval var": "compared with a formula",
}
LOOSER = {
    "floor_divide x": "its gradient is zero, whatever the operands are",
    "floor_divide y": "its gradient is zero, whatever the operands are",
    "trunc_divide x": "its gradient is zero, whatever the operands are",
    "trunc_divide y": "its gradient is zero, whatever the operands are",
    "layer_norm bias": "its gradient needs no values of it",
    "gather x": "the gradient needs its shape only",
    "pick x": "the gradient needs its shape only",
    "nll_loss x": "the gradient needs its shape only",
    "pad_within x": "the gradient needs its shape only",
    "avg_pool1d x": "the gradient needs its shape only",
    "avg_pool2d x": "the gradient needs its shape only",
    "adaptive_avg_pool2d x": "the gradient needs its shape only",
    "prod out": "the gradient is made of the operand",
    "cumprod out": "the gradient is made of the operand",
}


def targets(case: Case) -> list[str]:
    arrays = [
        name for name, o in zip(OPS[case.op].operands, case.operands(), strict=False) if isinstance(o, np.ndarray)
    ]
    return ["out", *arrays]


def overwrite(m: Any, tensor: Any) -> None:
    with m.no_grad():
        plain = tensor.detach()
        plain.logical_not_() if plain.dtype == m.bool else plain.add_(1)


def outcome(m: Any, case: Case, target: str) -> Any:
    """The leaves' gradients after ``target`` was overwritten, or the word for who refused."""
    leaves, operands = [], []
    for o in case.operands():
        if isinstance(o, np.ndarray):
            tensor = m.tensor(np.array(o))
            if is_float(o):
                leaves.append(tensor.requires_grad_())
                tensor = tensor * 1
            operands.append(tensor)
        else:
            operands.append(o)
    out = case.run(*operands) if m is tg else case.torch(m, *operands)  # type: ignore[misc]
    weights = m.tensor(np.random.default_rng(1).normal(size=tuple(out.shape)))
    named = {"out": out, **dict(zip(OPS[case.op].operands, operands, strict=False))}
    try:
        if target:
            overwrite(m, named[target])
        out.backward(weights)
    except RuntimeError as error:
        assert m is not tg or isinstance(error, InplaceError)
        return "refused"
    return [None if leaf.grad is None else leaf.grad.tolist() for leaf in leaves]


BY_NAME = {str(case): case for case in SMOOTH}


@functools.cache
def permitted(m: Any, name: str, target: str) -> bool:
    """Whether ``target`` may be overwritten. The gradient of ours is then the same as without."""
    found = outcome(m, BY_NAME[name], target)
    if found != "refused" and m is tg:
        for one, other in zip(found, outcome(m, BY_NAME[name], ""), strict=True):
            np.testing.assert_equal(one, other)
    return bool(found != "refused")


@pytest.mark.parametrize("name", BY_NAME)
def test_what_may_be_overwritten(name: str) -> None:
    for target in targets(BY_NAME[name]):
        ours, theirs = permitted(tg, name, target), permitted(torch, name, target)
        differs = f"{BY_NAME[name].op} {target}" in (STRICTER if theirs else LOOSER)
        assert ours == theirs or differs, f"{target}: ours {ours}, PyTorch {theirs}"


@pytest.mark.parametrize("entry", [*STRICTER, *LOOSER])
def test_the_tables_say_what_is(entry: str) -> None:
    """Each entry is needed by some case."""
    op, target = entry.split()
    cases = [name for name, case in BY_NAME.items() if case.op == op and target in targets(case)]
    pairs = {(permitted(tg, name, target), permitted(torch, name, target)) for name in cases}
    assert ((False, True) if entry in STRICTER else (True, False)) in pairs


# Everyday programs -----------------------------------------------------------------------------------------------


def layer(name: str, **more: Any) -> Callable[[Any, Any], Any]:
    """The output of a recurrent layer, with weights that do not depend on chance."""

    def run(m: Any, x: Any) -> Any:
        made = getattr(m.nn, name)(4, 3, **more).to(m.float64)
        with m.no_grad():
            for i, parameter in enumerate(made.parameters()):
                count = parameter.numel()
                values = np.sin(np.arange(count) + i).reshape(tuple(parameter.shape))
                parameter.copy_(m.tensor(values))
        return made(x.reshape(6, 2, 4))[0]

    return run


RESULTS: dict[str, Callable[[Any, Any], Any]] = {
    "max_pool2d": lambda m, x: m.nn.functional.max_pool2d(x.reshape(1, 2, 4, 6), 2),
    "max_pool2d, overlapping": lambda m, x: m.nn.functional.max_pool2d(x.reshape(1, 2, 4, 6), 3, 2, 1),
    "max_pool1d": lambda m, x: m.nn.functional.max_pool1d(x.reshape(1, 6, 8), 2),
    "MaxPool2d": lambda m, x: m.nn.MaxPool2d(2)(x.reshape(1, 2, 4, 6)),
    "hardtanh": lambda m, x: m.nn.functional.hardtanh(x),
    "relu6": lambda m, x: m.nn.functional.relu6(x),
    "RNN": layer("RNN"),
    "RNN with relu": layer("RNN", nonlinearity="relu"),
    "RNN in both directions": layer("RNN", bidirectional=True),
    "GRU": layer("GRU"),
    "GRU of two layers": layer("GRU", num_layers=2),
    "GRU backwards too": layer("GRU", bidirectional=True, bias=False),
    "LSTM": layer("LSTM"),
    "LSTM by batches": layer("LSTM", batch_first=True),
    "LSTM backwards too": layer("LSTM", bidirectional=True),
    "cross_entropy with weights": lambda m, x: m.nn.functional.cross_entropy(
        x.reshape(8, 6), m.arange(8) % 6, weight=m.arange(1.0, 7.0, dtype=m.float64)
    ),
    "nll_loss with weights": lambda m, x: m.nn.functional.nll_loss(
        x.reshape(8, 6), m.arange(8) % 6, weight=m.arange(1.0, 7.0, dtype=m.float64)
    ),
    "std": lambda m, x: x.std(),
    "softmax": lambda m, x: x.softmax(0),
    "sigmoid": lambda m, x: x.sigmoid(),
    "exp": lambda m, x: x.exp(),
    "gelu": lambda m, x: m.nn.functional.gelu(x),
    "layer_norm": lambda m, x: m.nn.functional.layer_norm(x, (48,)),
}


@pytest.mark.parametrize("name", RESULTS)
def test_results_that_are_written_to(name: str) -> None:
    """``y += 1`` after the layer, and the same inside the graph's history."""

    def run(m: Any) -> Any:
        x = m.tensor(np.cos(np.arange(48.0) * 3), requires_grad=True)
        y = RESULTS[name](m, x)
        y += 1
        y *= y.detach() + 0.5
        try:
            y.sum().backward()
        except RuntimeError:
            return None
        return y.tolist(), x.grad.tolist()

    ours, theirs = run(tg), run(torch)
    assert (ours is None) == (theirs is None)
    if ours is not None:
        for one, other in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


def test_logits_that_are_written_to_after_the_loss() -> None:
    def run(m: Any) -> Any:
        x = m.tensor(np.cos(np.arange(12.0) * 3), requires_grad=True)
        logits = x.reshape(3, 4) * 1
        loss = m.nn.functional.cross_entropy(logits, m.tensor([0, 3, 1]))
        logits.zero_()
        loss.backward()
        return x.grad.tolist()

    np.testing.assert_allclose(run(tg), run(torch), rtol=1e-12)


def test_a_second_derivative_needs_what_a_cache_stands_for() -> None:
    """The scores may be overwritten, as the softmax is kept; but it is no function of them to differentiate again."""
    x = tg.tensor(np.cos(np.arange(12.0) * 3), requires_grad=True)
    logits = x.reshape(3, 4) * 1
    loss = tg.nn.functional.cross_entropy(logits, tg.tensor([0, 3, 1]))
    logits.zero_()
    with pytest.raises(InplaceError, match="which saved its scores"):
        tg.autograd.grad(loss, x, create_graph=True)
