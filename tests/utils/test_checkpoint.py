"""Checkpoints: the same values and gradients as without, less memory, and no second run that differs unseen."""

from __future__ import annotations

import threading
import tracemalloc
import weakref
from collections import OrderedDict, namedtuple
from collections.abc import Callable
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tinygrad_edu as tg
from tests.support import teaches
from tinygrad_edu import nn
from tinygrad_edu.errors import ArgumentError, AutogradError, DtypeError
from tinygrad_edu.observe.counters import Counters
from tinygrad_edu.tensor.random import seeded
from tinygrad_edu.utils.checkpoint import CheckpointError, checkpoint, checkpoint_sequential

Pair = namedtuple("Pair", "first rest")


def layers(count: int = 6, width: int = 8, dropout: float = 0.0) -> nn.Sequential:
    tg.manual_seed(0)
    return nn.Sequential(
        *(nn.Sequential(nn.Linear(width, width), nn.Tanh(), nn.Dropout(dropout)) for _ in range(count))
    )


def gradients(run: Callable[[Any], Any], model: nn.Module, x: Any) -> list[np.ndarray[Any, Any]]:
    """The result and all gradients of one run, with the same random numbers each time."""
    model.zero_grad()
    x.grad = None
    tg.manual_seed(1)
    result = run(x)
    (result * result).sum().backward()
    return [result.detach().numpy(), x.grad.numpy().copy(), *(p.grad.numpy().copy() for p in model.parameters())]


def equal(one: list[Any], other: list[Any]) -> bool:
    return len(one) == len(other) and all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


# The same as without -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dropout", [0.0, 0.4])
@pytest.mark.parametrize("segments", [1, 2, 3, 4, 6])
def test_gradients_are_bit_for_bit_those_without(segments: int, dropout: float) -> None:
    model, x = layers(dropout=dropout), tg.rand(5, 8, requires_grad=True)
    plain = gradients(model, model, x)
    assert equal(gradients(lambda x: checkpoint_sequential(model, segments, x), model, x), plain)
    assert equal(gradients(lambda x: checkpoint(model, x), model, x), plain)


def test_checkpoints_inside_checkpoints() -> None:
    model, x = layers(dropout=0.3), tg.rand(5, 8, requires_grad=True)

    def inner(x: Any) -> Any:
        return checkpoint(model[3:], checkpoint(model[1:3], model[:1](x)))

    plain = gradients(model, model, x)
    assert equal(gradients(lambda x: checkpoint(inner, x), model, x), plain)
    assert equal(gradients(lambda x: checkpoint(lambda x: checkpoint(inner, x), x), model, x), plain)


OPS: dict[str, Callable[[Any, Any], Any]] = {
    "mul": lambda x, w: x * w, "matmul": lambda x, w: x @ w, "tanh": lambda x, w: x.tanh(), "add": lambda x, w: x + w,
    "view": lambda x, w: x.T[::1], "twice": lambda x, w: x * x, "softmax": lambda x, w: x.softmax(-1),
    "index": lambda x, w: x[[1, 0, 2]], "expand": lambda x, w: x.sum(0).expand(3, 3),
    "exp": lambda x, w: x.tanh().exp(),
}  # fmt: skip


@given(st.lists(st.sampled_from(sorted(OPS)), min_size=1, max_size=6), st.data())
def test_random_programs_with_random_checkpoints(names: list[str], data: st.DataObject) -> None:
    w = tg.tensor(np.linspace(-1, 1, 9).reshape(3, 3), requires_grad=True)
    x = tg.tensor(np.linspace(0.5, 1.5, 9).reshape(3, 3), requires_grad=True)

    def walk(value: Any, steps: list[str]) -> Any:
        for name in steps:
            value = OPS[name](value, w)
        return value

    def cut(value: Any, steps: list[str], depth: int) -> Any:
        """The same steps, in checkpoints that may hold others."""
        if depth == 0 or len(steps) < 2:
            return checkpoint(walk, value, steps) if data.draw(st.booleans()) else walk(value, steps)
        at = data.draw(st.integers(1, len(steps) - 1))
        if data.draw(st.booleans()):
            return checkpoint(cut_fixed(at, depth), value, steps)
        return cut(cut(value, steps[:at], depth - 1), steps[at:], depth - 1)

    def cut_fixed(at: int, depth: int) -> Any:
        """Cut once, at a place that is the same in both runs."""
        return lambda value, steps: checkpoint(walk, checkpoint(walk, value, steps[:at]), steps[at:])

    plain = tg.autograd.grad(walk(x, names).sum(), [x, w], allow_unused=True)
    found = tg.autograd.grad(cut(x, names, 2).sum(), [x, w], allow_unused=True)
    for a, b in zip(plain, found, strict=True):
        assert (a is None) is (b is None)
        if a is not None:  # what is used several times may be summed in another order
            np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-12)


