"""The base of all distributions: shapes, checks of arguments, and errors for methods that some do not have."""

from __future__ import annotations

import copy
import math
import numbers
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, NoReturn, Self

import numpy as np

from .. import backends
from ..common.wording import shown
from ..core.base import TensorBase
from ..dtypes import is_float
from ..errors import ArgumentError, DtypeError, ShapeError
from ..inputs.arguments import new_shape
from ..inputs.kinds import explain_all, kind_of
from ..ops.shapes import broadcast_tensors
from ..settings import modes, no_grad
from ..tensor import Tensor, tensor

Shape = tuple[int, ...]
Wrong = Callable[[Any], Any]  # of an array, where it is wrong


class Distribution:
    """The base: ``batch_shape`` is how many distributions this is, ``event_shape`` the shape of one draw of one.

    A draw has the shape ``sample_shape + batch_shape + event_shape``. In your own subclass, name the parameters in
    ``parameters``, each with the number of its last axes that are not part of the batch: `expand` and `repr` need them.

    Unless ``validate_args`` is False, parameters and the values of `log_prob` and `cdf` are checked, and refused with
    `ArgumentError` or `ShapeError`. None means the default of `set_default_validate_args`: True, or False with
    ``python -O``.
    """

    parameters: ClassVar[Mapping[str, int]] = {}
    _validate_args = __debug__

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Set whether distributions made from now on check their arguments, unless ``validate_args`` is given."""
        if value not in (True, False):
            why = f"checks are on or off, but this is {kind_of(value)}"
            raise ArgumentError(f"set_default_validate_args({shown(value)})", why, "write True or False")
        Distribution._validate_args = bool(value)

    def __init__(self, batch_shape: Any = (), event_shape: Any = (), validate_args: bool | None = None) -> None:
        self._batch_shape: Shape = new_shape(self._name, (tuple(batch_shape),))
        self._event_shape: Shape = new_shape(self._name, (tuple(event_shape),))
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._check_parameters()

    @property
    def _name(self) -> str:
        return type(self).__name__

    # Shapes -----------------------------------------------------------------------------------------------------------

    @property
    def batch_shape(self) -> Shape:
        """How many distributions these are, as a shape."""
        return self._batch_shape

    @property
    def event_shape(self) -> Shape:
        """The shape of one draw of one distribution: () for a number."""
        return self._event_shape

    def expand(self, batch_shape: Any) -> Self:
        """The same distributions, each as often as ``batch_shape`` says; no memory is copied.

        Raises `ShapeError` where the parameters cannot be stretched to it.
        """
        if not isinstance(batch_shape, (tuple, list)):
            self._refuse_size("expand", "batch_shape", batch_shape)
        twin = copy.copy(self)
        for name in self._held():
            x, tail = getattr(self, name), self.parameters[name]
            kept = tuple(x.shape[x.ndim - tail :])
            wider = x.expand(*batch_shape, *kept) if batch_shape or kept else x.expand(())
            setattr(twin, name, wider)
            twin._batch_shape = tuple(wider.shape[: wider.ndim - tail])
        return twin

    def _held(self) -> list[str]:
        """The parameters that exist so far: of probabilities and logits, one may not be computed yet."""
        return [name for name in self.parameters if name in vars(self)]

    def _shape(self, sample_shape: Any) -> Shape:
        """The shape of draws."""
        if not isinstance(sample_shape, (tuple, list)):
            self._refuse_size("sample", "sample_shape", sample_shape)
        return new_shape(f"{self._name}.sample", (tuple(sample_shape) + self._batch_shape + self._event_shape,))

    def _refuse_size(self, method: str, name: str, given: Any) -> NoReturn:
        why, mend = f"{name} is a tuple, but this is {kind_of(given)}", f"write {name}=(3,)"
        raise DtypeError(f"{self._name}.{method} with {name}={shown(given)}", why, mend)

    # What a distribution can do ---------------------------------------------------------------------------------------

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Draws outside the graph: ``sample_shape`` of them for each distribution."""
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """Draws as a function of the parameters, so gradients reach those. Only where such a function exists."""
        self._lacks("rsample", "sample() draws without gradients; learn by log_prob() of the draws")

    def log_prob(self, value: Any) -> Tensor:
        """The logarithm of the probability of ``value``, or of its density where draws are real numbers."""
        self._lacks("log_prob", "define it")

    def cdf(self, value: Any) -> Tensor:
        """How probable a draw of at most ``value`` is."""
        self._lacks("cdf", "there is no formula for it, or none was needed; count draws")

    def icdf(self, value: Any) -> Tensor:
        """The number that draws stay below with probability ``value``: the inverse of `cdf`."""
        self._lacks("icdf", "there is no formula for it, or none was needed; sort draws")

    def entropy(self) -> Tensor:
        """How uncertain a draw is, in nats: the mean of ``-log_prob``."""
        self._lacks("entropy", "average -log_prob() over draws")

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All values that a draw may have, along a new first axis; with ``expand``, stretched to the batch."""
        self._lacks("enumerate_support", "its draws cannot be listed")

    @property
    def mean(self) -> Tensor:
        """The mean of draws."""
        self._lacks("mean", "average draws")

    @property
    def variance(self) -> Tensor:
        """The mean of draws' squared distances from `mean`."""
        self._lacks("variance", "compute it from draws")

    @property
    def stddev(self) -> Tensor:
        """The standard deviation: the root of `variance`."""
        return self.variance.sqrt()

    def _lacks(self, what: str, instead: str) -> NoReturn:
        raise NotImplementedError(f"{self._name} has no {what}: {instead}")

    # Checks -----------------------------------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        """Refuse impossible parameters. For subclasses."""

    def _check_support(self, value: Tensor) -> None:
        """Refuse a value that is never drawn. For subclasses."""

    def _check_value(self, method: str, value: Any) -> None:
        """Refuse a value that is not a tensor, does not broadcast to the batch, or can never be drawn."""
        if not isinstance(value, Tensor):
            why = f"a value is a tensor, but this is {kind_of(value)}"
            raise ArgumentError(f"{self._name}.{method} of {shown(value)}", why, "make a tensor of it first: tensor(…)")
        shape, own = tuple(value.shape), self._batch_shape + self._event_shape
        fits = all(1 in (m, n) or m == n for m, n in zip(reversed(shape), reversed(own), strict=False))
        if not fits:
            tried, why = f"{self._name}.{method} of a value {shape}", f"it cannot be stretched to the batch, {own}"
            raise ShapeError(tried, why, "let the last axes agree with batch_shape, or be 1")
        self._check_support(value)

    def _refuse(self, name: str, x: Tensor, wrong: Wrong, why: str, mend: str) -> None:
        """Raise `ArgumentError` if an element of ``x`` is wrong. While tracing, nothing is checked."""
        backend = backends.of(x.array)
        if not backend.readable:
            return
        values = np.asarray(backend.to_numpy(x.array))
        found = wrong(values)  # limits may have stretched it
        bad = np.broadcast_to(values, found.shape)[found]
        if bad.size:
            tried = f"{self._name} with {name} {tuple(x.shape)} {x.dtype}"
            raise ArgumentError(tried, f"{why}, but {name} holds {bad.flat[0]}", mend)

    def __repr__(self) -> str:
        told = [(name, getattr(self, name)) for name in self._held()]
        return f"{self._name}({', '.join(f'{name}: {_short(x)}' for name, x in told)})"


