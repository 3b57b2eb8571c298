"""The page of operations is the one that its tool would write."""

from __future__ import annotations

import runpy

from tests.support import ROOT


def test_the_page_is_up_to_date() -> None:
    tool = runpy.run_path(str(ROOT / "tools" / "list_operations.py"))
    assert tool["PAGE"].read_text() == tool["page"](), "run python tools/list_operations.py"
