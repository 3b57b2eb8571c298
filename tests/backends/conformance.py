"""What every backend must do, whoever wrote it: a list of checks that take a backend and raise where it falls short.

`test_conformance` runs them over all that are registered. They ask for what the engine relies on, and say nothing about
how it is done: NumPy on the host is the measure.
"""

from __future__ import annotations

import gc
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tinygrad_edu import backends
from tinygrad_edu.backends import ALL_NAMES, CPU, Backend
from tinygrad_edu.backends.queue import Event, Memory
from tinygrad_edu.compiler.trace import Recorder
from tinygrad_edu.dtypes import NAMES, as_dtype
from tinygrad_edu.errors import ArgumentError, DeviceError

HOST = CPU.xp
Array = Any
CHECKS: list[Callable[[Backend], None]] = []


def check(function: Callable[[Backend], None]) -> Callable[[Backend], None]:
    """Add a check to the list."""
    CHECKS.append(function)
    return function


class Bench:
    """Arrays in and out of one world: through its backend, or into a recording and out of it."""

    def __init__(self, backend: Backend) -> None:
        self.backend, self.xp, self.recorder = backend, backend.xp, Recorder()

    def give(self, array: Any) -> Array:
        return self.backend.from_numpy(array.copy()) if self.backend.readable else self.recorder.new(array.copy())

    def take(self, array: Array) -> Any:
        return self.backend.to_numpy(array) if self.backend.readable else array.values

    def same(self, found: Array, expected: Any) -> None:
        """An array of this world with these values, to the last bit."""
        assert backends.of(found) is self.backend or not self.backend.readable, f"the result is a {type(found)}"
        assert (tuple(found.shape), found.dtype) == (expected.shape, expected.dtype)
        if self.backend.device.type == "cuda":  # whose functions may differ in the last bits
            np.testing.assert_allclose(self.take(found), expected, rtol=1e-12, atol=1e-14)
        else:
            np.testing.assert_array_equal(self.take(found), expected)


def numbers(*shape: int, dtype: str = "f8", low: float = -2.0) -> Any:
    rng = np.random.default_rng(sum(shape))
    return rng.uniform(low, 2.0, shape).astype(dtype)


# Arrays --------------------------------------------------------------------------------------------------------------


@check
def arrays_come_and_go(backend: Backend) -> None:
    if not backend.readable:
        with pytest.raises(RuntimeError):
            backend.to_numpy(Bench(backend).give(np.ones(2)))
        return
    for dtype in NAMES:
        for values in (np.ones(()), np.zeros((0, 3)), np.arange(12.0).reshape(3, 4).T, np.arange(9.0)[::-2]):
            host = values.astype(as_dtype(dtype))
            there = backend.from_numpy(host)
            assert backends.of(there) is backend
            back = backend.to_numpy(there)
            assert isinstance(back, (np.ndarray, np.generic))
            assert (back.dtype, back.shape) == (host.dtype, host.shape)
            np.testing.assert_array_equal(back, host)


@check
def other_memory_is_other_memory(backend: Backend) -> None:
    if backend is CPU or not backend.readable:
        return  # there the array stays the same, on purpose
    host = np.zeros(3)
    there = backend.from_numpy(host)
    host[0] = 1.0
    back = backend.to_numpy(there)
    assert back.tolist() == [0.0, 0.0, 0.0]
    back[0] = 2.0
    assert backend.to_numpy(there).tolist() == [0.0, 0.0, 0.0]


@check
def arrays_tell_their_shape(backend: Backend) -> None:
    bench = Bench(backend)
    for host in (np.ones((3, 4), "f4"), np.ones(()), np.ones((0, 2), "i8"), np.ones((3, 4)).T):
        x = bench.give(host)
        assert (tuple(x.shape), x.ndim, x.size, x.dtype) == (host.shape, host.ndim, host.size, host.dtype)
        assert len(x.strides) == host.ndim
        assert x.nbytes == host.nbytes


