"""Traced programs: the same values, files without code, and files that are not to be trusted."""

from __future__ import annotations

import copy
import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tinygrad_edu as tg
from tests.compiler.test_compile import MODELS
from tests.compiler.test_random_programs import CHOICES, INPUTS, Choice, leaves, play, same
from tests.support import ROOT, teaches
from tinygrad_edu import nn
from tinygrad_edu.compiler import TraceError
from tinygrad_edu.errors import DtypeError, EduError, ShapeError, StateFileError


def example() -> Any:
    return tg.tensor(np.random.default_rng(0).normal(size=(4, 6)).astype("f4"))


@pytest.mark.parametrize("name", MODELS)
def test_a_model_goes_to_a_file_and_back(name: str, tmp_path: Path) -> None:
    model = MODELS[name]().eval()
    traced = tg.jit.trace(model, example())
    tg.jit.save(traced, tmp_path / "model.jit")
    found = tg.jit.load(tmp_path / "model.jit")
    for seed in range(2):
        x = tg.tensor(np.random.default_rng(seed).normal(size=(4, 6)).astype("f4"))
        with tg.no_grad():
            expected = model(x)
        for one in (traced, found):
            y = one(x)
            assert not y.requires_grad
            np.testing.assert_allclose(y.array, expected.array, rtol=1e-5, atol=1e-6)
    assert str(found.program) == str(traced.program) and set(found.tensors) == set(traced.tensors)


