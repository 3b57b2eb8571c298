"""Let dtypes and shapes depend on dtypes and shapes."""

from __future__ import annotations

from typing import Any

import tinygrad_edu as tg
from tinygrad_edu import Tensor, nn
from tinygrad_edu.errors import DtypeError
from tinygrad_edu.nn.utils import check_stable
from tinygrad_edu.tips import Choice, Elsewhere, Limit, Picture, Question, Result, Size, Source, Tip, Way
from tinygrad_edu.tips.outcomes import DIFFERS, raises
from tinygrad_edu.tips.ways import Shown


class Careful(nn.Module):
    """Goes to float64 where numbers are large."""

    def forward(self, x: Tensor) -> Tensor:
        return x.double().exp() if x.abs().max().item() > 80 else x.exp()


class Clamped(nn.Module):
    """Limits large numbers, in whatever dtype they have."""

    def forward(self, x: Tensor) -> Tensor:
        return x.clamp(max=80.0).exp()


def inputs(generator: tg.Generator, n: int, batches: str) -> dict[str, Any]:
    x = tg.rand(n, 8, generator=generator)
    return {"data": [x, x * 100 if batches == "small and large" else x * 2]}


def dtypes_of(layer: nn.Module, data: list[Tensor]) -> Any:
    found = [str(layer(x).dtype) for x in data]
    return Shown("The dtype of each result", ", ".join(found), len(set(found)))


def slow(data: list[Tensor]) -> Any:
    return dtypes_of(Careful(), data)


def fast(data: list[Tensor]) -> Any:
    return dtypes_of(Clamped(), data)


def one(data: list[Tensor]) -> int:
    return 1


def checked(data: list[Tensor]) -> None:
    check_stable(nn.Sequential(nn.Identity(), Careful()), data[-1])


def answer(result: Result) -> str:
    return "the same" if result.slow["equal"] else "two different ones"


def picture() -> dict[str, Any]:
    x = tg.tensor([1.0, 2.0])
    return {"small": Careful()(x), "large": Careful()(x * 50)}


TIP = Tip(
    slug="type-stability",
    title="Let dtypes and shapes depend on dtypes and shapes",
    theme="precision",
    why="A dtype that depends on **values** is known only after the layer has run, and changes from batch to batch.",
    about=(
        "An `if` on the values of a tensor looks like care, and makes a layer return float32 for one batch and float64 "
        "for the next. What follows runs at two speeds, a compiler makes two programs, and a test with small numbers "
        "sees nothing. It also makes the host wait for the values on a device. Write the case into the numbers: "
        "`clamp`, `where`, `logsumexp`. `check_stable(model, x)` calls a copy of the model with other values of the "
        "same shape and dtype, and names the innermost layer whose output changes its dtype, its shape or its kind."
    ),
    sources=(Source("L", "Type Instabilities", "DispatchDoctor finds layers whose output type is not fixed"),),
    parameters=(
        Size("n", 64, 1, 1024, "rows of 8 numbers"),
        Choice("batches", "small and large", ("small and large", "both small"), "what the two batches hold"),
    ),
    inputs=inputs,
    slow=slow,
    fast=fast,
    truth=one,
    outcomes={"slow": DIFFERS},
    also=(Way("checked", checked, raises(DtypeError, "Careful '1'"), "Stops at the layer, whatever the batches."),),
    claims=(),
    limits=(
        Limit({"batches": "both small"}, "no difference", "These batches never reach the other branch. A check does."),
    ),
    question=Question(
        "A's layer takes two float32 batches of the same shape, one with numbers up to 100. Which dtypes come out?",
        ("the same", "two different ones"),
        answer,
        tempting="the same",
        refutation="The `if` looks at the values: only the second batch is converted.",
    ),
    explain="Why does a test with small numbers not find this, and how does the check?",
    symptoms=("a result has an unexpected dtype", "my program compiles again and again"),
    picture=Picture("BufferMap", picture),
    elsewhere=(
        Elsewhere("PyTorch 2.13", "2026-11", "y = data[0].clamp(max=80.0).exp()  # torch.compile: no graph break"),
    ),
    torch=None,
    differs_in_torch="The same layer gives two dtypes there; `torch.compile` breaks its graph at the `if`.",
)
