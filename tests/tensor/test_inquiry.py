"""Questions about tensors and dtypes, and conversions from one to another."""

from __future__ import annotations

import copy
import itertools
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tinygrad_edu as tg
from tests.support import teaches
from tinygrad_edu.dtypes import NAMES, as_dtype
from tinygrad_edu.errors import DeviceError, DtypeError

INTEGERS = ("uint8", "int8", "int16", "int32", "int64")
FLOATS = ("float16", "bfloat16", "float32", "float64")


def test_what_a_thing_is() -> None:
    x = tg.ones(2, 3)
    assert (tg.is_tensor(x), tg.is_tensor(np.ones(2)), tg.is_tensor(1.0)) == (True, False, False)
    assert tg.numel(x) == x.numel() == 6
    for name in NAMES:
        y = tg.ones(1, dtype=name)
        assert tg.is_floating_point(y) == y.is_floating_point() == (name in FLOATS)


def test_dtypes_have_pytorchs_short_names() -> None:
    names = (tg.half, tg.float, tg.double, tg.short, tg.int, tg.long)
    assert [dtype.name for dtype in names] == ["float16", "float32", "float64", "int16", "int32", "int64"]
    assert tg.ones(1, dtype=tg.long).dtype == tg.int64


def test_how_dtypes_meet_is_what_addition_does() -> None:
    for one, other in itertools.product(NAMES, repeat=2):
        x, y = tg.ones(2, dtype=one), tg.ones(2, dtype=other)
        assert tg.promote_types(one, other) == tg.result_type(x, y) == (x + y).dtype
        zero = tg.ones((), dtype=other)
        assert tg.result_type(x, zero) == (x + zero).dtype
        assert tg.result_type(zero, x) == (zero + x).dtype
    for name, number in itertools.product(NAMES, (True, 2, 2.5)):
        x = tg.ones(2, dtype=name)
        assert tg.result_type(x, number) == tg.result_type(number, x) == (x + number).dtype
    assert tg.result_type(1, 2.0) == np.float32
    assert tg.result_type(np.ones(1, np.int8), 2) == np.int8


def test_the_table_in_force_decides() -> None:
    with tg.settings.promotion("numpy"):
        assert tg.promote_types("int64", "float32") == tg.float64
        assert tg.result_type(tg.ones(1, dtype="int64"), 2.5) == tg.float64
        with pytest.raises(DtypeError, match="they have no dtype in common there"):
            tg.promote_types("bfloat16", "int64")
    with tg.settings.scoped(dtype="float64"):
        assert tg.result_type(1, 2.0) == tg.float64


def test_what_in_place_operations_convert() -> None:
    rank = {name: int(name != "bool") + int(name in FLOATS) for name in NAMES}
    for one, other in itertools.product(NAMES, repeat=2):
        assert tg.can_cast(one, other) == (rank[one] <= rank[other])
        target, allowed = tg.ones(2, dtype=other), True
        try:
            target += tg.ones(2, dtype=one)
        except DtypeError:
            allowed = False
        assert allowed == tg.can_cast(one, other), (one, other)


def test_limits() -> None:
    assert (tg.finfo(tg.float).eps, tg.finfo("float64").max) == (np.finfo("f4").eps, np.finfo("f8").max)
    assert tg.finfo() == np.finfo(np.float32)
    assert (float(tg.finfo("bfloat16").eps), tg.finfo("bfloat16").bits) == (2.0**-7, 16)
    assert tg.finfo("bfloat16").dtype == ml_dtypes.bfloat16
    assert [(tg.iinfo(name).min, tg.iinfo(name).max) for name in ("int8", "uint8")] == [(-128, 127), (0, 255)]
    with teaches(
        DtypeError, "finfo(int64)", "it describes floats", "use iinfo for integers", line="tg.finfo(tg.int64)"
    ):
        tg.finfo(tg.int64)
    for dtype in ("float32", "bool"):
        with teaches(DtypeError, f"iinfo({dtype})", "it describes integers", "use finfo for floats"):
            tg.iinfo(dtype)


def test_the_default_dtype() -> None:
    assert tg.get_default_dtype() == tg.float32
    try:
        tg.set_default_dtype(tg.float64)
        assert tg.get_default_dtype() == tg.tensor(1.5).dtype == tg.zeros(1).dtype == tg.rand(1).dtype == tg.float64
        tg.set_default_dtype("bfloat16")
        assert tg.tensor([1.5]).dtype == tg.bfloat16
    finally:
        tg.set_default_dtype(tg.float32)
    with teaches(
        DtypeError, "set_default_dtype(int64)", "it is the dtype of Python floats", "name a float dtype",
        line="tg.set_default_dtype(int)",
    ):  # fmt: skip
        tg.set_default_dtype(int)


