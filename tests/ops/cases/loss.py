"""Losses."""

from __future__ import annotations

from typing import Any

from tests.ops.cases.base import Make, away, case, integers, normal, positive

LABELLED: dict[str, tuple[Make, Make]] = {
    "rows": (normal(4, 3), integers(3, 4)),
    "one-sample": (normal(3), integers(3)),
    "places": (normal(2, 3, 2, 2), integers(3, 2, 2, 2)),
}
for _note, _operands in LABELLED.items():
    case(
        "softmax_cross_entropy", _note, *_operands,
        torch=lambda torch, s, t: torch.nn.functional.cross_entropy(s, t, reduction="none"),
    )  # fmt: skip
    for _reduction in ("mean", "sum"):
        case(
            "softmax_cross_entropy", f"{_note}-{_reduction}", *_operands, reduction=_reduction,
            torch=lambda torch, s, t, how=_reduction: torch.nn.functional.cross_entropy(s, t, reduction=how),
        )  # fmt: skip
    case(
        "nll_loss", _note, *_operands,
        torch=lambda torch, x, t: torch.nn.functional.nll_loss(x, t, reduction="none"),
    )  # fmt: skip


def shares(*shape: int) -> Make:
    """Numbers from 0.1 to 0.9, that is inside 0 to 1."""
    return lambda rng: rng.uniform(0.1, 0.9, shape)


def _binary(torch: Any, *operands: Any) -> Any:
    return torch.nn.functional.binary_cross_entropy(*operands, reduction="none")


def _with_logits(torch: Any, x: Any, target: Any) -> Any:
    return torch.nn.functional.binary_cross_entropy_with_logits(x, target, reduction="none")


def _weighted(torch: Any, x: Any, target: Any, pos_weight: Any) -> Any:
    """Put together: PyTorch's own has no derivative by the weights."""
    yes, no = (torch.nn.functional.logsigmoid(one) for one in (x, -x))
    return -(pos_weight * target * yes + (1 - target) * no)


case("binary_cross_entropy", "matrix", shares(3, 4), shares(3, 4), torch=_binary)
case("binary_cross_entropy", "number", shares(), shares(), torch=_binary)

# The loss is smooth at 0, but made of parts that are not.
case("binary_cross_entropy_with_logits", "matrix", away(3, 4), shares(3, 4), torch=_with_logits)
case("binary_cross_entropy_with_logits", "number", away(), shares(), torch=_with_logits)
for _note, _shape in {"weight-per-column": (4,), "one-weight": (1, 1), "weights": (3, 4)}.items():
    case("binary_cross_entropy_with_logits", _note, away(3, 4), shares(3, 4), positive(*_shape), torch=_weighted)

case("weighted_mean", "matrix", normal(3, 4), positive(3, 4), torch=lambda torch, x, w: x.sum() / w.sum())
case("weighted_mean", "number", normal(), positive(), torch=lambda torch, x, w: x.sum() / w.sum())
