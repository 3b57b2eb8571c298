"""TimingRace: nothing is measured before the prediction, and a stop keeps what there is."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tinygrad_edu_widgets import TimingRace
from tinygrad_edu_widgets.race_magic import race, read_blocks, read_line

import tinygrad_edu as tg
from tests.observe.clock import MILLISECOND, Clock
from tests.support import run_python, teaches
from tests.widgets.pages import check
from tinygrad_edu.errors import ArgumentError
from tinygrad_edu.observe import timing
from tinygrad_edu.settings import modes, no_grad
from tinygrad_edu.views.race import words


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(timing, "_clock", clock)
    return clock


@pytest.fixture
def made(clock: Clock) -> Iterator[Callable[..., TimingRace]]:
    """Makes races whose first function takes a millisecond per number, and the second eight whatever comes."""
    all_made: list[TimingRace] = []

    def loop(n: int = 32) -> None:
        clock.calls.append("loop")
        clock.now += n * MILLISECOND

    def call(*_: Any) -> None:
        clock.calls.append("call")
        clock.now += 8 * MILLISECOND

    def make(**given: Any) -> TimingRace:
        all_made.append(TimingRace(loop, call, **{"sizes": (2, 8, 32), **given}))
        return all_made[-1]

    yield make
    for one in all_made:
        one.abandon()


def act(race: TimingRace, name: str, value: Any = None) -> None:
    race.act(name, value)
    race.wait()


def test_nothing_runs_before_the_prediction(made: Callable[..., TimingRace], clock: Clock) -> None:
    race = made()
    for name, value in (("draft", "10"), ("n", 1), ("warmup", "no warm-up"), ("run", None)):
        act(race, name, value)
    assert clock.calls == []
    assert race.data()["result"] is None
    assert "Nothing is measured before you commit" in race.html
    assert not race.committed


def test_committing_measures_and_shows_both(made: Callable[..., TimingRace], clock: Clock) -> None:
    race = made()
    race.predict(10)
    assert race.committed
    assert "4.0× B is faster at n = 32." in race.text()
    assert "You predicted 10× at n = 32. At n = 2 A is faster, 4.0×." in race.text()
    assert "A loop: 31.2 ms (31.2–31.2)" in race.text()
    assert "the lines cross near n = 8" in race.text()
    data = race.data()
    assert json.loads(json.dumps(data))["result"]["sizes"] == [2, 8, 32]
    assert (data["said"], data["draft"]) == (10.0, 10.0)
    check(race.html, live=True)
    assert check(race.to_html().removeprefix("<!doctype html>"), live=False).active() == []


def test_a_commit_without_a_number_does_nothing(made: Callable[..., TimingRace], clock: Clock) -> None:
    race = made()
    act(race, "commit")
    assert (race.committed, clock.calls) == (False, [])


def test_what_is_no_prediction_is_refused(made: Callable[..., TimingRace]) -> None:
    race = made()
    race.act("draft", "many")
    assert race._framed().text.endswith("▲ the prediction 'many': it is not a number. Type digits, such as 2.5.")
    race.act("draft", "3")
    assert "▲" not in race.text()


def test_sizes_are_chosen_without_measuring_again(made: Callable[..., TimingRace], clock: Clock) -> None:
    race = made(n=8)
    race.predict(1)
    before = len(clock.calls)
    assert "No difference in time at n = 8." in race.text()
    act(race, "n", 0)
    assert "A is faster at n = 2." in race.text()
    act(race, "n", 2)
    assert "B is faster at n = 32." in race.text()
    assert len(clock.calls) == before
    act(race, "n", 7)
    assert race._framed().text.endswith("▲ size 7: there are 3 sizes. Count from 0.")


def test_warm_up_off_races_again_and_counts_the_first_call(clock: Clock) -> None:
    cold = iter([8.0] + [1.0] * 500)
    race = TimingRace(clock.takes(1.0), clock.takes(cold), names=("even", "cold first"), budget=100)
    race.act("warmup", "no warm-up")
    race.predict(1)
    timings = race.data()["result"]["comparisons"][0]
    assert timings["fast"]["warmups"] == []
    assert timings["fast"]["times"][0] == 8.0
    act(race, "warmup", "up to 3 warm-ups")
    timings = race.data()["result"]["comparisons"][0]
    assert timings["fast"]["warmups"] == [1.0] * 3
    act(race, "warmup", "seldom")
    assert race._framed().text.endswith("there is no such choice. Take up to 3 warm-ups or no warm-up.")


def test_ask_again_hides_the_result(made: Callable[..., TimingRace]) -> None:
    race = made()
    race.predict(10)
    act(race, "reset")
    assert (race.committed, race.data()["result"], race.data()["draft"]) == (False, None, None)
    assert "31.2 ms" not in race.html
    race.predict(2)
    assert "You predicted 2×" in race.text()


def test_a_prediction_that_comes_late_changes_nothing(made: Callable[..., TimingRace]) -> None:
    race = made()
    race.predict(10)
    act(race, "draft", 3)
    act(race, "commit")
    assert "You predicted 10×" in race.text()


class Gate:
    """A function that waits at its n-th call until it is let through."""

    def __init__(self, clock: Clock, at: int) -> None:
        self.clock, self.at, self.calls = clock, at, 0
        self.arrived, self.open = threading.Event(), threading.Event()

    def __call__(self, *_: Any) -> None:
        self.calls += 1
        self.clock.now += 1.0
        if self.calls == self.at:
            self.arrived.set()
            assert self.open.wait(60)


def test_stop_keeps_what_was_measured(clock: Clock) -> None:
    gate = Gate(clock, 3 + 4)
    race = TimingRace(gate, clock.takes(1.0), names=("a", "b"), budget=1000)
    race.act("draft", 1)
    race.act("commit")
    assert gate.arrived.wait(60)
    assert race.working
    assert "The two take turns now." in race.text()
    race.act("run")  # one at a time
    race.act("halt")
    gate.open.set()
    race.wait()
    assert len(race.data()["result"]["comparisons"][0]["ratios"]) == 4
    assert "Stopped before all pairs were done." in race.text()


def test_a_stop_before_the_first_pair_is_said(clock: Clock) -> None:
    gate = Gate(clock, 1)
    race = TimingRace(gate, clock.takes(1.0), names=("a", "b"))
    race.act("draft", 1)
    race.act("commit")
    assert gate.arrived.wait(60)
    race.act("halt")
    gate.open.set()
    race.wait()
    assert race.data()["result"] is None
    assert "it was stopped before the first repeat was done" in race.text()
    act(race, "run")
    assert race.data()["result"] is not None
    assert "▲" not in race.text()


def test_the_old_result_stays_while_the_next_is_measured(clock: Clock) -> None:
    gate = Gate(clock, 10**6)
    race = TimingRace(gate, clock.takes(1.0), names=("a", "b"))
    race.predict(1)
    before = race.text()
    gate.at = gate.calls + 1
    race.act("run")
    assert gate.arrived.wait(60)
    assert race.text() == before
    gate.open.set()
    race.wait()


def test_asking_again_forgets_a_race_under_way(clock: Clock) -> None:
    gate = Gate(clock, 3)
    race = TimingRace(gate, clock.takes(1.0), names=("a", "b"))
    race.act("draft", 1)
    race.act("commit")
    thread = race._work
    assert thread is not None and gate.arrived.wait(60)
    race.act("reset")
    gate.open.set()
    thread.join()
    assert race.data()["result"] is None
    assert not race.working


def test_an_error_in_a_function_is_explained_and_can_be_mended(clock: Clock) -> None:
    broken = [True]

    def sometimes() -> None:
        clock.now += 1.0
        if broken:
            raise ValueError("not yet")

    race = TimingRace(sometimes, clock.takes(1.0), names=("a", "b"))
    race.predict(2)
    assert (
        "▲ timing a, in warm-up 1: it raised ValueError: not yet. Call a by itself first, with the same arguments. "
        "(test_timing_race.py, line "
    ) in race.text()
    assert 'raise ValueError("not yet")' in race.text()
    assert race.committed
    broken.clear()
    act(race, "run")
    assert "No difference in time." in race.text()


def test_after_a_race_that_failed_the_two_no_longer_take_turns(clock: Clock) -> None:
    race = TimingRace(clock.takes(1.0), lambda: 1 / 0, names=("a", "b"))
    race.predict(2)
    assert "timing b, in warm-up 1: it raised ZeroDivisionError: division by zero." in race.text()
    act(race, "n", 0)  # the error goes, and still nothing takes turns
    for shown in (race.text(), race.html, race.svg()):
        assert "The race ended without a result." in shown
        assert "take turns now" not in shown


# Do both do the same? --------------------------------------------------------------------------------------------


def test_two_that_give_different_results_are_not_called_equal() -> None:
    race = TimingRace(lambda n: 1, lambda n: 2, sizes=(3, 5), budget=0.01)
    race.predict(1)
    lines = race.text().splitlines()
    assert lines[4] == "▲ The results differ at n = 5: A gives 1, B gives 2."
    shown = race.state.shown
    assert shown is not None and lines[5].endswith(words.grounds(shown))
    assert race.text().count(", results differ") == 2
    for drawn in (race.html, race.svg()):
        assert "▲ The results differ at n = 5" in drawn and "A gives 1, B gives 2." in drawn
    assert repr(race).endswith(": the results differ; measured; the times are in the picture.")
    check(race.html, live=True)
    assert json.loads(json.dumps(race.data()))["agreements"][0] == {"same": False, "how": "A gives 1, B gives 2"}


def test_a_difference_at_another_size_is_told() -> None:
    race = TimingRace(lambda n: n, lambda n: min(n, 4), sizes=(3, 5), n=3, budget=0.01)
    race.predict(1)
    assert "Both give the same result. The results differ at n = 5: A gives 5, B gives 4." in race.text()
    act(race, "n", 1)
    assert "▲ The results differ at n = 5" in race.text()
    assert "Both give the same result." not in race.text()


def test_results_are_compared_with_equal_inputs_and_random_numbers() -> None:
    tg.manual_seed(3)
    expected = tg.rand(2).tolist()
    tg.manual_seed(3)
    race = TimingRace(
        lambda x: (x + tg.rand(4)).sum(), lambda x: x.sum() + tg.rand(4).sum(), sizes=(4,), make=tg.rand, budget=0.01
    )
    race.predict(1)
    assert "Both give the same result." in race.text()
    assert tg.rand(2).tolist() == expected, "the learner's stream is another thread's"


def test_without_warm_up_the_first_call_is_the_one_that_is_timed() -> None:
    seen: list[str] = []
    race = TimingRace(lambda: seen.append("a"), lambda: seen.append("b"), budget=0.01)
    race.act("warmup", "no warm-up")
    race.predict(1)
    timed = race.data()["result"]["comparisons"][0]
    assert len(seen) > 2 and seen[0] == "a"
    assert timed["slow"]["warmups"] == []


def test_functions_run_under_the_modes_in_which_the_race_was_made(clock: Clock) -> None:
    seen: set[bool] = set()

    def look() -> None:
        clock.now += 1.0
        seen.add(modes().grad)

    with no_grad():
        race = TimingRace(look, clock.takes(1.0), budget=0.01)
    race.predict(1)
    assert seen == {False}


def test_a_saved_notebook_reads_the_same_everywhere(made: Callable[..., TimingRace]) -> None:
    race = made()
    assert repr(race) == "TimingRace: A loop beside B call at n = 2, 8, 32: nothing measured yet."
    race.predict(2)
    assert repr(race) == "TimingRace: A loop beside B call at n = 2, 8, 32: measured; the times are in the picture."
    bundle, _ = race._repr_mimebundle_()
    assert bundle["text/plain"] == repr(race)
    assert bundle["image/svg+xml"] == race.svg()


def test_names() -> None:
    assert TimingRace(len, sum).state.names == ("len", "sum")
    assert TimingRace(len, lambda: 1).state.names == ("first", "second")
    assert TimingRace(len, len).state.names == ("first", "second")
    assert TimingRace(len, sum, names=["a", "b"]).state.names == ("a", "b")


def test_sizes_are_the_argument_where_nothing_makes_one(clock: Clock) -> None:
    seen: list[Any] = []

    def look(*given: Any) -> None:
        clock.now += 1.0
        seen.append(given)

    TimingRace(look, clock.takes(1.0), sizes=(3, 5), budget=0.1).predict(1)
    assert set(seen) == {(3,), (5,)}
    seen.clear()
    TimingRace(look, clock.takes(1.0), sizes=(3,), make=lambda n: (n, "x"), fresh=True).predict(1)
    assert set(seen) == {(3, "x")}


@pytest.mark.parametrize(
    ("given", "tried", "why", "mend"),
    [
        ({"fast": 3}, "timing with fast=3", "it cannot be called", "give a function, such as a lambda"),
        ({"make": 3}, "timing with make=3", "it cannot be called", "give a function, such as a lambda"),
        ({"sizes": (3, 2)}, "timing with sizes=(3, 2)", "sizes must ascend, each of them once", "write (2, 3)"),
        ({"sizes": (3,), "n": 4}, "TimingRace(n=4)", "the sizes are (3,)", "take one of them"),
        ({"names": "ab"}, "timing with names='ab'", "there are two functions to name",
         'give two, such as ("loop", "dot")'),
        ({"budget": 0}, "timing with budget=0", "it is seconds to spend", "give a number above 0"),
    ],
)  # fmt: skip
def test_arguments_that_cannot_be(given: dict[str, Any], tried: str, why: str, mend: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        TimingRace(**{"slow": len, "fast": len, **given})
    assert (caught.value.tried, caught.value.why, caught.value.mend) == (tried, why, mend)


# %%race ----------------------------------------------------------------------------------------------------------

FUNCTIONS = """
def make(n):
    return list(range(n)),

