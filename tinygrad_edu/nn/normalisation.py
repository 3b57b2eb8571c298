"""Layers that bring numbers to mean 0 and variance 1, over a batch or within each of its elements."""

from __future__ import annotations

from typing import Any, ClassVar

from .. import backends
from ..common.lines import user_line
from ..core.inplace import own_buffer
from ..errors import ArgumentError, ShapeError
from ..inputs.arguments import new_shape
from ..inputs.outside import outside
from ..settings import modes
from ..tensor import Tensor
from ..tensor.creation import empty, ones, zeros
from . import functional as F
from . import init
from .module import Module
from .parameter import Parameter


class _Scaled(Module):
    """Parameters that scale and shift the normalised input, and start at 1 and 0; None where not wanted."""

    weight: Tensor | None
    bias: Tensor | None

    def _make(self, shape: tuple[int, ...], weight: bool, bias: bool, device: str | None, dtype: Any) -> None:
        for name, wanted in (("weight", weight), ("bias", bias)):
            self.register_parameter(name, Parameter(empty(shape, device=device, dtype=dtype)) if wanted else None)

    def reset_parameters(self) -> None:
        """Scale by 1, and shift by 0."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)


# Over channels --------------------------------------------------------------------------------------------------------


class _Running(_Scaled):
    """Normalisation of channels that may keep running statistics: parameters, buffers, and checks of the input."""

    forms: ClassVar[dict[int, str]]  # the axes of an input, by their number
    running_mean: Tensor | None
    running_var: Tensor | None
    num_batches_tracked: Tensor | None

    def __init__(
        self, num_features: int, eps: float, momentum: float | None, affine: bool, track_running_stats: bool,
        device: str | None, dtype: Any, bias: bool,
    ) -> None:  # fmt: skip
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        self._make((num_features,), affine, affine and bias, device, dtype)
        how = {"device": device, "dtype": dtype}
        kept = track_running_stats
        self.register_buffer("running_mean", zeros(num_features, **how) if kept else None)
        self.register_buffer("running_var", ones(num_features, **how) if kept else None)
        self.register_buffer("num_batches_tracked", zeros((), dtype="int64", device=device) if kept else None)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Forget all batches: mean 0, variance 1, count 0."""
        if self.running_mean is not None and self.running_var is not None and self.num_batches_tracked is not None:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """Scale by 1, shift by 0, and forget all batches."""
        self.reset_running_stats()
        super().reset_parameters()

    def _channels(self, input: Tensor) -> int:
        """The input's number of channels. Raises `ShapeError` if it has other axes."""
        name, shape = type(self).__name__, tuple(input.shape)
        form = self.forms.get(len(shape))
        if form is None:
            known = " or ".join(f"({', '.join(form)})" for form in self.forms.values())
            why = f"it takes {known}, but this has {len(shape)} ax{'i' if len(shape) == 1 else 'e'}s"
            raise ShapeError(f"{name} of a tensor {shape}", why, "reshape it, or use the layer for such inputs")
        return shape[form.index("C")]

    def _check(self, input: Tensor) -> None:
        channels, name = self._channels(input), type(self).__name__
        if channels != self.num_features:
            why = f"its C is {channels}, but the layer was made for {self.num_features}"
            raise ShapeError(f"{name} of a tensor {tuple(input.shape)}", why, f"make it {name}({channels})")

    def extra_repr(self) -> str:
        """Sizes, and which parameters and statistics there are."""
        how = f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}"
        return f"{how}, bias={self.bias is not None}, track_running_stats={self.track_running_stats}"


