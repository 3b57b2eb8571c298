"""`profile` and `record_function`: an interceptor that takes the time of each operation and of its backward."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from functools import wraps
from pathlib import Path
from typing import Any

from ... import sim
from ...common.lines import resolve_line, user_line
from ...core.base import TensorBase
from ...core.graph import Node
from ...core.slow import Call, Interceptor
from ...errors import ArgumentError
from ...optim.optimizer import Optimizer, register_optimizer_step_post_hook, register_optimizer_step_pre_hook
from ...settings import modes
from ..memory.trace import trace
from .chrome import walked, written
from .events import Averages, Event, averaged
from .schedules import ProfilerAction, ProfilerActivity

_RECORDING = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)


class profile(Interceptor):
    """Takes the time of all operations in its ``with`` block, forward and backward, with PyTorch's interface.

    ``record_shapes`` notes the shapes of the operands, ``profile_memory`` the bytes that each event took and gave back,
    ``with_stack`` the user's line, ``with_flops`` operations on numbers (`Op.cost`), ``with_modules`` the path of the
    module. Where a simulated device works, its virtual time stands beside that of the CPU. A ``schedule`` says in which
    steps to record; call ``step()`` at the end of each. ``on_trace_ready`` is called with the profile after each round,
    or at the end. ``activities`` names the CPU, and may name CUDA, for the device's time. The other arguments of
    PyTorch choose recorders that are not here, and must keep their defaults.

    Names are those of the operations here: ``mul``, where PyTorch writes ``aten::mul``, and ``mul backward`` for
    ``MulBackward0``. Watching adds some microseconds to each event, and they count for what is around it. Only the
    thread that entered the block is recorded.

    >>> import tinygrad_edu as tg
    >>> x = tg.ones(100, requires_grad=True)
    >>> with profile(record_shapes=True) as seen:
    ...     with record_function("loss"):
    ...         loss = (x * x).sum()
    ...     loss.backward()
    >>> [(one.key, one.count) for one in seen.key_averages()]
    [('loss', 1), ('mul', 1), ('sum', 1), ('sum backward', 1), ('mul backward', 1)]
    """

    keeps = False

    def __init__(
        self,
        *,
        activities: Iterable[ProfilerActivity] | None = None,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[[profile], Any] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        experimental_config: Any = None,
        execution_trace_observer: Any = None,
        acc_events: bool = False,
        use_cuda: bool | None = None,
        custom_trace_id_callback: Any = None,
        post_processing_timeout_s: float | None = None,
    ) -> None:
        for name, value in {
            "experimental_config": experimental_config, "execution_trace_observer": execution_trace_observer,
            "use_cuda": use_cuda, "custom_trace_id_callback": custom_trace_id_callback,
            "post_processing_timeout_s": post_processing_timeout_s,
        }.items():  # fmt: skip
            if value:
                raise ArgumentError(f"profile with {name}=…", "there is no such recorder here", "leave it out")
        if activities is not None and ProfilerActivity.CPU not in set(activities):
            why = "operations run on this machine's processor"
            raise ArgumentError("profile with these activities", why, "use [ProfilerActivity.CPU], or leave it out")
        self.record_shapes, self.profile_memory, self.with_stack = record_shapes, profile_memory, with_stack
        self.with_flops, self.with_modules = with_flops, with_modules
        self.step_num, self.high = 0, 0
        self._schedule, self._ready, self._keeps_all = schedule, on_trace_ready, acc_events
        self._events: list[Event] = []  # the outermost ones
        self._under_way: list[Event] = []
        self._metadata: dict[str, Any] = {}
        self._handles: list[Any] = []
        self._began, self._zero = 0, 0
        self._looks = activities is None or ProfilerActivity.CUDA in set(activities)
        self._log = ExitStack()
        self._works: list[sim.Work] = []  # of simulated devices, so far
        self._counted = self._device_time = 0  # how many of them are in this sum of nanoseconds
        self._running = False
        self._step: Event | None = None  # of the schedule
        self.current_action = ProfilerAction.RECORD if schedule is None else schedule(0)

    # The block ------------------------------------------------------------------------------------------------------

    def __enter__(self) -> profile:
        if self._running:
            why, mend = "everything inside would count twice", "use a second one: with profile() as inner:"
            raise ArgumentError("profile inside itself", why, mend)
        self._running = True
        self._began, self._zero = time.time_ns(), time.perf_counter_ns()
        self._handles = [
            register_optimizer_step_pre_hook(self._before_step), register_optimizer_step_post_hook(self._after_step)
        ]  # fmt: skip
        if self.profile_memory:
            trace.begin(self)
        if self._looks:
            self._works = self._log.enter_context(sim.log())
        super().__enter__()
        self._begin_step()
        return self

    def _leave(self, *exception: Any) -> None:
        try:
            super()._leave(*exception)
        finally:
            self._running = False
            self._log.close()
            while self._under_way:
                self.end(self._under_way[-1])
            for handle in self._handles:
                handle.remove()
            if self.profile_memory:
                trace.end(self)
        if self._ready is not None and self._events and self.current_action in _RECORDING:
            self._ready(self)

    def start(self) -> None:
        """Begin, without a ``with`` block. `stop` ends it."""
        self.__enter__()

    def stop(self) -> None:
        """End what `start` began."""
        self.__exit__(None, None, None)

    def step(self) -> None:
        """A step has ended. With a schedule, what to do in the next one is decided now."""
        if self._step is not None:
            self.end(self._step)
        before = self.current_action
        self.step_num += 1
        if self._schedule is not None:
            self.current_action = self._schedule(self.step_num)
        if before is ProfilerAction.RECORD_AND_SAVE and self._ready is not None:
            self._ready(self)
        goes_on = before is ProfilerAction.RECORD
        if self.current_action in _RECORDING and not (goes_on or self._schedule is None or self._keeps_all):
            self._events = []  # a new round
        self._begin_step()

    def _begin_step(self) -> None:
        self._step = None
        if self._schedule is not None and self.current_action in _RECORDING:
            self._step = Event(f"ProfilerStep#{self.step_num}", "step", 0)
            self.begin(self._step)

    # Events ---------------------------------------------------------------------------------------------------------

    def forward(self, call: Call, proceed: Callable[[], Any]) -> Any:
        """Take the time of one operation."""
        if self.current_action not in _RECORDING:
            return proceed()
        event = Event(call.op.name, "op", 0)
        self._describe(event, call.operands, call.line, call.modes.scope)
        self.begin(event)
        try:
            result = proceed()
        finally:
            self.end(event)
        if isinstance(result, TensorBase):
            event.node = 0 if result.node is None else result.node.number
            if self.with_flops and hasattr(call.op, "cost"):
                arrays = [getattr(o, "array", o) for o in call.operands]
                event.flops = call.op.cost(arrays, result.array, call.params).flops
        return result

    def backward(self, node: Node, g: Any, proceed: Callable[[], tuple[Any, ...]]) -> tuple[Any, ...]:
        """Take the time of the backward of one operation."""
        if self.current_action not in _RECORDING:
            return proceed()
        event = Event(f"{node.op.name} backward", "backward", 0, node=node.number)
        self._describe(event, (g,), node.line, node.scope)
        self.begin(event)
        try:
            return proceed()
        finally:
            self.end(event)

    def _before_step(self, optimizer: Optimizer, args: Any, kwargs: Any) -> None:
        if self in modes().observers and self.current_action in _RECORDING:
            self.begin(Event(f"Optimizer.step#{type(optimizer).__name__}.step", "step", 0))

    def _after_step(self, optimizer: Optimizer, args: Any, kwargs: Any) -> None:
        name = f"Optimizer.step#{type(optimizer).__name__}.step"
        event = next((one for one in reversed(self._under_way) if one.name == name), None)
        if event is not None:
            self.end(event)

    def _describe(self, event: Event, operands: Any, line: Any, scope: Any) -> None:
        if self.record_shapes:
            event.shapes = tuple(tuple(getattr(getattr(o, "array", o), "shape", ())) for o in operands)
        if self.with_modules and scope is not None:
            event.module = ".".join(scope.path())
        if self.with_stack:
            event.where = place(line)

    def begin(self, event: Event) -> None:
        """Begin an event, inside the one that is under way."""
        if self.with_stack and not event.where:
            event.where = place(user_line())
        (self._under_way[-1].inside if self._under_way else self._events).append(event)
        self._under_way.append(event)
        event.memory = trace.look() if self.profile_memory else 0
        event.device = -self._on_device()
        event.start = time.perf_counter_ns() - self._zero

    def end(self, event: Event) -> None:
        """End an event, and what is still open inside it."""
        now = time.perf_counter_ns() - self._zero
        while self._under_way and event in self._under_way:
            last = self._under_way.pop()
            last.end = now
            last.memory = trace.look() - last.memory if self.profile_memory else 0
            last.device += self._on_device()
            if last is event:
                break

    def _on_device(self) -> int:
        """Nanoseconds of the devices' work so far."""
        for work in self._works[self._counted :]:
            self._device_time += work.duration if work.lane != "host" else 0
        self._counted = len(self._works)
        return self._device_time

    # What was found -------------------------------------------------------------------------------------------------

    def events(self) -> list[Event]:
        """All events, each before those inside it."""
        return list(walked(self._events))

    def key_averages(self, group_by_input_shape: bool = False, group_by_stack_n: int = 0) -> Averages:
        """The events by name; with the arguments, those with the same shapes and from the same line.

        >>> with profile() as seen:
        ...     pass
        >>> print(seen.key_averages().table(sort_by="cpu_time_total").splitlines()[-1])
        Self CPU time total: 0.000us
        """
        shown = {"memory": self.profile_memory, "shapes": group_by_input_shape and self.record_shapes,
                 "flops": self.with_flops, "modules": self.with_modules,
                 "stack": bool(group_by_stack_n) and self.with_stack}  # fmt: skip
        events = self.events()
        shown["device"] = any(event.device for event in events)
        rows = averaged(events, bool(group_by_input_shape), bool(group_by_stack_n))
        own_times = sum(event.own for event in events) / 1e3
        return Averages(rows, own_times, frozenset(name for name, on in shown.items() if on))

    def export_chrome_trace(self, path: str | os.PathLike[str]) -> None:
        """Write a file for Perfetto (ui.perfetto.dev) or chrome://tracing; compressed if its name ends with ``.gz``."""
        text = written(self._events, self._began, self._metadata)
        if str(path).endswith(".gz"):
            import gzip

            with gzip.open(path, "wt", encoding="utf-8") as file:
                file.write(text)
        else:
            Path(path).write_text(text, encoding="utf-8")

    def add_metadata(self, key: str, value: str) -> None:
        """Add a text to the file of `export_chrome_trace`."""
        self._metadata[str(key)] = str(value)

    def __repr__(self) -> str:
        events = self.events()
        return f"profile of {len(events)} events" if events else "profile: nothing was recorded yet"


