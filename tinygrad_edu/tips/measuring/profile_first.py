"""Let a profiler say where the time goes."""

from __future__ import annotations

from typing import Any

import tinygrad_edu as tg
from tinygrad_edu import Tensor, nn
from tinygrad_edu.profiler import profile
from tinygrad_edu.tips import Choice, Elsewhere, Limit, Picture, Question, Result, Size, Source, Tip
from tinygrad_edu.tips.outcomes import DIFFERS
from tinygrad_edu.tips.ways import Shown


class Centred(nn.Module):
    """Takes the mean of each row from it, row by row: the slow line that nobody looks at."""

    def __init__(self, by_rows: bool) -> None:
        super().__init__()
        self.by_rows = by_rows

    def forward(self, x: Tensor) -> Tensor:
        if not self.by_rows:
            return x - x.mean(1, keepdim=True)
        return tg.stack([row - row.mean() for row in x])


def inputs(generator: tg.Generator, rows: int, centre: str) -> dict[str, Any]:
    model = nn.Sequential(nn.Linear(1024, 64), Centred(centre == "row by row"), nn.Linear(64, 10))
    return {"model": model, "x": tg.rand(rows, 1024, generator=generator)}


def slow(model: nn.Module, x: Tensor) -> Any:
    children = model.named_children()
    sizes = {name: sum(map(Tensor.numel, part.parameters())) for name, part in children}
    text = "\n".join(f"{name}: {size} parameters" for name, size in sizes.items())
    return Shown("The guess", text, max(sizes, key=sizes.__getitem__))


def fast(model: nn.Module, x: Tensor) -> Any:
    passes = [{name: 0 for name, part in model.named_children()} for _ in range(5)]
    for times in passes:
        with profile(with_modules=True) as seen:
            model(x)
        for event in seen.events():
            times[event.module.split(".")[1]] += event.own  # of Sequential.1
    least = {name: min(times[name] for times in passes) for name in passes[0]}
    table = seen.key_averages().table(sort_by="self_cpu_time_total", row_limit=5)
    return Shown("The table of the last of five passes", table, max(least, key=least.__getitem__))


def planted(model: Any, x: Tensor) -> Any:
    return "1" if model[1].by_rows else "0"  # so it was built


def found(result: Result) -> str:
    return "the layer with the most parameters" if result.slow["equal"] else "the one between, without parameters"


TIP = Tip(
    slug="profile-first",
    title="Let a profiler say where the time goes",
    theme="measuring",
    why="Time goes where **many operations** are started, and that is seldom where the parameters are.",
    about=(
        "Whoever guesses looks at the largest layer. Here the product of the first one takes microseconds, and a loop "
        "over rows in a layer without a single parameter takes most of the time, because each row starts operations of "
        "its own. A profiler notes each operation with its module, its line, its time and its bytes. Sort the table by "
        "*self* time, which leaves out what was called inside; read the number of calls first; and when "
        "the order matters look at the trace, on a time line. Then mend the first row, and measure again."
    ),
    sources=(
        Source("P", "PyTorch Profiler", "profile a few batches, print the table, export a Chrome trace"),
        Source("R", "Performance Profiling", "a timer for each part, with its mean, least and most"),
    ),
    parameters=(
        Size("rows", 512, 256, 1024, "the number of samples"),
        Choice("centre", "row by row", ("row by row", "at once"), "how the layer between takes the mean away"),
    ),
    inputs=inputs,
    slow=slow,
    fast=fast,
    truth=planted,
    outcomes={"slow": DIFFERS},
    claims=(),
    limits=(Limit({"centre": "at once"}, "no difference", "Without the loop, the largest layer takes the time."),),
    question=Question(
        "Two Linear layers, and one between them that only takes the mean away. Where does the time go?",
        ("the layer with the most parameters", "the one between, without parameters"),
        found,
        tempting="the layer with the most parameters",
        refutation="The loop starts more than a thousand small operations; the largest product is one of them.",
    ),
    explain="Which column of the table gives the loop away at once?",
    symptoms=("my model is slow, and I do not know where", "my loop is slow"),
    picture=Picture("TimingRace", dict),
    elsewhere=(
        Elsewhere(
            "PyTorch 2.13",
            "2026-11",
            "with torch.profiler.profile() as seen:\n    y = x.exp()\nseen.key_averages().table()",
        ),
    ),
    torch=None,
    differs_in_torch="PyTorch's profiler names operations and lines; modules it knows only in scripted models.",
)
