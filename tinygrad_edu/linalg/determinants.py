"""Determinants. The gradients are from M. Giles (2008), as those of `equations`."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..autograd.function import Function
from ..inputs.kinds import explain_all
from ..ops.out import with_out
from .decompositions import svd
from .equations import Inverse
from .matrices import SINGULAR, by_numpy, eye, square


class Det(Function):
    """The determinant."""

    @staticmethod
    def forward(ctx: Any, a: Any) -> Any:
        det = by_numpy("det", np.linalg.det, a, why=SINGULAR)
        ctx.save_for_backward(a, det)
        return det

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        a, det = ctx.saved_tensors
        return g[..., None, None] * _cofactors(a, det)


def _cofactors(a: Any, det: Any) -> Any:
    """The derivative of the determinant by each element."""
    if (det != 0).all():
        return det[..., None, None] * Inverse.apply(a).mT  # Jacobi's formula; Giles 2.2.4
    # A singular matrix has cofactors too. With A = U S Vh they are det(U Vh) U C Vh, where C is diagonal and holds for
    # each singular value the product of all others.
    u, s, vh = svd(a)
    n = s.shape[-1]
    others = (s.unsqueeze(-2) * (1 - eye(n, s)) + eye(n, s)).prod(-1)
    return Det.apply(u @ vh)[..., None, None] * ((u * others.unsqueeze(-2)) @ vh)


class SignAndLog(NamedTuple):
    """The sign of a determinant, and the logarithm of its absolute value."""

    sign: Any
    logabsdet: Any


class Slogdet(Function):
    """The sign and the logarithm of the determinant."""

    @staticmethod
    def forward(ctx: Any, a: Any) -> Any:
        sign, log = by_numpy("slogdet", lambda a: tuple(np.linalg.slogdet(a)), a, why=SINGULAR)
        ctx.save_for_backward(a)
        return sign, log

    @staticmethod
    def backward(ctx: Any, g_sign: Any, g: Any) -> Any:
        (a,) = ctx.saved_tensors
        return g[..., None, None] * Inverse.apply(a).mT  # d log det A = trace(inv(A) dA); Giles 2.2.4


@with_out
def det(A: Any) -> Any:
    """The determinant of each square matrix (…, n, n). It has a gradient even where the matrix is singular.

    >>> import tinygrad_edu as tg
    >>> tg.linalg.det(tg.tensor([[2.0, 0.0], [0.0, 4.0]]))
    tensor(8.)
    """
    return Det.apply(square("det", A))


def slogdet(A: Any) -> SignAndLog:
    """The sign of each determinant, and the logarithm of its absolute value: these neither overflow nor vanish.

    A named tuple, ``sign`` and ``logabsdet``. For a singular matrix they are 0 and -inf, and there is no gradient.
    """
    return SignAndLog(*Slogdet.apply(square("slogdet", A)))


explain_all(globals())
