"""Kernels by Numba: how exact their functions are, and the same values as without them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import pytest
from hypothesis import given, settings

import tinygrad_edu as tg
from tests.compiler.test_compile import MODELS, batches, plain_step
from tests.compiler.test_random_programs import CHOICES, INPUTS, Choice, leaves, play, same
from tinygrad_edu.compiler import compile, numba_code, running
from tinygrad_edu.errors import MissingPackageError

EXACT: dict[str, tuple[Callable[..., Any], float, float]] = {
    "exp_f4": (np.exp, -105.0, 90.0),
    "tanh_f4": (np.tanh, -12.0, 12.0),
    "sigmoid_f4": (lambda x: 1 / (1 + np.exp(-x)), -88.0, 105.0),
    "log_f4": (np.log, 1e-38, 3e38),
}


def applied(name: str, x: Any) -> Any:
    function = numba_code.words()[name]

    @numba.njit(error_model="numpy")
    def run(x: Any, out: Any) -> None:
        for i in range(x.size):
            out[i] = function(x[i])

    out = np.empty_like(x)
    run(x, out)
    return out


@pytest.mark.parametrize("name", EXACT)
def test_a_function_is_within_one_unit_in_the_last_place(name: str) -> None:
    exact, low, high = EXACT[name]
    rng = np.random.default_rng(0)
    if name == "log_f4":
        x = np.concatenate([np.exp(rng.uniform(-87, 88, 100_000)), rng.uniform(0.5, 2, 100_000)]).astype("f4")
    else:
        x = np.concatenate([rng.uniform(low, high, 100_000), rng.normal(size=100_000)]).astype("f4")
    with np.errstate(all="ignore"):
        wanted = exact(x.astype("f8"))
        normal = (np.abs(wanted) < 3.4e38) & (np.abs(wanted) > 1e-37)
        off = np.abs(applied(name, x) - wanted) / np.spacing(np.abs(wanted).astype("f4"))
    assert off[normal].max() < 1.0


@pytest.mark.parametrize("name", EXACT)
def test_numbers_at_the_ends_are_those_of_numpy(name: str) -> None:
    x = np.array([np.inf, -np.inf, np.nan, 0.0, -0.0, 1e-45, 1e-40, 200.0, -200.0], "f4")
    exact, _, _ = EXACT[name]
    with np.errstate(all="ignore"):
        found, wanted = applied(name, x), exact(x)
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-44)
    np.testing.assert_array_equal(np.signbit(found[3:5]), np.signbit(wanted[3:5]))


@given(choices=CHOICES, inputs=INPUTS)
@settings(max_examples=25, deadline=None)
def test_random_programs(choices: list[Choice], inputs: Any) -> None:
    """Also where the arrays are too small for it to pay."""
    least, numba_code.LEAST = numba_code.LEAST, 0
    whole, running.loops = running.loops, lambda *given: None  # which would take the place of kernels
    try:

        def function(*tensors: Any) -> Any:
            return tuple(play(choices, list(tensors)))

        fast = compile(function, fullgraph=True, backend="numba")
        ours, theirs = leaves(inputs, 0), leaves(inputs, 0)
        for x, y in zip(fast(*ours), function(*theirs), strict=True):
            same(x.detach().array, y.detach().array)
    finally:
        numba_code.LEAST, running.loops = least, whole


def test_a_training_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numba_code, "LEAST", 0)
    monkeypatch.setattr(running, "loops", lambda *given: None)
    found = []
    for backend in ("", "numba"):
        tg.manual_seed(0)
        model = MODELS["gelu"]()
        step = plain_step(model, tg.optim.Adam(model.parameters(), lr=0.01))
        fast = compile(step, backend=backend, fullgraph=True) if backend else step
        found.append([fast(x, y).item() for x, y in batches()])
    np.testing.assert_allclose(found[0], found[1], rtol=1e-5)
    assert sum(len(code.kernels) for code in fast.ledger[0].codes) > 2


def test_large_chains_with_rows_columns_and_numbers() -> None:
    x = tg.randn(300, 200, requires_grad=True)
    row, column, number = tg.randn(200), tg.randn(300, 1), tg.tensor(1.5)

    def f(x: Any) -> Any:
        y = (x * row).sigmoid() + column.tanh() * number - (x > 0) * 0.5 + tg.where(x > row, x, column).exp()
        return y.maximum(column).minimum(3.0), (y.abs() + 1).log().sum()

    fast = compile(f, fullgraph=True, backend="numba")
    with np.errstate(all="ignore"):
        expected = f(x)
        for one, other in zip(fast(x), expected, strict=True):
            np.testing.assert_allclose(one.detach().array, other.detach().array, rtol=2e-5, atol=1e-5)
    fast(x)[1].backward()
    ours = x.grad.array.copy()
    x.grad = None
    expected[1].backward()
    np.testing.assert_allclose(ours, x.grad.array, rtol=1e-4, atol=1e-5)
    kernels = [kernel for code in fast.ledger[0].codes for kernel in code.kernels]
    assert kernels and "for j in range(200)" in kernels[0].source


@pytest.mark.parametrize("steps, machine_code", [(3, False), (8, True)])
def test_many_equations_over_few_numbers_are_one_loop_too(
    steps: int, machine_code: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A start takes as long as some calls of NumPy: 18 are not worth it, 48 are. Where the whole has no loops."""
    monkeypatch.setattr(running, "loops", lambda *given: None)

    def swing(position: tg.Tensor, velocity: tg.Tensor) -> tg.Tensor:
        for _ in range(steps):
            velocity = velocity - 0.01 * (position + 0.1 * velocity)
            position = position + 0.01 * velocity
        return position

    given = tg.zeros(3), tg.ones(3)
    compiled = tg.compile(swing, backend="numba")
    np.testing.assert_allclose(compiled(*given).numpy(), swing(*given).numpy(), rtol=1e-6)
    assert ("kernel_" in compiled.ledger[0].source) is machine_code


def test_without_numba_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    import builtins

    real = builtins.__import__

    def missing(name: str, *rest: Any, **more: Any) -> Any:
        if name == "numba":
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", missing)
    monkeypatch.setattr(numba_code, "_COMPILED", {})
    numba_code.words.cache_clear()
    with pytest.raises(MissingPackageError, match=r"tinygrad_edu\[compile\]"):
        compile(lambda x: (x * 2).exp(), backend="numba", fullgraph=True)(tg.ones(200, 200))
