"""MyGrad's guide to performance, as written there; and what its switches and tensors do."""

from __future__ import annotations

import doctest
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
import tinygrad_edu.compat.mygrad as mg
from tests.support import teaches
from tinygrad_edu.errors import ArgumentError
from tinygrad_edu.observe import Counters

# The blocks of the guide, with its own outputs.
GUIDE = {
    "a write corrupts the graph": """
        >>> import mygrad as mg
        >>> import numpy as np
        >>> mg.turn_memory_guarding_off()  # speeds up calculations, but with risks involved..
        >>> x = np.arange(3.)
        >>> y = mg.ones_like(x)
        >>> z = x * y
        >>> x[:] = 0  # mutates x, corrupting state associated with z
        >>> z.backward()
        >>> y.grad  # would be array([0., 1., 2.]) if graph wasn't corrupted
        array([0., 0., 0.])
    """,
    "the guard refuses it": """
        >>> import mygrad as mg
        >>> import numpy as np
        >>> x = np.arange(3.)
        >>> y = mg.ones_like(x)
        >>> z = x * y
        >>> try:
        ...     x[:] = 0  # raises because `x` is made read-only
        ... except ValueError:
        ...     pass
        >>> z.backward()
        >>> y.grad  # correct gradient is computed
        array([0., 1., 2.])
        >>> x[:] = 0  # the writeability of `x` is restored once backprop is complete
    """,
    "no graph": """
        >>> import mygrad as mg
        >>> with mg.no_autodiff:
        ...     # any mygrad code in this context will run faster
        ...     # but will not produce any gradients
        ...     pass
    """,
}


@pytest.fixture(autouse=True)
def guarded() -> Iterator[None]:
    yield
    mg.turn_memory_guarding_on()


@pytest.mark.parametrize("name", GUIDE)
def test_the_guide_as_written(name: str) -> None:
    text = GUIDE[name].replace("import mygrad as mg", "import tinygrad_edu.compat.mygrad as mg")
    told: list[str] = []
    test = doctest.DocTestParser().get_doctest(text, {}, name, None, 0)
    found = doctest.DocTestRunner(verbose=False).run(test, out=told.append)
    assert found.attempted == text.count(">>>")
    assert not found.failed, "".join(told)


class TestNoAutodiff:
    def test_as_a_block(self) -> None:
        x = mg.tensor([1.0, 2.0])
        with mg.no_autodiff:
            with mg.no_autodiff:  # inside itself
                y = x * 2
            z = x * 3
        assert y.creator is z.creator is None
        y.backward()
        assert x.grad is None
        assert (x * 2).creator == "mul"

    def test_as_a_decorator(self) -> None:
        @mg.no_autodiff
        def twice(x: Any) -> Any:
            """Two of them."""
            return x * 2

        assert twice(mg.tensor([1.0])).creator is None
        assert (twice.__name__, twice.__doc__) == ("twice", "Two of them.")

    def test_called_with_a_function(self) -> None:
        found = mg.no_autodiff(lambda x: x * 2, to_numpy=True)(mg.tensor([1.0]))
        assert type(found) is np.ndarray

    def test_it_suspends_the_guard(self) -> None:
        x, y = np.arange(3.0), mg.tensor([1.0, 1.0, 1.0])
        with mg.no_autodiff:
            z = x * y
            x[:] = 5
        assert z.data.tolist() == [0, 1, 2]

    def test_no_node_is_made(self) -> None:
        x = mg.tensor([1.0])
        with Counters() as seen, mg.no_autodiff:
            np.exp(x * 2)
        assert seen.nodes == 0

    def test_an_error_ends_it(self) -> None:
        with pytest.raises(ZeroDivisionError), mg.no_autodiff:
            _ = 1 / 0
        assert (mg.tensor([1.0]) * 2).creator == "mul"

    def test_each_thread_has_its_own(self) -> None:
        found: list[Any] = []
        with mg.no_autodiff:
            thread = threading.Thread(target=lambda: found.append((mg.tensor([1.0]) * 2).creator))
            thread.start()
            thread.join()
        assert found == ["mul"]


class TestGuard:
    def test_switches(self) -> None:
        assert mg.mem_guard_active()
        with mg.mem_guard_off:
            assert not mg.mem_guard_active()
            with mg.mem_guard_on:
                assert mg.mem_guard_active()
            assert not mg.mem_guard_active()
        mg.turn_memory_guarding_off()
        assert not mg.mem_guard_active()
        assert mg.mem_guard_on(mg.mem_guard_active)()
        mg.turn_memory_guarding_on()
        assert not mg.mem_guard_off(mg.mem_guard_active)()
        assert mg.mem_guard_active()

    def test_a_tensor_may_be_written_to(self) -> None:
        """Were x a tensor, there would not be any issue, since the write is tracked."""
        x, y = mg.tensor([0.0, 1.0, 2.0]), mg.tensor([1.0, 1.0, 1.0])
        z = x * y
        x[:] = 0
        z.backward()
        assert y.grad is not None
        assert y.grad.tolist() == [0, 1, 2]
        assert x.data.tolist() == [0, 0, 0]

    def test_a_view_costs_nothing_and_a_write_copies_its_base(self) -> None:
        x = mg.tensor(np.ones(1000))
        with Counters() as seen:
            view = x[::2]
        assert seen.allocated == 0
        assert view.base is x
        with Counters() as seen:
            view[...] = 0.0
        assert seen.copied == 1000 * 8
        assert x.data.sum() == 500

    def test_arrays_may_be_written_to_after_an_error(self) -> None:
        x, y = np.arange(3.0), mg.tensor([1.0, 1.0])
        with pytest.raises(ValueError):
            x * y
        x[:] = 1


