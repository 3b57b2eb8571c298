"""Weights and inputs in 8 bits: a quarter of the bytes, and products of whole numbers.

>>> import tinygrad_edu as tg
>>> from tinygrad_edu.quantise import quantise, quantise_tensor
>>> x = quantise_tensor(tg.tensor([-1.0, 0.0, 0.5]))
>>> x.values.tolist(), round(x.scale.item(), 4)
([-127, 0, 64], 0.0079)
>>> small = quantise(tg.nn.Linear(64, 32))
>>> small.weight.nbytes, tg.nn.Linear(64, 32).weight.nbytes
(2048, 8192)
"""

from .float8 import Float8, to_float8
from .layers import QuantisedConv2d, QuantisedLinear, quantise
from .numbers import Quantised, integer_product, quantise_tensor, scale_of

__all__ = [
    "Float8", "Quantised", "QuantisedConv2d", "QuantisedLinear", "integer_product", "quantise", "quantise_tensor",
    "scale_of", "to_float8",
]  # fmt: skip
