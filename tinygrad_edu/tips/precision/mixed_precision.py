"""Train in mixed precision."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import tinygrad_edu as tg
from tinygrad_edu import Tensor, amp, nn, optim
from tinygrad_edu.errors import DtypeError
from tinygrad_edu.nn import functional as F
from tinygrad_edu.tips import Choice, Claim, Elsewhere, Figure, Limit, Picture, Question, Result, Size, Source, Tip, Way
from tinygrad_edu.tips.outcomes import raises
from tinygrad_edu.tips.signs import PRODUCTS, Seen, Sign, spent


def inputs(generator: tg.Generator, width: int, dtype: str, device: str) -> dict[str, Any]:
    tg.manual_seed(0)
    layers = (nn.Linear(width, width), nn.GELU(), nn.Linear(width, width), nn.GELU(), nn.Linear(width, 10))
    x = tg.randn(2048, width, generator=generator)
    y = (x[:, :10] * 3).argmax(1)
    return {"model": nn.Sequential(*layers).to(device), "x": x.to(device), "y": y.to(device), "dtype": dtype}


def train(model: nn.Module, x: Tensor, y: Tensor, dtype: str, mixed: bool) -> Tensor:
    optimizer = optim.SGD(model.parameters(), lr=0.5)
    scaler = amp.GradScaler(x.device.type, enabled=mixed and dtype == "float16")
    for _ in range(3):
        optimizer.zero_grad()
        with amp.autocast(x.device.type, dtype=dtype, enabled=mixed):
            loss = F.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    return loss.detach().cpu()


def slow(model: nn.Module, x: Tensor, y: Tensor, dtype: str) -> Tensor:
    return train(model, x, y, dtype, mixed=False)


def fast(model: nn.Module, x: Tensor, y: Tensor, dtype: str) -> Tensor:
    return train(model, x, y, dtype, mixed=True)


def only_the_input(model: nn.Module, x: Tensor, y: Tensor, dtype: str) -> Tensor:
    return F.cross_entropy(model(x.half()), y)


def takes(result: Result) -> str:
    times = result.slow["virtual"] / result.fast["virtual"]
    return "longer than A" if times < 0.95 else "as long" if times < 1.3 else "less"


def applies(seen: Seen) -> Iterator[Sign]:
    machine, products = tg.sim.machine(), [p for p in seen.at(*PRODUCTS) if p.device != "cpu" and p.walked]
    works = seen.kernels(*PRODUCTS)
    took, flops = spent(works), sum(work.flops for work in works)
    busy = flops > 0.3 * machine["float32"] * took  # and not just launched
    gain = 1 - machine["float32"] / machine["float16"]
    if products and products[0].dtype == "float32" and gain > 0.5 and busy and took > 0.5 * spent(seen.kernels()):
        told = "products of float32 take most of the device's time"
        yield Sign(products[0].line, told, took * gain, virtual=True)


def without() -> Any:
    return tg.autocast("sim", dtype=tg.float16)


TIP = Tip(
    slug="mixed-precision",
    title="Train in mixed precision",
    theme="precision",
    why="Products gain most by 16 bits and **need the digits least**; sums, losses and weights stay in float32.",
    about=(
        "Under `autocast` each product casts its operands to 16 bits, runs on the tensor cores and adds up in float32. "
        "Losses, normalisations and sums are computed in float32, and the parameters stay in float32, so that small "
        "steps are not rounded away. Only the forward pass and the loss belong inside; backward follows by itself. "
        "With float16 add a `GradScaler`. The casts take time, so small layers lose. To halve only the input, as one "
        "guide does, is an error: the weights are float32. On a processor without units for 16 bits it is slower."
    ),
    sources=(
        Source("P", "Mixed Precision Training", "autocast with GradScaler"),
        Source("R", "Mixed Precision Training", "convert the input to half"),
    ),
    parameters=(
        Size("width", 1024, 64, 1024, "the width of the layers"),
        Choice("dtype", "float16", ("float16", "bfloat16"), "what autocast computes in"),
    ),
    inputs=inputs,
    slow=slow,
    fast=fast,
    claims=(Claim("virtual", times=1.5), Claim("device peak")),
    limits=(
        Limit(
            {"width": 64},
            "no difference",
            "The layers are small: the launches take the time, and casts are more of them.",
        ),
        Limit(
            {"dtype": "bfloat16"}, "no difference", "A T4 has no tensor cores for bfloat16, so only bytes are saved."
        ),
    ),
    question=Question(
        "B casts weights and activations in every step, and does the same products in float16. How long does it take?",
        ("longer than A", "as long", "less"),
        takes,
        tempting="as long",
        refutation="Casts move bytes, which takes little beside a product of large matrices on tensor cores.",
    ),
    also=(Way("only the input", only_the_input, raises(DtypeError, "float16"), "As in guide R."),),
    figures=(Figure("virtual", 2.5, "P", "of training, 2 to 3 times as fast"),),
    explain="Why do the parameters stay in float32, although every product reads them in float16?",
    symptoms=("training is slow", "out of memory"),
    picture=Picture("QueueTimeline", dict),
    elsewhere=(
        Elsewhere(
            "PyTorch 2.13",
            "2026-11",
            'with torch.autocast("cpu", dtype=torch.bfloat16):\n    loss = model(x).float().mean()\nloss.backward()',
        ),
    ),
    tolerance=0.02,
    devices=("sim",),
    torch=None,
    differs_in_torch="The same holds on a GPU with tensor cores.",
    applies=applies,
    without=without,
)
