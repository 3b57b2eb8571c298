"""A profile as a file for Perfetto, chrome://tracing and TensorBoard: the Trace Event Format, in JSON."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterable, Iterator
from typing import Any

from .events import Event

_CATEGORIES = {
    "op": "cpu_op", "backward": "cpu_op", "module": "python_function", "step": "user_annotation",
    "range": "user_annotation",
}  # fmt: skip


def written(events: Iterable[Event], began: int, metadata: dict[str, Any]) -> str:
    """The text of the file. ``began`` is the time of the first nanosecond since 1970."""
    process, thread = os.getpid(), threading.get_ident() % 2**31
    entries: list[dict[str, Any]] = [
        {"ph": "M", "name": "process_name", "pid": process, "tid": 0, "args": {"name": "python"}},
        {"ph": "M", "name": "thread_name", "pid": process, "tid": thread, "args": {"name": "program"}},
    ]
    made: set[int] = set()
    for event in walked(events):
        place = {"pid": process, "tid": thread}
        entries.append({
            "ph": "X", "cat": _CATEGORIES[event.kind], "name": event.name, **place, "ts": event.start / 1e3,
            "dur": event.total / 1e3, "args": _arguments(event),
        })  # fmt: skip
        if event.node and event.kind == "op":
            made.add(event.node)
            entries.append(_arrow("s", event, place))
        elif event.node in made:
            entries.append(_arrow("f", event, place))
    page = {"schemaVersion": 1, "displayTimeUnit": "ms", "baseTimeNanoseconds": began, **metadata}
    return json.dumps({**page, "traceEvents": entries})


def walked(events: Iterable[Event]) -> Iterator[Event]:
    """All events, each before those inside it."""
    for event in events:
        yield event
        yield from walked(event.inside)


def _arguments(event: Event) -> dict[str, Any]:
    found = {
        "Input Dims": [list(shape) for shape in event.shapes], "Module": event.module, "Source": event.where,
        "Bytes": event.memory, "FLOPs": event.flops, "Sequence number": event.node,
    }  # fmt: skip
    return {name: value for name, value in found.items() if value}


def _arrow(end: str, event: Event, place: dict[str, int]) -> dict[str, Any]:
    """One end of the arrow from an operation to its backward."""
    entry = {"ph": end, "cat": "fwdbwd", "name": "fwdbwd", "id": event.node, **place, "ts": event.start / 1e3}
    return {**entry, "bp": "e"} if end == "f" else entry
