"""Tasks of the welcome: what is found by playing is tried again, on a network of the same seed.

The playground is imported when the first answer comes: other lessons do not wait for it.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from ..errors import ArgumentError
from ..observe.machine import quiet
from .checking import numbers, task

STEPS = 400


@cache
def reads(steps: int = STEPS, **knobs: Any) -> float:
    """Of a hundred test digits, how many a network with these knobs reads right after so many steps."""
    from ..views.playground.model import Knobs
    from ..views.playground.run import Run

    run = Run(0, knobs=Knobs(**knobs))
    with quiet():  # on arrays as small as these, a second thread of BLAS costs more than it brings
        for _ in range(steps):
            run.advance()
    return 100 * run.glance().now.test_accuracy


@cache
def nodes(habit: str) -> int:
    """How many graph nodes are alive after a step with one habit: the most within a pass of the digits."""
    from ..views.playground.run import Run

    run, most = Run(), 0
    run.loop.flip(habit, True)
    while run.loop.passes < 2:
        run.meters.step()
        most = max(most, run.meters.reading().nodes or 0)
    return most


def _one_number(answer: Any) -> float:
    """An answer that is one number, not a list of one. A percentage is a share: ``"50 %"`` is 0.5."""
    try:
        if isinstance(answer, str) and answer.strip().endswith("%"):
            return float(answer.strip()[:-1]) / 100
        found = numbers(answer)
    except (TypeError, ValueError):
        raise ArgumentError("answer", "it is asked for one number", "write answer = 0.1, for example") from None
    if found.ndim:
        raise ArgumentError("answer", "it is asked for one number", "write it without brackets, such as answer = 0.1")
    return float(found)


@task(
    "welcome_rate",
    "Find a learning rate that is too large: after 200 steps the network still reads only about one digit in ten.",
    "steps that long overshoot: most units end at zero, and every digit gets the same answer.",
)
def _rate(answer: Any) -> str:
    from ..views.playground.model import STOPS

    rate = _one_number(answer)
    low, high = STOPS["learning_rate"][0], STOPS["learning_rate"][-1]
    if not low <= rate <= high:
        return f"the knob goes from {low:g} to {high:g}."
    right = reads(200, learning_rate=rate)
    if right >= 20:
        return f"with {rate:g} it reads {right:.0f} of 100 after 200 steps, more than one in ten. Try a larger one."
    if reads(1200, learning_rate=rate) >= 20:
        return f"with {rate:g} it is only slow: give it more steps, and it learns. Look at the other end of the knob."
    return ""


@task(
    "welcome_width",
    f"What is the smallest width on the knob with which it still reads 9 of 10 test digits after {STEPS} steps?",
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
    "Which habit multiplies the graph nodes most, with the knobs as at the beginning? Give its name as on its switch.",
    "each row makes nodes of its own. One sample at a time lets each graph go before the next.",
)
def _habit(answer: Any) -> str:
    from ..views.playground.model import HABITS

    said = str(answer).lower().replace("`", "").strip()
    found = [name for name, habit in HABITS.items() if said in (name, habit.label.lower().replace("`", ""))]
    if not found:
        return "no switch has that name. Write it as it stands there, such as float64 data."
    most, mine = max(map(nodes, HABITS)), nodes(found[0])
    return "" if mine == most else f"with that, {mine} nodes are alive after a step at most. Another habit has more."


@task(
    "welcome_next",
    "Find a share of wrong labels, 60 % at most, at which the two kinds differ by more than 40 of 100 test digits.",
    "next-digit labels agree with each other. With as many random ones it still reads more than 8 of 10.",
)
def _next(answer: Any) -> str:
    share = _one_number(answer)
    if 1 < share <= 100:  # meant as a percentage
        share /= 100
    if not 0 <= share <= 0.6:
        return "give a share from 0 to 0.6, or from 0 to 60 %."
    usual, agreeing = (reads(200, noise=share, wrong=kind) for kind in ("random", "next digit"))
    if abs(usual - agreeing) > 40:
        return ""
    told = f"with {share:g} it reads {usual:.0f} of 100 with random ones, {agreeing:.0f} with next digits."
    return f"{told} Try a larger one."
