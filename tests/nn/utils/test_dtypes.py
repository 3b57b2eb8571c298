"""match_dtype, dtype_report and check_stable: what they find, what they change, and what they leave alone."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tinygrad_edu import nn, optim
from tinygrad_edu.errors import ArgumentError, DtypeError, EduError
from tinygrad_edu.nn.utils import DtypeWarning, check_stable, dtype_report, match_dtype


def model() -> nn.Module:
    return nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4), nn.ReLU())


def wide() -> tg.Tensor:
    return tg.ones(2, 3, dtype="float64")


# The policy ----------------------------------------------------------------------------------------------------------


def test_inputs_are_converted() -> None:
    net = model()
    with match_dtype(net, "convert"):
        assert net(wide()).dtype == "float32"
        assert net(tg.ones(2, 3)).dtype == "float32"
    with pytest.raises(DtypeError):
        net(wide())  # PyTorch's rule again


def test_a_mismatch_is_an_error_that_names_the_module() -> None:
    net = model()
    match_dtype(net, "error")
    net(tg.ones(2, 3))
    with pytest.raises(DtypeError, match=r"Linear '0' of float32 with an input of float64.*") as caught:
        net(wide())
    assert "x.to('float32')" in caught.value.mend


def test_it_warns_once_for_each_module() -> None:
    norm = nn.LayerNorm(3)
    policy = match_dtype(norm)
    with pytest.warns(DtypeWarning, match="LayerNorm 'LayerNorm' of float32 with an input of float64") as found:
        assert norm(wide()).dtype == "float64", "a warning changes nothing"
        norm(wide())
    assert len(found) == 1 and found[0].filename == __file__
    policy.remove()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        norm(wide())


def test_what_is_ignored_or_has_no_parameters_is_left_alone() -> None:
    norm, plain = nn.LayerNorm(3), nn.ReLU()
    match_dtype(norm, "ignore")
    match_dtype(plain, "error")
    assert norm(wide()).dtype == plain(wide()).dtype == "float64"


def test_integers_and_keywords() -> None:
    class Looked(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(tg.ones(3))

        def forward(self, places: tg.Tensor, *, scale: tg.Tensor) -> tg.Tensor:
            return self.weight[places] * scale

    layer = Looked()
    with match_dtype(layer, "convert"):
        assert layer(tg.tensor([0, 2]), scale=tg.ones(2, dtype="float64")).dtype == "float32"


@pytest.mark.parametrize(("given", "words"), [
    ((3,), "it has no modules"), ((nn.ReLU(), "convrt"), "there is no such policy"),
])  # fmt: skip
def test_what_is_no_policy(given: Any, words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        match_dtype(*given)


# The report ----------------------------------------------------------------------------------------------------------


@dataclass
class Batch:
    x: Any
    y: Any


def test_a_report_over_any_nesting() -> None:
    x = tg.ones(2, 3)
    tree = {"batch": Batch(x, np.zeros(4)), "again": [x, (tg.zeros(5, dtype="int64"), 3, "text", None)]}
    report = dtype_report(tree)
    found = {str(row.dtype): (row.tensors, row.elements, row.nbytes, row.paths) for row in report.rows}
    assert found == {
        "int64": (1, 5, 40, ("again.1.0",)), "float64": (1, 4, 32, ("batch.y",)), "float32": (1, 6, 24, ("batch.x",)),
    }  # fmt: skip
    assert list(found) == ["int64", "float64", "float32"] == [str(one) for one in report.dtypes]
    assert "batch.x" in repr(report) and "40 bytes" in repr(report)
    assert repr(dtype_report([])) == "no tensors"


def test_models_optimisers_and_trees_that_hold_themselves() -> None:
    net = nn.BatchNorm1d(3)
    step = optim.Adam(net.parameters())
    net(tg.ones(2, 3)).sum().backward()
    step.step()
    assert {str(row.dtype): row.paths for row in dtype_report(net).rows} == {
        "float32": ("weight", "bias", "running_mean", "running_var"), "int64": ("num_batches_tracked",),
    }  # fmt: skip
    paths = [path for row in dtype_report(step).rows for path in row.paths]
    assert "params.0" in paths and "state.0.exp_avg" in paths
    ring: list[Any] = [tg.ones(1)]
    ring.append(ring)
    assert dtype_report(ring).rows[0].tensors == 1


# The check -----------------------------------------------------------------------------------------------------------


class Layer(nn.Module):
    def __init__(self, run: Callable[[tg.Tensor], Any]) -> None:
        super().__init__()
        self.run = run

    def forward(self, x: tg.Tensor) -> Any:
        return self.run(x)


UNSTABLE: dict[str, Callable[[tg.Tensor], Any]] = {
    "dtype": lambda x: x.double() if x.sum().item() > 0 else x,
    "shape": lambda x: x[x > 0],
    "kind": lambda x: x if x.sum().item() > 0 else 0.0,
    "several": lambda x: (x, x.double() if x[0, 0].item() < 0 else x),
    "order": lambda x: x.half() if x[0, 0].item() > x[-1, -1].item() else x,
    "error": lambda x: 1 / int(x.sum().item()),
}


@pytest.mark.parametrize("name", UNSTABLE)
def test_a_layer_that_depends_on_values_is_named(name: str) -> None:
    net = nn.Sequential(nn.Linear(2, 2, bias=False), Layer(UNSTABLE[name]))
    net[0].weight.detach()[...] = tg.eye(2)
    with pytest.raises(DtypeError, match=r"^Layer '1'|^Sequential") as caught:
        check_stable(net, tg.tensor([[1.0, 2.0], [3.0, 4.0]]))
    assert "of the same shape and dtype" in caught.value.why


@pytest.mark.parametrize("net", [
    nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Dropout(0.5), nn.GELU()),
    nn.Sequential(nn.Embedding(5, 3), nn.Linear(3, 2)), Layer(lambda x: tg.where(x > 0, x, 0.0)),
])  # fmt: skip
def test_stable_layers_pass_and_stay_as_they_are(net: nn.Module) -> None:
    given = tg.tensor([[0, 4], [1, 2]]) if isinstance(net, nn.Sequential) and len(net) == 2 else tg.randn(4, 3)
    before = {name: value.tolist() for name, value in net.state_dict().items()}
    check_stable(net, given)
    assert {name: value.tolist() for name, value in net.state_dict().items()} == before
    with pytest.raises((EduError, TypeError)):
        check_stable(net, "what no layer takes")
    with pytest.raises(ArgumentError, match="it is no module"):
        check_stable(given)  # type: ignore[arg-type]
