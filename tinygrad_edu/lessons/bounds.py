"""Tasks of the lesson on what bounds code: which cost, how many bytes, a branch, one program, one's own function."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from ..compiler import Compiled, TraceError, compile, cost_of, optimised, trace
from ..compiler.passes import VIEWS
from ..core.base import TensorBase
from ..tensor import Tensor, tensor
from ..tensor.creation import ones
from ..views.fusion import EXAMPLES
from .bounds_programs import RATES, batches, chain, miscounted, scaled
from .checking import NOTHING, numbers, quiz, task

COSTS = {"s": "starting it", "b": "moving its bytes", "a": "its arithmetic"}
LIMITS = "sbab"  # of the four operations of task 1
LEAST, KINDS = 5, 3  # operations of one's own function, and how many different ones


@task(
    "which_cost",
    "What limits each of the four operations? Four letters: s (starting), b (bytes), a (arithmetic).",
    "work out all three; the largest decides.",
)
def _which_cost(answer: Any) -> str:
    given = [letter for letter in str(answer).lower() if letter.isalpha()]
    if len(given) != 4 or not set(given) <= set(COSTS):
        return "give four letters from s, b and a, such as answer = 'ssss'."
    hints = (
        "100 numbers: 800 bytes take 0.08 µs, and a start takes 1 µs.",
        "10 million numbers: how long do 80 MB take at 10 GB/s, and how long do 10 million operations?",
        "a number of the matrix is used 1,000 times: compare 2 billion operations with 12 MB.",
        "each number of the matrix is used once: compare 2 million operations with 4 MB.",
    )
    wrong = next((place for place, one in enumerate(given) if one != LIMITS[place]), None)
    return "" if wrong is None else f"number {wrong + 1}: {hints[wrong]}"


@task(
    "how_many_bytes",
    "Bytes per number of (x + y) * 2 - x in float32: as three operations, and as one kernel.",
    "a kernel reads each operand once, however often it uses it, and writes only what leaves it.",
)
def _how_many_bytes(answer: Any) -> str:
    try:
        given = numbers(answer).reshape(-1)
    except (TypeError, ValueError):
        given = np.zeros(0)
    if given.size != 2:
        return "give two numbers, such as [40, 20]."
    apart, fused = given
    if apart == 8 and fused == 3:
        return "you count numbers: each has four bytes."
    if apart != 32:
        known = {
            20.0: "what an operation gives is written, and the next one reads it again.",
            24.0: "two of the three operations read two arrays.",
            12.0: "that is one kernel.",
        }
        return f"as three operations: {known.get(float(apart), 'write down what each reads, and what it writes.')}"
    if fused == 16:
        return "as one kernel: x is read once, although it is used twice."
    return "" if fused == 12 else "as one kernel: what comes in, and what goes out?"


@task(
    "no_branch",
    "Fix limited(x), so that it can be compiled, and gives the same for every x.",
    "everything is computed, and chosen element by element: a program can hold that, and no branch.",
    function=True,
)
@np.errstate(invalid="ignore", divide="ignore")  # of zeros
def _no_branch(answer: Any) -> str:
    if isinstance(answer, Compiled):
        return "hand in the function as it is written: answer = limited."
    compiled = compile(answer, fullgraph=True)
    for given in ([3.0, 4.0], [0.3, 0.4], [-6.0, 8.0], [0.0, 0.0]):
        x = tensor(given)
        right = np.asarray(given) / max(1.0, float(np.abs(given).max()))
        try:
            found = compiled(x)
        except TraceError as error:
            if "where" in getattr(getattr(answer, "__code__", None), "co_names", ()) and "reading" in error.tried:
                return "where takes a tensor as its condition: leave out .item(), or float, before it."
            reads = "reading" in error.tried or "truth" in error.tried
            told = "Python reads a number of it, as if, item and float do" if reads else error.tried
            return f"it cannot be compiled: {told}. Which operation chooses without Python's if?"
        if found is None:
            return NOTHING
        if not isinstance(found, TensorBase) or tuple(found.shape) != (2,):
            return "return a tensor like x."
        if not np.allclose(found.numpy(), right, rtol=1e-5, atol=1e-7):
            return f"for {given} it gives {found.tolist()}, and should give {right.tolist()}."
    if len(compiled.ledger) > 1:
        return "it is recorded anew for other numbers: what of Python does it read?"
    zeros = tensor([0.0, 0.0], requires_grad=True)
    answer(zeros).sum().backward()
    if zeros.grad is None or zeros.grad.tolist() != [1.0, 1.0]:
        got = None if zeros.grad is None else zeros.grad.tolist()
        return (
            f"for [0.0, 0.0] its gradient is {got}, and should be 1: the side that is not chosen is differentiated "
            "too. What could be chosen, so that nothing is divided by 0?"
        )
    return ""


@task(
    "one_program",
    "Fix total(f, batches, rates), so that one program serves all calls, with the same result.",
    "give shapes that stay, and numbers as tensors: then the key stays as well.",
    function=True,
)
def _one_program(answer: Any) -> str:
    given = batches()
    right = sum(float(scaled(x, rate).item()) for x, rate in zip(given, RATES, strict=False))
    f = compile(scaled)
    found = answer(f, given, RATES)
    if found is None:
        return NOTHING
    value = found.item() if isinstance(found, Tensor) else found
    if not isinstance(value, (int, float)):
        return "return one number, the sum."
    if not f.ledger or sum(one.calls for one in f.ledger) < len(given):
        if "compile" in getattr(getattr(answer, "__code__", None), "co_names", ()):
            return "f is compiled already: call f itself, and change what it is given. (dynamic=True records twice.)"
        return "call f for each batch."
    if not np.isclose(value, right, rtol=1e-4):
        return f"the sum is {value:.4f}, and should be {right:.4f}: each batch has its own rate, and zeros add nothing."
    made = len(f.ledger)
    if made == 1:
        return ""
    rows = len({one.signature for one in f.ledger}) > 1
    return f"{made} programs are made. " + (
        "Not all batches have the same number of rows: rows of zeros add nothing to the sum."
        if rows
        else "The rate is another number in each call: how could it be handed over, so that only its value changes?"
    )


@task(
    "my_own",
    "A function of your own, the operations of its recording, and the launches that are left.",
    "a device would have fewer launches. Here each operation is still a NumPy call: race it.",
)
def _my_own(answer: Any) -> str:
    if not isinstance(answer, (tuple, list)) or len(answer) != 3 or not callable(answer[0]):
        return "give your function and two numbers: answer = (mine, 20, 9)."
    function, before, after = answer
    if not all(isinstance(one, int) and not isinstance(one, bool) for one in (before, after)):
        return "predict two whole numbers: answer = (mine, 20, 9)."
    try:
        program = trace(function, 0.5 * ones(1000))
    except TraceError as error:
        return f"it cannot be recorded: {error.tried}."
    names = [one.name for one in program.equations]
    recorded, kernels = cost_of(program).launches, cost_of(optimised(program)).launches
    if recorded < LEAST:
        return f"its recording has {recorded} operations. Let it have at least {LEAST}."
    if kernels == recorded:
        power = "A power is a launch of its own, and a product is not. " if "power" in names else ""
        return (
            f"compiled, it still has as many launches: nothing is gained. {power}Which operations could be one kernel?"
        )
    taken = next((name for name, known in _known().items() if names == known), "")
    if taken:
        return f"that is {taken}, which you have seen. Change what it computes."
    kinds = set(names) - VIEWS
    if len(kinds) < KINDS:
        return f"these are {' and '.join(sorted(kinds))} only. Let it have at least {KINDS} different operations."
    return miscounted(program, before, after)


@cache
def _known() -> dict[str, list[str]]:
    """The operations of functions that the lesson and its builder show, which are not one's own."""
    found = {f"{name!r} of the builder": trace(function, *make(1024)) for name, (function, make) in EXAMPLES.items()}
    found["the chain of part 2"] = trace(chain, ones(1024))
    return {name: [one.name for one in program.equations] for name, program in found.items()}


quiz(
    "quiz_bounds",
    "1 the loop, 2 the chain, 3 the sentences",
    "first find out what limits a program, then choose the tool.",
    (
        {"a": "twice the arithmetic helps only where arithmetic is the limit.", "b": "",
         "c": "bytes are few here: what takes the time before anything is moved?"},
        {"a": "", "b": "the arithmetic is the same as before.", "c": "at this size starts do not count."},
        {"a": "then each length is recorded, up to eight of them.",
         "b": "", "c": "a program is made for shapes, and a length as a tensor changes no shape."},
    ),
    "give three letters, one for each question, such as answer = 'abc'.",
)  # fmt: skip
