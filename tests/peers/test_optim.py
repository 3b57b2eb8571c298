"""Optimisers and schedules beside PyTorch's: the same steps, the same rates, and state that moves both ways."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg

torch = pytest.importorskip("torch", reason="needs PyTorch: pip install -e '.[peers]'")
pytestmark = pytest.mark.peers

SETTINGS: list[tuple[str, dict[str, Any]]] = [
    ("SGD", {}),
    ("SGD", {"lr": 0.1, "momentum": 0.9}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.4}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.4, "weight_decay": 0.1, "maximize": True}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.1}),
    ("SGD", {"lr": 0.1, "weight_decay": 0.1, "maximize": True}),
    ("SGD", {"lr": 0.1, "maximize": True}),
    ("Adam", {}),
    ("Adam", {"lr": 0.1, "betas": (0.8, 0.9), "eps": 1e-3}),
    ("Adam", {"lr": 0.1, "weight_decay": 0.1, "maximize": True}),
    ("Adam", {"lr": 0.1, "amsgrad": True}),
    ("Adam", {"lr": 0.1, "weight_decay": 0.1, "decoupled_weight_decay": True, "maximize": True}),
    ("AdamW", {}),
    ("AdamW", {"lr": 0.1, "weight_decay": 0.3, "amsgrad": True, "maximize": True}),
    ("RMSprop", {}),
    ("RMSprop", {"lr": 0.1, "alpha": 0.9, "eps": 1e-3, "weight_decay": 0.1}),
    ("RMSprop", {"lr": 0.02, "momentum": 0.9, "centered": True, "maximize": True, "eps": 1e-2}),
    ("Adagrad", {}),
    ("Adagrad", {"lr": 0.1, "lr_decay": 0.1, "weight_decay": 0.1, "initial_accumulator_value": 0.5, "maximize": True}),
    ("Adadelta", {}),
    ("Adadelta", {"lr": 0.5, "rho": 0.5, "eps": 1e-2, "weight_decay": 0.1, "maximize": True}),
    ("Adamax", {}),
    ("Adamax", {"lr": 0.1, "betas": (0.5, 0.9), "eps": 1e-3, "weight_decay": 0.1, "maximize": True}),
    ("NAdam", {}),
    ("NAdam", {"lr": 0.1, "betas": (0.5, 0.9), "eps": 1e-3, "weight_decay": 0.1, "momentum_decay": 0.5}),
    ("NAdam", {"lr": 0.1, "weight_decay": 0.1, "decoupled_weight_decay": True, "maximize": True}),
    ("RAdam", {}),
    ("RAdam", {"lr": 0.1, "betas": (0.5, 0.9), "eps": 1e-3, "weight_decay": 0.1, "maximize": True}),
    ("RAdam", {"lr": 0.1, "betas": (0.9, 0.5), "weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("Rprop", {}),
    ("Rprop", {"lr": 0.1, "etas": (0.3, 2.0), "step_sizes": (1e-2, 0.5), "maximize": True}),
]
NAMES = sorted({name for name, _ in SETTINGS})
SHAPES = [(), (3,), (4, 5), (0, 2), (70, 70)]
IDS = [f"{name}-{'-'.join(map(str, settings))}" for name, settings in SETTINGS]


class Pair:
    """The same parameters twice, with an optimiser each."""

    def __init__(self, name: str, settings: dict[str, Any], dtype: str) -> None:
        self.rng = np.random.default_rng(0)
        starts = [np.asarray(self.rng.normal(size=shape)).astype(dtype) for shape in SHAPES]
        self.ours = [tg.tensor(start, requires_grad=True) for start in starts]
        self.theirs = [torch.tensor(start, requires_grad=True) for start in starts]
        self.a, self.b = self.optimisers(name, settings)

    def optimisers(self, name: str, settings: dict[str, Any]) -> tuple[Any, Any]:
        def groups(ps: Any) -> Any:
            return [{"params": ps[:3]}, {"params": ps[3:], "lr": 0.05}]

        ours = getattr(tg.optim, name)(groups(self.ours), **settings)
        return ours, getattr(torch.optim, name)(groups(self.theirs), foreach=False, **settings)

    def step(self, absent: int = -1) -> None:
        for i, (ours, theirs) in enumerate(zip(self.ours, self.theirs, strict=True)):
            g = np.asarray(self.rng.normal(size=SHAPES[i])).astype(ours.dtype)
            ours.grad, theirs.grad = (None, None) if i == absent else (tg.tensor(g), torch.tensor(g))
        self.a.step()
        self.b.step()

    def compare(self, tolerance: float) -> None:
        for ours, theirs in zip(self.ours, self.theirs, strict=True):
            found, expected = ours.detach().numpy(), theirs.detach().numpy()
            np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(("name", "settings"), SETTINGS, ids=IDS)
@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-11), ("float32", 2e-4)])
def test_many_steps(name: str, settings: dict[str, Any], dtype: str, tolerance: float) -> None:
    pair = Pair(name, settings, dtype)
    for i in range(60):
        pair.step(absent=i % 7)  # parameters take turns in having no gradient
    pair.compare(tolerance)


@pytest.mark.parametrize("name", NAMES)
def test_many_steps_under_a_schedule(name: str) -> None:
    pair = Pair(name, {}, "float64")
    schedules = [m.optim.lr_scheduler.ExponentialLR(o, 0.9) for m, o in ((tg, pair.a), (torch, pair.b))]
    for i in range(30):
        pair.step(absent=4 if i < 5 else -1)  # one begins later, when the rate has sunk
        for schedule in schedules:
            schedule.step()
    pair.compare(1e-11)


def to_torch(tree: Any) -> Any:
    if isinstance(tree, dict):
        return {key: to_torch(value) for key, value in tree.items()}
    if isinstance(tree, list):
        return [to_torch(value) for value in tree]
    return torch.tensor(tree.numpy()) if isinstance(tree, tg.Tensor) else tree


@pytest.mark.parametrize(("name", "settings"), SETTINGS, ids=IDS)
def test_state_moves_both_ways(name: str, settings: dict[str, Any]) -> None:
    pair = Pair(name, settings, "float64")
    for _ in range(5):
        pair.step()
    ours, theirs = pair.a.state_dict(), pair.b.state_dict()
    for i, entry in theirs["state"].items():
        named = {key: value for key, value in entry.items() if value is not None}
        assert set(ours["state"].get(i, {})) == set(named)
        for key, value in named.items():
            found = ours["state"][i][key]
            assert (str(found.dtype), tuple(found.shape)) == (str(value.dtype).removeprefix("torch."), value.shape)
            np.testing.assert_allclose(found.numpy(), value.numpy(), rtol=1e-11, atol=1e-13)
    there, here = to_torch(ours), as_arrays(theirs)
    pair.a, pair.b = pair.optimisers(name, {})  # crossed over: each goes on from the other's state and settings
    pair.a.load_state_dict(here)
    pair.b.load_state_dict(there)
    for _ in range(5):
        pair.step()
    pair.compare(1e-11 if name != "NAdam" else 1e-8)  # PyTorch's loads its mu_product, a float32, as a float64


EDITS: dict[str, Callable[[Any], Any]] = {
    "cleared": lambda entry: entry.clear(),
    "replaced": lambda entry: entry.update(
        {name: value * 0 + 0.5 for name, value in entry.items() if value is not None}
    ),
    "written": lambda entry: [value.fill_(0.5) for value in entry.values() if value is not None],
    "counted anew": lambda entry: entry["step"].fill_(0) if "step" in entry else None,
}


@pytest.mark.parametrize(
    ("name", "settings", "edit"),
    # PyTorch's Adagrad fills its state when it is made, and cannot step where that is gone.
    [(name, s, edit) for name, s in SETTINGS for edit in EDITS if (name, edit) != ("Adagrad", "cleared")],
)
def test_what_is_changed_in_the_state_counts(name: str, settings: dict[str, Any], edit: str) -> None:
    pair = Pair(name, settings, "float64")
    for _ in range(3):
        pair.step()
    for i in (1, 4):  # one that steps together with others, and one alone
        EDITS[edit](pair.a.state[pair.ours[i]])
        EDITS[edit](pair.b.state[pair.theirs[i]])
    for _ in range(3):
        pair.step()
    pair.compare(1e-11)


def as_arrays(tree: Any) -> Any:
    if isinstance(tree, dict):
        return {key: as_arrays(value) for key, value in tree.items()}
    if isinstance(tree, list):
        return [as_arrays(value) for value in tree]
    return tree.numpy().copy() if isinstance(tree, torch.Tensor) else tree


@pytest.mark.parametrize("name", NAMES)
def test_defaults_and_repr(name: str) -> None:
    pair = Pair(name, {}, "float32")
    left_out = ("foreach", "capturable", "differentiable", "fused")
    expected = {key: value for key, value in pair.b.defaults.items() if key not in left_out}
    assert pair.a.defaults == expected
    lines = [line for line in repr(pair.b).splitlines() if line.split(":")[0].strip() not in left_out]
    assert repr(pair.a).splitlines() == lines


@pytest.mark.parametrize("name", NAMES)
def test_arguments(name: str) -> None:
    """All of PyTorch's, at the same places."""
    found = []
    for library in (tg, torch):
        parameters = inspect.signature(getattr(library.optim, name)).parameters.values()
        named = {(p.name, p.default) for p in parameters if p.kind is p.KEYWORD_ONLY}
        found.append(([(p.name, p.default) for p in parameters if p.kind is not p.KEYWORD_ONLY], named))
    assert found[0] == found[1]


