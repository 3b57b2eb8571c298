"""What follows from the facts: what is missing, what will surprise, and the command that fixes it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..backends.cuda import wheel
from .facts import Facts, Package
from .peaks import Peak

# What each extra is for.
PURPOSES = {
    "": "the engine",
    "widgets": "the widgets in notebooks",
    "course": "the course in JupyterLab",
    "compile": "compiled kernels, and control of threads while timing",
}
THREAD_VARIABLES = "OMP_NUM_THREADS={0} OPENBLAS_NUM_THREADS={0} MKL_NUM_THREADS={0}"


@dataclass(frozen=True)
class Advice:
    """``kind`` is "broken" (the engine does not work), "trap" (works, with a surprise) or "missing" (optional)."""

    kind: str
    about: str
    why: str
    fix: str  # a command, if there is one


def advise(facts: Facts, peaks: Sequence[Peak] = ()) -> list[Advice]:
    """All advice, the most urgent first."""
    return [*_broken(facts), *_old(facts), *_traps(facts), *_measured(peaks), *_missing(facts)]


def _install(facts: Facts, packages: list[Package]) -> str:
    return " ".join([facts.python.installer, *(f'"{package.name}{package.needed}"' for package in packages)])


def _broken(facts: Facts) -> Iterator[Advice]:
    if not facts.engine_error:
        return
    lacking = [p for p in facts.packages if not p.extra and p.state != "ok"]
    fix = _install(facts, lacking) if lacking else f"{facts.python.installer} --force-reinstall tinygrad_edu"
    yield Advice("broken", "the engine", facts.engine_error, fix)


def _old(facts: Facts) -> Iterator[Advice]:
    for package in facts.packages:
        if package.state == "old":
            why = f"{package.version} is installed, {PURPOSES[package.extra]} needs {package.needed}"
            yield Advice("trap", package.name, why, _install(facts, [package]))


def _traps(facts: Facts) -> Iterator[Advice]:
    usable = facts.cpu.usable
    threads = facts.blas.threads
    if threads is None and facts.cpu.cores > usable:
        why = f"{facts.cpu.cores} cores are visible and {usable} may be used: BLAS may start a thread for each"
        yield Advice("trap", "threads", why, "export " + THREAD_VARIABLES.format(usable))
    if threads is not None and threads > usable:
        why = f"BLAS starts {threads} threads, but {usable} can run at once: they wait for each other"
        yield Advice("trap", "threads", why, "export " + THREAD_VARIABLES.format(usable))
    if facts.python.debug:
        why = "this is a debug build: every timing is several times too long"
        yield Advice("trap", "Python", why, "use a release build, from python.org or your system's packages")
    if facts.python.optimized:
        why = "assert is switched off by PYTHONOPTIMIZE or -O: checks in lessons and tests pass without checking"
        yield Advice("trap", "Python", why, "unset PYTHONOPTIMIZE")
    if not facts.home_writable:
        why = f"{facts.home} cannot be written to: JupyterLab does not start, and caches are lost"
        yield Advice("trap", "home folder", why, "export HOME=$(mktemp -d)")
    if facts.lab_extensions:
        why = f"JupyterLab does not find {' and '.join(facts.lab_extensions)}: widgets show as text"
        packages = ("jupyterlab_widgets", "anywidget")
        yield Advice("trap", "JupyterLab", why, f"{facts.python.installer} --force-reinstall {' '.join(packages)}")
    if facts.gpu.error:
        why = f"CuPy is installed, but no GPU answers: {facts.gpu.error}"
        yield Advice("trap", "GPU", why, "nvidia-smi" if facts.gpu.driver else "install NVIDIA's driver, then restart")


def _measured(peaks: Sequence[Peak]) -> Iterator[Advice]:
    spreads = {peak.name: peak.quartiles for peak in peaks}
    one, every = spreads.get("matmul_one_thread"), spreads.get("matmul_all_threads")
    if one and every and every[1] < one[0]:
        why = "all threads together are slower than one: other programs keep the cores busy"
        yield Advice("trap", "threads", why, "export " + THREAD_VARIABLES.format(1))


def _missing(facts: Facts) -> Iterator[Advice]:
    for extra, purpose in PURPOSES.items():
        lacking = [p for p in facts.packages if extra and p.extra == extra and p.state == "missing"]
        if lacking:
            names = ", ".join(package.name for package in lacking)
            yield Advice("missing", extra, f"{names}: for {purpose}", _install(facts, lacking))
    if facts.gpu.driver and facts.gpu.cupy is None:
        fix = f'{facts.python.installer} "{wheel()}"'
        yield Advice("missing", "cuda", "CuPy: for arrays on this machine's NVIDIA GPU", fix)
    if facts.browser is None:
        why = "Chromium: only for the browser tests"
        yield Advice("missing", "browser", why, "sudo apt install chromium, or set CHROMIUM to its path")
