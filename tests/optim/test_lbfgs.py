"""L-BFGS by itself: minima that are known, what it refuses, and that it goes on from a saved state."""

from __future__ import annotations

import copy
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tests.support import teaches
from tinygrad_edu import nn, optim
from tinygrad_edu.errors import ArgumentError, DtypeError, InplaceError, ShapeError


def bowl(w: Any, optimiser: Any, seen: list[float] | None = None) -> Any:
    """A closure: the squares of ``w`` less 1, 2, 3 …, each with a weight of its own."""
    weights = tg.arange(1.0, w.numel() + 1)

    def closure() -> Any:
        optimiser.zero_grad()
        loss = (weights * (w - weights) ** 2).sum()
        loss.backward()
        if seen is not None:
            seen.append(loss.item())
        return loss

    return closure


@pytest.mark.parametrize("search", [None, "strong_wolfe"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_bowl_is_solved_in_one_step(search: str | None, dtype: str) -> None:
    w = tg.zeros(5, dtype=dtype, requires_grad=True)
    optimiser, seen = optim.LBFGS([w], lr=1 if search else 0.5, max_iter=60, line_search_fn=search), []
    first = optimiser.step(bowl(w, optimiser, seen))
    assert first.item() == seen[0] == sum(n**3 for n in range(1, 6))
    np.testing.assert_allclose(w.tolist(), [1, 2, 3, 4, 5], rtol=1e-3)
    assert len(seen) == optimiser.state[w]["func_evals"] <= 75
    before = len(seen)
    optimiser.step(bowl(w, optimiser, seen))
    assert len(seen) - before < 10, "it begins where it was, and sees that it is done"


def test_no_search_is_longer_than_allowed() -> None:
    for most in (1, 2, 5, 9):
        w = tg.full((3,), 40.0, requires_grad=True)
        optimiser, seen = optim.LBFGS([w], max_eval=most, line_search_fn="strong_wolfe"), []
        optimiser.step(bowl(w, optimiser, seen))
        assert len(seen) <= most + 1, "PyTorch's allows itself one more"


def test_a_search_that_meets_infinity_comes_back() -> None:
    w = tg.tensor([1.0], dtype="float64", requires_grad=True)
    optimiser = optim.LBFGS([w], lr=1e3, line_search_fn="strong_wolfe")

    def closure() -> Any:
        optimiser.zero_grad()
        loss = (w * w).exp().sum() if abs(w.item()) < 20 else (w * math.inf).abs().sum()
        loss.backward()
        return loss

    optimiser.step(closure)
    assert abs(w.item()) < 1


def test_a_closure_that_raises_leaves_the_parameters_of_before_the_search() -> None:
    w = tg.ones(2, requires_grad=True)
    optimiser, calls = optim.LBFGS([w], line_search_fn="strong_wolfe"), []
    inside = bowl(w, optimiser)

    def closure() -> Any:
        calls.append(w.tolist())
        if len(calls) == 2:
            raise KeyboardInterrupt
        return inside()

    with pytest.raises(KeyboardInterrupt):
        optimiser.step(closure)
    assert calls[1] != calls[0] == w.tolist()


def test_parameters_without_a_gradient_stay() -> None:
    w, other = tg.ones(2, requires_grad=True), tg.ones(3, requires_grad=True)
    optimiser = optim.LBFGS([other, w], lr=0.1)
    optimiser.step(bowl(w, optimiser))
    assert other.tolist() == [1.0] * 3
    assert w.tolist() != [1.0] * 2


def test_it_trains_a_model_and_runs_with_gradients() -> None:
    tg.manual_seed(0)
    model = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
    x = tg.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    y = tg.tensor([[0.0], [1.0], [1.0], [0.0]])
    optimiser = optim.LBFGS(model.parameters(), line_search_fn="strong_wolfe", max_iter=100)

    def closure() -> Any:
        optimiser.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        return loss

    with tg.no_grad():
        optimiser.step(closure)
    assert closure().item() < 1e-4, "exclusive or"


@pytest.mark.parametrize("search", [None, "strong_wolfe"])
def test_ten_steps_are_five_and_five(search: str | None, tmp_path: Path) -> None:
    def made() -> tuple[Any, Any]:
        w = tg.zeros(6, requires_grad=True)
        return w, optim.LBFGS([w], lr=0.3, max_iter=2, history_size=4, line_search_fn=search)

    whole, half, fresh = made(), made(), made()
    for _ in range(10):
        whole[1].step(bowl(*whole))
    for _ in range(5):
        half[1].step(bowl(*half))
    tg.save({"w": half[0], "optimiser": half[1].state_dict()}, tmp_path / "state")
    found = tg.load(tmp_path / "state")
    with tg.no_grad():
        fresh[0].copy_(found["w"])
    fresh[1].load_state_dict(found["optimiser"])
    twin = copy.deepcopy(half)
    for w, optimiser in (half, fresh, twin):
        for _ in range(5):
            optimiser.step(bowl(w, optimiser))
        assert w.tolist() == whole[0].tolist()
    assert repr(fresh[1].state_dict()) == repr(whole[1].state_dict())


# What it refuses ------------------------------------------------------------------------------------------------


def test_without_a_closure() -> None:
    optimiser = optim.LBFGS([tg.ones(1, requires_grad=True)])
    why = "one step computes the loss and its gradient several times, by calling closure"
    mend = "define closure(): zero_grad(), compute the loss, loss.backward(), return loss; then step(closure)"
    with teaches(DtypeError, "LBFGS.step()", why, mend, "optimiser.step()"):
        optimiser.step()
    with teaches(DtypeError, "LBFGS.step(3.0)", why, mend, "optimiser.step(3.0)"):
        optimiser.step(3.0)


@pytest.mark.parametrize(("loss", "kind"), [(None, "NoneType"), ("x", "str"), (tg.ones(2), "Tensor")])
def test_a_closure_that_returns_no_loss(loss: Any, kind: str) -> None:
    optimiser = optim.LBFGS([tg.ones(1, requires_grad=True)])
    why = f"the closure returns the loss, one number, but this one gave {kind}"
    with teaches(DtypeError, "LBFGS.step(closure)", why, "end it with: return loss", "optimiser.step("):
        optimiser.step(lambda: loss)


def test_there_is_one_group() -> None:
    p, q = tg.ones(1, requires_grad=True), tg.ones(1, requires_grad=True)
    tried, why = "LBFGS with several groups", "it moves all parameters along one direction, with one set of settings"
    mend = "pass the parameters in one list"
    with teaches(ArgumentError, tried, why, mend, "optim.LBFGS(["):
        optim.LBFGS([{"params": p}, {"params": q}])
    optimiser = optim.LBFGS([p])
    with teaches(ArgumentError, tried, why, mend, "add_param_group("):
        optimiser.add_param_group({"params": q})


def test_read_only_memory() -> None:
    array = np.ones(2, "f4")
    array.flags.writeable = False
    p = tg.from_numpy(array).requires_grad_()
    optimiser = optim.LBFGS([p])
    with pytest.raises(InplaceError, match="read-only"):
        optimiser.step(bowl(p, optimiser))
    assert p.tolist() == [1.0, 1.0]


def test_a_state_that_does_not_fit_changes_nothing() -> None:
    w = tg.zeros(3, requires_grad=True)
    optimiser, other = optim.LBFGS([w]), optim.LBFGS([tg.zeros(2, requires_grad=True)])
    optimiser.step(bowl(w, optimiser))
    why = "old_dirs has shape (3,), but all parameters together have 2 elements"
    mend = "give the optimiser the parameters with which it was saved"
    with teaches(ShapeError, "load_state_dict into LBFGS", why, mend, "load_state_dict("):
        other.load_state_dict(optimiser.state_dict())
    with pytest.raises(ArgumentError, match="it remembers exp_avg, but LBFGS has H_diag, al, d, "):
        other.load_state_dict({"state": {0: {"exp_avg": tg.zeros(2)}}, "param_groups": [{"params": [0]}]})
    assert other.state_dict()["state"] == {}
