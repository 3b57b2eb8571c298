"""The memory guard as its users meet it: what is locked, for how long, and what they are told."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import pytest

import tinygrad_edu as tg
from tests.guard.held import HELD, held_by_mul, leaf
from tests.support import teaches
from tinygrad_edu import guard
from tinygrad_edu.errors import InplaceError, MemoryGuardError, ShapeError


@contextmanager
def no_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


# The example of MyGrad's guide, in both its versions


def test_guide_without_the_guard_the_gradient_is_silently_wrong() -> None:
    x = np.arange(3.0)
    with guard.off():
        y = tg.ones_like(x, requires_grad=True)
        z = x * y
        x[:] = 0
        z.sum().backward()
    assert y.grad.tolist() == [0.0, 0.0, 0.0]


def test_guide_with_the_guard_the_write_fails_and_the_gradient_is_right() -> None:
    x = np.arange(3.0)
    y = tg.ones_like(x, requires_grad=True)
    z = x * y
    with pytest.raises(ValueError, match="read-only"):
        x[:] = 0
    z.sum().backward()
    assert y.grad.tolist() == [0.0, 1.0, 2.0]
    x[:] = 0
    assert x.tolist() == [0.0, 0.0, 0.0]


# What is locked


def test_only_arrays_that_are_needed_are_locked() -> None:
    a, w = np.ones(3), leaf(3)
    total = a + w  # needs no values for its gradient
    assert a.flags.writeable
    constant = a * tg.ones(3)  # wants no gradient
    assert a.flags.writeable
    product = a * w
    assert not a.flags.writeable
    del total, constant, product


def test_inside_no_grad_nothing_is_locked() -> None:
    a, w = np.ones(3), leaf(3)
    with tg.no_grad():
        kept = a * w
    assert a.flags.writeable
    del kept


def test_an_array_that_is_copied_on_the_way_in_is_free() -> None:
    a, w = np.arange(3), leaf(3)
    kept = a * w  # int64 became float64
    assert a.flags.writeable
    b = np.ones(3)
    also = tg.tensor(b) * w
    assert b.flags.writeable
    del kept, also


def test_the_whole_chain_of_bases_is_locked() -> None:
    class Kept(np.ndarray):
        """A subclass: NumPy keeps views of it in the chain, where it skips plain ones."""

    owner = np.arange(12.0)
    middle = owner.view(Kept)[2:8]
    a = np.asarray(middle.reshape(2, 3))
    chain = [a]
    while chain[-1].base is not None:
        chain.append(chain[-1].base)
    assert len(chain) > 2
    loss = (a * leaf(2, 3)).sum()
    assert [link.flags.writeable for link in chain] == [False] * len(chain)
    with pytest.raises(ValueError, match="read-only"):
        owner[3] = 0
    loss.backward()
    assert [link.flags.writeable for link in chain] == [True] * len(chain)


def test_an_array_over_foreign_memory() -> None:
    memory = bytearray(24)
    a = np.frombuffer(memory)
    loss = (a * leaf(3)).sum()
    assert not a.flags.writeable
    loss.backward()
    a[0] = 1.0
    assert memory[7] != 0


# For how long


def test_released_when_the_loss_goes_without_help_of_the_collector() -> None:
    a = np.ones(3)
    with no_collector():
        loss = (a * leaf(3)).sum()
        assert not a.flags.writeable
        del loss
        assert a.flags.writeable


def test_released_after_a_failed_op() -> None:
    a, w = np.ones(4), leaf(3)
    with no_collector():
        with pytest.raises(ShapeError):
            a * w
        assert a.flags.writeable


def test_a_held_array_stays_held_through_a_failed_op() -> None:
    a, w = np.ones(3), leaf(3)
    loss = (a * w).sum()
    with pytest.raises(ShapeError):
        a * leaf(4)
    assert not a.flags.writeable
    loss.backward()
    assert a.flags.writeable


def test_two_graphs_on_one_array() -> None:
    a, w = np.ones(3), leaf(3)
    first, second = (a * w).sum(), (a * w).sum()
    first.backward()
    assert not a.flags.writeable
    second.backward()
    assert a.flags.writeable


def test_the_same_array_twice_in_one_graph() -> None:
    a = np.arange(3.0)
    x = tg.from_numpy(a).requires_grad_()
    loss = (x * x * a).sum()
    assert not a.flags.writeable
    loss.backward()
    assert a.flags.writeable
    assert x.grad.tolist() == [0.0, 2.0, 8.0]


def test_retain_graph_keeps_the_lock() -> None:
    a, w = np.ones(3), leaf(3)
    loss = (a * w).sum()
    loss.backward(retain_graph=True)
    assert not a.flags.writeable
    loss.backward()
    assert a.flags.writeable


def test_many_nodes_come_and_go_while_one_stays() -> None:
    a, w = np.ones(3), leaf(3)
    stays = a * w
    for _ in range(300):
        a * w
    assert not a.flags.writeable
    assert "more" not in guard.explain(a)  # the dead are not counted
    del stays
    assert a.flags.writeable


# What the user had made read-only


def test_a_read_only_array_stays_read_only() -> None:
    a = np.ones(3)
    a.flags.writeable = False
    (a * leaf(3)).sum().backward()
    assert not a.flags.writeable


def test_a_writable_view_of_a_sealed_owner_becomes_writable_again() -> None:
    """NumPy refuses to unlock a view while its owner is read-only, so the lock must be undone with care."""
    owner = np.arange(6.0)
    a = owner[:3]
    owner.flags.writeable = False
    loss = (a * leaf(3)).sum()
    assert not a.flags.writeable
    loss.backward()
    assert a.flags.writeable
    assert not owner.flags.writeable


# What numpy() hands out


def test_numpy_of_a_buffer_that_is_saved_already() -> None:
    x = tg.tensor([1.0, 2.0, 3.0], dtype="float64")
    loss = (leaf(3) * x).sum()
    a, b = x.numpy(), x.numpy()
    assert not a.flags.writeable
    assert not b.flags.writeable
    assert HELD in guard.explain(a)
    loss.backward()
    assert a.flags.writeable
    assert b.flags.writeable
    a[0] = 5.0
    assert x.tolist() == [5.0, 2.0, 3.0]


def test_numpy_of_a_saved_result() -> None:
    y = leaf(3).exp()
    a = y.detach().numpy()
    assert not a.flags.writeable
    assert "exp saved it" in guard.explain(a)
    y.sum().backward()
    assert a.flags.writeable


def test_numpy_before_the_save() -> None:
    x = tg.tensor([1.0, 2.0, 3.0], dtype="float64")
    a = x.numpy()
    loss = (leaf(3) * x).sum()
    assert not a.flags.writeable
    loss.backward()
    assert a.flags.writeable


def test_numpy_of_an_unsaved_buffer_is_writable() -> None:
    x = tg.zeros(3)
    x.numpy()[0] = 1.0
    assert x.tolist() == [1.0, 0.0, 0.0]


def test_the_tensor_itself_is_written_by_its_own_rules() -> None:
    """The lock is for NumPy. A tensor's write is seen by version counting, and backward refuses."""
    a = np.ones(3)
    x = tg.from_numpy(a)
    loss = (x * leaf(3)).sum()
    x.add_(1)
    assert a.tolist() == [2.0, 2.0, 2.0]
    with pytest.raises(InplaceError):
        loss.backward()


