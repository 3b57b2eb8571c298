"""Calls against keys as plain data: what each call was given, which program served it, and why one had to be made."""

from __future__ import annotations

import gc
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from ...common.wording import shown
from ...compiler.api import LIMIT, Compiled, CompiledModule, compile
from ...errors import IndexRangeError
from ...nn import functional as F
from ...observe.machine import conditions
from ...tensor import Tensor, tensor
from ...tensor.creation import ones
from ..given import refusal

MOST = 14  # calls
HIT, MISS, FILL = "a program is there", "it is recorded", "a length is filled in"
Calls = Sequence[tuple[Any, ...]]


def _scaled(x: Tensor, rate: Any) -> Tensor:
    return (x * rate).tanh().square().sum()


def _halved(x: Tensor, training: Any) -> Tensor:
    return (x * 0.5 if training else x).sum()


@dataclass(frozen=True)
class Series:
    """A function with calls as people write them, and others that need fewer programs."""

    function: Callable[..., Any]
    calls: Callable[[], Calls]
    cured: Callable[[], Calls]
    cure: str  # what is different in those
    price: str  # what that costs; "" where it costs nothing
    dynamic: bool = False  # is that the cure?


def _rows(lengths: Sequence[int], pad: int = 0) -> list[tuple[Any, ...]]:
    return [(F.pad(ones(n, 4), (0, 0, 0, max(pad - n, 0))), 0.1) for n in lengths]


BATCHES, SENTENCES = (16, 16, 16, 8, 16, 16, 16, 8), (5, 9, 7, 12, 5, 10, 7, 9)
RATES = tuple(0.1 / (1 + step) for step in range(6))
FLAGS = (True, None, 1, False, 0, True, "yes", "")
DTYPES = ("float32", "float32", "float64", "float32", "float64", "float32")


def _price(lengths: Sequence[int], pad: int) -> str:
    whole = pad * len(lengths)
    return f"{whole - sum(lengths)} of {whole} rows are zeros"


