"""Numbers on the number line of a format: what becomes 0 there, and what a loss scale brings back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from typing import Any, ClassVar

import numpy as np
import traitlets

from tinygrad_edu import Tensor, nn
from tinygrad_edu.views import ruler
from tinygrad_edu.views.frame import Frame
from tinygrad_edu.views.given import callables, finite, refusal, texts, typed
from tinygrad_edu.views.ruler import RulerState, Sample
from tinygrad_edu.views.ruler.figure import STEPS

from .base import EduWidget, Tell


class PrecisionRuler(EduWidget, room=ruler):
    """``PrecisionRuler(model)`` shows how large a model's gradients are, and what float16 or int8 makes of them.

    Or ``PrecisionRuler(x)``: a tensor or an array, or several in a list. ``step`` is a function that trains one step,
    after which the gradients are read again; with ``lr``, what a step of plain SGD rounds away is counted too.

    Gestures: drag the *loss scale* (← →), and see what it brings back; choose a *format*; *Step* (s) and *20 steps*
    train on; *Reset* (r) takes the scale and the format back, not the training.
    """

    awaited = frozenset({"step", "steps"})
    mirrors: ClassVar[dict[str, str]] = {"power": "scale", "format": "format"}
    power = traitlets.Int(0).tag(sync=True)  # numbers are multiplied by 2**power
    format = traitlets.Unicode("float16").tag(sync=True)

    def __init__(
        self, numbers: Any, *, step: Callable[[], Any] | None = None, lr: float | None = None, ask: str = "",
        format: str = "float16",
    ) -> None:  # fmt: skip
        texts("PrecisionRuler", ask=ask)
        if step is not None:
            callables("PrecisionRuler", step=step)
        if lr is not None and finite("PrecisionRuler", "lr", lr) <= 0:
            raise refusal("PrecisionRuler", "lr", lr, "a learning rate is more than 0", "write lr=0.01")
        self._numbers, self._step, self._lr = numbers, step, lr
        known = ruler.known_format(format)
        if step is not None and isinstance(numbers, nn.Module) and not _gradients(numbers):
            step()
        self.state = self._first = RulerState(self._read(), known, ask=ask, trains=step is not None)
        super().__init__()

    def frame(self) -> Frame:
        """The frame of the current state."""
        return ruler.frame(self.state)

    def data(self) -> Any:
        """How many numbers there are of each size, and what the format makes of them, as plain data."""
        state = self.state
        return {
            "format": state.format, "power": state.power, "steps": state.steps, "zeros": state.sample.zeros,
            "sizes": [list(one) for one in sorted(state.sample.bins.items())],
            "as they are": asdict(state.before), "multiplied": asdict(state.now),
        }  # fmt: skip

    def mirrored(self) -> dict[str, Any]:
        """The scale and the format."""
        return {"power": self.state.power, "format": self.state.format}

    def _act(self, act: str, value: Any) -> None:
        if act == "scale":
            self.state = ruler.scaled(self.state, typed(act, value))
        elif act == "format":
            self.state = replace(self.state, format=ruler.known_format(value))
        elif act in ("step", "steps") and self._step is not None:
            self._train(STEPS if act == "steps" else 1)
        elif act == "reset":
            self.abandon()
            self.state = replace(self.state, power=self._first.power, format=self._first.format)
        else:
            raise KeyError(act)

    def _train(self, count: int) -> None:
        """Train on, and read the gradients again."""
        step = self._step
        assert step is not None

        def job(tell: Tell) -> tuple[Sample, int]:
            for done in range(1, count + 1):
                step()
                if not tell(done, count, 0.0):
                    break
            return self._read(), done

        def then(found: tuple[Sample, int]) -> None:
            self.state = ruler.moved(self.state, *found)

        self.work(job, then)

    def _read(self) -> Sample:
        """The numbers as they are now."""
        if not isinstance(self._numbers, nn.Module):
            return ruler.read(_arrays(self._numbers), "numbers")
        found = _gradients(self._numbers)
        if not found:
            why, mend = "its parameters have no gradients", "call backward() first, or give step=…"
            raise refusal("PrecisionRuler", "numbers", self._numbers, why, mend)
        weights = [_array(one) for one, _ in found] if self._lr is not None else []
        return ruler.read([array for _, array in found], "gradients", weights, self._lr)


def _gradients(model: nn.Module) -> list[tuple[Tensor, Any]]:
    """The parameters that have a gradient, each with it."""
    return [(one, _array(one.grad)) for one in model.parameters() if one.grad is not None]


def _array(one: Any) -> Any:
    return one.detach().to("float32").cpu().numpy() if isinstance(one, Tensor) else np.asarray(one)


def _arrays(value: Any) -> Sequence[Any]:
    """The arrays among what was given. Raises `ArgumentError` for what holds no numbers."""
    found = [_array(one) for one in (value if isinstance(value, (list, tuple)) else [value])]
    if any(one.dtype.kind not in "fiu" for one in found):
        why = "it shows a model's gradients, a tensor, an array, or several in a list"
        raise refusal("PrecisionRuler", "numbers", value, why, "give one of these")
    return found
