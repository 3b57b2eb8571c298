"""From data to a trained network, seeded: what the lessons do, in the time that they have."""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np

import tinygrad_edu as tg
from tinygrad_edu import data, nn, optim
from tinygrad_edu.settings import promotion

F = nn.functional


def train_on_digits(seed: int) -> tuple[float, float]:
    """Test accuracy and seconds of a 64-64-10 network on the stratified split: the settings of the first lesson."""
    train_x, train_y, test_x, test_y = data.digits().split(test=0.2, seed=0)
    tg.manual_seed(seed)
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    optimiser = optim.SGD(model.parameters(), lr=0.2, momentum=0.9)
    loader = data.DataLoader(data.TensorDataset(train_x, train_y), batch_size=64, shuffle=True)
    start = time.perf_counter()
    for _ in range(30):
        for x, y in loader:
            optimiser.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimiser.step()
    seconds = time.perf_counter() - start
    with tg.no_grad():
        return float((model(test_x).argmax(1).array == test_y.array).mean()), seconds


def test_the_digits_are_learnt() -> None:
    """At least 96 % for nine seeds of ten, each well within five seconds (about 0.15 on one core)."""
    results = [train_on_digits(seed) for seed in range(10)]
    assert sorted(accuracy for accuracy, _ in results)[1] >= 0.96
    assert sorted(seconds for _, seconds in results)[5] < 5


def test_training_repeats_itself() -> None:
    assert train_on_digits(0)[0] == train_on_digits(0)[0]


def test_a_small_cnn_learns() -> None:
    tg.manual_seed(0)
    found = data.digits()
    images, labels = found.images[:256].unsqueeze(1), found.labels[:256]
    model = nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(64, 10),
    )  # fmt: skip
    optimiser = optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    losses = []
    for _ in range(8):
        for x, y in data.DataLoader(data.TensorDataset(images, labels), batch_size=32, shuffle=True):
            optimiser.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimiser.step()
            losses.append(loss.item())
    assert np.mean(losses[-8:]) < 0.5 * np.mean(losses[:4])


class Counter(nn.Module):
    """A recurrent network, made by hand: reads numbers one by one, says one at the end."""

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.read, self.remember, self.say = nn.Linear(1, hidden), nn.Linear(hidden, hidden), nn.Linear(hidden, 1)
        self.hidden = hidden

    def forward(self, sequence: tg.Tensor) -> tg.Tensor:
        """(steps, N, 1) to (N, 1)."""
        h = tg.zeros(sequence.shape[1], self.hidden)
        for x in sequence:
            h = (self.read(x) + self.remember(h)).tanh()
        return self.say(h)


def test_a_hand_made_rnn_learns_to_add_up() -> None:
    tg.manual_seed(0)
    model = Counter(16)
    optimiser = optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    sequence = tg.rand(6, 64, 1) - 0.5
    target = sequence.sum(0)
    losses = []
    for _ in range(150):
        optimiser.zero_grad()
        loss = F.mse_loss(model(sequence), target)
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    assert losses[-1] < 0.02 * losses[0]


def test_an_rnn_of_166_steps_builds_and_backpropagates() -> None:
    """About a thousand nodes, in one loop and without recursion."""
    tg.manual_seed(0)
    model = Counter(8)
    sequence = tg.randn(166, 2, 1).requires_grad_()
    loss = model(sequence).sum()
    nodes, queue = set(), [loss.grad_fn]
    while queue:
        node = queue.pop()
        if node is not None and node not in nodes:
            nodes.add(node)
            queue += node.parents
    assert len(nodes) > 5 * 166
    loss.backward()
    assert sequence.grad.shape == (166, 2, 1)
    assert np.isfinite(sequence.grad.array).all()
    assert np.abs(sequence.grad.array[-1]).min() > 0
    assert all(np.isfinite(p.grad.array).all() for p in model.parameters())


def steps(dtype: str, together: threading.Barrier | None = None) -> list[float]:
    """Losses of a small network. It switches every mode as it goes, and pauses for the other thread at each step."""
    rng = np.random.default_rng(len(dtype))
    model: Any = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 3))
    for p in model.parameters():
        p.data = tg.tensor(rng.normal(size=p.shape), dtype=dtype)
    x, y = tg.tensor(rng.normal(size=(16, 6)), dtype=dtype), tg.tensor(rng.integers(0, 3, 16))
    optimiser, losses = optim.SGD(model.parameters(), lr=0.1, momentum=0.9), []
    for step in range(20):
        if together is not None:
            together.wait()
        optimiser.zero_grad()
        with promotion("numpy" if step % 2 else "torch"):
            loss = F.cross_entropy(model(x), y)
        loss.backward(retain_graph=bool(step % 3))
        with tg.no_grad():
            model[0].weight.mul_(0.99)
            losses.append(float(F.cross_entropy(model(x), y)))
        assert tg.is_grad_enabled()
        optimiser.step()
    return losses


def test_two_threads_train_two_models_at_once() -> None:
    """Step by step side by side, and to the last bit as each alone."""
    alone = {dtype: steps(dtype) for dtype in ("float32", "float64")}
    together, found = threading.Barrier(2, timeout=30), {}
    threads = [
        threading.Thread(target=lambda dtype=dtype: found.update({dtype: steps(dtype, together)})) for dtype in alone
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert found == alone
