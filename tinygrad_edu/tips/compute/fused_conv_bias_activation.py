"""Apply a convolution's bias and activation while its result is at hand."""

from __future__ import annotations

from typing import Any

import tinygrad_edu as tg
from tinygrad_edu import Tensor
from tinygrad_edu.nn import functional as F
from tinygrad_edu.tips import Choice, Claim, Elsewhere, Limit, Picture, Question, Result, Size, Source, Tip, Way


def inputs(generator: tg.Generator, images: int, gradient: str) -> dict[str, Any]:
    x, w, b = (tg.randn(*shape, generator=generator) for shape in ((images, 3, 32, 32), (32, 3, 3, 3), (32,)))
    return {"x": x, "w": w.requires_grad_(gradient == "wanted"), "b": b}


def slow(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
    y = F.conv2d(x, w, padding=1)
    y = y + b.reshape(-1, 1, 1)
    y = y.relu()
    return y if not w.requires_grad else tg.autograd.grad(y.sum(), w)[0]


def fast(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
    y = F.fused_conv_bias_activation(x, w, b, "relu", padding=1)
    return y if not w.requires_grad else tg.autograd.grad(y.sum(), w)[0]


def two(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
    y = F.conv2d(x, w, b, padding=1).relu()
    return y if not w.requires_grad else tg.autograd.grad(y.sum(), w)[0]


def fast_in_torch(x: Any, w: Any, b: Any) -> Any:
    from torch.nn import functional

    return functional.conv2d(x, w, b, padding=1).relu_()


def saved(result: Result) -> str:
    return "two thirds" if result.slow["allocated"] >= 3 * result.fast["allocated"] else "less than half"


TIP = Tip(
    slug="fused-conv-bias-activation",
    title="Apply a convolution's bias and activation while its result is at hand",
    theme="compute",
    why="A layer of many channels has a result **larger than its input**, and each further operation copies it anew.",
    about=(
        "A convolution from 3 to 32 channels makes ten numbers of each one that it reads. So the result is by far the "
        "largest tensor here, and on a device each operation on it moves more bytes than the convolution does. "
        "Giving the bias to `conv2d` saves one of these tensors, the fused operation a second one, because bias and "
        "activation are applied in the memory of the result. For backward it keeps the result, which tells the slope "
        "of relu. Libraries such as cuDNN have the same three steps as one kernel. On the processor the convolution "
        "takes most of the time, so expect less memory rather than speed."
    ),
    sources=(Source("L", "Faster Primitives", "replace NNlib.conv with bias and activation by the fused variant"),),
    parameters=(
        Size("images", 32, 1, 128, "images of 3 × 32 × 32, which become 32 × 32 × 32"),
        Choice("gradient", "not wanted", ("not wanted", "wanted"), "whether the gradient of w is computed"),
    ),
    inputs=inputs,
    slow=slow,
    fast=fast,
    also=(Way("bias inside", two, words="Two operations, since `conv2d` itself takes a bias."),),
    claims=(
        Claim("calls", times=2),
        Claim("peak", times=2),
        Claim("calls", ways=("bias inside", "fast"), times=2),
        Claim("time", same=True),
    ),
    limits=(Limit({"gradient": "wanted"}, "no difference", "Backward makes the same buffers in both."),),
    question=Question(
        "A makes a tensor for each of its three steps. How much of that memory does B do without?",
        ("less than half", "two thirds"),
        saved,
        tempting="less than half",
        refutation="All three have the size of the result, which is ten times that of the input; B makes one of them.",
    ),
    explain="Why does the same change save less in a layer from 32 channels to 3?",
    symptoms=("out of memory", "the processor or GPU is hardly busy", "a faster GPU changes nothing"),
    picture=Picture("MemoryRiver", dict),
    elsewhere=(
        Elsewhere("PyTorch 2.13", "2026-11", "y = F.conv2d(x, w, b, padding=1).relu_()   # or torch.compile"),
        Elsewhere("Lux 1.0", "2026-11", "y = fused_conv_bias_activation(relu, w, x, b, cdims)"),
    ),
    devices=("cpu", "sim"),
    torch={"fast": fast_in_torch},
    differs_in_torch="PyTorch has two operations for it, in one buffer, and may need a second for the layout.",
)
