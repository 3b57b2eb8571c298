"""The normal distribution."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from ..inputs.arguments import as_tensor
from ..inputs.kinds import explain_all
from ..ops.unary import erf
from ..settings import no_grad
from ..tensor import Tensor
from ..tensor.random import normal, randn
from .distribution import Distribution, together
from .quantile import Quantile

_ROOT_2, _HALF_LOG_2_PI = math.sqrt(2), math.log(2 * math.pi) / 2


class Normal(Distribution):
    """The bell curve around ``loc``, its mean, with the standard deviation ``scale``.

    Both are numbers or tensors, which are broadcast. Raises `ArgumentError` for a ``scale`` that is not more than 0.

    >>> import tinygrad_edu as tg
    >>> height = tg.distributions.Normal(170.0, 10.0)
    >>> height.cdf(tg.tensor(180.0)), height.sample((2, 3)).shape
    (tensor(0.8413), (2, 3))
    """

    parameters: ClassVar[Mapping[str, int]] = {"loc": 0, "scale": 0}

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = together(self._name, loc=loc, scale=scale)
        super().__init__(self.loc.shape, validate_args=validate_args)

    def _check_parameters(self) -> None:
        self._refuse("loc", self.loc, np.isnan, "a mean is a number", "look for where the nan comes from")
        why, mend = "a standard deviation is more than 0", "make it positive with softplus() or exp()"
        self._refuse("scale", self.scale, lambda x: ~(x > 0), why, mend)

    def _check_support(self, value: Tensor) -> None:
        self._refuse("value", value, np.isnan, "draws are numbers", "look for where the nan comes from")

    @property
    def mean(self) -> Tensor:
        """``loc``."""
        return self.loc

    @property
    def stddev(self) -> Tensor:
        """``scale``."""
        return self.scale

    @property
    def variance(self) -> Tensor:
        """``scale`` squared."""
        return self.scale * self.scale

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Draws outside the graph: ``sample_shape`` of them for each distribution."""
        shape = self._shape(sample_shape)
        with no_grad():
            return normal(self.loc.expand(shape), self.scale.expand(shape))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """Draws as ``loc + scale * noise``: their derivative by ``loc`` is 1, and by ``scale`` the noise."""
        noise = randn(self._shape(sample_shape), dtype=self.loc.dtype, device=self.loc.device)
        return self.loc + noise * self.scale

    def log_prob(self, value: Any) -> Tensor:
        """The logarithm of the density at ``value``."""
        if self._validate_args:
            self._check_value("log_prob", value)
        distance = value - self.loc
        return -(distance * distance) / (2 * self.variance) - self.scale.log() - _HALF_LOG_2_PI

    def cdf(self, value: Any) -> Tensor:
        """How probable a draw of at most ``value`` is."""
        if self._validate_args:
            self._check_value("cdf", value)
        return (erf((value - self.loc) / self.scale / _ROOT_2) + 1) * 0.5

    def icdf(self, value: Any) -> Tensor:
        """The number that draws stay below with probability ``value``: the inverse of `cdf`; nan outside 0 to 1."""
        return self.loc + self.scale * Quantile.apply(as_tensor(value))

    def entropy(self) -> Tensor:
        """How uncertain a draw is, in nats: more, the larger ``scale``."""
        return self.scale.log() + (0.5 + _HALF_LOG_2_PI)


explain_all(globals())
