"""Compiled functions against the same functions as they are written: values, gradients, state, and what is refused."""

from __future__ import annotations

import copy
import gc
import linecache
import re
import traceback
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tests.support import teaches
from tinygrad_edu import nn
from tinygrad_edu.compiler import TraceError, compile
from tinygrad_edu.errors import ArgumentError, AutogradError, DeviceError, ShapeError

F = nn.functional


class Residual(nn.Module):
    """Layers with everything that keeps state: batch norm and dropout."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(6, 6), nn.Linear(6, 3)
        self.norm, self.drop = nn.BatchNorm1d(6), nn.Dropout(0.3)

    def forward(self, x: Any) -> Any:
        return self.second(x + self.drop(self.norm(self.first(x)).relu()))


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cell, self.out = nn.GRU(6, 5, batch_first=True), nn.Linear(5, 3)

    def forward(self, x: Any) -> Any:
        h, _ = self.cell(x.reshape(len(x), 2, 3).repeat(1, 1, 2))
        return self.out(h[:, -1])


class Attending(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Linear(3, 8)
        self.block = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
        self.out = nn.Linear(8, 3)

    def forward(self, x: Any) -> Any:
        return self.out(self.block(self.embed(x.reshape(len(x), 2, 3))).mean(1))


class Pictures(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm, self.out = nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.Linear(12, 3)

    def forward(self, x: Any) -> Any:
        return self.out(F.max_pool2d(self.norm(self.conv(x.reshape(-1, 1, 2, 3))).relu(), (2, 1)).flatten(1))


MODELS: dict[str, Callable[[], nn.Module]] = {
    "mlp": lambda: nn.Sequential(nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, 3)),
    "gelu": lambda: nn.Sequential(nn.Linear(6, 5), nn.GELU(), nn.LayerNorm(5), nn.Linear(5, 3)),
    "residual": Residual, "recurrent": Recurrent, "attending": Attending, "pictures": Pictures,
}  # fmt: skip
OPTIMISERS: dict[str, Callable[[Any], Any]] = {
    "sgd": lambda p: tg.optim.SGD(p, lr=0.1),
    "momentum": lambda p: tg.optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.01),
    "adam": lambda p: tg.optim.Adam(p, lr=0.01),
    "adamw": lambda p: tg.optim.AdamW(p, lr=0.01, amsgrad=True),
    "rmsprop": lambda p: tg.optim.RMSprop(p, lr=0.01),
}


def batches(count: int = 6, rows: int = 8) -> list[tuple[tg.Tensor, tg.Tensor]]:
    rng = np.random.default_rng(0)
    return [
        (tg.tensor(rng.normal(size=(rows, 6)).astype("f4")), tg.tensor(rng.integers(0, 3, rows))) for _ in range(count)
    ]


Step = Callable[[tg.Tensor, tg.Tensor], Any]
Making = Callable[[nn.Module, Any], Step]


def plain_step(model: nn.Module, optimizer: Any) -> Step:
    def step(x: Any, y: Any) -> Any:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    return step


def clipped_step(model: nn.Module, optimizer: Any) -> Step:
    schedule = tg.optim.lr_scheduler.StepLR(optimizer, 2, 0.5)

    def step(x: Any, y: Any) -> Any:
        loss = F.cross_entropy(model(x), y, label_smoothing=0.1)
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
        return {"loss": loss, "norm": norm}

    return step


def scaled_step(model: nn.Module, optimizer: Any) -> Step:
    scaler = tg.amp.GradScaler("cpu", init_scale=1024.0, growth_interval=2)

    def step(x: Any, y: Any) -> Any:
        optimizer.zero_grad(set_to_none=False)
        with tg.autocast("cpu", dtype="bfloat16"):
            loss = F.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        return (loss,)

    return step


def accumulated_step(model: nn.Module, optimizer: Any) -> Step:
    """The gradients of two halves are added up, and an average of the weights is kept by hand."""
    averages = [p.detach().clone() for p in model.parameters()]

    def step(x: Any, y: Any) -> Any:
        half = len(x) // 2
        for part in (slice(None, half), slice(half, None)):
            (F.cross_entropy(model(x[part]), y[part]) / 2).backward()
        optimizer.step()
        optimizer.zero_grad()
        with tg.no_grad():
            for average, p in zip(averages, model.parameters(), strict=True):
                average.mul_(0.9).add_(p, alpha=0.1)
        return [average.sum() for average in averages]

    return step


def by_hand(model: nn.Module, optimizer: Any) -> Step:
    """No optimiser: the weights are written under no_grad."""

    def step(x: Any, y: Any) -> Any:
        loss = F.cross_entropy(model(x), y)
        for p in model.parameters():
            p.grad = None
        loss.backward()
        with tg.no_grad():
            for p in model.parameters():
                p -= 0.1 * p.grad
        return loss.detach()

    return step


STEPS: dict[str, Making] = {
    "plain": plain_step, "clipped": clipped_step, "scaled": scaled_step, "accumulated": accumulated_step,
    "by hand": by_hand,
}  # fmt: skip


def leaves(tree: Any) -> list[Any]:
    if isinstance(tree, dict):
        return [one for item in tree.values() for one in leaves(item)]
    return [one for item in tree for one in leaves(item)] if isinstance(tree, (list, tuple)) else [tree]


def after(model: nn.Module, optimizer: Any) -> list[Any]:
    """All that a training changes."""
    state = [v.array for v in model.state_dict().values()]
    grads = [None if p.grad is None else p.grad.array for p in model.parameters()]
    memory = [entry[k].array for entry in optimizer.state.values() for k in sorted(entry)]
    return [np.array(one) for one in (*state, *(g for g in grads if g is not None), *memory)]


def run(make: Making, name: str, optimiser: str, compiled: bool) -> tuple[list[Any], list[Any], Any]:
    tg.manual_seed(1)
    model = MODELS[name]()
    optimizer = OPTIMISERS[optimiser](model.parameters())
    step = make(model, optimizer)
    fast = compile(step, fullgraph=True) if compiled else step
    found = []
    for i, (x, y) in enumerate(batches()):
        if i == 4:
            model.eval()  # batch norm and dropout do something else
        found += [np.array(one.array) for one in leaves(fast(x, y))]
    return found, after(model, optimizer), fast


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("step", STEPS)
def test_a_training_step_gives_the_same(step: str, name: str) -> None:
    """Losses, weights, buffers, gradients, the optimiser's memory and random numbers, over several steps."""
    optimiser = {"plain": "adam", "clipped": "momentum", "scaled": "sgd"}.get(step, "sgd")
    expected, state, _ = run(STEPS[step], name, optimiser, False)
    found, state_found, fast = run(STEPS[step], name, optimiser, True)
    for x, y in zip([*found, *state_found], [*expected, *state], strict=True):
        assert x.dtype == y.dtype and x.shape == y.shape
        np.testing.assert_allclose(x, y, rtol=2e-5, atol=1e-6)
    assert sum(trace.calls for trace in fast.ledger) == 6 and not any(trace.broken for trace in fast.ledger)


