"""The graph and the walk back: order, memory, accumulation, threads, higher derivatives."""

from __future__ import annotations

import contextlib
import gc
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tests.support import run_python, teaches
from tinygrad_edu.common.lines import describe_line, resolve_line
from tinygrad_edu.core import storage
from tinygrad_edu.core.graph import Leaf, Node, unbroadcast
from tinygrad_edu.core.slow import Interceptor
from tinygrad_edu.errors import AutogradError, InplaceError

XP = tg.backends.CPU.xp


def leaf(*values: float) -> tg.Tensor:
    return tg.tensor(list(values), requires_grad=True)


@pytest.fixture
def no_collector() -> Iterator[None]:
    """Memory must be freed by reference counts alone."""
    gc.collect()
    gc.disable()
    yield
    found = gc.collect()
    gc.enable()
    assert found == 0, "the test made reference cycles"


# Shape and order ------------------------------------------------------------------------------------------------------


def test_a_node_is_numbered_after_its_parents() -> None:
    x, w = leaf(1.0), leaf(2.0)
    y = x * w
    z = (y + x).exp()
    assert x.node.number == w.node.number == 0
    assert 1 <= y.node.number < z.node.parents[0].number < z.node.number
    assert z.node.parents[0].parents == (y.node, x.node)
    assert repr(z.node) == "<exp>"
    assert repr(x.node) == "<leaf>"


def test_constants_are_no_parents() -> None:
    x = leaf(1.0)
    assert (x * tg.ones(1)).node.parents == (x.node, None)
    assert (2.0 - x).node.parents == (None, x.node)


def test_a_deep_chain_needs_no_recursion() -> None:
    x = leaf(1.0)
    y = x
    for _ in range(100_000):
        y = y + 1
    y.sum().backward()
    assert x.grad.tolist() == [1.0]
    for _ in range(100_000):
        y = y + 1
    del y  # nor does letting it go


def test_a_wide_graph_takes_linear_time() -> None:
    """Eight times the nodes may take at most 24 times as long; a queue that is sorted at each push takes 64."""

    def run(width: int) -> float:
        x = leaf(1.0)
        start = time.thread_time()
        total = sum((x * float(i) for i in range(width)), x * 0)
        total.sum().backward()
        assert x.grad.tolist() == [sum(range(width))]
        return time.thread_time() - start

    gc.disable()
    try:
        pairs = [(run(625), run(5000)) for _ in range(5)]
        narrow, wide = map(min, zip(*pairs, strict=True))
        assert wide < 24 * narrow
    finally:
        gc.enable()


def test_each_node_is_visited_once_whatever_the_paths() -> None:
    """Sixty diamonds in a row have 2 ** 60 paths."""
    x = leaf(1.0)
    y = x
    for _ in range(60):
        y = y * 0.5 + y * 0.5
    y.sum().backward()
    assert x.grad.tolist() == [1.0]


# Memory ---------------------------------------------------------------------------------------------------------------


def test_arrays_are_freed_as_backward_goes(no_collector: None) -> None:
    x = tg.ones(3, requires_grad=True)
    y = x.exp()
    saved = weakref.ref(y.array)
    z = y.sum()
    del y
    assert saved() is not None
    z.backward()
    assert saved() is None


def test_a_graph_goes_with_its_last_name(no_collector: None) -> None:
    x = tg.ones(3, requires_grad=True)
    y = (x * 2).exp()
    z = y.sum()
    watched = [weakref.ref(one) for one in (y, y.array, y.node, z.node, z.node.parents[0].parents[0])]
    del y, z
    assert [one() for one in watched] == [None] * 5


def test_a_graph_does_not_keep_its_leaves(no_collector: None) -> None:
    x = tg.ones(3, requires_grad=True)
    z = (x + 1).sum()
    watched = weakref.ref(x), weakref.ref(x.array)
    del x
    assert [one() for one in watched] == [None, None]
    z.backward()  # the gradient has nowhere to go, and that is no error


