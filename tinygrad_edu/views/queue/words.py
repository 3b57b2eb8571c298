"""A timeline in words: each lane, each gap and its cause, and the text twin."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...common.wording import bytes_text, number, plain, plural, ratio_text, seconds_text
from .gaps import HOST, Gap, Item, Part, is_stream, shares
from .model import QueueState, Run, answer

FEW = 48  # pieces of work that the text tells one by one
COPIES = {f"copy to {place}": f"the copy to the {place}" for place in ("device", "host")}
WAITS = {
    "synchronize": "a synchronisation", "synchronize an event": "an event", "nonzero": "the count of places",
    "reserve": "the driver, before it gives memory", "empty_cache": "the driver, before it takes memory",
}  # fmt: skip
LEAST = 0.1  # of a gap: what took less is not named


def lane_text(lane: str) -> str:
    """``copy in``, ``stream 0``; of a second device with its name."""
    device, _, rest = lane.partition(" ")
    if lane == HOST:
        return HOST
    if not rest:
        return "the device" if device == "sim" else device
    words = {"to device": "copy in", "to host": "copy out"}.get(rest, rest if is_stream(lane) else f"copy {rest}")
    return words if device == "sim" else f"{device} {words}"


def time_text(nanoseconds: float) -> str:
    """A time, simulated."""
    return seconds_text(nanoseconds / 1e9)


def percent(share: float) -> str:
    """``69 %``; with more digits where it would look like a limit that it does not reach."""
    told = 100 * share
    near = round(told / 25) * 25
    if 0 < abs(told - near) < 0.5:
        side = "just below" if told < near else "just above"
        return f"{told:.1f} %" if f"{told:.1f}" != f"{near:.1f}" else f"{side} {near} %"
    return f"{round(told)} %"


def item_text(item: Item) -> str:
    """``matmul, 20.0 µs, 512 kB (train.py, line 7: y = x @ w)``."""
    lane = lane_text(item.waited_for) if item.waited_for else ""
    name = f"waits for {lane}" if item.kind == "wait" and lane else f"{item.name} for {lane}" if lane else item.name
    size = f", {bytes_text(item.nbytes)}" if item.nbytes else ""
    asks = "launches " if item.kind == "launch" else ""
    asked = f" in {lane_text(item.stream)}" if item.stream else ""
    return f"{asks}{name}{asked}, {time_text(item.duration)}{size}" + (f" ({item.where})" if item.where else "")


def gap_text(gap: Gap) -> str:
    """``idle 450 µs before matmul: the host waits for the copy to the device``; with times if there are more causes."""
    after = "after the last kernel" if gap.start else "all the time"
    where = after if gap.before is None else f"before {gap.before.name}"
    on = "" if gap.device == "sim" else f"{gap.device} "
    told = [(part_text(part, gap.before is not None), spent) for part, spent in shares(gap)]
    most = [(words, spent) for words, spent in told if spent >= LEAST * gap.duration]
    if len(most) == 1:
        return f"{on}idle {time_text(gap.duration)} {where}: {most[0][0]}"
    rest = gap.duration - sum(spent for _, spent in most)
    causes = [f"{words} ({time_text(spent)})" for words, spent in most] + [f"the rest ({time_text(rest)})"] * (rest > 0)
    return f"{on}idle {time_text(gap.duration)} {where}: {', '.join(causes)}"


def part_text(part: Part, awaited: bool = True) -> str:
    """What the next kernel waits for; or, if none comes, what is done meanwhile."""
    item, kind = part.item, part.kind
    if item is None or kind == "none":
        return "nothing was asked for"
    what = COPIES.get(item.name, item.name)
    if kind == "copy":
        return f"the host {'waits for' if item.kind == 'wait' else 'is busy with'} {what}"
    if kind == "data":
        return f"it waits for {what}" if awaited else f"{what} is under way"
    if kind == "again":
        return f"the host launches again after {_waited(item)}"
    if kind == "late":
        told = f"it waits for {what}" if awaited else f"{what} is under way"
        return told if part.after is None else f"{told}, asked for after {_waited(part.after)}"
    if kind == "lane":
        where = f"{item.name} in {lane_text(item.lane)}"
        return f"it waits for {where}" if awaited else f"{where} is under way"
    words = {
        "launch": f"the host launches {what}", "order": f"the host is busy with streams and events: {what}",
        "wait": f"the host waits: {WAITS[item.name]}" if item.name in WAITS
        else f"the host waits for {lane_text(item.waited_for)}",
        "reserve": "the host gives memory back to the driver" if item.name == "empty_cache"
        else "the host asks the driver for memory",
    }  # fmt: skip
    return words.get(kind, f"the host is busy with {item.name}")


def _waited(item: Item) -> str:
    return COPIES.get(item.name, WAITS.get(item.name, item.name))


def summary(run: Run) -> str:
    """``device busy 69 % · longest gap: idle 450 µs before matmul: the host waits for the copy to the device``."""
    many = len(run.devices) > 1
    shares_of = [f"{one} busy {percent(run.computing_on(one))}" for one in run.devices]
    told = " · ".join(shares_of) if many else f"device busy {percent(run.computing)}"
    return told if run.longest is None else f"{told} · {gap_text(run.longest)}"


def remarks(run: Run) -> list[str]:
    """What went wrong in a run."""
    told = [f"It ended with an error: {run.error}"] if run.error else []
    return told + [f"A race: {' '.join(race.split())}" for race in dict.fromkeys(run.races)]


def question(state: QueueState) -> str:
    """The question to predict an answer to; of a setting that nobody was asked about, what is shown."""
    if state.runs and (state.said is None or state.asked != state.ran):
        turned = [f"{name} {value}" for name, value in _turned(state)]
        return ", ".join([TITLE, *turned])
    if state.ask:
        return state.ask
    if len(state.names) == 1:
        return "Which share of the time does a kernel run?"
    return f"Compared with {state.names[0]}, how long will {state.names[1]} take?"


def verdict(state: QueueState) -> str:
    """What came out, beside what was predicted, where it was predicted for this setting."""
    right, said = answer(state), state.said if state.asked == state.ran else None
    lead = "As you predicted: " if said == right else f"You predicted: {said}. Result: " if said else "Result: "
    if len(state.runs) == 1:
        run = state.runs[0]
        told = f"a kernel runs in {percent(run.computing)} of {time_text(run.end)}"
    else:
        one, other = state.runs
        share = ratio_text(other.end / max(one.end, 1))
        told = f"{other.name} took {time_text(other.end)}, {share}× the {time_text(one.end)} of {one.name}"
    return f"{lead}{told}."


def picked_text(state: QueueState) -> str:
    """The piece of work or the gap that is picked, and what was waited for."""
    if state.gap is not None:
        return gap_text(state.runs[state.gap[0]].gaps[state.gap[1]])
    item = state.item
    if item is None or state.picked is None:
        return ""
    run = state.runs[state.picked[0]]
    waited = next((gap for gap in run.gaps if gap.before is item), None)
    reason = run.reasons.of(item) if item.lane != HOST else None
    after = f"; it begins when {_ended(reason)}" if reason is not None and not waited else ""
    return f"{lane_text(item.lane)}: {item_text(item)}" + (f"; {gap_text(waited)}" if waited else after)


def _ended(item: Item) -> str:
    if item.kind == "launch":
        return "the host has launched it"
    return f"{item.name} ends{'' if item.lane == HOST else f' in {lane_text(item.lane)}'}"


def why(state: QueueState) -> str:
    """What most of the time without a kernel is spent on, in the run that takes longest; or what went wrong there."""
    if not state.runs:
        return ""
    broken = next((one for one in state.runs if one.error), None) or next(
        (one for one in state.runs if one.races), None
    )
    if broken is not None:
        return ENDED if broken.error else RACED
    run = max(state.runs, key=lambda one: one.end)
    cause, spent, idle = cause_of(run)
    return WHY[cause].format(spent=time_text(spent), idle=time_text(idle), work=_other_work(run))


def _other_work(run: Run) -> str:
    """What the host does most besides launching, where that keeps the device idle."""
    spent: dict[str, int] = {}
    for part in (part for gap in run.gaps for part in gap.parts if part.kind == "work"):
        if part.item is not None:
            spent[part.item.name] = spent.get(part.item.name, 0) + part.duration
    return max(spent, key=lambda name: spent[name], default="")


def cause_of(run: Run) -> tuple[str, int, int]:
    """What most of the idle time is spent on, for how long, and how much there is. A key of `WHY`, and nanoseconds."""
    if not any(item.kind == "kernel" for item in run.items):
        return "nothing", 0, 0
    spent: dict[str, int] = {}
    for gap in run.gaps:
        for part in gap.parts:
            kind = SAME_CAUSE.get(part.kind, part.kind)
            kind = "lane" if kind == "wait" and gap.before is None else kind  # no launch is kept from this device
            spent[kind] = spent.get(kind, 0) + part.duration
    idle = sum(spent.values())
    if min(run.computing_on(one) for one in run.devices) > BUSY:
        return "busy", 0, idle
    cause = max(spent, key=lambda kind: spent[kind])
    return cause, spent[cause], idle


BUSY = 0.85  # the share of the time with a kernel from which on the rest is not worth a sentence
SAME_CAUSE = {"data": "copy", "again": "wait", "late": "wait"}
WHY = {
    "busy": "A kernel runs **nearly all the time**: the time is that of the kernels, in turn or side by side.",
    "nothing": "**No kernel runs** here: the device has nothing to compute.",
    "copy": "Most of the time without a kernel passes **while data is copied**: {spent} of {idle}.",
    "wait": "**Whoever waits cannot launch**: {spent} of {idle} without a kernel, until the host launches again.",
    "launch": "Kernels end **before the host has launched the next**: {spent} of {idle} without a kernel.",
    "reserve": "The host **asks the driver for memory** and launches nothing: {spent} of {idle} without a kernel.",
    "order": "The host is **busy with streams and events** and launches nothing: {spent} of {idle} without a kernel.",
    "work": "The host is **busy with something else**, mostly {work}, and launches nothing: {spent} of {idle} without "
    "a kernel.",
    "lane": "The kernels wait for **work of another lane**, in the order that the program asks for: {spent} of {idle}.",
    "none": "**Nothing was asked for**: {spent} of {idle} without a kernel.",
}
ENDED = "The program **ended with an error**: the picture shows what led to it, and memory was not reserved before."
RACED = (
    "There is a **race**: work used memory that other work was not done with. A real device goes on, as drawn here, "
    "with results that may be wrong."
)
HIDDEN = "Nothing is run before you commit to a prediction."
COVERED = "What was recorded is hidden until you commit to a prediction."
RUNNING = "The run is under way."
FAILED = "The run ended without a result."
TITLE = "Host and device over time"
UNDER_WAY = "The run with the new setting is under way. What is shown is the one before."


def hidden(state: QueueState, working: bool) -> str:
    """Why there is no timeline."""
    failed = " ".join(filter(None, [FAILED, state.failure[:1].upper() + state.failure[1:]]))
    return RUNNING if working else failed if state.begun else HIDDEN if state.machines else COVERED


def conditions(state: QueueState) -> str:
    """How the figures came about."""
    machine = state.runs[0].machine if state.runs else state.machine
    before = " · memory reserved by a run before" if any(run.rehearsed for run in state.runs) else ""
    after = state.ran[2] if state.ran else 0
    stop = f" · the host also waits after kernel {after}" if after and state.runs else ""
    return f"preset {machine}, virtual time, exact for this model{before}{stop}"


def _turned(state: QueueState) -> list[tuple[str, Any]]:
    """The knobs by name, as they stood in the runs that are shown."""
    knobs = state.ran[1] if state.runs and state.ran else state.knobs
    return [(knob.name, knob.value) for knob in knobs]


def text(state: QueueState, working: bool = False) -> str:
    """The text twin of the widget."""
    lines = [f"QueueTimeline: {plain(question(state))}"]
    lines += [f"{name}: {value}" for name, value in _turned(state)]
    lines += [UNDER_WAY] if state.outdated else []
    if not state.runs:
        lines += [f"  {'◇' if state.draft == one else ' '} {one}" for one in state.choices]
        return "\n".join([*lines, hidden(state, working)])
    stop = state.ran[2] if state.ran else state.stop
    lines += [f"the host waits after kernel {stop}"] if stop else []
    lines += [verdict(state), *filter(None, [picked_text(state)])]
    lines += [f"you predicted {state.said}"] if state.said and state.asked == state.ran else []
    return "\n".join([*lines, runs_text(state.runs)])


def summary_text(state: QueueState) -> str:
    """How far it has come, for a saved notebook."""
    told = verdict(state) if state.runs else FAILED if state.begun else "hidden until predicted"
    return f"QueueTimeline: {told}"


def describe(runs: Sequence[Run]) -> str:
    """The one fact of each run."""
    return " ".join(f"{_named(run)}{time_text(run.end)}, {summary(run)}." for run in runs)


def _named(run: Run) -> str:
    return f"{run.name}: " if run.name else ""


def runs_text(runs: Sequence[Run]) -> str:
    """The text twin: every lane of every run, and each gap with its causes."""
    lines = []
    for run in runs:
        lines.append(f"{_named(run)}{time_text(run.end)} in all, on a simulated {run.machine}; {summary(run)}")
        lines += remarks(run)
        for lane in run.lanes:
            items = run.by_lane[lane]
            waits = sum(item.kind == "wait" for item in items)
            told = [f"{plural(len(items) - waits, 'piece')} of work"] * bool(items)
            told += [plural(waits, "wait")] * bool(waits)
            if copies := len(run.copies_of[lane]):
                told.append("1 copy that an engine makes" if copies == 1 else f"{copies} copies that engines make")
            told += [f"busy {number(100 * run.busy(lane))} %"] * bool(items)
            lines.append(f"{lane_text(lane)}: {', '.join(told)}")
            lines += [f"  {time_text(item.start)}: {item_text(item)}" for item in items[:FEW]]
            lines += [f"  and {len(items) - FEW} more"] if len(items) > FEW else []
        found = run.gaps
        lines += [f"{len(found)} {'stretch' if len(found) == 1 else 'stretches'} without a kernel"] if found else []
        lines += [f"  {time_text(gap.start)}: {gap_text(gap)}" for gap in found[:FEW]]
        lines += [f"  and {len(found) - FEW} more"] if len(found) > FEW else []
    return "\n".join(lines)