@pytest.mark.parametrize("optimiser", OPTIMISERS)
def test_every_optimiser_steps_as_before(optimiser: str) -> None:
    expected, state, _ = run(plain_step, "mlp", optimiser, False)
    found, state_found, _ = run(plain_step, "mlp", optimiser, True)
    for x, y in zip([*found, *state_found], [*expected, *state], strict=True):
        np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("name", MODELS)
def test_a_module_gives_the_same_and_has_its_gradients_from_outside(name: str) -> None:
    tg.manual_seed(3)
    one = MODELS[name]()
    other = copy.deepcopy(one)
    fast = compile(other, fullgraph=True)
    assert [n for n, _ in other.named_parameters()] == [
        n.removeprefix("_orig_mod.") for n, _ in fast.named_parameters()
    ]
    for x, y in batches(3):
        given = [x.clone().requires_grad_() for _ in range(2)]
        results = []
        for model, inputs in ((one, given[0]), (fast, given[1])):
            tg.manual_seed(5)
            loss = (F.cross_entropy(model(inputs), y) * 2).exp()
            loss.backward()
            results.append(loss.item())
        assert results[0] == pytest.approx(results[1], rel=1e-5)
        np.testing.assert_allclose(given[0].grad.array, given[1].grad.array, rtol=1e-4, atol=1e-6)
        for p, q in zip(one.parameters(), other.parameters(), strict=True):
            np.testing.assert_allclose(p.grad.array, q.grad.array, rtol=1e-4, atol=1e-6)


