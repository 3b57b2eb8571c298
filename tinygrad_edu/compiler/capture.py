"""Capturing a function whole: what it computes, what it reads and writes outside, and the steps that stay Python's.

A tensor that the function touches is *lifted* at that moment: until the end its array is a proxy, so all that is
computed from it is recorded, and all that is written to it is known. Afterwards everything is as it was before: the
capture itself has no effect. What it finds is a `Script`: programs, with a *feed* for each input and a *sink* for each
output, and between them calls, such as a step of an optimiser, that are made again at each run.
"""

from __future__ import annotations

import builtins
import copy
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from threading import get_ident
from typing import Any

import numpy as np

from .. import backends
from ..autograd import grad as gradients
from ..backends.cpu import ends
from ..common.lines import Line
from ..common.locks import RLock
from ..core.base import TensorBase
from ..core.graph import Leaf
from ..core.inplace import settle
from ..core.slow import Call, Interceptor
from ..core.storage import storage_of
from ..optim import Optimizer
from ..optim.stepping import TOGETHER
from ..settings import modes
from ..tensor import Tensor, wrap
from .ir import Equation, Program, Var
from .lengths import NOTES, bare
from .trace import HOME, RecArray, Recorder, TraceError

_TURN = RLock()


@dataclass(frozen=True, eq=False)
class Feed:
    """Where an input's value is found at each run.

    ``kind`` says what ``source`` is: "argument" (its place among the tensors given), "tensor" (its present array),
    "gradient" (a tensor whose ``.grad`` is meant), "array" (its present contents), "draw" (a function that draws random
    numbers), "number" (a function that gives one), "tangent" (the place of a result, whose gradient is meant) or
    "carried" (a variable of an earlier program).
    """

    kind: str
    source: Any


@dataclass(frozen=True, eq=False)
class Sink:
    """What becomes of an output.

    ``kind``: "write" (it is the new content of a tensor's memory), "write gradient" (of the memory of its ``.grad``),
    "gradient" (it becomes the ``.grad`` of a tensor), "result" (a place among the results), "carried" (a later program
    needs it), "pull" (the gradient that goes on to an argument or tensor).
    """

    kind: str
    target: Any


@dataclass(frozen=True)
class Segment:
    """A program between two calls, with a feed for each of its inputs and a sink for each of its outputs."""

    program: Program
    feeds: tuple[Feed, ...]
    sinks: tuple[Sink, ...]
    cleared: tuple[Tensor, ...] = ()  # whose .grad is None from here on
    stepped: tuple[Optimizer, ...] = ()  # whose step is part of the program
    body_of: dict[Var, int] = field(default_factory=dict)  # in which operation's body each variable was made
    line_of: dict[Var, Line] = field(default_factory=dict)  # from which line of the user's it comes


Part = tuple[list[Equation], list[tuple[Var, Sink]], tuple[Tensor, ...], tuple[Optimizer, ...]]
"""What becomes a segment: equations, outputs, whose ``.grad`` is cleared, and whose step is part of it."""


@dataclass
class Script:
    """A captured function."""

    home: backends.Backend = backends.CPU  # where it runs
    steps: list[Segment | Callable[[], Any]] = field(default_factory=list)
    result: Any = None  # a tree with `Place`, `Kept` and constants in place of tensors
    tensors: list[Tensor] = field(default_factory=list)  # all that it touches besides its arguments
    limits: list[tuple[Feed, Any, Any]] = field(default_factory=list)  # whose numbers were checked, and found between
    guards: list[tuple[Any, ...]] = field(default_factory=list)  # what tensors and gradients of the outside are
    same: dict[int, Tensor] = field(default_factory=dict)  # arguments that are met otherwise too, by their place
    forms: list[tuple[Optimizer, Any]] = field(default_factory=list)  # of steps that are part of it
    reads_grad: list[tuple[Tensor, bool]] = field(default_factory=list)  # whose .grad it adds to; whether it was there
    written: list[Any] = field(default_factory=list)  # feeds whose memory it writes to
    with_graph: list[int] = field(default_factory=list)  # results that have one
    backward: Segment | None = None  # for gradients from outside, where the results have a graph
    pulled: list[Feed] = field(default_factory=list)  # whose gradients that gives


