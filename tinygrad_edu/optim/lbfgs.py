"""L-BFGS, and the line search that it may use: few, well-aimed steps for smooth functions of full batches."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from ..errors import ArgumentError, DtypeError, ShapeError
from ..inputs.kinds import explain_all
from ..ops.movement import cat
from ..settings import enable_grad, no_grad
from ..tensor import Tensor, as_tensor
from ..tensor.creation import zeros_like
from .optimizer import Group, Optimizer, Params

Point = tuple[float, Tensor]  # a loss, and the gradient there as one vector

_HISTORIES = ("old_dirs", "old_stps", "ro", "al")


class LBFGS(Optimizer):
    """Newton's method without its matrix: the gradient's changes in the last ``history_size`` steps replace it.

    One step is up to ``max_iter`` iterations, and calls the closure up to ``max_eval`` times (5/4 of ``max_iter``). It
    ends sooner if no element of the gradient is larger than ``tolerance_grad``, or if the loss or the parameters change
    by no more than ``tolerance_change``. An iteration goes ``lr`` along its direction. With
    ``line_search_fn="strong_wolfe"`` it goes as far as Wolfe's conditions allow; the search begins at ``lr``.

    >>> import tinygrad_edu as tg
    >>> w = tg.tensor([3.0, -4.0], requires_grad=True)
    >>> optimizer = tg.optim.LBFGS([w], line_search_fn="strong_wolfe")
    >>> def closure():
    ...     optimizer.zero_grad()
    ...     loss = ((w - tg.tensor([1.0, 2.0])) ** 2).sum()
    ...     loss.backward()
    ...     return loss
    >>> optimizer.step(closure).item()
    40.0
    >>> w
    tensor([1., 2.], requires_grad=True)

    All parameters are in one group, as they move together. Raises `ArgumentError` for impossible settings.

    Source: Nocedal and Wright, Numerical Optimization, 2006, algorithms 3.5, 3.6 and 7.5
    """

    def __init__(
        self,
        params: Params,
        lr: float = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        defaults: dict[str, Any] = {
            "lr": lr, "max_iter": max_iter, "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad, "tolerance_change": tolerance_change, "history_size": history_size,
            "line_search_fn": line_search_fn,
        }  # fmt: skip
        super().__init__(params, defaults)

    def add_param_group(self, param_group: Group) -> None:
        """Only the constructor calls it: there is one group. Raises `ArgumentError` for a second one."""
        if self.param_groups:
            why = "it moves all parameters along one direction, with one set of settings"
            raise ArgumentError(f"{self._name} with several groups", why, "pass the parameters in one list")
        super().add_param_group(param_group)

    def check(self, group: Group) -> None:
        anything = -math.inf
        self.need(group, lr=0, max_iter=1, max_eval=1, history_size=1)
        self.need(group, tolerance_grad=anything, tolerance_change=anything)
        search = group["line_search_fn"]
        if search not in (None, "strong_wolfe"):
            why = "there is one line search, and without it the step is lr"
            self.refuse(f"line_search_fn={search!r}", why, 'give line_search_fn="strong_wolfe", or None')

    @no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Move the parameters by up to ``max_iter`` iterations. Returns the loss before them.

        ``closure`` clears the gradients, computes the loss, calls ``backward()`` and returns the loss. It is required,
        because it is called many times. Raises `DtypeError` without it, and if it does not return one number.
        """
        if not callable(closure):
            why = "one step computes the loss and its gradient several times, by calling closure"
            mend = "define closure(): zero_grad(), compute the loss, loss.backward(), return loss; then step(closure)"
            raise DtypeError(f"{self._name}.step({'' if closure is None else f'{closure!r:.40}'})", why, mend)
        (group,) = self.param_groups
        descent = _Descent(group["params"], closure)
        first = descent.evaluate()
        loss, g = descent.point(first)
        entry = self.state[group["params"][0]]  # PyTorch keeps all of it with the first parameter
        entry.setdefault("func_evals", 0)
        entry.setdefault("n_iter", 0)
        entry["func_evals"] += 1
        flat = group["tolerance_grad"]
        if _largest(g) <= flat:
            return first
        calls, change = 1, group["tolerance_change"]
        for left in range(group["max_iter"] - 1, -1, -1):
            entry["n_iter"] += 1
            d = entry["d"] = _direction(entry, g, group["history_size"])
            entry["prev_flat_grad"], entry["prev_loss"] = g, loss
            begin = entry["n_iter"] == 1  # nothing is known yet about how far to go
            t = entry["t"] = (min(1.0, float(1 / g.abs().sum())) if begin else 1.0) * float(group["lr"])
            slope = float(g.dot(d))
            if slope > -change:
                break
            before, evaluations = loss, 0
            if group["line_search_fn"] is not None:
                search = _strong_wolfe(descent, t, d, (loss, g), slope, group["max_eval"] - calls)
                (loss, g), t, evaluations = search
                entry["t"] = t
                descent.move(t, d)
            else:
                descent.move(t, d)
                if left:  # else the next step evaluates it anyway, perhaps for another batch
                    (loss, g), evaluations = descent.point(descent.evaluate()), 1
            calls += evaluations
            entry["func_evals"] += evaluations
            if calls >= group["max_eval"] or _largest(g) <= flat:
                break
            if _largest(d * t) <= change or abs(loss - before) < change:
                break
        return first

    def state_names(self) -> set[str]:
        return {"func_evals", "n_iter", "d", "t", "H_diag", "prev_flat_grad", "prev_loss", *_HISTORIES}

    def _loaded(self, p: Tensor, entry: Mapping[str, Any]) -> dict[str, Any]:
        """Vectors over all parameters, numbers, and lists of both."""
        self._check_names(entry)
        total = sum(p.numel() for p in self.param_groups[0]["params"])

        def copied(name: str, value: Any) -> Any:
            if value is None or isinstance(value, (int, float)):
                return value
            made = as_tensor(value).detach().to(p.device).to(p.dtype).clone()
            if made.ndim and tuple(made.shape) != (total,):
                why = f"{name} has shape {tuple(made.shape)}, but all parameters together have {total} elements"
                self._refuse_state(ShapeError, why, "give the optimiser the parameters with which it was saved")
            return made

        return {
            name: [copied(name, v) for v in value or ()] if name in _HISTORIES else copied(name, value)
            for name, value in entry.items()
        }


