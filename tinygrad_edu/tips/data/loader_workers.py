"""Let workers read while the loop trains."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import tinygrad_edu as tg
from tinygrad_edu.tips import Choice, Claim, Elsewhere, Limit, Number, Picture, Question, Size, Slip, Source, Tip, Way
from tinygrad_edu.tips.loads import KINDS, labels_of, samples
from tinygrad_edu.tips.rewriting import loading
from tinygrad_edu.tips.signs import Seen, Sign
from tinygrad_edu.utils.data import DataLoader


def inputs(generator: tg.Generator, count: int, workers: int, kind: str) -> dict[str, Any]:
    return {"data": samples(count, kind, 4), "workers": workers}


def slow(data: Any, workers: int) -> list[int]:
    return labels_of(DataLoader(data, 8))


def fast(data: Any, workers: int) -> list[int]:
    return labels_of(DataLoader(data, 8, num_workers=workers))


def threads(data: Any, workers: int) -> list[int]:
    return labels_of(DataLoader(data, 8, num_workers=workers, worker="thread"))


def threads_in_torch(data: Any, workers: int) -> list[int]:
    with ThreadPoolExecutor(max(workers, 1)) as pool:
        return [int(label) for _, label in pool.map(data.__getitem__, range(len(data)))]


def guide(data: Any, workers: int) -> list[int]:
    return labels_of(DataLoader(data, 8, num_workers=workers, pin_memory=True, prefetch_factor=2))


def applies(seen: Seen) -> Iterator[Sign]:
    for passes in seen.passes_by_line():
        read = [one for one in passes if not one.workers and one.count >= 4]
        waited, span = sum(one.waited for one in read), sum(one.span for one in read)
        if waited > 0.05 and waited > 0.3 * span:
            count = sum(one.count for one in read)
            yield Sign(read[0].line, f"the loop waited for {waited / span:.0%} of its time for {count} batches", waited)


def without() -> Any:
    return loading(lambda loader: not loader.num_workers, num_workers=4, worker="thread", prefetch_factor=2)


TIP = Tip(
    slug="loader-workers",
    title="Let workers read while the loop trains",
    theme="data",
    why="A loop that reads by itself **trains only between two reads**; workers read during the training.",
    about=(
        "With `num_workers=2` two processes read batches ahead, each with a copy of the data set. They cost memory and "
        "a moment to start, so a short loop over quick samples is slower with them. Where reading waits, for a disk or "
        "a network, more workers than cores help; where it computes, the cores are the limit. Threads start at once "
        "and share the data set, but Python's lock lets only one of them run Python code at a time: they help where "
        "reading waits, or computes in code that lets go of the lock, as NumPy and decoders of pictures do. Set *kind* "
        "to see all three."
    ),
    sources=(Source("P", "Use Multiple Workers", "num_workers=4 reads with four cores"),),
    parameters=(
        Size("count", 64, 8, 1024, "samples in the data set"),
        Size("workers", 4, 0, 8, "how many read ahead"),
        Choice("kind", "waits", KINDS, "what takes the four milliseconds of a sample"),
    ),
    inputs=inputs,
    slow=slow,
    fast=fast,
    also=(Way("threads", threads, words="With kind=Python they take turns: compare its time with that of B."),),
    slips=(Slip("P", guide, {"processes": 4, "equal": True}, "Four workers are right for four cores; count yours."),),
    claims=(
        Claim("processes", price=True),
        Claim("threads", ways=("slow", "threads"), price=True),
        Claim("time"),
        Claim("time", ways=("slow", "threads")),
    ),
    limits=(Limit({"workers": 0}, "no difference", "Without workers the loop reads by itself, as in A."),),
    question=Question(
        "Four workers read 8 batches. How many processes are started?",
        Number(0, 64, "processes"),
        lambda result: float(result.fast["processes"]),
        tempting=8,
        refutation="A worker reads one batch after the other. It is started once in a pass over the data set.",
    ),
    explain="Why can eight workers on two cores be faster than two, and when can they not?",
    symptoms=("the processor or GPU is hardly busy", "my training loop waits for data"),
    picture=Picture("LoaderGantt", dict),
    elsewhere=(
        Elsewhere(
            "PyTorch 2.13",
            "2026-11",
            "from torch.utils.data import DataLoader\nloader = DataLoader(torch.arange(8), 2, num_workers=2)\n"
            "x = loader.dataset[0]",
        ),
        Elsewhere("Lux 1.0", "2026-11", "loader = DataLoader(data; batchsize=32, parallel=true)  # MLUtils, threads"),
    ),
    torch={"threads": threads_in_torch},
    applies=applies,
    without=without,
)
