"""Lazy layers, used as PyTorch's are: what they are before the first input, what they become, and what they refuse."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import tinygrad_edu as tg
from tests.peers.programs import data
from tests.peers.test_programs import same
from tinygrad_edu.errors import EduError
from tinygrad_edu.nn.lazy import LazyModuleMixin

torch = pytest.importorskip("torch", reason="needs PyTorch: pip install -e '.[peers]'")
pytestmark = pytest.mark.peers


class Lazy(NamedTuple):
    """A lazy layer, how it is made, and the shape of an input."""

    name: str
    args: tuple[Any, ...]
    how: dict[str, Any]
    shape: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.name}{self.args}{self.how or ''}-{self.shape}"

    def make(self, library: Any, **more: Any) -> Any:
        return getattr(library.nn, self.name)(*self.args, **self.how, **more)

    def input(self, library: Any, seed: int = 0) -> Any:
        return library.from_numpy(data(*self.shape, seed=seed))


LAYERS = [
    Lazy("LazyLinear", (4,), {}, (5, 3)), Lazy("LazyLinear", (4, False), {}, (2, 5, 3)),
    Lazy("LazyLinear", (1,), {}, (6,)), Lazy("LazyLinear", (2,), {}, (3, 0)),
    Lazy("LazyConv1d", (4, 3, 2, 1), {}, (2, 3, 7)), Lazy("LazyConv1d", (4, 3), {"bias": False}, (3, 7)),
    Lazy("LazyConv2d", (4, (2, 3)), {"groups": 2, "padding_mode": "circular", "padding": 1}, (2, 6, 4, 5)),
    Lazy("LazyConv2d", (4, 3, 1, "same"), {}, (6, 4, 5)), Lazy("LazyConv3d", (4, 2), {"dilation": 2}, (2, 3, 4, 4, 5)),
    Lazy("LazyConv3d", (4, 2), {"groups": 4}, (4, 3, 3, 3)),
    Lazy("LazyConvTranspose1d", (4, 3, 2, 1, 1), {}, (2, 3, 5)),
    Lazy("LazyConvTranspose2d", (6, 3), {"groups": 2, "bias": False, "dilation": 2}, (2, 4, 3, 3)),
    Lazy("LazyConvTranspose2d", (6, 3), {}, (4, 3, 3)),
    Lazy("LazyConvTranspose3d", (4, 2), {"stride": 2}, (1, 3, 2, 3, 2)), Lazy("LazyBatchNorm1d", (), {}, (5, 3)),
    Lazy("LazyBatchNorm1d", (1e-3, 0.2), {"bias": False}, (5, 3, 2)),
    Lazy("LazyBatchNorm1d", (), {"affine": False}, (5, 3)),
    Lazy("LazyBatchNorm2d", (), {"track_running_stats": False}, (2, 3, 2, 4)),
    Lazy("LazyBatchNorm2d", (1e-5, None), {}, (2, 3, 2, 4)), Lazy("LazyBatchNorm3d", (), {}, (2, 3, 2, 2, 2)),
    Lazy("LazyInstanceNorm1d", (), {}, (2, 3, 5)), Lazy("LazyInstanceNorm2d", (), {"bias": False}, (2, 3, 3, 4)),
    Lazy("LazyInstanceNorm3d", (), {}, (2, 3, 2, 3, 2)),
]  # fmt: skip


def kind(x: Any) -> str:
    """What stands in a state: the class of what has no shape yet, the shape of all else."""
    return repr(x) if repr(x).startswith("<Uninit") else str(tuple(x.shape))


def held(torch: Any, model: Any) -> list[Any]:
    """What a module holds, in its order."""
    tensors = [*model.named_parameters(), *model.named_buffers()]
    marks = [(n, kind(t), t.dtype, t.requires_grad, t.is_leaf, isinstance(t, torch.nn.Parameter)) for n, t in tensors]
    return [marks, [(name, kind(t)) for name, t in model.state_dict().items()], type(model).__name__, repr(model)]


def filled(torch: Any, model: Any) -> Any:
    """The model, with the same numbers on both sides."""
    for i, tensor in enumerate(model.state_dict().values()):
        if tensor.dtype == torch.float32 and tensor.ndim:
            tensor.copy_(torch.from_numpy(np.abs(data(*tensor.shape, seed=i))) + 0.1)
    return model


def trained(torch: Any, model: Any, lazy: Lazy, step: int) -> Any:
    """The result of a step, and what has become of the parameters and statistics."""
    out = model(lazy.input(torch, step))
    if any(True for _ in model.parameters()):
        model.zero_grad()
        (out * torch.from_numpy(data(*out.shape, seed=9))).sum().backward()
        with torch.no_grad():
            for p in model.parameters():
                p -= 0.01 * p.grad
    return [out, list(model.state_dict().values())]


# Programs with each layer -------------------------------------------------------------------------------------------


def before_and_after(torch: Any, lazy: Lazy) -> Any:
    model = lazy.make(torch)
    first, tensors = held(torch, model), [*model.parameters(), *model.buffers()]
    lazily = [model.has_uninitialized_params(), isinstance(model, model.cls_to_become), model.training]
    shape = tuple(model(lazy.input(torch)).shape)
    now = [*model.parameters(), *model.buffers()]
    left = [hasattr(model, name) for name in ("has_uninitialized_params", "cls_to_become", "_initialize_hook")]
    names = [name for name in vars(model) if not name.startswith("_")]
    again = trained(torch, filled(torch, model), lazy, 1), trained(torch, model, lazy, 2)
    return first, lazily, shape, [a is b for a, b in zip(tensors, now, strict=True)], held(torch, model), left, again, (
        sorted(set(names) & {"in_features", "out_features", "in_channels", "out_channels", "num_features"})
    )  # fmt: skip


def by_an_equal_eager_layer(torch: Any, lazy: Lazy) -> Any:
    """A state of the ordinary layer goes in, the first input changes nothing, and the state goes back."""
    sized, model = lazy.make(torch), lazy.make(torch)
    sized(lazy.input(torch))
    state = filled(torch, sized).state_dict()
    tensors = list(model.parameters())
    loaded = repr(model.load_state_dict(state)), held(torch, model)[:2]
    return loaded, [trained(torch, model, lazy, step) for step in range(2)], type(model).__name__, [
        a is b for a, b in zip(tensors, model.parameters(), strict=True)
    ], repr(sized.load_state_dict(model.state_dict()))  # fmt: skip


def under_modes(torch: Any, lazy: Lazy) -> Any:
    found = []
    for mode in (torch.no_grad(), torch.inference_mode(), torch.enable_grad()):
        model = lazy.make(torch).eval()
        with mode:
            model(lazy.input(torch))
        found.append([held(torch, model), model.training])
    return found


def converted(torch: Any, lazy: Lazy) -> Any:
    found = []
    for change in (
        lambda m: m.double(), lambda m: m.to(torch.float64), lambda m: m.to("cpu"), lambda m: m.half().float(),
        lambda m: m.to("cpu", torch.float64).train(False).train(),
    ):  # fmt: skip
        model = lazy.make(torch)
        tensors = list(model.parameters())
        changed = change(model)
        first = held(torch, model)
        x = lazy.input(torch)
        model(x.double() if "float64" in str(next(iter([*model.parameters(), *model.buffers()]), x).dtype) else x)
        kept = [a is b for a, b in zip(tensors, model.parameters(), strict=True)]
        found.append([changed is model, first, kept, held(torch, model)])
    return found


def made_with(torch: Any, lazy: Lazy) -> Any:
    model = lazy.make(torch, device="cpu", dtype=torch.float64)
    first = held(torch, model)
    model(lazy.input(torch).double())
    return first, held(torch, model)


def copied(torch: Any, lazy: Lazy) -> Any:
    model = lazy.make(torch)
    others = copy.deepcopy(model), pickle.loads(pickle.dumps(model))
    first = [held(torch, other) for other in others]
    shared = [p is q for other in others for p, q in zip(model.parameters(), other.parameters(), strict=True)]
    others[0](lazy.input(torch))
    return first, shared, held(torch, model), held(torch, others[0]), held(torch, others[1])


def with_an_optimiser(torch: Any, lazy: Lazy) -> Any:
    """Made before the first input, it moves what comes of the parameters."""
    model = torch.nn.Sequential(lazy.make(torch), torch.nn.Flatten(0), torch.nn.LazyLinear(2))
    optimisers = torch.optim.Adam(model.parameters(), lr=0.1), torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.5)
    for optimiser in optimisers:
        optimiser.zero_grad()
        optimiser.step()  # nobody has a gradient yet
    model(lazy.input(torch))
    filled(torch, model)
    found = []
    for optimiser in optimisers:
        optimiser.zero_grad()
        model(lazy.input(torch)).pow(2).sum().backward()
        optimiser.step()
        found.append([p.detach().clone() for p in model.parameters()])
    return found, [len(o.state_dict()["state"]) for o in optimisers], repr(model)


PROGRAMS: list[Callable[[Any, Lazy], Any]] = [
    before_and_after, by_an_equal_eager_layer, under_modes, converted, made_with, copied, with_an_optimiser,
]  # fmt: skip
# What PyTorch cannot do: copy a buffer without a shape, and use an InstanceNorm1d that was loaded, for it never learns
# how many channels it has. `tests/nn/test_lazy.py` does.
STUCK = {copied: ("LazyBatchNorm", "LazyInstanceNorm"), by_an_equal_eager_layer: ("LazyInstanceNorm",)}


@pytest.mark.filterwarnings("ignore:Using padding='same'", "ignore:Initializing zero-element")
@pytest.mark.parametrize(
    ("program", "lazy"),
    [(f, lazy) for f in PROGRAMS for lazy in LAYERS if not lazy.name.startswith(STUCK.get(f, ("none",)))],
    ids=lambda x: getattr(x, "__name__", str(x)),
)
def test_each_layer(program: Callable[[Any, Lazy], Any], lazy: Lazy) -> None:
    same(program(tg, lazy), program(torch, lazy))


def test_every_lazy_layer_is_here() -> None:
    theirs = {name for name in dir(torch.nn) if name.startswith("Lazy")}
    assert theirs == {name for name in tg.nn.__all__ if name.startswith("Lazy")} == {lazy.name for lazy in LAYERS}


# Other programs -----------------------------------------------------------------------------------------------------


def nested(torch: Any) -> Any:
    nn = torch.nn
    model = nn.Sequential(
        nn.LazyConv2d(4, 3), nn.LazyBatchNorm2d(), nn.ReLU(), nn.Flatten(), nn.ModuleList([nn.LazyLinear(3)])[0],
        nn.Sequential(nn.LazyLinear(2, bias=False)),
    )  # fmt: skip
    first = repr(model), [(name, kind(t)) for name, t in model.state_dict(prefix="net.").items()]
    names = [[(name, kind(p)) for name, p in model.named_parameters()], [n for n, _ in model.named_modules()]]
    model.zero_grad()
    model.eval().train()
    shape = tuple(model(torch.ones(2, 3, 5, 6)).shape)
    return first, names, shape, repr(model), [(name, kind(t)) for name, t in model.state_dict().items()]


def states(torch: Any) -> Any:
    """States with and without shapes, put into layers with and without."""
    make = torch.nn.LazyLinear
    model = make(3)
    state = model.state_dict()
    whole = [state["weight"] is model.weight, model.state_dict(keep_vars=True)["bias"] is model.bias]
    found = [repr(make(3).load_state_dict(state)), list(make(3).load_state_dict({}, strict=False).missing_keys)]
    eager = filled(torch, torch.nn.Linear(2, 3))
    assigned = make(3)
    found.append(repr(assigned.load_state_dict(eager.state_dict(), assign=True)))
    found += [type(assigned).__name__, isinstance(assigned.weight, torch.nn.Parameter), assigned.weight.requires_grad]
    found += [assigned(torch.ones(1, 2)), type(assigned).__name__, assigned.in_features]
    frozen = make(3)
    for p in frozen.parameters():
        p.requires_grad = False
    frozen.load_state_dict(eager.state_dict())
    wide = make(3, dtype=torch.float64)
    wide.load_state_dict(eager.state_dict())
    inside = torch.nn.Sequential(make(3), torch.nn.ReLU(), make(2))
    part = {f"0.{name}": tensor for name, tensor in eager.state_dict().items()}
    found += [list(inside.load_state_dict(part, strict=False).missing_keys), frozen.weight.requires_grad]
    inside(torch.ones(1, 2))
    return whole, found, list(wide.state_dict().values()), inside[0].weight, repr(inside)


def alone(torch: Any) -> Any:
    """What a parameter or buffer without a shape tells, and what it becomes."""
    nn = torch.nn
    found: list[Any] = []
    for make in (nn.UninitializedParameter, nn.UninitializedBuffer):
        for how in ({}, {"requires_grad": False}, {"dtype": torch.float64}, {"requires_grad": True, "device": "cpu"}):
            x = make(**how)
            found.append([repr(x), str(x), x.dtype, x.requires_grad, x.is_leaf, x.grad, str(x.device)])
            found.append([isinstance(x, nn.Parameter), isinstance(x, torch.Tensor), nn.parameter.is_lazy(x)])
            found.append([x.is_floating_point(), x.data.dtype, x.to(torch.float32).dtype, x.to(x.dtype) is x])
            found.append([x in {x}, x in [x]])
            if make is nn.UninitializedParameter:
                found.append([copy.deepcopy(x).dtype, copy.deepcopy(x).requires_grad, copy.deepcopy(x) is x])
            x.materialize((2, 3))
            found.append([kind(x), x.dtype, x.requires_grad, x.is_leaf, isinstance(x, nn.Parameter)])
            found.append([nn.parameter.is_lazy(x), hasattr(x, "materialize")])
    x = nn.UninitializedParameter()
    x.requires_grad = False
    x.materialize(4, dtype=torch.float64)
    found += [kind(x), x.dtype, x.requires_grad, nn.parameter.is_lazy(3)]
    return found


def by_hand(torch: Any) -> Any:
    """A lazy module of one's own."""
    nn = torch.nn
    mixin = LazyModuleMixin if torch is tg else torch.nn.modules.lazy.LazyModuleMixin

    class Scale(nn.Module):  # type: ignore[name-defined,misc]
        def __init__(self) -> None:
            super().__init__()
            self.calls = 0

        def forward(self, x: Any, *, add: float = 0.0) -> Any:
            self.calls += 1
            return x * self.gain + self.shift + add

    class LazyScale(mixin, Scale):  # type: ignore[misc,valid-type]
        def __init__(self) -> None:
            super().__init__()
            self.gain, self.shift = nn.UninitializedParameter(), nn.UninitializedBuffer()
            self.scratch = nn.UninitializedBuffer(persistent=False)

        def initialize_parameters(self, x: Any, *, add: float = 0.0) -> None:
            if self.has_uninitialized_params():
                for tensor in (self.gain, self.shift, self.scratch):
                    tensor.materialize(x.shape[-1:])
                with torch.no_grad():
                    self.gain.fill_(2.0)
                    self.shift.fill_(add)
                    self.scratch.zero_()

    class Becoming(LazyScale):
        cls_to_become = Scale

    found = []
    for make in (LazyScale, Becoming):
        model = make()
        first = held(torch, model)
        out = [model(torch.ones(2, 3), add=1.0), model(torch.ones(1, 3))]
        found.append([first, out, held(torch, model), model.calls, copy.deepcopy(model)(torch.ones(3))])
    return found