class _Descent:
    """The parameters as one vector, and the loss at their present values."""

    def __init__(self, params: list[Tensor], closure: Callable[[], Any]) -> None:
        self.params, self.closure = params, closure

    def evaluate(self) -> Any:
        """What the closure returns; the gradients are then at the parameters."""
        with enable_grad():
            return self.closure()

    def point(self, loss: Any) -> Point:
        try:
            value = float(loss)
        except (TypeError, ValueError, RuntimeError):
            why = f"the closure returns the loss, one number, but this one gave {type(loss).__name__}"
            raise DtypeError("LBFGS.step(closure)", why, "end it with: return loss") from None
        parts = [zeros_like(p) if p.grad is None else p.grad for p in self.params]
        return value, cat([part.detach().reshape(-1) for part in parts])

    def move(self, t: float, d: Tensor) -> None:
        end = 0
        for p in self.params:
            start, end = end, end + p.numel()
            p.add_(d[start:end].view_as(p), alpha=t)

    def probe(self, t: float, d: Tensor) -> Point:
        """The loss and the gradient ``t`` along ``d``; afterwards the parameters are back where they were."""
        before = [p.clone() for p in self.params]
        self.move(t, d)
        try:
            return self.point(self.evaluate())
        finally:
            for p, value in zip(self.params, before, strict=True):
                p.copy_(value)


def _largest(x: Tensor) -> float:
    return float(x.abs().max())


