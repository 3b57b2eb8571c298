"""``tinygrad-edu doctor``: what is installed, what the machine can do, and how to fix the rest.

The schema of ``--json``; keys may be added, but none changes its meaning:

| key | value |
|---|---|
| ``schema`` | 1 |
| ``version`` | of tinygrad_edu |
| ``engine_works``, ``engine_error`` | whether a small gradient came out right, or else why not |
| ``python`` | ``version``, ``executable``, ``installer``, ``debug``, ``optimized`` |
| ``packages`` | list of ``name``, ``extra`` ("" is none), ``needed``, ``version`` or null, ``state`` as in `Package` |
| ``blas`` | ``name``, ``version``, ``threads`` or null |
| ``cpu`` | ``model``, ``cores``, ``allowed``, ``quota`` or null, ``usable`` |
| ``memory`` | ``total``, ``available``, ``limit``, in bytes or null |
| ``gpu`` | ``driver``, ``cupy`` or null, ``devices``, ``error`` |
| ``devices`` | list of ``name``, ``times`` ("measured", "virtual", or null if it cannot be used), ``words`` |
| ``jupyter`` | ``lab_extensions_missing``, ``widgets_ready`` |
| ``browser`` | path or null |
| ``home`` | ``path``, ``writable`` |
| ``peaks`` | list of ``name``, ``label``, ``unit``, ``how``, ``text``, ``runs``, ``median`` and ``quartiles`` or null |
| ``advice`` | list of ``kind`` (broken, trap, missing), ``about``, ``why``, ``fix`` |
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from ..common.wording import bytes_text, plural
from .advice import PURPOSES, Advice, advise
from .facts import Facts, Package, gather
from .peaks import Peak, measure_peaks
from .terminal import Progress, Terminal

SIGNS = {"ok": "●", "missing": "○", "old": "▲"}
TITLES = {"broken": "The engine does not work", "trap": "Worth fixing", "missing": "Could be added"}


def doctor(terminal: Terminal, progress: Progress, *, as_json: bool) -> tuple[str, int]:
    """The report, and the exit status: 0 when the engine works, whatever else is missing."""
    progress.show("looking at what is installed")
    facts = gather()
    peaks = measure_peaks(facts, lambda label: progress.show(f"measuring {label}"))
    advice = advise(facts, peaks)
    progress.clear()
    text = terminal.json(to_dict(facts, peaks, advice)) if as_json else report(terminal, facts, peaks, advice)
    return text, 1 if facts.engine_error else 0


def to_dict(facts: Facts, peaks: tuple[Peak, ...], advice: list[Advice]) -> dict[str, Any]:
    """The report as plain data; the schema is in this module's docstring."""
    return {
        "schema": 1,
        "version": facts.version,
        "engine_works": not facts.engine_error,
        "engine_error": facts.engine_error,
        "python": asdict(facts.python),
        "packages": [{**asdict(package), "state": package.state} for package in facts.packages],
        "blas": asdict(facts.blas),
        "cpu": {**asdict(facts.cpu), "usable": facts.cpu.usable},
        "memory": asdict(facts.memory),
        "gpu": asdict(facts.gpu),
        "devices": [asdict(place) for place in facts.devices],
        "jupyter": {"lab_extensions_missing": facts.lab_extensions, "widgets_ready": widgets_ready(facts)},
        "browser": facts.browser,
        "home": {"path": facts.home, "writable": facts.home_writable},
        "peaks": [asdict(peak) for peak in peaks],
        "advice": [asdict(one) for one in advice],
    }


def widgets_ready(facts: Facts) -> bool:
    """Whether a notebook here would show the widgets live."""
    needed = [p for p in facts.packages if p.extra == "widgets" or p.name == "jupyterlab"]
    return bool(needed) and all(p.state == "ok" for p in needed) and not facts.lab_extensions


# In print -----------------------------------------------------------------------------------------------------------


def report(terminal: Terminal, facts: Facts, peaks: tuple[Peak, ...], advice: list[Advice]) -> str:
    """The report for people."""
    works = "the engine does not work" if facts.engine_error else "the engine works"
    parts = [
        terminal.section(f"tinygrad_edu {facts.version}: {works}", "").rstrip(),
        terminal.section("Machine", terminal.table(_machine(facts), indent="  ")),
        terminal.section("Devices: where tensors can live", _devices(terminal, facts)),
        terminal.section("Measured here: the median and the middle half of the runs", _peaks(terminal, peaks)),
        terminal.section("Packages", _packages(terminal, facts.packages)),
        *(_advice(terminal, kind, [one for one in advice if one.kind == kind]) for kind in TITLES),
    ]
    return "\n\n".join(part for part in parts if part)


def _machine(facts: Facts) -> list[tuple[str, str]]:
    python, blas, cpu, memory = facts.python, facts.blas, facts.cpu, facts.memory
    threads = "threads not known" if blas.threads is None else plural(blas.threads, "thread")
    allowed = [f"{cpu.usable} may be used here"] if cpu.usable < cpu.cores else []
    room = [f"{bytes_text(memory.available)} free"] if memory.available is not None else []
    room += [f"{bytes_text(memory.limit)} is the limit here"] if memory.limit is not None else []
    total = "size not known" if memory.total is None else bytes_text(memory.total)
    return [
        ("Python", f"{python.version}, {python.executable}"),
        ("processor", ", ".join([cpu.model, plural(cpu.cores, "core"), *allowed])),
        ("memory", ", ".join([total, *room])),
        ("BLAS", f"{blas.name} {blas.version}, {threads}"),
        ("GPU", _gpu(facts)),
        ("widgets", "ready for JupyterLab" if widgets_ready(facts) else "not ready for JupyterLab"),
        ("browser", facts.browser or "no Chromium"),
    ]


def _gpu(facts: Facts) -> str:
    gpu = facts.gpu
    if gpu.devices:
        return f"{', '.join(gpu.devices)}, CuPy {gpu.cupy}"
    if gpu.error:
        return "CuPy is installed, but no GPU answers"
    return "NVIDIA, without CuPy" if gpu.driver else "no NVIDIA GPU"


def _devices(terminal: Terminal, facts: Facts) -> str:
    return terminal.table([(place.name, place.words) for place in facts.devices], indent="  ")


def _peaks(terminal: Terminal, peaks: tuple[Peak, ...]) -> str:
    return terminal.table([(peak.label, peak.text, peak.how) for peak in peaks], indent="  ")


def _packages(terminal: Terminal, packages: tuple[Package, ...]) -> str:
    rows = [(f"{SIGNS[p.state]} {p.name}", p.version or "not installed", PURPOSES[p.extra]) for p in packages]
    return terminal.table(rows, indent="  ")


def _advice(terminal: Terminal, kind: str, advice: list[Advice]) -> str:
    """Each with its command on a separate, unbroken line, so that it can be copied."""
    if not advice:
        return ""
    sign = "○" if kind == "missing" else "▲"
    colour = "blue" if kind == "missing" else "red"
    lines = []
    for one in advice:
        words = terminal.prose(f"{one.about}: {one.why}", "    ").removeprefix("    ")
        lines.append(f"  {terminal.paint(terminal.spell(sign), colour)} {words}\n      {terminal.spell(one.fix)}")
    return terminal.section(TITLES[kind], "\n".join(lines))
