"""Recurrent layers and cells against recurrences written out in NumPy, and what they say when misused."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tinygrad_edu as tg
from tests.support import teaches
from tinygrad_edu import nn
from tinygrad_edu.compiler.interpret import interpret
from tinygrad_edu.compiler.trace import trace
from tinygrad_edu.errors import ArgumentError, DtypeError, ShapeError

Array = Any
LAYERS = {"RNN": nn.RNN, "LSTM": nn.LSTM, "GRU": nn.GRU}
CELLS = {"RNN": nn.RNNCell, "LSTM": nn.LSTMCell, "GRU": nn.GRUCell}


# The recurrences, by hand ------------------------------------------------------------------------------------


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def step(kind: str, x: Array, states: list[Array], w: dict[str, Array], relu: bool = False) -> list[Array]:
    """The states after one step, (N, H) each."""
    given_, held = x @ w["weight_ih"].T + w["bias_ih"], states[0] @ w["weight_hh"].T + w["bias_hh"]
    if kind == "RNN":
        return [np.maximum(given_ + held, 0) if relu else np.tanh(given_ + held)]
    size = states[0].shape[1]
    xs, hs = ([a[:, i * size : (i + 1) * size] for i in range(a.shape[1] // size)] for a in (given_, held))
    if kind == "GRU":
        reset, update = sigmoid(xs[0] + hs[0]), sigmoid(xs[1] + hs[1])
        return [(1 - update) * np.tanh(xs[2] + reset * hs[2]) + update * states[0]]
    into, forget, new, output = (x + h for x, h in zip(xs, hs, strict=True))
    cell = sigmoid(forget) * states[1] + sigmoid(into) * np.tanh(new)
    return [sigmoid(output) * np.tanh(cell), cell]


def weights_of(module: nn.Module, suffix: str = "") -> dict[str, Array]:
    """The parameters of one layer in one direction; biases that are missing are 0."""
    found = {name: p.detach().array for name, p in module.named_parameters()}
    names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    return {name: found.get(name + suffix, np.zeros(1)) for name in names}


def by_hand(layer: Any, kind: str, x: Array, states: list[Array], relu: bool = False) -> tuple[Array, list[Array]]:
    """All outputs (L, N, directions * H) of ``x`` (L, N, I), and the last states."""
    final, place = [], 0
    for i in range(layer.num_layers):
        sides = []
        for suffix in ("", "_reverse")[: 1 + layer.bidirectional]:
            now, outputs, w = [s[place] for s in states], [None] * len(x), weights_of(layer, f"_l{i}{suffix}")
            for t in range(len(x)) if not suffix else range(len(x) - 1, -1, -1):
                now = step(kind, x[t], now, w, relu)
                outputs[t] = now[0]
            final.append(now)
            sides.append(np.stack(outputs))  # type: ignore[arg-type]
            place += 1
        x = np.concatenate(sides, -1)
    return x, [np.stack(kind_) for kind_ in zip(*final, strict=True)]


def numbers(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng([seed, *shape]).normal(size=shape)


def close(ours: Any, expected: Array) -> None:
    assert ours.shape == expected.shape
    np.testing.assert_allclose(ours.detach().array, expected, rtol=1e-11, atol=1e-13)


def as_list(states: Any) -> list[Any]:
    return list(states) if isinstance(states, tuple) else [states]


@settings(max_examples=60, deadline=None)
@given(
    kind=st.sampled_from(list(LAYERS)),
    sizes=st.tuples(*(st.integers(1, 3),) * 4),
    layers=st.integers(1, 3),
    flags=st.tuples(*(st.booleans(),) * 4),
    relu=st.booleans(),
)
def test_layers_are_the_recurrence(
    kind: str, sizes: tuple[int, ...], layers: int, flags: tuple[bool, ...], relu: bool
) -> None:
    """Outputs and last states, for layers, directions, layouts, with biases and states or without."""
    (steps, batch, inputs, hidden), (both, first, bias, begun) = sizes, flags
    how: dict[str, Any] = {"nonlinearity": "relu"} if kind == "RNN" and relu else {}
    layer = LAYERS[kind](inputs, hidden, layers, bias=bias, batch_first=first, bidirectional=both, dtype="f8", **how)
    x, shape = numbers(steps, batch, inputs), (layers * (1 + both), batch, hidden)
    states = [numbers(*shape, seed=i) if begun else np.zeros(shape) for i in range(2 if kind == "LSTM" else 1)]
    hx: Any = tuple(map(tg.tensor, states)) if kind == "LSTM" else tg.tensor(states[0])
    output, final = layer(tg.tensor(x.swapaxes(0, 1) if first else x), *([hx] if begun else []))
    expected, expected_final = by_hand(layer, kind, x, states, bool(how))
    close(output, expected.swapaxes(0, 1) if first else expected)
    for ours, value in zip(as_list(final), expected_final, strict=True):
        close(ours, value)


@pytest.mark.parametrize("kind", LAYERS)
@pytest.mark.parametrize("first", [False, True])
def test_one_sequence_is_a_batch_of_one(kind: str, first: bool) -> None:
    layer = LAYERS[kind](2, 3, 2, bidirectional=True, batch_first=first)
    x, h = tg.randn(4, 2), [tg.randn(4, 3) for _ in range(2)]
    alone = (lambda many: tuple(many) if kind == "LSTM" else many[0])(h)
    together = (lambda many: tuple(many) if kind == "LSTM" else many[0])([s.unsqueeze(1) for s in h])
    output, final = layer(x, alone)
    outputs, finals = layer(x.unsqueeze(0 if first else 1), together)
    assert output.shape == (4, 6)
    assert output.tolist() == outputs.squeeze(0 if first else 1).tolist()
    for ours, theirs in zip(as_list(final), as_list(finals), strict=True):
        assert ours.shape == (4, 3)
        assert ours.tolist() == theirs.squeeze(1).tolist()


@pytest.mark.parametrize(("kind", "bias"), list(product(CELLS, [True, False])))
def test_a_cell_takes_one_step(kind: str, bias: bool) -> None:
    cell = CELLS[kind](2, 3, bias=bias, dtype="f8")
    x, states = numbers(4, 2), [numbers(4, 3, seed=i) for i in range(2 if kind == "LSTM" else 1)]
    hx: Any = tuple(map(tg.tensor, states)) if kind == "LSTM" else tg.tensor(states[0])
    for ours, value in zip(as_list(cell(tg.tensor(x), hx)), step(kind, x, states, weights_of(cell)), strict=True):
        close(ours, value)
    alone = tuple(s[1] for s in hx) if kind == "LSTM" else hx[1]
    for ours, value in zip(as_list(cell(tg.tensor(x[1]), alone)), as_list(cell(tg.tensor(x), hx)), strict=True):
        close(ours, value[1].detach().array)
    zeros = [np.zeros((4, 3))] * 2
    for ours, value in zip(as_list(cell(tg.tensor(x))), step(kind, x, zeros, weights_of(cell)), strict=True):
        close(ours, value)


def test_a_cell_with_relu() -> None:
    cell = nn.RNNCell(2, 3, nonlinearity="relu", dtype="f8")
    x, h = numbers(4, 2), numbers(4, 3)
    close(cell(tg.tensor(x), tg.tensor(h)), step("RNN", x, [h], weights_of(cell), relu=True)[0])


@pytest.mark.parametrize("kind", LAYERS)
def test_a_cell_step_by_step_is_the_layer(kind: str) -> None:
    layer, cell = LAYERS[kind](2, 3, dtype="f8"), CELLS[kind](2, 3, dtype="f8")
    cell.load_state_dict({name.removesuffix("_l0"): value for name, value in layer.state_dict().items()})
    x, hx = tg.tensor(numbers(5, 2, 2)), None
    output, final = layer(x)
    for t in range(5):
        hx = cell(x[t], hx)
        close(as_list(hx)[0], output[t].detach().array)
    for ours, value in zip(as_list(hx), as_list(final), strict=True):
        close(ours, value[0].detach().array)


# Gradients ---------------------------------------------------------------------------------------------------


def holding(module: Any, parameters: Any) -> Any:
    """The module, computing with other tensors in place of its parameters."""
    vars(module).update(zip(dict(module.named_parameters()), parameters, strict=True))
    return module


@pytest.mark.parametrize(("kind", "both"), list(product(LAYERS, [False, True])))
def test_gradients_are_the_slopes(kind: str, both: bool) -> None:
    """Of input, initial states and all parameters, through two layers, against finite differences."""
    layer = LAYERS[kind](1, 1, 2, bidirectional=both, dtype="f8")
    count = 1 + (kind == "LSTM")
    x = tg.tensor(numbers(3, 2, 1), requires_grad=True)
    states = [tg.tensor(numbers(2 + 2 * both, 2, 1, seed=i), requires_grad=True) for i in range(count)]

    def run(x: Any, *rest: Any) -> tuple[Any, ...]:
        hx = tuple(rest[:count]) if kind == "LSTM" else rest[0]
        output, final = holding(layer, rest[count:])(x, hx)
        return (output, *as_list(final))

    assert tg.autograd.gradcheck(run, (x, *states, *layer.parameters()))


@pytest.mark.parametrize("kind", CELLS)
def test_gradients_of_cells(kind: str) -> None:
    """First and second."""
    cell = CELLS[kind](1, 2, dtype="f8")
    x, *states = (tg.tensor(numbers(2, size, seed=size), requires_grad=True) for size in (1, 2, 2))

    def run(x: Any, h: Any, c: Any, *parameters: Any) -> Any:
        return holding(cell, parameters)(x, (h, c)) if kind == "LSTM" else holding(cell, parameters)(x, h) + c

    assert tg.autograd.gradcheck(run, (x, *states, *cell.parameters()))
    assert tg.autograd.gradgradcheck(run, (x, *states, *cell.parameters()))


@pytest.mark.parametrize("kind", LAYERS)
def test_a_layer_is_one_node(kind: str) -> None:
    """However long the sequence is."""
    output, _ = LAYERS[kind](2, 3)(tg.randn(50, 4, 2))
    node, names = output.grad_fn, []
    while node is not None and node.op is not None:
        names.append(node.op.name)
        node = next((parent for parent in node.parents if parent is not None), None)
    assert names == (["getitem"] if kind == "LSTM" else []) + [kind.lower(), "linear"]


# Properties --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", LAYERS)
def test_the_future_does_not_change_the_past(kind: str) -> None:
    """In one direction outputs depend on what came before; in the other, on what comes after."""
    layer = LAYERS[kind](2, 3, bidirectional=True)
    x = tg.randn(6, 2, 2)
    changed = x.clone()
    changed[4:] += 1
    before, after = layer(x)[0], layer(changed)[0]
    assert before[:4, :, :3].tolist() == after[:4, :, :3].tolist()
    assert (before[4:, :, :3] != after[4:, :, :3]).all().item()
    assert (before[:5, :, 3:] != after[:5, :, 3:]).all().item()
    changed = x.clone()
    changed[:2] += 1
    assert layer(changed)[0][2:, :, 3:].tolist() == before[2:, :, 3:].tolist()


def test_dropout_stands_between_layers_in_training_only() -> None:
    """Everything dropped, the second layer sees zeros, and its own output stays whole."""
    layer = nn.GRU(2, 3, 2, dropout=1.0)
    x = tg.randn(4, 2, 2)
    dropped = layer(x)[0]
    assert (dropped != 0).all().item()
    assert dropped.tolist() == layer(x * 2)[0].tolist()
    layer.eval()
    assert layer(x)[0].tolist() != layer(x * 2)[0].tolist()
    assert layer(x)[0].tolist() != dropped.tolist()


@pytest.mark.parametrize("kind", LAYERS)
def test_half_precision_keeps_its_dtype(kind: str) -> None:
    exact = LAYERS[kind](2, 3, 2)
    half = LAYERS[kind](2, 3, 2, dtype="bfloat16")
    half.load_state_dict(exact.state_dict())
    x = tg.randn(4, 2, 2)
    output, final = half(x.bfloat16())
    assert {output.dtype.name, *(s.dtype.name for s in as_list(final))} == {"bfloat16"}
    np.testing.assert_allclose(output.float().tolist(), exact(x)[0].tolist(), atol=0.05)


@pytest.mark.parametrize("kind", LAYERS)
def test_another_device(kind: str) -> None:
    layer = LAYERS[kind](2, 3, bidirectional=True, device="far")
    output, final = layer(tg.randn(4, 2, 2).to("far"))
    output.sum().backward()
    assert {output.device, *(s.device for s in as_list(final)), *(p.grad.device for p in layer.parameters())} == {"far"}


@pytest.mark.parametrize("kind", LAYERS)
def test_a_layer_can_be_traced(kind: str) -> None:
    layer = LAYERS[kind](2, 3)
    program = trace(lambda x: layer(x)[0], tg.randn(4, 2, 2))
    x = tg.randn(4, 2, 2)
    (found,) = interpret(program, x.array)
    np.testing.assert_array_equal(found, layer(x)[0].detach().array)


# Parameters --------------------------------------------------------------------------------------------------


def test_names_shapes_and_order_are_those_of_pytorch() -> None:
    shapes = {name: t.shape for name, t in nn.LSTM(5, 3, 2, bidirectional=True).state_dict().items()}
    assert list(shapes.items()) == [
        (f"{name}_l{i}{suffix}", shape)
        for i, inputs in enumerate((5, 6))
        for suffix in ("", "_reverse")
        for name, shape in {
            "weight_ih": (12, inputs), "weight_hh": (12, 3), "bias_ih": (12,), "bias_hh": (12,)
        }.items()
    ]  # fmt: skip
    assert list(nn.GRU(5, 3, bias=False).state_dict()) == ["weight_ih_l0", "weight_hh_l0"]
    assert {name: t.shape for name, t in nn.GRUCell(5, 3).state_dict().items()} == {
        "weight_ih": (9, 5), "weight_hh": (9, 3), "bias_ih": (9,), "bias_hh": (9,)
    }  # fmt: skip
    cell = nn.RNNCell(5, 3, bias=False)
    assert list(cell.state_dict()) == ["weight_ih", "weight_hh"]
    assert (cell.bias_ih, cell.bias_hh) == (None, None)


@pytest.mark.parametrize("make", [lambda: nn.GRU(300, 16, 2), lambda: nn.LSTMCell(300, 16)], ids=["layer", "cell"])
def test_initial_values_are_spread_evenly(make: Any) -> None:
    """Over ±1/√hidden_size, whatever a parameter reads; when it is made, and when it is drawn anew."""
    tg.manual_seed(0)
    module = make()
    first = [p.tolist() for p in module.parameters()]
    for _ in range(2):
        for p in module.parameters():  # the smallest have 48 elements: one case in 40,000 stays below 0.2
            assert 0.2 < p.detach().abs().max().item() <= 0.25
        weight = next(module.parameters()).detach()
        assert weight.std().item() == pytest.approx(0.25 / 3**0.5, rel=0.03)
        assert abs(weight.mean().item()) < 0.01
        assert module.reset_parameters() is None
    assert all(p.tolist() != before for p, before in zip(module.parameters(), first, strict=True))


def test_initial_values_follow_the_seed() -> None:
    tg.manual_seed(3)
    first, other = nn.GRU(2, 3).weight_hh_l0.tolist(), nn.GRU(2, 3).weight_hh_l0.tolist()
    tg.manual_seed(3)
    assert nn.GRU(2, 3).weight_hh_l0.tolist() == first != other


def test_weights_by_layer() -> None:
    layer = nn.RNN(2, 3, 2)
    layer.flatten_parameters()
    assert [[id(w) for w in weights] for weights in layer.all_weights] == [
        [id(getattr(layer, f"{name}_l{i}")) for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]
        for i in range(2)
    ]
    assert [len(weights) for weights in nn.RNN(2, 3, bias=False).all_weights] == [2]


def test_all_weights_in_one_row() -> None:
    layer = nn.LSTM(2, 4, 2, bias=False, bidirectional=True, proj_size=3)
    assert layer._flat_weights_names == list(layer.state_dict())
    assert [id(w) for w in layer._flat_weights] == [id(w) for w in layer.parameters()]
    assert nn.GRU(2, 3)._flat_weights_names == ["weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0"]


def test_states_of_a_projection_differ() -> None:
    layer, x = nn.LSTM(2, 4, proj_size=3), tg.ones(5, 1, 2)
    with pytest.raises(ShapeError, match=r"a given state is \(1, 1, 4\), but this module and input need \(1, 1, 3\)"):
        layer(x, (tg.ones(1, 1, 4), tg.ones(1, 1, 4)))
    output, (hidden, cell) = layer(x, (tg.ones(1, 1, 3), tg.ones(1, 1, 4)))
    assert (output.shape, hidden.shape, cell.shape) == ((5, 1, 3), (1, 1, 3), (1, 1, 4))


def test_repr() -> None:
    assert repr(nn.LSTM(2, 4, 2, proj_size=3)) == "LSTM(2, 4, proj_size=3, num_layers=2)"
    assert repr(nn.RNN(2, 3)) == "RNN(2, 3)"
    assert repr(nn.LSTM(2, 3, 2, bias=False, batch_first=True, dropout=0.5, bidirectional=True)) == (
        "LSTM(2, 3, num_layers=2, bias=False, batch_first=True, dropout=0.5, bidirectional=True)"
    )
    assert repr(nn.RNNCell(2, 3, bias=False, nonlinearity="relu")) == "RNNCell(2, 3, bias=False, nonlinearity=relu)"
    assert repr(nn.GRUCell(2, 3)) == "GRUCell(2, 3)"


# Refusals ----------------------------------------------------------------------------------------------------


def test_inputs_that_do_not_fit() -> None:
    tried = "GRU(2, 3, batch_first=True) of an input (4, 5, 3)"
    why = "the last axis has 3 features, but the layer was made for 2"
    with teaches(ShapeError, tried, why, "make it with input_size=3, or check the axes", "nn.GRU("):
        nn.GRU(2, 3, batch_first=True)(tg.zeros(4, 5, 3))
    why, mend = (
        "it takes the axes (N, L, features), or without a batch (L, features)",
        "check the axes: unsqueeze adds one, flatten joins two",
    )
    with teaches(ShapeError, "GRU(2, 3, batch_first=True) of an input (2,)", why, mend, "nn.GRU("):
        nn.GRU(2, 3, batch_first=True)(tg.zeros(2))
    why = "it takes the axes (N, features), or without a batch (features)"
    with teaches(ShapeError, "GRUCell(2, 3) of an input (1, 1, 2)", why, mend, "nn.GRUCell("):
        nn.GRUCell(2, 3)(tg.zeros(1, 1, 2))
    with teaches(
        ShapeError, "GRU(2, 3) of an input (0, 4, 2)", "there is no step to take", "pass at least one step", "nn.GRU("
    ):
        nn.GRU(2, 3)(tg.zeros(0, 4, 2))
    why, mend = "it takes a tensor", "a layer takes packed sequences too; a cell takes one step"
    with teaches(ArgumentError, "LSTM of a tuple", why, mend, "nn.LSTM("):
        nn.LSTM(2, 3)((tg.zeros(4, 2), tg.tensor([2, 1, 1])))
    with pytest.raises(DtypeError, match="the operands are float64 and float32"):
        nn.GRU(2, 3)(tg.zeros(4, 1, 2, dtype="f8"))


def test_states_that_do_not_fit() -> None:
    tried, x = "LSTM(2, 3) of an input (4, 5, 2)", tg.zeros(4, 5, 2)
    why = "it has hidden states and cells, but the given state has one Tensor"
    with teaches(ArgumentError, tried, why, "pass hx=(h, c)", "nn.LSTM("):
        nn.LSTM(2, 3)(x, tg.zeros(1, 5, 3))
    with pytest.raises(ArgumentError, match="has 3 parts"):
        nn.LSTM(2, 3)(x, (tg.zeros(1, 5, 3),) * 3)
    why = "a given state is (1, 4, 3), but this module and input need (1, 5, 3)"
    mend = "give it that shape, or leave it out for zeros: zeros(1, 5, 3)"
    with teaches(ShapeError, tried, why, mend, "nn.LSTM("):
        nn.LSTM(2, 3)(x, (tg.zeros(1, 5, 3), tg.zeros(1, 4, 3)))
    with pytest.raises(ShapeError, match=r"need \(1, 3\)"):
        nn.GRU(2, 3)(x[:, 0], tg.zeros(1, 5, 3))
    with pytest.raises(ShapeError, match=r"need \(5, 3\)"):
        nn.GRUCell(2, 3)(x[0], tg.zeros(3))


@pytest.mark.parametrize("layer", [nn.RNN, nn.LSTM, nn.GRU, nn.LSTMCell])
@pytest.mark.parametrize("sizes", [(0, 3), (2, -1), (2, True)])
def test_sizes_count(layer: Any, sizes: Any) -> None:
    with pytest.raises(ArgumentError, match="it must be a whole number from 1 up"):
        layer(*sizes)


def test_arguments_that_are_refused() -> None:
    with teaches(
        ArgumentError,
        "GRU with num_layers=0",
        "it must be a whole number from 1 up",
        "use num_layers=1 or more",
        "nn.GRU(",
    ):
        nn.GRU(2, 3, 0)
    why = "it is the fraction of elements to drop, from 0 to 1"
    for share in (1.5, True, "0.5"):
        with teaches(
            ArgumentError, f"GRU with dropout={share!r}", why, "use dropout=0.5, for example", "dropout=share"
        ):
            nn.GRU(2, 3, 2, dropout=share)  # type: ignore[arg-type]
    for layer in (nn.RNN, nn.RNNCell):
        with teaches(
            ArgumentError, f"{layer.__name__} with nonlinearity='sin'", "it is 'tanh' or 'relu'",
            "use one of them", "nonlinearity=",
        ):  # fmt: skip
            layer(2, 3, nonlinearity="sin")
    why, mend = "it makes hidden states smaller, but hidden_size is 4", "use less than hidden_size, or 0"
    for size in (-1, 4):
        with teaches(
            ArgumentError, f"LSTM with proj_size={size}", why, f"{mend} to leave them as they are", "proj_size=size"
        ):
            nn.LSTM(3, 4, proj_size=size)
    why = "only an LSTM can project its states"
    with teaches(ArgumentError, "RNNBase with proj_size=2", why, "put an nn.Linear after it", "proj_size=2"):
        nn.RNNBase("GRU", 3, 4, proj_size=2)


def test_dropout_of_a_single_layer_warns() -> None:
    words = r"LSTM drops elements between its layers, so dropout=0\.5 has no effect with num_layers=1"
    with pytest.warns(UserWarning, match=words) as caught:
        nn.LSTM(2, 3, dropout=0.5)
    assert caught[0].filename == __file__
