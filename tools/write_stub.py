"""Write tinygrad_edu/__init__.pyi: every public name, for type checkers and editors, which do not run `__getattr__`.

    python tools/write_stub.py

A test fails while the file is not what this writes.
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

import tinygrad_edu as tg  # noqa: E402

STUB = ROOT / "tinygrad_edu" / "__init__.pyi"
HEAD = '''"""Made by tools/write_stub.py of `__init__.py`: what loads when it is used, for type checkers and editors."""

import builtins
from typing import Any

'''


def loaded_at_once() -> list[str]:
    """What loads with the package."""
    found = []
    for node in ast.parse((ROOT / "tinygrad_edu" / "front.py").read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom) and node.level:
            found += [
                f"from .{node.module or ''} import {alias.name} as {alias.asname or alias.name}"
                for alias in node.names
                if not (alias.asname or "").startswith("_")
            ]
    return found


def text() -> str:
    """The file."""
    lines = loaded_at_once()
    lines += [f"from .{module} import {name} as {name}" for name, module in tg._HOME.items()]
    lines += [f"from .{'tensor' if name == 'random' else ''} import {name} as {name}" for name in tg._MODULES]
    values = ["def _load_engine() -> None: ...", "__version__: str", "bfloat16: Any", "newaxis: None"]
    values += [f"{name}: builtins.float" for name in ("e", "inf", "nan", "pi")]
    public = ["__all__ = [", *(f'    "{name}",' for name in tg.__all__), "]"]
    return HEAD + "\n".join([*sorted(lines), "", *values, "", *public]) + "\n"


if __name__ == "__main__":
    STUB.write_text(text(), encoding="utf-8")
    print(STUB.relative_to(ROOT))
