"""The operations of a tensor, as methods and operators. Each has PyTorch's name and is one line to an op."""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from .. import backends
from ..common.late import LateModule
from ..core.base import TensorBase
from ..errors import DtypeError, NoAxisError, ShapeError
from ..inputs.kinds import explained
from ..ops import arithmetic as ar
from ..ops import index as ix
from ..ops import movement as mo

if TYPE_CHECKING:
    from ..linalg import tops as li
    from ..ops import activation as ac
    from ..ops import angles as an
    from ..ops import arrange as ag
    from ..ops import choice as ch
    from ..ops import formats as fm
    from ..ops import gathering as ga
    from ..ops import linalg as la
    from ..ops import logic as lg
    from ..ops import parts as pt
    from ..ops import products as pr
    from ..ops import reduce as rd
    from ..ops import scan as sc
    from ..ops import shapes as sp
    from ..ops import softmax as sm
    from ..ops import sorting as so
    from ..ops import special as sl
    from ..ops import statistics as st
    from ..ops import unary as un
    from . import printing, random
    from .tensor import Tensor

    ip: Any
else:  # each loads with the first look-up of one of its methods
    ac, ag, an, ch, fm, ga, ip, la, lg, pr, pt, rd, sc, sl, sm, so, sp, st, un = (
        LateModule(f"tinygrad_edu.ops.{name}")
        for name in (
            "activation arrange angles choice formats gathering inplace linalg logic products parts reduce scan "
            "special softmax sorting shapes statistics unary"
        ).split()
    )
    li = LateModule("tinygrad_edu.linalg.tops")
    printing, random = LateModule("tinygrad_edu.tensor.printing"), LateModule("tinygrad_edu.tensor.random")


