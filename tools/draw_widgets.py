"""Draw docs/widgets/*.svg: each widget on its own example, and the key to all of them.

Run it after changing a figure: ``python tools/draw_widgets.py``. A test compares the pictures with what it draws.
Times would differ from run to run, so those of the race are recorded: ``--record`` measures them again.
"""

from __future__ import annotations

import dataclasses
import datetime
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "widgets"
sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402
from tinygrad_edu_widgets import (  # noqa: E402
    AdviceReport,
    BroadcastLab,
    BufferMap,
    CheckpointSlider,
    FusionBuilder,
    GraphStepper,
    GuardLens,
    LoaderGantt,
    MemoryRiver,
    Playground,
    PrecisionRuler,
    PredictGate,
    PromotionTracer,
    QueueTimeline,
    RetraceLedger,
    Roofline,
    TipBrowser,
    TrainingMonitor,
)
from tinygrad_edu_widgets.registry import WIDGETS  # noqa: E402

import tinygrad_edu as tg  # noqa: E402
from tinygrad_edu import accelerator, nn, optim  # noqa: E402
from tinygrad_edu.observe.machine import Conditions  # noqa: E402
from tinygrad_edu.observe.memory import Memory, mark  # noqa: E402
from tinygrad_edu.observe.results import Comparison, Sweep, Timing  # noqa: E402
from tinygrad_edu.observe.timing import sweep  # noqa: E402
from tinygrad_edu.tensor.random import seeded  # noqa: E402
from tinygrad_edu.tips import advice, find  # noqa: E402
from tinygrad_edu.tips.rewriting import Saving  # noqa: E402
from tinygrad_edu.tips.signs import Sign  # noqa: E402
from tinygrad_edu.views import loading, race  # noqa: E402
from tinygrad_edu.views.frame import Figure, Frame  # noqa: E402
from tinygrad_edu.views.playground import frame as draw_playground  # noqa: E402
from tinygrad_edu.views.playground.model import verdict  # noqa: E402
from tools.widget_key import key  # noqa: E402


def graph_stepper() -> Frame:
    """The step at which the second gradient of x arrives."""
    x, w, b = (tg.tensor(value, requires_grad=True) for value in (2.0, -3.0, 1.0))

    def loss_of(x: tg.Tensor, w: tg.Tensor, b: tg.Tensor) -> tg.Tensor:
        guess = x * w + b
        return guess * guess + x

    ask = "`x` is used twice. What will its gradient hold after this step?"
    widget = GraphStepper(loss_of, ask=ask, x=x, w=w, b=b)
    widget.act("last")
    return widget.frame()


def buffer_map() -> Frame:
    """Two views and a copy, after a write through one of them."""
    x = tg.arange(12, dtype="float32").reshape(3, 4)
    labels = {"x": "arange(12).reshape(3, 4)", "t": "x.T", "s": "x[::2]", "c": "x.clone()"}
    widget = BufferMap(x=x, t=x.T, s=x[::2], c=x.clone(), labels=labels)
    widget.act("point", "s:0")
    widget.act("write")
    return widget.frame()


def broadcast_lab() -> Frame:
    """A column and a row, with both gradients revealed."""
    widget = BroadcastLab((3, 1), (1, 4), predict=False)
    widget.act("point", "a:0")
    return widget.frame()


def checkpoint_slider() -> Frame:
    """Sixteen layers in four segments, where a learner expected eight."""
    widget = CheckpointSlider()
    widget.predict(8)
    widget.act("segments", 4)
    return widget.frame()


def guard_lens() -> Frame:
    """Its first program: a write that would have spoilt a gradient."""
    return GuardLens().frame()


def predict_gate() -> Frame:
    """A difference that many people expect to have a thousand numbers."""

    def reveal() -> int:
        return (tg.zeros(1000, 1) - tg.zeros(1000)).numel()

    widget = PredictGate(
        "`a` is (1000, 1) and `b` is (1000,). How many numbers are in `a - b`?",
        reveal,
        low=0,
        high=1_000_000,
        why="Shapes are aligned from the right, so **each is stretched** along the axis that only the other has.",
    )
    widget.predict(1000)
    return widget.frame()