def test_two_forward_passes_before_their_backward_do_not_share_memory() -> None:
    model = MODELS["mlp"]()
    fast = compile(model)
    (x1, y1), (x2, y2) = batches(2)
    a, b = fast(x1), fast(x2)
    kept = a.detach().clone()
    F.cross_entropy(b, y2).backward()
    assert (a == kept).all()
    F.cross_entropy(a, y1).backward()
    expected = copy.deepcopy(model)
    expected.zero_grad()
    (F.cross_entropy(expected(x2), y2) + F.cross_entropy(expected(x1), y1)).backward()
    for p, q in zip(model.parameters(), expected.parameters(), strict=True):
        np.testing.assert_allclose(p.grad.array, q.grad.array, rtol=1e-5, atol=1e-6)


def test_results_and_gradients_that_the_user_keeps_are_not_written_over() -> None:
    model = MODELS["mlp"]()
    fast = compile(plain_step(model, tg.optim.SGD(model.parameters(), lr=0.1)))
    kept = []
    for x, y in batches():
        loss = fast(x, y)
        arrays = [p.grad for p in model.parameters()]
        kept.append((loss, loss.item(), arrays, [g.array.copy() for g in arrays]))
    for loss, value, arrays, copies in kept:
        assert loss.item() == value
        assert all(np.array_equal(g.array, c) for g, c in zip(arrays, copies, strict=True))


def test_the_memory_of_a_gradient_that_nobody_keeps_is_used_again() -> None:
    model = MODELS["mlp"]()
    fast = compile(plain_step(model, tg.optim.SGD(model.parameters(), lr=0.1)))
    (x, y), *_ = batches(1)
    places = set()
    for _ in range(5):
        fast(x, y)
        places.add(tuple(p.grad.data_ptr() for p in model.parameters()))
    assert len(places) <= 2  # looking at the first has made it known


# When a program is made anew ------------------------------------------------------------------------------------------


def test_the_ledger_says_why() -> None:
    scale = [2.0]
    w = tg.ones(3, requires_grad=True)

    def f(x: Any, power: int = 1) -> Any:
        return (x * w * scale[0] ** power).sum()

    fast = compile(f, fullgraph=True)
    x = tg.ones(3)
    assert fast(x).item() == 6 and fast(x).item() == 6
    assert fast(x, 2).item() == 12
    assert fast(tg.ones(2, 3)).item() == 12
    scale[0] = 3.0
    assert fast(x).item() == 9
    with tg.no_grad():
        assert not fast(x).requires_grad
    w.requires_grad_(False)
    assert fast(x).item() == 9 and not fast(x).requires_grad
    w.data = tg.full((3,), 2.0)  # other memory, of the same shape: the program reads it
    assert fast(x).item() == 18
    assert fast(tg.ones(3, dtype="float64")).dtype == np.float64
    assert [trace.reason for trace in fast.ledger] == [
        "the first call",
        "there are 2 arguments, and were 1",
        "argument 0 was float32[3], and is float32[2, 3]",
        "scale[0] was 2.0, and is 3.0",
        "grad mode: True before, False now",
        "a tensor [3] of the outside needs no gradients now",
        "argument 0 was float32[3], and is float64[3]",
    ]
    assert [trace.calls for trace in fast.ledger] == [2, 1, 1, 1, 1, 3, 1]


