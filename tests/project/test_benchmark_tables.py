"""The tables of speed show the figures that were recorded, and no others."""

from __future__ import annotations

import json
import random
import runpy
import subprocess
import sys

import pytest

from benchmarks import record as gpus
from tests.support import ROOT
from tinygrad_edu import sim


def test_the_tables_are_those_of_the_record() -> None:
    tool = runpy.run_path(str(ROOT / "tools" / "benchmark_tables.py"))
    record = json.loads(tool["FIGURES"].read_text(encoding="utf-8"))
    assert len({figure["workload"] for figure in record["figures"]}) == 10
    again = "run python tools/benchmark_tables.py"
    assert tool["PAGE"].read_text(encoding="utf-8") == tool["page"](record), again
    text = tool["README"].read_text(encoding="utf-8")
    assert text == tool["readme"](record, text), again


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_predictions_for_gpus_are_those_of_the_simulator_and_records_are_all_shown() -> None:
    """In a program of its own, as the tool is: what ran before leaves memory that is not asked for again."""
    command = [sys.executable, "-c", CHECK]
    found = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    assert found == "equal\n", "run python tools/benchmark_tables.py"


CHECK = """
import runpy
tool = runpy.run_path("tools/benchmark_tables.py")
text = tool["DEVICES"].read_text(encoding="utf-8")
print("equal" if text == tool["devices"](text) else "another table")
"""
PREDICT = """
import json, sys
from benchmarks import record
preset, name = sys.argv[1:]
(gpu,) = [one for one in record.recorded() if one["gpu"] == name]
print(json.dumps(record.predicted([preset], [gpu])))
"""


@pytest.mark.timeout(600)  # ten seconds on a quiet machine
def test_predictions_for_two_machines_are_those_of_the_simulator(draw: random.Random) -> None:
    """One preset, and one GPU with the constants that were measured on it; in a program of its own, as the tool is."""
    preset, gpu = draw.choice(list(sim.PRESETS)), draw.choice(gpus.recorded())
    lines = (ROOT / "docs" / "devices.md").read_text(encoding="utf-8").splitlines()
    head = next(line for line in lines if line.startswith("| tip |")).strip("| ").split(" | ")
    rows = {line.split("`")[1]: line.strip("| ").split(" | ") for line in lines if line.startswith("| `")}
    command = [sys.executable, "-c", PREDICT, preset, gpu["gpu"]]
    found = json.loads(subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout)
    titles = {preset: f"{preset}, simulated", gpu["gpu"]: f"{gpu['gpu']}, simulated with its own constants"}
    assert len(found) == len(list(gpus.chosen()))
    for slug, ratios in found.items():
        for name, title in titles.items():
            assert rows[slug][head.index(title)] == gpus._cell(ratios[name]), (slug, name)
