"""Layers that move elements and learn nothing."""

from __future__ import annotations

from typing import Any, ClassVar

from ..errors import ShapeError
from ..tensor import Tensor
from . import functional as F
from .module import Module


class Flatten(Module):
    """The axes from ``start_dim`` to ``end_dim`` as one: by default, all but the first."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, input: Tensor) -> Tensor:
        """The same elements, with fewer axes."""
        result: Tensor = input.flatten(self.start_dim, self.end_dim)
        return result

    def extra_repr(self) -> str:
        """The axes."""
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """Axis ``dim`` as several, of ``unflattened_size``, one of which may be -1: the rest."""

    def __init__(self, dim: int, unflattened_size: Any) -> None:
        super().__init__()
        self.dim, self.unflattened_size = dim, unflattened_size

    def forward(self, input: Tensor) -> Tensor:
        """The same elements, with more axes. Raises `ShapeError` where the sizes do not multiply to the axis's own."""
        result: Tensor = input.unflatten(self.dim, self.unflattened_size)
        return result

    def extra_repr(self) -> str:
        """The axis and the sizes."""
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"


class _Pad(Module):
    """Edges moved outwards, or inwards if a number is negative: `functional.pad` of the last axes."""

    axes: ClassVar[int]
    mode: ClassVar[str] = "constant"
    value: float | None = None

    def __init__(self, padding: Any) -> None:
        super().__init__()
        edges = 2 * self.axes
        self.padding = tuple(padding) if isinstance(padding, (tuple, list)) else (padding,) * edges
        if len(self.padding) != edges:
            form = f"({', '.join(('left', 'right', 'top', 'bottom', 'front', 'back')[:edges])})"
            tried, why = f"{type(self).__name__}({padding})", f"there are {edges} edges"
            raise ShapeError(tried, why, f"give one number for all, or {form}")

    def forward(self, input: Tensor) -> Tensor:
        """The padded input. Raises `ShapeError` where an axis is too short for its mode."""
        result: Tensor = F.pad(input, self.padding, self.mode, self.value)
        return result

    def extra_repr(self) -> str:
        """The padding."""
        return f"{self.padding}"


class _ConstantPad(_Pad):
    def __init__(self, padding: Any, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def extra_repr(self) -> str:
        """The padding and the value."""
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_ConstantPad):
    """``value`` around sequences (…, L): ``padding`` is one number, or (left, right)."""

    axes = 1


class ConstantPad2d(_ConstantPad):
    """``value`` around images (…, H, W): ``padding`` is one number, or (left, right, top, bottom)."""

    axes = 2


class ConstantPad3d(_ConstantPad):
    """``value`` around volumes (…, D, H, W): one number, or (left, right, top, bottom, front, back)."""

    axes = 3


class ZeroPad1d(_Pad):
    """Zeros around sequences (…, L): ``padding`` is one number, or (left, right)."""

    axes = 1
    value = 0.0


class ZeroPad2d(_Pad):
    """Zeros around images (…, H, W): ``padding`` is one number, or (left, right, top, bottom)."""

    axes = 2
    value = 0.0


class ZeroPad3d(_Pad):
    """Zeros around volumes (…, D, H, W): one number, or (left, right, top, bottom, front, back)."""

    axes = 3
    value = 0.0


class ReflectionPad1d(_Pad):
    """Sequences (…, C, L) mirrored at their ends, which are not repeated."""

    axes, mode = 1, "reflect"


class ReflectionPad2d(_Pad):
    """Images (…, C, H, W) mirrored at their edges, which are not repeated."""

    axes, mode = 2, "reflect"


class ReflectionPad3d(_Pad):
    """Volumes (…, C, D, H, W) mirrored at their faces, which are not repeated."""

    axes, mode = 3, "reflect"


class ReplicationPad1d(_Pad):
    """Sequences (…, C, L) whose first and last elements are repeated."""

    axes, mode = 1, "replicate"


