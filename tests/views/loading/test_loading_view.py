"""LoaderGantt as data, words and a picture: hand-made passes with known figures, and real ones beside the clock."""

from __future__ import annotations

import dataclasses
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tinygrad_edu.data import Chores, DataLoader
from tinygrad_edu.data.timeline import Timeline, passes
from tinygrad_edu.errors import ArgumentError, IndexRangeError
from tinygrad_edu.views import loading
from tinygrad_edu.views.loading.model import SIZES
from tinygrad_edu.views.loading.words import best

ENDED = loading.Setting(workers=2)


def timeline(
    reading: float, step: float, workers: int, count: int = 6, origin: float = 100.0, start: float = 0.0
) -> Any:
    """A pass as it would be if reading and stepping took exactly so long, and workers took turns."""
    made = Timeline(workers, "process", origin)
    free = [start] * max(workers, 1)
    if workers:
        made.starts = dict.fromkeys(range(workers), (0.0, start)) if start else {}
    wanted = 0.0
    for number in range(count):
        worker = number % workers if workers else None
        began = free[worker or 0] if workers else wanted
        read = began + reading * 0.75
        packed = began + reading
        free[worker or 0] = packed
        taken = max(wanted, packed)
        times = (began, began, read, packed, packed, wanted, taken)
        made.note(number, 4, worker, *(origin + one for one in times))
        wanted = taken + step
    made.end(origin + wanted)
    made.left = made.ended = wanted
    made.waited = sum(one.waited for one in made.batches)
    return made


def shown(*timelines: Timeline, setting: loading.Setting = ENDED, said: int | None = 20) -> loading.LoadingState:
    return loading.finish(loading.LoadingState(setting, said=said), setting, [loading.run_of(timelines)], "here")


def test_a_loop_that_reads_by_itself_adds_both_times() -> None:
    run = loading.run_of([timeline(0.03, 0.01, 0)])
    assert run.span == pytest.approx(6 * 0.04) and run.stalled == pytest.approx(0.75)
    assert run.rate == pytest.approx(4 / 0.04) and best(run) == pytest.approx(4 / 0.01)
    assert (run.per_batch, run.per_step) == (pytest.approx(0.03), pytest.approx(0.01))
    assert run.most_ready == 0 and run.passes[0].ready == ((0.0, 0),)


def test_two_workers_that_keep_up_are_waited_for_once() -> None:
    run = loading.run_of([timeline(0.01, 0.01, 2)])
    assert run.waited == pytest.approx(0.01)
    assert run.causes["the first batch of an epoch"] == pytest.approx(0.01)
    assert [stall for stall in run.passes[0].stalls if stall[1] - stall[0] > 1e-9] == [(0.0, pytest.approx(0.01))]
    assert run.every == pytest.approx(0.01 * 2 / 5), "pairs of batches, from the first end to the last"
    assert run.most_ready == 4


def test_two_epochs_are_on_one_scale() -> None:
    first, second = timeline(0.01, 0.01, 2), timeline(0.01, 0.01, 2, origin=100.2)
    run = loading.run_of([first, second])
    assert [one.begin for one in run.passes] == [0.0, pytest.approx(0.2)]
    assert run.span == pytest.approx(0.2 + first.span) and run.samples == 48
    assert all(one.begin <= piece.began <= piece.taken <= one.end for one in run.passes for piece in one.pieces)


@given(st.floats(0.001, 0.05), st.floats(0.001, 0.05), st.integers(0, 8), st.integers(1, 30), st.floats(0, 0.1))
@settings(max_examples=60, deadline=None)
def test_waiting_and_using_are_all_there_is(
    reading: float, step: float, workers: int, count: int, start: float
) -> None:
    run = loading.run_of([timeline(reading, step, workers, count, start=start)])
    used = sum(piece.until - piece.taken for piece in run.passes[0].pieces)
    assert used + run.waited == pytest.approx(run.span)
    assert sum(run.causes.values()) == pytest.approx(run.waited) and min(run.causes.values()) >= -1e-12
    assert run.passes[0].ready[-1][1] == 0 and all(depth >= 0 for _, depth in run.passes[0].ready)
    for width in (812, 446):
        loading.draw(shown(timeline(reading, step, workers, count, start=start)), width)


