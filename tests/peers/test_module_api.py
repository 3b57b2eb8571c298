"""Modules and containers, used as PyTorch's are: the same programs, names, orders, texts and gradients."""

from __future__ import annotations

import copy
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import pytest

import tinygrad_edu as tg
from tests.peers.programs import data
from tests.peers.test_programs import same

torch = pytest.importorskip("torch", reason="needs PyTorch: pip install -e '.[peers]'")
pytestmark = pytest.mark.peers


def net(torch: Any) -> Any:
    """A model with most of what a module can hold, with the same numbers on both sides."""
    nn = torch.nn

    class Block(nn.Module):  # type: ignore[name-defined,misc]
        def __init__(self, width: int) -> None:
            super().__init__()
            self.first = nn.Linear(width, width)
            self.gain = nn.Parameter(torch.ones(width))
            self.register_buffer("mean", torch.zeros(width))
            self.register_buffer("scratch", torch.zeros(2), persistent=False)
            self.register_buffer("steps", torch.tensor(0))
            self.register_parameter("shift", None)
            self.second = nn.Linear(width, width, bias=False)

        def forward(self, x: Any, scale: float = 1.0) -> Any:
            return x + self.second(torch.tanh(self.first(x))) * self.gain * scale + self.mean

    class Net(nn.Module):  # type: ignore[name-defined,misc]
        def __init__(self) -> None:
            super().__init__()
            self.blocks = nn.ModuleList([Block(3) for _ in range(2)])
            self.heads = nn.ModuleDict({"b": nn.Linear(3, 2), "a": nn.Linear(3, 1)})
            self.weights = nn.ParameterList([torch.ones(3), torch.ones(2, 3)])
            self.named = nn.ParameterDict({"z": torch.ones(1), "y": torch.ones(2)})
            self.tied = nn.Linear(3, 3)
            self.tied.weight = self.blocks[0].first.weight
            self.act = nn.Sequential(OrderedDict([("tanh", nn.Tanh()), ("relu", nn.ReLU())]))

        def forward(self, x: Any) -> Any:
            for block in self.blocks:
                x = block(x, scale=0.5)
            x = self.act(self.tied(x * self.weights[0]))
            return self.heads["a"](x) * self.named["z"], self.heads["b"](x)

    model = Net()
    state = model.state_dict()
    for i, tensor in enumerate(state.values()):
        if tensor.dtype == torch.float32:
            tensor.copy_(torch.from_numpy(data(*tensor.shape, seed=i)) if tensor.ndim else tensor)
    model.load_state_dict(state)
    return model


def names(torch: Any) -> Any:
    model = net(torch)
    return (
        list(model.state_dict()), list(model.state_dict(prefix="net.")),
        [(name, tuple(p.shape)) for name, p in model.named_parameters()],
        [name for name, _ in model.named_parameters("net", remove_duplicate=False)],
        [name for name, _ in model.named_parameters(recurse=False)], [name for name, _ in model.named_buffers()],
        [name for name, _ in model.named_modules()], [name for name, _ in model.named_modules(prefix="x")],
        [name for name, _ in model.named_children()], [type(m).__name__ for m in model.modules()],
        len(list(model.parameters())), len(list(model.buffers())), len(list(model.children())),
        [type(m).__name__ for m in model.blocks[0].modules()],
        model.get_submodule("blocks.1.first") is model.blocks[1].first,
        model.get_parameter("heads.a.bias") is model.heads["a"].bias, model.get_buffer("blocks.0.mean"),
    )  # fmt: skip


