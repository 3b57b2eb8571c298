"""Write the index of all tips, ``tinygrad_edu/tips/index.json``, from which ``tinygrad-edu tips list`` answers.

python tools/tip_index.py
"""

from __future__ import annotations

import json

from tinygrad_edu.cli.listing import INDEX, SHORT
from tinygrad_edu.tips import GUIDES, THEMES
from tinygrad_edu.tips.registry import own_tips


def index() -> str:
    """The themes, the guides, and each tip of this package in short."""
    tips = [{name: getattr(tip, name) for name in SHORT} for tip in own_tips()]
    return json.dumps({"themes": THEMES, "guides": GUIDES, "tips": tips}, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    INDEX.write_text(index(), encoding="utf-8")
