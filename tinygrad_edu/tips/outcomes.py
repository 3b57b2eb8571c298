"""What a way of a tip is to do: give the same numbers as the others, give others, or raise an error."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Outcome:
    """What is expected of a way. An error is named by its type and by words of its message."""

    kind: str
    error: type[BaseException] | None = None
    words: str = ""

    def met(self, error: BaseException | None, equal: bool) -> bool:
        """Whether this came out: an error or none, and the same numbers or others."""
        if self.error is not None:
            return isinstance(error, self.error) and self.words in str(error)
        return error is None and (self.kind == "free" or equal == (self.kind == "equal"))

    def expected(self) -> str:
        """What was to come out, after the name of the way: ``was to raise MutationError``."""
        if self.error is not None:
            return f"was to raise {self.error.__name__}"
        return {"equal": "was to give the right numbers", "differs": "was to give other numbers"}.get(
            self.kind, "was to run without an error"
        )


EQUAL = Outcome("equal")  # the numbers of the reference
DIFFERS = Outcome("differs")  # other numbers, without a word
FREE = Outcome("free")  # any numbers


def raises(error: type[BaseException], words: str) -> Outcome:
    """An error of this type, with these words in its message."""
    return Outcome("raises", error, words)
