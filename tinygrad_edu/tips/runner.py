"""Running a tip: do its ways do what they should, what does each need, and do the claims hold here?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from .. import backends
from ..observe.machine import quiet
from ..observe.timing import Comparison, compare
from ..settings import scoped
from ..tensor.random import seeded
from .counting import OURS, Framework, accelerator_of, is_virtual, place
from .counting import judge as judge_outcome
from .facts import TIME
from .judging import Judged, judge, judge_over, judge_time
from .outcomes import EQUAL, FREE, Outcome
from .tip import FAILED, FALSE, HOLDS, SAME, Claim, Tip
from .ways import begin, prepares
from .words import letters_of

Function = Callable[..., Any]
Progress = Callable[[int, int, float], Any]
BUDGET = 1.5  # seconds of timing in one run
SCHEMA = 1  # of what `Result.to_dict` gives


@dataclass(frozen=True)
class Result:
    """The findings of one run of a tip.

    ``slow``, ``fast``, ``others`` (by name) and ``guides`` (in the order of the slips) are facts by name, see
    `facts.FACTS`. ``verdict`` follows from counts alone, so it is the same on every machine; times are in ``timing``
    and in the judged claims about time. ``equal`` says whether A and B both give the right numbers, ``met`` whether
    both do what the tip expects of them.
    """

    slug: str
    setting: Mapping[str, Any]
    slow: Mapping[str, Any]
    fast: Mapping[str, Any]
    others: Mapping[str, Mapping[str, Any]]
    guides: tuple[Mapping[str, Any], ...]
    equal: bool
    met: bool
    claims: tuple[Judged, ...]
    verdict: str
    reason: str
    timing: Comparison | None

    @property
    def failed(self) -> bool:
        """Whether A or B raised an error that nobody expected. Then nothing is compared, and no claim is judged."""
        return any(way["error"] and not way["met"] for way in (self.slow, self.fast))

    @property
    def ways(self) -> dict[str, Mapping[str, Any]]:
        """The facts of every way, by name."""
        return {"slow": self.slow, "fast": self.fast, **self.others}

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data, for JSON."""
        return {
            "schema": SCHEMA, "slug": self.slug, "setting": dict(self.setting), "verdict": self.verdict,
            "reason": self.reason, "equal": self.equal, "met": self.met,
            "claims": [_claim_dict(judged) for judged in self.claims],
            "slow": dict(self.slow), "fast": dict(self.fast),
            "others": {name: dict(facts) for name, facts in self.others.items()},
            "guides": [dict(facts) for facts in self.guides],
            "timing": None if self.timing is None else self.timing.to_dict(),
        }  # fmt: skip


def _claim_dict(judged: Judged) -> dict[str, Any]:
    timing = None if judged.timing is None else judged.timing.to_dict()
    found = {"verdict": judged.verdict, "words": judged.words, "found": [judged.slow, judged.fast]}
    shapes = None if judged.shapes is None else list(judged.shapes)
    return asdict(judged.claim) | found | {"ways": list(judged.claim.ways), "shapes": shapes, "timing": timing}


def run(
    tip: Tip,
    setting: Mapping[str, Any] | None = None,
    *,
    slow: Function | None = None,
    fast: Function | None = None,
    clock: bool = True,
    budget: float = BUDGET,
    progress: Progress | None = None,
) -> Result:
    """Run all ways of a tip, count, compare, and take the time.

    ``slow`` and ``fast`` replace the tip's own functions, for example with a learner's edited copies. ``clock=False``
    leaves the time out. ``progress`` is that of `observe.timing.compare`. Raises `TipError` for settings that do not
    fit. An error inside a way is a fact about it; unless the tip expects it, the verdict is then *could not be
    compared*.
    """
    chosen = tip.setting(setting or {})
    alone = quiet(progress, tip.threads)  # while one run counts, another would be timed badly; and garbage would count
    same_numbers = seeded(0)  # for ways that draw random numbers; the learner's own stream stays as it was
    edited = {name: way for name, way in (("slow", slow), ("fast", fast)) if way is not None}
    with alone, same_numbers, accelerator_of(chosen):
        return _Run(tip, chosen, edited).result(clock, budget, progress)


