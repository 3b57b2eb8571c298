"""Memory: totals are those of the allocator, owners those of the engine, and what keeps a buffer is named."""

from __future__ import annotations

import contextvars
import gc
import re
import threading
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tinygrad_edu as tg
from tests.support import teaches
from tinygrad_edu import nn, optim
from tinygrad_edu.core.slow import Interceptor
from tinygrad_edu.errors import ArgumentError
from tinygrad_edu.observe.counters import Counters
from tinygrad_edu.observe.memory import BANDS, NOISE, OWNERS, Memory, mark
from tinygrad_edu.settings import modes
from tinygrad_edu.utils.checkpoint import checkpoint

F = nn.functional
MB = 1_000_000
N = 250_000  # elements of 1 MB


class Idle(Interceptor):
    """Watches nothing. Whoever watches, backward goes a longer way, and holds a gradient more at some places."""

    keeps = False


def traced(run: Callable[[], Any]) -> tuple[int, int]:
    """What Python's own tracing says: the most while it runs, and NumPy's arrays at its end."""
    gc.collect()
    tracemalloc.start()
    try:
        start, _ = tracemalloc.get_traced_memory()
        kept = run()
        peak = tracemalloc.get_traced_memory()[1] - start
        arrays = tracemalloc.take_snapshot().filter_traces(
            [tracemalloc.DomainFilter(True, np.lib.tracemalloc_domain)]  # type: ignore[attr-defined]
        )
        del kept
        return peak, sum(trace.size for trace in arrays.traces)
    finally:
        tracemalloc.stop()


def close(one: float, other: float) -> bool:
    """Apart by no more than Python's own objects."""
    return abs(one - other) < NOISE + 0.02 * max(one, other)


# The totals ---------------------------------------------------------------------------------------------------------


STEPS: dict[str, Callable[[Any, Any], Any]] = {
    "mul": lambda x, w: x * w, "exp": lambda x, w: x.tanh().exp(), "gelu": lambda x, w: F.gelu(x),
    "softmax": lambda x, w: F.softmax(x, -1), "norm": lambda x, w: F.layer_norm(x, (500,)), "view": lambda x, w: x.T.T,
    "in place": lambda x, w: (x * 1).mul_(0.5), "sort": lambda x, w: x.sort(-1).values, "matmul": lambda x, w: x @ w,
    "drop": lambda x, w: x.detach() + w, "checkpoint": lambda x, w: checkpoint(lambda x: (x * w).tanh().exp(), x),
}  # fmt: skip


@settings(max_examples=25)
@given(st.lists(st.sampled_from(sorted(STEPS)), min_size=1, max_size=5), st.booleans(), st.booleans())
def test_the_peak_of_random_programs_is_the_allocators(names: list[str], backward: bool, optimised: bool) -> None:
    w = tg.rand(500, 500, requires_grad=True)
    x, step = tg.rand(500, 500), optim.Adam([w])

    def run() -> Any:
        w.grad = None
        value = x
        for name in names:
            value = STEPS[name](value, w)
        if backward and value.requires_grad:
            value.sum().backward()
            if optimised:
                step.step()
        return value

    with Memory():
        run()  # whatever is made once: callers that are compiled, the optimiser's state
    w.grad = None
    with Idle():
        run()  # the same, for who only watches
        w.grad = None
        wanted, arrays = traced(run)
    w.grad = None
    with Memory() as seen:
        kept = run()
    there = sum(seen._books.base.values())
    assert close(seen.peak - there, wanted)
    assert close(sum(seen.now[owner] for owner in BANDS[:6]) - there, arrays)
    assert kept is not None


def test_what_an_operation_needs_while_it_runs() -> None:
    """Where only results were counted, 12 MB were seen of 16."""
    x = tg.rand(1000, 1000)
    with Memory(x) as seen:
        y = x.var(1)
    peak, _ = traced(lambda: x.var(1))
    assert seen.owners["workspace"] >= 4 * MB
    assert close(seen.peak - 4 * MB, peak)
    assert y.shape == (1000,)


def test_numpy_code_and_other_threads_are_elsewhere() -> None:
    x, arrays = tg.ones(N), []
    with Memory(x) as seen:
        y = x * 2
        arrays.append(np.ones(N))  # 2 MB
        thread = threading.Thread(target=lambda: arrays.append(np.ones(N)))
        thread.start()
        thread.join()
        z = y * 2
    assert 4 * MB <= seen.now["elsewhere"] < 4.2 * MB
    assert seen.now["temporary"] == 2 * MB
    assert z is not y


