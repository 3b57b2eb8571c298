"""The memory of a run in words: the owners, the question, the peak, one event, and the text twin."""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from typing import Any

from ...common.wording import bytes_text, listed, plain, plural, ratio_text, shown
from ...errors import IndexRangeError
from ...observe.memory import NOISE
from ..marks import shorten
from .model import (
    LETTERS,
    STACK,
    Column,
    Event,
    Group,
    Names,
    River,
    RiverState,
    among,
    by_line,
    ceiling,
    columns,
    largest,
    share,
    total,
)

LABELS = {
    "parameter": "parameters", "optimiser": "optimiser", "data": "data", "gradient": "gradients",
    "activation": "activations", "temporary": "temporaries", "workspace": "workspace", "elsewhere": "elsewhere",
}  # fmt: skip
MEANINGS = {
    "parameter": "what is learnt, and the buffers of modules",
    "optimiser": "the optimiser's state, and its scratch",
    "gradient": "gradients, also those on their way back",
    "activation": "results in the graph, and what it saves",
    "data": "other tensors, such as inputs and targets",
    "temporary": "results that are in no graph",
    "workspace": "what one operation needs only while it runs",
    "elsewhere": "NumPy code, other threads, Python's own objects",
}
SINGLE = {"optimiser": "the optimiser", "workspace": "workspace", "elsewhere": "elsewhere"}  # of which there is one
WHY = {
    "parameter": "Parameters **live through the whole run**: they are the floor on which everything else stands.",
    "optimiser": "The optimiser keeps **state for what it moves**, and what its step works in, from its first step on.",
    "gradient": "Backward holds **the gradients on their way** beside those that have become a `.grad`.",
    "activation": "The graph keeps **what backward will need**, so activations stay until backward has used them.",
    "data": "A tensor outside the graph lives **as long as the program can reach it**.",
    "temporary": "No graph keeps a temporary: it is freed **when the last name lets go of it**.",
    "workspace": "An operation takes room **only while it runs**; no name keeps it, and the next one takes it again.",
    "elsewhere": "The allocator also counts **what no tensor owns**: NumPy code, random numbers, Python's objects.",
}
WAITING = "Nothing is shown before you commit to a prediction."
RUNNING = "The run is under way."
PEAK = "The peak is the event in which memory is fullest."
FAILED = "The run ended without a result."
BEFORE = "made by no operation"
FEW = 6  # lines, and names, that are listed beside a river


def band(word: str) -> str | None:
    """The owner that a word names: ``gradient`` or ``gradients``."""
    return next((one for one in STACK if word in (one, LABELS[one])), None)


def prediction(value: Any) -> str:
    """The owner that was predicted, by one of its names. Raises `IndexRangeError` for a word that names none."""
    found = band(value) if isinstance(value, str) else None
    if found is None:
        tried, mend = f"the prediction {shown(value, 40)}", f"take one of {', '.join(LABELS.values())}"
        raise IndexRangeError(tried, "it is no owner of memory", mend)
    return found


def size(count: int) -> str:
    """Bytes; below zero where more was given back than taken."""
    return f"−{bytes_text(-count)}" if count < 0 else bytes_text(count)


def title(state: RiverState, which: int) -> str:
    """``A with a graph``; without a name only its letter, and for a single run without a name ""."""
    letter = LETTERS[which] if len(state.names) > 1 else ""
    name = state.names[which]
    return " ".join(part for part in (letter, name if name not in LETTERS else "") if part)


def _of(state: RiverState) -> str:
    """Of which run the peak is asked for: of A, or of the only one by its name, if it has one."""
    told = LETTERS[0] if len(state.names) > 1 else shorten(title(state, 0), 24)
    return f" of {told}" if told else ""


def question(state: RiverState) -> str:
    """The question to predict an answer to."""
    return state.ask or f"Who holds the most bytes at the peak{_of(state)}?"


def runs_text(state: RiverState) -> str:
    """``A is recorded, B is no_grad.``; "" for runs without names."""
    named = [(letter, name) for letter, name in zip(LETTERS, state.names, strict=False) if name not in LETTERS]
    told = ", ".join(f"{letter} is {shorten(name, 24)}" for letter, name in named)
    return f"{told}." if told and len(state.names) > 1 else ""


def place_of(where: str) -> tuple[str, str]:
    """The place and the code of a line: ``lesson.py, line 7`` and ``loss.backward()``."""
    place, _, code = where.partition(": ")
    return place, code


def peak_text(river: River) -> tuple[str, str]:
    """The bytes at the peak, and the event."""
    event = river.events[river.peak]
    place = place_of(event.where)[0]
    return f"peak {size(total(event.most))}", event.what + f", {place}" * bool(place)


def _owner(owner: str) -> str:
    """An owner in a sentence: ``gradients``, ``the optimiser``."""
    return SINGLE.get(owner, LABELS[owner])