def test_what_an_op_does_not_save_is_not_kept(no_collector: None) -> None:
    x = tg.ones(3, requires_grad=True)
    y = x * 2
    array = weakref.ref(y.array)
    z = y + 1
    del y
    assert array() is None
    del z


@pytest.mark.parametrize("how", ["create_graph", "views", "hooks", "failure"])
def test_no_cycles(how: str, no_collector: None) -> None:
    x = tg.ones(3, requires_grad=True)
    if how == "create_graph":
        (x * x * x).sum().backward(create_graph=True)
        x.grad.sum().backward()
    elif how == "views":
        y = x * 1
        view = y[0]
        view.mul_(2)
        y.add_(1)
        (view + y.sum()).backward()
        del y, view
    elif how == "hooks":
        y = x * 2
        y.retain_grad()
        y.register_hook(lambda g: g)
        x.register_hook(lambda g: None)
        y.sum().backward()
        del y
    else:
        with contextlib.suppress(tg.errors.ShapeError):
            x @ tg.ones(2)
    watched = weakref.ref(x), weakref.ref(x.node)
    del x
    assert [one() for one in watched] == [None, None]


# Twice --------------------------------------------------------------------------------------------------------------


def test_a_freed_graph_says_so() -> None:
    x = leaf(1.0, 2.0)
    y = x * x
    z = y.sum()
    z.backward()
    with teaches(
        AutogradError,
        "backward through mul",
        "the arrays it saved were freed by an earlier backward()",
        "compute the loss again, and detach() what an earlier step left behind (h = h.detach()); to go through one "
        "graph twice, call the first backward(retain_graph=True)",
        line="y = x * x",
    ):
        z.backward()
    with pytest.raises(AutogradError, match="backward through mul"):
        y.sum().backward()


def test_a_graph_that_saved_no_arrays_can_be_walked_again() -> None:
    """Shapes, sizes and slices are not freed, as in PyTorch; positions are."""
    x = leaf(1.0, 2.0)
    y = (x + x)[:1].reshape(()).expand(3).sum()
    y.backward()
    y.backward()
    assert x.grad.tolist() == [12.0, 0.0]
    z = x[tg.tensor([0])].sum()
    z.backward()
    with pytest.raises(AutogradError, match="backward through getitem"):
        z.backward()


def test_a_graph_that_saved_nothing_can_be_walked_again() -> None:
    x = leaf(1.0)
    y = x + x
    y.backward(tg.ones(1))
    y.backward(tg.ones(1))
    assert x.grad.tolist() == [4.0]


def test_retain_graph() -> None:
    x = leaf(1.0, 2.0)
    z = (x * x).sum()
    z.backward(retain_graph=True)
    z.backward()
    assert x.grad.tolist() == [4.0, 8.0]


def test_gradients_accumulate_over_calls_and_graphs() -> None:
    x = leaf(1.0, 2.0)
    for _ in range(3):
        (x * 2).sum().backward()
    assert x.grad.tolist() == [6.0, 6.0]
    x.grad = None
    (x * 5).sum().backward()
    assert x.grad.tolist() == [5.0, 5.0]


def test_a_shared_part_of_two_graphs() -> None:
    x = leaf(2.0)
    shared = x * 3
    (shared + 1).sum().backward(retain_graph=True)
    (shared + 2).sum().backward()
    assert x.grad.tolist() == [6.0]


# Whose memory ---------------------------------------------------------------------------------------------------------

SHARING: dict[str, Callable[[Any, Any], Any]] = {
    "add gives both the same": lambda x, y: x + y,
    "sum gives a view": lambda x, y: x.sum() + y.sum(),
    "clone gives what it was given": lambda x, y: x.clone() + y.reshape(2, 2).reshape(4),
    "twice the same leaf": lambda x, y: x + x + y,
}


