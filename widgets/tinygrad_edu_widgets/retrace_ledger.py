"""Calls of a compiled function, and the programs that serve them: which call had it recorded, and why."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any, ClassVar

import traitlets

from tinygrad_edu.views import ledger
from tinygrad_edu.views.frame import Frame
from tinygrad_edu.views.given import texts
from tinygrad_edu.views.ledger.figure import GUESS

from .base import EduWidget


class RetraceLedger(EduWidget, room=ledger):
    """``RetraceLedger()`` shows series of calls to choose from, ``RetraceLedger(function, [(x, 0.1), …])`` your own.

    That compiles the function, makes the calls, and reads what each did from its ledger. ``RetraceLedger(compiled)``
    shows the programs of a function that is compiled already.

    Gestures: *There is a program* (h), *It is recorded* (m) and, where that can be, *A length is filled in* (f) say
    what the next call will find, and make it; *Next call* (→) and *Back* (←) step without a prediction; choose another
    series, or its cure (c), with which the calls begin again; *Times* (t) shows what a recording takes.
    """

    mirrors: ClassVar[dict[str, str]] = {"at": "goto"}
    at = traitlets.Int(1).tag(sync=True)  # how many calls are shown

    def __init__(self, function: Any = None, calls: Any = None, *, ask: str = "") -> None:
        texts("RetraceLedger", ask=ask)
        if function is None and calls is None:
            self.state = ledger.chosen("batches with a remainder", ask)
        else:
            self.state = ledger.known(function, ask) if calls is None else ledger.read(function, calls, ask)
        super().__init__()

    def frame(self) -> Frame:
        """The frame of the current state."""
        return ledger.frame(self.state)

    def data(self) -> Any:
        """Each call with the program that served it, as plain data; of a ledger alone, its programs."""
        return asdict(self.state)

    def mirrored(self) -> dict[str, Any]:
        """How many calls are shown."""
        return {"at": self.state.at}

    def _act(self, act: str, value: Any) -> None:
        state = self.state
        if act == "series" and state.name:
            if value:
                self.state = replace(ledger.chosen(value, state.ask), timed=state.timed)
        elif act == "cure" and state.name:
            self.state = ledger.cure(state)
        elif state.programs:
            raise KeyError(act)
        elif act in GUESS:
            self.state = ledger.predict(state, GUESS[act])
        elif act in ("step", "back"):
            self.state = ledger.go(state, state.at + (1 if act == "step" else -1))
        elif act == "goto":
            self.state = ledger.go(state, int(value))
        elif act == "time":
            self.state = replace(state, timed=not state.timed)
        else:
            raise KeyError(act)
