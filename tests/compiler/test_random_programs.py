"""Programs made at random: by every way of running them the same numbers, and the same gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tinygrad_edu as tg
from tinygrad_edu.compiler import compile, interpret
from tinygrad_edu.compiler.capture import Segment, capture
from tinygrad_edu.compiler.passes import PASSES, optimised

SHAPES = ((), (1,), (4,), (3, 1), (3, 4), (2, 3, 4))
UNARY = (
    "exp tanh relu sigmoid abs neg sqrt_abs log_abs square sin transpose reshape row column keep_sum mean_last amax "
    "cumsum stretch astype softmax getitem_list flip_pairs clone halve detach norm"
).split()
BINARY = "add sub mul div maximum where matmul minimum compare stack put cat rows".split()
Choice = tuple[str, int, int, float]


def unary(name: str, x: Any, number: float) -> Any:
    if name in ("exp", "tanh", "relu", "sigmoid", "abs", "neg", "sin", "square", "clone", "detach"):
        return getattr(tg, name)(x.tanh() if name == "exp" else x) if hasattr(tg, name) else getattr(x, name)()
    last = x.ndim - 1
    return {
        "sqrt_abs": lambda: (x.abs() + 0.5).sqrt(),  # noqa: PLW0108  (only when it is asked for)
        "log_abs": lambda: (x.abs() + 0.5).log(),  # noqa: PLW0108
        "transpose": lambda: x.mT if x.ndim > 1 else x * number,
        "reshape": lambda: x.reshape(-1),
        "row": lambda: x[0] if x.ndim else x + number,
        "column": lambda: x[..., :1] if x.ndim else x,
        "keep_sum": lambda: x.sum(last, keepdim=True) if x.ndim else x.sum(),
        "mean_last": lambda: x.mean(last) if x.ndim else x * number,
        "amax": lambda: x.amax(last) if x.ndim else x,
        "cumsum": lambda: x.cumsum(last) if x.ndim else x,
        "stretch": lambda: x.expand(2, *x.shape),
        "astype": lambda: x.double().float() if number > 0 else x.to("bfloat16").float(),
        "softmax": lambda: x.softmax(last) if x.ndim else x,
        "getitem_list": lambda: x[[0, -1, 0]] if x.ndim else x,
        "flip_pairs": lambda: x.flip(0) if x.ndim else x,
        "halve": lambda: x * 0.5 + 1.0 * x,
        "norm": lambda: x / (x.square().sum() + 1),
    }[name]()


def binary(name: str, x: Any, y: Any, number: float) -> Any:
    small = x if x.ndim < 1 or x.shape[0] < 4 else x[:2]
    return {
        "add": lambda: x + y,
        "sub": lambda: x - y * number,
        "mul": lambda: x * y,
        "div": lambda: x / (y.square() + 1),
        "maximum": lambda: tg.maximum(x, y),
        "minimum": lambda: tg.minimum(x, y),
        "where": lambda: tg.where(x > y, x * number, y),
        "matmul": lambda: x @ y,
        "compare": lambda: (x > y).float() * x,
        "stack": lambda: tg.stack([x, y]),
        "put": lambda: put(small, y),
        "cat": lambda: tg.cat([x, y]),
        "rows": lambda: (x + 1).add_(y).mul_(number),
    }[name]()


def put(x: Any, y: Any) -> Any:
    """A write into a part of something new."""
    z = x * 1
    if z.ndim:
        z[0] = y.sum()
    else:
        z += y.sum()
    return z


def play(choices: list[Choice], tensors: list[Any]) -> list[Any]:
    """The values that are computed, one after the other, from earlier ones; what does not fit is left out."""
    values = list(tensors)
    for name, i, j, number in choices:
        x, y = values[i % len(values)], values[j % len(values)]
        try:
            made = unary(name, x, number) if name in UNARY else binary(name, x, y, number)
        except tg.errors.EduError as error:
            if isinstance(error, tg.compiler.TraceError):
                raise
            continue
        if made.numel() <= 200:
            values.append(made)
    return values[len(tensors) :]


NUMBERS = st.sampled_from([-1.5, 0.5, 1.0, 2.0])
CHOICES = st.lists(
    st.tuples(st.sampled_from([*UNARY, *BINARY]), st.integers(0, 20), st.integers(0, 20), NUMBERS),
    min_size=2, max_size=14,
)  # fmt: skip
INPUTS = st.lists(st.tuples(st.sampled_from(SHAPES), st.booleans()), min_size=1, max_size=3)


def leaves(inputs: list[tuple[tuple[int, ...], bool]], seed: int) -> list[Any]:
    rng = np.random.default_rng(seed)
    made = [tg.tensor(rng.normal(size=shape).astype("f4")) for shape, _ in inputs]
    return [t.requires_grad_() if wants else t for t, (_, wants) in zip(made, inputs, strict=True)]


def same(found: Any, expected: Any, by: str = "") -> None:
    assert found.dtype == expected.dtype and tuple(found.shape) == tuple(expected.shape), by
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5, err_msg=by)


def agree(found: Any, expected: Any, ours: list[Any], theirs: list[Any]) -> None:
    """The same values, and the same gradients at the leaves that they were computed from, wherever ours are."""
    for x, y in zip(found, expected, strict=True):
        same(x.detach().cpu().array, y.detach().array)
    wanting = [(x, y) for x, y in zip(found, expected, strict=True) if y.requires_grad]
    if not wanting:
        return
    sum((x * x).sum() for x, _ in wanting).backward()
    sum((y * y).sum() for _, y in wanting).backward()
    for x, y in zip(ours, theirs, strict=True):
        if y.grad is not None:
            same(x.grad.cpu().array, y.grad.array)


def check_outside(choices: list[Choice], inputs: Any, seeds: tuple[int, ...] = (0, 1), **options: Any) -> None:
    """A function of tensors: its values, and the gradients that its results pass on, compiled with these options."""

    def function(*tensors: Any) -> Any:
        return tuple(play(choices, list(tensors)))

    fast = compile(function, fullgraph=True, **options)
    for seed in seeds:
        ours, theirs = leaves(inputs, seed), leaves(inputs, seed)
        agree(fast(*ours), function(*theirs), ours, theirs)


def check_step(choices: list[Choice], inputs: Any, **options: Any) -> None:
    """Forward, backward, and weights that are moved in place, several times over, compiled with these options."""

    def step_of(tensors: list[Any]) -> Any:
        def step() -> Any:
            values = play(choices, tensors)
            loss = sum((v * v).mean() for v in values) + sum(t.sum() for t in tensors)
            if loss.requires_grad:
                loss.backward()
            with tg.no_grad():
                for t in tensors:
                    if t.grad is not None:
                        t.sub_(t.grad.clamp(-1, 1), alpha=0.01)
                        t.grad = None
            return loss.detach()

        return step

    ours, theirs = leaves(inputs, 0), leaves(inputs, 0)
    fast, slow = compile(step_of(ours), fullgraph=True, **options), step_of(theirs)
    for _ in range(3):
        same(fast().array, slow().array)
        for x, y in zip(ours, theirs, strict=True):
            same(x.detach().array, y.detach().array)


@given(choices=CHOICES, inputs=INPUTS, left_out=st.sets(st.sampled_from(sorted(PASSES))))
@settings(max_examples=400, deadline=None)
def test_forward_and_backward_outside(choices: list[Choice], inputs: Any, left_out: set[str]) -> None:
    check_outside(choices, inputs, options={"leave_out": tuple(left_out)})


@given(choices=CHOICES, inputs=INPUTS)
@settings(max_examples=300, deadline=None)
def test_a_whole_step_that_writes_its_weights(choices: list[Choice], inputs: Any) -> None:
    check_step(choices, inputs)


@given(choices=CHOICES, inputs=INPUTS)
@settings(max_examples=200, deadline=None)
def test_each_pass_keeps_the_meaning(choices: list[Choice], inputs: Any) -> None:
    tensors = [t.detach() for t in leaves(inputs, 0)]
    script = capture(lambda *given: tuple(play(choices, list(given))), tuple(tensors), {}, tensors)
    for segment in script.steps:
        assert isinstance(segment, Segment)
        arrays = [tensors[f.source].array if f.kind == "argument" else f.source for f in segment.feeds]
        expected = interpret(segment.program, *arrays)
        given = dict(zip(segment.program.inputs, arrays, strict=True))
        for name, change in {**PASSES, "all of them": optimised}.items():
            program = change(segment.program)
            for x, y in zip(interpret(program, *map(given.__getitem__, program.inputs)), expected, strict=True):
                same(np.asarray(x), np.asarray(y), f"the pass {name}")


def test_large_arrays_run_in_strips() -> None:
    rng = np.random.default_rng(0)
    x = tg.tensor(rng.normal(size=(700, 300)).astype("f4"), requires_grad=True)
    row, column = tg.tensor(rng.normal(size=300).astype("f4")), tg.tensor(rng.normal(size=(700, 1)).astype("f4"))

    def f(x: Any) -> Any:
        y = (x * 2 + row).sigmoid() * column - tg.where(x > 0, x, row) + x.tanh().relu()
        return y * y, y

    fast = compile(f, fullgraph=True)
    for found, expected in zip(fast(x), f(x), strict=True):
        np.testing.assert_allclose(found.detach().array, expected.detach().array, rtol=1e-5, atol=1e-5)
    source = fast.ledger[0].codes[0].source
    assert "for i in range(0, 700" in source


@pytest.mark.parametrize("name", sorted(PASSES))
def test_a_pass_says_what_it_does_with_an_example(name: str) -> None:
    assert "``" in (PASSES[name].__doc__ or ""), "its docstring shows a before and after, in double backquotes"
