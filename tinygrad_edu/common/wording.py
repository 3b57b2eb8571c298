"""How things are written everywhere. Numbers: three significant digits, true minus, thin spaces, decimal units."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from reprlib import Repr
from typing import Any

UNITS = (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9))
PREFIXES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))
MARKUP = re.compile(r"`([^`]+)`|\*\*((?:`[^`]*`|[^*`])+)\*\*")  # code, in which ** is a power; bold, with code inside


def number(value: float) -> str:
    """Three significant digits, a true minus, thin spaces from 1 000 up: ``0.0310``, ``−12.4``, ``1 797``."""
    value = float(value)
    if value != value:
        return "nan"
    if value in (float("inf"), float("-inf")):
        return "∞" if value > 0 else "−∞"
    size = abs(value)
    if size < 1e6:  # round first: 999.9 is written as 1 000
        size = float(f"{size:.2e}") if size < 1000 else float(round(size))
    if size == 0:
        text = "0"
    elif size >= 1e6 or size < 1e-3:
        mantissa, exponent = f"{size:.2e}".split("e")
        text = f"{mantissa}e{int(exponent)}"
    elif size >= 1000:
        text = f"{size:,.0f}".replace(",", "\u2009")
    else:
        text = f"{size:#.3g}".rstrip(".")
    return ("−" if value < 0 else "") + text.replace("e-", "e−")


_repr = Repr()
_repr.maxlevel, _repr.maxlong, _repr.maxstring, _repr.maxother = 4, 80, 80, 300
_repr.maxlist = _repr.maxtuple = _repr.maxdict = _repr.maxset = 12


def shown(value: object, most: int = 60) -> str:
    """``repr`` for an error: short, without an address, and safe for anything, even a list that is thousands deep."""
    try:
        text = " ".join(_repr.repr(value).split())
    except Exception as error:  # it may be anybody's __repr__
        text = f"a {type(value).__name__} that cannot be printed ({type(error).__name__})"
    if " object at 0x" in text or " at 0x" in text:
        text = getattr(value, "__name__", "") or f"a {type(value).__name__}"
    return text if len(text) <= most else f"{text[: most - 1]}…"


def said(error: BaseException) -> str:
    """``ValueError: message``. The error may be anybody's, and fail to say what it is."""
    kind = type(error).__name__
    try:
        message = str(error)
    except Exception as another:
        return f"{kind}, whose message cannot be read: its __str__ raises {type(another).__name__}"
    return f"{kind}: {message}" if message else kind


def first_line(error: BaseException) -> str:
    """``ValueError: message``, without further lines."""
    kind, told = type(error).__name__, said(error)
    if not told.startswith(f"{kind}: "):
        return told
    message = told.removeprefix(f"{kind}: ").strip().splitlines()
    return f"{kind}: {message[0]}" if message else kind


def exact(value: float) -> str:
    """A whole number as it is; anything else with three digits."""
    value = float(value)
    if value.is_integer() and abs(value) < 1e12:
        digits = f"{int(value)}" if abs(value) < 10_000 else f"{int(value):,}".replace(",", "\u2009")
        return digits.replace("-", "−")
    return number(value)


def brief(value: Any) -> str:
    """A value in five characters: with fewer digits where there is no room, but never of another magnitude."""
    text, value = exact(value), float(value)
    for form in (".5g", ".3g", ".2g", ".1g", ".0e"):
        if len(text) <= 5:
            return text
        mantissa, _, exponent = f"{value:{form}}".partition("e")
        text = (f"{mantissa}e{int(exponent)}" if exponent else mantissa).replace("-", "−")
    return text if len(text) <= 5 else "≈0" if abs(value) < 1 else "<−e99"


def plural(count: int, noun: str) -> str:
    """``1 run``, ``12 runs``."""
    return f"{count} {noun}{'s' * (count != 1)}"


def listed(names: Sequence[str]) -> str:
    """``x, t and s``."""
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)


def shape_text(shape: Iterable[int]) -> str:
    """``8×2``; nothing for a single number."""
    return "×".join(map(str, shape))


def bytes_text(count: int) -> str:
    """Decimal units: ``48 bytes``, ``40.0 MB``."""
    rounded = float(f"{count:.2e}")  # first, so that 999 999 bytes are 1.00 MB
    for unit, size in (("TB", 10**12), ("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= 1000 and rounded >= size:
            return f"{number(rounded / size)} {unit}"
    return plural(count, "byte")


def seconds_text(seconds: float) -> str:
    """A duration with its unit: ``17.7 µs``, ``1.20 s``."""
    unit, size = unit_of(seconds)
    return f"{number(float(f'{seconds:.2e}') / size)} {unit}"


def si(value: float, unit: str) -> str:
    """``134 MFLOP``: three digits, and a prefix before the unit."""
    size, prefix = prefix_of(value)
    return f"{number(value / size)} {prefix}{unit}"


def prefix_of(value: float) -> tuple[float, str]:
    """How many a prefix stands for, and the prefix, that a value of this size is written with."""
    return next((one for one in PREFIXES if value >= one[0]), PREFIXES[-1])


def rate_with_spread(rate: float, spread: Iterable[float], unit: str) -> str:
    """``9.87 GB/s (9.61–9.93)``: all three with the prefix of the first."""
    size, prefix = prefix_of(rate)
    return f"{number(rate / size)} {prefix}{unit} ({'–'.join(number(value / size) for value in spread)})"


def plain(markup: str) -> str:
    """Text without the marks of ``code`` in backticks and of **bold**."""
    return MARKUP.sub(lambda match: match[1] or plain(match[2]), markup)


def unit_of(seconds: float) -> tuple[str, float]:
    """The unit in which a time is written, and its seconds."""
    rounded = float(f"{seconds:.2e}")  # first, so that 999.9 ns are 1.00 µs
    return next((unit for unit in UNITS if rounded >= unit[1]), UNITS[-1])


def duration_with_spread(seconds: float, spread: Iterable[float]) -> str:
    """``17.7 µs (17.5–18.3)``: all three in the unit of the first."""
    unit, size = unit_of(seconds)
    return f"{number(seconds / size)} {unit} ({'–'.join(number(value / size) for value in spread)})"


def ratio_text(ratio: float, like: float | None = None) -> str:
    """A ratio with as many digits as a measurement supports, or as many as the ratio ``like``: ``36``, ``3.6``.

    >>> ratio_text(36.4), ratio_text(3.62), ratio_text(1.038), ratio_text(0.26)
    ('36', '3.6', '1.04', '0.26')
    """
    size = ratio if like is None else like
    power = math.floor(math.log10(size))
    places = 0 if 9.95 <= size < 1000 else 2 - power if size >= 1000 else 1 if size >= 1.995 else max(2, 1 - power)
    return f"{round(ratio, places):,.{max(places, 0)}f}".replace(",", "\u2009")


def ratio_with_spread(ratio: float, spread: Iterable[float]) -> str:
    """``36× (35–37)``."""
    return f"{ratio_text(ratio)}× ({'–'.join(ratio_text(value, ratio) for value in spread)})"


def suggestion(given: str, known: Iterable[str], most: int = 1, likeness: float = 0.6) -> str:
    """The known word nearest to one that somebody mistyped; all of them where none is near.

    >>> suggestion("inplace", ["in-place", "vectorise"])
    'did you mean in-place?'
    """
    from difflib import get_close_matches  # needed only after a slip

    words = list(known)
    near = get_close_matches(given, words, most, likeness)
    return f"did you mean {' or '.join(near)}?" if near else f"there are: {', '.join(words)}"
