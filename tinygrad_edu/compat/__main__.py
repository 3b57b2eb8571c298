"""``python -m tinygrad_edu.compat run script.py [arguments]``: a PyTorch program over this engine, as it stands."""

from __future__ import annotations

import os
import sys

from .scripts import run

USAGE = "usage: python -m tinygrad_edu.compat run script.py [arguments of the script]"


def main(arguments: list[str]) -> int | str:
    """Run the script that is named, where ``import torch`` gives `compat.torch`. Returns the exit status."""
    if len(arguments) < 2 or arguments[0] != "run":
        return USAGE
    if not os.path.isfile(arguments[1]):
        return f"{arguments[1]}: there is no such file\n{USAGE}"
    run(arguments[1], arguments[2:], torch=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