def playground() -> Frame:
    """One sample at a time, as a learner predicted it. The times are recorded, not those of this machine."""
    widget = Playground(acts=[(60, "flip", "one sample", True)])
    widget.run(80)
    state = widget.state
    glance, change = state.glance, state.glance.change
    assert change is not None
    kept = json.loads(PLAYED.read_text(encoding="utf-8"))
    change = dataclasses.replace(change, was=dataclasses.replace(change.was, **kept["was"]))
    reading = dataclasses.replace(glance.reading, **kept["now"])
    said = {"one sample": {"time": "up", "bytes": "same", "nodes": "up", "operations": "up"}}
    glance = dataclasses.replace(glance, change=change, reading=reading, compared=None)
    state = dataclasses.replace(state, glance=glance, said=said)
    found = verdict(state)
    assert found is not None
    frame = draw_playground(dataclasses.replace(state, verdicts={"one sample": found}))
    return dataclasses.replace(frame, badge="recorded", conditions=f"{kept['date']} · {kept['conditions']}")


PLAYED = FOLDER / "playground.json"


def record_playground() -> None:
    """Measure the times of that picture again, and keep them with their date and conditions."""
    widget = Playground()
    kept: dict[str, Any] = {"date": datetime.date.today().isoformat()}
    for name in ("was", "now"):
        widget.run(60)
        reading = widget.state.glance.reading
        kept[name] = {key: float(f"{getattr(reading, key):.4g}") for key in ("time", "low", "high")}
        kept[name]["runs"] = reading.runs
        kept["conditions"] = widget.frame().conditions
        widget.flip("one sample")
    PLAYED.write_text(json.dumps(kept) + "\n", encoding="utf-8")


def memory_river() -> Frame:
    """A training step above the same forward pass without a graph. Both have run before."""
    model = nn.Sequential(nn.Linear(300, 400), nn.ReLU(), nn.Linear(400, 400), nn.ReLU(), nn.Linear(400, 10))
    adam, x = optim.Adam(model.parameters()), tg.ones(1000, 300)

    def step() -> None:
        adam.zero_grad()
        loss = model(x).square().mean()
        mark("loss", kept=True)
        loss.backward()
        adam.step()

    def forward() -> None:
        with tg.no_grad():
            model(x).square().mean()

    with Memory():  # what is made once is made now
        step()
        forward()
    adam.zero_grad()
    widget = MemoryRiver(step, forward, names=("one step", "no_grad"))
    widget.predict("gradients")
    return widget.frame()


def training_monitor() -> Frame:
    """A line through three points."""
    w = tg.tensor(0.0, requires_grad=True)
    x, y = tg.tensor([1.0, 2.0, 3.0]), tg.tensor([1.0, 1.5, 2.0])
    monitor = TrainingMonitor(20, ask="One weight, three points: how fast will the loss fall?")
    for _ in range(14):
        loss = ((x * w - y) ** 2).mean()
        monitor.log(loss.item())
        loss.backward()
        with tg.no_grad():
            w -= 0.02 * w.grad
        w.grad = None
    monitor.wait()
    return monitor.frame()


def tip_browser() -> Frame:
    """A tip before it is run: what it finds are times."""
    return TipBrowser("share-storage").frame()


# A recorded race --------------------------------------------------------------------------------------------------

RECORD = FOLDER / "timing_race.json"
SIZES = (10, 100, 1000, 10_000)


def loop(x: tg.Tensor) -> float:
    """The sum of squares, number by number."""
    total = 0.0
    for value in x.tolist():
        total += value * value
    return total


def one_call(x: tg.Tensor) -> float:
    """The same in three operations."""
    return (x * x).sum().item()


def record() -> None:
    """Run the race, and keep every time with its date and conditions."""
    found = sweep(loop, one_call, SIZES, make=tg.ones, names=("loop", "one call")).to_dict()
    for one in found["comparisons"]:
        for timing in (one["slow"], one["fast"]):
            timing["times"], timing["warmups"] = ([float(f"{t:.4g}") for t in timing[k]] for k in ("times", "warmups"))
    kept = {"date": datetime.date.today().isoformat(), **found}
    RECORD.write_text(json.dumps(kept) + "\n", encoding="utf-8")


