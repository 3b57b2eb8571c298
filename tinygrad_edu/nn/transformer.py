"""Transformers: layers in which every element of a sequence attends to the others."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from ..backends import room
from ..errors import ArgumentError
from ..settings import modes
from ..tensor import Tensor
from ..tensor.creation import full
from . import functional as F
from .attention import NOTHING, MultiheadAttention
from .containers import ModuleList
from .dropout import Dropout
from .init import xavier_uniform_
from .linear import Linear
from .module import Module
from .normalisation import LayerNorm

Activation = str | Callable[[Any], Any]


class _Layer(Module):
    """What both layers share: self-attention, two linear layers, and the residual and norm around each part."""

    activation: Any

    def __init__(
        self, attentions: tuple[str, ...], d_model: int, nhead: int, dim_feedforward: int, dropout: float,
        activation: Activation, layer_norm_eps: float, batch_first: bool, norm_first: bool, bias: bool,
        device: str | None, dtype: Any,
    ) -> None:  # fmt: skip
        super().__init__()
        place: dict[str, Any] = {"device": device, "dtype": dtype}
        for name in attentions:
            self.add_module(name, MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first, **place))
        self.linear1 = Linear(d_model, dim_feedforward, bias, **place)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias, **place)
        self.norm_first = norm_first
        numbers = range(1, len(attentions) + 2)
        for i in numbers:
            self.add_module(f"norm{i}", LayerNorm(d_model, layer_norm_eps, bias=bias, **place))
        for i in numbers:
            self.add_module(f"dropout{i}", Dropout(dropout))
        self.activation = _activation(activation)

    def _around(self, x: Tensor, number: int, part: Callable[[Tensor], Tensor]) -> Tensor:
        """``x`` plus ``part`` of it, with the norm first or last."""
        norm, dropout = getattr(self, f"norm{number}"), getattr(self, f"dropout{number}")
        result: Tensor = x + dropout(part(norm(x))) if self.norm_first else norm(x + dropout(part(x)))
        return result

    def _feed_forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.linear2(self.dropout(self.activation(self.linear1(x))))
        return result


def _activation(activation: Activation) -> Any:
    known: dict[Any, Any] = {"relu": F.relu, "gelu": F.gelu}
    if isinstance(activation, str) and activation not in known:
        tried, why = f"a transformer layer with activation={activation!r}", "the names are 'relu' and 'gelu'"
        raise ArgumentError(tried, why, "use one of them, or pass a function or a module")
    return known[activation] if isinstance(activation, str) else activation


class TransformerEncoderLayer(_Layer):
    """Self-attention, then two linear layers with an activation between them; each part adds to its input.

    A norm follows each part, or precedes it with ``norm_first``. ``dim_feedforward`` is the width between the linear
    layers; ``activation`` is "relu", "gelu", a function or a module. With ``batch_first`` the input is (N, L, d_model),
    else (L, N, d_model). Raises `ArgumentError` for an unknown activation and for heads that do not divide d_model.

    >>> import tinygrad_edu as tg
    >>> tg.nn.TransformerEncoderLayer(8, nhead=2, dim_feedforward=16, batch_first=True)(tg.zeros(5, 3, 8)).shape
    (5, 3, 8)
    """

    def __init__(
        self, d_model: int, nhead: int, dim_feedforward: int = 2048, dropout: float = 0.1,
        activation: Activation = F.relu, layer_norm_eps: float = 1e-5, batch_first: bool = False,
        norm_first: bool = False, bias: bool = True, device: str | None = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(
            ("self_attn",), d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first,
            norm_first, bias, device, dtype,
        )  # fmt: skip

    def forward(
        self, src: Any, src_mask: Any = None, src_key_padding_mask: Any = None, is_causal: bool = False
    ) -> Tensor:
        """The layer's output, of the shape of ``src``. The masks are those of `MultiheadAttention`."""

        def look(x: Tensor) -> Tensor:
            found: Tensor = self.self_attn(x, x, x, src_key_padding_mask, False, src_mask, is_causal=is_causal)[0]
            return found

        return self._around(self._around(src, 1, look), 2, self._feed_forward)


