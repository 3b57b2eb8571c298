"""The Bernoulli distribution: yes or no. And how probabilities and logits are related."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from ..dtypes import is_float
from ..inputs.kinds import explain_all
from ..ops.activation import sigmoid
from ..ops.choice import clamp
from ..ops.loss import binary_cross_entropy_with_logits_op
from ..settings import enable_grad, no_grad
from ..tensor import Tensor
from ..tensor.creation import arange
from ..tensor.inquiry import finfo
from ..tensor.random import bernoulli
from .distribution import Distribution, one_of, together


class Bernoulli(Distribution):
    """1 with probability ``probs``, else 0. Instead, give ``logits``: ``log(probs / (1 - probs))``.

    A number or a tensor. Raises `ArgumentError` for a probability outside 0 to 1.

    >>> import tinygrad_edu as tg
    >>> coin = tg.distributions.Bernoulli(tg.tensor([0.5, 0.9]))
    >>> coin.log_prob(tg.tensor([1.0, 0.0])).exp(), coin.mean
    (tensor([0.5000, 0.1000]), tensor([0.5000, 0.9000]))
    """

    parameters: ClassVar[Mapping[str, int]] = {"probs": 0, "logits": 0}

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        one_of(self._name, probs, logits)
        if probs is not None:
            (self.probs,) = together(self._name, probs=probs)
        else:
            (self.logits,) = together(self._name, logits=logits)
        super().__init__(self._given.shape, validate_args=validate_args)

    @property
    def _given(self) -> Tensor:
        found: Tensor = getattr(self, self._held()[0])
        return found

    def _check_parameters(self) -> None:
        if "probs" in vars(self):
            why, mend = "a probability lies between 0 and 1", "give logits=…, which may be any numbers"
            self._refuse("probs", self.probs, lambda x: ~((x >= 0) & (x <= 1)), why, mend)
        else:
            self._refuse("logits", self.logits, np.isnan, "logits are numbers", "look for where the nan comes from")

    def _check_support(self, value: Tensor) -> None:
        why, mend = "a draw is 0 or 1", "compare with a threshold: (x > 0.5).float()"
        self._refuse("value", value, lambda x: ~((x == 0) | (x == 1)), why, mend)

    @cached_property
    def logits(self) -> Tensor:
        """The logarithm of the odds: ``log(probs / (1 - probs))``, of probabilities kept away from 0 and 1."""
        with enable_grad():
            inside = within(self.probs)
            return inside.log() - (-inside).log1p()

    @cached_property
    def probs(self) -> Tensor:
        """The probability of 1."""
        with enable_grad():
            found: Tensor = sigmoid(self.logits)
            return found

    @property
    def mean(self) -> Tensor:
        """The probability of 1."""
        return self.probs

    @property
    def variance(self) -> Tensor:
        """``probs * (1 - probs)``."""
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Zeros and ones, outside the graph: ``sample_shape`` of them for each distribution."""
        shape = self._shape(sample_shape)
        with no_grad():
            return bernoulli(self.probs.expand(shape))

    def log_prob(self, value: Any) -> Tensor:
        """The logarithm of the probability of ``value``, 0 or 1."""
        if self._validate_args:
            self._check_value("log_prob", value)
        logits, value = together(f"{self._name}.log_prob", logits=self.logits, value=_floats(value, self.logits))
        return -binary_cross_entropy_with_logits_op(logits, value, None)

    def entropy(self) -> Tensor:
        """How uncertain a draw is, in nats: at most log(2), for a fair coin."""
        found: Tensor = binary_cross_entropy_with_logits_op(self.logits, self.probs, None)
        return found

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """0 and 1 along a new first axis; without ``expand`` the axes of the batch have length 1."""
        return listed(arange(2, dtype=self._given.dtype, device=self._given.device), self.batch_shape, expand)


def within(probs: Tensor) -> Tensor:
    """Probabilities kept away from 0 and 1 by the smallest step of the dtype at 1, so their logarithms are finite."""
    step = float(finfo(probs.dtype).eps)
    found: Tensor = clamp(probs, step, 1 - step)
    return found


def listed(values: Tensor, batch_shape: tuple[int, ...], expand: bool) -> Tensor:
    """Values along the first axis, before those of the batch."""
    values = values.view(-1, *[1] * len(batch_shape))
    return values.expand(-1, *batch_shape) if expand else values


def _floats(value: Any, like: Tensor) -> Any:
    """Integers and bools in the dtype of ``like``."""
    return value.to(like.dtype) if isinstance(value, Tensor) and not is_float(value.dtype) else value


explain_all(globals(), "within", "listed")