class _BatchNorm(_Running):
    """Batch normalisation for any number of axes."""

    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True,
        track_running_stats: bool = True, device: str | None = None, dtype: Any = None, *, bias: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias)

    def forward(self, input: Tensor) -> Tensor:
        """The normalised input. Raises `ShapeError` for other shapes, and in training for one value per channel."""
        self._check(input)
        mean, var, count = self.running_mean, self.running_var, self.num_batches_tracked
        tracking = self.training and self.track_running_stats
        if self.training and not tracking:
            mean = var = None
        momentum = 0.0 if self.momentum is None else self.momentum
        if tracking and count is not None:
            if modes().observers:
                outside("tensor", count)
            _check_place(count, input)
        if tracking and self.momentum is None and count is not None:  # the average over all batches so far
            momentum = 1 / (count.item() + 1)
        by_batch = self.training or (mean is None and var is None)
        out: Tensor = F.batch_norm(input, mean, var, self.weight, self.bias, by_batch, momentum, self.eps)
        if tracking and count is not None:
            array = own_buffer(count)  # a plain write, as for the running statistics: add_ would double the time
            try:
                array[...] = array + 1
            finally:
                count.storage.written("batch_norm", user_line())
        return out


def _check_place(count: Tensor, input: Tensor) -> None:
    """A count on another device than the input would not be among the steps that a trace replays."""
    home, place = backends.of(count.array), backends.of(input.array)
    if home is not place:
        tried = f"BatchNorm of a tensor {tuple(input.shape)} of {place.name}"
        mend = "pass it to the traced function as an input, or move the module to where the input is"
        raise ShapeError(tried, f"num_batches_tracked, of {home.name}, is increased in place", mend)


class BatchNorm1d(_BatchNorm):
    """Mean 0 and variance 1 for each channel of (N, C) or (N, C, L), over the batch and all positions.

    Then each channel times its ``weight``, plus its ``bias``, both (C,) and learnt with ``affine``. In training, mean
    and variance are those of the batch, and the buffers ``running_mean`` and ``running_var`` move towards them by
    ``momentum``; with ``momentum=None`` they are the averages over all batches. After ``eval()`` the buffers are used
    as they are; without ``track_running_stats`` there are none, and the batch is used there too.
    """

    forms: ClassVar = {2: "NC", 3: "NCL"}


class BatchNorm2d(_BatchNorm):
    """`BatchNorm1d` for images (N, C, H, W)."""

    forms: ClassVar = {4: "NCHW"}


class BatchNorm3d(_BatchNorm):
    """`BatchNorm1d` for volumes (N, C, D, H, W)."""

    forms: ClassVar = {5: "NCDHW"}


class _InstanceNorm(_Running):
    """Instance normalisation for any number of axes."""

    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = False,
        track_running_stats: bool = False, device: str | None = None, dtype: Any = None, *, bias: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias)

    def forward(self, input: Tensor) -> Tensor:
        """The normalised input. Raises `ShapeError` for other shapes, and if a channel has only one position."""
        self._check(input)
        alone = self.forms[input.ndim][0] == "C"
        by_input = self.training or not self.track_running_stats
        out = F.instance_norm(
            input.unsqueeze(0) if alone else input, self.running_mean, self.running_var, self.weight, self.bias,
            by_input, 0.0 if self.momentum is None else self.momentum, self.eps,
        )  # fmt: skip
        return out.squeeze(0) if alone else out


class InstanceNorm1d(_InstanceNorm):
    """Mean 0 and variance 1 for each channel of each sequence, (N, C, L), or of one (C, L).

    ``weight`` and ``bias`` are learnt with ``affine``. With ``track_running_stats``, the averages over sequences are
    kept, and used after ``eval()``. Unlike in PyTorch, ``num_features`` must always be the number of channels.
    """

    forms: ClassVar = {2: "CL", 3: "NCL"}


class InstanceNorm2d(_InstanceNorm):
    """`InstanceNorm1d` for images (N, C, H, W), or for one (C, H, W)."""

    forms: ClassVar = {3: "CHW", 4: "NCHW"}


class InstanceNorm3d(_InstanceNorm):
    """`InstanceNorm1d` for volumes (N, C, D, H, W), or for one (C, D, H, W)."""

    forms: ClassVar = {4: "CDHW", 5: "NCDHW"}


