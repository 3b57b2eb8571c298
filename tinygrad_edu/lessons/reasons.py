"""Why each prediction comes out as it does: at most 25 words, in the present tense, with the cause in bold.

Where a question offers choices, each has its own words: the result its cause, and every other why it is wrong.
"""

from __future__ import annotations

from .autograd_reasons import AUTOGRAD
from .lab_reasons import LAB

Reason = str | dict[str, str]

REASONS: dict[str, Reason] = {
    # welcome
    "depth": {
        "with the hidden layer": "“More layers read more” is not true at every step: with one more it learns "
        "more slowly at first.",
        "without it": "Without a hidden layer **every weight leads straight to an answer**, so the first steps bring "
        "more. Later steps are another question.",
        "both the same": "They have the same digits, but not the same pace: now they differ by more than 1 of 100.",
    },
    "noise": {
        "about 10": "It would be, if the labels were all random. Half of them still tell the truth.",
        "about 50": "“Half-wrong labels, half-wrong answers”? The wrong ones disagree, so the true one wins the vote.",
        "about 90": "The wrong labels are spread over nine digits, so the right one is **still the most frequent**.",
    },
    # gallery
    "half_count": "From 2 048 on, float16 goes up **in steps of two**: adding one lands halfway and is rounded back.",
    # tip lab
    **LAB,
    # lesson 1
    "report_slice": {
        "73.4": "“A slice is a copy” is a common misconception: it is true of Python's lists. Here the first call "
        "wrote °F into the table.",
        "164.1": "`celsius[0:2]` reads **the bytes of `celsius`**, so the second call converts °F once more.",
        "an error": "Nothing is out of range, and nothing forbids `*=` to write into `rows`.",
    },
    "address_transposed": {
        "24": "`t` has the strides of `x` **in the other order**: 2 · 4 + 1 · 16 = 24, where `x[1, 2]` is.",
        "28": "It would be there in a copy, stored row after row with three numbers in a row.",
        "36": "That is 2 · 16 + 1 · 4, with the strides of `x`. Those of `t` are swapped.",
        "in a new buffer": "“A transpose moves numbers” is wrong: `x.T` is a second tensor over the same bytes.",
    },
    "alive": {
        "0 bytes": "`del` removes a name, not a buffer. A buffer is freed when no tensor holds it.",
        "12 bytes": "“A small slice is small”: the tensor is. Its buffer is not, and cannot be freed in parts.",
        "40 000 000 bytes": "A view holds its **whole buffer**; nothing can free a part of it.",
    },
    "stride": "Memory comes in **lines of 64 bytes**: up to step 16 every line is fetched, for one number or for all.",
    "uses": "The copy reads across the rows **once**; without it, every use does. A single use does not pay for it.",
    "copy_first": {
        "faster": "“Contiguous is faster” holds for many uses. This sum uses the copy once, and making it is work.",
        "no clear difference": "The copy is work that the sum does not need. Only runs that vary by more can hide it.",
        "slower": "A sum may add in any order, so it **follows the order of the bytes**; the copy is extra work.",
    },
    # lesson 1, further
    "list_add": {
        "0": "`x[[0, 2]]` alone is a copy. But this line has a third step after the addition.",
        "10": "Python ends the line with `x[[0, 2]] = …`: the copy is **stored back** into `x`.",
        "20": "The addition happens once, in the copy.",
    },
    "repeats": {
        "[0, 0, 0]": "The copy is stored back: the line ends with `counts[[0, 0, 2]] = …`.",
        "[1, 0, 1]": "The copy holds place 0 twice, each time 0 + 1, and **both are stored** in the same place.",
        "[2, 0, 1]": "Both copies of place 0 began at 0. Neither addition sees the other.",
    },
    "reshape": {
        "0 bytes": "For that, one step would lead from each number to the next: 0, 3, 1, 4, 2, 5 has none.",
        "4 bytes": "A copy of one number would not do: all six have to lie in the new order.",
        "24 bytes": "Column order has **no single stride** over the bytes of `m`, so all six numbers are copied.",
    },
    # lesson 3
    **AUTOGRAD,
}


def reason(key: str) -> Reason:
    """The reason behind a prediction, or one for each choice. Raises KeyError for an unknown key."""
    return REASONS[key]
