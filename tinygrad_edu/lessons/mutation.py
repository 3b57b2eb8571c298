"""Tasks of the lesson on writing in place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import guard
from ..errors import AutogradError, InplaceError, MemoryGuardError
from ..observe.counters import Counters
from ..tensor import Tensor, from_numpy, tensor
from ..tensor.creation import full
from .checking import NOTHING, numbers, quiz, task

# A buffer that is filled again --------------------------------------------------------------------------------

_BLOCKS = np.array([[-3.0, 2.0, -1.0], [2.0, 3.0, 1.0]])
_LOADS = np.array([[-2.0, 3.0, -1.0], [7.0, 9.0, 4.0]])
_STEPS, _RATE = 30, 0.05


@task(
    "reader",
    "Fix fit(read_into, loads, steps, lr): it must find the factor that fits all blocks best, with the guard on.",
    "each product has numbers of its own now, or backward has used them before the next block arrives.",
    function=True,
)
def _reader(answer: Any) -> str:
    unguarded: list[bool] = []
    empty: list[Any] = []  # what lay in the buffer before the first block

    def read_into(buffer: Any, block: int) -> None:
        unguarded.append(not guard.is_on())
        if not empty:
            empty.append(np.array(buffer, dtype="float32"))
        buffer[:] = _BLOCKS[block]

    try:
        with guard.on(), np.errstate(all="ignore"):  # an array that nobody has filled may hold anything
            returned = answer(read_into, _LOADS.astype("float32"), _STEPS, _RATE)
    except MemoryGuardError:
        return (
            "the write is still refused. Which tensor reads the buffer's own bytes then, and who needs them? "
            "print(tg.guard.explain(buffer)) before a block is read tells you."
        )
    except AutogradError as error:
        if "nothing that it was computed from" in str(error):
            return "no gradient reaches w: detach() and no_grad() cut the graph, and w with it. Copy the readings."
        raise
    except TypeError as error:
        if "NoneType" in str(error):
            return "w.grad is None at the step: was it emptied after backward()?"
        raise
    if returned is None:
        return NOTHING
    found = returned[0] if isinstance(returned, (tuple, list)) and returned else returned
    got = float(numbers(found).reshape(()))
    for factor, hint in _factors().items():
        if np.isclose(got, factor, rtol=1e-3):
            return hint
    if empty and _same(got, _descend(lambda w: float((2 * empty[0] * (w * empty[0] - _LOADS)).mean(1).sum()))):
        return "x was copied once, before any block was read, so it never sees one. When must the copy be made?"
    if any(unguarded):
        return "the guard is off while a block is read, and the factor is wrong. Repair what the guard found."
    return (
        f"for the blocks of this check, which are other ones than yours, the factor is {got:.3f}. "
        "Does each step follow the losses of both blocks?"
    )


def _descend(slope: Callable[[float], float]) -> float:
    """Where a descent along a slope ends."""
    w = 0.0
    with np.errstate(all="ignore"):
        for _ in range(_STEPS):
            w -= _RATE * slope(w)
    return w


def _same(got: float, end: float) -> bool:
    """Whether a descent ended there, or left all bounds as that one did."""
    return bool(np.isclose(got, end, rtol=1e-3)) or not (np.isfinite(got) or abs(end) < 1e30)


def _pull(w: float, readings: Any, block: int) -> float:
    """The slope of a block's loss, if backward meets these readings."""
    return float(2 * (readings * (w * _BLOCKS[block] - _LOADS[block])).mean())


def _factors() -> dict[float, str]:
    """Where right and wrong programs end, and what to say of each."""
    first, second = _BLOCKS
    descend, pull = _descend, _pull

    def swapped(w: float) -> float:
        rows = (first, _LOADS[1]), (second, _LOADS[0])
        return float(sum(2 * (readings * (w * readings - load)).mean() for readings, load in rows))

    def one_by_one(w: float) -> float:
        moved = w - _RATE * pull(w, first, 0)
        moved -= _RATE * pull(moved, second, 1)
        return (w - moved) / _RATE

    return {
        descend(lambda w: pull(w, first, 0) + pull(w, second, 1)): "",
        descend(lambda w: pull(w, second, 0) + pull(w, second, 1)): "no error, but backward still reads the second "
        "block's readings for both. A switched-off guard only hides that.",
        descend(lambda w: pull(w, second, 1)): "w follows the last block alone. Is .grad emptied between the blocks?",
        descend(lambda w: pull(w, first, 0)): "w follows the first block alone. Does the copy see the second one?",
        descend(swapped): "each block meets the loads of the other one. Is the copy made before the read?",
        descend(lambda w: 2 * pull(w, first, 0) + pull(w, second, 1)): "the first block counts twice: one backward of "
        "its own, and one more through the sum.",
        descend(one_by_one): "w moves after each block. The step belongs after the losses of both.",
    }


