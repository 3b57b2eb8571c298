"""What the tip lab says of PyTorch, NumPy and JAX."""

from __future__ import annotations

from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from tests.lessons.lab_solutions import LAB_SOLUTIONS
from tests.notebooks.test_tip_lab import PROSE, functions


def test_the_programs_of_the_lab_are_pytorch_programs() -> None:
    lab = functions(torch)
    torch.manual_seed(0)
    readings, weights = torch.rand(60, 20), torch.rand(20)
    solved: dict[str, Any] = {"tg": torch}
    for name in ("lab_centre", "lab_thin", "lab_scores", "lab_channels"):
        exec(LAB_SOLUTIONS[name], solved)
    mended = solved["scores"](solved["thin"](solved["centre"](readings)), weights)
    assert torch.allclose(mended, lab["report"](readings, weights), atol=1e-5)
    assert torch.equal(lab["scale"](readings), lab["scale_rows"](readings))
    assert lab["fate"](torch.rand(100, 100)) == "wrong numbers"
    assert lab["fate"](torch.rand(60, 20)) == "an error"
    images = torch.rand(4, 5, 6, 3)
    centred = solved["centre_channels"](images)
    assert torch.allclose(centred.mean((0, 1, 2)), torch.zeros(3), atol=1e-6)


def test_the_table_of_the_same_elsewhere() -> None:
    assert torch.__version__.startswith("2.13") and np.__version__.startswith("2.4") and jax.__version__ >= "0.10"
    assert all(version in PROSE for version in ("PyTorch 2.13", "NumPy 2.4", "JAX 0.10"))
    a = np.random.default_rng(0).random((6, 4), dtype=np.float32)
    t, j = torch.from_numpy(a.copy()), jnp.asarray(a)
    largest = t.amax(1, keepdim=True).numpy()
    np.testing.assert_array_equal(largest, a.max(1, keepdims=True))
    np.testing.assert_array_equal(largest, np.asarray(j.max(1, keepdims=True)))
    assert np.shares_memory(a[1:3], a) and not np.shares_memory(a[[0, 2]], a)
    assert t[1:3].untyped_storage().data_ptr() == t.untyped_storage().data_ptr()
    assert t[[0, 2]].untyped_storage().data_ptr() != t.untyped_storage().data_ptr()
    assert j[1:3].unsafe_buffer_pointer() != j.unsafe_buffer_pointer()
    with pytest.raises(TypeError):
        j[[0, 2]]
    np.testing.assert_array_equal(np.asarray(j[jnp.array([0, 2])]), a[[0, 2]])


def test_scores_and_the_end_of_a_gpu_s_work_are_called_as_the_lab_says() -> None:
    a, w = np.random.default_rng(0).random((6, 4), dtype=np.float32), np.arange(4, dtype=np.float32)
    for rows, weights in ((a, w), (torch.from_numpy(a), torch.from_numpy(w)), (jnp.asarray(a), jnp.asarray(w))):
        np.testing.assert_allclose(np.asarray(rows @ weights), (a * w).sum(1), rtol=1e-5)
    assert callable(torch.cuda.synchronize) and "`torch.cuda.synchronize()`" in PROSE
    assert jnp.ones(3).block_until_ready().shape == (3,) and "`result.block_until_ready()`" in PROSE


@pytest.mark.parametrize("library", [np, jnp])
def test_the_silent_slip_is_the_same_elsewhere(library: Any) -> None:
    square = library.asarray(np.random.default_rng(0).random((100, 100)))
    slip = square - square.mean(1)
    assert slip.shape == (100, 100)
    assert not np.allclose(slip, square - square.mean(1, keepdims=True))


def test_the_counts_of_a_loop_belong_to_an_engine() -> None:
    class Calls(TorchDispatchMode):
        names: ClassVar[list[str]] = []

        def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            self.names.append(function.name())
            return function(*args, **(kwargs or {}))

    few = torch.rand(50, 100)
    with Calls() as counted:
        functions(torch)["scale_rows"](few)
    assert counted.names.count("aten::unbind.int") == 1
    assert len(counted.names) == 102
    assert "151 operations here and 102 in PyTorch 2.13" in PROSE


def test_a_small_view_keeps_the_whole_array_in_numpy() -> None:
    large = np.zeros((1000, 100), dtype=np.float32)
    kept = large[100:103]
    assert kept.base is large and kept.nbytes == 1200


def test_compilers_unroll_a_loop_over_rows() -> None:
    def loop(x: Any) -> Any:
        return [row - row.mean() for row in x]

    def size(rows: int) -> int:
        return len(jax.make_jaxpr(loop)(jnp.ones((rows, 3))).eqns)

    assert size(8) >= 2 * size(4) - 4 > size(4)
    counts = []

    def counting(module: Any, _: Any) -> Any:
        counts.append(sum(node.op == "call_method" or node.op == "call_function" for node in module.graph.nodes))
        return module.forward

    for rows in (4, 8):
        torch._dynamo.reset()
        torch.compile(loop, backend=counting, dynamic=False)(torch.ones(rows, 3))  # type: ignore[call-overload]
    few, many = counts
    assert many >= 2 * few - 2 > few