WRONG: dict[str, Callable[[Any, Any], Any]] = {
    "nothing": lambda m, layer: [],
    "a used-up generator": lambda m, layer: (list(params := layer.parameters()), params)[1],
    "all frozen": lambda m, layer: [p for p in layer.parameters() if p.grad is not None],
    "no leaf": lambda m, layer: [layer.weight * 2],
    "one tensor in two groups": lambda m, layer: [{"params": layer.weight}, {"params": layer.weight}],
    "a module": lambda m, layer: layer,
    "a tensor": lambda m, layer: layer.weight,
    "a number": lambda m, layer: [1.0],
    "a group alone": lambda m, layer: {"params": layer.parameters()},
    "a set": lambda m, layer: [{"params": {layer.weight}}],
}


@pytest.mark.parametrize("params", WRONG.values(), ids=WRONG)
def test_what_pytorch_refuses_we_refuse_alike(params: Callable[[Any, Any], Any]) -> None:
    with pytest.raises((TypeError, ValueError)) as theirs:
        torch.optim.SGD(params(torch, torch.nn.Linear(2, 2)), lr=0.1)
    with pytest.raises(theirs.type):
        tg.optim.SGD(params(tg, tg.nn.Linear(2, 2)), lr=0.1)


def test_the_state_of_ones_own_optimiser_keeps_its_types() -> None:
    kinds = []
    for library in (tg, torch):

        class Own(library.optim.Optimizer):  # type: ignore[misc, name-defined]
            def step(self, closure: Any = None) -> None:
                for p in self.param_groups[0]["params"]:
                    self.state[p].update(n=3, losses=[1.0], pair=(1, p.detach()), more={"t": p.detach()}, none=None)

        w = library.ones(1, requires_grad=True)
        first, second = Own([w], {}), Own([w], {})
        first.step()
        second.load_state_dict(first.state_dict())
        entry = second.state[w]
        found = {name: type(value) for name, value in entry.items()}
        kinds.append((found, type(entry["pair"][1]).__name__, type(entry["more"]["t"]).__name__))
    assert kinds[0] == kinds[1]


