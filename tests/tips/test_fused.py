"""What the tips about fused and batched operations say in words, in exact counts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tinygrad_edu.nn import functional as F
from tinygrad_edu.observe import Counters
from tinygrad_edu.tips import Result, find, run


def ran(slug: str, **setting: Any) -> Result:
    return run(find(slug), setting, clock=False)


def test_a_loop_of_products_cuts_multiplies_and_joins() -> None:
    found = ran("batched-matmul", batch=5, n=4)
    assert (found.slow["calls"], found.fast["calls"], found.others["einsum"]["calls"]) == (3 * 5 + 1, 1, 1)
    there = ran("batched-matmul", batch=5, n=4, device="sim")
    assert (there.slow["launches"], there.fast["launches"]) == (5 + 1, 1)


def test_three_tensors_of_one_size_or_one() -> None:
    size = 16 * 256 * 4
    found = ran("fused-linear-bias-activation", rows=16)
    assert [way["allocated"] for way in found.ways.values()] == [3 * size, size, size]
    assert [way["calls"] for way in found.ways.values()] == [4, 1, 4], "a view of w is an operation, too"
    assert found.guides[0]["allocated"] == 2 * size, "a buffer each"
    there = ran("fused-linear-bias-activation", rows=16, device="sim")
    assert [way["launches"] for way in there.ways.values()] == [3, 1, 3]


def test_a_convolution_to_many_channels_grows() -> None:
    found = ran("fused-conv-bias-activation", images=2)
    size = 2 * 32 * 32 * 32 * 4
    assert [way["allocated"] for way in found.ways.values()] == [3 * size, size, 2 * size]
    assert size / (2 * 3 * 32 * 32 * 4) == pytest.approx(10.7, abs=0.1), "ten numbers of each one"


@pytest.mark.parametrize("activation", ["gelu", "silu"])
def test_the_same_result_at_two_places(activation: str) -> None:
    """To the left of its lowest point each comes up again, so no slope follows from the result."""
    x = tg.linspace(-4.0, 0.0, 4001)
    y = getattr(F, activation)(x).numpy()
    lowest = int(y.argmin())
    assert 0 < lowest < 4000 and y[0] > y[lowest] < y[-1]


def test_the_fast_gelu() -> None:
    found = ran("fast-activation", n=4096)
    assert found.slow["off"] < 1e-6 and 4.5e-4 < found.fast["off"] < 5e-4
    assert found.fast["off"] == found.others["in place"]["off"]
    x = tg.linspace(-3.0, 3.0, 1001)
    for name in ("relu", "tanh"):
        np.testing.assert_array_equal(F.fast_activation(x, name).array, getattr(F, name)(x).array)


def test_one_pass_makes_one_buffer_and_in_place_none() -> None:
    found = ran("bias-activation", rows=4)
    size = 4 * 1024 * 4
    assert [way["allocated"] for way in found.ways.values()] == [2 * size, size, 0]
    assert [way["changes"] for way in found.ways.values()] == [False, False, True]


def test_turned_weights_are_a_view_and_in_order_they_are_a_copy() -> None:
    found = ran("weight-layout", rows=2, n=16, turned="in each call")
    assert [way["copied"] for way in found.ways.values()] == [0, 16 * 16 * 4, 0]
    w = tg.rand(3, 2)
    assert w.T.contiguous().tolist() == w.T.tolist() and w.T.stride() == (1, 2)


def test_a_contraction_by_broadcasting_holds_all_products() -> None:
    rows, result = 4, 4 * 32 * 4
    found = ran("flatten-to-2d", rows=rows)
    products = rows * 8 * 16 * 32 * 4
    assert found.slow["allocated"] == products + result
    assert [found.fast["allocated"], found.others["tensordot"]["allocated"]] == [result, result]
    swapped = ran("flatten-to-2d", rows=rows, axes="swapped in memory")
    assert swapped.fast["copied"] == rows * 8 * 16 * 4
    x, w = tg.rand(rows, 8, 16), tg.rand(8, 16, 32)
    with Counters() as counted:
        y = tg.einsum("nhd,hdo->no", x, w)
    assert counted.allocated == y.nbytes and counted.copies == 0


def test_pytorch_copies_both_operands_of_this_einsum() -> None:
    torch = pytest.importorskip("torch", reason="needs PyTorch: pip install -e '.[peers]'")
    x, w = torch.ones(4, 8, 16), torch.ones(8, 16, 32)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as seen:
        torch.einsum("nhd,hdo->no", x, w)
    copied = [event for event in seen.events() if event.name == "aten::clone"]
    assert len(copied) == 2
