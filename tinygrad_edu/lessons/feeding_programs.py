"""The programs of the lesson on feeding a model: digits on a slow disk, loops over them, noise from a generator."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from functools import cache
from statistics import median
from typing import Any

import numpy as np

from ..common.wording import ratio_with_spread, seconds_text
from ..data import Chores, DataLoader, Dataset, TensorDataset, digits
from ..nn import Dropout, Linear, ReLU, Sequential
from ..nn import functional as F
from ..nn.utils import clip_grad_norm_
from ..observe.machine import quiet
from ..optim import SGD
from ..settings import no_grad
from ..tensor import Tensor, from_numpy
from ..tensor.creation import zeros
from ..tensor.random import seeded
from ..views.loading.training import COSTS
from ..views.predict import Outcome
from .reasons import because

READ = 0.002  # seconds to read an image
OLD, NEW = 300, 100  # images to learn from, and to test with
BATCH, EPOCHS, RATE = 32, 3, 0.5
WAITS = ("about a tenth", "about half", "about nine tenths")
SLOWER = ("about a half", "about as long", "more than 10 times as long")


class OnDisk(Dataset):
    """Digits on a slow disk: to read one takes 2 ms. A sample is 64 numbers of float32 and the digit.

    ``direct`` are the seconds that the thread which made it has spent on reading by itself, and ``read`` how many
    images it has read.
    """

    def __init__(self, x: Tensor, y: Tensor) -> None:
        self.x, self.y, self.direct, self.read, self._home = x.numpy(), y.numpy(), 0.0, 0, threading.get_ident()

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, index: int) -> tuple[np.ndarray[Any, Any], int]:
        began = time.perf_counter()
        time.sleep(READ)
        if threading.get_ident() == self._home:
            self.direct, self.read = self.direct + time.perf_counter() - began, self.read + 1
        return self.x[index], int(self.y[index])


def on_disk() -> tuple[OnDisk, OnDisk]:
    """Images to learn from, and others to test with."""
    x, y, x_new, y_new = digits().split()
    return OnDisk(x[:OLD], y[:OLD]), OnDisk(x_new[:NEW], y_new[:NEW])


@cache
def pixels() -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Mean and spread of each pixel, float64 as NumPy computes them."""
    x = digits().split()[0].numpy().astype(np.float64)
    return x.mean(0), x.std(0) + 0.1


def centred(images: OnDisk) -> Tensor:
    """All images as the script feeds them: off the mean of each pixel, over its spread; float32."""
    mean, spread = (from_numpy(one).float() for one in pixels())
    return (from_numpy(images.x) - mean) / spread


def share_waited(loader: DataLoader, step: float) -> Outcome:
    """For what share of the time a loop with steps of so many seconds waits for its loader, as a choice."""
    with quiet(None) as conditions:
        shares = sorted(stalled(loader, step) for _ in range(3))
    choice = WAITS[0 if shares[1] < 0.3 else 1 if shares[1] < 0.75 else 2]
    told = f"{because('share_waited', choice)} It waited for {shares[1]:.0%} ({shares[0]:.0%}–{shares[2]:.0%})."
    return Outcome(choice, told, f"the middle one of 3 passes (least–most) · {conditions.text()}", "measured")


def stalled(loader: DataLoader, step: float) -> float:
    """The share of one pass for which a loop with such steps waits for its loader."""
    used(loader, step)
    assert loader.timeline is not None
    return loader.timeline.stalled


def used(loader: Any, step: float = 0.0) -> float:
    """Seconds for one pass over a loader, with a step that takes some time for each batch."""
    began = time.perf_counter()
    for _ in loader:
        if step:
            time.sleep(step)
    return time.perf_counter() - began


def beside_no_workers(key: str, data: Dataset, **workers: Any) -> Outcome:
    """How long reading takes with workers, compared with reading without: the middle one of five pairs, as a choice.

    ``key`` names the reasons. What was measured is said after them.
    """
    with quiet(None) as conditions:
        pairs = []
        for _ in range(5):
            with_workers = used(DataLoader(data, batch_size=8, **workers))
            pairs.append((with_workers / (alone := used(DataLoader(data, batch_size=8))), with_workers, alone))
    pairs.sort()
    times, took, alone = pairs[2]
    low, high = pairs[0][0], pairs[-1][0]
    choice = SLOWER[0 if times < 0.6 else 1 if times < 3 else 2]
    told = f"{seconds_text(took)} with workers, {seconds_text(alone)} without: {ratio_with_spread(times, (low, high))}."
    return Outcome(
        choice,
        f"{because(key, choice)} {told}",
        f"the middle one of 5 pairs (least–most) · {conditions.text()}",
        "measured",
    )


def looping(count: int = 32) -> Chores:
    """Samples that a loop in Python makes, in about 4 ms each."""
    return Chores(count, "Python", 200)


def in_memory() -> TensorDataset:
    """The digits as two tensors."""
    x, y, _, _ = digits().split()
    return TensorDataset(x[:OLD], y[:OLD])


