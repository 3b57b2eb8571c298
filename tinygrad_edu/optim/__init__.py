"""Optimisers: they step in place and allocate nothing after the first step. `lr_scheduler` changes their rates.

Formulas, names and saved state are PyTorch's. Parameters of 16 bits are the exception: their state is float32, and
each step computes in float32 and rounds once, where PyTorch rounds at every operation. There is one way to step:
``foreach``, ``fused``, ``capturable`` and ``differentiable`` are taken as long as they ask for nothing else.
"""

from . import lr_scheduler
from .adagrad import Adagrad
from .adam import Adam, AdamW
from .optimizer import Optimizer
from .rmsprop import RMSprop
from .sgd import SGD

__all__ = ["SGD", "Adagrad", "Adam", "AdamW", "Optimizer", "RMSprop", "lr_scheduler"]
