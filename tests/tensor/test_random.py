"""Random tensors: what they hold, and that one call seeds them all."""

from __future__ import annotations

import copy
import pickle
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tests.support import teaches
from tinygrad_edu.compiler.trace import TraceError, trace
from tinygrad_edu.errors import ArgumentError, DeviceError, DtypeError, ShapeError

DRAWS: dict[str, Callable[..., tg.Tensor]] = {
    "randn": lambda **g: tg.randn(3, **g),
    "rand": lambda **g: tg.rand(2, 2, **g),
    "randint": lambda **g: tg.randint(0, 100, (4,), **g),
    "randperm": lambda **g: tg.randperm(5, **g),
    "randn_like": lambda **g: tg.randn_like(tg.ones(3), **g),
    "rand_like": lambda **g: tg.rand_like(tg.ones(3), **g),
    "randint_like": lambda **g: tg.randint_like(tg.ones(9), 100, **g),
    "normal_": lambda **g: tg.zeros(3).normal_(**g),
    "uniform_": lambda **g: tg.zeros(3).uniform_(**g),
    "exponential_": lambda **g: tg.zeros(3).exponential_(**g),
    "bernoulli_": lambda **g: tg.zeros(30).bernoulli_(**g),
    "random_": lambda **g: tg.zeros(3).random_(**g),
    "normal": lambda **g: tg.normal(0.0, 1.0, (3,), **g),
    "normal of tensors": lambda **g: tg.normal(tg.zeros(3), tg.ones(3), **g),
    "bernoulli": lambda **g: tg.bernoulli(tg.full((30,), 0.5), **g),
    "x.bernoulli": lambda **g: tg.full((30,), 0.5).bernoulli(**g),
    "multinomial": lambda **g: tg.multinomial(tg.ones(30), 10, **g),
    "x.multinomial": lambda **g: tg.ones(30).multinomial(10, True, **g),
}


def draw(**given: Any) -> list[Any]:
    """One of each."""
    return [make(**given).tolist() for make in DRAWS.values()]


def test_the_seed_decides_everything() -> None:
    tg.manual_seed(3)
    first, second = draw(), draw()
    assert first != second
    tg.manual_seed(3)
    assert draw() == first
    tg.manual_seed(4)
    assert draw() != first


def test_every_seed_has_a_stream_of_its_own() -> None:
    streams = set()
    for seed in (0, 1, 2, 3, 2**31, 2**32, 2**40, -1):
        tg.manual_seed(seed)
        streams.add(str(draw()))
    assert len(streams) == 8


def test_without_a_seed_numbers_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tg.random, "_state", tg.random._State())
    first = draw()
    monkeypatch.setattr(tg.random, "_state", tg.random._State())
    assert draw() != first


def test_negative_seeds_are_seeds() -> None:
    tg.manual_seed(-1)
    first = draw()
    tg.manual_seed(-1)
    assert draw() == first


def test_threads_have_streams_of_their_own_that_follow_the_seed() -> None:
    def in_thread(name: str) -> list[Any]:
        found: list[Any] = []
        thread = threading.Thread(target=lambda: found.append(draw()), name=name)
        thread.start()
        thread.join()
        return found[0]

    tg.manual_seed(1)
    here, a, b = draw(), in_thread("a"), in_thread("b")
    assert len({str(x) for x in (here, a, b)}) == 3
    tg.manual_seed(1)
    assert [in_thread("b"), in_thread("a"), draw()] == [b, a, here]


# A stream of one's own --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", DRAWS.values(), ids=DRAWS)
def test_a_generator_gives_what_its_seed_gives_and_leaves_the_rest_alone(make: Any) -> None:
    tg.manual_seed(3)
    expected = make().tolist()
    tg.manual_seed(5)
    g = tg.Generator().manual_seed(3)
    assert make(generator=g).tolist() == expected
    assert make(generator=np.random.default_rng([3])).tolist() == expected
    other = [make(generator=g.manual_seed(seed)).tolist() for seed in range(20)]
    assert other[3] == expected
    assert len({str(values) for values in other}) > 10
    found = draw()
    tg.manual_seed(5)
    assert draw() == found, "what a generator draws is not missing elsewhere"


def test_a_generator_begins_with_pytorchs_seed() -> None:
    assert tg.Generator().initial_seed() == 67280421310721
    assert draw(generator=tg.Generator()) == draw(generator=tg.Generator())


