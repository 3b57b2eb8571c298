"""Recurrences. PyTorch's cells, one step after the other, are what they are compared with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.ops.cases.base import case, normal


def loop(cell: Callable[..., Any], reverse: bool) -> Callable[..., Any]:
    """All states that ``cell(torch, step, state)`` leads to. States are a tuple; (states, L, N, H), or the only one."""

    def run(torch: Any, steps: Any, states: tuple[Any, ...]) -> Any:
        found = []
        for t in sorted(range(len(steps)), reverse=reverse):
            states = cell(torch, steps[t], states)
            found.append(states)
        if reverse:
            found.reverse()
        kinds = [torch.stack(kind) for kind in zip(*found, strict=True)]
        return kinds[0] if len(kinds) == 1 else torch.stack(kinds)

    return run


def rnn(relu: bool, reverse: bool) -> Callable[..., Any]:
    def same(torch: Any, steps: Any, state: Any, weight: Any) -> Any:
        one = torch.eye(weight.shape[0], dtype=weight.dtype)
        cell = torch.rnn_relu_cell if relu else torch.rnn_tanh_cell
        return loop(lambda _, x, h: (cell(x, h[0], one, weight),), reverse)(torch, steps, (state,))

    return same


def lstm(reverse: bool) -> Callable[..., Any]:
    def same(torch: Any, steps: Any, state: Any, cell: Any, weight: Any) -> Any:
        one = torch.eye(weight.shape[0], dtype=weight.dtype)
        return loop(lambda _, x, h: torch.lstm_cell(x, h, one, weight), reverse)(torch, steps, (state, cell))

    return same


def gru(reverse: bool) -> Callable[..., Any]:
    def same(torch: Any, steps: Any, state: Any, weight: Any, bias: Any = None) -> Any:
        one = torch.eye(weight.shape[0], dtype=weight.dtype)
        zeros = None if bias is None else torch.zeros_like(bias)
        return loop(lambda _, x, h: (torch.gru_cell(x, h[0], one, weight, zeros, bias),), reverse)(
            torch, steps, (state,)
        )

    return same


for _reverse in (False, True):
    _note = "backwards" if _reverse else "forwards"
    for _relu in (False, True):
        case(
            "rnn", f"{'relu' if _relu else 'tanh'}-{_note}", normal(4, 2, 3), normal(2, 3), normal(3, 3),
            relu=_relu, reverse=_reverse, torch=rnn(_relu, _reverse), halves=4.0,
        )  # fmt: skip
    case(
        "lstm", _note, normal(4, 2, 12), normal(2, 3), normal(2, 3), normal(12, 3), reverse=_reverse,
        torch=lstm(_reverse), halves=4.0,
    )  # fmt: skip
    case(
        "gru", _note, normal(4, 2, 9), normal(2, 3), normal(9, 3), normal(9), reverse=_reverse, torch=gru(_reverse),
        halves=4.0,
    )  # fmt: skip
case("gru", "no-bias", normal(3, 1, 6), normal(1, 2), normal(6, 2), torch=gru(False), halves=4.0)
case("lstm", "one-step", normal(1, 2, 4), normal(2, 1), normal(2, 1), normal(4, 1), torch=lstm(False), halves=4.0)
