"""The playground: steps a second with and without drawing, how soon it answers while it plays, and its memory."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from typing import Any

from benchmarks import harness

STEPS, ANSWERS = 1_000, 40
SLOWEST, LARGEST = 0.1, 300.0  # seconds for nine answers in ten; MB of a process after 2,000 steps with every habit
# In a process of its own, which has loaded what a kernel loads with the widgets.
MEMORY = """
import resource, sys
from tinygrad_edu_widgets import Playground
from tinygrad_edu.views.playground.model import HABITS
made = Playground(batch=16)
for habit in HABITS:
    made.flip(habit, True)
made.play()
made.pause()
made.run(2000)
made.html
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3))
"""


def rate(made: Any) -> float:
    """Steps a second, as fast as they go."""
    start = time.perf_counter()
    made.run(STEPS)
    return STEPS / (time.perf_counter() - start)


def answers(made: Any) -> list[float]:
    """Seconds from a message to its answer, while it plays."""
    took = []
    made.play()
    for i in range(ANSWERS):
        time.sleep(0.02)  # as a slider that is dragged sends them
        start = time.perf_counter()
        made._handle_custom_msg({"act": "knob:learning_rate", "value": i % 10}, [])
        took.append(time.perf_counter() - start)
    made.pause()
    return took


def run() -> str:
    """The figures, as a table of Markdown, and whether they keep to the limits."""
    from tinygrad_edu_widgets import Playground  # an extra

    made = Playground()
    made.run(50)
    lines = ["| what | figure |", "|---|---|", f"| steps a second, nothing drawn | {rate(made):.0f} |"]
    start = time.perf_counter()
    for _ in range(20):
        made._refresh()
    drawing = (time.perf_counter() - start) / 20
    lines.append(f"| one drawing | {drawing * 1e3:.1f} ms, {len(made.html) / 1e3:.0f} kB |")
    worst = 0.0
    for name, habits in (("usual steps", ()), ("one sample at a time", ("one sample",))):
        for habit in habits:
            made.flip(habit, True)
        took = answers(made)
        nine = statistics.quantiles(took, n=10)[-1]
        worst = max(worst, nine)
        middle = statistics.median(took)
        lines.append(
            f"| answers while it plays, {name} | {middle * 1e3:.0f} ms, nine in ten within {nine * 1e3:.0f} ms |"
        )
    memory = float(subprocess.run([sys.executable, "-c", MEMORY], capture_output=True, text=True, check=True).stdout)
    lines.append(f"| memory of a process, every habit on | {memory:.0f} MB |")
    answer = f"{worst * 1e3:.0f} ms of {SLOWEST * 1e3:.0f} for an answer{harness.over(worst, SLOWEST)}"
    verdict = f"playground: {answer}, {memory:.0f} MB of {LARGEST:.0f}{harness.over(memory, LARGEST)}"
    return "\n\n".join([harness.machine("numpy"), "\n".join(lines), verdict])