@pytest.mark.parametrize("build", SHARING.values(), ids=SHARING)
def test_gradients_of_leaves_own_their_memory(build: Callable[[Any, Any], Any]) -> None:
    x, y, given = tg.ones(4, requires_grad=True), tg.ones(4, requires_grad=True), tg.ones(4)
    out = build(x, y)
    given = tg.ones(out.shape)
    out.backward(given)
    arrays = [x.grad.array, y.grad.array, given.array, x.array, y.array]
    for i, a in enumerate(arrays):
        assert a.base is None
        assert a.flags.writeable
        assert not any(np.shares_memory(a, b) for b in arrays[i + 1 :])


def test_gradients_share_nothing_with_saved_arrays() -> None:
    x, y = tg.ones(4, requires_grad=True), tg.full((4,), 2.0, requires_grad=True)
    out = (x * y).sum()
    out.backward(retain_graph=True)
    saved = [value for value in out.node.parents[0].saved if isinstance(value, np.ndarray)]
    assert len(saved) == 2
    x.grad.zero_()  # would spoil the second walk, did it share
    out.backward()
    assert x.grad.tolist() == [2.0] * 4
    assert y.grad.tolist() == [2.0] * 4


def test_a_second_backward_adds_to_the_first_gradient_in_place() -> None:
    """As in PyTorch: another name for ``.grad`` sees it grow. A recorded gradient is a new tensor each time."""
    x = leaf(1.0)
    (x * 2).sum().backward()
    first = x.grad
    (x * 2).sum().backward()
    assert x.grad is first
    assert first.tolist() == [4.0]
    (x * x).sum().backward(create_graph=True)
    assert x.grad is not first
    assert (first.tolist(), x.grad.tolist()) == ([4.0], [6.0])


KEEPERS: dict[str, Callable[[Any, list[Any]], Any]] = {
    "a hook that keeps the gradient": lambda w, kept: w.register_hook(kept.append),
    "a hook that hands out its own buffer": lambda w, kept: (
        kept.append(tg.ones(2)), w.register_hook(lambda g: kept[0])
    ),
}  # fmt: skip


@pytest.mark.parametrize("keep", KEEPERS.values(), ids=KEEPERS)
def test_a_gradient_that_somebody_has_is_not_added_to(keep: Callable[[Any, list[Any]], Any]) -> None:
    w, kept = leaf(1.0, 2.0), []
    keep(w, kept)
    for _ in range(3):
        (w * 1.0).sum().backward()
    assert kept[0].tolist() == [1.0, 1.0]
    assert w.grad.tolist() == [3.0, 3.0]


