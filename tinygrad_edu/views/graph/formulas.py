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
    "square": ("{g} * 2*{0}",),
    "reciprocal": ("-{g} * {out}**2",),
    "rsqrt": ("-{g} * {out}**3 / 2",),
    "expm1": ("{g} * ({out}+1)",),
    "log1p": ("{g} / ({0}+1)",),
    "log2": ("{g} / ({0}*log(2))",),
    "tan": ("{g} * (1 + {out}**2)",),
    "where": ("no gradient", "{g} where {0}", "{g} where not {0}"),
    "maximum": ("{g} where {0} > {1}", "{g} where {1} > {0}"),
    "minimum": ("{g} where {0} < {1}", "{g} where {1} < {0}"),
    "lerp": ("{g} * (1-{2})", "{g} * {2}", "{g} * ({1}-{0})"),
    "clone": ("{g}",),
    "cast": ("{g}, cast back",),
    "sum": ("{g}, spread",),
    "mean": ("{g} / n, spread",),
    "cumsum": ("{g}, sum to the end",),
    "amax": ("{g} at the largest",),
    "amin": ("{g} at the smallest",),
    "matmul": ("{g} @ {1}.T", "{0}.T @ {g}"),
    "linear": ("{g} @ {1}", "{g}.T @ {0}", "{g}.sum(0)"),
    "softmax_cross_entropy": ("{g} * (softmax - 1hot)",),
    "reshape": ("{g}, reshaped",),
    "permute": ("{g}, axes back",),
    "getitem": ("{g}, put back",),
    "expand": ("{g}, summed back",),
}


def formula(op: str, slot: int, mean: bool = False) -> str:
    """The formula for one operand; a plain phrase for ops without one. ``mean``: the op averages its n results."""
    lines = FORMULAS.get(op, ())
    return lines[slot] + " / n" * mean if slot < len(lines) else "from {g}"
