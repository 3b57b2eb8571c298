"""How numbers are written, everywhere: three significant digits, true minus, thin spaces, decimal units."""

from __future__ import annotations

from collections.abc import Iterable


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


def exact(value: float) -> str:
    """A whole number as it is; anything else with three digits."""
    value = float(value)
    if value.is_integer() and abs(value) < 1e12:
        digits = f"{int(value)}" if abs(value) < 10_000 else f"{int(value):,}".replace(",", "\u2009")
        return digits.replace("-", "−")
    return number(value)


def shape_text(shape: Iterable[int]) -> str:
    """``8×2``; nothing for a single number."""
    return "×".join(map(str, shape))


def bytes_text(count: int) -> str:
    """Decimal units: ``48 bytes``, ``40.0 MB``."""
    rounded = float(f"{count:.2e}")  # first, so that 999 999 bytes are 1.00 MB
    for unit, size in (("TB", 10**12), ("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= 1000 and rounded >= size:
            return f"{number(rounded / size)} {unit}"
    return f"{count} byte{'s' * (count != 1)}"


def seconds_text(seconds: float) -> str:
    """A duration with its unit: ``17.7 µs``, ``1.20 s``."""
    rounded = float(f"{seconds:.2e}")  # first, so that 999.9 ns are 1.00 µs
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if rounded >= size:
            return f"{number(rounded / size)} {unit}"
    return f"{number(rounded / 1e-9)} ns"
