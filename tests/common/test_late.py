"""What loads when it is used: once, and from then on it is there as if it had always been."""

from __future__ import annotations

import inspect
import os

import pytest

import tinygrad_edu as tg
from tests.support import run_python
from tinygrad_edu.common.late import LateFunction, LateModule
from tinygrad_edu.ops import gathering


def test_a_method_is_looked_up_once() -> None:
    late = LateModule("tinygrad_edu.ops.gathering")

    class Example:
        gather = late.gather
        __getitem__ = also = late.nonzero

    assert isinstance(vars(Example)["gather"], LateFunction)
    assert Example.gather is gathering.gather
    assert vars(Example)["gather"] is gathering.gather
    assert inspect.ismethod(Example().also)
    assert vars(Example)["also"] is vars(Example)["__getitem__"] is gathering.nonzero


def test_a_function_is_called_through() -> None:
    late = LateModule("tinygrad_edu.ops.gathering")
    assert late.nonzero(tg.tensor([0, 1])).tolist() == [[1]]


def test_a_name_that_is_not_there() -> None:
    class Example:
        nothing = LateModule("tinygrad_edu.ops.gathering").nothing

    with pytest.raises(AttributeError, match="nothing"):
        Example().nothing  # noqa: B018


def test_every_late_method_is_there() -> None:
    """Whoever lists the methods of a tensor meets none that cannot be found."""
    for name in dir(tg.ones(1)):
        getattr(tg.Tensor, name)
    left = [name for kind in tg.Tensor.__mro__ for name, value in vars(kind).items() if isinstance(value, LateFunction)]
    assert not left


def test_methods_load_what_they_need_and_no_more() -> None:
    done = run_python(
        "import sys, tinygrad_edu as tg\n"
        "late = [f'tinygrad_edu.ops.{name}' for name in ('sorting', 'gathering', 'arrange')]\n"
        "print([name in sys.modules for name in late])\n"
        "tg.ones(2).argsort()\n"
        "print([name in sys.modules for name in late])"
    )
    assert done.stdout == "[False, False, False]\n[True, False, False]\n"


INTERRUPTED = """
import importlib, random, sys

def load(target, line):
    \"\"\"Load a module, with Ctrl-C when that many lines of ours have run.\"\"\"
    def trace(frame, event, arg):
        nonlocal line
        if "tinygrad_edu" not in frame.f_code.co_filename:
            return None
        line -= event == "line"
        if not line:
            sys.settrace(None)
            raise KeyboardInterrupt
        return trace
    sys.settrace(trace)
    try:
        importlib.import_module(target)
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(None)
    return False

rng, hits = random.Random(SEED), 0
for round in range(40):
    for name in [name for name in sys.modules if name.partition(".")[0] == "tinygrad_edu"]:
        del sys.modules[name]
    import tinygrad_edu
    target = "tinygrad_edu." + rng.choice(
        "ops.sorting ops.inplace ops.conv linalg nn optim distributions compiler tips views lessons".split()
    )
    hits += load(target, rng.randrange(1, rng.choice([30, 300, 3000])))
    module = importlib.import_module(target)
    for name in dir(module):
        getattr(module, name)
print(hits > 10)
"""


def test_a_loading_that_is_interrupted_begins_again() -> None:
    seed = int.from_bytes(os.urandom(4))
    print("seed", seed)
    done = run_python(INTERRUPTED.replace("SEED", str(seed)))
    assert (done.stdout, done.stderr) == ("True\n", "")
