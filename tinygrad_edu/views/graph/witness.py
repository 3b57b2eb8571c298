"""What a run began with, kept to see whether it still holds: a picture shows the values of its moment."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ... import backends
from ...tensor import Tensor
from . import source

WHOLE = 1 << 22  # bytes of one tensor that are compared; of a larger one, as many from both ends


class Witness:
    """Remembers the tensors of a recorded run, and names those that are not as they were."""

    def __init__(self, function: Callable[..., Any], tensors: Iterable[tuple[str, Tensor]]) -> None:
        self._function = function
        outside = {id(tensor): name for name, tensor in source.outside(function)}
        self._seen = [
            (name, outside.get(id(tensor)), weakref.ref(tensor), id(tensor), _glance(tensor))
            for name, tensor in tensors
        ]

    def changed(self) -> tuple[str, ...]:
        """The names of tensors that were written, replaced under their name, or asked for a gradient or not."""
        now = dict(source.outside(self._function))
        found: dict[str, None] = {}
        for name, outer, reference, key, before in self._seen:
            tensor = reference()
            replaced = outer is not None and id(now.get(outer)) != key
            if replaced or (tensor is not None and _glance(tensor) != before):
                found[name] = None
        return tuple(found)


def _glance(tensor: Tensor) -> tuple[Any, ...]:
    """Equal to the last one if the tensor is as it was then."""
    values = np.asarray(backends.of(tensor.array).to_numpy(tensor.array))
    flat = values.reshape(-1)
    part = WHOLE // max(values.itemsize, 1)
    if flat.size > part:
        flat = np.concatenate([flat[: part // 2], flat[-part // 2 :]])
    return tensor.requires_grad, values.dtype.name, values.shape, flat.tobytes()
