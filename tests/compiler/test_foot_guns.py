"""Where a recorded program could be silently wrong: each case is right, or refused with a reason."""

from __future__ import annotations

import array
import collections
import datetime
import functools
import importlib
import random
import sys
import threading
import time
import types
import warnings
import weakref
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from time import perf_counter
from typing import Any, ClassVar

import numpy as np
import pytest

import tinygrad_edu as tg
from tests.compiler import read_inside
from tinygrad_edu import nn
from tinygrad_edu.compiler import TraceError, compile
from tinygrad_edu.compiler.capture import capture
from tinygrad_edu.errors import AutogradError, EduError

SCALE = 2.0
SETTINGS = types.ModuleType("settings_of_a_user")
SETTINGS.factor = 2.0  # type: ignore[attr-defined]


def helper(x: Any) -> Any:
    return x * SCALE


class Config:
    rate = 2.0
    __slots__ = ("power",)

    def __init__(self) -> None:
        self.power = 1

    def scaled(self, x: Any) -> Any:
        return x * self.rate**self.power


def value_of(fast: Callable[..., Any]) -> float:
    return float(fast(tg.ones(1)).item())


def test_a_global_that_a_helper_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    fast = compile(lambda x: helper(x) + 1, fullgraph=True)
    assert value_of(fast) == 3.0
    monkeypatch.setattr(f"{__name__}.SCALE", 5.0)
    assert value_of(fast) == 6.0 and fast.ledger[-1].reason == "SCALE was 2.0, and is 5.0"


def test_a_value_in_an_imported_module(monkeypatch: pytest.MonkeyPatch) -> None:
    fast = compile(lambda x: x * SETTINGS.factor, fullgraph=True)
    assert value_of(fast) == 2.0
    monkeypatch.setattr(SETTINGS, "factor", 3.0)
    assert value_of(fast) == 3.0


def test_attributes_of_a_class_and_slots(monkeypatch: pytest.MonkeyPatch) -> None:
    config = Config()
    fast = compile(lambda x: config.scaled(x), fullgraph=True)  # noqa: PLW0108  (it is the closure that is watched)
    assert value_of(fast) == 2.0
    monkeypatch.setattr(Config, "rate", 3.0)
    assert value_of(fast) == 3.0
    config.power = 2
    assert value_of(fast) == 9.0


def test_a_number_of_a_numpy_array() -> None:
    weights = np.array([2.0, 3.0])
    fast = compile(lambda x: x * float(weights[0]), fullgraph=True)
    assert value_of(fast) == 2.0
    weights[0] = 7.0
    assert value_of(fast) == 7.0


def test_an_array_as_an_operand_is_read_at_each_call() -> None:
    weights = np.ones(30_000, np.float32)  # too large to be compared with what it was
    fast = compile(lambda x: (x * weights).sum(), fullgraph=True)
    assert fast(tg.ones(30_000)).item() == 30_000
    weights[...] = 2.0
    assert fast(tg.ones(30_000)).item() == 60_000 and len(fast.ledger) == 1


def test_an_array_given_is_no_tensor() -> None:
    fast = compile(lambda x: tg.as_tensor(x) * 2)
    with pytest.warns(UserWarning, match="a NumPy array given to a compiled function"):
        assert fast(np.ones(2)).tolist() == [2.0, 2.0]
    assert fast(np.full(2, 4.0)).tolist() == [8.0, 8.0] and fast.ledger == []


def random_of_python(x: Any) -> Any:
    return x * random.random()


def random_of_numpy(x: Any) -> Any:
    return x * float(np.random.rand())


rng = np.random.default_rng(0)


def random_of_a_generator(x: Any) -> Any:
    return x * rng.random()


def reseeding(x: Any) -> Any:
    tg.manual_seed(0)
    return x + tg.rand(1)


def reading_the_clock(x: Any) -> Any:
    return x * time.time()


items = iter(range(100))


def taking_items(x: Any) -> Any:
    return x * next(items)


def generating() -> Iterator[int]:
    yield from range(100)


made = generating()


def taking_from_a_generator(x: Any) -> Any:
    return x * next(made)


def switching_grad_off(x: Any) -> Any:
    tg.set_grad_enabled(False)
    return x * 2


