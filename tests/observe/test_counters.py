"""Counting: exact, the same every time, and without a trace in the program that is counted."""

from __future__ import annotations

import gc
import threading
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tinygrad_edu as tg
from tests.second_device import FAR
from tests.support import teaches
from tinygrad_edu import Tensor
from tinygrad_edu.errors import ArgumentError
from tinygrad_edu.nn import functional as F
from tinygrad_edu.observe.counters import OWNERS, Counters

B = 4000  # bytes of each of the tensors below

Program = Callable[[Tensor, Tensor], Any]


def leaves() -> tuple[Tensor, Tensor]:
    """Data, and a leaf that wants gradients."""
    return tg.linspace(0, 1, 1000).reshape(10, 100), tg.ones(10, 100, requires_grad=True)


def count(program: Program) -> Counters:
    x, w = leaves()
    with Counters() as counted:
        program(x, w)
    return counted


def told(counted: Counters, names: str) -> dict[str, int]:
    return {name: getattr(counted, name) for name in names.split()}


# Forward -------------------------------------------------------------------------------------------------------------

FORWARD: dict[str, tuple[Program, tuple[int, int, int]]] = {  # calls, copies, bytes allocated
    "nothing": (lambda x, w: None, (0, 0, 0)),
    "view": (lambda x, w: x.view(100, 10), (1, 0, 0)),
    "slice": (lambda x, w: x[2:4], (1, 0, 0)),
    "transpose": (lambda x, w: x.T, (1, 0, 0)),
    "permute, expand, unsqueeze": (lambda x, w: x.permute(1, 0).unsqueeze(0).expand(5, 100, 10), (3, 0, 0)),
    "split": (lambda x, w: x.split(5), (2, 0, 0)),
    "detach": (lambda x, w: x.detach(), (0, 0, 0)),
    "reshape of what lies in order": (lambda x, w: x.reshape(-1), (1, 0, 0)),
    "reshape behind a transpose": (lambda x, w: x.T.reshape(-1), (2, 1, B)),
    "contiguous, in order already": (lambda x, w: x.contiguous(), (0, 0, 0)),
    "contiguous behind a transpose": (lambda x, w: x.T.contiguous(), (2, 1, B)),
    "clone": (lambda x, w: x.clone(), (1, 1, B)),
    "clone of a clone": (lambda x, w: x.clone().clone(), (2, 2, 2 * B)),
    "another dtype": (lambda x, w: x.to("float64"), (1, 1, 2 * B)),
    "the same dtype": (lambda x, w: x.to("float32"), (0, 0, 0)),
    "cat": (lambda x, w: tg.cat([x, x]), (1, 1, 2 * B)),
    "one element": (lambda x, w: x[3, 4], (1, 0, 0)),
    "positions": (lambda x, w: x[np.array([1, 2])], (1, 1, 800)),
    "a mask": (lambda x, w: x[np.arange(10) < 3], (1, 1, 1200)),
    "two operations": (lambda x, w: (x + 1) * 2, (2, 0, 2 * B)),
    "broadcasting": (lambda x, w: x + x[:, :1], (2, 0, B)),
    "a sum to one number": (lambda x, w: x.sum(), (1, 0, 0)),
    "a sum over rows": (lambda x, w: x.sum(dim=0), (1, 0, 400)),
    "numbers alone": (lambda x, w: tg.tensor(1.0) + 1, (1, 0, 0)),
    "what NumPy does": (lambda x, w: np.ones(1000) + 1, (0, 0, 0)),
}  # fmt: skip


@pytest.mark.parametrize("name", FORWARD)
def test_forward(name: str) -> None:
    program, expected = FORWARD[name]
    counted = count(program)
    assert (counted.calls, counted.copies, counted.allocated) == expected
    assert (counted.nodes, counted.live) == (0, 0)


def test_copied_bytes_are_those_of_the_copies_alone() -> None:
    assert told(count(lambda x, w: (x + 1).T.contiguous()), "copies copied allocated") == {
        "copies": 1, "copied": B, "allocated": 2 * B,
    }  # fmt: skip


