"""Every optimiser: against its formula written out, in bundles and alone, in place, and on from a saved state."""

from __future__ import annotations

import copy
import inspect
import itertools
import operator
import pickle
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tinygrad_edu as tg
from tests.support import teaches
from tinygrad_edu import nn, optim
from tinygrad_edu.compile import interpret, trace
from tinygrad_edu.errors import (
    ArgumentError,
    AutogradError,
    DeviceError,
    DtypeError,
    EduError,
    InplaceError,
    ShapeError,
)
from tinygrad_edu.optim import stepping

Formula = Callable[..., Iterator[Any]]


def sgd(p: Any, grads: Any, lr: float, momentum: float = 0, nesterov: bool = False, dampening: float = 0) -> Any:
    v = None
    for g in grads:
        v = g if v is None else momentum * v + (1 - dampening) * g
        p = p - lr * (g + momentum * v if nesterov else v if momentum else g)
        yield p


def adam(p: Any, grads: Any, lr: float = 1e-3, betas: Any = (0.9, 0.999), eps: float = 1e-8, **more: Any) -> Any:
    m = v = largest = np.zeros_like(p)
    decay, decoupled = more.get("weight_decay", 0), more.get("decoupled_weight_decay")
    for t, g in enumerate(grads, 1):
        g = -g if more.get("maximize") else g
        if decoupled:
            p = p - lr * decay * p
        else:
            g = g + decay * p
        m, v = betas[0] * m + (1 - betas[0]) * g, betas[1] * v + (1 - betas[1]) * g**2
        largest = np.maximum(largest, v)
        corrected = (largest if more.get("amsgrad") else v) / (1 - betas[1] ** t)
        p = p - lr * m / (1 - betas[0] ** t) / (np.sqrt(corrected) + eps)
        yield p


def adamw(p: Any, grads: Any, **settings: Any) -> Any:
    return adam(p, grads, decoupled_weight_decay=True, **{"weight_decay": 0.01, **settings})


def rmsprop(p: Any, grads: Any, lr: float = 0.01, alpha: float = 0.99, eps: float = 1e-8, **more: Any) -> Any:
    v = mean = collected = np.zeros_like(p)
    for g in grads:
        g = (-g if more.get("maximize") else g) + more.get("weight_decay", 0) * p
        v, mean = alpha * v + (1 - alpha) * g**2, alpha * mean + (1 - alpha) * g
        step = g / (np.sqrt(v - mean**2 if more.get("centered") else v) + eps)
        collected = more.get("momentum", 0) * collected + step
        p = p - lr * collected
        yield p


def adagrad(p: Any, grads: Any, lr: float = 0.01, lr_decay: float = 0, eps: float = 1e-10, **more: Any) -> Any:
    s = np.full_like(p, more.get("initial_accumulator_value", 0))
    for t, g in enumerate(grads):
        g = (-g if more.get("maximize") else g) + more.get("weight_decay", 0) * p
        s = s + g**2
        p = p - lr / (1 + t * lr_decay) * g / (np.sqrt(s) + eps)
        yield p


def adadelta(p: Any, grads: Any, lr: float = 1.0, rho: float = 0.9, eps: float = 1e-6, **more: Any) -> Any:
    v = u = np.zeros_like(p)
    for g in grads:
        g = (-g if more.get("maximize") else g) + more.get("weight_decay", 0) * p
        v = rho * v + (1 - rho) * g**2
        step = np.sqrt(u + eps) / np.sqrt(v + eps) * g
        u = rho * u + (1 - rho) * step**2
        p = p - lr * step
        yield p


def adamax(p: Any, grads: Any, lr: float = 2e-3, betas: Any = (0.9, 0.999), eps: float = 1e-8, **more: Any) -> Any:
    m = u = np.zeros_like(p)
    for t, g in enumerate(grads, 1):
        g = (-g if more.get("maximize") else g) + more.get("weight_decay", 0) * p
        m, u = betas[0] * m + (1 - betas[0]) * g, np.maximum(betas[1] * u, np.abs(g) + eps)
        p = p - lr / (1 - betas[0] ** t) * m / u
        yield p


def means(p: Any, grads: Any, betas: Any, lr: float, **more: Any) -> Any:
    """What NAdam and RAdam share: the step's number, the parameter (decayed), the gradient and the two means."""
    m = v = np.zeros_like(p)
    decay, decoupled = more.get("weight_decay", 0), more.get("decoupled_weight_decay")
    for t, g in enumerate(grads, 1):
        g = (-g if more.get("maximize") else g) + (0 if decoupled else decay * p)
        m, v = betas[0] * m + (1 - betas[0]) * g, betas[1] * v + (1 - betas[1]) * g**2
        p = yield t, (p - lr * decay * p if decoupled else p), g, m, v / (1 - betas[1] ** t)


def nadam(p: Any, grads: Any, lr: float = 2e-3, betas: Any = (0.9, 0.999), eps: float = 1e-8, **more: Any) -> Any:
    product, walk, fade = 1.0, means(p, grads, betas, lr, **more), more.get("momentum_decay", 4e-3)
    given = next(walk)
    for _ in grads:
        t, p, g, m, v = given
        mu, ahead = (betas[0] * (1 - 0.5 * 0.96 ** (s * fade)) for s in (t, t + 1))
        product = float(np.float32(product) * np.float32(mu))  # kept as PyTorch keeps it
        p = p - lr * (g * (1 - mu) / (1 - product) + m * ahead / (1 - product * ahead)) / (np.sqrt(v) + eps)
        yield p
        given = walk.send(p) if t < len(grads) else None


def radam(p: Any, grads: Any, lr: float = 1e-3, betas: Any = (0.9, 0.999), eps: float = 1e-8, **more: Any) -> Any:
    walk, most = means(p, grads, betas, lr, **more), 2 / (1 - betas[1]) - 1
    given = next(walk)
    for _ in grads:
        t, p, _, m, v = given
        rho, left = most - 2 * t * betas[1] ** t / (1 - betas[1] ** t), 1 - betas[1] ** t
        step = m / (1 - betas[0] ** t)
        if rho > 5:
            factor = np.sqrt((rho - 4) * (rho - 2) * most / ((most - 4) * (most - 2) * rho))
            step = step * factor / (np.sqrt(v) + eps / np.sqrt(left))
        p = p - lr * step
        yield p
        given = walk.send(p) if t < len(grads) else None


