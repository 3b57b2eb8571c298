"""The tables of speed show the figures that were recorded, and no others."""

from __future__ import annotations

import json
import runpy

from tests.support import ROOT


def test_the_tables_are_those_of_the_record() -> None:
    tool = runpy.run_path(str(ROOT / "tools" / "benchmark_tables.py"))
    record = json.loads(tool["FIGURES"].read_text(encoding="utf-8"))
    assert len({figure["workload"] for figure in record["figures"]}) == 10
    again = "run python tools/benchmark_tables.py"
    assert tool["PAGE"].read_text(encoding="utf-8") == tool["page"](record), again
    text = tool["README"].read_text(encoding="utf-8")
    assert text == tool["readme"](record, text), again


def test_predictions_for_gpus_are_those_of_the_simulator_and_records_are_all_shown() -> None:
    tool = runpy.run_path(str(ROOT / "tools" / "benchmark_tables.py"))
    text = tool["DEVICES"].read_text(encoding="utf-8")
    assert text == tool["devices"](text), "run python tools/benchmark_tables.py"
