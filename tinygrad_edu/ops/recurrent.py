"""Recurrences: one layer of an RNN, LSTM or GRU over all steps of a sequence, as one node.

What a step takes from the input does not depend on other steps. So it is computed beforehand, for all steps in one
product, and passed in as ``steps`` (L, N, gates * H). The loop holds only what must wait for the step before. Backward
is built the same way: slopes for all steps at once, then a loop for what flows from step to step, then the gradient of
the weights, again in one product. With ``reverse`` the last step is taken first.
"""

from __future__ import annotations

from typing import Any

from ..backends.layout import how_many
from ..core.dispatch import caller
from ..core.op import Op

# mypy: disable-error-code="override"


class Rnn(Op):
    """``state = tanh(step + state @ weight.T)`` for each of ``steps`` (L, N, H): all states, (L, N, H).

    The first ``state`` is (N, H), the ``weight`` (H, H). ``relu`` takes the place of tanh.
    """

    dtypes = "equal"
    saves = ("state", "weight", "cache", "out if not cache", "relu", "reverse")
    caches = "recomputed"

    @staticmethod
    def forward(xp: Any, steps: Any, state: Any, weight: Any, *, relu: bool = False, reverse: bool = False) -> Any:
        _check_shapes(1, steps, weight, state)
        turned, states = xp.permute(weight, (1, 0)), []
        for t in _times(steps, reverse):
            total = xp.matmul(state, turned) + steps[t]
            state = xp.relu(total) if relu else xp.tanh(total)
            states.append(state)
        return _stacked(xp, states, reverse), tuple(_in_time(states, reverse))

    @staticmethod
    def backward(
        xp: Any, g: Any, needs: Any, state: Any, weight: Any, states: Any, out: Any, relu: bool, reverse: bool
    ) -> Any:
        earlier, out = _chain(xp, state, states, out, reverse)
        slopes = xp.astype(out > 0, out.dtype) if relu else 1 - out * out
        back, pulls = 0.0, []  # what comes back from the step after; what is handed to each step
        for t in _times(out, not reverse):
            pull = (g[t] + back) * slopes[t]
            back = xp.matmul(pull, weight)
            pulls.append(pull)
        pull = _stacked(xp, pulls, not reverse)
        return pull, back, _of_weight(xp, pull, earlier) if needs[2] else None

    @staticmethod
    def hint(shapes: Any, params: Any) -> tuple[str, str] | None:
        return _hint(1, shapes)

    @classmethod
    def flops(cls, shapes: Any, out: Any, params: Any) -> int:
        return how_many(shapes[0]) * (2 * shapes[2][1] + 2)


class Lstm(Op):
    """The states and the cells of an LSTM after each of ``steps`` (L, N, 4H), together (2, L, N, H).

    ``gates = step + state @ weight.T`` are an input, a forget, a new and an output gate of H each; all but the new one
    go through a sigmoid, that one through tanh. Then ``cell = forget * cell + input * new`` and
    ``state = output * tanh(cell)``. ``state`` and ``cell`` begin as (N, H), the ``weight`` is (4H, H).
    """

    dtypes = "equal"
    saves = ("steps if not cache", "state", "cell", "weight", "out if not cache", "cache", "reverse")
    caches = "recomputed"

    @staticmethod
    def forward(xp: Any, steps: Any, state: Any, cell: Any, weight: Any, *, reverse: bool = False) -> Any:
        _check_shapes(4, steps, weight, state, cell)
        turned, scale = xp.permute(weight, (1, 0)), _scale(xp, state)
        shift, states, cells, gates = 1 - scale, [], [], []
        for t in _times(steps, reverse):
            gate = xp.tanh((xp.matmul(state, turned) + steps[t]) * scale) * scale + shift
            into, forget, new, output = _parts(gate, 4)
            cell = forget * cell + into * new
            state = output * xp.tanh(cell)
            states.append(state)
            cells.append(cell)
            gates.append(gate)
        states, cells = _in_time(states, reverse), _in_time(cells, reverse)
        out = xp.reshape(xp.concatenate(states + cells, 0), (2, len(states), *state.shape))
        return out, (tuple(states), tuple(cells), _stacked(xp, gates, reverse))

    @staticmethod
    def backward(
        xp: Any, g: Any, needs: Any, steps: Any, state: Any, cell: Any, weight: Any, out: Any, cache: Any, reverse: bool
    ) -> Any:
        states, cells, gates = cache or (None, None, None)
        earlier = _before(xp, state, states, out[0], reverse)
        before, after = _chain(xp, cell, cells, out[1], reverse)
        squashed = xp.tanh(after)
        if gates is None:
            scale = _scale(xp, state)
            gates = xp.tanh((xp.matmul(earlier, xp.permute(weight, (1, 0))) + steps) * scale) * scale + (1 - scale)
        into, forget, new, output = _parts(gates, 4)
        to_cell = output * (1 - squashed * squashed)
        slopes = xp.concatenate(
            (
                new * into * (1 - into), before * forget * (1 - forget), into * (1 - new * new),
                squashed * output * (1 - output),
            ), 2,
        )  # fmt: skip
        back, back_to_cell, pulls = 0.0, 0.0, []
        for t in _times(steps, not reverse):
            of_state = g[0, t] + back
            of_cell = g[1, t] + back_to_cell + of_state * to_cell[t]
            pull = xp.concatenate((of_cell, of_cell, of_cell, of_state), 1) * slopes[t]
            back, back_to_cell = xp.matmul(pull, weight), of_cell * forget[t]
            pulls.append(pull)
        pull = _stacked(xp, pulls, not reverse)
        return pull, back, back_to_cell, _of_weight(xp, pull, earlier) if needs[3] else None

    @staticmethod
    def hint(shapes: Any, params: Any) -> tuple[str, str] | None:
        return _hint(4, shapes)

    @classmethod
    def flops(cls, shapes: Any, out: Any, params: Any) -> int:
        return how_many(shapes[0]) * (2 * shapes[3][1] + 6)


