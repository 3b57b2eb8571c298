"""Lesson 4 keeps to its limits, and what its words and gates state is so."""

from __future__ import annotations

import contextlib
import re
from typing import Any

import nbformat
import numpy as np
import pytest

import tinygrad_edu as tg
from tests.notebooks.cells import NOTEBOOKS, Run, check_reasons, run_cells, sources, words
from tinygrad_edu.errors import InplaceError, MemoryGuardError
from tinygrad_edu.lessons.mutation import WRITTEN
from tinygrad_edu.views.guard import lens

NAME = "04_mutation_and_guards"
LESSON = nbformat.read(NOTEBOOKS / f"{NAME}.ipynb", as_version=4)
PROSE = "\n".join(sources(NAME, "markdown"))
SOURCE = "\n".join(sources(NAME))

ANSWERS = {
    "With the guard off, `fit`": "another factor, and no error",
    "Whose `t.grad` is wrong": "only that of (t * t).sum()",
    "`v = a[:]`": "allowed, and t.grad is wrong",
    "Where does this program stop?": "in line 4, at backward()",
    "After `model.eval()`": "without dropout, with a graph",
}


@pytest.fixture(scope="module")
def lesson() -> Run:
    return run_cells(NAME)


def programs() -> list[str]:
    """The programs of its lenses, in order."""
    return re.findall(r'"""\\\n(.*?)"""', SOURCE, flags=re.DOTALL)


def test_it_keeps_to_its_size(lesson: Run) -> None:
    assert words(NAME) <= 1500
    assert len(lesson.gates) + 1 == 6  # the race asks too
    assert SOURCE.count("check(") == 6


def test_every_choice_has_its_reason_and_one_has_the_cause(lesson: Run) -> None:
    for gate in lesson.gates:
        check_reasons(gate, ANSWERS)


def test_nothing_that_is_not_folded_says_what_a_gate_asks() -> None:
    shown = re.sub(r"<details>.*?</details>", "", PROSE, flags=re.DOTALL).split("## 5 · Exit quiz")[0]
    answers = "3.20", "wrong gradient", "silent", "version", "saves its", "a copy of", "past the lock", "still record"
    for told in answers:
        assert told not in shown.split("**Task 5.**")[0], told
    for cell in LESSON.cells:
        for output in cell.get("outputs", []):
            plain = str(output.get("data", {}).get("text/plain", "")) + output.get("text", "")
            if "task:decay" not in cell.metadata.get("tags", []):  # which says of itself that it stops
                assert not re.search("result:|past the lock|backward through", plain), plain


def test_pictures_that_answer_are_folded() -> None:
    folded = [cell for cell in LESSON.cells if cell.cell_type == "code" and "Behind(" in cell.source]
    assert len(folded) == 2
    for cell in folded:
        gate, below = cell.outputs
        assert "GuardLens" not in str(gate.data)
        assert below.data["text/html"].startswith("<details><summary>After your prediction")
        assert "GuardLens" in below.data["text/html"]


def test_it_stops_with_what_numpy_says(lesson: Run) -> None:
    fit, read_into, forces = (lesson.names[name] for name in ("as_given", "read_into", "FORCES"))
    with pytest.raises(ValueError, match="read-only"):
        fit(read_into, forces)
    told, _ = [output.text for cell in LESSON.cells for output in cell.get("outputs", []) if "text" in output]
    assert told == "ValueError: assignment destination is read-only\n"
    with pytest.raises(MemoryGuardError, match="mul saved it"), tg.guard.on():
        fit(read_into, forces)


def test_the_losses_and_both_factors(lesson: Run) -> None:
    names = lesson.names
    with tg.guard.off():
        found, losses = names["as_given"](names["read_into"], names["FORCES"])
    best = (names["VOLTS"] * names["FORCES"]).sum() / (names["VOLTS"] ** 2).sum()
    assert (f"{found:.2f}", f"{best:.2f}") == ("3.20", "2.00")
    assert [f"{loss:.2g}" for loss in losses[:2]] == ["38", "27"]
    assert [f"{loss:.2f}" for loss in losses[9:11]] == ["0.20", "0.24"] and min(losses) == losses[9]
    assert f"{losses[-1]:.2g}" == "14"
    copied = SOURCE[SOURCE.index("def fit(") : SOURCE.index("as_given = ")]
    copied = copied.replace("            loss = loss +", "            x = tg.tensor(buffer)\n            loss = loss +")
    scope = dict(names)
    exec(copied, scope)
    right, losses = scope["fit"](names["read_into"], names["FORCES"])
    assert right == pytest.approx(best, rel=1e-4)
    assert [f"{loss:.2g}" for loss in (*losses[:2], losses[-1])] == ["38", "0.35", "0.18"]
    assert abs(names["FORCES"] - best * names["VOLTS"]).max() < 0.5  # "close to the known forces of all blocks"
    for lr in (0.01, 0.02):  # "a smaller one, with more steps, ends at the same factor"
        with tg.guard.off():
            slow, _ = names["as_given"](names["read_into"], names["FORCES"], steps=800, lr=lr)
        assert slow == pytest.approx(found, rel=1e-3)


