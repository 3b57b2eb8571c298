"""The same checks on a real GPU, where there is one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from benchmarks import record
from examples import digits_on_a_device
from tests.backends.conformance import CHECKS
from tests.backends.cuda import test_device as standing_in
from tests.backends.sim.test_operations import HERE, results
from tests.ops.cases import Case
from tinygrad_edu import backends, tips
from tinygrad_edu.backends import Backend, cuda
from tinygrad_edu.tips.tip import HOLDS

NOT = cuda.why_not()
pytestmark = [pytest.mark.gpu, pytest.mark.skipif(NOT is not None, reason=f"needs a GPU: {NOT and NOT[0]}")]


@pytest.fixture(autouse=True)
def as_it_was() -> Iterator[None]:
    """What a test allows or forbids is as before after it."""
    yield
    gpu: Any = backends.get("cuda")
    gpu.allow(1.0)
    gpu.scalars = True


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_it_conforms(check: Callable[[Backend], None]) -> None:
    check(backends.get("cuda"))


# Of values that are written to one place twice, a GPU keeps any.
@pytest.mark.parametrize("case", [case for case in HERE if str(case) != "put-repeated"], ids=str)
def test_values_and_gradients_are_those_of_the_cpu(case: Case) -> None:
    for one, other in zip(results(case, "cpu"), results(case, "cuda"), strict=True):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        close = {2: 1e-2, 4: 1e-4}.get(one.dtype.itemsize, 1e-10) if one.dtype.kind == "f" else 0
        np.testing.assert_allclose(one, other, rtol=close, atol=close)


def test_the_training_script_learns_as_on_the_cpu() -> None:
    (losses, right), (theirs, known) = (digits_on_a_device.main(device=d, epochs=3) for d in ("cuda", "cpu"))
    np.testing.assert_allclose(losses, theirs, rtol=1e-2)
    assert abs(right - known) < 0.02


@pytest.mark.parametrize(
    "test",
    [
        standing_in.test_sixteen_bits_train_too,
        standing_in.test_a_position_that_does_not_exist_is_refused,
        standing_in.test_integers_that_have_no_result_are_refused,
        standing_in.test_repeated_places_add_up_in_every_dtype,
        standing_in.test_events_tell_the_time_only_if_they_were_asked_to,
        standing_in.test_numbers_that_are_read_are_counted_and_can_be_forbidden,
        standing_in.test_other_libraries_read_and_write_its_memory,
        standing_in.test_nonzero_and_updates_in_place,
    ],
    ids=lambda test: test.__name__,
)
def test_it_does_what_the_stand_in_does(test: Callable[[Backend], None]) -> None:
    test(backends.get("cuda"))


# What only a GPU can show: the host is ahead of it --------------------------------------------------------------------


def busy(times: int = 10) -> tg.Tensor:
    """Work for tens of milliseconds."""
    x = tg.ones(4096, 4096, device="cuda")
    for _ in range(times):
        x = (x @ x) / 4096
    return x


def test_the_host_goes_on_while_it_works_and_an_event_tells_when_it_is_done() -> None:
    busy()
    tg.accelerator.synchronize()
    first, last = (tg.accelerator.Event(enable_timing=True) for _ in range(2))
    first.record()
    x = busy()
    last.record()
    assert not last.query(), "the host came here first"
    assert x[0, 0].item() == 1.0 and last.query(), "who reads a value waits for it"
    assert first.elapsed_time(last) > 1.0


def test_a_pinned_copy_does_not_wait_and_a_pageable_one_does() -> None:
    x = tg.arange(2.0**24)
    pinned = x.pin_memory()
    busy()
    there = pinned.to("cuda", non_blocking=True)
    done = tg.accelerator.current_stream().record_event()
    assert not done.query()
    assert there[-1].item() == x[-1].item()
    busy()
    x.to("cuda")
    assert tg.accelerator.current_stream().query(), "it waited for what was asked for before"
    busy()
    back = there.to("cpu", non_blocking=True)
    assert back.is_pinned() and not tg.accelerator.current_stream().query()
    tg.accelerator.synchronize()
    np.testing.assert_array_equal(back.numpy(), x.numpy())


def test_memory_that_another_stream_uses_is_not_given_to_others() -> None:
    main, side = tg.accelerator.current_stream(), tg.accelerator.Stream()
    x = tg.ones(2**20, device="cuda")
    side.wait_stream(main)
    with tg.accelerator.stream(side):
        busy()
        y = x * 2  # late
    x.record_stream(side)
    del x
    others = [tg.zeros(2**20, device="cuda") for _ in range(4)]
    main.wait_stream(side)
    assert y.sum().item() == 2.0**21 and others[0].sum().item() == 0.0


def test_backward_follows_its_streams() -> None:
    side, main = tg.accelerator.Stream(), tg.accelerator.current_stream()
    x = tg.ones(512, 512, device="cuda", requires_grad=True)
    side.wait_stream(main)
    with tg.accelerator.stream(side):
        y = x
        for _ in range(20):
            y = y @ x / 512
    main.wait_stream(side)
    (y * 3).sum().backward()
    assert x.grad is not None
    np.testing.assert_allclose(x.grad.numpy(force=True), np.full((512, 512), 63.0), rtol=1e-4)


def test_a_lack_of_memory_leaves_the_program_able_to_go_on() -> None:
    tg.accelerator.set_per_process_memory_fraction(0.05)
    with pytest.raises(tg.errors.OutOfMemoryError, match="has no room for it"):
        _ = [tg.ones(2**28, device="cuda") for _ in range(200)]
    tg.accelerator.set_per_process_memory_fraction(1.0)
    tg.accelerator.empty_cache()
    before = tg.accelerator.memory_allocated()
    x = tg.ones(1000, device="cuda")
    assert tg.accelerator.memory_allocated() - before == 4096 and x.sum().item() == 1000.0


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_products_of_sixteen_bits_add_up_in_thirty_two(dtype: str) -> None:
    ones = tg.ones(1, 4096, device="cuda", dtype=dtype)
    assert (ones @ ones.T).item() == 4096, "added up in 16 bits, ones stop at 2048 or before"
    for shapes in (((40, 3000), (3000, 5)), ((3000,), (3000, 5)), ((2, 40, 3000), (3000, 5)), ((2, 3, 30), (2, 30, 4))):
        near = [tg.randn(shape).to(dtype).requires_grad_() for shape in shapes]
        far = [x.detach().to("cuda").requires_grad_() for x in near]
        (near_by, there) = (near[0] @ near[1], far[0] @ far[1])
        near_by.sum().backward()
        there.sum().backward()
        for one, other in zip([near_by, *(x.grad for x in near)], [there, *(x.grad for x in far)], strict=True):
            assert one.dtype == other.dtype == dtype
            expected, found = one.detach().float().numpy(), other.detach().cpu().float().numpy()
            np.testing.assert_allclose(found, expected, rtol=1e-2, atol=2e-2 * abs(expected).max())


def test_torch_shares_its_memory() -> None:
    torch = pytest.importorskip("torch", reason="needs PyTorch with CUDA")
    if not torch.cuda.is_available():
        pytest.skip("this PyTorch is built without CUDA")
    theirs = torch.arange(3.0, device="cuda")
    ours = tg.from_dlpack(theirs)
    ours[0] = 7.0
    tg.accelerator.synchronize()
    assert ours.device == "cuda" and theirs.tolist() == [7.0, 1.0, 2.0]
    again = torch.from_dlpack(ours)
    assert again.device.type == "cuda" and again.data_ptr() == theirs.data_ptr()


CHOSEN = [*{tip.slug: tip for tip in [*(t for t in tips.all_tips() if "cuda" in t.devices), *record.chosen()]}.values()]


@pytest.mark.parametrize("tip", CHOSEN, ids=lambda tip: tip.slug)
def test_a_tip_runs_there_and_holds_as_on_the_cpu(tip: tips.Tip) -> None:
    found = tips.run(tip, {"device": "cuda"}, clock=False)
    assert not found.failed, found.reason
    if "cuda" in tip.devices and "cpu" in tip.devices:
        assert found.equal
        assert found.verdict == tips.run(tip, {"device": "cpu"}, clock=False).verdict == HOLDS
