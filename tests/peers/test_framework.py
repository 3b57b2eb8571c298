"""The tips in real PyTorch, from the code of their own files: each holds there, or says why it does not."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace

import pytest

from tests.tips.made_up import TIP
from tinygrad_edu import tips
from tinygrad_edu.tips import TipError
from tinygrad_edu.tips.framework import can_tell, faults_in_torch, run_in_torch, said, translated
from tinygrad_edu.tips.tip import HOLDS

pytestmark = [
    pytest.mark.peers,
    pytest.mark.filterwarnings("ignore:.*torch.jit.script.*deprecated", "ignore:Anomaly Detection has been enabled"),
]
torch = pytest.importorskip("torch", reason="needs PyTorch: pip install -e '.[peers]'")
THERE = [tip for tip in tips.all_tips() if tip.torch is not None]
each = pytest.mark.parametrize("tip", THERE, ids=lambda tip: tip.slug)


@each
def test_it_holds_in_pytorch_or_says_why_not(tip: tips.Tip) -> None:
    assert faults_in_torch(tip) == ()


@each
def test_what_runs_there_is_pytorch(tip: tips.Tip) -> None:
    given = translated(tip).inputs(torch.Generator().manual_seed(0), **{p.name: p.default for p in tip.parameters})
    kinds = {type(value) for value in given.values()}
    assert not any(kind.__module__.startswith("tinygrad_edu.tensor") for kind in kinds)
    names = translated(tip).slow.__globals__
    assert all(value is not tips for value in names.values())
    assert any(getattr(value, "__name__", "").startswith("torch") for value in names.values())


def test_most_tips_hold_there_and_few_cannot_be_run() -> None:
    assert len(THERE) >= 21
    assert {tip.slug for tip in THERE if tip.differs_in_torch} == {
        "memory-guard", "efficient-attention", "bias-activation", "fused-conv-bias-activation", "prefetch-factor",
    }  # fmt: skip


def test_what_was_counted_in_pytorch() -> None:
    """512 rows, each added by itself, against one addition: known by hand."""
    found = run_in_torch(tips.find("broadcasting"), clock=False)
    assert (found.slow["calls"], found.fast["calls"]) == (514, 1)
    assert found.fast["allocated"] == found.fast["peak"] == 512 * 256 * 4
    kept = run_in_torch(tips.find("keep-the-number-not-the-graph"), clock=False)
    assert (kept.slow["kept"], kept.fast["kept"]) == (4 * 16, 0)


def test_time_is_taken_there() -> None:
    found = run_in_torch(tips.find("vectorise"), budget=0.2)
    assert found.timing is not None and found.timing.verdict == "faster"


def test_a_tip_without_ways_there_says_why() -> None:
    with pytest.raises(TipError, match="it has no ways there"):
        run_in_torch(tips.find("memory-guard-cost"))


def test_what_is_said() -> None:
    tip = tips.find("broadcasting")
    found = run_in_torch(tip, clock=False)
    assert said(tip, found) == "In PyTorch, on this machine, the tip holds too."
    wrong = replace(found, verdict="false here", reason="B needs more.")
    assert said(tip, wrong) == "In PyTorch, on this machine: false here. B needs more."
    assert said(replace(tip, differs_in_torch="It fuses."), found) == "In PyTorch it is different. It fuses."
    only_time = replace(found, claims=())
    assert not can_tell(tip, only_time)
    assert "only the clock" in said(tip, only_time)


def test_a_tip_that_differs_without_a_word_is_a_fault() -> None:
    other = replace(TIP, claims=(tips.Claim("calls", fast=5),))
    (fault,) = faults_in_torch(other)
    assert fault.startswith("in PyTorch the verdict is false here, and nothing says why")
    assert faults_in_torch(replace(TIP, differs_in_torch="It does not.")) == (
        "it says that it differs in PyTorch, and it holds there",
    )


def test_the_command_line() -> None:
    command = [sys.executable, "-m", "tinygrad_edu", "tips", "run", "vectorise", "--framework", "torch", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    found = json.loads(done.stdout)
    assert found["version"].startswith("PyTorch ")
    assert found["here"]["verdict"] == found["there"]["verdict"] == HOLDS
    assert found["there"]["timing"]["verdict"] == "faster"
