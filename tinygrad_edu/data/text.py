"""A real text, small enough to travel with the package: a play, as characters with numbers."""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from importlib.resources import files

import numpy as np

from ..errors import ArgumentError, IndexRangeError
from ..inputs.kinds import explain_all
from ..tensor import Tensor, tensor
from .datasets import TensorDataset

SOURCE = (
    "W. Shakespeare, Coriolanus (about 1608), without stage directions: the first play of the file that A. Karpathy "
    "joined for char-rnn in 2015. In the public domain."
)


@dataclass(frozen=True)
class Text:
    """A text, its characters in the order of their numbers, and the text as such numbers: ``codes`` (N,), int64."""

    text: str
    alphabet: str
    codes: Tensor
    source: str = SOURCE

    def encode(self, words: str) -> Tensor:
        """The numbers of some characters, int64. Raises `ArgumentError` for one that the text does not have."""
        places = {letter: place for place, letter in enumerate(self.alphabet)}
        unknown = [letter for letter in words if letter not in places]
        if unknown:
            why, mend = f"the text has no {unknown[0]!r}", "leave it out, or write it in the characters of `alphabet`"
            raise ArgumentError(f"encode of {len(words)} characters", why, mend)
        return tensor(np.array([places[letter] for letter in words], np.int64))

    def decode(self, codes: Tensor) -> str:
        """The characters of some numbers (N,). Raises `IndexRangeError` for a number that has none."""
        numbers = codes.numpy(force=True).reshape(-1).tolist()
        wrong = [number for number in numbers if not 0 <= number < len(self.alphabet)]
        if wrong:
            why = f"there are {len(self.alphabet)} characters"
            raise IndexRangeError(f"decode of the number {wrong[0]}", why, "give numbers from 0")
        return "".join(self.alphabet[int(number)] for number in numbers)

    def windows(self, length: int) -> TensorDataset:
        """Every window of so many characters, and what follows each of its characters: two int64 tensors
        (N - length, length).

        All of them are views of ``codes``, so they take no memory of their own. Raises `ArgumentError` for a length
        that does not fit.
        """
        if not 1 <= length < len(self.codes):
            why = f"the text has {len(self.codes):,} characters, and something has to follow"
            raise ArgumentError(f"windows({length})", why, f"take 1 to {len(self.codes) - 1:,}")
        both = self.codes.unfold(0, length + 1, 1)
        return TensorDataset(both[:, :-1], both[:, 1:])


def text() -> Text:
    """Shakespeare's *Coriolanus*: 154,469 characters, of 61 kinds. Read from a file in the package.

    >>> play = text()
    >>> play.text[:30], play.encode("Rome").tolist()
    ('First Citizen:\\nBefore we proce', [28, 49, 47, 39])
    """
    with files(__package__).joinpath("coriolanus.txt.gz").open("rb") as file:
        words = gzip.decompress(file.read()).decode("ascii")
    alphabet = "".join(sorted(set(words)))
    found = np.searchsorted(np.frombuffer(alphabet.encode(), np.uint8), np.frombuffer(words.encode(), np.uint8))
    return Text(words, alphabet, tensor(found.astype(np.int64)))


explain_all(globals())
