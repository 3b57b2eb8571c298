"""How long ``import tinygrad_edu`` takes, against ``import numpy``, each in a fresh interpreter."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks import harness

ROOT = Path(__file__).parent.parent
TIMED = "import time; t = time.perf_counter(); import {name}; print(time.perf_counter() - t)"


def seconds(name: str, cache: str) -> float:
    """One import in one interpreter, with compiled files in the folder ``cache``."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    environment |= {"PYTHONPATH": str(ROOT), "PYTHONPYCACHEPREFIX": cache}
    done = subprocess.run(
        [sys.executable, "-c", TIMED.format(name=name)], env=environment, capture_output=True, text=True, check=True
    )
    return float(done.stdout)


def run(turns: int = 30) -> str:
    """The ratio, as a table."""
    names = ["numpy", "tinygrad_edu"]
    times: dict[str, list[float]] = {name: [] for name in names}
    with tempfile.TemporaryDirectory() as cache:
        for name in names:
            seconds(name, cache)  # compiles, and brings the files into memory
        for turn in range(turns):
            for name in names if turn % 2 else names[::-1]:
                times[name].append(seconds(name, cache))
    ratios = [harness.ratio(f"import {name}", times[name], times["numpy"]) for name in names]
    return harness.table("Import, interleaved fresh interpreters", ratios, "import numpy")
