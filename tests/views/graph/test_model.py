"""Recording a run: values and gradients as in a plain run, names, rows, order, and nothing left behind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tests.support import teaches
from tinygrad_edu import nn
from tinygrad_edu.errors import AutogradError
from tinygrad_edu.settings import modes
from tinygrad_edu.views.graph import GraphRun, Preview, record


def leaf(data: Any, **options: Any) -> tg.Tensor:
    return tg.tensor(data, requires_grad=True, **options)


def gradients(run: GraphRun) -> dict[str, float]:
    """The last gradient that each named node got."""
    found = {run.label(run.backward[0].node): run.backward[0].gradient.norm}
    for step in run.backward:
        for send in step.sends:
            found[run.label(send.target)] = send.total.norm
    return found


def operations(run: GraphRun) -> list[str]:
    return [run.nodes[node].op for node in run.forward]


class TwoLayers(nn.Module):
    """A module of the user's own."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(2, 3)
        self.scale = nn.Parameter(tg.tensor([2.0, 3.0, 4.0]))

    def forward(self, x: tg.Tensor) -> tg.Tensor:
        hidden = self.first(x)
        return (hidden * self.scale).tanh()


def test_values_and_gradients_are_those_of_a_plain_run() -> None:
    x, w, b = leaf([[1.0, 2.0], [3.0, 4.0]]), leaf([[0.5], [-0.25]]), leaf([0.1])

    def loss_of(x: tg.Tensor, w: tg.Tensor, b: tg.Tensor) -> tg.Tensor:
        y = (x @ w + b).tanh()
        return (y * y + x.sum()).sum()

    run = record(loss_of, {"x": x, "w": w, "b": b})
    assert (x.grad, w.grad, b.grad) == (None, None, None)
    loss = loss_of(x, w, b)
    loss.backward()
    found = gradients(run)
    assert run.nodes[run.result].value.norm == loss.item()
    for name, tensor in (("x", x), ("w", w)):
        assert found[name] == pytest.approx(float(np.linalg.norm(tensor.grad.array)), rel=1e-6)
    assert found["b"] == b.grad.item()
    assert found["loss"] == 1.0


def test_every_step_is_there_in_order() -> None:
    x, w = leaf(2.0), leaf(-3.0)

    def loss_of(x: tg.Tensor, w: tg.Tensor) -> tg.Tensor:
        p = x * w
        return p * p + x

    run = record(loss_of, {"x": x, "w": w})
    assert operations(run) == ["mul", "mul", "add"]
    assert list(run.forward) == sorted(run.forward)
    assert [run.nodes[step.node].op for step in run.backward] == ["add", "mul", "mul"]
    assert [node.name for node in run.nodes] == ["x", "w", "p", None, "loss"]
    assert run.edges == ((0, 2, 0), (1, 2, 1), (2, 3, 0), (2, 3, 1), (3, 4, 0), (0, 4, 1))
    assert run.steps == 6
    assert run.code == ("p = x * w", "return p * p + x")
    assert [node.row for node in run.nodes] == [None, None, 0, 1, 1]


def test_sums_and_additions_of_gradients_are_told() -> None:
    run = record(lambda x, b: ((x + b) * x).sum(), {"x": leaf([[1.0, 2.0], [3.0, 4.0]]), "b": leaf([1.0, 2.0])})
    sends = {(run.nodes[s.node].op, run.label(p.target)): p for s in run.backward for p in s.sends}
    assert sends["add", "b"].summed
    assert not sends["add", "x"].summed
    assert sends["add", "b"].arriving.rows == ((4.0, 6.0),)
    assert sends["mul", "x"].held is None
    assert sends["add", "x"].held == sends["mul", "x"].total
    assert sends["add", "x"].total.rows == ((3.0, 6.0), (7.0, 10.0))


