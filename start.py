#!/usr/bin/env python3
"""Set up tinygrad_edu and start it. Needs nothing but Python.

    python start.py course    opens the course in JupyterLab
    python start.py tests     runs all checks

It uses only the standard library, and syntax that Python 3.6 can read, so an old Python gets an answer too.
"""

import signal

if __name__ == "__main__" and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # until `main` is there to catch it, Ctrl-C ends this without a word

import argparse
import contextlib
import errno
import hashlib
import http.client
import json
import os
import re
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

try:
    import fcntl

    Locked = BlockingIOError
except ImportError:  # Windows
    import msvcrt

    fcntl, Locked = None, PermissionError

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
STAMP = VENV / "tinygrad_edu.json"
LOCK = ROOT / ".venv.lock"
PARTS = ("pyproject.toml", "constraints.txt", "README.md", "tinygrad_edu", "widgets", "notebooks")
NEEDED = (3, 11)
IP, PORT = "127.0.0.1", 8888

# An environment made for the tests serves the course too.
SERVED_BY = {"course": ("course", "test", "peers"), "test": ("test", "peers"), "peers": ("peers",)}
NBVAL = ["--nbval", "--nbval-current-env", "--nbval-sanitize-with", "tests/nbval_sanitize.cfg"]
IN_TWO = ["-n", "2", "--dist", "loadfile"]  # processes; -n 0 after it is one, for a debugger
PYTEST_STAGES = {
    "units": ("tests", [*IN_TWO, "-m", "not slow and not browser and not docs", "--ignore=tests/peers"]),
    "peers": ("tests/peers", [*IN_TWO, "-m", "not slow"]),
    "notebooks": ("notebooks", NBVAL),
    "docs": ("tests/project", ["-m", "docs"]),  # not tests/ as a whole: collecting it takes half a minute
    "browser": ("tests/browser", [*IN_TWO, "-m", "browser and not slow"]),
}
STAGES = ("lint", "types", *PYTEST_STAGES)

# JupyterLab asks whether it may fetch news. The answer is no, given in advance.
LAB_SETTINGS = {
    "@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False},
}

NO_NETWORK = re.compile(
    r"(name resolution|name or service not known|getaddrinfo|dns error|failed to fetch|error sending request"
    r"|could not connect|new connection|connection (refused|reset)|network is unreachable|no route to host"
    r"|timed out|tunnel connection failed|certificate verify failed|invalid peer certificate).*",
    re.IGNORECASE,
)
NO_ROOM = re.compile(r"(no space left|disk quota exceeded|not enough space on the disk).*", re.IGNORECASE)
NO_RIGHT = re.compile(r"(permission denied|read-only file system|access is denied).*", re.IGNORECASE)
NETWORK_HELP = """The packages could not be downloaded: the package index does not answer.
  - Connect this computer to the internet for the first set-up, then run the same command again.
  - Or name a mirror: set PIP_INDEX_URL (for pip) or UV_DEFAULT_INDEX (for uv) to its address."""
VENV_HELP = """This Python cannot make virtual environments.
  - On Debian or Ubuntu: sudo apt install python3-venv
  - Elsewhere: install Python from python.org, or install uv. Then run the same command again."""
ROOM_HELP = """There is no room for the packages.
  - Free some space, or move the whole project to a disk that has more. Then run the same command again."""
RIGHT_HELP = """The set-up may not write to its folder.
  - Copy the whole project to a folder of your own, below your home folder. Run the same command there."""

# JupyterLab notes there what it runs. The last line of a failure tells which folder, and why.
TRY_RUNTIME = """
import pathlib, tempfile
from jupyter_core.paths import jupyter_runtime_dir
folder = pathlib.Path(jupyter_runtime_dir())
folder.mkdir(mode=0o700, parents=True, exist_ok=True)
with tempfile.TemporaryFile(dir=str(folder)) as file:
    file.write(b"one")
"""


