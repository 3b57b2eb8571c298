"""A tip: two functions that do the same, the claims about them, and all that a learner needs around them."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from ..errors import EduError
from .facts import TIME

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
FAILED = "could not be compared"  # one of the ways raised an error
VERDICTS = (HOLDS, SAME, FALSE, FAILED)


class TipError(EduError, ValueError):
    """A tip does not exist, is incomplete, or was asked for something it cannot do."""


@dataclass(frozen=True)
class Size:
    """A parameter that is a number: a slider over powers of two from ``low`` to ``high``."""

    name: str
    default: int
    low: int
    high: int
    words: str

    def parse(self, value: Any) -> int:
        """The value as a number in range. Raises `TipError` for any other."""
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
        """The values on the slider."""
        powers = (2**i for i in range(self.high.bit_length()))
        return tuple(sorted({self.low, self.high, self.default, *(p for p in powers if self.low < p < self.high)}))


@dataclass(frozen=True)
class Choice:
    """A parameter that is one of a few words."""

    name: str
    default: str
    options: tuple[str, ...]
    words: str

    def parse(self, value: Any) -> str:
        """The value, if it is one of the options. Raises `TipError` for any other."""
        if str(value) not in self.options:
            raise TipError(f"{self.name}={value}", f"it is {self.words}", f"use one of: {', '.join(self.options)}")
        return str(value)


@dataclass(frozen=True)
class Source:
    """Where the tip comes from: the guide's letter in `GUIDES`, the section, and what it says there."""

    guide: str
    section: str
    says: str


@dataclass(frozen=True)
class Claim:
    """What the tip says about one count, or about the time.

    ``fast`` (and ``slow``) name an exact value. Without ``fast``, the slow way needs more: at least ``times`` as much.
    With ``no_more``, the fast way need only take no more than the slow one.
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
    """Where a guide is wrong, sloppy or out of date: its code, written for this engine, and what that code shows."""

    guide: str
    run: Callable[..., Any]
    shows: Mapping[str, Any]  # counts by name; "equal": whether it gives the same numbers as the fast way
    words: str


@dataclass(frozen=True)
class Question:
    """The question to predict. ``answer`` computes the right choice from the result: it is not written down."""

    ask: str
    choices: tuple[str, ...]
    answer: Callable[[Any], str]
    tempting: str
    refutation: str


@dataclass(frozen=True)
class Elsewhere:
    """The same tip in another framework, for the version and at the date given."""

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
        """The default of every parameter."""
        return {p.name: p.default for p in self.every_parameter}

    @property
    def every_parameter(self) -> tuple[Size | Choice, ...]:
        """The tip's own parameters, and the device."""
        return (*self.parameters, Choice("device", self.devices[0], self.devices, "where the tensors live"))

    def setting(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The defaults, replaced by what is given. Raises `TipError` for unknown names and values that do not fit."""
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
        """The letters of the guides that the tip comes from."""
        return tuple(dict.fromkeys(source.guide for source in self.sources))


@cache  # a frame asks several times, and reading and parsing the file takes most of its time
def source_of(function: Callable[..., Any], name: str = "") -> str:
    """The text of a function as a learner reads it: without type hints and docstring, under another name if given.

    Decorators, defaults and comments stay, because they are part of what runs, or of what is said about it.
    """
    lines = textwrap.dedent(inspect.getsource(function)).rstrip().split("\n")
    tree = ast.parse("\n".join(lines)).body[0]
    assert isinstance(tree, ast.FunctionDef)
    for hinted in (node for node in ast.walk(tree) if isinstance(node, ast.AnnAssign) and node.value):
        line = lines[hinted.lineno - 1].encode()  # ast counts bytes
        kept = line[: hinted.target.end_col_offset] + line[hinted.annotation.end_col_offset :]
        lines[hinted.lineno - 1] = kept.decode()
    signature = inspect.signature(inspect.unwrap(function))
    bare = signature.replace(
        parameters=[p.replace(annotation=p.empty) for p in signature.parameters.values()],
        return_annotation=signature.empty,
    )
    head = f"def {name or tree.name}{bare}:"
    return "\n".join([*lines[: tree.lineno - 1], head, *lines[_lines_before_body(lines, tree) :]])


def _lines_before_body(lines: list[str], tree: ast.FunctionDef) -> int:
    """How many lines come before what is shown: the docstring goes, comments above the first statement stay."""
    first = tree.body[0]
    if ast.get_docstring(tree) is not None:
        return first.end_lineno or 0
    row = first.lineno - 1
    while row > tree.lineno and lines[row - 1].lstrip().startswith("#"):
        row -= 1
    return row