def test_a_call_that_fails_leaves_no_count() -> None:
    with Counters() as counted, pytest.raises(tg.errors.ShapeError):
        tg.zeros(2) + tg.zeros(3)
    assert counted.calls == 0
    assert counted.allocated == 20  # the two operands


MAKERS: dict[str, tuple[Callable[[Tensor], Any], int]] = {
    "zeros": (lambda x: tg.zeros(1000), B),
    "ones": (lambda x: tg.ones(1000, dtype="float64"), 2 * B),
    "full": (lambda x: tg.full((1000,), 2.0), B),
    "empty": (lambda x: tg.empty(1000), B),
    "arange": (lambda x: tg.arange(1000), 2 * B),
    "linspace": (lambda x: tg.linspace(0, 1, 1000), B),
    "eye": (lambda x: tg.eye(10), 400),
    "rand": (lambda x: tg.rand(1000), B),
    "randint": (lambda x: tg.randint(0, 5, (1000,)), 2 * B),
    "randperm": (lambda x: tg.randperm(1000), 2 * B),
    "rand_like": (tg.rand_like, B),
    "zeros_like": (tg.zeros_like, B),
    "full_like": (lambda x: tg.full_like(x, 3.0), B),
    "empty_like": (tg.empty_like, B),
    "tensor": (lambda x: tg.tensor([1.0, 2.0]), 8),
    "tensor of an array": (lambda x: tg.tensor(np.ones(1000)), 2 * B),
    "tensor of one number": (lambda x: tg.tensor(1.0), 0),
    "zeros, empty": (lambda x: tg.zeros(0), 0),
    "as_tensor of an array, shared": (lambda x: tg.as_tensor(np.ones(1000)), 0),
    "from_numpy, shared": (lambda x: tg.from_numpy(np.ones(1000)), 0),
}


@pytest.mark.parametrize("name", MAKERS)
def test_makers(name: str) -> None:
    make, size = MAKERS[name]
    x = tg.arange(1000.0)
    with Counters() as counted:
        made = make(x)
    assert told(counted, "calls copies allocated live peak") == {
        "calls": 0, "copies": 0, "allocated": size, "live": size, "peak": size,
    }  # fmt: skip
    assert counted.owners == dict.fromkeys(OWNERS, 0) | {"created": size}
    del made
    assert counted.live == 0


def test_zeros_like_in_another_dtype_makes_two_buffers_and_counts_each_once() -> None:
    x = tg.zeros(1000)
    with Counters() as counted:
        made = tg.zeros_like(x, dtype="float64")
    assert told(counted, "calls copied allocated live peak") == {
        "calls": 1, "copied": 2 * B, "allocated": 3 * B, "live": 2 * B, "peak": 3 * B,
    }  # fmt: skip
    assert made.dtype == "float64"


def test_the_stride_is_the_longest_that_any_operation_reads_with() -> None:
    strides = {
        "in order": count(lambda x, w: x + 1).stride,
        "across": count(lambda x, w: (x + 1, x.T + 1, x + 1)).stride,
        "every second one": count(lambda x, w: x[:, ::2] + 1).stride,
        "backwards": count(lambda x, w: x.flip(1) + 1).stride,
        "one number again and again": count(lambda x, w: x[:, :1].expand(10, 100) + 1).stride,
        "only moved": count(lambda x, w: x.T.contiguous()).stride,
    }
    assert strides == {
        "in order": 4, "across": 400, "every second one": 8, "backwards": 4, "one number again and again": 0,
        "only moved": 0,
    }  # fmt: skip


# In place ------------------------------------------------------------------------------------------------------------

