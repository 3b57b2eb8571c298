"""The simulated accelerator, for programs: which machine it is, what the host does besides, and what happened when.

>>> import tinygrad_edu as tg
>>> tg.sim.use("A100")
Machine('A100')
>>> with tg.sim.timeline() as seen:
...     x = tg.ones(1000, 1000, device="sim")
...     y = x @ x
...     tg.sim.synchronize()
>>> [(work.lane, work.name) for work in seen if work.kind == "kernel"]
[('sim stream 0', 'ones'), ('sim stream 0', 'matmul')]

Nothing here depends on a clock: the same program gives the same times.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from . import backends
from .backends.sim import DEVICES, let_there_be
from .backends.sim.copies import MEMORY
from .backends.sim.device import HAZARDS, SimBackend
from .backends.sim.presets import PRESETS, Machine
from .backends.sim.schedule import Work
from .common.blocks import block
from .common.lines import describe_line, user_line
from .common.locks import RLock
from .common.wording import seconds_text, suggestion
from .errors import ArgumentError, OutOfMemoryError

__all__ = [
    "PRESETS", "Machine", "Timeline", "Work", "alone", "counts", "explain", "finish", "host_work", "log", "machine",
    "now", "on_race", "races", "restart", "stopped_after", "synchronize", "timeline", "use",
]  # fmt: skip


def _device() -> SimBackend:
    found = backends.get("sim")
    assert isinstance(found, SimBackend)
    return found


def machine() -> Machine:
    """The machine that is simulated, with all its constants and their sources."""
    return _device().machine


def use(preset: str | Machine | None = None, *, devices: int | None = None, **changes: float) -> Machine:
    """Simulate another machine: one of `PRESETS`, or the present one, with some constants changed.

    ``devices`` is how many of them there are from now on: ``"sim"``, ``"sim:1"`` and so on. It waits for all, and gives
    up cached memory. Arrays stay. Raises `ArgumentError` for an unknown preset or constant, and for a device less that
    holds tensors; `OutOfMemoryError` where what is alive does not fit.
    """
    device = _device()
    if devices is not None and (isinstance(devices, bool) or not isinstance(devices, int) or not 1 <= devices <= 64):
        raise ArgumentError(f"use(devices={devices!r})", "it is how many there are", "give a number from 1 to 64")
    if isinstance(preset, Machine):
        chosen = preset.changed(**changes) if changes else preset
    else:
        chosen = device.machine.changed(**changes) if preset is None else Machine(preset, **changes)
    for one in DEVICES[devices or len(DEVICES) :]:
        if one.memory().allocated:
            raise ArgumentError(f"use(devices={devices})", f"{one.name!r} holds tensors", "free them first: del x")
    held, limit = max(one.memory().allocated for one in DEVICES), int(chosen["memory"])
    if held > limit:
        why = f"it has {limit:,} bytes, and {held:,} hold tensors"
        raise OutOfMemoryError(f"use({chosen.preset!r})", why, "free them first: del x")
    for one in DEVICES:
        one.synchronize()
        one.empty_cache()
        one.machine, one.allocator.limit = chosen, limit
    if devices is not None:
        for gone in let_there_be(devices):
            backends.unregister(gone)
    return chosen


def host_work(milliseconds: float, name: str = "host work") -> None:
    """Let the host be busy with something else: decoding, augmenting, Python. Raises `ArgumentError` below 0."""
    number = isinstance(milliseconds, (int, float)) and not isinstance(milliseconds, bool)
    if not number or not 0 <= milliseconds < float("inf"):
        raise ArgumentError(f"host_work({milliseconds!r})", "it takes a time in milliseconds", "pass 0 or more")
    _device().schedule.spend(name, "work", round(milliseconds * 1e6), user_line())


def now() -> int:
    """The host's clock, in virtual nanoseconds."""
    return _device().schedule.now


def synchronize() -> None:
    """Wait until the device has done all that it was asked for."""
    _device().synchronize()


_TURN = RLock()


@block
def alone() -> Iterator[None]:
    """While this block, or a function decorated with it, runs, other threads wait that want to be alone, too.

    All threads of a program share the devices and their clock. So what a notebook's widgets run there, and what a cell
    measures meanwhile, would be in each other's times.
    """
    with _TURN:
        yield


