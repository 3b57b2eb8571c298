"""What a guard lens claims, held against a run of the same program by other means."""

from __future__ import annotations

import ast
import re
import weakref
import xml.etree.ElementTree as ET
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import tinygrad_edu as tg
from tinygrad_edu import guard
from tinygrad_edu.common.wording import exact
from tinygrad_edu.views.guard import LensState, frame

TOP, LINE = 18.0, 28.0  # of the listing: the middle of its first line, and from one line to the next


@dataclass
class Line:
    """What the engine says after one line."""

    arrays: dict[str, Any] = field(default_factory=dict)  # values and flags, by name
    explained: dict[str, str] = field(default_factory=dict)
    locked: dict[int, bool] = field(default_factory=dict)  # every array that was named and still exists, by its number
    closed: set[int] = field(default_factory=set)  # those of them that cannot be written to
    error: BaseException | None = None
    buffers: list[set[str]] = field(default_factory=list)  # for each array in turn: all names of its bytes


@dataclass
class Truth:
    """The program, run here."""

    lines: list[Line]
    gradients: dict[str, Any]
    first: list[str]  # the name under which each array was first seen


def executed(source: str, level: str) -> Truth:
    """Each line in turn, with the guard on or off, keeping every array in sight."""
    names: dict[str, Any] = {"np": np, "tg": tg, "tensor": tg.tensor, "from_numpy": tg.from_numpy}
    given, done, first = set(names), [], []
    ever: list[weakref.ref[Any]] = []
    for row, line in enumerate(source.split("\n")):
        here = Line()
        try:
            with guard.on() if level == "on" else guard.off():
                exec(compile("\n" * row + line, "<program>", "exec"), names)
        except Exception as error:
            here.error = error.with_traceback(None)
            here.error.__cause__ = here.error.__context__ = None
        for name, value in names.items():
            if name not in given and isinstance(value, np.ndarray):
                here.arrays[name] = (value.copy(), bool(value.flags.writeable))
                here.explained[name] = guard.explain(value)
                if not any(value is one() for one in ever):
                    ever.append(weakref.ref(value))
                    first.append(name)
        named = [(n, v.array if isinstance(v, tg.Tensor) else v) for n, v in names.items() if n not in given]
        named = [(n, v) for n, v in named if isinstance(v, np.ndarray)]
        here.buffers = [{n for n, v in named if n == one or np.shares_memory(v, names[one])} for one in here.arrays]
        name = value = None
        del named
        alive = {i: a for i, one in enumerate(ever) if (a := one()) is not None}
        here.locked = {i: not a.flags.writeable and " saved it " in guard.explain(a) for i, a in alive.items()}
        here.closed = {i for i, a in alive.items() if not a.flags.writeable}
        del alive
        done.append(here)
        if here.error is not None and not refused(here.error):
            break
    found = {n: v.grad.numpy().copy() for n, v in names.items() if isinstance(v, tg.Tensor) and v.grad is not None}
    return Truth(done, found, first)


def refused(error: BaseException | None) -> bool:
    """Whether it is the guard's refusal of a write, rather than what its checksums found in backward."""
    return isinstance(error, guard.MemoryGuardError) and not str(error).startswith("backward through")


def number_of(word: str) -> float:
    return float(word.replace("−", "-").replace("\u2009", ""))


def labels(first: list[str]) -> list[str]:
    """The first array named a is "a", the next one "2nd a"."""
    ordinals = ("", "", "2nd ", "3rd ", *(f"{n}th " for n in range(4, 30)))
    return [ordinals[first[: i + 1].count(name)] + name for i, name in enumerate(first)]


def assert_claims(state: LensState, truth: Truth) -> None:
    """Every claim of the picture of this state, read off its text and its drawing."""
    shown = frame(state, "?")
    said = shown.text.split("\n")
    listing = [re.fullmatch(r"([> ]) (\d+) (.*?)(?:   # (.*))?", line) for line in said[1 : 1 + len(state.story.lines)]]
    assert [m and m[1] for m in listing].index(">") == state.row
    assert_words([m[4] or "" if m else "" for m in listing], state, truth)
    assert_rows(said, state.row, truth)
    assert_refusal(shown.text, state, truth)
    assert_spans(shown.wide.svg(), truth)
    assert_gradients(shown.text, state, truth)