@dataclass(frozen=True)
class Place:
    """A result of the program, by its number."""

    number: int


@dataclass(frozen=True)
class Kept:
    """A tensor that was touched, or given, and is returned as it is."""

    feed: Feed


class _Lift:
    """A tensor whose array is a proxy for now, and what it was before."""

    def __init__(self, tensor: Tensor, feed: Feed, proxy: RecArray) -> None:
        self.tensor, self.feed, self.proxy = tensor, feed, proxy
        self.array, self.storage, self.node, self.kind = tensor.array, tensor.storage, tensor.node, type(tensor)
        self.first = proxy.var  # before anything was written
        self.var = proxy.var  # at the beginning of this segment
        self.twin: Any = None  # the node that it has meanwhile

    def restore(self) -> None:
        """Everything as before."""
        tensor = self.tensor
        tensor.array, tensor.storage, tensor.node = self.array, self.storage, self.node
        tensor.__class__ = self.kind


class _Recorder(Recorder):
    """Arrays of the outside that operations use by the way are read anew at each run."""

    def __init__(self, tracer: Tracer) -> None:
        super().__init__()
        self.tracer = tracer

    def constant(self, value: Any) -> Any:
        """An array that was made in the function stays as it is; another one is an input."""
        if not isinstance(value, np.ndarray) or id(value) in self.tracer.made_here:
            return super().constant(value)
        return self.tracer.array_var(value)


