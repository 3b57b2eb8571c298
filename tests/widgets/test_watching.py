"""Who hears of later cells: nobody who has gone, and whenever the collector takes somebody away."""

from __future__ import annotations

import gc
from collections.abc import Callable

import pytest
from tinygrad_edu_widgets import watching
from tinygrad_edu_widgets.watching import forget, look_around, watch

pytestmark = pytest.mark.timeout(20)


class Watching:
    """Leaves when it is collected, as a widget does."""

    def __init__(self, look: Callable[[], None] = lambda: None) -> None:
        self.look = look
        watch(self)

    def __del__(self) -> None:
        forget(self)


def test_the_others_look_and_the_doer_does_not() -> None:
    seen: list[str] = []
    one, two = Watching(lambda: seen.append("one")), Watching(lambda: seen.append("two"))
    look_around(one)
    assert seen == ["two"]
    forget(two)
    look_around()
    assert seen == ["two", "one"]


def test_who_has_gone_is_not_kept() -> None:
    before = len(watching._WATCHERS)
    one = Watching()
    assert len(watching._WATCHERS) == before + 1
    del one
    assert len(watching._WATCHERS) == before


def test_the_collector_may_come_at_any_moment() -> None:
    """Also while the watchers are counted, or one of them looks: what it takes away leaves then."""

    def cycle() -> None:
        one = Watching()
        one.look = lambda: print(one)  # refers to itself

    before, kept = gc.get_threshold(), [Watching() for _ in range(3)]
    try:
        for allowed in range(1, 60):  # new objects until the next collection: it moves through all that is done below
            gc.collect()
            gc.set_threshold(allowed)
            cycle()
            look_around()
    finally:
        gc.set_threshold(*before)
    assert [one for one in kept if id(one) not in watching._WATCHERS] == []
