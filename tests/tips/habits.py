"""Programs with one planted habit each, by the tip that mends it, and programs without any."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import tinygrad_edu as tg
from tinygrad_edu import nn, optim
from tinygrad_edu.data import Chores, DataLoader, TensorDataset
from tinygrad_edu.errors import OutOfMemoryError
from tinygrad_edu.nn import functional as F
from tinygrad_edu.optim import SGD

Program = Callable[[], Any]
DEVICE = "cpu"  # of the data


def digits_like(rows: int = 64) -> tuple[tg.Tensor, tg.Tensor]:
    x = tg.randn(rows, 16, generator=tg.Generator().manual_seed(0), device="cpu").to(DEVICE)
    return x, (x[:, 0] > 0).long()


def network(*, device: str = "", width: int = 32) -> nn.Module:
    tg.manual_seed(0)
    return nn.Sequential(nn.Linear(16, width), nn.ReLU(), nn.Linear(width, 2)).to(device or DEVICE)


def vectorise() -> None:
    x, _ = digits_like()
    model = network().eval()
    with tg.no_grad():
        tg.stack([model(x[i]) for i in range(len(x))])


def broadcasting() -> None:
    x, mean = tg.rand(200, 50), tg.rand(50)
    tg.stack([row - mean for row in (x[i] for i in range(200))])


def vectorise_loss() -> None:
    x, y = digits_like()
    out = network()(x)
    sum(F.cross_entropy(out[i], y[i]) for i in range(len(y))).backward()


def batched_matmul() -> None:
    a, b = tg.rand(32, 8, 8), tg.rand(32, 8, 8)
    tg.stack([a[i] @ b[i] for i in range(32)])


def fused_linear() -> None:
    x, w, b = tg.rand(64, 32), tg.rand(32, 32), tg.rand(32)
    for _ in range(10):
        x = (x @ w + b).relu()
        x = x / x.max()


def fast_activation() -> None:
    x = tg.randn(1000)
    for _ in range(10):
        x = x * x.sigmoid()


def efficient_attention() -> None:
    q, k, v = (tg.randn(2, 300, 16) for _ in range(3))
    ((q @ k.transpose(-2, -1)) / 4.0).softmax(-1) @ v


def flatten_to_2d() -> None:
    x, w = tg.rand(8, 20, 32), tg.rand(32, 16)
    (x.unsqueeze(-1) * w).sum(2)


def fold_batch_norm() -> None:
    model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU()).eval()
    with tg.no_grad():
        for _ in range(8):
            model(tg.rand(2, 1, 8, 8))


def batch_the_stream() -> None:
    model = network().eval()
    with tg.no_grad():
        for _ in range(100):
            model(tg.rand(1, 16))


def no_grad() -> None:
    model = network().eval()
    for _ in range(10):
        model(tg.rand(64, 16)).argmax(1)


def keep_the_number() -> None:
    x, y = digits_like()
    model = network()
    optimizer, total = SGD(model.parameters(), lr=0.1), tg.tensor(0.0)
    for _ in range(10):
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total = total + loss


def train(model: nn.Module, x: tg.Tensor, y: tg.Tensor, *, steps: int = 10, to_none: bool = True) -> None:
    optimizer = SGD(model.parameters(), lr=0.1)
    for _ in range(steps):
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=to_none)


def zero_grad() -> None:
    train(network(), *digits_like(), to_none=False)


def debug_aids() -> None:
    with tg.autograd.detect_anomaly():
        train(network(), *digits_like(), steps=60)


def spurious_promotion() -> None:
    x = tg.tensor(np.random.default_rng(0).normal(size=(64, 16)))  # float64, as NumPy makes it
    w = tg.rand(64, 16)
    x * w


def loss_scaling() -> None:
    x, w = tg.randn(4096, 32), tg.zeros(32, 32, requires_grad=True)
    y = x @ (tg.randn(32, 32) * 1e-5)
    optimizer = SGD([w], lr=1.0)
    for _ in range(3):
        with tg.autocast("cpu", dtype=tg.float16):
            loss = F.mse_loss(x @ w, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def mixed_precision() -> None:
    model = nn.Sequential(nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 2)).to("sim")
    x = tg.randn(4096, 512, device="sim")
    y = (x[:, 0] > 0).long()
    train(model, x, y, steps=2)
    tg.sim.synchronize()


def avoid_transfers() -> None:
    x, y = digits_like(512)
    model = network(device="sim")
    optimizer = SGD(model.parameters(), lr=0.1)
    for _ in range(8):
        F.cross_entropy(model(x.to("sim")), y.to("sim")).backward()
        optimizer.step()
        optimizer.zero_grad()


def allocate_on_device() -> None:
    for _ in range(10):
        mask = tg.zeros(1000).to("sim")
        mask + 1


def pinned_memory() -> None:
    x, y = tg.randn(1024, 64), tg.zeros(1024).long()
    model = nn.Linear(64, 4096).to("sim")
    for data, target in DataLoader(TensorDataset(x, y), batch_size=64):
        F.cross_entropy(model(data.to("sim")), target.to("sim")).backward()


def async_dispatch() -> None:
    x, y = (one.to("sim") for one in digits_like(512))
    model, losses = network(device="sim"), []
    optimizer = SGD(model.parameters(), lr=0.1)
    for _ in range(20):
        loss = F.cross_entropy(model(x), y)
        losses.append(loss.item())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def scalar_indexing() -> None:
    x, total = tg.rand(100, device="sim"), 0.0
    for i in range(100):
        total += float(x[i])


def empty_cache() -> None:
    x = tg.rand(10_000_000, device="sim")
    for _ in range(6):
        (x * 2).sum()
        tg.accelerator.empty_cache()


def launch_bound() -> None:
    x = tg.rand(10, device="sim")
    for _ in range(100):
        x = x * 1.01


def gradient_clipping() -> None:
    x, y = digits_like()
    model = network()
    optimizer = SGD(model.parameters(), lr=0.1)
    for _ in range(5):
        F.cross_entropy(model(x), y).backward()
        total = 0.0
        for p in model.parameters():
            total += p.grad.norm().item() ** 2
        if total > 1:
            for p in model.parameters():
                p.grad.mul_(1 / total**0.5)
        optimizer.step()
        optimizer.zero_grad()


def loader_workers() -> None:
    for _ in DataLoader(Chores(24, "waits", 5), batch_size=4):
        pass


def find_num_workers() -> None:
    for _ in DataLoader(Chores(40, "waits", 20), batch_size=4, num_workers=1, worker="thread"):
        pass


def two_workers_for_a_slow_disk() -> None:
    total = 0.0
    for x in DataLoader(Chores(48, "waits", 20), batch_size=4, num_workers=2, worker="thread"):
        total += float(len(x))


def persistent_workers() -> None:
    loader = DataLoader(TensorDataset(*digits_like()), batch_size=16, num_workers=2)
    for _ in range(3):
        for _ in loader:
            pass


def share_storage() -> None:
    x = tg.rand(10_000)
    for _ in range(6):
        y = x * 1
        y.clone().sum()


def contiguous_access() -> None:
    x = tg.rand(500, 500).t()
    for _ in range(10):
        x.exp()


def advanced_indexing() -> None:
    x = tg.rand(1000, 16)
    for _ in range(5):
        x[tg.arange(100, 200)].sum()


def watch_training() -> None:
    x = tg.tensor([-1.0, 2.0], requires_grad=True)
    x.log().sum()


@contextmanager
def room_for(megabytes: int) -> Iterator[None]:
    """So much memory of the device beside what is there."""
    tg.accelerator.empty_cache()
    room = tg.accelerator.memory_reserved() + (megabytes << 20)
    tg.accelerator.set_per_process_memory_fraction(room / tg.sim.machine()["memory"])
    try:
        yield
    finally:
        tg.accelerator.set_per_process_memory_fraction(1.0)


def out_of_memory() -> None:
    layers = nn.Sequential(*[nn.Linear(256, 256) for _ in range(8)]).to("sim")
    with room_for(32):
        layers(tg.rand(4096, 256, device="sim"))


def too_deep() -> None:
    layers = [layer for _ in range(12) for layer in (nn.Conv2d(4, 4, 3, padding=1), nn.Tanh())]
    model = nn.Sequential(*layers).to("sim")
    optimizer = tg.optim.SGD(model.parameters(), lr=0.1)
    with room_for(24):
        for _ in range(2):
            optimizer.zero_grad()
            model(tg.rand(64, 4, 48, 48, device="sim")).square().mean().backward()
            optimizer.step()


class Plain(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = [nn.Linear(16, 16) for _ in range(3)]

    def forward(self, x: tg.Tensor) -> tg.Tensor:
        for layer in self.layers:
            x = layer(x)
        return x


def registered_layers() -> None:
    model = Plain()
    with tg.no_grad():
        model(tg.rand(2, 16))


def retracing() -> None:
    fast = tg.compile(lambda x, rate: (x * rate).sum())
    x = tg.rand(10)
    for step in range(6):
        fast(x, 0.1 / (step + 1))


SLOW: dict[str, tuple[Program, set[str]]] = {
    "a model called for each sample": (vectorise, {"vectorise"}),
    "a mean taken off row by row": (broadcasting, {"broadcasting"}),
    "a loss for each sample": (vectorise_loss, {"vectorise-loss"}),
    "products of pieces": (batched_matmul, {"batched-matmul"}),
    "a layer in three operations": (fused_linear, {"fused-linear-bias-activation"}),
    "silu by hand": (fast_activation, {"fast-activation"}),
    "attention by hand": (efficient_attention, {"efficient-attention"}),
    "products, made and added up": (flatten_to_2d, {"flatten-to-2d"}),
    "batch norm in inference": (fold_batch_norm, {"fold-batch-norm"}),
    "requests one by one": (batch_the_stream, {"batch-the-stream"}),
    "inference with a graph": (no_grad, {"no-grad"}),
    "losses added up with their graphs": (keep_the_number, {"keep-the-number-not-the-graph"}),
    "gradients filled with zeros": (zero_grad, {"zero-grad-to-none"}),
    "anomaly detection left on": (debug_aids, {"debug-aids-off"}),
    "NumPy's float64": (spurious_promotion, {"spurious-promotion"}),
    "float16 without a scaler": (loss_scaling, {"loss-scaling"}),
    "large products in float32": (mixed_precision, {"mixed-precision"}),
    "the same data moved in each epoch": (avoid_transfers, {"avoid-transfers"}),
    "zeros made on the host": (allocate_on_device, {"allocate-on-device"}),
    "batches from pageable memory": (pinned_memory, {"pinned-memory"}),
    "the loss read in each step": (async_dispatch, {"async-dispatch"}),
    "a device tensor read number by number": (scalar_indexing, {"scalar-indexing"}),
    "the cache emptied in each step": (empty_cache, {"empty-cache"}),
    "a hundred tiny kernels": (launch_bound, {"launch-bound-vs-bandwidth-bound-vs-compute-bound"}),
    "norms read one by one": (gradient_clipping, {"gradient-clipping"}),
    "a loop that waits for its data": (loader_workers, {"loader-workers"}),
    "one worker too few": (find_num_workers, {"find-num-workers"}),
    "two workers for a slow disk": (two_workers_for_a_slow_disk, {"find-num-workers"}),
    "workers started in each epoch": (persistent_workers, {"persistent-workers"}),
    "clones that are only read": (share_storage, {"share-storage"}),
    "a transposed matrix read ten times": (contiguous_access, {"contiguous-access"}),
    "a slice as a list of places": (advanced_indexing, {"basic-vs-advanced-indexing"}),
    "a logarithm of a negative number": (watch_training, {"watch-training"}),
    "too large a batch": (out_of_memory, {"batch-size-search", "gradient-checkpointing"}),
    "too deep a network": (too_deep, {"batch-size-search", "gradient-checkpointing"}),
    "layers in a plain list": (registered_layers, {"registered-layers"}),
    "a rate as a Python number": (retracing, {"retracing"}),
}
RAISES = {"too large a batch": OutOfMemoryError, "too deep a network": OutOfMemoryError}


# Without a habit -----------------------------------------------------------------------------------------------------


def training() -> None:
    train(network(), *digits_like(), steps=30)


def with_batches_and_a_schedule() -> None:
    model = network()
    optimizer = optim.Adam(model.parameters())
    schedule = optim.lr_scheduler.CosineAnnealingLR(optimizer, 16)
    losses = []
    for data, target in DataLoader(TensorDataset(*digits_like(256)), batch_size=16, shuffle=True):
        loss = F.cross_entropy(model(data), target)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        schedule.step()
        losses.append(loss.item())


def evaluation() -> None:
    model, right = network().eval(), 0
    with tg.no_grad():
        for data, target in DataLoader(TensorDataset(*digits_like(256)), batch_size=64):
            right += int((model(data).argmax(1) == target).sum())


def accumulation() -> None:
    model = network()
    optimizer = SGD(model.parameters(), lr=0.1)
    batches = DataLoader(TensorDataset(*digits_like(256)), batch_size=16)
    for number, (data, target) in enumerate(batches, 1):
        (F.cross_entropy(model(data), target) / 4).backward()
        if number % 4 == 0:
            optimizer.step()
            optimizer.zero_grad()


def recurrent() -> None:
    tg.manual_seed(0)
    model = nn.LSTM(8, 16, batch_first=True)
    head = nn.Linear(16, 1)
    optimizer = optim.Adam([*model.parameters(), *head.parameters()])
    for _ in range(5):
        out, _ = model(tg.randn(4, 20, 8))
        head(out[:, -1]).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()


def attention() -> None:
    q, k, v = (tg.randn(2, 4, 512, 16) for _ in range(3))
    F.scaled_dot_product_attention(q, k, v)


def compiled() -> None:
    fast = tg.compile(lambda x: ((x * 2).tanh() + 1).sum())
    for _ in range(10):
        fast(tg.rand(1000))


def on_a_device() -> None:
    """A pinned loader, copies that nobody waits for, half precision, a loss that is read at the end."""
    x, y = tg.randn(2048, 256), tg.zeros(2048).long()
    model = nn.Sequential(nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 2)).to("sim")
    optimizer, scaler = SGD(model.parameters(), lr=0.1), tg.amp.GradScaler("sim", enabled=False)
    total = tg.zeros((), device="sim")
    for data, target in DataLoader(TensorDataset(x, y), batch_size=256, pin_memory=True):
        data, target = data.to("sim", non_blocking=True), target.to("sim", non_blocking=True)
        with tg.autocast("sim", dtype=tg.bfloat16):
            loss = F.cross_entropy(model(data), target)
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        optimizer.step()
        total += loss.detach()
    total.item()


def plain_numbers() -> None:
    x = tg.linspace(0, 1, 100)
    y = (x.sin() + x**2).cumsum(0)
    y.numpy().tolist()
    time.sleep(0.01)


CLEAN: dict[str, Program] = {
    "training": training, "batches and a schedule": with_batches_and_a_schedule, "evaluation": evaluation,
    "accumulation": accumulation, "a recurrent network": recurrent, "attention": attention, "compiled": compiled,
    "on a device": on_a_device, "plain numbers": plain_numbers,
}  # fmt: skip
