"""What a tip says of PyTorch and MyGrad runs there, on the tip's own inputs, and computes what the fast way does."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.tips import made_up
from tinygrad_edu import Tensor, tips
from tinygrad_edu.tips import Tip
from tinygrad_edu.tips.counting import agree
from tinygrad_edu.tips.elsewhere import faults_of_snippets, inputs_of, run_snippet, run_torch_snippet

pytestmark = pytest.mark.peers

# The name that a snippet gives to what the fast way returns, or to its first part. Others show a step of it.
RESULTS = {"broadcasting": "y", "contiguous-access": "a", "in-place": "y", "vectorise-loss": "loss"}


def cases(framework: str) -> pytest.MarkDecorator:
    """Every tip that says how it is done there."""
    found = [
        pytest.param(tip, elsewhere.code, id=tip.slug)
        for tip in tips.all_tips()
        for elsewhere in tip.elsewhere
        if elsewhere.framework.startswith(f"{framework} ")
    ]
    return pytest.mark.parametrize(("tip", "code"), found)


def same_as_fast(tip: Tip, made: Any) -> bool:
    wanted = tip.fast(*inputs_of(tip).values())
    return agree(made, wanted[0] if isinstance(wanted, tuple) else wanted, 1e-5)


@pytest.mark.filterwarnings("ignore:.*torch.jit.script.*deprecated", "ignore:Anomaly Detection has been enabled")
@cases("PyTorch")
def test_pytorch(tip: Tip, code: str) -> None:
    pytest.importorskip("torch", reason="needs PyTorch: pip install -e '.[peers]'")
    made = run_torch_snippet(tip, code)
    assert made, "the snippet makes nothing"
    if tip.slug in RESULTS:
        assert same_as_fast(tip, made[RESULTS[tip.slug]].numpy(force=True))


@cases("MyGrad")
def test_mygrad(tip: Tip, code: str) -> None:
    mg = pytest.importorskip("mygrad", reason="needs MyGrad: pip install -e '.[peers]'")

    def convert(value: Any) -> Any:
        if callable(value):
            return lambda x: mg.matmul(x, np.ones((x.shape[-1], 4)))  # in place of a model
        if not isinstance(value, Tensor):
            return value
        array = value.numpy(force=True).copy()
        return mg.tensor(array) if array.dtype.kind == "f" else array  # labels and indices are arrays there

    made = run_snippet(tip, code, convert, mg.Tensor, mg=mg, np=np)
    assert made, "the snippet makes nothing"
    if tip.slug in RESULTS:
        assert same_as_fast(tip, made[RESULTS[tip.slug]].data)


def test_a_snippet_that_fails_or_makes_nothing_is_a_fault() -> None:
    pytest.importorskip("torch", reason="needs PyTorch: pip install -e '.[peers]'")
    tip, one = made_up.TIP, made_up.TIP.elsewhere[0]
    assert list(faults_of_snippets(tip)) == []
    fails = replace(tip, elsewhere=(replace(one, code="y = x.no_such_thing()"),))
    (told,) = faults_of_snippets(fails)
    assert told.startswith("its code for PyTorch 2.13 fails: AttributeError: ")
    nothing = replace(tip, elsewhere=(replace(one, code="n = len(x)"),))
    assert list(faults_of_snippets(nothing)) == ["its code for PyTorch 2.13 makes no tensor"]


def test_every_tip_is_told_for_pytorch() -> None:
    told = {tip.slug for tip in tips.all_tips() for one in tip.elsewhere if one.framework.startswith("PyTorch ")}
    assert told == {tip.slug for tip in tips.all_tips()}
    assert set(RESULTS) <= told
