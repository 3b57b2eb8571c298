"""Batches from one process to another: what is small by pickle through a pipe, arrays through memory that both see.

The sender keeps a few blocks of memory and fills them in turn. The receiver copies the arrays out, once, and gives the
block back with its next order. A block is a file that is mapped, where there is one in a file system that is memory; a
crew's blocks lie in a folder of their own, so that nothing is left when a process is killed.
"""

from __future__ import annotations

import mmap
import os
import pickle
import tempfile
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..common.locks import Lock

SMALLEST = 1 << 14  # bytes of arrays for which a block is worth it: a pipe takes less at once
ALIGNED = 64
IN_MEMORY = Path("/dev/shm")


@dataclass
class Parcel:
    """A pickled value. Its arrays are at ``places`` (begin, bytes) of a block, or among ``arrays``."""

    text: bytes
    arrays: list[bytes] = field(default_factory=list)
    places: list[tuple[int, int]] = field(default_factory=list)
    block: str = ""
    dropped: tuple[str, ...] = ()  # blocks that were too small and are not used any more


def folder() -> str:
    """A new folder for blocks, in memory if this system has such a place."""
    return tempfile.mkdtemp(
        prefix=f"tinygrad_edu-{os.getpid()}-", dir=IN_MEMORY if os.access(IN_MEMORY, os.W_OK) else None
    )


class Packer:
    """The sender's side. Its blocks are files of a folder, and their names begin with ``prefix``."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self.made = 0
        self.free: dict[str, np.ndarray[Any, Any]] = {}
        self.away: dict[str, np.ndarray[Any, Any]] = {}  # with the receiver
        self.making = Lock()  # whoever takes it for good stops this

    def back(self, names: tuple[str, ...]) -> None:
        """The receiver has emptied these blocks."""
        self.free |= {name: self.away.pop(name) for name in names}

    def pack(self, value: Any) -> Parcel:
        """Raises whatever pickle raises for what it cannot take."""
        buffers: list[pickle.PickleBuffer] = []
        text = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
        arrays = [one.raw() for one in buffers]
        places, end = [], 0
        for one in arrays:
            places.append((end, one.nbytes))
            end += -(-one.nbytes // ALIGNED) * ALIGNED
        name, dropped = self._block(end) if end >= SMALLEST else ("", ())
        if not name:
            return Parcel(text, [bytes(one) for one in arrays], dropped=dropped)
        block = self.away[name] = self.free.pop(name)
        for (start, size), one in zip(places, arrays, strict=True):
            block[start : start + size] = np.frombuffer(one, np.uint8)
        return Parcel(text, [], places, name, dropped)

    def _block(self, size: int) -> tuple[str, tuple[str, ...]]:
        """A free block that is large enough, or a new one in place of those that are not; none if memory is full."""
        for name, one in self.free.items():
            if len(one) >= size:
                return name, ()
        dropped, self.free = tuple(self.free), {}
        name = f"{self.prefix}{self.made}"
        self.made += 1
        with self.making:
            try:
                self.free[name] = _made(name, size + size // 8)
            except OSError:  # the place for shared memory is often small: then it goes through the pipe
                with suppress(OSError):
                    os.unlink(name)
                return "", dropped
        return name, dropped


class Unpacker:
    """The receiver's side."""

    def __init__(self) -> None:
        self.blocks: dict[str, np.ndarray[Any, Any]] = {}
        self.emptied: list[str] = []

    def unpack(self, parcel: Parcel) -> Any:
        """The value, with arrays of its own."""
        for name in parcel.dropped:
            del self.blocks[name]
        buffers: list[Any] = [bytearray(one) for one in parcel.arrays]
        if parcel.block:
            if parcel.block not in self.blocks:
                self.blocks[parcel.block] = _opened(parcel.block)
            block = self.blocks[parcel.block]
            buffers = [block[start : start + size].copy() for start, size in parcel.places]
            self.emptied.append(parcel.block)
        return pickle.loads(parcel.text, buffers=buffers)

    def returned(self) -> tuple[str, ...]:
        """The blocks that have been emptied since this was last asked."""
        names, self.emptied = tuple(self.emptied), []
        return names


def _made(name: str, size: int) -> np.ndarray[Any, Any]:
    """A new file of so many bytes, mapped. Raises `OSError` if there is no room for it."""
    with open(name, "x+b") as file:
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(file.fileno(), 0, size)  # without it, a later write would kill the process
        else:
            file.truncate(size)
        return np.frombuffer(mmap.mmap(file.fileno(), size), np.uint8)


def _opened(name: str) -> np.ndarray[Any, Any]:
    """The file of another process, mapped. Its name is not needed any more: it goes with the last who maps it."""
    with open(name, "r+b") as file:
        block = np.frombuffer(mmap.mmap(file.fileno(), 0), np.uint8)
    with suppress(PermissionError):  # on Windows it stays until the folder goes
        os.unlink(name)
    return block
