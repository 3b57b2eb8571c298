"""Why the predictions of lesson 7 come out as they do: for each choice the reason why it is right, or why not."""

from __future__ import annotations

MEMORY: dict[str, str | dict[str, str]] = {
    "grows": {
        "the gradients": "“`backward()` adds, so gradients pile up”? It adds numbers to numbers: `.grad` never "
        "outgrows its parameter.",
        "Adam's state": "Adam makes its two averages in the first step, and then changes their numbers in place.",
        "the list of losses": "Each loss is 4 bytes, but **it holds its graph**, and the graph its activations. In "
        "validation no `backward()` frees them.",
    },
    "few_rows": {
        "activations": "They shrink with the rows: four tanh results of 20 rows take only 80 kB.",
        "gradients": "There is one number for each parameter. Adam keeps two.",
        "parameters": "They do not depend on the rows, but another owner keeps two numbers for each of them.",
        "the optimiser": "Adam keeps **two averages for each parameter**, however few rows there are.",
    },
    "deleted": {
        "all 4 MB": "“`del` frees memory” is a common belief. It removes a name; others may still point at the buffer.",
        "3 MB, all but the last": "The last one is needed first, but backward will need the other three as well.",
        "nothing": "**The graph holds the same buffers** until `backward()` has used them. A name is one holder of "
        "several.",
    },
    "shares": {
        "the same": "It would be, if all parts had as many rows. The last one is shorter.",
        "one in which the last 100 rows count for too little": "They are few, but each of their rows is divided by "
        "100, not by 300.",
        "one in which the last 100 rows count for too much": "Dividing by 4 gives each **part** the same weight, so "
        "100 rows count as much as 300.",
    },
    "moment": "Early in backward **activations and gradients meet**: hardly any of the first has gone, and the second "
    "are being made.",
    "freed": "Where `backward()` has used an activation, **the graph lets go of it**, and no name holds it.",
    "cut": "In the checkpoint, **the arriving gradient waits** until its layers have run again and back, and later "
    "layers' gradients are there. PyTorch frees it sooner.",
    "floor": "Parameters, data, and **two of each gradient**: new ones are added to `.grad` when `backward()` has "
    "ended. PyTorch adds each at once.",
    "batch_norm": "Batch norm uses **mean and spread of its part**, not of the batch. So the parts compute another "
    "function, and no share mends that.",
    "wide": "With 8 rows **the weights and their gradients** are most of the peak, and checkpoints leave them alone.",
    "afterwards": "Then **all graphs are alive at once**, as for the whole batch. `backward()` in each round frees its "
    "own before the next.",
}