# Schedules ------------------------------------------------------------------------------------------------------

Make = Callable[[Any, Any], Any]
SCHEDULES: dict[str, Make] = {
    "StepLR": lambda s, o: s.StepLR(o, 3, 0.5),
    "MultiStepLR": lambda s, o: s.MultiStepLR(o, [2, 5, 5, 9], 0.3),
    "ConstantLR": lambda s, o: s.ConstantLR(o, 0.25, 4),
    "LinearLR": lambda s, o: s.LinearLR(o, 0.2, 0.9, 6),
    "LinearLR down": lambda s, o: s.LinearLR(o, 1.0, 0.0, 6),
    "ExponentialLR": lambda s, o: s.ExponentialLR(o, 0.9),
    "PolynomialLR": lambda s, o: s.PolynomialLR(o, 7, 2.0),
    "CosineAnnealingLR": lambda s, o: s.CosineAnnealingLR(o, 5, 0.01),
    "CosineAnnealingLR 1": lambda s, o: s.CosineAnnealingLR(o, 1),
    "WarmRestarts": lambda s, o: s.CosineAnnealingWarmRestarts(o, 3, 2, 0.01),
    "WarmRestarts 1": lambda s, o: s.CosineAnnealingWarmRestarts(o, 4),
    "LambdaLR": lambda s, o: s.LambdaLR(o, [lambda e: 0.9**e, lambda e: 1 / (1 + e)]),
    "MultiplicativeLR": lambda s, o: s.MultiplicativeLR(o, lambda e: 0.9 + 0.01 * e),
    "OneCycleLR": lambda s, o: s.OneCycleLR(o, [0.5, 0.2], 20),
    "OneCycleLR three": lambda s, o: s.OneCycleLR(o, 0.5, epochs=5, steps_per_epoch=4, three_phase=True, pct_start=0.4),
    "OneCycleLR linear": lambda s, o: s.OneCycleLR(o, 0.5, 21, anneal_strategy="linear", cycle_momentum=False),
    "CyclicLR": lambda s, o: s.CyclicLR(o, 0.01, [0.1, 0.2], 3, 5),
    "CyclicLR 2": lambda s, o: s.CyclicLR(o, 0.01, 0.1, 3, mode="triangular2"),
    "CyclicLR exp": lambda s, o: s.CyclicLR(o, 0.01, 0.1, 3, mode="exp_range", gamma=0.9, cycle_momentum=False),
    "CyclicLR own": lambda s, o: s.CyclicLR(o, 0.01, 0.1, 3, scale_fn=lambda x: 1 / x, scale_mode="cycle"),
    "SequentialLR": lambda s, o: s.SequentialLR(
        o, [s.LinearLR(o, 0.1, total_iters=4), s.CosineAnnealingLR(o, 8), s.ExponentialLR(o, 0.9)], [4, 12]
    ),
    "SequentialLR of more": lambda s, o: s.SequentialLR(
        o,
        [s.ConstantLR(o, 0.1, 2), s.StepLR(o, 2, 0.5), s.MultiStepLR(o, [0, 3]), s.PolynomialLR(o, 4),
         s.CosineAnnealingWarmRestarts(o, 2), s.LambdaLR(o, lambda e: 0.5**e), s.MultiplicativeLR(o, lambda e: 0.7)],
        [3, 6, 9, 12, 15, 18],
    ),
    "ChainedScheduler": lambda s, o: s.ChainedScheduler([s.LinearLR(o, 0.2), s.ExponentialLR(o, 0.9), s.StepLR(o, 4)]),
}  # fmt: skip


