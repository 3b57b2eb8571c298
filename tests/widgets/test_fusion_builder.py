"""FusionBuilder: seams pressed, other programs, the compiler's choice, times, and what is refused."""

from __future__ import annotations

import pytest
from tinygrad_edu_widgets import FusionBuilder

import tinygrad_edu as tg
from tinygrad_edu.compiler import TraceError
from tinygrad_edu.errors import ArgumentError

TIP = "Some stay open, and say why."


def test_seams_are_closed_and_opened() -> None:
    widget = FusionBuilder()
    widget.act("press", 0)
    assert widget.data()["closed"] == [0] and "kernel 1" in widget.text()
    widget.act("press", "0")
    assert widget.data()["closed"] == []
    widget.act("everything")
    assert widget.data()["costs"]["yours"]["launches"] == 1
    widget.act("everything")
    assert widget.data()["closed"] == []
    widget.act("press", 40)
    assert "there is no such one" in widget._notice


def test_a_seam_that_stays_open_says_why() -> None:
    widget = FusionBuilder()
    widget.act("example", "softmax")
    assert "stays open" not in widget.text() + widget.html.replace(TIP, "") and "needs many" not in widget.html
    widget.act("press", 0)
    assert widget._notice == "" and widget.data()["closed"] == []
    assert "seam 1: stays open, as amax needs many numbers" in widget.text() and "seam 2: open" in widget.text()
    assert '<p class="edu-status" role="status">This seam stays open: amax needs many numbers' in widget.html
    assert 'aria-disabled="true"' in widget.html, "it keeps the focus, and says that it cannot be closed"
    widget.act("press", 1)
    assert "This seam" not in widget.html and "seam 1: stays open" in widget.text()
    widget.act("example", "a layer")
    assert "stays open" not in widget.text()


def test_once_all_is_merged_that_can_be_the_other_seams_say_why_they_stay_open() -> None:
    widget = FusionBuilder()
    widget.act("example", "rows to mean 0")
    widget.act("everything")
    assert widget.text().count("stays open, as") == 2 and "seam 1: stays open, as sum" in widget.text()


def test_the_compilers_choice_is_hidden_until_it_is_asked_for() -> None:
    widget = FusionBuilder()
    assert "compiler " not in widget.text().partition("shown of")[0] and not widget.data()["revealed"]
    widget.act("reveal")
    assert widget.data()["revealed"] and "The compiler needs 1 launch and moves" in widget.text()
    widget.act("everything")
    assert "The compiler chose the same: 1 launch." in widget.text()
    widget.act("reveal")
    assert "The compiler chose" not in widget.text()


def test_over_large_arrays_the_compiler_goes_on_through_a_reduction() -> None:
    """What the builder says of a seam, and what the compiler does in strips, are two things: both are told."""
    widget = FusionBuilder()
    widget.act("example", "softmax")
    widget.act("everything")
    for numbers, through in ((16_384, False), (262_144, True)):
        widget.act("numbers", numbers)
        if not widget.data()["revealed"]:
            widget.act("reveal")
        assert ("The compiler goes on through amax and sum: it takes a few rows" in widget.text()) is through
        assert widget.data()["costs"]["compiler"]["launches"] == (1 if through else 4)


def test_all_three_are_timed() -> None:
    widget = FusionBuilder()
    widget.act("numbers", "64")
    widget.act("measure")
    widget.wait()
    timing = widget.data()["timing"]
    assert timing["runs"] == 15 and all(timing[name][0] > 0 for name in ("written", "yours", "compiler"))
    assert "time compiler: " in widget.text() and "measured: " in widget.text()
    widget.act("press", 0)
    assert widget.data()["timing"] is None, "these times were of other kernels"


def test_a_function_of_ones_own() -> None:
    x = tg.rand(8, 4, requires_grad=True)
    widget = FusionBuilder(lambda x, y: ((x + y).relu() * 2).sum(), x, tg.rand(4))
    assert [one.split(" = ")[1].split("(")[0] for one in widget.data()["operations"]] == ["add", "relu", "mul", "sum"]
    widget.act("everything")
    assert widget.data()["closed"] == [0, 1] and "program" not in widget.html.partition("edu-controls")[2][:900].lower()
    widget.act("measure")
    widget.wait()
    assert widget.data()["timing"] is not None and x.grad is None


def test_what_cannot_be_shown_is_refused() -> None:
    for given in ((3, tg.ones(2)), (lambda x: x * 2 + 1,), (lambda x: x * 2 + 1, 3.0), (None, tg.ones(2))):
        with pytest.raises(ArgumentError):
            FusionBuilder(*given)  # type: ignore[arg-type]
    with pytest.raises(TraceError):
        FusionBuilder(lambda x: x * x.sum().item() + 1, tg.ones(2))
