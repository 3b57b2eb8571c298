"""The ways of a convolution give the same numbers; a benchmark takes the fastest, and one way is always the same."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tinygrad_edu as tg
from tests.backends.test_convolution import settings
from tinygrad_edu.backends import algorithms, autotune, channels_last, convolution, cudnn
from tinygrad_edu.backends.layout import channels_last as lies_last
from tinygrad_edu.backends.layout import inside

RNG = np.random.default_rng(1)
WINDOW = ((1, 1), (1, 1), (1, 1))  # stride, padding, dilation


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    before = cudnn.benchmark, cudnn.deterministic
    autotune.forget()
    yield
    cudnn.benchmark, cudnn.deterministic = before
    autotune.forget()


def last(x: Any) -> Any:
    """The same numbers, channels last."""
    return np.ascontiguousarray(x.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2)


def arrays(image: tuple[int, ...] = (2, 3, 7, 6), kernels: tuple[int, ...] = (4, 3, 3, 3)) -> Any:
    return RNG.normal(size=image), RNG.normal(size=kernels)


# The same numbers -----------------------------------------------------------------------------------------------------


@given(settings())
def test_every_way_gives_the_same_numbers(how: Any) -> None:
    x, w, moves, _ = how
    expected = convolution.conv(x, w, *moves)
    ways = algorithms._applicable(x, w, *moves, None)
    assert len(ways) == 4 - (moves[3] > 1) - (w.shape[2:] == (1, 1))
    for name, way in ways.items():
        found = way(x, w, *moves)
        np.testing.assert_allclose(found, expected, atol=1e-12, err_msg=name)
        assert found.flags.c_contiguous, name


@given(settings(), st.sampled_from([1, 1 << 20]))
def test_channels_last_gives_the_same_numbers(how: Any, strip: int) -> None:
    """Forward and both gradients, in strips of any size, and laid out as the images are."""
    x, w, (*moves, _), _ = how
    w = RNG.normal(size=(w.shape[0], x.shape[1], *w.shape[2:]))
    expected = convolution.conv(x, w, *moves, 1)
    g = RNG.normal(size=expected.shape)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(channels_last, "STRIP", strip)
        found = [
            channels_last.conv(last(x), w, *moves), channels_last.conv_input(last(g), w, x.shape[2:], *moves),
            channels_last.conv_kernel(last(x), last(g), w.shape[2:], *moves),
        ]  # fmt: skip
    others = [
        expected, convolution.conv_input(g, w, x.shape[2:], *moves, 1),
        convolution.conv_kernel(x, g, w.shape[2:], *moves, 1),
    ]  # fmt: skip
    for one, other in zip(found, others, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-11)
        assert one.transpose(0, 2, 3, 1).flags.c_contiguous


@given(settings())
def test_results_lie_as_images_do_whatever_way_they_came(how: Any) -> None:
    """What `xp.conv` gives is right for images in both layouts, with groups and without."""
    x, w, moves, _ = how
    expected = convolution.conv(x, w, *moves)
    for given_x in (x, last(x), np.repeat(last(x), 2, 3)[..., ::2]):
        np.testing.assert_allclose(algorithms.conv(given_x, w, *moves), expected, atol=1e-12)
    g = RNG.normal(size=expected.shape)
    slopes = [convolution.conv_input(g, w, x.shape[2:], *moves), convolution.conv_kernel(x, g, w.shape[2:], *moves)]
    for given_x, given_g in ((x, last(g)), (last(x), g), (last(x), last(g))):
        np.testing.assert_allclose(algorithms.conv_input(given_g, w, x.shape[2:], *moves), slopes[0], atol=1e-11)
        np.testing.assert_allclose(algorithms.conv_kernel(given_x, given_g, w.shape[2:], *moves), slopes[1], atol=1e-11)


@pytest.mark.parametrize("name", algorithms.WAYS)
def test_what_is_not_finite_stays_where_it_is(name: str) -> None:
    x, w = arrays()
    x[0, 0, 0, 5], x[1, 2, 6, 0] = np.inf, np.nan
    expected = convolution.conv(x, w, *WINDOW, 1)
    found = algorithms.WAYS[name](x, w, *WINDOW, 1)
    np.testing.assert_array_equal(np.isfinite(found), np.isfinite(expected))
    np.testing.assert_allclose(found[np.isfinite(found)], expected[np.isfinite(found)], atol=1e-12)


@pytest.mark.parametrize("name", algorithms.WAYS)
def test_float32_stays_float32(name: str) -> None:
    x, w = (array.astype("f4") for array in arrays())
    found = algorithms.WAYS[name](x, w, *WINDOW, 1)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, convolution.conv(x, w, *WINDOW, 1), atol=1e-5)


@pytest.mark.parametrize("name", algorithms.WAYS)
def test_gradients_are_the_slopes_with_each_way(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """First and second derivatives of a convolution that goes this way, wherever a benchmark may choose it."""
    taken: list[tuple[Any, ...]] = []

    def best(key: Any, ways: Any, given: Any) -> Any:
        taken.append(key)
        return ways.get(name, ways["windows"])(*given)

    monkeypatch.setattr(autotune, "best", best)
    cudnn.benchmark = True
    x, w = (tg.tensor(array, requires_grad=True) for array in arrays((1, 2, 4, 4), (2, 2, 3, 2)))
    for stride in (1, 2):
        run = lambda x, w, stride=stride: tg.nn.functional.conv2d(x, w, stride=stride, padding=1)  # noqa: E731
        assert tg.autograd.gradcheck(run, (x, w))
        assert tg.autograd.gradgradcheck(run, (x, w))
    assert len(set(taken)) > 2


# Layouts --------------------------------------------------------------------------------------------------------------


def converted(run: Any) -> int:
    """How often a call lays images out anew."""
    before = inside.conversions
    run()
    return inside.conversions - before


def test_images_are_computed_as_they_lie() -> None:
    first = tg.randn(2, 4, 6, 6)
    x = first.contiguous(memory_format=tg.channels_last)
    w = tg.randn(4, 4, 3, 3, requires_grad=True)
    run = tg.nn.functional.conv2d
    assert converted(lambda: run(x, w, padding=1).relu()) == 0
    assert converted(lambda: run(first, w, padding=1)) == 0
    grouped = tg.randn(4, 2, 3, 3)
    assert converted(lambda: run(x, grouped, groups=2)) == 2, "images there, result back"
    assert converted(lambda: run(first, grouped, groups=2)) == 0
    for images in (first, x):
        out = run(images, w, padding=1)
        assert lies_last(out.shape, out.array.strides) == (images is x)
    g = tg.randn(2, 4, 6, 6)
    out = run(x, w, padding=1)
    assert converted(lambda: tg.autograd.grad(out, w, g)) == 1, "a gradient that does not lie so is laid so, once"
    out = run(x, w, padding=1)
    assert converted(lambda: tg.autograd.grad(out, w, g.contiguous(memory_format=tg.channels_last))) == 0


def test_kernels_that_lie_channels_last_take_the_images_with_them() -> None:
    x, w = tg.randn(2, 4, 6, 6, requires_grad=True), tg.randn(5, 4, 3, 3)
    out = tg.nn.functional.conv2d(x, w.contiguous(memory_format=tg.channels_last))
    assert out.is_contiguous(memory_format=tg.channels_last)
    expected = tg.nn.functional.conv2d(x, w)
    np.testing.assert_allclose(out.detach().array, expected.detach().array, atol=1e-5)
    out.sum().backward()
    assert x.grad.is_contiguous()


# The choice -----------------------------------------------------------------------------------------------------------


def test_a_benchmark_tries_each_way_once_for_each_shape() -> None:
    x, w = arrays()
    cudnn.benchmark, before = True, inside.tries
    out = algorithms.conv(x, w, *WINDOW, 1)
    (choice,) = autotune.table()
    assert set(choice.seconds) == set(algorithms.WAYS) and choice.way in choice.seconds
    assert all(taken > 0 for taken in choice.seconds.values())
    assert choice.seconds[choice.way] == min(choice.seconds.values())
    assert (out == algorithms.WAYS[choice.way](x, w, *WINDOW, 1)).all()
    assert str(choice).startswith(f"(2, 3, 7, 6) by (4, 3, 3, 3), stride (1, 1), padding (1, 1): {choice.way} (windows")
    assert inside.tries - before == 4
    assert (algorithms.conv(x, w, *WINDOW, 1) == out).all()
    assert inside.tries - before == 4
    algorithms.conv(x[:1], w, *WINDOW, 1)
    algorithms.conv(x.astype("f4"), w.astype("f4"), *WINDOW, 1)
    assert len(autotune.table()) == 3
    autotune.forget()
    assert autotune.table() == []


def test_the_fastest_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock that runs as long as each way says; a hopeless one runs once."""
    now, runs = [0.0], []

    def way(name: str, seconds: float) -> Any:
        def run() -> str:
            runs.append(name)
            now[0] += seconds
            return name

        return run

    monkeypatch.setattr(autotune.time, "perf_counter", lambda: now[0])
    ways = {"slow": way("slow", 3.0), "quick": way("quick", 1.0), "hopeless": way("hopeless", 99.0)}
    assert autotune.best(("key",), ways, ()) == "quick"
    assert runs == ["slow", "slow", "quick", "quick", "hopeless", "quick"]
    assert autotune.best(("key",), ways, ()) == "quick"
    assert runs[6:] == ["quick"]
    assert autotune.best(("one",), {"only": way("only", 1.0)}, ()) == "only"
    assert runs[7:] == ["only"], "nothing to choose"


