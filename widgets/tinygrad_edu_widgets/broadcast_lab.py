"""Stretched axes forward, the sum over the reads in backward."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import traitlets

from tinygrad_edu.errors import ArgumentError, EduError
from tinygrad_edu.tensor import Tensor
from tinygrad_edu.views import broadcast
from tinygrad_edu.views.frame import Frame
from tinygrad_edu.views.given import flags, typed

from .base import EduWidget


class BroadcastLab(EduWidget, room=broadcast):
    """``BroadcastLab((3, 1), (1, 4))`` shows how two shapes broadcast, and how backward sums over repeated reads.

    ``a`` and ``b`` are each a shape, which is a tuple, or numbers: a tensor, an array or a list, of up to three axes
    (integers are converted to the default float, as gradients are floats). A list such as ``[3, 1]`` could be meant as
    either, and is refused: write ``(3, 1)`` or ``tensor([3, 1])``. ``op`` is ``+ - * /`` or PyTorch's name.

    The gradients are computed once the learner has committed to the shape of a's gradient, or at once with
    ``predict=False``; then shapes may be changed freely.

    Gestures: type a shape (Enter); choose the operation, a prediction, ∂c (arrow keys in the group); *Commit*; press a
    number to follow it (Enter); press a number of ∂c to change it; *Reset* (r) brings back the first shapes and asks
    again.
    """

    mirrors: ClassVar[dict[str, str]] = {"a": "a", "b": "b", "op": "op", "prediction": "draft"}
    a = traitlets.Tuple().tag(sync=True)  # its shape
    b = traitlets.Tuple().tag(sync=True)
    op = traitlets.Unicode("+").tag(sync=True)
    prediction = traitlets.Unicode(None, allow_none=True).tag(sync=True)  # of the shape of a's gradient
    committed = traitlets.Bool(False, read_only=True).tag(sync=True)

    def __init__(self, a: Any = (3, 1), b: Any = (1, 4), op: str = "+", *, predict: bool = True) -> None:
        flags("BroadcastLab", predict=predict)
        self._given = {"a": broadcast.operand(a, 10, "a"), "b": broadcast.operand(b, 1, "b")}
        self._first = broadcast.known_op(op)
        self._predict = predict
        self._start()
        super().__init__()

    def _start(self) -> None:
        self._tensors: dict[str, Tensor] = dict(self._given)
        self._mine: Any = None  # the learner's ∂c, once a number of it has been pressed
        self.state = broadcast.LabState(((), ()), op=self._first, locked=self._predict)
        self._read(self._first)

    def _read(self, op: str) -> None:
        """Run forward again, and backward too if nothing is hidden."""
        before = self.state
        found = broadcast.read(self._tensors["a"], self._tensors["b"], op)
        same = found.shapes == before.shapes
        self.state = dataclasses.replace(
            found, upstream=before.upstream, locked=before.locked, said=before.said if same else None,
            draft=before.draft if same else None, picked=before.picked if same else None,
        )  # fmt: skip
        self._reveal()

    def _reveal(self) -> None:
        if not self.state.locked:
            self.state = broadcast.reveal(self.state, self._tensors["a"], self._tensors["b"], self._mine)

    def frame(self) -> Frame:
        """The frame of the current state."""
        return broadcast.frame(self.state)

    def mirrored(self) -> dict[str, Any]:
        """Shapes, operation and prediction."""
        state = self.state
        said = state.draft if state.locked else state.said
        shapes = {name: tuple(self._tensors[name].shape) for name in ("a", "b")}
        return {**shapes, "op": state.op, "prediction": said, "committed": not state.locked}

    def data(self) -> Any:
        """Shapes, values and, once revealed, the gradients with their terms, as plain data."""
        return dataclasses.asdict(self.state)

    def _act(self, act: str, value: Any) -> None:
        self.state = dataclasses.replace(self.state, message="")
        if act in ("a", "b"):
            self._set_shape(act, broadcast.parse_shape(value))
        elif act == "op":
            self._read(broadcast.known_op(value))
        elif act == "upstream":
            self._set_upstream(value)
        elif act == "turn":
            self._turn(typed(act, value))
        elif act == "point":
            self.state = broadcast.point(self.state, str(value))
        elif act == "draft":
            self.state = broadcast.draft(self.state, value) if self.state.locked else self.state
        elif act == "commit":
            self._commit()
        elif act == "reset":
            self._start()
        else:
            raise KeyError(act)

    def _set_shape(self, name: str, shape: broadcast.Shape) -> None:
        given = self._given[name]
        fresh = given if tuple(given.shape) == shape else broadcast.operand(shape, 10 if name == "a" else 1)
        self._tensors[name] = fresh
        self._mine = None
        self._read(self.state.op)

    def _set_upstream(self, value: Any) -> None:
        if value not in broadcast.UPSTREAMS:
            raise ArgumentError(f"∂c {value!r}", "there is no such value", f"use {' or '.join(broadcast.UPSTREAMS)}")
        self.state = dataclasses.replace(self.state, upstream=value)
        self._reveal()

    def _turn(self, position: int) -> None:
        """Add one to a number of ∂c; after 3 comes 0."""
        if self.state.backward is None:
            return  # a message that was still under way
        if self._mine is None or self.state.upstream == "ones":
            self._mine = (
                broadcast.pattern(self.state)
                if self.state.upstream == "made up"
                else broadcast.pattern(self.state) * 0 + 1
            )
        self._mine[position] = (self._mine[position] + 1) % 4
        self.state = dataclasses.replace(self.state, upstream="made up")
        self._reveal()

    def _commit(self) -> None:
        if self.state.draft is None or not self.state.locked:
            return
        self.state = dataclasses.replace(self.state, locked=False, said=self.state.draft, draft=None)
        self._reveal()

    def _refuse(self, error: EduError) -> None:
        self.state = dataclasses.replace(self.state, message=error.sentence())
