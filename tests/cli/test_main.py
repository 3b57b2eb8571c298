"""The command line as a process: what it prints where, and how it ends."""

from __future__ import annotations

import importlib.metadata
import json
import os
import shlex
import signal
import subprocess
import sys
import tomllib
from typing import Any

import pytest

import tinygrad_edu as tg
from tests.support import ROOT
from tinygrad_edu.cli import main
from tinygrad_edu.cli.main import EXAMPLES, UsageError, make_parser, parse, suggestion
from tinygrad_edu.tips import all_tips

SLUG = all_tips()[0].slug
QUIET = {"NO_COLOR", "FORCE_COLOR", "COLUMNS", "PYTHONIOENCODING", "PYTHONUTF8"}


def start(*words: str, **environ: str) -> subprocess.Popen[bytes]:
    surroundings = {name: value for name, value in os.environ.items() if name not in QUIET}
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-m", "tinygrad_edu", *words],
        cwd=ROOT,
        env={**surroundings, "PYTHONIOENCODING": "utf-8", **environ},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def run(*words: str, **environ: str) -> tuple[int, str, str]:
    """Exit status, stdout and stderr."""
    process = start(*words, **environ)
    out, err = process.communicate(timeout=100)
    encoding = environ.get("PYTHONIOENCODING", "utf-8")
    return process.returncode, out.decode(encoding).replace("\r\n", "\n"), err.decode(encoding).replace("\r\n", "\n")


def test_the_version() -> None:
    assert run("--version") == (0, f"tinygrad-edu {tg.__version__}\n", "")