class GroupNorm(_Scaled):
    """Mean 0 and variance 1 for each of ``num_groups`` groups of channels of each element of a batch (N, C, …).

    Then each channel times its ``weight``, plus its ``bias``, both (C,) and learnt with ``affine``.
    Raises `ArgumentError` if the groups cannot be equally large, `ShapeError` for an input with other channels.
    """

    def __init__(
        self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True,
        device: str | None = None, dtype: Any = None, *, bias: bool = True,
    ) -> None:  # fmt: skip
        super().__init__()
        if num_groups < 1 or num_channels % num_groups:
            tried, why = f"GroupNorm({num_groups}, {num_channels})", "the groups cannot have equally many channels"
            raise ArgumentError(tried, why, "use a number of groups that divides the number of channels")
        self.num_groups, self.num_channels, self.eps, self.affine = num_groups, num_channels, eps, affine
        self._make((num_channels,), affine, affine and bias, device, dtype)
        self.reset_parameters()

    def forward(self, input: Tensor) -> Tensor:
        """The normalised input. Raises `ShapeError` for another number of channels."""
        if input.ndim > 1 and input.shape[1] != self.num_channels:
            tried, why = f"{self} of a tensor {tuple(input.shape)}", f"it has {input.shape[1]} channels"
            raise ShapeError(tried, why, f"make it GroupNorm({self.num_groups}, {input.shape[1]})")
        result: Tensor = F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)
        return result

    def extra_repr(self) -> str:
        """Sizes, and which parameters there are."""
        sizes = f"{self.num_groups}, {self.num_channels}, eps={self.eps}"
        return f"{sizes}, affine={self.affine}, bias={self.bias is not None}"


# Over the last axes ---------------------------------------------------------------------------------------------------


class LayerNorm(_Scaled):
    """Mean 0 and variance 1 over the last axes, whose sizes are ``normalized_shape``: a number, or a tuple.

    Then each element is multiplied by its ``weight``, plus its ``bias``, both in that shape and learnt with
    ``elementwise_affine``; there is no bias with ``bias=False``. Raises `ShapeError` if an input has other last axes.
    """

    def __init__(
        self, normalized_shape: Any, eps: float = 1e-5, elementwise_affine: bool = True, bias: bool = True,
        device: str | None = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.normalized_shape, self.eps = new_shape(type(self).__name__, (normalized_shape,)), eps
        self.elementwise_affine = elementwise_affine
        self._make(self.normalized_shape, elementwise_affine, elementwise_affine and bias, device, dtype)
        self.reset_parameters()

    def forward(self, input: Tensor) -> Tensor:
        """The normalised input."""
        result: Tensor = F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)
        return result

    def extra_repr(self) -> str:
        """Sizes, and which parameters there are."""
        sizes = f"{self.normalized_shape}, eps={self.eps}"
        return f"{sizes}, elementwise_affine={self.elementwise_affine}, bias={self.bias is not None}"


class RMSNorm(_Scaled):
    """The last axes, of ``normalized_shape``, divided by the root of their mean square, times ``weight``.

    By default ``eps`` is the dtype's smallest step at 1. Raises `ShapeError` if an input has other last axes.
    """

    def __init__(
        self, normalized_shape: Any, eps: float | None = None, elementwise_affine: bool = True,
        device: str | None = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.normalized_shape, self.eps = new_shape(type(self).__name__, (normalized_shape,)), eps
        self.elementwise_affine = elementwise_affine
        self._make(self.normalized_shape, elementwise_affine, False, device, dtype)
        self.reset_parameters()

    def forward(self, x: Tensor) -> Tensor:
        """The normalised input."""
        result: Tensor = F.rms_norm(x, self.normalized_shape, self.weight, self.eps)
        return result

    def extra_repr(self) -> str:
        """Sizes, and which parameters there are."""
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


# Over neighbouring channels -------------------------------------------------------------------------------------------


class LocalResponseNorm(Module):
    """Each element of (N, C, …), the smaller, the larger ``size`` neighbouring channels are at its position.

    See `functional.local_response_norm` for the formula. It has no parameters.
    """

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        super().__init__()
        self.size, self.alpha, self.beta, self.k = size, alpha, beta, k

    def forward(self, input: Tensor) -> Tensor:
        """The normalised input. Raises `ShapeError` for fewer than three axes."""
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self) -> str:
        """The numbers of the formula."""
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"
