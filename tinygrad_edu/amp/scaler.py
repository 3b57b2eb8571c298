"""`GradScaler`: float16 gradients are scaled away from zero, and steps whose gradients are infinite are skipped."""

from __future__ import annotations

import math
from collections.abc import Callable
from enum import Enum
from typing import Any

import numpy as np

from .. import backends
from ..dtypes import float16
from ..errors import ArgumentError, AutogradError, DtypeError
from ..inputs.outside import announced, outside
from ..ops.logic import isfinite
from ..ops.out import stack
from ..settings import modes, no_grad
from ..tensor import Tensor


class _Stage(Enum):
    READY, UNSCALED, STEPPED = range(3)


class _Seen:
    """What is known of an optimiser's gradients since the last `update`."""

    def __init__(self) -> None:
        self.stage = _Stage.READY
        self.finite: list[Tensor] = []  # of each device: are all gradients finite?
        self._overflowed: bool | None = None

    @property
    def overflowed(self) -> bool:
        """Whether any is not. The first time that it is asked, the host waits for the device."""
        if self._overflowed is None:
            self._overflowed = not all(bool(one.item()) for one in self.finite)
        return self._overflowed


class GradScaler:
    """Scale the loss, so that small gradients do not become zero in float16, and adapt the scale to the gradients.

    >>> import tinygrad_edu as tg
    >>> w = tg.ones(3, requires_grad=True)
    >>> optimizer, scaler = tg.optim.SGD([w], lr=0.1), tg.amp.GradScaler("cpu", init_scale=1024.0)
    >>> with tg.autocast("cpu", dtype=tg.float16):
    ...     loss = tg.nn.functional.linear(tg.ones(2, 3), w.reshape(1, 3)).sum() * 1e-6
    >>> scaler.scale(loss).backward()  # gradients are 1,024 times as large
    >>> scaler.step(optimizer)  # unscales them; skips the step if one is infinite or NaN
    >>> scaler.update()  # after such a step the scale is halved; after 2,000 good ones in a row it is doubled
    >>> scaler.get_scale()
    1024.0

    Call `unscale_` before what looks at gradients, such as `clip_grad_norm_`. With ``enabled=False`` all methods pass
    things through. The numbers are those of ``torch.amp.GradScaler``, step by step. Here the scale is kept by the host
    as a float32 number, since `step` waits for the device in any case.
    """

    def __init__(
        self, device: str = "cuda", init_scale: float = 2.0**16, growth_factor: float = 2.0,
        backoff_factor: float = 0.5, growth_interval: int = 2000, enabled: bool = True,
    ) -> None:  # fmt: skip
        self._device, self._enabled = device, bool(enabled)
        if self._enabled:
            self._scale = float(np.float32(_positive("init_scale", init_scale)))
            self.set_growth_factor(growth_factor)
            self.set_backoff_factor(backoff_factor)
            self.set_growth_interval(growth_interval)
            self._good = 0  # steps in a row
            self._seen: dict[int, _Seen] = {}

    # A step, in the order of the calls ---------------------------------------------------------------------------

    def scale(self, outputs: Any) -> Any:
        """The loss, or each tensor of a list or tuple, times the scale."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, Tensor):
            number = outside("number", self.get_scale) if modes().observers else None
            return outputs * (self._scale if number is None else number)
        if isinstance(outputs, (list, tuple)):
            return type(outputs)([self.scale(one) for one in outputs])
        tried, why = f"GradScaler.scale of a {type(outputs).__name__}", "a loss is a tensor"
        raise ArgumentError(tried, why, "give a tensor, or a list of tensors")

    @announced
    @no_grad()
    def unscale_(self, optimizer: Any) -> None:
        """Divide the gradients of an optimiser's parameters by the scale, in place, and note whether they are finite.

        Raises `AutogradError` if that has been done since the last `update`, and `DtypeError` for float16 gradients:
        the parameters should be float32, or what was too small is lost again.
        """
        if not self._enabled:
            return
        seen = self._of(optimizer)
        if seen.stage is not _Stage.READY:
            was = "unscaled" if seen.stage is _Stage.UNSCALED else "used for a step"
            why, mend = f"its gradients have been {was} since the last update()", "call update() once per iteration"
            raise AutogradError("GradScaler.unscale_ of an optimiser", why, mend)
        inverse = float(np.float32(1.0 / self._scale))
        by_device: dict[Any, list[Tensor]] = {}
        for gradient in _gradients(optimizer):
            if gradient.dtype == float16:
                tried, why = f"unscaling a float16 gradient {tuple(gradient.shape)}", "small values become zero again"
                raise DtypeError(tried, why, "keep parameters in float32, and let autocast make 16-bit copies of them")
            by_device.setdefault(backends.of(gradient.array), []).append(gradient)
        for home, gradients in by_device.items():
            seen.finite.append(stack(_unscaled(home, gradients, inverse)).all())
        seen.stage = _Stage.UNSCALED

    @announced
    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """``optimizer.step()``, after `unscale_`, unless a gradient is infinite or NaN. Returns what that returns."""
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs or (args and callable(args[0])):
            why = "a closure computes gradients in the midst of a step, before anybody can look at them"
            raise ArgumentError("GradScaler.step with a closure", why, "call optimizer.step(closure) without a scaler")
        seen = self._of(optimizer)
        if seen.stage is _Stage.STEPPED:
            why, mend = "it has stepped since the last update()", "call update() once per iteration, after all steps"
            raise AutogradError("GradScaler.step of an optimiser", why, mend)
        if seen.stage is _Stage.READY:
            self.unscale_(optimizer)
        if not seen.finite:
            why, mend = "none of its parameters has a gradient", "call scaler.scale(loss).backward() first"
            raise AutogradError("GradScaler.step of an optimiser", why, mend)
        seen.stage = _Stage.STEPPED
        return None if seen.overflowed else optimizer.step(*args, **kwargs)

    @announced
    def update(self, new_scale: Any = None) -> None:
        """Adapt the scale, once per iteration, after all steps; or set it, to a number or a 0-d tensor."""
        if not self._enabled:
            return
        if new_scale is not None:
            value = new_scale.item() if isinstance(new_scale, Tensor) else new_scale
            self._scale = float(np.float32(_positive("new_scale", value)))
        else:
            seen = [one for one in self._seen.values() if one.finite]
            if not seen:
                why = "no gradient has been looked at since the last one"
                raise AutogradError("GradScaler.update", why, "call scaler.step(optimizer) first")
            self._adapt(any(one.overflowed for one in seen))
        self._seen = {}

    def _adapt(self, overflowed: bool) -> None:
        if overflowed:
            self._scale, self._good = float(np.float32(self._scale * self._backoff_factor)), 0
        elif self._good + 1 < self._growth_interval:
            self._good += 1
        else:
            grown = float(np.float32(self._scale * self._growth_factor))
            self._scale, self._good = grown if math.isfinite(grown) else self._scale, 0

    def _of(self, optimizer: Any) -> _Seen:
        return self._seen.setdefault(id(optimizer), _Seen())

    # Settings and state ------------------------------------------------------------------------------------------

    def is_enabled(self) -> bool:
        """Does it do anything?"""
        return self._enabled

    def get_scale(self) -> float:
        """The scale; 1 if it is disabled."""
        return self._scale if self._enabled else 1.0

    def get_growth_factor(self) -> float:
        """What the scale is multiplied by after enough good steps."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Set it: above 1."""
        self._growth_factor = _checked("growth_factor", new_factor, "above 1", lambda value: value > 1)

    def get_backoff_factor(self) -> float:
        """What the scale is multiplied by after a step that was skipped."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Set it: between 0 and 1."""
        self._backoff_factor = _checked("backoff_factor", new_factor, "between 0 and 1", lambda value: 0 < value < 1)

    def get_growth_interval(self) -> int:
        """How many good steps in a row make the scale grow."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Set it: 1 or more."""
        what = "a whole number, 1 or more"
        self._growth_interval = int(
            _checked("growth_interval", new_interval, what, lambda value: value >= 1 and value == int(value))
        )

    def state_dict(self) -> dict[str, Any]:
        """All that a later run needs to go on, in PyTorch's format; empty if it is disabled."""
        if not self._enabled:
            return {}
        return {
            "scale": self._scale, "growth_factor": self._growth_factor, "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval, "_growth_tracker": self._good,
        }  # fmt: skip

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from a state. Raises `ArgumentError` for that of a scaler that was disabled."""
        if not self._enabled:
            return
        if not state_dict:
            why = "it is empty, as that of a scaler which was disabled"
            raise ArgumentError("GradScaler.load_state_dict", why, "leave it out, or disable this scaler too")
        missing = sorted(set(self.state_dict()) - set(state_dict))
        if missing:
            why = f"it has no {', '.join(missing)}"
            raise ArgumentError("GradScaler.load_state_dict", why, "give what state_dict() returned")
        self._scale = float(np.float32(_positive("scale", state_dict["scale"])))
        self.set_growth_factor(state_dict["growth_factor"])
        self.set_backoff_factor(state_dict["backoff_factor"])
        self.set_growth_interval(state_dict["growth_interval"])
        self._good = int(state_dict["_growth_tracker"])


def _gradients(optimizer: Any) -> list[Tensor]:
    return [p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None]


def _unscaled(home: Any, gradients: list[Tensor], inverse: float) -> list[Tensor]:
    """Unscale gradients of one device, with few kernels for all of them. Returns for each whether it is finite."""
    together, finite = home.together("foreach"), []
    try:
        for gradient in gradients:
            together.begin([gradient.array], [gradient.array])
            gradient.mul_(inverse)
            finite.append(isfinite(gradient).all())
    finally:
        together.end()
    return finite


def _positive(name: str, value: Any) -> float:
    return _checked(name, value, "a positive, finite number", lambda value: 0 < value < math.inf)


def _checked(name: str, value: Any, what: str, fits: Callable[[float], bool]) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float, np.number)) or not fits(float(value)):
        raise ArgumentError(f"GradScaler with {name}={value!r}", f"it is {what}", f"give it as {name}=…")
    return float(value)
