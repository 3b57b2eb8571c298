"""Several distributions treated as one, whose draws are vectors or larger tensors."""

from __future__ import annotations

from typing import Any, Self

from ..errors import DtypeError, ShapeError
from ..inputs.arguments import whole
from ..inputs.kinds import explain_all, kind_of
from ..tensor import Tensor
from .distribution import Distribution


class Independent(Distribution):
    """The last axes of a batch as parts of one draw: its `log_prob` is the sum of theirs.

    ``reinterpreted_batch_ndims`` is the number of these axes. Raises `ShapeError` if the batch has fewer.

    >>> import tinygrad_edu as tg
    >>> action = Independent(tg.distributions.Normal(tg.zeros(5, 2), tg.ones(5, 2)), 1)
    >>> action.batch_shape, action.event_shape, action.log_prob(tg.zeros(5, 2)).shape
    ((5,), (2,), (5,))
    """

    def __init__(
        self, base_distribution: Any, reinterpreted_batch_ndims: int, validate_args: bool | None = None
    ) -> None:
        if not isinstance(base_distribution, Distribution):
            tried = f"Independent({kind_of(base_distribution)}, …)"
            raise DtypeError(tried, "it takes a distribution", "pass a Normal(…), or another")
        batch, inner = base_distribution.batch_shape, base_distribution.event_shape
        tried = f"Independent({base_distribution._name} with batch_shape {batch}, …)"
        axes = whole(tried, "reinterpreted_batch_ndims", reinterpreted_batch_ndims)
        if not 0 <= axes <= len(batch):
            why = f"its batch has {len(batch)} axes, and {axes} are asked for"
            raise ShapeError(
                f"{tried} with reinterpreted_batch_ndims={axes}", why, "take as many as there are, or fewer"
            )
        self.base_dist, self.reinterpreted_batch_ndims = base_distribution, axes
        rest = len(batch) - axes
        super().__init__(batch[:rest], batch[rest:] + inner, validate_args)

    def expand(self, batch_shape: Any) -> Self:
        """The same distributions, each as often as ``batch_shape`` says; no memory is copied."""
        if not isinstance(batch_shape, (tuple, list)):
            self._refuse_size("expand", "batch_shape", batch_shape)
        axes = self.reinterpreted_batch_ndims
        base = self.base_dist.expand((*batch_shape, *self.event_shape[:axes]))
        return type(self)(base, axes, self._validate_args)

    @property
    def mean(self) -> Tensor:
        """The mean of draws."""
        return self.base_dist.mean

    @property
    def variance(self) -> Tensor:
        """The variance of each part of a draw."""
        return self.base_dist.variance

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Draws outside the graph: ``sample_shape`` of them for each distribution."""
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """Draws as a function of the parameters, if the distributions can do that."""
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value: Any) -> Tensor:
        """The sum of the parts' logarithms of probability or density."""
        return self._summed(self.base_dist.log_prob(value))

    def entropy(self) -> Tensor:
        """How uncertain a draw is, in nats: the sum over its parts."""
        return self._summed(self.base_dist.entropy())

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All values that a draw may have; only where no axis was taken from the batch."""
        if self.reinterpreted_batch_ndims:
            self._lacks("enumerate_support", "it would hold every combination of its parts' values")
        return self.base_dist.enumerate_support(expand)

    def _summed(self, x: Tensor) -> Tensor:
        axes = self.reinterpreted_batch_ndims
        return x.sum(tuple(range(-axes, 0))) if axes else x

    def __repr__(self) -> str:
        return f"{self._name}({self.base_dist}, {self.reinterpreted_batch_ndims})"


explain_all(globals())
