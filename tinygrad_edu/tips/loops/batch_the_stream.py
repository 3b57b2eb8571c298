"""Answer requests in batches, where a little waiting does no harm."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import tinygrad_edu as tg
from tinygrad_edu import Tensor, nn
from tinygrad_edu.tips import Aside, Claim, Elsewhere, Fact, Limit, Number, Picture, Question, Size, Source, Tip, Way
from tinygrad_edu.tips.facts import SIMULATED, declare
from tinygrad_edu.tips.outcomes import DIFFERS
from tinygrad_edu.tips.signs import PRODUCTS, Seen, Sign, one_row

COUNT = 100
declare(
    Fact(
        "answers a second",
        "answers/s, simulated",
        "count",
        "in a second of work: without the time in which nothing comes",
        SIMULATED,
    )
)
declare(Fact("wait", "wait, simulated", "seconds", "from a request's coming, on average", SIMULATED))


def inputs(generator: tg.Generator, size: int, gap: int, device: str) -> dict[str, Any]:
    tg.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 10)).to(device)
    requests = [tg.rand(64, generator=generator) for _ in range(COUNT)]
    return {"model": model, "requests": requests, "size": size, "gap": gap, "device": device}


def slow(model: Any, requests: list[Tensor], size: int, gap: int, device: str) -> Any:
    return serve(model, [[request] for request in requests], gap, device)


def fast(model: Any, requests: list[Tensor], size: int, gap: int, device: str) -> Any:
    starts = range(0, len(requests), size)
    batches = [requests[i : i + size] for i in starts]  # the last one is what is left
    return serve(model, batches, gap, device)


def without_the_rest(model: Any, requests: list[Tensor], size: int, gap: int, device: str) -> Any:
    starts = range(0, len(requests) - size + 1, size)
    batches = [requests[i : i + size] for i in starts]
    return serve(model, batches, gap, device)


def serve(model: Any, batches: list[list[Tensor]], gap: int, device: str) -> Any:
    begin, came, worked, waits, answers = tg.sim.now(), 0, 0, 0, []
    for batch in batches:
        came += gap * 1000 * len(batch)  # virtual nanoseconds until the last request of the batch
        if (left := begin + came - tg.sim.now()) > 0:
            tg.sim.host_work(left / 1e6, "nothing comes")
        start = tg.sim.now()
        with tg.no_grad():
            answers.append(model(tg.stack(batch).to(device)).cpu())
        worked += tg.sim.now() - start
        waits += sum(tg.sim.now() - begin - came + gap * 1000 * i for i in range(len(batch)))
    return tg.cat(answers), Aside((COUNT / worked * 1e9, waits / COUNT / 1e9))


def applies(seen: Seen) -> Iterator[Sign]:
    acted = sum(seen.reads.values())  # who reads each answer may make the next request of it
    for place in seen.at(*PRODUCTS):
        alone = one_row(place) and place.inference == place.count and not place.came_from(0, "getitem")
        if place.count >= max(32, acted + 1) and alone and not seen.steps and not seen.fed_by_the_program(place):
            told = f"{place.op} answered {place.count} times for one row"
            yield Sign(place.line, told, seen.seconds_at(place.line))


TIP = Tip(
    slug="batch-the-stream",
    title="Answer requests in batches, where a little waiting does no harm",
    theme="loops",
    why="A batch is **started and moved once**, and a device does many rows in the time of one.",
    about=(
        "Requests come one after the other. To answer each by itself costs a copy there, some launches and a copy "
        "back, for one row of work. Collect some, and answer them together: many more are answered in a second of "
        "work. The price is paid by the first of a batch, who waits for the last. So there are two limits, a size and "
        "a time: a batch goes when it is full, or when its first request has waited long enough. `data.Batcher` does "
        "that. What is left at the end is a batch, too, and easily forgotten. Where requests come faster than they "
        "are answered, batches make every wait shorter, because without them the queue only grows."
    ),
    sources=(Source("R", "Batch Processing", "collect a batch, answer it, and do not forget the rest"),),
    parameters=(
        Size("size", 16, 1, 64, "requests in a batch"),
        Size("gap", 200, 10, 1000, "microseconds from one request to the next"),
    ),
    inputs=inputs,
    slow=slow,
    fast=fast,
    also=(Way("the rest forgotten", without_the_rest, DIFFERS, words="Four of 100 requests never get an answer."),),
    reads={"answers a second": lambda found: round(found[1].value[0]), "wait": lambda found: found[1].value[1]},
    claims=(
        Claim("launches", times=5),
        Claim("answers a second", price=True, times=5),
        Claim("wait", price=True, times=5),
    ),
    limits=(
        Limit({"size": 1}, "no difference", "A batch of one is a request by itself."),
        Limit({"gap": 10}, "false here", "Requests come faster than A answers: in its queue they wait longest."),
    ),
    question=Question(
        "A request comes every 200 µs. With batches of 16, how long does one wait for its answer, on average?",
        Number(0, 20, "ms", within=0.2),
        lambda result: result.fast["wait"] * 1e3,
        tempting=0.2,
        refutation="The first of a batch waits for 15 others, the last for none: 7.5 gaps on average, and the work.",
    ),
    explain="Which of the two would you set for a search box, and which for a nightly job?",
    symptoms=("inference is too slow", "the processor or GPU is hardly busy"),
    picture=Picture("QueueTimeline", dict),
    elsewhere=(Elsewhere("PyTorch 2.13", "2026-11", "batch = torch.stack([torch.ones(3), torch.zeros(3)])"),),
    devices=("sim",),
    torch=None,
    differs_in_torch="Requests, waits and times are simulated here; the same holds on a GPU.",
    tolerance=1e-4,
    applies=applies,
)
