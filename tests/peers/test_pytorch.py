"""The same in PyTorch: values, dtypes and gradients of every op, and programs that write in place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tests.ops.cases import CASES, Case, is_float

torch = pytest.importorskip("torch", reason="needs PyTorch: pip install -e '.[peers]'")
pytestmark = pytest.mark.peers

TOLERANCE = {"float64": 1e-12, "float32": 3e-6}
SAME = [case for case in CASES if case.torch is not None]


def name_of(dtype: Any) -> str:
    return str(dtype).removeprefix("torch.")


def close(ours: Any, theirs: Any, tolerance: float) -> None:
    assert tuple(ours.shape) == tuple(theirs.shape)
    assert name_of(ours.dtype) == name_of(theirs.dtype)
    np.testing.assert_allclose(ours.detach().array, theirs.detach().numpy(), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("case", SAME, ids=str)
def test_values_dtypes_and_gradients(case: Case, dtype: str) -> None:
    operands = tuple(o.astype(dtype) if is_float(o) else o for o in case.operands())
    ours = [tg.tensor(o) if isinstance(o, np.ndarray) else o for o in operands]
    theirs = [torch.from_numpy(o.copy()) if isinstance(o, np.ndarray) else o for o in operands]
    floats = [i for i, o in enumerate(operands) if is_float(o) and case.differentiable]
    for i in floats:
        ours[i].requires_grad_()
        theirs[i].requires_grad_()
    found, expected = case.run(*ours), case.torch(torch, *theirs)  # type: ignore[misc]
    tolerance = TOLERANCE[dtype]
    close(found, expected, tolerance)
    if floats:
        weights = np.random.default_rng(1).normal(size=found.shape).astype(found.dtype)
        found.backward(tg.tensor(weights))
        expected.backward(torch.from_numpy(np.asarray(weights)))
        for i in floats:
            close(ours[i].grad, theirs[i].grad, tolerance)


# Programs that write in place: written once, run with either module --------------------------------------------


def scale_a_row(m: Any, x: Any, y: Any) -> Any:
    z = x * 1.0
    z[0] *= 2.0
    return (z * z).sum()


def write_through_a_chain_of_views(m: Any, x: Any, y: Any) -> Any:
    z = x.clone()
    z.transpose(0, 1)[1:].add_(y.transpose(0, 1)[1:])
    return (z * x).sum()


def overwrite_a_region(m: Any, x: Any, y: Any) -> Any:
    z = x * y
    z[:, 1] = y[:, 0] * 3.0
    z[0, 0] = 5.0
    return z.exp().sum()


def see_a_write_through_an_older_view(m: Any, x: Any, y: Any) -> Any:
    z = x.clone()
    view = z.reshape(-1)
    z.mul_(y)
    return (view[1:4] ** 2).sum()


def several_writes(m: Any, x: Any, y: Any) -> Any:
    z = x.clone()
    z.add_(y).mul_(y).sub_(1.0).div_(y)
    z.clamp_(-1.0, 1.0)
    return (z * z * y).sum()


def write_without_a_graph(m: Any, x: Any, y: Any) -> Any:
    z = x.clone()
    with m.no_grad():
        z.mul_(3.0)
    return (z * y).sum()


def fill(m: Any, x: Any, y: Any) -> Any:
    z = x * y
    z[1].zero_()
    z[:, 0].fill_(2.0)
    z[0].copy_(y[0])
    return (z * x).sum()


def relu_in_place(m: Any, x: Any, y: Any) -> Any:
    z = x - y
    return (z.relu_() * y).sum()


def turn_itself_round(m: Any, x: Any, y: Any) -> Any:
    z = x * y
    row = z[1]
    z.t_()
    row.mul_(3.0)
    z[0] += y[:, 1]
    return (z * x.t()).sum() + row.sum()


def gain_and_lose_axes(m: Any, x: Any, y: Any) -> Any:
    z = x * y
    part = z[:, 1:]
    part.unsqueeze_(0).transpose_(1, 2)
    z.unsqueeze_(1).squeeze_()
    part.mul_(y[:, 1:].t())
    return (z * x).sum() + (part[0].t() * y[:, 1:]).sum()


def reshape_what_was_written(m: Any, x: Any, y: Any) -> Any:
    z = x * 2.0
    part = z[0]
    z.mul_(3.0)
    z.unsqueeze_(1)
    return (z * z).sum() + part.exp().sum()


def detach_what_was_written_through_a_view(m: Any, x: Any, y: Any) -> Any:
    z = x * 2.0
    part = z[0]
    part.mul_(3.0)
    z.detach_()
    return (part * part).sum() + (z * x).sum()


def turn_a_leaf_round(m: Any, x: Any, y: Any) -> Any:
    x.t_()
    return x.sum()


def give_a_view_of_a_leaf_an_axis(m: Any, x: Any, y: Any) -> Any:
    x[0].unsqueeze_(0)
    return x.sum()


def detach_a_view(m: Any, x: Any, y: Any) -> Any:
    (x * 1.0)[0].detach_()
    return x.sum()


def overwrite_what_backward_needs(m: Any, x: Any, y: Any) -> Any:
    z = x.exp()
    z.add_(1.0)
    return z.sum()


def overwrite_a_leaf(m: Any, x: Any, y: Any) -> Any:
    x.add_(1.0)
    return x.sum()


def overwrite_a_view_of_a_leaf(m: Any, x: Any, y: Any) -> Any:
    x[0].add_(1.0)
    return x.sum()


def write_to_what_was_expanded(m: Any, x: Any, y: Any) -> Any:
    z = x.clone()[:1].expand(2, 3)
    z.add_(1.0)
    return z.sum()


PROGRAMS: list[Callable[..., Any]] = [
    scale_a_row, write_through_a_chain_of_views, overwrite_a_region, see_a_write_through_an_older_view, several_writes,
    write_without_a_graph, fill, relu_in_place, turn_itself_round, gain_and_lose_axes,
    reshape_what_was_written, detach_what_was_written_through_a_view,
]  # fmt: skip
REFUSED: list[Callable[..., Any]] = [
    turn_a_leaf_round, give_a_view_of_a_leaf_an_axis, detach_a_view,
    overwrite_what_backward_needs, overwrite_a_leaf, overwrite_a_view_of_a_leaf, write_to_what_was_expanded,
]  # fmt: skip


def leaves() -> tuple[list[Any], list[Any]]:
    rng = np.random.default_rng(2)
    arrays = [rng.uniform(0.5, 2.0, (2, 3)) for _ in range(2)]
    return [tg.tensor(a, requires_grad=True) for a in arrays], [torch.tensor(a, requires_grad=True) for a in arrays]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_programs_that_write_in_place(program: Callable[..., Any]) -> None:
    ours, theirs = leaves()
    found, expected = program(tg, *ours), program(torch, *theirs)
    close(found, expected, 1e-13)
    found.backward()
    expected.backward()
    for x, y in zip(ours, theirs, strict=True):
        assert (x.grad is None) is (y.grad is None)
        if x.grad is not None:
            close(x.grad, y.grad, 1e-13)


@pytest.mark.parametrize("program", REFUSED, ids=lambda p: p.__name__)
def test_programs_that_both_refuse(program: Callable[..., Any]) -> None:
    for module, xs in zip((tg, torch), leaves(), strict=True):
        with pytest.raises(RuntimeError):
            program(module, *xs).backward()


# Modules and optimiser ---------------------------------------------------------------------------------------


def networks() -> tuple[Any, Any]:
    def build(nn: Any) -> Any:
        return nn.Sequential(
            nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(64, 16), nn.Tanh(),
            nn.Linear(16, 10),
        )  # fmt: skip

    ours, theirs = build(tg.nn), build(torch.nn)
    ours.load_state_dict({name: t.numpy() for name, t in theirs.state_dict().items()})
    return ours, theirs


def test_names_shapes_and_repr() -> None:
    ours, theirs = networks()
    assert [(n, p.shape) for n, p in ours.named_parameters()] == [
        (n, tuple(p.shape)) for n, p in theirs.named_parameters()
    ]
    assert list(ours.state_dict()) == list(theirs.state_dict())
    assert [n for n, _ in ours.named_modules()] == [n for n, _ in theirs.named_modules()]


@pytest.mark.parametrize(
    "settings",
    [
        {"lr": 0.1},
        {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.01},
        {"lr": 0.05, "momentum": 0.9, "weight_decay": 0.01, "nesterov": True},
    ],
    ids=str,
)
def test_five_training_steps(settings: dict[str, Any]) -> None:
    ours, theirs = networks()
    a, b = tg.optim.SGD(ours.parameters(), **settings), torch.optim.SGD(theirs.parameters(), **settings)
    rng = np.random.default_rng(0)
    for _ in range(5):
        x, y = rng.normal(size=(8, 1, 8, 8)).astype("f4"), rng.integers(0, 10, 8)
        a.zero_grad()
        b.zero_grad()
        mine = tg.nn.CrossEntropyLoss()(ours(tg.tensor(x)), tg.tensor(y))
        other = torch.nn.CrossEntropyLoss()(theirs(torch.tensor(x)), torch.tensor(y))
        assert mine.item() == pytest.approx(other.item(), rel=1e-5)
        mine.backward()
        other.backward()
        a.step()
        b.step()
    for p, q in zip(ours.parameters(), theirs.parameters(), strict=True):
        close(p, q, 1e-5)
