"""The documentation builds without a warning, holds a page for every tip and every name, and no link leads nowhere."""

from __future__ import annotations

import inspect
import re
import runpy
import shlex
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import tinygrad_edu as tg
from tests.support import ROOT
from tinygrad_edu import tips
from tinygrad_edu.cli.main import parse

DOCS = ROOT / "docs"
TIPS = sorted((ROOT / "tinygrad_edu" / "tips").glob("*/[!_]*.py"))


class Page(HTMLParser):
    """What a page links to, what it loads, and the places in it that can be linked to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.places: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.places |= {values[key] or "" for key in ("id", "name") if key in values}
        if tag == "a" and "href" in values:
            self.links.append(values["href"] or "")
        elif tag != "a":
            self.loads += [values[key] or "" for key in ("href", "src") if key in values and tag != "use"]


@cache
def read(site: Path) -> dict[Path, Page]:
    """Every page of a site."""
    return {path: Page(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")}


def is_external(link: str) -> bool:
    """Whether a link leaves the site."""
    return bool(urlsplit(link).scheme or urlsplit(link).netloc)


def dead_ends(site: Path) -> Iterator[str]:
    """Links within a site, and files that its pages load, that do not exist."""
    pages = read(site)
    for path, page in pages.items():
        for link in (*page.links, *page.loads):
            if is_external(link):
                continue
            parts = urlsplit(link)
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            place = unquote(parts.fragment)
            if not target.is_file() or (place and target in pages and place not in pages[target].places):
                yield f"{path.relative_to(site)}: {link}"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The documentation, built as CONTRIBUTING.md says, into a folder of its own."""
    folder = tmp_path_factory.mktemp("site").resolve()
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", "docs", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=250, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return folder


@pytest.mark.docs
@pytest.mark.timeout(300)
class TestSite:
    """What is true of the built pages."""

    def test_no_link_leads_nowhere(self, site: Path) -> None:
        assert list(dead_ends(site)) == []

    def test_links_to_elsewhere_are_listed(self, site: Path) -> None:
        found = {link for page in read(site).values() for link in page.links if is_external(link)}
        listed = (DOCS / "external_links.txt").read_text(encoding="utf-8").split()
        assert sorted(found) == listed, "docs/external_links.txt lists them all, sorted"
        assert all(re.fullmatch(r"https://[a-z0-9-]+(\.[a-z0-9-]+)+/[^\s\"<>]*", link) for link in listed)

    def test_pages_load_nothing_from_elsewhere(self, site: Path) -> None:
        loads = {link for page in read(site).values() for link in page.loads if is_external(link)}
        assert {link for link in loads if not link.startswith("data:")} == set()

    @pytest.mark.parametrize("path", TIPS, ids=[path.stem for path in TIPS])
    def test_every_tip_has_its_page(self, site: Path, path: Path) -> None:
        slug = path.stem.replace("_", "-")
        assert (site / "tips" / f"{slug}.html").is_file()
        for index in ("index", "sources", "symptoms"):
            page = Page((site / "tips" / f"{index}.html").read_text(encoding="utf-8"))
            assert f"{slug}.html" in page.links

    def test_the_catalogue_lists_all_tips(self, site: Path) -> None:
        path = site / "tips" / "catalogue.html"
        links = Page(path.read_text(encoding="utf-8")).links
        assert all(f"{path.stem.replace('_', '-')}.html" in links for path in TIPS)

    def test_commands_on_pages_are_understood(self, site: Path) -> None:
        pages = [path.read_text(encoding="utf-8") for path in (site / "tips").glob("*.html")]
        found = {
            c for page in pages for c in re.findall(r"tinygrad-edu (tips \w+ [^<]+)", re.sub("</?span[^>]*>", "", page))
        }
        assert len(found) > len(TIPS)
        for command in found:
            assert parse(shlex.split(unescape(command))).action in ("run", "check")

    def test_every_public_name_has_its_entry(self, site: Path) -> None:
        places = {place for path, page in read(site).items() if path.parent.name == "api" for place in page.places}
        holders = (tg, tg.nn, tg.nn.functional, tg.nn.init, tg.optim, tg.optim.lr_scheduler, tg.distributions, tg.data)
        for holder in (*holders, tg.autograd, tg.guard, tg.lessons, tips):
            for name in holder.__all__:
                value = getattr(holder, name)
                if inspect.isclass(value) or inspect.isroutine(value):
                    top = getattr(tg, name, None) is value
                    assert f"{'tinygrad_edu' if top else holder.__name__}.{name}" in places

    def test_every_notebook_is_listed(self, site: Path) -> None:
        page = Page((site / "learn" / "index.html").read_text(encoding="utf-8"))
        offered = {Path(link).name for link in page.links if link.endswith(".ipynb")}
        assert offered == {path.name for path in (ROOT / "notebooks").glob("*.ipynb")}

    def test_every_lesson_has_its_minutes_and_what_to_know_before(self, site: Path) -> None:
        rows = re.findall(
            r"<tr.*?</tr>", (site / "learn" / "index.html").read_text(encoding="utf-8").partition("<h2>")[0], re.S
        )
        cells = [[unescape(re.sub(r"<.*?>", "", cell)).strip() for cell in re.findall(r"<td.*?</td>", row, re.S)]
                 for row in rows if "<td" in row]  # fmt: skip
        assert [title.partition(" ")[0] for title, _, _ in cells] == ["Welcome", *"0123456789", "The"]
        assert all(50 <= int(minutes) <= 100 and need for _, minutes, need in cells)
        teaching = unescape((site / "learn" / "teaching.html").read_text(encoding="utf-8"))
        assert all(f"<h3>{title}" in teaching for title, _, _ in cells[1:])

    def test_no_page_speaks_of_the_computer_that_built_it(self, site: Path) -> None:
        for path in site.rglob("*.html"):
            assert str(ROOT) not in path.read_text(encoding="utf-8")


