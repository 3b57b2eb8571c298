"""Random programs, run by both libraries line by line: views, writes, gradients, and what shares memory.

After every line these are compared: whether it raised, and what kind of error; of every tensor its values, shape,
``requires_grad``, ``is_leaf`` and ``.grad``; and which elements are the same place in memory. A program that differs is
made as short as it can be, and shown as a script for either library.

``python -m tests.peers.test_programs_fuzz SEED COUNT`` runs many, and shows each kind of difference once.
"""

from __future__ import annotations

import itertools
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg

torch = pytest.importorskip("torch", reason="needs PyTorch: pip install -e '.[peers]'")
pytestmark = pytest.mark.peers

START = (
    "a = m.tensor([[0.5, -1.0, 2.0], [1.5, 0.75, -0.25]], dtype=m.float64, requires_grad=True)",
    "b = m.tensor([0.9, -0.4, 1.2], dtype=m.float64, requires_grad=True)",
    "c = m.tensor(1.1, dtype=m.float64, requires_grad=True)",
    "d = m.tensor([[1.3, 0.2, -0.8], [0.4, -1.1, 0.6]], dtype=m.float64)",
    "e = m.zeros(2, 3, dtype=m.float64)",
)
LARGEST = 24  # elements of a tensor

# What ends a program without being a fault. The text is part of either library's message.
UNDEFINED = {
    # Ours refuses, PyTorch does something.
    "ours: are the same place in memory": "elements that meet get one result or another, as the order has it",
    # PyTorch refuses, ours does what is right.
    "theirs: more than one element of the written-to tensor": "it is a write that it has let pass, met at backward",
    "theirs: This view is the output of a function that returns multiple views": "ours can write to such views",
    "theirs: A view was created in no_grad mode": "to ours it is a constant, which shares memory",
    "theirs: is a view of a view which was created in no_grad mode": "to ours it is a constant, which shares memory",
    "theirs: some elements of the input tensor and the written-to tensor": "ours computes with the old elements",
    "theirs: Trying to backward through the graph a second time": "where ours keeps no arrays, it frees none",
}


# Both refuse, by errors of another kind.
OTHER_ERRORS = {
    "narrow": "ours has one error, an IndexError, for a start and a length that do not fit; PyTorch has two",
    "amax": "of nothing; ours has one error for all reductions without elements",
}


class Program:
    """One library's state: names and what they stand for."""

    def __init__(self, m: Any) -> None:
        self.m, self.names = m, {"m": m}

    def run(self, line: str) -> BaseException | None:
        """Execute a line. What it raised, if anything."""
        try:
            exec(line, self.names)
        except Exception as error:
            return error
        return None

    def tensors(self) -> dict[str, Any]:
        kind = torch.Tensor if self.m is torch else tg.Tensor
        return {name: value for name, value in self.names.items() if isinstance(value, kind)}

    def state(self, shown: dict[str, Any]) -> dict[str, Any]:
        """What is compared after each line."""
        found: dict[str, Any] = {}
        every: dict[str, Any] = {}
        for name, tensor in shown.items():
            grad = tensor.grad if tensor.is_leaf else None
            found[name] = (tuple(tensor.shape), tensor.requires_grad, tensor.is_leaf, grad is not None)
            every[name] = tensor
            if grad is not None:
                every[f"{name}.grad"] = grad
        values = {name: np.array(tensor.tolist()) for name, tensor in every.items()}
        return {"facts": found, "values": values, "places": places(every)}


def places(tensors: dict[str, Any]) -> dict[str, Any]:
    """Where the elements are, in numbers that count places in order of their first mention."""
    numbers: dict[Any, int] = {}
    found = {}
    for name, tensor in tensors.items():
        if isinstance(tensor, tg.Tensor):
            array = tensor.array
            if not hasattr(array, "__setitem__"):
                addresses: Any = [("number", id(array))]
            else:
                addresses = spread(array.__array_interface__["data"][0], array.shape, array.strides)
        else:
            addresses = spread(tensor.data_ptr(), tensor.shape, [8 * step for step in tensor.stride()])
        found[name] = [numbers.setdefault(address, len(numbers)) for address in addresses]
    return found


def spread(start: int, shape: Any, strides: Any) -> list[int]:
    ranges = [[i * step for i in range(size)] for size, step in zip(shape, strides, strict=True)]
    return [start + sum(steps) for steps in itertools.product(*ranges)]


