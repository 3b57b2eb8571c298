"""Right and wrong answers to the tasks of the lesson on precision."""

from __future__ import annotations

from typing import Any

import numpy as np

import tinygrad_edu as tg
from tinygrad_edu.lessons.precision_programs import reader
from tinygrad_edu.nn import functional as F

PRECISION_SOLUTIONS: dict[str, str] = {
    "spacing": "answer = [2**-10, 2**-7, 1]",
    "loss_scale": """
from tinygrad_edu.nn import functional as F

def learn(x, y):
    w = tg.zeros(64, 64, requires_grad=True)
    optimizer = tg.optim.SGD([w], lr=8.0)
    scaler = tg.amp.GradScaler("cpu")
    losses = []
    for step in range(8):
        optimizer.zero_grad()
        with tg.autocast("cpu", dtype="float16"):
            loss = F.mse_loss(x @ w, y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    return losses

answer = learn""",
    "keep_digits": """
from tinygrad_edu.lessons.precision_programs import reader
from tinygrad_edu.nn import functional as F

def fit(x, y, steps):
    model = reader()
    optimizer = tg.optim.Adam(model.parameters(), lr=1e-4)
    for step in range(steps):
        optimizer.zero_grad()
        with tg.autocast("cpu", dtype="bfloat16"):
            loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
    return model, loss.item()

answer = fit""",
    "each_row": """
def to_int8(w):
    scale = w.abs().amax(1, keepdim=True) / 127
    return (w / scale).round().to("int8"), scale

answer = to_int8""",
    "formats": 'answer = "acbd"',
    "quiz_precision": 'answer = "bca"',
}


def _learn(
    dtype: str = "float16", times: float = 1.0, divided: bool = True, steps: int = 8, scaler: bool = False,
    first: float = 2.0**16, give: Any = lambda losses: losses,
) -> Any:  # fmt: skip
    """Task 2, more or less right."""

    def learn(x: Any, y: Any) -> Any:
        w = tg.zeros(64, 64, requires_grad=True)
        optimizer = tg.optim.SGD([w], lr=8.0)
        scales = tg.amp.GradScaler("cpu", init_scale=first, enabled=scaler)
        losses = []
        for _ in range(steps):
            optimizer.zero_grad()
            with tg.autocast("cpu", dtype=None if dtype == "float32" else dtype, enabled=dtype != "float32"):
                loss = F.mse_loss(x @ w, y)
            scales.scale(loss * times).backward()
            if divided and times != 1.0:
                w.grad /= times
            scales.step(optimizer)
            scales.update()
            losses.append(loss.item())
        return give(losses)

    return learn


def _idle_product(x: Any, y: Any) -> Any:
    """A product in float16 that nobody needs."""
    with tg.autocast("cpu", dtype="float16"):
        x @ tg.zeros(64, 64)
    return _learn(dtype="float32")(x, y)


def _idle_layer(x: Any, y: Any, steps: int) -> Any:
    """A layer in bfloat16 that nobody needs."""
    with tg.autocast("cpu", dtype="bfloat16"):
        reader()(x)
    return _fit(dtype="float32")(x, y, steps)


def _fit(dtype: str = "bfloat16", master: bool = False, lr: float = 1e-4, give: Any = None) -> Any:
    """Task 3, with weights in a dtype."""

    def fit(x: Any, y: Any, steps: int) -> Any:
        model = reader().to(dtype)
        optimizer: Any = tg.optim.Adam(model.parameters(), lr=lr)
        optimizer = tg.optim.master_weights(optimizer) if master else optimizer
        x = x.to(dtype)
        loss: Any = None
        for _ in range(steps):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
        return (model, loss.item()) if give is None else give(model, loss)

    return fit


def _rows(whole: bool = False, flat: bool = False, part: float = 127, cut: bool = False, dtype: str = "int8") -> Any:
    """Task 4, more or less right."""

    def quantise(w: Any) -> Any:
        scale = w.abs().max() / part if whole else w.abs().amax(1, keepdim=True) / part
        values = w / scale
        values = values.trunc() if cut else values.round()
        return values.to(dtype), scale.reshape(-1) if flat else scale

    return quantise


