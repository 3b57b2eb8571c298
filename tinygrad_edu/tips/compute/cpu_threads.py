"""Share work among threads once, not twice."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

import tinygrad_edu as tg
from tinygrad_edu import Tensor
from tinygrad_edu.tips import Claim, Elsewhere, Limit, Number, Picture, Question, Size, Slip, Source, Tip, Way
from tinygrad_edu.tips.shares import shared


def inputs(generator: tg.Generator, n: int, parts: int, workers: int) -> dict[str, Any]:
    given = [tg.randn(n // 2, n, generator=generator) for _ in range(parts)]
    return {"parts": given, "weight": tg.randn(n, n, generator=generator), "workers": workers}


@contextmanager
def blas_threads(count: int) -> Iterator[None]:
    before = tg.get_num_threads()
    tg.set_num_threads(count)
    try:
        yield
    finally:
        tg.set_num_threads(before)


def slow(parts: list[Tensor], weight: Tensor, workers: int) -> list[Tensor]:
    with blas_threads(1):
        return [part @ weight for part in parts]


def fast(parts: list[Tensor], weight: Tensor, workers: int) -> list[Tensor]:
    with blas_threads(1):
        return shared(lambda part: part @ weight, parts, workers)


def threads_of_blas(parts: list[Tensor], weight: Tensor, workers: int) -> list[Tensor]:
    with blas_threads(workers):
        return [part @ weight for part in parts]


def both_at_once(parts: list[Tensor], weight: Tensor, workers: int) -> list[Tensor]:
    with blas_threads(workers):
        return shared(lambda part: part @ weight, parts, workers)


def with_a_lock(parts: list[Tensor], weight: Tensor, workers: int) -> list[Tensor]:
    lock = Lock()

    def forward(part: Tensor) -> Tensor:
        with lock:
            return part @ weight

    with blas_threads(1):
        return shared(forward, parts, workers)


TIP = Tip(
    slug="cpu-threads",
    title="Share work among threads once, not twice",
    theme="compute",
    why="Either threads over parts or threads inside a product keep all cores busy, and **both together get in line**.",
    about=(
        "A product runs in BLAS, which lets go of Python's lock, so other Python threads run meanwhile. B gives each "
        "thread a share of the parts, and BLAS one thread. C leaves it to BLAS to divide each product: that needs no "
        "code, but small products are not worth it. D does both: more threads than cores take turns, and push each "
        "other's numbers out of the caches. Work under a lock is done by one at a time, however many threads there are."
    ),
    sources=(Source("R", "CPU Optimization", "a pool of threads, with the model behind a mutex"),),
    parameters=(
        Size("n", 512, 16, 1024, "rows and columns of the weight"),
        Size("parts", 8, 1, 16, "parts of the work"),
        Size("workers", 2, 1, 8, "threads over the parts, or inside a product, or both"),
    ),
    inputs=inputs,
    slow=slow,
    fast=fast,
    also=(
        Way("threads of BLAS", threads_of_blas, words="They are inside each product; Python starts none."),
        Way("both at once", both_at_once, words="More threads than cores: compare its time with that of B."),
    ),
    slips=(Slip("R", with_a_lock, {"threads": 1, "equal": True}, "There are as many threads, and they work in turn."),),
    claims=(
        Claim("threads", price=True),
        Claim("threads", ways=("slow", "threads of BLAS"), same=True),
        Claim("time"),
        Claim("time", ways=("slow", "threads of BLAS")),
        Claim("time", ways=("both at once", "fast")),
    ),
    limits=(
        Limit({"parts": 1}, "no difference", "There is one part, so there is nothing to share."),
        Limit({"workers": 1}, "no difference", "This thread is the only worker, as in A."),
    ),
    question=Question(
        "Two workers share 8 parts, and this thread is one of them. How many threads does Python start in B?",
        Number(0, 16, "threads"),
        lambda result: float(result.fast["threads"]),
        tempting=8,
        refutation="A thread for each part would be more than there are cores: each worker takes a share of the parts.",
    ),
    explain="With two cores, why is D no faster than B, although it has more threads?",
    symptoms=("the processor or GPU is hardly busy", "my loop is slow"),
    picture=Picture("TimingRace", dict),
    elsewhere=(Elsewhere("PyTorch 2.13", "2026-11", "torch.set_num_threads(1)\ny = parts[0] @ weight"),),
    threads=None,
)
