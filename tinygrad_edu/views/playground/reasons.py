"""The one sentence of a playground: why the numbers are as they are now."""

from __future__ import annotations

import math

from ...common.wording import exact, plural, ratio_text
from .model import DEVICE_METERS, HABITS, METERS, PRECISIONS, SAME, UNCLEAR, Change, Glance, PlayState, Reading

FAR = 1.25  # times the loss before training: above it, training has made the network worse


def broken(glance: Glance) -> bool:
    """Whether training has left the numbers that float32 has."""
    return not math.isfinite(glance.now.test_loss) or not math.isfinite(glance.greatest)


def why(state: PlayState) -> str:
    """The one sentence."""
    glance, knobs = state.glance, state.glance.knobs
    other = next(iter(PRECISIONS.intersection(glance.habits) - {state.asking}), "")
    if state.asking in PRECISIONS and other:
        return f"It takes the place of **{HABITS[other].label}**: a network has one dtype."
    if state.asking:
        return HABITS[state.asking].before.format(batch=knobs.batch)
    if broken(glance):
        return "Each step went **too far** and made the next gradient larger, until weights were no numbers any more."
    if glance.change is not None:
        return _switched(glance, glance.change)
    if glance.step and glance.now.training_loss > FAR * glance.curve[0].training_loss:
        rate = f"{knobs.learning_rate:g}"
        return f"At a learning rate of {rate} each step **goes too far**: the loss is higher than before training."
    if glance.step and knobs.activation == "none" and knobs.depth:
        count = knobs.depth + 1
        return f"Without an activation, {count} linear layers compute no more than **one linear layer** can."
    if glance.step and knobs.noise and glance.now.training_accuracy > 1 - knobs.noise + 0.02:
        return f"{knobs.noise:.0%} of the labels are wrong, and the network has begun to **learn them by heart**."
    return f"Each step reads {plural(knobs.batch, 'digit')} and moves the weights a little **against their gradients**."


def _switched(glance: Glance, change: Change) -> str:
    batch, now, was = glance.knobs.batch, glance.reading, change.was
    if not change.on:
        return "The step is **the usual one** again, with the work and the memory that it had before."
    if change.habit in ("one sample", "loop") and batch == 1:
        return "The batch is **one digit**: there is nothing to put together, so both ways need about as many calls."
    counted, there = _counted(now, was), bool(glance.machine)
    if change.habit == "total" and _programmed(glance):
        return "The program gives each loss **without a graph**: `total` holds a number, and no nodes behind it."
    if change.habit == "compiled" and not _programmed(glance):
        if "loop" in glance.habits:
            return (
                "The loop reads labels **as Python's numbers**, which no program can repeat: the step runs as written."
            )
        return "The compiler has **no program** for such a step: it runs as it is written, and nothing changes."
    return {
        "one sample": f"Every **call** pays to start, and {batch} rows one at a time need more of them{counted}.",
        "float64": f"The simulated {glance.machine} multiplies numbers of 8 bytes **more slowly** than numbers of 4."
        if there and (now.time or 0) > (1 + SAME) * (was.time or 0)
        else "Every number takes **8 bytes instead of 4**, in weights, activations and gradients.",
        "bfloat16": "A number of the network takes **2 bytes instead of 4**, and an update below a 512th of its weight "
        "is rounded away.",
        "autocast": f"Weights, biases, digits and scores are **cast**, in training and for test digits{counted}.",
        "total": "`total` holds **the graph of every step** of this pass; but no step waits for a number any more."
        if there
        else "Each `loss` brings its graph: `total` holds **the nodes of every step** of this pass. "
        "`backward` has freed their arrays.",
        "evaluation": "`test_loss` holds **a graph that no `backward` will read**, with all that its nodes have saved.",
        "zeros": f"Old gradients **stay alive** during forward, are filled with zeros, then added to{counted}.",
        "copies": "`clone()` writes **every byte of the batch** once more, and the copy lives until the step ends.",
        "loop": f"Each row makes **operations and nodes of its own**{counted}.",
        "moves": "Images and labels **cross to the device** in every step, and the host waits for both."
        if there
        else "The CPU reads **the host's memory** itself: each batch is there already, and nothing moves.",
        "compiled": "Forward and backward are **recorded once**. From then on a program runs their kernels, and makes "
        "no graph.",
    }[change.habit]