def test_a_file_runs_without_the_source_of_the_model(tmp_path: Path) -> None:
    model = MODELS["residual"]().eval()
    path = tmp_path / "model.jit"
    tg.jit.trace(model, example()).save(path)
    np.save(tmp_path / "x.npy", example().numpy())
    script = (
        "import sys, numpy as np, tinygrad_edu as tg\n"
        f"y = tg.jit.load({str(path)!r})(tg.tensor(np.load({str(tmp_path / 'x.npy')!r})))\n"
        f"np.save({str(tmp_path / 'y.npy')!r}, y.numpy())\n"
        "assert not any(name.startswith('tests') for name in sys.modules)\n"
    )
    subprocess.run(
        [sys.executable, "-c", script], check=True, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    with tg.no_grad():
        np.testing.assert_allclose(np.load(tmp_path / "y.npy"), model(example()).array, rtol=1e-5, atol=1e-6)


def test_weights_are_read_as_they_are_until_it_is_saved(tmp_path: Path) -> None:
    model = nn.Linear(6, 1)
    traced = tg.jit.trace(model, example())
    with tg.no_grad():
        model.weight.zero_()
        model.bias.fill_(3.0)
    assert traced(example()).tolist() == [[3.0]] * 4
    traced.save(tmp_path / "m")
    with tg.no_grad():
        model.bias.fill_(4.0)
    assert tg.jit.load(tmp_path / "m")(example()).tolist() == [[3.0]] * 4


@given(choices=CHOICES, inputs=INPUTS)
@settings(max_examples=100, deadline=None)
def test_random_programs(choices: list[Choice], inputs: Any) -> None:
    tensors = [t.detach() for t in leaves(inputs, 0)]

    def function(*given: Any) -> Any:
        made = play(choices, list(given))
        return {"all": made, "none": None, "number": (1.5, "text")}

    try:
        traced = tg.jit.trace(function, tensors)
    except TraceError as error:
        assert "without operations" in str(error) or "returns a tensor" in str(error)
        return
    file = io.BytesIO()
    tg.jit.save(traced, file)
    file.seek(0)
    found = tg.jit.load(file)(*tensors)
    assert found["none"] is None and found["number"] == (1.5, "text")
    for x, y in zip(found["all"], function(*tensors)["all"], strict=True):
        same(x.array, y.array)


def test_arguments_that_nobody_reads_are_left_out() -> None:
    traced = tg.jit.trace(lambda x, y: x * 2, (tg.ones(2), tg.ones(300)))
    assert len(traced.captured.inputs) >= len(traced.program.inputs) == 1
    assert traced(tg.ones(2), tg.zeros(300)).tolist() == [2.0, 2.0]


# What is refused ------------------------------------------------------------------------------------------------------


def test_what_cannot_be_traced() -> None:
    model = MODELS["residual"]()
    with pytest.raises(TraceError, match=r"call model\.eval"):
        tg.jit.trace(model, example())
    with pytest.raises(TraceError, match=r"call model\.eval"):
        tg.jit.trace(nn.Dropout(), example())
    with pytest.raises(TraceError, match="reading a traced value"):
        tg.jit.trace(lambda x: x if x.sum() > 0 else -x, example())
    with pytest.raises(TraceError, match=r"without operations|as it is"):
        tg.jit.trace(lambda x: x, example())
    with pytest.raises(DtypeError, match="its arguments are tensors"):
        tg.jit.trace(lambda x: x, 3)
    with teaches(DtypeError, "jit.save", "a Linear is no traced program", "trace it first: jit.trace(model, x)"):
        tg.jit.save(nn.Linear(1, 1), "x")  # type: ignore[arg-type]


def test_a_call_with_other_arguments() -> None:
    traced = tg.jit.trace(lambda x, y: x + y, (tg.ones(2), tg.ones(2)))
    with pytest.raises(ShapeError, match="it takes 2 tensors, and is given 1"):
        traced(tg.ones(2))
    with pytest.raises(ShapeError, match=r"argument 1 is \(3,\), and it was traced for \(2,\)"):
        traced(tg.ones(2), tg.ones(3))
    with pytest.raises(DtypeError, match="argument 0 is float64"):
        traced(tg.ones(2, dtype="float64"), tg.ones(2))
    with pytest.raises(DtypeError, match="argument 0 is a float"):
        traced(1.0, tg.ones(2))  # type: ignore[arg-type]


def test_script_is_compile_or_trace() -> None:
    fast = tg.jit.script(lambda x: x * 2)
    assert fast(tg.ones(2)).tolist() == [2.0, 2.0] and len(fast.ledger) == 1
    assert isinstance(tg.jit.script(lambda x: x * 2, [tg.ones(2)]), tg.jit.Traced)
    with pytest.raises(TraceError):
        tg.jit.script(lambda x: x if x.sum() > 0 else -x)(tg.ones(1))


# Files that are not to be trusted -------------------------------------------------------------------------------------


def written() -> dict[str, Any]:
    """The tree of a small program, as it is in a file."""
    file = io.BytesIO()
    w = tg.ones(6, 2)
    tg.jit.trace(lambda x: ((x @ w).relu()[:, :1] * 2).sum(0), example()).save(file)
    file.seek(0)
    tree: dict[str, Any] = tg.load(file)
    return tree


def loaded(tree: Any) -> Any:
    file = io.BytesIO()
    tg.save(tree, file)
    file.seek(0)
    return tg.jit.load(file)


Change = Callable[[dict[str, Any]], Any]


def at(*path: Any, to: Any) -> Change:
    def change(tree: dict[str, Any]) -> None:
        part: Any = tree
        for key in path[:-1]:
            part = part[key]
        part[path[-1]] = to

    return change


HOSTILE: dict[str, Change] = {
    "another format": at("format", to="pickle"),
    "another version": at("version", to=99),
    "no program": at("program", to=None),
    "a function that there is not": at("program", "equations", 0, 1, to="__import__"),
    "a name of Python": at("program", "equations", 0, 1, to="eval"),
    "a text that is code": at("program", "equations", 0, 2, to=["__import__('os').system('x')"]),
    "a shape that is not the result's": at("program", "equations", 0, 0, 0, to=[9, [7, 7], "float32"]),
    "an enormous shape": at("program", "inputs", 0, to=[0, [10**9, 10**6], "float32"]),
    "a negative shape": at("program", "inputs", 0, to=[0, [-1, 6], "float32"]),
    "a dtype that there is not": at("program", "inputs", 0, to=[0, [4, 6], "object"]),
    "an output that there is not": at("program", "outputs", to=[10**6]),
    "an unknown argument": at("program", "equations", 0, 2, to=[{"call": "x"}]),
    "an unknown array": at("program", "equations", 0, 2, to=[{"array": "secret", "scalar": False}]),
    "too few arguments": at("program", "equations", 0, 2, to=[]),
    "places that are too few": at("places", to=[]),
    "a place that there is not": at("places", 0, to="nowhere"),
    "a result that there is not": at("result", to={"place": 7}),
    "a result that is code": at("result", to={"call": "x"}),
    "tensors that are none": at("tensors", to=[1, 2]),
    "equations that are text": at("program", "equations", to="many"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_file_that_is_not_sound_is_refused(name: str) -> None:
    tree = written()
    assert loaded(copy.copy(tree))(example()).shape == (1,)
    HOSTILE[name](tree)
    with pytest.raises(StateFileError):
        loaded(tree)


@given(data=st.data())
@settings(max_examples=150, deadline=None)
def test_a_part_in_place_of_another_is_refused_or_a_program(data: st.DataObject) -> None:
    """Any one part of the tree becomes something else: what is read then is refused, or runs."""
    tree = written()
    parts: list[tuple[Any, Any]] = []

    def collect(part: Any) -> None:
        for key, value in part.items() if isinstance(part, dict) else enumerate(part):
            parts.append((part, key))
            if isinstance(value, (dict, list)):
                collect(value)

    collect(tree["program"])
    part, key = data.draw(st.sampled_from(parts))
    part[key] = data.draw(st.sampled_from([None, -1, 0, 3, 2.5, "x", [], {}, True, ["x"], {"var": 0}, [[]], 10**30]))
    try:
        found = loaded(json.loads(json.dumps(tree["program"])) and tree)
    except StateFileError:
        return
    try:
        found(example())
    except EduError:
        return


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.jit"
    tg.jit.trace(nn.Linear(6, 2), example()).save(path)
    whole = path.read_bytes()
    for cut in (0, 5, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:cut])
        with pytest.raises(StateFileError):
            tg.jit.load(path)
    path.write_bytes(whole[:-3] + b"abc")
    with pytest.raises(StateFileError, match="checksum"):
        tg.jit.load(path)
    tg.save({"w": tg.ones(2)}, path)
    with pytest.raises(StateFileError, match="it holds no program"):
        tg.jit.load(path)
