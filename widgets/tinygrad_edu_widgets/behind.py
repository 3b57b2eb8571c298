"""A picture that stays folded until the prediction above it is committed."""

from __future__ import annotations

from typing import Any

from IPython import display as notebook

from tinygrad_edu.views.given import refusal

from .base import EduWidget

show: Any = notebook.display  # IPython has no types here
place_in_notebook: Any = notebook.DisplayHandle

SUMMARY = "After your prediction: what happened"


class Folded:
    """A picture on a page, unfolded by a press. As plain text it says only that."""

    def __init__(self, html: str) -> None:
        self.html = f"<details><summary>{SUMMARY}</summary>{html}</details>"

    def _repr_html_(self) -> str:
        return self.html

    def __repr__(self) -> str:
        return f"{SUMMARY} (folded)"


class Behind:
    """``Behind(gate, picture)`` shows a gate, and below it the picture as soon as a prediction is committed.

    ``gate`` is a `PredictGate` or a `TimingRace`, ``picture`` any other widget. Until the commit the picture is folded
    under a line of text, and *Ask again* folds it again. So a picture that answers the question stands beside it, and
    gives nothing away. In a saved notebook, where nobody can commit, one press unfolds it.

    The two are outputs of their own: each is kept, without a kernel, as any widget is.
    """

    def __init__(self, gate: Any, picture: Any) -> None:
        if not (isinstance(gate, EduWidget) and hasattr(gate, "committed")):
            raise refusal("Behind", "gate", gate, "it asks for a prediction", "give a PredictGate or a TimingRace")
        if not isinstance(picture, EduWidget):
            raise refusal("Behind", "picture", picture, "it is a widget of this package", "give a BufferMap, say")
        self.gate, self.picture = gate, picture
        self.opened = bool(gate.committed)
        self._places: list[Any] = []  # where it is shown
        gate.observe(self._look, "answers")

    def shown(self) -> Any:
        """What stands below the gate now."""
        return self.picture if self.opened else self.folded()

    def _look(self, change: object = None) -> None:
        if self.opened != self.gate.committed:
            self.opened = bool(self.gate.committed)
            for place in self._places:
                place.update(self.shown())

    def folded(self) -> Folded:
        """The picture with its text, under a line that unfolds it."""
        bundle, _ = self.picture._repr_mimebundle_()
        return Folded(bundle["text/html"])

    def _ipython_display_(self) -> None:
        show(self.gate)
        place = place_in_notebook()
        place.display(self.shown())
        self._places.append(place)

    def __repr__(self) -> str:
        return f"Behind({type(self.gate).__name__}, {type(self.picture).__name__})"
