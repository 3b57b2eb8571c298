"""Write tinygrad_edu/common/pytorch_names.txt: PyTorch's public names, for errors about missing ones.

python tools/list_pytorch_names.py
"""

from __future__ import annotations

import textwrap
from pathlib import Path

FILE = Path(__file__).parent.parent / "tinygrad_edu" / "common" / "pytorch_names.txt"


def text() -> str:
    """The file: for each place its name, a colon, and the names in it."""
    import torch

    places = {
        "torch": torch, "torch.nn": torch.nn, "torch.nn.functional": torch.nn.functional, "torch.optim": torch.optim,
    }  # fmt: skip
    lines = [f"# Public names of PyTorch {torch.__version__.partition('+')[0]}, by tools/list_pytorch_names.py"]
    for place, module in places.items():
        names = sorted(name for name in dir(module) if not name.startswith("_"))
        lines.append(f"{place}:")
        lines += textwrap.wrap(
            " ".join(names), 118, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False
        )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
    print(FILE)
