"""Lesson 2: each fact that its prose states, the reasons of its gates, and what its programs do."""

from __future__ import annotations

import numpy as np
import pytest

import tinygrad_edu as tg
from tests.notebooks.cells import Run, check_reason_keys, check_reasons, check_size, run_cells, sources
from tinygrad_edu import nn
from tinygrad_edu.lessons.dtype_programs import LIMIT, dtype_by, houses, peak, points, read_table, right_by_product
from tinygrad_edu.lessons.dtypes import MEETINGS
from tinygrad_edu.lessons.dtypes_reasons import DTYPES
from tinygrad_edu.observe.promotion import Promotions
from tinygrad_edu.observe.timing import compare
from tinygrad_edu.settings import promotion

LESSON = "02_broadcasting_and_dtypes"
ANSWERS = {
    "How many numbers": "1,000,000",
    "3 × 3 different": "column j loses the mean of row j",
    "`x32 * weights`": "float64",
    "np.float64(2)": "under NumPy's and JAX's",
    "x32 + ids": "under NumPy's",
    "A step of training": "about twice as many",
}


@pytest.fixture(scope="module")
def lesson() -> Run:
    return run_cells(LESSON)


def test_the_lesson_keeps_to_its_size(lesson: Run) -> None:
    check_size(LESSON, lesson.gates)


def test_every_choice_has_its_reason_and_one_has_the_cause(lesson: Run) -> None:
    for gate in lesson.gates:
        check_reasons(gate, ANSWERS)


def test_the_program_learns_nothing_until_shapes_fit(lesson: Run) -> None:
    x, price = houses()
    assert price.mean().item() == pytest.approx(0, abs=1e-6) and price.std().item() == pytest.approx(1, abs=1e-5)
    output, loss = lesson.names["train"](x, price)
    assert loss == pytest.approx(1, abs=0.01), "a program that always says 0 has a loss of 1"
    assert output.abs().max().item() < 0.1, "it says the mean of all prices, 0"
    output, loss = lesson.names["train"](x, price.unsqueeze(1))
    assert loss < 0.05


def test_shapes_and_gradients(lesson: Run) -> None:
    assert np.broadcast_shapes((8, 1, 6), (7, 1)) == (8, 7, 6), "the worked example"
    a, b = tg.ones(3, 1, requires_grad=True), tg.ones(1, 4, requires_grad=True)
    (a * b).sum().backward()
    assert tuple(a.grad.shape) == (3, 1) and tuple(b.grad.shape) == (1, 4)
    assert b.grad.tolist() == [[3, 3, 3, 3]], "used in three rows"
    with pytest.raises(tg.errors.ShapeError):
        tg.ones(4, 3) - tg.ones(4, 3).mean(1)
    x = tg.arange(9.0).reshape(3, 3).square()
    found, means = x - x.mean(1), x.mean(1)
    assert np.allclose(found[:, 1].numpy(), (x[:, 1] - means[1]).numpy()), "column j loses the mean of row j"


def test_dtypes_are_those_of_numpy(lesson: Run) -> None:
    """JAX and PyTorch are held against the libraries by the tests of the tables."""
    x, half, ids = np.ones(3, "f4"), np.ones(3, "f2"), np.array([1, 2, 3])
    theirs = {
        "x32 * 2.0": x * 2.0,
        "x32 * one": x * np.array(2.0),
        "half * x32": half * x,
        "half + ids": half + ids,
        "ids / 2": ids / 2,
    }
    for text, expression in lesson.names["table"].items():
        assert dtype_by("numpy", expression) == theirs[text].dtype
    differ = [
        t for t, e in lesson.names["table"].items() if len({dtype_by(n, e) for n in ("torch", "numpy", "jax")}) > 1
    ]
    assert differ == ["x32 * one", "half + ids", "ids / 2"]
    assert (x * np.float64(2)).dtype == "float64" and (x + ids).dtype == "float64"
    assert np.finfo("f4").precision == 6 and np.finfo("f8").precision == 15, "about 7 digits, and 16"
    assert int(np.float32(2**24 + 1)) == 2**24, "24 bits for a whole number"


