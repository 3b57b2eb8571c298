"""Every public name is documented, and every example in a docstring runs."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
from typing import Any

import pytest

import tinygrad_edu as tg

MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(tg.__path__, "tinygrad_edu.")
    if not module.name.startswith("tinygrad_edu.generated")
)
# What a learner looks up first: these have an example.
CORE: dict[str, Any] = {
    name: getattr(tg, name)
    for name in (
        "tensor", "from_numpy", "arange", "manual_seed", "no_grad", "matmul", "einsum", "sum", "mean", "max", "cat",
        "stack", "where", "reshape", "permute", "squeeze", "gather", "scatter", "topk", "sort", "std", "cumsum",
    )
} | {
    "Tensor": tg.Tensor, "backward": tg.Tensor.backward, "grad": tg.autograd.grad, "jvp": tg.autograd.jvp,
    "Function": tg.autograd.Function, "gradcheck": tg.autograd.gradcheck, "view": tg.Tensor.view,
    "expand": tg.Tensor.expand, "detach": tg.Tensor.detach, "register_hook": tg.Tensor.register_hook,
    "cross_entropy": tg.nn.functional.cross_entropy, "conv2d": tg.nn.functional.conv2d,
    "layer_norm": tg.nn.functional.layer_norm, "promotion": tg.settings.promotion,
}  # fmt: skip


def public() -> dict[str, Any]:
    """Functions and classes under the names that users call them by."""
    found = {f"tg.{name}": getattr(tg, name) for name in tg.__all__}
    found |= {f"F.{name}": getattr(tg.nn.functional, name) for name in tg.nn.functional.__all__}
    found |= {f"autograd.{name}": getattr(tg.autograd, name) for name in tg.autograd.__all__}
    found |= {f"Tensor.{n}": getattr(tg.Tensor, n) for one in tg.Tensor.__mro__[:2] for n in vars(one) if n[0] != "_"}
    return {name: value for name, value in found.items() if callable(value) or isinstance(value, property)}


@pytest.mark.parametrize("name", public())
def test_a_public_name_is_documented(name: str) -> None:
    text = inspect.getdoc(public()[name])
    assert text, "say what it does"
    assert text[0].isupper() or text[0] in "`(", text
    assert text.splitlines()[0].rstrip().endswith((".", ":", "…")), f"the first line is a sentence: {text!r}"


@pytest.mark.parametrize("name", CORE)
def test_core_names_have_an_example(name: str) -> None:
    assert ">>> " in (CORE[name].__doc__ or "")


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name: str) -> None:
    module = importlib.import_module(name)
    tests = [t for t in doctest.DocTestFinder(exclude_empty=True).find(module) if t.examples]
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    said: list[str] = []
    for test in tests:
        tg.manual_seed(0)
        runner.run(test, out=said.append)
    assert not runner.summarize(verbose=False).failed, "".join(said)


def test_examples_are_found() -> None:
    """Or the test above would prove nothing."""
    found = [
        test.name
        for name in MODULES
        for test in doctest.DocTestFinder().find(importlib.import_module(name))
        if test.examples
    ]
    assert len(found) >= len(CORE)
