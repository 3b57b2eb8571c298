"""First values for parameters. Each function fills a tensor in place, outside the graph, and returns it.

The ``fan`` of a weight is how many numbers enter one output (``fan_in``), or leave one input (``fan_out``): for a
matrix (out, in) its columns or rows, for kernels each times the elements of a kernel. Random values follow
`manual_seed`, or a ``generator``.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..errors import ArgumentError, DtypeError, ShapeError
from ..inputs.arguments import number
from ..inputs.kinds import explain_all
from ..settings import no_grad
from ..tensor import Tensor
from ..tensor.random import AnyGenerator, stream

__all__ = [
    "calculate_gain", "constant_", "dirac_", "eye_", "kaiming_normal_", "kaiming_uniform_", "normal_", "ones_",
    "orthogonal_", "sparse_", "trunc_normal_", "uniform_", "xavier_normal_", "xavier_uniform_", "zeros_",
]  # fmt: skip


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: AnyGenerator = None) -> Tensor:
    """Uniform numbers from ``a`` to ``b``."""
    _of("uniform_", tensor)
    with no_grad():
        return tensor.uniform_(a, b, generator=generator)


def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: AnyGenerator = None) -> Tensor:
    """Normally distributed numbers."""
    _of("normal_", tensor)
    with no_grad():
        return tensor.normal_(mean, std, generator=generator)


def trunc_normal_(
    tensor: Tensor, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0, generator: AnyGenerator = None
) -> Tensor:
    """Normally distributed numbers; those outside ``a`` to ``b`` are drawn again.

    Raises `ArgumentError` unless ``a < b`` and ``std > 0``.
    """
    _of("trunc_normal_", tensor)
    if not (a < b and std > 0):
        tried = f"trunc_normal_ with std={std}, a={a}, b={b}"
        raise ArgumentError(tried, "a must be below b, and std above 0", "swap the bounds, or use constant_")
    return _fill(tensor, _truncated(stream(generator), mean, std, a, b, tensor.numel()).reshape(tensor.shape))


def _truncated(rng: np.random.Generator, mean: float, std: float, a: float, b: float, count: int) -> Any:
    """``count`` normally distributed numbers from ``a`` to ``b``: others are thrown away.

    Where the normal distribution seldom falls between the bounds, uniform numbers are drawn, and kept in proportion to
    its density there.
    """
    low, high = (a - mean) / std, (b - mean) / std
    peak = max(low, min(0.0, high))  # where the density between the bounds is greatest
    reach = math.sqrt(peak * peak + 100)  # further out, the density is less than e**-50 of that
    low, high = max(low, -reach), min(high, reach)
    often = math.erf(high / math.sqrt(2)) - math.erf(low / math.sqrt(2)) > 0.5
    found, have = np.empty(count), 0
    while have < count:
        left = count - have
        if often:
            drawn = rng.standard_normal(left)
            kept = drawn[(drawn >= low) & (drawn <= high)]
        else:
            drawn = rng.uniform(low, high, left)
            kept = drawn[rng.random(left) < np.exp((peak * peak - drawn * drawn) / 2)]
        found[have : have + len(kept)] = kept
        have += len(kept)
    return np.clip(mean + std * found, a, b)  # rounding may have gone a hair too far


def constant_(tensor: Tensor, val: float) -> Tensor:
    """The value ``val`` everywhere."""
    _of("constant_", tensor)
    with no_grad():
        return tensor.fill_(val)


def ones_(tensor: Tensor) -> Tensor:
    """Ones."""
    return constant_(tensor, 1.0 if tensor.is_floating_point() else 1)


def zeros_(tensor: Tensor) -> Tensor:
    """Zeros."""
    return constant_(tensor, 0)


def eye_(tensor: Tensor) -> Tensor:
    """Ones on the diagonal of a matrix and zeros elsewhere, so that a linear layer passes its inputs on.

    Raises `ShapeError` for anything but a matrix.
    """
    _of("eye_", tensor, 2, 2)
    return _fill(tensor, np.eye(tensor.shape[0], tensor.shape[1]))


def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Kernels (out, in, …) that pass channels on: a one in the middle of kernel (i, i), in each of the groups.

    Raises `ShapeError` for anything but 3 to 5 axes, `ArgumentError` if the groups do not divide the kernels.
    """
    _of("dirac_", tensor, 3, 5)
    outputs, inputs, *size = tensor.shape
    if groups < 1 or outputs % groups:
        why = f"{outputs} kernels cannot be divided into {groups} groups"
        raise ArgumentError(f"dirac_ with groups={groups}", why, "use the groups of the layer")
    values = np.zeros(tensor.shape)
    each = outputs // groups
    middle = tuple(n // 2 for n in size)
    for i in range(min(each, inputs)):
        for group in range(groups):
            values[(group * each + i, i, *middle)] = 1
    return _fill(tensor, values)


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: AnyGenerator = None) -> Tensor:
    """Uniform over ±gain·√(6 / (fan_in + fan_out)): keeps the spread of values forwards and of gradients backwards.

    Glorot and Bengio (2010), Understanding the difficulty of training deep feedforward neural networks. Raises
    `ShapeError` for fewer than 2 axes.
    """
    bound = gain * math.sqrt(6 / max(sum(_fans("xavier_uniform_", tensor)), 1))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: AnyGenerator = None) -> Tensor:
    """Normally distributed with standard deviation gain·√(2 / (fan_in + fan_out)); see `xavier_uniform_`."""
    return normal_(tensor, 0.0, gain * math.sqrt(2 / max(sum(_fans("xavier_normal_", tensor)), 1)), generator)


