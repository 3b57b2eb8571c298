"""Opening the course: where the notebooks are, and what is run."""

from __future__ import annotations

import errno
import os
import socket
import sys
from pathlib import Path

import pytest

from tests.support import ROOT, teaches
from tinygrad_edu.cli import lab as lab_module
from tinygrad_edu.cli.facts import python
from tinygrad_edu.cli.lab import LabError, command, find_notebooks, lab


def test_a_clone_has_them_beside_the_package(tmp_path: Path) -> None:
    assert find_notebooks(ROOT / "tinygrad_edu", tmp_path) == ROOT / "notebooks"


def test_an_installed_package_finds_them_where_one_stands(tmp_path: Path) -> None:
    package, clone = tmp_path / "site-packages" / "tinygrad_edu", tmp_path / "clone"
    (clone / "notebooks").mkdir(parents=True)
    (clone / "notebooks" / "welcome.ipynb").touch()
    assert find_notebooks(package, clone) == clone / "notebooks"
    assert find_notebooks(package, clone / "notebooks") == clone / "notebooks"


def test_without_notebooks_it_says_how_to_get_them(tmp_path: Path) -> None:
    why = f"the notebooks are not part of the installed package, and {tmp_path} has none"
    mend = "clone the repository, and run the command inside it (or python start.py course, which sets everything up)"
    with teaches(LabError, "open the course", why, mend):
        find_notebooks(tmp_path / "tinygrad_edu", tmp_path)


def test_the_command() -> None:
    plain = command(ROOT / "notebooks", None, browser=True)
    assert plain[:4] == [sys.executable, "-m", "jupyterlab", "-y"]
    assert f"--ServerApp.root_dir={ROOT / 'notebooks'}" in plain
    assert "--LabApp.default_url=/lab/workspaces/tinygrad_edu/tree/welcome.ipynb" in plain
    assert "--LabApp.news_url=None" in plain
    more = command(ROOT / "notebooks", 9999, browser=False)
    assert {"--no-browser", "--ServerApp.port=9999", "--ServerApp.port_retries=0"} == set(more) - set(plain)


@pytest.mark.skipif(os.name != "posix", reason="elsewhere a process cannot become another")
def test_it_becomes_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    became: list[list[str]] = []
    monkeypatch.setattr(lab_module.os, "execv", lambda program, words: became.append([program, *words]))
    monkeypatch.setattr(lab_module.subprocess, "call", lambda words: 0)
    lab(9999, browser=False)
    assert became == [[sys.executable, *command(ROOT / "notebooks", 9999, browser=False)]]


def test_without_jupyterlab(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lab_module.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(lab_module, "python", lambda: python_of("pip install"))
    with teaches(
        LabError, "open the course", "JupyterLab is not installed", 'pip install "jupyterlab>=4.4" "ipykernel>=7"'
    ):
        lab(None, browser=True)


def test_a_port_that_is_taken() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        mend = "leave out --port: the first free one from 8888 is taken; or name another"
        with teaches(LabError, "open the course", f"port {port} is taken", mend):
            lab(port, browser=True)


def test_a_port_that_cannot_be_had(monkeypatch: pytest.MonkeyPatch) -> None:
    class Refused(socket.socket):
        def bind(self, address: object) -> None:
            raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(lab_module.socket, "socket", Refused)
    with pytest.raises(LabError) as caught:
        lab_module.check_port(80)
    assert caught.value.why == "port 80 cannot be had: Permission denied"


def test_a_runtime_folder_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    folder = tmp_path / "file" / "runtime"
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(folder))
    with pytest.raises(LabError) as caught:
        lab(None, browser=True)
    assert caught.value.why.startswith(f"JupyterLab notes what runs in {folder}, and cannot write there: ")
    assert "JUPYTER_RUNTIME_DIR" in caught.value.mend


@pytest.mark.skipif(os.name != "posix", reason="Windows keeps a folder in which a program works")
def test_a_current_folder_that_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    monkeypatch.chdir(folder)
    folder.rmdir()
    why, mend = "the current folder has been deleted", "change to another folder, and run the command there"
    with teaches(LabError, "open the course", why, mend):
        lab(None, browser=True)


def python_of(installer: str) -> object:
    found = python()
    return type(found)(found.version, found.executable, installer)
