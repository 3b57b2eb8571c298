"""Rooflines: what each operation does and takes, against arithmetic and the simulator's constants."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tests.support import teaches
from tinygrad_edu import sim
from tinygrad_edu.compiler import cost_of, running
from tinygrad_edu.core.slow import Interceptor
from tinygrad_edu.errors import ArgumentError
from tinygrad_edu.nn import functional as F
from tinygrad_edu.observe import roofline
from tinygrad_edu.observe.roofline import BOUNDS, ELSE, Peaks, Point


@pytest.fixture(autouse=True)
def t4() -> Iterator[None]:
    sim.use("T4")
    yield
    sim.use("T4")


PEAKS = Peaks("a machine", 100.0, ((40.0, 20.0), (math.inf, 10.0)), 1.0, (("matmul", 3.0),))


@pytest.mark.parametrize(
    ("point", "needs", "bound"),
    [
        (Point("add", "", 1, 10, 10, 1.1), (1.0, 0.5, 0.1), "start"),
        (Point("add", "", 1, 10, 50, 5.1), (1.0, 5.0, 0.1), "bytes"),
        (Point("matmul", "", 1, 900, 50, 9.1), (3.0, 5.0, 9.0), "arithmetic"),
        (Point("matmul", "", 1, 10, 10, 3.5), (3.0, 0.5, 0.1), "start"),
        (Point("add", "", 1, 10, 10, 4.7), (1.0, 0.5, 0.1), "start"),
        (Point("add", "", 1, 10, 10, 4.9), (1.0, 0.5, 0.1), ELSE),
    ],
)
def test_what_needs_longest_is_the_bound(point: Point, needs: Any, bound: str) -> None:
    assert tuple(point.needs(PEAKS).values()) == pytest.approx(needs)
    assert point.bound(PEAKS) == bound
    assert PEAKS.bandwidth == 10.0 and PEAKS.ridge == 10.0


def test_what_can_be_gained_is_never_more_than_what_is_spent() -> None:
    point = Point("matmul", "", 1, 900, 50, 10.0)
    assert point.gain("arithmetic", PEAKS) == pytest.approx(10.0 / 5.0), "the bytes still have to come"
    assert point.gain("bytes", PEAKS) == pytest.approx(10.0 / 9.0)
    assert point.gain("start", PEAKS) == pytest.approx(10.0 / 9.0)
    rng = random.Random(0)
    for _ in range(200):
        one = Point("add", "", 1, rng.random() * 500, rng.random() * 90, rng.random() * 20)
        for bound in BOUNDS:
            assert one.gain(bound, PEAKS) >= 1.0


def test_a_simulated_machine_has_its_constants_and_its_kernels() -> None:
    x = tg.ones(1024, 1024, device="sim", requires_grad=True)

    def run() -> None:
        (x @ x).sum().backward()

    found = roofline.simulated(run, "A100")
    machine = sim.Machine("A100")
    assert sim.machine().preset == "T4", "the machine is as it was"
    assert (found.peaks.rate, found.peaks.bandwidth) == (machine["float32"], machine["bandwidth"])
    assert found.peaks.simulated and found.peaks.start == machine["launch"] / 1e9
    product = next(point for point in found.points if point.name == "matmul")
    assert (product.flops, product.nbytes, product.calls) == (2 * 1024**3, 3 * 4 * 1024**2, 1)
    assert product.bound(found.peaks) == "arithmetic" and "x @ x" in product.line
    assert any(point.name == "matmul backward" for point in found.points)
    assert product.seconds >= product.flops / found.peaks.rate
    assert [point.total for point in found.points] == sorted((point.total for point in found.points), reverse=True)
    assert roofline.simulated(run, "A100") == found, "the same each time"


def test_no_kernel_is_quicker_than_the_roof() -> None:
    sizes = [1, 7, 64, 300, 1024]
    for preset in sim.PRESETS:
        xs = [tg.ones(n, n, device="sim") for n in sizes]
        found = roofline.simulated(lambda xs=xs: [(x @ x).relu().sum() for x in xs], preset)
        for point in found.points:
            assert point.seconds > 0.999 * max(point.needs(found.peaks).values()), (preset, point)


def test_what_it_says_can_be_gained_is_what_the_simulator_gains() -> None:
    """Each constant is taken away in turn: tiles, reads in no order and dtypes are told as the simulator knows them."""
    a, odd = tg.rand(256, 256, device="sim"), tg.rand(65, 4096, device="sim")
    images, kernels = tg.rand(8, 16, 28, 28, device="sim"), tg.rand(32, 16, 3, 3, device="sim")
    half, far = a.to("float16"), tg.arange(4096, device="sim")[tg.randperm(4096).to("sim")]

    def run() -> None:
        a @ a
        odd @ odd.T
        F.conv2d(images, kernels)
        half @ half
        odd[:, far]
        a.exp()
        (a + 1)[0].sum()

    for preset in sim.PRESETS:
        machine = sim.Machine(preset)
        rates = [name for name, one in machine.table.items() if one.unit == "FLOP/s"]
        without = {"start": {"launch": 0}, "bytes": {"bandwidth": 1e30}, "arithmetic": dict.fromkeys(rates, 1e30)}
        found = roofline.simulated(run, preset)
        for bound, changes in without.items():
            sim.use(machine.changed(**changes))
            with sim.timeline() as seen:
                run()
                sim.finish()
            start = sim.machine()["launch"]
            quick: dict[Any, float] = {}
            for work in seen:
                if work.kind == "kernel":
                    quick[work.name, work.flops, work.read + work.written] = max(work.duration, start) / 1e9
            for point in found.points:
                least = quick[point.name, point.flops, point.nbytes]
                assert point.gain(bound, found.peaks) == pytest.approx(point.seconds / least, rel=1e-3), (
                    preset,
                    point,
                )
        sim.use("T4")


def test_a_large_convolution_and_a_gather_are_limited_by_what_limits_them() -> None:
    images, kernels = tg.ones(64, 64, 28, 28, device="sim"), tg.ones(64, 64, 3, 3, device="sim")
    found = roofline.simulated(lambda: F.conv2d(images, kernels), "T4").points[0]
    assert found.bound(roofline.simulated(lambda: F.conv2d(images, kernels), "T4").peaks) == "arithmetic"
    x, index = tg.ones(2**22, device="sim"), tg.arange(2**22, device="sim")
    gathered = roofline.simulated(lambda: x[index], "T4")
    assert gathered.points[0].bound(gathered.peaks) == "bytes"


def test_what_is_no_kernel_is_told_besides() -> None:
    def run() -> None:
        x = tg.ones(1024, 1024).to("sim")
        sim.host_work(2)
        (x @ x).cpu()

    rest = dict(roofline.simulated(run, "T4").rest)
    assert rest["copies"] > 2 * 4 * 1024**2 / 12e9 and rest["the host's own work"] == pytest.approx(2e-3)
    left = dict(roofline.measured(lambda: (tg.ones(64) + 1, sum(range(100_000)))).rest)
    assert sum(left.values()) > 1e-4


def test_small_products_are_limited_by_something_else_on_a_device() -> None:
    """A tile is all that one processor gets: the others have nothing to do."""
    x, w = tg.ones(2, 512, device="sim"), tg.ones(512, 4, device="sim")
    found = roofline.simulated(lambda: x @ w)
    assert found.points[0].bound(found.peaks) == ELSE


def test_this_machine_is_measured() -> None:
    x, w = tg.rand(128, 256), tg.rand(256, 256)

    def run() -> None:
        h = x @ w
        for i in range(5):
            h[i] * 2.0

    found = roofline.measured(run)
    by_name = {point.name: point for point in found.points}
    assert set(by_name) == {"matmul", "mul"}, "a view costs nothing"
    assert (by_name["matmul"].flops, by_name["matmul"].nbytes) == (2 * 128 * 256 * 256, 4 * (2 * 128 * 256 + 256 * 256))
    assert (by_name["mul"].calls, by_name["mul"].flops) == (5, 256) and "h[i] * 2.0" in by_name["mul"].line
    peaks = found.peaks
    known = roofline.peaks()
    assert [most for most, _ in peaks.bandwidths] == [most for most, _ in known.bandwidths]
    assert all(now >= before for (_, now), (_, before) in zip(peaks.bandwidths, known.bandwidths, strict=True))
    assert peaks.rate == max(known.rate, *(point.achieved for point in found.points)), "no mark stands above the roof"
    assert peaks.rate > 1e8 and peaks.bandwidth > 1e8 and 0 < peaks.start < 1e-3 and not peaks.simulated
    assert by_name["mul"].bound(peaks) in ("start", ELSE) and by_name["matmul"].bound(peaks) != "start"
    assert found.conditions is not None and found.conditions.cores >= 1
    for point in found.points:
        needs = point.needs(peaks)
        assert all(needs[one] <= 1.001 * point.seconds for one in BOUNDS), "nothing computed exceeds what is measured"


def test_a_bandwidth_between_two_sizes_lies_between_theirs() -> None:
    peaks = Peaks("a machine", 100.0, ((10.0, 40.0), (1000.0, 10.0)), 1.0)
    rates = [peaks.bandwidth_of(size) for size in (1, 10, 100, 1000, 5000)]
    assert rates == pytest.approx([40.0, 40.0, 20.0, 10.0, 10.0])
    assert peaks.moving(100) == pytest.approx(5.0)


def test_from_so_many_numbers_on_moving_takes_longer_than_a_start() -> None:
    peaks = Peaks("a machine", 1e12, ((1e6, 1e10),), 1e-6)
    assert peaks.crossing(8) == pytest.approx(1250, rel=0.002), "the figures of lesson 6"
    one = peaks.crossing(8)
    for numbers, bound in ((0.9 * one, "start"), (1.1 * one, "bytes")):
        assert Point("mul", "", 1, numbers, 8 * numbers, 2e-6).bound(peaks) == bound


def test_a_program_without_operations_is_refused() -> None:
    mend = "let the function compute something"
    with teaches(ArgumentError, "a roofline", "no operation on tensors was carried out", mend):
        roofline.measured(lambda: None)
    with pytest.raises(ArgumentError, match="no kernel ran on the simulated device"):
        roofline.simulated(lambda: tg.ones(3) + 1)


def test_an_instruction_that_python_moves_within_its_line_is_no_other_operation() -> None:
    table, places = tg.ones(1000, 8), tg.arange(200)
    run = eval("lambda: table[places].sum()", {"table": table, "places": places})  # whose code has not run yet
    assert sorted(point.name for point in roofline.measured(run).points) == ["getitem", "sum"]


def test_a_program_that_changes_is_refused() -> None:
    sizes = iter(range(1, 100))
    with pytest.raises(ArgumentError, match="other operations in another run"):
        roofline.measured(lambda: tg.ones(next(sizes)) * 2)


# Compiled programs ---------------------------------------------------------------------------------------------------


def softmax(x: tg.Tensor, w: tg.Tensor) -> tg.Tensor:
    h = ((x @ w) * 0.5 + 1.0).exp()
    return h / h.sum(1, keepdim=True)


def test_a_compiled_program_is_one_point_with_its_cost() -> None:
    x, w = tg.rand(64, 128), tg.rand(128, 128)
    program = tg.compile(softmax, fullgraph=True)
    found = roofline.measured(lambda: program(x, w), compiled=True)
    cost = cost_of(program.ledger[0].programs[0])
    (point,) = found.points
    assert len(program.ledger) == 1 and program.ledger[0].calls == 1 + 2 * found.runs
    assert point.name == f"program of {cost.launches} kernels" and point.calls == 1
    assert (point.kernels, point.flops, point.nbytes) == (cost.launches, cost.flops, cost.moved)
    each = [1 if one.body is None else len(one.body.equations) for one in program.ledger[0].programs[0].equations]
    assert point.asked == sum(each) > cost.launches, "here a kernel calls NumPy for each of its operations"
    assert found.compiled and found.count == cost.launches and point.line == ""
    assert point.seconds > 0 and found.whole > 0
    needs = point.needs(found.peaks)
    assert needs["start"] == point.asked * found.peaks.call, "a program calls NumPy, and not the engine"
    assert needs["bytes"] == pytest.approx(cost.launches * found.peaks.moving(cost.moved / cost.launches))
    assert 0 < found.peaks.call < found.peaks.start


def test_what_is_compiled_inside_a_program_runs_compiled_and_has_its_line() -> None:
    x, w = tg.rand(64, 128), tg.rand(128, 128)
    program = tg.compile(softmax)

    def run() -> None:
        program(x, w).sum()
        program(x, w)

    found = roofline.measured(run)
    by_name = {point.name: point for point in found.points}
    kernels = cost_of(program.ledger[0].programs[0]).launches
    assert set(by_name) == {f"program of {kernels} kernels", "sum"} and not found.compiled
    assert {point.line.partition(": ")[2] for point in found.points} == {"program(x, w).sum()", "program(x, w)"}
    assert found.count == 2 * kernels + 1
    traced = tg.jit.trace(softmax, (x, w))
    assert {point.name for point in roofline.measured(lambda: traced(x, w)).points} == {f"program of {kernels} kernels"}


def test_kernels_of_a_compiled_program_are_simulated() -> None:
    x, w = tg.rand(64, 128, device="sim"), tg.rand(128, 128, device="sim")
    program = tg.compile(softmax, fullgraph=True)
    written, compiled = roofline.simulated(lambda: softmax(x, w)), roofline.simulated(lambda: program(x, w), None, True)
    names = [point.name for point in compiled.points]
    assert written.count == 6 and compiled.count == len(compiled.points) < 6
    assert any("matmul+mul+add" in name for name in names) and {point.line for point in compiled.points} == {""}
    assert compiled.whole < written.whole, "fewer launches, and fewer bytes"
    with sim.timeline() as seen:
        program(x, w)
        sim.finish()
    assert compiled.whole == seen.end / 1e9
    assert sum(point.flops for point in compiled.points) == sum(point.calls * point.flops for point in written.points)
    assert sum(point.nbytes for point in compiled.points) < sum(point.calls * point.nbytes for point in written.points)


def test_a_kernel_of_a_program_has_the_line_that_called_the_program() -> None:
    x, w = tg.rand(64, 128, device="sim"), tg.rand(128, 128, device="sim")
    program = tg.compile(softmax)
    found = roofline.simulated(lambda: program(x, w))
    assert all("program(x, w)" in point.line for point in found.points)


def test_a_program_of_which_nothing_is_left_is_refused() -> None:
    x = tg.rand(8)
    program = tg.compile(lambda: (x * 2, None)[1], fullgraph=True)
    why = "nothing of it is left to run: a program computes what is returned, from tensors that were there before"
    mend = "make the tensors outside the function, and return what it computes from them"
    for measuring in (roofline.measured, roofline.simulated):
        with teaches(ArgumentError, "a roofline of the compiled function", why, mend):
            measuring(program, compiled=True)


class Told(Interceptor):
    """Notes what is said of programs."""

    programs = True

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def outside(self, what: str, *given: Any) -> None:
        if what == "program":
            self.seen.append(given)


def test_those_who_watch_hear_of_each_program_and_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    x, w = tg.rand(64, 128), tg.rand(128, 128, requires_grad=True)
    program = tg.compile(softmax, fullgraph=True)
    asked: list[int] = []
    clock = time.perf_counter
    monkeypatch.setattr(running.time, "perf_counter", lambda: (asked.append(1), clock())[1])
    program(x, w)
    asked.clear()
    program(x, w).sum().backward()
    assert not asked, "nobody watches, so nothing is measured"
    with Told() as told:
        begun = clock()
        loss = program(x, w)
        took = clock() - begun
        result = loss.detach().numpy()
        loss.backward(tg.ones(64, 128))  # inside a node, which those who watch see as a whole
    ((cost, made, seconds, calls),) = told.seen
    assert len(asked) == 2 and 0 < seconds < took
    assert cost == cost_of(program.ledger[0].programs[0]) and calls == program.ledger[0].codes[0].calls
    assert any(np.shares_memory(one, result) for one in made)
    traced = tg.jit.trace(softmax, (x.detach(), w.detach()))
    with Told() as told:
        result = traced(x, w.detach()).numpy()
    ((cost, made, seconds, calls),) = told.seen
    assert cost == cost_of(traced.program) and seconds > 0 and any(np.shares_memory(one, result) for one in made)
