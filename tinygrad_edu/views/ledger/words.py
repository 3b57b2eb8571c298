"""Calls and keys in words: what each call found, what was different, and the text twin."""

from __future__ import annotations

import statistics

from ...common.wording import plain, plural, seconds_text
from ...observe.results import Timing
from .model import SERIES, LedgerState, Record, limit, right


def question(state: LedgerState) -> str:
    """The question, that of the notebook or the usual one."""
    if state.ask:
        return state.ask
    if state.programs:
        return "Why was each of these programs made?"
    return "Which calls find a program, and which have the function recorded again?"


def reason(record: Record) -> str:
    """Why it was recorded: ``f32[16,4] → f32[8,4]``, as far as there is room."""
    return record.reason.replace("the first call", "first call").replace("float", "f")


def found(record: Record) -> str:
    """What a call found."""
    if not record.key:
        return f"runs as it is written: {record.reason}" if record.reason else "runs as it is written"
    if record.made:
        return f"recorded: program {record.key} is made ({record.reason})"
    if record.reason:
        return f"program {record.key} is there, for another length: {record.reason}"
    return f"program {record.key} is there"


def why(state: LedgerState) -> str:
    """What is different between the keys, in one sentence."""
    if state.programs:
        return "A program holds for the shapes, dtypes and values of Python that it was **recorded with**."
    if not state.at or state.at == 1:
        return "At the first call nothing is known, so the function **is recorded**."
    if any(not one.key for one in state.shown):
        if any("programs were made already" in one.reason for one in state.shown):
            return f"A function gets {limit()} programs. A call that none of them fits **runs as it is written**."
        return "There can be no program for such a call: the function **runs as it is written**."
    if any(one.reason and not one.made for one in state.shown):
        return "Two recordings tell **what follows from the length**; for another length the numbers are filled in."
    if state.cured and state.at == len(state.all):
        price = SERIES[state.name].price
        one = "One program serves" if state.made == 1 else f"{state.made} programs serve"
        return f"**{one} all calls** now{f'; {price}' if price else ''}."
    last = state.shown[-1]
    if last.made:
        return "A program is kept for **what it was recorded with**, and this is new: the function is recorded again."
    return "Shapes, dtypes and Python's values are **those of an earlier call**, whose program runs."


def totals(state: LedgerState) -> str:
    """How many calls, and how many programs."""
    return f"{plural(len(state.shown), 'call')}, {plural(state.made, 'program')} made"


def score(state: LedgerState) -> str:
    """How the predictions went."""
    hits, whole = right(state)
    return f"You predicted {plural(whole, 'call')}, {hits} of them right." if whole else ""


def times(state: LedgerState) -> str:
    """The time of a call that records, and of one that does not, among those that are shown."""
    made = [one.seconds for one in state.shown if one.made]
    others = [one.seconds for one in state.shown if not one.made and one.key and not one.reason]
    filled = [one.seconds for one in state.shown if not one.made and one.key and one.reason]
    if not made:
        return ""
    told = f"A call that records takes {_spread(made)}"
    if others:
        told += f", one that does not {_spread(others)}"
    if filled:
        told += f"; to fill in a length takes {_spread(filled)}"
    elif others:
        told += f", {statistics.median(made) / statistics.median(others):.0f} times as long"
    return f"{told}: medians (middle half)."


def _spread(seconds: list[float]) -> str:
    """``1.20 ms (1.10–1.34) in 5 calls``."""
    if len(seconds) == 1:
        return f"{seconds_text(seconds[0])} in 1 call"
    return f"{Timing('', tuple(seconds), (), 1).text()} in {len(seconds)} calls"


def conditions(state: LedgerState) -> str:
    """How the figures came about."""
    counted = f"calls made here, read from the function's ledger · at most {limit()} programs for a function"
    return f"{state.machine} · each call timed once · {counted}" if state.timed and state.machine else counted


def text(state: LedgerState, timed: bool = True) -> str:
    """The text twin."""
    lines = [f"RetraceLedger: {plain(question(state))}"]
    if state.programs:
        lines.append("a ledger knows how often a program has run, not in which order")
        for place, one in enumerate(state.programs, 1):
            told = f"runs as it is written: {one.broken}" if one.broken else f"made ({one.reason})"
            lines.append(f"  {place}. {one.signature or 'no tensors'}: {told}; {plural(one.calls, 'call')}")
        return "\n".join(lines)
    if state.name:
        lines.append(f"series: {state.name}{f', {SERIES[state.name].cure}' if state.cured else ''}")
    for place, record in enumerate(state.shown, 1):
        said = state.said.get(place - 1)
        told = f"; you said: {said}" if said else ""
        lines.append(f"  call {place} ({', '.join(record.arguments)}): {found(record)}{told}")
    left = len(state.all) - len(state.shown)
    lines += [f"  {plural(left, 'call')} still to come"] if left else []
    lines += [totals(state), *filter(None, [score(state), times(state) if state.timed and timed else ""])]
    return "\n".join(lines)


def summary(state: LedgerState) -> str:
    """In place of the text in a saved notebook, where times would differ."""
    return text(state, timed=False) if state.timed else ""


def describe(state: LedgerState) -> str:
    """The one fact of the figure."""
    return f"{plural(len(state.programs), 'program')} made." if state.programs else f"{totals(state)}."