def test_seeds_of_a_generator() -> None:
    g = tg.Generator()
    assert g.manual_seed(-1) is g
    assert (g.initial_seed(), repr(g)) == (2**64 - 1, f"Generator(seed={2**64 - 1})")
    seeds = {g.seed() for _ in range(5)}
    assert len(seeds) == 5
    assert g.initial_seed() in seeds
    assert draw(generator=g) == draw(generator=tg.Generator().manual_seed(g.initial_seed()))


@pytest.mark.parametrize("way", ["state", "copy", "pickle", "file"])
def test_a_generator_goes_on_from_where_it_stood(way: str, tmp_path: Path) -> None:
    g = tg.Generator("far").manual_seed(1)
    draw(generator=g)
    if way == "file":
        tg.save({"random": g.get_state()}, tmp_path / "checkpoint")
    other = {
        "state": lambda: tg.Generator().set_state(g.get_state()),
        "copy": lambda: copy.deepcopy(g),
        "pickle": lambda: pickle.loads(pickle.dumps(g)),
        "file": lambda: tg.Generator().set_state(tg.load(tmp_path / "checkpoint")["random"]),
    }[way]()
    assert other.initial_seed() == 1
    assert draw(generator=other) == draw(generator=g) != draw(generator=g)
    assert g.get_state().dtype == tg.uint8
    assert (g.device, other.device) == ("far", "far" if way in ("copy", "pickle") else "cpu")


@pytest.mark.parametrize("state", [
    tg.ones(3), tg.tensor([*b"[1]"], dtype="uint8"), tg.tensor([*b"[1, {}]"], dtype="uint8"), "text",
    tg.tensor([*b'[1, {"bit_generator": "MT19937"}]'], dtype="uint8"),
])  # fmt: skip
def test_states_that_do_not_come_from_a_generator(state: Any) -> None:
    g = tg.Generator()
    with teaches(
        ArgumentError, "set_state of a Generator", "the bytes do not hold the state of a stream",
        "pass what get_state() of a Generator returned", "g.set_state(",
    ):  # fmt: skip
        g.set_state(state)
    assert draw(generator=g) == draw(generator=tg.Generator())
    tg.manual_seed(0)
    before, why = tg.get_rng_state(), "the bytes do not hold the state of a stream"
    with teaches(ArgumentError, "set_rng_state", why, "pass what get_rng_state() returned", "tg.set_rng_state(st"):
        tg.set_rng_state(state)
    assert (tg.get_rng_state() == before).all()


@pytest.mark.parametrize("seeded", [True, False])
def test_everybodys_stream_goes_on_from_where_it_stood(seeded: bool, tmp_path: Path) -> None:
    if seeded:
        tg.manual_seed(3)
    draw()
    tg.save({"random": tg.get_rng_state()}, tmp_path / "checkpoint")
    later = draw(), draw()
    tg.manual_seed(4)
    tg.set_rng_state(tg.load(tmp_path / "checkpoint")["random"])
    assert (draw(), draw()) == later
    assert later[0] != later[1]
    tg.manual_seed(4)
    first = draw()
    tg.manual_seed(4)
    assert draw() == first  # seeding begins anew


def test_words_about_generators_and_seeds() -> None:
    why = "random numbers come from a Generator, but this is a int"
    with teaches(ArgumentError, "generator=3", why, "use Generator().manual_seed(0)", "tg.rand(2, generator=3)"):
        tg.rand(2, generator=3)
    for seed in ("a", None, [1], float("nan"), float("inf")):
        with teaches(DtypeError, f"manual_seed({seed!r})", "a seed is an integer", "use manual_seed(0)", "tg.manual"):
            tg.manual_seed(seed)
        with teaches(DtypeError, f"manual_seed({seed!r})", "a seed is an integer", "use manual_seed(0)", "tg.Gen"):
            tg.Generator().manual_seed(seed)
    with pytest.raises(DeviceError, match="there is no such device here"):
        tg.Generator("gpu")


# What is drawn ----------------------------------------------------------------------------------------------------


