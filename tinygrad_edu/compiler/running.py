"""Running what was captured: the programs of a script one after the other, and the Python between them."""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from sys import getrefcount
from types import SimpleNamespace
from typing import Any

import numpy as np

from .. import backends
from ..autograd import Function
from ..backends import BY_TYPE
from ..backends.cpu import ends
from ..common.lines import Line
from ..core.inplace import own_buffer
from ..core.slow import announce
from ..core.storage import find, number, written_all
from ..errors import AutogradError
from ..inputs.outside import outside
from ..settings import modes
from ..tensor import Tensor, wrap
from .capture import Feed, Kept, Place, Script, Segment, is_hooked, share_memory
from .cost import cost_of
from .device_code import DeviceCode
from .ir import Program, Var
from .loops import loops
from .numpy_code import Code
from .passes import fuse_elementwise, fuse_rows, optimised, whole
from .strips import STRIP
from .watch import Watched

STEP = "a compiled program"
TRIES = 4  # of each candidate, the first of which warms it up


@dataclass(frozen=True)
class Options:
    """What `compile` was asked for."""

    fullgraph: bool = False
    leave_out: tuple[str, ...] = ()
    backend: str = "numpy"
    mode: str = "default"
    dynamic: bool = False
    threads: int = 1  # for the strips of a kernel on the CPU


@dataclass
class Trace:
    """An entry of the ledger: why a program was made, or could not be, and what that took."""

    signature: str
    reason: str
    seconds: float
    calls: int = 0
    broken: str = ""  # why the function runs as it is written
    origin: Trace | None = None  # the recording that it was filled in from, where it was not recorded itself
    script: Script | None = field(default=None, repr=False)
    codes: list[Code | DeviceCode] = field(default_factory=list, repr=False)

    @property
    def recorded(self) -> bool:
        """Whether it is a program of a recording of its own."""
        return not self.broken and self.origin is None

    @property
    def captured(self) -> list[Program]:
        """The programs as they were recorded: one for each stretch between two calls of Python."""
        steps = [] if self.script is None else [*self.script.steps, self.script.backward]
        return [one.program for one in steps if isinstance(one, Segment)]

    @property
    def programs(self) -> list[Program]:
        """The same after all passes."""
        return [code.program for code in self.codes]

    @property
    def source(self) -> str:
        """What runs: the generated functions."""
        return "\n".join(code.source for code in self.codes)


