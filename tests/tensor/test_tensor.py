"""The tensor: what it is made from, what it says about itself, how it is copied, what it refuses."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tests.support import run_python, teaches
from tinygrad_edu.core.base import TensorBase
from tinygrad_edu.errors import AutogradError, DeviceError, DtypeError, NoAxisError, ShapeError
from tinygrad_edu.settings import scoped
from tinygrad_edu.tensor import SlowTensor, Tensor, wrap

LABELS = "convert it to numbers first: labels to class indices, for example"


# What a tensor is made from -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "dtype", "shape"),
    [
        (1.5, "float32", ()),
        (2, "int64", ()),
        (True, "bool", ()),
        ([], "float32", (0,)),
        ([[1, 2], [3, 4]], "int64", (2, 2)),
        ([1, 2.5], "float32", (2,)),
        ((1.0, 2.0), "float32", (2,)),
        (range(3), "int64", (3,)),
        ([[]], "float32", (1, 0)),
        (np.float64(1), "float64", ()),
        (np.arange(3, dtype=np.int16), "int16", (3,)),
        (np.ones((1, 2)), "float64", (1, 2)),
        (np.arange(3, dtype=">f4"), "float32", (3,)),
        (np.bool_(True), "bool", ()),
    ],
)
def test_from_numbers_lists_and_arrays(data: Any, dtype: str, shape: tuple[int, ...]) -> None:
    x = tg.tensor(data)
    assert (x.dtype.name, x.shape, x.requires_grad, x.is_leaf) == (dtype, shape, False, True)
    assert x.dtype.isnative
    np.testing.assert_array_equal(x.numpy(), np.array(data))


def test_from_tensors() -> None:
    x = tg.tensor([1.0, 2.0], requires_grad=True)
    y = tg.tensor(x)
    y.add_(1)
    assert (x.tolist(), y.requires_grad) == ([1.0, 2.0], False)
    rows = [tg.tensor([1.0]), tg.tensor([2.0])]
    assert tg.tensor(rows).tolist() == [1.0, 2.0]  # each stands for its one number, as in PyTorch


def test_dtype_and_default_dtype() -> None:
    assert tg.tensor([1.7], dtype="int32").tolist() == [1]
    with scoped(dtype="float64"):
        assert tg.tensor([1.7]).dtype == tg.float64
        assert tg.tensor([1]).dtype == tg.int64


def test_tensor_copies_and_as_tensor_shares() -> None:
    array = np.zeros(2)
    copied, shared = tg.tensor(array), tg.as_tensor(array)
    array[0] = 5
    assert (copied.tolist(), shared.tolist()) == ([0.0, 0.0], [5.0, 0.0])
    assert tg.as_tensor(shared) is shared
    assert tg.as_tensor(array, dtype="float32").tolist() == [5.0, 0.0]
    assert tg.from_numpy(array).dtype == tg.float64


def test_from_numpy_is_on_the_cpu_whatever_the_default() -> None:
    with scoped(device="far"):
        assert tg.tensor([1.0]).device == "far"
        assert tg.from_numpy(np.zeros(1)).device == "cpu"


@pytest.mark.parametrize(
    ("data", "holding", "dtype"),
    [
        ("seven", "str holding 'seven'", "<U5"),
        (["a", "b"], "list holding 'a'", "<U1"),
        ([1, None], "list holding None", "object"),
        (object(), "object holding object", "object"),
        (2j, "complex holding 2j", "complex128"),
        (np.array([1, 2], dtype=complex), "ndarray holding (1+0j)", "complex128"),
        ({1: 2}, "dict holding dict", "object"),
        (b"xy", "bytes holding b'xy'", "|S2"),
        (np.array(["2020"], dtype="M8[Y]"), "ndarray holding date", "datetime64[Y]"),
    ],
)
def test_what_is_no_number_is_refused(data: Any, holding: str, dtype: str) -> None:
    why = f"it has dtype {dtype}, but tensors hold bools, integers and floats"
    with teaches(DtypeError, f"a tensor from {holding}", why, LABELS, line="tg.tensor(data)"):
        tg.tensor(data)
    with pytest.raises(DtypeError):
        tg.as_tensor(data)


def test_nothing_is_no_tensor() -> None:
    why, mend = "None is what a function without a return gives", "end the function, or a forward, with return …"
    with teaches(DtypeError, "a tensor from None", why, mend, line="tg.tensor(None)"):
        tg.tensor(None)
    with pytest.raises(DtypeError, match="mul with a tensor from None"):
        tg.ones(2) * None


@pytest.mark.parametrize("data", [[1, [2, 3]], [[1, 2], [3]], [[[1]], [2]]])
def test_ragged_lists(data: Any) -> None:
    with teaches(
        ShapeError,
        "a tensor from list",
        "its rows differ in length or depth",
        "pad the rows to one length, or keep a list of tensors",
        line="tg.tensor(data)",
    ):
        tg.tensor(data)


def test_a_list_of_recorded_tensors_would_lose_its_history() -> None:
    w = tg.tensor(1.0, requires_grad=True)
    with teaches(
        AutogradError,
        "a tensor from a list with tensors that require grad",
        "it would hold their values and forget how they were computed",
        "join them with stack([…]) or cat([…]), or detach() them first",
        line="tg.tensor([w * 2, w * 3])",
    ):
        tg.tensor([w * 2, w * 3])
    assert tg.tensor([w.detach(), w.detach()]).tolist() == [1.0, 1.0]
    with tg.no_grad():
        assert tg.tensor([w]).tolist() == [1.0]


def test_from_numpy_takes_arrays_only() -> None:
    with teaches(DtypeError, "from_numpy(list)", "it takes a NumPy array", "use tensor() or as_tensor()"):
        tg.from_numpy([1.0])


# What it says about itself ------------------------------------------------------------------------------------------


def test_properties() -> None:
    x = tg.zeros(2, 3, requires_grad=True)
    assert (x.shape, x.ndim, x.dim(), x.numel(), len(x)) == ((2, 3), 2, 2, 6, 2)
    assert (x.size(), x.size(-1)) == ((2, 3), 3)
    assert (x.device, x.dtype) == ("cpu", tg.float32)
    assert (x.stride(), x.T.stride(), x[:, 1:].stride()) == ((3, 1), (1, 3), (3, 1))
    assert (x.is_contiguous(), x.T.is_contiguous()) == (True, False)
    assert x[1].data_ptr() - x.data_ptr() == 12
    assert (x.is_leaf, x.grad_fn, x.grad) == (True, None, None)
    y = x * 2
    assert (y.is_leaf, repr(y.grad_fn)) == (False, "<mul>")


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: tg.tensor([1.0, 2.5]), "tensor([1.0000, 2.5000])"),
        (lambda: tg.tensor(3), "tensor(3)"),
        (lambda: tg.tensor([True]), "tensor([True])"),
        (lambda: tg.ones(2, dtype="float64"), "tensor([1., 1.], dtype=float64)"),
        (lambda: tg.ones(1, dtype="bfloat16"), "tensor([1.], dtype=bfloat16)"),
        (lambda: tg.ones(1, requires_grad=True), "tensor([1.], requires_grad=True)"),
        (lambda: tg.ones(1, requires_grad=True) * 2, "tensor([2.], grad_fn=<mul>)"),
        (lambda: tg.ones(1, device="far"), "tensor([1.], device='far')"),
        (lambda: tg.zeros(2, 2), "tensor([[0., 0.],\n        [0., 0.]])"),
    ],
)
def test_repr(make: Callable[[], Any], text: str) -> None:
    assert repr(make()) == text


def test_the_old_constructor() -> None:
    x = tg.ones(2, requires_grad=True)
    given = (tg.Tensor([1, 2]), tg.Tensor((1, 2)), tg.Tensor(np.array([1, 2])), tg.Tensor(tg.tensor([1, 2])))
    assert [(y.tolist(), y.dtype) for y in given] == [([1.0, 2.0], np.float32)] * 4
    assert tg.Tensor(x) is x
    assert [tg.Tensor(*size).shape for size in ((), (3,), (2, 3), (np.int64(3),))] == [(0,), (3,), (2, 3), (3,)]
    assert tg.Tensor(tg.ones(2, 3).size()).shape == (2, 3)
    assert tg.Tensor([1.0], device="far").device == "far"
    with teaches(ShapeError, "empty((3.0,))", "sizes are integers", "use // where / gave a fraction"):
        tg.Tensor(3.0)


def test_the_old_types() -> None:
    assert repr(tg.LongTensor) == "<class 'tinygrad_edu.LongTensor'>"
    with teaches(
        DtypeError,
        "LongTensor(Tensor)",
        "it is a tensor of float32 already",
        "convert it: x.to('int64')",
        "LongTensor(tg",
    ):
        tg.LongTensor(tg.ones(2))
    why, mend = "it takes numbers in a list, or a size", "write FloatTensor([…]), or tensor(…)"
    for junk in (2.0, "a", None, True):
        with teaches(DtypeError, f"FloatTensor({type(junk).__name__})", why, mend):
            tg.FloatTensor(junk)
    assert isinstance(tg.ones(2), tg.FloatTensor)
    assert not isinstance(tg.ones(2, device="far"), tg.FloatTensor)


def test_a_class_on_tensor() -> None:
    class Named(Tensor):
        pass

    x = Named([1.0, 2.0])
    assert (type(x), (x * x).tolist(), x.requires_grad_().is_leaf) == (Named, [1.0, 4.0], True)


def test_users_meet_one_class() -> None:
    for x in (tg.ones(1), tg.ones(1, dtype="bfloat16"), tg.ones(1, device="far")):
        with pytest.raises(AttributeError, match="'Tensor' object has no attribute 'shapes'"):
            x.shapes  # noqa: B018


def test_the_exact_type_is_a_promise() -> None:
    """Generated callers take the exact type `Tensor` for NumPy, up to date. All else is a `SlowTensor`."""
    assert type(tg.ones(1)) is Tensor
    assert type(tg.ones(1, device="far")) is SlowTensor
    assert type(tg.ones(1).to("far")) is SlowTensor
    assert type(tg.ones(1).to("far").cpu()) is Tensor
    w = tg.ones(2, requires_grad=True)
    base = w * 1
    view = base[0]
    base.add_(1)
    assert type(view) is SlowTensor
    view * 1
    assert type(view) is Tensor
    assert isinstance(view, TensorBase)


def test_no_new_attributes() -> None:
    x = tg.ones(1)
    with pytest.raises(AttributeError):
        x.gard = None
    with pytest.raises(AttributeError, match=r"'Tensor' object has no attribute 'foo'"):
        x.foo  # noqa: B018


def test_identity_and_equality() -> None:
    x = tg.tensor([1.0, 2.0])
    assert (x == 1).tolist() == [True, False]
    assert len({x, x, tg.tensor([1.0, 2.0])}) == 2
    assert 2.0 in x
    assert 3.0 not in x


# Python numbers -----------------------------------------------------------------------------------------------------


def test_one_element_as_a_python_number() -> None:
    x = tg.tensor([[2.5]])
    assert (x.item(), float(x), int(x), bool(x)) == (2.5, 2.5, 2, True)
    assert ["a", "b"][tg.tensor(1)] == "b"
    assert [row.tolist() for row in tg.tensor([[1], [2]])] == [[1], [2]]


def test_what_has_no_single_value() -> None:
    x = tg.zeros(2)
    with teaches(
        ShapeError,
        "item() on a tensor (2,)",
        "it has 2 elements, and item() gives one number",
        "reduce it first (x.sum()), or use tolist()",
        line="x.item()",
    ):
        x.item()
    with teaches(
        ShapeError,
        "the truth of a tensor (2,)",
        "it has 2 elements, some perhaps true and some not",
        "reduce it first: (x > 0).all() or (x > 0).any(), or look at one element",
        line="if x:",
    ):
        if x:
            pass
    with teaches(NoAxisError, "len() of a 0-d tensor", "it has no axis to count along", "use item() for its value"):
        len(tg.tensor(1.0))
    with teaches(DtypeError, "a tensor of dtype float32 as an index", "an index is an integer", "use x.long()"):
        [1, 2][tg.tensor(1.0)]


# NumPy --------------------------------------------------------------------------------------------------------------


def test_numpy_shares_memory() -> None:
    x = tg.tensor([1.0, 2.0])
    x.numpy()[0] = 5
    assert x.tolist() == [5.0, 2.0]
    assert np.shares_memory(np.asarray(x), x.array)
    assert np.array(x, dtype=np.int64).tolist() == [5, 2]
    total = x.sum()
    total.numpy()[...] = 0
    assert total.item() == 0.0


def test_numpy_on_what_requires_grad() -> None:
    x = tg.ones(2, requires_grad=True)
    words = (
        "numpy() on a tensor that requires grad",
        "the graph cannot record what NumPy does with the values",
        "say so with x.detach().numpy()",
    )
    with teaches(AutogradError, *words, line="x.numpy()"):
        x.numpy()
    with teaches(AutogradError, *words, line="np.asarray(x * 2)"):
        np.asarray(x * 2)
    assert x.detach().numpy().tolist() == [1.0, 1.0]


def test_numpy_off_the_cpu() -> None:
    x = tg.ones(2, device="far")
    with teaches(
        DeviceError, "numpy()", "the elements live on 'far'", "copy them first: x.cpu().numpy()", line="x.numpy()"
    ):
        x.numpy()
    assert x.tolist() == [1.0, 1.0]


# requires_grad, data, detach ----------------------------------------------------------------------------------------


def test_requires_grad_can_be_switched_on_leaves() -> None:
    x = tg.ones(2)
    assert x.requires_grad_() is x
    assert x.requires_grad
    x.requires_grad = False
    assert not (x * 2).requires_grad


@pytest.mark.parametrize("dtype", ["int64", "bool", "uint8"])
def test_requires_grad_on_what_has_no_derivative(dtype: str) -> None:
    with teaches(
        DtypeError,
        f"requires_grad on a tensor of dtype {dtype}",
        "a derivative needs arbitrarily small steps, and integers have none",
        "convert it first: x.float()",
        line="tg.tensor([1], dtype=dtype, requires_grad=True)",
    ):
        tg.tensor([1], dtype=dtype, requires_grad=True)


def test_requires_grad_on_a_result() -> None:
    y = tg.ones(2, requires_grad=True) * 2
    with teaches(
        AutogradError,
        "requires_grad = False on the result of <mul>",
        "only leaves can be switched: what an operation made follows its operands",
        "use detach() for a tensor outside the graph",
        line="y.requires_grad = False",
    ):
        y.requires_grad = False


def test_detach_shares_memory_without_history() -> None:
    x = tg.ones(2, requires_grad=True)
    y = x.detach()
    y[0] = 5
    assert (x.tolist(), y.requires_grad) == ([5.0, 1.0], False)
    assert np.shares_memory(x.data.array, x.array)


def test_data_can_be_replaced() -> None:
    x = tg.ones(2, requires_grad=True)
    y = tg.tensor([3.0, 4.0])
    x.data = y
    y[0] = 7
    assert (x.tolist(), x.requires_grad) == ([7.0, 4.0], True)
    x.data = tg.ones(2, device="far")
    assert (x.device, type(x)) == ("far", SlowTensor)


def test_data_that_does_not_fit() -> None:
    x = tg.ones(2)
    with teaches(ShapeError, "x.data = (3,)", "x has shape (2,)", "give it a tensor of the same shape"):
        x.data = tg.ones(3)
    view = x[:1]
    with teaches(
        ShapeError, "x.data = (1,)", "x has shape (1,), and is a view of another tensor", "write to it: x.copy_(…)"
    ):
        view.data = tg.ones(1)


# Shapes and dims ----------------------------------------------------------------------------------------------------

DIMS: dict[str, tuple[Callable[[Any], Any], str, str]] = {
    "sum": (lambda x: x.sum(2), "dim=2", "between -2 and 1"),
    "mean": (lambda x: x.mean(dim=(0, -3)), "dim=-3", "between -2 and 1"),
    "amax": (lambda x: x.amax(5), "dim=5", "between -2 and 1"),
    "softmax": (lambda x: x.softmax(2), "dim=2", "between -2 and 1"),
    "permute": (lambda x: x.permute(0, 2), "dim=2", "between -2 and 1"),
    "transpose": (lambda x: x.transpose(0, 2), "dim=2", "between -2 and 1"),
    "unsqueeze": (lambda x: x.unsqueeze(3), "dim=3", "between -3 and 2"),
    "squeeze": (lambda x: x.squeeze(-4), "dim=-4", "between -2 and 1"),
    "flatten": (lambda x: x.flatten(0, 2), "dim=2", "between -2 and 1"),
    "size": (lambda x: x.size(2), "dim=2", "between -2 and 1"),
}


@pytest.mark.parametrize(("call", "dim", "limits"), DIMS.values(), ids=DIMS)
def test_an_axis_that_does_not_exist(call: Callable[[Any], Any], dim: str, limits: str) -> None:
    with teaches(
        ShapeError,
        f"{dim} of a tensor (2, 3)",
        f"it has 2 axes, so dim lies {limits}",
        "count the axes from 0, or from -1 at the end",
    ):
        call(tg.ones(2, 3))


def test_one_axis_and_none() -> None:
    with pytest.raises(ShapeError, match="it has 1 axis, so dim lies between -1 and 0"):
        tg.ones(2).sum(1)
    assert tg.tensor(2.0).sum(0).item() == tg.tensor(2.0).sum(-1).item() == 2.0  # as in PyTorch
    with pytest.raises(ShapeError, match="it has 0 axes, so dim lies between -1 and 0"):
        tg.tensor(2.0).sum(1)


@pytest.mark.parametrize("dim", ["rows", 1.0])
def test_a_dim_that_is_no_integer(dim: Any) -> None:
    with teaches(
        DtypeError,
        f"dim={dim!r} of a tensor (2, 3)",
        "a dim is an integer",
        "count the axes from 0, or from -1 at the end",
    ):
        tg.ones(2, 3).sum(dim)


def test_shape_methods() -> None:
    x = tg.arange(6).reshape(2, 3)
    assert (
        x.T.tolist()
        == x.mT.tolist()
        == x.transpose(0, -1).tolist()
        == x.permute(1, 0).tolist()
        == [[0, 3], [1, 4], [2, 5]]
    )
    assert x.flatten().tolist() == x.view(-1).tolist() == list(range(6))
    assert [x.unsqueeze(dim).shape for dim in (0, 1, 2, -1, -3)] == [
        (1, 2, 3),
        (2, 1, 3),
        (2, 3, 1),
        (2, 3, 1),
        (1, 2, 3),
    ]
    assert x.unsqueeze(0).squeeze().shape == x.unsqueeze(0).squeeze(0).shape == x.squeeze(0).shape == (2, 3)
    assert x.reshape(1, 2, 3, 1).flatten(1, 2).shape == (1, 6, 1)
    assert tg.ones(3, 1).expand(2, -1, 4).shape == (2, 3, 4)
    assert tg.tensor(1.0).transpose(0, 0).shape == tg.tensor(1.0).T.shape == ()
    assert tg.tensor(1.0).flatten().shape == (1,)


def test_view_never_copies() -> None:
    x = tg.arange(6).reshape(2, 3)
    assert x.T.reshape(6).tolist() == [0, 3, 1, 4, 2, 5]
    with teaches(
        ShapeError,
        "view(6,) of a tensor (3, 2) with strides (1, 3)",
        "no shape and strides over the same bytes show these elements in this order",
        "use reshape(), which copies where it must, or contiguous() first",
        line="x.T.view(6)",
    ):
        x.T.view(6)
    assert x.T.contiguous().view(6).tolist() == [0, 3, 1, 4, 2, 5]
    assert x.contiguous() is x


# Copies -------------------------------------------------------------------------------------------------------------

COPIES: dict[str, Callable[[Any], Any]] = {
    "copy": copy.copy, "deepcopy": copy.deepcopy, "pickle": lambda x: pickle.loads(pickle.dumps(x)),
}  # fmt: skip


@pytest.mark.parametrize("make", COPIES.values(), ids=COPIES)
def test_copies_are_leaves_of_their_own(make: Callable[[Any], Any]) -> None:
    x = tg.tensor([1.0, 2.0], requires_grad=True)
    (x * 3).sum().backward()
    y = make(x)
    assert (y.tolist(), y.requires_grad, y.is_leaf, y.grad.tolist()) == ([1.0, 2.0], True, True, [3.0, 3.0])
    (y * 2).sum().backward()
    with tg.no_grad():
        y.add_(1)
    assert (x.tolist(), x.grad.tolist(), y.grad.tolist()) == ([1.0, 2.0], [3.0, 3.0], [5.0, 5.0])
    for z in (tg.ones(2, device="far"), tg.ones(2, dtype="bfloat16"), tg.tensor([1, 2]), tg.tensor([1.0, 2.0]).sum()):
        same = make(z)
        assert (same.tolist(), same.device, same.dtype, same.requires_grad) == (z.tolist(), z.device, z.dtype, False)


@pytest.mark.parametrize("make", COPIES.values(), ids=COPIES)
def test_a_copied_parameter_is_a_parameter(make: Callable[[Any], Any]) -> None:
    layer = make(tg.nn.Linear(2, 3))
    assert [name for name, _ in layer.named_parameters()] == ["weight", "bias"]
    assert all(isinstance(p, tg.nn.Parameter) for p in layer.parameters())


def test_deepcopy_keeps_what_is_shared_shared() -> None:
    x = tg.ones(2)
    a, b = copy.deepcopy([x, x])
    assert a is b is not x


@pytest.mark.parametrize("make", COPIES.values(), ids=COPIES)
def test_what_belongs_to_a_graph_is_not_copied(make: Callable[[Any], Any]) -> None:
    y = tg.ones(2, requires_grad=True) * 2
    with pytest.raises(AutogradError) as caught:
        make(y)
    assert (caught.value.tried, caught.value.why, caught.value.mend) == (
        "copying or pickling the result of <mul>",
        "it belongs to a graph, and a copy would not",
        "detach() it first, or clone() it to stay in the graph",
    )


# Conversions --------------------------------------------------------------------------------------------------------


def test_to() -> None:
    x = tg.tensor([1.5, 0.0])
    assert x.to("float32") is x.to("cpu") is x.to() is x.cpu() is x
    assert [x.to(target).dtype.name for target in ("float16", np.int32, tg.bool)] == ["float16", "int32", "bool"]
    converted = (x.float(), x.double(), x.half(), x.long(), x.int(), x.bool())
    assert [y.dtype.name for y in converted] == ["float32", "float64", "float16", "int64", "int32", "bool"]
    assert x.long().tolist() == [1, 0]
    assert x.to("far").device == "far"
    assert x.to(dtype="float64", device="far").dtype == tg.float64


def test_to_what_does_not_exist() -> None:
    why = (
        "it names neither a device (cpu, far, sim) nor a dtype: "
        "tensors have one of the dtypes bool, uint8, int8, int16, int32, int64, float16, bfloat16, float32, float64"
    )
    for thing in (tg.ones(1), tg.nn.Linear(1, 1)):
        with teaches(DeviceError, "to('gpu')", why, "name one of these, such as 'cpu' or 'float32'"):
            thing.to("gpu")
    why = "there is no such device here; the devices are cpu, far, sim"
    with teaches(DeviceError, "device 'gpu'", why, "name one of these"):
        tg.ones(1, device="gpu")


def test_gradients_pass_through_conversions() -> None:
    x = tg.tensor([1.0, 2.0], requires_grad=True)
    (x.double().half() * 2).sum().backward()
    assert (x.grad.tolist(), x.grad.dtype) == ([2.0, 2.0], tg.float32)


def test_wrap_copies_nothing() -> None:
    array = np.zeros(2)
    assert wrap(array).array is array


def test_format_is_that_of_the_number() -> None:
    loss = tg.tensor(2.5, requires_grad=True)
    assert (f"{loss:.3f}", f"{loss}", f"{tg.tensor(7):03d}", f"{tg.tensor([1.0])}") == (
        "2.500", "2.5", "007", "tensor([1.])",
    )  # fmt: skip
    with pytest.raises(TypeError):
        format(tg.ones(2), ".2f")


def test_infinities_come_without_warnings() -> None:
    """As in PyTorch; a program of the user's own is warned by NumPy as ever."""
    done = run_python(
        "import tinygrad_edu as tg, numpy as np\n"
        "print(tg.ones(1) / 0, tg.zeros(1).log(), tg.tensor(1000.0).exp(), tg.tensor([70000.0]).half())"
    )
    assert (done.stdout, done.stderr) == (
        "tensor([inf]) tensor([-inf]) tensor(inf) tensor([inf], dtype=float16)\n", "",
    )  # fmt: skip
    own = run_python("import tinygrad_edu, numpy as np\nnp.ones(1) / 0")
    assert "RuntimeWarning: divide by zero" in own.stderr


