"""The page of lessons: every notebook, with what learners can do after it."""

from __future__ import annotations

import json
import re
from pathlib import Path

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"

HEAD = """# Learn

Notebooks to work through, in this order. `python start.py course` opens them; you can also download each one here.
Every part begins with a prediction, and shows the result only after it. A lesson takes about an hour.
Lessons are numbered by their place in the whole course; the numbers that are missing here are still to come.
"""


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


def pages() -> dict[str, str]:
    """File name and content."""
    return {"index.md": "\n".join([HEAD, *map(section, sorted(NOTEBOOKS.glob("*.ipynb"), key=order))])}
