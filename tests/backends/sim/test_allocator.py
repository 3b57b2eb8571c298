"""The allocator: never two arrays on one place, every byte accounted for, whatever is asked for and given back."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tinygrad_edu.backends.sim.allocator import LARGE_SEGMENT, SMALL, SMALL_SEGMENT, UNIT, Allocator, Block, Full

ROOM = 256 << 20
MIB = 1 << 20


def check(allocator: Allocator, alive: list[Block]) -> None:
    """Blocks fill their segments without a gap, free neighbours have joined, and all figures add up."""
    seen: list[Block] = []
    for segment in allocator.segments:
        blocks = segment.blocks()
        at = segment.address
        for block, after in zip(blocks, [*blocks[1:], None], strict=True):
            assert (block.address, block.after) == (at, after)
            assert not (block.free and after is not None and after.free)
            assert (block.key in segment.pool.free) is block.free
            at += block.size
        assert at == segment.address + segment.size
        seen += blocks
    assert [b for b in seen if not b.free] == sorted(alive, key=seen.index)
    assert allocator.allocated == sum(b.size for b in alive) <= allocator.reserved <= allocator.limit
    assert allocator.reserved == sum(s.size for s in allocator.segments) <= allocator.reserved_peak
    assert allocator.allocated <= allocator.peak
    assert sum(map(len, (pool.free for pool in allocator.pools.values()))) == len(seen) - len(alive)


SIZES = st.one_of(st.integers(1, 4096), st.integers(1, SMALL), st.integers(SMALL, 40 * MIB))
STEPS = st.lists(st.tuples(st.sampled_from(["take", "take", "take", "give", "empty"]), SIZES, st.integers(1, 2)))


@given(STEPS, st.randoms(use_true_random=False))
def test_random_programs(steps: list[tuple[str, int, int]], random: object) -> None:
    allocator, alive = Allocator(ROOM), []
    for what, size, stream in steps:
        if what == "take":
            try:
                block, _ = allocator.allocate(size, stream)
            except Full as full:
                assert allocator.reserved + size > allocator.limit - LARGE_SEGMENT
                assert (full.allocated, full.reserved) == (allocator.allocated, allocator.reserved)
                continue
            assert block.size >= size and block.size % UNIT == 0
            alive.append(block)
        elif what == "give" and alive:
            allocator.free(alive.pop(random.randrange(len(alive))))  # type: ignore[attr-defined]
        elif what == "empty":
            allocator.empty()
        check(allocator, alive)
    for block in alive:
        allocator.free(block)
    check(allocator, [])
    assert all(segment.first.after is None for segment in allocator.segments)  # each is whole again
    allocator.empty()
    assert (allocator.reserved, allocator.allocated, allocator.segments) == (0, 0, [])


def test_sizes_and_segments_are_pytorch_s() -> None:
    for size, block_size, segment_size in (
        (1, 512, SMALL_SEGMENT), (513, 1024, SMALL_SEGMENT), (MIB, MIB, SMALL_SEGMENT),
        (MIB + 1, MIB + 512, LARGE_SEGMENT), (10 * MIB, 10 * MIB, 10 * MIB), (11 * MIB, 11 * MIB, 12 * MIB),
        (13 * MIB - 1, 13 * MIB, 14 * MIB),
    ):  # fmt: skip
        allocator = Allocator(ROOM)
        block, calls = allocator.allocate(size, 1)
        found = allocator.segments[0].size
        assert (block.size if found != segment_size or found - block_size > MIB else block_size, found, calls) == (
            block_size, segment_size, 1,
        )  # fmt: skip


def test_a_block_serves_the_next_request_of_its_stream_and_of_no_other() -> None:
    allocator = Allocator(ROOM)
    first, _ = allocator.allocate(4096, 1)
    allocator.free(first)
    again, calls = allocator.allocate(4096, 1)
    assert (again.address, calls) == (first.address, 0)
    allocator.free(again)
    other, calls = allocator.allocate(4096, 2)
    assert other.address != first.address and calls == 1


def test_the_smallest_that_fits_is_taken() -> None:
    allocator = Allocator(ROOM)
    blocks = [allocator.allocate(size, 1)[0] for size in (8192, 512, 4096, 512, 2048, 512)]
    for i in (0, 2, 4):
        allocator.free(blocks[i])
    assert allocator.allocate(3000, 1)[0].address == blocks[2].address


def test_what_is_free_in_pieces_is_not_enough_and_a_full_cache_is_emptied_first() -> None:
    allocator = Allocator(60 * MIB)
    blocks = [allocator.allocate(20 * MIB, 1)[0] for _ in range(3)]
    allocator.free(blocks[0])
    allocator.free(blocks[2])
    with pytest.raises(Full) as caught:
        allocator.allocate(41 * MIB, 1)
    assert caught.value.allocated == 20 * MIB
    assert allocator.reserved == 20 * MIB  # the cache was given back before it gave up
    assert allocator.retries == 1
    large, calls = allocator.allocate(40 * MIB, 2)
    assert large.size == 40 * MIB and calls == 1


# Interrupts ----------------------------------------------------------------------------------------------------------


def interrupted(work: Callable[[], Any], after: int) -> bool:
    """Do some work, with an interrupt after so many lines of the allocator. Returns whether it came."""
    left = [after]

    def trace(frame: Any, event: str, argument: Any) -> Any:
        if not frame.f_code.co_filename.endswith("sim/allocator.py"):
            return None
        if event == "line":
            left[0] -= 1
            if left[0] == 0:
                raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
    return False


def test_an_interrupt_at_any_line_leaves_books_that_add_up() -> None:
    came = 0
    for after in range(1, 90):
        allocator = Allocator(120 << 20)
        held = [allocator.allocate(size, 0)[0] for size in (700, 1 << 19, 3 << 20, 600, 2 << 20)]

        def work(allocator: Allocator = allocator, held: list[Any] = held) -> None:
            allocator.free(held[1])
            held.append(allocator.allocate(5 << 20, 1)[0])
            allocator.free(held[2])
            held.append(allocator.allocate(1 << 20, 0)[0])
            allocator.empty()

        came += interrupted(work, after)
        for block in held:
            if not block.gone:
                allocator.free(block)
        allocator.allocate(512, 0)
        free = sum(size for pool in allocator.pools.values() for size, _, _ in pool.free)
        used = sum(block.size for block in allocator.owned())
        assert free + used == allocator.reserved == sum(segment.size for segment in allocator.segments), after
        for pool in allocator.pools.values():
            assert pool.free == sorted(pool.free), after
        assert allocator.allocate(6 << 20, 0)[0].size >= 6 << 20, after
    assert came > 60


@given(
    st.lists(
        st.tuples(st.integers(0, 30), st.sampled_from([1, 512, 600, 1024, 5000, 1 << 20, (1 << 20) + 1, 3 << 20])),
        max_size=60,
    ),
    st.randoms(use_true_random=False),
)
@settings(max_examples=200, deadline=None)
def test_a_block_handed_on_is_the_one_that_would_be_found(program: list[tuple[int, int]], random: Any) -> None:
    """Each step frees a block, if there is one, and asks for another: by way of `again` where that is possible."""
    quick, plain = Allocator(1 << 40), Allocator(1 << 40)
    held: list[tuple[Block, Block]] = []
    for which, size in program:
        if held and random.random() < 0.7:
            mine, theirs = held.pop(which % len(held))
            mine.gone = True
            if quick.again(mine, size, 0):
                plain.free(theirs)
                other, _ = plain.allocate(size, 0)
                assert other.address - plain.segments[0].address == mine.address - quick.segments[0].address
                held.append((mine, other))
                continue
            mine.gone = False
            quick.free(mine)
            plain.free(theirs)
        held.append((quick.allocate(size, 0)[0], plain.allocate(size, 0)[0]))
        shape = [[(b.address, b.size, b.free) for s in one.segments for b in s.blocks()] for one in (quick, plain)]
        assert shape[0] == shape[1]
    assert (quick.allocated, quick.reserved, quick.peak) == (plain.allocated, plain.reserved, plain.peak)


def test_what_is_asked_for_right_after_it_was_freed_is_handed_on() -> None:
    allocator = Allocator(ROOM)
    first, _ = allocator.allocate(400, 0)
    second, _ = allocator.allocate(5000, 0)
    second.gone = True
    assert allocator.again(second, 4900, 0) and not second.gone
    assert not allocator.again(second, 400, 0) and not allocator.again(second, 5000, 1)
    allocator.free(first)
    assert not allocator.again(second, 5000, 0), "the two together begin where the first did"