IN_PLACE: dict[str, tuple[Program, tuple[int, int, int, int]]] = {  # calls, copies, bytes allocated, nodes
    "add_": (lambda x, w: x.add_(1), (1, 0, 0, 0)),
    "through a view": (lambda x, w: x[2:4].add_(1), (2, 0, 0, 0)),
    "a slice is assigned": (lambda x, w: x.__setitem__(slice(2), 1.0), (1, 0, 0, 0)),
    "zero_": (lambda x, w: x.zero_(), (1, 0, 0, 0)),
    "copy_": (lambda x, w: x.copy_(w.detach()), (1, 0, 0, 0)),
    "out=": (lambda x, w: tg.exp(x, out=x), (1, 0, 0, 0)),
    "out= of another tensor, from before": (lambda x, w: tg.exp(x, out=w.detach()), (1, 0, 0, 0)),
    "out= of a tensor from inside": (lambda x, w: tg.exp(x, out=tg.empty(10, 100)), (1, 0, B, 0)),
    "out= of a buffer that lies across": (lambda x, w: tg.exp(x, out=tg.empty(100, 10).T), (2, 0, B, 0)),
    "sigmoid_, which is computed beside it": (lambda x, w: x.sigmoid_(), (1, 0, B, 0)),
    "round_, which is an operation and a write": (lambda x, w: x.round_(), (2, 0, B, 0)),
    "add_ in the graph: no old values are needed": (lambda x, w: (w + 1).add_(1), (2, 0, B, 2)),
    "mul_ by a constant: nor are they here": (lambda x, w: (w + 1).mul_(x), (2, 0, B, 2)),
    "mul_ by what wants a gradient: they are": (lambda x, w: (w + 1).mul_(w), (2, 1, 2 * B, 2)),
    "through a view: two rows are kept, and the base gets a node": (
        lambda x, w: (w + 1)[2:4].mul_(w[:2]), (4, 1, B + 800, 5),
    ),
    "without gradients": (lambda x, w: tg.no_grad()(lambda: (w + 1).mul_(w))(), (2, 0, B, 0)),
}  # fmt: skip


@pytest.mark.parametrize("name", IN_PLACE)
def test_in_place(name: str) -> None:
    program, expected = IN_PLACE[name]
    counted = count(program)
    assert (counted.calls, counted.copies, counted.allocated, counted.nodes) == expected


def test_a_view_that_is_used_after_a_write_gets_a_new_node() -> None:
    def program(x: Tensor, w: Tensor) -> None:
        y = w + 1
        view = y[:5]
        y.add_(1)
        view.sum()

    assert count(program).nodes == 5  # add, getitem, add_, the view as it is now, sum


def test_a_stale_view_that_backward_starts_from_is_counted() -> None:
    def program(x: Tensor, w: Tensor) -> None:
        y = w + 1
        view = y[0, 0]
        y.add_(1)
        view.backward()

    assert told(count(program), "nodes calls") == {"nodes": 4, "calls": 6}


def test_a_single_number_that_is_kept_is_no_copy() -> None:
    with Counters() as counted:
        w = tg.tensor(2.0, requires_grad=True)
        (w * 1).mul_(w)
    assert told(counted, "copies copied allocated nodes") == {"copies": 0, "copied": 0, "allocated": 0, "nodes": 2}


# Backward ------------------------------------------------------------------------------------------------------------


def given_gradient(x: Tensor, w: Tensor) -> None:
    w.view(100, 10).backward(x.view(100, 10))


def twice(x: Tensor, w: Tensor) -> None:
    loss = (w * x).sum()
    loss.backward(retain_graph=True)
    loss.backward()


BACKWARD: dict[str, tuple[Program, tuple[int, int, int]]] = {  # calls, bytes allocated, nodes
    "the gradient of a sum is one number, stretched: .grad is a copy": (lambda x, w: w.sum().backward(), (2, B, 1)),
    "w * 2, and its gradient, which becomes .grad": (lambda x, w: (w * 2).sum().backward(), (4, 2 * B, 2)),
    "w * x": (lambda x, w: (w * x).sum().backward(), (4, 2 * B, 2)),
    "two uses: three results, two gradients, their sum": (
        lambda x, w: (w * 2 + w * 3).sum().backward(), (8, 6 * B, 4),
    ),
    "two uses of a result": (lambda x, w: (lambda y: (y * 2 + y * 3).sum().backward())(w * 4), (10, 8 * B, 5)),
    "grad() copies nothing": (lambda x, w: tg.autograd.grad(w.sum(), w), (2, 0, 1)),
    "grad() adds too": (lambda x, w: tg.autograd.grad((w * 2 + w * 3).sum(), w), (8, 6 * B, 4)),
    "a gradient that is given is copied": (given_gradient, (3, B, 1)),
    "retain_graph: the second gradient is added to .grad": (twice, (7, 3 * B, 2)),
    "no_grad": (lambda x, w: tg.no_grad()(lambda: w * 2)(), (1, B, 0)),
    "detach": (lambda x, w: ((w * 2).detach() * 3).sum(), (3, 2 * B, 1)),
}  # fmt: skip