class Problem(Exception):
    """Something that the user can fix. Its text says how."""


class Stop(KeyboardInterrupt):
    """Somebody asked this program to end, and not with Ctrl-C. ``args`` holds the signal's number."""


# ---------------------------------------------------------------- ending


def listen_to_signals():
    """Let Ctrl-C, a request to end and a closed terminal raise here, so that no child is left behind."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    numbers = [number for number in numbers if signal.getsignal(number) != signal.SIG_IGN]  # `nohup` wants it ignored

    def stop(number, frame):
        for one in numbers:  # one request is enough: a second one would disturb the tidying up
            signal.signal(one, signal.SIG_IGN)
        raise Stop(number)

    for number in numbers:
        signal.signal(number, stop)


def end(process, asked):
    """End a process, ever less gently. One that Ctrl-C has asked already gets time to tidy up first."""
    for act in (None if asked else process.terminate, process.terminate, process.kill):
        if act:
            act()
        try:
            process.wait(5)
            return
        except (subprocess.TimeoutExpired, KeyboardInterrupt):  # another Ctrl-C is impatience
            continue
    process.wait()


@contextlib.contextmanager
def child(command, **settings):
    """A process that does not outlive the block."""
    process = subprocess.Popen(command, cwd=str(ROOT), **settings)
    try:
        yield process
    except BaseException as reason:
        end(process, asked=type(reason) is KeyboardInterrupt)
        raise


def call(command):
    """Run a command and return its exit status."""
    with child(command) as process:
        return process.wait()


# ---------------------------------------------------------------- checks


def check_python(version=sys.version_info):
    """Refuse a Python that is too old."""
    if tuple(version[:2]) < NEEDED:
        raise Problem(
            "Python {}.{} or newer is needed, this is {}.{}.\n"
            "  - Get it from python.org/downloads or from your system's packages.\n"
            "  - Then start it by its own name, for example: python3.13 start.py course".format(*NEEDED, *version[:2])
        )


def check_project():
    """Refuse to work on a part of the project, or in a folder where Python cannot make an environment."""
    if os.pathsep in str(ROOT):
        raise Problem(
            f"Python makes no virtual environment in a folder with a {os.pathsep!r} in its name: {ROOT}\n"
            "  - Rename the folder, then run the same command in it."
        )
    try:
        str(ROOT).encode()
    except UnicodeEncodeError:  # as after unpacking an old archive
        raise Problem(
            f"The name of this folder is not text in UTF-8: {str(ROOT)!r}\n"
            "  - Rename the folder, then run the same command in it."
        ) from None
    missing = [name for name in PARTS if not (ROOT / name).exists()]
    if missing:
        raise Problem(
            f"start.py needs the whole project; this is missing in {ROOT}: {', '.join(missing)}.\n"
            "  - Download or clone all of it, and run the start.py inside it."
        )


def own_host(ip):
    """The address by which this computer reaches itself where it listens."""
    return {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}.get(ip, ip)


def answers(ip, port):
    """Whether a server is listening there."""
    try:
        socket.create_connection((own_host(ip), port), timeout=1).close()
    except OSError:
        return False
    return True


def turns_away(ip, port, token):
    """Whether the server there does not know the token: then it is somebody else's."""
    connection = http.client.HTTPConnection(own_host(ip), port, timeout=5)
    try:
        connection.request("GET", "/api/status", headers={"Authorization": "token " + token})
        return connection.getresponse().status == 403
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def refusal(ip, port):
    """The error with which a server could not listen there; None if it could."""
    try:
        with socket.socket(socket.AF_INET6 if ":" in ip else socket.AF_INET) as probe:
            if os.name != "nt":  # as servers do: a port closed a moment ago counts as free
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((ip, port))
    except (OSError, TypeError, ValueError) as error:  # the latter two: no computer can have this name
        return error
    if answers(ip, port):  # macOS lets two programs bind one port
        return OSError(errno.EADDRINUSE, os.strerror(errno.EADDRINUSE))
    return None


