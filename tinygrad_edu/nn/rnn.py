"""Layers that read a sequence step by step (RNN, LSTM and GRU), and their cells, which take one step.

Parameter names, shapes and initial distributions are PyTorch's. ``weight_ih`` goes from the input to the hidden
state, ``weight_hh`` from one hidden state to the next. In both, the gates are stacked as rows: input, forget, new,
output in an LSTM; reset, update, new in a GRU. The formulas are in `ops.recurrent`.
"""

from __future__ import annotations

from itertools import accumulate
from typing import Any

from ..backends import room
from ..common.lines import warn_user
from ..errors import ArgumentError, ShapeError
from ..inputs.arguments import whole
from ..ops.gathering import index_select
from ..ops.movement import cat, stack
from ..ops.recurrent import gru_op, lstm_op, rnn_op
from ..tensor import Tensor, as_tensor
from ..tensor.creation import empty, zeros
from . import functional as F
from .init import uniform_
from .module import Module, Parameter
from .utils.rnn import PackedSequence

GATES = {"RNN_TANH": 1, "RNN_RELU": 1, "LSTM": 4, "GRU": 3}
WEIGHTS = ("weight_ih", "weight_hh", "bias_ih", "bias_hh", "weight_hr")
States = tuple[Tensor, ...]  # the hidden states, and for an LSTM the cells too
Runs = list[tuple[int, int]]  # neighbouring steps with equally many sequences: how many steps, how many sequences


def scan(mode: str, x: Tensor, states: States, weights: tuple[Any, ...], reverse: bool = False) -> tuple[Any, States]:
    """One layer in one direction: its output (L, N, H), step by step of ``x`` (L, N, I), and its last states.

    ``weights`` are weight_ih, weight_hh, bias_ih, bias_hh and weight_hr; the last three may be None. ``states`` are
    (N, H) each; with weight_hr (P, H), the hidden state and the output have P features.
    """
    to_hidden, between, bias, other_bias, project = weights
    last = 0 if reverse else -1
    if mode == "GRU":  # its reset gate comes between the two biases
        out = gru_op(F.linear(x, to_hidden, bias), *states, between, other_bias, reverse=reverse)
        return out, (out[last],)
    steps = F.linear(x, to_hidden, None if bias is None else bias + other_bias)
    if project is not None:
        return _projected(steps, states, between, project, reverse)
    if mode == "LSTM":
        both = lstm_op(steps, *states, between, reverse=reverse)
        return both[0], (both[0, last], both[1, last])
    out = rnn_op(steps, *states, between, relu=mode == "RNN_RELU", reverse=reverse)
    return out, (out[last],)


def _projected(steps: Tensor, states: States, between: Tensor, project: Tensor, reverse: bool) -> tuple[Any, States]:
    """An LSTM whose hidden states are made smaller: ``hidden = project @ (output * tanh(cell))``, step by step."""
    hidden, cell = states
    outputs = []
    for step in steps.flip(0) if reverse else steps:
        into, forget, new, output = (step + F.linear(hidden, between)).chunk(4, -1)
        cell = forget.sigmoid() * cell + into.sigmoid() * new.tanh()
        hidden = F.linear(output.sigmoid() * cell.tanh(), project)
        outputs.append(hidden)
    return stack(outputs[::-1] if reverse else outputs), (hidden, cell)


def packed_scan(
    mode: str, data: Tensor, states: States, weights: tuple[Any, ...], reverse: bool, runs: Runs
) -> tuple[Tensor, States]:
    """`scan` of packed sequences, run by run: at the end of a run some of them stop or, in reverse, start."""
    starts = list(accumulate((steps * count for steps, count in runs), initial=0))
    outputs: list[Any] = [None] * len(runs)
    stopped: list[States] = []
    now = tuple(state[: runs[-1][1] if reverse else runs[0][1]] for state in states)
    for i in reversed(range(len(runs))) if reverse else range(len(runs)):
        steps, count = runs[i]
        here = now[0].shape[0]
        if here < count:
            now = tuple(cat([state, first[here:count]]) for state, first in zip(now, states, strict=True))
        elif here > count:
            stopped.append(tuple(state[count:] for state in now))
            now = tuple(state[:count] for state in now)
        x = data[starts[i] : starts[i + 1]].unflatten(0, (steps, count))
        output, now = scan(mode, x, now, weights, reverse)
        outputs[i] = output.flatten(0, 1)
    ends = zip(now, *reversed(stopped), strict=True)
    return cat(outputs), tuple(cat(parts) if stopped else parts[0] for parts in ends)


