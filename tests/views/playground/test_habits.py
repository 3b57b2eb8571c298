"""Each slow habit is what it says: the same mathematics, and what the meters and the one sentence say that it costs."""

from __future__ import annotations

import gc
import tracemalloc
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tinygrad_edu as tg
from tinygrad_edu.nn import functional as F
from tinygrad_edu.settings import promotion
from tinygrad_edu.views.playground import meters
from tinygrad_edu.views.playground.meters import Meters, nodes_of, owner, standing_bytes
from tinygrad_edu.views.playground.model import ACTIVATIONS, HABITS, OPTIMISERS, PRECISIONS, Knobs, PlayState, Reading
from tinygrad_edu.views.playground.reasons import why
from tinygrad_edu.views.playground.run import Run, scores
from tinygrad_edu.views.playground.training import Loop, data, loss_in_a_loop, mislabelled, network

SMALL = Knobs(width=8, batch=16)
KNOBS = st.builds(
    Knobs,
    learning_rate=st.sampled_from([0.01, 0.05, 0.1]), width=st.sampled_from([4, 9, 16]), depth=st.integers(0, 2),
    activation=st.sampled_from(ACTIVATIONS), batch=st.sampled_from([1, 2, 7, 16]),
    optimiser=st.sampled_from(OPTIMISERS), noise=st.sampled_from([0.0, 0.3]),
)  # fmt: skip
SOME = st.sets(st.sampled_from(list(HABITS)))


def trained(knobs: Knobs, on: Any = (), steps: int = 8, seed: int = 0) -> Loop:
    loop = Loop(knobs, seed)
    for habit in HABITS:
        if habit in on:
            loop.flip(habit, True)
    for _ in range(steps):
        loop.step()
    return loop


def weights(loop: Loop) -> list[Any]:
    return [p.array for p in loop.model.parameters()]


def read(knobs: Knobs = SMALL, on: Any = (), steps: int = 8) -> Reading:
    """What the meters say after some steps."""
    loop = trained(knobs, on, 0)
    found = Meters(loop)
    for _ in range(steps):
        found.step()
    return found.reading()


# The same mathematics ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("habit", ["total", "evaluation", "zeros", "copies", "compiled"])
@given(knobs=KNOBS)
@settings(max_examples=15, deadline=None)
def test_a_habit_that_computes_the_same_gives_the_same_weights_bit_for_bit(habit: str, knobs: Knobs) -> None:
    for one, other in zip(weights(trained(knobs)), weights(trained(knobs, [habit])), strict=True):
        assert np.array_equal(one, other)


@pytest.mark.parametrize("habit", ["one sample", "float64", "loop"])
@given(knobs=KNOBS)
@settings(max_examples=15, deadline=None)
def test_a_habit_that_adds_in_another_order_gives_the_same_weights_within_rounding(habit: str, knobs: Knobs) -> None:
    # Adam divides by the gradient's size, so that rounding of a gradient near zero moves a weight by up to a step.
    bound = 2.5 * 3 * knobs.learning_rate if knobs.optimiser == "Adam" else 2e-4
    for one, other in zip(weights(trained(knobs, steps=3)), weights(trained(knobs, [habit], 3)), strict=True):
        assert np.abs(one - other).max() < bound


def test_all_habits_together_give_the_same_weights_within_rounding() -> None:
    for one, other in zip(weights(trained(SMALL)), weights(trained(SMALL, HABITS)), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)


def test_the_loss_in_a_loop_is_the_cross_entropy() -> None:
    x = tg.tensor(np.random.default_rng(0).normal(size=(5, 10)), requires_grad=True)
    labels = tg.tensor([3, 1, 4, 1, 5])
    gradients = []
    for criterion in (F.cross_entropy, loss_in_a_loop):
        loss = criterion(x, labels)
        x.grad = None
        loss.backward()
        gradients.append(x.grad.array)
        assert loss.item() == pytest.approx(F.cross_entropy(x, labels).item())
    np.testing.assert_allclose(*gradients)


