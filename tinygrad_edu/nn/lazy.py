"""Lazy layers: they learn the number of features or channels from their first input, and then become ordinary layers.

A lazy layer is the ordinary layer, made for inputs of size 0, with an `UninitializedParameter` for each parameter and
an `UninitializedBuffer` for each running statistic. The first call looks at its input, gives these their shapes, draws
their first values as the ordinary layer does, and changes the layer's class.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from ..errors import ArgumentError, ShapeError
from ..inputs.kinds import JUNK
from ..settings import no_grad
from ..tensor import Tensor, as_tensor
from .conv import (
    Conv1d,
    Conv2d,
    Conv3d,
    ConvTranspose1d,
    ConvTranspose2d,
    ConvTranspose3d,
    _Conv,
    _Convolution,
    _Transposed,
)
from .linear import Linear
from .module import Module
from .normalisation import (
    BatchNorm1d,
    BatchNorm2d,
    BatchNorm3d,
    InstanceNorm1d,
    InstanceNorm2d,
    InstanceNorm3d,
    _BatchNorm,
    _InstanceNorm,
    _Running,
)
from .parameter import UninitializedBuffer, UninitializedParameter, is_lazy

Shape = tuple[int | None, ...]


class LazyModuleMixin(Module):
    """Base of modules that wait for their first input: ``class LazyScale(LazyModuleMixin, Scale)``.

    A subclass has parameters that are `UninitializedParameter`, and `initialize_parameters`, which gives them their
    shapes. The first call runs that before its hooks and forward, and makes the module one of ``cls_to_become``.

    If `initialize_parameters` refuses the first call, the module stays lazy and can be called again.
    """

    cls_to_become: ClassVar[type[Module] | None] = None  # None: it keeps its class

    def __call__(self, *inputs: Any, **options: Any) -> Any:
        proceed = super().__call__  # the module's class will be another
        if not self.__dict__.get("_sized"):
            try:
                self._wake(inputs, options)
            except JUNK as error:
                raise self._explained(inputs, options, error)  # noqa: B904
        return proceed(*inputs, **options)

    def _wake(self, inputs: tuple[Any, ...], options: dict[str, Any]) -> None:
        """Turn into the ordinary module, now that there is an input."""
        self.initialize_parameters(*inputs, **options)
        left = [name for name, _ in self._uninitialized()]
        if left:
            tried, why = f"{type(self).__name__}.initialize_parameters", f"{', '.join(left)} still has no shape"
            raise ShapeError(tried, why, f"give it one there: self.{left[0]}.materialize(shape)")
        if self.cls_to_become is None:
            self.__dict__["_sized"] = True
        else:
            self.__class__ = self.cls_to_become  # type: ignore[assignment]

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Give all parameters their shapes and first values, by the arguments of the first call. For subclasses."""
        raise NotImplementedError(f"{type(self).__name__} has no initialize_parameters(): define one")

    def has_uninitialized_params(self) -> bool:
        """Whether any of its own parameters or buffers has no shape yet."""
        return any(True for _ in self._uninitialized())

    def _uninitialized(self) -> Iterator[tuple[str, Any]]:
        for registry in (self._parameters, self._buffers):
            yield from ((name, tensor) for name, tensor in registry.items() if is_lazy(tensor))


