"""All benchmarks: ``python -m benchmarks``, or some of them: ``python -m benchmarks workloads --only mlp rnn``."""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Collection
from pathlib import Path

from benchmarks import harness

COMMANDS = {
    "workloads": "ten workloads against peers",
    "eager": "those of them that are many tiny operations",
    "memory": "peak memory of the elementwise chain",
    "precision": "a training step in 16 bits and in 64, and an int8 model, against float32",
    "paths": "one multiplication on every way through the engine",
    "imports": "import time against NumPy's",
    "layout": "the graph stepper on a thousand nodes",
    "stepper": "click to paint and bytes per step of the graph stepper, in a real browser",
    "monitor": "a loop with a training monitor against the loop alone",
    "playground": "steps a second, answers and memory of the playground",
    "tips": "what the clock says of every tip",
    "record": "both ways of the tips about devices, on a GPU; kept in docs/device_times.json",
}
NOT_BY_ITSELF = ("eager", "record")
TINY = ("scalar", "vector")


def make_parser() -> argparse.ArgumentParser:
    lines = "\n".join(f"  {name:12} {what}" for name, what in COMMANDS.items())
    parser = argparse.ArgumentParser(
        "python -m benchmarks", epilog=f"benchmarks:\n{lines}", formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("benchmarks", nargs="*", metavar="benchmark", help="all but eager and record, unless named")
    parser.add_argument("--only", nargs="+", metavar="WORKLOAD", help="these workloads alone")
    parser.add_argument("--contenders", metavar="A,B,…", help="these alone: ours, numpy, torch, compile, jax, …")
    parser.add_argument("--turns", type=int, default=25, help="how often each contender is timed (25)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="keep the figures in a file")
    parser.add_argument("--markdown", action="store_true", help="print the workloads' figures as a table of Markdown")
    return parser


def main(arguments: list[str]) -> int:
    """Run what the arguments name."""
    parser = make_parser()
    chosen = parser.parse_args(arguments)
    chosen.benchmarks = chosen.benchmarks or [name for name in COMMANDS if name not in NOT_BY_ITSELF]
    if chosen.turns < 1:
        parser.error(f"--turns {chosen.turns}: there must be one at least")
    _known(parser, "benchmark", chosen.benchmarks, COMMANDS)
    harness.one_thread()
    from benchmarks import report  # after that, because it imports NumPy
    from benchmarks.compete import run
    from benchmarks.contenders.registry import GROUPS
    from benchmarks.workloads import WORKLOADS

    groups = chosen.contenders.split(",") if chosen.contenders else list(GROUPS)
    _known(parser, "contender", groups, GROUPS)
    names = chosen.only or list(WORKLOADS)
    _known(parser, "workload", names, WORKLOADS)
    results, others = [], {}
    for benchmark in chosen.benchmarks:
        if benchmark in ("workloads", "eager"):
            print(report.machine(), end="\n\n", flush=True)
            results = run(TINY if benchmark == "eager" else names, groups, chosen.turns)
            if chosen.markdown:
                print(report.markdown(results, chosen.turns), end="\n\n")
        else:
            others[benchmark] = importlib.import_module(f"benchmarks.{benchmark}").run()
            print(others[benchmark], end="\n\n", flush=True)
    if chosen.json:
        report.save(chosen.json, results, chosen.turns, others)
    return 0


def _known(parser: argparse.ArgumentParser, kind: str, names: list[str], known: Collection[str]) -> None:
    unknown = [name for name in names if name not in known]
    if unknown:
        parser.error(f"no such {kind}: {', '.join(unknown)}; there are {', '.join(known)}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
