"""tinygrad_edu: a small autograd engine to learn from, with a library and teaching tools on top of it.

The engine, from the bottom up: ``common``, ``errors``, ``settings``, ``dtypes``, ``backends``, ``core``, ``inputs``,
``ops``, ``autograd``, ``guard``, ``linalg``, ``tensor``. The library: ``nn``, ``optim``, ``distributions``, ``data``,
``state``, ``metrics``, ``training``, ``compiler``, ``observe``, ``distributed``, ``utils``, ``compat``. Teaching:
``tips``, ``views``, ``lessons``, ``cli``.

Submodules load when they are first used, so ``import tinygrad_edu`` costs little more than ``import numpy``.
"""

from __future__ import annotations

import math
import warnings

from .common import ctrl_c as _ctrl_c

if _ctrl_c.is_command_line():
    _ctrl_c.end_at_once()  # before anything that takes time

from .common import late as _late


def _load_engine() -> None:
    """Load what is there from the start: see `front`."""
    from . import front

    globals().update({name: getattr(front, name) for name in front.__all__})


if not _ctrl_c.lists_tips():  # an index answers that, in a fraction of the time that the engine takes to load
    _load_engine()

# inf and nan are values, as in PyTorch: NumPy need not warn about them when this package's code made them.
warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"tinygrad_edu\.")

pi, e, inf, nan, newaxis = math.pi, math.e, math.inf, math.nan, None

__version__ = "0.1.0"

# Names that load at first use: functions, by the module that defines them, and modules. Type checkers and
# editors read `__init__.pyi`, which `tools/write_stub.py` makes from this.
_LATER = {
    "amp.autocast": "autocast get_autocast_dtype is_autocast_enabled",
    "linalg.tops": "cholesky_solve det inverse svd",
    "ops.activation": "relu",
    "ops.arrange": "diag_embed flip fliplr flipud repeat_interleave roll rot90 tile",
    "ops.choice": "masked_fill",
    "ops.formats": "channels_last clone contiguous_format preserve_format",
    "ops.gathering": "argwhere fill index_fill index_put meshgrid",
    "ops.linalg": "cdist einsum",
    "ops.logic": "allclose equal isclose isfinite isinf isnan",
    "ops.movement": "flatten permute reshape squeeze transpose unsqueeze",
    "ops.out": (
        "abs acos acosh add addcdiv addcmul addmm all amax amin aminmax any arccos arcsin arctan arctan2 argmax "
        "argmin argsort asin asinh atan atan2 atanh baddbmm bitwise_and bitwise_not bitwise_or bitwise_xor bmm cat "
        "ceil clamp clamp_max clamp_min clip column_stack concat cos cosh cross cummax cummin cumprod cumsum diag "
        "diff digamma div dot dstack eq erf erfc exp exp2 expm1 floor floor_divide fmod gather ge gt hstack hypot "
        "index_add index_copy index_select inner isin kron kthvalue le lerp lgamma log log10 log1p log2 log_softmax "
        "logaddexp logaddexp2 logical_and logical_not logical_or logical_xor logit logsumexp lt masked_select "
        "matmul max maximum mean median min minimum mm mul mv nan_to_num nanmean nansum ne neg nonzero norm outer "
        "pow prod quantile reciprocal remainder round rsqrt scatter scatter_add searchsorted sigmoid sign sin sinh "
        "softmax sort sqrt square stack std sub sum take_along_dim tan tanh tensordot topk tril triu trunc var "
        "vstack where xlogy"
    ),
    "ops.parts": "as_strided chunk diagonal narrow select split split_with_sizes tensor_split unbind",
    "ops.products": "trace",
    "ops.shapes": (
        "atleast_1d atleast_2d atleast_3d broadcast_tensors broadcast_to moveaxis movedim ravel swapaxes t unflatten"
    ),
    "ops.sorting": "unique",
    "ops.statistics": "bincount count_nonzero std_mean var_mean",
    "ops.unary": "positive",
    "compiler": "compile",
    "state": "load save",
    "tensor.creation": "arange empty empty_like eye full full_like linspace logspace ones ones_like zeros zeros_like",
    "tensor.exchange": "from_dlpack",
    "tensor.inquiry": (
        "can_cast default_device finfo get_default_device get_default_dtype iinfo is_floating_point is_tensor numel "
        "promote_types result_type set_default_device set_default_dtype set_default_tensor_type"
    ),
    "tensor.printing": "set_printoptions",
    "tensor.random": (
        "Generator bernoulli get_rng_state manual_seed multinomial normal rand rand_like randint randint_like randn "
        "randn_like randperm set_rng_state"
    ),
    "tensor.size": "Size",
    "threads": "get_num_threads set_num_threads",
    "tensor.typed": (
        "BFloat16Tensor BoolTensor ByteTensor CharTensor DoubleTensor FloatTensor HalfTensor IntTensor LongTensor "
        "ShortTensor"
    ),
}
_PUBLIC = "amp data distributions guard jit linalg metrics nn optim random state training".split()
_MODULES = [
    *_PUBLIC,
    *"accelerator backends compiler cuda distributed errors lessons observe settings sim tips utils views".split(),
]
_HERE = (
    "Tensor as_tensor autograd bool device double dtypes e enable_grad float float16 float32 float64 from_numpy "
    "half inf inference_mode int int8 int16 int32 int64 is_grad_enabled is_inference_mode_enabled long nan "
    "newaxis no_grad pi set_grad_enabled short tensor uint8"
).split()
_HOME = {name: module for module, names in _LATER.items() for name in names.split()}

__all__ = sorted([*_HERE, *_HOME, *_PUBLIC])  # noqa: PLE0605


__getattr__ = _late.getattr_of(
    __name__, {**_HOME, "bfloat16": "dtypes"}, {name: name for name in _MODULES} | {"random": "tensor.random"}
)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_MODULES, "bfloat16"})
