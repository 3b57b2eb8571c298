"""What the clock says of every tip: ``python -m benchmarks.tips --json docs/tip_times.json``.

Counts hold everywhere and are asserted in the tests. Times hold here, and are only reported. With them, how long a
learner waits: for the whole run of a tip, and for the longest single call in it.
"""

from __future__ import annotations

import argparse
import datetime
import json
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks import harness

MOST_SECONDS, LONGEST_CALL = 5.0, 1.0  # of a default run


def record() -> dict[str, Any]:
    """Each tip, run as a learner runs it, as plain data."""
    from tinygrad_edu import tips

    found = []
    for tip in tips.all_tips():
        start = time.perf_counter()
        result = tips.run(tip)
        seconds = time.perf_counter() - start
        timing = result.timing
        if timing is None:  # one of its ways is there to raise an error
            continue
        calls = (*timing.slow.warmups, *timing.slow.times, *timing.fast.warmups, *timing.fast.times)
        found.append(
            {
                "slug": tip.slug, "claims_time": not all(claim.counted for claim in tip.claims),
                "setting": {name: value for name, value in result.setting.items() if name != "device"},
                "verdict": result.verdict, "time_verdict": timing.verdict, "ratio": timing.ratio,
                "middle": list(timing.middle), "slow": timing.slow.median, "fast": timing.fast.median,
                "pairs": len(timing.ratios), "seconds": seconds, "longest_call": max(calls),
            }
        )  # fmt: skip
    return {"date": str(datetime.date.today()), "machine": harness.machine("numpy").split("\n"), "tips": found}


def text(found: dict[str, Any]) -> str:
    """The record as a table of Markdown."""
    from tinygrad_edu.common.wording import ratio_with_spread, seconds_text

    lines = ["| tip | A | B | A over B (middle half) | B is | whole run | longest call |", "|---" * 7 + "|"]
    for tip in found["tips"]:
        late = [" (too long)" * late for late in (tip["seconds"] > MOST_SECONDS, tip["longest_call"] > LONGEST_CALL)]
        lines.append(
            f"| {tip['slug']} | {seconds_text(tip['slow'])} | {seconds_text(tip['fast'])} "
            f"| {ratio_with_spread(tip['ratio'], tip['middle'])} "
            f"| {tip['time_verdict']}{'' if tip['claims_time'] else ', which is not claimed'} "
            f"| {seconds_text(tip['seconds'])}{late[0]} | {seconds_text(tip['longest_call'])}{late[1]} |"
        )
    return "\n".join([*lines, "", f"{found['date']}, {'. '.join(found['machine'])}."])


def run() -> str:
    """The table, for ``python -m benchmarks tips``."""
    return text(record())


if __name__ == "__main__":
    parser = argparse.ArgumentParser("python -m benchmarks.tips", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--json", type=Path, metavar="FILE", help="keep the record in a file")
    chosen = parser.parse_args(sys.argv[1:])
    harness.one_thread()
    found = record()
    print(text(found))
    if chosen.json:
        chosen.json.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
