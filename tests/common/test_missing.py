"""Names that are not there: what the error says, and that asking for them costs little."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Any

import pytest

import tinygrad_edu as tg
from tests.support import ROOT, run_python, teaches
from tinygrad_edu import backends, cuda, nn, optim
from tinygrad_edu.common import missing
from tinygrad_edu.errors import KeywordError

F = nn.functional
SAID = [
    (tg, "Linear", ": it is nn.Linear"),
    (tg, "cross_entropy", ": it is nn.functional.cross_entropy"),
    (tg, "DataLoader", ": it is data.DataLoader"),
    (tg, "SGD", ": it is optim.SGD"),
    (tg, "pad_sequence", ": it is nn.utils.rnn.pad_sequence"),
    (tg, "Zeros", ": write tinygrad_edu.zeros"),
    (tg, "zero_", ": it is a method of tensors, x.zero_(…)"),
    (tg, "tensors", "; near it are tinygrad_edu.tensor, tinygrad_edu.tensordot"),
    (tg, "qqqq", ""),
    (tg, "sparse_coo_tensor", ". PyTorch has it, but it is not here yet"),
    (tg, "Variable", ": it is autograd.Variable"),
    (backends, "mkldnn", ": there is no such library here to set up: leave the line out"),
    (nn, "linear", ": write nn.Linear"),
    (nn, "Adam", ": it is optim.Adam"),
    (nn, "one_hot", ": it is nn.functional.one_hot"),
    (F, "Linear", ": write nn.functional.linear"),
    (F, "conv_2d", "; near it are nn.functional.conv2d"),
    (optim, "Adamw", ": write optim.AdamW"),
    (optim, "StepLR", ": it is optim.lr_scheduler.StepLR"),
]


@pytest.mark.parametrize(("module", "name", "words"), SAID, ids=[f"{m.__name__}.{name}" for m, name, _ in SAID])
def test_what_helps(module: Any, name: str, words: str) -> None:
    with pytest.raises(AttributeError) as caught:
        getattr(module, name)
    found = str(caught.value)
    assert found.startswith(f"module {module.__name__!r} has no attribute {name!r}{words}")
    assert len(found) < 200
    assert caught.value.name == name
    assert not hasattr(module, name)


def test_what_a_gpu_is_asked() -> None:
    with pytest.raises(AttributeError, match="'set_device': streams, events and memory are here"):
        cuda.set_device  # noqa: B018


def test_old_arguments_of_losses() -> None:
    x = tg.ones(2)
    mend = "write reduction='mean' for True, and reduction='sum' for False"
    with teaches(KeywordError, "l1_loss(size_average=False)", "size_average is an old name that is gone", mend):
        F.l1_loss(x, x, size_average=False)
    with pytest.raises(KeywordError, match="leave it out for True, and write reduction='none' for False"):
        nn.CrossEntropyLoss(reduce=False)
    with pytest.raises(TypeError, match="did you mean reduction"):
        F.l1_loss(x, x, reduced=False)


def test_asking_loads_nothing() -> None:
    """Programs ask with hasattr, and shells to complete a word."""
    done = run_python(
        "import sys, tinygrad_edu as tg\n"
        "assert not hasattr(tg, 'Linear') and getattr(tg, 'nothing', 1) == 1\n"
        "print([name for name in sys.modules if name in ('tinygrad_edu.nn', 'tinygrad_edu.optim')])\n"
        "tg.Linear\n"
    )
    assert done.stdout == "[]\n"
    assert done.stderr.rstrip().endswith("module 'tinygrad_edu' has no attribute 'Linear': it is nn.Linear")


def test_private_names_get_no_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(difflib, "get_close_matches", None)
    assert missing.explain("tinygrad_edu", "__wrapped__") == "module 'tinygrad_edu' has no attribute '__wrapped__'"


@pytest.mark.peers
def test_the_list_is_pytorchs() -> None:
    torch = pytest.importorskip("torch", reason="needs PyTorch: pip install -e '.[peers]'")
    names = missing.pytorch_names()
    assert set(names) == set(missing._THEIRS.values())
    for place, listed in names.items():
        module = torch
        for part in place.split(".")[1:]:
            module = getattr(module, part)
        assert len(listed) > 10
        assert sum(hasattr(module, name) for name in listed) > 0.95 * len(listed)  # other versions differ a little
    assert Path(missing._FILE).is_relative_to(ROOT)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("greater", ": write gt"),
        ("slogdet", ": it is linalg.slogdet"),
        ("index", ". PyTorch has it, but it is not here yet; near it are index_put"),
        ("to_sparse", ". PyTorch has it, but it is not here yet"),
    ],
)
def test_methods_that_are_not_there(name: str, words: str) -> None:
    x = tg.ones(2)
    with pytest.raises(AttributeError) as caught:
        getattr(x, name)
    assert str(caught.value).startswith(f"a tensor has no attribute {name!r}{words}")
    assert not hasattr(x, name) and name not in dir(x) and name not in dir(nn.Parameter(x))


def test_other_names_of_methods_are_names_of_methods() -> None:
    assert all(hasattr(tg.Tensor, name) for name in missing._SAME.values())
    assert not any(hasattr(tg.Tensor, name) for name in missing._SAME)
