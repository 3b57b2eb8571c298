"""Pictures that were recorded, for readers without a kernel: frames of a widget that never ran here."""

from __future__ import annotations

import base64
import html
from dataclasses import replace

from ..views.frame import Frame
from ..views.race.words import WAITING


def as_recorded(frame: Frame, when: str) -> Frame:
    """The frame with the badge and the date of something recorded, and without what only a kernel could answer."""
    text = frame.text.replace(f"{WAITING}\n", "").replace("measured on", f"recorded on {when},")
    return replace(frame, badge="recorded", conditions=f"{when} · {frame.conditions}", text=text, controls=())


class Recorded:
    """The picture and the words of a frame, as they were. Nothing runs."""

    def __init__(self, frame: Frame, called: str) -> None:
        self._frame, self._called = frame, called

    def frame(self) -> Frame:
        """What is shown."""
        return self._frame

    def __repr__(self) -> str:
        return self._called

    def _repr_html_(self) -> str:
        shown = self._frame
        data = base64.b64encode(shown.svg().encode()).decode()
        return (
            f'<figure style="margin:0"><img src="data:image/svg+xml;base64,{data}" style="max-width:100%" '
            f'alt="{html.escape(shown.wide.description)}"><figcaption style="padding:0 24px"><details>'
            f"<summary>Read as text</summary><pre>{html.escape(shown.words())}</pre></details></figcaption></figure>"
        )
