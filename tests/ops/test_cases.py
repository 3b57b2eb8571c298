"""The list of cases itself."""

from __future__ import annotations

from tests.ops.cases import CASES
from tinygrad_edu.core.op import OPS


def test_every_op_has_cases() -> None:
    assert {case.op for case in CASES} == {
        name for name, op in OPS.items() if op.__module__.startswith("tinygrad_edu.")
    }


def test_cases_are_told_apart() -> None:
    names = [str(case) for case in CASES]
    assert sorted(set(names)) == sorted(names)


def test_a_case_repeats_itself_and_its_variants_differ() -> None:
    case = next(case for case in CASES if str(case) == "exp-matrix")
    assert (case.operands()[0] == case.operands()[0]).all()
    assert (case.operands()[0] != case.operands(1)[0]).any()


def test_most_ops_are_compared_with_pytorch() -> None:
    """Those that PyTorch has no name for are internal: their values are tested through the ops that use them."""
    without = {case.op for case in CASES} - {case.op for case in CASES if case.torch is not None}
    internal = "col2im conv_input conv_kernel im2col put scatter_add_at transfer view write_view"
    assert without == set(internal.split())
