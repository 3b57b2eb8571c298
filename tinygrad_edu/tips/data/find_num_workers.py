"""Find the number of workers by trying."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import tinygrad_edu as tg
from tinygrad_edu.tips import (
    Aside,
    Choice,
    Claim,
    Elsewhere,
    Fact,
    Limit,
    Number,
    Picture,
    Question,
    Shown,
    Size,
    Slip,
    Source,
    Tip,
    declare,
)
from tinygrad_edu.tips.loads import KINDS, labels_of, samples
from tinygrad_edu.tips.rewriting import loading
from tinygrad_edu.tips.signs import Seen, Sign
from tinygrad_edu.utils.data import DataLoader

declare(Fact("workers", "idle workers", "count", "workers that read no batch, at the most"))


def inputs(generator: tg.Generator, batches: int, guess: int, kind: str) -> dict[str, Any]:
    def rate(workers: int) -> float:
        loader = DataLoader(data, 8, num_workers=workers, persistent_workers=workers > 0)
        labels_of(loader)  # the first pass starts them
        start = time.perf_counter()
        return len(labels_of(loader)) / (time.perf_counter() - start)

    data = samples(8 * batches, kind)
    return {"rate": rate, "batches": batches, "guess": guess}


def table(found: dict[int, float], batches: int) -> Shown:
    rows = [f"{workers:>7}  {rate:>16,.0f}" for workers, rate in found.items()]
    idle = max(max(workers - batches, 0) for workers in found)
    return Shown("samples a second", "\n".join(["workers  samples a second", *rows]), {"idle": Aside(idle)})


def slow(rate: Any, batches: int, guess: int) -> Shown:
    return table({guess: rate(guess)}, batches)


def fast(rate: Any, batches: int, guess: int) -> Shown:
    tried = [workers for workers in (0, 1, 2, 4, 8) if workers <= batches]
    return table({workers: rate(workers) for workers in tried}, batches)


def guide(rate: Any, batches: int, guess: int) -> Shown:
    return table({workers: rate(workers) for workers in (0, 2, 4, 8)}, batches)


def applies(seen: Seen) -> Iterator[Sign]:
    for passes in seen.passes_by_line():
        read = [one for one in passes if one.workers and one.count >= 8]
        waited, span = sum(one.waited - one.opened for one in read), sum(one.span for one in read)
        if waited > 0.05 and waited > 0.3 * span:
            told = f"with {read[0].workers} workers the loop still waited for {waited / span:.0%} of its time"
            yield Sign(read[0].line, told, waited)


def without() -> Any:
    return loading(lambda loader: loader.num_workers > 0, num_workers=8)


TIP = Tip(
    slug="find-num-workers",
    title="Find the number of workers by trying",
    theme="data",
    why="The right number depends on **what reading waits for**, and only a trial knows that.",
    about=(
        "Reading that computes is limited by the cores; reading that waits is not, until the disk or the network is. "
        "Nobody can tell from outside, so try: a few passes with 0, 1, 2, 4 and 8 workers, and take the smallest "
        "number after which nothing is gained, because each worker has a copy of the data set. Start the clock after "
        "the workers have started, or a short trial is a trial of the start. More workers than there are batches have "
        "nothing to do: with in-order delivery, batch i goes to worker i modulo their number. Try again on another "
        "machine, and after each change of what reading does."
    ),
    sources=(Source("P", "Use Multiple Workers", "try 0, 2, 4 and 8, a hundred batches each"),),
    parameters=(
        Size("batches", 4, 1, 32, "batches of 8 samples"),
        Size("guess", 8, 0, 8, "how many workers A has"),
        Choice("kind", "waits", KINDS, "what takes the millisecond of a sample"),
    ),
    inputs=inputs,
    slow=slow,
    fast=fast,
    reads={"workers": lambda value: value["idle"].value},
    slips=(Slip("P", guide, {"workers": 4}, "Its clock also runs while workers start, and half of the 8 never read."),),
    claims=(Claim("workers", slow=4, fast=0),),
    limits=(Limit({"batches": 8}, "no difference", "With 8 batches each of 8 workers has something to read."),),
    question=Question(
        "There are 4 batches, and 8 workers. How many of the workers never read one?",
        Number(0, 8, "workers"),
        lambda result: float(result.slow["workers"]),
        tempting=0,
        refutation="A batch is read by one worker, as a whole. Samples are not shared out.",
    ),
    explain="From which number on does the table no longer rise, and why there?",
    symptoms=("my training loop waits for data", "I do not know which setting is best"),
    picture=Picture("LoaderGantt", dict),
    elsewhere=(
        Elsewhere(
            "PyTorch 2.13",
            "2026-11",
            "import time\nfrom torch.utils.data import DataLoader\nx = torch.arange(8)\ndef rate(workers):\n"
            "    loader = DataLoader(x, 2, num_workers=workers, persistent_workers=workers > 0)\n"
            "    list(loader)  # starts them\n    start = time.perf_counter()\n"
            "    return len(list(loader)) / (time.perf_counter() - start)\nrates = {0: rate(0)}",
        ),
    ),
    applies=applies,
    without=without,
)
