"""PyTorch's own signatures, overloads included: from the stubs that are installed with it, or from Python itself."""

from __future__ import annotations

import ast
import inspect
from functools import cache
from inspect import Parameter, Signature
from pathlib import Path
from typing import Any

import torch

STUBS = Path(torch.__file__).parent / "_C"
PLACES = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
UNKNOWN = object()  # a default that the stub does not tell


def _default(node: ast.expr | None) -> Any:
    if node is None:
        return Parameter.empty
    try:
        return ast.literal_eval(node)
    except ValueError:
        return UNKNOWN


def _signature(function: ast.FunctionDef) -> Signature:
    given, found = function.args, []
    names = [*given.posonlyargs, *given.args]
    defaults = [None] * (len(names) - len(given.defaults)) + list(given.defaults)
    for arg, default in zip(names, defaults, strict=True):
        found.append(Parameter(arg.arg, Parameter.POSITIONAL_OR_KEYWORD, default=_default(default)))
    if given.vararg:
        found.append(Parameter(given.vararg.arg, Parameter.VAR_POSITIONAL))
    for arg, default in zip(given.kwonlyargs, given.kw_defaults, strict=True):
        found.append(Parameter(arg.arg, Parameter.KEYWORD_ONLY, default=_default(default)))
    return Signature(found, __validate_parameters__=False)


@cache
def _stubs(path: Path, owner: str = "") -> dict[str, list[Signature]]:
    """Every function of a stub, or every method of its class ``owner``, with its overloads."""
    body: list[ast.stmt] = ast.parse(path.read_text()).body
    if owner:
        body = next(node.body for node in body if isinstance(node, ast.ClassDef) and node.name == owner)
    found: dict[str, list[Signature]] = {}
    for node in body:
        if isinstance(node, ast.FunctionDef):
            found.setdefault(node.name, []).append(_signature(node))
    return found


def of_function(name: str) -> list[Signature]:
    """The overloads of ``torch.name``."""
    function = getattr(torch, name)
    if inspect.isfunction(function):
        return of_python(function)
    stub = "_VariableFunctions.pyi"
    return _current(_stubs(STUBS / stub).get(name) or _stubs(STUBS / "__init__.pyi").get(name, []))


def _current(overloads: list[Signature]) -> list[Signature]:
    """Without the deprecated overloads, in which a factor stands between the operands: add(self, alpha, other).

    What is left says ``self`` where a number may come first, and the argument is called input all the same.
    """
    found = []
    for overload in overloads:
        given = list(overload.parameters.values())
        places = [p.name for p in given if p.kind in PLACES]
        if any(factor in places[:-1] for factor in ("alpha", "beta", "value")):
            continue
        given = [p.replace(name="input") if p.name == "self" else p for p in given]
        found.append(Signature(given, __validate_parameters__=False))
    return found


def of_method(name: str) -> list[Signature]:
    """The overloads of ``Tensor.name``, with self."""
    method = getattr(torch.Tensor, name)
    if inspect.isfunction(method):
        return [inspect.signature(method)]
    return _stubs(STUBS / "__init__.pyi", "TensorBase").get(name, [])


def of_python(function: Any) -> list[Signature]:
    """The signature of what is written in Python, or of a builtin that states its own in its first line of help."""
    function = inspect.unwrap(function)
    if function.__name__ in BEHIND:
        function = BEHIND[function.__name__]
    try:
        return [inspect.signature(function)]
    except ValueError:
        text = (function.__doc__ or "").strip().split("->")[0]
        (stated,) = ast.parse(f"def {' '.join(text.split())}: ...").body
        assert isinstance(stated, ast.FunctionDef)
        return [_signature(stated)]


# What PyTorch calls for functions that pick one of two by their arguments, and say nothing of either.
BEHIND = {
    "unique": torch.functional._unique_impl,
    "max_pool1d": torch.nn.functional._max_pool1d,
    "max_pool2d": torch.nn.functional._max_pool2d,
    "max_pool3d": torch.nn.functional._max_pool3d,
    "adaptive_max_pool1d": torch.nn.functional._adaptive_max_pool1d,
    "adaptive_max_pool2d": torch.nn.functional._adaptive_max_pool2d,
    "adaptive_max_pool3d": torch.nn.functional._adaptive_max_pool3d,
}


def differences(ours: Signature, theirs: list[Signature], method: bool = False) -> list[str]:
    """What a caller of PyTorch's would stumble over here: names, places, defaults, and parameters of ours alone."""
    mine = list(ours.parameters.values())
    wanted = [list(overload.parameters.values()) for overload in theirs]
    if method:
        mine, wanted = mine[1:], [overload[1:] for overload in wanted]
    named = {p.name: p for p in mine if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)}
    several = next((p for p in mine if p.kind is p.VAR_POSITIONAL), None)
    any_keyword = any(p.kind is p.VAR_KEYWORD for p in mine)
    places = [p.name for p in mine if p.kind in PLACES]
    claims: dict[str, set[int]] = {}
    taken: dict[int, set[str]] = {}
    for overload in wanted:
        for i, p in enumerate(q for q in overload if q.kind in PLACES):
            claims.setdefault(p.name, set()).add(i)
            taken.setdefault(i, set()).add(p.name)
    found: dict[str, None] = {}
    for overload in wanted:
        for i, p in enumerate(overload):
            if p.kind is p.VAR_POSITIONAL:
                if several is None:
                    found[f"*{p.name} missing"] = None
                continue
            if p.kind is p.VAR_KEYWORD:
                continue
            own = named.get(p.name)
            if own is None:
                if several is not None and several.name == p.name:
                    continue
                if not any_keyword:
                    found[f"{p.name} missing"] = None
                continue
            if p.kind in PLACES and several is None:
                at = places.index(p.name) if p.name in places else None
                if at != i and at not in claims[p.name] and not (i < len(places) and places[i] in taken[i]):
                    found[f"{p.name} at {at}, not {i}"] = None
            if p.default is p.empty:
                continue
            if own.default is own.empty:
                found[f"{p.name} without default {p.default!r}"] = None
            elif p.default is not UNKNOWN and not alike(own.default, p.default):
                found[f"{p.name}={own.default!r}, not {p.default!r}"] = None
    for p in mine:
        if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
            continue
        theirs_too = [q for overload in wanted for q in overload if q.name == p.name]
        if not theirs_too:
            if not any(q.kind is q.VAR_KEYWORD for overload in wanted for q in overload):
                found[f"{p.name} is ours alone"] = None
        elif p.kind in PLACES and all(q.kind is q.KEYWORD_ONLY for q in theirs_too):
            found[f"{p.name} is not keyword-only"] = None
        elif p.default is not p.empty and all(
            any(q.name == p.name and q.default is q.empty for q in overload) for overload in wanted
        ):
            found[f"{p.name}={p.default!r}, not required"] = None
    return list(found)


def alike(ours: Any, theirs: Any) -> bool:
    if inspect.isfunction(theirs):
        return bool(ours.__name__ == theirs.__name__)
    return bool(ours == theirs and isinstance(ours, bool) == isinstance(theirs, bool))
