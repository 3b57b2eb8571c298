"""What this machine and this environment have. Facts only: what follows from them is in `advice`."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import os
import platform
import re
import shutil
import sys
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import tinygrad_edu as tg

from ..backends.cuda import why_not
from ..common.wording import bytes_text
from .machine import Cpu, Memory, cpu, memory

PROJECT = "tinygrad_edu"
EXTRAS = ("", "widgets", "course", "compile")  # "" is the base install; for cuda see `Gpu`; others are for developers
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
# JupyterLab's own side of the widgets. Without it a widget shows as text.
LAB_EXTENSIONS = ("@jupyter-widgets/jupyterlab-manager", "anywidget")


@dataclass(frozen=True)
class Python:
    """The interpreter. ``optimized`` says that ``assert`` is switched off; ``installer`` begins a command."""

    version: str
    executable: str
    installer: str
    debug: bool = False
    optimized: bool = False


@dataclass(frozen=True)
class Package:
    """A package that an extra needs. ``version`` is None if it is not installed."""

    name: str
    extra: str
    needed: str  # such as ">=2.1"
    version: str | None

    @property
    def state(self) -> str:
        """One of "ok", "missing" and "old"."""
        if self.version is None:
            return "missing"
        return "ok" if satisfies(self.version, self.needed) else "old"


@dataclass(frozen=True)
class Blas:
    """What multiplies matrices for NumPy. ``threads`` is None if threadpoolctl is not installed, or cannot tell."""

    name: str
    version: str
    threads: int | None


@dataclass(frozen=True)
class Gpu:
    """``driver``: NVIDIA's tools are here. ``cupy``: its version. ``devices``: those that answered CuPy."""

    driver: bool
    cupy: str | None
    devices: tuple[str, ...] = ()
    error: str = ""


@dataclass(frozen=True)
class Place:
    """A device that tensors can be asked to live on. ``times``: "measured", "virtual", or None if it cannot be used."""

    name: str
    times: str | None
    words: str


@dataclass(frozen=True)
class Facts:
    """Everything that `doctor` looks at, besides what it measures."""

    version: str
    engine_error: str  # empty if a gradient came out right
    python: Python
    packages: tuple[Package, ...]
    blas: Blas
    cpu: Cpu
    memory: Memory
    gpu: Gpu
    devices: tuple[Place, ...]
    lab_extensions: tuple[str, ...]  # those of LAB_EXTENSIONS that are missing beside an installed JupyterLab
    browser: str | None
    home: str
    home_writable: bool


def gather() -> Facts:
    """The current facts."""
    home = os.path.expanduser("~")  # Path.home() fails for a user without a home, and that is what we look for
    writable = os.access(home, os.W_OK)  # asked first, because CuPy makes a folder there
    found = gpu()
    return Facts(
        version=tg.__version__,
        engine_error=engine_error(),
        python=python(),
        packages=tuple(packages(requirements())),
        blas=blas(),
        cpu=cpu(),
        memory=memory(),
        gpu=found,
        devices=devices(found),
        lab_extensions=missing_lab_extensions(Path(sys.prefix)),
        browser=os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, BROWSERS)), None),
        home=home,
        home_writable=writable,
    )


def python() -> Python:
    """The interpreter that is running."""
    called = "python" if shutil.which("python") == sys.executable else sys.executable
    has_pip = importlib.util.find_spec("pip") is not None
    installer = f"{called} -m pip install" if has_pip else f"uv pip install --python {sys.executable}"
    debug = bool(sysconfig.get_config_var("Py_DEBUG"))
    return Python(platform.python_version(), sys.executable, installer, debug, sys.flags.optimize > 0)


def engine_error() -> str:
    """Why the engine does not work, in one line; empty if a small gradient and both other packages work."""
    try:
        x = tg.tensor([1.0, 2.0], requires_grad=True)
        (x * x).sum().backward()
        found = x.grad.tolist()
        tg.zeros(1, dtype=tg.bfloat16)
        importlib.import_module("safetensors.numpy")
    except Exception as error:  # whatever a broken installation raises: the report says it
        return f"{type(error).__name__}: {error}".splitlines()[0]
    return "" if found == [2.0, 4.0] else f"the gradient of x·x at 1 and 2 came out as {found}"


