"""Tasks of the welcome: what is found by playing is tried again, on a network of the same seed.

The playground is imported when the first answer comes: other lessons do not wait for it.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from ..errors import ArgumentError
from .checking import numbers, task

STEPS = 400


@cache
def reads(steps: int = STEPS, **knobs: Any) -> float:
    """Of a hundred test digits, how many a network with these knobs reads right after so many steps."""
    from ..views.playground.model import Knobs
    from ..views.playground.run import Run

    run = Run(0, knobs=Knobs(**knobs))
    for _ in range(steps):
        run.advance()
    return 100 * run.glance().now.test_accuracy


@cache
def operations(habit: str) -> int:
    """How many operations a step takes with one slow habit."""
    from ..views.playground.run import Run

    run = Run()
    run.flip(habit, True)
    while not run.meters.operations:
        run.advance()
    return run.meters.operations


@cache
def reads_next_digit(share: float, steps: int = 200) -> float:
    """Of a hundred test digits, how many are read right if that share of the training labels says the next digit."""
    from ..views.playground.run import Run

    run = Run()
    labels = run.loop.labels.copy()
    wrong = np.random.default_rng(0).permutation(len(labels))[: round(share * len(labels))]
    labels[wrong] = (labels[wrong] + 1) % 10
    run.loop.labels = labels
    for _ in range(steps):
        run.advance()
    return 100 * run.glance().now.test_accuracy


def _one_number(answer: Any) -> float:
    """An answer that is one number, not a list of one."""
    found = numbers(answer)
    if found.ndim:
        raise ArgumentError("answer", "it is asked for one number", "write it without brackets, such as answer = 0.1")
    return float(found)


@task(
    "welcome_rate",
    "Find a learning rate that is too large: after 200 steps the network still reads only about one digit in ten.",
    "steps that long overshoot: the loss rises, most units end at zero, and every digit gets the same answer.",
)
def _rate(answer: Any) -> str:
    from ..views.playground.model import STOPS

    rate = _one_number(answer)
    low, high = STOPS["learning_rate"][0], STOPS["learning_rate"][-1]
    if not low <= rate <= high:
        return f"the knob goes from {low:g} to {high:g}."
    right = reads(200, learning_rate=rate)
    if right >= 20:
        return f"with {rate:g} it reads {right:.0f} of 100 after 200 steps. Go on."
    if reads(1200, learning_rate=rate) >= 20:
        return f"with {rate:g} it is only slow: give it more steps, and it learns. Look at the other end of the knob."
    return ""


@task(
    "welcome_width",
    f"What is the smallest stop of width at which it still reads 9 of 10 test digits after {STEPS} steps?",
    "it is near the limit: other seeds read 87 to 93 of 100 there. With no hidden layer (depth 0) it reads 92.",
)
def _width(answer: Any) -> str:
    from ..views.playground.model import STOPS

    width, stops = _one_number(answer), STOPS["width"]
    if width not in stops:
        return f"the knob stops at {', '.join(map(str, stops))}. Which of them?"
    right = reads(width=int(width))
    if right < 90:
        return f"with {width:g} it reads {right:.0f} of 100 after {STEPS} steps."
    place = stops.index(int(width))
    if place and reads(width=stops[place - 1]) >= 90:
        return "that is enough. Is less enough, too?"
    return ""


@task(
    "welcome_habit",
    "With which slow habit does one step take the most operations? Give its name exactly as on its switch.",
    "“the same sums take the same time” is wrong: each call has to be started, and on small arrays that is most of it.",
)
def _habit(answer: Any) -> str:
    from ..views.playground.model import HABITS

    said = str(answer).lower().replace("`", "").strip()
    found = [name for name, habit in HABITS.items() if said in (name, habit.label.lower().replace("`", ""))]
    if not found:
        return f"give one of these names: {', '.join(habit.label.replace('`', '') for habit in HABITS.values())}."
    most, mine = max(map(operations, HABITS)), operations(found[0])
    return "" if mine == most else f"a step of that makes {mine} operations. Another habit makes more."


@task(
    "welcome_next",
    "Find a share of next-digit labels, 0.6 at most, with which the network reads fewer than half after 200 steps.",
    "these wrong labels agree with each other. With as many random ones it still reads more than 8 of 10.",
)
def _next(answer: Any) -> str:
    share = _one_number(answer)
    if not 0 <= share <= 0.6:
        return "give a share from 0 to 0.6."
    right = reads_next_digit(share)
    return "" if right < 50 else f"with {share:g} it reads {right:.0f} of 100 after 200 steps. Go on."