def timing_race() -> Frame:
    """A race as it was recorded, with a prediction that was too high."""
    kept = json.loads(RECORD.read_text(encoding="utf-8"))
    result = Sweep(tuple(kept["sizes"]), tuple(map(_comparison, kept["comparisons"])))
    names = (result.comparisons[0].slow.name, result.comparisons[0].fast.name)
    last = len(SIZES) - 1
    frame = race.frame(race.RaceState(names, result.sizes, last, said=100.0, said_at=last, result=result))
    return dataclasses.replace(
        frame, badge="recorded", conditions=f"{kept['date']} · {frame.conditions}", wide=_as_recorded(frame.wide)
    )


def _comparison(kept: dict[str, Any]) -> Comparison:
    slow, fast = (
        Timing(one["name"], tuple(one["times"]), tuple(one["warmups"]), one["loops"])
        for one in (kept["slow"], kept["fast"])
    )
    return Comparison(slow, fast, tuple(kept["ratios"]), Conditions(**kept["conditions"]))


def queue_timeline() -> Frame:
    """Batches that are copied in the stream that computes, and in one of their own."""

    batches = [tg.ones(1024, 1024).pin_memory() for _ in range(4)]
    w = tg.full((1024, 1024), 0.001, device="sim")

    def step(two: bool) -> None:
        main = accelerator.current_stream()
        side = accelerator.Stream() if two else main
        for x in batches:
            with accelerator.stream(side):
                x = x.to("sim", non_blocking=True)
            main.wait_stream(side)
            x.record_stream(main)
            (x @ w @ w).sum()

    ask = "Copies and products are the same. How long will they take in two streams?"
    names = ("one stream", "two streams")
    widget = QueueTimeline(lambda: step(False), lambda: step(True), names=names, ask=ask)
    widget.predict("half to nine tenths")
    widget.act("gap")
    return widget.frame()


def precision_ruler() -> Frame:
    """Gradients that are as large as those of a network whose loss is averaged over many tokens, in float16."""
    model = nn.Linear(256, 128, bias=False)
    with seeded(0):
        model.weight.grad = tg.randn(128, 256) * 2.0**-24 * tg.randint(1, 9, (128, 256))
    widget = PrecisionRuler(model, ask="The loss stalls in `float16`. Where have the gradients gone?")
    widget.act("scale", 13)
    return widget.frame()


def fusion_builder() -> Frame:
    """A layer of which one seam is closed, beside the compiler's choice."""
    widget = FusionBuilder(ask="Which seams can be closed, and what does it save?")
    widget.act("example", "a layer")
    widget.act("press", 1)
    widget.act("reveal")
    return widget.frame()


LOADED = FOLDER / "loader_gantt.json"


def record_loading() -> None:
    """Run the loop, and keep every time."""
    widget = LoaderGantt()
    widget.predict(20)
    kept = {"date": datetime.date.today().isoformat(), **widget.data()}
    text = json.dumps(kept, default=float)
    LOADED.write_text(re.sub(r"(\d\.\d{6})\d+", r"\1", text) + "\n", encoding="utf-8")


def loader_gantt() -> Frame:
    """Two processes that start anew in each epoch, as recorded, where a learner expected less waiting."""
    kept = json.loads(LOADED.read_text(encoding="utf-8"))
    runs = [
        loading.Run(
            run["workers"],
            tuple(
                loading.Pass(
                    one["begin"], one["opened"], one["end"], tuple(map(tuple, one["starts"])),
                    tuple(loading.Piece(**piece) for piece in one["pieces"]), tuple(map(tuple, one["ready"])),
                )
                for one in run["passes"]
            ),
            run["samples"],
        )
        for run in kept["runs"]
    ]  # fmt: skip
    setting = loading.Setting(**kept["setting"])
    state = loading.LoadingState(setting, draft=kept["draft"], said=kept["said"])
    frame = loading.frame(loading.finish(state, setting, runs, kept["conditions"], kept["alone"]))
    recorded = f"{kept['date']} · {frame.conditions}"
    return dataclasses.replace(frame, badge="recorded", conditions=recorded, wide=_as_recorded(frame.wide))


