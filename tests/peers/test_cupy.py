"""What is asked of CuPy against CuPy itself: it can be imported, and its signatures read, without a GPU.

`tests/cupy_standin.py` notes each call; here the adapter runs its checks, and each call must fit the real function.
"""

from __future__ import annotations

import ast
import inspect
from typing import Any

import pytest

import tinygrad_edu as tg
from tests import cupy_standin
from tests.backends.conformance import CHECKS
from tests.backends.sim.test_operations import HERE, results
from tinygrad_edu import backends, compiler
from tinygrad_edu.backends import cuda
from tinygrad_edu.compiler.cuda_code import PREAMBLE, source

cupy = pytest.importorskip("cupy", reason="needs CuPy: pip install -e '.[peers]'")
VERSION = "14."


@pytest.fixture(scope="module")
def calls() -> Any:
    """Every call that the adapter makes for the conformance checks and for every operation."""
    cupy_standin.CALLS.clear()
    made = cuda.make("cuda", cupy_standin.cupy, cupy_standin.cupyx)
    assert made is not None
    backends.register(made)
    try:
        for check in CHECKS:
            check(made)
        for case in HERE:
            results(case, "cuda")
        compiler.compile(lambda x: (x * 2).tanh() + 1, fullgraph=True)(tg.ones(3).to("cuda"))
        made.allow(1.0)
        made.empty_cache()
        x = made.from_numpy(made.pin(made.to_numpy(made.from_numpy(cupy_standin.np.ones(3)))))
        made.give(x, non_blocking=True)
        made.take(made.pin(cupy_standin.np.ones(3)), backends.CPU, non_blocking=True)
        made.from_dlpack(x)
        made.synchronize()
    finally:
        del x
        backends.unregister(made)
    return sorted(cupy_standin.CALLS)


def _real(name: str) -> Any:
    """The real thing of that name."""
    import cupyx
    import cupyx.scipy.special

    found: Any = cupyx if name.startswith("cupyx.") else cupy
    for part in name.removeprefix("cupyx.").split("."):
        found = getattr(found, part)
    return found


def _signature(function: Any, name: str) -> inspect.Signature | None:
    """From Python, or from the first line of the text that Cython writes."""
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        line = (function.__doc__ or "").partition("\n")[0]
    if "(" not in line:
        return None
    arguments = line.partition("(")[2].rpartition(")")[0]
    names = [one.strip() for one in arguments.split(",")]
    plain = [one if one.startswith("*") else " ".join(one.split()[-1:]) for one in names if one and one != "self"]
    code = ast.parse(f"lambda {', '.join(plain)}: 0", mode="eval")
    found: inspect.Signature = inspect.signature(eval(compile(code, name, "eval")))
    return found


def test_it_is_the_version_that_the_adapter_is_written_for() -> None:
    assert cupy.__version__.startswith(VERSION), "read its release notes, and change VERSION"


def test_every_call_fits_the_real_signature(calls: Any) -> None:
    assert len({name for name, _, _ in calls}) >= 80
    unread = set()
    for name, count, named in calls:
        function = _real(name)
        if isinstance(function, cupy.ufunc):
            assert count == function.nin and set(named) <= {"out", "dtype", "casting"}, (name, count, named)
            continue
        if inspect.isclass(function):
            function, count = function.__init__, count + (not function.__init__.__doc__)
        signature = _signature(function, name)
        if signature is None:
            unread.add(name)
            continue
        bound = "self" in signature.parameters
        signature.bind(*[None] * (count + bound), **dict.fromkeys(named))
    assert unread <= {"ndarray.reshape", "ndarray.transpose"}, "their arguments are free"


def test_the_names_that_are_not_called_here_exist() -> None:
    for name in ("cuda.Device", "cuda.PinnedMemoryPointer", "cuda.memory.OutOfMemoryError", "cuda.Stream.null",
                 "cuda.runtime.getDeviceCount", "ndarray.data", "cuda.MemoryPointer.mem"):  # fmt: skip
        assert _real(name) is not None


def test_cupy_takes_the_kernels_that_are_written_here() -> None:
    """It reads their parameters when they are made; their C++ it would compile at the first call, on a GPU."""
    program = compiler.trace(lambda x: ((x * 2).tanh(), x > 0), tg.ones(3))
    written = source(program)
    assert written is not None
    kernel = cupy.ElementwiseKernel(*written, "edu_mul_tanh_gt", preamble=PREAMBLE, return_tuple=True)
    assert (kernel.nin, kernel.nout, kernel.return_tuple) == (1, 2, True)
