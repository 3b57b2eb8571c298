"""Peak memory of the elementwise chain, forward and backward, each contender in a fresh process."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tracemalloc
from pathlib import Path

from benchmarks import harness

ROOT = Path(__file__).parent.parent
WORKLOAD, ALLOWED = "elementwise-backward", 20  # MiB above NumPy by hand
NAMES = ("NumPy by hand", "ours", "ours, all exposed", "PyTorch eager")
MIB = 2**20


def resident(what: str) -> float:
    """MiB of this process: ``VmRSS`` is what it has now, ``VmHWM`` the most it has had. Linux alone tells."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(what))


def child(name: str, traced: bool) -> float:
    """MiB that three steps take at their peak, above what was there before them: the data, the library."""
    from benchmarks.contenders.registry import CONTENDERS
    from benchmarks.workloads import WORKLOADS

    contender = next(one for one in CONTENDERS if one.name == name)
    running = contender.make(WORKLOADS[WORKLOAD])
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak starts anew
    before = resident("VmRSS")
    if traced:
        tracemalloc.start()
    for _ in range(3):
        running.step()
    return tracemalloc.get_traced_memory()[1] / MIB if traced else resident("VmHWM") - before


def measure(name: str, traced: bool) -> float:
    """`child` in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.memory", name, "traced" if traced else "resident"]
    done = subprocess.run(command, cwd=ROOT, env=dict(os.environ), capture_output=True, text=True, check=True)
    return float(done.stdout)


def run() -> str:
    """The peaks, as a table."""
    if not Path("/proc/self/clear_refs").exists():
        return "Peak memory: only Linux tells a process its own peak, so it is not measured here"
    names = [name for name in NAMES if name != "PyTorch eager" or importlib.util.find_spec("torch")]
    title = f"Peak memory of {WORKLOAD}, above data and library, in fresh processes"
    lines = [title, f"{'':34}    resident  by tracemalloc"]
    peaks = {name: (measure(name, False), measure(name, True)) for name in names}
    for name, (rss, traced) in peaks.items():
        shown = f"{traced:10.1f} MiB" if name != "PyTorch eager" else f"{'not traced':>14}"
        lines.append(f"{name:34} {rss:7.1f} MiB {shown}")
    above = [mine - other for mine, other in zip(peaks["ours"], peaks["NumPy by hand"], strict=True)]
    missed = harness.over(max(above), ALLOWED)
    lines.append(f"ours above NumPy by hand: {above[0]:.1f} and {above[1]:.1f} MiB of {ALLOWED} MiB{missed}")
    return "\n".join(lines)


if __name__ == "__main__":
    print(child(sys.argv[1], sys.argv[2] == "traced"))
