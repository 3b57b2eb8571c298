"""The same objects under PyTorch's paths."""

from __future__ import annotations

import importlib

import pytest

import tinygrad_edu as tg
from tests.support import teaches
from tinygrad_edu import data
from tinygrad_edu.errors import AutogradError


def test_the_data_module_has_pytorchs_path() -> None:
    from tinygrad_edu.utils.data import DataLoader, Dataset, TensorDataset, random_split

    assert (DataLoader, Dataset, TensorDataset, random_split) == (
        data.DataLoader, data.Dataset, data.TensorDataset, data.random_split,
    )  # fmt: skip
    module = importlib.import_module("tinygrad_edu.utils.data")
    assert set(module.__all__) == set(data.__all__) - {"Digits", "digits"}  # which are not PyTorch's
    assert all(getattr(module, name) is getattr(data, name) for name in module.__all__)
    assert tg.utils.data is module


@pytest.mark.peers
def test_its_names_are_pytorchs() -> None:
    theirs = pytest.importorskip("torch", reason="needs PyTorch: pip install -e '.[peers]'").utils.data
    assert all(hasattr(theirs, name) for name in tg.utils.data.__all__)


def test_checkpoints_are_not_there_yet() -> None:
    from tinygrad_edu.utils.checkpoint import checkpoint

    why = "computing a part of a model again during backward is not here yet"
    mend = "call ReLU(…) itself: it gives the same values and gradients, and keeps more in memory"
    with teaches(AutogradError, "checkpoint(ReLU, …)", why, mend, "checkpoint(tg.nn.ReLU()"):
        checkpoint(tg.nn.ReLU(), tg.ones(2), use_reentrant=False)
