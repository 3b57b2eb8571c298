"""Right and wrong answers to the tasks of the lesson on memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tinygrad_edu as tg
from tinygrad_edu.nn import functional as F
from tinygrad_edu.utils.checkpoint import checkpoint, checkpoint_sequential

MEMORY_SOLUTIONS: dict[str, str] = {
    "activations": "answer = 1.76",
    "history": """
from tinygrad_edu.nn import functional as F

def train(model, optimizer, data, validation, epochs):
    losses = []
    for epoch in range(epochs):
        optimizer.zero_grad()
        F.mse_loss(model(data[0]), data[1]).backward()
        optimizer.step()
        with tg.no_grad():
            losses.append(F.mse_loss(model(validation[0]), validation[1]).item())
    return losses

answer = train""",
    "segments": """
from tinygrad_edu import nn
from tinygrad_edu.utils.checkpoint import checkpoint

def forward(blocks, x, segments):
    size = len(blocks) // segments
    for start in range(0, len(blocks), size):
        x = checkpoint(nn.Sequential(*blocks[start : start + size]), x)
    return x

answer = forward""",
    "parts": """
from tinygrad_edu.nn import functional as F

def accumulate(model, x, y, rows):
    total = 0.0
    for start in range(0, len(x), rows):
        part = slice(start, start + rows)
        loss = F.mse_loss(model(x[part]), y[part]) * (len(x[part]) / len(x))
        loss.backward()
        total += loss.item()
    return total

answer = accumulate""",
    "under_limit": """
from tinygrad_edu.nn import functional as F
from tinygrad_edu.utils.checkpoint import checkpoint_sequential

def step(model, words, following, other_words, other_following):
    loss = F.cross_entropy(checkpoint_sequential(model, 3, words), following)
    loss.backward()
    with tg.no_grad():
        other = F.cross_entropy(model(other_words), other_following)
    return loss.item(), other.item()

