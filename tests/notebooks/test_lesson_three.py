"""Lesson 3 and what goes further: each fact that their prose states, and the reasons of their gates."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from tinygrad_edu_widgets import GraphStepper

from tests.lessons.solutions import SOLUTIONS
from tests.notebooks.cells import Run, check_reasons, run_cells, sources, words
from tinygrad_edu import Tensor, tensor
from tinygrad_edu.errors import EduError
from tinygrad_edu.lessons.spring import mended

LESSON, FURTHER = "03_autograd_you_can_step", "03_autograd_you_can_step_further"

ANSWERS = {
    "With `lr=0.005`": "fall, and climb as high again, only later",
    "with `lr=0.6`": "grow without end",
    "The penalty sends": "their sum",
    "runs twice": "12",
    "cut into 4 + 4": "twice as large",
    "momentum=1.0": "are those of the broken program",
    "how many different buffers": "2",
}


@pytest.fixture(scope="module")
def lesson() -> Run:
    return run_cells(LESSON)


@pytest.fixture(scope="module")
def further() -> Run:
    return run_cells(FURTHER)


def leaf(value: Any) -> Tensor:
    return tensor(value, requires_grad=True)


def test_the_lesson_keeps_to_its_size(lesson: Run) -> None:
    assert words(LESSON) <= 1500
    assert len(lesson.gates) + 1 <= 6  # BroadcastLab asks too


@pytest.mark.parametrize("name", [LESSON, FURTHER])
def test_every_choice_has_its_reason_and_one_has_the_cause(name: str) -> None:
    for gate in run_cells(name).gates:
        if gate.choices:
            check_reasons(gate, ANSWERS)


def test_the_spring_never_settles(lesson: Run) -> None:
    descend, spring_loss = lesson.names["descend"], lesson.names["spring_loss"]

    def losses(lr: float, steps: int) -> list[float]:
        found: list[float] = descend(leaf(0.0), spring_loss, steps, lr)
        return found

    shown = losses(0.05, 24)
    assert min(shown[:4]) == shown[3] < shown[0] / 100
    assert len([i for i in range(4, 23) if shown[i - 1] < shown[i] > shown[i + 1] and shown[i] > shown[0]]) >= 2
    slow = losses(0.005, 60)
    assert slow[11] < slow[0] / 100
    assert slow[23] > slow[0]
    (function, sliders), again = lesson.knobs  # the same once more, beside the task
    assert again == (function, sliders)
    assert function is lesson.names["run"]
    knob = sliders["lr"]
    for lr in np.geomspace(knob.min, knob.max, 9):
        assert max(losses(lr, 400)[200:]) > 0.9 * shown[0]
    scope = dict(lesson.names)
    exec(SOLUTIONS["mend_loop"], scope)
    w = leaf(0.0)
    scope["descend"](w, spring_loss, 12, 0.05)
    assert spring_loss(w).item() < shown[0] / 50


def test_the_table_and_the_nudges(lesson: Run) -> None:
    w, x = leaf(3.0), leaf(2.0)
    lesson.names["squared_error"](w, x).backward()
    assert w.grad is not None
    assert x.grad is not None
    assert (w.grad.item(), x.grad.item()) == (4.0, 6.0)
    moved = [lesson.names["squared_error"](tensor(v), tensor(2.0)).item() - 1 for v in (3.01, 3.1, 4.0)]
    assert moved == pytest.approx([0.0404, 0.44, 8.0], rel=1e-4)  # the gradient promises 0.04, 0.4 and 4
    still = GraphStepper(lesson.names["squared_error"], w=2.5, x=2.0)
    still.act("last")
    assert "w   2.50  ∂0\n" in still.text()
    assert "x   2.00  ∂0\n" in still.text()


def test_the_second_picture_stops_before_the_second_gradient(lesson: Run) -> None:
    shown = GraphStepper(lesson.names["with_penalty"], w=3.0, x=2.0, strength=1.0, step=11)
    assert "w   3.00  ∂6.00" in shown.text()
    shown.act("last")
    for said in ("w   3.00  ∂10.0", "held 6.00", "arriving 4.00"):
        assert said in shown.text()
    for strength, balance in ((1.0, 2.0), (4.0, 1.25)):
        w = leaf(balance)
        lesson.names["with_penalty"](w, leaf(2.0), leaf(strength)).backward()
        assert w.grad is not None
        assert w.grad.item() == 0.0
        assert 2 * strength * balance != 0.0


def test_half_batches_of_sums_are_the_same(lesson: Run) -> None:
    samples = lesson.names["samples"]

    def gradient(*parts: Tensor) -> Any:
        w = leaf([0.5, -1.0])
        for part in parts:
            ((part @ w) ** 2).sum().backward()
        assert w.grad is not None
        return w.grad.numpy()

    np.testing.assert_allclose(gradient(samples), gradient(samples[:4], samples[4:]), rtol=1e-5)
    compare = lesson.names["compare"]
    weighed = (0.75, samples[:6]), (0.25, samples[6:])
    assert compare(*weighed) == "the same"
    cell = next(cell for cell in sources(LESSON) if "def gradient_of" in cell)
    empty = "        w.grad = None\n        loss.backward()"  # the line that a learner puts in
    exec(cell[cell.index("def gradient_of") :].replace("        loss.backward()", empty), lesson.names)
    assert lesson.names["compare"](*weighed) == "that of the last part alone"


def test_a_mended_loop_settles_up_to_a_rate(lesson: Run) -> None:
    spring_loss, stretch = lesson.names["spring_loss"], lesson.names["stretch"]
    first = mended(spring_loss, 1, 0.05)[0]
    for lr in (0.05, 0.3, 0.5):
        assert mended(spring_loss, 60, lr)[-1] < first / 20
    limit = 1 / (stretch**2).mean().item()
    assert limit == pytest.approx(0.5479, abs=1e-4)
    (_, sliders), _ = lesson.knobs
    below = limit // sliders["lr"].step * sliders["lr"].step  # the two positions of the knob on either side
    falls, grows = (mended(spring_loss, 60, rate) for rate in (below, below + sliders["lr"].step))
    assert falls[-2] < falls[0] / 3  # the last that the knob shows
    assert grows[-2] > 2 * grows[0]
    losses = mended(spring_loss, 60, 0.6)
    assert all(before < after for before, after in itertools.pairwise(losses))
    lesson.names["bars"](mended(spring_loss, 60, sliders["lr"].max), every=2)  # without an overflow


def test_a_second_backward_fails_only_where_values_were_saved(lesson: Run) -> None:
    torch = pytest.importorskip("torch")
    w = leaf(0.0)
    loss = lesson.names["spring_loss"](w)
    loss.backward()
    with pytest.raises(EduError):
        loss.backward()
    theirs = torch.tensor(3.0, requires_grad=True)
    square = theirs * theirs
    square.backward()
    with pytest.raises(RuntimeError, match="second time"):
        square.backward()
    for plain in (leaf(3.0), torch.tensor(3.0, requires_grad=True)):
        total = plain + 1
        total.backward()
        total.backward()
        assert plain.grad.item() == 2.0


def test_the_bias_grows_without_an_error(lesson: Run) -> None:
    g, rows, bias = (lesson.names[name] for name in ("g", "rows", "bias"))
    assert (bias - 0.1 * g).shape == (6, 2)
    small = leaf(bias)
    ((tensor(rows) + small - 5.0) ** 2).mean().backward()
    assert small.grad is not None
    np.testing.assert_allclose(small.grad.numpy(), g.sum(0), atol=1e-9)


def test_some_momentum_rests_sooner_than_none(further: Run) -> None:
    losses_with = further.names["losses_with"]

    def rest(momentum: float) -> int:
        losses = losses_with(momentum, steps=60)
        return next(i for i in range(60) if max(losses[i:]) < losses[0] / 100)

    times = {momentum: rest(momentum) for momentum in (0.0, 0.3, 0.9)}
    assert times[0.3] < times[0.0] < times[0.9]
    ((_, sliders),) = further.knobs
    assert (sliders["momentum"].min, sliders["momentum"].max) == (0.0, 1.0)
