"""The launcher is the first thing that a learner meets, on a computer that nobody has seen before."""

import ast
import errno
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

import start

ROOT = Path(__file__).parents[2]
SOURCE = (ROOT / "start.py").read_text(encoding="utf-8")


# ---------------------------------------------------------------- old Pythons


def test_an_old_python_can_read_it():
    tree = ast.parse(SOURCE, feature_version=(3, 6))
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    imported |= {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {name.partition(".")[0] for name in imported} <= sys.stdlib_module_names
    assert "__future__" not in imported


@pytest.mark.parametrize("version", [(3, 6, 15), (3, 10, 0)])
def test_an_old_python_is_refused_with_a_way_out(version):
    with pytest.raises(start.Problem, match=r"3\.11 or newer is needed, this is 3\.\d+\.\n.*python\.org"):
        start.check_python(version)


def test_this_python_is_accepted():
    start.check_python()


# ---------------------------------------------------------------- the command line


def test_help_names_both_commands():
    said = subprocess.check_output([sys.executable, "start.py", "--help"], cwd=ROOT, text=True)
    assert "course" in said
    assert "tests" in said


def test_no_command_prints_the_help(capsys):
    assert start.main([]) == 2
    assert "course" in capsys.readouterr().out


def test_the_course_refuses_unknown_arguments(capsys):
    with pytest.raises(SystemExit):
        start.main(["course", "--prot", "1"])
    assert "unknown arguments: --prot 1" in capsys.readouterr().err


def test_ctrl_c_ends_it_quietly(monkeypatch, capsys):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(start, "tests", interrupt)
    assert start.main(["tests"]) == 130
    assert capsys.readouterr().out == "\nStopped.\n"


# ---------------------------------------------------------------- the folder


def test_this_folder_is_accepted():
    start.check_project()


def test_a_launcher_without_its_project_is_told(tmp_path, monkeypatch):
    (tmp_path / "README.md").touch()
    monkeypatch.setattr(start, "ROOT", tmp_path)
    with pytest.raises(start.Problem) as caught:
        start.check_project()
    assert str(caught.value) == (
        f"start.py needs the whole project; this is missing in {tmp_path}: "
        "pyproject.toml, constraints.txt, tinygrad_edu, widgets, notebooks.\n"
        "  - Download or clone all of it, and run the start.py inside it."
    )


@pytest.mark.parametrize(
    ("name", "why"),
    [(f"a{os.pathsep}b", f"a folder with a {os.pathsep!r} in its name"), ("K\udce4se", "is not text in UTF-8")],
)
@pytest.mark.parametrize("command", ["course", "tests"])
def test_a_folder_with_an_impossible_name_is_told(monkeypatch, capsys, name, why, command):
    monkeypatch.setattr(start, "ROOT", Path("nowhere", name))
    assert start.main([command]) == 1
    said = capsys.readouterr().err
    assert why in said
    assert "Rename the folder" in said


# ---------------------------------------------------------------- how it ends


# A shell's background jobs ignore Ctrl-C, and what they start does too; this program hears it again.
HEARING = "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); os.execv(sys.executable, sys.argv[1:])"


def interrupted(tmp_path, module, *command, code="signal.raise_signal(signal.SIGINT); time.sleep(20)"):
    """Run a command that gets Ctrl-C at the moment when it imports ``module``. Returns its status and all it says."""
    (tmp_path / f"{module}.py").write_text(f"import signal, time\n{code}")
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)])}
    words = [sys.executable, "-c", HEARING, sys.executable, *command]
    done = subprocess.run(words, cwd=ROOT, env=environ, capture_output=True, timeout=50, check=False)
    return done.returncode, done.stdout + done.stderr


on_posix = pytest.mark.skipif(os.name != "posix", reason="Windows has other signals")


@on_posix
def test_an_early_ctrl_c_ends_it_without_a_word(tmp_path):
    """A shell gives a program that a signal ended the status 128 + the signal, here 130."""
    assert interrupted(tmp_path, "argparse", "start.py", "course") == (-signal.SIGINT, b"")


@on_posix
def test_an_early_ctrl_c_ends_the_command_line_without_a_word(tmp_path):
    script = tmp_path / "tinygrad-edu"
    script.write_text("import sys\nfrom tinygrad_edu.cli import main\nsys.exit(main())")
    for command in (["-m", "tinygrad_edu"], [str(script)]):
        assert interrupted(tmp_path, "numpy", *command, "doctor") == (-signal.SIGINT, b"")


