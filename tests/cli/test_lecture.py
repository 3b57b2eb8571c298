"""A lecture in the terminal: playlists, predictions, recordings, and the predictions of a class."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support import teaches
from tests.tips.made_up import TIP
from tinygrad_edu.cli import lecture
from tinygrad_edu.cli.lecture import answered, ask, found, merged, play, run_predicted
from tinygrad_edu.cli.main import main
from tinygrad_edu.cli.terminal import Progress, Terminal
from tinygrad_edu.tips import Number, TipError, find, run
from tinygrad_edu.tips.lecture import Item, Tally, merge, read, record, replay

ROOT = Path(__file__).parents[2]
Write = Callable[[str], Path]


@pytest.fixture
def playlist(tmp_path: Path) -> Write:
    def write(text: str) -> Path:
        path = tmp_path / "list.toml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


@pytest.fixture
def progress() -> Progress:
    import io

    return Progress(io.StringIO())


def typed(*lines: str) -> Callable[[str], str]:
    """Somebody who types these lines, and then closes the input."""
    given: Iterator[str] = iter(lines)

    def reading(prompt: str) -> str:
        try:
            return next(given)
        except StopIteration:
            raise EOFError from None

    return reading


# Playlists --------------------------------------------------------------------------------------------------------


def test_a_playlist(playlist: Write) -> None:
    first = '[[tip]]\nslug = "no-grad"\nsize = { n = 16 }\nseconds = 1\n'
    found = read(playlist(f'title = "T"\nminutes = 2.5\n{first}[[tip]]\nslug = "in-place"'))
    assert (found.title, found.minutes, [item.tip.slug for item in found.items]) == ("T", 2.5, ["no-grad", "in-place"])
    assert (found.items[0].setting, found.items[0].seconds, found.items[0].recorded) == ({"n": 16}, 1.0, None)
    assert read(playlist('[[tip]]\nslug = "no-grad"')).title == "list"


def test_the_example_is_a_playlist() -> None:
    assert len(read(ROOT / "examples" / "memory.toml").items) == 5


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "it has no tip"),
        ("tip = 3", "it has no tip"),
        ("minutes = -1\n[[tip]]\nslug = 'no-grad'", "it is the time for all tips"),
        ("minuts = 1\n[[tip]]\nslug = 'no-grad'", "a playlist has nothing of that name"),
        ("[[tip]]\nname = 'no-grad'", "it has no slug"),
        ("[[tip]]\nslug = 'no-grat'", "there is no tip with that name"),
        ("[[tip]]\nslug = 'no-grad'\nsizes = 3", "nothing of that name"),
        ("[[tip]]\nslug = 'no-grad'\nsize = 3", "it is of the wrong kind"),
        ("[[tip]]\nslug = 'no-grad'\nsize = { m = 3 }", "it has no parameter 'm'"),
        ("[[tip]]\nslug = 'no-grad'\nseconds = 0", "it is the time for timing"),
        ("[[tip]]\nslug = 'no-grad'\nrecorded = 'none.json'", "it cannot be read"),
        ("[[tip]\n", "it is not TOML"),
    ],
)
def test_playlists_that_cannot_be(playlist: Write, text: str, why: str) -> None:
    with pytest.raises(TipError) as caught:
        read(playlist(text))
    assert why in caught.value.why
    assert caught.value.mend


def test_a_playlist_that_is_not_there(tmp_path: Path) -> None:
    with teaches(TipError, f"the playlist {tmp_path}", "it cannot be read: Is a directory", "name another file"):
        read(tmp_path)


def test_playing_shows_one_step_for_each_press(
    playlist: Write, progress: Progress, capsys: pytest.CaptureFixture[str]
) -> None:
    path = playlist('minutes = 10\n[[tip]]\nslug = "memory-guard"\n[[tip]]\nslug = "in-place"\nseconds = 0.1')
    shown = play(Terminal(80), progress, str(path), typed("2", "", "seven", "1", ""))
    said = capsys.readouterr().out
    assert shown == 2
    assert "1 of 2: memory-guard, 10 minutes left" in said
    order = ("def B(data, w, model):", "A fills the batch with zeros", "Verdict: holds", "2 of 2: in-place")
    assert [said.index(words) for words in order] == sorted(said.index(words) for words in order)
    assert "You said: that of the zeros. It is so." in said
    assert "“seven” is not one of them: write a number from 1 to 3." in said
    assert "You said: one. It is: two." in said


def test_when_the_time_is_over_it_says_what_is_left_out(
    playlist: Write, progress: Progress, capsys: pytest.CaptureFixture[str]
) -> None:
    path = playlist('minutes = 0.00001\n[[tip]]\nslug = "memory-guard"\n[[tip]]\nslug = "in-place"')
    assert play(Terminal(80), progress, str(path), typed()) == 1
    assert "The 1e-05 minutes are over. Left out: in-place." in capsys.readouterr().out


def test_the_command_without_a_person_asks_nothing(playlist: Write, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tips", "play", str(playlist('[[tip]]\nslug = "memory-guard"'))]) == 0
    said = capsys.readouterr().out
    assert "Your prediction" not in said and "Verdict: holds" in said


# Recordings -------------------------------------------------------------------------------------------------------


def test_a_recording_is_marked_and_shown_where_the_live_run_fails(tmp_path: Path, progress: Progress) -> None:
    tip = find("in-place")
    path = tmp_path / "in-place.json"
    record(run(tip, {"n": 16}, budget=0.1), "as it was", path)
    kept = replay(path)
    assert kept["recorded"].startswith("20") and "NumPy" in kept["machine"] and kept["result"]["schema"] == 1
    fails = Item(tip, {"gradient": "wanted"}, recorded=path)  # where B raises
    text, result = found(Terminal(80), progress, fails)
    assert result is None
    assert text.startswith(f"RECORDED on {kept['recorded']}, not measured now. The live run failed:")
    assert text.endswith("as it was")
    text, _ = found(Terminal(80), progress, replace(fails, recorded=None))
    assert text.startswith("This could not be run here: ")
    text, result = found(Terminal(80), progress, replace(fails, setting={"n": 16}, seconds=0.1))
    assert result is not None and "RECORDED" not in text


def test_the_command_that_records(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "mine.json"
    assert main(["tips", "record", "memory-guard", "--size", "n=16", "--to", str(path)]) == 0
    assert f"Kept in {path}" in capsys.readouterr().out
    assert replay(path)["result"]["setting"]["n"] == 16


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"text": 1}', "3"])
def test_a_file_that_is_no_recording(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(text)
    with teaches(
        TipError, f"the recording {path}", "it holds no recorded tip", "write it with: tinygrad-edu tips record"
    ):
        replay(path)


def test_a_recording_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(TipError, match="it cannot be written"):
        record(run(TIP, clock=False), "", tmp_path)


# Predictions ------------------------------------------------------------------------------------------------------


def test_a_prediction_by_number_by_word_or_none(capsys: pytest.CaptureFixture[str]) -> None:
    assert ask(Terminal(60), TIP, typed("2")) == "two"
    assert ask(Terminal(60), TIP, typed("0", "3", " one ")) == "one"
    assert ask(Terminal(60), TIP, typed("")) is None
    assert ask(Terminal(60), TIP, typed()) is None
    assert capsys.readouterr().out.count("How many operations does A do?") == 4


COUNTED = replace(TIP, question=replace(TIP.question, choices=Number(0, 9, "operations", 0.5), tempting=1.0))


def test_a_number_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert ask(Terminal(60), COUNTED, typed("many", "10", "2,0")) == 2.0
    said = capsys.readouterr().out
    assert "a number from 0 to 9 operations; within 50% is right" in said
    assert "“many” is not possible: type digits, such as 2.5." in said
    assert "“10” is not possible: type a number from 0 to 9 operations." in said
    assert ask(Terminal(60), COUNTED, typed("0")) == 0.0


def test_a_number_may_be_near_enough() -> None:
    tip = replace(COUNTED, question=replace(COUNTED.question, answer=lambda result: float(result.slow["calls"])))
    result = run(tip, clock=False)
    assert answered(tip, result, 2.0) == "You said: 2 operations. It is so."
    assert answered(tip, result, 3.0) == "You said: 3 operations. It is: 2 operations. That is near enough."
    assert answered(tip, result, 0.0) == "You said: 0 operations. It is: 2 operations."


def test_a_prediction_is_kept_in_a_file(tmp_path: Path, progress: Progress, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lecture, "find", lambda slug: TIP)
    path = tmp_path / "mine.json"
    for said in ("1", "2"):
        text = run_predicted(Terminal(80), progress, "made-up", ["n=8"], None, str(path), typed(said))
    assert text.endswith("You said: two. It is so.")
    assert json.loads(path.read_text()) == [
        {"question": TIP.question.ask, "predicted": said, "result": "two"} for said in ("one", "two")
    ]
    assert "You said" not in run_predicted(Terminal(80), progress, "made-up", [], None, None, typed())
    assert answered(TIP, run(TIP, clock=False), "one") == "You said: one. It is: two."


def exported(path: Path, *entries: tuple[str, object, object]) -> Path:
    path.write_text(
        json.dumps([dict(zip(("question", "predicted", "result"), entry, strict=True)) for entry in entries])
    )
    return path


def test_a_class_in_one_histogram(tmp_path: Path) -> None:
    files = [
        exported(tmp_path / "a", ("How many?", "one", "two"), ("Which?", [3, 4], [3, 4])),
        exported(
            tmp_path / "b", ("How many?", "one", "two"), ("How many?", "two", "two")
        ),  # who tried again counts once
        exported(tmp_path / "c", ("How many?", "one", "two")),
        exported(tmp_path / "d"),
    ]
    assert merge(files) == (
        Tally("How many?", {"one": 2, "two": 1}, "two"),
        Tally("Which?", {"[3, 4]": 1}, "[3, 4]"),
    )
    shown = merged(Terminal(80), [str(path) for path in files], as_json=False)
    assert "     2  ██████████████████████████████  one" in shown
    assert "  ✓  1  ███████████████                 two" in shown
    assert shown.endswith("From 4 files.")
    data = json.loads(merged(Terminal(), [str(path) for path in files], as_json=True))
    assert data["questions"][0] == {"question": "How many?", "said": {"one": 2, "two": 1}, "right": "two"}


@pytest.mark.parametrize("text", ["", "3", '{"question": 1}', '[{"question": "How?"}]', "[1]"])
def test_a_file_without_predictions(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(TipError, match="it holds no exported predictions"):
        merge([path])
    with pytest.raises(TipError, match="they cannot be read"):
        merge([tmp_path / "none.json"])


def test_the_command_that_merges(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tips", "merge", str(exported(tmp_path / "a", ("How many?", "one", "two")))]) == 0
    assert "How many?" in capsys.readouterr().out
