"""Padding."""

from __future__ import annotations

from tests.ops.cases.base import case, normal

for _note, _edges, _value in (
    ("zeros", ((0, 0), (2, 1)), 0.0), ("ones", ((1, 0), (0, 2)), 1.0), ("cut", ((-1, 0), (2, -3)), 0.5),
    ("all-cut", ((0, 1), (-2, -2)), 0.0),
):  # fmt: skip
    case(
        "pad", _note, normal(3, 4), edges=_edges, value=_value,
        torch=lambda torch, x, edges=_edges, value=_value: torch.nn.functional.pad(
            x, (*edges[1], *edges[0]), value=value
        ),
    )  # fmt: skip
case(
    "pad_within", "mirror", normal(2, 3), runs=(None, ((2, -1, 2), (0, 1, 3))),
    torch=lambda torch, x: torch.nn.functional.pad(x, (2, 0), mode="reflect"),
)  # fmt: skip
case(
    "pad_within", "edges", normal(1, 2, 3), runs=(None, ((0, 0, 2), (1, 1, 1)), ((0, 1, 3), (2, 0, 2))),
    torch=lambda torch, x: torch.nn.functional.pad(x, (0, 2, 1, 0), mode="replicate"),
)  # fmt: skip
