"""A timeline in words: each lane, each gap and its cause, and the text twin."""

from __future__ import annotations

from collections.abc import Sequence

from ...common.wording import bytes_text, number, plain, plural, ratio_text, seconds_text
from .model import HOST, Gap, Item, QueueState, Run, answer, gaps, is_stream

FEW = 48  # pieces of work that the text tells one by one


def lane_text(lane: str) -> str:
    """``copy in``, ``stream 0``; of a second device with its name."""
    device, _, rest = lane.partition(" ")
    if lane == HOST:
        return HOST
    words = {"to device": "copy in", "to host": "copy out"}.get(rest, rest if is_stream(lane) else f"copy {rest}")
    return words if device == "sim" else f"{device} {words}"


def time_text(nanoseconds: float) -> str:
    """A time, simulated."""
    return seconds_text(nanoseconds / 1e9)


def percent(share: float) -> str:
    """``69 %``."""
    return f"{round(100 * share)} %"


def item_text(item: Item) -> str:
    """``matmul, 20.0 µs, 512 kB (train.py, line 7: y = x @ w)``."""
    name = f"waits for {lane_text(item.waited_for)}" if item.kind == "wait" and item.waited_for else item.name
    size = f", {bytes_text(item.nbytes)}" if item.nbytes else ""
    asks = "asks for " if item.kind == "launch" else ""
    return f"{asks}{name}, {time_text(item.duration)}{size}" + (f" ({item.where})" if item.where else "")


def gap_text(gap: Gap) -> str:
    """``idle 450 µs before matmul: the host waits for copy in``."""
    told = f"idle {time_text(gap.duration)} before {gap.before.name}"
    cause = gap.cause
    if cause is None:
        return f"{told}: nothing was asked for"
    if cause.lane != HOST:
        copy = cause.name.startswith("copy to ")
        what = _the_copy(cause) if copy else f"{cause.name} in {lane_text(cause.lane)}"
        return f"{told}: it waits for {what}"
    return f"{told}: the host {_does(cause)}"


def _the_copy(item: Item) -> str:
    return item.name.replace("copy to", "the copy to the")


def _does(item: Item) -> str:
    """What the host does."""
    if item.name.startswith("copy to "):  # "waits for the copy to the device"
        what = _the_copy(item)
        return {"wait": f"waits for {what}", "copy": f"is busy with {what}"}.get(item.kind, f"asks for {what}")
    words = {"launch": f"asks for {item.name}", "wait": f"waits in {item.name}", "reserve": "asks for memory"}
    return words.get(item.kind, f"is busy with {item.name}")


def summary(run: Run) -> str:
    """``device busy 69 %; longest gap 450 µs: the host waits for copy in``."""
    told = f"device busy {percent(run.computing)}"
    longest = max(gaps(run), key=lambda gap: gap.duration, default=None)
    return told if longest is None else f"{told} · {gap_text(longest)}"


def question(state: QueueState) -> str:
    """The question to predict an answer to."""
    if state.ask:
        return state.ask
    if len(state.names) == 1:
        return "Which share of the time does a kernel run?"
    return f"How long does {state.names[1]} take, compared with {state.names[0]}?"


def verdict(state: QueueState) -> str:
    """What came out, beside what was predicted."""
    right, said = answer(state), state.said
    lead = "As you predicted: " if said == right else f"You predicted: {said}. Result: " if said else "Result: "
    if len(state.runs) == 1:
        run = state.runs[0]
        told = f"a kernel runs in {percent(run.computing)} of {time_text(run.end)}"
    else:
        one, other = state.runs
        share = ratio_text(other.end / max(one.end, 1))
        told = f"{other.name} takes {time_text(other.end)}, {share}× the {time_text(one.end)} of {one.name}"
    return f"{lead}{told}."


def picked_text(state: QueueState) -> str:
    """The piece of work that is picked, and what kept it waiting."""
    item = state.item
    if item is None or state.picked is None:
        return ""
    run = state.runs[state.picked[0]]
    waited = next((gap for gap in gaps(run) if gap.before is item), None)
    return f"{lane_text(item.lane)}: {item_text(item)}" + (f"; {gap_text(waited)}" if waited else "")


