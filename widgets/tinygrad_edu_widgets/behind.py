"""A picture that stays closed until the prediction above it is committed."""

from __future__ import annotations

import base64
import html
from typing import Any

from ipywidgets import VBox

from tinygrad_edu.views.given import refusal

from .base import EduWidget

SUMMARY = "After your prediction: what happened"


class Behind(VBox):  # type: ignore[misc]
    """``Behind(gate, picture)`` shows a gate, and below it the picture as soon as a prediction is committed.

    ``gate`` is a `PredictGate` or a `TimingRace`, ``picture`` any other widget; *Ask again* closes it. So a picture
    that answers the question stands beside it, and gives nothing away. In a saved notebook, where nobody can commit,
    the picture is folded, and one press opens it.
    """

    def __init__(self, gate: Any, picture: Any) -> None:
        if not (isinstance(gate, EduWidget) and hasattr(gate, "committed")):
            raise refusal("Behind", "gate", gate, "it asks for a prediction", "give a PredictGate or a TimingRace")
        if not isinstance(picture, EduWidget):
            raise refusal("Behind", "picture", picture, "it is a widget of this package", "give a BufferMap, say")
        self.gate, self.picture = gate, picture
        super().__init__([gate])
        gate.observe(self._look, "answers")
        self._look()

    @property
    def opened(self) -> bool:
        """Whether the picture can be seen."""
        return len(self.children) > 1

    def _look(self, change: object = None) -> None:
        if self.gate.committed != self.opened:
            self.children = (self.gate, self.picture) if self.gate.committed else (self.gate,)

    def folded(self) -> str:
        """What is kept without a kernel: the gate, and the picture folded, with its text."""
        said = html.escape(self.picture.text())
        return (
            f"{still(self.gate)}<details><summary>{SUMMARY}</summary>{still(self.picture)}<pre>{said}</pre></details>"
        )

    def __repr__(self) -> str:
        return repr(self.gate)

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        shown = {"image/svg+xml": self.gate.svg(), "text/html": self.folded(), "text/plain": repr(self)}
        return {**super()._repr_mimebundle_(**kwargs), **shown}


def still(widget: EduWidget) -> str:
    """A widget's picture as an image, with its text for those who cannot see it."""
    picture = base64.b64encode(widget.svg().encode()).decode()
    words = html.escape(widget.text(), quote=True)
    return f'<img alt="{words}" style="max-width:100%" src="data:image/svg+xml;base64,{picture}">'