def _programmed(glance: Glance) -> bool:
    """Whether a step runs as a program. A loop over labels has none, which is known before it is tried."""
    return "compiled" in glance.habits and "loop" not in glance.habits and not glance.refused


# What moves a meter, or leaves it where it was, by habit and zone: said only if the meter is in that zone.
CAUSES: dict[str, dict[str, dict[str, str]]] = {
    "one sample": {
        "time": {"up": "each call takes time to start, and there are more calls"},
        "bytes": {
            "down": "the activations of one digit are alive at a time, not those of the whole batch",
            "up": "from the second digit on, its gradients are alive besides the sum of those before; "
            "the activations of so small a batch were less",
        },
        "nodes": {"same": "the graph of each digit is let go before the next, and only the last one is left"},
        "operations": {"up": "each digit is taken out, and makes the calls that the batch made once"},
    },
    "float64": {
        "time": {
            "up": "the calls are the same, but each reads and writes twice the bytes",
            "same": "the calls are the same, and on arrays as small as these, starting them is most of the time",
        },
        "bytes": {"up": "each number takes 8 bytes instead of 4"},
        "nodes": {"same": "the graph has the same operations"},
        "operations": {"same": "the calls are the same, only their numbers are wider"},
    },
    "bfloat16": {
        "time": {
            "up": "the calls are the same, but this CPU computes in 32 bits: operands are cast there, and results back",
        },
        "bytes": {"down": "weights, activations and gradients take 2 bytes a number; the copies in 4 are not counted"},
        "nodes": {"same": "the graph has the same operations"},
        "operations": {"same": "the calls are the same, only their numbers are narrower"},
    },
    "autocast": {
        "time": {"up": "each cast is one more call, and this CPU computes in 32 bits: results are cast once more"},
        "bytes": {
            "down": "activations take 2 bytes a number instead of 4, which is more than the 16-bit copies add",
            "same": "the 16-bit copies of weights and digits add about what the activations save",
            "up": "16-bit copies of weights and digits are alive besides the originals, and the activations are few",
        },
        "nodes": {"up": "each cast is a node"},
        "operations": {
            "up": "weights, biases, digits and scores are cast, for test digits too; gradients are cast back"
        },
    },
    "total": {
        "time": {"same": "adding to the total is one small call more, and keeping nodes alive takes no time"},
        "bytes": {"same": "backward has freed the arrays that the nodes had saved; without it they would pile up too"},
        "nodes": {"up": "each step adds its nodes, until the pass ends"},
        "operations": {"up": "adding two tensors is a call; adding two numbers is none"},
    },
    "evaluation": {
        "time": {
            "up": "the calls are the same, but each one is recorded as a node",
            "same": "the calls are the same, and recording a node takes little beside a call",
        },
        "bytes": {"up": "the graph of the test loss keeps the arrays that it has saved"},
        "nodes": {"up": "the test loss has a graph too"},
        "operations": {"same": "the calls are the same, only recorded"},
    },
    "zeros": {
        "time": {"up": "each call takes time to start, and each gradient is filled and added to besides"},
        "bytes": {"up": "the old gradients stay alive during forward"},
        "nodes": {"same": "the graph has the same operations"},
        "operations": {"up": "each gradient is filled with zeros, and then added to"},
    },
    "copies": {
        "time": {
            "up": "images and labels are each copied by one more call",
            "same": "the two more calls copy few bytes, and are little beside the others",
        },
        "bytes": {"up": "the copy of the batch is alive as well"},
        "nodes": {"same": "copying needs no gradient"},
        "operations": {"up": "images and labels each need one more call"},
    },
    "loop": {
        "time": {"up": "each call takes time to start, and there are more calls"},
        "bytes": {"same": "the arrays of a row are small beside those of the layers"},
        "nodes": {"up": "each row has nodes of its own"},
        "operations": {"up": "each row makes calls of its own"},
    },
    "moves": {
        meter: {"same": "for the CPU, the batch is where it must be, and `to` gives it back as it is"}
        for meter in METERS
    },
    "compiled": {
        "time": {
            "down": "kernel follows kernel: nothing looks up shapes, makes nodes or asks for memory between them",
            "same": "the products take most of the time, and they are the same",
        },
        "bytes": {
            "up": "the memory that the program works in is made with it, and kept from step to step",
            "same": "the memory that the program keeps is little more than what the operations held",
        },
        "nodes": {"down": "the program computes the gradients too, and gives the loss without a graph"},
        "operations": {
            "up": "each kernel of the program counts: a layer or the cross entropy was one operation, and is several",
            "same": "a layer and the cross entropy are several kernels, and others have become one",
            "down": "operations that follow each other element by element have become one kernel",
        },
    },
}
_WAIT = "waiting for the loss is a smaller part of so long a step"
_LAUNCHED = "they are short kernels, and the device waits while the host launches each"

