"""A simulated computer on which another program works in spells: one seed gives the same times on every machine."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import ArgumentError

USUAL = 10.0  # milliseconds of A, when nothing else happens
JITTER = 0.02  # every run takes somewhat longer than that: on average by this part
RARE, LONG = 0.05, 2.0  # one run in twenty is interrupted, which takes up to twice its time
SPELL = 1.3  # how many times longer a run takes while the other program is at work
FEWEST, MOST = 1, 60
ORDERS = ("blocks", "turns")
HIGHEST = 16  # milliseconds: longer runs are in the same row of a picture
AFTERNOONS = 100  # in which a rule is tried

Rule = Callable[[Sequence[float], Sequence[float]], str]


@dataclass(frozen=True)
class Afternoon:
    """Times of A and B in milliseconds, in the order of their runs.

    ``places`` says when each ran, among all runs, and ``busy`` at which places the other program was at work.
    """

    a: list[float]
    b: list[float]
    places: tuple[list[int], list[int]]
    busy: list[bool]


def afternoon(order: str, count: int, faster: float = 1.0, seed: int = 0, busy: bool = True) -> Afternoon:
    """Run A and B ``count`` times each; B is ``faster`` times as fast.

    In "blocks" B begins when A has ended. In "turns" each run of A has one of B beside it, and the one that begins
    changes. If ``busy``, another program is at work during half of all runs, in one spell that begins anywhere.
    """
    if order not in ORDERS:
        raise ArgumentError(f"afternoon(order={order!r})", "there is no such order", f"take {' or '.join(ORDERS)}")
    if not FEWEST <= count <= MOST:
        raise ArgumentError(
            f"afternoon(count={count!r})", "that many runs are not simulated", f"take {FEWEST} to {MOST}"
        )
    rng = np.random.default_rng(seed)
    total = 2 * count
    begin = rng.integers(count + 1)
    spell = (np.arange(total) >= begin) & (np.arange(total) < begin + count) & busy
    longer = 1 + rng.exponential(JITTER, total)
    longer += np.where(rng.random(total) < RARE, LONG * rng.random(total), 0.0)
    longer *= np.where(spell, SPELL, 1.0)
    swapped = np.arange(count) % 2
    first = np.arange(count) if order == "blocks" else 2 * np.arange(count) + swapped
    second = np.arange(count, total) if order == "blocks" else 2 * np.arange(count) + 1 - swapped
    return Afternoon(
        (USUAL * longer[first]).tolist(), (USUAL / faster * longer[second]).tolist(),
        (first.tolist(), second.tolist()), spell.tolist(),
    )  # fmt: skip


def by_medians(a: Sequence[float], b: Sequence[float]) -> str:
    """The rule of many benchmarks: "A" or "B" where its median is more than 5 % shorter, else "not settled"."""
    ratio = statistics.median(a) / statistics.median(b)
    return "B" if ratio > 1.05 else "A" if ratio < 1 / 1.05 else "not settled"


def winners(rule: Rule, order: str, count: int, faster: float = 1.0, busy: bool = True) -> dict[str, int]:
    """In how many of a hundred afternoons a rule says what."""
    said: dict[str, int] = {}
    for seed in range(AFTERNOONS):
        found = afternoon(order, count, faster, seed, busy)
        verdict = str(rule(found.a, found.b))
        said[verdict] = said.get(verdict, 0) + 1
    return said


def coin(heads: int, throws: int) -> float:
    """How likely a fair coin shows at least so many heads, or at least so many tails. ``heads`` is over a half."""
    return min(1.0, 2 * sum(math.comb(throws, k) for k in range(heads, throws + 1)) / 2**throws)


def picture(found: Afternoon) -> str:
    """All runs, a letter each: to the right as they follow one another, higher up the longer they took."""
    low = int(min(*found.a, *found.b))
    rows = [[" "] * len(found.busy) for _ in range(low, HIGHEST + 1)]
    for letter, times, places in (("A", found.a, found.places[0]), ("B", found.b, found.places[1])):
        for time, place in zip(times, places, strict=True):
            rows[min(int(time), HIGHEST) - low][place] = letter
    head = f"simulated: {len(found.a)} runs of A and {len(found.b)} of B, in the order in which they ran"
    lines = [f"{low + i:2d} ms{'+' if low + i == HIGHEST else ' '} │{''.join(row)}" for i, row in enumerate(rows)]
    other = "".join("━" if at_work else " " for at_work in found.busy)
    a, b = statistics.median(found.a), statistics.median(found.b)
    shorter = sum(y < x for x, y in zip(found.a, found.b, strict=True))
    said = [
        _spell(found),
        f"medians: A {a:.1f} ms, B {b:.1f} ms, {100 * (max(a, b) / min(a, b) - 1):.0f} % apart",
        f"pairs, first with first, second with second …: B is shorter in {shorter} of {len(found.a)}",
    ]
    return "\n".join(line.rstrip() for line in [head, *lines[::-1], f"other  │{other}", *said])


def _spell(found: Afternoon) -> str:
    """The other program in words: when it was at work, and how many runs of each function it met."""
    met = [sum(found.busy[place] for place in places) for places in found.places]
    if not any(met):
        return "other: not at work"
    first, last = found.busy.index(True) + 1, len(found.busy) - found.busy[::-1].index(True)
    return f"other: at work from run {first} to run {last}, during {met[0]} runs of A and {met[1]} of B"