def test_what_came_and_went_between_two_operations() -> None:
    x = tg.ones(N)
    with Memory(x) as seen:
        y = x * 2
        np.ones(10 * N).sum()  # 20 MB
        y = y * 2
    top = seen.at_peak
    assert top is not None and top.phase == "between"
    assert 20 * MB <= seen.owners["elsewhere"] < 20.2 * MB
    assert top.what == "between operations"
    assert re.fullmatch(r"before test_memory\.py, line \d+: y = y \* 2", top.where)


def test_what_came_and_went_after_the_last_operation_has_no_line() -> None:
    with Memory() as seen:
        tg.ones(N) * 2
        np.ones(10 * N).sum()
    top = seen.at_peak
    assert top is not None and (top.what, top.where) == ("between operations", "")


# Owners -------------------------------------------------------------------------------------------------------------


def test_a_gradient_that_is_made_after_the_last_operation() -> None:
    """It is copied for ``.grad`` where the walk through the graph has handed out a view."""
    w = tg.rand(N, requires_grad=True)
    with Memory(w) as seen:
        w.sum().backward()
    assert (seen.now["gradient"], seen.owners["gradient"]) == (MB, MB)
    w.grad = None
    peak, _ = traced(lambda: w.sum().backward())
    assert close(seen.peak - MB, peak) and peak >= MB


def test_owners_of_a_training_step() -> None:
    w = tg.rand(N, requires_grad=True)
    x, step = tg.rand(N), optim.SGD([w], lr=0.1, momentum=0.9)
    with Memory(w, step, x) as seen:
        seen.mark("begin")
        loss = ((w * x).exp() * x).sum()
        assert {k: v for k, v in seen.now.items() if k != "elsewhere"} == {
            "parameter": MB, "optimiser": 0, "gradient": 0, "activation": MB, "data": MB, "temporary": 0,
            "workspace": 0,
        }  # fmt: skip
        loss.backward()
        assert (seen.now["activation"], seen.now["gradient"]) == (0, MB)
        step.step()
        assert seen.now["optimiser"] >= MB  # the momentum
        w.grad = None
    assert seen.now["gradient"] == 0
    assert {moment.phase for moment in seen.moments} >= {"forward", "backward", "step", "mark"}


def test_what_was_there_counts_from_the_beginning() -> None:
    w, x = tg.rand(N, requires_grad=True), tg.rand(N)
    with Memory() as seen:
        y = tg.ones(N)
        first = seen.moments
        z = w * x
    assert seen.now["parameter"] == MB and seen.now["data"] == 2 * MB
    assert all(sum(seen.by_owner(moment.after).values()) >= 2 * MB for moment in first)
    assert y is not z


def test_a_tensor_that_becomes_a_parameter() -> None:
    with Memory() as seen:
        w = tg.zeros(N)
        assert seen.now["data"] == MB
        w.requires_grad_()
        y = w * 2
    assert (seen.now["data"], seen.now["parameter"], seen.now["activation"]) == (0, MB, MB)
    assert y is not None


def test_results_without_a_graph_are_temporary() -> None:
    w = tg.rand(N, requires_grad=True)
    with Memory(w) as seen, tg.no_grad():
        y = w * 2
    assert (seen.now["temporary"], seen.now["activation"]) == (MB, 0)
    assert y is not None


def test_lines_and_modules_of_buffers() -> None:
    model = nn.Sequential(nn.Linear(500, 500, bias=False), nn.Tanh())
    x = tg.rand(500, 500)
    with Memory(model, x) as seen:
        y = model(x)  # this line
    held = seen.alive[0]
    made = [held for held in seen.alive if held.owner == "activation"]
    assert {one.module for one in made} <= {"Sequential.0", "Sequential.1"}
    assert all("test_memory.py, line" in one.where and "# this line" in one.where for one in made)
    assert repr(made[0]).startswith("activation 1.00 MB (500, 500) float32 of tanh, test_memory.py, line ")
    assert "there before" in "".join(map(repr, seen.alive))
    assert held.nbytes == MB and y is not None


# Marks, and what keeps ----------------------------------------------------------------------------------------------


