"""The network, and a training loop in which each slow habit is another line. Its random numbers come from its seed."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from functools import cache
from typing import Any

import numpy as np

from ... import backends, nn, optim
from ...amp import autocast
from ...compiler import TraceError, compile
from ...data import digits
from ...dtypes import as_dtype
from ...nn import functional as F
from ...settings import no_grad, scoped
from ...tensor import Tensor, tensor
from ...tensor.creation import zeros_like
from . import machine
from .model import CLASSES, Knobs

LAYERS: dict[str, Callable[[], nn.Module]] = {
    "relu": nn.ReLU, "tanh": nn.Tanh, "sigmoid": nn.Sigmoid, "gelu": nn.GELU, "none": nn.Identity,
}  # fmt: skip

DTYPES = ("float64", "bfloat16")  # habits that are the dtype of weights and digits


@cache
def data() -> tuple[Any, Any, Any, Any]:
    """Training images and labels, test images and labels, as arrays that nobody may write to."""
    parts = tuple(part.array.copy() for part in digits().split())
    for part in parts:
        part.flags.writeable = False
    return parts


class _Linear(nn.Linear):
    """A layer whose numbers come later: the usual one draws them from the stream that the user's program draws from."""

    def reset_parameters(self) -> None:
        """Nothing yet."""


def network(knobs: Knobs, stream: np.random.Generator) -> nn.Sequential:
    """Linear layers with activations between them, as PyTorch begins them: uniform over ±1/√inputs."""
    layers: list[nn.Module] = []
    for n, m in zip(knobs.sizes, knobs.sizes[1:], strict=False):
        layers += [LAYERS[knobs.activation]()] if layers and knobs.activation != "none" else []
        layers.append(_Linear(n, m))
        for p in layers[-1].parameters():
            p.array[...] = stream.uniform(-(n**-0.5), n**-0.5, p.shape)
    return nn.Sequential(*layers)


def optimiser(knobs: Knobs, model: nn.Module) -> optim.Optimizer:
    """What moves the weights."""
    if knobs.optimiser == "Adam":
        return optim.Adam(model.parameters(), lr=knobs.learning_rate)
    return optim.SGD(model.parameters(), lr=knobs.learning_rate, momentum=0.9 if knobs.optimiser == "momentum" else 0)


def mislabelled(labels: Any, share: float, stream: np.random.Generator, kind: str = "random") -> Any:
    """The labels, with another digit in place of that share of them: any other one, or the next one."""
    labels = labels.copy()
    wrong = stream.permutation(len(labels))[: round(share * len(labels))]
    labels[wrong] = (labels[wrong] + (1 if kind == "next digit" else stream.integers(1, 10, len(wrong)))) % 10
    return labels


def loss_in_a_loop(scores: Tensor, labels: Tensor) -> Tensor:
    """`F.cross_entropy`, row by row."""
    total: Any = 0.0
    for row, label in zip(scores, labels.tolist(), strict=True):
        total = total + (row.logsumexp(0) - row[label])
    return total / len(labels)


def _under(cast: str) -> Any:
    """In which a forward pass runs: the `autocast` of a device, or nothing."""
    return autocast(cast) if cast else nullcontext()


def lesson(model: nn.Module, criterion: Callable[[Tensor, Tensor], Any], cast: str) -> Callable[..., Tensor]:
    """What a network does with a part of a batch: it gives the loss, and adds its gradients to those that are there.
    Forward runs under the `autocast` of the device that ``cast`` names, if it names one."""

    def learn(x: Tensor, y: Tensor, parts: int) -> Tensor:
        with _under(cast):
            loss: Tensor = criterion(model(x), y)
        (loss / parts if parts > 1 else loss).backward()
        return loss

    return learn