def test_distributions() -> None:
    normal, uniform = tg.randn(20000).array, tg.rand(20000).array
    assert abs(normal.mean()) < 0.03
    assert abs(normal.std() - 1) < 0.03
    assert abs(uniform.mean() - 0.5) < 0.01
    assert uniform.min() >= 0
    assert set(tg.randint(2, 5, (1000,)).array) == {2, 3, 4}
    assert sorted(tg.randperm(50).tolist()) == list(range(50))
    moved = tg.zeros(20000).normal_(5.0, 2.0).array
    assert abs(moved.mean() - 5) < 0.1
    assert abs(moved.std() - 2) < 0.1
    spread = tg.zeros(20000).uniform_(-3.0, -1.0).array
    assert -3 <= spread.min() < -2.99 < -1.01 < spread.max() <= -1


def test_integers_in_both_forms() -> None:
    for made in (tg.randint(5, (2000,)), tg.randint(high=5, size=(2000,)), tg.randint(0, 5, size=[2000])):
        assert set(made.tolist()) == {0, 1, 2, 3, 4}
        counts = np.bincount(made.array)
        assert counts.min() > 300  # 400 each, with a standard deviation of 18
    assert set(tg.randint(-1, 1, (99,), dtype="float16").tolist()) == {-1.0, 0.0}
    assert set(tg.randint(2, (99,), dtype="bool").tolist()) == {False, True}
    assert set(tg.randint(254, 256, (99,), dtype="uint8").tolist()) == {254, 255}
    assert tg.randint(5, ()).shape == ()
    x = tg.zeros(3, 4, dtype="float64")
    assert (tg.randint_like(x, 9).dtype, tg.randint_like(x, 2, 9).shape) == (np.float64, (3, 4))
    assert tg.randint_like(x, high=9, dtype="int8").amin().item() >= 0
    assert tg.randint_like(x, 2, 3).tolist() == [[2.0] * 4] * 3


def test_likeness() -> None:
    x = tg.zeros(2, 3, dtype="float16", device="far")
    for like in (tg.rand_like, tg.randn_like, lambda *a, **k: tg.randint_like(*a, 5, **k)):
        made = like(x)
        assert (made.shape, made.dtype, made.device) == ((2, 3), np.float16, "far")
        other = like(x, dtype="float64", device="cpu", requires_grad=True)
        assert (other.dtype, other.device, other.requires_grad) == (np.float64, "cpu", True)


def test_normal_by_mean_and_deviation() -> None:
    mean, std = tg.tensor([0.0, 100.0], dtype="float64"), tg.tensor([[1.0], [10.0]])
    drawn = tg.stack([tg.normal(mean, std) for _ in range(3000)])
    assert (drawn.dtype, drawn.shape) == (np.float64, (3000, 2, 2))
    np.testing.assert_allclose(drawn.array.mean(0), [[0, 100], [0, 100]], atol=0.8)
    np.testing.assert_allclose(drawn.array.std(0), [[1, 1], [10, 10]], rtol=0.08)
    assert tg.normal(tg.zeros(2), 0.0).tolist() == [0.0, 0.0]
    assert tg.normal(5.0, tg.zeros(2, dtype="float64")).tolist() == [5.0, 5.0]
    assert tg.normal(0.0, std=0.0, size=(2,), dtype="float64").dtype == np.float64
    assert tg.normal(tg.zeros(2, device="far")).device == "far"


def test_coins() -> None:
    p = tg.tensor([0.0, 0.25, 1.0], dtype="float64")
    flips = tg.bernoulli(p.expand(4000, 3))
    assert (flips.dtype, set(flips[:, 1].tolist())) == (np.float64, {0.0, 1.0})
    np.testing.assert_allclose(flips.array.mean(0), [0, 0.25, 1], atol=0.03)
    assert tg.tensor([3, 4]).bernoulli(1.0).tolist() == [1, 1]
    assert tg.zeros(3).bernoulli().tolist() == [0, 0, 0]
    assert abs(tg.zeros(4000, dtype="bool").bernoulli_(0.75).array.mean() - 0.75) < 0.03
    assert tg.zeros(3, dtype="int8").bernoulli_(p).tolist()[::2] == [0, 1]
    assert not tg.bernoulli(tg.full((2,), 0.5, requires_grad=True)).requires_grad  # a draw has no slope


