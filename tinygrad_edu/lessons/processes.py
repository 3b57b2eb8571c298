"""A program that is started again, without starting one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def new_process(names: Mapping[str, Any]) -> None:
    """Let the functions among ``names`` forget what they keep from call to call, as when a program is started again."""
    for value in names.values():
        forget = getattr(value, "cache_clear", None)
        if callable(forget):
            forget()
