"""Right answers and usual wrong ones for lesson 4, on writing in place."""

from __future__ import annotations

from typing import Any

import numpy as np

import tinygrad_edu as tg


def _fit(read: str, after: str = "", *, start: str = "", step: str = "", end: str = "return w.item(), losses") -> str:
    """The source of a fit: what happens when a block is read and used, and around it."""
    step = step or "w.grad = None\n        loss.backward()\n        with tg.no_grad():\n            w -= lr * w.grad"
    return f"""
def fit(read_into, loads, steps=40, lr=0.05):
    buffer = np.empty(3, dtype="float32")
    x = tg.from_numpy(buffer)
    w = tg.tensor(0.0, requires_grad=True)
    losses = []
    for _ in range(steps):
        loss = 0.0
        {start or "pass"}
        for block, load in enumerate(loads):
            {read}
            loss = loss + ((w * x - tg.tensor(load)) ** 2).mean()
            {after or "pass"}
        {step}
        losses.append(0.0)
    {end}

answer = fit"""


READ = "read_into(buffer, block); "
STEP = "with tg.no_grad(): w -= lr * w.grad"
ALONE = "loss = ((w * x - tg.tensor(load)) ** 2).mean(); loss.backward()"

MUTATION_SOLUTIONS: dict[str, str] = {
    "reader": _fit(READ + "x = tg.tensor(buffer)"),
    "holders": 'answer = "bdf"',
    "layer": """
def layer(x, w):
    h = x @ w
    h += 0.5
    h = h.sigmoid()
    h = h * 2
    h -= h.mean()
    return h

answer = layer""",
    "switches": 'answer = "cabd"',
    "decay": """
def decay(rate, hours):
    levels = [tg.ones_like(rate)]
    for _ in range(hours):
        levels.append(levels[-1] * rate)
    return tg.stack(levels)

answer = decay""",
    "quiz_mutation": 'answer = "bcab"',
}


def made(source: str) -> Any:
    """The answer that a source gives."""
    scope: dict[str, Any] = {"np": np, "tg": tg}
    exec(source, scope)
    return scope["answer"]


def _layer(lines: str) -> Any:
    body = "".join(f"    {line}\n" for line in lines.split("; "))
    return made(f"def layer(x, w):\n{body}answer = layer")


def _decay(line: str, end: str = "return level", start: str = "level = tg.zeros(hours + 1, dtype='float64')") -> Any:
    return made(f"""
def decay(rate, hours):
    {start}
    level[0] = 1.0
    for i in range(hours):
        {line}
    {end}
answer = decay""")


MUTATION_ALSO_RIGHT: dict[str, list[Any]] = {
    "reader": [
        made(_fit(READ + "x = tg.from_numpy(buffer.copy())")),
        made(_fit(READ + "x = tg.from_numpy(buffer).clone()")),
        made(_fit("buffer = np.empty(3, dtype='float32'); " + READ + "x = tg.from_numpy(buffer)")),
        made(_fit(READ, "loss.backward(); loss = 0.0", start="w.grad = None", step=STEP)),
        made(_fit(READ + "x = tg.tensor(buffer)", end="return w")),
        made(_fit(READ + "x = tg.tensor(buffer)", end="return [w.item(), losses]")),
    ],
    "holders": [["b", "d", "f"], {"b", "d", "f"}, "B, D, F", "fdb"],
    "layer": [
        _layer("h = x @ w; h += 0.5; h = 2 * h.sigmoid(); h -= h.mean(); return h"),
        _layer("h = x @ w; h += 0.5; h.sigmoid_(); h = h * 2; h -= h.mean(); return h"),
        _layer("h = (x @ w).add_(0.5).sigmoid() * 2; return h.sub_(h.mean())"),
        _layer("h = x @ w; h += 0.5; h = h.sigmoid(); m = 2 * h.mean(); h = h * 2; h -= m; return h"),
    ],
    "decay": [
        _decay("level[i + 1] = level[i].clone() * rate"),
        made("def decay(rate, hours): return rate ** tg.arange(hours + 1)\nanswer = decay"),
        made("def decay(rate, hours): return tg.stack([rate ** i for i in range(hours + 1)])\nanswer = decay"),
    ],
    "switches": ["CABD", "c, a, b, d"],
    "quiz_mutation": ["b c a b"],
}