@on_posix
def test_other_programs_keep_their_ctrl_c(tmp_path):
    status, said = interrupted(tmp_path, "numpy", "-c", "import tinygrad_edu")
    assert status == -signal.SIGINT
    assert b"KeyboardInterrupt" in said


@on_posix
@pytest.mark.parametrize(
    ("name", "status", "said"), [("SIGINT", 130, b"\nStopped.\n"), ("SIGTERM", 143, b""), ("SIGHUP", 129, b"")]
)
def test_later_signals_give_the_status_of_shells(tmp_path, name, status, said):
    code = f"def ArgumentParser(**_): signal.raise_signal(signal.{name})"
    assert interrupted(tmp_path, "argparse", "start.py", "course", code=code) == (status, said)


NAMES = ["SIGHUP", "SIGTERM"]
HOLD = "import os, sys, time; open(sys.argv[1], 'w').write(f'{os.getpid()}.'); time.sleep(60)"


@on_posix
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("way", ["start.call(command)", "start.Progress().run(*command)"])
def test_no_child_is_left_behind(tmp_path, name, way):
    note = tmp_path / "process"
    command = [sys.executable, "-c", HOLD, str(note)]
    code = (
        f"import sys, start\ncommand = {command!r}\nstart.course = lambda options: {way}\n"
        "start.listen_to_signals()\nsys.exit(start.main(['course']))"
    )
    with subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE) as program:
        try:
            until(lambda: note.exists() and note.read_text().endswith("."))
            program.send_signal(getattr(signal, name))
            assert program.communicate(timeout=30) == (b"", None)
        finally:
            program.kill()
    assert program.returncode == 128 + getattr(signal, name)
    with pytest.raises(ProcessLookupError):
        os.kill(int(note.read_text()[:-1]), 0)


def until(condition):
    """Wait for something that comes soon, or fail."""
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


@on_posix
@pytest.mark.parametrize("name", NAMES)
def test_a_signal_that_is_ignored_stays_ignored(name):
    """As `nohup` does, so that a server outlives its terminal."""
    code = f"import signal, start\nnumber = signal.{name}\nsignal.signal(number, signal.SIG_IGN)\n"
    code += "start.listen_to_signals()\nassert signal.getsignal(number) == signal.SIG_IGN"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, timeout=50, check=True)


def test_what_ctrl_c_has_asked_gets_time_to_tidy_up():
    with start.child([sys.executable, "-c", "import time; time.sleep(0.5)"]) as process:
        start.end(process, asked=True)
    assert process.returncode == 0


@on_posix
def test_a_child_that_hears_nothing_is_killed(monkeypatch):
    """And impatience shortens the wait: here, Ctrl-C comes again and again."""
    deaf = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(1, flush=True); time.sleep(60)"
    with start.child([sys.executable, "-c", deaf], stdout=subprocess.PIPE) as process, process.stdout:
        process.stdout.readline()
        wait = process.wait

        def impatient(timeout=None):
            if timeout is not None:
                raise KeyboardInterrupt
            return wait(20)

        monkeypatch.setattr(process, "wait", impatient)
        start.end(process, asked=True)
    assert process.returncode == -signal.SIGKILL


@on_posix
def test_a_closed_pipe_ends_it_quietly():
    environ = {**os.environ, "PYTHONUNBUFFERED": ""}
    with subprocess.Popen([sys.executable, "start.py"], cwd=ROOT, env=environ, stdout=-1, stderr=-1) as program:
        program.stdout.close()  # before it writes, as `| head` does when it has enough
        said = program.stderr.read()
    assert (program.returncode, said) == (141, b"")


# ---------------------------------------------------------------- ports


def test_a_taken_port_names_a_free_one(capsys):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        assert start.main(["course", "--port", str(port)]) == 1
    said = capsys.readouterr().err
    assert f"Port {port} is taken" in said
    assert start.is_free("127.0.0.1", int(said.rsplit("--port ", 1)[1]))


def test_a_port_closed_a_moment_ago_is_free():
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        socket.create_connection(("127.0.0.1", port)).close()
    assert start.is_free("127.0.0.1", port)