class _Lazy(LazyModuleMixin):
    """What our own lazy layers share. Each knows how many channels an input has, and which shapes that number gives.

    Unlike PyTorch's, they check that loaded sizes agree with the layer and with its first input, and they fill in the
    number of channels whether they drew their parameters or loaded them.
    """

    size: ClassVar[str]  # the attribute that is filled in

    def reset_parameters(self) -> None:
        """Draw the parameters again, once they have shapes."""
        if not self.has_uninitialized_params():
            super().reset_parameters()  # type: ignore[misc]  # of the ordinary layer

    def _size(self, input: Tensor) -> int:
        """How many features or channels the input has. Raises `ShapeError` if the layer cannot take it."""
        raise NotImplementedError

    def _shapes(self, size: int | None) -> dict[str, Shape]:
        """The shapes of parameters and buffers, with None for what depends on an unknown ``size``."""
        raise NotImplementedError

    def _leave_open(self, device: str | None, dtype: Any, *, bias: bool) -> None:
        """Replace each parameter and running statistic, and the bias if wanted, by a tensor without a shape."""
        how = {"device": device, "dtype": dtype}
        for name in self._shapes(None):
            if self._buffers.get(name) is not None:
                setattr(self, name, UninitializedBuffer(**how))
            elif self._parameters.get(name) is not None or (name == "bias" and bias):
                setattr(self, name, UninitializedParameter(**how))

    def _wake(self, inputs: tuple[Any, ...], options: dict[str, Any]) -> None:
        if inputs or "input" in options:  # else forward says what is missing
            super()._wake(inputs, options)

    @no_grad()
    def initialize_parameters(self, input: Any, *args: Any, **kwargs: Any) -> None:
        """Give all parameters their shapes, by the first ``input``, and draw those that were not loaded before.

        Raises `ShapeError` if the layer cannot take it, or if the loaded parameters are for other inputs.
        """
        input = as_tensor(input)
        size = self._size(input)
        shapes = {name: shape for name, shape in self._shapes(size).items() if getattr(self, name) is not None}
        loaded = {name: getattr(self, name) for name in shapes if not is_lazy(getattr(self, name))}
        for name, tensor in loaded.items():
            if tuple(tensor.shape) != shapes[name]:
                tried = f"{type(self).__name__} of a tensor {tuple(input.shape)}, the first"
                why = f"its {name} already has shape {tuple(tensor.shape)}, but this input needs {shapes[name]}"
                raise ShapeError(tried, why, "pass an input like those that the loaded parameters were made for")
        setattr(self, self.size, size)
        if len(loaded) == len(shapes):
            return
        kept = {name: tensor.clone() for name, tensor in loaded.items()}
        for name, shape in shapes.items():
            if name not in loaded:
                getattr(self, name).materialize(shape)
        self.reset_parameters()
        for name, values in kept.items():
            loaded[name].copy_(values)

    def _awaits(self, name: str, shape: tuple[int, ...]) -> str:
        wanted = self._shapes(None).get(name, shape)
        if len(wanted) == len(shape) and all(n in (None, m) for n, m in zip(wanted, shape, strict=True)):
            return ""
        return f"({', '.join('any' if n is None else str(n) for n in wanted)}{',' * (len(wanted) == 1)})"


class LazyLinear(_Lazy, Linear):
    """A `Linear` layer that takes ``in_features`` from its first input, and then is one.

    >>> import tinygrad_edu as tg
    >>> layer = LazyLinear(8)
    >>> layer, layer.weight
    (LazyLinear(in_features=0, out_features=8, bias=True), <UninitializedParameter>)
    >>> layer(tg.ones(5, 3)).shape
    (5, 8)
    >>> layer
    Linear(in_features=3, out_features=8, bias=True)
    """

    cls_to_become = Linear
    size = "in_features"

    def __init__(self, out_features: int, bias: bool = True, device: str | None = None, dtype: Any = None) -> None:
        super().__init__(0, out_features, False)  # with a bias there would be numbers to draw
        self._leave_open(device, dtype, bias=bias)

    def _size(self, input: Tensor) -> int:
        if not input.ndim:
            tried, why = f"{type(self).__name__} of a tensor ()", "it takes (…, in_features), but this has no axis"
            raise ShapeError(tried, why, "give it one axis at least: x.reshape(1)")
        return input.shape[-1]

    def _shapes(self, size: int | None) -> dict[str, Shape]:
        return {"weight": (self.out_features, size), "bias": (self.out_features,)}


# Convolutions ---------------------------------------------------------------------------------------------------------


