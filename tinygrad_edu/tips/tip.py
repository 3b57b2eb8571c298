"""What a tip is: two functions that do the same, what is claimed of them, and all that a learner needs around them."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from ..errors import EduError

GUIDES = {
    "P": "PyTorch performance guide",
    "R": "torch-rs optimisation guide",
    "G": "MyGrad performance tips",
    "L": "Lux.jl performance pitfalls",
    "M": "mlax development notes",
}
THEMES = {
    "arrays": "Arrays: views, copies, layout",
    "autograd": "The autograd graph and its memory",
    "precision": "Precision",
    "devices": "Devices and transfers",
    "data": "Data loading",
    "compute": "Compute",
    "compilation": "Compilation",
    "model": "Model",
    "loops": "Training and inference loops",
    "measuring": "Measuring",
}

HOLDS, SAME, FALSE = "holds", "no difference", "false here"
VERDICTS = (HOLDS, SAME, FALSE)

# What is counted of each way, and how it is said. "time" is the only one that a clock has to do with.
COUNTED = {
    "allocated": "newly allocated",
    "copied": "copied",
    "copies": "copies",
    "peak": "at the peak",
    "calls": "operations",
    "nodes": "graph nodes",
    "stride": "from one element to the next",
    "held": "kept alive by the result",
    "shares": "shares memory with its input",
    "changes": "changes its input",
    "error": "error",
}
IN_BYTES = ("allocated", "copied", "peak", "held")
TIME = "time"


class TipError(EduError, ValueError):
    """A tip does not exist, is not complete, or was asked for what it cannot do."""


@dataclass(frozen=True)
class Size:
    """An input that is a number: a slider over powers of two from ``low`` to ``high``."""

    name: str
    default: int
    low: int
    high: int
    words: str

    def parse(self, value: Any) -> int:
        """The value as a number in range. Raises `TipError` for others."""
        try:
            number = int(str(value))
        except ValueError:
            number = self.low - 1
        if not self.low <= number <= self.high:
            raise TipError(
                f"{self.name}={value}", f"it is {self.words}", f"use a whole number from {self.low} to {self.high}"
            )
        return number

    @property
    def stops(self) -> tuple[int, ...]:
        """The values that the slider has."""
        powers = (2**i for i in range(self.high.bit_length()))
        return tuple(sorted({self.low, self.high, self.default, *(p for p in powers if self.low < p < self.high)}))


@dataclass(frozen=True)
class Choice:
    """An input that is one of a few words."""

    name: str
    default: str
    options: tuple[str, ...]
    words: str

    def parse(self, value: Any) -> str:
        """The value, if it is one of the options. Raises `TipError` for others."""
        if str(value) not in self.options:
            raise TipError(f"{self.name}={value}", f"it is {self.words}", f"use one of: {', '.join(self.options)}")
        return str(value)


@dataclass(frozen=True)
class Source:
    """Where the tip comes from: a guide by its letter in `GUIDES`, the section, and what it says there."""

    guide: str
    section: str
    says: str


@dataclass(frozen=True)
class Claim:
    """What the tip says of one count, or of the time.

    ``fast`` (and ``slow``) name an exact value. Without ``fast``, the slow way needs more: at least ``times`` as much.
    With ``no_more``, it is enough that the fast way needs no more than the slow one.
    """

    fact: str
    fast: Any = None
    slow: Any = None
    times: float = 1.0
    no_more: bool = False

    @property
    def counted(self) -> bool:
        """Whether the claim is about a count, which is the same on every machine."""
        return self.fact != TIME


@dataclass(frozen=True)
class Limit:
    """A setting, ready to run, in which the verdict is no longer *holds*."""

    setting: Mapping[str, Any]
    verdict: str
    words: str


@dataclass(frozen=True)
class Slip:
    """Where a guide is wrong, sloppy or out of date: its code, as it would be here, and what turns out."""

    guide: str
    run: Callable[..., Any]
    shows: Mapping[str, Any]  # counts by name; "equal": whether it gives the numbers of the fast way
    words: str


@dataclass(frozen=True)
class Question:
    """What is to be predicted. ``answer`` takes the result and gives one of the choices: nothing is written down."""

    ask: str
    choices: tuple[str, ...]
    answer: Callable[[Any], str]
    tempting: str
    refutation: str


@dataclass(frozen=True)
class Elsewhere:
    """The same tip in another framework, as it was written at the date, for that version."""

    framework: str
    date: str
    code: str


@dataclass(frozen=True)
class Picture:
    """Which widget draws the tip, and a small example for it to draw: its arguments by name."""

    widget: str
    example: Callable[[], dict[str, Any]]


@dataclass(frozen=True)
class Tip:
    """One performance tip. ``slow`` and ``fast`` are what the learner reads, and what runs.

    ``inputs(generator, **parameters)`` makes the arguments that both take, in order, as a dict by name.
    """

    slug: str
    title: str
    theme: str
    why: str
    about: str
    sources: tuple[Source, ...]
    parameters: tuple[Size | Choice, ...]
    inputs: Callable[..., dict[str, Any]]
    slow: Callable[..., Any]
    fast: Callable[..., Any]
    claims: tuple[Claim, ...]
    limits: tuple[Limit, ...]
    question: Question
    explain: str
    symptoms: tuple[str, ...]
    picture: Picture
    elsewhere: tuple[Elsewhere, ...]
    slip: Slip | None = None
    devices: tuple[str, ...] = ("cpu",)
    tolerance: float = 1e-5

    @property
    def defaults(self) -> dict[str, Any]:
        """Every parameter at its default."""
        return {p.name: p.default for p in self.every_parameter}

    @property
    def every_parameter(self) -> tuple[Size | Choice, ...]:
        """The tip's own parameters, and the device."""
        return (*self.parameters, Choice("device", self.devices[0], self.devices, "where the tensors live"))

    def setting(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The defaults, with what is given in their place. Raises `TipError` for names and values that cannot be."""
        known = {p.name: p for p in self.every_parameter}
        for name in given:
            if name not in known:
                raise TipError(
                    f"{self.slug} with {name}={given[name]}",
                    f"it has no parameter {name!r}",
                    f"its parameters are {', '.join(known)}",
                )
        return {name: p.parse(given.get(name, p.default)) for name, p in known.items()}

    @property
    def guides(self) -> tuple[str, ...]:
        """The letters of the guides that it comes from."""
        return tuple(dict.fromkeys(source.guide for source in self.sources))


@cache  # a frame asks several times, and reading and parsing the file is most of what it takes
def source_of(function: Callable[..., Any], name: str = "") -> str:
    """The text of a function as a learner reads it: without type hints and docstring, under another name if given."""
    lines = textwrap.dedent(inspect.getsource(function)).rstrip().split("\n")
    tree = ast.parse("\n".join(lines)).body[0]
    assert isinstance(tree, ast.FunctionDef)
    body = tree.body[1:] if ast.get_docstring(tree) else tree.body
    head = f"def {name or tree.name}({', '.join(inspect.signature(function).parameters)}):"
    for hinted in (node for node in ast.walk(tree) if isinstance(node, ast.AnnAssign) and node.value):
        line = lines[hinted.lineno - 1].encode()  # ast counts bytes
        kept = line[: hinted.target.end_col_offset] + line[hinted.annotation.end_col_offset :]
        lines[hinted.lineno - 1] = kept.decode()
    return "\n".join([head, *lines[body[0].lineno - 1 :]])
