"""Clipping against NumPy, in place and noted; parameters as a vector and back."""

from __future__ import annotations

import copy
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import tinygrad_edu as tg
from tests.support import teaches
from tinygrad_edu import nn
from tinygrad_edu.compiler import interpret, trace
from tinygrad_edu.errors import ArgumentError, AutogradError, DtypeError, InplaceError, ShapeError
from tinygrad_edu.nn import utils


def parameters(*shapes: tuple[int, ...], dtype: Any = "float64", device: str = "cpu", seed: int = 0) -> list[Any]:
    """With gradients, but for the last."""
    rng, found = np.random.default_rng(seed), []
    for shape in shapes:
        p = tg.zeros(shape, dtype=dtype, device=device, requires_grad=True)
        p.grad = tg.tensor(rng.normal(size=shape), dtype=dtype, device=device)
        found.append(p)
    return [*found, tg.zeros(2, requires_grad=True)]


def vector(ps: list[Any]) -> Any:
    return np.concatenate([p.grad.cpu().numpy().astype("f8").ravel() for p in ps if p.grad is not None])


@given(
    shapes=st.lists(st.sampled_from([(), (3,), (2, 4), (0,), (1, 1)]), min_size=1, max_size=4),
    order=st.sampled_from([1.0, 2.0, 2, 3.5, math.inf]),
    bound=st.floats(0.01, 10),
    kind=st.sampled_from(
        [("float64", "cpu"), ("float32", "cpu"), ("bfloat16", "cpu"), ("float16", "cpu"), ("float32", "far")]
    ),
    seed=st.integers(0, 99),
)
@example(shapes=[(2, 4)], order=1.0, bound=0.01171875, kind=("float16", "cpu"), seed=25)
def test_clip_grad_norm(shapes: Any, order: float, bound: float, kind: tuple[str, str], seed: int) -> None:
    dtype, device = kind
    if order == math.inf:
        shapes = [(3,) if shape == (0,) else shape for shape in shapes]  # of no elements, none is the largest
    ps = parameters(*shapes, dtype=dtype, device=device, seed=seed)
    kept, before = [p.grad for p in ps], vector(ps)
    total = utils.clip_grad_norm_(iter(ps), bound, order)
    expected = np.linalg.norm(before, order) if before.size else 0.0
    precision = {"float64": 1e-12, "float32": 1e-5, "bfloat16": 1e-2, "float16": 2e-3}[dtype]
    assert (total.shape, total.requires_grad) == ((), False)
    assert str(total.dtype) == (dtype if dtype[:2] != "bf" and dtype != "float16" else "float32")
    assert total.item() == pytest.approx(expected, rel=1e-5 if dtype != "float64" else 1e-12)
    step = 2.0**-24 if dtype == "float16" else 0.0  # below 6e-5 its numbers are this far apart
    np.testing.assert_allclose(vector(ps), before * min(1.0, bound / (expected + 1e-6)), rtol=precision, atol=step)
    assert all(p.grad is g for p, g in zip(ps, kept, strict=True))


@given(bound=st.floats(0.01, 3), kind=st.sampled_from([("float64", "cpu"), ("bfloat16", "cpu"), ("float32", "far")]))
def test_clip_grad_value(bound: float, kind: tuple[str, str]) -> None:
    dtype, device = kind
    ps = parameters((3,), (2, 4), dtype=dtype, device=device)
    before = vector(ps)
    utils.clip_grad_value_(ps, bound)
    np.testing.assert_allclose(vector(ps), np.clip(before, -bound, bound), rtol=1e-2 if dtype == "bfloat16" else 1e-6)


def test_one_tensor_will_do() -> None:
    (p, _) = parameters((4,))
    utils.clip_grad_norm_(p, 0.5)
    assert np.linalg.norm(p.grad.numpy()) == pytest.approx(0.5, abs=1e-5)
    utils.clip_grad_value_(p, 0.01)
    assert np.abs(p.grad.numpy()).max() == 0.01
    assert utils.get_total_norm(p.grad).item() == pytest.approx(np.linalg.norm(p.grad.numpy()))


def test_no_gradients() -> None:
    assert utils.clip_grad_norm_([tg.ones(1, requires_grad=True)], 1.0).item() == 0.0
    assert utils.clip_grad_norm_([], 1.0).item() == 0.0


