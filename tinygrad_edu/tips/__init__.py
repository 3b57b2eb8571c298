"""Performance tips that you can watch: a slow way beside a fast one, the claims about them, and where they fail.

A tip is one file below this package. `find` and `search` read it, `run` measures it, `check` tests its claims.
"""

from .advice import advise
from .checking import Checked, check
from .facts import Fact, declare
from .judging import Judged
from .outcomes import DIFFERS, EQUAL, FREE, Outcome, raises
from .registry import all_tips, find, search
from .runner import Result, run
from .tip import (
    GUIDES,
    THEMES,
    Choice,
    Claim,
    Elsewhere,
    Figure,
    Limit,
    Number,
    Over,
    Picture,
    Question,
    Size,
    Slip,
    Source,
    Tip,
    TipError,
    Way,
    source_of,
)
from .ways import Aside, Shown, log, mark, prepared

__all__ = [
    "DIFFERS",
    "EQUAL",
    "FREE",
    "GUIDES",
    "THEMES",
    "Aside",
    "Checked",
    "Choice",
    "Claim",
    "Elsewhere",
    "Fact",
    "Figure",
    "Judged",
    "Limit",
    "Number",
    "Outcome",
    "Over",
    "Picture",
    "Question",
    "Result",
    "Shown",
    "Size",
    "Slip",
    "Source",
    "Tip",
    "TipError",
    "Way",
    "advise",
    "all_tips",
    "check",
    "declare",
    "find",
    "log",
    "mark",
    "prepared",
    "raises",
    "run",
    "search",
    "source_of",
]  # fmt: skip
