"""Is a gradient right? It is compared with finite differences, element by element."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import backends
from ..core.above import above
from ..core.base import TensorBase
from ..dtypes import float64, is_float
from ..errors import AutogradError, DtypeError
from ..inputs.kinds import explain_all
from ..settings import no_grad
from .engine import grad
from .forward import jvp


class GradcheckError(AutogradError):
    """A gradient and the finite difference do not agree."""


def gradcheck(
    func: Callable[..., Any],
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    check_forward_ad: bool = False,
) -> bool:
    """Whether the gradients of ``func(*inputs)`` agree with central finite differences, all of them.

    Those of the ``inputs`` that require grad are checked. They must be float64, because differences are too coarse in
    float32. Every element of every float result is checked against every element of every such input: use small
    tensors. With ``check_forward_ad`` forward mode is checked too.

    Returns True, or raises a `GradcheckError` that names the first wrong element (with ``raise_exception=False`` it
    returns False). Raises `DtypeError` for inputs of another dtype, `AutogradError` when none requires grad.

    >>> import tinygrad_edu as tg
    >>> gradcheck(lambda x: (x * x).sum(), tg.tensor([1.0, 2.0], dtype="float64", requires_grad=True))
    True
    """
    args = tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)
    checked = _checked_inputs(args)
    try:
        for position in range(len(_results(func, args))):
            slopes = [_numeric(func, args, i, position, eps) for i in checked]
            _compare("backward", slopes, _by_backward(func, args, checked, position), checked, atol, rtol)
            if check_forward_ad:
                _compare("jvp", slopes, _by_jvp(func, args, checked, position), checked, atol, rtol)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(func: Callable[..., Any], inputs: Any, grad_outputs: Any = None, **how: Any) -> bool:
    """Whether second derivatives agree too: `gradcheck` of the gradient, in the inputs and in ``grad_outputs``.

    Those are the gradients of the results, random ones by default. The rest is as in `gradcheck`.
    """
    args = tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)
    results = tuple(r for r in _results(func, args) if r.node is not None)
    if grad_outputs is None:
        rng = np.random.default_rng(0)
        made = (above.as_tensor(rng.normal(size=tuple(r.shape))).to(device=r.device) for r in results)
        grad_outputs = [g.requires_grad_() for g in made]
    weights = tuple(grad_outputs) if isinstance(grad_outputs, (tuple, list)) else (grad_outputs,)
    wanted = _checked_inputs(args)

    def slope(*both: Any) -> tuple[Any, ...]:
        own, gradients = both[: len(args)], both[len(args) :]
        outputs = tuple(r for r in _results(func, own) if r.node is not None)
        found = grad(outputs, [own[i] for i in wanted], gradients, create_graph=True, allow_unused=True)
        return tuple(g for g in found if g is not None)

    return gradcheck(slope, (*args, *weights), **how)


def _checked_inputs(args: tuple[Any, ...]) -> list[int]:
    checked = [i for i, x in enumerate(args) if isinstance(x, TensorBase) and x.node is not None]
    if not checked:
        raise AutogradError(
            "gradcheck", "none of the inputs requires grad, so there is nothing to check",
            "make them with requires_grad=True"
        )  # fmt: skip
    for i in checked:
        if args[i].array.dtype != float64:
            raise DtypeError(
                f"gradcheck of input {i}, a {args[i].array.dtype}",
                "finite differences need the digits of float64 to mean anything",
                "use x.double()"
            )  # fmt: skip
    return checked


def _results(func: Callable[..., Any], args: tuple[Any, ...]) -> tuple[Any, ...]:
    found = func(*args)
    results = found if isinstance(found, (tuple, list)) else (found,)
    return tuple(r for r in results if isinstance(r, TensorBase) and is_float(r.array.dtype))


def _values(tensor: Any) -> Any:
    return np.array(backends.of(tensor.array).to_numpy(tensor.array), dtype=np.float64)


def _numeric(func: Callable[..., Any], args: tuple[Any, ...], i: int, position: int, eps: float) -> Any:
    """The Jacobian by central differences: (elements of the input, elements of the result)."""
    start = _values(args[i])
    rows = []
    for at in np.ndindex(start.shape):
        ends = []
        for step in (eps, -eps):
            moved = start.copy()
            moved[at] += step
            with no_grad():
                x = above.as_tensor(moved).to(device=args[i].device).requires_grad_()
            result = _results(func, (*args[:i], x, *args[i + 1 :]))[position]
            ends.append(_values(result.detach()).reshape(-1))
        rows.append((ends[0] - ends[1]) / (2 * eps))
    return np.array(rows).reshape(start.size, -1)


def _by_backward(func: Callable[..., Any], args: tuple[Any, ...], checked: list[int], position: int) -> list[Any]:
    result = _results(func, args)[position]
    columns: list[list[Any]] = [[] for _ in checked]
    for at in range(result.array.size):
        one = np.zeros(result.array.size)
        one[at] = 1
        weight = above.as_tensor(one.reshape(tuple(result.shape))).to(device=result.device)
        given = (None,) * len(checked)
        if result.node is not None:
            given = grad(result, [args[i] for i in checked], weight, retain_graph=True, allow_unused=True)
        for column, g, i in zip(columns, given, checked, strict=True):
            column.append(np.zeros(args[i].array.size) if g is None else _values(g.detach()).reshape(-1))
    return [np.array(column).reshape(-1, args[i].array.size).T for column, i in zip(columns, checked, strict=True)]


def _by_jvp(func: Callable[..., Any], args: tuple[Any, ...], checked: list[int], position: int) -> list[Any]:
    found = []
    for i in checked:

        def alone(x: Any, i: int = i) -> tuple[Any, ...]:
            return _results(func, (*args[:i], x, *args[i + 1 :]))

        rows = []
        for at in np.ndindex(tuple(args[i].shape)):
            one = np.zeros(tuple(args[i].shape))
            one[at] = 1
            _, tangents = jvp(alone, (args[i],), (above.as_tensor(one).to(device=args[i].device),))
            rows.append(_values(tangents[position].detach()).reshape(-1))
        found.append(np.array(rows).reshape(args[i].array.size, -1))
    return found


def _compare(mode: str, slopes: list[Any], found: list[Any], checked: list[int], atol: float, rtol: float) -> None:
    for slope, value, i in zip(slopes, found, checked, strict=True):
        wrong = ~np.isclose(value, slope, atol=atol, rtol=rtol, equal_nan=True)
        if wrong.any():
            row, column = np.argwhere(wrong)[0]
            raise GradcheckError(
                f"gradcheck by {mode}",
                f"the derivative of result element {column} by element {row} of input {i} is {value[row, column]:.6g}, "
                f"and the finite difference {slope[row, column]:.6g}; {int(wrong.sum())} of {wrong.size} differ",
                "look for the op whose backward is wrong, or for a kink at this point",
            )


explain_all(globals())