# The same on a simulated device, where it is another cause.
ON_DEVICE: dict[str, dict[str, dict[str, str]]] = {
    "one sample": {
        "time": {
            "up": "the host launches more kernels, and waits for the loss of each digit",
            "same": "a batch of one digit is one sample already",
        },
        "transfers": {
            "up": "the loss of each digit is read, and goes to the host",
            "same": "a batch of one digit has one loss to read",
        },
        "idle": {"up": "kernels for one digit are shorter, and launching them is not"},
    },
    "float64": {
        "time": {
            "up": "products in float64 take this machine longer than the host takes to launch them",
            "same": "the host launches the same kernels, and the device keeps up with it",
        },
        "transfers": {"same": "the loss is read once a step, as before"},
        "idle": {
            "down": "its kernels take longer, and launching them does not",
            "same": "kernels as small as these take this machine hardly longer in float64",
        },
    },
    "bfloat16": {
        "time": {
            "up": "the optimiser computes in 32 bits: its casts are more kernels to launch, and no operations",
            "same": "the host launches hardly more kernels, and the device keeps up with it",
        },
        "transfers": {"same": "the loss is read once a step, as before"},
        "idle": {"up": _LAUNCHED, "down": _WAIT},
    },
    "autocast": {
        "time": {"up": "each cast is one more kernel to launch, and products as small as these gain less by 16 bits"},
        "transfers": {"same": "casts are made on the device"},
        "idle": {"up": _LAUNCHED, "down": _WAIT},
    },
    "total": {
        "time": {
            "down": "no number is read, so the host launches the next step without waiting",
            "same": "waiting for one number was little beside launching the kernels",
        },
        "operations": {"same": "adding two tensors is one call more among many"},
        "transfers": {"down": "the loss stays on the device"},
        "idle": {"down": "the device has work while the loss would have been on its way"},
    },
    "evaluation": {
        "time": {"same": "the same kernels are launched; Python's own work on the nodes is not on this clock"},
        "transfers": {"same": "nobody reads the test loss"},
        "idle": {"same": "the same kernels run"},
    },
    "zeros": {
        "time": {"up": "there are two more kernels to launch for each gradient: one fills it, one adds to it"},
        "transfers": {"same": "the zeros are written by the device itself"},
        "idle": {"up": _LAUNCHED},
    },
    "copies": {
        "time": {"up": "images and labels are each copied by one more kernel, which the host has to launch"},
        "transfers": {"same": "the copy is made on the device, from its own memory"},
        "idle": {"up": _LAUNCHED},
    },
    "loop": {
        "time": {"up": "the host launches kernels for each row"},
        "transfers": {"up": "`labels.tolist()` brings the labels to the host"},
        "idle": {"up": _LAUNCHED, "down": _WAIT},
    },
    "moves": {
        "time": {"up": "the host starts two copies, and waits for each before it goes on"},
        "bytes": {"up": "the batch on the device is alive until the step ends; a view of the digits takes nothing"},
        "nodes": {"same": "moving digits needs no gradient"},
        "operations": {"up": "images and labels each need one more call"},
        "transfers": {"up": "images and labels are two more copies"},
        "idle": {"up": "no kernel of the step can begin before its batch is there"},
    },
    "compiled": {
        "time": {
            "down": "the program has fewer kernels, so that the host has fewer to launch",
            "same": "the host launches fewer kernels, but the device is busy with the products, which are the same",
            "up": "a program computes in 32 bits what is kept in 16, and casts are more kernels to launch",
        },
        "bytes": {
            "down": "what a kernel hands on inside is not stored",
            "same": "what a kernel hands on inside is not stored, but other values wait longer, or all of it is little",
            "up": "values wait longer for the kernels that come last, or stay in 32 bits where they are cast",
        },
        "transfers": {"same": "the loss is read as often as before"},
        "idle": {
            "up": "kernels that have become one are done sooner, and launching one takes as long as before",
            "same": "there is less to wait for, and less to do",
            "down": "the host has fewer kernels to launch, and the device waits less for it",
        },
    },
}

