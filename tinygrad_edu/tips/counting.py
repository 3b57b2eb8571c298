"""Counting what one way of a tip needs, and whether two ways give the same numbers."""

from __future__ import annotations

import inspect
import linecache
import statistics
import time
from collections.abc import Callable, Coroutine, Mapping
from collections.abc import Generator as Generating
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import Any, NamedTuple

import numpy as np

from .. import backends, sim
from ..common.wording import said
from ..core.base import TensorBase
from ..errors import EduError
from ..inputs.trees import tensors_in
from ..observe.counters import Counters, bytes_of
from ..observe.memory import NOISE, Memory
from ..observe.starts import Starts, starts
from ..settings import scoped
from ..tensor.random import Generator
from .outcomes import Outcome
from .tip import Tip, TipError, source_of
from .ways import Shown, begin, logged, prepares

NUMBERS = (np.ndarray, np.generic, int, float)
EXACT = "biu"  # kinds of dtypes without fractions
SEEN_BY_ALLOCATOR = ("memory", "live")
NANO = 1e9  # nanoseconds in a second


def is_virtual(setting: Mapping[str, Any]) -> bool:
    """Whether a setting is on a device whose time is virtual."""
    return backends.Device(setting["device"]).type == "sim"


def arguments(tip: Tip, setting: Mapping[str, Any], seed: int = 0) -> tuple[Any, ...]:
    """Fresh inputs, the same each time."""
    return tuple(named_arguments(tip, setting, seed).values())


def named_arguments(tip: Tip, setting: Mapping[str, Any], seed: int = 0) -> dict[str, Any]:
    """The same, by name."""
    own = {name: value for name, value in setting.items() if name != "device" or tip.moves}
    with scoped(device=place(tip, setting)):
        return tip.inputs(Generator().manual_seed(seed), **own)


def accelerator_of(setting: Mapping[str, Any]) -> AbstractContextManager[object]:
    """A block in which `tg.accelerator` is the device of a setting, also where there are a GPU and a simulated one."""
    device: str = setting["device"]
    return nullcontext() if device == backends.CPU.name else backends.meant(device)


def place(tip: Tip, setting: Mapping[str, Any]) -> str:
    """The device on which tensors are made while the tip runs."""
    device: str = backends.CPU.name if tip.moves else setting["device"]
    return device


class Framework(NamedTuple):
    """Where ways run: what makes their arguments, and what counts one of them."""

    arguments: Callable[[Tip, Mapping[str, Any]], tuple[Any, ...]]
    counted: Callable[[Tip, Callable[..., Any], Mapping[str, Any]], Any]