@pytest.mark.parametrize("replacement", [False, True])
def test_draws_by_weight(replacement: bool) -> None:
    weights = tg.tensor([[0.0, 1.0, 3.0, 0.0], [4.0, 4.0, 0.0, 0.0]])
    first = tg.cat([weights.multinomial(1, replacement) for _ in range(4000)], 1)
    shares = [np.bincount(row, minlength=4) / 4000 for row in first.array]
    np.testing.assert_allclose(shares, [[0, 0.25, 0.75, 0], [0.5, 0.5, 0, 0]], atol=0.04)
    pairs = tg.multinomial(weights[0], 2, replacement)
    assert (pairs.shape, pairs.dtype) == ((2,), np.int64)
    if not replacement:
        assert sorted(pairs.tolist()) == [1, 2]
        assert sorted(tg.multinomial(tg.ones(50), 50).tolist()) == list(range(50))
    else:
        assert set(tg.multinomial(weights[0], 300, True).tolist()) == {1, 2}
    assert tg.multinomial(tg.zeros(0, 3), 2, replacement).shape == (0, 2)


def test_filling_in_place() -> None:
    x = tg.zeros(20000)
    assert x.exponential_(4.0) is x
    assert abs(x.array.mean() - 0.25) < 0.01
    assert x.array.min() >= 0
    assert set(tg.zeros(99, dtype="int64").random_(3).tolist()) == {0, 1, 2}
    assert set(tg.zeros(99).random_(-1, 1).tolist()) == {-1.0, 0.0}
    assert tg.zeros(999, dtype="int8").random_().array.max() > 100
    assert tg.zeros(999, dtype="int8").random_().array.min() >= 0
    assert tg.zeros(99, dtype="int64").random_().array.max() > 2**55
    assert 2**21 < tg.zeros(99).random_().array.max() <= 2**24
    assert set(tg.zeros(99, dtype="bool").random_().tolist()) == {False, True}
    assert tg.zeros(50000, dtype="float16").uniform_().array.max() < 1  # rounding would reach 1
    assert tg.zeros(3, device="far").normal_().device == "far"


WRONG: dict[str, tuple[Any, type[Exception], str]] = {
    "rand of integers": (lambda: tg.rand(2, dtype="int64"), DtypeError, "rand of dtype int64"),
    "randn like integers": (lambda: tg.randn_like(tg.ones(2, dtype="int8")), DtypeError, "randn of dtype int8"),
    "randint of none": (lambda: tg.randint(5, 5, (2,)), ShapeError, "there is no integer from 5 up to but without 5"),
    "randint of fractions": (lambda: tg.randint(0, 2.5, (2,)), DtypeError, "the limits are integers"),
    "randint without a tuple": (lambda: tg.randint(0, 5, 2), DtypeError, "randint(0, 5, 2)\n  why:  the size"),
    "randint without a size": (lambda: tg.randint(5), DtypeError, "the limits are integers"),
    "randint too large": (
        lambda: tg.randint(257, (2,), dtype="uint8"), DtypeError, "uint8 holds all integers from 0 to 255 only",
    ),
    "randint beyond float16": (lambda: tg.randint(4000, (2,), dtype="float16"), DtypeError, "from -2048 to 2048 only"),
    "randint_like of none": (lambda: tg.randint_like(tg.ones(2), 5, 2), ShapeError, "randint_like(5, 2, (2,))"),
    "randperm too long": (lambda: tg.randperm(300, dtype="uint8"), DtypeError, "uint8 holds all integers up to 255"),
    "randperm of -1": (lambda: tg.randperm(-1), ShapeError, "an axis cannot have fewer than 0 elements"),
    "normal without a size": (lambda: tg.normal(0.0, 1.0), ShapeError, "give a size: normal(0.0, 1.0, (3,))"),
    "normal of integers": (lambda: tg.normal(tg.tensor([0])), DtypeError, "normal of dtype int64"),
    "normal by less than 0": (lambda: tg.normal(tg.zeros(2), tg.tensor([1.0, -2.0])), ArgumentError, "with std=-2.0"),
    "normal of unequal lengths": (lambda: tg.normal(tg.zeros(2), tg.ones(3)), ShapeError, "deviations (3,)"),
    "coins of 2": (lambda: tg.bernoulli(tg.tensor([0.5, 2.0])), ArgumentError, "between 0 and 1, and 2.0 does not"),
    "coins of nan": (lambda: tg.bernoulli(tg.tensor([float("nan")])), ArgumentError, "and nan does not"),
    "coins of integers": (lambda: tg.bernoulli(tg.tensor([0, 1])), DtypeError, "bernoulli of dtype int64"),
    "coins in place": (lambda: tg.zeros(2).bernoulli_(-0.5), ArgumentError, "bernoulli_\n  why:  a probability lies"),
    "weights of integers": (lambda: tg.multinomial(tg.ones(2).long(), 1), DtypeError, "weights are floats"),
    "weights in a cube": (lambda: tg.ones(1, 1, 1).multinomial(1), ShapeError, "weights are a vector, or a matrix"),
    "no samples": (lambda: tg.ones(2).multinomial(0), ArgumentError, "at least one sample is drawn"),
    "negative weights": (lambda: (-tg.ones(2)).multinomial(1), ShapeError, "some weights are negative, infinite"),
    "infinite weights": (lambda: (tg.ones(2) / 0).multinomial(1, True), ShapeError, "negative, infinite or nan"),
    "no weights": (lambda: tg.zeros(2).multinomial(1, True), ShapeError, "a row has 0 positions with a weight"),
    "too few weights": (
        lambda: tg.tensor([[1.0, 1.0], [1.0, 0.0]]).multinomial(2), ShapeError, "a row has 1 positions with a weight",
    ),
    "uniform backwards": (lambda: tg.zeros(2).uniform_(2, 1), ShapeError, "uniform_(2, 1)"),
    "uniform integers": (lambda: tg.zeros(2, dtype="int64").uniform_(), DtypeError, "uniform_ of dtype int64"),
    "normal_ by less than 0": (lambda: tg.zeros(2).normal_(0, -1), ArgumentError, "normal_ with std=-1"),
    "a rate of 0": (lambda: tg.zeros(2).exponential_(0), ShapeError, "the rate is more than 0"),
    "random_ of none": (lambda: tg.zeros(2).random_(2, 2), ShapeError, "random_(2, 2, (2,))"),
    "random_ too large": (lambda: tg.zeros(2, dtype="uint8").random_(300), DtypeError, "uint8 holds all integers"),
}  # fmt: skip


