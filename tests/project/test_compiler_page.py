"""The page on the compiler: its programs run, and print what it shows."""

from __future__ import annotations

import doctest
import re

import pytest

import tinygrad_edu as tg
from tests.support import ROOT
from tinygrad_edu.compiler.api import LIMIT
from tinygrad_edu.compiler.passes import PASSES

PAGE = (ROOT / "docs" / "compiler.md").read_text(encoding="utf-8")


def test_it_can_be_read_in_one_sitting() -> None:
    assert len(PAGE.split()) <= 2000


def test_its_programs_print_what_it_shows(capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, object] = {"tg": tg, "__name__": "page"}
    parser, runner = doctest.DocTestParser(), doctest.DocTestRunner()
    shown = 0
    for block in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        if block.startswith(">>>"):
            test = parser.get_doctest(block, names, "docs/compiler.md", None, 0)
            runner.run(test, clear_globs=False)
            names.update(test.globs)
            shown += len(test.examples)
        else:
            exec(block, names)
    assert shown == 13 and runner.summarize(verbose=False).failed == 0, capsys.readouterr().out


def test_it_names_the_passes_the_files_and_the_limit() -> None:
    assert re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE) == list(PASSES), "the table, in order"
    files = set(re.findall(r"`(\w+\.py)`", PAGE))
    folder = ROOT / "tinygrad_edu" / "compiler"
    assert files == {p.name for p in folder.glob("*.py")} - {"__init__.py", "api.py", "trace.py"}
    assert LIMIT == 8 and "Eight recorded programs serve" in PAGE
