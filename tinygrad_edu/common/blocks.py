"""Blocks that always end: a with statement's switch is undone, whenever Ctrl-C comes.

Python checks for an interrupt after each call, and when a function starts. So one may come before the first line of
``__exit__``: then its body never runs, and nobody calls it again. But the statement asked for ``__exit__`` before
it entered, and it releases that object whatever happens. At that moment `Held` ends the block.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import _GeneratorContextManager
from functools import partial, wraps
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class Held(partial[Any]):
    """The ``__exit__`` of a block, as a with statement holds it.

    It is a partial, so that the frame of ``__exit__``, which a traceback may keep alive, holds the block, not this.
    """

    depth = sys.maxsize  # how many blocks of that object were open before

    def __del__(self) -> None:
        block = self.args[0]
        if len(block._open) > self.depth:
            block._restore(block._open[self.depth])
            del block._open[self.depth :]


class _Exit:
    """``__exit__``: with statements ask an object for it, and ``ExitStack`` asks its class."""

    def __get__(self, block: Block | None, kind: type[Block]) -> Callable[..., Any]:
        if block is None:
            return kind._leave
        held = Held(kind._leave, block)
        held.depth = len(block._open)
        return held


class Block:
    """A block that a with statement enters and always leaves. ``__enter__`` adds to ``_open`` before it switches."""

    _open: list[Any]  # the states to go back to, outermost first

    def _restore(self, found: Any) -> None:
        """Go back. A second call does no harm."""
        raise NotImplementedError

    def _leave(self, kind: Any = None, error: Any = None, traceback: Any = None) -> Any:
        """What ``__exit__`` does."""
        self._restore(self._open[-1])
        del self._open[-1]  # not before: an interrupt may come after any call

    __exit__ = _Exit()


class _Steps(Block, _GeneratorContextManager[T]):
    """The block of a generator. Closing the generator runs its ``finally``."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._open = []

    def __enter__(self) -> T:
        self._open = [self.gen]
        return next(self.gen)

    def _leave(self, kind: Any = None, error: Any = None, traceback: Any = None) -> Any:
        answer = _GeneratorContextManager.__exit__(self, kind, error, traceback)
        self._open.clear()
        return answer

    def _restore(self, found: Any) -> None:
        found.close()


def block(function: Callable[P, Iterator[T]]) -> Callable[P, _GeneratorContextManager[T]]:
    """``contextlib.contextmanager``, for changes that must always be undone."""

    @wraps(function)
    def make(*args: P.args, **kwargs: P.kwargs) -> _GeneratorContextManager[T]:
        return _Steps(function, args, kwargs)

    return make
