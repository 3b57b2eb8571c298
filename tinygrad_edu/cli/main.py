"""Reading the command line and ending well: a failure is a few lines, and never a traceback."""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

import tinygrad_edu as tg

from ..common.ctrl_c import raise_again
from ..common.wording import suggestion
from ..errors import EduError
from .terminal import Progress, Terminal

PROGRAM = "tinygrad-edu"
WRONG, PIPE_CLOSED, INTERRUPTED = 2, 141, 130  # exit statuses; the last two are those of shells

EXAMPLES = """examples:
  tinygrad-edu tips list --symptom "out of memory"
  tinygrad-edu tips explain share-storage
  tinygrad-edu tips run contiguous-access --size n=2048
  tinygrad-edu tips check
  tinygrad-edu advise train.py
  tinygrad-edu doctor
  tinygrad-edu lab
"""


class UsageError(EduError):
    """The command line cannot be understood."""


class OutputError(EduError):
    """The answer cannot be printed."""


class Parser(argparse.ArgumentParser):
    """A parser whose complaints are raised, and suggest the nearest word."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(allow_abbrev=False, formatter_class=argparse.RawDescriptionHelpFormatter, **settings)

    def error(self, message: str) -> NoReturn:
        """Raise argparse's complaint as an error."""
        raise UsageError(self.prog, message, f"see {self.prog} --help")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            mend = suggestion(str(value), [str(choice) for choice in action.choices])
            raise UsageError(f"{self.prog} {value}", f"there is no command {str(value)!r}", mend)


def make_parser() -> Parser:
    """The whole command line."""
    about = "Performance tips, live; which of them apply to a script; a check of this machine; the course."
    parser = Parser(prog=PROGRAM, description=about, epilog=EXAMPLES)
    parser.add_argument("--version", action="store_true", help="print the version")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands", parser_class=Parser)
    tips = commands.add_parser("tips", help="list, explain, run and check the performance tips", epilog=EXAMPLES)
    _tips(tips.add_subparsers(dest="action", metavar="ACTION", title="actions", parser_class=Parser))
    advise = commands.add_parser("advise", help="run a script, watched, and tell which tips apply to it")
    _json(advise)
    advise.add_argument(
        "--measure", action="store_true", help="run it several times more, without each habit that can be left out"
    )
    advise.add_argument("script", metavar="SCRIPT", help="a Python script, for this package or for PyTorch")
    advise.add_argument("arguments", nargs=argparse.REMAINDER, metavar="…", help="what the script is given")
    doctor = commands.add_parser("doctor", help="what is installed, what the machine can do, how to fix the rest")
    _json(doctor)
    lab = commands.add_parser("lab", help="open the course in JupyterLab")
    lab.add_argument(
        "--port", type=_port, metavar="N", help="listen on this port (default: the first free one from 8888)"
    )
    lab.add_argument("--no-browser", action="store_true", help="print the address, open no browser")
    for command in (parser, tips, advise, doctor, lab):
        command.set_defaults(parser=command)
    return parser


def _port(text: str) -> int:
    """A port's number; argparse says what is wrong."""
    if not (text.isdecimal() and len(text) < 6 and int(text) < 65536):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0 to 65535")
    return int(text)


def _tips(actions: Any) -> None:
    found = actions.add_parser("list", help="list all tips, or those that fit")
    found.add_argument("--theme", default="", help="only tips of this theme, such as arrays")
    found.add_argument("--source", default="", help="only tips from this guide: its letter, or a part of its title")
    found.add_argument("--symptom", default="", metavar="TEXT", help='only tips that cure this, such as "slow"')
    explain = actions.add_parser("explain", help="explain a tip, with both functions")
    explain.add_argument("slug", metavar="SLUG", help="the tip's name, as in the list")
    run = actions.add_parser("run", help="run both ways of a tip here, and compare them")
    run.add_argument("slug", metavar="SLUG", help="the tip's name, as in the list")
    run.add_argument("--size", action="append", default=[], metavar="NAME=VALUE", help="a parameter, such as n=1000")
    run.add_argument("--device", help="where the tensors live (default: cpu)")
    _framework(run)
    run.add_argument("--predict", action="store_true", help="ask for a prediction first")
    run.add_argument("--export", metavar="FILE", help="add the prediction to this file, for merge")
    check = actions.add_parser("check", help="test the claims of tips; fails if one does not hold")
    check.add_argument("slugs", nargs="*", metavar="SLUG", help="only these tips")
    _framework(check)
    play = actions.add_parser("play", help="show the tips of a playlist, step by step, before an audience")
    play.add_argument("file", metavar="FILE", help="a TOML file, such as examples/memory.toml")
    play.set_defaults(parser=play)
    record = actions.add_parser("record", help="run a tip, and keep the result for a playlist to fall back on")
    record.add_argument("slug", metavar="SLUG", help="the tip's name, as in the list")
    record.add_argument("--size", action="append", default=[], metavar="NAME=VALUE", help="a parameter, such as n=1000")
    record.add_argument("--device", help="where the tensors live (default: cpu)")
    record.add_argument("--to", metavar="FILE", help="where to keep it (default: SLUG.json)")
    record.set_defaults(parser=record)
    merge = actions.add_parser("merge", help="count the predictions of a class, from exported files")
    merge.add_argument("files", nargs="+", metavar="FILE", help="as export_predictions writes them")
    _json(merge)
    merge.set_defaults(parser=merge)
    new = actions.add_parser("new", help="write the file of a new tip, with all that is to be filled in")
    new.add_argument("slug", metavar="SLUG", help="its name, such as keep-the-number")
    new.add_argument("--theme", default="arrays", help="one of the themes in the list")
    new.add_argument("--into", metavar="FOLDER", help="where to write it (default: among the tips of this package)")
    new.set_defaults(parser=new)
    for action in (found, explain, run, check):
        _json(action)
        action.set_defaults(parser=action)


