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
from jupyter_client import BlockingKernelClient

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


@pytest.fixture
def course(tmp_path):
    """The running course, and a function that asks its server."""
    environ = {**os.environ, "JUPYTER_RUNTIME_DIR": str(tmp_path), "JUPYTER_TOKEN": "from elsewhere"}
    command = [sys.executable, "-c", COURSE]
    with subprocess.Popen(command, cwd=ROOT, env=environ, stdout=subprocess.PIPE, text=True) as program:
        try:
            said = "".join(iter(program.stdout.readline, "Press Ctrl-C here to stop it.\n"))
            host, token = re.search(r"(http://[^/]+)/lab/\S+\?token=(\w+)", said).groups()

            def ask(path, data=None):
                headers = {"Authorization": f"token {token}"}
                request = urllib.request.Request(host + path, data=data, headers=headers)
                with urllib.request.urlopen(request, timeout=30) as answer:
                    return json.load(answer)

            yield program, token, ask
        finally:
            program.terminate()


@pytest.mark.timeout(100)
@pytest.mark.skipif(os.name != "posix", reason="Windows has no SIGHUP, and ends what runs in a closed terminal")
def test_a_notebook_knows_no_token_and_nothing_outlives_the_terminal(course, tmp_path):
    program, token, ask = course
    kernel = ask("/api/kernels", b"{}")["id"]
    client = BlockingKernelClient(connection_file=str(tmp_path / f"kernel-{kernel}.json"))
    client.load_connection_file()
    client.start_channels()
    client.wait_for_ready(30)
    shown = []
    code = "import json, os; print(json.dumps([os.getpid(), os.getppid(), dict(os.environ)]))"
    client.execute_interactive(code, timeout=30, output_hook=lambda message: shown.append(message["content"]))
    client.stop_channels()
    text = "".join(content.get("text", "") for content in shown)
    process, server, environ = json.loads(text)
    assert token not in text
    assert "JUPYTER_TOKEN" not in environ
    assert not Path(environ["JUPYTER_TOKEN_FILE"]).exists()

    program.send_signal(signal.SIGHUP)
    assert program.wait(30) == 129
    for one in (server, process):
        assert gone(one)


def gone(process):
    """Whether a process ends soon."""
    for _ in range(500):
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.02)
    return False