# The holes that are known


def test_hole_a_view_taken_before_the_lock_still_writes() -> None:
    a = np.ones(3)
    view, w = a[:2], leaf(3)
    loss = (a * w).sum()
    view[:] = 0
    loss.backward()
    assert w.grad.tolist() == [0.0, 0.0, 1.0]  # wrong, and level verify says so


@pytest.mark.parametrize("ufunc", [np.add, np.multiply, np.negative])
def test_hole_the_at_of_a_ufunc_writes_to_read_only_arrays(ufunc: np.ufunc) -> None:
    a, w = np.ones(3), leaf(3)
    numbers = ([7.0],) if ufunc.nin == 2 else ()
    loss = (a * w).sum()
    ufunc.at(a, [0], *numbers)
    loss.backward()
    assert w.grad.tolist() == a.tolist() != [1.0, 1.0, 1.0]  # wrong, and level verify says so
    with guard.verify():
        loss = (a * w).sum()
    ufunc.at(a, [1], *numbers)
    with teaches(MemoryGuardError, *CHANGED, line="loss = (a * w).sum()"):
        loss.backward()


def test_hole_two_arrays_over_one_buffer() -> None:
    memory = bytearray(24)
    a, same, w = np.frombuffer(memory), np.frombuffer(memory), leaf(3)
    loss = (a * w).sum()
    assert (a.flags.writeable, same.flags.writeable) == (False, True)
    del loss


