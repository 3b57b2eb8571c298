"""Convolution in NumPy: against loops, as bilinear maps, strip by strip, and in memory that is used again."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinygrad_edu.backends import convolution
from tinygrad_edu.backends.convolution import col2im, conv, conv_input, conv_kernel, im2col

RNG = np.random.default_rng(0)


def by_loops(x: Any, w: Any, stride: Any, padding: Any, dilation: Any, groups: int, size: Any) -> Any:
    """The definition, place by place; outside of the image there are zeros."""
    (n, _, h, wide), (f, per_group, kh, kw) = x.shape, w.shape
    out = np.zeros((n, f, *size), x.dtype)
    for image, kernel, row, column in np.ndindex(*out.shape):
        first = kernel // (f // groups) * per_group
        for c, i, j in np.ndindex(per_group, kh, kw):
            y = row * stride[0] - padding[0] + i * dilation[0]
            z = column * stride[1] - padding[1] + j * dilation[1]
            if 0 <= y < h and 0 <= z < wide:
                out[image, kernel, row, column] += x[image, first + c, y, z] * w[kernel, c, i, j]
    return out


@st.composite
def settings(draw: Any) -> Any:
    """Shapes that belong together, and how windows move."""
    pair = st.tuples(st.integers(1, 3), st.integers(1, 3))
    groups, kernel, stride, dilation = (
        draw(st.integers(1, 2)),
        draw(pair),
        draw(pair),
        draw(st.tuples(*[st.integers(1, 2)] * 2)),
    )
    padding = draw(st.tuples(st.integers(0, 2), st.integers(0, 2)))
    reach = [d * (k - 1) + 1 for k, d in zip(kernel, dilation, strict=True)]
    image = tuple(max(draw(st.integers(1, 6)), r - 2 * p) for r, p in zip(reach, padding, strict=True))
    size = tuple((n + 2 * p - r) // s + 1 for n, p, r, s in zip(image, padding, reach, stride, strict=True))
    n, c, f = draw(st.integers(0, 3)), draw(st.integers(1, 2)), draw(st.integers(1, 2))
    x, w = RNG.normal(size=(n, c * groups, *image)), RNG.normal(size=(f * groups, c, *kernel))
    return x, w, (stride, padding, dilation, groups), size


@given(settings(), st.sampled_from([1, 1 << 20]))
def test_against_loops_and_as_bilinear_maps(how: Any, strip: int) -> None:
    """``<conv(x, w), g>`` is ``<x, conv_input(g, w)>`` and ``<w, conv_kernel(x, g)>``, in strips of any size."""
    x, w, moves, size = how
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(convolution, "STRIP", strip)
        out = conv(x, w, *moves)
        np.testing.assert_allclose(out, by_loops(x, w, *moves, size), atol=1e-12)
        g = RNG.normal(size=out.shape)
        product = (out * g).sum()
        assert (x * conv_input(g, w, x.shape[2:], *moves)).sum() == pytest.approx(product, abs=1e-9)
        assert (w * conv_kernel(x, g, w.shape[2:], *moves)).sum() == pytest.approx(product, abs=1e-9)


@pytest.mark.parametrize("padding", [(0, 0), (1, 1)])
def test_what_is_not_finite_stays_where_it_is(padding: tuple[int, int]) -> None:
    """Windows are copied in runs that go over the ends of rows: what lies there must not get into the sums."""
    x, w = RNG.normal(size=(2, 1, 4, 4)), RNG.normal(size=(1, 1, 2, 2))
    x[0, 0, 0, 3], x[1, 0, 3, 0] = np.inf, np.nan
    moves = ((1, 1), padding, (1, 1), 1)
    out = conv(x, w, *moves)
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(np.isfinite(out), np.isfinite(by_loops(x, w, *moves, out.shape[2:])))
    g = np.zeros(out.shape)
    g[0, 0, -1, -1] = 1.0  # a window that sees neither
    found = conv_kernel(x, g, (2, 2), *moves)
    with np.errstate(invalid="ignore"):
        expected = sum(
            g[n, 0, i, j] * np.pad(x, ((0, 0), (0, 0), *((p, p) for p in padding)))[n, 0, i : i + 2, j : j + 2]
            for n, _, i, j in np.ndindex(*g.shape)
        )
    np.testing.assert_array_equal(found[0, 0], expected)


def test_windows_that_nobody_wants_raise_no_warning() -> None:
    x, w = np.array([[[[3e38, 0.0, 0.0, 3e38], [3e38, 0.0, 0.0, 3e38]]]], "f4"), np.ones((1, 1, 1, 2), "f4")
    moves = ((1, 1), (0, 0), (1, 1), 1)
    assert np.isfinite(conv(x, w, *moves)).all()
    assert np.isfinite(conv_kernel(x, np.zeros((1, 1, 2, 3), "f4"), (1, 2), *moves)).all()


def test_results_are_not_in_the_memory_that_is_used_again() -> None:
    x, w, moves = RNG.normal(size=(2, 2, 5, 5)), RNG.normal(size=(3, 2, 3, 3)), ((1, 1), (1, 1), (1, 1), 1)
    first = conv(x, w, *moves)
    results = [first, conv_input(first, w, (5, 5), *moves), conv_kernel(x, first, (3, 3), *moves)]
    kept = [result.copy() for result in results]
    for scale in (2, 3):
        conv(x * scale, w, *moves)
        conv_kernel(x, first * scale, (3, 3), *moves)
        conv_input(first * scale, w, (5, 5), (2, 2), (1, 1), (1, 1), 1)
    for result, copy in zip(results, kept, strict=True):
        np.testing.assert_array_equal(result, copy)
        assert not any(np.shares_memory(result, held) for held in convolution.scratch.held.values())


def test_little_memory_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """A strip is a few images, and what a single large one needs is given back."""
    monkeypatch.setattr(convolution, "KEEP", 1 << 12)
    monkeypatch.setattr(convolution.scratch, "held", {})
    conv(RNG.normal(size=(1, 2, 40, 40)), RNG.normal(size=(1, 2, 3, 3)), (1, 1), (1, 1), (1, 1), 1)
    assert all(held.nbytes <= 1 << 12 for held in convolution.scratch.held.values())


def test_threads_have_memory_of_their_own() -> None:
    x, w, moves = RNG.normal(size=(4, 3, 12, 12)), RNG.normal(size=(4, 3, 3, 3)), ((1, 1), (1, 1), (1, 1), 1)
    expected = [conv(x * i, w, *moves) for i in range(4)]
    wrong: list[int] = []

    def work(i: int) -> None:
        wrong.extend(i for _ in range(50) if (conv(x * i, w, *moves) != expected[i]).any())

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert wrong == []


@pytest.mark.parametrize("stride", [(1, 1), (2, 1), (2, 2), (3, 2)])
def test_windows_that_lie_apart_are_put_and_others_added(stride: tuple[int, int]) -> None:
    x = RNG.normal(size=(2, 2, 6, 6))
    cols = im2col(x, (2, 2), stride, (0, 0))
    y = RNG.normal(size=cols.shape)
    assert (cols * y).sum() == pytest.approx((x * col2im(y, x.shape, stride, (0, 0))).sum())


def test_channels_and_kernels_that_do_not_fit_are_refused() -> None:
    x, w = np.ones((1, 3, 4, 4)), np.ones((2, 2, 1, 1))
    with pytest.raises(ValueError, match="2 kernels of 2 channels in 1 groups, for 3 channels"):
        conv(x, w, (1, 1), (0, 0), (1, 1), 1)
    with pytest.raises(ValueError, match="2 kernels in 1 groups, for 3 channels"):
        conv_input(x, w, (4, 4), (1, 1), (0, 0), (1, 1), 1)
