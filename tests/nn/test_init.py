"""First values: in place, outside the graph, and of the distributions that their formulas say."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tests.support import teaches
from tinygrad_edu import nn
from tinygrad_edu.errors import ArgumentError, DtypeError, ShapeError
from tinygrad_edu.nn import init

FILLS: dict[str, Callable[[Any], Any]] = {
    name: getattr(init, name) for name in init.__all__ if name not in ("calculate_gain", "constant_", "sparse_")
} | {"constant_": lambda t: init.constant_(t, 0.5), "sparse_": lambda t: init.sparse_(t, 0.5)}


@pytest.mark.parametrize("name", FILLS)
@pytest.mark.parametrize(("dtype", "device"), [("float32", "cpu"), ("bfloat16", "cpu"), ("float64", "far")])
def test_a_parameter_is_filled_in_place(name: str, dtype: str, device: str) -> None:
    shape = (4, 4, 3) if name == "dirac_" else (4, 6)
    parameter = nn.Parameter(tg.full(shape, 77.0, dtype=dtype, device=device))
    memory = parameter.detach()
    assert FILLS[name](parameter) is parameter
    assert (parameter.dtype.name, parameter.device, parameter.shape) == (dtype, device, shape)
    assert parameter.requires_grad
    assert parameter.is_leaf
    assert isinstance(parameter, nn.Parameter)
    assert 77.0 not in memory.cpu().float()
    assert tg.is_grad_enabled()
    first = parameter.tolist()
    tg.manual_seed(1)
    again = FILLS[name](parameter).tolist()
    tg.manual_seed(1)
    assert FILLS[name](parameter).tolist() == again
    drawn = name not in ("constant_", "ones_", "zeros_", "eye_", "dirac_")
    assert (again != first) is drawn


def values(tensor: Any) -> Any:
    return tensor.detach().double().numpy()


@pytest.mark.parametrize(
    ("fill", "bound"),
    [
        (lambda t: init.uniform_(t, -2, 2), 2.0),
        (init.xavier_uniform_, math.sqrt(6 / (30 * 6 + 400 * 6))),
        (lambda t: init.xavier_uniform_(t, gain=3), 3 * math.sqrt(6 / (30 * 6 + 400 * 6))),
        (init.kaiming_uniform_, math.sqrt(2) * math.sqrt(3 / (30 * 6))),
        (lambda t: init.kaiming_uniform_(t, math.sqrt(5)), math.sqrt(1 / (30 * 6))),
        (lambda t: init.kaiming_uniform_(t, mode="fan_out", nonlinearity="tanh"), 5 / 3 * math.sqrt(3 / (400 * 6))),
    ],
)
def test_even_values(fill: Any, bound: float) -> None:
    found = values(fill(tg.empty(400, 30, 2, 3)))
    assert abs(found).max() <= bound * (1 + 1e-6)
    assert abs(found).max() > 0.999 * bound
    assert abs(found.mean()) < 0.01 * bound
    assert found.std() == pytest.approx(bound / math.sqrt(3), rel=0.01)


@pytest.mark.parametrize(
    ("fill", "mean", "std"),
    [
        (lambda t: init.normal_(t, 3, 0.5), 3.0, 0.5),
        (lambda t: init.xavier_normal_(t, 2), 0.0, 2 * math.sqrt(2 / (30 * 6 + 400 * 6))),
        (init.kaiming_normal_, 0.0, math.sqrt(2 / (30 * 6))),
        (lambda t: init.kaiming_normal_(t, 1, "fan_out"), 0.0, math.sqrt(1 / (400 * 6))),
    ],
)
def test_normal_values(fill: Any, mean: float, std: float) -> None:
    found = (values(fill(tg.empty(400, 30, 2, 3))) - mean) / std
    assert abs(found.mean()) < 0.02
    assert found.std() == pytest.approx(1.0, rel=0.02)
    assert np.mean(abs(found) < 1) == pytest.approx(0.6827, abs=0.01)


def density(z: Any) -> Any:
    return np.exp(-0.5 * z * z)


@pytest.mark.parametrize(
    ("mean", "std", "a", "b"),
    [(0, 1, -2, 2), (1, 2, -1, 1.5), (0, 1, 3, 8), (0, 0.02, -2, 2), (5, 1, -2, 2), (0, 1, 0.1, 0.2), (0, 1, 9, 1e9)],
)
def test_truncated_normal_values(mean: float, std: float, a: float, b: float) -> None:
    """The mean and spread are those of the density between the bounds, by numerical integration."""
    found = values(init.trunc_normal_(tg.empty(40_000), mean, std, a, b))
    assert found.min() >= np.float32(a)
    assert found.max() <= np.float32(b)
    grid = np.linspace(max(a, mean - 12 * std), min(b, mean + 12 * std), 200_001)
    weight = density((grid - mean) / std)
    weight /= weight.sum()
    expected = (grid * weight).sum()
    spread = math.sqrt(((grid - expected) ** 2 * weight).sum())
    assert found.mean() == pytest.approx(expected, abs=0.03 * spread)
    assert found.std() == pytest.approx(spread, rel=0.03)


@pytest.mark.parametrize("shape", [(5, 5), (3, 7), (7, 3), (4, 2, 3), (6, 1)])
@pytest.mark.parametrize("gain", [1, 2.5])
def test_orthogonal_matrices(shape: tuple[int, ...], gain: float) -> None:
    matrix = values(init.orthogonal_(tg.empty(*shape, dtype="float64"), gain)).reshape(shape[0], -1)
    rows, columns = matrix.shape
    product = matrix @ matrix.T if rows <= columns else matrix.T @ matrix
    np.testing.assert_allclose(product, gain**2 * np.eye(min(rows, columns)), atol=1e-12)


def test_orthogonal_matrices_turn_either_way() -> None:
    """Each sign is as likely, as it would not be with the factor Q of most libraries."""
    signs = [values(init.orthogonal_(tg.empty(1, 1))).item() for _ in range(200)]
    assert {round(s, 6) for s in signs} == {-1.0, 1.0}
    assert 60 < signs.count(1.0) < 140


def test_sparse_columns() -> None:
    found = values(init.sparse_(tg.empty(40, 50), 0.31, std=2.0))
    assert (np.sum(found == 0, axis=0) == math.ceil(0.31 * 40)).all()
    assert len({tuple(column) for column in (found == 0).T}) > 40  # drawn for each
    assert found[found != 0].std() == pytest.approx(2.0, rel=0.1)
    assert (values(init.sparse_(tg.empty(3, 2), 1)) == 0).all()


def test_identities() -> None:
    assert init.eye_(tg.empty(2, 3)).tolist() == [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    x = tg.randn(2, 3, 6, 5)
    kernels = init.dirac_(tg.empty(3, 3, 3, 3))
    assert nn.functional.conv2d(x, kernels, None, 1, 1).tolist() == x.tolist()
    kernels = init.dirac_(tg.empty(4, 2, 3), groups=2)
    assert [tuple(place) for place in np.argwhere(values(kernels))] == [(0, 0, 1), (1, 1, 1), (2, 0, 1), (3, 1, 1)]
    assert init.dirac_(tg.empty(1, 1, 2, 3, 4)).sum().item() == 1.0


def test_integers_too() -> None:
    assert init.ones_(tg.zeros(2, dtype="int64")).tolist() == [1, 1]
    assert init.zeros_(tg.ones(2, dtype="int64")).tolist() == [0, 0]
    with pytest.raises(DtypeError):
        init.uniform_(tg.zeros(2, dtype="int64"))


def test_empty_tensors_stay_as_they_are() -> None:
    for name in ("xavier_uniform_", "xavier_normal_", "kaiming_uniform_", "kaiming_normal_", "orthogonal_", "eye_"):
        assert FILLS[name](tg.empty(0, 0)).shape == (0, 0)
    assert init.trunc_normal_(tg.empty(0)).shape == (0,)


@pytest.mark.parametrize(
    ("name", "param", "gain"),
    [
        ("linear", None, 1), ("conv2d", None, 1), ("sigmoid", None, 1), ("tanh", None, 5 / 3), ("selu", None, 0.75),
        ("relu", None, math.sqrt(2)), ("leaky_relu", None, math.sqrt(2 / 1.0001)), ("leaky_relu", 2, math.sqrt(0.4)),
    ],
)  # fmt: skip
def test_gains(name: str, param: Any, gain: float) -> None:
    assert init.calculate_gain(name, param) == pytest.approx(gain)


def test_what_cannot_be_filled() -> None:
    with teaches(
        ShapeError,
        "kaiming_normal_ of a tensor (5,)",
        "it fills tensors of 2 or more axes",
        "a bias is filled by zeros_ or uniform_",
        line="init.kaiming_normal_(nn.Linear(2, 5).bias)",
    ):
        init.kaiming_normal_(nn.Linear(2, 5).bias)
    for name, shape in (("eye_", (2, 2, 2)), ("dirac_", (2, 2)), ("sparse_", (2,)), ("xavier_normal_", (3,))):
        with pytest.raises(ShapeError, match=f"{name} of a tensor"):
            FILLS[name](tg.empty(*shape))
    with pytest.raises(DtypeError, match="it fills a tensor in place"):
        init.normal_([1.0])
    with pytest.raises(ArgumentError, match="a must be below b"):
        init.trunc_normal_(tg.empty(2), a=2, b=1)
    with pytest.raises(ArgumentError, match="a fraction lies between 0 and 1"):
        init.sparse_(tg.empty(2, 2), 1.5)
    with pytest.raises(ArgumentError, match="cannot be divided into 2 groups"):
        init.dirac_(tg.empty(3, 2, 2), groups=2)
    with pytest.raises(ArgumentError, match=r"mode='fan'"):
        init.kaiming_normal_(tg.empty(2, 2), mode="fan")
    with pytest.raises(ArgumentError, match=r"calculate_gain\('swish'\)"):
        init.calculate_gain("swish")
    with pytest.raises(DtypeError):
        init.calculate_gain("leaky_relu", "steep")
