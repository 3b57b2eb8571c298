"""Comparisons with other libraries. Where they are required, one that is missing is an error and no skip."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator

import pytest

NEEDED = ("torch", "expecttest", "jax", "mygrad")
REQUIRED = os.environ.get("TINYGRAD_EDU_REQUIRE_PEERS") == "1"


def pytest_collection_modifyitems() -> None:
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing and REQUIRED:
        raise pytest.UsageError(f"not installed: {', '.join(missing)}; python start.py tests --peers installs them")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    report = yield
    if REQUIRED and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome, report.longrepr = "failed", f"skipped, where no comparison may be: {report.longrepr}"
    return report
