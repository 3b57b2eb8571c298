"""The machines that can be simulated: one table of constants for each, every one with its source.

Times are nanoseconds, rates are per second, sizes are bytes. *Data sheet* figures are the vendor's. What no data sheet
says is *assumed*: a round figure of the right order. Lessons hang on some of those, so each can be changed.
"""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

from ...common.wording import suggestion
from ...errors import ArgumentError


class Constant(NamedTuple):
    """One figure of a machine."""

    value: float
    unit: str
    source: str


_ASSUMED = "assumed"
_COMMON = {
    "launch": Constant(5_000, "ns", f"{_ASSUMED}: what an eager framework spends in Python and in the driver per call"),
    "order": Constant(
        1_500, "ns", f"{_ASSUMED}: recording an event, letting a stream wait for one, entering a stream, leaving it"
    ),
    "floor": Constant(2_500, "ns", f"{_ASSUMED}: no kernel is shorter"),
    "copy_launch": Constant(8_000, "ns", f"{_ASSUMED}: what one copy costs, however few bytes it moves"),
    "hop": Constant(
        2_000, "ns", f"{_ASSUMED}: what each step of an all-reduce costs, from one device to the next, beside its bytes"
    ),
    "pin": Constant(
        1_300,
        "ns for a page of 4,096 bytes",
        "recorded on the hosts of an H100 and an H200 (CuPy 14): locking it in place",
    ),
    "host_copy": Constant(10e9, "bytes/s", f"{_ASSUMED}: from one place of the host's memory to another"),
    "reserve": Constant(100_000, "ns", f"{_ASSUMED}: asking the driver for a segment; it waits for the device"),
    "random": Constant(4, "times the bytes", f"{_ASSUMED}: reading or writing elements in no order"),
    "tile": Constant(64, "rows and columns", f"{_ASSUMED}: products of matrices are computed in tiles, always whole"),
}  # fmt: skip


def _preset(sheet: str, sheet_figures: dict[str, tuple[float, str]], own: dict[str, tuple[float, str]]) -> Any:
    listed = {name: Constant(value, unit, f"data sheet: {sheet}") for name, (value, unit) in sheet_figures.items()}
    guessed = {name: Constant(value, unit, _ASSUMED) for name, (value, unit) in own.items()}
    return {**_COMMON, **listed, **guessed}


_FLOPS, _BYTES, _BYTES_A_SECOND = "FLOP/s", "bytes", "bytes/s"