class Loop:
    """A training loop, one `step` at a time. ``on`` holds the slow habits, which may change between two steps.

    Its tensors have the names that they would have in a script, and stay until those names are bound again: ``loss``
    of the last step, ``test_loss`` of the test digits read after it, and ``total`` over this pass.
    """

    def __init__(self, knobs: Knobs, seed: int) -> None:
        weights, order, noise = map(np.random.default_rng, np.random.SeedSequence(seed).spawn(3))
        self.knobs, self.on, self.steps, self.passes = knobs, frozenset[str](), 0, 0
        self.images, labels, self.test_images, self.test_labels = data()
        self.labels = mislabelled(labels, knobs.noise, noise, knobs.wrong)
        self.machine = machine.present()  # that a simulated device is like
        self._stream = order
        self._order = np.arange(0)
        self._at = self._tested = 0
        with plain():
            self.model = network(knobs, weights).to(self.device)
            self.optimizer = optimiser(knobs, self.model)
            self._hold()
        self._write()
        self.loss: Any = None
        self.test_loss: Any = None
        self.total: Any = 0.0

    def twin(self) -> Loop:
        """A loop with the same weights, digits and random numbers, which goes on by itself."""
        other = copy.copy(self)
        with plain():
            other._stream = copy.deepcopy(self._stream)
            other.model = network(self.knobs, np.random.default_rng(0))
            other.model.to(self.dtype)
            for mine, its in zip(self.model.parameters(), other.model.parameters(), strict=True):
                its.array[...] = values(mine)
            other.model.to(self.device)
            other.optimizer = optimiser(self.knobs, other.model)
            other.optimizer.load_state_dict(self.optimizer.state_dict())
        other._write()
        other.loss, other.test_loss, other.total = None, None, 0.0
        return other

    def set(self, knobs: Knobs) -> None:
        """Go on with another learning rate or batch size, or on another device."""
        before, self.knobs = self.knobs, knobs
        for group in self.optimizer.param_groups:
            group["lr"] = knobs.learning_rate
        if knobs.device != before.device:
            self._move()
        if (knobs.device, knobs.batch) != (before.device, before.batch):
            self._write()

    @property
    def device(self) -> str:
        """Where it trains."""
        return "cpu" if self.knobs.device == "cpu" else machine.device().name

    @property
    def dtype(self) -> str:
        """Of the weights and the digits."""
        return next((name for name in DTYPES if name in self.on), "float32")

    @property
    def _cast(self) -> str:
        """Whose `autocast` forward runs under."""
        return self.device.partition(":")[0] if "autocast" in self.on else ""

    def _write(self) -> None:
        """Write down anew what the network does with a part of a batch."""
        learn = lesson(self.model, loss_in_a_loop if "loop" in self.on else F.cross_entropy, self._cast)
        self._learning: Callable[..., Tensor] = learn
        self.refused, self._written = False, "compiled" not in self.on  # refused: whether no program can do that

    def _compile(self) -> None:
        """Make the programs of a step before it begins, so that no meter counts how they are made.

        There is one for each way that a part of a batch finds the gradients: gone, or there already. It serves labels
        between the least and the greatest that it has met, so here it meets the first class and the last. Gradients
        that are filled with zeros are there from now on.
        """
        self._written = True
        count = 1 if "one sample" in self.on else self.knobs.batch
        parts, x = self.knobs.batch // count, self.x[:count].to(self.device)
        zeros, held = "zeros" in self.on, [(p, p.grad) for p in self.model.parameters()]
        program = compile(self._learning, fullgraph=True)
        try:
            for there in {zeros, zeros or parts > 1}:
                for ends in ((0, CLASSES - 1), (CLASSES - 1, 0)):
                    for p, _ in held:
                        p.grad = zeros_like(p) if there else None
                    program(x, tensor(np.resize(ends, count)).to(self.device), parts)
            self._learning = program
        except (TraceError, TypeError):  # no program can repeat it, or record such arrays: it stays as it is written
            self.refused = True
        finally:
            for p, gradient in held:
                p.grad = zeros_like(p) if zeros and gradient is None else gradient

    @property
    def codes(self) -> list[Any]:
        """The programs that a step runs, as code; none if it runs as it is written."""
        return [code for trace in getattr(self._learning, "ledger", ()) for code in trace.codes]

    def _move(self) -> None:
        """Take weights, gradients, the optimiser's state and the digits to the device. Graphs stay, and are dropped."""
        state, self.machine = self.optimizer.state_dict(), machine.present()
        self.loss = self.test_loss = None
        self.total = 0.0
        with plain():
            self.model.to(self.device)
            self.optimizer = optimiser(self.knobs, self.model)
            self.optimizer.load_state_dict(state)
            self._hold()

    def flip(self, habit: str, on: bool) -> None:
        """Take up a slow habit, or leave it off."""
        before, self.on = self.on, self.on | {habit} if on else self.on - {habit}
        if habit in DTYPES and before != self.on:
            with plain():
                self.model.to(self.dtype)
                self.optimizer.load_state_dict(self.optimizer.state_dict())  # which takes on the dtype of the weights
                self._hold()
        if habit == "moves" and before != self.on:
            with plain():
                self._hold()
        if habit in ("total", "compiled"):
            self.total = 0.0
        self._write()

    def step(self) -> None:
        """One step, and a look at some test digits: a quarter of a batch, as there are a quarter as many of them."""
        with plain():
            self._train()
            self._test()
        self.steps += 1

    def _train(self) -> None:
        x, y = self._batch()
        if "moves" in self.on:
            x, y = x.to(self.device), y.to(self.device)
        if "copies" in self.on:
            x, y = x.clone(), y.clone()
        self.optimizer.zero_grad(set_to_none="zeros" not in self.on)
        if "one sample" in self.on:
            for i in range(len(y)):
                self._learn(x[i : i + 1], y[i : i + 1], len(y))
        else:
            self._learn(x, y)
        self.optimizer.step()

    def _learn(self, x: Tensor, y: Tensor, parts: int = 1) -> None:
        """Add the gradients of one of so many parts of a batch."""
        self.loss = self._learning(x, y, parts)
        self.total = self.total + (self.loss if "total" in self.on else self.loss.item())

    def _test(self) -> None:
        count = max(self.knobs.batch // 4, 1)
        start = self._tested if self._tested + count <= len(self.test_labels) else 0
        self._tested = start + count
        x, y = self.test_x[start : start + count], self.test_y[start : start + count]
        with _under(self._cast), nullcontext() if "evaluation" in self.on else no_grad():
            self.test_loss = F.cross_entropy(self.model(x), y)

    def _batch(self) -> tuple[Tensor, Tensor]:
        """The next digits, as views of the shuffled ones. Those left at the end of a pass are too few, and left out."""
        self.shuffle()
        part = slice(self._at, self._at + self.knobs.batch)
        self._at = part.stop
        return self.x[part], self.y[part]

    def shuffle(self) -> None:
        """Begin a pass, if the one before has no batch left, and make the programs of a step, if it has none yet. No
        meter counts either as a part of a step."""
        if self._at + self.knobs.batch > len(self._order):
            self._order = self._stream.permutation(len(self.labels))
            self._at, self.passes, self.total = 0, self.passes + 1, 0.0
            with plain():
                self._hold()
        if not self._written:
            with plain(), machine.LOCK:
                self._compile()

    def _hold(self) -> None:
        """The digits as tensors, in the order of this pass and in the dtype of the weights; on the device, unless each
        batch is taken there."""
        dtype = as_dtype(self.dtype)
        order = self._order
        self.x, self.y = tensor(self.images[order].astype(dtype)), tensor(self.labels[order])
        self.test_x, self.test_y = tensor(self.test_images.astype(dtype)), tensor(self.test_labels)
        if self.device != "cpu":
            with machine.LOCK:
                self.test_x, self.test_y = self.test_x.to(self.device), self.test_y.to(self.device)
                if "moves" not in self.on:
                    self.x, self.y = self.x.to(self.device), self.y.to(self.device)

    @property
    def names(self) -> tuple[Any, ...]:
        """What the script's names hold."""
        return self.loss, self.total, self.test_loss


def values(x: Tensor) -> Any:
    """A tensor's numbers, as an array of the host that is not copied; no clock moves by that."""
    return backends.of(x.array).peek(x.array)


def plain() -> Any:
    """The engine as it is when nobody has set anything, whatever the notebook has set."""
    return scoped(grad=True, inference=False, guard="on", promotion="torch", device="cpu", dtype="float32")


def layers(model: nn.Module) -> Iterator[nn.Linear]:
    """The layers that learn."""
    return (layer for layer in model if isinstance(layer, nn.Linear))  # type: ignore[attr-defined]
