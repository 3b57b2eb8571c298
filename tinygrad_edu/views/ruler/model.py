"""Numbers by size, and what each format makes of them, as plain data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ...common.wording import shown
from ...errors import ArgumentError, IndexRangeError
from ...quantise import quantise_tensor
from ...tensor import tensor

LOW, HIGH = -44, 20  # powers of two between which the number line is drawn
LARGEST = 44  # the largest scale that can be chosen, as a power of two
CLOSE = 0.01  # what is farther off than this share of itself is counted


@dataclass(frozen=True)
class Format:
    """A format of floats: powers of two of its smallest number, its smallest with all digits, and its largest one.

    ``digits`` are bits after the leading one. int8 has none of these: its steps are equal, and its scale comes from
    the numbers.
    """

    name: str
    dtype: str  # of ml_dtypes or NumPy; "" for int8
    smallest: int = 0
    normal: int = 0
    largest: float = 0.0
    digits: int = 0


FORMATS = (
    Format("float16", "float16", -24, -14, 65504.0, 10),
    Format("bfloat16", "bfloat16", -133, -126, 3.3895313892515355e38, 7),
    Format("e4m3", "float8_e4m3fn", -9, -6, 448.0, 3),
    Format("e5m2", "float8_e5m2", -16, -14, 57344.0, 2),
    Format("int8", ""),
)
BY_NAME = {one.name: one for one in FORMATS}


@dataclass(frozen=True)
class Sample:
    """Numbers other than 0, float32, and how many zeros there are beside them.

    ``weights`` and ``rate`` say which step is to be made with them, in the order of ``values``, where that is known.
    """

    values: Any  # a NumPy array, flat
    zeros: int
    name: str = "numbers"
    weights: Any = None
    rate: float | None = None

    @cached_property
    def bins(self) -> dict[int, int]:
        """How many numbers there are from 2**k up to 2**(k + 1), by k."""
        exponents = np.frexp(np.abs(self.values))[1] - 1
        found, many = np.unique(exponents, return_counts=True)
        return dict(zip(found.tolist(), many.tolist(), strict=True))


@dataclass(frozen=True)
class Counts:
    """What a format makes of a sample: how many become 0, are too large, or are off by more than `CLOSE` of themselves.

    ``changed`` are the weights that a step changes, if these are known; ``possible`` those that it changes in float32.
    """

    zero: int
    over: int
    off: int
    whole: int
    changed: int | None = None
    possible: int = 0


@dataclass(frozen=True)
class RulerState:
    """The sample, the format that it is cast to, and the power of two that it is multiplied by before."""

    sample: Sample
    format: str = "float16"
    power: int = 0
    ask: str = ""
    steps: int = 0  # steps of training that were made here
    trains: bool = False

    @cached_property
    def before(self) -> Counts:
        """What the format makes of the numbers as they are."""
        return counts(self.sample, BY_NAME[self.format], 0)

    @cached_property
    def now(self) -> Counts:
        """What it makes of them once they are multiplied."""
        return counts(self.sample, BY_NAME[self.format], self.power)


def read(values: Sequence[Any], name: str, weights: Sequence[Any] = (), rate: float | None = None) -> Sample:
    """A sample of arrays. Raises `ArgumentError` where there is nothing to show, or a number is not finite."""
    with np.errstate(over="ignore"):  # what is too large for float32 is refused below
        flat = np.concatenate([np.asarray(one, dtype=np.float32).reshape(-1) for one in values] or [np.zeros(0, "f4")])
    if not np.isfinite(flat).all():
        why, mend = "inf and nan have no place on a number line", "look for the first with autograd.detect_anomaly"
        raise ArgumentError(f"{name} that are not finite in float32", why, mend)
    there = flat != 0
    if not there.any():
        raise ArgumentError(f"{name} that are all 0", "0 has no place on a line of powers of two", "give others")
    held = (
        np.concatenate([np.asarray(one, dtype=np.float32).reshape(-1) for one in weights])[there] if weights else None
    )
    return Sample(flat[there], int(flat.size - there.sum()), name, held, rate)


def counts(sample: Sample, kind: Format, power: int) -> Counts:
    """Cast the numbers, multiplied by ``2**power``, and count. Nothing is estimated."""
    values = np.ldexp(sample.values.astype(np.float64), power if kind.dtype else 0)  # int8 has a scale of its own
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        found = _cast(values, kind)
        zero, finite = found == 0, np.isfinite(found)
        off = finite & ~zero & (np.abs(found - values) > CLOSE * np.abs(values))
    steps = _steps(sample, kind) if sample.weights is not None and kind.dtype else (None, 0)
    return Counts(int(zero.sum()), int((~finite).sum()), int(off.sum()), values.size, *steps)


def _type(kind: Format) -> Any:
    import ml_dtypes

    return np.dtype(getattr(ml_dtypes, kind.dtype, None) or kind.dtype)


def _cast(values: Any, kind: Format) -> Any:
    """The numbers as the format keeps them, in float64. Beyond the largest they are inf or nan."""
    if not kind.dtype:
        return quantise_tensor(tensor(values, dtype="float64")).dequantise().numpy().astype(np.float64)
    return values.astype(np.float32).astype(_type(kind)).astype(np.float64)


def _steps(sample: Sample, kind: Format) -> tuple[int, int]:
    """Weights that ``w - rate * g`` changes, if they are kept in the format, and in float32."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        step = np.float32(sample.rate) * sample.values
        held = sample.weights.astype(_type(kind))
        after = (held.astype(np.float32) - step).astype(_type(kind))
        return int((after != held).sum()), int((sample.weights - step != sample.weights).sum())


# What a learner does ------------------------------------------------------------------------------------------------


def known_format(given: Any) -> str:
    """The name of a format. Raises `ArgumentError` for anything else."""
    if not (isinstance(given, str) and given in BY_NAME):
        raise ArgumentError(f"format={shown(given, 40)}", f"the formats are {', '.join(BY_NAME)}", 'give format="e4m3"')
    return given


def scaled(state: RulerState, power: int) -> RulerState:
    """Multiply by another power of two. Raises `IndexRangeError` beyond those there are."""
    if not 0 <= power <= LARGEST:
        why = f"the scale goes from 1 to 2**{LARGEST}"
        raise IndexRangeError(f"a scale of 2**{power}", why, f"give a power from 0 to {LARGEST}")
    return replace(state, power=power)


def moved(state: RulerState, sample: Sample, steps: int) -> RulerState:
    """After so many more steps of training."""
    return replace(state, sample=sample, steps=state.steps + steps)
