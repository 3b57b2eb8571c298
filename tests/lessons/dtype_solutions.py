"""Right and wrong answers to the tasks of the lesson on broadcasting and dtypes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import tinygrad_edu as tg
from tinygrad_edu import nn

DTYPE_SOLUTIONS: dict[str, str] = {
    "stretched": 'answer = [(3, 4), "error", (5, 3, 4)]',
    "centred": """
def centred(x):
    return x - x.mean(1, keepdim=True)

answer = centred""",
    "meets": 'answer = ["float32", "float64", "float32", "float32"]',
    "no_float64": """
from tinygrad_edu import nn

def fit(sales):
    features = (sales.features - sales.features.mean(0)) / sales.features.std(0)
    x = tg.tensor(features, dtype="float32")
    price = tg.tensor(sales.price, dtype="float32")
    age = tg.tensor((2025 - sales.year) / 10, dtype="float32")
    model = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 1))
    optimizer = tg.optim.SGD(model.parameters(), lr=0.1)
    losses = []
    for step in range(20):
        optimizer.zero_grad()
        error = model(x).squeeze(1) - price
        loss = ((-age).exp() * error.square()).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses

answer = fit""",
    "nearest": """
def nearest(points, centres):
    c = tg.tensor(centres, dtype="float32")
    return (c.square().sum(1) - 2 * points @ c.T).argmin(1)

