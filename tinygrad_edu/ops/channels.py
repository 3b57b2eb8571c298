"""Normalisation over a batch, or over groups of channels.

Both see x as (N, groups, channels of a group, pixels), and take moments over the pixels and one more axis: over the
batch (0), where each channel is a group of its own, or over the channels of a group (2).
"""

from __future__ import annotations

from typing import Any

from .. import backends
from ..backends.layout import how_many
from ..common.lines import user_line
from ..core.dispatch import caller
from ..core.inplace import own_buffer
from ..core.narrow import is_narrow
from ..core.op import Op
from ..core.slow import offered
from ..dtypes import float32
from ..errors import ArgumentError, ShapeError
from ..inputs.arguments import as_tensor
from ..inputs.kinds import explain_all
from ..inputs.outside import outside
from ..settings import modes
from .normalise import dot, mixed, total

# mypy: disable-error-code="override"


def moments(xp: Any, x: Any, over: int) -> tuple[Any, Any]:
    """Mean and biased variance, all axes kept."""
    count = x.shape[over] * x.shape[3] or float("nan")
    mean = xp.sum(total(xp, x), over, True) / count
    centred = x - mean
    return mean, xp.sum(dot(xp, centred, centred), over, True) / count


def _normalise(xp: Any, x: Any, weight: Any, bias: Any, mean: Any, scale: Any) -> Any:
    out = x - mean
    out *= scale if weight is None else scale * xp.reshape(weight, (*x.shape[1:3], 1))
    if bias is not None:
        out += xp.reshape(bias, (*x.shape[1:3], 1))
    return out


def _normalise_back(
    xp: Any, g: Any, needs: Any, x: Any, weight: Any, cache: Any, over: int, eps: float
) -> tuple[Any, Any, Any]:
    """The gradients of ``x`` in its own shape, and of ``weight`` and ``bias`` with one element per channel."""
    if cache is None:
        mean, var = moments(xp, x, over)
        scale = 1 / xp.sqrt(var + eps)
    else:
        mean, scale = cache
    centred = x - mean
    level, along = total(xp, g), dot(xp, g, centred)
    if over == 0:
        level, along = xp.sum(level, 0, True), xp.sum(along, 0, True)
    gx = None
    if needs[0]:
        w = None if weight is None else xp.reshape(weight, (*x.shape[1:3], 1))
        count = x.shape[over] * x.shape[3] or float("nan")
        pull = xp.sum(along if w is None else along * w, over, True) * (scale * scale * scale / count)
        shift = xp.sum(level if w is None else level * w, over, True) * (scale / count)
        gx = g * (scale if w is None else scale * w) - (centred * pull + shift)
    gw = xp.reshape(xp.sum(along * scale, 0, False), (-1,)) if needs[1] else None
    return gx, gw, xp.reshape(xp.sum(level, 0, False), (-1,)) if needs[2] else None