def test_hole_a_view_taken_while_locked_stays_read_only() -> None:
    a = np.ones(3)
    loss = (a * leaf(3)).sum()
    view = a[:2]
    loss.backward()
    assert a.flags.writeable
    assert not view.flags.writeable
    assert guard.explain(view) == (
        "array (2,) float64: no operation holds it, yet it is read-only: it was made so elsewhere, "
        "or is a view taken while its base was locked (take the view again)"
    )
    assert a[:2].flags.writeable


# Scopes, decorator, switch


def test_scopes_nest() -> None:
    a, w = np.ones(3), leaf(3)
    with guard.off():
        free = a * w
        assert not guard.is_on()
        with guard.on():
            assert guard.is_on()
            assert a.flags.writeable
            held = a * w
            assert not a.flags.writeable
        assert not guard.is_on()
        assert not a.flags.writeable  # the node, not the scope, keeps the lock
    del held
    assert a.flags.writeable
    del free


def test_one_verify_scope_entered_twice() -> None:
    level = guard.verify()
    a, w = np.ones(3), leaf(3)
    view = a[:1]
    with pytest.raises(MemoryGuardError), level:
        loss = (a * w).sum()
        with level:
            view[0] = 5.0
    del loss


def test_the_global_switch() -> None:
    a, w = np.ones(3), leaf(3)
    guard.turn_off()
    try:
        assert not guard.is_on()
        free = a * w
        assert a.flags.writeable
        with guard.on():
            held = a * w
            assert not a.flags.writeable
        del held
        assert a.flags.writeable
    finally:
        guard.turn_on()
    assert guard.is_on()
    del free