class record_function:
    """A range with a name, in the profiles that are under way: ``with record_function("forward"):``, or a decorator.

    Without a profile it does nothing.
    """

    def __init__(self, name: str, args: str | None = None) -> None:
        if not isinstance(name, str):
            why = "the name stands in the table"
            raise ArgumentError(f"record_function({name!r:.40})", why, "give a text")
        self.name, self.args = name, args
        self._events: list[list[tuple[profile, Event]]] = []

    def __enter__(self) -> record_function:
        watching = [o for o in modes().observers if isinstance(o, profile) and o.current_action in _RECORDING]
        self._events.append([(one, Event(self.name, "range", 0)) for one in watching])
        for one, event in self._events[-1]:
            one.begin(event)
        return self

    def __exit__(self, *exception: Any) -> None:
        for one, event in reversed(self._events.pop()):
            one.end(event)

    def __call__(self, function: Any) -> Any:
        @wraps(function)
        def inside(*args: Any, **kwargs: Any) -> Any:
            with record_function(self.name, self.args):
                return function(*args, **kwargs)

        return inside


def tensorboard_trace_handler(
    dir_name: str, worker_name: str | None = None, use_gzip: bool = False, use_python_export: bool = False
) -> Callable[[profile], None]:
    """For ``on_trace_ready``: write each round into a file of this folder, as TensorBoard expects it.

    ``use_python_export`` chooses in PyTorch who writes the file; here it is Python.
    """
    import socket

    def write(seen: profile) -> None:
        folder = Path(dir_name)
        folder.mkdir(parents=True, exist_ok=True)
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        ending = "pt.trace.json.gz" if use_gzip else "pt.trace.json"
        seen.export_chrome_trace(folder / f"{worker}.{time.time_ns()}.{ending}")

    return write


def place(line: Any) -> str:
    """``lesson.py(7): train``."""
    found = resolve_line(line)
    return f"{os.path.basename(found[0])}({found[1]}): {line[0].co_name}" if found is not None else ""
