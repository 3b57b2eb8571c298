"""A script as ``python script.py`` runs it; one that was written for PyTorch runs over `compat.torch`."""

from __future__ import annotations

import ast
import os
import runpy
import sys
from collections.abc import Sequence

from .paths import be_torch


def imports_torch(script: str) -> bool:
    """Whether a file has an import of PyTorch in it. One that cannot be read as Python has none."""
    try:
        with open(script, "rb") as file:
            tree = ast.parse(file.read())
    except SyntaxError:
        return False
    named = [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and not node.level]
    named += [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    return any(name.partition(".")[0] == "torch" for name in named)


def run(script: str, arguments: Sequence[str] = (), *, torch: bool | None = None) -> None:
    """Run a script with these arguments, in this process. With ``torch``, ``import torch`` gives `compat.torch`.

    By default that is so if the script imports it. Raises OSError where it cannot be read, and whatever it raises.
    """
    if imports_torch(script) if torch is None else torch:
        be_torch()
    sys.argv = [script, *arguments]
    sys.path[0] = os.path.dirname(os.path.abspath(script))
    runpy.run_path(script, run_name="__main__")
