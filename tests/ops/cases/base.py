"""What a case is, operands to make cases of, and the list that they go to.

A case names a registered op, makes float64 operands (integers and bools where those are meant) and says how to call
it. `torch` is the same in PyTorch, given its module: values, dtypes and gradients are compared where torch is there.
"""

from __future__ import annotations

import importlib
import pkgutil
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import tinygrad_edu as tg
from tinygrad_edu import ops
from tinygrad_edu.core.op import OPS

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


CALLERS: dict[str, Callable[..., Any]] = {}
for _file in pkgutil.iter_modules(ops.__path__):
    if _file.name in ("inplace", "out"):  # other faces of the same ops
        continue
    for _name, _value in vars(importlib.import_module(f"{ops.__name__}.{_file.name}")).items():
        if _name in OPS:
            CALLERS.setdefault(_name, _value)
        elif _name.endswith("_op"):  # the op's own caller, where a public function has its name
            CALLERS[_name.removesuffix("_op")] = _value
CALLERS["transfer"] = importlib.import_module(f"{ops.__name__}.movement")._transfer

CASES: list[Case] = []


def case(op: str, note: str, *makers: Make, **rest: Any) -> None:
    """Add a case. Keywords that are fields of `Case` go there, the others are parameters of the op."""
    own = {key: rest.pop(key) for key in ("call", "torch", "expands", "halves") if key in rest}
    CASES.append(Case(op, note, makers, rest, **own))


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
