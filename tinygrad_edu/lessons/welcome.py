"""Tasks of the welcome: what is found by playing is tried again, on a network of the same seed.

The playground and what trains are imported when the first answer comes: other lessons do not wait for them.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from ..errors import ArgumentError
from ..observe.counters import Counters
from ..observe.machine import quiet
from ..tensor import Tensor
from ..tensor.creation import arange
from ..tensor.random import rand, seeded
from .checking import NOTHING, numbers, task

STEPS = 400
FEW = 60  # of a hundred test digits


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
    "steps that long overshoot: most hidden units end at zero, and every digit gets the same answer.",
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
    f"What is the smallest share of next-digit labels on the knob with which it reads fewer than {FEW} of 100 test "
    "digits after 200 steps?",
    "wrong labels that agree win among a few examples before they are half. Seeds 1 to 7 read 57 to 67 "
    "there. With as many random ones it still reads 9 of 10.",
)
def _next(answer: Any) -> str:
    from ..views.playground.model import STOPS

    share, stops = _one_number(answer), STOPS["noise"]
    if 1 < share <= 100:  # meant as a percentage
        share /= 100
    if share not in stops:
        return f"the knob goes from 0 to {stops[-1]:.0%}, in steps of 5 %. Give one of its shares, such as 0.1."
    right = reads(200, noise=share, wrong="next digit")
    if right >= FEW:
        return f"with {share:.0%} of next-digit labels it still reads {right:.0f} of 100."
    if reads(200, noise=stops[stops.index(share) - 1], wrong="next digit") < FEW:
        draw = " At 50 % the labels are a draw; it fails before that." if share == 0.5 else ""
        return f"fewer than {FEW}, yes. Would a smaller share do it, too?{draw}"
    return ""


@task(
    "welcome_epoch",
    "Fix epoch(model, optimizer, loss_function, batches): the whole batch at once, and a total without graphs.",
    "one call for the batch, and a number for the total: the same training, with fewer calls and no graph kept.",
    function=True,
)
def _epoch(answer: Any) -> str:
    from ..nn import CrossEntropyLoss, Linear
    from ..optim import SGD

    with seeded(0):
        batches = [(rand(8, 4), arange(8) % 3) for _ in range(3)]
        ours, theirs = (Linear(4, 3) for _ in range(2))
    theirs.load_state_dict(ours.state_dict())
    with Counters() as least:
        expected = _trained(ours, SGD(ours.parameters(), lr=0.5), CrossEntropyLoss(), batches)
    usual = least.calls
    with Counters() as counted:
        returned = answer(theirs, SGD(theirs.parameters(), lr=0.5), CrossEntropyLoss(), batches)
    if returned is None:
        return NOTHING
    if not all(a.allclose(b, atol=1e-5) for a, b in zip(ours.parameters(), theirs.parameters(), strict=True)):
        return "it does not learn the same: each batch makes one step, with the gradient of its own mean loss alone."
    given = float(numbers(returned).mean())
    if not np.isclose(given, expected, rtol=1e-4):
        return f"for three batches it returns {given:.3f}, and their mean loss is {expected:.3f}."
    if isinstance(returned, Tensor) and returned.requires_grad:
        return "what it returns still has a graph, with the nodes of every batch. Add the number of each loss alone."
    if counted.calls > 2 * usual:
        return f"it starts {counted.calls} operations, and {usual} are enough: the loss still comes digit by digit."
    return ""


def _trained(model: Any, optimizer: Any, loss_function: Any, batches: list[tuple[Tensor, Tensor]]) -> float:
    """The mean loss of an epoch, as it should be trained."""
    total = 0.0
    for x, y in batches:
        optimizer.zero_grad()
        loss = loss_function(model(x), y)
        loss.backward()
        optimizer.step()
        total += float(loss.item())
    return total / len(batches)
