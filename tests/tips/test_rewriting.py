"""Running a program without a habit: it is gone meanwhile, and all is as before afterwards."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

import tinygrad_edu as tg
from tests.tips import habits
from tinygrad_edu import nn, optim, tips
from tinygrad_edu.backends.sim.device import SimBackend
from tinygrad_edu.data import Chores, DataLoader
from tinygrad_edu.errors import ArgumentError
from tinygrad_edu.tips.advice import Report
from tinygrad_edu.tips.rewriting import Saving, forced, loading, savings

CAN = {tip.slug for tip in tips.all_tips() if tip.without is not None}
PROGRAMS = {name: program for name, (program, slugs) in habits.SLOW.items() if slugs & CAN and len(slugs) == 1}
FASTER = {"loader-workers": 1.5, "find-num-workers": 2, "persistent-workers": 1.2, "empty-cache": 1.1}


def measured(program: habits.Program, turns: int = 1) -> Report:
    tg.sim.restart()
    with tips.advise() as report:
        program()
    return report.measure(program, turns)


def test_seven_tips_can_be_left_out() -> None:
    planted = set().union(*(habits.SLOW[name][1] for name in PROGRAMS))
    assert len(CAN) == 7 and planted == CAN and set(FASTER) < CAN


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_habit_is_left_out(name: str) -> None:
    (one,) = measured(PROGRAMS[name])
    assert one.again is not None and one.again.virtual is one.sign.virtual
    assert one.again.before > 0 and one.again.after > 0
    assert one.again.ratios[0] > FASTER.get(one.slug, 0.0)
    if one.again.virtual:
        assert one.again.before > one.again.after, "virtual time is the same in each run"


def test_the_habit_is_gone_meanwhile() -> None:
    """Gradients of zeros are not there, the cache is not emptied, and loaders have what the tip says."""
    seen: list[Any] = []

    def program() -> None:
        p = tg.ones(2, requires_grad=True)
        p.sum().backward()
        optim.SGD([p], lr=0.1).zero_grad(False)
        layer = nn.Linear(2, 1)
        layer(tg.ones(1, 2)).sum().backward()
        layer.zero_grad(set_to_none=False)
        seen.append((p.grad is None, layer.weight.grad is None))

    program()
    with tips.find("zero-grad-to-none").without() as _:  # type: ignore[misc]
        program()
    assert seen == [(False, False), (True, True)]

    loader = DataLoader(Chores(8, "waits", 0), 2)
    with tips.find("loader-workers").without():  # type: ignore[misc]
        assert len(list(loader)) == 4
    assert loader.timeline is not None and (loader.timeline.workers, loader.timeline.kind) == (4, "thread")
    assert (loader.num_workers, loader.worker, loader.prefetch_factor) == (0, "process", None)
    list(loader)
    assert loader.timeline.workers == 0

    x = tg.ones(1000, 1000, device="sim")
    del x
    reserved = tg.accelerator.memory_reserved()
    with tips.find("empty-cache").without():  # type: ignore[misc]
        tg.accelerator.empty_cache()
        assert tg.accelerator.memory_reserved() == reserved
    tg.accelerator.empty_cache()
    assert tg.accelerator.memory_reserved() < reserved


def test_all_is_as_before_after_an_error() -> None:
    before = DataLoader.__iter__, optim.Optimizer.zero_grad, nn.Module.zero_grad, SimBackend.empty_cache
    for slug in CAN:
        with pytest.raises(ZeroDivisionError), tips.find(slug).without():  # type: ignore[misc]
            1 / 0  # noqa: B018
    assert (DataLoader.__iter__, optim.Optimizer.zero_grad, nn.Module.zero_grad, SimBackend.empty_cache) == before


def test_loaders_that_are_meant_and_others() -> None:
    with loading(lambda loader: loader.batch_size == 2, pin_memory=True):
        loaders = [DataLoader(Chores(4, "waits", 0), size) for size in (1, 2)]
        assert [len(list(loader)) for loader in loaders] == [4, 2]
    assert [loader.pin_memory for loader in loaders] == [False, False]


def test_forced_arguments_by_place_and_by_name() -> None:
    class Made:
        def told(self, a: int, b: int = 2) -> tuple[int, int]:
            """Two numbers."""
            return a, b

    with forced((Made, "told"), b=7):
        assert Made().told(1) == Made().told(1, 3) == Made().told(a=1, b=3) == (1, 7)
        assert Made.told.__doc__ == "Two numbers."
    assert Made().told(1, 3) == (1, 3)


def test_a_program_runs_in_turns() -> None:
    """Once to warm up, then as written and without, in turns."""
    log: list[str] = []

    def block() -> Any:
        return forced((Told, "told"), word="without")

    (found,) = savings(lambda: log.append(Told().told("as written")), [(block, False)], turns=2)
    assert log == ["as written", "as written", "without", "as written", "without"]
    assert len(found.ratios) == 2 and not found.virtual


class Told:
    def told(self, word: str) -> str:
        time.sleep(0.001)
        return word


def test_what_is_told() -> None:
    saving = Saving(1.2, 0.4, (2.9, 3.0, 3.2), virtual=False)
    assert saving.words == "1.20 s as written, 400 ms without (measured, 3 turns): 3.0× (2.9–3.2)"
    assert (
        Saving(0.002, 0.001, (2.0,), virtual=True).words
        == "2.00 ms as written, 1.00 ms without (simulated): 2.0× (2.0–2.0)"
    )
    assert Saving(0.002, 0.0, (9.0,), virtual=True).words.endswith("(simulated): all of it")
    report = measured(habits.loader_workers)
    assert f"   run again: {report[0].again.words}\n" in report.text()  # type: ignore[union-attr]
    assert f"<br>run again: {report[0].again.words} |" in report._repr_markdown_()  # type: ignore[union-attr]
    told = json.loads(report.json())["advice"][0]["again"]
    assert told["virtual"] is False and told["before"] > told["after"]


def test_tips_that_cannot_keep_their_estimate() -> None:
    report = measured(habits.vectorise)
    assert [one.again for one in report] == [None] and "run again" not in report.text()


@pytest.mark.parametrize(("program", "turns"), [(3, 1), (habits.vectorise, 0), (habits.vectorise, 1.5)])
def test_what_cannot_be_run_is_refused(program: Any, turns: Any) -> None:
    with pytest.raises(ArgumentError, match=r"hand in the function itself"):
        Report().measure(program, turns)
