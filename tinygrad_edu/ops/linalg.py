"""Products of matrices."""

from __future__ import annotations

from typing import Any

from ..core.dispatch import caller
from ..core.graph import unbroadcast
from ..core.op import Op

# mypy: disable-error-code="override"


class Matmul(Op):
    """``x @ y``: the matrix product, batched over leading axes, which broadcast. Vectors count as in NumPy."""

    dtypes = "equal"
    saves = ("x if y", "y if x", "x.shape", "y.shape")
    into = ("matmul",)

    @staticmethod
    def forward(xp: Any, x: Any, y: Any) -> Any:
        return x @ y

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, x: Any, y: Any, xs: Any, ys: Any) -> Any:
        if len(xs) == 2 and len(ys) == 2:  # the usual case, kept short
            return g @ xp.permute(y, (1, 0)) if needs[0] else None, xp.permute(x, (1, 0)) @ g if needs[1] else None
        xm, ym = (1, *xs) if len(xs) == 1 else xs, (*ys, 1) if len(ys) == 1 else ys  # as matrices
        gm = xp.reshape(g, (*_batch(xs, ys), xm[-2], ym[-1]))
        gx = _fold(xp, gm @ _swap(xp, xp.reshape(y, ym)), xm, xs) if needs[0] else None
        return gx, _fold(xp, _swap(xp, xp.reshape(x, xm)) @ gm, ym, ys) if needs[1] else None

    @staticmethod
    def result_shape(shapes: Any) -> tuple[int, ...] | None:
        x, y = shapes
        return (x[0], y[1]) if len(x) == len(y) == 2 else None

    @staticmethod
    def hint(shapes: Any, params: Any) -> tuple[str, str] | None:
        x, y = shapes
        if not x or not y:
            return "a 0-d tensor has no axis to sum over", "use * for a product with a number"
        inner = x[-1], y[-2] if len(y) > 1 else y[0]
        if inner[0] == inner[1]:
            return None
        why = f"the inner sizes are {inner[0]} and {inner[1]}, and they must be equal"
        if len(x) > 1 and x[-2] == inner[1]:
            return why, "transpose the first: x.mT @ y"
        if len(y) > 1 and y[-1] == inner[0]:
            return why, "transpose the second: x @ y.mT"
        return why, "check which axis of each operand counts the same thing"


def _batch(xs: tuple[int, ...], ys: tuple[int, ...]) -> tuple[int, ...]:
    """The broadcast shape of the leading axes."""
    a, b = xs[:-2], ys[:-2]
    count = max(len(a), len(b))
    a, b = (1,) * (count - len(a)) + a, (1,) * (count - len(b)) + b
    return tuple(n if m == 1 else m for m, n in zip(a, b, strict=True))


def _swap(xp: Any, x: Any) -> Any:
    axes = tuple(range(x.ndim))
    return xp.permute(x, (*axes[:-2], axes[-1], axes[-2]))


def _fold(xp: Any, g: Any, matrix: tuple[int, ...], shape: tuple[int, ...]) -> Any:
    """Sum a batch of matrix gradients to the operand's own batch, then give it the operand's shape."""
    return xp.reshape(unbroadcast(xp, g, matrix), shape)


class Linear(Op):
    """``x @ weight.T + bias`` with ``weight`` (out_features, in_features), as one node."""

    dtypes = "equal"
    saves = ("x if weight", "weight if x", "x.shape")

    @staticmethod
    def forward(xp: Any, x: Any, weight: Any, bias: Any = None) -> Any:
        out = x @ xp.permute(weight, (1, 0))
        if bias is None:
            return out
        out += bias
        return out

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, x: Any, weight: Any, shape: Any) -> Any:
        gx = g @ weight if needs[0] else None
        if len(shape) != 2:
            g = xp.reshape(g, (-1, g.shape[-1]))
            x = xp.reshape(x, (-1, shape[-1])) if x is not None else None
        gw = xp.permute(g, (1, 0)) @ x if needs[1] else None
        return gx, gw, xp.sum(g, 0, False) if needs[2] else None

    @staticmethod
    def hint(shapes: Any, params: Any) -> tuple[str, str] | None:
        x, weight = shapes[:2]
        if x and len(weight) == 2 and x[-1] != weight[1]:
            why = f"the layer takes {weight[1]} features, and the last axis of its input has {x[-1]}"
            return (
                why,
                f"flatten or project the input to (…, {weight[1]}), or make the layer Linear({x[-1]}, {weight[0]})",
            )
        if len(shapes) == 3 and shapes[2] != weight[:1]:
            return f"there are {weight[0]} outputs, and the bias has shape {shapes[2]}", f"make the bias ({weight[0]},)"
        return None


class Einsum(Op):
    """``x`` times ``y``, summed over the letters that the equation leaves out: ``"bij,bjk->bik"``.

    Each operand names a letter once, and names none that only it has and the result has not: see `einsum`.
    """

    dtypes = "equal"
    saves = ("x if y", "y if x", "equation")

    @staticmethod
    def forward(xp: Any, x: Any, y: Any, *, equation: str) -> Any:
        return xp.einsum(equation, x, y)

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, x: Any, y: Any, equation: str) -> Any:
        letters_x, letters_y, letters_out = _letters(equation)
        gx = xp.einsum(f"{letters_out},{letters_y}->{letters_x}", g, y) if needs[0] else None
        gy = xp.einsum(f"{letters_out},{letters_x}->{letters_y}", g, x) if needs[1] else None
        return gx, gy


def _letters(equation: str) -> list[str]:
    """``"ij,jk->ik"`` as ``["ij", "jk", "ik"]``."""
    parts, part = [], ""
    for character in equation:
        if character in ",>":
            parts.append(part)
            part = ""
        elif character != "-":
            part += character
    return [*parts, part]


matmul, linear, einsum_op = caller(Matmul), caller(Linear), caller(Einsum)
