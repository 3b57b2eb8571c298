"""How long each operation takes, forward and backward, with PyTorch's interface: `profile` and its tables."""

from .events import Average, Averages, Event
from .profile import profile, record_function, tensorboard_trace_handler
from .schedules import ProfilerAction, ProfilerActivity, schedule, supported_activities

__all__ = [
    "Average", "Averages", "Event", "ProfilerAction", "ProfilerActivity", "profile", "record_function", "schedule",
    "supported_activities", "tensorboard_trace_handler",
]  # fmt: skip
