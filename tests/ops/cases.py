"""Every operation with operands to try it on. One list feeds the tests of gradients, dtypes, worlds and peers.

A case names a registered op, makes float64 operands (integers and bools where those are meant) and says how to call
it. `torch` is the same in PyTorch, given its module: values, dtypes and gradients are compared where torch is there.
"""

from __future__ import annotations

import operator
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import tinygrad_edu as tg
from tinygrad_edu.core.op import OPS
from tinygrad_edu.ops import conv, elementwise, index, linalg, loss, movement
from tinygrad_edu.ops import reduce as reductions

Rng = np.random.Generator
Make = Callable[[Rng], Any]


# Operands. Each maker avoids what its ops have no derivative at: a finite difference across a kink proves nothing.


def normal(*shape: int) -> Make:
    """Numbers of either sign."""
    return lambda rng: rng.normal(size=shape)


def positive(*shape: int) -> Make:
    """Numbers from 0.5 to 2."""
    return lambda rng: rng.uniform(0.5, 2.0, shape)


def away(*shape: int) -> Make:
    """Numbers of either sign, at least 0.2 away from 0."""
    return lambda rng: rng.uniform(0.2, 1.5, shape) * rng.choice([-1.0, 1.0], shape)


def distinct(*shape: int) -> Make:
    """Numbers at least 0.1 apart from each other."""
    return lambda rng: (rng.permutation(int(np.prod(shape))) * 0.1 - 0.5).reshape(shape)


def bools(*shape: int) -> Make:
    """Some true, some false."""
    return lambda rng: rng.random(shape) < 0.5


def integers(high: int, *shape: int) -> Make:
    """Integers from 0 up to but without ``high``."""
    return lambda rng: rng.integers(0, high, shape)


def number(value: float) -> Make:
    """A Python number: it stays one, and the other operand's dtype is the result's."""
    return lambda rng: value


@dataclass(frozen=True)
class Case:
    """One op, its operands and its parameters."""

    op: str
    note: str
    makers: tuple[Make, ...]
    params: dict[str, Any] = field(default_factory=dict)
    call: Callable[..., Any] | None = None  # in place of the op's own caller
    torch: Callable[..., Any] | None = None
    expands: bool = True  # may operands hold equal numbers along an axis?
    halves: float = 1.0  # how much worse than usual half precision may be; 0: not at all meant for it

    def __str__(self) -> str:
        return f"{self.op}-{self.note}"

    def operands(self, variant: int = 0) -> tuple[Any, ...]:
        """The operands, arrays and Python numbers: always the same for one variant."""
        rng = np.random.default_rng([zlib.crc32(str(self).encode()), variant])
        made = (make(rng) for make in self.makers)
        return tuple(x if type(x) in (int, float) else np.asarray(x) for x in made)

    def run(self, *tensors: Any) -> Any:
        """The op on tensors."""
        if self.call is not None:
            return self.call(*tensors)
        return CALLERS[self.op](*tensors, **self.params)

    @property
    def differentiable(self) -> bool:
        """Whether a gradient exists."""
        return OPS[self.op].differentiable


CALLERS: dict[str, Callable[..., Any]] = {
    name: getattr(module, name)
    for module in (elementwise, reductions, movement, linalg, index, conv, loss)
    for name in vars(module)
    if name in OPS
} | {"clamp": elementwise.clamp_to, "transfer": movement._transfer}

CASES: list[Case] = []


def case(op: str, note: str, *makers: Make, **rest: Any) -> None:
    """Add a case. Keywords that are fields of `Case` go there, the others are parameters of the op."""
    own = {key: rest.pop(key) for key in ("call", "torch", "expands", "halves") if key in rest}
    CASES.append(Case(op, note, makers, rest, **own))


# Elementwise ------------------------------------------------------------------------------------------------

