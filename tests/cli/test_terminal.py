"""Text for a terminal: widths, colours, signs, tables, progress."""

from __future__ import annotations

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinygrad_edu.cli.terminal import ASCII, FALLBACK, NARROWEST, WIDEST, Progress, Terminal, display_width, wrap


class Screen(io.StringIO):
    """A stream that a person looks at."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


def pipe(encoding: str = "utf-8") -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(), encoding=encoding)


@pytest.mark.parametrize(
    ("text", "columns"),
    [("", 0), ("abc", 3), ("36× (35–37)", 11), ("表", 2), ("e\u0301", 1), ("\x1b[1;31mred\x1b[0m", 3), ("a\u200db", 2)],
)
def test_width_is_counted_in_columns(text: str, columns: int) -> None:
    assert display_width(text) == columns


def test_wrapping() -> None:
    assert wrap("one two three", 8) == ["one two", "three"]
    assert wrap("one", 8) == ["one"]
    assert wrap("", 8) == [""]
    assert wrap("a supercalifragilistic word", 10) == ["a", "supercalif", "ragilistic", "word"]
    assert wrap("表表 表表", 5) == ["表表", "表表"]


@given(st.text(alphabet="ab表 ", max_size=60), st.integers(2, 20))
def test_wrapped_lines_fit_and_lose_nothing(text: str, width: int) -> None:
    lines = wrap(text, width)
    assert all(display_width(line) <= width for line in lines)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")


# Colour and width from the surroundings --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("environ", "on_screen", "in_pipe"),
    [
        ({}, True, False),
        ({"TERM": "xterm"}, True, False),
        ({"TERM": "dumb"}, False, False),
        ({"NO_COLOR": "1"}, False, False),
        ({"NO_COLOR": ""}, True, False),  # no-color.org: an empty one does not count
        ({"FORCE_COLOR": "1"}, True, True),
        ({"FORCE_COLOR": "1", "TERM": "dumb"}, True, True),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False, False),
    ],
)
def test_when_there_is_colour(environ: dict[str, str], on_screen: bool, in_pipe: bool) -> None:
    assert Terminal.of(Screen(), environ).colour is on_screen
    assert Terminal.of(pipe(), environ).colour is in_pipe


@pytest.mark.parametrize(
    ("columns", "width"),
    [("72", 72), ("20", NARROWEST), ("400", WIDEST), ("", FALLBACK), ("0", FALLBACK), ("x", FALLBACK)],
)
def test_the_width_has_bounds(columns: str, width: int) -> None:
    assert Terminal.of(pipe(), {"COLUMNS": columns}).width == width


def test_painting() -> None:
    assert Terminal(colour=True).paint("x", "bold", "red") == "\x1b[1;31mx\x1b[0m"
    assert Terminal().paint("x", "bold") == "x"
    assert Terminal(colour=True).paint("", "bold") == ""


# Signs ------------------------------------------------------------------------------------------------------------


def test_signs_that_cannot_be_encoded_are_replaced() -> None:
    said = "● 36× (35–37) · 17.7 µs, 1\u2009200 ≥ é 表"
    assert Terminal().spell(said) == said
    assert Terminal(encoding="ascii").spell(said) == "* 36x (35-37) - 17.7 us, 1 200 >= e ?"
    assert Terminal(encoding="latin-1").spell(said) == "* 36× (35-37) · 17.7 µs, 1 200 >= é ?"
    assert all(sign.isascii() for sign in ASCII.values())


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"])))
def test_what_is_spelt_can_be_encoded(text: str) -> None:
    assert Terminal(encoding="ascii").spell(text).isascii()


# Tables and prose ---------------------------------------------------------------------------------------------------

ROWS = [
    ("share-storage", "12", "Share what is only read"),
    ("in-place", "3", "Write into what is there already, if that is safe"),
]


def test_a_table() -> None:
    assert Terminal(60).table(ROWS, ("slug", "n", "title"), right=(1,)) == (
        "slug            n  title\n"
        "share-storage  12  Share what is only read\n"
        "in-place        3  Write into what is there already, if that\n"
        "                   is safe"
    )


def test_a_narrow_table_puts_the_last_column_below() -> None:
    assert Terminal(40).table(
        [("in-place-costs-under-autograd", *ROWS[1][1:])], ("slug", "n", "title"), indent="  "
    ) == (
        "  slug                           n\n"
        "  in-place-costs-under-autograd  3\n"
        "      Write into what is there already,\n"
        "      if that is safe"
    )


def test_where_nothing_fits_each_cell_has_a_line() -> None:
    row = ("in-place-costs-under-autograd", "1.20 ms (1.15–1.32)", "", "Write in place")
    assert Terminal(40).table([row], ("slug", "A", "B", "title"), indent="  ") == (
        "  slug: in-place-costs-under-autograd\n      A: 1.20 ms (1.15–1.32)\n      title: Write in place"
    )
    assert Terminal(40).table([("", *row[:2], "x")]).split("\n") == [
        "",
        "    in-place-costs-under-autograd",
        "    1.20 ms (1.15–1.32)",
        "    x",
    ]


def test_a_section() -> None:
    title = "A title that is wider than forty columns are"
    assert Terminal(40).section(title, "  body") == "A title that is wider than forty columns\nare\n  body"
    assert Terminal(40, colour=True).section("Title", "body") == "\x1b[1mTitle\x1b[0m\nbody"


def test_colour_does_not_move_a_column() -> None:
    plain, coloured = Terminal(60), Terminal(60, colour=True)
    painted = coloured.table(ROWS, ("slug", "n", "title"), paint={0: "blue"})
    assert "\x1b[34mshare-storage\x1b[0m  12" in painted
    assert "\x1b[1mtitle\x1b[0m" in painted
    widths = [display_width(line) for line in painted.split("\n")]
    assert widths == [display_width(line) for line in plain.table(ROWS, ("slug", "n", "title")).split("\n")]


def test_a_table_without_rows() -> None:
    assert Terminal().table([]) == ""
    assert Terminal().table([], ("slug", "title")) == "slug  title"


def test_replaced_signs_keep_columns_aligned() -> None:
    assert Terminal(encoding="ascii").table([("a…", "x"), ("bc", "y")]) == "a...  x\nbc    y"


def test_prose() -> None:
    text = "One two three four five six seven eight nine ten.\nNext."
    assert Terminal(40).prose(text, "  ") == "  One two three four five six seven\n  eight nine ten.\n  Next."


def test_json_is_strict_and_ascii() -> None:
    text = Terminal().json({"ratio": float("inf"), "spread": (1.0, float("nan")), "unit": "µs", 3: None})
    assert text.isascii()
    assert json.loads(text) == {"ratio": None, "spread": [1.0, None], "unit": "µs", "3": None}


# Progress ------------------------------------------------------------------------------------------------------------


def test_progress_is_one_line_that_goes_away() -> None:
    screen = Screen()
    progress = Progress(screen, {"COLUMNS": "40"})
    progress.show("measuring")
    progress.show("a text that does not fit into forty columns")
    progress.clear()
    assert screen.getvalue() == "\r\x1b[Kmeasuring …\r\x1b[Ka text that does not fit into forty\r\x1b[K"


@pytest.mark.parametrize(("stream", "environ"), [(pipe(), {}), (Screen(), {"TERM": "dumb"})])
def test_nobody_looks_on(stream: io.TextIOBase, environ: dict[str, str]) -> None:
    before = stream.tell()
    progress = Progress(stream, environ)  # type: ignore[arg-type]
    progress.show("measuring")
    progress.clear()
    assert stream.tell() == before
