"""RetraceLedger as data, words and a picture: what the ledger said after each call, and predictions."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tinygrad_edu as tg
from tinygrad_edu.compiler.api import LIMIT
from tinygrad_edu.errors import ArgumentError, IndexRangeError
from tinygrad_edu.views import ledger
from tinygrad_edu.views.ledger.model import FILL, HIT, MISS, MOST, missed, right

PROGRAMS = {
    "batches with a remainder": (2, 1), "sentences": (5, 2), "a rate that falls": (6, 1), "a switch": (7, 2),
    "a dtype that varies": (2, 1),
}  # fmt: skip


@pytest.mark.parametrize("name", ledger.SERIES)
def test_each_series_needs_fewer_programs_with_its_cure(name: str) -> None:
    state = ledger.chosen(name)
    assert tuple(sum(one.made for one in part) for part in (state.records, state.healed)) == PROGRAMS[name]
    assert len(state.records) == len(state.healed) <= MOST


@pytest.mark.parametrize("name", ["batches with a remainder", "sentences", "a rate that falls"])
def test_the_cure_changes_no_result(name: str) -> None:
    one = ledger.SERIES[name]
    for plain, cured in zip(one.calls(), one.cured(), strict=True):
        assert one.function(*plain).item() == pytest.approx(one.function(*cured).item(), rel=1e-6)


def test_a_cure_of_a_switch_gives_what_was_given() -> None:
    one = ledger.SERIES["a switch"]
    for plain, cured in zip(one.calls(), one.cured(), strict=True):
        assert one.function(*plain).item() == one.function(*cured).item()


@pytest.mark.parametrize("name", ledger.SERIES)
def test_with_a_cure_the_calls_begin_again_and_those_to_come_are_hidden(name: str) -> None:
    state = ledger.predict(ledger.go(ledger.chosen(name), 3), HIT)
    for changed in (ledger.cure(state), ledger.cure(ledger.cure(state))):
        assert changed.at == 1 and not changed.said
        assert f"{len(changed.all) - 1} calls still to come" in ledger.text(changed)
        assert "all calls" not in ledger.why(ledger.go(changed, 2)), "what it comes to is told after the last"
    assert "all calls" in ledger.why(ledger.go(ledger.cure(state), MOST)) or name == "sentences"


def test_the_price_is_counted() -> None:
    one = ledger.SERIES["batches with a remainder"]
    rows = [(len(a[0]), len(b[0])) for a, b in zip(one.calls(), one.cured(), strict=True)]
    assert one.price == f"{sum(b - a for a, b in rows)} of {sum(b for _, b in rows)} rows are zeros"


def test_other_lengths_are_filled_in_from_two_recordings() -> None:
    state = ledger.go(ledger.cure(ledger.chosen("sentences")), MOST)
    assert [(one.key, one.made, "filled in" in one.reason) for one in state.shown] == [
        (1, True, False), (2, True, False), (2, False, True), (2, False, True), (1, False, False), (2, False, True),
        (2, False, False), (2, False, False),
    ]  # fmt: skip
    assert "program 2 is there, for another length: filled in, from those for 5 and 9" in ledger.text(state)
    assert "Two recordings tell" in ledger.why(state) and "2 programs made" in ledger.describe(state)
    timed = dataclasses.replace(state, timed=True)
    assert re.search(r"; to fill in a length takes .* \(.*\) in 3 calls", ledger.text(timed))


def test_that_a_length_is_filled_in_can_be_predicted_where_it_can_be() -> None:
    state = ledger.go(ledger.cure(ledger.chosen("sentences")), 2)
    assert ">A length is filled in<" in ledger.frame(state).html()
    for guess in (FILL, HIT, FILL):
        state = ledger.predict(state, guess)
    assert right(state) == (1, 3), "the third call; the fourth is filled in as well, the fifth is a known one"
    plain = ledger.chosen("sentences")
    assert ">A length is filled in<" not in ledger.frame(plain).html()
    with pytest.raises(IndexRangeError, match="it is not offered"):
        ledger.predict(plain, FILL)


def test_times_come_with_spread_and_hardware() -> None:
    state = dataclasses.replace(ledger.go(ledger.chosen("batches with a remainder"), MOST), timed=True)
    pattern = r"A call that records takes .* \(.*–.*\) in 2 calls, one that does not .* \(.*–.*\) in 6 calls, \d+ times"
    assert re.search(pattern, ledger.text(state)), ledger.text(state)
    first = ledger.text(ledger.go(state, 2))
    assert re.search(r"takes [^(]* in 1 call, one that does not [^(]* in 1 call, ", first), "no later call is counted"
    told = ledger.frame(state).conditions
    assert "cores" in told and told.count("NumPy") == 1 and "each call timed once" in told and "gc o" in told
    assert "cores" not in ledger.frame(dataclasses.replace(state, timed=False)).conditions


@given(st.lists(st.integers(1, 4), min_size=1, max_size=MOST))
@settings(max_examples=25, deadline=None)
def test_a_call_is_recorded_when_its_shape_is_new(lengths: list[int]) -> None:
    records = ledger.play(lambda x: x * 2, [(tg.ones(n),) for n in lengths])
    assert [one.made for one in records] == [n not in lengths[:i] for i, n in enumerate(lengths)]
    order = list(dict.fromkeys(lengths))
    assert [one.key for one in records] == [order.index(n) + 1 for n in lengths]


def test_after_the_limit_the_function_runs_as_it_is_written() -> None:
    records = ledger.play(lambda x: x * 2, [(tg.ones(n),) for n in range(1, LIMIT + 4)])
    assert [one.key for one in records] == [*range(1, LIMIT + 1), 0, 0, 0]
    assert all(missed(one) for one in records) and f"{LIMIT} programs were made already" in records[-1].reason
    state = ledger.LedgerState("", records, at=len(records))
    assert ledger.why(state).startswith(f"A function gets {LIMIT} programs.")
    assert "runs as it is written" in ledger.text(state)
    back = ledger.play(lambda x: x * 2, [(tg.ones(n),) for n in (*range(1, LIMIT + 3), 1)])
    assert [one.key for one in back[-2:]] == [0, 1], "the programs that there are still serve"


def test_a_branch_is_no_matter_of_how_many_programs_there_are() -> None:
    records = ledger.play(lambda x: x * 2 if x.sum().item() > 0 else x, [(tg.ones(2),)] * 2)
    why = ledger.why(ledger.LedgerState("", records, at=2))
    assert "There can be no program" in why and "programs." not in why


def test_predictions_are_kept_and_counted() -> None:
    state = ledger.chosen("batches with a remainder")
    for guess in (HIT, MISS, HIT):
        state = ledger.predict(state, guess)
    assert state.at == 4 and right(state) == (1, 3), "the second, the third and the fourth call"
    assert "you said: it is recorded" in ledger.text(state)
    with pytest.raises(IndexRangeError):
        ledger.predict(state, "perhaps")
    whole = ledger.go(state, 99)
    assert whole.at == len(whole.records) and ledger.predict(whole, HIT) is whole
    assert ledger.go(state, -3).at == 1


def test_what_is_to_come_is_not_told() -> None:
    state = ledger.chosen("batches with a remainder")
    assert "5 calls" not in ledger.text(state) and "f32[8,4]" not in ledger.text(state)
    hidden = ledger.draw(state, 812).canvas.text_items
    assert "f32[8,4], 0.1" not in hidden and "7 calls still to come" in ledger.text(state)


def test_every_value_of_the_picture_is_in_the_text() -> None:
    for name in ledger.SERIES:
        state = ledger.go(ledger.chosen(name), MOST)
        said = ledger.text(state)
        for record in state.records:
            assert f"({', '.join(record.arguments)})" in said
        assert f"{sum(one.made for one in state.records)} programs made" in said


def test_times_are_left_out_of_a_saved_notebook() -> None:
    state = dataclasses.replace(ledger.go(ledger.chosen("sentences"), MOST), timed=True)
    frame = ledger.frame(state)
    assert "A call that records takes" in frame.text and "takes" not in frame.summary and frame.badge == "measured"
    rates = dataclasses.replace(ledger.go(ledger.chosen("a rate that falls"), MOST), timed=True)
    assert re.search(r"A call that records takes .* in 6 calls: medians", ledger.text(rates))


def test_numbers_in_reasons_read_as_they_were_given() -> None:
    records = ledger.chosen("a rate that falls").records
    assert records[1].reason == "argument 1 was 0.1, and is 0.05"


def test_a_ledger_alone() -> None:
    f = tg.compile(lambda x: x * 2)
    for n in (2, 2, 3):
        f(tg.ones(n))
    state = ledger.known(f)
    assert [(one.signature, one.calls) for one in state.programs] == [("float32[2]", 2), ("float32[3]", 1)]
    assert "not in which order" in ledger.text(state) and "2 calls" in ledger.draw(state, 446).canvas.text_items


@pytest.mark.parametrize(
    ("function", "calls"), [(3, [(1,)]), (abs, []), (abs, [1]), (abs, "calls"), (abs, [(1,)] * (MOST + 1))]
)
def test_what_cannot_be_called_is_refused(function: Any, calls: Any) -> None:
    with pytest.raises(ArgumentError):
        ledger.read(function, calls)


def test_what_has_no_ledger_is_refused() -> None:
    for function in (lambda x: x, tg.compile(lambda x: x)):
        with pytest.raises(ArgumentError):
            ledger.known(function)
    with pytest.raises(IndexRangeError):
        ledger.chosen("none")
