"""``tinygrad-edu tips play``, ``record`` and ``merge``, and predictions in the terminal: what a lecture needs."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..common.wording import plain, plural
from ..errors import EduError
from ..tips import Result, Tip, find, run, source_of
from ..tips.lecture import Item, Playlist, Tally, merge, read, record, replay
from ..tips.runner import SCHEMA
from ..tips.tip import Answer, Number, TipError
from .terminal import Progress, Terminal
from .tips import outcome, parse_size

Read = Callable[[str], str]
BAR = 30  # columns of the longest bar


def _telling(progress: Progress) -> Callable[[int, int, float], None]:
    return lambda done, total, left: progress.show(f"measuring, {left:.0f} s left")


def ask(terminal: Terminal, tip: Tip, reading: Read = input) -> Answer | None:
    """The prediction of whoever sits there: one of the choices or a number, or None for an empty answer."""
    question = tip.question
    choices = () if isinstance(question.choices, Number) else question.choices
    rows = (f"  {place} {choice}" for place, choice in enumerate(choices, 1)) if choices else question.offered
    print(terminal.section(plain(question.ask), terminal.prose("\n".join(rows))))
    while True:
        try:
            given = reading(f"Your prediction{f', 1 to {len(choices)}' if choices else ''} (Enter: none): ").strip()
        except EOFError:
            return None
        if not given:
            return None
        if choices and given.isdecimal() and 1 <= int(given) <= len(choices):
            return choices[int(given) - 1]
        try:
            return question.parse(given)
        except TipError as error:
            mend = f"write a number from 1 to {len(choices)}" if choices else error.mend
            print(terminal.prose(f"“{given}” is not {'one of them' if choices else 'possible'}: {mend}."))


def answered(tip: Tip, result: Result, said: Answer | None) -> str:
    """The prediction beside the answer."""
    if said is None or result.failed:
        return ""
    question, right = tip.question, tip.question.answer(result)
    near = " That is near enough." if question.right(said, right) else ""
    told = "It is so." if said == right else f"It is: {question.said(right)}.{near}"
    return f"You said: {question.said(said)}. {told}"


def export(tip: Tip, result: Result, said: Answer | None, path: Path) -> None:
    """Add a prediction to a file, as `export_predictions` of the notebooks writes it."""
    known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    entry = {"question": tip.question.ask, "predicted": said, "result": tip.question.answer(result)}
    path.write_text(json.dumps([*known, entry], indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def run_predicted(
    terminal: Terminal, progress: Progress, slug: str, given: list[str], device: str | None, to: str | None,
    reading: Read = input,
) -> str:  # fmt: skip
    """Ask, run, and say whether it was so. With ``to``, the prediction is added to that file."""
    tip = find(slug)
    setting = {**dict(parse_size(tip, text) for text in given), **({"device": device} if device else {})}
    tip.setting(setting)  # raises before anybody is asked
    said = ask(terminal, tip, reading)
    result = run(tip, setting, progress=_telling(progress))
    progress.clear()
    if to and said is not None and not result.failed:
        export(tip, result, said, Path(to))
    told = answered(tip, result, said)
    return "\n\n".join([outcome(terminal, tip, result), *([terminal.prose(told)] if told else [])])


# play ---------------------------------------------------------------------------------------------------------------


def play(terminal: Terminal, progress: Progress, path: str, reading: Read = input) -> int:
    """Show the tips of a playlist, one step for each press of Enter. Returns how many were shown."""
    playlist = read(Path(path))
    begun, asking = time.monotonic(), sys.stdin is not None and sys.stdin.isatty()
    print(terminal.section(playlist.title, plural(len(playlist.items), "tip")))
    for place, item in enumerate(playlist.items):
        left = _left(playlist, begun)
        if left is not None and left <= 0:
            rest = ", ".join(other.tip.slug for other in playlist.items[place:])
            print(f"\n{terminal.prose(f'The {playlist.minutes:g} minutes are over. Left out: {rest}.')}")
            return place
        remaining = "" if left is None else f", {left:.0f} minutes left"
        head = f"{place + 1} of {len(playlist.items)}: {item.tip.slug}{remaining}"
        print(f"\n{terminal.paint(terminal.spell(head), 'bold')}")
        _show(terminal, progress, item, reading if asking or reading is not input else None)
    return len(playlist.items)


def _left(playlist: Playlist, begun: float) -> float | None:
    return None if playlist.minutes is None else playlist.minutes - (time.monotonic() - begun) / 60


def _show(terminal: Terminal, progress: Progress, item: Item, reading: Read | None) -> None:
    """One tip: both ways, the prediction, and what was found."""
    tip = item.tip
    for name in ("slow", "fast"):
        code = source_of(getattr(tip, name), tip.letters[name])
        print("\n" + "\n".join(f"  {line}" for line in terminal.spell(code).splitlines()))
    print()
    said = ask(terminal, tip, reading) if reading else None
    text, result = found(terminal, progress, item)
    print(f"\n{text}")
    if result is not None and said is not None:
        print(f"\n{terminal.prose(answered(tip, result, said))}")
    if reading:
        _wait(reading)


def _wait(reading: Read) -> None:
    try:
        reading("Enter: go on ")
    except EOFError:
        print()


def found(terminal: Terminal, progress: Progress, item: Item) -> tuple[str, Result | None]:
    """What a run of a tip gives, as text; if it fails and there is a recording, that, and no result."""
    try:
        result = run(item.tip, item.setting, budget=item.seconds, progress=_telling(progress))
        failure = result.reason if result.failed else ""
    except (EduError, MemoryError) as error:
        result, failure = None, str(error).partition("\n")[0]
    finally:
        progress.clear()
    if not failure and result is not None:
        return outcome(terminal, item.tip, result), result
    if item.recorded is None:
        return terminal.prose(f"This could not be run here: {failure}"), result
    kept = replay(item.recorded)
    head = f"RECORDED on {kept['recorded']}, not measured now. The live run failed: {failure}"
    return f"{terminal.paint(terminal.prose(head), 'bold', 'yellow')}\n\n{kept['text']}", None


# record and merge ---------------------------------------------------------------------------------------------------


def record_tip(
    terminal: Terminal, progress: Progress, slug: str, given: list[str], device: str | None, to: str | None
) -> str:
    """Run a tip, and keep the result in a file for `play`."""
    tip, path = find(slug), Path(to or f"{slug}.json")
    setting: dict[str, Any] = dict(parse_size(tip, text) for text in given)
    result = run(tip, {**setting, **({"device": device} if device else {})})
    progress.clear()
    text = outcome(Terminal(80), tip, result)
    record(result, text, path)
    return f"{text}\n\nKept in {path}"


def merged(terminal: Terminal, files: list[str], *, as_json: bool) -> str:
    """What a class has predicted, as one histogram for each question."""
    tallies = merge(map(Path, files))
    if as_json:
        rows = [{"question": t.question, "said": dict(t.said), "right": t.right} for t in tallies]
        return terminal.json({"schema": SCHEMA, "files": len(files), "questions": rows})
    return "\n\n".join([*(_histogram(terminal, tally) for tally in tallies), f"From {plural(len(files), 'file')}."])


def _histogram(terminal: Terminal, tally: Tally) -> str:
    most = max(tally.said.values())
    rows = [
        ("✓" if choice == tally.right else " ", str(count), "█" * max(1, round(BAR * count / most)), choice)
        for choice, count in tally.said.items()
    ]
    return terminal.section(plain(tally.question), terminal.table(rows, indent="  ", right=(1,)))
