"""Why the predictions of the tip lab come out as they do: for each choice the reason why it is right, or why not."""

from __future__ import annotations

LAB: dict[str, str | dict[str, str]] = {
    "lab_calls": {
        "3": "Those are the three lines of the program. Two of them hold a loop, and a loop starts its line again.",
        "15,003": "A row of either loop takes three, not one: it is cut out, and two more operations follow.",
        "45,003": "Every row has **operations of its own**: three, for 10,000 rows and then for 5,000. The other 3 are "
        "two stacks and one index.",
        "1,500,003": "That would be one for each number. An operation handles a whole row of them.",
    },
    "lab_square": {
        "the right numbers": "Every shape fits, but the 100 means meet the 100 columns, and a mean belongs to a row.",
        "wrong numbers": "Shapes are aligned **from the right**: each mean meets a column instead of its own row. "
        "PyTorch, NumPy and JAX do the same.",
        "an error": "An error needs two sizes that differ. Here 100 meets 100, so the slip stays hidden.",
    },
    "lab_faster": "Starting an operation **costs more** than computing with one row of numbers, and the slow program "
    "starts 45,003 of them.",
    "lab_alive": {
        "0 bytes": "`del` removes a name. A buffer stays as long as any tensor points at it, and `kept` does.",
        "1,200 bytes": "That is what `kept` shows. Its bytes are part of a buffer, which cannot be freed in parts.",
        "41,200 bytes": "Those are the bytes up to the end of `kept`. A buffer is not cut off: it stays as a whole.",
        "4,000,000 bytes": "A view, however small, holds **the whole buffer**; a copy of its rows would let it go.",
    },
    "lab_long": "Starting a row's operations costs the same at any length. The loop's temporaries are **one row** "
    "long; those of a table may outgrow a cache.",
}
