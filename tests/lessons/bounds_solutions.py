"""Right and wrong answers to the tasks of the lesson on what bounds code."""

from __future__ import annotations

from typing import Any

import numpy as np

import tinygrad_edu as tg
from tinygrad_edu.lessons.bounds_programs import chain, padded

BOUNDS_SOLUTIONS: dict[str, str] = {
    "which_cost": 'answer = "sbab"',
    "how_many_bytes": "answer = [32, 12]",
    "no_branch": """
def limited(x):
    largest = x.abs().amax()
    return x / tg.where(largest > 1, largest, 1.0)

answer = limited""",
    "one_program": """
from tinygrad_edu.lessons.bounds_programs import chain, padded

def total(f, batches, rates):
    found = 0.0
    for x, rate in zip(batches, rates):
        found += f(padded(x, 16), tg.tensor(rate)).item()
    return found

answer = total""",
    "my_own": """
def mine(x):
    return ((x * x + 1).sqrt() - x).exp() * 0.5

answer = (mine, 6, 1)""",
    "quiz_bounds": 'answer = "bab"',
}


def _total(pad: bool = True, as_tensor: bool = True, give: Any = lambda found: found, times: int = 1) -> Any:
    """Task 4, more or less right."""

    def total(f: Any, batches: Any, rates: Any) -> Any:
        found = 0.0
        for x, rate in list(zip(batches, rates, strict=False))[:: 1 if times else 2]:
            x = padded(x, 16) if pad else x
            found += f(x, tg.tensor(rate) if as_tensor else rate).item() * max(times, 1)
        return give(found)

    return total


def _uncompiled(f: Any, batches: Any, rates: Any) -> Any:
    return sum((x * rate).tanh().square().sum().item() for x, rate in zip(batches, rates, strict=False))


def _recompiled(f: Any, batches: Any, rates: Any) -> Any:
    f = tg.compile(f, dynamic=True)
    return sum(f(x, tg.tensor(rate)).item() for x, rate in zip(batches, rates, strict=False))


def _mine(x: Any) -> Any:
    return ((x * x + 1).sqrt() - x).exp() * 0.5


def _centred(x: Any) -> Any:
    return ((x - x.mean()).abs() + 1).exp()


def _branching(x: Any) -> Any:
    return x * 2 if x.sum().item() > 0 else x


def _scaled(x: Any) -> Any:
    """Task 3 by a factor."""
    largest = x.abs().amax()
    return x / tg.maximum(largest, tg.ones_like(largest))


BOUNDS_ALSO_RIGHT: dict[str, list[Any]] = {
    "which_cost": ["SBAB", "s b a b"],
    "how_many_bytes": [(32, 12), np.array([32.0, 12.0])],
    "no_branch": [_scaled, lambda x: x / x.abs().amax().clamp(min=1)],
    "one_program": [_total(), _total(give=tg.tensor)],
    "my_own": [(_mine, 6, 1), [_mine, 6, 1]],
    "quiz_bounds": ["b a b", "BAB"],
}

BOUNDS_WRONG: dict[str, list[tuple[Any, str]]] = {
    "which_cost": [
        ("sba", "give four letters"),
        ("xbab", "give four letters"),
        ("bbab", "800 bytes take 0.08 µs"),
        ("saab", "number 2: 10 million numbers"),
        ("sbbb", "used 1,000 times"),
        ("sbaa", "used once"),
    ],
    "how_many_bytes": [
        (32, "give two numbers"),
        ("many", "give two numbers"),
        ((8, 3), "each has four bytes"),
        ((20, 12), "the next one reads it again"),
        ((24, 12), "two of the three operations"),
        ((12, 12), "that is one kernel"),
        ((36, 12), "what each reads"),
        ((32, 16), "although it is used twice"),
        ((32, 32), "what comes in"),
    ],
    "no_branch": [
        (_branching, "it cannot be compiled"),
        (lambda x: x / x.abs().amax(), "and should give"),
        (lambda x: tg.where(x.abs().amax() > 1, x / x.abs().amax(), x), "so that nothing is divided by 0"),
        (tg.compile(lambda x: x / x.abs().amax().clamp(min=1)), "as it is written"),
        (lambda x: x, "for [3.0, 4.0] it gives"),
        (lambda x: x.sum(), "return a tensor like x"),
        (lambda x: None, "is there a return?"),
    ],
    "one_program": [
        (_total(pad=False, as_tensor=False), "5 programs are made"),
        (_total(pad=False), "rows of zeros add nothing"),
        (_total(as_tensor=False), "how could it be handed over"),
        (_total(give=lambda found: None), "is there a return?"),
        (_total(give=lambda found: "much"), "return one number"),
        (_total(times=2), "and should be"),
        (_total(times=0), "call f for each batch"),
        (_uncompiled, "call f for each batch"),
        (_recompiled, "f is compiled already"),
    ],
    "my_own": [
        (_mine, "give your function and two numbers"),
        ((_mine, 6), "give your function and two numbers"),
        ((_branching, 2, 1), "it cannot be recorded"),
        ((lambda x: x * 2, 1, 1), "at least 5"),
        ((lambda x: x.cumsum(0).cumsum(0).cumsum(0).cumsum(0).cumsum(0), 5, 5), "as many launches: nothing is gained"),
        ((lambda x: x + 1 + 1 + 1 - 1 - 1, 5, 1), "these are add and sub only"),
        ((_mine, 5, 1), "its recording does not have 5"),
        ((_mine, ..., 2), "predict two whole numbers"),
        ((lambda x: x.reshape(10, 100).abs().exp() * 2 + 1 - x.mean(), 7, 5), "are in one kernel"),
        ((_mine, 6, 2), "mul (v1) and add (v2) are in one kernel"),
        ((_centred, 4, 2), "a mean is two"),
        ((_centred, 6, 2), "v1 is one by itself: sum does not work"),
        ((_centred, 6, 5), "are in one kernel"),
        ((lambda x: (x * 2).exp() + (x * 2).exp() - x.abs() / x.relu(), 9, 4), "equal operations run once"),
        ((lambda x: x.reshape(10, 100).abs().exp() * 2 + 1 - x.mean(), 8, 3), "reshape only looks at memory"),
        ((lambda x: (x**2 + 1).exp().abs() * 2, 5, 1), "this compiler merges no power"),
        ((lambda x: 0.5 * x * (1 + (0.8 * (x + 0.045 * x * x * x)).tanh()), 9, 1), "'an activation' of the builder"),
        ((chain, 8, 1), "the chain of part 2"),
    ],
    "quiz_bounds": [
        ("aab", "twice the arithmetic"),
        ("cab", "bytes are few here"),
        ("bbb", "the arithmetic is the same"),
        ("bcb", "starts do not count"),
        ("baa", "each length is recorded"),
        ("bac", "a program is made for shapes"),
        ("b", "give three letters"),
    ],
}
