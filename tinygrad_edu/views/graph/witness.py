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

    def __init__(
        self,
        function: Callable[..., Any],
        given: Iterable[tuple[str, Tensor]],
        found: Iterable[tuple[str, Tensor]],
    ) -> None:
        self._function = function
        names = source.visible(function)
        paths = {id(tensor): name for name, tensor in source.outside(function)}
        watched = [(name, tensor, name if names.get(name) is tensor else None) for name, tensor in given]
        watched += [(name, tensor, paths.get(id(tensor))) for name, tensor in found]
        self._seen = [(name, at, weakref.ref(tensor), id(tensor), _glance(tensor)) for name, tensor, at in watched]

    def changed(self) -> tuple[str, ...]:
        """The names of tensors that were written, replaced under their name, or asked for a gradient or not."""
        now = source.visible(self._function)
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