def is_free(ip, port):
    """Whether a server could listen there."""
    return refusal(ip, port) is None


def choose_port(ip, port):
    """The port to listen on; 0 stands for any. Refuses one that cannot be had, and names the next free one."""
    error = refusal(ip, port)
    if port and error is None:
        return port
    later = [*range(max(port + 1, 1024), 65536), *range(1024, port)] if port else range(8888, 65536)
    known = error is None or getattr(error, "errno", None) in (errno.EADDRINUSE, errno.EACCES)
    free = next((one for one in later[:1000] if is_free(ip, one)), None) if known else None
    if free is None:
        why = getattr(error, "strerror", None) or error
        raise Problem(
            f"Cannot listen on the address {ip!r}: {why}.\n"
            "  - Leave out --ip: then the course is open to this computer only.\n"
            "  - Or name an address of this computer; --ip 0.0.0.0 stands for all of them."
        )
    if error is None:
        return free
    why = "is reserved by the system" if error.errno == errno.EACCES else "is taken, perhaps by another JupyterLab"
    here = "" if ip == IP else f" --ip {ip}"
    raise Problem(f"Port {port} {why}.\n  - Use the next free one: python start.py course{here} --port {free}")


def check_runtime():
    """Refuse to start a JupyterLab that could not write where it notes what runs."""
    command = [str(PYTHON), "-c", TRY_RUNTIME]
    tried = subprocess.run(command, capture_output=True, check=False)
    if tried.returncode:
        said = tried.stderr.decode("utf-8", "replace").strip().splitlines() or ["no reason given"]
        raise Problem(
            f"JupyterLab cannot write to the folder where it notes what runs. {said[-1]}\n"
            "  - The folder is below your home folder: make room there, or ask for the right to write.\n"
            "  - Or set JUPYTER_RUNTIME_DIR to a folder of your own, then run the same command again."
        )


# ---------------------------------------------------------------- set-up


def stamp_key():
    """A digest of everything that decides what is installed, including the folder: an editable install points to it."""
    parts = [(ROOT / name).read_bytes() for name in ("pyproject.toml", "constraints.txt")]
    parts += [str(ROOT).encode(), sys.version.encode()]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