def catching(x: Any) -> Any:
    try:
        scale = x.sum().item()
    except EduError:
        scale = 0.0
    return x * scale


def closing_over_a_step(x: Any) -> Any:
    w = tg.ones(1, requires_grad=True)
    optimizer = tg.optim.SGD([w], lr=0.1)

    def closure() -> Any:
        loss = (w * x).sum()
        loss.backward()
        return loss

    optimizer.step(closure)
    return w.detach() * 1


dice, old_dice = random.Random(0), np.random.RandomState(0)


def random_of_an_object(x: Any) -> Any:
    return x * dice.random()


def random_of_an_old_state(x: Any) -> Any:
    return x * float(old_dice.rand())


def random_of_a_new_generator(x: Any) -> Any:
    return x * float(np.random.default_rng().random())


def reading_another_clock(x: Any) -> Any:
    return x * perf_counter()


def reading_the_date(x: Any) -> Any:
    return x * datetime.datetime.now().second


def printing_text(x: Any) -> Any:
    print("hello")
    return x * 2


def looking_up_globals(x: Any) -> Any:
    return x * globals()["SCALE"]


def looking_up_a_module(x: Any) -> Any:
    return x * len(sys.modules)


def importing_by_name(x: Any) -> Any:
    return x * importlib.import_module("math").pi