def advice_report() -> Frame:
    """A training loop with habits, of which the costliest is in front. Its times are made up, so they stay."""
    report = advice.Report([
        advice.Advice(slug, find(slug).title, Sign(None, told, seconds, virtual, saves), share, again)
        for slug, told, seconds, virtual, saves, share, again in ADVISED
    ])  # fmt: skip
    report.watched, report.seconds = 1874, 0.412
    return AdviceReport(report).frame()


ADVISED = (
    ("loader-workers", "the loop waited for 56% of a pass for its 10 batches", 0.19, False, "", 0.46,
     Saving(0.394, 0.215, (1.8, 1.84, 1.9), virtual=False)),
    ("vectorise", "linear ran 64 times in a step, each time for one row", 0.082, False, "", 0.2, None),
    ("async-dispatch", "the host waited 20 times, to read a number", 0.0004, True, "", 0.09, None),
    ("pinned-memory", "30 copies from memory that is not pinned: the host does each itself", 0.0002, True, "", 0.04,
     None),
    ("keep-the-number-not-the-graph", "10 losses were kept together with their graphs", 0.0, False,
     "memory that grows with every step", 0.0, None),
)  # fmt: skip


def retrace_ledger() -> Frame:
    """Batches with a remainder, of which the fourth was a surprise."""
    widget = RetraceLedger()
    for act in ("hit", "hit", "hit"):
        widget.act(act)
    return widget.frame()


def promotion_tracer() -> Frame:
    """A layer whose result is scaled by one number of NumPy's, by NumPy's table."""

    def loss_of(x: tg.Tensor, W: tg.Tensor, b: tg.Tensor, scale: float, y: tg.Tensor) -> tg.Tensor:
        h = (x @ W + b).relu()
        return (h * scale - y).square().mean()

    x, W, b = tg.full((256, 784), 0.01), tg.full((784, 512), 0.01), tg.zeros(512)
    ask = "All arrays are `float32`. Why is the loss `float64`?"
    return PromotionTracer(
        loss_of, ask=ask, table="numpy", x=x, W=W, b=b, scale=np.float64(0.5), y=tg.zeros(256, 512)
    ).frame()


def roofline() -> Frame:
    """A layer, and rows one by one, on a simulated T4."""
    x, w = tg.full((512, 1024), 0.01, device="sim"), tg.full((1024, 1024), 0.01, device="sim")

    def step(device: str) -> None:
        h = x @ w
        h = (h * 0.5).relu()
        for i in range(16):
            h[i] * 2.0

    widget = Roofline(step, machine="T4")
    widget.predict("its arithmetic")
    widget.act("pick", 1)
    return widget.frame()


def _as_recorded(figure: Figure) -> Figure:
    """With double axes, as recorded times have them."""
    level = re.compile(r'(<line class=")axis("[^>]* y1="([\d.]+)"[^>]* y2="\3"[^>]*/>)')
    items = [level.sub(r"\1axis-recorded\2\1axis-gap\2", item) for item in figure.canvas.items]
    figure.canvas.items[:] = items
    return figure


# The pictures by their file's name: of each widget in the registry, what the function of that name draws.
DRAWN: dict[str, Callable[[], Frame] | None] = {one.slug: globals().get(one.slug) for one in WIDGETS}
PICTURES = {"key": key} | {name: made for name, made in DRAWN.items() if made is not None}


def draw(name: str) -> str:
    """One picture. Of NumPy only the first number is shown, so it need not be drawn again for each release."""
    frame = PICTURES[name]()
    if frame.badge is None:
        frame = dataclasses.replace(frame, conditions=re.sub(r"(\d+)\.\d+(\.\d+)*", r"\1", frame.conditions))
    return frame.svg() + "\n"


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    if "--record" in sys.argv:
        record()
        record_playground()
        record_loading()
    for name in PICTURES:
        (FOLDER / f"{name}.svg").write_text(draw(name), encoding="utf-8")
        print(f"docs/widgets/{name}.svg")