def test_one_wide_input_doubles_the_bytes(lesson: Run) -> None:
    """The reason: each product with a wide array is wide, also backward; the weights are not."""
    with promotion("numpy"):
        layer, x = nn.Linear(8, 256), houses()[0].double()
        with Promotions() as seen:
            layer(x).tanh().sum().backward()
    assert {str(step.dtype) for step in seen.steps} == {"float64"} and seen.cost.gradients > 0
    assert layer.weight.dtype == "float32" == layer.weight.grad.dtype
    bytes_of = lesson.names["bytes_of"]
    assert [round(bytes_of(dtype) / 1e6, 2) for dtype in ("float64", "float32")] == [6.62, 3.32], "the reason"


def test_pytorch_refuses_what_numpy_widens() -> None:
    assert dtype_by("torch", lambda: tg.ones(2, 2) @ tg.ones(2, 2).double()) == "refused"
    assert dtype_by("numpy", lambda: tg.ones(2, 2) @ tg.ones(2, 2).double()) == "float64"


def test_the_program_of_task_four_has_two_culprits(lesson: Run) -> None:
    with Promotions() as seen:
        losses = lesson.names["fit"](read_table())
    assert seen.first is not None and seen.first.name == "sub" and losses[-1] < losses[0]
    wide = [step.name for step in seen.steps if step.widened]
    assert wide == ["sub"] * 20, "the weights widen nothing, until the prices are narrow"


def test_the_last_program_has_room(lesson: Run) -> None:
    given, middles = points()
    found, used = peak(lesson.names["nearest"], given, middles)
    assert used > 100e6 and LIMIT == 6_000_000 and middles.dtype == "float64"
    assert found.tolist() == [i % 200 for i in range(2000)]
    apart = 2000 * 200 * 16 * 8
    assert used > 2 * apart, "two arrays of the stretched size"


def test_far_away_a_matrix_product_loses_its_digits_and_the_mean_gives_them_back(lesson: Run) -> None:
    given, middles = points()
    right = np.arange(2000) % 200

    def by_product(p: tg.Tensor, c: tg.Tensor) -> int:
        return int(((c.square().sum(1) - 2 * p @ c.T).argmin(1).numpy() == right).sum())

    far, c = given + 10_000, tg.tensor(middles).float() + 10_000
    assert by_product(given, tg.tensor(middles).float()) == 2000
    assert by_product(far, c) < 1000, "most are wrong"
    assert right_by_product(far, middles + 10_000) < 1000 and right_by_product(given, middles) == 2000
    assert by_product(far - far.mean(0), c - far.mean(0)) == 2000
    assert (lesson.names["nearest"](far, middles + 10_000).numpy() == right).all(), "the stretched program is right"
    assert 16 * 10_000**2 == 1.6e9


def test_the_answers_of_task_three(lesson: Run) -> None:
    x, bf16 = tg.ones(3), tg.ones(3, dtype="bfloat16")
    found = (
        dtype_by("numpy", lambda: x + tg.ones(3, dtype="int16")),
        dtype_by("numpy", lambda: x + tg.ones(3, dtype="int32")),
        dtype_by("torch", lambda: x * tg.tensor(2.0, dtype="float64")), dtype_by("torch", lambda: x.half() * bf16),
    )  # fmt: skip
    assert found == MEETINGS


@pytest.mark.slow
def test_one_wide_input_takes_longer() -> None:
    def step(dtype: str) -> None:
        with promotion("numpy"):
            (nn.Linear(8, 256)(houses()[0].to(dtype)) ** 2).mean().backward()

    assert compare(lambda: step("float64"), lambda: step("float32"), budget=2.0).ratio > 1.2


def test_nothing_above_a_gate_tells_its_result() -> None:
    text = "\n".join(sources(LESSON, "markdown")).split("## The same elsewhere")[0]
    for told in ("1,000,000", "million", "mean of row j", "twice"):
        assert told not in text


def test_no_key_of_a_reason_is_used_twice() -> None:
    check_reason_keys(LESSON, DTYPES)
