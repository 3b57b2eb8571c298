"""What lesson 0 says of other libraries, tried with each that runs here, without a clock."""

from __future__ import annotations

import inspect
import timeit
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tests.notebooks.cells import run_cells

torch = pytest.importorskip("torch")
jax = pytest.importorskip("jax")


@pytest.mark.parametrize("library", ["here", "PyTorch", "NumPy"])
def test_a_power_of_two_is_the_multiplication(library: str) -> None:
    numbers = np.random.default_rng(0).normal(size=1000).astype(np.float32)
    x: Any = {"here": tg.tensor, "PyTorch": torch.tensor, "NumPy": np.array}[library](numbers)
    assert np.array_equal(np.asarray(x**2), np.asarray(x * x))


def test_the_first_program_works_in_pytorch(monkeypatch: pytest.MonkeyPatch) -> None:
    """The window is made by whichever function is called first, whatever the library."""
    names = run_cells("00_measure_honestly").names
    monkeypatch.setitem(names, "tg", torch)
    window, sound = names["window"], torch.rand(100)
    for first, second in (("times", "power"), ("power", "times")):
        window.cache_clear()
        expected = names[first](sound)
        assert window.cache_info().misses == 1
        assert torch.allclose(names[second](sound), expected)
        assert window.cache_info().misses == 1
    window.cache_clear()


def test_what_timeit_does_once() -> None:
    made: list[int] = []
    timeit.repeat("x.append(1)", "x = []; made.append(x)", repeat=3, number=5, globals={"made": made})
    assert made == [[1] * 5] * 3
    assert "min()" in (timeit.Timer.repeat.__doc__ or "")


def test_pytorch_s_timer_warms_up_takes_one_thread_and_gives_the_spread() -> None:
    from torch.utils.benchmark import Timer

    calls: list[int] = []
    found = Timer("calls.append(1)", globals={"calls": calls}).blocked_autorange(min_run_time=0.02)
    assert len(calls) > len(found.times) * found.number_per_run  # warmed up before
    assert inspect.signature(Timer).parameters["num_threads"].default == 1
    assert found.median > 0 and found.iqr >= 0
    from torch.utils.benchmark.utils import timer

    assert "synchronize" in inspect.getsource(timer)


def test_jax_has_a_wait() -> None:
    y = jax.jit(lambda x: x * x)(jax.numpy.ones(3))
    assert y.block_until_ready().tolist() == [1.0, 1.0, 1.0]


def test_jax_traces_at_the_first_call_only() -> None:
    seen: list[int] = []

    def square(x: Any) -> Any:
        seen.append(1)
        return x * x

    compiled = jax.jit(square)
    for _ in range(3):
        compiled(jax.numpy.ones(3))
    assert seen == [1]


def test_pytorch_s_setup_runs_once_for_many_runs_as_that_of_timeit() -> None:
    from torch.utils.benchmark import Timer

    made: list[list[int]] = []
    Timer("x.append(1)", "x = []; made.append(x)", globals={"made": made}).timeit(5)
    assert made and all(len(one) > 1 for one in made[-1:])


def test_jax_queues_on_a_cpu_too() -> None:
    x = jax.numpy.ones((1500, 1500))
    (x @ x).block_until_ready()
    y = x
    for _ in range(8):
        y = y @ x
    assert not y.is_ready()  # and the call is over
    assert y.block_until_ready().is_ready()


def test_the_wait_of_cuda_needs_a_gpu() -> None:
    """So the table says that it was not run."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    else:
        with pytest.raises((RuntimeError, AssertionError)):
            torch.cuda.synchronize()
