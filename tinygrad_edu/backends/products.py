"""Products of matrices in NumPy, and einsum of two operands as a batch of such products, as in PyTorch."""

# No `from __future__ import annotations` here: NamedTuple compiles annotations that are text, a millisecond of import.
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from .layout import Sizes, how_many

Array = Any


def matmul(x: Array, y: Array) -> Array:
    """``x @ y``."""
    if type(x) is type(y) is np.ndarray and y.ndim == 2:  # `dot` takes half the time where they are small
        if x.ndim == 2:
            return x.dot(y)
        if x.ndim > 2 and x.size:  # one product in place of many
            return x.reshape(-1, x.shape[-1]).dot(y).reshape(*x.shape[:-1], y.shape[1])
    return x @ y


class _Plan(NamedTuple):
    """Where the axes go. Letters are of the batch (in both operands and the result), rows (in the first operand and
    the result), columns (in the second and the result), or added up (in both operands alone)."""

    turned: bool  # the second operand comes first: the result then lies in the order asked for
    first: Sizes  # its axes as batch, rows, added
    second: Sizes  # batch, added, columns
    batch: int
    rows: int
    columns: int
    added: int
    back: Sizes  # from batch, rows, columns to the order asked for
    stretched: tuple[Any, ...]  # an index for each operand that gives it an axis for every letter of the result


def einsum(equation: str, x: Array, y: Array) -> Array:
    """``x`` times ``y``, by an equation as `Namespace` describes it."""
    plan = _plan(equation)
    if plan.turned:
        x, y = y, x
    x, y = x.transpose(plan.first), y.transpose(plan.second)
    if not plan.added:
        return x[plan.stretched[0]] * y[plan.stretched[1]]
    batch, rows = x.shape[: plan.batch], x.shape[plan.batch : plan.batch + plan.rows]
    columns = y.shape[y.ndim - plan.columns :]
    many, added = how_many(batch), how_many(x.shape[plan.batch + plan.rows :])
    matrices = _for_blas(x.reshape(many, how_many(rows), added))
    product = np.matmul(matrices, _for_blas(y.reshape(many, added, how_many(columns))))
    return product.reshape((*batch, *rows, *columns)).transpose(plan.back)


@lru_cache(maxsize=512)
def _plan(equation: str) -> _Plan:
    operands, _, out = equation.partition("->")
    a, b = operands.split(",")
    turned = next((c in b for c in out if (c in a) != (c in b)), False)
    if turned:
        a, b = b, a
    batch, rows = [c for c in out if c in a and c in b], [c for c in out if c not in b]
    columns, added = [c for c in out if c not in a], [c for c in a if c not in out]
    if added:
        first, second = batch + rows + added, batch + added + columns
    else:
        first, second = [c for c in out if c in a], [c for c in out if c in b]
    return _Plan(
        turned,
        tuple(a.index(c) for c in first),
        tuple(b.index(c) for c in second),
        len(batch),
        len(rows),
        len(columns),
        len(added),
        tuple((batch + rows + columns).index(c) for c in out),
        tuple(tuple(slice(None) if c in given else None for c in out) for given in (a, b)),
    )


def _for_blas(x: Array) -> Array:
    """Matrices whose rows or columns have no gaps: NumPy multiplies others without BLAS."""
    return x if x.itemsize in x.strides[1:] else np.ascontiguousarray(x)
