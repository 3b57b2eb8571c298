"""How dtypes meet in operations: PyTorch's rules against PyTorch, JAX's against JAX where that is installed."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tinygrad_edu.dtypes import NAMES, PROMOTIONS, as_dtype
from tinygrad_edu.errors import DtypeError
from tinygrad_edu.settings import promotion

pytestmark = pytest.mark.peers

Function = Callable[..., Any]
PAIRS = list(itertools.product(NAMES, repeat=2))
SHAPES = {"both": ((2,), (2,)), "second 0-d": ((2,), ()), "first 0-d": ((), (2,)), "both 0-d": ((), ())}
SCALARS = (True, 3, 2.5)
REFUSED = "refused"

# Written once, for either module: tinygrad_edu, torch or jax.numpy.
WITH_SCALARS: dict[str, Function] = {
    "add": lambda m, x, y: x + y,
    "mul": lambda m, x, y: x * y,
    "div": lambda m, x, y: x / y,
    "where": lambda m, x, y: m.where(m.asarray([True, False]), x, y),
}
BINARY: dict[str, Function] = {**WITH_SCALARS, "maximum": lambda m, x, y: m.maximum(x, y)}
UNARY: dict[str, Function] = {
    "exp": lambda m, x: m.exp(x),
    "sqrt": lambda m, x: m.sqrt(x),
    "sum": lambda m, x: x.sum(),
    "mean": lambda m, x: x.mean(),
}
IN_PLACE = ("add_", "mul_", "div_")


class Ours:
    """`tinygrad_edu`, with the one name that PyTorch and JAX share and it has not."""

    asarray = staticmethod(tg.tensor)
    cat, stack, where, maximum, exp, sqrt = map(staticmethod, (tg.cat, tg.stack, tg.where, tg.maximum, tg.exp, tg.sqrt))


def ours(function: Function, *operands: Any) -> str:
    """The dtype that the engine gives; a pair of dtype and shape stands for a tensor."""
    try:
        result = function(Ours, *(tg.ones(o[1], dtype=o[0]) if isinstance(o, tuple) else o for o in operands))
    except DtypeError:
        return REFUSED
    return str(result.dtype.name)


def torchs(function: Function, *operands: Any) -> str:
    """The dtype that PyTorch gives."""
    torch = pytest.importorskip("torch", reason="needs PyTorch: pip install -e '.[peers]'")
    made = [torch.ones(o[1], dtype=getattr(torch, o[0])) if isinstance(o, tuple) else o for o in operands]
    try:
        result = function(torch, *made)
    except RuntimeError:
        return REFUSED
    return str(result.dtype).removeprefix("torch.")


def jaxs(function: Function, *operands: Any) -> str:
    """The dtype that JAX would give, with its 64-bit types. Nothing is computed, as each pair would be compiled."""
    jax = pytest.importorskip("jax", reason="needs JAX: pip install jax")

    def call(*tensors: Any) -> Any:
        rest = iter(tensors)
        return function(jax.numpy, *(next(rest) if isinstance(o, tuple) else o for o in operands))

    with jax.enable_x64(True):
        shapes = [jax.ShapeDtypeStruct(o[1], o[0]) for o in operands if isinstance(o, tuple)]
        return str(jax.eval_shape(call, *shapes).dtype)


@pytest.fixture(params=["torch", "jax"])
def theirs(request: pytest.FixtureRequest) -> Any:
    """The framework, asked, while its rules are in force."""
    with promotion(request.param):
        yield {"torch": torchs, "jax": jaxs}[request.param]


@pytest.mark.parametrize("shapes", SHAPES.values(), ids=list(SHAPES))
def test_tensors(theirs: Function, shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    for (x, y), (name, function) in itertools.product(PAIRS, BINARY.items()):
        operands = (x, shapes[0]), (y, shapes[1])
        assert ours(function, *operands) == theirs(function, *operands), (name, x, y)


def test_tensors_that_are_joined(theirs: Function) -> None:
    join = (lambda m, *xs: m.cat(xs)) if theirs is torchs else (lambda m, *xs: _concatenate(m, xs))
    for names in (*PAIRS, *itertools.permutations(("int8", "uint8", "float16"))):
        operands = [(name, (2,)) for name in names]
        assert ours(join, *operands) == theirs(join, *operands), names
        assert ours(lambda m, *xs: m.stack(xs), *operands) == theirs(lambda m, *xs: m.stack(xs), *operands), names


def _concatenate(m: Any, xs: Any) -> Any:
    return m.cat(xs) if m is Ours else m.concatenate(xs)


@pytest.mark.parametrize("shape", [(2,), ()], ids=str)
def test_python_scalars(theirs: Function, shape: tuple[int, ...]) -> None:
    for name, scalar, (key, function) in itertools.product(NAMES, SCALARS, WITH_SCALARS.items()):
        for operands in (((name, shape), scalar), (scalar, (name, shape))):
            assert ours(function, *operands) == theirs(function, *operands), (key, name, scalar)


@pytest.mark.parametrize("shape", [(2,), ()], ids=str)
def test_functions_of_one(theirs: Function, shape: tuple[int, ...]) -> None:
    for name, (key, function) in itertools.product(NAMES, UNARY.items()):
        expected = theirs(function, (name, shape))
        if expected == "uint64":  # which the engine has not
            expected = "int64"
        assert ours(function, (name, shape)) == expected, (key, name)


def test_products(theirs: Function) -> None:
    for x, y in PAIRS:
        if theirs is torchs and x == y == "bool":
            continue  # PyTorch has no product of bools: that is a kernel it lacks, and no rule
        operands = (x, (2, 2)), (y, (2, 2))
        assert ours(lambda m, a, b: a @ b, *operands) == theirs(lambda m, a, b: a @ b, *operands), (x, y)


@pytest.mark.parametrize("shape", [(2,), ()], ids=str)
@pytest.mark.parametrize("method", IN_PLACE)
def test_in_place(method: str, shape: tuple[int, ...]) -> None:
    """By PyTorch's rules: JAX has no writes."""

    def write(m: Any, x: Any, y: Any) -> Any:
        return getattr(x, method)(y)

    for x, y in PAIRS:
        operands = (x, (2,)), (y, shape)
        assert ours(write, *operands) == torchs(write, *operands), (x, y)
    for x, scalar in itertools.product(NAMES, SCALARS):
        assert ours(write, (x, shape), scalar) == torchs(write, (x, shape), scalar), (x, scalar)


