"""What the guard says of an array that a product holds."""

from __future__ import annotations

import tinygrad_edu as tg
from tests.support import teaches
from tinygrad_edu.errors import MemoryGuardError

WAYS_OUT = "write after backward(), write to a copy (a.copy()), or let the loss go (del loss)"
HELD = "mul saved it and needs the old values for its backward"


def leaf(*shape: int) -> tg.Tensor:
    return tg.ones(*shape, dtype="float64", requires_grad=True)


def held_by_mul(shape: str = "(3,)", more: str = "", line: str = "a *") -> object:
    """The block ends in the guard's error for an array that ``a * …`` saved."""
    return teaches(MemoryGuardError, f"write to an array {shape} float64", HELD + more, WAYS_OUT, line)
