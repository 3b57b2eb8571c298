"""The course as a learner has it: a real server with a real notebook, and a terminal that is closed."""

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
COURSE = """
import sys
from pathlib import Path
import start

start.set_up = lambda extra: None
start.PYTHON = Path(sys.executable)
start.listen_to_signals()
sys.exit(start.main(["course", "--no-browser", "--port", "0"]))
"""
# Every notebook runs this first.
TELL = """
import json, os
from pathlib import Path
note = Path(os.environ["IPYTHONDIR"], "note")
note.with_suffix(".part").write_text(json.dumps([os.getpid(), os.getppid(), dict(os.environ)]))
note.with_suffix(".part").rename(note)
"""


@pytest.fixture
def course(tmp_path):
    """The running course, the address of its server, and the token."""
    startup = tmp_path / "profile_default" / "startup"
    startup.mkdir(parents=True)
    (startup / "tell.py").write_text(TELL)
    ours = {"IPYTHONDIR": str(tmp_path), "JUPYTER_RUNTIME_DIR": str(tmp_path), "JUPYTER_TOKEN": "from elsewhere"}
    command = [sys.executable, "-c", COURSE]
    with subprocess.Popen(command, cwd=ROOT, env={**os.environ, **ours}, stdout=subprocess.PIPE, text=True) as program:
        try:
            found = (re.search(r"(http://[^/]+)/lab/\S+\?token=(\w+)", line) for line in program.stdout)
            yield program, *next(filter(None, found)).groups()
        finally:
            program.terminate()


def soon(condition):
    """Whether something comes true; half a minute is long enough on a busy machine."""
    end = time.monotonic() + 30
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.02)
    return False


def is_gone(process):
    """Whether there is no such process."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    return False


@pytest.mark.skipif(os.name != "posix", reason="Windows has no SIGHUP, and ends what runs in a closed terminal")
def test_a_notebook_knows_no_token_and_nothing_outlives_the_terminal(course, tmp_path):
    program, host, token = course
    request = urllib.request.Request(f"{host}/api/kernels", b"{}", {"Authorization": f"token {token}"})
    with urllib.request.urlopen(request, timeout=30) as answer:
        assert answer.status == 201
    note = tmp_path / "note"
    assert soon(note.exists)
    kernel, server, environ = json.loads(note.read_text())
    assert token not in note.read_text()
    assert "JUPYTER_TOKEN" not in environ
    assert not Path(environ["JUPYTER_TOKEN_FILE"]).exists()

    program.send_signal(signal.SIGHUP)
    assert program.wait(30) == 129
    assert soon(lambda: is_gone(server))
    assert soon(lambda: is_gone(kernel))