def test_the_table_is_pytorchs() -> None:
    torch = pytest.importorskip("torch", reason="needs PyTorch: pip install -e '.[peers]'")
    for (x, y), cell in PROMOTIONS["torch"].grid.items():
        assert str(torch.promote_types(getattr(torch, x), getattr(torch, y))) == f"torch.{cell}"


def test_the_default_dtype_counts() -> None:
    """Of integers, PyTorch makes floats of the default dtype."""
    torch = pytest.importorskip("torch", reason="needs PyTorch: pip install -e '.[peers]'")
    before = torch.get_default_dtype()
    try:
        for name in ("float64", "float16"):
            torch.set_default_dtype(getattr(torch, name))
            with tg.settings.scoped(dtype=name):
                for function in (lambda m, x: m.exp(x), lambda m, x: x / 2, lambda m, x: x + 1.5):
                    assert ours(function, ("int32", (2,))) == torchs(function, ("int32", (2,))) == name
    finally:
        torch.set_default_dtype(before)


def test_values_in_narrow_integers_wrap_alike() -> None:
    torch = pytest.importorskip("torch", reason="needs PyTorch: pip install -e '.[peers]'")
    x, y = np.array([200, 100], "u1"), np.array([100, -100], "i1")
    for function in (lambda a, b: a + b, lambda a, b: a * b, lambda a, b: a.add_(b)):
        found = function(tg.tensor(x), tg.tensor(y))
        expected = function(torch.tensor(x), torch.tensor(y))
        assert found.dtype == as_dtype(str(expected.dtype).removeprefix("torch."))
        assert found.tolist() == expected.tolist()
