"""Products of several matrices."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from ..errors import ShapeError
from ..inputs.arguments import whole
from ..inputs.kinds import explain_all
from ..ops.movement import several
from ..ops.out import with_out
from .equations import inv
from .matrices import eye, shown, square


@with_out
def matrix_power(A: Any, n: int) -> Any:
    """The ``n``-th power of each square matrix; of its inverse if ``n`` is negative; the identity if ``n`` is 0.

    Raises `LinAlgError` for a negative power of a singular matrix.
    """
    x = square("matrix_power", A)
    left = whole(f"linalg.matrix_power of {shown(x)}", "n", n)
    if left == 0:
        return x.clone().copy_(eye(x.shape[-1], x))
    if left < 0:
        x, left = inv(x), -left
    found = None
    while True:  # A ** 13 is A ** 8 @ A ** 4 @ A: each step squares, and the binary digits of n say which to multiply
        if left & 1:
            found = x if found is None else found @ x
        left >>= 1
        if not left:
            return found if n != 1 else x.clone()
        x = x @ x


@with_out
def multi_dot(tensors: Any) -> Any:
    """The product of two or more matrices, in the order of multiplication that takes the fewest steps.

    The first may be a vector, which counts as a row, and so may the last, as a column. Raises `ShapeError` where inner
    sizes differ.

    >>> import tinygrad_edu as tg
    >>> tg.linalg.multi_dot([tg.ones(2, 3), tg.ones(3, 4), tg.ones(4)])
    tensor([12., 12.])
    """
    parts = several("multi_dot", tensors)
    tried = f"linalg.multi_dot of {shown(*parts)}"
    if len(parts) < 2:
        raise ShapeError(tried, "one matrix is not a product", "pass at least two")
    for i, x in enumerate(parts):
        if x.ndim != 2 and not (x.ndim == 1 and i in (0, len(parts) - 1)):
            why = f"number {i} has {x.ndim} axes; matrices have two, and only the first and the last may be vectors"
            raise ShapeError(tried, why, "use @ for batches of matrices")
    row, column = parts[0].ndim == 1, parts[-1].ndim == 1
    if row:
        parts[0] = parts[0].unsqueeze(0)
    if column:
        parts[-1] = parts[-1].unsqueeze(-1)
    for x, y in pairwise(parts):
        if x.shape[1] != y.shape[0]:
            why = f"the inner sizes {x.shape[1]} and {y.shape[0]} must be equal"
            raise ShapeError(tried, why, "check the order of the matrices, or transpose one: x.mT")
    found = _product(parts, _splits([parts[0].shape[0], *(x.shape[1] for x in parts)]), 0, len(parts) - 1)
    if row:
        found = found.squeeze(0)
    return found.squeeze(-1) if column else found


def _splits(sizes: list[int]) -> dict[tuple[int, int], int]:
    """For each stretch of the chain, after which matrix to cut it in two, so that all products take the fewest steps.

    T. Cormen et al., *Introduction to Algorithms*: matrix-chain multiplication.
    """
    count = len(sizes) - 1
    cost = {(i, i): 0 for i in range(count)}
    cut: dict[tuple[int, int], int] = {}
    for length in range(1, count):
        for i in range(count - length):
            j = i + length
            steps = {k: cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1] for k in range(i, j)}
            cut[i, j] = min(steps, key=steps.__getitem__)
            cost[i, j] = steps[cut[i, j]]
    return cut


def _product(parts: list[Any], cut: dict[tuple[int, int], int], i: int, j: int) -> Any:
    if i == j:
        return parts[i]
    k = cut[i, j]
    return _product(parts, cut, i, k) @ _product(parts, cut, k + 1, j)


explain_all(globals())
