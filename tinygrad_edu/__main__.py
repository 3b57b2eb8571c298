"""``python -m tinygrad_edu``: the same as the command ``tinygrad-edu``."""

import sys

from .cli import main

if __name__ == "__main__":
    sys.exit(main())