# What the checks above rest on -----------------------------------------------------------------------------------


def test_tips_are_found() -> None:
    """Or the test of their pages would prove nothing."""
    assert TIPS


@pytest.mark.parametrize("link", ["gone.html", "#gone", "other.html#gone", "gone.svg"])
def test_a_dead_end_is_found(tmp_path: Path, link: str) -> None:
    (tmp_path / "other.html").write_text(
        '<p id="here"></p><a href="other.html#here">x</a><a href="https://a.example/">'
    )
    assert list(dead_ends(tmp_path)) == []
    read.cache_clear()
    (tmp_path / "page.html").write_text(f'<img src="{link}">' if link.endswith("svg") else f'<a href="{link}">x</a>')
    assert list(dead_ends(tmp_path)) == [f"page.html: {link}"]


@pytest.mark.parametrize(
    ("docstring", "shown"),
    [
        ("`relu` of ``x``, or `nothing`.", ":py:obj:`relu <tinygrad_edu.relu>` of ``x``, or ``nothing``."),
        ("Raises `ShapeError`.", "Raises :py:obj:`ShapeError <tinygrad_edu.errors.ShapeError>`."),
        ("See `on`.", "See :py:obj:`on <tinygrad_edu.guard.on>`."),
        (">>> '`relu`'\n    1", ">>> '`relu`'\n    1"),
        ("word\n    `on`", "word\n    :py:obj:`on <tinygrad_edu.guard.on>`"),
        ("a: ``one``\n   two\nb: three", ".. code-block:: text\n\n   a: one\n      two\n   b: three"),
    ],
)
def test_docstrings_become_what_sphinx_reads(docstring: str, shown: str) -> None:
    made = runpy.run_path(str(DOCS / "_ext" / "docstrings.py"))
    made["learn_targets"](["tinygrad_edu.relu", "tinygrad_edu.errors.ShapeError", "tinygrad_edu.guard.on", "x.y.on"])
    assert "\n".join(made["markup"]("tinygrad_edu.guard.off", docstring)) == shown