def test_second_derivatives() -> None:
    x = tg.tensor([1.0, 2.0, 3.0], dtype=tg.float64, requires_grad=True)
    w = tg.tensor([0.5, -1.0, 2.0], dtype=tg.float64, requires_grad=True)
    assert tg.autograd.gradcheck(lambda x, w: checkpoint(lambda x: (x * w).tanh() * x, x), (x, w))
    assert tg.autograd.gradgradcheck(lambda x, w: checkpoint(lambda x: (x * w).tanh() * x, x), (x, w))


def test_tensors_in_every_place_and_of_every_kind() -> None:
    """Positions, names, nested trees, closures, parameters, tensors without a gradient; results in trees too."""
    x, w, c = (tg.tensor([1.0, 2.0], requires_grad=True) for _ in range(3))
    labels = tg.tensor([0, 1])

    def f(x: Any, parts: Any, *, scale: Any, flag: bool) -> Any:
        y = x * parts["w"] * scale[0] * c if flag else x
        return Pair(y.sum(), [OrderedDict(double=y * 2, labels=labels, none=None), "text"])

    def run(call: Any) -> Any:
        return call(f, x * 1, {"w": w}, scale=[c * 3], flag=True)

    results = [run(lambda f, *a, **k: f(*a, **k)), run(checkpoint)]
    assert type(results[1]) is Pair and type(results[1].rest[0]) is OrderedDict
    assert results[1].rest[0]["labels"] is not None and results[1].rest[1] == "text"
    found = [tg.autograd.grad(r.first + r.rest[0]["double"].sum(), [x, w, c]) for r in results]
    for a, b in zip(*found, strict=True):
        assert a.tolist() == b.tolist()
    assert not results[1].rest[0]["labels"].requires_grad


def test_a_result_that_was_passed_through_and_one_that_is_not_used() -> None:
    x = tg.tensor([1.0, 2.0], requires_grad=True)
    same, other = checkpoint(lambda x: (x, x.exp()), x)
    same.sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]
    assert other.requires_grad
    view = checkpoint(lambda x: x[1:], x)
    (g,) = tg.autograd.grad(view.sum(), x)
    assert g.tolist() == [0.0, 1.0]


def test_hooks_run_once() -> None:
    x, w = tg.tensor(2.0, requires_grad=True), tg.tensor(3.0, requires_grad=True)
    seen: list[float] = []
    y = x * 1
    for tensor in (x, w, y):
        tensor.register_hook(lambda g: seen.append(g.item()))
    checkpoint(lambda y: y * w, y).backward()
    assert sorted(seen) == [2.0, 3.0, 3.0]
    assert (x.grad.item(), w.grad.item()) == (3.0, 2.0)


def test_a_gradient_that_a_hook_inside_has_kept_is_not_added_to() -> None:
    w, kept = tg.tensor([1.0, 2.0], requires_grad=True), []

    def f(w: Any) -> Any:
        y = w + 0
        if y.requires_grad:
            y.register_hook(kept.append)
        return y + 0

    checkpoint(f, w).sum().backward()
    before = kept[0].tolist()
    (w * 5).sum().backward()
    assert w.grad.tolist() == [6.0, 6.0]
    assert kept[0].tolist() == before


@pytest.mark.parametrize("recording", [tg.no_grad, tg.inference_mode])
def test_without_recording_it_is_the_plain_call(recording: Any) -> None:
    x, calls = tg.ones(2, requires_grad=True), []
    with recording():
        y = checkpoint(lambda x: calls.append(1) or x * 2, x)
    assert (y.requires_grad, len(calls)) == (False, 1)
    assert not checkpoint(lambda x: x * 2, tg.ones(2)).requires_grad
    assert checkpoint(lambda: "no tensor") == "no tensor"


