"""A question, a prediction, and only then the result, as plain data. Nothing is scored."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...errors import DtypeError, IndexRangeError
from ..marks import shorten


@dataclass(frozen=True)
class Question:
    """What is asked. ``kind`` is choice, number or curve; nothing here depends on the result."""

    ask: str
    kind: str
    choices: tuple[str, ...] = ()
    low: float = 0.0  # ends of a number's or a curve's axis, fixed before the result is known
    high: float = 1.0
    unit: str = ""
    xs: tuple[float, ...] = ()  # of a curve
    x_label: str = ""
    y_label: str = ""


@dataclass(frozen=True)
class Outcome:
    """The result. ``value`` is a choice, a number, or a curve's numbers."""

    value: Any
    why: str = ""
    conditions: str = ""
    badge: str | None = None


@dataclass(frozen=True)
class GateState:
    """A question, the prediction, and, once that is committed, the outcome."""

    question: Question
    draft: Any = None
    committed: bool = False
    outcome: Outcome | None = None
    message: str = ""


def question(ask: str, *, choices: Sequence[str] = (), low: float = 0.0, high: float = 1.0, unit: str = "",
             xs: Sequence[float] = (), x_label: str = "", y_label: str = "") -> Question:  # fmt: skip
    """A question that offers ``choices``, or a curve over ``xs``, or else a number from ``low`` to ``high``."""
    offered, places = tuple(dict.fromkeys(map(str, choices))), tuple(map(float, xs))
    if len(offered) < len(choices) or len(offered) == 1:
        raise DtypeError(
            "a question with choices",
            f"{list(choices)} has fewer than two choices, or the same one twice",
            "offer two or more different ones",
        )
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise IndexRangeError(f"an axis from {low} to {high}", "the low end is not below the high end", "swap them")
    kind = "choice" if offered else "curve" if places else "number"
    return Question(ask, kind, offered, float(low), float(high), unit, places, x_label, y_label)


def draft(q: Question, value: Any) -> Any:
    """A prediction in the question's own form. Raises `IndexRangeError` for one that does not fit the question."""
    if q.kind == "choice":
        if str(value) not in q.choices:
            raise IndexRangeError(
                f"the prediction {value!r}", f"the choices are {', '.join(q.choices)}", "take one of these"
            )
        return str(value)
    if q.kind == "number":
        try:
            found = float(str(value).replace("−", "-").replace(",", "."))
        except ValueError:
            raise DtypeError(f"the prediction {value!r}", "it is not a number", "type digits, such as 2.5") from None
        if not math.isfinite(found):
            raise IndexRangeError(f"the prediction {value!r}", "it is not a finite number", "type digits, such as 2.5")
        return found
    heights = tuple(map(float, value))
    if len(heights) != len(q.xs):
        raise IndexRangeError(
            f"a curve of {len(heights)} points", f"the question has {len(q.xs)}", "give one height for each"
        )
    if any(map(math.isnan, heights)):
        raise IndexRangeError("a predicted curve", "one of its heights is not a number", "give one height for each")
    return tuple(min(max(v, q.low), q.high) for v in heights)


def outcome(q: Question, found: Any, why: str = "") -> Outcome:
    """The result, as plain data. Raises `DtypeError` for one that cannot answer the question."""
    known = found if isinstance(found, Outcome) else Outcome(found)
    value, wanted = known.value, "one of the choices"
    if q.kind == "choice":
        value = str(value)
        fits = value in q.choices
    elif q.kind == "number":
        value, wanted = float(value), "a finite number"
        fits = math.isfinite(value)
    else:
        value, wanted = tuple(map(float, value)), f"a curve of {len(q.xs)} points"
        fits = len(value) == len(q.xs)
    if not fits:
        raise DtypeError(f"the result {shorten(repr(value), 40)}", f"the question asks for {wanted}", "fix reveal()")
    return replace(known, value=value, why=known.why or why)