BINARY = {name: getattr(operator, name) for name in "add sub mul truediv floordiv mod pow matmul".split()}
BITS = {name: getattr(operator, name) for name in ("and_", "or_", "xor")}
COMPARED = {name: getattr(operator, name) for name in "eq ne lt le gt ge".split()}
UPDATES = {name: getattr(operator, name) for name in "iadd isub imul itruediv".split()}


@check
def operators(backend: Backend) -> None:
    bench = Bench(backend)
    x, y, square = numbers(3, 4), numbers(4, low=0.5), numbers(4, 4)
    for name, function in {**BINARY, **COMPARED}.items():
        other = square if name == "matmul" else y
        base = abs(x) if name == "pow" else x
        bench.same(function(bench.give(base), bench.give(other)), function(base, other))
        if name != "matmul":  # with Python numbers on either side
            bench.same(function(bench.give(base), 2.0), function(base, 2.0))
            bench.same(function(2.0, bench.give(y)), function(2.0, y))
    for function in BITS.values():
        bench.same(function(bench.give(x > 0), bench.give(y > 1)), function(x > 0, y > 1))
        bench.same(function(bench.give(x > 0), True), function(x > 0, True))
    bench.same(-bench.give(x), -x)
    bench.same(~bench.give(x > 0), ~(x > 0))


@check
def updates_in_place(backend: Backend) -> None:
    bench = Bench(backend)
    for function in UPDATES.values():
        x, y = numbers(3, 4), numbers(4, low=0.5)
        target = bench.give(x)
        found = function(target, bench.give(y))
        assert found is target
        bench.same(found, function(x, y))


INDICES: dict[str, Any] = {
    "row": 1, "slice": slice(1, None), "both": (slice(None), 2), "step": (slice(None, None, 2), ...), "axis": None,
    "points": (np.array([0, 2]), np.array([1, 1])), "rows": np.array([2, 0]), "mask": np.array([True, False, True]),
}  # fmt: skip


@check
def indices(backend: Backend) -> None:
    bench = Bench(backend)
    for index in INDICES.values():
        x = numbers(3, 4)
        bench.same(bench.give(x)[index], np.asarray(x[index]))
        target, value = bench.give(x), numbers(*x[index].shape)
        target[index] = bench.give(value)
        x[index] = value
        bench.same(target, x)
        target[index] = 5.0
        x[index] = 5.0
        bench.same(target, x)


@check
def nothing_slips_to_the_host(backend: Backend) -> None:
    if backend is CPU:
        return
    x, host = Bench(backend).give(np.ones(2)), np.ones(2)
    with pytest.raises((TypeError, RuntimeError)):
        bool(x[0] > 0)
    with pytest.raises((TypeError, RuntimeError)):
        np.asarray(x)
    if backend.readable:  # a recording takes arrays of the host: they are its constants
        for call in (lambda: x + host, lambda: host + x, lambda: backend.xp.maximum(x, host)):
            with pytest.raises(TypeError):
                call()


# The namespace -------------------------------------------------------------------------------------------------------

