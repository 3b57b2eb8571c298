"""Dtypes and how they meet."""

from __future__ import annotations

import itertools

import ml_dtypes
import numpy as np
import pytest

import tinygrad_edu as tg
from tests.support import teaches
from tinygrad_edu import dtypes
from tinygrad_edu.dtypes import NAMES, PROMOTIONS, as_dtype, is_float, promote, real_type, result_type, scalar_dtype
from tinygrad_edu.errors import DtypeError

TORCH = PROMOTIONS["torch"].grid
FLOATS = ("float16", "bfloat16", "float32", "float64")
WIDTH = {"bool": 0, "uint8": 8, "int8": 8, "int16": 16, "int32": 32, "int64": 64}


def test_a_dtype_is_numpys() -> None:
    assert tg.float32 == np.float32
    assert tg.ones(1).dtype is tg.float32
    assert tg.bfloat16 == ml_dtypes.bfloat16
    assert tg.bool == np.bool_


@pytest.mark.parametrize(
    ("asked", "found"),
    [("int8", "int8"), (np.int64, "int64"), (float, "float64"), (int, "int64"), (bool, "bool"),
     ("bfloat16", "bfloat16"), (np.dtype(">f4"), "float32"), (">i8", "int64"), (ml_dtypes.bfloat16, "bfloat16")],
)  # fmt: skip
def test_what_names_a_dtype(asked: object, found: str) -> None:
    assert as_dtype(asked).name == found
    assert as_dtype(asked).isnative


@pytest.mark.parametrize("asked", ["complex64", "U3", object, np.datetime64, "float7", "uint32"])
def test_other_dtypes_are_refused(asked: object) -> None:
    with teaches(
        DtypeError,
        f"dtype {asked!r}",
        "tensors have one of the dtypes bool, uint8, int8, int16, int32, int64, float16, bfloat16, float32, float64",
        "name one of them, such as 'float32'",
    ):
        as_dtype(asked)


def test_floats_are_those_with_gradients() -> None:
    assert tuple(name for name in NAMES if is_float(as_dtype(name))) == FLOATS


@pytest.mark.parametrize("table", PROMOTIONS)
def test_the_tables_are_complete_and_symmetric(table: str) -> None:
    rules = PROMOTIONS[table]
    assert set(rules.grid) == set(itertools.product(NAMES, repeat=2))
    for x, y in rules.grid:
        assert rules.grid[x, y] == rules.grid[y, x]
        assert rules.grid[x, x] == x
    assert list(rules.exp_of) == list(rules.quotient_of) == list(NAMES[:6])


def test_the_table_by_its_rules() -> None:
    """The grid was typed in by hand; these rules say what each cell must be."""
    for x, y in TORCH:
        both = {x, y}
        if len(both) == 1:
            expected = x
        elif both == {"float16", "bfloat16"}:
            expected = "float32"  # neither holds the other
        elif both & set(FLOATS):
            expected = max(both & set(FLOATS), key=FLOATS.index)
        elif both == {"uint8", "int8"}:
            expected = "int16"
        else:
            expected = max(both, key=lambda name: (WIDTH[name], name == "int8"))
        assert TORCH[x, y] == expected, (x, y)


@pytest.mark.parametrize(
    ("x", "y", "found"),
    [
        ("bool", "uint8", "uint8"), ("uint8", "int8", "int16"), ("int8", "float16", "float16"),
        ("int16", "float16", "float32"),  # float16 does not hold all of int16
        ("int32", "float32", "float64"), ("int64", "float32", "float64"), ("int64", "float16", "float64"),
        ("float16", "float32", "float32"), ("int8", "bfloat16", "bfloat16"), ("bfloat16", "float32", "float32"),
    ],
)  # fmt: skip
def test_cells_of_numpys_table(x: str, y: str, found: str) -> None:
    assert promote("numpy", as_dtype(x), as_dtype(y)) == as_dtype(found)


def test_numpys_table_is_numpys() -> None:
    for (x, y), cell in PROMOTIONS["numpy"].grid.items():
        if cell:
            assert np.promote_types(as_dtype(x), as_dtype(y)).name == cell
        else:
            with pytest.raises(TypeError):
                np.promote_types(as_dtype(x), as_dtype(y))


REFUSED = [("int16", "bfloat16"), ("int32", "bfloat16"), ("int64", "bfloat16"), ("float16", "bfloat16")]


