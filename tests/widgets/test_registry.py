"""Every widget has every face: what is missing of one is named."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest
import tinygrad_edu_widgets
from tinygrad_edu_widgets import registry
from tinygrad_edu_widgets.base import EduWidget
from tinygrad_edu_widgets.registry import WIDGETS, Entry
from tinygrad_edu_widgets.walking import Walking

from tests.support import ROOT
from tests.widgets.test_every_widget import MAKERS
from tinygrad_edu import views
from tinygrad_edu.views.tips.examples import EXAMPLES
from tools.draw_widgets import PICTURES

GUIDE = "widgets/README.md"
each_widget = pytest.mark.parametrize("one", WIDGETS, ids=lambda one: one.name)


@cache
def made() -> set[type]:
    """The widgets that the tests of all widgets make."""
    widgets = [make() for make, _ in MAKERS.values()]
    return {one.widget for one in WIDGETS if any(isinstance(widget, one.widget) for widget in widgets)}


def said(pattern: str) -> str:
    """All that the files say whose paths fit."""
    return "\n".join(path.read_text(encoding="utf-8") for path in sorted(ROOT.glob(pattern)))


def missing(one: Entry) -> list[str]:
    """What has still to be made, so that a widget has all that others have."""
    return [*_code(one), *_words(one), *_tests(one)]


def _code(one: Entry) -> Iterator[str]:
    room = Path("tinygrad_edu/views", one.folder)
    for part in ("__init__", "model", "figure", "words"):
        if not (ROOT / room / f"{part}.py").is_file():
            yield f"{room}/{part}.py: make it"
    if not hasattr(one.room, "frame"):
        yield f"{room}/__init__.py: re-export frame"
    if one.widget.__module__ != f"tinygrad_edu_widgets.{one.slug}":
        yield f"widgets/tinygrad_edu_widgets/{one.slug}.py: define {one.name}"
    if one.name not in tinygrad_edu_widgets.__all__:
        yield f"widgets/tinygrad_edu_widgets/__init__.py: import {one.name}"


def _words(one: Entry) -> Iterator[str]:
    if "Gestures: " not in (one.widget.__doc__ or ""):
        yield f"{one.name}.__doc__: list its gestures"
    if one.slug not in PICTURES:
        yield f"tools/draw_widgets.py: define {one.slug}"
    if not (ROOT / one.picture).is_file():
        yield f"{one.picture}: run python tools/draw_widgets.py"
    guide = said(GUIDE)
    if not re.search(rf"^\*\*{one.name}\*\*: .+\n\n!\[.+\]\(\.\./{one.picture}\)$", guide, re.MULTILINE):
        yield f"{GUIDE}: say under What each shows what it does, with its picture"
    if not re.search(rf"^\| \*\*{one.name}\*\* \|", guide, re.MULTILINE):
        yield f"{GUIDE}: list its gestures and keys"
    if not re.search(rf"\b{one.name}\(", said("notebooks/*.ipynb")):
        yield "notebooks/gallery.ipynb: show it"


def _tests(one: Entry) -> Iterator[str]:
    room, acts = one.tests
    if not list((ROOT / room).glob("test_*.py")):
        yield f"{room}: test its room"
    if not (ROOT / acts).is_file():
        yield f"{acts}: test its acts"
    if one.widget not in made():
        yield "tests/widgets/test_every_widget.py: make it in MAKERS"
    if not re.search(rf"\b{one.name}\(", said("tests/browser/test_*.py")):
        yield "tests/browser: press it in a browser"


@each_widget
def test_a_widget_has_every_face(one: Entry) -> None:
    assert missing(one) == []


def test_of_a_new_widget_every_missing_face_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "WIDGETS", [])

    class SandClock(EduWidget, room=ModuleType("tinygrad_edu.views.sand")):
        """It has only been begun."""

    assert [one.widget for one in registry.WIDGETS] == [SandClock]
    assert missing(registry.WIDGETS[0]) == [
        "tinygrad_edu/views/sand/__init__.py: make it",
        "tinygrad_edu/views/sand/model.py: make it",
        "tinygrad_edu/views/sand/figure.py: make it",
        "tinygrad_edu/views/sand/words.py: make it",
        "tinygrad_edu/views/sand/__init__.py: re-export frame",
        "widgets/tinygrad_edu_widgets/sand_clock.py: define SandClock",
        "widgets/tinygrad_edu_widgets/__init__.py: import SandClock",
        "SandClock.__doc__: list its gestures",
        "tools/draw_widgets.py: define sand_clock",
        "docs/widgets/sand_clock.svg: run python tools/draw_widgets.py",
        "widgets/README.md: say under What each shows what it does, with its picture",
        "widgets/README.md: list its gestures and keys",
        "notebooks/gallery.ipynb: show it",
        "tests/views/sand: test its room",
        "tests/widgets/test_sand_clock.py: test its acts",
        "tests/widgets/test_every_widget.py: make it in MAKERS",
        "tests/browser: press it in a browser",
    ]


def test_a_base_is_not_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "WIDGETS", [])

    class Base(EduWidget):
        """No room, no entry."""

    assert registry.WIDGETS == []


BASES = (EduWidget, Walking)  # these show nothing themselves


def test_no_widget_and_no_room_is_left_out() -> None:
    for module in pkgutil.iter_modules(tinygrad_edu_widgets.__path__, "tinygrad_edu_widgets."):
        importlib.import_module(module.name)
    kinds = {kind for base in BASES for kind in base.__subclasses__()} - set(BASES)
    ours = {kind for kind in kinds if kind.__module__.startswith("tinygrad_edu_widgets.")}
    assert {one.widget for one in WIDGETS} == ours, "say class … (EduWidget, room=…)"
    rooms = {module.name for module in pkgutil.iter_modules(views.__path__) if module.ispkg}
    assert sorted(one.folder for one in WIDGETS) == sorted(rooms), "each widget has one room, each room one widget"


def test_tips_are_drawn_by_widgets_that_there_are() -> None:
    assert set(EXAMPLES) <= {one.name for one in WIDGETS}


# Rooms -----------------------------------------------------------------------------------------------------------


@each_widget
def test_a_room_shows_what_it_offers(one: Entry) -> None:
    """One line of words, names that none of its files hides, and every part in the file where it is looked for."""
    assert one.room.__doc__ and "\n" not in one.room.__doc__
    files = {module.name for module in pkgutil.iter_modules(one.room.__path__)}
    assert files.isdisjoint(one.room.__all__)
    homes = {"frame": "figure", "draw": "figure", "text": "words", "describe": "words", "why": "words"}
    for name, home in homes.items():
        value = getattr(one.room, name, None)
        assert value is None or value.__module__ == f"{one.room.__name__}.{home}"


@each_widget
def test_a_model_draws_nothing_and_says_nothing(one: Entry) -> None:
    """It is the lowest part of its room: it knows neither figures nor words."""
    tree = ast.parse((ROOT / "tinygrad_edu" / "views" / one.folder / "model.py").read_text(encoding="utf-8"))
    used = {
        name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.level in (1, 2)
        for name in (node.module or "", *(alias.name for alias in node.names))
    }
    assert used.isdisjoint({"words", "figure", "frame", "board"})


@pytest.mark.parametrize(
    "path", sorted(Path(views.__path__[0]).rglob("*.py")), ids=lambda path: f"{path.parent.name}-{path.stem}"
)
def test_a_file_can_be_read_in_one_go(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 500