X, Y, IMAGE, KERNELS = numbers(3, 4), numbers(3, 4, low=0.5), numbers(2, 4, 5, 6), numbers(6, 2, 3, 2)
ROWS, WINDOW = np.array([2, 0]), ((2, 1), (1, 0), (1, 2))  # stride, padding, dilation
OUT = HOST.conv(IMAGE, KERNELS, *WINDOW, 2)
ONE_OPERAND = (
    "exp expm1 tanh sigmoid sin cos tan arctan sinh cosh arcsinh erf abs sign floor ceil round relu zeros_like "
    "ones_like copy contiguous"
).split()
CALLS: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(ONE_OPERAND, (X,)),
    **dict.fromkeys(("log", "log1p", "log2", "log10", "sqrt"), (Y,)),
    **dict.fromkeys(("arcsin", "arccos", "arctanh"), (X / 3,)), "arccosh": (Y + 1,),
    **dict.fromkeys(("maximum", "minimum", "floor_divide", "remainder", "fmod", "arctan2"), (X, Y)),
    **dict.fromkeys(("sum", "prod", "amax", "amin", "any", "all"), (X, (0, 1), True)),
    **dict.fromkeys(("argmax", "argmin"), (X, 1, False)),
    "where": (X > 0, X, Y), "power": (Y, X), "cumsum": (X, 0), "cumprod": (X, 1), "argsort": (X, 1, True),
    "zeros": ((2, 3), np.dtype("f4")), "ones": ((2,), np.dtype("i8")), "full": ((2, 3), 7.0, np.dtype("f8")),
    "arange": (5,), "reshape": (X, (2, 6)), "permute": (X, (1, 0)), "broadcast_to": (X[:1], (5, 3, 4)),
    "concatenate": ((X, Y), 0), "astype": (X, np.dtype("f4")), "diagonal": (X, 1, 0, 1), "windows": (X, 1, 2, 1),
    "as_strided": (X, (2, 2), (4, 1), 1), "take_along_axis": (X, np.array([[0], [3], [1]]), 1),
    "scatter_add": ((4, 4), (np.array([0, 0, 3]),), X), "put": (X, (slice(1, None),), Y[1:]),
    "matmul": (X, Y.T), "einsum": ("ij,kj->ik", X, Y), "im2col": (IMAGE, (3, 2), *WINDOW),
    "col2im": (HOST.im2col(IMAGE, (3, 2), *WINDOW), IMAGE.shape, *WINDOW), "conv": (IMAGE, KERNELS, *WINDOW, 2),
    "conv_input": (OUT, KERNELS, IMAGE.shape[2:], *WINDOW, 2), "conv_kernel": (IMAGE, OUT, (3, 2), *WINDOW, 2),
    "empty": ((2, 3), np.dtype("f4")),
}  # fmt: skip


@check
def every_name_of_the_namespace(backend: Backend) -> None:
    assert set(CALLS) == set(ALL_NAMES), "each agreed name needs a call here"
    bench = Bench(backend)
    for name, args in CALLS.items():
        given = [
            tuple(map(bench.give, a)) if type(a) is tuple and name == "concatenate"
            else bench.give(a) if isinstance(a, np.ndarray) and a.dtype.kind == "f" else a
            for a in args
        ]  # fmt: skip
        if name in ("where", "take_along_axis"):  # conditions and positions are operands too
            given = [bench.give(a) if isinstance(a, np.ndarray) else a for a in args]
        found = getattr(backend.xp, name)(*given)
        expected = np.asarray(getattr(HOST, name)(*args))
        if name == "empty":
            assert (tuple(found.shape), found.dtype) == (expected.shape, expected.dtype)
        elif not backend.readable and name in ("zeros", "ones", "full", "arange"):
            np.testing.assert_array_equal(found, expected)  # what needs no operand is a constant of the recording
        else:
            bench.same(found, expected)


VIEWS: dict[str, Callable[[Any, Array], Array]] = {
    "part": lambda xp, x: x[1:], "turned": lambda xp, x: xp.permute(x, (1, 0)),
    "reshaped": lambda xp, x: xp.reshape(x, (4, 3)), "diagonal": lambda xp, x: xp.diagonal(x, 0, 0, 1),
    "part of a part": lambda xp, x: x[1:][:, 1:], "strided": lambda xp, x: xp.as_strided(x, (2, 2), (4, 1), 1),
}  # fmt: skip


@check
def views_share_memory(backend: Backend) -> None:
    bench = Bench(backend)
    for make in VIEWS.values():
        host = numbers(3, 4)
        x = bench.give(host)
        view = make(bench.xp, x)
        bench.same(view, make(HOST, host))
        if backend.readable:  # a recording keeps no memory, and refuses such writes
            assert backend.owner(view) is backend.owner(x)
            assert backend.owner(bench.xp.copy(x)) is not backend.owner(x)
            view[...] = 7.0
            make(HOST, host)[...] = 7.0
            bench.same(x, host)


