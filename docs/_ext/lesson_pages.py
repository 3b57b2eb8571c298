"""The page of lessons: every notebook, with what learners can do after it."""

from __future__ import annotations

import json
import re
from pathlib import Path

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"

HEAD = """# Learn

Notebooks to work through, in this order. `python start.py course` opens them; you can also download each one here.
Every part begins with a prediction, and shows the result only after it. Whoever teaches with them finds minutes for
each part, and what to watch for, in [Teaching with the notebooks](teaching.md).

```{toctree}
:hidden:

teaching
```
"""

# What a learner should have done before: lessons by number, or what to know.
NEEDS = {
    "welcome": "nothing",
    "00": "Python, a little NumPy",
    "01": "a little NumPy",
    "02": "lesson 1",
    "03": "lesson 1, the chain rule",
    "04": "lessons 1 and 3",
    "05": "lesson 1",
    "06": "lessons 0 and 1",
    "07": "lesson 3",
    "08": "lessons 2 and 3",
    "09": "lessons 3 and 5",
    "tip_lab": "lesson 1",
}

TEACHING = """# Teaching with the notebooks

Ten lessons of 75 to 95 minutes, a welcome and a tip lab. A term's course takes one a week; a day's workshop takes the
welcome and lessons {short}. Each lesson can be given alone to people who know what its line in the
[table](index.md) asks for.

## Before the class

- Run `python start.py course` once on the machine that you will project from, and run the lesson's notebook to its end.
  After the first set-up no network is needed. In a browser only, [Binder](https://mybinder.org/) opens the repository's
  address: one core and no GPU, and every lesson runs there.
- Nothing needs a GPU. Times of the accelerator are simulated and the same in each run, so they will be those that you
  saw at home. Times that are measured differ from machine to machine; pictures say which of the two they are.
- If a measurement fails in front of people, pictures that were recorded stay: each notebook is saved with its widgets
  as they were, with the machine and the date.

## In the class

- **Nobody explains before the vote.** Ask everybody to commit to a prediction; the gate shows the result and why, also
  why each other choice is wrong. `export_predictions("predictions.json")`, from `tinygrad_edu_widgets`, keeps them.
- `widget.present()` is for a projector: large type, one step for each key, code hidden.
- `tg.manual_seed(0)` makes every run alike: weights, batches, noise, workers.
- Tasks are checked by `check(…)`, which knows the usual wrong answers and gives a hint for each. Notebooks hold no
  solutions. One for each task, and the wrong answers with their hints, are in the repository's `tests/lessons/`.
- Prompts that say *Explain* have no check. Let two neighbours read theirs to each other.

## Minutes and what to watch for

The minutes are estimates.

{tables}
"""

SHORT = "0, 1, 3 and 6"


def order(path: Path) -> tuple[bool, str]:
    """The welcome first, then lessons by number, then the rest."""
    return path.stem != "welcome", path.stem


def section(path: Path) -> str:
    """Title, outcomes or first paragraph, and file of a notebook."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    first = "".join(cells[0]["source"])
    title, _, text = first.removeprefix("# ").partition("\n")
    outcomes = re.search(r"\*\*After this .*?(?=\n\n[^1-9])", text, re.DOTALL)
    about = outcomes[0] if outcomes else text.strip().split("\n\n")[0]
    about = re.sub(r"\[(.*?)\]\([^)]*\.ipynb\)", r"\1", about)  # the other notebook is on this page, too
    return f"## {title}\n\n{about}\n\n{{download}}`notebooks/{path.name} <../../notebooks/{path.name}>`\n"


def prose(path: Path) -> str:
    """The text of a notebook."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")


def schedule(path: Path) -> str:
    """What is said to instructors: the first fold, or all before it; "" if there is nothing."""
    found = re.search(r"^## For instructors\n+(?:<details>\s*<summary>.*?</summary>)?(.*)", prose(path), re.M | re.S)
    return "" if found is None else re.split(r"</?details>", found[1])[0].strip()


def minutes(path: Path) -> int:
    """How long it takes: where the last part of its schedule ends, or how long all parts take, or what it says."""
    text = schedule(path)
    ends = re.findall(r"^[|-] *\d+–(\d+)\b", text, re.M) or re.findall(r"^\*About (\d+) minutes", prose(path), re.M)
    return max(map(int, ends)) if ends else sum(map(int, re.findall(r"^\| *(\d+) *\|", text, re.M)))


def title(path: Path) -> str:
    """Its heading."""
    return prose(path).partition("\n")[0].removeprefix("# ")


def taught() -> list[Path]:
    """The notebooks that can be given as a lesson."""
    return [path for path in sorted(NOTEBOOKS.glob("*.ipynb"), key=order) if schedule(path)]


def overview() -> str:
    """All lessons as a table: minutes, and what to know before."""
    lines = ["| lesson | minutes (estimates) | to know before |", "|---|---|---|"]
    for path in [NOTEBOOKS / "welcome.ipynb", *taught()]:
        need = NEEDS[path.stem if path.stem in NEEDS else path.stem[:2]]
        lines.append(f"| {title(path)} | {minutes(path)} | {need} |")
    return "\n".join(lines) + "\n"


def pages() -> dict[str, str]:
    """File name and content."""
    tables = "\n\n".join(f"### {title(path)}\n\n{schedule(path)}" for path in taught())
    notebooks = sorted(NOTEBOOKS.glob("*.ipynb"), key=order)
    return {
        "index.md": "\n".join([HEAD, overview(), *map(section, notebooks)]),
        "teaching.md": TEACHING.format(short=SHORT, tables=tables),
    }