Numbers = list[set[int]]


def happened(truth: Truth) -> tuple[Numbers, Numbers, Numbers, Numbers]:
    """The arrays that each line locked, those that it released, and those that had been locked and exist no more, or
    that nothing holds and that stay read-only all the same."""
    locked: Numbers = []
    freed: Numbers = []
    gone: Numbers = []
    stay: Numbers = []
    before: set[int] = set()
    for line in truth.lines:
        now = {i for i, is_so in line.locked.items() if is_so}
        locked.append(now - before)
        freed.append({i for i in before - now if i in line.locked and i not in line.closed})
        stay.append({i for i in before - now if i in line.closed})
        gone.append({i for i in before - now if i not in line.locked})
        before = now
    return locked, freed, gone, stay


def assert_words(words: list[str], state: LensState, truth: Truth) -> None:
    """The word beside each line."""
    named = labels(truth.first)
    locked, freed, gone, stay = happened(truth)
    for row, word in enumerate(words):
        if row >= len(truth.lines):
            assert word == ""
            continue
        line, parts = truth.lines[row], re.split(r", (?=refused|error)|(?<=refused), |(?<=error), ", word)
        assert ("refused" in parts) is refused(line.error)
        assert ("error" in parts) is (line.error is not None and not refused(line.error))
        ends = "locked|released|refused|error|gone|stays? read-only"
        verbs = (("locked", locked), ("released", freed), ("gone", gone), ("stays? read-only", stay))
        for verb, arrays in ((verb, of_lines[row]) for verb, of_lines in verbs):
            told = re.search(rf"(?:^|(?:{ends}), )((?:(?!{ends}).)*?) (?:{verb})", word)
            assert set(told[1].split(", ") if told else ()) == {named[i] for i in arrays}, (row, word)
        if word.startswith("allowed"):
            assert line.error is None
            assert re.search(r"\[.*\]\s*[*+-]?=|\bfill\b|\bsort\b|\badd\.at\b|\w_\(|[*+-]= ", state.story.lines[row])


def assert_rows(said: list[str], row: int, truth: Truth) -> None:
    """Each array's values, and whether it can be written to."""
    here = truth.lines[min(row, len(truth.lines) - 1)]
    pattern = r"(\w+) \[(.*?)\] on cpu, (.*?), (read-only|writable), (.*) \(line \d+\)"
    found = {m[1]: m for line in said if (m := re.fullmatch(pattern, line))}
    assert set(found) == set(here.arrays)
    told = [m[1] for line in said if (m := re.fullmatch(r"in one buffer: (.*) \(line \d+\)", line))]
    together = [set(re.split(r", | and \d+ more: ", names)) for names in told]
    shared = [names for names in here.buffers if len(names) > 1]
    assert len(together) <= 1 and all(names in shared for names in together)
    assert together or len(shared) < len(here.buffers) or not shared
    for name, (values, writeable) in here.arrays.items():
        m = found[name]
        assert m[2] == ", ".join(map(exact, values.ravel()[:6])) + ", …" * (values.size > 6)
        assert m[3] == f"{values.nbytes} bytes"
        assert (m[4] == "writable") is writeable
        held = re.search(r"why:  (\w+) saved it.*?(?:\((\d+) more)?", here.explained[name])
        if " saved it" in here.explained[name] and not writeable:
            op = re.search(r"why:  (\w+) saved it", here.explained[name])
            more = re.search(r"\((\d+) more node", here.explained[name])
            assert op and (saved := re.match(rf"{op[1]} saved ((?:an )?\w+)", m[5]))
            view = m[5].endswith("and this is a view of it")
            assert saved[1] == name if not view else any({saved[1], name} <= each for each in here.buffers)
            assert (f", {more[1]} more hold" in m[5]) if more else ("more hold" not in m[5])
        elif writeable and held:
            assert "a way past it" in m[5]
        elif writeable:
            assert m[5] in ("no operation holds it", "the guard is off")
        else:
            assert "it was made so" in m[5]


