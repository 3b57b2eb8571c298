"""Lazy layers: what the first input settles, what was loaded before it, and what is said to those who are too early."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tests.support import teaches
from tinygrad_edu import data, nn, optim, training
from tinygrad_edu.compiler import trace
from tinygrad_edu.errors import ArgumentError, DtypeError, ShapeError
from tinygrad_edu.nn.lazy import LazyModuleMixin
from tinygrad_edu.nn.parameter import is_lazy
from tinygrad_edu.observe import Counters

NO_SHAPE = "it has no shape and no elements yet: a lazy layer learns its sizes from its first input"
DRY_RUN = "first call the model once on a batch of the right shape: model(x)"

# A lazy layer, the ordinary one for such inputs, and the shape of one.
PAIRS: list[tuple[nn.Module, nn.Module, tuple[int, ...]]] = [
    (nn.LazyLinear(4), nn.Linear(3, 4), (5, 3)), (nn.LazyLinear(4, bias=False), nn.Linear(3, 4, False), (3,)),
    (nn.LazyConv1d(4, 2), nn.Conv1d(3, 4, 2), (2, 3, 5)), (nn.LazyConv1d(4, 2), nn.Conv1d(3, 4, 2), (3, 5)),
    (nn.LazyConv2d(4, 2, groups=2), nn.Conv2d(6, 4, 2, groups=2), (2, 6, 3, 3)),
    (nn.LazyConv3d(4, 2, bias=False), nn.Conv3d(3, 4, 2, bias=False), (1, 3, 2, 3, 2)),
    (nn.LazyConvTranspose1d(4, 2), nn.ConvTranspose1d(3, 4, 2), (2, 3, 5)),
    (nn.LazyConvTranspose2d(4, 2, groups=2), nn.ConvTranspose2d(6, 4, 2, groups=2), (6, 3, 3)),
    (nn.LazyConvTranspose3d(4, 2), nn.ConvTranspose3d(3, 4, 2), (1, 3, 2, 3, 2)),
    (nn.LazyBatchNorm1d(), nn.BatchNorm1d(3), (5, 3)),
    (nn.LazyBatchNorm2d(bias=False), nn.BatchNorm2d(3, bias=False), (2, 3, 2, 2)),
    (nn.LazyBatchNorm3d(affine=False), nn.BatchNorm3d(3, affine=False), (2, 3, 2, 2, 2)),
    (nn.LazyInstanceNorm1d(), nn.InstanceNorm1d(3, 1e-5, 0.1, True, True), (2, 3, 4)),
    (nn.LazyInstanceNorm1d(), nn.InstanceNorm1d(3, 1e-5, 0.1, True, True), (3, 4)),  # PyTorch takes 4 for the channels
    (nn.LazyInstanceNorm2d(1e-5, 0.1, False, False), nn.InstanceNorm2d(3), (2, 3, 2, 2)),  # PyTorch's has 0 for ever
    (nn.LazyInstanceNorm3d(), nn.InstanceNorm3d(3, 1e-5, 0.1, True, True), (3, 2, 2, 2)),
]  # fmt: skip


def fresh(layer: nn.Module) -> Any:
    return copy.deepcopy(layer)


def numbers(model: nn.Module) -> dict[str, Any]:
    return {name: t.tolist() for name, t in model.state_dict().items()}


@pytest.mark.parametrize(("lazy", "eager", "shape"), PAIRS, ids=lambda x: str(x)[:40])
def test_it_becomes_the_ordinary_layer(lazy: nn.Module, eager: nn.Module, shape: tuple[int, ...]) -> None:
    """The same class, attributes and numbers, and the same numbers left to draw."""
    x = tg.ones(shape)
    tg.manual_seed(5)
    made = fresh(lazy)
    found = made(x)
    after = tg.rand(2).tolist()
    tg.manual_seed(5)
    if hasattr(eager, "reset_parameters"):
        eager.reset_parameters()
    np.testing.assert_array_equal(found.array, fresh(eager)(x).array)
    assert tg.rand(2).tolist() == after
    assert (type(made), repr(made)) == (type(eager), repr(eager))
    assert set(vars(made)) == set(vars(eager))
    plain = [
        {name: value for name, value in vars(layer).items() if isinstance(value, int | float | str | tuple)}
        for layer in (made, eager)
    ]
    assert plain[0] == plain[1]


@pytest.mark.parametrize(("lazy", "eager", "shape"), PAIRS, ids=lambda x: str(x)[:40])
def test_a_loaded_state_stays(lazy: nn.Module, eager: nn.Module, shape: tuple[int, ...]) -> None:
    """Nothing is drawn for it, and the layer learns how many channels it has all the same."""
    model = fresh(lazy)
    model.load_state_dict(eager.state_dict())
    assert not model.has_uninitialized_params()
    before, drawn = numbers(model), []
    for run in (lambda: None, lambda: model.eval()(tg.ones(shape))):
        tg.manual_seed(5)
        run()
        drawn.append(tg.rand(2).tolist())
    assert drawn[0] == drawn[1]
    assert repr(model) == repr(eager)
    assert numbers(model) == before == numbers(eager)


def test_what_was_not_loaded_is_drawn() -> None:
    model = nn.LazyLinear(2)
    missing = model.load_state_dict({"weight": [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]}, strict=False).missing_keys
    assert missing == ["bias"]
    assert repr(model.bias) == "<UninitializedParameter>"
    weight = model.weight
    tg.manual_seed(1)
    model.initialize_parameters([[1.0, 1.0, 1.0]])
    assert model(tg.ones(1, 3)).shape == (1, 2)
    assert model.weight is weight
    assert weight.tolist() == [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
    tg.manual_seed(1)
    assert model.bias.tolist() == nn.Linear(3, 2).bias.tolist()


def test_first_values_anew() -> None:
    """There are none before there are shapes; then they are drawn, those that were loaded among them."""
    for layer in (nn.LazyLinear(2), nn.LazyConv1d(2, 1), nn.LazyBatchNorm1d()):
        layer.reset_parameters()
        assert layer.has_uninitialized_params()
    model = nn.LazyLinear(2)
    model.load_state_dict({"weight": tg.full((2, 3), 9.0), "bias": tg.full((2,), 9.0)})
    model.reset_parameters()
    assert all((p.abs() < 1).all() for p in model.parameters())


def test_sizes_that_cannot_be_are_not_loaded() -> None:
    """And nothing is, where one does not fit."""
    tried, mend = "load_state_dict into LazyConv2d", "load into a module built with the same sizes"
    model = nn.LazyConv2d(4, 3)
    for other, why in (
        (nn.Conv2d(2, 5, 3), "wrong shape: weight (5, 2, 3, 3) for (4, any, 3, 3), bias (5,) for (4,)"),
        (nn.Conv1d(2, 4, 3), "wrong shape: weight (4, 2, 3) for (4, any, 3, 3)"),
    ):
        with teaches(ShapeError, tried, why, mend, "model.load_state_dict(other.state_dict())"):
            model.load_state_dict(other.state_dict())
        assert [is_lazy(p) for p in model.parameters()] == [True, True]
    whole = nn.Linear(3, 2)
    why = "wrong shape: weight not known yet for (2, 3), bias not known yet for (2,)"
    with teaches(ShapeError, "load_state_dict into Linear", why, mend, "whole.load_state_dict"):
        whole.load_state_dict(nn.LazyLinear(2).state_dict())
    with pytest.raises(ShapeError, match=r"wrong shape: running_mean \(2, 1\) for \(any,\)"):
        nn.LazyBatchNorm1d().load_state_dict({"running_mean": [[1.0], [2.0]]}, strict=False)


def test_an_input_that_does_not_go_with_what_was_loaded() -> None:
    model = nn.LazyLinear(2)
    model.load_state_dict(nn.Linear(3, 2).state_dict())
    why = "its weight already has shape (2, 3), but this input needs (2, 4)"
    mend = "pass an input like those that the loaded parameters were made for"
    with teaches(ShapeError, "LazyLinear of a tensor (5, 4), the first", why, mend, "model(tg.ones(5, 4))"):
        model(tg.ones(5, 4))
    assert model(tg.ones(5, 3)).shape == (5, 2)


def test_values_are_taken_as_a_copy() -> None:
    source, model = nn.Linear(3, 2), nn.LazyLinear(2, dtype="float64")
    model.load_state_dict(source.state_dict())
    tg.nn.init.zeros_(source.weight)
    assert model.weight.dtype == np.float64
    assert model.weight.abs().sum().item() > 0
    crossed = nn.Sequential(nn.Linear(2, 2), nn.LazyLinear(2))  # each takes what the other had
    first, second = crossed[0].weight.tolist(), [[1.0, 2.0], [3.0, 4.0]]
    state = {"0.weight": tg.tensor(second), "1.weight": crossed[0].weight}
    crossed.load_state_dict(state, strict=False)
    assert (crossed[0].weight.tolist(), crossed[1].weight.tolist()) == (second, first)


# Too early, or wrong ------------------------------------------------------------------------------------------------


def test_using_it_too_early() -> None:
    model = nn.Sequential(nn.LazyLinear(2), nn.LazyBatchNorm1d())
    weight, mean = model[0].weight, model[1].running_mean
    for call in (
        lambda: weight.shape, lambda: weight.ndim, weight.size, weight.numel, lambda: weight + 1, weight.detach,
        lambda: weight.T, lambda: tg.ones(2, 2) @ weight, lambda: len(weight),
        lambda: weight.copy_(tg.ones(2)), lambda: nn.init.zeros_(weight), lambda: nn.init.kaiming_normal_(weight),
        lambda: nn.init.normal_(weight), lambda: np.asarray(weight.requires_grad_(False)), lambda: weight.nbytes,
        lambda: np.add(weight, 1), lambda: tg.stack([tg.ones(2), weight]), lambda: model[0].forward(tg.ones(1, 2)),
        lambda: optim.Adam(nn.LazyLinear(1).parameters()).load_state_dict(stepped()),
    ):  # fmt: skip
        with teaches(ShapeError, "using an UninitializedParameter", NO_SHAPE, DRY_RUN):
            call()
    with teaches(ShapeError, "using an UninitializedBuffer", NO_SHAPE, DRY_RUN, "mean.zero_()"):
        mean.zero_()
    model(tg.ones(3, 2))
    assert (weight + 1).shape == (2, 2)
    assert mean.tolist() != [0.0, 0.0]


def stepped() -> dict[str, Any]:
    """The state of an optimiser that has made a step."""
    layer = nn.Linear(1, 1)
    layer(tg.ones(1, 1)).sum().backward()
    optimiser = optim.Adam(layer.parameters())
    optimiser.step()
    return optimiser.state_dict()


def test_a_wrong_first_input_leaves_it_lazy() -> None:
    taken = {"L": "(N, C, L) or (C, L)", "H": "(N, C, H, W) or (C, H, W)"}
    cases: list[tuple[nn.Module, tuple[int, ...], tuple[int, ...], str]] = [
        (nn.LazyLinear(2), (), (3,), "it takes (…, in_features), but this has no axis"),
        (nn.LazyConv2d(2, 3), (4, 5), (2, 4, 5), f"it takes {taken['H']}, but this has 2 axes"),
        (nn.LazyConvTranspose1d(2, 3), (4,), (2, 4), f"it takes {taken['L']}, but this has 1 axis"),
        (nn.LazyConv1d(2, 3, groups=2), (1, 3, 5), (1, 4, 5), "its 3 channels cannot be divided into 2 groups"),
        (nn.LazyBatchNorm2d(), (2, 3), (2, 3, 4, 4), "it takes (N, C, H, W), but this has 2 axes"),
        (nn.LazyInstanceNorm1d(), (3,), (3, 4), "it takes (C, L) or (N, C, L), but this has 1 axis"),
    ]
    for layer, wrong, right, why in cases:
        first = repr(layer)
        name = first.partition("(")[0]
        with pytest.raises((ShapeError, ArgumentError)) as caught:
            layer(tg.ones(wrong))
        assert (caught.value.tried, caught.value.why) == (f"{name} of a tensor {wrong}", why)
        assert "layer(tg.ones(wrong))" in caught.value.line
        assert (repr(layer), layer.has_uninitialized_params()) == (first, True)
        layer(tg.ones(right))
        assert type(layer).__name__ == name.removeprefix("Lazy")
    with pytest.raises(DtypeError, match="None is what a function without a return gives"):
        nn.LazyLinear(2)(None)
    with pytest.raises(TypeError, match=r"Linear\.forward\(\) missing 1 required positional argument: 'input'"):
        nn.LazyLinear(2)()
    with pytest.raises(TypeError, match=r"Linear\.forward\(\) got an unexpected keyword argument 'inputs'"):
        nn.LazyLinear(2)(inputs=tg.ones(3))


def test_what_no_input_could_mend_is_refused_at_once() -> None:
    why, mend = "5 channels cannot be divided into 2 groups", "use a number that divides them"
    for make in (nn.LazyConv2d, nn.LazyConvTranspose2d):
        with teaches(ArgumentError, f"{make.__name__}(5, (3, 3), groups=2)", why, mend, "make(5, 3, groups=2)"):
            make(5, 3, groups=2)
    for call in (lambda: nn.LazyLinear(-2), lambda: nn.LazyConv1d(2, 3, padding_mode="mirror")):
        with pytest.raises(ValueError, match=r"empty|mirror"):
            call()


def test_a_lazy_module_of_ones_own() -> None:
    class Half(LazyModuleMixin):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.UninitializedParameter(), nn.UninitializedParameter()

        def initialize_parameters(self, x: Any) -> None:
            self.first.materialize(x.shape)

    tried, why = "Half.initialize_parameters", "second still has no shape"
    with teaches(ShapeError, tried, why, "give it one there: self.second.materialize(shape)", "Half()(tg.ones(2))"):
        Half()(tg.ones(2))
    with pytest.raises(NotImplementedError, match="LazyModuleMixin has no initialize_parameters"):
        LazyModuleMixin()(1)


# Alone --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [nn.UninitializedParameter, nn.UninitializedBuffer])
def test_a_tensor_without_a_shape(kind: Any) -> None:
    x = kind(False, "cpu", "float64")
    assert f"{x}" == str(x) == repr(x) == f"<{kind.__name__}>"
    for other in (copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert (type(other), other.dtype, other.requires_grad) == (kind, np.float64, False)
        assert isinstance(other, nn.Parameter) == (kind is nn.UninitializedParameter)
        assert other is not x
    assert x.to(tg.float64) is x.double() is x
    for other in (x.to(tg.float32), x.float(), x.to("cpu", tg.float32), x.to(tg.ones(1))):
        assert (type(other), other.dtype) == (kind, np.float32)
    assert x.to(tg.float64, copy=True) is not x
    assert x.requires_grad_() is x
    assert (x.long().requires_grad, x.half().requires_grad) == (False, True)
    assert (x.data.shape, x.is_floating_point(), x.is_cuda) == ((0,), True, False)
    with Counters() as counted:
        x.materialize((2, 3))
    assert counted.allocated == 48
    assert (type(x), x.shape, x.dtype, x.requires_grad) == (tg.Tensor, (2, 3), np.float64, True)
    (x * x).sum().backward()
    assert x.grad.shape == (2, 3)


def test_it_becomes_no_integer_that_requires_grad() -> None:
    x = nn.UninitializedParameter()
    why, mend = (
        "it requires grad, and integers have no derivative",
        "use a float, or switch it off first: requires_grad_(False)",
    )
    with teaches(DtypeError, "materialize with dtype=int64", why, mend, "x.materialize(2, dtype="):
        x.materialize(2, dtype=tg.int64)
    assert is_lazy(x)
    x.requires_grad_(False)
    x.materialize(2, dtype=tg.int64)
    assert x.dtype == np.int64


def test_narrow_floats_become_what_they_are() -> None:
    x = nn.UninitializedParameter(dtype="bfloat16")
    x.materialize((2,))
    assert type(x) is type(tg.ones(2, dtype="bfloat16"))
    assert nn.LazyLinear(2).half()(tg.ones(1, 3, dtype="float16")).dtype == np.float16


def test_buffers_find_their_place() -> None:
    model = nn.Module()
    model.kept, model.passing = nn.UninitializedBuffer(), nn.UninitializedBuffer(persistent=False)
    model.register_buffer("later", nn.UninitializedBuffer(), persistent=False)
    assert repr(model.passing) == "<UninitializedBuffer>"
    assert [name for name, _ in model.named_buffers()] == ["kept", "passing", "later"]
    for each in (model, copy.deepcopy(model), model.double()):
        assert list(each.state_dict()) == ["kept"]
        assert [b.persistent for b in each.buffers()] == [True, False, True]
    assert [b.dtype for b in model.buffers()] == [np.float64] * 3
    model.kept = nn.UninitializedBuffer(persistent=False)
    assert list(model.state_dict()) == []


# Among others -------------------------------------------------------------------------------------------------------


def lazily() -> nn.Sequential:
    return nn.Sequential(nn.LazyConv2d(2, 3), nn.LazyBatchNorm2d(), nn.ReLU(), nn.Flatten(), nn.LazyLinear(3))


def test_frozen_before_it_has_a_shape() -> None:
    model = lazily().requires_grad_(False)
    model(tg.ones(2, 1, 4, 4))
    assert [p.requires_grad for p in model.parameters()] == [False] * 6


@pytest.mark.parametrize("mode", [tg.no_grad, tg.inference_mode])
def test_a_first_input_outside_the_graph(mode: Any) -> None:
    model = lazily()
    with mode():
        model(tg.ones(2, 1, 4, 4))
    model(tg.rand(2, 1, 4, 4)).square().sum().backward()
    assert all(p.grad is not None for p in model.parameters())


def test_state_files(tmp_path: Path) -> None:
    file = tmp_path / "state.safetensors"
    model = lazily()
    with pytest.raises(ShapeError, match="UninitializedParameter"):
        tg.save(model.state_dict(), file)
    assert not file.exists()
    model(tg.ones(2, 1, 4, 4))
    tg.save(model.state_dict(), file)
    other = lazily()
    other.load_state_dict(tg.load(file))
    x = tg.rand(2, 1, 4, 4)
    assert (other.eval()(x).array == model.eval()(x).array).all()
    assert repr(other) == repr(model)


def test_copies_are_sized_on_their_own() -> None:
    model = lazily()
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert other(tg.ones(2, 1, 4, 4)).shape == (2, 3)
        assert type(model[1]) is nn.LazyBatchNorm2d
    model(tg.ones(2, 3, 5, 5))
    assert model[0].in_channels == 3


def test_training() -> None:
    """An optimiser made before the first batch moves the parameters that come of it."""
    tg.manual_seed(0)
    x, y, test_x, test_y = data.digits().split()
    model = nn.Sequential(nn.LazyLinear(32), nn.LazyBatchNorm1d(), nn.ReLU(), nn.LazyLinear(10))
    optimiser = optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    loader = data.DataLoader(data.TensorDataset(x, y), batch_size=64, shuffle=True)
    training.fit(model, loader, nn.CrossEntropyLoss(), optimiser, epochs=3)
    assert [type(layer) for layer in model] == [nn.Linear, nn.BatchNorm1d, nn.ReLU, nn.Linear]
    assert (model.eval()(test_x).argmax(1).array == test_y.array).mean() > 0.9


def test_a_trace_may_see_the_first_input() -> None:
    model = nn.Sequential(nn.LazyLinear(2), nn.LazyBatchNorm1d()).eval()
    program = trace(lambda x: model(x).sum(), tg.ones(3, 4))
    assert type(model[0]) is nn.Linear
    assert str(program) == str(trace(lambda x: model(x).sum(), tg.ones(3, 4)))


def test_the_summary_leaves_it_lazy() -> None:
    model = lazily()
    tg.manual_seed(3)
    expected = tg.rand(1).item()
    tg.manual_seed(3)
    found = nn.summary(model, (2, 1, 4, 4))
    assert tg.rand(1).item() == expected
    assert [row.kind for row in found.rows[1:]] == ["Conv2d", "BatchNorm2d", "ReLU", "Flatten", "Linear"]
    assert (found.parameters, found.rows[-1].parameters, found.rows[-1].unsized) == (51, 27, 0)
    assert model.get_submodule("0").has_uninitialized_params()
    assert repr(nn.summary(nn.Sequential(nn.Linear(1, 2), nn.LazyBatchNorm1d()))) == (
        "module   class            parameters  bytes   share\n"
        "(model)  Sequential                0      0    0.0%\n"
        "0        Linear                    4     16  100.0%\n"
        "1        LazyBatchNorm1d           0      8    0.0%  (4 tensors without a shape yet)\n"
        "4 parameters: 4 trainable, 0 fixed; 1 numbers in buffers; 24 bytes together; "
        "4 tensors without a shape yet: pass an input to find them out"
    )


def test_lists_of_them_are_printed_and_missed() -> None:
    listed = nn.ParameterList([nn.UninitializedParameter(), nn.Parameter(tg.ones(2))])
    assert repr(listed) == (
        "ParameterList(\n    (0): <UninitializedParameter>\n    (1): Parameter containing: [float32 of size 2]\n)"
    )

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = [nn.LazyLinear(2), nn.Linear(1, 2)]

    with pytest.warns(nn.UnregisteredWarning, match=r"2 modules with 4 parameters \(4 numbers\)"):
        list(Net().parameters())