@pytest.mark.parametrize("name", BACKWARD)
def test_backward(name: str) -> None:
    program, expected = BACKWARD[name]
    counted = count(program)
    assert (counted.calls, counted.allocated, counted.nodes) == expected


def test_create_graph_counts_the_nodes_of_the_gradient() -> None:
    plain = count(lambda x, w: tg.autograd.grad((w**3).sum(), w))
    graph = count(lambda x, w: tg.autograd.grad((w**3).sum(), w, create_graph=True))
    assert plain.nodes == 2
    assert graph.nodes > plain.nodes
    second = count(lambda x, w: tg.autograd.grad(tg.autograd.grad((w**3).sum(), w, create_graph=True)[0].sum(), w))
    assert second.nodes == graph.nodes + 1  # the sum


def test_nodes_from_before_are_not_counted() -> None:
    w = tg.ones(10, requires_grad=True)
    y = w * 2
    with Counters() as counted:
        (y * 3).sum()
    assert counted.nodes == 2


def test_the_leaf_keeps_the_gradient_that_was_counted() -> None:
    """Counting keeps no gradient, so nobody has to copy one because of it."""
    w = tg.ones(1000, requires_grad=True)
    with Counters() as counted:
        (w * 2).sum().backward()
    assert (counted.live, counted.owners["gradients"]) == (B, 0)  # at the peak, forward's result was alone
    del w
    assert counted.live == 0


# Peaks and owners ----------------------------------------------------------------------------------------------------


KEPT: dict[str, tuple[Program, int]] = {  # bytes alive while backward is still to come, besides the result
    "nothing": (lambda x, w: w * 2, 0),
    "the result itself": (lambda x, w: w.exp(), 0),
    "probabilities and targets": (lambda x, w: F.cross_entropy(w, tg.zeros(10, dtype="int64")), B + 80),
    "positions": (lambda x, w: w[np.array([1, 2])], 16),
    "a mask, which was copied": (lambda x, w: w[np.arange(10) < 3], 10),
    "what was overwritten": (lambda x, w: (w + 1).mul_(w), B),
}  # fmt: skip


@pytest.mark.parametrize("name", KEPT)
def test_what_backward_needs_is_alive_until_then(name: str) -> None:
    program, size = KEPT[name]
    x, w = leaves()
    with Counters() as counted:
        y = program(x, w)
        assert counted.live == size + (y.array.nbytes if y.ndim else 0)
        y.sum().backward()
        del y
    assert counted.live == B  # .grad


def test_the_memory_of_a_recurrent_net_is_that_of_numpy() -> None:
    net, x = tg.nn.LSTM(32, 32), tg.ones(20, 8, 32)
    net(x)  # once before: what is kept for good is there then
    only = tracemalloc.DomainFilter(True, np.lib.tracemalloc_domain)
    tracemalloc.start()
    try:
        with Counters() as counted:
            out = net(x)
        found = sum(trace.size for trace in tracemalloc.take_snapshot().filter_traces([only]).traces)
    finally:
        tracemalloc.stop()
    assert out[0].requires_grad
    assert counted.live == pytest.approx(found, rel=0.02)


def test_owners_at_the_peak() -> None:
    x, w = leaves()
    with Counters() as counted:
        mask = tg.zeros(10, 100)
        y = (w * x).exp()  # backward needs this, but not w * x
        (y * mask).sum().backward()
    assert counted.owners == {"created": B, "activations": B, "gradients": 2 * B, "temporaries": 0}
    assert counted.peak == sum(counted.owners.values())
    assert count(lambda x, w: x + 1).owners == {"created": 0, "activations": 0, "gradients": 0, "temporaries": B}


def test_backward_lets_each_gradient_go_when_the_next_is_there() -> None:
    def program(x: Tensor, w: Tensor) -> None:
        y = w
        for _ in range(8):
            y = y * 2
        y.sum().backward()

    gc.disable()  # a cycle would keep them all
    try:
        counted = count(program)
    finally:
        gc.enable()
    assert (counted.peak, counted.owners["gradients"]) == (3 * B, 2 * B)


