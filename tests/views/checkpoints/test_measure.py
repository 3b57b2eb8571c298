"""Runs with cuts: the bytes of the allocator, the gradients without cuts, and a model that is left alone."""

from __future__ import annotations

import gc
import itertools
import tracemalloc
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tinygrad_edu import nn
from tinygrad_edu.core.slow import Call, Interceptor
from tinygrad_edu.errors import ArgumentError
from tinygrad_edu.observe.memory import NOISE
from tinygrad_edu.tensor.random import seeded
from tinygrad_edu.utils.checkpoint import CheckpointError, checkpoint_sequential
from tinygrad_edu.views.checkpoints import OWNERS, Run, Subject, again, parts
from tinygrad_edu.views.checkpoints.measure import PAGE

WIDTH, ROWS = 64, 512


def blocks(count: int, *extra: Callable[[], nn.Module]) -> nn.Sequential:
    with seeded(3):
        return nn.Sequential(
            *(nn.Sequential(nn.Linear(WIDTH, WIDTH), *(make() for make in extra)) for _ in range(count))
        )


def rows(wanted: bool = False) -> tg.Tensor:
    with seeded(4):
        return tg.rand(ROWS, WIDTH, requires_grad=wanted)


def pictures() -> tuple[nn.Sequential, tg.Tensor]:
    with seeded(5):
        model = nn.Sequential(
            nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(4, 8, 3, padding=1), nn.ReLU(),
            nn.Flatten(), nn.Linear(8 * 14 * 14, 10),
        )  # fmt: skip
        return model, tg.rand(16, 1, 28, 28)


def wide() -> tuple[nn.Sequential, tg.Tensor]:
    with seeded(6):
        return nn.Sequential(*(nn.Linear(200, 200) for _ in range(5))), tg.rand(8, 200)


MODELS: dict[str, Callable[[], tuple[nn.Sequential, tg.Tensor]]] = {
    "tanh": lambda: (blocks(7, nn.Tanh), rows()),
    "input with a gradient": lambda: (blocks(5, nn.GELU), rows(True)),
    "dropout": lambda: (blocks(6, nn.ReLU, lambda: nn.Dropout(0.3)), rows()),
    "batch norm": lambda: (blocks(6, lambda: nn.BatchNorm1d(WIDTH), nn.ReLU), rows()),
    "convolutions": pictures,
    "wide": wide,
}
each_model = pytest.mark.parametrize("name", MODELS)


def allocated(model: nn.Sequential, x: tg.Tensor, segments: int) -> int:
    """The peak by the allocator alone, with nobody watching, and what was there before."""
    there = sum(tensor.nbytes for tensor in (*model.parameters(), *model.buffers(), x))
    for _ in range(2):  # the first fills caches
        model.zero_grad()
        x.grad = None
        gc.collect()
        tracemalloc.start()
        try:
            base, _ = tracemalloc.get_traced_memory()
            tracemalloc.reset_peak()
            checkpoint_sequential(model, segments, x).sum().backward()
            peak = tracemalloc.get_traced_memory()[1] - base
        finally:
            tracemalloc.stop()
    return peak + there


def sweep(subject: Subject, *counts: int) -> tuple[Run, ...]:
    return subject.sweep(counts, lambda *_: True)


@each_model
def test_the_peak_is_that_of_the_allocator_without_python_s_own_objects(name: str) -> None:
    model, x = MODELS[name]()
    subject = Subject(model, x)
    subject.plain()
    for segments in (1, 2, 3, subject.count):
        run = subject.run(segments)
        objects = allocated(model, x, segments) - run.peak
        assert -PAGE <= objects <= NOISE, (segments, objects)
        assert run.peak == sum(run.owners) == max(event.total for event in run.events)