class Run:
    """A script, made ready."""

    def __init__(
        self, script: Script, trace: Trace, watched: Watched, options: Options
    ) -> None:  # fmt: skip
        self.script, self.trace, self.watched = script, trace, watched
        trace.script = script
        self.outside = {id(t) for t in (*watched.tensors, *script.tensors)}
        self.owners = [feed.source for feed, *_ in script.guards if feed.kind == "gradient"]
        self.limits = [[feed, low, high] for feed, low, high in script.limits]
        self.grads = [(t, there) for t, there in script.reads_grad]
        self.written = list({id(feed): feed for feed in script.written}.values())
        self.kept = trace  # and with it all that was looked at, so that no id is used again
        self.quick: Callable[[list[Tensor]], bool] | None = None  # see `_written_out`
        part: Any = _Part if script.home is backends.CPU else functools.partial(_DevicePart, script.home)
        self.steps: list[Any] = [part(one, trace, options) if isinstance(one, Segment) else one for one in script.steps]
        self.backward = None if script.backward is None else part(script.backward, trace, options)
        self.simple = self.backward is None and isinstance(script.result, Place)
        self.pure = self.steps[0] if self.simple and len(self.steps) == 1 and self._is_pure(self.steps[0]) else None
        self.count = 1 + max(
            (s.target for p in script.steps if isinstance(p, Segment) for s in p.sinks if s.kind == "result"),
            default=-1,
        )

    def holds(self, tensors: list[Tensor]) -> bool:
        """Whether everything that it was made for is still so."""
        if self.quick is None:
            self.quick = _written_out(self, len(tensors))
        return self.quick(tensors) or not self.why_not(tensors)

    def _is_pure(self, step: Any) -> bool:
        """Whether a step is a program on the CPU with one result, and no other effect."""
        if type(step) is not _Part or step.given or step.candidates:
            return False
        return [sink.kind for sink in step.segment.sinks] == ["result"] and not (
            step.segment.cleared or step.segment.stepped
        )

    def beyond(self, tensors: list[Tensor]) -> bool:
        """Whether a number that decides if an operation is possible is beyond those that were good so far."""
        for feed, low, high in self.limits:
            least, most = ends(self.script.home.peek(_tensor_of(feed, tensors).array))
            if least < low or most > high:
                return True
        return False

    def widen(self, tensors: list[Tensor]) -> None:
        """These were good too."""
        for limit in self.limits:
            least, most = ends(self.script.home.peek(_tensor_of(limit[0], tensors).array))
            limit[1], limit[2] = min(limit[1], least), max(limit[2], most)

    def _shared(self, own: Tensor, tensors: list[Tensor], gradient: bool) -> bool:
        """Whether another tensor or gradient shows memory that is written, or an argument is the gradient that is."""
        array = own.array
        gradients = [owner.gradient for owner in self.owners if owner.gradient is not None]
        if sum(one is own for one in gradients) > 1:
            return True
        for other in (*tensors, *self.script.tensors, *gradients):
            seen = other.array
            apart = seen.base is None and array.base is None and seen is not array  # two that own their memory
            if other is not own and not apart and share_memory(seen, array):
                return True
        return gradient and any(other is own for other in (*tensors, *self.script.tensors))

    def why_not(self, tensors: list[Tensor]) -> str:
        """What is different, in words; "" where nothing is."""
        for i, t in enumerate(tensors):
            if self.script.same.get(i, t) is not t:
                return f"argument {i} is another tensor now, and the program is about the one that it was"
            if i not in self.script.same and id(t) in self.outside:
                return f"argument {i} is a tensor that the function reads besides"
        for t, there in self.grads:
            if (t.gradient is not None) is not there:
                return f"the .grad of a tensor {list(t.shape)} is {'gone' if there else 'there'} now"
        for feed, shape, dtype, free, in_order, kind in self.script.guards:
            t = _written_of(feed, tensors)
            if t is None:
                return f"the .grad of a tensor {list(shape)} is gone now"
            if BY_TYPE[type(t.array)] is not BY_TYPE[kind]:
                return f"a tensor {list(shape)} of the outside was on {BY_TYPE[kind].name}, and is on {t.device}"
            if t.node is not None and is_hooked(t.node):
                return f"a tensor {list(shape)} of the outside has a hook now"
            if t.array.flags.c_contiguous is not in_order:
                return f"a tensor {list(shape)} of the outside lies in memory in another way now"
            if t.array.shape != shape or t.array.dtype != dtype:
                return f"a tensor of the outside was {dtype}{list(shape)}, and is {t.array.dtype}{list(t.array.shape)}"
            if (t.node is None) is not free:
                return f"a tensor {list(shape)} of the outside {'wants' if free else 'needs no'} gradients now"
        for optimizer, form in self.script.forms:
            if optimizer.form() != form:
                return f"a step of {type(optimizer).__name__} is another one now: its settings, parameters or hooks"
        for feed in self.written:
            own = _written_of(feed, tensors)
            if not own.array.flags.writeable:
                return f"a tensor {list(own.shape)} that is written is read-only now"
            if self._shared(own, tensors, feed.kind == "gradient"):
                return f"a tensor {list(own.shape)} that is written shares its memory with another one now"
        return self.watched.changed()

    def __call__(self, tensors: list[Tensor]) -> Any:
        if self.pure is not None:
            (found,) = carry_out(self.pure.code, self.pure.gather(tensors, {}, ()))
            return _tensor(found)
        if self.simple:
            return _tensor(self.forward(tensors)[0][0])
        if self.backward is not None:
            wanted = [tensors[f.source] if f.kind == "argument" else f.source for f in self.script.pulled]
            results = _Joined.apply(self, tensors, *wanted)
            results = results if isinstance(results, tuple) else (results,)
            graph = self.script.with_graph
            results = [one if i in graph else wrap(one.array) for i, one in enumerate(results)]
            return self._filled(self.script.result, results, tensors)
        results, _ = self.forward(tensors)
        return self._filled(self.script.result, [_tensor(one) for one in results], tensors)

    def forward(self, tensors: list[Tensor]) -> tuple[list[Any], dict[Any, Any]]:
        """Run all steps. Returns the results, and what later programs need."""
        results: list[Any] = [None] * self.count
        carried: dict[Any, Any] = {}
        for step in self.steps:
            if isinstance(step, _Part):
                step(tensors, carried, results)
            else:
                step()
        if self.written:
            found = (_written_of(feed, tensors) for feed in self.written)
            written = [t for t in found if t is not None]  # a gradient may be cleared after it was written
            for t in written:
                own_buffer(t)
            written_all([t.storage for t in written], STEP, None)
        return results, carried

    def _filled(self, tree: Any, results: Any, tensors: list[Tensor]) -> Any:
        if isinstance(tree, Place):
            return results[tree.number]
        if isinstance(tree, Kept) and tree.feed.kind == "gradient":
            return tree.feed.source.gradient
        if isinstance(tree, Kept):
            return tensors[tree.feed.source] if tree.feed.kind == "argument" else tree.feed.source
        if isinstance(tree, dict):
            return {key: self._filled(value, results, tensors) for key, value in tree.items()}
        if isinstance(tree, (list, tuple)):
            parts = [self._filled(item, results, tensors) for item in tree]
            return type(tree)(*parts) if hasattr(tree, "_fields") else type(tree)(parts)
        return tree


