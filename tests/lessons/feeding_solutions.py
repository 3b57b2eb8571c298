"""Right and wrong answers to the tasks of the lesson on feeding a model."""

from __future__ import annotations

from typing import Any

import numpy as np

import tinygrad_edu as tg
from tinygrad_edu import nn
from tinygrad_edu.data import DataLoader, Dataset, get_worker_info
from tinygrad_edu.lessons.feeding_programs import pixels
from tinygrad_edu.lessons.ledger import Ledger
from tinygrad_edu.nn import functional as F

# The habits of the capstone's script, by the tip that tells of each, and its three errors.
HABITS = (
    "vectorise", "loader-workers", "scalar-indexing", "pinned-memory", "avoid-transfers", "gradient-clipping",
    "zero-grad-to-none", "allocate-on-device", "spurious-promotion", "keep-the-number-not-the-graph", "no-grad",
    "vectorise-loss",
)  # fmt: skip
ERRORS = ("softmax", "by_batch", "dropping")


def script(*left: str) -> Any:
    """The capstone's script with all mended but these habits and errors."""
    kind = "float64" if "spurious-promotion" in left else "float32"
    mean, spread = (tg.tensor(one, dtype=kind, device="sim") for one in pixels())

    def ready(x: Any) -> Any:
        return (x.to("sim").to(kind) - mean) / spread

    def batches(data: Any, size: int) -> Any:
        workers = {} if "loader-workers" in left else {"num_workers": 8, "worker": "thread"}
        return DataLoader(data, size, pin_memory="pinned-memory" not in left, **workers)

    def clip(model: Any) -> None:
        if "gradient-clipping" not in left:
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            return
        norm = sum(p.grad.norm().item() ** 2 for p in model.parameters()) ** 0.5
        for p in model.parameters():
            p.grad *= min(1.0, 1.0 / norm)

    def loss_of(model: Any, x: Any, y: Any) -> Any:
        def one(x: Any, y: Any) -> Any:
            scores = model(x)
            weight = tg.ones(10, dtype=kind).to("sim") if "allocate-on-device" in left else None
            return F.cross_entropy(scores.softmax(1) if "softmax" in left else scores, y, weight)

        if "vectorise" in left or "vectorise-loss" in left:
            return sum((one(x[i : i + 1], y[i : i + 1]) for i in range(len(y))), start=0) / len(y)
        return one(x, y)

    def train(images: Any, new_images: Any, epochs: int = 3) -> Any:
        model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Dropout(0.3), nn.Linear(256, 10)).to("sim", kind)
        optimizer = tg.optim.SGD(model.parameters(), lr=0.5)
        losses, accuracies, scores = [], [], []
        again = "avoid-transfers" in left
        read = [(ready(x), y.to("sim")) for x, y in ([] if again else batches(images, 32))]
        tested = [(ready(x), y.to("sim")) for x, y in ([] if again else batches(new_images, 32))]
        for _ in range(epochs):
            model.train()
            total, count = tg.zeros((), device="sim"), 0
            for x, y in ((ready(x), y.to("sim")) for x, y in batches(images, 32)) if again else read:
                loss = loss_of(model, x, y)
                optimizer.zero_grad(set_to_none="zero-grad-to-none" not in left)
                loss.backward()
                clip(model)
                optimizer.step()
                share = 1 if "by_batch" in left else len(y)
                total = total + (loss if "keep-the-number-not-the-graph" in left else loss.detach()) * share
                count += share
            losses.append(total / count)
            model.train("dropping" in left)
            right: Any = 0
            with tg.set_grad_enabled("no-grad" in left):
                for x, y in ((ready(x), y.to("sim")) for x, y in batches(new_images, 32)) if again else tested:
                    scores.append(model(x))
                    guesses = scores[-1].argmax(1)
                    if "scalar-indexing" in left:
                        right += sum(int(guesses[i] == y[i].item()) for i in range(len(y)))
                    else:
                        right = right + (guesses == y).sum()
            accuracies.append(float(right) / len(new_images))
        return model, losses, accuracies

    return train


def ledger_of(*versions: Any) -> Ledger:
    """A ledger with these versions."""
    found = Ledger()
    for number, train in enumerate(versions):
        found.add(f"version {number}", train)
    return found


def _load(**options: Any) -> Any:
    return lambda images: DataLoader(images, **{"batch_size": 16, **options})


def _noisy(noise: Any, own: bool = False) -> Any:
    class Noisy(Dataset):
        def __init__(self, images: Any) -> None:
            self.images, self.generator = images, np.random.default_rng(0)

        def __len__(self) -> int:
            return len(self.images)

        def __getitem__(self, index: int) -> Any:
            x, y = self.images[index]
            return x + noise(self, index, x.shape), y

    return Noisy


def _own(index: int) -> np.random.Generator:
    """A generator from the worker's seed and the place alone: in each pass the same, if the worker stays."""
    info = get_worker_info()
    return np.random.default_rng([0 if info is None else info.seed, index])


def _in_init(images: Any) -> Any:
    """A generator from the worker's seed, where there is no worker yet."""
    return np.random.default_rng(get_worker_info().seed), images  # type: ignore[union-attr]


def _from_info(self: Any, index: int, shape: Any) -> Any:
    info = get_worker_info()
    if not hasattr(self, "mine"):
        self.mine = np.random.default_rng(None if info is None else info.seed)
    return self.mine.normal(0, 0.1, shape)


