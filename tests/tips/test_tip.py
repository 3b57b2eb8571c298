"""What a tip says of itself: its text as a learner reads it, its parameters, its guides."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support import teaches
from tests.tips.made_up import TIP, slow
from tinygrad_edu import Tensor, no_grad
from tinygrad_edu.tips import Choice, Claim, Number, Over, Question, Size, Source, TipError, source_of
from tinygrad_edu.tips.words import claim_text, claimed, count_text, fact_text


def hinted(x: list[int], *, y: int = 3) -> int:
    """With a docstring."""
    # and a comment
    total: int = sum(x)
    return total + y


def test_a_function_is_read_without_hints_and_docstring() -> None:
    assert source_of(slow) == 'def slow(x, kind):\n    return x * 2 + x if kind == "plain" else x * 3'
    assert source_of(slow, "mine").startswith("def mine(x, kind):\n")
    assert source_of(hinted).splitlines() == [
        "def hinted(x, *, y=3):", "    # and a comment", "    total = sum(x)", "    return total + y"
    ]  # fmt: skip


@no_grad()
def decorated(x: Tensor) -> Tensor:
    # why
    return x * 2


def test_what_changes_how_it_runs_is_read_too() -> None:
    """A decorator left out made a slow way look as good as the fast one."""
    assert source_of(decorated) == "@no_grad()\ndef decorated(x):\n    # why\n    return x * 2"
    assert source_of(decorated, "A").splitlines()[1] == "def A(x):"


def test_what_is_read_is_what_runs() -> None:
    names: dict[str, object] = {}
    exec(source_of(slow, "mine"), names)
    assert names["mine"](2, "plain") == slow(2, "plain") == 6  # type: ignore[operator, arg-type]


def test_parameters() -> None:
    assert TIP.defaults == {"n": 100, "kind": "plain", "device": "cpu"}
    assert TIP.setting({}) == TIP.defaults
    assert [one.name for one in TIP.every_parameter] == ["n", "kind", "device"]
    assert replace(TIP, devices=("cuda", "cpu")).defaults["device"] == "cuda"


@pytest.mark.parametrize(
    ("size", "stops"),
    [
        (Size("n", 100, 1, 1000, ""), (1, 2, 4, 8, 16, 32, 64, 100, 128, 256, 512, 1000)),
        (Size("n", 8, 8, 8, ""), (8,)),
        (Size("n", 16, 8, 32, ""), (8, 16, 32)),
        (Size("n", 5, 3, 6, ""), (3, 4, 5, 6)),
        (Size("n", 0, 0, 1, ""), (0, 1)),
    ],
)
def test_a_slider_stops_at_powers_of_two(size: Size, stops: tuple[int, ...]) -> None:
    assert size.stops == stops
    assert all(size.parse(str(stop)) == stop for stop in stops)


def test_a_choice() -> None:
    choice = Choice("order", "rows", ("rows", "columns"), "which come first")
    assert choice.parse("columns") == "columns"
    with teaches(TipError, "order=Rows", "it is which come first", "use one of: rows, columns"):
        choice.parse("Rows")


def test_guides_are_named_once() -> None:
    sources = tuple(Source(letter, "", "") for letter in "RGR")
    assert replace(TIP, sources=sources).guides == ("R", "G")


@pytest.mark.parametrize(
    ("fact", "value", "text"),
    [
        ("allocated", 4_194_304, "4.19 MB"),
        ("stride", 4, "4 bytes"),
        ("calls", 1024, "1024"),
        ("nodes", 12_288, "12\u2009288"),
        ("shares", True, "yes"),
        ("changes", False, "no"),
        ("error", "", "none"),
        ("error", "it failed", "it failed"),
    ],
)
def test_counts_in_words(fact: str, value: object, text: str) -> None:
    assert count_text(fact, value) == text


def test_claims_in_words() -> None:
    assert (fact_text("nodes"), fact_text("time")) == ("graph nodes", "time")
    assert claim_text(Claim("peak"), 2000, 0) == "at the peak: A 2.00 kB, B 0 bytes"
    assert claim_text(Claim("peak"), 2000, 0, ("A", "C")) == "at the peak: A 2.00 kB, C 0 bytes"
    assert claim_text(Claim("calls", at={"n": 16}), 2, 1) == "operations, with n = 16: A 2, B 1"
    assert claim_text(Claim("calls", when="first"), 2, 1) == "operations in the first call: A 2, B 1"
    assert claim_text(Claim("live", when="after backward"), 0, None) == "alive after backward: A 0 bytes, B nothing"


@pytest.mark.parametrize(
    "claim, words",
    [
        (Claim("time"), "B less"),
        (Claim("allocated", fast=0), "B 0 bytes"),
        (Claim("copies", fast=0, slow=1), "A 1, B 0"),
        (Claim("calls"), "A more than B"),
        (Claim("calls", times=4), "A at least 4× B"),
        (Claim("held", no_more=True), "B no more"),
        (Claim("shares", fast=True, slow=False), "A no, B yes"),
        (Claim("calls", same=True), "A the same as B"),
        (Claim("calls", price=True), "B more than A"),
        (Claim("time", price=True), "A less"),
        (Claim("calls", times=2, price=True), "B at least 2× A"),
        (Claim("calls", over=Over("n", (1, 2, 3, 4, 5), slow="linear", fast="flat")), "A linear, B flat"),
        (Claim("time", over=Over("n", (1, 2, 3, 4, 5), crosses=True)), "they cross"),
    ],
)
def test_a_claim_in_words(claim: Claim, words: str) -> None:
    assert claimed(claim) == words


# The question -----------------------------------------------------------------------------------------------------


BUFFERS = Question("How many?", Number(0, 12, "buffers", within=0.25), lambda result: 6.0, 3.0, "It makes two each.")


def test_a_number_is_predicted() -> None:
    assert BUFFERS.offered == ("a number from 0 to 12 buffers; within 25% is right",)
    assert BUFFERS.parse("6") == BUFFERS.parse(6) == BUFFERS.parse("6,0") == 6.0
    assert [BUFFERS.right(said, 6.0) for said in (None, 4.4, 4.5, 6.0, 7.5, 7.6)] == [
        False,
        False,
        True,
        True,
        True,
        False,
    ]
    assert (BUFFERS.said(6.0), BUFFERS.said(None)) == ("6 buffers", "")
    exact = replace(BUFFERS, choices=Number(-1, 1))
    assert exact.offered == ("a number from −1 to 1",)
    assert exact.right(0.5, 0.5) and not exact.right(0.5, 0.51)
    assert exact.parse("−0.5") == -0.5


@pytest.mark.parametrize(
    ("given", "why"),
    [("many", "it is not a number"), (None, "it is not a number"), ({}, "it is not a number"),
     ("13", "the question is about other numbers"), ("nan", "the question is about other numbers")],
)  # fmt: skip
def test_what_is_no_number_of_the_question(given: object, why: str) -> None:
    with pytest.raises(TipError, match=why):
        BUFFERS.parse(given)


def test_a_choice_is_predicted() -> None:
    question = TIP.question
    assert question.offered == ("one", "two")
    assert question.parse("one") == question.said("one") == "one"
    assert question.right("one", "one") and not question.right("two", "one") and not question.right(None, "one")
    for given in ("three", 1, None):
        with pytest.raises(TipError, match="it is not one of the choices"):
            question.parse(given)
