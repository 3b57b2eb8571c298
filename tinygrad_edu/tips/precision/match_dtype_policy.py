"""Say what happens where dtypes differ."""

from __future__ import annotations

from typing import Any

import tinygrad_edu as tg
from tinygrad_edu import Tensor, nn
from tinygrad_edu.errors import DtypeError
from tinygrad_edu.nn.utils import match_dtype
from tinygrad_edu.tips import Choice, Claim, Elsewhere, Limit, Picture, Question, Result, Size, Source, Tip, Way
from tinygrad_edu.tips.outcomes import raises


class Gain(nn.Module):
    """A weight for each channel."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.gain = nn.Parameter(tg.ones(channels))

    def forward(self, x: Tensor) -> Tensor:
        return x * self.gain


def inputs(generator: tg.Generator, n: int, given: str) -> dict[str, Any]:
    return {"layer": Gain(64), "x": tg.rand(n, 64, generator=generator).to(given)}


def slow(layer: nn.Module, x: Tensor) -> Tensor:
    return layer(x)


def fast(layer: nn.Module, x: Tensor) -> Tensor:
    with match_dtype(layer, "error"):
        return layer(x)


def converted(layer: nn.Module, x: Tensor) -> Tensor:
    with match_dtype(layer, "convert"):
        return layer(x)


def dtype(result: Result) -> str:
    return "float64" if result.slow["held"] > 1.5 * result.ways["convert"]["held"] else "float32"


def picture() -> dict[str, Any]:
    x, gain = tg.ones(3, dtype="float64"), tg.ones(3)
    return {"x": x, "gain": gain, "x * gain": x * gain}


TIP = Tip(
    slug="match-dtype-policy",
    title="Say what happens where dtypes differ",
    theme="precision",
    why="A layer **cannot know whether you meant** the wider dtype, so by default it says nothing.",
    about=(
        "A matrix product of two dtypes is an error, but most layers take any input: a float64 batch makes a gain, an "
        "embedding or a residual sum float64, and whatever comes after. `match_dtype(model, policy)` looks at the "
        "input of every module that has parameters. With *warn* it says so once for each module, with *convert* it "
        "casts the input to the dtype of the parameters, and with *error* it stops and names the module. Use *error* "
        "in tests and *convert* where inputs come from outside. `dtype_report(model)` lists all dtypes that a model, "
        "an optimiser or a batch holds."
    ),
    sources=(Source("L", "Spurious Type-Promotion", "match_eltype handles inputs of another element type"),),
    parameters=(
        Size("n", 256, 1, 4096, "rows of 64 numbers"),
        Choice("given", "float64", ("float64", "float32"), "the dtype of the input"),
    ),
    inputs=inputs,
    slow=slow,
    fast=fast,
    truth=converted,
    outcomes={"fast": raises(DtypeError, "Gain 'Gain' of float32 with an input of float64")},
    also=(Way("convert", converted, words="Casts the input first: the result is float32."),),
    claims=(Claim("held", ways=("slow", "convert"), times=2),),
    limits=(Limit({"given": "float32"}, "no difference", "The dtypes agree, so there is nothing to decide."),),
    question=Question(
        "The layer's weights are float32, the input is float64. What does A return, without a policy?",
        ("float32", "float64"),
        dtype,
        tempting="float32",
        refutation="Where two dtypes meet, the wider one wins, whichever of the two is the parameter.",
    ),
    explain="Which of the three policies would you use in a test, and which where users send data?",
    symptoms=("a result has an unexpected dtype", "out of memory"),
    picture=Picture("BufferMap", picture),
    elsewhere=(
        Elsewhere("PyTorch 2.13", "2026-11", "y = layer(x.to(next(layer.parameters()).dtype))  # there is no policy"),
        Elsewhere("Lux 1.0", "2026-11", 'set_preferences!(Lux, "eltype_mismatch_handling" => "convert")'),
    ),
    torch=None,
    differs_in_torch="PyTorch has no such policy: there A gives float64, too.",
)