def test_the_help_shows_examples(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    assert ended.value.code == 0
    said, complained = capsys.readouterr()
    assert EXAMPLES.strip() in said
    assert said.isascii()  # argparse writes it, and knows no stand-ins
    assert complained == ""


def test_every_example_can_be_parsed() -> None:
    lines = [shlex.split(line) for line in EXAMPLES.splitlines()[1:]]
    assert len(lines) >= 6
    for program, *words in lines:
        assert program == "tinygrad-edu"
        assert parse(words).command == words[0]


def test_examples_name_tips_that_exist() -> None:
    named = {words[3] for line in EXAMPLES.splitlines() if len(words := line.split()) > 3 and words[1] == "tips"}
    assert {name for name in named if not name.startswith("-")} <= {tip.slug for tip in all_tips()}


@pytest.mark.parametrize("words", [[], ["tips"]])
def test_an_unfinished_command_shows_the_help(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    assert "usage: tinygrad-edu" in capsys.readouterr().out


def test_the_installed_command_is_this_one() -> None:
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["scripts"]
    assert list(scripts) == ["tinygrad-edu"]
    point = importlib.metadata.EntryPoint("tinygrad-edu", scripts["tinygrad-edu"], "console_scripts")
    assert point.load() is main


# What cannot be understood ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "tried", "why", "mend"),
    [
        (["docter"], "tinygrad-edu docter", "there is no command 'docter'", "did you mean doctor?"),
        (["xyz"], "tinygrad-edu xyz", "there is no command 'xyz'", "there are: tips, advise, doctor, lab"),
        (["tips", "lits"], "tinygrad-edu tips lits", "there is no command 'lits'", "did you mean list?"),
        (["doctor", "--jsn"], "tinygrad-edu doctor", "there is no option or word '--jsn' here", "did you mean --json?"),
        (
            ["tips", "list", "--symptoms=slow"],
            "tinygrad-edu tips list",
            "there is no option or word '--symptoms=slow' here",
            "did you mean --symptom?",
        ),
        (
            ["tips", "explain"],
            "tinygrad-edu tips explain",
            "the following arguments are required: SLUG",
            "see tinygrad-edu tips explain --help",
        ),
        (
            ["lab", "--port", "x"],
            "tinygrad-edu lab",
            "argument --port: 'x' is not a whole number from 0 to 65535",
            "see tinygrad-edu lab --help",
        ),
    ],
)
def test_misspellings(words: list[str], tried: str, why: str, mend: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    assert capsys.readouterr() == ("", f"{tried}\n  why:  {why}\n  mend: {mend}\n")


def test_abbreviations_are_refused() -> None:
    with pytest.raises(UsageError):
        parse(["doctor", "--js"])


def test_suggestions() -> None:
    assert suggestion("tisp", ["tips", "lab"]) == "did you mean tips?"
    assert suggestion("", ["tips", "lab"]) == "there are: tips, lab"


@pytest.mark.parametrize("words", [["tips", "run", SLUG[:-1]], ["tips", "check", SLUG[:-1], "--json"]])
def test_a_misspelt_slug_ends_with_2_and_no_traceback(words: list[str]) -> None:
    status, out, err = run(*words)
    assert (status, out) == (2, "")
    assert f"did you mean {SLUG}" in err
    assert "Traceback" not in err


# Streams ------------------------------------------------------------------------------------------------------------


def test_json_is_all_there_is_on_stdout() -> None:
    status, out, err = run("tips", "list", "--json", FORCE_COLOR="1")
    assert (status, err) == (0, "")
    assert [tip["slug"] for tip in json.loads(out)["tips"]] == [tip.slug for tip in all_tips()]


def test_colour_in_a_pipe_only_when_forced() -> None:
    assert "\x1b[" not in run("tips", "list")[1]
    assert "\x1b[" in run("tips", "list", FORCE_COLOR="1")[1]


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_streams_that_know_few_signs(encoding: str) -> None:
    status, out, err = run("tips", "check", SLUG, PYTHONIOENCODING=encoding)
    assert (status, err) == (0, "")
    assert out.startswith(f"* {SLUG}: holds")


def test_the_width_is_that_of_the_terminal() -> None:
    _, out, _ = run("tips", "list", COLUMNS="40")
    assert max(map(len, out.splitlines())) <= 40


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a terminal that a program can hold")
@pytest.mark.parametrize(("term", "colour"), [("xterm", True), ("dumb", False)])
def test_colour_on_a_terminal(term: str, colour: bool) -> None:
    screen, keyboard = os.openpty()
    surroundings = {name: value for name, value in os.environ.items() if name not in QUIET}
    command = [sys.executable, "-m", "tinygrad_edu", "tips", "list", "--theme", "arrays"]
    status = subprocess.call(command, cwd=ROOT, env={**surroundings, "TERM": term}, stdout=keyboard)
    os.close(keyboard)
    said = os.read(screen, 1 << 16)
    os.close(screen)
    assert status == 0
    assert SLUG.encode() in said
    assert (b"\x1b[1m" in said) is colour


@pytest.mark.skipif(os.name != "posix", reason="pipes and signals end processes in another way")
def test_a_closed_pipe_is_no_error() -> None:
    process = start("tips", "list", "--json")
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()  # before it writes, as `| head` does when it has enough
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait(100) == 141


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a full disk is hard to come by")
@pytest.mark.parametrize("words", ["tips list --json", "--version", "--help"])
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_full_disk_is_told(words: str, unbuffered: str) -> None:
    command = [sys.executable, "-W", "error", "-m", "tinygrad_edu", *words.split()]
    environ = {**os.environ, "PYTHONUNBUFFERED": unbuffered, "PYTHONIOENCODING": "utf-8"}
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            command, cwd=ROOT, env=environ, stdout=full, stderr=subprocess.PIPE, timeout=100, check=False
        )
    if words == "--help" and unbuffered:  # argparse does not tell
        return
    assert done.returncode == 2
    assert done.stderr.decode() == (
        "print the answer\n  why:  [Errno 28] No space left on device\n  mend: make room, or send it somewhere else\n"
    )


@pytest.mark.skipif(os.name != "posix", reason="shells close streams in another way")
@pytest.mark.parametrize(
    ("words", "status"), [("tips list >&-", 0), ("tips list >&- 2>&-", 0), ("tips explain nonsense 2>&-", 2)]
)
def test_streams_that_the_caller_closed(words: str, status: int) -> None:
    command = f"exec {shlex.quote(sys.executable)} -W error -m tinygrad_edu {words}"
    done = subprocess.run(["/bin/sh", "-c", command], cwd=ROOT, capture_output=True, timeout=100, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (status, b"", b"")


@pytest.mark.parametrize("port", ["-1", "65536", "8888x", "9" * 5000])
def test_ports_that_cannot_be(port: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lab", "--port", port]) == 2
    assert f"{port!r} is not a whole number from 0 to 65535" in capsys.readouterr().err


def test_ctrl_c_ends_quietly(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupt(options: Any) -> None:
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(sys.modules["tinygrad_edu.cli.main"], "perform", interrupt)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore Ctrl-C
    try:
        assert main(["doctor"]) == 130
    finally:
        signal.signal(signal.SIGINT, before)
    assert capsys.readouterr() == ("", "")


def test_from_then_on_ctrl_c_can_be_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """While the package loads it ends the process, so the first thing is to change that."""
    handlers: list[Any] = []

    def perform(options: Any) -> tuple[str, int]:
        handlers.append(signal.getsignal(signal.SIGINT))
        return "", 0

    monkeypatch.setattr(sys.modules["tinygrad_edu.cli.main"], "perform", perform)
    first = signal.getsignal(signal.SIGINT)
    try:
        for before in (signal.SIG_DFL, signal.SIG_IGN):
            signal.signal(signal.SIGINT, before)
            assert main(["doctor"]) == 0
    finally:
        signal.signal(signal.SIGINT, first)
    assert handlers == [signal.default_int_handler, signal.SIG_IGN]


# Commands -----------------------------------------------------------------------------------------------------------


def test_every_command_reaches_its_function(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from tinygrad_edu.cli import doctor, lab

    monkeypatch.setattr(doctor, "doctor", lambda terminal, progress, as_json: (f"doctor {as_json}", 1))
    monkeypatch.setattr(lab, "lab", lambda port, browser: [port, browser] == [9999, False])
    assert (main(["doctor", "--json"]), capsys.readouterr().out) == (1, "doctor True\n")
    assert (main(["lab", "--port", "9999", "--no-browser"]), capsys.readouterr().out) == (1, "")


def test_running_and_explaining_a_tip(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tips", "run", SLUG, "--json"]) == 0
    ran = json.loads(capsys.readouterr().out)
    assert (ran["slug"], ran["verdict"]) == (SLUG, "holds")
    assert main(["tips", "explain", SLUG]) == 0
    assert capsys.readouterr().out.startswith(all_tips()[0].title)


def test_the_doctor_as_a_process() -> None:
    status, out, err = run("doctor", "--json")
    assert (status, err) == (0, "")
    found = json.loads(out)
    assert found["engine_works"]
    assert len(found["peaks"]) == 5


def test_every_option_has_help() -> None:
    """Or nobody would find it."""
    parsers = [make_parser()]
    for parser in parsers:
        for action in parser._actions:
            assert action.help or action.choices, (parser.prog, action.option_strings)
            if isinstance(action.choices, dict):
                parsers += action.choices.values()
    assert len(parsers) == 13
