"""Pools: one number for each window. They have no parameters."""

from __future__ import annotations

from typing import Any

from ..ops.conv import counts
from ..tensor import Tensor
from . import functional as F
from .module import Module


class _MaxPool(Module):
    def __init__(
        self, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:  # fmt: skip
        super().__init__()
        self.kernel_size, self.stride = kernel_size, kernel_size if stride is None else stride
        self.padding, self.dilation = padding, dilation
        self.return_indices, self.ceil_mode = return_indices, ceil_mode

    def extra_repr(self) -> str:
        """Sizes."""
        sizes = f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"
        return f"{sizes}, dilation={self.dilation}, ceil_mode={self.ceil_mode}"


class MaxPool1d(_MaxPool):
    """The largest element of each window of sequences (N, C, L), or of one (C, L).

    By default ``stride`` is ``kernel_size``. With ``return_indices`` the result is a pair: values, and their positions.
    """

    def forward(self, input: Tensor) -> Any:
        """The pooled sequences. Raises `ShapeError` if some window would be empty."""
        return F.max_pool1d(
            input, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode, self.return_indices
        )


class MaxPool2d(_MaxPool):
    """The largest element of each window of images (N, C, H, W), or of one (C, H, W).

    By default ``stride`` is ``kernel_size``. With ``return_indices`` the result is a pair: values, and their places
    in the flattened image.
    """

    def forward(self, input: Tensor) -> Any:
        """The pooled images. Raises `ShapeError` if some window would be empty."""
        return F.max_pool2d(
            input, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode, self.return_indices
        )


class MaxPool3d(_MaxPool):
    """`MaxPool2d` for volumes (N, C, D, H, W), or for one (C, D, H, W)."""

    def forward(self, input: Tensor) -> Any:
        """The pooled volumes. Raises `ShapeError` if some window would be empty."""
        return F.max_pool3d(
            input, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode, self.return_indices
        )


class AvgPool1d(Module):
    """The mean of each window of sequences (N, C, L), or of one (C, L). By default ``stride`` is ``kernel_size``."""

    def __init__(
        self, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:  # fmt: skip
        super().__init__()
        self.kernel_size = counts(kernel_size, "kernel_size", 1)
        self.stride = self.kernel_size if stride is None else counts(stride, "stride", 1)
        self.padding = counts(padding, "padding", 1)
        self.ceil_mode, self.count_include_pad = ceil_mode, count_include_pad

    def forward(self, input: Tensor) -> Tensor:
        """The pooled sequences. Raises `ShapeError` if some window would be empty."""
        result: Tensor = F.avg_pool1d(
            input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad
        )
        return result

    def extra_repr(self) -> str:
        """Sizes."""
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class _AvgPool(Module):
    def __init__(
        self, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
        count_include_pad: bool = True, divisor_override: int | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.kernel_size, self.stride = kernel_size, kernel_size if stride is None else stride
        self.padding, self.ceil_mode = padding, ceil_mode
        self.count_include_pad, self.divisor_override = count_include_pad, divisor_override

    def extra_repr(self) -> str:
        """Sizes."""
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool2d(_AvgPool):
    """The mean of each window of images (N, C, H, W), or of one (C, H, W). By default ``stride`` is ``kernel_size``.

    Padding is zeros, which count as elements unless ``count_include_pad`` is false. ``divisor_override`` divides the
    sums instead of the count.
    """

    def forward(self, input: Tensor) -> Tensor:
        """The pooled images. Raises `ShapeError` if some window would be empty."""
        result: Tensor = F.avg_pool2d(
            input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad,
            self.divisor_override,
        )  # fmt: skip
        return result


class AvgPool3d(_AvgPool):
    """`AvgPool2d` for volumes (N, C, D, H, W), or for one (C, D, H, W)."""

    def forward(self, input: Tensor) -> Tensor:
        """The pooled volumes. Raises `ShapeError` if some window would be empty."""
        return F.avg_pool3d(
            input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad,
            self.divisor_override,
        )  # fmt: skip


class _AdaptivePool(Module):
    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = output_size

    def extra_repr(self) -> str:
        """The size of the result."""
        return f"output_size={self.output_size}"


class AdaptiveAvgPool1d(_AdaptivePool):
    """The means of windows that divide sequences (N, C, L), or one (C, L), into ``output_size`` places."""

    def forward(self, input: Tensor) -> Tensor:
        """The pooled sequences, (N, C, output_size)."""
        return F.adaptive_avg_pool1d(input, self.output_size)


class AdaptiveAvgPool2d(_AdaptivePool):
    """The means of windows that divide images (N, C, H, W), or one (C, H, W), into ``output_size`` places.

    It is a number, or a pair in which None keeps H or W; 1 gives the mean of each channel.
    """

    def forward(self, input: Tensor) -> Tensor:
        """The pooled images, (N, C, oh, ow)."""
        result: Tensor = F.adaptive_avg_pool2d(input, self.output_size)
        return result


class AdaptiveAvgPool3d(_AdaptivePool):
    """`AdaptiveAvgPool2d` for volumes (N, C, D, H, W), or for one (C, D, H, W)."""

    def forward(self, input: Tensor) -> Tensor:
        """The pooled volumes, (N, C, od, oh, ow)."""
        return F.adaptive_avg_pool3d(input, self.output_size)


class _AdaptiveMaxPool(_AdaptivePool):
    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__(output_size)
        self.return_indices = return_indices


class AdaptiveMaxPool1d(_AdaptiveMaxPool):
    """The largest elements of windows that divide sequences (N, C, L), or one (C, L), into ``output_size`` places.

    With ``return_indices`` the result is a pair: values, and their positions.
    """

    def forward(self, input: Tensor) -> Any:
        """The pooled sequences, (N, C, output_size)."""
        return F.adaptive_max_pool1d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool2d(_AdaptiveMaxPool):
    """The largest elements of windows that divide images (N, C, H, W), or one (C, H, W), into ``output_size``.

    It is a number, or a pair in which None keeps H or W. With ``return_indices`` the result is a pair: values, and
    their positions in the flattened image.
    """

    def forward(self, input: Tensor) -> Any:
        """The pooled images, (N, C, oh, ow)."""
        return F.adaptive_max_pool2d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool3d(_AdaptiveMaxPool):
    """`AdaptiveMaxPool2d` for volumes (N, C, D, H, W), or for one (C, D, H, W)."""

    def forward(self, input: Tensor) -> Any:
        """The pooled volumes, (N, C, od, oh, ow)."""
        return F.adaptive_max_pool3d(input, self.output_size, self.return_indices)
