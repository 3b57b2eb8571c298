"""Attention block by block: the numbers of the whole matrix, in memory that grows with the length; who chooses it."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tinygrad_edu as tg
from tests.support import teaches
from tinygrad_edu.core.op import OPS
from tinygrad_edu.core.slow import Interceptor
from tinygrad_edu.errors import ArgumentError, DtypeError, ShapeError
from tinygrad_edu.nn import functional as F
from tinygrad_edu.nn.attention import SDPBackend, local_attention, sdpa_kernel
from tinygrad_edu.nn.functional import attention
from tinygrad_edu.observe.counters import Counters
from tinygrad_edu.observe.memory import Memory
from tinygrad_edu.ops.blockwise import plan
from tinygrad_edu.tips.shapes import shape_of


def leaves(*sizes: tuple[int, ...], dtype: str = "f8") -> list[Any]:
    rng = np.random.default_rng([*sum(sizes, ())])
    return [tg.tensor(rng.normal(size=size).astype(dtype), requires_grad=True) for size in sizes]


def same(ours: Any, expected: Any, given: list[Any]) -> None:
    """Equal values, and equal gradients of something that is not linear in the result."""
    np.testing.assert_allclose(ours.detach().array, expected.detach().array, rtol=1e-11, atol=1e-13)
    slopes = [tg.autograd.grad((out * out).sum(), given) for out in (ours, expected)]
    for one, other in zip(*slopes, strict=True):
        np.testing.assert_allclose(one.array, other.array, rtol=1e-9, atol=1e-12)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of four rows, so that a few rows are several blocks."""
    for name in ("LARGE", "SMALL", "LEAST"):
        monkeypatch.setattr(attention, name, 4)


def whole(*given: Any, **how: Any) -> Any:
    with sdpa_kernel(SDPBackend.MATH):
        return F.scaled_dot_product_attention(*given, **how)


def blocks(*given: Any, **how: Any) -> Any:
    with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        return F.scaled_dot_product_attention(*given, **how)


def used(run: Any) -> list[str]:
    """The operations of attention that a call does."""
    found = []

    class Watch(Interceptor):
        def forward(self, call: Any, proceed: Any) -> Any:
            found.extend([call.op.name] * ("attention" in call.op.name))
            return proceed()

    with Watch():
        run()
    return found


# Numbers --------------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("shape", [(9, 9), (8, 8), (3, 10), (10, 3), (1, 6), (13, 5)])
def test_blocks_give_the_numbers_of_the_whole_matrix(shape: tuple[int, int], causal: bool) -> None:
    rows, keys = shape
    rng = np.random.default_rng(rows)
    given = leaves((2, 3, rows, 2), (2, 3, keys, 2), (2, 3, keys, 4))
    masks: list[Any] = [None, tg.tensor(rng.random((rows, keys)) < 0.4), tg.tensor(rng.random((2, 1, 1, keys)) < 0.5)]
    masks += [tg.tensor(rng.normal(size=size), requires_grad=True) for size in ((rows, keys), (rows, 1), (keys,))]
    for mask in masks:
        own = given + [mask] * (mask is not None and mask.requires_grad)
        how = {"is_causal": causal, "scale": 0.9}
        same(blocks(*given, mask, **how), whole(*given, mask, **how), own)


@settings(max_examples=60, deadline=None)
@given(
    rows=st.integers(1, 9), keys=st.integers(1, 9), window=st.integers(0, 9), block=st.integers(1, 10),
    causal=st.booleans(),
)  # fmt: skip
def test_a_plan_holds_what_may_be_seen(rows: int, keys: int, window: int, block: int, causal: bool) -> None:
    """Every pair that may look is in one block; a block that hides nothing has no other; all are on one grid."""
    i, j = np.ogrid[:rows, :keys]
    look = np.ones((rows, keys), bool)
    if causal or window:
        look &= i >= j
    if window:
        look &= i - j < window
    times = np.zeros((rows, keys), int)
    for part, seen in plan(rows, keys, causal, window, block):
        assert seen, "each block of rows has one of keys, for the shape of its result"
        for where, hides in seen:
            times[part, where] += 1
            assert hides == (not look[part, where].all())
            assert where.start % block == 0
    assert times.max() == 1
    assert (times[look] == 1).all()


@pytest.mark.usefixtures("small")
def test_gradients_are_the_slopes_and_so_are_theirs() -> None:
    given = leaves((1, 6, 2), (1, 7, 2), (1, 7, 2))
    for run in (
        lambda *xs: blocks(*xs, is_causal=True),
        lambda *xs: blocks(*xs, tg.tensor(np.arange(42).reshape(6, 7) % 5 > 1)),
        lambda *xs: local_attention(*xs, window=3),
    ):
        assert tg.autograd.gradcheck(run, given)
        assert tg.autograd.gradgradcheck(run, given)


