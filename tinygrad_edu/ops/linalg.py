"""Products of matrices."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, ClassVar

from ..backends.layout import how_many
from ..core.dispatch import caller
from ..core.graph import unbroadcast
from ..core.op import Op
from ..core.slow import offered
from ..errors import ArgumentError, DtypeError, ShapeError
from ..inputs.arguments import as_tensor
from ..inputs.kinds import explain_all
from .arithmetic import add_op, factor, mul
from .movement import permute_op, reshape_op
from .parts import diagonal_op
from .reduce import norm, sum_op

# mypy: disable-error-code="override"

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


class Matmul(Op):
    """``x @ y``: the matrix product, batched over leading axes, which broadcast.

    A vector counts as a row on the left and as a column on the right, and the result lacks that axis. Raises
    `ShapeError` where the inner sizes differ or an operand has no axis, `DtypeError` where the dtypes differ.

    >>> import tinygrad_edu as tg
    >>> tg.matmul(tg.ones(2, 3), tg.tensor([1.0, 2.0, 3.0]))
    tensor([6., 6.])
    """

    dtypes = "equal"
    saves = ("x if y", "y if x", "x.shape", "y.shape")
    into = ("matmul",)

    @staticmethod
    def forward(xp: Any, x: Any, y: Any) -> Any:
        out = xp.matmul(x, y)
        return out if out.ndim < 4 else xp.contiguous(out)  # NumPy keeps the order of several leading axes

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, x: Any, y: Any, xs: Any, ys: Any) -> Any:
        if len(xs) == 2 and len(ys) == 2:  # the usual case, kept short
            gx = xp.matmul(g, xp.permute(y, (1, 0))) if needs[0] else None
            return gx, xp.matmul(xp.permute(x, (1, 0)), g) if needs[1] else None
        xm, ym = (1, *xs) if len(xs) == 1 else xs, (*ys, 1) if len(ys) == 1 else ys  # as matrices
        gm = xp.reshape(g, (*_batch(xs, ys), xm[-2], ym[-1]))
        gx = _fold(xp, xp.matmul(gm, _swap(xp, xp.reshape(y, ym))), xm, xs) if needs[0] else None
        return gx, _fold(xp, xp.matmul(_swap(xp, xp.reshape(x, xm)), gm), ym, ys) if needs[1] else None

    @staticmethod
    def result_shape(shapes: Any) -> tuple[int, ...] | None:
        x, y = shapes
        return (x[0], y[1]) if len(x) == len(y) == 2 else None

    @staticmethod
    def hint(shapes: Any, params: Any) -> tuple[str, str] | None:
        x, y = shapes if len(shapes) == 2 else ((), ())
        if not x or not y:
            return "a 0-d tensor has no axis to sum over", "use * for a product with a number"
        inner = x[-1], y[-2] if len(y) > 1 else y[0]
        if inner[0] == inner[1]:
            why = f"the leading axes are {x[:-2]} and {y[:-2]}, and only a 1 can be stretched"
            return why, "check which of the leading axes count the same thing"
        why = f"the inner sizes are {inner[0]} and {inner[1]}, but they must be equal"
        if len(x) > 1 and x[-2] == inner[1]:
            return why, "transpose the first: x.mT @ y"
        if len(y) > 1 and y[-1] == inner[0]:
            return why, "transpose the second: x @ y.mT"
        return why, "check which axis of each operand counts the same thing"

    @classmethod
    def flops(cls, shapes: Any, out: Any, params: Any) -> int:
        inner = shapes[0][-1]  # each element of the result is a sum of so many products
        return 2 * how_many(out) * inner


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
    saves: ClassVar[tuple[str, ...]] = ("x if weight", "weight if x", "x.shape")

    @staticmethod
    def forward(xp: Any, x: Any, weight: Any, bias: Any = None) -> Any:
        out = xp.matmul(x, xp.permute(weight, (1, 0)))
        if bias is not None:
            out += bias
        return out if out.ndim < 4 else xp.contiguous(out)

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, x: Any, weight: Any, shape: Any) -> Any:
        return gradients_of_linear(xp, g, needs, x, weight, shape)

    @staticmethod
    def hint(shapes: Any, params: Any) -> tuple[str, str] | None:
        if len(shapes) < 2:
            return "x and weight must be tensors, but one of them is a number", "make a tensor of it: tensor([…])"
        x, weight = shapes[:2]
        if x and len(weight) == 2 and x[-1] != weight[1]:
            why = f"the layer takes {weight[1]} features, but the last axis of its input has {x[-1]}"
            return (
                why,
                f"flatten or project the input to (…, {weight[1]}), or make the layer Linear({x[-1]}, {weight[0]})",
            )
        if len(shapes) == 3 and shapes[2] != weight[:1]:
            return f"there are {weight[0]} outputs, but the bias has shape {shapes[2]}", f"make the bias ({weight[0]},)"
        return None

    @classmethod
    def flops(cls, shapes: Any, out: Any, params: Any) -> int:
        return how_many(out) * (2 * shapes[0][-1] + (len(shapes) > 2 and shapes[2] != ()))


def gradients_of_linear(xp: Any, g: Any, needs: Any, x: Any, weight: Any, shape: Any) -> Any:
    """Those of x, which had ``shape``, of weight and of bias, from that of ``x @ weight.T + bias``."""
    gx = xp.matmul(g, weight) if needs[0] else None
    if len(shape) != 2:
        g = xp.reshape(g, (-1, g.shape[-1]))
        x = xp.reshape(x, (-1, shape[-1])) if x is not None else None
    gw = xp.matmul(xp.permute(g, (1, 0)), x) if needs[1] else None
    return gx, gw, xp.sum(g, 0, False) if needs[2] else None


class Einsum(Op):
    """``x`` times ``y``, summed over the letters that the equation leaves out: ``"bij,bjk->bik"``.

    Each operand names a letter at most once, and every letter is in the other operand or the result: see `einsum`.
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

    @classmethod
    def flops(cls, shapes: Any, out: Any, params: Any) -> int:
        lengths = {letter: n for term, shape in zip(params["equation"].split("->")[0].split(","), shapes, strict=True)
                   for letter, n in zip(term, shape, strict=True)}  # fmt: skip
        return 2 * how_many(tuple(lengths.values()))


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


