"""PyTorch's old names for tensors of one dtype: ``FloatTensor([1, 2])``, ``isinstance(x, LongTensor)``.

Many programs still use them. New ones name the dtype: ``tensor([1, 2], dtype=float32)``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import backends
from ..core.above import above
from ..core.base import TensorBase
from ..dtypes import NAMES, as_dtype
from ..errors import DtypeError
from ..inputs.arguments import size_of
from ..inputs.kinds import explained
from . import creation
from .size import Size

if TYPE_CHECKING:
    from .tensor import Tensor

_WORDS = "Bool Byte Char Short Int Long Half BFloat16 Float Double".split()
WORDS = dict(zip(NAMES, (f"{word}Tensor" for word in _WORDS), strict=True))  # by dtype


class TensorType:
    """One of the old names, such as ``FloatTensor``: a maker of tensors on the CPU, and a test for them."""

    def __init__(self, dtype: str) -> None:
        self._dtype, self.__name__ = dtype, WORDS[dtype]

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype that the name stands for."""
        return as_dtype(self._dtype)

    @explained
    def __call__(self, *data: Any, size: Any = None, device: str | None = None) -> Tensor:
        """``FloatTensor([1, 2])`` holds these numbers; ``FloatTensor(2, 3)`` has this size, and any values.

        For integers, fractions are cut off. Raises `DtypeError` for a tensor of another dtype, and for data without
        numbers. `tensor` and `empty` make it clear which of the two you mean.
        """
        if size is not None or len(data) != 1 or isinstance(data[0], (Size, int, np.integer)):
            sizes = size_of(self.__name__, data, size)
            if not any(isinstance(one, bool) for one in data):
                return creation.empty(*sizes or (0,), dtype=self.dtype, device=device or backends.CPU.name)
        elif isinstance(given := data[0], TensorBase):
            if given.array.dtype == self.dtype:
                return above.as_tensor(given, None, device)
            why, mend = f"it is a tensor of {given.array.dtype} already", f"convert it: x.to({self._dtype!r})"
            raise DtypeError(f"{self.__name__}(Tensor)", why, mend)
        elif hasattr(given, "__len__") and not isinstance(given, (str, bytes)):
            return above.as_tensor(given, self.dtype, device or backends.CPU.name)
        why, mend = "it takes numbers in a list, or a size", f"write {self.__name__}([…]), or tensor(…)"
        raise DtypeError(f"{self.__name__}({', '.join(type(one).__name__ for one in data)})", why, mend)

    def __instancecheck__(self, x: object) -> bool:
        return isinstance(x, TensorBase) and x.array.dtype == self.dtype and backends.of(x.array) is backends.CPU

    def __repr__(self) -> str:
        return f"<class 'tinygrad_edu.{self.__name__}'>"


BFloat16Tensor, BoolTensor, ByteTensor = TensorType("bfloat16"), TensorType("bool"), TensorType("uint8")
CharTensor, ShortTensor, IntTensor, LongTensor = map(TensorType, ("int8", "int16", "int32", "int64"))
HalfTensor, FloatTensor, DoubleTensor = TensorType("float16"), TensorType("float32"), TensorType("float64")


def meant(kind: Any) -> Any:
    """The dtype behind an old name, or behind its text, ``"torch.FloatTensor"``; anything else stays as it is."""
    if isinstance(kind, TensorType):
        return kind.dtype
    if isinstance(kind, str) and kind.endswith("Tensor"):
        word = kind.rpartition(".")[2]
        return next((name for name, one in WORDS.items() if one == word), kind)
    return kind
