"""A guess before an output: cheaper than a gate, and as binding as the learner makes it."""

from __future__ import annotations

from typing import Any


def guessed(guess: Any) -> bool:
    """Whether a guess has been written. It is printed above what follows, or asked for."""
    print("First write your guess in place of the dots, then run the cell." if guess is ... else f"your guess: {guess}")
    return guess is not ...