class _LazyConv(_Lazy, _Conv):
    """What all lazy convolutions share."""

    size = "in_channels"

    def _check(self) -> None:
        if self.groups < 1 or self.out_channels % self.groups:
            tried = f"{type(self).__name__}({self.out_channels}, {self.kernel_size}, groups={self.groups})"
            why = f"{self.out_channels} channels cannot be divided into {self.groups} groups"
            raise ArgumentError(tried, why, "use a number that divides them")
        super()._check()

    def _size(self, input: Tensor) -> int:
        name, shape, axes = type(self).__name__, tuple(input.shape), self.axes
        if len(shape) not in (axes + 1, axes + 2):
            places = ", ".join("DHW"[-axes:]) if axes > 1 else "L"
            why = f"it takes (N, C, {places}) or (C, {places}), but this has {len(shape)} ax{'ei'[len(shape) == 1]}s"
            raise ShapeError(f"{name} of a tensor {shape}", why, "reshape it, or use the layer for such inputs")
        channels = shape[-axes - 1]
        if channels % self.groups:
            why = f"its {channels} channels cannot be divided into {self.groups} groups"
            raise ArgumentError(f"{name} of a tensor {shape}", why, "use a number of groups that divides both")
        return channels

    def _shapes(self, size: int | None) -> dict[str, Shape]:
        inside = None if size is None else size // self.groups
        kernels = (size, self.out_channels // self.groups) if self.transposed else (self.out_channels, inside)
        return {"weight": (*kernels, *self.kernel_size), "bias": (self.out_channels,)}


class _LazyConvolution(_LazyConv, _Convolution):
    """`_LazyConv` in the order of arguments that PyTorch has for convolutions."""

    def __init__(
        self, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
        groups: int = 1, bias: bool = True, padding_mode: str = "zeros", device: str | None = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(0, out_channels, kernel_size, stride, padding, dilation, groups, False, padding_mode)
        self._leave_open(device, dtype, bias=bias)


class LazyConv1d(_LazyConvolution, Conv1d):
    """A `Conv1d` that takes ``in_channels`` from its first input, (N, C, L) or (C, L), and then is one."""

    cls_to_become = Conv1d


class LazyConv2d(_LazyConvolution, Conv2d):
    """A `Conv2d` that takes ``in_channels`` from its first input, (N, C, H, W) or (C, H, W), and then is one."""

    cls_to_become = Conv2d


class LazyConv3d(_LazyConvolution, Conv3d):
    """A `Conv3d` that takes ``in_channels`` from its first input, (N, C, D, H, W) or (C, D, H, W), and then is one."""

    cls_to_become = Conv3d


class _LazyTransposed(_LazyConv, _Transposed):
    """`_LazyConv` in the order of arguments that PyTorch has for transposes."""

    def __init__(
        self, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0, output_padding: Any = 0,
        groups: int = 1, bias: bool = True, dilation: Any = 1, padding_mode: str = "zeros",
        device: str | None = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(
            0, out_channels, kernel_size, stride, padding, output_padding, groups, False, dilation, padding_mode
        )
        self._leave_open(device, dtype, bias=bias)


class LazyConvTranspose1d(_LazyTransposed, ConvTranspose1d):
    """A `ConvTranspose1d` that takes ``in_channels`` from its first input, (N, C, L) or (C, L), and then is one."""

    cls_to_become = ConvTranspose1d


class LazyConvTranspose2d(_LazyTransposed, ConvTranspose2d):
    """A `ConvTranspose2d` that takes ``in_channels`` from its first input, with N or without, and then is one."""

    cls_to_become = ConvTranspose2d


class LazyConvTranspose3d(_LazyTransposed, ConvTranspose3d):
    """A `ConvTranspose3d` that takes ``in_channels`` from its first input, with N or without, and then is one."""

    cls_to_become = ConvTranspose3d


# Normalisation --------------------------------------------------------------------------------------------------------


class _LazyNorm(_Lazy, _Running):
    """What all lazy normalisations share: their arguments, and one number per channel in all that they hold.

    As in PyTorch, a `LazyBatchNorm1d` is not a `BatchNorm1d` until its first call; a `LazyLinear` is always a `Linear`.
    """

    size = "num_features"

    def __init__(
        self, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True, track_running_stats: bool = True,
        device: str | None = None, dtype: Any = None, *, bias: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(0, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)
        self._leave_open(device, dtype, bias=False)

    def _size(self, input: Tensor) -> int:
        return self._channels(input)

    def _shapes(self, size: int | None) -> dict[str, Shape]:
        return dict.fromkeys(("weight", "bias", "running_mean", "running_var"), (size,))


class LazyBatchNorm1d(_LazyNorm, _BatchNorm):
    """A `BatchNorm1d` that takes ``num_features`` from its first input, (N, C) or (N, C, L), and then is one."""

    cls_to_become = BatchNorm1d
    forms = BatchNorm1d.forms


class LazyBatchNorm2d(_LazyNorm, _BatchNorm):
    """A `BatchNorm2d` that takes ``num_features`` from its first input, (N, C, H, W), and then is one."""

    cls_to_become = BatchNorm2d
    forms = BatchNorm2d.forms


class LazyBatchNorm3d(_LazyNorm, _BatchNorm):
    """A `BatchNorm3d` that takes ``num_features`` from its first input, (N, C, D, H, W), and then is one."""

    cls_to_become = BatchNorm3d
    forms = BatchNorm3d.forms


class LazyInstanceNorm1d(_LazyNorm, _InstanceNorm):
    """An `InstanceNorm1d` that takes ``num_features`` from its first input, (N, C, L) or (C, L), and then is one.

    As in PyTorch, it learns a scale and a shift and keeps running statistics by default; the ordinary layer
    does neither.
    """

    cls_to_become = InstanceNorm1d
    forms = InstanceNorm1d.forms


class LazyInstanceNorm2d(_LazyNorm, _InstanceNorm):
    """`LazyInstanceNorm1d` for images (N, C, H, W), or for one (C, H, W)."""

    cls_to_become = InstanceNorm2d
    forms = InstanceNorm2d.forms


class LazyInstanceNorm3d(_LazyNorm, _InstanceNorm):
    """`LazyInstanceNorm1d` for volumes (N, C, D, H, W), or for one (C, D, H, W)."""

    cls_to_become = InstanceNorm3d
    forms = InstanceNorm3d.forms
