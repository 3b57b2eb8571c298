"""Junk handed to every argument of every widget: it is taken, or refused by an error of ours that names the argument.

Nothing fails from deep inside, and what is taken can be drawn. Its sister, for the library, is tests/test_junk.py.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tinygrad_edu_widgets import (
    AdviceReport,
    BroadcastLab,
    BufferMap,
    CheckpointSlider,
    FusionBuilder,
    GraphStepper,
    GuardLens,
    LoaderGantt,
    MemoryRiver,
    Playground,
    PrecisionRuler,
    PredictGate,
    PromotionTracer,
    QueueTimeline,
    RetraceLedger,
    Roofline,
    TimingRace,
    TipBrowser,
    TrainingMonitor,
    export_predictions,
    show_tip,
)
from tinygrad_edu_widgets.base import EduWidget
from tinygrad_edu_widgets.registry import WIDGETS

import tinygrad_edu as tg
from tests.test_junk import JUNK
from tinygrad_edu.common.wording import shown
from tinygrad_edu.errors import EduError
from tinygrad_edu.tips.advice import Report

KINDS: dict[str, Callable[[], Any]] = {
    **JUNK, "empty text": str, "zero": lambda: 0, "infinite": lambda: float("inf"), "complex": lambda: 1j,
    "mixed tuple": lambda: (1, "a", None), "descending": lambda: [3, 2, 1], "flags": lambda: [True, False],
    "ragged": lambda: [[1.0], [1.0, 2.0]], "set": lambda: {1}, "whole array": lambda: np.arange(4),
}  # fmt: skip


def total(x: tg.Tensor, w: tg.Tensor) -> tg.Tensor:
    return (x * w).sum()


def stepper(function: Any, **given: Any) -> GraphStepper:
    return GraphStepper(function, **given)


def gate() -> PredictGate:
    return PredictGate("How many?", lambda: 3, high=10)


def curve() -> PredictGate:
    return PredictGate("How high?", lambda: [1, 2], xs=[0, 1])


def choice() -> PredictGate:
    return PredictGate("Which?", lambda: "a", choices=["a", "b"])


def race() -> TimingRace:
    return TimingRace(abs, int, sizes=(1, 2), budget=0.001)


def slider() -> CheckpointSlider:
    return CheckpointSlider([tg.nn.Linear(2, 2), tg.tanh, tg.nn.Linear(2, 2)], tg.ones(1, 2))


def rivers() -> MemoryRiver:
    return MemoryRiver(lambda: tg.ones(3) * 2)


def logged(**record: Any) -> TrainingMonitor:
    monitor = TrainingMonitor(3)
    monitor.log(**record)
    return monitor


# Each callable, and arguments that fit. One at a time is replaced by junk.
CALLS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "GraphStepper": (stepper, {"function": total, "x": 2.0, "w": 3.0, "ask": "?", "step": 1}),
    "GraphStepper.forward": (lambda by: GraphStepper(total, 2.0, 3.0).forward(by), {"by": 1}),
    "GraphStepper.back": (lambda by: GraphStepper(total, 2.0, 3.0).back(by), {"by": 1}),
    "BroadcastLab": (BroadcastLab, {"a": (3, 1), "b": (1, 4), "op": "+", "predict": False}),
    "BufferMap": (BufferMap, {"x": np.arange(3.0), "ask": "?", "labels": {"x": "arange(3.)"}}),
    "TrainingMonitor": (TrainingMonitor, {"epochs": 3, "ask": "?", "unit": "step"}),
    "TrainingMonitor.log": (logged, {"loss": 1.0, "accuracy": 0.5, "lr": 0.1, "epoch": 1}),
    "CheckpointSlider": (CheckpointSlider, {
        "model": [tg.nn.Linear(2, 2), tg.tanh], "x": tg.ones(1, 2), "loss": tg.sum, "ask": "?", "why": "",
        "predict": True, "budget": 0.01,
    }),
    "GuardLens": (GuardLens, {"code": "a = np.ones(2)", "ask": "?", "guard": "on"}),
    "MemoryRiver": (MemoryRiver, {
        "run": list, "other": dict, "names": ("a", "b"), "ask": "?", "shown": False,
    }),
    "QueueTimeline": (QueueTimeline, {
        "run": list, "other": dict, "names": ("a", "b"), "ask": "?", "knobs": {}, "machine": "T4", "shown": False,
    }),
    "Roofline": (Roofline, {"run": list, "ask": "?", "machine": "T4", "shown": False}),
    "FusionBuilder": (FusionBuilder, {"ask": "?"}),
    "AdviceReport": (AdviceReport, {"report": Report(), "ask": "?"}),
    "LoaderGantt": (LoaderGantt, {"dataset": range(8), "step": len, "batch_size": 2, "workers": 0, "ask": "?"}),
    "RetraceLedger": (RetraceLedger, {"function": abs, "calls": [(1,)], "ask": "?"}),
    "PrecisionRuler": (PrecisionRuler, {
        "numbers": np.arange(3.0), "step": list, "lr": 0.1, "ask": "?", "format": "int8",
    }),
    "PromotionTracer": (PromotionTracer, {"run": list, "ask": "?", "table": "numpy"}),
    "PredictGate": (
        PredictGate, {"ask": "?", "reveal": list, "why": "", "about": (), "low": 0, "high": 1, "unit": "s"}
    ),
    "PredictGate, choices": (PredictGate, {"ask": "?", "reveal": list, "choices": ["a", "b"]}),
    "PredictGate, a curve": (
        PredictGate, {"ask": "?", "reveal": list, "xs": [0, 1], "x_label": "x", "y_label": "y", "low": 0, "high": 1}
    ),
    "TimingRace": (TimingRace, {
        "slow": abs, "fast": int, "sizes": (1, 2), "make": int, "ask": "?", "why": "", "names": ("a", "b"),
        "fresh": False, "budget": 0.001,
    }),
    "TimingRace, a size": (TimingRace, {"slow": abs, "fast": int, "n": 2, "sizes": range(1, 3)}),
    "Playground": (Playground, {
        "seed": 0, "ask": "?", "predict": True, "pace": 10, "learning_rate": 0.3, "width": 8, "depth": 1,
        "activation": "relu", "batch": 8, "optimiser": "SGD", "noise": 0.1, "acts": [(0, "flip", "zeros", True)],
    }),
    "Playground.flip": (lambda **given: Playground().flip(**given), {"habit": "zeros", "on": True}),
    "Playground.set": (lambda **given: Playground().set(**given), {"lr": 0.1, "batch": 8, "width": 8}),
    "Playground.predict": (lambda **given: Playground().predict(**given), {"habit": "zeros", "time": "up"}),
    "Playground.run": (lambda steps: Playground().run(steps), {"steps": 2}),
    "Playground.replay": (lambda acts, until: Playground().replay(acts, until), {"acts": [], "until": 2}),
    "TipBrowser": (TipBrowser, {"slug": "in-place", "alone": True, "setting": {"n": 1000}}),
    "show_tip": (show_tip, {"slug": "in-place"}),
    "export_predictions": (export_predictions, {"path": "mine.json"}),
    "act": (lambda act: gate().act(act), {"act": "reset"}),
    "present": (lambda on, code: gate().present(on, code=code), {"on": True, "code": False}),
    "save": (lambda path, **given: gate().save(path, **given), {"path": "gate.svg", "width": 800, "theme": "dark"}),
    "wait": (lambda seconds: gate().wait(seconds), {"seconds": 1}),
}  # fmt: skip
PLACES = [(name, argument) for name, (_, given) in CALLS.items() for argument in given]


def show(made: Any) -> None:
    if isinstance(made, EduWidget):
        made._framed()
        assert made.html and made.svg() and made.text() and made.to_html()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("name", "argument"), PLACES)
def test_junk_is_taken_or_refused_by_the_name_of_the_argument(
    name: str, argument: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    call, given = CALLS[name]
    junk = KINDS[kind]()
    try:
        show(call(**{**given, argument: junk}))
    except EduError as error:
        said = (argument, shown(junk, 40), "GraphStepper(" if argument == "function" else argument)
        said += ("n",) if "sizes" in given and "n" in given else ()
        assert any(words in error.tried for words in said), str(error)
    except KeyError:
        assert name == "act"  # as documented
    except OSError:
        assert name == "export_predictions"  # such as an empty path
    except TypeError as error:  # a function of ours that was given instead, called with its own arguments
        assert argument in ("function", "reveal"), error


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("make", [gate, curve, choice, race, rivers, slider, lambda: TipBrowser("in-place")])
def test_a_prediction_of_junk_is_taken_or_refused_in_the_picture(make: Callable[[], Any], kind: str) -> None:
    widget = make()
    widget.predict(KINDS[kind]())
    widget.wait()
    show(widget)
    said = [line for line in widget.text().splitlines() if line.startswith("▲")]
    refused = "▲ (the prediction|segments = |a (predicted )?curve|The result could not|The results differ)"
    assert all(re.match(refused, s) for s in said)
    json.dumps(export_predictions())


def test_every_widget_is_given_junk() -> None:
    assert {one.name for one in WIDGETS} == {name for name in CALLS if name[0].isupper() and name.isalpha()}
