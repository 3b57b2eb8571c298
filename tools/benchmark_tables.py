"""Write docs/benchmarks.md and the README's table of speed from docs/benchmarks.json, the record of a run:

python -m benchmarks workloads paths memory imports --turns 9 --json docs/benchmarks.json
python -m benchmarks.tips --json docs/tip_times.json
python tools/benchmark_tables.py

In docs/devices.md it writes what the simulator predicts, beside what GPUs were recorded to take.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
TIPS = ROOT / "docs" / "tip_times.json"
FIGURES, PAGE, README = ROOT / "docs" / "benchmarks.json", ROOT / "docs" / "benchmarks.md", ROOT / "README.md"
MARKS = "<!-- benchmarks: written by tools/benchmark_tables.py -->", "<!-- end of benchmarks -->"
DEVICES = ROOT / "docs" / "devices.md"
GPUS = "<!-- GPUs: written by tools/benchmark_tables.py -->", "<!-- end of GPUs -->"
FIRST = "ours"  # the column whose quartiles the README shows
SHORT = {"ours, guard off": "guard off", "ours, all exposed": "all exposed"}
COMPILERS = ("ours, compiled", "ours, by Numba", "torch.compile", "jax.jit", "tinygrad JIT")
NOT_IN_README = ("PyTorch eager", "ours, all exposed, guard off")


def names(record: dict[str, Any]) -> list[str]:
    """The contenders, ours first."""
    found = list(dict.fromkeys(figure["contender"] for figure in record["figures"]))
    return [FIRST, *(name for name in found if name != FIRST)]


def table(record: dict[str, Any], columns: list[str], spread: tuple[str, ...]) -> list[str]:
    """A row for each workload; the contenders in ``spread`` with their quartiles."""
    cells = {(figure["title"], figure["contender"]): figure for figure in record["figures"]}
    lines = [f"| | {' | '.join(SHORT.get(name, name) for name in columns)} |", "|---" * (len(columns) + 1) + "|"]
    for title in dict.fromkeys(figure["title"] for figure in record["figures"]):
        row = []
        for name in columns:
            figure = cells.get((title, name))
            text = "–" if figure is None else f"{figure['median']:.2f}"
            if figure is not None and name in spread:
                text += " [{:.2f}–{:.2f}]".format(*figure["quartiles"])
            row.append(text)
        lines.append(f"| {title} | {' | '.join(row)} |")
    return lines


def first_calls(record: dict[str, Any]) -> list[str]:
    """A row for each workload: how long compilers take until they have compiled."""
    cells = {(one["title"], one["contender"]): one["first"] for one in record["figures"]}
    columns = [name for name in COMPILERS if any(name == contender for _, contender in cells)]
    lines = [f"| | {' | '.join(columns)} |", "|---" * (len(columns) + 1) + "|"]
    for title in dict.fromkeys(figure["title"] for figure in record["figures"]):
        row = [f"{cells[title, name]:.2f} s" if (title, name) in cells else "–" for name in columns]
        lines.append(f"| {title} | {' | '.join(row)} |")
    return lines


def measured(record: dict[str, Any]) -> str:
    """When, on what and how."""
    return f"{record['date']}, {'. '.join(record['machine'])}. Medians of {record['turns']} turns."


def section(record: dict[str, Any]) -> str:
    """The README's."""
    columns = [name for name in names(record) if name not in NOT_IN_README]
    lines = table(record, columns, (FIRST,))
    above = [line for line in record["others"]["memory"].splitlines() if "above NumPy by hand" in line]
    ratio = re.search(r"import tinygrad_edu\s+(\S+)\s+\[(\S+) \.\. (\S+)\]", record["others"]["imports"])
    assert ratio and above
    memory = re.fullmatch(r"ours above NumPy by hand: (\S+) and (\S+) MiB of (\S+) MiB", above[0])
    assert memory
    more = f"At its peak, the chain on 4M elements takes {memory[1]} MiB more than NumPy by hand ({memory[2]} MiB by "
    more += f"tracemalloc's count); our limit is {memory[3]} MiB. `import tinygrad_edu` takes {ratio[1]} "
    more += f"[{ratio[2]}–{ratio[3]}] times as long as `import numpy`."
    first = "What compiling costs: the first three calls together, in a fresh process."
    return "\n".join([*lines, "", measured(record), more, "", first, "", *first_calls(record)])


def page(record: dict[str, Any]) -> str:
    """The whole of it."""
    columns = names(record)
    reasons = [
        f"- {name}: {why}" for name, why in dict.fromkeys(p for d in record["absent"].values() for p in d.items())
    ]
    blocks = [f"```\n{text}\n```" for text in record["others"].values()]
    how = "Ratios to PyTorch eager: below 1 is faster. Median [quartiles] of interleaved turns, every contender in a\n"
    how += "process of its own, one thread, one core. [benchmarks/README.md](../benchmarks/README.md) explains how."
    figures = "\n".join(table(record, columns, tuple(columns)))
    parts = ["# Benchmarks", how, measured(record), figures, "\n".join(reasons), *blocks, *tip_times()]
    return "\n\n".join(parts) + "\n"


def tip_times() -> tuple[str, str, str]:
    """What the clock says of every tip."""
    sys.path.insert(0, str(ROOT))
    from benchmarks.tips import text

    how = "Every tip that the clock can tell on the CPU, as a learner runs it: A is the slow way, B the fast one.\n"
    how += "Counts (bytes, copies, operations, nodes) are the same everywhere, and the tests check them; these times\n"
    how += "hold for one machine only."
    return "## Tips", how, text(json.loads(TIPS.read_text(encoding="utf-8")))


def between(marks: tuple[str, str], new: str, text: str) -> str:
    """The text with something new between two marks."""
    before, rest = text.split(marks[0])
    return f"{before}{marks[0]}\n\n{new}\n\n{marks[1]}{rest.split(marks[1])[1]}"


def readme(record: dict[str, Any], text: str) -> str:
    """The README with the table between its marks."""
    return between(MARKS, section(record), text)


def devices(text: str) -> str:
    """The page about devices, with predictions beside records."""
    sys.path.insert(0, str(ROOT))
    from benchmarks.record import predicted, recorded, table

    return between(GPUS, table(predicted(records=recorded()), recorded()), text)


if __name__ == "__main__":
    record = json.loads(FIGURES.read_text(encoding="utf-8"))
    PAGE.write_text(page(record), encoding="utf-8")
    DEVICES.write_text(devices(DEVICES.read_text(encoding="utf-8")), encoding="utf-8")
    README.write_text(readme(record, README.read_text(encoding="utf-8")), encoding="utf-8")