def rprop(
    p: Any, grads: Any, lr: float = 0.01, etas: Any = (0.5, 1.2), step_sizes: Any = (1e-6, 50), **more: Any
) -> Any:
    before, size = np.zeros_like(p), np.full_like(p, lr)
    for g in grads:
        g = -g if more.get("maximize") else g
        turn = np.sign(g * before)
        size = np.clip(size * np.select([turn > 0, turn < 0], etas[::-1], 1.0), *step_sizes)
        before = np.where(turn < 0, 0, g)
        p = p - np.sign(before) * size
        yield p


CASES: list[tuple[Any, Formula, dict[str, Any]]] = [
    (optim.SGD, sgd, {"lr": 0.1}),
    (optim.SGD, sgd, {"lr": 0.1, "momentum": 0.9, "dampening": 0.2}),
    (optim.SGD, sgd, {"lr": 0.1, "momentum": 0.9, "nesterov": True}),
    (optim.Adam, adam, {}),
    (optim.Adam, adam, {"lr": 0.1, "betas": (0.5, 0.9), "eps": 0.1, "weight_decay": 0.2}),
    (optim.Adam, adam, {"lr": 0.1, "amsgrad": True, "maximize": True}),
    (optim.AdamW, adamw, {"lr": 0.1}),
    (optim.AdamW, adamw, {"lr": 0.1, "weight_decay": 0.5, "amsgrad": True, "maximize": True}),
    (optim.RMSprop, rmsprop, {}),
    (optim.RMSprop, rmsprop, {"lr": 0.1, "alpha": 0.5, "momentum": 0.5, "weight_decay": 0.1}),
    (optim.RMSprop, rmsprop, {"lr": 0.1, "centered": True, "eps": 0.1, "maximize": True}),
    (optim.Adagrad, adagrad, {}),
    (optim.Adagrad, adagrad, {"lr": 0.1, "lr_decay": 0.5, "weight_decay": 0.1, "initial_accumulator_value": 1.0}),
    (optim.Adadelta, adadelta, {}),
    (optim.Adadelta, adadelta, {"lr": 0.5, "rho": 0.5, "eps": 0.1, "weight_decay": 0.1, "maximize": True}),
    (optim.Adamax, adamax, {}),
    (optim.Adamax, adamax, {"lr": 0.1, "betas": (0.5, 0.6), "eps": 0.1, "weight_decay": 0.1, "maximize": True}),
    (optim.NAdam, nadam, {}),
    (optim.NAdam, nadam, {"lr": 0.1, "betas": (0.5, 0.9), "eps": 0.1, "weight_decay": 0.2, "momentum_decay": 0.5}),
    (optim.NAdam, nadam, {"lr": 0.1, "weight_decay": 0.2, "decoupled_weight_decay": True, "maximize": True}),
    (optim.RAdam, radam, {}),
    (optim.RAdam, radam, {"lr": 0.1, "betas": (0.5, 0.9), "eps": 0.1, "weight_decay": 0.2, "maximize": True}),
    (optim.RAdam, radam, {"lr": 0.1, "betas": (0.5, 0.9), "weight_decay": 0.2, "decoupled_weight_decay": True}),
    (optim.Rprop, rprop, {}),
    (optim.Rprop, rprop, {"lr": 0.1, "etas": (0.25, 3.0), "step_sizes": (0.05, 0.2), "maximize": True}),
]
EVERY = pytest.mark.parametrize(
    ("make", "formula", "settings"), CASES, ids=lambda value: getattr(value, "__name__", str(value))
)
SHAPES = ((), (3,), (2, 4), (stepping.SMALL + 1,))  # three that step together, and one alone


def leaves(dtype: str = "float64", device: str = "cpu", shapes: Any = SHAPES) -> list[Any]:
    rng = np.random.default_rng(0)
    return [tg.tensor(rng.normal(size=s), dtype=dtype, device=device, requires_grad=True) for s in shapes]


def gradients(steps: int, dtype: str = "float64", shapes: Any = SHAPES) -> list[list[Any]]:
    rng = np.random.default_rng(1)
    return [[np.asarray(rng.normal(size=s)).astype(dtype) for s in shapes] for _ in range(steps)]


def run(optimiser: Any, ps: list[Any], grads: list[list[Any]]) -> None:
    for row in grads:
        for p, g in zip(ps, row, strict=True):
            p.grad = None if g is None else tg.tensor(g, dtype=p.dtype, device=p.device)
        optimiser.step()


@EVERY
@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-12), ("float32", 1e-4)])
@pytest.mark.parametrize("device", ["cpu", "far"])
def test_formula(
    make: Any, formula: Formula, settings: dict[str, Any], dtype: str, tolerance: float, device: str
) -> None:
    ps, grads = leaves(dtype, device), gradients(6, dtype)
    starts = [p.detach().cpu().numpy().astype("f8") for p in ps]
    run(make(ps, **settings), ps, grads)
    for i, (p, start) in enumerate(zip(ps, starts, strict=True)):
        *_, expected = formula(start, [row[i].astype("f8") for row in grads], **settings)
        assert p.dtype == np.dtype(dtype)
        np.testing.assert_allclose(p.detach().cpu().numpy(), expected, rtol=tolerance, atol=tolerance)


@EVERY
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_16_bits(make: Any, formula: Formula, settings: dict[str, Any], dtype: str) -> None:
    """The state is float32, and a step rounds each parameter once: exactly what a float32 copy does, step by step."""
    shapes = ((3,), (2, 4), (stepping.SMALL + 1,))
    ps, grads = leaves(dtype, shapes=shapes), gradients(5, "float32", shapes)
    optimiser = make(ps, **settings)
    copies = [p.detach().float().requires_grad_() for p in ps]
    reference = make(copies, **settings)
    for row in grads:
        for p, q, g in zip(ps, copies, row, strict=True):
            p.grad = tg.tensor(g, dtype=dtype)
            q.grad = p.grad.float()
        optimiser.step()
        reference.step()
        with tg.no_grad():
            for p, q in zip(ps, copies, strict=True):
                q.copy_(q.to(dtype))
                assert p.tolist() == q.tolist()
    for entry in optimiser.state.values():
        assert {value.dtype for value in entry.values()} <= {tg.float32}


@EVERY
def test_a_step_writes_in_place_and_allocates_nothing(make: Any, formula: Formula, settings: dict[str, Any]) -> None:
    """After the first step NumPy asks for no memory at all, and every parameter keeps its own."""
    ps = leaves("float32", shapes=((1000,), (600,), (20, 30), (5000,)))
    for p in ps:
        p.grad = tg.full(p.shape, 0.5)
    optimiser = make(ps, **settings)
    optimiser.step()
    optimiser.step()
    arrays = [p.array for p in ps]
    numpy_only = tracemalloc.DomainFilter(inclusive=True, domain=np.lib.tracemalloc_domain)
    tracemalloc.start()
    try:
        for _ in range(3):
            optimiser.step()
        peak = tracemalloc.get_traced_memory()[1]
        left = tracemalloc.take_snapshot().filter_traces([numpy_only])
    finally:
        tracemalloc.stop()
    assert all(p.array is array for p, array in zip(ps, arrays, strict=True))
    assert peak < 4000, "one array of a parameter's size was made on the way"
    assert sum(trace.size for trace in left.traces) == 0


