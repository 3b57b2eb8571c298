"""The handle that removes a hook."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class RemovableHandle:
    """A hook that can be removed: with `remove`, or at the end of a ``with`` block."""

    def __init__(self, hooks: dict[Any, Any], hook: Callable[..., Any]) -> None:
        self._hooks, self._key = hooks, object()  # not itself the key: that would be a cycle
        hooks[self._key] = hook

    def remove(self) -> None:
        """Remove the hook. Once is enough, and twice does no harm."""
        self._hooks.pop(self._key, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *error: object) -> None:
        self.remove()
