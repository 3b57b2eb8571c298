"""What the memory guard says: when asked, in uncaught errors, and in notebooks."""

from __future__ import annotations

import numpy as np
import pytest

from tests.guard.held import HELD, WAYS_OUT, leaf
from tests.support import run_python
from tinygrad_edu import guard


def test_explain_in_all_states() -> None:
    a, w = np.ones((2, 3)), leaf(2, 3)
    assert guard.explain(a) == "array (2, 3) float64: no operation holds it, it can be written to"
    assert guard.explain([1]) == "not a NumPy array but of type list: the guard has nothing to do with it"
    assert guard.explain(w) == "not a NumPy array but of type Tensor: the guard has nothing to do with it"

    losses = [a * w]
    text = guard.explain(a)
    assert text.startswith(f"write to an array (2, 3) float64\n  why:  {HELD}\n  line: test_explanations.py, line ")
    assert text.endswith(f": losses = [a * w]\n  mend: {WAYS_OUT}")
    assert HELD in guard.explain(a[0])  # a view taken meanwhile

    losses.append(a * w)
    assert f"{HELD} (1 more node holds it too)" in guard.explain(a)
    losses.append(a * w)
    assert f"{HELD} (2 more nodes hold it too)" in guard.explain(a)

    losses.clear()
    assert guard.explain(a) == "array (2, 3) float64: no operation holds it, it can be written to"
    a.flags.writeable = False
    assert "it was made so elsewhere" in guard.explain(a)


# Uncaught errors, in scripts and notebooks

WRITE = """
import numpy as np
import tinygrad_edu as tg
x = np.arange(3.0)
y = tg.ones_like(x, requires_grad=True)
z = x * y
"""


def test_excepthook_adds_a_note() -> None:
    done = run_python(WRITE + "x[:] = 0\n")
    assert done.returncode == 1
    assert done.stderr.rstrip().endswith(
        "ValueError: assignment destination is read-only\n\n"
        f"memory guard: write to an array (3,) float64\n  why:  {HELD}\n  line: this cell, line 6\n  mend: {WAYS_OUT}"
    )


def test_excepthook_leaves_other_errors_alone() -> None:
    done = run_python(WRITE + "raise ValueError('mine')\n")
    assert done.stderr.rstrip().endswith("ValueError: mine")
    assert "memory guard" not in done.stderr


def test_excepthook_hands_on_to_the_one_before_it() -> None:
    before = "import sys\nsys.excepthook = lambda kind, error, tb: print('hooked', error.__notes__)\n"
    done = run_python(before + WRITE + "x[:] = 0\n")
    assert done.stdout.startswith("hooked ['\\nmemory guard: write to an array (3,) float64")


def test_a_script_may_end_with_arrays_locked() -> None:
    done = run_python(WRITE)
    assert (done.returncode, done.stderr) == (0, "")


SHELL = """
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance(colors="nocolor")
shell.history_manager.enabled = False
import tinygrad_edu as tg
shell.run_cell({cell!r})
"""


def test_ipython_shows_the_note() -> None:
    pytest.importorskip("IPython")
    done = run_python(SHELL.format(cell=WRITE + "x[:] = 0\n"), "-W", "ignore")
    assert "ValueError: assignment destination is read-only" in done.stdout, done.stderr
    assert (
        f"memory guard: write to an array (3,) float64\n  why:  {HELD}\n  line: cell In[1], line 5: z = x * y"
        in done.stdout
    )


def test_ipython_shows_other_errors_as_ever() -> None:
    pytest.importorskip("IPython")
    done = run_python(SHELL.format(cell=WRITE + "raise ValueError('mine')\n"), "-W", "ignore")
    assert "ValueError: mine" in done.stdout
    assert "memory guard" not in done.stdout


def in_cells(*cells: str) -> str:
    """What a notebook of these cells prints."""
    source = """
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance(colors="nocolor")
shell.history_manager.enabled = False
"""
    start = "import numpy as np, tinygrad_edu as tg\na, w = np.ones(3), tg.ones(3, dtype='float64', requires_grad=True)"
    runs = "".join(f"shell.run_cell({cell!r}, store_history=True)\n" for cell in (start, *cells))
    done = run_python(source + runs, "-W", "ignore")
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_notebook_is_told_what_was_shown() -> None:
    pytest.importorskip("IPython")
    out = in_cells("a * w", "print(tg.guard.explain(a))", "tg.guard.let_go()", "print('free', a.flags.writeable)")
    assert "or let go of what was shown (Out[2]): guard.let_go(), and end such a line with ;" in out
    assert "free True" in out


def test_a_notebook_is_told_the_names() -> None:
    pytest.importorskip("IPython")
    out = in_cells("z = (a * w).sum(); more = [z]", "print(tg.guard.explain(a))")
    assert "or let go of z, more (del z, more)" in out


def test_what_failed_inside_the_package_keeps_nothing_locked() -> None:
    pytest.importorskip("IPython")
    out = in_cells("(a * w).exp() + tg.ones(4, dtype='float64')", "print('free', a.flags.writeable)")
    assert "ShapeError" in out
    assert "free True" in out


def test_a_notebook_is_told_of_the_last_error() -> None:
    pytest.importorskip("IPython")
    fails = "def step():\n    loss = (a * w).sum()\n    raise KeyError\nstep()"
    out = in_cells(fails, "print(tg.guard.explain(a))", "tg.guard.let_go()", "print('free', a.flags.writeable)")
    assert "let go of the last error, whose traceback holds what step() had: guard.let_go()" in out
    assert "free True" in out
