"""Autocast as PyTorch does it: the dtype of every operation's result, on the CPU and on a CUDA device that is faked."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tests.ops.cases import CASES, Case, is_float

torch = pytest.importorskip("torch", reason="needs PyTorch: pip install -e '.[peers]'")
fake_tensor = pytest.importorskip("torch._subclasses.fake_tensor")
pytestmark = pytest.mark.peers

LOW = {"cpu": "bfloat16", "cuda": "float16"}
# Dtypes of the float operands, in turn: a "low" one is that of the region.
MIXED = (("float32",), ("low",), ("low", "float32"), ("float32", "low"), ("float64",))
AUTOCAST = [case for case in CASES if case.torch is not None and any(map(is_float, case.operands()))]

# Where ours differs, and why. By operation and type of device.
DIFFERENT = {
    ("einsum", "cpu"): "PyTorch multiplies outer products with mul, which is in no list",
    (
        "lstm",
        "cpu",
    ): "torch.lstm makes its result of products in 16 bits and a cell state in 32; here it is one product",
    ("gru", "cpu"): "the same",
    ("rnn", "cpu"): "the same",
    ("pad_within", "cpu"): "PyTorch's list has some kinds of padding, for which no reason is known",
    ("weighted_mean", "cuda"): "the case divides two sums, and PyTorch sums in float32",
    **{("binary_cross_entropy_with_logits", kind): "the cases put it together from logsigmoid" for kind in LOW},
    # The operation meets in the widest dtype; the function keeps that of its input, as the second test shows.
    **{(op, kind): "kept by the function" for op in ("layer_norm", "rms_norm", "batch_norm") for kind in LOW},
    **{("masked_fill", kind): "kept by the function" for kind in LOW},
}


@contextmanager
def theirs_under(kind: str) -> Iterator[None]:
    """PyTorch's autocast; on "cuda" with tensors that have no values, which need no GPU."""
    before = torch.is_autocast_enabled(kind), torch.get_autocast_dtype(kind)
    with fake_tensor.FakeTensorMode() if kind == "cuda" else nullcontext():
        torch.set_autocast_enabled(kind, True)
        torch.set_autocast_dtype(kind, getattr(torch, LOW[kind]))
        try:
            yield
        finally:
            torch.set_autocast_enabled(kind, before[0])
            torch.set_autocast_dtype(kind, before[1])


def operands(case: Case, kinds: tuple[str, ...], low: str) -> list[tuple[Any, str]]:
    """Each operand with its dtype, or with "" for what is no float."""
    found, floats = [], 0
    for one in case.operands():
        found.append((one, kinds[floats % len(kinds)].replace("low", low) if is_float(one) else ""))
        floats += is_float(one)
    return found


def theirs(case: Case, kinds: tuple[str, ...], kind: str) -> str:
    with theirs_under(kind):
        given = []
        for one, dtype in operands(case, kinds, LOW[kind]):
            if isinstance(one, np.ndarray):
                made = torch.empty(one.shape, dtype=torch.from_numpy(one.copy()).dtype, device=kind)
                if kind == "cpu":
                    made = torch.from_numpy(one.copy()).reshape(one.shape)
                one = made.to(getattr(torch, dtype)) if dtype else made
            given.append(one)
        assert case.torch is not None
        return str(case.torch(torch, *given).dtype).removeprefix("torch.")


def ours(case: Case, kinds: tuple[str, ...], kind: str) -> str:
    device = "sim" if kind == "cuda" else "cpu"
    given = []
    for one, dtype in operands(case, kinds, LOW[kind]):
        if isinstance(one, np.ndarray):
            one = tg.tensor(one, device=device)
            one = one.to(dtype) if dtype else one
        given.append(one)
    with tg.autocast(device, dtype=LOW[kind]):
        return str(case.run(*given).dtype)


# Without values, PyTorch cannot choose by an index and knows no recurrent layer, and it refuses this loss.
NOT_FAKED = {"getitem", "repeat_interleave", "binary_cross_entropy", "rnn", "lstm", "gru"}
PAIRS = [(case, kind) for case in AUTOCAST for kind in LOW if kind == "cpu" or case.op not in NOT_FAKED]


@pytest.mark.parametrize(("case", "kind"), PAIRS, ids=[f"{case}-{kind}" for case, kind in PAIRS])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_results_have_their_dtypes(case: Case, kind: str) -> None:
    compared = 0
    for kinds in MIXED:
        try:
            wanted = theirs(case, kinds, kind)
        except (RuntimeError, TypeError, NotImplementedError, IndexError):
            continue  # PyTorch refuses these dtypes, or cannot fake the operation
        compared += 1
        found = ours(case, kinds, kind)
        if (case.op, kind) in DIFFERENT:
            continue
        assert found == wanted, kinds
    assert compared


