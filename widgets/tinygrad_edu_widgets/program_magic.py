"""The cell magic ``%%program``: what a cell does to arrays, as a program, before and after the passes of `compile`.

``%load_ext tinygrad_edu_widgets`` adds it::

    %%program
    h = (x @ w * 1.0 + 1.0).relu()
    (h * 2.0).sum()

The cell runs once, as a compiled function: names that it sets are its own, and yours stay as they are; but what it
writes into, such as the weights that an optimiser steps, is written into. The value of its last line is the result. A
cell that ends with a function, whose parameters are names of the notebook, is a call of that function.

All figures follow from shapes, so they are the same in each run. ``--passes`` shows what each pass changes,
``--source`` the code that runs, ``--time`` the seconds of each equation too.
"""

from __future__ import annotations

import ast
import difflib
import textwrap
from collections.abc import Iterator
from typing import Any

from IPython.core.error import UsageError
from IPython.core.magic import Magics, cell_magic, magics_class

from tinygrad_edu import Tensor, nn
from tinygrad_edu.backends import CPU
from tinygrad_edu.common.lines import describe_line
from tinygrad_edu.compiler import Program, Trace, Var, compile, table
from tinygrad_edu.compiler.capture import Feed, Segment
from tinygrad_edu.compiler.passes import PASSES
from tinygrad_edu.errors import ArgumentError, EduError

from .dtypes_magic import used
from .memory_magic import parsed, readable

MAGIC = "%%program"
FLAGS = ("--passes", "--source", "--time")
WIDTH = 90  # of a line, as the tables have: a notebook breaks longer ones in the middle of a word
_CELL = "cell"  # the function that the cell becomes
_OTHERS = {
    "draw": "random numbers", "number": "a number that changes", "array": "a NumPy array",
    "carried": "kept by the program before", "tangent": "the gradient of the result",
}  # fmt: skip


@magics_class
class ProgramMagics(Magics):
    """``%%program``."""

    @cell_magic
    def program(self, line: str, cell: str) -> None:
        """Run this cell as a program, and print the program before and after the passes, with what it costs.

        %%program            the listings
        %%program --passes   and what each pass changes
        %%program --source   and the code that runs
        %%program --time     and the seconds that each equation takes
        """
        assert self.shell is not None
        try:
            flags = read_line(line)
            with readable(MAGIC):
                tree, file = parsed(self.shell, cell)
                function, names = _function(tree, file, self.shell)
            space = self.shell.user_ns
            compiled = compile(function, fullgraph=True)
            given = {id(one): one for one in (space[name] for name in names) if isinstance(one, Tensor)}
            try:
                compiled(*(space[name] for name in names))
            except EduError as error:
                here = describe_line((function.__code__, 0)).partition(", ")[0]
                of_cell = error.line.startswith(f"{here}, ")  # and not the line on which the magic was called
                raise UsageError(error.report() if of_cell else error.sentence()) from None
            calls = _named(space, used(tree))
            print("\n".join(told(compiled.ledger[0], list(given.values()), calls, flags)))
        except EduError as error:
            raise UsageError(error.sentence()) from None


def read_line(line: str) -> frozenset[str]:
    """The flags. Raises `ArgumentError` for another word."""
    words = line.split()
    if unknown := [word for word in words if word not in FLAGS]:
        why = f"there are {', '.join(FLAGS)}"
        raise ArgumentError(f"{MAGIC} {unknown[0]}", why, f"write {MAGIC}, and the computation below it")
    return frozenset(words)


