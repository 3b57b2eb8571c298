"""Programs: what a function did to arrays, recorded once, made shorter, and run again as generated code."""

from .api import Compiled, Trace, compile
from .interpret import interpret
from .ir import Equation, Program, Var
from .trace import TraceError, trace

__all__ = ["Compiled", "Equation", "Program", "Trace", "TraceError", "Var", "compile", "interpret", "trace"]
