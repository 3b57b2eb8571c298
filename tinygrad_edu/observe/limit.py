"""How much memory a learner's program may take: what the machine has free, and no more.

Without a limit, Linux promises more memory than there is, and ends the whole kernel when a program uses it. With one,
the request that is too large raises `MemoryError` in the program, where it can be shown.

The limit is ``RLIMIT_DATA``, which counts the writable memory of the whole process: another thread that asks for more
than is free meets it too, but would have been ended otherwise. NumPy has no hook in Python that could refuse an
allocation, and tracemalloc would slow every program down and could stop nothing. Other systems than Linux do not count
that memory, so there is no limit there.
"""

from __future__ import annotations

import sys
from pathlib import Path

if sys.platform == "linux":
    import resource
else:
    resource = None  # type: ignore[assignment,unused-ignore]

LEFT = 0.1  # of what is free, for the notebook itself: to show what happened takes memory too
LEAST = 64 * 10**6  # bytes that a program may have in any case

_STATUS, _FREE = Path("/proc/self/status"), Path("/proc/meminfo")
_GROUP = (  # of a container: the limit and the use, for both versions of control groups
    (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory.current")),
    (Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"), Path("/sys/fs/cgroup/memory/memory.usage_in_bytes")),
)
_before: list[tuple[int, int]] = []  # the limits as they were, while ours holds


def free() -> int | None:
    """The bytes that are free for this process; None where the system does not tell."""
    found = _field(_FREE, "MemAvailable")
    if found is None:
        return None
    for limit, used in _GROUP:
        try:
            found = min(found, int(limit.read_text()) - int(used.read_text()))
        except (OSError, ValueError):  # there is no such file, or it says "max"
            continue
    return max(found, 0)


def _field(file: Path, name: str) -> int | None:
    """A number of kilobytes in one of the system's tables, as bytes."""
    try:
        lines = file.read_text().splitlines()
    except OSError:
        return None
    found = (line.split() for line in lines if line.startswith(f"{name}:"))
    return next((int(words[1]) * 1024 for words in found), None)


def limit() -> None:
    """From now on, memory that is not there is refused."""
    room, taken = free(), _field(_STATUS, "VmData")
    if resource is None or room is None or taken is None or _before:
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    most = taken + max(int(room * (1 - LEFT)), LEAST)
    bounds = [one for one in (soft, hard, most) if one != resource.RLIM_INFINITY]
    _before.append((soft, hard))
    resource.setrlimit(resource.RLIMIT_DATA, (min(bounds), hard))


def lift() -> None:
    """As before `limit`."""
    if _before:
        resource.setrlimit(resource.RLIMIT_DATA, _before.pop())
