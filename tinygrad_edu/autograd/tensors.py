"""The world of tensors: bodies that run in it are recorded, so that a gradient has a gradient."""

from __future__ import annotations

from functools import cache
from typing import Any

from .. import backends
from ..core.above import above
from ..core.base import TensorBase
from ..core.graph import Node, World


def _raw(index: Any) -> Any:
    """An index with arrays in place of tensors."""
    parts = index if isinstance(index, tuple) else (index,)
    return tuple(part.array if isinstance(part, TensorBase) else part for part in parts)


@cache
def tensor_namespace(device: str) -> backends.Namespace:
    """The namespace in which bodies compute with tensors of ``device``, so that what they do is recorded."""

    # Imported here, because few programs need all of them.
    from ..ops import activation as ac
    from ..ops import angles as an
    from ..ops import arithmetic as ar
    from ..ops import choice as ch
    from ..ops import conv as cv
    from ..ops import convert as ct
    from ..ops import index as ix
    from ..ops import linalg as la
    from ..ops import movement as mv
    from ..ops import parts as pt
    from ..ops import reduce as rd
    from ..ops import scan as sc
    from ..ops import sorting as so
    from ..ops import unary as un

    xp = backends.get(device).xp

    def new(make: Any) -> Any:
        return lambda *args, **kwargs: above.wrap(make(*args, **kwargs))

    def like(name: str) -> Any:
        return lambda x: above.wrap(getattr(backends.of(x.array).xp, name)(x.array))

    def reduction(op: Any) -> Any:
        return lambda x, axis=None, keepdims=False: op(x, dim=axis, keepdim=keepdims)

    return backends.Namespace(
        f"tensors on {device}",
        exp=un.exp, expm1=un.expm1, log=un.log, log1p=un.log1p, log2=un.log2, log10=un.log10, tanh=un.tanh,
        sqrt=un.sqrt, sin=un.sin, cos=un.cos, tan=un.tan, arcsin=an.asin, arccos=an.acos, arctan=an.atan,
        arctan2=an.atan2, sinh=an.sinh, cosh=an.cosh, arcsinh=an.asinh, arccosh=an.acosh, arctanh=an.atanh, erf=un.erf,
        abs=un.abs, sign=un.sign, floor=un.floor, ceil=un.ceil, round=un.round_op,
        sigmoid=ac.sigmoid, maximum=ch.maximum, minimum=ch.minimum, where=ch.where_op, relu=ac.relu,
        power=ar.pow, floor_divide=ar.floor_divide, remainder=ar.remainder, fmod=ar.fmod,
        sum=reduction(rd.sum_op), prod=reduction(rd.prod_op), amax=reduction(rd.amax_op), amin=reduction(rd.amin_op),
        argmax=reduction(rd.argmax_op), argmin=reduction(rd.argmin_op),
        any=reduction(rd.any_op), all=reduction(rd.all_op),
        cumsum=lambda x, axis: sc.cumsum_op(x, dim=axis), cumprod=lambda x, axis: sc.cumprod_op(x, dim=axis),
        argsort=lambda x, axis, descending=False: so.argsort_op(x, dim=axis, descending=descending),
        zeros=new(xp.zeros), ones=new(xp.ones), empty=new(xp.empty), full=new(xp.full), arange=new(xp.arange),
        zeros_like=like("zeros_like"), ones_like=like("ones_like"),
        reshape=lambda x, shape: mv.reshape_op(x, shape=shape),
        permute=lambda x, axes: mv.permute_op(x, dims=axes),
        broadcast_to=lambda x, shape: mv.expand_op(x, shape=shape),
        concatenate=lambda xs, axis: mv.cat_op(*xs, dim=axis),
        astype=lambda x, dtype: ct.cast(x, dtype=dtype),
        copy=ct.clone, contiguous=lambda x, like=None: ct.contiguous(x),
        diagonal=lambda x, offset, axis1, axis2: pt.diagonal_op(x, offset=offset, dim1=axis1, dim2=axis2),
        windows=lambda x, axis, size, step: pt.unfold_op(x, dim=axis, size=size, step=step),
        as_strided=lambda x, shape, strides, offset: pt.as_strided_op(x, size=shape, stride=strides, offset=offset),
        take_along_axis=lambda x, indices, axis: ix.gather_op(x, indices, dim=axis),
        scatter_add=lambda shape, index, values: ix.scatter_add_at(values, shape=shape, index=_raw(index)),
        put=lambda x, index, values: ix.put(x, values, index=_raw(index)),
        matmul=la.matmul, einsum=lambda equation, x, y: la.einsum_op(x, y, equation=equation),
        im2col=lambda x, kernel, stride, padding, dilation=(1, 1), fill=0.0, size=None: cv.im2col(
            x, kernel=kernel, stride=stride, padding=padding, dilation=dilation, fill=fill, size=size
        ),
        col2im=lambda cols, shape, stride, padding, dilation=(1, 1): cv.col2im(
            cols, shape=shape, stride=stride, padding=padding, dilation=dilation
        ),
        conv=lambda x, weight, stride, padding, dilation, groups, size=None: cv.conv2d_op(
            x, weight, stride=stride, padding=padding, dilation=dilation, groups=groups, size=size
        ),
        conv_input=lambda g, weight, size, stride, padding, dilation, groups: cv.conv_input(
            g, weight, size=size, stride=stride, padding=padding, dilation=dilation, groups=groups
        ),
        conv_kernel=lambda x, g, kernel, stride, padding, dilation, groups: cv.conv_kernel(
            x, g, kernel=kernel, stride=stride, padding=padding, dilation=dilation, groups=groups
        ),
    )  # fmt: skip


class TensorWorld(World):
    """Backward computed with tensors, for gradients of gradients. Saved arrays come back tied to their nodes."""

    def namespace(self, g: Any) -> Any:
        """Tensors on the device of ``g``."""
        return tensor_namespace(g.device)

    def saved(self, node: Node, arrays: tuple[Any, ...]) -> tuple[Any, ...]:
        """What the node saved, as tensors that know where they came from."""
        op = node.op
        makers = {"out": node} | dict(zip(op.operands, node.parents, strict=False))
        return tuple(
            value if save.part or value is None else self._tie(op, save.source, value, makers)
            for save, value in zip(op.save_plan, arrays, strict=True)
        )

    @staticmethod
    def _tie(op: Any, source: str, value: Any, makers: dict[str, Node | None]) -> Any:
        if source == "cache":
            return None if op.caches == "recomputed" else above.wrap(value)
        if source not in makers or not hasattr(value, "dtype"):
            return value  # a parameter, or a Python scalar
        result = above.wrap(value)
        result.node = makers[source]
        return result


TENSORS = TensorWorld()
