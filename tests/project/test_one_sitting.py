"""The page that follows one multiplication through the engine: what it says is so."""

from __future__ import annotations

import re

import pytest

import tinygrad_edu as tg
from tests.support import ROOT
from tinygrad_edu.errors import InplaceError

PAGE = (ROOT / "docs" / "one_sitting.md").read_text(encoding="utf-8")


def test_it_can_be_read_in_one_sitting() -> None:
    assert len(PAGE.split()) <= 1500


def test_its_programs_run(capsys: pytest.CaptureFixture[str]) -> None:
    first, refused = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    names: dict[str, object] = {}
    exec(first, names)
    assert capsys.readouterr().out == "tensor([2., 4.])\n"
    with pytest.raises(InplaceError):
        exec(refused, names)


def test_the_numbers_of_nodes_and_writes() -> None:
    x = tg.tensor([1.0, 2.0], requires_grad=True)
    y = x * x
    z = y * y
    first = y.node.number
    y.add_(1.0)
    assert [z.node.number - first, y.storage.stamp - first, y.node.number - first] == [1, 2, 3]
    assert z.node.parents[0].number == first
    with pytest.raises(InplaceError):
        z.sum().backward()


def test_a_sum_saves_nothing_that_a_write_could_spoil() -> None:
    x = tg.tensor([1.0, 2.0], requires_grad=True)
    y = x * x
    z = y + y
    y.add_(1.0)
    z.sum().backward()
    assert x.grad.tolist() == [4.0, 8.0]


def test_its_files_are_there() -> None:
    files = re.findall(r"`((?:core|ops|tensor|autograd|backends)/\w+\.py)`", PAGE)
    table = PAGE[PAGE.index("## Ten files") :]
    assert len(set(re.findall(r"`(\w+/\w+\.py)`", table))) == 10
    assert all((ROOT / "tinygrad_edu" / file).exists() for file in files)
