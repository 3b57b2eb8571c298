"""Programs that run without the code they came from, by PyTorch's names: ``trace``, ``script``, ``save``, ``load``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .compiler import Program, TraceError, compile
from .compiler.capture import Feed, Kept, Place, Segment, capture
from .compiler.files import FORMAT, VERSION, decode, encode, prove, tensors_of
from .compiler.numpy_code import Code
from .compiler.passes import optimised, unused
from .compiler.running import carry_out
from .core.base import TensorBase
from .errors import ArgumentError, DtypeError, ShapeError, StateFileError
from .nn import Module
from .settings import no_grad
from .state import load as load_state
from .state import save as save_state
from .tensor import Tensor, wrap

__all__ = ["Traced", "load", "save", "script", "trace"]


class Traced:
    """A program with its tensors: call it with tensors of the shapes that it was made for.

    ``program`` is what it computes, ``code`` the generated source, ``tensors`` what it has besides its arguments, by
    name. Its results have no graph.
    """

    def __init__(self, program: Program, places: list[str | int], tensors: dict[str, Tensor], result: Any) -> None:
        self.tensors, self._result = tensors, result
        kept = unused(optimised(program))
        self.captured, self._places = program, places
        self._inputs = [places[program.inputs.index(var)] for var in kept.inputs]
        self._code = Code(kept)
        self.signature = {
            place: var for var, place in zip(program.inputs, places, strict=True) if isinstance(place, int)
        }

    @property
    def program(self) -> Program:
        """The program after all passes, without arguments that nobody reads."""
        return self._code.program

    @property
    def code(self) -> str:
        """The source of the function that runs."""
        return self._code.source

    def __call__(self, *args: Tensor) -> Any:
        """What the function gave for such arguments. Raises `ShapeError` and `DtypeError` for others."""
        for i, var in self.signature.items():
            if i >= len(args):
                why = f"it takes {max(self.signature) + 1} tensors, and is given {len(args)}"
                raise ShapeError("a call of a traced program", why, "give as many as when it was traced")
            one = args[i]
            if not isinstance(one, TensorBase):
                why = f"argument {i} is a {type(one).__name__}"
                raise DtypeError("a call of a traced program", why, "give tensors: tg.tensor(…)")
            if tuple(one.array.shape) != var.shape:
                why = f"argument {i} is {tuple(one.array.shape)}, and it was traced for {var.shape}"
                raise ShapeError("a call of a traced program", why, "trace it for that shape too")
            if one.array.dtype != var.dtype:
                why = f"argument {i} is {one.array.dtype}, and it was traced for {var.dtype}"
                raise DtypeError("a call of a traced program", why, f"convert it: x.to({var.dtype.name!r})")
        arrays = [args[p].array if isinstance(p, int) else self.tensors[p].array for p in self._inputs]
        results = [np.asarray(one) for one in carry_out(self._code, arrays)]
        return _filled(self._result, [wrap(one) for one in results])

    def eval(self) -> Traced:
        """Itself: it was traced in one mode, and stays in it."""
        return self

    def save(self, f: Any) -> None:
        """`jit.save` of this."""
        save(self, f)

    def __repr__(self) -> str:
        return f"<traced program of {len(self.program.equations)} equations>"


def trace(func: Callable[..., Any], example_inputs: Any) -> Traced:
    """What a function or module does to tensors like ``example_inputs``, as a program that needs no code of theirs.

    The function runs once, without gradients. A module should be in eval mode: in training it would write to its
    statistics or draw random numbers, which is refused, as all is that a program could not repeat: see `compile`.

    >>> import tinygrad_edu as tg
    >>> double = tg.jit.trace(lambda x: x * 2, tg.ones(2))
    >>> double(tg.tensor([1.0, 5.0]))
    tensor([ 2., 10.])
    """
    inputs = tuple(example_inputs) if isinstance(example_inputs, (tuple, list)) else (example_inputs,)
    if not callable(func):
        raise ArgumentError(f"jit.trace of a {type(func).__name__}", "it is no function", "give a function or a module")
    for one in inputs:
        if not isinstance(one, Tensor):
            raise DtypeError(f"jit.trace with a {type(one).__name__}", "its arguments are tensors", "make it a tensor")
    known = [*func.parameters(), *func.buffers()] if isinstance(func, Module) else []
    with no_grad():
        script_ = capture(func, inputs, {}, list(inputs), known)
    steps = script_.steps
    if len(steps) > 1:
        raise TraceError("jit.trace of a training step", "it has steps that stay Python's", "trace the model alone")
    segment = steps[0] if steps else None
    if not isinstance(segment, Segment):
        why = "nothing is computed from its arguments"
        raise TraceError("jit.trace of a function without operations", why, "return what is computed from them")
    if any(sink.kind != "result" for sink in segment.sinks):
        why = "it writes to tensors of the outside, such as running statistics"
        raise TraceError("jit.trace of what has side effects", why, "call model.eval() first")
    names = {id(t): name for name, t in _named(func)}
    tensors: dict[str, Tensor] = {}
    places: list[str | int] = [_place(feed, names, tensors) for feed in segment.feeds]
    order = [sink.target for sink in segment.sinks]
    return Traced(segment.program, places, tensors, _ordered(script_.result, order))


def script(obj: Any, example_inputs: Any = None) -> Any:
    """A function or module that runs by programs only: `compile` with ``fullgraph=True``.

    With ``example_inputs`` it is `trace`, whose result can be saved. Unlike in PyTorch, control flow that depends on
    values is refused and not compiled.
    """
    return compile(obj, fullgraph=True) if example_inputs is None else trace(obj, example_inputs)


def save(m: Traced, f: Any) -> None:
    """Write a traced program to a file, with its tensors: names, numbers and arrays, and no code.

    Raises `DtypeError` for anything but a traced program, `StateFileError` where no file can be made.
    """
    if not isinstance(m, Traced):
        why, mend = f"a {type(m).__name__} is no traced program", "trace it first: jit.trace(model, x)"
        raise DtypeError("jit.save", why, mend)
    constants: dict[str, Any] = {}
    tree = encode(m.captured, constants)
    written = {
        "format": FORMAT, "version": VERSION, "program": tree, "places": m._places, "result": _written(m._result),
        "tensors": {name: one.detach() for name, one in m.tensors.items()}, "constants": constants,
    }  # fmt: skip
    save_state(written, f)


def load(f: Any) -> Traced:
    """A traced program from a file that `save` has written. It needs none of the code that it was traced from.

    Raises `StateFileError` for a file of another kind or version, and for one that is damaged or not sound.
    """
    path = str(f)[:80]
    tree = load_state(f)
    if not isinstance(tree, dict) or tree.get("format") != FORMAT:
        why, mend = "it holds no program", "for tensors, use tg.load"
        raise StateFileError(f"jit.load of {path}", why, mend)
    if tree.get("version") != VERSION:
        why = f"its version is {tree.get('version')!r}, and this reads version {VERSION}"
        raise StateFileError(f"jit.load of {path}", why, "save it again with the version that is installed")
    tensors, constants = tensors_of(tree.get("tensors"), path), tensors_of(tree.get("constants"), path)
    program = decode(tree.get("program"), constants, path)
    try:
        places = _checked(program, tree.get("places"), tensors)
        template = _read(tree.get("result"), len(program.outputs))
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        why = f"its arguments or results are not sound: {error}"
        raise StateFileError(f"jit.load of {path}", why, "save it again") from None
    prove(program, [None if isinstance(one, int) else tensors[one].array for one in places], path)
    return Traced(program, places, tensors, template)


# Arguments and results -----------------------------------------------------------------------------------------------


def _named(func: Any) -> list[tuple[str, Tensor]]:
    if not isinstance(func, Module):
        return []
    return [*func.named_parameters(), *func.named_buffers()]


def _place(feed: Feed, names: dict[int, str], tensors: dict[str, Tensor]) -> str | int:
    """Where an input comes from: the number of an argument, or the name of a tensor."""
    if feed.kind == "argument":
        return int(feed.source)
    if feed.kind not in ("tensor", "array"):
        why = "it draws random numbers, or reads a gradient"
        raise TraceError("jit.trace of what is another thing each time", why, "call model.eval() first")
    found = feed.source if isinstance(feed.source, Tensor) else wrap(feed.source)
    name = names.get(id(found)) or f"tensor {len(tensors)}"
    tensors[name] = found
    return name


def _ordered(tree: Any, order: list[int]) -> Any:
    """The results, with the places that the program's outputs have."""
    if isinstance(tree, Place):
        return Place(order.index(tree.number))
    if isinstance(tree, Kept):
        why, mend = "it is returned as it is, and a program gives new tensors", "return x.clone()"
        raise TraceError("jit.trace of a function that returns a tensor it was given", why, mend)
    if isinstance(tree, dict):
        return {key: _ordered(value, order) for key, value in tree.items()}
    if isinstance(tree, (list, tuple)):
        parts = [_ordered(item, order) for item in tree]
        return parts if isinstance(tree, list) else tuple(parts)
    return tree


