"""Every tip live: find one, predict, run both ways, see why, explain, and try where it fails."""

from __future__ import annotations

import linecache
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, ClassVar

import traitlets

from tinygrad_edu.common.wording import said
from tinygrad_edu.errors import ArgumentError, EduError
from tinygrad_edu.tensor.random import seeded
from tinygrad_edu.tips import Result, Size, Tip, TipError, all_tips, find, run
from tinygrad_edu.tips.framework import run_in_torch
from tinygrad_edu.views import tips
from tinygrad_edu.views.frame import Frame
from tinygrad_edu.views.given import flags, refusal, texts, typed
from tinygrad_edu.views.hosted import hosted, names_for

from . import charts
from .base import EduWidget, Tell
from .predict_gate import note_prediction

FILTERS = ("words", "theme", "source", "symptom")
ACTS = ("commit", "again", "run", "torch", "edit", "edited", "restore", "explain", "next", "back", "reset")


class TipBrowser(EduWidget, room=tips):
    """``TipBrowser()`` is the front door to all tips; ``TipBrowser("in-place")`` opens it at one, and
    ``TipBrowser("in-place", setting={"n": 1000})`` at your sizes.

    Gestures: search, or filter by device, theme, guide and symptom; choose a tip (arrow keys in the list); choose and
    *Commit* a prediction; set sizes and *Run*, *Stop* between two repeats; *Also in PyTorch* runs the same ways there;
    *Edit the code* of both ways; *Compare* your own explanation; run a setting where the tip fails; *Show* a step that
    has folded; *Reset* the tip (r).

    `present` shows one step at a time, without the list: *Next* (→) does what the step asks for and goes on, *Back* (←)
    goes back.
    """

    awaited = frozenset({"edited"})
    mirrors: ClassVar[dict[str, str]] = {"slug": "pick"}
    slug = traitlets.Unicode().tag(sync=True)  # of the tip in front
    committed = traitlets.Bool(False, read_only=True).tag(sync=True)
    verdict = traitlets.Unicode(None, allow_none=True, read_only=True).tag(sync=True)  # of its last run

    def __init__(self, slug: str = "", *, alone: bool = False, setting: Mapping[str, Any] | None = None) -> None:
        texts("TipBrowser", slug=slug)
        flags("TipBrowser", alone=alone)
        tip = find(slug) if slug else all_tips()[0]
        self.state = tips.BrowserState(tip.slug, alone)
        if setting is not None:
            self.state = self.state.with_visit(setting=_chosen(tip, setting))
        self._running: Mapping[str, str] = {}  # the edited copies that are being run
        super().__init__()
        self.observe(lambda _: self._show(), "presenting")

    @property
    def tip(self) -> Tip:
        """The tip in front."""
        return find(self.state.slug)

    @property
    def result(self) -> Result | None:
        """The result of its last run."""
        return self.state.visit.result

    def frame(self) -> Frame:
        """The frame of the current state."""
        return tips.frame(self.tip, self.state, self.progress, self.presenting)

    def mirrored(self) -> dict[str, Any]:
        """The tip in front, and how far the learner is with it."""
        visit = self.state.visit
        found = visit.result and visit.result.verdict
        return {"slug": self.state.slug, "committed": visit.committed, "verdict": found}

    def data(self) -> Any:
        """The tip, the prediction, the setting, and, once run, the result."""
        visit = self.state.visit
        return {
            "slug": self.state.slug, "predicted": visit.draft, "committed": visit.committed, "answer": visit.answer,
            "setting": self.tip.setting(visit.setting), "result": visit.result and visit.result.to_dict(),
            "explanation": visit.explanation, "tips": {slug: v.state for slug, v in self.state.visits.items()},
        }  # fmt: skip

    def predict(self, choice: str) -> None:
        """Commit to a prediction from code."""
        self.act("draft", choice)
        self.act("commit")

    def run(self, seconds: float = 60.0) -> Result | None:
        """Run from code, and wait for the result: None before a prediction."""
        self.act("run")
        self.wait(seconds)
        return self.result

    def plot(self, ax: Any = None) -> Any:
        """Draw what both ways need with matplotlib, on ``ax`` or on new axes, and return the axes.

        Raises `ArgumentError` before the first run, and `MissingPackageError` if matplotlib is not installed.
        """
        if self.result is None or self.result.failed:
            raise ArgumentError("TipBrowser.plot()", "there is no result yet", "call predict(…) and run() first")
        return charts.counts(self.result, charts.axes_for("TipBrowser.plot", ax))

    def _act(self, act: str, value: Any) -> None:
        name, _, part = act.partition(":")
        self.state = replace(self.state, message="")
        if name in FILTERS:
            changes: Any = {name: str(value or "")}
            found = replace(self.state, **changes)
            found.shown()  # refuses what no tip has
            self.state = found
        elif name in ("set", "code"):
            getattr(self, f"_{name}")(part, value)
        elif name in ("pick", "draft", "device", "open", "limit", "explanation"):
            getattr(self, f"_{name}")(value)
        elif act in ACTS:
            getattr(self, f"_{act}")()
        else:
            raise KeyError(act)

    def _refuse(self, error: EduError) -> None:
        self.state = replace(self.state, message=error.sentence())

    def _pick(self, value: Any) -> None:
        tip = find(str(value))
        if tip.slug != self.state.slug:
            self.abandon()
            self.state = replace(self.state, slug=tip.slug)

    def _device(self, value: Any) -> None:
        self.state = replace(self.state, device=str(value or tips.ANY))

    def _open(self, value: Any) -> None:
        step = typed("open", value)
        if 1 <= step <= self.state.visit.reached:
            self.state = self.state.with_visit(open=step)

    def _next(self) -> None:
        """Do what the step in hand asks for, and go on to the next: before an audience, one press is one step."""
        visit = self.state.visit
        failed = visit.result is not None and visit.result.failed  # then there is nothing to explain
        if visit.hand < visit.reached and (visit.hand != 4 or visit.explained or failed):
            self._open(visit.hand + 1)
        elif visit.hand == 1:
            if visit.draft is None:
                raise TipError("the next step", "there is no prediction yet", "choose an answer first")
            self._commit()
        elif visit.hand == 2:
            self._run()
        elif visit.hand == 4:
            self._explain()
        else:
            untried = (place for place in range(len(self.tip.limits)) if place not in visit.ends)
            self._limit(next(untried, len(self.tip.limits)))

    def _back(self) -> None:
        self._open(self.state.visit.hand - 1)

    def _reset(self) -> None:
        self.abandon()
        visits = {slug: visit for slug, visit in self.state.visits.items() if slug != self.state.slug}
        self.state = replace(self.state, visits=visits)

    def _draft(self, value: Any) -> None:
        if not self.state.visit.committed:
            self.state = tips.draft(self.tip, self.state, value)

    def _commit(self) -> None:
        if self.state.visit.draft is not None:
            self.state = self.state.with_visit(committed=True, open=0)

    def _again(self) -> None:
        self.abandon()
        self.state = self.state.with_visit(
            committed=False, draft=None, result=None, answer=None, explained=False, ends={}, open=0
        )

    def _set(self, name: str, value: Any) -> None:
        known = {p.name: p for p in self.tip.every_parameter}
        if name not in known:
            raise KeyError(name)
        parameter = known[name]
        if isinstance(parameter, Size):  # the slider counts its stops
            stops = parameter.stops
            value = stops[max(0, min(int(value), len(stops) - 1))]
        setting = {**self.state.visit.setting, name: parameter.parse(value)}
        self.state = self.state.with_visit(setting=setting)

    def _edit(self) -> None:
        self.state = self.state.with_visit(editing=True)

    def _edited(self) -> None:
        tip, code = self.tip, self.state.visit.code
        self.abandon()  # a run of the code as it was
        self.work(
            lambda tell: _alone(lambda: _compiled(tip, code)), self._fits
        )  # code that cannot run stays open, with the reason

    def _fits(self, _: Any) -> None:
        self.state = self.state.with_visit(editing=False)

    def _restore(self) -> None:
        self.state = self.state.with_visit(code={}, editing=False)

    def _code(self, name: str, value: Any) -> None:
        if name not in ("slow", "fast"):
            raise KeyError(name)
        kept = {key: source for key, source in self.state.visit.code.items() if key != name}
        if str(value).strip() != tips.way(self.tip, tips.Visit(), name).strip():
            kept[name] = str(value)
        self.state = self.state.with_visit(code=kept)

    def _run(self) -> None:
        tip, visit = self.tip, self.state.visit
        if visit.committed:
            self._running = visit.code
            self.work(lambda tell: _alone(lambda: _run(tip, visit, tell)), self._finished)

    def _torch(self) -> None:
        """The same ways in PyTorch, in the same setting."""
        tip, visit = self.tip, self.state.visit
        if visit.result is not None:
            self.work(lambda tell: _alone(lambda: run_in_torch(tip, visit.setting, progress=tell)), self._there)

    def _there(self, result: Result) -> None:
        self.state = self.state.with_visit(there=result, open=3)

    def _finished(self, result: Result) -> None:
        visit = replace(self.state.visit, result=result, ran=self._running)
        answer = visit.answer
        if answer is None and tips.as_asked(visit, result):
            answer = self.tip.question.answer(result)
            note_prediction(self.tip.question.ask, visit.draft, answer)
        self.state = self.state.with_visit(result=result, ran=self._running, answer=answer, there=None, open=3)

    def _explanation(self, value: Any) -> None:
        self.state = self.state.with_visit(explanation=str(value or ""))

    def _explain(self) -> None:
        result = self.state.visit.result
        if result is not None and not result.failed:
            self.state = self.state.with_visit(explained=True, open=4)

    def _limit(self, value: Any) -> None:
        tip, place = self.tip, int(value)
        if self.state.visit.result is None or not 0 <= place < len(tip.limits):
            return
        found = run(tip, tip.limits[place].setting, clock=False)
        self.state = self.state.with_visit(ends={**self.state.visit.ends, place: found}, open=5)


