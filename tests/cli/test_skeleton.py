"""A new tip: the file names what is to be filled in, never passes as it is, and refuses names that cannot be."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from tests.support import teaches
from tinygrad_edu.cli.main import main
from tinygrad_edu.cli.skeleton import skeleton
from tinygrad_edu.tips import TipError, check
from tinygrad_edu.tips.registry import faults_of


def loaded(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_it_can_be_read_and_lacks_what_it_names(tmp_path: Path) -> None:
    path = skeleton("my-new-tip", "autograd", tmp_path)
    assert path == tmp_path / "my_new_tip.py"
    tip = loaded(path).TIP
    assert (tip.slug, tip.theme) == ("my-new-tip", "autograd")
    faults = "; ".join(faults_of(tip))
    for missing in ("title", "why", "about", "explain", "sources", "limits", "symptoms"):
        assert f"{missing} is empty" in faults


def test_it_does_not_pass(tmp_path: Path) -> None:
    found = "; ".join(check(loaded(skeleton("my-new-tip", "arrays", tmp_path)).TIP).faults)
    assert "slow does nothing yet" in found and "fast does nothing yet" in found


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tips", "new", "my-tip", "--theme", "Arrays", "--into", str(tmp_path / "deep")]) == 0
    said = capsys.readouterr().out
    assert str(tmp_path / "deep" / "my_tip.py") in said and "tips check my-tip" in said


@pytest.mark.parametrize("slug", ["", "My-Tip", "my_tip", "1st", "my--tip", "../tip", "my tip"])
def test_names_that_cannot_be(slug: str, tmp_path: Path) -> None:
    why = "it becomes a file name, a web address and a word in code"
    with teaches(TipError, f"the slug {slug!r}", why, "use small letters and hyphens, such as keep-the-number"):
        skeleton(slug, "arrays", tmp_path)


def test_what_is_taken_or_unknown(tmp_path: Path) -> None:
    path = skeleton("my-tip", "arrays", tmp_path)
    with teaches(TipError, f"the file {path}", "it is there already", "choose another slug, or edit that file"):
        skeleton("my-tip", "arrays", tmp_path)
    with pytest.raises(TipError, match="there is no theme with that name"):
        skeleton("other-tip", "aray", tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(TipError, match="it cannot be written"):
        skeleton("other-tip", "arrays", tmp_path / "file")
