"""Push tangents forward where inputs are few."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tinygrad_edu as tg
from tinygrad_edu import Tensor
from tinygrad_edu.autograd import grad, jvp
from tinygrad_edu.tips import Choice, Claim, Elsewhere, Limit, Picture, Question, Result, Size, Source, Tip
from tinygrad_edu.tips.tip import Over


def inputs(generator: tg.Generator, ins: int, outs: int, kind: str) -> dict[str, Any]:
    w = tg.randn(outs, ins, generator=generator)
    f = (lambda x: (w @ x).tanh()) if kind == "smooth" else (lambda x: (w @ x).abs())
    return {"f": f, "x": tg.rand(ins, generator=generator)}


def slow(f: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    x = x.clone().requires_grad_()
    y = f(x)
    rows = [grad(y[i], x, retain_graph=True)[0] for i in range(len(y))]
    return tg.stack(rows)


def fast(f: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    directions = tg.eye(len(x))
    columns = [jvp(f, (x,), (direction,))[1] for direction in directions]
    return tg.stack(columns, dim=1)


def torch_fast(f: Any, x: Any) -> Any:
    import torch

    columns = [torch.func.jvp(f, (x,), (direction,))[1] for direction in torch.eye(len(x))]
    return torch.stack(columns, dim=1)


def passes(result: Result) -> str:
    fewer = result.fast["calls"] < result.slow["calls"]
    return "forward mode, one pass for each input" if fewer else "backward, one pass for each output"


TIP = Tip(
    slug="higher-level-ad-choice",
    title="Push tangents forward where inputs are few",
    theme="autograd",
    why="Backward gives one row of the Jacobian in a pass, forward mode one column: **count rows and columns**.",
    about=(
        "The Jacobian holds how each output changes with each input. Backward starts at one output and finds its "
        "slopes for all inputs: one row. Forward mode carries, beside each number, how it changes in one direction of "
        "the inputs, and finds that for all outputs: one column. So count rows and columns. Training has one output, "
        "the loss, and very many inputs, which is why everybody uses backward. A curve in space, or how a simulation "
        "depends on three constants, is the other way round, and needs no graph that keeps anything."
    ),
    sources=(Source("L", "Performance Pitfalls & How to Catch Them", "choose the kind of differentiation by its use"),),
    parameters=(
        Size("ins", 2, 1, 128, "how many inputs"),
        Size("outs", 64, 1, 128, "how many outputs"),
        Choice("kind", "smooth", ("smooth", "with corners"), "the function: `tanh`, or the absolute value"),
    ),
    inputs=inputs,
    slow=slow,
    fast=fast,
    torch={"fast": torch_fast},
    claims=(
        Claim("calls", times=4),
        Claim("calls", over=Over("outs", (8, 16, 32, 64, 128), slow="linear", fast="flat")),
        Claim("calls", over=Over("ins", (2, 8, 32, 64, 128), crosses=True)),
        Claim("time"),
    ),
    limits=(
        Limit({"ins": 64, "outs": 4}, "false here", "Four outputs are four rows, and 64 inputs are 64 columns."),
        Limit({"outs": 1}, "false here", "With one output, as in training, one backward gives all slopes."),
    ),
    question=Question(
        "The function has 2 inputs and 64 outputs. Which way to its Jacobian takes fewer operations?",
        ("backward, one pass for each output", "forward mode, one pass for each input"),
        passes,
        tempting="backward, one pass for each output",
        refutation="Backward is the right choice for a loss, which is one output. Here it needs 64 passes, and B two.",
    ),
    explain="How does the number of operations change with the outputs, in A and in B?",
    symptoms=("my Jacobian is slow", "my backward is slow"),
    picture=Picture("TimingRace", dict),
    elsewhere=(
        Elsewhere("PyTorch 2.13", "2026-11", "y = torch.func.jacfwd(torch.tanh)(x)  # jacrev: row by row"),
        Elsewhere("JAX 0.11", "2026-11", "jax.jacfwd(f)(x)  # jax.jacrev: row by row"),
    ),
)