def test_a_module_that_changes_is_noticed() -> None:
    model = Residual()
    fast = compile(model)
    (x, _), *_ = batches(1)
    for _ in range(2):
        fast(x)
    model.eval()
    np.testing.assert_allclose(fast(x).array, model(x).array, rtol=1e-5)
    model.first = nn.Linear(6, 6)
    np.testing.assert_allclose(fast(x).array, model(x).array, rtol=1e-5)
    model.second.weight = nn.Parameter(tg.zeros(3, 6))
    np.testing.assert_allclose(fast(x).array, model(x).array, rtol=1e-5)
    model.drop.p = 0.5
    fast(x)
    reasons = [trace.reason for trace in fast.ledger]
    assert len(reasons) == 5 and "training was True, and is False" in reasons[1]
    assert "first" in reasons[2] and "weight" in reasons[3] and "p was 0.3, and is 0.5" in reasons[4]


def test_too_many_programs_are_too_many() -> None:
    fast = compile(lambda x: x * 2)
    for n in range(1, 9):
        fast(tg.ones(n))
    with pytest.warns(UserWarning, match="runs as it is written: 8 programs were made already: argument 0 was float32"):
        assert fast(tg.ones(9)).shape == (9,)
    assert fast(tg.ones(10)).shape == (10,) and fast(tg.ones(3)).shape == (3,)


def test_random_numbers_are_drawn_at_each_call_as_they_would_be() -> None:
    def f(x: Any) -> Any:
        return F.dropout(x, 0.5) + tg.randn(4) * tg.rand_like(x) + tg.randint(0, 9, (4,))

    fast = compile(f, fullgraph=True)
    for function in (f, fast):
        tg.manual_seed(7)
        found = [function(tg.ones(4)).tolist() for _ in range(3)]
        if function is f:
            expected = found
    assert found == expected and found[0] != found[1]


def test_random_numbers_of_a_generator() -> None:
    def f(x: Any, g: Any) -> Any:
        return x + tg.rand(3, generator=g)

    fast = compile(f, fullgraph=True)
    ours, theirs = tg.Generator().manual_seed(3), tg.Generator().manual_seed(3)
    for _ in range(3):
        assert fast(tg.ones(3), ours).tolist() == f(tg.ones(3), theirs).tolist()


# What a program cannot repeat ----------------------------------------------------------------------------------------


def item(x: Any) -> Any:
    return x * x.sum().item()


def branch(x: Any) -> Any:
    return x if x.sum() > 0 else -x


def printing(x: Any) -> Any:
    print(x)
    return x * 2


def to_numpy(x: Any) -> Any:
    return tg.tensor(np.sort(x.numpy()))


def from_array(x: Any) -> Any:
    return x + tg.tensor(np.ones(3, np.float32))


def in_place_random(x: Any) -> Any:
    return tg.zeros(3).uniform_() + x


def new_memory(x: Any) -> Any:
    x.data = x.data * 2
    return x * 1


def odd_result(x: Any) -> Any:
    return {1, 2}


BREAKS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "item": (item, "reading a traced value"),
    "branch": (branch, "reading a traced value"),
    "print": (printing, "printing or asking in a compiled function"),
    "numpy": (to_numpy, "traced"),
    "array": (from_array, "of an array inside a compiled function"),
    "uniform_": (in_place_random, "drawing random numbers in this way"),
    "data": (new_memory, "x.data = …"),
    "set": (odd_result, "returning a set"),
}


@pytest.mark.parametrize("name", BREAKS)
def test_what_cannot_be_repeated_runs_as_it_is_written_or_is_refused(name: str) -> None:
    function, words = BREAKS[name]
    with pytest.raises(TraceError) as caught:
        compile(function, fullgraph=True)(tg.tensor([3.0, 1.0, 2.0]))
    assert words in str(caught.value) and "test_compile.py" in (caught.value.line or "")
    fast = compile(function)
    x, y = tg.tensor([3.0, 1.0, 2.0]), tg.tensor([3.0, 1.0, 2.0])
    tg.manual_seed(2)
    expected = function(x)
    tg.manual_seed(2)
    with pytest.warns(UserWarning, match="runs as it is written"):
        found = fast(y)
    assert words in fast.ledger[0].broken
    if isinstance(expected, tg.Tensor):
        np.testing.assert_array_equal(found.array, expected.array)
        np.testing.assert_array_equal(x.array, y.array)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fast(y)  # it is said once


