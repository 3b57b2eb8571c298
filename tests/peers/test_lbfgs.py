"""L-BFGS beside PyTorch's: the same places after every step, the same number of evaluations, and state both ways."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tests.peers.test_optim import as_arrays, to_torch

torch = pytest.importorskip("torch", reason="needs PyTorch: pip install -e '.[peers]'")
pytestmark = pytest.mark.peers

Loss = Callable[[Any, list[Any], list[Any]], Any]  # from the library, the parameters and the data


def valley(library: Any, ps: list[Any], data: list[Any]) -> Any:
    """Rosenbrock's: a long bent valley."""
    x, y = ps
    return ((1 - x) ** 2 + 100 * (y - x**2) ** 2).sum()


def network(library: Any, ps: list[Any], data: list[Any]) -> Any:
    w, b, v, scale = ps
    x, y = data
    return (((x @ w + b).tanh() @ v * scale - y) ** 2).mean() + 0.1 * sum((p * p).sum() for p in ps)


def classes(library: Any, ps: list[Any], data: list[Any]) -> Any:
    (w,) = ps
    x, y = data
    return library.nn.functional.binary_cross_entropy_with_logits(x @ w, (y > 0).to(x.dtype)) + 0.01 * (w * w).sum()


def steep(library: Any, ps: list[Any], data: list[Any]) -> Any:
    """Overshot by the first step: the search has to come back."""
    return (ps[0] ** 4).sum() * 50 - (ps[0] ** 3).sum()


def endless(library: Any, ps: list[Any], data: list[Any]) -> Any:
    """Without a minimum: the search goes out as far as it may."""
    return (-ps[0]).exp().sum()


PROBLEMS: dict[str, tuple[Loss, list[tuple[int, ...]]]] = {
    "valley": (valley, [(2,), (2,)]),
    "network": (network, [(3, 4), (4,), (4,), ()]),
    "classes": (classes, [(3,)]),
    "steep": (steep, [(5,)]),
    "endless": (endless, [(2,)]),
}
SETTINGS: dict[str, dict[str, Any]] = {
    "defaults": {"lr": 0.1},
    "few": {"lr": 0.05, "max_iter": 4, "history_size": 2},
    "searching": {"line_search_fn": "strong_wolfe"},
    "searching a little": {"line_search_fn": "strong_wolfe", "max_iter": 5, "max_eval": 4, "history_size": 1},
    "searching far": {"line_search_fn": "strong_wolfe", "lr": 0.01, "max_iter": 7, "tolerance_change": 1e-5},
    "one evaluation": {"line_search_fn": "strong_wolfe", "max_eval": 1},
    "soon content": {"lr": 0.1, "tolerance_grad": 1e-1, "tolerance_change": 1e-3},
}


class Pair:
    """The same problem twice."""

    def __init__(self, problem: str, settings: dict[str, Any], dtype: str) -> None:
        rng = np.random.default_rng(3)
        self.loss, shapes = PROBLEMS[problem]
        starts = [np.asarray(rng.normal(size=shape)).astype(dtype) for shape in shapes]
        given = [rng.normal(size=shape).astype(dtype) for shape in ((20, 3), (20,))]
        self.sides = []
        for library in (tg, torch):
            ps = [library.tensor(start, requires_grad=True) for start in starts]
            data = [library.tensor(array) for array in given]
            self.sides.append((library, ps, data, library.optim.LBFGS(ps, **settings)))

    def step(self) -> list[float]:
        losses = []
        for library, ps, data, optimiser in self.sides:

            def closure(library: Any = library, ps: Any = ps, data: Any = data, optimiser: Any = optimiser) -> Any:
                optimiser.zero_grad()
                loss = self.loss(library, ps, data)
                loss.backward()
                return loss

            losses.append(optimiser.step(closure).item())
        return losses

    def counts(self) -> list[tuple[int, int]]:
        found = []
        for _, ps, _, optimiser in self.sides:
            entry = optimiser.state[ps[0]]
            found.append((entry["func_evals"], entry["n_iter"]))
        return found

    def compare(self, tolerance: float) -> None:
        for ours, theirs in zip(self.sides[0][1], self.sides[1][1], strict=True):
            np.testing.assert_allclose(
                ours.detach().numpy(), theirs.detach().numpy(), rtol=tolerance, atol=tolerance, equal_nan=True
            )


