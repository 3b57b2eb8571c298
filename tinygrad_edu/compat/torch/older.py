"""What older programs write: the arguments that came before ``reduction``."""

from __future__ import annotations

from typing import Any

from ...common.lines import warn_user
from ...errors import ArgumentError


def reduction(name: str, size_average: Any, reduce: Any, given: dict[str, Any]) -> dict[str, Any]:
    """The keywords of a loss, with ``size_average`` and ``reduce`` said as ``reduction``, as PyTorch does.

    It warns, as PyTorch does. Raises `ArgumentError` where ``reduction`` is given as well.
    """
    if size_average is None and reduce is None:
        return given
    if "reduction" in given:
        why, mend = "both say how the losses become one", "leave the older ones out"
        raise ArgumentError(f"{name}(size_average=…, reduce=…, reduction=…)", why, mend)
    average, reduces = size_average is None or bool(size_average), reduce is None or bool(reduce)
    said = ("mean" if average else "sum") if reduces else "none"
    warn_user(f"size_average and reduce are old arguments of {name}: write reduction={said!r}")
    return {**given, "reduction": said}
