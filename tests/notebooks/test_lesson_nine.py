"""Lesson 9: each fact that its prose states, the reasons of its gates, and what its programs and its ledger do."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tests.lessons.feeding_solutions import ERRORS, HABITS, ledger_of, script
from tests.notebooks.cells import Run, check_reason_keys, check_reasons, check_size, run_cells, sources
from tinygrad_edu import tips
from tinygrad_edu.data import DataLoader
from tinygrad_edu.errors import ArgumentError
from tinygrad_edu.lessons import check
from tinygrad_edu.lessons import ledger as ledgers
from tinygrad_edu.lessons.feeding import CHANGES
from tinygrad_edu.lessons.feeding_programs import LOOPS, OnDisk, in_memory, learned, on_disk, read_ahead, used
from tinygrad_edu.lessons.feeding_reasons import FEEDING
from tinygrad_edu.lessons.ledger import Ledger, Try, same
from tinygrad_edu.nn import functional as F

LESSON = "09_feeding_the_model"
LARGEST = "vectorise", "spurious-promotion"  # the habits that cost most of the accelerator's time
ANSWERS = {
    "share of the time": "about nine tenths",
    "two threads": "about as long",
    "two processes": "more than 10 times as long",
    "different noises": "2",
    "How many kernels": "about 800",
    "Which loss": "1.46",
}


@pytest.fixture(autouse=True, scope="module")
def one_run_each() -> Iterator[None]:
    """Of every version in a ledger: what varies is tested where it is said."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ledgers, "QUICK", 0.0)
        yield


@pytest.fixture(scope="module")
def lesson() -> Run:
    return run_cells(LESSON)


@pytest.fixture(scope="module")
def mended() -> Try:
    return replace(ledger_of(script()).tries[0], waits=(0.2,))  # as on a quiet machine


def given(lesson: Run) -> Try:
    """The script as it stands, in the ledger of the notebook."""
    return lesson.names["ledger"].tries[0]  # type: ignore[no-any-return]


def test_the_lesson_keeps_to_its_size(lesson: Run) -> None:
    check_size(LESSON, lesson.gates)


def test_every_choice_has_its_reason_and_one_has_the_cause(lesson: Run) -> None:
    for gate in lesson.gates:
        check_reasons(gate, ANSWERS)


def test_no_key_of_a_reason_is_used_twice() -> None:
    check_reason_keys(LESSON, FEEDING)


def test_a_reader_that_reads_in_turn_and_readers_beside_it() -> None:
    """The worked example and task 1, with sleeps in place of the disk: a worker's batch takes three times as long."""
    images = OnDisk(*on_disk_tensors(120))
    times = []
    for workers in (0, 1, 3, 6):
        loader = DataLoader(images, 10, **({"num_workers": workers, "worker": "thread"} if workers else {}))
        times.append(used(loader))
    assert times[0] == pytest.approx(times[1], rel=0.4)
    assert times[1] / times[2] > 1.8 and times[2] > times[3]


def on_disk_tensors(count: int) -> tuple[tg.Tensor, tg.Tensor]:
    return tg.rand(count, 64), tg.zeros(count).long()


def test_three_hundred_digits_two_milliseconds_each() -> None:
    images, new = on_disk()
    assert (len(images), len(new)) == (300, 100) and len(in_memory()) == 300
    x, y = images[0]
    assert x.shape == (64,) and x.dtype == np.float32 and images.direct >= 0.002 and 0 <= y < 10
    assert [len(y) for _, y in DataLoader(in_memory(), 32)] == [32] * 9 + [12], "ten batches, of which the last has 12"


def test_what_workers_seed() -> None:
    """That `np.random` and `tg` are seeded differently in each worker, and follow the seed."""

    class Drawn(tg.data.Dataset):
        def __len__(self) -> int:
            return 8

        def __getitem__(self, index: int) -> Any:
            info = tg.data.get_worker_info()
            return np.random.rand(), tg.rand(()).item(), info.seed % 2**31

    def drawn() -> list[tuple[float, ...]]:
        tg.manual_seed(3)
        return [tuple(one.item() for one in batch) for batch in DataLoader(Drawn(), 1, num_workers=4)]

    first = drawn()
    assert [len(set(column)) for column in zip(*first, strict=True)] == [8, 8, 4]
    assert first == drawn()