def test_a_gradient_that_a_function_has_is_not_added_to() -> None:
    class Scaled(tg.autograd.Function):
        @staticmethod
        def forward(ctx: Any, w: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return (w * x).sum()

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return ctx.saved_tensors[0], None

    w, x = leaf(0.0, 0.0), tg.tensor([1.0, 2.0])
    for _ in range(3):
        Scaled.apply(w, x).backward()
    assert (w.grad.tolist(), x.tolist()) == ([3.0, 6.0], [1.0, 2.0])


def test_grad_leaves_what_lies_below_alone() -> None:
    """The graph under the input is neither walked nor freed, so that it can be walked afterwards."""
    x, w = leaf(1.0, 2.0), leaf(3.0, 3.0)
    seen: list[Any] = []
    below = x * x
    below.register_hook(lambda g: seen.append(g.tolist()))
    h = below * 1.0
    y = (h * h).sum() + (w * w).sum()
    (gh,) = tg.autograd.grad(y, h)
    assert (gh.tolist(), seen) == ([2.0, 8.0], [])
    h.backward(gh)
    assert x.grad.tolist() == [4.0, 32.0]


def test_the_clock_of_writes_does_not_run_backwards() -> None:
    """Or a write of one thread could hide another's from backward."""
    writers = [tg.zeros(1) for _ in range(4)]

    def write(z: Any) -> None:
        for _ in range(2000):
            z.add_(1.0)
            assert storage.clock.last_write >= z.storage.stamp

    threads = [threading.Thread(target=write, args=(z,)) for z in writers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert storage.clock.last_write == max(z.storage.stamp for z in writers)


# Threads --------------------------------------------------------------------------------------------------------------


def test_two_threads_share_a_leaf() -> None:
    w = tg.ones(50, requires_grad=True)
    together = threading.Barrier(4, timeout=20)
    errors: list[BaseException] = []

    def work(factor: float) -> None:
        try:
            for _ in range(25):
                loss = (w * factor).sum()
                together.wait()
                loss.backward()
        except BaseException as error:
            errors.append(error)
            raise

    threads = [threading.Thread(target=work, args=(factor,)) for factor in (1.0, 2.0, 4.0, 8.0)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert w.grad.tolist() == [25 * 15.0] * 50


def test_two_threads_on_one_retained_graph() -> None:
    w = tg.ones(3, requires_grad=True)
    loss = ((w * 2).exp() * w).sum()
    expected = tg.autograd.grad(loss, w, retain_graph=True)[0].tolist()
    together = threading.Barrier(2, timeout=20)

    def work() -> None:
        for _ in range(20):
            together.wait()
            loss.backward(retain_graph=True)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    np.testing.assert_allclose(w.grad.tolist(), [40 * one for one in expected], rtol=1e-4)


# Derivatives of derivatives -----------------------------------------------------------------------------------------


def test_create_graph_to_the_third_order() -> None:
    x = tg.tensor(3.0, requires_grad=True)
    values = [x**4]
    for _ in range(3):
        values += tg.autograd.grad(values[-1], x, create_graph=True)
    assert [value.item() for value in values] == [81.0, 108.0, 108.0, 72.0]


def test_backward_with_create_graph_gives_a_recorded_grad() -> None:
    x = leaf(2.0)
    (x * x * x).sum().backward(create_graph=True)
    assert x.grad.requires_grad
    first, x.grad = x.grad, None
    first.sum().backward()
    assert (first.tolist(), x.grad.tolist()) == ([12.0], [12.0])


def test_without_create_graph_nothing_is_recorded() -> None:
    x = leaf(2.0)
    y = x * x
    y.backward(tg.ones(1))
    assert not x.grad.requires_grad
    assert tg.is_grad_enabled()


def test_a_recorded_gradient_seen_through_a_given_one() -> None:
    """d/dw of w * dy/dx."""
    x, w = leaf(3.0), leaf(5.0)
    (slope,) = tg.autograd.grad(x * x, x, w, create_graph=True)
    (by_weight,) = tg.autograd.grad(slope, w)
    assert (slope.tolist(), by_weight.tolist()) == ([30.0], [6.0])


# Parts --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "to"),
    [
        ((2, 3), (3,)),
        ((2, 3), (1, 3)),
        ((2, 3), (2, 1)),
        ((2, 3), ()),
        ((4, 2, 3), (2, 1)),
        ((2, 3), (2, 3)),
        ((0, 3), (3,)),
    ],
)
def test_unbroadcast_is_the_adjoint_of_broadcasting(shape: tuple[int, ...], to: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    g, x = rng.normal(size=shape), rng.normal(size=to)
    back = unbroadcast(XP, g, to)
    assert back.shape == to
    np.testing.assert_allclose((back * x).sum(), (g * np.broadcast_to(x, shape)).sum())


def test_lines_are_resolved_when_asked_for() -> None:
    y = leaf(1.0) * 2
    file, row = resolve_line(y.node.line) or ("", 0)
    assert describe_line(y.node.line) == f"test_graph.py, line {row}: y = leaf(1.0) * 2"
    assert file == __file__
    assert resolve_line(None) is None
    assert describe_line(None) == ""
    code = compile("1\n2\n", "<cell>", "exec")
    assert describe_line((code, 0)).startswith("this cell, line ")


IN_A_NOTEBOOK = r"""
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
shell.run_cell("from tinygrad_edu.common.lines import *\ndef f():\n    return user_line()", store_history=True)
shell.run_cell("print(describe_line(f()), describe_line(user_line()))", store_history=True)
"""


def test_a_line_of_a_notebook_names_its_cell() -> None:
    """As IPython does: a function is often called from another cell than its own."""
    done = run_python(IN_A_NOTEBOOK)
    assert "cell In[1], line 3: return user_line() cell In[2], line 1: print(" in done.stdout, done.stderr


def test_leaves_and_nodes() -> None:
    x = leaf(1.0)
    assert isinstance(x.node, Leaf)
    assert x.node.tensor() is x
    assert (x.node.op, x.node.parents, x.node.saved) == (None, (), ())
    assert type((x * 2).node) is Node


# The short walk and the long one ------------------------------------------------------------------------------------


def random_graph(rng: np.random.Generator) -> tuple[list[tg.Tensor], tg.Tensor]:
    """A few leaves, and a loss over operations that broadcast, share operands, and part and meet again."""
    leaves = [leaf(*rng.normal(size=3)), leaf(*rng.normal(size=3)), leaf(rng.normal())]
    pool: list[tg.Tensor] = list(leaves)
    for _ in range(rng.integers(3, 15)):
        x, y = (pool[i] for i in rng.integers(0, len(pool), 2))
        pool.append([x * y, x + y, x - y, x.tanh(), y.tanh().exp(), x * 2.0, (x * y).sum()][rng.integers(0, 7)])
    loss = pool[-1].sum()
    for x in pool[:-1:2]:
        loss = loss + x.sum() * 0.5
    return leaves, loss


class Passive(Interceptor):
    """Watches, and does nothing: backward then takes the long walk."""

    keeps = False


@pytest.mark.parametrize("seed", range(40))
def test_both_walks_give_the_same(seed: int) -> None:
    """Gradients to the last bit, and what is freed."""
    found = []
    for long in (False, True):
        leaves, loss = random_graph(np.random.default_rng(seed))
        nodes, todo = [], [loss.node]
        while todo:
            node = todo.pop()
            nodes.append(node)
            todo += [parent for parent in node.parents if parent is not None and parent.number]
        with Passive() if long else contextlib.nullcontext():
            loss.backward()
        freed = [node.saved is None or not node.op.frees for node in nodes]  # shapes may stay
        found.append(([None if x.grad is None else x.grad.tolist() for x in leaves], freed))
    assert found[0] == found[1]
    assert all(found[0][1])


def test_a_gradient_is_added_in_place_only_if_nobody_can_tell() -> None:
    """A write to .grad is noted as soon as anybody else holds its memory: a node, a view, an array."""
    w = leaf(1.0, 2.0)
    for _ in range(2):
        (w * 2).sum().backward()
    assert w.grad is not None
    assert (w.grad.tolist(), w.grad.storage) == ([4.0, 4.0], None)
    first = w.grad
    y = w.grad * leaf(1.0, 1.0)  # saves the gradient
    (w * 2).sum().backward()
    assert w.grad is first
    assert w.grad.tolist() == [6.0, 6.0]
    with pytest.raises(InplaceError):
        y.sum().backward()
    view = w.grad[:1]
    (w * 2).sum().backward()
    assert view.tolist() == [8.0]


def test_a_gradient_in_borrowed_memory_is_written_with_a_note() -> None:
    """``.grad`` may be a view: nobody else has that array, and yet others see, and save, the memory."""
    w, v, flat = leaf(1.0, 2.0), leaf(1.0, 1.0, 1.0), tg.zeros(3)
    w.grad = flat[:2].detach()
    y = flat * v  # saves all of it
    (w * 2).sum().backward()
    assert flat.tolist() == [2.0, 2.0, 0.0]
    with pytest.raises(InplaceError):
        y.sum().backward()
