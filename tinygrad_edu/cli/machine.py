"""The processor and the memory, and how much of them this process may use: a container gets only a part."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from ..observe.machine import processor

PROC, CGROUPS = Path("/proc"), Path("/sys/fs/cgroup")
UNLIMITED = 1 << 60  # bytes; cgroups of version 1 say "no limit" with a number above this


@dataclass(frozen=True)
class Cpu:
    """``cores`` are in the machine, ``allowed`` may be used by this process, ``quota`` is a container's share."""

    model: str
    cores: int
    allowed: int
    quota: float | None = None

    @property
    def usable(self) -> int:
        """How many threads can really run at once."""
        return min(self.allowed, max(1, int(self.quota))) if self.quota else self.allowed


@dataclass(frozen=True)
class Memory:
    """In bytes; None if the system does not tell. ``limit`` is that of a container."""

    total: int | None
    available: int | None
    limit: int | None = None


def cpu() -> Cpu:
    """The processor of this machine."""
    cores = os.cpu_count() or 1
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else cores
    return Cpu(processor(), cores, allowed, cgroup_cores(CGROUPS, _read(PROC / "self" / "cgroup")))


def memory() -> Memory:
    """The memory of this machine."""
    free = re.search(r"^MemAvailable:\s*(\d+) kB$", _read(PROC / "meminfo"), re.MULTILINE)
    total = None
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    limit = cgroup_memory(CGROUPS, _read(PROC / "self" / "cgroup"))
    return Memory(total, int(free.group(1)) * 1024 if free else None, limit)


# Limits of containers ------------------------------------------------------------------------------------------------


def cgroup_cores(root: Path, groups: str) -> float | None:
    """How many cores the process's cgroup grants; None when there is no limit. ``groups`` is /proc/self/cgroup."""
    found = []
    for folder in _folders(root, groups, ""):
        quota, _, period = _read(folder / "cpu.max").partition(" ")
        if quota.isdecimal():
            found.append(int(quota) / int(period))
    for folder in _folders(root, groups, "cpu"):
        quota, period = _read(folder / "cpu.cfs_quota_us"), _read(folder / "cpu.cfs_period_us")
        if quota.isdecimal() and period.isdecimal():  # -1 is no limit
            found.append(int(quota) / int(period))
    return min(found, default=None)


def cgroup_memory(root: Path, groups: str) -> int | None:
    """How many bytes the process's cgroup grants; None when there is no limit."""
    texts = [_read(folder / "memory.max") for folder in _folders(root, groups, "")]
    texts += [_read(folder / "memory.limit_in_bytes") for folder in _folders(root, groups, "memory")]
    return min((int(text) for text in texts if text.isdecimal() and int(text) < UNLIMITED), default=None)


def _folders(root: Path, groups: str, controller: str) -> list[Path]:
    """The cgroup's folder and those above it, of version 2 (controller "") or 1. Containers see their own as the root.

    A limit higher up applies too.
    """
    for line in groups.splitlines():
        _, names, path = line.split(":", 2)
        if controller in names.split(","):
            base = root / controller
            inner = base / path.strip("/")
            return [inner, *[folder for folder in inner.parents if folder == base or base in folder.parents]]
    return []


def _read(path: Path) -> str:
    """The text of a system file, without the line end; empty if there is none."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
