"""What the blocks of a guide take for granted: a data set, a model, a loss. ``torch`` is whatever serves as it.

The blocks in `guide/` are those of a guide to PyTorch's performance, as they stand there. They name `model`,
`train_loader`, `criterion` and so on without making them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

GUIDE = sorted((Path(__file__).parent / "guide").glob("*.py"))
SAMPLES, FEATURES, CLASSES, BATCH = 512, 8, 3, 32


class OnDevice:
    """A loader whose batches are on the device already."""

    def __init__(self, loader: Any) -> None:
        self.loader = loader

    def __iter__(self) -> Iterator[Any]:
        for data, target in self.loader:
            yield data.cuda(), target.cuda()

    def __len__(self) -> int:
        return len(self.loader)


def names(torch: Any, block: str) -> dict[str, Any]:
    """The names that a block finds; the same values each time."""
    nn, data = torch.nn, torch.utils.data
    torch.manual_seed(0)
    x = torch.randn(SAMPLES, FEATURES)
    dataset = data.TensorDataset(x, (x[:, 0] > 0).long() + (x[:, 1] > 0).long())
    model = nn.Sequential(nn.Linear(FEATURES, 16), nn.ReLU(), nn.Linear(16, CLASSES)).to("cuda")
    found: dict[str, Any] = {
        "__name__": "__main__", "torch": torch, "nn": nn, "F": nn.functional, "DataLoader": data.DataLoader,
        "dataset": dataset, "device": torch.device("cuda"), "batch_size": BATCH, "num_epochs": 1, "i": 0,
        "model": model, "criterion": nn.CrossEntropyLoss(),
        "optimizer": torch.optim.SGD(model.parameters(), lr=0.1),
    }  # fmt: skip
    loader = data.DataLoader(dataset, batch_size=BATCH, pin_memory=True)
    found["data"], found["target"] = (one.cuda() for one in next(iter(loader)))
    moved_by_the_block = block.startswith(("04", "19"))
    found["train_loader"] = loader if moved_by_the_block else OnDevice(loader)
    found["test_loader"] = OnDevice(loader)
    found["output"] = model(found["data"])
    found["loss"] = found["criterion"](found["output"], found["target"])
    if block.startswith("10"):
        found |= {"x": torch.randn(4, FEATURES) - 1.0, "self": nn.Module()}
    if block.startswith("17"):  # takes images
        found["model"] = nn.Sequential(nn.Conv2d(3, 4, 3, stride=32), nn.Flatten(), nn.Linear(196, CLASSES)).to("cuda")
    return found
