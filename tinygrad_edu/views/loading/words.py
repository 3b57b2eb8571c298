"""A loader and its loop in words: who waits for whom, how long, and why; and the text twin."""

from __future__ import annotations

import os

from ...common.wording import number, plain, plural, seconds_text
from .model import SIZES, LoadingState, Run, Setting
from .training import BATCH, STEP

HIDDEN = "Who reads, and who waits, is drawn after you commit."
MEASURING = "The loop runs now, several times."
STALE = "The figure belongs to another setting. Commit to a prediction to run this one."
AT_A_BATCH = {"waits": "waits", "NumPy": "sorts numbers", "Python": "adds numbers in Python"}
NEAR = 1.1  # a pace that much slower than another is the slower one


def question(state: LoadingState) -> str:
    """The question to predict an answer to."""
    if state.ask:
        return state.ask
    if state.watched:
        return "Where does this loop wait for its batches?"
    setting = state.setting
    if state.own:
        return f"{who(setting)}. For which share of the time does the loop wait for a batch?"
    read = f"To read a batch takes about {2 * BATCH} ms, a step of training {STEP * 1e3:.0f} ms."
    return f"{read} {who(setting)}. For which share of the time does training wait?"


def who(setting: Setting) -> str:
    """``2 processes read 2 batches ahead each``."""
    if not setting.workers:
        return "The loop reads by itself"
    ahead = plural(setting.prefetch, "batch").replace("batchs", "batches")
    if setting.workers == 1:
        return f"1 {setting.kind} reads {ahead} ahead"
    return f"{setting.workers} {SIZES[setting.kind]} read {ahead} ahead each"


def lane(worker: int | None) -> str:
    """The name of a lane: workers are counted from 0, as get_worker_info does."""
    return "the loop" if worker is None else f"worker {worker}"


def share(value: float) -> str:
    """``45.6 %``."""
    return f"{number(100 * value)} %"


def spread(values: list[float], percent: bool = False) -> str:
    """``(2 750–2 770)``: the least and the greatest of a few runs; nothing for one."""
    if len(values) < 2:
        return ""
    least, most = (number(100 * one if percent else one) for one in (min(values), max(values)))
    return f"({least}–{most})" if least != most else ""


def verdict(state: LoadingState) -> str:
    """The share of the time for which training waited, and what was predicted."""
    run = state.run
    if run is None:
        return ""
    told = f"The loop waits for {share(run.stalled)} of the time"
    runs = [one.stalled for one in state.runs]
    told += f" {spread(runs, percent=True)}".rstrip()
    if state.said is None or not state.asked or state.outdated:
        return f"{told}."
    return f"{told}; you said {state.said} %."


def figures(run: Run) -> str:
    """The paces behind it."""
    told = f"a worker takes {seconds_text(run.per_batch)} (median) for a batch"
    if run.workers == 0:
        told = f"reading a batch takes {seconds_text(run.per_batch)}"
    elif run.workers > 1 and run.every:
        told += f", all together finish one every {seconds_text(run.every)} (mean)"
    return f"{told}; the loop uses each for {seconds_text(run.per_step)}."


REASONS = {
    "workers start and end": "Each epoch **starts its workers anew**, and waits until they are there.",
    "the first batch of an epoch": "The queue keeps up: only **the first batch of an epoch** was not read ahead.",
    "batches are read": "The loop is done with a batch before the next one is read: **reading sets the pace**.",
    "another batch came first": "Batches are given **in their order**: later ones lie ready while a slow one is read.",
}


def why(state: LoadingState) -> str:
    """The cause of most of the waiting, in one sentence."""
    if state.reason:
        return state.reason
    run, setting = state.run, state.done
    if run is None or setting is None or state.outdated:
        if not state.setting.workers:
            return "The loop reads by itself, so it **trains only between two reads**."
        return "A worker reads the next batches **while the loop trains**."
    if not run.workers:
        return "Nobody reads while the loop trains, so the time of a batch and the time of a step **add up**."
    example = not (state.own or state.watched)
    if example and setting.kind == "thread" and setting.cost == "Python":
        step = f"a step takes {seconds_text(run.per_step)} instead of {STEP * 1e3:.0f}"
        told = step if run.per_step > 1.15 * STEP else "several read no faster than one"
        return f"Python's lock lets **one thread at a time** run, a worker or the loop: {told}."
    cause = max(run.causes, key=run.causes.__getitem__)
    cores = os.cpu_count() or 1
    if example and run.workers > cores and setting.cost != "waits" and run.rate < state.alone:
        return f"Workers that compute **share the cores**, {cores} here: this is slower than a loop without workers."
    if cause == "workers start and end" and not all(one.starts for one in run.passes):
        return "The workers **start once**, in the first epoch; later ones find them ready."
    return REASONS[cause]