class _Recurrent(Module):
    """What layers and cells share: sizes, parameters and their first values."""

    proj_size: int = 0

    def __init__(self, mode: str, input_size: int, hidden_size: int, bias: bool) -> None:
        super().__init__()
        for name, size in (("input_size", input_size), ("hidden_size", hidden_size)):
            _check_count(type(self).__name__, name, size)
        self.mode, self.input_size, self.hidden_size, self.bias = mode, input_size, hidden_size, bias

    def _add_parameters(self, suffix: str, inputs: int, device: Any, dtype: Any) -> None:
        """The parameters of one layer in one direction, which reads ``inputs`` features. Their values come later."""
        rows = GATES[self.mode] * self.hidden_size
        shapes: dict[str, Any] = {"weight_ih": (rows, inputs), "weight_hh": (rows, self.proj_size or self.hidden_size)}
        if self.bias:
            shapes |= {"bias_ih": (rows,), "bias_hh": (rows,)}
        if self.proj_size:
            shapes["weight_hr"] = (self.proj_size, self.hidden_size)
        for name, shape in shapes.items():
            self.register_parameter(name + suffix, Parameter(empty(shape, device=device, dtype=dtype)))

    def _weights(self, suffix: str = "") -> tuple[Any, ...]:
        return tuple(getattr(self, name + suffix, None) for name in WEIGHTS)

    def reset_parameters(self) -> None:
        """Draw every parameter again, uniform over ±1/√hidden_size."""
        bound = self.hidden_size**-0.5
        for parameter in self.parameters():
            uniform_(parameter, -bound, bound)

    def _states(self, hx: Any, lead: tuple[int, ...], x: Tensor) -> States:
        """The initial states for the input ``x``, given or zeros: (``lead``, features) each."""
        count = 2 if self.mode == "LSTM" else 1
        shapes = [(*lead, self.proj_size or self.hidden_size), (*lead, self.hidden_size)][:count]
        if hx is None:
            return tuple(zeros(shape, dtype=x.dtype, device=x.device) for shape in shapes)
        if count == 2 and not (isinstance(hx, (tuple, list)) and len(hx) == 2):
            what = f"{len(hx)} parts" if isinstance(hx, (tuple, list)) else f"one {type(hx).__name__}"
            why, mend = f"it has hidden states and cells, but the given state has {what}", "pass hx=(h, c)"
            raise ArgumentError(self._tried(x), why, mend)
        states = tuple(as_tensor(state) for state in (hx if count == 2 else (hx,)))
        for state, shape in zip(states, shapes, strict=True):
            if tuple(state.shape) != shape:
                why = f"a given state is {tuple(state.shape)}, but this module and input need {shape}"
                mend = f"give it that shape, or leave it out for zeros: zeros{shape}"
                raise ShapeError(self._tried(x), why, mend)
        return states

    def _tried(self, x: Tensor) -> str:
        return f"{type(self).__name__}({self.extra_repr()}) of an input {tuple(x.shape)}"

    def _input(self, input: Any, one: tuple[str, ...], batch: tuple[str, ...]) -> Tensor:
        """The input as a tensor of the axes ``one`` or ``batch``."""
        if isinstance(input, tuple):
            why, mend = "it takes a tensor", "a layer takes packed sequences too; a cell takes one step"
            raise ArgumentError(f"{type(self).__name__} of a {type(input).__name__}", why, mend)
        x = as_tensor(input)
        if x.ndim not in (len(one), len(batch)):
            why = f"it takes the axes ({', '.join(batch)}), or without a batch ({', '.join(one)})"
            raise ShapeError(self._tried(x), why, "check the axes: unsqueeze adds one, flatten joins two")
        if x.shape[-1] != self.input_size:
            why = f"the last axis has {x.shape[-1]} features, but the layer was made for {self.input_size}"
            mend = f"make it with input_size={x.shape[-1]}, or check the axes"
            raise ShapeError(self._tried(x), why, mend)
        return x


