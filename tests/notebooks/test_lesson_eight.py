"""Lesson 8: each fact that its prose states, the reasons of its gates, and what its programs do."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import tinygrad_edu as tg
from tests.notebooks.cells import Run, check_reason_keys, check_reasons, check_size, run_cells, sources
from tinygrad_edu.lessons.precision import GAPS
from tinygrad_edu.lessons.precision_programs import (
    after_one_step,
    errors_in_8_bits,
    images,
    patches,
    quietly,
    reader,
    weights,
)
from tinygrad_edu.lessons.precision_reasons import PRECISION
from tinygrad_edu.nn import functional as F
from tinygrad_edu.quantise import quantise, quantise_tensor, to_float8

LESSON = "08_precision"
ANSWERS = {
    "learn so much less": "its updates are rounded away",
    "does the counter reach": "2048",
    "how many of the gradients": "all",
    "2⁴⁴": "the step is skipped",
    "One scale for all weights": "about 50 times as large",
    "Now in float8": "smaller",
}


@pytest.fixture(scope="module")
def lesson() -> Run:
    return run_cells(LESSON)


def test_the_lesson_keeps_to_its_size(lesson: Run) -> None:
    check_size(LESSON, lesson.gates)


def test_every_choice_has_its_reason_and_one_has_the_cause(lesson: Run) -> None:
    for gate in lesson.gates:
        check_reasons(gate, ANSWERS)


def test_the_program_that_stands_still(lesson: Run) -> None:
    """In bfloat16 no gradient is lost, and of four weights that should move three stay; in float32 all of them move."""
    (zeros, changed), (zeros16, changed16) = after_one_step("float32"), after_one_step("bfloat16")
    assert zeros16 == pytest.approx(zeros, abs=0.001) and changed == pytest.approx(1 - zeros, abs=0.001)
    assert 1 - changed16 / changed == pytest.approx(0.75, abs=0.03)
    zeros, changed = after_one_step("float16")
    assert changed > 0.8, "float16 has digits enough for these updates"


def test_the_table_of_formats() -> None:
    for dtype, exponent, fraction, smallest, normal, largest in (
        (np.float32, 8, 23, 1.4e-45, 1.2e-38, 3.4e38), (ml_dtypes.bfloat16, 8, 7, 9e-41, 1.2e-38, 3.4e38),
        (np.float16, 5, 10, 6e-8, 6e-5, 65504),
    ):  # fmt: skip
        known = ml_dtypes.finfo(dtype)
        assert (known.nexp, known.nmant) == (exponent, fraction)
        assert float(known.smallest_subnormal) == pytest.approx(smallest, rel=0.03)
        assert float(known.smallest_normal) == pytest.approx(normal, rel=0.03)
        assert float(known.max) == pytest.approx(largest, rel=0.01)


def test_gaps_between_neighbours() -> None:
    def gap(dtype: type, at: float) -> float:
        return float(np.nextafter(dtype(at), dtype(np.inf))) - at

    bf16: type = ml_dtypes.bfloat16
    assert (gap(np.float16, 1), gap(bf16, 1), gap(np.float16, 1024)) == GAPS
    assert (gap(np.float16, 2), gap(bf16, 2)) == (2.0**-9, 2.0**-6), "the worked example"
    total = tg.tensor(0.0, dtype="bfloat16")
    for _ in range(600):
        total = total + 1
    assert total.item() == 256, "the counter in bfloat16"


def test_the_gradients_of_the_product_are_below_half_of_the_smallest_float16() -> None:
    """Those of the weights would not be: they are sums over all rows."""
    x, y = patches()
    w = tg.zeros(64, 64, requires_grad=True)
    product = x @ w
    product.retain_grad()
    F.mse_loss(product, y).backward()
    assert y.numel() == 8192 * 64 > 500_000, "a mean over half a million squares"
    assert product.grad.abs().max().item() < 2.0**-25 < 3.1e-8
    assert (product.grad.to("float16") == 0).all() and not (product.grad.to("bfloat16") == 0).any()
    assert w.grad.abs().max().item() > 1e-6
    assert y.abs().mean().item() == pytest.approx(0.001, rel=0.4), "errors of about 0.001, as `w` begins with zeros"
    assert 2 * 0.0008 / y.numel() == pytest.approx(3e-9, rel=0.05), "what a gate says of one result"
    shown = tg.cat([product.grad[::16].reshape(-1), w.grad.reshape(-1)])  # on the ruler
    zeros = [((shown * 2.0**k).to("float16") == 0).float().mean().item() for k in (9, 10)]
    over = [quietly(lambda k: (shown * 2.0**k).to("float16").isinf().any().item(), k) for k in (32, 33)]
    assert zeros[0] > 0.01 > zeros[1] and over == [False, True]


def test_of_large_errors_hardly_any_gradient_is_lost() -> None:
    """It takes both: a mean over many, and small errors."""
    x, y = patches()
    w = tg.zeros(64, 64, requires_grad=True)
    product = x @ w
    product.retain_grad()
    F.mse_loss(product, y * 1000).backward()
    assert (product.grad.to("float16") == 0).float().mean().item() < 0.05


def test_a_scale_that_is_too_large_is_halved_and_spoils_a_step_that_is_made() -> None:
    x, y = patches()
    for skips in (True, False):
        w = tg.zeros(64, 64, requires_grad=True)
        optimizer, scaler = tg.optim.SGD([w], lr=8.0), tg.amp.GradScaler("cpu", init_scale=2.0**44)
        with tg.autocast("cpu", dtype="float16"):
            loss = F.mse_loss(x @ w, y)
        quietly(scaler.scale(loss).backward)
        quietly(scaler.step if skips else optimizer.step, *[optimizer] if skips else [])
        if skips:
            scaler.update()
            assert (w == 0).all() and scaler.get_scale() == 2.0**43
        else:
            assert not tg.isfinite(w).all()


def test_after_so_many_steps_the_scale_is_doubled() -> None:
    assert tg.amp.GradScaler("cpu").get_growth_interval() == 2000
    assert tg.amp.GradScaler("cpu").get_growth_factor() == 2.0


def test_float8_is_better_only_beside_a_large_weight() -> None:
    """The knob of part 3: int8 is the better one from 0.3 down."""
    found = {largest: errors_in_8_bits(largest) for largest in (10.0, 3.0, 1.0, 0.3, 0.19)}
    assert all(int8 > 1.5 * float8 for largest, (int8, float8) in found.items() if largest >= 1)
    assert found[0.19][0] < 0.8 * found[0.19][1]
    int8, float8 = errors_in_8_bits(0.28)
    assert int8 < float8 and found[0.3][0] > found[0.3][1]
    off = (to_float8(weights()).dequantise() - weights()).abs()
    assert off[3, 7].item() == 0 and 448 / 16 > 2 * 448 / 127, (
        "near the largest its steps are larger than those of int8"
    )


def test_the_weights_with_one_far_away() -> None:
    w = weights()
    others = w[w != 10.0]
    assert w.numel() == 16384 and len(others) == 16383
    assert others.abs().max().item() == pytest.approx(0.19, abs=0.005), "so the step was 0.19 / 127"
    assert others.abs().median().item() == pytest.approx(0.034, abs=0.01)
    assert others.std().item() == pytest.approx(0.05, abs=0.002)
    off = (quantise_tensor(w, 0).dequantise() - w).abs()
    assert off[3].median().item() > 10 * off[4].median().item(), "only the row of the large weight"


def test_a_weight_of_a_white_pixel_spoils_a_layer_with_one_scale() -> None:
    x, y, digits, _ = images()
    assert (x[:, 0] == 0).all() and (digits[:, 0] == 0).all() and len(digits) == 359
    model = reader()
    optimizer = tg.optim.Adam(model.parameters(), lr=1e-4)
    for _ in range(300):
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
    before = model(digits).argmax(1)
    with tg.no_grad():
        model[0].weight[3, 0] = 100.0
    assert (model(digits).argmax(1) == before).all()
    other = [(quantise(model, per_channel=rows)(digits).argmax(1) != before).sum().item() for rows in (False, True)]
    assert other == [323, 21]


def test_the_notebook_runs_with_every_guess_filled_in_and_every_function_as_it_stands() -> None:
    """A guess is asked for after a task: its program must not use a name that the task has taken."""
    names: dict[str, object] = {"__name__": LESSON}
    for source in sources(LESSON, "code"):
        source = source.replace("guess = ...", "guess = 1").replace("largest = ...", "largest = 10.0")
        exec(compile(source, LESSON, "exec"), names)


def test_the_choice_of_formats() -> None:
    """The letters of task 5: what has the fewest bits, and is precise enough."""
    temperatures, rising = np.arange(-40 * 256, 60 * 256) / 256, np.logspace(-3, 0, 1000)
    energies, brightness = np.logspace(-20, 20, 1000), np.linspace(-1, 1, 2001)
    sixteen = {"b": ml_dtypes.bfloat16, "c": np.float16}

    def off(values: np.ndarray, letter: str) -> np.ndarray:
        if letter == "d":
            kept = quantise_tensor(tg.tensor(values, dtype="float32")).dequantise().numpy()
        else:
            with np.errstate(over="ignore", under="ignore"):
                kept = values.astype("f4").astype(sixteen.get(letter, np.float32)).astype("f8")
        return np.abs(kept - values)

    fits = (
        lambda letter: off(temperatures, letter).max() <= 0.01,
        lambda letter: (off(rising, letter) / rising).max() <= 0.001,
        lambda letter: (off(energies, letter) / energies).max() <= 0.01,
        lambda letter: off(brightness, letter).max() <= 0.005,
    )
    found = "".join(next(letter for letter in "dcba" if fit(letter)) for fit in fits)
    assert found == "acbd"
    assert off(temperatures, "c").max() == 2.0**-6, "steps of 0.03 near 60"
    assert off(temperatures, "b").max() == pytest.approx(0.125, abs=0.01), "steps of 0.25"


def test_nothing_above_a_gate_tells_its_result() -> None:
    text = "\n".join(sources(LESSON, "markdown")).split("## The same elsewhere")[0].split("## 5 · Exit quiz")[0]
    for told in ("rounded away", "2048", "2,048", "skipped", "50 times", "vanish", "become 0\n"):
        assert told not in text


def test_no_key_of_a_reason_is_used_twice() -> None:
    check_reason_keys(LESSON, PRECISION)
