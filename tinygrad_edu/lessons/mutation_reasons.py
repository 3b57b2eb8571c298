"""Why the predictions of lesson 4 come out as they do: for each choice the reason why it is right, or why not."""

from __future__ import annotations

MUTATION: dict[str, str | dict[str, str]] = {
    "reader": {
        "the factor that fits best": "“The guard is too strict” is wrong here: with copied blocks the computed factor "
        "is 2.00, and this program ends at 3.20.",
        "another factor, and no error": "`mul` saved the buffer, not a copy. `backward` meets **the second block's "
        "readings** where the first block's were.",
        "nothing: backward() fails": "Nothing tells `backward` that NumPy wrote into the buffer. It reads what lies "
        "there now.",
    },
    "between": {
        "only that of (t + t).sum()": "The derivatives of a sum are 1 and 1, whatever its operands are.",
        "only that of (t * t).sum()": "The derivative of the product **needs the numbers of `t`**, which lie in "
        "`a`. That of the sum needs none.",
        "both": "“Any write before backward is wrong” is a common belief. It is wrong only where an operation needs "
        "the old numbers.",
        "neither": "`from_numpy` copies nothing: `t` and `a` are two names for the same bytes.",
    },
    "past": {
        "refused": "A lock is a flag on the array `a`. Views taken later inherit it, and keep it; `v` was there "
        "before.",
        "allowed, and t.grad is right": "It would be, if `v` had bytes of its own. A slice reads those of `a`.",
        "allowed, and t.grad is wrong": "The lock is a flag on `a`, and **`v` was taken before it**. "
        "`guard.verify()` would find the write by its checksum.",
    },
    "where": {
        "in line 3, at the write": "Tensors are not locked, only NumPy arrays are. Perhaps `backward` never comes: "
        "then no harm is done.",
        "in line 4, at backward()": "`exp` saved its result, and noted the version. The write **raised the "
        "version**; `backward` compares the two.",
        "nowhere: w.grad is right": "MyGrad works like that. Here and in PyTorch `exp` has saved the buffer "
        "itself, not a copy of it.",
        "nowhere: w.grad is wrong": "That happens when NumPy writes and no guard is on. A tensor's own writes are "
        "counted.",
    },
    "eval": {
        "without dropout and without a graph": "“`eval` is for inference, so it stops recording” is a common belief. "
        "It only tells the layers.",
        "without dropout, with a graph": "`eval` changes **what some layers compute**. Whether it is recorded, "
        "`no_grad` decides.",
        "with dropout, without a graph": "That is `no_grad` in training mode. `eval` does the opposite.",
    },
    "guard_cost": "The guard works **once for each array**, whatever its size; the arithmetic grows with the numbers.",
    "opened": "No: the derivative of a sum is 1, so `add` **saves no numbers**, and nothing is locked. `mul` needs "
    "those of `x`.",
    "named": "The error names **the latest write**. With that one fixed it names `*=`, which wrote there first.",
    "three": "`eval` changes what layers compute, `no_grad` whether it is recorded; the guard **protects what a record "
    "needs**.",
    "counted": "A tensor and its views **share one version**, whichever numbers are written. So `level[2] = …` raises "
    "that of `level[1]`, too.",
}
