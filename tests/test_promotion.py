"""How dtypes meet in operations, by the rules of NumPy and of JAX. (PyTorch's are tested against PyTorch itself.)

NumPy's are asked of NumPy. JAX's are worked out anew from the lattice in its documentation.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tinygrad_edu.dtypes import NAMES, as_dtype, is_float
from tinygrad_edu.errors import DtypeError
from tinygrad_edu.settings import promotion

Function = Callable[..., Any]
PAIRS = list(itertools.product(NAMES, repeat=2))
TRIPLES = list(itertools.combinations([name for name in NAMES if name != "bfloat16"], 3))
INTEGERS = NAMES[:6]
REFUSED = "refused"

# Ours and NumPy's.
BINARY: dict[str, tuple[Function, Function]] = {
    "add": (lambda x, y: x + y, np.add),
    "mul": (lambda x, y: x * y, np.multiply),
    "div": (lambda x, y: x / y, np.true_divide),
    "maximum": (tg.maximum, np.maximum),
    "where": (lambda x, y: tg.where(tg.tensor([True, False]), x, y), lambda x, y: np.where([True, False], x, y)),
}
JOINING: dict[str, tuple[Function, Function]] = {
    "cat": (lambda x, y: tg.cat([x, y]), lambda x, y: np.concatenate([x, y])),
    "stack": (lambda x, y: tg.stack([x, y]), lambda x, y: np.stack([x, y])),
    "matmul": (lambda x, y: x @ y, np.matmul),
}
UNARY: dict[str, tuple[Function, Function]] = {
    "exp": (tg.exp, np.exp),
    "sqrt": (tg.sqrt, np.sqrt),
    "sum": (lambda x: x.sum(), np.sum),
    "mean": (lambda x: x.mean(), np.mean),
}
SHAPES = {"both": ((2,), (2,)), "second 0-d": ((2,), ()), "first 0-d": ((), (2,)), "both 0-d": ((), ())}
SCALARS = (True, 3, 2.5)


def array(name: str, shape: tuple[int, ...] = (2,), start: int = 1) -> Any:
    """1, 2, … in a dtype that holds them."""
    return np.asarray(np.arange(start, start + max(1, *shape, 1)).reshape(shape or ())).astype(as_dtype(name))


def ours(table: str, function: Function, *operands: Any) -> tuple[str, Any]:
    """The dtype and the values that the engine gives."""
    tensors = [tg.tensor(o) if isinstance(o, np.ndarray) else o for o in operands]
    with promotion(table):
        try:
            result = function(*tensors)
        except DtypeError:
            return REFUSED, None
    return result.dtype.name, np.asarray(result.array)


def numpys(function: Function, *operands: Any) -> tuple[str, Any]:
    """The dtype and the values that NumPy gives."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = function(*operands)
        except TypeError:
            return REFUSED, None
    return result.dtype.name, result


def promoted(*names: str) -> str:
    """What NumPy says of dtypes alone."""
    try:
        return np.promote_types(*map(as_dtype, names)).name
    except TypeError:
        return REFUSED