def test_a_generator_that_is_used_up() -> None:
    ps = nn.Linear(1, 1).parameters()
    tg.optim.SGD(ps)
    with pytest.warns(UserWarning, match="the generator of parameters was used up") as caught:
        assert utils.clip_grad_norm_(ps, 1.0).item() == 0.0
    assert len(caught) == 1


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")  # inf * 0
@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_gradients_that_are_not_finite(value: float) -> None:
    p, q, _ = parameters((2,), (2,))
    p.grad = tg.tensor([value, 1.0], dtype=tg.float64)
    before = vector([p, q])
    tried, why = f"clipping gradients whose norm is {value}", "no factor can bring it down"
    with teaches(AutogradError, tried, why, "look for the first loss that is not finite", "utils.clip_grad_norm_"):
        utils.clip_grad_norm_([p, q], 1.0, error_if_nonfinite=True)
    np.testing.assert_array_equal(vector([p, q]), before)
    assert repr(utils.clip_grad_norm_([p, q], 1.0).item()) == repr(value)
    assert np.isnan(vector([p, q])[0])
    assert np.all(np.isnan(vector([p, q])) if math.isnan(value) else vector([p, q])[1:] == 0)


@pytest.mark.parametrize(
    ("clip", "name"),
    [
        (lambda p: utils.clip_grad_norm_(p, 0.1), "clip_grad_norm_"),
        (lambda p: utils.clip_grad_value_(p, 0.1), "clip_grad_value_"),
    ],
)
def test_the_write_is_noted(clip: Any, name: str) -> None:
    """A graph that has saved the gradient, and needs it, says who overwrote it."""
    p, x = tg.ones(2, requires_grad=True), tg.ones(2, requires_grad=True)
    p.grad = tg.ones(2)
    loss = (p.grad * x).sum()
    clip(p)
    with pytest.raises(InplaceError, match=rf"{name} has overwritten it since, at test_utils\.py, line \d+: "):
        loss.backward()


def test_clipping_is_recorded() -> None:
    """The factor is computed anew in each replay: no decision is baked in."""

    def clipped(x: tg.Tensor, w: tg.Tensor) -> tuple[tg.Tensor, ...]:
        (x @ w).square().sum().backward()
        return utils.clip_grad_norm_([w], 1.0), w.grad

    def inputs(scale: float) -> list[Any]:
        rng = np.random.default_rng(0)
        return [(rng.normal(size=shape) * scale).astype("f4") for shape in ((3, 2), (2, 2))]

    def leaves(arrays: list[Any]) -> list[tg.Tensor]:
        return [tg.tensor(arrays[0]), tg.tensor(arrays[1], requires_grad=True)]

    program = trace(clipped, *leaves(inputs(1.0)))
    for scale in (1.0, 0.01):
        for found, expected in zip(interpret(program, *inputs(scale)), clipped(*leaves(inputs(scale))), strict=True):
            np.testing.assert_allclose(found, expected.array, rtol=1e-5)


def test_vector_and_back() -> None:
    layer = nn.Linear(2, 3)
    joined = utils.parameters_to_vector(layer.parameters())
    assert joined.tolist() == [*layer.weight.flatten().tolist(), *layer.bias.tolist()]
    joined.sum().backward()
    assert layer.bias.grad.tolist() == [1.0, 1.0, 1.0]
    array = layer.weight.array
    utils.vector_to_parameters(tg.arange(9.0), layer.parameters())
    assert layer.weight.array is array
    assert (layer.weight.tolist(), layer.bias.tolist()) == ([[0, 1], [2, 3], [4, 5]], [6, 7, 8])


@pytest.mark.parametrize("shape", [(8,), (10,), (3, 3)])
def test_a_vector_that_does_not_fit(shape: tuple[int, ...]) -> None:
    layer = nn.Linear(2, 3)
    before = layer.weight.tolist()
    mend = "pass a vector of that many, as parameters_to_vector gives"
    with teaches(
        ShapeError, f"vector_to_parameters of a tensor {shape}", "the parameters have 9 elements", mend, "utils."
    ):
        utils.vector_to_parameters(tg.ones(shape), layer.parameters())
    assert layer.weight.tolist() == before


