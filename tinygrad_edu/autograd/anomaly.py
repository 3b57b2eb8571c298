"""Finding the operation at which a gradient stops being a number: `detect_anomaly`, as in PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..common.lines import describe_line
from ..common.wording import exact
from ..core.base import TensorBase
from ..core.slow import Call, Interceptor
from ..dtypes import is_float
from ..errors import AutogradError
from ..settings import set_observers

_MENDS = {
    "log": "keep what goes into log above 0: x.clamp(min=1e-8).log(), or log_softmax in place of softmax and log",
    "sqrt": "the slope of sqrt at 0 is infinite: add a small number under the root",
    "div": "keep what is divided by away from 0: add a small number to it",
    "pow": "the slope of a power below 1 is infinite at 0, and a negative number has no fractional power",
    "norm": "the norm of zeros has no slope: add a small number under its root",
    "where": "both branches of where are differentiated: make the one that is not taken finite too",
}
_MENDS |= dict.fromkeys(("log2", "log10", "log1p"), _MENDS["log"]) | {"rsqrt": _MENDS["sqrt"]}


class detect_anomaly(Interceptor):
    r"""In this block, backward stops at the first operation that makes a gradient nan, and names its line in forward.

    The error also says where a nan had come up in forward, or where the gradient had become infinite before, if it
    did: the cause is often there. Each result is looked through, which takes time. ``check_nan=False`` turns the
    search off: errors of backward name the line of forward in any case.

    Raises `AutogradError` from `backward` and `grad`.

    >>> import tinygrad_edu as tg
    >>> x = tg.tensor([0.0, 4.0], requires_grad=True)
    >>> with detect_anomaly():
    ...     try:
    ...         (x.sqrt() * 0).sum().backward()
    ...     except tg.errors.AutogradError as error:
    ...         print(error.tried, error.why, sep="\n")
    backward of sqrt (shape (2,), float32)
    its gradient is nan in 1 of 2 places: 0 times an infinite slope, or a number that was nan already
    """

    keeps = False

    def __init__(self, check_nan: bool = True) -> None:
        self.check_nan = bool(check_nan)
        self._first_nan = ""  # the operation whose result was the first to hold a nan
        self._first_infinity = ""  # the operation whose backward first made a gradient infinite

    def forward(self, call: Call, proceed: Callable[[], Any]) -> Any:
        """Note the first operation that makes a nan of numbers."""
        with np.errstate(all="ignore"):  # this says it better than NumPy's warnings
            result = proceed()
        searching = self.check_nan and not self._first_nan
        if searching and _count(result, _is_nan) and not any(_count(x, _is_nan) for x in call.operands):
            self._first_nan = _place(call.op.name, call.line)
        return result

    def backward(self, node: Any, g: Any, proceed: Callable[[], tuple[Any, ...]]) -> tuple[Any, ...]:
        """Stop at a nan that was not in the gradient that arrived."""
        with np.errstate(all="ignore"):
            grads = proceed()
        if not self.check_nan or _count(g, _is_nan):
            return grads
        for part in grads:
            if found := _count(part, _is_nan):
                raise self._error(node, part, found)
            if not self._first_infinity and _count(part, _is_infinite) and not _count(g, _is_infinite):
                self._first_infinity = _place(node.op.name, node.line)
        return grads

    def _error(self, node: Any, part: Any, found: int) -> AutogradError:
        array, name = getattr(part, "array", part), node.op.name
        tried = f"backward of {name} (shape {tuple(array.shape)}, {array.dtype})"
        why = f"its gradient is nan in {exact(found)} of {exact(array.size)} places"
        if self._first_nan:
            why += f": in forward, the first nan was the result of {self._first_nan}"
        elif self._first_infinity:
            why += f": the gradient had become infinite at {self._first_infinity}, and 0 times infinity is nan"
        else:
            why += ": 0 times an infinite slope, or a number that was nan already"
        mend = _MENDS.get(name, f"look at the values that go into {name}: at 0, at infinity, at the largest")
        return AutogradError(tried, why, mend, node.line)


class set_detect_anomaly(detect_anomaly):
    """Switch `detect_anomaly` on or off: at once, or for a ``with`` block."""

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        super().__init__(check_nan)
        self._mode = bool(mode)
        self._before: tuple[Any, ...] = set_observers(self._with_or_without)

    def _with_or_without(self, observers: tuple[Any, ...]) -> tuple[Any, ...]:
        others = tuple(observer for observer in observers if not isinstance(observer, detect_anomaly))
        return (*others, self) if self._mode else others

    def __enter__(self) -> Any:
        return self  # it is in force already

    def _leave(self, *exception: Any) -> None:
        before = self._before
        set_observers(lambda observers: before)


def _is_nan(array: Any) -> Any:
    return array != array


def _is_infinite(array: Any) -> Any:
    return abs(array) == float("inf")


def _count(value: Any, kind: Callable[[Any], Any]) -> int:
    """How many numbers of a tensor or array are of this kind."""
    array = value.array if isinstance(value, TensorBase) else value
    return int(kind(array).sum()) if hasattr(array, "dtype") and is_float(array.dtype) else 0


def _place(name: str, line: Any) -> str:
    where = describe_line(line)
    return f"{name} ({where})" if where else name
