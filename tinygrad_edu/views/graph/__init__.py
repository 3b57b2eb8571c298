"""One recorded run, forward and backward, step by step."""

from .cards import first_closed, module_calls, outermost
from .drawing import Picture
from .figure import Walk, frame, reel
from .leaves import free_names, leaves_of
from .model import GraphRun, GraphState, Moment, Preview, Recording, moment, record, recording
from .tracks import steps_of
from .witness import Witness
from .words import describe, position, stale_sentence, text, why

__all__ = [
    "GraphRun", "GraphState", "Moment", "Picture", "Preview", "Recording", "Walk", "Witness", "describe",
    "first_closed", "frame", "free_names", "leaves_of", "module_calls", "moment", "outermost", "position", "record",
    "recording", "reel", "stale_sentence", "steps_of", "text", "why",
]  # fmt: skip