def test_a_vector_of_nothing() -> None:
    with teaches(
        ArgumentError, "parameters_to_vector([])", "there is nothing to join", "pass model.parameters()", "utils."
    ):
        utils.parameters_to_vector([])


# Sequences --------------------------------------------------------------------------------------------------------


@given(
    lengths=st.lists(st.integers(0, 4), min_size=1, max_size=4),
    rest=st.sampled_from([(), (2,), (2, 1)]),
    batch_first=st.booleans(),
    left=st.booleans(),
)
def test_sequences_are_filled_up(lengths: list[int], rest: tuple[int, ...], batch_first: bool, left: bool) -> None:
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=(length, *rest)) for length in lengths]
    expected = np.full((len(arrays), max(lengths), *rest), -1.0)
    for row, array in zip(expected, arrays, strict=True):
        row[len(row) - len(array) if left else 0 :][: len(array)] = array
    tensors = [tg.tensor(array, requires_grad=True) for array in arrays]
    padded = utils.rnn.pad_sequence(iter(tensors), batch_first, -1, "left" if left else "right")
    rows = padded if batch_first else padded.transpose(0, 1)
    assert rows.tolist() == expected.tolist()
    padded.sum().backward()
    assert all((x.grad.numpy() == 1).all() for x in tensors)
    if not left:
        back = utils.rnn.unpad_sequence(padded, tg.tensor(lengths), batch_first)
        assert [one.tolist() for one in back] == [array.tolist() for array in arrays]


def test_sequences_keep_their_dtype() -> None:
    for dtype in ("int64", "float16", "bool"):
        padded = utils.rnn.pad_sequence([tg.ones(2, dtype=dtype), tg.ones(1, dtype=dtype)])
        assert (str(padded.dtype), padded.tolist()) == (dtype, [[1, 1], [1, 0]])


def test_sequences_that_do_not_go_together() -> None:
    why, mend = (
        "number 1 is (2, 4), the first (2, 3): only lengths may differ",
        "make them alike in all axes but the first",
    )
    with teaches(ShapeError, "pad_sequence of 2", why, mend, "pad_sequence"):
        utils.rnn.pad_sequence([tg.ones(2, 3), tg.ones(2, 4)])
    with pytest.raises(ShapeError, match=r"number 0 is \(\)"):
        utils.rnn.pad_sequence([tg.tensor(3.0)])
    with pytest.raises(ArgumentError, match="nothing to put together"):
        utils.rnn.pad_sequence([])
    with pytest.raises(ArgumentError, match="use 'right' or 'left'"):
        utils.rnn.pad_sequence([tg.ones(2)], padding_side="top")
    for lengths in ([1], [1, 4]):
        with pytest.raises(ShapeError, match="it holds 2 sequences of up to 3"):
            utils.rnn.unpad_sequence(tg.ones(2, 3), lengths, batch_first=True)


def test_packed_sequences_hold_what_there_is() -> None:
    parts = [tg.tensor([1.0, 2.0, 3.0]), tg.tensor([4.0]), tg.tensor([5.0, 6.0])]
    packed = utils.rnn.pack_sequence(parts, enforce_sorted=False)
    assert (packed.data.tolist(), packed.batch_sizes.tolist()) == ([1, 5, 4, 2, 6, 3], [3, 2, 1])
    assert (packed.sorted_indices.tolist(), packed.unsorted_indices.tolist()) == ([0, 2, 1], [0, 2, 1])
    padded, lengths = utils.rnn.pad_packed_sequence(packed, batch_first=True)
    back = utils.rnn.unpad_sequence(padded, lengths, batch_first=True)
    assert [one.tolist() for one in back] == [one.tolist() for one in parts]
    made = utils.rnn.PackedSequence(packed.data, packed.batch_sizes, tg.tensor([2, 0, 1]))
    assert made.unsorted_indices.tolist() == [1, 2, 0]
    assert packed.to("float64").data.dtype == packed.double().data.dtype == np.float64
    assert packed.cpu() is packed.float() is packed


