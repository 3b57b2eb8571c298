"""PyTorch's older path to mixed precision on the GPU: no device is named, and the type is float16."""

from __future__ import annotations

from typing import Any

from .... import amp as _amp
from ....amp import custom_bwd, custom_fwd

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]


class autocast(_amp.autocast):
    """`tinygrad_edu.autocast` for "cuda"."""

    def __init__(self, enabled: bool = True, dtype: Any = None, cache_enabled: bool = True) -> None:
        super().__init__("cuda", dtype, enabled, cache_enabled)

    def afresh(self) -> autocast:
        return type(self)(self.enabled, self.dtype, self.cache_enabled)


class GradScaler(_amp.GradScaler):
    """`tinygrad_edu.amp.GradScaler` for "cuda"."""

    def __init__(
        self, init_scale: float = 65536.0, growth_factor: float = 2.0, backoff_factor: float = 0.5,
        growth_interval: int = 2000, enabled: bool = True,
    ) -> None:  # fmt: skip
        super().__init__("cuda", init_scale, growth_factor, backoff_factor, growth_interval, enabled)
