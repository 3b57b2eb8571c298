"""Arrays that are not NumPy arrays, although NumPy computes their values: recordings, and devices that are made up.

The operators are written here, once. Each world defines what an operator does there, and nothing slips past it, because
a proxy takes part in none of NumPy's protocols.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from operator import attrgetter
from typing import Any, NoReturn

import numpy as np

from .products import matmul

OPERATORS: dict[str, Callable[..., Any]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv, "pow": operator.pow,
    "floordiv": operator.floordiv, "mod": operator.mod, "and": operator.and_, "or": operator.or_, "xor": operator.xor,
    "neg": operator.neg, "invert": operator.invert, "matmul": matmul, "eq": operator.eq, "ne": operator.ne,
    "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge, "getitem": operator.getitem,
}  # fmt: skip
UPDATES: dict[str, Callable[..., Any]] = {
    "add": operator.iadd, "sub": operator.isub, "mul": operator.imul, "div": operator.itruediv,
    "setitem": operator.setitem,
}  # fmt: skip


def _binary(name: str) -> Any:
    return lambda self, other: self.operate(name, self, other)


def _reflected(name: str) -> Any:
    return lambda self, other: self.operate(name, other, self)


def _update(name: str) -> Any:
    return lambda self, other: self.update(name, other)


class ProxyArray:
    """Base of such arrays, around the NumPy array that holds the elements.

    A world fills in `operate` and `update`, and may explain in `refuse` why a value cannot be looked at.
    """

    __slots__ = ("__weakref__", "values")
    __array_ufunc__ = None  # ndarray + proxy asks the proxy
    __hash__ = object.__hash__
    base: Any = None  # the array that owns the memory, where this one only looks at it

    def __init__(self, values: Any) -> None:
        self.values = values

    def operate(self, name: str, *operands: Any) -> Any:
        """The result of the operator called ``name`` in `OPERATORS`, as a new array of this world."""
        raise NotImplementedError

    def update(self, name: str, *operands: Any) -> Any:
        """Do the update called ``name`` in `UPDATES`, in this array's own memory. Returns the array."""
        raise NotImplementedError

    def refuse(self, what: str) -> NoReturn:
        """Say why the host cannot have ``what``."""
        raise TypeError(f"{what} does not come to the host by itself: use to_numpy")

    shape = property(attrgetter("values.shape"), doc="The length of each axis.")
    dtype = property(attrgetter("values.dtype"), doc="The dtype of the elements.")
    ndim = property(attrgetter("values.ndim"), doc="The number of axes.")
    size = property(attrgetter("values.size"), doc="The number of elements.")
    nbytes = property(attrgetter("values.nbytes"), doc="The bytes that the elements take.")
    strides = property(attrgetter("values.strides"), doc="Bytes between neighbours along each axis.")
    flags = property(attrgetter("values.flags"), doc="How the elements lie in memory.")

    __add__, __sub__, __mul__, __truediv__ = _binary("add"), _binary("sub"), _binary("mul"), _binary("div")
    __radd__, __rsub__, __rmul__ = _reflected("add"), _reflected("sub"), _reflected("mul")
    __rtruediv__, __pow__, __rpow__ = _reflected("div"), _binary("pow"), _reflected("pow")
    __matmul__, __rmatmul__ = _binary("matmul"), _reflected("matmul")
    __floordiv__, __rfloordiv__ = _binary("floordiv"), _reflected("floordiv")
    __mod__, __rmod__ = _binary("mod"), _reflected("mod")
    __and__, __or__, __xor__ = _binary("and"), _binary("or"), _binary("xor")
    __rand__, __ror__, __rxor__ = _reflected("and"), _reflected("or"), _reflected("xor")
    __eq__, __ne__, __lt__ = _binary("eq"), _binary("ne"), _binary("lt")
    __le__, __gt__, __ge__, __getitem__ = _binary("le"), _binary("gt"), _binary("ge"), _binary("getitem")
    __iadd__, __isub__, __imul__, __itruediv__ = _update("add"), _update("sub"), _update("mul"), _update("div")

    def __neg__(self) -> Any:
        return self.operate("neg", self)

    def __invert__(self) -> Any:
        return self.operate("invert", self)

    def __setitem__(self, index: Any, values: Any) -> None:
        self.update("setitem", index, values)

    def __bool__(self) -> bool:  # noqa: PLE0304  (it always raises)
        self.refuse("the truth of an array")

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        self.refuse("an array")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.values!r})"


def proxies(tree: Any) -> list[Any]:
    """The proxies among arguments, inside tuples and lists too."""
    if isinstance(tree, ProxyArray):
        return [tree]
    if not isinstance(tree, (tuple, list)):
        return []
    found: list[Any] = []
    for item in tree:  # written out: this is asked for each operation that is recorded
        if isinstance(item, ProxyArray):
            found.append(item)
        elif isinstance(item, (tuple, list)):
            found += proxies(item)
    return found


def unwrap(tree: Any, part: Callable[[Any], Any], other: Callable[[Any], Any] = lambda value: value) -> Any:
    """Arguments with ``part(p)`` in place of each proxy, and ``other(value)`` in place of anything else."""
    if isinstance(tree, ProxyArray):
        return part(tree)
    if type(tree) in (tuple, list):
        return tuple([part(item) if isinstance(item, ProxyArray) else unwrap(item, part, other) for item in tree])
    if isinstance(tree, slice):
        return slice(*(unwrap(one, part, other) for one in (tree.start, tree.stop, tree.step)))
    return other(tree)


def host_values(value: Any) -> Any:
    """The NumPy values of an operand. Host arrays are refused: nothing is moved behind the user's back."""
    if isinstance(value, (np.ndarray, np.generic)):
        raise TypeError(f"an array {value.shape} {value.dtype} of the host, where one of the device is wanted")
    return value