def _split(xp: Any, x: Any, groups: int, *parameters: Any) -> Any:
    """``x`` as (N, groups, channels of a group, pixels). Refuses parameters without one element per channel."""
    if x.ndim < 2:
        raise ValueError("axes")
    n, c = x.shape[:2]
    if groups < 1 or c % groups:
        raise ValueError("groups")
    for parameter in parameters:
        if parameter is not None and parameter.shape != (c,):
            raise ValueError("parameters")
    return xp.reshape(x, (n, groups, c // groups, how_many(x.shape[2:])))


def _hint_of_channels(shapes: Any, params: Any) -> tuple[str, str] | None:
    """Why `_split` refused."""
    x, *parameters = shapes
    if len(x) < 2:
        why = f"inputs come as (N, C, …), but this has {len(x)} ax{'i' if x else 'e'}s"
        return why, "add the missing axis: x.unsqueeze(0)"
    groups = params.get("groups", 1)
    if groups < 1 or x[1] % groups:
        return f"{x[1]} channels cannot be divided among {groups} groups", "use a number that divides the channels"
    wrong = [shape for shape in parameters if shape != (x[1],)]
    if wrong:
        return f"there are {x[1]} channels, but a parameter has shape {wrong[0]}", f"make it of shape ({x[1]},)"
    return None


class BatchNorm(Op, name="batch_norm"):
    """Mean 0 and variance 1 for each channel of (N, C, …), over the batch; then times ``weight``, plus ``bias``.

    A caller that knows the ``mean`` and ``var`` of this batch already may pass them.
    """

    dtypes = "floating"
    saves = ("x", "weight if x", "cache", "eps")
    caches = "recomputed"
    per_element = 9

    @staticmethod
    def forward(
        xp: Any, x: Any, weight: Any = None, bias: Any = None, *, eps: float = 1e-5, mean: Any = None, var: Any = None
    ) -> Any:
        split = _split(xp, x, x.shape[1] if x.ndim > 1 else 1, weight, bias)
        if mean is None:
            mean, var = moments(xp, split, 0)
        scale = 1 / xp.sqrt(var + eps)
        out = xp.reshape(_normalise(xp, split, weight, bias, mean, scale), x.shape)
        return xp.contiguous(out, x), (mean, scale)

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, x: Any, weight: Any, cache: Any, eps: float) -> Any:
        split, shape = _split(xp, x, x.shape[1]), x.shape
        gx, gw, gb = _normalise_back(xp, xp.reshape(g, split.shape), needs, split, weight, cache, 0, eps)
        return xp.reshape(gx, shape) if needs[0] else None, gw, gb

    @staticmethod
    def hint(shapes: Any, params: Any) -> tuple[str, str] | None:
        return _hint_of_channels(shapes, params)


class BatchNormEval(Op, name="batch_norm_eval"):
    """Each channel of (N, C, …) minus ``mean``, over the root of ``var``; then times ``weight``, plus ``bias``."""

    dtypes = "floating"
    saves = ("x", "mean", "var", "weight", "eps")
    per_element = 3

    @staticmethod
    def forward(
        xp: Any, x: Any, mean: Any, var: Any, weight: Any = None, bias: Any = None, *, eps: float = 1e-5
    ) -> Any:
        split = _split(xp, x, 1, mean, var, weight, bias)
        factor = 1 / xp.sqrt(var + eps)
        if weight is not None:
            factor = factor * weight
        shift = -mean * factor if bias is None else bias - mean * factor
        out = split * xp.reshape(factor, (-1, 1))
        out += xp.reshape(shift, (-1, 1))
        return xp.contiguous(xp.reshape(out, x.shape), x)

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, x: Any, mean: Any, var: Any, weight: Any, eps: float) -> Any:
        split, shape = _split(xp, x, 1), x.shape
        g, scale = xp.reshape(g, split.shape), 1 / xp.sqrt(var + eps)
        factor = scale if weight is None else scale * weight
        gx = xp.reshape(g * xp.reshape(factor, (-1, 1)), shape) if needs[0] else None
        gm = gv = gw = gb = None
        if needs[1] or needs[4]:
            gb = xp.reshape(xp.sum(total(xp, g), 0, False), (-1,))
            gm = -gb * factor
        if needs[2] or needs[3]:
            along = dot(xp, g, split - xp.reshape(mean, (-1, 1)))
            gw = xp.reshape(xp.sum(along, 0, False), (-1,)) * scale
            gv = gw * factor * scale * -0.5
        return gx, gm, gv, gw, gb

    @staticmethod
    def hint(shapes: Any, params: Any) -> tuple[str, str] | None:
        return _hint_of_channels(shapes, params)


class GroupNorm(Op, name="group_norm"):
    """Mean 0 and variance 1 for each group of channels of each element of a batch (N, C, …), then as `batch_norm`."""

    dtypes = "floating"
    saves = ("x", "weight if x", "cache", "groups", "eps")
    caches = "recomputed"
    per_element = 9

    @staticmethod
    def forward(xp: Any, x: Any, weight: Any = None, bias: Any = None, *, groups: int, eps: float = 1e-5) -> Any:
        split = _split(xp, x, groups, weight, bias)
        mean, var = moments(xp, split, 2)
        scale = 1 / xp.sqrt(var + eps)
        out = xp.reshape(_normalise(xp, split, weight, bias, mean, scale), x.shape)
        return xp.contiguous(out, x), (mean, scale)

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, x: Any, weight: Any, cache: Any, groups: int, eps: float) -> Any:
        split, shape = _split(xp, x, groups), x.shape
        gx, gw, gb = _normalise_back(xp, xp.reshape(g, split.shape), needs, split, weight, cache, 2, eps)
        return xp.reshape(gx, shape) if needs[0] else None, gw, gb

    @staticmethod
    def hint(shapes: Any, params: Any) -> tuple[str, str] | None:
        return _hint_of_channels(shapes, params)


batch_norm_op, batch_norm_eval, group_norm_op = caller(BatchNorm), caller(BatchNormEval), caller(GroupNorm)


