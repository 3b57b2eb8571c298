"""The CuPy adapter on a strict stand-in: it conforms, trains, orders streams, and refuses what CuPy lets pass."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from examples import digits_on_a_device
from tests.backends.conformance import CHECKS
from tests.backends.sim.test_operations import HERE, results
from tests.cupy_standin import LOG, POOL, ndarray
from tests.ops.cases import Case
from tests.support import teaches
from tinygrad_edu import backends, nn
from tinygrad_edu.backends import Backend, cuda
from tinygrad_edu.errors import DeviceError, DtypeError, IndexRangeError, OutOfMemoryError

BOTH = pytest.mark.parametrize("place", ["cuda", "cuda:1"])


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@BOTH
def test_it_conforms(gpu: Backend, place: str, check: Callable[[Backend], None]) -> None:
    check(backends.get(place))


@pytest.mark.parametrize("case", HERE, ids=str)
def test_values_and_gradients_are_those_of_the_cpu(gpu: Backend, case: Case) -> None:
    """Products of windows add up in another order, so there is a tolerance."""
    expected, found = results(case, "cpu"), results(case, "cuda")
    assert len(expected) == len(found)
    for one, other in zip(expected, found, strict=True):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        close = {2: 1e-2, 4: 1e-5}.get(one.dtype.itemsize, 1e-11) if one.dtype.kind == "f" else 0
        np.testing.assert_allclose(one, other, rtol=close, atol=close)


def test_one_training_script_gives_equal_losses_on_every_device(gpu: Backend) -> None:
    """The digits network with a prefetching loader, on `cpu`, `sim` and through the adapter."""
    setting = {"epochs": 2, "images": 512}
    there = {device: digits_on_a_device.main(device=device, **setting) for device in ("cpu", "sim", "cuda")}
    assert there["sim"] == there["cpu"], "the simulated device computes with NumPy, in NumPy's order"
    losses, right = there["cuda"]
    np.testing.assert_allclose(losses, there["cpu"][0], rtol=1e-4)
    assert abs(right - there["cpu"][1]) < 0.02 and losses[1] < losses[0]


def test_compiled_steps_give_the_same_losses(gpu: Backend) -> None:
    setting: dict[str, Any] = {"epochs": 2, "images": 256}
    losses, right = digits_on_a_device.main(device="cuda", **setting)
    found = digits_on_a_device.main(device="cuda", compiler="numpy", **setting)
    np.testing.assert_allclose(found[0], losses, rtol=1e-4)
    assert abs(found[1] - right) < 0.02


def test_sixteen_bits_train_too(gpu: Backend) -> None:
    for dtype in ("float16", "bfloat16"):
        found = {}
        for device in ("cpu", "cuda"):
            tg.manual_seed(0)
            layer = nn.Linear(8, 4).to(device).to(dtype)
            x = tg.randn(16, 8).to(device).to(dtype)
            layer(x).square().mean().backward()
            assert layer.weight.grad is not None and layer.weight.grad.dtype == dtype
            found[device] = layer.weight.grad.float().tolist()
        np.testing.assert_allclose(found["cuda"], found["cpu"], rtol=1e-2, atol=1e-3)


def _noting(astype: Callable[..., Any], notes: list[Any]) -> Callable[..., Any]:
    def noted(x: Any, dtype: Any) -> Any:
        notes.append(dtype)
        return astype(x, dtype)

    return noted


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_products_of_sixteen_bits_are_the_gpu_s_own(gpu: Backend, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """To cast to float32 and back takes a GPU ten times as long. Sums are in float32 all the same."""
    for shapes in (((40, 3000), (3000, 5)), ((3000,), (3000, 5)), ((2, 40, 3000), (3000, 5)), ((2, 3, 30), (2, 30, 4))):
        tg.manual_seed(0)
        near = [tg.randn(shape).to(dtype).requires_grad_() for shape in shapes]
        far = [x.detach().to("cuda").requires_grad_() for x in near]
        cast: list[Any] = []
        with monkeypatch.context() as patch:
            patch.setattr(ndarray, "astype", _noting(ndarray.astype, cast))
            found = far[0] @ far[1]
        assert bool(cast) == (dtype == "bfloat16" and len(shapes[0]) > 2)
        expected = near[0] @ near[1]
        found.sum().backward()
        expected.sum().backward()
        for here, there in zip([found, *(x.grad for x in far)], [expected, *(x.grad for x in near)], strict=True):
            assert here.dtype == there.dtype == dtype
            near_by = 2e-2 * there.float().abs().max().item()  # over a batch, sums of rounded products
            np.testing.assert_allclose(here.float().tolist(), there.float().tolist(), rtol=1e-2, atol=near_by)
    ones = tg.ones(1, 4096, device="cuda", dtype=dtype)
    assert (ones @ ones.T).item() == 4096, "added up in 16 bits, ones stop at 2048 or before"


# What CuPy lets pass -------------------------------------------------------------------------------------------------


def test_a_position_that_does_not_exist_is_refused(gpu: Backend) -> None:
    """CuPy would wrap around, and read or write somewhere else."""
    x = tg.arange(6.0, device="cuda").reshape(2, 3)
    far = tg.tensor([0, 3], device="cuda")
    for call in (lambda: x[:, far], lambda: x[far], lambda: x.index_select(1, far), lambda: x.T[far]):
        with pytest.raises(IndexRangeError):
            call()
    with pytest.raises(IndexRangeError):
        x[:, far] = 1.0
    assert x.tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
    assert x[:, tg.tensor([-1, -3], device="cuda")].tolist() == [[2.0, 0.0], [5.0, 3.0]]


def test_integers_that_have_no_result_are_refused(gpu: Backend) -> None:
    ones, zero = tg.ones(3, dtype="int64", device="cuda"), tg.tensor([1, 0, 2], device="cuda")
    for call in (lambda: ones // zero, lambda: ones % zero, lambda: tg.fmod(ones, zero), lambda: ones ** (zero - 1)):
        with pytest.raises(DtypeError):
            call()
    assert (ones * 7 // 2).tolist() == [3, 3, 3]


def test_the_host_and_the_other_gpu_do_not_mix_with_it(gpu: Backend) -> None:
    x, y = tg.ones(3, device="cuda"), tg.ones(3, device="cuda:1")
    for other in (tg.ones(3), y):
        with pytest.raises(DeviceError):
            x + other
    assert (x + y.to("cuda")).tolist() == [2.0, 2.0, 2.0] and y.to("cuda").device == "cuda"
    assert tg.accelerator.device_count() == 2 and tg.accelerator.current_accelerator() == "cuda"


def test_repeated_places_add_up_in_every_dtype(gpu: Backend) -> None:
    """CuPy can add at repeated places in six dtypes only."""
    places = tg.tensor([0, 0, 2], device="cuda")
    for dtype in ("int64", "int32", "int16", "uint8", "float16", "bfloat16", "float32", "float64"):
        x = tg.zeros(3, dtype=dtype, device="cuda")
        found = x.index_add(0, places, tg.ones(3, dtype=dtype, device="cuda"))
        assert (found.dtype, found.tolist()) == (x.dtype, [2, 0, 1])


# Streams, copies, memory ---------------------------------------------------------------------------------------------


def test_backward_runs_on_the_stream_of_forward_and_waits_for_gradients(gpu: Backend) -> None:
    side, main = tg.accelerator.Stream(), tg.accelerator.current_stream()
    x = tg.ones(3, device="cuda", requires_grad=True)
    side.wait_stream(main)
    with tg.accelerator.stream(side):
        y = x * 2
    main.wait_stream(side)
    loss = (y * 3).sum()
    before = len(LOG)
    loss.backward()
    waits = [one[1] for one in LOG[before:] if one[0] == "wait"]
    assert side.raw in waits, "the side stream waits for the gradient that the main one makes"
    assert x.grad is not None and x.grad.array.stream is side
    before = len(LOG)
    (x.grad + 1).sum()
    assert next(one[1] for one in LOG[before:] if one[0] == "wait") is main.raw, "the main one waits, too"
    assert x.grad.tolist() == [6.0, 6.0, 6.0]


def test_events_tell_the_time_only_if_they_were_asked_to(gpu: Backend) -> None:
    first, last, dumb = (tg.accelerator.Event(enable_timing=timed) for timed in (True, True, False))
    first.record()
    tg.ones(2**20, device="cuda")  # a real clock ticks in half microseconds, which two records alone can be within
    last.record()
    dumb.record()
    assert first.elapsed_time(last) > 0
    with pytest.raises(tg.errors.ArgumentError, match="enable_timing"):
        first.elapsed_time(dumb)


def test_a_copy_that_does_not_wait_needs_pinned_memory(gpu: Backend) -> None:
    pageable = tg.ones(4)
    pinned = pageable.pin_memory()
    assert pinned.is_pinned() and pinned[1:].is_pinned() and not pageable.is_pinned()
    for source, non_blocking, waits in (
        (pageable, False, True), (pageable, True, False), (pinned, False, True), (pinned, True, False)
    ):  # fmt: skip
        before = len(LOG)
        found = source.to("cuda", non_blocking=non_blocking)
        assert ("synchronize" in [one[0] for one in LOG[before:]]) == waits
        assert found.tolist() == [1.0] * 4
    back = pinned.to("cuda").to("cpu", non_blocking=True)
    tg.accelerator.synchronize()
    assert back.is_pinned() and back.tolist() == [1.0] * 4


def test_memory_is_counted_and_a_lack_of_it_leaves_the_program_able_to_go_on(gpu: Backend) -> None:
    before = tg.accelerator.memory_allocated()
    tg.accelerator.reset_peak_memory_stats()
    x = tg.ones(1000, device="cuda")
    assert tg.accelerator.memory_allocated() - before == 4096
    y = x[10:].view(-1)
    assert tg.accelerator.memory_allocated() - before == 4096, "a view takes none"
    del x, y
    assert tg.accelerator.memory_allocated() == before and tg.accelerator.max_memory_allocated() == before + 4096
    tg.accelerator.set_per_process_memory_fraction(0.5)
    with pytest.raises(OutOfMemoryError, match=r"'cuda' has no room for it: Out of memory allocating .* tensors hold"):
        tg.ones(40_000_000, device="cuda")
    gc.collect()
    tg.accelerator.set_per_process_memory_fraction(1.0)
    assert tg.ones(3, device="cuda").sum().item() == 3.0
    tg.accelerator.empty_cache()
    assert POOL.total == POOL.used


def test_memory_that_another_stream_uses_is_kept_until_it_is_done(gpu: Any) -> None:
    side = tg.accelerator.Stream()
    with tg.accelerator.stream(side):
        x = tg.ones(1000, device="cuda")
    used = POOL.used
    x.record_stream(tg.accelerator.current_stream())
    before = len(LOG)
    del x
    tg.accelerator.memory_allocated()
    assert ("record", tg.accelerator.current_stream().raw) in LOG[before:], "an event where the other stream stands now"
    assert POOL.used < used, "it has passed already"


def test_pytorch_s_names_act_on_it(gpu: Backend) -> None:
    assert tg.cuda.is_available() and tg.cuda.device_count() == 2 and tg.cuda.current_device() == 0
    assert tg.cuda.get_device_name() == "Stand-in 0" and tg.cuda.get_device_name(1) == "Stand-in 1"
    x = tg.ones(1000, device="cuda:0")
    assert x.device == "cuda" and tg.cuda.memory_allocated() >= 4096 and x.is_cuda
    with tg.cuda.stream(tg.cuda.Stream()) as side:
        assert tg.cuda.current_stream() is side
    tg.cuda.synchronize()


def test_numbers_that_are_read_are_counted_and_can_be_forbidden(gpu: Backend) -> None:
    x, before = tg.ones(3, device="cuda"), tg.accelerator.scalar_reads()
    assert x.sum().item() == 3.0 and tg.accelerator.scalar_reads() == before + 1
    tg.accelerator.allow_scalar(False)
    with pytest.raises(DeviceError, match="allow_scalar"):
        float(x.sum())


def test_other_libraries_read_and_write_its_memory(gpu: Backend) -> None:
    x = tg.ones(3, device="cuda")
    assert x.__dlpack_device__() == (2, 0)
    y = tg.from_dlpack(x)
    y[0] = 7
    assert y.device == "cuda" and x.tolist() == [7.0, 1.0, 1.0]
    assert tg.from_dlpack(x, copy=True).array.owner is not x.array.owner and tg.from_dlpack(x, device="cpu").tolist()
    with pytest.raises(DeviceError, match="it lies elsewhere"):
        tg.from_dlpack(x, device="cpu", copy=False)


def test_nonzero_and_updates_in_place(gpu: Backend) -> None:
    x = tg.tensor([[0.0, 2.0], [3.0, 0.0]], device="cuda")
    assert x.nonzero().tolist() == [[0, 1], [1, 0]]
    x.add_(1).mul_(2)
    x[0] += 10
    assert x.tolist() == [[12.0, 16.0], [8.0, 2.0]]


# Where there is none -------------------------------------------------------------------------------------------------


def test_without_a_gpu_it_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = "device 'cuda:3'"
    monkeypatch.setattr(cuda, "driver", lambda: None)
    with teaches(
        DeviceError, tried, "there is no NVIDIA driver here", "use 'sim', a simulated GPU, or a machine with one"
    ):
        tg.ones(1, device="cuda:3")
    for version, name in ((11, "12"), (12, "12"), (13, "13"), (14, "13")):
        monkeypatch.setattr(cuda, "driver", lambda version=version: version)
        monkeypatch.setattr(cuda.importlib.util, "find_spec", lambda name: None)
        with teaches(DeviceError, tried, "CuPy is not installed", f'install it: pip install "cupy-cuda{name}x>=14"'):
            tg.ones(1, device="cuda:3")

    def broken(name: str) -> Any:
        raise ImportError("libcudart.so.13: cannot open shared object file")

    monkeypatch.setattr(cuda.importlib.util, "find_spec", lambda name: name)
    monkeypatch.setattr(cuda.importlib, "import_module", broken)
    with pytest.raises(DeviceError, match=r"CuPy finds no GPU \(ImportError: libcudart.so.13"):
        tg.ones(1, device="cuda:3")


def test_a_gpu_that_is_not_there_is_no_device(gpu: Backend) -> None:
    from tests import cupy_standin

    assert cuda.make("cuda:2", cupy_standin.cupy, cupy_standin.cupyx) is None


def test_the_stand_in_is_strict() -> None:
    from tests.cupy_standin import cupy

    x = cupy.array(np.arange(3.0))
    for call in (lambda: bool(x), lambda: np.asarray(x), lambda: x + np.ones(3), lambda: cupy.exp(np.ones(3))):
        with pytest.raises(TypeError):
            call()
    assert x[cupy.array(np.array([3, 4]))].get().tolist() == [0.0, 1.0], "positions wrap around"
    with pytest.raises(AttributeError):
        cupy.float_power  # noqa: B018
