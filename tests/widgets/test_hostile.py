"""Learner's code that changes what the whole process shares, or takes too much of it: afterwards all is as before."""

from __future__ import annotations

import gc
import locale
import os
import random
import sys
import threading
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from tinygrad_edu_widgets import GuardLens, TipBrowser

import tinygrad_edu as tg
from tests.support import run_python
from tinygrad_edu.observe import limit, surroundings
from tinygrad_edu.observe.surroundings import left_as_found
from tinygrad_edu.tensor.random import generator
from tinygrad_edu.views import hosted


def everything() -> dict[str, Any]:
    """What a program could have changed."""
    return {
        "collector": (gc.isenabled(), gc.get_threshold()), "directory": os.getcwd(), "path": list(sys.path),

        "environment": {k: v for k, v in os.environ.items() if k != "PYTEST_CURRENT_TEST"},
        "filters": list(warnings.filters), "errors": np.geterr(),
        "printing": np.get_printoptions()["precision"], "dtype": tg.get_default_dtype(), "guard": tg.guard.is_on(),
        "locale": locale.setlocale(locale.LC_ALL), "recursion": sys.getrecursionlimit(), "profile": sys.getprofile(),
        "all threads": (threading.getprofile(), threading.gettrace()), "hooks": (sys.excepthook, threading.excepthook),
        "streams": (sys.stdin, sys.stdout, sys.stderr), "len": len, "print": print, "numpy": str(np.random.get_state()),
        "python": random.getstate(), "ours": str(generator().bit_generator.state), "interval": sys.getswitchinterval(),
    }  # fmt: skip


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    before = everything()
    yield
    after = everything()
    before.pop("filters"), after.pop("filters")  # pytest has others in each phase: see the test of them
    assert {name for name in before if before[name] != after[name]} == set()


CHANGES = [
    "import gc; gc.disable(); gc.set_threshold(1)",
    "import os; os.chdir('/'); os.environ['LEFT'] = 'behind'",
    "import sys; sys.path.insert(0, '/nowhere'); sys.setrecursionlimit(5000); sys.setswitchinterval(0.5)",
    "import sys; sys.setprofile(lambda *a: None); sys.settrace(None)",
    "import threading; threading.setprofile(print); threading.excepthook = print",
    "import warnings; warnings.simplefilter('ignore')",
    "import locale; locale.setlocale(locale.LC_ALL, 'C.UTF-8')",
    "np.seterr(all='raise'); np.set_printoptions(precision=1)",
    "np.random.seed(5); import random; random.seed(5); x = tg.randn(3); tg.manual_seed(7)",
    "tg.set_default_dtype('float64'); tg.guard.turn_off(); tg.set_grad_enabled(False)",
    "import builtins; builtins.extra = 1; builtins.print = None; del builtins.bytearray",
    "import sys; sys.stdout = sys.stderr = None; sys.excepthook = None",
]


@pytest.mark.parametrize("code", CHANGES)
@pytest.mark.parametrize("ending", ["", "1 / 0", "import sys; sys.exit(3)"])
def test_what_a_program_changes_is_put_back(code: str, ending: str) -> None:
    widget = GuardLens(f"{code}\n{ending}")  # in this thread
    widget.act("code", f"{code}\n{ending}")  # and in one of its own
    assert ("▲ Error" in widget.text()) is bool(ending)


def test_the_filters_of_warnings_are_put_back() -> None:
    before, where = list(warnings.filters), warnings.filters
    GuardLens("import warnings; warnings.simplefilter('ignore'); warnings.catch_warnings().__enter__()")
    assert list(warnings.filters) == before
    assert warnings.filters is where


def test_what_nothing_works_without_is_put_back_at_once() -> None:
    widget = GuardLens("import builtins; builtins.len = builtins.isinstance = builtins.next = None\na = np.ones(2)")
    assert "a [1, 1]" in widget.text() and "▲" not in widget.text()


