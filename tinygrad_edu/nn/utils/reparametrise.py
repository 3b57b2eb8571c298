"""Weights that are computed from other parameters before each forward: by `weight_norm` and by `spectral_norm`.

The layer itself does not know about this: its weight becomes a plain tensor, which a hook recomputes, and the
parameters that it is computed from are trained and saved instead.
"""

from __future__ import annotations

from typing import Any, TypeVar

from ...errors import ArgumentError
from ...inputs.arguments import axis, whole
from ...inputs.kinds import explain_all, kind_of
from ...ops.linalg import dot, mv
from ...ops.reduce import norm
from ...settings import no_grad
from ...tensor import Tensor
from ..conv import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from ..functional import normalize
from ..hooks import drop_before
from ..module import Module
from ..parameter import Parameter

M = TypeVar("M", bound=Module)


class _Recomputed:
    """A hook before forward, which computes one weight of a module."""

    verb = ""
    parts: tuple[str, ...] = ()  # the names of what it is computed from: what follows the weight's name

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.weight(module))

    def weight(self, module: Module) -> Tensor:
        """The present weight."""
        raise NotImplementedError

    def held(self, module: Module) -> list[Any]:
        """What it is computed from."""
        return [getattr(module, self.name + part) for part in self.parts]

    def begin(self, module: Module) -> None:
        """Start to recompute the weight. The module already has the parts."""
        setattr(module, self.name, self.weight(module).detach())
        module.register_forward_pre_hook(self)

    def end(self, module: Module, weight: Tensor) -> None:
        """Make the weight a parameter as before."""
        drop_before(module, self)
        for part in self.parts:
            delattr(module, self.name + part)
        delattr(module, self.name)
        setattr(module, self.name, Parameter(weight.detach()))


class _WeightNorm(_Recomputed):
    verb, parts = "weight_norm", ("_g", "_v")

    def __init__(self, name: str, dim: int | None) -> None:
        super().__init__(name)
        self.dim = dim

    def length(self, v: Tensor) -> Tensor:
        """The norms of the slices along ``dim``, or of the whole weight."""
        if self.dim is None:
            return norm(v)
        others = tuple(i for i in range(v.ndim) if i != self.dim)
        return norm(v, 2.0, others, True) if others else v.abs()

    def weight(self, module: Module) -> Tensor:
        g, v = self.held(module)
        found: Tensor = v * (g / self.length(v))
        return found


class _SpectralNorm(_Recomputed):
    verb, parts = "spectral_norm", ("_orig", "_u", "_v")

    def __init__(self, name: str, steps: int, eps: float, dim: int) -> None:
        super().__init__(name)
        self.steps, self.eps, self.dim = steps, eps, dim

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.weight(module, module.training))

    def matrix(self, weight: Tensor) -> Tensor:
        """The weight with its axis ``dim`` as rows, and all others as columns."""
        return weight.movedim(self.dim, 0).reshape(weight.shape[self.dim], -1)

    def weight(self, module: Module, search: bool = False) -> Tensor:
        weight, u, v = self.held(module)
        matrix = self.matrix(weight)
        if search:
            with no_grad():
                for _ in range(self.steps):
                    v.copy_(normalize(mv(matrix.t(), u), dim=0, eps=self.eps))
                    u.copy_(normalize(mv(matrix, v), dim=0, eps=self.eps))
            u, v = u.clone(), v.clone()  # the next forward writes to them, and this one's backward still reads them
        found: Tensor = weight / dot(u, mv(matrix, v))
        return found


def weight_norm(module: M, name: str = "weight", dim: int | None = 0) -> M:
    """Train the lengths of a weight's slices, ``name_g``, apart from their directions, ``name_v``. Returns the module.

    The weight is ``v * g / norm(v)``, with one length for each place along ``dim``, or one for all with ``dim=None``.
    Raises `ArgumentError` if the module has no parameter of that name, or if it already has such a norm.
    """
    weight = _parameter("weight_norm", module, name)
    along = None if dim is None or dim == -1 else axis(weight, dim, weight.ndim)
    hook = _WeightNorm(name, along)
    delattr(module, name)
    module.register_parameter(f"{name}_g", Parameter(hook.length(weight.detach()).clone()))
    module.register_parameter(f"{name}_v", Parameter(weight.detach()))
    hook.begin(module)
    return module


