"""Tensors of other libraries, without a copy: DLPack, which NumPy, CuPy, PyTorch and JAX know."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import backends
from ..common.wording import first_line
from ..core.above import above
from ..errors import DeviceError, DtypeError
from ..inputs.kinds import explained

HOST, GPU, PINNED = 1, 2, 3  # DLPack's numbers of devices


@explained
def from_dlpack(ext_tensor: Any, *, device: str | None = None, copy: bool | None = None) -> Any:
    """A tensor over the memory of another library's array, on the CPU or on a GPU: a write to one is seen by both.

    ``device`` moves it. With ``copy=True`` it has memory of its own; with ``copy=False`` it raises `DeviceError` where
    moving would need a copy. Raises `DtypeError` for what is no array, or has a dtype that cannot be handed over.

    >>> array = np.zeros(2)
    >>> x = from_dlpack(array)
    >>> array[0] = 5
    >>> x
    tensor([5., 0.], dtype=float64)
    """
    tried = f"from_dlpack({type(ext_tensor).__name__})"
    if not hasattr(ext_tensor, "__dlpack__") or not hasattr(ext_tensor, "__dlpack_device__"):
        raise DtypeError(tried, "it is no array that speaks DLPack", "use tensor() or as_tensor()")
    kind, number = (int(part) for part in ext_tensor.__dlpack_device__())
    if kind not in (HOST, GPU, PINNED):
        why = f"its device has DLPack's number {kind}, and only the CPU and NVIDIA GPUs can be read"
        raise DeviceError(tried, why, "move it to the CPU first")
    place = backends.get(backends.CPU.name if kind != GPU else f"cuda:{number}")
    try:
        array = place.from_dlpack(ext_tensor)
    except (BufferError, RuntimeError, TypeError) as error:
        why = f"it cannot be handed over: {first_line(error)}"
        mend = "detach it from its graph, or give it a dtype that both know; bfloat16 goes by way of float32"
        raise DtypeError(tried, why, mend) from error
    result = above.as_tensor(array, device=place.name) if isinstance(array, np.ndarray) else above.wrap(array)
    if device is not None and device != result.device:
        if copy is False:
            raise DeviceError(f"{tried[:-1]}, device={device!r}, copy=False)", "it lies elsewhere", "leave out copy")
        return result.to(device=device)
    return result.clone() if copy else result


def to_dlpack(tensor: Any, options: dict[str, Any]) -> Any:
    """The capsule that another library takes. Raises `DeviceError` on a device that has no memory of its own."""
    exported = tensor.array if device_of(tensor)[0] == GPU else tensor.numpy()
    given = {name: value for name, value in options.items() if value is not None}
    try:
        return exported.__dlpack__(**given)
    except BufferError as error:
        why, mend = first_line(error), "convert it first: x.float()"
        raise DtypeError(f"__dlpack__ of {tensor.dtype}", why, mend) from error


def device_of(tensor: Any) -> tuple[int, int]:
    """DLPack's name of a device."""
    if tensor.device == backends.CPU.name:
        return HOST, 0
    if hasattr(tensor.array, "__dlpack_device__"):
        kind, number = tensor.array.__dlpack_device__()
        return int(kind), int(number)
    raise DeviceError(f"__dlpack__ on {tensor.device!r}", "other libraries cannot read its memory", "copy: x.cpu()")
