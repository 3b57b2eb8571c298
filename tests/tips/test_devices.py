"""Tips about devices: they run on the simulated one, in virtual time, and hold on every machine that is known."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

import tinygrad_edu as tg
from tests.tips.made_up import TIP
from tinygrad_edu import tips
from tinygrad_edu.backends.sim.presets import PRESETS
from tinygrad_edu.errors import OutOfMemoryError
from tinygrad_edu.tips import Claim, Tip
from tinygrad_edu.tips.counting import watched
from tinygrad_edu.tips.tip import HOLDS

ON_SIM = [tip for tip in tips.all_tips() if tip.devices == ("sim",)]  # of others, `tips check` tries each device


@pytest.fixture(autouse=True)
def t4() -> Iterator[None]:
    tg.sim.use("T4")
    yield
    tg.sim.use("T4")


def test_there_are_fourteen() -> None:
    assert len(ON_SIM) >= 14 and {tip.slug for tip in tips.search(theme="devices")} <= {tip.slug for tip in ON_SIM}


@pytest.mark.drawn(1 / 2)
@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("tip", ON_SIM, ids=lambda tip: tip.slug)
def test_it_holds_on_every_machine(tip: Tip, preset: str) -> None:
    tg.sim.use(preset)
    found = tips.run(tip, clock=False)
    assert (found.verdict, found.met) == (HOLDS, True), found.reason


def test_time_is_virtual_on_the_simulated_device_and_nothing_is_measured() -> None:
    tip = replace(TIP, claims=(Claim("time"),), devices=("cpu", "sim"))
    here, there = (tips.run(tip, {"device": device}) for device in ("cpu", "sim"))
    assert here.timing is not None and here.claims[0].claim.fact == "time"
    assert there.timing is None and there.claims[0].words.startswith("time, simulated: A ")
    assert not there.claims[0].counted, "as on the clock, time does not decide"
    assert there.slow["virtual"] > 0 and "virtual" not in here.slow
    again = tips.run(tip, {"device": "sim"})
    assert again.slow["virtual"] == there.slow["virtual"]


def test_a_way_that_fails_on_the_device_still_has_its_facts() -> None:
    tip = tips.find("stream-what-does-not-fit")
    found = tips.run(tip, clock=False)
    assert "are asked for" in found.slow["error"] and found.slow["moved"] > 0 and found.slow["virtual"] > 0
    memory = tg.accelerator.memory_reserved()
    assert tg.ones(4_000_000, device="sim").sum().item() == 4_000_000, f"the limit is gone, {memory}"


def test_what_was_watched_begins_as_in_a_new_program() -> None:
    tip = tips.find("prefetch-to-device")
    one, other = (watched(tip, tip.fast, tip.setting({})) for _ in range(2))
    assert [work[:6] for work in one] == [work[:6] for work in other]
    assert any(work.lane == "sim stream 1" or work.lane == "sim to device" for work in one)


def test_no_tip_declares_a_device_that_nobody_has_tried() -> None:
    assert {device for tip in tips.all_tips() for device in tip.devices} == {"cpu", "sim", "cuda"}


def test_the_search_for_a_batch_size_tries_the_guess_too() -> None:
    search = tips.find("batch-size-search").fast

    def step(batch: int) -> None:
        if batch > 100:
            raise OutOfMemoryError("a step", "this is more than 100", "use a smaller batch")

    assert [search(step, guess) for guess in (500, 100, 3)] == [100, 100, 96], "the guess itself may be too large"


def test_samples_a_second_stop_growing_once_the_device_is_busy() -> None:
    step = tips.find("batch-size-search").inputs(tg.Generator().manual_seed(0), 32, 60, "sim")["step"]
    cost = {}
    for batch in (32, 1024, 2048, 4096):
        step(batch)  # what it needs is reserved
        tg.accelerator.synchronize()
        start = tg.sim.now()
        step(batch)
        tg.accelerator.synchronize()
        cost[batch] = (tg.sim.now() - start) / batch
    assert cost[32] > 4 * cost[1024] and cost[4096] > 0.8 * cost[2048]