def test_side_effects_are_noticed() -> None:
    seen: list[Any] = []
    counts = {"calls": 0}

    class Counting(nn.Module):
        calls = 0

        def __init__(self) -> None:
            super().__init__()
            self.calls = 0

        def forward(self, x: Any) -> Any:
            self.calls += 1
            return x * 2

    def appending(x: Any) -> Any:
        seen.append(1)
        return x * 2

    def counting(x: Any) -> Any:
        counts["calls"] += 1
        return x * 2

    for function, words in ((appending, "the length of seen"), (counting, "counts['calls']"), (Counting(), "calls")):
        with pytest.raises(TraceError, match="a change of Python's values") as caught:
            compile(function, fullgraph=True)(tg.ones(2))
        assert words in str(caught.value)


def test_an_error_of_the_function_is_its_own() -> None:
    fast = compile(lambda x, y: x @ y)
    with pytest.raises(ShapeError, match="matmul"):
        fast(tg.ones(2, 3), tg.ones(2, 3))
    x = tg.ones(2, requires_grad=True)

    def overwrites(x: Any) -> Any:
        y = x.exp()
        z = y * 2
        y += 1
        z.sum().backward()
        y.sum().backward()
        return y

    with pytest.raises(Exception, match="exp"):
        overwrites(x.clone())
    with pytest.raises(Exception, match="exp"):
        compile(overwrites)(x.clone())
    with pytest.raises(DeviceError):
        compile(lambda x: x + tg.ones(2))(tg.ones(2, device="sim"))


def test_a_capture_changes_nothing() -> None:
    model = Residual()
    optimizer = tg.optim.Adam(model.parameters())
    F.cross_entropy(model(batches(1)[0][0]), batches(1)[0][1]).backward()
    grads = [p.grad for p in model.parameters()]
    before = [p.array for p in model.parameters()], after(model, optimizer), tg.get_rng_state().tolist()

    def fails(x: Any, y: Any) -> Any:
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
        with tg.no_grad():
            model.first.weight.add_(1)
        raise RuntimeError("half-way")

    with pytest.raises(RuntimeError, match="half-way"):
        compile(fails, fullgraph=True)(*batches(1)[0])
    assert all(
        p.array is a and type(p) is type(nn.Parameter(tg.ones(1)))
        for p, a in zip(model.parameters(), before[0], strict=True)
    )
    assert all(p.grad is g for p, g in zip(model.parameters(), grads, strict=True))
    for x, y in zip(after(model, optimizer), before[1], strict=True):
        np.testing.assert_array_equal(x, y)
    assert tg.get_rng_state().tolist() == before[2]


def test_inputs_that_show_the_memory_that_is_written_are_refused() -> None:
    w = tg.ones(4)

    def f(x: Any) -> Any:
        y = x * 2
        w.add_(1)
        return y + x

    assert compile(f, fullgraph=True)(tg.ones(4)).tolist() == [3.0] * 4
    with pytest.raises(TraceError, match="shows the same memory"):
        compile(f, fullgraph=True)(w[:])


def test_a_view_that_is_returned_is_a_view() -> None:
    x = tg.arange(6.0)
    y = compile(lambda x: (x[1:3], x), fullgraph=True)(x)
    assert y[1] is x
    x[1] = 70.0
    assert y[0].tolist()[0] == 70.0


def test_a_write_that_the_graph_needs_is_an_error_as_ever() -> None:
    w = tg.ones(3, requires_grad=True)
    loss = (w * w).sum()
    step = compile(plain_write)
    with tg.no_grad():
        step(w)
    with pytest.raises(Exception, match="mul"):
        loss.backward()


def plain_write(w: Any) -> Any:
    w.mul_(2)
    return w.sum()