def _check_count(own: str, name: str, value: Any) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ArgumentError(
            f"{own} with {name}={value!r}", "it must be a whole number from 1 up", f"use {name}=1 or more"
        )


def _check_projection(own: str, mode: str, proj_size: Any, hidden_size: int) -> None:
    if whole(own, "proj_size", proj_size) == 0:
        return
    tried = f"{own} with proj_size={proj_size}"
    if mode != "LSTM":
        raise ArgumentError(tried, "only an LSTM can project its states", "put an nn.Linear after it")
    if not 0 < proj_size < hidden_size:
        why = f"it makes hidden states smaller, but hidden_size is {hidden_size}"
        raise ArgumentError(tried, why, "use less than hidden_size, or 0 to leave them as they are")


def _mode(own: str, nonlinearity: str) -> str:
    modes = {"tanh": "RNN_TANH", "relu": "RNN_RELU"}
    if nonlinearity not in modes:
        tried, why = f"{own} with nonlinearity={nonlinearity!r}", "it is 'tanh' or 'relu'"
        raise ArgumentError(tried, why, "use one of them")
    return modes[nonlinearity]


class RNNBase(_Recurrent):
    """What `RNN`, `LSTM` and `GRU` share: layers on top of each other, each in one or two directions."""

    def __init__(
        self, mode: str, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True,
        batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False, proj_size: int = 0,
        device: str | None = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(mode, input_size, hidden_size, bias)
        own = type(self).__name__
        _check_count(own, "num_layers", num_layers)
        room.check(f"{own} of {num_layers} layers", (num_layers,), 10_000)  # bytes: at least as many
        if isinstance(dropout, bool) or not isinstance(dropout, (int, float)) or not 0 <= dropout <= 1:
            tried, why = f"{own} with dropout={dropout!r}", "it is the fraction of elements to drop, from 0 to 1"
            raise ArgumentError(tried, why, "use dropout=0.5, for example")
        if dropout and num_layers == 1:
            text = f"{own} drops elements between its layers, so dropout={dropout} has no effect with num_layers=1"
            warn_user(text)
        self.num_layers, self.batch_first, self.dropout = num_layers, batch_first, float(dropout)
        _check_projection(own, mode, proj_size, hidden_size)
        self.bidirectional, self.proj_size = bidirectional, proj_size
        directions = 1 + bool(bidirectional)
        for place, (_, suffix) in enumerate(self._places()):
            inputs = input_size if place < directions else directions * (proj_size or hidden_size)
            self._add_parameters(suffix, inputs, device, dtype)
        self.reset_parameters()

    def _places(self) -> list[tuple[bool, str]]:
        """Layer by layer, each direction: whether it is the reverse one, and the suffix of its parameters' names."""
        directions = (False, True) if self.bidirectional else (False,)
        return [(back, f"_l{i}{'_reverse' if back else ''}") for i in range(self.num_layers) for back in directions]

    @property
    def all_weights(self) -> list[list[Tensor]]:
        """The parameters of each layer and direction: weight_ih, weight_hh, and any biases and weight_hr."""
        return [[w for w in self._weights(suffix) if w is not None] for _, suffix in self._places()]

    @property
    def _flat_weights_names(self) -> list[str]:
        """The names of all parameters, layer by layer, each direction. Libraries that know PyTorch ask for them."""
        wanted = {"weight_ih": True, "weight_hh": True, "bias_ih": self.bias, "bias_hh": self.bias}
        wanted["weight_hr"] = bool(self.proj_size)
        return [name + suffix for _, suffix in self._places() for name in WEIGHTS if wanted[name]]

    @property
    def _flat_weights(self) -> list[Any]:
        """All parameters, in the order of `_flat_weights_names`; None for one that was deleted."""
        return [getattr(self, name, None) for name in self._flat_weights_names]

    def flatten_parameters(self) -> None:
        """Do nothing. In PyTorch this puts the parameters in one block of memory, as cuDNN wants them."""

    def forward(self, input: Any, hx: Any = None) -> tuple[Any, Any]:
        """The last layer's output after each step, and every layer's last state.

        ``input`` is (L, N, input_size), (N, L, input_size) with ``batch_first``, or (L, input_size) for one sequence.
        The output has the same axes, with ``hidden_size`` features; those of a second direction follow.
        States, given and returned, are (layers * directions, N, hidden_size), without N for one sequence; an LSTM has
        a pair of them, hidden states and cells. With ``proj_size``, output and hidden states have that many features.
        States start as zeros unless ``hx`` is given. A `PackedSequence` gives one; the states, given and returned,
        are then in the order of the sequences before sorting, and each returned one is the state after its
        sequence's own last step. Raises `ShapeError` and `DtypeError` for an input or states that do not fit.
        """
        if isinstance(input, PackedSequence):
            return self._packed(input, hx)
        order = ("N", "L", "features") if self.batch_first else ("L", "N", "features")
        given = self._input(input, ("L", "features"), order)
        batched = given.ndim == 3
        turned = batched and self.batch_first
        x = given.transpose(0, 1) if turned else given
        if not x.shape[0]:
            raise ShapeError(self._tried(given), "there is no step to take", "pass at least one step")
        states = self._states(hx, (len(self._places()), *x.shape[1:-1]), given)
        if not batched:
            x, states = x.unsqueeze(1), tuple(state.unsqueeze(1) for state in states)
        output, final = self._run(x, states)
        if not batched:
            output, final = output.squeeze(1), tuple(state.squeeze(1) for state in final)
        return output.transpose(0, 1) if turned else output, final if self.mode == "LSTM" else final[0]

    def _packed(self, input: PackedSequence, hx: Any) -> tuple[Any, Any]:
        data = self._input(input.data, ("steps", "features"), ("steps", "features"))
        runs, order = input.runs(), (input.sorted_indices, input.unsorted_indices)
        states = self._states(hx, (len(self._places()), runs[0][1]), data)
        if hx is not None and order[0] is not None:
            states = tuple(index_select(state, 1, order[0]) for state in states)
        output, final = self._run(data, states, runs)
        if order[1] is not None:
            final = tuple(index_select(state, 1, order[1]) for state in final)
        return PackedSequence(output, input.batch_sizes, *order), final if self.mode == "LSTM" else final[0]

    def _run(self, x: Tensor, states: States, runs: Runs | None = None) -> tuple[Tensor, States]:
        """The output (L, N, directions * H) and the last states, for ``x`` (L, N, I), or packed data of ``runs``."""
        final, outputs = [], []
        for place, (reverse, suffix) in enumerate(self._places()):
            first = tuple(state[place] for state in states)
            if runs is None:
                output, last = scan(self.mode, x, first, self._weights(suffix), reverse)
            else:
                output, last = packed_scan(self.mode, x, first, self._weights(suffix), reverse, runs)
            final.append(last)
            outputs.append(output)
            if reverse == self.bidirectional:  # the layer is complete
                x, outputs = cat(outputs, -1) if reverse else output, []
                if self.dropout and place + 1 < len(self._places()):
                    x = F.dropout(x, self.dropout, self.training)
        return x, tuple(stack(kind) for kind in zip(*final, strict=True))

    def extra_repr(self) -> str:
        """Sizes, and whatever differs from the defaults."""
        usual = {
            "proj_size": 0,
            "num_layers": 1,
            "bias": True,
            "batch_first": False,
            "dropout": 0.0,
            "bidirectional": False,
        }
        unusual = (f", {name}={getattr(self, name)}" for name, value in usual.items() if getattr(self, name) != value)
        return f"{self.input_size}, {self.hidden_size}{''.join(unusual)}"


class RNN(RNNBase):
    """The simple recurrence: ``h = tanh(x @ weight_ih.T + bias_ih + h @ weight_hh.T + bias_hh)`` at each step.

    Layers take each other's output, in training without a fraction ``dropout``. ``nonlinearity`` is "tanh" or "relu".

    >>> import tinygrad_edu as tg
    >>> output, h = tg.nn.RNN(4, 8, num_layers=2)(tg.zeros(10, 3, 4))
    >>> output.shape, h.shape
    ((10, 3, 8), (2, 3, 8))
    """

    def __init__(
        self, input_size: int, hidden_size: int, num_layers: int = 1, nonlinearity: str = "tanh", bias: bool = True,
        batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False, device: str | None = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        mode = _mode(type(self).__name__, nonlinearity)
        super().__init__(
            mode, input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, 0, device, dtype
        )
        self.nonlinearity = nonlinearity


class LSTM(RNNBase):
    """A recurrence with cells that its gates write, forget and read. It returns ``output, (h, c)``.

    With ``proj_size``, a matrix ``weight_hr`` makes the hidden states smaller than the cells: that many features.
    Raises `ArgumentError` unless it is below ``hidden_size``.
    """

    def __init__(
        self, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True, batch_first: bool = False,
        dropout: float = 0.0, bidirectional: bool = False, proj_size: int = 0, device: str | None = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(
            "LSTM",
            input_size,
            hidden_size,
            num_layers,
            bias,
            batch_first,
            dropout,
            bidirectional,
            proj_size,
            device,
            dtype,
        )


class GRU(RNNBase):
    """A recurrence whose gates decide how much of the old state shapes the new one, and how much of it stays."""

    def __init__(
        self, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True, batch_first: bool = False,
        dropout: float = 0.0, bidirectional: bool = False, device: str | None = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(
            "GRU", input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, 0, device, dtype
        )


class _Cell(_Recurrent):
    """One step of a recurrence."""

    def __init__(self, mode: str, input_size: int, hidden_size: int, bias: bool, device: Any, dtype: Any) -> None:
        super().__init__(mode, input_size, hidden_size, bias)
        self._add_parameters("", input_size, device, dtype)
        if not bias:
            self.register_parameter("bias_ih", None)
            self.register_parameter("bias_hh", None)
        self.reset_parameters()

    def forward(self, input: Any, hx: Any = None) -> Any:
        """The next state, (N, hidden_size); of an LSTM cell, the next hidden state and cell.

        ``input`` is (N, input_size). ``hx``, the state before it, has the shape of the result; by default it is zeros.
        Both may lack N. Raises as the layer does.
        """
        x = self._input(input, ("features",), ("N", "features"))
        states = self._states(hx, tuple(x.shape[:-1]), x)
        batched = x.ndim == 2
        if not batched:
            x, states = x.unsqueeze(0), tuple(state.unsqueeze(0) for state in states)
        _, states = scan(self.mode, x.unsqueeze(0), states, self._weights())
        if not batched:
            states = tuple(state.squeeze(0) for state in states)
        return states if self.mode == "LSTM" else states[0]

    def extra_repr(self) -> str:
        """Sizes, and whatever differs from the defaults."""
        bias = "" if self.bias else ", bias=False"
        return f"{self.input_size}, {self.hidden_size}{bias}{', nonlinearity=relu' if self.mode == 'RNN_RELU' else ''}"


class RNNCell(_Cell):
    """One step of an `RNN`: ``tanh(x @ weight_ih.T + bias_ih + h @ weight_hh.T + bias_hh)``, or relu."""

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, nonlinearity: str = "tanh",
        device: str | None = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(_mode(type(self).__name__, nonlinearity), input_size, hidden_size, bias, device, dtype)
        self.nonlinearity = nonlinearity


class LSTMCell(_Cell):
    """One step of an `LSTM`: ``h, c = cell(x, (h, c))``."""

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: str | None = None, dtype: Any = None
    ) -> None:
        super().__init__("LSTM", input_size, hidden_size, bias, device, dtype)


class GRUCell(_Cell):
    """One step of a `GRU`: ``h = cell(x, h)``."""

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: str | None = None, dtype: Any = None
    ) -> None:
        super().__init__("GRU", input_size, hidden_size, bias, device, dtype)
