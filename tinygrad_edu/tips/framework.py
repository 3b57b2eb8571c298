"""Running a tip in PyTorch: the code of its own file, with ``torch`` where it says ``tinygrad_edu``.

The names are PyTorch's, so most ways run there as they stand. A way that does not has a version of its own, see
`Tip.torch`; and where PyTorch does something else, `Tip.differs_in_torch` says why.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import os
import sys
import time
import warnings
from collections.abc import Callable, Mapping
from contextlib import ContextDecorator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from ..errors import MissingPackageError
from ..observe.machine import quiet
from .counting import Framework, agree, error_text, plain
from .facts import TIME
from .runner import BUDGET, Progress, Result, _Run
from .tip import HOLDS, Tip, TipError
from .ways import Shown, begin, prepares

NUMBER = 8  # bytes: a single number is no buffer, see `observe.counters.Counters`
COUNTED_THERE = ("calls", "allocated", "peak", "kept", "shares", "changes", "held", TIME)
ELSEWHERE = ("torch", "torch.autograd", "torch.nn", "torch.nn.functional", "torch.utils.checkpoint", "torch.optim")


def torch() -> Any:
    """PyTorch. Raises `MissingPackageError` if it is not installed."""
    os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # its profiler reports each start and stop on stderr
    try:
        return importlib.import_module("torch")
    except ImportError:
        why, mend = "PyTorch is not installed", "install it: pip install torch"
        raise MissingPackageError("running a tip in PyTorch", why, mend) from None


class _Missing:
    """A name that PyTorch does not have: an error where it is used, not where it is imported."""

    def __init__(self, name: str) -> None:
        self._name = name

    def _fail(self, *args: Any, **kwargs: Any) -> Any:
        raise AttributeError(f"PyTorch has no {self._name}")

    __call__ = _fail

    def __getattr__(self, name: str) -> Any:
        return self._fail()


class _NoGuard(ContextDecorator):
    """A block of the memory guard, which PyTorch does not have: it does nothing."""

    def __enter__(self) -> None: ...

    def __exit__(self, *exception: Any) -> None: ...


GUARD = SimpleNamespace(on=_NoGuard, off=_NoGuard, verify=_NoGuard, turn_on=lambda: None, turn_off=lambda: None)


def translated(tip: Tip) -> Tip:
    """The tip with its ways in PyTorch, and with those of its claims that can be checked there."""
    space = _space(tip)

    def there(name: str, way: Callable[..., Any]) -> Callable[..., Any]:
        own = (tip.torch or {}).get(name)
        found: Callable[..., Any] = own or space[way.__name__]
        return found

    ways = tuple(replace(way, run=there(way.name, way.run)) for way in tip.also)
    known = {way.name for way in ways} | {"slow", "fast"}
    claims = tuple(c for c in tip.claims if (c.fact in COUNTED_THERE or c.fact in tip.reads) and known >= set(c.ways))
    return replace(
        tip, inputs=there("inputs", tip.inputs), slow=there("slow", tip.slow), fast=there("fast", tip.fast),
        truth=tip.truth and there("truth", tip.truth), also=ways, slips=(), figures=(),
        claims=tuple(claim for claim in claims if not claim.when),
    )  # fmt: skip


def _space(tip: Tip) -> dict[str, Any]:
    """The names of the tip's file, with PyTorch's in place of ours."""
    module = sys.modules[tip.slow.__module__]
    space: dict[str, Any] = {"__name__": f"{module.__name__} in PyTorch"}
    rest = []
    for one in ast.parse(inspect.getsource(module)).body:
        if isinstance(one, ast.Import):
            space |= {a.asname or a.name: _module(a.name) for a in one.names}
        elif isinstance(one, ast.ImportFrom) and one.module != "__future__":
            space |= {a.asname or a.name: _name(str(one.module), a.name) for a in one.names}
        elif isinstance(one, (ast.FunctionDef, ast.ClassDef)) or _names(one) - {"TIP"}:
            rest.append(one)
    code = "from __future__ import annotations\n" + "\n\n".join(map(ast.unparse, rest))
    exec(compile(code, f"<{tip.slug}, in PyTorch>", "exec"), space)
    return space


def _names(statement: ast.stmt) -> set[str]:
    """The names that a statement assigns."""
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    return {node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)}


def _module(name: str) -> Any:
    return torch() if name == "tinygrad_edu" else importlib.import_module(name)


def _name(module: str, name: str) -> Any:
    """What PyTorch has under this name: in the module of the same name, or where else it keeps such things."""
    if not module.startswith("tinygrad_edu") or module.startswith(("tinygrad_edu.tips", "tinygrad_edu.errors")):
        return getattr(importlib.import_module(module), name)
    if module.startswith("tinygrad_edu.observe"):
        return _Missing(name)
    if name == "guard":
        return GUARD
    places = (module.replace("tinygrad_edu", "torch"), *ELSEWHERE)
    for place in places:
        try:
            return getattr(importlib.import_module(place), name)
        except (ImportError, AttributeError):
            continue
    return _Missing(name)


# Counting ----------------------------------------------------------------------------------------------------------


def _arguments(tip: Tip, setting: Mapping[str, Any]) -> tuple[Any, ...]:
    own = {name: value for name, value in setting.items() if name != "device"}
    lib = torch()
    lib.manual_seed(0)
    return tuple(tip.inputs(lib.Generator().manual_seed(0), **own).values())


class _Count:
    """One call of a way in PyTorch, by its own profiler: operations, bytes, the peak, the graph that is left."""

    def __init__(self, tip: Tip, way: Callable[..., Any], setting: Mapping[str, Any]) -> None:
        self.value: Any = None
        self.error: BaseException | None = None
        self.facts: dict[str, Any] = {"at": {}}
        given = _arguments(tip, setting)
        before = [_plain(one) for one in given]
        step, end = begin(way, given) if prepares(way) else (lambda: way(*given), lambda: None)
        if prepares(way):
            start = time.perf_counter()
            step()
            self.facts["at"]["first"] = {"time": time.perf_counter() - start}
        lib = torch()
        with lib.profiler.profile(activities=[lib.profiler.ProfilerActivity.CPU], profile_memory=True) as seen:
            try:
                raw = step()
            except (Exception, SystemExit) as problem:
                self.error, raw = problem, None
        end()
        if isinstance(raw, Shown):
            self.facts["shown"] = {"title": raw.title, "text": raw.text}
            raw = raw.value
        found, self.value = list(_tensors(raw)), _plain(raw)
        self.facts |= {name: read(raw) for name, read in tip.reads.items() if self.error is None}
        self.facts |= _memory(seen) | {
            "calls": _calls(seen),
            "kept": _nodes(found),
            "held": sum({t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in found}.values()),
            "shares": bool(_places(found) & _places(_tensors(given))),
            "changes": not all(agree(b, _plain(a), 0.0) for b, a in zip(before, given, strict=True)),
            "error": "" if self.error is None else error_text(self.error).partition("\n")[0],
            "line": "",
        }


def _memory(seen: Any) -> dict[str, int]:
    """The bytes that PyTorch's allocator gave out, and the most that were out at once."""
    events = [e for e in seen.profiler.kineto_results.events() if e.name() == "[memory]"]
    now = peak = allocated = 0
    for event in sorted(events, key=lambda e: e.start_ns()):
        size = event.nbytes() if abs(event.nbytes()) > NUMBER else 0
        now += size
        allocated += max(size, 0)
        peak = max(peak, now)
    return {"allocated": allocated, "peak": peak}


