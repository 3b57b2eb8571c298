"""The figures for others to read: as a table of Markdown, and as JSON."""

from __future__ import annotations

import datetime
import json
from collections.abc import Sequence
from pathlib import Path

from benchmarks import harness
from benchmarks.compete import Result
from benchmarks.contenders.registry import CONTENDERS

PACKAGES = ("numpy", "torch", "jax", "mygrad", "autograd", "tinygrad", "micrograd")


def machine() -> str:
    """What the figures were measured on, and with which versions."""
    return harness.machine(*PACKAGES)


def markdown(results: Sequence[Result], turns: int) -> str:
    """A row per workload, a column per contender; then the reasons for empty cells, the machine and the date."""
    names = [one.name for one in CONTENDERS if any(one.name == r.name for result in results for r in result.ratios)]
    lines = [f"| | {' | '.join(names)} |", f"|---{'|---' * len(names)}|"]
    for result in results:
        found = {ratio.name: f"{ratio.middle:.2f} [{ratio.low:.2f}, {ratio.high:.2f}]" for ratio in result.ratios}
        lines.append(f"| {result.workload.title} | {' | '.join(found.get(name, '–') for name in names)} |")
    baselines = " or ".join(dict.fromkeys(result.baseline for result in results))
    reasons = [f"- {name}: {why}" for name, why in dict.fromkeys(p for r in results for p in r.absent.items())]
    told = machine().replace("\n", ". ")
    measured = f"Ratios to {baselines}: median [quartiles] of {turns} turns. {datetime.date.today()}, {told}."
    return "\n".join([*lines, "", *reasons, *([""] if reasons else []), measured])


def save(path: Path, results: Sequence[Result], turns: int, others: dict[str, str]) -> None:
    """The figures as JSON; with them, what other benchmarks of the same run have printed."""
    figures = [
        {"workload": result.workload.name, "title": result.workload.title, "baseline": result.baseline,
         "contender": ratio.name, "median": ratio.middle, "quartiles": [ratio.low, ratio.high],
         "seconds": ratio.seconds, "first": result.first.get(ratio.name, 0.0)}
        for result in results for ratio in result.ratios
    ]  # fmt: skip
    absent = {result.workload.name: result.absent for result in results if result.absent}
    record: dict[str, object] = {"date": str(datetime.date.today()), "machine": machine().split("\n"), "turns": turns}
    record |= {"figures": figures, "absent": absent, "others": others}
    path.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
