"""What a profile holds: events that lie inside each other, their averages, and the table of these."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from ...common.wording import bytes_text, exact, suggestion
from ...errors import ArgumentError


@dataclass(eq=False)
class Event:
    """Something that took time: an operation, its backward, a module, a step, or a range that the program named.

    Times are nanoseconds since the profile began. ``kind`` is "op", "backward", "module", "step" or "range".
    """

    name: str
    kind: str
    start: int
    end: int = 0
    inside: list[Event] = field(default_factory=list)
    shapes: tuple[Any, ...] = ()
    module: str = ""
    where: str = ""  # the user's line: ``lesson.py(7): train``
    memory: int = 0  # bytes that the process held more at its end than at its beginning
    flops: int = 0
    device: int = 0  # nanoseconds for which a simulated device works on what was asked of it inside
    node: int = 0  # the number of the graph's node, which links an operation to its backward

    @property
    def total(self) -> int:
        """Nanoseconds from beginning to end."""
        return self.end - self.start

    @property
    def own(self) -> int:
        """Nanoseconds without those of the events inside."""
        return self.total - sum(event.total for event in self.inside)

    @property
    def own_memory(self) -> int:
        """``memory`` without that of the events inside."""
        return self.memory - sum(event.memory for event in self.inside)

    @property
    def own_device(self) -> int:
        """``device`` without that of the events inside."""
        return self.device - sum(event.device for event in self.inside)

    @property
    def key(self) -> str:
        """Its name."""
        return self.name

    @property
    def cpu_time_total(self) -> float:
        """Microseconds from beginning to end."""
        return self.total / 1e3

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds without those of the events inside."""
        return self.own / 1e3


@dataclass(frozen=True)
class Average:
    """All events of one name, under PyTorch's names. Times are microseconds."""

    key: str
    count: int
    cpu_time_total: float
    self_cpu_time_total: float
    cpu_memory_usage: int
    self_cpu_memory_usage: int
    flops: int
    input_shapes: tuple[Any, ...]
    stack: tuple[str, ...]
    module: str
    device_time_total: float = 0.0
    self_device_time_total: float = 0.0

    @property
    def cpu_time(self) -> float:
        """Microseconds of one, on average."""
        return self.cpu_time_total / self.count


SORTS = (
    "cpu_time", "cpu_time_total", "self_cpu_time_total", "device_time_total", "self_device_time_total",
    "cpu_memory_usage", "self_cpu_memory_usage", "count", "flops",
)  # fmt: skip
_OLDER = {"cuda_time_total": "device_time_total", "self_cuda_time_total": "self_device_time_total"}
WORDS = ("Name", "Input Shapes", "Module", "Source Location")  # columns that begin at the left


