"""One tip on one screen: at 1280×720 everything of the step in hand is in sight, for every tip in every state."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from playwright.sync_api import Page

from tinygrad_edu.tips import Result, Tip, all_tips, find, run
from tinygrad_edu.tips.facts import TIME
from tinygrad_edu.tips.tip import FALSE, HOLDS, SAME
from tinygrad_edu.views import tips
from tinygrad_edu.views.tips import BrowserState, Visit

from .look import faults

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]
TIPS = all_tips()
LONG = "\n".join(["def A(x):", f"    # {'long ' * 30}", *(f"    y{i} = x + {i}" for i in range(30)), "    return x"])

# What of the widget, and what of the step in hand, is outside the window; whether the page scrolls sideways.
OUTSIDE = """() => {
  const parts = '.edu-ask, .edu-row, .edu-step.hand, .edu-step.hand *, .edu-nav, .edu-foot';
  const found = [...document.querySelectorAll(parts)].filter((e) => {
    const b = e.getBoundingClientRect();
    return e.checkVisibility() && !e.closest('ol, .edu-lists') && (b.bottom > innerHeight || b.right > innerWidth);
  });
  const sideways = document.documentElement.scrollWidth > innerWidth ? ['page'] : [];
  return [...found.map((e) => e.className || e.localName), ...sideways];
}"""


@cache
def results(slug: str) -> tuple[Result, list[Result]]:
    """A tip's result, and those at its limits."""
    tip = find(slug)
    return run(tip, budget=0.1), [run(tip, limit.setting, budget=0.05) for limit in tip.limits]


def states(tip: Tip) -> Iterator[tuple[str, Visit]]:
    """Every step of the way, each setting in which the tip fails, and code that was edited."""
    result, ends = results(tip.slug)
    told: dict[str, Any] = {"draft": tip.question.tempting, "committed": True, "answer": tip.question.answer(result)}
    yield "to be predicted", Visit()
    yield "to be run", Visit(**{**told, "answer": None})
    yield "seen", Visit(**told, result=result)
    for word in ("faster", "slower", "no difference"):  # whatever the machine was doing, the clock may say any of them
        yield f"{word} on the clock", Visit(**told, result=clocked(result, word))
        yield (
            f"failing, {word} on the clock",
            Visit(**told, result=clocked(ends[0], word), setting=dict(tip.limits[0].setting)),
        )
    yield "explained", Visit(**told, result=result, explained=True, explanation="B shares.")
    yield "limits", Visit(**told, result=result, explained=True, ends=dict(enumerate(ends)))
    for limit, found in zip(tip.limits, ends, strict=True):
        yield f"failing with {limit.setting}", Visit(**told, result=found, setting=dict(limit.setting))
        yield (
            f"unasked with {limit.setting}",
            Visit(**{**told, "answer": None}, result=found, setting=dict(limit.setting)),
        )
    yield "edited", Visit(**told, result=result, code={"slow": LONG}, ran={"slow": LONG})
    yield "being edited", Visit(code={"slow": LONG}, editing=True)


def clocked(result: Result, word: str) -> Result:
    """The result with times that give this verdict."""
    if result.timing is None:
        return result
    ratios = {"faster": (10.5,) * 8, "slower": (0.105,) * 8, "no difference": (0.905, 1.105) * 4}[word]
    timing = replace(result.timing, ratios=ratios)
    assert timing.verdict == word
    verdict = {"faster": HOLDS, "slower": FALSE, "no difference": SAME}[word]
    claims = tuple(replace(j, verdict=verdict) if j.claim.fact == TIME else j for j in result.claims)
    return replace(result, timing=timing, claims=claims)


def show(page: Page, tip: Tip, visit: Visit, presenting: bool = False) -> None:
    frame = tips.frame(tip, BrowserState(tip.slug, visits={tip.slug: visit}), presenting=presenting)
    html = frame.page(live=True)
    large = "<style>.edu { zoom: 1.4 !important } .edu-body { zoom: 1 !important }</style>"
    html = html.replace('class="edu"', 'class="edu" data-present', 1) + large if presenting else html
    page.set_content(html)


@pytest.mark.drawn(1 / 3)
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("tip", TIPS, ids=lambda tip: tip.slug)
def test_everything_of_the_step_in_hand_is_in_sight(page: Page, tip: Tip, scheme: Any) -> None:
    page.emulate_media(color_scheme=scheme)
    for name, visit in states(tip):
        show(page, tip, visit)
        assert page.evaluate(OUTSIDE) == [], name
        assert faults(page) == [], name


@pytest.mark.drawn(1 / 3)
@pytest.mark.parametrize("tip", TIPS, ids=lambda tip: tip.slug)
def test_in_large_type_too(page: Page, tip: Tip) -> None:
    for name, visit in states(tip):
        show(page, tip, visit, presenting=True)
        assert page.evaluate(OUTSIDE) == [] or "edit" in name, name


@pytest.mark.drawn(1 / 4)
@pytest.mark.parametrize("width, height", [(640, 720), (640, 360), (880, 720), (400, 720)])
@pytest.mark.parametrize("tip", TIPS, ids=lambda tip: tip.slug)
def test_narrow_and_at_200_percent_nothing_is_cut_off(page: Page, tip: Tip, width: int, height: int) -> None:
    """640×360 is what a window of 1280×720 shows at 200 %."""
    page.set_viewport_size({"width": width, "height": height})
    for name, visit in states(tip):
        show(page, tip, visit)
        assert faults(page) == [], name
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), name


def test_in_one_column_no_strip_stays_empty(page: Page) -> None:
    page.set_viewport_size({"width": 640, "height": 720})
    show(page, TIPS[0], Visit(committed=True, draft="a copy", result=results(TIPS[0].slug)[0]))
    left, right, room = page.evaluate(
        "() => { const m = document.querySelector('.edu-main').getBoundingClientRect(),"
        " n = document.querySelector('.edu-nav').getBoundingClientRect(),"
        " b = document.querySelector('.edu-body').getBoundingClientRect();"
        " return [m.left - b.left, b.right - m.right, Math.abs(m.width - n.width)] }"
    )
    assert left <= 24 and right <= 24 and room <= 1