def test_without_a_benchmark_or_with_one_way_nothing_is_tried() -> None:
    x, w = arrays()
    usual = convolution.conv(x, w, *WINDOW, 1)
    for cudnn.benchmark, cudnn.deterministic in ((False, False), (False, True), (True, True)):
        assert (algorithms.conv(x, w, *WINDOW, 1) == usual).all()
    assert autotune.table() == []
    cudnn.benchmark, cudnn.deterministic = True, False
    algorithms.conv(x.round().astype(int), w.round().astype(int), *WINDOW, 1)
    algorithms.conv(last(x), w, *WINDOW, 1)
    assert autotune.table() == [], "whole numbers, and images that lie channels last, go one way"


def test_what_does_not_fit_is_refused_as_ever() -> None:
    cudnn.benchmark = True
    x, w = arrays((2, 5, 7, 6))
    with pytest.raises(ValueError, match="4 kernels of 3 channels in 1 groups, for 5 channels"):
        algorithms.conv(x, w, *WINDOW, 1)
    with pytest.raises(ValueError, match="4 kernels in 1 groups, for 5 channels"):
        algorithms.conv_input(x, w, (7, 6), *WINDOW, 1)


def test_a_spectrum_that_is_too_large_is_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    x, w = arrays()
    monkeypatch.setattr(algorithms, "MOST", 1000)
    assert set(algorithms._applicable(x, w, *WINDOW, 1, None)) == {"windows", "positions", "channels last"}


