"""Memory formats: in which order the elements of images lie, whatever order their axes are named in.

Images (N, C, H, W) are usually stored channel by channel. If the channels of each pixel are stored side by side
(``channels_last``), the shape stays the same and only the strides differ.
"""

from __future__ import annotations

from typing import Any

from ..backends.layout import channels_last as lies_channels_last
from ..core.dispatch import caller
from ..core.op import Op
from ..errors import DtypeError, ShapeError
from ..inputs.arguments import as_tensor
from ..inputs.kinds import explain_all, kind_of
from . import convert as ct

# mypy: disable-error-code="override"


class MemoryFormat:
    """An order of elements in memory: one of `contiguous_format`, `channels_last` and `preserve_format`."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> str:
        return self.name  # copies are the same object


contiguous_format = MemoryFormat("contiguous_format")  # row-major
channels_last = MemoryFormat("channels_last")  # of four axes, the second one innermost
preserve_format = MemoryFormat("preserve_format")  # the order of the given tensor


class Relaid(Op):
    """A copy whose axes lie in memory in this order, the outermost first. ``back`` puts them where they were."""

    computes = False
    dtypes = "each"

    @staticmethod
    def forward(xp: Any, x: Any, *, axes: Any, back: Any) -> Any:
        x = xp.permute(x, axes)
        flat = xp.copy(xp.reshape(x, (-1,)))
        return xp.permute(xp.reshape(flat, tuple(x.shape)), back)

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any) -> Any:
        return g


relaid = caller(Relaid)


def checked(what: str, x: Any, memory_format: Any) -> None:
    """Refuse what is not a format, and a format for another number of axes."""
    if not isinstance(memory_format, MemoryFormat):
        why = f"a memory format is one of three names, but this is {kind_of(memory_format)}"
        mend = "use contiguous_format, channels_last or preserve_format"
        raise DtypeError(f"{what} with memory_format={memory_format!r:.40}", why, mend)
    if memory_format is channels_last and x.array.ndim != 4:
        tried = f"{what} of a tensor {tuple(x.array.shape)} with memory_format=channels_last"
        why = f"that is an order of images (N, C, H, W), but this has {x.array.ndim} axes"
        raise ShapeError(tried, why, "leave memory_format out, or convert tensors of four axes only")


def lies(x: Any, memory_format: Any) -> bool:
    """Whether the elements lie in this order without gaps. Any format but `channels_last` stands for row-major."""
    if memory_format is not channels_last:
        return bool(x.is_contiguous())
    if x.array.ndim != 4:
        return False
    expected, array = x.array.dtype.itemsize, x.array
    for axis in (1, 3, 2, 0):
        if array.shape[axis] != 1 and array.strides[axis] != expected:
            return False
        expected *= array.shape[axis]
    return True


def fits(x: Any, memory_format: Any) -> bool:
    """Whether `to` leaves the tensor as it is: by its strides alone, gaps or not, as in PyTorch."""
    last = lies_channels_last(tuple(x.array.shape), x.array.strides)
    return memory_format is preserve_format or last is (memory_format is channels_last)


def clone(input: Any, *, memory_format: MemoryFormat | None = None) -> Any:
    """A copy in new memory; gradients pass through.

    The axes lie in memory in the same order as those of ``input``, unless ``memory_format`` says otherwise: see
    `formats`.
    """
    if memory_format is None:
        return ct.clone(input)
    x = as_tensor(input)
    checked("clone", x, memory_format)
    if memory_format is preserve_format:
        return ct.clone(x)
    same = tuple(range(x.ndim))
    axes, back = ((0, 2, 3, 1), (0, 3, 1, 2)) if memory_format is channels_last else (same, same)
    return relaid(x, axes=axes, back=back)


def contiguous(input: Any, *, memory_format: MemoryFormat = contiguous_format) -> Any:
    """Itself when its elements lie in row-major order already, else a copy in which they do.

    With ``memory_format=channels_last`` it is that order instead. Raises `ShapeError` unless there are four axes.
    """
    if memory_format is contiguous_format:  # the usual case
        return input if input.is_contiguous() else ct.contiguous_op(input)
    checked("contiguous", input, memory_format)
    if lies(input, memory_format):
        return input
    if memory_format is preserve_format:
        why, mend = (
            "its elements are not in row-major order, and preserve_format keeps them so",
            "use clone(), or leave memory_format out",
        )
        raise ShapeError(f"contiguous with memory_format={memory_format}", why, mend)
    return clone(input, memory_format=memory_format)


explain_all(globals(), "checked", "lies", "fits", "clone", "contiguous")