def optimiser_of(library: Any, name: str) -> Any:
    ps = [library.ones(2, requires_grad=True) for _ in range(2)]
    groups = [{"params": ps[:1]}, {"params": ps[1:], "lr": 0.3}]
    return getattr(library.optim, name)(groups, lr=0.1, **({"momentum": 0.9} if name == "SGD" else {}))


def rates(optimiser: Any) -> list[Any]:
    keys = ("lr", "momentum", "betas")
    return (
        [value for group in optimiser.param_groups for value in np.ravel([group[k] for k in keys if k in group])]
        if ("betas" not in optimiser.param_groups[0])
        else [value for group in optimiser.param_groups for value in (group["lr"], *group["betas"])]
    )


@pytest.mark.filterwarnings("ignore:Detected call of:UserWarning", "ignore:To get the last learning:UserWarning")
@pytest.mark.parametrize("name", ["SGD", "Adam"])
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_schedules(schedule: str, name: str) -> None:
    make = SCHEDULES[schedule]
    a, b = optimiser_of(tg, name), optimiser_of(torch, name)
    ours, theirs = make(tg.optim.lr_scheduler, a), make(torch.optim.lr_scheduler, b)
    for i in range(20):
        assert rates(a) == pytest.approx(rates(b), rel=1e-9, abs=1e-15), i
        assert ours.get_last_lr() == pytest.approx(theirs.get_last_lr(), rel=1e-9, abs=1e-15)
        a.step(), b.step()
        ours.step(), theirs.step()
        if i == 10:
            a.param_groups[0]["lr"] *= 0.5  # by hand: what is relative goes on from there
            b.param_groups[0]["lr"] *= 0.5


STATES = [name for name in SCHEDULES if "own" not in name]


@pytest.mark.filterwarnings("ignore:Detected call of:UserWarning")
@pytest.mark.parametrize("schedule", STATES)
def test_a_schedule_goes_on_from_pytorchs_state(schedule: str) -> None:
    make = SCHEDULES[schedule]
    a, b = optimiser_of(tg, "SGD"), optimiser_of(torch, "SGD")
    theirs = make(torch.optim.lr_scheduler, b)
    for _ in range(7):
        b.step(), theirs.step()
    ours = make(tg.optim.lr_scheduler, a)
    a.load_state_dict(as_arrays(copy.deepcopy(b.state_dict())))
    ours.load_state_dict(theirs.state_dict())
    for _ in range(10):
        assert rates(a) == pytest.approx(rates(b), rel=1e-9, abs=1e-15)
        b.step(), theirs.step()
        a.step(), ours.step()


