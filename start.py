#!/usr/bin/env python3
"""Set up tinygrad_edu and start it. Needs nothing but Python.

    python start.py course    opens the course in JupyterLab
    python start.py tests     runs all checks

It uses only the standard library, and syntax that Python 3.6 can read, so an old Python gets an answer too.
"""

import argparse
import hashlib
import json
import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
STAMP = VENV / "tinygrad_edu.json"
NEEDED = (3, 11)

# An environment made for the tests serves the course too.
SERVED_BY = {"course": ("course", "test", "peers"), "test": ("test", "peers"), "peers": ("peers",)}
NBVAL = ["--nbval", "--nbval-current-env", "--nbval-sanitize-with", "tests/nbval_sanitize.cfg"]
IN_TWO = ["-n", "2", "--dist", "loadfile"]  # processes; -n 0 after it is one, for a debugger
PYTEST_STAGES = {
    "units": ("tests", [*IN_TWO, "-m", "not slow and not browser and not docs", "--ignore=tests/peers"]),
    "peers": ("tests/peers", [*IN_TWO, "-m", "not slow"]),
    "notebooks": ("notebooks", NBVAL),
    "docs": ("tests/project", ["-m", "docs"]),  # not tests/ as a whole: collecting it takes half a minute
    "browser": ("tests/browser", [*IN_TWO, "-m", "browser"]),
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
NETWORK_HELP = """The packages could not be downloaded: the package index does not answer.
  - Connect this computer to the internet for the first set-up, then run the same command again.
  - Or name a mirror: set PIP_INDEX_URL (for pip) or UV_DEFAULT_INDEX (for uv) to its address."""
VENV_HELP = """This Python cannot make virtual environments.
  - On Debian or Ubuntu: sudo apt install python3-venv
  - Elsewhere: install Python from python.org, or install uv. Then run the same command again."""


class Problem(Exception):
    """Something that the user can fix. Its text says how."""


# ---------------------------------------------------------------- checks


def check_python(version=sys.version_info):
    """Refuse a Python that is too old."""
    if tuple(version[:2]) < NEEDED:
        raise Problem(
            "Python {}.{} or newer is needed, this is {}.{}.\n"
            "  - Get it from python.org/downloads or from your system's packages.\n"
            "  - Then start it by its own name, for example: python3.13 start.py course".format(*NEEDED, *version[:2])
        )


def answers(ip, port):
    """Whether a server is listening there."""
    try:
        socket.create_connection(("127.0.0.1" if ip == "0.0.0.0" else ip, port), timeout=1).close()
    except OSError:
        return False
    return True


def is_free(ip, port):
    """Whether a server could listen there."""
    with socket.socket(socket.AF_INET6 if ":" in ip else socket.AF_INET) as probe:
        if os.name != "nt":  # as servers do: a port closed a moment ago counts as free
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((ip, port))
        except (OSError, OverflowError):
            return False
    return not answers(ip, port)  # macOS lets two programs bind one port


def check_port(ip, port):
    """Refuse a port that is not free, and name the next free one."""
    if is_free(ip, port):
        return
    free = next((p for p in range(max(port + 1, 1024), port + 1100) if is_free(ip, p)), None)
    if free is None:
        raise Problem(f"Cannot listen on {ip}, port {port}. Leave out --ip and --port, or correct them.")
    raise Problem(
        f"Port {port} is taken, perhaps by another JupyterLab.\n"
        f"  - Use the next free one: python start.py course --port {free}"
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
        live = sys.stdout.isatty()
        with subprocess.Popen(command, cwd=str(ROOT), stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as tool:
            for line in tool.stdout:
                said.append(line.decode("utf-8", "replace"))
                if live:
                    print("\r" + f"          {said[-1].strip()}"[:78].ljust(78), end="\r", flush=True)
        if live:
            print(" " * 78, end="\r", flush=True)
        return tool.returncode, "".join(said)


def make_venv(progress):
    """Make an empty .venv, replacing one that cannot be used."""
    if VENV.exists():
        progress.step("removing a .venv that is unfinished, broken or for another Python")
        shutil.rmtree(str(VENV))
    progress.step("making .venv")
    VENV.mkdir()
    write_stamp(extra="unfinished")  # first: if the rest is interrupted, the next set-up starts again
    status, said = progress.run(sys.executable, "-m", "venv", "--without-pip", str(VENV))
    if status:
        raise Problem(f"{said}\n{VENV_HELP}")


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
        raise Problem(VENV_HELP)
    if status:
        offline = NO_NETWORK.search(said + text)
        if offline:
            raise Problem(f"{NETWORK_HELP}\n  - The tool said: {offline.group()[:100]}")
        raise Problem("\n".join((said + text).strip().splitlines()[-12:]))


def set_up(extra):
    """Make .venv hold tinygrad_edu with this extra. Does nothing if it already does."""
    if is_ready(extra):
        return
    progress = Progress()
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


def course(options):
    """Open the course in JupyterLab and wait until it is stopped."""
    check_port(options.ip, options.port)
    set_up("course")
    token = secrets.token_hex(16)
    page = "/lab/workspaces/tinygrad_edu/tree/welcome.ipynb"  # a separate workspace: no tabs of other projects
    command = [
        str(PYTHON), "-m", "jupyterlab", "-y", "--LabApp.log_level=ERROR", "--ServerApp.log_level=ERROR",
        f"--ServerApp.ip={options.ip}", f"--ServerApp.port={options.port}", "--ServerApp.port_retries=0",
        "--ServerApp.root_dir=" + str(ROOT / "notebooks"), f"--LabApp.default_url={page}",
    ]  # fmt: skip
    if options.no_browser:
        command.append("--no-browser")
    if hasattr(os, "geteuid") and os.geteuid() == 0:  # containers often have no other user
        command.append("--allow-root")
    server = subprocess.Popen(command, cwd=str(ROOT), env=dict(os.environ, JUPYTER_TOKEN=token))
    try:
        while server.poll() is None and not answers(options.ip, options.port):
            time.sleep(0.1)
        if server.poll() is None:
            host = "127.0.0.1" if options.ip == "0.0.0.0" else options.ip
            print(f"\nThe course is open at\n\n    http://{host}:{options.port}{page}?token={token}\n")
            print("Press Ctrl-C here to stop it.", flush=True)
        return server.wait()
    finally:
        try:  # Ctrl-C reaches the server too: let it shut its kernels down
            server.wait(5)
        except subprocess.TimeoutExpired:
            server.terminate()
            server.wait()


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
        status = subprocess.call([str(PYTHON), "-m", *command], cwd=str(ROOT))
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


def make_parser():
    parser = argparse.ArgumentParser(prog="python start.py", description="Set up tinygrad_edu and start it.")
    commands = parser.add_subparsers(dest="command", metavar="course | tests")
    one = commands.add_parser("course", help="open the course in JupyterLab")
    one.add_argument("--no-browser", action="store_true", help="print the address, open no browser")
    one.add_argument("--port", type=int, default=8888, metavar="N", help="port to listen on (default 8888)")
    one.add_argument("--ip", default="127.0.0.1", help="address to listen on (default 127.0.0.1: this computer only)")
    two = commands.add_parser(
        "tests", allow_abbrev=False, help="run all checks; further arguments go to pytest, best after --"
    )
    two.add_argument("--only", choices=STAGES, help="run this stage only")
    two.add_argument("--peers", action="store_true", help="compare with PyTorch and others too, and install them")
    return parser


def main(arguments=None):
    arguments = sys.argv[1:] if arguments is None else arguments
    try:
        check_python()
        cut = arguments.index("--") if "--" in arguments else len(arguments)
        parser = make_parser()
        options, unknown = parser.parse_known_args(arguments[:cut])
        unknown += arguments[cut + 1 :]
        if options.command == "tests":
            return tests(options, unknown)
        if unknown:
            parser.error("unknown arguments: {}".format(" ".join(unknown)))
        if options.command == "course":
            return course(options)
        parser.print_help()
        return 2
    except Problem as problem:
        print(f"\n{problem}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nStopped.")
        return 130


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # a request to end counts as Ctrl-C
    sys.exit(main())
