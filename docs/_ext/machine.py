"""The picture on the first page: names → tensors → buffers → device → queue, in the marks of the widgets."""

from __future__ import annotations

from tinygrad_edu.views.marks import Canvas
from tinygrad_edu.views.tokens import stylesheet

WORDS = "Two names point at two tensors, which share a buffer. The buffer is on a device, which works through a queue."
TENSORS = (("x", "(3, 4)  float32"), ("x.T", "(4, 3)  float32"))
WORK = ("matmul", "add", "relu")
CARD, CELL = 148, 24


def pointed(x: float, y: float, width: float, height: float) -> str:
    """The outline of a piece of work: it ends in a point, in the direction of time."""
    tip = height * 0.35
    return f"M{x} {y}h{width - tip}l{tip} {height / 2}l{-tip} {height / 2}h{tip - width}z"


def names_and_tensors(c: Canvas, y: float) -> float:
    """Tags that point at cards; returns the cards' right end."""
    c.text(0, y, "names", "b")
    c.text(80, y, "tensors", "b")
    for i, (name, shape) in enumerate(TENSORS):
        top = y + 14 + 56 * i
        end = c.tag(0, top + 11, "xt"[i])
        c.line(end, top + 21, 80, top + 21, "rule")
        c.rect(80, top, CARD, 42, "card", rx=8)
        c.text(92, top + 18, name, "m b")
        c.text(92, top + 34, shape, "m t2")
    return 80.0 + CARD


def device(c: Canvas, x: float, y: float) -> None:
    """A floor, with a buffer and a queue on it."""
    width = 12 * CELL + 32
    c.rect(x, y, width, 156, "floor")
    c.line(x, y, x + width, y, "floortop")
    c.text(x + 16, y + 22, "device", "b")
    c.text(x + 66, y + 22, "cpu", "m t2")
    c.text(x + 16, y + 50, "buffer", "b")
    c.text(x + 66, y + 50, "48 bytes", "t2")
    for i in range(12):
        c.rect(x + 16 + CELL * i, y + 58, CELL, 24, "cell")
        c.text(x + 28 + CELL * i, y + 74, str(i), "m", "middle")
    c.text(x + 16, y + 108, "queue", "b")
    c.text(x + 66, y + 108, "what it works through, in order", "t2")
    for i, work in enumerate(WORK):
        c.path(pointed(x + 16 + 76 * i, y + 116, 72, 24), "work", y + 140)
        c.text(x + 48 + 76 * i, y + 132, work, "m", "middle")


def wide() -> Canvas:
    """Side by side."""
    c = Canvas(640)
    right = names_and_tensors(c, 26)
    device(c, 292, 4)
    c.path(f"M{right} 61h24V74H308M{right} 117h24V74", "rule")
    return c


def narrow() -> Canvas:
    """One below the other."""
    c = Canvas(330)
    right = names_and_tensors(c, 14)
    device(c, 4, 168)
    c.path(f"M{right} 49h36V226M{right} 105h36", "rule")
    return c


def html() -> str:
    """The figure in both widths, with its styles; site.css shows the one that fits."""
    title = "The machine"
    figures = "".join(make().svg(title, WORDS, cls=make.__name__) for make in (wide, narrow))
    return f'<style>{stylesheet()}</style><figure class="edu machine">{figures}</figure>'
