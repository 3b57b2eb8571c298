"""A timeline in words: each lane, each gap and its cause, and the text twin."""

from __future__ import annotations

from collections.abc import Sequence

from ...common.wording import bytes_text, number, plural, seconds_text
from .model import HOST, Gap, Item, Run, gaps, is_stream

FEW = 48  # pieces of work that the text tells one by one


def lane_text(lane: str) -> str:
    """``copy in``, ``stream 0``; of a second device with its name."""
    device, _, rest = lane.partition(" ")
    if lane == HOST:
        return HOST
    words = {"to device": "copy in", "to host": "copy out"}.get(rest, rest if is_stream(lane) else f"copy {rest}")
    return words if device == "sim" else f"{device} {words}"


def time_text(nanoseconds: float) -> str:
    """A time, simulated."""
    return seconds_text(nanoseconds / 1e9)


def percent(share: float) -> str:
    """``69 %``."""
    return f"{round(100 * share)} %"


def item_text(item: Item) -> str:
    """``matmul, 20.0 µs, 512 kB (train.py, line 7: y = x @ w)``."""
    name = f"waits for {lane_text(item.waited_for)}" if item.kind == "wait" and item.waited_for else item.name
    size = f", {bytes_text(item.nbytes)}" if item.nbytes else ""
    asks = "asks for " if item.kind == "launch" else ""
    return f"{asks}{name}, {time_text(item.duration)}{size}" + (f" ({item.where})" if item.where else "")


def gap_text(gap: Gap) -> str:
    """``idle 450 µs before matmul: the host waits for copy in``."""
    told = f"idle {time_text(gap.duration)} before {gap.before.name}"
    cause = gap.cause
    if cause is None:
        return f"{told}: nothing was asked for"
    if cause.lane != HOST:
        return f"{told}: it waits for {cause.name} in {lane_text(cause.lane)}"
    return f"{told}: the host {_does(cause)}"


def _does(item: Item) -> str:
    """What the host does."""
    if item.name.startswith("copy to "):  # "waits for the copy to the device"
        what = item.name.replace("copy to", "the copy to the")
        return {"wait": f"waits for {what}", "copy": f"is busy with {what}"}.get(item.kind, f"asks for {what}")
    words = {"launch": f"asks for {item.name}", "wait": f"waits in {item.name}", "reserve": "asks for memory"}
    return words.get(item.kind, f"is busy with {item.name}")


def summary(run: Run) -> str:
    """``device busy 69 %; longest gap 450 µs: the host waits for copy in``."""
    told = f"device busy {percent(run.computing)}"
    longest = max(gaps(run), key=lambda gap: gap.duration, default=None)
    return told if longest is None else f"{told} · {gap_text(longest)}"


def describe(runs: Sequence[Run]) -> str:
    """The one fact of each run."""
    return " ".join(f"{_named(run)}{time_text(run.end)}, {summary(run)}." for run in runs)


def _named(run: Run) -> str:
    return f"{run.name}: " if run.name else ""


def text(runs: Sequence[Run]) -> str:
    """The text twin: every lane of every run, and each gap of a stream with its cause."""
    lines = []
    for run in runs:
        lines.append(f"{_named(run)}{time_text(run.end)} in all, simulated as a {run.machine}; {summary(run)}")
        for lane in run.lanes:
            items = run.of(lane)
            lines.append(
                f"{lane_text(lane)}: {plural(len(items), 'piece')} of work, busy {number(100 * run.busy(lane))} %"
            )
            lines += [f"  {time_text(item.start)}: {item_text(item)}" for item in items[:FEW]]
            lines += [f"  and {len(items) - FEW} more"] if len(items) > FEW else []
        found = gaps(run)
        lines += [f"{plural(len(found), 'stretch')} without a kernel".replace("stretchs", "stretches")] if found else []
        lines += [f"  {time_text(gap.start)}: {gap_text(gap)}" for gap in found[:FEW]]
    return "\n".join(lines)