def test_a_write_through_a_copied_array_or_after_backward_repairs_the_first_lens() -> None:
    """The faded repair, and the worked one before it."""
    lines = programs()[0].split("\n")
    assert lines[4] == "a[:] = [4., 5., 6.]" and lines[5] == "loss.backward()"
    later = [*lines[:4], lines[5], lines[4], lines[6]]
    copied = [*lines[:4], "b = a.copy()", "b[:] = [4., 5., 6.]", *lines[5:]]
    for repaired in (later, copied, [*lines[:4], "a = a * 2", *lines[5:]]):
        found = lens("\n".join(repaired))
        assert not any(moment.refused or moment.error for moment in found.on.moments)
        assert dict(found.on.gradients)["w.grad"] == ("6",)
    assert [m.row + 1 for m in lens("\n".join([*lines[:4], "a *= 2", *lines[5:]])).on.moments if m.refused] == [5]
    a, w = np.array([1.0, 2.0, 3.0]), tg.tensor(2.0, requires_grad=True)
    loss = (w * tg.from_numpy(a)).sum()
    assert "mul saved it" in tg.guard.explain(a)
    del loss


def test_the_first_lens_refuses_line_five_and_not_line_seven() -> None:
    first = lens(programs()[0])
    assert [moment.row + 1 for moment in first.on.moments if moment.refused] == [5]
    assert not first.on.moments[-1].refused and first.on.moments[-1].writes
    assert dict(first.on.gradients)["w.grad"] == ("6",)
    assert dict(first.off.gradients)["w.grad"] == ("15",)
    assert dict(first.off.correct)["w.grad"] == ("6",)


def test_the_worked_example_and_the_second_lens() -> None:
    """What the table says, and that the lens shows for each task what the check knows."""
    program = programs()[1]

    def locked(expression: str) -> bool:
        found = lens(program.replace("y = t - 1", f"y = {expression}"))
        refused = [moment.row + 1 for moment in found.on.moments if moment.refused]
        assert refused in ([], [5])
        assert bool(refused) == bool(found.off.correct)  # refused where it would have been wrong, and only there
        return bool(refused)

    assert [locked(one) for one in ("t - 1", "t.log()", "t.sqrt()")] == [False, True, False]
    assert [one for one in WRITTEN if locked(one)] == ["t ** 2", "t.sin()", "t * w"]
    items = re.findall(r"\(([a-g])\) `([^`]*)`", PROSE.split("**Task 2.**")[1].split("\n## ")[0])
    assert items == list(zip("abcdefg", WRITTEN, strict=True))


def test_moving_the_view_changes_the_outcome() -> None:
    program = programs()[2].split("\n")
    assert program[1] == "v = a[:]"
    outcomes = []
    for place in (1, 2, 3):
        lines = [line for line in program if line != "v = a[:]"]
        lines.insert(place, "v = a[:]")
        found = lens("\n".join(lines))
        outcomes.append(any(moment.refused for moment in found.on.moments))
        assert bool(found.on.correct) is not outcomes[-1]
    assert outcomes == [False, False, True]


def test_the_strictest_level_finds_the_write_through_the_view() -> None:
    a = np.array([1.0, 2.0, 3.0])
    v = a[:]
    t = tg.from_numpy(a).requires_grad_()
    with pytest.raises(MemoryGuardError, match="past the lock"), tg.guard.verify():
        loss = (t * t).sum()
        v[0] = 10.0
        loss.backward()


