"""From samples to a batch: the parts at the same place in each sample are joined along a new first axis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..core.base import TensorBase
from ..errors import DtypeError, ShapeError
from ..inputs.kinds import explain_all
from ..ops.movement import stack
from ..tensor import as_tensor, tensor

_TEXT = (str, bytes)


def default_collate(batch: Sequence[Any]) -> Any:
    """The batch made from a list of samples that are alike, at any depth of tuples, lists and dicts.

    Tensors, arrays and numbers become one tensor whose first axis counts the samples; Python's floats become float64,
    as in PyTorch. Texts become a list. Tuples and lists become lists, named tuples stay named tuples, and mappings
    become dicts.

    Raises `ShapeError` for samples of different shapes, lengths or keys, `DtypeError` for what cannot be joined.

    >>> import tinygrad_edu as tg
    >>> default_collate([(tg.zeros(2), 1, "a"), (tg.ones(2), 2, "b")])
    [tensor([[0., 0.],
            [1., 1.]]), tensor([1, 2]), ['a', 'b']]
    """
    if not batch:
        raise ShapeError("a batch of no samples", "without a sample there is no shape", "give it at least one")
    return _join(list(batch), "")


def _join(samples: list[Any], place: str) -> Any:
    """Join these parts of samples. ``place`` is where in each sample they are: ``[0]['image']``."""
    first = samples[0]
    if isinstance(first, (TensorBase, np.ndarray)):
        return stack(_alike([as_tensor(sample) for sample in samples], "shape", lambda x: tuple(x.shape), place))
    if isinstance(first, np.generic) and not isinstance(first, _TEXT):
        return tensor(np.array(samples))
    if isinstance(first, (bool, int, float)):
        return tensor(samples, dtype="float64" if isinstance(first, float) else None)
    if isinstance(first, _TEXT):
        return samples
    if isinstance(first, Mapping):
        _alike(samples, "keys", lambda x: sorted(map(repr, x)), place)
        return {key: _join([sample[key] for sample in samples], f"{place}[{key!r}]") for key in first}
    if isinstance(first, Sequence):
        _alike(samples, "length", len, place)
        columns = [_join(list(column), f"{place}[{i}]") for i, column in enumerate(zip(*samples, strict=True))]
        return type(first)(*columns) if hasattr(first, "_fields") else columns
    raise DtypeError(
        f"a batch of samples that hold {_a(first)}{_at(place)}",
        "it joins tensors, arrays, numbers and text, and tuples, lists and dicts of them",
        "make the data set give one of those, or give the loader your own collate_fn",
    )


def _alike(samples: list[Any], what: str, measure: Any, place: str) -> list[Any]:
    """``samples``, if all are of one type and size. Raises `DtypeError` or `ShapeError` for the first that is not."""
    kind, size = type(samples[0]), None
    for number, sample in enumerate(samples):
        tried = f"a batch of {len(samples)} samples{_at(place)}"
        if not isinstance(sample, TensorBase) and type(sample) is not kind:
            why = f"sample {number} holds {_a(sample)}, but sample 0 holds {_a(samples[0])}"
            raise DtypeError(tried, why, "give all samples the same structure")
        found = measure(sample)
        size = found if size is None else size
        if found != size:
            why = f"sample {number} has {what} {found}, but sample 0 has {size}"
            raise ShapeError(tried, why, "pad or cut them to one size, or give the loader a collate_fn")
    return samples


def _a(value: Any) -> str:
    return f"a {type(value).__name__}"


def _at(place: str) -> str:
    return f", at sample{place}" if place else ""


def default_convert(data: Any) -> Any:
    """One sample with its arrays and NumPy numbers as tensors, at any depth; tuples as lists; the rest as it is."""
    if isinstance(data, _TEXT):
        return data
    if isinstance(data, (np.ndarray, np.generic)):
        return as_tensor(data)
    if isinstance(data, Mapping):
        return {key: default_convert(value) for key, value in data.items()}
    if not isinstance(data, (tuple, list)):
        return data
    parts = [default_convert(part) for part in data]
    return type(data)(*parts) if hasattr(data, "_fields") else parts


explain_all(globals())
