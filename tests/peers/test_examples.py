"""The examples are PyTorch programs with another import: with PyTorch's they run there, and compute the same."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg

torch = pytest.importorskip("torch", reason="needs PyTorch: pip install -e '.[peers]'")
pytestmark = [
    pytest.mark.peers,
    pytest.mark.filterwarnings("ignore:enable_nested_tensor is True"),  # PyTorch says that it has no use for it here
]

FOLDER = Path(__file__).parents[2] / "examples"
IMPORTS = {
    "import tinygrad_edu as tg": "import torch as tg",
    "from tinygrad_edu.data import": "from torch.utils.data import",
    "from tinygrad_edu.training import fit": "",  # PyTorch has none
    "from tinygrad_edu": "from torch",
}
MODELS: dict[str, tuple[str, tuple[int, ...]]] = {
    "char_gru": ("Writer", (20,)),
    "denoising_autoencoder": ("Autoencoder", ()),
    "digits_cnn": ("Net", ()),
    "tiny_transformer": ("Transformer", (20,)),
}


@pytest.fixture(autouse=True)
def as_if_run_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.syspath_prepend(FOLDER)
    monkeypatch.chdir(tmp_path)
    yield
    for name in (*MODELS, "python_help"):
        sys.modules.pop(name, None)


def theirs(name: str) -> Any:
    """The example as a module whose imports, and nothing else, are PyTorch's."""
    file = FOLDER / f"{name}.py"
    source = file.read_text(encoding="utf-8")
    if "from python_help import" in source:
        sys.modules["python_help"] = theirs("python_help")
    lines = source.splitlines()
    for i, line in enumerate(lines):
        found = next((ours for ours in IMPORTS if line.startswith(ours)), None)
        if found is not None:
            lines[i] = line.replace(found, IMPORTS[found])
    module = ModuleType(name)
    exec(compile("\n".join(lines), str(file), "exec"), vars(module))
    return module


def inputs(name: str) -> Any:
    rng = np.random.default_rng(0)
    return rng.integers(0, 20, (3, 17)) if MODELS[name][1] else rng.random((5, 1, 8, 8), np.float32)


@pytest.mark.parametrize("name", MODELS)
def test_models_have_the_same_parameters_and_compute_the_same(name: str) -> None:
    kind, sizes = MODELS[name]
    ours, other = getattr(importlib.import_module(name), kind)(*sizes), getattr(theirs(name), kind)(*sizes)
    state = {key: torch.from_numpy(value.numpy().copy()) for key, value in ours.state_dict().items()}
    assert list(state) == list(other.state_dict())
    other.load_state_dict(state)

    for mode in (True, False):
        if mode and name == "digits_cnn":
            continue  # its dropout draws different numbers
        found, wanted = ours.train(mode)(tg.tensor(inputs(name))), other.train(mode)(torch.tensor(inputs(name)))
        if name == "char_gru":
            np.testing.assert_allclose(found[1].numpy(force=True), wanted[1].numpy(force=True), rtol=1e-4, atol=1e-5)
            found, wanted = found[0], wanted[0]
        np.testing.assert_allclose(found.numpy(force=True), wanted.numpy(force=True), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", ["char_gru", "tiny_transformer"])
def test_writers_run_in_pytorch(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    here, there = importlib.import_module(name).Text(), theirs(name).Text()
    assert here.training.tolist() == there.training.tolist()
    x, y = here.held_out_rows(30)
    expected = here.perplexity_of_pairs(x, y)
    assert there.perplexity_of_pairs(*there.held_out_rows(30)) == pytest.approx(expected, rel=1e-4)

    assert theirs(name).main(steps=40) < 20
    first, last, *written = capsys.readouterr().out.splitlines()
    assert first.startswith("held-out perplexity of letter pairs")
    assert last.startswith("step   40/40")
    assert len("\n".join(written)) == 310


def test_digits_cnn_runs_in_pytorch(tmp_path: Path) -> None:
    script = theirs("digits_cnn")
    data = [torch.from_numpy(part.numpy()) for part in tg.data.digits().split(test=0.2)]

    def read_digits() -> tuple[Any, Any]:
        x, y, x_test, y_test = data
        return script.TensorDataset(x.view(-1, 1, 8, 8), y), script.TensorDataset(x_test.view(-1, 1, 8, 8), y_test)

    script.read_digits = read_digits  # the digits are ours
    assert script.main(epochs=4, path="best.pt") > 0.9
    assert (tmp_path / "best.pt").exists()


def test_noise_and_blur_in_pytorch() -> None:
    ours, other = importlib.import_module("denoising_autoencoder"), theirs("denoising_autoencoder")
    pictures = np.random.default_rng(0).random((4, 1, 8, 8), np.float32)
    blurred = ours.blurred(tg.tensor(pictures)).numpy()
    np.testing.assert_allclose(blurred, other.blurred(torch.tensor(pictures)).numpy(), rtol=1e-5, atol=1e-6)
    loader = torch.utils.data.DataLoader(other.Noisy(torch.tensor(pictures)), batch_size=4)
    ((noisy, clean),) = loader
    np.testing.assert_array_equal(clean.numpy(), pictures)
    assert 0.2 < (noisy - clean).std().item() < 0.6
