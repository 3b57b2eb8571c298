"""The key to the widgets' pictures: roles, direction, provenance, comparison and states, drawn as widgets draw them."""

from __future__ import annotations

from collections.abc import Callable

from tinygrad_edu.views.frame import STAGES, WIDE, Figure, Frame
from tinygrad_edu.views.marks import Canvas

Draw = Callable[[Canvas, float, float], None]
HALF = 416  # where the second column begins


def names(c: Canvas, x: float, y: float) -> None:
    c.tag(x, y + 2, "x.T")


def tensors(c: Canvas, x: float, y: float) -> None:
    c.rect(x + 1, y, 56, 24, "card", rx=8)


def buffers(c: Canvas, x: float, y: float) -> None:
    for left in (x + 1, x + 29):
        c.rect(left, y, 28, 24, "cell")
        for tick in (7, 14, 21):
            c.line(left + tick, y + 20, left + tick, y + 24, "tick")


def device(c: Canvas, x: float, y: float) -> None:
    c.rect(x, y, 58, 24, "floor")
    c.line(x, y + 1, x + 58, y + 1, "floortop")


def queue(c: Canvas, x: float, y: float) -> None:
    c.path(f"M{x + 1} {y + 4}h16l6 8l-6 8h-16z", "sign-queue")
    c.path(f"M{x + 27} {y + 4}h24l6 8l-6 8h-24z", "sign-queue")


def lock(c: Canvas, x: float, y: float) -> None:
    c.line(x + 8, y + 12, x + 34, y + 12, "span")
    c.circle(x + 6, y + 12, 4.5, "knob")
    c.circle(x + 34, y + 12, 4.5, "ring")
    c.padlock(x + 46, y + 4)


def forward(c: Canvas, x: float, y: float) -> None:
    c.line(x, y + 12, x + 50, y + 12, "fwd")
    c.path(f"M{x + 57} {y + 12}l-8 -4v8z", "fh")


def backward(c: Canvas, x: float, y: float) -> None:
    c.line(x + 57, y + 12, x + 3, y + 12, "bwd")
    c.path(f"M{x + 8} {y + 7}L{x + 1} {y + 12}L{x + 8} {y + 17}", "bh")


def value(c: Canvas, x: float, y: float) -> None:
    c.text(x, y + 16, "2.00", "m f13 tv")


def gradient(c: Canvas, x: float, y: float) -> None:
    c.text(x, y + 16, "∂0.13", "m f13 tg")


def measured(c: Canvas, x: float, y: float) -> None:
    c.rect(x + 0.5, y + 2, 90, 20, "rule", rx=10)
    c.circle(x + 12, y + 12, 4, "knob")
    c.text(x + 22, y + 16, "measured")


def simulated(c: Canvas, x: float, y: float) -> None:
    c.rect(x + 0.5, y + 2, 90, 20, "dotted", rx=10)
    c.circle(x + 12, y + 12, 3.5, "dotted")
    c.text(x + 22, y + 16, "simulated")


def recorded(c: Canvas, x: float, y: float) -> None:
    c.rect(x + 0.5, y + 2, 90, 20, "rule", rx=10)
    c.rect(x + 2.5, y + 4, 86, 16, "rule", rx=8)
    c.rect(x + 8.5, y + 8.5, 7, 7, "knob")
    c.text(x + 22, y + 16, "recorded")


def first(c: Canvas, x: float, y: float) -> None:
    c.circle(x + 7, y + 12, 5, "mark-a")


def second(c: Canvas, x: float, y: float) -> None:
    c.circle(x + 7, y + 12, 5, "result")


def you(c: Canvas, x: float, y: float) -> None:
    c.path(f"M{x + 1} {y + 12}l6 -6l6 6l-6 6z", "you")


SIGNS: list[tuple[str, int, list[tuple[Draw, str, str]]]] = [
    ("The machine", 74, [
        (names, "name", "a filled tag that points at its tensor"),
        (tensors, "tensor", "a round card: shape, strides, dtype"),
        (buffers, "buffer", "square cells; a tick is a byte"),
        (device, "device", "a floor: what is on it lives there"),
        (queue, "queue", "a lane: work points in the direction of time"),
        (lock, "lock", "from the line that locks ● to the one that frees ○"),
    ]),
    ("Direction", 74, [
        (forward, "forward", "a solid line with a filled head"),
        (backward, "backward", "a dashed line with an open head"),
        (value, "value", "a bare number, blue, on the left"),
        (gradient, "gradient", "with ∂, magenta, on the right; ∂ – is not there yet"),
    ]),
    ("Where a time comes from", 108, [
        (measured, "", "machine, versions, runs and spread are named"),
        (simulated, "", "the preset is named; no spread, it is exact"),
        (recorded, "", "hardware, date and versions are named"),
    ]),
    ("Compared", 30, [
        (first, "A", "what people have: hollow and grey"),
        (second, "B, or the result", "filled and blue; no word of praise"),
        (you, "you", "your prediction: a diamond, never moved"),
    ]),
]  # fmt: skip


