"""Distributions by themselves: draws against their formulas, what is refused in which words, devices and recording."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tests.support import teaches
from tinygrad_edu.compiler import interpret, trace
from tinygrad_edu.distributions import (
    Bernoulli,
    Categorical,
    Distribution,
    Independent,
    MultivariateNormal,
    Normal,
    Uniform,
    kl_divergence,
    register_kl,
)
from tinygrad_edu.errors import ArgumentError, DtypeError, EduError, LinAlgError, ShapeError

MAKE: dict[str, Callable[[], Distribution]] = {
    "Normal": lambda: Normal(tg.tensor([1.0, -2.0]), tg.tensor([0.5, 3.0])),
    "Uniform": lambda: Uniform(tg.tensor([0.0, -2.0]), tg.tensor([0.5, 3.0])),
    "Bernoulli": lambda: Bernoulli(tg.tensor([0.1, 0.7])),
    "Bernoulli of logits": lambda: Bernoulli(logits=tg.tensor([-2.0, 1.0])),
    "Categorical": lambda: Categorical(tg.tensor([[1.0, 2.0, 1.0], [0.0, 1.0, 9.0]])),
    "Categorical of logits": lambda: Categorical(logits=tg.tensor([[1.0, 2.0, 1.0], [-9.0, 1.0, 0.0]])),
}
EVERY = pytest.mark.parametrize("name", MAKE)


# Draws ----------------------------------------------------------------------------------------------------------------


@EVERY
def test_many_draws_are_as_the_formulas_say(name: str) -> None:
    """Mean and spread, and what -log_prob is on average; each within five standard errors."""
    tg.manual_seed(0)
    made, count = MAKE[name](), 20_000
    draws = made.sample((count,))
    surprise = -made.log_prob(draws)
    spread = surprise.std(0) / math.sqrt(count) + 1e-6
    assert ((surprise.mean(0) - made.entropy()).abs() <= 5 * spread).all()
    if isinstance(made, Categorical):
        for n in range(3):
            share = (draws == n).float().mean(0)
            assert ((share - made.probs[:, n]).abs() <= 5 / math.sqrt(4 * count)).all()
        return
    assert ((draws.mean(0) - made.mean).abs() <= 5 * made.stddev / math.sqrt(count)).all()
    np.testing.assert_allclose(draws.var(0).tolist(), made.variance.tolist(), rtol=0.1)


@EVERY
def test_draws_are_of_the_seeded_stream(name: str) -> None:
    made = MAKE[name]()
    tg.manual_seed(1)
    first, second = made.sample((3,)), made.sample((3,))
    tg.manual_seed(1)
    assert made.sample((3,)).tolist() == first.tolist() != second.tolist()


@EVERY
def test_only_rsample_carries_gradients(name: str) -> None:
    made = MAKE[name]()
    for held in made._held():
        setattr(made, held, getattr(made, held).requires_grad_())
    assert not made.sample().requires_grad
    if isinstance(made, (Normal, Uniform)):
        assert made.rsample().requires_grad
    else:
        with pytest.raises(NotImplementedError, match=rf"{made._name} has no rsample: sample\(\) draws without"):
            made.rsample()


def test_where_a_draw_may_lie() -> None:
    tg.manual_seed(0)
    draws = Uniform(2.0, 3.0).sample((100_000,))
    assert 2 <= draws.min().item() < draws.max().item() < 3
    assert set(Categorical(tg.tensor([0.0, 1.0, 0.0, 1.0])).sample((1000,)).tolist()) == {1, 3}
    assert Bernoulli(tg.tensor([0.0, 1.0])).sample((1000,)).mean(0).tolist() == [0.0, 1.0]


def test_classes_may_be_weighed_by_integers() -> None:
    assert Categorical(tg.tensor([1, 3])).probs.tolist() == [0.25, 0.75]
    assert Categorical(logits=tg.tensor([0, 0])).probs.tolist() == [0.5, 0.5]


def test_a_policy_is_learnt_by_log_prob() -> None:
    """The arm that pays is found: the gradient of log_prob alone says how."""
    tg.manual_seed(0)
    logits, pays = tg.zeros(3, requires_grad=True), tg.tensor([0.0, 0.2, 1.0])
    optimiser = tg.optim.Adam([logits], lr=0.1)
    for _ in range(100):
        policy = Categorical(logits=logits)
        arm = policy.sample((16,))
        optimiser.zero_grad()
        (-policy.log_prob(arm) * pays[arm]).mean().backward()
        optimiser.step()
    assert Categorical(logits=logits).probs[2].item() > 0.9


@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-9), ("float32", 1e-4)])
def test_icdf_turns_cdf_round(dtype: str, tolerance: float) -> None:
    x = tg.linspace(-3.0, 3.0, 101, dtype=dtype)
    for made in (Normal(x * 0 + 0.5, x * 0 + 2), Uniform(x * 0 - 4, x * 0 + 4)):
        np.testing.assert_allclose(made.icdf(made.cdf(x)).tolist(), x.tolist(), rtol=tolerance, atol=tolerance)
    assert Normal(tg.tensor(0.0, dtype=dtype), 1.0).icdf(tg.tensor(0.5, dtype=dtype)).item() == 0


def test_icdf_far_out() -> None:
    """Against Python's own, where a probability says it to the last digit: PyTorch's passes through erfinv(2p - 1)."""
    exact = NormalDist()
    tails = [5e-324, 1e-300, 1e-100, 1e-30, 1e-14, 1e-5, 0.07, 0.075, 0.0751, 0.3, 0.5, 0.925, 0.9251, 1 - 1e-12]
    found = Normal(0.0, 1.0).icdf(tg.tensor(tails, dtype="float64"))
    np.testing.assert_allclose(found.tolist(), [exact.inv_cdf(p) for p in tails], rtol=1e-14)
    narrow = [p for p in tails if 1e-30 <= p <= 0.93]
    found = Normal(0.0, 1.0).icdf(tg.tensor(narrow, dtype="float32"))
    np.testing.assert_allclose(found.tolist(), [exact.inv_cdf(float(np.float32(p))) for p in narrow], rtol=1e-6)


# Divergences ----------------------------------------------------------------------------------------------------------


@EVERY
def test_none_is_far_from_itself(name: str) -> None:
    np.testing.assert_allclose(kl_divergence(MAKE[name](), MAKE[name]()).tolist(), [0, 0], atol=1e-6)


def test_a_divergence_is_what_draws_say() -> None:
    tg.manual_seed(0)
    for p, q in (
        (Normal(0.0, 1.0), Normal(0.5, 2.0)),
        (Uniform(0.0, 1.0), Normal(0.5, 2.0)),
        (Uniform(0.0, 1.0), Uniform(-1.0, 1.5)),
        (Bernoulli(0.2), Bernoulli(0.6)),
        (Categorical(tg.tensor([1.0, 2.0, 3.0])), Categorical(tg.tensor([3.0, 2.0, 1.0]))),
    ):
        draws = p.sample((40_000,))
        assert (p.log_prob(draws) - q.log_prob(draws)).mean().item() == pytest.approx(
            kl_divergence(p, q).item(), abs=0.02
        )


def test_what_has_no_formula_and_what_is_no_distribution() -> None:
    with pytest.raises(NotImplementedError, match=r"no formula for Normal and Bernoulli: register_kl\(…\) adds one"):
        kl_divergence(Normal(0.0, 1.0), Bernoulli(0.5))
    why, mend = "q is a distribution, but this is a float", "pass a Normal(…), or another"
    with teaches(DtypeError, "kl_divergence with q=a float", why, mend, "kl_divergence("):
        kl_divergence(Normal(0.0, 1.0), 1.0)  # type: ignore[arg-type]
    why = "formulas are found by the classes of two distributions, but this is the class int"
    with teaches(DtypeError, "register_kl", why, "write @register_kl(Normal, Normal)", "register_kl("):
        register_kl(Normal, int)


# Shapes ---------------------------------------------------------------------------------------------------------------


@EVERY
def test_expanding_copies_nothing_and_leaves_the_first_as_it_was(name: str) -> None:
    made = MAKE[name]()
    wide = made.expand((3, 2))
    assert (wide.batch_shape, made.batch_shape, type(wide)) == ((3, 2), (2,), type(made))
    for held in made._held():
        assert getattr(wide, held).storage is getattr(made, held).storage
    assert wide.sample((4,)).shape == (4, 3, 2)
    value = made.sample()
    assert wide.log_prob(value).tolist() == [made.log_prob(value).tolist()] * 3
    made.entropy()  # has computed the other of probabilities and logits by now
    assert made.expand((3, 2)).entropy().tolist() == [made.entropy().tolist()] * 3


def test_expanding_to_what_does_not_fit() -> None:
    made = Normal(tg.zeros(3), 1.0)
    with pytest.raises(ShapeError, match="only axes of length 1 can be stretched"):
        made.expand((2, 4))
    tried, why = "Normal.expand with batch_shape=3", "batch_shape is a tuple, but this is an int"
    with teaches(DtypeError, tried, why, "write batch_shape=(3,)", "made.expand(3)"):
        made.expand(3)
    tried, why = "Normal.sample with sample_shape=3", "sample_shape is a tuple, but this is an int"
    with teaches(DtypeError, tried, why, "write sample_shape=(3,)", "made.sample(3)"):
        made.sample(3)
    with pytest.raises(ShapeError, match="sizes are integers"):
        made.sample((1.5,))


class Point(Distribution):
    """One's own: always at ``place``, a vector."""

    parameters = {"place": 1}  # noqa: RUF012

    def __init__(self, place: Any, validate_args: bool | None = None) -> None:
        self.place = place
        super().__init__(place.shape[:-1], place.shape[-1:], validate_args)

    def rsample(self, sample_shape: Any = ()) -> tg.Tensor:
        return self.place.expand(self._shape(sample_shape))


