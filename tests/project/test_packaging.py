"""What a learner installs is what is in the source tree: nothing is dropped, nothing comes along."""

import fnmatch
import subprocess
import sys
import zipfile
from email import message_from_bytes
from pathlib import Path

import pytest

import tinygrad_edu

ROOT = Path(__file__).parents[2]
PACKAGES = (ROOT / "tinygrad_edu", ROOT / "widgets" / "tinygrad_edu_widgets")


def source_files() -> set[str]:
    """Read from the disk: a careless line in .gitignore hides a file from git and from the wheel alike."""
    files = (file for package in PACKAGES for file in package.rglob("*") if file.is_file())
    return {
        file.relative_to(next(p for p in PACKAGES if p in file.parents).parent).as_posix()
        for file in files
        if "__pycache__" not in file.parts and file.name != ".DS_Store"
    }


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    return zipfile.ZipFile(next(folder.glob("*.whl")))


def test_the_wheel_holds_the_source_tree_and_nothing_else(wheel):
    inside = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert inside == source_files()


@pytest.mark.parametrize(
    "pattern",
    [
        "tinygrad_edu/py.typed",
        "tinygrad_edu/data/*.npz",
        "tinygrad_edu_widgets/py.typed",
        "tinygrad_edu_widgets/static/*.js",
        "tinygrad_edu/views/*.css",
        "tinygrad_edu-*.dist-info/licenses/LICENSE",
    ],
)
def test_the_wheel_holds(wheel, pattern):
    assert fnmatch.filter(wheel.namelist(), pattern)


def test_every_place_states_the_same_version(wheel):
    name = next(n for n in wheel.namelist() if n.endswith(".dist-info/METADATA"))
    assert message_from_bytes(wheel.read(name))["Version"] == tinygrad_edu.__version__
    assert f"version: {tinygrad_edu.__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
