"""From a program to one Python function that asks a device for one kernel after the other.

A kernel of several equations is one launch (`Backend.fused`), and what nobody reads any more is let go at once. With
``replay`` the host gives one command for all kernels, as a CUDA graph does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..backends import Backend
from ..backends.proxy import OPERATORS
from ..common.lines import Line
from . import cuda_code
from .cost import cost_of, flops_of
from .interpret import function_of, interpret
from .ir import Equation, Program, Var
from .passes import VIEWS
from .source import Origin, named

MOST = 5  # operations in the name of a kernel


class DeviceCode:
    """A generated function for one device, with its source. ``run(*inputs)`` gives the outputs."""

    def __init__(
        self, program: Program, device: Backend, replay: bool = False, line_of: Mapping[Var, Line] | None = None
    ) -> None:  # fmt: skip
        self.program, self.device, self.replay, self.origin = program, device, replay, Origin(line_of or {})
        self.fallbacks: list[str] = []
        self.kernels: list[Any] = []
        self.constants: dict[str, Any] = {}
        self.source = "\n".join(self._lines())
        namespace = dict(self.constants)
        exec(compile(self.source, named(self.source, self), "exec"), namespace)
        self._run: Callable[..., Any] = namespace["run"]

    @property
    def calls(self) -> int:
        """How many kernels the host launches."""
        return cost_of(self.program).launches

    def run(self, *arrays: Any) -> Any:
        """The outputs, for inputs on the device."""
        if not self.replay:
            return self._run(*arrays)
        with self.device.replay():
            return self._run(*arrays)

    def _lines(self) -> list[str]:
        program = self.program
        last = {var: i for i, one in enumerate(program.equations) for var in one.reads}
        lasting = {*program.inputs, *program.outputs}
        lines = [f"def run({', '.join(map(str, program.inputs))}):"]
        for i, equation in enumerate(program.equations):
            lines += [f"    # {line}" for line in self.origin.lines(equation)]
            lines.append(f"    {', '.join(map(str, equation.outs))} = {self._call(equation, lasting)}")
            gone = {v for v in (*equation.reads, *equation.outs) if last.get(v, i) <= i} - lasting
            if gone:
                lines.append(f"    del {', '.join(sorted(map(str, gone)))}")
        outputs = ", ".join(map(str, program.outputs))
        return [*lines, f"    return ({outputs}{',' * (len(program.outputs) == 1)})", ""]

    def _call(self, equation: Equation, lasting: set[Var]) -> str:
        if equation.name == "copy" and isinstance(equation.args[0], np.ndarray) and equation.out not in lasting:
            return self._word(equation.args[0])  # a constant, which nobody writes to
        if equation.body is None:
            stem = equation.name if equation.name not in OPERATORS else f"{equation.name}_"
            function = self._name(function_of(equation, self.device.xp), stem)
            return f"{function}({', '.join(map(self._word, equation.args))})"
        constants, body = _apart(equation.body)
        run = self._compiled(body) or self._fused(body)
        found = f"{self._name(run, 'kernel')}({', '.join(map(self._word, (*equation.args, *constants)))})"
        return found if len(equation.outs) > 1 else f"{found}[0]"

    def _compiled(self, body: Program) -> Callable[..., Any] | None:
        """The body in the device's own language, where it takes that and there is a form for each part."""
        written = cuda_code.source(body) if self.device.compiles else None
        if written is None:
            return None
        return self.device.elementwise("_".join(["edu", *_names(body)[:MOST]]), *written, cuda_code.PREAMBLE)

    def _fused(self, body: Program) -> Callable[..., Any]:
        """The body as the device does it, in one kernel if it can."""
        flops, parts = sum(map(flops_of, body.equations)), _names(body)
        names = "+".join(parts if len(parts) <= MOST else [*parts[:MOST], "…"])
        return lambda *arrays: self.device.fused(
            names, lambda xp, *given: interpret(body, *given, xp=xp), arrays, flops
        )

    def _word(self, value: Any) -> str:
        """A value in the source. Arrays that were there before the program are brought to the device now, once."""
        if isinstance(value, Var):
            return str(value)
        if isinstance(value, tuple):
            return f"({', '.join(map(self._word, value))}{',' * (len(value) == 1)})"
        if isinstance(value, slice):
            return f"slice({', '.join(map(self._word, (value.start, value.stop, value.step)))})"
        if isinstance(value, np.ndarray):
            return self._name(self.device.from_numpy(value), "c")
        return repr(value) if value is None or type(value) in (bool, int, str) else self._name(value, "c")

    def _name(self, value: Any, stem: str) -> str:
        name = next((name for name, known in self.constants.items() if known is value), None)
        if name is None:
            name = f"{stem}_{len(self.constants)}"
            self.constants[name] = value
        return name


def _names(body: Program) -> list[str]:
    return [one.name for one in body.equations if one.name not in VIEWS]


def _apart(body: Program) -> tuple[list[Any], Program]:
    """The arrays that a body holds itself, and the body with inputs in their place: they have to be on the device."""
    constants: list[Any] = []
    numbers = [var.number for one in body.equations for var in (*one.outs, *one.reads)]
    inputs = list(body.inputs)

    def part(tree: Any) -> Any:
        if isinstance(tree, np.ndarray):
            constants.append(tree)
            inputs.append(Var(max(numbers) + len(constants), tree.shape, tree.dtype))
            return inputs[-1]
        return tuple(map(part, tree)) if isinstance(tree, tuple) else tree

    equations = tuple(Equation(one.outs, one.name, part(one.args)) for one in body.equations)
    return constants, Program(tuple(inputs), equations, body.outputs)