@pytest.mark.usefixtures("small")
def test_a_row_that_sees_nothing_gives_zeros() -> None:
    q, k, v = leaves((6, 2), (9, 2), (9, 2))
    mask = np.ones((6, 9), bool)
    mask[4], mask[2, :4] = False, False  # nothing at all; nothing in the first block
    found = blocks(q, k, v, tg.tensor(mask))
    assert found[4].tolist() == [0.0, 0.0]
    same(found, whole(q, k, v, tg.tensor(mask)), [q, k, v])
    (slope,) = tg.autograd.grad(blocks(q, k, v, tg.tensor(mask)).sum(), q)
    assert slope[4].tolist() == [0.0, 0.0]


@pytest.mark.usefixtures("small")
def test_large_scores_overflow_nowhere() -> None:
    """The largest score comes in the second block: what was added up before counts for nothing."""
    q, k = tg.tensor([[1e3]]), tg.tensor([[0.0]] * 4 + [[1e3]])
    v = tg.tensor([[9.0]] * 4 + [[2.0]])
    assert blocks(q, k, v, scale=1.0).item() == 2
    assert blocks(q, -k, v, scale=1.0).item() == 9


@pytest.mark.usefixtures("small")
def test_heads_that_share_keys_and_values() -> None:
    q, k, v = leaves((2, 4, 9, 2), (2, 2, 9, 2), (2, 1, 9, 3))
    how = {"enable_gqa": True, "is_causal": True}
    same(blocks(q, k, v, **how), whole(q, k, v, **how), [q, k, v])
    repeated = k[:, [0, 0, 1, 1]], v[:, [0, 0, 0, 0]]
    same(local_attention(q, k, v, 3, enable_gqa=True), local_attention(q, *repeated, window=3), [q, k, v])


@pytest.mark.usefixtures("small")
def test_of_16_bits() -> None:
    q, k, v = (x.detach().to("bfloat16") for x in leaves((9, 4), (9, 4), (9, 4)))
    found = blocks(q, k, v)
    assert found.dtype == tg.bfloat16
    assert found.tolist() == blocks(q.float(), k.float(), v.float()).to("bfloat16").tolist()


# Near rows only -------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("window", [1, 2, 3, 4, 5, 20])
@pytest.mark.parametrize("shape", [(9, 9), (12, 5), (5, 12)])
def test_local_attention_is_that_of_a_mask(window: int, shape: tuple[int, int]) -> None:
    rows, keys = shape
    given = leaves((2, rows, 3), (2, keys, 3), (2, keys, 2))
    behind = np.arange(rows)[:, None] - np.arange(keys)
    look = tg.tensor((behind >= 0) & (behind < window))
    same(local_attention(*given, window=window), whole(*given, look), given)


def test_local_attention_costs_as_much_for_each_row() -> None:
    """In arithmetic, counted over the blocks that are computed, and in bytes."""
    sizes, flops = (256, 512, 768, 1024, 1280), {}
    op = OPS["blockwise_attention"]
    given: dict[str, dict[str, Any]] = {"local": {"window": 32}, "causal": {}, "all": {"causal": False}}
    for name, how in given.items():
        params = {**op.params, "causal": True, "block": 32, **how}
        flops[name] = [op.flops([(n, 8)] * 3, (n, 8), params) for n in sizes]
    assert [shape_of(sizes, counts) for counts in flops.values()] == ["linear", "quadratic", "quadratic"]
    assert flops["all"][-1] == OPS["scaled_dot_product_attention"].flops([(1280, 8)] * 3, (1280, 8), {})
    assert 0.5 < flops["causal"][-1] / flops["all"][-1] < 0.52


# Memory ---------------------------------------------------------------------------------------------------------------


def peak(way: Any, n: int) -> int:
    """The bytes that results and kept values take, forward and backward."""
    given = leaves((1, n, 8), (1, n, 8), (1, n, 8), dtype="f4")
    with Counters() as counted:
        way(*given).sum().backward()
    return counted.peak


def in_use(way: Any, n: int) -> int:
    """The allocator's peak, which also sees what an operation needs while it runs."""
    given = leaves((1, n, 8), (1, n, 8), (1, n, 8), dtype="f4")
    with Memory() as memory:
        way(*given).sum().backward()
    return max(sum(moment.most) for moment in memory.moments)


def near(*given: Any) -> Any:
    """Attention to the last 64 rows."""
    return local_attention(*given, window=64)


SIZES = (512, 1024, 1536, 2048, 2560)


def test_memory_grows_with_the_square_of_the_length_or_with_the_length() -> None:
    grows = [shape_of(SIZES, [peak(way, n) for n in SIZES]) for way in (whole, blocks, near)]
    assert grows == ["quadratic", "linear", "linear"]
    assert peak(whole, 2048) > 8 * peak(blocks, 2048)
    assert in_use(whole, 2048) > 10 * in_use(blocks, 2048)
    assert in_use(blocks, 4096) < 2.5 * in_use(blocks, 2048)


# Who chooses ----------------------------------------------------------------------------------------------------------


