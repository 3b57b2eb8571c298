"""Why each prediction comes out as it does. At most 25 words, in the present, with the cause in bold."""

from __future__ import annotations

REASONS = {
    # welcome
    "transpose": "`x.T` has **no bytes of its own**: it looks at the bytes of `x` with shape and strides swapped.",
    "loss_curve": "Most is learnt **in the first two epochs**; after that the gradients are small.",
    "other_writers": "A random split asks for **handwriting that it knows**; an ordered one for people it never met.",
    # lesson 3
    "square": "`x` enters the product **twice**, and each use sends back the other factor: 3 + 3.",
    "meet": "A nudge of `W` changes the loss along **both paths**, so both effects count.",
    "twice": "`backward` **adds** to what `.grad` holds; it never empties it.",
    "buffers": "`detach` gives a new tensor over the **same bytes**; a gradient has bytes of its own.",
    "halves": "Each half's mean divides by 4, not by 8, so its gradient **counts double**.",
    "unequal": "Dividing both by 2 gives two samples **as much weight** as six.",
    "shape": "`a` has **three numbers**. Each is read four times, and the four gradients add.",
    "cost_small": "NumPy's call for one number is slow itself, so **the node** adds only a little.",
    "cost_large": "The arithmetic grows and **the node does not**, so the node no longer shows.",
    "cost_saved": "Each node **keeps its operand**, so every product needs fresh memory instead of reusing old memory.",
}


def reason(key: str) -> str:
    """The reason behind a prediction. Raises KeyError for a key that there is none of."""
    return REASONS[key]
