"""The training loop of the lessons, with a line for each epoch. Nothing in it is hidden: it can be copied and changed.

`fit` is for the usual case: batches of inputs and a target, one model, one optimiser. For anything else, such as two
losses, steps every few batches or parts that are trained in turn, write your own loop; `_train` is a good start.
"""

from __future__ import annotations

import math
import operator
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from .common.wording import shown
from .errors import ArgumentError, DtypeError, TrainingError
from .inputs.kinds import explain_all
from .metrics import Mean
from .nn.containers import Sequential
from .nn.modes import modes_kept
from .nn.utils import clip_grad_norm_
from .optim.lr_scheduler import ReduceLROnPlateau
from .settings import no_grad
from .utils.checkpoint import checkpoint_sequential

Metric = Callable[[Any, Any], Any]
Metrics = Mapping[str, Metric] | Sequence[Metric]


class History:
    """What `fit` has measured: ``epochs`` is one dict of numbers for each epoch, in order. Prints as a table.

    ``history["loss"]`` is the list of that number for all epochs. ``seconds`` holds how long each took, and
    ``interrupted`` is whether somebody stopped it.
    """

    def __init__(self) -> None:
        self.epochs: list[dict[str, float]] = []
        self.seconds: list[float] = []
        self.interrupted = False

    def __len__(self) -> int:
        return len(self.epochs)

    def __iter__(self) -> Iterator[dict[str, float]]:
        return iter(self.epochs)

    def __getitem__(self, name: str) -> list[float]:
        return [epoch[name] for epoch in self.epochs]

    def __repr__(self) -> str:
        if not self.epochs:
            return "History of no epochs"
        rows = [list(self.epochs[0]), *([_short(value) for value in epoch.values()] for epoch in self.epochs)]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        return "\n".join("  ".join(map(str.rjust, row, widths)) for row in rows)


def fit(
    model: Any,
    loader: Iterable[Any],
    loss: Metric,
    optimizer: Any,
    epochs: int = 1,
    *,
    scheduler: Any = None,
    scheduler_per_batch: bool = False,
    validate: Iterable[Any] | None = None,
    metrics: Metrics = (),
    clip_grad_norm: float | None = None,
    micro_batch: int | None = None,
    checkpoints: int | None = None,
    on_epoch: Callable[[History], Any] | None = None,
    progress: bool = True,
    times: bool = True,
) -> History:
    """Walk ``epochs`` times through ``loader``, and step against the gradient of ``loss`` at each batch.

    A batch is ``(input, target)``; in a longer one, all but the last are inputs of the model. ``loss(output, target)``
    is one number, the mean over the batch. ``metrics`` are functions of the same two, in a list, or in a dict by name.
    An epoch's numbers are means over all samples. Those of training are measured while the model still changes; those
    of ``validate``, another loader, at the end of the epoch, in evaluation mode, under the names ``val_…``.

    The ``scheduler`` steps after each epoch, with the loss if it is a `ReduceLROnPlateau`; with
    ``scheduler_per_batch`` after each batch, as `OneCycleLR` and `CyclicLR` expect. ``clip_grad_norm`` bounds the norm
    of the gradient before each step. ``micro_batch`` and ``checkpoints`` save memory and change no gradient, unless
    statistics of the batch are used: with the first, at most so many samples are in the graph at once, as in
    `accumulate`; with the second, an `nn.Sequential` is cut into so many parts by `checkpoint_sequential`, and backward
    computes all but the last again. ``on_epoch(history)`` is called after each epoch; if it returns True, training
    stops.

    One line is printed for each epoch, without times for ``times=False``, and none for ``progress=False``. On a
    terminal a long epoch shows how far it is. Ctrl-C, or a notebook's stop button, ends training and returns the
    epochs that are complete. Afterwards all modules are in the mode that they had before.

    Raises `TrainingError` for a loss that is infinite or nan, before it reaches the parameters, and if no batch came;
    `ArgumentError` for an optimiser of another model, for a generator of batches with several epochs, for a
    `ReduceLROnPlateau` with ``scheduler_per_batch``, for metrics whose names are taken, and for ``checkpoints`` of a
    model that is no `nn.Sequential`; `DtypeError` for batches that are not inputs and a target.
    """
    each_batch = scheduler if scheduler_per_batch else None
    forward = model if checkpoints is None else _checkpointed(model, checkpoints)
    _check(model, optimizer, each_batch, [loader, validate] if epochs > 1 else [])
    metrics = _named(metrics)
    history, digits = History(), len(str(epochs))
    with modes_kept(model):
        try:
            for epoch in range(1, epochs + 1):
                start, label = time.perf_counter(), f"epoch {epoch:{digits}}/{epochs}"
                record: dict[str, float] = {"epoch": epoch}
                if scheduler is not None:
                    record["lr"] = optimizer.param_groups[0]["lr"]
                watched = _watched(loader, label) if progress else loader
                record |= _train(
                    model, forward, watched, loss, optimizer, each_batch, metrics, clip_grad_norm, micro_batch, label
                )
                if validate is not None:
                    found = evaluate(model, validate, loss, metrics)
                    record |= {f"val_{name}": value for name, value in found.items()}
                if scheduler is not None and not scheduler_per_batch:
                    _step(scheduler, record)
                history.epochs.append(record)
                history.seconds.append(time.perf_counter() - start)
                if progress:
                    print(label, _line(record, history.seconds[-1] if times else None), sep="  ")
                if on_epoch is not None and on_epoch(history) is True:
                    break
        except KeyboardInterrupt:
            history.interrupted = True
            if progress:
                print(f"interrupted in {label}")
    return history