# Who needs the old numbers ------------------------------------------------------------------------------------

WRITTEN = "t * 3", "t ** 2", "t.exp()", "t.sin()", "t - w", "t * w", "t.mean()"
_ABOUT = {
    "a": "its derivative is 3, whatever t is",
    "b": "its derivative is 2 * t",
    "c": "its derivative is a number that exp has just computed, and that does not lie in a",
    "d": "its derivative is the cosine of t",
    "e": "its derivatives are 1 and −1",
    "f": "w wants a gradient too, and its derivative is t",
    "g": "its derivative is one third for each number",
}


def _locks(written: str) -> bool:
    """Whether the guard locks the array that ``t`` reads, once this is computed."""
    array = np.array([1.0, 2.0, 3.0])
    t, w = from_numpy(array).requires_grad_(), tensor([3.0, 2.0, 1.0], requires_grad=True, dtype="float64")
    with guard.on():
        result = eval(written, {"t": t, "w": w}).sum()
        locked = not array.flags.writeable
    del result
    return locked


@task(
    "holders",
    "Which of seven operations need the old numbers of a?",
    "an operation needs old numbers where its derivative reads them, and it may have saved its result instead.",
)
def _holders(answer: Any) -> str:
    given = {letter for letter in str(answer).lower() if letter.isalpha()}
    if not given <= set(_ABOUT) or isinstance(answer, (int, float)):
        return 'give letters from a to g, such as "ab".'
    right = {letter for letter, written in zip(_ABOUT, WRITTEN, strict=True) if _locks(written)}
    wrong = sorted(given ^ right)
    if not wrong:
        return ""
    count = "one is wrong" if len(wrong) == 1 else f"{len(wrong)} are wrong"
    letter = wrong[0]
    return f"{count}. Look at ({letter}) {WRITTEN['abcdefg'.index(letter)]}: {_ABOUT[letter]}. Try it in the lens."


# A layer that writes over what it saved -----------------------------------------------------------------------


@task(
    "layer",
    "Fix layer(x, w) with as few new buffers as the repair allows.",
    "only the write over a saved result had to go; what nobody saved may be written to.",
    function=True,
)
def _layer(answer: Any) -> str:
    x = tensor(np.linspace(-1, 1, 12).reshape(4, 3), dtype="float64")
    target = tensor(np.sin(np.arange(20.0)).reshape(4, 5), dtype="float64")

    def weights() -> Tensor:
        return tensor(np.linspace(-0.8, 0.9, 15).reshape(3, 5), dtype="float64", requires_grad=True)

    kept, w, again = x.numpy().copy(), weights(), weights()
    counted = Counters()
    with counted:
        returned = answer(x, w)
    if returned is None:
        return NOTHING
    right = 2 * (x @ again + 0.5).sigmoid()
    right = right - right.mean()
    if not np.array_equal(x.numpy(), kept):
        return "x has changed: *= and -= write into the bytes of what stands left of them."
    if (
        not isinstance(returned, Tensor)
        or returned.shape != right.shape
        or not np.allclose(returned.detach().numpy(), right.detach().numpy())
    ):
        return "the result has changed. It is 2 * sigmoid(x @ w + 0.5), less its mean."
    (right * target).sum().backward()
    try:
        (returned * target).sum().backward()
    except InplaceError as error:
        return f"{error.tried}: {error.why.split(', at ')[0]}. Who wrote into that buffer before, and who last?"
    except AutogradError:
        return "the result has no graph: no gradient can reach w. Keep the recording, and change the write."
    if w.grad is None or not np.allclose(w.grad.numpy(), again.grad.numpy()):
        return "backward runs, but the gradient of w is another one. Is a part of the graph cut off?"
    spare = counted.allocated // right.nbytes - 3
    if spare > 0:
        return (
            f"right, with {spare} more buffer{'s' * (spare > 1)} than needed. Which of the writes changed numbers that "
            "nobody had saved?"
        )
    return ""


