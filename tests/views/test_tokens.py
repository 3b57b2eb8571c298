"""Colours: written once, readable in both themes, and the same in style sheet and static picture."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import tinygrad_edu_widgets

from tests.support import ROOT
from tinygrad_edu import views
from tinygrad_edu.views.tokens import (
    HOST,
    MARK_TOKENS,
    MARKS,
    SHEETS,
    TEXT_TOKENS,
    TOKENS,
    components,
    dark_style,
    presentation,
    stylesheet,
)  # fmt: skip


def luminance(colour: str) -> float:
    """Relative luminance, as WCAG 2 defines it."""
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, two: str, theme: int) -> float:
    """From 1 to 21, between two tokens of a theme."""
    light, dark = sorted((luminance(TOKENS[one][theme]), luminance(TOKENS[two][theme])), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_the_formula() -> None:
    assert luminance("#ffffff") == pytest.approx(1)
    assert luminance("#000000") == 0


def test_every_token_is_known_by_its_use() -> None:
    fills = {value for marks in MARKS.values() for value in marks.values()}
    assert {name for name in (*TEXT_TOKENS, *MARK_TOKENS) if name not in TOKENS} == set()
    assert {value for value in fills if value.startswith(("wash", "line"))} <= set(TOKENS)
    assert set(HOST) <= set(TOKENS)


def test_only_text_tokens_colour_text() -> None:
    for name in ("text", "t2", "tv", "tg", "ta"):
        assert MARKS[name]["fill"] in TEXT_TOKENS


COLOUR = re.compile(
    r"#[0-9a-fA-F]{3,8}\b|\b(rgba?|hsla?|oklch)\(|"
    r"(fill|stroke|color|background)\s*[:=]\s*[\"']?(black|white|red|green|blue|gr[ae]y|yellow|orange|purple)\b"
)


def test_no_colour_is_written_anywhere_else() -> None:
    files = [
        file
        for folder in (Path(views.__file__).parent, Path(tinygrad_edu_widgets.__file__).parent)
        for file in folder.rglob("*")
        if file.suffix in (".py", ".css", ".js") and file.name != "tokens.py"
    ]
    assert len(files) > 15
    found = [f"{f.name}: {m[0]}" for f in files for m in COLOUR.finditer(f.read_text(encoding="utf-8"))]
    assert found == []


def test_static_pictures_carry_the_light_values_and_the_dark_ones_in_a_block() -> None:
    face = MARKS["m"]["font-family"]
    assert presentation("text m tg b") == {
        "fill": TOKENS["magenta"][0], "font-family": face, "font-size": "12px", "font-weight": "600",
    }  # fmt: skip
    style = dark_style()
    assert style.startswith("@media (prefers-color-scheme: dark) {")
    assert style.count("{") == style.count("}")
    for name in MARKS:
        assert f".edu-static {'text' if name == 'text' else '.' + name} {{" in style
    assert TOKENS["paper"][0] not in style
    assert TOKENS["paper"][1] in style


def test_the_style_sheet_defines_every_variable_that_it_uses() -> None:
    sheet = stylesheet()
    used = set(re.findall(r"var\((--edu-[\w-]+)", sheet))
    defined = set(re.findall(r"(--edu-[\w-]+):", sheet))
    assert used <= defined
    assert sheet.count("{") == sheet.count("}")
    for light, dark in TOKENS.values():
        assert f"light-dark({light}, {dark})" in sheet


def test_every_class_that_is_drawn_has_a_meaning() -> None:
    folder = Path(views.__file__).parent
    calls = re.compile(r'canvas\.(?:line|rect|path|circle|padlock)\((?:[^()]|\([^()]*\))*?, "([a-z][\w -]*)"')
    classes = {
        c
        for file in folder.rglob("*.py")
        for m in calls.finditer(file.read_text(encoding="utf-8"))
        for c in m[1].split()
    }
    assert len(classes) > 15
    assert classes <= set(MARKS)


def sources() -> str:
    """All that draws: the views, the widgets and their script, the tools, and the documentation's own figures."""
    package, widgets = Path(views.__file__).parent, Path(tinygrad_edu_widgets.__file__).parent
    folders = (package, widgets, ROOT / "tools", ROOT / "docs" / "_ext")
    files = [path for folder in folders for path in folder.rglob("*") if path.suffix in (".py", ".js")]
    return "\n".join(path.read_text(encoding="utf-8") for path in files if path.name != "tokens.py")


HOSTS = {"vscode-light", "vscode-dark"}  # classes of a page that widgets stand on


def test_every_sheet_has_its_place_in_the_order() -> None:
    folder = Path(views.__file__).with_name("css")
    assert sorted(path.stem for path in folder.iterdir()) == sorted(SHEETS)


def test_every_mark_is_drawn_and_every_rule_is_used() -> None:
    rules = re.sub(r"/\*.*?\*/", "", components())
    classes = set(re.findall(r"\.([a-z][\w-]*)", rules)) - HOSTS
    words = set(re.findall(r"[a-z][\w-]*", sources().replace("\\1", "")))
    assert sorted((classes | set(MARKS)) - words) == []
    properties = set(re.findall(r"(--edu-[\w-]+):", rules))
    used = set(re.findall(r"var\((--edu-[\w-]+)", rules)) | {"--edu-font", "--edu-mono"}  # by tokens.stylesheet
    assert sorted(properties - used) == []