def test_a_step_is_that_of_numpy() -> None:
    """The whole step of a network with one layer, by its formula."""
    knobs = Knobs(depth=0, batch=32, learning_rate=0.5)
    loop = Loop(knobs, 3)
    w, b = (array.copy().astype(np.float64) for array in weights(loop))
    loop.step()
    order = loop._order[:32]
    x, y = loop.images[order].astype(np.float64), loop.labels[order]
    p = np.exp(x @ w.T + b)
    p /= p.sum(1, keepdims=True)
    p[np.arange(32), y] -= 1
    np.testing.assert_allclose(weights(loop)[0], w - 0.5 * p.T @ x / 32, atol=1e-6)
    np.testing.assert_allclose(weights(loop)[1], b - 0.5 * p.mean(0), atol=1e-6)


# What the meters say -----------------------------------------------------------------------------------------------


@given(knobs=KNOBS, on=SOME)
@settings(max_examples=25, deadline=None)
def test_counts_are_the_same_in_every_run(knobs: Knobs, on: set[str]) -> None:
    one, two = read(knobs, on), read(knobs, on)
    assert (one.bytes, one.nodes, one.operations) == (two.bytes, two.nodes, two.operations)


@given(knobs=KNOBS, on=SOME.map(lambda on: on - PRECISIONS))
@settings(max_examples=20, deadline=None)
def test_float64_doubles_the_bytes_and_nothing_else(knobs: Knobs, on: set[str]) -> None:
    usual, wide = read(knobs, on), read(knobs, {*on, "float64"})
    assert (wide.nodes, wide.operations) == (usual.nodes, usual.operations)
    assert usual.bytes is not None and wide.bytes is not None
    labels = 8 * knobs.batch * ("copies" in on)  # integers stay as they are, and may be gone when most is in use
    if "compiled" in on and "loop" not in on:  # what a program works in are masks, too
        assert 1.5 * usual.bytes < wide.bytes <= 2 * usual.bytes + 64  # and single numbers have a room of their own
    else:
        assert 2 * usual.bytes - wide.bytes in (labels, 0)


@given(knobs=KNOBS, on=SOME.map(lambda on: on - PRECISIONS))
@settings(max_examples=20, deadline=None)
def test_bfloat16_halves_what_stands_and_makes_no_other_calls(knobs: Knobs, on: set[str]) -> None:
    on -= {"compiled"}  # whose kernels cast
    usual, narrow = read(knobs, on), read(knobs, {*on, "bfloat16"})
    assert (narrow.nodes, narrow.operations) == (usual.nodes, usual.operations)
    assert usual.bytes is not None and narrow.bytes is not None and narrow.bytes < usual.bytes
    if knobs.optimiser == "SGD" and not on:  # the state of an optimiser is float32
        assert 2 * standing_bytes(trained(knobs, ["bfloat16"])) == standing_bytes(trained(knobs))
    assert {array.dtype for array in weights(trained(knobs, {*on, "bfloat16"}, 3))} == {tg.bfloat16}


@given(weight=st.floats(2**-60, 2**60), share=st.floats(0, 1 / 512, exclude_max=True), sign=st.sampled_from([-1, 1]))
def test_an_update_below_a_512th_of_a_bfloat16_is_rounded_away(weight: float, share: float, sign: int) -> None:
    w = np.float32(np.array(weight).astype(tg.bfloat16))
    assert np.array(w + np.float32(sign * share * float(w))).astype(tg.bfloat16) == w


@pytest.mark.parametrize("depth", [0, 1, 3])
def test_autocast_casts_what_each_product_is_given(depth: int) -> None:
    """Each layer's input, weight and bias, in training and in reading test digits; their gradients; and the scores."""
    knobs = Knobs(depth=depth)
    usual, cast = read(knobs), read(knobs, ["autocast"])
    assert None not in (usual.operations, cast.operations, usual.nodes, cast.nodes)
    layers = depth + 1
    parameters, inputs = 2 * layers, 1  # what a layer gives is in 16 bits already; a relu leaves it so
    assert cast.nodes - usual.nodes == parameters + 1  # type: ignore[operator]  # the scores go back to 32 bits
    back = parameters + 1
    tested = parameters + inputs + 1
    assert cast.operations - usual.operations == parameters + inputs + 1 + back + tested  # type: ignore[operator]
    assert {array.dtype for array in weights(trained(knobs, ["autocast"]))} == {np.dtype("float32")}


