"""Layers made in a wrong way: the usual slips, and what is said about them."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tests.support import run_python, teaches
from tinygrad_edu import nn
from tinygrad_edu.errors import DtypeError, KeywordError, ShapeError

x, y = tg.ones(2, 3), tg.zeros(2, 3)


@pytest.mark.parametrize(
    ("make", "mend"),
    [
        (lambda: nn.MSELoss(x, y), "MSELoss()(input, target)"),
        (lambda: nn.CrossEntropyLoss(x, y), "CrossEntropyLoss()(input, target)"),
        (lambda: nn.HuberLoss(x, y), "HuberLoss()(input, target)"),
        (lambda: nn.CosineEmbeddingLoss(x, y, x), "CosineEmbeddingLoss()(input1, input2, target)"),
        (lambda: nn.ReLU(x), "ReLU()(input)"),
        (lambda: nn.Softmax(x.numpy()), "Softmax()(input)"),
        (lambda: nn.Linear(x, 3), "Linear(…)(input)"),
        (lambda: nn.Conv2d(x, 3, 3), "Conv2d(…)(input)"),
        (lambda: nn.LayerNorm(x), "LayerNorm(…)(input)"),
        (lambda: nn.RMSNorm(x.numpy()), "RMSNorm(…)(x)"),
        (lambda: nn.MaxPool2d(x), "MaxPool2d(…)(input)"),
        (lambda: nn.AdaptiveAvgPool1d(x), "AdaptiveAvgPool1d(…)(input)"),
        (lambda: nn.Upsample(x), "Upsample()(input)"),
        (lambda: nn.ZeroPad2d(x), "ZeroPad2d(…)(input)"),
        (lambda: nn.Unflatten(1, x), "Unflatten(…)(input)"),
    ],
)
def test_a_module_is_made_before_it_is_called(make: Callable[[], Any], mend: str) -> None:
    tried = f"{mend.partition('(')[0]} of a tensor"
    why = "its arguments say how it computes; tensors come when it is called"
    with teaches(DtypeError, tried, why, f"make it first, then call it: {mend}", "(lambda: nn."):
        make()


def test_tensors_that_belong_into_a_module_are_taken() -> None:
    assert nn.CrossEntropyLoss(tg.ones(3)).weight.shape == (3,)
    assert nn.BCEWithLogitsLoss(pos_weight=np.ones(3)).pos_weight.shape == (3,)
    assert nn.Linear(tg.tensor(3), np.int64(2)).weight.shape == (2, 3)
    assert len(nn.ParameterList(tg.ones(2).unbind())) == 2
    with pytest.raises(DtypeError, match="ParameterList of a Tensor"):
        nn.ParameterList(x)
    assert nn.NLLLoss(weight=tg.ones(3)).weight.shape == (3,)
    assert nn.Embedding(2, 3, _weight=tg.ones(2, 3)).weight.tolist() == tg.ones(2, 3).tolist()
    nn.Identity(x, y)


def test_what_is_no_size() -> None:
    tried, mend = "Linear with in_features=392.0", "use // where / gave a fraction"
    with teaches(DtypeError, tried, "in_features must be an integer", mend, "nn.Linear(28 * 28 / 2, 3)"):
        nn.Linear(28 * 28 / 2, 3)
    for make, name in (
        (lambda: nn.Conv2d(1, 2.5, 3), "Conv2d with out_channels=2.5"),
        (lambda: nn.LSTM(4.0, 3), "LSTM with input_size=4.0"),
        (lambda: nn.Embedding(5, np.float32(2)), r"Embedding with embedding_dim=.*2\.0"),
        (lambda: nn.Linear((28, 28), 3), r"Linear with in_features=\(28, 28\)\n.*\n.*\n.*give one number"),
        (lambda: nn.Linear(3, None), "Linear with out_features=None"),
    ):  # fmt: skip
        with pytest.raises(TypeError, match=f"^{name}"):
            make()
    mend = "use // where / gave a fraction"
    with teaches(ShapeError, "LayerNorm((3.0,))", "sizes are integers", mend, "nn.LayerNorm("):
        nn.LayerNorm(3.0, elementwise_affine=False)
    assert nn.RMSNorm(np.int64(3)).normalized_shape == nn.LayerNorm(x.shape[1:]).normalized_shape == (3,)


@pytest.mark.parametrize("grad", [False, True])
def test_several_results_of_a_layer_are_not_stacked_unseen(grad: bool) -> None:
    """A GRU's output and state after a single step have one shape."""
    both = nn.GRU(3, 3)(tg.ones(1, 2, 3))
    assert both[0].shape == both[1].shape
    why = "one tensor is wanted, and layers such as GRU and LSTM return several"
    mend = "take it out of the tuple first: output, state = layer(x); or join them with stack or cat"
    layers = [nn.Linear(3, 2), nn.ReLU(), nn.LayerNorm(3), nn.Conv1d(2, 3, 1), nn.Dropout(), nn.ELU(), nn.Softmax(-1)]
    for layer in layers:
        with tg.set_grad_enabled(grad), pytest.raises(DtypeError, match="a tuple of 2 with tensors in it") as caught:
            layer(both)
        assert (caught.value.why, caught.value.mend) == (why, mend)
        assert "layer(both)" in caught.value.line
    with tg.set_grad_enabled(grad), pytest.raises(DtypeError, match="a tuple of 2 with tensors in it"):
        nn.MSELoss()(both, tg.ones(2, 1, 2, 3))
    for make in (tg.tensor, tg.as_tensor):
        with tg.no_grad(), pytest.raises(ShapeError, match="only a single element is a number"):
            make(both)
    with tg.no_grad():
        assert (x * (1, 2, 3)).tolist() == [[1.0, 2.0, 3.0]] * 2


