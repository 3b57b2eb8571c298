"""The dtypes of a model: a policy for inputs of another one, a report of all that it holds, and a check of outputs.

>>> import tinygrad_edu as tg
>>> layer = tg.nn.LayerNorm(2)
>>> with match_dtype(layer, "convert"):
...     layer(tg.ones(1, 2, dtype="float64")).dtype
dtype('float32')
>>> dtype_report({"x": tg.ones(2, 3), "labels": [tg.zeros(2, dtype="int64")]})
float32      1 tensor           24 bytes  x
int64        1 tensor           16 bytes  labels.0
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from ...common.blocks import Block
from ...common.lines import warn_user
from ...common.wording import bytes_text, plural, shown, suggestion
from ...dtypes import is_float
from ...errors import ArgumentError, DtypeError
from ...settings import no_grad
from ...tensor import Tensor
from ..module import Module

POLICIES = ("ignore", "warn", "convert", "error")


class DtypeWarning(UserWarning):
    """A module was given floats of another dtype than its parameters have."""


class match_dtype(Block):
    """Decide what happens where a module of ``model`` is given floats of another dtype than its own parameters have.

    ``policy`` is "ignore", "warn" (once for each module), "convert" (the inputs are cast first) or "error"
    (`DtypeError`). It holds from now on, until ``remove()``, or for a ``with`` block. Modules without parameters of
    their own take what comes. Raises `ArgumentError` for another policy, or where ``model`` is no module.

    Without it, PyTorch's rules hold: a matrix product of two dtypes is an error, and all else is widened silently.
    """

    def __init__(self, model: Module, policy: str = "warn") -> None:
        if not isinstance(model, Module):
            raise ArgumentError(f"match_dtype of {shown(model, 40)}", "it has no modules", "give an nn.Module")
        if policy not in POLICIES:
            raise ArgumentError(f"the policy {policy!r}", "there is no such policy", suggestion(str(policy), POLICIES))
        self.policy = policy
        self._open: list[Any] = []
        self._told: set[str] = set()
        self._handles = [
            module.register_forward_pre_hook(self._hook(name or type(model).__name__), with_kwargs=True)
            for name, module in model.named_modules()
            if policy != "ignore" and _own_dtype(module) is not None
        ]

    def __enter__(self) -> Self:
        self._open.append(self)
        return self

    def _restore(self, found: Any) -> None:
        self.remove()

    def remove(self) -> None:
        """Let modules take any dtype again. A second call does no harm."""
        for handle in self._handles:
            handle.remove()

    def _hook(self, name: str) -> Callable[..., Any]:
        def before(module: Module, inputs: tuple[Any, ...], options: dict[str, Any]) -> Any:
            own = _own_dtype(module)
            others = [x for x in (*inputs, *options.values()) if _is_float(x) and own is not None and x.dtype != own]
            if not others:
                return None
            if self.policy == "convert":
                return (
                    tuple(x.to(own) if _is_float(x) else x for x in inputs),
                    {key: x.to(own) if _is_float(x) else x for key, x in options.items()},
                )
            tried = f"{type(module).__name__} {name!r} of {own} with an input of {others[0].dtype}"
            mend = f"convert the input, x.to('{own}'), or let it be done: match_dtype(model, 'convert')"
            if self.policy == "error":
                raise DtypeError(tried, "its policy is that they are the same", mend)
            if name not in self._told:
                self._told.add(name)
                warn_user(f"{tried}: the result is in the wider of the two, or an error; {mend}", DtypeWarning)
            return None

        return before


def _is_float(value: Any) -> bool:
    return isinstance(value, Tensor) and is_float(value.dtype)


def _own_dtype(module: Module) -> Any:
    """That of the module's own parameters: the widest float, if there are several."""
    found = [p.dtype for p in module.parameters(recurse=False) if is_float(p.dtype)]
    return max(found, key=lambda dtype: dtype.itemsize, default=None)


# The report ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class DtypeRow:
    """All tensors of one dtype: how many, their elements and bytes, and the path of each."""

    dtype: np.dtype[Any]
    tensors: int
    elements: int
    nbytes: int
    paths: tuple[str, ...]


@dataclass(frozen=True)
class DtypeReport:
    """What `dtype_report` found. ``rows`` are by dtype, the one with most bytes first. It prints as a table."""

    rows: tuple[DtypeRow, ...]

    @property
    def dtypes(self) -> tuple[np.dtype[Any], ...]:
        """Those that were found."""
        return tuple(row.dtype for row in self.rows)

    def __repr__(self) -> str:
        return "\n".join(
            f"{row.dtype!s:<10}{plural(row.tensors, 'tensor'):>11} {bytes_text(row.nbytes):>18}  "
            + ", ".join(row.paths[:3]) + (", …" if len(row.paths) > 3 else "")
            for row in self.rows
        ) or "no tensors"  # fmt: skip


