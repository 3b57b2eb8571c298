"""MyGrad's names over this engine: ``import tinygrad_edu.compat.mygrad as mg``.

As in MyGrad, tensors follow NumPy's rules: ``mg.tensor([1.0])`` is float64 (but ``mg.zeros(2)`` is float32). Floats
take part in the graph, and integers are constants. ``grad`` is a NumPy array, ``backward`` works from results of any
shape and forgets the graph, and a tensor that is used anew forgets its gradient. NumPy arrays that the graph needs are
read-only until then; those that it does not need stay writeable, while MyGrad locks all that took part.

NumPy's functions work on these tensors, under their own names and under those of this module. Dtypes meet as in
NumPy 2: ``float32 * 2`` is float32. MyGrad's ``nnet`` and its rarer trigonometric functions are not here.

>>> import numpy as np
>>> import tinygrad_edu.compat.mygrad as mg
>>> x = np.arange(3.0)
>>> y = mg.ones_like(x)
>>> z = x * y
>>> z.backward()
>>> y.grad
array([0., 1., 2.])
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy import bool_, e, float16, float32, float64, inf, int8, int16, int32, int64, nan, newaxis, pi

from .switches import (
    mem_guard_active,
    mem_guard_off,
    mem_guard_on,
    no_autodiff,
    turn_memory_guarding_off,
    turn_memory_guarding_on,
)
from .tensor import Tensor, asarray, astensor, tensor

__version__ = "2.5.0+tinygrad_edu"  # whose names these are

# NumPy's functions of tensors, which MyGrad has under the same names.
FUNCTIONS = frozenset(
    """
    abs absolute add all allclose amax amin any arccos arccosh arcsin arcsinh arctan arctan2 arctanh argmax argmin
    atleast_1d atleast_2d atleast_3d broadcast_to cbrt ceil clip concatenate cos cosh cumprod cumsum divide einsum equal
    exp exp2 expand_dims expm1 floor floor_divide fmod greater greater_equal isclose isfinite isinf isnan less
    less_equal log log10 log1p log2 logaddexp logaddexp2 logical_and logical_not logical_or logical_xor matmul max
    maximum mean min minimum mod moveaxis multiply negative not_equal positive power prod ravel reciprocal remainder
    repeat reshape roll shape sign sin sinh sqrt square squeeze stack std subtract sum swapaxes tan tanh transpose
    true_divide trunc var where
    """.split()
)
MAKERS = frozenset(
    """
    arange empty empty_like eye full full_like geomspace identity linspace logspace ones ones_like zeros zeros_like
    """.split()
)
_OF_SEVERAL = ("concatenate", "einsum", "stack", "where")  # functions whose first argument is no array

__all__ = [  # noqa: PLE0604
    *FUNCTIONS, *MAKERS, "Tensor", "asarray", "astensor", "bool_", "e", "float16", "float32", "float64", "inf",
    "int8", "int16", "int32", "int64", "mem_guard_active", "mem_guard_off", "mem_guard_on", "nan", "newaxis",
    "no_autodiff", "pi", "tensor", "turn_memory_guarding_off", "turn_memory_guarding_on",
]  # fmt: skip


def _function(name: str) -> Callable[..., Any]:
    numpys = getattr(np, name)

    @functools.wraps(numpys)
    def function(*args: Any, constant: bool | None = None, **kwargs: Any) -> Any:
        if name not in _OF_SEVERAL and not any(isinstance(one, Tensor) for one in args):
            args = (astensor(args[0]), *args[1:])
        found = numpys(*args, **kwargs)
        return found.as_constant() if constant and isinstance(found, Tensor) else found

    return function


def _maker(name: str) -> Callable[..., Tensor]:
    numpys = getattr(np, name)

    @functools.wraps(numpys)
    def make(*args: Any, constant: bool | None = None, **kwargs: Any) -> Tensor:
        given = [one.data if isinstance(one, Tensor) else one for one in args]
        if name in ("empty", "ones", "zeros") and len(given) == 1:
            kwargs.setdefault("dtype", np.float32)  # as in MyGrad
        return tensor(numpys(*given, **kwargs), constant=constant, copy=False)

    return make


@functools.cache  # and not put into this module, where any, abs, max and others would hide Python's own
def __getattr__(name: str) -> Any:
    if name in FUNCTIONS:
        return _function(name)
    if name in MAKERS:
        return _maker(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
