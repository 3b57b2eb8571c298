"""Pictures that a browser plays by itself: what each step changes, told once, so that no step waits for Python.

A picture of many steps is sent as it is at one of them, with two things more. *Tracks* are sent with it: for each mark,
the few values that it takes, and from which step on. *Parts*, such as a sentence that is another at every step, are
sent for some steps around the current one. Picture and browser fill in the same templates, so they cannot disagree.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .marks import attributes, escape

Values = tuple[str, ...]

_HOLES, _BETWEEN = 0xE000, "\ue0ff"  # private characters: the n-th value of a track; what separates two templates
_PRIVATE = re.compile("[\ue000-\ue0ff]")
CHUNK = 14_000  # bytes of parts that are sent at once


def hole(n: int) -> str:
    """In a template, where a track's n-th value goes."""
    return chr(_HOLES + n)


def literal(text: str) -> str:
    """Somebody's text for a template: without what would be taken for a hole."""
    return _PRIVATE.sub("\N{REPLACEMENT CHARACTER}", text)


def fill(template: str, values: Values) -> str:
    """A template with its values."""
    return _PRIVATE.sub(lambda match: values[ord(match[0]) - _HOLES], template)


@dataclass(frozen=True)
class Track:
    """The values of one mark: each from its step on, the first from step 0."""

    steps: tuple[int, ...]
    values: tuple[Values, ...]

    @classmethod
    def of(cls, steps: Mapping[int, Values] | list[tuple[int, Values]]) -> Track:
        """A track from values by step, without those that change nothing."""
        kept: list[tuple[int, Values]] = []
        for step, values in sorted(dict(steps).items()):
            if not kept or kept[-1][1] != values:
                kept.append((step, values))
        return cls(tuple(step for step, _ in kept), tuple(values for _, values in kept))

    def at(self, step: int) -> Values:
        """The values at one step."""
        return self.values[bisect_right(self.steps, step) - 1]

    def told(self, words: dict[str, int]) -> list[list[int]]:
        """For the browser: step and values, each as its place among all ``words``; −1 for a value that stays."""
        found: list[list[int]] = []
        before: Values = ()
        for step, values in zip(self.steps, self.values, strict=True):
            stays = [i < len(before) and before[i] == value for i, value in enumerate(values)]
            places = [
                -1 if same else words.setdefault(value, len(words)) for same, value in zip(stays, values, strict=True)
            ]
            found.append([step, *places])
            before = values
        return found


def moving(
    tag: str, track: str, values: Values, fixed: Mapping[str, Any], body: str | None = None, **templates: str
) -> str:
    """An element with attributes that a track sets. ``body`` is its text, a template too; None for no body.

    An attribute whose value is empty is absent. ``fixed`` attributes stay.
    """
    named = {key.rstrip("_").replace("_", "-"): template for key, template in templates.items()}
    filled = {name: fill(template, values) or None for name, template in named.items()}
    told = [f"{name}={template}" for name, template in named.items()]
    told += [f"={body}"] if body is not None else []
    tracked = {"data_track": track, "data_set": _BETWEEN.join(told)}
    head = attributes(**{"class": filled.pop("class", None)}, **fixed, **filled, **tracked)
    return f"<{tag}{head}/>" if body is None else f"<{tag}{head}>{escape(fill(body, values))}</{tag}>"


def opening(tag: str, track: str, values: Values, fixed: Mapping[str, Any], **templates: str) -> str:
    """The opening tag of such an element, around others."""
    return moving(tag, track, values, fixed, None, **templates).removesuffix("/>") + ">"


def part(tag: str, name: str, inside: str, **fixed: Any) -> str:
    """An element whose inside is another at each step."""
    return f"<{tag}{attributes(**fixed, data_part=name)}>{inside}</{tag}>"


@dataclass(frozen=True, eq=False)
class Reel:
    """All steps of one picture. ``turn`` is the last step of its first half; ``parts`` gives the insides at a step."""

    last: int
    turn: int
    tracks: Mapping[str, Track]
    parts: Callable[[int], Mapping[str, str]]

    def told(self, step: int) -> dict[str, Any]:
        """What the browser needs to play it, beginning at ``step``."""
        words: dict[str, int] = {}
        tracks = {name: track.told(words) for name, track in self.tracks.items()}
        return {
            "last": self.last, "turn": self.turn, "words": list(words), "tracks": tracks, "chunk": self.chunk(step),
        }  # fmt: skip

    def chunk(self, step: int) -> dict[str, Any]:
        """The parts at ``step`` and at as many steps around it as `CHUNK` bytes hold."""
        step = max(0, min(step, self.last))
        insides = {step: self.parts(step)}
        size, low, high = _size(insides[step], {}), step, step
        while size < CHUNK and (low > 0 or high < self.last):
            for one, other in ((high + 1, high), (low - 1, low)):
                if 0 <= one <= self.last and size < CHUNK:
                    insides[one] = self.parts(one)
                    size += _size(insides[one], insides[other])
                    low, high = min(low, one), max(high, one)
        changes: dict[str, list[list[Any]]] = {name: [] for name in insides[step]}
        for at in range(low, high + 1):
            for name, inside in insides[at].items():
                if not changes[name] or changes[name][-1][1] != inside:
                    changes[name].append([at, inside])
        return {"from": low, "to": high, "parts": changes}


def _size(parts: Mapping[str, str], before: Mapping[str, str]) -> int:
    return sum(len(inside.encode()) + 8 for name, inside in parts.items() if before.get(name) != inside)
