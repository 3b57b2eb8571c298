"""Fold a batch norm into the convolution before it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import tinygrad_edu as tg
from tinygrad_edu import Tensor, nn
from tinygrad_edu.nn.utils import fuse_conv_bn_eval
from tinygrad_edu.tips import Choice, Claim, Elsewhere, Limit, Number, Picture, Question, Size, Slip, Source, Tip
from tinygrad_edu.tips.signs import Seen, Sign
from tinygrad_edu.tips.ways import prepared


def inputs(generator: tg.Generator, channels: int, side: int, mode: str) -> dict[str, Any]:
    tg.manual_seed(0)
    conv, bn = nn.Conv2d(3, channels, 3, padding=1), nn.BatchNorm2d(channels)
    with tg.no_grad():
        for _ in range(3):  # as after some training: running statistics, and weights that are not 1 and 0
            bn(conv(tg.randn(8, 3, 16, 16, generator=generator)))
        for layer in (conv, bn):
            for parameter in layer.parameters():
                parameter.mul_(1.5).add_(0.1)
    layers = [layer.train(mode == "training") for layer in (conv, bn)]
    return {"conv": layers[0], "bn": layers[1], "x": tg.randn(4, 3, side, side, generator=generator)}


def slow(conv: Any, bn: Any, x: Tensor) -> Tensor:
    with tg.no_grad():
        return bn(conv(x))


@prepared
def fast(conv: Any, bn: Any, x: Tensor) -> Any:
    whole = nn.Sequential(conv, bn) if bn.training else fuse_conv_bn_eval(conv, bn)

    def forward() -> Tensor:
        with tg.no_grad():
            return whole(x)

    return forward


def guide(conv: Any, bn: Any, x: Tensor) -> Tensor:
    std = tg.sqrt(bn.running_var + bn.eps)
    with tg.no_grad():
        conv.weight.copy_((bn.weight / std).view(-1, 1, 1, 1) * conv.weight)
        conv.bias = nn.Parameter(bn.bias - bn.weight * bn.running_mean / std)
        return conv(x)


def applies(seen: Seen) -> Iterator[Sign]:
    for place in seen.at("batch_norm_eval"):
        if place.count == place.inference and place.came_from(0, "conv2d", "conv1d", "linear"):
            yield Sign(place.line, f"batch norm ran {place.count} times after a layer, in inference", place.seconds)


TIP = Tip(
    slug="fold-batch-norm",
    title="Fold a batch norm into the convolution before it",
    theme="model",
    why="In evaluation a batch norm multiplies and adds **numbers that no longer change**, as a convolution does, too.",
    about=(
        "After training, a batch norm subtracts the running mean, divides by the running deviation, multiplies by its "
        "weight and adds its bias: for each channel one factor and one summand. The convolution before it can take "
        "both into its weight and its bias, once, and then one layer does the work of two. `fuse_conv_bn_eval` makes "
        "such a convolution. In training it is not possible, because there the mean is that of the batch. The "
        "convolution's own bias has to be scaled as well: without it the numbers are wrong, and nothing says so. "
        "Compare outputs after each such change."
    ),
    sources=(Source("P", "Fuse Operations", "fold batch norm into convolution for inference"),),
    parameters=(
        Size("channels", 16, 1, 64, "output channels of the convolution"),
        Size("side", 32, 1, 64, "rows and columns of a picture"),
        Choice("mode", "evaluation", ("evaluation", "training"), "in which mode the layers are"),
    ),
    inputs=inputs,
    slow=slow,
    fast=fast,
    slips=(
        Slip("P", guide, {"equal": False}, "It drops the convolution's own bias: gamma / std times it is missing."),
    ),
    claims=(Claim("calls"), Claim("allocated"), Claim("time")),
    limits=(
        Limit(
            {"mode": "training"}, "no difference", "In training the mean is that of the batch, so nothing is folded."
        ),
    ),
    question=Question(
        "How many operations does B carry out for a batch, once the two layers are folded?",
        Number(0, 8, "operations"),
        lambda result: float(result.fast["calls"]),
        tempting=2,
        refutation="Factor and summand are in the weight and the bias of the convolution: it alone is left.",
    ),
    explain="Why can a batch norm that stands before a convolution with padding not be folded into it?",
    symptoms=("inference is too slow", "my model has many small operations"),
    picture=Picture("TimingRace", dict),
    elsewhere=(
        Elsewhere(
            "PyTorch 2.13",
            "2026-11",
            "conv, bn = torch.nn.Conv2d(3, 4, 3).eval(), torch.nn.BatchNorm2d(4).eval()\n"
            "y = torch.nn.utils.fuse_conv_bn_eval(conv, bn)(torch.ones(1, 3, 8, 8))",
        ),
    ),
    tolerance=1e-4,
    applies=applies,
)