def test_a_packed_sequence_reaches_each_sequences_end() -> None:
    """The last state of each is what it would be alone, and a padded element has no say."""
    layer = nn.LSTM(2, 3, bidirectional=True)
    parts = [tg.rand(n, 2) for n in (2, 4, 1)]
    output, (h, c) = layer(utils.rnn.pack_sequence(parts, enforce_sorted=False))
    padded, _ = utils.rnn.pad_packed_sequence(output)
    for i, part in enumerate(parts):
        alone, (last, cell) = layer(part)
        for found, expected in ((padded[: len(part), i], alone), (h[:, i], last), (c[:, i], cell)):
            np.testing.assert_allclose(found.detach().array, expected.detach().array, atol=1e-6)


def test_sequences_that_cannot_be_packed() -> None:
    x = tg.zeros(3, 2)
    tried = "pack_padded_sequence of a tensor (3, 2) to lengths"
    why = "the longest must come first, so that the elements of each step are side by side"
    mend = "use enforce_sorted=False to sort them"
    with teaches(ArgumentError, f"{tried} [1, 2]", why, mend):
        utils.rnn.pack_padded_sequence(x, [1, 2])
    why = "it holds 2 sequences of up to 3, and each needs at least one step"
    mend = "give the length of each; batch_first says which axis counts them"
    for lengths in ([2, 0], [4, 1], [1], [3, 2, 1]):
        with teaches(ShapeError, f"{tried} {lengths}", why, mend):
            utils.rnn.pack_padded_sequence(x, lengths)
    with pytest.raises(ShapeError, match="two axes or more, and an integer for each"):
        utils.rnn.pack_padded_sequence(tg.zeros(3), [3])
    with pytest.raises(DtypeError, match="two axes or more, and an integer for each"):
        utils.rnn.pack_padded_sequence(x, [1.5, 1.0])
    why = "the longest sequence has 3 steps"
    with teaches(ShapeError, "pad_packed_sequence with total_length=2", why, "leave total_length out, or raise it"):
        utils.rnn.pad_packed_sequence(utils.rnn.pack_padded_sequence(x, [3, 1]), total_length=2)
    with pytest.raises(ArgumentError, match="let pack_sequence or pack_padded_sequence make it"):
        utils.rnn.PackedSequence(x)


# Weights that are computed from other parameters: tests/peers/test_layers.py compares the values --------------------


def test_spectral_norm_finds_the_largest_singular_value() -> None:
    layer = utils.spectral_norm(nn.Linear(5, 4), n_power_iterations=50)
    layer(tg.ones(1, 5))
    assert tg.linalg.svd(layer.weight.detach()).S[0].item() == pytest.approx(1, abs=1e-4)
    before = layer.weight_u.clone()
    layer.eval()(tg.ones(1, 5))
    assert (layer.weight_u == before).all()  # it searches in training only


@pytest.mark.parametrize("norm", ["weight_norm", "spectral_norm"])
def test_a_copy_of_a_normed_layer_stands_alone(norm: str) -> None:
    layer = getattr(utils, norm)(nn.Linear(3, 2))
    other = copy.deepcopy(layer)
    getattr(utils, f"remove_{norm}")(other)
    assert (layer._hooks is None, other._hooks is None) == (False, True)
    assert [*dict(other.named_parameters())] == ["bias", "weight"]
    assert "weight" not in dict(layer.named_parameters())


def test_words_about_normed_weights() -> None:
    layer = nn.Linear(3, 2)
    why, mend = "it is not a parameter of this module; there are: weight, bias", "name one of its parameters"
    with teaches(ArgumentError, "weight_norm of Linear.kernel", why, mend, "utils.weight_norm(layer, "):
        utils.weight_norm(layer, "kernel")
    with pytest.raises(ArgumentError, match="it takes a module, and this is an int"):
        utils.weight_norm(3)  # type: ignore[type-var]
    why = "the singular vectors are found by products"
    with teaches(ArgumentError, "spectral_norm of Linear with n_power_iterations=0", why, "take 1 or more"):
        utils.spectral_norm(layer, n_power_iterations=0)
    for norm in ("weight_norm", "spectral_norm"):
        tried, mend = f"remove_{norm} of Linear.weight", f"leave it out, or name what {norm}() was given"
        with teaches(ArgumentError, tried, f"there is no {norm}", mend):
            getattr(utils, f"remove_{norm}")(layer)
    utils.weight_norm(layer)
    why, mend = "its weight has a weight_norm already", "take that away: remove_weight_norm(module)"
    with teaches(ArgumentError, "weight_norm of Linear.weight", why, mend):
        utils.weight_norm(layer)
