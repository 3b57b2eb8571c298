"""Pools whose windows share an axis out into a given number of places, and pools of volumes (N, C, D, H, W).

For a largest element, a table says which places each window sees; gradients go to the first of equal ones. Means of
windows along one axis after the other are the means of the whole windows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...backends import room
from ...errors import ArgumentError, ShapeError
from ...inputs.arguments import as_tensor
from ...inputs.kinds import explain_all
from ...ops.conv import counts
from ...tensor import Tensor

Table = np.ndarray[Any, Any]
FORMS = {1: "(N, C, L) or (C, L)", 2: "(N, C, H, W) or (C, H, W)", 3: "(N, C, D, H, W) or (C, D, H, W)"}


def adaptive_max_pool1d(input: Any, output_size: Any, return_indices: bool = False) -> Any:
    """The largest elements of windows that share sequences (N, C, L) or (C, L) out into ``output_size`` places.

    Otherwise as `adaptive_max_pool2d`.
    """
    return _adaptive_max(1, input, output_size, return_indices)


def adaptive_max_pool2d(input: Any, output_size: Any, return_indices: bool = False) -> Any:
    """The largest elements of windows that share images (N, C, H, W), or one (C, H, W), out into ``output_size``.

    It is a number, or a pair in which None keeps H or W. Where the sizes do not divide, neighbouring windows share
    pixels. With ``return_indices`` the result is a pair: values, and their places in the flattened image. Raises
    `ShapeError` for other numbers of axes, `ArgumentError` for sizes below 1.
    """
    return _adaptive_max(2, input, output_size, return_indices)


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
        why = f"there are {axes} axes to share out, and {len(given)} sizes"
        raise ShapeError(tried, why, "give one size for all, or one for each axis")
    size = counts(tuple(o if n is None else n for o, n in zip(x.shape[-axes:], given, strict=True)), name, axes)
    if min(size) < 1:
        raise ArgumentError(tried, "a result without places would hold nothing", "use sizes of 1 or more")
    room.check(tried, (*x.shape[:-axes], *size), 8)
    return x, size


def _check_places(tried: str, axes: int, x: Tensor) -> None:
    if x.ndim not in (axes + 1, axes + 2) or 0 in x.shape[-axes - 1 :]:
        why = f"it takes {FORMS[axes]}, with at least one channel and one place"
        raise ShapeError(tried, why, "add the missing axes: x.unsqueeze(0)")


def _shared_out(size: int, count: int) -> Table:
    """What each of ``count`` windows sees of an axis, (count, longest): shorter ones see their first place again.

    Window i begins at i * size / count, rounded down, and ends where the next one would begin, rounded up.
    """
    i = np.arange(count)[:, None]
    first, end = i * size // count, -(-(i + 1) * size // count)
    places = first + np.arange((end - first).max())
    return np.where(places < end, places, first)


def _largest(name: str, x: Tensor, tables: list[Table], return_indices: bool) -> Any:
    """The largest element of each window, which sees the places that the tables of the last axes say."""
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