def test_the_measure_of_allocation_sees_an_array() -> None:
    """Or the test above would prove nothing."""
    tracemalloc.start()
    try:
        _ = tg.ones(1000) * 2
        assert tracemalloc.get_traced_memory()[1] > 4000
    finally:
        tracemalloc.stop()


@given(st.data())
def test_parameters_step_together_as_they_do_alone(data: st.DataObject) -> None:
    """Whichever have gradients, step after step: to the last bit what each does in an optimiser of its own."""
    make, _, settings = data.draw(st.sampled_from(CASES))
    shapes = data.draw(
        st.lists(st.sampled_from([(), (2,), (3, 2), (0,), (stepping.SMALL + 1,)]), min_size=1, max_size=5)
    )
    dtypes = [data.draw(st.sampled_from(["float32", "float64", "bfloat16"])) for _ in shapes]
    together, alone = ([leaves(d, shapes=(s,))[0] for s, d in zip(shapes, dtypes, strict=True)] for _ in range(2))
    joint, single = make(together, **settings), [make([p], **settings) for p in alone]
    for row in gradients(data.draw(st.integers(1, 6)), shapes=shapes):
        row = [g if data.draw(st.booleans()) else None for g in row]
        run(joint, together, [row])
        for optimiser, p, g in zip(single, alone, row, strict=True):
            run(optimiser, [p], [[g]])
    for p, q in zip(together, alone, strict=True):
        assert p.tolist() == q.tolist()


def test_parameters_of_one_memory_step_one_after_the_other() -> None:
    base = tg.tensor([1.0, 2.0, 3.0])
    p, q = base[:2].detach().requires_grad_(), base[1:].detach().requires_grad_()
    optimiser = optim.SGD([p, q], lr=1.0)
    run(optimiser, [p, q], [[np.ones(2), np.ones(2)]])
    assert base.tolist() == [0.0, 0.0, 2.0]  # the middle one has stepped twice


def test_small_parameters_step_in_one_call() -> None:
    calls = []

    class Counted(optim.SGD):
        def update(self, group: Any, at: Any, p: Any, g: Any) -> None:
            calls.append(p.size)
            super().update(group, at, p, g)

    ps = leaves(shapes=((3,), (2, 2), (stepping.SMALL + 1,), ()))
    run(Counted(ps, lr=0.1), ps, gradients(2, shapes=((3,), (2, 2), (stepping.SMALL + 1,), ())))
    assert sorted(calls) == [8, 8, stepping.SMALL + 1, stepping.SMALL + 1]


def test_arrays_of_a_subclass(tmp_path: Any) -> None:
    p = tg.ones(2, requires_grad=True)
    gradient = np.memmap(tmp_path / "gradient", "f4", "w+", shape=(2,))
    gradient[...] = [1.0, 2.0]
    p.grad = tg.tensor([0.0, 0.0])
    p.grad.array = gradient
    optim.SGD([p], lr=1.0).step()
    assert p.tolist() == [0.0, -1.0]


def test_a_bundle_is_no_larger_than_the_cache_likes() -> None:
    count = stepping.TOGETHER // stepping.SMALL + 1
    ps = leaves(shapes=((stepping.SMALL,),) * count)
    optimiser = optim.SGD(ps, lr=0.1)
    run(optimiser, ps, gradients(1, shapes=((stepping.SMALL,),) * count))
    (plan,) = optimiser._plans
    assert [len(bundle.params) for bundle in plan.bundles] == [count - 1, 1]


def test_takers_of_turns_are_laid_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    plans = []
    plan = optim.Adam._plan
    monkeypatch.setattr(optim.Adam, "_plan", lambda *args: plans.append(1) or plan(*args))
    ps = leaves(shapes=((2,), (2,)))
    optimiser = optim.Adam(ps)
    g = np.ones(2)
    run(optimiser, ps, [[g, None], [None, g], [g, None], [None, g], [g, g], [g, None], [g, g]])
    assert len(plans) <= 3


def test_what_has_neither_gradient_nor_state_is_laid_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    ps = leaves(shapes=((2,), (2,)))
    optimiser, g = optim.SGD(ps, momentum=0.9), np.ones(2)
    run(optimiser, ps, [[g, g]])
    optimiser.state[ps[1]].clear()
    plans = []
    plan = optim.SGD._plan
    monkeypatch.setattr(optim.SGD, "_plan", lambda *args: plans.append(1) or plan(*args))
    run(optimiser, ps, [[g, None]] * 4)
    assert len(plans) == 1
    assert optimiser.state[ps[1]] == {}


# Writes ---------------------------------------------------------------------------------------------------------


def test_only_what_has_moved_counts_as_written() -> None:
    ps = leaves(shapes=((2,), (2,), (2,)))
    optimiser = optim.Adam(ps)
    run(optimiser, ps, [gradients(1, shapes=((2,), (2,), (2,)))[0]])
    before = [p.storage.stamp for p in ps]
    run(optimiser, ps, [[np.ones(2), None, np.ones(2)]])
    after = [p.storage.stamp for p in ps]
    assert [new > old for old, new in zip(before, after, strict=True)] == [True, False, True]
    assert after[0] == after[2]
    assert ps[0].storage.writer[0] == "Adam.step"


@pytest.mark.parametrize("make", [optim.SGD, optim.Adam])
def test_read_only_memory(make: Any) -> None:
    array = np.ones(2, "f4")
    array.flags.writeable = False
    p, other = tg.from_numpy(array).requires_grad_(), tg.ones(2, requires_grad=True)
    p.grad = other.grad = tg.ones(2)
    optimiser = make([other, p], lr=0.1)
    why = "its memory is read-only: the graph still needs it, or it shows a NumPy array that was read-only"
    tried, mend = (
        f"{make.__name__}.step of parameter 1 (2,) float32",
        "step after backward, or make the parameter from a copy",
    )
    if p.array.flags.writeable:
        pytest.fail("the parameter is to be read-only")
    with teaches(InplaceError, tried, why, mend, "optimiser.step()"):
        optimiser.step()
    assert other.tolist() == [1.0, 1.0]


