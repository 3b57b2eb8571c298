"""Containers: the names of what they hold, and what a list or dict can do."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tinygrad_edu as tg
from tests.nn.models import convnet
from tests.support import teaches
from tinygrad_edu import nn
from tinygrad_edu.errors import ArgumentError, DtypeError, IndexRangeError, ShapeError


class Named(nn.Module):
    """Something to tell apart."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name

    def extra_repr(self) -> str:
        return self.name


def held(container: Any) -> str:
    return "".join(m.name for m in container)


def made(kind: Any, text: str) -> Any:
    modules = [Named(c) for c in text]
    return nn.Sequential(*modules) if kind is nn.Sequential else nn.ModuleList(modules)


SEQUENCES = pytest.mark.parametrize("kind", [nn.Sequential, nn.ModuleList])


# Sequential and ModuleList -----------------------------------------------------------------------------------


def test_sequential_is_a_sequence() -> None:
    model = convnet()
    assert len(model) == 5
    assert list(model.children()) == list(model)
    assert type(model[1]) is nn.ReLU
    assert [type(m).__name__ for m in model] == ["Conv2d", "ReLU", "MaxPool2d", "Flatten", "Linear"]
    assert model(tg.ones(2, 1, 8, 8)).shape == (2, 10)
    assert nn.Sequential()(3) == 3


def test_sequential_takes_names() -> None:
    for kind in (OrderedDict, dict):
        model = nn.Sequential(kind([("first", nn.Linear(2, 3)), ("last", nn.Linear(3, 1))]))
        assert list(model.state_dict()) == ["first.weight", "first.bias", "last.weight", "last.bias"]
        assert model.first is model[0]
        assert model(tg.ones(1, 2)).shape == (1, 1)


@SEQUENCES
@given(st.data())
def test_sequences_do_what_lists_do(kind: Any, data: st.DataObject) -> None:
    """Any program of edits leaves the container with what a list would hold, under the names of the places."""
    twin = list("abcd")
    container = made(kind, "abcd")
    for new in data.draw(st.text("uvwxyz", max_size=6)):
        edit = data.draw(st.sampled_from(["append", "insert", "set", "del", "cut", "pop", "extend"]))
        at = data.draw(st.integers(-len(twin), len(twin) - 1)) if twin else 0
        cut = slice(*data.draw(st.tuples(st.none() | st.integers(-5, 5), st.none() | st.integers(-5, 5))))
        if edit == "append":
            twin.append(new)
            assert container.append(Named(new)) is container
        elif edit == "insert":
            twin.insert(at, new)
            container.insert(at, Named(new))
        elif edit == "extend":
            twin.extend([new, new])
            container.extend([Named(new), Named(new)])
        elif edit == "cut":
            del twin[cut]
            del container[cut]
        elif twin and edit == "set":
            twin[at] = new
            container[at] = Named(new)
        elif twin and edit == "del":
            del twin[at]
            del container[at]
        elif twin:
            assert container.pop(at).name == twin.pop(at)
        assert held(container) == "".join(twin)
        assert held(container[cut]) == "".join(twin[cut])
        assert [name for name, _ in container.named_children()] == [str(i) for i in range(len(twin))]
        assert [getattr(container, str(i)).name for i in range(len(twin))] == twin
        assert not hasattr(container, str(len(twin)))


@SEQUENCES
def test_sequences_join(kind: Any) -> None:
    ab, c = made(kind, "ab"), made(kind, "c")
    joined = ab + c
    assert type(joined) is kind
    assert (held(joined), held(ab)) == ("abc", "ab")
    assert joined[0] is ab[0]
    same = ab
    ab += c
    assert ab is same
    assert held(ab) == "abc"
    ab.extend(ab)
    assert held(ab) == "abcabc"
    assert [m.name for m in reversed(ab)] == list("cbacba")
    assert c[0] in ab
    assert Named("c") not in ab


def test_sequential_is_repeated() -> None:
    model = made(nn.Sequential, "ab")
    assert held(model * 3) == held(2 * (model + nn.Sequential()) + model) == "ababab"
    model *= 2
    assert held(model) == "abab"
    assert model[0] is model[2]
    for times in (0, -1, 2.0):
        with pytest.raises(ArgumentError, match="repeats a whole number of times"):
            model * times


def test_a_slice_of_a_sequential_keeps_names_and_modules() -> None:
    model = made(nn.Sequential, "abcd")
    tail = model[2:]
    assert [name for name, _ in tail.named_children()] == ["2", "3"]
    assert tail[0] is model[2]
    tail.append(Named("e"))  # and does not take the name of another
    assert held(tail) == "cde"
    assert [name for name, _ in made(nn.ModuleList, "abcd")[2:].named_children()] == ["0", "1"]