def memory(tensor: Any) -> int:
    return int(tensor.untyped_storage().data_ptr())


# Making programs ---------------------------------------------------------------------------------------------------


class Maker:
    """Draws lines that fit the tensors of a program, which PyTorch runs meanwhile."""

    def __init__(self, seed: Any) -> None:
        self.rng = np.random.default_rng(seed)
        self.program, self.count = Program(torch), 0

    def pick(self, options: Any) -> Any:
        return options[int(self.rng.integers(len(options)))]

    def tensor(self, wanted: Callable[[Any], bool] = lambda t: True) -> str:
        """A name; of a newer tensor rather than of an older one."""
        names = [name for name, tensor in self.program.tensors().items() if wanted(tensor)]
        if not names:
            return "a"
        return str(names[-1 - min(int(self.rng.exponential(3.0)), len(names) - 1)])

    def of(self, name: str) -> Any:
        return self.program.names[name]

    def like(self, name: str, apart: bool = False) -> str:
        """An operand that can be stretched to this tensor: another one, or a number."""
        return self.fitting(tuple(self.of(name).shape), self.of(name) if apart else None)

    def fitting(self, shape: tuple[int, ...], target: Any) -> str:
        """A tensor that can be stretched to this shape, or a number.

        It shares no memory with the ``target``: PyTorch refuses that, or does not notice and reads what it has written.
        """

        def fits(t: Any) -> bool:
            try:
                stretched = np.broadcast_shapes(shape, tuple(t.shape))
            except ValueError:
                return False
            return stretched == shape and (target is None or memory(t) != memory(target))

        if self.rng.random() < 0.3 or not any(map(fits, self.program.tensors().values())):
            return self.number()
        return self.tensor(fits)

    def number(self) -> str:
        return str(self.pick((0.5, 2.0, -1.0, 3.0, 0.0)))

    def line(self) -> str:
        kind = self.pick(KINDS)
        line = str(getattr(self, kind)())
        if kind in MAY_BE_OFF and self.rng.random() < 0.2:
            line = f"with m.no_grad(): {line}"
        return line

    def new(self, value: str) -> str:
        self.count += 1
        return f"v{self.count} = {value}"

    def compute(self) -> str:
        x = self.tensor()
        y = self.like(x)
        patterns = [
            "({x} * 0.5).exp()", "{x}.tanh()", "{x}.sin()", "{x}.sigmoid()", "{x}.relu()", "{x} + {y}", "{x} * {y}",
            "{x} - {y}", "{x} / ({x} * {x} + 1)", "{x} * {x}", "{x}.sum()", "{x}.mean()", "{x}.clone()", "-{x}",
            "{x}.abs()", "{x} ** 2", "m.maximum({x}, {x} * 0.5)", "m.where({x} > 0, {x}, {x} * {x})",
            "{x}.clamp(-1.0, 1.0)", "({x} * {x} + 1).sqrt()", "{x}.contiguous()",
        ]  # fmt: skip
        if self.of(x).ndim:
            patterns += [
                "{x}.sum(0)", "{x}.softmax(-1)", "{x}.cumsum(0)", "m.cat([{x}, {x}])", "m.stack([{x}, {x}])",
                "{x}.flip(0)", "{x}.sum(-1, keepdim=True)", "{x}.amax(0)", "{x}[m.tensor([0, 0])]", "{x}[{x} > 0]",
                "{x}.sort().values", "{x}.logsumexp(0)",
            ]  # fmt: skip
        if self.of(x).ndim == 2:
            patterns += ["{x} @ {x}.T", "{x}.tril()"]
        return self.new(self.pick(patterns).format(x=x, y=y))

    def index(self, x: str) -> str:
        """Slices and ints."""
        shape = tuple(self.of(x).shape)
        if not shape:
            return "..."
        n = shape[0]
        simple = ["0", "-1", "1:", ":1", "::2", "...", f"{n}:", ":", "None", "0:2"]
        if len(shape) > 1:
            simple += [":, 0", ":, 1:", "0, 1", "..., -1", "1:, :2", ":, ::2", "..., None"]
        if self.rng.random() < 0.03:
            simple = ["7", ":, 9"]
        return str(self.pick(simple))

    def positions(self, x: str) -> str:
        """Tensors, that name no place twice."""
        t = self.of(x)
        options = [f"{x} > 0.3", f"{x} < 0"]
        if t.ndim:
            options += ["m.tensor([0])", "m.tensor([1, 0])", "m.tensor([-1])", "[0]"]
        if t.ndim > 1:
            options += [":, m.tensor([1, 0])", "m.tensor([0, 1]), m.tensor([1, 0])", "0, m.tensor([0, 1])"]
        return str(self.pick(options))

    def view(self) -> str:
        x = self.tensor()
        t = self.of(x)
        patterns = [
            "{x}.reshape(-1)", "{x}.unsqueeze(0)", "{x}.detach()", "{x}[{i}]", "{x}[{i}]", "{x}[{i}]", "{x}.view(-1)",
            "{x}.expand(2, *{x}.shape)", "{x}.squeeze()", "{x}.view_as({x})",
        ]  # fmt: skip
        if t.ndim:
            patterns += ["{x}.narrow(0, 0, 1)", "{x}.select(0, 0)", "{x}.flatten()"]
            if t.shape[-1] > 1:
                patterns += ["{x}.unfold(-1, 2, 1)", "{x}.unfold(-1, 2, 2)"]
        if t.ndim > 1:
            patterns += ["{x}.T" if t.ndim == 2 else "{x}.transpose(0, 1)", "{x}.transpose(0, -1)", "{x}.diagonal()"]
        if self.rng.random() < 0.04 and t.ndim:
            patterns = ["{x}.unbind(0)[0]", "{x}.chunk(2)[0]", "{x}.split(1)[-1]"]
        return self.new(self.pick(patterns).format(x=x, i=self.index(x)))

    def inplace(self) -> str:
        x = self.tensor()
        y, z = self.like(x, apart=True), self.like(x, apart=True)
        t = self.new(f"{x}.detach() * 0.5") if z[0] in "-0123456789" else z
        if " = " in t:
            return t
        return str(
            self.pick((
                "{x}.add_({y})", "{x}.mul_({y})", "{x}.sub_({y})", "{x} += {y}", "{x} *= {y}", "{x}.copy_({t})",
                "{x}.zero_()", "{x}.fill_({n})", "{x}.fill_({y})", "{x}.neg_()", "{x}.tanh_()", "{x}.sigmoid_()",
                "{x}.relu_()", "{x}.clamp_(-0.5, 0.5)", "{x}.div_(2.0)", "{x}.masked_fill_({x} > 0.3, {n})",
                "{x}[{i}].mul_({n})", "{x}[{i}] += {n}", "{x}.detach().mul_({n})", "{x}.addcmul_({t}, {t})",
                "{x}.lerp_({x} * 2, 0.5)", "{x}.pow_(2)", "{x}.sin_()",
            )).format(x=x, y=y, n=self.number(), i=self.index(x), t=t)
        )  # fmt: skip

    def assign(self) -> str:
        x = self.tensor()
        index = self.index(x) if self.rng.random() < 0.6 or not self.of(x).numel() else self.positions(x)
        try:
            region = eval(f"{x}[{index}]", self.program.names)
        except Exception:
            return f"{x}[{index}] = 1.0"
        return f"{x}[{index}] = {self.fitting(tuple(region.shape), self.of(x))}"

    def out(self) -> str:
        x = self.tensor()
        t = self.of(x)
        z = self.tensor(lambda other: other.shape == t.shape and (other is t or memory(other) != memory(t)))
        call = self.pick(("m.add({x}, {y}, out={z})", "m.mul({x}, {y}, out={z})", "m.exp({x}, out={z})"))
        line = str(call.format(x=x, y=self.like(z, apart=True), z=z))
        return f"with m.no_grad(): {line}" if self.rng.random() < 0.7 else line

    def switch(self) -> str:
        return f"{self.tensor(self.alone)}.requires_grad_({self.pick((True, False))})"

    def alone(self, tensor: Any) -> bool:
        """A leaf without views, and none itself: what PyTorch makes of views when it is switched is an accident."""
        shared = [t._base for t in self.program.tensors().values() if t._is_view()]
        return tensor.is_leaf and not tensor._is_view() and not any(tensor is base for base in shared)

    def backward(self) -> str:
        x = self.tensor(lambda t: t.requires_grad)
        keep = "retain_graph=True" if self.rng.random() < 0.7 else ""
        start = self.pick((f"{x}.sum()", f"({x} * {x}).sum()", f"({x} * 2.0).sum()"))
        return f"{start}.backward({keep})"

    def gradients(self) -> str:
        x, y = self.tensor(lambda t: t.requires_grad), self.tensor(lambda t: t.requires_grad and not t._is_view())
        more = "retain_graph=True, create_graph=True" if self.rng.random() < 0.3 else "retain_graph=True"
        return self.new(f"m.autograd.grad({x}.sum(), {y}, {more}, allow_unused=True)[0]")

    def grad(self) -> str:
        x = self.tensor(lambda t: t.is_leaf and t.grad is not None)
        return str(
            self.pick((f"{x}.grad = None", f"{x}.grad.zero_()", self.new(f"{x}.grad"), f"{x}.grad = {x}.grad * 2"))
        )

    def data(self) -> str:
        x = self.tensor(self.alone)
        return f"{x}.data = ({x}.detach() * {self.number()}).cos()"