def noises(
    made: Callable[..., Dataset], workers: int, seed: int = 0, passes: int = 1, kept: bool = False
) -> list[bytes]:
    """The noise of eight samples, in each pass: what ``made`` adds to images that are 0, read one by one.

    With ``kept`` the workers stay from pass to pass.
    """
    with seeded(seed):
        loader = DataLoader(made(_Nothing()), batch_size=1, num_workers=workers, persistent_workers=kept)
        return [x.numpy().tobytes() for _ in range(passes) for x, _ in loader]


LOOPS = {"a": (13,), "b": (9,), "c": (3, 3, 3, 27)}  # milliseconds to read a batch, over and over


class _Timed(Dataset):
    """40 samples that wait so many milliseconds in turn."""

    def __init__(self, times: tuple[int, ...]) -> None:
        self.times = times

    def __len__(self) -> int:
        return 40

    def __getitem__(self, index: int) -> int:
        time.sleep(self.times[index % len(self.times)] / 1000)
        return index


def read_ahead(factors: tuple[int, int] = (1, 6), runs: int = 3) -> str:
    """For what share of the time three loops wait that one thread reads for, by ``prefetch_factor``."""
    one, other = (f"prefetch_factor={factor}" for factor in factors)
    lines = [f"   {'a batch takes':<22} {one:<19} {other:<19}".rstrip()]
    with quiet(None) as conditions:
        for name, times in LOOPS.items():
            cells = []
            for factor in factors:
                loader = DataLoader(_Timed(times), 1, num_workers=1, worker="thread", prefetch_factor=factor)
                least, middle, most = sorted(stalled(loader, 0.010) for _ in range(runs))
                cells.append(f"waits {middle:.0%} ({least:.0%}–{most:.0%})")
            took = f"{', '.join(map(str, times))} ms"
            lines.append(f"{name}  {took:<22} {cells[0]:<19} {cells[1]:<19}".rstrip())
    return "\n".join([*lines, f"measured: medians of {runs} passes (least–most) · {conditions.text()}"])


class _Nothing(Dataset):
    """Eight images that are 0."""

    def __len__(self) -> int:
        return 8

    def __getitem__(self, index: int) -> tuple[np.ndarray[Any, Any], int]:
        return np.zeros(64, np.float32), index


def certain_and_right() -> str:
    """The loss of the script for a digit that it recognises with certainty."""
    sure = zeros(1, 10)
    sure[0, 3] = 1.0
    return f"{F.cross_entropy(sure, zeros(1).long() + 3).item():.2f}"


@cache
def learned(
    softmax: bool = False, by_batch: bool = False, dropping: bool = False, never: bool = False
) -> tuple[list[float], list[float]]:
    """The losses and accuracies of each epoch, as they should be; or with the script's errors.

    With ``never``, no number is dropped in training once there was a test. Computed on the CPU in float32, from all
    digits at once.
    """
    old, new = on_disk()
    x, x_new = map(centred, (old, new))
    y, y_new = from_numpy(old.y), from_numpy(new.y)
    with seeded(0):
        model = Sequential(Linear(64, 256), ReLU(), Dropout(0.3), Linear(256, 10))
        optimizer, losses, right = SGD(model.parameters(), lr=RATE), [], []
        for epoch in range(EPOCHS):
            model.train(not never or not epoch)
            found = []
            for start in range(0, len(x), BATCH):
                rows = slice(start, start + BATCH)
                scores = model(x[rows])
                loss = F.cross_entropy(scores.softmax(1) if softmax else scores, y[rows])
                optimizer.zero_grad()
                loss.backward()
                clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                found.append((loss.item(), len(y[rows])))
            weights = None if by_batch else [count for _, count in found]
            losses.append(float(np.average([one for one, _ in found], weights=weights)))
            model.train(dropping)
            with no_grad():
                right.append(float((model(x_new).argmax(1) == y_new).float().mean().item()))
    return losses, right


def compared(kinds: Sequence[str] = ("waits", "NumPy", "Python"), runs: int = 5) -> str:
    """How many times as many samples a second two threads read, and two processes that stay, as the loop by itself.

    For each kind of reading, about 2 ms a sample, and nothing is done with the batches. Medians of some runs in turns,
    after one that does not count, with the least and the most.
    """
    lines = [f"{'reading':8} {'by itself':>10}  {'2 threads':<15} {'2 processes':<15}"]
    workers: tuple[dict[str, Any], ...] = (
        {}, {"num_workers": 2, "worker": "thread"}, {"num_workers": 2, "persistent_workers": True},
    )  # fmt: skip
    with quiet(None) as conditions:
        for kind in kinds:
            loaders = [DataLoader(Chores(48, kind, COSTS[kind]), batch_size=8, **options) for options in workers]
            times = [[used(loader) for loader in loaders] for _ in range(runs + 1)][1:]
            alone = 48 / median(turn[0] for turn in times)
            cells = []
            for place in (1, 2):
                ratios = sorted(turn[0] / turn[place] for turn in times)
                cells.append(ratio_with_spread(median(ratios), (ratios[0], ratios[-1])))
            lines.append(f"{kind:8} {alone:>8.0f}/s  {cells[0]:<15} {cells[1]:<15}".rstrip())
    return "\n".join([*lines, f"measured: medians of {runs} runs in turns (least–most) · {conditions.text()}"])
