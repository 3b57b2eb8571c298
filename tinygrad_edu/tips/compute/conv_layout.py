"""Let images lie as the convolution gets them."""

from __future__ import annotations

from typing import Any

import tinygrad_edu as tg
from tinygrad_edu import Tensor
from tinygrad_edu.nn.functional import conv2d
from tinygrad_edu.tips import Choice, Claim, Elsewhere, Limit, Picture, Question, Result, Size, Source, Tip, Way

LAYERS = 3


def inputs(generator: tg.Generator, n: int, channels: int, groups: str) -> dict[str, Any]:
    kernels = [tg.randn(channels, channels // int(groups), 3, 3, generator=generator) / channels for _ in range(LAYERS)]
    return {"pixels": tg.rand(4, n, n, channels, generator=generator), "kernels": kernels, "groups": int(groups)}


def slow(pixels: Tensor, kernels: list[Tensor], groups: int) -> Tensor:
    x = pixels.permute(0, 3, 1, 2).contiguous()  # plane by plane
    for weight in kernels:
        x = conv2d(x, weight, padding=1, groups=groups).relu()
    return x


def fast(pixels: Tensor, kernels: list[Tensor], groups: int) -> Tensor:
    x = pixels.permute(0, 3, 1, 2)  # a view: channels last
    for weight in kernels:
        x = conv2d(x, weight, padding=1, groups=groups).relu()
    return x


def back_and_forth(pixels: Tensor, kernels: list[Tensor], groups: int) -> Tensor:
    x = pixels
    for weight in kernels:
        x = conv2d(x.permute(0, 3, 1, 2).contiguous(), weight, padding=1, groups=groups).relu()
        x = x.permute(0, 2, 3, 1).contiguous()
    return x.permute(0, 3, 1, 2)


def moves(result: Result) -> str:
    return "none of them" if result.fast["copied"] == 0 else "all of them"


TIP = Tip(
    slug="conv-layout",
    title="Let images lie as the convolution gets them",
    theme="compute",
    why="Channels first or last is **an order of bytes**, and shapes say (N, C, H, W) for both, so ask the strides.",
    about=(
        "Image files hold the channels of a pixel side by side. `permute` shows them as (N, C, H, W) without a copy: "
        "that is `channels_last`. A lays them out plane by plane first, which moves all bytes once. B computes as they "
        "lie: a window is then a few long runs of memory, and the result lies channels last too. Neither changes the "
        "layout again. In time the two differ little here, because both end in the same matrix product; measure on "
        "your own machine. What costs is to change back and forth, as C does, or a layer that knows one order only: "
        "here that is a convolution in groups."
    ),
    sources=(Source("M", "Convolution kernel layouts.", "a library may transpose the layouts it is given"),),
    parameters=(
        Size("n", 32, 4, 64, "rows and columns of the images"),
        Size("channels", 32, 2, 64, "channels"),
        Choice("groups", "1", ("1", "2"), "groups of channels, each with its own kernels"),
    ),
    inputs=inputs,
    slow=slow,
    fast=fast,
    also=(
        Way("back and forth", back_and_forth, words="Two copies for each layer: its neighbours want another order."),
    ),
    claims=(
        Claim("copies", fast=0, slow=1),
        Claim("conversions", same=True),
        Claim("allocated"),
        Claim("time"),
    ),
    limits=(
        Limit({"groups": "2"}, "false here", "In groups only planes are known, so B changes the layout in each layer."),
    ),
    question=Question(
        "Images are (N, H, W, C), and `permute` makes them (N, C, H, W). Which bytes does B move first?",
        ("all of them", "none of them"),
        moves,
        tempting="all of them",
        refutation="Only the strides change, and a convolution here can read channels that lie side by side.",
    ),
    explain="Two tensors have the shape (N, C, H, W). How do you find out which of them lies channels last?",
    symptoms=("my convolutions are slow", "slower after a transpose"),
    picture=Picture("TimingRace", dict),
    elsewhere=(
        Elsewhere(
            "PyTorch 2.13",
            "2026-11",
            "x = pixels.permute(0, 3, 1, 2)\n"
            "assert x.is_contiguous(memory_format=torch.channels_last)\n"
            "y = torch.nn.functional.conv2d(x, kernels[0], padding=1)",
        ),
        Elsewhere(
            "JAX 0.11",
            "2026-11",
            'jax.lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))',
        ),
    ),
    devices=("cpu", "cuda"),
)
