"""The slots that every tensor has. What tensors can *do* is in `tinygrad_edu.tensor`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .graph import Node


class TensorBase:
    """An array and its place in the graph.

    The exact type ``Tensor`` promises a NumPy array and a node that is up to date: generated callers rely on it.
    Everything else (another device, a recording, a view whose base was written) is an instance of `SlowTensor`.
    """

    __slots__ = ("__weakref__", "array", "gradient", "name", "node", "origin", "parameter", "storage")

    array: Any  # the raw array of the tensor's device
    node: Node | None  # what made it, a Leaf, or None when no gradient is wanted
    storage: Any  # the buffer's Storage once something asked for one, else None
    # Rarely set. There is no `__getattr__` to stand in for them: with one, Python reads every attribute more slowly.
    gradient: Any  # a tensor of the same shape; what users know as ``.grad``
    origin: Any  # an `inplace.View` when it shares a base tensor's memory
    name: str | None
    parameter: bool

    if TYPE_CHECKING:  # what `Tensor` adds

        def __getattr__(self, name: str) -> Any: ...

    @property
    def device(self) -> str:
        """The name of the device that the elements live on."""
        raise NotImplementedError

    def _stand_on_fast_path(self, plain: bool) -> None:
        """Set whether generated callers may treat this tensor as a plain one."""
        raise NotImplementedError
