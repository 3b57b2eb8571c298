"""Binder builds the image from `binder/`. It cannot be built here, so its parts are checked one by one."""

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BINDER = ROOT / "binder"
PYTHON = (BINDER / "runtime.txt").read_text().strip().removeprefix("python-")

# What the image holds before our packages come, from repo2docker's environment.py-3.11-linux-64.lock.
IMAGE = [
    "ipykernel==7.0.1",
    "ipython==9.6.0",
    "ipywidgets==8.1.7",
    "jupyter_client==8.6.3",
    "jupyter_core==5.8.1",
    "jupyter_server==2.17.0",
    "jupyterlab==4.4.9",
    "jupyterlab_widgets==3.0.15",
    "notebook==7.4.7",
    "tornado==6.5.2",
    "traitlets==5.14.3",
]

on_posix = pytest.mark.skipif(os.name == "nt", reason="Binder's scripts are for Linux")


def requirements_of(extra: str) -> list[str]:
    """The requirements of an extra, with those of the extras that it names."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    found: list[str] = []
    for requirement in extras[extra]:
        own = requirement.removeprefix("tinygrad_edu[")
        found += [requirement] if own == requirement else requirements_of(own.removesuffix("]"))
    return found


def test_the_extra_leaves_the_jupyterlab_of_the_image_alone():
    names = {requirement.split(">")[0] for requirement in requirements_of("binder")}
    assert {"anywidget", "ipykernel", "ipyparallel", "matplotlib"} <= names
    assert not names & {"jupyterlab", "notebook"}


def test_requirements_name_the_project_and_existing_constraints():
    lines = [line for line in (BINDER / "requirements.txt").read_text().splitlines() if line[:1] != "#"]
    assert lines == ["-c ../constraints.txt", ".[binder]"]
    assert (BINDER / "../constraints.txt").resolve().is_file()


@on_posix
@pytest.mark.parametrize("name", ["postBuild", "start"])
def test_scripts_can_be_run(name):
    assert os.access(BINDER / name, os.X_OK)
    subprocess.run(["bash", "-n", str(BINDER / name)], check=True)


@on_posix
def test_start_limits_threads_and_hands_over():
    for name in ("OMP_NUM_THREADS", "MALLOC_ARENA_MAX"):
        assert subprocess.check_output([BINDER / "start", "printenv", name], text=True) == "1\n"


def test_repo2docker_accepts_the_folder():
    pytest.importorskip("repo2docker", reason="needs jupyter-repo2docker, in the test extra except on Windows")
    command = [sys.executable, "-m", "repo2docker", "--no-build", "--debug", str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    assert '-r "binder/requirements.txt"' in said
    assert "binder/postBuild" in said
    assert "binder/start" in said


@on_posix
@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.skipif(
    not sys.version.startswith(f"{PYTHON}."),
    reason=f"the image has Python {PYTHON}: run the test with that one",
)
def test_the_extra_fits_into_the_image(tmp_path):
    python = tmp_path / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path)], check=True)
    pip = [str(python), "-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "install", *IMAGE], check=True)
    subprocess.run([*pip, "install", "-r", "binder/requirements.txt"], cwd=ROOT, check=True)
    subprocess.run([*pip, "check"], check=True)
    versions = subprocess.check_output([*pip, "freeze"], text=True).splitlines()
    assert {"jupyterlab==4.4.9", "notebook==7.4.7"} <= set(versions)
    copy = tmp_path / "repository"
    copy.mkdir()
    shutil.copy(ROOT / "start.py", copy)
    path = f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"
    subprocess.run([str(BINDER / "postBuild")], cwd=copy, env={**os.environ, "PATH": path}, check=True)
    assert (tmp_path / "share/jupyter/lab/settings/overrides.json").is_file()