def _tensor(found: Any) -> Tensor:
    """A result as a tensor; NumPy's scalars become arrays, which can be written to."""
    return wrap(np.asarray(found) if isinstance(found, np.generic) else found)


def _tensor_of(feed: Feed, tensors: list[Tensor]) -> Tensor:
    found: Tensor = tensors[feed.source] if feed.kind == "argument" else feed.source
    return found


def _written_of(feed: Feed, tensors: list[Tensor]) -> Any:
    """What is written: a tensor, or its gradient, if it has one."""
    found = _tensor_of(feed, tensors)
    return found.gradient if feed.kind == "gradient" else found


def _only_once(backward: Callable[..., Any]) -> Callable[..., Any]:
    """Refuse a backward pass that is recorded: the graph of it would leave out what the program computes."""

    @functools.wraps(backward)
    def call(ctx: Any, *gradients: Any) -> Any:
        if modes().grad:
            why = "its backward pass is a program, which has no second derivative"
            raise AutogradError("create_graph=True through a compiled function", why, "call it without compile")
        return backward(ctx, *gradients)

    return call


class _Joined(Function):
    """Results whose graph is one node: the program of the backward pass."""

    @staticmethod
    def forward(ctx: Any, run: Run, tensors: list[Tensor], *wanted: Tensor) -> Any:
        """All results, as tensors."""
        results, carried = run.forward(tensors)
        ctx.run, ctx.tensors, ctx.carried, ctx.number = run, tensors, carried, number()
        made = tuple(_tensor(one) for one in results)
        ctx.like = [(one.array.shape, one.array.dtype) for one in made]
        return made if len(made) > 1 else made[0]

    @staticmethod
    @_only_once
    def backward(ctx: Any, *gradients: Any) -> Any:
        """The gradients of what was wanted."""
        run: Run = ctx.run
        assert run.backward is not None
        gradients = tuple(
            wrap(run.script.home.xp.zeros(shape, dtype)) if g is None else g
            for g, (shape, dtype) in zip(gradients, ctx.like, strict=True)
        )
        pulled: list[Any] = [None] * len(run.script.pulled)
        for array in ctx.carried.values():
            storage = find(array)
            if storage is not None and storage.stamp > ctx.number:
                tried = f"backward of a compiled program that needs a tensor {array.shape} {array.dtype}"
                why = f"{storage.writer[0]} has written to it since the program ran"
                raise AutogradError(tried, why, "call backward() before, or write to a clone")
        run.backward(ctx.tensors, ctx.carried, pulled, gradients)
        return (None, None, *(_tensor(one) for one in pulled))