# Packages -----------------------------------------------------------------------------------------------------------


def requirements() -> list[str]:
    """What the installed project needs, from its metadata; its minimum if it is not installed."""
    try:
        return importlib.metadata.requires(PROJECT) or []
    except importlib.metadata.PackageNotFoundError:
        return ["numpy", "ml_dtypes", "safetensors"]


def packages(lines: list[str]) -> Iterator[Package]:
    """The packages in lines such as ``anywidget>=0.9; extra == 'widgets'``, in the order of `EXTRAS`."""
    seen = set()
    for extra in EXTRAS:
        for line in lines:
            wanted, _, marker = line.partition(";")
            found = re.search(r"extra == ['\"]([\w-]+)['\"]", marker)
            if (found.group(1) if found else "") != extra:
                continue
            name, needed = re.match(r"([\w.-]+)(?:\[.*\])?\s*(.*)", wanted.strip()).groups()  # type: ignore[union-attr]
            if name.replace("-", "_") != PROJECT and name not in seen:  # an extra repeats those it builds on
                seen.add(name)
                yield Package(name, extra, needed.strip(), version_of(name))


def version_of(name: str) -> str | None:
    """The version of an installed package."""
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def satisfies(version: str, needed: str) -> bool:
    """Whether the release meets every ``>=`` in ``needed``. Other conditions are the installer's business."""
    bounds = re.findall(r">=\s*([\d.]+)", needed)
    return all(release(version) >= release(bound) for bound in bounds)


def release(version: str) -> tuple[int, ...]:
    """The numbers of a version, without zeros at the end: (2, 1) for "2.1.0rc1"."""
    digits = re.match(r"\d+(\.\d+)*", version)
    numbers = [int(part) for part in digits.group().split(".")] if digits else []
    while numbers and not numbers[-1]:
        numbers.pop()
    return tuple(numbers)


# What NumPy, the GPU and Jupyter rest on ------------------------------------------------------------------------------


def blas() -> Blas:
    """NumPy's BLAS, and its threads if threadpoolctl is installed."""
    built = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    threads = None
    if importlib.util.find_spec("threadpoolctl"):
        pools: list[dict[str, Any]] = importlib.import_module("threadpoolctl").threadpool_info()
        threads = max((pool["num_threads"] for pool in pools if pool["user_api"] == "blas"), default=None)
    return Blas(str(built.get("name", "unknown")), str(built.get("version", "")), threads)


def gpu() -> Gpu:
    """The GPUs that CuPy can use."""
    driver = shutil.which("nvidia-smi") is not None
    if not importlib.util.find_spec("cupy"):
        return Gpu(driver, None)
    try:
        cupy = importlib.import_module("cupy")
        count = cupy.cuda.runtime.getDeviceCount()
        names = [cupy.cuda.runtime.getDeviceProperties(index)["name"].decode() for index in range(count)]
        return Gpu(driver, cupy.__version__, tuple(names))
    except Exception as error:  # a driver that is missing, too old or asleep: each raises a different error
        return Gpu(driver, "installed", (), f"{type(error).__name__}: {error}".splitlines()[0])


def devices(found: Gpu) -> tuple[Place, ...]:
    """What each device can do here."""
    simulated = tg.sim.machine()
    room, rate = bytes_text(int(simulated["memory"])), bytes_text(int(simulated["bandwidth"]))
    sim = f"a simulated {simulated.preset} ({room}, {rate}/s): NumPy's results in virtual time, on any machine"
    if tg.cuda.is_available():
        cuda = Place("cuda", "measured", "computes with CuPy, in this machine's time")
    else:
        missing = why_not() if found.driver or found.devices else None
        cuda = Place("cuda", None, f"cannot be used: {missing[0] if missing else 'no NVIDIA GPU'}")
    return Place("cpu", "measured", "computes with NumPy, in this machine's time"), Place("sim", "virtual", sim), cuda


def missing_lab_extensions(prefix: Path) -> tuple[str, ...]:
    """The parts of the widgets that JupyterLab does not find, in an environment with JupyterLab."""
    if version_of("jupyterlab") is None:
        return ()
    folder = prefix / "share" / "jupyter" / "labextensions"
    return tuple(name for name in LAB_EXTENSIONS if not (folder / name).is_dir())
