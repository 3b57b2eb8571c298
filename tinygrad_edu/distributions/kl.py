"""How far one distribution is from another: a table of formulas, by the kinds of both."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..common.lines import warn_user
from ..errors import DtypeError, ShapeError
from ..inputs.kinds import explain_all, kind_of
from ..linalg import solve_triangular
from ..ops.activation import softplus
from ..ops.choice import masked_fill
from ..tensor import Tensor
from ..tensor.creation import full_like
from .bernoulli import Bernoulli
from .categorical import Categorical
from .distribution import Distribution
from .independent import Independent
from .multivariate_normal import MultivariateNormal, far_from
from .normal import Normal
from .uniform import Uniform

Formula = Callable[[Any, Any], Tensor]

_FORMULAS: dict[tuple[type, type], Formula] = {}


def register_kl(type_p: type, type_q: type) -> Callable[[Formula], Formula]:
    """Let the decorated function compute `kl_divergence` for these two classes and their subclasses.

    >>> import tinygrad_edu as tg
    >>> class Certain(tg.distributions.Distribution):
    ...     pass
    >>> @register_kl(Certain, Certain)
    ... def same(p, q):
    ...     return tg.zeros(p.batch_shape)
    >>> kl_divergence(Certain((2,)), Certain((2,)))
    tensor([0., 0.])
    """
    for kind in (type_p, type_q):
        if not (isinstance(kind, type) and issubclass(kind, Distribution)):
            why = f"formulas are found by the classes of two distributions, but this is {kind_of(kind)}"
            raise DtypeError("register_kl", why, "write @register_kl(Normal, Normal)")

    def keep(formula: Formula) -> Formula:
        _FORMULAS[type_p, type_q] = formula
        return formula

    return keep


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """How many more nats it takes to encode draws of ``p`` when ``q`` was expected: 0 if they are the same.

    One number for each of the batch. It is not symmetric: swapping ``p`` and ``q`` gives another number. Raises
    NotImplementedError for classes without a formula, `DtypeError` unless both are distributions.
    """
    for name, one in (("p", p), ("q", q)):
        if not isinstance(one, Distribution):
            why = f"{name} is a distribution, but this is {kind_of(one)}"
            raise DtypeError(f"kl_divergence with {name}={kind_of(one)}", why, "pass a Normal(…), or another")
    return _formula(type(p), type(q))(p, q)


def _formula(kind_p: type, kind_q: type) -> Formula:
    """The formula for the nearest base classes. Warns if it depends on which of the two is looked up first."""
    fits = [(a, b) for a, b in _FORMULAS if issubclass(kind_p, a) and issubclass(kind_q, b)]
    if not fits:
        known = "register_kl(…) adds one; average p.log_prob(x) - q.log_prob(x) over draws x of p"
        raise NotImplementedError(f"no formula for {kind_p.__name__} and {kind_q.__name__}: {known}")
    far = {(a, b): (kind_p.__mro__.index(a), kind_q.__mro__.index(b)) for a, b in fits}
    first = min(fits, key=far.__getitem__)
    second = min(fits, key=lambda pair: far[pair][::-1])
    if _FORMULAS[first] is not _FORMULAS[second]:
        names = f"{first[0].__name__}, {second[1].__name__}"
        warn_user(
            f"kl_divergence({kind_p.__name__}, {kind_q.__name__}) has two formulas: register_kl({names})",
            RuntimeWarning,
        )
    return _FORMULAS[first]


# One kind -------------------------------------------------------------------------------------------------------------


@register_kl(Bernoulli, Bernoulli)
def _bernoulli_bernoulli(p: Bernoulli, q: Bernoulli) -> Tensor:
    yes = p.probs * (softplus(-q.logits) - softplus(-p.logits))
    yes = masked_fill(masked_fill(yes, q.probs == 0, math.inf), p.probs == 0, 0)
    no = (1 - p.probs) * (softplus(q.logits) - softplus(p.logits))
    no = masked_fill(masked_fill(no, q.probs == 1, math.inf), p.probs == 1, 0)
    return yes + no


@register_kl(Categorical, Categorical)
def _categorical_categorical(p: Categorical, q: Categorical) -> Tensor:
    each = p.probs * (p.logits - q.logits)
    each = masked_fill(masked_fill(each, q.probs == 0, math.inf), p.probs == 0, 0)
    return each.sum(-1)


@register_kl(Independent, Independent)
def _independent_independent(p: Independent, q: Independent) -> Tensor:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError("no formula for two of Independent that take another number of axes for one draw")
    return p._summed(kl_divergence(p.base_dist, q.base_dist))


@register_kl(MultivariateNormal, MultivariateNormal)
def _vectors_vectors(p: MultivariateNormal, q: MultivariateNormal) -> Tensor:
    if p.event_shape != q.event_shape:
        tried, why = "kl_divergence of two of MultivariateNormal", f"draws are {p.event_shape} and {q.event_shape}"
        raise ShapeError(tried, why, "compare vectors of one size")
    spread = solve_triangular(q._factor, p._factor, upper=False).square().sum((-2, -1))
    far = far_from(q._factor, q.loc - p.loc)
    return q._half_log_det() - p._half_log_det() + 0.5 * (spread + far - p.event_shape[0])


@register_kl(Normal, Normal)
def _normal_normal(p: Normal, q: Normal) -> Tensor:
    ratio = (p.scale / q.scale).square()
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).square() - 1 - ratio.log())


@register_kl(Uniform, Uniform)
def _uniform_uniform(p: Uniform, q: Uniform) -> Tensor:
    wider = ((q.high - q.low) / (p.high - p.low)).log()
    found: Tensor = masked_fill(wider, (q.low > p.low) | (q.high < p.high), math.inf)
    return found


# Two kinds ------------------------------------------------------------------------------------------------------------


@register_kl(Normal, Uniform)
def _normal_uniform(p: Normal, q: Uniform) -> Tensor:
    """Some draws of ``p`` can never come from ``q``."""
    return full_like(p.loc, math.inf)


@register_kl(Uniform, Normal)
def _uniform_normal(p: Uniform, q: Normal) -> Tensor:
    width = p.high - p.low
    distance = (p.high + p.low - 2 * q.loc) / 2
    away = width.square() / 12 + distance.square()  # the mean square distance of draws from q's mean
    return (math.sqrt(2 * math.pi) * q.scale / width).log() + 0.5 * away / q.scale.square()


explain_all(globals())
