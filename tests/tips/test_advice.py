"""Which tips apply to a program: each planted habit is found, and nothing is found where there is none."""

from __future__ import annotations

import json
import threading
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tests.tips import habits, strangers
from tinygrad_edu import tips
from tinygrad_edu.data import Chores, DataLoader
from tinygrad_edu.observe.witness import Witness
from tinygrad_edu.settings import scoped
from tinygrad_edu.tips.advice import Report
from tinygrad_edu.tips.counting import accelerator_of, named_arguments, place
from tinygrad_edu.tips.ways import begin, prepares

pytestmark = pytest.mark.filterwarnings(
    "ignore::tinygrad_edu.nn.UnregisteredWarning", "ignore:invalid value encountered:RuntimeWarning",
    "ignore:divide by zero encountered:RuntimeWarning",
    "ignore:Anomaly Detection has been enabled",
)  # fmt: skip


def advised(program: habits.Program, error: type[BaseException] | None = None) -> Report:
    tg.sim.restart()
    try:
        with tips.advise() as report:
            program()
    except Exception as problem:
        if error is None or not isinstance(problem, error):
            raise
    return report


@pytest.mark.parametrize("name", habits.SLOW)
def test_a_planted_habit_is_found(name: str) -> None:
    program, expected = habits.SLOW[name]
    report = advised(program, habits.RAISES.get(name))
    assert {one.slug for one in report} == expected
    for one in report:
        assert 0 <= one.share <= 1
        assert one.sign.told and one.cost
        tips.find(one.slug).setting(one.sign.setting)  # which the tip takes
        if one.slug not in ("registered-layers", "retracing"):  # which are habits of no single line
            assert one.line.startswith("habits.py, line "), one.line


# Habits that a program has on whatever device its tensors are.
ANYWHERE = (
    "a mean taken off row by row", "products of pieces", "a layer in three operations", "silu by hand",
    "attention by hand", "products, made and added up", "batch norm in inference", "NumPy's float64",
    "clones that are only read", "a transposed matrix read ten times", "a slice as a list of places",
    "gradients filled with zeros", "a rate as a Python number",
)  # fmt: skip


