"""Promotions names the first operation that widened, and what came in wide; it is silent where nothing did."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tinygrad_edu import amp, nn, optim
from tinygrad_edu.nn import functional as F
from tinygrad_edu.observe.promotion import Promotions
from tinygrad_edu.settings import promotion


def rows(n: int = 6, width: int = 3, **given: Any) -> tg.Tensor:
    return tg.ones(n, width, **given)


class Scaled(nn.Module):
    """Its buffer comes from NumPy, which makes float64."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(3, 3)
        self.register_buffer("scale", tg.tensor(np.array([1.0, 2.0, 3.0])))

    def forward(self, x: tg.Tensor) -> tg.Tensor:
        return self.inner(x) * self.scale


class Shifted(nn.Module):
    """A parameter in float64."""

    def __init__(self) -> None:
        super().__init__()
        self.shift = nn.Parameter(tg.zeros(3, dtype="float64"))

    def forward(self, x: tg.Tensor) -> tg.Tensor:
        return x + self.shift


def standardised() -> Any:
    data = np.random.default_rng(0).random((6, 3))  # NumPy's generator makes float64
    return (rows() - tg.tensor(data.mean(0))) / tg.tensor(data.std(0))


def positions() -> Any:
    return rows() + tg.tensor(np.linspace(0, 1, 6)).unsqueeze(1)


def by_numpy(run: Callable[[], Any]) -> Callable[[], Any]:
    def under() -> Any:
        with promotion("numpy"):
            return run()

    return under


def by_hand() -> Any:
    w = tg.ones(3, requires_grad=True)
    (rows() * w).sum().backward()
    return w.detach() - w.grad * np.full(3, 0.1)


def momentum() -> Any:
    v = tg.zeros(3, dtype="float64")
    w = tg.ones(3)
    return w - v * 0.9


def half_model() -> Any:
    model = nn.Linear(3, 3).to("float16")
    return model(rows(dtype="float16")) + rows()


def weighted() -> Any:
    counts = np.array([3.0, 1.0])
    return F.cross_entropy(rows(6, 2), tg.zeros(6, dtype="int64"), reduction="none") * tg.tensor(counts[[0] * 6])


def running() -> Any:
    total = tg.zeros(3, dtype="float64")
    return total + rows().sum(0)


def appended() -> Any:
    return tg.cat([rows(), tg.tensor(np.ones((1, 3)))])


PLANTED: dict[str, tuple[Callable[[], Any], str, str]] = {  # the operation, and words about what came in wide
    "an array of NumPy": (lambda: rows() * np.array([1.0, 2.0, 3.0]), "mul", "a NumPy array (3,)"),
    "a target of NumPy": (lambda: F.mse_loss(rows(), tg.tensor(np.ones((6, 3)))), "mse_loss (sub)", "made in"),
    "an l1 target": (lambda: F.l1_loss(rows(), tg.tensor(np.ones((6, 3)))), "l1_loss (sub)", "made in"),
    "a buffer": (lambda: Scaled()(rows()), "mul", "the buffer 'Scaled.scale'"),
    "a parameter": (lambda: Shifted()(rows()), "add", "the parameter 'Shifted.shift'"),
    "inside a sequence": (
        lambda: nn.Sequential(nn.Linear(3, 3), nn.ReLU(), Shifted())(rows()), "add",
        "the parameter 'Sequential.2.shift', made in",
    ),
    "data that are standardised": (standardised, "sub", "made in"),
    "a column that is stretched": (positions, "add", "made in"),
    "a step by hand": (by_hand, "mul", "a NumPy array (3,)"),
    "a moment in float64": (momentum, "sub", "made in"),
    "float16 with float32": (half_model, "add", "made in"),
    "bfloat16 with float32": (lambda: rows(dtype="bfloat16") + rows(), "add", "made in"),
    "float16 with bfloat16": (lambda: rows(dtype="float16") + rows(dtype="bfloat16"), "add", "made in"),
    "a loss that is weighted": (weighted, "mul", "made in"),
    "a total in float64": (running, "add", "made in"),
    "rows that are appended": (appended, "cat", "made in"),
    "a choice": (lambda: tg.where(rows() > 0, rows(), tg.tensor(np.zeros((6, 3)))), "where", "made in"),
    "a noise of NumPy": (lambda: rows() + np.random.default_rng(0).normal(size=(6, 3)), "add", "a NumPy array (6, 3)"),
    "NumPy's scalar by NumPy's table": (
        by_numpy(lambda: rows() * np.float64(0.5)), "mul", "a NumPy scalar, np.float64(0.5)",
    ),
    "an integer array by NumPy's table": (by_numpy(lambda: rows() * tg.arange(3)), "mul", "made in"),
    "a Python number next to integers by NumPy's table": (
        by_numpy(lambda: tg.arange(3) * 2.5), "mul", "the Python number 2.5",
    ),
    "a list of means by NumPy's table": (
        by_numpy(lambda: rows() - np.mean([1.0, 2.0])), "sub", "a NumPy scalar, np.float64(1.5)",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PLANTED)
def test_the_culprit_is_named(name: str) -> None:
    run, operation, origin = PLANTED[name]
    with Promotions() as seen:
        run()
    first = seen.first
    assert first is not None and first.culprit is not None, "nothing was found"
    assert first.name == operation
    assert origin in seen.source(first.culprit).origin, first.culprit
    assert "test_promotion.py, line" in first.line
    assert first.culprit.dtype == first.dtype or by_numpy.__name__ in run.__qualname__ or "bfloat16" in name
    assert f"first to widen: {operation}" in repr(seen) and origin in repr(seen)
    assert seen.cost.extra > 0 and 0 < seen.cost.seconds <= seen.cost.total


def trained(dtype: str = "float32", make: Any = optim.SGD) -> None:
    tg.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Dropout(0.5), nn.Linear(4, 2)).to(dtype)
    step = make(model.parameters(), lr=0.1)
    for _ in range(2):
        step.zero_grad()
        F.cross_entropy(model(rows(dtype=dtype)), tg.zeros(6, dtype="int64")).backward()
        step.step()


