"""A step as a compiled program: the same numbers bit for bit, what the meters say of it, and why."""

from __future__ import annotations

import gc
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.observe.clock import MILLISECOND
from tests.views.playground.test_habits import KNOBS, SOME, read, trained, weights
from tinygrad_edu import sim
from tinygrad_edu.common.wording import plain
from tinygrad_edu.compiler import cost_of
from tinygrad_edu.compiler.cost import rows
from tinygrad_edu.observe.counters import Counters
from tinygrad_edu.views.frame import WIDE
from tinygrad_edu.views.playground import PlayState, draw, frame, machine, meters
from tinygrad_edu.views.playground.meters import Meters, standing, standing_bytes
from tinygrad_edu.views.playground.model import HABITS, OPTIMISERS, PRECISIONS, Knobs, verdict, with_verdict
from tinygrad_edu.views.playground.reasons import CAUSES, COMPILED, ON_DEVICE, cause, why
from tinygrad_edu.views.playground.run import Run
from tinygrad_edu.views.playground.training import Loop, values
from tinygrad_edu.views.playground.trial import Trial

OTHERS = tuple(habit for habit in HABITS if habit != "compiled")
LARGE = Knobs(width=128, depth=3, batch=256)


@pytest.fixture
def ticking(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A clock by which each step takes a millisecond."""
    now = iter(range(10**9))
    monkeypatch.setattr(meters, "_clock", lambda: next(now) * MILLISECOND)
    yield


class Recorded(Counters):
    """Counts the programs that run: not those of a function that runs as it is written."""

    programs_run = 0

    def outside(self, what: str, *given: Any) -> None:
        self.programs_run += what == "program"


def ledger(loop: Loop) -> list[Any]:
    return getattr(loop._learning, "ledger", [])


def switched(first: str | None, then: str, knobs: Knobs, steps: int = 18) -> PlayState:
    """Some steps with one habit, then some with the other one too."""
    run = Run(0, [(0, "flip", first, True)] if first else (), knobs)
    for step in range(steps):
        if step == 9:
            run.flip(then, True)
        run.advance()
    return PlayState(run.glance())


# The same numbers -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("device", ["cpu", "sim"])
@pytest.mark.parametrize("optimiser", OPTIMISERS)
@pytest.mark.parametrize("habit", [None, *(one for one in HABITS if one != "compiled")])
def test_a_program_computes_what_the_step_computes_bit_for_bit(habit: str | None, optimiser: str, device: str) -> None:
    knobs, on = Knobs(width=8, batch=12, optimiser=optimiser, device=device), [habit] if habit else []
    usual, compiled = trained(knobs, on, 9), trained(knobs, [*on, "compiled"], 9)
    assert values(usual.loss) == values(compiled.loss) and values(usual.test_loss) == values(compiled.test_loss)
    for one, other in zip(usual.model.parameters(), compiled.model.parameters(), strict=True):
        assert values(one).dtype == values(other).dtype and np.array_equal(values(one), values(other))
    assert compiled.refused == (not compiled.codes)
    if (habit, device) != ("bfloat16", "sim"):  # arrays of 16 bits on a device may be recorded or not
        assert compiled.refused == (habit == "loop")


@given(knobs=KNOBS, on=SOME.map(lambda on: on - {"compiled"}))
@settings(max_examples=25, deadline=None)
def test_a_program_computes_the_same_whatever_else_is_on(knobs: Knobs, on: set[str]) -> None:
    on -= {"float64", "bfloat16"} if len(on & PRECISIONS) > 1 else set()
    for one, other in zip(weights(trained(knobs, on, 5)), weights(trained(knobs, {*on, "compiled"}, 5)), strict=True):
        assert np.array_equal(one, other)


@given(knobs=KNOBS, on=st.sets(st.sampled_from(["one sample", "zeros", "autocast", "copies", "evaluation"])))
@settings(max_examples=20, deadline=None)
def test_programs_are_made_before_a_step_and_none_within_it(knobs: Knobs, on: set[str]) -> None:
    """Also where labels come that its first batch has not had: as one digit they are others at each step."""
    loop = trained(knobs, {*on, "compiled"}, 0)
    loop.shuffle()
    ledger = loop._learning.ledger  # type: ignore[attr-defined]
    ways = 1 + ("one sample" in on and knobs.batch > 1 and "zeros" not in on)  # gradients that are there, or none
    assert len(ledger) == ways and not any(one.broken for one in ledger)
    before, learn = [one.calls for one in ledger], Recorded()
    for _ in range(12):
        with learn:
            loop.step()
    calls = sum(one.calls for one in ledger) - sum(before)
    assert calls == learn.programs_run == 12 * (knobs.batch if "one sample" in on else 1)
    assert len(ledger) == ways and loop.passes == 1


@pytest.mark.parametrize("first", [None, "zeros", "one sample"])
def test_it_makes_no_difference_when_the_switch_is_turned(first: str | None) -> None:
    knobs, on = Knobs(width=8, batch=12), [first] if first else []
    later = trained(knobs, on, 5)
    later.flip("compiled", True)
    found = Meters(later)
    for _ in range(8):
        found.step()
    reading, early = found.reading(), read(knobs, [*on, "compiled"])
    assert (reading.bytes, reading.nodes, reading.operations) == (early.bytes, early.nodes, early.operations)


def test_programs_are_made_anew_for_other_shapes_and_not_for_another_learning_rate() -> None:
    loop = trained(Knobs(width=8, batch=12), ["compiled"], 3)
    first = loop._learning
    loop.set(replace(loop.knobs, learning_rate=0.1))
    loop.step()
    assert loop._learning is first
    for change in ({"batch": 5}, {"device": "sim"}, {"device": "cpu"}):
        before = loop._learning
        loop.set(replace(loop.knobs, **change))  # type: ignore[arg-type]
        loop.step()
        assert loop._learning is not before and len(ledger(loop)) == 1 and ledger(loop)[0].calls
    assert loop.twin()._learning is not loop._learning
    loop.flip("compiled", False)
    assert not loop.codes


def test_a_trial_compares_steps_in_which_no_program_is_made() -> None:
    loop = trained(Knobs(width=8, batch=1), (), 3)
    was = loop.twin()
    loop.flip("compiled", True)
    now = loop.twin()
    trial = Trial(was, now)
    trial.turn()
    assert not trial.rounds  # the first only warms up
    made = len(ledger(now))
    while not trial.done:
        trial.turn()
    assert made == len(ledger(now)) == 1 and not ledger(was)
    assert trial.found() is not None


# What the meters say, and why -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("knobs", [Knobs(), LARGE, Knobs(depth=0), Knobs(activation="gelu", batch=1)])
@pytest.mark.parametrize("device", ["cpu", "sim"])
def test_each_kernel_of_the_program_counts(knobs: Knobs, device: str) -> None:
    knobs = replace(knobs, device=device)
    usual, compiled = read(knobs), read(knobs, ["compiled"])
    loop = trained(knobs, ["compiled"])
    (code,) = loop.codes
    layers = knobs.depth + 1 + knobs.depth * (knobs.activation != "none")
    test = layers + 1 + 2  # forward only, and two slices
    assert usual.operations == 2 + 2 * (layers + 1) + test
    assert compiled.operations == 2 + cost_of(code.program).launches + test
    recorded = ledger(loop)[0].captured[0]  # each operation is one kernel or several; then some of them become one
    assert cost_of(code.program).launches < cost_of(recorded).launches > 2 * (layers + 1)


def test_a_step_makes_no_node_and_its_loss_has_none() -> None:
    loop = trained(Knobs(), ["compiled"])
    with Counters() as counted:
        loop.step()
    assert counted.nodes == 0 and loop.loss.node is None
    assert read(Knobs(), ["compiled"]).nodes == read(Knobs(), ["compiled", "total"]).nodes == 0
    assert read(Knobs(), ["compiled", "evaluation"]).nodes == 8


def test_what_a_program_works_in_stands_from_step_to_step() -> None:
    usual, loop = trained(Knobs()), trained(Knobs(), ["compiled"])
    (code,) = loop.codes
    slabs = [id(one) for one in code.slabs]
    kept = sum(one.nbytes for one in code.slabs)
    assert kept > 64 * 64 * 4 and set(slabs) <= set(standing(loop))
    made = sum(one.nbytes for one in code.constants.values() if isinstance(one, np.ndarray) and one.base is None)
    assert kept <= standing_bytes(loop) - standing_bytes(usual) <= kept + made
    loop.step()
    assert [id(one) for one in code.slabs] == slabs


@pytest.mark.parametrize("knobs", [Knobs(), LARGE, Knobs(batch=1), Knobs(width=16, batch=256)])
@pytest.mark.parametrize("habit", [None, "autocast", "zeros", "copies"])
@pytest.mark.parametrize("compiled", [False, True])
def test_bytes_on_a_device_are_those_of_its_allocator(knobs: Knobs, habit: str | None, compiled: bool) -> None:
    """To the unit in which it hands out blocks, and single numbers, which the meter leaves out."""
    on = [one for one in (habit, "compiled" * compiled) if one]
    loop = trained(replace(knobs, device="sim"), on, 3)
    loop.shuffle()
    gc.collect()  # or what others left behind is given back meanwhile, and makes the peak lower
    device = machine.device()
    device.forget_peak()
    stood, before = standing_bytes(loop), device.memory().allocated
    loop.step()
    peak = stood + device.memory().peak - before
    found = Meters(loop)
    found.since = meters.COUNTED
    found.step()
    assert abs(found.peak - peak) <= 512 * (12 + 4 * knobs.depth)


def test_on_a_device_fewer_kernels_run_and_less_is_stored() -> None:
    counts = []
    for on in ((), ("compiled",)):
        loop = trained(Knobs(device="sim"), on)
        before = machine.device().counts["launches"]
        loop.step()
        counts.append(machine.device().counts["launches"] - before)
    assert counts[1] < counts[0]
    recorded, program = ledger(loop)[0].captured[0], loop.codes[0].program
    assert cost_of(program).allocated < cost_of(recorded).allocated


def test_in_a_large_network_on_a_device_values_wait_for_the_products_that_come_last() -> None:
    loop = trained(replace(LARGE, device="sim"), ["compiled"])
    program = loop.codes[0].program
    held = [row.cost.peak for row in rows(program)]
    most = held.index(max(held))
    gradients = [i for i, one in enumerate(program.equations) if one.name == "matmul" and one.out in program.outputs]
    assert len(gradients) == 4 and most < min(gradients)
    assert read(replace(LARGE, device="sim"), ["compiled"]).bytes > read(replace(LARGE, device="sim")).bytes  # type: ignore[operator]


def test_sixteen_bits_are_kept_in_thirty_two() -> None:
    for habit in ("autocast", "bfloat16"):
        program = trained(Knobs(), [habit, "compiled"]).codes[0].program
        large = {out.dtype.name for one in program.equations for out in one.outs if len(out.shape) == 2}
        inside = {e.name for one in program.equations if one.body is not None for e in one.body.equations}
        assert "float32" in large and "astype" in inside


@pytest.mark.usefixtures("ticking")
@pytest.mark.parametrize("device", ["cpu", "sim"])
@pytest.mark.parametrize("knobs", [Knobs(), Knobs(batch=1), Knobs(width=16, batch=2), Knobs(depth=0)])
@pytest.mark.parametrize("habit", OTHERS)
def test_every_meter_has_its_reason_with_every_other_habit(habit: str, knobs: Knobs, device: str) -> None:
    for first, then in ((habit, "compiled"), ("compiled", habit)):
        made = switched(first, then, replace(knobs, device=device))
        for meter in made.glance.knobs.meters:
            if meter != "time" or device == "sim":
                assert cause(made, meter), (first, then, meter, made.zone(meter))
        if "in 32 bits what is kept in 16" in cause(made, "time"):
            assert habit in ("bfloat16", "autocast")
        assert len(plain(why(made)).split()) <= 25 and why(made).count("**") == 2
        assert why(made).startswith(("The loop reads", "The compiler has")) == (
            then == "compiled" and made.glance.refused
        )


@pytest.mark.usefixtures("ticking")
def test_a_step_that_no_program_can_repeat_changes_nothing_and_says_why() -> None:
    made = switched("loop", "compiled", Knobs(batch=16))
    assert made.glance.refused and "as Python's numbers" in why(made)
    for meter in ("bytes", "nodes", "operations"):
        assert made.ratio(meter) == 1 and "runs as it is written" in cause(made, meter)
    other = replace(made, glance=replace(made.glance, habits=("compiled",)))  # another reason to have none
    assert "**no program**" in why(other) and "runs as it is written" in cause(other, "nodes")
    back = switched("compiled", "loop", Knobs(batch=16))
    assert back.glance.refused and "no program for the loop" in cause(back, "nodes")


@pytest.mark.usefixtures("ticking")
def test_the_sentences_of_a_program() -> None:
    made = switched(None, "compiled", Knobs(), 30)
    assert "**recorded once**" in why(made) and not made.glance.refused
    assert made.ratio("nodes") == 0 and "graph nodes 0, was 8: 0×, down" in frame(made).text
    assert verdict(made) == ("nodes", 0.0)  # by this clock, which no program makes quicker
    assert "compiled step: 0× the nodes" in frame(with_verdict(made)).text
    assert "0×" in draw(made, WIDE).canvas.text_items
    total = switched("compiled", "total", Knobs())
    assert "**without a graph**" in why(total) and total.zone("nodes") == "same"
    assert not re.search(r"nan|inf\b", frame(made).text)


def test_no_reason_of_a_program_is_said_twice() -> None:
    for habit, table in COMPILED.items():
        for meter, zones in table.items():
            for zone, words in zones.items():
                assert CAUSES.get(habit, {}).get(meter, {}).get(zone) != words
                assert ON_DEVICE.get(habit, {}).get(meter, {}).get(zone) != words


def test_presets_need_no_other_reason() -> None:
    before = sim.machine()
    try:
        for preset in sim.PRESETS:
            sim.use(preset)
            for knobs in (Knobs(), LARGE, Knobs(batch=1)):
                made = switched(None, "compiled", replace(knobs, device="sim"))
                assert all(cause(made, meter) for meter in made.glance.knobs.meters), preset
                assert made.zone("time") in ("down", "same")
    finally:
        sim.use(before)
