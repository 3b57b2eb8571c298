"""What the source of a body may contain: the names that every world fills in, and little else."""

from __future__ import annotations

import ast
import builtins
import inspect
import sys
import textwrap
from typing import Any

import pytest

import tests.ops.cases  # noqa: F401  (brings in every op, those of `nn.functional` too)
import tinygrad_edu as tg
from tinygrad_edu import backends
from tinygrad_edu.core.dispatch import slow_caller
from tinygrad_edu.core.op import OPS

OURS = {name: op for name, op in OPS.items() if op.__module__.startswith("tinygrad_edu.")}
EXEMPT = {
    "transfer": "two devices meet in it, so it names their backends",
    "view": "the positions that a view shows are found on the host, once for all worlds",
    "write_view": "as for view",
}
ARRAY_ATTRIBUTES = {"shape", "ndim", "dtype"}
DTYPE_ATTRIBUTES = {"kind", "itemsize", "name"}
SLICE_ATTRIBUTES = {"start", "stop"}
# Of shapes, dtypes and parameters, which are plain Python.
METADATA_CALLS = {
    "len",
    "range",
    "tuple",
    "list",
    "zip",
    "enumerate",
    "slice",
    "min",
    "max",
    "isinstance",
    "ValueError",
}
METADATA_METHODS = {"append"}


class Body(ast.NodeVisitor):
    """Walks a body and the helpers of its package that it calls, and notes what is not allowed."""

    def __init__(self) -> None:
        self.problems: list[str] = []
        self.used: set[str] = set()
        self.seen: set[str] = set()

    def read(self, function: Any) -> Body:
        self.scope = {**vars(builtins), **vars(sys.modules[function.__module__])}
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
        definition = tree.body[0]
        assert isinstance(definition, ast.FunctionDef)
        arguments = {a.arg for a in ast.walk(definition.args) if isinstance(a, ast.arg)}
        stored = {n.id for n in ast.walk(definition) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        self.local = arguments | stored
        for statement in definition.body:
            self.visit(statement)
        return self

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if isinstance(node.value, ast.Name) and node.value.id == "xp":
            self.used.add(node.attr)
            if node.attr not in backends.ALL_NAMES:
                self.problems.append(f"xp.{node.attr}")
        elif node.attr not in ARRAY_ATTRIBUTES | DTYPE_ATTRIBUTES | SLICE_ATTRIBUTES | METADATA_METHODS:
            self.problems.append(f".{node.attr}")
        self.generic_visit(node)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        package = "tinygrad_edu." + (node.module or "")
        __import__(package)
        self.scope.update({alias.name: getattr(sys.modules[package], alias.name) for alias in node.names})

    def visit_Call(self, node: ast.Call) -> None:
        if isinstance(node.func, ast.Name) and node.func.id not in self.local:
            self.call(node.func.id, node)
        self.generic_visit(node)

    def call(self, name: str, node: ast.Call) -> None:
        target = self.scope[name]
        if name == "float" and all(isinstance(a, ast.Constant) for a in node.args):
            return  # float("inf"), a constant
        if inspect.isfunction(target) and target.__module__.startswith("tinygrad_edu."):
            if name not in self.seen:
                inner = Body()
                inner.seen = self.seen | {name}
                inner.read(target)
                self.problems += [f"{problem} in {name}" for problem in inner.problems]
                self.used |= inner.used
        elif name not in METADATA_CALLS:
            self.problems.append(f"{name}()")

    def visit_Name(self, node: ast.Name) -> None:
        if node.id in ("np", "numpy", "backends"):
            self.problems.append(node.id)


@pytest.mark.parametrize("name", sorted(set(OURS) - set(EXEMPT)))
@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_a_body_uses_what_every_world_has(name: str, direction: str) -> None:
    op = OURS[name]
    if direction == "backward" and not op.differentiable:
        assert "backward" not in vars(op)
        return
    assert Body().read(getattr(op, direction)).problems == []


def test_every_agreed_name_is_used_by_some_body() -> None:
    """A name that nobody uses is a burden on every backend."""
    used: set[str] = set()
    for op in (OURS[name] for name in set(OURS) - set(EXEMPT)):
        for function in (op.forward, *([op.backward] if op.differentiable else [])):
            used |= Body().read(function).used
    for_new_tensors = {"empty"}  # `tg.empty` uses it
    assert set(backends.ALL_NAMES) - used == for_new_tensors


def _with_numpy(xp: Any, x: Any) -> Any:
    import numpy as np

    return np.sin(x)


def _with_value(xp: Any, x: Any) -> Any:
    return x if float(x) > 0 else -x


def _with_method(xp: Any, x: Any) -> Any:
    return x.sum()


def _test_helper(x: Any) -> Any:
    return x


def _with_helper(xp: Any, x: Any) -> Any:
    return _test_helper(x)


def _with_other_name(xp: Any, x: Any) -> Any:
    return xp.median(x)


@pytest.mark.parametrize(
    ("function", "problem"),
    [
        (_with_numpy, "np"),
        (_with_value, "float()"),
        (_with_method, ".sum"),
        (_with_other_name, "xp.median"),
        (_with_helper, "_test_helper()"),
    ],
)
def test_the_check_finds(function: Any, problem: str) -> None:
    assert problem in Body().read(function).problems


def test_names_outside_the_list_are_refused_at_run_time() -> None:
    class Stray(OPS["exp"], register=False):  # type: ignore[misc]
        @staticmethod
        def forward(xp: Any, x: Any) -> Any:
            return xp.median(x)

    words = r"xp\.median is not among the names that every world has; .*exp expm1"
    for device in ("cpu", "far"):
        with pytest.raises(AttributeError, match=words):
            slow_caller(Stray)(tg.ones(2, device=device))
