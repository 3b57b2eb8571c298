"""DLPack: memory that is shared with NumPy and, where it is installed, with PyTorch and JAX."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tests.support import teaches
from tinygrad_edu.errors import DeviceError, DtypeError


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int64", "int32", "uint8", "bool"])
def test_numpy_and_tensors_share_memory_both_ways(dtype: str) -> None:
    array = np.zeros((2, 3), dtype)
    x = tg.from_dlpack(array[:, 1:])
    x[0, 0] = 1
    assert array[0, 1] == 1 and x.dtype == dtype and x.shape == (2, 2)
    back = np.from_dlpack(x)
    array[1, 2] = 1
    assert back[1, 1] == 1
    own = tg.from_dlpack(array, copy=True)
    own.zero_()
    assert array.any()


def test_what_has_a_graph_is_detached_first() -> None:
    x = tg.ones(3, requires_grad=True)
    with pytest.raises(tg.errors.EduError, match="detach"):
        np.from_dlpack(x)
    assert np.from_dlpack(x.detach()).tolist() == [1.0, 1.0, 1.0]


def test_what_cannot_be_handed_over_is_refused() -> None:
    mend = "use tensor() or as_tensor()"
    with teaches(DtypeError, "from_dlpack(list)", "it is no array that speaks DLPack", mend):
        tg.from_dlpack([1])
    with pytest.raises(DtypeError, match="convert it first"):
        np.from_dlpack(tg.ones(3, dtype="bfloat16"))
    why, mend = "other libraries cannot read its memory", "copy: x.cpu()"
    with teaches(DeviceError, "__dlpack__ on 'sim'", why, mend):
        np.from_dlpack(tg.ones(3, device="sim"))

    class Elsewhere:
        def __dlpack_device__(self) -> tuple[int, int]:
            return 8, 0

        def __dlpack__(self, **options: Any) -> None:
            raise AssertionError

    with pytest.raises(DeviceError, match="DLPack's number 8"):
        tg.from_dlpack(Elsewhere())


def test_a_move_that_may_not_copy_is_refused() -> None:
    with pytest.raises(DeviceError, match="it lies elsewhere"):
        tg.from_dlpack(np.ones(3), device="sim", copy=False)
    assert tg.from_dlpack(np.ones(3), device="sim").device == "sim"
