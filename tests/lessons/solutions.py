"""One right answer and the usual wrong ones for each task. They are nowhere else: no notebook gives them away."""

from __future__ import annotations

from typing import Any

import numpy as np

import tinygrad_edu as tg

from .bounds_solutions import BOUNDS_ALSO_RIGHT, BOUNDS_SOLUTIONS, BOUNDS_WRONG
from .device_solutions import DEVICE_ALSO_RIGHT, DEVICE_SOLUTIONS, DEVICE_WRONG
from .dtype_solutions import DTYPE_ALSO_RIGHT, DTYPE_SOLUTIONS, DTYPE_WRONG
from .feeding_solutions import FEEDING_ALSO_RIGHT, FEEDING_SOLUTIONS, FEEDING_WRONG
from .lab_solutions import LAB_SOLUTIONS, LAB_WRONG
from .measuring_solutions import MEASURING_ALSO_RIGHT, MEASURING_SOLUTIONS, MEASURING_WRONG
from .memory_solutions import MEMORY_ALSO_RIGHT, MEMORY_SOLUTIONS, MEMORY_WRONG
from .mutation_solutions import MUTATION_ALSO_RIGHT, MUTATION_SOLUTIONS, MUTATION_WRONG
from .precision_solutions import PRECISION_ALSO_RIGHT, PRECISION_SOLUTIONS, PRECISION_WRONG

# task: the source that replaces `answer = ...` in the notebook
SOLUTIONS: dict[str, str] = {
    "welcome_rate": "answer = 3",
    "welcome_width": "answer = 8",
    "welcome_habit": 'answer = "loss in a Python loop"',
    "welcome_next": "answer = 0.4",
    "welcome_epoch": """
def epoch(model, optimizer, loss_function, batches):
    total = 0.0
    for x, y in batches:
        optimizer.zero_grad()
        loss = loss_function(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / len(batches)

answer = epoch""",
    "layout": "answer = ((3, 2), (8, 48), 4)",
    "shares": 'answer = "acefg"',
    "order": "answer = (1, 0, 2)",
    "keep_first": """
def first_rows(batches):
    return [batch[0].clone() for batch in batches]

answer = first_rows""",
    "centre": """
def centre(x):
    return x - x.mean()

answer = centre""",
    "nchw": """
def to_nchw(images):
    return images.permute(0, 3, 1, 2)

answer = to_nchw""",
    "frames": """
def frames(signal, size, hop):
    step = signal.stride(0)
    count = (len(signal) - size) // hop + 1
    return signal.as_strided((count, size), (hop * step, step))

answer = frames""",
    "exit_arrays": 'answer = "bcac"',
    "warmest": """
def warmest(rows):
    return rows.max() * 1.8 + 32

answer = warmest""",
    "fork": "answer = 7",
    "twice": "answer = 10",
    "mend_loop": """
def descend(w, loss_of, steps, lr):
    losses = []
    for _ in range(steps):
        w.grad = None
        loss = loss_of(w)
        loss.backward()
        with tg.no_grad():
            w -= lr * w.grad
        losses.append(loss.item())
    return losses

answer = descend""",
    "sum_to": """
def sum_to(g, shape):
    g = g.sum(axis=tuple(range(g.ndim - len(shape))))
    stretched = tuple(i for i, n in enumerate(shape) if n == 1 and g.shape[i] != 1)
    return g.sum(axis=stretched, keepdims=True)

answer = sum_to""",
    "swish": """
def swish_backward(g, x):
    s = 1 / (1 + np.exp(-x))
    return g * (s + x * s * (1 - s))

answer = swish_backward""",
    "words": "answer = [4, 0, 6]",
    "weigh": "answer = (0.75, 0.25)",
    "quiz_autograd": 'answer = "bac"',
}


def _descend(step: str, end: str = " return losses") -> Any:
    scope: dict[str, Any] = {"tg": tg}
    source = f"def descend(w, loss_of, steps, lr):\n losses = []\n for _ in range(steps):\n  {step}"
    exec(f"{source}\n  losses.append(0.0)\n{end}", scope)
    return scope["descend"]


