"""How results lie in memory: strides as in PyTorch, so that `view` works where it works there, and shares what it does.

The values of two libraries may agree while ``reshape(-1)`` is a view in one and a copy in the other: a program that
writes through it then does two different things. So strides are compared, and what a write reaches.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tests.ops.cases import CASES, Case, is_float
from tests.peers.layout_calls import CALLS, IMAGES, Call
from tinygrad_edu.core.op import OPS

torch = pytest.importorskip("torch", reason="needs PyTorch: pip install -e '.[peers]'")
pytestmark = pytest.mark.peers

# The same numbers, differently laid out, by views of either library -------------------------------------------------


def turned(order: Callable[[int], tuple[int, ...]]) -> Call:
    """In memory the axes follow each other as ``order`` says, outermost first."""

    def lay(m: Any, a: Any) -> Any:
        axes = order(a.ndim)
        return m.from_numpy(a.transpose(axes).copy()).permute(tuple(np.argsort(axes).tolist()))

    return lay


def sliced(m: Any, a: Any) -> Any:
    return m.from_numpy(np.repeat(a, 2, -1))[..., ::2] if a.ndim else m.from_numpy(a.copy())


def narrowed(m: Any, a: Any) -> Any:
    return m.from_numpy(np.concatenate((a, a), 1))[:, : a.shape[1]] if a.ndim > 1 else sliced(m, a)


def turned_and_sliced(m: Any, a: Any) -> Any:
    return turned(backwards)(m, np.repeat(a, 2, 0))[::2] if a.ndim else m.from_numpy(a.copy())


def stretched(m: Any, a: Any) -> Any:
    return m.from_numpy(a[:1].copy()).expand(*a.shape) if a.ndim and a.shape[0] else m.from_numpy(a.copy())


def stretched_behind(m: Any, a: Any) -> Any:
    return m.from_numpy(a[..., :1].copy()).expand(*a.shape) if a.ndim and a.shape[-1] else m.from_numpy(a.copy())


def backwards(ndim: int) -> tuple[int, ...]:
    return tuple(reversed(range(ndim)))


def rotated(ndim: int) -> tuple[int, ...]:
    return (*range(1, ndim), 0) if ndim else ()


def channels_last(ndim: int) -> tuple[int, ...]:
    return (0, *range(2, ndim), 1) if ndim > 1 else tuple(range(ndim))


LAYOUTS: dict[str, Call] = {
    "contiguous": turned(lambda ndim: tuple(range(ndim))),
    "transposed": turned(backwards),
    "rotated": turned(rotated),
    "channels last": turned(channels_last),
    "sliced": sliced,
    "narrowed": narrowed,
    "turned and sliced": turned_and_sliced,
    "stretched": stretched,
    "stretched behind": stretched_behind,
}


# What is compared ---------------------------------------------------------------------------------------------------


def strides(x: Any) -> tuple[int, ...]:
    """Those that matter. Along axes of length 1, and where there are no elements, PyTorch's follow no rule."""
    return () if 0 in x.shape else tuple(step for step, n in zip(x.stride(), x.shape, strict=True) if n != 1)


def values(x: Any) -> Any:
    return x.detach().numpy()


def same(x: Any, y: Any) -> bool:
    return bool(np.allclose(values(x), values(y), rtol=1e-4, atol=1e-4, equal_nan=True))


def flat(results: Any) -> list[Any]:
    """The tensors of a result."""
    return [x for part in results for x in flat(part)] if isinstance(results, (tuple, list)) else [results]


def can_be_viewed(x: Any) -> bool:
    try:
        x.view(-1)
    except RuntimeError:
        return False
    return True


def written(run: Callable[..., Any], operands: list[Any]) -> list[Any]:
    """Operands and results, after a write through each result as one row."""
    results = flat(run(*operands))
    for x in results:
        x.detach().reshape(-1).zero_()
    return [x for x in (*operands, *results) if hasattr(x, "shape")]


def difference(ours: Callable[..., Any], theirs: Callable[..., Any], make: Callable[[Any], list[Any]]) -> str | None:
    """How a call differs from PyTorch's, on the operands ``make(module)``; None where it does not."""
    operands = make(torch)
    a, b = flat(ours(*make(tg))), flat(theirs(*operands))
    assert len(a) == len(b)
    for x, y in zip(a, b, strict=True):
        assert str(x.dtype) == str(y.dtype).removeprefix("torch.")
        assert tuple(x.shape) == tuple(y.shape)
        assert same(x, y)
        if strides(x) != strides(y):
            return f"strides {x.stride()}, not {y.stride()}"
        if can_be_viewed(x) != can_be_viewed(y):
            return f"view(-1) works here: {can_be_viewed(x)}"
    if any(0 in x.stride() for x in (*operands, *b) if hasattr(x, "stride")):
        return None  # where several elements are one place, nothing is written
    pairs = zip(written(ours, make(tg)), written(theirs, make(torch)), strict=True)
    return None if all(same(x, y) for x, y in pairs) else "a write reaches something else"


