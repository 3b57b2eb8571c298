"""What a report of advice says in words."""

from __future__ import annotations

from ...common.wording import plural, seconds_text
from .model import AdviceState, Found

SIGNS = {"measured": "●", "simulated": "◌", "": "–"}


def question(state: AdviceState) -> str:
    """Above the picture."""
    if state.ask:
        return state.ask
    return (
        "Which of these habits would you mend first?" if len(state.found) > 1 else "Which tip applies to this program?"
    )


def share_text(one: Found) -> str:
    """The share of the run that it took, and how that is known."""
    return f"{SIGNS[one.known]} {_percent(one.share)}" if one.known else "no time found"


def _percent(share: float) -> str:
    return f"{share:.0%}" if share >= 0.005 or not share else "< 1%"


def why(state: AdviceState) -> str:
    """All about the tip in front."""
    one = state.front
    if one is None:
        if not state.watched:
            return "Nothing was watched: no operation ran in this thread."
        unseen = "What does not show, such as a batch that could be larger, is not found."
        return f"No tip applies **that shows in a run**. {unseen}"
    where = f" in `{one.line}`" if one.line else ""
    cost = f" Cost: {one.cost}." if one.cost else ""
    again = f" Run again: {one.again}." if one.again else ""
    return f"**{one.title}:** {one.told},{where}.{cost}{again}".replace(",.", ".")


def ran(state: AdviceState) -> str:
    """What was watched."""
    return f"{plural(state.watched, 'operation')} watched in {seconds_text(state.seconds)}"


def conditions(state: AdviceState) -> str:
    """How the figures are known."""
    kinds = {one.known for one in state.found} - {""}
    of = {"measured": "of the time by the clock", "simulated": "of the device's time"}
    told = [f"{SIGNS[kind]} {kind}, {words}" for kind, words in of.items() if kind in kinds]
    more = "at most what mending saves; watching slows small operations" if kinds else ""
    return " · ".join(filter(None, [ran(state), *told, more]))


def describe(state: AdviceState) -> str:
    """The picture for those who cannot see it."""
    if not state.found:
        return why(state).replace("**", "")
    lines = [f"{place}. {one.title}, {_spoken(one)}" for place, one in enumerate(state.found, 1)]
    apply = "applies" if len(state.found) == 1 else "apply"
    return f"{plural(len(state.found), 'tip')} {apply}: {'; '.join(lines)}."


def _spoken(one: Found) -> str:
    return f"{_percent(one.share)} of the run, {one.known}" if one.known else "no time found"


def text(state: AdviceState) -> str:
    """Everything that is shown, line by line, of all tips."""
    lines = [f"AdviceReport: {question(state)}", ran(state)]
    for place, one in enumerate(state.found):
        mark = "▸" if place == state.at else " "
        lines += [f"{mark} {place + 1}. {one.title}: {_spoken(one)}", f"    {one.line or 'no line of the program'}"]
        lines += [f"    {one.told}", *([f"    cost: {one.cost}"] if one.cost else [])]
        lines += [f"    run again: {one.again}"] if one.again else []
    if not state.found:
        lines.append(why(state).replace("**", ""))
    return "\n".join(lines)


def summary(state: AdviceState) -> str:
    """The same for a saved notebook, without what differs from run to run."""
    apply = "applies" if len(state.found) == 1 else "apply"
    names = ", ".join(one.slug for one in state.found) or "none"
    return f"AdviceReport: {plural(len(state.found), 'tip')} {apply}: {names}"
