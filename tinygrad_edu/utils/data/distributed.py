"""PyTorch's path to the sampler of `tinygrad_edu.distributed`."""

from ...distributed import DistributedSampler

__all__ = ["DistributedSampler"]