def carry_out(code: Any, arrays: list[Any]) -> Any:
    """Run the code. Those who watch are told what it cost, what it made, and the seconds until it returned."""
    if not modes().observers:
        return code.run(*arrays)
    begun = time.perf_counter()
    found = code.run(*arrays)
    seconds = time.perf_counter() - begun
    made = [one for one in found if not isinstance(one, np.generic)]
    outside("program", cost_of(code.program), made, seconds, code.calls)
    return found


class _Part:
    """A segment with its code."""

    def __init__(self, segment: Segment, trace: Trace, options: Options) -> None:
        self.segment = segment
        program = optimised(segment.program, options.leave_out)
        feeds = _needed(segment, program)
        places: dict[int, tuple[str, int]] = {}
        for i, sink in enumerate(segment.sinks):
            if sink.kind in ("write", "write gradient") and sink.target in feeds:
                places[i] = ("input", feeds.index(sink.target))
            elif sink.kind in ("write", "write gradient", "gradient"):
                places[i] = ("new" if sink.kind == "gradient" else "old", i)
        tried = options.mode == "max-autotune"
        self.candidates = _candidates(program, places, options.threads, segment.line_of) if tried else []
        self.code = self.candidates[0] if tried else _coded(program, places, options, segment.line_of)
        self.place = len(trace.codes)
        trace.codes.append(self.code)
        self.trace = trace
        self.given = [segment.sinks[i] for i, (kind, _) in places.items() if kind != "input"]
        self.returned = [sink for i, sink in enumerate(segment.sinks) if i not in places]
        self.gather = _gatherer(feeds)
        self.kept: list[Any] = [None] * len(self.given)  # gradients that were made, to be used again
        for slab in self.code.slabs:
            announce(modes().observers, slab, "created")

    def __call__(self, tensors: list[Tensor], carried: dict[Any, Any], results: list[Any], gradients: Any = ()) -> None:
        arrays = self.gather(tensors, carried, gradients)
        made = []
        for i, sink in enumerate(self.given):
            kind, target = sink.kind, sink.target
            if kind == "gradient":
                held = self.kept[i]
                if held is None or target.gradient is not held or not _alone(held):
                    held = self.kept[i] = wrap(np.empty(target.array.shape, target.array.dtype))
                made.append((target, held))
                arrays.append(held.array)
            else:
                arrays.append(_written_of(target, tensors).array)
            del target
        if self.candidates:
            self.code = self.trace.codes[self.place] = _quickest(self.candidates, arrays)
            self.candidates = []
        found = carry_out(self.code, arrays)
        for target, held in made:
            target.gradient = held
        for tensor in self.segment.cleared:
            tensor.gradient = None
        for optimizer in self.segment.stepped:
            optimizer.stepped()
        for sink, value in zip(self.returned, found, strict=True):
            (carried if sink.kind == "carried" else results)[sink.target] = value


