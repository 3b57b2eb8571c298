"""Training or evaluating: restoring the mode."""

from __future__ import annotations

from collections.abc import Iterator

from ..common.blocks import block
from .module import Module


@block
def modes_kept(model: Module) -> Iterator[None]:
    """After the block, every module in ``model`` has the mode that it had before."""
    before = [(module, module.training) for module in model.modules()]
    try:
        yield
    finally:
        for module, training in before:
            module.training = training