# Left out: `prod`, `gather` and others that keep more in PyTorch than here (see test_saved.py), and writes to `x.data`,
# which PyTorch does not notice.
KINDS = (
    *("compute",) * 8, *("view",) * 8, *("inplace",) * 7, *("assign",) * 5, *("backward",) * 2, "out", "switch", "grad",
    "gradients", "data",
)  # fmt: skip
MAY_BE_OFF = {"compute", "view", "inplace", "assign", "backward"}


# Running and comparing -----------------------------------------------------------------------------------------------


class Difference(Exception):
    """What differs, after which line."""

    def __init__(self, what: str, kind: str) -> None:
        super().__init__(what)
        self.kind = kind


class Both:
    """A program as it runs in both libraries."""

    def __init__(self, theirs: Program | None = None) -> None:
        self.ours, self.theirs = Program(tg), theirs or Program(torch)

    def step(self, line: str) -> bool:
        """Run one line in both, and compare. Says whether to go on."""
        one, other = self.ours.run(line), self.theirs.run(line)
        for source, error in (("ours", one), ("theirs", other)):
            for entry in UNDEFINED:
                if error is not None and entry.startswith(source) and entry.split(": ", 1)[1] in str(error):
                    return False
        if kind(one) != kind(other):
            if one is not None and other is not None:
                if "leaf" in str(one) or "leaf" in str(other):
                    return False  # two mistakes in one line, of which each tells one
                if verb(line) in OTHER_ERRORS:
                    return True
            raise Difference(
                f"ours raised {one!r:.300}, PyTorch {other!r:.300}", f"{verb(line)} {kind(one)} {kind(other)}"
            )
        begun = "backward(" in line and "does not require grad" not in str(other)
        if one is not None and (begun or isinstance(other, IndexError)):
            return False  # how far it came is not said: what it has freed on the way, or written
        return self.compare(line)

    def compare(self, line: str) -> bool:
        """Says whether to go on, too."""
        ours, theirs = self.ours.tensors(), self.theirs.tensors()
        if list(ours) != list(theirs):
            raise Difference(f"tensors {list(ours)}, PyTorch {list(theirs)}", "names")
        for name in list(theirs):
            if strange(theirs[name]):
                for program in (self.ours, self.theirs):
                    program.names[name] = None
                del ours[name], theirs[name]
        for name, tensor in theirs.items():
            if tensor.numel() > 1 and ours[name].shape == tensor.shape and ours[name].stride() != tensor.stride():
                return False  # what is laid out otherwise becomes a copy elsewhere
            if "create_graph" in line and tensor.requires_grad and not ours[name].requires_grad:
                return False  # a slope of zero, as that of relu has, leads nowhere here
        one, other = self.ours.state(ours), self.theirs.state(theirs)
        for name, facts in one["facts"].items():
            if facts != other["facts"][name]:
                words = "(shape, requires_grad, is_leaf, has .grad)"
                raise Difference(f"{name} {words}: {facts}, PyTorch {other['facts'][name]}", f"{verb(line)} facts")
        for name, values in one["values"].items():
            theirs_ = other["values"][name]
            if values.shape != theirs_.shape or not np.allclose(values, theirs_, 1e-9, 1e-9, equal_nan=True):
                raise Difference(f"{name}: {values.tolist()}, PyTorch {theirs_.tolist()}", f"{verb(line)} values")
        if one["places"] != other["places"]:
            wrong = [name for name in one["places"] if one["places"][name] != other["places"][name]]
            shown = [f"{n}: {one['places'][n]}, PyTorch {other['places'][n]}" for n in wrong]
            raise Difference("places in memory: " + "; ".join(shown), f"{verb(line)} places")
        return True


