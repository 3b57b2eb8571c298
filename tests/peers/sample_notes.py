"""Which of PyTorch's samples are tried, and why some are not."""

from __future__ import annotations

from typing import Any

import tinygrad_edu as tg

# Every operation of PyTorch's list that we have.
NAMES = set(
    """
    abs add sub mul div neg pow exp log log1p log2 expm1 sqrt rsqrt reciprocal square sin cos tan tanh sigmoid erf sign
    floor ceil round remainder floor_divide clamp clamp_min clamp_max maximum minimum where lerp addcmul addcdiv isnan
    isinf isfinite logical_and logical_or logical_not bitwise_and bitwise_or bitwise_xor bitwise_not eq ne lt le gt ge
    masked_fill allclose equal isclose
    __radd__ __rsub__ __rmul__ __rdiv__ __rpow__ __rmod__ __rmatmul__ __rand__ __ror__ __rxor__
    sum mean prod max min amax amin argmax argmin std var all any logsumexp norm cumsum cumprod
    reshape view permute transpose t T mT expand expand_as squeeze unsqueeze flatten unflatten cat stack split chunk
    unbind narrow select movedim tile repeat repeat_interleave roll flip broadcast_to diagonal diag tril triu contiguous
    clone unfold as_strided split_with_sizes
    __getitem__ gather scatter scatter_add index_select index_add index_put masked_select nonzero sort argsort topk
    unique meshgrid
    matmul mm bmm mv dot outer addmm einsum
    full linspace eye arange zeros ones zeros_like ones_like full_like new_zeros new_ones new_full to item
    float double half bfloat16 long bool fill zero_
    nn.functional.relu nn.functional.leaky_relu nn.functional.elu nn.functional.gelu nn.functional.silu
    nn.functional.softplus softmax log_softmax nn.functional.linear nn.functional.conv1d nn.functional.conv2d
    nn.functional.max_pool1d nn.functional.max_pool2d nn.functional.avg_pool1d nn.functional.avg_pool2d
    nn.functional.adaptive_avg_pool2d nn.functional.batch_norm nn.functional.layer_norm nn.functional.group_norm
    nn.functional.rms_norm nn.functional.embedding nn.functional.cross_entropy nn.functional.nll_loss
    nn.functional.mse_loss nn.functional.l1_loss nn.functional.smooth_l1_loss nn.functional.binary_cross_entropy
    nn.functional.binary_cross_entropy_with_logits nn.functional.kl_div
    nn.functional.scaled_dot_product_attention nn.functional.pad nn.functional.one_hot nn.functional.normalize
    """.split()
)

# Variants, by full name, of operations that we have in another form only; each with its reason.
NOT_OURS: dict[str, str] = {}

# Operations whose gradient is not compared, each with its reason.
NO_GRADIENT: dict[str, str] = {}

# Operations whose result may be a copy here and a view there, or the other way round, each with its reason.
COPIES_MAY_DIFFER: dict[str, str] = {}

# How to call ours where the name does not say it.
CALLS: dict[str, Any] = {
    "__getitem__": tg.Tensor.__getitem__,
    "T": lambda x: x.T,
    "mT": lambda x: x.mT,
    **{name: getattr(tg.Tensor, name, None) for name in ("__radd__", "__rsub__", "__rmul__", "__rpow__", "__rmod__")},
    "__rdiv__": tg.Tensor.__rtruediv__,
}


def left_out(name: str, sample: Any, torch: Any) -> str:
    """Why this sample is not tried; "" when it is."""
    values = [sample.input, *sample.args, *sample.kwargs.values()]
    if any(isinstance(value, torch.memory_format) for value in values):
        return "memory formats are PyTorch's own"
    if any(isinstance(value, (complex, torch.Generator)) for value in values):
        return "complex numbers and generators are not ours"
    if any(isinstance(value, torch.dtype) and value.is_complex for value in values):
        return "complex numbers are not ours"
    return ""


def left_out_mistake(name: str, error: Any, torch: Any) -> str:
    """Why this mistake is not tried; "" when it is."""
    sample = error.sample_input
    tensors = [v for v in (sample.input, *sample.args, *sample.kwargs.values()) if isinstance(v, torch.Tensor)]
    if any(t.is_complex() or t.device.type != "cpu" for t in tensors):
        return "complex numbers and other devices are not ours"
    return left_out(name, sample, torch)