class Gru(Op):
    """The states of a GRU after each of ``steps`` (L, N, 3H): (L, N, H).

    ``gates = state @ weight.T + bias`` and the step hold a reset, an update and a new part of H each:
    ``reset = sigmoid(step + gate)``, ``update = sigmoid(step + gate)``, ``new = tanh(step + reset * gate)``. Then
    ``state = (1 - update) * new + update * state``. It begins as (N, H), ``weight`` is (3H, H) and ``bias`` (3H).
    """

    dtypes = "equal"
    saves = ("steps if not cache", "state", "weight", "bias if not cache", "out if not cache", "cache", "reverse")
    caches = "recomputed"

    @staticmethod
    def forward(xp: Any, steps: Any, state: Any, weight: Any, bias: Any = None, *, reverse: bool = False) -> Any:
        _check_shapes(3, steps, weight, state)
        turned, size = xp.permute(weight, (1, 0)), state.shape[-1]
        states, kept = [], []
        for t in _times(steps, reverse):
            parts = both, new, _ = _gru_parts(xp, steps[t], state, turned, bias)
            state = new + both[:, size:] * (state - new)
            states.append(state)
            kept.append(parts)
        parts = tuple([_stacked(xp, part, reverse) for part in zip(*kept, strict=True)])
        return _stacked(xp, states, reverse), (tuple(_in_time(states, reverse)), parts)

    @staticmethod
    def backward(
        xp: Any, g: Any, needs: Any, steps: Any, state: Any, weight: Any, bias: Any, out: Any, cache: Any, reverse: bool
    ) -> Any:
        states, parts = cache or (None, None)
        earlier = _before(xp, state, states, out, reverse)
        if parts is None:
            parts = _gru_parts(xp, steps, earlier, xp.permute(weight, (1, 0)), bias)
        both, new, gate = parts
        reset, update = _parts(both, 2)
        of_new = (1 - update) * (1 - new * new)
        slopes = xp.concatenate(
            (of_new * gate * reset * (1 - reset), (earlier - new) * update * (1 - update), of_new * reset), 2
        )
        back, pulls, of_states = 0.0, [], []
        for t in _times(steps, not reverse):
            of_state = g[t] + back
            pull = xp.concatenate((of_state, of_state, of_state), 1) * slopes[t]
            back = of_state * update[t] + xp.matmul(pull, weight)
            pulls.append(pull)
            of_states.append(of_state)
        pull, of_state = _stacked(xp, pulls, not reverse), _stacked(xp, of_states, not reverse)
        size = new.shape[-1]
        of_steps = xp.concatenate((pull[:, :, : 2 * size], of_state * of_new), 2) if needs[0] else None
        of_weight = _of_weight(xp, pull, earlier) if needs[2] else None
        return of_steps, back, of_weight, xp.sum(pull, (0, 1), False) if needs[3] else None

    @staticmethod
    def hint(shapes: Any, params: Any) -> tuple[str, str] | None:
        return _hint(3, shapes)

    @classmethod
    def flops(cls, shapes: Any, out: Any, params: Any) -> int:
        return how_many(shapes[0]) * (2 * shapes[2][1] + 7)


