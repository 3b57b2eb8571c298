"""A tip: two functions that do the same, the claims about them, and all that a learner needs around them."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from ..common.wording import exact, shown
from ..errors import EduError
from .facts import FACTS, MEASURED
from .outcomes import EQUAL, Outcome

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
class Over:
    """A claim over a parameter: at each of ``sizes``, and how the counts of A and of B grow, see `shapes.shape_of`.

    With ``crosses``, B needs less than A at one end and more at the other.
    """

    name: str
    sizes: tuple[int, ...]
    slow: str = ""
    fast: str = ""
    crosses: bool = False


@dataclass(frozen=True)
class Claim:
    """What the tip says about one fact, of two ways.

    ``fast`` (and ``slow``) name an exact value. Without ``fast``, the slow way needs more: at least ``times`` as much.
    With ``no_more``, the fast way need only take no more than the slow one; with ``same``, both need the same; with
    ``price``, the fast way needs more, at least ``times`` as much: this is what it costs.

    A number is the one that ``fast`` or ``slow`` names, or the same in both, if it is ``within`` this share of it.

    ``ways`` names two others of the tip's ways. ``at`` is a setting, where it is not the one that runs. ``when`` is a
    `mark` inside the ways, or "setup" or "first" for ways that are `prepared`. ``over`` makes it a claim over sizes.
    """

    fact: str
    fast: Any = None
    slow: Any = None
    times: float = 1.0
    no_more: bool = False
    same: bool = False
    price: bool = False
    within: float = 0.0
    ways: tuple[str, str] = ("slow", "fast")
    at: Mapping[str, Any] = field(default_factory=dict)
    when: str = ""
    over: Over | None = None

    @property
    def counted(self) -> bool:
        """Whether the claim is about a count, which is the same on every machine."""
        return FACTS[self.fact].known != MEASURED


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
class Way:
    """One more way, shown as C, D and so on: a third choice, or a mistake that people make."""

    name: str
    run: Callable[..., Any]
    outcome: Outcome = EQUAL
    words: str = ""  # what it shows


@dataclass(frozen=True)
class Figure:
    """A guide's own figure: A needs ``times`` as much as B, or takes that many times as long."""

    fact: str
    times: float
    guide: str
    words: str = ""  # of what, where the guide says so


@dataclass(frozen=True)
class Number:
    """What a question offers whose answer is a number: any from ``low`` to ``high``, in ``unit`` ("buffers").

    A prediction is right if it is ``within`` this share of the answer.
    """

    low: float
    high: float
    unit: str = ""
    within: float = 0.0


Answer = str | float


@dataclass(frozen=True)
class Question:
    """The question to predict. ``answer`` computes the right choice from the result: it is not written down."""

    ask: str
    choices: tuple[str, ...] | Number
    answer: Callable[[Any], Answer]
    tempting: Answer
    refutation: str

    @property
    def offered(self) -> tuple[str, ...]:
        """The choices in words; of a number, one line that says which there are."""
        if not isinstance(self.choices, Number):
            return self.choices
        near = f"; within {self.choices.within:.0%} is right" if self.choices.within else ""
        return (f"a number from {exact(self.choices.low)} to {self.said(self.choices.high)}{near}",)

    def parse(self, given: Any) -> Answer:
        """A prediction as the question takes it. Raises `TipError` for any other."""
        tried = f"the prediction {shown(given, 40)}"
        if not isinstance(self.choices, Number):
            if not isinstance(given, str) or given not in self.choices:
                raise TipError(tried, "it is not one of the choices", f"take one of {', '.join(self.choices)}")
            return given
        try:
            number = float(str(given).replace("−", "-").replace(",", "."))
        except ValueError:
            raise TipError(tried, "it is not a number", "type digits, such as 2.5") from None
        if not self.choices.low <= number <= self.choices.high:
            raise TipError(tried, "the question is about other numbers", f"type {self.offered[0].partition(';')[0]}")
        return number

    def right(self, given: Answer | None, answer: Answer) -> bool:
        """Whether a prediction was right; a number, if it was near enough."""
        if isinstance(self.choices, Number) and isinstance(given, (int, float)) and isinstance(answer, (int, float)):
            return abs(given - answer) <= self.choices.within * abs(answer)
        return given == answer

    def said(self, answer: Answer | None) -> str:
        """An answer in words: a number has its unit. Nothing for None."""
        unit = self.choices.unit if isinstance(self.choices, Number) else ""
        return answer or "" if answer is None or isinstance(answer, str) else f"{exact(answer)} {unit}".rstrip()


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
    """One performance tip. ``slow`` and ``fast`` are what the learner reads, and what runs: the ways A and B.

    ``inputs(generator, **parameters)`` makes the arguments that all ways take, in order, as a dict by name. If it has a
    parameter ``device`` too, the ways move things there themselves; else all tensors are made there. What follows
    ``elsewhere`` is for the tips that need it:

    ``outcomes``
        what A and B do, by "slow" and "fast", where they do not both give the numbers of ``truth``, or else of B.
    ``also``
        more ways, in order: C, D and so on.
    ``slips``
        where guides are wrong, each with its code, which runs as well.
    ``figures``
        the guides' own figures, shown beside what is found here.
    ``reads``
        facts of its own, by name: each is read off what a way returns. `facts.declare` says what they are.
    ``seeds``
        how often to run with other random numbers; a claim about its own facts holds if it holds in each of them.
    ``threads``
        of BLAS while it runs; None if a way is to have all of them, or sets them itself.
    ``torch``
        its ways in PyTorch, by name, where the code of a way does not run there as it stands, see `framework`; None
        if there are none.
    ``differs_in_torch``
        why PyTorch does something else, if it does.
    ``applies``
        the signs by which a program shows that the tip applies to it, read off what a run has shown: see `advice`.
    ``without``
        a block in which a program runs as if the tip had been applied to it, where that can be done: see `rewriting`.
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
    outcomes: Mapping[str, Outcome] = field(default_factory=dict)
    truth: Callable[..., Any] | None = None
    also: tuple[Way, ...] = ()
    slips: tuple[Slip, ...] = ()
    figures: tuple[Figure, ...] = ()
    reads: Mapping[str, Callable[[Any], Any]] = field(default_factory=dict)
    seeds: int = 1
    torch: Mapping[str, Callable[..., Any]] | None = field(default_factory=dict)
    differs_in_torch: str = ""
    applies: Callable[[Any], Iterable[Any]] | None = None
    without: Callable[[], AbstractContextManager[Any]] | None = None
    devices: tuple[str, ...] = ("cpu",)
    tolerance: float = 1e-5
    threads: int | None = 1

    @property
    def moves(self) -> bool:
        """Whether the ways are given the device, and move things there themselves. Else all tensors are made there."""
        return "device" in inspect.signature(self.inputs).parameters

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
    def ways(self) -> dict[str, Way]:
        """Every way by name, in the order of their letters: "slow" and "fast" are A and B."""
        pair = {"slow": self.slow, "fast": self.fast}
        first = {name: Way(name, run, self.outcomes.get(name, EQUAL)) for name, run in pair.items()}
        return first | {way.name: way for way in self.also}

    @property
    def letters(self) -> dict[str, str]:
        """The letter of each way, by name."""
        return dict(zip(self.ways, "ABCDEFGH", strict=False))

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
