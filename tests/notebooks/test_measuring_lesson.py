"""Lesson 0 keeps to its limits, and what its words state is so. Nothing here depends on how fast a machine is."""

from __future__ import annotations

import re
import statistics
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tests.lessons.measuring_solutions import median_ratio
from tests.lessons.solutions import SOLUTIONS
from tests.notebooks.cells import Run, run_cells, sources, words
from tinygrad_edu.lessons import REASONS
from tinygrad_edu.lessons.guessing import guessed
from tinygrad_edu.lessons.lanes import ideal, lanes
from tinygrad_edu.lessons.measuring import GELU, RELU
from tinygrad_edu.lessons.noisy import afternoon, by_medians, coin, picture, winners
from tinygrad_edu.lessons.processes import new_process
from tinygrad_edu.lessons.sample_race import RecordedRace
from tinygrad_edu.observe.counters import Counters
from tinygrad_edu.views.playground.model import Knobs
from tinygrad_edu.views.playground.run import Run as Training

NAME = "00_measure_honestly"
PROSE, SOURCE = "\n".join(sources(NAME, "markdown")), "\n".join(sources(NAME))
ANSWERS = {
    "started again": "more than 5 times slower",
    "gets a new list": "less than 5 times apart",
    "Line 2 reads only": "about as long as before",
    "A hundred such": "more than 60",
}


@pytest.fixture(scope="module")
def lesson() -> Run:
    return run_cells(NAME)


def solved(task: str) -> Any:
    scope: dict[str, Any] = {}
    exec(SOLUTIONS[task], scope)
    return scope["answer"]


def test_it_is_short_enough() -> None:
    assert words(NAME) <= 1500
    assert len(re.findall(r"(?:PredictGate|TimingRace)\(", SOURCE)) == 6
    assert SOURCE.count("check(") == 6


def test_every_choice_has_its_reason_and_the_result_has_the_cause(lesson: Run) -> None:
    assert len(lesson.gates) == len(ANSWERS)
    for part, right in ANSWERS.items():
        gate = lesson.gate(part)
        assert list(gate.why) == gate.choices
        assert [choice for choice, said in gate.why.items() if "**" in said] == [right]


@pytest.mark.parametrize("part", ANSWERS)
def test_what_a_gate_finds_and_what_it_says_about_it(lesson: Run, part: str) -> None:
    """Each factor behind a result is so large that no usual disturbance turns it round."""
    found = lesson.gate(part).reveal()
    assert found.value == ANSWERS[part]
    assert found.why.startswith(lesson.gate(part).why[found.value])
    assert found.badge == ("simulated" if "hundred" in part else "measured")
    if found.badge == "measured":
        assert "NumPy" in found.conditions and re.search(r"one run each|\d+ pairs", found.conditions)
        assert len(re.findall(r"[\d.]+ .?s\b", found.why)) >= 2


def test_nothing_beside_a_gate_answers_it() -> None:
    shown = re.sub(r"<details>.*?</details>", "", PROSE, flags=re.DOTALL)
    for told in (
        "makes the window",
        "first call makes",
        "who came first",
        "sorted list",
        "waits for all",
        "92",
        "seldom hits",
        "cache_clear()  # as",
    ):
        assert told not in shown, told
    headings = re.findall(r"^## .*", PROSE, re.M)
    assert headings[:5] == [
        "## 1 · One character",
        "## 2 · The best of five",
        "## 3 · The slow line",
        "## 4 · A against B",
        "## 5 · Tensors and lists",
    ]


def test_the_choices_are_words_that_the_program_prints(lesson: Run) -> None:
    told = lesson.names["told"]
    assert [told(6.0, 1.0), told(1.0, 1.0), told(1.0, 6.0)] == lesson.gates[0].choices == lesson.gates[1].choices


def test_both_ways_to_square_do_the_same_work(lesson: Run) -> None:
    sound, counts = lesson.names["sound"], []
    for name in ("times", "power"):
        with Counters() as counted:
            lesson.names[name](sound)
        counts.append((counted.calls, counted.allocated))
    assert counts == [(3, 800_000)] * 2  # two products of 100,000 float32; the sum is one number
    assert lesson.names["counts"](lesson.names["power"]).startswith("counted: 3 operations, 800,000 bytes for their")
    x = np.linspace(-3, 3, 1001, dtype=np.float32)
    assert np.array_equal(x**2, x * x)


