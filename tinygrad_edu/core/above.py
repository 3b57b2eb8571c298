"""What the core calls, although it is defined on a higher floor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn


class Above:
    """What is defined on a higher floor, or later in the core. The module that defines it fills it in here.

    So imports only ever point down, and the core can still make a `Tensor`.
    """

    # `tensor`
    Tensor: Any
    classes: Any  # the class of a tensor, by the type and the dtype of its array
    wrap: Callable[[Any], Any]  # a raw array as a tensor
    as_tensor: Callable[..., Any]  # any operand as a tensor
    cast: Callable[..., Any]
    # `core.inplace`, `core.slow` and `ops.out`
    adopt: Callable[..., None]
    settle: Callable[[Any], None]
    slow: Callable[..., Any]
    into: Callable[..., Any]
    signature: Callable[..., Any]  # `inputs.source`: of a caller, before that is compiled
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
