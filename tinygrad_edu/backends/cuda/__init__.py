"""NVIDIA GPUs by CuPy, which is imported only when somebody names one."""

from __future__ import annotations

import ctypes
import importlib
import importlib.util
import sys
from functools import cache
from typing import Any

from ...errors import DeviceError
from ..base import Backend

_LIBRARIES = {"win32": "nvcuda.dll"}  # of the driver; elsewhere libcuda.so.1
_OLDEST, _NEWEST = 12, 13  # of CUDA, for which CuPy 14 has wheels


def driver() -> int | None:
    """The newest version of CUDA that this machine's driver knows, such as 13; None without a driver."""
    try:
        library = ctypes.CDLL(_LIBRARIES.get(sys.platform, "libcuda.so.1"))
        version = ctypes.c_int()
        failed = library.cuDriverGetVersion(ctypes.byref(version))
    except (OSError, AttributeError):
        return None
    return None if failed else version.value // 1000


def wheel() -> str:
    """The package that brings CuPy for this machine's driver."""
    return f"cupy-cuda{min(max(driver() or _NEWEST, _OLDEST), _NEWEST)}x>=14"


def why_not() -> tuple[str, str] | None:
    """Why no GPU can be used here, and what to do about it; None where one can. Imports CuPy if it is there."""
    if driver() is None:
        return "there is no NVIDIA driver here", "use 'sim', a simulated GPU, or a machine with one"
    if not importlib.util.find_spec("cupy"):
        return "CuPy is not installed", f'install it: pip install "{wheel()}"'
    try:
        cupy = importlib.import_module("cupy")
        count = cupy.cuda.runtime.getDeviceCount()
    except Exception as error:  # a library that is missing, or a driver too old: each raises a different error
        told = f"{type(error).__name__}: {error}".splitlines()[0]
        return f"CuPy finds no GPU ({told})", "see whether nvidia-smi finds one, and install what CuPy asks for"
    return None if count else ("no GPU answers", "see whether nvidia-smi finds one")


@cache
def available() -> bool:
    """Whether there is a GPU that can be used."""
    return why_not() is None


def made(name: str) -> Backend | None:
    """The device called ``cuda``, ``cuda:1`` and so on; None if there are not so many. Raises `DeviceError` if none."""
    failed = why_not()
    if failed is not None:
        raise DeviceError(f"device {name!r}", *failed)
    cupy = importlib.import_module("cupy")
    importlib.import_module("cupyx.scipy.special")
    return make(name, cupy, importlib.import_module("cupyx"))


def make(name: str, cupy: Any, cupyx: Any) -> Backend | None:
    """A device by these modules."""
    from .device import CudaBackend

    number = int(name.partition(":")[2] or 0)
    return CudaBackend(name, number, cupy, cupyx) if number < cupy.cuda.runtime.getDeviceCount() else None