def text(torch: Any) -> Any:
    nn = torch.nn

    class Told(nn.Module):  # type: ignore[name-defined,misc]
        def extra_repr(self) -> str:
            return "one=1\ntwo=2"

    told = Told()
    told.inner = nn.Sequential(nn.Linear(2, 3, bias=False), Told(), nn.Sequential())
    told.none = None
    told.register_module("later", None)
    blocks = nn.ModuleList([nn.Sequential(nn.Linear(2, 2), nn.Tanh()) for _ in range(3)])
    return [
        repr(x)
        for x in (
            nn.Linear(2, 3), nn.Sequential(nn.Linear(2, 3), nn.ReLU()), nn.Sequential(), nn.ModuleList(),
            nn.ModuleDict(), nn.ModuleDict({"a": nn.ReLU(), "b": nn.Sequential(nn.Tanh())}), told, blocks,
            nn.ModuleList([nn.ReLU(), nn.ReLU(), nn.Tanh(), blocks]), nn.ParameterList(), nn.ParameterDict(),
            nn.Parameter(torch.tensor([1.0, 2.0])), nn.Parameter(torch.tensor([[1.5]]), requires_grad=False),
        )
    ] + [
        repr(x).replace("torch.", "")
        for x in (
            nn.ParameterList([torch.ones(2, 3), torch.ones(1), "x"]), nn.ParameterList([torch.ones(2, 3)]),
            nn.Sequential(nn.ParameterList([torch.ones(2), torch.ones(1)])),
        )
    ]  # fmt: skip


def gradients(torch: Any) -> Any:
    model = net(torch)
    x = torch.from_numpy(data(4, 3)).requires_grad_()
    a, b = model(x)
    (a.sum() + (b * b).sum()).backward()
    before = {name: p.grad for name, p in model.named_parameters()}
    frozen = [p.requires_grad for p in model.requires_grad_(False).parameters()]
    model.zero_grad()
    return a, b, before, x.grad, frozen, [p.grad for p in model.parameters()]


def modes(torch: Any) -> Any:
    model = net(torch)
    model.blocks[0].eval()
    first = [m.training for m in model.modules()]
    return first, [m.training for m in model.eval().modules()], [m.training for m in model.train().modules()]


def conversion(torch: Any) -> Any:
    model, found = net(torch), []
    parameters = list(model.parameters())
    for convert in (
        model.double, model.half, model.bfloat16, model.float,
        lambda: model.to(torch.float64), lambda: model.to("cpu"), lambda: model.to("cpu", torch.float16),
        lambda: model.to(dtype=torch.float32, device="cpu"), lambda: model.to(torch.ones(1, dtype=torch.float64)),
    ):  # fmt: skip
        same_one = convert() is model
        kept = all(p is q for p, q in zip(parameters, model.parameters(), strict=True))
        dtypes = [x.dtype for x in (*model.parameters(), *model.buffers())]
        found.append((same_one, kept, dtypes, [p.requires_grad for p in parameters]))
    return found


def assignment(torch: Any) -> Any:
    nn = torch.nn
    model = nn.Module()
    model.a = nn.Linear(1, 1)
    model.p = nn.Parameter(torch.ones(1))
    model.b = nn.Linear(2, 2)
    model.q = nn.Parameter(torch.ones(2))
    found = [list(model.state_dict())]
    model.a = nn.Linear(3, 3)  # keeps its place
    model.p = None
    found.append(list(model.state_dict()))
    model.p = nn.Parameter(torch.ones(4))
    model.b = nn.Parameter(torch.ones(5))  # a parameter in place of a module
    found.append(list(model.state_dict()))
    del model.a
    found.append([list(model.state_dict()), hasattr(model, "a")])
    model.register_buffer("x", torch.ones(1))
    model.x = torch.zeros(3)
    model.plain = torch.zeros(3)
    model.register_buffer("hidden", None)
    model.hidden = torch.ones(2)
    model.x2 = model.x
    found.append([(name, tuple(t.shape)) for name, t in model.state_dict().items()])
    model.x = nn.Parameter(torch.ones(6))
    return [*found, list(model.state_dict()), [name for name, _ in model.named_buffers()]]


