"""Charts for matplotlib: the numbers of the widgets on anybody's axes, in the widgets' colours.

``plt.style.use("tinygrad_edu_widgets.light")``, or ``dark``, gives every other figure the same look.
"""

from __future__ import annotations

import math
from typing import Any

from tinygrad_edu.common.wording import exact, number, seconds_text
from tinygrad_edu.errors import ArgumentError, MissingPackageError
from tinygrad_edu.observe.results import Sweep, Timing
from tinygrad_edu.tips import Result
from tinygrad_edu.tips.facts import TIME
from tinygrad_edu.tips.words import context_text, count_text
from tinygrad_edu.views.checkpoints import OWNERS, SliderState, expected
from tinygrad_edu.views.playground import PlayState
from tinygrad_edu.views.predict import GateState
from tinygrad_edu.views.race import RaceState
from tinygrad_edu.views.river import LABELS, STACK, RiverState, memory_unit
from tinygrad_edu.views.tokens import TOKENS
from tinygrad_edu.views.training import TrainingState


def axes_for(caller: str, ax: Any, count: int = 1) -> Any:
    """The axes given, or new ones of the widgets' width. Raises `MissingPackageError` if matplotlib is missing."""
    try:
        from matplotlib import pyplot
        from matplotlib.axes import Axes
    except ImportError:
        why, mend = "it draws with matplotlib, which is not installed", "pip install matplotlib"
        raise MissingPackageError(f"{caller}()", why, mend) from None
    if ax is None:
        return pyplot.subplots(1, count, figsize=(8.12, 2.8), layout="constrained")[1]
    if count == 1 and not isinstance(ax, Axes):
        raise ArgumentError(f"{caller}(ax={ax!r:.40})", "ax is matplotlib's axes", "write _, ax = plt.subplots()")
    return ax


def colours(ax: Any) -> dict[str, str]:
    """The tokens, dark where the axes are dark."""
    from matplotlib.colors import to_rgb

    red, green, blue = to_rgb(ax.get_facecolor())
    dark = int(0.2126 * red + 0.7152 * green + 0.0722 * blue < 0.3)
    return {name: pair[dark] for name, pair in TOKENS.items()}


def style(theme: str) -> str:
    """The style sheet of a theme, as it stands in ``light.mplstyle`` and ``dark.mplstyle``."""
    c = {name: pair[theme == "dark"].lstrip("#") for name, pair in TOKENS.items()}
    cycle = ", ".join(f"'{c[name]}'" for name in ("blue", "ochre", "magenta", "teal", "violet", "vermilion", "grey"))
    values = {
        "figure.facecolor": c["paper"], "savefig.facecolor": c["paper"], "axes.facecolor": c["paper"],
        "text.color": c["ink"], "axes.labelcolor": c["ink"], "axes.titlecolor": c["ink"],
        "axes.edgecolor": c["ink-2"], "xtick.color": c["ink-2"], "ytick.color": c["ink-2"],
        "xtick.labelcolor": c["ink-2"], "ytick.labelcolor": c["ink-2"], "grid.color": c["line"],
        "axes.prop_cycle": f"cycler('color', [{cycle}])", "axes.spines.top": False, "axes.spines.right": False,
        "axes.grid": True, "axes.grid.axis": "y", "axes.axisbelow": True, "axes.titleweight": "bold",
        "axes.titlelocation": "left", "axes.titlesize": 12, "axes.labelsize": 10, "font.size": 10,
        "xtick.labelsize": 9, "ytick.labelsize": 9, "legend.frameon": False, "lines.linewidth": 1.9,
        "grid.linewidth": 0.75, "axes.linewidth": 0.9, "figure.dpi": 96,
    }  # fmt: skip
    head = f"# matplotlib in the colours of the widgets, {theme}. Written by charts.style: a test compares the two.\n"
    return head + "".join(f"{name}: {value}\n" for name, value in values.items())


