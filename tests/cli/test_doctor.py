"""The doctor's report and advice, from made-up facts; and its measurements, on a small budget."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from typing import Any

import pytest

import tinygrad_edu as tg
from tinygrad_edu.cli import doctor as doctor_module
from tinygrad_edu.cli import peaks as peaks_module
from tinygrad_edu.cli.advice import Advice, advise
from tinygrad_edu.cli.doctor import doctor, report, to_dict, widgets_ready
from tinygrad_edu.cli.facts import Blas, Facts, Gpu, Package, Place, Python, devices, gather
from tinygrad_edu.cli.machine import Cpu, Memory
from tinygrad_edu.cli.peaks import Peak, measure_peaks
from tinygrad_edu.cli.terminal import Progress, Terminal

PACKAGES = (
    Package("numpy", "", ">=2.1", "2.4.6"),
    Package("anywidget", "widgets", ">=0.9.21", "0.11.0"),
    Package("jupyterlab", "course", ">=4.4", "4.6.6"),
)
FACTS = Facts(
    version="0.1.0",
    engine_error="",
    python=Python("3.11.7", "/env/bin/python", "python -m pip install"),
    packages=PACKAGES,
    blas=Blas("openblas", "0.3.31", 2),
    cpu=Cpu("Example CPU", 2, 2),
    memory=Memory(25_276_510_208, 24_664_489_984),
    gpu=Gpu(False, None),
    devices=(Place("cpu", "measured", "computes with NumPy"), Place("cuda", None, "cannot be used: no NVIDIA GPU")),
    lab_extensions=(),
    browser="/usr/bin/chromium",
    home="/home/ada",
    home_writable=True,
)
ONE = Peak(
    "matmul_one_thread", "float32 matmul, one thread", "FLOP/s", "1024×1024", "62.4 GFLOP/s (55.3–78.5)", 22,
    6.24e10, (5.53e10, 7.85e10),
)  # fmt: skip
ALL = replace(ONE, name="matmul_all_threads", label="float32 matmul, all threads", quartiles=(8.2e10, 1.11e11))
CALL = Peak(
    "numpy_call", "one NumPy call", "s", "adding two arrays of one element", "500 ns (493–506)", 60,
    5e-7, (4.93e-7, 5.06e-7),
)  # fmt: skip
INSTALL = "python -m pip install "


def lacking(**changes: Any) -> Facts:
    return replace(FACTS, **changes)


def test_the_report_of_a_machine_that_has_all() -> None:
    assert (
        report(Terminal(80), FACTS, (ONE, CALL), [])
        == """\
tinygrad_edu 0.1.0: the engine works

Machine
  Python     3.11.7, /env/bin/python
  processor  Example CPU, 2 cores
  memory     25.3 GB, 24.7 GB free
  BLAS       openblas 0.3.31, 2 threads
  GPU        no NVIDIA GPU
  widgets    ready for JupyterLab
  browser    /usr/bin/chromium

Devices: where tensors can live
  cpu   computes with NumPy
  cuda  cannot be used: no NVIDIA GPU

Measured here: the median and the middle half of the runs
  float32 matmul, one thread  62.4 GFLOP/s (55.3–78.5)  1024×1024
  one NumPy call              500 ns (493–506)          adding two arrays of one
                                                        element

Packages
  ● numpy       2.4.6   the engine
  ● anywidget   0.11.0  the widgets in notebooks
  ● jupyterlab  4.6.6   the course in JupyterLab"""
    )


def test_the_report_of_a_machine_that_lacks_much() -> None:
    facts = lacking(
        packages=(*PACKAGES[:1], replace(PACKAGES[1], version=None), replace(PACKAGES[2], version="4.1")),
        blas=Blas("openblas", "0.3.31", None),
        cpu=Cpu("Example CPU", 64, 64, 1.0),
        memory=Memory(None, None, 2_000_000_000),
        gpu=Gpu(True, None),
        browser=None,
    )
    assert (
        report(Terminal(64, encoding="ascii"), facts, (replace(CALL, text="not measured"),), advise(facts))
        == """\