def test_integers_that_do_not_fit_are_refused() -> None:
    with teaches(
        DtypeError, "a tensor from list holding 300", "uint8 holds the integers from 0 to 255",
        "use a wider dtype, such as 'int64'", line="tg.tensor",
    ):  # fmt: skip
        tg.tensor([1, 300], dtype="uint8")
    assert tg.tensor([0, 255], dtype="uint8").tolist() == [0, 255]


def test_numpy_scalars_are_numbers() -> None:
    """As in PyTorch; by NumPy's own rules they are arrays."""
    x = tg.tensor([1, 2])
    assert (x * np.float64(0.5)).dtype == np.float32
    assert (np.float64(0.5) * x).dtype == np.float32
    with tg.settings.promotion("numpy"):
        assert (tg.ones(2) * np.float64(0.5)).dtype == np.float64


def test_devices_by_the_names_of_programs() -> None:
    device = tg.device("cuda" if tg.cuda.is_available() else "cpu")
    assert tg.ones(2).to(device).device == "cpu"
    assert (tg.cuda.device_count(), tg.ones(2).is_cuda) == (0, False)
    for move in (lambda: tg.ones(2).to("cuda:0"), tg.ones(2).cuda):
        with pytest.raises(DeviceError, match="there is no NVIDIA driver here"):
            move()


def test_sizes_in_bytes() -> None:
    x = tg.ones(2, 3, dtype="float16")
    assert (x.nelement(), x.element_size(), x.nbytes) == (6, 2, 12)


def test_a_misspelt_name_is_put_right() -> None:
    """Of a module in the error itself, and of a tensor by Python, which is told whose name it is."""
    with pytest.raises(AttributeError, match=r"near it is tinygrad_edu\.arange$"):
        tg.arrange  # noqa: B018
    x = tg.ones(1)
    with pytest.raises(AttributeError) as caught:
        x.reshpe  # noqa: B018
    assert (caught.value.name, caught.value.obj) == ("reshpe", x)


def test_data_of_another_kind_is_refused() -> None:
    x = tg.ones(2, requires_grad=True)
    for other in (3, tg.tensor([1, 2])):
        with pytest.raises(DtypeError, match=r"x\.data = …"):
            x.data = other