def test_a_distribution_of_ones_own() -> None:
    made = Point(tg.ones(2, 3))
    assert (made.batch_shape, made.event_shape, repr(made)) == ((2,), (3,), "Point(place: (2, 3))")
    assert made.expand((4, 2)).sample((5,)).shape == (5, 4, 2, 3)
    for asked in ("log_prob", "cdf", "icdf"):
        with pytest.raises(NotImplementedError, match=f"Point has no {asked}"):
            getattr(made, asked)(tg.ones(3))
    for asked in ("entropy", "enumerate_support"):
        with pytest.raises(NotImplementedError, match=f"Point has no {asked}"):
            getattr(made, asked)()
    for asked in ("mean", "variance", "stddev"):
        with pytest.raises(NotImplementedError, match="Point has no"):
            getattr(made, asked)


# What is refused ------------------------------------------------------------------------------------------------------


def weights(*values: float) -> tg.Tensor:
    return tg.tensor(values, dtype="float32")


REFUSED: list[tuple[Callable[[], Any], type[EduError], str, str, str]] = [
    (lambda: Normal(0.0, weights(1, -1)), ArgumentError, "Normal with scale (2,) float32",
     "a standard deviation is more than 0, but scale holds -1.0", "make it positive with softplus() or exp()"),
    (lambda: Normal([0.0], 1.0), ArgumentError, "Normal with loc=[0.0]",
     "loc is a number or a tensor, but this is a list", "make a tensor of it first: tensor(…)"),
    (lambda: Normal(tg.tensor([1, 2]), 1.0), DtypeError, "Normal with loc (2,) int64",
     "loc is int64, but its parameters have fractions", "convert it: loc.float()"),
    (lambda: Uniform(0.0, weights(1, -1)), ArgumentError, "Uniform with low and high (2,) float32",
     "low must be below high, but here low=0.0, high=-1.0", "swap them"),
    (lambda: Bernoulli(weights(0.5, 1.5)), ArgumentError, "Bernoulli with probs (2,) float32",
     "a probability lies between 0 and 1, but probs holds 1.5", "give logits=…, which may be any numbers"),
    (Bernoulli, ArgumentError, "Bernoulli with probs and logits",
     "it takes either probabilities or logits, but neither came",
     "give one of them: Bernoulli(probs=…)"),
    (lambda: Categorical(weights(3, -1)), ArgumentError, "Categorical with probs (2,) float32",
     "weights must not be negative, or all 0: divided by their sum, they lie between 0 and 1, but probs holds"
     " 1.5", "give logits=…, any numbers"),
    (lambda: Categorical(tg.tensor(1.0)), ShapeError, "Categorical with probs ()",
     "the last axis of probs holds the classes, but a single number has none", "give a vector"),
    (lambda: Normal(0.0, 1.0).log_prob(1.0), ArgumentError, "Normal.log_prob of 1.0",
     "a value is a tensor, but this is a float", "make a tensor of it first: tensor(…)"),
    (lambda: Normal(tg.zeros(3), 1.0).cdf(tg.zeros(2)), ShapeError, "Normal.cdf of a value (2,)",
     "it cannot be stretched to the batch, (3,)", "let the last axes agree with batch_shape, or be 1"),
    (lambda: Uniform(0.0, 1.0).log_prob(weights(0.5, 2)), ArgumentError, "Uniform with value (2,) float32",
     "a draw lies between low and high, but value holds 2.0",
     "compare first, or give validate_args=False: log_prob is then -inf"),
    (lambda: Bernoulli(0.5).log_prob(weights(0.5)), ArgumentError, "Bernoulli with value (1,) float32",
     "a draw is 0 or 1, but value holds 0.5", "compare with a threshold: (x > 0.5).float()"),
    (lambda: Categorical(weights(1, 1)).log_prob(tg.tensor([1, 2])), ArgumentError, "Categorical with value (2,) int64",
     "a draw is a class, an integer from 0 to 1, but value holds 2", "look at the labels and at the last axis"),
    (lambda: Distribution.set_default_validate_args(3), ArgumentError,  # type: ignore[arg-type]
     "set_default_validate_args(3)", "checks are on or off, but this is an int", "write True or False"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "kind", "tried", "why", "mend"), REFUSED)
