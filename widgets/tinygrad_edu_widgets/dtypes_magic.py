"""The cell magic ``%%dtypes``: in which dtype each operation of a cell computes.

``%load_ext tinygrad_edu_widgets`` adds it. The cell runs as it would without the first line, only slower::

    %%dtypes
    h = (x @ W + b).relu()
    loss = (h * scale - y).square().mean()
    loss

The tree shows how the value of the last line came about. What the cell uses and did not make is an input: its dtype
can be chosen. Then the cell runs again, on names of its own, so that yours stay as they are; but what it writes into,
such as the weights that an optimiser steps, is written into again. A word after the magic is the table whose rules
hold: ``%%dtypes numpy``.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import numpy as np
from IPython.core.error import UsageError
from IPython.core.magic import Magics, cell_magic, magics_class

from tinygrad_edu import Tensor, nn
from tinygrad_edu.errors import EduError
from tinygrad_edu.views import promotion

from .memory_magic import parsed, readable
from .promotion_tracer import PromotionTracer

_LAST = "__value_of_the_cell__"


@magics_class
class DtypesMagics(Magics):
    """``%%dtypes``."""

    @cell_magic
    def dtypes(self, line: str, cell: str) -> PromotionTracer:
        """Run this cell, and show in which dtype each of its operations computes.

        %%dtypes          by PyTorch's table
        %%dtypes numpy    by NumPy's, or jax
        """
        assert self.shell is not None
        compiler: Any = self.shell.compile  # which takes a tree, whatever its signature says
        try:
            table = promotion.known_table(line.strip() or "torch")
            with readable("%%dtypes"):
                tree, name = parsed(self.shell, cell)
                names = used(tree)
                code = compiler(_with_value(tree), name, "exec")
        except EduError as error:
            raise UsageError(error.sentence()) from None
        space = self.shell.user_ns
        inputs = {one: space[one] for one in names if _has_dtype(space.get(one))}
        run = again(code, space)
        return PromotionTracer(run, table=table, **inputs)


def used(tree: ast.Module) -> list[str]:
    """The names that the code reads, in their order."""
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)]
    return list(dict.fromkeys(node.id for node in sorted(nodes, key=lambda node: (node.lineno, node.col_offset))))


def _has_dtype(value: Any) -> bool:
    if isinstance(value, float):
        return True
    return isinstance(value, (Tensor, nn.Module, np.ndarray, np.generic))


def _with_value(tree: ast.Module) -> ast.Module:
    """The code, with the value of its last line kept under a name; that of an assignment is what it assigns."""
    if not tree.body:
        return tree
    last = tree.body[-1]
    if isinstance(last, ast.Expr):
        value: ast.expr = last.value
        tree.body[-1] = _keep(value, last)
    elif isinstance(last, ast.Assign) and isinstance(last.targets[0], ast.Name):
        tree.body.append(_keep(ast.Name(last.targets[0].id, ast.Load()), last))
    return ast.fix_missing_locations(tree)


def _keep(value: ast.expr, where: ast.stmt) -> ast.stmt:
    return ast.copy_location(ast.Assign([ast.Name(_LAST, ast.Store())], value), where)


def again(code: Any, space: dict[str, Any]) -> Callable[..., Any]:
    """The code as a function of its inputs: first in ``space``, afterwards in a copy of what it was before."""
    before = dict(space)
    first = True

    def run(**inputs: Any) -> Any:
        nonlocal first
        names = space if first else {**before, **inputs}
        first = False
        try:
            exec(code, names)
            return names.get(_LAST)
        finally:
            names.pop(_LAST, None)

    return run
