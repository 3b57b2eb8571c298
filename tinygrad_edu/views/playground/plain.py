"""A playground as nothing but numbers and texts, for programs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from .model import METERS, PlayState


def data(state: PlayState, acts: Iterable[Any]) -> dict[str, Any]:
    """Knobs, habits, acts, curves, meters and verdicts."""
    glance = state.glance
    change = glance.change
    return {
        "knobs": asdict(glance.knobs),
        "habits": list(glance.habits),
        "acts": [list(act) for act in acts],
        "step": glance.step,
        "passes": glance.passes,
        "playing": state.playing,
        "curve": [asdict(point) for point in glance.curve],
        "before": [asdict(point) for point in glance.before],
        "misread": [{"place": one.place, "read": one.read, "truth": one.truth} for one in glance.misread],
        "wrong": glance.wrong,
        "gradients": list(glance.gradients),
        "meters": asdict(glance.reading),
        "was": None if change is None else asdict(change.was),
        "switched": None if change is None else {"habit": change.habit, "on": change.on, "step": change.step},
        "ratios": {meter: state.ratio(meter) for meter in METERS},
        "zones": {meter: state.zone(meter) or None for meter in METERS},
        "compared": None if glance.compared is None else asdict(glance.compared),
        "predicted": {habit: dict(said) for habit, said in state.said.items()},
        "verdicts": {habit: list(found) for habit, found in state.verdicts.items()},
    }