class TransformerDecoderLayer(_Layer):
    """Like an encoder layer, with a second attention inside: ``tgt`` attends to ``memory``, the encoder's output."""

    def __init__(
        self, d_model: int, nhead: int, dim_feedforward: int = 2048, dropout: float = 0.1,
        activation: Activation = F.relu, layer_norm_eps: float = 1e-5, batch_first: bool = False,
        norm_first: bool = False, bias: bool = True, device: str | None = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(
            ("self_attn", "multihead_attn"), d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps,
            batch_first, norm_first, bias, device, dtype,
        )  # fmt: skip

    def forward(
        self, tgt: Any, memory: Any, tgt_mask: Any = None, memory_mask: Any = None, tgt_key_padding_mask: Any = None,
        memory_key_padding_mask: Any = None, tgt_is_causal: bool = False, memory_is_causal: bool = False,
    ) -> Tensor:  # fmt: skip
        """The layer's output, of the shape of ``tgt``. The masks are those of `MultiheadAttention`."""

        def look(x: Tensor) -> Tensor:
            found: Tensor = self.self_attn(x, x, x, tgt_key_padding_mask, False, tgt_mask, is_causal=tgt_is_causal)[0]
            return found

        def look_back(x: Tensor) -> Tensor:
            found: Tensor = self.multihead_attn(
                x, memory, memory, memory_key_padding_mask, False, memory_mask, is_causal=memory_is_causal
            )[0]
            return found

        return self._around(self._around(self._around(tgt, 1, look), 2, look_back), 3, self._feed_forward)


class _Stack(Module):
    """``num_layers`` copies of a layer, one on top of the other, and a norm after them."""

    def __init__(self, layer: Module, num_layers: int, norm: Module | None) -> None:
        super().__init__()
        room.check(f"{type(self).__name__} of {num_layers} layers", (num_layers,), 10_000)  # bytes: at least as many
        self.layers = ModuleList([copy.deepcopy(layer) for _ in range(num_layers)])
        self.num_layers = num_layers
        self.norm = norm

    def _through(self, x: Any, *inputs: Any, **options: Any) -> Tensor:
        for layer in self.layers:
            x = layer(x, *inputs, **options)
        result: Tensor = x if self.norm is None else self.norm(x)
        return result


class TransformerEncoder(_Stack):
    """``num_layers`` copies of ``encoder_layer``, one on top of the other, and then ``norm``, if given.

    The copies start with equal values: for different ones, call ``reset_parameters`` or `nn.init` on the layers inside.
    ``enable_nested_tensor`` and ``mask_check`` change nothing here: padding is computed too, and then ignored.
    """

    def __init__(
        self, encoder_layer: Module, num_layers: int, norm: Module | None = None, enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(encoder_layer, num_layers, norm)
        self.enable_nested_tensor, self.mask_check = enable_nested_tensor, mask_check

    def forward(
        self, src: Any, mask: Any = None, src_key_padding_mask: Any = None, is_causal: bool | None = None
    ) -> Tensor:
        """The output of the last layer, of the shape of ``src``. The masks are those of `MultiheadAttention`."""
        return self._through(src, mask, src_key_padding_mask, bool(is_causal))


class TransformerDecoder(_Stack):
    """``num_layers`` copies of ``decoder_layer``, one on top of the other, and then ``norm``, if given."""

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__(decoder_layer, num_layers, norm)

    def forward(
        self, tgt: Any, memory: Any, tgt_mask: Any = None, memory_mask: Any = None, tgt_key_padding_mask: Any = None,
        memory_key_padding_mask: Any = None, tgt_is_causal: bool | None = None, memory_is_causal: bool = False,
    ) -> Tensor:  # fmt: skip
        """The output of the last layer, of the shape of ``tgt``. The masks are those of `MultiheadAttention`."""
        return self._through(
            tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask, bool(tgt_is_causal),
            memory_is_causal,
        )  # fmt: skip


class Transformer(Module):
    """An encoder that reads ``src``, and a decoder that continues ``tgt`` and attends to the encoder's output.

    It has neither embeddings nor positions. ``custom_encoder`` and ``custom_decoder`` replace its own.
    """

    def __init__(
        self, d_model: int = 512, nhead: int = 8, num_encoder_layers: int = 6, num_decoder_layers: int = 6,
        dim_feedforward: int = 2048, dropout: float = 0.1, activation: Activation = F.relu,
        custom_encoder: Any = None, custom_decoder: Any = None, layer_norm_eps: float = 1e-5,
        batch_first: bool = False, norm_first: bool = False, bias: bool = True, device: str | None = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        sizes = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias)

        def norm() -> LayerNorm:
            return LayerNorm(d_model, layer_norm_eps, bias=bias, device=device, dtype=dtype)

        if custom_encoder is None:
            layer: Module = TransformerEncoderLayer(*sizes, device, dtype)
            custom_encoder = TransformerEncoder(layer, num_encoder_layers, norm())
        if custom_decoder is None:
            layer = TransformerDecoderLayer(*sizes, device, dtype)
            custom_decoder = TransformerDecoder(layer, num_decoder_layers, norm())
        self.encoder, self.decoder = custom_encoder, custom_decoder
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first
        for parameter in self.parameters():
            if parameter.ndim > 1:
                xavier_uniform_(parameter)

    def forward(
        self, src: Any, tgt: Any, src_mask: Any = None, tgt_mask: Any = None, memory_mask: Any = None,
        src_key_padding_mask: Any = None, tgt_key_padding_mask: Any = None, memory_key_padding_mask: Any = None,
        src_is_causal: bool | None = None, tgt_is_causal: bool | None = None, memory_is_causal: bool = False,
    ) -> Tensor:  # fmt: skip
        """The decoder's output, of the shape of ``tgt``. The masks are those of `MultiheadAttention`."""
        memory = self.encoder(src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal)
        result: Tensor = self.decoder(
            tgt, memory, tgt_mask=tgt_mask, memory_mask=memory_mask, tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask, tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )  # fmt: skip
        return result

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: str | None = None, dtype: Any = None) -> Tensor:
        """The mask (sz, sz) that lets each element attend to itself and those before it: -inf above, else 0.

        >>> import tinygrad_edu as tg
        >>> tg.nn.Transformer.generate_square_subsequent_mask(3)
        tensor([[0., -inf, -inf],
                [0., 0., -inf],
                [0., 0., 0.]])
        """
        result: Tensor = full((sz, sz), NOTHING, dtype=dtype or modes().dtype, device=device).triu(1)
        return result