LIKE = {"x": (4, 6), "y": (4, 6), "u": (4, 6), "w": (6,), "image": (2, 4, 3, 3), "channels": (4,)}
FUNCTIONS: dict[str, str] = {
    "layer_norm": "F.layer_norm(x, (6,), w, w)",
    "rms_norm": "F.rms_norm(x, (6,), w)",
    "group_norm": "F.group_norm(image, 2, channels, channels)",
    "batch_norm": "F.batch_norm(image, None, None, channels, channels, True)",
    "instance_norm": "F.instance_norm(image, None, None, channels, channels)",
    "masked_fill": "m.masked_fill(x, x > 0, y.sum().to(y.dtype))",
    "mse_loss": "F.mse_loss(x, y)",
    "l1_loss": "F.l1_loss(x, y)",
    "smooth_l1_loss": "F.smooth_l1_loss(x, y)",
    "huber_loss": "F.huber_loss(x, y)",
    "kl_div": "F.kl_div(x, y)",
    "poisson_nll_loss": "F.poisson_nll_loss(x, y)",
    "soft_margin_loss": "F.soft_margin_loss(x, y.sign())",
    "hinge_embedding_loss": "F.hinge_embedding_loss(x, y.sign())",
    "margin_ranking_loss": "F.margin_ranking_loss(x, y, y.sign())",
    "cosine_embedding_loss": "F.cosine_embedding_loss(x, y, y[:, 0].sign())",
    "triplet_margin_loss": "F.triplet_margin_loss(x, y, u)",
    "cross_entropy": "F.cross_entropy(x, labels)",
    "cross_entropy-of-shares": "F.cross_entropy(x, y)",
    "nll_loss": "F.nll_loss(x, labels)",
    "multi_margin_loss": "F.multi_margin_loss(x, labels)",
    "binary_cross_entropy_with_logits": "F.binary_cross_entropy_with_logits(x, y)",
    "cosine_similarity": "F.cosine_similarity(x, y)",
    "normalize": "F.normalize(x)",
    "cdist": "m.cdist(x, y)",
    "prelu": "F.prelu(x, w)",
    "trace": "m.trace(x)",
    "logsumexp": "m.logsumexp(x, 1)",
    "gelu": "F.gelu(x)",
    "relu": "F.relu(x)",
    "mean": "x.mean()",
    "var": "x.var()",
    "dropout": "F.dropout(x)",
    "max_pool2d": "F.max_pool2d(image, 2)",
    "residual": "x + F.linear(x, square)",
    "cat": "m.cat([x, y])",
    "stack": "m.stack([x, y])",
    "in place": "x.add_(y)",
    "power": "x**2",
    "divided": "1 / x",
    "embedding": "F.embedding(labels, y)",
}


# On "cuda": a trace is a sum here, and so in float32; and PyTorch cannot fake the other.
ON_CPU = {"trace", "cosine_embedding_loss"}


@pytest.mark.parametrize(
    ("name", "kind"), [(n, kind) for n in FUNCTIONS for kind in LOW if kind == "cpu" or n not in ON_CPU]
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_functions_have_their_dtypes(name: str, kind: str) -> None:
    """Those made of several operations too. ``x`` comes out of a product, in 16 bits; weights have 32."""
    found = {}
    for m, device in ((torch, kind), (tg, "sim" if kind == "cuda" else "cpu")):
        low = getattr(m, LOW[kind])
        for lows in (("x", "image"), ("x", "y", "image"), ("y",), ()):
            with theirs_under(kind) if m is torch else tg.autocast(device, dtype=low):
                given = {key: m.ones(*shape, device=device) for key, shape in LIKE.items()}
                given |= {key: value.to(low) for key, value in given.items() if key in lows}
                given |= {"square": m.ones(6, 6, device=device), "labels": m.zeros(4, dtype=m.int64, device=device)}
                try:
                    result = eval(FUNCTIONS[name], {"m": m, "F": m.nn.functional, **given})
                except (RuntimeError, TypeError) as error:
                    assert m is torch or (torch, lows) not in found, error
                    continue
                found[m, lows] = str(result.dtype).removeprefix("torch.")
    compared = [lows for m, lows in found if m is torch]
    assert compared
    assert {lows: found.get((tg, lows)) for lows in compared} == {lows: found[torch, lows] for lows in compared}
