"""Programs: what a function did to arrays, recorded once, made shorter, and run again as generated code."""

from .api import Compiled, compile, traces
from .cost import Cost, cost_of, table
from .interpret import interpret
from .ir import Equation, Program, Var
from .passes import optimised
from .running import Trace
from .trace import TraceError, trace

__all__ = [
    "Compiled", "Cost", "Equation", "Program", "Trace", "TraceError", "Var", "compile", "cost_of", "interpret",
    "optimised", "table", "trace", "traces",
]  # fmt: skip