@pytest.mark.parametrize("port", ["-1", "65536", "99999", "abc", "", "9" * 5000])
def test_a_port_that_cannot_be_is_refused(port, capsys):
    with pytest.raises(SystemExit) as ended:
        start.main(["course", "--port", port])
    assert ended.value.code == 2
    assert f"{port!r} is not a whole number from 0 to 65535" in capsys.readouterr().err


@pytest.mark.parametrize("ip", ["203.0.113.1", "nowhere.invalid", "a:b", "ä" * 100])
def test_an_address_of_no_use_is_told(ip, capsys):
    assert start.main(["course", "--ip", ip]) == 1
    said = capsys.readouterr().err
    assert f"Cannot listen on the address {ip!r}: " in said
    assert "Leave out --ip" in said


def test_port_0_stands_for_a_free_one():
    port = start.choose_port(start.IP, 0)
    assert port >= start.PORT
    assert start.is_free(start.IP, port)


def test_a_reserved_port_is_not_called_taken(monkeypatch):
    reserved = OSError(errno.EACCES, "Permission denied")
    monkeypatch.setattr(start, "refusal", lambda ip, port: reserved if port < 1024 else None)
    with pytest.raises(start.Problem) as caught:
        start.choose_port("0.0.0.0", 80)
    assert str(caught.value) == (
        "Port 80 is reserved by the system.\n  - Use the next free one: python start.py course --ip 0.0.0.0 --port 1024"
    )


def test_the_last_port_has_others_before_it(monkeypatch):
    taken = OSError(errno.EADDRINUSE, "Address already in use")
    monkeypatch.setattr(start, "refusal", lambda ip, port: taken if port == 65535 else None)
    with pytest.raises(start.Problem, match=r"Port 65535 is taken(?s:.*)--port 1024$"):
        start.choose_port(start.IP, 65535)