def test_decorator_in_threads() -> None:
    inside = threading.Barrier(2, timeout=10)
    seen: list[tuple[str, bool]] = []

    def work(name: str, level: Callable[..., object]) -> None:
        array, w = np.ones(3), leaf(3)

        def body() -> None:
            inside.wait()
            kept = array * w
            seen.append((name, array.flags.writeable))
            inside.wait()
            del kept

        level(body)()

    threads = [threading.Thread(target=work, args=args) for args in (("on", guard.on()), ("off", guard.off()))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(seen) == [("off", True), ("on", False)]


def test_decorator_explains_a_refused_write() -> None:
    @guard.on()
    def step(a: np.ndarray, w: tg.Tensor) -> None:
        loss = (a * w).sum()
        a[0] = 1
        loss.backward()

    with held_by_mul():
        step(np.ones(3), leaf(3))


# MemoryGuardError: every way of writing


class Holder:
    """Something with an array in an attribute."""

    def __init__(self) -> None:
        self.x = np.ones(3)
        self.rows = {"train": [np.ones(3)]}


def test_item_assignment() -> None:
    a, w = np.ones(3), leaf(3)
    with held_by_mul(line="kept = a * w"), guard.on():
        kept = a * w  # noqa: F841
        a[0] = 1


def test_the_cause_is_numpys_error() -> None:
    a, w = np.ones(3), leaf(3)
    with pytest.raises(MemoryGuardError) as caught, guard.on():
        kept = a * w  # noqa: F841
        a[0] = 1
    assert str(caught.value.__cause__) == "assignment destination is read-only"
    assert isinstance(caught.value, ValueError)


def test_augmented_assignment() -> None:
    a, w = np.ones(3), leaf(3)
    with held_by_mul(), guard.on():
        kept = a * w  # noqa: F841
        a += 1


def test_out_argument() -> None:
    a, w = np.ones(3), leaf(3)
    with held_by_mul(), guard.on():
        kept = a * w  # noqa: F841
        np.add(np.ones(3), 1, out=a)


@pytest.mark.parametrize(
    "write", [lambda a: a.sort(), lambda a: a.fill(0), lambda a: np.copyto(a, 0), lambda a: np.put(a, 0, 0),
              lambda a: a[1:].fill(0), lambda a: np.random.default_rng(0).shuffle(a)],
    ids=["sort", "fill", "copyto", "put", "view", "shuffle"],
)  # fmt: skip
def test_other_ways_to_write(write: Callable[[np.ndarray], object]) -> None:
    a, w = np.ones(3), leaf(3)
    with held_by_mul(), guard.on():
        kept = a * w  # noqa: F841
        write(a)


def test_attribute_targets() -> None:
    this, w = Holder(), leaf(3)
    with held_by_mul(line="this.x * w"), guard.on():
        kept = this.x * w  # noqa: F841
        this.x[0] = 1


def test_targets_in_containers() -> None:
    this, w, key = Holder(), leaf(3), "train"
    kept = this.rows["train"][0] * w
    with held_by_mul(line="kept ="), guard.on():
        this.rows["train"][0][0] = 1
    with held_by_mul(line="kept ="), guard.on():
        this.rows[key][-1][1:] = 1
    del kept


def test_a_statement_over_several_lines_among_others() -> None:
    a, b, w = np.ones(3), np.zeros(3), leaf(3)
    b.flags.writeable = False
    with held_by_mul(), guard.on():
        kept = a * w  # noqa: F841
        b.sum(); a[  # noqa: E702
            0
        ] = b[0]  # fmt: skip


def test_an_array_that_the_user_made_read_only_is_not_blamed_on_an_op() -> None:
    a, mine, w = np.ones(3), np.ones(3), leaf(3)
    mine.flags.writeable = False
    with pytest.raises(ValueError, match="read-only") as caught, guard.on():
        kept = a * w  # noqa: F841
        mine[0] = 1
    assert not isinstance(caught.value, MemoryGuardError)


def test_other_errors_pass() -> None:
    for error in (ValueError("mine"), KeyError("read-only")):
        with pytest.raises(type(error)) as caught, guard.on():
            raise error
        assert caught.value is error


def test_outside_a_scope_numpy_speaks() -> None:
    a = np.ones(3)
    kept = a * leaf(3)
    with pytest.raises(ValueError, match=r"^assignment destination is read-only$") as caught:
        a[0] = 1
    assert type(caught.value) is ValueError
    del kept


# Level verify

CHANGED = (
    "backward through mul, which saved an array (3,) float64",
    "its values have changed since, past the lock: through a view that was taken before it, after flags.writeable was "
    "set by hand, or by np.add.at (any ufunc's at), which writes to read-only arrays",
    "write to a copy, or after backward()",
)


def test_verify_finds_the_write_at_backward() -> None:
    a, w = np.ones(3), leaf(3)
    view = a[:2]
    with guard.verify():
        loss = (a * w).sum()
    view[:] = 0
    with teaches(MemoryGuardError, *CHANGED, line="loss = (a * w).sum()"):
        loss.backward()
    assert w.grad is None


def test_verify_finds_the_write_on_leaving_the_scope() -> None:
    a, w = np.ones(3), leaf(3)
    view = a[:2]
    with teaches(MemoryGuardError, *CHANGED, line="loss = (a * w).sum()"), guard.verify():
        loss = (a * w).sum()  # noqa: F841
        view[:] = 0


def test_verify_finds_a_write_to_a_forced_array() -> None:
    a, w = np.ones(3), leaf(3)
    with teaches(MemoryGuardError, *CHANGED), guard.verify():
        loss = (a * w).sum()  # noqa: F841
        a.flags.writeable = True
        a[0] = 7


def test_verify_also_locks() -> None:
    a, w = np.ones(3), leaf(3)
    with held_by_mul(), guard.verify():
        kept = a * w  # noqa: F841
        a[0] = 1


def test_verify_is_content_with_correct_code() -> None:
    a, w = np.ones(3), leaf(3)
    with guard.verify():
        loss = (a * w).sum()
        loss.backward()
        a[0] = 7  # allowed: backward is done
        unfinished = (a * w).exp().sum()
    assert w.grad.tolist() == [1.0, 1.0, 1.0]
    del unfinished


def test_verify_looks_only_at_its_own_graphs() -> None:
    a, w = np.ones(3), leaf(3)
    view = a[:1]
    with guard.verify():
        before = (a * w).sum()
    view[0] = 5
    with guard.verify():
        after = (a * w).sum()
    del before, after


def test_verify_leaves_tensor_writes_to_version_counting() -> None:
    w = leaf(3)
    with guard.verify():
        loss = (w * w).sum()
        with tg.no_grad():
            w.add_(1)  # no fault as long as nobody calls backward
    with pytest.raises(InplaceError):
        loss.backward()


def test_an_error_on_the_way_out_is_not_replaced() -> None:
    a, w = np.ones(3), leaf(3)
    view = a[:2]
    with pytest.raises(KeyError), guard.verify():
        loss = (a * w).sum()  # noqa: F841
        view[:] = 0
        raise KeyError