def test_the_settings_of_the_first_run_hold_in_the_second() -> None:
    found = []

    def f(x: Any) -> Any:
        found.append((tg.zeros(1).dtype, (tg.tensor([1]) * 0.5).dtype))
        return x * 2

    x = tg.ones(2, requires_grad=True)
    with tg.settings.scoped(dtype="float64"), tg.settings.promotion("numpy"):
        y = checkpoint(f, x)
    y.sum().backward()
    assert found[0] == found[1]


def test_blocks_around_both_runs() -> None:
    log = []

    @contextmanager
    def block(name: str) -> Any:
        log.append(f"{name} begins")
        yield
        log.append(f"{name} ends")

    x = tg.ones(2, requires_grad=True)
    y = checkpoint(lambda x: log.append("run") or x * 2, x, context_fn=lambda: (block("first"), block("second")))
    y.sum().backward()
    assert log == ["first begins", "run", "first ends", "second begins", "run", "second ends"]


# Random numbers -----------------------------------------------------------------------------------------------------


def test_the_stream_goes_on_as_if_there_were_one_run() -> None:
    x = tg.ones(4, requires_grad=True)
    tg.manual_seed(3)
    x.grad = None
    y = nn.functional.dropout(x * 1, 0.5)
    y.sum().backward()
    after = tg.rand(3).tolist()
    tg.manual_seed(3)
    y = checkpoint(lambda x: nn.functional.dropout(x * 1, 0.5), x)
    y.sum().backward()
    assert tg.rand(3).tolist() == after


def test_another_mask_is_refused() -> None:
    x = tg.ones(100, requires_grad=True)
    tg.manual_seed(0)
    y = checkpoint(lambda x: nn.functional.dropout(x, 0.5), x, preserve_rng_state=False)
    with pytest.raises(CheckpointError, match="the result has other values in the second run than in the first"):
        y.sum().backward()
    y = checkpoint(lambda x: nn.functional.dropout(x, 0.5), x, preserve_rng_state=False, determinism_check="none")
    y.sum().backward()


def test_an_error_in_the_second_run_leaves_the_stream_where_it_was() -> None:
    runs = []

    def f(x: Any) -> Any:
        runs.append(1)
        if len(runs) > 1:
            raise ValueError("only once")
        return x * tg.rand(2)

    y = checkpoint(f, tg.ones(2, requires_grad=True))
    state = tg.get_rng_state()
    with pytest.raises(ValueError, match="only once"):
        y.sum().backward()
    assert tg.get_rng_state().tolist() == state.tolist()


# Refusals -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answers", "why"),
    [
        ((lambda x: x * 2, lambda x: x * 3), "the result has other values in the second run than in the first"),
        (
            (lambda x: x * 2, lambda x: (x * 2)[:1]),
            "the result had shape (2,), float32 in the first run, and shape (1,), float32 in the second",
        ),
        (
            (lambda x: x * 2, lambda x: (x * 2).double()),
            "the result had shape (2,), float32 in the first run, and shape (2,), float64 in the second",
        ),
        ((lambda x: x * 2, lambda x: (x * 2, x)), "the first run gave 1 tensor, and the second 2"),
        (
            (lambda x: (x, x * 2), lambda x: (x, x * 3)),
            "result 1 has other values in the second run than in the first",
        ),
    ],
)
def test_a_second_run_that_differs_is_refused(answers: tuple[Any, Any], why: str) -> None:
    runs = iter(answers)

    def run(x: Any) -> Any:
        return next(runs)(x)

    y = checkpoint(run, tg.tensor([1.0, 2.0], requires_grad=True))
    mend = "take out of the function whatever is not the same in both runs"
    with teaches(CheckpointError, "checkpoint(run, …)", why, mend, "y = checkpoint("):
        (y if isinstance(y, tg.Tensor) else y[1]).sum().backward()


def test_writing_into_an_argument_is_refused() -> None:
    x = tg.ones(2, requires_grad=True)
    why = "the function writes into one of its arguments, so a second run would begin with other values"
    mend = "let it make new tensors: without out= and in-place methods"
    with teaches(CheckpointError, "checkpoint(<lambda>, …)", why, mend, "checkpoint(lambda y: y.mul_(2)"):
        checkpoint(lambda y: y.mul_(2), x * 1)