@SEQUENCES
def test_positions_outside(kind: Any) -> None:
    container = made(kind, "ab")
    for index in (2, -3):
        for use in (
            lambda i: container[i], container.__delitem__, lambda i: container.__setitem__(i, Named("c")),
            container.pop, lambda i: container.insert(i * 2, Named("c")),
        ):  # fmt: skip
            with pytest.raises(IndexRangeError, match="it holds 2, counted from 0 to 1"):
                use(index)
    assert held(container) == "ab"
    with pytest.raises(IndexRangeError, match="it holds 0"):
        made(kind, "")[0]


def test_what_is_no_module_is_refused() -> None:
    layers = [nn.Linear(2, 2), nn.ReLU()]
    with teaches(
        DtypeError,
        "list as module '0' in Sequential",
        "it is not an nn.Module",
        "pass its modules one by one: nn.Sequential(*layers)",
        line="nn.Sequential(layers)",
    ):
        nn.Sequential(layers)
    with pytest.raises(DtypeError, match=r"nn\.Sequential\(\*layers\)"):
        nn.Sequential(m for m in layers)
    with pytest.raises(DtypeError, match=r"make a module of the class: ReLU\(…\)"):
        nn.Sequential(nn.Linear(2, 2), nn.ReLU)
    with pytest.raises(DtypeError, match=r"use the module for it, such as nn\.ReLU\(\)"):
        nn.Sequential(tg.relu)
    with pytest.raises(DtypeError, match="ModuleList of a Linear"):
        nn.ModuleList(nn.Linear(2, 2))
    with pytest.raises(ArgumentError, match="only another Sequential can be added"):
        nn.Sequential() + layers
    container = made(nn.ModuleList, "ab")
    with pytest.raises(DtypeError, match=r"it is not an nn\.Module"):
        container.insert(0, "c")
    with pytest.raises(DtypeError, match=r"it is not an nn\.Module"):
        container[0] = "c"
    assert held(container) == "ab"


def test_a_tuple_between_layers_is_explained() -> None:
    lstm = nn.LSTM(3, 3)
    with teaches(
        DtypeError,
        "Linear, number 1 of a Sequential",
        "it takes one tensor, but the LSTM before it returns a tuple of 2",
        "write a module whose forward takes the tuple apart: output, state = self.lstm(x)",
        line="nn.Sequential(lstm, nn.Linear(3, 1))(tg.ones(4, 1, 3))",
    ):
        nn.Sequential(lstm, nn.Linear(3, 1))(tg.ones(4, 1, 3))
    with pytest.raises(DtypeError, match=r"(?s)number 0 of a Sequential.*was given a tuple of 2.*take the tensor out"):
        nn.Sequential(nn.Linear(3, 1))(lstm(tg.ones(4, 1, 3)))
    with pytest.raises(ShapeError, match="linear"):  # a mistake of another kind is left as it is
        nn.Sequential(nn.ReLU(), nn.Linear(3, 1))(tg.ones(4))

    class Output(nn.Module):
        def forward(self, both: Any) -> Any:
            return both[0]

    assert nn.Sequential(lstm, Output(), nn.Linear(3, 1))(tg.ones(4, 1, 3)).shape == (4, 1, 1)


def test_a_list_in_print_puts_equal_neighbours_together() -> None:
    assert repr(nn.ModuleList([*(nn.Linear(2, 2) for _ in range(3)), nn.ReLU(), nn.Linear(2, 2)])) == (
        "ModuleList(\n"
        "  (0-2): 3 x Linear(in_features=2, out_features=2, bias=True)\n"
        "  (3): ReLU()\n"
        "  (4): Linear(in_features=2, out_features=2, bias=True)\n"
        ")"
    )
    assert repr(nn.ModuleList([nn.Sequential(nn.ReLU()), nn.Sequential(nn.ReLU())])) == (
        "ModuleList(\n  (0-1): 2 x Sequential(\n    (0): ReLU()\n  )\n)"
    )
    assert repr(nn.ModuleList()) == "ModuleList()"


# ModuleDict --------------------------------------------------------------------------------------------------


def test_module_dict_is_a_dict() -> None:
    a, b, c = Named("a"), Named("b"), Named("c")
    modules = nn.ModuleDict({"b": b, "a": a})
    assert (list(modules), list(modules.keys()), list(modules.values())) == (["b", "a"], ["b", "a"], [b, a])
    assert list(modules.items()) == [("b", b), ("a", a)]
    assert modules["a"] is modules.a is a
    assert "a" in modules
    modules.update([("c", c), ["b", a]])
    modules.update(nn.ModuleDict({"d": b}))
    assert list(modules.items()) == [("b", a), ("a", a), ("c", c), ("d", b)]
    assert modules.pop("c") is c
    del modules["a"]
    assert not hasattr(modules, "a")
    assert len(modules) == 2
    for missing in (lambda: modules["a"], lambda: modules.pop("a"), lambda: modules.__delitem__("a")):
        with pytest.raises(KeyError):
            missing()
    modules.clear()
    assert list(modules.modules()) == [modules]


