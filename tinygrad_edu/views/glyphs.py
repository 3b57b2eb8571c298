"""A dtype as a glyph, drawn to scale: 8 bits are 4 px.

A float has a tall part, its exponent, which is the range, and a flat bar, its digits, which are the precision. An
integer has no exponent and is a block; a bool is hollow. The word always stands beside it.
"""

from __future__ import annotations

from .marks import Canvas

EXPONENT = {"e4m3": 4, "e5m2": 5, "float16": 5, "bfloat16": 8, "float32": 8, "float64": 11}  # bits
BITS = {
    "bool": 8, "uint8": 8, "int8": 8, "int16": 16, "int32": 32, "int64": 64, "float16": 16, "bfloat16": 16,
    "float32": 32, "float64": 64, "e4m3": 8, "e5m2": 8,
}  # fmt: skip
_FILLS = {  # float8 has the colour of its family
    "bool": "dt-bool",
    "e4m3": "dt-f16",
    "e5m2": "dt-f16",
    "float16": "dt-f16",
    "bfloat16": "dt-bf16",
    "float32": "dt-f32",
    "float64": "dt-f64",
}


def fill(dtype: str) -> str:
    """The class that fills a shape in the colour of a dtype."""
    return _FILLS.get(dtype, "dt-int")


def glyph(canvas: Canvas, x: float, y: float, dtype: str) -> float:
    """The glyph of a dtype around the line ``y``. Returns its width."""
    width, cls = BITS[dtype] / 2, fill(dtype)
    if dtype == "bool":
        canvas.rect(x + 0.75, y - 3, width - 1.5, 6, cls)
    elif dtype not in EXPONENT:
        canvas.rect(x, y - 3, width, 6, cls)
    else:
        canvas.rect(x, y - 2, width, 4, cls)
        canvas.rect(x + 0.5, y - 5, EXPONENT[dtype] / 2, 10, cls)
    return width