def test_what_an_op_saves_is_what_it_keeps() -> None:
    x, c = leaf([1.0, 2.0]), tg.tensor([3.0, 4.0])
    run = record(lambda x, c: (x * c).tanh().sum(), {"x": x, "c": c})
    saved = {node.op: node.saved for node in run.nodes if node.op}
    assert saved == {"mul": ("y",), "tanh": ("out",), "sum": ()}  # c wants no gradient, so x is not kept
    assert [node.wants for node in run.nodes] == [True, False, True, True, True]


def test_gradients_of_parameters_are_put_back() -> None:
    model = TwoLayers()
    x = leaf([[1.0, -1.0]])
    model.scale.grad = tg.tensor([7.0, 7.0, 7.0])
    before = {name: None if p.grad is None else p.grad.tolist() for name, p in model.named_parameters()}
    run = record(lambda x: model(x).sum(), {"x": x})
    assert {name: None if p.grad is None else p.grad.tolist() for name, p in model.named_parameters()} == before
    assert x.grad is None
    assert {"first.weight", "first.bias", "scale"} <= {node.name for node in run.nodes}


def test_a_graph_made_before_the_run_is_drawn_as_a_leaf_and_stays() -> None:
    a = leaf([1.0, 2.0])
    h = a * 3.0
    for _ in range(2):
        run = record(lambda x: (h * x).sum(), {"x": leaf([1.0, 1.0])})
        assert [(node.op, node.name) for node in run.nodes] == [("", "x"), ("", "h"), ("mul", None), ("sum", "loss")]
        assert gradients(run)["h"] == pytest.approx(2**0.5)
    assert a.grad is None
    h.sum().backward()
    assert a.grad.tolist() == [3.0, 3.0]


def test_names_of_locals_closures_globals_and_the_loss() -> None:
    outside = leaf(2.0)

    def loss_of(x: tg.Tensor) -> tg.Tensor:
        inner = x * outside
        return inner * GLOBAL

    names = [node.name for node in record(loss_of, {"x": leaf(1.0)}).nodes]
    assert names == ["x", "outside", "inner", "GLOBAL", "loss"]


GLOBAL = tg.tensor(5.0)


def test_names_of_a_module_of_its_parameters_and_of_a_wrapped_function() -> None:
    model = TwoLayers()
    outside = leaf(2.0)

    class Loss:
        def of(self, x: tg.Tensor) -> tg.Tensor:
            y = model(x)
            return y.sum() * outside

    for function, given, wanted in (
        (nn.Sequential(model, nn.Linear(3, 1)), "input", {"input", "0.scale", "1.weight", "loss"}),
        (Loss().of, "x", {"x", "scale", "y", "outside", "loss"}),
        (tg.enable_grad()(Loss().of), "x", {"x", "scale", "outside", "loss"}),
    ):
        assert wanted <= {node.name for node in record(function, {given: leaf([[1.0, 2.0]])}).nodes}


def rows(function: Callable[..., Any], **leaves: tg.Tensor) -> tuple[tuple[str, ...], list[tuple[str, int | None]]]:
    run = record(function, leaves)
    return run.code, [(run.nodes[n].op, run.nodes[n].row) for n in run.forward]


def test_rows_of_a_def_with_a_long_head() -> None:
    # fmt: off
    def loss_of(
        x: tg.Tensor,
        w: tg.Tensor = GLOBAL,
    ) -> tg.Tensor:  # a remark: here
        for _ in range(1):
            x = x * w
        return x.sum()
    # fmt: on

    code, found = rows(loss_of, x=leaf([1.0, 2.0]))
    assert code == ("for _ in range(1):", "    x = x * w", "return x.sum()")
    assert found == [("mul", 1), ("sum", 2)]


def test_rows_of_a_def_in_one_line() -> None:
    # fmt: off
    def loss_of(x: tg.Tensor) -> tg.Tensor: return (x * x).sum()
    # fmt: on

    code, found = rows(loss_of, x=leaf([1.0, 2.0]))
    assert code == ("def loss_of(x: tg.Tensor) -> tg.Tensor: return (x * x).sum()",)
    assert found == [("mul", 0), ("sum", 0)]


