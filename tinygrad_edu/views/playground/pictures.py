"""Pictures of 8 by 8 numbers: weights as one image of coloured pixels, digits as shades of ink."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..marks import Canvas
from .model import LEVELS

# Hues between those of the two themes: an image cannot follow the theme, and these hold on both grounds.
NEGATIVE, POSITIVE = (0xC0, 0x84, 0x1A), (0x34, 0x7C, 0xD8)
SIDE = 8
SHADES = 6  # of ink


def png(rows: Any) -> str:
    """Numbers below `LEVELS`, as a table, in an image in a data URI: ochre below the middle, blue above."""
    height, width = rows.shape
    even = np.pad(rows, ((0, 0), (0, width % 2)))
    packed = np.pad(even[:, ::2] << 4 | even[:, 1::2], ((0, 0), (1, 0)))  # each row begins with its filter: none
    chunks = (
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 4, 3, 0, 0, 0)),
        *_COLOURS,
        (b"IDAT", zlib.compress(packed.tobytes())),
        (b"IEND", b""),
    )
    data = b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body)) for kind, body in chunks
    )
    return "data:image/png;base64," + base64.b64encode(data).decode()


def _colours() -> tuple[tuple[bytes, bytes], ...]:
    """What each level looks like: its hue, and how much of it."""
    middle = LEVELS // 2
    hues = b"".join(bytes(NEGATIVE if level < middle else POSITIVE) for level in range(LEVELS))
    return (b"PLTE", hues), (b"tRNS", bytes(round(255 * abs(level - middle) / middle) for level in range(LEVELS)))


_COLOURS = _colours()


def sheet(pictures: Sequence[bytes], columns: int) -> Any:
    """The pictures side by side and below each other, one clear pixel apart, as a table of numbers."""
    rows = -(-len(pictures) // columns)
    found = np.full((rows * (SIDE + 1), columns * (SIDE + 1)), LEVELS // 2, np.uint8)
    for i, picture in enumerate(pictures):
        top, left = i // columns * (SIDE + 1), i % columns * (SIDE + 1)
        found[top : top + SIDE, left : left + SIDE] = np.frombuffer(picture, np.uint8).reshape(SIDE, SIDE)
    return found[:-1, :-1]


def columns_and_scale(count: int, width: float, height: float) -> tuple[int, int]:
    """How many pictures stand in a row, and how many pixels of the page a weight takes: as many as fit."""
    for scale in (6, 5, 4, 3, 2):
        pitch = scale * (SIDE + 1)
        columns = min(int((width + scale) // pitch), count)
        if -(-count // columns) * pitch - scale <= height:
            return columns, scale
    raise ValueError(f"there is no room for {count} pictures")


def draw_weights(canvas: Canvas, pictures: Sequence[bytes], y: float, width: float, height: float) -> None:
    """All pictures as one image."""
    columns, scale = columns_and_scale(len(pictures), width, height)
    rows = sheet(pictures, columns)
    canvas.image(0, y, scale * rows.shape[1], scale * rows.shape[0], png(rows))


_SCALE = png(np.tile(np.arange(LEVELS, dtype=np.uint8), (3, 1)))


def draw_scale(canvas: Canvas, end: float, y: float) -> float:
    """The colours from the most negative weight to the most positive, up to ``end``. Returns how wide that is."""
    width = 4.0 * LEVELS
    canvas.image(end - width, y, width, 10, _SCALE)
    return width


def draw_digits(canvas: Canvas, digits: Sequence[bytes], x: float, y: float, pitch: float, scale: int = 5) -> None:
    """Digits side by side, each in a frame."""
    shades: list[list[str]] = [[] for _ in range(SHADES + 1)]
    for i, digit in enumerate(digits):
        left, side = x + i * pitch, SIDE * scale
        canvas.rect(left, y, side + 1, side + 1, "run-a")
        for place, value in enumerate(digit):
            row, column = divmod(place, SIDE)
            shade = round(value * SHADES / 16)
            at = f"M{left + 0.5 + column * scale:g} {y + 0.5 + row * scale:g}h{scale}v{scale}h-{scale}z"
            shades[shade].append(at)
    for shade, drawn in enumerate(shades):
        if shade and drawn:
            canvas.path("".join(drawn), "knob", y + SIDE * scale, opacity=f"{shade / SHADES:.2f}")
