"""The switch for TF32: products of float32 whose factors are rounded to 10 bits, for speed."""

from __future__ import annotations

from ....backends.sim import DEVICES as _DEVICES

__all__ = ["is_built", "matmul"]


def is_built() -> bool:
    """Whether there is CUDA: a GPU, or the simulated one."""
    return True


class _Matmul:
    """``torch.backends.cuda.matmul``. On the simulated accelerator TF32 changes times; no value is rounded."""

    @property
    def allow_tf32(self) -> bool:
        return _DEVICES[0].tf32

    @allow_tf32.setter
    def allow_tf32(self, value: bool) -> None:
        for one in _DEVICES:
            one.tf32 = bool(value)


matmul = _Matmul()
