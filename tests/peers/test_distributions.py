"""Distributions beside PyTorch's: values, gradients, shapes, what is refused, and how they read."""

from __future__ import annotations

import itertools
import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tinygrad_edu import distributions

torch = pytest.importorskip("torch", reason="needs PyTorch: pip install -e '.[peers]'")
# Infinities and nan are answers here, as they are there.
pytestmark = [pytest.mark.peers, pytest.mark.filterwarnings("ignore:divide by zero|invalid value:RuntimeWarning")]

RNG = np.random.default_rng(0)
REAL, SHARE = RNG.normal(size=(2, 3)), RNG.uniform(0.05, 0.95, (2, 3))
WEIGHTS = RNG.uniform(0.1, 3, (2, 3))
SPREAD = np.tril(RNG.uniform(0.5, 1.5, (2, 3, 3)))
# The kind, its parameters, and a value that it may draw.
CASES: dict[str, tuple[str, dict[str, Any], Any]] = {
    "normal": ("Normal", {"loc": REAL, "scale": WEIGHTS}, REAL * 2),
    "normal, stretched": ("Normal", {"loc": REAL, "scale": WEIGHTS[0]}, REAL[:1]),
    "normal of numbers": ("Normal", {"loc": 0.5, "scale": 2}, REAL),
    "normal of a number and a tensor": ("Normal", {"loc": 0, "scale": WEIGHTS}, REAL[1]),
    "uniform": ("Uniform", {"low": REAL - 1, "high": REAL + WEIGHTS}, REAL),
    "uniform of numbers": ("Uniform", {"low": -1, "high": 3.5}, SHARE),
    "uniform, at its end": ("Uniform", {"low": REAL, "high": REAL + 1}, REAL + 1),
    "bernoulli": ("Bernoulli", {"probs": SHARE}, np.round(SHARE)),
    "bernoulli of logits": ("Bernoulli", {"logits": REAL * 30}, np.round(SHARE)),
    "bernoulli of a number": ("Bernoulli", {"probs": 0.25}, np.array([0.0, 1.0])),
    "bernoulli, certain": ("Bernoulli", {"probs": np.array([0.0, 1.0, 0.5])}, np.array([0.0, 1.0, 1.0])),
    "independent": ("Independent", {"loc": REAL, "scale": WEIGHTS}, REAL * 2),
    "independent, all axes": ("Independent of all", {"loc": REAL, "scale": WEIGHTS[0]}, REAL * 2),
    "vectors": ("MultivariateNormal", {"loc": REAL, "covariance_matrix": SPREAD @ SPREAD.mT}, REAL * 2),
    "vectors, one": ("MultivariateNormal", {"loc": REAL[0], "precision_matrix": SPREAD[0] @ SPREAD[0].T}, REAL[1]),
    "vectors of a factor": ("MultivariateNormal", {"loc": REAL[0], "scale_tril": SPREAD}, REAL),
    "categorical": ("Categorical", {"probs": WEIGHTS}, np.array([0, 2])),
    "categorical of logits": ("Categorical", {"logits": REAL * 10}, np.array([[1, 2], [0, 0], [2, 1]])),
    "categorical, one": ("Categorical", {"probs": WEIGHTS[0]}, np.array([[0], [2]])),
    "categorical, certain": ("Categorical", {"probs": np.array([[0.0, 1.0, 1.0]])}, np.array([1])),
    "categorical, with -inf": ("Categorical", {"logits": np.array([0.0, -np.inf, 1.0])}, np.array([0, 2])),
}
EVERY = pytest.mark.parametrize("case", CASES)
DTYPES = pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-12), ("float32", 2e-6)])


def made(library: Any, kind: str, given: dict[str, Any]) -> Any:
    if kind.startswith("Independent"):
        normal = library.distributions.Normal(**given)
        return library.distributions.Independent(normal, 2 if kind.endswith("all") else 1)
    return getattr(library.distributions, kind)(**given)


class Side:
    """A case in one library."""

    def __init__(self, library: Any, case: str, dtype: str = "float64") -> None:
        self.library, self.dtype = library, dtype
        kind, given, value = CASES[case]
        self.params = {k: self.tensor(v).requires_grad_() if isinstance(v, np.ndarray) else v for k, v in given.items()}
        self.made = made(library, kind, self.params)
        self.value = self.tensor(value)

    def tensor(self, array: Any) -> Any:
        return self.library.tensor(array.astype(self.dtype) if array.dtype.kind == "f" else array)

    def gradients(self, result: Any) -> list[Any]:
        """Those of the weighed sum of the result by parameters and value."""
        asked = [x for x in self.params.values() if not isinstance(x, (int, float))]
        if self.value.is_floating_point():
            asked.append(self.value.detach().requires_grad_())
        weights = self.tensor(np.linspace(0.5, 1.5, int(np.prod(result.shape))).reshape(tuple(result.shape)))
        if not asked or not result.requires_grad:
            return []
        return [
            None if g is None else g.detach().numpy()
            for g in self.library.autograd.grad((result * weights).sum(), asked, allow_unused=True)
        ]


