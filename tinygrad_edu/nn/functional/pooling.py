"""Pools whose windows divide an axis into a given number of places, and pools of volumes (N, C, D, H, W).

For a largest element, a table gives the places that each window sees; gradients go to the first of equals. Means of
windows along one axis after another are the means of the whole windows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...backends import room
from ...dtypes import is_float
from ...errors import ArgumentError, ShapeError
from ...inputs.arguments import as_tensor
from ...inputs.kinds import explain_all
from ...ops.conv import counts, refuse_bools
from ...ops.pool import adaptive_avg_pool2d, avg_pool2d
from ...tensor import Tensor

Table = np.ndarray[Any, Any]
FORMS = {1: "(N, C, L) or (C, L)", 2: "(N, C, H, W) or (C, H, W)", 3: "(N, C, D, H, W) or (C, D, H, W)"}


def adaptive_max_pool1d(input: Any, output_size: Any, return_indices: bool = False) -> Any:
    """The largest elements of windows that divide sequences (N, C, L) or (C, L) into ``output_size`` places.

    Otherwise as `adaptive_max_pool2d`.
    """
    return _adaptive_max(1, input, output_size, return_indices)


def adaptive_max_pool2d(input: Any, output_size: Any, return_indices: bool = False) -> Any:
    """The largest elements of windows that divide images (N, C, H, W), or one (C, H, W), into ``output_size``.

    It is a number, or a pair in which None keeps H or W. If the sizes do not divide evenly, neighbouring windows
    share pixels. With ``return_indices`` the result is a pair: values, and their places in the flattened image. Raises
    `ShapeError` for other numbers of axes, `ArgumentError` for sizes below 1.
    """
    return _adaptive_max(2, input, output_size, return_indices)


def adaptive_max_pool3d(input: Any, output_size: Any, return_indices: bool = False) -> Any:
    """The largest elements of windows that divide volumes (N, C, D, H, W) or (C, D, H, W) into ``output_size``.

    Otherwise as `adaptive_max_pool2d`.
    """
    return _adaptive_max(3, input, output_size, return_indices)


def adaptive_avg_pool3d(input: Any, output_size: Any) -> Tensor:
    """The means of windows that divide volumes (N, C, D, H, W) or (C, D, H, W) into ``output_size``.

    Otherwise as `adaptive_avg_pool2d`.
    """
    x, (deep, down, across) = _adaptive("adaptive_avg_pool3d", 3, as_tensor(input), output_size)
    *lead, d, h, w = x.shape
    planes = adaptive_avg_pool2d(x.reshape(-1, d, h, w), (down, across))
    means: Tensor = adaptive_avg_pool2d(planes.flatten(2).unsqueeze(1), (deep, None))
    return means.reshape(*lead, deep, down, across)


def max_pool3d(
    input: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:  # fmt: skip
    """The largest element of each window of volumes (N, C, D, H, W), or of one (C, D, H, W).

    Otherwise as `max_pool2d`; indices are those in the flattened volume.
    """
    x = as_tensor(input)
    tried, how = _windows("max_pool3d", x, kernel_size, stride, padding, dilation)
    tables = [_seen(tried, one, ceil_mode) for one in how]
    for table, (size, *_) in zip(tables, how, strict=True):
        inside = (table >= 0) & (table < size)
        if not inside.any(1).all():
            why = "some window would see nothing but padding"
            raise ShapeError(tried, why, "use less padding, less dilation or a larger window")
        first = np.take_along_axis(table, inside.argmax(1)[:, None], 1)
        table[:] = np.where(inside, table, first)  # instead of padding, the first place that the window sees
    return _largest("max_pool3d", x, tables, return_indices)


def avg_pool3d(
    input: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
    count_include_pad: bool = True, divisor_override: int | None = None,
) -> Tensor:  # fmt: skip
    """The mean of each window of volumes (N, C, D, H, W), or of one (C, D, H, W); otherwise as `avg_pool2d`."""
    x = as_tensor(input)
    refuse_bools("avg_pool3d", x)
    tried, how = _windows("avg_pool3d", x, kernel_size, stride, padding, 1)
    if divisor_override == 0:
        raise ArgumentError(
            f"{tried}, divisor_override=0", "no sum can be divided by 0", "leave it out, or give another number"
        )
    kernel, step, edge = ([one[i] for one in how] for i in (1, 2, 3))
    *lead, d, h, w = x.shape
    planes = avg_pool2d(x.reshape(-1, d, h, w), kernel[1:], step[1:], edge[1:], ceil_mode, True, 1)  # their sums
    sums = avg_pool2d(planes.flatten(2).unsqueeze(1), (kernel[0], 1), (step[0], 1), (edge[0], 0), ceil_mode, True, 1)
    sums = sums.reshape(*lead, sums.shape[2], *planes.shape[2:])
    many = [_counted(_seen(tried, one, ceil_mode), one[0], one[3] * count_include_pad) for one in how]
    divisor = as_tensor(many[0][:, None, None] * many[1][:, None] * many[2]).to(x.device)
    if divisor_override is not None:
        divisor = as_tensor(divisor_override)
    if is_float(x.dtype):
        return sums / divisor.to(x.dtype)
    return sums.div(divisor.to(x.dtype), rounding_mode="trunc")


def _windows(
    name: str, x: Tensor, kernel_size: Any, stride: Any, padding: Any, dilation: Any
) -> tuple[str, list[tuple[int, ...]]]:
    """The call for errors, and for each axis of a volume: its size, kernel, stride, padding and dilation."""
    tried = f"{name} of a tensor {tuple(x.shape)}, kernel_size={kernel_size!r}"
    _check_places(tried, 3, x)
    given = {"kernel_size": kernel_size, "stride": stride, "padding": padding, "dilation": dilation}
    if stride is None or stride in ((), []):
        given["stride"] = kernel_size
    parts = {name: counts(value, name, 3) for name, value in given.items()}
    for part, values in parts.items():
        least = 0 if part == "padding" else 1
        if min(values) < least:
            raise ShapeError(
                tried, f"the {part} is {values}, but it must be at least {least}", f"use {part}={least} or more"
            )
    how = list(zip(x.shape[-3:], *parts.values(), strict=True))
    if any(2 * p > d * (k - 1) + 1 for _, k, _, p, d in how):
        why = f"padding {parts['padding']} is more than half of the window {parts['kernel_size']}"
        raise ShapeError(tried, why, "use less padding, or a larger window")
    return tried, how


def _seen(tried: str, axis: tuple[int, ...], ceil_mode: bool) -> Table:
    """The places that each window sees on an axis, (windows, kernel): below 0, and from the size on, is padding."""
    size, kernel, stride, padding, dilation = axis
    room_left = size + 2 * padding - dilation * (kernel - 1) - 1
    count = -(-room_left // stride) + 1 if ceil_mode else room_left // stride + 1
    if ceil_mode and (count - 1) * stride >= size + padding:
        count -= 1  # a window that starts beyond the volume would see only padding
    if count < 1:
        why = f"a window of {dilation * (kernel - 1) + 1} does not fit into {size} places"
        raise ShapeError(tried, why, "use a smaller window")
    return np.arange(count)[:, None] * stride - padding + np.arange(kernel) * dilation


def _counted(table: Table, size: int, margin: int) -> Table:
    """How many places of each window lie on the axis, or at most ``margin`` beyond its ends."""
    return ((table >= -margin) & (table < size + margin)).sum(1)


def _adaptive_max(axes: int, input: Any, output_size: Any, return_indices: bool) -> Any:
    name = f"adaptive_max_pool{axes}d"
    x, size = _adaptive(name, axes, as_tensor(input), output_size)
    tables = [_shared_out(old, new) for old, new in zip(x.shape[-axes:], size, strict=True)]
    return _largest(name, x, tables, return_indices)


def _adaptive(name: str, axes: int, x: Tensor, output_size: Any) -> tuple[Tensor, tuple[int, ...]]:
    """The input, and the size that each axis of the result will have."""
    tried = f"{name} of a tensor {tuple(x.shape)} to {output_size!r}"
    given = tuple(output_size) if isinstance(output_size, (tuple, list)) else (output_size,) * axes
    _check_places(tried, axes, x)
    if len(given) != axes:
        why = f"there are {axes} axes to divide, but {len(given)} sizes"
        raise ShapeError(tried, why, "give one size for all, or one for each axis")
    size = counts(tuple(o if n is None else n for o, n in zip(x.shape[-axes:], given, strict=True)), name, axes)
    if min(size) < 1:
        raise ArgumentError(tried, "the result would be empty", "use sizes of 1 or more")
    room.check(tried, (*x.shape[:-axes], *size), 8)
    return x, size


def _check_places(tried: str, axes: int, x: Tensor) -> None:
    if x.ndim not in (axes + 1, axes + 2) or 0 in x.shape[-axes - 1 :]:
        why = f"it takes {FORMS[axes]}, with at least one channel and one place"
        raise ShapeError(tried, why, "add the missing axes: x.unsqueeze(0)")


def _shared_out(size: int, count: int) -> Table:
    """The places that each of ``count`` windows sees, (count, longest): shorter ones repeat their first place.

    Window i begins at i * size / count, rounded down, and ends at (i + 1) * size / count, rounded up.
    """
    i = np.arange(count)[:, None]
    first, end = i * size // count, -(-(i + 1) * size // count)
    places = first + np.arange((end - first).max())
    return np.where(places < end, places, first)


def _largest(name: str, x: Tensor, tables: list[Table], return_indices: bool) -> Any:
    """The largest element of each window, which sees the places in the tables of the last axes."""
    axes, sizes = len(tables), tuple(len(table) for table in tables)
    room.check(f"{name} of a tensor {tuple(x.shape)}", (*x.shape[:-axes], *(table.size for table in tables)), 8)
    flat = np.zeros((1, 1), int)
    for length, table in zip(x.shape[-axes:], tables, strict=True):  # places in the flattened volume, window by window
        joined = flat[:, None, :, None] * length + table[None, :, None, :]
        flat = joined.reshape(flat.shape[0] * table.shape[0], -1)
    places = as_tensor(flat).to(x.device)
    elements, lead = x.flatten(-axes), x.shape[:-axes]
    seen = elements.detach().index_select(-1, places.flatten()).reshape(*lead, *places.shape)
    best = seen.argmax(-1, True)
    indices = places.expand(seen.shape).gather(-1, best).squeeze(-1)
    values = elements.gather(-1, indices).reshape(*lead, *sizes)
    return (values, indices.reshape(*lead, *sizes)) if return_indices else values


explain_all(globals())