def _check(model: Any, optimizer: Any, each_batch: Any, walked_again: list[Any]) -> None:
    """Refuse at once what would train nothing, or fail after the first step or epoch."""
    own, groups = {id(p) for p in model.parameters()}, getattr(optimizer, "param_groups", None)
    if groups is not None and not any(id(p) in own for group in groups for p in group["params"]):
        why = f"the optimiser moves none of the {len(own)} parameters of the {type(model).__name__}"
        mend = f"make it of this model, once the model is complete: {type(optimizer).__name__}(model.parameters())"
        raise ArgumentError(f"fit with {type(optimizer).__name__}", why, mend)
    if isinstance(each_batch, ReduceLROnPlateau):
        tried, why = "fit with ReduceLROnPlateau and scheduler_per_batch", "it compares the losses of whole epochs"
        raise ArgumentError(tried, why, "leave scheduler_per_batch out")
    for loader in walked_again:
        if isinstance(loader, Iterator) and type(loader).__module__ in ("builtins", "itertools"):
            tried = f"fit with a {type(loader).__name__} of batches"
            why = "it gives its batches only once, but every epoch needs them"
            raise ArgumentError(tried, why, "use a DataLoader, or a list")


def _train(
    model: Any,
    forward: Callable[..., Any],
    loader: Iterable[Any],
    loss: Metric,
    optimizer: Any,
    scheduler: Any,
    metrics: Metrics,
    clip_grad_norm: float | None,
    micro_batch: int | None,
    label: str,
) -> dict[str, float]:
    """One epoch: the loop at the heart of all this."""
    model.train()
    means = _Means(metrics)
    for number, (inputs, target) in enumerate(map(_parts, loader), 1):
        optimizer.zero_grad()
        for share, (*some, wanted) in _shares((*inputs, target), micro_batch):
            output = forward(*some)
            error = loss(output, wanted)
            if not math.isfinite(error.item()):
                raise TrainingError(
                    f"{label}, batch {number}: the loss is {error.item()}",
                    "a step along its gradient would spoil every parameter; none was taken",
                    "lower lr, or give clip_grad_norm; and look for nan and inf in the data",
                )
            (error if share == 1 else error * share).backward()
            means.add(output, wanted, error)
        if clip_grad_norm is not None:
            clip_grad_norm_(model.parameters(), clip_grad_norm)
        optimizer.step()
        if scheduler is not None:
            scheduler.step()
    return means.compute()


