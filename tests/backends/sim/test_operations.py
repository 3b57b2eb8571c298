"""Every operation on the simulated device: the CPU's values and gradients to the last bit, and nothing leaves it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tests.ops.cases import CASES, Case
from tinygrad_edu import backends
from tinygrad_edu.core.op import OPS
from tinygrad_edu.tensor import wrap

SIM = backends.get("sim")
HERE = [case for case in CASES if case.op != "transfer"]


def leaves(operands: tuple[Any, ...], device: str) -> list[Any]:
    """Arrays as tensors on the device; floats want a gradient."""
    return [
        wrap(backends.get(device).from_numpy(np.array(o))).requires_grad_(o.dtype.kind == "f")
        if isinstance(o, np.ndarray) else o
        for o in operands
    ]  # fmt: skip


def results(case: Case, device: str) -> list[Any]:
    """What the case's call gives there, and the gradients of its operands."""
    operands = leaves(case.operands(0), device)
    out = case.run(*operands)
    assert out.device == device
    found = [out.detach().cpu().numpy()]
    if out.requires_grad:
        (out * out).sum().backward()
        found += [o.grad.cpu().numpy() for o in operands if isinstance(o, tg.Tensor) and o.grad is not None]
    return found


@pytest.mark.parametrize("case", HERE, ids=str)
def test_values_and_gradients_are_those_of_the_cpu(case: Case) -> None:
    expected, found = results(case, "cpu"), results(case, "sim")
    assert len(expected) == len(found)
    for one, other in zip(expected, found, strict=True):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("case", HERE, ids=str)
def test_an_operation_is_one_launch_or_none(case: Case) -> None:
    """None where its result only looks at an operand's memory. Reading labels and positions to check them is free."""
    operands = leaves(case.operands(0), "sim")
    op = OPS[case.op]
    call = backends.get("sim").kernel(op)
    arrays = [o.array if isinstance(o, tg.Tensor) else o for o in operands]
    before = tg.sim.counts()
    result = call.forward(SIM.xp, *arrays, **{**op.params, **case.params})
    out = result[0] if op.caches else result
    after = tg.sim.counts()
    shared = any(out is a or SIM.owner(out) is SIM.owner(a) for a in arrays if hasattr(a, "held"))
    assert after["launches"] - before["launches"] == (0 if shared else 1)
    assert {k: v for k, v in after.items() if "copies" in k} == {k: v for k, v in before.items() if "copies" in k}


@pytest.fixture(autouse=True)
def no_races() -> Iterator[None]:
    before = tg.sim.races()
    yield
    assert tg.sim.races() == before