def subclasses(torch: Any) -> Any:
    class Mine(torch.nn.LazyLinear):  # type: ignore[name-defined,misc]
        def reset_parameters(self) -> None:
            if not self.has_uninitialized_params():
                torch.nn.init.ones_(self.weight)
                if self.bias is not None:
                    torch.nn.init.zeros_(self.bias)

    model = Mine(2)
    return model(torch.full((1, 3), 2.0)), type(model).__name__, model.in_features


def tied(torch: Any) -> Any:
    first, second = torch.nn.LazyLinear(3), torch.nn.LazyLinear(3)
    second.weight, second.bias = first.weight, first.bias
    model = torch.nn.Sequential(first, second)
    count = len(list(model.parameters()))
    model(torch.ones(1, 3))
    return count, second.weight is first.weight, repr(model), len(list(model.parameters()))


def hooked(torch: Any) -> Any:
    """Hooks see an ordinary layer, on the first call too."""
    seen: list[str] = []
    model = torch.nn.LazyLinear(2)
    model.register_forward_pre_hook(lambda module, inputs: seen.append(repr(module)))
    model.register_forward_hook(lambda module, inputs, output: seen.append(kind(output)))
    model.register_full_backward_hook(lambda module, before, after: seen.append(repr(module)))
    x = torch.ones(2, 3, requires_grad=True)
    for _ in range(2):
        model(input=x) if not seen else model(x).sum().backward()
    return seen


