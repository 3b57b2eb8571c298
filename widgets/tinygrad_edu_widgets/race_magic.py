"""The cell magic ``%%race``: the learner's own code, raced.

``%load_ext tinygrad_edu_widgets`` adds it. The cell holds two functions::

    %%race n=10,100,1000
    def make(n):
        return [1.0] * n

    def loop(xs):
        total = 0.0
        for x in xs:
            total += x
        return total

    def builtin(xs):
        return sum(xs)

``make`` may be absent: then both get ``n``, or nothing if no sizes are given. Or the cell holds two blocks separated by
a line ``# ---``, or three: then the first makes what both use, and is not timed. A block's first line may name it, as
in ``# loop``. With ``fresh`` on the first line, inputs are made before every call.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from IPython.core.error import UsageError
from IPython.core.magic import Magics, cell_magic, magics_class

from tinygrad_edu.errors import ArgumentError, EduError

from .timing_race import TimingRace

FILE = "<race>"
_LINE = re.compile(r"^# ?---.*$", re.MULTILINE)


@magics_class
class RaceMagics(Magics):
    """``%%race``."""

    @cell_magic
    def race(self, line: str, cell: str) -> TimingRace:
        """Race two functions, or two blocks of code separated by a line `# ---`.

        %%race n=10,100,1000   the sizes: functions get n, or what make(n) gives; blocks use n
        %%race n=1000 fresh    make inputs before every call, for code that changes them
        """
        try:
            assert self.shell is not None
            return race(line, cell, self.shell.user_ns)
        except EduError as error:
            raise UsageError(error.sentence()) from None
        except SyntaxError as error:
            raise UsageError(f"line {error.lineno} of the cell cannot be read: {error.msg}.") from None


def race(line: str, cell: str, space: dict[str, Any]) -> TimingRace:
    """The widget for a cell. Functions are defined in ``space``; blocks see it, and keep their own names."""
    sizes, fresh = read_line(line)
    blocks = _LINE.split(cell)
    slow, fast, make = _functions(cell, space, bool(sizes)) if len(blocks) == 1 else _blocks(cell, space)
    return TimingRace(slow, fast, sizes=sizes, make=make, fresh=fresh)


def read_line(line: str) -> tuple[tuple[int, ...], bool]:
    """The sizes, and whether inputs are made fresh for every call."""
    words = re.sub(r"\s*([,=])\s*", r"\1", line.strip()).split()
    given = [word for word in words if word.startswith("n=")]
    others = [word for word in words if word not in (*given, "fresh")]
    if others or len(given) > 1:
        why = "there are n=… and fresh, each at most once"
        raise ArgumentError(f"%%race {line.strip()}", why, "write %%race n=10,100,1000")
    if not given:
        return (), "fresh" in words
    try:
        sizes = tuple(int(part) for part in given[0].removeprefix("n=").split(","))
    except ValueError:
        why = "sizes are whole numbers separated by commas"
        raise ArgumentError(f"%%race {given[0]}", why, "write n=10,100,1000") from None
    return sizes, "fresh" in words


@dataclass
class Block:
    """A part of the cell: its code, its name, and the line of the cell on which it begins."""

    code: str
    name: str
    start: int

    def function(self, space: dict[str, Any]) -> Callable[[], None]:
        """The code as a function without arguments: as in any function, names that it sets are local."""
        module = ast.parse("def block(): pass", FILE)
        definition = module.body[0]
        assert isinstance(definition, ast.FunctionDef)
        definition.body = parse(self.code, self.start).body or definition.body
        made: dict[str, Any] = {}
        exec(compile(module, FILE, "exec"), space, made)
        made["block"].__name__ = self.name
        return made["block"]


def _functions(cell: str, space: dict[str, Any], sized: bool) -> tuple[Any, Any, Any]:
    """The cell's two functions, and ``make`` if it has one."""
    tree = parse(cell, 1)  # the line with %%race comes before
    names = [node.name for node in tree.body if isinstance(node, ast.FunctionDef) and node.name != "make"]
    if len(names) != 2:
        held = ", ".join(names) or "none"
        why = f"it races two functions, and this cell defines {len(names)} ({held})"
        raise ArgumentError("%%race", why, "define two, or separate two blocks of code with a line # ---")
    exec(compile(tree, FILE, "exec"), space)
    pair = [space[name] for name in names]
    has_make = any(isinstance(node, ast.FunctionDef) and node.name == "make" for node in tree.body)
    for function in pair:
        if not sized and inspect.signature(function).parameters:
            why = f"{function.__name__} takes arguments, but there are no sizes to make them from"
            raise ArgumentError("%%race", why, "write %%race n=10,100,1000")
    return pair[0], pair[1], space["make"] if has_make else None


def _blocks(cell: str, space: dict[str, Any]) -> tuple[Any, Any, Any]:
    """The two raced blocks as functions, and what runs the block before them, with ``n``."""
    blocks = read_blocks(cell)
    if len(blocks) > 3:
        why = f"{len(blocks) - 1} lines # --- split it into {len(blocks)} blocks"
        raise ArgumentError("%%race", why, "use one such line between A and B, and one before A if both need a setup")
    inside = {**space}
    slow, fast = (block.function(inside) for block in blocks[-2:])
    setup = compile(parse(blocks[0].code, blocks[0].start), FILE, "exec") if len(blocks) == 3 else None

    def make(n: int) -> None:
        inside["n"] = n
        if setup is not None:
            exec(setup, inside)

    return slow, fast, make


def parse(code: str, start: int) -> ast.Module:
    """The code, with line numbers that count ``start`` lines before it."""
    try:
        return ast.increment_lineno(ast.parse(code, FILE), start)
    except SyntaxError as error:
        error.lineno = (error.lineno or 1) + start
        raise


def read_blocks(cell: str) -> list[Block]:
    """The parts between lines ``# ---``. The last two are A and B, named by a comment on their first line."""
    found: list[Block] = []
    end = 0
    for match in [*_LINE.finditer(cell), None]:
        code = cell[end : match.start() if match else len(cell)]
        comment = re.match(r"\s*# ?(.+)", code)
        name = comment[1].strip() if comment else ""
        found.append(Block(code, name, 1 + cell.count("\n", 0, end)))
        end = match.end() if match else end
    for block, usual in zip(found[-2:], ("first", "second"), strict=False):
        block.name = block.name or usual
    return found