matmul: Any = caller(Matmul)
linear, einsum_op = caller(Linear), caller(Einsum)


def mm(input: Any, mat2: Any) -> Any:
    """The product of two matrices: (n, m) times (m, p) is (n, p). Raises `ShapeError` for other numbers of axes."""
    return matmul(*_with_axes("mm", input, mat2, 2, 2))


def bmm(input: Any, mat2: Any) -> Any:
    """The products of two batches of matrices: (b, n, m) times (b, m, p) is (b, n, p).

    Raises `ShapeError` for other numbers of axes, and for batches of two sizes: `matmul` stretches them.
    """
    x, mat2 = _with_axes("bmm", input, mat2, 3, 3)
    if x.shape[0] != mat2.shape[0]:
        why = f"there are {x.shape[0]} matrices in one batch and {mat2.shape[0]} in the other"
        raise ShapeError(_tried("bmm", x, mat2), why, "use matmul(), which stretches a batch of 1")
    return matmul(x, mat2)


def mv(input: Any, vec: Any) -> Any:
    """A matrix times a vector: (n, m) times (m,) is (n,). Raises `ShapeError` for other numbers of axes."""
    return matmul(*_with_axes("mv", input, vec, 2, 1))


def dot(input: Any, tensor: Any) -> Any:
    """The product of two vectors of one length: a single number. Raises `ShapeError` for other shapes."""
    return matmul(*_with_axes("dot", input, tensor, 1, 1))


def outer(input: Any, vec2: Any) -> Any:
    """Each element of a vector times each of another: (n,) and (m,) give (n, m). Raises `ShapeError` for other axes."""
    x, vec2 = _with_axes("outer", input, vec2, 1, 1)
    return mul(reshape_op(x, shape=(*x.shape, 1)), vec2)