def accumulate(loss: Callable[..., Any], *batch: Any, size: int, weight: Callable[..., float] | None = None) -> float:
    """Add the gradient of a whole batch to ``.grad``, from micro-batches of at most ``size`` samples, one by one.

    ``batch`` are tensors with one sample in each row, and ``loss(*rows)`` is the mean loss over the rows that it is
    given. A micro-batch counts by its share of the samples, so the sum is the gradient of the whole batch even where
    the last one is shorter; a mean of the means would not be. Where the loss is a mean over something else, such as
    tokens that are no padding, ``weight(*rows)`` says over how many. Returns the mean loss.

    The graph never holds more than one micro-batch. Batch norm sees one at a time too, so there the numbers differ.

    >>> import tinygrad_edu as tg
    >>> w, x = tg.ones(2, requires_grad=True), tg.arange(10.0).reshape(5, 2)
    >>> round(accumulate(lambda rows: (rows @ w).mean(), x, size=2), 4)
    9.0
    >>> w.grad
    tensor([4., 5.])
    """
    total = 0.0
    for share, rows in _shares(batch, size, weight):
        error = loss(*rows) * share
        error.backward()
        total += error.item()
    return total


def _shares(
    batch: tuple[Any, ...], size: int | None, weight: Callable[..., float] | None = None
) -> Iterator[tuple[float, tuple[Any, ...]]]:
    """The batch in pieces of at most ``size`` rows, each with its share of the whole."""
    if size is None:
        yield 1.0, batch
        return
    rows = _rows(batch, size)
    pieces = [tuple(part[start : start + size] for part in batch) for start in range(0, rows, size)]
    weights = [float(len(piece[0]) if weight is None else weight(*piece)) for piece in pieces]
    total = sum(weights)
    if not total > 0:
        tried, why = "accumulate with these weights", f"they add up to {total:g}, and a mean over nothing is none"
        raise ArgumentError(tried, why, "leave out batches that have nothing to learn from")
    for piece, part in zip(pieces, weights, strict=True):
        if part:
            yield part / total, piece


def _rows(batch: tuple[Any, ...], size: Any) -> int:
    """How many samples there are."""
    if isinstance(size, bool) or not isinstance(size, int) or size < 1:
        tried, why = f"micro-batches of {size!r}", "it is the most samples that are computed at once"
        raise ArgumentError(tried, why, "use a whole number from 1 on")
    counts = [part.shape[0] if getattr(part, "shape", ()) else None for part in batch]
    for part, count in zip(batch, counts, strict=True):
        if count is None or count != counts[0]:
            tried = f"a batch with {shown(part, 40)}" if count is None else f"a batch with a tensor of {count} rows"
            what = "this has no rows" if count is None else f"the first one has {counts[0]}"
            raise ArgumentError(tried, f"each sample is one row of every tensor, and {what}", "give one row for each")
    return counts[0] or 0


def _checkpointed(model: Any, segments: int) -> Callable[[Any], Any]:
    """The model, run by `checkpoint_sequential`."""
    if not isinstance(model, Sequential):
        tried, why = f"fit with checkpoints and {type(model).__name__}", "only an nn.Sequential has parts in a row"
        raise ArgumentError(tried, why, "call utils.checkpoint.checkpoint in the model's forward")
    return lambda x: checkpoint_sequential(model, segments, x)


@no_grad()
def evaluate(model: Any, loader: Iterable[Any], loss: Metric | None = None, metrics: Metrics = ()) -> dict[str, float]:
    """The loss and the metrics over all batches, in evaluation mode and without a graph; see `fit`.

    Each is measured batch by batch, then averaged over the samples. That is exact for a number that is itself a mean,
    such as accuracy, and only approximate for others: for F1, R² and the like, join the outputs first.
    """
    means = _Means(metrics)
    with modes_kept(model):
        model.eval()
        for inputs, target in map(_parts, loader):
            output = model(*inputs)
            means.add(output, target, None if loss is None else loss(output, target))
    return means.compute()