# Two functions on the clock ---------------------------------------------------------------------------------------


def race(state: RaceState, ax: Any) -> Any:
    """All runs at the size that is shown, as multiples of their own median: A above, B below."""
    shown, c = _measured(state), colours(ax)
    looks = ({"facecolor": c["paper"], "edgecolor": c["grey"]}, {"facecolor": c["blue"], "edgecolor": c["blue"]})
    for lane, (timing, look) in enumerate(zip((shown.slow, shown.fast), looks, strict=True)):
        runs = [time / timing.median for time in timing.times]
        heights = [lane + 0.2 * _spread(i) for i in range(len(runs))]
        ax.scatter(runs, heights, s=16, linewidth=0.9, label=f"{'AB'[lane]} {state.names[lane]}", **look)
        low, high = (quartile / timing.median for quartile in timing.quartiles)
        ax.plot([low, high], [lane + 0.3] * 2, color=look["edgecolor"], linewidth=2.5)
    ax.set_yticks([0, 1], [_lane_label(state.names[i], i, t) for i, t in enumerate((shown.slow, shown.fast))])
    ax.set_ylim(1.5, -0.5)
    ax.set_xlabel("times their own median")
    return ax


def _measured(state: RaceState) -> Any:
    if state.shown is None:
        raise ArgumentError("TimingRace.plot()", "nothing has been measured", "call predict(…) first")
    return state.shown


def _spread(i: int) -> float:
    """A height from −1 to 1 that is the same in each drawing, so that runs do not cover each other."""
    return 2 * ((i * 0.618034) % 1) - 1


def _lane_label(name: str, which: int, timing: Timing) -> str:
    return f"{'AB'[which]} {name}\n{timing.text()}"


def sweep(state: RaceState, ax: Any) -> Any:
    """The medians over the size, with the middle half of the runs."""
    _measured(state)
    assert isinstance(state.result, Sweep)
    c, found = colours(ax), state.result
    for letter, name, pick, colour, fill in (
        ("A", state.names[0], "slow", c["grey"], c["paper"]), ("B", state.names[1], "fast", c["blue"], c["blue"]),
    ):  # fmt: skip
        timings = [getattr(one, pick) for one in found.comparisons]
        medians = [timing.median for timing in timings]
        ax.plot(found.sizes, medians, "o-", color=colour, markerfacecolor=fill, label=f"{letter} {name}")
        ends = zip(*(timing.quartiles for timing in timings), strict=True)
        ax.fill_between(found.sizes, *ends, color=colour, alpha=0.2, linewidth=0)
        ax.annotate(f"{letter} {name}", (found.sizes[-1], medians[-1]), (8, 0), textcoords="offset points", va="center")
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.minorticks_off()
    some = found.sizes[:: math.ceil(len(found.sizes) / 8)]
    ax.set_xticks(some, [exact(size) for size in some])
    ax.yaxis.set_major_formatter(lambda seconds, _: seconds_text(seconds))
    ax.set_xlabel("n")
    ax.set_ylabel("median")
    return ax


# A prediction beside its result -----------------------------------------------------------------------------------


