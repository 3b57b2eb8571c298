"""Generated functions can be looked at: Shift-Tab, ``help``, ``getsource`` and tracebacks show what runs."""

from __future__ import annotations

import inspect
import traceback

import pytest

import tinygrad_edu as tg
from tinygrad_edu.core.dispatch import caller, write_caller, write_runner
from tinygrad_edu.core.op import OPS
from tinygrad_edu.errors import EduError

GENERATED = sorted(name for name, op in OPS.items() if not op.variadic)


@pytest.mark.parametrize("out", [False, True], ids=["", "out"])
@pytest.mark.parametrize("name", GENERATED)
def test_signature_and_source_are_known_before_the_first_call(name: str, out: bool) -> None:
    op = OPS[name]
    made: dict[str, object] = {}
    exec(write_caller(op, out), made)
    function = caller(op, out)
    assert inspect.signature(function) == inspect.signature(made[name])  # type: ignore[arg-type]
    assert inspect.getsource(function).startswith(write_caller(op, out))
    assert f"{op.__module__}.{op.__qualname__}" in inspect.getsource(function), "where to read on"
    assert inspect.getdoc(function) == inspect.getdoc(op)


def test_the_same_after_the_first_call() -> None:
    mul = caller(OPS["mul"])
    before = inspect.signature(mul), inspect.getsource(mul)
    mul(tg.ones(2), 2.0)
    assert (inspect.signature(mul), inspect.getsource(mul)) == before
    assert mul.__code__.co_varnames[:2] == ("input", "other")


def test_tracebacks_show_the_lines_that_ran() -> None:
    one, other = tg.ones(2, 3), tg.ones(2, 3).half()
    for function, operands, lines in (
        (caller(OPS["matmul"]), (one, one), write_caller(OPS["matmul"])),
        (caller(OPS["matmul"]), (other, other), write_runner(OPS["matmul"])),
    ):
        with pytest.raises(EduError) as caught:
            function(*operands)
        frames = [f for f in traceback.extract_tb(caught.tb) if "generated" in f.filename]
        assert all(frame.line for frame in frames)
        assert frames[-1].line in [line.strip() for line in lines.splitlines()]
        assert "fail(op" in str(frames[-1].line)