def test_a_device_is_a_name_with_parts() -> None:
    x = tg.ones(1)
    assert (x.device, x.device.type, x.device.index) == ("cpu", "cpu", None)
    assert x.device == tg.device("cpu")
    assert isinstance(x.device, tg.device)
    second = tg.device("cuda", 1)
    assert (second, second.type, second.index) == ("cuda:1", "cuda", 1)
    assert second == tg.device("cuda:1")
    assert x.to("far").to(x.device).device.type == "cpu"
    assert type(copy.deepcopy(second)) is tg.device


# Conversions --------------------------------------------------------------------------------------------------------

METHODS = {
    "half": "float16", "bfloat16": "bfloat16", "float": "float32", "double": "float64", "byte": "uint8", "char": "int8",
    "short": "int16", "int": "int32", "long": "int64", "bool": "bool",
}  # fmt: skip


@pytest.mark.parametrize("name", METHODS)
def test_each_dtype_has_a_method(name: str) -> None:
    for given in NAMES:
        x = tg.tensor([0, 1, 2]).to(given)
        y = getattr(x, name)()
        assert y.dtype == as_dtype(METHODS[name])
        assert (y is x) == (given == METHODS[name])
        assert y.tolist() == [0, 1, 1 if "bool" in (given, name) else 2]


def test_type() -> None:
    x = tg.ones(2)
    assert x.type(tg.float64).dtype == x.type("float64").dtype == tg.float64
    assert x.type(tg.float32) is x
    assert (x.type(), tg.ones(2, dtype="bfloat16").type()) == ("torch.FloatTensor", "torch.BFloat16Tensor")
    assert x.type(tg.LongTensor).dtype == x.type("torch.LongTensor").dtype == tg.int64


def test_the_default_type_by_its_old_name() -> None:
    try:
        for name, dtype in ((tg.DoubleTensor, tg.float64), ("torch.FloatTensor", tg.float32)):
            tg.set_default_tensor_type(name)
            assert tg.tensor(1.0).dtype == dtype
    finally:
        tg.set_default_dtype(tg.float32)
    with teaches(DtypeError, "set_default_dtype(int64)", "it is the dtype of Python floats", "name a float dtype"):
        tg.set_default_tensor_type(tg.LongTensor)


def test_the_forms_of_to() -> None:
    x = tg.tensor([1.5, 0.0])
    assert x.to(None) is x.to("cpu", None) is x.to("cpu", tg.float32, False, False) is x.to(x) is x
    other = tg.zeros(1, dtype="int8", device="far")
    for found in (x.to(other), x.to("far", "int8"), x.to("far", dtype=tg.int8), x.type_as(other)):
        assert (found.tolist(), found.dtype, found.device) == ([1, 0], np.int8, "far")
    assert (x.to(tg.int8, True).dtype, x.to(int).dtype, x.to(float).dtype) == (np.int8, np.int64, np.float64)


@pytest.mark.parametrize(
    "copy",
    [
        lambda x: x.to(copy=True), lambda x: x.to("float32", copy=True), lambda x: x.to(tg.float32, False, True),
        lambda x: x.to("cpu", tg.float32, False, True), lambda x: x.to(x, False, True),
    ],
)  # fmt: skip
def test_a_copy_on_request(copy: Any) -> None:
    x = tg.tensor([1.5, 0.0], requires_grad=True)
    y = copy(x)
    assert y is not x
    assert not np.shares_memory(y.array, x.array)
    (y * 2).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_numpy_by_force() -> None:
    x = tg.tensor([1.0, 2.0], requires_grad=True)
    assert (x * 2).numpy(force=True).tolist() == [2.0, 4.0]
    assert x.to("far").numpy(force=True).tolist() == [1.0, 2.0]
    assert np.shares_memory(x.numpy(force=True), x.array)


def test_the_default_device() -> None:
    assert tg.get_default_device() == "cpu"
    assert tg.get_default_device().type == "cpu"
    tg.set_default_device("far")
    try:
        assert tg.get_default_device() == tg.zeros(2).device == tg.tensor([1]).device == "far"
    finally:
        tg.set_default_device(None)
    assert tg.zeros(2).device == tg.get_default_device() == "cpu"
    with pytest.raises(DeviceError, match="device 'moon'"):
        tg.set_default_device("moon")
