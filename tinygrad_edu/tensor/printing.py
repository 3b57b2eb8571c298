"""What ``print`` shows of a tensor, in PyTorch's layout."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import backends
from ..core.narrow import is_narrow
from ..errors import ArgumentError
from ..inputs.kinds import explain_all
from ..settings import modes

Array = np.ndarray[Any, Any]
_START = "tensor("


class _Options:
    """How much is shown, and how exactly. The defaults are PyTorch's."""

    def __init__(self, precision: int = 4, threshold: float = 1000, edgeitems: int = 3) -> None:
        self.precision, self.threshold, self.edgeitems = precision, threshold, edgeitems
        self.linewidth, self.sci_mode = 80, None


_PROFILES = {"default": _Options(), "short": _Options(precision=2, edgeitems=2), "full": _Options(threshold=math.inf)}
_options = _Options()


def set_printoptions(
    precision: int | None = None, threshold: float | None = None, edgeitems: int | None = None,
    linewidth: int | None = None, profile: str | None = None, sci_mode: bool | None = None,
) -> None:  # fmt: skip
    """Set how tensors are printed, in all threads. Options that are not named stay as they are.

    ``precision`` counts the digits after the point. Tensors of more than ``threshold`` elements show only the first
    and the last ``edgeitems`` along each axis. ``sci_mode`` writes ``1.0000e+05`` always (True), never (False), or
    where numbers differ widely (None, which every call without it restores). A ``profile``, "default", "short" or
    "full", sets all of them first. Raises `ArgumentError` for another profile, and for numbers below 0.
    """
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    chosen: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    for name, value in chosen.items():
        if not value >= 0:
            raise ArgumentError(f"set_printoptions({name}={value!r})", "it is a count", "use 0 or more")
    if profile is not None and profile not in _PROFILES:
        why, mend = f"the profiles are {', '.join(_PROFILES)}", "name one of them"
        raise ArgumentError(f"set_printoptions(profile={profile!r})", why, mend)
    before = _options if profile is None else _PROFILES[profile]
    vars(_options).update({**vars(before), **chosen, "sci_mode": sci_mode})


def describe(x: Any) -> str:
    """What ``print`` shows: values, and whatever is not the default."""
    values = backends.of(x.array).to_numpy(x.array)
    body = _body(np.asarray(values, np.float32 if is_narrow(values.dtype) else None))
    notes = [f"size={tuple(values.shape)}"] if not values.size and values.shape != (0,) else []
    if x.dtype.name not in (modes().dtype, *(("int64", "bool") if values.size else ())):
        notes.append(f"dtype={x.dtype.name}")
    if x.device != "cpu":
        notes.append(f"device={x.device!r}")
    if x.requires_grad:
        notes.append("requires_grad=True" if x.grad_fn is None else f"grad_fn={x.grad_fn!r}")
    kind = "Parameter containing:\n" if x.parameter else ""
    return f"{kind}{_with_notes(_START + body, notes)})"


def _with_notes(text: str, notes: list[str]) -> str:
    """The notes after the values, each on a new line where the line gets too long."""
    column = len(text) - text.rfind("\n") + 1
    for note in notes:
        fits = column + len(note) + 2 <= _options.linewidth
        text += f", {note}" if fits else f",\n{' ' * len(_START)}{note}"
        column = column + len(note) + 2 if fits else len(_START) + len(note)
    return text


def _body(array: Array) -> str:
    if not array.size:
        return "[]"
    cut = array.size > _options.threshold
    write, width = _writer(_ends(array) if cut else array)
    return _nested(array, write, width, len(_START), cut)


def _ends(array: Array) -> Array:
    """What is left of an array when only the ends of each axis are shown."""
    edge = _options.edgeitems
    for axis, size in enumerate(array.shape):
        if size > 2 * edge:
            array = np.take(array, [*range(edge), *range(size - edge, size)], axis)
    return array


def _writer(shown: Array) -> tuple[Callable[[Any], str], int]:
    """How to write each number, and how wide the widest is. Zeros, nan and infinities do not count for either."""
    if shown.dtype.kind != "f":
        return str, max((len(str(value)) for value in shown.flat), default=1)
    counted = shown[np.isfinite(shown) & (shown != 0)].astype(np.float64)
    sizes, digits = np.abs(counted), _options.precision
    whole, scientific = bool((counted == np.ceil(counted)).all()), _options.sci_mode
    if not sizes.size:
        scientific = False
    elif scientific is None:
        low, high = sizes.min(), sizes.max()
        scientific = bool(high > 1e8 or low < 1e-4 or high / low > 1e3)
    form = f".{digits}e" if scientific else ".0f" if whole else f".{digits}f"
    point = "." if whole and not scientific else ""

    def write(value: float) -> str:
        return f"{value:{form}}{point if math.isfinite(value) else ''}"

    return write, max((len(write(value)) for value in counted.tolist()), default=1)


def _nested(array: Array, write: Callable[[Any], str], width: int, indent: int, cut: bool) -> str:
    """The values in brackets, the first bracket in column ``indent``."""
    if not array.ndim:
        return write(array.item()).rjust(width)
    edge, flat = _options.edgeitems, array.ndim == 1
    gap = cut and len(array) > 2 * edge
    rows = [*array[:edge], *array[len(array) - edge :]] if gap else array
    parts = [_nested(row, write, width, indent + 1, cut) for row in rows]
    if gap:
        parts.insert(edge, " ..." if flat else "...")
    if flat:
        count = max(1, (_options.linewidth - indent) // (width + 2))
        parts = [", ".join(parts[i : i + count]) for i in range(0, len(parts), count)]
    return f"[{(',' + chr(10) * max(1, array.ndim - 1) + ' ' * (indent + 1)).join(parts)}]"


explain_all(globals(), "describe")