# The same calls -----------------------------------------------------------------------------------------------------

RNG = np.random.default_rng(0)
OPERANDS: dict[str, Any] = {  # distinct numbers, so that orderings have one answer
    "matrix": RNG.permutation(12).reshape(3, 4).astype("f4") / 4 - 1,
    "cube": RNG.permutation(24).reshape(2, 3, 4).astype("f4") / 6 - 2,
    "images": RNG.permutation(96).reshape(2, 3, 4, 4).astype("f4") / 20 - 2,
}
TIES = ("median", "topk", "topk, first", "topk, all")  # of equal elements, PyTorch takes any
NO_GRADIENT = ("x // 2", "unique", "from an array", "scatter, multiply", "scatter of nothing")  # in PyTorch
SAME = [(kind, name) for kind, calls in (("matrix", CALLS), ("cube", CALLS), ("images", IMAGES)) for name in calls]
TURNED = {"transposed", "rotated", "channels last", "turned and sliced"}
READ = "NumPy reads by positions into rows; PyTorch lets the other axes follow each other as they did"
# (operand, call): in which layouts strides differ, and why that is let be.
LET_BE: dict[tuple[str, str], tuple[set[str], str]] = {
    ("cube", "x[i]"): ({"transposed", "channels last", "turned and sliced"}, READ),
    ("cube", "x[list]"): ({"transposed", "channels last", "turned and sliced"}, READ),
    ("cube", "x[matrix]"): ({"transposed", "channels last", "turned and sliced"}, READ),
    ("cube", "x[mask of rows]"): ({"transposed", "channels last", "turned and sliced"}, READ),
    ("cube", "x[:, i]"): ({"transposed", "rotated", "turned and sliced"}, READ),
    ("cube", "x[:, matrix]"): ({"transposed", "rotated", "turned and sliced"}, READ),
    ("cube", "x[..., i]"): ({"transposed", "rotated", "turned and sliced"}, READ),
    ("cube", "x[..., i, None]"): ({"transposed", "rotated", "turned and sliced"}, READ),
    ("cube", "normalize"): (
        {"transposed", "rotated", "turned and sliced"},
        "operands disagree in their order: NumPy then answers in rows, PyTorch as the first one lies",
    ),
    ("matrix", "2 ** x"): (
        TURNED - {"channels last"},
        "a look at the operands of each power; nobody asks for such a row",
    ),
    ("cube", "2 ** x"): (TURNED, "as for a matrix"),
    ("matrix", "from an array"): ({"stretched"}, "an array of NumPy that repeats itself: copied as NumPy copies it"),
    ("cube", "from an array"): ({"stretched"}, "as for a matrix"),
    ("images", "interpolate"): ({"channels last"}, "made of products and copies along one axis after the other"),
    ("images", "interpolate between"): ({"channels last"}, "as above"),
    ("images", "stack"): ({"channels last"}, "five axes, of which PyTorch lets the last four be channels last"),
}


def call_of(kind: str, name: str) -> Call:
    return (IMAGES if kind == "images" else CALLS)[name]


@pytest.mark.filterwarnings("ignore:The reduce argument of torch.scatter:UserWarning")
@pytest.mark.parametrize(("kind", "name"), SAME)
def test_results(kind: str, name: str) -> None:
    """In every layout, or differently where the table says so, and only there."""
    call = call_of(kind, name)
    differ = {}
    for layout, lay in LAYOUTS.items():
        if name in TIES and layout.startswith("stretched"):
            continue
        found = difference(lambda x: call(tg, x), lambda x: call(torch, x), lambda m, lay=lay: [lay(m, OPERANDS[kind])])
        if found is not None:
            differ[layout] = found
    assert set(differ) == LET_BE.get((kind, name), (set(), ""))[0], differ


@pytest.mark.filterwarnings(
    "ignore:Using backward.. with create_graph:UserWarning"
)  # PyTorch's, of cycles that it makes
@pytest.mark.parametrize("create", [False, True], ids=["", "recorded"])
@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind, name in SAME if name not in NO_GRADIENT])
def test_gradients(kind: str, name: str, create: bool) -> None:
    """A leaf's .grad lies as the leaf does, and in row-major order where the leaf has gaps."""
    call = call_of(kind, name)
    for layout, lay in LAYOUTS.items():
        if layout.startswith("stretched"):
            continue  # equal elements: ties, and roots of 0
        grads = []
        for m in (tg, torch):
            x = lay(m, OPERANDS[kind]).detach().requires_grad_()
            results = [y for y in flat(call(m, x)) if y.requires_grad]
            if results:
                total = (results[0] * results[0].detach()).sum()
                total.backward(create_graph=create)
            grads.append(x.grad)
        ours, theirs = grads
        assert (ours is None) is (theirs is None)
        if ours is not None:
            assert strides(ours) == strides(theirs), layout
            np.testing.assert_allclose(values(ours), values(theirs), rtol=3e-3, atol=3e-3)