FEEDING_SOLUTIONS: dict[str, str] = {
    "per_batch": "answer = [40, 30, 15, 10]",
    "fed_loop": """
from tinygrad_edu.data import DataLoader

def load(images):
    return DataLoader(images, batch_size=16, num_workers=5, worker="thread")

answer = load""",
    "worker_noise": """
import numpy as np
from tinygrad_edu.data import Dataset

class Noisy(Dataset):
    def __init__(self, images):
        self.images = images

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        x, y = self.images[i]
        return x + np.random.normal(0, 0.1, x.shape), y

answer = Noisy""",
    "capstone": """
from tests.lessons.feeding_solutions import ledger_of, script

answer = ledger_of(script("vectorise-loss", "no-grad"), script("scalar-indexing"), script("allocate-on-device"),
                   script("spurious-promotion"), script("loader-workers"), script())""",
    "who_reads": 'answer = "bdca"',
    "quiz_feeding": 'answer = "bbc"',
}

FEEDING_ALSO_RIGHT: dict[str, list[Any]] = {
    "per_batch": [(40.0, 30.0, 15.0, 10.0), np.array([40, 30, 15, 10])],
    "fed_loop": [
        _load(num_workers=6, worker="thread"),
        _load(num_workers=6, persistent_workers=True),
        _load(num_workers=4, prefetch_factor=3, worker="thread"),
    ],
    "worker_noise": [
        _noisy(_from_info),
        _noisy(lambda self, index, shape: (0.1 * tg.randn(*shape)).numpy()),
        _noisy(lambda self, index, shape: np.random.normal(0, 0.1, shape).astype(np.float32)),
    ],
    "who_reads": ["BDCA", "b d c a"],
    "quiz_feeding": ["b b c", "BBC"],
}

FEEDING_WRONG: dict[str, list[tuple[Any, str]]] = {
    "per_batch": [
        (40, "give four numbers"),
        ("many", "give four numbers"),
        ([30, 30, 15, 10], "the loop reads and steps in turn"),
        ([10, 30, 15, 10], "who reads, without workers?"),
        ([40, 40, 15, 10], "they do not take turns"),
        ([40, 30, 25, 10], "so the two are not added"),
        ([40, 30, 30, 10], "two workers read two batches"),
        ([40, 30, 10, 10], "two workers finish a batch"),
        ([40, 30, 15, 7.5], "but who takes them?"),
        ([40, 30, 15, 17.5], "so the two are not added"),
        ([40, 35, 15, 10], "how often is a batch ready"),
    ],
    "fed_loop": [
        (_load(), "Nobody reads while it steps"),
        (_load(num_workers=2, worker="thread"), "how many must read at once?"),
        (_load(num_workers=8, worker="thread"), "6 are allowed"),
        (_load(num_workers=6, worker="thread", prefetch_factor=4), "24 batches may lie ready"),
        (_load(num_workers=2), "started anew for each pass"),
        (_load(num_workers=5, worker="thread", batch_size=8), "the batches are others"),
        (_load(num_workers=5, worker="thread", drop_last=True), "the batches are others"),
        (_load(num_workers=5, worker="thread", shuffle=True), "the batches are others"),
        (lambda images: None, "is there a return?"),
        (lambda images: DataLoader(list(images), 16), "let it read `images` itself"),
        (list, "return a DataLoader"),
    ],
    "worker_noise": [
        (_noisy(lambda self, index, shape: self.generator.normal(0, 0.1, shape)), "Who runs __init__, and when?"),
        (
            _noisy(lambda self, index, shape: np.random.default_rng(index).normal(0, 0.1, shape)),
            "What does it depend on?",
        ),
        (_noisy(lambda self, index, shape: _own(index).normal(0, 0.1, shape)), "by workers that are new, or stay"),
        (_noisy(lambda self, index, shape: np.random.default_rng().normal(0, 0.1, shape)), "the same noise again"),
        (_noisy(lambda self, index, shape: np.random.normal(0, 1, shape)), "a spread of 0.1"),
        (_noisy(lambda self, index, shape: np.zeros(shape)), "1 different noise."),
        (_noisy(lambda self, index, shape: np.full(shape, np.random.normal(0, 0.1))), "among the pixels"),
        (_in_init, "get_worker_info() is None where"),
        (3, "hand in the class itself"),
    ],
    "capstone": [
        ("ledger", "hand in the ledger"),
        (Ledger(), "hand in the ledger"),
    ],
    "who_reads": [
        ("bdc", "give four letters"),
        ("adca", "loop 1: who opens"),
        ("cdca", "what does opening a file"),
        ("ddca", "they take 24 GB"),
        ("baca", "loop 2: they are read"),
        ("bbca", "Could it happen once?"),
        ("bdaa", "loop 3: four cores"),
        ("bdba", "runs Python"),
        ("bdda", "each is used once"),
        ("bdcb", "loop 4: what is there"),
        ("bdcc", "travel to the loop"),
        ("bdcd", "in memory already"),
    ],
    "quiz_feeding": [
        ("abc", "every 12 ms already"),
        ("cbc", "is not the limit"),
        ("bac", "leave the readers"),
        ("bcc", "who reads faster"),
        ("bba", "not whether"),
        ("bbb", "computes the same"),
        ("b", "give three letters"),
    ],
}