def prediction(state: GateState, ax: Any) -> Any:
    """The prediction, dashed or ◇, and the result once it is known; on the axis that the question fixed before."""
    q, c = state.question, colours(ax)
    if q.kind == "choice":
        why = "a choice has no axis"
        raise ArgumentError(
            "PredictGate.plot()", why, "plot a question about a number or a curve, or save() the picture"
        )
    result = None if state.outcome is None else state.outcome.value
    if q.kind == "curve":
        if state.draft is not None:
            ax.plot(q.xs, state.draft, "--D", color=c["ink"], markerfacecolor=c["paper"], markersize=4, label="you")
        if result is not None:
            ax.plot(q.xs, result, color=c["blue"], linewidth=2.5, label="result")
        ax.set_ylim(min(q.low, *_finite(state)), max(q.high, *_finite(state)))
        ax.set_xlabel(q.x_label)
        ax.set_ylabel(q.y_label)
    else:
        if state.draft is not None:
            ax.plot([state.draft], [0], "D", color=c["ink"], markerfacecolor=c["paper"], label="you")
        if result is not None:
            ax.plot([result], [0], "o", color=c["blue"], label="result")
        numbers = [value for value in (state.draft, result) if value is not None]
        ax.set_xlim(min(q.low, *numbers, q.high), max(q.high, *numbers, q.low))
        ax.set_yticks([])
        ax.set_xlabel(q.unit)
    if ax.get_legend_handles_labels()[0]:
        ax.legend()
    ax.set_title(q.ask)
    return ax


def _finite(state: GateState) -> list[float]:
    drawn = [*(state.draft or ()), *(state.outcome.value if state.outcome is not None else ())]
    return [state.question.low, state.question.high, *(value for value in drawn if math.isfinite(value))]


# What a tip counted -----------------------------------------------------------------------------------------------


def counts(result: Result, ax: Any) -> Any:
    """For every claim that counts a number, or times, what A and B need, as a share of the larger."""
    c, labels, place = colours(ax), [], 0
    for judged in result.claims:
        fact, pair = judged.claim.fact, (judged.slow, judged.fast)
        if not all(type(value) in (int, float) for value in pair):  # an answer, or a time that was not taken
            continue
        largest = max(pair) or 1.0
        looks = ((c["paper"], c["grey"]), (c["blue"], c["blue"]))
        for letter, value, (face, edge) in zip(judged.letters, pair, looks, strict=True):
            ax.barh([place], [value / largest], color=face, edgecolor=edge, height=0.7)
            words = seconds_text(value) if fact == TIME else count_text(fact, value)
            labels.append(f"{context_text(judged.claim)}, {letter}: {words}")
            place += 1
    ax.set_yticks(range(len(labels)), labels)
    ax.invert_yaxis()
    ax.set_xlim(0, 1.05)
    ax.set_xlabel("share of the larger")
    ax.set_title(f"{result.slug}: {result.verdict}")
    return ax


# A loss that falls ------------------------------------------------------------------------------------------------


def losses(state: TrainingState, ax: Any) -> Any:
    """The loss by epoch. Every record has its mark; nan and ∞ have theirs above the frame."""
    found, c = list(state.series.get("loss", ())), colours(ax)
    line = [(at, value if math.isfinite(value) else math.nan) for at, value in found]
    ax.plot([at for at, _ in line], [y for _, y in line], color=c["blue"], marker=".", linewidth=1.9, label="loss")
    above = ax.get_xaxis_transform()  # x in epochs, y as a share of the height
    odd = [(number(value), at) for at, value in found if not math.isfinite(value)]
    for lane, sign in enumerate(dict.fromkeys(sign for sign, _ in odd)):
        y = 1.04 + 0.07 * lane
        at = [at for one, at in odd if one == sign]
        ax.plot(at, [y] * len(at), "|", color=c["vermilion"], transform=above, clip_on=False, label=sign)
        ax.text(-0.01, y, sign, color=c["vermilion"], transform=ax.transAxes, ha="right", va="center")
    ax.set_xlim(0, max(state.epochs, state.count, 1))
    ax.axhline(0.0, color=c["ink-2"], linewidth=0.75)  # the axis is not cut
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.set_xlabel(state.unit)
    ax.set_ylabel("loss")
    return ax


# What a playground learnt ------------------------------------------------------------------------------------------