def sides(case: str, dtype: str = "float64") -> tuple[Side, Side]:
    return Side(tg, case, dtype), Side(torch, case, dtype)


def alike(ours: Any, theirs: Any, tolerance: float) -> None:
    assert tuple(ours.shape) == tuple(theirs.shape)
    assert str(ours.dtype) == str(theirs.dtype).removeprefix("torch.")
    np.testing.assert_allclose(
        ours.detach().numpy(), theirs.detach().numpy(), rtol=tolerance, atol=tolerance, equal_nan=True
    )


ASKED: dict[str, Callable[[Any, Any], Any]] = {
    "log_prob": lambda d, value: d.log_prob(value),
    "cdf": lambda d, value: d.cdf(value),
    "icdf": lambda d, value: d.icdf(value.abs() / (1 + value.abs())),
    "entropy": lambda d, value: d.entropy(),
    "mean": lambda d, value: d.mean,
    "stddev": lambda d, value: d.stddev,
    "variance": lambda d, value: d.variance,
    "probs": lambda d, value: d.probs,
    "logits": lambda d, value: d.logits,
    "log_prob expanded": lambda d, value: d.expand((2, 1, *d.batch_shape)).log_prob(value),
    "enumerate_support": lambda d, value: d.enumerate_support(),
    "enumerate_support, not expanded": lambda d, value: d.enumerate_support(expand=False),
}


@EVERY
@DTYPES
@pytest.mark.parametrize("asked", ASKED)
def test_values_and_gradients(case: str, asked: str, dtype: str, tolerance: float) -> None:
    ours, theirs = sides(case, dtype)
    if "certain" in case and dtype == "float32":
        tolerance = 1e-4  # the logarithm of 1 - eps
    if "number" in case:
        tolerance = 2e-6  # they become float32
    try:
        expected = ASKED[asked](theirs.made, theirs.value)
    except (NotImplementedError, AttributeError) as error:
        with pytest.raises(type(error)):
            ASKED[asked](ours.made, ours.value)
        return
    found = ASKED[asked](ours.made, ours.value)
    alike(found, expected, tolerance)
    for mine, other in itertools.zip_longest(ours.gradients(found), theirs.gradients(expected)):
        assert (mine is None) == (other is None)
        if mine is not None:
            np.testing.assert_allclose(mine, other, rtol=tolerance * 100, atol=tolerance * 10)


@EVERY
@pytest.mark.parametrize("expanded", [False, True])
def test_shapes_and_words(case: str, expanded: bool) -> None:
    ours, theirs = (side.made for side in sides(case, "float32"))
    if expanded:
        ours, theirs = (made.expand((5, *made.batch_shape)) for made in (ours, theirs))
    assert (ours.batch_shape, ours.event_shape) == (tuple(theirs.batch_shape), tuple(theirs.event_shape))
    words = re.sub(r"torch.Size\(\[([^]]*)\]\)", lambda m: str(tuple(map(int, m[1].split(", ")))), repr(theirs))
    assert repr(ours) == words
    for shape in ((), (1,), (5, 2)):
        x, y = ours.sample(shape), theirs.sample(shape)
        assert (tuple(x.shape), str(x.dtype)) == (tuple(y.shape), str(y.dtype).removeprefix("torch."))
        assert not x.requires_grad
        assert tuple(ours.log_prob(x).shape) == tuple(theirs.log_prob(y).shape)


