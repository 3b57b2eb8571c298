"""Take the smallest model that is as accurate."""

from __future__ import annotations

from typing import Any

import tinygrad_edu as tg
from tinygrad_edu import Tensor, data, nn, optim
from tinygrad_edu.nn import functional as F
from tinygrad_edu.tips import Aside, Claim, Elsewhere, Fact, Limit, Picture, Question, Result, Size, Source, Tip
from tinygrad_edu.tips.facts import declare
from tinygrad_edu.tips.outcomes import FREE
from tinygrad_edu.tips.ways import log

SHARES = "about a half", "about a tenth", "less than a fiftieth"
LARGE = 512
declare(Fact("model size", "numbers trained", "count", "parameters of the model"))
declare(Fact("right", "right on new digits", "", "the share that it names, of digits it never saw"))


def inputs(generator: tg.Generator, small: int, steps: int) -> dict[str, Any]:
    tg.manual_seed(seed := int(tg.randint(0, 1000, (1,), generator=generator).item()))
    return {"digits": data.digits().split(test=0.3, seed=seed), "small": small, "steps": steps}


def torch_inputs(generator: Any, small: int, steps: int) -> dict[str, Any]:
    import torch

    torch.manual_seed(seed := int(torch.randint(0, 1000, (1,), generator=generator).item()))
    parts = data.digits().split(test=0.3, seed=seed)
    return {"digits": [torch.from_numpy(part.numpy().copy()) for part in parts], "small": small, "steps": steps}


def slow(digits: Any, small: int, steps: int) -> Any:
    model = nn.Sequential(nn.Linear(64, LARGE), nn.ReLU(), nn.Linear(LARGE, 10))
    return trained(model, digits, steps)


def fast(digits: Any, small: int, steps: int) -> Any:
    model = nn.Sequential(nn.Linear(64, small), nn.ReLU(), nn.Linear(small, 10))
    return trained(model, digits, steps)


def trained(model: Any, digits: tuple[Tensor, ...], steps: int) -> Any:
    x, y, new_x, new_y = digits
    optimizer = optim.Adam(model.parameters(), lr=0.01)
    for _ in range(steps):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        log(loss=loss.item())
    with tg.no_grad():
        right = (model(new_x).argmax(1) == new_y).float().mean().item()
    return Aside((sum(p.numel() for p in model.parameters()), right))


def share(result: Result) -> str:
    found = result.fast["model size"] / result.slow["model size"]
    return SHARES[0 if found > 0.3 else 1 if found > 0.02 else 2]


TIP = Tip(
    slug="model-size",
    title="Take the smallest model that is as accurate",
    theme="model",
    why="Every parameter is **multiplied, kept and updated in each step**, whether the data need it or not.",
    about=(
        "A model much larger than the data need takes more time and memory in every step and for every answer, and is "
        "no more accurate: it only learns the training data by heart sooner. Begin small, and double the width until "
        "the accuracy on data that were held back no longer rises by more than it varies from seed to seed. That "
        "spread is what decides: one run says nothing of half a percent. Too small a model does not even fit the data "
        "that it trains on, so its training loss stays high. With more data, the right size grows."
    ),
    sources=(
        Source("R", "Model Architecture", "choose a size that fits the data"),
        Source("P", "Best Practices Checklist", "use efficient architectures"),
    ),
    parameters=(Size("small", 48, 1, 512, "width of B; A's is 512"), Size("steps", 60, 20, 100, "steps of training")),
    inputs=inputs,
    slow=slow,
    fast=fast,
    outcomes={"slow": FREE, "fast": FREE},
    reads={"model size": lambda found: found.value[0], "right": lambda found: found.value[1]},
    seeds=3,
    claims=(Claim("model size", times=4), Claim("right", same=True, within=0.03), Claim("time")),
    limits=(
        Limit({"small": 1}, "false here", "One number between input and output cannot tell ten digits apart."),
        Limit({"small": 512}, "no difference", "Both are the same model."),
    ),
    question=Question(
        "A has 512 hidden numbers. B is as accurate, within 3 %. How many parameters has B, compared with A?",
        SHARES,
        share,
        tempting="about a half",
        refutation="1,797 small images of digits do not need more: see how the accuracy stays as you double the width.",
    ),
    explain="How would you know that a model is too small, and not just trained for too few steps?",
    symptoms=("training is too slow", "my model is right on old data and wrong on new ones"),
    picture=Picture("TimingRace", dict),
    elsewhere=(
        Elsewhere(
            "PyTorch 2.13",
            "2026-11",
            "model = nn.Sequential(nn.Linear(64, 48), nn.ReLU(), nn.Linear(48, 10))\n"
            "size = sum(p.numel() for p in model.parameters())\n"
            "answer = model(torch.rand(32, 64)).argmax(1)",
        ),
    ),
    torch={"inputs": torch_inputs},
)
