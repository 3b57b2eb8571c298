"""How much longer a loop takes with a training monitor: with 1,000 fast records, and with many more."""

from __future__ import annotations

import time
from collections.abc import Callable

from benchmarks import harness

RECORDS, WORK = (1_000, 4_000, 16_000), 5e-4  # how many; seconds that the loop itself works for each
BUDGET = 1.1  # of the loop's own time, drawings and records together
LINES = ("| records | loop alone | with a monitor | ratio | one drawing at the end |", "|---" * 5 + "|")


def loop(records: int, log: Callable[[float], None] | None) -> float:
    """The seconds at work, of all threads, in a loop of so many records. Other programs do not count."""
    start = time.process_time()
    for i in range(records):
        until = time.process_time() + WORK
        while time.process_time() < until:
            pass
        if log is not None:
            log(1 / (i + 1))
    return time.process_time() - start


def run() -> str:
    """The times, as a table of Markdown, and whether they keep to the budget."""
    from tinygrad_edu_widgets import TrainingMonitor  # an extra

    lines, worst = list(LINES), 0.0
    for records in RECORDS:
        monitor = TrainingMonitor(records)
        alone, watched = loop(records, None), loop(records, monitor.log)
        start = time.perf_counter()
        monitor.frame().html()
        drawing = time.perf_counter() - start
        worst = max(worst, watched / alone)
        lines.append(
            f"| {records} | {alone:.2f} s | {watched:.2f} s | {watched / alone:.2f} | {drawing * 1e3:.0f} ms |"
        )
    verdict = f"training monitor: {worst:.2f} times the loop alone, of {BUDGET}{harness.over(worst, BUDGET)}"
    return "\n\n".join([harness.machine("numpy"), "\n".join(lines), verdict])
