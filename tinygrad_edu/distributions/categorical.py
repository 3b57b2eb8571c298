"""The categorical distribution: one of several classes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from ..core.base import TensorBase
from ..errors import ShapeError
from ..inputs.kinds import explain_all
from ..ops.choice import clamp
from ..ops.gathering import gather
from ..ops.shapes import broadcast_tensors
from ..ops.softmax import logsumexp, softmax
from ..settings import enable_grad, no_grad
from ..tensor import Tensor
from ..tensor.creation import arange, full
from ..tensor.inquiry import finfo
from ..tensor.random import multinomial
from .bernoulli import listed, within
from .distribution import Distribution, one_of, together


class Categorical(Distribution):
    """A class from 0 to n - 1, drawn with probabilities ``probs``, or by ``logits``: give one of them.

    The last axis holds the classes, those before it are the batch. ``probs`` are divided by their sum, and ``logits``
    become logarithms of probabilities. Raises `ArgumentError` for negative weights and for those that are all 0,
    `ShapeError` for a single number.

    >>> import tinygrad_edu as tg
    >>> policy = tg.distributions.Categorical(logits=tg.tensor([1.0, 1.0, 1.0, 1.0]))
    >>> policy.log_prob(tg.tensor(2)), policy.entropy()
    (tensor(-1.3863), tensor(1.3863))
    """

    parameters: ClassVar[Mapping[str, int]] = {"probs": 1, "logits": 1}

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        one_of(self._name, probs, logits)
        name, x = ("probs", probs) if probs is not None else ("logits", logits)
        (x,) = together(self._name, floats=False, **{name: x})
        if not x.ndim:
            why, mend = f"the last axis of {name} holds the classes, but a single number has none", "give a vector"
            raise ShapeError(f"{self._name} with {name} ()", why, mend)
        if probs is not None:
            self.probs = x / x.sum(-1, keepdim=True)
        else:
            self.logits = x - logsumexp(x, -1, keepdim=True)
        super().__init__(x.shape[:-1], validate_args=validate_args)

    @property
    def _given(self) -> Tensor:
        found: Tensor = getattr(self, self._held()[0])
        return found

    @property
    def _classes(self) -> int:
        return int(self._given.shape[-1])

    def _check_parameters(self) -> None:
        if "probs" in vars(self):
            why = "weights must not be negative, or all 0: divided by their sum, they lie between 0 and 1"
            self._refuse("probs", self.probs, lambda x: ~((x >= 0) & (x <= 1)), why, "give logits=…, any numbers")
        else:
            why = "logits are numbers, and not all -inf"
            self._refuse("logits", self.logits, np.isnan, why, "look for where the nan comes from")

    def _check_support(self, value: Tensor) -> None:
        n = self._classes
        why, mend = f"a draw is a class, an integer from 0 to {n - 1}", "look at the labels and at the last axis"
        self._refuse("value", value, lambda x: ~((x >= 0) & (x < n) & (x == np.floor(x))), why, mend)

    @cached_property
    def logits(self) -> Tensor:
        """The logarithms of the probabilities, which are first kept away from 0."""
        with enable_grad():
            return within(self.probs).log()

    @cached_property
    def probs(self) -> Tensor:
        """The probability of each class."""
        with enable_grad():
            found: Tensor = softmax(self.logits, -1)
            return found

    @property
    def mean(self) -> Tensor:
        """nan: classes are names, which have no mean."""
        return full(self.batch_shape, math.nan, dtype=self.probs.dtype, device=self.probs.device)

    @property
    def variance(self) -> Tensor:
        """nan, as the mean is."""
        return self.mean

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Classes as int64, outside the graph: ``sample_shape`` of them for each distribution."""
        shape = self._shape(sample_shape)
        count = math.prod(tuple(sample_shape))
        with no_grad():
            drawn = multinomial(self.probs.reshape(-1, self._classes), count, True)
            return drawn.t().reshape(shape)

    def log_prob(self, value: Any) -> Tensor:
        """The logarithm of the probability of the class ``value``."""
        if self._validate_args or not isinstance(value, TensorBase):
            self._check_value("log_prob", value)
        place, logits = broadcast_tensors(value.long().unsqueeze(-1), self.logits)
        return gather(logits, -1, place[..., :1]).squeeze(-1)

    def entropy(self) -> Tensor:
        """How uncertain a draw is, in nats: from 0 to log(n)."""
        least = float(finfo(self.logits.dtype).min)  # 0 times -inf would be nan
        return -(clamp(self.logits, least) * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """0 to n - 1 along a new first axis; without ``expand`` the axes of the batch have length 1."""
        return listed(arange(self._classes, device=self._given.device), self.batch_shape, expand)


explain_all(globals())
