"""Keep layers where the module finds them."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import tinygrad_edu as tg
from tinygrad_edu import Tensor, nn, optim
from tinygrad_edu.common.wording import plural
from tinygrad_edu.nn.unregistered import unregistered
from tinygrad_edu.tips import Aside, Claim, Elsewhere, Fact, Limit, Number, Picture, Question, Size, Slip, Source, Tip
from tinygrad_edu.tips.facts import declare
from tinygrad_edu.tips.outcomes import DIFFERS
from tinygrad_edu.tips.signs import Seen, Sign

declare(Fact("parameters", "parameters found", "count", "tensors that model.parameters() gives"))
declare(Fact("trained", "layers trained", "count", "hidden layers whose weight is another one"))


class Plain(nn.Module):
    """Its hidden layers are in a list: one of Python, or a ModuleList, which is a module."""

    def __init__(self, hidden: Any, head: Any) -> None:
        super().__init__()
        self.hidden, self.head = hidden, head

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.hidden:
            x = layer(x).tanh()
        return self.head(x)


def inputs(generator: tg.Generator, layers: int, width: int) -> dict[str, Any]:
    tg.manual_seed(0)
    hidden = [nn.Linear(width, width) for _ in range(layers)]
    return {"hidden": hidden, "head": nn.Linear(width, 1), "x": tg.ones(4, width)}


def slow(hidden: list[Any], head: Any, x: Tensor) -> Any:
    return trained(Plain(hidden, head), hidden, x)


def fast(hidden: list[Any], head: Any, x: Tensor) -> Any:
    return trained(Plain(nn.ModuleList(hidden), head), hidden, x)


def trained(model: Any, hidden: list[Any], x: Tensor) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # this library says so; PyTorch does not
        optimizer = optim.SGD(model.parameters(), lr=0.1)
    before = [layer.weight.detach().clone() for layer in hidden]
    model(x).square().mean().backward()
    optimizer.step()
    changed = sum(not bool((a == b.weight).all()) for a, b in zip(before, hidden, strict=True))
    return Aside((len(list(model.parameters())), changed)), model(x).detach()


def guide(hidden: list[Any], head: Any, x: Tensor) -> Any:
    parts = [part for layer in hidden for part in (layer, nn.Tanh())]
    return trained(nn.Sequential(*parts, head), hidden, x)


def layer(w: Tensor) -> Tensor:
    return (w * 0.5).tanh().sum()


def applies(seen: Seen) -> Iterator[Sign]:
    for one in [lost for root in seen.modules.values() for lost in unregistered(root)]:
        holds = f"{type(one.module).__name__}.{one.name} is a plain {type(vars(one.module)[one.name]).__name__}"
        layers = sum(isinstance(item, nn.Module) for item in one.items)
        what = plural(layers, "layer") if layers else plural(len(one.items), "parameter")
        told = f"{holds} of {what} that the module does not find"
        yield Sign(None, told, saves=f"{what} never trained, saved or moved")


TIP = Tip(
    slug="registered-layers",
    title="Keep layers where the module finds them",
    theme="model",
    why="A module finds parameters **in its attributes and in modules among them**, and does not look into lists.",
    about=(
        "Forward works either way, and so does backward: the layers in the list get their gradients. But "
        "`parameters()` does not give them, so the optimiser never steps them, `zero_grad()` never clears them, "
        "`to(device)` leaves them behind, and `state_dict()` saves a model without them. PyTorch says nothing, only "
        "the loss stays higher than it should; here a warning names the list. Put layers into `ModuleList`, "
        "`ModuleDict` or `Sequential`, single tensors into `ParameterList`. After building a model, count its "
        "parameters. For speed it makes no difference."
    ),
    sources=(Source("P", "Use Efficient Layers", "a list of layers is slow, Sequential is fast"),),
    parameters=(Size("layers", 4, 0, 16, "hidden layers"), Size("width", 16, 1, 128, "features of each")),
    inputs=inputs,
    slow=slow,
    fast=fast,
    outcomes={"slow": DIFFERS},
    reads={"parameters": lambda value: value[0].value[0], "trained": lambda value: value[0].value[1]},
    slips=(Slip("P", guide, {"parameters": 10, "equal": True}, "A list is not slow: what is in it is never trained."),),
    claims=(Claim("parameters", slow=2, fast=10), Claim("trained", slow=0, fast=4)),
    limits=(Limit({"layers": 0}, "no difference", "Without hidden layers nothing is in the list."),),
    question=Question(
        "Four hidden layers are in a plain list. After a step of training, how many of their weights have changed?",
        Number(0, 4, "weights"),
        lambda result: float(result.slow["trained"]),
        tempting=4,
        refutation="They have gradients, but the optimiser has its tensors from parameters(), which sees no list.",
    ),
    explain="Which calls on a model would show, without training, that layers are missing?",
    symptoms=("my loss does not fall", "my model saves fewer weights than it has"),
    picture=Picture("GraphStepper", lambda: {"slow": layer, "fast": layer, "w": tg.ones(2).requires_grad_()}),
    elsewhere=(
        Elsewhere(
            "PyTorch 2.13",
            "2026-11",
            "layers = torch.nn.ModuleList([torch.nn.Linear(4, 4) for _ in range(3)])\nw = next(layers.parameters())",
        ),
    ),
    applies=applies,
)
