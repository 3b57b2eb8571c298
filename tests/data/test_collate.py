"""From samples to a batch: what is joined, what stays, and what is said of samples that do not fit."""

from __future__ import annotations

from collections import OrderedDict, namedtuple
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tests.support import teaches
from tinygrad_edu.data import default_collate, default_convert
from tinygrad_edu.errors import DtypeError, ShapeError

Point = namedtuple("Point", "x y")


@pytest.mark.parametrize(
    ("samples", "dtype", "values"),
    [
        ([tg.ones(2), tg.zeros(2)], "float32", [[1, 1], [0, 0]]),
        ([np.ones(2, "int8"), np.zeros(2, "int8")], "int8", [[1, 1], [0, 0]]),
        ([np.array(1.5), np.array(2.5)], "float64", [1.5, 2.5]),
        ([np.float32(1.5), np.float32(2.5)], "float32", [1.5, 2.5]),
        ([np.bool_(True), np.bool_(False)], "bool", [True, False]),
        ([1, 2], "int64", [1, 2]),
        ([1.5, 2], "float64", [1.5, 2.0]),
        ([True, False], "bool", [True, False]),
        ([tg.tensor(1), tg.tensor(2)], "int64", [1, 2]),
        ([tg.ones(0, 3)], "float32", [[]]),
    ],
    ids=str,
)
def test_what_becomes_a_tensor(samples: list[Any], dtype: str, values: list[Any]) -> None:
    batch = default_collate(samples)
    assert type(batch) is tg.Tensor
    assert (batch.dtype.name, batch.tolist()) == (dtype, values)


def test_text_stays() -> None:
    assert default_collate(["a", "bc"]) == ["a", "bc"]
    assert default_collate([b"a", b"bc"]) == [b"a", b"bc"]


def test_structures_are_walked_into() -> None:
    samples = [
        {"image": tg.full((2,), i), "where": Point(i, -i), "tags": [f"t{i}", (i, 2.0 * i)], "more": OrderedDict(n=i)}
        for i in range(3)
    ]
    batch = default_collate(samples)
    assert list(batch) == ["image", "where", "tags", "more"]
    assert type(batch["tags"][1]) is list, "a plain tuple becomes a list, as in PyTorch"
    assert batch["image"].tolist() == [[0, 0], [1, 1], [2, 2]]
    assert type(batch["where"]) is Point
    assert (batch["where"].x.tolist(), batch["where"].y.tolist()) == ([0, 1, 2], [0, -1, -2])
    assert type(batch["tags"]) is list
    names, (whole, half) = batch["tags"]
    assert (names, whole.tolist(), half.tolist()) == (["t0", "t1", "t2"], [0, 1, 2], [0.0, 2.0, 4.0])
    assert batch["more"]["n"].tolist() == [0, 1, 2]


FIT = "pad or cut them to one size, or give the loader a collate_fn"


def test_samples_of_different_sizes() -> None:
    why = "sample 2 has shape (3,), but sample 0 has (2,)"
    with teaches(ShapeError, "a batch of 3 samples", why, FIT, "default_collate("):
        default_collate([tg.ones(2), tg.ones(2), tg.ones(3)])
    where = "a batch of 2 samples, at sample[1]['image']"
    with teaches(ShapeError, where, "sample 1 has shape (1, 2), but sample 0 has (2,)", FIT, "default_collate("):
        default_collate([(0, {"image": np.ones(2)}), (1, {"image": np.ones((1, 2))})])
    with teaches(
        ShapeError, "a batch of 2 samples, at sample[0]", "sample 1 has length 3, but sample 0 has 2", FIT, "("
    ):
        default_collate([([1, 2],), ([1, 2, 3],)])
    with teaches(
        ShapeError, "a batch of 2 samples", "sample 1 has keys [\"'a'\", \"'b'\"], but sample 0 has [\"'a'\"]", FIT, "("
    ):
        default_collate([{"a": 1}, {"a": 1, "b": 2}])


def test_samples_of_different_kinds() -> None:
    for second, kind in (([1, 2], "list"), (3, "int"), (Point(1, 2), "Point")):
        why, mend = f"sample 1 holds a {kind}, but sample 0 holds a tuple", "give all samples the same structure"
        with teaches(DtypeError, "a batch of 2 samples", why, mend, "default_collate("):
            default_collate([(1, 2), second])


@pytest.mark.parametrize("value", [None, {1}, object(), 1j], ids=lambda value: type(value).__name__)
def test_what_cannot_be_joined(value: Any) -> None:
    with teaches(
        DtypeError,
        f"a batch of samples that hold a {type(value).__name__}, at sample[1]",
        "it joins tensors, arrays, numbers and text, and tuples, lists and dicts of them",
        "make the data set give one of those, or give the loader your own collate_fn",
        "default_collate(",
    ):
        default_collate([(1, value)])


def test_no_samples() -> None:
    with teaches(
        ShapeError, "a batch of no samples", "without a sample there is no shape", "give it at least one", "(["
    ):
        default_collate([])


def test_the_user_s_line_is_named_from_within_a_loader() -> None:
    with pytest.raises(ShapeError, match=r"line: test_collate\.py, line \d+: list\(tg\.data\.DataLoader"):
        list(tg.data.DataLoader([np.ones(1), np.ones(2)], 2))


def test_convert_leaves_all_but_arrays() -> None:
    given = {"a": np.ones(2), "b": (np.float32(1), 2, "x"), "c": Point(np.zeros(1), [None]), "t": tg.ones(1)}
    found = default_convert(given)
    assert (type(found["a"]), type(found["b"][0])) == (tg.Tensor, tg.Tensor)
    assert (found["b"][1:], found["c"].y, found["t"] is given["t"]) == ([2, "x"], [None], True)
    assert (type(found["c"]), type(found["c"].x)) == (Point, tg.Tensor)
