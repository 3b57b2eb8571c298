"""Runs the code of a notebook in this process, with stand-ins for its widgets: gates keep what they would reveal."""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import MagicMock

import nbformat
import pytest
from nbclient import NotebookClient

from tinygrad_edu.lessons.reasons import REASONS
from tinygrad_edu.tensor.random import manual_seed

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"


@dataclass
class Gate:
    """A question of a notebook."""

    ask: str
    reveal: Callable[[], Any]
    why: Any = ""
    choices: list[str] = field(default_factory=list)

    def answer(self) -> Any:
        """What it would show after the commit."""
        found = self.reveal()
        return getattr(found, "value", found)


@dataclass
class Run:
    """What the code of a notebook left behind."""

    names: dict[str, Any]
    gates: list[Gate]
    knobs: list[tuple[Callable[..., Any], dict[str, Any]]]  # function and sliders of each `interact`

    def gate(self, part: str) -> Gate:
        """The one whose question has this in it."""
        (found,) = [gate for gate in self.gates if part in gate.ask]
        return found


def run_cells(name: str, engine: str = "tinygrad_edu") -> Run:
    """Run all code cells of a notebook. ``engine`` takes the place of tinygrad_edu, under the name ``tg``."""
    run = Run({"__name__": name}, [], [])

    def gate(ask: str, reveal: Callable[[], Any], why: Any = "", **offer: Any) -> None:
        run.gates.append(Gate(ask, reveal, why, offer.get("choices", [])))

    def interact(function: Callable[..., Any], **sliders: Any) -> None:
        run.knobs.append((function, sliders))

    class Widgets(ModuleType):
        def __getattr__(self, wanted: str) -> Any:
            if wanted.startswith("__"):
                raise AttributeError(wanted)
            return gate if wanted == "PredictGate" else MagicMock()

    manual_seed(0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "tinygrad_edu_widgets", Widgets("tinygrad_edu_widgets"))
        patch.setattr("ipywidgets.interact", interact)
        for source in sources(name):
            exec(source.replace("import tinygrad_edu as tg", f"import {engine} as tg"), run.names)
    return run


def execute(notebook: Any) -> None:
    """Run it in a kernel of its own, as a learner would."""
    # One at a time, also where tests run in two processes: kernels that start at once may choose the same port.
    with (Path(tempfile.gettempdir()) / "tinygrad_edu-kernels").open("w") as turn:
        if fcntl is not None:
            fcntl.flock(turn, fcntl.LOCK_EX)
        NotebookClient(notebook, timeout=50, resources={"metadata": {"path": str(NOTEBOOKS)}}).execute()


def sources(name: str, kind: str = "code") -> list[str]:
    """The texts of a notebook's cells."""
    return [
        cell.source for cell in nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4).cells if cell.cell_type == kind
    ]


def words(name: str) -> int:
    """How many words of prose a notebook has; the bars of a table are none."""
    prose = " ".join(sources(name, "markdown"))
    return sum(any(map(str.isalnum, word)) for word in prose.split())


def check_size(name: str, gates: list[Gate], *, count: int = 6) -> None:
    """A lesson has at most 1,500 words, so many gates, and six tasks."""
    assert words(name) <= 1500
    assert len(gates) == count
    assert len(re.findall(r"^check\(", "\n".join(sources(name)), re.M)) == 6


def check_reasons(gate: Any, answers: Mapping[str, str]) -> None:
    """Each choice of a gate has its reason, that of the answer the cause. ``answers`` are by part of a question."""
    assert list(gate.why) == gate.choices
    answer = gate.answer()
    assert [choice for choice, said in gate.why.items() if "**" in said] == [answer]
    assert answer == next(right for part, right in answers.items() if part in gate.ask)


def check_reason_keys(name: str, found: Mapping[str, Any]) -> None:
    """All reasons of a lesson are among those of all lessons, where a second key would take the place of the first, and
    its notebook asks for each."""
    assert found.items() <= REASONS.items()
    assert not [key for key in found if key not in "\n".join(sources(name))]
