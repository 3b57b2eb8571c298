"""Recurrences: shapes that are refused, and sequences that only look long."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tinygrad_edu.errors import ShapeError
from tinygrad_edu.ops.recurrent import gru_op, lstm_op, rnn_op


@pytest.mark.parametrize(
    ("op", "gates", "states"), [(rnn_op, 1, 1), (lstm_op, 4, 2), (gru_op, 3, 1)], ids=["rnn", "lstm", "gru"]
)
def test_nothing_is_stretched(op: Any, gates: int, states: int) -> None:
    """Not even a state for the whole batch: its gradient would come back in the batch's shape."""
    wide = gates * 3
    steps, state, weight = tg.zeros(4, 2, wide), tg.zeros(2, 3), tg.zeros(wide, 3)
    assert op(steps, *[state] * states, weight).shape[-3:] == (4, 2, 3)
    rows = "H" if gates == 1 else f"{gates}H"
    why = f"a recurrence takes steps (L, N, {rows}), a state (N, H) and a weight ({rows}, H)"
    for wrong in ((steps, tg.zeros(1, 3), weight), (steps[:, :, :1], state, weight), (steps, state, weight[:, :1])):
        with pytest.raises(ShapeError) as caught:
            op(wrong[0], *[wrong[1]] * states, wrong[2])
        assert caught.value.why == why
    with pytest.raises(ShapeError, match="there is no step to take"):
        op(steps[:0], *[state] * states, weight)


def test_gates_do_not_overflow() -> None:
    """However large their inputs are, in either direction; a warning would be an error here."""
    for size in (-1e30, 1e30):
        steps, state, weight = tg.full((2, 1, 8), size, requires_grad=True), tg.zeros(1, 2), tg.zeros(8, 2)
        out = lstm_op(steps, state, state, weight)
        out.sum().backward()
        assert np.isfinite(out.detach().array).all()
        assert np.isfinite(steps.grad.array).all()
        out = gru_op(steps[:, :, :6], state, weight[:6])
        assert np.isfinite(out.detach().array).all()
