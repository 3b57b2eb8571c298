"""Layers and losses, with PyTorch's names, shapes and initial distributions."""

from . import functional
from .layers import Conv2d, Flatten, Linear, MaxPool2d, ReLU, Sequential, Sigmoid, Tanh
from .loss import CrossEntropyLoss, MSELoss
from .module import Module, Parameter

__all__ = [
    "Conv2d", "CrossEntropyLoss", "Flatten", "Linear", "MSELoss", "MaxPool2d", "Module", "Parameter", "ReLU",
    "Sequential", "Sigmoid", "Tanh", "functional",
]  # fmt: skip
