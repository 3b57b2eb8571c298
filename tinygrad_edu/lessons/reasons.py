"""Why each prediction comes out as it does: at most 25 words, in the present tense, with the cause in bold."""

from __future__ import annotations

from .autograd_reasons import AUTOGRAD

REASONS: dict[str, str | dict[str, str]] = {
    # welcome
    "transpose": "`x.T` has **no bytes of its own**: it reads the bytes of `x`, with shape and strides swapped.",
    "loss_curve": "Most is learnt **in the first two epochs**; after that the gradients are small.",
    "other_writers": "A random split tests **handwriting that it knows**; an ordered one tests people it never met.",
    # gallery
    "half_count": "From 2 048 on, float16 goes up **in steps of two**: adding one lands halfway and is rounded back.",
    # tip lab
    "lab_right": "Shapes are aligned **from the right**: 2,000 means meet 100 readings, and neither is a 1.",
    "lab_square": "100 meets 100, so **no error** reveals that each mean meets a column, not its row.",
    "lab_calls": "Each row costs **three operations**: cut it out, take its mean, subtract. A `stack` joins them.",
    "lab_loop": "Starting an operation **costs more** than computing a hundred numbers, and the loop starts 6,001.",
    "lab_long": "Each row **costs the same to start**, however long it is. `stack` still copies.",
    # lesson 1
    "address": "Row 1 begins after **four elements**, and column 2 is two further: six elements of four bytes.",
    "address_transposed": "`t` has the strides of `x` **in the other order**, so `t[2, 1]` is where `x[1, 2]` is.",
    "slice_write": "A slice is **an offset and strides** over the bytes of `x`: writing there writes into `x`.",
    "list_write": "A list can name rows in any order, which strides cannot describe, so `f` gets **its own bytes**.",
    "list_add": "Python ends the line with `x[[0, 2]] = …`: the copy is **stored back** into `x`.",
    "repeats": "The copy holds place 0 twice, each time 0 + 1, and **both are stored** in the same place.",
    "reshape": "Column order has **no single stride** over the bytes of `m`, so all six numbers are copied.",
    "alive": "A view holds its **whole buffer**; nothing can free a part of it.",
    "stride": "Memory comes in lines of 64 bytes; at stride 16 only **one number** of each line is used.",
    "copy_first": "A sum may add in any order, so it **chooses the order of the bytes**; the copy is extra work.",
    # lesson 3
    **AUTOGRAD,
}


def reason(key: str) -> str | dict[str, str]:
    """The reason behind a prediction, or one for each choice. Raises KeyError for an unknown key."""
    return REASONS[key]
