"""Declaring an operation: what is read from its signature, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tinygrad_edu.core.op import OPS, Op, Save


@pytest.fixture(autouse=True)
def registry_restored() -> Iterator[None]:
    before = dict(OPS)
    yield
    OPS.clear()
    OPS.update(before)


def test_the_signature_is_read() -> None:
    class Scaled(Op, name="scaled_for_test"):
        """Example."""

        saves = ("x if y", "y.shape", "out", "scale")

        @staticmethod
        def forward(xp: Any, x: Any, y: Any = None, *, scale: float = 2.0, bias: Any) -> Any:
            return x

    assert OPS["scaled_for_test"] is Scaled
    assert Scaled.operands == ("x", "y")
    assert Scaled.optional == {"y"}
    assert not Scaled.variadic
    assert list(Scaled.params) == ["scale", "bias"]
    assert Scaled.save_plan == (
        Save("x", "", "y"), Save("y", "shape", ""), Save("out", "", ""), Save("scale", "", ""),
    )  # fmt: skip


def test_a_sequence_of_operands() -> None:
    class Joined(Op, name="joined_for_test"):
        """Example."""

        saves = ("xs.shape",)

        @staticmethod
        def forward(xp: Any, *xs: Any, dim: int = 0) -> Any:
            return xs[0]

    assert Joined.variadic
    assert Joined.operands == ("xs",)


@pytest.mark.parametrize(
    ("text", "parts"), [("x", ("x", "", "")), ("x.dtype", ("x", "dtype", "")), (" x.shape if y ", ("x", "shape", "y"))]
)
def test_what_saves_may_say(text: str, parts: tuple[str, str, str]) -> None:
    assert Save.parse(text) == Save(*parts)


@pytest.mark.parametrize("text", ["z", "x.strides", "x if z", "cached"])
def test_saving_what_is_not_there(text: str) -> None:
    with pytest.raises(TypeError, match=r"Wrong.saves: .* names nothing in forward's signature"):

        class Wrong(Op):
            saves = (text,)

            @staticmethod
            def forward(xp: Any, x: Any) -> Any:
                return x


def test_a_name_is_given_once() -> None:
    with pytest.raises(TypeError, match="an operation called 'mul' exists already"):

        class Again(Op, name="mul"):
            pass


def test_a_cache_must_say_what_it_is() -> None:
    with pytest.raises(TypeError, match=r"Kept\.caches is 'sometimes': say whether it is 'constant' or 'recomputed'"):

        class Kept(Op):
            caches = "sometimes"


def test_the_base_computes_nothing() -> None:
    for method in (Op.forward, Op.backward):
        with pytest.raises(NotImplementedError):
            method(None, None, None)
    assert Op.hint([(2,)], {}) is None


@pytest.mark.parametrize("op", OPS.values(), ids=OPS)
def test_every_op_is_documented(op: type[Op]) -> None:
    assert op.__doc__, "a learner reads this first"
    assert set(op.optional) <= set(op.operands)