class Tracer(Interceptor):
    """Sees all that a function does to tensors, and lifts them as it meets them."""

    keeps = False

    def __init__(self) -> None:
        self.recorder = _Recorder(self)
        self.feeds: dict[Var, Feed] = {}
        self.lifts: dict[int, _Lift] = {}  # by the id of the tensor
        self.made_here: dict[int, Any] = {}  # arrays by their id
        self.arrays: dict[int, tuple[Any, Var]] = {}  # arrays of the outside, by id
        self.graded: dict[int, tuple[Tensor, Any]] = {}  # tensors and their .grad of before, by id
        self.replaced: set[int] = set()  # of these, whose .grad was replaced whatever it was
        self.limits: list[tuple[Feed, Any, Any]] = []
        self.asked: set[int] = set()  # of these, whose .grad was looked at before that
        self.known: dict[int, Tensor] = {}  # tensors of the outside within reach, by id
        self.owners: dict[int, Tensor] = {}  # by the id of a .grad: whose it is
        self.streams: dict[int, tuple[Any, Any]] = {}  # random streams, and where they stood
        self.current: dict[int, Var] = {}  # by the id of a tensor: its gradient, as it was known at the last call
        self.segments: list[Any] = []  # a `Part` of each segment, or a call
        self.stepped: list[Optimizer] = []  # in this segment
        self.forms: list[tuple[Optimizer, Any]] = []  # of the steps that are part of a program
        self.begun = 0  # the first equation of this segment
        self.ran_backward = False
        self.seen_scopes: set[int] = set()
        self.home: backends.Backend = backends.CPU  # where the tensors live
        self.notes = NOTES.get()
        self.given_data = False  # is what is made next made of a list?
        if self.notes is not None:
            self.notes.recorder = self.recorder

    # What interceptors hear ----------------------------------------------------------------------------------------

    def __enter__(self) -> Any:
        self._token = HOME.set(self.home)
        return super().__enter__()

    def __exit__(self, *exception: Any) -> Any:
        HOME.reset(self._token)
        return super().__exit__(*exception)

    def given(self, name: str, operands: tuple[Any, ...]) -> tuple[Any, ...]:
        for one in operands:
            self._meet(one)
        return operands if self.notes is None else bare(operands)

    def forward(self, call: Call, proceed: Callable[[], Any]) -> Any:
        self._look_for_hooks(call.modes.scope)
        for one in call.operands:
            self._meet(one)
        target = call.target
        if target is not None and type(target.array) is not RecArray and any(map(_is_traced, call.operands)):
            self._own(target)
        self.recorder.bodies += 1
        result = proceed()
        for one in result if isinstance(result, tuple) else (result,):
            array = getattr(one, "array", None)
            self.made(array, "computed")
        return result

    def backward(self, node: Any, g: Any, proceed: Callable[[], Any]) -> Any:
        self.ran_backward = True
        self.recorder.bodies += 1
        self.recorder.line = node.line
        try:
            return proceed()
        finally:
            self.recorder.line = None

    def made(self, array: Any, why: str) -> None:
        if array is not None and type(array) is not RecArray:
            self.made_here[id(array)] = array
            if self.notes is not None and why == "created" and not self.given_data:
                self.notes.arrays[id(array)] = array
            self.given_data = False

    def outside(self, what: str, *given: Any) -> Any:
        return getattr(self, f"_on_{what}")(*given)

    def _on_data(self, data: Any) -> None:
        self.given_data = isinstance(data, (list, tuple))
        if _holds_arrays(data):
            why = "its numbers would be those of now in every later call"
            raise TraceError(
                "tensor(…) of an array inside a compiled function", why, "make the tensor outside, give it"
            )

    def _on_made(self, array: Any) -> None:
        self.made(array, "created")

    def _on_draw(self, stream: Any, values: Callable[[], Any]) -> RecArray:
        self._keep_stream(stream)
        return self._input(values(), Feed("draw", values))

    def _on_stream(self, given: Any) -> None:
        why = "the numbers drawn now would be those of every later call"
        raise TraceError("drawing random numbers in this way", why, "use rand, randn or dropout, or draw outside")

    def _on_number(self, get: Callable[[], float]) -> Tensor:
        return wrap(self._input(np.asarray(get(), np.float32), Feed("number", get)))

    def _on_tensor(self, tensor: Tensor) -> None:
        self._meet(tensor)

    def _on_extremes(self, tensor: Tensor) -> Any:
        """Of what is given the numbers are looked at now, and at each run; of what is computed nobody can."""
        lift = self.lifts.get(id(tensor))
        if lift is None or lift.proxy.var is not lift.first or lift.feed.kind == "gradient":
            return None
        found = ends(lift.proxy.values)
        self.limits.append((lift.feed, *found))
        return found

    def _on_grad(self, tensor: Tensor) -> None:
        """Whether there is one decides what is done next, and what it is may be used."""
        self._note_gradient(tensor)
        if id(tensor) not in self.replaced:
            self.asked.add(id(tensor))

    def _on_gradient(self, tensor: Tensor) -> None:
        self._note_gradient(tensor)
        if id(tensor) not in self.replaced and self.was_added_to(tensor):
            self.asked.add(id(tensor))  # something may have read the sum
        self.replaced.add(id(tensor))

    def was_added_to(self, tensor: Tensor) -> bool:
        """Whether the gradient is another than before, or has other numbers."""
        before = self.graded[id(tensor)][1]
        lift = self.lifts.get(id(before))
        return tensor.gradient is not before or (lift is not None and lift.proxy.var is not lift.first)

    def _on_call(self, call: Callable[[], Any]) -> bool:
        if any(callable(one) for one in call.args[1:]):  # type: ignore[attr-defined]
            raise TraceError("a step with a closure", "it would run inside the step", "compute the loss before it")
        if self._by_operations(call):
            return True
        self._end_segment()
        self.segments.append(call)
        self._begin_again()
        return True

    def _by_operations(self, call: Any) -> bool:
        """Take a step of an optimiser as a part of the program, if it is operations only, and on small parameters.

        Calls of NumPy for each are quicker than a step of Python; for large ones the step is as quick.
        """
        optimizer = call.args[0] if call.args else None
        if not isinstance(optimizer, Optimizer) or call.func is not type(optimizer).step:
            return False
        form, params = optimizer.form(), [p for group in optimizer.param_groups for p in group["params"]]
        arrays = [one.array for p in params for one in (p, p.gradient) if one is not None]
        usual = all(isinstance(one, (np.ndarray, RecArray)) and one.dtype == np.float32 for one in arrays)
        if form is None or self.home is not backends.CPU or not usual or sum(p.array.size for p in params) > TOGETHER:
            return False
        optimizer.by_operations(self._on_number)
        self.forms.append((optimizer, form))
        self.stepped.append(optimizer)
        return True

    # Lifting -------------------------------------------------------------------------------------------------------

    def lift(self, tensor: Tensor, feed: Feed) -> None:
        """Let a tensor's array be a proxy from here on."""
        settle(tensor)
        if tensor.node is not None and not isinstance(tensor.node, Leaf) and feed.kind != "argument":
            why = "its gradient belongs to a graph that was made before, and that is another one at each call"
            raise TraceError(
                f"a tensor {tuple(tensor.shape)} with a graph, from outside", why, "detach() it, or give it"
            )
        if backends.of(tensor.array) is backends.CPU and not isinstance(tensor.array, np.ndarray):
            tensor.array = np.asarray(tensor.array)  # a single number
        proxy = self._input(on_host(tensor.array), feed)
        lift = self.lifts[id(tensor)] = _Lift(tensor, feed, proxy)
        tensor.array, tensor.storage = proxy, None
        if tensor.node is not None:
            if is_hooked(tensor.node):
                why = "a hook is Python, and would run only while the program is made"
                raise TraceError(f"a tensor {tuple(tensor.shape)} with hooks", why, "remove the hooks")
            if not isinstance(tensor.node, Leaf):
                tensor.node = Leaf(tensor)
            self._note_gradient(tensor)
        lift.twin = tensor.node
        tensor._stand_on_fast_path(True)

    def lift_quietly(self, tensor: Tensor) -> None:
        """Lift a tensor within reach, if it is of a kind that can be; others are refused where they are used."""
        array, node = tensor.array, tensor.node
        usual = isinstance(array, (np.ndarray, self.home.array_types)) and (node is None or isinstance(node, Leaf))
        if usual and not (node is not None and is_hooked(node)) and id(tensor) not in self.lifts:
            self.lift(tensor, Feed("tensor", tensor))

    def _meet(self, operand: Any) -> None:
        """Lift a tensor that was made before the function was called."""
        if not isinstance(operand, TensorBase) or type(operand.array) is RecArray or id(operand) in self.lifts:
            return
        if id(operand.array) in self.made_here:
            noted = self.notes is not None and id(operand.array) in self.notes.arrays
            if noted or not isinstance(operand.array, (np.ndarray, np.generic)):
                self._own(operand)  # what is computed from it follows its length; or it was made on the device
            self._check_place(operand)
            return
        if isinstance(operand.array, np.generic):
            return
        owner = self.owners.get(id(operand))
        self.lift(operand, Feed("tensor", operand) if owner is None else Feed("gradient", owner))  # type: ignore[arg-type]

    def _own(self, tensor: Any) -> None:
        """What was made here of constants is written to: from now on it is recorded too."""
        self._check_place(tensor)
        recorder = self.recorder
        array = np.array(on_host(tensor.array))
        proxy = recorder.new(array)
        constant = array.copy()
        if self.notes is not None:
            self.notes.copied(tensor.array, constant)
        recorder.equations.append(Equation((proxy.var,), "copy", (constant,)))
        tensor.array, tensor.storage = proxy, None
        tensor._stand_on_fast_path(True)

    def _check_place(self, tensor: Any) -> None:
        """Refuse what is made on another device than that of the program."""
        home = backends.of(tensor.array)
        if tensor.array.ndim and home is not self.home and type(tensor.array) is not RecArray:
            why = f"other tensors of the function are on {str(self.home.name)!r}, as far as is known"
            mend = "make it where they are, or give the function a tensor of that device"
            raise TraceError(f"a tensor made on {str(home.name)!r} in a compiled function", why, mend)

    def _input(self, values: Any, feed: Feed) -> RecArray:
        proxy = self.recorder.new(values)
        self.feeds[proxy.var] = feed
        return proxy

    def array_var(self, array: Any) -> Var:
        """The input that is an array of the outside."""
        kept = self.arrays.get(id(array))
        if kept is None:
            kept = self.arrays[id(array)] = array, self._input(array, Feed("array", array)).var
        return kept[1]

    def _note_gradient(self, tensor: Tensor) -> None:
        if id(tensor) not in self.graded:
            self.graded[id(tensor)] = tensor, tensor.gradient
            if tensor.gradient is not None and self.owners.setdefault(id(tensor.gradient), tensor) is not tensor:
                why = "what is added to one would be added to the other"
                raise TraceError("two tensors with one .grad", why, "give each its own: w.grad = v.grad.clone()")

    def _keep_stream(self, stream: Any) -> None:
        if id(stream) not in self.streams:
            self.streams[id(stream)] = stream, copy.deepcopy(stream.bit_generator.state)

    def _look_for_hooks(self, scope: Any) -> None:
        while scope is not None and id(scope.module) not in self.seen_scopes:
            self._check_hooks(scope.module)
            scope = scope.parent

    def _check_hooks(self, module: Any) -> None:
        self.seen_scopes.add(id(module))
        if module._hooks is not None:
            why = "a hook is Python, and would run only while the program is made"
            raise TraceError(f"{type(module).__name__} with hooks", why, "remove the hooks, or call without compile")

    # Segments ------------------------------------------------------------------------------------------------------

    def _end_segment(self) -> None:
        """Close the program so far: what was written, and the gradients that were made."""
        outputs: list[tuple[Var, Sink]] = []
        for lift in self.lifts.values():
            if lift.tensor.array is not lift.proxy:
                why = "it has other memory now"
                mend = "write into it: x.copy_(…), or x -= … under no_grad()"
                raise TraceError(f"x.data = … of a tensor {tuple(lift.tensor.shape)}", why, mend)
            lift.proxy.check()
            if lift.tensor.node is not lift.twin:
                why = "its graph, or whether it wants gradients, would be another one from then on"
                mend = "do that outside, or write to it under no_grad()"
                raise TraceError(f"a change of what a tensor {tuple(lift.tensor.shape)} is part of", why, mend)
            if lift.proxy.var is not lift.var:
                kind = "write gradient" if lift.feed.kind == "gradient" else "write"
                outputs.append((lift.proxy.var, Sink(kind, lift.feed)))
        for tensor, before in self.graded.values():
            now = tensor.gradient
            if now is None or now is before:
                continue
            if now.node is not None:
                raise TraceError("create_graph=True", "the gradient has a graph itself", "use autograd.grad")
            if type(now.array) is not RecArray:
                self._own(now)
            now.array.check()
            if now.array.var is not self.current.get(id(tensor)):
                outputs.append((now.array.var, Sink("gradient", tensor)))
        cleared = tuple(t for t, _ in self.graded.values() if t.gradient is None and id(t) in self.replaced)
        self.segments.append((self.recorder.equations[self.begun :], outputs, cleared, tuple(self.stepped)))
        self.begun = len(self.recorder.equations)
        self.stepped = []

    def _begin_again(self) -> None:
        """After a call, what is outside is read anew."""
        for lift in self.lifts.values():
            proxy = lift.proxy
            proxy.var = lift.var = self._input(proxy.values, lift.feed).var
            if lift.tensor.node is not None:
                storage_of(proxy).written("a step", None)
        for tensor, before in self.graded.values():
            now = tensor.gradient
            if now is not None and now is not before:
                now.array.var = self._input(now.array.values, Feed("gradient", tensor)).var
                self.current[id(tensor)] = now.array.var
        self.arrays.clear()

    # The end -------------------------------------------------------------------------------------------------------

    def restore(self) -> None:
        """Everything as it was before the function was called."""
        for lift in reversed(self.lifts.values()):
            lift.restore()
        for tensor, gradient in self.graded.values():
            tensor.gradient = gradient
        for stream, state in self.streams.values():
            stream.bit_generator.state = state


