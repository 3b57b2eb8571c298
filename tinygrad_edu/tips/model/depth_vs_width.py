"""Make a model wide where time counts, and deep where that helps it learn."""

from __future__ import annotations

from typing import Any

import tinygrad_edu as tg
from tinygrad_edu import Tensor, nn, optim
from tinygrad_edu.tips import Aside, Claim, Elsewhere, Fact, Limit, Number, Picture, Question, Size, Source, Tip
from tinygrad_edu.tips.facts import declare
from tinygrad_edu.tips.outcomes import FREE

NARROW = 32
declare(Fact("numbers", "parameters", "count", "numbers that are trained"))
declare(Fact("test error", "error on new data", "", "mean square, after the same steps of training"))


def inputs(generator: tg.Generator, layers: int, rows: int, device: str) -> dict[str, Any]:
    tg.manual_seed(int(tg.randint(0, 1000, (1,), generator=generator).item()))
    x = tg.randn(512, NARROW, generator=generator)
    y = (x @ tg.randn(NARROW, 1, generator=generator) / NARROW**0.5).sin()
    hidden = [part for _ in range(layers) for part in (nn.Linear(NARROW, NARROW), nn.ReLU())]
    wide = round(layers * (NARROW + 1) * NARROW / (NARROW + 2))  # which makes as many parameters
    models = {
        "deep": nn.Sequential(*hidden, nn.Linear(NARROW, 1)),
        "wide": nn.Sequential(nn.Linear(NARROW, wide), nn.ReLU(), nn.Linear(wide, 1)),
    }
    for model in models.values():
        train(model, x[:256], y[:256])
        model.to(device)
    return {**models, "new": x[256:][:rows].to(device), "right": y[256:][:rows]}


def train(model: Any, x: Tensor, y: Tensor) -> None:
    optimizer = optim.Adam(model.parameters(), lr=0.003)
    for _ in range(60):
        optimizer.zero_grad()
        (model(x) - y).square().mean().backward()
        optimizer.step()


def slow(deep: Any, wide: Any, new: Tensor, right: Tensor) -> Any:
    return answer(deep, new, right)


def fast(deep: Any, wide: Any, new: Tensor, right: Tensor) -> Any:
    return answer(wide, new, right)


def answer(model: Any, new: Tensor, right: Tensor) -> Any:
    with tg.no_grad():
        given = model(new).numpy(force=True)
    error = float(((given - right.numpy()) ** 2).mean())
    return Aside((sum(p.numel() for p in model.parameters()), error))


TIP = Tip(
    slug="depth-vs-width",
    title="Make a model wide where time counts, and deep where that helps it learn",
    theme="model",
    why="A layer **waits for the one before it**; numbers in one layer are computed side by side.",
    about=(
        "Two models with as many parameters do about as much arithmetic for an answer. The deep one does it in many "
        "small products, one after the other, and each has to be started; the wide one does it in two. So the wide "
        "one answers sooner, above all on an accelerator, and most where few rows come at once. It may need more "
        "memory, because the numbers of its one layer are alive together. Which one learns better is decided by the "
        "data: layers that build on each other describe some things with far fewer numbers, as in images and "
        "language. On the simple task here they err alike. So train both, and look at data that were held back."
    ),
    sources=(Source("R", "Model Architecture", "wide for fast answers, deep for accuracy"),),
    parameters=(
        Size("layers", 16, 1, 32, "hidden layers of A, each of 32 numbers"),
        Size("rows", 16, 1, 256, "rows of an answer"),
    ),
    inputs=inputs,
    slow=slow,
    fast=fast,
    outcomes={"slow": FREE, "fast": FREE},
    reads={"numbers": lambda found: found.value[0], "test error": lambda found: found.value[1]},
    seeds=3,
    claims=(
        Claim("numbers", same=True, within=0.01),
        Claim("launches", times=5),
        Claim("virtual", times=3),
        Claim("peak", price=True),
        Claim("test error", same=True, within=0.3),
    ),
    limits=(Limit({"layers": 1}, "false here", "With one hidden layer both are nearly the same model."),),
    question=Question(
        "A has 16 hidden layers with ReLU. How many kernels are launched for one answer of A?",
        Number(1, 100, "launches"),
        lambda result: float(result.slow["launches"]),
        tempting=16,
        refutation="Each hidden layer is a product with its bias and then ReLU, and the output is one more product.",
    ),
    explain="Why does the wide model gain less when a thousand rows come at once?",
    symptoms=("inference is too slow", "my GPU is idle most of the time"),
    picture=Picture("QueueTimeline", dict),
    elsewhere=(
        Elsewhere(
            "PyTorch 2.13",
            "2026-11",
            "wide = nn.Sequential(nn.Linear(32, 497), nn.ReLU(), nn.Linear(497, 1))\nanswer = wide(new)",
        ),
    ),
    devices=("sim",),
    torch=None,
    differs_in_torch="Launches and times are simulated here; on a GPU the same holds.",
)