class Count:
    """One call of one way: what it needs, what it gives, and what it raised.

    ``facts`` holds the facts by name, and under ``"at"`` those of marks and phases, again by name; under ``"series"``
    what the way logs: by name, the numbers of each seed.
    """

    def __init__(self, tip: Tip, way: Callable[..., Any], setting: Mapping[str, Any]) -> None:
        self.value: Any = None
        self.error: BaseException | None = None
        self.facts: dict[str, Any] = {"at": {}}
        virtual = is_virtual(setting)
        if virtual:
            _begin_anew(setting)
        self._there = allocated(setting["device"])  # by others
        given = arguments(tip, setting)
        before = [plain(a) for a in given]
        self._counters, kept = Counters(), 0
        found: list[TensorBase] = []
        seen = Starts()
        try:
            with scoped(device=place(tip, setting)), starts(seen), logged() as series:
                raw = self._on_the_device(tip, way, given, setting) if virtual else self._call(way, given)
            if series:
                self.facts["series"] = {name: [numbers] for name, numbers in series.items()}
            kept = self._counters.kept
            found, self.value = _settled(raw)
            self._read(tip, raw)
            if any(claim.fact in SEEN_BY_ALLOCATOR for claim in tip.claims):
                self._watch(tip, way, setting)
            if tip.seeds > 1:
                self._repeat(tip, way, setting)
        except (Exception, SystemExit) as problem:  # a learner's copy may raise anything: the result reports it
            self.error = problem
        finally:
            backends.get(setting["device"]).allow(1.0)  # a way may have asked for less memory
        owned = tensors_in(given)
        self.facts |= {
            **self._counters.facts(),
            "kept": kept,
            "threads": seen.threads,
            "processes": seen.processes,
            "held": sum({id(b): bytes_of(b) for b in map(buffer, found) if b is not None}.values()),
            "shares": any(buffer(f) is buffer(g) is not None for f in found for g in owned),
            "changes": not all(agree(b, a, 0.0) for b, a in zip(before, given, strict=True)),
            "error": "" if self.error is None else error_text(self.error),
            "line": "" if self.error is None else _line_of(self.error, way),
        }

    def _on_the_device(
        self, tip: Tip, way: Callable[..., Any], given: tuple[Any, ...], setting: Mapping[str, Any]
    ) -> Any:
        """The result of a call on the simulated device, whose memory is reserved by a call before, as in a loop."""
        device = backends.get(setting["device"])
        _warm_up(tip, way, setting)
        device.forget_peak()
        before, waited = sim.counts(), 0
        with sim.timeline() as seen:
            try:
                return self._call(way, given)
            finally:
                device.allow(1.0)
                waited = seen.so_far().waiting()
                sim.finish()
                self.facts |= _used(seen.so_far(), waited, before, device, self._there)

    def _call(self, way: Callable[..., Any], given: tuple[Any, ...]) -> Any:
        """The result of a call; of a prepared way, that of a later call."""
        if not prepares(way):
            with self._counters:
                return way(*given)
        step, end = self._phase("setup", lambda: begin(way, given))
        self._phase("first", step)
        with self._counters:
            raw = step()
        end()
        return raw

    def _phase(self, name: str, part: Callable[[], Any]) -> Any:
        start = time.perf_counter()
        with Counters() as counters:
            found = part()
        self.facts["at"][name] = {**counters.facts(), "time": time.perf_counter() - start}
        return found

    def _read(self, tip: Tip, raw: Any) -> None:
        """The tip's own facts, and what there is to look at."""
        if isinstance(raw, Shown):
            self.facts["shown"] = {"title": raw.title, "text": raw.text}
        self.facts |= {name: read(_value(raw)) for name, read in tip.reads.items()}

    def _watch(self, tip: Tip, way: Callable[..., Any], setting: Mapping[str, Any]) -> None:
        """Run it once more, and ask the allocator."""
        given = arguments(tip, setting)
        with scoped(device=place(tip, setting)), Memory() as memory:
            step, end = begin(way, given) if prepares(way) else (lambda: way(*given), lambda: None)
            kept = step()
            end()
        del kept
        self.facts["memory"] = max((_in_use(moment.most) for moment in memory.moments), default=0)
        marks = (moment for moment in memory.moments if moment.phase == "mark")
        self.facts["at"] |= {one.op: {"live": sum(one.after[:-2])} for one in marks}

    def _repeat(self, tip: Tip, way: Callable[..., Any], setting: Mapping[str, Any]) -> None:
        """The tip's own facts, and what it logs, with other random numbers: each in turn, and facts in the middle."""
        found = {name: [self.facts[name]] for name in tip.reads}
        for seed in range(1, tip.seeds):
            with scoped(device=place(tip, setting)), logged() as series:
                raw = way(*arguments(tip, setting, seed))
            for name, numbers in series.items():
                self.facts.setdefault("series", {}).setdefault(name, []).append(numbers)
            for name, read in tip.reads.items():
                found[name].append(read(_value(raw)))
        self.facts["seeds"] = found
        self.facts |= {name: statistics.median(values) for name, values in found.items()}


def _begin_anew(setting: Mapping[str, Any]) -> None:
    """Let the device be as at the start of a program, as far as nobody else has memory there."""
    sim.restart()
    backends.get(setting["device"]).empty_cache()


def _warm_up(tip: Tip, way: Callable[..., Any], setting: Mapping[str, Any]) -> None:
    """One call that does not count, so that memory is reserved as in a loop. What is wrong with it comes again."""
    sim.restart()
    with suppress(Exception):
        way(*arguments(tip, setting))
    backends.get(setting["device"]).allow(1.0)
    sim.restart()


@sim.alone()
def watched(tip: Tip, way: Callable[..., Any], setting: Mapping[str, Any]) -> sim.Timeline:
    """What host and device do in one call of a way, until it ends or fails."""
    _begin_anew(setting)
    with accelerator_of(setting), scoped(device=place(tip, setting)):
        given = arguments(tip, setting)
        _warm_up(tip, way, setting)
        with sim.timeline() as seen:
            with suppress(Exception):
                way(*given)
            backends.get(setting["device"]).allow(1.0)
            sim.finish()
    return seen


def allocated(device: str) -> int:
    """The bytes of all tensors on a device; 0 where nobody counts."""
    memory = backends.get(device).memory()
    return 0 if memory is None else memory.allocated


def _used(
    seen: sim.Timeline, waited: int, before: Mapping[str, int], device: backends.Backend, there: int
) -> dict[str, Any]:
    """What a way asked of the simulated device."""
    used = {name: number - before[name] for name, number in sim.counts().items()}
    memory = device.memory()
    assert memory is not None
    return {
        "moved": used["bytes to device"] + used["bytes to host"], "launches": used["launches"],
        "virtual": seen.end / NANO, "waiting": waited / NANO, "idle": (seen.end - seen.computing()) / NANO,
        "overlap": seen.overlap() / NANO, "device peak": memory.peak - there,
    }  # fmt: skip


