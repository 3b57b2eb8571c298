"""A new tip: the file names what is to be filled in, never passes as it is, and refuses names that cannot be."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.support import teaches
from tests.tips import made_up
from tinygrad_edu.cli.main import main
from tinygrad_edu.cli.skeleton import skeleton
from tinygrad_edu.tips import TipError, arrays, check, find, registry
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
    path = tmp_path / "deep" / "my_tip.py"
    assert capsys.readouterr().out.endswith(
        f"{path}\nFill it in; this tells what is missing:\n  tinygrad-edu tips check {path}\n"
    )
    assert main(["tips", "check", str(path)]) == 2
    assert "title is empty" in capsys.readouterr().err


def test_a_file_of_ones_own_is_a_tip(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "mine.py"
    path.write_text(Path(made_up.__file__).read_text(encoding="utf-8").replace('"made-up"', '"mine"'), encoding="utf-8")
    assert main(["tips", "check", str(path)]) == 0
    assert "1 of 1 hold" in capsys.readouterr().out
    mend = "give the path of a file that defines TIP"
    with teaches(TipError, f"the file {tmp_path / 'no.py'}", "there is no such file", mend):
        find(str(tmp_path / "no.py"))


def test_a_tip_that_is_not_filled_in_stops_only_the_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Everything else goes on without it, with a warning."""
    skeleton("my-new-tip", "arrays", tmp_path)
    monkeypatch.setattr("tinygrad_edu.tips.arrays.__path__", [*arrays.__path__, str(tmp_path)])
    monkeypatch.setattr(registry, "all_tips", registry.all_tips.__wrapped__)
    with pytest.warns(
        UserWarning, match=r"the tip in tinygrad_edu.tips.arrays.my_new_tip is left out: .* title is empty"
    ):
        assert "my-new-tip" not in [tip.slug for tip in registry.all_tips()]
    with pytest.warns(UserWarning), pytest.raises(TipError, match="title is empty"):
        registry.find("my-new-tip")
    assert main(["tips", "check"]) == 2
    assert "the tip my-new-tip" in capsys.readouterr().err
    monkeypatch.delitem(sys.modules, "tinygrad_edu.tips.arrays.my_new_tip")


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