# ---------------------------------------------------------------- set-up


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A project folder of its own, in which nothing is set up yet."""
    folder = tmp_path / "Käse & Brötchen"
    folder.mkdir()
    for name in ("pyproject.toml", "constraints.txt"):
        (folder / name).write_text(name)
    venv = folder / ".venv"
    monkeypatch.setattr(start, "ROOT", folder)
    monkeypatch.setattr(start, "VENV", venv)
    monkeypatch.setattr(start, "PYTHON", venv / start.PYTHON.relative_to(ROOT / ".venv"))
    monkeypatch.setattr(start, "STAMP", venv / start.STAMP.name)
    monkeypatch.setattr(start, "LOCK", folder / start.LOCK.name)
    return folder


@pytest.fixture
def installs(monkeypatch):
    """Stands in for the installation and remembers what was asked for."""
    asked = []
    monkeypatch.setattr(start, "install", lambda progress, extra: asked.append(extra))
    return asked


def test_set_up_is_done_once(place, installs):
    start.set_up("course")
    start.set_up("course")
    assert installs == ["course"]
    assert (place / ".venv/share/jupyter/lab/settings/overrides.json").is_file()


def test_the_tests_serve_the_course_but_not_the_reverse(place, installs):
    start.set_up("course")
    start.set_up("test")
    start.set_up("course")
    assert installs == ["course", "test"]


@pytest.mark.parametrize("name", ["pyproject.toml", "constraints.txt"])
def test_a_change_installs_again_into_the_same_place(place, installs, name):
    start.set_up("course")
    (place / ".venv" / "kept").touch()
    (place / name).write_text("changed")
    start.set_up("course")
    assert installs == ["course", "course"]
    assert (place / ".venv" / "kept").exists()


def test_a_broken_environment_is_made_anew(place, installs):
    start.set_up("course")
    start.PYTHON.unlink()
    start.set_up("course")
    assert installs == ["course", "course"]
    assert start.PYTHON.exists()


def test_a_damaged_stamp_counts_as_none(place, installs):
    start.set_up("course")
    start.STAMP.write_text("[]")
    assert start.read_stamp() == {}
    start.STAMP.write_text('{"key"')
    start.set_up("course")
    assert installs == ["course", "course"]


def test_an_interrupted_making_starts_anew(place, installs, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(start.Progress, "run", interrupt)
        with pytest.raises(KeyboardInterrupt):
            start.set_up("course")
    (place / ".venv" / "left over").touch()
    start.set_up("course")
    assert not (place / ".venv" / "left over").exists()
    assert start.is_ready("course")


def test_an_interrupted_installation_goes_on(place, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(start, "install", interrupt)
        with pytest.raises(KeyboardInterrupt):
            start.set_up("course")
    assert start.is_usable()
    assert not start.is_ready("course")


@pytest.mark.parametrize(
    ("number", "told"),
    [(errno.EACCES, start.RIGHT_HELP), (errno.EROFS, start.RIGHT_HELP), (errno.ENOSPC, start.ROOM_HELP)],
)
@pytest.mark.parametrize("step", ["alone", "make_venv", "write_stamp", "quiet_lab"])
def test_a_folder_that_cannot_be_written_is_explained(place, installs, monkeypatch, number, told, step):
    def refuse(*_, **__):
        raise OSError(number, os.strerror(number), "the folder")

    monkeypatch.setattr(start, step, refuse)
    with pytest.raises(start.Problem) as caught:
        start.set_up("course")
    assert str(caught.value) == f"{told}\n  - The reason given: {os.strerror(number)}: the folder"


def test_another_error_of_the_system_is_told(place, installs, monkeypatch):
    def refuse(*_):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(start, "make_venv", refuse)
    with pytest.raises(start.Problem, match=r"The set-up failed: .*Input/output error"):
        start.set_up("course")


def test_a_file_where_the_environment_should_be_is_left_alone(place, installs):
    start.VENV.write_text("mine")
    with pytest.raises(start.Problem, match=r"\.venv is no folder(?s:.*)Rename it or delete it"):
        start.set_up("course")
    assert start.VENV.read_text() == "mine"


@pytest.mark.skipif(os.name == "nt", reason="making links needs a right there")
def test_a_link_that_leads_nowhere_is_left_alone(place, installs):
    start.VENV.symlink_to(place / "gone")
    with pytest.raises(start.Problem, match=r"\.venv is no folder"):
        start.set_up("course")
    assert start.VENV.is_symlink()


def test_a_python_without_venv_is_explained(place, installs, monkeypatch):
    monkeypatch.setattr(start.Progress, "run", lambda *_: (1, "No module named venv"))
    with pytest.raises(start.Problem, match=r"No module named venv\nThis Python cannot(?s:.*)python3-venv"):
        start.set_up("course")


def test_a_lock_is_for_one_at_a_time(place):
    with open(start.LOCK, "a") as one, open(start.LOCK, "a") as two:
        assert start.take(one)
        assert not start.take(two)
        one.close()
        assert start.take(two)


def test_a_second_set_up_waits_and_finds_it_done(place, installs, monkeypatch, capsys):
    with open(start.LOCK, "a") as other:
        assert start.take(other)

        def meanwhile(seconds):
            start.PYTHON.parent.mkdir(parents=True)
            start.PYTHON.touch()
            start.write_stamp(key=start.stamp_key(), extra="course")
            other.close()

        monkeypatch.setattr(start.time, "sleep", meanwhile)
        start.set_up("course")
    assert installs == []
    assert "another start.py is setting up this folder: waiting for it" in capsys.readouterr().out


def test_what_is_ready_needs_no_right_to_write(place, installs, monkeypatch):
    start.set_up("course")
    monkeypatch.setattr(start, "LOCK", place / "gone" / "lock")
    start.set_up("course")
    assert installs == ["course"]


@pytest.fixture
def tools(monkeypatch):
    """Stands in for uv and pip: maps a word of the command to its status and text."""
    answers, asked = {}, []

    def run(self, *command):
        asked.append(" ".join(command))
        return next((answer for word, answer in answers.items() if word in command), (0, ""))

    monkeypatch.setattr(start.Progress, "run", run)
    monkeypatch.setattr(start.shutil, "which", lambda name: name)
    return answers, asked


def test_uv_alone_is_enough(tools):
    start.install(start.Progress(), "course")
    assert len(tools[1]) == 1
    assert tools[1][0].startswith("uv pip install")
    assert tools[1][0].endswith("--editable .[course] --constraint constraints.txt")


def test_pip_is_tried_where_uv_fails(tools):
    tools[0]["uv"] = (1, "no solution found")
    start.install(start.Progress(), "course")
    assert "-m pip" in tools[1][-1]


@pytest.mark.parametrize(
    "text",
    [
        "Failed to establish a new connection: [Errno -3] Temporary failure in name resolution",
        "error: Failed to fetch: `https://example.org/simple/numpy/`\n  Caused by: dns error",
        "ReadTimeoutError: Read timed out.",
    ],
)
def test_a_missing_network_is_explained(tools, text):
    tools[0].update({"uv": (2, text), "-m": (1, text)})
    with pytest.raises(start.Problem, match=r"(?s)Connect this computer.*PIP_INDEX_URL.*UV_DEFAULT_INDEX"):
        start.install(start.Progress(), "course")


def test_another_failure_is_shown_as_it_is(tools):
    tools[0].update({"uv": (1, ""), "pip": (1, "ERROR: no matching distribution found")})
    with pytest.raises(start.Problem) as caught:
        start.install(start.Progress(), "course")
    assert str(caught.value) == "ERROR: no matching distribution found"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device", start.ROOM_HELP),
        ("error: failed to write: Disk quota exceeded (os error 122)", start.ROOM_HELP),
        ("ERROR: [WinError 112] There is not enough space on the disk", start.ROOM_HELP),
        ("error: failed to create directory: Read-only file system (os error 30)", start.RIGHT_HELP),
        ("PermissionError: [WinError 5] Access is denied: 'C:\\\\.venv'", start.RIGHT_HELP),
    ],
)
@pytest.mark.parametrize("step", ["pip", "ensurepip"])
def test_what_the_disk_refuses_is_explained(tools, monkeypatch, text, told, step):
    monkeypatch.setattr(start.shutil, "which", lambda name: None)
    tools[0][step] = (1, text)
    with pytest.raises(start.Problem) as caught:
        start.install(start.Progress(), "course")
    assert str(caught.value).startswith(f"{told}\n  - The reason given: ")
    assert str(caught.value).rpartition(": ")[2] in text


def test_a_python_without_ensurepip_is_explained(tools, monkeypatch):
    monkeypatch.setattr(start.shutil, "which", lambda name: None)
    tools[0]["ensurepip"] = (1, "No module named ensurepip")
    with pytest.raises(start.Problem, match="apt install python3-venv"):
        start.install(start.Progress(), "course")


def test_progress_returns_what_a_tool_said():
    status, said = start.Progress().run(sys.executable, "-c", "print('one'); raise SystemExit(3)")
    assert (status, said.split()) == (3, ["one"])


# ---------------------------------------------------------------- the server


def test_the_token_is_told_by_a_file_that_vanishes(monkeypatch):
    monkeypatch.setenv("JUPYTER_TOKEN", "another")
    with start.told_by_file("secret") as environment:
        file = Path(environment["JUPYTER_TOKEN_FILE"])
        assert file.read_text() == "secret"
        assert os.name == "nt" or file.stat().st_mode & 0o077 == 0
        assert "JUPYTER_TOKEN" not in environment
        assert "secret" not in " ".join(environment.values())
    assert not file.exists()


@pytest.fixture
def neighbour():
    """Another server, which gives the status that its address ends with."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(self.server.status)
            self.end_headers()

        def log_message(self, *_):
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(("status", "turned_away"), [(200, False), (403, True), (404, False)])
def test_another_server_knows_no_token_of_ours(neighbour, status, turned_away):
    neighbour.status = status
    assert start.turns_away("127.0.0.1", neighbour.server_port, "secret") is turned_away


