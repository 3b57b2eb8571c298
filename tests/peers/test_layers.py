"""Layers and losses beside PyTorch's: what they print, what they hold, and what they do with the same weights."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg

torch = pytest.importorskip("torch", reason="needs PyTorch: pip install -e '.[peers]'")
pytestmark = pytest.mark.peers


@dataclass(frozen=True)
class Layer:
    """A layer's name, its arguments, and the shapes of its inputs."""

    name: str
    args: tuple[Any, ...]
    shapes: tuple[tuple[int, ...], ...]
    how: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        how = ", ".join([*map(repr, self.args), *(f"{key}={value!r}" for key, value in self.how.items())])
        return f"{self.name}({how})-{'-'.join(map(str, self.shapes))}"

    def make(self, library: Any, **more: Any) -> Any:
        return getattr(library.nn, self.name)(*self.args, **self.how, **more)

    def inputs(self, library: Any, seed: int, dtype: str = "float64") -> list[Any]:
        """Numbers of either sign, a few of them at the corners of activations; integers for an embedding."""
        rng = np.random.default_rng([seed, len(self.name)])
        if self.name.startswith("Embedding"):
            return [library.tensor(rng.integers(0, self.args[0], shape)) for shape in self.shapes]
        arrays = [rng.normal(size=shape) * 2 for shape in self.shapes]
        for array in arrays:
            array.reshape(-1)[:: max(array.size // 5, 2)] = rng.choice([0.0, 1.0, -3.0, 6.0])
        return [library.tensor(array.astype(dtype), requires_grad=True) for array in arrays]


def layers(name: str, *calls: Any, shapes: tuple[tuple[int, ...], ...]) -> list[Layer]:
    """Every way to make a layer, with every shape of input. A call is a tuple of arguments, maybe ending in a dict."""
    found = []
    for call in calls:
        how = call[-1] if call and isinstance(call[-1], dict) else {}
        args = call[: len(call) - bool(how)]
        found += [Layer(name, args, (shape,), how) for shape in shapes]
    return found


MODES = ("reflect", "replicate", "circular")
LAYERS = [
    *layers("Identity", (), (7, {"unused": 1}), shapes=((2, 3),)),
    *layers("Linear", (4, 3), (4, 3, False), shapes=((5, 4), (4,), (2, 5, 4))),
    Layer("Bilinear", (3, 4, 2), ((5, 3), (5, 4))),
    Layer("Bilinear", (3, 4, 2, False), ((2, 5, 3), (2, 5, 4))),
    *layers("Flatten", (), (0,), (1, 2), shapes=((2, 3, 4, 5),)),
    *layers("Unflatten", (1, (2, 3)), (-2, [3, -1]), shapes=((2, 6, 4),)),
    *layers(
        "Conv1d", (4, 6, 3), (4, 6, 3, 2, 1), (4, 6, 2, {"groups": 2, "bias": False}), (4, 4, (3,), {"dilation": 2}),
        (4, 2, 4, {"padding": "same"}), (4, 2, 3, {"padding": "valid"}),
        *((4, 2, 4, {"padding": p, "padding_mode": m}) for p in (2, "same") for m in MODES),
        shapes=((2, 4, 9), (4, 9)),
    ),
    *layers(
        "Conv2d", (4, 6, 3), (4, 6, (2, 3), (2, 1), (1, 0)), (4, 8, 2, {"groups": 4}), (4, 2, 2, {"dilation": (2, 3)}),
        (4, 2, 1, {"bias": False}), (4, 2, (2, 3), {"padding": "same", "dilation": 2}),
        (4, 2, 3, {"padding": (1, 2), "padding_mode": "reflect"}),
        (4, 2, 2, {"padding": "same", "padding_mode": "circular"}),
        shapes=((2, 4, 6, 7), (4, 6, 7)),
    ),
    *layers(
        "ConvTranspose1d", (4, 6, 3), (4, 6, 3, 2, 1, 1), (4, 6, 2, {"groups": 2, "bias": False, "dilation": 2}),
        shapes=((2, 4, 5), (4, 5)),
    ),
    *layers(
        "ConvTranspose2d", (4, 6, 3), (4, 6, (2, 3), (2, 3), (1, 0), (1, 2)), (4, 6, 2, {"groups": 2, "bias": False}),
        (4, 2, 2, {"dilation": (3, 1), "stride": 2, "output_padding": (2, 1), "padding": 1}),
        shapes=((2, 4, 3, 4), (4, 3, 4)),
    ),
    *layers(
        "Conv3d", (4, 6, 2), (4, 6, (1, 2, 3), (2, 1, 2), (0, 1, 2)), (4, 4, 2, {"groups": 2, "bias": False}),
        (4, 2, (2, 3, 2), {"padding": "same", "dilation": (2, 1, 1)}), (4, 2, 2, {"padding": "valid", "dilation": 2}),
        (4, 2, 3, {"padding": (1, 2, 0), "padding_mode": "replicate"}),
        (4, 2, 2, {"padding": "same", "padding_mode": "circular"}),
        shapes=((2, 4, 3, 4, 5), (4, 3, 5, 4)),
    ),
    *layers(
        "ConvTranspose3d", (4, 6, 2), (4, 6, (3, 2, 1), (2, 3, 1), (1, 0, 0), (1, 2, 0)),
        (4, 6, 2, {"groups": 2, "bias": False, "dilation": 2}), (4, 2, (5, 1, 1), {"padding": (2, 0, 0)}),
        (4, 2, 2, {"dilation": (3, 1, 2), "stride": 2, "output_padding": (2, 1, 0), "padding": 1}),
        shapes=((2, 4, 2, 3, 2), (4, 1, 2, 3)),
    ),
    *layers(
        "MaxPool1d", (2,), (3, 2, 1), (2, {"ceil_mode": True, "dilation": 2, "stride": 3}),
        shapes=((2, 3, 8), (3, 8)),
    ),
    *layers(
        "MaxPool2d", (2,), ((2, 3), (1, 2), (1, 1)), (3, {"ceil_mode": True}), (2, {"dilation": 2}),
        shapes=((2, 3, 7, 8), (3, 7, 8)),
    ),
    *layers(
        "MaxPool3d", (2,), ((1, 2, 3), (2, 1, 2), (0, 1, 1)), (3, 2, 1, {"ceil_mode": True}), (2, {"dilation": 2}),
        (2, 2, 1), shapes=((2, 3, 4, 5, 6), (3, 5, 4, 3)),
    ),
    *layers(
        "AvgPool3d", (2,), ((1, 2, 3), (2, 1, 2), (0, 1, 1)), (3, {"ceil_mode": True}), (2, {"divisor_override": 3}),
        (3, 2, 1, {"ceil_mode": True, "count_include_pad": False}), (3, 2, 1, {"ceil_mode": True}),
        shapes=((2, 3, 4, 5, 6), (3, 5, 4, 3)),
    ),
    *layers(
        "AvgPool1d", (2,), (3, 2, 1), (3, {"ceil_mode": True, "count_include_pad": False, "padding": 1}),
        shapes=((2, 3, 8), (3, 8)),
    ),
    *layers(
        "AvgPool2d", (2,), ((2, 3), (1, 2), (1, 1)), (3, {"ceil_mode": True}), (2, {"divisor_override": 3}),
        (3, {"padding": 1, "count_include_pad": False}), shapes=((2, 3, 7, 8), (3, 7, 8)),
    ),
    *layers("PixelShuffle", (2,), (1,), shapes=((2, 8, 3, 2), (4, 3, 2), (2, 3, 4, 1, 2))),
    *layers("PixelUnshuffle", (2,), (1,), shapes=((2, 2, 4, 6), (3, 4, 2), (2, 3, 1, 4, 2))),
    *layers(
        "Unfold", (2,), ((2, 3), 1, (1, 0), 2), (2, {"dilation": (1, 2), "stride": (2, 1)}),
        shapes=((2, 3, 5, 6), (3, 5, 6)),
    ),
    *layers("Fold", ((4, 5), (2, 3)), shapes=((2, 12, 9), (6, 9))),
    *layers("Fold", (4, 2, 2, 1, 2), shapes=((2, 8, 4), (4, 4))),
    *layers("Fold", ((2, 5), 2, {"stride": (1, 2), "padding": (1, 0)}), shapes=((2, 8, 6), (4, 6))),
    *layers(
        "LocalResponseNorm", (3,), (4, 0.5, 0.6, 2.0), (1,), (9, 0.1),
        shapes=((2, 5, 3), (2, 4, 3, 2), (1, 3, 2, 1, 2)),
    ),
    *layers("AdaptiveMaxPool1d", (1,), (3,), (8,), (11,), shapes=((2, 3, 8), (3, 8))),
    *layers("AdaptiveMaxPool2d", (1,), (3,), ((2, None),), ((9, 4),), shapes=((2, 3, 7, 8), (3, 7, 8))),
    *layers("AdaptiveMaxPool3d", (1,), (3,), ((2, None, 4),), shapes=((2, 3, 4, 5, 6), (3, 5, 4, 7))),
    *layers("AdaptiveAvgPool3d", (1,), (3,), ((2, None, 4),), shapes=((2, 3, 4, 5, 6), (3, 5, 4, 7))),
    *layers("AdaptiveAvgPool1d", (1,), (3,), shapes=((2, 3, 8), (3, 8))),
    *layers("AdaptiveAvgPool2d", (1,), (3,), ((2, None),), shapes=((2, 3, 7, 8), (3, 7, 8))),
    *layers(
        "LayerNorm", (4,), ((3, 4), 1e-3), (4, {"elementwise_affine": False}), (4, {"bias": False}),
        shapes=((2, 3, 4),),
    ),
    *layers("RMSNorm", (4,), ((3, 4), 1e-3), ([4], {"elementwise_affine": False}), shapes=((2, 3, 4),)),
    *layers(
        "GroupNorm", (2, 4), (4, 4, 1e-3), (1, 4, {"affine": False}), (2, 4, {"bias": False}),
        shapes=((3, 4), (3, 4, 5), (2, 4, 3, 2)),
    ),
    *layers(
        "Embedding", (5, 3), (5, 3, 1), (5, 3, -1), (5, 3, {"scale_grad_by_freq": True}), (5, 3, 2, 0.7, 1.0),
        shapes=((4,), (2, 6), ()),
    ),
    *layers(
        "EmbeddingBag", (5, 3), (5, 3, {"mode": "sum", "padding_idx": 1}), (5, 3, {"mode": "max"}),
        (5, 3, {"mode": "max", "padding_idx": -1}), (5, 3, {"padding_idx": 0}),
        (5, 3, 0.7, 1.0), shapes=((4, 3), (2, 6)),
    ),
    *layers(
        "Upsample", ((5, 4),), (None, 2), (None, (2.0, 1.5)), (None, 2, "bilinear"), (None, 3, "bilinear", True),
        shapes=((2, 3, 3, 4),),
    ),
    *layers("Upsample", (7,), (None, 2.0), (None, 1.7, "linear"), shapes=((2, 3, 4),)),
    *(
        Layer(f"{kind}Pad{axes}d", (edges,), ((2, 3, *(5, 6)[:axes]),))
        for kind in ("Zero", "Reflection", "Replication", "Circular")
        for axes in (1, 2) for edges in (2, (1, 2, 0, 3)[: 2 * axes])
    ),
    *(
        Layer(f"{kind}Pad3d", (edges,), ((2, 3, 4, 5, 6),))
        for kind in ("Zero", "Reflection", "Replication") for edges in (2, (1, 2, 0, 3, 2, 1))
    ),
    *layers("ConstantPad3d", (1, 3.5), ((1, 2, 3, 0, -1, 1), -1), shapes=((2, 3, 4, 5, 3), (3, 4, 5, 2))),
    *layers("ConstantPad1d", (2, 3.5), ((1, -1), 0.5), shapes=((2, 3, 4),)),
    *layers("ConstantPad2d", (1, 3.5), ((1, 2, 3, 0), -1), shapes=((2, 3, 4, 5), (3, 4, 5))),
    Layer("CosineSimilarity", (), ((3, 4), (3, 4))),
    Layer("CosineSimilarity", (-1, 1e-3), ((2, 3, 4), (3, 4))),
    Layer("PairwiseDistance", (), ((3, 4), (3, 4))),
    Layer("PairwiseDistance", (1.0, 1e-3, True), ((3, 4), (3, 4))),
]  # fmt: skip
NORM_CALLS = (
    (4,), (4, 1e-3, 0.3), (4, {"affine": False}), (4, {"bias": False}), (4, {"momentum": None}),
    (4, {"track_running_stats": False}), (4, {"affine": True, "track_running_stats": True, "momentum": 0.5}),
)  # fmt: skip
LAYERS += [
    *layers("BatchNorm1d", *NORM_CALLS, shapes=((5, 4), (3, 4, 2))),
    *layers("BatchNorm2d", *NORM_CALLS, shapes=((3, 4, 2, 3),)),
    *layers("BatchNorm3d", *NORM_CALLS, shapes=((3, 4, 2, 3, 2),)),
    *layers("InstanceNorm3d", *NORM_CALLS, shapes=((3, 4, 2, 3, 2), (4, 2, 3, 2))),
    *layers("InstanceNorm1d", *NORM_CALLS, shapes=((3, 4, 5), (4, 5))),
    *layers("InstanceNorm2d", *NORM_CALLS, shapes=((3, 4, 2, 3), (4, 2, 3))),
]
ACTIVATIONS: dict[str, tuple[tuple[Any, ...], ...]] = {
    "ReLU": ((), (True,)), "ReLU6": ((), (True,)), "LeakyReLU": ((), (0.2, True)), "PReLU": ((), (3, 0.1)),
    "ELU": ((), (0.5, True)), "SELU": ((), (True,)), "CELU": ((), (0.5, True)), "GELU": ((), ("tanh",)),
    "SiLU": ((), (True,)), "Mish": ((), (True,)), "Hardtanh": ((), (-2.0, 0.5, True)), "Softplus": ((), (2.0, 1.0)),
    "Softsign": ((),), "Softmin": ((1,),), "Softshrink": ((), (1.0,)), "Hardshrink": ((), (1.0,)), "Sigmoid": ((),),
    "Hardsigmoid": ((), (True,)), "Hardswish": ((), (True,)), "LogSigmoid": ((),), "Tanh": ((),), "Tanhshrink": ((),),
    "Softmax": ((1,), (-1,)), "Softmax2d": ((),), "LogSoftmax": ((0,),), "Threshold": ((0.5, 2.0), (1.0, -1.0, True)),
    "GLU": ((), (0,)),
}  # fmt: skip
LAYERS += [layer for name, calls in ACTIVATIONS.items() for layer in layers(name, *calls, shapes=((2, 3, 3, 4),))]
DROPOUTS = [
    *layers("Dropout", (), (0.2, True), shapes=((3, 4),)),
    *layers("Dropout1d", (), (0.2, True), shapes=((3, 4, 2),)),
    *layers("Dropout2d", (), (0.2, True), shapes=((3, 4, 2, 2),)),
    *layers("Dropout3d", (), (0.2, True), shapes=((3, 4, 2, 2, 2),)),
    Layer("Dropout3d", (), ((4, 2, 2, 2),)),
]


def values(x: Any) -> Any:
    """The numbers of a tensor. Ours are read, not handed out: the guard would look for graphs that hold them."""
    return np.array(x.array if isinstance(x, tg.Tensor) else x.detach().numpy())


def as_arrays(state: dict[str, Any]) -> dict[str, Any]:
    return {name: values(tensor) for name, tensor in state.items()}


def give(state: dict[str, Any], library: Any, layer: Any) -> None:
    """Load a state of NumPy arrays."""
    layer.load_state_dict({name: library.tensor(array) for name, array in state.items()})


def shaken(layer: Any) -> dict[str, Any]:
    """The layer's state with other numbers, so that weights of 1 and biases of 0 prove something too."""
    rng = np.random.default_rng(5)
    return {
        name: array if array.dtype.kind != "f" else np.abs(array) + rng.uniform(0.1, 1.0, array.shape)
        for name, array in as_arrays(layer.state_dict()).items()
    }


def leaves(library: Any, layer: Layer, seed: int) -> tuple[list[Any], list[Any]]:
    """Inputs, and what is handed over: of one that is overwritten, a copy."""
    inputs = layer.inputs(library, seed)
    return inputs, [x * 1.0 if x.dtype == library.float64 else x for x in inputs]


def agree(ours: Any, theirs: Any, where: str) -> None:
    np.testing.assert_allclose(values(ours), values(theirs), rtol=1e-7, atol=1e-9, err_msg=where)


@pytest.mark.parametrize("layer", [*LAYERS, *DROPOUTS], ids=str)
def test_what_it_prints_and_holds(layer: Layer) -> None:
    ours, theirs = layer.make(tg), layer.make(torch)
    assert repr(ours) == repr(theirs)
    held = [
        [(name, tuple(t.shape), str(t.dtype).removeprefix("torch.")) for name, t in model.state_dict().items()]
        for model in (ours, theirs)
    ]
    assert held[0] == held[1]
    for kind in ("named_parameters", "named_buffers"):
        assert [name for name, _ in getattr(ours, kind)()] == [name for name, _ in getattr(theirs, kind)()]


@pytest.mark.filterwarnings("ignore:Using padding='same'")  # PyTorch warns of a copy that it may make
@pytest.mark.parametrize("layer", LAYERS, ids=str)
@pytest.mark.parametrize("way", ["to-ours", "to-theirs"])
def test_the_same_with_the_same_weights(layer: Layer, way: str) -> None:
    """Three steps of training, then evaluation: results, gradients of inputs and parameters, and buffers."""
    ours, theirs = layer.make(tg).double(), layer.make(torch).double()
    if way == "to-ours":
        give(state := shaken(theirs), torch, theirs)
        give(state, tg, ours)
    else:
        give(state := shaken(ours), tg, ours)
        give(as_arrays(ours.state_dict()), torch, theirs)
    for step in range(4):
        if step == 3:
            ours.eval()
            theirs.eval()
        results = []
        for library, model in ((tg, ours), (torch, theirs)):
            inputs, given = leaves(library, layer, step)
            model.zero_grad()
            out = model(*given)
            cotangent = library.tensor(np.random.default_rng(step).normal(size=tuple(out.shape)))
            if out.requires_grad:
                (out * cotangent).sum().backward()
            results.append((out, inputs))
        agree(results[0][0], results[1][0], f"result of step {step}")
        for mine, its in zip(results[0][1], results[1][1], strict=True):
            assert (mine.grad is None) == (its.grad is None)
            if its.grad is not None:
                agree(mine.grad, its.grad, f"gradient of an input in step {step}")
        for (name, mine), its in zip(ours.named_parameters(), theirs.parameters(), strict=True):
            agree(mine.grad, its.grad, f"gradient of {name} in step {step}")
            for p, library in ((mine, tg), (its, torch)):
                with library.no_grad():
                    p -= 0.1 * p.grad
        for name, mine in ours.state_dict().items():
            agree(mine, theirs.state_dict()[name], f"{name} after step {step}")


@pytest.mark.parametrize("layer", DROPOUTS, ids=str)
def test_dropout_stands_still_in_evaluation(layer: Layer) -> None:
    (x,) = layer.inputs(tg, 0)
    assert layer.make(tg).eval()(x) is x
    (y,) = layer.inputs(torch, 0)
    agree(x, layer.make(torch).eval()(y), "the input itself")


def test_pools_give_the_places_of_what_they_found() -> None:
    shapes = {"MaxPool1d": (2, 3, 8), "MaxPool2d": (2, 3, 6, 6), "MaxPool3d": (2, 3, 4, 6, 5)}
    shapes |= {f"Adaptive{name}": shape for name, shape in shapes.items()}
    for name, shape in shapes.items():
        layer = Layer(name, (2,), (shape,), {"return_indices": True})
        found, expected = (layer.make(library)(*layer.inputs(library, 0)) for library in (tg, torch))
        for mine, its in zip(found, expected, strict=True):
            agree(mine, its, name)


@pytest.mark.parametrize("wanted", [(7, 8), (8, 7), (2, 6, 8, 8), [7, 7]], ids=str)
def test_transposes_by_the_size_of_their_result(wanted: Any) -> None:
    """Of the sizes that a convolution would make equal, the caller chooses one."""
    layer = Layer("ConvTranspose2d", (4, 6, 3), ((2, 4, 4, 4),), {"stride": 2, "padding": 1})
    ours, theirs = layer.make(tg).double(), layer.make(torch).double()
    give(shaken(theirs), torch, theirs)
    give(as_arrays(theirs.state_dict()), tg, ours)
    found, expected = (
        model(*layer.inputs(library, 0), output_size=wanted) for library, model in ((tg, ours), (torch, theirs))
    )
    assert tuple(found.shape) == tuple(expected.shape)
    agree(found, expected, "result")


BAGS = [
    {"offsets": [0, 2, 2, 5]}, {"offsets": [0, 0, 7]}, {"offsets": [0]},
    {"offsets": [0, 3, 7], "include_last_offset": True},
    {"offsets": [0, 2, 4], "padding_idx": 1}, {"offsets": [0, 4], "padding_idx": -2},
    {"offsets": [0, 4], "max_norm": 0.5, "norm_type": 1.0},
]  # fmt: skip


@pytest.mark.parametrize("mode", ["sum", "mean", "max", "weighted"])
@pytest.mark.parametrize("how", BAGS, ids=str)
def test_bags_of_several_lengths(how: dict[str, Any], mode: str) -> None:
    """Some of them empty; the same row in several, and several times in one."""
    rng, results = np.random.default_rng(0), []
    table, weights = rng.normal(size=(5, 3)), rng.normal(size=7)
    for library in (tg, torch):
        given = {**how, "offsets": library.tensor(how["offsets"]), "mode": "sum" if mode == "weighted" else mode}
        leaves = [library.tensor(table, requires_grad=True)]
        if mode == "weighted":
            leaves.append(library.tensor(weights, requires_grad=True))
            given["per_sample_weights"] = leaves[1]
        if "max_norm" in how:  # which writes to the table
            leaves[0] = leaves[0].detach().clone().requires_grad_()
        out = library.nn.functional.embedding_bag(library.tensor([1, 1, 3, 0, 3, 1, 4]), leaves[0], **given)
        (out * library.tensor(np.arange(1.0, 1 + out.numel()).reshape(tuple(out.shape)))).sum().backward()
        results.append([out, *leaves, *(leaf.grad for leaf in leaves)])
    for mine, its in zip(*results, strict=True):
        assert tuple(mine.shape) == tuple(its.shape)
        agree(mine, its, "bags")


# Initial values -------------------------------------------------------------------------------------------------------

DRAWN = [
    Layer("Linear", (50, 400), ()), Layer("Bilinear", (20, 30, 50), ()), Layer("Conv1d", (20, 40, 5), ()),
    Layer("Conv2d", (20, 60, 3), (), {"groups": 2}), Layer("ConvTranspose1d", (40, 20, 5), ()),
    Layer("ConvTranspose2d", (60, 20, 3), (), {"groups": 2}),
    Layer("Conv3d", (20, 30, (3, 2, 2)), ()), Layer("Embedding", (200, 50), (), {"padding_idx": 3}),
]  # fmt: skip
SET = [
    Layer("BatchNorm1d", (6,), ()), Layer("BatchNorm2d", (6,), ()), Layer("LayerNorm", ((2, 3),), ()),
    Layer("GroupNorm", (2, 6), ()), Layer("RMSNorm", (6,), ()), Layer("PReLU", (3, 0.1), ()),
    Layer("InstanceNorm2d", (6,), (), {"affine": True, "track_running_stats": True}),
]  # fmt: skip


@pytest.mark.parametrize("layer", SET, ids=str)
def test_what_begins_at_fixed_numbers(layer: Layer) -> None:
    ours, theirs = (as_arrays(layer.make(library).state_dict()) for library in (tg, torch))
    assert ours.keys() == theirs.keys()
    for name, array in ours.items():
        np.testing.assert_array_equal(array, theirs[name], err_msg=name)


@pytest.mark.parametrize("layer", DRAWN, ids=str)
def test_what_is_drawn_is_drawn_alike(layer: Layer) -> None:
    """Means within four standard errors of 0, variances within a tenth, and bounds that are nearly reached."""
    tg.manual_seed(0)
    torch.manual_seed(0)
    ours, theirs = ([as_arrays(layer.make(library).state_dict()) for _ in range(20)] for library in (tg, torch))
    for name in theirs[0]:
        mine, its = (np.stack([state[name] for state in states]) for states in (ours, theirs))
        assert mine.shape == its.shape
        np.testing.assert_array_equal(
            (mine == 0).all((0, *range(2, mine.ndim))), (its == 0).all((0, *range(2, its.ndim)))
        )
        for drawn in (mine, its):
            assert abs(drawn.mean()) < 4 * drawn.std() / math.sqrt(drawn.size)
        assert mine.var() == pytest.approx(its.var(), rel=0.1)
        if layer.name != "Embedding":
            assert np.abs(mine).max() == pytest.approx(np.abs(its).max(), rel=0.02)


# Losses ---------------------------------------------------------------------------------------------------------------

SCORES, SHARES, SIGNS = ("normal", (5, 4)), ("uniform", (5, 4)), ("signs", (5, 4))
WEIGHTS = [1.0, 2.0, 3.0, 0.5]
LOSSES: list[tuple[str, dict[str, Any], tuple[Any, ...]]] = [
    ("CrossEntropyLoss", {}, (SCORES, ("labels", (5,)))),
    ("CrossEntropyLoss", {"weight": WEIGHTS, "ignore_index": 1, "label_smoothing": 0.1}, (SCORES, ("labels", (5,)))),
    ("CrossEntropyLoss", {"label_smoothing": 0.2}, (("normal", (2, 4, 3)), ("labels", (2, 3)))),
    ("NLLLoss", {"weight": WEIGHTS}, (SCORES, ("labels", (5,)))),
    ("MSELoss", {}, (SCORES, SHARES)), ("L1Loss", {}, (SCORES, SHARES)),
    ("SmoothL1Loss", {"beta": 0.5}, (SCORES, SHARES)), ("HuberLoss", {"delta": 0.5}, (SCORES, SHARES)),
    ("BCELoss", {"weight": WEIGHTS}, (SHARES, SHARES)), ("BCELoss", {}, (SHARES, SHARES)),
    ("BCEWithLogitsLoss", {"pos_weight": WEIGHTS}, (SCORES, SHARES)),
    ("BCEWithLogitsLoss", {"weight": WEIGHTS}, (SCORES, SHARES)),
    ("KLDivLoss", {}, (SCORES, SHARES)), ("KLDivLoss", {"log_target": True}, (SCORES, SCORES)),
    ("PoissonNLLLoss", {}, (SCORES, ("labels", (5, 4)))),
    ("PoissonNLLLoss", {"log_input": False, "full": True, "eps": 1e-3}, (SHARES, ("labels", (5, 4)))),
    ("GaussianNLLLoss", {}, (SCORES, SCORES, SHARES)),
    ("GaussianNLLLoss", {"full": True, "eps": 0.5}, (SCORES, SCORES, ("uniform", (5, 1)))),
    ("CosineEmbeddingLoss", {"margin": 0.2}, (SCORES, SCORES, ("signs", (5,)))),
    ("MarginRankingLoss", {"margin": 0.2}, (SCORES, SCORES, SIGNS)),
    ("HingeEmbeddingLoss", {}, (SCORES, SIGNS)), ("HingeEmbeddingLoss", {"margin": 0.3}, (SCORES, SIGNS)),
    ("SoftMarginLoss", {}, (SCORES, SIGNS)),
    ("TripletMarginLoss", {}, (SCORES, SCORES, SCORES)),
    ("TripletMarginLoss", {"margin": 2.0, "p": 1.0, "swap": True}, (SCORES, SCORES, SCORES)),
    ("TripletMarginWithDistanceLoss", {}, (SCORES, SCORES, SCORES)),
    ("TripletMarginWithDistanceLoss", {"margin": 2.0, "swap": True}, (SCORES, SCORES, SCORES)),
    ("MultiMarginLoss", {}, (SCORES, ("labels", (5,)))),
    ("MultiMarginLoss", {"p": 2}, (("normal", (4,)), ("labels", ()))),
    ("MultiMarginLoss", {"p": 2, "margin": 0.3, "weight": WEIGHTS}, (SCORES, ("labels", (5,)))),
    ("MultiLabelMarginLoss", {}, (SCORES, ("lists", (5, 4)))),
    ("MultiLabelMarginLoss", {}, (("normal", (4,)), ("lists", (4,)))),
    ("MultiLabelSoftMarginLoss", {}, (SCORES, SHARES)),
    ("MultiLabelSoftMarginLoss", {"weight": WEIGHTS}, (("normal", (2, 3, 4)), ("uniform", (2, 3, 4)))),
]  # fmt: skip


def operand(library: Any, kind: str, shape: tuple[int, ...], seed: int) -> Any:
    rng = np.random.default_rng(seed)
    if kind == "labels":
        return library.tensor(rng.integers(0, 4, shape))
    if kind == "lists":
        return library.tensor(rng.integers(-1, 4, shape))
    if kind == "signs":
        return library.tensor(rng.choice([-1.0, 1.0], shape))
    drawn = rng.normal(size=shape) if kind == "normal" else rng.uniform(0.05, 0.95, shape)
    return library.tensor(drawn, requires_grad=True)


@pytest.mark.filterwarnings("ignore:reduction. 'mean' divides")  # of KLDivLoss: PyTorch means to change it
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize(("name", "how", "operands"), LOSSES, ids=lambda v: v if isinstance(v, str) else None)
def test_losses(name: str, how: dict[str, Any], operands: tuple[Any, ...], reduction: str) -> None:
    results = []
    for library in (tg, torch):
        given = {key: library.tensor(v, dtype=library.float64) if isinstance(v, list) else v for key, v in how.items()}
        loss = getattr(library.nn, name)(**given, reduction=reduction)
        tensors = [operand(library, *what, seed) for seed, what in enumerate(operands)]
        value = loss(*tensors)
        value.sum().backward()
        results.append((repr(loss), list(loss.state_dict()), value, [x.grad for x in tensors]))
    ours, theirs = results
    assert ours[:2] == theirs[:2]
    assert tuple(ours[2].shape) == tuple(theirs[2].shape)
    agree(ours[2], theirs[2], "loss")
    for mine, its in zip(ours[3], theirs[3], strict=True):
        assert (mine is None) == (its is None)
        if its is not None:
            agree(mine, its, "gradient")


# A whole model --------------------------------------------------------------------------------------------------------


def test_a_convnet_with_batch_norm_learns_the_same() -> None:
    """Ten steps of plain gradient descent from PyTorch's own weights, in float32; then the state goes back."""
    models: list[Any] = []
    losses: list[list[float]] = []
    initial: dict[str, Any] = {}
    for library in (torch, tg):
        nn = library.nn
        model = nn.Sequential(
            nn.Conv2d(1, 4, 3, padding=1, bias=False), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(4, 8, 3, padding=1), nn.GroupNorm(2, 8), nn.GELU(), nn.AdaptiveAvgPool2d(2), nn.Flatten(),
            nn.Linear(32, 10),
        )  # fmt: skip
        if models:
            assert repr(model) == repr(models[0])
            give(initial, tg, model)
        else:
            initial = as_arrays(model.state_dict())
        rng, seen = np.random.default_rng(0), []
        for _ in range(10):
            x = library.tensor(rng.normal(size=(6, 1, 8, 8)).astype("f4"))
            loss = nn.CrossEntropyLoss()(model(x), library.tensor(rng.integers(0, 10, 6)))
            model.zero_grad()
            loss.backward()
            with library.no_grad():
                for p in model.parameters():
                    p -= 0.1 * p.grad
            seen.append(loss.item())
        models.append(model)
        losses.append(seen)
    np.testing.assert_allclose(losses[1], losses[0], rtol=1e-4)
    theirs, ours = models
    give(as_arrays(ours.state_dict()), torch, theirs)
    x = np.random.default_rng(1).normal(size=(3, 1, 8, 8)).astype("f4")
    found, expected = ours.eval()(tg.tensor(x)), theirs.eval()(torch.tensor(x))
    np.testing.assert_allclose(values(found), values(expected), rtol=1e-4, atol=1e-5)


# Weights that are computed from other parameters ----------------------------------------------------------------------

NORMED: dict[str, tuple[Callable[[Any], Any], tuple[int, ...], str, dict[str, Any]]] = {
    "weight_norm": (lambda nn: nn.Linear(3, 4), (2, 3), "weight_norm", {}),
    "weight_norm, dim=1": (lambda nn: nn.Linear(3, 4), (2, 3), "weight_norm", {"dim": 1}),
    "weight_norm, of all": (lambda nn: nn.Conv1d(3, 4, 2), (2, 3, 5), "weight_norm", {"dim": None}),
    "weight_norm, bias": (lambda nn: nn.Linear(3, 4), (2, 3), "weight_norm", {"name": "bias"}),
    "spectral_norm": (lambda nn: nn.Conv2d(2, 4, 3), (2, 2, 5, 5), "spectral_norm", {}),
    "spectral_norm, transposed": (lambda nn: nn.ConvTranspose1d(2, 4, 3), (2, 2, 5), "spectral_norm", {}),
    "spectral_norm, slowly": (lambda nn: nn.Linear(3, 4), (2, 3), "spectral_norm", {"dim": 1, "n_power_iterations": 3}),
}


@pytest.mark.filterwarnings("ignore:.*weight_norm. is deprecated:FutureWarning")
@pytest.mark.parametrize("case", NORMED)
def test_normed_weights(case: str) -> None:
    """The same layer with the same state: two steps of training with two forwards each, a look, and back."""
    make, shape, norm, options = NORMED[case]
    rng = np.random.default_rng(0)
    values = [rng.normal(size=shape).astype("float32") for _ in range(4)]
    ours, theirs = (getattr(nn.utils, norm)(make(nn), **options) for nn in (tg.nn, torch.nn))
    state = theirs.state_dict()
    assert {k: tuple(v.shape) for k, v in ours.state_dict().items()} == {k: tuple(v.shape) for k, v in state.items()}
    ours.load_state_dict({k: tg.tensor(v.numpy()) for k, v in state.items()})
    found: list[list[Any]] = []
    for library, layer in ((tg, ours), (torch, theirs)):
        x = [library.tensor(value) for value in values]
        optimizer = library.optim.SGD(layer.parameters(), lr=0.1)
        results = []
        for i in (0, 2):
            optimizer.zero_grad()
            (layer(x[i]).square().mean() - layer(x[i + 1]).sin().mean()).backward()
            results += [p.grad for p in layer.parameters()]
            optimizer.step()
        results += [*layer.state_dict().values(), layer.eval()(x[0]), layer(x[0])]
        name = options.get("name", "weight")
        assert getattr(library.nn.utils, f"remove_{norm}")(layer, name) is layer
        assert isinstance(getattr(layer, name), library.nn.Parameter)
        results += [layer(x[0]), getattr(layer, name)]
        assert sorted(dict(layer.named_parameters())) == ["bias", "weight"]
        found.append(results)
    for mine, other in zip(*found, strict=True):
        np.testing.assert_allclose(mine.detach().numpy(), other.detach().numpy(), rtol=2e-4, atol=2e-5)
