"""Keep the workers from one epoch to the next."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import tinygrad_edu as tg
from tinygrad_edu.tips import Choice, Claim, Elsewhere, Limit, Number, Picture, Question, Size, Source, Tip
from tinygrad_edu.tips.loads import KINDS, labels_of, samples
from tinygrad_edu.tips.rewriting import loading
from tinygrad_edu.tips.signs import Seen, Sign
from tinygrad_edu.utils.data import DataLoader


def inputs(generator: tg.Generator, epochs: int, workers: int, kind: str) -> dict[str, Any]:
    return {"data": samples(32, kind), "epochs": epochs, "workers": workers}


def slow(data: Any, epochs: int, workers: int) -> list[int]:
    loader = DataLoader(data, 8, num_workers=workers)
    return [label for _ in range(epochs) for label in labels_of(loader)]


def fast(data: Any, epochs: int, workers: int) -> list[int]:
    loader = DataLoader(data, 8, num_workers=workers, persistent_workers=True)
    return [label for _ in range(epochs) for label in labels_of(loader)]


def applies(seen: Seen) -> Iterator[Sign]:
    for loop in seen.passes_by_line():
        passes = [one for one in loop if one.workers and one.starts]
        lost = sum(max(ready - begun for begun, ready in one.starts.values()) for one in passes[1:])
        if len(passes) > 1 and lost > 0.02:
            yield Sign(passes[-1].line, f"workers were started for each of {len(passes)} passes", lost)


def without() -> Any:
    return loading(lambda loader: loader.num_workers > 0, persistent_workers=True)


TIP = Tip(
    slug="persistent-workers",
    title="Keep the workers from one epoch to the next",
    theme="data",
    why="Each pass over the data **starts its workers anew**: a process, the data set, and the first batches.",
    about=(
        "When a pass ends, a loader ends its workers, and the next pass starts others. A start takes some hundredths "
        "of a second for a copy of a process that is there, and seconds where each imports everything again, as on "
        "Windows and macOS; the data set is sent again as well. With `persistent_workers=True` the same ones go on. "
        "The price: they keep their memory between the passes, and their copy of the data set, so that what is changed "
        "in the data set later does not reach them. Long epochs hardly notice a start; short ones, and those of a "
        "validation set, consist of little else."
    ),
    sources=(Source("P", "Quick Wins", "persistent_workers=True keeps workers alive"),),
    parameters=(
        Size("epochs", 3, 1, 8, "passes over the data"),
        Size("workers", 2, 1, 4, "how many read ahead"),
        Choice("kind", "waits", KINDS, "what takes the millisecond of a sample"),
    ),
    inputs=inputs,
    slow=slow,
    fast=fast,
    claims=(Claim("processes", slow=6, fast=2), Claim("time")),
    limits=(Limit({"epochs": 1}, "no difference", "In a single pass they are started once in any case."),),
    question=Question(
        "Three epochs with two workers. How many processes does A start?",
        Number(0, 12, "processes"),
        lambda result: float(result.slow["processes"]),
        tempting=2,
        refutation="At the end of a pass its workers are ended, so each of the three starts two.",
    ),
    explain="Which epochs gain most: those of a large training set, or those of a small validation set?",
    symptoms=("the first step of each epoch takes long", "my training loop waits for data"),
    picture=Picture("LoaderGantt", dict),
    elsewhere=(
        Elsewhere(
            "PyTorch 2.13",
            "2026-11",
            "from torch.utils.data import DataLoader\n"
            "loader = DataLoader(torch.arange(8), 2, num_workers=1, persistent_workers=True)\nx = loader.dataset[0]",
        ),
    ),
    applies=applies,
    without=without,
)
