"""`Memory`: an interceptor that asks the allocator before and after each operation."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from ...common.lines import Line, user_line
from ...common.wording import bytes_text, plural, shown
from ...core.base import TensorBase
from ...core.graph import Node
from ...core.slow import Call, Interceptor
from ...errors import ArgumentError
from ...optim.optimizer import Optimizer, register_optimizer_step_post_hook, register_optimizer_step_pre_hook
from ...settings import modes
from ..counters import arrays_in
from . import chart
from .books import NOISE, TURNS, Books, Made, Page
from .keepers import keepers, outside, public, variables
from .parts import BANDS, Held, Keeper, Life, Moment
from .trace import trace

_OWNER_OF = {"created": "data", "saved": "activation", "passing": "temporary", "gradient": "gradient"}


class _Before(NamedTuple):
    """What was known before an event, and the allocator's figure."""

    page: Page
    now: int


class Memory(Interceptor):
    """Watches memory while its ``with`` block runs.

    ``there`` are modules, optimisers and tensors that exist already. What is not named counts from its first use on,
    and then as if it had been there from the beginning, because it was.

    ``peak``, ``current``
        bytes when memory was fullest, and now, or at the end of the block.
    ``owners``, ``now``
        the bytes at the peak, and now, by owner: ``parameter`` (and other leaves that want a gradient), ``optimiser``
        (its state, and what it works in), ``gradient`` (also on the way back), ``activation`` (results in the graph,
        and what else is saved for backward), ``data`` (other tensors), ``temporary`` (results that no graph needs),
        ``workspace`` (what one operation needed only while it ran) and ``elsewhere`` (NumPy code, other threads,
        Python's own objects).
    ``at_peak``, ``moments``
        the event at which memory was fullest, and all events in order: see `memory.Moment`.
    ``nodes``
        nodes of the graph that were made in the block and are alive.

    The totals are those of ``tracemalloc``, of all threads; Python runs about half as fast while it traces. Backward
    goes a longer way while somebody watches, and where gradients meet it may hold one more than it would alone.

    >>> import tinygrad_edu as tg
    >>> x = tg.ones(250_000, requires_grad=True)
    >>> with Memory(x) as seen:
    ...     loss = (x.exp() * 2).sum()
    ...     loss.backward()
    >>> seen.owners["parameter"], seen.owners["gradient"]
    (1000000, 2000000)
    """

    keeps = False
    turns = TURNS  # as what a buffer may be counted later

    def __init__(self, *there: Any) -> None:
        self.moments: list[Moment] = []
        self.high = 0  # the most bytes since this watch looked last: `trace` keeps it
        self._books = Books(self.turns)
        self._nodes: dict[int, weakref.ref[Node]] = {}
        self._marks: dict[str, dict[int, Held]] = {}
        self._kept: dict[str, list[Keeper]] = {}
        self._start = self._total = 0
        self._now = 0  # bytes at the last look
        self._unexplained = 0  # of them, those that no known buffer explains
        self._step: _Before | None = None
        self._handles: list[Any] = []
        for value in there:
            if not self._books.find(value):
                why, mend = "it holds no tensors that are known", "give modules, optimisers and tensors"
                raise ArgumentError(f"Memory with {shown(value, 40)}", why, mend)

    # The block ------------------------------------------------------------------------------------------------------

    def __enter__(self) -> Memory:
        if self in trace.open:
            why, mend = "everything inside would count twice", "use a second one: with Memory() as inner:"
            raise ArgumentError("Memory inside itself", why, mend)
        super().__enter__()
        self._handles = [
            register_optimizer_step_pre_hook(self._before_step),
            register_optimizer_step_post_hook(self._after_step),
        ]
        trace.begin(self)
        self._start = self.high = self._total = trace.look()
        return self

    def _leave(self, *exception: Any) -> None:
        try:
            if self in trace.open:
                self._between(trace.look(), lambda: None)
        finally:
            if self in trace.open:
                trace.end(self)
            for handle in self._handles:
                handle.remove()
            super()._leave(*exception)

    def forward(self, call: Call, proceed: Callable[[], Any]) -> Any:
        """Watch one operation."""
        before = self._begin(call.operands)
        result = proceed()
        self._now = trace.look()
        made = Made(call.op.name, call.line, call.modes.scope)
        if isinstance(result, TensorBase):
            node = result.node
            if call.target is None:
                self._books.born(result.array, "temporary" if node is None else "activation", made)
            if node is not None and node.number:
                self._nodes[node.number] = weakref.ref(node)
                for kept in arrays_in(node.saved):
                    self._books.born(kept, "activation", made)
        self._end("forward", made, before)
        del made, before
        self._looked()
        return result

    def backward(self, node: Node, g: Any, proceed: Callable[[], tuple[Any, ...]]) -> tuple[Any, ...]:
        """Watch the backward of one operation."""
        before = self._begin((g,))
        grads = proceed()
        self._now = trace.look()
        made = Made(node.op.name, node.line, node.scope)
        for part in grads:
            self._books.born(part, "gradient", made)
        self._end("backward", made, before)
        del made, before
        self._looked()
        return grads

    def made(self, array: Any, why: str) -> None:
        """Note a buffer that is not the result of an operation."""
        self._now = trace.look()
        self._books.born(array, _OWNER_OF[why], Made("", user_line(), modes().scope))
        trace.leave_out(self._now)

    def _before_step(self, optimizer: Optimizer, args: Any, kwargs: Any) -> None:
        if self in modes().observers:
            self._step = self._begin((optimizer,))

    def _after_step(self, optimizer: Optimizer, args: Any, kwargs: Any) -> None:
        if self in modes().observers and self._step is not None:
            self._now = trace.look()
            made = Made(type(optimizer).__name__, user_line())
            for array in optimizer.memory():
                self._books.born(array, "optimiser", made)
            self._end("step", made, self._step)
            self._step = None
            del made
            self._looked()

    # What an event was ----------------------------------------------------------------------------------------------

    def _begin(self, operands: Iterable[Any]) -> _Before:
        """What is known before an event. Between the last one and this, others may have taken memory."""
        now = trace.look()
        self._between(now, user_line)
        self._books.unexplained = self._unexplained
        for value in operands:
            self._books.find(value)
        before = _Before(self._books.page(), now)
        trace.leave_out(now)
        self.high = now
        return before

    def _end(self, phase: str, made: Made, before: _Before) -> None:
        """Note an event that has just ended."""
        now = self._now
        high, new = self.high, tuple(self._books.made.values())
        page = self._books.page()
        elsewhere = self._elsewhere(now, page)
        outside = max(before.now - self._start - before.page.known, 0)
        after = (*page.live, 0, elsewhere)
        workspace = high - self._start - outside - before.page.known - sum(new)
        if workspace >= 0:  # fullest with all that was there, and all that was made
            most = (*map(sum, zip(before.page.live, new, strict=True)), workspace, outside)
            pages = before.page.number, page.number
        else:  # something was freed first
            most = (*page.live, max(high - now, 0), elsewhere)
            pages = page.number, page.number
        self._note(phase, made, after, most, pages)
        self._total = now

    def _looked(self) -> None:
        """Leave out what watching has taken since the event ended.

        What it took for a moment must be free again by now. Freed later, it would count as the program's, and thousands
        of events would add up.
        """
        trace.leave_out(self._now)
        self.high = self._now

    def _between(self, now: int, before: Callable[[], Line]) -> None:
        """Note what was taken since the last event, and perhaps given back, where it is worth a mention: in code that
        ran ``before`` a line."""
        page, high = self._books.page(), self.high
        elsewhere = self._elsewhere(now, page)
        if high - self._total > NOISE:
            after, most = (*page.live, 0, elsewhere), (*page.live, 0, elsewhere + max(high - now, 0))
            self._note("between", Made("", before()), after, most, (page.number, page.number))
        self._total = now

    def _elsewhere(self, now: int, page: Page) -> int:
        """Bytes that no known buffer explains. Below 0 they cannot be: then something from before the watch is gone.

        Python helps with that: small objects that it keeps for later are taken from one account and freed from another.
        """
        found = now - self._start - page.known
        if found < 0:
            self._start += found
        self._unexplained = max(found, 0)
        return self._unexplained

    def _note(
        self, phase: str, made: Made, after: tuple[int, ...], most: tuple[int, ...], pages: tuple[int, int]
    ) -> None:
        self.moments.append(Moment(phase, made.op, made.line, made.module, after, most, pages))

    # What was found -------------------------------------------------------------------------------------------------

    def by_owner(self, counts: tuple[int, ...]) -> dict[str, int]:
        """The bytes of a `Moment` by owner, with what was there before."""
        return {name: count + self._books.base.get(name, 0) for name, count in zip(BANDS, counts, strict=True)}

    @property
    def at_peak(self) -> Moment | None:
        """The event at which memory was fullest; None if there was none."""
        return max(self.moments, key=lambda moment: sum(moment.most), default=None)

    @property
    def owners(self) -> dict[str, int]:
        """The bytes at the peak, by owner."""
        return self.now if self.at_peak is None else self.by_owner(self.at_peak.most)

    @property
    def now(self) -> dict[str, int]:
        """The bytes now, by owner; *elsewhere* as it was after the last event."""
        before = self._books.page()
        return self.by_owner((*before.live, 0, self._total - self._start - before.known))

    @property
    def peak(self) -> int:
        """Bytes when memory was fullest."""
        return sum(self.owners.values())

    @property
    def current(self) -> int:
        """Bytes now; after the block, at its end."""
        return sum(self.now.values())

    @property
    def nodes(self) -> int:
        """Nodes of the graph that were made in the block and are alive."""
        return sum(node() is not None for node in self._nodes.values())

    @property
    def alive(self) -> list[Held]:
        """The buffers that are alive, the largest first."""
        return _largest_first(self._books.alive().values())

    def mark(self, name: str, *, kept: bool = False) -> None:
        """Give this moment a name, for `grew`. Raises `ArgumentError` for one that is taken.

        With ``kept=True`` it also notes what the names in the program keep, for `kept_at`. Before Python 3.13, to look
        at the variables of a function keeps them alive until it ends, so they then count for longer.
        """
        if name in self._marks:
            raise ArgumentError(f"mark({name!r})", "there is a mark with that name", "choose another one")
        start = trace.look()
        self._marks[name] = self._books.alive()
        page = self._books.page()
        counts = (*page.live, 0, start - self._start - page.known)
        self._note("mark", Made(name, user_line()), counts, counts, (page.number, page.number))
        if kept:
            self._kept[name] = keepers(self._books, variables(sys._getframe(1)))
        trace.leave_out(start)

    def grew(self, since: str, until: str | None = None) -> list[Held]:
        """The buffers made after one mark that were alive at another, or are now; the largest first.

        Raises `ArgumentError` for an unknown mark.
        """
        for name in (since, *filter(None, (until,))):
            if name not in self._marks:
                there = ", ".join(self._marks) or "none"
                raise ArgumentError(f"grew from {since!r}", f"there is no mark {name!r}", f"there are: {there}")
        old = set(map(id, self._marks[since].values()))
        later = self._books.alive() if until is None else self._marks[until]
        return _largest_first(held for held in later.values() if id(held) not in old)

    def kept(self, of: Callable[..., Any] | Mapping[str, Any] | None = None) -> list[Keeper]:
        """The names in the program here, and what lives because of each: itself, and what its graph has saved.

        It looks through the variables of the calling function and of those that called it, or through those that the
        function ``of`` knows from outside, or through the names of a dict; into lists, tuples, dicts, modules and
        optimisers.
        """
        if of is None:
            return keepers(self._books, variables(sys._getframe(1)))
        return keepers(self._books, public(of) if isinstance(of, Mapping) else outside(of))

    @property
    def kept_at(self) -> dict[str, list[Keeper]]:
        """What `kept` said at the marks that noted it, by their names."""
        return dict(self._kept)

    def alive_at(self, moment: Moment) -> list[Held]:
        """The buffers that were there when memory was fullest in an event, the largest first.

        They are the owners' bytes of that event. *Workspace* and *elsewhere* are no buffers of tensors.
        """
        return _largest_first(life.held for life in self.lives if life.during(moment.pages))

    @property
    def lives(self) -> list[Life]:
        """All buffers that were seen, with the time for which each lived."""
        self._books.forget()
        return list(self._books.lives)

    @property
    def watching(self) -> bool:
        """Whether its block is under way."""
        return self in trace.open

    def plot(self, ax: Any = None) -> Any:
        """The bytes by owner over the events, stacked, drawn with matplotlib. Returns the axes."""
        counts = (counts for moment in self.moments for counts in (moment.most, moment.after))
        return chart.plot([self.by_owner(one) for one in counts], ax)

    def __repr__(self) -> str:
        top = self.at_peak
        if top is None:
            return "Memory: no operation of a tensor was seen" + " yet" * self.watching
        shown = [(n, size) for n, size in self.owners.items() if size > NOISE * (n in ("workspace", "elsewhere"))]
        rows = [f"  {name:<10} {bytes_text(size):>9}" for name, size in sorted(shown, key=lambda pair: -pair[1])]
        head = f"Memory: {bytes_text(self.peak)} at the peak, in {top.what}" + (f", {top.where}" if top.where else "")
        kept = f"{plural(self.nodes, 'node')} of the graph alive"
        return "\n".join([head, *rows, f"now {bytes_text(max(self.current, 0))}; {kept}"])


def mark(name: str, *, kept: bool = False) -> None:
    """Mark this moment in each `Memory` that watches here; where none does, nothing happens."""
    for observer in modes().observers:
        if isinstance(observer, Memory):
            observer.mark(name, kept=kept)


def _largest_first(found: Iterable[Held]) -> list[Held]:
    return sorted(found, key=lambda held: -held.nbytes)
