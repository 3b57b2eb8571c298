"""What a reader without a kernel would miss: the answers of a lesson with their reasons, and pictures."""

from __future__ import annotations

import html
from typing import Any

from ..common.wording import plural
from ..views.marks import rich
from .reasons import reason
from .recorded import Recorded

CLOSED = "Open this at the end: predictions and explanations, each with its reason, and what the widgets show then."


class Answers:
    """A fold. Closed, it says nothing."""

    def __init__(self, shown: tuple[Any, ...], questions: dict[str, str]) -> None:
        self.shown, self.questions = shown, questions

    def __repr__(self) -> str:
        return f"{plural(len(self.questions), 'answer')}, with reasons, in a fold"

    def _repr_html_(self) -> str:
        parts = [_answered(key, ask) for key, ask in self.questions.items()]
        parts += map(_picture, self.shown)
        return f"<details><summary>{CLOSED}</summary>{''.join(parts)}</details>"


# Said in the output itself, so that it holds in an exported page, too.
_AS_IT_IS = "font-family:monospace;white-space:pre-wrap;word-break:normal;overflow-wrap:anywhere"


def answers(*shown: Any, **questions: str) -> Answers:
    """A fold with the reasons of each question, by the name of its reason, and with ``shown``.

    That are widgets, recordings, or text.
    """
    return Answers(shown, questions)


def _picture(shown: Any) -> str:
    """Text, something recorded, or a widget as it is now."""
    if isinstance(shown, str):
        return f'<pre style="{_AS_IT_IS}">{html.escape(shown)}</pre>'
    return shown._repr_html_() if isinstance(shown, Recorded) else str(shown._still().still())


def _answered(key: str, ask: str) -> str:
    """A question, its choices and their reasons; the right one is marked."""
    said = reason(key)
    choices = {"": said} if isinstance(said, str) else said
    lines = []
    for choice, why in choices.items():
        sign = "✓" if "**" in why else "✗"
        lines.append(f"<li>{sign} {f'<em>{rich(choice)}</em>: ' if choice else ''}{rich(why)}</li>")
    return f"<p><strong>{rich(ask)}</strong></p><ul>{''.join(lines)}</ul>"
