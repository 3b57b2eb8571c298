"""Which of PyTorch's samples are tried, and why some are not."""

from __future__ import annotations

from typing import Any

import tinygrad_edu as tg

# Every operation of PyTorch's list that we have.
NAMES = set(
    """
    abs add sub mul div neg pow exp log log1p log2 expm1 sqrt rsqrt reciprocal square sin cos tan tanh sigmoid erf
    asin acos atan atan2 sinh cosh asinh acosh atanh hypot exp2 log10 trunc fmod erfc logit xlogy logaddexp logaddexp2
    lgamma digamma nan_to_num count_nonzero std_mean var_mean aminmax cummax cummin nansum nanmean quantile diff
    bincount searchsorted isin
    sign floor ceil round positive remainder floor_divide clamp clamp_min clamp_max maximum minimum where lerp
    addcmul addcdiv isnan isinf isfinite logical_and logical_or logical_xor logical_not bitwise_and bitwise_or
    bitwise_xor bitwise_not eq ne lt le gt ge masked_fill allclose equal isclose __radd__ __rsub__ __rmul__ __rdiv__
    __rpow__ __rmod__ __rmatmul__ __rand__ __ror__ __rxor__ sum mean prod max min amax amin argmax argmin std var
    all any logsumexp norm cumsum cumprod reshape view view_as reshape_as ravel permute transpose t T mT expand
    expand_as broadcast_tensors squeeze unsqueeze flatten unflatten cat stack split chunk unbind narrow select
    movedim tile repeat repeat_interleave roll flip broadcast_to diagonal diag tril triu contiguous clone unfold
    as_strided split_with_sizes __getitem__ gather scatter scatter_add take_along_dim index_select index_add
    index_put index_fill index_copy masked_select nonzero argwhere meshgrid sort argsort topk unique median kthvalue
    matmul mm bmm hstack vstack dstack cdist atleast_1d atleast_2d atleast_3d column_stack tensor_split
    rot90 fliplr flipud
    diag_embed trace tensordot baddbmm cross kron inner linalg.cholesky linalg.det linalg.inv linalg.matrix_norm
    linalg.matrix_power linalg.multi_dot linalg.norm linalg.slogdet linalg.solve linalg.solve_triangular
    linalg.vector_norm cholesky_solve
    mv dot outer addmm einsum full linspace logspace eye arange zeros ones zeros_like ones_like full_like new_zeros
    new_ones new_full to item empty empty_like new_empty rand_like randn_like randint randint_like randn bernoulli
    multinomial normal uniform exponential float double half bfloat16 byte char short int long bool fill zero_
    nn.functional.relu nn.functional.leaky_relu nn.functional.elu nn.functional.gelu nn.functional.silu
    nn.functional.softplus softmax log_softmax nn.functional.linear nn.functional.conv1d nn.functional.conv2d
    nn.functional.max_pool1d nn.functional.max_pool2d nn.functional.avg_pool1d nn.functional.avg_pool2d
    nn.functional.adaptive_avg_pool2d nn.functional.batch_norm nn.functional.layer_norm nn.functional.group_norm
    nn.functional.rms_norm nn.functional.embedding nn.functional.cross_entropy nn.functional.nll_loss
    nn.functional.mse_loss nn.functional.l1_loss nn.functional.smooth_l1_loss nn.functional.binary_cross_entropy
    nn.functional.huber_loss nn.functional.binary_cross_entropy_with_logits nn.functional.kl_div
    nn.functional.scaled_dot_product_attention nn.functional.pad nn.functional.one_hot nn.functional.normalize
    nn.functional.relu6 nn.functional.hardtanh nn.functional.selu nn.functional.celu nn.functional.mish
    nn.functional.hardsigmoid nn.functional.hardswish nn.functional.threshold nn.functional.prelu
    nn.functional.softsign nn.functional.tanhshrink nn.functional.hardshrink nn.functional.softshrink
    nn.functional.logsigmoid nn.functional.softmin nn.functional.glu nn.functional.conv_transpose1d
    nn.functional.conv_transpose2d nn.functional.adaptive_avg_pool1d nn.functional.instance_norm
    nn.functional.interpolate nn.functional.bilinear nn.functional.cosine_similarity nn.functional.pairwise_distance
    nn.functional.cosine_embedding_loss nn.functional.margin_ranking_loss nn.functional.hinge_embedding_loss
    nn.functional.soft_margin_loss nn.functional.triplet_margin_loss nn.functional.poisson_nll_loss
    nn.functional.gaussian_nll_loss nn.functional.unfold nn.functional.pixel_shuffle nn.functional.pixel_unshuffle
    nn.functional.adaptive_max_pool1d nn.functional.adaptive_max_pool2d nn.functional.local_response_norm
    nn.functional.embedding_bag nn.functional.ctc_loss nn.functional.multi_margin_loss
    nn.functional.multilabel_margin_loss nn.functional.multilabel_soft_margin_loss
    nn.functional.triplet_margin_with_distance_loss nn.functional.conv3d nn.functional.conv_transpose3d
    nn.functional.max_pool3d nn.functional.avg_pool3d nn.functional.adaptive_avg_pool3d
    nn.functional.adaptive_max_pool3d
    """.split()
)

