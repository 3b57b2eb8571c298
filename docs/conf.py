"""How the documentation is built: ``python -m sphinx -W --keep-going -b html docs docs/_build/html``."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent
sys.path[:0] = [str(DOCS / "_ext"), str(DOCS.parent)]

import api_pages  # noqa: E402
import docstrings  # noqa: E402
import lesson_pages  # noqa: E402
import machine  # noqa: E402
import one_sitting  # noqa: E402
import tip_pages  # noqa: E402
from docutils import nodes  # noqa: E402
from docutils.parsers.rst import Directive  # noqa: E402

import tinygrad_edu  # noqa: E402
from tinygrad_edu.views.tokens import MONO, TOKENS, UI  # noqa: E402

project = "tinygrad_edu"
author = "tinygrad_edu contributors"
release = version = tinygrad_edu.__version__
html_title = project

extensions = ["myst_parser", "sphinx.ext.autodoc"]
exclude_patterns = ["_build", "_ext", "generated"]
myst_enable_extensions = ["deflist"]
myst_heading_anchors = 3
nitpicky = True

autodoc_member_order = "groupwise"
autodoc_typehints = "none"  # operations take whatever can become a tensor; docstrings say what
add_module_names = False
toc_object_entries_show_parents = "hide"

html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sphinx = html_show_sourcelink = html_copy_source = html_show_copyright = False


def colours(theme: int) -> dict[str, str]:
    """The theme's variables, in the colours of the widgets. 0 is light, 1 is dark."""
    token = {name: values[theme] for name, values in TOKENS.items()}
    return {
        "font-stack": UI,
        "font-stack--monospace": MONO,
        "color-foreground-primary": token["ink"],
        "color-foreground-secondary": token["ink-2"],
        "color-foreground-muted": token["ink-2"],
        "color-background-primary": token["paper"],
        "color-background-secondary": token["ground"],
        "color-background-border": token["line"],
        "color-brand-primary": token["blue"],
        "color-brand-content": token["blue"],
        "color-brand-visited": token["blue"],
        "color-api-name": token["blue"],
        "color-api-pre-name": token["ink-2"],
        "color-code-background": token["ground"],
        "color-inline-code-background": token["ground"],
    }


html_theme_options = {"light_css_variables": colours(0), "dark_css_variables": colours(1)}


def write(folder: Path, pages: dict[str, str]) -> None:
    """Write generated pages, and remove those of things that are gone. What is unchanged is not touched."""
    folder.mkdir(exist_ok=True)
    for path in folder.iterdir():
        if path.name not in pages:
            path.unlink()
    for name, text in pages.items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def generate(app: Any) -> None:
    """Write the pages that are made from the code itself."""
    docstrings.learn_targets(api_pages.every_name())
    write(DOCS / "api", api_pages.pages())
    write(DOCS / "learn", lesson_pages.pages())
    write(DOCS / "tips", tip_pages.pages())
    write(DOCS / "generated", one_sitting.files())


class Machine(Directive):
    """``{machine}``: the picture of names, tensors, buffers, device and queue."""

    def run(self) -> list[nodes.Node]:
        return [nodes.raw("", machine.html(), format="html")]


def unlink_outside(app: Any, page: str, source: list[str]) -> None:
    """Name files that are not part of the documentation, where a page of the repository links to them."""
    if "/" not in page:
        source[0] = re.sub(r"\[([^]]+)\]\(\.\./[^)]+\)", r"`\1`", source[0])


def setup(app: Any) -> None:
    app.add_directive("machine", Machine)
    app.connect("source-read", unlink_outside)
    app.connect("builder-inited", generate)
    app.connect("autodoc-process-docstring", docstrings.process_docstring)
    app.connect("autodoc-process-signature", docstrings.process_signature)
    app.connect("autodoc-skip-member", docstrings.skip_member)
