"""A workload in all libraries: first their numbers are compared, then their times."""

from __future__ import annotations

import importlib.util
from collections.abc import Collection, Iterable
from contextlib import ExitStack
from dataclasses import dataclass, field

import numpy as np

from benchmarks import harness
from benchmarks.contenders.registry import BASELINES, CONTENDERS, REFERENCE
from benchmarks.harness import Ratio
from benchmarks.worker import Absent, Numbers, Worker, first_steps
from benchmarks.workloads import WORKLOADS, Workload

TOLERANCE = 1e-3  # of float32 numbers added up in another order, as a share of the largest


class Mismatch(Exception):
    """Two contenders do not compute the same, or one computes no numbers any more."""


@dataclass(frozen=True)
class Result:
    """One workload: the ratios, why some contenders have none, and the seconds of each one's first steps."""

    workload: Workload
    baseline: str
    ratios: list[Ratio]
    absent: dict[str, str]
    first: dict[str, float] = field(default_factory=dict)


def agree(names: tuple[str, str], found: Numbers, wanted: Numbers, where: str) -> None:
    """Raises `Mismatch`, which names both, unless losses and what moved are equal up to rounding."""
    pairs = [(f"value of step {i + 1}", *pair) for i, pair in enumerate(zip(found.values, wanted.values, strict=True))]
    if found.moved.keys() != wanted.moved.keys():
        raise Mismatch(f"{where}: {names[0]} has {sorted(found.moved)}, {names[1]} has {sorted(wanted.moved)}")
    pairs += [(name, found.moved[name], wanted.moved[name]) for name in wanted.moved]
    for what, mine, other in pairs:
        mine, other = np.asarray(mine).reshape(-1), np.asarray(other).reshape(-1)
        scale = float(np.abs(other).max())
        if mine.shape != other.shape or not np.abs(mine - other).max() <= TOLERANCE * scale:
            raise Mismatch(f"{where}, {what}: {names[0]} has {mine[:4]}…, {names[1]} has {other[:4]}…")


def line_up(workload: Workload, groups: Collection[str], stack: ExitStack) -> tuple[dict[str, Worker], dict[str, str]]:
    """Who runs the workload, with numbers that agree, and why others do not. Processes end with the ``stack``."""
    wanted = first_steps(REFERENCE(workload), workload)
    ready: dict[str, Worker] = {}
    absent: dict[str, str] = {}
    for contender in CONTENDERS:
        if contender.group not in groups:
            continue
        if importlib.util.find_spec(contender.package) is None:
            absent[contender.name] = f"{contender.package} is not installed"
            continue
        try:
            worker = stack.enter_context(Worker(contender, workload))
        except Absent as reason:
            absent[contender.name] = str(reason)
            continue
        agree((contender.name, "NumPy by hand"), worker.numbers, wanted, workload.name)
        ready[contender.name] = worker
    return ready, absent


def run(names: Iterable[str], groups: Collection[str], turns: int) -> list[Result]:
    """The named workloads, one after the other."""
    results = []
    for name in names:
        with ExitStack() as stack:
            ready, absent = line_up(WORKLOADS[name], groups, stack)
            baseline = next((one for one in (*BASELINES, *ready) if one in ready), "nobody")
            ratios = harness.compare(ready, baseline, turns)
            first = {name: worker.numbers.seconds for name, worker in ready.items()}
            for worker in ready.values():
                if not worker.finite():
                    raise Mismatch(f"{worker.name}: the loss has run away while timed; use a lower learning rate")
        results.append(Result(WORKLOADS[name], baseline, ratios, absent, first))
        print(text(results[-1]), end="\n\n", flush=True)
    return results


def text(result: Result) -> str:
    """One workload's ratios, and who is absent."""
    title = f"{result.workload.name}: {result.workload.title}"
    absent = [f"{name:34}    –     {reason}" for name, reason in result.absent.items()]
    return "\n".join([harness.table(title, result.ratios, result.baseline), *absent])
