"""Optimisers: they step in place and allocate nothing after the first step. `lr_scheduler` changes their rates.

`LBFGS` is different: it needs a closure, and keeps a history.

Formulas, names and saved state are PyTorch's. Parameters of 16 bits are the exception: their state is float32, and
each step computes in float32 and rounds once, where PyTorch rounds at every operation; `master_weights` keeps what
this rounding loses. There is one way to step:
``foreach`` and ``fused`` change no numbers, but the launches on a device; ``capturable`` and ``differentiable`` are
accepted if they are off.
"""

from typing import TYPE_CHECKING

from ..common import late as _late
from . import lr_scheduler
from .adadelta import Adadelta
from .adagrad import Adagrad
from .adam import Adam, AdamW
from .adamax import Adamax
from .lbfgs import LBFGS
from .nadam import NAdam
from .optimizer import Optimizer
from .radam import RAdam
from .rmsprop import RMSprop
from .rprop import Rprop
from .sgd import SGD
from .stepping import master_weights

__all__ = [
    "LBFGS", "SGD", "Adadelta", "Adagrad", "Adam", "AdamW", "Adamax", "NAdam", "Optimizer", "RAdam", "RMSprop", "Rprop",
    "lr_scheduler", "master_weights",
]  # fmt: skip


if not TYPE_CHECKING:  # otherwise a type checker would accept every name
    __getattr__ = _late.getattr_of(__name__)