def verdict(state: RiverState) -> str:
    """Who holds most at the peak of the first run; what was predicted; and how the second compares."""
    event = state.rivers[0].events[state.rivers[0].peak]
    top, said = largest(event), state.said
    held = f"{size(max(event.most))} of {size(total(event.most))}{' each' * (len(top) > 1)}"
    verb = "holds" if len(top) == 1 and top[0] in SINGLE else "hold"
    told = f"t the peak{_of(state)}, {listed([*map(_owner, top)])} {verb} the most: {held}."
    if not top:
        told = f"t the peak{_of(state)}, no owner holds a byte."
    lead = "A" if said is None else "As you predicted: a" if said in top else f"You predicted {_owner(said)}. A"
    return f"{lead}{told} {_compared(state)}".rstrip()


def _compared(state: RiverState) -> str:
    if len(state.rivers) < 2:
        return ""
    one, other = (total(river.events[river.peak].most) for river in state.rivers)
    told = f"A peaks at {size(one)}, B at {size(other)}"
    if abs(one - other) <= NOISE or min(one, other) <= 0:
        return f"{told}."
    more, less = ("A", "B") if one > other else ("B", "A")
    return f"{told}: {more} needs {ratio_text(max(one, other) / min(one, other))}× what {less} needs."


def why(state: RiverState) -> str:
    """Why the largest owner is there at the peak."""
    top = largest(state.rivers[0].events[state.rivers[0].peak]) if state.rivers else ()
    return WHY[top[0]] if top else ""


def event_title(state: RiverState) -> str:
    """``A, event 7 of 20: backward of exp, 5.00 MB``."""
    event, count = state.river.events[state.event], len(state.river.events)
    top = ", the peak" * (state.event == state.river.peak)
    return f"{event_number(state)} of {count}{top}: {event_name(event)}, {size(total(event.most))}"


def event_number(state: RiverState) -> str:
    """``A, event 7``."""
    return f"{LETTERS[state.which]}, " * (len(state.rivers) > 1) + f"event {state.event + 1}"


def event_name(event: Event) -> str:
    """What an event was."""
    return f"mark {event.what}" if event.phase == "mark" else event.what


def phases_text(river: River) -> str:
    """``200 × forward, 200 × backward, 200 × step``: the phases of a run, and how often each began."""
    phases = [event.phase for event in river.events if event.phase not in ("between", "mark")]
    begun = Counter(phase for phase, _ in groupby(phases))
    return ", ".join(f"{count} × {phase}" if count > 1 else phase for phase, count in begun.items())


def column_text(river: River, column: Column) -> str:
    """What a column is: an event, or several of which the fullest is drawn."""
    event = river.events[column.fullest]
    told = f"event {column.fullest + 1}, {event_name(event)}: {size(total(event.most))}"
    if column.last - column.first > 1:
        told = f"events {column.first + 1} to {column.last}, fullest in {told}"
    return told


def memory_unit(state: RiverState) -> tuple[str, int]:
    """The unit of the axis, and its bytes."""
    top, units = ceiling(state.rivers)[0], (("GB", 10**9), ("MB", 10**6), ("kB", 10**3))
    return next((one for one in units if top >= one[1]), ("bytes", 1))


def ticks(state: RiverState) -> list[tuple[int, str]]:
    """The ticks of the axis in bytes, with their texts; the last one has the unit."""
    top, step = ceiling(state.rivers)
    unit, each = memory_unit(state)
    values = range(0, top + 1, step)
    return [(v, f"{v / each:g}" + f" {unit}" * (v == top)) for v in values]


def group_text(group: Group) -> str:
    """``2.00 MB activations, this cell, line 7: y = x.exp()``."""
    made = group.where or BEFORE
    return f"{size(group.nbytes)} {LABELS[group.owner]}, {made}"


def names_title(names: Names) -> str:
    """``what names keep at the end of the run``."""
    return f"what names keep {names.when}"


def kept_text(name: tuple[str, int, int]) -> str:
    """``loss keeps 3.00 MB, it alone 2.00 MB``."""
    label, nbytes, alone = name
    return f"{label} keeps {size(nbytes)}, it alone {size(alone)}"


NOBODY = "No name that was looked at keeps a buffer."


def hidden(state: RiverState, working: bool) -> str:
    """Why there is no river."""
    return RUNNING if working else FAILED if state.begun else WAITING


def describe(state: RiverState, working: bool = False) -> str:
    """What is drawn, in a few sentences."""
    if not state.rivers:
        return hidden(state, working)
    peaks = []
    for which, river in enumerate(state.rivers):
        label = title(state, which)
        peaks.append(f"{label}: " * bool(label) + ", ".join(peak_text(river)))
    return f"Bytes by owner over the events. {'; '.join(peaks)}. Shown: {event_title(state)}."