def test_a_slow_batch_holds_up_those_that_are_ready() -> None:
    """Batch 0 of worker 0 takes 90 ms; worker 1 has its first ready after 10."""
    made = Timeline(2, "process", 100.0)
    for number, (worker, began, packed, wanted) in enumerate(
        [(0, 0.0, 0.01, 0.0), (0, 0.01, 0.1, 0.02), (1, 0, 0.02, 0.11)]
    ):
        taken = max(wanted, packed)
        made.note(number, 4, worker, *(100.0 + one for one in (began, began, packed, packed, packed, wanted, taken)))
    made.left = made.ended = 0.12
    causes = loading.run_of([made]).causes
    assert causes["another batch came first"] == pytest.approx(0.08) and causes["batches are read"] == 0
    assert "**in their order**" in loading.why(shown(made))


def test_the_loop_without_workers_stands_beside() -> None:
    state = dataclasses.replace(shown(timeline(0.9, 0.001, 8, 40)), alone=50.0)
    assert "without workers: 50.0 samples a second" in loading.text(state)
    assert "without workers 50.0" in loading.draw(state, 812).canvas.text_items


@pytest.mark.parametrize("made, setting, cause", [
    ([timeline(0.03, 0.01, 0)] * 2, loading.Setting(workers=0), "the time of a step **add up**"),
    ([timeline(0.03, 0.01, 2, 20)], ENDED, "**reading sets the pace**"),
    ([timeline(0.004, 0.01, 2, 20)], ENDED, "only **the first batch of an epoch**"),
    ([timeline(0.004, 0.01, 2, start=0.1)] * 2, ENDED, "**starts its workers anew**"),
    ([timeline(0.03, 0.01, 2)], loading.Setting(kind="thread", cost="Python"), "**one thread at a time**"),
    ([timeline(0.9, 0.001, 8, 40, start=0.1)], loading.Setting(kind="thread", kept=True), "**reading sets the pace**"),
])  # fmt: skip
def test_the_cause_is_that_of_the_figures(
    made: list[Timeline], setting: loading.Setting, cause: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    told = loading.why(shown(*made, setting=setting))
    assert cause in told and len(told.split()) <= 25 and told.count("**") == 2


def test_workers_that_compute_share_the_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    setting = loading.Setting(workers=8, cost="NumPy")
    state = dataclasses.replace(shown(timeline(0.9, 0.001, 8, 40), setting=setting), alone=500.0)
    assert "**share the cores**" in loading.why(state) and len(loading.why(state).split()) <= 25
    quick = dataclasses.replace(state, alone=1.0)
    assert "**share the cores**" not in loading.why(quick), "slower than without workers it is not"


def test_ones_own_data_gets_no_cause_that_is_about_the_examples() -> None:
    setting = loading.Setting(kind="thread", cost="Python")
    state = dataclasses.replace(shown(timeline(0.03, 0.01, 2, 20), setting=setting), own=True)
    assert "reading sets the pace" in loading.why(state)


def test_the_text_has_every_value_of_the_picture() -> None:
    state = shown(timeline(0.03, 0.01, 2, 2, start=0.05))
    assert [line for line in loading.text(state).splitlines() if "waited because" not in line] == [
        "LoaderGantt: To read a batch takes about 16 ms, a step of training 6 ms. 2 processes read 2 batches ahead "
        "each. For which share of the time does training wait?",
        "set: 2 processes read 2 batches ahead each, started for each epoch",
        "a sample waits",
        "The loop waits for 80.0 % of the time; you said 20 %.",
        "a worker takes 30.0 ms (median) for a batch; the loop uses each for 10.0 ms.",
        "samples a second: 80.0, 400 if the loop never waited",
        "batches that lay ready: 2 at most",
        "epoch 1, from 0.0 ms to 100.0 ms:",
        "  worker 0 starts: ready at 50.0 ms",
        "  worker 1 starts: ready at 50.0 ms",
        "  asked for the first batches by 0.0 ms; the last one was used until 100.0 ms",
        "  batch 0, worker 0: read 50.0 ms–72.5 ms, joined by 80.0 ms; waited for 80.0 ms, used until 90.0 ms",
        "  batch 1, worker 1: read 50.0 ms–72.5 ms, joined by 80.0 ms; waited for 0 ns, used until 100.0 ms",
    ]


def test_before_the_commit_nothing_is_drawn_and_a_saved_notebook_tells_no_times() -> None:
    state = loading.LoadingState(loading.Setting(workers=1))
    assert "1 process reads 2 batches ahead" in loading.text(state) and loading.text(state).endswith("you commit.")
    frame = loading.frame(state)
    assert frame.waiting and frame.badge is None and loading.summary(state) == ""
    done = shown(timeline(0.03, 0.01, 2))
    assert "ms" not in loading.summary(done).splitlines()[1] and loading.frame(done).badge == "measured"


def test_settings_are_chosen_and_a_result_is_of_one_setting() -> None:
    state = shown(timeline(0.03, 0.01, 2))
    for name, value in {"workers": 0, "prefetch": 8, "kind": "thread", "kept": "on", "cost": "NumPy"}.items():
        changed = loading.choose(state, name, value)
        assert changed.outdated and changed.said is None
    back = loading.choose(loading.choose(state, "workers", 4), "workers", 2)
    assert not back.outdated and back.said is None
    for name, bad in {"workers": 9, "prefetch": 0, "kind": "fibre", "kept": True, "cost": "magic"}.items():
        with pytest.raises(IndexRangeError, match="it is not offered"):
            loading.choose(state, name, bad)
    for share in (-1, 101, "much", True, None):
        with pytest.raises(IndexRangeError, match="a share in per cent"):
            loading.draft(state, share)
    assert loading.draft(state, 33.3).draft == 33


def test_a_pass_that_was_left_cannot_be_drawn() -> None:
    for bad in ([], [Timeline(0)]):
        with pytest.raises(ArgumentError, match="left half-way"):
            loading.run_of(bad)


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("kind", SIZES)
def test_a_real_loop_is_drawn_as_the_clock_saw_it(workers: int, kind: str) -> None:
    more: dict[str, Any] = {"num_workers": workers, "worker": kind}
    start = time.perf_counter()
    with passes() as seen:
        for _ in DataLoader(Chores(12, "waits", 2), 2, **more):
            time.sleep(0.003)
    taken = time.perf_counter() - start
    run = loading.run_of(seen)
    assert run.samples == 12 and 0.5 * taken < run.span <= taken
    assert run.per_batch >= 0.004 and run.per_step >= 0.003
    assert {piece.worker for piece in run.passes[0].pieces} == ({0, 1} if workers else {None})
    watched = loading.read(seen, "here")
    assert "you said" not in loading.text(watched) and loading.frame(watched).controls == ()


def test_a_subject_measures_what_it_is_given() -> None:
    used: list[int] = []
    subject = loading.Subject(range(8), lambda batch: used.append(len(batch)), 4)
    runs, conditions, alone = subject.measure(loading.Setting(workers=0), lambda *_: True)
    assert alone == 0
    assert len(runs) == 3 and all(len(run.passes) == 2 and run.samples == 16 for run in runs)
    assert used == [4] * 2 * (1 + 3 * 2) and conditions.text()
    stopped, *_ = subject.measure(loading.Setting(workers=0), lambda done, *_: done < 1)
    assert len(stopped) == 1


def test_a_step_that_fails_is_said() -> None:
    subject = loading.Subject(range(8), lambda batch: batch.nothing, 4)
    with pytest.raises(ArgumentError, match="it raised AttributeError"):
        subject.measure(loading.Setting(workers=0), lambda *_: True)
    with pytest.raises(ArgumentError, match="that is set by its knobs"):
        loading.Subject(range(8), num_workers=3)
    with pytest.raises(ArgumentError, match="give a data set with a length"):
        loading.Subject(iter([1]))
