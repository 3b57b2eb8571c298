"""Loaded once, in the clean process of which workers are copies: all that they need, used once.

So a worker starts with everything that is otherwise loaded and generated when it is first called.
"""

from __future__ import annotations

import numpy as np

from . import process  # noqa: F401  (what a worker runs)
from .collate import default_collate

default_collate([(np.zeros(2), 0, 0.0)])