_NO_GRAPH = {"same": "a compiled step leaves no graph, with the habit or without"}

# The same where the step runs as a program.
COMPILED: dict[str, dict[str, dict[str, str]]] = {
    **{habit: {"nodes": _NO_GRAPH} for habit in HABITS if habit != "compiled"},
    "bfloat16": {
        "nodes": _NO_GRAPH,
        "bytes": {"up": "weights take 2 bytes a number, but what the program computes and keeps takes 4"},
        "operations": {"up": "what an operation reads is cast to 32 bits, and what it gives is cast back"},
    },
    "autocast": {
        "nodes": _NO_GRAPH,
        "bytes": {"up": "what is cast is rounded to 16 bits, and the program keeps it in 32, besides the originals"},
    },
    "total": {
        "nodes": {"same": "the program gives the loss without a graph, so there are no nodes to hold"},
        "bytes": {"same": "a number is all that the total holds"},
    },
    "evaluation": {"nodes": {"up": "the test loss has a graph, and the step leaves none"}},
}

# The same where a program was asked for, and the step runs as it is written.
AS_WRITTEN: dict[str, dict[str, dict[str, str]]] = {
    "compiled": {
        meter: {"same": "there is no program for it, and the step runs as it is written"}
        for meter in METERS + DEVICE_METERS
    },
    "loop": {
        "bytes": {
            "up": "there is no program for the loop, and what its kernels handed on inside is stored",
            "down": "there is no program for the loop, and so no memory that one keeps",
        },
        "nodes": {"up": "there is no program for the loop: the graph is back, with nodes for each row"},
        "operations": {"down": "operations count, where the kernels of a program did: those were more"},
    },
    "bfloat16": {
        "time": {"up": "there is no program for it, and casts of the optimiser are more kernels to launch"},
        "nodes": {"up": "there is no program for it: the graph is back"},
        "operations": {"down": "operations count, where the kernels of a program did: those were more"},
    },
}


def cause(state: PlayState, meter: str) -> str:
    """Why a meter stands where it does since a habit was turned on; "" where that is not known."""
    change, found = state.glance.change, state.zone(meter)
    if change is None or not change.on or not found:
        return ""
    compared = state.glance.compared
    if found == UNCLEAR:
        return (
            ""
            if compared is None
            else (
                f"with nothing changed these times differ by up to {compared.scatter:.0%}, and with the habit "
                f"they are from {ratio_text(compared.low)} to {ratio_text(compared.high)} times as long"
            )
        )
    tables = (ON_DEVICE, CAUSES) if state.glance.machine else (CAUSES,)
    if "compiled" in state.glance.habits:
        tables = (COMPILED if _programmed(state.glance) else AS_WRITTEN, *tables)
    known = (table.get(change.habit, {}).get(meter, {}).get(found) for table in tables)
    words = next(filter(None, known), "")
    return words or ("it differs by less than a twentieth" if found == "same" else "")


def _counted(now: Reading, was: Reading) -> str:
    """How many operations there are, and were."""
    if now.operations is None or was.operations is None:
        return ""
    return f": {exact(now.operations)} operations instead of {exact(was.operations)}"
