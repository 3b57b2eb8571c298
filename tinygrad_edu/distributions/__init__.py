"""Probability distributions: to draw from, to ask how likely a value is, and to learn by both.

Names, shapes and values are PyTorch's. A distribution holds tensors, one number for each place of its ``batch_shape``;
all it does is made of tensor operations, so gradients reach what the tensors were computed from. Draws come from the
stream of `manual_seed`.
"""

from .bernoulli import Bernoulli
from .categorical import Categorical
from .distribution import Distribution
from .independent import Independent
from .kl import kl_divergence, register_kl
from .multivariate_normal import MultivariateNormal
from .normal import Normal
from .uniform import Uniform

__all__ = [
    "Bernoulli", "Categorical", "Distribution", "Independent", "MultivariateNormal", "Normal", "Uniform",
    "kl_divergence", "register_kl",
]  # fmt: skip
