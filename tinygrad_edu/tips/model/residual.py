"""Let each block add to what it was given."""

from __future__ import annotations

from typing import Any

import tinygrad_edu as tg
from tinygrad_edu import Tensor, nn, optim
from tinygrad_edu.tips import Aside, Claim, Elsewhere, Fact, Limit, Picture, Question, Result, Size, Source, Tip
from tinygrad_edu.tips.facts import declare
from tinygrad_edu.tips.outcomes import FREE
from tinygrad_edu.tips.ways import log

SIZES = "about as large", "some times as large", "more than a hundred times as large"
declare(Fact("first", "first gradient", "", "norm of the gradient of its weight, before training"))
declare(Fact("loss", "loss after training", "", "the mean of the last five losses"))


def inputs(generator: tg.Generator, depth: int, steps: int) -> dict[str, Any]:
    tg.manual_seed(int(tg.randint(0, 1000, (1,), generator=generator).item()))
    blocks = [nn.Linear(16, 16) for _ in range(depth)]
    x = tg.randn(64, 16, generator=generator)
    return {"blocks": nn.ModuleList([*blocks, nn.Linear(16, 1)]), "x": x, "y": x[:, :1] * x[:, 1:2], "steps": steps}


def slow(blocks: Any, x: Tensor, y: Tensor, steps: int) -> Any:
    def forward(x: Tensor) -> Tensor:
        for block in blocks[:-1]:
            x = block(x).tanh()
        return blocks[-1](x)

    return trained(forward, blocks, x, y, steps)


def fast(blocks: Any, x: Tensor, y: Tensor, steps: int) -> Any:
    def forward(x: Tensor) -> Tensor:
        for block in blocks[:-1]:
            x = x + block(x).tanh()
        return blocks[-1](x)

    return trained(forward, blocks, x, y, steps)


def trained(forward: Any, blocks: Any, x: Tensor, y: Tensor, steps: int) -> Any:
    optimizer, losses, first = optim.Adam(blocks.parameters(), lr=0.003), [], 0.0
    for step in range(steps):
        loss = (forward(x) - y).square().mean()
        optimizer.zero_grad()
        loss.backward()
        first = first if step else blocks[0].weight.grad.norm().item()
        optimizer.step()
        log(loss=loss.item())
        losses.append(loss.item())
    return Aside((first, sum(losses[-5:]) / 5))


def larger(result: Result) -> str:
    times = result.fast["first"] / result.slow["first"]
    return SIZES[0 if times < 3 else 1 if times < 100 else 2]


def block(x: Tensor) -> Tensor:
    return (x + (x * 0.5).tanh()).sum()


TIP = Tip(
    slug="residual",
    title="Let each block add to what it was given",
    theme="model",
    why="Backward multiplies by the slope of **every layer on its way**; a sum has a second way, whose slope is 1.",
    about=(
        "Each layer with tanh makes the gradient that passes through it smaller, as a rule: after thirty of them, "
        "hardly anything arrives at the first, and it does not learn. A residual block gives `x + f(x)` in place of "
        "`f(x)`. In backward the gradient reaches x on two ways, and that of the sum leaves it as it is, however many "
        "blocks follow. Shapes in and out of a block must agree, or x needs a projection. Good initial weights and "
        "normalisation help as well; in a network of three layers it makes no difference. Look at the norm of each "
        "layer's gradient, and not at the loss alone."
    ),
    sources=(Source("R", "Model Architecture", "use residual connections in deep networks"),),
    parameters=(Size("depth", 30, 1, 64, "hidden layers"), Size("steps", 60, 5, 200, "steps")),
    inputs=inputs,
    slow=slow,
    fast=fast,
    outcomes={"slow": FREE, "fast": FREE},
    reads={"first": lambda value: value.value[0], "loss": lambda value: value.value[1]},
    seeds=3,
    claims=(Claim("first", price=True, times=100), Claim("loss", times=1.2)),
    limits=(Limit({"depth": 1}, "false here", "The gradient has one layer to pass: there is nothing to gain."),),
    question=Question(
        "30 layers. How large is the first layer's gradient in B, compared with A?",
        SIZES,
        larger,
        tempting="some times as large",
        refutation="What each layer takes away is a factor, and thirty factors are multiplied.",
    ),
    explain="Which layers of the plain stack do learn, and what do they learn from?",
    symptoms=("my loss does not fall", "my deep network is worse than a shallow one"),
    picture=Picture(
        "GraphStepper", lambda: dict.fromkeys(("slow", "fast"), block) | {"x": tg.ones(2).requires_grad_()}
    ),
    elsewhere=(
        Elsewhere(
            "PyTorch 2.13", "2026-11", "layer, x = torch.nn.Linear(4, 4), torch.ones(2, 4)\ny = x + layer(x).tanh()"
        ),
    ),
)