# Variants, by full name, of operations that we have in another form only; each with its reason.
NOT_OURS: dict[str, str] = {
    "norm.nuc": "needs singular values; refused in words",
    **{
        f"nn.functional.interpolate.{mode}": "refused in words"
        for mode in ("nearest-exact", "bicubic", "trilinear", "area")
    },
}

# Operations whose values nobody can foretell: only shapes and dtypes are compared.
_DRAWN = "the numbers are drawn"
UNPREDICTABLE: dict[str, str] = {
    **dict.fromkeys(("empty", "empty_like", "new_empty"), "whatever the memory held"),
    **dict.fromkeys(
        ("rand_like", "randn_like", "randint", "randint_like", "randn", "bernoulli", "multinomial", "normal",
         "normal.in_place", "normal.number_mean", "uniform", "exponential"), _DRAWN,
    ),
}  # fmt: skip

# Operations whose gradient is not compared, each with its reason.
NO_GRADIENT: dict[str, str] = {
    "cholesky_solve": "PyTorch gives the triangle that is not read a gradient too, and ours is 0 there",
    "nn.functional.hardsigmoid": "PyTorch's slope is a sixth rounded to 32 bits, in float64 too",
}

# Operations whose result may be a copy here and a view there, or the other way round, each with its reason.
_ALONE = ("conv1d", "conv2d", "conv_transpose1d", "conv_transpose2d", "max_pool1d", "avg_pool1d")
_FOLDED = "PyTorch folds a batch into one large matrix where it can, and then shows the product in its own shape"
COPIES_MAY_DIFFER: dict[str, str] = {
    **dict.fromkeys(("matmul", "__rmatmul__", "einsum"), _FOLDED),
    "nn.functional.linear": _FOLDED,
    "nn.functional.bilinear": _FOLDED,
    "nn.functional.instance_norm": "PyTorch shows it as one large batch norm, seen in its own shape",
    **dict.fromkeys(
        [f"nn.functional.{name}" for name in _ALONE],
        "PyTorch adds an axis for a single image or a sequence, and shows the result without it",
    ),
    "nn.functional.unfold": "ours are the windows themselves, which nobody else has, seen in another shape",
    **dict.fromkeys(
        [f"nn.functional.{name}3d" for name in ("conv", "conv_transpose", "avg_pool", "adaptive_avg_pool")],
        "ours are planes that were added up, seen in another shape",
    ),
    **dict.fromkeys(
        ("nn.functional.pixel_shuffle", "nn.functional.pixel_unshuffle"), "ours is a copy, seen in another shape"
    ),
    **dict.fromkeys(
        [f"nn.functional.adaptive_max_pool{axes}d" for axes in (1, 2, 3)] + ["nn.functional.max_pool3d"],
        "ours are elements that were picked, seen in another shape",
    ),
    "kron": "ours is the product of every pair, which nobody else has, seen in another shape",
    "linalg.solve_triangular": "ours from the right is a solution from the left, seen transposed",
    "linalg.solve": "a solution that is a vector is a column here, which nobody else has, without its second axis",
    "linalg.multi_dot": "PyTorch shows the product in its own shape",
    "cdist": "PyTorch computes one large batch, and shows it in its own shape",
    "repeat_interleave": "PyTorch's result for a number is a view of a copy that nobody else has; ours is that copy",
}

_CONVERSIONS = ("float", "double", "half", "bfloat16", "byte", "char", "short", "int", "long", "bool")  # dtypes in tg

# How to call ours where the name does not say it.
CALLS: dict[str, Any] = {
    **{f"linalg.{name}": getattr(tg.linalg, name) for name in tg.linalg.__all__},
    "__getitem__": tg.Tensor.__getitem__,
    "T": lambda x: x.T,
    "mT": lambda x: x.mT,
    **{name: getattr(tg.Tensor, name, None) for name in ("__radd__", "__rsub__", "__rmul__", "__rpow__", "__rmod__")},
    "__rdiv__": tg.Tensor.__rtruediv__,
    "__rmatmul__": tg.Tensor.__rmatmul__,
    "einsum": lambda operands, equation: tg.einsum(equation, operands),
    "where": lambda x, condition, y: tg.where(condition, x, y),
    **{name: getattr(tg.Tensor, name) for name in _CONVERSIONS},
    "nn.functional.embedding": lambda weight, x, **how: tg.nn.functional.embedding(x, weight, **how),
    "nn.functional.embedding_bag": lambda weight, x, **how: tg.nn.functional.embedding_bag(x, weight, **how),
    "zero_": lambda x: x.clone().zero_(),
    "exponential": lambda x, *rate: x.clone().exponential_(*rate),
    "uniform": lambda x, *limits: x.clone().uniform_(*limits),
    "normal.in_place": lambda x, *moments: x.clone().normal_(*moments),
}


