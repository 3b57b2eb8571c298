"""PromotionTracer: inputs made another dtype, tables, timing, and the cell magic."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from tinygrad_edu_widgets import PromotionTracer

import tinygrad_edu as tg
from tests.support import run_python, teaches
from tinygrad_edu import nn
from tinygrad_edu.errors import ArgumentError

FIRST = "first to widen"


def scaled(x: Any, scale: Any) -> Any:
    return (x.relu() * scale - 1.0).mean()


def tracer(scale: Any = None, **given: Any) -> PromotionTracer:
    scale = np.float64(0.5) if scale is None else scale
    return PromotionTracer(scaled, x=tg.ones(64, 8), scale=scale, **given)


def result(widget: PromotionTracer) -> str:
    return str(widget.state.trace.steps[-1].dtype)


# What inputs are made ------------------------------------------------------------------------------------------------


def test_a_number_of_numpys_widens_by_numpys_table_only() -> None:
    widget = tracer()
    assert FIRST not in widget.text() and result(widget) == "float32"
    assert "a single number does not widen" in widget.text()
    widget.table = "numpy"
    assert f"mul, 64×8 float64, 4.10 kB, 2.05 kB more than needed, {FIRST}" in widget.text()
    assert "fix: scale = float(scale)" in widget.text()
    widget.act("make", "Python number")
    assert FIRST not in widget.text() and "scale: Python number (given: float64)" in widget.text()
    widget.act("make", "float32")
    assert FIRST not in widget.text() and result(widget) == "float32"
    widget.act("table", "jax")
    assert "JAX's rules" in widget.text() and widget.table == "jax"
    widget.act("reset")
    assert widget.table == "torch" and widget.state.choice("scale") == "float64"


@pytest.mark.parametrize(
    "scale, fix",
    [
        (tg.ones(8, dtype="float64"), 'scale = scale.to("float32")'),
        (np.ones(8), 'scale = scale.astype("float32")'),
    ],
)
def test_what_is_said_to_fix_it_does(scale: Any, fix: str) -> None:
    widget = tracer(scale)
    assert f"fix: {fix}" in widget.text() and result(widget) == "float64"
    names = {"scale": scale}
    exec(fix, names)
    assert FIRST not in tracer(names["scale"]).text()
    widget.act("make", "float32")
    assert FIRST not in widget.text() and result(widget) == "float32"


def test_any_input_can_be_picked_and_made_wide() -> None:
    widget = tracer(0.5)
    leaf = next(row.key for row in _rows(widget) if row.leaf is not None and row.leaf.name == "x")
    widget.act("pick", leaf)
    widget.act("make", "float16")
    assert result(widget) == "float16" and "x: float16 (given: float32)" in widget.text()
    widget.act("make", "bfloat16")
    assert result(widget) == "bfloat16"
    widget.act("make", "complex64")
    assert "that cannot be chosen here" in widget.text() and result(widget) == "bfloat16"


def _rows(widget: PromotionTracer) -> Any:
    from tinygrad_edu.views import promotion

    return promotion.rows(widget.state)


class Standardised(nn.Module):
    """Its buffer comes from NumPy, in float64."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(8, 8)
        self.register_buffer("mean", tg.tensor(np.zeros(8)))

    def forward(self, x: tg.Tensor) -> tg.Tensor:
        return self.inner(x) - self.mean


def test_a_model_is_an_input_and_its_buffer_the_culprit() -> None:
    model = Standardised()
    widget = PromotionTracer(lambda model, x: model(x), model=model, x=tg.ones(2, 8))
    assert 'fix: model = model.to("float32")' in widget.text() and "why: model.mean is float64" in widget.text()
    assert widget.state.choice("model") == "as given"
    widget.act("make", "float32")
    assert FIRST not in widget.text() and model.mean.dtype == "float64", "one's own model stays as it is"
    widget.act("make", "as given")
    assert FIRST in widget.text()


def test_a_gradient_is_asked_for_as_before_and_ones_own_tensor_gets_none() -> None:
    w = tg.ones(3, requires_grad=True)
    seen: list[Any] = []

    def run(w: Any) -> Any:
        (w * 2.0).sum().backward()
        seen.append((w.dtype, w.grad.dtype))

    widget = PromotionTracer(run, w=w)
    widget.act("make", "float64")
    assert seen == [("float32", "float32"), ("float64", "float64")]


def test_a_refusal_is_shown_with_what_met() -> None:
    widget = PromotionTracer(lambda x, w: x @ w, x=tg.ones(3, 3), w=tg.ones(3, 3, dtype="float64"))
    assert "> matmul, refused" in widget.text() and "▲ matmul" in widget.text()
    assert "a matrix product does not mix dtypes" in widget.html
    widget.act("table", "numpy")
    assert "refused" not in widget.text() and FIRST in widget.text()


