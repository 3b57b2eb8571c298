"""The cell magic %%program: what it prints, against the programs themselves."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import pytest

import tinygrad_edu as tg
from tests.support import run_python
from tinygrad_edu import nn, optim
from tinygrad_edu.compiler import cost_of, optimised, table, trace
from tinygrad_edu.compiler.passes import PASSES

pytest.importorskip("IPython")
from IPython.core.compilerop import CachingCompiler
from IPython.core.error import UsageError
from IPython.core.inputtransformer2 import TransformerManager
from tinygrad_edu_widgets.program_magic import FLAGS, ProgramMagics, read_line


@pytest.fixture
def shell() -> Any:
    """What the magic asks of a shell, with a few names."""
    model = nn.Linear(3, 2)
    names = {
        "tg": tg, "x": tg.rand(4, 3), "w": tg.rand(3, 2), "n": 3, "model": model,
        "optimiser": optim.SGD(model.parameters(), lr=0.1),
    }  # fmt: skip
    compiler, transform = CachingCompiler(), TransformerManager().transform_cell
    return SimpleNamespace(user_ns=names, compile=compiler, transform_cell=transform, execution_count=1)


@pytest.fixture
def printed(shell: Any, capsys: pytest.CaptureFixture[str]) -> Any:
    def run(cell: str, line: str = "") -> str:
        capsys.readouterr()
        ProgramMagics(shell).program(line, cell)
        return capsys.readouterr().out

    return run


def computed(x: tg.Tensor, w: tg.Tensor) -> tg.Tensor:
    h = (x @ w * 1.0 + 1.0).relu()
    return (h.exp() / h.exp().sum()).log()


CELL = "h = (x @ w * 1.0 + 1.0).relu()\n(h.exp() / h.exp().sum()).log()\n"


def squeezed(text: str) -> list[str]:
    """Lines, whatever their columns and indentation are."""
    return [" ".join(line.split()) for line in text.strip().split("\n")]


def test_both_listings_are_those_of_the_compiler(shell: Any, printed: Any) -> None:
    told = squeezed(printed(CELL))
    before = trace(computed, shell.user_ns["x"], shell.user_ns["w"])
    after = optimised(before)
    assert told[0] == "v0 = x, v1 = w" and told[1] == "as recorded:"
    middle = told.index("after the passes:")
    assert told[2:middle] == squeezed(table(before))
    bodies = {" ".join(str(inner).split()) for one in after.equations if one.body for inner in one.body.equations}
    assert [line for line in told[middle + 1 : -1] if line not in bodies] == squeezed(table(after))
    assert bodies <= set(told) and len(bodies) > 3
    assert told[-1] == f"returns {after.outputs[0]}: the result"
    assert cost_of(after).launches < cost_of(before).launches


def test_it_is_the_same_in_each_run_and_has_no_times(printed: Any) -> None:
    first = printed(CELL)
    assert printed(CELL) == first and not re.search(r"\d [mnµ]s\b", first)
    timed = printed(CELL, "--time")
    assert len(re.findall(r"\d [mnµ]?s\n", timed)) == 9 + 1 + 4 + 1
    assert re.sub(r" +time\n| +[\d.]+ [mnµ]?s\n", "\n", timed) == first


def test_each_pass_says_what_it_changes(shell: Any, printed: Any) -> None:
    told = printed(CELL, "--passes")
    said = told[told.index("algebra:") : told.index("after the passes:")].strip().split("\n")
    names = [line.rstrip(":") for line in said if line.rstrip(":") in PASSES]
    assert names == ["algebra", "common", "fuse"]
    before = trace(computed, shell.user_ns["x"], shell.user_ns["w"])
    lines = [line.strip() for line in str(before).split("\n")]
    for line in said:
        if line.startswith("  - "):
            lines.remove(line[4:])
        elif line.startswith("  + "):
            lines.append(line[4:])
    after = [line.strip() for line in str(optimised(before)).split("\n")]
    assert sorted(lines) == sorted(after), "what is taken away and put in makes the one of the other"
    assert PASSES["dead"](before) == before, "a pass that changes nothing is not named"


def test_the_code_that_runs(printed: Any) -> None:
    told = printed("(x @ w).tanh()", "--source")
    assert "the code that runs:\ndef run(a0, a1" in told and "the code that runs" not in printed("(x @ w).tanh()")


@pytest.mark.parametrize(
    "cell",
    [
        "y = (x @ w + n).tanh()",
        "def f(x, w):\n    return (x @ w + n).tanh()",
        "h = x @ w\nm = n\n(h + m).tanh()",
        "x = x @ w\nx = x + n\nx.tanh()",
        "n = n + 0\n(x @ w + n).tanh()",
    ],
)
def test_ways_to_write_it(cell: str, printed: Any) -> None:
    assert printed(cell) == printed("(x @ w + n).tanh()")


def test_names_of_the_notebook_stay_as_they_are(shell: Any, printed: Any) -> None:
    x, before = shell.user_ns["x"], shell.user_ns["x"].numpy().copy()
    printed("x = x * 2\nfresh = x + 1\nfresh")
    assert shell.user_ns["x"] is x and "fresh" not in shell.user_ns and (x.numpy() == before).all()
    told = printed("x.add_(1)")
    assert "v1: written to x" in told and (x.numpy() == before + 1).all(), "what it writes into is written into, once"


def test_weights_have_their_names_and_a_later_backward_is_told(printed: Any) -> None:
    told = printed("model(x).relu().sum()")
    assert "v0 = x, v1 = model.weight, v2 = model.bias" in told
    assert "program 1 of 2\n" in told and "program 2 of 2: for a backward() that comes later\n" in told
    assert "v0 = kept by the program before" in told and "the gradient of the result" in told
    assert told.count("a gradient") == 2
    assert "program 1" not in printed("with tg.no_grad():\n    y = model(x)\ny")


def test_a_step_of_training(shell: Any, printed: Any) -> None:
    """That of SGD is a part of the program; that of another optimiser is a call."""
    weight = shell.user_ns["model"].weight
    before = weight.detach().numpy().copy()
    told = printed("loss = model(x).square().mean()\nloss.backward()\noptimiser.step()")
    written = r"returns v\d+: written to model.weight, v\d+: written to model.bias, "
    assert re.search(written + r"v\d+: model.weight.grad, v\d+: model.bias.grad", " ".join(told.split()))
    assert max(map(len, told.split("\n"))) <= 90, "no line that a notebook would break in the middle of a word"
    assert "a number that changes" in told and "between or after" not in told
    assert (weight.detach().numpy() == before - 0.1 * weight.grad.numpy()).all(), "it has run, once"
    shell.user_ns["other"] = tg.optim.Adam(shell.user_ns["model"].parameters())
    told = printed("loss = model(x).square().mean()\nloss.backward()\nother.step()")
    assert re.search(r"returns v\d+: written to model.weight.grad, v\d+: written to model.bias.grad\n", told)
    assert "between or after the programs, as written: Adam.step" in told


def test_random_numbers_and_devices(shell: Any, printed: Any) -> None:
    assert "v0 = x, v1 = random numbers" in printed("x * tg.rand(3)")
    shell.user_ns |= {"s": tg.rand(4, 3, device="sim"), "t": tg.rand(3, 2, device="sim")}
    told = printed("(s @ t + 1.0).relu()")
    assert "kernel(v0, v1)" in told and "1 launch, " in told, "a device goes on with a product's elements"
    assert "fuse:" in printed("(s @ t + 1.0).relu()", "--passes")
    assert "0 launches" in printed("tg.zeros(3) * 2"), "nothing is timed where there are no inputs"


@pytest.mark.parametrize(
    ("cell", "line", "why"),
    [
        ("x", "--fast", "%%program --fast: there are --passes, --source, --time. Write %%program"),
        ("x = (", "", "%%program: line 2 of the cell cannot be read: '(' was never closed. Mend that line."),
        ("n + 1", "", "it computes nothing from tensors of the notebook that it returns or writes"),
        ("def f(x):\n    pass", "", "it computes nothing"),
        ("def f(x):\n    pass\nf", "", "returning a function from a compiled function"),
        ("y = x + 1\nif y.sum() > 0:\n    y = y * 2\ny", "", "reading a traced value"),
        ("print(x)\nx + 1", "", "printing or asking in a compiled function"),
        ("x @ x", "", "the inner sizes are 3 and 4"),
        ("x * tg.rand(3)", "--time", "v1 is known only while the programs run"),
    ],
)
def test_what_cannot_be_shown_is_refused(cell: str, line: str, why: str, printed: Any) -> None:
    with pytest.raises(UsageError, match=re.escape(why)):
        printed(cell, line)


def test_a_value_that_leaves_the_trace_names_its_line(printed: Any) -> None:
    with pytest.raises(UsageError, match=r"line 3: if y\.sum\(\) > 0:\)$"):
        printed("y = x + 1\nif y.sum() > 0:\n    y = y * 2\ny")


def test_an_error_of_no_line_of_the_cell_names_none(printed: Any) -> None:
    with pytest.raises(UsageError, match=r"Return tensors\.$"):
        printed("def f(x):\n    pass\nf")


def test_a_simulated_device_has_no_time_here(shell: Any, printed: Any) -> None:
    shell.user_ns["s"] = tg.rand(3, device="sim")
    with pytest.raises(UsageError, match="it runs on 'sim'"):
        printed("s + 1", "--time")


def test_the_flags() -> None:
    assert read_line("") == frozenset() and read_line(" --passes  --time ") == {"--passes", "--time"}
    assert read_line(" ".join(FLAGS)) == set(FLAGS)


SHELL = """
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
shell.run_cell("%load_ext tinygrad_edu_widgets\\nimport tinygrad_edu as tg")
shell.run_cell("x = tg.ones(4, 2)")
shell.run_cell("%%program\\nh = x * 1.0\\nh.sum()")
shell.run_cell("%%program\\nmissing + 1")
"""


def test_the_magic_in_a_shell() -> None:
    done = run_python(SHELL, "-W", "ignore")
    assert done.returncode == 0, done.stderr
    assert "v0 = x\nas recorded:\n" in done.stdout and "mul(v0, 1.0)" in done.stdout
    assert "name 'missing' is not defined" in done.stdout + done.stderr
