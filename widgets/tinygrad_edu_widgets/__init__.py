"""Widgets for notebooks: each shows one engine object in four ways: live, as a picture, as text, as data."""

from typing import Any

from .advice_report import AdviceReport
from .behind import Behind
from .broadcast_lab import BroadcastLab
from .buffer_map import BufferMap
from .checkpoint_slider import CheckpointSlider
from .fusion_builder import FusionBuilder
from .graph_stepper import GraphStepper
from .guard_lens import GuardLens
from .loader_gantt import LoaderGantt
from .memory_river import MemoryRiver
from .playground import Playground
from .precision_ruler import PrecisionRuler
from .predict_gate import PredictGate, export_predictions
from .promotion_tracer import PromotionTracer
from .queue_timeline import QueueTimeline
from .retrace_ledger import RetraceLedger
from .roofline import Roofline
from .timing_race import TimingRace
from .tip_browser import TipBrowser, show_tip
from .training_monitor import TrainingMonitor

__all__ = [
    "AdviceReport", "Behind", "BroadcastLab", "BufferMap", "CheckpointSlider", "FusionBuilder", "GraphStepper",
    "GuardLens", "LoaderGantt", "MemoryRiver", "Playground", "PrecisionRuler", "PredictGate", "PromotionTracer",
    "QueueTimeline", "RetraceLedger", "Roofline", "TimingRace", "TipBrowser", "TrainingMonitor", "export_predictions",
    "show_tip",
]  # fmt: skip


def load_ipython_extension(shell: Any) -> None:
    """Run by ``%load_ext tinygrad_edu_widgets``.

    Adds ``%%advise``, ``%%dtypes``, ``%%loader``, ``%%memory``, ``%%program``, ``%%race`` and ``%%timeline``.
    """
    from .advice_magic import AdviceMagics
    from .dtypes_magic import DtypesMagics
    from .loader_magic import LoaderMagics
    from .memory_magic import MemoryMagics
    from .program_magic import ProgramMagics
    from .race_magic import RaceMagics
    from .timeline_magic import TimelineMagics

    shell.register_magics(AdviceMagics)
    shell.register_magics(DtypesMagics)
    shell.register_magics(LoaderMagics)
    shell.register_magics(MemoryMagics)
    shell.register_magics(ProgramMagics)
    shell.register_magics(RaceMagics)
    shell.register_magics(TimelineMagics)
