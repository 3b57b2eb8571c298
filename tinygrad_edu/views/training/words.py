"""A training run in words, and its text twin."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ...common.wording import exact, number
from .model import LOSS, Group, Series, TrainingState

SPANS = 120  # that can be pointed at, and that the text lists
HEADS = ("newest", "lowest", "highest")  # of the table
KINDS = {"train": "training", "val": "validation", "valid": "validation"}
EMPTY = "The picture fills **as the loop calls `monitor.log(loss)`**, once in each {unit}."
WHY = "The monitor draws **what the loop gave to `log`**: it computes no loss and no accuracy of its own."


def title(name: str) -> str:
    """The name of a series as words: ``val_accuracy`` is the validation accuracy."""
    first, *others = name.split("_")
    return " ".join([KINDS.get(first, first) if others else first, *others]).strip() or name


def is_share(name: str) -> bool:
    """Whether the numbers of that name are fractions, written in percent."""
    return name.rpartition("_")[2] in ("accuracy", "acc")


def value_text(name: str, value: float) -> str:
    """A number of that name; never 100 % if something is missing, nor 0 % if there is something."""
    if not is_share(name) or not math.isfinite(value):
        return number(value)
    text = f"{100 * value:.1f}"
    if text == "100.0" and value < 1:
        return ">99.9 %"
    return "<0.1 %" if text == "0.0" and value > 0 else f"{text} %"


def progress(state: TrainingState) -> str:
    """How far the run is: ``epoch 14 of 20``."""
    return f"{state.unit} {exact(state.count)} of {exact(state.epochs)}"


def status(state: TrainingState) -> str:
    """Whether the run goes on, is complete, stopped before its end, or was interrupted, and by what."""
    if state.complete:
        return "complete"
    if state.ended not in ("", "stopped"):
        return f"interrupted by {state.ended}"
    if not state.count:
        return f"stopped before the first {state.unit}" if state.ended else "nothing logged yet"
    return state.ended or "running"


def headline(state: TrainingState) -> str:
    """Status and progress, as at the head of the figure."""
    return f"{progress(state)} · {status(state)}"


def describe(state: TrainingState) -> str:
    """The progress so far, in words that do not depend on a machine's rounding."""
    where = {"running": "running, at", "complete": "complete, at", "nothing logged yet": "nothing logged yet, at"}
    said = status(state)
    head = f"TrainingMonitor: {where.get(said, said + ' after' if state.count else said + ', at')} {progress(state)}"
    told = trend(state)
    return f"{head}; {told}." if told else f"{head}."


def trend(state: TrainingState) -> str:
    """How the newest loss compares with the first, and how many were not numbers."""
    series = state.series.get(LOSS)
    if not state.count:
        return ""
    if series is None:
        return "no loss was logged"
    (began, first), (newest, last) = series.first, series.newest
    told = _change(first, last, f"what it was after {state.unit} {exact(began)}")
    if len(series) == 1:
        told = f"the loss was logged once{'' if math.isfinite(first) else f', and is {number(first)}'}"
    elif newest != state.count:
        told += f", up to {state.unit} {exact(newest)}"
    everything = series.whole()
    odd = 0 if everything is None else everything.odd
    return f"{told}; {exact(odd)} of {exact(len(series))} losses are not finite" if odd and len(series) > 1 else told


def _change(first: float, last: float, before: str) -> str:
    if not math.isfinite(last):
        return f"the newest loss is {number(last)}"
    if not math.isfinite(first):
        return f"the first loss was {number(first)}, the newest is a number"
    if last == first:
        return "the newest loss equals the first"
    if last > first:
        return "the loss rose"
    part = "a tenth" if last < first / 10 else "half" if last < first / 2 else ""
    return f"the loss fell to less than {part} of {before}" if part and last >= 0 else "the loss fell"


@dataclass(frozen=True)
class Row:
    """A line of the table below the curve: a series, its newest number, its lowest and its highest."""

    name: str
    values: tuple[str, str, str]


def rows(state: TrainingState) -> list[Row]:
    """The table below the curve."""
    titles = list(map(title, state.series))
    return [
        Row(title(name) if titles.count(title(name)) == 1 else name, _values(name, series, state))
        for name, series in state.series.items()
    ]


def _values(name: str, series: Series, state: TrainingState) -> tuple[str, str, str]:
    def told(record: tuple[int, float] | None) -> str:
        if record is None:
            return "–"
        return f"{value_text(name, record[1])} at {state.unit} {exact(record[0])}"

    at, value = series.newest
    found = series.whole()
    newest = value_text(name, value) if at == state.count else told(series.newest)
    return newest, told(found.low if found else None), told(found.high if found else None)


def span_text(group: Group, state: TrainingState) -> str:
    """One group of records in words: ``epoch 7: loss 0.0310``, ``epochs 1–8: loss 0.100 to 2.30, 3 nan``."""
    return f"{state.unit}{'s' * (group.last > group.first)} {span(group)}: loss {range_text(group)}"


def span(group: Group) -> str:
    """The epochs of a group: ``7``, ``1–8``."""
    return exact(group.first) if group.first == group.last else f"{exact(group.first)}–{exact(group.last)}"


def range_text(group: Group) -> str:
    """The numbers of a group: one, or from the lowest to the highest, and how many are not finite."""
    odd = [(group.nan, "nan"), (group.above, "∞"), (group.below, "−∞")]
    if group.first == group.last and group.low is None:
        return next(word for count, word in odd if count)
    said = [] if group.low is None or group.high is None else [_between(group.low[1], group.high[1])]
    return ", ".join([*said, *(f"{exact(count)} {word}" for count, word in odd if count)])


def _between(low: float, high: float) -> str:
    one, other = number(low), number(high)
    return one if one == other else f"{one} to {other}"


def why(state: TrainingState) -> str:
    """Where the picture comes from; before the first record, how to fill it."""
    return (
        WHY
        if state.count
        else f"The picture fills **as the loop calls `monitor.log(loss)`**, once in each {state.unit}."
    )


def text(state: TrainingState) -> str:
    """The text twin: the newest, lowest and highest number of each series, and the losses."""
    lines = [describe(state), headline(state)]
    for row in rows(state):
        told = (f"{head} {value}" for head, value in zip(HEADS, row.values, strict=True))
        lines.append(f"{row.name}: {', '.join(told)}")
    series = state.series.get(LOSS)
    if series is not None:
        size, found = series.groups(state.count, SPANS)
        by = state.unit if size == 1 else f"{exact(size)} {state.unit}s, lowest to highest"
        listed = (f"{span(one)}: {range_text(one)}" for one in found)
        lines.append(f"loss by {by}: " + ", ".join(listed))
    return "\n".join(lines)


def conditions(state: TrainingState) -> str:
    """Where the numbers come from, and what a long line leaves out."""
    said = f"as given to log · {exact(state.count)} record{'s' * (state.count != 1)}, one for each {state.unit}"
    size = state.series.get(LOSS, Series()).groups()[0]
    return said if size == 1 else f"{said} · of each {exact(size)}, the line shows the lowest and the highest loss"
