"""Lesson 6: each fact that its prose states, the reasons of its gates, and what its programs do."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tests.notebooks.cells import Run, check_reason_keys, check_reasons, check_size, run_cells, sources
from tinygrad_edu.common.wording import exact
from tinygrad_edu.compiler import cost_of, optimised, trace
from tinygrad_edu.errors import ArgumentError
from tinygrad_edu.lessons import bounds_programs
from tinygrad_edu.lessons.bounds import LIMITS
from tinygrad_edu.lessons.bounds_programs import (
    RATES,
    SIZES,
    WAITING,
    at_rest,
    batches,
    beside,
    calls,
    chain,
    crossing,
    launches,
    merges,
    moved,
    off,
    padded,
    product,
    scaled,
    swing,
    tables,
    told,
)
from tinygrad_edu.lessons.bounds_reasons import BOUNDS
from tinygrad_edu.lessons.bounds_recorded import recorded_race, recorded_roofline, recorded_times, when
from tinygrad_edu.observe.counters import Counters
from tinygrad_edu.observe.roofline import measured
from tinygrad_edu.views import fusion

LESSON = "06_what_bounds_my_code"
ANSWERS = {
    "300 points instead of 3": "about as long",
    "does the one kernel move": "an eighth",
    "A single step of the springs": "longer",
    "What does the program save": "neither",
    "Five batches": "2",
    "Six calls": "6",
}


@pytest.fixture(scope="module")
def lesson() -> Run:
    return run_cells(LESSON)


def test_the_lesson_keeps_to_its_size(lesson: Run) -> None:
    check_size(LESSON, lesson.gates)


def test_every_choice_has_its_reason_and_one_has_the_cause(lesson: Run) -> None:
    for gate in lesson.gates:
        check_reasons(gate, ANSWERS)


def test_no_key_of_a_reason_is_used_twice() -> None:
    check_reason_keys(LESSON, BOUNDS)


def test_the_program_that_crawls_has_six_operations_of_three_numbers_in_each_step() -> None:
    with Counters() as counted:
        swing(*at_rest(3), 200)
    assert counted.calls == 200 * 6
    assert 100_000 * 6 * 3 == 1.8e6


def test_a_program_of_one_step_saves_no_call_and_that_of_many_makes_one_program() -> None:
    """Six calls of NumPy, before and after; what the compiled call asks before comes on top."""
    three = at_rest(3)
    one, many = tg.compile(lambda p, v: swing(p, v, 1)), tg.compile(swing)
    one(*three)
    assert len(re.findall(r"^    \w+\(|= \w+ [-+*] ", one.ledger[0].source, re.M)) == 6, "calls of NumPy"
    np.testing.assert_allclose(many(*three).numpy(), swing(*three).numpy(), rtol=1e-5)
    assert [cost_of(entry.captured[0]).launches for entry in many.ledger] == [200 * 6]


def test_the_mended_program_gives_the_numbers_of_the_one_that_crawls() -> None:
    names: dict[str, Any] = {}
    code = sources(LESSON, "code")
    for part in ("import time", "def swing_as_given", "three = at_rest", "def two_hundred_steps"):
        found = next(one for one in code if one.startswith(part))
        exec(re.split(r"\n\n\n(?:Behind|PredictGate)\(", found)[0], names)
    np.testing.assert_allclose(names["mended"]().numpy(), names["swing_as_given"]().numpy(), rtol=1e-3, atol=1e-6)
    assert len(names["fast"].ledger) == 1
    assert names["mended"] is not None and 500 * 200 == 100_000


def test_the_worked_example_and_the_four_operations() -> None:
    """By the figures of part 1: 1 µs to start, 10 bytes and 50 operations in a nanosecond."""

    def costs(flops: float, nbytes: float) -> dict[str, float]:
        return {"s": 1e-6, "b": nbytes / 10e9, "a": flops / 50e9}

    example = costs(10_000, 80_000)
    assert (example["b"], example["a"]) == (pytest.approx(8e-6), pytest.approx(0.2e-6))
    assert max(example, key=example.__getitem__) == "b"
    four = [(100, 800), (10_000_000, 80_000_000), (2e9, 12e6), (2e6, 4.008e6)]
    found = [costs(*one) for one in four]
    assert "".join(max(one, key=one.__getitem__) for one in found) == LIMITS
    x, a = tg.rand(100), tg.rand(100, 100)
    costs_here = [cost_of(trace(f, *t)) for f, t in ((lambda x: x + 1, (x,)), (product, (a, a)), (product, (a, x)))]
    assert [one.flops for one in costs_here] == [100, 2 * 100**3, 2 * 100**2]
    assert [one.moved for one in costs_here] == [800, 3 * 40_000, 40_000 + 800]


def test_the_chain_is_eight_operations_over_memory_and_one_kernel() -> None:
    x = tg.rand(1 << 12)
    assert launches(chain, x) == (8, 1)
    assert moved(chain, x) == (8 * 2 * x.nbytes, 2 * x.nbytes)
    np.testing.assert_allclose(
        chain(x).numpy(), np.abs(-(np.abs(x.numpy() * 2 + 1) - 3) * np.float32(0.5) + 1), rtol=1e-5
    )
    names = [one.name for one in trace(chain, x).equations]
    assert names == ["mul", "add", "abs", "sub", "neg", "mul", "add", "abs"], "as part 2 lists them"


def test_bytes_for_each_number() -> None:
    x, y = tg.rand(1000), tg.rand(1000)
    assert moved(lambda x: x * 2 + 1, x) == (16_000, 8_000), "the worked example"
    assert moved(lambda x, y: (x + y) * 2 - x, x, y) == (32_000, 12_000), "task 2"


def test_a_kernel_over_a_large_array_runs_in_strips_and_calls_numpy_for_each_operation() -> None:
    fast, small = tg.compile(chain), tg.compile(chain)
    fast(tg.rand(1 << 21)), small(tg.rand(1 << 10))
    assert "for i in range(0, 2097152" in fast.ledger[0].source and "for" not in small.ledger[0].source
    assert fast.ledger[0].codes[0].calls == small.ledger[0].codes[0].calls == 8


def test_one_large_product_has_nothing_to_fuse() -> None:
    x = tg.rand(50, 50)
    assert launches(product, x, x) == calls(product, x, x) == (1, 1)
    before, after = moved(product, x, x)
    assert before == after


def test_rows_of_zeros_add_nothing_to_the_sum_but_change_a_mean() -> None:
    last = batches()[-1]
    assert [len(x) for x in batches()] == [16, 16, 16, 16, 8] and len(RATES) == 6 == len(set(RATES))
    filled = padded(last, 16)
    assert scaled(filled, 0.3).item() == pytest.approx(scaled(last, 0.3).item(), rel=1e-6)
    assert filled.mean().item() == pytest.approx(last.mean().item() / 2, rel=1e-6)
    with pytest.raises(ArgumentError, match="rows of the batch would be cut off"):
        padded(batches()[0], 8)


def test_the_listing_of_the_centred_rows_reads_as_the_lesson_prints_it() -> None:
    x = tg.rand(4, 5)
    program = trace(lambda x: (x - x.mean(1, keepdim=True)).tanh() * 2, x)
    assert [one.name for one in program.equations] == ["sum", "div", "sub", "tanh", "mul"]
    assert [one.name for one in optimised(program).equations] == ["sum", "div", "kernel"]


@pytest.fixture
def torch() -> Any:
    return pytest.importorskip("torch", reason="needs PyTorch: pip install -e '.[peers]'")


def recordings(torch: Any, function: Any, calls: list[tuple[Any, ...]]) -> int:
    """How often PyTorch records a function for these calls."""
    recorded = []

    def backend(graph: Any, inputs: object) -> object:
        recorded.append(inputs)
        return graph.forward

    compiled = torch.compile(function, backend=backend)
    for given in calls:
        compiled(*given)
    return len(recorded)


def test_pytorch_too_records_again_for_a_shorter_batch_and_then_for_any_length(torch: Any) -> None:
    assert recordings(torch, lambda x: (x * 0.1).tanh(), [(torch.rand(n, 4),) for n in (16, 16, 8, 12, 5)]) == 2


def test_pytorch_makes_a_number_an_input_after_the_second_recording(torch: Any) -> None:
    assert recordings(torch, lambda x, rate: (x * rate).tanh(), [(torch.ones(4), rate) for rate in RATES]) == 2


def test_the_worked_examples_of_parts_3_and_4() -> None:
    folded = tg.compile(lambda x: tg.where(x.sum() > 0, x, -x), fullgraph=True)
    for given in ([1.0, 2.0], [-1.0, -2.0]):
        assert folded(tg.tensor(given)).tolist() == [1.0, 2.0]
    assert len(folded.ledger) == 1
    scale = tg.compile(lambda x, k: x * k)
    for k in (3.0, 4.0):
        scale(tg.ones(2), k)
    assert len(scale.ledger) == 2
    for k in (5.0, 6.0):
        scale(tg.ones(2), tg.tensor(k))
    assert len(scale.ledger) == 3


def test_the_notebook_runs_with_every_function_as_it_stands() -> None:
    names: dict[str, object] = {"__name__": LESSON}
    for source in sources(LESSON, "code"):
        exec(compile(source, LESSON, "exec"), names)


def test_nothing_above_a_gate_tells_its_result() -> None:
    text = "\n".join(sources(LESSON, "markdown")).split("## 6 · Exit quiz")[0]
    code = "\n".join(sources(LESSON, "code")).split("quiz_bounds")[0]
    for given in ("an eighth", "about as long", "neither", "33.6", "recorded once", "hundred times 1.8", "3.4 ms"):
        assert given not in text
    for given in ("optimised(trace", "table(trace", "shown=True"):
        assert given not in code, "a listing comes after its prediction"
    first = code.index("TimingRace(\n        swing")
    assert "compiled=False" in code[:first], "the first roofline shows nothing of a program"


def test_no_seam_says_why_it_stays_open_before_it_is_pressed() -> None:
    for example in fusion.EXAMPLES:
        state = fusion.read(fusion.traced(example, 1024)[0], example, 1024)
        assert "needs many numbers" not in fusion.text(state) + fusion.frame(state).html()


def test_the_own_roofline_shows_all_three_limits() -> None:
    """By what each operation needs: whether it takes much longer than that is up to the machine."""
    names: dict[str, Any] = {"three": at_rest(3), "swing": swing, "tg": tg}
    source = next(one for one in sources(LESSON, "code") if one.startswith("numbers = "))
    exec(source.split("\n\n\nRoofline(")[0], names)
    found = measured(names["operations"])
    limits = set()
    for point in found.points:
        needs = point.needs(found.peaks)
        limits.add(max(needs, key=needs.__getitem__))
    assert limits == {"start", "bytes", "arithmetic"}
    assert 10e9 * 1e-6 / 8 == 1250, "where bytes take over, by the figures of part 1"


def test_the_compiled_race_is_judged_after_the_prediction(capsys: pytest.CaptureFixture[str]) -> None:
    told(..., lambda: None)
    assert "machine code" not in capsys.readouterr().out
    told(100, lambda: None)
    out = capsys.readouterr().out
    assert "predicted: 100 ms" in out and "times the 1.80 ms computed" in out and f"(recorded on {when()}" in out


def test_the_tables_wait_for_both_predictions(capsys: pytest.CaptureFixture[str]) -> None:
    def mine(x: tg.Tensor) -> tg.Tensor:
        return (x * 2 + 1).exp()

    for answer in (..., mine, (mine,), (mine, ..., ...), (mine, 3, None), (3, 3, 1), (mine, 4, 1), (mine, 3, 2)):
        tables(answer)
        assert capsys.readouterr().out == WAITING + "\n", "a number that is not final tells nothing"
    tables((mine, 3, 1))
    out = capsys.readouterr().out
    assert out.startswith("as recorded:\n") and "held: bytes that results occupy" in out
    assert re.search(
        r"as recorded:\n(.*\n)+3 launches, 3 NumPy calls .*\n\nas compiled:\n(.*\n)+1 launch, 3 NumPy", out
    )
    tables((lambda x: x * 2 if x.sum().item() > 0 else x, 2, 1))
    assert "as recorded" not in capsys.readouterr().out, "the check says why"


def test_from_how_many_numbers_on_bytes_limit_is_measured_after_a_guess(capsys: pytest.CaptureFixture[str]) -> None:
    crossing(...)
    assert capsys.readouterr().out == "Guess first: put a number in place of the dots.\n"
    crossing(5000)
    out = capsys.readouterr().out
    assert out.startswith("your guess: 5,000 numbers\n") and "measured" in out and "computed" in out
    rows = re.findall(r"^ *([\d,]+) .* (starting it|moving its bytes|something else)$", out, re.M)
    assert [int(size.replace(",", "")) for size, _ in rows] == list(SIZES)
    found = re.search(r"from about ([\d,]+) numbers on \(8 bytes each, at [\d.]+ [MGT]B/s\)", out)
    assert found is not None
    from_there = int(found[1].replace(",", ""))
    for size, limit in zip(SIZES, (limit for _, limit in rows), strict=True):
        if not 0.9 < size / from_there < 1.1:
            assert limit in ("something else", "moving its bytes" if size > from_there else "starting it")


@pytest.mark.parametrize(
    ("ratio", "words"),
    [(1.0, "right within a factor of 2"), (0.5, "right within a factor of 2"), (40.0, "about 40 times too large"),
     (1 / 2500, "about 2,500 times too small"), (0.0, "no count"), (-3.0, "no count")],
)  # fmt: skip
def test_a_guess_is_told_how_far_it_is_off(ratio: float, words: str) -> None:
    assert words in off(ratio)


def test_the_chains_bytes_are_computed_beside_what_is_measured(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    beside(...)
    assert capsys.readouterr().out.startswith("Compute first")
    monkeypatch.setattr(bounds_programs, "SECONDS", 0.05)
    beside((90, 10))
    out = capsys.readouterr().out
    assert re.search(r"^as written +512 MB  yours 90 ms, computed .*, measured .* \(", out, re.M)
    assert re.search(r"^compiled +64.0 MB  yours 10 ms, computed .*, measured .* \(", out, re.M)


def test_a_guess_at_a_kernel_is_judged_with_the_reason(capsys: pytest.CaptureFixture[str]) -> None:
    program = trace(lambda x: (x - x.mean(1, keepdim=True)).tanh() * 2, tg.rand(4, 5))

    def told(guess: Any) -> str:
        merges(guess, program)
        return capsys.readouterr().out

    assert "kernel" not in told(...) and "kernel" not in told("v3") and "kernel" not in told(["v9"])
    right = told(["v3", "v4", "v5"])
    assert right.startswith("Right.\n") and "v5: f32[4,5] = kernel(v0, v2)" in right
    assert "v1 stays out: sum does not work number by number." in right
    assert "v2 stays out: the result of div is [4, 1], not [4, 5]." in right
    assert told(["v2", "v3", "v4", "v5"]).startswith("Not quite.\n")
    assert "v3 belongs to it: sub works number by number" in told(["v4", "v5"])


def test_the_shape_of_the_result_decides_and_what_stands_between_runs_first() -> None:
    x, row = tg.rand(4, 5), tg.rand(5)
    assert launches(lambda x, row: (x + row) * 2 - row, x, row) == (3, 1), "operands of other shapes are merged"
    assert launches(lambda x: ((x + 1) * x.sum()).exp(), x) == (4, 2), "the sum runs before the kernel"
    assert launches(lambda x: ((x + 1) * (x + 1).sum()).exp(), x)[1] == 3, "but for one that needs a result of it"
    assert launches(lambda x: (x * 2).exp() + (x * 2).exp(), x) == (5, 1) and launches(lambda x: x**2 + 1, x) == (2, 2)
    twice = optimised(trace(lambda x: (x * 2).exp() + (x * 2).exp(), x)).equations[0].body
    assert twice is not None and len(twice.equations) == 3, "equal operations are computed once"


def test_what_is_recorded_reads_as_recorded() -> None:
    for shown in (recorded_roofline(), recorded_race("steps", "many_steps"), recorded_race("chain", "chain_race")):
        frame = shown.frame()
        assert frame.badge == "recorded" and when() in frame.conditions and not frame.controls
        assert "data:image/svg+xml;base64," in shown._repr_html_() and "measured on " not in frame.words()
    told = recorded_roofline().frame().text
    assert all(f"limited by {limit}" in told for limit in ("starting it", "moving its bytes", "its arithmetic"))
    assert "NumPy call" not in told and "(matrix @ matrix)" in told
    steps, chained = (
        recorded_race("steps", "many_steps").frame().text,
        recorded_race("chain", "chain_race").frame().text,
    )
    assert "At n = 1 A is faster" in steps and "B is faster at n = 200." in steps
    assert f"B is faster at n = {exact(8_000_000)}." in chained
    assert re.search(f"n = {exact(100_000)}: .*(no difference|less than 5 %)", chained)
    assert f"Recorded on {when()}" in recorded_times() and "as machine code" in recorded_times()