def restart(*, keep: bool = True) -> None:
    """Begin as in a new program: the next stream is the first again, and memory is pinned anew.

    So what follows takes the same time, whatever came before. Reserved memory stays; without ``keep`` what no tensor
    holds is given back, and what follows reserves its own.
    """
    MEMORY.forget()
    for device in DEVICES:
        device.given = 0
        if not keep:
            device.empty_cache()


def finish() -> None:
    """Wait for all devices, on no line of the program: for who records what a program does."""
    for device in DEVICES:
        device.finish()


@block
def stopped_after(kernels: int) -> Iterator[None]:
    """In this block the host waits once more: for all its work, right after launching the kernel of this number.

    So one can see what a synchronisation at any place does to a program, without changing it. 0 is no kernel.
    """
    if isinstance(kernels, bool) or not isinstance(kernels, int) or kernels < 0:
        raise ArgumentError(f"stopped_after({kernels!r})", "it is the number of a kernel", "give 1 or more; 0 for none")
    schedule = _device().schedule
    before, schedule.stop_in = schedule.stop_in, kernels
    try:
        yield
    finally:
        schedule.stop_in = before


def counts() -> dict[str, int]:
    """Launches, copies in each direction and their bytes, so far."""
    return dict(_device().counts)


def on_race(mode: str) -> str:
    """What happens where work meets another stream's bytes too early. Returns the mode before.

    "error" raises `RaceError`, "warn" goes on and keeps the finding in `races`, "stale" also lets the reader see the
    values from before the write, as a real device would. Raises `ArgumentError` for another mode.
    """
    if mode not in HAZARDS:
        raise ArgumentError(f"on_race({mode!r})", "there is no such mode", suggestion(str(mode), HAZARDS))
    device = _device()
    before, device.hazards = device.hazards, mode
    return before


def races() -> list[str]:
    """What was found where it was no error."""
    return list(_device().races)


class Timeline(list[Work]):
    """What happened, in the order in which it was asked for. Times are virtual nanoseconds from the beginning."""

    machine: Machine
    races: tuple[str, ...] = ()  # what was found in it where that is no error: see `on_race`
    _log: list[Work] | None = None  # while the block runs
    _origin = 0

    def so_far(self) -> Timeline:
        """What has happened until now: inside the block, where the timeline itself is still empty."""
        found = Timeline(self)
        found.machine = self.machine
        found += [_since(work, self._origin) for work in self._log or ()]
        return found

    @property
    def end(self) -> int:
        """When the last work ended."""
        return max((work.end for work in self), default=0)

    def busy(self, lane: str) -> int:
        """How many nanoseconds this lane worked. Work of a stream never overlaps."""
        return sum(work.duration for work in self if work.lane == lane and work.kind != "wait")

    def waiting(self) -> int:
        """How many nanoseconds the host waited."""
        return sum(work.duration for work in self if work.lane.startswith("host") and work.kind == "wait")

    def computing(self) -> int:
        """How many nanoseconds at least one kernel ran."""
        return _length(_joined([(one.start, one.end) for one in self if one.kind == "kernel"]))

    def overlap(self) -> int:
        """How many nanoseconds a copy and a kernel ran at the same time."""
        kernels, copies = (
            _joined([(one.start, one.end) for one in self if one.kind == kind and not one.lane.startswith("host")])
            for kind in ("kernel", "copy")
        )
        return _length(kernels) + _length(copies) - _length(_joined(kernels + copies))

    def lanes(self) -> list[str]:
        """The lanes with any work, the host first."""
        return sorted({work.lane for work in self}, key=lambda name: (name != "host", name))

    def chrome_trace(self) -> dict[str, Any]:
        """The timeline as Chrome's and Perfetto's viewers read it, in microseconds; each lane is a thread."""
        lanes = self.lanes()
        places = [lane.partition(" ")[0] for lane in lanes]  # the host and each device
        pids = {name: pid for pid, name in enumerate(dict.fromkeys(places))}
        names = [
            {"ph": "M", "name": "process_name", "pid": pid, "tid": 0, "args": {"name": name}}
            for name, pid in pids.items()
        ]
        tids = {lane: {"pid": pids[place], "tid": i} for i, (lane, place) in enumerate(zip(lanes, places, strict=True))}
        names += [{"ph": "M", "name": "thread_name", **tids[lane], "args": {"name": lane}} for lane in lanes]
        events = []
        for work in self:
            told = {"bytes": work.read + work.written, "flops": work.flops, "line": describe_line(work.line)}
            if work.waited_for:
                told["waited for"] = work.waited_for
            if work.stream:
                told["stream"] = work.stream
            name = f"wait: {work.name}" if work.kind == "wait" else work.name
            span = {"ts": work.start / 1e3, "dur": work.duration / 1e3}
            events.append({"ph": "X", "name": name, "cat": work.kind, **tids[work.lane], **span, "args": told})
        return {"traceEvents": names + events, "displayTimeUnit": "ns", "otherData": {"machine": self.machine.name}}

    def export_chrome_trace(self, path: str) -> None:
        """Write `chrome_trace` to a file, for https://ui.perfetto.dev. Raises OSError where that cannot be written."""
        with open(path, "w", encoding="utf-8") as file:
            json.dump(self.chrome_trace(), file)

    def text(self) -> str:
        """One line for each piece of work."""
        rows = [f"{self.machine.preset}, simulated; virtual time"]
        for work in sorted(self, key=lambda one: (one.start, one.lane != "host", one.lane)):
            line = describe_line(work.line)
            what = f"{work.kind} {work.name}" + (f" for {work.waited_for}" if work.waited_for else "")
            span = f"{seconds_text(work.start / 1e9)} to {seconds_text(work.end / 1e9)}"
            rows.append(f"{span:<24} {work.lane:<16} {what}" + (f"  ({line})" if line else ""))
        return "\n".join(rows)

    def __repr__(self) -> str:
        return f"<timeline of {len(self)} pieces of work, {seconds_text(self.end / 1e9)}>"


