"""Tasks of the lesson on arrays: layout, sharing, order, lifetime."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..observe.counters import Counters
from ..tensor import Tensor
from ..tensor.creation import arange
from .checking import NOTHING, Judge, numbers, quiz, task

AXIS = "with an axis, max() gives values and indices, as in PyTorch: take .values of them, or leave the axis out."
SWAPS = "transpose() swaps two axes, as in PyTorch. The method that takes all of them is permute()."
SLIPS = {  # a part of the error in which a habit from NumPy ends, and its hint
    "'ValuesAndIndices' object": AXIS,
    "can't multiply sequence": AXIS,
    "no attribute 'copy'": "copy() is NumPy's name for it. Here and in PyTorch it is clone().",
    "no attribute 'astype'": "astype() is NumPy's name for it. float() and double() change the dtype here.",
    "transpose() takes": SWAPS,
    "transpose() missing": SWAPS,
}


def knows_numpy(judge: Judge) -> Judge:
    """A judge of functions that has a hint for methods of NumPy which have other names here."""

    def judged(answer: Any) -> str:
        try:
            return judge(answer)
        except (AttributeError, TypeError) as error:
            for part, hint in SLIPS.items():
                if part in str(error):
                    return hint
            raise

    return judged


class Largest(Counters):
    """Counters that also know how large the ``largest`` new buffer was."""

    largest = 0

    def _add(self, array: Any, owner: str) -> None:
        before = self.allocated
        super()._add(array, owner)
        self.largest = max(self.largest, self.allocated - before)


PERMUTED = "permute takes the numbers of the old axes, in the order that you want them in."


def _table(*shape: int) -> Tensor:
    """The numbers 0, 1, 2, … in this shape."""
    return arange(int(np.prod(shape)), dtype="float32").reshape(*shape)


def _integers(value: Any) -> tuple[int, ...]:
    return tuple(int(n) for n in numbers(value).ravel())


@task(
    "layout",
    "z has shape (4, 6), float32, and is contiguous. y = z[::2, 1::2].T. Give (shape, strides, offset), in bytes.",
    "an index changes offset, shape and strides; .T swaps the axes; no byte is touched.",
)
def _layout(answer: Any) -> str:
    if not isinstance(answer, (tuple, list)) or len(answer) != 3:
        return "give three things: (shape, strides, offset), such as ((2, 2), (16, 8), 16)."
    shape, strides, offset = _integers(answer[0]), _integers(answer[1]), _integers(answer[2])
    z = _table(4, 6)
    before = z[::2, 1::2]
    y = before.T
    if shape != y.shape:
        if shape == before.shape:
            return "that is the shape before .T."
        return "the shape is not right. How many rows does ::2 take of 4, and how many columns 1::2 of 6?"
    known = (
        (_strides(before), "those are the strides before .T, which swaps them too."),
        (_strides(z), "those are the strides of z. ::2 makes a step twice as long."),
        (_strides(z.T), "those are the strides of z.T. ::2 makes a step twice as long."),
        (_strides(y.contiguous()), "those are the strides of a copy. A view keeps the bytes where they are."),
        (y.stride(), "those are elements, as PyTorch counts. Here every number takes 4 bytes."),
    )
    if strides != _strides(y):
        hints = (hint for wrong, hint in known if strides == wrong)
        return next(hints, "the shape is right. For each axis of y: how many bytes is it from one to the next?")
    if offset == (y.storage_offset() * y.element_size(),):
        return ""
    if offset == (y.storage_offset(),):
        return "shape and strides are right; the offset is in elements. Every number takes 4 bytes."
    return "shape and strides are right. At which byte of z is y[0, 0]?"


def _strides(tensor: Tensor) -> tuple[int, ...]:
    """The strides in bytes."""
    return tuple(tensor.element_size() * step for step in tensor.stride())


SHARES: dict[str, tuple[str, Callable[[Tensor], Tensor], str]] = {  # how it is written, what it does, a hint
    "a": ("x[1:]", lambda x: x[1:], "a slice, as the report took one of `celsius`."),
    "b": ("x[[1, 2]]", lambda x: x[[1, 2]], "a list may hold any rows: does one step lead through all of them?"),
    "c": ("x.T", lambda x: x.T, "which numbers have to move, to read columns as rows?"),
    "d": (
        "x.T.reshape(12)", lambda x: x.T.reshape(12), "0, 4, 8, 1, …: does one step lead from each number to the next?"
    ),
    "e": ("x[2, None]", lambda x: x[2, None], "None adds an axis of length 1. Where does x[2] get its numbers?"),
    "f": ("x.reshape(2, 6)", lambda x: x.reshape(2, 6), "0, 1, 2, …: does one step lead from each number to the next?"),
    "g": ("x.contiguous()", lambda x: x.contiguous(), "it copies what is not stored row after row. How is x stored?"),
}  # fmt: skip
HOW_MANY = ("", "one", "two", "three", "four", "five", "six", "seven")


@task(
    "shares",
    f"x is (3, 4). Which look at the bytes of x? {' '.join(f'({k}) {v[0]}' for k, v in SHARES.items())}",
    "what you write decides: numbers, slices, None and .T give views, a list of positions copies; reshape and "
    "contiguous() copy only where they must.",
)
def _shares(answer: Any) -> str:
    given = {letter for part in answer for letter in str(part).lower() if letter.isalpha()}
    if given - SHARES.keys():
        return f"give letters from {', '.join(SHARES)}, such as 'ab'."
    wrong = []
    for letter, (_, make, _) in SHARES.items():
        x = _table(3, 4)
        with Counters() as counted:
            made = make(x)
        if (counted.allocated == 0 and made.storage is x.storage) != (letter in given):
            wrong.append(letter)
    if not wrong:
        return ""
    are = "is" if len(wrong) == 1 else "are"
    first, (written, _, hint) = wrong[0], SHARES[wrong[0]]
    return (
        f"of your seven decisions, {HOW_MANY[len(wrong)]} {are} wrong. Look at ({first}) {written} on the map: {hint}"
    )


@task(
    "order",
    "y has shape (4, 5, 3) and strides (12, 48, 4), in bytes. In which order, outermost first, do loops over its axes "
    "walk byte after byte?",
    "the innermost loop takes the axis with the smallest stride, the outermost the one with the largest.",
)
def _order(answer: Any) -> str:
    y = _table(60).as_strided((4, 5, 3), (3, 12, 1))
    given, ascending = _integers(answer), tuple(int(i) for i in np.argsort(y.stride()))
    if given == ascending[::-1]:
        return ""
    known = {
        ascending: "that begins with the smallest stride, but the innermost loop, written last, steps most often.",
        (0, 1, 2): "that is the order of the axes. Which of them has the largest stride?",
        tuple(int(i) for i in np.argsort(y.shape)[::-1]): "that sorts the axes by length. What counts is the stride.",
    }
    if sorted(given) != [0, 1, 2]:
        return "give each of the axes 0, 1 and 2 once, such as (2, 0, 1)."
    return known.get(given, "sort the axes by their strides: how far does one step along each of them go?")


@task(
    "keep_first",
    "Fix first_rows(batches): it must return the first row of each batch, and keep no batch alive.",
    "a copy of one row has its own bytes, so the batch behind it can go.",
    function=True,
)
@knows_numpy
def _keep_first(answer: Any) -> str:
    rows, columns, count = 500, 10, 6
    right = [np.arange(columns) + 1000.0 * i for i in range(count)]

    def batches() -> Iterator[Tensor]:
        for i in range(count):
            yield _table(rows, columns) + 1000.0 * i

    batch = rows * columns * 4
    with Counters() as counted:
        kept = answer(batches())
        alive = counted.live
    if kept is None:
        return NOTHING
    kept = list(kept)
    found = [numbers(row) for row in kept]
    if any(isinstance(row, (list, tuple)) for row in kept):
        return "those are lists of Python numbers, which take more bytes each than a float32. Keep tensors."
    if [row.shape for row in found] == [(1, columns)] * count:
        return f"each has shape (1, {columns}), a table of one row. The first row itself has shape ({columns},)."
    if len(found) != count or not all(np.array_equal(a, b) for a, b in zip(found, right, strict=True)):
        return "those are not the first rows of the batches, one from each, in order."
    if alive < batch:
        late = "right in the end, but until then all batches stay alive. Copy each row as soon as you take it."
        return late if counted.peak > (count - 0.5) * batch else ""
    made = counted.allocated - 2 * count * batch  # a batch takes two buffers: its numbers, and those plus 1000·i
    words = f"{alive:,} bytes stay alive for {count * columns * 4} bytes of rows: ".replace(",", " ")
    if made <= 0:
        return f"{words}nothing was copied. detach() shares, and contiguous() copies only what is out of order."
    if made >= count * batch:
        return f"{words}whole batches were copied, and a row keeps its copy alive. Take the row first, then copy it."
    return f"{words}rows were copied, but something still points into the batches."


@task(
    "centre",
    "Fix centre(x): it must return x minus its mean, leave x as it was, and make only one new buffer.",
    "the difference gets its own buffer anyway, so there is nothing to copy first.",
    function=True,
)
def _centre(answer: Any) -> str:
    x = _table(3, 4)
    before = x.numpy().copy()
    with Counters() as counted:
        returned = answer(x)
    if returned is None:
        return NOTHING
    if not np.array_equal(x.numpy(), before):
        return "x itself has changed. x[:] copies a list, but gives a view of a tensor, and -= writes through it."
    got = numbers(returned)
    if got.shape != before.shape or not np.allclose(got, before - before.mean()):
        return "x stayed as it was, but that is not x minus its mean."
    buffers = counted.allocated / x.nbytes
    if buffers > 1:
        return f"right, but it makes {buffers:g} buffers as large as x. One is enough."
    return ""


@task(
    "nchw",
    "Write to_nchw(images): images come in as (N, H, W, C) and go out as (N, C, H, W), without a new byte.",
    "only the order of the strides changes: the channels are still side by side in memory.",
    function=True,
)
@knows_numpy
def _nchw(answer: Any) -> str:
    images = _table(2, 4, 5, 3)
    right = images.numpy().transpose(0, 3, 1, 2)
    with Counters() as counted:
        returned = answer(images)
    if returned is None:
        return NOTHING
    got = numbers(returned)
    if got.shape != right.shape:
        if got.shape == (2, 3, 5, 4):
            return "height and width have changed places: (2, 3, 5, 4) should be (2, 3, 4, 5)."
        return f"the shape is {got.shape}, and it should be {right.shape}. {PERMUTED}"
    if not np.array_equal(got, right):
        row_after_row = tuple(int(np.prod(got.shape[i + 1 :])) for i in range(4))
        if isinstance(returned, Tensor) and returned.stride() != row_after_row:
            return (
                "the shape is right and the pixels are not: a stride is wrong. For each axis of the result, how far "
                "apart are two neighbours in images? as_strided counts elements."
            )
        return (
            "the shape is right and the pixels are not: reshape keeps the order in memory and cuts it elsewhere, so "
            "colours and places mix. Move the axes instead."
        )
    if counted.allocated:
        return f"right, but {counted.allocated} bytes are new. Which step copies? Leave it out."
    return "" if isinstance(returned, Tensor) else "the pixels are right. Return the tensor, not its contents."


@task(
    "frames",
    "Write frames(signal, size, hop): a view of shape (count, size), a window of `size` samples every `hop`.",
    "overlapping windows are one buffer read with two strides: to the next window, and to the next sample.",
    function=True,
)
def _frames(answer: Any) -> str:
    stereo = _table(12, 2)
    for what, signal, size, hop in (
        ("12 samples", _table(12), 4, 2),
        ("11 samples", _table(11), 4, 3),
        ("9 samples", _table(9), 3, 3),
        ("the left channel, stereo[:, 0]", stereo[:, 0], 4, 2),
        ("the right channel, stereo[:, 1]", stereo[:, 1], 4, 2),
    ):
        case = f"frames({what}, size={size}, hop={hop})"
        with Counters() as counted:
            returned = answer(signal, size, hop)
        if returned is None:
            return NOTHING
        hint = _frames_hint(numbers(returned), signal.numpy(), size, hop)
        if hint:
            return f"{case}: {hint}"
        if counted.allocated:
            return f"{case}: right, but {counted.allocated} bytes are new. A view needs a shape and two strides."
    return ""


def _frames_hint(got: np.ndarray[Any, Any], signal: np.ndarray[Any, Any], size: int, hop: int) -> str:
    """What is wrong with the windows of one signal; "" if nothing is."""
    right = np.stack([signal[i : i + size] for i in range(0, len(signal) - size + 1, hop)])
    if got.shape == right.shape:
        if np.array_equal(got, right):
            return ""
        if signal.strides[0] != signal.itemsize:
            return "in that signal the next sample is not the next element. Use signal.stride(0)."
        if np.array_equal(got[:, 0], right[:, 0]):
            return "each window begins right and goes wrong after that. How far is it from one sample to the next?"
        return "the shape is right, the samples are not. Strides: first to the next window, then to the next sample."
    if got.shape == right.shape[::-1]:
        return f"the shape is {got.shape}: windows come first, so {right.shape}."
    if got.ndim == 2 and got.shape[1] == size:
        return f"there are {len(got)} windows, but {len(right)} fit. How many hops before the last window ends?"
    return f"the shape is {got.shape}, and it should be {right.shape}."


quiz(
    "exit_arrays",
    "Four letters: the line that leaves x as it was; what a returned corner keeps alive; what helps a loop over m.T; "
    "the byte at which an element of a turned view begins.",
    "names, buffers and their order: you have all three.",
    (
        {
            "a": "question 1: x[1] is a view, and *= writes through it.",
            "b": "",
            "c": "question 1: x.T reads the bytes of x, and *= writes through it.",
        },
        {
            "a": "question 2: that is all that the corner shows, but a buffer cannot be freed in parts.",
            "b": "question 2: the corner's tensor holds the buffer, whatever happens to the name image.",
            "c": "",
        },
        {
            "a": "",
            "b": "question 3: then every step pays for a copy, and each copy reads down the columns once.",
            "c": "question 3: the count is equal, but read down the columns, each cache line gives one number at a "
            "time.",
        },
        {
            "a": "question 4: those are elements. A float32 takes 4 bytes.",
            "b": "question 4: that is v[0, 1], as if .T had not swapped the axes. Which number of t is v[1, 0]?",
            "c": "",
        },
    ),
    'give one of a, b and c for each of the four questions, such as "aaaa".',
)


@task(
    "warmest",
    "Fix warmest(rows): the highest of some °C, in °F. It must leave rows as they were, and make no buffer as large.",
    "the maximum is one number, so only that one need be converted.",
    function=True,
)
@knows_numpy
def _warmest(answer: Any) -> str:
    table = _table(6, 40) / 8 - 5  # °C, from −5 to 24.9
    for rows in (table[1:4], table[[1, 2]], table[0]):
        before, right = rows.numpy().copy(), float(rows.numpy().max()) * 1.8 + 32
        counted = Largest()
        with counted:
            returned = answer(rows)
        if returned is None:
            return NOTHING
        if not np.array_equal(rows.numpy(), before):
            return "the readings have changed. *= and += write into the bytes that rows reads."
        if isinstance(returned, tuple):
            return AXIS
        got = numbers(returned)
        if got.size != 1:
            return f"give one number, the highest: the result has shape {got.shape}."
        if not np.isclose(got.item(), right, rtol=1e-5):
            found = f"{before.max():.1f} °C is {right:.1f} °F, not {got.item():.1f}"
            return f"the readings stayed, but a highest reading of {found}."
        if counted.largest >= rows.nbytes:
            sizes = f"{counted.largest} bytes, and rows has {rows.nbytes}"
            return f"right, and the readings stay, but one new buffer has {sizes}. How many readings need converting?"
    return ""
