"""Tasks of the lesson on precision: spacing, a loss scale, weights that keep digits, 8 bits, a choice of formats."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtypes import bfloat16, float16, int8
from ..nn import functional as F
from ..observe.promotion import Promotions
from ..optim import SGD, Adam
from ..tensor import Tensor
from ..tensor.creation import zeros
from .checking import NOTHING, numbers, quiz, task
from .precision_programs import RATE, images, patches, quietly, reader, weights

GAPS = (2.0**-10, 2.0**-7, 1.0)  # of task 1
TRIALS = 40, 80  # steps of the trials in task 3: another learning rate may hit one of the losses, not both
FORMATS = "abcd"  # float32, bfloat16, float16, int8


@task(
    "spacing",
    "How far is it to the next larger number: from 1 in float16, from 1 in bfloat16, from 1024 in float16?",
    "with each power of two the gap doubles: digits are a share of the number.",
)
def _spacing(answer: Any) -> str:
    try:
        given = numbers(answer).reshape(-1)
    except (TypeError, ValueError):
        given = np.zeros(0)
    if given.size != 3:
        return "give three numbers, such as [2**-8, 2**-5, 4]."
    for place, (found, right) in enumerate(zip(given, GAPS, strict=True)):
        if np.isclose(found, right, rtol=1e-3):
            continue
        name = ("from 1 in float16", "from 1 in bfloat16", "from 1024 in float16")[place]
        if np.isclose(found, right / 2):
            return f"{name}: that is half of it, from where on a number is rounded up."
        if place == 2 and np.isclose(found, GAPS[0]):
            return f"{name}: that is the gap at 1. The fraction bits belong to a number between 1024 and 2048 here."
        if place == 1 and np.isclose(found, GAPS[0]):
            return f"{name}: bfloat16 has the exponents of float32, and so fewer fraction bits."
        return f"{name}: count its fraction bits, and divide the power of two below the number by 2 for each."
    return ""


def _learned(x: Tensor, y: Tensor) -> list[float]:
    """What the program of task 2 gives in float32."""
    w = zeros(64, 64, requires_grad=True)
    optimizer, losses = SGD([w], lr=8.0), []
    for _ in range(8):
        optimizer.zero_grad()
        loss = F.mse_loss(x @ w, y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@task(
    "loss_scale",
    "Fix learn(x, y): in float16, by autocast, with the losses of float32.",
    "scale, backward, step, update: the gradients are divided by the scale before the step.",
    function=True,
)
def _loss_scale(answer: Any) -> str:
    x, y = patches()
    right = _learned(x, y)
    with Promotions() as seen:
        found = quietly(answer, x, y)
    if found is None:
        return NOTHING
    if not isinstance(found, (list, tuple)) or not all(isinstance(one, (int, float)) for one in found):
        return "return the list of losses, as numbers."
    products = [step.dtype for step in seen.steps if step.name in ("matmul", "linear")]
    if not products or any(dtype != float16 for dtype in products):
        return "not every product is in float16. Let autocast choose."
    if not np.isfinite(found).all():
        return "the losses are no numbers. Is each step made with gradients that are divided by the scale again?"
    if len(found) == len(right) and np.allclose(found, right, rtol=0.02, atol=0):
        return ""
    if found[-1] > 0.95 * found[0]:
        return (
            "it still stands. Print a gradient after backward: is it 0 (a larger scale would help), or inf (the scale "
            "is too large, and the step is skipped)?"
        )
    if len(found) != len(right):
        return f"there are {len(found)} losses, and the given program has {len(right)} steps."
    return "the losses are not those of float32. By how much are the gradients multiplied when the step is made?"


@task(
    "keep_digits",
    "Fix fit(x, y, steps): layers compute in bfloat16, and the losses are those of float32.",
    "small updates need a weight with more digits: compute in 16 bits, keep in 32.",
    function=True,
)
def _keep_digits(answer: Any) -> str:
    x, y, _, _ = images()
    model = reader()
    optimizer = Adam(model.parameters(), lr=RATE)
    right = []
    for _ in range(max(TRIALS)):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        right.append(loss.item())
    with Promotions() as seen:
        first = answer(x, y, 1)
    if first is None:
        return NOTHING
    if not isinstance(first, tuple) or len(first) != 2 or not isinstance(first[1], float):
        return "return the model and its last loss, as the given program does."
    layers = [step.dtype for step in seen.steps if step.name in ("linear", "matmul")]
    if not layers or any(dtype != bfloat16 for dtype in layers):
        return "not every layer computes in bfloat16."
    for steps in TRIALS:
        found, exact = answer(x, y, steps)[1], right[steps - 1]
        if abs(found - exact) <= 0.005 * exact:
            continue
        if found < exact:
            return "it learns more than the float32 program does. Are learning rate and steps as they were?"
        told = f"the loss is {found:.3f} after {steps} steps, and {exact:.3f} in float32"
        return f"{told}. Where are small updates lost? Part 2 computes in 16 bits too: which dtype do its weights have?"
    return ""


@task(
    "each_row",
    "Fix to_int8(w): int8 values and scales, so that each weight is off by at most half the step of its row.",
    "a scale for each row keeps one large weight from spoiling all others.",
    function=True,
)
def _each_row(answer: Any) -> str:
    w = weights()
    found = answer(w)
    if found is None:
        return NOTHING
    if not isinstance(found, tuple) or len(found) != 2 or not all(isinstance(one, Tensor) for one in found):
        return "return two tensors: the int8 values, and the scales."
    values, scale = found
    if values.dtype != int8 or tuple(values.shape) != tuple(w.shape):
        asked = f"int8 of shape {tuple(w.shape)}"
        return f"the values are {values.dtype} of shape {tuple(values.shape)}, and should be {asked}."
    if scale.numel() not in (1, len(w)):
        return f"there are {scale.numel()} scales: one for each of the {len(w)} rows would do."
    steps = scale.numpy().reshape(-1, 1).astype(np.float64)
    exact, kept = w.numpy().astype(np.float64), values.numpy().astype(np.float64) * steps
    if scale.numel() == 1:
        return "one scale for all rows: the one large weight sets the step of every row."
    if np.abs(exact / steps).max() > 127.5:
        return "some values have run over: an int8 ends at 127. Does the largest weight of each row stay within ±127?"
    off = np.abs(kept - exact) / steps
    if (off > 0.501).any():
        return "weights are off by more than half a step. Is each rounded to the nearest whole number?"
    fine = np.abs(exact).max(1, keepdims=True) / 127
    return (
        "" if (steps <= 1.01 * fine).all() else "the steps are larger than they have to be: use all values up to 127."
    )


@task(
    "formats",
    "For each of the four measurements, the format with the fewest bits that is precise enough, as four letters.",
    "range first, then precision; and is it a share of the number, or the same everywhere?",
)
def _formats(answer: Any) -> str:
    given = [letter for letter in str(answer).lower() if letter.isalpha()]
    if len(given) != 4 or not set(given) <= set(FORMATS):
        return "give four letters from a to d, such as answer = 'abcd'."
    hints = (
        {"b": "near 60, bfloat16 has steps of 0.25.", "c": "near 60, float16 has steps of 0.03.",
         "d": "int8 has 255 steps for 100 degrees."},
        {"a": "fewer bits will do.", "b": "bfloat16 is off by up to 0.4 % of a number.",
         "d": "int8 has the same step everywhere: what is 0.001 off by?"},
        {"a": "fewer bits will do.", "c": "float16 ends at 65,504, and at 6 · 10⁻⁸.",
         "d": "what is the smallest off by?"},
        {"a": "fewer bits will do.", "b": "fewer bits will do.", "c": "fewer bits will do."},
    )  # fmt: skip
    for place, (letter, known) in enumerate(zip(given, hints, strict=True), 1):
        if letter in known:
            return f"number {place}: {known[letter]}"
    return ""


quiz(
    "quiz_precision",
    "1 the sum, 2 the scale, 3 the outlier",
    "know where your numbers lie before you choose how few bits they get.",
    (
        {"a": "a scale multiplies the sum and the ones alike: their ratio stays.", "b": "",
         "c": "all are 1: sorting changes nothing."},
        {"a": "nothing is wrong with the data: the scale was too large.",
         "b": "a scaler skips a step rather than make it with nan.", "c": ""},
        {"a": "", "b": "of 256 values nearly all lie where no weight is.",
         "c": "the scale has 4 bytes, the weights 1 each."},
    ),
    "give three letters, one for each question, such as answer = 'abc'.",
)  # fmt: skip
