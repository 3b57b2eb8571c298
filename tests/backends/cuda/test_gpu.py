"""The same checks on a real GPU, where there is one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from examples import digits_on_a_device
from tests.backends.conformance import CHECKS
from tests.backends.sim.test_operations import HERE, results
from tests.ops.cases import Case
from tinygrad_edu import backends
from tinygrad_edu.backends import Backend, cuda

NOT = cuda.why_not()
pytestmark = [pytest.mark.gpu, pytest.mark.skipif(NOT is not None, reason=f"needs a GPU: {NOT and NOT[0]}")]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_it_conforms(check: Callable[[Backend], None]) -> None:
    check(backends.get("cuda"))


@pytest.mark.parametrize("case", HERE, ids=str)
def test_values_and_gradients_are_those_of_the_cpu(case: Case) -> None:
    for one, other in zip(results(case, "cpu"), results(case, "cuda"), strict=True):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        close = {2: 1e-2, 4: 1e-4}.get(one.dtype.itemsize, 1e-10) if one.dtype.kind == "f" else 0
        np.testing.assert_allclose(one, other, rtol=close, atol=close)


def test_the_training_script_learns_as_on_the_cpu() -> None:
    (losses, right), (theirs, known) = (digits_on_a_device.main(device=d, epochs=3) for d in ("cuda", "cpu"))
    np.testing.assert_allclose(losses, theirs, rtol=1e-2)
    assert abs(right - known) < 0.02
