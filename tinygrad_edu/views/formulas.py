"""What each op's backward computes, as a learner would write it. ``{g}`` is the gradient that arrived."""

from __future__ import annotations

# One line per operand. {0} {1} … are the operands' names, {out} the result's.
FORMULAS: dict[str, tuple[str, ...]] = {
    "add": ("{g}", "{g}"),
    "sub": ("{g}", "-{g}"),
    "mul": ("{g} * {1}", "{g} * {0}"),
    "div": ("{g} / {1}", "-{g} * {0} / {1}**2"),
    "pow": ("{g} * {1} * {0}**({1}-1)", "{g} * {out} * log({0})"),
    "neg": ("-{g}",),
    "exp": ("{g} * {out}",),
    "log": ("{g} / {0}",),
    "sqrt": ("{g} / (2*{out})",),
    "sin": ("{g} * cos({0})",),
    "cos": ("-{g} * sin({0})",),
    "tanh": ("{g} * (1 - {out}**2)",),
    "sigmoid": ("{g} * {out} * (1-{out})",),
    "relu": ("{g} * ({out} > 0)",),
    "abs": ("{g} * sign({0})",),
    "sum": ("{g}, spread",),
    "mean": ("{g} / n, spread",),
    "matmul": ("{g} @ {1}.T", "{0}.T @ {g}"),
    "linear": ("{g} @ {1}", "{g}.T @ {0}", "{g}.sum(0)"),
    "softmax_cross_entropy": ("{g} * (softmax - 1hot)",),
    "reshape": ("{g}, reshaped",),
    "permute": ("{g}, axes back",),
    "getitem": ("{g}, put back",),
}


def formula(op: str, slot: int) -> str:
    """The formula for one operand; a plain phrase for ops that have none here."""
    lines = FORMULAS.get(op, ())
    return lines[slot] if slot < len(lines) else "from {g}"