# Every operation ----------------------------------------------------------------------------------------------------

RAW = {
    "as_strided": "its strides count in the memory of the base: see test_strides.py",
    "getitem": "the operation is told by `read` whether it copies: see x[:, i] above",
    "batch_norm_eval": "its twin is a formula, for the sake of gradients: see batch_norm above",
    "dropout": "its twin is a where: see dropout above",
}
ELEMENTWISE = {"binary_cross_entropy", "binary_cross_entropy_with_logits", "isclose"}
# These lie in rows here, where images and kernels are both channels last: PyTorch asks both.
IN_ROWS = (
    "conv1d-", "conv_transpose1d-", "conv2d-one-image", "fused_conv_bias_activation-sequence",
    "fused_conv_bias_activation_of_sum-sequence",
)  # fmt: skip
REGISTERED = [case for case in CASES if case.torch is not None and case.op not in RAW]


def agree(case: Case) -> bool:
    """Whether all operands are arrays of one shape, so that they lie alike in each layout. A power of a number is in
    the table above."""
    return len({np.shape(operand) for operand in case.operands() if np.ndim(operand)}) < 2 and "**" not in case.note


@pytest.mark.parametrize("case", REGISTERED, ids=str)
def test_every_operation(case: Case) -> None:
    """With all operands in a layout, and with one of them; but not where elements meet that lie in different orders:
    NumPy then answers in rows, PyTorch as the first operand lies. To mend that, each sum and product would have to
    look at strides."""
    operands = [o.astype("f4") if is_float(o) else o for o in case.operands()]
    arrays = [i for i, o in enumerate(operands) if isinstance(o, np.ndarray)]
    elementwise = OPS[case.op].broadcasts or case.op in ELEMENTWISE
    choices = [arrays] + ([] if elementwise or len(arrays) < 2 else [arrays[:1], arrays[-1:]])
    for layout, lay in LAYOUTS.items():
        if (elementwise and not agree(case) and layout in TURNED) or (
            layout.startswith("stretched") and not case.expands
        ):
            continue
        for chosen in choices:
            plain = LAYOUTS["contiguous"]

            def make(m: Any, lay: Call = lay, chosen: list[int] = chosen, plain: Call = plain) -> list[Any]:
                return [
                    (lay if i in chosen else plain)(m, o) if isinstance(o, np.ndarray) else o
                    for i, o in enumerate(operands)
                ]

            found = difference(case.run, lambda *xs: case.torch(torch, *xs), make)  # type: ignore[misc]
            if layout == "channels last" and chosen == arrays and str(case).startswith(IN_ROWS):
                assert found is not None
            else:
                assert found is None, (layout, chosen, found)


# No elements, one element -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(0, 3, 4), (2, 3, 0), (2, 0, 4), (1, 1, 1), (1, 3, 1)], ids=str)
@pytest.mark.parametrize(
    "name",
    [
        "clone",
        "contiguous",
        "zeros_like",
        "double",
        "exp",
        "x + x",
        "softmax",
        "sum, first",
        "mean",
        "cumsum",
        "sort",
        "cat",
        "stack",
        "flip",
        "roll",
        "repeat",
        "gather",
        "x @ x.mT",
        "masked_fill",
        "pad",
    ],
)
def test_next_to_nothing(name: str, shape: tuple[int, ...]) -> None:
    """Empty tensors, and those of which axes have length 1: they can be viewed as a row, like PyTorch's."""
    a = -RNG.random(shape).astype("f4")
    for lay in LAYOUTS.values():
        found = difference(
            lambda x: CALLS[name](tg, x), lambda x: CALLS[name](torch, x), lambda m, lay=lay: [lay(m, a)]
        )
        assert found is None, found


@pytest.mark.parametrize("name", ["clone", "contiguous", "zeros_like", "double", "exp", "x + x", "cumsum", "reshape"])
def test_numbers(name: str) -> None:
    """0-d tensors, of which there is but one layout: what is a view is one, what is a copy is one."""
    a = np.float32(0.5)
    assert (
        difference(lambda x: CALLS[name](tg, x), lambda x: CALLS[name](torch, x), lambda m: [m.from_numpy(np.array(a))])
        is None
    )
