"""Putting a state back into a module: all of it, or nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from .. import backends
from ..backends.layout import overlaps
from ..errors import DtypeError, ShapeError
from ..settings import no_grad
from ..tensor import Tensor, as_tensor
from .parameter import Parameter, is_lazy

if TYPE_CHECKING:
    from .stateful import Stateful

_SHOWN = 8  # names in an error


class IncompatibleKeys(NamedTuple):
    """The names that the module has and the state lacks, and the other way round."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return f"IncompatibleKeys(missing_keys={self.missing_keys}, unexpected_keys={self.unexpected_keys})"


class _Entry(NamedTuple):
    """One tensor of a module's state, and where it is registered."""

    module: Stateful
    name: str
    tensor: Tensor


def _places(module: Stateful, prefix: str = "") -> Iterator[tuple[str, Stateful]]:
    """The module and all inside it, outermost first, each with the prefix of its names in a state."""
    yield prefix, module
    for name, inner in module._modules.items():
        if inner is not None:
            yield from _places(inner, f"{prefix}{name}.")


def load(module: Stateful, state: Any, strict: bool, assign: bool) -> IncompatibleKeys:
    """`Module.load_state_dict`."""
    tried = f"load_state_dict into {type(module).__name__}"
    if not isinstance(state, Mapping):
        why, mend = "a state is a dict of named tensors", "load the file first, or pass model.state_dict()"
        raise DtypeError(f"load_state_dict of a {type(state).__name__}", why, mend)
    state = dict(state)  # hooks may change it
    keys, refused = IncompatibleKeys([], []), list[str]()
    places = list(_places(module))
    for prefix, inner in places:
        inner._refuse("_load_from_state_dict")
        inner._call_state_hooks("load", state, prefix, {}, strict, *keys, refused)
    own = {prefix + name: _Entry(inner, name, t) for prefix, inner in places for name, t in inner._own_state()}
    extra = {f"{prefix}_extra_state": inner for prefix, inner in places if inner._defines("set_extra_state")}
    values = {name: as_tensor(state[name]) for name in own if name in state}
    keys.missing_keys.extend(name for name in (*own, *extra) if name not in state)
    keys.unexpected_keys.extend(name for name in state if name not in own and name not in extra)
    names = {"missing": keys.missing_keys, "not expected": keys.unexpected_keys} if strict else {}
    wrong = _wrong(own, values, assign) | {"a hook says": refused}
    if any((names | wrong).values()):
        why = "; ".join(f"{word}: {_listed(found)}" for word, found in (names | wrong).items() if found)
        raise ShapeError(tried, why, _mend(state, own, keys, bool(values) and not any(wrong.values())))
    values = {name: value for name, value in values.items() if not is_lazy(value)}  # lazy ones stay lazy
    if assign:
        _assign({name: own[name] for name in values}, values)
    else:
        _copy({name: own[name].tensor for name in values}, values)
    for name, inner in extra.items():
        if name in state:
            inner.set_extra_state(state[name])
    _tell(module, keys)
    return keys


def _wrong(own: Mapping[str, _Entry], values: Mapping[str, Tensor], assign: bool) -> dict[str, list[str]]:
    """Entries that do not fit although their names do."""
    found = {name: _misfit(own[name], value) for name, value in values.items()}
    shapes = [f"{name} {what}" for name, what in found.items() if what]
    fixed = [] if assign else [name for name in values if not _writeable(own[name].tensor)]
    return {"wrong shape": shapes, "cannot be written to": fixed}


def _misfit(entry: _Entry, value: Tensor) -> str:
    """The given and the wanted shape; empty if they agree. In lazy layers, tensors may have no shape yet."""
    given = "not known yet" if is_lazy(value) else str(tuple(value.shape))
    if is_lazy(entry.tensor):
        wanted = "" if is_lazy(value) else entry.module._awaits(entry.name, tuple(value.shape))
    else:
        wanted = str(tuple(entry.tensor.shape))
    return f"{given} for {wanted}" if wanted not in ("", given) else ""


def _tell(module: Stateful, keys: IncompatibleKeys) -> None:
    """Call the hooks for the end of loading, innermost first."""
    for inner in module._modules.values():
        if inner is not None:
            _tell(inner, keys)
    module._call_state_hooks("loaded", keys)


def _writeable(tensor: Tensor) -> bool:
    if is_lazy(tensor):
        return True
    flags = getattr(tensor.array, "flags", None)
    return bool(getattr(flags, "writeable", True) or not tensor.ndim) and not overlaps(
        tensor.array.shape, tensor.array.strides
    )


def _listed(names: list[str]) -> str:
    more = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {more} more" if more > 0 else "")


def _mend(state: Mapping[Any, Any], own: Mapping[str, _Entry], keys: IncompatibleKeys, only_names: bool) -> str:
    """What to do. Names that differ only in a prefix come from a module that was wrapped in another, or now is."""
    for key, inner in state.items():
        if isinstance(inner, Mapping) and any(name in own for name in inner):
            return f"the module's state is one part of what was saved: load_state_dict(checkpoint[{key!r}])"
    missing, unexpected = keys
    for longer, shorter, way in ((unexpected, missing, "k.removeprefix({!r})"), (missing, unexpected, "{!r} + k")):
        if shorter and len(longer) == len(shorter) and longer[0].endswith(shorter[0]):
            prefix = longer[0].removesuffix(shorter[0])
            if all(one == prefix + other for one, other in zip(longer, shorter, strict=True)):
                return f"the names differ by {prefix!r}: load {{{way.format(prefix)}: v for k, v in state.items()}}"
    if only_names:
        return "load into a module built with the same layers, or only what fits: load_state_dict(state, strict=False)"
    return "load into a module built with the same sizes"


def _copy(own: dict[str, Tensor], values: dict[str, Tensor]) -> None:
    """Write the values into the module's tensors. Everything that can fail, or has yet to be read, comes first."""
    buffers = {id(_buffer(tensor)) for tensor in own.values() if not is_lazy(tensor)}
    ready = {}
    for name, value in values.items():
        tensor, value = own[name], value.detach()
        fitting = value.to(dtype=tensor.dtype, device=tensor.device)
        itself = not is_lazy(tensor) and _buffer(fitting) is _buffer(tensor)
        ready[name] = fitting.clone() if id(_buffer(fitting)) in buffers and not itself else fitting
    with no_grad():
        for name, value in ready.items():
            tensor = own[name]
            if is_lazy(tensor):
                tensor.materialize(value.shape)
            tensor.detach().copy_(value)


def _buffer(tensor: Tensor) -> Any:
    return backends.of(tensor.array).owner(tensor.array)


def _assign(own: dict[str, _Entry], values: dict[str, Tensor]) -> None:
    """Put the values in place of the module's tensors. Tensors that were tied stay tied: to the later value."""
    new: dict[int, Any] = {}
    for name, (_, _, tensor) in own.items():
        value = values[name].detach()
        new[id(tensor)] = Parameter(value, tensor.requires_grad) if isinstance(tensor, Parameter) else value
    for module, name, tensor in own.values():
        setattr(module, name, new[id(tensor)])
