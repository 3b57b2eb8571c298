"""``python -m tinygrad_edu.compat run script.py [arguments]``: a PyTorch program over this engine, as it stands."""

from __future__ import annotations

import os
import runpy
import sys

from .paths import be_torch

USAGE = "usage: python -m tinygrad_edu.compat run script.py [arguments of the script]"


def main(arguments: list[str]) -> int | str:
    """Run the script that is named, where ``import torch`` gives `compat.torch`. Returns the exit status."""
    if len(arguments) < 2 or arguments[0] != "run":
        return USAGE
    script = arguments[1]
    if not os.path.isfile(script):
        return f"{script}: there is no such file\n{USAGE}"
    be_torch()
    sys.argv = arguments[1:]
    sys.path[0] = os.path.dirname(os.path.abspath(script))  # as with `python script.py`
    runpy.run_path(script, run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