@EVERY
@pytest.mark.parametrize("together", [True, False])
def test_a_graph_that_saved_the_state_says_who_has_overwritten_it(
    make: Any, formula: Formula, settings: dict[str, Any], together: bool
) -> None:
    ps = leaves(shapes=((2,), (2,))[: 1 + together])
    optimiser = make(ps, **settings)
    g = [np.ones(2)] * len(ps)
    run(optimiser, ps, [g])
    for name in optimiser.state[ps[0]]:
        w = tg.ones(2, dtype=optimiser.state[ps[0]][name].dtype, requires_grad=True)
        y = (optimiser.state[ps[0]][name] * w).sum()
        run(optimiser, ps, [g])
        with pytest.raises(InplaceError, match=rf"{make.__name__}\.step has overwritten it since"):
            y.backward()


@EVERY
@pytest.mark.parametrize("handed_in", [True, False])
def test_state_that_the_guard_keeps_is_left_as_it_is(
    make: Any, formula: Formula, settings: dict[str, Any], handed_in: bool
) -> None:
    """The user has it as an array, and a graph needs it: the step goes on in other memory, to the same numbers."""
    ps, qs, grads = leaves(), leaves(), gradients(4)
    optimiser, other = make(ps, **settings), make(qs, **settings)
    run(optimiser, ps, grads[:2])
    run(other, qs, grads[:2])
    for name in optimiser.state[ps[1]]:
        state = optimiser.state[ps[1]][name]
        array, before = state.numpy(), state.tolist()
        w = tg.ones(state.shape, dtype=state.dtype, requires_grad=True)
        y = ((tg.from_numpy(array) if handed_in else state) * w).sum()
        assert not array.flags.writeable
        run(optimiser, ps, grads[2:3])
        run(other, qs, grads[2:3])
        assert array.tolist() == before
        y.backward()
        assert w.grad.tolist() == before
    run(optimiser, ps, grads[3:])
    run(other, qs, grads[3:])
    assert [p.tolist() for p in ps] == [q.tolist() for q in qs]


@pytest.mark.parametrize("later", [0, 1, 3])
@pytest.mark.parametrize("make", [optim.SGD, optim.Adam])
def test_a_parameter_that_the_guard_keeps(make: Any, later: int) -> None:
    """At the first step, and at a later one, for which all is laid out already."""
    other, p = tg.ones(2, requires_grad=True), tg.ones(2, requires_grad=True)
    other.grad = p.grad = tg.ones(2)
    optimiser = make([other, p], lr=0.25)
    for _ in range(later):
        optimiser.step()
    x, array = tg.ones(2, requires_grad=True), p.detach().numpy()
    loss = (tg.from_numpy(array) * x).sum()
    assert not p.array.flags.writeable
    before = (array.tolist(), other.tolist(), repr(optimiser.state_dict()))
    with pytest.raises(InplaceError, match=rf"^{make.__name__}\.step of parameter 1 .*\n.*its memory is read-only"):
        optimiser.step()
    assert (array.tolist(), other.tolist(), repr(optimiser.state_dict())) == before
    loss.backward()
    assert x.grad.tolist() == before[0]
    optimiser.step()
    assert array.tolist() == other.tolist() != before[0]


# What it refuses ------------------------------------------------------------------------------------------------


def unlike(what: str) -> Any:
    """A gradient that does not fit a parameter of two float32 elements."""
    return {"dtype": tg.ones(2, dtype=tg.float64), "device": tg.ones(2, device="far"), "shape": tg.ones(3)}[what]


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize(
    ("what", "kind", "why"),
    [
        ("dtype", DtypeError, "its gradient is float64"),
        ("device", DeviceError, "the parameter lives on cpu, but its gradient on far"),
        ("shape", ShapeError, "its gradient has shape (3,)"),
    ],
)
def test_a_gradient_unlike_its_parameter(what: str, kind: type[EduError], why: str, first: bool) -> None:
    good, bad = tg.ones(2, requires_grad=True), tg.ones(2, requires_grad=True)
    good.grad = bad.grad = tg.ones(2)
    optimiser = optim.SGD([{"params": [("good", good)]}, {"params": [("bad", bad)]}], lr=1.0)
    if not first:
        optimiser.step()
    bad.gradient = unlike(what)
    before = (good.tolist(), bad.tolist())
    with pytest.raises(kind, match=r"^SGD\.step of bad \(2,\) float32") as caught:
        optimiser.step()
    assert caught.value.why == why
    assert "optimiser.step()" in caught.value.line
    assert (good.tolist(), bad.tolist()) == before


