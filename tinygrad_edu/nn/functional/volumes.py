"""Convolution of volumes (N, C, D, H, W): a sum, over the depth of the kernel, of convolutions of their planes."""

from __future__ import annotations

from typing import Any

from ...errors import ArgumentError, DtypeError, ShapeError
from ...inputs.arguments import as_tensor
from ...inputs.kinds import explain_all
from ...ops.conv import check_word, conv2d, counts, refuse_bools
from ...ops.conv_transpose import conv_transpose2d
from ...ops.pad import pad
from ...tensor import Tensor


def conv3d(
    input: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Tensor:
    """Cross-correlation of volumes (N, C, D, H, W), or of one (C, D, H, W), with kernels (F, C / groups, kd, kh, kw).

    The result is (N, F, od, oh, ow). Arguments and errors are those of `conv2d`, with three numbers in place of pairs.
    """
    x, weight, stride, dilation = _given("conv3d", input, weight, bias, stride, dilation, groups, 0)
    tried = _tried("conv3d", x, weight)
    if isinstance(padding, str):
        check_word("conv3d", padding, stride)
        total = [d * (k - 1) if padding == "same" else 0 for d, k in zip(dilation, weight.shape[2:], strict=True)]
        edges = [(n // 2, n - n // 2) for n in total]  # of an odd number, the larger part goes at the end
    else:
        edges = [(n, n) for n in _at_least("padding", padding, 0)]
    x = pad(x, [n for edge in reversed(edges) for n in edge])
    size = [n - d * (k - 1) - 1 for n, d, k in zip(x.shape[-3:], dilation, weight.shape[2:], strict=True)]
    if min(size) < 0:
        why = f"a kernel {tuple(weight.shape[2:])} does not fit into {tuple(x.shape[-3:])}, padding included"
        raise ShapeError(tried, why, "add padding, or use a smaller kernel")
    volumes = x if x.ndim == 5 else x.unsqueeze(0)
    planes = volumes.transpose(1, 2)  # (N, D, C, H, W)
    out: Any = None
    for i in range(weight.shape[2]):  # the planes that the result sees through plane i of the kernel
        seen = planes[:, i * dilation[0] : i * dilation[0] + size[0] + 1 : stride[0]]
        part = conv2d(
            seen.flatten(0, 1), weight[:, :, i], None if i else bias, stride[1:], 0, dilation[1:], groups
        )  # fmt: skip
        out = part if out is None else out + part
    result: Tensor = out.unflatten(0, seen.shape[:2]).transpose(1, 2)
    return result.contiguous() if x.ndim == 5 else result.squeeze(0).contiguous()


def conv_transpose3d(
    input: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, output_padding: Any = 0,
    groups: int = 1, dilation: Any = 1,
) -> Tensor:  # fmt: skip
    """The transpose of `conv3d`: (N, C, D, H, W), or (C, D, H, W), by ``weight`` (C, F / groups, kd, kh, kw).

    Arguments and errors are those of `conv_transpose2d`, with three numbers in place of pairs.
    """
    x, weight, stride, dilation = _given("conv_transpose3d", input, weight, bias, stride, dilation, groups, 1)
    padding, extra = _at_least("padding", padding, 0), _at_least("output_padding", output_padding, 0)
    tried = _tried("conv_transpose3d", x, weight)
    if any(e >= max(s, d) for e, s, d in zip(extra, stride, dilation, strict=True)):
        why = f"output_padding {extra} is not below stride or dilation: no window would reach it"
        raise ShapeError(tried, why, "use less output_padding, or pad the result")
    reach = [d * (k - 1) for d, k in zip(dilation, weight.shape[2:], strict=True)]
    how = zip(x.shape[-3:], stride, padding, reach, extra, strict=True)
    size = [(n - 1) * s - 2 * p + r + e + 1 for n, s, p, r, e in how]
    if min(size) < 1:
        raise ShapeError(tried, f"padding {padding} cuts off the whole result", "use less padding")
    volumes = x if x.ndim == 5 else x.unsqueeze(0)
    count, depth = volumes.shape[0], volumes.shape[2]
    planes = volumes.transpose(1, 2).flatten(0, 1)  # (N * D, C, H, W)
    out: Any = None
    for i in range(weight.shape[2]):  # the planes that plane i of the kernel writes, stride apart
        part = conv_transpose2d(
            planes, weight[:, :, i], None, stride[1:], padding[1:], extra[1:], groups, dilation[1:]
        ).unflatten(0, (count, depth))  # fmt: skip
        apart = pad(part.unsqueeze(2), (0, 0, 0, 0, 0, 0, 0, stride[0] - 1)).flatten(1, 2)
        before = i * dilation[0]
        after = reach[0] - before + extra[0] - (stride[0] - 1)
        part = pad(apart, (0, 0, 0, 0, 0, 0, before, after))
        out = part if out is None else out + part
    result: Tensor = out[:, padding[0] : padding[0] + size[0]].transpose(1, 2)
    if bias is not None:
        result = result + as_tensor(bias).reshape(-1, 1, 1, 1)
    return result.contiguous() if x.ndim == 5 else result.squeeze(0).contiguous()


def _tried(name: str, x: Tensor, weight: Tensor) -> str:
    return f"{name}({tuple(x.shape)}, weight {tuple(weight.shape)})"


def _at_least(name: str, value: Any, least: int) -> tuple[int, ...]:
    found = counts(value, name, 3)
    if min(found) < least:
        raise ShapeError(f"{name}={value!r}", f"the {name} must be at least {least}", f"use {name}={least} or more")
    return found


def _given(
    name: str, input: Any, kernels: Any, bias: Any, stride: Any, dilation: Any, groups: int, transposed: int
) -> tuple[Tensor, Tensor, tuple[int, ...], tuple[int, ...]]:
    """Volumes, kernels, stride and dilation that fit each other."""
    x, weight = as_tensor(input), as_tensor(kernels)
    refuse_bools(name, x)
    tried = _tried(name, x, weight)
    if weight.ndim != 5 or 0 in weight.shape[2:]:
        form = "(C, F, kd, kh, kw)" if transposed else "(F, C, kd, kh, kw)"
        raise ShapeError(tried, f"kernels are {form}, but these are {tuple(weight.shape)}", "reshape the kernels")
    if x.ndim not in (4, 5):
        why = f"volumes are (N, C, D, H, W) or (C, D, H, W), but this has {x.ndim} ax{'i' if x.ndim == 1 else 'e'}s"
        raise ShapeError(tried, why, "add the missing axes: x.unsqueeze(0)")
    for other in (weight, bias):
        if other is not None and as_tensor(other).dtype != x.dtype:
            why = f"the volumes are {x.dtype}, but the kernels or the bias {as_tensor(other).dtype}"
            raise DtypeError(tried, why, "convert one: x.to(weight.dtype)")
    channels, kernel_channels = x.shape[-4], weight.shape[0] if transposed else weight.shape[1]
    if groups < 1 or weight.shape[0] % groups:
        why = f"{weight.shape[0]} kernels cannot be divided evenly among {groups} groups"
        raise ArgumentError(tried, why, "use a number of groups that divides both the channels and the kernels")
    if channels != kernel_channels * (1 if transposed else groups):
        of = f" of each of {groups} groups" if groups > 1 else ""
        why = f"the kernel reads {kernel_channels} channels{of}, but the volume has {channels}"
        raise ShapeError(tried, why, f"make it for {channels} channels")
    made = weight.shape[1] * groups if transposed else weight.shape[0]
    if bias is not None and tuple(as_tensor(bias).shape) != (made,):
        why = f"the result has {made} channels, but the bias is {tuple(as_tensor(bias).shape)}"
        raise ShapeError(tried, why, f"make the bias ({made},)")
    return x, weight, _at_least("stride", stride, 1), _at_least("dilation", dilation, 1)


explain_all(globals())