def test_long_rows_are_done_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attention, "MANY", 2 * 8 * 8)
    monkeypatch.setattr(attention, "MANY_CAUSAL", 2 * 4 * 4)

    def way(n: int, *mask: Any, **how: Any) -> str:
        given: list[Any] = [tg.ones(2, n, 3) for _ in range(3)]
        (name,) = used(lambda: F.scaled_dot_product_attention(*given, *mask, **how))
        return name

    matrix, block = "scaled_dot_product_attention", "blockwise_attention"
    assert [way(7), way(8)] == [matrix, block]
    assert [way(3, is_causal=True), way(4, is_causal=True)] == [matrix, block]
    assert [way(8, tg.zeros(8, 8)), way(8, tg.zeros(8, 8, requires_grad=True))] == [block, matrix]
    assert [way(8, dropout_p=0.5), way(8, dropout_p=0.0)] == [matrix, block]
    with sdpa_kernel(SDPBackend.MATH):
        assert way(8) == matrix
        with sdpa_kernel([SDPBackend.EFFICIENT_ATTENTION]):
            assert [way(1), way(8)] == [block, block]
        assert way(8) == matrix
    with sdpa_kernel([SDPBackend.MATH, SDPBackend.FLASH_ATTENTION]):
        assert [way(7), way(8)] == [matrix, block]


def test_a_program_that_is_recorded_has_the_whole_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would have thousands of lines otherwise."""
    from tinygrad_edu.compiler import trace

    for name in ("MANY", "MANY_CAUSAL"):
        monkeypatch.setattr(attention, name, 1)
    q, k, v = (tg.ones(1, 300, 2) for _ in range(3))
    lines = str(trace(F.scaled_dot_product_attention, q, k, v)).count("\n")
    with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        assert str(trace(F.scaled_dot_product_attention, q, k, v)).count("\n") > 2 * lines


def test_a_choice_holds_in_its_own_thread() -> None:
    x, seen = tg.ones(4, 2), []
    with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        other = threading.Thread(target=lambda: seen.extend(used(lambda: F.scaled_dot_product_attention(x, x, x))))
        other.start()
        other.join()
    assert seen == ["scaled_dot_product_attention"]


def test_blocks_on_another_device() -> None:
    x = tg.ones(1, 6, 2, device="far", requires_grad=True)
    out = blocks(x, x, x)
    assert out.device == "far"
    out.sum().backward()
    assert x.grad.device == "far"


def test_dropout_needs_the_whole_matrix() -> None:
    x = tg.ones(2, 3)
    with (
        sdpa_kernel(SDPBackend.FLASH_ATTENTION),
        teaches(
            ArgumentError,
            "attention of query (2, 3), key (2, 3) and value (2, 3) with dropout_p=0.5",
            "sdpa_kernel allows blocks only, and they have no dropout: it draws a number for each score",
            "allow SDPBackend.MATH too",
            "F.scaled_dot",
        ),
    ):
        F.scaled_dot_product_attention(x, x, x, dropout_p=0.5)


def three(rows: int) -> list[Any]:
    return [tg.ones(rows, 2) for _ in range(3)]


WRONG: list[tuple[Any, Any, str, str]] = [
    (lambda: sdpa_kernel("flash").__enter__(), ArgumentError, "a SDPBackend or a list of them", "FLASH_ATTENTION"),
    (lambda: sdpa_kernel([]).__enter__(), ArgumentError, "a SDPBackend or a list of them", "FLASH_ATTENTION"),
    (lambda: local_attention(*three(3), window=0), ArgumentError, "a row looks at itself at least", "1 or more"),
    (lambda: local_attention(*three(3), window=1.5), DtypeError, "window is an integer", "//"),
    (lambda: local_attention(tg.ones(3, 2).long(), *three(3)[1:], window=1), DtypeError, "one float dtype", "key.to"),
    (
        lambda: local_attention(tg.ones(3, 2), tg.ones(3, 4), tg.ones(3, 2), 2),
        ShapeError, "query has 2 features and key 4", "same number of features",
    ),
    (lambda: local_attention(*three(0), window=1), ShapeError, "query has 0 rows and key 0", "leave the call out"),
    (lambda: whole(tg.ones(3, 2), *three(0)[1:]), ShapeError, "query has 3 rows and key 0", "leave the call"),
    (
        lambda: blocks(tg.ones(3, 2), tg.ones(4, 2), tg.ones(5, 2)),
        ShapeError, "key has 4 rows, but value has 5", "one row of value for each row of key",
    ),
    (
        lambda: blocks(tg.ones(3, 2), tg.ones(4, 2), tg.ones(4, 2), tg.ones(3, 6)),
        ShapeError, r"a mask \(3, 6\) cannot be stretched", "which axis counts",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("call", "kind", "why", "mend"), WRONG, ids=[w[2][:30] for w in WRONG])
def test_what_is_refused(call: Any, kind: Any, why: str, mend: str) -> None:
    with pytest.raises(kind, match=why) as caught:
        call()
    assert mend in caught.value.mend