def test_the_address_of_another_server_is_never_printed(neighbour):
    """Two starts at once: the slower one finds the port taken only as its server ends."""
    neighbour.status = 403
    port = neighbour.server_port
    code = "import time; time.sleep(0.5); raise SystemExit(1)"
    with (
        pytest.raises(start.Problem, match=f"Port {port} is taken"),
        start.child([sys.executable, "-c", code]) as server,
    ):
        start.wait_until_open(server, "127.0.0.1", port, "secret")


def test_a_server_that_does_not_start_is_told():
    port = start.choose_port(start.IP, 0)
    told = pytest.raises(start.Problem, match=r"ended before it was ready \(exit status 3\)")
    with told, start.child([sys.executable, "-c", "raise SystemExit(3)"]) as server:
        start.wait_until_open(server, start.IP, port, "secret")


def test_a_runtime_folder_that_cannot_be_written_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(start, "PYTHON", Path(sys.executable))
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "folder"))
    start.check_runtime()
    (tmp_path / "file").touch()
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "file" / "below"))
    with pytest.raises(start.Problem, match=r"cannot write (?s:.*)'.*file.*'(?s:.*)JUPYTER_RUNTIME_DIR"):
        start.check_runtime()


# ---------------------------------------------------------------- the test command


def test_the_stages():
    assert start.STAGES == ("lint", "types", "units", "peers", "notebooks", "docs", "browser")


