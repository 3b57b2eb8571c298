"""Performance tips, each to be seen: a slow way beside a fast one, what is claimed of them, and where it ends.

A tip is one file below this package. `find` and `search` read it, `run` measures it, `check` holds it to its claims.
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