class TestTensor:
    def test_defaults(self) -> None:
        floats, ints = mg.tensor([1.0, 2.0]), mg.tensor([1, 2])
        assert (floats.dtype, floats.constant) == (np.float64, False)
        assert (ints.dtype, ints.constant) == (np.int64, True)
        assert (mg.zeros(2).dtype, mg.ones((1, 2)).dtype, mg.arange(3).constant) == (np.float32, np.float32, True)
        assert mg.tensor([1.0], dtype=np.float32, ndmin=3).shape == (1, 1, 1)
        assert mg.tensor([1.0], constant=True).constant
        with teaches(
            ArgumentError, "tensor(int64, constant=False)", "integers and truth values have no gradients",
            "give floats: dtype=float",
        ):  # fmt: skip
            mg.tensor([1], constant=False)

    def test_memory(self) -> None:
        array = np.arange(3.0)
        copied, shared = mg.tensor(array), mg.astensor(array)
        array[0] = 7
        assert (copied.data[0], shared.data[0]) == (0, 7)
        assert mg.astensor(shared) is shared
        assert mg.tensor(array, copy=False).data.base is not None

    def test_gradients_are_arrays_and_are_forgotten(self) -> None:
        x = mg.tensor([1.0, 2.0])
        (x * 2).backward()
        assert type(x.grad) is np.ndarray
        assert x.grad.tolist() == [2, 2]
        (x * 3).sum().backward()
        assert x.grad.tolist() == [3, 3]
        y = x * 4
        assert x.grad is None
        y.backward([1.0, 10.0])
        assert x.grad.tolist() == [4, 40]
        assert x.null_grad().grad is None

    def test_the_gradient_of_a_view_is_its_place_in_that_of_its_base(self) -> None:
        x = mg.tensor([1.0, 2.0, 3.0])
        view = x[1:]
        (view * view + x[:2]).backward()
        assert (x.grad.tolist(), view.grad.tolist()) == ([1, 5, 6], [5, 6])
        view *= 10
        (x**2).sum().backward()
        assert (x.grad.tolist(), view.grad.tolist()) == ([2, 40, 60], [40, 60])

    def test_constants_have_none(self) -> None:
        x, c = mg.tensor([1.0]), mg.tensor([2.0], constant=True)
        (x * c).backward()
        assert (x.grad.tolist(), c.grad) == ([2], None)
        c.backward()
        assert mg.exp(x, constant=True).constant

    def test_what_it_looks_like(self) -> None:
        x = mg.tensor([[1.0, 2.0]])
        assert repr(x) == "Tensor([[1., 2.]])"
        assert (x.shape, x.ndim, x.size, len(x), x.T.shape) == ((1, 2), 2, 2, 1, (2, 1))
        assert (mg.sum(x).item(), float(mg.sum(x)), int(mg.sum(x)), bool(mg.sum(x))) == (3.0, 3.0, 3, True)
        assert np.asarray(x).tolist() == [[1, 2]]
        assert {"exp", "tensor", "no_autodiff"} <= set(dir(mg))
        with pytest.raises(AttributeError, match="has no attribute 'nnet'"):
            mg.nnet  # noqa: B018

    def test_numpys_functions_give_tensors(self) -> None:
        x = mg.tensor([1.0, 4.0])
        for found in (np.sqrt(x), mg.sqrt(x), np.add(1, x), 1 + x, np.array([1.0, 1.0]) * x, x.reshape(2, 1)):
            assert isinstance(found, mg.Tensor)
        assert mg.sqrt(4.0).data == 2
        assert mg.concatenate([x, [1.0]]).data.tolist() == [1, 4, 1]

    def test_functions_with_the_names_of_pythons_own_stand_beside_them(self) -> None:
        x = mg.tensor([-1.0, 4.0])
        assert [mg.any(x > 0).item(), mg.all(x > 0).item()] == [True, False]
        assert [mg.max(x).item(), mg.min(x).item(), mg.sum(x).item(), mg.abs([-3.0]).item()] == [4, -1, 3, 3]
        assert mg.exp(mg.zeros(1)).item() == 1 and mg.any is mg.any

    def test_out_is_an_array_or_a_tensor(self) -> None:
        x, array = mg.tensor([1.0, 4.0]), np.zeros(2)
        assert np.sqrt(x, out=array) is array
        assert array.tolist() == [1, 2]
        assert mg.asarray(x).tolist() == [1, 4]
        assert x.copy().data is not x.data
        assert x.astype(np.float32).dtype == np.float32

    def test_clearing_the_graph(self) -> None:
        x = mg.tensor([1.0])
        y = x * 2
        y.clear_graph()
        y.backward()
        assert (x.grad, y.grad.tolist(), y.creator) == (None, [1], None)


def test_both_libraries_live_side_by_side() -> None:
    ours = tg.ones(2, requires_grad=True)
    (ours * 2).sum().backward()
    theirs = mg.tensor([1.0, 1.0])
    (theirs * 2).backward()
    assert ours.grad.tolist() == theirs.grad.tolist()
