"""The accelerator by PyTorch's names. Without a GPU it is the simulated one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import tinygrad_edu as tg
from tests.support import run_python
from tinygrad_edu import accelerator, backends
from tinygrad_edu.errors import ArgumentError, OutOfMemoryError, RaceError

pytestmark = pytest.mark.skipif("cuda" in backends.names(), reason="there is a GPU, which these tests do not describe")


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    tg.sim.use("T4")
    yield
    tg.sim.use("T4")


def test_it_says_once_that_it_is_simulated() -> None:
    code = "import tinygrad_edu as tg\nfor _ in range(3): print(tg.accelerator.current_accelerator())"
    done = run_python(code)
    assert done.stdout == "sim\n" * 3
    assert done.stderr == (
        "There is no GPU here: the accelerator is simulated, and its times are virtual (tg.sim.explain()).\n"
    )


def test_what_there_is() -> None:
    assert accelerator.is_available()
    assert accelerator.current_accelerator() == "sim" and accelerator.device_count() >= 1


def test_streams_and_events() -> None:
    side: Any = accelerator.Stream()
    x = tg.ones(500, 500, device="sim")
    side.wait_stream(accelerator.current_stream())
    first, last = accelerator.Event(enable_timing=True), accelerator.Event(enable_timing=True)
    with accelerator.stream(side) as inside:
        assert accelerator.current_stream() is inside is side
        first.record()
        y = x @ x
        last.record()
    assert accelerator.current_stream() is not side
    with pytest.raises(RaceError):
        y + 1
    last.wait()
    assert (y + 1)[0, 0].item() == 501.0
    assert last.query() and first.elapsed_time(last) > 0.03
    with pytest.raises(ArgumentError, match="keep no time"):
        accelerator.Event().elapsed_time(last)
    with pytest.raises(ArgumentError, match="it is no stream"), accelerator.stream(3):
        pass


def test_memory() -> None:
    accelerator.empty_cache()
    accelerator.reset_peak_memory_stats()
    before = accelerator.memory_allocated()
    x = tg.ones(1 << 20, device="sim")
    assert accelerator.memory_allocated() == before + (4 << 20)
    y = x + 1
    del y
    assert accelerator.max_memory_allocated() == before + (8 << 20)
    assert accelerator.memory_reserved() >= 20 << 20
    assert accelerator.max_memory_reserved() >= accelerator.memory_reserved()
    accelerator.reset_peak_memory_stats()
    assert accelerator.max_memory_allocated() == accelerator.memory_allocated()
    assert "reserved" in accelerator.memory_summary()
    del x
    accelerator.empty_cache()
    assert accelerator.memory_allocated() == before


def test_a_limit() -> None:
    accelerator.empty_cache()
    accelerator.set_per_process_memory_fraction(0.001)
    with pytest.raises(accelerator.OutOfMemoryError):
        tg.ones(5 << 20, device="sim")
    accelerator.set_per_process_memory_fraction(1.0)
    assert tg.ones(5 << 20, device="sim").shape == (5 << 20,)
    assert accelerator.OutOfMemoryError is OutOfMemoryError
    for wrong in (0, 1.5, "1", True):
        with pytest.raises(ArgumentError):
            accelerator.set_per_process_memory_fraction(wrong)  # type: ignore[arg-type]


def test_synchronize_waits() -> None:
    x = tg.ones(1000, 1000, device="sim")
    x @ x
    assert not accelerator.current_stream().query()
    accelerator.synchronize()
    assert accelerator.current_stream().query()


def test_counts_begin_at_zero() -> None:
    code = "import tinygrad_edu as tg; assert set(tg.sim.counts().values()) == {0} and 'launches' in tg.sim.counts()"
    assert run_python(code).returncode == 0