def sized_by_the_caller(torch: Any) -> Any:
    model = torch.nn.LazyConvTranspose2d(4, 3, stride=2)
    first = model(torch.ones(1, 2, 5, 5), output_size=(12, 12))
    return tuple(first.shape), tuple(model(torch.ones(1, 2, 5, 5), [11, 12]).shape), repr(model)


def in_two_steps(torch: Any) -> Any:
    model = torch.nn.LazyLinear(2)
    found = [model.initialize_parameters(torch.ones(1, 3)), model.has_uninitialized_params(), repr(model)]
    weight = model.weight.detach().clone()
    model(torch.ones(4, 3))
    return found, bool((model.weight == weight).all()), repr(model)


def after_a_refusal(torch: Any) -> Any:
    """An input of the wrong shape leaves the layer lazy."""
    found = []
    for model, wrong, right in (
        (torch.nn.LazyConv2d(4, 3), torch.ones(2, 3), torch.ones(1, 2, 5, 5)),
        (torch.nn.LazyConvTranspose1d(4, 3), torch.ones(3), torch.ones(1, 2, 5)),
        (torch.nn.LazyConv1d(4, 3, groups=2), torch.ones(1, 3, 5), torch.ones(1, 2, 5)),
        (torch.nn.LazyLinear(4), torch.tensor(1.0), torch.ones(3)),
    ):
        with pytest.raises(Exception):  # noqa: B017  # which one is the next test's business
            model(wrong)
        found += [type(model).__name__, model.has_uninitialized_params()]
        found += [tuple(model(right).shape), repr(model)]
    return found