def _direction(entry: dict[str, Any], g: Tensor, size: int) -> Tensor:
    """Where to go: the gradient, times an inverse Hessian that is known only from the last steps."""
    if entry["n_iter"] == 1:
        entry.update(old_dirs=[], old_stps=[], ro=[], H_diag=1)
        return -g
    changes, steps, ro = entry["old_dirs"], entry["old_stps"], entry["ro"]
    y, s = g - entry["prev_flat_grad"], entry["d"] * entry["t"]
    curvature = y.dot(s)
    if float(curvature) > 1e-10:  # only what curves upwards makes a Hessian that has a minimum
        if len(changes) == size:
            for history in (changes, steps, ro):
                history.pop(0)
        changes.append(y)
        steps.append(s)
        ro.append(1 / curvature)
        entry["H_diag"] = curvature / y.dot(y)
    shares: list[Any] = [None] * size
    entry["al"] = shares
    q = -g
    for i in reversed(range(len(changes))):
        shares[i] = steps[i].dot(q) * ro[i]
        q = q - changes[i] * shares[i]
    r = q * entry["H_diag"]
    for i, (change, step) in enumerate(zip(changes, steps, strict=True)):
        r = r + step * (shares[i] - change.dot(r) * ro[i])
    return r


# The line search ----------------------------------------------------------------------------------------------------


class _Trial:
    """A place on the line: its distance, with the loss, the gradient, and the slope along the line."""

    def __init__(self, t: float, point: Point, slope: float) -> None:
        self.t, self.point, self.loss, self.slope = t, point, point[0], slope


def _strong_wolfe(
    descent: _Descent, t: float, d: Tensor, start: Point, slope: float, most: int
) -> tuple[Point, float, int]:
    """How far to go along ``d``: until the loss has sunk enough, and the slope with it.

    Steps grow until they have gone past such a place; then the bracket around it shrinks. Returns the loss and gradient
    there, the distance and the number of evaluations, at most ``most + 1``.
    """

    def at(t: float) -> _Trial:
        point = descent.probe(t, d)
        return _Trial(t, point, float(point[1].dot(d)))

    def high(trial: _Trial) -> bool:
        return trial.loss > start[0] + 1e-4 * trial.t * slope

    def flat(trial: _Trial) -> bool:
        return abs(trial.slope) <= -0.9 * slope

    origin = before = _Trial(0.0, start, slope)
    new, tries = at(t), 0
    while tries < most:
        if high(new) or (tries > 1 and new.loss >= before.loss):
            break
        if flat(new):
            return new.point, new.t, tries + 1
        if new.slope >= 0:
            break
        bounds = (new.t + 0.01 * (new.t - before.t), new.t * 10)
        before, new = new, at(_cubic_minimum(before, new, bounds))
        tries += 1
    else:
        before = origin
    bracket = [before, new]
    low, far = (0, 1) if before.loss <= new.loss else (1, 0)
    width, stuck = _largest(d), False
    while tries < most and not abs(bracket[1].t - bracket[0].t) * width < 1e-9:  # PyTorch's, whatever the tolerances
        left, right = sorted(trial.t for trial in bracket)
        t = _cubic_minimum(bracket[0], bracket[1], (left, right))
        margin = 0.1 * (right - left)
        if not min(right - t, t - left) < margin:
            stuck = False
        elif stuck or t >= right or t <= left:  # for a second time near one end: a tenth of the way inside
            t = right - margin if abs(t - right) < abs(t - left) else left + margin
            stuck = False
        else:
            stuck = True
        new = at(t)
        tries += 1
        if high(new) or new.loss >= bracket[low].loss:
            bracket[far] = new
            low, far = (0, 1) if bracket[0].loss <= bracket[1].loss else (1, 0)
            continue
        done = flat(new)
        if not done and new.slope * (bracket[far].t - bracket[low].t) >= 0:
            bracket[far] = bracket[low]
        bracket[low] = new
        if done:
            break
    return bracket[low].point, bracket[low].t, tries + 1


def _cubic_minimum(x: _Trial, y: _Trial, bounds: tuple[float, float]) -> float:
    """Where the cubic with these two losses and slopes is least, in the bounds; their middle if it has no minimum."""
    x, y = sorted((x, y), key=lambda trial: trial.t)
    length, found = y.t - x.t, math.nan
    if length:
        bend = x.slope + y.slope - 3 * (y.loss - x.loss) / length
        square = bend * bend - x.slope * y.slope
        root = math.sqrt(square) if square >= 0 else math.nan
        share, below = y.slope + root - bend, y.slope - x.slope + 2 * root
        found = y.t - length * (share / below) if below else -share * math.inf  # a straight line falls for ever
    return sum(bounds) / 2 if math.isnan(found) else min(max(found, bounds[0]), bounds[1])


explain_all(globals())
