"""Every backend does what the engine relies on. And the recipe for a new one leads to one that does."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.backends.conformance import CHECKS
from tests.support import ROOT
from tinygrad_edu import backends
from tinygrad_edu.backends import Backend


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("backend", backends.registered(), ids=lambda backend: backend.name)
def test_conforms(backend: Backend, check: Callable[[Backend], None]) -> None:
    check(backend)


def test_all_that_are_registered_are_checked() -> None:
    assert {"cpu", "trace", "far"} <= {backend.name for backend in backends.registered()}


@pytest.fixture
def recipe() -> Iterator[Backend]:
    """The device that CONTRIBUTING.md adds, for the time of a test."""
    section = (ROOT / "CONTRIBUTING.md").read_text().split("## Add a device")[1].split("\n## ")[0]
    code = "\n".join(textwrap.dedent(block) for block in re.findall(r"```python\n(.*?)   ```", section, re.DOTALL))
    space: dict[str, Any] = {"__name__": "mirror"}
    exec(compile(code, "CONTRIBUTING.md", "exec"), space)
    backend = backends.get("mirror")
    yield backend
    del backends._BY_NAME["mirror"]
    for kind in backend.array_types:
        del backends._REGISTERED[kind]
    backends.BY_TYPE.clear()


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_the_recipe_for_a_device(recipe: Backend, check: Callable[[Backend], None]) -> None:
    check(recipe)


def test_a_backend_that_falls_short_is_caught() -> None:
    class Forgetful(type(backends.get("far"))):  # type: ignore[misc]
        """It hands out what it holds, and loses the sign on the way in."""

        name = "forgetful"

        def to_numpy(self, array: Any) -> Any:
            return array.values

        def from_numpy(self, array: Any) -> Any:
            return super().from_numpy(abs(array))

    found = set()
    for check in CHECKS[:6]:
        try:
            check(Forgetful())
        except AssertionError:
            found.add(check.__name__)
    assert {"arrays_come_and_go", "other_memory_is_other_memory", "operators"} <= found