@pytest.mark.parametrize("code", CHANGES)
def test_what_an_edited_tip_changes_is_put_back(code: str) -> None:
    widget = TipBrowser("share-storage")
    widget.predict(widget.tip.question.choices[0])
    code = f"import numpy as np, tinygrad_edu as tg; {code}"
    widget.act("code:slow", f"{code}\ndef A(x, read_only):\n    {code}\n    return x")
    widget.act("edited")
    assert "▲" not in widget.text()


def test_a_program_that_asks_gets_an_answer_at_once() -> None:
    widget = GuardLens("name = input('Who? ')")
    assert (
        "error: ArgumentError: input(): nobody can type an answer into this program. Write the answer" in widget.text()
    )
    widget.act("code", "breakpoint()")
    assert "nobody can answer a debugger" in widget.text()


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("class E(Exception):\n    def __str__(self): raise ValueError\nraise E", "E, whose message cannot be read"),
        ("class E(BaseException): pass\nraise E('mine')", "E: mine"),
        ("import sys\nsys.exit('done')", "SystemExit: done"),
        ("def f(): return f()\nf()", "RecursionError: maximum recursion depth exceeded"),
        (
            "class E(Exception):\n    def __repr__(self): raise ValueError\nx = np.array([E()], object)",
            "x [a E",
        ),
    ],
)
def test_what_a_program_raises_is_shown(code: str, said: str) -> None:
    widget = GuardLens()
    widget.act("code", code)
    assert said in widget.text()
    widget.act("code", "a = np.ones(2)")
    assert "a [1, 1]" in widget.text()


def test_a_program_prints_so_much_and_no_more(capsys: pytest.CaptureFixture[str]) -> None:
    GuardLens("for i in range(300): print('x' * 1000)\nprint('the end')\nprint(1, 2, sep='-', file=None)")
    printed = capsys.readouterr().out
    assert len(printed) < hosted.MOST + 200
    assert printed.endswith(f"… {hosted.MOST} characters are printed, and the rest is left out\n")
    GuardLens("print('one', 'two', sep='-')")
    assert capsys.readouterr().out == "one-two\n"  # once, though the program runs with the guard on and off


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")  # of the SystemExit in them
def test_threads_of_a_program_end_with_it() -> None:
    others = threading.Event()
    mine = threading.Thread(target=others.wait)
    mine.start()
    before = set(threading.enumerate())
    widget = GuardLens()
    widget.act("code", "import threading, time\ndef f():\n    while True: time.sleep(0.001)\n"
               "for _ in range(3): threading.Thread(target=f).start()")  # fmt: skip
    widget.wait()
    assert {one for one in threading.enumerate() if one.is_alive()} <= before
    assert mine.is_alive()  # those of others are let be
    others.set()
    mine.join()


def test_two_programs_at_once_put_back_what_was_before_the_first(tmp_path: Any) -> None:
    here, first_in, second_in, go = os.getcwd(), threading.Event(), threading.Event(), threading.Event()

    def first() -> None:
        with left_as_found():
            os.chdir(tmp_path)
            first_in.set()
            second_in.wait(20)

    def second() -> None:
        first_in.wait(20)
        with left_as_found():
            second_in.set()
            go.wait(20)
            sys.path.append("/second")

    threads = [threading.Thread(target=one) for one in (first, second)]
    for one in threads:
        one.start()
    threads[0].join(20)
    go.set()
    threads[1].join(20)
    assert os.getcwd() == here
    assert "/second" not in sys.path


def test_what_a_program_that_was_given_up_has_changed_is_put_back() -> None:
    go, changed = threading.Event(), threading.Event()

    def stuck() -> None:
        with left_as_found():
            sys.path.append("/stuck")
            changed.set()
            go.wait(20)

    thread = threading.Thread(target=stuck)
    thread.start()
    changed.wait(20)
    surroundings.give_up(thread.ident or 0)
    assert "/stuck" not in sys.path
    sys.path.append("/mine")  # from here on, it is none of its business
    go.set()
    thread.join(20)
    assert sys.path.pop() == "/mine"


