"""Questions about tensors and dtypes: what they are, how they meet, what they can hold."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import backends, dtypes
from ..core.base import TensorBase
from ..dtypes import as_dtype, is_float, scalar_dtype
from ..errors import DtypeError
from ..inputs.kinds import explain_all
from ..settings import modes, scoped, set_default
from .tensor import as_tensor


def is_tensor(obj: Any) -> bool:
    """Whether ``obj`` is a tensor."""
    return isinstance(obj, TensorBase)


def is_floating_point(input: Any) -> bool:
    """Whether the elements of the tensor ``input`` are floats of any width."""
    return is_float(as_tensor(input).dtype)


def numel(input: Any) -> int:
    """The number of elements of the tensor ``input``."""
    return as_tensor(input).numel()


def promote_types(type1: Any, type2: Any) -> np.dtype[Any]:
    """The dtype in which two dtypes meet, by the table in force; see `settings.promotion`."""
    return dtypes.promote(modes().promotion, as_dtype(type1), as_dtype(type2))


def result_type(tensor: Any, other: Any) -> np.dtype[Any]:
    """The dtype of ``tensor + other``, by the table in force. Either may be a Python number.

    >>> import tinygrad_edu as tg
    >>> tg.result_type(tg.ones(3, dtype="int8"), 2), tg.result_type(tg.ones(3, dtype="int8"), 2.0)
    (dtype('int8'), dtype('float32'))
    """
    m = modes()
    default = as_dtype(dtypes.PROMOTIONS[m.promotion].python_float or m.dtype)
    scalars = [x for x in (tensor, other) if type(x) in (bool, int, float)]
    tensors = [as_tensor(x) for x in (tensor, other) if type(x) not in (bool, int, float)]
    return dtypes.result_type(
        m.promotion,
        [t.dtype for t in tensors if t.ndim],
        [t.dtype for t in tensors if not t.ndim],
        [scalar_dtype(x, default) for x in scalars],
    )


def can_cast(from_: Any, to: Any) -> bool:
    """Whether in-place operations, such as ``x += y``, convert one dtype to the other unasked, by PyTorch's rule.

    They do within a kind and up from bool to integer to float, but not down, where values would be lost.
    """
    kinds = [2 if is_float(dtype) else int(dtype.kind != "b") for dtype in (as_dtype(from_), as_dtype(to))]
    return kinds[0] <= kinds[1]


def finfo(dtype: Any = None) -> Any:
    """The limits of a float dtype, by default the default dtype: ``.eps``, ``.max``, ``.tiny``, ``.bits`` and more.

    Returns NumPy's object. Raises `DtypeError` for integers.
    """
    kind = as_dtype(dtype or modes().dtype)
    if not is_float(kind):
        raise DtypeError(f"finfo({kind})", "it describes floats", "use iinfo for integers")
    if kind.name != "bfloat16":
        return np.finfo(kind)
    import ml_dtypes

    finfo_of: Any = ml_dtypes.finfo
    return finfo_of(kind)


def iinfo(dtype: Any) -> Any:
    """The limits of an integer dtype: ``.min``, ``.max`` and ``.bits``.

    Returns NumPy's object. Raises `DtypeError` for floats and bools.
    """
    kind = as_dtype(dtype)
    if kind.kind not in "iu":
        raise DtypeError(f"iinfo({kind})", "it describes integers", "use finfo for floats")
    return np.iinfo(kind)


def get_default_device() -> backends.Device:
    """The device on which tensors are made if none is named."""
    return backends.get(modes().device).device


def set_default_device(device: Any) -> None:
    """Make tensors on this device, in all threads, unless another is named; None means the CPU.

    For one block only, there is `default_device`. Raises `DeviceError` where there is no such device.
    """
    set_default(device=backends.get(backends.CPU.name if device is None else device).name)


class default_device(scoped):
    """Make tensors on this device inside: ``with default_device("sim"): ...``, or as a decorator.

    Raises `DeviceError` where there is no such device.
    """

    def __init__(self, device: str) -> None:
        super().__init__(device=backends.get(device).name)


def get_default_dtype() -> np.dtype[Any]:
    """The dtype of tensors made from Python floats."""
    return as_dtype(modes().dtype)


def set_default_dtype(d: Any) -> None:
    """Give this dtype to tensors made from Python floats, in all threads. Raises `DtypeError` for an integer dtype.

    For one block only, there is ``settings.scoped(dtype=…)``.
    """
    kind = as_dtype(d)
    if not is_float(kind):
        raise DtypeError(f"set_default_dtype({kind})", "it is the dtype of Python floats", "name a float dtype")
    set_default(dtype=kind.name)


def set_default_tensor_type(t: Any, /) -> None:
    """`set_default_dtype`, by an old name: ``DoubleTensor``, or its text, ``"torch.DoubleTensor"``.

    Raises `DtypeError` for one of integers.
    """
    from .typed import meant  # which new programs do without

    set_default_dtype(meant(t))


explain_all(globals())