def loading(torch: Any) -> Any:
    model, other = net(torch), net(torch)
    state = OrderedDict((k, v.clone() + 1) for k, v in model.state_dict().items())
    del state["heads.a.bias"]
    state["extra.weight"] = torch.ones(1)
    keys = other.load_state_dict(state, strict=False)
    full = repr(other.load_state_dict(model.state_dict()))
    wide = {k: v.double() if v.dtype == torch.float32 else v for k, v in model.state_dict().items()}
    other.load_state_dict(wide)
    kept = [p.dtype for p in other.parameters()]
    other.load_state_dict(wide, assign=True)
    assigned = other.state_dict(keep_vars=True).values()  # what was tied is one parameter here, and two in PyTorch
    return (
        list(keys.missing_keys), list(keys.unexpected_keys), full, kept, [x.dtype for x in assigned],
        [x.requires_grad for x in assigned], other.state_dict(), model.state_dict()["blocks.0.steps"],
        [isinstance(x, torch.nn.Parameter) for x in assigned],
        [x.requires_grad for x in model.state_dict(keep_vars=True).values()],
    )  # fmt: skip


def copies(torch: Any) -> Any:
    model = net(torch)
    twin = copy.deepcopy(model)
    with torch.no_grad():
        for p in twin.parameters():
            p.zero_()
    p = copy.deepcopy(torch.nn.Parameter(torch.ones(2)))
    return (
        model.state_dict(), twin.state_dict(), twin.tied.weight is twin.blocks[0].first.weight,
        isinstance(p, torch.nn.Parameter), isinstance(p.detach(), torch.nn.Parameter),
        isinstance(p * 1, torch.nn.Parameter), isinstance(torch.ones(1, requires_grad=True), torch.nn.Parameter),
    )  # fmt: skip


def forward_hooks(torch: Any) -> Any:
    model, seen = net(torch), []
    x = torch.from_numpy(data(2, 3))
    block = model.blocks[0]
    handles = [
        block.register_forward_pre_hook(lambda m, i: seen.append(("pre", len(i)))),
        block.register_forward_pre_hook(lambda m, i, k: (i, {"scale": k["scale"] * 2}), with_kwargs=True),
        block.register_forward_pre_hook(lambda m, i: seen.append(("first", len(i))), prepend=True),
        block.register_forward_hook(lambda m, i, k, out: seen.append(("post", sorted(k))), with_kwargs=True),
        block.register_forward_hook(lambda m, i, out: out + 1),
        block.register_forward_hook(lambda m, i, out: seen.append(("last", out.sum().item()))),
    ]
    out = model(x)
    for handle in handles:
        handle.remove()
    return out, model(x), seen


def backward_hooks(torch: Any) -> Any:
    model, seen = net(torch), []
    x = torch.from_numpy(data(2, 3)).requires_grad_()

    def note(name: str) -> Any:
        return lambda m, gi, go: seen.append((name, gi, go))

    for name, module in model.named_modules():
        if name in ("", "blocks.0", "blocks.1.first", "tied", "act.relu"):
            module.register_full_backward_hook(note(name))
    model.blocks[1].register_full_backward_pre_hook(lambda m, go: (go[0] * 2,))
    model.tied.register_full_backward_hook(lambda m, gi, go: (gi[0] * 3,))
    a, b = model(x)
    (a.sum() + b.sum()).backward()
    return seen, x.grad, [p.grad for p in model.parameters()]


def backward_hooks_without_wanting_inputs(torch: Any) -> Any:
    seen: list[Any] = []
    layer = torch.nn.Linear(3, 2)
    layer.load_state_dict({"weight": torch.from_numpy(data(2, 3)), "bias": torch.zeros(2)})
    layer.register_full_backward_hook(lambda m, gi, go: seen.append((gi, go)))
    layer(torch.from_numpy(data(2, 3))).sum().backward()
    return seen, layer.weight.grad