def test_what_is_refused(call: Callable[[], Any], kind: type[EduError], tried: str, why: str, mend: str) -> None:
    with teaches(kind, tried, why, mend):
        call()


@pytest.mark.parametrize("junk", [None, "x", 2.5, object, [1.0], b"x", np.ones(2), tg.ones(5, 4, 3)], ids=repr)
@EVERY
@pytest.mark.filterwarnings("ignore:divide by zero|invalid value:RuntimeWarning")
def test_junk_is_refused_in_our_words_or_taken(name: str, junk: Any) -> None:
    made = MAKE[name]()
    for asked in ("log_prob", "cdf", "icdf", "sample", "rsample", "expand"):
        try:
            getattr(made, asked)(junk)
        except (EduError, NotImplementedError) as error:
            assert str(error)
        except TypeError as error:
            assert "unsupported operand" in str(error), "Python's own words for an operand that is not a number"


@pytest.fixture
def unchecked() -> Iterator[None]:
    Distribution.set_default_validate_args(False)
    yield
    Distribution.set_default_validate_args(True)


@pytest.mark.usefixtures("unchecked")
def test_checks_can_be_switched_off_for_all() -> None:
    assert Normal(0.0, -1.0).variance.item() == 1
    with pytest.raises(ArgumentError):
        Normal(0.0, -1.0, validate_args=True)


