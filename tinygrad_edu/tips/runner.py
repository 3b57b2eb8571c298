"""Running a tip: do both ways agree, what does each need, and do the claims hold here?"""

from __future__ import annotations

import inspect
import linecache
from collections.abc import Callable, Coroutine, Mapping
from collections.abc import Generator as Generating
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from .. import backends
from ..common.wording import said
from ..core.base import TensorBase
from ..errors import EduError
from ..inputs.trees import tensors_in
from ..observe.counters import Counters, bytes_of
from ..observe.machine import quiet
from ..observe.timing import Comparison, compare
from ..settings import scoped
from ..tensor.random import Generator, seeded
from .tip import FAILED, FALSE, HOLDS, SAME, Claim, Tip, TipError, source_of
from .words import claim_text

Way = Callable[..., Any]
Progress = Callable[[int, int, float], Any]
BUDGET = 1.5  # seconds of timing in one run
NUMBERS = (np.ndarray, np.generic, int, float)
EXACT = "biu"  # kinds of dtypes without fractions


@dataclass(frozen=True)
class Judged:
    """A claim, its verdict here, and the counts in words."""

    claim: Claim
    verdict: str
    words: str


@dataclass(frozen=True)
class Result:
    """The findings of one run of a tip.

    ``slow``, ``fast`` and ``guide`` are counts by name, see `facts.FACTS`. ``verdict`` follows from counts alone, so
    it is the same on every machine; times are in ``timing`` and in the judged claim about time.
    """

    slug: str
    setting: Mapping[str, Any]
    slow: Mapping[str, Any]
    fast: Mapping[str, Any]
    guide: Mapping[str, Any] | None
    equal: bool
    claims: tuple[Judged, ...]
    verdict: str
    reason: str
    timing: Comparison | None

    @property
    def failed(self) -> bool:
        """Whether A or B raised an error. Then nothing is compared, and no claim is judged."""
        return bool(self.slow["error"] or self.fast["error"])

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data, for JSON."""
        claims = [{**asdict(j.claim), "verdict": j.verdict, "words": j.words} for j in self.claims]
        return {
            "slug": self.slug, "setting": dict(self.setting), "verdict": self.verdict, "reason": self.reason,
            "equal": self.equal, "claims": claims, "slow": dict(self.slow), "fast": dict(self.fast),
            "guide": None if self.guide is None else dict(self.guide),
            "timing": None if self.timing is None else self.timing.to_dict(),
        }  # fmt: skip


def run(
    tip: Tip,
    setting: Mapping[str, Any] | None = None,
    *,
    slow: Way | None = None,
    fast: Way | None = None,
    clock: bool = True,
    budget: float = BUDGET,
    progress: Progress | None = None,
) -> Result:
    """Run both ways of a tip, count, compare, and take the time.

    ``slow`` and ``fast`` replace the tip's own functions, for example with a learner's edited copies. ``clock=False``
    leaves the time out. ``progress`` is that of `observe.timing.compare`. Raises `TipError` for settings that do not
    fit. An error inside a way is a fact about it; the verdict is then *could not be compared*.
    """
    chosen = tip.setting(setting or {})
    alone = quiet(progress) if clock else nullcontext()  # while one run counts, another would be timed badly
    same_numbers = seeded(0)  # for ways that draw random numbers; the learner's own stream stays as it was
    with alone, same_numbers:
        return _run(tip, chosen, slow or tip.slow, fast or tip.fast, clock, budget, progress)


def _run(
    tip: Tip, setting: Mapping[str, Any], slow: Way, fast: Way, clock: bool, budget: float, progress: Progress | None
) -> Result:
    facts: dict[str, dict[str, Any]] = {}
    wanted: Any = None
    for name, way in {"fast": fast, "slow": slow, **({"guide": tip.slip.run} if tip.slip else {})}.items():
        facts[name], value = _count(tip, way, setting)
        wanted = value if name == "fast" else wanted
        facts[name]["equal"] = not facts[name]["error"] and agree(value, wanted, tip.tolerance)
    equal = facts["slow"]["equal"] and facts["fast"]["equal"]
    timing, failed = None, bool(facts["slow"]["error"] or facts["fast"]["error"])
    if clock and not failed:
        timing = compare(
            slow, fast, setup=lambda: _arguments(tip, setting), budget=budget, progress=progress, names=("A", "B")
        )
    judged = tuple(_judge(claim, facts["slow"], facts["fast"], timing) for claim in tip.claims if not failed)
    verdict, reason = _verdict(tip, setting, facts, equal, judged)
    return Result(
        tip.slug, setting, facts["slow"], facts["fast"], facts.get("guide"), equal, judged, verdict, reason, timing
    )


def _arguments(tip: Tip, setting: Mapping[str, Any]) -> tuple[Any, ...]:
    """Fresh inputs, the same each time."""
    own = {name: value for name, value in setting.items() if name != "device"}
    with scoped(device=setting["device"]):
        return tuple(tip.inputs(Generator().manual_seed(0), **own).values())


def _count(tip: Tip, way: Way, setting: Mapping[str, Any]) -> tuple[dict[str, Any], Any]:
    """What one call of one way needs, and its result."""
    arguments = _arguments(tip, setting)
    before = [plain(a) for a in arguments]
    counters, value, kept, error, line = Counters(), None, 0, "", ""
    found: list[TensorBase] = []
    try:
        with scoped(device=setting["device"]), counters:
            value = way(*arguments)
        kept = counters.kept
        found, value = _settled(value)
    except (Exception, SystemExit) as problem:  # a learner's copy may raise anything: the result reports it
        error = problem.sentence() if isinstance(problem, EduError) else said(problem)
        line = _line_of(problem, way)
    given = tensors_in(arguments)
    return {
        **counters.facts(),
        "kept": kept,
        "held": sum({id(b): bytes_of(b) for b in map(buffer, found) if b is not None}.values()),
        "shares": any(buffer(f) is buffer(g) is not None for f in found for g in given),
        "changes": not all(agree(b, a, 0.0) for b, a in zip(before, arguments, strict=True)),
        "error": error,
        "line": line,
    }, value  # fmt: skip


def _line_of(error: BaseException, way: Way) -> str:
    """``line 2, `return x.view(3)` ``: the line of a way on which it failed, as a learner reads it; "" if unknown."""
    code = getattr(inspect.unwrap(way), "__code__", None)
    rows = []
    step = error.__traceback__
    while step is not None:
        if step.tb_frame.f_code is code:
            rows.append(step.tb_lineno)
        step = step.tb_next
    if code is None or not rows:
        return ""
    text = linecache.getline(code.co_filename, rows[-1]).strip()
    row: int | None = rows[-1]
    if not code.co_filename.startswith("<"):  # not typed by a learner: source_of leaves out hints and docstring
        row = _row_as_read(way, rows[-1] - code.co_firstlineno)
    return ", ".join(part for part in (f"line {row}" if row else "", f"`{text}`" if text else "") if part)


def _row_as_read(way: Way, below: int) -> int | None:
    """The line number in the text that a learner reads, of a line so far below the first; None for a lambda."""
    try:
        written, read = inspect.getsource(way).rstrip().count("\n"), source_of(way).count("\n")
    except (AssertionError, OSError, SyntaxError):
        return None
    return below - (written - read) + 1


def _settled(value: Any) -> tuple[list[TensorBase], Any]:
    """The tensors that a way returned, and its numbers. Raises `TipError` for a generator or coroutine."""
    if isinstance(value, (Generating, Coroutine)):
        value.close()
        why, mend = f"it gives a {type(value).__name__}, and none of it has run", "return what it computes"
        raise TipError("a way", why, mend)
    return tensors_in(value), plain(value)


def buffer(tensor: TensorBase) -> Any:
    """The array that owns a tensor's memory; None for a single number."""
    array = tensor.array
    return backends.of(array).owner(array) if array.ndim else None


