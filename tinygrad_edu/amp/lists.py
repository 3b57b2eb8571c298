"""Which operations autocast changes, by the names of the engine's operations and of functions made of several.

PyTorch keeps one list for CUDA and one for the CPU, and so does this: a simulated device goes by the one for CUDA.
Both are held against PyTorch 2.13 itself, operation by operation. What is in no list runs in the dtypes that it gets.
"""

from __future__ import annotations

# Products: nearly all arithmetic is here, and 16-bit operands halve the bytes and may use faster units.
LOWER = frozenset(
    "blockwise_attention conv1d conv2d conv3d conv_transpose1d conv_transpose2d einsum fused_conv_bias_activation "
    "fused_conv_bias_activation_of_sum fused_dense_bias_activation fused_dense_bias_activation_of_sum gru linear lstm "
    "matmul prelu rnn scaled_dot_product_attention".split()
)
# Losses, and sums over many elements: small errors add up there, and float16 ends at 65,504.
_LOSSES = (
    "cosine_embedding_loss cross_entropy hinge_embedding_loss huber_loss kl_div l1_loss margin_ranking_loss mse_loss "
    "multi_margin_loss multilabel_margin_loss nll_loss poisson_nll_loss smooth_l1_loss soft_margin_loss "
    "softmax_cross_entropy triplet_margin_loss binary_cross_entropy_with_logits"
)
_FULL_CUDA = frozenset(
    f"{_LOSSES} acos asin cdist cosh cosine_similarity cumprod cumsum erfinv exp expm1 group_norm layer_norm log log10 "
    "log1p log2 log_softmax logsumexp norm pow prod reciprocal rms_norm rsqrt sinh softmax softplus square "
    "sum tan".split()
)
_FULL_CPU = frozenset(f"{_LOSSES} binary_cross_entropy cdist ctc_loss prod trace".split())
# Operands of several dtypes meet in the widest, 0-d ones too. (Others do that without being asked; but `dot`,
# `tensordot` and `bilinear`, which PyTorch has in this list, are products here as any other.)
WIDEST = frozenset("addcdiv addcmul atan2 put put_add scatter_add_at".split())
# What a 16-bit operand makes unsafe on the device, where PyTorch refuses it.
REFUSED = frozenset(["binary_cross_entropy"])


def full(kind: str) -> frozenset[str]:
    """What runs in float32 on devices of this type."""
    return _FULL_CPU if kind == "cpu" else _FULL_CUDA
