"""What the core calls although it is defined above it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn


class Above:
    """One place for what stands on a higher floor, or further on in the core. Who defines it fills it in."""

    # `tensor`
    Tensor: Any
    classes: Any  # of a tensor, by the type and the dtype of its array
    wrap: Callable[[Any], Any]  # a raw array as a tensor
    as_tensor: Callable[..., Any]  # what an operation was given as a tensor
    cast: Callable[..., Any]
    # `core.inplace`, `core.slow` and `ops.out`
    adopt: Callable[..., None]
    settle: Callable[[Any], None]
    slow: Callable[..., Any]
    into: Callable[..., Any]
    signature: Callable[..., Any]  # `inputs.source`: of a caller, before there is one
    # `explain`: errors in words
    fail: Callable[..., NoReturn]
    describe_call: Callable[..., str]
    mixed: Callable[..., Exception]
    check_fits: Callable[..., None]
    freed: Callable[..., Exception]
    overwritten: Callable[..., Exception]
    # `checksums`: level "verify" of the guard
    note_checksums: Callable[[Any], None]
    verify: Callable[[Any], None]


above = Above()
