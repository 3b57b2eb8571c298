"""Save the program of a model, and run it without the model's code."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import tinygrad_edu as tg
from tinygrad_edu import Tensor, jit, nn
from tinygrad_edu.compiler import TraceError
from tinygrad_edu.tips import Choice, Claim, Elsewhere, Figure, Limit, Picture, Question, Result, Size, Source, Tip, Way
from tinygrad_edu.tips.outcomes import raises
from tinygrad_edu.tips.ways import prepared


class Curve(nn.Module):
    """An activation made of many operations."""

    def forward(self, x: Tensor) -> Tensor:
        return (x * 0.8 + x * x * x * 0.035).tanh() * x * 0.5 + x * 0.5


class Turning(nn.Module):
    """A branch that depends on numbers, which a recording cannot hold."""

    def forward(self, x: Tensor) -> Tensor:
        return -x if x.sum() < 0 else x


def inputs(generator: tg.Generator, rows: int, between: str) -> dict[str, Any]:
    tg.manual_seed(0)
    parts: dict[str, nn.Module] = {"a curve": Curve(), "nothing": nn.Identity()}
    model = nn.Sequential(nn.Linear(64, 64), parts[between], nn.Linear(64, 10)).eval()
    return {"model": model, "x": tg.randn(rows, 64, generator=generator)}


@prepared
def slow(model: nn.Sequential, x: Tensor) -> Callable[[], Any]:
    return tg.no_grad()(lambda: model(x))


@prepared
def fast(model: nn.Sequential, x: Tensor) -> Callable[[], Any]:
    file = io.BytesIO()
    jit.save(jit.trace(model, x), file)
    file.seek(0)
    loaded = jit.load(file)  # from here on, the class Curve is not needed
    return lambda: loaded(x)


def branch(model: nn.Sequential, x: Tensor) -> Any:
    return jit.trace(nn.Sequential(*model, Turning()), x)(x)


def fewer(result: Result) -> str:
    return "fewer" if result.fast["calls"] < result.slow["calls"] else "as many"


TIP = Tip(
    slug="script-trace-save",
    title="Save the program of a model, and run it without the model's code",
    theme="compilation",
    why="A traced model is a **list of operations and weights**: Python's own code, its classes and branches, is gone.",
    about=(
        "`jit.trace` runs the model once and records its operations. `jit.save` writes it with the weights, as names "
        "and numbers, without any code; so a file from a stranger cannot run anything. `jit.load` needs neither "
        "the class nor the file that it was in. Because the program is known, neighbouring operations run as one. What "
        "a recording cannot hold is a choice: it has the branch that was taken, not the `if`. PyTorch's `trace` warns "
        "about that and keeps the branch; here it is refused. The program holds for the shapes it was traced with."
    ),
    sources=(
        Source("P", "Use TorchScript", "script or trace, save, load: 10–30 % faster inference, and no Python needed"),
    ),
    parameters=(
        Size("rows", 64, 1, 1024, "the number of samples"),
        Choice("between", "a curve", ("a curve", "nothing"), "what is between the two layers"),
    ),
    inputs=inputs,
    slow=slow,
    fast=fast,
    also=(
        Way(
            "with a branch",
            branch,
            raises(TraceError, "decides"),
            "The traced value would decide once, for all later inputs. So it is refused.",
        ),
    ),
    claims=(Claim("calls", times=2), Claim("allocated", times=3), Claim("time")),
    limits=(Limit({"between": "nothing"}, "false here", "Two layers are two products, with or without a program."),),
    figures=(Figure("time", 1.1, "P", "10 % faster at least"), Figure("time", 1.3, "P", "30 % faster at most")),
    question=Question(
        "B loads the program from a file. Does it carry out as many operations as the model's own code?",
        ("as many", "fewer"),
        fewer,
        tempting="as many",
        refutation="The whole list is known before it runs, so neighbouring elementwise operations become one.",
    ),
    explain="What would a file that kept only one side of an `if` compute for the next input?",
    symptoms=("inference is slow", "my model has to run where its code is not"),
    picture=Picture("FusionBuilder", dict),
    elsewhere=(
        Elsewhere("PyTorch 2.13", "2026-11", "program = torch.export.export(model, (x,))\ny = program.module()(x)"),
    ),
    torch=None,
    differs_in_torch="torch.jit still runs there, and torch.export has taken its place. Neither reports its kernels.",
)
