"""Probability distributions: draws, log-probabilities, and learning by both.

Names, shapes and values are PyTorch's. A distribution holds tensors, one number for each place of its ``batch_shape``;
it computes with tensor operations, so gradients reach whatever the tensors were computed from. Draws come from the
stream that `manual_seed` seeds.
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
