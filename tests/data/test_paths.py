"""The same objects under PyTorch's paths."""

from __future__ import annotations

import importlib

import pytest

import tinygrad_edu as tg
from tinygrad_edu import data


def test_the_data_module_has_pytorchs_path() -> None:
    from tinygrad_edu.utils.data import DataLoader, Dataset, TensorDataset, random_split

    assert (DataLoader, Dataset, TensorDataset, random_split) == (
        data.DataLoader, data.Dataset, data.TensorDataset, data.random_split,
    )  # fmt: skip
    module = importlib.import_module("tinygrad_edu.utils.data")
    assert set(module.__all__) == set(data.__all__) - {
        "Batcher",
        "Chores",
        "Digits",
        "ImageFolder",
        "Text",
        "digits",
        "draw_images",
        "text",
    }  # which are not PyTorch's
    assert all(getattr(module, name) is getattr(data, name) for name in module.__all__)
    assert tg.utils.data is module


@pytest.mark.peers
def test_its_names_are_pytorchs() -> None:
    theirs = pytest.importorskip("torch", reason="needs PyTorch: pip install -e '.[peers]'").utils.data
    assert all(hasattr(theirs, name) for name in tg.utils.data.__all__)


@pytest.mark.parametrize("path", ["utils.data.dataloader", "utils.data.dataset", "utils.data.sampler"])
def test_its_parts_have_pytorchs_paths(path: str) -> None:
    parts = importlib.import_module(f"tinygrad_edu.{path}")
    assert all(getattr(parts, name) is getattr(data, name) for name in parts.__all__)
    assert getattr(tg.utils.data, path.rpartition(".")[2]) is parts


@pytest.mark.peers
@pytest.mark.parametrize("path", ["utils.data.dataloader", "utils.data.dataset", "utils.data.sampler"])
def test_the_names_of_its_parts_are_pytorchs(path: str) -> None:
    pytest.importorskip("torch", reason="needs PyTorch: pip install -e '.[peers]'")
    parts, theirs = importlib.import_module(f"tinygrad_edu.{path}"), importlib.import_module(f"torch.{path}")
    assert all(hasattr(theirs, name) for name in parts.__all__)


def test_switches_of_devices_that_are_not_here() -> None:
    """Programs ask for them, or set them, before they choose the CPU."""
    import tinygrad_edu.backends.cudnn as cudnn
    import tinygrad_edu.backends.mps as mps

    assert (tg.backends.cudnn, tg.backends.mps) == (cudnn, mps)
    assert (mps.is_available(), mps.is_built(), cudnn.is_available(), cudnn.version()) == (False, False, False, None)
    before = cudnn.benchmark, cudnn.deterministic
    try:
        tg.backends.cudnn.benchmark, tg.backends.cudnn.deterministic = True, True
        assert (cudnn.benchmark, cudnn.deterministic) == (True, True)
    finally:
        cudnn.benchmark, cudnn.deterministic = before


@pytest.mark.peers
def test_these_switches_are_pytorchs() -> None:
    theirs = pytest.importorskip("torch", reason="needs PyTorch: pip install -e '.[peers]'").backends
    for ours, other in ((tg.backends.cudnn, theirs.cudnn), (tg.backends.mps, theirs.mps)):
        names = [name for name in vars(ours) if not name.startswith("_") and name != "annotations"]
        assert len(names) >= 2
        assert all(hasattr(other, name) for name in names)
