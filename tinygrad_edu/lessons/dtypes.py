"""Tasks of the lesson on broadcasting and dtypes: tell shapes and dtypes, centre rows, remove float64, measure less."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtypes import float32, float64, is_float
from ..observe.promotion import Promotions
from ..tensor import Tensor, tensor
from ..tensor.random import randn, seeded
from .checking import NOTHING, quiz, task
from .dtype_programs import CENTRES, LIMIT, POINTS, Table, peak, points, read_table

SHAPES = (((3, 1), (4,)), ((2, 3), (2,)), ((5, 1, 4), (3, 1)))
MEETINGS = ("float32", "float64", "float32", "float32")


def _result_of(one: tuple[int, ...], other: tuple[int, ...]) -> tuple[int, ...] | str:
    try:
        return tuple(np.broadcast_shapes(one, other))
    except ValueError:
        return "error"


def _three(answer: Any) -> list[Any] | None:
    """Three shapes, or "error"; None if it is something else."""
    if not isinstance(answer, (list, tuple)) or len(answer) != len(SHAPES):
        return None
    found: list[Any] = []
    for one in answer:
        if isinstance(one, str):
            found.append(one.strip().lower())
        elif isinstance(one, (list, tuple)) and all(isinstance(n, int) for n in one):
            found.append(tuple(one))
        else:
            return None
    return found


@task(
    "stretched",
    "Which shape has each of the three results, or is it an error?",
    "from the right, equal lengths or a 1; what is missing on the left counts as 1.",
)
def _stretched(answer: Any) -> str:
    given = _three(answer)
    if given is None:
        return 'give three results, such as [(2, 3), "error", (4,)].'
    right = [_result_of(*pair) for pair in SHAPES]
    for place, (found, wanted) in enumerate(zip(given, right, strict=True), 1):
        if found == wanted:
            continue
        one, other = SHAPES[place - 1]
        lead = f"number {place}, {one} with {other}: "
        if wanted == "error":
            return f"{lead}write both under each other, from the right. Which lengths meet in the last axis?"
        if found == "error":
            return f"{lead}no two lengths differ there, unless one of them is 1."
        if found in (one, other):
            return f"{lead}both can be stretched, each along an axis in which it has length 1."
        return f"{lead}write both under each other, from the right, and take the longer of each two."
    return ""


@task(
    "centred",
    "Fix centred(x): each row of x loses its own mean.",
    "an axis of length 1 says along which axis the means are stretched.",
    function=True,
)
def _centred(answer: Any) -> str:
    found = {}
    with seeded(8):
        cases = [randn(3, 3), randn(4, 3), randn(2, 5)]
    for x in cases:
        result = answer(x)
        if result is None:
            return NOTHING
        if not isinstance(result, Tensor):
            return "return a tensor."
        values = x.numpy()
        right = values - values.mean(1, keepdims=True)
        if tuple(result.shape) != right.shape:
            return f"for x of shape {values.shape} the result has shape {tuple(result.shape)}."
        if result.dtype != float32:
            return f"the result is {result.dtype}, and x is float32."
        found[values.shape] = np.allclose(result.numpy(), right, atol=1e-5)
        if not found[values.shape]:
            if np.allclose(result.numpy(), values - values.mean(0), atol=1e-5):
                return "each column loses its mean, and each row should."
            if np.allclose(result.numpy(), values - values.mean(), atol=1e-5):
                return "each number loses the mean of all numbers."
            shape = "×".join(map(str, values.shape))
            return f"for {shape} numbers it is wrong. Which mean is taken from which number there?"
    return ""


@task(
    "meets",
    "x is float32, n int64, both of shape (3,). Tell the dtypes: PyTorch x + n, NumPy x + n, "
    "PyTorch x * np.float64(2), NumPy x * 2.0.",
    "in PyTorch an integer never widens a float; in NumPy an int64 does, and a Python number does not.",
)
def _meets(answer: Any) -> str:
    if not isinstance(answer, (list, tuple)) or len(answer) != len(MEETINGS):
        return 'give four dtypes, such as ["float32", "float64", "int64", "float32"].'
    given = [str(one).strip().lower().removeprefix("torch.").removeprefix("np.") for one in answer]
    hints = (
        "PyTorch, x + n: to PyTorch any float is a higher kind than any integer.",
        "NumPy, x + n: float32 cannot hold every int64. Which float does NumPy take?",
        "PyTorch, x * np.float64(2): to PyTorch this is a number, and x is a tensor with an axis.",
        "NumPy, x * 2.0: a Python number has no dtype of its own there.",
    )
    return next((hint for found, right, hint in zip(given, MEETINGS, hints, strict=True) if found != right), "")


def _losses(table: Table) -> list[float]:
    """What the program of task 4 gives in float32."""
    from ..nn import Linear, Sequential, Tanh
    from ..optim import SGD

    x = (table.features - table.features.mean(0)) / table.features.std(0)
    rows, y = tensor(x.astype(np.float32)), tensor(table.price.astype(np.float32))
    weight = tensor(np.exp(-(2025 - table.year) / 10).astype(np.float32))
    model = Sequential(Linear(8, 32), Tanh(), Linear(32, 1))
    optimizer, losses = SGD(model.parameters(), lr=0.1), []
    for _ in range(20):
        optimizer.zero_grad()
        loss = (weight * (model(rows).squeeze(1) - y).square()).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@task(
    "no_float64",
    "Fix fit(sales): the same losses, and no operation that makes floats wider.",
    "convert once, where data become tensors; then nothing can widen.",
    function=True,
)
def _no_float64(answer: Any) -> str:
    table = read_table()
    with seeded(3):
        right = _losses(table)
    with seeded(3), Promotions() as seen:
        found = answer(table)
    if found is None:
        return NOTHING
    if not isinstance(found, (list, tuple)) or not all(isinstance(one, (int, float)) for one in found):
        return "return the list of losses, as numbers."
    first = seen.first
    if first is not None and first.culprit is not None:
        return (
            f"`{first.name}` still makes floats wider: one of its operands is {first.culprit.dtype}. Trace it back to "
            "the line where it became a tensor."
        )
    floats = [step.dtype for step in seen.steps if is_float(step.dtype)]
    if floats and all(dtype == float64 for dtype in floats[-len(floats) // 2 :]):
        return "now everything is float64, and takes twice the bytes. The task is float32."
    if any(dtype.itemsize < float32.itemsize for dtype in floats):
        return "some of it is in 16 bits now. The task is float32."
    if len(found) != len(right) or not np.allclose(found, right, rtol=1e-3):
        return "the losses differ from those of the given program. Is every weight still used?"
    return ""


@task(
    "nearest",
    f"Bring nearest(points, centres) to at most {LIMIT // 10**6} MB at its peak, in float32, with the same result.",
    "a sum over an axis can often be had from a matrix product, without the stretched array.",
    function=True,
)
def _nearest(answer: Any) -> str:
    given, middles = points()
    found, used = peak(answer, given, middles)
    with Promotions() as seen:  # in a run of its own, since it keeps what it has seen
        answer(given, middles)
    if found is None:
        return NOTHING
    if not isinstance(found, Tensor) or tuple(found.shape) != (POINTS,):
        return f"return a tensor of shape ({POINTS},): for each point the number of its centre."
    right = np.arange(POINTS) % CENTRES
    if not np.array_equal(found.numpy(), right):
        return "some points get another centre. Is it the least distance that is taken, along the right axis?"
    if seen.first is not None:
        return f"`{seen.first.name}` makes floats wider. The centres come from NumPy: what is their dtype?"
    largest = max(seen.steps, key=lambda step: step.nbytes)
    if largest.dtype == float64:
        return f"the result of {largest.name} is float64, {largest.nbytes / 1e6:.0f} MB."
    if used > LIMIT:
        shape = "×".join(map(str, largest.shape))
        return (
            f"{used / 1e6:.0f} MB at the peak, and {LIMIT // 10**6} are allowed (measured). The largest result has "
            f"shape {shape}. Multiply (p - c)² out: which part needs points and centres together?"
        )
    return ""


quiz(
    "quiz_dtypes",
    "1 the shape, 2 the number, 3 the gradient",
    "shapes stretch without a word, dtypes widen without a word: look at both.",
    (
        {"a": "the second has no second axis. Where does its only one stand?", "b": "",
         "c": "1 meets 100, and 100 meets nothing: both fit."},
        {"a": "", "b": "that is NumPy's rule.", "c": "only matrix products are refused."},
        {"a": "that is the shape of the product. The gradient of a has to fit a.",
         "b": "that is b's shape.", "c": ""},
    ),
    "give three letters, one for each question, such as answer = 'abc'.",
)  # fmt: skip