def on_host(array: Any) -> Any:
    """The values of an array. Those of the simulated device are there already, and nothing is copied."""
    values = getattr(array, "values", array)
    return values if isinstance(values, (np.ndarray, np.generic)) else backends.of(array).to_numpy(array)


def share_memory(one: Any, other: Any) -> bool:
    """Whether two arrays may show the same memory."""
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return isinstance(one, np.ndarray) and isinstance(other, np.ndarray) and np.may_share_memory(one, other)
    home = backends.of(one)
    return home is backends.of(other) and home.owner(one) is home.owner(other)


def is_hooked(node: Any) -> bool:
    """Whether Python is called where the gradient comes to this node."""
    return bool(node.extra is not None and (node.extra.hooks or node.extra.after))


def _refusing(usual: Callable[..., Any]) -> Callable[..., Any]:
    """What stands in for `print` and `input` while a function is recorded. Other threads print as always."""
    recording = get_ident()

    def call(*given: Any, **more: Any) -> Any:
        if get_ident() != recording:
            return usual(*given, **more)
        why = "it would happen only while the program is made"
        raise TraceError("printing or asking in a compiled function", why, "return what is to be printed")

    return call


def _equal(one: Any, other: Any) -> bool:
    return bool(np.array_equal(one[1], other[1]) and one[2:] == other[2:])


