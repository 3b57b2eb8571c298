"""A roofline in words: each operation, what bounds it, and the text twin."""

from __future__ import annotations

from math import isinf

from ...common.wording import bytes_text, number, plain, plural, seconds_text, si
from ...observe.roofline import BOUNDS, Peaks, Point, Roofline
from .model import CHOICES, COMPILED, WRITTEN, RooflineState, answer

FEW = 24  # operations that the text tells
WHY = {
    "start": "Starting a call costs **the same, whatever it carries**: let each call do more.",
    "bytes": "The numbers **come more slowly than they can be computed with**: move fewer bytes, or do more with each.",
    "arithmetic": "Each number is **used many times**: only less arithmetic, or a quicker format, makes it faster.",
    "else": "It takes **over three times as long as all three together**: a sine is many steps, counted as one; new "
    "memory, strides, or cold caches cost time as well.",
    "tiles": "There are **too few tiles** for the whole device: most of it has nothing to do.",
}
CALLS = "A program makes **a NumPy call for each operation** of its kernels, and these calls take most of its time."
HIDDEN = "Nothing is run before you commit to a prediction."
RUNNING = "The run is under way."
FAILED = "The run ended without a result."


def times_text(times: float, exact: bool) -> str:
    """``12.0×``, ``about 12.0×`` (two digits of an estimate), ``no gain``, ``without limit``."""
    told = f"{number(times)}×" if exact or isinf(times) else f"about {number(float(f'{times:.2g}'))}×"
    return "no gain" if times < 1.05 else "without limit" if times == float("inf") else told


def question(state: RooflineState) -> str:
    """The question to predict an answer to."""
    return state.ask or "What limits the operation that takes most of the time?"


def verdict(state: RooflineState) -> str:
    """What came out, beside what was predicted for this machine."""
    assert state.result is not None
    first, found = state.result.points[0], answer(state)
    said = state.said if state.asked == state.machine and not state.result.compiled else None
    lead = "As you predicted: " if said == found else f"You predicted: {said}. Result: " if said else "Result: "
    share = first.total / sum(point.total for point in state.result.points)
    of = "the programs' time" if state.result.compiled else "forward's time"
    of = "the kernels' time" if state.result.peaks.simulated else of
    return f"{lead}{first.name} takes {round(100 * share)} % of {of}, and is limited by {found}."


def form_of(found: Roofline) -> str:
    """Whether a result is of the function as written, or compiled."""
    return COMPILED if found.compiled else WRITTEN


def counted(found: Roofline) -> str:
    """``as written 12 operations of forward``, ``compiled 3 kernels``."""
    kernels = found.compiled or found.peaks.simulated
    told = plural(found.count, "kernel") if kernels else f"{plural(found.count, 'operation')} of forward"
    return f"{form_of(found)} {told}"


def comparison(state: RooflineState, timed: bool = True) -> str:
    """``as written 12 operations of forward, 310 µs a run; compiled 3 kernels, 120 µs a run``; or nothing."""
    if state.result is None or state.other is None:
        return ""
    both = sorted((state.result, state.other), key=lambda one: one.compiled)
    return "; ".join(counted(one) + f", {seconds_text(one.whole)} a run" * timed for one in both)


def key(state: RooflineState) -> str:
    """Which marks are whose, while both forms are drawn."""
    if state.result is None or state.other is None:
        return ""
    return f"filled: {form_of(state.result)}; hollow: {form_of(state.other)}"


def point_text(point: Point, peaks: Peaks) -> str:
    """``matmul, 134 MFLOP on 2.10 MB in 985 µs, limited by its arithmetic (train.py, line 5: y = x @ w)``."""
    calls = f"{plural(point.calls, 'call')} of " if point.calls > 1 else ""
    told = f"{point.name}: {calls}{si(point.flops, 'FLOP')} on {bytes_text(round(point.nbytes))}"
    told += f" in {seconds_text(point.seconds)}, limited by {CHOICES[point.bound(peaks)]}"
    return told + (f" ({point.line})" if point.line else "")


def details(point: Point, peaks: Peaks) -> list[tuple[str, str]]:
    """What is told of the operation that is picked: names and values. On this machine its time is measured."""
    took = "takes" if peaks.simulated else "takes, measured"
    rows = [
        ("one call does", f"{si(point.flops, 'FLOP')} on {bytes_text(round(point.nbytes))}"),
        (took, f"{seconds_text(point.seconds)}, {plural(point.calls, 'call')}"),
    ]
    return rows + ([("NumPy calls", str(point.asked))] if point.asked else [])


def needed(point: Point, peaks: Peaks) -> list[tuple[str, str]]:
    """What each of the three needs by the peaks: names and values. They are `computed`."""
    needs, names = point.needs(peaks), dict(CHOICES)
    if not point.own:
        if point.kernels:
            names["start"] = plural(point.asked, "NumPy call")
        elif point.name in dict(peaks.starts):
            names["start"] = f"starting a {point.name}"
        else:
            names["start"] = "starting an operation"
    rows = [(names[bound], seconds_text(needs[bound])) for bound in BOUNDS]
    if not point.own and needs["bytes"]:
        rate = point.nbytes / needs["bytes"]
        fastest = max(one for _, one in peaks.bandwidths)
        where = "memory" if rate < 1.1 * peaks.bandwidth else "a cache" if rate > fastest / 2 else "both"
        told = "partly from a cache" if where == "both" else f"from {where}"
        rows.insert(2, (f"that is, {told}, at", si(rate, "B/s")))
    return rows + ([("any kernel", seconds_text(needs["floor"]))] if "floor" in needs else [])


