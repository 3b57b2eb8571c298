"""Every operation with operands to try it on. One list feeds the tests of gradients, dtypes, worlds, peers and docs.

A case names a registered op, makes float64 operands (integers and bools where those are meant) and says how to call
it. `torch` is the same in PyTorch, given its module: values, dtypes and gradients are compared where torch is there.
There is one file per file of `tinygrad_edu/ops/`.
"""

import importlib
import pkgutil

from tests.ops.cases.base import CALLERS, CASES, LAYOUTS, Array, Case, Make, each, expanded, is_float, leaf

__all__ = ["CALLERS", "CASES", "LAYOUTS", "Array", "Case", "Make", "each", "expanded", "is_float", "leaf"]

for _file in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_file.name}")