class ReplicationPad2d(_Pad):
    """Images (…, C, H, W) whose edges are repeated."""

    axes, mode = 2, "replicate"


class ReplicationPad3d(_Pad):
    """Volumes (…, C, D, H, W) whose faces are repeated."""

    axes, mode = 3, "replicate"


class CircularPad1d(_Pad):
    """Sequences (…, C, L) that continue at the other end."""

    axes, mode = 1, "circular"


class CircularPad2d(_Pad):
    """Images (…, C, H, W) that continue at the other side."""

    axes, mode = 2, "circular"


class PixelShuffle(Module):
    """Channels laid out as pixels: (…, C * r², H, W) to (…, C, H * r, W * r), for r = ``upscale_factor``."""

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor = upscale_factor

    def forward(self, input: Tensor) -> Tensor:
        """Larger images. Raises `ShapeError` if the number of channels is not a multiple of r²."""
        return F.pixel_shuffle(input, self.upscale_factor)

    def extra_repr(self) -> str:
        """The factor."""
        return f"upscale_factor={self.upscale_factor}"


class PixelUnshuffle(Module):
    """Pixels stacked as channels: (…, C, H * r, W * r) to (…, C * r², H, W), for r = ``downscale_factor``."""

    def __init__(self, downscale_factor: int) -> None:
        super().__init__()
        self.downscale_factor = downscale_factor

    def forward(self, input: Tensor) -> Tensor:
        """Smaller images. Raises `ShapeError` if H or W is not a multiple of r."""
        return F.pixel_unshuffle(input, self.downscale_factor)

    def extra_repr(self) -> str:
        """The factor."""
        return f"downscale_factor={self.downscale_factor}"


class Unfold(Module):
    """The windows of images (N, C, H, W) as columns (N, C * kh * kw, windows): `functional.unfold`."""

    def __init__(self, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> None:
        super().__init__()
        self.kernel_size, self.dilation, self.padding, self.stride = kernel_size, dilation, padding, stride

    def forward(self, input: Tensor) -> Tensor:
        """The columns. Raises `ShapeError` where no window fits."""
        return F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        """Sizes."""
        sizes = f"kernel_size={self.kernel_size}, dilation={self.dilation}"
        return f"{sizes}, padding={self.padding}, stride={self.stride}"


class Fold(Module):
    """Columns (N, C * kh * kw, windows) added back to images (N, C, H, W) of ``output_size``: `functional.fold`."""

    def __init__(
        self, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
    ) -> None:
        super().__init__()
        self.output_size, self.kernel_size = output_size, kernel_size
        self.dilation, self.padding, self.stride = dilation, padding, stride

    def forward(self, input: Tensor) -> Tensor:
        """The images. Raises `ShapeError` where there are more or fewer windows than these have."""
        return F.fold(input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        """Sizes."""
        sizes = f"output_size={self.output_size}, kernel_size={self.kernel_size}"
        return f"{sizes}, dilation={self.dilation}, padding={self.padding}, stride={self.stride}"


class Upsample(Module):
    """(N, C, L) or (N, C, H, W) made larger or smaller: `functional.interpolate`, with its arguments and errors."""

    def __init__(
        self, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        many = isinstance(scale_factor, (tuple, list))
        self.scale_factor = tuple(map(float, scale_factor)) if many else scale_factor and float(scale_factor)
        self.size, self.mode, self.align_corners = size, mode, align_corners
        self.recompute_scale_factor = recompute_scale_factor

    def forward(self, input: Tensor) -> Tensor:
        """The resized input."""
        return F.interpolate(
            input, self.size, self.scale_factor, self.mode, self.align_corners, self.recompute_scale_factor
        )

    def extra_repr(self) -> str:
        """How large, and how."""
        how = f"size={self.size!r}" if self.scale_factor is None else f"scale_factor={self.scale_factor!r}"
        return f"{how}, mode={self.mode!r}"
