"""``tinygrad-edu lab``: the course in the JupyterLab of this environment."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

from ..errors import EduError
from .facts import python

FIRST = "welcome.ipynb"
WORKSPACE = "/lab/workspaces/tinygrad_edu/tree"  # a separate workspace: no tabs of other projects


class LabError(EduError):
    """The course cannot be opened."""


def find_notebooks(package: Path, current: Path) -> Path:
    """The folder of the course: beside the package, as in a clone, or below the current folder."""
    for folder in (package.parent / "notebooks", current / "notebooks", current):
        if (folder / FIRST).is_file():
            return folder
    raise LabError(
        "open the course",
        f"the notebooks are not part of the installed package, and {current} has none",
        "clone the repository, and run the command inside it (or python start.py course, which sets everything up)",
    )


def command(notebooks: Path, port: int | None, browser: bool) -> list[str]:
    """The command that starts JupyterLab on the course, without any use of the network."""
    root = hasattr(os, "geteuid") and os.geteuid() == 0  # containers often have no other user
    return [
        sys.executable, "-m", "jupyterlab", "-y", f"--ServerApp.root_dir={notebooks}",
        f"--LabApp.default_url={WORKSPACE}/{FIRST}", "--LabApp.news_url=None",
        "--LabApp.log_level=ERROR", "--ServerApp.log_level=ERROR",  # the address is printed all the same
        "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
        *([f"--ServerApp.port={port}", "--ServerApp.port_retries=0"] if port is not None else []),
        *([] if browser else ["--no-browser"]),
        *(["--allow-root"] if root else []),
    ]  # fmt: skip


def lab(port: int | None, browser: bool) -> int:
    """Become JupyterLab, or wait for it and return its exit status. Raises `LabError` if it cannot start."""
    notebooks = find_notebooks(Path(__file__).parents[1], Path.cwd())
    if importlib.util.find_spec("jupyterlab") is None:
        why, mend = "JupyterLab is not installed", f'{python().installer} "jupyterlab>=4.4" "ipykernel>=7"'
        raise LabError("open the course", why, mend)
    words = command(notebooks, port, browser)
    if os.name == "posix":
        os.execv(words[0], words)  # every signal reaches it, and nothing is left behind
    return subprocess.call(words)