@pytest.mark.parametrize("habit", ["bfloat16", "autocast"])
@pytest.mark.parametrize("device", ["cpu", "sim"])
def test_sixteen_bits_learn_about_as_well(habit: str, device: str) -> None:
    found = []
    for on in ((), ((0, "flip", habit, True),)):
        made = Run(0, on, Knobs(device=device))
        for _ in range(200):
            made.advance()
        found.append(made.glance().now.test_accuracy)
    assert found[0] > 0.9 and abs(found[0] - found[1]) < 0.02


def test_one_dtype_is_chosen_at_a_time() -> None:
    made = Run(0, [(2, "flip", "float64", True), (4, "flip", "bfloat16", True), (6, "flip", "autocast", True)], SMALL)
    seen = []
    for _ in range(8):
        made.advance()
        seen.append("".join(sorted(made.loop.on)) + " " + made.loop.dtype)
    assert seen[1::2] == ["float64 float64", "bfloat16 bfloat16", "autocast float32", "autocast float32"]
    assert [act[1:] for act in made.acts if act[0] == 4] == [("flip", "float64", False), ("flip", "bfloat16", True)]
    assert made.change is not None and made.change.habit == "autocast"
    asking = PlayState(made.glance(), asking="float64")
    assert why(asking) == "It takes the place of **forward under `autocast`**: a network has one dtype."
    replayed = Run(0, made.acts, SMALL)
    for _ in range(8):
        replayed.advance()
    assert all(np.array_equal(a, b) for a, b in zip(made.weights(), replayed.weights(), strict=True))


@given(knobs=KNOBS)
@settings(max_examples=20, deadline=None)
def test_one_sample_at_a_time_makes_its_operations_for_each_row(knobs: Knobs) -> None:
    one, usual = read(knobs, ["one sample"]).operations, read(knobs).operations
    assert one is not None and usual is not None
    layers = 2 * knobs.depth + 1 if knobs.activation != "none" else knobs.depth + 1
    test = layers + 1 + 2  # forward only, and two slices
    both = 2 * (layers + 1)
    assert usual == 2 + both + test
    parts = 2 if knobs.batch > 1 else 0  # the loss is divided by the batch, forward and backward
    added = 2 * (knobs.depth + 1) * (knobs.batch - 1)  # gradients that are added to the ones before
    assert one == 2 + knobs.batch * (2 + both + parts) + added + test


def test_one_sample_at_a_time_keeps_the_activations_of_one_row() -> None:
    usual, one = read(Knobs()), read(Knobs(), ["one sample"])
    assert usual.nodes == one.nodes == 8  # four operations, and four leaves
    assert usual.bytes is not None and one.bytes is not None and one.bytes < 0.9 * usual.bytes


@given(knobs=KNOBS)
@settings(max_examples=15, deadline=None)
def test_zeros_fill_and_add_for_each_parameter(knobs: Knobs) -> None:
    usual, zeros = read(knobs), read(knobs, ["zeros"])
    assert usual.operations is not None and zeros.operations is not None
    assert zeros.operations - usual.operations == 2 * 2 * (knobs.depth + 1)
    assert zeros.nodes == usual.nodes


def test_total_holds_the_nodes_of_every_step_of_this_pass() -> None:
    knobs = Knobs(batch=256)
    loop = trained(knobs, ["total"], 0)
    found = Meters(loop)
    counts = []
    for _ in range(11):
        found.step()
        counts.append(found.reading().nodes)
    leaves, each = 4, 5  # two linear, relu, the loss, and the addition
    assert counts == [leaves + each * (i % 5 + 1) for i in range(11)]  # five steps are a pass
    assert read(knobs).nodes == leaves + 4


