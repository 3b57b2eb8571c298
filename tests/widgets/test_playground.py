"""The playground in the kernel: acts, threads, predictions, traits, and what happens when it is left alone."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import numpy as np
import pytest
import traitlets
from tinygrad_edu_widgets import Playground, playground
from tinygrad_edu_widgets.pacing import PAUSE, rest

import tinygrad_edu as tg
from tests.support import run_python
from tests.widgets.test_every_widget import message
from tinygrad_edu.errors import ArgumentError
from tinygrad_edu.views.playground import meters
from tinygrad_edu.views.playground.model import HABITS, PRECISIONS
from tinygrad_edu.views.playground.run import Run

GUARD = 20.0  # seconds after which something hangs
SMALL: dict[str, Any] = {"width": 8, "batch": 16}


@pytest.fixture(autouse=True)
def nothing_plays() -> Iterator[None]:
    """What a test has started does not go on after it."""
    yield
    playground.stop_all()


def soon(true: Callable[[], Any], what: str = "") -> None:
    """Wait until something holds."""
    end = time.monotonic() + GUARD
    while not true():
        assert time.monotonic() < end, what
        time.sleep(0.005)


def same(one: Playground, other: Playground) -> bool:
    pairs = zip(one.weights(), other.weights(), strict=True)
    return all(a.dtype == b.dtype and np.array_equal(a, b) for a, b in pairs)


# Acts --------------------------------------------------------------------------------------------------------------


def test_it_trains() -> None:
    made = Playground()
    assert made.data()["wrong"] > 250
    made.run(300)
    assert made.data()["wrong"] < 40
    assert made.steps == 300


def test_a_run_can_be_done_again_bit_for_bit() -> None:
    made = Playground(seed=3, **SMALL)
    made.run(20)
    made.flip("zeros")
    made.step()
    made.set(lr=0.05)
    made.run(10)
    made.flip("float64", True)
    made.run(30)
    again = Playground(seed=3, acts=made.acts)
    again.run(61)
    assert same(made, again)
    assert again.acts == made.acts
    other = Playground(seed=3)
    other.replay(made.acts, until=61)
    assert same(made, other)
    assert not same(made, Playground(seed=4, acts=made.acts))


def test_playing_gives_the_same_weights_as_running() -> None:
    """Neither the drawing nor the pauses change a bit."""
    made = Playground(**SMALL)
    made.play()
    soon(lambda: made.steps > 40)
    message(made, "knob:learning_rate", 9)
    message(made, "switch", ["copies", True])
    soon(lambda: made.steps > 80)
    made.pause()
    again = Playground(acts=made.acts)
    again.run(made.steps)
    assert same(made, again)


def test_reset_begins_again_and_keeps_knobs_and_habits() -> None:
    made = Playground(**SMALL)
    made.flip("zeros", True)
    first = made.weights()
    made.run(10)
    made.reset()
    assert made.steps == 0
    assert all(np.array_equal(a, b) for a, b in zip(made.weights(), first, strict=True))
    assert made.data()["habits"] == ["zeros"]
    assert made.data()["knobs"]["width"] == 8


def test_the_device_from_code_from_the_page_and_as_a_trait() -> None:
    made = Playground(device="sim", **SMALL)
    made.run(15)
    assert made.data()["meters"]["transfers"] == 1 and made.data()["machine"] == tg.sim.machine().name
    message(made, "knob:device", "cpu")
    assert made.device == "cpu" and made.data()["meters"]["transfers"] is None
    made.run(5)
    made.device = "sim"
    made.run(15)
    here = Playground(**SMALL)
    here.run(35)
    assert same(made, here)
    again = Playground(acts=made.acts)
    again.run(35)
    assert again.acts == made.acts
    with pytest.raises(ArgumentError, match="device is one of cpu, sim"):
        made.set(device="cuda")


def test_another_device_asks_again() -> None:
    made = Playground(**SMALL)
    made.run(20)
    made.predict("zeros", time="up")
    made.run(20)
    made.flip("zeros", False)
    with pytest.raises(ArgumentError, match="the CPU has no such meter"):
        made.predict("zeros", idle="up")
    made.set(device="sim")
    assert not made.state.verdicts and not made.state.said
    made.run(20)
    message(made, "flip", "zeros")
    assert made.state.asking == "zeros"
    message(made, "guess:idle", "same")
    message(made, "commit")
    soon(lambda: not made.state.playing)
    assert made.data()["zones"]["idle"] and made.state.said["zeros"] == {"idle": "same"}
    assert made.state.verdicts["zeros"][0] == "time" and made.data()["compared"] is None


def test_knobs_from_the_browser() -> None:
    made = Playground()
    for act, value, name, found in [
        ("knob:learning_rate", 0, "learning_rate", 0.001), ("knob:width", 5, "width", 128),
        ("knob:depth", 0, "depth", 0), ("knob:activation", "gelu", "activation", "gelu"),
        ("knob:batch", 0, "batch", 1), ("knob:optimiser", "Adam", "optimiser", "Adam"),
        ("knob:noise", 10, "noise", 0.5), ("knob:wrong", "next digit", "wrong", "next digit"),
    ]:  # fmt: skip
        message(made, act, value)
        assert getattr(made, name) == found == made.data()["knobs"][name]
    message(made, "knob:activation", "")
    assert made.activation == "gelu"
    for act, value in (("knob:width", 6), ("knob:width", -1), ("knob:speed", 1), ("knob:optimiser", "Lion")):
        message(made, act, value)
        assert "▲" in made.text()


def test_setting_several_knobs_is_all_or_nothing() -> None:
    made = Playground()
    with pytest.raises(ArgumentError, match="width"):
        made.set(batch=8, width=1000)
    assert made.batch == 64


def test_turning_a_knob_that_is_there_already_begins_nothing() -> None:
    made = Playground(**SMALL)
    made.run(10)
    made.set(width=8)
    assert made.steps == 10


# Switches ----------------------------------------------------------------------------------------------------------


def test_a_switch_asks_before_it_first_moves_and_not_again() -> None:
    made = Playground(**SMALL)
    made.run(20)
    message(made, "flip", "zeros")
    assert made.state.asking == "zeros" and made.data()["habits"] == []
    message(made, "commit")
    assert made.state.asking == "zeros"  # nothing was said yet
    message(made, "guess:time", "same")
    message(made, "guess:bytes", "up")
    assert "you say up" in made.text()
    message(made, "commit")
    made.wait()
    data = made.data()
    assert (data["habits"], data["predicted"]) == (["zeros"], {"zeros": {"time": "same", "bytes": "up"}})
    assert data["switched"] == {"habit": "zeros", "on": True, "step": 20}
    assert data["ratios"]["bytes"] > 1.05 and "you said up" in made.text()
    assert "zeros" in data["verdicts"]
    for on in (False, True):
        message(made, "flip", "zeros")
        made.wait()
        assert ("zeros" in made.data()["habits"]) is on
        assert "zeros" in made.data()["verdicts"]  # it is kept beside a switch that is off
        assert made.state.asking == ""


def test_a_switch_that_asks_can_be_left() -> None:
    made = Playground(**SMALL)
    message(made, "flip", "loop")
    message(made, "flip", "loop")
    assert made.state.asking == "" and made.data()["habits"] == []


def test_a_switch_pressed_before_training_trains_until_there_is_something_to_compare() -> None:
    made = Playground(predict=False, **SMALL)
    message(made, "flip", "copies")
    made.wait()
    found = made.data()
    assert found["switched"]["step"] == meters.COUNTED + 1 + meters.ENOUGH
    assert found["ratios"]["bytes"] > 1
    assert found["verdicts"]["copies"]
    assert not made.playing


def test_a_switch_can_be_pressed_while_it_plays() -> None:
    made = Playground(predict=False, **SMALL)
    made.play()
    soon(lambda: made.steps > 20)
    message(made, "flip", "total")
    soon(lambda: "total" in made.state.verdicts)
    assert made.playing
    made.pause()
    assert made.data()["ratios"]["nodes"] > 1


def test_a_prediction_has_no_verdict_before_a_step_with_the_habit() -> None:
    made = Playground(**SMALL)
    made.run(30)
    made.predict("total", time="same", nodes="up")
    assert set(made.data()["zones"].values()) == {None} and "you said" not in made.text()
    made.run(20)
    assert made.data()["zones"]["nodes"] == "up" and "you said up" in made.text()
    assert made.data()["compared"]["rounds"] >= 5


def test_predictions_from_code() -> None:
    made = Playground(**SMALL)
    made.run(20)
    made.predict("loop", time="up", nodes="up")
    made.run(15)
    assert made.data()["predicted"] == {"loop": {"time": "up", "nodes": "up"}}
    assert made.data()["ratios"]["nodes"] > 5
    for given in ({"time": "sideways"}, {"speed": "up"}):
        with pytest.raises(ArgumentError):
            made.predict("loop", **given)
    with pytest.raises(ArgumentError, match="no habit"):
        made.predict("laziness", time="up")


def test_a_guess_without_a_question_is_refused() -> None:
    made = Playground()
    message(made, "guess:time", "up")
    assert "no switch asks" in made.text()


def test_another_network_forgets_verdicts() -> None:
    made = Playground(predict=False, **SMALL)
    message(made, "flip", "copies")
    made.wait()
    made.set(width=16)
    assert made.data()["verdicts"] == {} and made.data()["switched"] is None
    assert made.data()["habits"] == ["copies"]


def test_the_saved_text_is_the_whole_twin() -> None:
    made = Playground(**SMALL)
    made.run(20)
    saved = made._repr_mimebundle_()[0]
    assert "bytes alive" in saved["text/html"] and "test loss by step" in saved["text/html"]
    assert "bytes alive" not in saved["text/plain"]


def test_a_tip_opens_and_closes() -> None:
    made = Playground()
    message(made, "tip", "copies")
    assert 'show_tip("share-storage")' in made.text()
    message(made, "tip", "copies")
    assert "show_tip" not in made.text()


# Threads -----------------------------------------------------------------------------------------------------------


def players() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith("Playground ")]


def test_pause_ends_both_threads() -> None:
    made = Playground(**SMALL)
    made.play()
    made.play()
    assert made.playing and len(players()) == 2
    made.pause()
    made.pause()
    assert not made.playing and players() == []
    steps = made._run.step
    time.sleep(0.03)
    assert made._run.step == steps == made.steps


def test_a_pause_from_the_browser_answers_while_a_step_is_under_way() -> None:
    made = Playground(**SMALL)
    inside, leave = threading.Event(), threading.Event()
    step = made._run.meters.step

    def slow() -> None:
        inside.set()
        leave.wait(GUARD)
        step()

    with mock.patch.object(made._run.meters, "step", slow):
        made.play()
        assert inside.wait(GUARD)
        start = time.monotonic()
        message(made, "pause")
        assert time.monotonic() - start < 10 * 0.1
        assert not made.playing
        leave.set()
        soon(lambda: players() == [])
    assert made.steps == 1  # the step under way was made, and is shown


def test_training_does_not_wait_for_the_drawing() -> None:
    made = Playground(**SMALL)
    drawing, leave = threading.Event(), threading.Event()
    show = made._show

    def slow() -> None:
        if threading.current_thread().name == "Playground draws":
            drawing.set()
            leave.wait(GUARD)
        show()

    with mock.patch.object(made, "_show", slow):
        made.play()
        assert drawing.wait(GUARD)
        steps = made._run.step
        soon(lambda: made._run.step > steps + 50)
        leave.set()
        made.pause()


def test_it_holds_no_turn_to_measure() -> None:
    from tinygrad_edu.observe import machine

    made = Playground(**SMALL)
    made.play()
    with machine.quiet():
        steps = made._run.step
        soon(lambda: made._run.step > steps + 20)
    made.pause()


def test_two_playgrounds_at_once_do_not_disturb_each_other() -> None:
    pair = [Playground(seed=seed, **SMALL) for seed in (1, 2)]
    for one in pair:
        one.play()
    soon(lambda: all(one.steps > 50 for one in pair))
    for seed, one in enumerate(pair, 1):
        one.pause()
        alone = Playground(seed=seed, **SMALL)
        alone.run(one.steps)
        assert same(one, alone)


def test_closing_ends_the_threads() -> None:
    made = Playground(**SMALL)
    made.play()
    made.close()
    soon(lambda: players() == [])


def test_threads_end_with_their_widget() -> None:
    """They do not keep it alive. A real one stays until it is closed: Jupyter keeps a list of all widgets."""

    class Stand:
        _run, _pace = Run(0), None

    stand: Any = Stand()
    playground._Trainer(stand, None).start()
    del stand
    gc.collect()
    soon(lambda: players() == [])


def test_the_end_of_the_kernel_ends_the_threads() -> None:
    code = "import time; from tinygrad_edu_widgets import Playground; p = Playground(); p.play(); time.sleep(0.2)"
    found = run_python(f"{code}; print(p.playing)")
    assert (found.returncode, found.stdout, found.stderr) == (0, "True\n", "")


def test_a_failure_while_training_is_shown_and_ends_it() -> None:
    made = Playground(**SMALL)
    with mock.patch.object(made._run.meters, "step", side_effect=ZeroDivisionError("by zero")):
        made.play()
        soon(lambda: not made.playing)
    soon(lambda: "▲ Training ended: ZeroDivisionError: by zero" in made.text())
    soon(lambda: players() == [])


def test_play_ends_by_itself_when_nobody_pauses_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(playground, "_LIMIT", 30)
    made = Playground(**SMALL)
    made.play()
    soon(lambda: not made.playing)
    assert made.steps == 30


def test_a_pace_draws_after_so_many_steps() -> None:
    made = Playground(pace=7, **SMALL)
    seen: list[int] = []
    made.observe(lambda change: seen.append(change["new"]), "steps")
    made.play()
    soon(lambda: made.steps >= 21)
    made.pause()
    assert seen[:3] == [7, 14, 21]


def test_drawing_takes_its_share() -> None:
    assert rest(0.0, 0.1) == PAUSE
    assert rest(0.02, 0.1) == pytest.approx(0.18)


def test_settings_of_the_notebook_do_not_reach_the_training() -> None:
    alone = Playground(**SMALL)
    alone.run(5)
    with tg.no_grad():
        made = Playground(**SMALL)
        made.run(5)
    assert same(made, alone)


def test_weights_beyond_all_numbers_warn_nobody(recwarn: pytest.WarningsRecorder) -> None:
    made = Playground(learning_rate=10.0, depth=3, width=128)
    made.run(60)
    assert "▲ nan test" in made.text()
    assert list(recwarn) == []


# Traits ------------------------------------------------------------------------------------------------------------


def test_knobs_and_playing_are_traits() -> None:
    made = Playground(**SMALL)
    made.learning_rate = 0.05
    assert made.data()["knobs"]["learning_rate"] == 0.05
    made.width = 1000
    assert made.width == 8 and "width goes from 4 to 128" in made.text()
    made.playing = True
    soon(lambda: made.steps > 0)
    made.playing = False
    made.pause()
    made.steps = 3  # which can only be read
    soon(lambda: made.steps == made._run.step > 0)  # the step under way may still end


def test_two_can_be_linked() -> None:
    one, two = Playground(**SMALL), Playground(**SMALL)
    link = traitlets.link((one, "learning_rate"), (two, "learning_rate"))
    one.set(lr=0.02)
    assert two.data()["knobs"]["learning_rate"] == 0.02
    link.unlink()


def test_a_compiled_step_is_tried_without_a_warning_and_answers_a_prediction() -> None:
    made = Playground(width=8, batch=16)
    made.run(20)
    message(made, "flip", "compiled")
    message(made, "guess:nodes", "down")
    message(made, "commit")
    made.wait()
    assert "graph nodes 0, was 8: 0×, down; you said down" in made.text()
    assert made.data()["habits"] == ["compiled"] and "compiled" in made.data()["verdicts"]
    made.flip("loop")  # which no program can repeat; a warning would be an error here
    made.run(30)
    assert "no program for the loop" in made.text() and "▲" not in made.text()


def test_every_habit_runs_from_the_browser() -> None:
    made = Playground(predict=False, width=4, batch=4)
    for habit in HABITS:
        message(made, "flip", habit)
        made.wait()
    assert made.data()["habits"] == [one for one in HABITS if one not in PRECISIONS or one == "autocast"]
    assert set(made.data()["verdicts"]) == set(HABITS)
    assert "▲" not in made.text()


def test_waiting_does_not_wait_for_ever() -> None:
    made = Playground(predict=False, **SMALL)
    made.play()
    made.wait()  # nothing that ends by itself
    made.pause()
    with mock.patch.object(made._run, "advance", lambda: time.sleep(0.2)):
        message_only = made._handle_custom_msg
        message_only({"act": "flip", "value": "zeros"}, [])
        with pytest.raises(TimeoutError, match="at work"):
            made.wait(0.01)
        made.pause()
