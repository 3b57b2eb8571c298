"""What `import tinygrad_edu` brings, and what it leaves for later."""

from __future__ import annotations

import importlib

import pytest

import tinygrad_edu as tg
from tests.support import run_python

# Heavy, optional, or above the engine: loaded when first asked for, or by whoever wants it.
NOT_YET = (
    "IPython", "ipywidgets", "anywidget", "matplotlib", "numba", "cupy", "ml_dtypes", "safetensors", "asyncio",
    "numpy.random", "json", "secrets",
    "tinygrad_edu_widgets", "tinygrad_edu.nn", "tinygrad_edu.optim", "tinygrad_edu.distributions", "tinygrad_edu.data",
    "tinygrad_edu.compiler", "tinygrad_edu.views", "tinygrad_edu.state", "tinygrad_edu.metrics",
    "tinygrad_edu.training", "tinygrad_edu.observe", "tinygrad_edu.tips", "tinygrad_edu.cli", "tinygrad_edu.linalg",
    "tinygrad_edu.utils",
)  # fmt: skip

ALL = set(
    """
    BFloat16Tensor BoolTensor ByteTensor CharTensor DoubleTensor FloatTensor Generator HalfTensor IntTensor LongTensor
    ShortTensor Size Tensor abs acos acosh add addcdiv addcmul addmm all allclose amax amin aminmax amp any arange
    arccos
    arcsin arctan arctan2 argmax argmin argsort argwhere as_strided as_tensor asin asinh atan atan2 atanh atleast_1d
    atleast_2d atleast_3d autocast autograd baddbmm bernoulli bincount bitwise_and bitwise_not bitwise_or bitwise_xor
    bmm bool
    broadcast_tensors broadcast_to can_cast cat cdist ceil channels_last cholesky_solve chunk clamp clamp_max clamp_min
    clip clone compile
    column_stack concat contiguous_format cos cosh count_nonzero cross cummax cummin cumprod cumsum data
    default_device det device
    diag diag_embed diagonal diff digamma distributions div dot double dstack dtypes e einsum empty empty_like
    enable_grad eq equal erf erfc exp exp2 expm1 eye fill finfo flatten flip fliplr flipud float float16 float32
    float64 floor floor_divide fmod from_dlpack from_numpy full full_like gather ge get_autocast_dtype
    get_default_device get_default_dtype get_num_threads
    get_rng_state gt guard
    half hstack hypot iinfo index_add index_copy index_fill index_put index_select inf inference_mode inner int int16
    int32 int64 int8 inverse is_autocast_enabled is_floating_point is_grad_enabled is_inference_mode_enabled is_tensor
    isclose isfinite
    isin isinf isnan jit kron kthvalue
    le lerp lgamma linalg linspace load log log10 log1p log2 log_softmax logaddexp logaddexp2
    logical_and logical_not logical_or logical_xor logit logspace
    logsumexp long lt manual_seed masked_fill masked_select
    matmul max maximum mean median meshgrid metrics min minimum mm moveaxis movedim mul multinomial mv nan nan_to_num
    nanmean nansum narrow ne neg newaxis nn no_grad nonzero norm normal numel ones ones_like optim outer permute pi
    positive pow preserve_format prod promote_types quantile rand rand_like randint randint_like randn randn_like
    random randperm ravel reciprocal relu remainder repeat_interleave reshape result_type roll rot90 round rsqrt save
    scatter scatter_add searchsorted select set_default_device set_default_dtype set_default_tensor_type
    set_grad_enabled set_num_threads set_printoptions set_rng_state
    short sigmoid sign sin sinh softmax sort split split_with_sizes sqrt square squeeze stack state std std_mean sub
    sum svd swapaxes t take_along_dim tan tanh tensor tensor_split tensordot tile topk trace training transpose tril
    triu trunc uint8 unbind unflatten unique unsqueeze var var_mean vstack where xlogy zeros zeros_like
    """.split()
)
LAZY = set(
    """
    backends compiler cuda data distributions errors guard jit lessons linalg metrics nn observe optim settings state
    tips training utils views
    """.split()
)


def test_import_leaves_the_heavy_modules_alone() -> None:
    done = run_python(f"import sys, tinygrad_edu; print([name for name in {NOT_YET!r} if name in sys.modules])")
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_import_brings_few_operations() -> None:
    """The families load with the first of their methods: a third of what our own import would take."""
    done = run_python("import sys, tinygrad_edu; print(*[name for name in sys.modules if '_edu.ops.' in name])")
    assert {name.rpartition(".")[2] for name in done.stdout.split()} == {
        "arithmetic", "convert", "index", "into", "movement"
    }  # fmt: skip


def test_a_gradient_needs_none_of_them_either() -> None:
    done = run_python(
        "import sys, tinygrad_edu as tg\n"
        "x = tg.tensor([1.0, 2.0], requires_grad=True)\n"
        "(x * x.exp()).sum().backward(); repr(x.grad)\n"
        f"print([name for name in {NOT_YET!r} if name in sys.modules])"
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_all_is_pinned() -> None:
    """A name that goes in or out of the public list is a decision, and changes this test."""
    assert set(tg.__all__) == ALL
    assert len(tg.__all__) == len(ALL)
    assert all(hasattr(tg, name) for name in tg.__all__)


def test_dir_shows_what_is_still_to_be_loaded() -> None:
    done = run_python("import tinygrad_edu as tg; print(*dir(tg))")
    shown = set(done.stdout.split())
    assert ALL | LAZY | {"bfloat16", "__version__"} <= shown


@pytest.mark.parametrize("name", sorted(LAZY - {"lessons"}))
def test_submodules_load_on_use(name: str) -> None:
    done = run_python(f"import tinygrad_edu as tg; print(tg.{name}.__name__)")
    assert (done.stdout, done.stderr) == (f"tinygrad_edu.{name}\n", "")


def test_bfloat16_loads_its_library_on_use() -> None:
    done = run_python("import sys, tinygrad_edu as tg; print(tg.bfloat16, 'ml_dtypes' in sys.modules)")
    assert done.stdout == "bfloat16 True\n"


def test_a_name_that_is_not_there() -> None:
    with pytest.raises(AttributeError, match="module 'tinygrad_edu' has no attribute 'tensors'"):
        tg.tensors  # noqa: B018
    with pytest.raises(ImportError):
        importlib.import_module("tinygrad_edu.tensors")