def addmm(input: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """``beta * input + alpha * (mat1 @ mat2)``, with the input stretched to the shape of the product.

    With ``beta=0`` the input is left out, even where it is nan. Raises `ShapeError` for operands that are not matrices
    and for an input that cannot be stretched to that shape, `DtypeError` for dtypes that differ.
    """
    mat1, mat2 = _with_axes("addmm", mat1, mat2, 2, 2)
    return _joined("addmm", as_tensor(input), matmul(mat1, mat2), beta, alpha)


def baddbmm(input: Any, batch1: Any, batch2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """``beta * input + alpha * bmm(batch1, batch2)``, with input stretched to (b, n, p), the shape of the products.

    Otherwise as `addmm`, for batches of matrices.
    """
    return _joined("baddbmm", as_tensor(input), bmm(batch1, batch2), beta, alpha)


def _joined(name: str, x: Any, product: Any, beta: Any, alpha: Any) -> Any:
    """``beta * x + alpha * product``."""
    tried = f"{name} of {tuple(x.shape)} {x.dtype} and a product {tuple(product.shape)} {product.dtype}"
    sizes = zip(reversed(x.shape), reversed(product.shape), strict=False)
    if x.ndim > product.ndim or any(size not in (1, wanted) for size, wanted in sizes):
        why, mend = "what is added can only be stretched to the shape of the product", "check its axes, or use + and @"
        raise ShapeError(tried, why, mend)
    if x.dtype != product.dtype:
        why, mend = "what is added to a product must have its dtype", f"convert it first: x.to('{product.dtype}')"
        raise DtypeError(tried, why, mend)
    if alpha != 1:
        product = mul(product, factor(name, "alpha", alpha, product))
    if beta == 0:
        return product
    return add_op(x if beta == 1 else mul(x, factor(name, "beta", beta, x)), product)


def _with_axes(name: str, x: Any, y: Any, x_axes: int, y_axes: int) -> tuple[Any, Any]:
    """Both as tensors. Raises `ShapeError` unless they have so many axes."""
    x, y = as_tensor(x), as_tensor(y)
    if (x.ndim, y.ndim) != (x_axes, y_axes):
        kind = {1: "a vector", 2: "a matrix", 3: "a batch of matrices"}
        why = f"it takes {kind[x_axes]} and {kind[y_axes]}: {x_axes} and {y_axes} axes, not {x.ndim} and {y.ndim}"
        mend = "multiply by broadcasting: x.unsqueeze(-1) * y" if name == "outer" else "use matmul() for other axes"
        raise ShapeError(_tried(name, x, y), why, mend)
    return x, y


def _tried(name: str, *operands: Any) -> str:
    return f"{name} of {' and '.join(f'{tuple(x.shape)} {x.dtype}' for x in operands) or 'nothing'}"


# Einsum: what goes beyond one product of two operands, in terms of other operations -----------------------------


def einsum(equation: Any, *operands: Any) -> Any:
    """Products of elements, summed over all letters that the result does not name: ``einsum("ij,jk->ik", x, y)``.

    Each letter names an axis of the same length everywhere, or of length 1, which is stretched. A letter twice in one
    operand takes the diagonal. ``...`` stands for axes without a name, counted from the right. Without ``->`` the
    result has the letters that occur once, in alphabetical order, after those of ``...``. Operands may come in a list;
    they are multiplied from left to right. Numbers may name axes too: ``einsum(x, [0, 1], y, [1, 2], [0, 2])``.

    Raises `ShapeError` where the equation makes no sense or does not fit the shapes.

    >>> import tinygrad_edu as tg
    >>> x = tg.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> tg.einsum("ij->j", x), tg.einsum("ii", x), tg.einsum("ij,ij->i", x, x)
    (tensor([4., 6.]), tensor(5.), tensor([ 5., 25.]))
    """
    if not isinstance(equation, str):
        equation, operands = _from_lists((equation, *operands))
    elif len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = tuple(operands[0])
    tensors = [as_tensor(x) for x in operands]
    try:
        named, out = _read(equation, tuple(x.ndim for x in tensors))
        _check_sizes(named, tensors)
    except ValueError as error:
        why, mend = error.args
        raise ShapeError(_tried(f"einsum({equation!r})", *tensors), why, mend) from None
    parts = [_without_repeats(x, letters) for x, letters in zip(tensors, named, strict=True)]
    x, letters = parts[0]
    for i, (y, others) in enumerate(parts[1:], 2):
        later = out + "".join(letters for _, letters in parts[i:])
        x, letters = _pair(x, letters, y, others, later, out if i == len(parts) else "")
    gone = tuple(i for i, letter in enumerate(letters) if letter not in out)
    if gone:
        x = permute_op(x, dims=(*(letters.index(letter) for letter in out), *gone))
        return sum_op(x, dim=tuple(range(len(out), x.ndim)))
    if letters == out and x is not tensors[0]:
        return x
    return permute_op(x, dims=tuple(letters.index(letter) for letter in out))


def _from_lists(given: tuple[Any, ...]) -> tuple[str, tuple[Any, ...]]:
    """``(x, [0, 1], y, [1, 2], [0, 2])`` as an equation and operands. The order of letters is that of numbers."""
    letters = sorted(LETTERS)
    lists = [*given[1::2], given[-1]] if len(given) % 2 else given[1::2]
    try:
        terms = ["".join("..." if n is Ellipsis else letters[range(52).index(n)] for n in axes) for axes in lists]
    except (TypeError, ValueError):
        why, mend = "after each operand comes a list of its axes, as numbers from 0 to 51", "or give an equation"
        raise ShapeError("einsum without an equation", why, mend) from None
    arrow = ["->" + terms.pop()] if len(given) % 2 else []
    return ",".join(terms) + "".join(arrow), given[: len(terms) * 2 : 2]


@lru_cache(maxsize=512)
def _read(equation: str, ranks: tuple[int, ...]) -> tuple[tuple[str, ...], str]:
    """One letter per axis of each operand, and of the result. Raises ValueError: why that fails, and how to fix it.

    The axes of ``...`` get letters that are still free.
    """
    left, arrow, right = equation.partition("->")
    terms = [term.strip() for term in left.split(",")]
    if len(terms) != len(ranks):
        why = f"the equation names {len(terms)} operand{'s' * (len(terms) > 1)}, but there are {len(ranks)}"
        raise ValueError(why, "separate the operands with commas: 'ij,jk->ik'")
    free = [letter for letter in reversed(LETTERS) if letter not in equation]
    unnamed = [rank - len(_letters_of(term)) if "..." in term else 0 for term, rank in zip(terms, ranks, strict=True)]
    dots = "".join(free[: max(unnamed)])
    named = []
    for term, rank, count in zip(terms, ranks, unnamed, strict=True):
        letters = _letters_of(term, dots[len(dots) - max(count, 0) :])
        if len(letters) != rank or count < 0 or max(unnamed) > len(free):
            why = f"{term!r} names {len(_letters_of(term))} axes, but the operand has {rank}"
            raise ValueError(why, "name each axis with a letter, or write '...' for those without a name")
        named.append(letters)
    together = "".join(named)
    if not arrow:
        once = sorted(letter for letter in set(together) - set(dots) if together.count(letter) == 1)
        return tuple(named), dots + "".join(once)
    out = _letters_of(right.strip(), dots)
    for letter in out:
        if out.count(letter) > 1 or letter not in together:
            why = "occurs twice in the result" if out.count(letter) > 1 else "is in the result but in no operand"
            raise ValueError(f"{letter!r} {why}", "name each axis of the result once, with a letter of the operands")
    return tuple(named), out


def _letters_of(term: str, dots: str = "") -> str:
    """The letters of one operand, with ``dots`` in place of "...". Raises ValueError for what is not a letter."""
    before, found, after = term.partition("...")
    for character in before + after:
        if character not in LETTERS + " ":
            why = f"{character!r} in {term!r} names no axis"
            raise ValueError(why, "use letters, one '...' at most in each operand, commas and one '->'")
    return (before + (dots if found else "") + after).replace(" ", "")


def _check_sizes(named: tuple[str, ...], tensors: list[Any]) -> None:
    """Raise ValueError for a letter that stands for axes of two lengths: why that fails, and how to fix it."""
    sizes: dict[str, int] = {}
    for letters, x in zip(named, tensors, strict=True):
        own: dict[str, int] = {}
        for letter, size in zip(letters, x.shape, strict=True):
            if own.setdefault(letter, size) != size:
                why = f"{letter!r} takes the diagonal of axes of {own[letter]} and {size} elements"
                raise ValueError(why, "give the two axes different letters")
            known = sizes.get(letter, 1)
            if 1 not in (size, known) and size != known:
                why = f"{letter!r} stands for an axis of {known} elements and for one of {size}"
                raise ValueError(why, "give different letters to axes that count different things")
            sizes[letter] = size if known == 1 else known


def _without_repeats(x: Any, letters: str) -> tuple[Any, str]:
    """The diagonal, for each letter that occurs twice."""
    for letter in dict.fromkeys(letters):
        while letters.count(letter) > 1:
            first, second = letters.index(letter), letters.rindex(letter)
            x = diagonal_op(x, dim1=first, dim2=second)  # the diagonal is the last axis of the result
            letters = letters[:first] + letters[first + 1 : second] + letters[second + 1 :] + letter
    return x, letters


def _summed(x: Any, letters: str, keep: str) -> tuple[Any, str]:
    """The sum over the letters that are not needed later."""
    gone = tuple(i for i, letter in enumerate(letters) if letter not in keep)
    return (sum_op(x, dim=gone), "".join(letter for letter in letters if letter in keep)) if gone else (x, letters)


def _pair(x: Any, letters: str, y: Any, others: str, later: str, out: str) -> tuple[Any, str]:
    """The product of two operands: of their letters, those in ``later`` are kept, in the order of ``out`` if given."""
    lengths, y_lengths = dict(zip(letters, x.shape, strict=True)), dict(zip(others, y.shape, strict=True))
    both = [letter for letter in letters if letter in y_lengths and lengths[letter] != y_lengths[letter]]
    x, letters = _dropped(x, letters, [letter for letter in both if lengths[letter] == 1])
    y, others = _dropped(y, others, [letter for letter in both if y_lengths[letter] == 1])
    x, letters = _summed(x, letters, others + later)
    y, others = _summed(y, others, letters + later)
    result = out or "".join(letter for letter in dict.fromkeys(letters + others) if letter in later)
    return einsum_op(x, y, equation=f"{letters},{others}->{result}"), result


def _dropped(x: Any, letters: str, drop: list[str]) -> tuple[Any, str]:
    """Drop axes of length 1: the operand that they are multiplied with stretches them."""
    if not drop:
        return x, letters
    shape = tuple(size for size, letter in zip(x.shape, letters, strict=True) if letter not in drop)
    return reshape_op(x, shape=shape), "".join(letter for letter in letters if letter not in drop)


def cdist(x1: Any, x2: Any, p: float = 2.0, compute_mode: str = "use_mm_for_euclid_dist_if_necessary") -> Any:
    """The p-norm of the difference of each row of ``x1`` (…, P, M) and each of ``x2`` (…, R, M), as (…, P, R).

    Leading axes are broadcast. All P times R times M differences are held in memory, whatever the ``compute_mode``.
    Where two rows are equal, the gradient is 0. Raises `ShapeError` where the rows differ in length, `DtypeError` for
    integers, `ArgumentError` for a negative ``p``.

    >>> import tinygrad_edu as tg
    >>> tg.cdist(tg.tensor([[0.0, 0.0], [3.0, 0.0]]), tg.tensor([[0.0, 4.0]]))
    tensor([[4.],
            [5.]])
    """
    x1, x2 = offered("cdist", (as_tensor(x1), as_tensor(x2)))
    tried = f"cdist({tuple(x1.shape)}, {tuple(x2.shape)})"
    if min(x1.ndim, x2.ndim) < 2:
        raise ShapeError(tried, "both hold rows: (…, P, M) and (…, R, M)", "add an axis: x.unsqueeze(0)")
    if x1.shape[-1] != x2.shape[-1]:
        why = f"the rows of one have {x1.shape[-1]} elements, but those of the other have {x2.shape[-1]}"
        raise ShapeError(tried, why, "compare rows of one length")
    if p < 0:
        raise ArgumentError(f"{tried} with p={p!r}", "it is the order of a norm", "use 0 or more: 2, inf")
    return norm(x1.unsqueeze(-2) - x2.unsqueeze(-3), p, -1)


explain_all(globals(), "gradients_of_linear", "mm", "bmm", "mv", "dot", "addmm", "outer")
