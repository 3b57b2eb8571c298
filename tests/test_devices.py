"""Two devices: nothing mixes by itself, everything moves when told to, and gradients travel back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tests.second_device import FAR, FarArray
from tests.support import teaches
from tinygrad_edu.errors import DeviceError, InplaceError
from tinygrad_edu.settings import scoped

APART = "the operands live on different devices, and nothing is moved behind your back"

MIXED: dict[str, tuple[Callable[[Any, Any], Any], str]] = {
    "add": (lambda x, y: x + y, "add((2,) float32, (2,) float32) on cpu and far"),
    "the other way": (lambda x, y: y + x, "add((2,) float32, (2,) float32) on cpu and far"),
    "matmul": (lambda x, y: x @ y, "matmul((2,) float32, (2,) float32) on cpu and far"),
    "cat": (lambda x, y: tg.cat([x, y]), "cat((2,) float32, (2,) float32, dim=0) on cpu and far"),
    "where": (lambda x, y: tg.where(x > 0, x, y), "where((2,) bool, (2,) float32, (2,) float32) on cpu and far"),
    "an array": (lambda x, y: y * np.ones(2, np.float32), "mul((2,) float32, (2,) float32) on cpu and far"),
    "in place": (lambda x, y: x.add_(y), "add((2,) float32, (2,) float32) on cpu and far"),
    "assignment": (
        lambda x, y: y.__setitem__(..., x), "put((2,) float32, (2,) float32, index=(Ellipsis,)) on cpu and far",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("call", "tried"), MIXED.values(), ids=MIXED)
def test_mixing_is_refused(call: Callable[[Any, Any], Any], tried: str) -> None:
    with teaches(DeviceError, tried, APART, "move one of them first: x.to('far')"):
        call(tg.ones(2), tg.ones(2, device="far"))


def test_a_module_and_its_input_apart() -> None:
    layer = tg.nn.Linear(2, 3)
    with pytest.raises(
        DeviceError, match=r"linear\(\(1, 2\) float32, \(3, 2\) float32, \(3,\) float32\) on cpu and far"
    ):
        layer(tg.ones(1, 2, device="far"))
    assert layer.to("far")(tg.ones(1, 2, device="far")).device == "far"


def test_a_single_number_of_the_cpu_may_join() -> None:
    """As in PyTorch: a 0-d tensor of the host counts as a number, and gets its gradient at home."""
    scale = tg.tensor(3.0, requires_grad=True)
    x = tg.tensor([1.0, 2.0], device="far", requires_grad=True)
    y = (x * scale + tg.tensor(1.0)).sum()
    y.backward()
    assert (y.device, y.item()) == ("far", 11.0)
    assert (scale.grad.device, scale.grad.item()) == ("cpu", 3.0)
    assert (x.grad.device, x.grad.tolist()) == ("far", [3.0, 3.0])
    x.detach().mul_(tg.tensor(2.0))
    assert x.tolist() == [2.0, 4.0]


def test_but_not_the_other_way_round() -> None:
    with pytest.raises(DeviceError):
        tg.ones(2) * tg.tensor(3.0, device="far")
    with pytest.raises(DeviceError):
        tg.tensor(1.0).add_(tg.tensor(3.0, device="far"))


def test_moving() -> None:
    x = tg.tensor([1.0, 2.0])
    y = x.to("far")
    assert (type(y.array), y.device, y.tolist()) == (FarArray, "far", [1.0, 2.0])
    assert y.to("far") is y
    assert y.cpu().device == "cpu"
    y[0] = 9
    assert x.tolist() == [1.0, 2.0]


def test_gradients_cross_both_ways() -> None:
    x = tg.tensor([1.0, 2.0], requires_grad=True)
    y = (x * x).to("far") * tg.tensor([10.0, 100.0], device="far")
    z = y.cpu().sum()
    (g,) = tg.autograd.grad(z, x, create_graph=True)
    assert (g.device, g.tolist()) == ("cpu", [20.0, 400.0])
    assert tg.autograd.grad(g.sum(), x)[0].tolist() == [20.0, 200.0]
    z.backward()
    assert x.grad.tolist() == [20.0, 400.0]


def test_numbers_of_python_go_anywhere() -> None:
    x = tg.ones(2, device="far")
    results = [2 * x, x / 2, 1 - x, x**2, x + True, x > 0.5, tg.maximum(x, 3.0), tg.where(x > 0, x, 0.0)]
    assert {y.device for y in results} == {"far"}
    x[0] = 5
    x[1:] = [7.0]
    assert x.tolist() == [5.0, 7.0]


def test_the_default_device() -> None:
    w = tg.ones(2)
    with scoped(device="far"):
        assert {x.device for x in (tg.ones(2), tg.tensor(1), tg.arange(3), tg.randn(2), tg.as_tensor([1.0]))} == {"far"}
        assert tg.zeros(1, device="cpu").device == "cpu"
        w[0] = 3  # a number goes where it is needed
        assert (w * True).tolist() == [3.0, 1.0]


def test_views_and_writes_on_the_far_side() -> None:
    w = tg.tensor([1.0, 2.0, 3.0], device="far", requires_grad=True)
    base = w * 1
    view = base[1:]
    view.mul_(base[:2])
    assert base.tolist() == [1.0, 2.0, 6.0]
    base.sum().backward()
    assert w.grad.tolist() == [3.0, 4.0, 2.0]
    with pytest.raises(InplaceError):
        w.add_(1)
    y = w * w
    kept = y.exp()
    y.detach().zero_()
    (kept * 1).sum().backward()  # exp saved its result, and that was not written
    kept = y * y
    y.zero_()
    with pytest.raises(InplaceError):
        kept.sum().backward()


def test_a_training_step_crosses_only_when_asked() -> None:
    """Nothing is carried over but what the program itself carries: the count is exact."""
    layer = tg.nn.Linear(3, 2).to("far")
    x, target = tg.ones(4, 3, device="far"), tg.zeros(4, 2, device="far")
    FAR.crossings[:] = [0, 0]
    loss = tg.nn.functional.mse_loss(layer(x), target)
    loss.backward()
    assert FAR.crossings == [0, 0]
    loss.item()
    assert FAR.crossings == [0, 1]


def test_the_far_array_keeps_apart() -> None:
    """The helper itself: it must refuse what a real device refuses, or the tests above prove nothing."""
    far, host = FAR.from_numpy(np.ones(2)), np.ones(2)
    for wrong in (
        lambda: far + host, lambda: host + far, lambda: np.exp(far), lambda: np.asarray(far), lambda: bool(far),
        lambda: FAR.xp.exp(host), lambda: far.__setitem__(0, np.float64(1)),
    ):  # fmt: skip
        with pytest.raises(TypeError):
            wrong()
    assert far[0:1].base is far
    assert far[0:1][...].base is far
    assert (far + 1).base is None
    assert FAR.owner(far[1:]) is far
