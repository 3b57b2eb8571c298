"""What lessons say holds elsewhere: their code runs in PyTorch, and their tables are true of the other libraries."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import mygrad
import numpy as np
import pytest
import torch

from tests.notebooks.cells import run_cells
from tests.notebooks.test_lesson_three import ANSWERS, FURTHER, LESSON


@pytest.mark.parametrize("name", [LESSON, FURTHER])
def test_every_answer_of_lesson_three_is_that_of_pytorch(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tinygrad_edu.lessons.spring.tensor", torch.tensor)  # the loop that a gate keeps out of sight
    gates = [gate for gate in run_cells(name, engine="torch").gates if gate.choices]
    assert gates
    for gate in gates:
        assert gate.answer() == next(right for part, right in ANSWERS.items() if part in gate.ask)


def test_the_five_lines_of_the_welcome_are_those_of_pytorch() -> None:
    names = run_cells("welcome", engine="torch").names
    assert isinstance(names["loss"], torch.Tensor)
    assert all(p.grad is not None for p in names["model"].parameters())


def test_a_second_backward_elsewhere() -> None:
    w = torch.tensor(3.0, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.1)
    for held in (6.0, 12.0):
        (w * w).backward()  # type: ignore[no-untyped-call]
        assert w.grad is not None
        assert w.grad.item() == held
    optimizer.zero_grad()
    assert w.grad is None
    m = mygrad.tensor(3.0)
    for _ in range(2):
        (m * m).backward()
        assert m.grad == 6.0
    assert m * m is not None
    assert m.grad is None  # using it again empties .grad
    assert float(jax.grad(lambda w: w * w)(3.0)) == 6.0


def test_gradients_add_at_forks_and_broadcasting_is_undone_everywhere() -> None:
    def fork(w):  # type: ignore[no-untyped-def]
        return w * w + 3 * w

    w, m = torch.tensor(2.0, requires_grad=True), mygrad.tensor(2.0)
    fork(w).backward()
    fork(m).backward()
    assert w.grad is not None
    assert w.grad.item() == m.grad == float(jax.grad(fork)(2.0)) == 7.0
    column, row = np.ones((3, 1)), np.ones((1, 4))
    a, b = torch.tensor(column, requires_grad=True), mygrad.tensor(column)
    (a + torch.tensor(row)).sum().backward()
    (b + row).sum().backward()
    assert a.grad is not None
    for gradient in (a.grad.numpy(), b.grad, jax.grad(lambda x: (x + jnp.asarray(row)).sum())(jnp.asarray(column))):
        np.testing.assert_array_equal(np.asarray(gradient), np.full((3, 1), 4.0))


def test_recording_can_be_stopped_in_mygrad() -> None:
    w = mygrad.tensor(3.0)
    with mygrad.no_autodiff:
        assert (w * w).creator is None
    assert (w * w).creator is not None
