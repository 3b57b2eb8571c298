"""Tasks of the lesson on autograd."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import AutogradError
from ..tensor import tensor
from .checking import NOTHING, judge_number, numbers, quiz, task


def _slope(function: Callable[[Any], Any], at: float) -> float:
    """The derivative at a point, computed by the engine."""
    x = tensor(at, requires_grad=True, dtype="float64")
    function(x).backward()
    assert x.grad is not None
    return float(x.grad.item())


@task(
    "fork",
    "For y = x*x + 3*x at x = 2: what is the gradient of x?",
    "three edges leave x, two into the product and one into 3*x, and their gradients add.",
)
def _fork(answer: Any) -> str:
    def y(x: Any) -> Any:
        return x * x + x * 3

    known = {
        float(y(tensor(2.0)).item()): "that is the value of y. The question is how fast y changes when x does.",
        _slope(
            lambda x: x * x, 2.0
        ): "that is what comes back through x*x alone. Which other use of x sends a gradient?",
        _slope(
            lambda x: x * 3, 2.0
        ): "that is what comes back through 3*x alone. Which other use of x sends a gradient?",
        2.0 + 3.0: "x*x uses x twice: as its left and as its right operand. Each sends a gradient.",
    }
    if numbers(answer).size != 1:
        return "give one number: the sum of what the three edges send."
    return judge_number(answer, _slope(y, 2.0), known, "write down what each edge that leaves x sends back, then add.")


@task(
    "twice",
    "w = 3. First (w*w).backward(), then (4*w).backward(). Nothing is emptied in between. What is w.grad?",
    "backward adds to what .grad holds, until something empties it: w.grad = None, or w.grad.zero_().",
)
def _twice(answer: Any) -> str:
    first, second = _slope(lambda w: w * w, 3.0), _slope(lambda w: w * 4, 3.0)
    known = {
        first: "that is the gradient of the first loss alone. What does the second backward do to it?",
        second: "that is the gradient of the second loss alone. Was anything removed from .grad before it?",
        first * second: "gradients of separate losses add; they do not multiply.",
        0.0: "nothing sets .grad to zero by itself.",
    }
    return judge_number(answer, first + second, known, "what does .grad hold before the second backward begins?")


@task(
    "mend_loop",
    "Fix descend(w, loss_of, steps, lr): each step must follow the gradient of its own loss alone.",
    "each step now follows its own loss, and none of the older ones.",
    function=True,
)
def _mend_loop(answer: Any) -> str:
    seen: list[Any] = []  # what the loop gave to its loss, round by round
    path: list[float] = []  # and the values that it had then

    def bowl(w: Any) -> Any:
        seen.append(w)
        path.append(float(w.item()))
        return (w - 1.0) * (w - 1.0)

    w = tensor(5.0, requires_grad=True, dtype="float64")
    try:
        returned = answer(w, bowl, 3, 0.1)
    except (AttributeError, TypeError, AutogradError) as error:
        hint = _loop_slip(str(error), seen)
        if not hint:
            raise
        return hint
    got, right = float(w.item()), [1 + 4 * 0.8**step for step in range(4)]
    new_tensors = any(other is not w for other in seen) and len(path) == 3  # a right way, and the old w stays behind
    if np.isclose(got, right[3]) or (new_tensors and np.allclose(path, right[:3])):
        return _losses_slip(returned)
    if np.isclose(got, 5.0):
        return "w has not moved. Is there a step? Does .grad still hold the gradient when the step is made?"
    if np.isclose(got, right[1]) and len(path) == 1:
        return "it stops after one round. Is the return inside the loop?"
    if np.isclose(got, _piled_up()):
        told = "gradients still pile up: the second step follows the sum of both."
        return f"{told} What should .grad hold when a round begins?"
    if got > 5.0:
        return "w moved away from the minimum: subtract the gradient, do not add it."
    return (
        f"with loss = (w - 1)**2, three steps from w = 5.0 with lr = 0.1 end at {got:.4f}. "
        "Work out the first step by hand, and compare."
    )


def _losses_slip(returned: Any) -> str:
    """What is wrong with the losses that a right loop returned."""
    if returned is None:
        return "w moves as it should, but the list of losses is gone: your function returns nothing."
    if not isinstance(returned, list) or len(returned) != 3:
        return "w moves as it should. Return the list of losses too, one for each step, as before."
    return ""


def _loop_slip(message: str, seen: list[Any]) -> str:
    """What the usual errors in a training loop mean, once these tensors were given to the loss; "" if it is another."""
    new = bool(seen) and any(other is not seen[0] for other in seen)
    if "zero_grad" in message:
        return "a tensor has no zero_grad: an optimiser has. What could you set w.grad to?"
    if "a gradient is a tensor" in message:
        return ".grad holds a tensor or None, never a number. Which of them means that there is no gradient yet?"
    if "no deleter" in message:
        return "here .grad cannot be deleted, as it can in PyTorch. Which value means that there is no gradient yet?"
    if "requires grad" in message and "leaf" in message:
        return "write to w inside no_grad(): outside, the graph would lose its old values."
    if "nothing that it was computed from" in message and not new:
        return "the loss was computed inside no_grad(), so nothing was recorded. Only the step belongs there."
    if "nothing that it was computed from" in message:
        return "w became a new tensor, which does not require a gradient. Change the old one in place: w -= …"
    if "NoneType" in message and new and not seen[-1].is_leaf:
        return (
            "w = w - … makes a new tensor, computed from the old one. It is no leaf, so its .grad is None. "
            "Change the old one in place: w -= …, inside no_grad()."
        )
    if "'NoneType' object has no attribute" in message:
        return "in the first round .grad is still None, which has no such method. Empty it where it holds a tensor."
    if "NoneType" in message:
        return (
            "the step needs a gradient, and .grad is None there. Was it emptied too soon, or has backward not run yet?"
        )
    return ""


def _piled_up() -> float:
    """Where the broken loop ends."""
    w, held = 5.0, 0.0
    for _ in range(3):
        held += 2 * (w - 1)
        w -= 0.1 * held
    return w


@task(
    "weigh",
    "A batch of 8 is cut into 6 + 2. Which two numbers must the mean losses be multiplied by?",
    "each part counts by its share of the samples, so every sample counts as much as in the whole batch.",
)
def _weigh(answer: Any) -> str:
    got = numbers(answer).ravel()
    if got.size != 2:
        return "give two numbers, such as (1.0, 1.0): the first is for the part of six samples."
    samples = np.array([[i % 3 - 1.0, i % 5 - 1.5] for i in range(8)])

    def gradient(part: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        weights = tensor([1.0, -2.0], requires_grad=True, dtype="float64")
        ((tensor(part) @ weights) ** 2).mean().backward()
        assert weights.grad is not None
        return weights.grad.numpy()

    whole, six, two = gradient(samples), gradient(samples[:6]), gradient(samples[6:])
    if np.allclose(got[0] * six + got[1] * two, whole):
        return ""
    right = np.linalg.solve(np.stack([six, two], 1), whole)
    known = (
        ((0.5, 0.5), "that gives two samples the same weight as the other six together."),
        (
            (1, 1),
            "the weights of the samples of a mean add up to 1. Here two means are added: together they count twice.",
        ),
        (right[::-1], "these are the right numbers in the wrong order: the first belongs to the six samples."),
        ((6, 2), "that undoes each mean, and gives a sum. The gradient of the whole batch is that of a mean."),
        ((1 / 6, 1 / 2), "each mean has divided by these sizes already. What is the share of each part in the batch?"),
    )
    for wrong, hint in known:
        if np.allclose(got, wrong):
            return hint
    if np.isclose(got[0] * right[1], got[1] * right[0]):
        return "their ratio is right. Together they must count as one whole batch."
    return "what share of the eight samples is in each part?"


@task(
    "sum_to",
    "Write sum_to(g, shape): bring a NumPy gradient g back to the shape that broadcasting stretched.",
    "a stretched element is used many times, and the gradients of all its uses add.",
    function=True,
)
def _sum_to(answer: Any) -> str:
    for big, small in (
        ((3, 4), (3, 1)),
        ((3, 4), (1, 4)),
        ((3, 4), (4,)),
        ((2, 3, 4), (3, 1)),
        ((3, 4), (3, 4)),
        ((3, 4), ()),
    ):
        g = np.arange(float(np.prod(big))).reshape(big)
        right = _sum_by_counting(g, small)
        try:
            returned = answer(g.copy(), small)
        except ValueError as error:
            if "reshape" in str(error):
                return f"{big} has more numbers than {small}: reshape adds none of them up. Sum first."
            raise
        if returned is None:
            return NOTHING
        got = numbers(returned)
        if got.shape != small:
            if got.shape == big:
                told = f"for g of shape {big} and shape {small}, g came back unchanged."
                return f"{told} Sum over the axes that were stretched or added."
            if got.shape == right.squeeze().shape:
                return (
                    f"for shape {small}, the axis of length 1 is gone. Sum with keepdims=True where the target has a 1."
                )
            return f"for g of shape {big} and shape {small}, the result has shape {got.shape}."
        if np.allclose(got, right):
            continue
        mean = right * right.size / g.size
        if np.allclose(got, mean):
            return "that is the mean. Each use of a stretched element counts in full, so their gradients add."
        return f"for {big} to {small} the shape is right and the numbers are not. Along which axes did you sum?"
    return ""


def _sum_by_counting(g: np.ndarray[Any, Any], shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """The same by brute force: each element of g is added at the place that broadcasting read it from."""
    out = np.zeros(shape)
    where = np.broadcast_to(np.arange(out.size).reshape(shape), g.shape)
    np.add.at(out.reshape(-1), where.reshape(-1), g.reshape(-1))
    return out


@task(
    "swish",
    "Write swish_backward(g, x) in NumPy: the gradient of x for y = x * sigmoid(x), given the gradient g of y.",
    "x reaches y along two paths, and the rule adds what comes back along both.",
    function=True,
)
def _swish(answer: Any) -> str:
    x, g = np.linspace(-3, 3, 7), np.linspace(0.5, 2.0, 7)
    leaf = tensor(x, requires_grad=True)
    (leaf * leaf.sigmoid()).backward(tensor(g))
    assert leaf.grad is not None
    returned = answer(g.copy(), x.copy())
    if returned is None:
        return NOTHING
    got, right, s = numbers(returned), leaf.grad.numpy(), 1 / (1 + np.exp(-x))
    if got.shape == right.shape and np.allclose(got, right):
        return ""
    known = (
        (right / g, "that is the local derivative. Multiply it by g, the gradient that arrives."),
        (g * s, "that is the path through the left x. What comes back through sigmoid(x)?"),
        (g * x * s * (1 - s), "that is the path through sigmoid(x). What comes back through the left x?"),
        (g * (s + s * (1 - s)), "on the path through sigmoid, the left x is the other factor."),
        (g * x * s, "that is the forward value, times g. What is its derivative?"),
        (g * s * (1 - s), "that is sigmoid's own derivative. Here it is multiplied by x, and the left x counts too."),
    )
    return next(
        (hint for wrong, hint in known if got.shape == wrong.shape and np.allclose(got, wrong)),
        "compare with the engine: x = tg.tensor(…, requires_grad=True), (x * x.sigmoid()).sum().backward(), x.grad.",
    )


@task(
    "words",
    "E = [[1.], [2.], [3.]]; the text is word 0, word 2, word 0; loss = (E[[0, 2, 0]] ** 2).sum(). What is in E.grad?",
    "a row that is read twice gets two gradients, and they add; a row that is never read gets none.",
)
def _words(answer: Any) -> str:
    def gradient(text: list[int]) -> np.ndarray[Any, Any]:
        rows = tensor([[1.0], [2.0], [3.0]], requires_grad=True, dtype="float64")
        (rows[text] ** 2).sum().backward()
        assert rows.grad is not None
        return rows.grad.numpy().ravel()

    got = numbers(answer).ravel()
    if got.size != 3:
        return "give a list of three numbers, one for each row of E."
    once, everywhere = gradient([0, 2]), gradient([0, 1, 2])
    in_text_order = once[[0, 2, 0]]
    known = (
        (once, "word 0 occurs twice: each use sends a gradient."),
        (everywhere, "word 1 is not in the text. And word 0 occurs twice."),
        (everywhere + np.array([once[0], 0, 0]), "word 1 is never read. Does a nudge of it move the loss?"),
        (np.array([8.0, 0, 6]), "each use of word 0 is squared by itself, and then they are added."),
        (np.array([2.0, 0, 9]), "that is what each word adds to the loss. How fast does that change with its number?"),
        (in_text_order, "that is one gradient per word of the text. E has one row per word of the vocabulary."),
    )
    if np.allclose(got, gradient([0, 2, 0])):
        return ""
    hints = (hint for wrong, hint in known if np.allclose(got, wrong))
    return next(hints, "for each row of E: how often is it read, and what comes back each time?")


quiz(
    "quiz_autograd",
    "Three questions, answered by three letters.",
    "gradients add: over the uses of a tensor, over the reads of a stretched axis, and over calls of backward.",
    (
        {
            "a": "question 1: that is what one use alone sends. The other one counts too.",
            "b": "",
            "c": "question 1: signs count: one use pushes the loss up while the other pulls it down.",
        },
        {
            "a": "",
            "b": "question 2: that is the shape of y. b has four numbers.",
            "c": "question 2: b has no axis of 32: it was read again for each of the 32 rows.",
        },
        {
            "a": "question 3: then each third counts three times. Three gradients are added: how much of the batch is "
            "each?",
            "b": "question 3: then three gradients are added, each about as large as that of the whole batch.",
            "c": "",
        },
    ),
    'give one letter for each question, in order, such as "abc".',
)