def _joined(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The same stretches of time without overlaps, in order."""
    found: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found


def _length(spans: list[tuple[int, int]]) -> int:
    return sum(end - start for start, end in spans)


@block
def log() -> Iterator[list[Work]]:
    """What happens inside, as it happens. Unlike for `timeline`, no device waits first, and times begin anywhere."""
    schedule, works = DEVICES[0].schedule, list[Work]()
    schedule.logs.append(works)
    try:
        yield works
    finally:
        schedule.logs[:] = [one for one in schedule.logs if one is not works]


@block
def timeline() -> Iterator[Timeline]:
    """Record what happens inside. It begins with devices that have nothing to do, at time 0."""
    device, seen = _device(), Timeline()
    schedule, seen.machine = device.schedule, device.machine
    for one in DEVICES:
        one.synchronize()
    found = {one.name: len(one.races) for one in DEVICES}
    try:
        with log() as seen._log, backends.meant(device.name):  # there may be a GPU too
            seen._origin = schedule.now
            yield seen
    finally:
        seen += seen.so_far()
        seen._log = None
        seen.races = tuple(race for one in DEVICES for race in one.races[found.get(one.name, 0) :])


def _since(work: Work, origin: int) -> Work:
    return work._replace(start=work.start - origin, end=work.end - origin)


_NOT_MODELLED = """Not modelled:
- caches, registers and which of its kernels a library would choose: products of matrices are computed in tiles, all
  alike, and those with a vector without. A real library splits the sums of a small product over more processors, so
  streams gain less there
- how many threads of a kernel fit at once, clock speeds and heat
- Python's own speed: between two launches passes a constant time, `launch`
- other programs on the device, and contention on the bus
- what the host computes and copies for itself: only launches, transfers, pinning, streams, events, queries and
  `host_work` take it time
- views: here the host makes them in no time
- random numbers: the host draws them, and copies them to the device
- how many launches the queue holds: a real one makes the host wait after about a thousand"""


def explain() -> str:
    """Every constant of the machine with its source, and what is not modelled."""
    found: Any = machine()
    rows = [f"{found.preset}, simulated. Times are virtual and exact."]
    rows += [f"- {name}: {one.value:g} {one.unit} ({one.source})" for name, one in found.table.items()]
    return "\n".join([*rows, _NOT_MODELLED])