def test_rows_of_a_lambda() -> None:
    square = lambda x: (x * x).sum()  # noqa: E731
    code, found = rows(square, x=leaf([1.0, 2.0]))
    assert code == ("square = lambda x: (x * x).sum()  # noqa: E731",)
    assert found == [("mul", 0), ("sum", 0)]


def test_rows_of_a_decorated_and_a_nested_function() -> None:
    def outer(x: tg.Tensor) -> tg.Tensor:
        @tg.enable_grad()
        def inner(y: tg.Tensor) -> tg.Tensor:
            return y.tanh()

        return inner(x).sum()

    code, found = rows(outer, x=leaf([1.0]))
    assert code[:2] == ("@tg.enable_grad()", "def inner(y: tg.Tensor) -> tg.Tensor:")
    assert found == [("tanh", 2), ("sum", 4)]
    run = record(tg.enable_grad()(outer), {"x": leaf([1.0])})
    assert run.code == code
    assert [run.nodes[n].row for n in run.forward] == [2, 4]


def test_a_modules_operations_belong_to_the_line_that_calls_it() -> None:
    model = TwoLayers()

    def loss_of(x: tg.Tensor) -> tg.Tensor:
        y = model(x)
        return y.sum()

    run = record(loss_of, {"x": leaf([[1.0, 2.0]])})
    assert [(run.nodes[n].op, run.nodes[n].row) for n in run.forward] == [
        ("linear", 0), ("mul", 0), ("tanh", 0), ("sum", 1),
    ]  # fmt: skip
    groups = [tuple(label for _, label in run.nodes[n].groups) for n in run.forward]
    assert groups == [("TwoLayers", "first"), ("TwoLayers",), ("TwoLayers",), ()]


def test_a_function_without_source_has_no_code() -> None:
    scope: dict[str, Any] = {}
    exec("def loss_of(x):\n    return x * x", scope)
    run = record(scope["loss_of"], {"x": leaf(3.0)})
    assert (run.code, [node.row for node in run.nodes]) == ((), [None, None])


def test_a_loss_that_is_a_leaf_has_no_steps() -> None:
    run = record(lambda x: x, {"x": leaf(3.0)})
    assert (run.steps, run.result, run.backward) == (0, 0, ())


ONE = "return the loss, reduced to one number: (…).sum() or .mean()"
CUT = "leave out what cuts it: detach(), no_grad(), item(), or a result of whole numbers such as argmax()"
LOST = "it does not depend on any tensor that requires a gradient: the graph was cut on the way"


@pytest.mark.parametrize(
    ("function", "returned", "why", "mend"),
    [
        (lambda x: x * 2, "a tensor (2,)", "backward starts from a single number, and this has 2 elements", ONE),
        (lambda x: x[:0], "a tensor (0,)", "backward starts from a single number, and this has 0 elements", ONE),
        (lambda x: None, "NoneType", "backward starts from a tensor that holds a single number",
         "return the loss, a tensor"),
        (lambda x: x.sum().item(), "float", "backward starts from a tensor that holds a single number",
         "return the loss, a tensor"),
        (lambda x: tg.tensor(1.0), "a tensor ()", LOST, CUT),
        (lambda x: x.detach().sum(), "a tensor ()", LOST, CUT),
        (lambda x: x.argmax(), "a tensor ()", LOST, CUT),
    ],
)  # fmt: skip
def test_what_is_no_loss_is_refused(function: Callable[..., Any], returned: str, why: str, mend: str) -> None:
    with teaches(
        AutogradError, f"stepping through a function that returns {returned}", why, mend, line="record(function"
    ):
        record(function, {"x": leaf([1.0, 2.0])})


def test_a_loss_without_gradients_is_not_told_to_become_one_number() -> None:
    with teaches(
        AutogradError,
        "stepping through a function that returns a tensor ()",
        "none of the tensors in the run requires a gradient, so there is nothing to step back to",
        "ask for one where a leaf is made: tensor(2.0, requires_grad=True)",
    ):
        record(lambda x: (x * x).sum(), {"x": tg.tensor([1.0, 2.0])})


