"""Widgets for notebooks: each shows one engine object in four ways: live, as a picture, as text, as data."""

from .buffer_map import BufferMap
from .graph_stepper import GraphStepper
from .guard_lens import GuardLens
from .predict_gate import PredictGate, export_predictions
from .training import TrainingMonitor

__all__ = ["BufferMap", "GraphStepper", "GuardLens", "PredictGate", "TrainingMonitor", "export_predictions"]