answer = step""",
    "quiz_memory": 'answer = "bcb"',
}


def _train(
    keep: Callable[[Any], Any], recorded: bool = True, learns: bool = True, inside: bool = False, end: bool = True
) -> Callable[..., Any]:
    def train(model: Any, optimizer: Any, data: Any, validation: Any, epochs: int) -> Any:
        losses = []
        for _ in range(epochs):
            optimizer.zero_grad()
            with tg.set_grad_enabled(not inside):
                loss = F.mse_loss(model(data[0]), data[1])
            loss.backward()
            if learns:
                optimizer.step()
            with tg.set_grad_enabled(recorded):
                losses.append(keep(F.mse_loss(model(validation[0]), validation[1])))
        return losses if end else None

    return train


def _run(blocks: Any, x: Any) -> Any:
    for block in blocks:
        x = block(x)
    return x


def _each(blocks: Any, x: Any, segments: int) -> Any:
    for block in blocks:
        x = checkpoint(block, x)
    return x


def _late(blocks: Any, x: Any, segments: int) -> Any:
    size = len(blocks) // segments
    for start in range(0, len(blocks), size):
        part = blocks[start : start + size]
        x = checkpoint(lambda value: _run(part, value), x)  # noqa: B023  (the slip that the hint is about)
    return x


def _of_so_many(blocks: Any, x: Any, segments: int) -> Any:
    """Takes the number of segments for the number of blocks in each."""
    for start in range(0, len(blocks), segments):
        part = blocks[start : start + segments]
        x = checkpoint(lambda value, part=part: _run(part, value), x)
    return x


def _bound(blocks: Any, x: Any, segments: int) -> Any:
    size = len(blocks) // segments
    for start in range(0, len(blocks), size):
        part = blocks[start : start + size]
        x = checkpoint(lambda value, part=part: _run(part, value), x)
    return x


def _accumulate(
    weight: Callable[[int, int, int], float], clear: bool = False, backward: str = "each", told: str = "mean"
) -> Callable[..., Any]:
    """The cut batch, more or less right: ``weight`` of a part from its rows, all rows, and the number of parts."""

    def accumulate(model: Any, x: Any, y: Any, rows: int) -> Any:
        losses: list[Any] = []
        for start in range(0, len(x), rows):
            if clear:
                model.zero_grad()
            part = slice(start, start + rows)
            count = -(-len(x) // rows)
            loss = F.mse_loss(model(x[part]), y[part]) * weight(len(x[part]), len(x), count)
            if backward == "each":
                loss.backward()
                losses.append(loss.item())
            else:
                losses.append(loss)
        if backward == "once":
            sum(losses).backward()  # type: ignore[union-attr]
        total = sum(float(one) for one in losses)
        return {"mean": total, "none": None, "last": float(losses[-1])}[told]

    return accumulate


def _share(part: int, whole: int, count: int) -> float:
    return part / whole


def _step(
    cut: int = 0, segments: int = 1, recorded: bool = False, wrong: str = "", end: bool = True,
    used: bool = False,
) -> Callable[..., Any]:  # fmt: skip
    """The last task, with a batch cut into parts of ``cut`` rows and the model in ``segments``."""

    def step(model: Any, words: Any, following: Any, other_words: Any, other_following: Any) -> Any:
        total, rows = 0.0, cut or len(words)
        for start in range(0, len(words), rows):
            part = slice(start, start + rows)
            share = 1.0 if wrong == "share" else len(words[part]) / len(words)
            with tg.set_grad_enabled(wrong != "no graph"):
                loss = F.cross_entropy(checkpoint_sequential(model, segments, words[part]), following[part]) * share
            loss.backward()
            total += loss.item()
        with tg.set_grad_enabled(recorded):
            other = F.cross_entropy(model(other_words), other_following)
        if not end:
            return None
        if wrong == "one loss":
            return total
        return (total, total) if wrong == "losses" else (loss if used else total, other)

    return step


MEMORY_ALSO_RIGHT: dict[str, list[Any]] = {
    "activations": ["1.76", [1.76]],
    "history": [
        _train(lambda loss: loss.item()),
        _train(lambda loss: loss.detach()),
        _train(lambda loss: loss, recorded=False),
    ],
    "segments": [lambda blocks, x, segments: checkpoint_sequential(blocks, segments, x), _bound],
    "parts": [
        lambda model, x, y, rows: tg.training.accumulate(lambda a, b: F.mse_loss(model(a), b), x, y, size=rows),
        _accumulate(_share),
    ],
    "under_limit": [_step(segments=4), _step(cut=175, segments=2)],
    "quiz_memory": ["BCB", "b c b", ["b", "c", "b"]],
}

MEMORY_WRONG: dict[str, list[tuple[Any, str]]] = {
    "activations": [
        (3.52, "counts the linear results, too"),
        (0.44, "those are millions of numbers"),
        (0.88, "those are numbers, not bytes"),
        (1760, "those are kilobytes"),
        (1_760_000, "that is the count of bytes"),
        (1.84, "x was there before"),
        (1.3044, "those are the weights"),
        (3.0644, "counts the weights, too"),
        (0.8, "the first layer alone"),
        (1.6, "the third layer keeps its result"),
        (0.16, "the last layer alone"),
        (2, "for each of the three layers"),
        ("much", "could not be used"),
    ],
    "history": [
        (_train(lambda loss: loss), "nodes of the graph are still alive"),
        (_train(lambda loss: loss.clone()), "clone() knows it, too"),
        (_train(lambda loss: loss.item(), inside=True), "Which part of the program never runs backward?"),
        (_train(lambda loss: loss.item(), learns=False), "Does each epoch still learn?"),
        (_train(lambda loss: None), "the list should hold losses"),
        (_train(lambda loss: loss.item(), end=False), "is there a return?"),
        (lambda *_: 3.0, "return the list of validation losses"),
        (3, "the function itself"),
    ],
    "segments": [
        (lambda blocks, x, segments: _run(blocks, x), "nothing is computed again"),
        (_each, "Is each block a checkpoint by itself"),
        (lambda blocks, x, segments: checkpoint(lambda value: _run(blocks, value), x), "or all of them one?"),
        (lambda blocks, x, segments: checkpoint_sequential(blocks, 2, x), "How many blocks does each checkpoint run?"),
        (lambda blocks, x, segments: checkpoint_sequential(blocks, 5, x), "with segments=2 there are 4 checkpoints."),
        (_of_so_many, "with segments=2 there are 6 checkpoints. How many blocks belong to each?"),
        (lambda blocks, x, segments: _bound(blocks, x, 4), "How many blocks"),
        (_late, "Bind it"),
        (lambda blocks, x, segments: checkpoint_sequential(blocks[::-1], segments, x), "in order?"),
        (lambda blocks, x, segments: None, "is there a return?"),
        (3, "the function itself"),
    ],
    "parts": [
        (_accumulate(lambda part, whole, count: 1 / count), "each of the last 100 counts more"),
        (_accumulate(lambda part, whole, count: 1.0), "about 2 times too large"),
        (_accumulate(_share, clear=True), "the last part alone"),
        (_accumulate(lambda *_: 1.0, clear=True), "the last part alone"),
        (_accumulate(_share, backward="once"), "When does backward() free the graph of a part?"),
        (_accumulate(_share, backward="never"), "no parameter has a gradient"),
        (_accumulate(_share, told="none"), "is there a return?"),
        (_accumulate(_share, told="last"), "Return the mean loss of the whole batch"),
        (_accumulate(lambda part, whole, count: part), "how much does each part count?"),
        (3, "the function itself"),
    ],
    "under_limit": [
        (_step(recorded=True), "still holds its graph"),
        (_step(used=True), "Who holds most at the peak?"),
        (_step(), "Who holds most at the peak?"),
        (_step(cut=100, wrong="share"), "what share is each part?"),
        (_step(cut=40), "Are the parts too small?"),
        (_step(segments=4, wrong="losses"), "The two losses are not"),
        (_step(segments=4, wrong="one loss"), "return two losses"),
        (_step(wrong="no graph"), "Which part of the program never runs backward?"),
        (_step(end=False), "is there a return?"),
        (3, "the function itself"),
    ],
    "quiz_memory": [
        ("acb", "question 1: SGD keeps less"),
        ("ccb", "question 1: the graph still points"),
        ("bab", "question 2: then nothing"),
        ("bbb", "question 2: with two segments"),
        ("bca", "question 3: then the 20 rows"),
        ("bcc", "question 3: then both parts"),
        ("bc", "one letter for each question"),
        ("bcd", "one letter for each question"),
    ],
}
