"""The layers of `tinygrad_edu.nn`, under PyTorch's path."""

from .. import *  # noqa: F403
from .. import __all__ as __all__
from . import module as module
