"""The API reference: which page shows which names. Written from the modules when the site is built."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from typing import Any

from docstrings import markup

import tinygrad_edu as tg

TOP = "tinygrad_edu"
LARGE = 30  # names; a module with more is shown in sections
# Page: the modules on it. A package with a star means all modules in it.
PAGES = {
    "autograd": ["tinygrad_edu.autograd"],
    "nn": ["tinygrad_edu.nn"],
    "nn.functional": ["tinygrad_edu.nn.functional"],
    "nn.init": ["tinygrad_edu.nn.init"],
    "nn.utils": ["tinygrad_edu.nn.utils", "tinygrad_edu.nn.utils.rnn"],
    "optim": ["tinygrad_edu.optim"],
    "optim.lr_scheduler": ["tinygrad_edu.optim.lr_scheduler"],
    "distributions": ["tinygrad_edu.distributions"],
    "data": ["tinygrad_edu.data"],
    "amp": ["tinygrad_edu.amp", "tinygrad_edu.amp.lists"],
    "quantise": ["tinygrad_edu.quantise"],
    "training": ["tinygrad_edu.training", "tinygrad_edu.metrics", "tinygrad_edu.utils.checkpoint"],
    "guard": ["tinygrad_edu.guard", "tinygrad_edu.settings"],
    "dtypes": ["tinygrad_edu.dtypes", "tinygrad_edu.backends"],
    "errors": ["tinygrad_edu.errors"],
    "compiler": ["tinygrad_edu.compiler", "tinygrad_edu.jit"],
    "observe": ["tinygrad_edu.observe.*"],
    "tips": ["tinygrad_edu.tips"],
    "lessons": ["tinygrad_edu.lessons"],
    "views": ["tinygrad_edu.views.*"],
    "widgets": ["tinygrad_edu_widgets"],
}


def title_of(module: Any) -> str:
    """The first sentence of a module's docstring."""
    return re.split(r"[.:;] |\n\n", (module.__doc__ or module.__name__).strip())[0].replace("\n", " ").rstrip(".")


def is_documented(value: Any) -> bool:
    """Whether a name gets an entry: classes and functions do, values and modules do not."""
    return inspect.isclass(value) or inspect.isroutine(value)


def names_of(module: Any) -> list[str]:
    """The public classes and functions of a module that are not shown as ``tinygrad_edu.name`` already."""
    own = [n for n, v in vars(module).items() if n[0] != "_" and getattr(v, "__module__", "") == module.__name__]
    names = [n for n in getattr(module, "__all__", own) if is_documented(getattr(module, n))]
    return [n for n in names if n not in tg.__all__ or getattr(tg, n) is not getattr(module, n)]


def modules(names: list[str]) -> Iterator[Any]:
    """The modules of a page."""
    for name in names:
        module = importlib.import_module(name.removesuffix(".*"))
        if not name.endswith(".*") or names_of(module):
            yield module
        if name.endswith(".*"):
            found = pkgutil.iter_modules(module.__path__, module.__name__ + ".")
            yield from (importlib.import_module(one.name) for one in found if "._" not in one.name)


def heading(text: str, line: str) -> str:
    """A heading in reStructuredText."""
    return f"{text}\n{line * len(text)}\n"


def entries(prefix: str, names: list[str], holder: Any) -> str:
    """The entries of these names, in alphabetical order."""
    parts = []
    for name in sorted(names, key=str.lower):
        value = getattr(holder, name)
        kind = "exception" if inspect.isclass(value) and issubclass(value, BaseException) else "class"
        if inspect.isclass(value):
            parts.append(f".. auto{kind}:: {prefix}.{name}\n   :members:\n")
        else:
            parts.append(f".. autofunction:: {prefix}.{name}\n")
    return "\n".join(parts)


def grouped(prefix: str, names: list[str], holder: Any) -> str:
    """The entries in sections, one for each file that the names come from."""
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(title_of(importlib.import_module(getattr(holder, name).__module__)), []).append(name)
    return "\n".join(f"{heading(title, '-')}\n{entries(prefix, groups[title], holder)}" for title in sorted(groups))


def module_page(page: str, names: list[str]) -> str:
    """The page of some modules: a section for each of them, or for each file of one large module."""
    found = [module for module in modules(names) if names_of(module)]
    parts = [heading(page, "=")]
    for module in found:
        several = [heading(module.__name__.removeprefix(TOP + "."), "-")] if len(found) > 1 else []
        about = "\n".join(markup(module.__name__, inspect.getdoc(module) or ""))
        shown = names_of(module)
        form = grouped if len(shown) > LARGE and not several else entries
        parts += [*several, about + "\n", form(module.__name__, shown, module)]
    return "\n".join(parts)


def functions_page() -> str:
    """The functions of ``tinygrad_edu`` itself, by the file that they come from."""
    shown = [n for n in tg.__all__ if is_documented(getattr(tg, n)) and getattr(tg, n) is not tg.Tensor]
    values = [n for n in tg.__all__ if not is_documented(getattr(tg, n)) and not inspect.ismodule(getattr(tg, n))]
    listed = ", ".join(f"``{n}``" for n in sorted([*values, "bfloat16"]))
    about = f"Functions of ``tinygrad_edu`` itself: ``import tinygrad_edu as tg``.\n\nDtypes and numbers: {listed}.\n"
    return f"{heading('Functions', '=')}\n{about}\n{grouped(TOP, shown, tg)}"


def pages() -> dict[str, str]:
    """File name and content of every page of the reference."""
    made = {"tensor": heading("Tensor", "=") + "\n" + entries(TOP, ["Tensor"], tg), "functions": functions_page()}
    made |= {page: module_page(page, names) for page, names in PAGES.items()}
    listed = "\n".join(f"   {page}" for page in made)
    index = f"{heading('API reference', '=')}\nMade from the docstrings. Names, arguments and results are PyTorch's.\n"
    made["index"] = f"{index}\n.. toctree::\n   :maxdepth: 1\n\n{listed}\n"
    return {f"{page}.rst": text for page, text in made.items()}


def every_name() -> list[str]:
    """The full names of all entries."""
    top = [f"{TOP}.{n}" for n in tg.__all__ if is_documented(getattr(tg, n))]
    return top + [f"{m.__name__}.{n}" for names in PAGES.values() for m in modules(names) for n in names_of(m)]
