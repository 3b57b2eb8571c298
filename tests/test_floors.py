"""The floors: a file imports only from floors below its own, or from its own package. And the core stays small."""

from __future__ import annotations

import ast
import io
import tokenize
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tests.support import ROOT

PACKAGE, WIDGETS = ROOT / "tinygrad_edu", ROOT / "widgets" / "tinygrad_edu_widgets"

# From the bottom up. A name is a module or a package directly inside tinygrad_edu.
FLOORS: tuple[tuple[str, ...], ...] = (
    # The engine
    ("common", "errors", "settings"),
    ("dtypes",),
    ("backends",),
    ("core",),
    ("inputs",),
    ("ops",),
    ("autograd", "guard"),
    ("linalg",),  # below the tensor, whose methods call it
    ("tensor", "cuda", "sim", "accelerator", "threads"),
    # The library
    ("state", "metrics"),
    (
        "nn",
        "optim",
        "distributions",
        "data",
        "amp",
        "checkpoint",
        "quantise",
        "distributed",
        "observe",
    ),
    ("compiler",),  # it knows modules and optimisers, as it runs their steps
    ("jit",),
    ("front",),  # what loads with the package
    ("utils", "profiler"),  # PyTorch's paths to all of these
    ("training",),
    ("compat",),  # other libraries' names over all of these
    # Teaching
    ("tips", "lessons", "views", "cli"),
    ("__main__",),
    ("tinygrad_edu_widgets",),  # Jupyter
)
FLOOR = {name: height for height, floor in enumerate(FLOORS) for name in floor}

# Pairs on one floor that may use each other, with the reason.
NEIGHBOURS = {
    ("errors", "common"): "an error finds the user's line",
    ("cuda", "accelerator"): "it has the same functions, by PyTorch's older names",
    ("settings", "common"): "its scopes are blocks",
    ("settings", "errors"): "a setting that cannot be is refused as anything else is",
    ("optim", "nn"): "optimisers know parameters",
    ("quantise", "nn"): "its layers take the place of those",
    ("observe", "data"): "the passes over a data set, and how long they waited",
    ("observe", "nn"): "memory is told apart by owners: the parameters of modules",
    ("observe", "optim"): "and what optimisers keep",
    ("distributed", "nn"): "a model on every worker",
    ("distributed", "data"): "a part of the data set for each worker",
    ("observe", "amp"): "what autocast widens is meant",
    ("lessons", "views"): "a check may show a figure",
    ("views", "tips"): "a tip is drawn",
    ("cli", "tips"): "tips are listed and run",
}

# Lines of code that one may have to read. These may sink; let them rise only for a reason that the reader would accept.
SITTING = ("storage", "op", "dispatch", "graph")
SITTING_LINES, CORE_LINES = 660, 1350  # the callers write two ways: with checks, and for what was checked


def files() -> list[Path]:
    return sorted(path for base in (PACKAGE, WIDGETS) for path in base.rglob("*.py"))


def home(path: Path) -> str:
    """The floor's name for a file: its module or package inside tinygrad_edu."""
    if WIDGETS in path.parents:
        return WIDGETS.name
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return parts[0]


def imported(path: Path, tree: ast.AST) -> set[str]:
    """The names of the floors that the file imports from."""
    base = WIDGETS if WIDGETS in path.parents else PACKAGE
    package = (base.name, *path.relative_to(base).parent.parts)
    found: set[str] = set()
    for node in ast.walk(tree):
        modules: list[str] = []
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            stem = ".".join((*above, *((node.module or "").split(".") if node.module else ())))
            modules = [f"{stem}.{alias.name}" for alias in node.names]
        for module in modules:
            top, *rest = module.split(".")
            if top == WIDGETS.name:
                found.add(top)
            elif top == PACKAGE.name and rest and rest[0] in FLOOR:
                found.add(rest[0])
            elif top == PACKAGE.name:
                found.add("__init__")  # the whole package, which stands on every floor of the engine
    return found


def typing_only(tree: ast.Module) -> ast.Module:
    """The tree without what stands under ``if TYPE_CHECKING``."""

    class Strip(ast.NodeTransformer):
        def visit_If(self, node: ast.If) -> ast.AST | None:
            return None if isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING" else node

    stripped = Strip().visit(tree)
    assert isinstance(stripped, ast.Module)
    return stripped