def test_the_peak_is_where_most_is_alive_and_stays() -> None:
    def program(x: Tensor, w: Tensor) -> None:
        for _ in range(3):
            a = x + 1
            b = a + 1
            del a, b

    assert told(count(program), "peak allocated live") == {"peak": 2 * B, "allocated": 6 * B, "live": 0}


def test_a_name_lets_its_old_tensor_go_after_the_new_one_is_there() -> None:
    def rebound(x: Tensor, w: Tensor) -> None:
        y = x + 1
        y = y + 1
        y = y + 1

    assert count(rebound).peak == 2 * B
    assert count(lambda x, w: (x + 1).add_(1).add_(1)).peak == B


def test_a_view_keeps_its_buffer_alive() -> None:
    x = tg.ones(10, 100)
    with Counters() as counted:
        small = (x + 1)[0]
        assert counted.live == B
        del small
        assert counted.live == 0


def test_what_ends_after_the_block_is_no_longer_alive() -> None:
    x = tg.ones(1000)
    with Counters() as counted:
        y = x + 1
    facts = counted.facts()
    assert counted.live == B
    del y
    assert counted.live == 0
    assert counted.facts() == facts
    assert "live" not in facts


# Together ------------------------------------------------------------------------------------------------------------


def test_nested_counters_count_what_is_inside_them() -> None:
    x = tg.ones(1000)
    with Counters() as outer:
        x = x + 1
        with Counters() as inner:
            x = x * 2
            tg.zeros(1000)
        x.add_(1)
    assert told(outer, "calls allocated") == {"calls": 3, "allocated": 3 * B}
    assert told(inner, "calls allocated") == {"calls": 1, "allocated": 2 * B}


def test_counters_inside_of_themselves_are_refused() -> None:
    counted = Counters()
    why, mend = "everything inside would count twice", "use a second one: with Counters() as inner:"
    with counted:
        with teaches(ArgumentError, "Counters inside themselves", why, mend, "with counted"), counted:
            raise AssertionError("not reached")
        tg.ones(2) + 1
    assert counted.calls == 1


