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

from benchmarks.constants import measured as constants
from tinygrad_edu import backends, cuda, sim, tips, zeros
from tinygrad_edu.backends.cuda import why_not
from tinygrad_edu.common.wording import number, rate_with_spread, ratio_text, ratio_with_spread, si
from tinygrad_edu.tips import Tip

FILE = Path(__file__).parents[1] / "docs" / "device_times.json"
BUDGET = 4.0  # seconds for both ways of a tip
SIMULATED_ONLY = {  # tips that are about the simulated host or its clock, or that ask for its constants
    "batch-size-search", "batch-the-stream", "launch-bound-vs-bandwidth-bound-vs-compute-bound",
    "stream-what-does-not-fit", "time-with-sync", "use-the-accelerator", "utilisation",
}  # fmt: skip


def chosen() -> Iterator[Tip]:
    """The tips that run on a device: as they are on the simulated one, and on a GPU."""
    for tip in tips.all_tips():
        if "sim" in tip.devices and tip.slug not in SIMULATED_ONLY:
            yield replace(tip, devices=("sim", "cuda"))


def predicted(
    presets: Iterable[str] = tuple(sim.PRESETS), records: Iterable[dict[str, Any]] = ()
) -> dict[str, dict[str, float]]:
    """For each tip and each machine that is simulated: how many times as long A takes as B, in virtual time.

    It is infinite where B only makes a view, which takes no time there. A GPU that was recorded is simulated, too, with
    the constants that were measured on it.
    """
    machines: dict[str, tuple[str, dict[str, float]]] = {preset: (preset, {}) for preset in presets}
    for one in records:
        machines[one["gpu"]] = preset_of(one), {name: figure[0] for name, figure in one["constants"].items()}
    before, found = sim.machine(), dict[str, dict[str, float]]()
    try:
        for name, (preset, own) in machines.items():
            sim.use(preset, **own)
            # Memory is there already, of both kinds that the allocator asks for: else the first way pays for it.
            held = [zeros(size, device="sim") for size in (1, 1 << 20)]
            for tip in chosen():
                result = tips.run(tip, {"device": "sim"}, clock=False)
                slow, fast = result.slow["virtual"], result.fast["virtual"]
                found.setdefault(tip.slug, {})[name] = slow / fast if fast else math.inf
            held.clear()
    finally:
        sim.use(before)
    return found


def record(budget: float = BUDGET) -> dict[str, Any]:
    """What the GPU of this machine takes, and why a tip did not run. Raises `DeviceError` where there is none."""
    found, failed = [], {}
    about = hardware()
    for tip in chosen():
        result = tips.run(tip, {"device": "cuda"}, budget=budget)
        timing = result.timing
        if timing is None:
            failed[tip.slug] = result.reason
            continue
        found.append(
            {
                "slug": tip.slug, "ratio": timing.ratio, "middle": list(timing.middle), "verdict": timing.verdict,
                "slow": timing.slow.median, "fast": timing.fast.median, "pairs": len(timing.ratios),
            }
        )  # fmt: skip
    return {**about, "date": str(datetime.date.today()), "tips": found, "failed": failed, "constants": constants()}


def preset_of(one: dict[str, Any]) -> str:
    """The simulated machine that stands for a GPU; the T4 where none does."""
    return next((preset for preset in sim.PRESETS if preset in one["gpu"].split()), "T4")


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
    heads = [f"{preset}, simulated" for preset in sim.PRESETS]
    for one in records:
        heads += [f"{one['gpu']}, simulated with its own constants", f"{one['gpu']}, recorded"]
    lines = [f"| tip | {' | '.join(heads)} |", "|---" * (1 + len(heads)) + "|"]
    for slug, ratios in predictions.items():
        cells = [_cell(ratios[one]) for one in sim.PRESETS]
        for one in records:
            cells.append(_cell(ratios[one["gpu"]]))
            known = next((tip for tip in one["tips"] if tip["slug"] == slug), None)
            cells.append("not recorded" if known is None else ratio_with_spread(known["ratio"], known["middle"]))
        lines.append(f"| `{slug}` | {' | '.join(cells)} |")
    for one in records:
        lines += ["", _within(predictions, one), "", *_constants(one), "", _origin(one)]
    lines += [] if records else ["", "No GPU was recorded yet: `python -m benchmarks record` does it."]
    return "\n".join(lines)


def _origin(one: dict[str, Any]) -> str:
    """When a record was taken, and by what."""
    return (
        f"{one['gpu']}: {one['date']}, driver {one['driver']}, CUDA {one['cuda']}, CuPy {one['cupy']}, "
        f"NumPy {one['numpy']}, Python {one['python']}, {one['system']}; median of the pairs and its middle half; of "
        "constants, the median, the least and the most."
    )


def _cell(ratio: float) -> str:
    return "B is a view" if ratio == math.inf else f"{ratio_text(ratio)}×"


def _within(predictions: dict[str, dict[str, float]], one: dict[str, Any], factor: float = 2.0) -> str:
    """How many of the ratios that have a figure were predicted within a factor, and which were not."""
    pairs = {tip["slug"]: (predictions[tip["slug"]][one["gpu"]], tip["ratio"]) for tip in one["tips"]}
    known = {slug: (said, found) for slug, (said, found) in pairs.items() if said != math.inf}
    missed = [slug for slug, (said, found) in known.items() if not 1 / factor <= said / found <= factor]
    apart = {slug: min(abs(said - 1), abs(found - 1)) > 0.1 for slug, (said, found) in known.items()}
    turned = [slug for slug, (said, found) in known.items() if apart[slug] and (said > 1) != (found > 1)]
    others, wrong = (", ".join(f"`{slug}`" for slug in some) or "none" for some in (missed, turned))
    return (
        f"{one['gpu']}: simulated with its own constants, {len(known) - len(missed)} of {len(known)} ratios are "
        f"within a factor of {factor:g} of the recorded ones; not within: {others}. On the other side of 1×: {wrong}."
    )


def _constants(one: dict[str, Any]) -> list[str]:
    """The constants of a preset beside what was measured."""
    preset = preset_of(one)
    lines = [f"| constant | {preset}, simulated | {one['gpu']}, measured | unit |", "|---|---|---|---|"]
    for name, (middle, least, most) in one["constants"].items():
        known = sim.PRESETS[preset][name]
        guessed = " (assumed)" if known.source.startswith("assumed") else ""
        if known.unit.endswith("/s"):
            value, spread = si(known.value, ""), rate_with_spread(middle, (least, most), "")
        else:
            value, spread = number(known.value), f"{number(middle)} ({number(least)}–{number(most)})"
        lines.append(f"| `{name}` | {value}{guessed} | {spread} | {known.unit} |")
    return lines


def run() -> str:
    """Record, keep and show it, for ``python -m benchmarks record``. Without a GPU it ends with the reason."""
    if not cuda.is_available():
        why, mend = why_not() or ("the GPU is gone", "start again")
        raise SystemExit(f"nothing was recorded: {why}; {mend}")
    keep(record())
    return table(predicted(records=recorded()), recorded())