tinygrad_edu 0.1.0: the engine works

Machine
  Python     3.11.7, /env/bin/python
  processor  Example CPU, 64 cores, 1 may be used here
  memory     size not known, 2.00 GB is the limit here
  BLAS       openblas 0.3.31, threads not known
  GPU        NVIDIA, without CuPy
  widgets    not ready for JupyterLab
  browser    no Chromium

Devices: where tensors can live
  cpu   computes with NumPy
  cuda  cannot be used: no NVIDIA GPU

Measured here: the median and the middle half of the runs
  one NumPy call  not measured  adding two arrays of one element

Packages
  * numpy       2.4.6          the engine
  o anywidget   not installed  the widgets in notebooks
  ! jupyterlab  4.1            the course in JupyterLab

Worth fixing
  ! jupyterlab: 4.1 is installed, the course in JupyterLab needs
    >=4.4
      python -m pip install "jupyterlab>=4.4"
  ! threads: 64 cores are visible and 1 may be used: BLAS may
    start a thread for each
      export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1

Could be added
  o widgets: anywidget: for the widgets in notebooks
      python -m pip install "anywidget>=0.9.21"
  o cuda: CuPy: for arrays on this machine's NVIDIA GPU
      python -m pip install "cupy-cuda13x>=14"
  o browser: Chromium: only for the browser tests
      sudo apt install chromium, or set CHROMIUM to its path"""
    )


@pytest.mark.parametrize("width", [40, 60, 100])
def test_only_commands_are_wider_than_the_terminal(width: int) -> None:
    facts = lacking(cpu=Cpu("Example CPU", 64, 64, 1.0), browser=None)
    advice = advise(facts)
    lines = report(Terminal(width), facts, (ONE, CALL), advice).split("\n")
    commands = {"      " + one.fix for one in advice}
    assert [line for line in lines if len(line) > width and line not in commands] == []


def test_colour_is_only_added() -> None:
    advice = advise(lacking(browser=None))
    painted = report(Terminal(80, colour=True), FACTS, (ONE,), advice)
    for code in ("\x1b[1m", "\x1b[34m", "\x1b[0m"):
        assert code in painted
        painted = painted.replace(code, "")
    assert painted == report(Terminal(80), FACTS, (ONE,), advice)


# Advice -------------------------------------------------------------------------------------------------------------


def test_nothing_to_mend() -> None:
    assert advise(FACTS, (ONE, ALL, CALL)) == []


@pytest.mark.parametrize(
    ("changes", "advice"),
    [
        (
            {"engine_error": "ImportError: no bfloat16", "packages": (replace(PACKAGES[0], version=None),)},
            Advice("broken", "the engine", "ImportError: no bfloat16", INSTALL + '"numpy>=2.1"'),
        ),
        (
            {"engine_error": "ImportError: no bfloat16"},
            Advice("broken", "the engine", "ImportError: no bfloat16", INSTALL + "--force-reinstall tinygrad_edu"),
        ),
        (
            {"blas": Blas("openblas", "0.3", 16)},
            Advice(
                "trap",
                "threads",
                "BLAS starts 16 threads, but 2 can run at once: they wait for each other",
                "export OMP_NUM_THREADS=2 OPENBLAS_NUM_THREADS=2 MKL_NUM_THREADS=2",
            ),
        ),
        (
            {"python": replace(FACTS.python, debug=True)},
            Advice(
                "trap",
                "Python",
                "this is a debug build: every timing is several times too long",
                "use a release build, from python.org or your system's packages",
            ),
        ),
        (
            {"python": replace(FACTS.python, optimized=True)},
            Advice(
                "trap",
                "Python",
                "assert is switched off by PYTHONOPTIMIZE or -O: checks in lessons and tests pass without checking",
                "unset PYTHONOPTIMIZE",
            ),
        ),
        (
            {"home_writable": False},
            Advice(
                "trap",
                "home folder",
                "/home/ada cannot be written to: JupyterLab does not start, and caches are lost",
                "export HOME=$(mktemp -d)",
            ),
        ),
        (
            {"lab_extensions": ("anywidget",)},
            Advice(
                "trap",
                "JupyterLab",
                "JupyterLab does not find anywidget: widgets show as text",
                INSTALL + "--force-reinstall jupyterlab_widgets anywidget",
            ),
        ),
        (
            {"gpu": Gpu(True, "installed", (), "RuntimeError: asleep")},
            Advice("trap", "GPU", "CuPy is installed, but no GPU answers: RuntimeError: asleep", "nvidia-smi"),
        ),
        (
            {"gpu": Gpu(False, "installed", (), "RuntimeError: asleep")},
            Advice(
                "trap",
                "GPU",
                "CuPy is installed, but no GPU answers: RuntimeError: asleep",
                "install NVIDIA's driver, then restart",
            ),
        ),
    ],
)
def test_advice(changes: dict[str, Any], advice: Advice) -> None:
    assert advise(lacking(**changes)) == [advice]


def test_missing_packages_of_one_extra_are_one_command() -> None:
    lost = tuple(replace(package, version=None, extra="course") for package in PACKAGES[1:])
    (advice,) = advise(lacking(packages=(PACKAGES[0], *lost)))
    assert advice.why == "anywidget, jupyterlab: for the course in JupyterLab"
    assert advice.fix == INSTALL + '"anywidget>=0.9.21" "jupyterlab>=4.4"'


def test_threads_that_do_not_help_are_worth_a_word() -> None:
    slow = replace(ALL, quartiles=(4.0e10, 5.0e10))
    (advice,) = advise(FACTS, (ONE, slow))
    assert (advice.kind, advice.about) == ("trap", "threads")
    assert advise(FACTS, (ONE, replace(slow, median=None, quartiles=None))) == []


@pytest.mark.parametrize(
    ("changes", "ready"),
    [
        ({}, True),
        ({"lab_extensions": ("anywidget",)}, False),
        ({"packages": (PACKAGES[0], replace(PACKAGES[1], version=None), PACKAGES[2])}, False),
        ({"packages": PACKAGES[:1]}, False),
    ],
)
def test_widgets_are_ready(changes: dict[str, Any], ready: bool) -> None:
    assert widgets_ready(lacking(**changes)) is ready


# JSON ---------------------------------------------------------------------------------------------------------------


def test_json_holds_everything() -> None:
    advice = advise(lacking(browser=None))
    data = json.loads(Terminal().json(to_dict(FACTS, (CALL, replace(ALL, median=None, quartiles=None)), advice)))
    assert data == {
        "schema": 1,
        "version": "0.1.0",
        "engine_works": True,
        "engine_error": "",
        "python": {
            "version": "3.11.7", "executable": "/env/bin/python", "installer": "python -m pip install",
            "debug": False, "optimized": False,
        },
        "packages": [
            {"name": "numpy", "extra": "", "needed": ">=2.1", "version": "2.4.6", "state": "ok"},
            {"name": "anywidget", "extra": "widgets", "needed": ">=0.9.21", "version": "0.11.0", "state": "ok"},
            {"name": "jupyterlab", "extra": "course", "needed": ">=4.4", "version": "4.6.6", "state": "ok"},
        ],
        "blas": {"name": "openblas", "version": "0.3.31", "threads": 2},
        "cpu": {"model": "Example CPU", "cores": 2, "allowed": 2, "quota": None, "usable": 2},
        "memory": {"total": 25_276_510_208, "available": 24_664_489_984, "limit": None},
        "gpu": {"driver": False, "cupy": None, "devices": [], "error": ""},
        "devices": [
            {"name": "cpu", "times": "measured", "words": "computes with NumPy"},
            {"name": "cuda", "times": None, "words": "cannot be used: no NVIDIA GPU"},
        ],
        "jupyter": {"lab_extensions_missing": [], "widgets_ready": True},
        "browser": "/usr/bin/chromium",
        "home": {"path": "/home/ada", "writable": True},
        "peaks": [
            {
                "name": "numpy_call", "label": "one NumPy call", "unit": "s", "how": "adding two arrays of one element",
                "text": "500 ns (493–506)", "runs": 60, "median": 5e-7, "quartiles": [4.93e-7, 5.06e-7],
            },
            {
                "name": "matmul_all_threads", "label": "float32 matmul, all threads", "unit": "FLOP/s",
                "how": "1024×1024", "text": "62.4 GFLOP/s (55.3–78.5)", "runs": 22, "median": None, "quartiles": None,
            },
        ],
        "advice": [
            {
                "kind": "missing", "about": "browser", "why": "Chromium: only for the browser tests",
                "fix": "sudo apt install chromium, or set CHROMIUM to its path",
            }
        ],
    }  # fmt: skip


def test_every_key_is_documented() -> None:
    for key in to_dict(FACTS, (), []):
        assert f"``{key}``" in (doctor_module.__doc__ or "")


# Devices ------------------------------------------------------------------------------------------------------------


def test_each_device_says_what_it_can_do(monkeypatch: pytest.MonkeyPatch) -> None:
    cpu, sim, cuda = devices(Gpu(False, None))
    assert cpu == Place("cpu", "measured", "computes with NumPy, in this machine's time")
    assert sim.times == "virtual" and sim.words.startswith("a simulated T4 (16.0 GB, 320 GB/s)")
    assert cuda == Place("cuda", None, "cannot be used: no NVIDIA GPU")
    monkeypatch.setattr("tinygrad_edu.cli.facts.why_not", lambda: ("CuPy is not installed", "install it"))
    assert devices(Gpu(True, None))[2] == Place("cuda", None, "cannot be used: CuPy is not installed")
    monkeypatch.setattr(tg.cuda, "is_available", lambda: True)
    assert devices(Gpu(True, "14.2", ("Example GPU",)))[2].times == "measured"


def test_the_machine_that_is_simulated_now() -> None:
    tg.sim.use("H100")
    assert "a simulated H100 (80.0 GB" in devices(Gpu(False, None))[1].words


# Measuring ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small measurements: they show that all is wired, not what the machine can do."""
    monkeypatch.setattr(peaks_module, "BUDGET", 0.001)
    monkeypatch.setattr(peaks_module, "COPIED", 1000)
    monkeypatch.setattr(peaks_module, "MATRIX", 8)