# Which switch -------------------------------------------------------------------------------------------------

quiz(
    "switches",
    "Four situations, answered by four letters.",
    "eval is about what layers compute, no_grad about recording, the guard about writes to what was recorded.",
    (
        {
            "a": "situation 1: then dropout still drops: a finished model would be judged with half of it missing.",
            "b": "situation 1: right for dropout. Who needs the graph that is still recorded?",
            "c": "",
            "d": "situation 1: without a record the guard has nothing to lock.",
        },
        {
            "a": "",
            "b": "situation 2: then all fifty are equal: eval switches off what makes them differ.",
            "c": "situation 2: the recording may stop, but with eval all fifty are equal.",
            "d": "situation 2: the guard changes neither dropout nor the recording.",
        },
        {
            "a": "situation 3: a gradient is wanted, so something must be recorded.",
            "b": "",
            "c": "situation 3: dropout should be off, but a gradient needs the recording.",
            "d": "situation 3: the guard changes no number that a right program computes.",
        },
        {
            "a": "situation 4: it learns, so it needs the recording.",
            "b": "situation 4: eval does not touch arrays, and it would switch dropout off during training.",
            "c": "situation 4: it learns, so it needs the recording.",
            "d": "",
        },
    ),
    'give one letter from a to d for each of the four situations, such as "abcd".',
)

# Elsewhere: a level that falls hour by hour -------------------------------------------------------------------


@task(
    "decay",
    "Fix decay(rate, hours): backward() must give the gradient of rate.",
    "what a product has saved is no longer written to. All views of a tensor share one version, whichever numbers are "
    "written.",
    function=True,
)
def _decay(answer: Any) -> str:
    for hours, start, dtype in ((3, 0.5, "float32"), (6, 0.9, "float64")):
        # float32 first: the product of a float32 level and a float64 rate saves a converted copy, and hides the write
        rate = full((), start, dtype=dtype, requires_grad=True)
        returned = answer(rate, hours)
        if returned is None:
            return NOTHING
        if isinstance(returned, (list, tuple)):
            return "a list of levels is halfway: the caller wants one tensor."
        got = numbers(returned.detach() if isinstance(returned, Tensor) else returned)
        right = start ** np.arange(hours + 1.0)
        if got.shape != right.shape:
            return f"for {hours} hours the result has shape {got.shape}, not {right.shape}."
        if not np.allclose(got, right):
            return f"with a rate of {start} the levels begin {right[0]:g}, {right[1]:g}, {right[2]:g}."
        if not isinstance(returned, Tensor) or not returned.requires_grad:
            return "the levels are right, but no gradient can reach rate: something has cut the graph."
        try:
            returned.sum().backward()
        except InplaceError as error:
            return f"{error.tried}. Which statement writes into a buffer from which a product has saved a number?"
        slope = float((np.arange(hours + 1.0)[1:] * right[:-1]).sum())
        if rate.grad is None or not np.isclose(rate.grad.item(), slope, rtol=1e-4):
            return (
                "the levels are right and the gradient is not: each level depends on rate, also through the one before."
            )
    return ""


quiz(
    "quiz_mutation",
    "Four questions, answered by four letters.",
    "a write is harmless where no derivative needs the old numbers; where one does, somebody has to notice.",
    (
        {
            "a": "question 1: “output 0 of Exp” says whose buffer was written to.",
            "b": "",
            "c": "question 1: gradients are made in backward. This is about what was saved before it.",
        },
        {
            "a": "question 2: t reads the bytes of b. Who writes into them?",
            "b": "question 2: the guard locks what t reads: the bytes of b.",
            "c": "",
        },
        {
            "a": "",
            "b": "question 3: a sum saves nothing, and the square saved the sum, which has a buffer of its own.",
            "c": "question 3: the square saved x + b. Where do these numbers lie?",
        },
        {
            "a": "question 4: eval changes what dropout does. Does it stop the recording?",
            "b": "",
            "c": "question 4: the guard is on by default. Is anything recorded in eval mode?",
        },
    ),
    'give one letter for each of the four questions, such as "abca".',
)
