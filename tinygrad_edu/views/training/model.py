"""A training run so far, as plain data: what was recorded, and whether the run is still going on."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

LOSS = "loss"
COLUMNS = 728  # of pixels that the wide figure has for its curve; no group is wider than one


@dataclass(slots=True)
class Group:
    """Records of neighbouring epochs, ``first`` to ``last``: their lowest and highest number, each with its epoch."""

    place: int  # which group of its size it is
    first: int
    last: int
    low: tuple[int, float] | None  # None if no number is finite
    high: tuple[int, float] | None
    nan: int = 0  # how many are nan
    above: int = 0  # how many are ∞
    below: int = 0  # how many are −∞

    @property
    def odd(self) -> int:
        """How many are not finite."""
        return self.nan + self.above + self.below

    def absorb(self, later: Group) -> None:
        """Take in the records that follow. Of equal numbers the first counts."""
        self.last = later.last
        if later.low is not None and (self.low is None or later.low[1] < self.low[1]):
            self.low = later.low
        if later.high is not None and (self.high is None or later.high[1] > self.high[1]):
            self.high = later.high
        self.nan += later.nan
        self.above += later.above
        self.below += later.below


def _single(epoch: int, value: float, size: int) -> Group:
    record = (epoch, value) if math.isfinite(value) else None
    place = (epoch - 1) // size
    return Group(place, epoch, epoch, record, record, value != value, value == math.inf, value == -math.inf)


def _joined(found: Iterable[Group], times: int) -> list[Group]:
    """The same records in groups ``times`` as large."""
    joined: list[Group] = []
    for one in found:
        if joined and joined[-1].place == one.place // times:
            joined[-1].absorb(one)
        else:
            joined.append(replace(one, place=one.place // times))
    return joined


class _Book:
    """Every record of a series, and the same in groups. Groups double in size when there are too many, so reading them
    costs no more after a million records than after a thousand."""

    def __init__(self, records: Iterable[tuple[int, float]] = ()) -> None:
        self.at, self.values = array("q"), array("d")
        self.groups: list[Group] = []
        self.size = 1
        self.everything: Group | None = None
        for record in records:
            self.write(*record)

    def write(self, epoch: int, value: float) -> None:
        """One more record."""
        self.at.append(epoch)
        self.values.append(value)
        while epoch > 2 * COLUMNS * self.size:
            self.groups, self.size = _joined(self.groups, 2), 2 * self.size
        one = _single(epoch, value, self.size)
        if self.groups and self.groups[-1].place == one.place:
            self.groups[-1].absorb(one)
        else:
            self.groups.append(one)
        if self.everything is None:
            self.everything = replace(one)
        else:
            self.everything.absorb(one)


class Series:
    """The numbers recorded under one name, each with its epoch. It never changes: `plus` gives a longer one.

    All lengths of a series share one book, so that a record costs the same after a million others.
    """

    __slots__ = ("_book", "_count")

    def __init__(self, records: Iterable[tuple[int, float]] = ()) -> None:
        self._book = _Book(records)
        self._count = len(self._book.at)

    def plus(self, epoch: int, value: float) -> Series:
        """This series and one more number."""
        longer = Series.__new__(Series)
        longer._book, longer._count = self._whole(), self._count + 1
        longer._book.write(epoch, value)
        return longer

    def _whole(self) -> _Book:
        """A book that ends where this series ends: a new one, if another series has gone on in the shared one."""
        return self._book if self._count == len(self._book.at) else _Book(self)

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[tuple[int, float]]:
        return zip(self._book.at[: self._count], self._book.values[: self._count], strict=True)

    @property
    def first(self) -> tuple[int, float]:
        """The first record: its epoch and its value."""
        return self._book.at[0], self._book.values[0]

    @property
    def newest(self) -> tuple[int, float]:
        """The newest record: its epoch and its value."""
        return self._book.at[self._count - 1], self._book.values[self._count - 1]

    def groups(self, total: int | None = None, most: int = 0) -> tuple[int, list[Group]]:
        """The records in groups, and how many epochs a group is for. As finely as a figure can show them, or so that
        ``total`` epochs are at most ``most`` groups. Groups without records are left out."""
        book = self._whole()
        times = 1
        while total is not None and book.size * times * most < total:
            times *= 2
        return book.size * times, book.groups if times == 1 else _joined(book.groups, times)

    def whole(self) -> Group | None:
        """All records as one group; None if there is none."""
        return self._whole().everything


@dataclass(frozen=True)
class TrainingState:
    """What was recorded. ``unit`` is what a record stands for; ``count`` is how many there are.

    ``ended`` is "" while the run goes on, "stopped" after it, or the name of the exception that interrupted it.
    """

    epochs: int
    count: int = 0
    series: Mapping[str, Series] = field(default_factory=dict)
    unit: str = "epoch"
    ended: str = ""

    @property
    def complete(self) -> bool:
        """Whether exactly as many records have come as were announced."""
        return 0 < self.count == self.epochs

    def column(self, name: str) -> tuple[float | None, ...]:
        """One number for each record so far; None where that name was not recorded."""
        found: list[float | None] = [None] * self.count
        for epoch, value in self.series.get(name, ()):
            found[epoch - 1] = value
        return tuple(found)


def add(state: TrainingState, **numbers: float) -> TrainingState:
    """One more record."""
    series, count = dict(state.series), state.count + 1
    for name, value in numbers.items():
        series[name] = (series.get(name) or Series()).plus(count, value)
    return replace(state, count=count, series=series, ended="")


def end(state: TrainingState, cause: str = "") -> TrainingState:
    """The run is over, because of the exception named ``cause`` if there was one."""
    return replace(state, ended=cause or "stopped")


def restarted(state: TrainingState) -> TrainingState:
    """As before the first record."""
    return TrainingState(state.epochs, unit=state.unit)