def test_module_dict_refuses() -> None:
    with pytest.raises(ArgumentError, match="method or property of that name"):
        nn.ModuleDict({"pop": nn.ReLU()})
    with pytest.raises(ArgumentError, match="text without dots"):
        nn.ModuleDict({"a.b": nn.ReLU()})
    with pytest.raises(DtypeError, match=r"(?s)a name is text, not int.*write '3'"):
        nn.ModuleDict({3: nn.ReLU()})
    with pytest.raises(ArgumentError, match="a pair is a name and a value"):
        nn.ModuleDict([("a", nn.ReLU(), 3)])
    with pytest.raises(DtypeError, match="to loop over"):
        nn.ModuleDict(3)


# Parameters --------------------------------------------------------------------------------------------------


def test_parameter_list_registers_tensors() -> None:
    p = nn.Parameter(tg.zeros(2))
    values = nn.ParameterList([p, tg.ones(3), "word"])
    assert values[0] is p
    assert isinstance(values[1], nn.Parameter)
    assert values[-1] == "word"
    assert [(name, x.shape) for name, x in values.named_parameters()] == [("0", (2,)), ("1", (3,))]
    assert values.append(tg.ones(1)) is values
    values += [tg.ones(4)]
    values[2] = tg.ones(5)
    assert [x.shape[0] for x in values] == [2, 3, 5, 1, 4]
    assert list(values.state_dict()) == ["0", "1", "3", "4", "2"]
    assert [x.shape[0] for x in values[1:4]] == [3, 5, 1]
    assert values[1:2][0] is values[1]
    assert len(values) == 5
    with pytest.raises(IndexRangeError):
        values[5]
    with pytest.raises(DtypeError, match="put it in a list, or use append"):
        values.extend(tg.ones(2))


def test_parameter_dict_is_a_dict() -> None:
    p = nn.Parameter(tg.zeros(2))
    values = nn.ParameterDict({"b": p, "a": tg.ones(3)})
    assert list(values) == list(values.keys()) == ["a", "b"]  # of a plain dict in alphabetical order
    assert list(nn.ParameterDict([("b", p), ("a", 3)])) == ["b", "a"]
    assert values["b"] is values.b is p
    assert [name for name, _ in values.named_parameters()] == ["a", "b"]
    assert (values.get("c"), values.get("c", 3), values.setdefault("n", 4), values.setdefault("n", 5)) == (
        None, 3, 4, 4,
    )  # fmt: skip
    other = values.copy()
    assert [x is y for x, y in zip(other.values(), values.values(), strict=True)] == [True] * 3
    assert other.pop("n") == 4
    assert (len(other), len(values), "n" in other, list(reversed(other))) == (2, 3, False, ["b", "a"])
    joined = other | {"z": tg.ones(1)}
    assert (list(joined), list(other)) == (["a", "b", "z"], ["a", "b"])
    other |= nn.ParameterDict({"y": tg.ones(1)})
    assert list(other) == ["a", "b", "y"]
    assert other.popitem()[0] == "y"
    assert list(other.fromkeys(["u", "v"], 1).items()) == [("u", 1), ("v", 1)]
    with pytest.raises(KeyError):
        values["forward"]  # an attribute is no entry
    with pytest.raises(ArgumentError, match="method or property"):
        values["pop"] = tg.ones(1)
    assert "pop" not in values
    values.clear()
    assert list(values.parameters()) == [*values] == []


def test_parameters_in_print() -> None:
    values = [tg.ones(2, 3), tg.ones((), dtype="float64"), "word"]
    lines = [
        "Parameter containing: [float32 of size 2x3]", "Parameter containing: [float64 of size ]",
        "Object of type: str",
    ]  # fmt: skip
    assert repr(nn.ParameterList(values)).split("\n")[1:-1] == [f"    ({i}): {line}" for i, line in enumerate(lines)]
    assert repr(nn.ParameterDict({"a": values[0]})) == f"ParameterDict(  (a): {lines[0]})"
    assert repr(nn.ParameterList([tg.ones(1, device="far")])).endswith("[float32 of size 1 (far)])")


@pytest.mark.parametrize("kind", [nn.ModuleList, nn.ModuleDict, nn.ParameterList, nn.ParameterDict])
def test_what_only_holds_is_not_called(kind: Any) -> None:
    with pytest.raises(NotImplementedError, match=f"a {kind.__name__} only holds things"):
        kind()(tg.ones(1))