OTHERS: list[Callable[[Any], Any]] = [
    nested, states, alone, by_hand, subclasses, tied, hooked, sized_by_the_caller, in_two_steps, after_a_refusal,
]  # fmt: skip


@pytest.mark.parametrize("program", OTHERS, ids=lambda f: f.__name__)
def test_a_program(program: Callable[[Any], Any]) -> None:
    same(program(tg), program(torch))


# What both refuse, done to a lazy layer or to its weight.
REFUSED: dict[str, Callable[[Any, Any], Any]] = {
    "shape": lambda t, m: m.weight.shape, "numel": lambda t, m: m.weight.numel(), "dim": lambda t, m: m.weight.dim(),
    "stride": lambda t, m: m.weight.stride(), "len": lambda t, m: len(m.weight), "bool": lambda t, m: bool(m.weight),
    "clone": lambda t, m: m.weight.clone(), "detach": lambda t, m: m.weight.detach(),
    "sum": lambda t, m: m.weight.sum(), "item": lambda t, m: m.weight.item(), "tolist": lambda t, m: m.weight.tolist(),
    "list": lambda t, m: list(m.weight), "index": lambda t, m: m.weight[0], "add": lambda t, m: m.weight + 1,
    "from the right": lambda t, m: 1 - m.weight, "matmul": lambda t, m: t.ones(2, 2) @ m.weight,
    "equal": lambda t, m: m.weight == 1, "in place": lambda t, m: m.weight.zero_(),
    "where": lambda t, m: t.where(t.tensor(True), m.weight, 1.0), "cat": lambda t, m: t.cat([m.weight, m.bias]),
    "linear": lambda t, m: t.nn.functional.linear(t.ones(1, 2), m.weight),
    "forward": lambda t, m: m.forward(t.ones(1, 2)), "Parameter": lambda t, m: t.nn.Parameter(m.weight),
    "zeros_like": lambda t, m: t.zeros_like(m.weight), "zeros_": lambda t, m: t.nn.init.zeros_(m.weight),
    "xavier": lambda t, m: t.nn.init.xavier_uniform_(m.weight), "uniform_": lambda t, m: t.nn.init.uniform_(m.bias),
    "apply": lambda t, m: m.apply(lambda x: t.nn.init.ones_(x.weight)),
    "vector": lambda t, m: t.nn.utils.parameters_to_vector(m.parameters()),
    "count": lambda t, m: sum(p.numel() for p in m.parameters()),
    "set grad": lambda t, m: setattr(m.weight, "grad", t.ones(2)),
    "into eager": lambda t, m: t.nn.Linear(3, 2).load_state_dict(m.state_dict()),
    "eager, assigned": lambda t, m: t.nn.Linear(3, 2).load_state_dict(m.state_dict(), assign=True),
    "a part": lambda t, m: m.load_state_dict({"weight": t.ones(2, 3)}),
    "other input": lambda t, m: (m.load_state_dict(t.nn.Linear(3, 2).state_dict()), m(t.ones(1, 4))),
    "to int": lambda t, m: m.to(t.int64), "int": lambda t, m: t.nn.UninitializedParameter(dtype=t.int64),
    "materialize int": lambda t, m: m.weight.materialize((2, 3), dtype=t.int64),
    "negative": lambda t, m: m.weight.materialize((-1,)),
    "twice": lambda t, m: (m(t.ones(1, 2)), m.weight.materialize(2)),
    "running stats": lambda t, m: t.nn.LazyBatchNorm1d().reset_running_stats(), "no input": lambda t, m: m(),
    "no tensor": lambda t, m: m("text"), "no rank": lambda t, m: t.nn.LazyBatchNorm2d()(t.ones(2, 3)),
    "not initialised": lambda t, m: (LazyModuleMixin if t is tg else t.nn.modules.lazy.LazyModuleMixin)()(1),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name: str) -> None:
    for library in (tg, torch):
        with pytest.raises(Exception) as caught:
            REFUSED[name](library, library.nn.LazyLinear(2))
        if library is tg:
            raised = caught.value
    plain = {"no input": TypeError, "twice": AttributeError, "not initialised": NotImplementedError}
    assert isinstance(raised, plain.get(name, EduError)), repr(raised)
