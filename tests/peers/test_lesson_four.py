"""What lesson 4 says of PyTorch, JAX and MyGrad, tried with each of them."""

from __future__ import annotations

import contextlib
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import mygrad
import numpy as np
import pytest
import torch

from tests.notebooks.cells import Run, run_cells, sources
from tests.notebooks.test_lesson_four import ANSWERS, NAME
from tinygrad_edu.lessons.mutation import WRITTEN

PROSE = "\n".join(sources(NAME, "markdown"))


class Unguarded(ModuleType):
    """PyTorch, under a guard that guards nothing, since it has none."""

    guard = SimpleNamespace(
        on=contextlib.nullcontext, off=contextlib.nullcontext, verify=contextlib.nullcontext, MemoryGuardError=KeyError
    )

    def __getattr__(self, name: str) -> Any:
        return getattr(torch, name)


@pytest.fixture(scope="module")
def lesson() -> Run:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "torch_without_guard", Unguarded("torch_without_guard"))
        return run_cells(NAME, engine="torch_without_guard")


def test_every_answer_is_that_of_pytorch(lesson: Run) -> None:
    for gate in lesson.gates:
        assert gate.answer() == next(right for part, right in ANSWERS.items() if part in gate.ask)


def test_the_program_of_a_year_is_silent_and_ends_elsewhere(lesson: Run) -> None:
    found, losses = lesson.names["as_given"](lesson.names["read_into"], lesson.names["FORCES"])
    assert f"{found:.2f}" == "3.20"
    assert [f"{loss:.2g}" for loss in (*losses[:2], *losses[9:11], losses[-1])] == ["38", "27", "0.2", "0.24", "14"]


def test_the_message_is_the_one_that_is_quoted(lesson: Run) -> None:
    w = torch.randn(3, 5, requires_grad=True)
    with pytest.raises(RuntimeError) as caught:
        (lesson.names["layer"](torch.randn(4, 3), w) ** 2).sum().backward()
    [quoted] = [line for line in PROSE.split("\n") if line.startswith("> RuntimeError: ")]
    assert str(caught.value).startswith(quoted.removeprefix("> RuntimeError: "))


def test_the_other_broken_programs_fail_too(lesson: Run) -> None:
    for dtype in (torch.float32, torch.float64):
        rate = torch.tensor(0.5, dtype=dtype, requires_grad=True)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            lesson.names["decay"](rate, 3).sum().backward()
    leaf = torch.tensor(1.0, requires_grad=True)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        leaf -= 0.1


def test_the_same_operations_need_the_old_numbers() -> None:
    """A silent write spoils the gradient of the same ones."""

    def slopes(written: str, write: bool) -> list[Any]:
        a = np.array([1.0, 2.0, 3.0])
        t = torch.from_numpy(a).requires_grad_()
        w = torch.tensor([3.0, 2.0, 1.0], dtype=torch.float64, requires_grad=True)
        loss = eval(written, {"t": t, "w": w}).sum()
        if write:
            a[0] = 10.0
        loss.backward()
        return [one.grad.tolist() for one in (t, w) if one.grad is not None]

    assert [one for one in WRITTEN if slopes(one, True) != slopes(one, False)] == ["t ** 2", "t.sin()", "t * w"]
    table = {one: slopes(one, True) != slopes(one, False) for one in ("t - 1", "t.log()", "t.sqrt()")}
    assert table == {"t - 1": False, "t.log()": True, "t.sqrt()": False}


def test_the_knobs_say_the_same(lesson: Run, capsys: pytest.CaptureFixture[str]) -> None:
    write_between = lesson.names["write_between"]
    for one, minds in zip(
        lesson.names["operations"].values(),
        [(False, False), (True, False), (True, False), (False, True), (False, True), (True, True)],
        strict=True,
    ):
        for written, stops in zip("xy", minds, strict=True):
            write_between(one, written)
            assert ("modified by an inplace operation" in capsys.readouterr().out) is stops


def test_what_shares_and_what_is_silent_in_pytorch() -> None:
    a = np.array([1.0, 2.0, 3.0])
    shared, also, copied = torch.from_numpy(a), torch.as_tensor(a), torch.tensor(a)
    a[0] = 10.0
    assert [one[0].item() for one in (shared, also, copied)] == [10.0, 10.0, 1.0]
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    loss = (w * w).sum()
    w.data[0] = 10.0
    loss.backward()  # type: ignore[no-untyped-call]
    assert w.grad is not None
    assert w.grad.tolist() == [20.0, 4.0]


def test_a_version_counts_writes_through_a_tensor_and_its_views() -> None:
    a = np.array([1.0, 2.0, 3.0])
    t = torch.from_numpy(a)
    view = t[1:]
    a[0] = 10.0
    t.data[0] = 11.0
    assert t._version == view._version == 0
    view[0] = 12.0
    assert t._version == view._version == 1
    made = torch.zeros(2)
    made -= 1  # a leaf, too, but one that needs no grad


def test_the_rows_of_jax() -> None:
    a = np.ones(1024, dtype="float32")
    x = jnp.array(a)
    _, back = jax.vjp(lambda w: (w * a).sum(), 1.0)
    a[:] = 3.0
    assert float(x[0]) == 1.0
    assert float(back(jnp.float32(1.0))[0]) == 3072.0  # 1024 would be right
    with pytest.raises(TypeError, match="immutable"):
        x[0] = 2.0
    assert float(x.at[0].set(2.0)[0]) == 2.0


def test_the_row_of_mygrad() -> None:
    def slope() -> Any:
        a = np.array([1.0, 2.0, 3.0])
        t = mygrad.tensor(a, copy=False)
        loss = (t * t).sum()
        a[0] = 10.0
        loss.backward()
        return t.grad

    with pytest.raises(ValueError, match="read-only"):
        slope()
    with mygrad.mem_guard_off:
        assert slope().tolist() == [20.0, 4.0, 6.0]
    t = mygrad.tensor([1.0, 2.0, 3.0])
    y = mygrad.exp(t)
    y *= 2
    y.sum().backward()
    np.testing.assert_allclose(t.grad, 2 * np.exp([1.0, 2.0, 3.0]))
