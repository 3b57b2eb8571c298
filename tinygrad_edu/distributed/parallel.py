"""`DistributedDataParallel`: a model on every worker, whose gradients are averaged while backward still runs."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np

from ..common.blocks import block
from ..common.wording import listed
from ..errors import ArgumentError, WorkerError
from ..nn import Module
from ..nn.utils.convert_parameters import parameters_to_vector, vector_to_parameters
from ..settings import no_grad
from ..tensor import Tensor, from_numpy
from .functions import broadcast, group, offer
from .meeting import ON_DEVICES


class _Bucket:
    """Parameters whose gradients travel together, as one array."""

    def __init__(self, parameters: list[Tensor], joins: bool) -> None:
        self.parameters, self.joins = parameters, joins
        self.vector: Tensor | None = None  # of the gradients, on their device
        self.offer: Any = None
        self.missing = {id(p) for p in parameters}
        self.sum: Future[np.ndarray[Any, Any]] | None = None  # under way, or there

    def gradients(self) -> Any:
        """Those of all parameters as one array; where they go from device to device, as an offer of their device."""
        if not self.joins:
            return np.concatenate([p.grad.numpy(force=True).reshape(-1) for p in self.parameters])
        with no_grad():
            self.vector = parameters_to_vector([p.grad for p in self.parameters])
        self.offer = offer(self.vector, "all-reduce")
        return self.offer

    def put(self, average: np.ndarray[Any, Any]) -> None:
        """Write their average into the gradients."""
        vector = self.vector
        if vector is None:
            vector = from_numpy(average)
        else:
            self.offer.receive(average)
        vector_to_parameters(vector, [p.grad for p in self.parameters])


class DistributedDataParallel(Module):
    """``model`` of this worker, kept equal to those of the others: gradients are averages over all workers.

    At the start every model becomes that of worker 0. In backward, gradients are collected in buckets of
    ``bucket_cap_mb`` megabytes, in the order in which they come, the last layers first. A full one is averaged over
    the workers while backward goes on; it ends when all are. Then each worker takes the same step. The average is that
    of one large batch if all workers have as many samples; else multiply each loss by `distributed.share`.

    ``reduced`` are the bytes of gradients that were averaged, ``reducing`` the seconds that took, and ``waited`` those
    of them in which backward had nothing else to do.

    Raises `WorkerError` where models differ in their parameters, where a worker is gone, and in the next forward if a
    parameter had no gradient: then the workers would wait for each other for ever. No parameter is changed by then.
    """

    def __init__(
        self, module: Module, device_ids: Any = None, output_device: Any = None, dim: int = 0,
        broadcast_buffers: bool = True, process_group: Any = None, bucket_cap_mb: float = 25.0,
        find_unused_parameters: bool = False,
    ) -> None:  # fmt: skip
        super().__init__()
        if find_unused_parameters:
            why, mend = "workers could not agree on what is missing", "freeze what is not used: requires_grad_(False)"
            raise ArgumentError("DistributedDataParallel(find_unused_parameters=True)", why, mend)
        if process_group is not None or not bucket_cap_mb > 0:
            why, mend = "it takes the group of this worker, and buckets above 0 MB", "leave these out"
            raise ArgumentError("DistributedDataParallel(process_group=…, bucket_cap_mb=…)", why, mend)
        self.module = module
        self.broadcast_buffers, self.reduced, self.reducing, self.waited = broadcast_buffers, 0, 0.0, 0.0
        self._group, self._syncs = group(), True
        self._pool: ThreadPoolExecutor | None = None  # while averages are under way
        self._agree()
        wanted = [p for p in module.parameters() if p.requires_grad]
        self._sizes = _buckets(wanted[::-1], bucket_cap_mb * 1e6)
        self._begin()
        for place, parameters in enumerate(self._sizes):
            for p in parameters:
                p.register_post_accumulate_grad_hook(partial(self._ready, place))

    def _agree(self) -> None:
        """Take the numbers of worker 0, once the models are known to have the same parameters."""
        mine = [(name, tuple(p.shape), str(p.dtype)) for name, p in self.module.named_parameters()]
        for rank, theirs in enumerate(self._group.meet("gather", mine)):
            if theirs != mine:
                differ = [a[0] for a, b in zip(mine, theirs, strict=False) if a != b] or ["their number"]
                why = f"that of worker {rank} has other parameters than that of worker {self._group.rank}: {differ[0]}"
                raise WorkerError("DistributedDataParallel of a model", why, "make the same model on every worker")
        for tensor in (*self.module.parameters(), *self.module.buffers()):
            broadcast(tensor)

    def _begin(self) -> None:
        self._buckets = [_Bucket(parameters, self._group.joins(parameters[0])) for parameters in self._sizes]
        self._next = 0  # the first one that is not on its way: all workers send them in this order

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the model gives. Buffers, such as running means, are those of worker 0 before."""
        unfinished = [p for bucket in self._buckets for p in bucket.parameters if id(p) in bucket.missing]
        if unfinished and any(len(bucket.missing) < len(bucket.parameters) for bucket in self._buckets):
            names = [name for name, p in self.module.named_parameters() if any(p is one for one in unfinished)]
            why = f"the last backward gave no gradient to {listed(names[:3])}"
            mend = "use every parameter in the loss, or freeze it: p.requires_grad_(False)"
            self._group.leave("one of its parameters had no gradient")  # or the others would wait for it
            self._stop()
            raise WorkerError("forward of DistributedDataParallel", why, mend)
        if self.broadcast_buffers and self.training:
            for buffer in self.module.buffers():
                broadcast(buffer)
        return self.module(*args, **kwargs)

    @block
    def no_sync(self) -> Iterator[None]:
        """In this block each worker adds up its gradients. The first backward after it averages them all."""
        before, self._syncs = self._syncs, False
        try:
            yield
        finally:
            self._syncs = before

    # Gradients -----------------------------------------------------------------------------------------------------

    def _ready(self, place: int, parameter: Tensor) -> None:
        """A gradient has come. Full buckets go, in order; with the last one, all must have come back."""
        if not self._syncs:
            return
        self._buckets[place].missing.discard(id(parameter))
        while self._next < len(self._buckets) and not self._buckets[self._next].missing:
            bucket = self._buckets[self._next]
            self._pool = self._pool or ThreadPoolExecutor(1, thread_name_prefix="averages")
            bucket.sum = self._pool.submit(self._average, bucket.gradients(), ON_DEVICES if bucket.joins else "")
            self._next += 1
        if self._next == len(self._buckets):
            self._end()

    def _stop(self) -> None:
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None

    def _average(self, gradients: Any, where: str) -> np.ndarray[Any, Any]:
        began = time.perf_counter()
        found = self._group.mean(gradients, where)
        self.reducing += time.perf_counter() - began
        self.reduced += found.nbytes
        return found

    def _end(self) -> None:
        buckets = self._buckets
        self._begin()  # whatever happens, the next backward starts anew
        began = time.perf_counter()
        try:
            averages = [bucket.sum.result() for bucket in buckets if bucket.sum is not None]  # before any is written
        finally:
            self._stop()
        self.waited += time.perf_counter() - began
        for bucket, average in zip(buckets, averages, strict=True):
            bucket.put(average)


def _buckets(parameters: list[Tensor], most: float) -> list[list[Tensor]]:
    """The parameters in order, in parts of no more bytes, each of one dtype and device; a large one is by itself."""
    parts: list[list[Tensor]] = []
    size = 0.0
    for p in parameters:
        if not parts or size + p.nbytes > most or (parts[-1][0].dtype, parts[-1][0].device) != (p.dtype, p.device):
            parts.append([])
            size = 0.0
        parts[-1].append(p)
        size += p.nbytes
    return parts