def group_norm(input: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    """Mean 0 and variance 1 for each of ``num_groups`` groups of channels of each element of a batch (N, C, …).

    Then each channel times its ``weight``, plus its ``bias``. Raises `ShapeError` if the groups do not divide the
    channels, or a parameter does not have one element per channel.
    """
    x, weight, bias = offered("group_norm", (as_tensor(input), weight, bias))
    if x.ndim > 1 and num_groups > 0 and x.array.size == num_groups:
        raise _too_few(f"group_norm of a tensor {tuple(x.shape)} in {num_groups} groups", "group")
    if mixed(x, weight, bias):
        return group_norm_op(x.float(), weight, bias, groups=num_groups, eps=eps).to(x.dtype)
    if not x.array.size and x.ndim > 1 and x.shape[1] and num_groups > 0 and not x.shape[1] % num_groups:
        return batch_norm(x, None, None, weight, bias, True, eps=eps)  # of an empty batch, without a division by 0
    return group_norm_op(x, weight, bias, groups=num_groups, eps=eps)


def _too_few(tried: str, part: str) -> ShapeError:
    why = f"each {part} has a single value, which is its own mean: the result would be 0 whatever the input"
    return ShapeError(tried, why, "use a larger batch, or normalise over more elements")


def batch_norm(
    input: Any, running_mean: Any, running_var: Any, weight: Any = None, bias: Any = None, training: bool = False,
    momentum: float = 0.1, eps: float = 1e-5,
) -> Any:  # fmt: skip
    """Mean 0 and variance 1 for each channel of (N, C), (N, C, L) or (N, C, H, W); times ``weight``, plus ``bias``.

    In training, mean and variance are those of the batch, and the running ones, if given, move towards them in place:
    ``running = (1 - momentum) * running + momentum * new``, with the unbiased variance. Otherwise the running ones are
    used as they are. Raises `ShapeError` in training if a channel has only one value.
    """
    x = as_tensor(input)
    if modes().observers and running_mean is not None and running_var is not None:
        for running in (running_mean, running_var):
            outside("tensor", running)
    tried = f"batch_norm of a tensor {tuple(x.shape)}"
    if momentum is None:
        mend = "pass a number: 1 / (batches so far) for an average over all, as nn.BatchNorm does"
        raise ArgumentError(f"{tried} with momentum=None", "a function cannot count batches", mend)
    if mixed(x, weight, bias, running_mean, running_var):
        wide = batch_norm(x.float(), running_mean, running_var, weight, bias, training, momentum, eps)
        return wide.to(x.dtype)
    if not training:
        if running_mean is None or running_var is None:
            why = "outside training, it normalises with the running mean and variance"
            raise ArgumentError(tried, why, "pass both, or training=True")
        return batch_norm_eval(x, running_mean, running_var, weight, bias, eps=eps)
    if x.ndim > 1 and x.array.size == x.shape[1]:
        raise _too_few(tried, "channel")
    if x.ndim < 2 or (running_mean is None and running_var is None and x.array.size):
        return batch_norm_op(x, weight, bias, eps=eps)
    check_running("batch_norm", x, running_mean, running_var)
    xp = backends.of(x.array).xp
    if not x.array.size:  # an empty batch has no mean: the running one stays as it is, and no gradient is nan
        ends = (1, x.shape[1], 1, 1)
        return batch_norm_op(x, weight, bias, eps=eps, mean=xp.zeros(ends, x.dtype), var=xp.ones(ends, x.dtype))
    # The batch's own moments, computed once for both uses, on raw arrays.
    array = xp.astype(x.array, float32) if is_narrow(x.dtype) else x.array
    mean, var = moments(xp, _split(xp, array, x.shape[1]), 0)
    out = batch_norm_op(x, weight, bias, eps=eps, mean=mean, var=var)
    count = x.array.size // x.shape[1]
    _move(running_mean, xp.reshape(mean, (-1,)), momentum, momentum)
    _move(running_var, xp.reshape(var, (-1,)), momentum, momentum * count / (count - 1))
    return out


def check_running(name: str, x: Any, *statistics: Any) -> None:
    """Refuse running statistics that cannot be updated in place. All are checked first, so an error changes none."""
    place, shape = backends.of(x.array), (int(x.shape[1]),)
    for running in statistics:
        if running is None or (backends.of(running.array) is place and tuple(running.shape) == shape):
            continue
        home, mend = backends.of(running.array), f"make it {shape}"
        if place.name == "trace":
            mend = "pass it to the traced function as an input"
        tried = f"{name} of a tensor {tuple(x.shape)} of {place.name}"
        why = f"a running statistic is {tuple(running.shape)} of {home.name}, and is updated in place"
        raise ShapeError(tried, why, f"{mend}, on {x.device}")


def _move(running: Any, new: Any, momentum: float, factor: float) -> None:
    """``running = (1 - momentum) * running + factor * new``, in place. Buffers have no history, so this is a plain
    write to memory, noted in its storage: backward then refuses what it has overwritten."""
    if running is None:
        return
    array = own_buffer(running)
    try:
        array[...] = array * (1 - momentum) + new * factor
    finally:
        running.storage.written("batch_norm", user_line())


explain_all(globals(), "moments", "check_running")
