"""Tasks of the lesson on broadcasting and dtypes: tell shapes and dtypes, centre rows, remove float64, measure less."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..common.wording import shape_text
from ..dtypes import float32, float64, is_float
from ..errors import DtypeError
from ..nn import Linear, Sequential, Tanh
from ..observe.promotion import Promotions
from ..optim import SGD
from ..tensor import Tensor, tensor
from ..tensor.random import randn, seeded
from .checking import NOTHING, quiz, task
from .dtype_programs import CENTRES, LIMIT, POINTS, Table, peak, points, read_table

SHAPES = (((3, 1), (4,)), ((2, 3), (2,)), ((5, 1, 4), (3, 1)))
MEETINGS = ("float32", "float64", "float32", "float32")  # of task 3; its tests compute them


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
        if isinstance(one, str) and "error" in one.lower():
            found.append("error")
        elif isinstance(one, str):
            return None
        elif isinstance(one, (list, tuple)) and all(isinstance(n, int) for n in one):
            found.append(tuple(one))
        else:
            return None
    return found


@task(
    "stretched",
    "What is the shape of each of the three results, or is it an error?",
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
            return f"{lead}write one under the other, from the right. Which lengths meet in the last axis?"
        if found == "error":
            return f"{lead}no two lengths differ there, unless one of them is 1."
        if found in (one, other):
            return f"{lead}both can be stretched, each along an axis in which it has length 1."
        return f"{lead}write one under the other, from the right, and take the longer of each two."
    return ""


@task(
    "centred",
    "Fix centred(x): each row of x loses its own mean.",
    "an axis of length 1 says along which axis the means are stretched.",
    function=True,
)
def _centred(answer: Any) -> str:
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
        if np.allclose(result.numpy(), right, atol=1e-5):
            continue
        if np.allclose(result.numpy(), values - values.mean(0), atol=1e-5):
            return "each column loses its mean, and each row should."
        if np.allclose(result.numpy(), values - values.mean(), atol=1e-5):
            return "each number loses the mean of all numbers."
        return f"for {shape_text(values.shape)} numbers it is wrong. Which mean is taken from which number there?"
    return ""


@task(
    "meets",
    "x is float32 with an axis. Tell the dtypes: NumPy x + int16, NumPy x + int32, PyTorch x * a float64 tensor "
    "without axes, PyTorch float16 * bfloat16.",
    "NumPy looks for a float that holds both; PyTorch looks at kinds first, and then at tensors with axes.",
)
def _meets(answer: Any) -> str:
    if not isinstance(answer, (list, tuple)) or len(answer) != len(MEETINGS):
        return 'give four dtypes, such as ["float32", "float64", "int64", "float32"].'
    given = [_dtype_name(one) for one in answer]
    hints = (
        "NumPy, x + int16: float32 has 24 bits for whole numbers. Is that enough for an int16?",
        "NumPy, x + int32: float32 has 24 bits for whole numbers. Is that enough for an int32?",
        "PyTorch, x * a float64 tensor without axes: it counts as a plain number does.",
        "PyTorch, float16 * bfloat16: neither holds all numbers of the other. Which is the next wider float?",
    )
    return next((hint for found, right, hint in zip(given, MEETINGS, hints, strict=True) if found != right), "")


def _dtype_name(value: Any) -> str:
    """A dtype as somebody may write it: a text, a NumPy type, a dtype."""
    name = value.__name__ if isinstance(value, type) else str(value)
    return name.strip().lower().removeprefix("torch.").removeprefix("np.").removeprefix("tg.")


def _losses(table: Table) -> list[float]:
    """What the program of task 4 gives in float32."""
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
    if not isinstance(found, (list, tuple)) or not all(isinstance(one, (int, float, np.floating)) for one in found):
        return "return the list of losses, as numbers."
    if any(len(step.shape) == 2 and step.shape[0] == step.shape[1] == len(table.price) for step in seen.steps):
        return f"an operation gave {len(table.price)} × {len(table.price)} numbers. Look at the shapes that met."
    narrow = [one for step in seen.steps for one in step.operands if is_float(one.dtype) and one.dtype.itemsize < 4]
    if narrow:
        return f"some of it is {narrow[0].dtype} now. The task is float32."
    first = seen.first
    if first is not None and first.culprit is not None:
        return (
            f"`{first.name}` still makes floats wider: one of its operands is {first.culprit.dtype}. Trace it back to "
            "the line where it became a tensor."
        )
    floats = [step.dtype for step in seen.steps if is_float(step.dtype)]
    if floats and all(dtype == float64 for dtype in floats[-len(floats) // 2 :]):
        return "now everything is float64, and takes twice the bytes. The task is float32."
    if len(found) != len(right) or not np.allclose(found, right, rtol=1e-3):
        return (
            "the losses differ from those of the given program. Is every weight still used? And NumPy's std divides by "
            "n, that of tensors by n − 1: convert after it."
        )
    return ""


@task(
    "nearest",
    f"Bring nearest(points, centres) to at most {LIMIT // 10**6} MB at its peak, in float32, with the same result.",
    "no array with three axes is needed at once; a matrix product does it in one step.",
    function=True,
)
def _nearest(answer: Any) -> str:
    given, middles = points()
    try:
        found, used = peak(answer, given, middles)
    except DtypeError as error:
        return f"{error.tried} is refused. The centres come from NumPy: convert them, not the points."
    with Promotions() as seen:  # in a run of its own, since it keeps what it has seen
        answer(given, middles)
    if found is None:
        return NOTHING
    if not isinstance(found, Tensor) or tuple(found.shape) != (POINTS,):
        return f"return a tensor of shape ({POINTS},): for each point the number of its centre."
    if not seen.steps:
        return "compute with tensors: the bytes of NumPy's arrays are not counted here."
    right, c = np.arange(POINTS) % CENTRES, middles.astype(np.float32)
    products = given.numpy() @ c.T
    if np.array_equal(found.numpy(), ((c * c).sum(1) - products).argmin(1)):
        return "the middle term of (p - c)² is 2 · p · c."
    if np.array_equal(found.numpy(), products.argmax(1)):
        return "the largest p · c is not the nearest centre: what about c²?"
    if not np.array_equal(found.numpy(), right):
        return "some points get another centre. Is it the least distance that is taken, along the right axis?"
    if any(is_float(step.dtype) and step.dtype.itemsize < float32.itemsize for step in seen.steps):
        return "some of it is in 16 bits. The task is float32."
    if seen.first is not None:
        return f"`{seen.first.name}` makes floats wider. The centres come from NumPy: what is their dtype?"
    largest = max(seen.steps, key=lambda step: step.nbytes)
    if largest.dtype == float64:
        return f"the result of {largest.name} is float64, {largest.nbytes / 1e6:.0f} MB."
    if used > LIMIT:
        return (
            f"{used / 1e6:.0f} MB at the peak, and {LIMIT // 10**6} are allowed (measured). The largest result has "
            f"shape {shape_text(largest.shape)}. Multiply (p - c)² out: which part needs points and centres together?"
        )
    return ""


quiz(
    "quiz_dtypes",
    "1 the shape, 2 the dtype, 3 the gradient",
    "shapes stretch silently, and dtypes widen silently: look at both.",
    (
        {"a": "question 1: from the right, 3 meets 1, and 1 meets 4. Does anything differ?", "b": "",
         "c": "question 1: the middle axis has length 1 in the first, and 4 in the second."},
        {"a": "", "b": "question 2: it is a float64, and nothing here makes it narrower.",
         "c": "question 2: to PyTorch a float is a higher kind than an integer."},
        {"a": "question 3: that is the shape of the product. The gradient of a has to fit a.",
         "b": "question 3: that is b's shape.", "c": ""},
    ),
    "give three letters, one for each question, such as answer = 'abc'.",
)  # fmt: skip
