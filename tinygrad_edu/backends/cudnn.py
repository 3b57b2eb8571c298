"""The switches of cuDNN, NVIDIA's library, which many programs set at their start. Here two of them are obeyed, too.

``benchmark``
    A convolution on the CPU can go several ways, see `algorithms`. If this is true, each is timed where shapes come for
    the first time, and the fastest is taken from then on. `autotune.table` shows what was chosen. It holds for the
    forward pass, and for the gradient of the images where the stride is 1; images that lie channels last are computed
    as they lie.
``deterministic``
    One way is taken always, whatever ``benchmark`` says, so that the same call gives the same bits. It is also the way
    that is taken by default.

The others change nothing: there is no cuDNN to switch off, and no TF32.
"""

from __future__ import annotations

from collections.abc import Iterator as _Iterator

from ..common.blocks import block as _block

enabled = True
benchmark = False
deterministic = False
allow_tf32 = True


def is_available() -> bool:
    """Whether cuDNN is used here: no."""
    return False


def version() -> None:
    """The version of cuDNN: None, because there is no cuDNN here."""


@_block
def flags(
    enabled: bool = False, benchmark: bool = False, deterministic: bool = False, allow_tf32: bool = True
) -> _Iterator[None]:
    """In this block the switches have these values, for all threads. Those that are not given have these defaults."""
    before = {name: globals()[name] for name in ("enabled", "benchmark", "deterministic", "allow_tf32")}
    globals().update(enabled=enabled, benchmark=benchmark, deterministic=deterministic, allow_tf32=allow_tf32)
    try:
        yield
    finally:
        globals().update(before)
