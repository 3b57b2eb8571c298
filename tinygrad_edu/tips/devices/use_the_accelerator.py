"""Give the accelerator enough work to repay the copies."""

from __future__ import annotations

from typing import Any

import tinygrad_edu as tg
from tinygrad_edu import Tensor
from tinygrad_edu.tips import Claim, Elsewhere, Limit, Over, Picture, Question, Result, Size, Source, Tip


def inputs(generator: tg.Generator, n: int, host: int, device: str) -> dict[str, Any]:
    x, w = tg.rand(n, n, generator=generator), tg.rand(n, n, generator=generator)
    return {"x": x, "w": w, "device": device, "rate": host * 1e9}


def slow(x: Tensor, w: Tensor, device: str, rate: float) -> Tensor:
    y = x @ w
    tg.sim.host_work(1e3 * 2 * len(x) ** 3 / rate)  # milliseconds that a host of this rate takes
    return y


def fast(x: Tensor, w: Tensor, device: str, rate: float) -> Tensor:
    return (x.to(device) @ w.to(device)).cpu()


def winner(result: Result) -> str:
    return "the device" if result.fast["virtual"] < result.slow["virtual"] else "the host"


TIP = Tip(
    slug="use-the-accelerator",
    title="Give the accelerator enough work to repay the copies",
    theme="devices",
    why="A product of n × n matrices does **n³ work on n² numbers**, and only the numbers have to travel.",
    about=(
        "An accelerator computes many times as fast as the host, but it has memory of its own, and each copy and each "
        "launch also costs a fixed time. So what counts is the work for each byte that travels. A product of n × n "
        "matrices does n multiplications for every number, and starts to pay at a few hundred rows. An addition does "
        "one, and never pays if its operands have to be copied first. In training, the weights stay on the device and "
        "only a batch travels, so smaller sizes pay too. The host's rate is a parameter here, in billions of "
        "operations a second. A real GPU also needs a second or so when a program first uses it; that is not counted "
        "here."
    ),
    sources=(
        Source("R", "Hardware Optimization", "enable the GPU: move model and data there"),
        Source("P", "GPU Optimization", "move model and data to the device"),
    ),
    parameters=(
        Size("n", 512, 8, 1024, "the rows and columns of both matrices"),
        Size("host", 100, 1, 4096, "billions of operations that the host does in a second"),
    ),
    inputs=inputs,
    slow=slow,
    fast=fast,
    claims=(
        Claim("virtual", times=2),
        Claim("moved", price=True),
        Claim("virtual", over=Over("n", (16, 64, 256, 512, 1024), crosses=True)),
    ),
    limits=(
        Limit({"n": 64}, "false here", "Copying so few numbers takes longer than multiplying them on the host."),
        Limit(
            {"host": 4096}, "false here", "For this one product, with both copies counted, a host this fast is quicker."
        ),
    ),
    question=Question(
        "Two matrices are on the host, and the product is wanted there. Which is faster, with all copies counted?",
        ("the host", "the device"),
        winner,
        tempting="the host",
        refutation="Copying a few megabytes takes a fraction of the time that the host needs for the multiplications.",
    ),
    explain="How do the work and the bytes grow with n, and where do the two times meet?",
    symptoms=("the processor or GPU is hardly busy", "the GPU is slower than the processor"),
    picture=Picture("QueueTimeline", dict),
    elsewhere=(
        Elsewhere(
            "PyTorch 2.13",
            "2026-11",
            'device = torch.accelerator.current_accelerator() or "cpu"\ny = (x.to(device) @ w.to(device)).cpu()',
        ),
        Elsewhere(
            "tch-rs 0.26", "2026-11", "let gpu = Device::Cuda(0);\nlet y = x.to_device(gpu).matmul(&w.to_device(gpu));"
        ),
    ),
    devices=("sim",),
    torch=None,
    differs_in_torch="The same holds on a GPU; the host's time is then that of your processor.",
)
