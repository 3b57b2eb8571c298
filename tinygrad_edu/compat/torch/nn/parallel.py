"""PyTorch's path to models on several devices and workers."""

from __future__ import annotations

from typing import Any

from ....distributed import DistributedDataParallel
from ....nn import Module

__all__ = ["DataParallel", "DistributedDataParallel"]


class DataParallel(Module):
    """The module itself, as with one device in PyTorch: ``model.module`` is what was wrapped."""

    def __init__(self, module: Module, device_ids: Any = None, output_device: Any = None, dim: int = 0) -> None:
        super().__init__()
        self.module = module

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.module(*args, **kwargs)
