"""Every operation compiles, forward and backward, on the CPU and on a device, or is refused with a reason."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tests.backends.sim.test_operations import HERE, leaves
from tests.ops.cases import Case
from tests.support import ROOT, run_python
from tinygrad_edu.compiler import TraceError, compile
from tinygrad_edu.compiler.numpy_code import UFUNCS, _Writer

REFUSED = {"view-chain", "write_view-chain"}  # they write to a part of a tensor, and then read the whole
PAGE = (ROOT / "docs" / "compiler.md").read_text(encoding="utf-8")


def step(case: Case, operands: list[Any]) -> Callable[..., tuple[Any, ...]]:
    """The operation's result, and the gradients of its operands."""

    def run(*tensors: Any) -> tuple[Any, ...]:
        rest = iter(tensors)
        out = case.run(*[next(rest) if isinstance(one, tg.Tensor) else one for one in operands])
        if not out.requires_grad:
            return (out,)
        wanting = [one for one in tensors if one.requires_grad]
        grads = tg.autograd.grad((out * out).sum(), wanting, allow_unused=True)
        return out.detach(), *[one for one in grads if one is not None]

    return run


def numbers(tensor: Any) -> Any:
    array = tensor.detach().cpu().numpy()
    return array.astype("f8") if array.dtype.kind in "fV" else array


@pytest.mark.parametrize("device", ["cpu", "sim"])
@pytest.mark.parametrize("case", HERE, ids=str)
def test_it_compiles(case: Case, device: str) -> None:
    operands = leaves(case.operands(0), device)
    tensors = [one for one in operands if isinstance(one, tg.Tensor)]
    function = step(case, operands)
    fast = compile(function, fullgraph=True)
    if str(case) in REFUSED:
        with pytest.raises(TraceError, match="after a write to its memory"):
            fast(*tensors)
        return
    for _ in range(2):
        for found, expected in zip(fast(*tensors), function(*tensors), strict=True):
            assert found.dtype == expected.dtype and tuple(found.shape) == tuple(expected.shape)
            np.testing.assert_allclose(numbers(found), numbers(expected), rtol=1e-5, atol=1e-6)
    assert fast.ledger[0].calls == 2


def test_the_docs_list_what_has_no_form_of_its_own() -> None:
    """The array functions whose bodies the generated code calls as they are."""
    found: set[str] = set()
    for case in HERE:
        if str(case) in REFUSED:
            continue
        operands = leaves(case.operands(0), "cpu")
        fast = compile(step(case, operands), fullgraph=True)
        fast(*[one for one in operands if isinstance(one, tg.Tensor)])
        found.update(name for code in fast.ledger[0].codes for name in code.fallbacks)
    found -= {name for name in found if name in UFUNCS or hasattr(_Writer, f"_do_{name}")}  # which have one for most
    (line,) = [line for line in PAGE.split("\n\n") if line.startswith("These call the body")]
    assert sorted(found) == sorted(line.split(": ")[1].rstrip(".").replace("`", "").replace("\n", " ").split(", "))


def test_a_function_of_the_library_that_is_first_called_while_recorded_is_as_before() -> None:
    code = """
from tinygrad_edu import compile, ones
from tinygrad_edu.nn.functional import layer_norm, linear
fast = compile(lambda x, w: layer_norm(linear(x, w), (3,)), fullgraph=True)
fast(ones(2, 3), ones(3, 3))
print(linear(ones(2, 3), ones(3, 3)).shape, layer_norm(ones(2, 3), (3,)).shape, len(fast.ledger))
"""
    done = run_python(code)
    assert done.stdout == "(2, 3) (2, 3) 1\n", done.stderr
