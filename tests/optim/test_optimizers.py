"""Every optimiser: against its formula written out, in bundles and alone, in place, and on from a saved state."""

from __future__ import annotations

import inspect
import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tinygrad_edu as tg
from tests.optim.steps import (
    CASES,
    EVERY,
    Formula,
    gradients,
    leaves,
    run,
    unlike,
)
from tests.support import teaches
from tinygrad_edu import nn, optim
from tinygrad_edu.errors import (
    ArgumentError,
    DeviceError,
    DtypeError,
    EduError,
    InplaceError,
    ShapeError,
)
from tinygrad_edu.optim import stepping


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