def _is_traced(operand: Any) -> bool:
    return isinstance(operand, TensorBase) and type(operand.array) is RecArray


def _holds_arrays(data: Any) -> bool:
    if isinstance(data, (list, tuple)):
        return any(map(_holds_arrays, data))
    return isinstance(data, np.ndarray)


def capture(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], given: list[Tensor],
    known: Sequence[Tensor] = (),
) -> Script:  # fmt: skip
    """What ``function(*args, **kwargs)`` does. ``given`` are the tensors among its arguments, in order.

    Those ``known`` are within its reach: they are lifted before it runs, so that nothing reads them unseen.

    Raises `TraceError` for what a later run could not repeat. Nothing has changed afterwards.
    """
    tracer, raised = Tracer(), TraceError.raised
    tracer.home = home_of([*given, *known])
    with _TURN:  # one recording at a time: what it puts in place of print is everybody's
        return _captured(tracer, raised, function, args, kwargs, given, known)


def _captured(
    tracer: Tracer, raised: int, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any],
    given: list[Tensor], known: Sequence[Tensor],
) -> Script:  # fmt: skip
    printing, asking = builtins.print, builtins.input
    drawn = random.getstate(), np.random.get_state()
    try:
        for i, tensor in enumerate(given):
            if id(tensor) not in tracer.lifts:
                tracer.lift(tensor, Feed("argument", i))
        for tensor in known:
            tracer.known[id(tensor)] = tensor
            tracer.lift_quietly(tensor)
        builtins.print, builtins.input = _refusing(printing), _refusing(asking)
        with tracer:
            inside = modes()
            result = function(*args, **kwargs)
            if raised != TraceError.raised:
                why = "what failed cannot be repeated, and the function went on without it"
                raise TraceError("a TraceError that the function caught", why, "let it pass: except EduError: raise")
            if random.getstate() != drawn[0] or not _equal(np.random.get_state(), drawn[1]):
                why = "the numbers drawn now would be those of every later call"
                raise TraceError("random numbers of Python or NumPy", why, "use rand, randn or dropout")
            if modes() is not inside:
                why = "it would be changed only while the program is made"
                raise TraceError("a setting that is changed for good", why, "use it as a with block")
            return _Finish(tracer).script(result)
    finally:
        builtins.print, builtins.input = printing, asking
        tracer.restore()
        random.setstate(drawn[0])
        np.random.set_state(drawn[1])


