"""Which tips apply to a program: what its habits took, where they are, and each tip live at the program's sizes."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any, ClassVar

import traitlets

from tinygrad_edu.views import advice
from tinygrad_edu.views.board import Board
from tinygrad_edu.views.frame import Control, Frame
from tinygrad_edu.views.given import texts, typed

from .base import EduWidget
from .tip_browser import TipBrowser

BACK = Control("button", "report", "Back to the report")


class AdviceReport(EduWidget, room=advice):
    """``AdviceReport(report)`` shows what ``with tips.advise() as report: …`` has found; ``%%advise`` gives one.

    Gestures: choose a tip (click, ←, →) to read where its habit is, what was found there and what it cost; *Open this
    tip* (o) shows it here, live, at the program's sizes, with *Back to the report*.
    """

    mirrors: ClassVar[dict[str, str]] = {"at": "pick"}
    at = traitlets.Int(0).tag(sync=True)  # the place of the tip in front

    def __init__(self, report: Any, *, ask: str = "") -> None:
        texts("AdviceReport", ask=ask)
        self.report, self.state = report, advice.read(report, ask)
        self._browser: TipBrowser | None = None  # of the tip that is open
        super().__init__()

    @property
    def opened(self) -> TipBrowser | None:
        """The tip that is open; None for the report."""
        return self._browser

    def frame(self) -> Frame:
        """The frame of the report, or of the tip that is open."""
        if self._browser is None:
            return advice.frame(self.state)
        shown = self._browser._framed()
        assert isinstance(shown, Board)
        told = f"AdviceReport, of which a tip is open. {shown.summary or shown.text}"
        return replace(shown, tools=(BACK, *shown.tools), summary=told)

    def data(self) -> Any:
        """All that was found, as plain data."""
        return asdict(self.state)

    def mirrored(self) -> dict[str, Any]:
        """The place of the tip in front."""
        return {"at": self.state.at}

    def _act(self, act: str, value: Any) -> None:
        if self._browser is not None:
            self._in_the_tip(self._browser, act, value)
        elif act == "pick" and self.state.found:
            self.state = advice.choose(self.state, typed(act, value))
        elif act in ("step", "back") and self.state.found:
            place = self.state.at + (1 if act == "step" else -1)
            self.state = advice.choose(self.state, max(0, min(place, len(self.state.found) - 1)))
        elif act == "open" and self.state.front is not None:
            self._open(self.state.front)
        else:
            raise KeyError(act)

    def _in_the_tip(self, browser: TipBrowser, act: str, value: Any) -> None:
        if act in ("pick", "step"):  # pressed in the report, before the browser knew that a tip is open
            return
        if act != "report":
            browser.act(act, value)
            return
        browser.abandon()
        browser.unobserve_all()
        browser.close()
        self._browser = None

    def _open(self, found: advice.Found) -> None:
        browser = TipBrowser(found.slug, alone=True, setting=found.setting)
        browser.observe(self._passed_on, "html")  # while it runs, on a thread of its own
        self._browser = browser

    def _passed_on(self, change: object) -> None:
        """What the tip shows now. Its thread holds its lock, so this takes none."""
        if self._browser is not None:
            self.html = self._framed().html()

    def _halt(self) -> None:
        if self._browser is not None:
            self._browser.act("halt")
