"""Tasks of the tip lab: slow programs to be fixed. What is checked is counted, so it is the same on every machine.

Only the task about a shape is about the clock: the learner measures, and hands in what was measured.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..common.wording import bytes_text
from ..errors import EduError
from ..observe.counters import Counters
from ..observe.results import Comparison
from ..tensor import Tensor
from ..tensor.random import rand, seeded
from .checking import NOTHING, numbers, quiz, task

Array = np.ndarray[Any, Any]
CLOSE = 1e-4
OUTSIDE = (
    "the numbers are right, but no tensor operation was counted: the work was done outside the engine, where a loop "
    "would not be seen. Use the tensors' own operations."
)


def _tried(
    answer: Callable[..., Any], example: Tensor, *others: Tensor, right: Array, known: dict[str, Array]
) -> tuple[str, Counters]:
    """What is wrong with an answer's numbers, and what it needed. ``known`` are usual wrong results, by their hint."""
    before = example.numpy().copy()
    with Counters() as counted:
        returned = answer(example, *others)
    if returned is None:
        return NOTHING, counted
    if not np.array_equal(example.numpy(), before):
        return "its input has changed. The caller still needs those numbers: return new ones.", counted
    got = numbers(returned)
    if got.shape == right.shape and np.allclose(got, right, atol=CLOSE):
        return "", counted
    for hint, wrong in known.items():
        if got.shape == wrong.shape and np.allclose(got, wrong, atol=CLOSE):
            return hint, counted
    if got.shape != right.shape:
        return f"the result has shape {got.shape}, and it should be {right.shape}.", counted
    return "the numbers differ from those of the slow version.", counted


def _looped(counted: Counters, rows: int) -> str:
    """What is wrong with how right numbers were computed; "" if no loop over so many rows did it."""
    if counted.calls == 0:
        return OUTSIDE
    return f"right, but it starts {counted.calls} operations, so it still has a loop." if counted.calls > rows else ""


def _random(*shape: int) -> Tensor:
    """The same numbers each time; the learner's own stream stays as it was."""
    with seeded(1):
        return rand(*shape)


@task(
    "lab_centre",
    "Fix centre(readings): subtract from every row its own mean, without a loop over the rows.",
    "no operation is repeated for each row, and each mean met the readings of its own row, on square tables too.",
    function=True,
)
def _centre(answer: Any) -> str:
    shapes: list[tuple[int, int]] = [(60, 7), (7, 7)]
    for shape in shapes:
        case = f"on {shape[0]} × {shape[1]} readings: "
        x = _random(*shape)
        values = x.numpy().astype(np.float64)
        known = {
            "each mean met a column, not its row. mean(1) has lost its axis: how do you keep it?": (
                values - values.mean(1) if shape[0] == shape[1] else np.empty(0)
            ),
            "that is the mean of each column: mean(0). One sensor is one row.": values - values.mean(0),
            "that is the mean of all readings. Each row has its own.": values - values.mean(),
            "those are the means. Subtract them from the readings.": values.mean(1, keepdims=True),
        }
        try:
            hint, counted = _tried(answer, x, right=values - values.mean(1, keepdims=True), known=known)
        except EduError as error:
            return f"{case}{error.sentence()} Compare the two shapes from the right: what should the mean have there?"
        if hint := hint or _looped(counted, shape[0]):
            return case + hint
    return ""


MANY = 10_000


def _beginning(answer: Callable[..., Any], x: Tensor, right: Array) -> int:
    """How many of the right rows an answer gives, if they are the first ones and not all; else 0."""
    got = numbers(answer(x))
    cut = right[: len(got)] if got.ndim == right.ndim else right
    return len(cut) if len(cut) < len(right) and got.shape == cut.shape and np.allclose(got, cut, atol=CLOSE) else 0


