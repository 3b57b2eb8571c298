"""Memory of a simulated device: a caching allocator, by the rules of PyTorch's for CUDA.

Sizes are rounded up to 512 bytes. Blocks are cut from segments that the driver gives: of 2 MiB for small blocks (up to
1 MiB), of 20 MiB or more for large ones. A block that is freed goes back to its segment, joins its free neighbours and
serves the next request of the same stream; the driver gets a segment back only by `empty`, or when memory runs out.
Only addresses and sizes live here, no values.
"""

from __future__ import annotations

from bisect import bisect_left, insort

from ...common.lines import Line
from .races import Access, remembered, together
from .schedule import Lane, Point

UNIT = 512
SMALL, SMALL_SEGMENT = 1 << 20, 2 << 20
LARGE, LARGE_SEGMENT, GRAIN = 10 << 20, 20 << 20, 2 << 20


Entry = tuple[int, int, "Block"]  # size and address, by which free blocks are sorted: tuples compare in C


class Block:
    """A piece of a segment. ``accesses`` outlive an owner: the next one must come after them (see `races`)."""

    __slots__ = (
        "accesses", "address", "after", "before", "ends", "free", "gone", "line", "name", "segment", "size", "users",
        "wanted",
    )  # fmt: skip

    def __init__(self, segment: Segment, address: int, size: int) -> None:
        self.segment, self.address, self.size = segment, address, size
        self.before: Block | None = None
        self.after: Block | None = None
        self.free = True
        self.gone = True  # has it no owner?
        self.wanted = 0  # bytes that were asked for
        self.accesses: list[Access] = []  # see `races`
        self.name = ""  # of what made its owner
        self.line: Line = None
        self.users: list[Lane] = []  # other streams that the owner named, as `record_stream` does
        self.ends: list[Point] = []  # of those, where they were when the owner died

    @property
    def key(self) -> Entry:
        """Its place among free blocks."""
        return self.size, self.address, self


class Segment:
    """What the driver gave in one piece, for one stream."""

    __slots__ = ("address", "first", "pool", "size")

    def __init__(self, address: int, size: int, pool: Pool) -> None:
        self.address, self.size, self.pool = address, size, pool
        self.first = Block(self, address, size)

    def blocks(self) -> list[Block]:
        """Its blocks, in order of their addresses."""
        found: list[Block] = []
        block: Block | None = self.first
        while block is not None:
            found.append(block)
            block = block.after
        return found


class Pool:
    """The free blocks of one stream, the smallest first. ``small`` ones have their own."""

    __slots__ = ("free", "small", "stream")

    def __init__(self, stream: int, small: bool) -> None:
        self.stream, self.small = stream, small
        self.free: list[Entry] = []

    def remove(self, block: Block) -> None:
        """Take a block off the list."""
        del self.free[bisect_left(self.free, block.key)]


class Full(Exception):
    """No room, even after the cache was emptied."""

    def __init__(self, asked: int, limit: int, allocated: int, reserved: int, largest: int) -> None:
        self.asked, self.limit, self.allocated, self.reserved, self.largest = asked, limit, allocated, reserved, largest
        super().__init__(asked)