def test_what_a_function_does_is_one_call_and_not_known_to_be_a_copy() -> None:
    class Square(tg.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:
            ctx.save_for_backward(x)
            return x * x

    assert told(count(lambda x, w: Square.apply(w)), "calls copies allocated nodes") == {
        "calls": 1, "copies": 0, "allocated": B, "nodes": 1,
    }  # fmt: skip


def test_counters_go_on_when_they_are_entered_again() -> None:
    counted, x = Counters(), tg.ones(1000)
    for _ in range(2):
        with counted:
            x + 1
        x + 1
    assert told(counted, "calls allocated peak") == {"calls": 2, "allocated": 2 * B, "peak": B}


def test_only_the_thread_that_entered_is_counted() -> None:
    counted, x = Counters(), tg.ones(1000)
    made: list[Tensor] = []

    def work() -> None:
        made.append(x + 1)

    with counted:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join(60)
    assert len(made) == 1
    assert counted.calls == counted.allocated == 0


def test_each_thread_counts_for_itself() -> None:
    x, gate, found = tg.ones(1000), threading.Barrier(4), {}

    def work(times: int) -> None:
        with Counters() as counted:
            gate.wait(60)
            for _ in range(times):
                x + 1
        found[times] = counted.facts()

    threads = [threading.Thread(target=work, args=(times,)) for times in (10, 20, 30, 40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert {times: (f["calls"], f["allocated"], f["peak"]) for times, f in found.items()} == {
        times: (times, times * B, B) for times in (10, 20, 30, 40)
    }


def test_a_buffer_that_another_thread_lets_go_is_gone() -> None:
    x = tg.ones(1000)
    with Counters() as counted:
        held = [x + 1 for _ in range(50)]
        thread = threading.Thread(target=held.clear)
        thread.start()
        thread.join(60)
        assert counted.live == 0
        y = x + 1
    assert (counted.live, counted.peak) == (B, 50 * B)
    del y


def test_a_far_device_is_counted_as_the_host_is() -> None:
    x = tg.ones(10, 100, device=FAR.name)
    with Counters() as counted:
        y = (x + 1).T
        z = y.contiguous()
        far = tg.zeros(1000, device=FAR.name)
        back = z.to(device="cpu")
    assert told(counted, "calls copies copied allocated live") == {
        "calls": 4, "copies": 2, "copied": 2 * B, "allocated": 4 * B, "live": 4 * B,
    }  # fmt: skip
    del y, z, far, back
    assert counted.live == 0


def test_gradients_on_a_far_device() -> None:
    w = tg.ones(10, 100, device=FAR.name, requires_grad=True)
    with Counters() as counted:
        (w * 2 + w * 3).sum().backward()
    assert told(counted, "calls nodes live") == {"calls": 8, "nodes": 4, "live": B}


# Against the allocator -----------------------------------------------------------------------------------------------

LARGE = 1_000_000  # elements, 4 MB


def chain(x: Tensor) -> Tensor:
    for _ in range(4):
        x = x * 2 + 1
    return x


def in_place(x: Tensor) -> Tensor:
    return (x + 1).mul_(2).add_(3)


def held(x: Tensor) -> list[Tensor]:
    return [x + i for i in range(5)]


def trained(x: Tensor) -> None:
    w = tg.ones(LARGE, requires_grad=True)
    (w * x).exp().sum().backward()


@pytest.mark.parametrize("program", [chain, in_place, held, trained])
def test_the_peak_is_that_of_the_allocator(program: Callable[[Tensor], Any]) -> None:
    x = tg.ones(LARGE)
    program(x)  # what is made only once, such as callers, is there afterwards
    gc.collect()
    tracemalloc.start()
    try:
        with Counters() as counted:
            before, _ = tracemalloc.get_traced_memory()
            tracemalloc.reset_peak()
            result = program(x)
            _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert counted.peak == pytest.approx(peak - before, rel=0.01)
    del result


# Any program ---------------------------------------------------------------------------------------------------------


def backward(kept: list[Tensor]) -> None:
    if kept[-1].requires_grad:
        kept[-1].sum().backward(retain_graph=True)


STEPS: dict[str, Callable[[list[Tensor]], Any]] = {
    "compute": lambda kept: kept.append(kept[-1] * 2),
    "combine": lambda kept: kept.append(kept[0] + kept[-1]),
    "view": lambda kept: kept.append(kept[-1].T.T),
    "copy": lambda kept: kept.append(kept[-1].T.contiguous().T),
    "write": lambda kept: kept[-1].add_(1),
    "write rows": lambda kept: kept[-1][:2].mul_(2),
    "create": lambda kept: kept.append(tg.ones(4, 4)),
    "drop": lambda kept: kept.__delitem__(slice(1, -1)),
    "backward": backward,
}


def play(steps: list[str], tracked: bool) -> list[Any]:
    """The values after these steps, and the gradient."""
    w = tg.arange(16.0).reshape(4, 4).requires_grad_(tracked)
    kept = [w * 1]
    for step in steps:
        STEPS[step](kept)
    return [*(tensor.tolist() for tensor in kept), None if w.grad is None else w.grad.tolist()]


@settings(deadline=None)
@given(st.lists(st.sampled_from(sorted(STEPS)), max_size=12), st.booleans())
def test_any_program_is_counted_alike_and_undisturbed(steps: list[str], tracked: bool) -> None:
    plain = play(steps, tracked)
    with Counters() as first:
        assert play(steps, tracked) == plain
    with Counters() as second:
        play(steps, tracked)
    assert first.facts() == second.facts()
    assert first.owners == second.owners
    assert 0 <= first.live <= first.peak <= first.allocated
    assert sum(first.owners.values()) == first.peak
    assert first.copied <= first.allocated
    assert first.nodes == 0 or tracked
    assert first.live == 0


def test_the_mask_of_dropout_is_counted() -> None:
    x = tg.ones(1000)
    with Counters() as counted:
        tg.nn.functional.dropout(x, 0.5)
    assert counted.owners["created"] == 1000  # bools