def kaiming_uniform_(
    tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: AnyGenerator = None
) -> Tensor:
    """Uniform over ±gain·√(3 / fan): keeps the spread of values through rectifiers.

    ``mode`` is "fan_in" to keep that of values, "fan_out" to keep that of gradients; ``nonlinearity`` and
    its slope ``a`` give the gain, see `calculate_gain`. He et al. (2015), Delving deep into rectifiers. Raises
    `ShapeError` for fewer than 2 axes, `ArgumentError` for another mode or nonlinearity.
    """
    bound = math.sqrt(3) * _kaiming("kaiming_uniform_", tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: AnyGenerator = None
) -> Tensor:
    """Normally distributed with standard deviation gain / √fan; see `kaiming_uniform_`."""
    return normal_(tensor, 0.0, _kaiming("kaiming_normal_", tensor, a, mode, nonlinearity), generator)


def _kaiming(name: str, tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float:
    """The standard deviation."""
    fans = dict(zip(("fan_in", "fan_out"), _fans(name, tensor), strict=True))
    if mode not in fans:
        raise ArgumentError(f"{name} with mode={mode!r}", 'it is "fan_in" or "fan_out"', "use one of them")
    return calculate_gain(nonlinearity, a) / math.sqrt(max(fans[mode], 1))


def orthogonal_(tensor: Tensor, gain: float = 1, generator: AnyGenerator = None) -> Tensor:
    """A random matrix with orthonormal rows or columns, whichever are fewer, times ``gain``.

    Further axes count as columns. Saxe et al. (2013), Exact solutions to the nonlinear dynamics of learning in deep
    linear neural networks. Raises `ShapeError` for fewer than 2 axes.
    """
    _of("orthogonal_", tensor, 2)
    if not tensor.numel():
        return tensor
    rows = tensor.shape[0]
    columns = tensor.numel() // rows
    q, r = np.linalg.qr(stream(generator).standard_normal((max(rows, columns), min(rows, columns))))
    q *= np.sign(np.diag(r))  # so that all such matrices are equally likely
    return _fill(tensor, gain * (q.T if rows < columns else q).reshape(tensor.shape))


def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: AnyGenerator = None) -> Tensor:
    """Normally distributed numbers, with a fraction ``sparsity`` of each column, drawn separately, set to 0.

    Martens (2010), Deep learning via Hessian-free optimization. Raises `ShapeError` for anything but a matrix,
    `ArgumentError` for a fraction outside 0 to 1.
    """
    _of("sparse_", tensor, 2, 2)
    std = number("sparse_", std, "std")
    if not 0 <= sparsity <= 1:
        tried, why = f"sparse_ with sparsity={sparsity}", "a fraction lies between 0 and 1"
        raise ArgumentError(tried, why, "use sparsity=0.1, for example")
    rows, columns = tensor.shape
    chosen = np.broadcast_to(np.arange(rows)[:, None] < math.ceil(sparsity * rows), (rows, columns))
    rng = stream(generator)
    zero = rng.permuted(chosen, axis=0)
    return _fill(tensor, np.where(zero, 0.0, rng.normal(0.0, std, (rows, columns))))


_GAINS = {
    "linear": 1.0, "conv1d": 1.0, "conv2d": 1.0, "conv3d": 1.0, "conv_transpose1d": 1.0, "conv_transpose2d": 1.0,
    "conv_transpose3d": 1.0, "sigmoid": 1.0, "tanh": 5 / 3, "relu": math.sqrt(2), "selu": 3 / 4,
}  # fmt: skip


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """How much larger weights must be to make up for the nonlinearity after them.

    It is named as in `functional`; ``param`` is the slope of "leaky_relu", by default 0.01. Raises `ArgumentError`
    for one without a known gain.
    """
    if nonlinearity == "leaky_relu":
        slope = 0.01 if param is None else number("calculate_gain", param)
        return math.sqrt(2 / (1 + slope * slope))
    if nonlinearity not in _GAINS:
        why = f"gains are known for {', '.join(_GAINS)} and leaky_relu"
        raise ArgumentError(f"calculate_gain({nonlinearity!r})", why, 'use the nearest, such as "relu"')
    return _GAINS[nonlinearity]


def _fans(name: str, tensor: Tensor) -> tuple[int, int]:
    """``fan_in`` and ``fan_out``."""
    _of(name, tensor, 2)
    outputs, inputs, *size = tensor.shape
    return inputs * math.prod(size), outputs * math.prod(size)


def _of(name: str, tensor: Any, fewest: int = 0, most: int = 64) -> None:
    """Refuse anything but a tensor with the right number of axes."""
    if not isinstance(tensor, Tensor):
        tried, why = f"{name} of a {type(tensor).__name__}", "it fills a tensor in place"
        raise DtypeError(tried, why, "pass a parameter, such as layer.weight")
    if not fewest <= tensor.ndim <= most:
        axes = f"{fewest}" if fewest == most else f"{fewest} or more" if most > 5 else f"{fewest} to {most}"
        why, mend = f"it fills tensors of {axes} axes", "a bias is filled by zeros_ or uniform_"
        raise ShapeError(f"{name} of a tensor {tuple(tensor.shape)}", why, mend)


def _fill(tensor: Tensor, values: Any) -> Tensor:
    with no_grad():
        return tensor.copy_(values)


explain_all(globals())