SERIES: dict[str, Series] = {
    "batches with a remainder": Series(
        _scaled, lambda: _rows(BATCHES), lambda: _rows(BATCHES, 16), "pad to 16 rows", _price(BATCHES, 16)
    ),
    "sentences": Series(
        _scaled, lambda: _rows(SENTENCES), lambda: _rows(SENTENCES), "dynamic=True",
        "", dynamic=True,
    ),
    "a rate that falls": Series(
        _scaled, lambda: [(ones(16, 4), r) for r in RATES], lambda: [(ones(16, 4), tensor(r)) for r in RATES],
        "the rate as a tensor", "",
    ),
    "a switch": Series(
        _halved, lambda: [(ones(16, 4), one) for one in FLAGS], lambda: [(ones(16, 4), bool(one)) for one in FLAGS],
        "bool(…) first", "",
    ),
    "a dtype that varies": Series(
        _scaled, lambda: [(ones(16, 4, dtype=one), 0.1) for one in DTYPES], lambda: [(ones(16, 4), 0.1)] * len(DTYPES),
        "float32 for all", "digits beyond float32 are lost",
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Record:
    """A call: its arguments in words, the place of its program (0 where it ran as written), and why one was made."""

    arguments: tuple[str, ...]
    key: int
    made: bool
    reason: str = ""  # where it was made, or filled in
    seconds: float = 0.0


@dataclass(frozen=True)
class Known:
    """A program of a function that was compiled elsewhere: what it is for, why it was made, and how often it ran."""

    signature: str
    reason: str
    calls: int
    broken: str = ""


@dataclass(frozen=True)
class LedgerState:
    """The calls up to ``at``, as they are written or with the cure; and what was said before each was shown.

    ``records`` and ``cured`` are all calls; ``programs`` stands alone where only the ledger is known.
    """

    name: str  # of `SERIES`; "" for the user's own
    records: tuple[Record, ...] = ()
    healed: tuple[Record, ...] = ()  # with the cure
    programs: tuple[Known, ...] = ()
    cured: bool = False
    at: int = 1
    said: Mapping[int, str] = field(default_factory=dict)  # by the place of a call
    timed: bool = False
    ask: str = ""
    machine: str = ""  # on which the calls were timed

    @property
    def all(self) -> tuple[Record, ...]:
        """The calls of the variant that is shown."""
        return self.healed if self.cured else self.records

    @property
    def shown(self) -> tuple[Record, ...]:
        """Those that have been made so far."""
        return self.all[: self.at]

    @property
    def made(self) -> int:
        """How many programs that took."""
        return sum(one.made for one in self.shown)


def play(function: Callable[..., Any], calls: Calls, dynamic: bool = False) -> tuple[Record, ...]:
    """Compile the function, make the calls one after the other, and read from its ledger what each did.

    An error of the function is its own.
    """
    _warm()
    compiled = function if isinstance(function, (Compiled, CompiledModule)) else compile(function, dynamic=dynamic)
    found = []
    for given in calls:
        before, ran = len(compiled.ledger), [one.calls for one in compiled.ledger]
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # that it runs as written is shown
            compiled(*given)
        seconds = time.perf_counter() - start
        entries = compiled.ledger
        place = next((i for i, one in enumerate(entries) if i >= before or one.calls > ran[i]), -1)
        entry = entries[place]
        made, broken = len(entries) > before and entry.recorded, bool(entry.broken)
        programs = [one for one in entries if one.recorded]
        key = 0 if broken else 1 + next(i for i, one in enumerate(programs) if one is (entry.origin or entry))
        reason = (entry.broken if broken else entry.reason) if len(entries) > before else ""
        found.append(Record(tuple(map(_told, given)), key, made, reason, seconds))
    return tuple(found)


@cache
def _warm() -> None:
    """The first recording of a process takes longer, whatever it is of."""
    compile(lambda x: x * 2)(ones(1))


def _told(value: Any) -> str:
    if isinstance(value, Tensor):
        kind = str(value.dtype).replace("float", "f").replace("int", "i")
        return f"{kind}[{','.join(map(str, value.shape))}]"
    return f"{value:.3g}" if isinstance(value, float) else shown(value, 12)


def read(function: Any, calls: Any, ask: str = "") -> LedgerState:
    """The state for the user's own function and calls. Raises `ArgumentError` for what cannot be called."""
    if not callable(function):
        raise refusal("RetraceLedger", "function", function, "it is compiled and called", "give a function")
    if not isinstance(calls, (list, tuple)) or not calls or not all(isinstance(one, tuple) for one in calls):
        why = "calls are a list of tuples of arguments"
        raise refusal("RetraceLedger", "calls", calls, why, "write [(x, 0.1), (x, 0.2)]")
    if len(calls) > MOST:
        raise refusal("RetraceLedger", "calls", calls, f"{MOST} calls can be drawn", "give fewer")
    records = play(function, calls)
    return LedgerState("", records, at=len(records), ask=ask, machine=_machine())


def known(compiled: Any, ask: str = "") -> LedgerState:
    """The state for a function that is compiled already: its programs, without the order of the calls."""
    if not isinstance(compiled, (Compiled, CompiledModule)):
        why = "without them it shows the ledger of a compiled function, and this is none"
        raise refusal("RetraceLedger", "calls", None, why, "write [(x, 0.1), (x, 0.2)], or give tg.compile(function)")
    programs = tuple(Known(one.signature, one.reason, one.calls, one.broken) for one in compiled.ledger)
    if not programs:
        why = "it has not been called yet, so that no program is there"
        raise refusal("RetraceLedger", "function", compiled, why, "call it first, or give calls")
    return LedgerState("", programs=programs[:MOST], ask=ask)


def chosen(name: Any, ask: str = "") -> LedgerState:
    """The state of a series. Raises `IndexRangeError` for one that there is not."""
    if name not in SERIES:
        mend = f"take one of {', '.join(SERIES)}"
        raise IndexRangeError(f"the series {shown(name, 40)}", "there is no such one", mend)
    one = SERIES[name]
    plain, cured = play(one.function, one.calls()), play(one.function, one.cured(), one.dynamic)
    return LedgerState(name, plain, cured, ask=ask, machine=_machine())


def cure(state: LedgerState) -> LedgerState:
    """With the cure, or without: the calls begin again, so that each can be predicted."""
    return replace(state, cured=not state.cured, at=1, said={})


def go(state: LedgerState, at: int) -> LedgerState:
    """Show so many calls."""
    return replace(state, at=min(max(at, 1), len(state.all)))


def predict(state: LedgerState, guess: Any) -> LedgerState:
    """Say what the next call will find, and make it. Raises `IndexRangeError` for any other guess."""
    offered = (HIT, MISS, FILL) if fills(state) else (HIT, MISS)
    if guess not in offered:
        mend = f"take {' or '.join(map(repr, offered))}"
        raise IndexRangeError(f"the prediction {shown(guess, 40)}", "it is not offered", mend)
    if state.at >= len(state.all):
        return state
    return replace(go(state, state.at + 1), said={**state.said, state.at: guess})


def right(state: LedgerState) -> tuple[int, int]:
    """How many predictions were right, of how many."""
    found = [guess == outcome(state.all[at]) for at, guess in state.said.items()]
    return sum(found), len(found)


def outcome(record: Record) -> str:
    """What a call found, as it can be predicted."""
    return MISS if missed(record) else FILL if record.reason else HIT


def fills(state: LedgerState) -> bool:
    """Whether programs for other lengths can be filled in."""
    return any(outcome(one) == FILL for one in state.all)


def missed(record: Record) -> bool:
    """Whether a call found no program."""
    return record.made or not record.key


def _machine() -> str:
    """Where the calls were made, and how."""
    return replace(conditions(None), gc="on" if gc.isenabled() else "off").text()


def limit() -> int:
    """After so many programs a function runs as it is written."""
    return LIMIT
