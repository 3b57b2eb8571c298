"""Tasks of the welcome: what is found by playing is tried again, on a network of the same seed.

The playground is imported when the first answer comes: other lessons do not wait for it.
"""

from __future__ import annotations

from functools import cache
from typing import Any

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


@task(
    "welcome_rate",
    "Find a learning rate that is too large: after 200 steps the network still reads only about one digit in ten.",
    "steps that long overshoot: the loss rises, most units end at zero, and every digit gets the same answer.",
)
def _rate(answer: Any) -> str:
    from ..views.playground.model import STOPS

    rate = float(numbers(answer).reshape(()))
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
    f"How narrow can the network be, and still read 9 of 10 test digits after {STEPS} steps? Give a stop of the knob.",
    "so few numbers between the pixels and the answer are enough for these digits.",
)
def _width(answer: Any) -> str:
    from ..views.playground.model import STOPS

    width, stops = float(numbers(answer).reshape(())), STOPS["width"]
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
    "Which slow habit makes a step of the most operations? Give its name as its switch says it.",
    "every call has to be started; how much it then computes hardly counts when the arrays are small.",
)
def _habit(answer: Any) -> str:
    from ..views.playground.model import HABITS

    said = str(answer).lower().replace("`", "").strip()
    found = [name for name, habit in HABITS.items() if said in (name, habit.label.lower().replace("`", ""))]
    if not found:
        return f"give one of these names: {', '.join(habit.label.replace('`', '') for habit in HABITS.values())}."
    most, mine = max(map(operations, HABITS)), operations(found[0])
    return "" if mine == most else f"a step of that makes {mine} operations. Another habit makes more."
