"""Comparisons and other questions about each element. Answers are bools, and have no gradient."""

from __future__ import annotations

from typing import Any

from ..core.dispatch import caller
from ..core.op import Op

# mypy: disable-error-code="override"


class Compare:
    """What comparisons share: the operands meet in one dtype, the result is bool and has no gradient."""

    differentiable = False


class Eq(Compare, Op):
    """``x == y``."""

    @staticmethod
    def forward(xp: Any, x: Any, y: Any) -> Any:
        return x == y


class Ne(Compare, Op):
    """``x != y``."""

    @staticmethod
    def forward(xp: Any, x: Any, y: Any) -> Any:
        return x != y


class Lt(Compare, Op):
    """``x < y``."""

    @staticmethod
    def forward(xp: Any, x: Any, y: Any) -> Any:
        return x < y


class Le(Compare, Op):
    """``x <= y``."""

    @staticmethod
    def forward(xp: Any, x: Any, y: Any) -> Any:
        return x <= y


class Gt(Compare, Op):
    """``x > y``."""

    @staticmethod
    def forward(xp: Any, x: Any, y: Any) -> Any:
        return x > y


class Ge(Compare, Op):
    """``x >= y``."""

    @staticmethod
    def forward(xp: Any, x: Any, y: Any) -> Any:
        return x >= y


eq, ne, lt, le, gt, ge = caller(Eq), caller(Ne), caller(Lt), caller(Le), caller(Gt), caller(Ge)