answer = nearest""",
    "quiz_dtypes": 'answer = "bac"',
}


def _fit(
    x: str = "float32", price: str = "float32", age: str = "float32", model: str = "float32",
    weighted: bool = True, squeezed: bool = True,
    narrowed: bool = False, give: Callable[[Any], Any] = lambda losses: losses,
) -> Callable[..., Any]:  # fmt: skip
    """Task 4, more or less right: what is made which dtype."""

    def fit(sales: Any) -> Any:
        features = (sales.features - sales.features.mean(0)) / sales.features.std(0)
        rows, prices = tg.tensor(features, dtype=x), tg.tensor(sales.price, dtype=price)
        years = tg.tensor((2025 - sales.year) / 10, dtype=age)
        network = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 1)).to(model)
        optimizer, losses = tg.optim.SGD(network.parameters(), lr=0.1), []
        for _ in range(20):
            optimizer.zero_grad()
            error = (network(rows).squeeze(1) if squeezed else network(rows)) - prices
            error = error.float() if narrowed else error
            loss = ((-years).exp() * error.square() if weighted else error.square()).mean()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return give(losses)

    return fit


def _nearest(
    dtype: str = "float32", whole: bool = False, largest: bool = False, axis: int = 1, part: int = 2000
) -> Any:
    """Task 5, on the way to its limit."""

    def nearest(points: Any, centres: Any) -> Any:
        c = tg.tensor(centres, dtype=dtype)
        if whole:
            return (points.unsqueeze(1) - c).square().sum(2).argmin(1)
        apart = c.square().sum(1) - 2 * points[:part] @ c.T
        return apart.argmax(axis) if largest else apart.argmin(axis)

    return nearest


def _in_pieces(points: Any, centres: Any) -> Any:
    """Task 5, a few points at a time."""
    c = tg.tensor(centres, dtype="float32")
    pieces = [(piece.unsqueeze(1) - c).square().sum(2).argmin(1) for piece in points.split(100)]
    return tg.cat(pieces)


DTYPE_ALSO_RIGHT: dict[str, list[Any]] = {
    "stretched": [[[3, 4], "an Error", [5, 3, 4]], ((3, 4), "error", (5, 3, 4))],
    "centred": [lambda x: x - x.mean(1).unsqueeze(1), lambda x: (x.T - x.mean(1)).T],
    "meets": [["torch.float32", "np.float64", "float32", "FLOAT32"], [np.float32, np.float64, "float32", np.float32]],
    "no_float64": [_fit(), _fit(give=tuple), _fit(give=lambda losses: [np.float32(one) for one in losses])],
    "nearest": [_nearest(), _in_pieces],
    "quiz_dtypes": ["b a c", "BAC"],
}

DTYPE_WRONG: dict[str, list[tuple[Any, str]]] = {
    "stretched": [
        ((3, 4), "give three results"),
        (["3x4", "error", (5, 3, 4)], "give three results"),
        ([(4, 3), "error", (5, 3, 4)], "number 1, (3, 1) with (4,): write one under the other"),
        ([(3, 4), (2, 3), (5, 3, 4)], "Which lengths meet in the last axis?"),
        ([(3, 4), "error", "error"], "no two lengths differ there"),
        ([(3, 4), "error", (5, 1, 4)], "both can be stretched"),
        ([(3, 4), "error", (5, 3, 1)], "take the longer of each two"),
        ([3, 4, 5], "give three results"),
    ],
    "centred": [
        (lambda x: x - x.mean(1), "for 3×3 numbers it is wrong"),
        (lambda x: x - (x.mean(1, keepdim=True) if len(x) == 3 else x.mean(1)), "could not be used"),
        (lambda x: x - x.mean(0), "each column loses its mean"),
        (lambda x: x - x.mean(), "the mean of all numbers"),
        (lambda x: x - x.mean(1) if len(x) == x.shape[1] else x - x.mean(1, keepdim=True), "Which mean is taken"),
        (lambda x: x.double() - x.double().mean(1, keepdim=True), "the result is float64"),
        (lambda x: x.mean(1, keepdim=True), "has shape (3, 1)"),
        (lambda x: x.numpy(), "return a tensor"),
        (lambda x: None, "is there a return?"),
        (3, "hand in the function itself"),
    ],
    "meets": [
        ("float32", "give four dtypes"),
        (["float64", "float64", "float32", "float32"], "enough for an int16?"),
        (["float32", "float32", "float32", "float32"], "enough for an int32?"),
        (["float32", "float64", "float64", "float32"], "counts as a plain number does"),
        (["float32", "float64", "float32", "bfloat16"], "Which is the next wider float?"),
    ],
    "no_float64": [
        (_fit(price="float64"), "`sub` still makes floats wider"),
        (_fit(age="float64"), "`mul` still makes floats wider"),
        (_fit(price="float64", narrowed=True), "`sub` still makes floats wider"),
        (_fit("float64", "float64", "float64", "float64"), "now everything is float64"),
        (_fit("float16", "float16", "float16", "float16"), "some of it is float16 now"),
        (_fit(price="float16"), "some of it is float16 now"),
        (_fit(squeezed=False), "400 × 400 numbers"),
        (_fit(x="float64"), "could not be used"),
        (_fit(weighted=False), "the losses differ"),
        (_fit(give=lambda losses: losses[:3]), "the losses differ"),
        (_fit(give=lambda losses: None), "is there a return?"),
        (_fit(give=lambda losses: losses[-1]), "return the list of losses"),
    ],
    "nearest": [
        (_nearest(dtype="float64", whole=True), "`sub` makes floats wider"),
        (_nearest(whole=True), "Multiply (p - c)² out"),
        (_nearest(largest=True), "Is it the least distance"),
        (_nearest(axis=0), "shape (2000,)"),
        (_nearest(part=100), "shape (2000,)"),
        (lambda points, centres: None, "is there a return?"),
        (lambda points, centres: (points.double() @ tg.tensor(centres).T).argmax(1) * 0
         + tg.tensor(np.arange(2000) % 200), "the result of"),
        (lambda points, centres: tg.tensor(np.arange(2000) % 200), "compute with tensors"),
        (lambda points, centres: (points @ tg.tensor(centres).T).argmax(1), "convert them, not the points"),
        (lambda points, centres: (points @ tg.tensor(centres).float().T).argmax(1), "what about c²?"),
        (lambda points, centres: (tg.tensor(centres).float().square().sum(1)
         - points @ tg.tensor(centres).float().T).argmin(1), "the middle term of (p - c)² is 2 · p · c"),
        (lambda points, centres: (tg.tensor(centres).half().square().sum(1)
         - 2 * points.half() @ tg.tensor(centres).half().T).argmin(1), "The task is float32"),
        (lambda points, centres: 1, "return a tensor"),
    ],
    "quiz_dtypes": [
        ("aac", "Does anything differ?"),
        ("cac", "the middle axis"),
        ("bbc", "nothing here makes it narrower"),
        ("bcc", "a higher kind than an integer"),
        ("baa", "has to fit a"),
        ("bab", "b's shape"),
        ("b", "give three letters"),
    ],
}  # fmt: skip
