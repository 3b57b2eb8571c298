"""For a lecture: playlists of tips, results recorded beforehand, and the predictions of a whole class.

A playlist is a TOML file::

    title = "Where memory goes"
    minutes = 20

    [[tip]]
    slug = "no-grad"
    size = { n = 2048 }
    seconds = 2.0                  # of timing
    recorded = "no-grad.json"      # shown, and marked as such, if the live run fails
"""

from __future__ import annotations

import datetime
import json
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..common.wording import suggestion
from .registry import find
from .runner import BUDGET, Result
from .tip import Tip, TipError

KEYS: dict[str, Any] = {"slug": str, "size": dict, "seconds": (int, float), "recorded": str, "device": str}


@dataclass(frozen=True)
class Item:
    """One tip of a playlist. ``recorded`` is a file of `record`, or None."""

    tip: Tip
    setting: Mapping[str, Any] = field(default_factory=dict)
    seconds: float = BUDGET
    recorded: Path | None = None


@dataclass(frozen=True)
class Playlist:
    """Tips in order, and the minutes that there are for all of them; None if nobody counts."""

    title: str
    items: tuple[Item, ...]
    minutes: float | None = None


def read(path: Path) -> Playlist:
    """A playlist from a file. Raises `TipError` that names what is wrong, and where."""
    found = _toml(path)
    minutes = found.get("minutes")
    if minutes is not None and not (isinstance(minutes, (int, float)) and minutes > 0):
        raise TipError(f"{path}: minutes = {minutes!r}", "it is the time for all tips", "write a number above 0")
    tips = found.get("tip")
    if not isinstance(tips, list) or not tips:
        raise TipError(f"the playlist {path}", "it has no tip", 'write [[tip]], and below it slug = "no-grad"')
    for key in found.keys() - {"title", "minutes", "tip"}:
        mend = suggestion(key, ("title", "minutes", "tip"))
        raise TipError(f"{path}: {key}", "a playlist has nothing of that name", mend)
    items = tuple(_item(path, place, entry) for place, entry in enumerate(tips, 1))
    return Playlist(str(found.get("title", path.stem)), items, minutes)


def _toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise TipError(f"the playlist {path}", f"it cannot be read: {error.strerror}", "name another file") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise TipError(f"the playlist {path}", f"it is not TOML: {error}", "mend that line") from None


def _item(path: Path, place: int, entry: Any) -> Item:
    where = f"{path}, tip {place}"
    if not isinstance(entry, dict) or not isinstance(entry.get("slug"), str):
        raise TipError(where, "it has no slug", 'write slug = "no-grad"')
    for key, value in entry.items():
        if key not in KEYS:
            raise TipError(f"{where}: {key}", "a tip in a playlist has nothing of that name", suggestion(key, KEYS))
        if not isinstance(value, KEYS[key]) or isinstance(value, bool):
            kind = {"size": "a table, such as { n = 16 }", "seconds": "a number"}.get(key, "text in quotes")
            raise TipError(f"{where}: {key} = {value!r}", "it is of the wrong kind", f"write {kind}")
    tip = find(entry["slug"])
    setting = {**entry.get("size", {}), **({"device": entry["device"]} if "device" in entry else {})}
    tip.setting(setting)  # raises, and says what is wrong
    seconds = float(entry.get("seconds", BUDGET))
    if not seconds > 0:
        raise TipError(f"{where}: seconds = {seconds:g}", "it is the time for timing", "write a number above 0")
    recorded = path.parent / entry["recorded"] if "recorded" in entry else None
    if recorded is not None:
        replay(recorded)  # better now than before an audience
    return Item(tip, setting, seconds, recorded)


# Recorded results --------------------------------------------------------------------------------------------------


def record(result: Result, text: str, path: Path) -> None:
    """Keep a result for a lecture: as data, as text, and with the machine and the date."""
    timing = result.timing
    kept = {
        "recorded": str(datetime.date.today()),
        "machine": "not timed" if timing is None else timing.conditions.text(),
        "text": text,
        "result": result.to_dict(),
    }
    try:
        path.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    except OSError as error:
        raise TipError(
            f"the recording {path}", f"it cannot be written: {error.strerror}", "name another file"
        ) from None


def replay(path: Path) -> dict[str, Any]:
    """A recorded result. Raises `TipError` for a file that holds none."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        complete = {"recorded", "machine", "text", "result"} <= found.keys()
    except OSError as error:
        raise TipError(f"the recording {path}", f"it cannot be read: {error.strerror}", "record it again") from None
    except (ValueError, AttributeError):
        complete = False
    if not complete:
        raise TipError(f"the recording {path}", "it holds no recorded tip", "write it with: tinygrad-edu tips record")
    return dict(found)


# The predictions of a class ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Tally:
    """One question: how many people said what, and what the result was."""

    question: str
    said: Mapping[str, int]
    right: str


def merge(paths: Iterable[Path]) -> tuple[Tally, ...]:
    """The predictions in exported files, counted by question: the last one that each file holds.

    Raises `TipError` for a file that holds none.
    """
    said: dict[str, Counter[str]] = {}
    right: dict[str, Counter[str]] = {}
    for path in paths:
        last = {entry["question"]: entry for entry in _exported(path)}  # who tried again is still one person
        for question, entry in last.items():
            said.setdefault(question, Counter())[_words(entry["predicted"])] += 1
            right.setdefault(question, Counter())[_words(entry["result"])] += 1
    return tuple(
        Tally(question, dict(n.most_common()), right[question].most_common(1)[0][0]) for question, n in said.items()
    )


def _exported(path: Path) -> list[dict[str, Any]]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        fits = isinstance(found, list) and all({"question", "predicted", "result"} <= entry.keys() for entry in found)
    except OSError as error:
        raise TipError(
            f"the predictions {path}", f"they cannot be read: {error.strerror}", "name another file"
        ) from None
    except (ValueError, AttributeError):
        fits = False
    if not fits:
        mend = 'write them in the notebook, with export_predictions("mine.json")'
        raise TipError(f"the predictions {path}", "it holds no exported predictions", mend)
    return list(found)


def _words(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