def test_the_first_call_does_work_that_no_other_does(lesson: Run) -> None:
    window, sound = lesson.names["window"], tg.rand(10)
    window.cache_clear()
    for misses in (1, 1, 1):
        lesson.names["times"](sound)
        assert window.cache_info().misses == misses
    assert tuple(window(10)[[0]].tolist()) == (0.0,)
    lesson.names["new_sound"](10)
    assert window.cache_info().currsize == 0  # so a race without warm-up shows it


def test_the_best_of_five_runs_sorts_what_is_sorted(lesson: Run) -> None:
    seen = []

    def sort(x: list[float]) -> None:
        seen.append(x == sorted(x))
        x.sort()

    lesson.names["best_of_five"](sort, [3.0, 1.0, 2.0])
    assert seen == [False, True, True, True, True]


def test_the_device_works_in_order_and_reading_waits(lesson: Run) -> None:
    device = lesson.names["Device"]()
    tickets = [device.product(i, 2) for i in range(4)]
    assert not tickets[-1].done()
    assert tickets[-1].result() == 6 and all(ticket.done() for ticket in tickets)
    last = device.product(5, 5)
    device.synchronize()
    assert last.done() and last.result() == 25
    device.queue.shutdown()


def test_the_knob_of_the_queue_draws_who_works_when(lesson: Run, capsys: pytest.CaptureFixture[str]) -> None:
    (watch, _), _ = lesson.knobs
    assert watch("?", 10, "all at the end") is None
    assert "How long is the whole?" in capsys.readouterr().out  # and no answer
    for own, read in ((0, "all at the end"), (10, "each at once")):
        watch("300 ms", own, read)
        head, python, queue, device, said, key, whole = capsys.readouterr().out.splitlines()
        assert head.startswith("measured once, with the simulated device")
        assert python.startswith("Python ") and device.startswith("device ") and whole.startswith("whole: ")
        assert queue.startswith("queue ") and ("+" in queue) is (read == "all at the end")
        assert re.search(r"waits \d+ ms; the device computes \d+ ms of", said)
        for sign in set("rx") | ({"w"} if own else set()):
            assert sign in python + device and f"{sign} " in key
        assert device.count("x") >= 10


def test_lanes_without_any_delay() -> None:
    """What the fold at the end shows: work that overlaps, and work that does not."""
    *rows, said = ideal(0.010, at_once=False).splitlines()
    assert rows == [f"Python {'w' * 20}r", f"queue  {'·' * 21}", f"device ·{'x' * 20}"]
    assert said.startswith("Python works 200 ms and waits 10 ms; the device computes 200 ms of 210 ms; 0 at most")
    *rows, said = ideal(0.010, at_once=True).splitlines()
    assert rows == [f"Python {'wr' * 20}", f"queue  {'·' * 40}", f"device {'·x' * 20}"]
    *rows, said = ideal(0.0, at_once=False).splitlines()
    assert rows == [f"Python {'r' * 20}", f"queue  {'+' * 10}987654321·", f"device {'x' * 20}"]
    assert said.endswith("19 at most wait in the queue.")
    assert lanes(0.0, 0.03, it=[("a", 0.0, 0.006), ("b", 0.006, 0.013)]) == "it a··"


