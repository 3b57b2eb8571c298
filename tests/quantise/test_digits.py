"""A network that reads digits: within one point of its accuracy, at a quarter of its weights' bytes."""

from __future__ import annotations

import pytest

import tinygrad_edu as tg
from examples import digits_on_a_device as digits
from tinygrad_edu.data import DataLoader, TensorDataset
from tinygrad_edu.nn.utils import dtype_report
from tinygrad_edu.quantise import quantise


@pytest.mark.parametrize("seed", [0, 1])
def test_accuracy_stays_and_bytes_are_a_quarter(seed: int) -> None:
    tg.manual_seed(seed)
    x, y, x_test, y_test = tg.data.digits().split(test=0.2)
    images, tests = x.view(-1, 1, 8, 8), DataLoader(TensorDataset(x_test.view(-1, 1, 8, 8), y_test), batch_size=120)
    net = digits.model()
    step = tg.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    for _ in range(5):
        loader = DataLoader(TensorDataset(images, y), batch_size=64, shuffle=True)
        digits.train(digits.step_of(net, step), loader, "cpu")
    usual = digits.accuracy(net, tests, "cpu")
    assert usual > 0.9
    for data in (None, [images[:256]]):
        for per_channel in (True, False):
            small = quantise(net, data, per_channel=per_channel)
            assert abs(digits.accuracy(small, tests, "cpu") - usual) <= 0.01
    weights = sum(p.nbytes for name, p in net.named_parameters() if name.endswith("weight"))
    assert {str(row.dtype): row.nbytes for row in dtype_report(small).rows}["int8"] == weights / 4