@pytest.mark.parametrize(("arguments", "extra", "required"), [([], "test", None), (["--peers"], "peers", "1")])
def test_comparing_with_others_is_asked_for(monkeypatch, capsys, arguments, extra, required):
    asked, seen = [], []
    monkeypatch.delenv("TINYGRAD_EDU_REQUIRE_PEERS", raising=False)
    monkeypatch.setattr(start, "set_up", asked.append)
    monkeypatch.setattr(start, "has_peers", lambda: bool(required))
    monkeypatch.setattr(
        start, "call", lambda command: seen.append(start.os.environ.get("TINYGRAD_EDU_REQUIRE_PEERS")) or 0
    )
    assert start.main(["tests", "--only", "peers", *arguments]) == 0
    assert asked == [extra]
    assert seen == [required] * bool(required)
    assert ("left out: it needs PyTorch, which --peers installs" in capsys.readouterr().out) is (not required)
    monkeypatch.delenv("TINYGRAD_EDU_REQUIRE_PEERS", raising=False)


def test_the_gate_skips_no_comparison():
    """CI asks for them, and then a comparison that would be skipped is an error."""
    assert "start.py tests --peers" in (ROOT / ".ci/run").read_text(encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/peers/test_data.py"]
    blind = "import importlib.util as u; f = u.find_spec; u.find_spec = lambda n, *a: None if n == 'jax' else f(n, *a)"
    code = f"{blind}; import pytest, sys; sys.exit(pytest.main(sys.argv[1:]))"
    command[1:3] = ["-c", code]
    told = {**start.os.environ, "TINYGRAD_EDU_REQUIRE_PEERS": "1"}
    result = subprocess.run(command, cwd=ROOT, env=told, capture_output=True, text=True, check=False)
    assert result.returncode != 0
    assert "jax; python start.py tests --peers installs them" in result.stderr + result.stdout


def test_arguments_reach_pytest_and_paths_replace_the_folder():
    assert start.stage_commands("units", ["-x"])[0][-2:] == ["-x", "tests"]
    here = "tests/project/test_launcher.py::test_this_python_is_accepted"
    assert start.stage_commands("units", ["-x", here])[0][-2:] == ["-x", here]
    assert start.stage_commands("notebooks", [here]) == []
    assert start.stage_commands("browser", [here]) == []
    assert start.stage_commands("docs", [here])[0][-1] == here
    assert start.stage_commands("docs", [])[0][-1] == "tests/project"
    assert start.stage_commands("browser", ["tests"])[0][-1] == "tests"


@pytest.mark.parametrize("stage", ["docs", "browser"])
def test_a_stage_looks_where_its_tests_are(stage):
    folder = start.ROOT / start.PYTEST_STAGES[stage][0]
    mark = "pytest.mark." + stage
    marked = [path for path in (start.ROOT / "tests").rglob("*.py") if mark in path.read_text(encoding="utf-8")]
    assert marked
    assert [path for path in marked if folder not in path.parents] == []


@pytest.mark.parametrize(
    ("status", "arguments", "verdict", "exit_status"),
    [
        (0, [], "passed", 0),
        (1, [], "FAILED", 1),
        (5, [], "FAILED", 1),  # no test found
        (5, ["--", "-k", "nothing"], "nothing chosen", 0),
    ],
)
def test_the_summary_tells_what_happened(monkeypatch, capsys, status, arguments, verdict, exit_status):
    monkeypatch.setattr(start, "set_up", lambda extra: None)
    monkeypatch.setattr(start, "call", lambda command: status)
    assert start.main(["tests", "--only", "units", *arguments]) == exit_status
    assert f"units      {verdict}" in capsys.readouterr().out