def read_stamp():
    """The record of the last set-up; empty if there was none."""
    try:
        stamp = json.loads(STAMP.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return stamp if isinstance(stamp, dict) else {}


def write_stamp(**stamp):
    STAMP.write_text(json.dumps(stamp), encoding="utf-8")


def is_ready(extra):
    stamp = read_stamp()
    return PYTHON.exists() and stamp.get("key") == stamp_key() and stamp.get("extra") in SERVED_BY[extra]


def is_usable():
    """Whether .venv can be added to: it runs this same Python, and was not left unfinished."""
    version = sys.version.split()[0]
    command = [str(PYTHON), "-c", f"import sys; sys.exit(sys.version.split()[0] != '{version}')"]
    try:
        return read_stamp().get("extra") != "unfinished" and subprocess.call(command) == 0
    except OSError:
        return False


class Progress:
    """Prints each step with the time since the start and, on a terminal, the output of the running tool."""

    def __init__(self):
        self.start = time.monotonic()

    def step(self, text):
        print(f"[{time.monotonic() - self.start:5.1f} s] {text}", flush=True)

    def run(self, *command):
        """Run a tool. Returns its exit status and all its output."""
        said = []
        live = sys.stdout is not None and sys.stdout.isatty()
        with child(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as tool, tool.stdout:
            for line in tool.stdout:
                said.append(line.decode("utf-8", "replace"))
                if live:
                    print("\r" + f"          {said[-1].strip()}"[:78].ljust(78), end="\r", flush=True)
            status = tool.wait()
        if live:
            print(" " * 78, end="\r", flush=True)
        return status, "".join(said)


def explain(said, fallback):
    """The problem behind what a tool said, or behind an error of the system."""
    for sign, text in ((NO_ROOM, ROOM_HELP), (NO_RIGHT, RIGHT_HELP)):
        found = sign.search(said)
        if found:
            return Problem(f"{text}\n  - The reason given: {found.group()[:200]}")
    return Problem(fallback)


@contextlib.contextmanager
def alone(progress):
    """Let one set-up at a time into this folder: a second one waits. The lock ends with the program that holds it."""
    with open(str(LOCK), "a") as file:
        if not take(file):
            progress.step("another start.py is setting up this folder: waiting for it")
            while not take(file):
                time.sleep(0.2)
        yield


def take(file):
    """Lock a file, if nobody else has. Some network folders know no locks: there one goes on without."""
    try:
        if fcntl:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        else:
            file.seek(0)
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
    except Locked:
        return False
    except OSError:
        return True
    return True


def make_venv(progress):
    """Make an empty .venv, replacing one that cannot be used."""
    if VENV.is_symlink() or (VENV.exists() and not VENV.is_dir()):
        raise Problem(
            f"{VENV} is no folder, and the set-up deletes nothing that it did not make.\n"
            "  - Rename it or delete it, then run the same command again."
        )
    if VENV.exists():
        progress.step("removing a .venv that is unfinished, broken or for another Python")
        shutil.rmtree(str(VENV))
    progress.step("making .venv")
    VENV.mkdir()
    write_stamp(extra="unfinished")  # first: if the rest is interrupted, the next set-up starts again
    status, said = progress.run(sys.executable, "-m", "venv", "--without-pip", str(VENV))
    if status:
        raise explain(said, f"{said}\n{VENV_HELP}")


def install(progress, extra):
    """Install into .venv, with uv if there is one. If uv fails, pip may still know a mirror."""
    if extra == "peers":
        install(progress, "test")
        extra = "test,peers"
    package = ["--editable", f".[{extra}]", "--constraint", "constraints.txt"]
    said = ""
    uv = shutil.which("uv") if "peers" not in extra else None  # pip takes a PyTorch that a machine may have at hand
    if uv:
        progress.step(f"installing tinygrad_edu[{extra}] with uv")
        status, said = progress.run(uv, "pip", "install", "--python", str(PYTHON), *package)
        if status == 0:
            return
    progress.step("{} with pip, about a minute".format("trying again" if uv else f"installing tinygrad_edu[{extra}]"))
    status, text = progress.run(str(PYTHON), "-m", "ensurepip")
    if status == 0:
        status, text = progress.run(str(PYTHON), "-m", "pip", "--retries=2", "install", *package)
    elif not uv:
        raise explain(text, VENV_HELP)
    if status:
        offline = NO_NETWORK.search(said + text)
        if offline:
            raise Problem(f"{NETWORK_HELP}\n  - The tool said: {offline.group()[:100]}")
        raise explain(text, "\n".join((said + text).strip().splitlines()[-12:]))


def set_up(extra):
    """Make .venv hold tinygrad_edu with this extra. Does nothing if it already does."""
    if is_ready(extra):
        return
    progress = Progress()
    try:
        with alone(progress):
            if not is_ready(extra):  # another one may have done it meanwhile
                set_up_alone(progress, extra)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise explain(f"{error.strerror}: {error.filename or VENV}", f"The set-up failed: {error}") from None


def set_up_alone(progress, extra):
    """The steps of a set-up, in an order in which each may be interrupted."""
    progress.step("setting up tinygrad_edu, needed only now and after changes")
    if not is_usable():
        make_venv(progress)
    write_stamp(extra="outdated")
    install(progress, extra)
    quiet_lab(VENV)
    write_stamp(key=stamp_key(), extra=extra)  # last: everything is there
    progress.step("ready")


# ---------------------------------------------------------------- course


def quiet_lab(prefix):
    """Answer JupyterLab's question about news, for the JupyterLab installed there."""
    overrides = Path(prefix) / "share" / "jupyter" / "lab" / "settings" / "overrides.json"
    overrides.parent.mkdir(parents=True, exist_ok=True)
    overrides.write_text(json.dumps(LAB_SETTINGS, indent=2), encoding="utf-8")


@contextlib.contextmanager
def told_by_file(token):
    """The environment of a server that shall know a token: a file tells it, and is gone after the block.

    What the environment itself holds, every notebook could read.
    """
    handle, name = tempfile.mkstemp(prefix="tinygrad_edu-")  # only this user may read it
    try:
        with os.fdopen(handle, "w") as file:
            file.write(token)
        environment = dict(os.environ, JUPYTER_TOKEN_FILE=name)
        environment.pop("JUPYTER_TOKEN", None)
        # Widgets race functions in threads of their own. With a heap of its own, glibc gives a thread's large arrays
        # back after each call, and the race would time that.
        environment.setdefault("MALLOC_ARENA_MAX", "1")
        yield environment
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.remove(name)


def wait_until_open(server, ip, port, token):
    """Return when the server answers. Raises `Problem` if it ends before."""
    while server.poll() is None and (not answers(ip, port) or turns_away(ip, port, token)):
        time.sleep(0.1)
    if server.poll() is not None:
        choose_port(ip, port)  # somebody else may have been faster
        raise Problem(f"JupyterLab ended before it was ready (exit status {server.returncode}). Its reason is above.")


def course(options):
    """Open the course in JupyterLab and wait until it is stopped."""
    choose_port(options.ip, options.port)  # before the set-up, which may take minutes
    set_up("course")
    check_runtime()
    port = choose_port(options.ip, options.port)
    token = secrets.token_hex(16)
    page = "/lab/workspaces/tinygrad_edu/tree/welcome.ipynb"  # a separate workspace: no tabs of other projects
    command = [
        str(PYTHON), "-m", "jupyterlab", "-y", "--LabApp.log_level=ERROR", "--ServerApp.log_level=ERROR",
        f"--ServerApp.ip={options.ip}", f"--ServerApp.port={port}", "--ServerApp.port_retries=0",
        "--ServerApp.root_dir=" + str(ROOT / "notebooks"), f"--LabApp.default_url={page}",
    ]  # fmt: skip
    if options.no_browser:
        command.append("--no-browser")
    if hasattr(os, "geteuid") and os.geteuid() == 0:  # containers often have no other user
        command.append("--allow-root")
    with contextlib.ExitStack() as stack:
        with told_by_file(token) as environment:
            server = stack.enter_context(child(command, env=environment))
            wait_until_open(server, options.ip, port, token)
        host = own_host(options.ip)
        host = f"[{host}]" if ":" in host else host
        print(f"\nThe course is open at\n\n    http://{host}:{port}{page}?token={token}\n")
        print("Press Ctrl-C here to stop it.", flush=True)
        return server.wait()


# ---------------------------------------------------------------- tests


def is_within(path, folder):
    """Whether a path is the folder, or below it."""
    return folder in (path, *path.parents)


def stage_commands(name, arguments):
    """The commands of one stage. Paths among pytest's arguments replace the stage's own folder."""
    if name == "lint":
        return [["ruff", "check"], ["ruff", "format", "--check"]]
    if name == "types":
        return [["mypy"]]
    folder, options = PYTEST_STAGES[name]
    home = ROOT / folder
    paths = {a: ROOT / a.split("::")[0] for a in arguments if (ROOT / a.split("::")[0]).exists()} or {folder: home}
    chosen = [a for a, path in paths.items() if home.exists() and (is_within(path, home) or is_within(home, path))]
    return [["pytest", *options, *(a for a in arguments if a not in paths), *chosen]] if chosen else []


def has_peers():
    """Whether the libraries to compare with are installed."""
    return subprocess.call([str(PYTHON), "-c", "import torch"], stderr=subprocess.DEVNULL) == 0


def run_stage(name, arguments):
    """Run one stage; returns its verdict."""
    if name == "peers" and not has_peers():
        return "left out: it needs PyTorch, which --peers installs"
    start = time.monotonic()
    print(f"\n=== {name} " + "=" * (70 - len(name)), flush=True)
    commands = stage_commands(name, arguments)
    if not commands:
        return "nothing to run"
    verdict = "passed"
    for command in commands:
        status = call([str(PYTHON), "-m", *command])
        if status == 5 and arguments:  # pytest: the arguments chose no test of this stage
            verdict = "nothing chosen"
        elif status:
            verdict = "FAILED"
    return f"{verdict} in {time.monotonic() - start:.1f} s"


def tests(options, arguments):
    """Run the stages in order, all of them even when one fails, and sum up."""
    set_up("peers" if options.peers else "test")
    if options.peers:  # then none of them may be skipped
        os.environ["TINYGRAD_EDU_REQUIRE_PEERS"] = "1"
    verdicts = {name: run_stage(name, arguments) for name in ([options.only] if options.only else STAGES)}
    print("\n=== summary " + "=" * 63)
    for name, verdict in verdicts.items():
        print(f"{name:<10} {verdict}")
    return int(any("FAILED" in verdict for verdict in verdicts.values()))


# ---------------------------------------------------------------- command line


def port_number(text):
    """A port of the command line; argparse says what is wrong."""
    if not (text.isdecimal() and len(text) < 6 and int(text) < 65536):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0 to 65535")
    return int(text)


def make_parser():
    parser = argparse.ArgumentParser(prog="python start.py", description="Set up tinygrad_edu and start it.")
    commands = parser.add_subparsers(dest="command", metavar="course | tests")
    one = commands.add_parser("course", help="open the course in JupyterLab")
    one.add_argument("--no-browser", action="store_true", help="print the address, open no browser")
    one.add_argument(
        "--port", type=port_number, default=PORT, metavar="N", help=f"port to listen on (default {PORT}; 0: a free one)"
    )
    one.add_argument("--ip", default=IP, help=f"address to listen on (default {IP}: this computer only)")
    two = commands.add_parser(
        "tests", allow_abbrev=False, help="run all checks; further arguments go to pytest, best after --"
    )
    two.add_argument("--only", choices=STAGES, help="run this stage only")
    two.add_argument("--peers", action="store_true", help="compare with PyTorch and others too, and install them")
    return parser


def run(arguments):
    """Do what the command line asks for, and return the exit status."""
    check_python()
    cut = arguments.index("--") if "--" in arguments else len(arguments)
    parser = make_parser()
    options, unknown = parser.parse_known_args(arguments[:cut])
    unknown += arguments[cut + 1 :]
    if options.command != "tests" and unknown:
        parser.error("unknown arguments: {}".format(" ".join(unknown)))
    if options.command is None:
        parser.print_help()
        return 2
    check_project()
    return course(options) if options.command == "course" else tests(options, unknown)


def main(arguments=None):
    """Run a command line and return its exit status; a failure is a few lines, and never a traceback."""
    try:
        status = run(sys.argv[1:] if arguments is None else arguments)
        if sys.stdout is not None:
            sys.stdout.flush()  # here, where a closed pipe can still be told from a fault
        return status
    except Problem as problem:
        print(f"\n{problem}", file=sys.stderr)
        return 1
    except BrokenPipeError:  # as after `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python would complain as it exits
        return 141
    except OSError as error:
        print(f"\nThe system refused a step: {error}\n  - Mend that, then run the same command again.", file=sys.stderr)
        return 1
    except Stop as stop:  # after a closed terminal there is nobody to tell
        return 128 + stop.args[0]
    except KeyboardInterrupt:
        print("\nStopped.")
        return 130


if __name__ == "__main__":
    listen_to_signals()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # a name or a tool may hold signs that a console lacks
    status = main()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second Ctrl-C finds nothing left to stop
    sys.exit(status)
