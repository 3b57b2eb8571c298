"""Keep weights and inputs in 16 bits for inference."""

from __future__ import annotations

import copy
from typing import Any

import tinygrad_edu as tg
from tinygrad_edu import Tensor, nn, tips
from tinygrad_edu.nn.utils import dtype_report
from tinygrad_edu.tips import Choice, Claim, Elsewhere, Limit, Picture, Question, Result, Size, Source, Tip

tips.declare(tips.Fact("model bytes", "the model's bytes", "bytes", "bytes of all parameters and buffers"))
tips.declare(tips.Fact("far off", "largest error", "", "the largest error, as a share of the largest number"))


def inputs(generator: tg.Generator, rows: int, dtype: str, device: str) -> dict[str, Any]:
    tg.manual_seed(0)
    layers = [nn.Linear(1024, 1024, bias=False) for _ in range(4)]
    model = nn.Sequential(*(part for layer in layers for part in (layer, nn.Tanh())))
    x = tg.randn(rows, 1024, generator=generator)
    exact = model(x[:1]).detach()
    narrow = copy.deepcopy(model).to(dtype).to(device)
    return {"model": model.to(device), "narrow": narrow, "x": x.to(device), "exact": exact}


def result(model: nn.Module, x: Tensor, exact: Tensor) -> Any:
    with tg.no_grad():
        found = model(x)[:1].cpu().float()  # one row is enough to compare
    off = (found - exact).abs().max() / exact.abs().max()
    return sum(row.nbytes for row in dtype_report(model).rows), off.item()


def slow(model: nn.Module, narrow: nn.Sequential, x: Tensor, exact: Tensor) -> Any:
    return result(model, x, exact)


def fast(model: nn.Module, narrow: nn.Sequential, x: Tensor, exact: Tensor) -> Any:
    return result(narrow, x.to(narrow[0].weight.dtype), exact)


def quicker(result: Result) -> str:
    times = result.slow["virtual"] / result.fast["virtual"]
    return "about as fast" if times < 1.3 else "up to twice as fast" if times < 2.2 else "more than twice as fast"


TIP = Tip(
    slug="half-precision",
    title="Keep weights and inputs in 16 bits for inference",
    theme="precision",
    why="Half the bytes have to be moved, and **tensor cores** multiply 16-bit numbers many times as fast.",
    about=(
        "`model.to(dtype)` rounds the weights once. Each product is summed in float32 and rounded at the end, so for "
        "inference about three digits are lost, and predictions hardly change. float16 has more digits, bfloat16 the "
        "range of float32: take bfloat16 where numbers may be large or tiny. The gain in time needs hardware for it: a "
        "T4 has tensor cores for float16 and none for bfloat16. A processor mostly has none at all: here NumPy casts "
        "to float32 and back, which makes 16 bits slower. Convert the input too: halving it alone is an error in a "
        "product of two dtypes."
    ),
    sources=(Source("P", "Reduce Precision", "half for inference; bfloat16 has the better range"),),
    parameters=(
        Size("rows", 2048, 1, 4096, "rows of 1024 numbers"),
        Choice("dtype", "float16", ("float16", "bfloat16"), "the 16-bit float"),
    ),
    inputs=inputs,
    slow=slow,
    fast=fast,
    outcomes={"slow": tips.FREE, "fast": tips.FREE},
    claims=(
        Claim("model bytes", times=2),
        Claim("allocated", times=1.5),
        Claim("far off", fast=0.001, within=0.5),
        Claim("virtual", times=1.6),
    ),
    limits=(
        Limit(
            {"dtype": "bfloat16"}, "false here", "A T4 has no tensor cores for bfloat16, which has fewer digits, too."
        ),
    ),
    question=Question(
        "The simulated device is a T4, with tensor cores for float16. How fast is B, compared with A?",
        ("about as fast", "up to twice as fast", "more than twice as fast"),
        quicker,
        tempting="up to twice as fast",
        refutation="Half the bytes alone would give two. Tensor cores do eight times the arithmetic in the same time.",
    ),
    explain="Which part of the gain comes from the bytes, and which from the tensor cores?",
    symptoms=("my model is too large", "out of memory", "inference is slow"),
    picture=Picture("QueueTimeline", dict),
    elsewhere=(
        Elsewhere("PyTorch 2.13", "2026-11", "narrow = model.to(torch.bfloat16)\ny = narrow(x.to(torch.bfloat16))"),
    ),
    reads={"model bytes": lambda found: found[0], "far off": lambda found: found[1]},
    devices=("sim",),
    torch=None,
    differs_in_torch="The same holds on a GPU with tensor cores.",
)
