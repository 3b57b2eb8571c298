"""Ask how long the device works, not whether it ever does."""

from __future__ import annotations

from typing import Any

import tinygrad_edu as tg
from tinygrad_edu import Tensor
from tinygrad_edu.tips import DIFFERS, Elsewhere, Limit, Picture, Question, Result, Size, Source, Tip

SAMPLE = 250_000  # nanoseconds; real monitors take a sixth of a second or more


def inputs(generator: tg.Generator, steps: int, host: int, device: str) -> dict[str, Any]:
    x = (tg.randn(256, 256, generator=generator) / 16).to(device)
    x @ x  # there is memory for the result
    tg.accelerator.synchronize()

    def loop() -> Tensor:
        y = x
        for _ in range(steps):
            tg.sim.host_work(host / 1000, "augmenting")
            y = y @ x
        return y

    return {"loop": loop}


def slow(loop: Any) -> float:
    with tg.sim.timeline() as seen:
        loop()
        tg.accelerator.synchronize()
    kernels = [work for work in seen if work.kind == "kernel"]
    samples = range(0, seen.end, SAMPLE)
    busy = [any(w.start < t + SAMPLE and w.end > t for w in kernels) for t in samples]
    return sum(busy) / len(busy)


def fast(loop: Any) -> float:
    with tg.sim.timeline() as seen:
        loop()
        tg.accelerator.synchronize()
    return seen.computing() / seen.end


def shown(result: Result) -> str:
    return "about the same as B" if result.slow["equal"] else "many times as much as B"


TIP = Tip(
    slug="utilisation",
    title="Ask how long the device works, not whether it ever does",
    theme="measuring",
    why="A monitor counts a stretch of time as busy **if any kernel ran in it**, however short, and so it says 100 %.",
    about=(
        "The figure that GPU monitors call utilisation is the share of short stretches of time in which at least one "
        "kernel was running: a quarter of a millisecond here, a sixth of a second or more in real monitors. A loop "
        "that augments an image for 200 microseconds and then lets the device multiply for ten has a kernel in every "
        "stretch, so the monitor shows a device that could not work more. The timeline shows the gaps: add up how "
        "long kernels really ran, and divide by the whole time. Even that says nothing about how many processors a "
        "kernel keeps busy. Look at what the device waits for in a gap: the host, a copy, or Python."
    ),
    sources=(
        Source("R", "Performance Checklist", "monitor GPU utilization"),
        Source("P", "Profiling", "use the profiler to find what the time goes to"),
    ),
    parameters=(
        Size("steps", 24, 1, 64, "how many steps there are"),
        Size("host", 200, 0, 400, "microseconds that the host works in each step"),
    ),
    inputs=inputs,
    slow=slow,
    fast=fast,
    outcomes={"slow": DIFFERS},
    claims=(),
    limits=(Limit({"host": 0}, "no difference", "Where the host only launches work, the device is hardly ever idle."),),
    question=Question(
        "Each step, the host works for 200 µs, and then the device for about 10. What does the monitor (A) show?",
        ("about the same as B", "many times as much as B"),
        shown,
        tempting="about the same as B",
        refutation="There is a kernel in every stretch that it looks at. It does not say how short the kernel was.",
    ),
    explain="What would each of the two show if the kernels took twice as long?",
    symptoms=("the processor or GPU is hardly busy", "the GPU is said to be busy, and training is slow"),
    picture=Picture("QueueTimeline", dict),
    elsewhere=(
        Elsewhere(
            "PyTorch 2.13",
            "2026-11",
            "import time\nfrom torch.profiler import profile\nstart = time.perf_counter()\nwith profile() as seen:\n"
            "    y = torch.ones(8, 8) @ torch.ones(8, 8)\nwhole = 1e6 * (time.perf_counter() - start)  # microseconds\n"
            "kernels = [e for e in seen.events() if e.device_type != torch.autograd.DeviceType.CPU]\n"
            "share = sum(e.time_range.elapsed_us() for e in kernels) / whole  # 0 on a CPU",
        ),
    ),
    devices=("sim",),
    torch=None,
    differs_in_torch="The same holds on a GPU, where torch.profiler gives the times of kernels.",
    tolerance=0.6,  # B may be lower by the launches
)