def test_threads_share_one_benchmark() -> None:
    cudnn.benchmark = True
    x, w = arrays()
    found: list[Any] = []
    start = threading.Barrier(4)

    def work() -> None:
        start.wait(60)
        found.extend(algorithms.conv(x, w, *WINDOW, 1) for _ in range(5))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(found) == 20
    assert all((one == found[0]).all() for one in found)
    assert len(autotune.table()) == 1


def test_the_same_bits_each_time() -> None:
    cudnn.benchmark, cudnn.deterministic = True, True
    x, w = (array.astype("f4") for array in arrays((4, 8, 16, 16), (8, 8, 3, 3)))
    first = algorithms.conv(x, w, *WINDOW, 1)
    for _ in range(3):
        autotune.forget()
        assert algorithms.conv(x, w, *WINDOW, 1).tobytes() == first.tobytes()


def test_switches_for_a_block() -> None:
    """As in PyTorch, what is not named has its default in the block; afterwards all is as before."""
    cudnn.benchmark, cudnn.deterministic = False, True
    with cudnn.flags(benchmark=True):
        assert (cudnn.enabled, cudnn.benchmark, cudnn.deterministic, cudnn.allow_tf32) == (False, True, False, True)
        with cudnn.flags(enabled=True, deterministic=True):
            assert (cudnn.enabled, cudnn.benchmark, cudnn.deterministic) == (True, False, True)
        assert (cudnn.benchmark, cudnn.deterministic) == (True, False)
    assert (cudnn.enabled, cudnn.benchmark, cudnn.deterministic) == (True, False, True)
