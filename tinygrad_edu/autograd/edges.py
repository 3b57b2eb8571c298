"""The graph as users walk it: ``grad_fn.next_functions`` and ``grad_fn.name()``, under PyTorch's names.

The core has no use for them, so they are added to its nodes from here.
"""

from __future__ import annotations

from typing import Any

from ..core.graph import Leaf, Node


def name(self: Node) -> str:
    """What the node does: the name of its operation, or ``AccumulateGrad`` where a gradient arrives."""
    return "AccumulateGrad" if isinstance(self, Leaf) else str(self.op.name)


def _next_functions(self: Node) -> tuple[tuple[Node | None, int], ...]:
    """Where gradients go from here: for each operand its node, or None, and the number of that node's result.

    Nodes have one result here, so the number is always 0.
    """
    return tuple((parent, 0) for parent in self.parents)


def _variable(self: Leaf) -> Any:
    """The tensor whose gradient this is; None once it is gone."""
    return self.tensor()


additions: tuple[tuple[type[Node], str, Any], ...] = (
    (Node, "name", name), (Node, "next_functions", property(_next_functions)), (Leaf, "variable", property(_variable)),
)  # fmt: skip
for _kind, _name, _value in additions:
    setattr(_kind, _name, _value)
