"""What it costs to add up arrays of several workers that stand in a ring."""

from __future__ import annotations


def ring_seconds(nbytes: float, workers: int, bandwidth: float, latency: float = 0.0) -> float:
    """The seconds of an all-reduce of ``nbytes`` from each of so many workers, in a ring.

    In a ring each worker sends to the next one, and gets from the one before, at the same time. The array is cut into
    as many parts as there are workers. In ``workers - 1`` steps the parts go round and are added up; then each worker
    has one part of the sum. In as many steps more the sums go round. So each worker sends 2·(p−1)/p·n bytes over its
    link of ``bandwidth`` bytes a second, and each of the 2·(p−1) steps takes ``latency`` seconds more.

    The first term hardly grows with the number of workers, the second does.

    >>> f"{ring_seconds(100e6, 2, 10e9):.3f} {ring_seconds(100e6, 1000, 10e9):.3f}"
    '0.010 0.020'
    """
    steps = 2 * (workers - 1)
    return steps / workers * nbytes / bandwidth + steps * latency


def chain_seconds(nbytes: float, workers: int, bandwidth: float, latency: float = 0.0) -> float:
    """The seconds in which one worker's array reaches all, each handing on what it gets while more comes."""
    return (nbytes / bandwidth + (workers - 1) * latency) if workers > 1 else 0.0