def conditions(state: RiverState, numpy: str) -> str:
    """How the figures came about."""
    if not state.rivers:
        return "nothing is shown yet"
    each = share(state.rivers)
    shared = f" · {each} events share a column, the fullest is drawn" * (each > 1)
    rounding = f"workspace and elsewhere to the nearest {NOISE // 1000} kB"
    return f"this run, NumPy {numpy}, bytes as tracemalloc counts them · {rounding}{shared}"


def text(state: RiverState, working: bool = False) -> str:
    """The text twin: each column of each river, and all that is alive in the event that is shown."""
    lines = [f"MemoryRiver: {plain(question(state))}"]
    if not state.rivers:
        lines += [f"  {'◇' if state.draft == one else ' '} {LABELS[one]}: {MEANINGS[one]}" for one in STACK]
        return "\n".join([*lines, f"{runs_text(state)} {PEAK}".lstrip(), hidden(state, working)])
    lines += [verdict(state), *_event_head(state), f"axis: {', '.join(label for _, label in ticks(state))}"]
    each = share(state.rivers)
    for which, river in enumerate(state.rivers):
        told = "; ".join(part for part in (title(state, which), plural(len(river.events), "event")) if part)
        lines += [f"{told}; {', '.join(peak_text(river))}", *_rows(state, which, columns(river, each))]
    return "\n".join([*lines, *_event_lines(state)])


def _rows(state: RiverState, which: int, found: list[Column]) -> list[str]:
    river, rows = state.rivers[which], []
    for column in found:
        here = which == state.which and column.first <= state.event < column.last
        event = river.events[column.fullest]
        most = ", ".join(f"{LABELS[one]} {size(n)}" for one, n in zip(STACK, event.most, strict=True) if n)
        phase = f" ({event.phase})" * (event.phase in ("forward", "step"))
        rows.append(f"{'>' if here else ' '} {column_text(river, column)}{phase}" + f" = {most}" * bool(most))
        inside = [
            e for i, e in enumerate(river.events[column.first : column.last], column.first) if i != column.fullest
        ]
        rows += [f"    mark {event.what}" for event in inside if event.phase == "mark"]
    return rows


def _event_head(state: RiverState) -> list[str]:
    """The event that is shown, and where it was."""
    event = state.river.events[state.event]
    module = f", {module_text(event)}" * bool(event.module)
    return [event_title(state), *([f"  {event.where}{module}"] if event.where or module else [])]


def module_text(event: Event) -> str:
    """``in module Sequential.3``."""
    return f"in module {event.module}" * bool(event.module)


def _event_lines(state: RiverState) -> list[str]:
    """The bytes of each owner in the event that is shown, and what is alive."""
    event = state.river.events[state.event]
    lines = [f"{event_number(state)}, when fullest, and after it:"]
    for one, most, after in zip(STACK, event.most, event.after, strict=True):
        you = " ◇ you" * (one == marked(state))
        if most or after or you:
            lines.append(f"  {LABELS[one]}: {size(most)}, {size(after)}{you}")
    lines.append(f"  together: {size(total(event.most))}, {size(total(event.after))}")
    groups = by_line(state.river, event)
    lines.append("buffers of tensors that are alive, by the line that made them:")
    lines += [f"  {group_text(group)}, in {plural(group.buffers, 'buffer')}" for group in groups]
    lines += [f"  {more_lines(groups)}"] if len(groups) > FEW else []
    names = among(state.river, state.event)
    lines += [f"{names_title(names)}:", *(f"  {kept_text(one)}" for one in names.kept)]
    lines += [f"  {more_names(names)}"] if len(names.kept) > FEW else []
    return [*lines, *([] if names.kept else [f"  {NOBODY}"])]


def more_lines(groups: list[Group]) -> str:
    """``and 3 more, 1.20 MB``: what the picture leaves to its text."""
    rest = groups[FEW:]
    return f"and {len(rest)} more, {size(sum(group.nbytes for group in rest))}"


def more_names(names: Names) -> str:
    """``and 3 more names``."""
    return f"and {plural(len(names.kept) - FEW, 'more name')}"


def marked(state: RiverState) -> str | None:
    """The owner beside which the learner's ◇ stands: at the peak of the first run, which was asked about."""
    return state.said if state.which == 0 and state.event == state.rivers[0].peak else None


def summary(state: RiverState) -> str:
    """What is shown, in words for a saved notebook: the bytes of a run may differ in their last digit."""
    runs = " and ".join(title(state, which) for which in range(len(state.names)))
    told = "hidden until predicted" if not state.rivers else "the bytes of each owner are in the picture"
    return f"MemoryRiver: {' of '.join(part for part in ('memory', runs) if part)}, {told}."