def test_every_module_has_a_floor() -> None:
    names = {home(path) for path in files()} - {"__init__"}
    assert names <= set(FLOOR), "say in FLOORS where it stands"


@pytest.mark.parametrize("path", files(), ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_go_down(path: Path) -> None:
    own = home(path)
    if own == "__init__":
        return  # the package's front door shows all floors
    for name in imported(path, typing_only(ast.parse(path.read_text()))) - {own}:
        if name == "__init__":
            assert FLOOR[own] >= FLOOR["compat"], f"{own} imports the whole package, which includes floors above it"
            continue
        allowed = FLOOR[name] < FLOOR[own] or (own, name) in NEIGHBOURS
        assert allowed, f"{own} stands on floor {FLOOR[own]} and imports {name} on floor {FLOOR[name]}"


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("from ..ops import linalg", {"ops"}),
        ("from ..ops.linalg import matmul", {"ops"}),
        ("from . import graph", {"core"}),
        ("from .. import backends, tensor", {"backends", "tensor"}),
        ("import tinygrad_edu.nn.linear", {"nn"}),
        ("import tinygrad_edu as tg", {"__init__"}),
        ("from tinygrad_edu import views", {"views"}),
        ("import numpy", set()),
        ("def f():\n    from ..tensor import Tensor", {"tensor"}),
        ("from tinygrad_edu_widgets import x", {"tinygrad_edu_widgets"}),
    ],
)
def test_every_way_of_importing_is_seen(source: str, found: set[str]) -> None:
    assert imported(PACKAGE / "core" / "example.py", ast.parse(source)) == found


def modules() -> dict[str, Path]:
    """Every module of the package, by its dotted name."""
    found = {}
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def used(name: str, known: dict[str, Path]) -> set[str]:
    """The modules of the package that the module imports, anywhere in it."""
    path = known[name]
    package = path.relative_to(ROOT).parent.parts
    found = set()
    for node in ast.walk(typing_only(ast.parse(path.read_text()))):
        if isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            stem = ".".join((*above, *(node.module or "").split("."))).rstrip(".")
            names = {f"{stem}.{alias.name}" for alias in node.names}
            found |= {one if one in known else stem for one in names} & set(known)
    return found - {name, PACKAGE.name}


def test_no_circle_of_imports() -> None:
    """Nor one that closes only when a function runs."""
    known = modules()
    graph = {name: used(name, known) for name in known if name != PACKAGE.name}
    try:
        list(TopologicalSorter(graph).static_order())
    except CycleError as error:
        pytest.fail(" imports ".join(reversed(error.args[1])))


CHARTS = PACKAGE / "observe" / "memory" / "chart.py"  # a watch can draw itself, where matplotlib is there


def test_the_engine_knows_no_jupyter() -> None:
    for path in set(PACKAGE.rglob("*.py")) - {CHARTS}:
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []
            for name in names:
                assert name.split(".")[0] not in ("IPython", "ipywidgets", "anywidget", "matplotlib", "jupyter"), path


def code_lines(path: Path) -> int:
    """Lines that hold code: no blank lines, comments or docstrings."""
    source = path.read_text()
    quiet = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
    lines = {
        row
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type not in quiet
        for row in range(token.start[0], token.end[0] + 1)
    }
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node, clean=False):
            text = node.body[0]
            lines -= set(range(text.lineno, (text.end_lineno or text.lineno) + 1))
    return len(lines)


def test_the_core_is_readable_in_one_sitting() -> None:
    sizes = {path.stem: code_lines(path) for path in (PACKAGE / "core").glob("*.py")}
    assert sum(sizes[name] for name in SITTING) <= SITTING_LINES, sizes
    assert sum(sizes.values()) <= CORE_LINES, sizes


def test_lines_are_counted_as_said(tmp_path: Path) -> None:
    path = tmp_path / "example.py"
    path.write_text(
        '"""Words."""\n\n# why\nx = (\n    1,  # one\n)\n\n\ndef f():\n    """More\n    words."""\n    return x\n'
    )
    assert code_lines(path) == 5