def test_the_knob_of_the_afternoons_also_counts_the_learner_s_rule(
    lesson: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    _, (design, knobs) = lesson.knobs
    lesson.names["decide"] = solved("measure_decide")
    design("turns", 20, 0, True, 11)
    said = capsys.readouterr().out
    assert said.startswith(picture(afternoon("turns", 20, seed=11)))
    assert "on 100 afternoons, medians, 5 %: A 16, B 28, not settled 56" in said
    assert "on 100 afternoons, decide: A 3, not settled 97" in said
    design("blocks", 20, 0, True, 7)  # break it
    assert "decide: A 37, B 22, not settled 41" in capsys.readouterr().out
    design("blocks", 50, 10, False, 3)
    said = capsys.readouterr().out
    assert "(decide is a rule for 20 pairs)" in said and "decide: " not in said
    assert (knobs["count"].min, knobs["count"].max, knobs["faster"].max) == (1, 50, 30)


def test_whether_a_design_lets_medians_be_right() -> None:
    """With the other program there is none among those that the knob reaches; without it, nearly all are."""
    for order in ("blocks", "turns"):
        quiet = winners(by_medians, order, 20, busy=False)
        assert quiet["not settled"] >= 98
        for count in (1, 2, 3, 5, 10, 15, 20, 30, 40, 50):
            assert winners(by_medians, order, count).get("not settled", 0) < 70


def test_an_afternoon_is_what_its_words_say() -> None:
    turns, blocks = afternoon("turns", 20, seed=4), afternoon("blocks", 20, seed=4)
    assert blocks.places == (list(range(20)), list(range(20, 40)))
    assert list(zip(*turns.places, strict=True))[:3] == [(0, 1), (3, 2), (4, 5)]
    assert sum(turns.busy) == 20 and not any(afternoon("turns", 20, busy=False).busy)
    both = {
        place: time
        for found in (turns.a, turns.b)
        for place, time in zip(turns.places[found is turns.b], found, strict=True)
    }
    in_blocks = dict(enumerate(blocks.a + blocks.b))
    assert both == in_blocks  # the same afternoon, in another order
    half = afternoon("turns", 20, faster=2.0, seed=4)
    assert half.a == turns.a and half.b == [time / 2 for time in turns.b]
    assert min(turns.a) >= 10.0


def test_the_picture_shows_every_run_in_its_place() -> None:
    found = afternoon("turns", 6, seed=2)
    head, *rows, other, spell, medians, pairs = picture(found).splitlines()
    first, last = found.busy.index(True) + 1, 12 - found.busy[::-1].index(True)
    met = [sum(found.busy[place] for place in places) for places in found.places]
    assert spell == f"other: at work from run {first} to run {last}, during {met[0]} runs of A and {met[1]} of B"
    assert "other: not at work" in picture(afternoon("turns", 6, seed=2, busy=False))
    assert head == "simulated: 6 runs of A and 6 of B, in the order in which they ran"
    left = rows[0].index("│") + 1
    for letter, times, places in (("A", found.a, found.places[0]), ("B", found.b, found.places[1])):
        for time, place in zip(times, places, strict=True):
            (row,) = [row for row in rows if row[left + place : left + place + 1].strip()]
            assert row[left + place] == letter
            assert row.startswith(f"{min(int(time), 16)} ms")
    assert [i for i, sign in enumerate(other[left:]) if sign == "━"] == [i for i, at in enumerate(found.busy) if at]
    assert f"A {statistics.median(found.a):.1f} ms, B {statistics.median(found.b):.1f} ms" in medians
    assert f"in {sum(y < x for x, y in zip(found.a, found.b, strict=True))} of 6" in pairs


def test_the_story_of_the_afternoon_that_is_shown() -> None:
    """B wins, by far, and it is the same function."""
    assert by_medians(*(lambda found: (found.a, found.b))(afternoon("blocks", 20, seed=11))) == "B"
    assert "30 % apart" in picture(afternoon("blocks", 20, seed=11))


def test_a_coin() -> None:
    rng = np.random.default_rng(0)
    heads = (rng.random((20_000, 20)) < 0.5).sum(1)
    for k in (11, 13, 15):
        assert coin(k, 20) == pytest.approx(np.mean((heads >= k) | (heads <= 20 - k)), abs=0.012)
    assert coin(7, 10) == pytest.approx(0.34, abs=0.01) and coin(10, 20) == 1.0


def test_pairs_settle_what_medians_cannot() -> None:
    rule = solved("measure_decide")
    assert winners(rule, "turns", 20)["not settled"] == 97
    assert winners(rule, "turns", 20, faster=1.1) == {"B": 100}
    assert winners(median_ratio, "turns", 20)["not settled"] >= 93  # which `compare` uses


def test_recorded_figures_say_where_they_come_from() -> None:
    assert "Recorded on" not in PROSE  # it would answer the gate of the afternoons
    fold = SOURCE[SOURCE.index("Recorded on") :].replace('\\n"\n    "', " ")
    for told in ("23 November 2026", "AMD EPYC, 2 cores", "NumPy 2.4", "after 20 warm-ups", "54 times", "4 times"):
        assert told in fold


def test_the_digits_come_from_the_playground() -> None:
    """Other BLAS libraries may read some digits more or fewer."""
    for seed in (0, 3, 7):
        for activation, recorded in (("relu", RELU), ("gelu", GELU)):
            run = Training(seed, knobs=Knobs(width=16, activation=activation))
            for _ in range(100):
                run.advance()
            assert len(run.loop.test_labels) == 359
            assert abs(round(359 * run.glance().now.test_accuracy) - recorded[seed]) <= 3
    assert (RELU[3], GELU[3]) == (307, 316) and "307 of 359 digits, with gelu 316" in PROSE


def test_what_the_seeds_show() -> None:
    """A post that is right about the sign, for a poor reason, and far too large."""
    apart = [g - r for r, g in zip(RELU, GELU, strict=True)]
    more, fewer = sum(one > 0 for one in apart), sum(one < 0 for one in apart)
    assert (more, fewer, apart[3]) == (14, 4, 9) and max(apart) == 9
    assert coin(more, more + fewer) < 0.05
    assert sum(abs(one) <= 1 for one in apart) > len(apart) / 2


def test_a_small_list_needs_no_operation(lesson: Run) -> None:
    (given,) = (lesson.names["both_forms"](10),)
    with Counters() as counted:
        in_list = lesson.names["in_list"](given)
    assert counted.calls == 0
    with Counters() as counted:
        in_tensor = lesson.names["in_tensor"](given)
    assert counted.calls == 2
    assert in_list == pytest.approx(in_tensor, rel=1e-4)


def test_the_worked_example_leaves_its_input_alone() -> None:
    given = "a bb ccc".split()
    assert max(given, key=len) == "ccc" and given == ["a", "bb", "ccc"]


def test_every_reason_of_the_lesson_is_used() -> None:
    from tinygrad_edu.lessons.measuring_reasons import MEASURING

    assert not [key for key in MEASURING if key not in SOURCE]
    assert MEASURING.items() <= REASONS.items()


def test_the_recorded_race_shows_what_the_text_explains() -> None:
    shown = RecordedRace().frame()
    drawn = " ".join(shown.wide.canvas.items)
    for mark in ("run-a", "cross", "middle-a"):
        assert f'class="{mark}"' in drawn
    assert shown.badge == "recorded" and "recorded on 23 November 2026" in shown.text
    assert "measured" not in shown.words() and not shown.controls
    assert "4.0× A is faster. 95 % interval of this race 4.0–4.0×." in shown.text
    assert "2 beyond →" in shown.wide.canvas.text_items and shown.text.count("run 1: ") == 2
    assert "data:image/svg+xml;base64," in RecordedRace()._repr_html_()
    assert repr(RecordedRace()) == "a race between sum and math.fsum, recorded on 23 November 2026"


def test_a_guess_comes_before_its_output(capsys: pytest.CaptureFixture[str]) -> None:
    assert not guessed(...) and guessed(4)
    assert capsys.readouterr().out.splitlines()[1] == "your guess: 4"
    assert SOURCE.count("guess = ...") == SOURCE.count("if guessed(guess):") == 3


def test_a_process_that_is_started_again_has_forgotten(lesson: Run) -> None:
    window = lesson.names["window"]
    window(10)
    new_process({"window": window, "plain": 3})
    assert window.cache_info().currsize == 0


def test_the_list_that_is_made_into_a_tensor_gives_the_same(lesson: Run) -> None:
    assert lesson.names["only_a_list"]() == pytest.approx(lesson.names["list_to_tensor"](), rel=1e-4)


def test_the_first_run_pays_for_the_window(lesson: Run) -> None:
    """A virtual clock: the first call takes 300 times as long, and the median does not notice."""
    times = [300.0, *[1.0] * 19]
    assert statistics.median(times) == 1.0 and statistics.mean(times) > 15
    assert statistics.median(times[:2]) > 100


def test_the_queue_decides_what_the_gate_says_not_the_clock(lesson: Run) -> None:
    """However busy the machine is, the last product is done after all others."""
    for read in (lambda tickets: tickets, lambda tickets: tickets[-1:]):
        assert lesson.names["two_lines"](read)[2] == 20
