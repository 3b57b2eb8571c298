"""A playground on a simulated device: the same network, its own clock, and two meters more."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tinygrad_edu import backends, optim, sim
from tinygrad_edu.common.wording import plain
from tinygrad_edu.nn import functional as F
from tinygrad_edu.views.frame import NARROW, WIDE
from tinygrad_edu.views.playground import data, frame
from tinygrad_edu.views.playground.figure import draw
from tinygrad_edu.views.playground.model import (
    DEVICE_METERS,
    HABITS,
    METERS,
    Knobs,
    PlayState,
    habits_of,
    verdict,
    zone,
)
from tinygrad_edu.views.playground.reasons import CAUSES, ON_DEVICE, cause, why
from tinygrad_edu.views.playground.run import Run, acts_of
from tinygrad_edu.views.playground.training import Loop, network
from tinygrad_edu.views.playground.words import device_text, foot, times_text

SIM = Knobs(device="sim")
SMALL = Knobs(width=8, batch=16, device="sim")


@pytest.fixture(autouse=True)
def another_machine() -> Iterator[None]:
    """What a test sets is undone."""
    before = sim.machine()
    yield
    sim.use(before)


def run(steps: int, acts: Any = (), knobs: Knobs = SIM) -> Run:
    made = Run(0, acts_of(acts), knobs)
    for _ in range(steps):
        made.advance()
    return made


def state(steps: int, acts: Any = (), knobs: Knobs = SMALL, **given: Any) -> PlayState:
    return PlayState(run(steps, acts, knobs).glance(), **given)


def with_habit(habit: str, knobs: Knobs = SIM) -> PlayState:
    return state(25, [(12, "flip", habit, True)], knobs)


# The network does not know where it is --------------------------------------------------------------------------------


@pytest.mark.parametrize("optimiser", ["SGD", "momentum", "Adam"])
def test_it_learns_the_same_bit_for_bit_wherever_it_is(optimiser: str) -> None:
    here, there = (run(40, (), Knobs(optimiser=optimiser, device=device)) for device in ("cpu", "sim"))
    there_and_back = run(
        40, [(10, "set", "device", "sim"), (25, "set", "device", "cpu")], Knobs(optimiser=optimiser, device="cpu")
    )
    for other in (there, there_and_back):
        assert all(np.array_equal(x, y) for x, y in zip(here.weights(), other.weights(), strict=True))


@pytest.mark.parametrize("habit", HABITS)
def test_a_habit_teaches_it_nothing_else_there(habit: str) -> None:
    acts = [(5, "flip", habit, True), (15, "flip", habit, False)]
    here, there = (run(20, acts, replace(SMALL, device=device)) for device in ("cpu", "sim"))
    for x, y in zip(here.weights(), there.weights(), strict=True):
        if habit == "autocast":  # bfloat16 here and float16 there
            np.testing.assert_allclose(x, y, atol=0.01)
            assert not np.array_equal(x, y) or x.ndim == 1
        else:
            np.testing.assert_array_equal(x, y)


def test_the_clock_and_the_memory_of_the_program_are_left_alone() -> None:
    x = tg.ones(3, device="sim")
    before = sim.now(), sim.counts(), tg.accelerator.memory_allocated(), backends.names(), backends.in_use()
    made = run(20)
    made.set("device", "cpu")
    assert (sim.now(), sim.counts(), tg.accelerator.memory_allocated(), backends.names(), backends.in_use()) == before
    del x


def test_a_timeline_of_the_program_does_not_show_it() -> None:
    with sim.timeline() as seen:
        run(5)
    assert list(seen) == []


def test_it_is_the_machine_that_the_program_has_chosen() -> None:
    assert run(1).glance().machine == sim.machine().name
    sim.use("A100", launch=1e-6)
    made = run(1)
    assert made.glance().machine == sim.machine().name
    sim.use("T4")
    assert made.glance().machine.startswith("A100")  # what is compared with each other is of one machine
    made.restart()
    assert made.glance().machine == "T4"


# What the meters say is what a program there takes --------------------------------------------------------------------


def by_hand(knobs: Knobs, moves: bool = False, read: bool = True) -> tuple[float, float, int]:
    """Seconds, idle share and transfers of a step, of a program that is written out and runs on `sim`."""
    loop = Loop(replace(knobs, device="cpu"), 0)
    loop.shuffle()
    model = network(knobs, np.random.default_rng(0)).to("sim")
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    x, y, test_x, test_y = loop.x, loop.y, loop.test_x.to("sim"), loop.test_y.to("sim")
    if not moves:
        x, y = x.to("sim"), y.to("sim")
    total: Any = 0.0
    reached = [(0, 0, 0)]
    with sim.timeline() as seen:
        for step in range(8):
            counts = sim.counts()
            part = slice(step * knobs.batch, (step + 1) * knobs.batch)
            batch, labels = x[part], y[part]
            if moves:
                batch, labels = batch.to("sim"), labels.to("sim")
            optimizer.zero_grad()
            loss = F.cross_entropy(model(batch), labels)
            loss.backward()
            total = total + (loss.item() if read else loss)
            optimizer.step()
            few = knobs.batch // 4
            with tg.no_grad():
                F.cross_entropy(model(test_x[:few]), test_y[:few])
            copies = sum(sim.counts()[name] - counts[name] for name in ("copies to device", "copies to host"))
            far = seen.so_far()
            reached.append((far.end, far.computing(), copies))
    (start, worked, _), (end, works, copies) = reached[-2:]
    return (end - start) / 1e9, 1 - (works - worked) / (end - start), copies


@pytest.mark.parametrize("preset", sim.PRESETS)
@pytest.mark.parametrize("habit", ["", "moves", "total"])
def test_the_meters_say_what_such_a_program_takes(preset: str, habit: str) -> None:
    sim.use(preset)
    made = run(12, [(0, "flip", habit, True)] if habit else ()).glance().reading
    seconds, idle, copies = by_hand(SIM, habit == "moves", habit != "total")
    assert made.time == pytest.approx(seconds, rel=1e-9) and made.transfers == copies
    assert made.idle == pytest.approx(idle, rel=1e-9)
    assert made.moved == (64 * 64 * 4 + 64 * 8) * (habit == "moves") + 4 * (habit != "total")


def test_times_are_exact_and_the_same_again() -> None:
    first, second = (run(20).glance().reading for _ in range(2))
    assert first == second
    assert first.low == first.time == first.high


def test_the_cpu_has_neither_meter() -> None:
    glance = run(10, (), Knobs()).glance()
    assert (glance.reading.transfers, glance.reading.idle, glance.machine) == (None, None, "")
    assert Knobs().meters == METERS and SIM.meters == (*METERS, *DEVICE_METERS)
    assert "transfers" not in frame(PlayState(glance)).text


def test_another_device_is_another_question() -> None:
    made = run(30, [(10, "flip", "zeros", True), (20, "set", "device", "sim")], replace(SIM, device="cpu"))
    assert made.glance().change is None and made.glance().reading.transfers == 1
    assert "zeros" in made.glance().habits


def test_a_switch_right_after_another_is_compared_all_the_same() -> None:
    made = state(30, [(10, "flip", "zeros", True), (11, "flip", "moves", True)], SIM)
    alone = with_habit("zeros").glance.reading
    assert made.glance.change is not None and made.glance.change.was.time == alone.time


# Habits ---------------------------------------------------------------------------------------------------------------


def test_moving_batches_is_offered_where_there_is_something_to_move() -> None:
    assert "moves" in habits_of(run(1).glance()) and "moves" not in habits_of(run(1, (), Knobs()).glance())
    assert "moves" in habits_of(run(2, [(0, "flip", "moves", True)], Knobs()).glance())


def test_the_cpu_has_nothing_to_move() -> None:
    made = state(45, [(10, "flip", "moves", True)], Knobs())
    assert {made.ratio(meter) for meter in ("bytes", "nodes", "operations")} == {1.0}
    assert "nothing moves" in why(made)
    assert "for the CPU" in cause(made, "bytes")


MANY = (
    SIM, replace(SIM, batch=1), replace(SIM, width=4, optimiser="Adam"), replace(SIM, depth=0),
    replace(SIM, width=128, depth=3, batch=256), replace(SIM, activation="gelu", width=128, depth=2, batch=32),
)  # fmt: skip
SAMPLED = [
    (habit, preset, knobs)
    for habit in HABITS
    for preset in sim.PRESETS
    for knobs in MANY
    if knobs.batch < 256 or habit not in ("one sample", "loop")  # which would take seconds
]


@pytest.mark.parametrize("habit, preset, knobs", SAMPLED[:: 1 + len(SAMPLED) // 60])
def test_a_meter_that_moves_has_its_cause(habit: str, preset: str, knobs: Knobs) -> None:
    sim.use(preset)
    made = with_habit(habit, knobs)
    for meter in knobs.meters:
        told = cause(made, meter)
        assert told, (meter, made.zone(meter))
        if made.zone(meter) != "same":
            assert not told.startswith("it differs")
    found = verdict(made)
    assert found is not None and (found[0] != "time" or zone(found[1]) == made.zone("time"))


def test_no_cause_is_said_twice() -> None:
    for habit, table in ON_DEVICE.items():
        for meter, zones in table.items():
            for which, words in zones.items():
                assert CAUSES.get(habit, {}).get(meter, {}).get(which) != words


def test_what_float64_costs_depends_on_the_machine() -> None:
    sim.use("T4")
    slow = with_habit("float64")
    sim.use("H100")
    even = with_habit("float64")
    assert (slow.zone("time"), even.zone("time")) == ("up", "same")
    assert "more slowly" in why(slow) and "8 bytes instead of 4" in why(even)


def test_a_total_of_tensors_waits_for_nothing_but_holds_its_graph() -> None:
    made = with_habit("total")
    assert made.ratio("transfers") == 0 and made.zone("transfers") == "down"
    assert (made.ratio("nodes") or 0) > 2
    back = state(40, [(10, "flip", "total", True), (25, "flip", "total", False)])
    assert back.ratio("transfers") == float("inf") and back.zone("transfers") == "up"
    assert times_text(0.0) == "0×" and "from 0" in frame(back).text


def test_each_batch_from_the_host_leaves_the_device_idle() -> None:
    made = with_habit("moves")
    assert [made.zone(meter) for meter in ("time", *DEVICE_METERS)] == ["up"] * 3
    assert made.glance.reading.transfers == 3


# Pictures and words ---------------------------------------------------------------------------------------------------

STATES = {
    "untrained": lambda: state(0),
    "trained": lambda: state(20),
    "moves": lambda: state(25, [(12, "flip", "moves", True)], said={"moves": {"transfers": "up", "idle": "same"}}),
    "asking": lambda: state(20, asking="moves", draft={"idle": "up"}),
    "none left": lambda: state(25, [(12, "flip", "total", True)]),
    "some again": lambda: state(40, [(10, "flip", "total", True), (25, "flip", "total", False)]),
    "all": lambda: state(12, [(0, "flip", habit, True) for habit in HABITS], replace(SMALL, width=4, batch=3)),
}


@pytest.mark.parametrize("name", STATES)
def test_it_is_drawn_and_told(name: str) -> None:
    made = STATES[name]()
    shown = frame(made)
    for width in (WIDE, NARROW):
        figure = draw(made, width)
        assert figure.canvas.width == width
        svg = figure.svg()
        assert ">transfers<" in svg and ">device idle<" in svg and "nan" not in svg and "inf" not in svg
    assert shown.badge == "simulated" and "a simulated T4" in shown.text
    assert "measured" not in shown.text
    assert len(plain(why(made)).split()) <= 25 and why(made).count("**") == 2
    assert re.search(r'role="radiogroup" aria-label="device"', shown.html())
    assert data(made, [])["knobs"]["device"] == "sim"


def test_the_machine_is_named_at_the_foot() -> None:
    sim.use("H200")
    assert foot(state(3)).startswith("H200: times are virtual and exact")
    assert device_text(state(3, (), Knobs()).glance) == "this CPU"
