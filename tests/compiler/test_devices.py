"""Programs on the simulated device: the same numbers, fewer launches, less memory and less virtual time."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import tinygrad_edu as tg
import tinygrad_edu.nn.functional as F
from tests.compiler import test_compile as steps
from tests.compiler.test_random_programs import CHOICES, INPUTS, Choice, agree, leaves, play, same
from tests.support import teaches
from tinygrad_edu import nn
from tinygrad_edu.compiler import TraceError, compile, cost_of, interpret, trace
from tinygrad_edu.compiler.capture import Segment, capture
from tinygrad_edu.compiler.passes import fuse_rows, optimised


@given(choices=CHOICES, inputs=INPUTS)
@settings(max_examples=150, deadline=None)
def test_random_programs_on_the_device(choices: list[Choice], inputs: Any) -> None:
    """Values, and the gradients that they pass on, as on the CPU without a compiler."""

    def function(*tensors: Any) -> Any:
        return tuple(play(choices, list(tensors)))

    fast = compile(function, fullgraph=True)
    for seed in (0, 1):
        ours = [t.detach().to("sim").requires_grad_(t.requires_grad) for t in leaves(inputs, seed)]
        theirs = leaves(inputs, seed)
        found, expected = fast(*ours), function(*theirs)
        assert all(one.device == "sim" for one in found)
        agree(found, expected, ours, theirs)


@given(choices=CHOICES, inputs=INPUTS)
@settings(max_examples=150, deadline=None)
def test_kernels_with_reductions_keep_the_meaning(choices: list[Choice], inputs: Any) -> None:
    tensors = [t.detach() for t in leaves(inputs, 0)]
    script = capture(lambda *given: tuple(play(choices, list(given))), tuple(tensors), {}, tensors)
    for segment in script.steps:
        assert isinstance(segment, Segment)
        arrays = [tensors[f.source].array if f.kind == "argument" else f.source for f in segment.feeds]
        expected = interpret(segment.program, *arrays)
        for x, y in zip(interpret(fuse_rows(segment.program), *arrays), expected, strict=True):
            same(np.asarray(x), np.asarray(y))


def run(step_of: Any, device: str, compiled: bool, **options: Any) -> tuple[list[Any], dict[str, int], Any]:
    """Losses of some steps, what the last one asked of the device, and the step."""
    tg.manual_seed(1)
    model = steps.MODELS["mlp"]().to(device)
    step = step_of(model, tg.optim.Adam(model.parameters(), lr=0.01))
    fast = compile(step, fullgraph=True, **options) if compiled else step
    found, asked = [], {}
    for x, y in steps.batches():
        x, y = x.to(device), y.to(device)
        if device == "sim":
            tg.sim.synchronize()
        gc.collect()
        before, start, there = tg.sim.counts(), tg.sim.now(), tg.accelerator.memory_allocated("sim")
        tg.accelerator.reset_peak_memory_stats("sim")
        losses = fast(x, y)
        if device == "sim":
            tg.sim.synchronize()
        asked = {name: count - before[name] for name, count in tg.sim.counts().items()}
        asked |= {"time": tg.sim.now() - start, "peak": tg.accelerator.max_memory_allocated("sim") - there}
        found += [np.array(one.cpu().array) for one in steps.leaves(losses)]
    return found, asked, fast


@pytest.mark.parametrize("step", steps.STEPS)
def test_training_steps_are_the_same_with_fewer_launches(step: str) -> None:
    expected, eager, _ = run(steps.STEPS[step], "sim", False)
    found, asked, fast = run(steps.STEPS[step], "sim", True)
    for x, y in zip(found, expected, strict=True):
        np.testing.assert_allclose(x, y, rtol=2e-5, atol=1e-6)
    assert asked["launches"] < eager["launches"] and asked["time"] < eager["time"]
    assert not any(one.broken for one in fast.ledger)


def test_results_within_a_kernel_need_no_memory() -> None:
    x, w = tg.rand(256, 256).to("sim"), tg.rand(256, 256).to("sim")

    def f(x: Any) -> Any:
        return F.gelu(x @ w + 1).exp() * 2 - x

    peaks = []
    for function in (f, compile(f, fullgraph=True)):
        function(x)
        tg.sim.synchronize()
        there = tg.accelerator.memory_allocated("sim")
        tg.accelerator.reset_peak_memory_stats("sim")
        result = function(x)
        peaks.append(tg.accelerator.max_memory_allocated("sim") - there)
        del result
    assert peaks == [2 * x.nbytes, x.nbytes]


def test_one_command_starts_all_kernels_of_a_program() -> None:
    expected, plain, _ = run(steps.plain_step, "sim", True)
    found, asked, fast = run(steps.plain_step, "sim", True, mode="reduce-overhead")
    np.testing.assert_array_equal(found, expected)
    kernels = [cost_of(one.program).launches for one in fast.ledger[0].codes]
    assert plain["launches"] - asked["launches"] == sum(kernels) - len(kernels)
    assert asked["time"] < plain["time"]


def test_a_recording_on_one_device_says_nothing_of_another() -> None:
    """The 2 becomes a number of bfloat16 on the device of the tensor beside it."""
    for device in ("sim", "cpu", "sim"):
        x = tg.ones(3, device=device)
        found = compile(lambda x: x.bfloat16() * 2 + 1, fullgraph=True)(x)
        assert str(found.device).startswith(device) and found.cpu().float().tolist() == [3, 3, 3]


@pytest.mark.parametrize("mode", ["reduce-overhead", "max-autotune"])
def test_modes_change_no_number_on_the_cpu(mode: str) -> None:
    expected, _, _ = run(steps.plain_step, "cpu", True)
    found, _, _ = run(steps.plain_step, "cpu", True, mode=mode)
    np.testing.assert_allclose(found, expected, rtol=0 if mode == "reduce-overhead" else 1e-6)  # machine code rounds


def test_max_autotune_keeps_one_of_several_forms() -> None:
    x = tg.randn(4000, 256)

    def f(x: Any) -> Any:
        return (x * 2 + 1).tanh() * x

    fast = compile(f, mode="max-autotune")
    assert (fast(x) == compile(f)(x)).all() or (fast(x) - f(x)).abs().max() < 1e-6
    sources = {compile(f, options={"leave_out": ("fuse",)}).ledger == [], fast.ledger[0].source}
    assert len(sources) == 2 and len(fast.ledger[0].codes) == 1


def test_a_softmax_is_one_kernel_and_a_matrix_and_its_columns_are_two() -> None:
    x = tg.rand(8, 5)
    softmax = optimised(trace(lambda x: F.softmax(x, 1), x), fuse=fuse_rows)
    assert [one.name for one in softmax.equations] == ["kernel"]
    both = optimised(trace(lambda x: (x.exp().sum(0), x.exp().sum(1)), x), fuse=fuse_rows)
    assert [one.name for one in both.equations] == ["kernel", "sum"]


def test_a_view_of_a_kernels_result_is_made_after_it_and_shares_its_memory() -> None:
    fast = compile(lambda x: ((y := x.exp() * 2), y.reshape(6)), fullgraph=True)
    y, flat = fast(tg.ones(2, 3).to("sim"))
    y += 1
    assert flat.cpu().tolist() == y.cpu().flatten().tolist()


def test_what_is_made_inside_lives_on_the_device() -> None:
    w = tg.ones(3).to("sim")

    def f(x: Any) -> Any:
        same_place = x.device == "sim" == w.device
        ones = tg.ones(3, device=x.device)
        ones += x
        return same_place, (x * w + ones + tg.arange(3, device="sim")) * tg.tensor([1.0, 2.0, 3.0], device=x.device)

    x = tg.tensor([1.0, 2.0, 3.0])
    fast = compile(f, fullgraph=True)
    for now in (x.to("sim"), (x * 2).to("sim")):
        (found, value), (expected, right) = fast(now), f(now)
        assert found is expected is True and value.cpu().tolist() == right.cpu().tolist()
    assert fast.ledger[0].calls == 2


def test_dropout_draws_anew_at_each_call() -> None:
    layer = nn.Dropout(0.5)
    x = tg.ones(64).to("sim")
    fast = compile(lambda x: layer(x), fullgraph=True)  # noqa: PLW0108
    tg.manual_seed(0)
    found = [fast(x).cpu().tolist() for _ in range(2)]
    tg.manual_seed(0)
    assert found == [layer(x).cpu().tolist() for _ in range(2)] and found[0] != found[1]


def test_tensors_of_two_devices_are_refused() -> None:
    here = tg.ones(3)
    why = "other tensors of the function are on 'sim'"
    with teaches(TraceError, "a tensor on 'cpu' in a compiled function", why, "move it there before"):
        compile(lambda x: x * 2 + here[0], fullgraph=True)(tg.ones(3).to("sim"))


def test_one_function_serves_both_devices() -> None:
    fast = compile(lambda x: x.exp() + 1)
    assert fast(tg.zeros(2)).device == "cpu" and fast(tg.zeros(2).to("sim")).device == "sim"
    assert len(fast.ledger) == 2 and "sim" in fast.ledger[1].reason


def test_labels_that_are_out_of_range_are_found_on_the_device_too() -> None:
    fast = compile(lambda x, y: F.cross_entropy(x, y), fullgraph=True)  # noqa: PLW0108
    x = tg.rand(4, 3).to("sim")
    fast(x, tg.tensor([0, 1, 2, 0]).to("sim"))
    with pytest.raises(tg.errors.EduError, match="3"):
        fast(x, tg.tensor([0, 1, 3, 0]).to("sim"))


def test_the_source_lets_go_of_what_nobody_reads() -> None:
    fast = compile(lambda x, w: ((x @ w).exp() @ w).tanh(), fullgraph=True)
    fast(tg.rand(4, 4).to("sim"), tg.rand(4, 4).to("sim"))
    lines = fast.ledger[0].source.splitlines()
    assert lines[0] == "def run(v0, v1):" and [line for line in lines if "del" in line] == ["    del v3"]


def test_a_device_that_knows_nothing_of_programs_runs_them_operation_by_operation() -> None:
    fast = compile(lambda x, w: F.softmax((x @ w).tanh() * 2, 1), fullgraph=True)
    x, w = tg.rand(4, 3), tg.rand(3, 5)
    expected = fast(x, w)
    for _ in range(2):
        found = fast(x.to("far"), w.to("far"))
        assert found.device == "far"
        np.testing.assert_allclose(found.cpu().array, expected.array, rtol=1e-6)


def test_what_is_made_on_another_device_inside_is_refused() -> None:
    with pytest.raises(TraceError, match="made on 'sim'"):
        compile(lambda device: (tg.ones(4, device=device) * 2).relu(), fullgraph=True)("sim")
    with pytest.raises(TraceError, match="made on 'cpu'"):
        compile(lambda x: (x * 2, tg.ones(4) * 2), fullgraph=True)(tg.ones(4).to("sim"))
    as_written = compile(lambda device: (tg.ones(4, device=device) * 2).relu())
    with pytest.warns(UserWarning, match="runs as it is written"):
        assert as_written("sim").device == "sim"


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_16_bits_on_the_device(dtype: str) -> None:
    x, w = tg.randn(8, 4).to(dtype).to("sim"), tg.randn(4, 4).to(dtype).to("sim")
    fast = compile(lambda x: (x @ w).tanh() * 2, fullgraph=True)
    found, expected = fast(x), (x @ w).tanh() * 2
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found.cpu().float().array, expected.cpu().float().array, rtol=2e-2)
