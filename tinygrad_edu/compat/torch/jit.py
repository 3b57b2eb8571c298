"""`tinygrad_edu.jit`, where a scripted module can be saved.

PyTorch compiles a module's source, for any input. Here a program is recorded for one shape. So what is saved is the
program for the input of the last call; before a call, for one row of what the module's first layer takes.
"""

from __future__ import annotations

from typing import Any

from ... import jit as _jit
from ...errors import ArgumentError
from ...jit import Traced, load, trace
from ...nn import Linear, Module
from ...nn.modes import modes_kept
from ...tensor import Tensor
from ...tensor.creation import zeros

__all__ = ["ScriptModule", "load", "save", "script", "trace"]


class ScriptModule(Module):
    """A module that runs by programs, and remembers what it was last given."""

    def __init__(self, module: Module) -> None:
        super().__init__()
        self.original = module
        object.__setattr__(self, "_compiled", _jit.script(module))
        object.__setattr__(self, "_seen", None)

    def forward(self, *args: Any) -> Any:
        if all(isinstance(one, Tensor) for one in args):
            object.__setattr__(self, "_seen", [zeros(one.shape, dtype=one.dtype, device=one.device) for one in args])
        return self._compiled(*args)

    def traced(self) -> Traced:
        """The program for the input of the last call, or for one row. Raises `ArgumentError` where nothing tells which.

        It is that of inference: in training mode PyTorch's saved modules would still drop out, and this one would not.
        """
        with modes_kept(self.original):
            self.original.eval()
            return _jit.trace(self.original, self._seen or self._row())

    def _row(self) -> list[Tensor]:
        first = next((one for one in self.original.modules() if not list(one.children())), None)
        if isinstance(first, Linear):
            return [zeros(1, first.in_features, dtype=first.weight.dtype, device=first.weight.device)]
        why = f"its first layer, {type(first).__name__}, does not tell what the module takes"
        raise ArgumentError("jit.save of a scripted module that was never called", why, "call it once before")

    def save(self, f: Any) -> None:
        """`jit.save` of this."""
        save(self, f)


def script(obj: Any, optimize: Any = None, _frames_up: int = 0, _rcb: Any = None, example_inputs: Any = None) -> Any:
    """A function or module that runs by programs only; see `tinygrad_edu.jit.script`."""
    if isinstance(obj, Module) and example_inputs is None:
        return ScriptModule(obj)
    return _jit.script(obj, example_inputs)


def save(m: Any, f: Any) -> None:
    """Write a traced program, or that of a scripted module, to a file; see `tinygrad_edu.jit.save`."""
    _jit.save(m.traced() if isinstance(m, ScriptModule) else m, f)