def judge(count: Any, outcome: Outcome, truth: Any, tolerance: float) -> None:
    """Note whether a way gives the right numbers, and does what it is expected to do."""
    count.facts["equal"] = count.error is None and agree(count.value, truth, tolerance)
    count.facts["met"] = outcome.met(count.error, count.facts["equal"])


def _in_use(counts: tuple[int, ...]) -> int:
    """The bytes of a moment, without Python's own objects, which come and go."""
    known, extra = sum(counts[:-2]), sum(counts[-2:])
    return known + (extra if extra > NOISE else 0)


def error_text(problem: BaseException) -> str:
    """An error as a sentence."""
    return problem.sentence() if isinstance(problem, EduError) else said(problem)


def _value(raw: Any) -> Any:
    return raw.value if isinstance(raw, Shown) else raw


def _line_of(error: BaseException, way: Callable[..., Any]) -> str:
    """``line 2, `return x.view(3)` ``: the line of a way on which it failed, as a learner reads it; "" if unknown."""
    code = getattr(inspect.unwrap(way), "__code__", None)
    rows = []
    step = error.__traceback__
    while step is not None:
        if step.tb_frame.f_code is code:
            rows.append(step.tb_lineno)
        step = step.tb_next
    if code is None or not rows:
        return ""
    text = linecache.getline(code.co_filename, rows[-1]).strip()
    row: int | None = rows[-1]
    if not code.co_filename.startswith("<"):  # not typed by a learner: source_of leaves out hints and docstring
        row = _row_as_read(way, rows[-1] - code.co_firstlineno)
    return ", ".join(part for part in (f"line {row}" if row else "", f"`{text}`" if text else "") if part)


def _row_as_read(way: Callable[..., Any], below: int) -> int | None:
    """The line number in the text that a learner reads, of a line so far below the first; None for a lambda."""
    try:
        written, read = inspect.getsource(way).rstrip().count("\n"), source_of(way).count("\n")
    except (AssertionError, OSError, SyntaxError):
        return None
    return below - (written - read) + 1


def _settled(raw: Any) -> tuple[list[TensorBase], Any]:
    """The tensors that a way returned, and its numbers. Raises `TipError` for a generator or coroutine."""
    value = _value(raw)
    if isinstance(value, (Generating, Coroutine)):
        value.close()
        why, mend = f"it gives a {type(value).__name__}, and none of it has run", "return what it computes"
        raise TipError("a way", why, mend)
    return tensors_in(value), plain(value)


def buffer(tensor: TensorBase) -> Any:
    """The array that owns a tensor's memory; None for a single number."""
    array = tensor.array
    return backends.of(array).owner(array) if array.ndim else None


def _values(tensor: TensorBase) -> Any:
    return backends.of(tensor.array).to_numpy(tensor.array)


def plain(tree: Any, kind: type[Any] = TensorBase, values: Callable[[Any], Any] = _values) -> Any:
    """The values of a tree of arrays and tensors of a ``kind`` as new NumPy arrays."""
    if isinstance(tree, kind):
        return np.array(values(tree))
    if isinstance(tree, np.ndarray):
        return tree.copy()
    if isinstance(tree, dict):
        return {key: plain(value, kind, values) for key, value in tree.items()}
    return [plain(item, kind, values) for item in tree] if isinstance(tree, (tuple, list)) else tree


def agree(one: Any, other: Any, tolerance: float) -> bool:
    """Whether two trees hold the same numbers: floats within ``tolerance`` of the largest, integers exactly."""
    one, other = (plain(tree) if isinstance(tree, TensorBase) else tree for tree in (one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(agree(one[k], other[k], tolerance) for k in one)
    if isinstance(one, (tuple, list)) and isinstance(other, (tuple, list)):
        return len(one) == len(other) and all(agree(a, b, tolerance) for a, b in zip(one, other, strict=True))
    if isinstance(one, NUMBERS) and isinstance(other, NUMBERS):
        return _same_numbers(np.asarray(one), np.asarray(other), tolerance)
    return type(one) is type(other) and bool(one == other)


def _same_numbers(a: Any, b: Any, tolerance: float) -> bool:
    if np.array_equal(a, b):
        return True
    if a.shape != b.shape or (a.dtype.kind in EXACT and b.dtype.kind in EXACT):
        return False
    a, b = a.astype(np.float64), b.astype(np.float64)
    largest = np.abs(b).max(initial=0.0, where=np.isfinite(b))  # an infinite largest value would make all others agree
    return np.allclose(a, b, rtol=0, atol=tolerance * largest, equal_nan=True)


OURS = Framework(arguments, Count)
