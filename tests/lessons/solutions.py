"""One right answer and the usual wrong ones for each task. They are nowhere else: no notebook gives them away."""

from __future__ import annotations

from typing import Any

import numpy as np

import tinygrad_edu as tg

# task: the source that replaces `answer = ...` in the notebook
SOLUTIONS: dict[str, str] = {
    "fork": "answer = 7",
    "twice": "answer = 10",
    "mend_loop": """
def descend(w, loss_of, steps, lr):
    for _ in range(steps):
        w.grad = None
        loss = loss_of(w)
        loss.backward()
        with tg.no_grad():
            w -= lr * w.grad

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
    "quiz_add": 'answer = "b"',
    "quiz_shape": 'answer = "a"',
    "quiz_zero": 'answer = "c"',
}


def _descend(step: str) -> Any:
    scope: dict[str, Any] = {"tg": tg}
    exec(f"def descend(w, loss_of, steps, lr):\n for _ in range(steps):\n  {step}", scope)
    return scope["descend"]


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


# task: (wrong answer, words that its hint must contain)
WRONG: dict[str, list[tuple[Any, str]]] = {
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
        (
            _descend("loss_of(w).backward()\n  w.grad = None\n  with tg.no_grad(): w -= lr * w.grad"),
            "is emptied before",
        ),
        (_descend("w.grad = None\n  loss_of(w).backward()\n  with tg.no_grad(): w = w - lr * w.grad"), "a new tensor"),
        (
            _descend("w.grad = None\n  loss_of(w).backward()\n  with tg.no_grad(): w -= 0.5 * lr * w.grad"),
            "Check the order",
        ),
        (3, "the function itself"),
    ],
    "sum_to": [
        (lambda g, shape: g, "came back as it was"),
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
        ([9, 9, 9], "how often is it read"),
    ],
    "quiz_add": [("a", "saving memory"), ("c", "no gradient is thrown away"), ("x", "choose one of a, b, c")],
    "quiz_shape": [("b", "the shape of y"), ("(c)", "the wrong axis"), ("d", "choose one of")],
    "quiz_zero": [("a", "learning rate"), ("b", "no_grad"), ("", "choose one of")],
}