ROUND = "loss_of(w).backward()\n  with tg.no_grad(): w -= lr * w.grad"

# other ways to be right, where there are some
ALSO_RIGHT: dict[str, list[Any]] = {
    "warmest": [
        lambda rows: max((row * 1.8 + 32).max() for row in rows),  # no buffer is larger than a row
        lambda rows: rows.max().item() * 1.8 + 32,
        lambda rows: rows.amax(-1).max() * 1.8 + 32,
        lambda rows: rows.max(-1).values.max() * 1.8 + 32,
    ],
    "nchw": [
        lambda images: images.as_strided((2, 3, 4, 5), (60, 1, 15, 3)),
        lambda images: images.transpose(2, 3).transpose(1, 2),
        lambda images: images.movedim(-1, 1),
    ],
    "mend_loop": [
        _descend(f"{ROUND}\n  w.grad = None"),
        _descend(f"{ROUND}\n  w.grad.zero_()"),
        _descend(f"{ROUND}\n  w.grad *= 0"),
        _descend(f"w.grad = tg.zeros_like(w)\n  {ROUND}"),
        _descend("w.grad = None\n  loss_of(w).backward()\n  w.data -= lr * w.grad"),
        _descend(f"{ROUND}\n  w = tg.tensor(w.item(), requires_grad=True)"),
        _descend("loss_of(w).backward()\n  w = tg.tensor(w.item() - lr * w.grad.item(), requires_grad=True)"),
        _descend("loss_of(w).backward()\n  w = (w - lr * w.grad).detach().requires_grad_()"),
        _descend("o = tg.optim.SGD([w], lr=lr)\n  o.zero_grad()\n  loss_of(w).backward()\n  o.step()"),
    ],
    "quiz_autograd": ["BAC", "b a c", ["b", "a", "c"]],
    "welcome_rate": [10, 5.0, "2"],
    "welcome_next": [40, "40%", "40 %"],
    "welcome_habit": ["loop", "Loss in a Python loop"],
}


def _epoch(whole: bool = False, number: bool = True, mean: bool = True, clear: bool = True) -> Any:
    """The epoch of the welcome, more or less mended."""

    def epoch(model: Any, optimizer: Any, loss_function: Any, batches: Any) -> Any:
        total: Any = 0.0
        for x, y in batches:
            if clear:
                optimizer.zero_grad()
            rows = [(x, y)] if whole else [(x[i : i + 1], y[i : i + 1]) for i in range(len(x))]
            loss = sum(loss_function(model(one), label) for one, label in rows) / len(rows)
            loss.backward()
            optimizer.step()
            total += loss.item() if number else loss
        return total / len(batches) if mean else total

    return epoch


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def _centre_in_a_view(x: Any) -> Any:
    y = x[:]
    y -= y.mean()
    return y


def _warmest_in_place(rows: Any) -> Any:
    rows *= 1.8
    rows += 32
    return rows.max()