@check
def results_go_straight_into_memory(backend: Backend) -> None:
    if not backend.readable:
        return
    bench = Bench(backend)
    x, y = numbers(3, 4), numbers(3, 4)
    out = bench.give(np.zeros((3, 4)))
    assert backend.into("put", out, out, bench.give(x[0]), index=(1,))
    bench.same(out[1], x[0])
    if backend.into("multiply", out, bench.give(x), bench.give(y)):  # where it cannot, the engine computes and copies
        bench.same(out, x * y)


# Queues and memory ---------------------------------------------------------------------------------------------------


@check
def streams_and_events(backend: Backend) -> None:
    stream, other = backend.current_stream(), backend.stream()
    first = stream.record_event()
    last = other.record_event(type(first)())
    for event in (first, last):
        other.wait_event(event)
        event.wait(stream)
        event.synchronize()
        assert event.query() is True
    stream.wait_stream(other)
    stream.synchronize()
    backend.synchronize()
    assert stream.query() is True
    assert first.elapsed_time(last) >= 0
    with pytest.raises(ArgumentError, match="the other event was never recorded"):
        first.elapsed_time(type(first)())
    assert isinstance(first, Event)


@check
def the_allocator_counts(backend: Backend) -> None:
    gc.collect()
    before = backend.memory()
    if before is None:
        return  # nobody counts, and says so
    x = backend.from_numpy(np.ones(1000))
    during = backend.memory()
    assert isinstance(during, Memory)
    assert during.allocated - before.allocated >= 8000
    assert during.reserved >= during.allocated
    assert during.peak >= during.allocated
    view = x[10:]
    assert backend.memory() == during  # a view takes none
    del x, view
    after = backend.memory()
    assert after is not None
    assert after.allocated == before.allocated
    assert after.peak >= during.allocated


# The engine on it ----------------------------------------------------------------------------------------------------


def _trained(device: str) -> tuple[list[float], list[Any]]:
    """The losses of three steps, and the parameters after them."""
    tg.manual_seed(0)
    model = tg.nn.Sequential(tg.nn.Linear(4, 8), tg.nn.Tanh(), tg.nn.Linear(8, 3)).to(device)
    optimizer = tg.optim.Adam(model.parameters(), lr=0.1)
    x, labels = tg.tensor(numbers(6, 4, dtype="f4")).to(device), tg.tensor([0, 1, 2, 0, 1, 2]).to(device)
    losses = []
    for _ in range(3):
        optimizer.zero_grad()
        loss = tg.nn.functional.cross_entropy(model(x), labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, [p.detach().cpu().numpy() for p in model.parameters()]


@check
def a_model_trains(backend: Backend) -> None:
    if backend.device != backend.name:
        return  # it has no name that a model could be moved to
    losses, parameters = _trained(backend.name)
    expected, theirs = _trained("cpu")
    np.testing.assert_allclose(losses, expected, rtol=1e-6)
    for ours, other in zip(parameters, theirs, strict=True):
        np.testing.assert_allclose(ours, other, rtol=1e-5, atol=1e-7)


@check
def tensors_say_where_they_are(backend: Backend) -> None:
    if backend.device != backend.name:
        return
    x = tg.tensor([1.0, 2.0], device=backend.name)
    assert x.device == backend.name
    assert (x * 2 + x.sum()).tolist() == [5.0, 7.0]
    assert x.cpu().device == "cpu"
    assert (x * tg.tensor(3.0)).tolist() == [3.0, 6.0]  # 0-d tensors of the CPU join any device
    x[0] = 9.0
    assert str(x).startswith("tensor([9., 2.]")
    if backend is not CPU:
        with pytest.raises(DeviceError):
            x + tg.ones(2)
