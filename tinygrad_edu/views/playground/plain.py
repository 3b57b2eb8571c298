"""A playground as nothing but numbers and texts, for programs."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from .model import PlayState


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
        "machine": glance.machine or None,
        "meters": asdict(glance.reading),
        "was": None if change is None else asdict(change.was),
        "switched": None if change is None else {"habit": change.habit, "on": change.on, "step": change.step},
        "ratios": {meter: _finite(state.ratio(meter)) for meter in glance.knobs.meters},
        "zones": {meter: state.zone(meter) or None for meter in glance.knobs.meters},
        "compared": None if glance.compared is None else asdict(glance.compared),
        "predicted": {habit: dict(said) for habit, said in state.said.items()},
        "verdicts": {habit: list(found) for habit, found in state.verdicts.items()},
    }


def _finite(ratio: float | None) -> float | None:
    """None where a meter rises from 0: that is no number of times."""
    return ratio if ratio is None or math.isfinite(ratio) else None