def test_reading_ahead_helps_where_batches_take_unlike_times() -> None:
    """That more batches ready shorten the wait of the third loop only, and by how much 9 ms is less than a step."""
    found = {line[0]: [int(share) for share in re.findall(r"waits (\d+)%", line)] for line in read_ahead().splitlines()}
    assert {sum(times) / len(times) for times in (LOOPS["b"], LOOPS["c"])} == {9}
    assert found["a"][1] > 0.6 * found["a"][0] > 6 and abs(found["b"][0] - found["b"][1]) < 10
    assert found["c"][1] < 0.6 * found["c"][0]


# The capstone -------------------------------------------------------------------------------------------------------


def test_the_script_is_what_its_habits_and_errors_make(lesson: Run, mended: Try) -> None:
    """The same script with all habits and errors put back computes the same numbers, and is as slow."""
    one = given(lesson)
    (again,) = ledger_of(script(*HABITS, *ERRORS)).tries
    assert same(one, again) and not same(one, mended)
    assert again.seconds == pytest.approx(one.seconds, rel=0.1)
    assert again.nbytes == pytest.approx(one.nbytes, rel=0.01)
    assert one.launches / 30 == pytest.approx(810, rel=0.05), "about 800 for each batch"


def test_it_is_slow_and_greedy(lesson: Run, mended: Try) -> None:
    one, ledger = given(lesson), Ledger()
    assert ledger.within(one) == (False, False, False) and ledger.within(mended)[::2] == (True, True)
    assert one.seconds > 15 * ledger.budget.seconds and one.waited > 2 * ledger.budget.waited
    assert one.nbytes > 3 * ledger.budget.nbytes


def test_advice_finds_its_planted_habits(lesson: Run) -> None:
    with tips.advise() as report:
        lesson.names["train_as_given"](*on_disk())
    assert set(HABITS) <= {one.slug for one in report}
    costly = [one for one in report if one.sign.virtual]
    of_launches, of_dtype = (next(one for one in costly if one.slug == slug) for slug in LARGEST)
    assert costly[0] is of_launches and min(of_launches.share, of_dtype.share) > 0.3


def test_the_bounds_of_advice_are_not_below_what_the_ledger_shows(lesson: Run, mended: Try) -> None:
    """Each habit of time, put back alone, costs at most what the advice on the whole script says."""
    with tips.advise() as report:
        lesson.names["train_as_given"](*on_disk())
    bounds = {one.slug: one.sign.seconds for one in report if one.sign.virtual}
    for slug in (*LARGEST, "scalar-indexing"):
        (one,) = ledger_of(script(slug)).tries
        assert bounds[slug] > 0.8 * (one.seconds - mended.seconds), slug


def test_advice_finds_nothing_much_in_the_mended_script() -> None:
    with tips.advise() as report:
        script()(*on_disk())
    assert {one.slug for one in report} <= {"find-num-workers"}, "each of its two passes is over before it is hidden"


@pytest.mark.parametrize("habit", HABITS)
def test_no_habit_changes_the_numbers(habit: str, mended: Try) -> None:
    """And each alone is in the budget, or exceeds it in the column where it should."""
    (one,) = ledger_of(script(habit)).tries
    assert same(one, mended)
    fast, _, small = Ledger().within(one)  # waiting is measured, and depends on what else runs
    assert fast is (habit not in ("vectorise", "vectorise-loss", "scalar-indexing", "allocate-on-device",
                                  "spurious-promotion", "zero-grad-to-none"))  # fmt: skip
    assert small is (habit not in ("spurious-promotion", "no-grad"))


def test_the_numbers_of_a_correct_program(mended: Try) -> None:
    """They are those of a plain loop on the CPU. With the errors, the loss begins at 2.29 and hardly falls."""
    losses, accuracies = learned()
    np.testing.assert_allclose(mended.losses, losses, rtol=1e-4)
    np.testing.assert_allclose(mended.accuracies, accuracies)
    assert learned(softmax=True)[0][0] == pytest.approx(2.29, abs=0.005)
    assert F.cross_entropy(tg.zeros(1, 10), tg.zeros(1).long()).item() == pytest.approx(2.30, abs=0.005)
    sure = tg.zeros(1, 10)
    sure[0, 3] = 1.0
    assert sure.softmax(1)[0, 3].item() == pytest.approx(0.23, abs=0.005), "1 and nine zeros, as probabilities"


