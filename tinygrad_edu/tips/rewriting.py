"""What a habit costs, found by running the program without it: as it is written, and with the habit left out, in turns.

A tip that can do so says how in its ``without``: a block in which a program behaves as if its lines had been changed.
"""

from __future__ import annotations

import gc
import inspect
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from functools import wraps
from typing import Any

from .. import sim
from ..common.wording import plural, ratio_with_spread, seconds_text
from ..data import DataLoader

Block = Callable[[], AbstractContextManager[Any]]


@dataclass(frozen=True)
class Saving:
    """Seconds that a program took as written and without a habit, run in turns: medians, and the ratio's spread."""

    before: float
    after: float
    ratios: tuple[float, ...]
    virtual: bool

    @property
    def words(self) -> str:
        """The times, what they are to each other, and how that is known."""
        low, high = min(self.ratios), max(self.ratios)
        times = f"{seconds_text(self.before)} as written, {seconds_text(self.after)} without"
        known = "simulated" if self.virtual else f"measured, {plural(len(self.ratios), 'turn')}"
        spread = ratio_with_spread(self.before / self.after, (low, high)) if self.after else "all of it"
        return f"{times} ({known}): {spread}"


def savings(program: Callable[[], Any], blocks: Sequence[tuple[Block, bool]], turns: int = 3) -> list[Saving]:
    """What the program takes in each of these blocks, against as it is written: in virtual time where that is asked.

    It runs ``turns`` times so and so, after a run that does not count.
    """
    program()
    runs = [[_run(program, block) for block in (nullcontext, *(one for one, _ in blocks))] for _ in range(turns)]
    found = []
    for place, (_, virtual) in enumerate(blocks, 1):
        pairs = [(turn[0][virtual], turn[place][virtual]) for turn in runs]
        before, after = (statistics.median(column) for column in zip(*pairs, strict=True))
        found.append(Saving(before, after, tuple(a / max(b, 1e-12) for a, b in pairs), virtual))
    return found


def _run(program: Callable[[], Any], block: Block) -> tuple[float, float]:
    """Seconds by the clock, and virtual ones."""
    gc.collect()
    with block(), sim.timeline() as seen:
        began = time.perf_counter()
        program()
        took = time.perf_counter() - began
        sim.finish()
    return took, (max((work.end for work in seen), default=0) - min((work.start for work in seen), default=0)) / 1e9


# How a habit is left out --------------------------------------------------------------------------------------------


@contextmanager
def replaced(owner: Any, name: str, value: Any) -> Iterator[None]:
    """In this block an attribute is another one, for all threads."""
    before = owner.__dict__[name]
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)


@contextmanager
def forced(*methods: tuple[type, str], **given: Any) -> Iterator[None]:
    """In this block these methods get these arguments, whatever the program gives them."""
    with ExitStack() as stack:
        for owner, name in methods:
            stack.enter_context(replaced(owner, name, _with(owner.__dict__[name], given)))
        yield


def _with(method: Any, given: dict[str, Any]) -> Any:
    signature = inspect.signature(method)

    @wraps(method)
    def call(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs)
        bound.arguments.update(given)
        return method(*bound.args, **bound.kwargs)

    return call


def loading(where: Callable[[DataLoader], bool], **setting: Any) -> AbstractContextManager[Any]:
    """A block in which the loaders that this is true of begin their passes with another setting."""
    plain = DataLoader.__iter__

    def begin(self: DataLoader) -> Any:
        if not where(self):
            return plain(self)
        before = {name: getattr(self, name) for name in setting}
        self.__dict__.update(setting)
        try:
            return plain(self)
        finally:
            self.__dict__.update(before)

    return replaced(DataLoader, "__iter__", begin)