def best(run: Run) -> float:
    """Samples in a second if the loop never waited, and each step were as quick as the quickest."""
    batches = sum(len(one.pieces) for one in run.passes)
    return run.samples / batches / run.quickest_step if run.quickest_step and batches else 0.0


def conditions(state: LoadingState) -> str:
    """How the figures came about."""
    if not state.runs:
        return "a loop of 2 epochs runs here when you commit"
    run = state.runs[0]
    batches = sum(len(one.pieces) for one in run.passes)
    told = f"{plural(len(run.passes), 'epoch')}, {batches} batches in all"
    runs = (
        "" if len(state.runs) == 1 else f" · {len(state.runs)} runs after an epoch that does not count, least and most"
    )
    return f"{named(state.done or state.setting)} · {told}{runs} · {state.conditions}"


def named(setting: Setting) -> str:
    """The setting in the names of `DataLoader`."""
    if not setting.workers:
        return "num_workers=0"
    told = f"num_workers={setting.workers}, prefetch_factor={setting.prefetch}, persistent_workers={setting.kept}"
    return told + ', worker="thread"' * (setting.kind == "thread")


def describe(state: LoadingState) -> str:
    """The one fact."""
    run = state.run
    if run is None:
        return f"{who(state.setting)}. {HIDDEN}"
    return f"{verdict(state)} {figures(run)[:1].upper()}{figures(run)[1:]}"


def summary(state: LoadingState) -> str:
    """In place of the text in a saved notebook, where times would differ."""
    if not state.runs:
        return ""
    return f"LoaderGantt: {plain(question(state))}\n{who(state.done or state.setting)}: measured."


def text(state: LoadingState) -> str:
    """Every value of the picture."""
    told = [f"LoaderGantt: {plain(question(state))}"]
    if not state.watched:
        kept = "kept" if state.setting.kept else "started for each epoch"
        told.append(f"set: {who(state.setting)}{f', {kept}' if state.setting.workers else ''}")
        if not state.own:
            told.append(f"a sample {AT_A_BATCH[state.setting.cost]}")
    run = state.run
    if run is None:
        told += [f"you: {state.draft} %, not committed", HIDDEN]
    else:
        if state.outdated:
            told.append(STALE)
        rates = [one.rate for one in state.runs]
        rate = f"{number(run.rate)} {spread(rates)}".strip()
        told += [
            verdict(state), figures(run), f"samples a second: {rate}, {number(best(run))} if the loop never waited",
            *([f"without workers: {number(state.alone)} samples a second"] if state.alone else []),
            f"waited because {causes(run)}",
            f"batches that lay ready: {run.most_ready} at most", *_passes(run),
        ]  # fmt: skip
    return "\n".join([*told, *([f"▲ {state.message}"] if state.message else [])])


def causes(run: Run) -> str:
    """How long the loop waited for what; what took less than a tenth of a millisecond is left out."""
    found = [f"{cause}: {seconds_text(took)}" for cause, took in run.causes.items() if took > 1e-4]
    return ", ".join(found) or "of nothing in particular"


def _passes(run: Run) -> list[str]:
    told = []
    for epoch, one in enumerate(run.passes, 1):
        told.append(f"epoch {epoch}, from {at(one.begin)} to {at(one.end)}:")
        told += [f"  {lane(worker)} starts: ready at {at(ready)}" for worker, _, ready in one.starts]
        told.append(
            f"  asked for the first batches by {at(one.opened)}; the last one was used until {at(one.pieces[-1].until)}"
        )
        for piece in one.pieces:
            read = f"read {at(piece.began)}–{at(piece.read)}, joined by {at(piece.joined)}"
            waited = piece.taken - piece.wanted
            used = f"waited for {seconds_text(waited)}, used until {at(piece.until)}"
            told.append(f"  batch {piece.number}, {lane(piece.worker)}: {read}; {used}")
    return told


def at(time: float) -> str:
    """A moment, in milliseconds."""
    return f"{time * 1e3:.1f} ms"
