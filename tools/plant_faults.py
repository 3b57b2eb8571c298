"""Do the tests notice? Plant faults in a copy of the project, one at a time, and run the tests that should catch each.

    python tools/plant_faults.py              all of them, a few seconds each
    python tools/plant_faults.py heap nesterov

A fault is a file, a text that stands in it exactly once, what takes its place, and the tests to run. It ends with
status 1 when a fault stays unnoticed, or when its text is not there any more.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]


class Fault(NamedTuple):
    """One mistake that somebody could make."""

    file: str  # below tinygrad_edu
    text: str
    wrong: str
    tests: str  # below tests


FAULTS = {
    # The engine
    "broadcast": Fault(
        "core/dispatch.py", "if not exact or {x}_a.shape == {y}_a.shape: n.shapes", "if True: n.shapes", "core"
    ),
    "table": Fault("core/slow.py", "[op, device, m.promotion, m.dtype]", "[op, device, m.dtype]", "test_promotion.py"),
    "zero-dim": Fault("core/slow.py", "array.dtype, array.ndim > 0)", "array.dtype, True)", "core/test_dispatch.py"),
    "rounding": Fault(
        "core/narrow.py", "tuple([round_to(xp, part) for part in", "tuple([part for part in", "ops/test_gradients.py"
    ),
    "heap": Fault(
        "core/graph.py",
        "node = heappushpop(heap, (-following.number, following))[1] if heap else following",
        "node = following",
        "core/test_graph.py",
    ),
    "alone": Fault("core/graph.py", "getrefcount(held.array) == _ALONE", "True", "core/test_graph.py"),
    "stamp": Fault(
        "core/storage.py",
        "            self.stamp = clock.last_write = number()",
        "            self.stamp = number()",
        "core",
    ),
    "kept storage": Fault(
        "core/guard.py", "    release.storage = storage", "    release.other = storage", "core/test_core_guard.py"
    ),
    "views in no_grad": Fault(
        "core/inplace.py",
        "outer.chain + step, outer.tracked and modes().grad)",
        "outer.chain + step, outer.tracked)",
        "core ops/test_inplace.py",
    ),
    "stale out": Fault(
        "core/dispatch.py", "with writing: g.stamp = clock.last_write = number()", "pass", "core/test_dispatch.py"
    ),
    "flops": Fault(
        "ops/linalg.py", "return 2 * how_many(out) * inner", "return how_many(out) * inner", "ops/test_cost.py"
    ),
    "logistic": Fault("backends/_sigmoid.py", "            z += 1\n", "            z += 1.001\n", "ops/test_unary.py"),
    "interrupt": Fault(
        "common/blocks.py", "            block._restore(block._open[self.depth])\n", "", "core/test_interrupts.py"
    ),
    "inference": Fault(
        "settings.py", "copy.grad = grad and not self.inference", "copy.grad = grad", "test_settings.py autograd"
    ),
    "constants": Fault("compiler/trace.py", "(value, value.copy())", "(value, value)", "compiler"),
    # The library
    "ceil_mode": Fault(
        "ops/pool.py", "if ceil_mode and (count - 1) * s >= length + p:", "if False:", "peers/test_layers.py"
    ),
    "three phases": Fault(
        "optim/lr_scheduler/cycles.py",
        "_phases(total_steps, pct_start, three_phase)",
        "_phases(total_steps, pct_start, False)",
        "peers/test_optim.py",
    ),
    "bias correction": Fault("optim/adam.py", "lr * root / (1 - beta1**t)", "lr * root", "optim"),
    "nesterov": Fault("optim/sgd.py", '        if group["nesterov"]:  # lr', "        if False:  # lr", "optim"),
    "running variance": Fault(
        "ops/channels.py", "momentum * count / (count - 1))", "momentum)", "ops/test_normalise.py nn"
    ),
    "smoothing": Fault("nn/functional/loss.py", "picked * (1 - smoothing) -", "picked -", "nn/test_losses.py"),
    "drop_last": Fault(
        "data/samplers.py", "return full + (rest > 0 and not self.drop_last)", "return full + (rest > 0)", "data"
    ),
    "children": Fault("nn/module.py", "            module.train(mode)\n", "            pass\n", "nn/test_module.py"),
    # The teaching
    "owners": Fault("views/buffers/model.py", "if known is owner), None)", "if False), None)", "views/buffers"),
    "copies": Fault(
        "observe/counters.py", "                    self.copies += 1\n", "                    pass\n", "observe tips"
    ),
    "no more": Fault("tips/runner.py", "verdict = HOLDS if b <= a else FALSE", "verdict = HOLDS", "tips"),
}


def noticed(fault: Fault, place: Path) -> str:
    """What the tests say of a project with the fault: a word that begins with "noticed" where they fail."""
    path = place / "tinygrad_edu" / fault.file
    source = path.read_text(encoding="utf-8")
    if source.count(fault.text) != 1:
        return f"cannot be planted: its text stands {source.count(fault.text)} times in {fault.file}"
    path.write_text(source.replace(fault.text, fault.wrong), encoding="utf-8")
    try:
        tests = [f"tests/{name}" for name in fault.tests.split()]
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-m", "not slow", *tests]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(place), str(place / "widgets")])}
        done = subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True, check=False)
        failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
        return f"noticed by {failed[0].split()[1]}" if failed else f"STAYS UNNOTICED (status {done.returncode})"
    finally:
        path.write_text(source, encoding="utf-8")


def main(names: list[str]) -> int:
    """Plant the faults of these names, or all."""
    missed = 0
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "project"
        shutil.copytree(ROOT, place, ignore=shutil.ignore_patterns(".git", ".venv", "__pycache__", "_build"))
        for name in names or FAULTS:
            verdict = noticed(FAULTS[name], place)
            missed += not verdict.startswith("noticed")
            print(f"{name:18} {verdict}", flush=True)
    print(f"{missed} of {len(names or FAULTS)} stay unnoticed")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
