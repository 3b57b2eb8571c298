"""From a call to a result: generated callers, the slow path, modes and interceptors."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tests.support import teaches
from tinygrad_edu.common.lines import own, resolve_line, user_line
from tinygrad_edu.core import dispatch
from tinygrad_edu.core import slow as slow_path
from tinygrad_edu.core.dispatch import write_caller
from tinygrad_edu.core.graph import Node
from tinygrad_edu.core.op import OPS
from tinygrad_edu.core.slow import Call, Interceptor
from tinygrad_edu.errors import DtypeError
from tinygrad_edu.ops import into
from tinygrad_edu.settings import modes, scoped

# Generated callers -------------------------------------------------------------------------------------------------

MUL = """\
def mul(input, other):
    # generated for tinygrad_edu.ops.arithmetic.Mul
    m = modes()
    if not m.plain: return slow(op, (input, other,), dict())
    if type(input) is Tensor:
        input_a = input.array; input_n = input.node; d = input_a.dtype; exact = True
    elif type(input) in SCALARS and type(other) is Tensor: input_a = input; input_n = None; \
d = other.array.dtype; exact = False
    else: return slow(op, (input, other,), dict())
    if type(other) is Tensor:
        other_a = other.array; other_n = other.node
        if other_a.dtype is not d: return slow(op, (input, other,), dict())
    elif type(other) in SCALARS: other_a = other; other_n = None; exact = False
    else: return slow(op, (input, other,), dict())
"""


def test_the_source_is_kept_for_learners() -> None:
    assert OPS["mul"].source.startswith(MUL)
    assert OPS["mul"].source == write_caller(OPS["mul"])


def test_callers_look_like_functions() -> None:
    assert (tg.exp.__name__, tg.exp.__doc__) == ("exp", "The exponential function: e to the power of x.")
    assert tg.exp.__module__ == "tinygrad_edu.ops.unary"
    assert tg.where.__name__ == "where"


@pytest.fixture
def slow_calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the ops that take the slow path during the test."""
    calls: list[str] = []
    original = slow_path._signature

    def signature(op: Any, *given: Any) -> Any:
        calls.append(op.name)
        return original(op, *given)

    monkeypatch.setattr(slow_path, "_signature", signature)
    return calls


FAST: dict[str, Callable[[Any, Any], Any]] = {
    "two tensors": lambda x, w: x * w,
    "number on the right": lambda x, w: w * 2.0,
    "number on the left": lambda x, w: 2.0 - w,
    "an int": lambda x, w: w * 2,
    "one operand": lambda x, w: w.exp(),
    "broadcast": lambda x, w: w * x[0],
    "reduction": lambda x, w: w.sum(dim=0),
    "view": lambda x, w: w[1:].T.reshape(-1),
    "product": lambda x, w: w @ x.T,
}


@pytest.mark.parametrize("call", FAST.values(), ids=FAST)
def test_the_usual_case_takes_the_fast_path(call: Callable[..., Any], slow_calls: list[str]) -> None:
    call(tg.ones(2, 3), tg.ones(2, 3, requires_grad=True))
    assert slow_calls == []


OUT: dict[str, Callable[[Any, Any], Any]] = {
    "two tensors": lambda x, out: tg.mul(x, x, out=out),
    "number on the right": lambda x, out: tg.mul(x, 2.0, out=out),
    "number on the left": lambda x, out: tg.mul(2.0, x, out=out),
    "one operand": lambda x, out: tg.exp(x, out=out),
    "into an operand": lambda x, out: tg.mul(x, out, out=out),
}


