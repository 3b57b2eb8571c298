"""The project stands on its own: no file speaks of one computer, and the documents tell the truth."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

import start

ROOT = Path(__file__).parents[2]

# Letters in brackets keep these lines from matching themselves.
ELSEWHERE = re.compile(
    r"(^|[^\w.])/(w[o]rk|f[a]rm|r[o]ot|h[o]me/\w+|U[s]ers)/"
    r"|/t[m]p/ipykernel_"
    r"|(^|[^\w])s[h]ared/"
    r"|(py[p]i\.org|python[h]osted\.org|npm[j]s\.(org|com)|deb[.]debian\.org)"
)


def project_files() -> list[Path]:
    if not (ROOT / ".git").exists() or shutil.which("git") is None:
        pytest.skip("needs a git checkout, to know which files belong to the project")
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    names = subprocess.check_output(command, cwd=ROOT, text=True, encoding="utf-8").split("\0")
    return [ROOT / name for name in names if (ROOT / name).is_file()]


def test_no_file_speaks_of_one_computer():
    found = []
    for file in project_files():
        try:
            lines = file.read_text(encoding="utf-8").splitlines()
        except UnicodeDecodeError:
            continue  # pictures and data
        found += [
            f"{file.relative_to(ROOT)}:{n}: {line.strip()[:120]}"
            for n, line in enumerate(lines, 1)
            if ELSEWHERE.search(line)
        ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "line",
    [
        "see /w" + "ork/main",
        "in s" + "hared/notes",
        "from https://py" + "pi.org/simple",
        "/t" + "mp/ipykernel_12/3.py",
    ],
)
def test_the_pattern_finds(line):
    assert ELSEWHERE.search(line)


@pytest.mark.parametrize("document", ["README.md", "CONTRIBUTING.md", ".github/workflows/ci.yml"])
def test_every_start_command_in_the_documents_exists(document):
    text = (ROOT / document).read_text(encoding="utf-8")
    commands = re.findall(r"python3? start\.py ([^\n`]+)", text)
    assert commands
    for command in commands:
        options, unknown = start.make_parser().parse_known_args(command.split(" -- ")[0].split())
        assert options.command in ("course", "tests")
        assert not unknown


def test_every_option_in_the_readme_exists():
    parser = start.make_parser()
    known = {"--no-browser": "course", "--port": "course", "--only": "tests", "--peers": "tests"}
    named = set(re.findall(r"`(--[a-z-]+)", (ROOT / "README.md").read_text(encoding="utf-8")))
    assert named == set(known)
    for option, command in known.items():
        arguments = {"--port": ["1234"], "--only": ["units"]}.get(option, [])
        assert not parser.parse_known_args([command, option, *arguments])[1]
