"""Distances of vectors, losses of pairs, and losses of counts and spreads."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tests.support import teaches
from tinygrad_edu import nn
from tinygrad_edu.errors import ArgumentError, ShapeError

F = nn.functional


def vectors(count: int, *shape: int) -> list[Any]:
    rng = np.random.default_rng(7)
    return [tg.tensor(rng.normal(size=shape), requires_grad=True) for _ in range(count)]


def raw(tensor: Any) -> Any:
    return tensor.detach().array


# Distances ------------------------------------------------------------------------------------------------------------


def test_cosines_by_hand() -> None:
    x = tg.tensor([[3.0, 4.0], [1.0, 0.0], [0.0, 0.0]])
    y = tg.tensor([[6.0, 8.0], [0.0, 2.0], [1.0, 1.0]])
    np.testing.assert_allclose(raw(F.cosine_similarity(x, y)), [1.0, 0.0, 0.0], atol=1e-7)
    np.testing.assert_allclose(raw(F.cosine_similarity(x[:2], -x[0], dim=-1)), [-1.0, -0.6], rtol=1e-6)
    assert F.cosine_similarity(x, y, dim=0).shape == (2,)


def test_distances_by_hand() -> None:
    x, y = tg.tensor([[3.0, 0.0], [1.0, 1.0]]), tg.tensor([[0.0, 4.0], [1.0, 1.0]])
    np.testing.assert_allclose(raw(F.pairwise_distance(x, y)), [5.0, 1e-6 * math.sqrt(2)], rtol=1e-5)
    np.testing.assert_allclose(raw(F.pairwise_distance(x, y, p=1, eps=0.0, keepdim=True)), [[7.0], [0.0]])


@pytest.mark.parametrize("distance", [F.cosine_similarity, F.pairwise_distance])
def test_gradients_of_distances(distance: Any) -> None:
    assert tg.autograd.gradcheck(distance, vectors(2, 4, 3))


# Pairs ----------------------------------------------------------------------------------------------------------------

SIGNS = np.array([1.0, -1.0, 1.0, -1.0])


def test_losses_of_pairs_by_hand() -> None:
    x, y = (raw(v) for v in vectors(2, 4, 3))
    a, b = x[:, 0], y[:, 0]
    cosine = (x * y).sum(1) / np.sqrt((x * x).sum(1) * (y * y).sum(1))
    far = [np.sqrt(((p - q + 1e-6) ** 2).sum(1)) for p, q in ((x, y), (x, y[::-1]), (y, y[::-1]))]
    t = tg.tensor
    for found, expected in (
        (
            F.cosine_embedding_loss(t(x), t(y), t(SIGNS), 0.1, reduction="none"),
            np.where(SIGNS == 1, 1 - cosine, np.maximum(cosine - 0.1, 0)),
        ),
        (F.cosine_embedding_loss(t(x[1]), t(y[1]), t(1), reduction="none"), 1 - cosine[1]),
        (F.margin_ranking_loss(t(a), t(b), t(SIGNS), 0.2, reduction="none"), np.maximum(0.2 - SIGNS * (a - b), 0)),
        (F.margin_ranking_loss(t(a), t(b), -1, reduction="none"), np.maximum(a - b, 0)),
        (
            F.hinge_embedding_loss(t(a), t(SIGNS), reduction="none"),
            np.where(SIGNS == 1, a, np.maximum(1 - a, 0)),
        ),
        (F.soft_margin_loss(t(a), t(SIGNS), reduction="none"), np.log1p(np.exp(-SIGNS * a))),
        (
            F.triplet_margin_loss(t(x), t(y), t(y[::-1].copy()), 0.5, reduction="none"),
            np.maximum(far[0] - far[1] + 0.5, 0),
        ),
        (
            F.triplet_margin_loss(t(x), t(y), t(y[::-1].copy()), 0.5, swap=True, reduction="none"),
            np.maximum(far[0] - np.minimum(far[1], far[2]) + 0.5, 0),
        ),
    ):
        np.testing.assert_allclose(raw(found), expected, rtol=1e-9, atol=1e-9)


PAIRS: dict[str, Any] = {
    "cosine_embedding_loss": lambda x, y, target: F.cosine_embedding_loss(x, y, target, 0.1),
    "margin_ranking_loss": lambda x, y, target: F.margin_ranking_loss(x[:, 0], y[:, 0], target, 0.1),
    "hinge_embedding_loss": lambda x, y, target: F.hinge_embedding_loss((x * y).sum(1), target),
    "soft_margin_loss": lambda x, y, target: F.soft_margin_loss((x * y).sum(1), target),
}


@pytest.mark.parametrize("name", PAIRS)
def test_gradients_of_pairs(name: str) -> None:
    assert tg.autograd.gradcheck(lambda x, y: PAIRS[name](x, y, tg.tensor(SIGNS)), vectors(2, 4, 3))


def test_gradients_of_triplets() -> None:
    assert tg.autograd.gradcheck(lambda x, y, z: F.triplet_margin_loss(x, y, z, 3.0, swap=True), vectors(3, 4, 3))


@pytest.mark.parametrize("target", [[0, 1, 1, 0], [2.0, 1.0, -1.0, 1.0], [math.nan, 1.0, 1.0, 1.0]], ids=str)
@pytest.mark.parametrize("name", PAIRS)
def test_a_target_says_one_or_minus_one(name: str, target: Any) -> None:
    """0 and 1 would pass in PyTorch: as no loss at all, or as two."""
    why, mend = "the target has numbers other than 1 and -1", "turn 0 and 1 into them: target * 2 - 1"
    with teaches(ArgumentError, f"{name}(target (4,))", why, mend, line=name):
        PAIRS[name](*vectors(2, 4, 3), tg.tensor(target))


def test_a_soft_margin_does_not_overflow() -> None:
    found = F.soft_margin_loss(tg.tensor([1e4, -1e4]), tg.tensor([-1.0, -1.0]), reduction="none")
    assert found.tolist() == [1e4, 0.0]


def test_pairs_that_do_not_fit() -> None:
    why = "it takes pairs of vectors (N, D) and one target for each (N,), or a single pair (D,) and ()"
    tried = "cosine_embedding_loss((4, 3), (4, 3), target (4, 3))"
    with teaches(ShapeError, tried, why, "flatten to these shapes", line="cosine_embedding_loss"):
        F.cosine_embedding_loss(tg.ones(4, 3), tg.ones(4, 3), tg.ones(4, 3))
    why = "broadcasting would compare elements that do not belong together"
    mend = "reshape one to the other's shape: target.reshape(x.shape)"
    with teaches(ShapeError, "triplet_margin_loss((4, 3), (3,))", why, mend, line="triplet_margin_loss"):
        F.triplet_margin_loss(tg.ones(4, 3), tg.ones(4, 3), tg.ones(3))
    with teaches(ShapeError, "margin_ranking_loss((4,), (4, 1))", why, mend, line="margin_ranking_loss"):
        F.margin_ranking_loss(tg.ones(4), tg.ones(4), tg.ones(4, 1))
    why, mend = "without a margin, the loss is 0 when all distances are 0", "use a number above 0"
    with teaches(ArgumentError, "triplet_margin_loss(margin=0.0)", why, mend, line="triplet_margin_loss"):
        F.triplet_margin_loss(tg.ones(4, 3), tg.ones(4, 3), tg.ones(4, 3), 0.0)


# Counts and spreads ---------------------------------------------------------------------------------------------------


def test_poisson_by_hand() -> None:
    logs, counts = np.array([0.5, -1.0, 2.0]), np.array([0, 1, 3])
    found = F.poisson_nll_loss(tg.tensor(logs), counts, reduction="none")
    np.testing.assert_allclose(raw(found), np.exp(logs) - counts * logs, rtol=1e-12)
    rates = F.poisson_nll_loss(tg.tensor(np.exp(logs)), counts, log_input=False, eps=0.0, reduction="none")
    np.testing.assert_allclose(raw(rates), raw(found), rtol=1e-12)
    whole = F.poisson_nll_loss(tg.tensor(logs), counts, full=True, reduction="none")
    stirling = 3 * math.log(3) - 3 + 0.5 * math.log(2 * math.pi * 3)  # of 3!; 0! and 1! are 1
    np.testing.assert_allclose(raw(whole - found), [0.0, 0.0, stirling], atol=1e-12)


def test_gaussian_by_hand() -> None:
    x, y = (raw(v) for v in vectors(2, 4, 3))
    var = np.random.default_rng(1).uniform(0.5, 2.0, (4, 3))
    for given, used in ((var, var), (var[:, :1], var[:, :1]), (var[:, 0], var[:, :1]), (0.7, 0.7), (0.0, 1e-6)):
        spread = given if isinstance(given, float) else tg.tensor(given)
        found = F.gaussian_nll_loss(tg.tensor(x), y, spread, reduction="none")
        np.testing.assert_allclose(raw(found), 0.5 * (np.log(used) + (x - y) ** 2 / used) * np.ones((4, 3)), rtol=1e-12)
    full = F.gaussian_nll_loss(tg.tensor(x), y, 1.0, full=True)
    assert full.item() == pytest.approx(0.5 * ((x - y) ** 2).mean() + 0.5 * math.log(2 * math.pi))


def test_a_variance_below_eps_keeps_its_gradient() -> None:
    """It is held up where the loss is computed, as in PyTorch: the model is still told to raise it."""
    var = tg.tensor([1e-9, 1.0], dtype="float64", requires_grad=True)
    F.gaussian_nll_loss(tg.zeros(2, dtype="float64"), tg.ones(2, dtype="float64"), var, eps=0.5).backward()
    np.testing.assert_allclose(raw(var.grad), [0.25 * (1 / 0.5 - 1 / 0.25), 0.0])
    assert var.tolist() == [1e-9, 1.0]


def test_variances_that_cannot_be() -> None:
    x = tg.zeros(2, 3)
    why, mend = (
        "each element needs a variance, its own or one shared along an axis",
        "give it the shape (2, 3), or (2, 1)",
    )
    for shape in ((2, 2), (1, 1), (3,), (2, 3, 1)):
        with teaches(ShapeError, f"gaussian_nll_loss(input (2, 3), var {shape})", why, mend, line="gaussian"):
            F.gaussian_nll_loss(x, x, tg.ones(*shape))
    why, mend = "the smallest variance is -2, but none may be below 0", "let the model give its logarithm: s.exp()"
    with teaches(ArgumentError, "gaussian_nll_loss(var (2, 3))", why, mend, line="gaussian"):
        F.gaussian_nll_loss(x, x, x - 2)


# As modules -----------------------------------------------------------------------------------------------------------

MODULES: list[tuple[nn.Module, Any, int]] = [
    (nn.CosineSimilarity(-1), lambda x, y: F.cosine_similarity(x, y, -1), 2),
    (nn.PairwiseDistance(1.0), lambda x, y: F.pairwise_distance(x, y, 1.0), 2),
    (nn.MSELoss(reduction="sum"), lambda x, y: F.mse_loss(x, y, reduction="sum"), 2),
    (nn.L1Loss(), F.l1_loss, 2), (nn.HuberLoss("sum", 0.3), lambda x, y: F.huber_loss(x, y, "sum", 0.3), 2),
    (nn.SmoothL1Loss(beta=0.3), lambda x, y: F.smooth_l1_loss(x, y, beta=0.3), 2),
    (nn.KLDivLoss(reduction="batchmean", log_target=True),
     lambda x, y: F.kl_div(x, y, reduction="batchmean", log_target=True), 2),
    (nn.PoissonNLLLoss(full=True), lambda x, y: F.poisson_nll_loss(x, y, full=True), 2),
    (nn.TripletMarginLoss(0.5, swap=True), lambda x, y, z: F.triplet_margin_loss(x, y, z, 0.5, swap=True), 3),
    (nn.GaussianNLLLoss(full=True), lambda x, y: F.gaussian_nll_loss(x, y, 0.5, True), 2),
]  # fmt: skip


@pytest.mark.parametrize(
    ("module", "function", "count"), MODULES, ids=lambda v: repr(v) if isinstance(v, nn.Module) else ""
)
def test_modules_are_their_functions(module: nn.Module, function: Any, count: int) -> None:
    operands = vectors(count, 4, 3)
    more = [0.5] if isinstance(module, nn.GaussianNLLLoss) else []
    np.testing.assert_array_equal(raw(module(*operands, *more)), raw(function(*operands)))
    assert repr(module) == f"{type(module).__name__}()"


def test_weights_of_losses_are_buffers() -> None:
    weight = [1.0, 2.0, 3.0]
    for make in (nn.CrossEntropyLoss, nn.NLLLoss, nn.BCELoss, nn.BCEWithLogitsLoss):
        assert list(make().state_dict()) == []
        loss = make(weight).double()
        assert list(loss.state_dict()) == ["weight"]
        assert loss.weight.dtype == np.float64
        assert list(loss.parameters()) == []
    both = nn.BCEWithLogitsLoss(weight, pos_weight=tg.ones(3))
    assert list(both.state_dict()) == ["weight", "pos_weight"]
    x, target = tg.zeros(2, 3), tg.ones(2, 3)
    assert both(x, target).item() == pytest.approx(2 * math.log(2))
    assert nn.BCELoss(weight)(x + 0.5, target).item() == pytest.approx(2 * math.log(2))
    assert nn.NLLLoss(weight, reduction="sum")(x - 1, [1, 2]).item() == 5.0
