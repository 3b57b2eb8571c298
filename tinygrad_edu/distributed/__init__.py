"""Training on several workers, by PyTorch's names. A worker is a thread (`run`), a process of a notebook's
(`engines`), or a program of its own (`init_process_group`).

>>> import tinygrad_edu as tg
>>> from tinygrad_edu import distributed as dist
>>> x, y = tg.randn(64, 3), tg.randn(64, 1)
>>> def train():
...     model = dist.DistributedDataParallel(tg.nn.Linear(3, 1))
...     mine = slice(dist.get_rank(), None, dist.get_world_size())
...     tg.nn.functional.mse_loss(model(x[mine]), y[mine]).backward()
...     return model.module.weight.grad
>>> first, second = dist.run(train, 2)
>>> bool((first == second).all())
True
"""

from ..common.rings import ring_seconds
from .functions import (
    ReduceOp,
    all_gather,
    all_gather_object,
    all_reduce,
    barrier,
    broadcast,
    destroy_process_group,
    get_rank,
    get_world_size,
    init_process_group,
    is_initialized,
    new_secret,
    run,
    share,
)
from .notebook import Engines, engines
from .parallel import DistributedDataParallel
from .sampler import DistributedSampler

__all__ = [
    "DistributedDataParallel", "DistributedSampler", "Engines", "ReduceOp", "all_gather", "all_gather_object",
    "all_reduce", "barrier", "broadcast", "destroy_process_group", "engines", "get_rank", "get_world_size",
    "init_process_group", "is_initialized", "new_secret", "ring_seconds", "run", "share",
]  # fmt: skip
