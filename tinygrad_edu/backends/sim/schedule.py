"""When everything happens: a host that goes ahead, and lanes that work through their queues. Virtual nanoseconds.

Each worker of `distributed.run` has a host of its own, as each process would, which begins at the time of the one that
started it; so no worker's times depend on how the threads take turns.

Nothing here reads a clock. Work is placed when it is asked for and never moved again, so the same program gives the
same times. Apart from time there is *order*: what is known to be done before what, whatever the times are. Each lane
counts its work and remembers how far it has waited for the others (a vector clock). A race that one machine hides by
luck is still a race.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

from ...common.lines import Line
from ...common.workers import WORKER, Worker

Known = dict[int, int]  # for a lane's number: how much of its work is known to be done


class Work(NamedTuple):
    """One piece of a timeline. ``kind`` is "kernel", "copy", "launch", "wait", "order", "reserve" or "work"."""

    lane: str
    name: str
    kind: str
    start: int
    end: int
    read: int  # bytes; what a copy moves is read
    written: int
    flops: int
    line: Line
    waited_for: str  # the lane that the host waited for, or let another one wait for
    stream: str = ""  # of a copy: the stream that it was asked for in

    @property
    def duration(self) -> int:
        """Nanoseconds from start to end."""
        return self.end - self.start


class Lane:
    """A queue that is worked through in order: a stream, or the host itself."""

    __slots__ = ("count", "end", "host_version", "known", "name", "number", "ready")

    def __init__(self, name: str, number: int) -> None:
        self.name, self.number = name, number
        self.end = self.ready = 0  # of its last work; before `ready` the next may not start
        self.count = 0  # pieces of work asked for
        self.known: Known = {}  # of other lanes
        self.host_version = 0  # of a host's knowledge when this lane last took it over


class Point(NamedTuple):
    """A place in a lane: when it is reached, and what is done by then."""

    time: int
    known: Known
    lane: str


class Flight:
    """A copy from or to memory of the host, the work ``count`` of a lane, that the host has not waited for yet.

    ``memory`` is a weak reference to that memory. ``land`` is called once the host has waited; where ``reads``, it may
    be called before, too, and looks whether the host has overwritten what is being copied.
    """

    __slots__ = ("count", "land", "landed", "memory", "number", "reads")

    def __init__(
        self, number: int, count: int, memory: Callable[[], Any], land: Callable[[], None], reads: bool
    ) -> None:
        self.number, self.count, self.memory, self.land = number, count, memory, land
        self.landed, self.reads = False, reads

    def arrive(self) -> None:
        """The host knows that it has ended."""
        if not self.landed:
            self.landed = True
            self.land()


class Host(Lane):
    """A program that asks for work: its clock, and the copies that it has not waited for yet."""

    __slots__ = ("flights", "many", "now")

    def __init__(self, name: str, number: int, now: int = 0) -> None:
        super().__init__(name, number)
        self.now = now
        self.flights: list[Flight] = []
        self.many = 64

    def land(self) -> None:
        """Let copies arrive that are known to have ended."""
        known = self.known
        landed = [one for one in self.flights if known.get(one.number, 0) >= one.count]
        self.flights = [one for one in self.flights if known.get(one.number, 0) < one.count]
        for one in landed:
            one.arrive()


class Schedule:
    """The clocks of the hosts, the lanes, and the list of those who record."""

    def __init__(self) -> None:
        self._numbers, self._versions = itertools.count(), itertools.count(1)
        self.main = Host("host", next(self._numbers))  # of the program itself
        self.logs: list[list[Work]] = []  # of those who record a timeline
        self.stop_in = 0  # after so many kernels the host waits, though no program says so; 0: never

    def lane(self, name: str) -> Lane:
        """A new lane."""
        return Lane(name, next(self._numbers))

    def log(
        self, lane: str, name: str, kind: str, start: int, end: int, read: int = 0, written: int = 0, flops: int = 0,
        line: Line = None, waited_for: str = "", stream: str = "",
    ) -> None:  # fmt: skip
        """Let those who record know of a piece of work."""
        if self.logs:
            work = Work(lane, name, kind, start, end, read, written, flops, line, waited_for, stream)
            for log in self.logs:
                log.append(work)

    # Hosts -------------------------------------------------------------------------------------------------------

    @property
    def host(self) -> Host:
        """That of the worker which asks. Where each kernel asks, `main` is looked at first, as that is quicker."""
        return self._of(WORKER.get())

    @property
    def now(self) -> int:
        """The clock of the host that asks."""
        return (self.main if WORKER.get() is None else self.host).now

    @property
    def flights(self) -> list[Flight]:
        """The copies that the host which asks has not waited for yet."""
        return self.host.flights

    def _of(self, worker: Worker | None) -> Host:
        if worker is None:
            return self.main
        found: Host | None = worker.own.get(self)
        if found is None:
            parent = self._of(worker.parent)
            found = Host(f"host {worker.rank}", next(self._numbers), parent.now)
            found.known, found.host_version = dict(parent.known), next(self._versions)
            worker.own[self] = made = found
            worker.ended.append(lambda: self._join(parent, made))
        return found

    def _join(self, parent: Host, ended: Host) -> None:
        """The host of a worker has ended, and the one that started it has waited for that."""
        parent.now = max(parent.now, ended.now)
        parent.flights += ended.flights
        if _join(parent.known, ended.known):
            parent.host_version = next(self._versions)
            parent.land()

    def spend(self, name: str, kind: str, duration: int, line: Line = None, waited_for: str = "") -> None:
        """The host is busy for ``duration``."""
        host = self.main if WORKER.get() is None else self.host
        start = host.now
        host.now = end = start + duration
        if duration and self.logs:
            self.log(host.name, name, kind, start, end, line=line, waited_for=waited_for)

    def wait(self, name: str, point: Point, line: Line = None) -> None:
        """The host waits until the point is reached, and then knows what is done."""
        host = self.host
        if point.time > host.now:
            self.log(host.name, name, "wait", host.now, point.time, line=line, waited_for=point.lane)
            host.now = point.time
        if _join(host.known, point.known):
            host.host_version = next(self._versions)
            if host.flights:
                host.land()

    def fly(self, flight: Flight) -> None:
        """Remember a copy that the host does not wait for."""
        host = self.host
        host.flights.append(flight)
        if len(host.flights) > host.many:  # whose memory is gone, nobody will look at
            host.flights = [one for one in host.flights if one.memory() is not None]
            host.many = 64 + 2 * len(host.flights)

    def look(self) -> None:
        """Let each copy from memory of the host see what is there by now."""
        for flight in self.host.flights:
            if flight.reads:
                flight.land()

    # Lanes -------------------------------------------------------------------------------------------------------

    def issue(self, lane: Lane) -> int:
        """The number of the lane's next piece of work, which comes after all that the host knows to be done."""
        self.inform(lane)
        lane.count += 1
        return lane.count

    def inform(self, lane: Lane) -> None:
        """What the host asks a lane for now comes after all that the host knows to be done."""
        host = self.main if WORKER.get() is None else self.host
        if lane.host_version != host.host_version:
            _join(lane.known, host.known)
            lane.host_version = host.host_version

    def earliest(self, lane: Lane) -> int:
        """When the next piece of work in the lane could start."""
        return max((self.main if WORKER.get() is None else self.host).now, lane.end, lane.ready)

    def point(self, lane: Lane) -> Point:
        """The place after all that the lane was asked for so far."""
        return Point(max(lane.end, lane.ready), {**lane.known, lane.number: lane.count}, lane.name)

    def after(self, lane: Lane, point: Point) -> None:
        """Let the lane's next work start after the point."""
        lane.ready = max(lane.ready, point.time)
        _join(lane.known, point.known)