def test_a_write_in_place_is_a_step_like_any_other() -> None:
    def loss_of(x: tg.Tensor) -> tg.Tensor:
        total = x * 2
        total += x
        return total.sum()

    run = record(loss_of, {"x": leaf([1.0, 2.0])})
    assert [(run.nodes[n].op, run.nodes[n].value.rows, run.nodes[n].row) for n in run.forward] == [
        ("mul", ((2.0, 4.0),), 0), ("add", ((3.0, 6.0),), 1), ("sum", ((9.0,),), 2),
    ]  # fmt: skip
    assert gradients(run)["x"] == pytest.approx(18**0.5)


def write_part(x: tg.Tensor) -> tg.Tensor:
    y = x * 2
    y[0] *= 3
    return (y * y).sum()


def read_part(x: tg.Tensor) -> tg.Tensor:
    y = x * 2
    part = y[:1]
    y += 1
    return (part * part).sum()


@pytest.mark.parametrize("function", [write_part, read_part])
def test_a_write_through_a_view_is_refused_with_its_line(function: Callable[..., Any]) -> None:
    with pytest.raises(AutogradError) as caught:
        record(function, {"x": leaf([1.0, 2.0])})
    first, why, line, mend = str(caught.value).split("\n")
    assert first.startswith("stepping through a function that writes through a view (")
    assert why == "  why:  the write changes the history of the whole tensor, and that is not one step"
    assert line.startswith("  line: test_model.py, line ")
    assert mend == "  mend: compute a new tensor instead, with where() or cat()"


def test_a_written_constant_is_shown_as_it_was_when_used() -> None:
    def loss_of(x: tg.Tensor) -> tg.Tensor:
        scale = tg.tensor([1.0, 1.0])
        first = (x + scale).sum()
        scale[0] = 5.0
        return first + (x + scale).sum()

    run = record(loss_of, {"x": leaf([1.0, 2.0])})
    put = next(node for node in run.nodes if node.op == "put")
    assert (put.value.rows, put.wants, put.row) == (((5.0, 1.0),), False, 2)
    assert [source for source, target, _ in run.edges if run.nodes[target].row == 3] == [0, put.id, 6, 3, 7]


def test_an_error_of_the_function_passes_and_leaves_the_modes() -> None:
    before = modes()

    def loss_of(x: tg.Tensor) -> tg.Tensor:
        raise KeyError("own")

    with pytest.raises(KeyError, match="own"):
        record(loss_of, {"x": leaf(1.0)})
    assert modes() is before


def test_it_records_inside_no_grad_and_other_dtypes() -> None:
    with tg.no_grad():
        run = record(lambda x: (x * x).sum(), {"x": leaf([1.0, 2.0], dtype="float64")})
    assert {node.dtype for node in run.nodes} == {"float64"}
    assert gradients(run)["x"] == pytest.approx(20**0.5)
    mixed = record(lambda x: (x * tg.tensor([1.0], dtype="float64")).sum(), {"x": leaf([2.0], dtype="float16")})
    assert operations(mixed) == ["cast", "mul", "sum"]


@pytest.mark.parametrize(
    "array, norm, rows",
    [
        (np.float32(-2.0), -2.0, ((-2.0,),)),
        (np.array([3.0, 4.0]), 5.0, ((3.0, 4.0),)),
        (np.zeros((3, 4)), 0.0, ((0.0,) * 4,) * 3),
        (np.ones(5), 5**0.5, None),
        (np.ones((4, 4)), 4.0, None),
        (np.ones((1, 1, 1)), 1.0, None),
        (np.ones((0, 3)), 0.0, None),
        (np.array([True, False]), 1.0, ((1.0, 0.0),)),
        (np.array([[-3]], dtype=np.int64), -3.0, ((-3.0,),)),
    ],
)
def test_previews(array: Any, norm: float, rows: Any) -> None:
    assert Preview.of(array) == Preview(array.shape, norm, rows)
