"""All benchmarks: ``python -m benchmarks``, or some of them: ``python -m benchmarks eager``."""

from __future__ import annotations

import sys

from benchmarks import eager, imports, layout

BENCHMARKS = {"eager": eager.run, "imports": imports.run, "layout": layout.run}


def main(names: list[str]) -> int:
    """Run the named benchmarks, or all."""
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        print(f"no such benchmark: {', '.join(unknown)}; there are {', '.join(BENCHMARKS)}")
        return 2
    for name in names or BENCHMARKS:
        print(BENCHMARKS[name](), end="\n\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
