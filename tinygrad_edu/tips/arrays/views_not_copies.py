"""Try a view before you move any bytes."""

from __future__ import annotations

from typing import Any

import tinygrad_edu as tg
from tinygrad_edu import Tensor
from tinygrad_edu.tips import Choice, Claim, Elsewhere, Limit, Picture, Question, Result, Size, Slip, Source, Tip


def inputs(generator: tg.Generator, side: int, across: str, keep: int) -> dict[str, Any]:
    width = side * (8 if across == "8" else 1)
    return {"image": tg.rand(8 * side, width, generator=generator), "side": side, "keep": keep}


def slow(image: Tensor, side: int, keep: int) -> list[Tensor]:
    grid = image.view(8, side, -1, side)
    grid = grid.transpose(1, 2)[:keep]
    return list(grid.reshape(-1, side, side))


def fast(image: Tensor, side: int, keep: int) -> list[Tensor]:
    grid = image.view(8, side, -1, side)
    grid = grid.transpose(1, 2)[:keep]
    return [t for row in grid for t in row]


def guide(image: Tensor, side: int, keep: int) -> list[Tensor]:
    grid = image.reshape(8, side, -1, side).detach()
    return [tile for row in grid.transpose(1, 2)[:keep] for tile in row]


def new_bytes(result: Result) -> str:
    return "as many as the image has" if result.slow["allocated"] else "none"


def picture() -> dict[str, Any]:
    image = tg.arange(12.0).reshape(4, 3)
    grid = image.view(2, 2, 3).transpose(1, 2)  # of tiles that are one pixel wide
    return {"image": image, "A: tiles": grid.reshape(-1, 2), "B: tile": grid[0, 1]}


TIP = Tip(
    slug="views-not-copies",
    title="Try a view before you move any bytes",
    theme="arrays",
    why="A view is **shape and strides** over bytes that stay where they are; a copy reads and writes each of them.",
    about=(
        "Slices, `transpose` and `view` only describe the same bytes in another way. `reshape` does so too if it can, "
        "and copies silently if it cannot: two axes become one only if a single stride leads through both. Here one "
        "stride goes to the tile on the right and another to the tile below, and no single one leads through them all. "
        "B keeps both axes and walks over both. If you rely on a view, write `view`: it raises an error instead."
    ),
    sources=(
        Source("R", "Use Views Instead of Copies", "use view(), not reshape().detach(), which it says is a copy"),
        Source(
            "G",
            "Make Use of Views but Avoid Involving them in In-Place Operations",
            "views are efficient to create, as they do not involve copying any memory",
        ),
    ),
    parameters=(
        Size("side", 128, 4, 256, "the pixels along each side of a tile"),
        Choice("across", "8", ("8", "1"), "how many tiles are side by side in the image"),
        Size("keep", 8, 1, 8, "how many of the 8 rows of tiles are wanted"),
    ),
    inputs=inputs,
    slow=slow,
    fast=fast,
    claims=(
        Claim("allocated", fast=0),
        Claim("shares", fast=True, slow=False),
        Claim("held", no_more=True),
        Claim("time"),
    ),
    limits=(
        Limit({"keep": 2}, "false here", "A view of a part keeps the whole buffer alive; a copy would let it go."),
        Limit({"across": "1"}, "no difference", "These tiles follow each other in memory, so `reshape` gives a view."),
    ),
    slips=(
        Slip(
            "R",
            guide,
            {"allocated": 0, "shares": True, "equal": True},
            "The guide marks `reshape(…).detach()` as a copy, but it copies nothing: `reshape` gives a view of a "
            "tensor that is stored in order, and `detach` shares memory. A `reshape` after a `transpose` does copy.",
        ),
    ),
    question=Question(
        "A cuts the image into tiles and makes one list of them with `reshape`. How many new bytes does that take?",
        ("none", "as many as the image has"),
        new_bytes,
        tempting="none",
        refutation="`reshape` gives a view only if strides can describe the new shape; otherwise it copies everything.",
    ),
    explain="Both ways start from the same `grid`, which is a view. What does A ask for that strides cannot describe?",
    symptoms=("out of memory", "my loop is slow", "slower after a transpose"),
    picture=Picture("BufferMap", picture),
    elsewhere=(
        Elsewhere("PyTorch 2.13", "2026-11", "tile = image.view(8, side, -1, side)[0, :, 1]   # a view"),
        Elsewhere("tch-rs 0.26", "2026-11", "let tile = image.view([8, side, -1, side]).select(2, 1).get(0);"),
        Elsewhere("MyGrad 2.5", "2026-11", "tile = image.reshape(8, side, -1, side)[0, :, 1]   # a view"),
    ),
    devices=("cpu", "sim", "cuda"),
)