class _DevicePart(_Part):
    """A segment with its code, on a device: what comes out takes the place of what was there, or is copied into it."""

    def __init__(
        self, home: backends.Backend, segment: Segment, trace: Trace, options: Options
    ) -> None:  # fmt: skip
        self.segment, self.home = segment, home
        program = optimised(
            segment.program, options.leave_out,
            (lambda program: fuse_rows(whole(program, segment.body_of))) if home.fuses_rows else fuse_elementwise,
        )  # fmt: skip
        self.device_code = DeviceCode(program, home, options.mode == "reduce-overhead", segment.line_of)
        trace.codes.append(self.device_code)
        feeds = _needed(segment, program)
        self.gather = _gatherer(feeds)
        self.drawn = [i for i, feed in enumerate(feeds) if feed.kind in ("draw", "number", "array")]
        self.there: dict[int, tuple[Any, Any]] = {}  # what was brought, by its place: on the host, and on the device
        read = {id(feed.source) for feed in feeds if feed.kind == "gradient"}
        self.replaced = [
            sink.target for sink in segment.sinks if sink.kind == "gradient" and id(sink.target) not in read
        ]

    def _brought(self, place: int, values: Any) -> Any:
        """Values of the host on the device; those that have not changed since the last time are there already."""
        known = self.there.get(place)
        if known is None or not np.array_equal(known[0], values, equal_nan=False):
            known = self.there[place] = values.copy(), self.home.from_numpy(values)
        return known[1]

    def __call__(self, tensors: list[Tensor], carried: dict[Any, Any], results: list[Any], gradients: Any = ()) -> None:
        arrays = self.gather(tensors, carried, gradients)
        for i in self.drawn:  # these are made on the host
            arrays[i] = self._brought(i, arrays[i])
        for tensor in self.replaced:  # their memory may serve those that come
            tensor.gradient = None
        found = carry_out(self.device_code, arrays)
        for tensor in self.segment.cleared:
            tensor.gradient = None
        written = []
        for sink, value in zip(self.segment.sinks, found, strict=True):
            kind, target = sink.kind, sink.target
            if kind == "gradient":
                target.gradient = wrap(value)
            elif kind in ("write", "write gradient"):
                written.append((_written_of(target, tensors).array, value))
            else:
                (carried if kind == "carried" else results)[target] = value
        together = self.home.together("foreach")
        for array, value in written:
            together.begin([value], [array])
            array[...] = value
        together.end()


def _needed(segment: Segment, program: Program) -> tuple[Feed, ...]:
    """The feeds of those inputs that the passes have left."""
    feed_of = dict(zip(segment.program.inputs, segment.feeds, strict=True))
    return tuple(feed_of[var] for var in program.inputs)


def _coded(program: Program, places: dict[int, tuple[str, int]], options: Options, line_of: Mapping[Var, Line]) -> Any:
    """The program as loops, if Numba was asked for and they pay; else as calls of NumPy."""
    found = loops(program, places, line_of) if options.backend == "numba" else None
    return found or Code(program, places, options.backend == "numba", threads=options.threads, line_of=line_of)


