"""Performance tips that you can watch: a slow way beside a fast one, the claims about them, and where they fail.

A tip is one file below this package. `find` and `search` read it, `run` measures it, `check` tests its claims.
"""

from .registry import all_tips, find, search
from .runner import Judged, Result, check, run
from .tip import (
    GUIDES,
    THEMES,
    Choice,
    Claim,
    Elsewhere,
    Limit,
    Picture,
    Question,
    Size,
    Slip,
    Source,
    Tip,
    TipError,
    source_of,
)

__all__ = [
    "GUIDES", "THEMES", "Choice", "Claim", "Elsewhere", "Judged", "Limit", "Picture", "Question", "Result", "Size",
    "Slip", "Source", "Tip", "TipError", "all_tips", "check", "find", "run", "search", "source_of",
]  # fmt: skip