def test_arguments_of_other_names() -> None:
    tried, mend = "Conv2d(…, …, …, pad=…)", "write padding= in place of pad="
    with teaches(KeywordError, tried, "got an unexpected keyword argument 'pad'", mend, "nn.Conv2d(1, 2, 3, pad=1)"):
        nn.Conv2d(1, 2, 3, pad=1)
    with pytest.raises(KeywordError, match=r"mend: write kernel_size= in place of kernel="):
        nn.Conv2d(1, 2, kernel=3)
    with pytest.raises(
        KeywordError, match=r"Linear\(…\)\n.*'out_features'\n.*\n.*it takes in_features, out_features, bias"
    ):
        nn.Linear(3)

    class Plain(nn.Module):
        pass

    with pytest.raises(KeywordError, match=r"(?s)too many.*give Plain an __init__ that takes them"):
        Plain(3)


def renamed(init: Any) -> Any:
    """A decorator that takes other arguments than what it wraps."""

    @wraps(init)
    def wrapped(self: Any, width: float, *tensors: Any) -> None:
        init(self, int(width))

    return wrapped


def test_classes_of_users_take_what_they_like() -> None:
    class Own(nn.Linear, ABC):
        @renamed
        def __init__(self, size: int) -> None:
            super().__init__(size, size)

        @abstractmethod
        def part(self) -> None:
            """To be defined."""

    class Whole(Own):
        def part(self) -> None:
            """Defined."""

    assert Whole(2.0, x, y).weight.shape == (2, 2)
    with pytest.raises(TypeError, match="abstract"):
        Own(2.0)
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'width'"):
        Whole()
    assert list(inspect.signature(nn.Linear).parameters) == ["in_features", "out_features", "bias", "device", "dtype"]


def test_files_of_layers_are_no_layers() -> None:
    done = run_python(
        "import tinygrad_edu.nn.linear as linear\n"
        "from tinygrad_edu.nn import dropout, nowhere\n"
    )  # fmt: skip
    assert "cannot import name 'nowhere'" in done.stderr
    for slip, word in (("linear", "Linear"), ("dropout", "Dropout"), ("lstm", "LSTM"), ("module", "Module")):
        with pytest.raises(
            AttributeError, match=f"^module 'tinygrad_edu.nn' has no attribute '{slip}': write nn.{word}$"
        ):
            getattr(nn, slip)
    with pytest.raises(AttributeError, match=r"'conv'; near it ") as caught:
        _ = nn.conv
    assert caught.value.name == "conv"
    assert nn.parameter.Parameter is nn.Parameter
    assert all(hasattr(nn, name) for name in nn.__all__)