UNARY: dict[str, tuple[Callable[..., Make], str]] = {
    "neg": (normal, "neg"), "exp": (normal, "exp"), "log": (positive, "log"), "sqrt": (positive, "sqrt"),
    "sin": (normal, "sin"), "cos": (normal, "cos"), "tanh": (normal, "tanh"), "sigmoid": (normal, "sigmoid"),
    "relu": (away, "relu"), "abs": (away, "abs"), "sign": (away, "sign"), "clone": (normal, "clone"),
}  # fmt: skip
for _op, (_make, _name) in UNARY.items():
    for _note, _shape in (("matrix", (3, 4)), ("0-d", ()), ("empty", (0, 3))):
        case(_op, _note, _make(*_shape), torch=lambda torch, x, name=_name: getattr(torch, name)(x))

BINARY: dict[str, tuple[Callable[..., Make], Callable[..., Make], str]] = {
    "add": (normal, normal, "add"), "sub": (normal, normal, "sub"), "mul": (normal, normal, "mul"),
    "div": (normal, positive, "div"), "pow": (positive, normal, "pow"),
}  # fmt: skip
SHAPES = {
    "same": ((3, 4), (3, 4)), "row": ((3, 4), (4,)), "column": ((3, 1), (3, 4)), "both": ((3, 1), (1, 4)),
    "0-d": ((), ()), "0-d-with": ((), (2, 3)), "empty": ((0, 3), (1, 3)), "lead": ((2, 1, 3), (4, 1)),
}  # fmt: skip
for _op, (_left, _right, _name) in BINARY.items():
    for _note, (_x, _y) in SHAPES.items():
        case(_op, _note, _left(*_x), _right(*_y), torch=lambda torch, x, y, name=_name: getattr(torch, name)(x, y))

for _op in ("maximum", "minimum"):
    case(
        _op, "apart", lambda rng: rng.normal(size=(3, 4)), lambda rng: rng.choice([-3.0, 3.0], (3, 4)),
        torch=lambda torch, x, y, name=_op: getattr(torch, name)(x, y),
    )  # fmt: skip
    case(
        _op, "broadcast", lambda rng: rng.normal(size=(3, 1)), lambda rng: rng.choice([-4.0, 4.0], (4,)),
        torch=lambda torch, x, y, name=_op: getattr(torch, name)(x, y),
    )  # fmt: skip
    case(_op, "number", away(3, 4), number(0.1))

for _note, _op, _function, _x, _y in (
    ("x+2", "add", operator.add, positive(2, 3), number(2)),
    ("2-x", "sub", operator.sub, number(2), positive(2, 3)),
    ("x*0.5", "mul", operator.mul, positive(2, 3), number(0.5)),
    ("3/x", "div", operator.truediv, number(3), positive(2, 3)),
    ("x/3", "div", operator.truediv, positive(2, 3), number(3)),
    ("x**2", "pow", operator.pow, normal(2, 3), number(2)),
    ("x**3", "pow", operator.pow, normal(2, 3), number(3)),
    ("x**0", "pow", operator.pow, normal(2, 3), number(0)),
    ("x**-1", "pow", operator.pow, away(2, 3), number(-1)),
    ("x**0.5", "pow", operator.pow, positive(2, 3), number(0.5)),
    ("2**x", "pow", operator.pow, number(2), normal(2, 3)),
    ("0.5**x", "pow", operator.pow, number(0.5), normal(2, 3)),
):
    case(_op, _note, _x, _y, torch=lambda torch, *xs, function=_function: function(*xs))

case("where", "same", bools(3, 4), normal(3, 4), normal(3, 4), torch=lambda torch, *xs: torch.where(*xs))
case("where", "broadcast", bools(4), normal(3, 1), normal(3, 4), torch=lambda torch, *xs: torch.where(*xs))
for _note, _bounds in {"both": (-0.55, 0.45), "low": (-0.55, None), "high": (None, 0.45)}.items():
    case(
        "clamp", _note, distinct(3, 4), min=_bounds[0], max=_bounds[1],
        torch=lambda torch, x, bounds=_bounds: torch.clamp(x, *bounds),
    )  # fmt: skip
