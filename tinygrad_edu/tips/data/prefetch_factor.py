"""Read far enough ahead for the slowest batch."""

from __future__ import annotations

import time
from typing import Any

import tinygrad_edu as tg
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
from tinygrad_edu.tips.loads import labels_of
from tinygrad_edu.utils.data import DataLoader

declare(Fact("ahead", "batches ahead", "count", "the most that were asked for and not yet taken"))


class Uneven:
    """Batches of which every fourth takes long to read."""

    def __init__(self, count: int, long: int) -> None:
        self.count, self.long = count, long

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> tuple[float, int]:
        time.sleep((self.long if index % 4 == 0 else 1) / 1000)
        return 0.0, index


def inputs(generator: tg.Generator, batches: int, long: int) -> dict[str, Any]:
    def train(loader: Any) -> tuple[list[int], Aside]:
        found, asked = [], 0
        for batch in loader:
            time.sleep(0.005)
            found += labels_of([batch])
        if seen := getattr(loader, "timeline", None):
            asked = max(sum(a.asked <= b.asked < a.taken for a in seen.batches) for b in seen.batches)
        return found, Aside(asked)

    return {"data": Uneven(batches, long), "train": train}


def slow(data: Any, train: Any) -> tuple[list[int], Aside]:
    return train(DataLoader(data, num_workers=1, prefetch_factor=1))


def fast(data: Any, train: Any) -> tuple[list[int], Aside]:
    return train(DataLoader(data, num_workers=1, prefetch_factor=4))


TIP = Tip(
    slug="prefetch-factor",
    title="Read far enough ahead for the slowest batch",
    theme="data",
    why="A queue of batches that lie ready **bridges a slow one**; it cannot make reading faster on the whole.",
    about=(
        "A worker is asked for so many batches in advance: `prefetch_factor` says how many, 2 by default. If all "
        "batches take equally long to read, one is enough. If some take longer, because a file is large or a disk is "
        "busy, the loop uses up what lies ready meanwhile, and stands still only if that is too little. Here every "
        "fourth batch takes 16 ms to read, the others one, and a step takes 5: on the whole reading is fast enough, "
        "and with four batches ahead nobody notices the slow one. The price is memory: all of them lie ready at the "
        "same time, for each worker."
    ),
    sources=(Source("P", "Use Multiple Workers", "prefetch_factor=2 reads two batches ahead for each worker"),),
    parameters=(
        Size("batches", 48, 1, 64, "how many batches there are"),
        Size("long", 16, 1, 32, "milliseconds that every fourth batch takes to read"),
    ),
    inputs=inputs,
    slow=slow,
    fast=fast,
    reads={"ahead": lambda value: value[1].value},
    claims=(Claim("ahead", slow=1, fast=4), Claim("time")),
    limits=(Limit({"batches": 1}, "no difference", "With one batch there is nothing to read ahead."),),
    question=Question(
        "One worker, prefetch_factor=4. How many batches may lie ready in memory at the same time?",
        Number(0, 32, "batches"),
        lambda result: float(result.fast["ahead"]),
        tempting=1,
        refutation="The worker does not wait until a batch is taken: it goes on with the next one that was asked for.",
    ),
    explain="Every batch takes 16 ms to read, and a step 5. What does a larger prefetch_factor change?",
    symptoms=("my training loop waits for data", "some steps take much longer than others"),
    picture=Picture("LoaderGantt", dict),
    elsewhere=(
        Elsewhere(
            "PyTorch 2.13",
            "2026-11",
            "from torch.utils.data import DataLoader\n"
            "loader = DataLoader(torch.arange(8), 2, num_workers=1, prefetch_factor=4)\nx = loader.dataset[0]",
        ),
    ),
    differs_in_torch="PyTorch keeps no timeline of its loaders; on the clock the same holds.",
)
