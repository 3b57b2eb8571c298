"""What `import tinygrad_edu` brings, and what it leaves for later."""

from __future__ import annotations

import importlib

import pytest

import tinygrad_edu as tg
from tests.support import run_python

# Heavy, optional, or above the engine: loaded when first asked for, or by whoever wants it.
NOT_YET = (
    "IPython", "ipywidgets", "anywidget", "matplotlib", "numba", "cupy", "ml_dtypes", "safetensors", "asyncio",
    "tinygrad_edu_widgets", "tinygrad_edu.nn", "tinygrad_edu.optim", "tinygrad_edu.data", "tinygrad_edu.compile",
    "tinygrad_edu.views",
)  # fmt: skip

ALL = {
    "Tensor", "abs", "arange", "as_tensor", "autograd", "bool", "cat", "clamp", "cos", "data", "dtypes",
    "enable_grad", "exp", "float16", "float32", "float64", "from_numpy", "full", "guard", "int16", "int32",
    "int64", "int8", "is_grad_enabled", "log", "manual_seed", "matmul", "maximum", "minimum", "nn", "no_grad",
    "ones", "ones_like", "optim", "rand", "randint", "randn", "randperm", "relu", "set_grad_enabled", "sigmoid",
    "sin", "sqrt", "stack", "tanh", "tensor", "uint8", "where", "zeros", "zeros_like",
}  # fmt: skip
LAZY = {"backends", "compile", "data", "errors", "guard", "lessons", "nn", "optim", "settings", "views"}


def test_import_leaves_the_heavy_modules_alone() -> None:
    done = run_python(f"import sys, tinygrad_edu; print([name for name in {NOT_YET!r} if name in sys.modules])")
    assert (done.stdout, done.stderr) == ("[]\n", "")


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