def outcome(function: Any, *given: Any, capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    function(*given)
    return capsys.readouterr().out


@pytest.mark.parametrize("place", [0, 1])
def test_knobs_say_nothing_before_a_guess_and_each_turn_asks_for_one(
    lesson: Run, place: int, capsys: pytest.CaptureFixture[str]
) -> None:
    function, offered = lesson.knobs[place]
    guess = offered["guess"]
    assert guess.value == "?"
    values = {name: knob.value for name, knob in offered.items()}
    assert outcome(lambda: function(**values), capsys=capsys) == "Guess first.\n"
    for name, knob in offered.items():
        if name != "guess":
            guess.value = guess.options[1]
            knob.set_trait(*(("value", not knob.value) if isinstance(knob.value, bool) else ("index", 1)))
            assert guess.value == "?", name
    values = {name: knob.value for name, knob in offered.items()} | {"guess": guess.options[1]}
    assert len(outcome(lambda: function(**values), capsys=capsys)) > 20


def test_the_knobs_have_what_their_text_asks_for(lesson: Run, capsys: pytest.CaptureFixture[str]) -> None:
    write_between, offered = lesson.names["write_between"], lesson.names["operations"]
    minds = {
        one: tuple("harmful" in outcome(write_between, operation, written, capsys=capsys) for written in "xy")
        for one, operation in offered.items()
    }
    assert minds == {
        "y = x + 2": (False, False),
        "y = x * x": (True, False),
        "y = x.sin()": (True, False),
        "y = x.exp()": (False, True),
        "y = x.sigmoid()": (False, True),
        "y = x.norm()": (True, True),
    }
    assert "saved its out" in outcome(write_between, offered["y = x.exp()"], "y", capsys=capsys)


def test_each_switch_moves_its_own_readings(lesson: Run, capsys: pytest.CaptureFixture[str]) -> None:
    _, (_, offered) = lesson.knobs
    switches = lesson.names["switches"]
    assert offered["guard"].options == ("on", "off", "verify")
    for training in (True, False):
        for recording in (True, False):
            for level in offered["guard"].options:
                nodes, extra, same, write, past = outcome(
                    switches, training, recording, level, capsys=capsys
                ).splitlines()
                assert ("other" in same) is training
                assert (int(nodes.split()[-1]) > 0) is recording is (int(extra.split()[-1]) > 0)
                assert ("refused" in write) is (recording and level != "off")
                expected = {"on": "not noticed", "off": "not noticed", "verify": "noticed at backward()"}[level]
                assert past.split("view ")[1] == (expected if recording else "harmless: there is no graph")


def test_the_race_computes_the_same_and_locks_only_with_the_guard(lesson: Run) -> None:
    hundred_arrays, locked = lesson.names["hundred_arrays"], []

    made: list[np.ndarray[Any, Any]] = []
    ones = np.ones

    def noted(*given: Any, **named: Any) -> Any:
        if given != (3,):  # the engine's own
            return ones(*given, **named)
        if made:
            locked.append(not made[-1].flags.writeable)
        made.append(ones(*given, **named))
        return made[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(np, "ones", noted)
        results = [hundred_arrays(level, 3).item() for level in (tg.guard.on, tg.guard.off)]
    assert results == [300.0, 300.0]
    assert locked[:99] == [True] * 99 and locked[100:] == [False] * 99


def test_recorded_times_say_so_and_stay_folded() -> None:
    [fold] = [one for one in re.findall(r"<details>(.*?)</details>", PROSE, flags=re.DOTALL) if "*Recorded*" in one]
    assert "<summary>After your prediction" in fold and "AMD EPYC, 2 cores, Python 3.11, NumPy 2.4, 1 thread" in fold
    assert "*Recorded*" not in re.sub(r"<details>.*?</details>", "", PROSE, flags=re.DOTALL)


def test_the_broken_programs_fail_as_told(lesson: Run) -> None:
    """Before anybody has mended them."""
    w = tg.randn(3, 5, requires_grad=True)
    with pytest.raises(InplaceError, match=r"sigmoid(.|\n)*sub_"):
        (lesson.names["layer"](tg.randn(4, 3), w) ** 2).sum().backward()
    rate = tg.tensor(0.5, requires_grad=True)
    levels = lesson.names["decay"](rate, 3)
    assert levels.tolist() == [1.0, 0.5, 0.25, 0.125]
    with pytest.raises(InplaceError, match="mul"):
        levels.sum().backward()
    leaf = tg.tensor(1.0, requires_grad=True)
    with pytest.raises(InplaceError, match="leaf"):
        leaf -= 0.1


def test_the_quiz_is_right(lesson: Run) -> None:
    a = np.array([1.0, 2.0])
    b = a.copy()
    t = tg.from_numpy(b).requires_grad_()
    loss = (t * t).sum()
    a[:] = 0
    loss.backward()
    assert t.grad is not None
    assert t.grad.tolist() == [2.0, 4.0]
    for write in (False, True):
        a, shift = np.array([1.0, 2.0]), tg.tensor(3.0, requires_grad=True, dtype="float64")
        with tg.guard.off():
            loss = ((tg.from_numpy(a) + shift) ** 2).sum()
            if write:
                a[:] = 0
            loss.backward()
        assert shift.grad is not None
        assert shift.grad.item() == 18.0
    model = lesson.names["make_model"]().eval()
    array = np.ones((4, 3), dtype="float32")
    loss = model(tg.from_numpy(array)).sum()
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 1
    with contextlib.suppress(RuntimeError):
        loss.backward()
    array[0] = 1