class _Run:
    """One run of a tip. Every way is counted once in each setting that a claim is about."""

    def __init__(
        self, tip: Tip, setting: Mapping[str, Any], edited: Mapping[str, Function], framework: Framework = OURS
    ) -> None:
        self.tip, self.setting, self.framework = tip, setting, framework
        self.functions = {name: edited.get(name, way.run) for name, way in tip.ways.items()}
        self._counts: dict[tuple[Any, ...], Any] = {}

    def _count(self, name: str, way: Function, setting: Mapping[str, Any]) -> Any:
        key = (name, *setting.values())
        if key not in self._counts:
            self._counts[key] = self.framework.counted(self.tip, way, setting)
        return self._counts[key]

    def _truth(self, setting: Mapping[str, Any]) -> Any:
        """The right numbers: those of the tip's ``truth``, or of B."""
        if self.tip.truth is not None:
            return self._count("truth", self.tip.truth, setting).value
        return self._count("fast", self.functions["fast"], setting).value

    def facts(self, name: str, at: Mapping[str, Any]) -> dict[str, Any]:
        """What a way needs, in the setting of this run with some of it changed."""
        setting = self.tip.setting({**self.setting, **at})
        truth = self._truth(setting)
        return self._judged(self._count(name, self.functions[name], setting), self._outcome(name), truth)

    def _judged(self, count: Any, outcome: Outcome, truth: Any) -> dict[str, Any]:
        judge_outcome(count, outcome, truth, self.tip.tolerance)
        facts: dict[str, Any] = count.facts
        return facts

    def _outcome(self, name: str) -> Outcome:
        return self.tip.ways[name].outcome

    def result(self, clock: bool, budget: float, progress: Progress | None) -> Result:
        """Count, compare, take the time and judge."""
        found = {name: self.facts(name, {}) for name in self.functions}
        slow, fast = found.pop("slow"), found.pop("fast")
        equal, met = slow["equal"] and fast["equal"], slow["met"] and fast["met"]
        timing: Comparison | None = None
        judged: tuple[Judged, ...] = ()
        if not any(way["error"] and not way["met"] for way in (slow, fast)):
            timed = [claim for claim in self.tip.claims if _timed_apart(claim)]
            if clock and not (slow["error"] or fast["error"] or is_virtual(self.setting)):
                timing = self._time(("slow", "fast"), self.setting, budget / (1 + len(timed)), progress)
            share = budget / (1 + len(timed)) if clock else 0.0
            judged = tuple(self._judge(claim, timing, share, progress) for claim in self.tip.claims)
        counts = [self.framework.counted(self.tip, slip.run, self.setting) for slip in self.tip.slips]
        guides = tuple(self._judged(count, FREE, self._truth(self.setting)) for count in counts)
        verdict, reason = self._verdict(slow, fast, judged)
        return Result(
            self.tip.slug, self.setting, slow, fast, found, guides, equal, met, judged, verdict, reason, timing
        )

    def _time(
        self, names: tuple[str, str], setting: Mapping[str, Any], budget: float, progress: Progress | None
    ) -> Comparison:
        """Two ways in turns. If one is prepared, both are set up once, and only later calls are timed."""
        with scoped(device=place(self.tip, setting)):
            return self._compare(names, setting, budget, progress)

    def _compare(
        self, names: tuple[str, str], setting: Mapping[str, Any], budget: float, progress: Progress | None
    ) -> Comparison:
        ways = [self.functions[name] for name in names]
        letters = [self.tip.letters[name] for name in names]
        if not any(map(prepares, ways)):
            return compare(
                *[_until_done(way, setting) for way in ways],
                setup=lambda: self.framework.arguments(self.tip, setting),
                budget=budget,
                progress=progress,
                names=letters,
                threads=self.tip.threads,
            )
        begun = [self._begin(way, setting) for way in ways]
        try:
            return compare(
                begun[0][0], begun[1][0], budget=budget, progress=progress, names=letters, threads=self.tip.threads
            )
        finally:
            for _, end in begun:
                end()

    def _begin(self, way: Function, setting: Mapping[str, Any]) -> tuple[Function, Callable[[], None]]:
        """What to call again and again, after its first call, and what to call at the end."""
        given = self.framework.arguments(self.tip, setting)
        step, end = begin(way, given) if prepares(way) else (lambda: way(*given), lambda: None)
        step()
        return _until_done(step, setting), end

    def _judge(self, claim: Claim, timing: Comparison | None, share: float, progress: Progress | None) -> Judged:
        letters = letters_of(self.tip, claim)
        if claim.fact == TIME and is_virtual(self.setting):  # as on the clock, it does not decide
            return replace(self._judge(replace(claim, fact="virtual"), None, share, progress), claim=claim)
        if claim.fact == TIME and not claim.when:
            if claim.over is not None:
                return self._judge_times(claim, share, progress)
            if share and _timed_apart(claim):
                setting = self.tip.setting({**self.setting, **claim.at})
                timing = self._time(claim.ways, setting, share, progress)
            return judge_time(claim, timing, letters)
        slow, fast = claim.ways
        here = judge(claim, self.facts(slow, claim.at), self.facts(fast, claim.at), letters)
        if claim.over is None:
            return here
        over = claim.over
        settings = [{**claim.at, over.name: size} for size in over.sizes]
        a, b = ([self.facts(name, one)[claim.fact] for one in settings] for name in claim.ways)
        return judge_over(claim, a, b, here)

    def _judge_times(self, claim: Claim, share: float, progress: Progress | None) -> Judged:
        """A claim about time over sizes."""
        letters = letters_of(self.tip, claim)
        if not share or claim.over is None:
            return judge_time(claim, None, letters)
        settings = [self.tip.setting({**self.setting, claim.over.name: size}) for size in claim.over.sizes]
        taken = [self._time(claim.ways, one, share / len(settings), progress) for one in settings]
        slow, fast = ([getattr(one, way).median for one in taken] for way in ("slow", "fast"))
        return judge_over(claim, slow, fast, judge_time(claim, taken[-1], letters))

    def _verdict(self, slow: Mapping[str, Any], fast: Mapping[str, Any], judged: tuple[Judged, ...]) -> tuple[str, str]:
        """The verdict from the counts, and the likely reason if it is not *holds*."""
        known = [
            limit.words for limit in self.tip.limits if all(self.setting[k] == v for k, v in limit.setting.items())
        ]
        pair = {"A": ("slow", slow), "B": ("fast", fast)}
        errors = [_failure(letter, way) for letter, (_, way) in pair.items() if way["error"] and not way["met"]]
        if errors:
            return FAILED, " ".join([*known, *errors])
        missed = [
            f"{letter} {self._outcome(name).expected()}, {_came(way)}."
            for letter, (name, way) in pair.items()
            if not way["met"]
        ]
        if missed:
            alike = slow["equal"] and fast["equal"]
            plainly = all(self._outcome(name) == EQUAL for name, _ in pair.values())
            words = ["A and B do not give the same numbers."] if plainly else missed
            return (SAME if alike else FALSE), " ".join([*known, *(words if not known or plainly else ())])
        counted = [j for j in judged if j.counted]
        worst = next((v for v in (FALSE, SAME) if any(j.verdict == v for j in counted)), HOLDS)
        if worst == HOLDS:
            return HOLDS, ""
        return worst, " ".join(known or [f"{j.words}." for j in counted if j.verdict == worst])


def _until_done(way: Function, setting: Mapping[str, Any]) -> Function:
    """A way, and a wait for what it has asked a device to do: without that, only the asking would be timed."""
    device = backends.get(setting["device"])
    if device is backends.CPU:
        return way

    def and_wait(*given: Any) -> Any:
        found = way(*given)
        device.synchronize()
        return found

    return and_wait


def _timed_apart(claim: Claim) -> bool:
    """Whether a claim needs a measurement of its own, beside that of A and B in the setting that runs."""
    return claim.fact == TIME and not claim.when and bool(claim.at or claim.over or claim.ways != ("slow", "fast"))


def _came(way: Mapping[str, Any]) -> str:
    """What a way did instead of what was expected."""
    if way["error"]:
        return f"but it raised: {way['error'].rstrip('.')}"
    return "and gives the right ones" if way["equal"] else "and gives others"


def _failure(name: str, facts: Mapping[str, Any]) -> str:
    """``B fails in line 2, `return x.view(3)`: …``."""
    return f"{name} fails{' in ' if facts['line'] else ''}{facts['line']}: {facts['error']}"
