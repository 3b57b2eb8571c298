"""What lesson 6 measures, as `tools/record_bounds.py` recorded it, for readers without a kernel."""

from __future__ import annotations

import datetime
import json
from functools import cache
from pathlib import Path
from typing import Any

from ..common.wording import plural, seconds_text, si
from ..observe.machine import Conditions
from ..observe.results import Comparison, Sweep, Timing
from ..observe.roofline import Peaks, Point, Roofline
from ..views import race, roofline
from .reasons import reason
from .recorded import Recorded, as_recorded

KEPT = Path(__file__).with_name("bounds_recorded.json")


@cache
def kept() -> dict[str, Any]:
    """The record, as plain data."""
    found: dict[str, Any] = json.loads(KEPT.read_text(encoding="utf-8"))
    return found


def when() -> str:
    """The day of the record: ``28 November 2026``."""
    day = datetime.date.fromisoformat(kept()["date"])
    return f"{day.day} {day:%B %Y}"


def machine_code() -> tuple[float, float]:
    """Seconds that the program that crawls took as machine code, and its first run, in which that is made."""
    return float(kept()["crawl"][2]), float(kept()["made"])


def recorded_peaks() -> Peaks:
    """The peaks of part 1's roofline."""
    found = kept()["roofline"]
    bandwidths = tuple(map(tuple, found["peaks"]["bandwidths"]))
    starts = tuple(map(tuple, found["peaks"]["starts"]))
    cpu = found["conditions"]["cpu"]
    return Peaks(**{**found["peaks"], "machine": cpu, "bandwidths": bandwidths, "starts": starts})


def recorded_roofline() -> Recorded:
    """The roofline of part 1."""
    found = kept()["roofline"]
    points = tuple(Point(**{**one, "line": one["line"].partition(": ")[2]}) for one in found["points"])
    conditions, peaks = Conditions(**found["conditions"]), recorded_peaks()
    rest = tuple(map(tuple, found["rest"]))
    whole = Roofline(peaks, points, conditions, found["runs"], rest, found["whole"])
    state = roofline.RooflineState(conditions.cpu, (), begun=True, plain=True)
    shown = roofline.frame(roofline.finish(state, conditions.cpu, whole))
    return Recorded(as_recorded(shown, when()), f"a roofline, recorded on {when()}")


def crossed(peaks: Peaks) -> str:
    """``11,000 numbers on (8 bytes each, at 130 GB/s)``: from where bytes take longer than a start."""
    numbers = float(f"{peaks.crossing(8):.2g}")
    return f"{numbers:,.0f} numbers on (8 bytes each, at {si(peaks.bandwidth_of(8 * numbers), 'B/s')})"


def recorded_race(name: str, key: str) -> Recorded:
    """One of the two races, ``steps`` or ``chain``, with the reason of that name."""
    found = kept()[name]
    result = Sweep(tuple(found["sizes"]), tuple(map(_comparison, found["comparisons"])))
    one = result.comparisons[-1]
    last = len(result.sizes) - 1
    state = race.RaceState((one.slow.name, one.fast.name), result.sizes, last, why=str(reason(key)))
    shown = as_recorded(race.frame(race.finish(state, result)), when())
    return Recorded(shown, f"a race, recorded on {when()}")


def recorded_times() -> str:
    """The times that no picture shows."""
    points = _comparison(kept()["points"])
    given, program, machine = map(seconds_text, kept()["crawl"])
    double = next(Point(**one) for one in kept()["roofline"]["points"] if one["name"] == "mul" and one["calls"] == 20)
    few, as_written = map(_comparison, kept()["chain"]["comparisons"])
    loop = Timing("", tuple(kept()["loop"]), (), 1)
    return "\n".join([
        f"Recorded on {when()}: medians, the middle half in brackets.",
        points.conditions.text(),
        "",
        f"200 steps of the springs, {plural(len(points.ratios), 'pair')} in turns:",
        f"  3 points    {points.fast.text()}",
        f"  300 points  {points.slow.text()}",
        "100,000 steps:",
        f"  as given, once           {given}",
        f"  500 calls of 200 steps   {program}",
        f"  the same as machine code {machine} (Numba {kept()['numba']})",
        f"`x * 2`: bytes take longer than a start, computed: from {crossed(recorded_peaks())}.",
        "The chain of eight million numbers:",
        f"  its bytes, computed      {seconds_text(8 * double.seconds)} as written, {seconds_text(double.seconds)} "
        "compiled",
        f"  measured                 {as_written.slow.text()}, {as_written.fast.text()}",
        f"  80 times 100,000 numbers {seconds_text(80 * few.fast.median)} compiled",
        f"  as machine code          {loop.text()}",
    ])  # fmt: skip


def _comparison(found: dict[str, Any]) -> Comparison:
    slow, fast = (_timing(found[which]) for which in ("slow", "fast"))
    return Comparison(slow, fast, tuple(found["ratios"]), Conditions(**found["conditions"]), found["stopped"])


def _timing(found: dict[str, Any]) -> Timing:
    return Timing(found["name"], tuple(found["times"]), tuple(found["warmups"]), found["loops"])
