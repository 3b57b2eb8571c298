"""Let the learning rate rise at first, and fall towards the end."""

from __future__ import annotations

from typing import Any

import tinygrad_edu as tg
from tinygrad_edu import Tensor, nn, optim
from tinygrad_edu.optim.lr_scheduler import CosineAnnealingLR, LambdaLR, LinearLR, SequentialLR
from tinygrad_edu.tips import Aside, Claim, Elsewhere, Fact, Limit, Picture, Question, Result, Size, Slip, Source, Tip
from tinygrad_edu.tips.facts import declare
from tinygrad_edu.tips.outcomes import FREE
from tinygrad_edu.tips.ways import log

declare(Fact("last loss", "loss at the end", "", "on the whole data set, after the last step"))
declare(Fact("first move", "length of the first step", "", "how far all weights together moved"))


def inputs(generator: tg.Generator, steps: int, rate: int) -> dict[str, Any]:
    tg.manual_seed(int(tg.randint(0, 1000, (1,), generator=generator).item()))
    model = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 1))
    x = tg.randn(512, 8, generator=generator)
    y = (x[:, :1] * x[:, 1:2]).sin() + 0.1 * tg.randn(512, 1, generator=generator)
    batches = [(x[i : i + 16], y[i : i + 16]) for i in range(0, 512, 16)]
    return {"model": model, "batches": batches, "x": x, "y": y, "steps": steps, "rate": rate / 1000}


def slow(model: Any, batches: Any, x: Tensor, y: Tensor, steps: int, rate: float) -> Any:
    return trained(model, optim.Adam(model.parameters(), lr=rate), None, batches, x, y, steps)


def fast(model: Any, batches: Any, x: Tensor, y: Tensor, steps: int, rate: float) -> Any:
    optimizer = optim.Adam(model.parameters(), lr=rate)
    rise = LinearLR(optimizer, start_factor=0.1, total_iters=steps // 10)
    fall = CosineAnnealingLR(optimizer, steps - steps // 10)
    schedule = SequentialLR(optimizer, [rise, fall], [steps // 10])
    return trained(model, optimizer, schedule, batches, x, y, steps)


def guide(model: Any, batches: Any, x: Tensor, y: Tensor, steps: int, rate: float) -> Any:
    optimizer = optim.Adam(model.parameters(), lr=rate)
    schedule = LambdaLR(optimizer, lambda step: step / (steps // 10))  # 0 in the first step
    return trained(model, optimizer, schedule, batches, x, y, 1)


def trained(model: Any, optimizer: Any, schedule: Any, batches: Any, x: Tensor, y: Tensor, steps: int) -> Any:
    first, moved = [p.detach().clone() for p in model.parameters()], 0.0
    for step in range(steps):
        data, target = batches[step % len(batches)]
        optimizer.zero_grad()
        (model(data) - target).square().mean().backward()
        optimizer.step()
        log(rate=optimizer.param_groups[0]["lr"])
        if schedule is not None:
            schedule.step()
        if step == 0:
            pairs = zip(model.parameters(), first, strict=True)
            moved = sum((p - q).square().sum().item() for p, q in pairs) ** 0.5
    return Aside(((model(x) - y).square().mean().item(), moved))


def lower(result: Result) -> str:
    return "B's" if result.fast["last loss"] < result.slow["last loss"] else "A's"


def picture() -> dict[str, Any]:
    return {"A, the rate over time": tg.ones(7), "B, after its rise": tg.linspace(0, tg.pi, 7).cos() / 2 + 0.5}


TIP = Tip(
    slug="warmup-cosine",
    title="Let the learning rate rise at first, and fall towards the end",
    theme="loops",
    why="Batches differ, so a rate that stays large keeps the weights **jumping around** the place they look for.",
    about=(
        "The gradient of a batch is a guess at that of all data. With a large rate training gets ahead, and in the end "
        "each batch throws the weights as far as ever; with a falling rate they settle. The cosine falls slowly, then "
        "quickly, then slowly. At the very beginning the optimiser's averages rest on few gradients, and the first "
        "ones are steep: so the rate begins small and rises for some steps. It must not begin at 0, or the first step "
        "does nothing. The schedule needs the number of steps in advance. Over few steps a constant rate does as well."
    ),
    sources=(Source("R", "Learning Rate Scheduling", "warm-up, then a cosine; in its first step the rate is 0"),),
    parameters=(
        Size("steps", 600, 20, 1000, "steps of training"),
        Size("rate", 50, 1, 200, "the largest rate, in thousandths"),
    ),
    inputs=inputs,
    slow=slow,
    fast=fast,
    outcomes={"slow": FREE, "fast": FREE},
    reads={"last loss": lambda found: found.value[0], "first move": lambda found: found.value[1]},
    seeds=3,
    claims=(Claim("last loss", times=1.3), Claim("first move", times=5)),
    limits=(Limit({"rate": 1}, "false here", "With so small a rate there is no jumping: falling only slows it down."),),
    slips=(Slip("R", guide, {"first move": 0.0}, "its rate is 0 in the first step, which moves nothing."),),
    question=Question(
        "Both take 600 steps, with the same largest rate. Whose loss is lower in the end?",
        ("A's", "B's"),
        lower,
        tempting="A's",
        refutation="A's steps are larger, and at the end they lead away from the best place as often as towards it.",
    ),
    explain="Why does the falling rate help only near the end?",
    symptoms=("my loss goes up and down and does not fall", "my loss suddenly jumps, or becomes nan"),
    picture=Picture("BufferMap", picture),
    elsewhere=(
        Elsewhere(
            "PyTorch 2.13",
            "2026-11",
            "optimizer = torch.optim.Adam(model.parameters())\n"
            "schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, total_steps=steps)  # up, a cosine down\n"
            "loss = model(x).square().mean()\nloss.backward()\noptimizer.step()\nschedule.step()  # after each batch",
        ),
    ),
)
