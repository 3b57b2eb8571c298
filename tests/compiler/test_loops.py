"""Whole programs as loops: the same numbers as `interpret` and the engine, in Python and as machine code; or none."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tinygrad_edu as tg
from tests.compiler.test_random_programs import CHOICES, INPUTS, Choice, check_outside, check_step, leaves, play, same
from tinygrad_edu.compiler import compile, interpret, optimised, running, trace
from tinygrad_edu.compiler import loops as module
from tinygrad_edu.compiler.capture import Segment, capture
from tinygrad_edu.compiler.ir import Program
from tinygrad_edu.compiler.loops import Loops, loops


@pytest.fixture(autouse=True, scope="module")
def _small_programs_too() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "LEAST_CALLS", 0)
        yield


@pytest.fixture(scope="module")
def in_python() -> Iterator[list[Any]]:
    """What is compiled with Numba stays Python. Gives what was made: loops, or None."""
    made: list[Any] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(running, "loops", lambda *given: made.append(loops(*given, jit=False)) or made[-1])
        yield made


def program_of(function: Any, *tensors: Any) -> Program:
    return optimised(trace(function, *tensors))


def checked(program: Program, *arrays: Any, jit: bool = False) -> Loops:
    """The loops of a program, which give what it means."""
    found = loops(program, {}, jit=jit)
    assert found is not None
    for x, y in zip(found.run(*arrays), interpret(program, *arrays), strict=True):
        same(np.asarray(x), np.asarray(y), found.source)
    return found


@given(choices=CHOICES, inputs=INPUTS)
@settings(max_examples=600, deadline=None)
def test_random_programs_mean_the_same(choices: list[Choice], inputs: Any) -> None:
    tensors = [t.detach() for t in leaves(inputs, 0)]
    script = capture(lambda *given: tuple(play(choices, list(given))), tuple(tensors), {}, tensors)
    for segment in script.steps:
        assert isinstance(segment, Segment)
        program = optimised(segment.program)
        arrays = {
            var: tensors[feed.source].array if feed.kind == "argument" else feed.source
            for var, feed in zip(segment.program.inputs, segment.feeds, strict=True)
        }
        given_ = [arrays[var] for var in program.inputs]
        found = loops(program, {}, jit=False)
        expected = interpret(program, *given_)
        for x, y in zip(found.run(*given_) if found else expected, expected, strict=True):
            same(np.asarray(x), np.asarray(y), found.source if found else "")


@given(choices=CHOICES, inputs=INPUTS)
@settings(max_examples=200, deadline=None)
def test_forward_and_backward_outside(in_python: list[Any], choices: list[Choice], inputs: Any) -> None:
    check_outside(choices, inputs, backend="numba")


@given(choices=CHOICES, inputs=INPUTS)
@settings(max_examples=300, deadline=None)
def test_a_whole_step_that_writes_its_weights(in_python: list[Any], choices: list[Choice], inputs: Any) -> None:
    check_step(choices, inputs, backend="numba")


def test_most_random_programs_have_loops(in_python: list[Any]) -> None:
    """Or the tests above would try nothing."""
    made: list[Any] = []
    operations = "exp tanh relu abs square reshape row column keep_sum mean_last amax softmax getitem_list".split()
    for name in operations:
        x = tg.randn(3, 4)
        made.append(loops(program_of(lambda x, name=name: play([(name, 0, 0, 1.0)], [x])[0] * 2, x), {}, jit=False))
    assert [name for name, one in zip(operations, made, strict=True) if one is None] == []


@given(choices=CHOICES, inputs=INPUTS)
@settings(max_examples=6, deadline=None)
def test_machine_code_of_random_programs(choices: list[Choice], inputs: Any) -> None:
    check_outside(choices, inputs, seeds=(0,), backend="numba")


LENGTHS = st.integers(1, 11)
LAYOUTS = st.sampled_from(["in order", "transposed", "sliced", "backwards", "one number"])


def laid_out(rng: np.random.Generator, shape: tuple[int, ...], layout: str, kind: str) -> np.ndarray[Any, Any]:
    """Random numbers of this shape, which lie in memory in this way."""
    if layout == "transposed" and len(shape) > 1:
        return laid_out(rng, (*shape[:-2], shape[-1], shape[-2]), "in order", kind).swapaxes(-1, -2)
    if layout == "sliced":
        return laid_out(rng, (*shape[:-1], shape[-1] + 3), "in order", kind)[..., 2:-1]
    if layout == "one number":
        return np.broadcast_to(np.asarray(3, kind), shape)
    array = rng.integers(-5, 6, shape).astype(kind)
    return array[::-1] if layout == "backwards" else array


@st.composite
def products(draw: Any) -> tuple[Any, Any]:
    """Two operands of a product: vectors, matrices, batches that are broadcast, of few and of many rows and columns."""
    rows, added, columns, kind = draw(LENGTHS), draw(LENGTHS), draw(LENGTHS), draw(st.sampled_from(["f4", "f8", "i8"]))
    batches = st.sampled_from([(), (3,), (1,), (2, 3), (2, 1)])
    first = (added,) if draw(st.booleans()) and draw(st.booleans()) else (*draw(batches), rows, added)
    second = (added,) if draw(st.booleans()) and draw(st.booleans()) else (*draw(batches), added, columns)
    rng = np.random.default_rng(draw(st.integers(0, 9)))
    return laid_out(rng, first, draw(LAYOUTS), kind), laid_out(rng, second, draw(LAYOUTS), kind)


def around_a_product(x: Any, y: Any) -> Any:
    """A product whose result is computed with, shown in another shape, summed up, and given."""
    z = (x * 2) @ (y - 1)
    return z, z * 3, z.reshape(-1) + 1, z.sum(), (z @ z.mT if z.ndim > 1 else z + 1)


@given(pair=products())
@settings(max_examples=400, deadline=None)
def test_products_of_any_shape_and_layout(pair: tuple[Any, Any]) -> None:
    """Of whole numbers, so that the order of the sums does not matter."""
    x, y = pair
    program = optimised(trace(around_a_product, tg.tensor(x), tg.tensor(y)))
    for _ in range(2):  # the second time, memory holds what the first has left
        checked(program, x, y)


@given(pair=products())
@settings(max_examples=4, deadline=None)
def test_products_as_machine_code(pair: tuple[Any, Any]) -> None:
    program = optimised(trace(around_a_product, *map(tg.tensor, pair)))
    checked(program, *pair, jit=True)


def test_what_is_not_a_number_stays_where_it_belongs() -> None:
    """Rows of a product have zeros at their ends, which infinity makes no numbers: nobody may see them."""
    x, y = np.ones((5, 7), "f4"), np.ones((7, 10), "f4")
    x[2, 3], y[4, 9] = np.inf, np.nan
    with np.errstate(all="ignore"):
        given_ = tg.tensor(x), tg.tensor(y)
        program = optimised(trace(lambda x, y: ((x @ y).exp(), (x @ y).sum(0), (x @ y).mT @ x), *given_))
        checked(program, x, y, jit=True)


def classifier() -> tuple[Any, Any]:
    """A training step of a small network, and the network."""
    tg.manual_seed(0)
    model = tg.nn.Sequential(tg.nn.Linear(8, 16), tg.nn.Tanh(), tg.nn.Linear(16, 5))
    optimizer = tg.optim.SGD(model.parameters(), lr=0.1)
    x, y = tg.randn(12, 8), tg.randint(0, 5, (12,))

    def step(x: Any = x, y: Any = y) -> Any:
        optimizer.zero_grad()
        loss = tg.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    return step, model


@pytest.mark.parametrize("jit", [False, True])
def test_a_training_step_as_one_function(jit: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "loops", lambda *given: loops(*given, jit=jit))
    (slow, ours), (plain, theirs) = classifier(), classifier()
    fast = compile(slow, fullgraph=True, backend="numba")
    np.testing.assert_allclose([fast().item() for _ in range(5)], [plain().item() for _ in range(5)], rtol=1e-5)
    for p, q in zip(ours.parameters(), theirs.parameters(), strict=True):
        same(p.detach().array, q.detach().array)
    (code,) = fast.ledger[0].codes
    assert isinstance(code, Loops) and code.calls == 1 and code.buffer_bytes > 0
    assert "matmul" in code.source and "Compiled by Numba" in code.source and "test_loops.py, line" in code.source


def test_the_steps_of_a_recurrence_share_their_loops() -> None:
    """So fifty of them take no longer to compile than five."""

    def recurrence(steps: int) -> Any:
        def run(x: Any, w: Any, u: Any) -> Any:
            h = x[0] @ w
            for i in range(1, steps):
                h = (x[i] @ w + h @ u).tanh()
            return h

        return program_of(run, tg.randn(steps, 4, 6), tg.randn(6, 6), tg.randn(6, 6))

    def shape(steps: int) -> tuple[int, int]:
        found = loops(recurrence(steps), {}, jit=False)
        assert found is not None
        return found.source.count("def loop"), len(found.run.__globals__["steps"])  # type: ignore[attr-defined]

    (few, short), (many, long) = shape(6), shape(50)
    assert few == many and long > 7 * short


def test_long_chains_are_cut_so_that_several_numbers_are_computed_at_once() -> None:
    def chain(x: Any, w: Any, b: Any) -> Any:
        values = []
        for _ in range(12):
            x = (x * w + b).tanh()
            values.append(x)
        return tuple(values)

    tensors = [tg.randn(64) for _ in range(3)]
    program = program_of(chain, *tensors)
    found = checked(program, *(one.array for one in tensors), jit=True)
    (made,) = found.run.__globals__["main"].inspect_llvm().values()  # type: ignore[attr-defined]
    assert " x float>" in made, "vectors"
    assert found.source.count("for i0 in range(64)") > 1, "and more than one nest"


@pytest.mark.parametrize(
    ("function", "shapes"),
    [
        (lambda x: x.transpose(0, 1).reshape(-1) * 2, [(3, 4)]),
        (lambda x: x.flip(0)[1:, ::2] + 1, [(4, 5)]),
        (lambda x, y: x @ y, [(2, 3, 4), (4, 5)]),
        (lambda x, y: x @ y, [(2, 3, 4), (2, 4, 1)]),
        (lambda x, y: x @ y, [(4,), (4, 5)]),
        (lambda x, y: x @ y, [(3, 4), (4,)]),
        (lambda x, y: x @ y.T, [(3, 7), (5, 7)]),
        (lambda x, y: (x @ y) * 1.0, [(4,), (4,)]),
        (lambda x: x.sum((0, 2)) + x.sum(1).sum(), [(2, 3, 4)]),
        (lambda x: x.amax(0) - x.amin((0, 1)), [(3, 2, 4)]),
        (lambda x: x.prod(1) * (x > 0).sum(), [(3, 4)]),
        (lambda x: x[[2, -1, 0]] + x[[0, 0, 1], [1, -2, 0]].sum(), [(3, 4)]),
        (lambda x: (x * 3).long().float().floor() + (x * 2.5).ceil(), [(3, 4)]),
        (lambda x, y: tg.cat([x, y, x], 1) * 2, [(3, 2), (3, 5)]),
        (lambda x, y: tg.stack([x, y], 1).sum(0), [(3,), (3,)]),
        (lambda x: x.expand(4, 3).diagonal() + 1, [(1, 3)]),
        (lambda x: x.squeeze() * x.sum(), [(1,)]),
        (lambda x: x.double() * 0.1 + x.int(), [(3, 4)]),
    ],
)  # fmt: skip
def test_what_has_loops(function: Any, shapes: list[tuple[int, ...]]) -> None:
    tensors = [tg.randn(*shape) * 2 for shape in shapes]
    checked(program_of(function, *tensors), *(one.array for one in tensors))


@pytest.mark.parametrize(
    "function",
    [lambda x: x.sort()[0], lambda x: x.cumsum(0), lambda x: x.bfloat16() * 2, lambda x: x[:, :0] * 2,
     lambda x: (x @ tg.ones(4, 40_000)) * 1, lambda x: x.erf()],
)  # fmt: skip
def test_what_has_none_is_left_to_numpy(function: Any) -> None:
    x = tg.randn(3, 4)
    assert loops(program_of(function, x), {}) is None
    same(compile(function, backend="numba")(x).array.astype("f4"), function(x).array.astype("f4"))


def test_few_calls_and_large_arrays_do_not_pay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    monkeypatch.setattr(module, "LEAST_CALLS", 8)
    x, large = tg.randn(4), tg.randn(400, 400)
    assert loops(program_of(lambda x: (x * 2).sin(), x), {}) is None
    assert loops(program_of(lambda x: ((x * 2).sin() + x.cos() * x.exp() - x.tanh() + x.abs()) * 3, x), {}, jit=False)
    assert loops(program_of(lambda x: ((x * 2).sin() + x.cos() * x.exp() - x.tanh() + x.abs()) * 3, large), {}) is None


def test_a_program_of_very_many_loops_is_left_to_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    x = tg.randn(3, 4)
    program = program_of(lambda x: (x @ x.T).sum(0) + (x * 2).sum(1), x)
    assert loops(program, {}, jit=False) is not None
    monkeypatch.setattr(module, "MOST_NESTS", 2)
    assert loops(program, {}, jit=False) is None


def test_a_length_that_is_filled_in_compiles_no_machine_code(in_python: list[Any]) -> None:
    def f(x: Any) -> Any:
        return ((x * 2).sin() + x.cos()).sum()

    fast = compile(f, fullgraph=True, dynamic=True, backend="numba")
    for length in (5, 7, 9, 11):
        x = tg.randn(length)
        same(fast(x).array, f(x).array)
    assert [type(code) is Loops for one in fast.ledger for code in one.codes] == [True, True, False, False]


def test_an_index_beyond_is_numpys_error_and_nothing_is_written() -> None:
    x, index = tg.randn(4, 3), tg.tensor([0, 3])
    program = program_of(lambda x, index: x[index] * 2, x, index)
    for jit in (False, True):
        found = loops(program, {}, jit=jit)
        assert found is not None
        same(found.run(x.array, index.array)[0], x.array[[0, 3]] * 2)
        with pytest.raises(IndexError, match="index 4 is out of bounds for axis 0 with size 4"):
            found.run(x.array, np.array([0, 4]))


def test_memory_that_lies_in_another_way() -> None:
    """What is only read may lie anyhow; where what is written does, NumPy does it."""
    program = program_of(lambda x, y: (x * 2 + y, x - y), tg.randn(3, 4), tg.randn(3, 4))
    rng = np.random.default_rng(0)
    for jit in (False, True):
        found = loops(program, {0: ("input", 0), 1: ("new", 1)}, jit=jit)
        assert found is not None
        for order in ("C", "F"):
            x, y = (np.array(rng.normal(size=(3, 4)), "f4", order=order) for _ in range(2))  # type: ignore[call-overload]
            expected, goal = (x * 2 + y, x - y), np.empty((3, 4), "f4", order)  # type: ignore[call-overload]
            assert found.run(x, y, goal) == ()
            same(x, expected[0])
            same(goal, expected[1])


def test_two_inputs_that_change_places() -> None:
    program = program_of(lambda x, y: (y * 1, x + 0 * y), tg.randn(4), tg.randn(4))
    found = loops(Program(program.inputs, program.equations, (program.inputs[1], program.inputs[0])),
                  {0: ("input", 0), 1: ("input", 1)}, jit=False)  # fmt: skip
    assert found is not None
    x, y = np.arange(4, dtype="f4"), np.arange(4, 8, dtype="f4")
    found.run(x, y)
    assert x.tolist() == [4, 5, 6, 7] and y.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("shape", [(6,), (200, 200)])
def test_rounding_keeps_what_is_not_finite(shape: tuple[int, ...]) -> None:
    """In loops, and in a kernel over a large array."""
    x = tg.randn(*shape)
    with tg.no_grad():
        x.reshape(-1)[:6] = tg.tensor([float("inf"), -float("inf"), float("nan"), 1e20, -0.0, -1.5])

    def f(x: Any) -> Any:
        return x.floor(), x.ceil() + 0, x * 1

    for one, other in zip(compile(f, fullgraph=True, backend="numba")(x), f(x), strict=True):
        np.testing.assert_array_equal(one.array, other.array)
        np.testing.assert_array_equal(np.signbit(one.array), np.signbit(other.array))


def test_sums_of_float32_keep_their_digits() -> None:
    """Many small numbers after a large one would be lost in a sum of float32."""
    x = np.full(16_000, 1e-4, "f4")
    x[0] = 1000
    program = program_of(lambda x: (x.reshape(4, -1) * 1).sum(1) + (x * 1).sum(), tg.tensor(x))
    found = loops(program, {}, jit=True)
    assert found is not None
    exact = np.float64(x).reshape(4, -1).sum(1) + np.float64(x).sum()
    np.testing.assert_allclose(found.run(x)[0], exact, rtol=1e-6)