case("cast", "to-f8", normal(3, 4), dtype=np.dtype("f8"), torch=lambda torch, x: x.to(torch.float64))
for _op in ("eq", "ne", "lt", "le", "gt", "ge"):
    case(
        _op, "ties", lambda rng: rng.integers(0, 3, (3, 4)) * 1.0, lambda rng: rng.integers(0, 3, (4,)) * 1.0,
        torch=lambda torch, x, y, name=_op: getattr(torch, name)(x, y),
    )  # fmt: skip

# Reductions -------------------------------------------------------------------------------------------------

DIMS = {"all": None, "first": 0, "last": -1, "two": (0, 2)}
for _op in ("sum", "mean", "logsumexp", "amax", "amin"):
    for _note, _dim in DIMS.items():
        for _keep in (False, True):
            _axes = tuple(range(3)) if _dim is None else _dim
            case(
                _op, f"{_note}{'-keep' * _keep}", distinct(2, 3, 2),
                dim=_axes if _op == "logsumexp" else _dim, keepdim=_keep,
                torch=lambda torch, x, name=_op, dim=_axes, keep=_keep: getattr(torch, name)(x, dim=dim, keepdim=keep),
                expands=_op not in ("amax", "amin"),
            )  # fmt: skip
for _op in ("sum", "mean", "amax", "logsumexp"):
    case(_op, "0-d", normal(), dim=() if _op == "logsumexp" else None)
case("sum", "empty", normal(0, 3), dim=0, torch=lambda torch, x: torch.sum(x, 0))
case("mean", "empty-rest", normal(2, 0), dim=0, torch=lambda torch, x: torch.mean(x, 0))
case("argmax", "all", distinct(3, 4), torch=lambda torch, x: torch.argmax(x), dim=None)
case("argmax", "keep", distinct(3, 4), torch=lambda torch, x: torch.argmax(x, 1, keepdim=True), dim=1, keepdim=True)
for _op in ("softmax", "log_softmax"):
    for _dim in (0, -1):
        case(_op, f"dim{_dim}", normal(3, 4), dim=_dim, torch=lambda torch, x, n=_op, d=_dim: getattr(torch, n)(x, d))

# Movement ---------------------------------------------------------------------------------------------------

case("reshape", "merge", normal(2, 3, 2), shape=(4, 3), torch=lambda torch, x: x.reshape(4, 3))
case("reshape", "guess", normal(2, 6), shape=(3, -1), torch=lambda torch, x: x.reshape(3, -1))
case("reshape", "from-0-d", normal(), shape=(1, 1), torch=lambda torch, x: x.reshape(1, 1))
case("reshape", "empty", normal(0, 3), shape=(3, 0), torch=lambda torch, x: x.reshape(3, 0))
case("permute", "rotate", normal(2, 3, 4), dims=(2, 0, 1), torch=lambda torch, x: x.permute(2, 0, 1))
case("permute", "negative", normal(2, 3, 4), dims=(-1, 1, 0), torch=lambda torch, x: x.permute(-1, 1, 0))
case("expand", "stretch", normal(3, 1), shape=(2, 3, 4), torch=lambda torch, x: x.expand(2, 3, 4))
case("expand", "same", normal(3, 2), shape=(3, 2), torch=lambda torch, x: x.expand(3, 2))
case("expand", "0-d", normal(), shape=(2, 2), torch=lambda torch, x: x.expand(2, 2))
case("cat", "rows", normal(2, 3), normal(1, 3), dim=0, torch=lambda torch, *xs: torch.cat(xs))
case("cat", "columns", normal(2, 3), normal(2, 1), normal(2, 0), dim=-1, torch=lambda torch, *xs: torch.cat(xs, -1))
case("transfer", "stay", normal(2, 3), home="cpu", device="cpu")

