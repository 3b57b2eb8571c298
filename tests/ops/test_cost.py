"""What operations say they cost: held against closed formulas, and against a record of what their bodies really do."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import pytest

from tests.ops.cases import CASES, Case
from tests.ops.test_worlds import ONE_BODY, moved
from tinygrad_edu import backends
from tinygrad_edu.backends.cost import Cost, bytes_of
from tinygrad_edu.compiler.ir import Equation
from tinygrad_edu.compiler.trace import Recorder, TraceBackend
from tinygrad_edu.core.op import OPS, Op

# Counting what a body does ------------------------------------------------------------------------------------------

OVER_INPUT = set("sum prod amax amin argmax argmin any all cumsum cumprod argsort col2im".split())
MOVES = set(
    "zeros ones empty full arange zeros_like ones_like reshape permute broadcast_to concatenate astype copy diagonal "
    "windows as_strided take_along_axis scatter_add put im2col getitem".split()
)


def done_by(equation: Equation) -> int:
    """The operations on numbers in one step of a record."""
    name, args, out = equation.name, equation.args, prod(equation.out.shape)
    if name in MOVES:
        return 0
    if name in OVER_INPUT:
        return prod(args[0].shape)
    if name == "matmul":
        return 2 * out * args[0].shape[-1]
    if name == "einsum":
        terms = args[0].split("->")[0].split(",")
        return 2 * prod({letter: n for t, x in zip(terms, args[1:], strict=True)
                         for letter, n in zip(t, x.shape, strict=True)}.values())  # fmt: skip
    if name == "sigmoid":
        return 4 * out
    if name == "conv":
        return 2 * out * prod(args[1].shape[1:])
    if name == "conv_input":
        return 2 * prod(args[0].shape) * prod(args[1].shape[1:])
    if name == "conv_kernel":
        return 2 * prod(args[1].shape) * prod(equation.out.shape[1:])
    return out


def recorded(case: Case) -> tuple[int, tuple[Any, ...], Any]:
    """What the forward body does, its operands, and its result."""
    op, operands = OPS[case.op], case.operands()
    recorder = Recorder()
    proxies = moved(operands, recorder.new)
    result = op.forward(TraceBackend.xp, *proxies, **{**op.params, **case.params})
    out = result[0] if op.caches else result
    return sum(map(done_by, recorder.equations)), operands, out.values


def stated(case: Case, operands: tuple[Any, ...], out: Any) -> Cost:
    op = OPS[case.op]
    return op.cost(operands, out, {**op.params, **case.params})


LARGE = [case for case in ONE_BODY if OPS[case.op].computes]
# Bodies that do something else than one kernel would: a window is the maximum of a few slices, and places are counted.
LOOSE = {
    "max_pool2d",
    "max_pool1d",
    "avg_pool2d",
    "avg_pool1d",
    "adaptive_avg_pool2d",
    "argmax_pool",
    "nll_loss",
    "norm",
}


@pytest.mark.parametrize("case", LARGE, ids=str)
def test_the_arithmetic_is_what_the_body_does(case: Case) -> None:
    """Within a factor of two: which bounds are given, and whether there is a bias, makes no formula of its own."""
    count, operands, out = recorded(case)
    flops = stated(case, operands, out).flops
    slack = 8 if case.op in LOOSE else 2
    rows = 4 * sum(out.shape) + 16  # what is done once a row hardly counts, but these cases are small
    assert count / slack - rows <= flops <= count * slack + rows, (count, flops)


def test_what_only_moves_elements_does_no_arithmetic() -> None:
    for case in ONE_BODY:
        if not OPS[case.op].computes:
            _, operands, out = recorded(case)
            assert stated(case, operands, out).flops == 0


@pytest.mark.parametrize("case", ONE_BODY, ids=str)
def test_bytes(case: Case) -> None:
    """Each operand is read once and the result written once, but for views, and for what is picked out."""
    op, operands = OPS[case.op], case.operands()
    arrays = tuple(o for o in operands if isinstance(o, np.ndarray))
    result = op.forward(backends.CPU.xp, *operands, **{**op.params, **case.params})
    out = np.asarray(result[0] if op.caches else result)
    cost = stated(case, operands, out)
    if op.view and (not out.size or np.may_share_memory(out, arrays[0])):
        assert cost == (0, 0, 0)
        return
    assert cost.written == out.nbytes
    assert cost.read <= sum(a.nbytes for a in arrays) + 8 * out.size
    assert cost.read == sum(a.nbytes for a in arrays) or op.gathers


# Closed formulas -----------------------------------------------------------------------------------------------------


def cost(name: str, *shapes: tuple[int, ...], out: tuple[int, ...], **params: Any) -> Cost:
    """The cost for float32 operands of these shapes."""
    op: type[Op] = OPS[name]
    return op.cost([np.ones(shape, "f4") for shape in shapes], np.ones(out, "f4"), {**op.params, **params})


WINDOW: dict[str, Any] = {"stride": (1, 1), "padding": (0, 0), "dilation": (1, 1), "groups": 1}
FORMULAS: dict[str, tuple[Cost, Cost]] = {
    "multiply 1000": (cost("mul", (1000,), (1000,), out=(1000,)), Cost(1000, 8000, 4000)),
    "multiply by a row": (cost("mul", (50, 20), (20,), out=(50, 20)), Cost(1000, 4080, 4000)),
    "sum": (cost("sum", (50, 20), out=(20,)), Cost(1000, 4000, 80)),
    "matrices 30x40 and 40x50": (
        cost("matmul", (30, 40), (40, 50), out=(30, 50)), Cost(2 * 30 * 40 * 50, 4 * (1200 + 2000), 4 * 1500),
    ),
    "batches of 7": (
        cost("matmul", (7, 30, 40), (7, 40, 50), out=(7, 30, 50)),
        Cost(7 * 2 * 30 * 40 * 50, 4 * 7 * 3200, 4 * 7 * 1500),
    ),
    "vectors": (cost("matmul", (40,), (40,), out=()), Cost(80, 320, 4)),
    "linear with bias": (
        cost("linear", (32, 64), (10, 64), (10,), out=(32, 10)), Cost(32 * 10 * 129, 4 * (2048 + 640 + 10), 1280),
    ),
    "3x3 kernels": (
        cost("conv2d", (2, 3, 8, 8), (4, 3, 3, 3), out=(2, 4, 6, 6), **WINDOW),
        Cost(2 * (2 * 4 * 6 * 6) * (3 * 3 * 3), 4 * (384 + 108), 4 * 288),
    ),
    "attention": (
        cost("scaled_dot_product_attention", (2, 4, 16, 8), (2, 4, 16, 8), (2, 4, 16, 8), out=(2, 4, 16, 8)),
        Cost(2 * 4 * 16 * 16 * (2 * 8 + 2 * 8 + 8), 3 * 4096, 4096),
    ),
    "softmax": (cost("softmax", (10, 100), out=(10, 100), dim=-1), Cost(5000, 4000, 4000)),
    "cast": (cost("cast", (10,), out=(10,)), Cost(0, 40, 40)),
    "a row of a table": (
        OPS["gather"].cost([np.ones((1000, 8), "f4"), np.zeros((2, 8), "i8")], np.ones((2, 8), "f4"), {"dim": 0}),
        Cost(0, 64 + 128, 64),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("found", "expected"), FORMULAS.values(), ids=FORMULAS)
def test_closed_formulas(found: Cost, expected: Cost) -> None:
    assert found == expected


def test_every_operation_states_its_cost() -> None:
    for case in CASES:
        assert OPS[case.op].cost is not None
    assert {case.op for case in CASES} == set(OPS)


def test_what_is_expanded_is_read_once() -> None:
    row = np.ones(100, "f4")
    assert bytes_of(np.broadcast_to(row, (50, 100))) == 400
    assert bytes_of(np.ones((0, 3))) == 0
    assert bytes_of(3.0) == 0
    assert OPS["add"].cost([np.broadcast_to(row, (50, 100)), 1.0], np.ones((50, 100), "f4"), {}).read == 400


def test_a_reshape_costs_only_where_it_copies() -> None:
    x = np.ones((30, 40), "f4")
    flat = {"shape": (1200,)}
    assert OPS["reshape"].cost([x], x.reshape(1200), flat) == (0, 0, 0)
    assert OPS["reshape"].cost([x.T], x.T.reshape(1200), flat) == (0, 4800, 4800)