def test_the_owners_at_the_peak_of_a_model_that_one_can_count_by_hand() -> None:
    """Four layers in two segments: backward is in the first one, whose results have been made again."""
    subject = Subject(blocks(4, nn.Tanh), rows())
    one, weights = ROWS * WIDTH * 4, 4 * (WIDTH * WIDTH + WIDTH) * 4
    first = subject.plain()
    plain = dict(zip(OWNERS, first.owners, strict=True))
    backs = [event for event in first.events[: first.top + 1] if event.phase == "backward" and event.op == "tanh"]
    alive = 4 - (len(backs) - 1)  # each tanh before has let go of its result
    assert (plain["parameters"], plain["data"], plain["kept"], plain["segment"]) == (weights, one, 0, alive * one)
    run = subject.run(2)
    cut = dict(zip(OWNERS, run.owners, strict=True))
    assert (cut["parameters"], cut["data"], cut["kept"], cut["segment"]) == (weights, one, 0, 2 * one)
    assert run.at_work == 1 and run.events[run.top].phase == "backward"
    # what arrives at the segment, what leaves its last operation, and between them one more; and of two layers, theirs
    assert cut["gradients"] in {3 * one + weights // 4 * done for done in (1, 2, 3)}
    after_forward = [event for event in run.events if event.phase == "forward"][-1]
    assert after_forward.most[OWNERS.index("kept")] == one, "one result waits at the one cut"


class Calls(Interceptor):
    """Counts operations apart from segments as a whole, before and after backward has begun."""

    keeps = False

    def __init__(self) -> None:
        self.before = self.after = 0
        self.back = False

    def forward(self, call: Call, proceed: Callable[[], Any]) -> Any:
        if call.op.name != "Checkpoint":
            self.after += self.back
            self.before += not self.back
        return proceed()

    def backward(self, node: Any, g: Any, proceed: Callable[[], Any]) -> Any:
        self.back = True
        return proceed()


def counted(i: int, layer: Callable[[Any], Any], seen: Counter[int]) -> Callable[[Any], Any]:
    """The layer, of which each call is counted."""

    def call(value: Any) -> Any:
        seen[i] += 1
        return layer(value)

    return call


@each_model
def test_operations_and_layers_that_run_again_are_counted(name: str) -> None:
    model, x = MODELS[name]()
    subject = Subject(model, x)
    subject.plain()
    for segments in (1, 2, subject.count - 1):
        run = subject.run(segments)
        seen: Counter[int] = Counter()
        layers = [counted(i, layer, seen) for i, layer in enumerate(model)]
        model.zero_grad()  # or gradients would be added, which are operations too
        x.grad = None
        with Calls() as calls:
            checkpoint_sequential(layers, segments, x).sum().backward()
        assert (calls.before, calls.after) == (run.forward, run.again)
        assert sum(count == 2 for count in seen.values()) == again(subject.count, segments)
        twice = [i for i, count in sorted(seen.items()) if count == 2]
        assert twice == list(range(again(subject.count, segments))), "all segments but the last"


def noted(i: int, order: list[int]) -> Callable[[Any], Any]:
    """A layer that writes down when it is called."""

    def call(value: Any) -> Any:
        order.append(i)
        return value * 1.0

    return call


def test_a_segment_is_as_long_as_checkpoint_sequential_makes_it() -> None:
    x = tg.ones(2, 2, requires_grad=True)
    for layers, segments in itertools.product(range(2, 14), range(1, 14)):
        if segments > layers:
            continue
        order: list[int] = []
        steps = [noted(i, order) for i in range(layers)]
        checkpoint_sequential(steps, segments, x).sum().backward()
        assert order[:layers] == list(range(layers))
        runs: list[list[int]] = []
        for i in order[layers:]:
            if runs and runs[-1][-1] == i - 1:
                runs[-1].append(i)
            else:
                runs.append([i])
        sizes = [len(one) for one in reversed(runs)]
        last = layers - sum(sizes)
        assert (*sizes, last) == parts(layers, segments)


@pytest.mark.parametrize("name", ["tanh", "dropout", "input with a gradient", "convolutions"])
def test_gradients_are_bit_for_bit_those_without_cuts(name: str) -> None:
    subject = Subject(*MODELS[name]())
    subject.plain()
    assert [run.gradients for run in sweep(subject, *range(2, subject.count + 1))] == [""] * (subject.count - 1)


class Drifts(nn.Module):
    """Its second call gives a little more than its first: too little for the check of the values."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def forward(self, x: Any) -> Any:
        self.calls += 1
        return x * (1 + 1e-4 * self.calls)


def test_gradients_that_differ_are_told_with_how_much() -> None:
    with seeded(7):
        layers = [nn.Linear(8, 8), Drifts(), nn.Linear(8, 8)]
    subject = Subject(layers, tg.ones(4, 8))
    assert subject.plain().gradients == ""
    told = sweep(subject, 3)[0].gradients
    assert told.startswith("they differ by ") and told.endswith(" of the largest")
    far = float(told.split()[3].replace("e−", "e-"))
    assert 0.5e-4 < far < 2e-4


def test_a_layer_that_gives_something_else_the_second_time_is_refused() -> None:
    calls = itertools.count(1)
    subject = Subject([nn.Linear(8, 8), lambda x: x * next(calls), nn.Linear(8, 8)], tg.ones(4, 8))
    subject.plain()
    with pytest.raises(CheckpointError, match="other values in the second run"):
        sweep(subject, 3)


def test_batch_norm_moves_its_statistics_twice_where_a_layer_runs_twice_and_that_is_said() -> None:
    subject = Subject(*MODELS["batch norm"]())
    assert subject.plain().moved == ()
    for segments in (2, 3, 6):
        moved = sweep(subject, segments)[0].moved
        assert {int(name.split(".")[0]) for name in moved} == set(range(again(6, segments)))
        assert all("running" in name or "num_batches" in name for name in moved)


@pytest.mark.parametrize("name", ["batch norm", "dropout", "input with a gradient"])
def test_the_learner_s_model_input_and_random_numbers_stay_as_they_are(name: str) -> None:
    model, x = MODELS[name]()
    model[0][0].weight.grad = tg.ones(WIDTH, WIDTH)
    before = {key: value.numpy().copy() for key, value in model.state_dict().items()}
    state, numpys = tg.get_rng_state(), np.random.get_state()[1].copy()
    subject = Subject(model, x)
    subject.plain()
    sweep(subject, 2, 3)
    assert all(np.array_equal(value.numpy(), before[key]) for key, value in model.state_dict().items())
    assert x.grad is None and model[1][0].weight.grad is None
    assert np.array_equal(model[0][0].weight.grad.numpy(), np.ones((WIDTH, WIDTH)))
    assert np.array_equal(np.asarray(tg.get_rng_state()), np.asarray(state))
    assert np.array_equal(np.random.get_state()[1], numpys)


def test_two_subjects_of_the_same_model_find_the_same_to_the_byte() -> None:
    one, other = (Subject(*MODELS["dropout"]()) for _ in range(2))
    assert one.plain() == other.plain()
    assert sweep(one, 2, 3, 5) == sweep(other, 2, 3, 5)
    assert one.cut() == other.cut()


def test_what_waits_at_a_cut_is_a_layer_s_result() -> None:
    assert Subject(blocks(4, nn.Tanh), rows()).cut() == ROWS * WIDTH * 4
    model, x = pictures()
    value, sizes = x, []
    for layer in list(model)[:-1]:
        value = layer(value)
        sizes.append(value.nbytes)
    assert Subject(model, x).cut() == round(sum(sizes) / len(sizes))


def test_a_sweep_that_is_stopped_keeps_what_it_has() -> None:
    subject = Subject(blocks(4, nn.Tanh), rows())
    subject.plain()
    told: list[tuple[int, int]] = []

    def tell(done: int, total: int, left: float) -> bool:
        told.append((done, total))
        return done < 3

    assert [run.segments for run in subject.sweep([2, 3, 4], tell)] == [2, 3]
    assert told[-4:] == [(0, 4), (1, 4), (2, 4), (3, 4)]


def test_a_loss_of_one_s_own() -> None:
    labels = tg.tensor([0, 1, 2, 3] * (ROWS // 4))
    with seeded(8):
        model = nn.Sequential(*blocks(3, nn.Tanh), nn.Linear(WIDTH, 4))
    subject = Subject(model, rows(), lambda out: (nn.functional.cross_entropy(out, labels) * 2).exp())
    assert subject.plain().forward > Subject(model, rows()).plain().forward
    assert sweep(subject, 2)[0].gradients == ""


def test_what_cannot_be_run_is_refused_by_name() -> None:
    linear = nn.Linear(4, 4)
    x = tg.ones(2, 4)
    for model, given, loss, words in (
        (linear, x, None, "its layers are run one after the other"),
        ([linear], x, None, "one layer cannot be divided"),
        ([linear, 3], x, None, "its layers are run one after the other"),
        ([linear, linear], None, None, "what goes into the first layer"),
        ([linear, linear], object(), None, "no copy can be made to run"),
        ([linear, linear], x, 3, "loss is called"),
    ):
        with pytest.raises(ArgumentError, match=words):
            Subject(model, given, loss)
    for model, given, loss, words in (
        ([linear, nn.Linear(5, 4)], x, None, "the run without cuts ended"),
        ([linear, lambda y: 3.0], x, None, "Let it return one tensor"),
        ([linear, linear], x, lambda y: y, "is not one number with a gradient"),
        ([lambda y: y * 2, lambda y: y + 1], x, None, "is not one number with a gradient"),
    ):
        with pytest.raises(ArgumentError, match=words):
            Subject(model, given, loss).plain()


def test_it_runs_where_nothing_is_recorded() -> None:
    with tg.no_grad():
        subject = Subject(blocks(3, nn.Tanh), rows())
        assert subject.plain().forward and sweep(subject, 2)[0].again


def test_each_operation_knows_the_segment_that_is_at_work() -> None:
    """Also where a layer has checkpoints of its own."""
    inner = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.Tanh(), nn.Linear(WIDTH, WIDTH), nn.Tanh())
    layers = [nn.Linear(WIDTH, WIDTH), lambda x: checkpoint_sequential(inner, 2, x), nn.Tanh(), nn.Linear(WIDTH, WIDTH)]
    subject = Subject(layers, rows())
    subject.plain()
    seen = [(event.phase, event.segment) for event in subject.run(4).events if event.phase != "between"]
    phases = [key for key, _ in itertools.groupby(seen)]
    forward = [segment for phase, segment in phases if phase == "forward"]
    assert forward == [1, 2, 3, 4]
    back = [segment for phase, segment in phases if phase == "backward"]
    assert [key for key, _ in itertools.groupby(back)] == [4, 3, 2, 1]
    again_in = {segment for phase, segment in phases if phase == "again"}
    assert again_in == {1, 2, 3}
    assert {event.segment for event in subject.run(2).events} == {1, 2}


def test_a_module_whose_children_need_not_run_in_a_row_is_refused() -> None:
    class Both(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.one, self.other = nn.Linear(4, 4), nn.Linear(4, 4)

        def forward(self, x: Any) -> Any:
            return self.one(x) + self.other(x)

    with pytest.raises(ArgumentError, match="its layers are run one after the other"):
        Subject(Both(), tg.ones(2, 4))
    assert Subject(nn.ModuleList([nn.Linear(4, 4), nn.Tanh()]), tg.ones(2, 4)).count == 2


def test_the_gradient_that_arrives_at_a_segment_waits_until_it_is_done() -> None:
    """In each operation backward in the first segment, one more is alive than without cuts, of as many layers."""
    subject = Subject(blocks(4, nn.Tanh), rows())
    place, one = OWNERS.index("gradients"), ROWS * WIDTH * 4
    plain = [event.most[place] for event in subject.plain().events if event.phase == "backward"]
    cut = [event.most[place] for event in subject.run(2).events if event.phase == "backward" and event.segment == 1]
    inside = slice(1, None)  # the first of them gets what arrives, and nothing else waits yet
    assert [b - a for a, b in zip(plain[-len(cut) :][inside], cut[inside], strict=True)] == [one] * (len(cut) - 1)


def test_one_layer_at_several_places_is_several_layers() -> None:
    layer = nn.Linear(8, 8)
    assert Subject(nn.Sequential(layer, layer, layer), tg.ones(2, 8)).count == 3


def test_python_s_own_objects_are_not_taken_for_what_an_operation_needs() -> None:
    """Sixty small layers leave behind more bytes of nodes and notes than of arrays."""
    with seeded(0):
        model = nn.Sequential(*(nn.Sequential(nn.Linear(16, 16), nn.Tanh()) for _ in range(60)))
    for run in sweep(Subject(model, tg.ones(64, 16)), 1, 60):
        assert run.owners[OWNERS.index("workspace")] <= 2 * PAGE