def test_checks_go_along_when_expanded() -> None:
    assert Uniform(0.0, 1.0, validate_args=False).expand((2,)).cdf(tg.tensor(2.0)).tolist() == [1.0, 1.0]
    with pytest.raises(ArgumentError):
        Uniform(0.0, 1.0, validate_args=True).expand((2,)).cdf(tg.tensor(2.0))


# Vectors --------------------------------------------------------------------------------------------------------------

VECTORS: dict[str, Callable[[], Any]] = {
    "Independent": lambda: Independent(Normal(tg.tensor([[1.0, -2.0]] * 3), tg.tensor([0.5, 3.0])), 1),
    "MultivariateNormal": lambda: MultivariateNormal(tg.tensor([[1.0, -2.0]] * 3), tg.tensor([[2.0, 1.0], [1.0, 2.0]])),
}


@pytest.mark.parametrize("name", VECTORS)
def test_many_vectors_are_as_the_formulas_say(name: str) -> None:
    tg.manual_seed(0)
    made, count = VECTORS[name](), 20_000
    draws = made.sample((count,))
    assert (draws.shape, draws.requires_grad) == ((count, 3, 2), False)
    surprise = -made.log_prob(draws)
    assert ((surprise.mean(0) - made.entropy()).abs() <= 5 * surprise.std(0) / math.sqrt(count)).all()
    assert ((draws.mean(0) - made.mean).abs() <= 5 * made.stddev / math.sqrt(count)).all()
    np.testing.assert_allclose(draws.var(0).tolist(), made.variance.tolist(), rtol=0.1)
    together = ((draws - made.mean)[..., 0] * (draws - made.mean)[..., 1]).mean(0)
    expected = 1.0 if name == "MultivariateNormal" else 0.0
    np.testing.assert_allclose(together.tolist(), [expected] * 3, atol=0.1)