class Operations(TensorBase):
    """What `Tensor` inherits."""

    __slots__ = ()

    if TYPE_CHECKING:

        def item(self) -> Any: ...

    # Arithmetic. The operators *are* the generated callers, so that `x * y` costs one call. -------------------

    __add__ = __radd__ = ar.add_op
    __sub__, __truediv__ = ar.sub_op, ar.div_op
    __mul__ = __rmul__ = mul = ar.mul
    __pow__ = pow = ar.pow
    __neg__ = neg = ar.neg
    __floordiv__ = floor_divide = ar.floor_divide
    __mod__ = remainder = ar.remainder
    __matmul__ = matmul = la.matmul
    __abs__ = abs = un.abs
    __pos__ = positive = un.positive
    __eq__, __ne__, eq, ne = lg.equals, lg.differs, lg.eq, lg.ne
    __lt__ = lt = lg.lt
    __le__ = le = lg.le
    __gt__ = gt = lg.gt
    __ge__ = ge = lg.ge
    __and__ = __rand__ = bitwise_and = lg.bitwise_and
    __or__ = __ror__ = bitwise_or = lg.bitwise_or
    __xor__ = __rxor__ = bitwise_xor = lg.bitwise_xor
    __invert__ = bitwise_not = lg.bitwise_not
    logical_and, logical_or, logical_xor = lg.logical_and, lg.logical_or, lg.logical_xor
    logical_not, isnan, isinf, isfinite = lg.logical_not, lg.isnan, lg.isinf, lg.isfinite
    isclose, allclose, equal = lg.isclose, lg.allclose, lg.equal
    exp, expm1, log, log1p, log2 = un.exp, un.expm1, un.log, un.log1p, un.log2
    sqrt, rsqrt, reciprocal, square = un.sqrt, un.rsqrt, un.reciprocal, un.square
    sin, cos, tan, tanh, erf = un.sin, un.cos, un.tan, un.tanh, un.erf
    sign, floor, ceil, round, trunc = un.sign, un.floor, un.ceil, un.round, un.trunc
    exp2, log10, fmod = un.exp2, un.log10, ar.fmod
    asin, acos, atan, atan2 = arcsin, arccos, arctan, arctan2 = an.asin, an.acos, an.atan, an.atan2
    sinh, cosh, asinh, acosh, atanh = an.sinh, an.cosh, an.asinh, an.acosh, an.atanh
    hypot, erfc, logit, xlogy, lgamma, digamma = an.hypot, sl.erfc, sl.logit, sl.xlogy, sl.lgamma, sl.digamma
    logaddexp, logaddexp2, nan_to_num = sl.logaddexp, sl.logaddexp2, ch.nan_to_num
    sigmoid, relu = ac.sigmoid, ac.relu

    def __rsub__(self, other: Any) -> Tensor:
        return ar.sub_op(other, self)

    def __rtruediv__(self, other: Any) -> Tensor:
        return ar.div_op(other, self)

    def __rpow__(self, other: Any) -> Tensor:
        return ar.pow(other, self)

    def __rfloordiv__(self, other: Any) -> Tensor:
        return ar.floor_divide(other, self)

    def __rmod__(self, other: Any) -> Tensor:
        return ar.remainder(other, self)

    def __rmatmul__(self, other: Any) -> Tensor:
        return la.matmul(other, self)

    add, sub, div = ar.add, ar.sub, ar.div
    lerp, addcmul, addcdiv = ar.lerp, ar.addcmul, ar.addcdiv
    maximum, minimum, masked_fill = ch.maximum, ch.minimum, ch.masked_fill
    clamp, clamp_min, clamp_max, clip = ch.clamp, ch.clamp_min, ch.clamp_max, ch.clip
    mm, bmm, mv, dot, outer, addmm = la.mm, la.bmm, la.mv, la.dot, la.outer, la.addmm
    baddbmm, trace, inner, cross, kron = la.baddbmm, pr.trace, pr.inner, pr.cross, pr.kron
    cholesky_solve, det, inverse, svd = li.cholesky_solve, li.det, li.inverse, li.svd

    @explained
    def where(self, condition: Any, other: Any) -> Tensor:
        """This tensor where ``condition`` holds, else ``other``."""
        return ch.where(condition, self, other)

    # Reductions ---------------------------------------------------------------------------------------------

    sum, mean, prod, var, std, norm = rd.sum, rd.mean, rd.prod, rd.var, rd.std, rd.norm
    amax, amin, argmax, argmin, any, all = rd.amax, rd.amin, rd.argmax, rd.argmin, rd.any, rd.all
    softmax, log_softmax, logsumexp = sm.softmax, sm.log_softmax, sm.logsumexp
    cumsum, cumprod, cummax, cummin, diff = sc.cumsum, sc.cumprod, sc.cummax, sc.cummin, sc.diff
    count_nonzero, aminmax, nansum, nanmean = st.count_nonzero, st.aminmax, st.nansum, st.nanmean
    quantile, bincount = st.quantile, st.bincount
    max, min, median, sort, argsort = so.max, so.min, so.median, so.sort, so.argsort
    kthvalue = so.kthvalue
    topk, unique = so.topk, so.unique

    # Shape --------------------------------------------------------------------------------------------------

    reshape, permute, transpose, expand = mo.reshape, mo.permute, mo.transpose, mo.expand
    squeeze, unsqueeze, flatten = mo.squeeze, mo.unsqueeze, mo.flatten
    view, view_as, reshape_as, ravel, unflatten = sp.view, sp.view_as, sp.reshape_as, sp.ravel, sp.unflatten
    t, swapaxes, movedim, moveaxis, contiguous = sp.t, sp.swapaxes, sp.movedim, sp.moveaxis, fm.contiguous
    broadcast_to, expand_as = sp.broadcast_to, sp.expand_as
    narrow, select, unbind, chunk = pt.narrow, pt.select, pt.unbind, pt.chunk
    split_with_sizes, tensor_split = pt.split_with_sizes, pt.tensor_split
    diagonal, unfold, as_strided = pt.diagonal, pt.unfold, pt.as_strided
    repeat, tile, repeat_interleave = ag.repeat, ag.tile, ag.repeat_interleave
    flip, roll, tril, triu, diag = ag.flip, ag.roll, ag.tril, ag.triu, ag.diag
    diag_embed, rot90, fliplr, flipud = ag.diag_embed, ag.rot90, ag.fliplr, ag.flipud

    @explained
    def split(self, split_size: Any, dim: builtins.int = 0) -> tuple[Tensor, ...]:
        """Consecutive parts along ``dim``, of this size each or of these sizes; views. See `tinygrad_edu.split`."""
        return pt.split(self, split_size, dim)

    @property
    def T(self) -> Tensor:
        """The axes in reverse; a view."""
        return mo.permute_op(self, dims=tuple(range(self.array.ndim))[::-1])

    @property
    def mT(self) -> Tensor:
        """The last two axes swapped; a view."""
        return self.transpose(-1, -2)

    # Indexing -----------------------------------------------------------------------------------------------

    __getitem__, __setitem__ = ix.read, ix.write
    gather, scatter, scatter_add, take_along_dim = ga.gather, ga.scatter, ga.scatter_add, ga.take_along_dim
    index_select, index_add, index_copy = ga.index_select, ga.index_add, ga.index_copy
    index_fill, index_put = ga.index_fill, ga.index_put
    masked_select, nonzero, argwhere = ga.masked_select, ga.nonzero, ga.argwhere

    def _put(self, index: Any, value: Any, name: str) -> Tensor:
        """Write ``value`` at ``index``; ``name`` is what the user called."""
        return ix.write(self, index, value, name)

    def __len__(self) -> builtins.int:
        if not self.array.ndim:
            raise NoAxisError("len() of a 0-d tensor", "it has no axis to count along", "use item() for its value")
        return self.array.shape[0]

    def __iter__(self) -> Iterator[Tensor]:
        if not self.array.ndim:
            why, mend = "it has no axis to loop over", "use item() for its value"
            raise NoAxisError("iterating over a 0-d tensor", why, mend)
        return (self[i] for i in range(len(self)))

    def __contains__(self, value: Any) -> builtins.bool:
        return builtins.bool(lg.eq(self, value).any().item())

    # In place -----------------------------------------------------------------------------------------------

    add_, sub_, mul_, div_ = ip.add_, ip.sub_, ip.mul_, ip.div_
    pow_, neg_, floor_divide_, remainder_ = ip.pow_, ip.neg_, ip.floor_divide_, ip.remainder_
    lerp_, addcmul_, addcdiv_, addmm_ = ip.lerp_, ip.addcmul_, ip.addcdiv_, ip.addmm_
    baddbmm_ = ip.baddbmm_
    clamp_, clamp_min_, clamp_max_, masked_fill_ = ip.clamp_, ip.clamp_min_, ip.clamp_max_, ip.masked_fill_
    clip_, nan_to_num_, fmod_ = ip.clip_, ip.nan_to_num_, ip.fmod_
    abs_, sign_, floor_, ceil_, round_ = ip.abs_, ip.sign_, ip.floor_, ip.ceil_, ip.round_
    exp_, expm1_, log_, log1p_, log2_ = ip.exp_, ip.expm1_, ip.log_, ip.log1p_, ip.log2_
    sqrt_, rsqrt_, reciprocal_, square_ = ip.sqrt_, ip.rsqrt_, ip.reciprocal_, ip.square_
    sin_, cos_, tan_, tanh_, erf_ = ip.sin_, ip.cos_, ip.tan_, ip.tanh_, ip.erf_
    exp2_, log10_, trunc_ = ip.exp2_, ip.log10_, ip.trunc_
    asin_, acos_, atan_, atan2_ = arcsin_, arccos_, arctan_, arctan2_ = ip.asin_, ip.acos_, ip.atan_, ip.atan2_
    sinh_, cosh_, asinh_, acosh_, atanh_ = ip.sinh_, ip.cosh_, ip.asinh_, ip.acosh_, ip.atanh_
    hypot_, erfc_, logit_, xlogy_ = ip.hypot_, ip.erfc_, ip.logit_, ip.xlogy_
    lgamma_, digamma_ = ip.lgamma_, ip.digamma_
    sigmoid_, relu_ = ip.sigmoid_, ip.relu_
    logical_and_, logical_or_ = ip.logical_and_, ip.logical_or_
    logical_xor_, logical_not_ = ip.logical_xor_, ip.logical_not_
    bitwise_and_, bitwise_or_ = ip.bitwise_and_, ip.bitwise_or_
    bitwise_xor_, bitwise_not_ = ip.bitwise_xor_, ip.bitwise_not_
    eq_, ne_, lt_, le_, gt_, ge_ = ip.eq_, ip.ne_, ip.lt_, ip.le_, ip.gt_, ip.ge_
    unsqueeze_, squeeze_, transpose_, t_ = ip.unsqueeze_, ip.squeeze_, ip.transpose_, ip.t_
    cumsum_, cumprod_, tril_, triu_ = ip.cumsum_, ip.cumprod_, ip.tril_, ip.triu_
    scatter_, scatter_add_ = ip.scatter_, ip.scatter_add_
    index_add_, index_copy_, index_fill_, index_put_ = ip.index_add_, ip.index_copy_, ip.index_fill_, ip.index_put_
    __ipow__, __ifloordiv__, __imod__ = ip.pow_, ip.floor_divide_, ip.remainder_
    __iand__, __ior__, __ixor__ = ip.bitwise_and_, ip.bitwise_or_, ip.bitwise_xor_

    def zero_(self) -> Tensor:
        """Fill with zeros."""
        return self._put(..., 0, "zero_")

    @explained
    def fill_(self, value: Any) -> Tensor:
        """Fill with one number, or the one in a 0-d tensor."""
        if getattr(value, "ndim", 0):
            why, mend = f"it fills with one number, and value has shape {tuple(value.shape)}", "use copy_"
            raise ShapeError(f"fill_ on a tensor {tuple(self.array.shape)}", why, mend)
        return self._put(..., value, "fill_")

    @explained
    def copy_(self, other: Any, non_blocking: builtins.bool = False) -> Tensor:
        """Overwrite with ``other``, broadcast to this shape. It may come from another device; see `to`.

        For a copy to the host, the host always waits: ``non_blocking`` holds for copies to a device.
        """
        if isinstance(other, TensorBase) and (place := backends.of(self.array)) is not backends.of(other.array):
            other = mo.transfer(other, place.name, builtins.bool(non_blocking) and place is not backends.CPU)
        return self._put(..., other, "copy_")

    @explained
    def normal_(self, mean: builtins.float = 0.0, std: builtins.float = 1.0, *, generator: Any = None) -> Tensor:
        """Fill with normally distributed numbers."""
        return self._draw("normal_", mean, std, generator=generator)

    @explained
    def uniform_(self, from_: builtins.float = 0.0, to: builtins.float = 1.0, *, generator: Any = None) -> Tensor:
        """Fill with numbers spread evenly over ``from_`` to ``to``."""
        return self._draw("uniform_", from_, to, generator=generator)

    @explained
    def exponential_(self, lambd: builtins.float = 1.0, *, generator: Any = None) -> Tensor:
        """Fill with exponentially distributed numbers, of mean ``1 / lambd``."""
        return self._draw("exponential_", lambd, generator=generator)

    @explained
    def bernoulli_(self, p: Any = 0.5, *, generator: Any = None) -> Tensor:
        """Fill with random 0s and 1s: 1 with probability ``p``, a number or a tensor."""
        return self._draw("bernoulli_", p, generator=generator)

    @explained
    def random_(self, *limits: builtins.int, generator: Any = None) -> Tensor:
        """Fill with equally likely integers: ``random_(high)``, ``random_(low, high)``, or all from 0 that fit."""
        return self._draw("random_", *limits, generator=generator)

    def _draw(self, name: str, *limits: Any, generator: Any) -> Tensor:
        return self._put(..., random.values_for(self, name, *limits, generator=generator), name)

    @explained
    def bernoulli(self, p: builtins.float | None = None, *, generator: Any = None) -> Tensor:
        """A new tensor of random 0s and 1s: 1 with the probability held at that place, or with ``p`` everywhere."""
        return random.bernoulli(self, p, generator=generator)

    @explained
    def multinomial(
        self, num_samples: builtins.int, replacement: builtins.bool = False, *, generator: Any = None
    ) -> Tensor:
        """Positions drawn with probabilities in proportion to these weights, row by row; see `random.multinomial`."""
        return random.multinomial(self, num_samples, replacement, generator=generator)

    __iadd__, __isub__, __imul__, __itruediv__ = add_, sub_, mul_, div_

    # Python and NumPy ---------------------------------------------------------------------------------------

    def __bool__(self) -> builtins.bool:
        if self.array.size != 1:
            raise ShapeError(
                f"the truth of a tensor {tuple(self.array.shape)}",
                f"it has {self.array.size} elements, some perhaps true and some not",
                "reduce it first: (x > 0).all() or (x > 0).any(), or look at one element",
            )
        return builtins.bool(self.item())

    def __float__(self) -> builtins.float:
        return builtins.float(self.item())

    def __int__(self) -> builtins.int:
        return builtins.int(self.item())

    def __index__(self) -> builtins.int:
        value = self.item()
        if not isinstance(value, builtins.int):
            raise DtypeError(
                f"a tensor of dtype {self.array.dtype} as an index", "an index is an integer", "use x.long()"
            )
        return value

    def __repr__(self) -> str:
        return printing.describe(self)

    def __format__(self, spec: str) -> str:
        """``f"{loss:.3f}"``: a 0-d tensor is formatted as its number, as in PyTorch."""
        return format(self.item(), spec) if not self.array.ndim else object.__format__(self, spec)
