"""Derivatives of functions, as in ``torch.autograd.functional``: whole Jacobians and Hessians, and products with them.

A function takes one tensor or several, and returns one or a tuple of them. The inputs that it is called with are new
leaves, so no ``.grad`` is touched. With ``create_graph`` the results stay connected to the inputs, so they can be
differentiated again. The derivative of an input that the function does not use is 0; with ``strict`` it raises
`AutogradError`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.above import above
from ..core.base import TensorBase
from ..errors import ArgumentError, AutogradError, DtypeError, ShapeError
from ..inputs.kinds import explain_all
from ..ops.movement import reshape, stack
from ..settings import enable_grad
from .engine import grad

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]
_MODES = ("reverse-mode", "forward-mode")


def jacobian(
    func: Callable[..., Any],
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """Each output's derivative with respect to each input: of shape (*output, *input), with one backward for each row.

    A tensor for one output and one input; otherwise a tuple over the outputs, the inputs, or both, outputs first.
    ``vectorize`` and ``strategy`` choose in PyTorch how the same numbers are computed, and change nothing here.

    >>> import tinygrad_edu as tg
    >>> tg.autograd.functional.jacobian(lambda x: x**2, tg.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    _known_way("jacobian", "strategy", strategy, vectorize)
    with enable_grad():
        xs = _leaves("jacobian", inputs, create_graph)
        outputs, single = _called("jacobian", func, xs)
        found = tuple(_rows(output, xs, create_graph, strict) for output in outputs)
    each = tuple(_like(inputs, parts) for parts in found)
    return each[0] if single else each


def hessian(
    func: Callable[..., Any],
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """The second derivatives of one number: of shape (*input, *input), or a tuple of tuples for several inputs.

    ``vectorize`` and ``outer_jacobian_strategy`` change nothing here. Raises `ShapeError` where ``func`` returns more
    than one number.

    >>> import tinygrad_edu as tg
    >>> tg.autograd.functional.hessian(lambda x: (x**3).sum(), tg.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    _known_way("hessian", "outer_jacobian_strategy", outer_jacobian_strategy, vectorize)

    def slopes(*xs: Any) -> tuple[Any, ...]:
        return _slopes("hessian", func, xs, strict)[1]

    parts = jacobian(slopes, inputs, create_graph, strict)
    return parts if isinstance(inputs, tuple) else parts[0]


def vjp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The outputs, and a vector times the Jacobian: what one backward gives. ``v`` has the shapes of the outputs.

    ``v`` may be left out if the output is one number.
    """
    with enable_grad():
        xs = _leaves("vjp", inputs, create_graph)
        outputs, single = _called("vjp", func, xs)
        weights = _vector("vjp", v, outputs, "the outputs")
        found = _grad(outputs, xs, weights, create_graph, strict)
    kept = _done(outputs, create_graph)
    return kept[0] if single else kept, _like(inputs, _done(found, create_graph))


def jvp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The outputs, and the Jacobian times a vector: how they change along ``v``, which has the shapes of the inputs.

    Two backward passes compute it, so it can itself be differentiated; `tinygrad_edu.autograd.jvp` needs one pass
    forward. ``v`` may be left out if the only input is one number.
    """
    with enable_grad():
        xs = _leaves("jvp", inputs, create_graph)
        along = _vector("jvp", v, xs, "the inputs")
        outputs, single = _called("jvp", func, xs)
        weights = tuple((output.detach() * 0).requires_grad_() for output in outputs)
        slopes = _grad(outputs, xs, weights, True, strict)
        found = _grad(slopes, weights, along, create_graph, strict)
    kept, found = _done(outputs, create_graph), _done(found, create_graph)
    return (kept[0], found[0]) if single else (kept, found)


def vhp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The one number that ``func`` returns, and a vector times its Hessian; ``v`` has the shapes of the inputs."""
    return _by_hessian("vhp", func, inputs, v, create_graph, strict)


def hvp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The one number that ``func`` returns, and its Hessian times a vector. It equals `vhp`: Hessians are symmetric."""
    return _by_hessian("hvp", func, inputs, v, create_graph, strict)


def _by_hessian(name: str, func: Any, inputs: Any, v: Any, create_graph: bool, strict: bool) -> tuple[Any, Any]:
    with enable_grad():
        xs = _leaves(name, inputs, create_graph)
        along = _vector(name, v, xs, "the inputs")
        output, slopes = _slopes(name, func, xs, strict)
        found = _grad(slopes, xs, along, create_graph, strict)
    return _done((output,), create_graph)[0], _like(inputs, _done(found, create_graph))


# What they are made of ----------------------------------------------------------------------------------------------


def _rows(output: Any, xs: tuple[Any, ...], create_graph: bool, strict: bool) -> tuple[Any, ...]:
    """The Jacobian of one output, by input."""
    flat = reshape(output, (-1,))
    rows = [_grad((flat[i],), xs, (None,), create_graph, strict) for i in range(flat.numel())]
    shape = tuple(output.shape)
    found = [
        reshape(stack([row[i] for row in rows]), (*shape, *x.shape)) if rows else x.new_zeros((*shape, *x.shape))
        for i, x in enumerate(xs)
    ]
    return _done(tuple(found), create_graph)


def _slopes(name: str, func: Any, xs: tuple[Any, ...], strict: bool) -> tuple[Any, tuple[Any, ...]]:
    """The number that a function returns, and its gradients, which can be differentiated."""
    (output, *more), _ = _called(name, func, xs)
    if more or output.numel() != 1:
        what = f"{len(more) + 1} tensors" if more else f"a tensor {tuple(output.shape)}"
        why = f"second derivatives are those of one number, and it returned {what}"
        raise ShapeError(f"{name} of {_name(func)}", why, "return a sum, or use jacobian")
    return output, _grad((output,), xs, (None,), True, strict)


def _grad(outputs: Any, xs: Any, weights: Any, create_graph: bool, strict: bool) -> tuple[Any, ...]:
    """`grad`, with zeros for constants and for inputs that were not used."""
    used = [i for i, output in enumerate(outputs) if output.requires_grad]
    if strict and len(used) < len(outputs):
        why, mend = "an output does not depend on the inputs at all", "leave strict out for derivatives of 0"
        raise AutogradError("derivatives with strict=True", why, mend)
    if not used:
        return tuple(x.detach() * 0 for x in xs)
    return grad(
        [outputs[i] for i in used],
        xs,
        [weights[i] for i in used],
        retain_graph=True,
        create_graph=create_graph,
        materialize_grads=not strict,
    )


def _leaves(name: str, inputs: Any, create_graph: bool) -> tuple[Any, ...]:
    given = inputs if isinstance(inputs, tuple) else (inputs,)
    for x in given:
        if not isinstance(x, TensorBase):
            why, mend = f"an input is a {type(x).__name__}", "pass one tensor, or a tuple of tensors"
            raise DtypeError(f"{name}(func, inputs)", why, mend)
    return tuple(x.view_as(x) if create_graph and x.requires_grad else x.detach().requires_grad_() for x in given)


def _called(name: str, func: Any, xs: tuple[Any, ...]) -> tuple[tuple[Any, ...], bool]:
    """The outputs, and whether there is just one, without a tuple."""
    if not callable(func):
        raise DtypeError(f"{name}(func, inputs)", f"func is a {type(func).__name__}", "pass a function of tensors")
    output = func(*xs)
    outputs = output if isinstance(output, tuple) else (output,)
    for one in outputs:
        if not isinstance(one, TensorBase):
            why, mend = f"it returned a {type(one).__name__}", "return a tensor, or a tuple of tensors"
            raise DtypeError(f"{name} of {_name(func)}", why, mend)
    return outputs, not isinstance(output, tuple)


def _vector(name: str, v: Any, like: tuple[Any, ...], what: str) -> tuple[Any, ...]:
    """``v`` as a tuple of tensors with the shapes of ``like``."""
    if v is None:
        if len(like) == 1 and like[0].numel() == 1:
            return (like[0].detach() * 0 + 1,)
        raise ShapeError(f"{name} without v", f"it has the shapes of {what}, which are not one number", "pass v")
    given = tuple(above.as_tensor(one) for one in (v if isinstance(v, (tuple, list)) else (v,)))
    shapes, wanted = [tuple(one.shape) for one in given], [tuple(x.shape) for x in like]
    if shapes != wanted:
        why = f"{what} have the shapes {', '.join(map(str, wanted))}"
        raise ShapeError(f"{name} with v of {', '.join(map(str, shapes))}", why, "give v the same shapes")
    return given


def _known_way(name: str, keyword: str, strategy: Any, vectorize: Any) -> None:
    if strategy not in _MODES:
        raise ArgumentError(f"{name} with {keyword}={strategy!r}", f"there are {' and '.join(_MODES)}", "use one")
    if strategy == "forward-mode" and not vectorize:
        why = "PyTorch has it with vectorize=True only"
        raise ArgumentError(f"{name} with {keyword}={strategy!r}", why, "leave it out: the values are the same")


def _done(found: tuple[Any, ...], create_graph: bool) -> tuple[Any, ...]:
    return found if create_graph else tuple(one.detach() for one in found)


def _like(inputs: Any, parts: tuple[Any, ...]) -> Any:
    return parts if isinstance(inputs, tuple) else parts[0]


def _name(func: Any) -> str:
    return getattr(func, "__name__", type(func).__name__)


explain_all(globals())
