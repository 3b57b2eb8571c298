"""A name that does not exist: which names are like it, whether PyTorch has it, and what to write instead.

Programs ask for missing names all the time, with `hasattr` or to complete a word. So the text is made only when
somebody reads the error. By then modules of every floor may be looked at, by name.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterable
from functools import cache
from typing import Any

_FILE = os.path.join(os.path.dirname(__file__), "pytorch_names.txt")
_THEIRS = {
    "tinygrad_edu": "torch", "tinygrad_edu.nn": "torch.nn", "tinygrad_edu.nn.functional": "torch.nn.functional",
    "tinygrad_edu.optim": "torch.optim",
}  # fmt: skip
_ELSEWHERE = (
    "", *"autograd nn nn.functional optim optim.lr_scheduler data nn.utils nn.utils.rnn nn.init linalg".split()
)  # fmt: skip

# What old programs write, and machinery that does not exist here. "*" is any other name in that place.
_INSTEAD = {
    "": {
        "multiprocessing": "tensors are not shared between processes: use Python's, and send NumPy arrays",
    },
    "backends": {
        "mkldnn": "there is no such library here to set up: leave the line out",
        "cuda": "there is nothing here to set up: leave the line out",
    },
    "cuda": {
        "*": "streams, events and memory are here, and the rest is automatic: leave the line out",
    },
    "nn": {"DataParallel": "models run on one device here: use the model itself"},
}  # fmt: skip

# Methods of PyTorch's tensors that are other names of methods here.
_SAME = {
    "absolute": "abs", "absolute_": "abs_", "arccosh": "acosh", "arcsinh": "asinh", "arctanh": "atanh",
    "arccosh_": "acosh_", "arcsinh_": "asinh_", "arctanh_": "atanh_", "divide": "div", "divide_": "div_",
    "fix": "trunc", "fix_": "trunc_", "ger": "outer", "greater": "gt", "greater_": "gt_", "greater_equal": "ge",
    "greater_equal_": "ge_", "less": "lt", "less_": "lt_", "less_equal": "le", "less_equal_": "le_",
    "multiply": "mul", "multiply_": "mul_", "negative": "neg", "negative_": "neg_",
    "not_equal": "ne", "not_equal_": "ne_", "subtract": "sub", "subtract_": "sub_", "swapdims": "swapaxes",
    "true_divide": "div", "true_divide_": "div_",
}  # fmt: skip


class MissingName(AttributeError):
    """A module or tensor has no such attribute. The text is made when it is read."""

    def __init__(self, module: str, name: str) -> None:
        super().__init__(module, name, name=name)
        self.module = module

    def __str__(self) -> str:
        return explain(self.module, str(self.name))


def explain(module: str, name: str) -> str:
    """``module 'tinygrad_edu' has no attribute 'tensors'``, and what helps."""
    import difflib  # paid for only when somebody reads the error

    text = f"module {module!r} has no attribute {name!r}"
    if name.startswith("_"):
        return text
    if module == "Tensor":
        return _explain_method(name)
    place = module.partition(".")[2]
    if said := instead(place, name):
        return f"{text}: {said}"
    known = _names(place)
    if same := [one for one in known if one.lower() == name.lower()]:
        return f"{text}: write {_path(place, same[0])}"
    homes = [_path(one, name) for one in _ELSEWHERE if one != place and name in _names(one)]
    if not homes and place in ("", "nn.functional") and hasattr(_module("").Tensor, name):
        homes = [f"a method of tensors, x.{name}(…)"]
    if homes:
        return f"{text}: it is {homes[0]}"
    spelt = {one.lower(): one for one in sorted(known)}
    near = _near(_path(place, spelt[one]) for one in difflib.get_close_matches(name.lower(), spelt, 3, 0.7))
    theirs = _THEIRS.get(module)
    if theirs and name in pytorch_names()[theirs]:
        return f"{text}. PyTorch has it, but it is not here yet{near}"
    return f"{text}{near}"


def _explain_method(name: str) -> str:
    import difflib

    text, there = f"a tensor has no attribute {name!r}", dir(_module("").zeros(()))
    if name in _SAME:
        return f"{text}: write {_SAME[name]}"
    if homes := [_path(place, name) for place in _ELSEWHERE if name in _names(place)]:
        return f"{text}: it is {homes[0]}"
    near = _near(difflib.get_close_matches(name, [one for one in there if not one.startswith("_")], 3, 0.7))
    return f"{text}. PyTorch has it, but it is not here yet{near}"


def _near(names: Iterable[str]) -> str:
    """``; near it are nn.Linear, nn.Bilinear``, or nothing."""
    close = list(names)
    return f"; near it {'is' if len(close) == 1 else 'are'} {', '.join(close)}" if close else ""


def instead(place: str, name: str) -> str:
    """What to write today for an old name, or for machinery that is not here; "" for any other name."""
    found = _INSTEAD.get(place, {})
    return found.get(name) or found.get("*", "")


def _path(place: str, name: str) -> str:
    return f"{place or 'tinygrad_edu'}.{name}"


def _module(place: str) -> Any:
    return importlib.import_module(f"tinygrad_edu.{place}".rstrip("."))


def _names(place: str) -> list[str]:
    """The public names of a module of this package."""
    module = _module(place)
    return [name for name in getattr(module, "__all__", None) or dir(module) if not name.startswith("_")]


@cache
def pytorch_names() -> dict[str, frozenset[str]]:
    """The public names of PyTorch, by module, as `tools/list_pytorch_names.py` found them."""
    found: dict[str, list[str]] = {}
    with open(_FILE, encoding="utf-8") as file:
        for line in file:
            if line.endswith(":\n") and not line.startswith("#"):
                found[line[:-2]] = names = []
            elif not line.startswith("#"):
                names += line.split()
    return {place: frozenset(names) for place, names in found.items()}
