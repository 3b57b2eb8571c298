"""The switches of cuDNN, NVIDIA's library, which many programs set first of all. There is none here to obey them.

What they ask for holds anyway: on the CPU the same program computes the same numbers each time.
"""

from __future__ import annotations

enabled = True
benchmark = False
deterministic = False
allow_tf32 = True


def is_available() -> bool:
    """Whether cuDNN is used here: no."""
    return False


def version() -> None:
    """The version of cuDNN: None, for there is none."""