def sequences(torch: Any) -> Any:
    nn = torch.nn
    layers = [nn.Linear(i + 1, i + 2) for i in range(5)]
    model = nn.Sequential(*layers)
    found = [list(model[1:3].state_dict()), list(model[-1:].state_dict()), model[-1].in_features, len(model)]
    del model[1]
    found.append([(n, m.in_features) for n, m in model.named_children()])
    model.insert(1, layers[1])
    model.append(nn.Tanh())
    model.extend([nn.ReLU(), nn.ReLU()])
    found += [list(model.state_dict()), type(model.pop(-1)).__name__, len(model)]
    found += [list((model + nn.Sequential(layers[0])).state_dict()), list((nn.Sequential(layers[0]) * 3).state_dict())]
    holder = nn.ModuleList(layers)
    holder.insert(2, nn.Tanh())
    del holder[0:2]
    holder[0] = layers[0]
    holder += [nn.ReLU()]
    found += [repr(holder), [type(m).__name__ for m in holder[1:3]], len(holder + nn.ModuleList([nn.Tanh()]))]
    return found


def constant_initialisation(torch: Any) -> Any:
    init, empty = torch.nn.init, torch.empty
    return (
        init.eye_(empty(3, 4)), init.dirac_(empty(4, 2, 3)), init.dirac_(empty(4, 2, 3, 3), 2), init.ones_(empty(2)),
        init.dirac_(empty(2, 2, 2, 3, 4)), init.constant_(empty(2), 0.3), init.zeros_(empty(2)),
        [float(init.calculate_gain(n)) for n in ("linear", "conv2d", "sigmoid", "tanh", "relu", "leaky_relu", "selu")],
        init.calculate_gain("leaky_relu", 0.3), init.orthogonal_(empty(0, 3)), init.sparse_(empty(2, 3), 1.0),
    )  # fmt: skip


def gradients_of_copies(torch: Any) -> Any:
    layer, found = torch.nn.Linear(2, 2), []
    plain = torch.ones(2, requires_grad=True)
    (layer(torch.ones(1, 2)) * plain).sum().backward()
    for copied in (copy.deepcopy(layer), copy.deepcopy(layer.weight), copy.deepcopy(plain)):
        found.append([getattr(p, "grad", None) is None for p in (copied, getattr(copied, "weight", copied))])
    return found


def surgery(torch: Any) -> Any:
    """Layers exchanged behind the module's back, as libraries for PyTorch do."""
    model = net(torch)
    model._modules["act"] = torch.nn.Identity()
    model.blocks._modules["1"] = torch.nn.Linear(3, 3, bias=False)
    model.blocks._modules["1"]._parameters["weight"] = torch.nn.Parameter(torch.ones(3, 3))
    model.blocks[0]._parameters["gain"].data.fill_(2.0)
    model.blocks[0]._buffers.update(mean=torch.ones(3))
    model.heads._modules.pop("a")
    second = model.blocks[0]
    second._parameters["shift"], second.second._parameters["bias"] = torch.nn.Parameter(torch.ones(1)), None
    x = model.blocks[0](torch.from_numpy(data(4, 3)))
    return (
        model.blocks[1](x), list(model.state_dict()), [name for name, _ in model.named_parameters()],
        [name for name, _ in model.named_modules()], hasattr(model.heads, "a"), type(model.act).__name__,
        second.shift, second.mean,
    )  # fmt: skip


def states_with_more(torch: Any) -> Any:
    """Extra state, and hooks of saving and loading. Here all hooks before loading come before all loading."""
    nn, log, loaded = torch.nn, list[Any](), list[str]()

    class More(nn.Linear):  # type: ignore[name-defined,misc]
        words = "none"

        def get_extra_state(self) -> Any:
            return {"words": self.words}

        def set_extra_state(self, state: Any) -> None:
            self.words = state["words"]

    def rename(module: Any, state: Any, prefix: str, metadata: Any, strict: bool, *lists: list[str]) -> None:
        log.append((type(module).__name__, prefix, len(lists)))
        state[f"{prefix}weight"] = state.pop(f"{prefix}w")

    source, target = (nn.Sequential(nn.Linear(1, 1), nn.Sequential(More(1, 1)), nn.ReLU()) for _ in range(2))
    source[1][0].words = "some"
    source[1].register_state_dict_pre_hook(lambda module, prefix, keep: log.append((prefix, keep)))
    source[0].register_state_dict_post_hook(lambda module, state, prefix, _: log.append((list(state), prefix)))
    state = source.state_dict()
    target[1][0].register_load_state_dict_pre_hook(rename)
    for module in target.modules():
        module.register_load_state_dict_post_hook(lambda module, keys: loaded.append(type(module).__name__))
    names = list(state)
    state["1.0.w"], state["other"] = state.pop("1.0.weight"), torch.ones(1)
    keys = target.load_state_dict(state, strict=False)
    without = target.load_state_dict({k: v for k, v in state.items() if "_extra" not in k}, strict=False)
    return names, log, loaded, target[1][0].words, list(keys), list(without)