def remove_weight_norm(module: M, name: str = "weight") -> M:
    """Make the present weight a parameter again, instead of its lengths and directions. Returns the module.

    Raises `ArgumentError` if there is no `weight_norm`.
    """
    hook = _hook(_WeightNorm, module, name)
    hook.end(module, hook.weight(module))
    return module


def spectral_norm(
    module: M, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> M:
    """Divide a weight by its largest singular value, so that the layer stretches nothing. Returns the module.

    The weight counts as a matrix, with the axis ``dim`` as rows: 0, or 1 for transposed convolutions. Each forward in
    training brings ``name_u`` and ``name_v`` closer to its singular vectors by ``n_power_iterations`` products; the
    parameter becomes ``name_orig``. Raises `ArgumentError` for an unknown name, or one that already has such a norm.
    """
    weight = _parameter("spectral_norm", module, name)
    tried = f"spectral_norm of {type(module).__name__}"
    steps = whole(tried, "n_power_iterations", n_power_iterations)
    if steps < 1:
        why = "the singular vectors are found by products"
        raise ArgumentError(f"{tried} with n_power_iterations={steps}", why, "take 1 or more")
    if dim is None:
        dim = 1 if isinstance(module, (ConvTranspose1d, ConvTranspose2d, ConvTranspose3d)) else 0
    hook = _SpectralNorm(name, steps, eps, axis(weight, dim, weight.ndim))
    with no_grad():
        rows, columns = hook.matrix(weight).shape
        u = normalize(weight.new_empty(rows).normal_(0, 1), dim=0, eps=eps)
        v = normalize(weight.new_empty(columns).normal_(0, 1), dim=0, eps=eps)
    delattr(module, name)
    module.register_parameter(f"{name}_orig", weight)
    module.register_buffer(f"{name}_u", u)
    module.register_buffer(f"{name}_v", v)
    setattr(module, name, weight.detach())
    module.register_forward_pre_hook(hook)
    return module


def remove_spectral_norm(module: M, name: str = "weight") -> M:
    """Make the present weight, already divided, a parameter again. Returns the module.

    Raises `ArgumentError` if there is no `spectral_norm`.
    """
    hook = _hook(_SpectralNorm, module, name)
    with no_grad():
        weight = hook.weight(module)
    hook.end(module, weight)
    return module


def _hooks(module: Module) -> list[Any]:
    before = module._hooks.before.values() if module._hooks is not None else ()
    return [hook for hook, _ in before if isinstance(hook, _Recomputed)]


def _parameter(verb: str, module: Any, name: Any) -> Tensor:
    if not isinstance(module, Module):
        why = f"it takes a module, and this is {kind_of(module)}"
        raise ArgumentError(f"{verb}({kind_of(module)})", why, "pass a layer, such as Linear(3, 3)")
    tried = f"{verb} of {type(module).__name__}.{name}"
    if any(hook.name == name and hook.verb == verb for hook in _hooks(module)):
        raise ArgumentError(tried, f"its {name} has a {verb} already", f"take that away: remove_{verb}(module)")
    found = module._parameters.get(name) if isinstance(name, str) else None
    if found is None:
        names = ", ".join(module._parameters) or "none"
        why = f"it is not a parameter of this module; there are: {names}"
        raise ArgumentError(tried, why, "name one of its parameters")
    return found


def _hook(kind: type[_Recomputed], module: Any, name: str) -> Any:
    for hook in _hooks(module) if isinstance(module, Module) else ():
        if isinstance(hook, kind) and hook.name == name:
            return hook
    tried = f"remove_{kind.verb} of {type(module).__name__}.{name}"
    raise ArgumentError(tried, f"there is no {kind.verb}", f"leave it out, or name what {kind.verb}() was given")


explain_all(globals())