def _filled(tree: Any, results: list[Tensor]) -> Any:
    if isinstance(tree, Place):
        return results[tree.number]
    if isinstance(tree, dict):
        return {key: _filled(value, results) for key, value in tree.items()}
    if isinstance(tree, (list, tuple)):
        return type(tree)([_filled(item, results) for item in tree])
    return tree


def _written(tree: Any) -> Any:
    if isinstance(tree, Place):
        return {"place": tree.number}
    if isinstance(tree, dict):
        return {"dict": {key: _written(value) for key, value in tree.items()}}
    if isinstance(tree, (list, tuple)):
        return {"list" if isinstance(tree, list) else "tuple": [_written(item) for item in tree]}
    return {"value": tree}


def _read(tree: Any, count: int) -> Any:
    if not isinstance(tree, dict) or len(tree) != 1:
        raise ValueError("a result has an unknown form")
    (kind, value), *_ = tree.items()
    if kind == "place" and type(value) is int and 0 <= value < count:
        return Place(value)
    if kind == "dict" and isinstance(value, dict):
        return {key: _read(item, count) for key, item in value.items()}
    if kind in ("list", "tuple") and isinstance(value, list):
        parts = [_read(item, count) for item in value]
        return parts if kind == "list" else tuple(parts)
    if kind == "value" and (value is None or isinstance(value, (bool, int, float, str))):
        return value
    raise ValueError("a result has an unknown form")


def _checked(program: Program, places: Any, tensors: dict[str, Tensor]) -> list[str | int]:
    """Whether there is a place for each input, and a tensor of the right shape and dtype at each name."""
    if not isinstance(places, list) or len(places) != len(program.inputs):
        raise ValueError("there is not one place for each input")
    for var, place in zip(program.inputs, places, strict=True):
        if type(place) is int and 0 <= place < 1000:
            continue
        if not isinstance(place, str) or place not in tensors:
            raise ValueError("an input has no place")
        array = tensors[place].array
        if tuple(array.shape) != var.shape or array.dtype != var.dtype:
            raise ValueError(f"the tensor {place!r} is not {var.type}")
    return places
