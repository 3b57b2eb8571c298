"""PyTorch's path to models on several devices and workers."""

from ....distributed import DistributedDataParallel
from . import DataParallel

__all__ = ["DataParallel", "DistributedDataParallel"]