def delegation(torch: Any) -> Any:
    class Around(torch.nn.Module):  # type: ignore[name-defined,misc]
        def __init__(self, inner: Any) -> None:
            super().__init__()
            self.inner = inner

        def __getattr__(self, name: str) -> Any:
            try:
                return super().__getattr__(name)
            except AttributeError:
                return getattr(self.inner, name)

    twin = copy.deepcopy(Around(torch.nn.Linear(2, 3)))
    return twin.out_features, list(twin.state_dict()), repr(twin), hasattr(twin, "nothing")


def padding(torch: Any) -> Any:
    rnn = torch.nn.utils.rnn
    parts = [torch.from_numpy(data(n, 2)) for n in (3, 1, 4)]
    padded = rnn.pad_sequence(parts)
    return (
        padded, rnn.pad_sequence(parts, batch_first=True, padding_value=-1.5),
        rnn.pad_sequence(parts, True, 2.0, "left"), rnn.pad_sequence([torch.tensor([1, 2]), torch.tensor([3])]),
        rnn.unpad_sequence(rnn.pad_sequence(parts, batch_first=True), torch.tensor([3, 1, 4]), batch_first=True),
    )  # fmt: skip


PROGRAMS: list[Callable[..., Any]] = [
    names, text, gradients, modes, conversion, assignment, loading, copies, forward_hooks, backward_hooks,
    sequences, constant_initialisation, gradients_of_copies, surgery, states_with_more, delegation, padding,
]  # fmt: skip


def compare(ours: Any, theirs: Any) -> None:
    if isinstance(theirs, dict):
        assert list(ours) == list(theirs)
        ours, theirs = list(ours.values()), list(theirs.values())
    if isinstance(theirs, list | tuple):
        assert len(ours) == len(theirs)
        for pair in zip(ours, theirs, strict=True):
            compare(*pair)
    else:
        same(ours, theirs)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_programs_return_the_same(program: Callable[..., Any]) -> None:
    compare(program(tg), program(torch))


def test_backward_hooks_without_wanting_inputs() -> None:
    with pytest.warns(UserWarning, match="no inputs require gradients"):
        theirs = backward_hooks_without_wanting_inputs(torch)
    compare(backward_hooks_without_wanting_inputs(tg), theirs)


DRAWN: dict[str, Callable[[Any, Any], Any]] = {
    "uniform_": lambda init, x: init.uniform_(x, -1, 3),
    "normal_": lambda init, x: init.normal_(x, 1, 2),
    "trunc_normal_": lambda init, x: init.trunc_normal_(x, 0.5, 1, -1, 1),
    "trunc_normal_ in a tail": lambda init, x: init.trunc_normal_(x, 0, 1, 1.8, 4),
    "xavier_uniform_": lambda init, x: init.xavier_uniform_(x, 2),
    "xavier_normal_": lambda init, x: init.xavier_normal_(x),
    "kaiming_uniform_": lambda init, x: init.kaiming_uniform_(x, 5**0.5),
    "kaiming_normal_": lambda init, x: init.kaiming_normal_(x, mode="fan_out", nonlinearity="relu"),
    "orthogonal_": lambda init, x: init.orthogonal_(x, 2),
    "sparse_": lambda init, x: init.sparse_(x.flatten(1), 0.3, 0.5),
}


