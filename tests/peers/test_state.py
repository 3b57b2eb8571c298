"""State files to PyTorch and back, through its own reader and writer of safetensors."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tinygrad_edu import nn, optim
from tinygrad_edu.dtypes import NAMES
from tinygrad_edu.errors import StateFileError

torch = pytest.importorskip("torch", reason="needs PyTorch: pip install -e '.[peers]'")
from safetensors.torch import load_file, save_file  # noqa: E402  (needs torch)

pytestmark = pytest.mark.peers


def bits(x: Any) -> tuple[str, tuple[int, ...], bytes]:
    """Dtype, shape and bytes of a tensor of either."""
    if isinstance(x, tg.Tensor):
        return x.dtype.name, tuple(x.shape), x.array.tobytes()
    raw = x.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes() if x.numel() else b""
    return str(x.dtype).removeprefix("torch."), tuple(x.shape), raw


STATE = {
    f"{name}.{'x'.join(map(str, shape))}": (np.arange(6).reshape(shape) if 0 not in shape else np.zeros(shape), name)
    for name in NAMES
    for shape in ((6,), (2, 3), (3, 0), (1, 6, 1))
}


def test_pytorch_reads_what_we_write(tmp_path: Path) -> None:
    ours = {name: tg.tensor(values, dtype=dtype) for name, (values, dtype) in STATE.items()}
    ours |= {"0-d": tg.tensor(3.5), "turned": tg.arange(6).reshape(2, 3).T}
    tg.save(ours, tmp_path / "ours")
    theirs = load_file(tmp_path / "ours")
    assert {name: bits(x) for name, x in theirs.items()} == {name: bits(x) for name, x in ours.items()}


def test_we_read_what_pytorch_writes(tmp_path: Path) -> None:
    theirs = {name: torch.tensor(values).to(getattr(torch, dtype)) for name, (values, dtype) in STATE.items()}
    theirs["0-d"] = torch.tensor(3.5)
    save_file(theirs, tmp_path / "theirs", metadata={"format": "pt"})
    ours = tg.load(tmp_path / "theirs")
    assert {name: bits(x) for name, x in ours.items()} == {name: bits(x) for name, x in theirs.items()}


def network(library: Any, layers: Any) -> Any:
    return layers.Sequential(layers.Conv2d(1, 3, 3), layers.ReLU(), layers.Flatten(), layers.Linear(27, 4))


def test_a_trained_network_moves_both_ways(tmp_path: Path) -> None:
    ours, theirs = network(tg, nn), network(torch, torch.nn)
    images = np.random.default_rng(0).normal(size=(2, 1, 5, 5)).astype("f4")
    tg.save(ours.state_dict(), tmp_path / "ours")
    theirs.load_state_dict(load_file(tmp_path / "ours"))
    np.testing.assert_allclose(
        ours(tg.tensor(images)).detach().array, theirs(torch.tensor(images)).detach().numpy(), rtol=1e-5, atol=1e-6
    )
    other = network(torch, torch.nn)
    save_file(other.state_dict(), tmp_path / "theirs")
    ours.load_state_dict(tg.load(tmp_path / "theirs"))
    np.testing.assert_allclose(
        ours(tg.tensor(images)).detach().array, other(torch.tensor(images)).detach().numpy(), rtol=1e-5, atol=1e-6
    )


def test_a_file_of_torch_save_is_refused_with_the_way_out(tmp_path: Path) -> None:
    for old in (False, True):
        buffer = io.BytesIO()
        torch.save({"x": torch.ones(2)}, buffer, _use_new_zipfile_serialization=not old)
        (tmp_path / "model.pt").write_bytes(buffer.getvalue())
        with pytest.raises(StateFileError, match=r"in PyTorch, use safetensors\.torch\.save_file"):
            tg.load(tmp_path / "model.pt")


def steps(m: Any, model: Any, optimizer: Any, scheduler: Any, numbers: range) -> None:
    for number in numbers:
        rng = np.random.default_rng(number)
        x, y = m.tensor(rng.normal(size=(8, 5))), m.tensor(rng.normal(size=(8, 2)))
        optimizer.zero_grad()
        m.nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
        scheduler.step()


def test_training_that_pytorch_began_goes_on_here(tmp_path: Path) -> None:
    """Five steps there, five here, with its momenta and schedule: as ten there."""

    def make(m: Any) -> tuple[Any, Any, Any]:
        model = m.nn.Linear(5, 2, dtype=m.float64)
        optimizer = m.optim.AdamW(model.parameters(), lr=0.1, weight_decay=0.05)
        return model, optimizer, m.optim.lr_scheduler.CosineAnnealingLR(optimizer, 10)

    torch.manual_seed(0)
    theirs = make(torch)
    steps(torch, *theirs, range(5))
    model, optimizer, scheduler = (part.state_dict() for part in theirs)
    flat = {f"model.{name}": x.clone() for name, x in model.items()}
    moments = {f"{i}.{name}": x.clone() for i, held in optimizer["state"].items() for name, x in held.items()}
    save_file(flat | {f"optimizer.{name}": x for name, x in moments.items()}, tmp_path / "half")
    found = tg.load(tmp_path / "half")
    ours = make(tg)
    ours[0].load_state_dict({name: found[f"model.{name}"] for name in model})
    state = {i: {name: found[f"optimizer.{i}.{name}"] for name in held} for i, held in optimizer["state"].items()}
    ours[1].load_state_dict({"state": state, "param_groups": optimizer["param_groups"]})
    ours[2].load_state_dict(scheduler)
    steps(torch, *theirs, range(5, 10))
    steps(tg, *ours, range(5, 10))
    for a, b in zip(ours[0].parameters(), theirs[0].parameters(), strict=True):
        np.testing.assert_allclose(a.detach().array, b.detach().numpy(), rtol=1e-12)
    assert optim.AdamW is type(ours[1])