SIGNED = tuple(f"nn.functional.{name}_loss" for name in ("margin_ranking", "hinge_embedding", "soft_margin"))


def left_out(name: str, sample: Any, torch: Any) -> str:
    """Why this sample is not tried; "" when it is."""
    values = [sample.input, *sample.args, *sample.kwargs.values()]
    if any(isinstance(value, torch.memory_format) and value is not torch.preserve_format for value in values):
        return "memory formats are PyTorch's own"
    if any(isinstance(value, torch.layout) for value in values):
        return "layouts are PyTorch's own"
    if any(isinstance(value, (complex, torch.Generator)) for value in values):
        return "complex numbers are not ours, and our generators give other numbers"
    if any(isinstance(value, torch.dtype) and value.is_complex for value in values):
        return "complex numbers are not ours"
    if name in ("pow", "__rpow__") and sample.input.dtype == torch.int64:
        exponent = torch.as_tensor(sample.input if name == "__rpow__" else sample.args[0])
        if not exponent.is_floating_point() and (exponent < 0).any():
            return "PyTorch refuses an integer to the power of -1, but answers 0 where the -1 stands in a tensor"
    if name == "as_strided.partial_views" and "storage_offset" in sample.kwargs:
        return "only the part that is seen is handed over, not the storage; see test_strides.py for this"
    if name == "nn.functional.scaled_dot_product_attention" and sample.kwargs.get("dropout_p"):
        return "which weights are dropped is drawn"
    if name in ("nn.functional.embedding", "nn.functional.embedding_bag") and sample.kwargs.get("sparse"):
        return "gradients are dense here; refused in words"
    if name == "nn.functional.interpolate.nearest" and sample.input.ndim == 5:
        return "volumes are not ours; refused in words"
    if name == "nn.functional.triplet_margin_with_distance_loss" and sample.kwargs.get("distance_function"):
        return "the distance is a function of PyTorch's own tensors; see test_layers.py"
    if name == "baddbmm" and sample.input.dtype == torch.int64 and isinstance(sample.kwargs.get("alpha"), float):
        return "PyTorch drops the fraction of alpha; refused in words, as in addmm"
    if name in SIGNED:
        target = sample.args[-1]
        if not ((target == 1) | (target == -1)).all():
            return "a target says 1 or -1; others are refused in words"
    if name == "nn.functional.gaussian_nll_loss" and sample.input.shape != sample.args[0].shape:
        return "a loss does not broadcast its target; refused in words"
    if name == "nn.functional.batch_norm" and sample.input.ndim < 2:
        return "an empty tensor without an axis for channels; refused in words"
    if name in ("sort", "argsort") and sample.input.dtype == torch.bool and not sample.kwargs.get("stable"):
        return "PyTorch does not say where equal elements go, unless stable=True; ours always keep their order"
    if name == "kthvalue" and sample.input.dtype == torch.int64 and sample.input.ndim:
        return "PyTorch does not say which of equal elements it finds; ours finds the first in order"
    if name == "topk" and sample.input.dtype == torch.int64 and sample.input.ndim:
        return "nor does it say which of equal elements topk finds; ours finds the first"
    return ""


# Where PyTorch wants tensors, ours take Python numbers too, as they do everywhere else.
NUMBERS_TOO = {
    "atan2", "fmod", "xlogy",  # and two numbers make 0-d tensors
    "max.binary", "min.binary", "clamp_min", "clamp_max", "maximum", "minimum", "remainder", "pow", "eq", "ne", "lt",
    "le", "gt", "ge", "isclose", "logical_and", "logical_or", "logical_xor", "bitwise_and", "bitwise_or", "bitwise_xor",
}  # fmt: skip
NUMBERS_TOO |= {f"__r{name}__" for name in ("add", "sub", "mul", "div", "mod", "pow", "and", "or", "xor")}


def left_out_mistake(name: str, error: Any, torch: Any) -> str:
    """Why this mistake is not tried; "" when it is."""
    sample = error.sample_input
    if name in NUMBERS_TOO and any(type(value) is int for value in (sample.input, *sample.args)):
        return "a number is as good as a tensor"
    tensors = [v for v in (sample.input, *sample.args, *sample.kwargs.values()) if isinstance(v, torch.Tensor)]
    if name == "cat" and any(part is not None and part is sample.kwargs.get("out") for part in sample.input):
        return "out= may be an operand here: the result is whole before it is written"
    if name in ("aminmax", "gather") and "out tensor to have dtype" in error.error_regex:
        return "out= may be of a wider dtype, for all operations alike: PyTorch lets only some of them convert"
    if any(t.ndim > 64 for t in tensors):
        return "NumPy has no arrays of more than 64 axes, so no such tensor can be made"
    if any(t.is_complex() or t.device.type != "cpu" for t in tensors):
        return "complex numbers and other devices are not ours"
    return left_out(name, sample, torch)