class Allocator:
    """Blocks for arrays. ``limit`` is how much the driver will give in all."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.segments: list[Segment] = []
        self.pools: dict[tuple[int, bool], Pool] = {}
        self.allocated = self.reserved = self.peak = self.reserved_peak = 0
        self.retries = 0  # how often the cache had to be emptied to go on
        self._busy = False  # still, if an interrupt came in the middle of something: see `_mend`
        self._next_address = 1 << 32

    def allocate(self, size: int, stream: int) -> tuple[Block, int]:
        """A block of ``size`` bytes for a stream, and how many segments had to be asked of or given back to the driver.

        Raises `Full` where there is no room.
        """
        self._begin()
        size = max(-(-size // UNIT) * UNIT, UNIT)
        pool = self._pool(stream, size <= SMALL)
        block, calls = self._found(pool, size), 0
        if block is None:
            segment, calls = self._segment(pool, size)
            block = segment.first
        self._cut(block, size)
        block.free = block.gone = False
        self.allocated += block.size
        self.peak = max(self.peak, self.allocated)
        self._busy = False
        return block, calls

    def free(self, block: Block) -> None:
        """Its owner is gone. It serves others once `give_back` is called, at once if no other stream uses it."""
        block.gone = True
        self.allocated -= block.size
        if not block.users:
            self.give_back(block)

    def again(self, block: Block, size: int, stream: int) -> bool:
        """Hand a block whose owner is gone to the next one, if to free it and to ask for ``size`` bytes would give it.

        That is so most of the time, and much quicker than to join neighbours and to cut them again.
        """
        pool, before, after = block.segment.pool, block.before, block.after
        if pool.stream != stream or block.size != max(-(-size // UNIT) * UNIT, UNIT) or block.users or self._busy:
            return False
        if before is not None and before.free:
            return False  # together they would begin earlier
        at = bisect_left(pool.free, (block.size,))
        first = pool.free[at] if at < len(pool.free) else None
        whole = block.size + after.size if after is not None and after.free else block.size
        if first is not None and first[2] is not after and first[:2] < (whole, block.address):
            return False  # another one fits better
        if whole > block.size and not self._worth(block, whole - block.size):
            return False
        block.accesses = remembered(block)
        block.gone = False
        return True

    def give_back(self, block: Block) -> None:
        """Take a block back: it joins free neighbours, and serves the next request of its stream."""
        self._begin()
        block.free = True
        block.accesses = remembered(block)
        pool = block.segment.pool
        before, after = block.before, block.after
        if before is not None and before.free:
            pool.remove(before)
            block = _joined(before, block)
        if after is not None and after.free:
            pool.remove(after)
            block = _joined(block, after)
        insort(pool.free, block.key)
        self._busy = False

    def _begin(self) -> None:
        """From here to the end nothing may come between; if something did the last time, mend what it left."""
        if self._busy:
            self._mend()
        self._busy = True

    def _mend(self) -> None:
        """Put the books in order after an interrupt: addresses and owners are right, all else follows from them."""
        for pool in self.pools.values():
            pool.free.clear()
        self.allocated = self.reserved = 0
        for segment in self.segments:
            self.reserved += segment.size
            before: Block | None = None
            for block in segment.blocks():
                end = segment.address + segment.size if block.after is None else block.after.address
                block.before, block.size, before = before, end - block.address, block
                if block.free:
                    insort(segment.pool.free, block.key)
                elif not block.gone:
                    self.allocated += block.size

    def empty(self) -> int:
        """Give the driver back every segment that holds no array. Returns how many."""
        self._begin()
        count = self._give_idle_back()
        self._busy = False
        return count

    def _give_idle_back(self) -> int:
        idle = [s for s in self.segments if s.first.free and s.first.after is None]
        for segment in idle:
            segment.pool.remove(segment.first)
            self.segments.remove(segment)
            self.reserved -= segment.size
        return len(idle)

    def owned(self) -> list[Block]:
        """The blocks that hold arrays."""
        return [block for segment in self.segments for block in segment.blocks() if not block.free]

    def largest_free(self) -> int:
        """The largest block that is free, in bytes."""
        return max((pool.free[-1][0] for pool in self.pools.values() if pool.free), default=0)

    def _pool(self, stream: int, small: bool) -> Pool:
        pool = self.pools.get((stream, small))
        if pool is None:
            pool = self.pools[stream, small] = Pool(stream, small)
        return pool

    def _found(self, pool: Pool, size: int) -> Block | None:
        """The smallest free block that is large enough."""
        at = bisect_left(pool.free, (size,))
        return pool.free.pop(at)[2] if at < len(pool.free) else None

    def _segment(self, pool: Pool, size: int) -> tuple[Segment, int]:
        whole = SMALL_SEGMENT if pool.small else LARGE_SEGMENT if size < LARGE else -(-size // GRAIN) * GRAIN
        calls = 1
        if self.reserved + whole > self.limit:
            self.retries += 1
            calls += self._give_idle_back()
            if self.reserved + whole > self.limit:
                self._busy = False
                raise Full(size, self.limit, self.allocated, self.reserved, self.largest_free())
        segment = Segment(self._next_address, whole, pool)
        self._next_address += whole + GRAIN  # a gap: what belongs to two segments is never one block
        self.segments.append(segment)
        self.reserved += whole
        self.reserved_peak = max(self.reserved_peak, self.reserved)
        return segment, calls

    def _worth(self, block: Block, rest: int) -> bool:
        """Is the rest of a block worth one of its own?"""
        return rest >= UNIT if block.segment.pool.small else rest > SMALL

    def _cut(self, block: Block, size: int) -> None:
        """Cut off what is not needed, if it is worth a block: what is left of a large one must be more than 1 MiB."""
        if not self._worth(block, rest := block.size - size):
            return
        other = Block(block.segment, block.address + size, rest)
        other.accesses = [one for one in block.accesses if one.high > other.address]
        block.accesses = [one for one in block.accesses if one.low < other.address]
        other.before, other.after = block, block.after
        if block.after is not None:
            block.after.before = other
        block.after, block.size = other, size
        insort(block.segment.pool.free, other.key)


def _joined(first: Block, second: Block) -> Block:
    """Two neighbours as one block."""
    first.size += second.size
    first.accesses = together(first.accesses, second.accesses)
    first.after = second.after
    if second.after is not None:
        second.after.before = first
    return first