WRONG = {
    ("softmax",): "hardly falls", ("by_batch",): "the mean over its 300 images", ("dropping",): "the answers equal?",
    ERRORS: "hardly falls", ("by_batch", "dropping"): "the mean over its 300 images",
    ("vectorise",): "7.00 ms are allowed", ("loader-workers", "avoid-transfers"): "1.20 s are allowed",
}  # fmt: skip


def lines(*last: Try) -> Ledger:
    """A ledger that begins with a slow version, and five that differ."""
    ledger = Ledger()
    slow = [Try(f"line {n}", 0.5 - 0.05 * n, (2.5,), 1_000_000, (2.3, 2.2, 2.1), (0.4, 0.5, 0.58), 24000, 1200)
            for n in range(CHANGES)]  # fmt: skip
    ledger.tries = [*slow, *last]
    return ledger


@pytest.mark.parametrize("left", WRONG, ids=" ".join)
def test_a_version_that_is_not_there_yet_gets_its_hint(left: tuple[str, ...]) -> None:
    verdict = check("capstone", lines(*ledger_of(script(*left)).tries))
    assert verdict.state == "wrong" and WRONG[left] in verdict.words


def test_a_version_needs_the_lines_that_defend_it(mended: Try) -> None:
    assert check("capstone", lines(mended)).right
    ledger = Ledger()
    ledger.tries = [mended] * 7
    assert "let the script as given stand in the first line" in check("capstone", ledger).words
    ledger.tries = [lines().tries[0], *[mended] * 7]
    assert "1 change can be told apart in the ledger" in check("capstone", ledger).words
    ledger.tries = [*lines().tries[:3], mended]
    assert "3 changes can be told apart" in check("capstone", ledger).words


def test_which_lines_differ(mended: Try) -> None:
    ledger = Ledger()
    others = (
        replace(mended, seconds=1.02 * mended.seconds), replace(mended, nbytes=int(0.98 * mended.nbytes)),
        replace(mended, waits=(mended.waited + 0.2,)), replace(mended, accuracies=(0.1, 0.2, 0.5)),
        replace(mended, losses=(1.0,)),
    )  # fmt: skip
    for other in others:
        ledger.tries = [mended, other]
        assert ledger.changes == 1
    ledger.tries = [mended, replace(mended, change="other", waits=(mended.waited + 0.05,))]
    assert ledger.changes == 0
    ledger.tries = [mended, others[0], mended, others[0], others[1]]
    assert ledger.changes == 2, "what has been there is no change"


def test_numbers_of_no_known_program_and_a_model_that_is_another(mended: Try) -> None:
    fake = replace(mended, losses=(1.0, 0.5, 0.2))
    assert "1.0000, 0.5000, 0.2000, are those of no program known here" in check("capstone", lines(fake)).words
    wrong = {
        "the model that it returns is right for": {"model": tg.nn.Linear(64, 10)},
        "it starts next to no kernels": {"launches": 0}, "it has read 300 images": {"read": 300},
        "Are they of all 100 new images": {"accuracies": (*mended.accuracies[:2], 0.96)},
    }  # fmt: skip
    for told, changed in wrong.items():
        assert told in check("capstone", lines(replace(mended, **changed))).words  # type: ignore[arg-type]
    rates = tuple(1.005 * loss for loss in mended.losses)
    assert "are those of no program known" in check("capstone", lines(replace(mended, losses=rates))).words


def test_a_model_that_stays_in_evaluation() -> None:
    losses, accuracies = learned(never=True)
    assert losses[0] == learned()[0][0] and losses[1:] != learned()[0][1:]
    for more in ({}, {"by_batch": True}, {"softmax": True}):
        losses, accuracies = learned(never=True, **more)
        fake = Try("x", 0.005, (0.1,), 1000, tuple(losses), tuple(accuracies), 1000, 400)
        assert "it learns without dropout" in check("capstone", lines(fake)).words


# The ledger ---------------------------------------------------------------------------------------------------------


