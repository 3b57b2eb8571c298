"""Connectionist temporal classification (CTC): the probability of a sequence of labels, at whatever steps they come.

At each step a model gives a label, or a blank: nothing. A reader merges equal labels in a row into one, and
then drops the blanks, so that many *paths* through the steps read as the same target: for "ab", ``aab``, ``-a-b``
and ``abb-`` do. The loss is minus the logarithm of the sum of their probabilities.

There are too many to list, but their beginnings can be added up step by step. With a blank before, between and
after the labels of the target, a path goes through these places: at each step it stays, moves on by one, or skips a
blank between two different labels.
"""

from __future__ import annotations

from typing import Any

from ...core.slow import offered
from ...errors import DtypeError, IndexRangeError, ShapeError
from ...inputs.arguments import as_tensor, extremes, whole
from ...inputs.kinds import explain_all
from ...ops.choice import where
from ...ops.movement import cat, stack
from ...ops.pad import pad
from ...tensor import Tensor
from .loss import reduced

NEVER = -1e30  # in place of log(0): unlike -inf, it gives finite slopes


def ctc_loss(
    log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any, blank: int = 0, reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:  # fmt: skip
    """Minus the logarithm of the probability that the steps of ``log_probs`` are read as ``targets``.

    ``log_probs`` (T, N, C) come from `log_softmax`; ``targets`` are labels (N, S), or all in a row (sum of
    lengths,). The first ``input_lengths`` (N,) steps and ``target_lengths`` (N,) labels count. For one sequence, N may
    be missing in all of them. ``blank`` is the class for no label.

    "mean" divides each loss by the length of its target first. If a target does not fit into its steps, the loss is
    infinite and its gradient nan; with ``zero_infinity`` both are 0. As in PyTorch, the gradient is that of the input
    of `log_softmax`.

    Raises `ShapeError` if shapes do not fit, `IndexRangeError` for impossible labels and lengths, `DtypeError`
    for anything but float32 and float64, and for labels and lengths that are not integers.
    """
    logs, labels = offered("ctc_loss", (as_tensor(log_probs), as_tensor(targets)))
    tried = f"ctc_loss({tuple(logs.shape)}, targets {tuple(labels.shape)})"
    if logs.dtype.name not in ("float32", "float64"):
        raise DtypeError(tried, f"paths are added up in float32 or float64, not {logs.dtype}", "use log_probs.float()")
    if logs.ndim not in (2, 3) or 0 in logs.shape:
        why = "log-probabilities are (T, N, C) or (T, C), with at least one step and one class"
        raise ShapeError(tried, why, "add the missing axes, in this order")
    alone = logs.ndim == 2
    if alone:
        logs = logs.unsqueeze(1)
    steps, count, classes = logs.shape
    if not 0 <= whole("ctc_loss", "blank", blank) < classes:
        raise IndexRangeError(f"{tried} with blank={blank}", f"there are {classes} classes", f"use 0 to {classes - 1}")
    spoken = _lengths(tried, "input_lengths", input_lengths, count, steps).to(logs.device)
    said = _lengths(tried, "target_lengths", target_lengths, count, None)
    labels = _rows(tried, labels, said.tolist(), classes, blank).to(logs.device)
    said = said.to(logs.device)

    counted = as_tensor(list(range(steps))).to(logs.device).unsqueeze(1) < spoken  # (T, N)
    logs = where(counted.unsqueeze(2), logs, 0.0)
    losses = -_log_likelihood(logs.clamp(min=NEVER), labels, counted, said, blank)
    # The probabilities of a step add up to 1. This term is 0, but makes the gradient that of log_softmax's input.
    ones = (logs.exp().sum(2) * counted).sum(0)
    losses = losses + (ones - ones.detach())
    possible = losses.detach() < -NEVER / 2
    if zero_infinity:
        losses = where(possible, losses, 0.0)
    else:  # where() gives a gradient of 0 to what it leaves out, but 0 * nan is nan
        losses = where(possible, losses * where(possible, losses.new_ones(()), float("nan")), float("inf"))
    if reduction == "mean":
        losses = losses / said.clamp(min=1).to(losses.dtype)
    return reduced(losses.squeeze(0) if alone else losses, reduction)


def _log_likelihood(logs: Tensor, labels: Tensor, counted: Tensor, said: Tensor, blank: int) -> Tensor:
    """The logarithm of the sum of all paths (N,), for ``logs`` (T, N, C) and ``labels`` (N, S).

    Steps that are not ``counted`` (T, N) change nothing, nor do labels beyond the first ``said`` (N,).
    """
    count, longest = labels.shape
    blanks = labels.new_full((count, longest + 1), blank)
    # blank, first label, blank, second label, …, blank: (N, 2S + 1)
    places = stack([blanks, pad(labels, (0, 1))], 2).flatten(1)[:, :-1]
    skips = places != pad(places, (2, 0), value=-1)[:, :-2]  # two blanks are equal
    said_there = logs.gather(2, places.expand(len(logs), *places.shape))

    # paths[n, s]: the logarithm of the sum of all beginnings that end at place s. Before the first step there is one:
    # it is at the first blank, where it may stay, or from where it may move on.
    paths = pad(logs.new_zeros((count, 1)), (0, 2 * longest), value=NEVER)
    for t in range(len(logs)):
        stay = paths
        go_on = pad(paths, (1, 0), value=NEVER)[:, :-1]
        skip = where(skips, pad(paths, (2, 0), value=NEVER)[:, :-2], NEVER)
        further = stack([stay, go_on, skip]).logsumexp(0) + said_there[t]
        paths = where(counted[t].unsqueeze(1), further, paths)

    last = (2 * said).unsqueeze(1)  # a path ends at the last blank, or at the last label if there is one
    at_label = where(last > 0, paths.gather(1, (last - 1).clamp(min=0)), NEVER)
    return cat([paths.gather(1, last), at_label], 1).logsumexp(1)


def _lengths(tried: str, name: str, given: Any, count: int, most: int | None) -> Tensor:
    """One length for each sequence, (N,)."""
    lengths = as_tensor(given)
    if lengths.dtype.kind not in "iu" and lengths.numel():
        raise DtypeError(tried, f"{name} are integers, but these are {lengths.dtype}", "convert them: lengths.long()")
    if lengths.ndim > 1 or lengths.numel() != count:
        why = f"there are {count} sequences, but {name} {tuple(lengths.shape)}"
        raise ShapeError(tried, why, "give one length for each")
    low, high = extremes(lengths) or (0, 0)
    if low < 0 or (most is not None and high > most):
        why = f"{name} run from {low} to {high}" + f", but there are {most} steps" * (most is not None)
        raise IndexRangeError(tried, why, "use lengths from 0 to that of the tensor")
    return lengths.long().reshape(-1)


def _rows(tried: str, labels: Tensor, lengths: list[int], classes: int, blank: int) -> Tensor:
    """The labels of each sequence as a row (N, S), with blanks for those that do not count."""
    if labels.dtype.kind not in "iu" and labels.numel():
        raise DtypeError(tried, f"labels are integers, but these are {labels.dtype}", "find out where they come from")
    longest, labels = max(lengths), labels.long()
    if labels.ndim == 1 and labels.numel() == sum(lengths):
        parts = labels.split(lengths)
    elif labels.ndim == 2 and len(labels) == len(lengths) and labels.shape[1] >= longest:
        parts = tuple(row[:length] for row, length in zip(labels, lengths, strict=True))
    else:
        why = f"{len(lengths)} sequences have up to {longest} labels, {sum(lengths)} in all"
        raise ShapeError(tried, why, "give the labels as (N, S), or all in a row; check target_lengths")
    used = cat(parts)
    low, high = extremes(used) or (0, 0)
    if low < 0 or high >= classes:
        why = f"labels run from {low} to {high}, but there are {classes} classes: 0 to {classes - 1}"
        raise IndexRangeError(tried, why, "count the classes from 0, the blank among them")
    if blank in used.tolist():
        why = f"a label is {blank}, the blank, which means no label"
        raise IndexRangeError(tried, why, "count the labels from 1, or give blank a class of its own")
    return stack([pad(part, (0, longest - len(part)), value=blank) for part in parts])


explain_all(globals())
