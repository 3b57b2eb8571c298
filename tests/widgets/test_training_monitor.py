"""The training monitor: what is logged is shown, also when the loop ends early."""

from __future__ import annotations

from tinygrad_edu_widgets import TrainingMonitor

import tinygrad_edu as tg


def test_it_logs_numbers_and_tensors() -> None:
    monitor = TrainingMonitor(2)
    assert repr(monitor) == "TrainingMonitor: epoch 0 of 2, nothing logged yet."
    monitor.log(loss=tg.tensor(2.0), accuracy=tg.tensor(0.25))
    monitor.log(loss=0.1)
    assert monitor.data() == {"epochs": 2, "losses": (2.0, 0.1), "accuracies": (0.25, None)}
    assert monitor.text().splitlines()[1:] == ["loss by epoch: 1: 2.00, 2: 0.100", "test accuracy 25.0 %"]
    assert repr(monitor).endswith("the loss fell to less than a tenth of what it was after the first.")
    assert "epoch 2 of 2" in monitor.html


def test_the_picture_follows_now_and_then_and_at_the_end() -> None:
    monitor = TrainingMonitor(50)
    sent: list[str] = []
    monitor.observe(lambda change: sent.append(change["new"]), names="html")
    for epoch in range(50):
        monitor.log(loss=1 / (epoch + 1))
    assert 1 <= len(sent) < 50
    assert "epoch 50 of 50" in monitor.html


def test_more_epochs_than_announced() -> None:
    monitor = TrainingMonitor(1)
    for _ in range(4):
        monitor.log(loss=1.0)
    assert "epoch 4 of 1" in monitor.html