def test_what_grew_between_two_marks() -> None:
    x, kept = tg.rand(N), []
    with Memory(x) as seen:
        for name in ("one", "two", "three"):
            seen.mark(name)
            kept.append(x * 2)
            x + 1
    assert [held.op for held in seen.grew("one", "three")] == ["mul", "mul"]
    assert len(seen.grew("one")) == 3
    kept.clear()
    assert seen.grew("one") == []
    with teaches(ArgumentError, "mark('one')", "there is a mark with that name", "choose another one", "seen.mark("):
        seen.mark("one")
    why, mend = "there is no mark 'four'", "there are: one, two, three"
    with teaches(ArgumentError, "grew from 'one'", why, mend, "seen.grew("):
        seen.grew("one", "four")


@pytest.mark.parametrize(("leak", "nodes"), [(True, 16), (False, 4)])
def test_a_sum_of_losses_keeps_every_graph(leak: bool, nodes: int) -> None:
    """Nodes kept, not made: both make as many of the others."""
    w, x = tg.rand(N, requires_grad=True), tg.rand(N)
    total: Any = 0
    with Memory(w, x) as seen, Counters() as counted:
        for _ in range(4):
            loss = (w * x).exp().sum()
            total = total + (loss if leak else loss.item())
    names = {keeper.name: keeper for keeper in seen.kept()}
    assert seen.nodes == counted.kept == nodes - (not leak)
    if leak:
        assert names["total"].nbytes >= 4 * MB and names["total"].graph >= 4 * MB
        assert names["total"].alone >= 3 * MB  # the last graph is loss's, too
        assert "through its graph" in repr(names["total"])
    else:
        assert "total" not in names
        assert names["loss"].alone == MB
    assert names["x"].nbytes == MB


def test_names_in_containers_modules_and_callers() -> None:
    model, stored = nn.Linear(500, 500, bias=False), {"list": [tg.rand(N)]}
    with Memory(model, stored["list"][0]) as seen:
        y = model(tg.rand(500, 500))

        def inner() -> dict[str, Any]:
            return {keeper.name: keeper for keeper in seen.kept()}

        names = inner()
    assert names["model"].nbytes == MB and names["stored"].nbytes == MB
    assert names["y"].nbytes >= 2 * MB
    assert names["stored"].alone == MB and "; it alone" not in repr(names["stored"])
    assert y is not None


class Log:
    """An object of a program."""

    def __init__(self, *values: Any) -> None:
        self.values = list(values)


LOGGED = Log()


def test_names_of_objects_and_of_modules_at_a_mark_and_on_another_thread() -> None:
    def inner() -> None:
        LOGGED.values.append(tg.ones(N) + 1)
        mark("inside", kept=True)

    def run() -> None:
        mine = Log(tg.ones(2 * N) + 1)
        inner()
        assert mine

    with Memory() as seen:
        thread = threading.Thread(target=contextvars.copy_context().run, args=(run,))
        thread.start()
        thread.join()
    found = {one.name: one.nbytes for one in seen.kept_at["inside"]}
    assert (found["LOGGED"], found["mine"]) == (4 * N, 8 * N)
    assert {one.name: one.nbytes for one in seen.kept(of=inner)} == {"LOGGED": 4 * N}
    LOGGED.values.clear()


# A good neighbour ---------------------------------------------------------------------------------------------------


def test_several_at_once() -> None:
    x = tg.rand(N)
    with Memory(x) as outer, Counters() as counted:
        a = x * 2
        with Memory(x, a) as inner:
            b = a.reshape(500, 500).var(1)
        c = b * 2
    for seen in (outer, inner):
        (moment,) = [moment for moment in seen.moments if moment.op == "var"]
        assert close(seen.by_owner(moment.most)["workspace"], 2 * MB)  # the differences, and their squares
    assert close(inner.peak, outer.peak)
    assert counted.calls == len([m for m in outer.moments if m.phase == "forward"])
    assert c is not None


def test_it_leaves_nothing_behind() -> None:
    before = optim.optimizer._before_every, optim.optimizer._after_every
    assert not any(before)
    with pytest.raises(ZeroDivisionError), Memory() as seen:
        x = tg.ones(N) * 2
        1 / 0  # noqa: B018
    assert not tracemalloc.is_tracing() and modes().plain
    assert not any((optim.optimizer._before_every, optim.optimizer._after_every))
    assert close(seen.current, 2 * MB - MB) and x is not None
    tracemalloc.start()
    try:
        with Memory():
            pass
        assert tracemalloc.is_tracing()  # somebody else had begun it
    finally:
        tracemalloc.stop()


