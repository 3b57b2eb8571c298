"""`__init__.pyi` shows type checkers and editors the same names as the package has when it runs."""

from __future__ import annotations

import ast
import importlib

import tinygrad_edu as tg
from tools import write_stub


def test_it_is_up_to_date() -> None:
    assert write_stub.STUB.read_text(encoding="utf-8") == write_stub.text(), "run python tools/write_stub.py"


def test_it_names_what_the_package_has() -> None:
    tree = ast.parse(write_stub.text())
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.level:
            for alias in node.names:
                module = importlib.import_module(f".{node.module}" if node.module else ".", "tinygrad_edu")
                there = getattr(module, alias.name)
                assert getattr(tg, str(alias.asname)) is there, alias.name


def test_public_names_stand_in_the_table_once() -> None:
    listed = [*tg._HERE, *tg._PUBLIC, *(name for names in tg._LATER.values() for name in names.split())]
    assert len(listed) == len(set(listed))
    for module, names in tg._LATER.items():
        assert names.split() == sorted(names.split()), module
