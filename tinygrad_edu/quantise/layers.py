"""Layers with weights in 8 bits. They are for inference: no gradient passes through them."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any

from ..dtypes import float32, int32
from ..errors import ArgumentError
from ..nn import functional as F
from ..nn.conv import Conv2d
from ..nn.linear import Linear
from ..nn.module import Module
from ..settings import no_grad
from ..tensor import Tensor
from .numbers import PIECE, Quantised, integer_product, quantise_tensor, scale_of


class _Quantised(Module):
    """What both layers share: buffers in 8 bits, and inputs that are put into 8 bits.

    ``weight`` is int8, ``scale`` float32 with one for each output, or 0-d. ``input_scale`` and ``input_zero_point``
    are there where inputs were seen before ("static"); else each input gets its own ("dynamic").
    """

    weight: Tensor
    scale: Tensor
    bias: Tensor | None
    input_scale: Tensor | None
    input_zero_point: Tensor | None

    def _take(self, layer: Any, per_channel: bool, bounds: tuple[float, float] | None) -> None:
        found = quantise_tensor(layer.weight, 0 if per_channel else None)
        bias = None if layer.bias is None else layer.bias.detach().to(float32).clone()
        scale, zero = (None, None) if bounds is None else scale_of(*bounds, symmetric=False)
        for name, value in {
            "weight": found.values, "scale": found.scale, "bias": bias, "input_scale": scale, "input_zero_point": zero
        }.items():  # fmt: skip
            self.register_buffer(name, value)

    def _input(self, x: Tensor) -> Quantised:
        return quantise_tensor(x, symmetric=False, scale=self.input_scale, zero_point=self.input_zero_point)

    def _kind(self) -> str:
        how = "dynamic" if self.input_scale is None else "static"
        return f"{how}, {'per channel' if self.scale.ndim else 'per tensor'}"


class QuantisedLinear(_Quantised):
    """A `Linear` whose weight is in 8 bits: inputs are put into 8 bits, multiplied exactly, and scaled back."""

    def __init__(self, layer: Linear, *, per_channel: bool = True, bounds: tuple[float, float] | None = None) -> None:
        super().__init__()
        self.in_features, self.out_features = layer.in_features, layer.out_features
        self._take(layer, per_channel, bounds)

    @no_grad()
    def forward(self, input: Tensor) -> Tensor:
        """(…, in_features) to (…, out_features), float32."""
        x = self._input(input)
        total = integer_product(x.centred(), self.weight.T).to(float32)
        out = total * (x.scale * self.scale)
        return out if self.bias is None else out + self.bias

    def extra_repr(self) -> str:
        """Sizes, and how it is quantised."""
        return f"in_features={self.in_features}, out_features={self.out_features}, {self._kind()}"


class QuantisedConv2d(_Quantised, Conv2d):
    """A `Conv2d` whose kernels are in 8 bits: images are put into 8 bits, convolved exactly, and scaled back."""

    def __init__(self, layer: Conv2d, *, per_channel: bool = True, bounds: tuple[float, float] | None = None) -> None:
        Module.__init__(self)
        for name in (
            "in_channels", "out_channels", "kernel_size", "stride", "padding", "dilation", "groups", "padding_mode",
            "output_padding",
        ):  # fmt: skip
            setattr(self, name, getattr(layer, name))
        self._take(layer, per_channel, bounds)

    @no_grad()
    def forward(self, input: Tensor) -> Tensor:
        """Images to images, float32."""
        padded, padding = self._padded(input)
        x = self._input(padded)
        images, kernels = x.centred(), self.weight.to(float32)
        total: Any = None
        # Sums over all channels might not fit into float32, so channels are taken in pieces.
        taken = max(PIECE // max(kernels[0, 0].numel(), 1), 1)
        each = kernels.shape[1]
        for start in range(0, each, taken):
            part = images if taken >= each else self._channels(images, start, taken)
            found = F.conv2d(
                part, kernels[:, start : start + taken], None, self.stride, padding, self.dilation, self.groups
            )
            found = found.to(int32)
            total = found if total is None else total + found
        out = total.to(float32) * (x.scale * self.scale).reshape(-1, 1, 1)
        return out if self.bias is None else out + self.bias.reshape(-1, 1, 1)

    def _channels(self, images: Tensor, start: int, count: int) -> Tensor:
        """These channels of each group."""
        each = self.in_channels // self.groups
        axis = images.ndim - 3
        split = images.reshape(*images.shape[:axis], self.groups, each, *images.shape[axis + 1 :])
        part = split[..., start : start + count, :, :]
        return part.reshape(*images.shape[:axis], -1, *images.shape[axis + 1 :])

    def extra_repr(self) -> str:
        """Channels, kernel and stride, and how it is quantised."""
        return f"{super().extra_repr()}, {self._kind()}"


KINDS: dict[type[Module], Any] = {Linear: QuantisedLinear, Conv2d: QuantisedConv2d}


def quantise(model: Module, data: Iterable[Any] | None = None, *, per_channel: bool = True) -> Module:
    """A copy of ``model``, in eval mode, whose linear layers and convolutions have their weights in 8 bits.

    Without ``data`` each input is put into 8 bits by its own range, when it comes ("dynamic"). With ``data``, batches
    as the model takes them, the range of each layer's inputs is observed once, and holds from then on ("static"): later
    inputs beyond it are clamped. ``per_channel`` gives each output a scale of its own. Its `state_dict` can be saved
    and loaded as any other. Raises `ArgumentError` where there is nothing to quantise, or ``data`` is empty.
    """
    if not isinstance(model, Module):
        raise ArgumentError(f"quantise({type(model).__name__})", "it is no module", "give an nn.Module")
    found = copy.deepcopy(model).eval()
    chosen = {name: layer for name, layer in found.named_modules() if type(layer) in KINDS}
    if not chosen:
        why = "it has no Linear and no Conv2d"
        raise ArgumentError(f"quantise({type(model).__name__})", why, "give a model that has one")
    bounds = {} if data is None else _observed(found, chosen, data)
    for name, layer in chosen.items():
        made = KINDS[type(layer)](layer, per_channel=per_channel, bounds=bounds.get(name))
        made.eval()
        if not name:
            return made
        parent, _, own = name.rpartition(".")
        setattr(found.get_submodule(parent), own, made)
    return found


def _observed(model: Module, layers: dict[str, Module], data: Iterable[Any]) -> dict[str, tuple[float, float]]:
    """The least and the greatest number that each layer was given."""
    seen: dict[str, tuple[float, float]] = {}

    def look(name: str) -> Any:
        def before(module: Module, inputs: tuple[Any, ...]) -> None:
            x = inputs[0].detach()
            low, high = seen.get(name, (0.0, 0.0))
            seen[name] = min(low, x.min().item()), max(high, x.max().item())

        return before

    handles = [layer.register_forward_pre_hook(look(name)) for name, layer in layers.items()]
    try:
        with no_grad():
            for batch in data:
                model(*(batch if isinstance(batch, (tuple, list)) else (batch,)))
    finally:
        for handle in handles:
            handle.remove()
    missing = [name for name in layers if name not in seen]
    if missing:
        why = f"no input has reached {', '.join(map(repr, missing))}"
        raise ArgumentError("quantise with data", why, "give batches that pass through all layers")
    return seen