def assert_refusal(text: str, state: LensState, truth: Truth) -> None:
    """What is said of a failed line is what its error says."""
    shown = re.search(r"^▲ (ValueError|MemoryGuardError|Error) in line (\d+)\n  tried: (.*)$", text, re.M)
    failed = [row for row, line in enumerate(truth.lines) if line.error is not None]
    assert (shown is not None) is bool(failed)
    if shown is None:
        return
    row = int(shown[2]) - 1
    assert row in failed
    assert row == state.row or state.row not in failed
    error = truth.lines[row].error
    assert (shown[1] == "ValueError") is refused(error)  # the programs here explain no refusal themselves
    assert shown[3] == state.story.lines[row].strip()
    if refused(error):
        holder = re.search(r"held by: (\w+)(?: since line (\d+))?: ", text)
        assert holder and error
        assert str(error).split("why:  ")[1].startswith(f"{holder[1]} saved it")
        assert holder[2] == str(error).split("line ")[1].split(":")[0].split("\n")[0]


def assert_spans(svg: str, truth: Truth) -> None:
    """A ● where an array becomes read-only because of a node, and a ○ where it no longer is."""
    root = ET.fromstring(svg)
    circles = [c for c in root.iter("circle") if float(c.get("cx", 0)) < 36 + 16 * 20 and float(c.get("r", 0)) == 4.5]
    last = 0.0
    for group in root.iter("g"):
        if group.get("data-act") == "row":
            last = max(last, float(group.get("data-value") or 0))
    inside = [
        c for c in circles if (float(c.get("cx", 0)) - 38) % 16 == 0 and float(c.get("cy", 0)) <= TOP + LINE * last
    ]
    rows = {kind: sorted((float(c.get("cy", 0)) - TOP) / LINE for c in inside if c.get("class") == kind)
            for kind in ("knob", "ring")}  # fmt: skip
    locked, freed, gone, _ = happened(truth)
    assert rows["ring"] == sorted(
        float(row) for rows in (freed, gone) for row, arrays in enumerate(rows) for _ in arrays
    )
    assert rows["knob"] == sorted(float(row) for row, arrays in enumerate(locked) for _ in arrays)


def assert_gradients(text: str, state: LensState, truth: Truth) -> None:
    """The gradients are the engine's. One is called wrong exactly if values that were copied in time give another."""
    head, _, after = text.partition("the same ")
    shown = dict(re.findall(r"^(\w+)\.grad  \[(.*?)\]", head, re.M))
    assert shown == {n: ", ".join(map(exact, g.ravel()[:6])) + ", …" * (g.size > 6) for n, g in truth.gradients.items()}
    assert bool(after) <= (state.guard == "on")
    told = set(re.findall(r"^(\w+)\.grad  \[.*?\]  wrong$", head, re.M))
    right = in_time("\n".join(state.story.lines), state.guard)
    wrong = {n for n, g in truth.gradients.items() if n in right and not np.array_equal(g, right[n])}
    assert told == wrong, (told, wrong)


def in_time(source: str, level: str) -> dict[str, Any]:
    """The gradients of the same program if every operation gets copies of what it uses."""
    tensors = set("tuv")

    class Copies(ast.NodeTransformer):
        def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
            self.generic_visit(node)
            node.left, node.right = self.copied(node.left), self.copied(node.right)
            return node

        def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
            self.generic_visit(node)
            if node.attr in ("exp", "sin"):
                node.value = self.copied(node.value)
            return node

        @staticmethod
        def copied(node: ast.AST) -> Any:
            if isinstance(node, ast.Name) and node.id in tensors:
                return ast.parse(f"{node.id}.clone()", mode="eval").body
            return node

    lines = [ast.unparse(ast.fix_missing_locations(Copies().visit(ast.parse(line)))) for line in source.split("\n")]
    names: dict[str, Any] = {"np": np, "tg": tg, "tensor": tg.tensor, "from_numpy": tg.from_numpy}
    plain = executed(source, level)
    for line, known in zip(lines, plain.lines, strict=False):
        if known.error is None:  # what was refused, or failed, did nothing there either
            for one in names.values():
                if isinstance(one, np.ndarray) and one.flags.owndata:
                    one.flags.writeable = True  # there, the guard may have given it back
            with guard.off():
                exec(line, names)
    return {n: v.grad.numpy().copy() for n, v in names.items() if isinstance(v, tg.Tensor) and v.grad is not None}