@pytest.mark.parametrize("name", VECTORS)
def test_vectors_expand_and_are_not_far_from_themselves(name: str) -> None:
    made = VECTORS[name]()
    wide = made.expand((4, 3))
    assert (wide.batch_shape, wide.event_shape, made.batch_shape) == ((4, 3), (2,), (3,))
    first, second = (getattr(one, "base_dist", one).loc for one in (made, wide))
    assert first.storage is second.storage
    assert wide.sample((5,)).shape == (5, 4, 3, 2)
    value = made.sample()
    assert wide.log_prob(value).tolist() == [made.log_prob(value).tolist()] * 4
    assert wide.entropy().tolist() == [made.entropy().tolist()] * 4
    np.testing.assert_allclose(kl_divergence(made, wide).tolist(), [[0] * 3] * 4, atol=1e-6)
    with pytest.raises(DtypeError, match=rf"{name}.expand with batch_shape=3"):
        made.expand(3)


@pytest.mark.parametrize("form", ["covariance_matrix", "precision_matrix", "scale_tril"])
def test_vectors_know_all_three_matrices(form: str) -> None:
    covariance = tg.tensor([[2.0, 1.0], [1.0, 2.0]])
    factor = tg.linalg.cholesky(covariance)
    all_three = {"covariance_matrix": covariance, "precision_matrix": covariance.inverse(), "scale_tril": factor}
    matrix = all_three[form].requires_grad_()
    made = MultivariateNormal(tg.zeros(3, 2), **{form: matrix})
    for name, expected in all_three.items():
        assert getattr(made, name).shape == (3, 2, 2)
        np.testing.assert_allclose(getattr(made, name)[1].tolist(), expected.tolist(), atol=1e-6)
    made.rsample().sum().backward()
    assert matrix.grad is not None


def test_parts_of_a_draw_may_be_classes() -> None:
    made = Independent(Categorical(tg.ones(4, 2, 3)), 1)
    draw = made.sample()
    assert (draw.shape, made.log_prob(draw).shape) == ((4, 2), (4,))
    np.testing.assert_allclose(made.log_prob(draw).tolist(), [-2 * math.log(3)] * 4, rtol=1e-6)
    with pytest.raises(NotImplementedError, match="Independent has no enumerate_support: it would hold every"):
        made.enumerate_support()
    as_it_was = Independent(Bernoulli(tg.tensor([0.5])), 0)
    assert as_it_was.enumerate_support().tolist() == [[0.0], [1.0]]
    assert as_it_was.entropy().shape == (1,)
    with pytest.raises(NotImplementedError, match="two of Independent that take another number of axes"):
        kl_divergence(Independent(Normal(tg.zeros(2, 2), 1.0), 1), Independent(Normal(tg.zeros(2, 2), 1.0), 2))
    far = Independent(Normal(tg.zeros(3, 2, device="far"), 1.0), 1)
    assert far.log_prob(far.sample()).device == "far"


E2 = [[2.0, 1.0], [1.0, 2.0]]
_ONE = "give one of covariance_matrix, precision_matrix, scale_tril"
REFUSED: list[tuple[Callable[[], Any], type[EduError], str, str, str]] = [
    (lambda: Independent(3, 1), DtypeError, "Independent(an int, …)", "it takes a distribution",
     "pass a Normal(…), or another"),
    (lambda: Independent(Normal(tg.zeros(2), 1.0), 2), ShapeError,
     "Independent(Normal with batch_shape (2,), …) with reinterpreted_batch_ndims=2",
     "its batch has 1 axes, and 2 are asked for", "take as many as there are, or fewer"),
    (lambda: MultivariateNormal(tg.zeros(2)), ArgumentError, "MultivariateNormal",
     "one matrix says how it spreads, and none came", _ONE),
    (lambda: MultivariateNormal(tg.zeros(2), tg.eye(2), tg.eye(2)), ArgumentError, "MultivariateNormal",
     "one matrix says how it spreads, and 2 came", _ONE),
    (lambda: MultivariateNormal(0.0, tg.eye(2)), ArgumentError, "MultivariateNormal with loc=a float",
     "loc is a tensor, and this is a float", "make one of it first: tensor(…)"),
    (lambda: MultivariateNormal(tg.tensor(0.0), tg.eye(2)), ShapeError, "MultivariateNormal with loc () float32",
     "loc holds vectors (…, n) of floats", "give it an axis: unsqueeze(0); or convert it: float()"),
    (lambda: MultivariateNormal(tg.zeros(2), tg.eye(2).long()), DtypeError,
     "MultivariateNormal with covariance_matrix (2, 2) int64",
     "covariance_matrix holds matrices (…, n, n) of floats", "give it an axis: unsqueeze(0); or convert it: float()"),
    (lambda: MultivariateNormal(tg.zeros(3), tg.eye(2)), ShapeError,
     "MultivariateNormal with loc (3,) and covariance_matrix (2, 2)",
     "vectors of 3 elements have a matrix of 3 rows and columns", "check which of the two has the size that you want"),
    (lambda: MultivariateNormal(tg.zeros(3, 2), tg.ones(2, 2, 2)), ShapeError, "MultivariateNormal of several",
     "the batches are (3,) and (2,), and only a 1 can be stretched", "let the leading axes agree, or be 1"),
    (lambda: MultivariateNormal(tg.zeros(2), tg.tensor([[2.0, 1.0], [0.0, 2.0]])), ArgumentError,
     "MultivariateNormal with covariance_matrix (2, 2) float32",
     "a covariance_matrix is symmetric, but covariance_matrix holds 1.0", "make it so: (x + x.mT) / 2"),
    (lambda: MultivariateNormal(tg.zeros(2), scale_tril=tg.tensor(E2)), ArgumentError,
     "MultivariateNormal with scale_tril (2, 2) float32",
     "a Cholesky factor has zeros above its diagonal, but scale_tril holds 1.0", "take the triangle: x.tril()"),
    (lambda: MultivariateNormal(tg.zeros(2), scale_tril=-tg.eye(2)), ArgumentError,
     "MultivariateNormal with scale_tril's diagonal (2,) float32",
     "the diagonal of a Cholesky factor is more than 0, but scale_tril's diagonal holds -1.0",
     "make it so by softplus() or exp()"),
    (lambda: kl_divergence(MultivariateNormal(tg.zeros(2), tg.eye(2)), MultivariateNormal(tg.zeros(3), tg.eye(3))),
     ShapeError, "kl_divergence of two of MultivariateNormal", "draws are (2,) and (3,)",
     "compare vectors of one size"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "kind", "tried", "why", "mend"), REFUSED)
