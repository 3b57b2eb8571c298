"""What a GPU takes for both ways of each tip: ``python -m benchmarks record``, on a machine that has one.

The record goes to ``docs/device_times.json``, one entry for each kind of GPU. Beside it the docs show what the
simulator predicts for the GPUs that it knows. Only ratios are compared: the simulator does not predict milliseconds.
"""

from __future__ import annotations

import datetime
import json
import math
import platform
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from tinygrad_edu import backends, cuda, sim, tips
from tinygrad_edu.backends.cuda import why_not
from tinygrad_edu.common.wording import ratio_text, ratio_with_spread
from tinygrad_edu.tips import Tip

FILE = Path(__file__).parents[1] / "docs" / "device_times.json"
BUDGET = 4.0  # seconds for both ways of a tip
SIMULATED_ONLY = {  # tips that are about the simulated host or its clock, or that ask for its constants
    "batch-size-search", "launch-bound-vs-bandwidth-bound-vs-compute-bound", "stream-what-does-not-fit",
    "time-with-sync", "use-the-accelerator", "utilisation",
}  # fmt: skip


def chosen() -> Iterator[Tip]:
    """The tips that run on a device: as they are on the simulated one, and on a GPU."""
    for tip in tips.all_tips():
        if "sim" in tip.devices and tip.slug not in SIMULATED_ONLY:
            yield replace(tip, devices=("sim", "cuda"))


def predicted(presets: Iterable[str] = tuple(sim.PRESETS)) -> dict[str, dict[str, float]]:
    """For each tip and each machine that is simulated: how many times as long A takes as B, in virtual time.

    It is infinite where B only makes a view, which takes no time there.
    """
    before, found = sim.machine(), dict[str, dict[str, float]]()
    try:
        for preset in presets:
            sim.use(preset)
            for tip in chosen():
                result = tips.run(tip, {"device": "sim"}, clock=False)
                slow, fast = result.slow["virtual"], result.fast["virtual"]
                found.setdefault(tip.slug, {})[preset] = slow / fast if fast else math.inf
    finally:
        sim.use(before)
    return found


def record(budget: float = BUDGET) -> dict[str, Any]:
    """What the GPU of this machine takes. Raises `DeviceError` where there is none."""
    found = []
    about = hardware()
    for tip in chosen():
        timing = tips.run(tip, {"device": "cuda"}, budget=budget).timing
        if timing is None:
            raise RuntimeError(f"{tip.slug} did not run on the GPU: tips.run says why")
        found.append(
            {
                "slug": tip.slug, "ratio": timing.ratio, "middle": list(timing.middle), "verdict": timing.verdict,
                "slow": timing.slow.median, "fast": timing.fast.median, "pairs": len(timing.ratios),
            }
        )  # fmt: skip
    return {**about, "date": str(datetime.date.today()), "tips": found}


def hardware() -> dict[str, str]:
    """The GPU, its driver, and the versions."""
    gpu: Any = backends.get("cuda")
    runtime = gpu.cp.cuda.runtime
    ask = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    try:
        driver = subprocess.run(ask, capture_output=True, text=True, timeout=30, check=True).stdout.split("\n")[0]
    except (OSError, subprocess.SubprocessError):
        driver = "unknown"
    return {
        "gpu": runtime.getDeviceProperties(0)["name"].decode(), "driver": driver,
        "cuda": f"{_version(runtime.runtimeGetVersion())} (the driver knows {_version(runtime.driverGetVersion())})",
        "cupy": gpu.cp.__version__, "numpy": np.__version__, "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
    }  # fmt: skip


def _version(number: int) -> str:
    return f"{number // 1000}.{number % 1000 // 10}"


def recorded() -> list[dict[str, Any]]:
    """All that was recorded, one entry for each kind of GPU; none if nobody has."""
    found: list[dict[str, Any]] = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else []
    return found


def keep(new: dict[str, Any]) -> None:
    """Write it down, in place of what was recorded for the same kind of GPU."""
    others = [one for one in recorded() if one["gpu"] != new["gpu"]]
    told = json.dumps([*others, new], indent=1, ensure_ascii=False) + "\n"
    FILE.write_text(told, encoding="utf-8")


def table(predictions: dict[str, dict[str, float]], records: list[dict[str, Any]]) -> str:
    """Predictions beside records, in Markdown."""
    heads = [*(f"{preset}, simulated" for preset in sim.PRESETS), *(f"{one['gpu']}, recorded" for one in records)]
    lines = [f"| tip | {' | '.join(heads)} |", "|---" * (1 + len(heads)) + "|"]
    for slug, ratios in predictions.items():
        cells = ["B is a view" if ratios[one] == math.inf else f"{ratio_text(ratios[one])}×" for one in sim.PRESETS]
        for one in records:
            known = next((tip for tip in one["tips"] if tip["slug"] == slug), None)
            cells.append("not recorded" if known is None else ratio_with_spread(known["ratio"], known["middle"]))
        lines.append(f"| `{slug}` | {' | '.join(cells)} |")
    rows = [
        f"{one['gpu']}: {one['date']}, driver {one['driver']}, CUDA {one['cuda']}, CuPy {one['cupy']}, "
        f"NumPy {one['numpy']}, Python {one['python']}, {one['system']}; median of the pairs and its middle half."
        for one in records
    ]
    return "\n".join([*lines, "", *(rows or ["No GPU was recorded yet: `python -m benchmarks record` does it."])])


def run() -> str:
    """Record, keep and show it, for ``python -m benchmarks record``. Without a GPU it ends with the reason."""
    if not cuda.is_available():
        why, mend = why_not() or ("the GPU is gone", "start again")
        raise SystemExit(f"nothing was recorded: {why}; {mend}")
    keep(record())
    return table(predicted(), recorded())
