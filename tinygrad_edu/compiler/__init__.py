"""Programs: what a function did to arrays, recorded once, shown as a listing and run again."""

from .interpret import interpret
from .ir import Equation, Program, Var
from .trace import TraceError, trace

__all__ = ["Equation", "Program", "TraceError", "Var", "interpret", "trace"]