# The problems are curved everywhere. Where a loss falls in a straight line, rounding decides how far the search goes,
# and no two ways to add up a sum agree.
@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("problem", PROBLEMS)
def test_many_steps(problem: str, settings: str) -> None:
    pair = Pair(problem, SETTINGS[settings], "float64")
    for _ in range(6):
        ours, theirs = pair.step()
        assert ours == pytest.approx(theirs, rel=1e-6, abs=1e-9, nan_ok=True)
        pair.compare(1e-6)
        assert pair.counts()[0] == pair.counts()[1]


@pytest.mark.parametrize("settings", ["few", "searching a little"])
@pytest.mark.parametrize("problem", ["network", "classes"])
def test_float32(problem: str, settings: str) -> None:
    pair = Pair(problem, SETTINGS[settings], "float32")
    for _ in range(4):
        ours, theirs = pair.step()
        assert ours == pytest.approx(theirs, rel=1e-3)
        pair.compare(2e-3)
    assert pair.sides[0][1][0].dtype == tg.float32


@pytest.mark.parametrize("settings", ["few", "searching a little"])
def test_state_moves_both_ways(settings: str) -> None:
    pair = Pair("network", SETTINGS[settings], "float64")
    for _ in range(3):
        pair.step()
    (_, ps, _, a), (_, qs, _, b) = pair.sides
    ours, theirs = a.state_dict(), b.state_dict()
    assert set(ours["state"][0]) == set(theirs["state"][0])
    for name, value in theirs["state"][0].items():
        found = ours["state"][0][name]
        assert isinstance(found, list) == isinstance(value, list), name
        for mine, other in zip(found, value, strict=True) if isinstance(value, list) else [(found, value)]:
            assert (mine is None) == (other is None)
            if other is not None:
                np.testing.assert_allclose(np.asarray(mine), np.asarray(other), rtol=1e-6, atol=1e-9)
    assert list(ours["param_groups"][0]) == list(theirs["param_groups"][0])
    a2, b2 = tg.optim.LBFGS(ps), torch.optim.LBFGS(qs)
    a2.load_state_dict(as_arrays(theirs))
    b2.load_state_dict(to_torch(ours))
    pair.sides = [(*pair.sides[0][:3], a2), (*pair.sides[1][:3], b2)]
    for _ in range(3):
        pair.step()
    pair.compare(1e-6)
    assert pair.counts()[0] == pair.counts()[1]


def test_a_schedule() -> None:
    pair = Pair("network", {"lr": 0.2, "max_iter": 3}, "float64")
    schedules = [side[0].optim.lr_scheduler.ExponentialLR(side[3], 0.8) for side in pair.sides]
    for _ in range(6):
        pair.step()
        for schedule in schedules:
            schedule.step()
    pair.compare(1e-8)


def test_arguments_and_repr() -> None:
    found = []
    for library in (tg, torch):
        parameters = inspect.signature(library.optim.LBFGS).parameters.values()
        found.append([(p.name, p.default, p.kind) for p in parameters])
    assert found[0] == found[1]
    a, b = (library.optim.LBFGS([library.ones(1, requires_grad=True)]) for library in (tg, torch))
    assert a.defaults == b.defaults
    assert repr(a).splitlines() == repr(b).splitlines()


def test_what_pytorch_refuses_we_refuse_alike() -> None:
    for library in (tg, torch):
        ps = [library.ones(1, requires_grad=True) for _ in range(2)]
        with pytest.raises(ValueError, match="group"):
            library.optim.LBFGS([{"params": ps[:1]}, {"params": ps[1:]}])
        with pytest.raises(TypeError):
            library.optim.LBFGS(ps).step()
