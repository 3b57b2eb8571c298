"""Views that a learner types: ``x[::2].T``, ``x.reshape(-1)``, ``x + 1``; read as a tree, never run as Python."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ...common.wording import exact
from ...errors import DtypeError, EduError, ShapeError
from ...tensor import Tensor, as_tensor
from ..marks import shorten

LARGEST = 100_000_000  # elements: a slip of the hand must not fill the memory
_METHODS = {
    "reshape", "view", "transpose", "permute", "flatten", "unsqueeze", "squeeze", "expand",
    "clone", "contiguous", "copy", "flip", "detach", "half", "float", "double", "int", "long", "bool",
}  # fmt: skip
_OPERATORS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_SIGNS: dict[type, Callable[[Any], Any]] = {ast.UAdd: operator.pos, ast.USub: operator.neg}
_COMPARISONS = {ast.Gt: operator.gt, ast.GtE: operator.ge, ast.Lt: operator.lt, ast.LtE: operator.le}


def evaluate(expression: str, names: Mapping[str, Any]) -> Tensor:
    """The tensor that ``x[::2].T``, ``x[x > 5]``, ``x.reshape(-1)`` or ``x * 2 + 1`` means.

    It may have names, indices, some methods that change shape or dtype, and arithmetic with a number, no more.
    """
    try:
        with np.errstate(all="ignore"):  # the map shows what came out: ∞ or nan
            return _evaluate(ast.parse(expression.strip(), mode="eval").body, names, expression)
    except EduError:
        raise
    except (SyntaxError, ValueError, TypeError, IndexError, OverflowError, RecursionError, MemoryError):
        raise _not_understood(expression) from None


def _not_understood(expression: str) -> DtypeError:
    return DtypeError(
        f"the view {shorten(expression, 40)!r}",
        "it takes a name, and after it an index, .T, a method such as reshape or detach, or an operator and a number",
        "try x[1:], x.T, x.reshape(2, 6) or x + 1",
    )


def _evaluate(node: ast.AST, names: Mapping[str, Any], whole: str) -> Tensor:
    made = _step(node, names, whole)
    if made.numel() > LARGEST:
        raise ShapeError(
            f"the view {shorten(whole, 40)!r}", f"it would have {exact(made.numel())} elements", "make it smaller"
        )
    return made


def _step(node: ast.AST, names: Mapping[str, Any], whole: str) -> Tensor:
    if isinstance(node, ast.Name):
        if node.id not in names:
            raise DtypeError(
                f"the view {whole!r}", f"there is no {node.id} here; there are {', '.join(names)}", "use one of these"
            )
        return as_tensor(names[node.id])
    if isinstance(node, ast.Attribute) and node.attr in ("T", "mT"):
        return getattr(_evaluate(node.value, names, whole), node.attr)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and not node.keywords:
        method, of = node.func.attr, node.func.value
        if method in _METHODS:
            made = getattr(_evaluate(of, names, whole), "clone" if method == "copy" else method)
            return made(*(_literal(argument, whole) for argument in node.args))
    if isinstance(node, ast.Subscript):
        return _evaluate(node.value, names, whole)[_index(node.slice, names, whole)]
    if isinstance(node, ast.UnaryOp) and type(node.op) in _SIGNS:
        return _SIGNS[type(node.op)](_evaluate(node.operand, names, whole))
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        left, right = _number(node.left), _number(node.right)
        if (left is None) is not (right is None):  # a tensor and a number
            first = _evaluate(node.left, names, whole) if left is None else left
            second = _evaluate(node.right, names, whole) if right is None else right
            return _OPERATORS[type(node.op)](first, second)
    raise _not_understood(whole)


def _index(node: ast.AST, names: Mapping[str, Any], whole: str) -> Any:
    if isinstance(node, ast.Tuple):
        return tuple(_index(part, names, whole) for part in node.elts)
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _COMPARISONS:  # a mask
        bound = ast.literal_eval(node.comparators[0])
        if isinstance(bound, (int, float)):
            return _COMPARISONS[type(node.ops[0])](_evaluate(node.left, names, whole), bound)
    if isinstance(node, ast.Slice):
        return slice(*(None if part is None else _literal(part, whole) for part in (node.lower, node.upper, node.step)))
    return _literal(node, whole)


def _number(node: ast.AST) -> int | float | None:
    """The number that is written there; None for anything else. One too large for a float is an OverflowError."""
    try:
        value = ast.literal_eval(node)
    except ValueError:  # no literal
        return None
    if type(value) not in (int, float):
        return None
    float(value)
    return value


def _literal(node: ast.AST, whole: str) -> Any:
    value = ast.literal_eval(node)
    if not isinstance(value, (int, tuple, list, type(None), type(...))):
        raise _not_understood(whole)
    return value