def _alone(job: Callable[[], Any]) -> Any:
    """Do what runs a learner's code. Afterwards all is as before."""
    with hosted(), seeded(0):
        return job()


def _run(tip: Tip, visit: tips.Visit, tell: Tell) -> Result:
    return run(tip, visit.setting, progress=tell, **_compiled(tip, visit.code))


def _compiled(tip: Tip, code: Mapping[str, str]) -> dict[str, Any]:
    """The learner's copies as functions. It runs what they say at their top level, so only where it can be stopped."""
    return {name: compiled(tip, name, source) for name, source in code.items()}


def compiled(tip: Tip, name: str, source: str) -> Callable[..., Any]:
    """A learner's copy of ``slow`` or ``fast`` as a function. Raises `TipError` if the code does not define it."""
    letter = tips.LETTERS[name]
    file = f"<{tip.slug}, {letter}, edited>"
    space = names_for(getattr(tip, name).__globals__)
    try:
        exec(compile(source, file, "exec"), space)
    except (Exception, SystemExit) as error:  # by the learner's code: shown as it is
        line = f", line {error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
        raise TipError(
            f"the edited {letter}", said(error).replace(":", f"{line}:", 1), "fix it, or take the original code"
        ) from None
    if not callable(space.get(letter)):
        raise TipError(f"the edited {letter}", f"it defines no function {letter}", f"begin with def {letter}(…):")
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    made: Callable[..., Any] = space[letter]
    return made


def _chosen(tip: Tip, setting: Any) -> dict[str, Any]:
    """The parameters that are given, as the tip takes them. Raises `TipError` for what it does not take."""
    if not isinstance(setting, Mapping):
        raise refusal("TipBrowser", "setting", setting, "it names parameters of the tip", "write {'n': 1000}")
    parsed = tip.setting({str(name): value for name, value in setting.items()})
    return {name: parsed[name] for name in parsed if name in setting}


def show_tip(slug: str) -> TipBrowser:
    """One tip, to be predicted, run and explained. Raises `TipError` for an unknown slug."""
    return TipBrowser(slug, alone=True)
