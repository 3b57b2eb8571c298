"""A ledger of changes to a program: each with what it did to time, memory and numbers."""

from __future__ import annotations

import html
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .. import accelerator, sim
from ..common.wording import bytes_text, seconds_text, shown
from ..data.timeline import passes
from ..errors import ArgumentError
from ..observe.machine import conditions
from ..tensor import Tensor
from ..tensor.creation import zeros
from ..tensor.random import seeded
from .feeding_programs import EPOCHS, OnDisk, on_disk

MACHINE = "T4"
CLOSE = 1e-3  # numbers that differ by less are the same
SMALL, LONG = 0.01, 0.1  # a share of time or memory, and seconds of waiting, from which on two lines differ
COLUMNS = ("change", "accelerator (simulated)", "waiting for data (measured)", "memory at its peak (counted)",
           "loss (computed)", "right (counted)", "numbers")  # fmt: skip
QUARTER = 1 << 18  # numbers of float32: the largest small block
QUICK, RUNS = 1.5, 3  # a version that takes less than so many seconds runs so many times


@dataclass(frozen=True)
class Budget:
    """What a program may take: seconds of the accelerator's time and of waiting for data, and bytes there."""

    seconds: float = 0.007
    waited: float = 1.2
    nbytes: int = 600_000


@dataclass(frozen=True)
class Try:
    """What one version of the program took. ``launches`` are kernels that it started."""

    change: str
    seconds: float
    waits: tuple[float, ...]  # of each run
    nbytes: int
    losses: tuple[float, ...]
    accuracies: tuple[float, ...]  # after each epoch
    launches: int
    read: int = 0  # images
    took: float = 0.0  # seconds by the clock
    model: Any = None
    expected: float | None = None  # seconds of the accelerator, as the learner said before

    @property
    def accuracy(self) -> float:
        """The accuracy at the end."""
        return self.accuracies[-1]

    @property
    def waited(self) -> float:
        """Seconds of waiting for data: the median of its runs."""
        return statistics.median(self.waits)

    @property
    def waiting(self) -> str:
        """The same in words, with the least and the most."""
        if len(self.waits) == 1:
            return f"{seconds_text(self.waited)} (1 run)"
        return f"{seconds_text(self.waited)} ({seconds_text(min(self.waits))}–{seconds_text(max(self.waits))})"


class Ledger:
    """Versions of ``train(images, new_images)``, in the order in which they were tried, beside a budget.

    `add` runs one, on a simulated T4, from the same random numbers each time; a quick one three times, for a median.
    The program has to return its model, the losses of all epochs, and the accuracy after each.
    """

    def __init__(self, budget: Budget | None = None) -> None:
        self.budget, self.tries = budget or Budget(), list[Try]()

    def add(self, change: str, train: Callable[..., Any], expected: float | None = None) -> Ledger:
        """Run a version, and note what it took, under what was changed. A change of the same name is measured anew.

        ``expected`` are the milliseconds of the accelerator that were predicted; they stand beside what came out.
        Raises `ArgumentError` for a program that returns something else, and whatever the program raises.
        """
        if not isinstance(change, str) or not change.strip():
            raise ArgumentError(f"a change called {change!r}", "it is noted in words", "say what you changed")
        if expected is not None and (isinstance(expected, bool) or not isinstance(expected, (int, float))):
            told, why = f"an expectation of {shown(expected, 40)}", "it is a number of milliseconds"
            raise ArgumentError(told, why, "write it without a unit, such as expected = 6.5")
        if self.tries and self.tries[-1].change == change:
            self.tries.pop()
        tried = _tried(change, train)
        if tried.took < QUICK:
            more = [_tried(change, train).waited for _ in range(RUNS - 1)]
            tried = replace(tried, waits=(*tried.waits, *more))
        self.tries.append(replace(tried, expected=None if expected is None else expected / 1000))
        return self

    @property
    def changes(self) -> int:
        """How many lines differ from all above: in their numbers, or clearly in what they took."""
        return sum(not any(_alike(one, other) for other in self.tries[:place])
                   for place, one in enumerate(self.tries) if place)  # fmt: skip

    def within(self, one: Try) -> tuple[bool, bool, bool]:
        """Whether it keeps to the budget: of time, of waiting, of memory."""
        budget = self.budget
        return one.seconds <= budget.seconds, one.waited <= budget.waited, one.nbytes <= budget.nbytes

    def rows(self) -> list[tuple[str, ...]]:
        """The table without its head: the budget, then each change."""
        budget = self.budget
        limits = seconds_text(budget.seconds), seconds_text(budget.waited), bytes_text(budget.nbytes)
        rows: list[tuple[str, ...]] = [("budget", *limits, "", "", "")]
        for place, one in enumerate(self.tries):
            told = seconds_text(one.seconds), one.waiting, bytes_text(one.nbytes)
            kept = [f"{text} ✓" if good else text for text, good in zip(told, self.within(one), strict=True)]
            if one.expected is not None:
                kept[0] += f" (expected {seconds_text(one.expected)})"
            before = self.tries[place - 1] if place else None
            again = next((n for n, old in enumerate(self.tries[:place], 1) if same(old, one)), 0)
            told_again = "as before" if before and same(before, one) else f"as in line {again}" if again else "other"
            numbers = "" if before is None else told_again
            rows.append((one.change, *kept, f"{one.losses[-1]:.4f}", f"{one.accuracy:.0%}", numbers))
        return rows

    def __repr__(self) -> str:
        lines = [COLUMNS, *self.rows()]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        text = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in lines]
        return "\n".join([*(line.rstrip() for line in text), self.about()])

    def about(self) -> str:
        """How the figures came about."""
        return f"waiting: medians of {RUNS} runs (least–most), slow versions run once; {conditions(None).text()}"

    def _repr_html_(self) -> str:
        def row(cells: tuple[str, ...], tag: str) -> str:
            sides = ["left", *["right"] * (len(cells) - 2), "left"]
            style = "padding:2px 10px;white-space:normal;vertical-align:top;text-align:"
            widths = [";min-width:8em", *[""] * (len(cells) - 1)]  # a change is told in words
            texts = [f'<{tag} style="{style}{side}{width}">{html.escape(cell)}</{tag}>'
                     for cell, side, width in zip(cells, sides, widths, strict=True)]  # fmt: skip
            return f"<tr>{''.join(texts)}</tr>"

        body = "".join(row(cells, "td") for cells in self.rows())
        return (
            f'<table style="border-collapse:collapse"><thead>{row(COLUMNS, "th")}</thead><tbody>{body}</tbody></table>'
            f"<p>{html.escape(self.about())}</p>"
        )