def _function(tree: ast.Module, file: str, shell: Any) -> tuple[Any, list[str]]:
    """The cell as a function, and the names of the notebook that are its arguments."""
    space, body = shell.user_ns, list(tree.body)
    if body:
        body += _returned(body.pop())
    whole = ast.Module(body, [])
    stored = {node.id for node in ast.walk(whole) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    names = [one for one in used(whole) if one in space and (isinstance(space[one], Tensor) or one in stored)]
    given = ast.arguments([], [ast.arg(name) for name in names], None, [], [], None, [])
    made = ast.FunctionDef(_CELL, given, body or [ast.Pass()], [], lineno=1, col_offset=0)
    found: dict[str, Any] = {}
    code = shell.compile(ast.fix_missing_locations(ast.Module([made], [])), file, "exec")
    exec(code, space, found)
    return found[_CELL], names


def _returned(last: ast.stmt) -> list[ast.stmt]:
    """The last statement, so that the function returns its value."""
    if isinstance(last, ast.Expr):
        return [ast.copy_location(ast.Return(last.value), last)]
    name = ""
    if isinstance(last, ast.Assign) and isinstance(last.targets[0], ast.Name):
        name = last.targets[0].id
        value: ast.expr = ast.Name(name, ast.Load())
    elif isinstance(last, ast.FunctionDef):
        name, parameters = last.name, [*last.args.posonlyargs, *last.args.args]
        value = ast.Call(ast.Name(name, ast.Load()), [ast.Name(one.arg, ast.Load()) for one in parameters], [])
    if not name:
        return [last]
    back = ast.copy_location(ast.Return(value), last)
    for node in ast.walk(back):
        ast.copy_location(node, last)
    return [last, back]


# What is printed -----------------------------------------------------------------------------------------------------


def told(trace: Trace, given: list[Tensor], names: dict[int, str], flags: frozenset[str]) -> Iterator[str]:
    """The lines of all programs of a cell: ``given`` are its arguments, ``names`` those of tensors, by their ids."""
    script = trace.script
    assert script is not None
    steps = [one for one in (*script.steps, script.backward) if isinstance(one, Segment)]
    if not steps or not any(one.program.equations for one in steps):
        why = "it computes nothing from tensors of the notebook that it returns or writes"
        raise ArgumentError(MAGIC, why, "end the cell with the value, as in: (x @ w).sum()")
    if "--time" in flags and script.home is not CPU:
        raise ArgumentError(f"{MAGIC} --time", f"it runs on {script.home.name!r}", "take %%timeline for that")
    for number, (step, after) in enumerate(zip(steps, trace.programs, strict=True), 1):
        if len(steps) > 1:
            later = ": for a backward() that comes later" if step is script.backward else ""
            yield f"program {number} of {len(steps)}{later}"
        feeds = dict(zip(step.program.inputs, _with_tensors(step.feeds, given), strict=True))
        yield from _lines("", [f"{var} = {_name(feed, names)}" for var, feed in feeds.items()])
        yield "as recorded:"
        yield from _listing(step.program, feeds, "--time" in flags)
        if "--passes" in flags:
            yield from _changes(step.program, after)
        yield "after the passes:"
        yield from _listing(after, feeds, "--time" in flags)
        yield from _results(step, after, given, names)
    if calls := [_call(one) for one in script.steps if not isinstance(one, Segment)]:
        yield f"between or after the programs, as written: {', '.join(calls)}"
    if "--source" in flags:
        yield from ("the code that runs:", trace.source.rstrip())


def _with_tensors(feeds: tuple[Feed, ...], given: list[Tensor]) -> list[Feed]:
    """The feeds, with an argument as the tensor that was given in its place."""
    return [Feed("tensor", given[one.source]) if one.kind == "argument" else one for one in feeds]


def _listing(program: Program, feeds: dict[Var, Feed], timed: bool) -> Iterator[str]:
    """The equations with their costs; those of a kernel below it."""
    arrays = _arrays(program, feeds) if timed else []
    counted = program
    if not program.inputs and not timed:  # one without inputs would be timed
        counted = Program((Var(-1, (), program.outputs[0].dtype),), program.equations, program.outputs)
    head, *rows, total = table(counted, *arrays).split("\n")
    yield f"  {head}"
    for row, equation in zip(rows, program.equations, strict=True):
        yield f"  {row}"
        for inner in equation.body.equations if equation.body is not None else ():
            yield f"      {inner}"
    yield f"  {total}"


def _arrays(program: Program, feeds: dict[Var, Feed]) -> list[Any]:
    """What the inputs are now. Raises `ArgumentError` where that is known only while the programs run."""
    found = []
    for var in program.inputs:
        feed = feeds[var]
        if feed.kind != "tensor":
            why = f"{var} is known only while the programs run"
            raise ArgumentError(f"{MAGIC} --time", why, "time a cell without random numbers, in no_grad()")
        found.append(feed.source.array)
    return found


def _changes(before: Program, after: Program) -> Iterator[str]:
    """What each pass takes away (-) and puts in its place (+)."""
    simple = [name for name in PASSES if name != "fuse"]
    program = before
    for name in simple + simple:
        changed = PASSES[name](program)
        yield from _difference(name, program, changed)
        program = changed
    yield from _difference("fuse", program, after)


def _difference(name: str, before: Program, after: Program) -> Iterator[str]:
    """The lines that differ, below the name of the pass. Nothing where none does."""
    old, new = ([line.strip() for line in str(one).split("\n")] for one in (before, after))
    if changed := [line for line in difflib.ndiff(old, new) if line[0] in "+-"]:
        yield f"{name}:"
        yield from (f"  {line}" for line in changed)


def _results(step: Segment, after: Program, given: list[Tensor], names: dict[int, str]) -> Iterator[str]:
    """What becomes of each output."""
    words = {"result": "the result", "carried": "kept for backward", "pull": "a gradient"}
    parts = []
    for var, sink in zip(after.outputs, step.sinks, strict=True):
        if sink.kind == "gradient":
            what = f"{names.get(id(sink.target), 'a tensor')}.grad"
        elif sink.kind in ("write", "write gradient"):
            (target,) = _with_tensors((sink.target,), given)
            what = f"written to {_name(target, names)}"
        else:
            what = words[sink.kind]
        parts.append(f"{var}: {what}")
    yield from _lines("  returns ", parts)


def _lines(head: str, parts: list[str]) -> list[str]:
    """Parts after a head, in lines that end between two of them."""
    text = ", ".join(part.replace(" ", "\0") for part in parts)
    found = textwrap.wrap(text, WIDTH, initial_indent=head, subsequent_indent=" " * len(head), break_long_words=False)
    return [line.replace("\0", " ") for line in found]


def _call(step: Any) -> str:
    """What stays Python's own, such as ``SGD.step``."""
    owner = "".join(f"{type(one).__name__}." for one in getattr(step, "args", ())[:1])
    return owner + str(getattr(getattr(step, "func", step), "__name__", "a call"))


def _name(feed: Feed, names: dict[int, str]) -> str:
    """What an input is called in the notebook."""
    if feed.kind in _OTHERS:
        return _OTHERS[feed.kind]
    found = names.get(id(feed.source), "a tensor")
    return f"{found}.grad" if feed.kind == "gradient" else found


def _named(space: dict[str, Any], names: list[str]) -> dict[int, str]:
    """What the cell calls the tensors that it reads, by their ids."""
    found: dict[int, str] = {}
    for name in names:
        value = space.get(name)
        if isinstance(value, nn.Module):
            held = (*value.named_parameters(), *value.named_buffers())
            found |= {id(one): f"{name}.{path}" for path, one in held}
        elif isinstance(value, Tensor):
            found[id(value)] = name
    return found
