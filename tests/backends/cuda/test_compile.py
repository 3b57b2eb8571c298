"""Programs on a GPU: chains of elementwise operations are kernels of CUDA C++, and give the same numbers."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import tinygrad_edu as tg
from tests import cupy_standin
from tests.compiler.test_random_programs import CHOICES, INPUTS, Choice, leaves, play, same
from tinygrad_edu.backends import Backend
from tinygrad_edu.compiler import Equation, Program, compile
from tinygrad_edu.compiler.cuda_code import PREAMBLE, TYPES, source
from tinygrad_edu.compiler.interpret import function_of
from tinygrad_edu.compiler.ir import Var
from tinygrad_edu.compiler.passes import ELEMENTWISE

WITHOUT = {"sign"}  # which CuPy has, and C++ has not


def launches(call: Any) -> int:
    """How many kernels of our own that starts."""
    cupy_standin.LAUNCHES.clear()
    call()
    return len(cupy_standin.LAUNCHES)


def test_a_chain_is_one_kernel(gpu: Backend) -> None:
    x, b = tg.rand(8, 4).to("cuda"), tg.rand(4).to("cuda")
    fast = compile(lambda x: ((x * 2 + b).tanh() - 1).relu() / (x * x + 1), fullgraph=True)
    expected = compile(lambda x, b: ((x * 2 + b).tanh() - 1).relu() / (x * x + 1))(x.cpu(), b.cpu())
    np.testing.assert_allclose(fast(x).cpu().array, expected.array, rtol=1e-6)
    assert launches(lambda: fast(x)) == 1
    (kernel,) = cupy_standin.LAUNCHES
    assert kernel.inputs == [["float32", "v0"], ["float32", "v1"]]
    assert kernel.lines[0] == "const float v2 = v0 * (2.0f);" and kernel.lines[-1].startswith("out0 = ")


def test_a_kernel_may_have_several_results(gpu: Backend) -> None:
    def both(x: Any) -> Any:
        y = x.exp()
        return y * 2, y - x

    x = tg.rand(5).to("cuda")
    fast = compile(both, fullgraph=True)
    for found, expected in zip(fast(x), both(x.cpu()), strict=True):
        np.testing.assert_allclose(found.cpu().array, expected.array, rtol=1e-6)
    assert launches(lambda: fast(x)) == 1


def test_what_has_no_form_runs_operation_by_operation(gpu: Backend) -> None:
    fast = compile(lambda x: (x * float("inf")).tanh() + x.half().float(), fullgraph=True)
    x = tg.rand(5).to("cuda")
    expected = (x.cpu() * float("inf")).tanh() + x.cpu().half().float()
    np.testing.assert_allclose(fast(x).cpu().array, expected.array, rtol=1e-3)
    assert launches(lambda: fast(x)) == 0


@given(choices=CHOICES, inputs=INPUTS)
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_random_programs(gpu: Backend, choices: list[Choice], inputs: Any) -> None:
    def function(*tensors: Any) -> Any:
        return tuple(play(choices, list(tensors)))

    fast = compile(function, fullgraph=True)
    there = [t.detach().to("cuda") for t in leaves(inputs, 0)]
    for _ in range(2):
        for found, expected in zip(fast(*there), function(*[t.cpu() for t in there]), strict=True):
            same(found.cpu().array, expected.array)


# The C++ itself -------------------------------------------------------------------------------------------------------

SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 2.5, 3.0, 1e30, -1e30, 1e-30, np.inf, -np.inf, np.nan, 88.0, -88.0]
TWO = "add sub mul div maximum minimum arctan2 eq ne lt le gt ge and or xor".split()


def operands(name: str, dtype: str) -> list[Any]:
    """Each special number beside each other, as far as the dtype has it."""
    numbers = np.array(SPECIAL if dtype.startswith("float") else [0, 1, 2, 3, 5, 100], dtype)
    x, y = np.repeat(numbers, len(numbers)), np.tile(numbers, len(numbers))
    return [x > 1, x, y] if name == "where" else [x, y] if name in TWO else [x]


def single(name: str, arrays: list[Any], extra: tuple[Any, ...] = ()) -> tuple[Program, Any]:
    """A program of one operation, and what NumPy gives. Raises TypeError where it has no such operation."""
    inputs = tuple(Var(i, one.shape, one.dtype) for i, one in enumerate(arrays))
    with np.errstate(all="ignore"):
        expected = np.asarray(function_of(Equation((), name, ()))(*arrays, *extra))
    out = Var(9, expected.shape, expected.dtype)
    return Program(inputs, (Equation((out,), name, (*inputs, *extra)),), (out,)), expected


def cases() -> list[tuple[str, list[Any], Program, Any]]:
    found = []
    for name in sorted(ELEMENTWISE):
        for dtype in TYPES:
            arrays = operands(name, dtype)
            for extra in [(np.dtype(one),) for one in TYPES] if name == "astype" else [()]:
                try:
                    program, expected = single(name, arrays, extra)
                except TypeError:
                    continue
                if source(program) is not None:
                    found.append((name, arrays, program, expected))
    return found


def test_every_elementwise_operation_has_a_form_for_floats_or_bools() -> None:
    names = {name for name, *_ in cases()}
    assert set(ELEMENTWISE) - names == WITHOUT


def test_the_stand_in_computes_what_numpy_does() -> None:
    for name, arrays, program, expected in cases():
        made = cupy_standin.ElementwiseKernel(*source(program), "f", preamble=PREAMBLE, return_tuple=True)  # type: ignore[misc]
        found = cupy_standin.raw(made(*map(cupy_standin.ndarray, arrays))[0])
        assert found.dtype == expected.dtype, name
        np.testing.assert_allclose(found, expected, rtol=1e-6, err_msg=name)


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs a compiler for C++")
def test_a_compiler_computes_what_numpy_does(tmp_path: Path) -> None:
    """For the processor, not the GPU: the same language, and the same functions of mathematics."""
    known = cases()
    text = ["#include <cmath>", "using namespace std;", "#define __device__", PREAMBLE]
    for i, (_, _, program, _) in enumerate(known):
        written = source(program)
        assert written is not None
        given_in = [one.rsplit(" ", 1) for one in written.inputs.split(", ")]
        ((kind, _),) = [one.rsplit(" ", 1) for one in written.outputs.split(", ")]
        parameters = ", ".join([*(f"const {TYPES[k]}* a_{n}" for k, n in given_in), f"{TYPES[kind]}* made"])
        loads = " ".join(f"const {TYPES[k]} {n} = a_{n}[j];" for k, n in given_in)
        loop = f"for (long j = 0; j < size; j++) {{ {loads} {TYPES[kind]} out0; {written.lines} made[j] = out0; }}"
        text.append(f'extern "C" void f{i}(long size, {parameters}) {{ {loop} }}')
    file, library = tmp_path / "kernels.cpp", tmp_path / "kernels.so"
    file.write_text("\n".join(text), encoding="utf-8")
    subprocess.run(["g++", "-O1", "-Wall", "-Werror", "-shared", "-fPIC", str(file), "-o", str(library)], check=True)
    functions = ctypes.CDLL(str(library))
    for i, (name, arrays, _, expected) in enumerate(known):
        made = np.empty(expected.shape, expected.dtype)
        places = [ctypes.c_void_p(one.ctypes.data) for one in (*arrays, made)]
        getattr(functions, f"f{i}")(ctypes.c_long(made.size), *places)
        np.testing.assert_allclose(made, expected, rtol=2e-6, atol=1e-38, err_msg=f"{name} {arrays[0].dtype}")
        if expected.dtype.kind == "f" and name not in ("maximum", "minimum"):  # of 0 and -0, either may be the larger
            zeros = expected == 0
            assert (np.signbit(made[zeros]) == np.signbit(expected[zeros])).all(), name


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="needs NVIDIA's compiler; no GPU")
def test_nvidias_compiler_takes_every_form(tmp_path: Path) -> None:
    text = [PREAMBLE]
    for i, (_, _, program, _) in enumerate(cases()):
        written = source(program)
        assert written is not None
        parts = [one.rsplit(" ", 1) for one in f"{written.inputs}, {written.outputs}".split(", ")]
        *given_in, (kind, _) = parts
        parameters = ", ".join([*(f"{TYPES[k]} {n}" for k, n in given_in), f"{TYPES[kind]}& out0"])
        text.append(f"__device__ void f{i}({parameters}) {{ {written.lines} }}")
    file = tmp_path / "kernels.cu"
    file.write_text("\n".join(text), encoding="utf-8")
    subprocess.run(["nvcc", "-ptx", str(file), "-o", str(tmp_path / "kernels.ptx")], check=True)
