"""Products of matrices."""

from __future__ import annotations

from tests.ops.cases.base import case, normal

MATRICES = {
    "matrices": ((2, 3), (3, 4)), "batched": ((2, 2, 3), (2, 3, 2)), "broadcast": ((2, 1, 2, 3), (3, 3, 2)),
    "matrix-batch": ((2, 3), (4, 3, 2)), "dot": ((3,), (3,)), "matrix-vector": ((2, 3), (3,)),
    "vector-matrix": ((3,), (3, 2)), "batch-vector": ((2, 2, 3), (3,)), "vector-batch": ((3,), (2, 3, 2)),
    "empty": ((0, 3), (3, 2)), "inner-empty": ((2, 0), (0, 3)),
}  # fmt: skip
for _note, (_x, _y) in MATRICES.items():
    case("matmul", _note, normal(*_x), normal(*_y), torch=lambda torch, x, y: torch.matmul(x, y))
for _note, _x in {"rows": (4, 3), "vector": (3,), "batch": (2, 2, 3), "empty": (0, 3)}.items():
    case(
        "linear", _note, normal(*_x), normal(2, 3), normal(2),
        torch=lambda torch, *xs: torch.nn.functional.linear(*xs),
    )  # fmt: skip
case("linear", "no-bias", normal(4, 3), normal(2, 3), torch=lambda torch, *xs: torch.nn.functional.linear(*xs))
for _equation, _x, _y in (
    ("ij,jk->ik", (2, 3), (3, 4)), ("bij,bjk->bki", (2, 2, 3), (2, 3, 2)), ("i,j->ij", (2,), (3,)),
    ("ij,ij->j", (2, 3), (2, 3)),
):  # fmt: skip
    case(
        "einsum", _equation, normal(*_x), normal(*_y), equation=_equation,
        torch=lambda torch, x, y, e=_equation: torch.einsum(e, x, y),
    )  # fmt: skip