def test_an_argument_that_was_written_since_is_refused() -> None:
    x, data = tg.ones(2, requires_grad=True), tg.ones(2)
    y = checkpoint(lambda x, d: x * d, x, data)
    data.add_(1)
    with pytest.raises(AutogradError, match="add_"):
        y.sum().backward()


def test_a_second_backward_is_refused_or_runs_again() -> None:
    x, runs = tg.ones(2, requires_grad=True), []
    y = checkpoint(lambda x: runs.append(1) or x * x, x).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert (x.grad.tolist(), len(runs)) == ([4.0, 4.0], 3)
    with pytest.raises(AutogradError):
        y.backward()


@pytest.mark.parametrize("segments", [0, 7, -1, 2.0, None, "2"])
def test_segments_that_cannot_be(segments: Any) -> None:
    with teaches(
        ArgumentError, f"checkpoint_sequential with segments={segments!r}", "there are 6 functions to divide",
        "use a whole number from 1 to 6", "checkpoint_sequential(",
    ):  # fmt: skip
        checkpoint_sequential(layers(), segments, tg.ones(1, 8))


def test_what_cannot_be_called() -> None:
    why, mend = "it is called, now and again in backward", "give a function or a module, and its arguments after it"
    with teaches(DtypeError, "checkpoint of [1, 2]", why, mend, "checkpoint("):
        checkpoint([1, 2], tg.ones(1))  # type: ignore[arg-type]
    why, mend = "it runs functions in a row", "give an nn.Sequential, or a list of modules and functions"
    for steps in ([1, 2], [], None, nn.ReLU()):
        with pytest.raises(DtypeError) as caught:
            checkpoint_sequential(steps, 1, tg.ones(1))
        assert (caught.value.why, caught.value.mend) == (why, mend)


def test_a_check_that_does_not_exist() -> None:
    with teaches(
        ArgumentError, "determinism_check='all'", "it says whether results are compared", "use 'default' or 'none'",
        "checkpoint(",
    ):  # fmt: skip
        checkpoint(lambda x: x, tg.ones(1), determinism_check="all")


# Memory -------------------------------------------------------------------------------------------------------------


def peak(run: Callable[[], Any]) -> tuple[int, int]:
    """The bytes at the peak of forward and backward: counted, and traced by Python."""
    run().sum().backward()  # gradients are there already
    tracemalloc.start()
    try:
        with Counters() as counted:
            run().sum().backward()
        return counted.peak, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_the_peak_falls_as_the_root_of_the_depth() -> None:
    model, x = layers(36, 16), tg.rand(1000, 16)
    counted, traced = zip(*(peak(lambda n=n: checkpoint_sequential(model, n, x)) for n in (1, 6, 36)), strict=True)
    assert counted[1] < 0.45 * counted[0] and counted[1] < 0.45 * counted[2]
    for one, other in zip(counted, traced, strict=True):
        assert abs(one - other) < 0.1 * other


def test_operations_of_the_second_run_are_counted() -> None:
    model, x = layers(4, 8), tg.rand(2, 8)
    with Counters() as plain:
        model(x).sum().backward()
    model.zero_grad()
    with Counters() as again:
        checkpoint(model, x).sum().backward()
    forward = 4 * 2  # linear and tanh; dropout of 0 does nothing
    assert again.calls == plain.calls + forward + 1  # and the one node that stands for them


def test_what_goes_in_is_freed_by_backward() -> None:
    x = tg.ones(1000, requires_grad=True)
    inner = x * 2
    gone = weakref.ref(inner)
    y = checkpoint(lambda v: v.exp(), inner).sum()
    del inner
    assert gone() is not None
    y.backward()
    assert gone() is None


def test_two_threads() -> None:
    model = layers(dropout=0.3)
    found: list[Any] = []

    def work() -> None:
        x = tg.ones(3, 8, requires_grad=True)
        with seeded(5):
            y = checkpoint_sequential(model, 3, x)
            found.append(tg.autograd.grad(y.sum(), x)[0].tolist())

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(found) == 4 and all(one == found[0] for one in found)


def test_a_layer_that_stands_there_twice_runs_twice() -> None:
    layer = nn.Linear(4, 4)
    model, x = nn.Sequential(layer, nn.Tanh(), layer), tg.rand(3, 4)
    assert checkpoint_sequential(model, 3, x).tolist() == model(x).tolist()
