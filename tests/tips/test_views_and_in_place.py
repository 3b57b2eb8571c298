"""What the tips about views and in-place writes say in words, in exact counts."""

from __future__ import annotations

import re
from typing import Any

import pytest

import tinygrad_edu as tg
from tinygrad_edu.tips import Result, find, run


def ran(slug: str, **setting: Any) -> Result:
    return run(find(slug), setting, clock=False)


def facts(result: Result, names: str) -> tuple[list[Any], list[Any]]:
    """These counts of A and of B."""
    return [result.slow[name] for name in names.split()], [result.fast[name] for name in names.split()]


def test_a_copy_of_a_part_is_small_and_a_view_of_it_keeps_all() -> None:
    image = 8 * 8 * 4 * 4 * 4  # bytes
    assert facts(ran("views-not-copies", side=4), "allocated held") == ([image, image], [0, image])
    assert facts(ran("views-not-copies", side=4, keep=2), "allocated held") == ([image // 4, image // 4], [0, image])


def test_one_row_of_tiles_can_be_said_by_strides() -> None:
    assert ran("views-not-copies", side=4, keep=1).slow["allocated"] == 0


def test_positions_copy_their_rows_and_a_slice_none() -> None:
    assert facts(ran("basic-vs-advanced-indexing", n=16), "calls allocated") == ([1, 8 * 4096], [1, 0])


def test_what_reaches_x() -> None:
    """The three writes that the tip tells apart."""
    x, rows = tg.zeros(4), tg.arange(2)
    batch = x[rows]
    batch += 1
    assert x.tolist() == [0, 0, 0, 0]
    x[rows] += 1
    assert x.tolist() == [1, 1, 0, 0]
    batch = x[:2]
    batch += 1
    assert x.tolist() == [2, 2, 0, 0]


def test_three_buffers_of_which_two_at_once_against_one() -> None:
    one = 16 * 16 * 4
    assert facts(ran("in-place", n=16), "calls allocated peak") == ([3, 3 * one, 2 * one], [3, one, one])


def test_the_error_names_the_line_of_the_tip() -> None:
    reason = ran("in-place", n=16, gradient="wanted").reason
    assert re.search(
        r"B fails in line \d, `.+`: backward through exp, which saved its out \(16, 16\): relu_ has overwritten it",
        reason,
    )
    assert ": y.relu_()." in reason
    assert ", at in_place.py, line " in reason


@pytest.mark.parametrize("views", [1, 2, 8])
def test_history_is_rewritten_and_only_the_region_copied(views: int) -> None:
    result = ran("in-place-costs-under-autograd", n=32, views=views)
    region = 16 * 32 * 4
    assert facts(result, "copies copied nodes") == ([1, region, 4 * views + 3], [0, 0, 4 * views + 1])
    (guide,) = result.guides
    assert (guide["copies"], guide["nodes"]) == (0, 5)  # mul, view, add_, write, sum


def test_one_write_that_many_views_see_needs_less_in_the_end() -> None:
    few, many = (ran("in-place-costs-under-autograd", n=64, views=views) for views in (1, 16))
    assert few.slow["allocated"] > few.fast["allocated"]
    assert many.slow["allocated"] < many.fast["allocated"]
    assert many.slow["peak"] < many.fast["peak"]