def _windows(signal: Any, size: int, hop: int, step: int = 1) -> Any:
    return signal.as_strided(((len(signal) - size) // hop + 1, size), (hop * step, step))


# task: (wrong answer, words that its hint must contain)
WRONG: dict[str, list[tuple[Any, str]]] = {
    "welcome_rate": [
        (0.01, "Try a larger one."),
        (0.3, "Try a larger one."),
        (1, "of 100 after 200 steps, more than one in ten."),
        (0.003, "it is only slow"),
        (20, "the knob goes from 0.001 to 10"),
        ("fast", "asked for one number"),
        ([3], "without brackets"),
    ],
    "welcome_next": [
        (0, "it still reads"),
        (0.35, "with 35% of next-digit labels it still reads 65 of 100."),
        ("30%", "with 30% of next-digit labels"),
        (0.5, "At 50 % the labels are a draw"),
        (90, "Would a smaller share do it, too?"),
        (0.42, "in steps of 5 %"),
        (0.95, "the knob goes from 0 to 90%"),
        ("half", "asked for one number"),
        ("%", "asked for one number"),
        ([0.5], "without brackets"),
    ],
    "welcome_epoch": [
        (_epoch(), "the loss still comes digit by digit"),
        (_epoch(whole=True, number=False), "still has a graph, with the nodes of every batch"),
        (_epoch(whole=True, mean=False), "it returns 3."),
        (_epoch(whole=True, clear=False), "it does not learn the same"),
        (lambda *_: None, "is there a return?"),
        (0.5, "the function itself"),
    ],
    "welcome_width": [
        (4, "of 100 after 400 steps."),
        (16, "Is less enough, too?"),
        (128, "Is less enough, too?"),
        (10, "Which of them?"),
    ],
    "welcome_habit": [
        ("one sample at a time", "with that, 8 nodes are alive"),
        ("`total += loss`", "with that, 114 nodes are alive"),
        ("float64", "with that, 8 nodes are alive"),
        ("the first one", "no switch has that name"),
    ],
    "layout": [
        (3, "give three things"),
        (((2, 3), (48, 8), 4), "the shape before .T"),
        (((6, 4), (4, 24), 0), "How many rows does ::2 take"),
        (((3, 2), (48, 8), 4), "the strides before .T"),
        (((3, 2), (24, 4), 4), "the strides of z."),
        (((3, 2), (4, 24), 4), "the strides of z.T."),
        (((3, 2), (8, 4), 4), "the strides of a copy"),
        (((3, 2), (2, 12), 1), "those are elements"),
        (((3, 2), (8, 96), 4), "how many bytes is it"),
        (((3, 2), (8, 48), 1), "the offset is in elements"),
        (((3, 2), (8, 48), 0), "At which byte of z is y[0, 0]"),
    ],
    "shares": [
        ("abcefg", "one is wrong. Look at (b) x[[1, 2]] on the map: a list may hold any rows"),
        ("aef", "two are wrong. Look at (c) x.T on the map: which numbers have to move"),
        ({"a", "c", "d", "e", "f"}, "Look at (d) x.T.reshape(12) on the map: 0, 4, 8, 1, …"),
        (["a", "c", "f"], "Look at (e) x[2, None] on the map: None adds an axis"),
        ("a, c, e", "Look at (f) x.reshape(2, 6) on the map: 0, 1, 2, …"),
        ("acef", "one is wrong. Look at (g) x.contiguous() on the map: it copies what is not stored row after row"),
        ("bd", "seven are wrong. Look at (a) x[1:] on the map: a slice"),
        ("", "five are wrong."),
        ("xyz", "give letters from a, b"),
    ],
    "order": [
        ((2, 0, 1), "begins with the smallest stride"),
        ((0, 1, 2), "the order of the axes"),
        ((1, 2, 0), "sort the axes by their strides"),
        ((0, 2, 1), "how far does one step"),
        ((12, 48, 4), "each of the axes 0, 1 and 2 once"),
    ],
    "keep_first": [
        (lambda batches: [b[0] for b in batches], "nothing was copied"),
        (lambda batches: [b[0].contiguous() for b in batches], "contiguous() copies only"),
        (lambda batches: [b.clone()[0] for b in batches], "Take the row first"),
        (lambda batches: [(b, b[0].clone())[1] for b in list(batches)], "until then all batches stay alive"),
        (lambda batches: [b[0].copy() for b in batches], "Here and in PyTorch it is clone()"),
        (lambda batches: tg.stack([b[0] for b in batches]), "until then all batches stay alive"),
        (lambda batches: [b[0] if i else b[0].clone() for i, b in enumerate(batches)], "still points into the batches"),
        (lambda batches: [b[1].clone() for b in batches], "not the first rows"),
        (lambda batches: [b[[0]] for b in batches], "has shape (1, 10)"),
        (lambda batches: [b[:1].clone() for b in batches], "has shape (1, 10)"),
        (lambda batches: [next(batches)[0]], "not the first rows"),
        (lambda batches: None, "is there a return?"),
        (3, "the function itself"),
    ],
    "centre": [
        (_centre_in_a_view, "x itself has changed"),
        (lambda x: x.sub_(x.mean()), "x itself has changed"),
        (lambda x: x.clone() - x.mean(), "it makes 2 buffers"),
        (lambda x: x - x.mean(0), "not x minus its mean"),
        (lambda x: x.mean(), "not x minus its mean"),
        (lambda x: None, "is there a return?"),
        (3, "the function itself"),
    ],
    "nchw": [
        (lambda images: images.reshape(2, 3, 4, 5), "cuts it elsewhere"),
        (lambda images: images.reshape(2, 3, -1).reshape(2, 3, 4, 5), "cuts it elsewhere"),
        (lambda images: images.as_strided((2, 3, 4, 5), (60, 1, 3, 12)), "a stride is wrong"),
        (lambda images: images.as_strided((2, 3, 4, 5), (60, 1, 5, 3)), "a stride is wrong"),
        (lambda images: images.transpose(0, 3, 1, 2), "transpose() swaps two axes"),
        (lambda images: images.transpose((0, 3, 1, 2)), "transpose() swaps two axes"),
        (lambda images: images.permute(0, 3, 1, 2).contiguous(), "480 bytes are new"),
        (lambda images: images.transpose(1, 3), "height and width have changed places"),
        (lambda images: images.permute(0, 2, 3, 1), "permute takes the numbers of the old axes"),
        (lambda images: images.permute(0, 3, 1, 2).numpy(), "Return the tensor"),
        (lambda images: images.permute(0, 3, 1), "could not be used"),
        (lambda images: None, "is there a return?"),
        (3, "the function itself"),
    ],
    "frames": [
        (_windows, "Use signal.stride(0)"),
        (
            lambda s, size, hop: s.as_strided(((len(s) - size) // hop + 1, size), (1, hop)),
            "the shape is right, the samples are not",
        ),
        (
            lambda s, size, hop: s.as_strided(((len(s) - size) // hop + 1, size), (hop, 0)),
            "goes wrong after that",
        ),
        (lambda s, size, hop: s.unfold(0, size, hop)[:-1], "4 windows, but 5 fit"),
        (lambda s, size, hop: s.unfold(0, size, hop).T, "windows come first"),
        (lambda s, size, hop: s, "the shape is (12,)"),
        (lambda s, size, hop: tg.stack([s[i : i + size] for i in range(0, len(s) - size + 1, hop)]), "bytes are new"),
        (lambda s, size, hop: _windows(s, size, hop, s.element_size()), "could not be used"),
        (lambda s, size, hop: None, "is there a return?"),
        (3, "the function itself"),
    ],
    "exit_arrays": [
        ("acac", "writes through it"),
        ("CCAC", "x.T reads the bytes of x"),
        ("b a a c", "cannot be freed in parts"),
        ("bbac", "the corner's tensor"),
        ("bcbc", "every step pays"),
        ("bccc", "each cache line gives one number"),
        ("bcaa", "those are elements"),
        ("bcab", "as if .T had not swapped"),
        ("bca", "for each of the four questions"),
        ("bcaz", "for each of the four questions"),
    ],
    "warmest": [
        (_warmest_in_place, "the readings have changed"),
        (lambda rows: _warmest_in_place(rows.clone()), "one new buffer has 480 bytes, and rows has 480"),
        (lambda rows: (rows * 1.8 + 32).max(), "one new buffer has 480 bytes"),
        (lambda rows: (rows * 1.8).max() + 32, "How many readings need converting?"),
        (lambda rows: rows.max(axis=1).max(), "with an axis, max() gives values and indices"),
        (lambda rows: rows.max(axis=-1) * 1.8 + 32, "with an axis, max() gives values and indices"),
        (lambda rows: rows.max(axis=-1), "with an axis, max() gives values and indices"),
        (lambda rows: rows.copy().max() * 1.8 + 32, "copy() is NumPy's name"),
        (lambda rows: rows.astype("float64").max() * 1.8 + 32, "astype() is NumPy's name"),
        (lambda rows: rows.no_such_method(), "could not be used"),
        (lambda rows: rows.max(), "a highest reading of 14.9 °C is 58.8 °F, not 14.9"),
        (lambda rows: rows * 1.8, "the result has shape"),
        (lambda rows: None, "is there a return?"),
        (3, "the function itself"),
    ],
    "fork": [
        (10, "the value of y"),
        (4, "through x*x alone"),
        (3, "through 3*x alone"),
        (5, "uses x twice"),
        (8, "write down what each edge"),
        ("seven", "could not be used"),
    ],
    "twice": [
        (6, "the first loss alone"),
        (4, "the second loss alone"),
        (24, "do not multiply"),
        (0, "by itself"),
        (9, "before the second backward begins"),
    ],
    "mend_loop": [
        (_descend("loss_of(w).backward()\n  with tg.no_grad(): w -= lr * w.grad"), "still pile up"),
        (_descend("w.grad = None\n  loss_of(w).backward()"), "has not moved"),
        (
            _descend("w.grad = None\n  loss_of(w).backward()\n  with tg.no_grad(): w += lr * w.grad"),
            "subtract the gradient",
        ),
        (_descend("w.grad = None\n  loss_of(w).backward()\n  w -= lr * w.grad"), "inside no_grad()"),
        (_descend("w.zero_grad()"), "a tensor has no zero_grad"),
        (_descend(f"w.grad = 0\n  {ROUND}"), "a tensor or None, never a number"),
        (_descend(f"{ROUND}\n  w.grad = 0.0"), "a tensor or None, never a number"),
        (_descend(f"w.grad.zero_()\n  {ROUND}"), "in the first round .grad is still None"),
        (_descend("loss_of(w).backward()\n  w = w - lr * w.grad"), "It is no leaf, so its .grad is None"),
        (_descend("loss_of(w).backward()\n  w = (w - lr * w.grad).detach()"), "does not require a gradient"),
        (_descend(f"w.grad = None\n  {ROUND}", end=""), "your function returns nothing"),
        (_descend(f"w.grad = None\n  {ROUND}", end=" return losses[-1]"), "Return the list of losses"),
        (_descend(f"{ROUND}\n  return losses"), "inside the loop"),
        (_descend("w.forget()"), "could not be used"),
        (_descend(f"{ROUND}\n  del w.grad"), "cannot be deleted"),
        (
            _descend("loss_of(w).backward()\n  w.grad.zero_()\n  with tg.no_grad(): w -= lr * w.grad"),
            "Does .grad still hold the gradient",
        ),
        (_descend("with tg.no_grad():\n   loss_of(w).backward()\n   w -= lr * w.grad"), "nothing was recorded"),
        (
            _descend("loss_of(w).backward()\n  w.grad = None\n  with tg.no_grad(): w -= lr * w.grad"),
            "emptied too soon",
        ),
        (_descend("w.grad = None\n  loss_of(w).backward()\n  with tg.no_grad(): w = w - lr * w.grad"), "a new tensor"),
        (
            _descend("w.grad = None\n  loss_of(w).backward()\n  with tg.no_grad(): w -= 0.5 * lr * w.grad"),
            "by hand",
        ),
        (3, "the function itself"),
    ],
    "sum_to": [
        (lambda g, shape: g, "came back unchanged"),
        (lambda g, shape: g.sum(1), "the axis of length 1 is gone"),
        (lambda g, shape: g.mean(1, keepdims=True), "that is the mean"),
        (lambda g, shape: np.ones(shape), "Along which axes"),
        (lambda g, shape: g.sum(), "the result has shape ()"),
        (lambda g, shape: None, "is there a return?"),
        (3, "the function itself"),
    ],
    "swish": [
        (lambda g, x: _sigmoid(x) * (1 + x * (1 - _sigmoid(x))), "Multiply it by g"),
        (lambda g, x: g * _sigmoid(x), "the path through the left x"),
        (lambda g, x: g * x * _sigmoid(x) * (1 - _sigmoid(x)), "the path through sigmoid(x)"),
        (lambda g, x: g * _sigmoid(x) * (1 - _sigmoid(x)), "sigmoid's own derivative"),
        (lambda g, x: g * (_sigmoid(x) + _sigmoid(x) * (1 - _sigmoid(x))), "the other factor"),
        (lambda g, x: g * x * _sigmoid(x), "the forward value, times g"),
        (lambda g, x: None, "is there a return?"),
        (lambda g, x: g, "compare with the engine"),
        (lambda g, x: 1 / 0, "ZeroDivisionError"),
        (3, "the function itself"),
    ],
    "words": [
        ([2, 0, 6], "each use sends a gradient"),
        ([2, 4, 6], "is not in the text. And"),
        ([4, 4, 6], "is never read"),
        ([2, 6, 2], "one gradient per word of the text"),
        ([1, 2], "a list of three numbers"),
        ([8, 0, 6], "squared by itself"),
        ([2, 0, 9], "adds to the loss"),
        ([9, 9, 9], "how often is it read"),
    ],
    "weigh": [
        ((0.5, 0.5), "two samples the same weight"),
        ((1, 1), "together they count twice"),
        ((0.25, 0.75), "in the wrong order"),
        ((6, 2), "undoes each mean"),
        ([1 / 6, 1 / 2], "divided by these sizes already"),
        ((3, 1), "their ratio is right"),
        ((0.3, 0.7), "what share of the eight"),
        (0.75, "give two numbers"),
    ],
    "quiz_autograd": [
        ("aac", "question 1: that is what one use alone sends"),
        ("cac", "question 1: signs count"),
        ("bbc", "question 2: that is the shape of y"),
        ("b, c, c", "question 2: b has no axis of 32"),
        (["b", "a", "a"], "question 3: then each third counts three times"),
        ("bab", "question 3: then three gradients are added"),
        ("ba", "one letter for each question"),
        ("bad", "one letter for each question"),
    ],
}

SOLUTIONS.update(LAB_SOLUTIONS)
WRONG.update(LAB_WRONG)
SOLUTIONS.update(MUTATION_SOLUTIONS)
ALSO_RIGHT.update(MUTATION_ALSO_RIGHT)
WRONG.update(MUTATION_WRONG)
SOLUTIONS.update(MEASURING_SOLUTIONS)
ALSO_RIGHT.update(MEASURING_ALSO_RIGHT)
WRONG.update(MEASURING_WRONG)
SOLUTIONS.update(MEMORY_SOLUTIONS)
SOLUTIONS.update(DEVICE_SOLUTIONS)
SOLUTIONS.update(DTYPE_SOLUTIONS)
SOLUTIONS.update(BOUNDS_SOLUTIONS)
ALSO_RIGHT.update(BOUNDS_ALSO_RIGHT)
WRONG.update(BOUNDS_WRONG)
SOLUTIONS.update(PRECISION_SOLUTIONS)
ALSO_RIGHT.update(PRECISION_ALSO_RIGHT)
WRONG.update(PRECISION_WRONG)
ALSO_RIGHT.update(DTYPE_ALSO_RIGHT)
WRONG.update(DTYPE_WRONG)
ALSO_RIGHT.update(DEVICE_ALSO_RIGHT)
WRONG.update(DEVICE_WRONG)
ALSO_RIGHT.update(MEMORY_ALSO_RIGHT)
WRONG.update(MEMORY_WRONG)
SOLUTIONS.update(FEEDING_SOLUTIONS)
ALSO_RIGHT.update(FEEDING_ALSO_RIGHT)
WRONG.update(FEEDING_WRONG)