@task(
    "lab_thin",
    "Fix thin(readings): every second row, from row 0 on, without copying a byte.",
    "a slice is described by a start and a stride, so nothing is copied.",
    function=True,
)
def _thin(answer: Any) -> str:
    for rows in (10, 7, MANY):  # as many as the report has: a stop that is too early shows only there
        x = _random(rows, 3)
        values = x.numpy()
        known = {
            "those are the rows 1, 3, 5 …; begin with row 0.": values[1::2],
            "those are every second column. Rows are the first axis.": values[:, ::2],
            "that is the first half of the rows, not every second one.": values[: (rows + 1) // 2],
        }
        case = f"on {rows:,} rows: "
        hint, counted = _tried(answer, x, right=values[::2], known=known)
        if hint and (kept := _beginning(answer, x, values[::2])):
            hint = f"those are the first {kept:,} of {len(values[::2]):,} rows. Where does your index stop?"
        if hint:
            return case + hint
        if counted.allocated:
            return (
                f"{case}right, but {bytes_text(counted.allocated)} are new. An index that is a list or a "
                "tensor of positions copies; so do clone and stack. Which index is only a start and a step?"
            )
    return ""


@task(
    "lab_scores",
    "Fix scores(rows, weights): for each row, the sum of its numbers times the weights; no loop, no large temporary.",
    "a product of matrix and vector adds up while it multiplies, and needs only room for its result.",
    function=True,
)
def _scores(answer: Any) -> str:
    shapes: list[tuple[int, int]] = [(40, 6), (6, 6)]
    for shape in shapes:
        case = f"on {shape[0]} × {shape[1]} numbers: "
        x, w = _random(*shape), _random(shape[1]) + 1.0
        rows, weights = x.numpy().astype(np.float64), w.numpy().astype(np.float64)
        known = {
            "the products are not added up yet.": rows * weights,
            "that adds up the columns. Each row has one score.": (rows * weights).sum(0),
            "that is the sum of all products. Each row has one score.": np.asarray((rows * weights).sum()),
        }
        if shape[0] == shape[1]:
            known["rows and weights have changed places: weights @ rows adds up the columns."] = weights @ rows
        try:
            hint, counted = _tried(answer, x, w, right=rows @ weights, known=known)
        except EduError as error:
            return f"{case}{error.sentence()} The rows have {shape[1]} numbers, as many as there are weights."
        if hint := hint or _looped(counted, shape[0]):
            return case + hint
        if counted.allocated >= x.nbytes:
            return (
                f"{case}right and without a loop, but {bytes_text(counted.allocated)} are new, and the rows themselves "
                f"take {bytes_text(x.nbytes)}: all products are written out before they are added. Which operator adds "
                "while it multiplies?"
            )
    return ""


NUMBERS, LEAST = 2_000_000, 2  # with fewer sensors than that, both ways do the same work
A_FEW = 8  # operations: a mean for each axis in turn, reshapes and a subtraction stay below
HAND_IN = "hand in what `raced` gives, such as answer = raced(1000, 2000)."


@task(
    "lab_shape",
    "Two million readings, (sensors, readings each), for which the clock does not favour 'at once'?",
    "few long rows leave few operations to save, and the loop's temporaries are one row long instead of a whole table; "
    "caches may make that pay. What it is worth differs from machine to machine, so the clock has to say.",
)
def _shape(answer: Any) -> str:
    if not isinstance(answer, tuple) or len(answer) != 3 or not isinstance(answer[2], Comparison):
        return HAND_IN
    sensors, each, found = answer
    if sensors * each != NUMBERS:
        return f"{sensors:,} × {each:,} is {sensors * each:,}, not two million."
    if sensors == 1:
        return "with one sensor, its row is the whole table, and both do the same. Take more sensors."
    if found.verdict != "faster" and not found.open:
        return ""
    measured = f"measured on your machine: {found.sentence()}. "
    if found.open:
        return f"{measured}The runs vary too much to tell. Run the cell again, or try another shape."
    if sensors <= LEAST:
        return (
            f"{measured}Hardly an operation is left to save, and yet 'at once' is faster. Try a few sensors more or "
            "fewer. If the loop never wins on this machine, that is a result, too: leave this task open."
        )
    return (
        f"{measured}The loop starts five operations for each sensor: {5 * sensors + 1:,} here, with one to join them."
    )


@task(
    "lab_channels",
    "Fix centre_channels(images): images are (N, height, width, 3); subtract from each channel its mean over all "
    "images and pixel positions, in a few operations.",
    "a mean over all axes but the last leaves one number for each channel, and shapes are compared from the right, so "
    "each number meets its own channel.",
    function=True,
)
def _channels(answer: Any) -> str:
    for shape in ((5, 4, 6, 3), (3, 3, 3, 3)):
        case = f"on images of shape {shape}: "
        x = _random(*shape)
        values = x.numpy().astype(np.float64)
        known = {
            "each image has its own means here. Take the mean over the images too.": (
                values - values.mean((1, 2), keepdims=True)
            ),
            "that subtracts the mean picture: a mean over the images alone.": values - values.mean(0),
            "that leaves a mean for each column of pixels. Which axes have to go?": (
                values - values.mean((0, 1), keepdims=True)
            ),
            "that leaves a mean for each row of pixels. Which axes have to go?": (
                values - values.mean((0, 2), keepdims=True)
            ),
            "that is one mean for all channels. Each channel has its own.": values - values.mean(),
            "that is a mean over the channels of each pixel. Which axes should go?": (
                values - values.mean(3, keepdims=True)
            ),
        }
        hint, counted = _tried(answer, x, right=values - values.mean((0, 1, 2)), known=known)
        if hint:
            return case + hint
        if counted.calls == 0:
            return case + OUTSIDE
        if counted.calls > A_FEW:
            return f"{case}right, but it starts {counted.calls} operations{_grown(answer, shape, counted.calls)}"
    return ""


def _grown(answer: Callable[..., Any], shape: tuple[int, ...], calls: int) -> str:
    """Over what a slow answer loops: twice as many images tell."""
    with Counters() as counted:
        answer(_random(2 * shape[0], *shape[1:]))
    twice = f"{2 * shape[0]} images"
    if counted.calls > calls:
        return f", and {counted.calls} for {twice}: it has a loop over the images."
    return (
        f", and as many for {twice}: its loop is over something else, such as the channels. One mean can take "
        "several axes."
    )


quiz(
    "exit_lab",
    "Exit quiz: three letters, such as 'abc'.",
    "first the same numbers, then counts, then the clock with its spread.",
    (
        {
            "a": "(1) that subtracts the mean of each column: (1, 20) does meet the 20, but it is not the row's own.",
            "b": "(1) x.mean(1) has shape (50,). From the right, 50 meets the 20 readings: that is an error.",
            "c": "",
        },
        {
            "a": "",
            "b": "(2) a list makes a copy even where a slice could do it: it might name any rows.",
            "c": "(2) clone copies what the slice already shares.",
        },
        {
            "a": "(3) with this engine the counts hold anywhere; whether they save time depends on size and machine.",
            "b": "(3) the counts are something: with this engine they hold on any computer, and times do not.",
            "c": "",
        },
    ),
    "give one letter from a, b, c for each of the three questions, such as 'abc'.",
)