MUTATION_WRONG: dict[str, list[tuple[Any, str]]] = {
    "reader": [
        (made(_fit(READ)), "still refused"),
        (made(_fit(READ + "x = tg.from_numpy(buffer)")), "still refused"),
        (made(_fit("with tg.guard.off(): " + READ).replace("    for _ in", "    for _ in", 1)), "still refused"),
        (
            made(_fit(READ).replace("def fit(", "@tg.guard.off()\ndef fit(")),
            "A switched-off guard only hides that",
        ),
        (made(_fit(READ + "x = tg.tensor(buffer)", "w.grad = None; loss.backward(); loss = 0.0", step=STEP)), "alone"),
        (
            made(
                _fit(
                    READ + "x = x if block and len(losses) < 0 else tg.tensor(buffer)",
                    step=f"w.grad = None; {ALONE}\n        {STEP}",
                )
            ),
            "the last block alone",
        ),
        (
            made(_fit("x = tg.tensor(buffer); " + READ).replace("np.empty(3, ", "np.zeros(3, ")),
            "each block meets the loads of the other one",
        ),
        (
            made(
                _fit(
                    READ + "x = tg.tensor(buffer)", f"w.grad = None; {ALONE}; {STEP}; loss = 0.0", step="pass"
                ).replace(f"; {STEP}; loss = 0.0", f"\n            {STEP}\n            loss = 0.0")
            ),
            "w moves after each block",
        ),
        (
            made(
                _fit(
                    READ + "x = tg.tensor(buffer)", "loss.backward(retain_graph=True)", start="w.grad = None", step=STEP
                )
            ),
            "the first block counts twice",
        ),
        (made(_fit(READ + "x = tg.tensor(buffer)", "loss = loss.detach()", start="")), "cut the graph"),
        (made(_fit(READ + "x = tg.tensor(buffer)", step="w.grad = None\n        " + STEP)), "w.grad is None"),
        (made(_fit(READ + "x = tg.tensor(buffer)", end="pass")), "is there a return?"),
        *(
            (made(_fit(READ).replace("x = tg.from_numpy(buffer)", f"buffer[:] = {old}; x = {copied}")), "copied once")
            for old in ("0", "1", "[3, -1, 2]", "1e20", "float('nan')")
            for copied in ("tg.tensor(buffer)", "tg.from_numpy(buffer.copy())")
        ),
        (lambda *given: (2.0, []), "which are other ones than yours, the factor is 2.000"),
        (made(_fit(READ + "x = 2 * tg.tensor(buffer)")), "Does each step follow the losses of both blocks?"),
        (3, "the function itself"),
    ],
    "holders": [
        ("bdfc", "one is wrong. Look at (c) t.exp(): its derivative is a number that exp has just computed"),
        ("bd", "one is wrong. Look at (f) t * w: w wants a gradient too"),
        ("abdf", "Look at (a) t * 3"),
        ("df", "Look at (b) t ** 2"),
        ("bf", "Look at (d) t.sin()"),
        ("bdef", "Look at (e) t - w"),
        ("bdfg", "Look at (g) t.mean()"),
        ("abcdefg", "4 are wrong"),
        ("", "3 are wrong"),
        (3, "give letters from a to g"),
        ("xyz", "give letters from a to g"),
    ],
    "layer": [
        (_layer("h = x @ w; h += 0.5; h = h.sigmoid(); h *= 2; h -= h.mean(); return h"), "Who wrote into that buffer"),
        (
            _layer("h = x @ w; h += 0.5; h = h.sigmoid(); h *= 2; h = h - h.mean(); return h"),
            "mul_ has overwritten it since",
        ),
        (
            _layer("h = x @ w; h = h + 0.5; h = h.sigmoid(); h = h * 2; h = h - h.mean(); return h"),
            "with 2 more buffers",
        ),
        (
            _layer("h = x @ w; h += 0.5; h = h.sigmoid(); h = h * 2; h = h - h.mean(); return h"),
            "with 1 more buffer than",
        ),
        (_layer("h = x @ w; h += 0.5; h = h.sigmoid().detach(); h *= 2; h -= h.mean(); return h"), "has no graph"),
        (_layer("h = x @ w; h += 0.5; h = h.sigmoid(); h = h * 2; h -= h.detach().mean(); return h"), "another one"),
        (_layer("h = x @ w; h += 0.5; h = h.sigmoid(); h = h * 2; return h"), "the result has changed"),
        (_layer("x *= 2; return x @ w"), "x has changed"),
        (_layer("h = x @ w"), "is there a return?"),
        (3, "the function itself"),
    ],
    "switches": [
        ("aabd", "situation 1: then dropout still drops"),
        ("babd", "Who needs the graph"),
        ("dabd", "situation 1: without a record"),
        ("cbbd", "situation 2: then all fifty are equal"),
        ("ccbd", "situation 2: the recording may stop"),
        ("cdbd", "situation 2: the guard changes"),
        ("caad", "situation 3: a gradient is wanted"),
        ("cacd", "situation 3: dropout should be off"),
        ("cadd", "situation 3: the guard changes no number"),
        ("caba", "situation 4: it learns"),
        ("cabb", "situation 4: eval does not touch arrays"),
        ("cabc", "situation 4: it learns"),
        ("cab", "for each of the four situations"),
    ],
    "decay": [
        (_decay("level[i + 1] = level[i] * rate"), "from which a product has saved a number"),
        (
            _decay("level[i + 1] = level[i] * rate", start="level = tg.zeros(hours + 1)"),
            "from which a product has saved a number",
        ),
        (_decay("level[i + 1] = level[i].detach().clone() * rate"), "the gradient is not"),
        (_decay("level[i + 1] = level[i] * rate.detach()"), "no gradient can reach rate"),
        (_decay("level[i + 1] = level[i].item() * rate"), "the gradient is not"),
        (
            _decay(
                "level[i + 1] = level[i] * rate",
                end="return level.numpy()",
                start="rate = rate.detach(); level = tg.zeros(hours + 1, dtype='float64')",
            ),
            "no gradient can reach rate",
        ),
        (
            made("def decay(rate, hours): return [rate ** i for i in range(hours + 1)]\nanswer = decay"),
            "is halfway",
        ),
        (made("def decay(rate, hours): return rate ** tg.arange(1, hours + 1)\nanswer = decay"), "has shape (3,)"),
        (
            made("def decay(rate, hours): return rate * tg.ones(hours + 1)\nanswer = decay"),
            "the levels begin 1, 0.5, 0.25",
        ),
        (made("def decay(rate, hours): rate ** 2\nanswer = decay"), "is there a return?"),
        (3, "the function itself"),
    ],
    "quiz_mutation": [
        ("acab", "question 1: “output 0"),
        ("ccab", "question 1: gradients"),
        ("baab", "question 2: t reads"),
        ("bbab", "question 2: the guard locks"),
        ("bcbb", "question 3: a sum saves nothing"),
        ("bccb", "question 3: the square saved"),
        ("bcaa", "question 4: eval changes"),
        ("bcac", "question 4: the guard is on"),
        ("bca", "for each of the four questions"),
    ],
}