def strange(tensor: Any) -> bool:
    """A view that was made inside no_grad, in PyTorch: it claims to require grad if its base does, as a leaf.

    Once the base is written, nobody may look at it. Ours takes it for a constant that shares memory.
    """
    try:
        return bool(tensor._is_view() and tensor.requires_grad and tensor.is_leaf and tensor._base.requires_grad)
    except RuntimeError:
        return True


def kind(error: BaseException | None) -> str:
    if error is None:
        return "nothing"
    return next((base.__name__ for base in (IndexError, RuntimeError) if isinstance(error, base)), "another error")


def verb(line: str) -> str:
    """A word for the kind of line, to tell differences apart."""
    line = line.removeprefix("with m.no_grad(): ")
    left, _, right = line.partition(" = ")
    if right:
        return "assign" if "[" in left else "data" if ".data" in left else right.split("(")[0].split(".")[-1][:12]
    return line.split("(")[0].split(".")[-1][:12]


def draw(seed: Any) -> Iterator[str]:
    """The lines of a program. Each is drawn once those before it have been run, by PyTorch."""
    maker = Maker(seed)
    yield from _run(maker, START)
    for _ in range(int(maker.rng.integers(5, 26))):
        line = maker.line()
        error = maker.program.run(line)
        yield line
        if error is not None and "backward(" in line and "does not require grad" not in str(error):
            return
        for name, tensor in maker.program.tensors().items():
            if strange(tensor) or tensor.numel() > LARGEST or not tensor.isfinite().all() or (tensor.abs() > 1e6).any():
                maker.program.names[name] = None
                yield f"{name} = None"


