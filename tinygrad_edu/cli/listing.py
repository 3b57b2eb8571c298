"""``tinygrad-edu tips list``: from an index, so that it answers without loading a single tip."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from ..common.wording import plural
from .terminal import Terminal

INDEX = Path(__file__).parents[1] / "tips" / "index.json"  # written by tools/tip_index.py
SHORT = ("slug", "title", "theme", "guides", "why", "symptoms")
SCHEMA = 1
Entry = Mapping[str, Any]


@cache
def index() -> dict[str, Any]:
    """The themes, the guides and the tips of this package."""
    found: dict[str, Any] = json.loads(INDEX.read_text(encoding="utf-8"))
    return found


def entries() -> Sequence[Entry]:
    """Every tip in short. Those of other packages have to be loaded."""
    if not entry_points(group="tinygrad_edu.tips"):
        tips: Sequence[Entry] = index()["tips"]
        return tips
    from .. import _load_engine

    _load_engine()
    from ..tips import all_tips

    return [{name: getattr(tip, name) for name in SHORT} for tip in all_tips()]


def list_tips(terminal: Terminal, theme: str, source: str, symptom: str, *, as_json: bool) -> str:
    """The tips that fit, by theme. ``source`` is a guide's letter or a part of its name."""
    found = _fitting(theme.lower(), guide_of(source), symptom.lower())
    if as_json:
        return terminal.json({"schema": SCHEMA, "tips": [{name: tip[name] for name in SHORT} for tip in found]})
    if not found:
        return _none_fits(terminal, symptom)
    parts = []
    for name, title in index()["themes"].items():
        rows = [(tip["slug"], " ".join(tip["guides"]), tip["title"]) for tip in found if tip["theme"] == name]
        if rows:
            table = terminal.table(rows, indent="  ", paint={0: "blue"})
            parts.append(terminal.section(f"{title} ({name})", table))
    letters = sorted({letter for tip in found for letter in tip["guides"]})
    guides = "; ".join(f"{letter} {index()['guides'][letter]}" for letter in letters)
    count = f"{plural(len(found), 'tip')}. From {guides}."
    return "\n\n".join([*parts, f"{terminal.prose(count)}\nRead one:\n  tinygrad-edu tips explain SLUG"])


def _fitting(theme: str, source: str, symptom: str) -> list[Entry]:
    themes = index()["themes"]
    if theme and theme not in themes:
        near = get_close_matches(theme, themes, 1, 0.4)
        guess = f"did you mean {near[0]}? " if near else ""
        raise _refusal(
            f"the theme {theme!r}", "there is no theme with that name", f"{guess}they are {', '.join(themes)}"
        )
    return [
        tip
        for tip in entries()
        if (not theme or tip["theme"] == theme)
        and (not source or source in tip["guides"])
        and (not symptom or any(symptom in words.lower() for words in tip["symptoms"]))
    ]


def guide_of(source: str) -> str:
    """The letter of the guide that ``source`` names by letter or part of its title; else ``source`` itself."""
    guides: dict[str, str] = index()["guides"]
    if source.upper() in guides:
        return source.upper()
    fits = [letter for letter, title in guides.items() if source and source.lower() in title.lower()]
    if source and len(fits) != 1:
        why = "it fits several guides" if fits else "it is not the letter of a guide, nor part of its title"
        mend = "use one of: " + ", ".join(f"{letter} ({title})" for letter, title in guides.items())
        raise _refusal(f"tips from the guide {source!r}", why, mend)
    return fits[0] if fits else ""


def _refusal(given: str, why: str, mend: str) -> Exception:
    from ..tips import TipError  # with the engine, and only where something is wrong

    return TipError(given, why, mend)


def _none_fits(terminal: Terminal, symptom: str) -> str:
    if not symptom:
        return "No tip fits."
    known = sorted({words for tip in entries() for words in tip["symptoms"]})
    near = get_close_matches(symptom.lower(), known, n=5, cutoff=0.3) or known
    return terminal.section("No tip fits. The known symptoms are:", terminal.prose("\n".join(near), "  "))
