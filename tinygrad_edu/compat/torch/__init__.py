"""PyTorch's names over this engine: ``import tinygrad_edu.compat.torch as torch``, and the program stays as it is.

Names and arguments of `tinygrad_edu` are PyTorch's in any case. What is different here:

- ``"cuda"`` is the GPU, or the simulated accelerator on a machine without one, and so `cuda.is_available` is true.
- Old spellings work: ``Variable``, ``size_average``, ``cuda.amp``, ``DataParallel``.
- Settings of machinery that is not here, such as ``set_float32_matmul_precision``, are accepted where nothing that they
  promise gets lost, and backends of `compile` have PyTorch's names.

What PyTorch has and this engine has not is missing here too, and the error says so.
"""

from __future__ import annotations

from importlib import import_module as _import_module
from typing import Any

import tinygrad_edu as _ours

from ... import backends as _backends
from ...common.missing import MissingName as _MissingName
from ...common.missing import pytorch_names as _pytorch_names
from ...errors import ArgumentError as _ArgumentError
from .. import paths as _paths

__version__ = "2.13.0+tinygrad_edu"  # whose names these are

_COMPILERS = dict.fromkeys(("inductor", "cudagraphs", "aot_eager", "eager"), "numpy")  # PyTorch's names
_NAMES = {*_ours.__all__, "bfloat16"} & _pytorch_names()["torch"]

_backends.simulate_cuda()


def compile(model: Any = None, *, backend: str = "inductor", **settings: Any) -> Any:
    """`tinygrad_edu.compile`, with PyTorch's names of backends: "inductor", "eager", and ours.

    ``"eager"`` compiles nothing, as in PyTorch.
    """
    if backend == "eager":
        settings["disable"] = True
    return _ours.compile(model, backend=_COMPILERS.get(backend, backend), **settings)


def set_float32_matmul_precision(precision: str) -> None:
    """Whether products of float32 may be computed in TF32: not for "highest", and for "high" and "medium" they may.

    It changes times on the simulated accelerator, and no values. Raises `ArgumentError` for another word.
    """
    if precision not in ("highest", "high", "medium"):
        mend = "use 'highest', 'high' or 'medium'"
        raise _ArgumentError(f"set_float32_matmul_precision({precision!r})", "there is no such precision", mend)
    from .backends import cuda

    cuda.matmul.allow_tf32 = precision != "highest"


def get_float32_matmul_precision() -> str:
    """The precision that was set."""
    from .backends import cuda

    return "high" if cuda.matmul.allow_tf32 else "highest"


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Take one way of computing always: as ``backends.cudnn.deterministic``. All else is repeatable here anyway."""
    from ...backends import cudnn

    cudnn.deterministic = bool(mode)


def __getattr__(name: str) -> Any:
    if name in _paths.SAME:
        return _import_module(f"{__name__}.{name}")
    if name in _NAMES:
        globals()[name] = found = getattr(_ours, name)
        return found
    raise _MissingName(_ours.__name__, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_paths.SAME, *_NAMES})