def home_of(tensors: Sequence[Tensor]) -> backends.Backend:
    """Where tensors live: on the first device that is named, or on the CPU."""
    homes = (backends.of(tensor.array) for tensor in tensors)
    return next((home for home in homes if home is not backends.CPU), backends.CPU)


class _Finish:
    """From what a tracer has seen to a script."""

    def __init__(self, tracer: Tracer) -> None:
        self.tracer, self.out = tracer, Script()
        self.results: list[Var] = []
        self.places: dict[int, Place] = {}  # of tensors that are results, by their id
        self.roots: list[tuple[Var, Tensor]] = []  # results with a graph
        self.joined = False  # is there a backward program?

    def script(self, result: Any) -> Script:
        tracer, out = self.tracer, self.out
        out.home, out.result = tracer.home, self._template(result)
        tracer._end_segment()
        self._gradients()
        joint = self._joint() if self.roots and not tracer.ran_backward else None
        later: set[Var] = set()  # needed by a later program
        self.joined = joint is not None
        if joint is not None:
            out.backward, later = self._segment(joint, set(), set())
        missing = set(self.results)
        for part in reversed(tracer.segments):
            if callable(part):
                out.steps.insert(0, part)
                continue
            segment, carried = self._segment(part, later, missing)
            out.steps.insert(0, segment)
            missing -= set(segment.program.outputs)
            later = (later - set(segment.program.outputs)) | carried
        out.steps = [one for one in out.steps if callable(one) or one.sinks or one.cleared or one.stepped]
        out.forms = tracer.forms
        out.limits = list({id(feed): (feed, low, high) for feed, low, high in tracer.limits}.values())
        out.tensors = [lift.tensor for lift in tracer.lifts.values() if lift.feed.kind == "tensor"]
        out.guards = [
            (one.feed, a.shape, a.dtype, one.node is None, a.flags.c_contiguous, type(a))
            for one, a in ((lift, lift.array) for lift in tracer.lifts.values() if lift.feed.kind != "argument")
        ]
        out.written = [
            sink.target for one in out.steps if isinstance(one, Segment) for sink in one.sinks
            if sink.kind in ("write", "write gradient")
        ]  # fmt: skip
        out.same = self._same()
        self._check_memory()
        self._check_places()
        return out

    def _same(self) -> dict[int, Tensor]:
        """Arguments that the function reaches in another way too, or whose ``.grad`` it uses: it is about these."""
        parts = [one for one in self.out.steps if isinstance(one, Segment)]
        feeds = [feed for part in parts for feed in part.feeds if feed.kind == "gradient"]
        used = [feed.source for feed in feeds] + [tensor for tensor, _ in self.out.reads_grad]
        for part in parts:
            used += [sink.target for sink in part.sinks if sink.kind == "gradient"]
            used += [sink.target.source for sink in part.sinks if sink.kind == "write gradient"]
            used += part.cleared
        ids = {*map(id, used), *self.tracer.known}
        lifts = (lift for lift in self.tracer.lifts.values() if lift.feed.kind == "argument")
        return {lift.feed.source: lift.tensor for lift in lifts if id(lift.tensor) in ids}

    def _segment(self, part: Part, later: set[Var], missing: set[Var]) -> tuple[Segment, set[Var]]:
        """A program of these equations, and the variables that it needs from earlier ones."""
        equations, outputs, cleared, stepped = part
        sinks, made = list(outputs), {var for equation in equations for var in equation.outs}
        for i, var in enumerate(self.results):
            if var in missing and (var in made or var in self.tracer.feeds):
                sinks.append((var, Sink("result", i)))
        known = made | (set(self.tracer.feeds) if self.out.backward is not None else set())
        sinks += [(var, Sink("carried", var)) for var in sorted(later, key=lambda v: v.number) if var in known]
        used = {var for equation in equations for var in equation.reads} | {var for var, _ in sinks}
        if self.tracer.segments and equations is self.tracer.segments[0][0]:  # arguments that nothing reads, too
            used.update(lift.first for lift in self.tracer.lifts.values() if lift.feed.kind == "argument")
        inputs = sorted(used - made, key=lambda var: var.number)
        feeds = tuple(self._feed(var) for var in inputs)
        program = Program(tuple(inputs), tuple(equations), tuple(var for var, _ in sinks))
        recorder, sunk = self.tracer.recorder, tuple(sink for _, sink in sinks)
        return Segment(program, feeds, sunk, cleared, stepped, recorder.body_of, recorder.line_of), {
            var for var, feed in zip(inputs, feeds, strict=True) if feed.kind == "carried"
        }

    def _feed(self, var: Var) -> Feed:
        """Where an input comes from. The backward program gets what the forward program had, and draws nothing anew."""
        feed = self.tracer.feeds.get(var)
        again = feed is not None and (self.out.backward is not None or not self.joined or feed.kind == "tangent")
        return feed if feed is not None and again else Feed("carried", var)

    def _template(self, tree: Any) -> Any:
        if isinstance(tree, Tensor):
            lift = self.tracer.lifts.get(id(tree))
            if lift is not None:
                return Kept(lift.feed)
            for owner, _ in self.tracer.graded.values():
                if tree is owner.gradient:
                    return Kept(Feed("gradient", owner))
            if type(tree.array) is not RecArray:
                self.tracer._own(tree)
            tree.array.check()
            if id(tree) in self.places:
                return self.places[id(tree)]
            if tree.node is not None:
                self.roots.append((tree.array.var, tree))
                self.out.with_graph.append(len(self.results))
            self.results.append(tree.array.var)
            self.places[id(tree)] = Place(len(self.results) - 1)
            return self.places[id(tree)]
        if isinstance(tree, dict):
            return {key: self._template(value) for key, value in tree.items()}
        if isinstance(tree, (list, tuple)):
            parts = [self._template(item) for item in tree]
            return type(tree)(*parts) if hasattr(tree, "_fields") else type(tree)(parts)
        if isinstance(tree, (int, float)) and not isinstance(tree, bool) and any(map(callable, self.tracer.segments)):
            why = "a step has been made before, and the number would be that of the first call"
            raise TraceError("returning a number of Python", why, "return a tensor, or ask for it outside")
        if tree is None or isinstance(tree, (bool, int, float, str, np.dtype)):
            return tree
        why = "a program gives tensors, numbers, and lists, tuples and dicts of them"
        raise TraceError(f"returning a {type(tree).__name__} from a compiled function", why, "return tensors")

    def _gradients(self) -> None:
        """Which gradients were added to, whatever they were."""
        for tensor, before in self.tracer.graded.values():
            adds = self.tracer.was_added_to(tensor) and id(tensor) not in self.tracer.replaced
            if adds or id(tensor) in self.tracer.asked:
                self.out.reads_grad.append((tensor, before is not None))

    def _joint(self) -> Part:
        """The backward pass from outside: a gradient for each result, one for each tensor that wants it."""
        tracer = self.tracer
        seeds = []
        for var, _ in self.roots:
            place = self.results.index(var)
            seeds.append(wrap(tracer._input(np.ones(var.shape, var.dtype), Feed("tangent", place))))
        leaves = [lift for lift in tracer.lifts.values() if lift.tensor.node is not None]
        found = gradients(
            [tensor for _, tensor in self.roots], [lift.tensor for lift in leaves], seeds, allow_unused=True
        )
        outputs = []
        for lift, gradient in zip(leaves, found, strict=True):
            if gradient is not None:
                if type(gradient.array) is not RecArray:
                    tracer._own(gradient)
                self.out.pulled.append(lift.feed)
                outputs.append((gradient.array.var, Sink("pull", len(self.out.pulled) - 1)))
        return tracer.recorder.equations[tracer.begun :], outputs, (), ()

    def _check_places(self) -> None:
        """Refuse tensors of several devices: a program runs on one."""
        used = {id(f): f for part in self.out.steps if isinstance(part, Segment) for f in part.feeds}
        for lift in self.tracer.lifts.values():
            where = backends.of(lift.array)
            if id(lift.feed) in used and where is not self.tracer.home:
                why = f"other tensors of the function are on {str(self.tracer.home.name)!r}"
                raise TraceError(f"a tensor on {where.name!r} in a compiled function", why, "move it there before")

    def _check_memory(self) -> None:
        """Refuse what is written where something else is seen: a program knows each of its inputs by itself."""
        lifts = list(self.tracer.lifts.values())
        places = [(lift, lift.array) for lift in lifts]
        for lift, array in places:
            if lift.feed not in self.out.written:
                continue
            for other, seen in places:
                if other is not lift and share_memory(array, seen):
                    why = "another tensor shows the same memory, and the program would not see it change"
                    raise TraceError(f"a write to a tensor {tuple(array.shape)}", why, "give one of them a clone()")
