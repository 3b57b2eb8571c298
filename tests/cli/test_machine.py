"""Limits of containers, read from made-up system files."""

from __future__ import annotations

from pathlib import Path

import pytest

from tinygrad_edu.cli import machine
from tinygrad_edu.cli.machine import Cpu, cgroup_cores, cgroup_memory

V1 = "9:cpuset:/\n4:memory:/jobs/one\n1:cpu,cpuacct:/jobs/one\n0::/\n"


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text + "\n")
    return root


@pytest.mark.parametrize(
    ("groups", "files", "cores", "bytes_"),
    [
        ("0::/", {"cpu.max": "150000 100000", "memory.max": "2147483648"}, 1.5, 2 << 30),
        ("0::/", {"cpu.max": "max 100000", "memory.max": "max"}, None, None),
        ("0::/a/b", {"a/cpu.max": "200000 100000", "a/b/cpu.max": "400000 100000", "a/memory.max": "5"}, 2.0, 5),
        (V1, {"cpu/jobs/one/cpu.cfs_quota_us": "50000", "cpu/jobs/one/cpu.cfs_period_us": "100000"}, 0.5, None),
        (V1, {"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, None, None),
        (V1, {"memory/memory.limit_in_bytes": "1000"}, None, 1000),
        (V1, {"memory/memory.limit_in_bytes": "9223372036854771712"}, None, None),
        ("", {}, None, None),
    ],
)
def test_limits(tmp_path: Path, groups: str, files: dict[str, str], cores: float | None, bytes_: int | None) -> None:
    root = write(tmp_path, files)
    assert cgroup_cores(root, groups) == cores
    assert cgroup_memory(root, groups) == bytes_


@pytest.mark.parametrize(
    ("allowed", "quota", "usable"), [(8, None, 8), (8, 2.5, 2), (8, 0.5, 1), (2, 16.0, 2), (1, None, 1)]
)
def test_usable_cores(allowed: int, quota: float | None, usable: int) -> None:
    assert Cpu("x", 64, allowed, quota).usable == usable


def test_without_system_files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(machine, "PROC", tmp_path)
    monkeypatch.setattr(machine, "CGROUPS", tmp_path)
    assert machine.memory().available is None
    assert machine.memory().limit is None
    assert machine.cpu().quota is None


def test_this_machine() -> None:
    found = machine.cpu()
    assert found.model
    assert 1 <= found.usable <= found.allowed <= found.cores
