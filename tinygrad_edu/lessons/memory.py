"""Tasks of the lesson on memory: count what is kept, keep less, compute again, cut a batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..common.wording import plural
from ..errors import EduError
from ..nn import Linear, Sequential, Tanh
from ..nn import functional as F
from ..observe.counters import arrays_in
from ..observe.memory import Memory
from ..optim import SGD
from ..settings import no_grad
from ..tensor import Tensor
from ..tensor.random import rand, seeded
from ..utils.checkpoint import CheckpointError, checkpoint_sequential
from .checking import NOTHING, Judge, judge_number, quiz, task
from .memory_models import CALLS, LIMIT, Cost, cost, denoiser, next_word, records

NOT_RECORDED = (
    "the loss to train on was computed inside no_grad(), so nothing was recorded. Which part of the program "
    "never runs backward?"
)
UNEQUAL = "the gradient is not that of the whole batch."


def reads_the_graph(judge: Judge) -> Judge:
    """A judge of functions with a hint for a backward through what was never recorded."""

    def judged(answer: Any) -> str:
        try:
            return judge(answer)
        except EduError as error:
            if "nothing that it was computed from" in str(error):
                return NOT_RECORDED
            raise

    return judged


def _megabytes(count: float) -> str:
    return f"{count / 1e6:.2f} MB"


def _gradients(model: Any) -> list[np.ndarray[Any, Any]]:
    return [np.zeros(p.shape) if p.grad is None else p.grad.numpy().copy() for p in model.parameters()]


def _cleared(model: Any) -> None:
    for p in model.parameters():
        p.grad = None


def _same(found: list[np.ndarray[Any, Any]], right: list[np.ndarray[Any, Any]], times: float = 1.0) -> bool:
    """Whether the gradients are equal, up to the rounding of sums in another order."""
    room = 1e-4 * max(float(np.abs(one).max()) for one in right)
    return all(np.allclose(times * a, b, rtol=1e-3, atol=room) for a, b in zip(found, right, strict=True))


def _number(value: Any) -> float | None:
    """A loss as a number; None if it is none."""
    try:
        return float(value.item() if isinstance(value, Tensor) else value)
    except (TypeError, ValueError):
        return None


@task(
    "activations",
    "400 rows go through tanh layers of widths 500, 500 and 100. How many MB do the layers keep for backward?",
    "rows times width times 4 bytes for each tanh, and nothing for the linear results before them.",
)
def _activations(answer: Any) -> str:
    rows, widths = 400, (500, 500, 100)
    layers: list[Any] = []
    for before, after in zip((50, *widths), widths, strict=False):
        layers += [Linear(before, after), Tanh()]
    model, x = Sequential(*layers), rand(rows, 50)
    with Memory(model, x) as seen:
        kept = model(x)
    right = seen.now["activation"] / 1e6
    assert kept.shape == (rows, widths[-1])
    weights = sum(p.nbytes for p in model.parameters()) / 1e6
    known = {
        2 * right: "that counts the linear results, too. What does tanh need on the way back?",
        right / 4: "those are millions of numbers. Each takes 4 bytes.",
        2 * right / 4: "those are numbers, not bytes, and the linear results are counted, too.",
        right * 1e3: "those are kilobytes. Give megabytes, of a million bytes each.",
        right * 1e6: "that is the count of bytes. Give megabytes, of a million bytes each.",
        right + x.nbytes / 1e6: "x was there before, and it is no activation. Leave it out.",
        weights: "those are the weights. They do not depend on the number of rows.",
        right + weights: "that counts the weights, too. They are parameters, not activations.",
        rows * 500 * 4 / 1e6: "that is the first layer alone.",
        2 * rows * 500 * 4 / 1e6: "the third layer keeps its result, too.",
        rows * 100 * 4 / 1e6: "that is the last layer alone. The graph still needs the others.",
    }
    return judge_number(answer, right, known, "for each of the three layers: rows times width times 4 bytes.")


@task(
    "history",
    "Fix train(model, optimizer, data, validation, epochs): the same losses, and no epoch may leave a graph behind.",
    "a number keeps no graph. And under no_grad() the validation does not make one in the first place.",
    function=True,
)
@reads_the_graph
def _history(answer: Any) -> str:
    def trial() -> tuple[Any, tuple[Tensor, Tensor], tuple[Tensor, Tensor]]:
        with seeded(5):
            return denoiser(40, 2), records(30), records(30)

    model, data, validation = trial()
    right = []
    optimizer = SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        F.mse_loss(model(data[0]), data[1]).backward()
        optimizer.step()
        with no_grad():
            right.append(F.mse_loss(model(validation[0]), validation[1]).item())
    model, data, validation = trial()
    with Memory(model) as seen:
        found = answer(model, SGD(model.parameters(), lr=0.1), data, validation, 3)
        nodes = seen.nodes
    if found is None:
        return NOTHING
    if not isinstance(found, (list, tuple)) or len(found) != 3:
        return "return the list of validation losses, one for each epoch."
    if nodes:
        return (
            f"{nodes} nodes of the graph are still alive after three epochs. What in the list still knows how it was "
            "computed? clone() knows it, too."
        )
    values = [_number(one) for one in found]
    if None in values:
        return "the list should hold losses: numbers, or tensors of one number."
    if not np.allclose([value or 0.0 for value in values], right, rtol=1e-4):
        return "nothing piles up, but the losses are not those of the given program. Does each epoch still learn?"
    return ""


@task(
    "segments",
    "Write forward(blocks, x, segments): run the blocks in so many segments, of which only the inputs are kept.",
    "each segment keeps what goes in, and backward computes one segment again at a time.",
    function=True,
)
def _segments(answer: Any) -> str:
    with seeded(6):
        blocks = [Sequential(Linear(64, 64), Tanh()) for _ in range(12)]
        x = rand(500, 64)
    model = Sequential(*blocks)

    def step(forward: Callable[..., Any], segments: int) -> Callable[[], Any]:
        def run() -> Any:
            _cleared(model)
            y = forward(blocks, x, segments)
            if y is None:
                return None
            (y * y).mean().backward()
            return y

        return run

    plain = cost(step(lambda given, value, _: model(value), 1))
    right = _gradients(model)
    for segments in (2, 6, 3):  # 12 blocks in 3 have as many in each as 12 in 4
        good = cost(step(lambda given, value, count: checkpoint_sequential(given, count, value), segments))
        try:
            found = cost(step(answer, segments))
        except CheckpointError as error:
            if "second" in str(error):
                return (
                    "backward ran a segment again, and got other values. Does a lambda in a loop use a name that has "
                    "changed by then? Bind it: lambda x, part=part: …"
                )
            raise
        hint = _segments_slip(found, plain, good, segments)
        if not hint and not _same(_gradients(model), right):
            hint = "the memory is right, but the gradients have changed. Does every block run once, in order?"
        if hint:
            return hint
    return ""


def _segments_slip(found: Cost, plain: Cost, good: Cost, segments: int) -> str:
    """What is wrong with the memory or the operations of 12 blocks in segments."""
    if found.returned is None:
        return NOTHING
    again, blocks = found.calls - plain.calls, 12
    if again <= 0:
        return "nothing is computed again: all blocks keep their results. Where is checkpoint?"
    if found.checkpoints not in (1, segments - 1, segments, blocks):  # the last segment need not be one
        made = plural(found.checkpoints, "checkpoint")
        return f"with segments={segments} there are {made}. How many blocks belong to each?"
    if found.peak <= 1.1 * good.peak and found.checkpoints in (segments - 1, segments):
        return ""
    told = f"with segments={segments} the peak is {_megabytes(found.peak)}; {_megabytes(good.peak)} is possible."
    if found.peak > 0.95 * plain.peak and again >= 2 * blocks - 2:
        return f"{told} Is each block a checkpoint by itself, or all of them one? How many blocks belong to a segment?"
    return f"{told} How many blocks does each checkpoint run?"


@task(
    "parts",
    "Fix accumulate(model, x, y, rows): the gradient of the whole batch, from parts of at most so many rows.",
    "each part counts by its share of the rows, and its graph is gone before the next one begins.",
    function=True,
)
@reads_the_graph
def _parts(answer: Any) -> str:
    with seeded(8):
        model, (x, y) = denoiser(100, 3), records(500)

    def whole() -> Any:
        _cleared(model)
        loss = F.mse_loss(model(x), y)
        loss.backward()
        return loss.item()

    plain, right = cost(whole), _gradients(model)
    for rows in (250, 200, 499):

        def run(rows: int = rows) -> Any:
            _cleared(model)
            return answer(model, x, y, rows)

        found = cost(run)
        got, pieces = _gradients(model), [x[i : i + rows] for i in range(0, 500, rows)]
        if not _same(got, right):
            return _parts_slip(model, got, right, x, y, rows)
        if rows == 250 and found.peak > 0.75 * plain.peak:
            return (
                f"the gradient is right, but the peak is {_megabytes(found.peak)}, and {_megabytes(plain.peak)} for "
                "the whole batch. When does backward() free the graph of a part?"
            )
        told = _number(found.returned)
        if found.returned is None:
            return f"the gradient is right. {NOTHING[0].upper()}{NOTHING[1:]}"
        if told is None or not np.isclose(told, plain.returned, rtol=1e-3):
            return f"the gradient is right. Return the mean loss of the whole batch, too, over all {len(pieces)} parts."
    return ""


def _parts_slip(model: Any, got: Any, right: Any, x: Tensor, y: Tensor, rows: int) -> str:
    """What is wrong with a gradient that was put together."""
    starts = range(0, len(x), rows)
    if not any(one.any() for one in got):
        return "no parameter has a gradient at the end. Was backward() called, or .grad cleared after it?"

    def gradient(weights: list[float]) -> list[np.ndarray[Any, Any]]:
        _cleared(model)
        for start, weight in zip(starts, weights, strict=True):
            part = slice(start, start + rows)
            (F.mse_loss(model(x[part]), y[part]) * weight).backward()
        return _gradients(model)

    count, last = len(starts), len(x) - starts[-1]
    known = (
        ([1.0] * count, f"it is about {count} times too large: what share of the batch is each part?"),
        (
            [1.0 / count] * count,
            f"with parts of {', '.join(str(min(rows, len(x) - start)) for start in starts)} rows, each of the last "
            f"{last} counts more than one of the others.",
        ),
        (
            [0.0] * (count - 1) + [last / len(x)],
            "it is that of the last part alone. Is .grad cleared between the parts?",
        ),
        ([0.0] * (count - 1) + [1.0], "it is that of the last part alone. Is .grad cleared between the parts?"),
    )
    for weights, hint in known:
        if _same(got, gradient(weights)):
            return f"with rows={rows}, {UNEQUAL[:-1]}: {hint}"
    return f"with rows={rows}, {UNEQUAL} Which rows are in each part, and how much does each part count?"


@task(
    "under_limit",
    f"Write step(model, words, following, other_words, other_following): at most {LIMIT / 1e6:g} MB and {CALLS} "
    "operations, the same losses and gradients.",
    "it fits. Now defend each change: what did it save, and what did it cost?",
    function=True,
)
@reads_the_graph
def _under_limit(answer: Any) -> str:
    given = next_word()
    model = given.model

    def plain() -> Any:
        _cleared(model)
        loss = F.cross_entropy(model(given.words), given.following)
        loss.backward()
        with no_grad():
            return loss.item(), F.cross_entropy(model(given.other_words), given.other_following).item()

    losses, right = plain(), _gradients(model)

    def run() -> Any:
        _cleared(model)
        return answer(*given)

    found = cost(run)
    if found.returned is None:
        return NOTHING
    if not isinstance(found.returned, (tuple, list)) or len(found.returned) != 2:
        return "return two losses: the one to train on, and the one of the other words."
    got = _gradients(model)
    if not _same(got, right):
        return "the gradients are not those of the given program. If the batch is cut: what share is each part?"
    told = [_number(one) for one in found.returned]
    if None in told or not np.allclose([value or 0.0 for value in told], losses, rtol=1e-3):
        return "the gradients are right. The two losses are not those of the given program."
    if found.peak > LIMIT:
        graph = any(isinstance(one, Tensor) and _holds_a_graph(one) for one in found.returned)
        more = " A loss that you return still holds its graph." if graph else " Who holds most at the peak?"
        return f"the peak is {_megabytes(found.peak)}, and the limit is {_megabytes(LIMIT)}.{more}"
    if found.calls > CALLS:
        return f"it fits, but takes {found.calls} operations, and {CALLS} are allowed. Are the parts too small?"
    return ""


def _holds_a_graph(loss: Tensor) -> bool:
    """Whether its graph still keeps numbers for backward: once that has run, they are gone."""
    return loss.node is not None and any(True for _ in arrays_in(loss.node.saved or ()))


quiz(
    "quiz_memory",
    "Three questions, answered by three letters.",
    "ask who holds most at the peak; then choose the change that reaches that owner.",
    (
        {
            "a": "question 1: SGD keeps less, but at this peak the optimiser is a small part.",
            "b": "",
            "c": "question 1: the graph still points at the buffers. A name is only one of their holders.",
        },
        {
            "a": "question 2: then nothing would be left to save. What waits at the cuts?",
            "b": "question 2: with two segments, one of them is half of all the activations.",
            "c": "",
        },
        {
            "a": "question 3: then the 20 rows would count as much as the 80.",
            "b": "",
            "c": "question 3: then both parts count in full: about twice the gradient.",
        },
    ),
    'give one letter for each question, in order, such as "abc".',
)