# Products ---------------------------------------------------------------------------------------------------

MATRICES = {
    "matrices": ((2, 3), (3, 4)), "batched": ((2, 2, 3), (2, 3, 2)), "broadcast": ((2, 1, 2, 3), (3, 3, 2)),
    "matrix-batch": ((2, 3), (4, 3, 2)), "dot": ((3,), (3,)), "matrix-vector": ((2, 3), (3,)),
    "vector-matrix": ((3,), (3, 2)), "batch-vector": ((2, 2, 3), (3,)), "vector-batch": ((3,), (2, 3, 2)),
    "empty": ((0, 3), (3, 2)), "inner-empty": ((2, 0), (0, 3)),
}  # fmt: skip
for _note, (_x, _y) in MATRICES.items():
    case("matmul", _note, normal(*_x), normal(*_y), torch=lambda torch, x, y: torch.matmul(x, y))
for _note, _x in {"rows": (4, 3), "vector": (3,), "batch": (2, 2, 3), "empty": (0, 3)}.items():
    case(
        "linear", _note, normal(*_x), normal(2, 3), normal(2),
        torch=lambda torch, *xs: torch.nn.functional.linear(*xs),
    )  # fmt: skip
case("linear", "no-bias", normal(4, 3), normal(2, 3), torch=lambda torch, *xs: torch.nn.functional.linear(*xs))

# Indexing ---------------------------------------------------------------------------------------------------


def _torch_index(torch: Any, index: Any) -> Any:
    return tuple(torch.from_numpy(part) if isinstance(part, np.ndarray) else part for part in index)


_POINTS = np.array([2, 0, 2])  # twice the same place: its gradients add
for _note, _index in {
    "slice": (slice(1, 3),), "step": (slice(None), slice(3, None, -2)), "int": (1,), "ellipsis": (..., 0),
    "none": (None, slice(0, 2)), "element": (1, 2, ...), "repeated": (_POINTS,),
    "pairs": (_POINTS, np.array([1, 3, 1])), "mixed": (slice(None), _POINTS),
    "mask": (np.arange(12).reshape(3, 4) % 5 > 1,),
}.items():  # fmt: skip
    case(
        "getitem", _note, normal(3, 4), index=_index,
        torch=None if _note == "step" else lambda torch, x, i=_index: x[_torch_index(torch, i)],
    )  # fmt: skip
case("scatter_add_at", "repeated", normal(3, 4), shape=(5, 4), index=(np.array([0, 4, 0]),))
case("scatter_add_at", "slice", normal(2, 4), shape=(3, 4), index=(slice(1, 3),))
case("put", "slice", normal(3, 4), normal(2, 4), index=(slice(1, 3),))
case("put", "broadcast", normal(3, 4), normal(1, 1), index=(slice(0, 2),))
case("put", "points", normal(3, 4), normal(2), index=(np.array([0, 2]), np.array([1, 3])))
case(
    "take_along_dim", "columns", normal(3, 4), integers(4, 3, 2), dim=1,
    torch=lambda torch, x, i: torch.take_along_dim(x, i, 1),
)  # fmt: skip
case(
    "take_along_dim", "repeated", normal(3, 4), lambda rng: np.zeros((5, 4), "i8"), dim=0,
    torch=lambda torch, x, i: torch.take_along_dim(x, i, 0),
)  # fmt: skip
_CHAIN = ((movement.Permute, {"dims": (1, 0)}), (index.GetItem, {"index": (slice(1, 3),)}))


def _seen_after_write(x: Any) -> Any:
    base = x.clone()
    view = base.permute(1, 0)[1:3]
    base.mul_(2.0)
    return view


def _written_through_view(x: Any, value: Any) -> Any:
    base = x.clone()
    base.permute(1, 0)[1:3].mul_(value)
    return base


