"""Which tips apply to my program? `advise` watches one run, and says what was found, where, and what it cost.

>>> import tinygrad_edu as tg
>>> from tinygrad_edu import tips
>>> x = tg.rand(64, 8)
>>> model = tg.nn.Linear(8, 2)
>>> with tips.advise() as report, tg.no_grad():
...     answers = [model(x[i : i + 1]) for i in range(64)]
>>> [one.slug for one in report]
['vectorise']
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

from ..common.blocks import block
from ..common.lines import describe_line
from ..common.wording import plural, seconds_text, shown
from ..compiler import traces
from ..errors import ArgumentError
from . import registry
from .rewriting import Saving, savings
from .signs import Seen, Sign


@dataclass(frozen=True)
class Advice:
    """A tip that applies, and why: ``share`` is the part of the run's time that the habit took, measured or virtual."""

    slug: str
    title: str
    sign: Sign
    share: float
    again: Saving | None = None  # from running the program without the habit

    @property
    def line(self) -> str:
        """The line of the program, in words."""
        return describe_line(self.sign.line)

    @property
    def cost(self) -> str:
        """What the habit cost, in words, and how that is known."""
        known = "simulated" if self.sign.virtual else "measured, watched"
        spent = f"at most {seconds_text(self.sign.seconds)} of this run ({known}), {self.share:.0%}"
        time = spent if self.sign.seconds else ""
        return "; ".join(part for part in (time, self.sign.saves) if part)

    @property
    def command(self) -> str:
        """What opens the tip, at the program's sizes."""
        sizes = "".join(f" --size {name}={value}" for name, value in self.sign.setting.items())
        return f"tinygrad-edu tips run {self.slug}{sizes}"

    def as_dict(self) -> dict[str, Any]:
        """All of it, as plain data."""
        return {
            "tip": self.slug, "title": self.title, "line": self.line, "found": self.sign.told,
            "seconds": self.sign.seconds, "simulated": self.sign.virtual, "share": round(self.share, 4),
            "saves": self.sign.saves, "open": self.command, "again": None if self.again is None else asdict(self.again),
        }  # fmt: skip


class Report(list[Advice]):
    """The tips that apply, those that cost most first. Empty until the block has ended."""

    watched = 0  # operations
    seconds = 0.0

    def text(self) -> str:
        """The report, line by line."""
        ran = f"{plural(self.watched, 'operation')} watched in {seconds_text(self.seconds)}"
        if not self.watched:
            return "Nothing was watched: no operation ran in this thread."
        if not self:
            return f"No tip applies that shows in a run: {ran}."
        rows = [f"{plural(len(self), 'tip')} {'applies' if len(self) == 1 else 'apply'} ({ran}):"]
        for number, one in enumerate(self, 1):
            rows += ["", f"{number}. {one.title}", f"   {one.line or 'no line of the program'}", f"   {one.sign.told}"]
            rows += [f"   cost: {one.cost}"] if one.cost else []
            rows += [f"   run again: {one.again.words}"] if one.again is not None else []
            rows.append(f"   try:  {one.command}")
        return "\n".join(rows)

    def measure(self, program: Callable[[], Any], turns: int = 3) -> Report:
        """Find out what some habits cost by running the program without them, in turns with it as written.

        That can be done for tips whose cure does not change the program's own lines, such as workers that read, or
        gradients that are let go of. The others keep their estimate. Returns the report itself.

        Raises `ArgumentError` if ``program`` is not a function, or ``turns`` is below 1.
        """
        if not callable(program) or not isinstance(turns, int) or turns < 1:
            why, mend = "it runs a function some times", "hand in the function itself, such as report.measure(train)"
            raise ArgumentError(f"measure({shown(program, 40)}, turns={turns!r})", why, mend)
        can = [(place, one, block) for place, one in enumerate(self)
               if (block := registry.find(one.slug).without) is not None]  # fmt: skip
        if can:
            found = savings(program, [(block, one.sign.virtual) for _, one, block in can], turns)
            for (place, one, _), saving in zip(can, found, strict=True):
                self[place] = replace(one, again=saving)
        return self

    def json(self) -> str:
        """The report as JSON."""
        found = {"operations": self.watched, "seconds": self.seconds, "advice": [one.as_dict() for one in self]}
        return json.dumps(found, indent=2)

    def __repr__(self) -> str:
        return self.text()

    def _repr_markdown_(self) -> str:
        """The same for a notebook, as a table."""
        first, *_ = self.text().split("\n")
        if not self:
            return first
        rows = ["| tip | where, and what was found | cost |", "|---|---|---|"]
        for one in self:
            where = f"`{one.line.replace('`', '')}`<br>" if one.line else ""
            cost = one.cost if one.again is None else f"{one.cost}<br>run again: {one.again.words}"
            rows.append(f'| **{one.title}**<br>`TipBrowser("{one.slug}")` | {where}{one.sign.told} | {cost} |')
        return "\n".join([first, "", *[row.replace("\n", " ") for row in rows]])


@block
def advise() -> Iterator[Report]:
    """Watch the program inside the block, and report the tips that apply: ``with tips.advise() as report: train()``.

    An error ends the block as ever; what was seen until then is reported too. Watching makes small operations slower
    by some microseconds each, so costs are shares of this run. Only the thread that entered the block is watched.
    """
    report, seen = Report(), Seen()
    with traces() as seen.traces:
        try:
            with seen:
                yield report
        finally:
            _fill(report, seen)


def _fill(report: Report, seen: Seen) -> None:
    report.watched, report.seconds = sum(place.count for place in seen.places), seen.seconds
    whole = {False: max(seen.seconds, 1e-9), True: max(seen.virtual / 1e9, 1e-9)}
    found = []
    for tip in registry.all_tips():
        signs = list(tip.applies(seen)) if tip.applies is not None else []
        if signs:
            worst = max(signs, key=lambda sign: sign.seconds)
            share = min(1.0, worst.seconds / whole[worst.virtual])
            found.append(Advice(tip.slug, tip.title, worst, share))
    report[:] = sorted(found, key=lambda one: (-one.share, one.slug))