def plain(tree: Any) -> Any:
    """The values of a tree of tensors and arrays as new NumPy arrays."""
    if isinstance(tree, TensorBase):
        return np.array(backends.of(tree.array).to_numpy(tree.array))
    if isinstance(tree, np.ndarray):
        return tree.copy()
    if isinstance(tree, dict):
        return {key: plain(value) for key, value in tree.items()}
    return [plain(item) for item in tree] if isinstance(tree, (tuple, list)) else tree


def agree(one: Any, other: Any, tolerance: float) -> bool:
    """Whether two trees hold the same numbers: floats within ``tolerance`` of the largest, integers exactly."""
    one, other = (plain(tree) if isinstance(tree, TensorBase) else tree for tree in (one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(agree(one[k], other[k], tolerance) for k in one)
    if isinstance(one, (tuple, list)) and isinstance(other, (tuple, list)):
        return len(one) == len(other) and all(agree(a, b, tolerance) for a, b in zip(one, other, strict=True))
    if isinstance(one, NUMBERS) and isinstance(other, NUMBERS):
        return _same_numbers(np.asarray(one), np.asarray(other), tolerance)
    return type(one) is type(other) and bool(one == other)


def _same_numbers(a: Any, b: Any, tolerance: float) -> bool:
    if np.array_equal(a, b):
        return True
    if a.shape != b.shape or (a.dtype.kind in EXACT and b.dtype.kind in EXACT):
        return False
    a, b = a.astype(np.float64), b.astype(np.float64)
    largest = np.abs(b).max(initial=0.0, where=np.isfinite(b))  # an infinite largest value would make all others agree
    return np.allclose(a, b, rtol=0, atol=tolerance * largest, equal_nan=True)


def _judge(claim: Claim, slow: Mapping[str, Any], fast: Mapping[str, Any], timing: Comparison | None) -> Judged:
    """Whether a claim holds here."""
    if not claim.counted:
        if timing is None:
            return Judged(claim, SAME, "time: not taken")
        verdict = {"faster": HOLDS, "slower": FALSE}.get(timing.verdict, SAME)
        return Judged(claim, verdict, f"time: {timing.sentence()}")
    a, b = slow[claim.fact], fast[claim.fact]
    if claim.fast is not None:
        fits = b == claim.fast and (a == claim.slow if claim.slow is not None else a != claim.fast)
        verdict = HOLDS if fits else SAME if a == b else FALSE
    elif claim.no_more:
        verdict = HOLDS if b <= a else FALSE
    else:
        verdict = HOLDS if a > b and a >= claim.times * b else FALSE if a < b else SAME
    return Judged(claim, verdict, claim_text(claim.fact, a, b))


def _verdict(
    tip: Tip, setting: Mapping[str, Any], facts: Mapping[str, Any], equal: bool, judged: tuple[Judged, ...]
) -> tuple[str, str]:
    """The verdict from the counts, and the likely reason if it is not *holds*."""
    known = [limit.words for limit in tip.limits if all(setting[k] == v for k, v in limit.setting.items())]
    names = {"slow": "A", "fast": "B"}
    errors = [_failure(name, facts[way]) for way, name in names.items() if facts[way]["error"]]
    if errors:
        return FAILED, " ".join([*known, *errors])
    if not equal:
        return FALSE, " ".join([*known, "A and B do not give the same numbers."])
    counted = [j for j in judged if j.claim.counted]
    worst = next((v for v in (FALSE, SAME) if any(j.verdict == v for j in counted)), HOLDS)
    if worst == HOLDS:
        return HOLDS, ""
    return worst, " ".join(known or [f"{j.words}." for j in counted if j.verdict == worst])


def _failure(name: str, facts: Mapping[str, Any]) -> str:
    """``B fails in line 2, `return x.view(3)`: …``."""
    return f"{name} fails{' in ' if facts['line'] else ''}{facts['line']}: {facts['error']}"


@dataclass(frozen=True)
class Checked:
    """A tip and the test of its claims: by default, at each limit, about its guide. ``faults`` is empty if all hold."""

    slug: str
    result: Result
    limits: tuple[Result, ...]
    faults: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """Whether every counted claim holds."""
        return not self.faults


def check(tip: Tip) -> Checked:
    """Test the claims of a tip by counts alone, without a clock."""
    result = run(tip, clock=False)
    faults = [] if result.verdict == HOLDS else [f"by default the verdict is {result.verdict}: {result.reason}"]
    if tip.slip is not None and result.guide is not None:
        if result.guide["error"] and "error" not in tip.slip.shows:
            faults.append(f"the guide's way fails: {result.guide['error']}")
        faults += [
            f"the guide's way shows {name} = {result.guide[name]!r}, not {value!r}"
            for name, value in tip.slip.shows.items()
            if result.guide[name] != value
        ]
    answer = tip.question.answer(result)
    if answer not in tip.question.choices:
        faults.append(f"the answer {answer!r} is not one of the choices")
    elif answer == tip.question.tempting:
        faults.append(f"the tempting answer {answer!r} is the right one")
    limits = tuple(run(tip, limit.setting, clock=False) for limit in tip.limits)
    faults += [
        f"with {dict(limit.setting)} the verdict is {found.verdict}, not {limit.verdict}"
        for limit, found in zip(tip.limits, limits, strict=True)
        if found.verdict != limit.verdict
    ]
    return Checked(tip.slug, result, limits, tuple(faults))