def _short(x: Tensor) -> str:
    if math.prod(x.shape) != 1:
        return str(tuple(x.shape))
    return str(x.item()) if x.ndim == 0 else str(x.detach())


def together(name: str, floats: bool = True, **given: Any) -> list[Tensor]:
    """Numbers and tensors as tensors of one shape. Numbers take the dtype of the first tensor, or the default one.

    Tensors of integers are refused, unless ``floats`` is False.
    """
    for key, value in given.items():
        if not isinstance(value, (TensorBase, numbers.Real)):
            why = f"{key} is a number or a tensor, but this is {kind_of(value)}"
            raise ArgumentError(f"{name} with {key}={shown(value)}", why, "make a tensor of it first: tensor(…)")
    first = next((x for x in given.values() if isinstance(x, TensorBase)), None)
    dtype, device = (modes().dtype, None) if first is None else (first.dtype, first.device)
    made = [x if isinstance(x, TensorBase) else tensor(x, dtype=dtype, device=device) for x in given.values()]
    for key, x in zip(given, made, strict=True):
        if floats and not is_float(x.dtype):
            why, mend = f"{key} is {x.dtype}, but its parameters have fractions", f"convert it: {key}.float()"
            raise DtypeError(f"{name} with {key} {tuple(x.shape)} {x.dtype}", why, mend)
    found: list[Tensor] = list(broadcast_tensors(*made))
    return found


def one_of(name: str, probs: Any, logits: Any) -> None:
    """Refuse both or neither."""
    if (probs is None) == (logits is None):
        why = f"it takes either probabilities or logits, but {'neither' if probs is None else 'both'} came"
        raise ArgumentError(f"{name} with probs and logits", why, f"give one of them: {name}(probs=…)")


explain_all(globals(), "together", "one_of")
