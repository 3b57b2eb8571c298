"""``tinygrad-edu lab``: the course in the JupyterLab of this environment."""

from __future__ import annotations

import errno
import importlib.util
import os
import socket
import subprocess
import sys
import tempfile
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


def check_port(port: int) -> None:
    """Raise `LabError` if JupyterLab could not listen there."""
    with socket.socket() as probe:
        if os.name == "posix":  # as servers do: a port closed a moment ago counts as free
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            why = "is taken" if error.errno == errno.EADDRINUSE else f"cannot be had: {error.strerror}"
            mend = "leave out --port: the first free one from 8888 is taken; or name another"
            raise LabError("open the course", f"port {port} {why}", mend) from None


def check_runtime() -> None:
    """Raise `LabError` if JupyterLab could not write where it notes what runs."""
    from jupyter_core.paths import jupyter_runtime_dir

    folder = Path(jupyter_runtime_dir())
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"a full disk shows only now")
    except OSError as error:
        why = f"JupyterLab notes what runs in {folder}, and cannot write there: {error.strerror}"
        mend = "make room there or ask for the right to write, or set JUPYTER_RUNTIME_DIR to a folder of your own"
        raise LabError("open the course", why, mend) from None


def current_folder() -> Path:
    """Where the command was called. Raises `LabError` if that folder is gone."""
    try:
        return Path.cwd()
    except FileNotFoundError:
        why, mend = "the current folder has been deleted", "change to another folder, and run the command there"
        raise LabError("open the course", why, mend) from None


def lab(port: int | None, browser: bool) -> int:
    """Become JupyterLab, or wait for it and return its exit status. Raises `LabError` if it cannot start."""
    notebooks = find_notebooks(Path(__file__).parents[1], current_folder())
    if importlib.util.find_spec("jupyterlab") is None:
        why, mend = "JupyterLab is not installed", f'{python().installer} "jupyterlab>=4.4" "ipykernel>=7"'
        raise LabError("open the course", why, mend)
    if port is not None:
        check_port(port)
    check_runtime()
    words = command(notebooks, port, browser)
    if os.name == "posix":
        os.execv(words[0], words)  # every signal reaches it, and nothing is left behind
    return subprocess.call(words)
