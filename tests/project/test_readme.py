"""What the README shows as Python runs, and does what the text around it says."""

from __future__ import annotations

import re
from pathlib import Path

import tinygrad_edu_widgets

from tests.support import ROOT, run_python

CODE = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)


def test_its_programs_run(tmp_path: Path) -> None:
    said = []
    for code in CODE:
        done = run_python(f"import os; os.chdir({str(tmp_path)!r})\n{code}")
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
        said.append(done.stdout)
    gradient, training, measuring = said
    assert gradient == "tensor([2., 4., 6.])\n"
    assert (tmp_path / "digits.safetensors").stat().st_size > 50_000
    assert float(re.findall(r"val_accuracy (\S+)", training)[-1]) > 0.9
    assert measuring.startswith("4000000 bytes in new buffers, 0 copies\n")
    assert "transposed" in measuring and "median and middle half" in measuring


def test_the_widgets_page_makes_each_widget_with_one_call() -> None:
    page = (ROOT / "widgets" / "README.md").read_text(encoding="utf-8")
    code = next(one for one in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if one.startswith("import"))
    done = run_python(code)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    exported = {name for name in tinygrad_edu_widgets.__all__ if hasattr(getattr(tinygrad_edu_widgets, name), "act")}
    assert set(re.findall(r"^([A-Z]\w+)\(", code, re.MULTILINE)) == exported