@pytest.mark.parametrize("name", ANYWHERE)
def test_a_planted_habit_is_found_on_a_device(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program, expected = habits.SLOW[name]
    monkeypatch.setattr(habits, "DEVICE", "sim")
    before = tg.get_default_device()
    tg.set_default_device("sim")
    try:
        assert expected <= {one.slug for one in advised(program)}
    finally:
        tg.set_default_device(before)


def test_the_line_that_adds_losses_up_is_told_and_not_one_within_a_step() -> None:
    def program() -> None:
        x, y = habits.digits_like(16)
        model = habits.network()
        optimizer, total = tg.optim.SGD(model.parameters(), lr=0.1), tg.tensor(0.0)
        for _ in range(8):
            loss = tg.tensor(0.0)
            for i in range(16):
                loss = loss + tg.nn.functional.cross_entropy(model(x[i : i + 1]), y[i : i + 1])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total = total + loss

    (one,) = (one for one in advised(program) if one.slug == "keep-the-number-not-the-graph")
    assert one.line.endswith("total = total + loss")


def test_what_float64_costs_on_a_device_is_all_that_came_of_it() -> None:
    def program() -> None:
        x, mean = tg.randn(512, 64), tg.tensor(np.zeros(64))
        w = tg.randn(64, 64).to("sim", tg.float64)
        x = (x - mean).to("sim")
        for _ in range(4):
            x = x @ w
        tg.sim.synchronize()

    (one,) = (one for one in advised(program) if one.slug == "spurious-promotion")
    assert one.sign.virtual and one.line.endswith('x = (x - mean).to("sim")') and one.share > 0.3


def test_all_passes_of_a_loop_count() -> None:
    def program() -> None:
        loader = DataLoader(Chores(16, "waits", 4), batch_size=4)
        for _ in range(3):
            for _ in loader:
                pass

    (one,) = advised(program)
    assert "for 12 batches" in one.sign.told and one.sign.seconds > 0.18


@pytest.mark.parametrize("name", habits.CLEAN)
def test_no_false_alarm(name: str) -> None:
    assert [(one.slug, one.line, one.sign.told) for one in advised(habits.CLEAN[name])] == []


@pytest.mark.parametrize("name", strangers.SLOW)
def test_habits_that_others_have_planted(name: str) -> None:
    """What they planted is found; tips that apply besides may be told, too."""
    program, expected = strangers.SLOW[name]
    found = {one.slug for one in advised(program)}
    assert expected <= found
    assert len(found - expected) <= 3


@pytest.mark.parametrize("name", strangers.CLEAN)
def test_no_false_alarm_in_programs_of_others(name: str) -> None:
    assert [(one.slug, one.line, one.sign.told) for one in advised(strangers.CLEAN[name])] == []


# Tips whose way A does not show its habit in one run.
HIDDEN = {
    "gradient-checkpointing": "there is room for all activations", "batch-size-search": "a small batch fits",
    "find-num-workers": "the loop does not wait", "efficient-attention": "it is one operation, told to make the matrix",
}  # fmt: skip
RECOGNISED = [tip for tip in tips.all_tips() if tip.applies is not None]


@pytest.mark.parametrize("tip", RECOGNISED, ids=lambda tip: tip.slug)
@pytest.mark.filterwarnings("ignore")
def test_a_tips_own_ways(tip: tips.Tip) -> None:
    """A shows its habit, and B does not."""
    setting = tip.setting({"learn": "yes"} if tip.slug == "keep-the-number-not-the-graph" else {})

    def ran(way: Any) -> set[str]:
        given = named_arguments(tip, setting)

        def program() -> None:
            with accelerator_of(setting), scoped(device=place(tip, setting)):
                if not prepares(way):
                    way(**given)
                    return
                step, end = begin(way, tuple(given.values()))
                step()
                end()

        return {one.slug for one in advised(program, Exception)}

    assert (tip.slug in ran(tip.slow)) == (tip.slug not in HIDDEN)
    assert tip.slug not in ran(tip.fast)


def test_many_tips_can_be_recognised() -> None:
    there = {tip.slug for tip in tips.all_tips() if tip.applies is not None}
    assert len(there) >= 35
    planted = {slug for _, slugs in habits.SLOW.values() for slug in slugs}
    assert planted == there
    programs = [slugs for _, slugs in (*habits.SLOW.values(), *strangers.SLOW.values())]
    assert all(sum(slug in slugs for slugs in programs) >= 2 for slug in there), "two programs or more for each"
    assert len(programs) >= 40 and len(habits.CLEAN) + len(strangers.CLEAN) >= 20


def test_the_report() -> None:
    report = advised(habits.vectorise)
    (one,) = report
    text = report.text()
    assert text.startswith(f"1 tip applies ({report.watched} operations watched in ")
    assert f"\n1. {one.title}\n   habits.py, line " in text
    assert "\n   linear ran 128 times in a step, each time for one row\n   cost: at most " in text
    assert text.endswith("\n   try:  tinygrad-edu tips run vectorise --size n=64")
    assert repr(report) == text
    found = json.loads(report.json())
    assert found["operations"] == report.watched
    assert found["advice"][0]["tip"] == "vectorise"
    assert found["advice"][0]["open"] == one.command
    assert advised(lambda: None).text() == "Nothing was watched: no operation ran in this thread."
    assert advised(lambda: tg.ones(3) + 1).text().startswith("No tip applies that shows in a run: 1 operation watched")


def test_the_most_costly_comes_first() -> None:
    def both() -> None:
        habits.fast_activation()
        for _ in range(20):
            habits.batched_matmul()

    report = advised(both)
    assert [one.slug for one in report] == ["batched-matmul", "fast-activation"]
    assert report[0].share >= report[1].share > 0


def test_an_error_passes_and_what_was_seen_is_told() -> None:
    with pytest.raises(ZeroDivisionError), tips.advise() as report:
        habits.vectorise()
        _ = 1 / 0
    assert [one.slug for one in report] == ["vectorise"]


def test_inside_itself_and_again() -> None:
    with tips.advise() as outer:
        with tips.advise() as inner:
            habits.fast_activation()
        assert not outer
    assert [one.slug for one in inner] == [one.slug for one in outer] == ["fast-activation"]


def test_other_threads_are_not_watched() -> None:
    with tips.advise() as report:
        thread = threading.Thread(target=habits.fast_activation)
        thread.start()
        thread.join()
    assert not report


def test_a_program_does_the_same_while_it_is_watched() -> None:
    def losses() -> list[float]:
        tg.manual_seed(0)
        model, (x, y) = habits.network(), habits.digits_like()
        optimizer = tg.optim.Adam(model.parameters())
        found = []
        for _ in range(5):
            loss = tg.nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            found.append(loss.item())
        return found

    alone = losses()
    with tips.advise():
        assert losses() == alone


def test_a_compiled_function_stays_compiled() -> None:
    fast = tg.compile(lambda x: (x * 2).sum(), fullgraph=True)
    with tips.advise() as report:
        for _ in range(3):
            fast(tg.ones(4))
    assert len(fast.ledger) == 1
    assert not report


class TestWitness:
    def test_places(self) -> None:
        with Witness() as seen:
            x = tg.ones(4, requires_grad=True)
            for _ in range(3):
                y = (x * 2).exp()
            y.sum().backward()
        found = {place.op: place for place in seen.places}
        assert (found["mul"].count, found["mul"].most, found["mul"].graph, found["mul"].walked) == (3, 3, 3, 1)
        assert found["exp"].came_from(0, "mul")
        assert found["sum"].tree == ("sum", ("exp", ("mul", (), ())))
        assert found["exp"].shape == (4,)
        assert found["exp"].nbytes == 48
        assert "y = (x * 2).exp()" in found["exp"].where

    def test_steps_and_roots(self) -> None:
        w = tg.ones(2, requires_grad=True)
        optimizer = tg.optim.SGD([w], lr=0.1)
        kept: list[Any] = []
        with Witness() as seen:
            for _ in range(3):
                loss = (w * w).sum()
                loss.backward()
                optimizer.step()
                kept.append(loss)
        assert (seen.steps, seen.roots, seen.parameters) == (3, 2, 1)

    def test_what_is_read(self) -> None:
        x = tg.ones(2)
        with Witness() as seen:
            for i in range(5):
                x[i % 2].item()
        assert sum(seen.reads.values()) in (5, 10)  # each once, or asked for and looked at

    def test_moved(self) -> None:
        x = tg.rand(1000)
        with Witness() as seen:
            for _ in range(3):
                x.to("sim")
            tg.zeros(100).to("sim")
        first, second = seen.moved.values()
        assert (first.count, first.nbytes, first.same, first.pageable) == (3, 12000, 2, 3)
        assert (second.count, second.created) == (1, 1)
