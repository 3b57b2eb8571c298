"""Gradients kept within bounds, parameters as one vector, normed and folded weights, dtypes, sequences of lengths."""

from . import rnn
from .clip_grad import clip_grad_norm_, clip_grad_value_, clip_grads_with_norm_, get_total_norm
from .convert_parameters import parameters_to_vector, vector_to_parameters
from .dtypes import DtypeReport, DtypeRow, DtypeWarning, check_stable, dtype_report, match_dtype
from .fusion import fuse_conv_bn_eval, fuse_conv_bn_weights, fuse_linear_bn_eval, fuse_linear_bn_weights
from .reparametrise import remove_spectral_norm, remove_weight_norm, spectral_norm, weight_norm

__all__ = [
    "DtypeReport", "DtypeRow", "DtypeWarning", "check_stable", "clip_grad_norm_", "clip_grad_value_",
    "clip_grads_with_norm_", "dtype_report", "fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval",
    "fuse_linear_bn_weights", "get_total_norm", "match_dtype", "parameters_to_vector",
    "remove_spectral_norm", "remove_weight_norm", "rnn", "spectral_norm", "vector_to_parameters", "weight_norm",
]  # fmt: skip
