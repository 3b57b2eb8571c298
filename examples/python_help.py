"""The text that `char_gru.py` and `tiny_transformer.py` learn: Python's own help, which comes with Python.

It is what ``help("topics")`` lists, about 200,000 letters of plain English prose; it differs a little from one version
of Python to the next. A small Python may lack it. Then, or to learn another text, name a file: ``--text FILE``.
"""

import math
from pathlib import Path

import tinygrad_edu as tg
from tinygrad_edu.nn import functional as F


def read_paragraphs():
    """The paragraphs of prose in Python's help, each once and on one line."""
    try:
        from pydoc_data.topics import topics
    except ImportError:
        raise SystemExit("This Python comes without its help. Name another text to learn: --text FILE") from None
    text = "\n\n".join(topics[name] for name in sorted(topics))
    paragraphs = dict.fromkeys(" ".join(part.split()) for part in text.split("\n\n"))
    return [p for p in paragraphs if len(p) > 80 and p[0].isupper() and p[-1] in ".:"]


class Text:
    """A text as numbers: each letter is its place in ``alphabet``. Every tenth paragraph is held out of training."""

    def __init__(self, path=None):
        paragraphs = read_paragraphs() if path is None else Path(path).read_text(encoding="utf-8").split("\n\n")
        self.alphabet = sorted({"\n", *"".join(paragraphs)})
        self.number = {letter: i for i, letter in enumerate(self.alphabet)}
        self.training = self.encode("\n".join(p for i, p in enumerate(paragraphs) if i % 10))
        self.held_out = self.encode("\n".join(paragraphs[::10]))
        if min(len(self.training), len(self.held_out)) < 1000:
            raise SystemExit("The text is too short. Give at least 10,000 letters, with empty lines between paragraphs")

    def encode(self, text):
        return tg.tensor([self.number[letter] for letter in text])

    def decode(self, numbers):
        return "".join(self.alphabet[i] for i in numbers.tolist())

    def batch(self, size, length):
        """Random passages of the training text, (size, length), and the letters that come next, of the same shape."""
        starts = tg.randint(0, len(self.training) - length, (size,)).tolist()
        passages = tg.stack([self.training[i : i + length + 1] for i in starts])
        return passages[:, :-1], passages[:, 1:]

    def held_out_rows(self, length):
        """The held-out text in rows of this length, and the letters that come next; any remainder is left out."""
        rows = (len(self.held_out) - 1) // length
        end = rows * length
        return self.held_out[:end].view(rows, length), self.held_out[1 : end + 1].view(rows, length)

    def perplexity_of_pairs(self, x, y):
        """The perplexity of ``y`` from a table that knows only the letter before, ``x``: a network should do better."""
        counts = tg.full((len(self.alphabet), len(self.alphabet)), 0.1)  # a new pair is rare, not impossible
        counts.index_put_((self.training[:-1], self.training[1:]), tg.tensor(1.0), accumulate=True)
        scores = (counts / counts.sum(dim=1, keepdim=True)).log()
        return math.exp(F.nll_loss(scores[x.flatten()], y.flatten()).item())
