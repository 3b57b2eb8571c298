"""The streams of random numbers of code that is run to be looked at: each run draws the same, and none is used up."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from copy import deepcopy

import numpy as np

from ..common.blocks import block
from ..observe.stopping import undoing
from ..tensor.random import generator


def here() -> Callable[[], None]:
    """A function that takes all streams of random numbers back to where they are now."""
    ours, numpys, pythons = deepcopy(generator().bit_generator.state), np.random.get_state(), random.getstate()

    def back() -> None:
        generator().bit_generator.state = ours
        np.random.set_state(numpys)
        random.setstate(pythons)

    return back


@block
def streams_kept() -> Iterator[Callable[[], None]]:
    """Gives a function that takes all streams of random numbers back to where they are now, and calls it at the end."""
    back = here()
    with undoing() as undo:
        undo.append(back)
        yield back


@block
def fresh_streams() -> Iterator[None]:
    """NumPy's and Python's streams begin at 0 in the block: the same program then draws the same numbers each time."""
    with streams_kept():
        np.random.seed(0)
        random.seed(0)
        yield