@pytest.mark.parametrize("name", DRAWN)
def test_drawn_values_are_spread_alike(name: str) -> None:
    """Mean, spread and ten quantiles of 60,000 numbers, of one standard deviation each a fiftieth apart at most."""
    ours = DRAWN[name](tg.nn.init, tg.empty(300, 20, 10)).double().numpy().ravel()
    theirs = DRAWN[name](torch.nn.init, torch.empty(300, 20, 10)).double().numpy().ravel()
    ours.sort()
    theirs.sort()
    spread = theirs.std()
    assert abs(ours.mean() - theirs.mean()) < spread / 50
    assert abs(ours.std() - spread) < spread / 50
    assert abs(ours[3000::6000] - theirs[3000::6000]).max() < spread / 25


MISTAKES: dict[str, Callable[[Any], Any]] = {
    "a tensor for a parameter": lambda torch: setattr(torch.nn.Linear(1, 1), "weight", torch.ones(1, 1)),
    "a number for a module": lambda torch: setattr(torch.nn.Sequential(torch.nn.ReLU()), "0", 3),
    "a list for layers": lambda torch: torch.nn.Sequential([torch.nn.ReLU()]),
    "a name with a dot": lambda torch: torch.nn.Module().add_module("a.b", torch.nn.ReLU()),
    "a name that is taken": lambda torch: torch.nn.Linear(1, 1).register_buffer("weight", torch.ones(1)),
    "a buffer of text": lambda torch: torch.nn.Module().register_buffer("b", "text"),
    "a parameter that is none": lambda torch: torch.nn.Module().register_parameter("p", torch.ones(1)),
    "states of other shapes": lambda torch: torch.nn.Linear(1, 2).load_state_dict(torch.nn.Linear(2, 1).state_dict()),
    "states of other names": lambda torch: torch.nn.Linear(1, 2).load_state_dict({}),
    "integers as parameters": lambda torch: torch.nn.Linear(1, 2).to(torch.int64),
    "train as a verb": lambda torch: torch.nn.Linear(1, 2).train(10),
    "an index too high": lambda torch: torch.nn.ModuleList([torch.nn.ReLU()])[1],
    "fans of a vector": lambda torch: torch.nn.init.xavier_normal_(torch.ones(3)),
    "an unknown gain": lambda torch: torch.nn.init.calculate_gain("swish"),
}


def forgetful(torch: Any) -> Any:
    class Forgetful(torch.nn.Module):  # type: ignore[name-defined,misc]
        def __init__(self) -> None:
            self.layer = torch.nn.Linear(1, 1)

    return Forgetful()


CAUGHT: dict[str, tuple[type[Exception], Callable[[Any], Any]]] = {
    "a tensor for a parameter": (TypeError, MISTAKES["a tensor for a parameter"]),
    "a number for a module": (TypeError, MISTAKES["a number for a module"]),
    "a number for a buffer": (TypeError, lambda torch: setattr(torch.nn.BatchNorm1d(1), "running_mean", 3)),
    "a number as a name": (TypeError, lambda torch: torch.nn.ModuleDict({0: torch.nn.ReLU()})),
    "super().__init__() forgotten": (AttributeError, forgetful),
    "a fraction for a size": (TypeError, lambda torch: torch.nn.Linear(3 / 2, 1)),
    "an argument of another name": (TypeError, lambda torch: torch.nn.Conv2d(1, 2, kernel=3)),
    "a file's name": (AttributeError, lambda torch: torch.nn.linear),
    "states of other names": (RuntimeError, MISTAKES["states of other names"]),
}


@pytest.mark.parametrize("mistake", [*CAUGHT])
def test_what_a_program_catches_it_catches_here(mistake: str) -> None:
    kind, make = CAUGHT[mistake]
    for library in (torch, tg):
        with pytest.raises(kind):
            make(library)


@pytest.mark.parametrize("mistake", [*MISTAKES])
def test_mistakes_are_refused_with_a_reason(mistake: str) -> None:
    with pytest.raises(Exception):  # noqa: B017, the classes of the two differ
        MISTAKES[mistake](torch)
    with pytest.raises(tg.errors.EduError, match=r"(?s)why: .*mend: "):
        MISTAKES[mistake](tg)