def test_evaluation_without_no_grad_holds_a_graph_and_what_it_saved() -> None:
    usual, held = read(Knobs()), read(Knobs(), ["evaluation"])
    assert (usual.nodes, held.nodes) == (8, 12)
    assert usual.operations == held.operations
    assert usual.bytes is not None and held.bytes is not None and held.bytes > 1.05 * usual.bytes
    loop = trained(Knobs(), ["evaluation"])
    assert loop.test_loss.node.saved is not None and not trained(Knobs()).test_loss.requires_grad


def test_copies_are_new_buffers_of_the_batch() -> None:
    usual, copied = read(Knobs()), read(Knobs(), ["copies"])
    assert usual.bytes is not None and copied.bytes is not None and usual.operations is not None
    assert copied.operations == usual.operations + 2
    assert 0 < copied.bytes - usual.bytes <= 64 * 64 * 4 + 64 * 8
    loop = trained(Knobs(), steps=1)
    x, y = loop._batch()
    assert np.shares_memory(x.array, loop.x.array) and np.shares_memory(y.array, loop.y.array)
    assert not np.shares_memory(x.clone().array, loop.x.array)


def test_a_loop_makes_operations_and_nodes_for_each_row() -> None:
    def counted(batch: int) -> tuple[int, int]:
        found = read(Knobs(width=8, batch=batch), ["loop"])
        assert found.nodes is not None and found.operations is not None
        return found.nodes, found.operations

    (n16, o16), (n32, o32), (n64, o64) = map(counted, (16, 32, 64))
    assert (n32 - n16, o32 - o16) == (16 * 5, 16 * 10)  # row, logsumexp, element, difference, sum; forward and backward
    assert (n64 - n32, o64 - o32) == (2 * (n32 - n16), 2 * (o32 - o16))


@pytest.mark.parametrize("optimiser", OPTIMISERS)
@pytest.mark.parametrize("habit", [None, *HABITS])
def test_the_bytes_that_stand_are_those_that_numpy_holds(optimiser: str, habit: str | None) -> None:
    """Between two steps: everything but the digits and the optimiser's own working memory, to the byte."""
    trained(Knobs(width=16, optimiser=optimiser), [habit] if habit else [], 5)  # what is made once, is made

    def held() -> int:
        gc.collect()
        only = [tracemalloc.DomainFilter(True, np.lib.tracemalloc_domain)]
        return sum(trace.size for trace in tracemalloc.take_snapshot().filter_traces(only).traces)

    tracemalloc.start()
    try:
        before = held()
        loop = trained(Knobs(width=16, optimiser=optimiser), [habit] if habit else [], 5)
        traced = held() - before
    finally:
        tracemalloc.stop()
    digits = [owner(one.array) for one in (loop.x, loop.y, loop.test_x, loop.test_y)]
    own = [one for one in digits if one is not loop.test_labels] + [loop.labels, loop._order]
    work = sum(room.nbytes for room in loop.optimizer._rooms.values())  # type: ignore[attr-defined]
    rest = 200  # numbers without axes
    rest += 3 * 64 * 8 * (habit == "compiled")  # labels that it was made for, and places of rows, forward and backward
    assert 0 <= traced - sum(one.nbytes for one in own) - work - standing_bytes(loop) <= rest


@given(knobs=KNOBS, on=SOME)
@settings(max_examples=20, deadline=None)
def test_the_peak_is_at_least_what_stands_and_at_most_what_was_allocated(knobs: Knobs, on: set[str]) -> None:
    loop = trained(knobs, on, 3)
    found = Meters(loop)
    found.since = meters.COUNTED
    tracemalloc.start()
    try:
        before = standing_bytes(loop)
        found.step()
        least = max(before, standing_bytes(loop))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert least <= found.peak + 8 * knobs.batch * ("total" in on) + 200
    assert found.peak <= before + peak


def test_a_counted_step_is_the_same_step() -> None:
    """Watching changes no weight."""
    for on in ((), HABITS):
        watched, alone = trained(SMALL, on, 0), trained(SMALL, on, 6)
        found = Meters(watched)
        for _ in range(6):
            found.step()
        for one, other in zip(weights(watched), weights(alone), strict=True):
            assert np.array_equal(one, other)