@pytest.mark.parametrize("case", [case for case in CASES if CASES[case][0] in ("Normal", "Uniform")])
def test_gradients_through_draws(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The noise is the same on both sides, which alone decides the draw."""
    ours, theirs = sides(case)
    shape = (4, *ours.made.batch_shape)
    noise = np.random.default_rng(2).uniform(size=shape)
    kind = CASES[case][0].lower()
    ours_from = "randn" if kind == "normal" else "rand"
    module = __import__(f"tinygrad_edu.distributions.{kind}", fromlist=[kind])
    dtype = tg.float64 if isinstance(next(reversed(ours.params.values())), tg.Tensor) else tg.float32
    monkeypatch.setattr(module, ours_from, lambda *_, **__: tg.tensor(noise, dtype=dtype))
    given = torch.tensor(noise, dtype=torch.float64 if dtype == tg.float64 else torch.float32)
    if kind == "normal":
        monkeypatch.setattr("torch.distributions.normal._standard_normal", lambda *_, **__: given)
    else:
        monkeypatch.setattr(torch, "rand", lambda *_, **__: given)
    found, expected = ours.made.rsample((4,)), theirs.made.rsample((4,))
    alike(found, expected, 1e-6)
    pairs = list(itertools.zip_longest(ours.gradients(found), theirs.gradients(expected)))
    assert bool(pairs) == found.requires_grad == expected.requires_grad
    for mine, other in pairs:
        assert (mine is None) == (other is None)
        if mine is not None:
            np.testing.assert_allclose(mine, other, rtol=1e-10, atol=1e-12)


PAIRS = [
    ("Normal", {"loc": REAL, "scale": WEIGHTS}, "Normal", {"loc": REAL[0], "scale": SHARE}),
    ("Normal", {"loc": 1.0, "scale": 2.0}, "Normal", {"loc": 0.0, "scale": 1.0}),
    ("Normal", {"loc": REAL, "scale": WEIGHTS}, "Uniform", {"low": REAL, "high": REAL + 1}),
    ("Uniform", {"low": REAL, "high": REAL + 1}, "Normal", {"loc": REAL, "scale": WEIGHTS}),
    ("Uniform", {"low": REAL, "high": REAL + 1}, "Uniform", {"low": REAL - WEIGHTS, "high": REAL + 2}),
    ("Uniform", {"low": REAL, "high": REAL + 1}, "Uniform", {"low": REAL - 1, "high": REAL + SHARE + 0.5}),
    ("Bernoulli", {"probs": SHARE}, "Bernoulli", {"logits": REAL}),
    ("Bernoulli", {"probs": np.array([0.0, 1.0, 0.0, 1.0, 0.3])},
     "Bernoulli", {"probs": np.array([0.0, 1.0, 1.0, 0.0, 0.0])}),
    ("Categorical", {"probs": WEIGHTS}, "Categorical", {"logits": REAL}),
    ("Independent", {"loc": REAL, "scale": WEIGHTS}, "Independent", {"loc": REAL[0], "scale": SHARE}),
    ("MultivariateNormal", {"loc": REAL, "scale_tril": SPREAD[0]},
     "MultivariateNormal", {"loc": REAL[0], "covariance_matrix": SPREAD @ SPREAD.mT}),
    ("Categorical", {"probs": np.array([[0.0, 1.0, 1.0], [1.0, 1.0, 1.0]])},
     "Categorical", {"probs": np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 2.0]])}),
]  # fmt: skip


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: f"{pair[0]}-{pair[2]}")
def test_divergences(pair: Any) -> None:
    kind_p, given_p, kind_q, given_q = pair
    found = []
    for library in (tg, torch):
        leaves: list[Any] = []

        def leaf(kind: str, given: Any, library: Any = library, leaves: Any = leaves) -> Any:
            tensors = {k: library.tensor(v, requires_grad=True) if np.ndim(v) else v for k, v in given.items()}
            leaves += [x for x in tensors.values() if not isinstance(x, float)]
            return made(library, kind, tensors)

        result = library.distributions.kl_divergence(leaf(kind_p, given_p), leaf(kind_q, given_q))
        total = result[result.isfinite()].sum() if library is tg else result[torch.isfinite(result)].sum()
        grads = library.autograd.grad(total, leaves, allow_unused=True) if total.requires_grad else []
        found.append((result, [None if g is None else g.numpy() for g in grads]))
    alike(found[0][0], found[1][0], 1e-7)
    for mine, other in zip(found[0][1], found[1][1], strict=True):
        assert (mine is None) == (other is None)
        if mine is not None:
            np.testing.assert_allclose(mine, other, rtol=1e-9, atol=1e-12)


def test_the_same_pairs_have_a_formula() -> None:
    kinds = {"Normal": (0.0, 1.0), "Uniform": (0.0, 1.0), "Bernoulli": (0.5,), "Categorical": None}
    for p, q in itertools.product(kinds, kinds):
        known = []
        for library in (tg, torch):
            a, b = (getattr(library.distributions, kind)(*(kinds[kind] or (library.ones(2),))) for kind in (p, q))
            try:
                library.distributions.kl_divergence(a, b)
                known.append(True)
            except NotImplementedError:
                known.append(False)
        assert known[0] == known[1], (p, q)


def test_formulas_of_ones_own_are_found_alike() -> None:
    """By the nearest base class; where two are as near, with a warning."""
    for library in (tg, torch):
        base = library.distributions.Normal

        class Narrow(base):  # type: ignore[misc, valid-type]
            pass

        class Narrower(Narrow):
            pass

        kl, register = library.distributions.kl_divergence, library.distributions.register_kl
        a, b, c = (kind(0.0, 1.0) for kind in (base, Narrow, Narrower))
        assert kl(c, b) == 0
        register(Narrow, base)(lambda p, q: "left")
        assert (kl(c, c), kl(b, a), float(kl(a, b))) == ("left", "left", 0.0)
        register(base, Narrow)(lambda p, q: "right")
        with pytest.warns(RuntimeWarning, match="register_kl"):
            assert kl(b, c) == "left"
        register(Narrow, Narrow)(lambda p, q: "both")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert kl(b, c) == "both"


WRONG: dict[str, Callable[[Any, Any], Any]] = {
    "scale 0": lambda t, d: d.Normal(0.0, 0.0),
    "scale nan": lambda t, d: d.Normal(0.0, float("nan")),
    "loc nan": lambda t, d: d.Normal(float("nan"), 1.0),
    "a list": lambda t, d: d.Normal([0.0], 1.0),
    "low above high": lambda t, d: d.Uniform(t.tensor([0.0, 2.0]), t.tensor([1.0, 1.0])),
    "low is high": lambda t, d: d.Uniform(1.0, 1.0),
    "a probability above 1": lambda t, d: d.Bernoulli(1.5),
    "neither": lambda t, d: d.Bernoulli(),
    "both": lambda t, d: d.Categorical(t.ones(2), t.ones(2)),
    "logits nan": lambda t, d: d.Bernoulli(logits=float("nan")),
    "negative weights": lambda t, d: d.Categorical(t.tensor([1.0, -0.5])),
    "no weights": lambda t, d: d.Categorical(t.zeros(3)),
    "a single weight": lambda t, d: d.Categorical(t.tensor(1.0)),
    "all impossible": lambda t, d: d.Categorical(logits=t.tensor([-float("inf")] * 2)),
    "value out of the batch": lambda t, d: d.Normal(t.zeros(3), 1.0).log_prob(t.zeros(2)),
    "value nan": lambda t, d: d.Normal(0.0, 1.0).cdf(t.tensor(float("nan"))),
    "value is a number": lambda t, d: d.Normal(0.0, 1.0).log_prob(1.0),
    "value above": lambda t, d: d.Uniform(0.0, 1.0).log_prob(t.tensor(1.5)),
    "value between": lambda t, d: d.Bernoulli(0.5).log_prob(t.tensor(0.5)),
    "no such class": lambda t, d: d.Categorical(t.ones(3)).log_prob(t.tensor(3)),
    "half a class": lambda t, d: d.Categorical(t.ones(3)).log_prob(t.tensor(0.5)),
    "a switch": lambda t, d: d.Distribution.set_default_validate_args(3),
}


@pytest.mark.parametrize("make", WRONG.values(), ids=WRONG)
def test_what_pytorch_refuses_we_refuse_alike(make: Callable[[Any, Any], Any]) -> None:
    with pytest.raises(ValueError) as theirs:  # which one, is compared
        make(torch, torch.distributions)
    with pytest.raises(theirs.type):
        make(tg, distributions)


UNCHECKED: dict[str, Callable[[Any, Any], Any]] = {
    "outside of a uniform": lambda t, d: d.Uniform(0.0, 1.0, validate_args=False).log_prob(t.tensor([-1.0, 0.5, 1.0])),
    "cdf outside": lambda t, d: d.Uniform(0.0, 1.0, validate_args=False).cdf(t.tensor([-1.0, 0.25, 2.0])),
    "a number": lambda t, d: d.Normal(t.zeros(2), 1.0, validate_args=False).log_prob(1.0),
    "a negative scale": lambda t, d: d.Normal(0.0, -1.0, validate_args=False).variance,
    "between": lambda t, d: d.Bernoulli(0.25, validate_args=False).log_prob(t.tensor(0.5)),
    "icdf outside": lambda t, d: d.Normal(0.0, 1.0).icdf(t.tensor([-0.5, 0.0, 1.0, 1.5])),
}


@pytest.mark.parametrize("make", UNCHECKED.values(), ids=UNCHECKED)
def test_what_is_not_checked(make: Callable[[Any, Any], Any]) -> None:
    alike(make(tg, distributions), make(torch, torch.distributions), 1e-6)


def test_second_derivatives_of_the_inverse() -> None:
    found = []
    for library in (tg, torch):
        x = library.tensor([0.01, 0.3, 0.5, 0.8, 0.999], dtype=library.float64, requires_grad=True)
        y = library.distributions.Normal(0.0, 1.0).icdf(x).sum()
        (first,) = library.autograd.grad(y, x, create_graph=True)
        (second,) = library.autograd.grad(first.sum(), x)
        found.append((first.detach().numpy(), second.numpy()))
    for mine, other in zip(*found, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-9)
