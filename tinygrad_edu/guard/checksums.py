"""Level "verify" of the memory guard: checksums of what nodes saved, compared before it is used."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from .. import backends
from ..core.above import above
from ..core.graph import Node
from ..core.storage import find
from ..errors import MemoryGuardError


def checksum(array: Any) -> int:
    """CRC of the values, as they lie in memory."""
    import zlib  # only level `verify` looks this closely

    return zlib.crc32(np.ascontiguousarray(backends.of(array).to_numpy(array)).view(np.uint8).data)


_checked: weakref.WeakSet[Node] = weakref.WeakSet()  # nodes with checksums


def watched() -> weakref.WeakSet[Node]:
    """The nodes with checksums that exist now, so that a scope can tell its own from those before it."""
    return weakref.WeakSet(_checked)


def verify_all(earlier: weakref.WeakSet[Node]) -> None:
    """`verify` every live node whose checksums were taken since ``earlier``."""
    for node in sorted(_checked, key=lambda node: node.number):
        if node not in earlier and node.saved is not None:
            verify(node)


def note_checksums(node: Node) -> None:
    """Remember what the saved arrays look like now."""
    for save, value in zip(node.op.save_plan, node.saved or (), strict=False):
        if not save.part and isinstance(value, np.ndarray):
            node.extras().checks += ((value, checksum(value)),)
            _checked.add(node)


def verify(node: Node) -> None:
    """Compare the saved arrays with their checksums. Raises `MemoryGuardError` when one has changed."""
    assert node.extra is not None
    for value, before in node.extra.checks:
        storage = find(value)
        if storage is not None and storage.stamp > node.number:
            continue  # written through a tensor: backward says so, and names the op
        if checksum(value) != before:
            raise MemoryGuardError(
                f"backward through {node.op.name}, which saved an array {value.shape} {value.dtype}",
                "its values have changed since, past the lock: through a view that was taken before it, after "
                "flags.writeable was set by hand, or by np.add.at (any ufunc's at), which writes to read-only arrays",
                "write to a copy, or after backward()",
                node.line,
            )


above.note_checksums, above.verify = note_checksums, verify