def test_an_error_of_the_function_is_not_hidden() -> None:
    with pytest.raises(ZeroDivisionError):
        PromotionTracer(lambda: 1 / 0)


# Timing --------------------------------------------------------------------------------------------------------------


def test_the_culprit_is_timed_against_itself_made_narrow() -> None:
    calls: list[Any] = []

    def run(x: Any, scale: Any) -> Any:
        calls.append(scale.dtype)
        return (x * scale).sum()

    widget = PromotionTracer(run, x=tg.ones(64), scale=tg.ones(64, dtype="float64"))
    before = repr(widget)
    widget.act("time")
    assert {str(one) for one in calls} == {"float64", "float32"}
    assert (
        "here: scale float64, " in widget.text() and "; scale float32, " in widget.text() and "measured" in widget.html
    )
    assert widget.data()["timing"]["slow"]["name"] == "scale float64"
    assert repr(widget) == before, "saved text does not differ from run to run"
    widget.act("table", "numpy")
    assert widget.state.timing is None and "measured" not in widget.html


def test_without_a_culprit_among_the_inputs_nothing_is_timed() -> None:
    widget = PromotionTracer(lambda x: x * tg.ones(3, dtype="float64"), x=tg.ones(3))
    assert FIRST in widget.text()
    assert re.search(r'<button[^>]* data-act="time"[^>]* disabled[^>]*>', widget.html)
    widget.act("time")
    assert widget.state.timing is None
    assert 'data-act="time"' not in PromotionTracer(lambda x: x * 2.0, x=tg.ones(3)).html


# What is refused -----------------------------------------------------------------------------------------------------


def test_arguments_that_do_not_fit_are_refused() -> None:
    with teaches(ArgumentError, "table='julia'", "the tables are torch, numpy, jax", 'give table="numpy"'):
        tracer(table="julia")
    with teaches(
        ArgumentError,
        "PromotionTracer(run=3)",
        "run is called, and this cannot be",
        "give a function, such as a lambda",
    ):
        PromotionTracer(3)  # type: ignore[arg-type]
    for run in (lambda y: y, int, nn.ReLU()):
        with pytest.raises(ArgumentError, match="it is called with x, each by name, and does not take them"):
            PromotionTracer(run, x=1.0)


# The cell magic ------------------------------------------------------------------------------------------------------

SHELL = """
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
shell.run_cell("%load_ext tinygrad_edu_widgets\\nimport tinygrad_edu as tg, numpy as np")
shell.run_cell("x, scale, n = tg.ones(4, 2), np.full(2, 0.5), 3")
shell.run_cell("%%dtypes\\nh = x.relu() * scale\\nloss = h.sum()\\nloss")
shell.run_cell("print('loss is', loss.dtype, '__value_of_the_cell__' in globals())")
shell.run_cell("w = get_ipython().run_cell_magic('dtypes', 'numpy', 'y = x * np.float64(2.0)')")
shell.run_cell("print(w.state.table, [one.name for one in w.state.inputs], y.dtype)")
shell.run_cell("w = get_ipython().run_cell_magic('dtypes', '', 'total = x * scale')")
shell.run_cell("w.act('make', 'float32'); print('made', w.state.trace.steps[-1].dtype, total.dtype, scale.dtype)")
shell.run_cell("%%dtypes julia\\n1")
shell.run_cell("%%dtypes\\nx = (")
shell.run_cell("%%dtypes\\nx = 1\\nreturn x")
shell.run_cell("%%dtypes\\nmissing + 1")
"""


def test_the_magic_in_a_shell() -> None:
    pytest.importorskip("IPython")
    done = run_python(SHELL, "-W", "ignore")
    assert done.returncode == 0, done.stderr
    said = done.stdout
    assert f"mul, 4×2 float64, 64 bytes, 32 bytes more than needed, {FIRST}" in said
    assert ", line 2: h = x.relu() * scale" in said, "lines count from %%dtypes"
    assert "loss is float64 False" in said
    assert "numpy ['x'] float64" in said
    assert "made float32 float64 float64" in said, "names stay as they were after the first run"
    errors = done.stdout + done.stderr
    assert "UsageError: table='julia': the tables are torch, numpy, jax." in errors
    assert "UsageError: %%dtypes: line 2 of the cell cannot be read: '(' was never closed." in errors
    assert "UsageError: %%dtypes: line 3 of the cell cannot be read: 'return' outside function." in errors
    assert "name 'missing' is not defined" in errors
