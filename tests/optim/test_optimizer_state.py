"""What optimisers remember: state that is saved and loaded, and what happens around a step."""

from __future__ import annotations

import copy
import itertools
import operator
import pickle
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tests.optim.steps import (
    EVERY,
    Formula,
    gradients,
    leaves,
    run,
    unlike,
)
from tests.support import teaches
from tinygrad_edu import nn, optim
from tinygrad_edu.compiler import interpret, trace
from tinygrad_edu.errors import (
    ArgumentError,
    AutogradError,
    EduError,
    ShapeError,
)
from tinygrad_edu.optim import stepping

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
    with pytest.warns(UserWarning, match="Move the model first") if target == "far" else nullcontext():
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
