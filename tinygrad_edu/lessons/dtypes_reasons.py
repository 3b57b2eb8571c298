"""Why the predictions of lesson 2 come out as they do: for each choice the reason why it is right, or why not."""

from __future__ import annotations

DTYPES: dict[str, str | dict[str, str]] = {
    "pairs": {
        "1,000": "“Both have 1,000 numbers, so they pair up”? Axes are paired from the right: 1 meets 1,000.",
        "1,000,000": "**The missing axis counts as 1 and is stretched**: each output meets every price.",
        "none: it is an error": "It would be, if the lengths differed and neither were 1.",
    },
    "square": {
        "each row loses its own mean": "“The means belong to the rows”? The array of means has no axis that says so.",
        "column j loses the mean of row j": "Three means are **one row to broadcasting**: mean j is under column j.",
        "it is an error": "Lengths 3 and 3 fit.",
    },
    "numpy_weights": {
        "float32": "“float32 stays float32”? It does beside Python numbers, not beside a wider array.",
        "float64": "NumPy makes float64 unless told otherwise, and **of two float arrays with axes the wider wins**.",
        "it is an error": "Arithmetic of two float dtypes is not refused; PyTorch refuses a mixed matrix product.",
    },
    "numpy_number": {
        "under all three": "PyTorch takes any NumPy scalar for a plain number.",
        "under NumPy's and JAX's": "`np.float64(2)` **has a dtype, and there its dtype counts**.",
        "under NumPy's": "JAX, with its 64-bit types on, lets the dtype of a NumPy scalar count as well.",
        "under none": "`2.0` is a plain number in all three. `np.float64(2)` is one in PyTorch alone.",
    },
    "identifiers": {
        "under all three": "PyTorch and JAX let the kind decide: a float beside integers keeps its own width.",
        "under NumPy's and JAX's": "JAX does as PyTorch here: float is the higher kind, and float32 stays.",
        "under NumPy's": "**float32 cannot hold every int64**, so NumPy takes float64, which holds more of them.",
        "under none": "NumPy keeps values where it can: float32 has 24 bits for a whole number, int64 has 63.",
    },
    "wide_step": {
        "about as many": "“The weights are float32, so the results are”? Each result has the wider dtype of its two "
        "operands.",
        "about 1.5 times as many": "It would be, if only the forward pass were wide. Gradients are as well.",
        "about twice as many": "**Each product with a wide array is wide**, and so are the gradients between: 6.62 MB, "
        "not 3.32 (measured). Those of weights are float32 again.",
    },
    "one_mean": "Over all pairs, the best single number for every house is **the mean of all prices**; features tell "
    "nothing there.",
    "undo": "For + and −: **each use passes ∂c on unchanged**, so each number of `a` gets the sum of ∂c along its row.",
    "as_large": "When **nothing of it is stretched**: then each number is used once.",
    "no_error": "One with unequal lengths, such as 4 × 3: **for 3 × 3 both axes fit**, and broadcasting has nothing to "
    "refuse.",
    "masked": "`sub` comes before `mul`, and after the first wide result **all that follows is wide already**: then "
    "`mul` widens nothing.",
    "expanded": "`p · c` is a **matrix product**: it needs no array with three axes.",
    "far_away": "p², 2 · p · c and c² are near 10⁹, and **float32 keeps 7 digits**: their difference is lost. "
    "Subtract the points' mean first.",
}
