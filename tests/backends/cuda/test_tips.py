"""Tips on the device ``cuda``: what a tip declares to run there does, and can be recorded."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from benchmarks import record
from benchmarks.constants import measured
from tests.cupy_standin import cupy
from tinygrad_edu import backends, cuda, sim, tips
from tinygrad_edu.tips.tip import HOLDS

THERE = [tip for tip in tips.all_tips() if "cuda" in tip.devices]


@pytest.fixture(autouse=True)
def there(gpu: backends.Backend) -> Iterator[None]:
    yield


@pytest.mark.parametrize("tip", THERE, ids=lambda tip: tip.slug)
def test_a_tip_holds_there_as_on_the_cpu(tip: tips.Tip) -> None:
    here, found = (tips.run(tip, {"device": device}, clock=False) for device in ("cpu", "cuda"))
    assert found.verdict == here.verdict == HOLDS and found.equal and found.met


def test_there_are_those_that_the_catalogue_has() -> None:
    assert len(THERE) >= 13
    assert not any("sim" in tip.devices and tip.devices[0] == "cuda" for tip in THERE)


def test_a_tip_is_timed_until_the_device_is_done(gpu: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[None] = []
    monkeypatch.setattr(type(gpu), "synchronize", lambda self: waits.append(None))
    tip = next(tip for tip in THERE if tip.slug == "vectorise")
    timing = tips.run(tip, {"device": "cuda"}, budget=0.05).timing
    assert timing is not None
    calls = sum(len(one.times) * one.loops + len(one.warmups) for one in (timing.slow, timing.fast))
    assert len(waits) >= calls


def test_a_way_that_asks_for_less_memory_leaves_all_of_it_to_others(gpu: Any) -> None:
    tip = next(tip for tip in tips.all_tips() if tip.slug == "batch-size-search")
    tips.run(record.replace(tip, devices=("cuda",)), clock=False)
    assert cuda.memory_allocated() == 0
    made = record.replace(THERE[0], devices=("cuda",))
    assert not tips.run(made, clock=False).failed


# python -m benchmarks record ------------------------------------------------------------------------------------------


def test_every_tip_that_can_be_is_recorded_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record, "FILE", tmp_path / "device_times.json")
    assert record.recorded() == []
    monkeypatch.setattr(record, "constants", partial(measured, scale=0.002, repeats=2))
    found = record.record(budget=0.02)
    slugs = [tip.slug for tip in record.chosen()]
    assert [one["slug"] for one in found["tips"]] == slugs and len(slugs) >= 20
    assert found["gpu"] == "Stand-in 0" and found["cuda"] == "12.9 (the driver knows 13.0)"
    assert found["driver"] and found["cupy"] == cupy.__version__ and found["date"].startswith("20")
    for one in found["tips"]:
        assert one["slow"] > 0 and one["fast"] > 0 and one["pairs"] >= 4
        assert one["middle"][0] <= one["ratio"] <= one["middle"][1]
    assert found["failed"] == {} and set(found["constants"]) <= set(sim.PRESETS["H200"])
    assert all(low <= middle <= high for middle, low, high in found["constants"].values())
    record.keep(found)
    record.keep({**found, "date": "2099-01-01"})  # of the same kind: the later one stays
    assert [one["date"] for one in record.recorded()] == ["2099-01-01"]
    assert json.loads(record.FILE.read_text(encoding="utf-8"))[0]["tips"] == found["tips"]
    predictions = {slug: dict.fromkeys([*sim.PRESETS, "Stand-in 0"], 2.0) for slug in [*slugs, "another"]}
    told = record.table(predictions, record.recorded())
    assert "| Stand-in 0, recorded |" in told.splitlines()[0] and "2099-01-01, driver" in told
    rows = told.split("\n\n")[0].splitlines()
    assert rows[-1].endswith("| 2.0× | not recorded |") and "No GPU was recorded" not in told
    assert "| constant | T4, simulated | Stand-in 0, measured | unit |" in told
    assert all(line.count("|") == len(sim.PRESETS) + 4 for line in rows)


@pytest.mark.parametrize("count", [3, pytest.param(100, marks=pytest.mark.slow)])
def test_predictions_are_exact_and_leave_the_machine_as_it_was(
    count: int, draw: random.Random, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = {tip.slug: tip for tip in record.chosen()}
    sure = ["views-not-copies", "pinned-memory"]
    some = [known[slug] for slug in {*sure, *draw.sample(sorted(known), min(count, len(known)))}]
    monkeypatch.setattr(record, "chosen", lambda: iter(some))
    before = sim.machine()
    found = record.predicted(["T4", "H100"])
    assert sim.machine() is before
    assert record.predicted(["T4"]) == {slug: {"T4": ratios["T4"]} for slug, ratios in found.items()}
    assert list(found) == [tip.slug for tip in some]
    assert found["views-not-copies"]["T4"] == math.inf and found["pinned-memory"]["T4"] > 1.4


def test_what_is_left_out_cannot_be_recorded() -> None:
    assert {tip.slug for tip in tips.all_tips() if "sim" in tip.devices} >= record.SIMULATED_ONLY


def test_without_a_gpu_nothing_is_recorded_and_the_reason_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record.cuda, "is_available", lambda: False)
    monkeypatch.setattr(record, "why_not", lambda: ("there is no driver", "use another machine"))
    with pytest.raises(SystemExit, match="nothing was recorded: there is no driver; use another machine"):
        record.run()