def hidden(c: Canvas, x: float, y: float) -> None:
    c.rect(x + 1, y, 394, 72, "hole")
    c.text(x + 198, y + 41, "Nothing is computed before you commit.", "t2", "middle")


def shown(c: Canvas, x: float, y: float) -> None:
    c.line(x + 12, y + 50, x + 384, y + 50, "axis")
    for i in range(5):
        c.line(x + 12 + 93 * i, y + 50, x + 12 + 93 * i, y + 55, "rule")
        c.text(x + 12 + 93 * i, y + 69, f"{5 * i}×", "t2", "middle")
    c.path(f"M{x + 43} {y + 38}l6 -6l6 6l-6 6z", "you")
    c.text(x + 49, y + 22, "you, 2×", "", "middle")
    c.circle(x + 291, y + 38, 5, "result")
    c.text(x + 291, y + 22, "measured, 15×", "b", "middle")


def running(c: Canvas, x: float, y: float) -> None:
    c.text(x, y + 16, "Run 23 of 60 · about 2 s left", "f13")
    c.rect(x, y + 28, 396, 4, "on")
    c.rect(x, y + 28, 152, 4, "knob")
    c.text(x, y + 52, "The old figure stays. Stop takes effect between two runs.", "t2")


def stale(c: Canvas, x: float, y: float) -> None:
    c.open(opacity=".45")
    c.rect(x, y + 4, 300, 10, "mark-a")
    c.rect(x, y + 20, 64, 10, "result")
    c.close()
    c.text(x, y + 52, "These numbers are for n = 1 000. Run for n = 4 000.", "t2")


def refused(c: Canvas, x: float, y: float) -> None:
    c.rect(x, y, 396, 72, "wash")
    c.rect(x, y, 3, 72, "edge-alert")
    c.text(x + 16, y + 24, "▲ Shapes do not fit", "ta b f13")
    c.text(x + 16, y + 43, "what was tried · why it cannot work", "")
    c.text(x + 16, y + 60, "one way to fix it", "")


def still(c: Canvas, x: float, y: float) -> None:
    c.text(x, y + 16, "No tensors yet. Name one: BufferMap(x=x).", "f13")
    c.text(x, y + 38, "Without a kernel: The figure shows the last run.", "t2")
    c.text(x, y + 55, "Controls are absent then, not grey.", "t2")


def verdict(c: Canvas, x: float, y: float) -> None:
    c.text(x, y + 16, "No difference.", "f13 b")
    c.text(x + 118, y + 16, "1.02× (0.97–1.06)", "f13")
    c.text(x, y + 38, "Holds, no difference, false here: the same type for all.", "t2")


def focus(c: Canvas, x: float, y: float) -> None:
    c.rect(x + 4, y + 4, 64, 32, "rule", rx=4)
    c.rect(x + 1, y + 1, 70, 38, "focus", rx=6)
    c.text(x + 36, y + 24, "Step", "f13", "middle")
    c.rect(x + 84, y + 4, 64, 32, "knob", rx=4)
    c.text(x + 116, y + 24, "On", "f13 b tp", "middle")
    c.text(x + 164, y + 24, "focus is a ring; pressed is filled", "t2")


STATES: list[tuple[Draw, str]] = [
    (hidden, "hidden until predicted"), (shown, "predicted: both are shown"), (running, "running"),
    (stale, "stale: something changed since"), (refused, "refused, or an error"), (still, "empty, and no kernel"),
    (verdict, "a verdict"), (focus, "focus and press"),
]  # fmt: skip


def figure() -> Figure:
    """The whole key, in two columns."""
    c, y = Canvas(WIDE), 0.0
    for title, room, signs in SIGNS:
        c.text(0, y + 16, title, "b f13")
        y += 26
        for i, (draw, word, meaning) in enumerate(signs):
            x, row = HALF * (i % 2), y + 42 * (i // 2)
            draw(c, x, row)
            if word:
                c.text(x + room, row + 9, word, "b")
            c.text(x + room, row + (26 if word else 16), meaning, "t2")
        y += 42 * -(-len(signs) // 2) + 10
    c.text(0, y + 16, "States", "b f13")
    y += 38
    for i, (draw, word) in enumerate(STATES):
        x, row = HALF * (i % 2), y + 112 * (i // 2)
        c.text(x, row, word, "t2")
        draw(c, x, row + 12)
    c.height = y + 112 * len(STATES) // 2 - 30
    words = "; ".join(f"{word or draw.__name__}: {meaning}" for _, _, signs in SIGNS for draw, word, meaning in signs)
    return Figure(c, "Key to the widgets", f"{words}. States: {', '.join(word for _, word in STATES)}.")


def key() -> Frame:
    """The key in the frame that every widget has."""
    drawn = figure()
    return Frame(
        "Key", STAGES, "What does each shape mean, in every widget?", drawn, drawn,
        "Shape comes first and colour second, so **nothing is said by colour alone**.", drawn.description,
        "drawn from the tokens of tinygrad_edu/views/tokens.py",
    )  # fmt: skip
