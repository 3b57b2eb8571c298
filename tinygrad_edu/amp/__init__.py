"""Automatic mixed precision, as ``torch.amp``: what gains by 16 bits runs in 16 bits, the rest in float32.

>>> import tinygrad_edu as tg
>>> x, w = tg.ones(4, 3), tg.ones(3, 2, requires_grad=True)
>>> with tg.autocast("cpu"):
...     y = x @ w  # in bfloat16
...     loss = tg.nn.functional.mse_loss(y, tg.zeros(4, 2))  # in float32
>>> y.dtype, loss.dtype
(dtype(bfloat16), dtype('float32'))
>>> loss.backward()  # outside: each gradient has the dtype of its tensor
>>> w.grad.dtype
dtype('float32')
"""

from .autocast import autocast, custom_bwd, custom_fwd, get_autocast_dtype, is_autocast_available, is_autocast_enabled
from .scaler import GradScaler

__all__ = [
    "GradScaler", "autocast", "custom_bwd", "custom_fwd", "get_autocast_dtype", "is_autocast_available",
    "is_autocast_enabled",
]  # fmt: skip