def _run(maker: Maker, lines: Any) -> Iterator[str]:
    for line in lines:
        maker.program.run(line)
        yield line


def check(lines: Any) -> Difference | None:
    """The first difference between the libraries, if there is any."""
    both = Both()
    for number, line in enumerate(lines):
        try:
            if not both.step(line):
                return None
        except Difference as found:
            found.number = number  # type: ignore[attr-defined]
            return found
    return None


def shrink(lines: list[str]) -> tuple[list[str], Difference]:
    """A shorter program that differs too: line after line is left out."""
    found = check(lines)
    assert found is not None
    lines = lines[: found.number + 1]  # type: ignore[attr-defined]
    again = True
    while again:
        again = False
        for i in reversed(range(len(lines))):
            shorter = lines[:i] + lines[i + 1 :]
            other = check(shorter)
            if other is not None and other.kind == found.kind:
                lines, found, again = shorter[: other.number + 1], other, True  # type: ignore[attr-defined]
                break
    return lines, found


def script(seed: Any, lines: list[str], found: Difference) -> str:
    body = "\n".join(lines)
    return (
        f"seed {seed}: {found}\n\n# after the last line; for PyTorch, `import torch as m`\n"
        f"import tinygrad_edu as m\n{body}\n"
    )


def try_one(seed: Any) -> tuple[str, str] | None:
    """The kind of difference that the program of this seed shows, and a script for it."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        lines = list(draw(seed))
        if check(lines) is None:
            return None
        lines, found = shrink(lines)
        return found.kind, script(seed, lines, found)


@pytest.mark.parametrize("part", range(10))
def test_programs(part: int) -> None:
    for number in range(25):
        differs = try_one([1, part, number])
        assert differs is None, differs[1]


@pytest.mark.slow
def test_many_programs() -> None:
    """Another seed each day, so that no bug stays hidden for good. It is printed with what it finds."""
    day = int(time.time() // 86400)
    for number in range(30_000):
        differs = try_one([2, day, number])
        assert differs is None, differs[1]


def main(seed: int, count: int) -> None:
    """Show each kind of difference once, and how many there were of each."""
    kinds: dict[str, int] = {}
    for number in range(count):
        try:
            differs = try_one([3, seed, number])
        except Exception:
            traceback.print_exc()
            print("seed", [3, seed, number], flush=True)
            continue
        if differs is not None:
            kinds[differs[0]] = kinds.get(differs[0], 0) + 1
            if kinds[differs[0]] == 1:
                print(differs[0], "\n", differs[1], flush=True)
    print(count, "programs", kinds)


if __name__ == "__main__":
    main(*(int(word) for word in sys.argv[1:]))
