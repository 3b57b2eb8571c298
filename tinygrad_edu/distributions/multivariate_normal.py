"""The normal distribution of vectors, whose elements may be correlated."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from ..core.base import TensorBase
from ..dtypes import is_float
from ..errors import ArgumentError, DtypeError, ShapeError
from ..inputs.kinds import explain_all, kind_of
from ..linalg import cholesky, inv, solve_triangular
from ..tensor import Tensor
from ..tensor.random import randn
from .distribution import Distribution

_FORMS = ("covariance_matrix", "precision_matrix", "scale_tril")


class MultivariateNormal(Distribution):
    """Vectors (…, n) around ``loc``; one matrix (…, n, n) gives the spread of their elements, and their correlation.

    It is the covariance, or its inverse, the precision, or its Cholesky factor ``scale_tril``, which costs the least.
    Raises `ArgumentError` unless exactly one of them is given, or if it is not symmetric (or not a Cholesky factor),
    and `LinAlgError` if it is not positive definite.

    >>> import tinygrad_edu as tg
    >>> both = tg.distributions.MultivariateNormal(tg.zeros(2), tg.tensor([[2.0, 1.0], [1.0, 2.0]]))
    >>> both.log_prob(tg.zeros(2)), both.sample((5,)).shape
    (tensor(-2.3872), (5, 2))
    """

    parameters: ClassVar[Mapping[str, int]] = {"loc": 1, **dict.fromkeys(_FORMS, 2)}

    def __init__(
        self,
        loc: Any,
        covariance_matrix: Any = None,
        precision_matrix: Any = None,
        scale_tril: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        forms = (covariance_matrix, precision_matrix, scale_tril)
        given = {name: x for name, x in zip(_FORMS, forms, strict=True) if x is not None}
        if len(given) != 1:
            why = f"one matrix says how it spreads, and {len(given) or 'none'} came"
            raise ArgumentError(self._name, why, f"give one of {', '.join(_FORMS)}")
        ((name, matrix),) = given.items()
        for key, x, axes in (("loc", loc, 1), (name, matrix, 2)):
            if not isinstance(x, TensorBase):
                why = f"{key} is a tensor, and this is {kind_of(x)}"
                raise ArgumentError(f"{self._name} with {key}={kind_of(x)}", why, "make one of it first: tensor(…)")
            if x.array.ndim < axes or not is_float(x.array.dtype):
                what = "vectors (…, n)" if axes == 1 else "matrices (…, n, n)"
                tried = f"{self._name} with {key} {tuple(x.array.shape)} {x.array.dtype}"
                why, mend = f"{key} holds {what} of floats", "give it an axis: unsqueeze(0); or convert it: float()"
                raise (ShapeError if x.array.ndim < axes else DtypeError)(tried, why, mend)
        size = int(loc.shape[-1])
        if tuple(matrix.shape[-2:]) != (size, size):
            tried = f"{self._name} with loc {tuple(loc.shape)} and {name} {tuple(matrix.shape)}"
            why = f"vectors of {size} elements have a matrix of {size} rows and columns"
            raise ShapeError(tried, why, "check which of the two has the size that you want")
        batch = _broadcast(self._name, tuple(loc.shape[:-1]), tuple(matrix.shape[:-2]))
        self.loc = loc.expand(*batch, size)
        setattr(self, name, matrix.expand(*batch, size, size))
        super().__init__(batch, (size,), validate_args)
        self._factor = _factor(name, matrix)

    def _check_parameters(self) -> None:
        self._refuse("loc", self.loc, np.isnan, "a mean is a number", "look for where the nan comes from")
        for name in ("covariance_matrix", "precision_matrix"):
            if name in vars(self):
                why, mend = f"a {name} is symmetric", "make it so: (x + x.mT) / 2"
                away = lambda x: ~np.isclose(x, np.swapaxes(x, -1, -2), atol=1e-6)  # noqa: E731
                self._refuse(name, getattr(self, name), away, why, mend)
        if "scale_tril" in vars(self):
            why, mend = "a Cholesky factor has zeros above its diagonal", "take the triangle: x.tril()"
            self._refuse("scale_tril", self.scale_tril, lambda x: np.triu(x, 1) != 0, why, mend)
            why, mend = "the diagonal of a Cholesky factor is more than 0", "make it so by softplus() or exp()"
            diagonal = self.scale_tril.diagonal(dim1=-2, dim2=-1)
            self._refuse("scale_tril's diagonal", diagonal, lambda x: ~(x > 0), why, mend)

    def _check_support(self, value: Tensor) -> None:
        self._refuse("value", value, np.isnan, "draws are numbers", "look for where the nan comes from")

    @cached_property
    def scale_tril(self) -> Tensor:
        """The Cholesky factor of the covariance."""
        return self._factor.expand(*self._batch_shape, *self._event_shape, *self._event_shape)

    @cached_property
    def covariance_matrix(self) -> Tensor:
        """How the elements spread, and go together: the means of products of their distances from `mean`."""
        found = self._factor @ self._factor.mT
        return found.expand(*self._batch_shape, *self._event_shape, *self._event_shape)

    @cached_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance."""
        found = inv(self._factor @ self._factor.mT)
        return found.expand(*self._batch_shape, *self._event_shape, *self._event_shape)

    @property
    def mean(self) -> Tensor:
        """``loc``."""
        return self.loc

    @property
    def variance(self) -> Tensor:
        """The diagonal of the covariance."""
        return self._factor.square().sum(-1).expand(*self._batch_shape, *self._event_shape)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """Draws as ``loc + scale_tril @ noise``, so that gradients reach both."""
        noise = randn(self._shape(sample_shape), dtype=self.loc.dtype, device=self.loc.device)
        return self.loc + (self._factor @ noise.unsqueeze(-1)).squeeze(-1)

    def log_prob(self, value: Any) -> Tensor:
        """The logarithm of the density at ``value``."""
        if self._validate_args:
            self._check_value("log_prob", value)
        far = far_from(self._factor, value - self.loc)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + far) - self._half_log_det()

    def entropy(self) -> Tensor:
        """How uncertain a draw is, in nats."""
        found = 0.5 * self._event_shape[0] * (1 + math.log(2 * math.pi)) + self._half_log_det()
        return found.expand(self._batch_shape)

    def _half_log_det(self) -> Tensor:
        found: Tensor = self._factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)
        return found


def far_from(factor: Tensor, distance: Tensor) -> Tensor:
    """The squared distance, counted in the spread that ``factor`` tells of (after Mahalanobis)."""
    found: Tensor = solve_triangular(factor, distance.unsqueeze(-1), upper=False).squeeze(-1).square().sum(-1)
    return found


def _factor(name: str, matrix: Any) -> Any:
    """The Cholesky factor of the covariance."""
    if name == "scale_tril":
        return matrix
    if name == "covariance_matrix":
        return cholesky(matrix)
    # Of the precision P = F.mT @ F with F lower triangular follows that the covariance has the factor inv(F). Such an F
    # is found by Cholesky from the other corner.
    return inv(cholesky(matrix.flip(-2, -1)).flip(-2, -1).mT)


def _broadcast(name: str, first: tuple[int, ...], second: tuple[int, ...]) -> tuple[int, ...]:
    try:
        return np.broadcast_shapes(first, second)
    except ValueError:
        why = f"the batches are {first} and {second}, and only a 1 can be stretched"
        raise ShapeError(f"{name} of several", why, "let the leading axes agree, or be 1") from None


explain_all(globals())