@pytest.mark.parametrize(("draw", "kind", "words"), WRONG.values(), ids=WRONG)
def test_what_cannot_be_drawn(draw: Any, kind: Any, words: str) -> None:
    with np.errstate(divide="ignore"), pytest.raises(kind) as caught:
        draw()
    assert words in str(caught.value)
    assert caught.value.line.startswith("test_random.py, line "), caught.value.line


def test_words_about_chances() -> None:
    with teaches(
        ArgumentError, "bernoulli", "a probability lies between 0 and 1, and -0.5 does not",
        "use sigmoid() to make probabilities of any numbers", line="tg.bernoulli(tg.tensor([-0.5]))",
    ):  # fmt: skip
        tg.bernoulli(tg.tensor([-0.5]))


def test_draws_by_traced_probabilities_are_refused() -> None:
    """The replay would not draw again."""
    with pytest.raises(TraceError, match="reading a traced value"):
        trace(lambda p: tg.bernoulli(p) * p, tg.full((3,), 0.5))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_uniform_numbers_stay_below_one_in_every_dtype(dtype: str) -> None:
    """Rounding a float64 to float16 would give 1 now and then."""
    drawn = tg.rand(50000, dtype=dtype)
    assert drawn.dtype == tg.dtypes.as_dtype(dtype)
    assert drawn.array.max() < 1
    assert drawn.array.max() > 0.99


def test_shapes_dtypes_and_devices() -> None:
    assert tg.randn(2, 3).shape == tg.randn((2, 3)).shape == tg.rand([2, 3]).shape == (2, 3)
    assert tg.randn(()).shape == ()
    assert [t.dtype for t in (tg.randn(1), tg.rand(1), tg.randint(0, 2, (1,)), tg.randperm(1))] == [
        np.float32, np.float32, np.int64, np.int64,
    ]  # fmt: skip
    assert tg.randn(2, dtype="float64", requires_grad=True).requires_grad
    assert tg.rand(2, device="far").device == "far"
    assert tg.randint(0, 9, (2,), dtype="uint8").dtype == np.uint8
    assert tg.randperm(0).tolist() == []