@pytest.mark.parametrize("call", OUT.values(), ids=OUT)
def test_out_takes_a_short_way_that_leads_to_the_same(
    call: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    results = []
    for short in (True, False):
        x, out = tg.rand(2, 3, generator=tg.Generator().manual_seed(1)), tg.ones(2, 3)
        view = out[0]  # so that there is a storage, as from the second call on
        before = out.storage.stamp
        with monkeypatch.context() as patch, scoped(guard="on" if short else "verify"):
            if short:
                patch.setattr(into, "write", lambda *a: pytest.fail("the long way"))
                patch.setattr(into, "write_plainly", lambda *a: pytest.fail("the longer way"))
                for op in OPS.values():
                    patch.setattr(op, "forward", staticmethod(lambda *a, **k: pytest.fail("a temporary was made")))
            assert call(x, out) is out
        assert out.storage.stamp > before
        results.append((out.tolist(), view.tolist(), out.storage.writer[0], resolve_line(out.storage.writer[1])[1]))
    assert results[0] == results[1]


UNUSUAL: dict[str, Callable[[Any, Any], Any]] = {
    "other dtype": lambda x, w: w * x.double(),
    "an array": lambda x, w: w * np.ones((2, 3)),
    "a list": lambda x, w: w * [1.0, 2.0, 3.0],
    "other device": lambda x, w: x.to("far") * 2.0,
    "a bool": lambda x, w: w * True,
    "an int that meets a float": lambda x, w: tg.arange(3) * 2.5,
}


@pytest.mark.parametrize("call", UNUSUAL.values(), ids=UNUSUAL)
def test_the_unusual_case_takes_the_slow_path(call: Callable[..., Any], slow_calls: list[str]) -> None:
    call(tg.ones(2, 3), tg.ones(2, 3, requires_grad=True))
    assert slow_calls


@pytest.mark.parametrize("call", FAST.values(), ids=FAST)
def test_both_paths_give_the_same(call: Callable[..., Any]) -> None:
    """Value, dtype, node, what the node saved: nobody can tell which way a result came."""
    results = []
    for observers in ((), (Interceptor(),)):
        x, w = tg.ones(2, 3) * 3, tg.ones(2, 3, requires_grad=True)
        with scoped(observers=observers):
            results.append(call(x, w))
    fast, slow = results
    assert (fast.tolist(), fast.dtype, fast.requires_grad) == (slow.tolist(), slow.dtype, slow.requires_grad)
    assert type(fast) is type(slow)
    a, b = fast.node, slow.node
    if a is not None:
        assert (a.op, a.shapes, a.scope) == (b.op, b.shapes, b.scope)
        assert len(a.parents) == len(b.parents)
        assert [np.shape(value) for value in a.saved] == [np.shape(value) for value in b.saved]
        assert resolve_line(a.line) == resolve_line(b.line)


def test_what_decides_how_operands_meet_is_told_apart() -> None:
    """It is worked out once and looked up from then on: by dtype, axes, kind of number, table and default."""
    x, ints = tg.ones(2), tg.ones(2, dtype="int64")
    for _ in range(2):  # worked out, and looked up
        found = [
            x * tg.ones(2, dtype="float64"), x * tg.ones((), dtype="float64"), ints * tg.ones((), dtype="int8"),
            ints * 2, ints * 2.5, ints * True, x * np.float64(2),
        ]  # fmt: skip
        assert [y.dtype.name for y in found] == [
            "float64", "float32", "int64", "int64", "float32", "int64", "float32"
        ]  # fmt: skip
        with scoped(promotion="numpy"):
            assert (x * tg.ones((), dtype="float64")).dtype.name == "float64"
            assert (ints * 2.5).dtype.name == "float64"
        with scoped(dtype="float64"):
            assert (ints * 2.5).dtype.name == "float64"


def test_saved_values_are_only_those_needed() -> None:
    x, w = tg.ones(2), tg.ones(2, requires_grad=True)
    assert [value is None for value in (x * w).node.saved] == [False, True]  # x for w's gradient, not w for x's
    assert (x + w).node.saved == ()


def test_results_of_constants_have_no_node() -> None:
    assert (tg.ones(2) * 2).node is None
    assert tg.cat([tg.ones(2), tg.ones(2)]).node is None
    w = tg.ones(2, requires_grad=True)
    assert (w > 0).node is None
    with tg.no_grad():
        assert (w * 2).node is None
        assert (w * np.ones(2)).node is None


# Lines ------------------------------------------------------------------------------------------------------------


def test_a_node_knows_the_users_line() -> None:
    w = tg.ones(2, requires_grad=True)
    for y in (w * 2, w.softmax(0), w.unsqueeze(0), tg.stack([w, w]), w * np.ones(2)):  # the line of each
        file, row = resolve_line(y.node.line) or ("", 0)
        assert file == __file__
        with open(file) as source:
            assert "for y in (w * 2" in source.readlines()[row - 1]


def test_user_line_is_the_innermost_outside_the_package() -> None:
    file, _ = resolve_line(user_line()) or ("", 0)
    assert file == __file__
    assert own[dispatch.__file__]
    assert not own[__file__]


# What is no operand -----------------------------------------------------------------------------------------------


class Thing:
    """Something that is no number."""


@pytest.mark.parametrize(
    ("value", "kind", "why"),
    [
        ("2", "str holding '2'", "<U1"),
        (1j, "complex holding 1j", "complex128"),
        (Thing(), "Thing holding Thing", "object"),
        ({"a": 1}, "dict holding dict", "object"),
        (np.array(["a"]), "ndarray holding 'a'", "<U1"),
        ([1.0, None], "list holding None", "object"),
    ],
    ids=["str", "complex", "object", "dict", "array of str", "list with None"],
)
def test_what_is_not_a_number(value: object, kind: str, why: str) -> None:
    with teaches(
        DtypeError,
        f"mul with a tensor from {kind}",
        f"it has dtype {why}, but tensors hold bools, integers and floats",
        "convert it to numbers first: labels to class indices, for example",
        line="tg.ones(2) * value",
    ):
        tg.ones(2) * value


# Modes and interceptors ---------------------------------------------------------------------------------------------


class Log(Interceptor):
    """Writes down what it sees, and who is in force meanwhile."""

    def __init__(self, name: str, log: list[str]) -> None:
        self.name, self.log = name, log

    def forward(self, call: Call, proceed: Callable[[], Any]) -> Any:
        below = "".join(one.name for one in modes().observers)
        self.log.append(f"{self.name}({below}) {call.op.name}{' in place' if call.target is not None else ''}")
        return proceed()

    def backward(self, node: Node, g: Any, proceed: Callable[[], Any]) -> Any:
        below = "".join(one.name for one in modes().observers)
        self.log.append(f"{self.name}({below}) {node.op.name} backward")
        return proceed()


def test_interceptors_see_forward_and_backward_innermost_first() -> None:
    log: list[str] = []
    w = tg.ones(2, requires_grad=True)
    with Log("a", log), Log("b", log):
        y = (w * 2).sum()
        y.backward()
    assert log == [
        "b(a) mul", "a() mul", "b(a) sum", "a() sum",
        "b(a) sum backward", "a() sum backward", "b(a) mul backward", "a() mul backward",
    ]  # fmt: skip
    assert w.grad.tolist() == [2.0, 2.0]
    assert modes().observers == ()


def test_interceptors_see_views_casts_and_writes() -> None:
    log: list[str] = []
    with Log("a", log):
        x = tg.zeros(3)
        x[1:].add_(1)
        x[0] = 2
        x * tg.ones(3, dtype="float64")
    assert log == ["a() getitem", "a() add in place", "a() put in place", "a() cast", "a() mul"]
    assert x.tolist() == [2.0, 1.0, 1.0]


def test_calls_inside_a_mode_go_to_the_level_below() -> None:
    log: list[str] = []

    class Twice(Interceptor):
        """Computes with tensors itself: that must not come back to it."""

        def forward(self, call: Call, proceed: Callable[[], Any]) -> Any:
            return proceed() * 2 if call.op.name == "exp" else proceed()

    with Log("a", log), Twice():
        y = tg.zeros(2).exp()
    assert y.tolist() == [2.0, 2.0]
    assert log == ["a() exp", "a() mul"]


def test_an_interceptor_may_answer_in_place_of_the_op() -> None:
    class Stub(Interceptor):
        def forward(self, call: Call, proceed: Callable[[], Any]) -> Any:
            return "instead"

    with Stub():
        assert tg.ones(2) * 2 == "instead"


def test_backward_hands_an_interceptor_the_gradients() -> None:
    seen: list[Any] = []

    class Watch(Interceptor):
        def backward(self, node: Node, g: Any, proceed: Callable[[], Any]) -> Any:
            grads = proceed()
            seen.append((node.op.name, np.shape(g), [None if part is None else np.shape(part) for part in grads]))
            return grads

    w = tg.ones(3, requires_grad=True)
    with Watch():
        (tg.ones(2, 3) * w).sum().backward()
    assert seen == [("sum", (), [(2, 3)]), ("mul", (2, 3), [None, (3,)])]


class Made(Interceptor):
    """Writes down the buffers that are no results of operations."""

    def __init__(self, keeps: bool = True) -> None:
        self.keeps = keeps
        self.log: list[tuple[str, Any]] = []
        self.grads: list[Any] = []

    def made(self, array: Any, why: str) -> None:
        self.log.append((why, array.tolist()))

    def backward(self, node: Node, g: Any, proceed: Callable[[], Any]) -> Any:
        grads = proceed()
        self.grads += grads
        return grads


def test_an_interceptor_is_told_of_what_is_created() -> None:
    x = tg.zeros(2)
    with Made() as made:
        tg.ones(2)
        tg.tensor([3.0])
        tg.arange(2)
        tg.full_like(x, 4.0)
        tg.zeros_like(x, dtype="int64")
        tg.as_tensor(np.ones(2))  # shares the memory of the array
        x + 1
        x.detach()
    assert made.log == [("created", values) for values in ([1, 1], [3], [0, 1], [4, 4], [0, 0])]


def test_random_numbers_are_created_too() -> None:
    with Made() as made:
        x = tg.rand(3)
    assert made.log == [("created", x.tolist())]


def test_an_interceptor_is_told_of_old_values_that_a_write_saves() -> None:
    w = tg.tensor([2.0, 3.0], requires_grad=True)
    constant = tg.tensor([5.0, 5.0])
    y = w + 0
    with Made() as made:
        y.add_(1)  # needs none
        y.mul_(constant)  # would need them for a gradient of the constant
        assert made.log == []
        y.mul_(w)
        with tg.no_grad():
            y.mul_(w)
    assert made.log == [("saved", [15.0, 20.0])]


def test_an_interceptor_is_told_of_a_result_that_passes() -> None:
    x = tg.zeros(2)
    with Made() as made:
        x.add_(1)  # NumPy writes it where it belongs
        x.sub_(1).sigmoid_()
    assert made.log == [("passing", [0.5, 0.5])]


def test_an_interceptor_is_told_of_gradients_that_no_operation_makes() -> None:
    w = tg.ones(2, requires_grad=True)
    with Made(keeps=False) as made:
        (w * 2 + w * 3).sum().backward()
    assert made.log == [("gradient", 1.0), ("gradient", [5.0, 5.0])]  # the start, and the sum, which becomes .grad
    given = tg.ones(2)
    w.grad = None
    with Made(keeps=False) as made:
        w.view(2, 1).backward(given.view(2, 1))
    assert made.log == [("gradient", [1.0, 1.0])]  # a copy, for what was given is not ours


@pytest.mark.parametrize("keeps", [True, False])
def test_grad_is_a_copy_of_what_an_interceptor_may_keep(keeps: bool) -> None:
    w = tg.ones(2, requires_grad=True)
    with Made(keeps) as made:
        (w * 2).sum().backward()
    assert w.grad.tolist() == [2.0, 2.0]
    assert any(w.grad.array is g for g in made.grads) is not keeps
    assert ("gradient", [2.0, 2.0]) in made.log or not keeps


def test_all_in_force_are_told_and_none_of_what_it_makes_itself() -> None:
    class Makes(Made):
        def forward(self, call: Call, proceed: Callable[[], Any]) -> Any:
            tg.full((1,), 7.0)
            return proceed()

    with Made() as outer, Makes() as inner:
        tg.zeros(1).exp()
    tg.ones(1)
    assert inner.log == [("created", [0.0])]
    assert outer.log == [("created", [0.0]), ("created", [7.0])]


def test_backward_under_interceptors_leaves_no_cycle_behind() -> None:
    freed: list[str] = []

    class Watch(Interceptor):
        def backward(self, node: Node, g: Any, proceed: Callable[[], Any]) -> Any:
            if g.ndim:
                weakref.finalize(g, freed.append, node.op.name)
            return proceed()

    w = tg.ones(2, requires_grad=True)
    gc.disable()
    try:
        with Watch(), Watch():
            (w.exp() * 2).sum().backward()
        assert sorted(freed) == ["exp", "exp", "mul", "mul"]
    finally:
        gc.enable()


class Boom(Exception):
    pass


class Breaks(Interceptor):
    """Fails in one direction."""

    def __init__(self, way: str) -> None:
        self.way = way

    def forward(self, call: Call, proceed: Callable[[], Any]) -> Any:
        if self.way == "forward":
            raise Boom
        return proceed()

    def backward(self, node: Node, g: Any, proceed: Callable[[], Any]) -> Any:
        if self.way == "backward":
            raise Boom
        return proceed()


@pytest.mark.parametrize("way", ["forward", "backward"])
def test_modes_are_restored_when_an_interceptor_fails(way: str) -> None:
    log: list[str] = []
    w = tg.ones(2, requires_grad=True)
    with Log("a", log), Breaks(way):
        outer = modes()
        with pytest.raises(Boom):
            (w * 2).sum().backward()
        assert modes() is outer
    assert modes().observers == ()


def test_modes_are_restored_when_an_op_fails_in_backward() -> None:
    w = tg.ones(2, requires_grad=True)
    w.register_hook(lambda g: 1 / 0)
    outer = modes()
    with pytest.raises(ZeroDivisionError):
        (w * 2).sum().backward()
    assert modes() is outer


def test_an_interceptor_can_be_entered_twice() -> None:
    log: list[str] = []
    watcher = Log("a", log)
    with watcher, watcher:
        tg.ones(1) * 2
    assert log == ["a(a) mul", "a() mul"]
