"""Facts about the environment: versions, bounds, what is broken."""

from __future__ import annotations

import importlib
import re
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support import ROOT
from tinygrad_edu.backends import cuda
from tinygrad_edu.cli import facts
from tinygrad_edu.cli.facts import Gpu, Package, packages, release, satisfies


@pytest.mark.parametrize(
    ("version", "numbers"),
    [("2.1.0", (2, 1)), ("2.10rc1", (2, 10)), ("0.31.188+cpu", (0, 31, 188)), ("14.dev0", (14,)), ("unknown", ())],
)
def test_release(version: str, numbers: tuple[int, ...]) -> None:
    assert release(version) == numbers


@pytest.mark.parametrize(
    ("version", "needed", "fits"),
    [("2.10.1", ">=2.9", True), ("2.1", ">=2.1.0", True), ("2.0.9", ">=2.1", False), ("1.0", "", True)],
)
def test_bounds(version: str, needed: str, fits: bool) -> None:
    assert satisfies(version, needed) is fits


def test_packages_stand_under_the_first_extra_that_asks_for_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(facts, "version_of", {"numpy": "2.0.1", "anywidget": "0.11"}.get)
    lines = [
        "numpy>=2.1",
        "anywidget>=0.9; extra == 'course'",
        "jupyterlab>=4.4; extra == 'course'",
        'anywidget>=0.9; extra == "widgets"',
        "tinygrad-edu[widgets]; extra == 'course'",
        "torch==2.13.0; extra == 'peers'",
        "tomli[x]>=1; python_version < '3.11'",
    ]
    found = list(packages(lines))
    assert found == [
        Package("numpy", "", ">=2.1", "2.0.1"),
        Package("tomli", "", ">=1", None),
        Package("anywidget", "widgets", ">=0.9", "0.11"),
        Package("jupyterlab", "course", ">=4.4", None),
    ]
    assert [package.state for package in found] == ["old", "missing", "ok", "missing"]


def test_the_project_itself_asks_for_numpy() -> None:
    names = [package.name for package in packages(facts.requirements())]
    assert "numpy" in names
    assert "torch" not in names


def test_a_source_tree_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(facts, "PROJECT", "no-such-project")
    assert facts.requirements() == ["numpy", "ml_dtypes", "safetensors"]
    assert facts.version_of("no-such-project") is None


def test_a_broken_engine_is_a_fact(monkeypatch: pytest.MonkeyPatch) -> None:
    assert facts.engine_error() == ""
    monkeypatch.setitem(sys.modules, "safetensors.numpy", None)
    assert facts.engine_error().startswith("ModuleNotFoundError: ")


def test_wrong_gradients_are_a_fact(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(facts.tg.Tensor, "backward", lambda self: None)
    monkeypatch.setattr(facts.tg.Tensor, "grad", property(lambda self: np.zeros(2)))
    assert facts.engine_error() == "the gradient of x·x at 1 and 2 came out as [0.0, 0.0]"


def fake_cupy(answer: Any) -> types.ModuleType:
    cupy: Any = types.ModuleType("cupy")
    cupy.__spec__ = importlib.machinery.ModuleSpec("cupy", None)
    cupy.__version__ = "14.0"
    properties = {"name": b"NVIDIA H200"}
    runtime = types.SimpleNamespace(getDeviceCount=answer, getDeviceProperties=lambda index: properties)
    cupy.cuda = types.SimpleNamespace(runtime=runtime)
    return cupy


def test_gpus_that_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(facts.shutil, "which", lambda name: f"/bin/{name}")
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy(lambda: 2))
    assert facts.gpu() == Gpu(True, "14.0", ("NVIDIA H200", "NVIDIA H200"))


def test_a_gpu_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> int:
        raise RuntimeError("driver too old\nmore")

    monkeypatch.setattr(facts.shutil, "which", lambda name: None)
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy(fail))
    assert facts.gpu() == Gpu(False, "installed", (), "RuntimeError: driver too old")


def test_lab_extensions(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(facts, "version_of", lambda name: "4.6")
    assert facts.missing_lab_extensions(tmp_path) == facts.LAB_EXTENSIONS
    (tmp_path / "share/jupyter/labextensions/anywidget").mkdir(parents=True)
    assert facts.missing_lab_extensions(tmp_path) == ("@jupyter-widgets/jupyterlab-manager",)
    monkeypatch.setattr(facts, "version_of", lambda name: None)
    assert facts.missing_lab_extensions(tmp_path) == ()


def test_threads_are_unknown_without_threadpoolctl(monkeypatch: pytest.MonkeyPatch) -> None:
    assert facts.blas().name
    monkeypatch.setattr(facts.importlib.util, "find_spec", lambda name: None)
    assert facts.blas().threads is None


def test_a_home_that_is_not_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "nowhere"))
    monkeypatch.setenv("USERPROFILE", str(tmp_path / "nowhere"))
    found = facts.gather()
    assert found.home == str(tmp_path / "nowhere")
    assert not found.home_writable
    assert found.engine_error == ""


def test_commands_that_install_ask_for_what_the_project_asks_for() -> None:
    """Each is written out where it is shown, because the project may not be installed there."""
    asked = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    files = (ROOT / "tinygrad_edu" / "cli" / f"{name}.py" for name in ("advice", "lab"))
    shown = "".join(file.read_text(encoding="utf-8") for file in files)
    found = re.findall(r'"([\w-]+>=[\d.]+)"', shown)
    assert {re.sub(">=.*", "", one) for one in found} == {"jupyterlab", "ipykernel"}
    found.append(re.sub(r"-cuda\d+x", "-cuda13x", cuda.wheel()))  # the number is that of the driver
    assert [one for one in found if f'"{one}"' not in asked] == []
