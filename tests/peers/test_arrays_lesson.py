"""What lesson 1 says of PyTorch, NumPy, MyGrad and JAX, tried with each of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg

torch = pytest.importorskip("torch")

MAKERS: dict[str, Callable[[], Any]] = {
    "here": lambda: tg.arange(12, dtype="float32").reshape(3, 4),
    "PyTorch": lambda: torch.arange(12, dtype=torch.float32).reshape(3, 4),
    "NumPy": lambda: np.arange(12, dtype=np.float32).reshape(3, 4),
}
each_library = pytest.mark.parametrize("library", MAKERS)


def shares(x: Any, made: Any) -> bool:
    """Whether a write into the result can be read in x."""
    made[...] = -7.0
    return bool((np.asarray(x) == -7.0).any())


ALWAYS_A_VIEW = ["x[1:]", "x[1]", "x[::2, 1:3]", "x[2, None]", "x[..., 0]", "x[None, :, 1]", "x.T", "x.T[1:]"]
ALWAYS_A_COPY = [
    "x[[1, 2]]", "x[[0, 1]]", "x[[0]]", "x[0, [1]]", "x[:, [0, 2]]", "x[x > 5]", "x[[True, False, True]]", "x[True]",
    "x + 1", "x * 1", "x[array([1, 2])]", "x[array([1])]",
]  # fmt: skip


@each_library
@pytest.mark.parametrize("written, view", [(w, True) for w in ALWAYS_A_VIEW] + [(w, False) for w in ALWAYS_A_COPY])
def test_what_is_written_decides(library: str, written: str, view: bool) -> None:
    x = MAKERS[library]()
    array = {"here": tg.tensor, "PyTorch": torch.tensor, "NumPy": np.array}[library]
    assert shares(x, eval(written, {"x": x, "array": array})) is view


@each_library
def test_reshape_shares_where_strides_allow_it(library: str) -> None:
    x = MAKERS[library]()
    assert shares(x, x.reshape(2, 6))
    x = MAKERS[library]()
    assert not shares(x, x.T.reshape(12))


@pytest.mark.parametrize("library", ["here", "PyTorch"])
def test_contiguous_copies_only_what_is_out_of_order(library: str) -> None:
    x = MAKERS[library]()
    assert x.contiguous() is x
    assert not shares(x, x.T.contiguous())
    assert not shares(x, x.clone())
    assert shares(x, x.permute(1, 0))


def test_the_same_under_numpys_names() -> None:
    x = MAKERS["NumPy"]()
    assert np.ascontiguousarray(x) is x
    assert not shares(x, np.ascontiguousarray(x.T))
    assert not shares(x, x.copy())
    assert shares(x, x.transpose(1, 0))


def test_in_numpy_a_number_for_every_axis_gives_a_plain_number() -> None:
    assert isinstance(MAKERS["NumPy"]()[0, 0], np.float32)
    for library in ("here", "PyTorch"):
        x = MAKERS[library]()
        assert shares(x, x[0, 0])


@each_library
def test_the_report(library: str) -> None:
    def warmest(rows: Any) -> float:
        rows *= 1.8
        rows += 32
        return float(rows.max())

    readings = [[20.0, 21.0, 23.0, 22.0], [15.0, 16.0, 18.0, 17.0], [10.0, 12.0, 15.0, 13.0]]
    make = {"here": tg.tensor, "PyTorch": torch.tensor, "NumPy": lambda v: np.array(v, dtype=np.float32)}[library]
    celsius = make(readings)
    assert [f"{warmest(celsius[0:2]):.1f}" for _ in range(2)] == ["73.4", "164.1"]
    celsius = make(readings)
    assert [f"{warmest(celsius[[0, 1]]):.1f}" for _ in range(2)] == ["73.4", "73.4"]


def test_steps_backwards() -> None:
    for library in ("here", "NumPy"):
        x = MAKERS[library]()
        assert shares(x, x[::-1])
    with pytest.raises(ValueError, match="step must be greater than zero"):
        MAKERS["PyTorch"]()[::-1]


def test_flip_copies_but_in_numpy() -> None:
    for library in ("here", "PyTorch"):
        x = MAKERS[library]()
        assert not shares(x, x.flip(0))
    x = MAKERS["NumPy"]()
    assert shares(x, np.flip(x, 0))


def test_strides_are_elements_here_and_in_pytorch_and_bytes_in_numpy() -> None:
    assert tuple(MAKERS["here"]().stride()) == tuple(MAKERS["PyTorch"]().stride()) == (4, 1)
    assert MAKERS["NumPy"]().strides == (16, 4)


@each_library
def test_a_view_keeps_its_buffer(library: str) -> None:
    x = MAKERS[library]()
    small = x[:1]
    whole = {
        "here": lambda: np.shares_memory(small, x) and not np.shares_memory(x, x.clone()),
        "PyTorch": lambda: (
            small.untyped_storage().nbytes() == 48
            and small.untyped_storage().data_ptr() == x[2:].untyped_storage().data_ptr()
            and x.clone().untyped_storage().data_ptr() != x.untyped_storage().data_ptr()
        ),
        "NumPy": lambda: small.base is x.base and small.base.nbytes == 48,
    }[library]
    assert whole()


@each_library
def test_one_place_twice_in_a_list(library: str) -> None:
    counts = {"here": tg.zeros, "PyTorch": torch.zeros, "NumPy": np.zeros}[library](3)
    counts[[0, 0, 2]] += 1
    assert counts.tolist() == [1, 0, 1]


def test_lines_that_count_every_occurrence() -> None:
    for library in (tg, torch):
        counts = library.zeros(3)
        counts.index_add_(0, library.tensor([0, 0, 2]), library.ones(3))
        assert counts.tolist() == [2, 0, 1]
    plain = np.zeros(3)
    np.add.at(plain, [0, 0, 2], 1)
    assert plain.tolist() == [2, 0, 1]


def test_mygrad_shares_as_numpy_does() -> None:
    mg = pytest.importorskip("mygrad")
    x = mg.arange(12.0).reshape(3, 4)
    s = x[1:]
    assert s.base is not None
    assert np.shares_memory(s.data, x.data)
    assert not np.shares_memory(x[[1, 2]].data, x.data)
    assert x.data.strides == (32, 8)


def test_arrays_of_jax_never_change() -> None:
    jax = pytest.importorskip("jax")
    x = jax.numpy.zeros(3)
    with pytest.raises(TypeError, match="immutable"):
        x[0] = 1.0
    assert x.at[jax.numpy.array([0, 0, 2])].add(1).tolist() == [2, 0, 1]
    assert x.tolist() == [0, 0, 0]


@pytest.mark.parametrize("library", ["here", "PyTorch"])
def test_habits_from_numpy_that_the_hints_name(library: str) -> None:
    x = MAKERS[library]()
    for method in ("copy", "astype"):
        assert not hasattr(x, method)
    assert not hasattr(x.max(-1), "max")
    assert x.max(-1).values.tolist() == [3.0, 7.0, 11.0]
    with pytest.raises(TypeError):
        x.reshape(1, 2, 2, 3).transpose(0, 3, 1, 2)
    assert x.double().stride() == (4, 1) and x.double().element_size() == 8


def test_the_layout_task_and_the_images() -> None:
    z = torch.arange(24.0).reshape(4, 6)
    y = z[::2, 1::2].T
    assert (tuple(y.shape), tuple(4 * s for s in y.stride()), 4 * y.storage_offset()) == ((3, 2), (8, 48), 4)
    images = torch.rand(2, 4, 5, 3)
    assert images.permute(0, 3, 1, 2).data_ptr() == images.data_ptr()
