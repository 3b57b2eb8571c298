"""PyTorch's older profiler: ``with torch.autograd.profiler.profile(use_cuda=True) as seen``."""

from __future__ import annotations

from typing import Any

from ....observe import profiler as _profiler
from ....observe.profiler import ProfilerActivity, record_function

__all__ = ["profile", "record_function"]


class profile(_profiler.profile):
    """`tinygrad_edu.profiler.profile`, with the older arguments."""

    def __init__(
        self, enabled: bool = True, *, use_cuda: bool = False, record_shapes: bool = False,
        profile_memory: bool = False, with_stack: bool = False, **ignored: Any,
    ) -> None:  # fmt: skip
        kinds = [ProfilerActivity.CPU, *[ProfilerActivity.CUDA] * use_cuda]
        super().__init__(activities=kinds, record_shapes=record_shapes, profile_memory=profile_memory,
            with_stack=with_stack)  # fmt: skip