class _Means:
    """The running means of an epoch: the loss, if there is one, and every metric."""

    def __init__(self, metrics: Metrics) -> None:
        self.metrics = _named(metrics)
        self.means = {name: Mean() for name in ("loss", *self.metrics)}
        self.samples = 0

    @no_grad()
    def add(self, output: Any, target: Any, error: Any) -> None:
        count = len(target) if getattr(target, "ndim", 1) else 1
        self.samples += count
        if error is None:
            self.means.pop("loss", None)
        else:
            self.means["loss"].update(error.item(), count)
        for name, metric in self.metrics.items():
            self.means[name].update(metric(output.detach(), target), count)

    def compute(self) -> dict[str, float]:
        if not self.samples:
            why = "there is nothing to measure or to learn from"
            mend = "look at len(loader), and drop_last; an iterator gives its batches once"
            raise TrainingError("the loader gave no batch", why, mend)
        return {name: mean.compute() for name, mean in self.means.items()}


def _named(metrics: Metrics) -> dict[str, Metric]:
    """The metrics by name. Refuses a name that is used for something else."""
    pairs = list(metrics.items()) if isinstance(metrics, Mapping) else [(_name(metric), metric) for metric in metrics]
    taken = {"loss": "the loss itself", "epoch": "the number of the epoch", "lr": "the learning rate"}
    taken |= {f"val_{name}": f"the {name} of the other loader" for name in ("loss", *(name for name, _ in pairs))}
    for name, _ in pairs:
        if name in taken:
            why, mend = f"{taken[name]} has that name", "choose another name, in a dict of names and metrics"
            raise ArgumentError(f"metrics with the name {name!r}", why, mend)
        taken[name] = "another metric"
    return dict(pairs)


def _name(metric: Any) -> str:
    if not hasattr(metric, "__name__"):
        why, mend = "it has no name", "give a dict of names and metrics"
        raise ArgumentError(f"metrics with a {type(metric).__name__}", why, mend)
    return str(metric.__name__)


def _step(scheduler: Any, record: dict[str, float]) -> None:
    if isinstance(scheduler, ReduceLROnPlateau):
        scheduler.step(record.get("val_loss", record["loss"]))
    else:
        scheduler.step()


def _parts(batch: Any) -> tuple[Any, Any]:
    """The inputs and the target of a batch."""
    if not isinstance(batch, (tuple, list)) or len(batch) < 2:
        what = f"a {type(batch).__name__}" + (f" of {len(batch)}" if isinstance(batch, (tuple, list)) else "")
        why, mend = "a batch is inputs, then a target", "use TensorDataset(x, y), or (x, x) for an autoencoder"
        raise DtypeError(f"a batch that is {what}", why, mend)
    return tuple(batch[:-1]), batch[-1]


def _watched(loader: Iterable[Any], label: str) -> Iterator[Any]:
    """The batches. On a terminal, after a second, it also shows how far they are and about how long they still take."""
    total = operator.length_hint(loader)  # 0 where it does not know
    start = drawn = time.perf_counter()
    text = ""
    try:
        for number, batch in enumerate(loader, 1):
            yield batch
            now = time.perf_counter()
            if now - start > 1 and now - drawn > 0.2 and sys.stdout.isatty():
                left = f", {(total - number) * (now - start) / number:.0f} s left" if total else ""
                before, drawn = len(text), now
                text = f"{label}  batch {number}{f'/{total}' if total else ''}{left}"
                print(f"\r{text:{before}}", end="", flush=True)
    finally:
        if text:
            print(f"\r{'':{len(text)}}\r", end="", flush=True)


def _short(value: float) -> str:
    return str(value) if isinstance(value, int) else f"{value:.4g}"


def _six(value: float) -> str:
    """In six characters, so that the numbers of all lines are in columns."""
    if value == 0 or 0.001 <= abs(value) < 1e5:
        texts = [f"{value:.{digits}f}" for digits in range(5)]
    else:
        texts = [f"{value:.{digits}e}".replace("e-0", "e-").replace("e+0", "e+") for digits in range(2)]
    return max((text for text in texts if len(text) <= 6), key=len, default=texts[0]).rjust(6)


def _line(record: dict[str, float], seconds: float | None) -> str:
    words = [f"{name} {_six(value)}" for name, value in record.items() if name != "epoch"]
    return "  ".join(words if seconds is None else [*words, f"{seconds:5.1f} s"])


explain_all(globals())
