"""Paths of PyTorch's modules: files of `compat.torch` where it has them, and for all else this package's own modules.

So ``import tinygrad_edu.compat.torch.optim.lr_scheduler`` gives `tinygrad_edu.optim.lr_scheduler` itself, and a class
is the same class under both names.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

TORCH = f"{__package__}.torch"
_OURS = TORCH.partition(".")[0]
_HERE = Path(__file__).with_name("torch")

# What PyTorch has too. Other modules of this package must not appear under its name.
SAME = frozenset(
    "amp autograd backends cuda distributed distributions jit linalg nn optim profiler random utils".split()
)


class _Same(Loader):
    """A module that is there already, under another name."""

    def __init__(self, name: str) -> None:
        self.name = name

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = importlib.import_module(self.name)
        self.spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self.spec  # the import system has put the other name there


class _Ours(MetaPathFinder):
    """Below `compat.torch`: our own module, where there is no file for that path."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        below = fullname.removeprefix(f"{TORCH}.")
        if below == fullname or below.partition(".")[0] not in SAME:
            return None
        file = _HERE.joinpath(*below.split("."))
        if file.with_suffix(".py").exists() or file.is_dir() or not _exists(f"{_OURS}.{below}"):
            return None
        return _spec(fullname, f"{_OURS}.{below}")


class _Torch(MetaPathFinder):
    """``torch`` and what is below it: `compat.torch`."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        top, dot, below = fullname.partition(".")
        name = f"{TORCH}{dot}{below}"
        return _spec(fullname, name) if top == "torch" and _exists(name) else None


def _exists(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:  # what stands before the last dot is no package
        return False


def _spec(name: str, real: str) -> ModuleSpec:
    return ModuleSpec(name, _Same(real), is_package=hasattr(importlib.import_module(real), "__path__"))


def be_torch() -> Callable[[], None]:
    """From now on ``import torch`` gives `compat.torch`, whether PyTorch is installed or not. Returns what ends it.

    Raises RuntimeError where PyTorch has been imported: a program would have half of each.
    """
    if "torch" in sys.modules:
        raise RuntimeError("PyTorch is imported already: start a new Python, or a new kernel")
    finder = _Torch()
    sys.meta_path.insert(0, finder)

    def end() -> None:
        sys.meta_path.remove(finder)
        for name in [name for name in sys.modules if name.partition(".")[0] == "torch"]:
            del sys.modules[name]

    return end


sys.meta_path.insert(0, _Ours())
