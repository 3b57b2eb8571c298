"""A question, a prediction, and only then the result, as plain data. Nothing is scored."""

from __future__ import annotations

import itertools
import math
import numbers
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...common.wording import shown
from ...errors import ArgumentError, DtypeError, IndexRangeError
from ..given import refusal, texts
from ..marks import shorten

LARGEST = 1e300  # of the numbers that an axis can show: the distance of two of them must not overflow


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
    """The result. ``value`` is a choice, a number, or a curve's numbers. ``wrong`` pairs other choices with the reason
    why they are not the result."""

    value: Any
    why: str = ""
    conditions: str = ""
    badge: str | None = None
    wrong: tuple[tuple[str, str], ...] = ()


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
    texts("PredictGate", ask=ask, unit=unit, x_label=x_label, y_label=y_label)
    listed = _items("choices", choices, 'give a list, such as ["yes", "no"]')
    offered, places = tuple(dict.fromkeys(map(str, listed))), _places(xs)
    if len(offered) < len(listed) or len(offered) == 1:
        raise DtypeError(
            f"PredictGate(choices={shown(choices, 40)})",
            "it has fewer than two choices, or the same one twice",
            "offer two or more different ones",
        )
    for name, end in (("low", low), ("high", high)):
        if isinstance(end, bool) or not isinstance(end, numbers.Real):
            raise refusal("PredictGate", name, end, f"{name} is an end of the axis, a number", f"write {name}=10")
    if not (abs(low) <= LARGEST and abs(high) <= LARGEST and low < high):
        tried = f"PredictGate(low={shown(low)}, high={shown(high)})"
        raise IndexRangeError(tried, "the low end is not below the high end", "give two numbers, the smaller one first")
    kind = "choice" if offered else "curve" if places else "number"
    return Question(ask, kind, offered, float(low), float(high), unit, places, x_label, y_label)


def _items(name: str, given: Any, mend: str) -> list[Any]:
    """The items of a list; of a text, which would fall into letters, there are none."""
    if isinstance(given, (str, bytes, dict)):
        raise refusal("PredictGate", name, given, f"{name} is a list", mend)
    try:
        return list(given)
    except TypeError:  # it cannot be looped over; one of our errors is a TypeError too
        raise refusal("PredictGate", name, given, f"{name} is a list", mend) from None


def _places(xs: Any) -> tuple[float, ...]:
    """The places of a curve. Raises `ArgumentError` unless they are finite and ascend."""
    why, mend = "xs are the places of the curve: finite numbers that ascend", "give numbers, such as range(10)"
    try:
        places = tuple(float(x) for x in _items("xs", xs, mend))
    except (TypeError, ValueError, OverflowError):
        raise refusal("PredictGate", "xs", xs, why, mend) from None
    if not all(map(math.isfinite, places)) or any(low >= high for low, high in itertools.pairwise(places)):
        raise refusal("PredictGate", "xs", xs, why, mend)
    return places


def draft(q: Question, value: Any) -> Any:
    """A prediction in the question's own form. Raises `IndexRangeError` for one that does not fit the question."""
    tried = f"the prediction {shown(value, 40)}"
    if q.kind == "choice":
        if str(value) not in q.choices:
            raise IndexRangeError(
                f"the prediction {shown(value, 40)}", f"the choices are {', '.join(q.choices)}", "take one of these"
            )
        return str(value)
    if q.kind == "number":
        try:
            found = float(str(value).replace("−", "-").replace(",", "."))
        except ValueError:
            raise DtypeError(
                f"the prediction {shown(value, 40)}", "it is not a number", "type digits, such as 2.5"
            ) from None
        if not abs(found) <= LARGEST:
            why = "it is not a finite number" if not math.isfinite(found) else "no axis reaches so far"
            raise IndexRangeError(f"the prediction {shown(value, 40)}", why, "type digits, such as 2.5")
        return found
    try:
        heights = tuple(map(float, value))
    except (TypeError, ValueError, OverflowError):
        why = "a curve is a list of heights, and each is a number"
        raise DtypeError(tried, why, f"give {len(q.xs)} numbers") from None
    if len(heights) != len(q.xs):
        raise IndexRangeError(
            f"a curve of {len(heights)} points", f"the question has {len(q.xs)}", "give one height for each"
        )
    if any(map(math.isnan, heights)):
        raise IndexRangeError("a predicted curve", "one of its heights is not a number", "give one height for each")
    if not all(abs(v) <= LARGEST for v in heights):
        why = "one of its heights is further away than any axis reaches"
        raise IndexRangeError("a predicted curve", why, f"stay between {-LARGEST:g} and {LARGEST:g}")
    return heights


def span(state: GateState) -> tuple[float, float]:
    """The ends of the axis: those of the question, unless the prediction or the result lies beyond them."""
    q, heights = state.question, [state.question.low, state.question.high]
    for found in (state.draft, state.outcome.value if state.outcome else None):
        if found is not None and q.kind != "choice":
            heights += [v for v in (found if q.kind == "curve" else [found]) if abs(v) <= LARGEST]
    return min(heights), max(heights)


def within(state: GateState, heights: Sequence[float]) -> list[float]:
    """Heights that somebody has drawn: the hand may leave the axis, the curve does not."""
    low, high = span(state)
    return [min(max(v, low), high) for v in heights]


Why = str | Mapping[str, str]


def checked_why(q: Question, why: Any) -> Why:
    """The reason for the result: a sentence, or one for each choice. Raises `ArgumentError` for anything else."""
    if not isinstance(why, Mapping):
        texts("PredictGate", why=why)
        return str(why)
    for choice, words in why.items():
        if choice not in q.choices:
            offered = f"the choices are {', '.join(q.choices)}" if q.choices else "this question offers no choices"
            raise ArgumentError(f"PredictGate(why={{{choice!r}: …}})", offered, "give reasons only for what is offered")
        texts("PredictGate", **{f"why[{choice!r}]": words})
    return dict(why)


def outcome(q: Question, found: Any, why: Why = "") -> Outcome:
    """The result, as plain data. Raises `DtypeError` for one that cannot answer the question.

    Of reasons for each choice, that of the result becomes its ``why``, and the others say why the rest is wrong.
    """
    known = found if isinstance(found, Outcome) else Outcome(found)
    value, wanted = known.value, "one of the choices"
    if q.kind == "choice":
        value = str(value)
        fits = value in q.choices
    elif q.kind == "number":
        value, wanted = float(value), "a finite number"
        fits = abs(value) <= LARGEST
    else:
        value, wanted = tuple(map(float, value)), f"a curve of {len(q.xs)} points"
        fits = len(value) == len(q.xs)
    if not fits:
        raise DtypeError(f"the result {shorten(repr(value), 40)}", f"the question asks for {wanted}", "fix reveal()")
    if isinstance(why, str):
        return replace(known, value=value, why=known.why or why)
    wrong = known.wrong or tuple((choice, why[choice]) for choice in q.choices if choice != value and choice in why)
    return replace(known, value=value, why=known.why or why.get(value, ""), wrong=wrong)
