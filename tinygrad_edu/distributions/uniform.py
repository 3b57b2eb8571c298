"""The uniform distribution."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from .. import backends
from ..errors import ArgumentError
from ..inputs.kinds import explain_all
from ..ops.choice import clamp
from ..tensor import Tensor
from ..tensor.random import rand
from .distribution import Distribution, together


class Uniform(Distribution):
    """Every number from ``low`` up to, but not including, ``high`` is equally likely.

    Both are numbers or tensors, which are broadcast. Raises `ArgumentError` where ``low`` is not below ``high``.
    """

    parameters: ClassVar[Mapping[str, int]] = {"low": 0, "high": 0}

    def __init__(self, low: Any, high: Any, validate_args: bool | None = None) -> None:
        self.low, self.high = together(self._name, low=low, high=high)
        super().__init__(self.low.shape, validate_args=validate_args)

    def _limits(self) -> tuple[Any, Any] | None:
        """Both as arrays on the host; None while tracing."""
        backend = backends.of(self.low.array)
        return (backend.to_numpy(self.low.array), backend.to_numpy(self.high.array)) if backend.readable else None

    def _check_parameters(self) -> None:
        limits = self._limits()
        if limits is None:
            return
        low, high = map(np.asarray, limits)
        wrong = np.flatnonzero(~(low < high))
        if wrong.size:
            first, last = low.flat[wrong[0]], high.flat[wrong[0]]
            tried = f"Uniform with low and high {tuple(self.low.shape)} {self.low.dtype}"
            raise ArgumentError(tried, f"low must be below high, but here low={first}, high={last}", "swap them")

    def _check_support(self, value: Tensor) -> None:
        limits = self._limits()
        if limits is not None:
            low, high = limits
            why, mend = (
                "a draw lies between low and high",
                "compare first, or give validate_args=False: log_prob is then -inf",
            )
            self._refuse("value", value, lambda x: ~((x >= low) & (x <= high)), why, mend)

    @property
    def mean(self) -> Tensor:
        """The middle."""
        return (self.high + self.low) / 2

    @property
    def stddev(self) -> Tensor:
        """The width, divided by the root of 12."""
        return (self.high - self.low) / math.sqrt(12)

    @property
    def variance(self) -> Tensor:
        """The width squared, divided by 12."""
        return (self.high - self.low).square() / 12

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """Draws as ``low + (high - low) * noise``, with noise over [0, 1)."""
        noise = rand(self._shape(sample_shape), dtype=self.low.dtype, device=self.low.device)
        return self.low + noise * (self.high - self.low)

    def log_prob(self, value: Any) -> Tensor:
        """The logarithm of the density at ``value``: one number from ``low`` to below ``high``, and -inf elsewhere."""
        if self._validate_args:
            self._check_value("log_prob", value)
        inside = (self.low <= value).to(self.low.dtype) * (self.high > value).to(self.low.dtype)
        return inside.log() - (self.high - self.low).log()

    def cdf(self, value: Any) -> Tensor:
        """How probable a draw of at most ``value`` is."""
        if self._validate_args:
            self._check_value("cdf", value)
        return clamp((value - self.low) / (self.high - self.low), 0, 1)

    def icdf(self, value: Any) -> Tensor:
        """The number that draws stay below with probability ``value``: the inverse of `cdf`."""
        return value * (self.high - self.low) + self.low

    def entropy(self) -> Tensor:
        """How uncertain a draw is, in nats: the logarithm of the width."""
        return (self.high - self.low).log()


explain_all(globals())