PRECISION_ALSO_RIGHT: dict[str, list[Any]] = {
    "spacing": [(0.0009765625, 0.0078125, 1), np.array([2.0**-10, 2.0**-7, 1.0])],
    "loss_scale": [_learn(scaler=True), _learn(times=2.0**16)],
    "keep_digits": [_fit(master=True)],
    "each_row": [_rows(), _rows(flat=True)],
    "formats": ["ACBD", "a c b d"],
    "quiz_precision": ["b c a", "BCA"],
}

PRECISION_WRONG: dict[str, list[tuple[Any, str]]] = {
    "spacing": [
        (1.0, "give three numbers"),
        ("many", "give three numbers"),
        ([2**-11, 2**-7, 1], "from where on a number is rounded up"),
        ([2**-10, 2**-10, 1], "and so fewer fraction bits"),
        ([2**-10, 2**-7, 2**-10], "between 1024 and 2048"),
        ([2**-5, 2**-7, 1], "count its fraction bits"),
    ],
    "loss_scale": [
        (_learn(), "it still stands. Print a gradient"),
        (_learn(dtype="float32"), "not every product is in float16"),
        (_learn(dtype="bfloat16"), "not every product is in float16"),
        (_learn(times=2.0**16, divided=False), "divided by the scale again?"),
        (_learn(times=2.0**4), "the losses are not those of float32"),
        (_learn(times=2.0**44), "the losses are no numbers"),
        (_learn(scaler=True, first=2.0**44), "is too large, and the step is skipped"),
        (_idle_product, "not every product is in float16"),
        (_learn(scaler=True, steps=4), "there are 4 losses"),
        (_learn(scaler=True, give=lambda losses: None), "is there a return?"),
        (_learn(scaler=True, give=lambda losses: losses[-1]), "return the list of losses"),
    ],
    "keep_digits": [
        (_fit(), "Where are small updates lost?"),
        (_fit(dtype="float32"), "not every layer computes in bfloat16"),
        (_idle_layer, "not every layer"),
        (_fit(lr=2e-4), "more than the float32 program"),
        (_fit(master=True, lr=1e-3), "more than the float32 program"),
        (_fit(master=True, give=lambda model, loss: None), "is there a return?"),
        (_fit(master=True, give=lambda model, loss: loss.item()), "return the model and its last loss"),
    ],
    "each_row": [
        (_rows(whole=True), "one scale for all rows"),
        (_rows(cut=True), "rounded to the nearest"),
        (_rows(part=60), "larger than they have to be"),
        (_rows(part=400), "an int8 ends at 127"),
        (_rows(dtype="int16"), "should be int8"),
        (lambda w: ((w / (w.amax(1, keepdim=True) / 127)).round().to("int8"), w.amax(1) / 127), "stay within ±127?"),
        (lambda w: w, "return two tensors"),
        (lambda w: None, "is there a return?"),
        (lambda w: (w.to("int8"), w.abs().amax(0)), "there are 256 scales"),
    ],
    "formats": [
        ("abc", "give four letters"),
        ("bcbd", "bfloat16 has steps of 0.25"),
        ("ccbd", "float16 has steps of 0.03"),
        ("dcbd", "int8 has 255 steps"),
        ("aabd", "number 2: fewer bits"),
        ("abbd", "off by up to 0.4 %"),
        ("adbd", "the same step everywhere"),
        ("acad", "number 3: fewer bits"),
        ("accd", "ends at 65,504"),
        ("acdd", "what is the smallest off by?"),
        ("acbc", "number 4: fewer bits"),
    ],
    "quiz_precision": [
        ("aca", "their ratio stays"),
        ("cca", "sorting changes nothing"),
        ("baa", "the scale was too large"),
        ("bba", "skips a step rather"),
        ("bcb", "where no weight is"),
        ("bcc", "the weights 1 each"),
        ("b", "give three letters"),
    ],
}