def test_nodes_are_those_that_can_be_reached() -> None:
    w = tg.ones(2, requires_grad=True)
    y = (w * 2).sum()
    assert len(nodes_of(y)) == 3  # mul, sum, leaf
    assert len(nodes_of(y, y + 1)) == 4
    assert nodes_of(3.0, None, tg.ones(1)) == set()


def test_times_are_those_of_the_last_steps_without_the_counted_one(monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter(range(10**6))
    monkeypatch.setattr(meters, "_clock", lambda: float(next(now)))
    found = Meters(trained(SMALL, (), 0))
    assert [found.lacking] == [meters.COUNTED + 1 + meters.ENOUGH]
    for _ in range(found.lacking):
        assert found.reading().time is None
        found.step()
    assert found.lacking == 0
    reading = found.reading()
    assert (reading.time, reading.low, reading.high, reading.runs) == (1.0, 1.0, 1.0, meters.ENOUGH)


# Data and networks -------------------------------------------------------------------------------------------------


@given(knobs=KNOBS)
@settings(max_examples=20, deadline=None)
def test_the_network_has_the_sizes_that_are_said(knobs: Knobs) -> None:
    model = network(knobs, np.random.default_rng(0))
    assert sum(p.numel() for p in model.parameters()) == knobs.parameters
    images = data()[2][:70]
    with tg.no_grad():
        ours = model(tg.tensor(images)).array
    np.testing.assert_allclose(scores(images, [p.array for p in model.parameters()], knobs.activation), ours, atol=1e-5)


@given(share=st.floats(0, 0.5), seed=st.integers(0, 99))
@settings(deadline=None)
def test_so_many_labels_are_wrong(share: float, seed: int) -> None:
    labels = data()[1]
    wrong = mislabelled(labels, share, np.random.default_rng(seed))
    assert (wrong != labels).sum() == round(share * len(labels))
    assert set(wrong) <= set(range(10))


def test_a_pass_reads_every_digit_once_at_most() -> None:
    loop = trained(Knobs(width=4, batch=100), steps=14)
    assert loop.passes == 1
    assert sorted(loop._order) == list(range(1438))
    loop.step()
    assert loop.passes == 2


def test_no_stream_of_random_numbers_is_touched() -> None:
    tg.manual_seed(5)
    np.random.seed(5)
    expected = tg.rand(3).tolist(), np.random.rand()
    tg.manual_seed(5)
    np.random.seed(5)
    trained(SMALL, HABITS)
    assert (tg.rand(3).tolist(), np.random.rand()) == expected


def test_two_loops_do_not_disturb_each_other() -> None:
    one, two, alone = Loop(SMALL, 1), Loop(SMALL, 2), trained(SMALL, steps=5, seed=1)
    for _ in range(5):
        one.step()
        two.step()
    assert all(np.array_equal(a, b) for a, b in zip(weights(one), weights(alone), strict=True))
    assert not np.array_equal(weights(one)[0], weights(two)[0])


def test_the_notebook_s_settings_do_not_matter() -> None:
    alone = Run(0, knobs=SMALL)
    for _ in range(4):
        alone.advance()
    with tg.no_grad(), tg.guard.off(), promotion("numpy"):
        other = Run(0, knobs=SMALL)
        for _ in range(4):
            other.advance()
    assert all(np.array_equal(a, b) for a, b in zip(alone.weights(), other.weights(), strict=True))


@pytest.mark.parametrize(("one", "other"), [*combinations(["zeros", "float64", "total", "evaluation"], 2)])
def test_habits_can_be_left_again(one: str, other: str) -> None:
    loop = trained(SMALL, [one, other], 4)
    loop.flip(one, False)
    loop.flip(other, False)
    for _ in range(4):
        loop.step()
    for a, b in zip(weights(loop), weights(trained(SMALL)), strict=True):
        assert a.dtype == np.float32
        np.testing.assert_allclose(a, b, atol=1e-5)
    assert len(nodes_of(*loop.names)) == 8