def _gru_parts(xp: Any, step: Any, state: Any, turned: Any, bias: Any) -> tuple[Any, ...]:
    """Reset and update together, new, and what the reset gate lets into new or not: of one step, or of all at once."""
    gates = xp.matmul(state, turned)
    gates = gates if bias is None else gates + bias
    size = state.shape[-1]
    both = xp.tanh((gates[..., : 2 * size] + step[..., : 2 * size]) * 0.5) * 0.5 + 0.5  # two sigmoids at once
    gate = gates[..., 2 * size :]
    return both, xp.tanh(both[..., :size] * gate + step[..., 2 * size :]), gate


def _scale(xp: Any, state: Any) -> Any:
    """The factor with which one tanh computes all gates of an LSTM: ``tanh(x * scale) * scale + (1 - scale)``.

    It is 1 for the new gate; 1/2 for the others gives their sigmoid, in a form that cannot overflow.
    """
    half, one = xp.full((state.shape[-1],), 0.5, state.dtype), xp.ones((state.shape[-1],), state.dtype)
    return xp.concatenate((half, half, one, half), 0)


def _times(steps: Any, reverse: bool) -> Any:
    """The order of the steps."""
    count = steps.shape[0]
    return range(count - 1, -1, -1) if reverse else range(count)


def _parts(gates: Any, count: int) -> Any:
    """The last axis in so many parts, all of one size."""
    size = gates.shape[-1] // count
    return [gates[..., i * size : (i + 1) * size] for i in range(count)]


def _in_time(rows: Any, reverse: bool) -> Any:
    """What a loop has found, in the order of time."""
    return rows[::-1] if reverse else rows


def _stacked(xp: Any, rows: Any, reverse: bool) -> Any:
    """One array of what a loop has found, in the order of time."""
    return xp.reshape(xp.concatenate(_in_time(rows, reverse), 0), (len(rows), *rows[0].shape))


# The result of each step is cached too, because `out`, which holds them all, may be overwritten.


def _chain(xp: Any, first: Any, found: Any, out: Any, reverse: bool) -> tuple[Any, Any]:
    """For each step, the result of the step before, which it was given, and its own result."""
    rows = xp.reshape(first, (1, *first.shape))
    if found is None:
        return xp.concatenate((out[1:], rows) if reverse else (rows, out[:-1]), 0), out
    joined = xp.concatenate((*found, first) if reverse else (first, *found), 0)
    joined = xp.reshape(joined, (len(found) + 1, *first.shape))
    return (joined[1:], joined[:-1]) if reverse else (joined[:-1], joined[1:])


def _before(xp: Any, first: Any, found: Any, out: Any, reverse: bool) -> Any:
    """What each step was given."""
    return _chain(xp, first, found, out, reverse)[0]


def _of_weight(xp: Any, pull: Any, earlier: Any) -> Any:
    """The weight's gradient, of all steps and samples in one product."""
    rows = xp.reshape(pull, (pull.shape[0] * pull.shape[1], pull.shape[2]))
    return xp.matmul(xp.permute(rows, (1, 0)), xp.reshape(earlier, (rows.shape[0], earlier.shape[2])))


def _check_shapes(gates: int, steps: Any, weight: Any, *states: Any) -> None:
    """Refuse shapes that would be broadcast: gradients would come back in other shapes."""
    rows, size = weight.shape
    if rows != gates * size or not steps.shape[0] or steps.shape[2] != rows:
        raise ValueError("shape")
    for state in states:
        if state.shape != (steps.shape[1], size):
            raise ValueError("shape")


def _hint(gates: int, shapes: Any) -> tuple[str, str] | None:
    """Why these shapes do not make a recurrence."""
    if not shapes[0] or not shapes[0][0]:
        return "there is no step to take", "pass at least one step: (L, N, features)"
    wide = "H" if gates == 1 else f"{gates}H"
    why = f"a recurrence takes steps (L, N, {wide}), a state (N, H) and a weight ({wide}, H)"
    return why, "give all of them the same batch N and the same hidden size H"


rnn_op, lstm_op, gru_op = caller(Rnn), caller(Lstm), caller(Gru)
