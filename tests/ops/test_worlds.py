"""The one-body proof: forward and backward of every op, run in every world, give the same numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tests.ops.cases import CASES, Case, is_float
from tinygrad_edu import backends
from tinygrad_edu.autograd import tensor_namespace
from tinygrad_edu.compiler.interpret import interpret
from tinygrad_edu.compiler.ir import Program
from tinygrad_edu.compiler.trace import RecArray, Recorder, TraceBackend
from tinygrad_edu.core.op import OPS
from tinygrad_edu.tensor import wrap

NUMPY = backends.CPU.xp
# Where two devices meet, an op names both: see `movement.Transfer`.
ONE_BODY = [case for case in CASES if case.op != "transfer"]


def run_body(case: Case, xp: Any, operands: tuple[Any, ...], g: Any, forget_cache: bool = False) -> list[Any]:
    """The result of the forward body and those of the backward body, called as the engine calls them."""
    op = OPS[case.op]
    params = {**op.params, **case.params}
    result = op.forward(xp, *operands, **params)
    out, cache = result if op.caches else (result, None)
    if not op.differentiable:
        return [out]
    needs = tuple(True if is_float(o) else None for o in operands)
    given = dict(zip(op.operands, (operands,) if op.variadic else operands, strict=False))
    missing = {name: None for name in op.operands if name not in given}
    values = {**params, **given, **missing, "out": out, "cache": None if forget_cache else cache}
    wanted = dict(zip(op.operands, needs, strict=False))
    saved = []
    for save in op.save_plan:
        value = values[save.source]
        if save.needed_by and wanted.get(save.needed_by) is None:
            value = None
        elif save.part:
            value = tuple(getattr(v, save.part) for v in value) if op.variadic else getattr(value, save.part, None)
        saved.append(value)
    grads = op.backward(xp, g, (*needs, *(None for _ in missing)), *saved)
    grads = grads if isinstance(grads, tuple) else (grads,)
    return [out, *(grad for grad, need in zip(grads, needs, strict=False) if need)]


def on_host(case: Case, variant: int) -> tuple[tuple[Any, ...], Any, list[Any]]:
    """Operands, an incoming gradient and the results in the world of NumPy."""
    operands, op = case.operands(variant), OPS[case.op]
    result = op.forward(NUMPY, *operands, **{**op.params, **case.params})
    out = np.asarray(result[0] if op.caches else result)
    g = np.random.default_rng(variant).normal(size=out.shape)
    return operands, g, run_body(case, NUMPY, operands, g)


def the_same(found: list[Any], expected: list[Any], to_host: Callable[[Any], Any]) -> None:
    """Equal to the last bit."""
    assert len(found) == len(expected)
    for ours, value in zip(found, expected, strict=True):
        assert ours.dtype == value.dtype
        assert tuple(ours.shape) == value.shape
        np.testing.assert_array_equal(to_host(ours), value)


@pytest.mark.parametrize("case", ONE_BODY, ids=str)
def test_numpy(case: Case) -> None:
    """Bodies change none of their operands, nor the gradient, and keep float64."""
    operands, g, expected = on_host(case, 0)
    arrays = [o for o in (*operands, g) if isinstance(o, np.ndarray)]
    kept = [a.copy() for a in arrays]
    for a in arrays:
        a.flags.writeable = False  # a body that writes to its operands fails here
    the_same(run_body(case, NUMPY, operands, g), expected, np.asarray)
    for now, before in zip(arrays, kept, strict=True):
        np.testing.assert_array_equal(now, before)


def moved(operands: tuple[Any, ...], change: Callable[[Any], Any]) -> tuple[Any, ...]:
    """The arrays among the operands, brought to another world."""
    return tuple(change(o) if isinstance(o, np.ndarray) else o for o in operands)


def as_leaf(raw: Any) -> tg.Tensor:
    return wrap(raw).requires_grad_() if raw.dtype.kind == "f" else wrap(raw)


@pytest.mark.parametrize("case", ONE_BODY, ids=str)
def test_tensors(case: Case) -> None:
    """The world of second derivatives. A recomputed cache is not handed to backward there."""
    operands, g, expected = on_host(case, 0)
    forget = OPS[case.op].caches == "recomputed"
    if forget:  # all steps are computed again at once, which rounds otherwise than one by one
        expected = run_body(case, NUMPY, operands, g, forget)
    found = run_body(case, tensor_namespace("cpu"), moved(operands, as_leaf), as_leaf(g), forget)
    assert all(isinstance(x, tg.Tensor) for x in found)
    the_same(found, expected, lambda t: t.array)


# Every device that is registered, however it came there.
DEVICES = [backend for backend in backends.registered() if backend.readable and backend is not backends.CPU]


def refuse(*args: Any) -> Any:
    raise AssertionError("a body moved an array between devices")


@pytest.mark.parametrize("case", ONE_BODY, ids=str)
@pytest.mark.parametrize("device", DEVICES, ids=lambda backend: backend.name)
def test_devices(case: Case, device: backends.Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    """A device whose arrays are no NumPy arrays: everything stays there."""
    operands, g, expected = on_host(case, 0)
    there, there_g = moved(operands, device.from_numpy), device.from_numpy(g)
    with monkeypatch.context() as patch:
        patch.setattr(device, "from_numpy", refuse)
        patch.setattr(device, "to_numpy", refuse)
        found = run_body(case, device.xp, there, there_g)
    assert all(backends.of(x) is device for x in found)
    the_same(found, expected, device.to_numpy)


@pytest.mark.parametrize("case", ONE_BODY, ids=str)
@pytest.mark.parametrize("device", DEVICES, ids=lambda backend: backend.name)
def test_tensors_on_devices(case: Case, device: backends.Backend) -> None:
    """Second derivatives there too."""
    operands, g, expected = on_host(case, 0)
    there, there_g = moved(operands, lambda o: as_leaf(device.from_numpy(o))), as_leaf(device.from_numpy(g))
    found = run_body(case, tensor_namespace(device.name), there, there_g)
    assert all(x.device == device.name for x in found)
    the_same(found, expected, lambda t: device.to_numpy(t.array))


@pytest.mark.parametrize("case", ONE_BODY, ids=str)
def test_recording(case: Case) -> None:
    """Recorded, and the record run: equal on what was recorded, and on new operands of the same shapes."""
    operands, g, expected = on_host(case, 0)
    recorder = Recorder()
    proxies, g_proxy = moved(operands, recorder.new), recorder.new(g)
    inputs = tuple(proxy.var for proxy in (*proxies, g_proxy) if isinstance(proxy, RecArray))
    results = run_body(case, TraceBackend.xp, proxies, g_proxy)
    the_same(results, expected, lambda proxy: proxy.values)
    live = [r for r in results if isinstance(r, RecArray)]
    assert len(live) == len(results), "a result escaped the record: it would be a constant of the program"
    program = Program(inputs, tuple(recorder.equations), tuple(proxy.var for proxy in live))
    for variant in (0, 1):
        new, new_g, wanted = on_host(case, variant)
        arrays = [o for o in (*new, new_g) if isinstance(o, np.ndarray)]
        the_same(list(interpret(program, *arrays)), wanted, np.asarray)


def test_operands_of_the_second_variant_differ() -> None:
    """Or the replay on new operands would prove nothing."""
    for case in ONE_BODY:
        first, second = case.operands(0), case.operands(1)
        big = [i for i, a in enumerate(first) if is_float(a) and a.size]
        assert all((first[i] != second[i]).any() for i in big)