# Memory ------------------------------------------------------------------------------------------------------------

HOG = """
import resource, sys
from tinygrad_edu.observe import limit
limit.free = lambda: 200_000_000
from tinygrad_edu_widgets import GuardLens, TipBrowser
before = resource.getrlimit(resource.RLIMIT_DATA)
lens = GuardLens("a = np.ones(10**9)\\nb = a")
print([line for line in lens.text().splitlines() if "error:" in line])
lens.act("code", "kept = []\\nwhile True: kept.append(bytearray(10**7))")
print([line for line in lens.text().splitlines() if "error:" in line])
lens.act("code", "a = np.ones(2)")
print("a [1, 1]" in lens.text(), resource.getrlimit(resource.RLIMIT_DATA) == before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux counts the memory that a process writes to")
def test_a_program_that_takes_all_memory_is_refused_and_the_kernel_lives() -> None:
    done = run_python(HOG, "-W", "ignore")
    assert done.returncode == 0, done.stderr
    large, small, after = done.stdout.splitlines()
    assert "OutOfMemoryError" in large or "MemoryError: Unable to allocate 7.45 GiB" in large
    assert "MemoryError" in small
    assert after == "True True"


def test_the_limit_is_what_is_free(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    (tmp_path / "free").write_text("MemTotal:  900 kB\nMemAvailable:  500 kB\n")
    (tmp_path / "max").write_text("400000\n")
    (tmp_path / "used").write_text("100000\n")
    monkeypatch.setattr(limit, "_FREE", tmp_path / "free")
    monkeypatch.setattr(limit, "_GROUP", ((tmp_path / "no", tmp_path / "no"),))
    assert limit.free() == 512_000
    monkeypatch.setattr(limit, "_GROUP", ((tmp_path / "max", tmp_path / "used"),))
    assert limit.free() == 300_000
    (tmp_path / "max").write_text("max\n")
    assert limit.free() == 512_000
    monkeypatch.setattr(limit, "_FREE", tmp_path / "no")
    assert limit.free() is None


# Kernels -----------------------------------------------------------------------------------------------------------

RACED = """
from tinygrad_edu_widgets import GuardLens, TimingRace
lens = GuardLens()
lens.act("code", "x = input()")
race = TimingRace(lambda: sum(range(2000)), lambda: None, budget=0.3)
race.predict(2)
print("nobody can type" in lens.text(), race.data()["result"]["comparisons"][0]["verdict"])
"""


def test_two_kernels_at_once_do_not_disturb_each_other() -> None:
    client = pytest.importorskip("jupyter_client", reason="jupyter_client is not installed here")
    managers = [client.KernelManager(kernel_name="python3") for _ in range(2)]
    clients = []
    try:
        for manager in managers:
            manager.start_kernel()
            clients.append(manager.blocking_client())
            clients[-1].start_channels()
        for one in clients:
            one.wait_for_ready(timeout=120)
        asked = [one.execute(RACED) for one in clients]  # both are at work now
        for one, message in zip(clients, asked, strict=True):
            while (reply := one.get_shell_msg(timeout=120))["parent_header"]["msg_id"] != message:
                pass  # an answer from before it was ready
            assert reply["content"]["status"] == "ok", reply["content"]
            printed, ended = "", False
            while not ended:
                said = one.get_iopub_msg(timeout=60)
                if said["parent_header"].get("msg_id") == message:
                    printed += said["content"].get("text", "")
                    ended = said["content"].get("execution_state") == "idle"
            assert "True faster" in printed
    finally:
        for one in clients:
            one.stop_channels()
        for manager in managers:
            manager.shutdown_kernel(now=True)
            manager.cleanup_resources()