def test_peaks_are_measured(quick: None) -> None:
    told: list[str] = []
    peaks = measure_peaks(gather(), told.append)
    assert [peak.name for peak in peaks] == [
        "memory_bandwidth", "matmul_one_thread", "matmul_all_threads", "numpy_call", "tensor_operation",
    ]  # fmt: skip
    assert told == [*(peak.label for peak in peaks[:3]), "the cost of one call"]
    for peak in peaks:
        assert peak.median is not None and peak.quartiles is not None
        assert 0 < peak.quartiles[0] <= peak.median <= peak.quartiles[1]
        assert peak.runs >= 3


def test_one_thread_is_not_measured_where_threads_cannot_be_limited(quick: None) -> None:
    peaks = measure_peaks(lacking(blas=Blas("openblas", "0.3", None)), lambda label: None)
    assert (peaks[1].text, peaks[1].median) == ("not measured", None)
    assert peaks[1].how == "needs threadpoolctl and a BLAS that it knows"
    assert peaks[2].how == "8×8 times 8×8, as many threads as BLAS takes"


def test_little_memory_is_not_filled(quick: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peaks_module, "COPIED", 1 << 40)
    peaks = measure_peaks(lacking(memory=Memory(None, None, 80_000)), lambda label: None)
    assert peaks[0].how == "copying 10.0 kB; bytes read and written"


@pytest.mark.parametrize(("error", "status"), [("", 0), ("ImportError: gone", 1)])
def test_the_exit_status_is_that_of_the_engine(
    quick: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], error: str, status: int
) -> None:
    monkeypatch.setattr(doctor_module, "gather", lambda: lacking(engine_error=error, browser=None))
    text, found = doctor(Terminal(), Progress(sys.stderr), as_json=True)
    assert found == status
    assert json.loads(text)["engine_works"] is not bool(error)
    assert capsys.readouterr() == ("", "")
