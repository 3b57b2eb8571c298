"""How many threads a single product of matrices takes: those of BLAS, the library that NumPy multiplies with.

Everything else here runs in the thread that calls it. BLAS's own threads can be counted and limited if threadpoolctl is
installed.
"""

from __future__ import annotations

from typing import Any

from .errors import ArgumentError, MissingPackageError
from .inputs.arguments import whole

MOST = 2**31 - 1

__all__ = ["get_num_threads", "set_num_threads"]


def get_num_threads() -> int:
    """How many threads BLAS has for one product. Raises `MissingPackageError` without threadpoolctl."""
    found = _blas("get_num_threads()").info()
    return max((one["num_threads"] for one in found), default=1)


def set_num_threads(num: int) -> None:
    """Let BLAS take so many threads for one product, in the whole process.

    More than there are cores make it slower. Raises `ArgumentError` for a number below 1, `MissingPackageError` without
    threadpoolctl.
    """
    tried = f"set_num_threads({num!r})"
    if whole("set_num_threads", "num", num) < 1:
        raise ArgumentError(tried, "a product needs a thread at least", "use 1 or more")
    if num > MOST:
        raise ArgumentError(tried, f"BLAS counts its threads up to {MOST:,}", "use the number of cores")
    blas = _blas(tried)
    take_control()
    blas.limit(limits=int(num))


def take_control() -> None:
    """Let this thread set limits. Since threadpoolctl 3.8 the first thread to do so keeps that right while it lives."""
    from threadpoolctl import OpenBLASController

    clear = getattr(OpenBLASController, "clear_controlling_thread", None)
    if clear is not None:
        clear(force=True)


_found: list[Any] = []  # to look for libraries takes milliseconds, and NumPy's has been there from the start


def _blas(tried: str) -> Any:
    if not _found:
        try:
            from threadpoolctl import ThreadpoolController
        except ImportError:
            why, mend = "only threadpoolctl reaches the threads of BLAS", "install it: pip install threadpoolctl"
            raise MissingPackageError(tried, why, mend) from None
        _found.append(ThreadpoolController().select(user_api="blas"))
    return _found[0]
