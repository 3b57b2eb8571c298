"""The launcher is the first thing that a learner meets, on a computer that nobody has seen before."""

import ast
import socket
import subprocess
import sys
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
    assert imported <= sys.stdlib_module_names
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


@pytest.mark.parametrize("arguments", [["--port", "70000"], ["--ip", "203.0.113.1"]])
def test_what_cannot_be_listened_on_is_said(arguments, capsys):
    assert start.main(["course", *arguments]) == 1
    assert "Cannot listen on" in capsys.readouterr().err


# ---------------------------------------------------------------- set-up


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A project folder of its own, in which nothing is set up yet."""
    for name in ("pyproject.toml", "constraints.txt"):
        (tmp_path / name).write_text(name)
    venv = tmp_path / ".venv"
    monkeypatch.setattr(start, "ROOT", tmp_path)
    monkeypatch.setattr(start, "VENV", venv)
    monkeypatch.setattr(start, "PYTHON", venv / start.PYTHON.relative_to(ROOT / ".venv"))
    monkeypatch.setattr(start, "STAMP", venv / start.STAMP.name)
    return tmp_path


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
    tools[0].update({"uv": (1, ""), "pip": (1, "ERROR: no space left on device")})
    with pytest.raises(start.Problem) as caught:
        start.install(start.Progress(), "course")
    assert str(caught.value) == "ERROR: no space left on device"


def test_a_python_without_ensurepip_is_explained(tools, monkeypatch):
    monkeypatch.setattr(start.shutil, "which", lambda name: None)
    tools[0]["ensurepip"] = (1, "No module named ensurepip")
    with pytest.raises(start.Problem, match="apt install python3-venv"):
        start.install(start.Progress(), "course")


def test_progress_returns_what_a_tool_said():
    status, said = start.Progress().run(sys.executable, "-c", "print('one'); raise SystemExit(3)")
    assert (status, said.split()) == (3, ["one"])


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
        start.subprocess, "call", lambda *_, **__: seen.append(start.os.environ.get("TINYGRAD_EDU_REQUIRE_PEERS")) or 0
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
    monkeypatch.setattr(start.subprocess, "call", lambda *_, **__: status)
    assert start.main(["tests", "--only", "units", *arguments]) == exit_status
    assert f"units      {verdict}" in capsys.readouterr().out