def test_inside_itself_it_is_refused() -> None:
    why, mend = "everything inside would count twice", "use a second one: with Memory() as inner:"
    with Memory() as seen, teaches(ArgumentError, "Memory inside itself", why, mend, "seen, teaches"), seen:
        pass


def test_what_has_no_memory_is_refused() -> None:
    why, mend = "it holds no tensors that are known", "give modules, optimisers and tensors"
    with teaches(ArgumentError, "Memory with 'model'", why, mend, "Memory("):
        Memory(tg.ones(2), "model")


def test_values_and_gradients_are_the_same() -> None:
    model, x = nn.Sequential(nn.Linear(8, 8), nn.GELU(), nn.Linear(8, 2)), tg.rand(4, 8)
    found = []
    for watched in (False, True):
        model.zero_grad()
        if watched:
            with Memory(model, x):
                model(x).sum().backward()
        else:
            model(x).sum().backward()
        found.append([p.grad.numpy().copy() for p in model.parameters()])
    assert all(np.array_equal(a, b) for a, b in zip(*found, strict=True))


def test_its_text_and_figure() -> None:
    assert repr(Memory()) == "Memory: no operation of a tensor was seen"
    w = tg.rand(N, requires_grad=True)
    with Memory(w) as seen:
        y = (w * 2).exp()
        y.sum().backward()
    line = r"test_memory\.py, line \d+: y = \(w \* 2\)\.exp\(\)"
    head, *rows, end = repr(seen).splitlines()
    assert re.fullmatch(rf"Memory: 4\.0\d MB at the peak, in backward of mul, {line}", head)
    assert rows == ["  gradient     2.00 MB", "  parameter    1.00 MB", "  activation   1.00 MB"]
    assert re.fullmatch(r"now (3\.0\d|2\.99) MB; 2 nodes of the graph alive", end)
    pytest.importorskip("matplotlib", reason="needs matplotlib: pip install -e '.[widgets]'").use("Agg")
    ax = seen.plot()
    assert ax.get_ylabel() == "MB"
    assert {label.get_text() for label in ax.get_legend().get_texts()} >= {"parameter", "activation", "gradient"}
    top = max(path.vertices[:, 1].max() for stack in ax.collections for path in stack.get_paths())
    assert close(top * 1e6, seen.peak)


# What was alive when -------------------------------------------------------------------------------------------------


def at(seen: Memory, moment: Any) -> dict[str, int]:
    """The bytes of what was alive, by owner."""
    found = dict.fromkeys(OWNERS, 0)
    for held in seen.alive_at(moment):
        found[held.owner] += held.nbytes
    return found


@settings(max_examples=25)
@given(st.lists(st.sampled_from(sorted(STEPS)), min_size=1, max_size=5), st.booleans(), st.booleans())
def test_what_was_alive_adds_up_to_each_event(names: list[str], backward: bool, named: bool) -> None:
    w = tg.rand(50, 500, requires_grad=True)
    x, step = tg.rand(500, 500), optim.Adam([w])
    with Memory(*([w, step] if named else [])) as seen:
        for _ in range(2):
            value = x
            for name in names:
                value = STEPS[name](value, tg.cat([w] * 10))
            if backward and value.requires_grad:
                value.sum().backward()
                step.step()
    for moment in seen.moments:
        wanted = seen.by_owner(moment.most)
        assert at(seen, moment) == {owner: wanted[owner] for owner in OWNERS}


def test_a_buffer_that_becomes_a_parameter_was_data_until_then() -> None:
    with Memory() as seen:
        x = tg.ones(N)
        x + 1
        x.requires_grad_()
        x * 2
        early = seen.moments[0]
    assert at(seen, early)["data"] == 4 * N and at(seen, early)["parameter"] == 0
    late = seen.moments[-1]
    assert at(seen, late)["parameter"] == 4 * N and at(seen, late)["data"] == 0
    x = tg.ones(N)
    with Memory() as seen:
        x + 1
        x.requires_grad_()
        x * 2
    assert [at(seen, moment)["parameter"] for moment in seen.moments if moment.phase == "forward"] == [4 * N] * 2


