"""``tinygrad-edu advise``: a script runs as ever, and the tips that apply to it are told."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import ROOT

SLOW = """
import sys
import tinygrad_edu as tg
print("given", sys.argv[1:], __name__)
x, model = tg.rand(64, 8), tg.nn.Linear(8, 2)
with tg.no_grad():
    answers = [model(x[i : i + 1]) for i in range(64)]
"""
FOR_PYTORCH = """
import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
x, y = torch.randn(256, 16), torch.zeros(256).long()
model = nn.Linear(16, 2).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(10):
    loss = nn.functional.cross_entropy(model(x.to(device)), y.to(device))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(loss.item())
"""


def advise(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tinygrad_edu", "advise", *arguments]
    env = {"PYTHONPATH": str(ROOT), "PATH": "", "COLUMNS": "200"}
    return subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, timeout=100, check=False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "slow.py").write_text(SLOW)
    (tmp_path / "train.py").write_text(FOR_PYTORCH)
    return tmp_path


def test_a_script(folder: Path) -> None:
    ran = advise("slow.py", "--epochs", "3", cwd=folder)
    assert (ran.returncode, ran.stderr) == (0, "")
    first, second, told, *_ = ran.stdout.splitlines()
    assert (first, second) == ("given ['--epochs', '3'] __main__", "")
    assert told.startswith("1 tip applies (130 operations watched in ")
    assert "   slow.py, line 7: answers = [model(x[i : i + 1]) for i in range(64)]\n" in ran.stdout
    assert ran.stdout.endswith("   try:  tinygrad-edu tips run vectorise --size n=64\n")


def test_a_script_for_pytorch(folder: Path) -> None:
    ran = advise("--json", "train.py", cwd=folder)
    assert ran.returncode == 0, ran.stderr
    found = {one["tip"]: one for one in json.loads(ran.stdout)["advice"]}
    assert {"avoid-transfers", "async-dispatch"} <= set(found)
    assert found["async-dispatch"]["line"] == "train.py, line 14: print(loss.item())"
    assert found["async-dispatch"]["simulated"] is True
    assert "'cuda' is the simulated accelerator" in ran.stderr  # where the losses went, too
    assert len(ran.stderr.splitlines()) == 11


def test_a_script_that_fails(folder: Path) -> None:
    (folder / "fails.py").write_text(SLOW + "raise ValueError('no')\n")
    ran = advise("fails.py", cwd=folder)
    assert ran.returncode == 1
    assert ran.stderr.startswith('Traceback (most recent call last):\n  File "fails.py", line 8, in <module>\n')
    assert ran.stderr.endswith("ValueError: no\n")
    assert "1 tip applies" in ran.stdout


def test_a_script_that_exits(folder: Path) -> None:
    (folder / "exits.py").write_text("import sys\nsys.exit(5)\n")
    ran = advise("exits.py", cwd=folder)
    assert ran.returncode == 5
    assert ran.stdout == "\nNothing was watched: no operation ran in this thread.\n"


def test_what_cannot_be_run(folder: Path) -> None:
    ran = advise("nowhere.py", cwd=folder)
    assert ran.returncode == 2
    assert ran.stderr == "advise nowhere.py\n  why:  there is no such file\n  mend: name a Python script\n"
    assert advise(cwd=folder).returncode == 2


def test_a_script_is_run_again_without_its_habits(folder: Path) -> None:
    """What it prints is shown once."""
    (folder / "waits.py").write_text(
        "from tinygrad_edu.data import Chores, DataLoader\n"
        "for batch in DataLoader(Chores(24, 'waits', 5), batch_size=4):\n    print('read')\n"
    )
    ran = advise("--measure", "waits.py", cwd=folder)
    assert (ran.returncode, ran.stderr) == (0, "") and ran.stdout.count("read\n") == 6
    assert "\n   run again: " in ran.stdout and " without (measured, 3 turns): " in ran.stdout
