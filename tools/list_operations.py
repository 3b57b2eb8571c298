"""Write docs/operations.md: what the engine computes, from the list of cases that the tests run.

Run it after adding an operation: ``python tools/list_operations.py``. A test compares the page with the list.
"""

from __future__ import annotations

import inspect
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "operations.md"
sys.path.insert(0, str(ROOT))

import tinygrad_edu as tg  # noqa: E402
from tests.ops.cases import CASES  # noqa: E402
from tinygrad_edu.core.op import OPS, Op  # noqa: E402

HEAD = """# Operations

What this engine computes, and how each operation is tested. Names, arguments, dtypes, shapes, views and gradients
are PyTorch's. `tg` is `import tinygrad_edu as tg`, `F` is `tg.nn.functional`.

The tables list the operations that the graph is made of, one class each. *Gradient*: derivatives of every order, each
checked against finite differences in float64 over several memory layouts, and in narrower dtypes against float64.
*View*: the result shares memory with its operand. *Buffer*: in place, and with `out=`, it needs no temporary. *Cases*:
how many sets of operands it is tried on; ✓ if PyTorch computes the same ones for comparison.

This page is made by `python tools/list_operations.py` from the list of test cases.
"""


def groups() -> dict[str, list[type[Op]]]:
    """The operations by the file that they stand in."""
    found: dict[str, list[type[Op]]] = {}
    for name in sorted({case.op for case in CASES}):
        found.setdefault(OPS[name].__module__, []).append(OPS[name])
    return dict(sorted(found.items()))


def row(op: type[Op]) -> str:
    """One line of a table."""
    cases = [case for case in CASES if case.op == op.name]
    peers = " ✓" if any(case.torch is not None for case in cases) else ""
    does = " ".join((op.__doc__ or "").split("\n\n")[0].split()).replace("|", "\\|")
    marks = ["yes" if flag else "" for flag in (op.differentiable, op.view, op.into)]
    return f"| `{op.name}` | {does} | {' | '.join(marks)} | {len(cases)}{peers} |"


def names(title: str, found: list[str]) -> str:
    """A paragraph of names."""
    return f"**{title}.** {' '.join(f'`{name}`' for name in sorted(found))}\n"


def page() -> str:
    """The whole page."""
    parts = [HEAD, "## Names\n"]
    top = [n for n in tg.__all__ if inspect.isroutine(getattr(tg, n))]
    methods: dict[str, Any] = {
        n: getattr(tg.Tensor, n) for kind in tg.Tensor.__mro__[:2] for n in vars(kind) if not n.startswith("_")
    }
    parts.append(names("Functions, `tg.…`", top))
    parts.append(names("Methods and properties, `x.…`", [n for n in methods if not n.endswith("_")]))
    parts.append(names("In place, `x.…_`", [n for n in methods if n.endswith("_")]))
    parts.append(names("`F.…`", list(tg.nn.functional.__all__)))
    for module, ops in groups().items():
        title = (sys.modules[module].__doc__ or "").split("\n\n")[0].split(". ")[0].strip()
        parts.append(f"## {title.rstrip('.')}\n\n`{module.replace('.', '/')}.py`\n")
        table = ["| op | what it does | gradient | view | buffer | cases |", "|---|---|---|---|---|---|"]
        parts.append("\n".join([*table, *map(row, ops)]) + "\n")
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page())
    print(f"{PAGE.relative_to(ROOT)}: {sum(map(len, groups().values()))} operations, {len(CASES)} cases")
