"""Dropout of elements and of whole channels, and what it draws."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import backends
from ...common.wording import shown
from ...core.inplace import inplace as inplace_op
from ...dtypes import is_float
from ...errors import ArgumentError, DtypeError, ShapeError
from ...inputs.arguments import as_tensor
from ...inputs.kinds import explain_all, kind_of
from ...ops.attention import Dropout, dropout_op
from ...tensor import Tensor, wrap
from ...tensor.random import drawn


def dropout(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """``x`` with a random fraction ``p`` of its elements set to 0, and the others divided by ``1 - p``.

    Outside training, and for p = 0, it is x itself. The numbers come from the generator that `manual_seed` seeds.
    Raises `ArgumentError` for a p outside 0 to 1, `DtypeError` for integers.
    """
    x = as_tensor(input)
    return _dropped("dropout", x, tuple(x.shape), p, training, inplace)


def dropout1d(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """`dropout` of whole channels of (N, C, L) or (C, L). Raises `ShapeError` for other numbers of axes."""
    x = as_tensor(input)
    if x.ndim not in (2, 3):
        why = "it drops channels of sequences (N, C, L) or (C, L)"
        raise ShapeError(f"dropout1d({tuple(x.shape)})", why, "use dropout, which drops single elements")
    return _dropped("dropout1d", x, (*x.shape[:-1], 1), p, training, inplace)


def dropout2d(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """`dropout` of whole channels of (N, C, H, W).

    Raises `ShapeError` for other numbers of axes: three axes could be one image or several sequences.
    """
    x = as_tensor(input)
    if x.ndim != 4:
        why = "it drops channels of images (N, C, H, W)"
        mend = "use dropout1d for sequences (N, C, L), x.unsqueeze(0) for a single image"
        raise ShapeError(f"dropout2d({tuple(x.shape)})", why, mend)
    return _dropped("dropout2d", x, (*x.shape[:2], 1, 1), p, training, inplace)


def dropout3d(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """`dropout` of whole channels of (N, C, D, H, W) or (C, D, H, W). Raises `ShapeError` for other numbers of axes."""
    x = as_tensor(input)
    if x.ndim not in (4, 5):
        why = "it drops channels of volumes (N, C, D, H, W) or (C, D, H, W)"
        raise ShapeError(f"dropout3d({tuple(x.shape)})", why, "use dropout2d for images, dropout for single elements")
    return _dropped("dropout3d", x, (*x.shape[:-3], 1, 1, 1), p, training, inplace)


def _dropped(name: str, x: Tensor, drawn: tuple[int, ...], p: float, training: bool, inplace: bool) -> Tensor:
    """Dropout with one draw for each element of a tensor ``drawn``, which is stretched to x."""
    share(name, p)
    if not training or p == 0 or not x.array.size:
        return x
    if not is_float(x.dtype):
        why = f"kept elements are divided by 1 - p, but {x.dtype} has no fractions"
        raise DtypeError(f"{name}({tuple(x.shape)} {x.dtype})", why, "convert it first: x.float()")
    keep = kept(drawn, p, x)
    result: Tensor = inplace_op(Dropout, x, (keep,), {"p": p}) if inplace else dropout_op(x, keep, p=p)
    return result


def share(name: str, p: float) -> None:
    """Refuse a share that is not a number from 0 to 1."""
    try:
        share = 0 <= p <= 1
    except (TypeError, ValueError):
        why = f"p takes a number, but this is {kind_of(p)}"
        raise DtypeError(f"{name} with p={shown(p)}", why, "use p=0.5, for example") from None
    if not share:
        raise ArgumentError(f"{name} with p={p}", "a fraction lies between 0 and 1", "use p=0.5, for example")


def kept(shape: tuple[int, ...], p: float, like: Any) -> Tensor:
    """The elements that dropout keeps, on the device of ``like``."""
    return wrap(drawn(lambda rng: rng.random(shape, np.float32) >= p, None, np.bool_, backends.of(like.array)))


explain_all(globals(), "dropout", "share", "kept")