class Averages(list[Average]):
    """Averages in the order in which their names came first. Prints as `table` without sorting."""

    def __init__(self, rows: Iterable[Average], total: float, shown: frozenset[str] = frozenset()) -> None:
        super().__init__(rows)
        self._total, self._shown = total, shown

    def total_average(self) -> Average:
        """The sums over all."""
        time, memory = (
            sum(map(operator.attrgetter(f"self_cpu_{what}"), self)) for what in ("time_total", "memory_usage")
        )
        count, flops = sum(one.count for one in self), sum(one.flops for one in self)
        device = self._on_device()
        return Average("Total", count, time, time, memory, memory, flops, (), (), "", device, device)

    def _on_device(self) -> float:
        return sum(one.self_device_time_total for one in self)

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        max_src_column_width: int = 75,
        max_name_column_width: int = 55,
        max_shapes_column_width: int = 80,
        header: str | None = None,
        top_level_events_only: bool = False,
    ) -> str:
        """The averages as text. ``sort_by`` is one of PyTorch's names, the largest first; None keeps the order.

        Raises `ArgumentError` for another name. ``top_level_events_only`` must stay False: use `profile.events`.
        """
        sort_by = _OLDER.get(str(sort_by), sort_by)
        if sort_by is not None and sort_by not in SORTS:
            why, mend = "there is no such column", suggestion(str(sort_by), SORTS)
            raise ArgumentError(f"table sorted by {sort_by!r}", why, mend)
        if top_level_events_only:
            why, mend = "averages do not know which of their events were outermost", "look at events() of the profile"
            raise ArgumentError("table with top_level_events_only=True", why, mend)
        rows = list(self) if sort_by is None else sorted(self, key=operator.attrgetter(sort_by), reverse=True)
        cells = [self._heads()]
        for one in rows[:row_limit] if row_limit >= 0 else rows:
            cells.append(self._cells(one, max_name_column_width, max_shapes_column_width, max_src_column_width))
        widths = [max(len(row[i]) for row in cells) for i in range(len(cells[0]))]
        rule = "  ".join("-" * width for width in widths)
        lines = ["  ".join(_aligned(row, widths, self._left())) for row in cells]
        text = [rule, lines[0], rule, *lines[1:], rule]
        ending = f"Self CPU time total: {_time(sum(one.self_cpu_time_total for one in self))}"
        if "device" in self._shown:
            ending += f"\nSelf device time total: {_time(self._on_device())} (virtual time of the simulated device)"
        left_out = len(rows) - (len(cells) - 1)
        more = [f"{left_out} more rows are not shown: row_limit={row_limit}"] if left_out else []
        return "\n".join([*([header] if header else []), *(line.rstrip() for line in text), *more, ending])

    def _heads(self) -> list[str]:
        return [
            "Name", "Self CPU %", "Self CPU", "CPU total %", "CPU total", "CPU time avg",
            *(["Self device", "Device total"] if "device" in self._shown else []),
            *(["CPU Mem", "Self CPU Mem"] if "memory" in self._shown else []), "# of Calls",
            *(["Input Shapes"] if "shapes" in self._shown else []), *(["FLOPs"] if "flops" in self._shown else []),
            *(["Module"] if "modules" in self._shown else []), *(["Source Location"] if "stack" in self._shown else []),
        ]  # fmt: skip

    def _left(self) -> set[int]:
        """The columns of words, which begin at the left."""
        return {i for i, head in enumerate(self._heads()) if head in WORDS}

    def _cells(self, one: Average, name: int, shapes: int, source: int) -> list[str]:
        def share(time: float) -> str:
            return f"{100 * time / self._total:.2f}%" if self._total else "–"

        cells = [
            _cut(one.key, name), share(one.self_cpu_time_total), _time(one.self_cpu_time_total),
            share(one.cpu_time_total), _time(one.cpu_time_total), _time(one.cpu_time),
        ]  # fmt: skip
        if "device" in self._shown:
            cells += [_time(one.self_device_time_total), _time(one.device_time_total)]
        if "memory" in self._shown:
            cells += [_memory(one.cpu_memory_usage), _memory(one.self_cpu_memory_usage)]
        cells.append(exact(one.count))
        cells += [_cut(str(list(map(list, one.input_shapes))), shapes)] if "shapes" in self._shown else []
        cells += [exact(one.flops) if one.flops else "--"] if "flops" in self._shown else []
        cells += [_cut(one.module, name)] if "modules" in self._shown else []
        cells += [_cut(one.stack[0] if one.stack else "", source)] if "stack" in self._shown else []
        return cells

    def __repr__(self) -> str:
        return self.table()

    __str__ = __repr__


def averaged(events: Iterable[Event], by_shape: bool, by_stack: bool) -> list[Average]:
    """The events of one name put together; with shapes or lines, those that have the same."""
    groups: dict[Any, list[Event]] = {}
    for event in events:
        groups.setdefault(
            (event.name, event.shapes if by_shape else (), event.where if by_stack else "", event.module), []
        ).append(event)
    return [
        Average(
            name, len(some), sum(e.cpu_time_total for e in some), sum(e.self_cpu_time_total for e in some),
            sum(e.memory for e in some), sum(e.own_memory for e in some), sum(e.flops for e in some),
            shapes, (where,) if where else (), module,
            sum(e.device for e in some) / 1e3, sum(e.own_device for e in some) / 1e3,
        )
        for (name, shapes, where, module), some in groups.items()
    ]  # fmt: skip


def _aligned(row: list[str], widths: list[int], left: set[int]) -> list[str]:
    cells = enumerate(zip(row, widths, strict=True))
    return [cell.ljust(width) if i in left else cell.rjust(width) for i, (cell, width) in cells]


def _time(microseconds: float) -> str:
    """As PyTorch writes it: ``12.300us``, ``4.500ms``."""
    for unit, size in (("s", 1e6), ("ms", 1e3)):
        if microseconds >= size:
            return f"{microseconds / size:.3f}{unit}"
    return f"{microseconds:.3f}us"


def _memory(count: int) -> str:
    return f"-{bytes_text(-count)}" if count < 0 else bytes_text(count)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 3] + "..."