def _calls(seen: Any) -> int:
    """Operations that no other operation has called."""

    def own(event: Any) -> bool:
        parent = event.cpu_parent
        while parent is not None and not parent.name.startswith("aten::"):
            parent = parent.cpu_parent
        return parent is None

    return sum(event.name.startswith("aten::") and own(event) for event in seen.events())


def _tensors(tree: Any) -> Any:
    """The tensors in a tree of tuples, lists, dicts and modules."""
    if isinstance(tree, torch().Tensor):
        yield tree
    elif isinstance(tree, torch().nn.Module):
        yield from tree.parameters()
    elif isinstance(tree, (tuple, list, dict)):
        for one in tree.values() if isinstance(tree, dict) else tree:
            yield from _tensors(one)


def _places(tensors: Any) -> set[int]:
    return {t.untyped_storage().data_ptr() for t in tensors if t.ndim} - {0}


def _nodes(tensors: Any) -> int:
    """Nodes of the graph that the results keep, without the leaves."""
    waiting, found = [t.grad_fn for t in tensors if t.grad_fn is not None], set()
    while waiting:
        node = waiting.pop()
        if node not in found and "AccumulateGrad" not in node.name():
            found.add(node)
            waiting += [after for after, _ in node.next_functions if after is not None]
    return len(found)


def _plain(tree: Any) -> Any:
    """The values of a tree as new NumPy arrays."""
    return plain(tree, torch().Tensor, lambda tensor: tensor.detach().numpy())


# Running -----------------------------------------------------------------------------------------------------------


def run_in_torch(
    tip: Tip, setting: Mapping[str, Any] | None = None, *, clock: bool = True, budget: float = BUDGET,
    progress: Progress | None = None,
) -> Result:  # fmt: skip
    """Run a tip's ways in PyTorch, as `run` runs them here.

    Raises `TipError` for a tip that has none, and `MissingPackageError` where PyTorch is not installed.
    """
    if tip.torch is None:
        raise TipError(f"{tip.slug} in PyTorch", "it has no ways there", tip.differs_in_torch)
    framework, there = Framework(_arguments, _Count), translated(tip)
    chosen = there.setting({**(setting or {}), "device": "cpu"})
    with quiet(progress), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of PyTorch, about what a tip shows on purpose
        return _Run(there, chosen, {}, framework).result(clock, budget, progress)


def version() -> str:
    """PyTorch and its version."""
    return f"PyTorch {torch().__version__}"


def can_tell(tip: Tip, result: Result) -> bool:
    """Whether anything but time could be compared there."""
    return bool(tip.outcomes) or any(judged.counted for judged in result.claims)


def said(tip: Tip, result: Result) -> str:
    """Whether the tip holds in PyTorch, in a sentence, and why not if it does not."""
    if tip.differs_in_torch:
        return f"In PyTorch it is different. {tip.differs_in_torch}"
    if not can_tell(tip, result):
        return "PyTorch counts nothing of what this tip claims: only the clock can tell."
    if result.verdict == HOLDS:
        return "In PyTorch, on this machine, the tip holds too."
    return f"In PyTorch, on this machine: {result.verdict}. {result.reason}"


def faults_in_torch(tip: Tip) -> tuple[str, ...]:
    """What a tip says of PyTorch that is not so: it must hold there, or say why it does not."""
    result = run_in_torch(tip, clock=False)
    if not can_tell(tip, result):
        return ()
    if result.verdict != HOLDS and not tip.differs_in_torch:
        return (f"in PyTorch the verdict is {result.verdict}, and nothing says why: {result.reason}",)
    if result.verdict == HOLDS and tip.differs_in_torch:
        return ("it says that it differs in PyTorch, and it holds there",)
    return ()