def test_a_ledger_shows_the_budget_and_what_each_change_did(mended: Try) -> None:
    ledger = Ledger()
    slow = Try("as given", 0.5, (2.5,), 1_000_000, (2.3, 2.2, 2.1), (0.4, 0.5, 0.58), 24000)
    faster = replace(slow, change="one <call>", seconds=0.05, waits=(0.5, 0.4, 0.3), nbytes=800_000, expected=0.03)
    ledger.tries = [slow, faster, mended]
    head, budget, first, second, last, about = (re.split(r"  +", line) for line in repr(ledger).splitlines())
    assert about[0].startswith("waiting: medians of 3 runs (least–most), slow versions run once; ")
    assert head == ["change", "accelerator (simulated)", "waiting for data (measured)", "memory at its peak (counted)",
                    "loss (computed)", "right (counted)", "numbers"]  # fmt: skip
    assert budget == ["budget", "7.00 ms", "1.20 s", "600 kB"]
    assert first == ["as given", "500 ms", "2.50 s (1 run)", "1.00 MB", "2.1000", "58%"]
    assert second == ["one <call>", "50.0 ms (expected 30.0 ms)", "400 ms (300 ms–500 ms) ✓", "800 kB", "2.1000", "58%",
                      "as before"]  # fmt: skip
    assert last[-2:] == ["93%", "other"]
    assert "one &lt;call&gt;" in ledger._repr_html_() and ledger._repr_html_().count("<tr>") == 5


def test_the_same_change_is_measured_anew_and_a_quick_one_three_times(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledgers, "QUICK", 60.0)
    ledger = ledger_of(script())
    ledger.add("version 0", script())
    assert [one.change for one in ledger.tries] == ["version 0"] and len(ledger.tries[0].waits) == 3, "it is quick"
    assert same(ledger.tries[0], ledger_of(script()).tries[0])


@pytest.mark.parametrize(
    ("change", "train", "told"),
    [
        ("", script(), "say what you changed"),
        (..., script(), "say what you changed"),
        ("x", lambda images, new: None, "return model, losses, accuracies"),
        ("x", lambda images, new: (len, [1.0], [0.5]), "there are 1 losses and 1 accuracies for 3 epochs"),
    ],
)
def test_what_is_no_version_is_refused(change: Any, train: Any, told: str) -> None:
    ledger = Ledger()
    with pytest.raises(ArgumentError, match=re.escape(told)):
        ledger.add(change, train)
    assert not ledger.tries


def test_an_expectation_is_a_number_and_old_numbers_are_named(mended: Try) -> None:
    ledger = Ledger()
    with pytest.raises(ArgumentError, match="an expectation of '7 ms'"):
        ledger.add("x", script(), "7 ms")  # type: ignore[arg-type]
    assert not ledger.tries
    other = replace(mended, losses=tuple(2 * loss for loss in mended.losses))
    ledger.tries = [mended, other, mended]
    assert [row[-1] for row in ledger.rows()] == ["", "", "other", "as in line 1"]


def test_reading_without_a_loader_counts_as_waiting() -> None:
    def by_hand(images: Any, new_images: Any) -> Any:
        for i in range(50):
            images[i]
        return script()(images, new_images)

    (plain, other) = ledger_of(script(), by_hand).tries
    assert other.waited - plain.waited > 0.06


def test_the_machine_in_use_stays_as_it_was() -> None:
    before = tg.sim.machine()
    tg.sim.use("A100")
    try:
        on_a100, (one,) = tg.sim.machine(), ledger_of(script()).tries
        assert tg.sim.machine() == on_a100
        with pytest.raises(ZeroDivisionError):
            ledger_of(lambda images, new_images: 1 / 0)
        assert tg.sim.machine() == on_a100
    finally:
        tg.sim.use(before)
    assert one.seconds == ledger_of(script()).tries[0].seconds, "whatever machine is in use, it runs on a T4"


def test_the_notebook_runs_with_every_guess_filled_in() -> None:
    names: dict[str, object] = {"__name__": LESSON}
    for source in sources(LESSON, "code")[:-1]:  # the last one runs all of it again, for those without a kernel
        exec(compile(source.replace("guess = ...", "guess = 3"), LESSON, "exec"), names)
    assert len(names["report"]) >= len(HABITS)  # type: ignore[arg-type]


def test_nothing_above_a_gate_tells_its_result() -> None:
    text = "\n".join(sources(LESSON, "markdown")).split("## The same elsewhere")[0].split("## 6 · Exit quiz")[0]
    for told in ("nine tenths", "about as long", "10 times as long", "a copy of the generator", "1.46", "about 800"):
        assert told not in text
