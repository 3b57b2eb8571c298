"""`autocast`: an interceptor that casts operands before they meet."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..core.base import TensorBase
from ..core.slow import Interceptor
from ..dtypes import as_dtype, float16, float32, float64, is_float
from ..errors import ArgumentError, DtypeError
from ..settings import Decorating, Modes, modes
from ..tensor import Tensor
from .lists import LOWER, REFUSED, WIDEST, full

KINDS = ("cpu", "sim", "cuda")
NUMBERS = (bool, int, float)


class autocast(Decorating, Interceptor):
    """Run operations that gain by it in 16 bits, inside a with statement or a decorated function.

    ``device_type`` is "cpu", "sim" or "cuda": operations on other devices are not changed. ``dtype`` is bfloat16 or
    float16; by default bfloat16 on a CPU and float16 elsewhere. Matrix products, convolutions and attention cast their
    operands to it. Losses, and on "sim" and "cuda" also sums, powers, exponentials and normalisations, cast theirs to
    float32. Which operation does what is in `amp.lists`; float64 is left alone everywhere, and so are operations that
    write in place or to ``out=``, as in PyTorch.

    Keep parameters in float32, and call ``backward`` outside: each operation's backward runs in the dtype of its
    forward, and each gradient comes back in the dtype of its tensor. A weight that is used several times in a region
    is cast once, unless ``cache_enabled`` is False. Regions may be nested, and the innermost holds:
    ``autocast("cpu", enabled=False)`` switches it off for a while.
    """

    keeps = False

    def __init__(
        self, device_type: str, dtype: Any = None, enabled: bool = True, cache_enabled: bool | None = None
    ) -> None:
        if device_type not in KINDS:
            mend = f"use {', '.join(map(repr, KINDS))}: the device without its number"
            raise ArgumentError(f"autocast({device_type!r})", "there is no such type of device", mend)
        self.device_type, self.enabled = device_type, bool(enabled)
        self.dtype = as_dtype(dtype or ("bfloat16" if device_type == "cpu" else float16))
        if self.dtype.itemsize != 2 or not is_float(self.dtype):
            tried = f"autocast({device_type!r}, dtype={self.dtype})"
            raise DtypeError(tried, "it casts to a float of 16 bits", "use float16 or bfloat16, or enabled=False")
        self.cache_enabled = cache_enabled is None or bool(cache_enabled)
        self.casts: dict[Any, tuple[Tensor, int, Tensor]] = {}  # of a region: a weight, its last write, and its cast

    def afresh(self) -> autocast:
        """Another region with the same settings, in which nothing has been cast yet."""
        return type(self)(self.device_type, self.dtype, self.enabled, self.cache_enabled)

    def _restore(self, found: Modes) -> None:
        super()._restore(found)
        self.casts.clear()

    def _leave(self, kind: Any = None, error: Any = None, traceback: Any = None) -> None:
        super()._leave(kind, error, traceback)
        if not self._open:
            self.casts.clear()

    def given(self, name: str, operands: tuple[Any, ...]) -> tuple[Any, ...]:
        """The operands in the dtype in which this operation runs."""
        first = next((one for one in operands if isinstance(one, TensorBase)), None)
        kind = self.device_type
        if first is None or not self.enabled or kind_of(first) != kind or in_force(kind) is not self:
            return operands
        if name in LOWER:
            return tuple([self._cast(one, self.dtype) for one in operands])
        if name in full(kind) or (name == "div" and kind != "cpu" and type(operands[0]) in NUMBERS):
            return tuple([self._cast(one, float32) for one in operands])
        if name in WIDEST and kind != "cpu" and any(_eligible(one) and one.array.dtype == float32 for one in operands):
            return tuple([self._cast(one, float32) for one in operands])
        if name in REFUSED and kind != "cpu" and any(map(_eligible, operands)):
            why = "probabilities near 0 and 1 are not safe in 16 bits"
            raise DtypeError(f"{name} under autocast", why, "use binary_cross_entropy_with_logits, without the sigmoid")
        return operands

    def _cast(self, value: Any, dtype: Any) -> Any:
        """A tensor in another dtype; float64, integers and what is no tensor stay."""
        if not _eligible(value) or value.array.dtype == dtype:
            return value
        leaf = value.requires_grad and value.is_leaf and value.origin is None and value.dtype == float32
        if not (leaf and dtype == self.dtype and self.cache_enabled and modes().grad):
            return value.to(dtype)
        casts = next(one for one in modes().observers if isinstance(one, autocast)).casts
        written = 0 if value.storage is None else value.storage.stamp
        kept = casts.get((id(value), dtype))
        if kept is None or kept[1] != written:  # a weight that has been written since is cast again
            kept = casts[id(value), dtype] = value, written, value.to(dtype)
        return kept[2]


def _eligible(value: Any) -> bool:
    return isinstance(value, TensorBase) and is_float(value.array.dtype) and value.array.dtype != float64


def kind_of(tensor: Any) -> str:
    """The type of the device that a tensor is on: "sim" for "sim:1"."""
    return str(tensor.device).partition(":")[0]


def in_force(kind: str) -> autocast | None:
    """The innermost region for devices of this type."""
    return next((one for one in modes().observers[::-1] if isinstance(one, autocast) and one.device_type == kind), None)


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """Whether operations on devices of this type are cast here."""
    found = in_force(device_type)
    return found is not None and found.enabled


def get_autocast_dtype(device_type: str) -> Any:
    """The 16-bit dtype of the region that is in force for this type of device; else the default."""
    return (in_force(device_type) or autocast(device_type)).dtype


def is_autocast_available(device_type: str) -> bool:
    """Whether `autocast` knows this type of device: "cpu", "sim" or "cuda"."""
    return device_type in KINDS


# Functions with a backward of their own ------------------------------------------------------------------------------


def custom_fwd(fwd: Callable[..., Any] | None = None, *, device_type: str, cast_inputs: Any = None) -> Any:
    """Decorate the ``forward`` of an `autograd.Function` that is used under autocast. See `custom_bwd`.

    Without ``cast_inputs`` it runs as any code does. With it, tensors on this type of device are cast to that dtype
    first, and nothing inside is cast.
    """
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def forward(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        enabled = is_autocast_enabled(device_type)
        ctx._autocast = device_type, get_autocast_dtype(device_type), enabled and cast_inputs is None
        if cast_inputs is None or not enabled:
            return fwd(ctx, *args, **kwargs)
        target = as_dtype(cast_inputs)
        with autocast(device_type, enabled=False):
            return fwd(ctx, *_cast_all(args, device_type, target), **_cast_all(kwargs, device_type, target))

    return forward


def custom_bwd(bwd: Callable[..., Any] | None = None, *, device_type: str) -> Any:
    """Decorate the ``backward`` that belongs to a `custom_fwd`: it runs as that ran, under autocast or not."""
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def backward(ctx: Any, *args: Any) -> Any:
        with autocast(*ctx._autocast):
            return bwd(ctx, *args)

    return backward


def _cast_all(tree: Any, kind: str, dtype: Any) -> Any:
    if isinstance(tree, dict):
        return {key: _cast_all(value, kind, dtype) for key, value in tree.items()}
    if isinstance(tree, (list, tuple)):
        return type(tree)(_cast_all(value, kind, dtype) for value in tree)
    return tree.to(dtype) if _eligible(tree) and kind_of(tree) == kind else tree
