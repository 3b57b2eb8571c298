"""What can be said of a way: every fact with its words, its unit, how it is found, and how well it is known."""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import ArgumentError

COUNTED, MEASURED, SIMULATED, RECORDED = "counted", "measured", "simulated", "recorded"
UNITS = ("bytes", "count", "yes or no", "words", "seconds", "")  # "": a number without one


@dataclass(frozen=True)
class Fact:
    """``known`` is *counted* or *simulated*, the same on every machine, or *measured*, true of one machine at one time.

    A *recorded* fact was measured on a machine that is not here.
    """

    name: str
    words: str
    unit: str  # one of UNITS
    how: str
    known: str = COUNTED


FACTS = {
    fact.name: fact
    for fact in (
        Fact("allocated", "newly allocated", "bytes", "bytes of all buffers that were made"),
        Fact("copied", "copied", "bytes", "bytes that operations only moved into another buffer"),
        Fact("copies", "copies", "count", "operations that only moved elements into another buffer"),
        Fact("conversions", "layouts changed", "count", "times that an operation laid images out anew inside"),
        Fact("tries", "ways timed", "count", "ways of a convolution that were timed to find the fastest"),
        Fact("peak", "at the peak", "bytes", "the most bytes of new buffers that were alive at once"),
        Fact("calls", "operations", "count", "operations carried out, forward and backward"),
        Fact("nodes", "graph nodes", "count", "nodes of the graph that were made"),
        Fact("memory", "memory at the peak", "bytes", "the most that was in use, with what single operations need"),
        Fact("live", "alive there", "bytes", "bytes of what the way has made that are alive at a mark"),
        Fact("kept", "graph nodes kept", "count", "nodes of the graph that are alive when the way returns"),
        Fact("locks", "arrays locked", "count", "arrays that the memory guard made read-only"),
        Fact("stride", "step to the next number", "bytes", "bytes from one element to the next along the last axis"),
        Fact("held", "kept alive by the result", "bytes", "bytes of the buffers that the result refers to"),
        Fact("shares", "shares its input’s bytes", "yes or no", "whether the result lies in a buffer of the input"),
        Fact("changes", "changes its input", "yes or no", "whether an input holds other numbers afterwards"),
        Fact("threads", "threads started", "count", "threads that Python started while the way ran"),
        Fact("processes", "processes started", "count", "processes of multiprocessing that were started meanwhile"),
        Fact("moved", "bytes moved", "bytes", "bytes of all copies to and from the device"),
        Fact("launches", "launches", "count", "pieces of work that the host asked the device for"),
        Fact("virtual", "time, simulated", "seconds", "virtual time until host and device are done", SIMULATED),
        Fact("waiting", "host waits, simulated", "seconds", "virtual time that the host waits", SIMULATED),
        Fact("idle", "device idle, simulated", "seconds", "virtual time in which no kernel runs", SIMULATED),
        Fact("overlap", "overlap, simulated", "seconds", "virtual time in which a copy and a kernel run", SIMULATED),
        Fact("device peak", "peak on the device", "bytes", "the most bytes of the device's arrays at once"),
        Fact("error", "error", "words", "what was raised"),
        Fact("time", "time", "seconds", "wall-clock time of a call, in turns with the other way", MEASURED),
    )
}
TIME = "time"


def declare(fact: Fact) -> Fact:
    """Enter a fact that tips can claim. Raises `ArgumentError` for a name that is taken, and for an unknown unit."""
    if FACTS.get(fact.name, fact) != fact:
        raise ArgumentError(f"the fact {fact.name!r}", "there is another one with that name", "choose another name")
    if fact.unit not in UNITS:
        mend = f"use one of {', '.join(unit or 'no unit (an empty text)' for unit in UNITS)}"
        raise ArgumentError(f"the fact {fact.name!r} in {fact.unit!r}", "that is not a known unit", mend)
    FACTS[fact.name] = fact
    return fact