case("view", "chain", normal(3, 4), shape=(3, 4), chain=_CHAIN, call=_seen_after_write)
case("write_view", "chain", normal(3, 4), normal(2, 3), chain=_CHAIN, call=_written_through_view)

# Windows ----------------------------------------------------------------------------------------------------

IMAGES = {
    "plain": {"stride": (1, 1), "padding": (0, 0)},
    "padded": {"stride": (1, 1), "padding": (1, 1)},
    "stride": {"stride": (2, 1), "padding": (0, 1)},
    "leftover": {"stride": (3, 3), "padding": (0, 0)},  # the last columns are read by no window
}
for _note, _how in IMAGES.items():
    case("im2col", _note, normal(2, 2, 5, 4), kernel=(2, 3), **_how)
    case(
        "conv2d", _note, normal(2, 2, 5, 4), normal(3, 2, 2, 3), normal(3), **_how,
        torch=lambda torch, *xs, how=_how: torch.nn.functional.conv2d(*xs, **how), halves=2.0,
    )  # fmt: skip
    if _note != "padded":
        case(
            "max_pool2d", _note, distinct(2, 2, 5, 4), kernel=(2, 3), stride=_how["stride"], padding=_how["padding"],
            torch=lambda torch, x, how=_how: torch.nn.functional.max_pool2d(x, (2, 3), **how), expands=False,
        )  # fmt: skip
case(
    "conv2d", "no-bias", normal(1, 1, 3, 3), normal(1, 1, 2, 2),
    torch=lambda torch, *xs: torch.nn.functional.conv2d(*xs),
)  # fmt: skip
case("col2im", "overlap", normal(1, 2, 2, 2, 3, 2), shape=(1, 2, 4, 3), stride=(1, 1), padding=(0, 0))
case("col2im", "padded", normal(1, 1, 2, 2, 2, 2), shape=(1, 1, 2, 2), stride=(2, 2), padding=(1, 1))

# Losses -----------------------------------------------------------------------------------------------------

case(
    "softmax_cross_entropy", "rows", normal(4, 3), integers(3, 4),
    torch=lambda torch, s, t: torch.nn.functional.cross_entropy(s, t, reduction="none"),
)  # fmt: skip


# Layouts: the same numbers, differently laid out in memory ---------------------------------------------------

Array = np.ndarray[Any, Any]


def permuted(a: Array) -> Array:
    """Column-major."""
    return np.asfortranarray(a) if a.ndim > 1 else a.copy()


def strided(a: Array) -> Array:
    """Every other element of a larger buffer, and the last axis backwards."""
    if not a.ndim:
        return np.stack([a, a + 1])[0:1].reshape(())
    room = np.full((*a.shape[:-1], 2 * a.shape[-1]), 7).astype(a.dtype)
    view = room[..., ::-2]
    view[...] = a
    return view


LAYOUTS: dict[str, Callable[[Any], Any]] = {"contiguous": np.array, "permuted": permuted, "strided": strided}


def expanded(a: Array) -> Array:
    """The first row over and over: stride 0."""
    return np.broadcast_to(a[:1], a.shape) if a.ndim and a.shape[0] else a


def is_float(operand: Any) -> bool:
    """Whether an operand is an array that wants a gradient."""
    return hasattr(operand, "dtype") and operand.dtype.kind in "fV"


def each(change: Callable[[Any], Any], operands: tuple[Any, ...]) -> tuple[Any, ...]:
    """The operands with the float arrays among them changed."""
    return tuple(change(o) if is_float(o) else o for o in operands)


def leaf(operand: Any, requires_grad: bool = True) -> Any:
    """A tensor that looks at the array itself, layout and all; a Python number stays one."""
    if type(operand) in (int, float):
        return operand
    result = tg.from_numpy(np.asarray(operand))
    return result.requires_grad_() if requires_grad and is_float(operand) else result
