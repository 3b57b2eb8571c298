"""Locks: those of `threading`, without the rest of that module, which takes long to load."""

from _thread import RLock
from _thread import _local as local
from _thread import allocate_lock as Lock

__all__ = ["Lock", "RLock", "local"]