# NumPy ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shapes", SHAPES.values(), ids=list(SHAPES))
@pytest.mark.parametrize(("x", "y"), PAIRS)
def test_numpy_tensors(x: str, y: str, shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    """All shapes: a 0-d array counts in full there."""
    functions = {**BINARY, **(JOINING if shapes == ((2,), (2,)) else {})}
    a, b = array(x, shapes[0]), array(y, shapes[1], 2)
    for name, (function, theirs) in functions.items():
        dtype, values = ours("numpy", function, a, b)
        if "bfloat16" in (x, y):
            # NumPy's ufuncs know no bfloat16 and look for a loop; concatenate asks promote_types, which is the rule.
            assert dtype == promoted(x, y), name
            continue
        expected, exact = numpys(theirs, a, b)
        assert dtype == expected, name
        if exact is not None:
            np.testing.assert_array_equal(values, exact, strict=True)


@pytest.mark.parametrize("shape", [(2,), ()], ids=str)
@pytest.mark.parametrize("scalar", SCALARS, ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_numpy_python_scalars(name: str, scalar: Any, shape: tuple[int, ...]) -> None:
    x = array(name, shape)
    for function, theirs in BINARY.values():
        for operands in ((x, scalar), (scalar, x)):
            dtype, values = ours("numpy", function, *operands)
            if name == "bfloat16":
                assert dtype == name  # a float like any other; NumPy gives float32 or float64, as the function has it
                continue
            expected, exact = numpys(theirs, *operands)
            assert dtype == expected
            np.testing.assert_array_equal(values, exact, strict=True)


@pytest.mark.parametrize("shape", [(2,), ()], ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_numpy_functions_of_one(name: str, shape: tuple[int, ...]) -> None:
    x = array(name, shape)
    for key, (function, theirs) in UNARY.items():
        dtype, values = ours("numpy", function, x)
        expected, exact = numpys(theirs, x)
        if (key, name) == ("sum", "uint8"):
            assert (dtype, expected) == ("int64", "uint64")  # which the engine has not
            continue
        assert dtype == expected, key
        np.testing.assert_allclose(values.astype("f8"), np.asarray(exact, "f8"), rtol=1e-2 if x.itemsize < 4 else 1e-6)


def test_numpy_quotients_of_integers_keep_their_digits() -> None:
    with promotion("numpy"):
        assert (tg.tensor([1], dtype="int8") / 3).item() == 1 / 3
        assert tg.tensor([1, 2, 2], dtype="int8").mean().item() == 5 / 3


SIGNED = ("int8", "int16", "int32", "int64")


@pytest.mark.parametrize("shape", [(2,), ()], ids=str)
@pytest.mark.parametrize(("x", "y"), PAIRS)
def test_numpy_in_place(x: str, y: str, shape: tuple[int, ...]) -> None:
    """The target keeps its dtype, or the write is refused."""
    for method, theirs in (("add_", np.add), ("mul_", np.multiply), ("div_", np.true_divide)):
        a, b = array(x), array(y, shape, 2)
        dtype, values = ours("numpy", lambda t, other, method=method: getattr(t, method)(other), a, b)
        meet = promoted(x, y)
        if method == "div_" and meet in INTEGERS:
            assert dtype == REFUSED
        elif "bfloat16" in (x, y):
            assert dtype == (REFUSED if meet == REFUSED or not is_float(as_dtype(x)) else x)
        elif x == "uint8" and y in SIGNED:
            assert dtype == x  # as in PyTorch; NumPy lets nothing signed be written to what has no sign
            assert numpys(lambda a, b, f=theirs: f(a, b, out=a), a, b)[0] == REFUSED
        else:
            expected, exact = numpys(lambda a, b, f=theirs: f(a, b, out=a), a.copy(), b)
            assert dtype == expected
            if exact is not None:
                np.testing.assert_array_equal(values, exact, strict=True)


@pytest.mark.parametrize("scalar", SCALARS, ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_numpy_in_place_with_scalars(name: str, scalar: Any) -> None:
    dtype, values = ours("numpy", lambda t: t.mul_(scalar), array(name))
    if name == "bfloat16":
        assert dtype == name
        return
    x = array(name)
    expected, exact = numpys(lambda: np.multiply(x, scalar, out=x))
    assert dtype == expected
    if exact is not None:
        np.testing.assert_array_equal(values, exact, strict=True)


@pytest.mark.parametrize("names", TRIPLES, ids=" ".join)
def test_numpy_three_at_once(names: tuple[str, ...]) -> None:
    """In any order: int8 and uint8 meet in int16, but not on the way to float16."""
    expected = np.result_type(*names).name
    for order in itertools.permutations(names):
        assert ours("numpy", lambda *xs: tg.cat(xs), *map(array, order))[0] == expected


# JAX ------------------------------------------------------------------------------------------------------------------

# The lattice in JAX's documentation, "Type promotion semantics": from each dtype to those just above it. Python's own
# bool, int and float are bool, "int" and "float". Of the dtypes that only JAX has, those are kept that lead somewhere.
LATTICE = {
    "bool": ("int",), "int": ("uint8", "int8"), "uint8": ("int16", "uint16"), "int8": ("int16",),
    "uint16": ("int32", "uint32"), "int16": ("int32",), "uint32": ("int64", "uint64"), "int32": ("int64",),
    "int64": ("float",), "uint64": ("float",), "float": ("bfloat16", "float16"), "bfloat16": ("float32",),
    "float16": ("float32",), "float32": ("float64",), "float64": (),
}  # fmt: skip
PYTHONS = {"int": "int64", "float": "float64"}  # what they are where nothing else says it, with 64-bit types enabled


def above(name: str) -> set[str]:
    """All that a dtype can become."""
    return {name}.union(*map(above, LATTICE[name]))


def join(x: str, y: str) -> str:
    """The lowest dtype that is above both."""
    shared = above(x) & above(y)
    return next(name for name in shared if shared == above(name))


def as_float(name: str) -> str:
    """What exp, a mean or a division makes of it."""
    if name not in INTEGERS:
        return name
    return "float64" if name == "int64" else "float32"


def kind(name: str) -> int:
    """0 for bool, 1 for integers, 2 for floats."""
    return 0 if name == "bool" else 1 if name in INTEGERS else 2


@pytest.mark.parametrize("shapes", SHAPES.values(), ids=list(SHAPES))
@pytest.mark.parametrize(("x", "y"), PAIRS)
def test_jax_tensors(x: str, y: str, shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    """All shapes: a 0-d array counts in full there."""
    functions = {**BINARY, **(JOINING if shapes == ((2,), (2,)) else {})}
    for name, (function, _) in functions.items():
        dtype, values = ours("jax", function, array(x, shapes[0]), array(y, shapes[1], 2))
        assert dtype == (as_float(join(x, y)) if name == "div" else join(x, y)), name
        wide = ours("jax", function, array(x, shapes[0]).astype("f8"), array(y, shapes[1], 2).astype("f8"))[1]
        if name == "add" and join(x, y) != "bool":
            np.testing.assert_array_equal(values.astype("f8"), wide)


@pytest.mark.parametrize("shape", [(2,), ()], ids=str)
@pytest.mark.parametrize("scalar", SCALARS, ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_jax_python_scalars(name: str, scalar: Any, shape: tuple[int, ...]) -> None:
    """They are weak: of a kind, but of no size."""
    meet = join(name, type(scalar).__name__)
    meet = PYTHONS.get(meet, meet)
    for key, (function, _) in BINARY.items():
        for operands in ((array(name, shape), scalar), (scalar, array(name, shape))):
            assert ours("jax", function, *operands)[0] == (as_float(meet) if key == "div" else meet), key


@pytest.mark.parametrize("shape", [(2,), ()], ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_jax_functions_of_one(name: str, shape: tuple[int, ...]) -> None:
    for key, (function, _) in UNARY.items():
        expected = ("int64" if name in INTEGERS else name) if key == "sum" else as_float(name)
        assert ours("jax", function, array(name, shape))[0] == expected, key


@pytest.mark.parametrize(("x", "y"), PAIRS)
def test_jax_in_place(x: str, y: str) -> None:
    """Arrays of JAX are never written to. Here a target keeps its dtype, unless the result is of a higher kind."""
    assert ours("jax", lambda a, b: a.add_(b), array(x), array(y))[0] == (x if kind(join(x, y)) <= kind(x) else REFUSED)
    quotient = x if x not in INTEGERS else REFUSED
    assert ours("jax", lambda a, b: a.div_(b), array(x), array(y))[0] == quotient


# Whatever the table ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("table", ["numpy", "jax"])
def test_gradients_come_back_in_their_own_dtype(table: str) -> None:
    x = tg.tensor([1.0, 2.0], dtype="float32", requires_grad=True)
    y = tg.tensor([3.0, 4.0], dtype="float64", requires_grad=True)
    with promotion(table):
        product = x @ y
        assert product.dtype == tg.float64
        product.backward()
    assert (x.grad.dtype, y.grad.dtype) == (tg.float32, tg.float64)
    assert (x.grad.tolist(), y.grad.tolist()) == ([3.0, 4.0], [1.0, 2.0])


def test_products_mix_no_dtypes_by_the_rules_of_pytorch() -> None:
    x, y = tg.ones(2, 2), tg.ones(2, 2, dtype="float64")
    for table, dtype in (("torch", REFUSED), ("numpy", "float64"), ("jax", "float64"), ("torch", REFUSED)):
        assert ours(table, lambda a, b: a @ b, x, y)[0] == dtype
        assert ours(table, tg.nn.functional.linear, x, y)[0] == dtype


def test_what_a_table_refuses_is_explained() -> None:
    x, y = tg.ones(2, dtype="int32"), tg.ones(2, dtype="bfloat16")
    with promotion("numpy"), pytest.raises(DtypeError) as caught:
        x + y
    error = caught.value
    assert error.tried == "add((2,) int32, (2,) bfloat16) on cpu"
    assert error.why == "they have no dtype in common there"
    assert error.mend == "convert one of them first: x.to('float32')"
    assert "x + y" in error.line
    with promotion("numpy"):
        assert [(x.to("float32") + y).dtype, (x + y.to("float32")).dtype] == ["float32", "float64"]
    assert (x + y).dtype == tg.bfloat16  # by the rules of PyTorch
