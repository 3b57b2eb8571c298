"""Why the predictions of lesson 8 come out as they do: for each choice the reason why it is right, or why not."""

from __future__ import annotations

PRECISION: dict[str, str | dict[str, str]] = {
    "standstill": {
        "its gradients become 0": "bfloat16 has the exponents of float32: in both, the same 16 % are 0 (measured).",
        "its updates are rounded away": "An update of 0.0001 is **less than half the way** to the next bfloat16: "
        "of four weights that should move, three stay (measured).",
        "the loss is printed with too few digits": "It is, but the accuracy says the same.",
    },
    "counting": {
        "5000": "“5,000 is far below 65,504”? Range is not precision: from 2,048 on, float16 goes in steps of two.",
        "2048": "2,049 is **halfway between two neighbours**. A tie goes to the one whose last bit is 0: back to "
        "2,048, each time.",
        "65504": "That is the largest number; the counter stops long before.",
    },
    "counting_on": "With 7 fraction bits there are **steps of two from 256 on**: 257 is a tie, and goes to 256.",
    "vanish": {
        "hardly any": "“6 · 10⁻⁸ is small enough”? A result's gradient is 2 · error / 524,288: about 3 · 10⁻⁹.",
        "about half": "The gradients of the product `x @ w` are all below 3 · 10⁻⁸; they become 0 on the way to `w`.",
        "all": "A small error **divided by half a million** is below half of the smallest float16. So nothing comes "
        "back to `w`.",
    },
    "window": "Below 2¹⁰ more of the small ones **become 0**; from 2³³ on the largest of `w` are beyond 65,504.",
    "skipped": {
        "an error is raised": "An operation on float16 raises none: what is too large becomes inf.",
        "the weights become inf or nan": "They would, if the step were made. The scaler looks at the gradients first.",
        "the step is skipped": "Gradients times 2⁴⁴ overflow: the scaler **leaves the step out and halves the scale**, "
        "until they fit.",
    },
    "outlier": {
        "as large as before": "“8 bits are 8 bits”? The step is the largest weight divided by 127.",
        "about 50 times as large": "The step is **the largest weight divided by 127**: from 0.19 / 127 to 10 / 127.",
        "about 200 times as large": "“10 is 200 times 0.05”? The step follows the largest weight, which was 0.19.",
    },
    "float8": {
        "smaller": "A float8's steps **grow with the number**, so small weights keep small steps beside a large one.",
        "about the same": "The bits are as many, but they are spent otherwise: four of them on the exponent.",
        "larger": "Near the largest weight its steps are larger than those of int8. These weights are small.",
    },
    "crossover": "Just below 0.3 (measured). Then **the steps of int8** are no larger than those of float8 near most "
    "weights.",
    "whole": "323: steps of 100 / 127 round **every other weight of the layer to 0**. With one for each row, it is 21 "
    "(measured).",
    "moves_right": "Before the step, in float32, the gradients are **divided by the same scale** again.",
    "range_or_digits": "bfloat16 has **the exponents of float32**, so nothing more became 0. Small updates need "
    "digits: weights in float32.",
    "rows": "Those in the row of the 10: **each row has a step of its own**, and only this one is large.",
}