def test_settings_that_there_are_not() -> None:
    with teaches(ArgumentError, "compile(backend='nonsense')", "there is no such backend", "use 'numpy', 'numba'"):
        compile(lambda x: x, backend="nonsense")
    with pytest.raises(ArgumentError, match="there is no such mode"):
        compile(lambda x: x, mode="fast")
    with pytest.raises(ArgumentError, match="there is no such pass"):
        compile(lambda x: x, options={"leave_out": ["everything"]})
    with pytest.raises(ArgumentError, match="the passes to leave out are a tuple of names"):
        compile(lambda x: x, options={"leave_out": "fuse"})
    with pytest.raises(ArgumentError, match="it is no function or module"):
        compile(3)
    with pytest.raises(ArgumentError, match="it is on or off"):
        compile(lambda x: x, dynamic=8)
    with pytest.raises(ArgumentError, match="options are a dict"):
        compile(lambda x: x, options=[])


def test_as_a_decorator_on_a_method_and_switched_off() -> None:
    @compile
    def f(x: Any) -> Any:
        """Twice."""
        return x * 2

    assert f(tg.ones(1)).item() == 2 and f.__doc__ == "Twice." and f.__name__ == "f"

    class Model:
        by = 3.0

        @compile
        def times(self, x: Any) -> Any:
            return x * self.by

    one, other = Model(), Model()
    other.by = 4.0
    assert (one.times(tg.ones(1)).item(), other.times(tg.ones(1)).item()) == (3.0, 4.0)

    @compile(disable=True)
    def g(x: Any) -> Any:
        return x

    assert not hasattr(g, "ledger")


def test_a_weight_that_is_written_before_backward_is_an_error() -> None:
    model = nn.Linear(3, 1)
    fast = compile(model, fullgraph=True)
    loss = fast(tg.ones(2, 3, requires_grad=True)).sum()
    with tg.no_grad():
        model.weight.mul_(2)
    with pytest.raises(AutogradError, match="mul_ has written to it since the program ran"):
        loss.backward()


def test_values_of_the_outside_that_are_read_are_noticed_too() -> None:
    """A captured tensor is read by no operation, but the number would be frozen."""
    w = tg.ones(1)
    reads: list[Callable[[], Any]] = [w.item, w.tolist, w.numpy, lambda: float(w), lambda: bool(w)]
    for read in reads:
        with pytest.raises(TraceError, match="reading a traced value"):
            compile(lambda x, read=read: (read(), x * 2)[1], fullgraph=True)(tg.ones(2))


def test_a_detached_tensor_is_its_source() -> None:
    w = tg.ones(2, requires_grad=True)

    def f(x: Any) -> Any:
        y = w.detach() * x
        with tg.no_grad():
            w.mul_(2)
        return y + w.detach()

    fast = compile(f, fullgraph=True)
    assert fast(tg.ones(2)).tolist() == [3.0, 3.0] and fast(tg.ones(2)).tolist() == [6.0, 6.0]
    w.data = tg.ones(2)
    assert fast(tg.ones(2)).tolist() == [3.0, 3.0]


def test_a_copy_has_programs_of_its_own() -> None:
    fast = compile(nn.Linear(2, 2))
    fast(tg.ones(1, 2))
    other = copy.deepcopy(fast)
    with tg.no_grad():
        other._orig_mod.weight.zero_()
        other._orig_mod.bias.zero_()
    assert other(tg.ones(1, 2)).tolist() == [[0.0, 0.0]] and fast(tg.ones(1, 2)).tolist() != [[0.0, 0.0]]
    assert len(fast.ledger) == 1 == len(other.ledger)


def test_many_threads_may_call_one_program() -> None:
    from concurrent.futures import ThreadPoolExecutor

    w = tg.randn(40, 40)
    fast = compile(lambda x: (x @ w).tanh().sum(0), fullgraph=True)
    inputs = [tg.randn(30, 40) for _ in range(16)]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(fast, inputs))
    for x, y in zip(inputs, found, strict=True):
        np.testing.assert_allclose(y.array, (x @ w).tanh().sum(0).array, rtol=1e-5)


