"""Know what a name keeps alive, and what the graph does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tinygrad_edu as tg
from tinygrad_edu import Tensor
from tinygrad_edu.observe.memory import Memory
from tinygrad_edu.tips import Choice, Claim, Elsewhere, Limit, Picture, Question, Result, Size, Slip, Source, Tip, Way
from tinygrad_edu.tips.ways import Shown

Layers = list[Callable[[Tensor], Tensor]]


def inputs(generator: tg.Generator, n: int, weights: str) -> dict[str, Any]:
    trained = weights == "trained"
    ws = [(tg.randn(64, 64, generator=generator) / 8).requires_grad_(trained) for _ in range(4)]
    return {"layers": [lambda x, w=w: (x @ w).tanh() for w in ws], "x": tg.rand(n, 64, generator=generator)}


def slow(layers: Layers, x: Tensor) -> Tensor:
    h1 = layers[0](x)
    h2 = layers[1](h1)
    h3 = layers[2](h2)
    return layers[3](h3)


def fast(layers: Layers, x: Tensor) -> Tensor:
    x = layers[0](x)
    x = layers[1](x)
    x = layers[2](x)
    return layers[3](x)


def asked(layers: Layers, x: Tensor) -> Any:
    with Memory() as memory:
        h1 = layers[0](x)
        h2 = layers[1](h1)
        h3 = layers[2](h2)
        y = layers[3](h3)
        kept = [one for one in memory.kept() if one.name in ("h1", "h2", "h3", "y")]
    return Shown("What each name keeps", "\n".join(map(repr, kept)), y)


def guide(layers: Layers, x: Tensor) -> Tensor:
    for layer in layers:
        x = layer(x).requires_grad_()  # a layer that is being trained
    return x


def saved(result: Result) -> str:
    a, b = result.slow["peak"], result.fast["peak"]
    return "nothing" if a == b else "a third of it or more" if a >= 1.5 * b else "a little"


TIP = Tip(
    slug="drop-intermediates",
    title="Know what a name keeps alive, and what the graph does",
    theme="autograd",
    why="A buffer lives **as long as anything refers to it**: a name in your function, or a node of the graph.",
    about=(
        "Without gradients, a result is freed as soon as its name is used again or deleted, or the function ends. A "
        "keeps three results that nobody reads any more; B never has more than one behind it. With gradients, the "
        "graph refers to them too, because backward needs them: deleting the names frees nothing then. What helps "
        "there is `no_grad()` where nothing is learnt, and checkpoints where something is. Ask which it is: `Memory` "
        "names what keeps each buffer, and how much of it only through the graph."
    ),
    sources=(Source("P", "Delete Intermediate Variables", "use one name again and again, and memory is freed"),),
    parameters=(
        Size("n", 4096, 1, 16_384, "the number of samples"),
        Choice("weights", "frozen", ("frozen", "trained"), "whether the weights want gradients"),
    ),
    inputs=inputs,
    slow=slow,
    fast=fast,
    also=(Way("ask what keeps them", asked, words="Each name, and the bytes that would go with it."),),
    claims=(Claim("peak", times=1.5), Claim("kept", fast=0, slow=0)),
    limits=(
        Limit({"weights": "trained"}, "no difference", "The graph keeps what `tanh` gave, whatever the names are."),
    ),
    question=Question(
        "The weights are frozen, so nothing is recorded. How much of its peak could A save by using one name?",
        ("nothing", "a little", "a third of it or more"),
        saved,
        tempting="nothing",
        refutation="Python frees a buffer at once when its last name goes; A still has `h1` and `h2` when it ends.",
    ),
    slips=(
        Slip(
            "P",
            guide,
            {"kept": 6, "equal": True},
            "It shows this for a model that is trained. There the nodes keep every result, and new names free nothing.",
        ),
    ),
    explain="When does the buffer of `h1` go, in A and in B?",
    symptoms=("out of memory", "deleting variables frees nothing"),
    picture=Picture("MemoryRiver", dict),
    elsewhere=(
        Elsewhere(
            "PyTorch 2.13",
            "2026-11",
            "with torch.no_grad():\n    x = layers[0](x)\n    x = x.tanh()",
        ),
    ),
    devices=("cpu", "sim", "cuda"),
)