def _candidates(
    program: Program, places: dict[int, tuple[str, int]], threads: int, line_of: Mapping[Var, Line]
) -> list[Any]:
    """The same program with strips of several lengths, and as machine code where Numba is installed."""
    found: list[Any] = [
        Code(program, places, strip=one, threads=threads, line_of=line_of) for one in (STRIP // 4, STRIP, STRIP * 4)
    ]
    if find_spec("numba") is not None:
        found += [Code(program, places, numba=True, line_of=line_of), loops(program, places, line_of)]
    different = {one.source: one for one in found if one is not None}
    return list(different.values())


def _quickest(candidates: list[Any], arrays: list[Any]) -> Any:
    """The one that takes the least time for these arrays, of which copies are made: some are written to."""
    if len(candidates) == 1:
        return candidates[0]
    given = [array.copy() if isinstance(array, np.ndarray) else array for array in arrays]
    seconds = [math.inf] * len(candidates)
    for _ in range(TRIES):  # in turn, so that what disturbs one disturbs all
        for i, code in enumerate(candidates):
            start = time.perf_counter()
            code.run(*given)
            seconds[i] = min(seconds[i], time.perf_counter() - start)
    return candidates[seconds.index(min(seconds))]


_TENSORS = {"tensor": "{s}", "argument": "tensors[{n}]", "gradient": "{s}.gradient", "tangent": "gradients[{n}]"}
_WORDS = {kind: f"{word}.array" for kind, word in _TENSORS.items()} | {
    "array": "{s}", "draw": "{s}()", "number": "as_number({s}())", "carried": "carried[{s}]",
}  # fmt: skip


def _gatherer(feeds: tuple[Feed, ...]) -> Callable[..., list[Any]]:
    """A function that collects the inputs: written out, which is faster than asking each feed for its kind."""
    names: dict[str, Any] = {f"s{i}": feed.source for i, feed in enumerate(feeds)}
    parts = [_WORDS[feed.kind].format(s=f"s{i}", n=feed.source) for i, feed in enumerate(feeds)]
    head = "".join(f", {name}={name}" for name in names)
    source = f"lambda tensors, carried, gradients{head}: [{', '.join(parts)}]"
    found: Callable[..., list[Any]] = eval(source, {**names, "as_number": lambda value: np.asarray(value, np.float32)})
    return found


def _written_out(run: Run, given: int) -> Callable[[list[Tensor]], bool]:
    """That a run holds for so many tensors given, as one expression: quicker than asking for each part in a loop.

    It is stricter than `Run.why_not`, which tells where this is false.
    """
    names: dict[str, Any] = {}
    places: dict[int, str] = {}

    def value(x: Any) -> str:
        if id(x) not in places:
            places[id(x)] = f"s{len(places)}"
            names[places[id(x)]] = x
        return places[id(x)]

    def word(feed: Feed) -> str:
        return _TENSORS[feed.kind].format(s=value(feed.source), n=feed.source)

    same, arrays = run.script.same, [f"tensors[{i}].array" for i in range(given)]
    found = [f"tensors[{i}] is {value(t)}" for i, t in same.items()]
    found += [f"id(tensors[{i}]) not in {value(run.outside)}" for i in range(given) if i not in same]
    for feed, shape, dtype, free, in_order, kind in run.script.guards:
        name, array = word(feed), f"a{len(arrays)}"
        arrays.append(array)
        found += [f"({array} := {name}.array).__class__ is {value(kind)}", f"{array}.shape == {value(shape)}"]
        found += [f"{array}.dtype is {value(dtype)}", f"{'' if in_order else 'not '}{array}.flags.c_contiguous"]
        found.append(f"{name}.node is None" if free else f"{name}.node is not None and {name}.node.extra is None")
    found += [f"{value(t)}.gradient is {'not ' if there else ''}None" for t, there in run.grads]
    found += [f"{value(optimizer)}.form() == {value(form)}" for optimizer, form in run.script.forms]
    found += [f"{word(feed)}.array.flags.writeable" for feed in run.written]
    if run.written:
        found += [f"{array}.base is None" for array in arrays]
        found.append(f"len({{{', '.join(f'id({array})' for array in arrays)}}}) == {len(arrays)}")
    found += run.watched.conditions(value)
    head = "".join(f", {name}={name}" for name in names)
    check: Callable[[list[Tensor]], bool] = eval(f"lambda tensors{head}: {' and '.join(found)}", names)

    def quick(tensors: list[Tensor]) -> bool:
        try:
            return check(tensors)
        except (AttributeError, LookupError, ValueError):  # something is gone
            return False

    return quick


def _alone(gradient: Tensor) -> bool:
    """Whether nobody has this gradient but the tensor it belongs to, and ourselves."""
    return gradient.storage is None and _counts(gradient) == _USUAL


def _counts(gradient: Any) -> tuple[int, int]:
    return getrefcount(gradient), getrefcount(gradient.array)


def _asked(gradient: Any) -> tuple[int, int]:
    return _counts(gradient)  # from as deep as `_alone`


def _usual() -> tuple[int, int]:
    """The counts of a gradient that a list, a tensor and a variable refer to, asked for as here: they differ between
    Pythons."""
    owner = SimpleNamespace(gradient=SimpleNamespace(array=object()))
    kept = [owner.gradient]
    held = kept[0]
    return _asked(held)


_USUAL = _usual()
