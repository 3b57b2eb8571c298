"""Why the predictions of lesson 2 come out as they do: for each choice the reason why it is right, or why not."""

from __future__ import annotations

DTYPES: dict[str, str | dict[str, str]] = {
    "pairs": {
        "1,000": "“Both have 1,000 numbers, so they pair up”? Axes are paired from the right: 1 meets 1,000.",
        "1,000,000": "**The missing axis counts as 1 and is stretched**: each guess meets every price, and the best "
        "answer to all prices is their mean.",
        "none: it is an error": "It would be, if the lengths differed and neither were 1.",
    },
    "square": {
        "each row loses its own mean": "“The means belong to the rows”? The array of means has no axis that says so.",
        "each number loses the mean of another row": "Three means are **one row to broadcasting**: column j loses the "
        "mean of row j.",
        "it is an error": "It is one for 4 × 3 numbers. For 3 × 3 the lengths fit by accident.",
    },
    "numpy_weights": {
        "float32": "“float32 stays float32”? It does beside Python numbers, not beside a wider array.",
        "float64": "NumPy makes float64 unless told otherwise, and **the wider of two arrays wins**, in all three "
        "frameworks.",
        "it is an error": "Only matrix products are refused, and only by PyTorch.",
    },
    "numpy_number": {
        "under all three": "PyTorch takes any NumPy scalar for a plain number.",
        "under NumPy's and JAX's": "`np.float64(2)` **has a dtype, and counts with it** there. JAX needs its 64-bit "
        "switch for that.",
        "under none": "`2.0` is a plain number in all three. `np.float64(2)` is one in PyTorch alone.",
    },
    "identifiers": {
        "under all three": "PyTorch and JAX let the kind decide: a float beside integers keeps its own width.",
        "under NumPy's": "**float32 cannot hold every int64**, so NumPy takes a float that is nearer to it.",
        "under none": "NumPy keeps values where it can: float32 has 24 bits for a whole number, int64 has 63.",
    },
    "wide_step": {
        "about as many": "“The weights are float32, so the results are”? Each result has the wider dtype of its two "
        "operands.",
        "about 1.5 times as many": "It would be, if only the results of forward were wide. The gradients are as well.",
        "about twice as many": "The weights stay float32, but **each product with a wide array is wide**, and so is "
        "all that follows, also backward.",
    },
    "no_error": "For square `x` both shapes fit, and **broadcasting asks for nothing more**.",
    "undo": "`b` is used in three rows, and **the gradients of several uses add up**.",
    "one_mean": "Over all pairs, the best single number for every house is **the mean of all prices**; features tell "
    "nothing there.",
    "masked": "After the first wide result **all that follows is wide already**, so the second culprit widens nothing "
    "until the first is gone.",
    "expanded": "`p · c` is a **matrix product**: it needs no array with three axes.",
}