def dtype_report(tree: Any) -> DtypeReport:
    """Every dtype in ``tree``: a module, an optimiser, or dicts, lists, tuples and dataclasses of tensors and arrays.

    A tensor that is met twice counts once. NumPy arrays and scalars count too; Python numbers have no dtype.
    """
    found: dict[np.dtype[Any], list[tuple[str, Any]]] = {}
    met: set[int] = set()
    for path, one in _leaves(tree, "", met):
        found.setdefault(one.dtype, []).append((path, one))
    rows = [
        DtypeRow(
            dtype, len(leaves), sum(int(np.prod(one.shape)) for _, one in leaves),
            sum(int(np.prod(one.shape)) * dtype.itemsize for _, one in leaves), tuple(path for path, _ in leaves),
        )
        for dtype, leaves in found.items()
    ]  # fmt: skip
    return DtypeReport(tuple(sorted(rows, key=lambda row: (-row.nbytes, str(row.dtype)))))


def _leaves(tree: Any, path: str, met: set[int]) -> Iterator[tuple[str, Any]]:
    if isinstance(tree, (Tensor, np.ndarray, np.generic)):
        if id(tree) not in met:
            met.add(id(tree))
            yield path, tree
        return
    if id(tree) in met or isinstance(tree, str):
        return
    pairs: list[tuple[str, Any]]
    if isinstance(tree, Module):
        pairs = [*tree.named_parameters(), *tree.named_buffers()]
    elif isinstance(tree, Mapping):
        pairs = [(str(key), value) for key, value in tree.items()]
    elif isinstance(tree, (list, tuple, set, frozenset)):
        pairs = [(str(place), value) for place, value in enumerate(tree)]
    elif dataclasses.is_dataclass(tree) and not isinstance(tree, type):
        pairs = [(one.name, getattr(tree, one.name)) for one in dataclasses.fields(tree)]
    elif hasattr(tree, "param_groups") and hasattr(tree, "state"):  # an optimiser
        params = [one for group in tree.param_groups for one in group["params"]]
        pairs = [("params", params), ("state", list(tree.state.values()))]
    else:
        return
    met.add(id(tree))
    for name, value in pairs:
        yield from _leaves(value, f"{path}.{name}" if path else name, met)


# Outputs -------------------------------------------------------------------------------------------------------------


def check_stable(module: Module, *inputs: Any) -> None:
    """Raise `DtypeError` where a layer gives another dtype or shape for other *values* of the same inputs.

    Such a layer compiles anew for some values, and widens for some. A copy of the module is called, without a graph:
    with these inputs, and with zeros, ones, their negatives, and their elements in the opposite order. Integers are
    only put in another order, since they may be positions. The error names the innermost layer that differs, for which
    values, and what it gave. Code that never meets other values cannot be seen.
    """
    if not isinstance(module, Module):
        raise ArgumentError(f"check_stable of {shown(module, 40)}", "it is no module", "give an nn.Module, and inputs")
    usual = _outputs(module, inputs, usual=True)
    for words, change in _CHANGES.items():
        changed = tuple(change(x) if isinstance(x, Tensor) else x for x in inputs)
        for (name, kind, before), (_, _, after) in zip(usual, _outputs(module, changed), strict=False):
            if before != after:
                tried = f"{kind} {name!r}" if name else kind
                why = f"it gives {before}, but {after} for {words} of the same shape and dtype"
                mend = "let the output's dtype and shape follow from those of the inputs: where(…), and no if on values"
                raise DtypeError(tried, why, mend)


def _outputs(module: Module, inputs: tuple[Any, ...], usual: bool = False) -> list[tuple[str, str, str]]:
    """For each call of a layer, in the order in which they end: its name, its class, and what it gave.

    An error for other values than the ``usual`` ones is something that it gives.
    """
    found: list[tuple[str, str, str]] = []
    model = copy.deepcopy(module)
    names = {id(layer): name for name, layer in model.named_modules()}
    handles = [
        layer.register_forward_hook(
            lambda layer, _, output: found.append((names[id(layer)], type(layer).__name__, _described(output)))
        )
        for layer in model.modules()
    ]
    try:
        with no_grad():
            model(*inputs)
    except Exception as error:
        if usual:
            raise
        found.append(("", type(module).__name__, f"{type(error).__name__}: {str(error).splitlines()[0]}"))
    finally:
        for handle in handles:
            handle.remove()
    return found


def _described(output: Any) -> str:
    if isinstance(output, Tensor):
        return f"{output.dtype} {tuple(output.shape)}"
    if isinstance(output, (list, tuple)):
        return f"({', '.join(map(_described, output))})"
    if isinstance(output, Mapping):
        return f"{{{', '.join(f'{key}: {_described(value)}' for key, value in output.items())}}}"
    return f"a {type(output).__name__}"


def _turned(x: Tensor) -> Tensor:
    return x.reshape(-1).flip(0).reshape(x.shape)


_CHANGES: dict[str, Callable[[Tensor], Tensor]] = {
    "zeros": lambda x: x * 0 if is_float(x.dtype) else x,
    "ones": lambda x: x * 0 + 1 if is_float(x.dtype) else x,
    "their negatives": lambda x: -x if is_float(x.dtype) else x,
    "their elements in the opposite order": _turned,
}
