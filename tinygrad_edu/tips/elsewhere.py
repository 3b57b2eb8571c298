"""Running what a tip says of another framework: a snippet that finds the tip's inputs by name."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from ..core.base import TensorBase
from .counting import error_text, named_arguments
from .framework import torch
from .tip import Tip


def run_snippet(tip: Tip, code: str, convert: Callable[[Any], Any], kind: type[Any], **modules: Any) -> dict[str, Any]:
    """Run ``code`` with the inputs as ``convert`` makes them. Returns what it made of that ``kind``, by name."""
    given = {name: convert(value) for name, value in inputs_of(tip).items()}
    names = {**modules, **given}
    exec(compile(code, f"<{tip.slug}, elsewhere>", "exec"), names)
    return {name: value for name, value in names.items() if isinstance(value, kind) and value is not given.get(name)}


def run_torch_snippet(tip: Tip, code: str) -> dict[str, Any]:
    """Run a snippet for PyTorch. Where the tip has a model, it finds a linear layer."""
    lib = torch()
    samples = inputs_of(tip).get("x")
    width = samples.shape[-1] if isinstance(samples, TensorBase) else 4

    def convert(value: Any) -> Any:
        if callable(value):
            return lib.nn.Linear(width, 4)
        if isinstance(value, list):
            return [convert(one) for one in value]
        if not isinstance(value, TensorBase):
            return value
        return lib.from_numpy(value.numpy(force=True).copy()).requires_grad_(value.requires_grad)

    functional = importlib.import_module("torch.nn.functional")
    return run_snippet(tip, code, convert, lib.Tensor, torch=lib, nn=lib.nn, F=functional)


def inputs_of(tip: Tip) -> dict[str, Any]:
    """The tip's inputs at the defaults, by name."""
    return named_arguments(tip, tip.setting({"device": "cpu"} if "cpu" in tip.devices else {}))


def faults_of_snippets(tip: Tip) -> Iterator[str]:
    """What is wrong with a tip's code for PyTorch: it has to run, and to make a tensor."""
    for one in tip.elsewhere:
        if one.framework.startswith("PyTorch "):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of a library that is being tried
                try:
                    made = run_torch_snippet(tip, one.code)
                except Exception as error:
                    yield f"its code for {one.framework} fails: {error_text(error)}"
                else:
                    if not made:
                        yield f"its code for {one.framework} makes no tensor"
