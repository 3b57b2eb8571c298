"""Words as figures write them, and what keeps strangers' text from becoming markup."""

from __future__ import annotations

from html import unescape
from xml.dom import minidom

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinygrad_edu.common.wording import plain
from tinygrad_edu.views.frame import NARROW, Figure
from tinygrad_edu.views.marks import (
    Canvas,
    attributes,
    escape,
    freeze,
    rich,
    shorten,
    wrap_text,
)  # fmt: skip


def test_wrap_keeps_every_word() -> None:
    assert wrap_text("one two three", 7) == ["one two", "three"]
    assert wrap_text("", 5) == [""]
    assert wrap_text("unbreakable", 3) == ["unbreakable"]


@given(st.lists(st.text("ab", min_size=1, max_size=9), min_size=1), st.integers(1, 30))
def test_wrapped_lines_fit(words: list[str], width: int) -> None:
    lines = wrap_text(" ".join(words), width)
    assert " ".join(lines).split() == words
    assert all(len(line) <= width or " " not in line for line in lines)


def test_shorten() -> None:
    assert [shorten("abcdef", n) for n in (7, 6, 5, 2, 1, 0)] == ["abcdef", "abcdef", "abcd…", "a…", "a…", "a…"]


@pytest.mark.parametrize(
    "markup, html, text",
    [
        ("a `b` c", "a <code>b</code> c", "a b c"),
        ("**a** b", "<b>a</b> b", "a b"),
        ("**the `x` here**", "<b>the <code>x</code> here</b>", "the x here"),
        ("`a**2` and `b**2`", "<code>a**2</code> and <code>b**2</code>", "a**2 and b**2"),
        ("2**3 and `open", "2**3 and `open", "2**3 and `open"),
        ('<b> & "q"', "&lt;b&gt; &amp; &quot;q&quot;", '<b> & "q"'),
        ("`<script>`", "<code>&lt;script&gt;</code>", "<script>"),
    ],
)
def test_rich_and_plain(markup: str, html: str, text: str) -> None:
    assert rich(markup) == html
    assert plain(markup) == text


@given(st.text("`*<>&\"'ab \n"))
def test_rich_is_balanced_and_escaped(markup: str) -> None:
    html = rich(markup)
    minidom.parseString(f"<p>{html}</p>")
    bare = html
    for tag in ("<b>", "</b>", "<code>", "</code>"):
        bare = bare.replace(tag, "")
    assert not set("<>\"'") & set(bare)
    assert unescape(bare) == plain(markup)


@given(st.text())
def test_any_text_makes_well_formed_xml(text: str) -> None:
    canvas = Canvas(NARROW)
    canvas.text(0, 10, text, "m")
    canvas.text(0, 30, text)
    canvas.open(data_tip=text, data_act="x", tabindex=0, aria_label=text)
    canvas.tag(0, 40, text)
    canvas.close()
    live = Figure(canvas, text, text).svg("w")
    minidom.parseString(live.encode())
    still = freeze(Figure(canvas, text, text).svg(live=False))
    texts = minidom.parseString(still.encode()).getElementsByTagName("text")
    assert [t.firstChild.data if t.firstChild else "" for t in texts] == [
        minidom.parseString(f"<t>{escape(text)}</t>".encode()).documentElement.firstChild.data if text else ""
    ] * 3


def test_words_that_look_like_attributes_stay() -> None:
    canvas = Canvas(NARROW)
    canvas.text(0, 10, 'f(role="button" data-act="step" tabindex="0")', "m")
    svg = Figure(canvas, "a", "b").svg(live=False)
    assert unescape(svg).count('f(role="button" data-act="step" tabindex="0")') == 1
    assert 'role="img"' in svg


def test_attributes() -> None:
    assert attributes(class_="a b", data_x=0, hidden=True, off=False, none=None) == ' class="a b" data-x="0" hidden'
    assert attributes(title='"><script>') == ' title="&quot;&gt;&lt;script&gt;"'


def test_a_figure_is_as_high_as_what_it_holds() -> None:
    canvas = Canvas(NARROW)
    canvas.rect(0, 0, 10, 50, "cell")
    canvas.circle(5, 70, 4, "dot")
    assert canvas.height == 74
