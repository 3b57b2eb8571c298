"""Put the weights of a trained model into 8 bits."""

from __future__ import annotations

from typing import Any

import tinygrad_edu as tg
from tinygrad_edu import Tensor, nn, tips
from tinygrad_edu.nn.utils import dtype_report
from tinygrad_edu.quantise import quantise
from tinygrad_edu.tips import Choice, Claim, Elsewhere, Limit, Picture, Question, Result, Size, Source, Tip

tips.declare(tips.Fact("model bytes", "the model's bytes", "bytes", "bytes of all parameters and buffers"))
tips.declare(tips.Fact("far off", "largest error", "", "the largest error, as a share of the largest number"))


def inputs(generator: tg.Generator, n: int, weights: str) -> dict[str, Any]:
    tg.manual_seed(0)
    layer = nn.Linear(n, n)
    if weights == "one far away":
        layer.weight.detach()[0, 0] = 100.0
    return {"layer": layer, "x": tg.randn(32, n, generator=generator)}


def result(model: nn.Module, layer: nn.Module, x: Tensor) -> Any:
    with tg.no_grad():
        exact, found = layer(x)[:, 1:], model(x)[:, 1:]  # without the row of the weight that may be far away
    return sum(row.nbytes for row in dtype_report(model).rows), ((found - exact).abs().max() / exact.abs().max()).item()


def slow(layer: nn.Module, x: Tensor) -> Any:
    return result(layer, layer, x)


def fast(layer: nn.Module, x: Tensor) -> Any:
    return result(quantise(layer), layer, x)  # a scale for each output


def one_scale(layer: nn.Module, x: Tensor) -> Any:
    return result(quantise(layer, per_channel=False), layer, x)


def smaller(result: Result) -> float:
    return float(result.slow["model bytes"] / result.fast["model bytes"])


def picture() -> dict[str, Any]:
    weights = tg.tensor([0.5, -0.25, 0.125])
    return {"weights": weights, "in 8 bits": tg.quantise.quantise_tensor(weights).values}


TIP = Tip(
    slug="quantise-int8",
    title="Put the weights of a trained model into 8 bits",
    theme="precision",
    why="A weight becomes a **whole number times a scale**: 1 byte instead of 4, and off by at most half a scale.",
    about=(
        "The scale is the largest weight divided by 127, so the 256 values of a byte reach as far as the weights do. "
        "One scale for each output keeps a large weight from spoiling all others. Inputs are put into 8 bits too, when "
        "they come or with a range that was seen before, and the products of whole numbers are summed exactly. Chips "
        "for inference do that many times as fast; NumPy has no such product, so here the gain is memory, and time "
        "grows. Quantise after training, and measure the accuracy again: the error depends on the range of the "
        "numbers, not on the bits alone."
    ),
    sources=(Source("R", "Quantization", "int8 weights with a scale and a zero point"),),
    parameters=(
        Size("n", 256, 16, 512, "rows and columns of the weight"),
        Choice("weights", "as trained", ("as trained", "one far away"), "what the weights are like"),
    ),
    inputs=inputs,
    slow=slow,
    fast=fast,
    outcomes={"slow": tips.FREE, "fast": tips.FREE},
    claims=(
        Claim("model bytes", times=3.8),
        Claim("far off", fast=0.01, slow=0.0, within=0.5),
        Claim("far off", ways=("one scale", "fast"), times=20, at={"weights": "one far away"}),
    ),
    limits=(Limit({"n": 16}, "no difference", "With so few weights, scales and biases are a larger share."),),
    question=Question(
        "Weights take 1 byte instead of 4; biases stay, and each output gets a scale. How many times smaller is it?",
        tips.Number(0.1, 8, "times", within=0.05),
        smaller,
        tempting=8,
        refutation="4 bytes become 1, and the scales and biases are a small rest.",
    ),
    also=(tips.Way("one scale", one_scale, tips.FREE, "One scale for all weights."),),
    explain="Why does one weight of 100 spoil all others, and why not if each output has its own scale?",
    symptoms=("my model is too large", "out of memory"),
    picture=Picture("BufferMap", picture),
    elsewhere=(
        Elsewhere(
            "PyTorch 2.13",
            "2026-11",
            "w = layer.weight.detach()\nscale = w.abs().amax(1, keepdim=True) / 127\n"
            "q = (w / scale).round().to(torch.int8)",
        ),
    ),
    reads={"model bytes": lambda found: found[0], "far off": lambda found: found[1]},
    torch=None,
    differs_in_torch="torchao does the same, with products that are made for it.",
)
