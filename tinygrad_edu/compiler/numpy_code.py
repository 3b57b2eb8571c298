"""From a program to one Python function of NumPy calls, with all memory that it needs made beforehand.

Results go into buffers (``out=``) that are shared by values that do not live at the same time. Views of buffers are
made once. A kernel over large arrays runs in strips of rows that fit the processor's cache. What has no form with
``out=`` calls the body that it has anyway, and is listed in `Code.fallbacks`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..backends.cpu import XP, is_basic
from ..backends.proxy import OPERATORS
from ..backends.sums import FEW
from ..common.lines import Line
from .interpret import function_of
from .ir import Equation, Program, Var, variables
from .passes import ELEMENTWISE, VIEWS, roots, widest
from .source import Origin, named
from .strips import FEW_COLUMNS, STRIP, STRIPS, shared

UFUNCS: dict[str, Any] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.true_divide, "neg": np.negative,
    "invert": np.invert, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor, "eq": np.equal,
    "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
}  # fmt: skip
UFUNCS |= {name: getattr(XP, name) for name in ELEMENTWISE if isinstance(getattr(XP, name, None), np.ufunc)}
INFIX = {"add": "+", "sub": "-", "mul": "*", "div": "/", "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">",
         "ge": ">=", "and": "&", "or": "|", "xor": "^", "matmul": "@"}  # fmt: skip
REDUCERS = {"sum": np.add, "amax": np.maximum, "amin": np.minimum, "prod": np.multiply}
BITS = {2: np.int16, 4: np.int32, 8: np.int64}


class Code:
    """A generated function, with its source. ``run(*inputs, *destinations)`` gives the outputs.

    ``into`` says which outputs are written to a destination: by their place, whether that is an input of the same
    memory ("input", its place), or an array that is given besides: a new one, in order ("new"), or one that may lie in
    memory in any way ("old").
    """

    def __init__(
        self, program: Program, into: dict[int, tuple[str, int]] | None = None, numba: bool = False,
        strip: int | None = None, threads: int = 1, line_of: Mapping[Var, Line] | None = None,
    ) -> None:  # fmt: skip
        self.origin = Origin(line_of or {})
        self.program, self.into, self.numba, self.threads = program, into or {}, numba, threads
        self.strip = STRIP if strip is None else strip  # bytes
        self.kernels: list[Any] = []  # those that Numba has compiled
        self.fallbacks: list[str] = []
        # How often a run asks NumPy for something: each operation of a kernel counts, its strips do not.
        self.calls = sum(1 for one in program.equations if one.body is None and one.name not in VIEWS)
        self.lines: list[str] = []
        self.constants: dict[str, Any] = {}
        self._names: dict[int, str] = {}
        self._writer = _Writer(self)
        self.source, self.run = self._writer.finish()

    @property
    def buffer_bytes(self) -> int:
        """The memory that it keeps from call to call."""
        return sum(slab.nbytes for slab in self.slabs)

    @property
    def slabs(self) -> list[Any]:
        """That memory."""
        return self._writer.slabs

    def name_of(self, value: Any, stem: str) -> str:
        """The name of a constant of the generated function."""
        name = self._names.get(id(value))
        if name is None:
            name = self._names[id(value)] = f"{stem}{len(self.constants)}"
            self.constants[name] = value
        return name


class _Writer:
    """Writes the lines, and plans the memory."""

    def __init__(self, code: Code) -> None:
        self.code, self.program = code, code.program
        self.slabs: list[Any] = []
        self.free: dict[int, list[int]] = {}  # slabs by their bytes
        self.slab_of: dict[Var, int] = {}  # of variables whose memory is static, and of their views
        self.static: dict[Var, Any] = {}  # arrays known now
        self.text: dict[Var, str] = {}  # how a variable is written
        self.root = roots(code.program)  # whose memory a view shows
        self.last: dict[Var, int] = {}  # the last equation that reads a variable or a view of it
        self.given: list[str] = []  # names of the destinations
        self.target: dict[Var, str] = {}  # outputs that are computed in a destination

    # The whole -----------------------------------------------------------------------------------------------------

    def finish(self) -> tuple[str, Callable[..., Any]]:
        """The source, and the function."""
        program, code = self.program, self.code
        for i, var in enumerate(program.inputs):
            self.text[var] = f"a{i}"
        self._look_ahead()
        self._choose_targets()
        for i, equation in enumerate(program.equations):
            code.lines.append(f"# {equation.head}")
            code.lines += [f"#   {line}" for line in code.origin.lines(equation)]
            self._write(equation, i)
            self._let_go(equation, i)
        outputs = self._outputs()
        inputs = [f"a{i}" for i in range(len(program.inputs))] + self.given
        names = [*inputs, *(["*"] if code.constants else []), *(f"{name}={name}" for name in code.constants)]
        body = [f"    {line}" for line in [*code.lines, f"return {outputs}"]]
        source = "\n".join([f"def run({', '.join(names)}):", *body, ""])
        namespace: dict[str, Any] = dict(code.constants)
        exec(compile(source, named(source, code), "exec"), namespace)
        return source, namespace["run"]

    def _look_ahead(self) -> None:
        """When each memory is read for the last time."""
        for i, equation in enumerate(self.program.equations):
            for var in equation.reads:
                self.last[self._root(var)] = i
        for var in self.program.outputs:
            self.last[self._root(var)] = len(self.program.equations)

    def _root(self, var: Var) -> Var:
        return self.root.get(var, var)

    def _choose_targets(self) -> None:
        """Outputs that can be computed where they go to."""
        makers = {out: (i, e) for i, e in enumerate(self.program.equations) for out in e.outs}
        taken: set[Var] = set()
        for place, (kind, number) in self.code.into.items():
            var = self.program.outputs[place]
            name = f"a{number}" if kind == "input" else f"d{place}"
            if kind != "input":
                self.given.append(name)
            if var not in makers or var in self.root or var in taken:
                continue
            i, equation = makers[var]
            if kind == "input":
                old = self.program.inputs[number]
                if self.last.get(old, -1) > i or not self._replaces(equation, var, old):
                    continue
            if kind == "old" and not self._goes_anywhere(equation):
                continue
            self.target[var] = name
            taken.add(var)

    def _replaces(self, equation: Equation, var: Var, old: Var) -> bool:
        """Whether its result may be written to the memory of an input: nothing in it reads that later, or as a view."""
        if any(self._root(one) == old and one != old for one in equation.reads):
            return False
        if equation.body is None:
            return equation.name in UFUNCS
        parts = equation.body.equations
        place = next(i for i, one in enumerate(parts) if var in one.outs)
        later = any(old in one.reads for one in parts[place + 1 :])
        simple = all(one.name in ELEMENTWISE for one in parts) and parts[place].name in UFUNCS
        return simple and not later and not self.code.numba

    def _goes_anywhere(self, equation: Equation) -> bool:
        """Whether it can write its result to memory that is not in order. Loops of Numba and BLAS cannot."""
        if equation.body is not None:
            return not self.code.numba and all(one.name in ELEMENTWISE for one in equation.body.equations)
        return equation.name in UFUNCS

    def _outputs(self) -> str:
        """The outputs that are returned; the others are in their destinations by then."""
        written = {self.program.inputs[n] for kind, n in self.code.into.values() if kind == "input"}
        parts, copies = [], []
        for place, var in enumerate(self.program.outputs):
            text, root = self._word(var), self._root(var)
            if place in self.code.into:
                kind, number = self.code.into[place]
                name = f"a{number}" if kind == "input" else f"d{place}"
                if text != name:
                    if root in written:  # the old content of one tensor becomes that of another, which comes first
                        self.code.lines.append(f"w{place} = {text}.copy()")
                        text = f"w{place}"
                    copies.append(f"{self._constant(np.copyto, 'copyto')}({name}, {text})")
                continue
            if root in written:
                self.code.lines.append(f"r{place} = {text}.copy()")
                parts.append(f"r{place}")
                continue
            shared = root in self.static or root in self.target  # views of these show the same memory
            parts.append(f"{text}.copy()" if shared else text)
        self.code.lines += copies
        return f"({', '.join(parts)}{',' * (len(parts) == 1)})"

    # Words ---------------------------------------------------------------------------------------------------------

    def _constant(self, value: Any, stem: str) -> str:
        return self.code.name_of(value, f"{stem}_")

    def _word(self, value: Any) -> str:
        """A value in the source."""
        if isinstance(value, Var):
            return self.text[value]
        if isinstance(value, tuple):
            return f"({', '.join(map(self._word, value))}{',' * (len(value) == 1)})"
        if isinstance(value, slice):
            return f"slice({', '.join(map(self._word, (value.start, value.stop, value.step)))})"
        if value is None or value is Ellipsis or type(value) in (bool, int, str):
            return "..." if value is Ellipsis else repr(value)
        if type(value) is float and math.isfinite(value):
            return repr(value)
        return self._constant(value, "c")

    # Memory --------------------------------------------------------------------------------------------------------

    def _buffer(self, var: Var) -> Any:
        """Static memory for a variable."""
        size = max(math.prod(var.shape) * var.dtype.itemsize, 1)
        known = self.free.get(size)
        if known:
            number = known.pop()
        else:
            number = len(self.slabs)
            self.slabs.append(np.empty(size, np.uint8))
        self.slab_of[var] = number
        array = self.slabs[number][: math.prod(var.shape) * var.dtype.itemsize].view(var.dtype).reshape(var.shape)
        self.static[var] = array
        self.text[var] = self._constant(array, "b")
        return array

    def _let_go(self, equation: Equation, i: int) -> None:
        """Give back the memory that nobody reads after this equation."""
        for var in dict.fromkeys(self._root(one) for one in (*equation.reads, *equation.outs)):
            if self.last.get(var, i) <= i:
                self._give_back(var)

    def _give_back(self, var: Var) -> None:
        if var in self.slab_of:
            number = self.slab_of.pop(var)
            self.free.setdefault(self.slabs[number].nbytes, []).append(number)

    def _destination(self, var: Var) -> str:
        """Where a result is written: a destination, or a buffer."""
        name = self.target.get(var)
        if name is None:
            self._buffer(var)
            return self.text[var]
        self.text[var] = name
        return name

    def _make_room(self, var: Var) -> None:
        """Memory for a result of a kernel: new where it is given away."""
        if not self._escapes(var):
            self._destination(var)
            return
        self.text[var] = f"v{var.number}"
        kind = self._constant(var.dtype, "dtype")
        self.code.lines.append(f"v{var.number} = {self._constant(np.empty, 'empty')}({var.shape}, {kind})")

    def _escapes(self, var: Var) -> bool:
        """Whether the memory of this result is given away, so that it has to be new."""
        return var not in self.target and any(
            self._root(one) == var for place, one in enumerate(self.program.outputs) if place not in self.code.into
        )

    # Equations -----------------------------------------------------------------------------------------------------

    def _write(self, equation: Equation, i: int) -> None:
        if equation.body is not None:
            self._kernel(equation, i)
        elif equation.name in VIEWS and self._view(equation):
            pass
        elif (
            equation.out.dtype.itemsize * math.prod(equation.out.shape) == 0
            or not equation.out.shape
            or self._escapes(equation.out)
            or not self._in_place(equation)
        ):
            self._plainly(equation)

    def _plainly(self, equation: Equation) -> None:
        """As it is: into new memory."""
        out, name, args = equation.out, equation.name, equation.args
        self.text[out] = f"v{out.number}"
        words = [self._word(arg) for arg in args]
        if name == "where" and _is_scalar(equation):
            chosen = [
                self._word(out.dtype.type(arg)) if isinstance(arg, (int, float)) else word
                for arg, word in zip(args, words, strict=True)
            ]
            made = f"{chosen[1]} if {words[0]} else {chosen[2]}"
        elif name == "sum" and self._whole(*args):
            made = f"{self._constant(np.add.reduce, 'add_reduce')}({words[0]}, None, None, None, {args[2]})"
        elif name in INFIX and name != "matmul":
            made = f"{words[0]} {INFIX[name]} {words[1]}"
        elif name == "neg":
            made = f"-{words[0]}"
        elif name == "permute":
            made = f"{words[0]}.T" if args[1] == (1, 0) else f"{words[0]}.transpose({words[1]})"
        elif name == "getitem":
            made = f"{words[0]}[{words[1]}]"
        elif name in OPERATORS or name in UFUNCS:
            made = f"{self._constant(UFUNCS.get(name) or function_of(equation), name)}({', '.join(words)})"
        elif name == "copy":
            made = f"{words[0]}.copy()"
        else:
            if name not in VIEWS and out.shape:
                self.code.fallbacks.append(name)
            made = f"{self._constant(getattr(XP, name), name)}({', '.join(words)})"
        self.code.lines.append(f"{self.text[out]} = {made}")

    def _whole(self, x: Any, axis: Any, keep: bool) -> bool:
        """Whether a sum takes in one whole block of memory, which NumPy adds in pairs."""
        array = self.static.get(x) if isinstance(x, Var) else None
        return axis is None and array is not None and array.flags.c_contiguous and x.dtype.itemsize > 2 and (
            x.dtype.kind == "f"
        )  # fmt: skip

    def _view(self, equation: Equation) -> bool:
        """A view of static memory is made now. False where its memory is not known yet."""
        source = equation.args[0]
        if equation.name == "getitem" and not is_basic(equation.args[1]):
            return False
        if not isinstance(source, Var) or source not in self.static:
            self._plainly(equation)
            return True
        if variables(equation.args[1:]):
            return False
        array = self.static[source]
        made = function_of(equation)(array, *equation.args[1:])
        if not np.may_share_memory(made, array) or made.dtype != array.dtype:
            self.root.pop(equation.out, None)  # a reshape that has to copy
            return False
        self.static[equation.out] = made
        self.text[equation.out] = self._constant(made, "b")
        return True

    def _in_place(self, equation: Equation) -> bool:
        """Into memory that is there. False for what has no such form."""
        method = getattr(self, f"_do_{equation.name}", None)
        if equation.name in UFUNCS:
            return self._ufunc(equation)
        if self.code.numba and equation.name in ("conv", "conv_input", "conv_kernel"):
            return self._convolution(equation)
        return bool(method(equation)) if method is not None else False

    def _emit(self, function: Any, name: str, *words: str) -> bool:
        self.code.lines.append(f"{self._constant(function, name)}({', '.join(words)})")
        return True

    def _ufunc(self, equation: Equation) -> bool:
        words = [self._word(arg) for arg in equation.args]
        to = self._destination(equation.out)
        return self._emit(UFUNCS[equation.name], equation.name, *words, _out(equation.name, to))

    def _do_relu(self, equation: Equation) -> bool:
        zero = self._constant(np.zeros((), equation.out.dtype), "zero")
        return self._emit(
            np.maximum, "maximum", self._word(equation.args[0]), zero, f"out={self._destination(equation.out)}"
        )

    def _do_astype(self, equation: Equation) -> bool:
        word = self._word(equation.args[0])
        return self._emit(np.copyto, "copyto", self._destination(equation.out), word, "'unsafe'")

    def _do_copy(self, equation: Equation) -> bool:
        word = self._word(equation.args[0])
        if isinstance(equation.args[0], np.ndarray):  # a constant, which nobody writes to
            self.static[equation.out] = equation.args[0]
            self.text[equation.out] = self._constant(equation.args[0], "c")
            return True
        return self._emit(np.copyto, "copyto", self._destination(equation.out), word)

    def _do_where(self, equation: Equation) -> bool:
        condition, x, _ = equation.args
        out = equation.out
        if _masks(equation):  # "x or 0": a product, of bits where x may be inf or nan
            words = self._word(x), self._word(condition)
            to = self._destination(out)
            if out.dtype.kind != "f":
                return self._emit(np.multiply, "mul", *words, to)
            bits = BITS[out.dtype.itemsize]
            kind = self._constant(np.dtype(bits), "bits")
            return self._emit(
                np.multiply, "mul", self._bits(x, words[0], bits, kind), words[1], self._bits(out, to, bits, kind)
            )
        words_ = [self._word(one) for one in equation.args]
        to = self._destination(out)
        self._emit(np.copyto, "copyto", to, words_[2], "'unsafe'")
        return self._emit(np.copyto, "copyto", to, words_[1], "'unsafe'", words_[0])

    def _bits(self, var: Var, word: str, bits: Any, kind: str) -> str:
        """The same memory as integers."""
        array = self.static.get(var)
        return self._constant(array.view(bits), "b") if array is not None else f"{word}.view({kind})"

    def _do_matmul(self, equation: Equation) -> bool:
        x, y = equation.args
        out = equation.out
        if not (isinstance(x, Var) and isinstance(y, Var)) or x.dtype != out.dtype or y.dtype != out.dtype:
            return False
        if len(x.shape) == 2 and len(y.shape) == 2:
            words = self._word(x), self._word(y)
            return self._emit(np.dot, "dot", *words, self._destination(out))
        if len(x.shape) < 2 or len(y.shape) < 2:
            return False
        words = self._word(x), self._word(y)
        to = self._destination(out)
        if len(y.shape) == 2 and out in self.static:
            flat = self.static[out].reshape(-1, out.shape[-1])
            source = self.static.get(x)
            rows = (
                self._constant(source.reshape(-1, x.shape[-1]), "b")
                if source is not None and source.flags.c_contiguous
                else f"{words[0]}.reshape(-1, {x.shape[-1]})"
            )
            return self._emit(np.dot, "dot", rows, words[1], self._constant(flat, "b"))
        return self._emit(np.matmul, "matmul", *words, to)

    def _convolution(self, equation: Equation) -> bool:
        """As machine code, where that is better."""
        from .numba_conv import Convolution

        found = Convolution.of(equation)
        if found is None:
            return False
        words = [self._word(arg) for arg in equation.args]
        to = self._destination(equation.out)
        self.code.kernels.append(found)
        self._emit(found.run, equation.name, *words[:2], to)
        if equation.name == "conv_kernel":  # what lies between the rows is multiplied by 0: inf and nan show
            body = f"{self._constant(XP.conv_kernel, 'conv_kernel')}({', '.join(words)})"
            good = f"{self._constant(np.isfinite, 'isfinite')}({to}).all()"
            self.code.lines.append(f"if not {good}: {self._constant(np.copyto, 'copyto')}({to}, {body})")
        return True

    def _do_sum(self, equation: Equation) -> bool:
        x, axis, keep = equation.args
        out = equation.out
        if not isinstance(x, Var) or x.dtype.kind != "f" or x.dtype.itemsize < 4 or x.dtype != out.dtype:
            return False
        if type(axis) is not int or not 0 < x.shape[axis] <= FEW or len(x.shape) != 2:
            return False
        ones = self._constant(np.ones(x.shape[axis], x.dtype), "ones")  # as `backends.sums` does it
        word = self._word(x)
        words = (ones, word) if axis in (0, -2) else (word, ones)
        to = self._destination(out)
        flat = self._constant(self.static[out].reshape(-1), "b") if out in self.static else f"{to}.reshape(-1)"
        return self._emit(np.dot, "dot", *words, flat if keep else to)

    def _reduce(self, equation: Equation) -> bool:
        x, axis, keep = equation.args
        word, out = self._word(x), equation.out
        function = REDUCERS[equation.name].reduce
        if len(x.shape) == 2 and axis in (1, -1) and x.shape[1] <= FEW_COLUMNS:  # NumPy is quicker down the columns
            turned = self._constant(np.empty(x.shape[::-1], x.dtype), "t")
            self._emit(np.copyto, "copyto", turned, f"{word}.T")
            to = self._destination(out)
            flat = self._constant(self.static[out].reshape(-1), "b") if out in self.static else f"{to}.reshape(-1)"
            return self._emit(function, equation.name, turned, "0", "None", flat)
        to = self._destination(out)
        return self._emit(function, equation.name, word, repr(axis), "None", to, repr(keep))

    _do_amax = _do_amin = _reduce

    def _do_concatenate(self, equation: Equation) -> bool:
        words = self._word(equation.args[0]), self._word(equation.args[1])
        return self._emit(np.concatenate, "concatenate", *words, self._destination(equation.out))

    def _do_put(self, equation: Equation) -> bool:
        x, index, values = equation.args
        words = [self._word(one) for one in (x, index, values)]
        to = self._destination(equation.out)
        self._emit(np.copyto, "copyto", to, words[0])
        self.code.lines.append(f"{to}[{words[1]}] = {words[2]}")
        return True

    def _do_scatter_add(self, equation: Equation) -> bool:
        _, index, values = equation.args
        words = [self._word(one) for one in (index, values)]
        to = self._destination(equation.out)
        self.code.lines.append(f"{to}.fill(0)")
        if is_basic(index):
            self.code.lines.append(f"{to}[{words[0]}] = {words[1]}")
            return True
        return self._emit(np.add.at, "add_at", to, *words)

    # Kernels -------------------------------------------------------------------------------------------------------

    def _kernel(self, equation: Equation, i: int) -> None:
        """The equations of a body, one after the other; over large arrays in strips of rows."""
        body = equation.body
        assert body is not None
        if self.code.numba and self._machine_code(equation):
            self.code.calls += 1
            return
        self.code.calls += len(body.equations)
        shape = widest(body.equations[0])
        row = max(math.prod(shape[1:]) * max(e.out.dtype.itemsize for e in body.equations), 1)
        rows = max(self.code.strip // row, 1)
        if row * shape[0] <= STRIPS or rows * 2 > shape[0] or not self._strips(equation, shape, rows):
            outs = set(equation.outs)
            uses = {var: j for j, one in enumerate(body.equations) for var in one.reads}
            for j, one in enumerate(body.equations):
                self._write(one, i)
                for var in dict.fromkeys((*one.reads, *one.outs)):
                    inner = var not in outs and var not in body.inputs
                    if inner and uses.get(var, j) <= j:
                        self._give_back(var)

    def _machine_code(self, equation: Equation) -> bool:
        """The kernel as one loop by Numba. False where there is none."""
        from .numba_code import kernel

        found = kernel(equation)
        if found is None:
            return False
        body = equation.body
        assert body is not None
        words = []
        for var, shape in zip(body.inputs, found.inputs, strict=True):
            array = self.static.get(var)
            if not var.shape and array is None:  # a number
                words.append(
                    f"{self._constant(np.full, 'full')}(1, {self._word(var)}, {self._constant(var.dtype, 'dtype')})"
                )
            else:
                words.append(self._seen_as(var, shape))
        for var, shape in found.outputs.items():
            self._make_room(var)
            words.append(self._seen_as(var, shape))
        words += [self._constant(array, "t") for array in (*found.room, *found.parts.values())]
        self.code.kernels.append(found)
        self._emit(found.run, "kernel", *words)
        self.code.lines += [self._added_up(var, parts) for var, parts in found.parts.items()]
        return True

    def _added_up(self, var: Var, parts: Any) -> str:
        """The line in which the parts of a sum become the sum."""
        self.text[var] = f"v{var.number}"
        return f"v{var.number} = {self._constant(np.add.reduce, 'add_reduce')}({self._constant(parts, 't')})"

    def _seen_as(self, var: Var, shape: tuple[int, ...]) -> str:
        """The same memory in another shape; a copy of what does not lie in order."""
        array = self.static.get(var)
        if array is not None and array.flags.c_contiguous:
            return self._constant(array.reshape(shape), "b")
        return f"{self.text[var]}.reshape({shape})"

    def _strips(self, equation: Equation, shape: tuple[int, ...], rows: int) -> bool:
        """A loop over strips. False where an equation has no form for that."""
        body = equation.body
        assert body is not None
        if any(one.name not in {*UFUNCS, *REDUCERS, "relu", "where", "astype", "sigmoid"} for one in body.equations):
            return False
        lines: list[str] = []
        after: list[str] = []
        words: dict[Var, str] = {}
        for var in body.inputs:
            word = self._word(var)
            sliced = len(var.shape) == len(shape) and var.shape[0] == shape[0]
            words[var] = f"s{var.number}" if sliced else word
            if sliced:
                lines.append(f"s{var.number} = {word}[i:j]")
        for var in equation.outs:
            if len(var.shape) == len(shape):
                self._make_room(var)
                words[var] = f"s{var.number}"
                lines.append(f"s{var.number} = {self.text[var]}[i:j]")
        scratch: dict[tuple[Any, tuple[int, ...]], list[str]] = {}
        memory: list[list[Any]] = []  # of a strip, for each thread
        several = self.code.threads > 1
        uses = {var: j for j, one in enumerate(body.equations) for var in one.reads}
        for j, one in enumerate(body.equations):
            out = one.out
            if len(out.shape) < len(shape):  # a sum of everything: that of all strips
                add, sums = self._constant(np.add.reduce, "add_reduce"), np.empty(-(-shape[0] // rows), out.dtype)
                lines.append(f"{self._constant(sums, 't')}[i // {rows}] = {add}({words[one.args[0]]}, None)")
                after.append(self._added_up(out, sums))
                continue
            if out not in words:
                key = out.dtype, out.shape
                spare = scratch.setdefault(key, [])
                if not spare:
                    made = [np.empty((rows, *out.shape[1:]), out.dtype) for _ in range(self.code.threads)]
                    whole = f"t{len(memory)}" if several else self._constant(made[0], "t")
                    lines.append(f"p{out.number} = {whole}[:n]")
                    memory.append(made)
                    spare.append(f"p{out.number}")
                words[out] = spare.pop()
            given = []
            for k, arg in enumerate(one.args):
                given.append(words[arg] if isinstance(arg, Var) else self._word(arg))
                if isinstance(arg, np.ndarray) and arg.ndim == len(shape) and arg.shape[0] == shape[0]:
                    lines.append(f"c{out.number}_{k} = {given[-1]}[i:j]")
                    given[-1] = f"c{out.number}_{k}"
            lines += self._strip_lines(one, given, words[out])
            for var in dict.fromkeys(one.reads):
                name = words.get(var, "")
                if uses[var] <= j and name.startswith("p"):
                    scratch[var.dtype, var.shape].append(name)
        start, stop = ("start", "stop") if several else (0, shape[0])
        loop = [f"for i in range({start}, {stop}, {rows}):"]
        loop += [f"    {line}" for line in (f"j = min(i + {rows}, {stop})", "n = j - i", *lines)]
        if several:
            names = ["start", "stop", *(f"t{i}" for i in range(len(memory)))]
            scratch_of = [tuple(one[k] for one in memory) for k in range(self.code.threads)]
            share, own = self._constant(shared, "shared"), self._constant(scratch_of, "memory")
            head, call = f"def part({', '.join(names)}):", f"{share}(part, {shape[0]}, {rows}, {own})"
            loop = [head, *(f"    {line}" for line in loop), call]
        self.code.lines += loop + after
        return True

    def _strip_lines(self, equation: Equation, words: list[str], to: str) -> list[str]:
        name, copyto = equation.name, self._constant(np.copyto, "copyto")
        if name == "relu":
            zero = self._constant(np.zeros((), equation.out.dtype), "zero")
            return [f"{self._constant(np.maximum, 'maximum')}({words[0]}, {zero}, out={to})"]
        if name == "astype":
            return [f"{copyto}({to}, {words[0]}, 'unsafe')"]
        if name in REDUCERS:
            reduce = self._constant(REDUCERS[name].reduce, f"{name}_reduce")
            return [f"{reduce}({words[0]}, {words[1]}, None, {to}, True)"]
        if name == "sigmoid":
            return [f"{copyto}({to}, {self._constant(XP.sigmoid, name)}({words[0]}))"]
        if name == "where" and _masks(equation) and equation.out.dtype.kind == "f":
            kind = self._constant(np.dtype(BITS[equation.out.dtype.itemsize]), "bits")
            mul = self._constant(np.multiply, "mul")
            return [f"{mul}({words[1]}.view({kind}), {words[0]}, {to}.view({kind}))"]
        if name == "where":
            made = f"{self._constant(np.where, 'where')}({', '.join(words)})"
            return [f"{copyto}({to}, {made}, 'unsafe')"]
        return [f"{self._constant(UFUNCS[name], name)}({', '.join(words)}, {_out(name, to)})"]


def _out(name: str, to: str) -> str:
    """The last argument: of all these functions, only maximum and minimum need its name."""
    return f"out={to}" if name in ("maximum", "minimum") else to


def _masks(equation: Equation) -> bool:
    """Whether a ``where`` gives x or 0, for an x of the result's dtype."""
    condition, x, y = equation.args
    fits = isinstance(condition, Var) and condition.dtype == np.bool_ and isinstance(x, Var) and bool(x.shape)
    kind = equation.out.dtype
    return (
        fits and _is_zero(y) and x.dtype == kind and kind.kind in "fi" and (kind.kind == "i" or kind.itemsize in BITS)
    )


def _is_scalar(equation: Equation) -> bool:
    """Whether a ``where`` chooses between two numbers of the result's dtype."""
    condition, *others = equation.args
    return isinstance(condition, Var) and not condition.shape and all(
        type(one) in (int, float) or (isinstance(one, Var) and not one.shape and one.dtype == equation.out.dtype)
        for one in others
    )  # fmt: skip


def _is_zero(value: Any) -> bool:
    return type(value) in (int, float) and value == 0 and math.copysign(1, value) > 0