def computed(peaks: Peaks) -> str:
    """What stands over what is `needed`."""
    return "at least needed, computed:" if peaks.simulated else "at least needed, computed from the peaks:"


def gains(point: Point, peaks: Peaks) -> list[tuple[str, str]]:
    """What could be gained, if one of the three cost nothing: see `estimated`."""
    return [(f"without {CHOICES[bound]}", times_text(point.gain(bound, peaks), peaks.simulated)) for bound in BOUNDS]


def estimated(peaks: Peaks) -> str:
    """What stands over the gains: on a real machine they are estimates, on a simulated one exact."""
    return "if one of them cost nothing, computed:" if peaks.simulated else "if one of them cost nothing, estimated:"


def sections(point: Point, peaks: Peaks) -> list[tuple[str, list[tuple[str, str]]]]:
    """All that is told of the operation that is picked: rows, and what stands over them."""
    return [
        ("", details(point, peaks)),
        (computed(peaks), needed(point, peaks)),
        (estimated(peaks), gains(point, peaks)),
    ]


def peaks_text(peaks: Peaks, compiled: bool = False) -> str:
    """``95.1 GFLOP/s, 20.9 GB/s from memory, 640 ns to start an operation``; with ``compiled``, also a NumPy call."""
    rates = f"{si(peaks.rate, 'FLOP/s')}, {si(peaks.bandwidth, 'B/s')} from memory"
    fastest = max(rate for _, rate in peaks.bandwidths)
    cache = f" and up to {si(fastest, 'B/s')} from a cache, by size" if fastest > 1.2 * peaks.bandwidth else ""
    call = f", {seconds_text(peaks.call)} for a NumPy call of a program" if compiled and peaks.call else ""
    return f"{rates}{cache}, {seconds_text(peaks.start)} to start an operation{call}"


def rest(found: Roofline) -> str:
    """``not shown: copies 1.69 ms``."""
    told = ", ".join(f"{name} {seconds_text(spent)}" for name, spent in found.rest)
    return f"not shown: {told}" if told else ""


def why(state: RooflineState) -> str:
    """What the bound of the picked operation means."""
    if state.result is None or state.point is None:
        return ""
    bound, peaks = state.point.bound(state.result.peaks), state.result.peaks
    if bound == "start" and state.point.asked > 1:
        return CALLS
    return WHY["tiles" if bound == "else" and peaks.simulated else bound]


def hidden(state: RooflineState, working: bool) -> str:
    """Why there is no picture."""
    failed = " ".join(filter(None, [FAILED, state.failure[:1].upper() + state.failure[1:]]))
    return RUNNING if working else failed if state.begun else HIDDEN


def conditions(state: RooflineState) -> str:
    """How the figures came about."""
    found = state.result
    if found is None:
        return f"{state.machine}, float32" + f", {state.form}" * (state.form != WRITTEN)
    if found.peaks.simulated:
        kernels = "kernels as compiled" if found.compiled else "each operation a kernel"
        return f"preset {found.peaks.machine}, virtual time · forward and backward, {kernels}"
    where = "" if found.conditions is None else f"{found.conditions.text()} · "
    what = "each program as a whole" if found.compiled else "forward only"
    return f"{where}{plural(found.runs, 'run')}, the median, of {what} · peaks measured once"


def text(state: RooflineState, working: bool = False) -> str:
    """The text twin of the widget."""
    lines = [f"Roofline: {plain(question(state))}"]
    if state.result is None:
        lines += [f"  {'◇' if state.draft == one else ' '} {one}" for one in CHOICES.values()]
        return "\n".join([*lines, hidden(state, working)])
    point, found = state.point, state.result
    assert point is not None
    lines += [verdict(state), *([f"you predicted {state.said}"] if state.said else [])]
    lines += [comparison(state)] if state.other is not None else []
    lines += [f"{found.peaks.machine}: {peaks_text(found.peaks, state.other is not None or found.compiled)}"]
    lines += [f"  {place}. {point_text(one, found.peaks)}" for place, one in enumerate(found.points[:FEW], 1)]
    lines += [f"  and {len(found.points) - FEW} more"] if len(found.points) > FEW else []
    lines += [rest(found)] if found.rest else []
    lines += _others(state)
    lines += [f"operation {state.picked + 1}, {point.name}"]
    for head, rows in sections(point, found.peaks):
        lines += [f"  {head}"] if head else []
        lines += [f"  {name}: {value}" for name, value in rows]
    return "\n".join(lines)


def _others(state: RooflineState) -> list[str]:
    """What the hollow marks are, in the text."""
    other = state.other
    if other is None:
        return []
    lines = [f"{key(state)}:", *(f"  {point_text(one, other.peaks)}" for one in other.points[:FEW])]
    return [*lines, *[f"  and {len(other.points) - FEW} more"] * (len(other.points) > FEW)]


def summary(state: RooflineState) -> str:
    """How far it has come, for a saved notebook, where times would differ."""
    if state.result is None:
        return "Roofline: hidden until predicted"
    if state.result.peaks.simulated:
        return text(state)
    return "; ".join(filter(None, ["Roofline: measured", comparison(state, timed=False)]))


def describe(found: Roofline) -> str:
    """The one fact of the figure."""
    return point_text(found.points[0], found.peaks)