def _framework(parser: argparse.ArgumentParser) -> None:
    words = "here, or in PyTorch besides: does the tip hold there, on this machine?"
    parser.add_argument("--framework", choices=("tinygrad_edu", "torch"), default="tinygrad_edu", help=words)


def _json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON only")


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The options. Raises `UsageError` for an unknown one, with the nearest known one."""
    options, unknown = make_parser().parse_known_args(arguments)
    if unknown:
        known = [name for name in options.parser._option_string_actions if name.startswith("--")]
        mend = suggestion(unknown[0].partition("=")[0], known)
        raise UsageError(options.parser.prog, f"there is no option or word {unknown[0]!r} here", mend)
    return options


# Doing it -----------------------------------------------------------------------------------------------------------


def perform(options: argparse.Namespace) -> tuple[str, int]:
    """What to print, and the exit status. Modules load only when needed, so ``--help`` answers at once."""
    terminal, progress = Terminal.of(sys.stdout), Progress(sys.stderr)
    if options.version:
        return f"{PROGRAM} {tg.__version__}", 0
    if options.command == "doctor":
        from .doctor import doctor

        return doctor(terminal, progress, as_json=options.json)
    if options.command == "advise":
        from .advise import advise

        return advise(terminal, options.script, options.arguments, as_json=options.json, measured=options.measure)
    if options.command == "lab":
        from .lab import lab

        return "", lab(options.port, not options.no_browser)
    if options.command == "tips" and options.action:
        return perform_tips(terminal, progress, options)
    return options.parser.format_help().rstrip(), WRONG


def perform_tips(terminal: Terminal, progress: Progress, options: argparse.Namespace) -> tuple[str, int]:
    """One action of ``tips``."""
    if options.action == "list":
        from .listing import list_tips

        return list_tips(terminal, options.theme, options.source, options.symptom, as_json=options.json), 0
    from . import tips

    if options.action == "new":
        from .skeleton import skeleton

        path = skeleton(options.slug, options.theme.lower(), Path(options.into) if options.into else None)
        named = path if options.into else options.slug
        return f"{path}\nFill it in; this tells what is missing:\n  tinygrad-edu tips check {named}", 0
    predicted = options.action == "run" and (options.predict or options.export)
    if predicted or options.action in ("play", "record", "merge"):
        return perform_lecture(terminal, progress, options)
    if options.action == "explain":
        return tips.explain(terminal, options.slug, as_json=options.json), 0
    if options.action == "run":
        run_tip = tips.run_tip if options.framework == "tinygrad_edu" else tips.run_there
        text = run_tip(terminal, progress, options.slug, options.size, options.device, as_json=options.json)
        return text, 0
    return tips.check_tips(terminal, progress, options.slugs, options.framework, as_json=options.json)


def perform_lecture(terminal: Terminal, progress: Progress, options: argparse.Namespace) -> tuple[str, int]:
    """What a lecture needs."""
    from . import lecture

    if options.action == "play":
        lecture.play(terminal, progress, options.file)
        return "", 0
    if options.action == "merge":
        return lecture.merged(terminal, options.files, as_json=options.json), 0
    if options.action == "run":
        given = (options.slug, options.size, options.device, options.export)
        return lecture.run_predicted(terminal, progress, *given), 0
    given = (options.slug, options.size, options.device, options.to)
    return lecture.record_tip(terminal, progress, *given), 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line and return its exit status: 2 if it cannot be done, 130 after Ctrl-C."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by the caller, as after ``>&-``
            setattr(sys, name, io.StringIO())
    try:
        raise_again()  # here, where it is caught
        try:
            text, status = perform(parse(sys.argv[1:] if arguments is None else arguments))
            _put(text)
            return status
        finally:
            _put("")  # what --help printed: written here, where a closed pipe can still be told from a fault
    except EduError as error:
        Progress(sys.stderr).clear()
        told = f"{error.tried}\n  why:  {error.why}\n  mend: {error.mend}"  # no line: it would be the launcher's
        print(Terminal.of(sys.stderr).spell(told), file=sys.stderr)
        return WRONG
    except BrokenPipeError:  # as after ``| head``
        _drop_output()
        return PIPE_CLOSED
    except KeyboardInterrupt:
        Progress(sys.stderr).clear()
        return INTERRUPTED


def _put(text: str) -> None:
    """Print. Raises `OutputError` if it fails, as on a full disk."""
    try:
        print(text, end="\n" if text else "", flush=True)
    except BrokenPipeError:
        raise
    except OSError as error:
        _drop_output()
        raise OutputError("print the answer", str(error), "make room, or send it somewhere else") from None


def _drop_output() -> None:
    """Discard what is left to print, or Python would complain as it exits."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
