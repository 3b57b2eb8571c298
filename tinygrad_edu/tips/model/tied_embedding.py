"""Use the embedding's matrix twice."""

from __future__ import annotations

from typing import Any

import tinygrad_edu as tg
from tinygrad_edu import Tensor, nn
from tinygrad_edu.tips import (
    Aside,
    Claim,
    Elsewhere,
    Fact,
    Limit,
    Number,
    Picture,
    Question,
    Size,
    Source,
    Tip,
    declare,
)
from tinygrad_edu.tips.outcomes import FREE

declare(Fact("weights", "bytes of parameters", "bytes", "what the model's parameters take, each counted once"))
declare(Fact("uses", "gradients added", "count", "uses of the embedding's matrix that backward meets"))


def inputs(generator: tg.Generator, words: int, width: int, tied: int) -> dict[str, Any]:
    tg.manual_seed(0)
    embedding, head = nn.Embedding(words, width), nn.Linear(width, words, bias=False)
    if not tied:
        head.weight = embedding.weight  # so that B changes nothing
    text = tg.randint(0, words, (2, 12), generator=generator)
    return {"embedding": embedding, "head": head, "text": text}


def trained(embedding: Any, head: Any, text: Tensor) -> Any:
    def loss(hidden: Tensor) -> Tensor:
        return nn.functional.cross_entropy(head(hidden).flatten(0, 1), text[:, 1:].flatten())

    loss(embedding(text[:, :-1])).backward()
    whole, embedding.weight.grad = embedding.weight.grad, None
    loss(embedding(text[:, :-1]).detach()).backward()  # the part that comes from the scores alone
    uses = 1 if embedding.weight.grad is None else 2
    once = {id(p): p for layer in (embedding, head) for p in layer.parameters()}
    return whole, Aside((sum(p.numel() * p.element_size() for p in once.values()), uses))


def slow(embedding: Any, head: Any, text: Tensor) -> Any:
    return trained(embedding, head, text)


def fast(embedding: Any, head: Any, text: Tensor) -> Any:
    head.weight = embedding.weight
    return trained(embedding, head, text)


def example() -> dict[str, Any]:
    rows = tg.arange(12, dtype="float32").reshape(4, 3)
    return {"embedding": rows, "head": rows, "apart": rows.clone()}


TIP = Tip(
    slug="tied-embedding",
    title="Use the embedding's matrix twice",
    theme="model",
    why="Words come in and go out as **rows of one matrix**: what a word means is the same on both sides.",
    about=(
        "A model of language has a row for each word in its embedding, and another one in its last layer, which gives "
        "each word a score. Both are as large, and in a small model they are most of it. `head.weight = "
        "embedding.weight` makes them one parameter under two names. In backward it gets the sum of two gradients: "
        "from the rows that were looked up, and from the scores of all words. `parameters()` gives it once, so the "
        "optimiser steps it once. Scores are then products with the embedding's rows; whether the model learns as well "
        "depends on the task. Sizes must agree: the last hidden layer is as wide as the embedding."
    ),
    sources=(Source("R", "Parameter Sharing", "share the matrix of embedding and output"),),
    parameters=(
        Size("words", 1000, 2, 10_000, "words in the vocabulary"),
        Size("width", 32, 1, 256, "numbers for each word"),
        Size("tied", 1, 0, 1, "0 if A shares the matrix already"),
    ),
    inputs=inputs,
    slow=slow,
    fast=fast,
    outcomes={"slow": FREE, "fast": FREE},
    reads={"weights": lambda value: value[1].value[0], "uses": lambda value: value[1].value[1]},
    claims=(Claim("weights", times=2), Claim("uses", slow=1, fast=2)),
    limits=(Limit({"tied": 0}, "no difference", "A shares the matrix as well."),),
    question=Question(
        "1,000 words, 32 numbers each, float32. How many bytes do the parameters of B take?",
        Number(0, 512_000, "bytes", within=0.01),
        lambda result: float(result.fast["weights"]),
        tempting=256_000,
        refutation="The two layers have one matrix of 1,000 × 32 numbers of 4 bytes: it is counted once.",
    ),
    explain="Why does the gradient of the shared matrix have numbers in every row, and that of A's embedding not?",
    symptoms=("my model is too large", "I run out of memory"),
    picture=Picture("BufferMap", example),
    elsewhere=(
        Elsewhere(
            "PyTorch 2.13",
            "2026-11",
            "embedding, head = torch.nn.Embedding(10, 4), torch.nn.Linear(4, 10, bias=False)\n"
            "head.weight = embedding.weight\ny = head(embedding(torch.tensor([1, 2])))",
        ),
    ),
)