def loop(xs):
    total = 0
    for x in xs:
        total += x
    return total

def builtin(xs):
    return sum(xs)
"""
BLOCKS = """xs = list(range(n))
# ---
# loop
total = 0
for x in xs:
    total += x
# ---
# sum
sum(xs)
"""


def test_a_cell_of_two_functions() -> None:
    space: dict[str, Any] = {}
    found = race("n=10, 100", FUNCTIONS, space)
    assert (found.state.names, found.state.sizes) == (("loop", "builtin"), (10, 100))
    assert space["loop"]([1, 2]) == 3, "they stay defined"
    found._budget = 0.01
    found.predict(2)
    assert [len(one["ratios"]) >= 3 for one in found.data()["result"]["comparisons"]] == [True, True]


def test_a_cell_of_blocks() -> None:
    space: dict[str, Any] = {"seen": set()}
    found = race("n=10,100", BLOCKS + "seen.add((n, len(xs)))", space)
    assert found.state.names == ("loop", "sum")
    found._budget = 0.01
    found.predict(2)
    assert space == {"seen": {(10, 10), (100, 100)}}, "blocks leave nothing behind"


def test_two_blocks_without_sizes() -> None:
    found = race("", "a = [1] * 3\n# ---\nb = 3 * [1]", {})
    assert (found.state.names, found.state.sizes) == (("first", "second"), ())
    found._budget = 0.01
    found.predict(1)
    shown = found.state.shown
    assert shown is not None and words.grounds(shown) in found.text()


def test_an_empty_block_is_a_block() -> None:
    found = race("", "# ---\nsum([1])", {})
    found._budget = 0.01
    found.predict(1)
    assert found.data()["result"] is not None


def test_errors_in_a_block_name_the_line_of_the_cell() -> None:
    found = race("", "sum([1])\n# ---\n\nmissing + 1", {})
    found.predict(1)
    assert "timing second, in warm-up 1: it raised NameError: name 'missing' is not defined" in found.text()
    assert "(this cell, line 5)" in found.text()


def test_where_blocks_begin() -> None:
    assert [(b.name, b.start) for b in read_blocks("a\nb\n# ---\nc\n#---- d\n# e\ne")] == [
        ("", 1),
        ("first", 3),
        ("e", 5),
    ]


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("", ((), False)),
        ("n=1", ((1,), False)),
        (" n = 1, 2 ,3", ((1, 2, 3), False)),
        ("fresh n=1_000", ((1000,), True)),
    ],
)
def test_first_lines(line: str, found: tuple[tuple[int, ...], bool]) -> None:
    assert read_line(line) == found


@pytest.mark.parametrize(
    ("line", "cell", "tried", "why", "mend"),
    [
        ("n=1,x", "", "%%race n=1,x", "sizes are whole numbers separated by commas", "write n=10,100,1000"),
        ("m=3", "", "%%race m=3", "there are n=… and fresh, each at most once", "write %%race n=10,100,1000"),
        ("", "x = 1", "%%race", "it races two functions, and this cell defines 0 (none)",
         "define two, or separate two blocks of code with a line # ---"),
        ("", "def f(): ...", "%%race", "it races two functions, and this cell defines 1 (f)",
         "define two, or separate two blocks of code with a line # ---"),
        ("", "def f(x): ...\ndef g(): ...", "%%race", "f takes arguments, but there are no sizes to make them from",
         "write %%race n=10,100,1000"),
        ("", "\n# ---\n# ---\n# ---\n", "%%race", "3 lines # --- split it into 4 blocks",
         "use one such line between A and B, and one before A if both need a setup"),
    ],
)  # fmt: skip
def test_cells_that_cannot_be_raced(line: str, cell: str, tried: str, why: str, mend: str) -> None:
    with teaches(ArgumentError, tried, why, mend):
        race(line, cell, {})


SHELL = """
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance(colors="nocolor")
shell.history_manager.enabled = False
shell.run_cell("%load_ext tinygrad_edu_widgets")
shell.run_cell("%%race n=10\\ndef f(n): ...\\ndef g(n): ...")
shell.run_cell("print(f.__name__)")
shell.run_cell("%%race n=x\\n1")
shell.run_cell("%%race\\n1\\n# ---\\nx = (")
"""


def test_the_magic_in_a_shell() -> None:
    pytest.importorskip("IPython")
    done = run_python(SHELL, "-W", "ignore")
    assert done.returncode == 0, done.stderr
    assert "TimingRace: A f beside B g at n = 10: nothing measured yet.\nf\n" in done.stdout
    assert "UsageError: %%race n=x: sizes are whole numbers separated by commas. Write n=10,100,1000." in done.stderr
    assert "UsageError: line 4 of the cell cannot be read: '(' was never closed." in done.stderr