def test_lives_of_what_is_gone_are_remembered() -> None:
    with Memory() as seen:
        y = tg.ones(N) + 1
        del y
        tg.ones(2 * N)
    gone = [life for life in seen.lives if life.died is not None]
    assert {life.held.nbytes for life in gone} == {4 * N, 8 * N} and not seen.alive


def test_a_mark_notes_the_names_where_it_is_asked_to() -> None:
    def run() -> None:
        kept_here = tg.ones(N)
        mark("inside", kept=True)
        kept_here + 1

    with Memory() as seen:
        run()
        seen.mark("outside")
    assert [(one.name, one.alone) for one in seen.kept_at["inside"] if one.name == "kept_here"] == [
        ("kept_here", 4 * N)
    ]
    assert set(seen.kept_at) == {"inside"}
    assert [moment.op for moment in seen.moments if moment.phase == "mark"] == ["inside", "outside"]


def test_a_mark_without_a_watch_does_nothing_and_with_two_marks_both() -> None:
    mark("nobody")
    with Memory() as outer, Memory() as inner:
        mark("both")
    assert [moment.op for seen in (outer, inner) for moment in seen.moments if moment.phase == "mark"] == ["both"] * 2


LEFT: list[tg.Tensor] = []


def test_names_that_a_function_or_a_dict_knows() -> None:
    around = tg.ones(N)
    unset = None

    def run() -> None:
        LEFT.append(around + 1)
        assert unset is None

    with Memory() as seen:
        run()
    assert {(one.name, one.alone) for one in seen.kept(of=run)} == {("LEFT", 4 * N), ("around", 4 * N)}
    assert [one.name for one in seen.kept(of={"mine": around, "_hidden": LEFT})] == ["mine"]
    assert seen.kept(of=print) == []
    LEFT.clear()


def test_whether_a_watch_goes_on() -> None:
    seen = Memory()
    assert not seen.watching
    with seen:
        assert seen.watching
    assert not seen.watching


def test_an_optimiser_keeps_what_it_steps_and_its_state() -> None:
    model = nn.Linear(500, 500, bias=False)
    adam = optim.Adam(model.parameters())
    with Memory(model) as seen:
        (model(tg.ones(1, 500)) ** 2).sum().backward()
        adam.step()
        adam.zero_grad()
    state = seen.now["optimiser"]
    found = {one.name: (one.nbytes, one.alone) for one in seen.kept()}
    assert found["model"] == (4 * N, 0)
    assert found["adam"] == (4 * N + state, state) and state >= 8 * N
    assert [one.name for one in seen.kept(of={"both": [adam, {"m": model}]})] == ["both"]


def test_what_a_checkpoint_returns_is_an_activation_once_the_graph_goes_on_from_it() -> None:
    """Its first pass makes it without a graph. The next operation keeps it for backward."""
    x, w = tg.ones(1000), tg.ones(1000, requires_grad=True)

    def part() -> tg.Tensor:
        return (x * w).exp()

    with Memory(x, w) as seen:
        h = checkpoint(part)
        assert (seen.now["temporary"], seen.now["activation"]) == (4000, 0)  # nothing has used it yet
        y = h * w
        assert (seen.now["temporary"], seen.now["activation"]) == (0, 8000)
        y.sum().backward()
        del h, y
    assert seen.now["activation"] == 0


def test_a_long_run_does_not_drift() -> None:
    """What watching takes for a moment is free again before the program goes on: thousands of events would add up."""
    model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = optim.Adam(model.parameters())
    x, y = tg.rand(32, 8), tg.rand(32, 1)
    with Memory(model, optimizer) as seen:
        for _ in range(150):
            optimizer.zero_grad()
            ((model(x) - y) ** 2).mean().backward()
            optimizer.step()
    elsewhere = [seen.by_owner(moment.after)["elsewhere"] for moment in seen.moments]
    assert len(elsewhere) > 1500
    assert min(elsewhere) >= 0 and max(elsewhere[100:]) < NOISE


def test_numpy_s_memory_that_a_tensor_takes_over_counts_once() -> None:
    def run() -> None:
        numbers = np.ones((500, 500))
        (tg.from_numpy(numbers) * 2).sum()

    with Memory() as seen:
        run()
    assert (seen.owners["data"], seen.owners["temporary"]) == (2_000_000, 2_000_000)
    assert seen.owners["elsewhere"] < 10 * NOISE