def under_autocast() -> None:
    model = nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4), nn.Linear(4, 2))
    with amp.autocast("cpu"):
        loss = F.mse_loss(model(rows()), tg.zeros(6, 2))
    loss.backward()


def in_place() -> None:
    total = rows()
    total += np.ones((6, 3))  # computed in float64 and kept in float32, as in PyTorch
    total[0] = np.zeros(3)


CLEAN: dict[str, Callable[[], Any]] = {
    "training": trained,
    "training with Adam": lambda: trained(make=optim.Adam),
    "training in float16": lambda: trained("float16"),
    "training in bfloat16": lambda: trained("bfloat16"),
    "training in float64, all of it": lambda: trained("float64"),
    "autocast": under_autocast,
    "writes in place": in_place,
    "a Python number": lambda: rows() * 2.5 + 1,
    "a Python number next to float16": lambda: rows(dtype="float16") * 2.5,
    "NumPy's scalar, a number to PyTorch": lambda: rows() * np.float64(0.5),
    "a 0-d tensor in float64": lambda: rows() * tg.tensor(np.float64(0.5)),
    "integers": lambda: tg.arange(6) + tg.arange(6, dtype="int32"),
    "integers next to floats": lambda: rows() * tg.arange(3),
    "integers divided": lambda: tg.arange(6) / 4,
    "a mean of labels that were converted": lambda: tg.arange(6).float().mean(),
    "a measure in float64 that is asked for": lambda: rows().double().mean(),
    "a sum in float64 that is asked for": lambda: rows().sum(dtype="float64"),
    "a comparison": lambda: rows() * (rows() > np.zeros((6, 3))),
    "data that are converted": lambda: rows() * tg.tensor(np.random.default_rng(0).random(3)).float(),
    "a choice of numbers": lambda: tg.where(rows() > 0, rows(), 0.0),
    "NumPy's table, all in float32": by_numpy(lambda: rows() * np.float32(0.5) - rows().mean()),
    "NumPy's table and a Python number": by_numpy(lambda: rows() * 0.5),
}


@pytest.mark.parametrize("name", CLEAN)
def test_it_is_silent_where_nothing_widened(name: str) -> None:
    with Promotions() as seen:
        CLEAN[name]()
    assert seen.first is None, repr(seen)
    assert seen.cost == (cost := type(seen.cost)(0, 0, 0.0, 0.0)) and cost.extra == 0
    assert repr(seen).endswith("and none made floats wider")


def test_what_it_costs_is_counted() -> None:
    """Two results of 8 bytes an element, a cast of one operand, and three gradients."""
    x = tg.ones(100, 10, requires_grad=True)
    with Promotions() as seen:
        (x * np.ones(10)).sum().backward()
    assert [step.dtype for step in seen.steps] == ["float64", "float64"]
    forward, cast, total = 8 * 1000, 8 * 1000, 8
    backward = 8 + 8 * 1000 + 8 * 1000  # of the sum, the product, the cast
    assert seen.cost.nbytes == forward + cast + total + backward
    assert seen.cost.extra == forward / 2 + cast + total / 2 + backward / 2


def test_modules_and_operands_are_told() -> None:
    with Promotions() as seen:
        nn.Sequential(nn.Linear(3, 3), Scaled())(rows())
    first = seen.first
    assert first is not None and first.module == ("Sequential", "1")
    made_by = first.operands[0].step
    assert made_by is not None and seen.steps[made_by].name == "linear"
    assert "first to widen: mul in Sequential.1" in repr(seen)


@pytest.mark.parametrize("device", ["sim"])
def test_it_sees_other_devices(device: str) -> None:
    with Promotions() as seen:
        rows(device=device) * tg.ones(3, dtype="float64", device=device)
    assert seen.first is not None and seen.first.name == "mul"
    assert repr(seen)


def test_it_changes_nothing() -> None:
    def run() -> list[float]:
        tg.manual_seed(0)
        model = Scaled()
        loss = F.mse_loss(model(tg.randn(6, 3)), tg.tensor(np.ones((6, 3))))
        loss.backward()
        assert model.inner.weight.grad is not None
        return [loss.item(), *model.inner.weight.grad.reshape(-1).tolist()]

    plain = run()
    with Promotions():
        assert run() == plain
