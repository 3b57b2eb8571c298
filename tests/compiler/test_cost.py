"""The cost of a program: against NumPy's own sizes, the simulated device's products, and what the passes save."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import tinygrad_edu as tg
import tinygrad_edu.nn.functional as F
from tinygrad_edu.backends.sim.kernels import BODY, noted
from tinygrad_edu.compiler import Cost, Program, cost_of, interpret, optimised, table, trace
from tinygrad_edu.compiler.cost import calls_of, flops_of, rows
from tinygrad_edu.compiler.ir import substitute
from tinygrad_edu.compiler.numpy_code import Code
from tinygrad_edu.core.slow import Call, Interceptor
from tinygrad_edu.observe.counters import Counters


def test_a_chain_by_hand() -> None:
    program = trace(lambda x: (x * 2 + 1).exp(), tg.ones(1000))
    assert cost_of(program) == Cost(3, 3000, 12000, 12000, 12000, 8000)
    assert cost_of(optimised(program)) == Cost(1, 3000, 4000, 4000, 4000, 4000)


def test_a_device_starts_a_kernel_once_and_the_cpu_calls_numpy_for_each_of_its_operations() -> None:
    program = trace(lambda x: ((x * 2 + 1).exp().reshape(10, 100).sum(1) * 2).tanh(), tg.ones(1000))
    for one, launches in ((program, 6), (optimised(program), 3)):
        assert cost_of(one).launches == launches and calls_of(one) == Code(one).calls == 6, "a view is no call"
        assert table(one).split("\n")[-1].startswith(f"{launches} launches, 6 NumPy calls ")


def test_a_value_that_is_read_outside_a_kernel_is_written_by_it() -> None:
    def function(x: tg.Tensor) -> tuple[tg.Tensor, tg.Tensor]:
        y = x.exp()
        return y, y * 2 + 1

    cost = cost_of(optimised(trace(function, tg.ones(100))))
    assert (cost.launches, cost.read, cost.written) == (1, 400, 800)


def test_views_cost_nothing_and_a_reshape_that_must_copy_does() -> None:
    x = tg.rand(20, 30)
    assert cost_of(trace(lambda x: x.T[2:].reshape(-1, 1, 20), x)).launches == 0
    assert cost_of(trace(lambda x: x.reshape(600).reshape(2, 300)[1:], x)) == Cost()
    assert cost_of(trace(lambda x: x.T[2:].reshape(560), x)).written == 2240  # columns, one after the other
    assert cost_of(trace(lambda x: x.T.contiguous(), x)).written == 2400
    assert cost_of(trace(lambda x: x.contiguous() * 1, x)).launches == 1


def test_a_row_that_is_stretched_is_read_once() -> None:
    cost = cost_of(trace(lambda x, row: x + row.expand(50, 40), tg.rand(50, 40), tg.rand(40)))
    assert (cost.read, cost.written) == (4 * (2000 + 40), 8000)


def test_an_index_reads_what_it_hands_on_and_where_that_is() -> None:
    where = tg.tensor([3, 1, 4])
    cost = cost_of(trace(lambda x: x[where], tg.rand(100, 8)))
    assert (cost.read, cost.written, cost.flops) == (3 * 8 * 4 + 3 * 8, 3 * 8 * 4, 0)


@pytest.mark.parametrize(
    ("function", "shapes"),
    [
        (lambda x, w: x @ w, [(5, 7), (7, 3)]),
        (lambda x, w: x @ w, [(4, 5, 7), (4, 7, 3)]),
        (lambda x, w: x @ w, [(4, 5, 7), (7, 3)]),
        (lambda x, w: tg.einsum("bij,bjk->bik", x, w), [(4, 5, 7), (4, 7, 3)]),
        (lambda x, w: F.conv2d(x, w, padding=1), [(2, 3, 8, 9), (4, 3, 3, 3)]),
        (lambda x, w: F.conv2d(x, w, groups=2, stride=2), [(2, 4, 8, 9), (6, 2, 3, 3)]),
    ],
)
def test_products_count_what_the_simulated_device_counts(function: object, shapes: list[tuple[int, ...]]) -> None:
    def step(*tensors: tg.Tensor) -> tuple[tg.Tensor, ...]:
        return tg.autograd.grad(function(*tensors).sum(), tensors)  # type: ignore[operator]

    arguments = [tg.rand(*shape, requires_grad=True) for shape in shapes]
    program = trace(step, *arguments)
    values = dict(zip(program.inputs, [t.detach().numpy() for t in arguments], strict=True))
    seen = 0
    for equation in program.equations:
        noted()
        found = interpret(Program(tuple(values), (equation,), equation.outs), *values.values())
        if equation.name in ("matmul", "einsum", "conv", "conv_input", "conv_kernel"):
            getattr(BODY, equation.name)(*substitute(equation.args, values.__getitem__))
            assert flops_of(equation) == sum(one.flops for one in noted()), str(equation)
            seen += 1
        values |= zip(equation.outs, found, strict=True)
    assert seen >= 2


def test_bytes_are_those_of_numpys_results() -> None:
    x = tg.rand(64, 32)
    program = trace(lambda x: F.softmax(x, 1) @ x.T, x)
    values = {program.inputs[0]: x.numpy()}
    for row in rows(program):
        found = interpret(Program(tuple(values), (row.equation,), row.equation.outs), *values.values())
        values |= zip(row.equation.outs, found, strict=True)
        if row.cost.launches:
            assert row.cost.written == sum(np.asarray(one).nbytes for one in found)


def test_what_is_held_falls_when_nobody_reads_a_result_any_more() -> None:
    program = trace(lambda x: ((x * 2).sum(1) * 3).sum(), tg.rand(100, 10))
    assert [row.cost.peak for row in rows(program)] == [4000, 4400, 800, 404]


def test_a_table_with_times() -> None:
    x = tg.rand(8, 8)
    program = trace(lambda x: (x @ x).tanh(), x)
    plain, timed = table(program), table(program, x.numpy())
    assert plain.splitlines()[1].split() == "v1: f32[8,8] = matmul(v0, v0) 1.02 k 256 bytes 256 bytes 256 bytes".split()
    assert "time" in timed and "time" not in plain
    assert len({len(line) for line in timed.splitlines()}) == 1
    assert all(row.seconds and row.seconds > 0 for row in rows(program, x.numpy()))


def test_counters_see_a_program_as_its_kernels_and_its_results() -> None:
    x = tg.rand(100, 100)
    fast = tg.compile(lambda x: ((x * 2 + 1).exp().sum(1), x.tanh()), fullgraph=True)
    with Counters() as first:
        fast(x)
    with Counters() as later:
        found = fast(x)
    cost = cost_of(fast.ledger[0].programs[0])
    assert (later.calls, later.allocated, later.peak) == (cost.launches, 400 + 40000, 400 + 40000)
    assert first.calls > cost.launches, "it was recorded, too"
    assert first.allocated - later.allocated >= fast.ledger[0].codes[0].buffer_bytes
    assert fast.ledger[0].calls == 2 and found[0].shape == (100,)


def test_others_who_watch_see_the_operations_themselves() -> None:
    seen = []

    class Names(Interceptor):
        def forward(self, call: Call, proceed: Callable[[], object]) -> object:
            seen.append(call.op.name)
            return proceed()

    fast = tg.compile(lambda x: (x * 2).exp())
    x = tg.ones(3)
    fast(x)
    with Names(), Counters() as counted:
        fast(x)
    assert seen == ["mul", "exp"] and counted.calls == 2 and fast.ledger[0].calls == 1