PRESETS: dict[str, dict[str, Constant]] = {
    "T4": _preset(
        "NVIDIA T4 (2018)",
        {
            "float32": (8.1e12, _FLOPS), "float16": (65e12, _FLOPS), "int8": (130e12, _FLOPS),
            "bandwidth": (320e9, _BYTES_A_SECOND), "memory": (16e9, _BYTES), "processors": (40, "multiprocessors"),
        },
        {
            "float64": (0.25e12, _FLOPS), "tf32": (8.1e12, _FLOPS), "bfloat16": (8.1e12, _FLOPS),
            "threads": (1024, "threads on a multiprocessor"),
            "link": (12e9, _BYTES_A_SECOND), "pinned": (12e9, _BYTES_A_SECOND), "pageable": (5e9, _BYTES_A_SECOND),
        },
    ),
    "A100": _preset(
        "NVIDIA A100 80GB SXM (2021)",
        {
            "float64": (19.5e12, _FLOPS), "float32": (19.5e12, _FLOPS), "tf32": (156e12, _FLOPS),
            "float16": (312e12, _FLOPS), "bfloat16": (312e12, _FLOPS), "int8": (624e12, _FLOPS),
            "bandwidth": (2039e9, _BYTES_A_SECOND), "memory": (80e9, _BYTES), "processors": (108, "multiprocessors"),
        },
        {
            "threads": (2048, "threads on a multiprocessor"),
            "link": (300e9, _BYTES_A_SECOND), "pinned": (24e9, _BYTES_A_SECOND), "pageable": (8e9, _BYTES_A_SECOND),
        },
    ),
    "H100": _preset(
        "NVIDIA H100 SXM (2023), dense rates",
        {
            "float64": (67e12, _FLOPS), "float32": (67e12, _FLOPS), "tf32": (494e12, _FLOPS),
            "float16": (989e12, _FLOPS), "bfloat16": (989e12, _FLOPS), "int8": (1979e12, _FLOPS),
            "bandwidth": (3350e9, _BYTES_A_SECOND), "memory": (80e9, _BYTES), "processors": (132, "multiprocessors"),
        },
        {
            "threads": (2048, "threads on a multiprocessor"),
            "link": (450e9, _BYTES_A_SECOND), "pinned": (50e9, _BYTES_A_SECOND), "pageable": (10e9, _BYTES_A_SECOND),
        },
    ),
    "H200": _preset(
        "NVIDIA H200 SXM (2024), dense rates",
        {
            "float64": (67e12, _FLOPS), "float32": (67e12, _FLOPS), "tf32": (494e12, _FLOPS),
            "float16": (989e12, _FLOPS), "bfloat16": (989e12, _FLOPS), "int8": (1979e12, _FLOPS),
            "bandwidth": (4800e9, _BYTES_A_SECOND), "memory": (141e9, _BYTES), "processors": (132, "multiprocessors"),
        },
        {
            "threads": (2048, "threads on a multiprocessor"),
            "link": (450e9, _BYTES_A_SECOND), "pinned": (50e9, _BYTES_A_SECOND), "pageable": (10e9, _BYTES_A_SECOND),
        },
    ),
    "laptop": _preset(
        "NVIDIA GeForce RTX 4060 Laptop GPU (2023)",
        {
            "memory": (8e9, _BYTES), "bandwidth": (256e9, _BYTES_A_SECOND), "processors": (24, "multiprocessors"),
        },
        {
            # Dense rates for sums in float32: 1, 2, 2 and 8 times that of float32, as in NVIDIA's Ada white paper
            "float64": (0.18e12, _FLOPS), "float32": (11.6e12, _FLOPS), "tf32": (11.6e12, _FLOPS),
            "float16": (23.2e12, _FLOPS), "bfloat16": (23.2e12, _FLOPS), "int8": (92.8e12, _FLOPS),
            "threads": (1536, "threads on a multiprocessor"),
            "link": (12e9, _BYTES_A_SECOND), "pinned": (12e9, _BYTES_A_SECOND), "pageable": (6e9, _BYTES_A_SECOND),
        },
    ),
}  # fmt: skip


class Machine:
    """The constants in force: those of a preset, and what was changed.

    Raises `ArgumentError` for an unknown preset or constant, and for a value that is not a positive number.
    """

    def __init__(self, preset: str = "T4", **changes: float) -> None:
        if preset not in PRESETS:
            raise ArgumentError(f"preset {preset!r}", "no such machine is known", suggestion(str(preset), PRESETS))
        self.preset, self.table = preset, dict(PRESETS[preset])
        for name, value in changes.items():
            if name not in self.table:
                why = "machines have no such constant"
                raise ArgumentError(f"{name}={value!r}", why, suggestion(name, self.table))
            least = 0.0 if self.table[name].unit.startswith("ns") else sys.float_info.min  # only times may be 0
            number = isinstance(value, (int, float)) and not isinstance(value, bool)
            if not number or not least <= value < float("inf"):
                raise ArgumentError(f"{name}={value!r}", "it must be a positive number", "give one")
            self.table[name] = Constant(value, self.table[name].unit, "set by the program")
        self.times: dict[Any, tuple[int, float]] = {}  # of kernels that were met

    def __getitem__(self, name: str) -> float:
        return self.table[name].value

    def changed(self, **changes: float) -> Machine:
        """The same machine with some constants changed."""
        return Machine(self.preset, **{**self.own, **changes})

    @property
    def own(self) -> dict[str, float]:
        """The constants that the program has set."""
        return {name: one.value for name, one in self.table.items() if one.source == "set by the program"}

    @property
    def name(self) -> str:
        """The preset, and what was changed: ``T4 with launch=50000``."""
        own = ", ".join(f"{name}={value:g}" for name, value in self.own.items())
        return f"{self.preset} with {own}" if own else self.preset

    def __repr__(self) -> str:
        return f"Machine({self.preset!r}{''.join(f', {name}={value:g}' for name, value in self.own.items())})"
