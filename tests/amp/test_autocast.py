"""Autocast: what it casts, what it keeps, and where it holds."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tests.support import teaches
from tinygrad_edu.amp import autocast, custom_bwd, custom_fwd
from tinygrad_edu.core.slow import Call, Interceptor
from tinygrad_edu.errors import ArgumentError, DtypeError
from tinygrad_edu.nn import functional as F
from tinygrad_edu.observe.memory import Memory
from tinygrad_edu.utils.checkpoint import checkpoint

KINDS = pytest.mark.parametrize("device", ["cpu", "sim"])


class Seen(Interceptor):
    """Notes operations and the dtypes of their results."""

    def __init__(self) -> None:
        self.ops: list[tuple[str, str]] = []

    def forward(self, call: Call, proceed: Any) -> Any:
        result = proceed()
        self.ops.append((call.op.name, str(result.dtype)))
        return result

    def casts(self) -> int:
        return sum(name == "cast" for name, _ in self.ops)


def parts(device: str) -> tuple[Any, Any]:
    tg.manual_seed(0)
    return tg.randn(8, 5, device=device), tg.randn(5, 5, device=device).requires_grad_()


@KINDS
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_values_are_those_of_casting_by_hand(device: str, dtype: str) -> None:
    x, w = parts(device)
    with autocast(device, dtype=dtype):
        y = x @ w
        loss = F.mse_loss(y, tg.zeros_like(y))
    (got,) = tg.autograd.grad(loss, w)
    by_hand = x.to(dtype) @ w.to(dtype)
    assert y.dtype == by_hand.dtype
    assert tg.equal(y, by_hand)
    (wanted,) = tg.autograd.grad(F.mse_loss(by_hand.float(), tg.zeros_like(x)), w)
    assert got.dtype == w.dtype == "float32"
    np.testing.assert_array_equal(got.cpu().numpy(), wanted.cpu().numpy())
    (exact,) = tg.autograd.grad(F.mse_loss(x @ w, tg.zeros_like(x)), w)
    np.testing.assert_allclose(got.cpu().numpy(), exact.cpu().numpy(), rtol=0.05, atol=0.02)


def test_a_weight_is_cast_once_in_a_region_and_again_when_it_is_written() -> None:
    x, w = parts("cpu")
    with autocast("cpu"), Seen() as seen:
        first = x @ w
        x @ w
        assert seen.casts() == 3, "x twice, w once"
        with tg.no_grad():
            w.mul_(2.0)
        second = x @ w
        assert seen.casts() == 5
        np.testing.assert_array_equal(second.detach().float().numpy(), 2 * first.detach().float().numpy())
    region = autocast("cpu")
    with region:
        x @ w
        assert len(region.casts) == 1
    assert not region.casts, "nothing is held after the region"
    with autocast("cpu", cache_enabled=False), Seen() as seen:
        x @ w
        x @ w
    assert seen.casts() == 4


def test_what_is_cast_without_a_graph_is_not_kept_for_one() -> None:
    x, w = parts("cpu")
    with autocast("cpu"):
        with tg.no_grad():
            x @ w
        y = x @ w
    y.float().sum().backward()
    assert w.grad is not None and float(w.grad.abs().sum()) > 0


def test_gradients_of_a_weight_that_is_used_twice_add_up() -> None:
    x, w = parts("cpu")
    with autocast("cpu"):
        once = (x @ w).float().sum()
        twice = ((x @ w) + (x @ w)).float().sum()
    (one,), (two,) = tg.autograd.grad(once, w), tg.autograd.grad(twice, w)
    np.testing.assert_array_equal(two.numpy(), 2 * one.numpy())


def test_the_innermost_region_holds_for_its_type_of_device() -> None:
    x, w = parts("cpu")
    with autocast("cpu"):
        with autocast("cpu", enabled=False):
            assert (x @ w).dtype == "float32" and not tg.is_autocast_enabled("cpu")
            with autocast("cpu", dtype="float16"):
                assert (x @ w).dtype == "float16" and tg.get_autocast_dtype("cpu") == "float16"
        with autocast("sim", enabled=False):
            assert (x @ w).dtype == "bfloat16" and tg.is_autocast_enabled("cpu")
    with autocast("sim"):
        assert (x @ w).dtype == "float32", "another device"
        assert tg.is_autocast_enabled("sim") and tg.get_autocast_dtype("sim") == "float16"
    assert (x @ w).dtype == "float32" and not tg.is_autocast_enabled("cpu")


def test_it_decorates_functions_and_generators() -> None:
    x, w = parts("cpu")

    @autocast("cpu")
    def product() -> Any:
        return x @ w

    @autocast("cpu")
    def steps() -> Any:
        yield x @ w
        yield x @ w

    assert product().dtype == "bfloat16" and not tg.is_autocast_enabled("cpu")
    for one in steps():
        assert one.dtype == "bfloat16" and (x @ w).dtype == "float32"


def test_other_threads_do_not_cast() -> None:
    x, w = parts("cpu")
    found: list[Any] = []
    with autocast("cpu"):
        thread = threading.Thread(target=lambda: found.append((x @ w).dtype))
        thread.start()
        thread.join()
    assert found == ["float32"]


def test_writes_in_place_and_to_out_keep_their_dtype() -> None:
    x, w = parts("cpu")
    with autocast("cpu"), tg.no_grad():
        out = tg.empty(8, 5)
        tg.matmul(x, w, out=out)
        assert out.dtype == "float32"
        y = x @ w
        y += x
        assert y.dtype == "bfloat16"
        x *= 2.0
        assert x.dtype == "float32"


def test_float64_and_integers_are_left_alone() -> None:
    x, w = parts("cpu")
    with autocast("cpu"):
        assert (x.double() @ w.double()).dtype == "float64"
        assert F.mse_loss(x.double(), x.double()).dtype == "float64"
        with pytest.raises(DtypeError, match="matmul"):
            x.double() @ w
        assert (tg.arange(6).reshape(2, 3) @ tg.arange(3)).dtype == "int64"


@KINDS
@pytest.mark.parametrize("inside", [False, True], ids=["backward after", "backward inside"])
def test_a_checkpoint_casts_again_as_it_did(device: str, inside: bool) -> None:

    def block(y: Any, w: Any) -> Any:
        return F.relu(y @ w) @ w

    grads = []
    for use in (False, True):
        x, w = parts(device)
        x.requires_grad_()
        with autocast(device):
            y = x @ w  # so that a cast of the weight is kept already
            loss = (checkpoint(block, y, w) if use else block(y, w)).float().sum()
            if inside:
                loss.backward()
        if not inside:
            loss.backward()
        grads.append((w.grad, x.grad))
    for plain, again in zip(*grads, strict=True):
        assert plain.dtype == again.dtype == "float32"
        np.testing.assert_allclose(again.cpu().numpy(), plain.cpu().numpy(), rtol=0.02, atol=0.1)


def test_a_checkpoint_outside_casts_nothing_inside_a_later_region() -> None:
    x, w = parts("cpu")
    y = checkpoint(lambda x: x @ w, x)
    with autocast("cpu"):
        y.sum().backward()  # a second run in 16 bits would be found to differ
    assert w.grad is not None and w.grad.dtype == "float32"


def test_functions_with_a_backward_of_their_own() -> None:
    seen: list[str] = []

    class Product(tg.autograd.Function):
        @staticmethod
        @custom_fwd(device_type="cpu")
        def forward(ctx: Any, x: Any, w: Any) -> Any:
            ctx.save_for_backward(x, w)
            result = x @ w
            seen.append(f"forward {result.dtype}")
            return result

        @staticmethod
        @custom_bwd(device_type="cpu")
        def backward(ctx: Any, g: Any) -> Any:
            x, w = ctx.saved_tensors
            seen.append(f"backward {(g @ w.T).dtype}")
            return g.float() @ w.T.float(), x.T.float() @ g.float()

    class Exact(tg.autograd.Function):
        @staticmethod
        @custom_fwd(device_type="cpu", cast_inputs=tg.float32)
        def forward(ctx: Any, x: Any, w: Any) -> Any:
            seen.append(f"cast {x.dtype} {(x @ w).dtype}")
            return x @ w

        @staticmethod
        @custom_bwd(device_type="cpu")
        def backward(ctx: Any, g: Any) -> Any:
            return g, g

    x, w = parts("cpu")
    with autocast("cpu"):
        y = Product.apply(x, w)
        Exact.apply(x.bfloat16(), w)
    y.float().sum().backward()
    assert seen == ["forward bfloat16", "cast float32 float32", "backward bfloat16"]


def test_a_model_keeps_its_parameters_in_float32_and_less_for_backward() -> None:
    tg.manual_seed(0)
    model = tg.nn.Sequential(
        tg.nn.Linear(64, 256), tg.nn.ReLU(), tg.nn.Linear(256, 256), tg.nn.ReLU(), tg.nn.Linear(256, 4)
    )
    x, labels = tg.randn(2048, 64), tg.zeros(2048, dtype="int64")
    kept = {}
    for enabled in (False, True):
        with Memory() as watch:
            with autocast("cpu", enabled=enabled):
                loss = F.cross_entropy(model(x), labels)
            kept[enabled] = watch.current
            loss.backward()
        assert loss.dtype == "float32"
        assert all(p.dtype == p.grad.dtype == "float32" for p in model.parameters())
        model.zero_grad()
    assert kept[True] < 0.7 * kept[False]


def test_what_cannot_be_is_refused() -> None:
    mend = "use 'cpu', 'sim', 'cuda': the device without its number"
    with teaches(ArgumentError, "autocast('gpu')", "there is no such type of device", mend):
        autocast("gpu")
    mend = "use float16 or bfloat16, or enabled=False"
    with teaches(DtypeError, "autocast('cpu', dtype=float32)", "it casts to a float of 16 bits", mend):
        autocast("cpu", dtype="float32")
    shares = tg.rand(3, device="sim")
    with (
        autocast("sim"),
        pytest.raises(DtypeError, match=r"binary_cross_entropy under autocast\n .*not safe in 16 bits"),
    ):
        F.binary_cross_entropy(shares, shares)
    with autocast("cpu"):
        assert F.binary_cross_entropy(shares.cpu(), shares.cpu()).dtype == "float32"
