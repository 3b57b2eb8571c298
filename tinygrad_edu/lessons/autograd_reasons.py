"""Why the predictions of lesson 3 come out as they do: for each choice the reason why it is right, or why not."""

from __future__ import annotations

AUTOGRAD: dict[str, str | dict[str, str]] = {
    "tenth": {
        "fall and stay near zero": "“A smaller rate cures it” is wrong here: the losses are near zero at step 11, and "
        "at their old height by step 23.",
        "fall, and climb as high again, only later": "The rate sets how fast and how high the loss swings. "
        "At the bottom **something else goes on pushing**, whatever the rate.",
        "fall too slowly to come near zero": "A tenth of the rate is still enough: at step 11 the loss is near zero.",
    },
    "too_large": {
        "fall and stay near zero": "“Once the loop is right, any rate will do” is wrong: a step can overshoot.",
        "swing at one height": "The swing came from following the sum of all old gradients. Each step now "
        "follows its own loss alone.",
        "grow without end": "Each step jumps over the bottom and **lands higher** on the other side. There it is "
        "steeper.",
    },
    "meet": {
        "the first": "It is kept, but a nudge of `w` moves the error too, and that effect would be missing.",
        "the second": "“A new gradient replaces the old one” is wrong: a nudge of `w` still moves the penalty, too.",
        "their mean": "A mean would count each path half. The nudge acts through both of them in full.",
        "their sum": "A nudge of `w` changes the loss along **both paths**, so both effects count.",
    },
    "twice": {
        "0": "No call takes anything away, and two gradients of 6 have the same sign.",
        "6": "“`backward` starts from zero” is a common belief. Each call gives 6, and nobody took the first away.",
        "12": "`backward` **adds** to what `.grad` holds; it never empties it.",
        "36": "Separate calls never multiply their gradients.",
    },
    "halves": {
        "half as large": "Two gradients are added, each about as large as the whole one. Nothing makes them smaller.",
        "the same": "It would be the same if each loss were a sum over its samples. Here it is a mean.",
        "twice as large": "Each half's mean divides by 4, not by 8, so every sample **counts double**.",
    },
    "saved": "∂w of `w * x` is x, and ∂x is w: **it needs both**. The derivatives of a difference are always 1 and −1.",
    "pushed": "`.grad` held **the sum of all slopes so far**. A slope of zero takes nothing away. A smaller rate makes "
    "the same swing slower.",
    "cleared": "Gradients of two steps must not add up; those of two parts of **one loss** must. Cleared between them, "
    "only the last part is left.",
    "stretched": "The gradients of all reads of a number **are added**, along the axes that were stretched or added.",
    # further
    "buffers": {
        "1": "A gradient has numbers of its own: it cannot be in the bytes of `v`.",
        "2": "`detach` gives a new tensor over the **same bytes**; a gradient has its own.",
        "3": "`detach` makes a new tensor, but no new buffer: nothing is copied.",
    },
    "momentum": {
        "reach the bottom and stay": "It would have to forget old gradients to come to rest. With 1.0 it forgets none.",
        "are those of the broken program": "Momentum 1.0 **keeps the sum of all gradients so far**, which is what "
        "`.grad` held in the broken program.",
        "grow at every step": "The pull towards the bottom turns it round each time: it swings, and does not grow.",
    },
    "cost_small": "NumPy's own call for one number is already slow, so **the node** adds only a little.",
    "cost_large": "The arithmetic grows and **the node does not**, so the node no longer shows.",
    "cost_saved": "Each node **keeps its operand**, so every product needs fresh memory instead of reusing old memory.",
}