@pytest.mark.parametrize("settings", [
    {}, {"patience": 2, "factor": 0.5}, {"mode": "max", "patience": 1, "threshold": 0.1, "cooldown": 2},
    {"patience": 0, "threshold_mode": "abs", "threshold": 0.05, "min_lr": [0.01, 0.02]},
    {"mode": "max", "patience": 0, "threshold_mode": "abs", "eps": 0.01},
])  # fmt: skip
def test_plateau(settings: dict[str, Any]) -> None:
    a, b = optimiser_of(tg, "SGD"), optimiser_of(torch, "SGD")
    ours = tg.optim.lr_scheduler.ReduceLROnPlateau(a, **settings)
    theirs = torch.optim.lr_scheduler.ReduceLROnPlateau(b, **settings)
    rng = np.random.default_rng(1)
    for i in range(60):
        metric = 1 / (1 + i) + rng.normal() * 0.1
        ours.step(tg.tensor(metric, dtype=tg.float64))
        theirs.step(torch.tensor(metric, dtype=torch.float64))
        assert rates(a) == pytest.approx(rates(b), rel=1e-12)
        assert (ours.best, ours.num_bad_epochs) == (theirs.best, theirs.num_bad_epochs)


def test_fractions_of_epochs() -> None:
    a, b = optimiser_of(tg, "SGD"), optimiser_of(torch, "SGD")
    ours = tg.optim.lr_scheduler.CosineAnnealingWarmRestarts(a, 2, 2)
    theirs = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(b, 2, 2)
    for epoch in (0, 0.25, 0.5, 1.75, 2, 2.5, 5.9, 6, 13.99, 14, 3):
        ours.step(epoch), theirs.step(epoch)
        assert rates(a) == pytest.approx(rates(b), rel=1e-9)
        assert (ours.T_i, ours.last_epoch) == (theirs.T_i, theirs.last_epoch)
    ours.step(), theirs.step()
    assert rates(a) == pytest.approx(rates(b), rel=1e-9)


@pytest.mark.parametrize("last_epoch", [0, 3, 5])
@pytest.mark.parametrize("schedule", ["StepLR", "ExponentialLR", "LinearLR", "PolynomialLR", "CosineAnnealingLR"])
def test_a_schedule_that_begins_in_the_middle(schedule: str, last_epoch: int) -> None:
    given = {"StepLR": (3,), "ExponentialLR": (0.9,), "LinearLR": (), "PolynomialLR": (8,), "CosineAnnealingLR": (6,)}
    made = []
    for library in (tg, torch):
        optimiser = optimiser_of(library, "SGD")
        for group in optimiser.param_groups:
            group["initial_lr"] = group["lr"]
        make = getattr(library.optim.lr_scheduler, schedule)
        made.append((optimiser, make(optimiser, *given[schedule], last_epoch=last_epoch)))
    for _ in range(6):
        assert rates(made[0][0]) == pytest.approx(rates(made[1][0]), rel=1e-12)
        for optimiser, scheduler in made:
            optimiser.step(), scheduler.step()


# Clipping -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [1.0, 2.0, 3.0, float("inf")])
@pytest.mark.parametrize("bound", [0.5, 100.0])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_clipping(order: float, bound: float, dtype: str) -> None:
    rng = np.random.default_rng(0)
    gs = [rng.normal(size=shape).astype(dtype) for shape in ((3,), (2, 4), (1,))]
    ours, theirs = [], []
    for library, ps in ((tg, ours), (torch, theirs)):
        for g in gs:
            p = library.tensor(np.zeros_like(g), requires_grad=True)
            p.grad = library.tensor(g)
            ps.append(p)
    utils = torch.nn.utils
    from tinygrad_edu.nn import utils as own

    a, b = own.clip_grad_norm_(iter(ours), bound, order), utils.clip_grad_norm_(iter(theirs), bound, order)
    assert a.item() == pytest.approx(b.item(), rel=1e-6)
    assert str(a.dtype) == dtype
    own.clip_grad_value_(ours, 0.1)
    utils.clip_grad_value_(theirs, 0.1)
    for x, y in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(x.grad.numpy(), y.grad.numpy(), rtol=1e-6)
    vector, expected = own.parameters_to_vector(ours), utils.parameters_to_vector(theirs)
    assert vector.tolist() == expected.tolist()