def test_what_cannot_be_a_vector(
    call: Callable[[], Any], kind: type[EduError], tried: str, why: str, mend: str
) -> None:
    with teaches(kind, tried, why, mend):
        call()


def test_a_covariance_that_no_draws_have() -> None:
    with pytest.raises(LinAlgError, match="not positive definite"):
        MultivariateNormal(tg.zeros(2), -tg.eye(2))


# Other worlds ---------------------------------------------------------------------------------------------------------


@EVERY
def test_another_device(name: str) -> None:
    made = MAKE[name]()
    (held,) = made._held()[:1]
    given = {x: getattr(made, x).to("far") for x in made._held()}
    far = type(made)(**given)
    value = made.sample((3,))
    assert far.sample((3,)).device == far.log_prob(value.to("far")).device == getattr(far, held).device == "far"
    np.testing.assert_allclose(far.log_prob(value.to("far")).cpu().tolist(), made.log_prob(value).tolist(), rtol=1e-6)
    np.testing.assert_allclose(far.entropy().cpu().tolist(), made.entropy().tolist(), rtol=1e-6)
    assert kl_divergence(far, far).device == "far"
    with pytest.raises(ArgumentError):
        far.log_prob(tg.full((2,), math.nan, device="far"))


@EVERY
def test_what_is_asked_is_recorded_and_replayed(name: str) -> None:
    made = MAKE[name]()
    held = made._held()
    value = made.sample()

    def asked(*params: tg.Tensor) -> tuple[tg.Tensor, ...]:
        inside = type(made)(**dict(zip(held, params, strict=True)))
        return inside.log_prob(value), inside.entropy()

    given = [getattr(made, x) for x in held]
    program = trace(asked, *given)
    for found, expected in zip(interpret(program, *(x.array for x in given)), asked(*given), strict=True):
        np.testing.assert_allclose(found, expected.array, rtol=1e-6)


@EVERY
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_16_bits(name: str, dtype: str) -> None:
    made = MAKE[name]()
    narrow = type(made)(**{x: getattr(made, x).to(dtype) for x in made._held()})
    value = made.sample((3,))
    value = value.to(dtype) if value.is_floating_point() else value
    assert narrow.log_prob(value).dtype == narrow.entropy().dtype == np.dtype(tg.zeros(1, dtype=dtype).dtype)
    np.testing.assert_allclose(narrow.entropy().float().tolist(), made.entropy().tolist(), rtol=0.05, atol=0.05)
    if isinstance(made, (Normal, Uniform)):
        p = tg.tensor([0.01, 0.75])
        np.testing.assert_allclose(narrow.icdf(p.to(dtype)).float().tolist(), made.icdf(p).tolist(), atol=0.05)
