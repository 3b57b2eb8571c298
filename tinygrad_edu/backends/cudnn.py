"""The switches of cuDNN, NVIDIA's library, which many programs set at their start. Here they change nothing.

There is no cuDNN to obey them, and what they ask for is true anyway: on the CPU a program computes the same numbers
each time.
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
    """The version of cuDNN: None, because there is no cuDNN here."""