def why(state: QueueState) -> str:
    """The cause that keeps the device idle for longest in the run that takes longest."""
    if not state.runs:
        return ""
    run = max(state.runs, key=lambda one: one.end)
    return WHY[cause_of(run)]


def cause_of(run: Run) -> str:
    """What most of the idle time comes from: "copy", "wait", "launch", "work", "lane", or "none"."""
    spent = dict.fromkeys(WHY, 0)
    for gap in gaps(run):
        cause = gap.cause
        kind = "none" if cause is None else "lane" if cause.lane != HOST else cause.kind
        kind = "copy" if kind == "wait" and cause is not None and cause.name.startswith("copy to") else kind
        spent[kind if kind in spent else "work"] += gap.duration
    if run.computing > 0.9 or not any(spent.values()):
        return "busy"
    return max(spent, key=lambda kind: spent[kind])


WHY = {
    "busy": "The queue **never runs empty**: there is always work that the host has asked for already.",
    "copy": "A copy that the host waits for **lets the queue run empty**: nothing can be asked for meanwhile.",
    "wait": "Who **waits for a value** cannot ask for more work; afterwards the queue is empty.",
    "launch": "The kernels end **before the host has asked for the next**: launches set the time.",
    "work": "The host is **busy with something else** and asks for nothing meanwhile.",
    "lane": "The kernels wait for **work of another lane**: the order that the program asks for.",
    "none": "Nothing was asked for.",
}
HIDDEN = "Nothing is run before you commit to a prediction."
RUNNING = "The run is under way."
FAILED = "The run ended without a result."


def hidden(state: QueueState, working: bool) -> str:
    """Why there is no timeline."""
    return RUNNING if working else FAILED if state.begun else HIDDEN


def conditions(state: QueueState) -> str:
    """How the figures came about."""
    machine = state.runs[0].machine if state.runs else state.machine
    told = f"preset {machine}, virtual time, exact · memory reserved by a run before"
    return f"{told} · thin marks of the host are launches, hatching is an idle device"


def text(state: QueueState, working: bool = False) -> str:
    """The text twin of the widget."""
    lines = [f"QueueTimeline: {plain(question(state))}"]
    lines += [f"{knob.name}: {knob.value}" for knob in state.knobs]
    if not state.runs:
        lines += [f"  {'◇' if state.draft == one else ' '} {one}" for one in state.choices]
        return "\n".join([*lines, hidden(state, working)])
    lines += [verdict(state), *filter(None, [picked_text(state)])]
    lines += [f"you predicted {state.said}"] if state.said else []
    return "\n".join([*lines, runs_text(state.runs)])


def summary_text(state: QueueState) -> str:
    """How far it has come, for a saved notebook."""
    return f"QueueTimeline: {verdict(state) if state.runs else 'hidden until predicted'}"


def describe(runs: Sequence[Run]) -> str:
    """The one fact of each run."""
    return " ".join(f"{_named(run)}{time_text(run.end)}, {summary(run)}." for run in runs)


def _named(run: Run) -> str:
    return f"{run.name}: " if run.name else ""


def runs_text(runs: Sequence[Run]) -> str:
    """The text twin: every lane of every run, and each gap of a stream with its cause."""
    lines = []
    for run in runs:
        lines.append(f"{_named(run)}{time_text(run.end)} in all, on a simulated {run.machine}; {summary(run)}")
        for lane in run.lanes:
            items = run.of(lane)
            lines.append(
                f"{lane_text(lane)}: {plural(len(items), 'piece')} of work, busy {number(100 * run.busy(lane))} %"
            )
            lines += [f"  {time_text(item.start)}: {item_text(item)}" for item in items[:FEW]]
            lines += [f"  and {len(items) - FEW} more"] if len(items) > FEW else []
        found = gaps(run)
        lines += [f"{plural(len(found), 'stretch')} without a kernel".replace("stretchs", "stretches")] if found else []
        lines += [f"  {time_text(gap.start)}: {gap_text(gap)}" for gap in found[:FEW]]
    return "\n".join(lines)
