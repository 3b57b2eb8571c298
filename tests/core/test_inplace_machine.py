"""The same oracle, driven as a state machine: backward may come at any moment, and nothing of it may linger.

After every step values agree, and two of our tensors share memory exactly when the oracle's do.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests.core.test_inplace_programs import COUNT, KINDS, Slow, do, start
from tinygrad_edu.errors import InplaceError

NUMBER = st.integers(0, 23)


class Engines(RuleBasedStateMachine):
    """Our engine beside the oracle."""

    slow: list[Slow]
    ours: list[Any]
    leaves: list[Any]

    @initialize()
    def begin(self) -> None:
        """Three leaves and a constant."""
        self.slow, self.ours, self.leaves = start()

    @precondition(lambda self: len(self.ours) < 24)
    @rule(kind=st.sampled_from(KINDS), i=NUMBER, j=NUMBER, n=NUMBER)
    def step(self, kind: str, i: int, j: int, n: int) -> None:
        """An operation, a view, a write, with or without recording, or a detach."""
        do((kind, i, j, n), self.slow, self.ours)

    @rule(i=NUMBER)
    def backward(self, i: int) -> None:
        """Gradients of one tensor, now. Those that are wanted again later are still there."""
        at = i % len(self.ours)
        tensor, expected = self.ours[at], self.slow[at]
        if not tensor.requires_grad:
            return
        for leaf in self.leaves:
            leaf.grad = None
        try:
            (tensor * 1.0).sum().backward(retain_graph=True)
        except InplaceError:
            return  # a saved tensor was overwritten: refused, not wrong
        gradient = expected.slopes.reshape(-1, COUNT).sum(0)
        found = [np.zeros(leaf.numel()) if leaf.grad is None else np.ravel(leaf.grad.tolist()) for leaf in self.leaves]
        np.testing.assert_allclose(np.concatenate(found), gradient, rtol=1e-9, atol=1e-9)

    @invariant()
    def values_agree(self) -> None:
        """Values, and whether gradients are wanted."""
        for expected, tensor in zip(self.slow, self.ours, strict=True):
            np.testing.assert_allclose(tensor.tolist(), expected.values, rtol=1e-9)
            assert tensor.requires_grad == expected.history.tracked

    @invariant()
    def memory_is_shared_as_it_should_be(self) -> None:
        """A write to one is seen by the other, or not."""
        for i, expected in enumerate(self.slow):
            for other in range(i):
                shared = expected.memory is self.slow[other].memory
                overlap = shared and bool(np.intersect1d(expected.where, self.slow[other].where).size)
                # A reduction or a copy of no elements more than a NumPy scalar owns no memory to share.
                arrays = self.ours[i].array, self.ours[other].array
                found = all(hasattr(a, "__setitem__") for a in arrays) and np.shares_memory(*arrays)
                assert found == overlap or (shared and not found and self.ours[i].array is self.ours[other].array)


TestEngines = Engines.TestCase
TestEngines.settings = settings(max_examples=60, stateful_step_count=25, deadline=None, derandomize=True)