def same(one: Try, other: Try) -> bool:
    """Whether two versions compute the same losses and accuracy."""
    return len(one.losses) == len(other.losses) and bool(
        np.allclose(one.losses, other.losses, rtol=CLOSE, atol=0)
        and np.allclose(one.accuracies, other.accuracies, rtol=0, atol=CLOSE)
    )


def _alike(one: Try, other: Try) -> bool:
    """Whether nothing has changed that could be seen."""
    return (
        same(one, other)
        and abs(one.seconds / other.seconds - 1) < SMALL
        and abs(one.nbytes / other.nbytes - 1) < SMALL
        and abs(one.waited - other.waited) < LONG
    )


@sim.alone()  # a widget may be running something there
def _tried(change: str, train: Callable[..., Any]) -> Try:
    before = sim.machine()
    sim.use(MACHINE)
    try:
        held = [zeros(QUARTER, device="sim") for _ in range(8)]
        del held  # from here on there is memory in reserve
        sim.restart()
        accelerator.reset_peak_memory_stats()
        stood, images = accelerator.memory_allocated(), on_disk()
        with seeded(0), passes() as seen, sim.timeline() as log:
            began = time.perf_counter()
            returned = train(*images)
            took = time.perf_counter() - began
            sim.finish()
        peak = accelerator.max_memory_allocated() - stood
        losses, accuracies, model = _returned(returned)
        kernels = sum(work.kind == "kernel" for work in log)
        read = sum(one.read for one in images) + sum(one.samples for one in seen if one.workers)
        return Try(
            change, log.end / 1e9, (_waited(images, seen),), peak, losses, accuracies, kernels, read, took, model
        )
    finally:
        sim.finish()
        sim.use(before)


def _waited(images: tuple[OnDisk, ...], seen: list[Any]) -> float:
    """Seconds for which the program waited for data: read by itself, with a loader or without, or by workers."""
    return sum(one.direct for one in images) + sum(one.waited for one in seen if one.workers)


def _returned(returned: Any) -> tuple[tuple[float, ...], tuple[float, ...], Any]:
    """Losses, accuracies and the model, from what a version returns."""
    why, mend = f"it returns {type(returned).__name__}", "return model, losses, accuracies, as the given program does"
    if not isinstance(returned, tuple) or len(returned) != 3 or not callable(returned[0]):
        raise ArgumentError("a version of train in the ledger", why, mend)
    model, losses, accuracies = returned
    if len(losses) != EPOCHS or len(accuracies) != EPOCHS:
        why = f"there are {len(losses)} losses and {len(accuracies)} accuracies for {EPOCHS} epochs"
        raise ArgumentError("a version of train in the ledger", why, mend)
    return tuple(map(_number, losses)), tuple(map(_number, accuracies)), model


def _number(value: Any) -> float:
    return float(value.item() if isinstance(value, Tensor) else value)
