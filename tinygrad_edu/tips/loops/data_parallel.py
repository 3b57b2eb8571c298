"""Let workers share each batch, and average their gradients before the step."""

from __future__ import annotations

from typing import Any

import tinygrad_edu as tg
from tinygrad_edu import Tensor, nn, optim
from tinygrad_edu import distributed as dist
from tinygrad_edu.nn import functional as F
from tinygrad_edu.tips import Aside, Claim, Elsewhere, Fact, Limit, Number, Picture, Question, Size, Source, Tip, Way
from tinygrad_edu.tips.facts import declare
from tinygrad_edu.tips.outcomes import DIFFERS

STEPS = 3
declare(Fact("shared", "gradients shared", "bytes", "of one worker: what it gives the others to be averaged"))
declare(Fact("apart", "models apart", "", "the largest difference between two workers' weights at the end"))


def inputs(generator: tg.Generator, rows: int, workers: int) -> dict[str, Any]:
    x = tg.randn(rows, 64, generator=generator)
    tg.manual_seed(0)
    state = network().state_dict()
    return {"state": state, "x": x, "y": x[:, :1] * x[:, 1:2], "workers": workers}


def network() -> Any:
    return nn.Sequential(nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))


def slow(state: Any, x: Tensor, y: Tensor, workers: int) -> Any:
    model = network()
    model.load_state_dict(state)
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    for _ in range(STEPS):
        optimizer.zero_grad()
        F.mse_loss(model(x), y).backward()
        optimizer.step()
    return weights(model), Aside((0, 0.0))


def fast(state: Any, x: Tensor, y: Tensor, workers: int) -> Any:
    return together(state, x, y, workers, before=True)


def guide(state: Any, x: Tensor, y: Tensor, workers: int) -> Any:
    return together(state, x, y, workers, before=False)


def together(state: Any, x: Tensor, y: Tensor, workers: int, before: bool) -> Any:
    def train() -> Any:
        inner, rank = network(), dist.get_rank()
        inner.load_state_dict(state)
        model = dist.DistributedDataParallel(inner)
        optimizer = optim.SGD(model.parameters(), lr=0.1)
        mine, wanted = x[rank::workers], y[rank::workers]
        for _ in range(STEPS):
            optimizer.zero_grad()
            loss = F.mse_loss(model(mine), wanted) * dist.share(len(mine))
            if before:
                loss.backward()  # averages the gradients, too
                optimizer.step()
            else:
                with model.no_sync():
                    loss.backward()
                optimizer.step()  # with the worker's own gradients
                for p in inner.parameters():
                    dist.all_reduce(p.grad, dist.ReduceOp.AVG)  # too late
        return weights(inner), model.reduced

    found = dist.run(train, workers)
    first = found[0][0]
    apart = max(abs(a - b).max().item() for other, _ in found for a, b in zip(first, other, strict=True))
    return first, Aside((found[0][1], apart))


def weights(model: Any) -> list[Tensor]:
    return [p.detach() for p in model.parameters()]


TIP = Tip(
    slug="data-parallel",
    title="Let workers share each batch, and average their gradients before the step",
    theme="loops",
    why="The gradient of a batch is the **mean of its parts' gradients**, so parts can be computed at once.",
    about=(
        "Each worker has a copy of the model and a part of the batch. It computes the gradients of its part; then all "
        "exchange them, and everyone takes the same step with the average. So the copies stay equal, to the last bit, "
        "and training is that of one large batch, also if one part is larger and is weighed by `share`. Who steps "
        "before the exchange has several models, each trained on its own data. What is exchanged is as large as the "
        "model, whatever the batch: small batches of large models wait for it. `DistributedDataParallel` sends the "
        "last layers' gradients while backward computes the others."
    ),
    sources=(Source("R", "Multi-GPU Training", "its workers step before they reduce, so the models drift apart"),),
    parameters=(Size("rows", 512, 8, 8192, "rows of the batch"), Size("workers", 2, 1, 8, "workers: threads")),
    inputs=inputs,
    slow=slow,
    fast=fast,
    also=(Way("step first", guide, DIFFERS, words="The guide's order: each worker ends with another model."),),
    reads={"shared": lambda found: found[1].value[0], "apart": lambda found: found[1].value[1]},
    claims=(
        Claim("apart", fast=0.0, ways=("step first", "fast")),
        Claim("shared", slow=0, fast=STEPS * 4 * 4225, price=True),
        Claim("threads", price=True),
    ),
    limits=(Limit({"workers": 1}, "no difference", "One worker has the whole batch, and nobody to share with."),),
    question=Question(
        "The model has 4,225 parameters in float32. How many bytes of gradients does a worker give away in 3 steps?",
        Number(0, 10_000_000, "bytes"),
        lambda result: float(result.fast["shared"]),
        tempting=512 * 64 * 4,
        refutation="Gradients travel, not data: 4 bytes for each parameter in each step, however large the batch is.",
    ),
    explain="Why may the learning rate be larger with more workers, if each keeps the size of its own batch?",
    symptoms=("training is too slow",),
    picture=Picture("BufferMap", lambda: {"gradient of worker 0": tg.ones(4), "of worker 1": tg.ones(4) * 3}),
    elsewhere=(
        Elsewhere(
            "PyTorch 2.13",
            "2026-11",
            'torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)\n'
            "model = nn.parallel.DistributedDataParallel(nn.Linear(64, 1))\n"
            "loss = F.mse_loss(model(x), y)\nloss.backward()  # leaves the average of all workers' gradients\n"
            "torch.distributed.destroy_process_group()",
        ),
    ),
    torch=None,
    differs_in_torch="Workers are processes there: torchrun starts them.",
    tolerance=1e-4,
)
