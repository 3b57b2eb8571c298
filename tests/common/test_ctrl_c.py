"""Which processes are the command line. ``tests/project/test_launcher.py`` presses Ctrl-C while they load."""

from __future__ import annotations

import signal
import sys

import pytest

from tinygrad_edu.common.ctrl_c import end_at_once, is_command_line, lists_tips, raise_again


@pytest.mark.parametrize(
    ("program", "words", "ours"),
    [
        ("/a/bin/tinygrad-edu", ["python", "/a/bin/tinygrad-edu", "doctor"], True),
        ("tinygrad-edu.exe", ["python.exe", "tinygrad-edu.exe"], True),
        ("-m", ["python", "-W", "error", "-m", "tinygrad_edu", "tips", "list"], True),
        ("-m", ["python", "-mtinygrad_edu", "doctor"], True),
        ("-m", ["python", "-m", "tinygrad_edu.views"], False),
        ("-m", ["python", "-m", "pytest", "-m", "tinygrad_edu"], False),
        ("-c", ["python", "-c", "import tinygrad_edu"], False),
        ("tinygrad_edu.py", ["python", "tinygrad_edu.py"], False),
        ("", ["python"], False),
    ],
)
def test_the_command_line_is_known(monkeypatch: pytest.MonkeyPatch, program: str, words: list[str], ours: bool) -> None:
    monkeypatch.setattr(sys, "argv", [program])
    monkeypatch.setattr(sys, "orig_argv", words)
    assert is_command_line() is ours


@pytest.mark.parametrize(
    ("program", "words", "lists"),
    [
        ("/a/bin/tinygrad-edu", ["/a/bin/tinygrad-edu", "tips", "list", "--json"], True),
        ("/a/bin/tinygrad-edu", ["/a/bin/tinygrad-edu", "tips", "check"], False),
        ("/a/bin/tinygrad-edu", ["/a/bin/tinygrad-edu"], False),
        ("-m", ["python", "-m", "tinygrad_edu", "tips", "list"], True),
        ("-m", ["python", "-mtinygrad_edu", "tips", "list"], True),
        ("-m", ["python", "-m", "tinygrad_edu", "doctor"], False),
        ("x.py", ["x.py", "tips", "list"], False),
    ],
)
def test_the_command_that_needs_no_engine(
    monkeypatch: pytest.MonkeyPatch, program: str, words: list[str], lists: bool
) -> None:
    monkeypatch.setattr(sys, "argv", words if program != "-m" else [program])
    monkeypatch.setattr(sys, "orig_argv", words)
    assert lists_tips() is lists


def test_without_any_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a program that embeds Python."""
    monkeypatch.setattr(sys, "argv", [])
    assert not is_command_line()


def test_what_was_ignored_stays_ignored_and_the_rest_comes_back() -> None:
    first = signal.getsignal(signal.SIGINT)
    try:
        for before, between in ((signal.default_int_handler, signal.SIG_DFL), (signal.SIG_IGN, signal.SIG_IGN)):
            signal.signal(signal.SIGINT, before)
            end_at_once()
            assert signal.getsignal(signal.SIGINT) == between
            raise_again()
            assert signal.getsignal(signal.SIGINT) == before
    finally:
        signal.signal(signal.SIGINT, first)
