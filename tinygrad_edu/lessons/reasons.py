"""Why each prediction comes out as it does: at most 25 words, in the present tense, with the cause in bold.

Where a question offers choices, each has its own words: the result its cause, and every other why it is wrong.
"""

from __future__ import annotations

from .arrays_reasons import ARRAYS
from .autograd_reasons import AUTOGRAD
from .bounds_reasons import BOUNDS
from .devices_reasons import DEVICES
from .dtypes_reasons import DTYPES
from .feeding_reasons import FEEDING
from .lab_reasons import LAB
from .measuring_reasons import MEASURING
from .memory_reasons import MEMORY
from .mutation_reasons import MUTATION
from .precision_reasons import PRECISION

Reason = str | dict[str, str]

REASONS: dict[str, Reason] = {
    # welcome
    "depth": {
        "with the hidden layer": "“More layers read more” is not true at every step: with one more SGD learns "
        "more slowly at first.",
        "without it": "Without a hidden layer **every weight leads straight to an answer**, so the first steps of "
        "plain SGD gain more. Adam's need not.",
        "both the same": "They have the same digits, but not the same pace: now they differ by more than 1 of 100.",
    },
    "noise": {
        "about 10": "It would be, if the labels were all random. Half of them still tell the truth.",
        "about 50": "“Half-wrong labels, half-wrong answers”? The wrong ones disagree, so the true one wins the vote.",
        "about 90": "The wrong labels are spread over nine digits, so the right one is **still the most frequent**.",
    },
    "next_digit": {
        "more": "The other half of the labels is as wrong as before, and these wrong ones agree with each other.",
        "about as many": "“Half wrong is half wrong”? Random wrong labels are spread over nine digits; these are not.",
        "fewer": "Here one wrong answer is **as frequent as the right one**, so the vote is close to a draw.",
    },
    "one_sample": "No: each step follows the mean loss of the same digits. It started **64 times the operations**. "
    "With batches of 1 hardly anything changes.",
    "two_digits": "At two thirds all three labels are **equally frequent**. It fails earlier, as among few examples a "
    "wrong label wins by chance.",
    # gallery
    "half_count": "From 2 048 on, float16 goes up **in steps of two**: adding one lands halfway and is rounded back.",
    # tip lab
    **LAB,
    # lesson 0
    **MEASURING,
    # lesson 1
    **ARRAYS,
    # lesson 2
    **DTYPES,
    # lesson 3
    **AUTOGRAD,
    # lesson 4
    **MUTATION,
    # lesson 5
    **DEVICES,
    # lesson 6
    **BOUNDS,
    # lesson 7
    **MEMORY,
    # lesson 8
    **PRECISION,
    # lesson 9
    **FEEDING,
}


def because(key: str, choice: str) -> str:
    """Why this choice of a question is right, or why not. Raises KeyError where there is no such question or choice."""
    found = REASONS[key]
    assert isinstance(found, dict)
    return found[choice]


def reason(key: str) -> Reason:
    """The reason behind a prediction, or one for each choice. Raises KeyError for an unknown key."""
    return REASONS[key]