REFUSED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "random": (random_of_python, "random numbers of Python or NumPy"),
    "np.random": (random_of_numpy, "random numbers of Python or NumPy"),
    "generator": (random_of_a_generator, "random numbers are drawn from rng"),
    "random.Random": (random_of_an_object, "random numbers are drawn from dice"),
    "RandomState": (random_of_an_old_state, "random numbers are drawn from old_dice"),
    "new generator": (random_of_a_new_generator, "default_rng"),
    "perf_counter": (reading_another_clock, "perf_counter"),
    "date": (reading_the_date, "now"),
    "print": (printing_text, "printing or asking in a compiled function"),
    "globals": (looking_up_globals, "globals"),
    "modules": (looking_up_a_module, "sys.modules"),
    "import": (importing_by_name, "import_module"),
    "seed": (reseeding, "drawing random numbers in this way"),
    "clock": (reading_the_clock, "the clock, by time"),
    "iterator": (taking_items, "an iterator: items"),
    "generator object": (taking_from_a_generator, "an iterator: made"),
    "grad mode": (switching_grad_off, "a setting that is changed for good"),
    "caught": (catching, "a TraceError that the function caught"),
    "closure": (closing_over_a_step, "a step with a closure"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_would_be_frozen_is_refused(name: str) -> None:
    function, words = REFUSED[name]
    with pytest.raises(TraceError) as caught:
        compile(function, fullgraph=True)(tg.ones(1))
    tg.set_grad_enabled(True)
    assert words in str(caught.value)
    fast = compile(function)
    with pytest.warns(UserWarning, match="runs as it is written"):
        fast(tg.ones(1))
    tg.set_grad_enabled(True)


def test_what_was_drawn_in_vain_is_drawn_again() -> None:
    """A capture leaves the streams where they were: so the function as it is written gives what it would have given."""
    random.seed(4)
    expected = random.random()
    random.seed(4)
    with pytest.warns(UserWarning, match="runs as it is written"):
        assert value_of(compile(random_of_python)) == pytest.approx(expected)


def test_state_of_python_is_put_back_before_it_runs_as_it_is_written() -> None:
    class Stateful(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.h: Any = None
            self.count = 0

        def forward(self, x: Any) -> Any:
            self.h = x if self.h is None else self.h + x
            self.count += 1
            return self.h * 1

    seen: list[Any] = []
    table: dict[str, Any] = {}
    model = Stateful()

    def appending(x: Any) -> Any:
        seen.append(x * 2)
        table["last"] = x
        return x * 1

    with pytest.warns(UserWarning, match="runs as it is written"):
        fast, other = compile(model), compile(appending)
        for i in range(3):
            assert fast(tg.ones(2)).tolist() == [i + 1.0] * 2
            other(tg.full((2,), float(i)))
    assert model.count == 3 and [one.tolist() for one in seen] == [[0.0, 0.0], [2.0, 2.0], [4.0, 4.0]]
    assert table["last"].tolist() == [2.0, 2.0]


def test_a_class_is_put_back_before_it_runs_as_it_is_written() -> None:
    class Counting(nn.Module):
        count, seen = 0, [0]

        def forward(self, x: Any) -> Any:
            Counting.count += 1
            Counting.seen.append(Counting.count)
            Counting.new = 1  # type: ignore[attr-defined]
            return x * 2

    fast = compile(Counting())
    with pytest.warns(UserWarning, match="Counting"):
        fast(tg.ones(1))
    fast(tg.ones(1))
    assert Counting.count == 2 and Counting.seen == [0, 1, 2] and Counting.new == 1  # type: ignore[attr-defined]


def test_whether_there_is_a_gradient_is_part_of_the_program() -> None:
    w = tg.ones(2, requires_grad=True)

    def f(x: Any) -> Any:
        return x * 2 if w.grad is None else x + w.grad

    fast = compile(f, fullgraph=True)
    assert fast(tg.ones(2)).tolist() == [2.0, 2.0]
    w.grad = tg.full((2,), 5.0)
    assert fast(tg.ones(2)).tolist() == [6.0, 6.0]
    w.grad = tg.full((2,), 7.0)  # another tensor: it is found through its owner
    assert fast(tg.ones(2)).tolist() == [8.0, 8.0]
    w.grad = None
    assert fast(tg.ones(2)).tolist() == [2.0, 2.0]


def test_arguments_that_share_memory_in_a_later_call() -> None:
    def f(x: Any, y: Any) -> Any:
        x.add_(1)
        return x + y

    fast, (a, b) = compile(f), (tg.zeros(3), tg.zeros(3))
    assert fast(a, b).tolist() == [1.0] * 3
    c = tg.zeros(3)
    with pytest.warns(UserWarning, match="shows the same memory"):
        assert fast(c, c[:]).tolist() == [2.0] * 3
    assert fast(a, b).tolist() == [2.0] * 3


def test_the_same_tensor_twice() -> None:
    fast = compile(lambda x, y: x * 2 + y, fullgraph=True)
    x, y = tg.ones(2), tg.full((2,), 10.0)
    assert (
        fast(x, x).tolist() == [3.0, 3.0] and fast(x, y).tolist() == [12.0, 12.0] and fast(y, y).tolist() == [30.0] * 2
    )
    one, other = compile(lambda x: ((z := x * 2), z), fullgraph=True)(x)
    assert one is other


def test_only_what_has_a_graph_has_one() -> None:
    w = tg.ones(3, requires_grad=True)

    def f(x: Any) -> Any:
        y = x * w
        return y, y.detach() * 2, y.argmax(), y.sum()

    fast = compile(f, fullgraph=True)
    found = fast(tg.arange(3.0))
    assert [one.requires_grad for one in found] == [True, False, False, True]
    found[3].backward()  # the first result is not used
    assert w.grad.tolist() == [0.0, 1.0, 2.0]


def test_second_derivatives_are_refused() -> None:
    x = tg.tensor([2.0], requires_grad=True)
    y = compile(lambda x: x * x * x, fullgraph=True)(x)
    with pytest.raises(AutogradError, match="which has no second derivative"):
        tg.autograd.grad(y, x, create_graph=True)


def test_a_shape_that_depends_on_values_is_refused() -> None:
    for function in (lambda x: x[x > 0], lambda x: x.nonzero(), lambda x: x.unique()):
        with pytest.raises(EduError):
            compile(function, fullgraph=True)(tg.tensor([1.0, -1.0]))
        with pytest.warns(UserWarning, match="runs as it is written"):
            found = compile(function)(tg.tensor([1.0, -1.0]))
        assert len(found) in (1, 2)


def test_an_exception_half_way_leaves_what_was_written_before() -> None:
    """As when it is not compiled: what a program has written by then is written."""
    w = tg.ones(2)
    index = tg.tensor([0, 1])

    def f(x: Any) -> Any:
        w.add_(1)
        return (x[index] * 2).sum()

    fast = compile(f, fullgraph=True)
    assert fast(tg.ones(2)).item() == 4
    index[1] = 5  # out of range for x
    with pytest.raises(IndexError):
        fast(tg.ones(2))
    index[1] = 0
    assert fast(tg.ones(2)).item() == 4


def test_an_optimiser_whose_parameters_are_another_models() -> None:
    """Weights that are replaced from outside are found again; the optimiser goes on with its own."""
    model = nn.Linear(2, 1)
    optimizer = tg.optim.SGD(model.parameters(), lr=0.5)

    def step(x: Any) -> Any:
        optimizer.zero_grad()
        loss = model(x).sum()
        loss.backward()
        optimizer.step()
        return loss

    fast = compile(step, fullgraph=True)
    fast(tg.ones(1, 2))
    model.load_state_dict({"weight": tg.zeros(1, 2), "bias": tg.zeros(1)})
    assert fast(tg.ones(1, 2)).item() == 0.0 and model.weight.tolist() == [[-0.5, -0.5]]
    model.weight.requires_grad_(False)
    fast(tg.ones(1, 2))
    assert model.weight.tolist() == [[-0.5, -0.5]] and "needs no gradients" in fast.ledger[-1].reason


def test_numbers_that_are_not_finite_pass_as_they_are() -> None:
    x = tg.tensor([np.inf, -np.inf, np.nan, 0.0, -0.0])

    def f(x: Any) -> Any:
        y = tg.where(x > 0, x * 1.0, 0.0)
        return y, x.relu(), tg.where(x == x, x, 0.0) * 1.0 + 0.0, x.neg().neg()

    with np.errstate(all="ignore"):
        for found, expected in zip(compile(f, fullgraph=True)(x), f(x), strict=True):
            np.testing.assert_array_equal(found.array, expected.array)
            np.testing.assert_array_equal(np.signbit(found.array), np.signbit(expected.array))


# Values in all kinds of places ----------------------------------------------------------------------------------------


class Numbers:
    k = 2.0

    @staticmethod
    def twice(x: Any) -> Any:
        return x * Numbers.k


def holding_defaults(x: Any, k: float = 2.0) -> Any:
    return x * k


def with_attribute(x: Any) -> Any:
    return x * with_attribute.k  # type: ignore[attr-defined]


with_attribute.k = 2.0  # type: ignore[attr-defined]


class Asking:
    """A descriptor, which looks somewhere else."""

    def __init__(self, table: list[float]) -> None:
        self.table = table

    def __get__(self, instance: Any, owner: Any) -> float:
        return self.table[0]


class Kind(type):
    """A class of classes."""

    shared: ClassVar[list[float]] = [2.0]

    @property
    def factor(cls) -> float:
        return Kind.shared[0]


class OfAKind(metaclass=Kind):
    pass


class Counted(list[float]):
    """A list that holds more besides."""

    factor = 2.0


Place = tuple[Callable[[Any], Any], Callable[[], Any]]


def places() -> dict[str, Place]:
    """Functions that give x times 2, and what makes it x times 3."""
    box, queue, numbers, table = [2.0], collections.deque([2.0]), array.array("d", [2.0]), {"a": 2.0, "b": 3.0}
    members, octets, values = {2.0}, bytearray([2]), np.full(5000, 2.0)
    holder = types.SimpleNamespace(inside=types.SimpleNamespace(k=2.0))
    get = table.get
    inner = compile(lambda x: x * box[0])
    generic = {"now": np.float32(2.0)}
    module = nn.Linear(1, 1)
    module.k = 2.0  # type: ignore[assignment]
    table_of_a_class, looked_at, counted = [2.0], [2.0], Counted([1.0])
    Kind.shared[0], proxy = 2.0, types.MappingProxyType(table)
    context, octets_again = ContextVar("context", default=2.0), memoryview(octets)
    staying, going = Numbers(), [Numbers()]
    weak, gone = weakref.ref(staying), weakref.ref(going[0])

    class Above:
        k = 2.0

    class Below(Above):
        pass

    def helper(x: Any) -> Any:
        return x * 2.0

    def thrice(x: Any) -> Any:
        return x * 3.0

    def floating() -> None:
        ints.clear()
        ints.add(1.0)

    settings, lists, ints = SETTINGS, collections.deque([[2.0]]), {1}
    deque_of_tensors = collections.deque([tg.tensor(2.0), tg.tensor(3.0)])
    partial, shaped = functools.partial(lambda x, k: x * k, k=2.0), np.ones((1, 1))
    plain = nn.Linear(1, 1, bias=False)
    weight = nn.Parameter(tg.full((1, 1), 3.0))
    plain._parameters["weight"] = nn.Parameter(tg.full((1, 1), 2.0))
    own: dict[str, Any] = {"__name__": "settings_of_a_user"}
    exec("def hidden(x):\n    return x * abs(-2.0)", own)
    exec("def late(x):\n    try:\n        return x * given\n    except NameError:\n        return x * 2.0", own)

    class Shared(nn.Module):
        table = table_of_a_class
        asked = Asking(looked_at)

        def forward(self, x: Any) -> Any:
            return x * self.table[0]

    shared = Shared()

    def keyword(x: Any, *, k: Any = box) -> Any:
        return x * k[0]

    def local(x: Any) -> Any:
        import settings_of_a_user  # type: ignore[import-not-found]

        return x * settings_of_a_user.factor

    def first(x: Any) -> Any:
        return x * next(iter(table.values()))

    def reorder() -> None:
        table["a"] = table.pop("a")

    return {
        "a class": (lambda x: x * Numbers.k, lambda: setattr(Numbers, "k", 3.0)),
        "a static method": (lambda x: Numbers.twice(x), lambda: setattr(Numbers, "k", 3.0)),  # noqa: PLW0108
        "a list": (lambda x: x * box[0], lambda: box.__setitem__(0, 3.0)),
        "a partial": (functools.partial(lambda k, x: x * k[0], box), lambda: box.__setitem__(0, 3.0)),
        "a keyword's default": (keyword, lambda: box.__setitem__(0, 3.0)),
        "a compiled closure": (lambda x: inner(x), lambda: box.__setitem__(0, 3.0)),  # noqa: PLW0108
        "a deque": (lambda x: x * queue[0], lambda: queue.__setitem__(0, 3.0)),
        "an array of Python": (lambda x: x * numbers[0], lambda: numbers.__setitem__(0, 3.0)),
        "a bytearray": (lambda x: x * octets[0], lambda: octets.__setitem__(0, 3)),
        "a set": (lambda x: x * sum(members), lambda: (members.clear(), members.add(3.0))),
        "a bound method": (lambda x: x * get("a"), lambda: table.__setitem__("a", 3.0)),
        "the order of a dict": (first, reorder),
        "a large array": (lambda x: x * float(values[7]), lambda: values.__setitem__(7, 3.0)),
        "an object in an object": (lambda x: x * holder.inside.k, lambda: setattr(holder.inside, "k", 3.0)),
        "a number of NumPy": (lambda x: x * float(generic["now"]), lambda: generic.update(now=np.float32(3.0))),
        "an attribute of a module": (lambda x: x * module.k, lambda: setattr(module, "k", 3.0)),
        "an attribute of the function": (with_attribute, lambda: setattr(with_attribute, "k", 3.0)),
        "defaults": (holding_defaults, lambda: setattr(holding_defaults, "__defaults__", (3.0,))),
        "a list of a class": (shared, lambda: table_of_a_class.__setitem__(0, 3.0)),
        "another list of a class": (shared, lambda: setattr(Shared, "table", [3.0])),
        "a descriptor": (lambda x: x * shared.asked, lambda: looked_at.__setitem__(0, 3.0)),
        "a class of a class": (lambda x: x * OfAKind.factor, lambda: Kind.shared.__setitem__(0, 3.0)),
        "an attribute of a list": (lambda x: x * counted.factor, lambda: setattr(counted, "factor", 3.0)),
        "a view of a dict": (lambda x: x * proxy["a"], lambda: table.__setitem__("a", 3.0)),
        "an attribute that a subclass gets": (lambda x: x * Below.k, lambda: setattr(Below, "k", 3.0)),
        "a module of Python in a closure": (lambda x: x * settings.factor, lambda: setattr(SETTINGS, "factor", 3.0)),
        "a list in a deque": (lambda x: x * lists[0][0], lambda: lists[0].__setitem__(0, 3.0)),
        "tensors in a deque": (lambda x: x * deque_of_tensors[0], deque_of_tensors.rotate),
        "an int in a set": (lambda x: x * (2 if ints == {1} and type(next(iter(ints))) is int else 3), floating),
        "a keyword's default itself": (keyword, lambda: keyword.__kwdefaults__.update(k=[3.0])),
        "the code of a function": (lambda x: helper(x), lambda: setattr(helper, "__code__", thrice.__code__)),  # noqa: PLW0108
        "a keyword of a partial": (partial, lambda: partial.keywords.update(k=3.0)),
        "the shape of an array": (lambda x: x * shaped.ndim, lambda: setattr(shaped, "shape", (1, 1, 1))),
        "a global that comes later": (own["late"], lambda: own.update(given=3.0)),
        "a weight that is put into a module": (
            plain,
            lambda: plain._parameters.update(weight=weight),
        ),
        "a context variable": (lambda x: x * context.get(), lambda: context.set(3.0)),
        "what a weak reference is to": (lambda x: x * weak().k, lambda: setattr(staying, "k", 3.0)),
        "a weak reference": (lambda x: x * (3.0 if gone() is None else 2.0), going.clear),
        "the memory of bytes": (lambda x: x * octets_again[0], lambda: octets.__setitem__(0, 3)),
        "a built-in that is hidden": (own["hidden"], lambda: own.update(abs=lambda x: 3.0)),
        "getattr of a module": (
            lambda x: x * getattr(SETTINGS, "fac" + "tor"),
            lambda: setattr(SETTINGS, "factor", 3.0),
        ),
        "the dict of a module": (lambda x: x * SETTINGS.__dict__["factor"], lambda: setattr(SETTINGS, "factor", 3.0)),
        "a module imported inside": (local, lambda: setattr(SETTINGS, "factor", 3.0)),
    }


@pytest.mark.parametrize("name", places())
def test_a_value_that_changes_is_noticed_wherever_it_is(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "settings_of_a_user", SETTINGS)
    monkeypatch.setattr(SETTINGS, "factor", 2.0)
    monkeypatch.setattr(Numbers, "k", 2.0)
    monkeypatch.setattr(with_attribute, "k", 2.0)
    monkeypatch.setattr(holding_defaults, "__defaults__", (2.0,))
    function, change = places()[name]
    fast = compile(function, fullgraph=True)
    assert value_of(fast) == value_of(fast) == 2.0
    change()
    assert value_of(fast) == 3.0


def test_fresh_scalars_are_told_apart_by_their_value() -> None:
    for kind in (np.float32, np.int64, float, np.float64):
        fast = compile(lambda x, s: x * float(s), fullgraph=True)
        assert [float(fast(tg.ones(1), kind(k)).item()) for k in (1, 2, 3)] == [1.0, 2.0, 3.0]


def test_minus_zero_is_another_number() -> None:
    box = [0.0]
    with np.errstate(all="ignore"):
        fast = compile(lambda x, s: 1 / (x * s), fullgraph=True)
        assert [fast(tg.ones(1), s).item() for s in (0.0, -0.0)] == [np.inf, -np.inf]
        fast = compile(lambda x: 1 / (x * box[0]), fullgraph=True)
        assert fast(tg.ones(1)).item() == np.inf
        box[0] = -0.0
        assert fast(tg.ones(1)).item() == -np.inf
        both = compile(lambda x: (1 / (x * 0.0), 1 / (x * -0.0)), fullgraph=True)(tg.ones(1))
        assert [one.item() for one in both] == [np.inf, -np.inf]


def test_results_have_memory_of_their_own_as_they_would_have() -> None:
    def old(a: Any, x: Any) -> Any:
        before = a * 1.0
        a.add_(x)
        return before

    a = tg.zeros(2)
    assert compile(old, fullgraph=True)(a, tg.ones(2)).tolist() == [0.0, 0.0] and a.tolist() == [1.0, 1.0]
    x = tg.ones(3)
    for function in (
        lambda x: (x + 1, x + 1),
        lambda x: (x * 1.0, x / 1),
        lambda x: (x.neg().neg(), (x * 1.0).reshape(3, 1)),
    ):
        one, other = compile(function, fullgraph=True)(x)
        one.fill_(7.0)
        assert x.tolist() == [1.0] * 3 and other.reshape(-1).tolist() != [7.0] * 3
    swapped = compile(swap, fullgraph=True)
    a, b = tg.zeros(2), tg.ones(2)
    swapped(a, b)
    assert a.tolist() == [1.0, 1.0] and b.tolist() == [0.0, 0.0]


def swap(a: Any, b: Any) -> Any:
    old = a.clone()
    a.copy_(b)
    b.copy_(old)
    return (a + b) * 1


def test_a_number_after_a_step_is_refused() -> None:
    w = tg.ones(1, requires_grad=True)
    optimizer = tg.optim.SGD([w], lr=0.1)
    schedule = tg.optim.lr_scheduler.ExponentialLR(optimizer, 0.1)

    def step(x: Any) -> Any:
        (w * x).sum().backward()
        optimizer.step()
        schedule.step()
        return optimizer.defaults["lr"]

    with pytest.raises(TraceError, match="returning a number of Python"):
        compile(step, fullgraph=True)(tg.ones(1))


def test_hooks_that_come_later_run() -> None:
    model, seen = nn.Linear(1, 1), []
    w = tg.ones(1, requires_grad=True)
    fast, other = compile(model), compile(lambda x: x * w)
    fast(tg.ones(1, 1))
    other(tg.ones(1))
    handles = [model.register_forward_hook(lambda *given: seen.append(1)), w.register_hook(lambda g: g * 3)]
    with pytest.warns(UserWarning, match="with hooks"):
        fast(tg.ones(1, 1))
        other(tg.ones(1)).sum().backward()
    assert seen == [1] and w.grad.item() == 3.0
    for handle in handles:
        handle.remove()


def test_what_a_tensor_is_part_of_is_not_changed_unseen() -> None:
    w, b = tg.ones(1), tg.zeros(1)
    v = tg.ones(1, requires_grad=True)
    for function in (lambda x: w.requires_grad_() * x, lambda x: b.copy_(v * 2) * x):
        with pytest.raises(TraceError, match="a change of what a tensor"):
            compile(function, fullgraph=True)(tg.ones(1))
    assert not w.requires_grad and not b.requires_grad


def test_a_gradient_that_is_returned_is_the_gradient() -> None:
    w = tg.ones(2, requires_grad=True)

    def step(x: Any) -> Any:
        w.grad = None
        (w * x).sum().backward()
        return w.grad

    assert compile(step, fullgraph=True)(tg.ones(2)) is w.grad


def test_numbers_that_are_checked_are_checked_at_each_call() -> None:
    table = nn.Embedding(5, 2)
    fast = compile(table, fullgraph=True)
    fast(tg.tensor([1, 3]))
    assert fast(tg.tensor([0, 4])).shape == (2, 2)  # further than before, and good
    for wrong in ([0, -1], [0, 5]):
        with pytest.raises(IndexError):
            fast(tg.tensor(wrong))
    loss = compile(nn.functional.cross_entropy, fullgraph=True)
    scores = tg.randn(2, 3)
    loss(scores, tg.tensor([0, 1]))
    with pytest.raises(IndexError):
        loss(scores, tg.tensor([0, -1]))
    assert loss(scores, tg.tensor([0, 2])).item() == nn.functional.cross_entropy(scores, tg.tensor([0, 2])).item()


def test_other_threads_print_while_a_function_is_recorded(capsys: pytest.CaptureFixture[str]) -> None:
    began, printed = threading.Event(), threading.Event()

    def helper() -> None:
        began.wait(10)
        print("from another thread")
        printed.set()

    def f(x: Any) -> Any:
        began.set()
        assert printed.wait(10)
        return x * 2

    thread = threading.Thread(target=helper)
    thread.start()
    before = print
    assert capture(f, (tg.ones(2),), {}, [tg.ones(2)]).steps
    thread.join()
    assert print is before and capsys.readouterr().out == "from another thread\n"


class Holder:
    """Something with an attribute that has the name of a global."""

    series = 2.0


series: list[float] = []


def test_a_global_is_not_read_because_an_attribute_has_its_name() -> None:
    """A list of losses that grows in a global ``series`` is nothing to a function that reads ``holder.series``."""
    holder = Holder()

    def f(x: Any) -> Any:
        return x * holder.series

    fast = compile(f, fullgraph=True)
    for _ in range(3):
        assert fast(tg.ones(2)).tolist() == [2.0, 2.0]
        series.append(1.0)
    assert len(fast.ledger) == 1
    holder.series = 3.0
    assert fast(tg.ones(2)).tolist() == [3.0, 3.0], "the attribute is"


# Memory that is seen twice ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("view", [lambda o: o.t(), lambda o: o[1:], lambda o: o.reshape(-1)], ids=["t", "part", "flat"])
def test_a_result_that_shows_what_is_written_is_its_own(view: Any) -> None:
    ours, theirs, g = tg.ones(2, 2), tg.ones(2, 2), tg.ones(2, 2)

    def step(w: Any, g: Any) -> Any:
        o = w + g
        w.copy_(o)
        return view(o)

    fast = compile(step, fullgraph=True)
    for _ in range(2):
        found, expected = fast(ours, g), step(theirs, g)
        kept = found.tolist()
        fast(ours, g), step(theirs, g)
        assert found.tolist() == kept == expected.tolist()


def test_backward_after_another_call_has_what_it_needs() -> None:
    buffer, w, g = tg.zeros(2, 2), tg.full((2, 2), 2.0, requires_grad=True), tg.ones(2, 2)

    def f(w: Any, g: Any) -> Any:
        o = w * g
        with tg.no_grad():
            buffer.copy_(o)
        return (o.reshape(-1) ** 2).sum()

    fast = compile(f, fullgraph=True)
    first = fast(w, g)
    fast(w, g * 3)
    first.backward()
    assert w.grad.tolist() == [[4.0, 4.0], [4.0, 4.0]]


@pytest.mark.parametrize("given", [lambda w: w.grad, lambda w: w.grad.detach(), lambda w: w.grad[:]])
def test_an_argument_that_is_the_gradient_that_is_written(given: Any) -> None:
    found = []
    for compiled in (False, True):
        w = tg.full((3,), 2.0, requires_grad=True)

        def f(x: Any, w: Any = w) -> Any:
            if w.grad is not None:
                w.grad.zero_()
            loss = (w * w * x).sum()
            loss.backward()
            return loss.detach()

        run = compile(f) if compiled else f
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it may run as it is written
            losses = [run(tg.ones(3)).item(), run(tg.full((3,), 3.0)).item(), run(given(w)).item()]
        found.append((losses, w.grad.tolist()))
    assert found[0] == found[1]


# What is read ------------------------------------------------------------------------------------------------------


def test_a_module_that_is_imported_inside_is_read_though_it_is_a_global_too() -> None:
    def f(x: Any) -> Any:
        from tests.compiler.read_inside import FACTOR

        return x * FACTOR

    fast = compile(f, fullgraph=True)
    assert fast(tg.ones(1)).item() == 2.0
    before, read_inside.FACTOR = read_inside.FACTOR, 5.0
    try:
        assert fast(tg.ones(1)).item() == 5.0
    finally:
        read_inside.FACTOR = before


rate = 2.0


class Rated(nn.Module):
    @property
    def rate(self) -> float:
        return rate

    def forward(self, x: Any) -> Any:
        return x * self.rate


def test_what_a_property_reads_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    fast = compile(Rated(), fullgraph=True)
    assert fast(tg.ones(1)).item() == 2.0
    monkeypatch.setitem(globals(), "rate", 5.0)
    assert fast(tg.ones(1)).item() == 5.0


def test_functions_of_one_code_have_defaults_of_their_own() -> None:
    def scaled(factor: float) -> Any:
        def function(x: Any, factor: float = factor) -> Any:
            return x * factor

        return function

    one, two = scaled(2.0), scaled(3.0)
    fast = compile(lambda x: one(x) + two(x), fullgraph=True)
    assert fast(tg.ones(1)).item() == 5.0
    two.__defaults__ = (7.0,)
    assert fast(tg.ones(1)).item() == 9.0