def test_what_the_tables_refuse() -> None:
    empty = {table: {pair for pair, cell in rules.grid.items() if not cell} for table, rules in PROMOTIONS.items()}
    assert empty == {"torch": set(), "numpy": {*REFUSED, *((y, x) for x, y in REFUSED)}, "jax": set()}


@pytest.mark.parametrize(("x", "y"), REFUSED)
def test_a_refused_pair_is_explained(x: str, y: str) -> None:
    for one, other in ((x, y), (y, x)):
        with teaches(
            DtypeError,
            f"{one} with {other}, by the rules of numpy",
            "they have no dtype in common there",
            "convert one of them first: x.to('float32')",
        ):
            promote("numpy", as_dtype(one), as_dtype(other))
        assert is_float(promote("numpy", as_dtype("float32"), as_dtype(other)))  # the mend mends


@pytest.mark.parametrize(
    ("table", "exp_of", "quotient_of"),
    [
        ("torch", [""] * 6, [""] * 6),
        ("numpy", ["float16"] * 3 + ["float32", "float64", "float64"], ["float64"] * 6),
        ("jax", ["float32"] * 5 + ["float64"], ["float32"] * 5 + ["float64"]),
    ],
)
def test_what_integers_become(table: str, exp_of: list[str], quotient_of: list[str]) -> None:
    rules = PROMOTIONS[table]
    assert (list(rules.exp_of.values()), list(rules.quotient_of.values())) == (exp_of, quotient_of)
    default = as_dtype("bfloat16")
    for name, for_exp, for_quotient in zip(NAMES[:6], exp_of, quotient_of, strict=True):
        assert real_type(table, as_dtype(name), False, default).name == (for_exp or "bfloat16")
        assert real_type(table, as_dtype(name), True, default).name == (for_quotient or "bfloat16")
    for name in FLOATS:
        assert real_type(table, as_dtype(name), True, default).name == name


def test_the_rules_beside_the_tables() -> None:
    fields = ("zero_dim_yields", "products_mix", "integers_average", "python_float")
    found = {table: tuple(getattr(rules, field) for field in fields) for table, rules in PROMOTIONS.items()}
    assert found == {
        "torch": (True, False, False, ""), "numpy": (False, True, True, "float64"),
        "jax": (False, True, True, "float64"),
    }  # fmt: skip


@pytest.mark.parametrize("table", PROMOTIONS)
def test_the_order_does_not_count(table: str) -> None:
    """int8 and uint8 alone meet in int16; float16 holds both."""
    group = [as_dtype(name) for name in ("int8", "uint8", "float16")]
    for order in itertools.permutations(group):
        assert result_type(table, list(order), [], []).name == "float16"


def test_promote_reads_the_table() -> None:
    assert promote("torch", as_dtype("int64"), as_dtype("float16")).name == "float16"
    assert promote("torch", as_dtype("uint8"), as_dtype("int8")).name == "int16"


@pytest.mark.parametrize(
    ("arrays", "zero_dim", "scalars", "found"),
    [
        (["float16"], ["float64"], [], "float16"),  # a 0-d tensor of the same kind does not widen
        (["int8"], ["float64"], [], "float64"),  # one of a higher kind does
        (["int32"], [], ["float32"], "float32"),
        (["float16"], [], ["float32"], "float16"),
        (["uint8"], [], ["int64"], "uint8"),
        (["bool"], [], ["int64"], "int64"),
        ([], ["float16", "float64"], [], "float64"),  # 0-d tensors among themselves
        ([], [], ["bool", "int64"], "int64"),
        (["bfloat16"], [], ["float32"], "bfloat16"),
        (["float16", "bfloat16"], [], [], "float32"),
    ],
)
def test_who_decides_the_result(arrays: list[str], zero_dim: list[str], scalars: list[str], found: str) -> None:
    groups = ([as_dtype(name) for name in group] for group in (arrays, zero_dim, scalars))
    assert result_type("torch", *groups).name == found


def test_result_type_of_nothing() -> None:
    with pytest.raises(ValueError, match="at least one dtype"):
        result_type("torch", [], [], [])


def test_python_scalars() -> None:
    half = as_dtype("float16")
    assert [scalar_dtype(value, half).name for value in (True, 3, 2.5)] == ["bool", "int64", "float16"]


def test_an_unknown_name_in_the_module() -> None:
    with pytest.raises(AttributeError, match=r"module 'tinygrad_edu.dtypes' has no attribute 'float8'"):
        dtypes.float8  # noqa: B018