def test_hooks_are_not_frozen() -> None:
    seen: list[Any] = []
    model = nn.Linear(2, 2)
    handle = model.register_forward_hook(lambda *given: seen.append(1))
    w = tg.ones(2, requires_grad=True)
    with pytest.raises(TraceError, match="Linear with hooks"):
        compile(model, fullgraph=True)(tg.ones(1, 2))
    handle.remove()
    handle = w.register_hook(lambda g: g * 2)
    with pytest.raises(TraceError, match="with hooks"):
        compile(lambda x: x * w, fullgraph=True)(tg.ones(2))
    handle.remove()
    assert compile(lambda x: x * w, fullgraph=True)(tg.ones(2)).tolist() == [1.0, 1.0]


def test_a_compiled_function_inside_another() -> None:
    inner = compile(lambda x: x * 2)
    outer = compile(lambda x: inner(x) + 1, fullgraph=True)
    assert outer(tg.ones(2)).tolist() == [3.0, 3.0] and inner.ledger == [] and len(outer.ledger) == 1


def test_a_recursive_function_is_unrolled() -> None:
    def power(x: Any, n: int) -> Any:
        return x if n == 0 else x * power(x, n - 1)

    fast = compile(power, fullgraph=True)
    assert fast(tg.full((2,), 2.0), 4).tolist() == [32.0, 32.0]


def test_arguments_that_nothing_reads_are_left_out_unless_they_are_to_be_kept() -> None:
    def f(x: Any, unread: Any, more: Any = None) -> Any:
        return x * 2

    x, unread = tg.ones(2), tg.ones(50)
    for options, inputs in ((None, 1), ({"keep_unused": True}, 2)):
        fast = compile(f, fullgraph=True, options=options)
        assert fast(x, unread).tolist() == [2.0, 2.0] and fast(x, unread).tolist() == [2.0, 2.0]
        assert len(fast.ledger[0].captured[0].inputs) == 2 and len(fast.ledger[0].programs[0].inputs) == inputs
        assert fast.ledger[0].calls == 2


def test_reasons_name_the_number_and_the_order_that_were_different() -> None:
    fast = compile(lambda x, rate: x * rate)
    x = tg.ones(4, 4)
    for given in ((x, 0.1), (x, 0.25), (x.T, 0.1)):
        fast(*given)
    assert [one.reason for one in fast.ledger[1:]] == [
        "argument 1 was 0.1, and is 0.25",
        "argument 0 was float32[4, 4], and is float32[4, 4], not row by row in memory",
    ]


# Reading what was generated -------------------------------------------------------------------------------------------


def test_each_statement_names_the_lines_it_comes_from() -> None:
    w = tg.rand(3, 4, requires_grad=True)

    def step(x: Any) -> Any:
        w.grad = None
        y = (x @ w).tanh()
        loss = (y - 1).square().sum()
        loss.backward()
        return loss

    for device in ("cpu", "sim"):
        w = w.detach().to(device).requires_grad_()
        fast = compile(step, fullgraph=True)
        fast(tg.rand(5, 3).to(device))
        source = fast.ledger[0].source
        named = re.findall(r"# +test_compile\.py, line \d+: (.*)", source)
        lines = {"y = (x @ w).tanh()", "loss = (y - 1).square().sum()"}
        assert set(named) == lines, "backward names the lines of forward"


def test_a_kernel_of_many_lines_names_some() -> None:
    def f(x: Any) -> Any:
        a = x + 1
        b = a * 2
        c = b.tanh()
        d = c - 3
        return d.exp()

    fast = compile(f, fullgraph=True)
    fast(tg.rand(5))
    source = fast.ledger[0].source
    assert source.count("test_compile.py, line") == 2 and "#   and 3 lines more" in source


def test_a_traceback_shows_the_generated_line() -> None:
    fast = compile(lambda x: (x * 2).tanh() + 1, fullgraph=True)
    fast(tg.rand(3))
    (code,) = fast.ledger[0].codes
    with pytest.raises(ValueError, match="could not be broadcast") as caught:
        code.run(np.zeros((4, 4), np.float32))
    text = "".join(traceback.format_exception(caught.value))
    statement = next(line.strip() for line in code.source.splitlines() if "mul" in line and "=" not in line)
    assert statement in text and 'File "<compiled program ' in text
    name = code.run.__code__.co_filename
    assert name in linecache.cache
    del code, caught, fast
    gc.collect()
    assert name not in linecache.cache