def learnt(state: PlayState, ax: Any, what: str) -> Any:
    """The losses by step, or the accuracies: of test digits, and of training digits in grey."""
    points, c = [*state.glance.curve], colours(ax)
    if points[-1].step != state.glance.step:
        points.append(state.glance.now)
    for part, colour, width in (("training", c["grey"], 1.5), ("test", c["ink"], 2.5)):
        values = [getattr(point, f"{part}_{what}") for point in points]
        shown = [value if math.isfinite(value) else math.nan for value in values]
        ax.plot([point.step for point in points], shown, color=colour, linewidth=width, label=part)
    ax.set_xlim(0, max(state.glance.step, 1))
    if what == "accuracy":
        ax.set_ylim(0, 1)
    else:
        ax.axhline(0.0, color=c["ink-2"], linewidth=0.75)  # the axis is not cut
    ax.set_xlabel("step")
    ax.set_ylabel(what)
    ax.legend(frameon=False)
    return ax


# Peaks by number of segments --------------------------------------------------------------------------------------


def peaks(state: SliderState, ax: Any) -> Any:
    """The peak of each run in bars, by owner from the floor up, and what arithmetic predicts."""
    if not state.measured:
        why, mend = "nothing with cuts has been measured", "call predict(…) first"
        raise ArgumentError("CheckpointSlider.plot()", why, mend)
    c, at = colours(ax), [run.segments for run in state.runs]
    looks = {
        "parameters": {"color": c["blue"]}, "data": {"color": c["line-2"]}, "gradients": {"color": c["magenta"]},
        "kept": {"color": c["ochre"]}, "segment": {"color": c["wash-ochre"], "edgecolor": c["ochre"]},
        "workspace": {"color": c["paper"], "edgecolor": c["line-2"], "hatch": "\\\\\\"},
    }  # fmt: skip
    below = [0.0] * len(at)
    for place, owner in enumerate(OWNERS):
        heights = [run.owners[place] / 1e6 for run in state.runs]
        if any(heights):
            ax.bar(at, heights, width=0.72, bottom=below, label=owner, **looks[owner])
        below = [low + height for low, height in zip(below, heights, strict=True)]
    predicted = [expected(state, run).predicted / 1e6 for run in state.runs]
    ax.plot(at, predicted, "o-", color=c["grey"], markerfacecolor=c["paper"], markersize=4, label="arithmetic")
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.set_xlabel("segments")
    ax.set_ylabel("MB at the peak")
    ax.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    return ax


# Memory over the events of a run ----------------------------------------------------------------------------------

_LOOKS = {  # colour and hatch, as in the widget
    "parameter": ("blue", ""), "optimiser": ("violet", ""), "gradient": ("magenta", ""), "activation": ("ochre", ""),
    "data": ("line-2", ""), "temporary": ("paper", "///"), "workspace": ("paper", "\\\\\\"), "elsewhere": ("paper", ""),
}  # fmt: skip


def river(state: RiverState, ax: Any) -> Any:
    """The bytes of each owner when each event was fullest, stacked, in the unit of the widget's axis."""
    if not state.rivers:
        why, mend = "nothing is shown before a prediction", 'call predict("activation") first, or write shown=True'
        raise ArgumentError("MemoryRiver.plot()", why, mend)
    c, shown = colours(ax), state.river
    unit, size = memory_unit(state)
    edges = range(len(shown.events) + 1)
    floor = [0.0] * len(shown.events)
    for place, owner in enumerate(STACK):
        heights = [max(event.most[place], 0) / size for event in shown.events]
        if any(heights):
            colour, hatch = _LOOKS[owner]
            top = [low + height for low, height in zip(floor, heights, strict=True)]
            ax.stairs(
                top, edges, baseline=floor, fill=True, facecolor=c[colour], hatch=hatch,
                edgecolor=c["line-2"] if colour == "paper" else c["paper"], linewidth=0.6, label=LABELS[owner],
            )  # fmt: skip
            floor = top
    ax.set_xlim(0, len(shown.events))
    ax.set_ylim(bottom=0)
    ax.set_xlabel("events, one after the other")
    ax.set_ylabel(unit)
    ax.legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return ax