def _join(known: Known, more: Known) -> bool:
    """Add what is known elsewhere. Returns whether that was news."""
    news = False
    for number, count in more.items():
        if known.get(number, 0) < count:
            known[number] = count
            news = True
    return news


def precedes(number: int, count: int, lane: Lane) -> bool:
    """Is the work ``count`` of the lane ``number`` done before what ``lane`` does next?"""
    return number == lane.number or lane.known.get(number, 0) >= count


class Room:
    """The processors of one device. Kernels of several streams run together as long as they find room on them."""

    def __init__(self) -> None:
        self.running: list[tuple[int, int, float]] = []  # start, end, share of the processors
        self.until = 0
        self._many = 64

    def place(self, earliest: int, duration: int, share: float, now: int) -> int:
        """The start of a kernel that could start at ``earliest``; its place is taken."""
        start = earliest
        if start < self.until:
            later = [one for one in self.running if one[1] > earliest]
            ends = sorted({end for _, end, _ in later})
            start = next(t for t in (earliest, *ends) if _fits(later, t, t + duration, share))
        end = start + duration
        self.running.append((start, end, share))
        self.until = max(self.until, end)
        if len(self.running) > self._many:  # nothing starts before now any more
            self.running = [one for one in self.running if one[1] > now]
            self._many = 64 + 2 * len(self.running)
        return start


def _fits(running: list[tuple[int, int, float]], start: int, end: int, share: float) -> bool:
    meanwhile = [one for one in running if one[0] < end and one[1] > start]
    moments = [start, *(one[0] for one in meanwhile if one[0] > start)]
    return all(sum(other for begin, stop, other in meanwhile if begin <= t < stop) + share <= 1.000001 for t in moments)
