"""Convolutions, and their transposes."""

from __future__ import annotations

from typing import Any, ClassVar

from ..errors import ArgumentError, ShapeError
from ..ops.conv import check_word, counts
from ..tensor import Tensor
from ..tensor.creation import empty
from . import functional as F
from .linear import spread
from .module import Module
from .parameter import Parameter


class _Conv(Module):
    """What all convolutions share: arguments as tuples, parameters, and printing."""

    axes: ClassVar[int]
    transposed: ClassVar[bool] = False
    weight: Tensor
    bias: Tensor | None

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any, padding: Any, output_padding: Any,
        dilation: Any, groups: int, bias: bool, padding_mode: str, device: str | None, dtype: Any,
    ) -> None:  # fmt: skip
        super().__init__()
        axes = self.axes
        self.in_channels, self.out_channels = in_channels, out_channels
        self.kernel_size, self.stride = counts(kernel_size, "kernel_size", axes), counts(stride, "stride", axes)
        self.padding: Any = padding if isinstance(padding, str) else counts(padding, "padding", axes)
        self.dilation, self.groups = counts(dilation, "dilation", axes), groups
        self.output_padding = counts(output_padding, "output_padding", axes)
        self.padding_mode = padding_mode
        self._check()
        first, second = (in_channels, out_channels) if self.transposed else (out_channels, in_channels)
        self.weight = Parameter(empty(first, second // groups, *self.kernel_size, device=device, dtype=dtype))
        self.register_parameter("bias", Parameter(empty(out_channels, device=device, dtype=dtype)) if bias else None)
        self.reset_parameters()

    def _check(self) -> None:
        """Refuse arguments that no input could fit."""
        tried = f"{type(self).__name__}({self.in_channels}, {self.out_channels}, {self.kernel_size}"
        groups = self.groups
        if groups < 1 or self.in_channels % groups or self.out_channels % groups:
            why = f"{self.in_channels} and {self.out_channels} channels cannot both be divided into {groups} groups"
            raise ArgumentError(f"{tried}, groups={groups})", why, "use a number that divides both")
        if isinstance(self.padding, str):
            check_word(type(self).__name__, self.padding, self.stride)
        modes = ("zeros",) if self.transposed else ("zeros", "reflect", "replicate", "circular")
        if self.padding_mode not in modes:
            why, mend = "there is no such mode", f"use {' or '.join(map(repr, modes))}"
            raise ArgumentError(f"{tried}, padding_mode={self.padding_mode!r})", why, mend)

    def reset_parameters(self) -> None:
        """Draw the parameters again."""
        spread(self.weight, self.bias)

    def extra_repr(self) -> str:
        """Channels, kernel and stride, and whatever differs from the defaults."""
        usual = {"padding": 0, "dilation": 1, "output_padding": 0}
        parts = [f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"]
        for name, value in usual.items():
            if getattr(self, name) != (value,) * self.axes:
                parts.append(f"{name}={getattr(self, name)}")
        parts += [f"groups={self.groups}"] * (self.groups != 1) + ["bias=False"] * (self.bias is None)
        parts += [f"padding_mode={self.padding_mode}"] * (self.padding_mode != "zeros")
        return ", ".join(parts)


class _Convolution(_Conv):
    """`_Conv` in PyTorch's order of arguments."""

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0,
        dilation: Any = 1, groups: int = 1, bias: bool = True, padding_mode: str = "zeros",
        device: str | None = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, 0, dilation, groups, bias, padding_mode,
            device, dtype,
        )  # fmt: skip

    def _padded(self, input: Tensor) -> tuple[Tensor, Any]:
        """The input, and the zeros still to be put around it."""
        if self.padding_mode == "zeros":
            return input, self.padding
        edges: list[int] = []
        for i in reversed(range(self.axes)):  # from the last axis on
            total = self.dilation[i] * (self.kernel_size[i] - 1) if self.padding == "same" else 0
            edges += (total // 2, total - total // 2) if isinstance(self.padding, str) else (self.padding[i],) * 2
        return F.pad(input, edges, mode=self.padding_mode), 0


class Conv1d(_Convolution):
    """Kernels that slide along sequences: (N, in_channels, L), or one (in_channels, L), to (N, out_channels, length).

    ``weight`` is (out_channels, in_channels / groups, kernel_size), ``bias`` (out_channels,), or None with
    ``bias=False``; both start uniform over ±1/√(numbers that a kernel reads). ``padding`` is a number, ``"same"``
    or ``"valid"``; ``padding_mode`` says what goes there: ``"zeros"``, or what `functional.pad` calls "reflect",
    "replicate" or "circular". Raises `ArgumentError` for arguments that no input could fit.
    """

    axes = 1

    def forward(self, input: Tensor) -> Tensor:
        """The layer's output. Raises `ShapeError` for other channels, or sequences that are too short."""
        x, padding = self._padded(input)
        return F.conv1d(x, self.weight, self.bias, self.stride, padding, self.dilation, self.groups)


class Conv2d(_Convolution):
    """Kernels that slide over images: (N, in_channels, H, W), or one (in_channels, H, W), to (N, out_channels, oh, ow).

    ``kernel_size``, ``stride``, ``padding`` and ``dilation`` are numbers, or pairs for H and W; ``weight`` is
    (out_channels, in_channels / groups, kh, kw). Everything else is as for `Conv1d`.
    """

    axes = 2

    def forward(self, input: Tensor) -> Tensor:
        """The layer's output. Raises `ShapeError` for other channels, or images smaller than the kernel."""
        x, padding = self._padded(input)
        return F.conv2d(x, self.weight, self.bias, self.stride, padding, self.dilation, self.groups)


class Conv3d(_Convolution):
    """Kernels that slide through volumes: (N, in_channels, D, H, W), or without N, to (N, out_channels, od, oh, ow).

    ``kernel_size``, ``stride``, ``padding`` and ``dilation`` are numbers, or three for D, H and W; ``weight`` is
    (out_channels, in_channels / groups, kd, kh, kw). Everything else is as for `Conv1d`.
    """

    axes = 3

    def forward(self, input: Tensor) -> Tensor:
        """The layer's output. Raises `ShapeError` for other channels, or volumes smaller than the kernel."""
        x, padding = self._padded(input)
        return F.conv3d(x, self.weight, self.bias, self.stride, padding, self.dilation, self.groups)


class _Transposed(_Conv):
    """`_Conv` with PyTorch's order of arguments for transposes."""

    transposed = True

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0,
        output_padding: Any = 0, groups: int = 1, bias: bool = True, dilation: Any = 1, padding_mode: str = "zeros",
        device: str | None = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, output_padding, dilation, groups, bias,
            padding_mode, device, dtype,
        )  # fmt: skip

    def _check(self) -> None:
        if isinstance(self.padding, str):
            tried, why = f"{type(self).__name__} with padding={self.padding!r}", "here padding is cut off the result"
            raise ArgumentError(tried, why, "give the padding as a number")
        super()._check()

    def _output_padding(self, input: Tensor, output_size: Any) -> tuple[int, ...]:
        """What must be added to reach ``output_size``, whose leading axes may be left out."""
        if output_size is None:
            return self.output_padding
        axes, wanted = self.axes, tuple(output_size)
        sizes, how = wanted[-axes:], (self.stride, self.padding, self.dilation, self.kernel_size)
        least = [
            (length - 1) * s - 2 * p + d * (k - 1) + 1
            for length, s, p, d, k in zip(input.shape[-axes:], *how, strict=True)
        ]
        most = [size + s - 1 for size, s in zip(least, self.stride, strict=True)]
        right = [low <= size <= high for low, size, high in zip(least, sizes, most, strict=False)]
        if len(wanted) not in (axes, input.ndim) or not all(right):
            tried = f"{type(self).__name__} of a tensor {tuple(input.shape)} with output_size={wanted}"
            why = f"for this input the sizes are from {tuple(least)} to {tuple(most)}"
            raise ShapeError(tried, why, "choose one of them, or use another stride")
        return tuple(size - low for size, low in zip(sizes, least, strict=True))


class ConvTranspose1d(_Transposed):
    """The transpose of `Conv1d`, which makes sequences longer: (N, in_channels, L) to (N, out_channels, length).

    ``weight`` is (in_channels, out_channels / groups, kernel_size). See `functional.conv_transpose2d` for what the
    arguments do; instead of ``output_padding``, a call may give the ``output_size``.
    """

    axes = 1

    def forward(self, input: Tensor, output_size: Any = None) -> Tensor:
        """The layer's output. Raises `ShapeError` for other channels, or an impossible ``output_size``."""
        extra = self._output_padding(input, output_size)
        result: Tensor = F.conv_transpose1d(
            input, self.weight, self.bias, self.stride, self.padding, extra, self.groups, self.dilation
        )
        return result


class ConvTranspose2d(_Transposed):
    """The transpose of `Conv2d`, which makes images larger: (N, in_channels, H, W) to (N, out_channels, oh, ow).

    ``weight`` is (in_channels, out_channels / groups, kh, kw). See `functional.conv_transpose2d` for what the
    arguments do; instead of ``output_padding``, a call may give the ``output_size``.
    """

    axes = 2

    def forward(self, input: Tensor, output_size: Any = None) -> Tensor:
        """The layer's output. Raises `ShapeError` for other channels, or an impossible ``output_size``."""
        extra = self._output_padding(input, output_size)
        result: Tensor = F.conv_transpose2d(
            input, self.weight, self.bias, self.stride, self.padding, extra, self.groups, self.dilation
        )
        return result


class ConvTranspose3d(_Transposed):
    """The transpose of `Conv3d`, which makes volumes larger.

    (N, in_channels, D, H, W) becomes (N, out_channels, od, oh, ow), with or without N; ``weight`` is (in_channels,
    out_channels / groups, kd, kh, kw). Everything else is as for `ConvTranspose2d`.
    """

    axes = 3

    def forward(self, input: Tensor, output_size: Any = None) -> Tensor:
        """The layer's output. Raises `ShapeError` for other channels, or an impossible ``output_size``."""
        extra = self._output_padding(input, output_size)
        return F.conv_transpose3d(
            input, self.weight, self.bias, self.stride, self.padding, extra, self.groups, self.dilation
        )