@pytest.mark.parametrize(
    ("make", "settings", "what"),
    [
        (optim.Adam, {"betas": (0.9, 1.0)}, "betas=(0.9, 1.0)"),
        (optim.Adam, {"betas": (0.9,)}, "betas=(0.9,)"),
        (optim.Adam, {"eps": -1}, "eps=-1"),
        (optim.AdamW, {"weight_decay": -1}, "weight_decay=-1"),
        (optim.RMSprop, {"alpha": -1}, "alpha=-1"),
        (optim.Adagrad, {"lr_decay": -1}, "lr_decay=-1"),
        (optim.Adadelta, {"rho": 1.5}, "rho=1.5"),
        (optim.Adadelta, {"rho": -1}, "rho=-1"),
        (optim.Adamax, {"betas": (1.0, 0.9)}, "betas=(1.0, 0.9)"),
        (optim.NAdam, {"momentum_decay": -1}, "momentum_decay=-1"),
        (optim.RAdam, {"betas": 0.5}, "betas=0.5"),
        (optim.Rprop, {"etas": (1.2, 0.5)}, "etas=(1.2, 0.5)"),
        (optim.Rprop, {"step_sizes": (1e-6,)}, "step_sizes=(1e-06,)"),
        (optim.LBFGS, {"max_iter": 0}, "max_iter=0"),
        (optim.LBFGS, {"tolerance_grad": float("nan")}, "tolerance_grad=nan"),
        (optim.LBFGS, {"line_search_fn": "wolfe"}, "line_search_fn='wolfe'"),
    ],
)
def test_settings_that_cannot_be(make: Any, settings: dict[str, Any], what: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        make([tg.ones(1, requires_grad=True)], **settings)
    assert caught.value.tried == f"{make.__name__} with {what}"
    with pytest.raises(ArgumentError):
        make([{"params": [tg.ones(1, requires_grad=True)], **settings}])


# Groups ---------------------------------------------------------------------------------------------------------


def test_groups_have_their_own_settings() -> None:
    p, q, r = (tg.zeros(1, requires_grad=True) for _ in range(3))
    given = {"params": q, "lr": 0.25}
    optimiser = optim.SGD([{"params": iter([p])}, given], lr=1.0)
    optimiser.add_param_group({"params": [r], "lr": 0.5})
    run(optimiser, [p, q, r], [[np.ones(1)] * 3])
    assert [x.item() for x in (p, q, r)] == [-1.0, -0.25, -0.5]
    assert given == {"params": q, "lr": 0.25}, "what was given is left as it was"


def test_named_parameters() -> None:
    layer = nn.Linear(2, 2)
    optimiser = optim.SGD(layer.named_parameters())
    assert optimiser.param_groups[0]["param_names"] == ["weight", "bias"]
    assert optimiser.state_dict()["param_groups"][0]["param_names"] == ["weight", "bias"]
    why, mend = "some parameters come with names and some without", "name all of them, or none"
    with teaches(ArgumentError, "SGD of named parameters", why, mend, "optimiser.add_param_group"):
        optimiser.add_param_group({"params": [tg.ones(1, requires_grad=True)]})
    with teaches(ArgumentError, "SGD of named parameters", why, mend, "optim.SGD("):
        optim.SGD([("w", tg.ones(1, requires_grad=True)), tg.ones(1, requires_grad=True)])  # type: ignore[list-item]
    assert len(optimiser.param_groups) == 1


def test_a_tensor_in_two_groups() -> None:
    p = tg.ones(1, requires_grad=True)
    with pytest.raises(ArgumentError, match="given twice"):
        optim.SGD([{"params": [p]}, {"params": [p]}])


def test_what_is_no_leaf() -> None:
    with pytest.raises(ArgumentError, match=r"(?s)^SGD of the result of .*mend: pass the leaves"):
        optim.SGD([tg.ones(1, requires_grad=True) * 2])


@pytest.mark.parametrize(
    ("make", "what", "why"),
    [
        (lambda m: m, "Linear", "it moves the parameters, not the module"),
        (lambda m: m.parameters, "method", "it takes tensors, one after the other"),
        (lambda m: m.weight, "Tensor", "it takes several tensors, and a loop over one gives results, not"),
        (lambda m: m.state_dict(), "dict", "its keys are not tensors"),
        (lambda m: {"params": m.parameters()}, "dict", "its keys are not tensors"),
    ],
)
def test_what_is_no_list_of_tensors(make: Any, what: str, why: str) -> None:
    with pytest.raises(DtypeError) as caught:
        optim.SGD(make(nn.Linear(1, 1)))
    assert caught.value.tried == f"SGD of a {what}"
    assert caught.value.why.startswith(why)
    assert caught.value.mend.startswith("pass model.parameters(), or ")


def test_a_generator_that_is_used_up() -> None:
    params = nn.Linear(1, 1).parameters()
    optim.SGD(params)
    why, mend = (
        "a generator gives its tensors only once, and this one has given them",
        "call model.parameters() again, or keep list(model.parameters())",
    )
    with teaches(ArgumentError, "SGD of a generator", why, mend, "optim.SGD(params)"):
        optim.SGD(params)
    with teaches(ArgumentError, "SGD of a generator", why, mend, "optim.SGD(["):
        optim.SGD([{"params": params}])


def test_all_are_frozen() -> None:
    layer = nn.Linear(1, 1).requires_grad_(False)
    for params in ([p for p in layer.parameters() if p.requires_grad], (p for p in layer.parameters() if p.grad)):
        with pytest.raises(ArgumentError, match="unfreeze some with requires_grad_"):
            optim.SGD(params)


@pytest.mark.parametrize("make", dict.fromkeys(make for make, _, _ in CASES))
def test_pytorchs_switches_change_nothing_or_are_refused(make: Any) -> None:
    names = {"foreach", "fused", "capturable", "differentiable"} & set(inspect.signature(make).parameters)
    assert {"foreach", "differentiable"} <= names
    p = tg.ones(1, requires_grad=True)
    assert repr(make([p], **dict.fromkeys(names, False))) == repr(make([p]))
    for name in names & {"foreach", "fused"}:  # ways to the same numbers
        assert repr(make([p], **{name: True})) == repr(make([p]))
    if "fused" in names:
        why = "each names another way to the same numbers"
        with teaches(
            ArgumentError, f"{make.__name__} with foreach=True and fused=True", why, "leave both out", "make([p]"
        ):
            make([p], foreach=True, fused=True)
    for name in names & {"capturable", "differentiable"}:
        why = "there is one way to step here: in place, outside the graph, small parameters together"
        with teaches(ArgumentError, f"{make.__name__} with {name}=True", why, "leave it out", "make([p]"):
            make([p], **{name: True})


def test_a_set_has_no_order() -> None:
    why = "the order of a set changes from run to run, but saved state goes by order"
    with teaches(DtypeError, "SGD of a set", why, "pass a list", "optim.SGD({"):
        optim.SGD({tg.ones(1, requires_grad=True)})


def test_what_is_no_group() -> None:
    optimiser = optim.SGD([tg.ones(1, requires_grad=True)])
    with pytest.raises(ArgumentError, match=r"^add_param_group\(list\)"):
        optimiser.add_param_group([tg.ones(1)])  # type: ignore[arg-type]


def test_repr() -> None:
    assert repr(optim.Adagrad([{"params": tg.ones(1, requires_grad=True)}], lr=0.5)) == (
        "Adagrad (\nParameter Group 0\n    eps: 1e-10\n    initial_accumulator_value: 0\n    lr: 0.5\n"
        "    lr_decay: 0\n    maximize: False\n    weight_decay: 0\n)"
    )


# State ----------------------------------------------------------------------------------------------------------


@EVERY
def test_resume(make: Any, formula: Formula, settings: dict[str, Any]) -> None:
    """Three steps, saved and loaded into fresh objects, and three more: bit by bit what six steps give."""
    grads = gradients(6)
    straight, halfway = leaves(), leaves()
    run(make(straight, **settings), straight, grads)
    first = make(halfway, **settings)
    run(first, halfway, grads[:3])
    saved = first.state_dict()
    resumed = [p.detach().clone().requires_grad_() for p in halfway]
    second = make(resumed, lr=7.0)
    second.load_state_dict(saved)
    run(first, halfway, grads[3:])  # the first goes on by itself: what was loaded is a copy
    run(second, resumed, grads[3:])
    for p, q, r in zip(straight, halfway, resumed, strict=True):
        assert p.tolist() == q.tolist() == r.tolist()


def test_the_format_is_pytorchs() -> None:
    p, q = leaves(shapes=((2,), (3,)))
    optimiser = optim.Adam([p, q], lr=0.5)
    run(optimiser, [p, q], [[None, np.ones(3)]])
    saved = optimiser.state_dict()
    assert list(saved) == ["state", "param_groups"]
    assert list(saved["state"]) == [1]
    assert {name: (tuple(t.shape), t.dtype) for name, t in saved["state"][1].items()} == {
        "exp_avg": ((3,), np.dtype("f8")), "exp_avg_sq": ((3,), np.dtype("f8")), "step": ((), np.dtype("f4")),
    }  # fmt: skip
    assert saved["state"][1]["step"].item() == 1
    assert saved["param_groups"] == [
        {"lr": 0.5, "betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0, "amsgrad": False, "maximize": False,
         "decoupled_weight_decay": False, "params": [0, 1]}
    ]  # fmt: skip
    assert optimiser.state[q]["step"] is saved["state"][1]["step"]


def test_settings_that_a_state_does_not_name_stay() -> None:
    p = tg.ones(1, requires_grad=True)
    optimiser = optim.SGD([p], lr=0.5, momentum=0.9)
    optimiser.load_state_dict({"state": {}, "param_groups": [{"params": [0], "lr": 0.1, "foreach": None}]})
    group = optimiser.param_groups[0]
    assert (group["lr"], group["momentum"], group["foreach"]) == (0.1, 0.9, None)
    assert group["params"] == [p]


@pytest.mark.parametrize(
    ("change", "kind", "why"),
    [
        (lambda s: s["param_groups"].append({"params": [2]}), ArgumentError,
         "its groups have [2, 1] parameters, but those here have [2]"),
        (lambda s: s["param_groups"][0]["params"].pop(), ArgumentError,
         "its groups have [1] parameters, but those here have [2]"),
        (lambda s: s["state"][1].update(exp_avg=tg.ones(2)), ShapeError,
         "exp_avg has shape (2,), but its parameter has (3,)"),
        (lambda s: s["state"][1].update(step=tg.ones(1)), ShapeError,
         "step has shape (1,), but its parameter has (3,)"),
        (lambda s: s["state"][1].update(square_avg=tg.ones(3)), ArgumentError,
         "it remembers exp_avg, exp_avg_sq, square_avg, step, but Adam has exp_avg, exp_avg_sq, max_exp_avg_sq, step"),
        (lambda s: s["param_groups"][0].update(lr=-1), ArgumentError, "lr is a number, at least 0"),
    ],
)  # fmt: skip
def test_a_state_that_does_not_fit_changes_nothing(change: Any, kind: type[EduError], why: str) -> None:
    ps = leaves(shapes=((2,), (3,)))
    optimiser = optim.Adam(ps)
    run(optimiser, ps, gradients(1, shapes=((2,), (3,))))
    saved = optimiser.state_dict()
    saved["state"][0] = {name: value * 2 for name, value in saved["state"][0].items()}
    change(saved)
    before = repr(optimiser.state_dict())
    with pytest.raises(kind) as caught:
        optimiser.load_state_dict(saved)
    assert caught.value.why == why
    assert repr(optimiser.state_dict()) == before


def test_the_state_of_a_model_is_no_state_of_an_optimiser() -> None:
    layer = nn.Linear(1, 1)
    why, mend = "it has weight, bias, but not state and param_groups", "pass what optimizer.state_dict() gave"
    with teaches(ArgumentError, "load_state_dict into SGD", why, mend, "optim.SGD("):
        optim.SGD(layer.parameters()).load_state_dict(layer.state_dict())


class Remembering(optim.Optimizer):
    """One's own: says nothing of what it remembers."""

    def __init__(self, params: Any) -> None:
        super().__init__(params, {"lr": 0.1})

    def step(self, closure: Any = None) -> None:
        for p in self.param_groups[0]["params"]:
            inside = {"all": [p.detach() * 3, 1.5], "by name": {"a": p.detach().sum()}}
            self.state[p].update(n=3, losses=[1.0, 2.0], tag="x", none=None, mean=p.detach() * 2, tensors=inside)


@pytest.mark.parametrize("device", ["cpu", "far"])
def test_the_state_of_ones_own_optimiser_keeps_its_types(device: str) -> None:
    p, q = tg.ones(2, requires_grad=True), tg.ones(2, device=device, requires_grad=True)
    first, second = Remembering([p]), Remembering([q])
    first.step()
    saved = first.state_dict()
    second.load_state_dict(saved)
    entry = second.state[q]
    plain = {name: entry[name] for name in ("n", "losses", "tag", "none")}
    assert plain == {"n": 3, "losses": [1.0, 2.0], "tag": "x", "none": None}
    assert type(entry["n"]) is int
    tensors = [entry["mean"], entry["tensors"]["all"][0], entry["tensors"]["by name"]["a"]]
    assert [(t.tolist(), t.device) for t in tensors] == [([2, 2], device), ([3, 3], device), (2, device)]
    saved["state"][0]["losses"].append(3.0)  # what was loaded is a copy, to its depths
    saved["state"][0]["mean"].zero_()
    saved["state"][0]["tensors"]["all"][0].zero_()
    assert (entry["losses"], tensors[0].tolist(), tensors[1].tolist()) == ([1.0, 2.0], [2, 2], [3, 3])


@EVERY
@pytest.mark.parametrize("twin", [copy.deepcopy, lambda pair: pickle.loads(pickle.dumps(pair))], ids=["copy", "pickle"])
def test_a_copy_with_its_parameters_goes_on_by_itself(
    make: Any, formula: Formula, settings: dict[str, Any], twin: Any
) -> None:
    ps, grads = leaves(), gradients(4)
    optimiser = make(ps, **settings)
    run(optimiser, ps, grads[:2])
    qs, other = twin((ps, optimiser))
    run(optimiser, ps, grads[2:])
    run(other, qs, grads[2:])
    assert [q.tolist() for q in qs] == [p.tolist() for p in ps]


def test_state_through_a_text_file() -> None:
    """JSON knows no tuples, and only strings as keys."""
    p = tg.ones(1, requires_grad=True)
    optimiser = optim.Adam([p])
    optimiser.load_state_dict(
        {"state": {"0": {"step": 3.0, "exp_avg": [1.0], "exp_avg_sq": [1.0]}},
         "param_groups": [{"params": [0], "betas": [0.5, 0.5]}]}
    )  # fmt: skip
    run(optimiser, [p], [[np.ones(1)]])
    assert optimiser.state[p]["step"].item() == 4
    assert optimiser.param_groups[0]["betas"] == (0.5, 0.5)


def test_clearing_the_state_begins_anew() -> None:
    ps, grads = leaves(shapes=((2,), (3,))), gradients(1, shapes=((2,), (3,)))
    optimiser = optim.Adam(ps, lr=0.1)
    run(optimiser, ps, grads)
    fresh = [p.detach().clone().requires_grad_() for p in ps]
    optimiser.state.clear()
    run(optimiser, ps, grads)
    run(optim.Adam(fresh, lr=0.1), fresh, grads)
    assert [p.tolist() for p in ps] == [p.tolist() for p in fresh]


def replace(entry: Any) -> None:
    for name in [*entry]:
        entry[name] = tg.zeros_like(entry[name]) + (2 if name == "step" else 0.25)


EDITS: dict[str, Callable[[Any, Any], Any]] = {
    "replaced": lambda state, p: replace(state[p]),
    "cleared": lambda state, p: state[p].clear(),
    "deleted": lambda state, p: state.pop(p),
    "all deleted": lambda state, p: state.clear(),
    "another dict": lambda state, p: state.update({p: {name: value * 2 for name, value in state[p].items()}}),
    "updated": lambda state, p: state[p].update({name: value * 0 for name, value in state[p].items()}),
    "joined": lambda state, p: operator.ior(state[p], {name: value * 0 for name, value in state[p].items()}),
    "none": lambda state, p: state[p].update(dict.fromkeys(state[p])),
    "popped": lambda state, p: [state[p].popitem() for _ in [*state[p]]],
    "popped by name": lambda state, p: [state[p].pop(name) for name in [*state[p]]],
    "deleted by name": lambda state, p: [operator.delitem(state[p], name) for name in [*state[p]]],
    "popped and set": lambda state, p: [state[p].setdefault(name, state[p].pop(name) * 0) for name in [*state[p]]],
    "written": lambda state, p: [value.fill_(0.5) for value in state[p].values()],
    "written through numpy()": lambda state, p: [value.numpy().fill(0.5) for value in state[p].values()],
    "counted anew": lambda state, p: state[p]["step"].fill_(0) if "step" in state[p] else None,
}


@EVERY
@pytest.mark.parametrize("edit", EDITS)
def test_what_is_changed_in_the_state_counts(make: Any, formula: Formula, settings: dict[str, Any], edit: str) -> None:
    """Fresh optimisers, one for each parameter, that load the changed state go the same way."""
    shapes = ((2,), (2,), (stepping.SMALL + 1,))
    for i in (1, 2):  # one that steps together with another, and one alone
        ps, grads = leaves(shapes=shapes), gradients(5, shapes=shapes)
        optimiser = make(ps, **settings)
        run(optimiser, ps, grads[:2])
        EDITS[edit](optimiser.state, ps[i])
        qs = [p.detach().clone().requires_grad_() for p in ps]
        alone = [make([q], **settings) for q in qs]
        saved = optimiser.state_dict()["state"]
        for j, single in enumerate(alone):
            single.load_state_dict({"state": {0: saved.get(j, {})}, "param_groups": [{"params": [0]}]})
        for row in grads[2:]:
            run(optimiser, ps, [row])
            for single, q, g in zip(alone, qs, row, strict=True):
                run(single, [q], [[g]])
            assert all(np.array_equal(p.array, q.array) for p, q in zip(ps, qs, strict=True))
        for p, q, single in zip(ps, qs, alone, strict=True):
            mine, other = optimiser.state[p], single.state[q]
            assert list(mine) == list(other)
            assert all(np.array_equal(mine[name].array, other[name].array) for name in mine)


def test_entries_stay_the_same_dicts() -> None:
    p = tg.ones(2, requires_grad=True)
    optimiser = optim.Adam([p])
    entry = optimiser.state[p]
    run(optimiser, [p], [[np.ones(2)]])
    assert optimiser.state[p] is entry
    assert set(entry) == {"step", "exp_avg", "exp_avg_sq"}
    optimiser.load_state_dict(optimiser.state_dict())
    entry = optimiser.state[p]
    run(optimiser, [p], [[np.ones(2)]])
    assert optimiser.state[p] is entry
    assert entry["step"].item() == 2


def test_a_shallow_copy_has_the_same_state() -> None:
    """Both step, by turns: as one optimiser would."""
    ps, qs, grads = leaves(shapes=((2,), (3,))), leaves(shapes=((2,), (3,))), gradients(4, shapes=((2,), (3,)))
    optimiser = optim.Adam(ps, lr=0.1)
    run(optimiser, ps, grads[:1])
    for twin, row in zip((copy.copy(optimiser), optimiser, copy.copy(optimiser)), grads[1:], strict=True):
        run(twin, ps, [row])
    run(optim.Adam(qs, lr=0.1), qs, grads)
    assert [p.tolist() for p in ps] == [q.tolist() for q in qs]
    assert [optimiser.state[p]["step"].item() for p in ps] == [4, 4]


def test_the_memory_of_the_state_is_not_replaced() -> None:
    ps = leaves(shapes=((2,), (2,)))
    optimiser = optim.Adam(ps)
    run(optimiser, ps, gradients(1, shapes=((2,), (2,))))
    for name, value in optimiser.state[ps[0]].items():
        with pytest.raises(ShapeError, match="is a view of another tensor"):
            value.data = tg.zeros_like(value)
        assert optimiser.state[ps[0]][name] is value


@pytest.mark.parametrize(("name", "shape", "needs"), [("exp_avg", (1,), "(2,)"), ("step", (1,), "()")])
def test_a_state_of_another_shape(name: str, shape: Any, needs: str) -> None:
    ps = leaves(shapes=((2,), (2,)))
    optimiser = optim.Adam(ps)
    run(optimiser, ps, gradients(1, shapes=((2,), (2,))))
    optimiser.state[ps[1]][name] = tg.zeros(shape)
    before = (repr(ps), repr(optimiser.state_dict()))
    why, mend = (
        f"its state has {name} in shape (1,), but needs {needs}",
        "put a tensor of that shape there, or optimizer.state[p].clear()",
    )
    with teaches(ShapeError, "Adam.step of parameter 1 (2,) float64", why, mend, "optimiser.step()"):
        optimiser.step()
    assert (repr(ps), repr(optimiser.state_dict())) == before


@pytest.mark.parametrize("make", [optim.SGD, optim.Adam])
def test_a_step_that_is_refused_leaves_no_state(make: Any) -> None:
    good, bad = tg.ones(2, requires_grad=True), tg.ones(2, requires_grad=True)
    settings = {"momentum": 0.5, "dampening": 0.5} if make is optim.SGD else {}
    optimiser = make([{"params": good}, {"params": bad}], lr=1.0, **settings)
    good.grad, bad.gradient = tg.ones(2), unlike("shape")
    for _ in range(2):
        with pytest.raises(ShapeError):
            optimiser.step()
        assert optimiser.state_dict()["state"] == {}
    bad.grad = None
    optimiser.step()
    assert good.tolist() == pytest.approx([0.0, 0.0], abs=1e-6)  # a first step, undampened


def test_settings_may_change_what_is_remembered() -> None:
    p = leaves(shapes=((2,),))[0]
    optimiser = optim.Adam([p])
    run(optimiser, [p], gradients(1, shapes=((2,),)))
    optimiser.param_groups[0]["amsgrad"] = True
    run(optimiser, [p], gradients(1, shapes=((2,),)))
    entry = optimiser.state[p]
    assert (entry["step"].item(), entry["max_exp_avg_sq"].tolist()) == (2, entry["exp_avg_sq"].tolist())


@pytest.mark.parametrize("target", ["float32", "float16", "far"])
def test_the_state_follows_its_parameter(target: str) -> None:
    layer = nn.Linear(3, 2).to("float64")
    optimiser = optim.Adam(layer.parameters())
    layer(tg.ones(1, 3, dtype="float64")).sum().backward()
    optimiser.step()
    before = optimiser.state[layer.weight]["exp_avg"].tolist()
    layer.to(target)
    optimiser.zero_grad()
    layer.weight.grad = tg.zeros_like(layer.weight.detach())
    layer.bias.grad = tg.zeros_like(layer.bias.detach())
    optimiser.step()
    entry = optimiser.state[layer.weight]
    assert entry["step"].item() == 2
    np.testing.assert_allclose(entry["exp_avg"].tolist(), 0.9 * np.array(before), rtol=1e-6)
    assert (entry["exp_avg"].device == "far") == (target == "far")


# Around a step --------------------------------------------------------------------------------------------------


def test_a_closure_runs_with_gradients_and_its_loss_comes_back() -> None:
    p = tg.tensor([2.0], requires_grad=True)
    optimiser = optim.SGD([p], lr=0.25)

    def closure() -> Any:
        optimiser.zero_grad()
        loss = (p * p).sum()
        loss.backward()
        return loss

    with tg.no_grad():
        assert optimiser.step(closure).item() == 4.0
    assert p.tolist() == [1.0]
    assert optimiser.step() is None


def test_hooks() -> None:
    p = tg.ones(1, requires_grad=True)
    p.grad = tg.ones(1)
    optimiser, seen = optim.SGD([p], lr=1.0), []
    before = optimiser.register_step_pre_hook(lambda o, args, kwargs: seen.append((p.item(), args, kwargs)))
    optimiser.register_step_post_hook(lambda o, args, kwargs: seen.append(p.item()))
    optimiser.step()
    before.remove()
    optimiser.step()
    assert seen == [(1.0, (), {}), 0.0, -1.0]


def test_a_hook_may_change_the_arguments() -> None:
    optimiser = optim.SGD([tg.ones(1, requires_grad=True)])
    optimiser.register_step_pre_hook(lambda o, args, kwargs: ((lambda: "loss",), {}))
    assert optimiser.step() == "loss"


def test_an_optimiser_of_ones_own() -> None:
    class Halving(optim.SGD):
        def step(self, closure: Any = None) -> Any:
            for group in self.param_groups:
                group["lr"] /= 2
            return super().step(closure)

    p = tg.ones(1, requires_grad=True)
    p.grad = tg.ones(1)
    optimiser, seen = Halving([p], lr=1.0), []
    optimiser.register_step_post_hook(lambda *_: seen.append(p.item()))
    optimiser.step()
    assert seen == [0.5], "a step within a step is one step"


def test_a_base_without_a_step() -> None:
    with pytest.raises(NotImplementedError, match="Optimizer has no step"):
        optim.Optimizer([tg.ones(1, requires_grad=True)], {}).step()


def test_zeros_have_no_history() -> None:
    x = tg.ones(1, requires_grad=True)
    (x**3).sum().backward(create_graph=True)
    assert x.grad.requires_grad
    optim.SGD([x]).zero_grad(set_to_none=False)
    assert (x.grad.tolist(), x.grad.requires_grad) == ([0.0], False)


def test_each_step_is_counted_for_each_parameter() -> None:
    ps = leaves(shapes=((2,), (2,)))
    optimiser, g = optim.Adam(ps), np.ones(2)
    run(optimiser, ps, [[g, g], [g, None], [g, g], [None, g]])
    assert [optimiser.state[p]["step"].item() for p in ps] == [3, 3]
    run(optimiser, ps, list(itertools.repeat([g, None], 2)))
    assert [optimiser.state[p]["step"].item() for p in ps] == [5, 3]


# Recording ------------------------------------------------------------------------------------------------------


@EVERY
def test_steps_are_recorded_and_replayed(make: Any, formula: Formula, settings: dict[str, Any]) -> None:
    """Bit by bit, the count of steps included: it belongs to an optimiser that begins inside."""

    def train(x: tg.Tensor, w: tg.Tensor, b: tg.Tensor) -> tuple[tg.Tensor, ...]:
        optimiser = make([w, b], **settings)
        for _ in range(3):
            optimiser.zero_grad()
            (x @ w + b).tanh().sum().backward()
            optimiser.step()
        return w.detach(), b.detach()

    def inputs(seed: int) -> list[Any]:
        rng = np.random.default_rng(seed)
        return [rng.normal(size=shape).astype("f4") for shape in ((4, 3), (3, 2), (2,))]

    def tensors(arrays: list[Any]) -> list[tg.Tensor]:
        x, w, b = (tg.tensor(a) for a in arrays)
        return [x, w.requires_grad_(), b.requires_grad_()]

    program = trace(train, *tensors(inputs(0)))
    for seed in (0, 1):
        for found, expected in zip(interpret(program, *inputs(seed)), train(*tensors(inputs(seed))), strict=True):
            np.testing.assert_array_equal(found, expected.array)


def test_a_recording_cannot_go_on_from_steps_outside() -> None:
    p = tg.ones(2, requires_grad=True)
    p.grad = tg.ones(2)
    optimiser = optim.Adam([p])
    optimiser.step()

    def continued(x: tg.Tensor) -> tg.Tensor:
        p.data = x
        p.grad = x * 2
        optimiser.step()
        return p.detach()

    why = "the optimiser has stepped outside the recording, and a replay would start from there"
    tried, mend = "Adam.step of parameter 0 (2,) float32", "make the optimiser inside the recorded function"
    with teaches(AutogradError, tried, why, mend, "optimiser.step()"):
        trace(continued, tg.ones(2))
