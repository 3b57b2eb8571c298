"""Junk handed to every public callable: one argument at a time, beside others that are valid.

Each call succeeds, or is refused by an error of ours that names the argument or shows what it was; where arguments are
missing or too many, Python may say so itself. Nothing fails from deep inside, and nothing hangs.
"""

from __future__ import annotations

import ast
import copy
import inspect
import random
import re
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tests import junk_calls
from tests.junk_calls import MODULES_BY_NAME, VALUES
from tinygrad_edu import nn, settings
from tinygrad_edu.common.wording import shown
from tinygrad_edu.errors import EduError

JUNK: dict[str, Callable[[], Any]] = {
    "None": lambda: None, "text": lambda: "junk", "fraction": lambda: 2.5, "negative": lambda: -7,
    "huge": lambda: 10**30, "nan": lambda: float("nan"), "nothing": list, "texts": lambda: ["a"],
    "Nones": lambda: [None, None], "dict": dict, "object": object, "function": lambda: lambda a: a,
    "five axes": lambda: tg.ones(2, 1, 3, 1, 2), "0-d": lambda: tg.tensor(2.5), "array": lambda: np.array(["a"]),
    "bytes": lambda: b"x", "class": lambda: int, "fractions": lambda: [1.5, 2.5], "flag": lambda: True,
    "module": nn.ReLU,
}  # fmt: skip

# Callables without a call of their own, and why.
EXEMPT = {
    "lrs.LRScheduler": "a base: it has no rates of its own",
    "data.Batcher": "each has a thread: see tests/data/test_batcher.py",
    "nn.UnregisteredWarning": "a kind of warning", "utils.DtypeWarning": "a kind of warning",
    "utils.DtypeReport": "a record", "utils.DtypeRow": "a record",
    "observe.Comparison": "a record", "observe.Conditions": "a record", "observe.Sweep": "a record",
    "observe.Timing": "a record", "memory.Held": "a record", "memory.Life": "a record", "memory.Keeper": "a record",
    "memory.Moment": "a record",
    "attention.SDPBackend": "a list of names",
    "profiler.ProfilerAction": "a list of names", "profiler.ProfilerActivity": "a list of names",
    "profiler.supported_activities": "takes nothing", "checkpointing.CheckpointError": "an error",
    "checkpointing.noop_context_fn": "takes nothing", "observe.compare": "takes two functions, as measure does",
    "observe.sweep": "takes two functions, as measure does",
    "autograd.Function": "a base", "autograd.tensor_namespace": "a world, for those who write operations",
    "tg.load": "tests/test_state.py gives it every kind of file",
    "jit.load": "tests/test_jit.py gives it every kind of file", "jit.Traced": "what trace gives",
    "guard.MemoryGuardError": "an error",
    "linalg.LinAlgError": "an error", "guard.turn_off": "a switch of the whole process",
    "guard.turn_on": "a switch of the whole process", "training.History": "what fit returns",
    "settings.Modes": "for the engine", "settings.Scope": "a base", "settings.Decorating": "a base",
    "amp.custom_fwd": "decorates a function", "amp.custom_bwd": "decorates a function",
    "settings.set_observers": "for those who watch", "autograd.set_detect_anomaly": "a switch of the whole thread",
    "settings.defaults": "for what runs typed code", "settings.put_back_defaults": "for what runs typed code",
    "Tensor.cuda": "needs a GPU",
}  # fmt: skip
# Calls that are right to go on for ever, and a tolerance that nothing lies within.
ANYTHING = {
    ("training.fit", "huge"),
    ("observe.measure", "huge"),
    ("observe.measure", "nan"),
    ("autograd.gradcheck", "nan"),
}

# Refusals that say in other words which argument it was.
SAID = {("training.evaluate", "loader"), ("training.fit", "loader"), ("init.xavier_normal_", "gain")}


def listed(text: str, before: str = "") -> list[str]:
    return [before + call for line in text.strip().splitlines() for call in line.strip().split("  ") if call.strip()]


def calls() -> list[str]:
    """Every call, those of methods among them that have a function's name."""
    found = listed(junk_calls.FUNCTIONS, "tg.")
    for source in list(found):
        call: Any = ast.parse(source, mode="eval").body
        if not call.args or not isinstance(call.args[0], ast.Name) or call.func.attr in ("where", "normal"):
            continue
        receiver, call.args = call.args[0], call.args[1:]
        for name in (call.func.attr, f"{call.func.attr}_"):
            if hasattr(tg.Tensor, name):
                call.func = ast.Attribute(receiver, name, ast.Load())
                found.append(ast.unparse(call))
    found += listed(junk_calls.METHODS) + listed(junk_calls.FUNCTIONAL, "F.") + listed(junk_calls.MODULES, "nn.")
    return list(dict.fromkeys(found + listed(junk_calls.OTHERS)))


def evaluate(tree: ast.Expression, **more: Any) -> Any:
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    scope = {name: VALUES[name]() for name in names if name in VALUES}
    return eval(compile(ast.fix_missing_locations(tree), "<call>", "eval"), {**MODULES_BY_NAME, **scope, **more})


def spots(tree: ast.Expression) -> list[tuple[Any, str]]:
    """Each argument of the call, and of the constructor that it may stand behind: where it stands, and its name."""
    call: Any = tree.body
    found: list[tuple[Any, str]] = []
    for one in [call, call.func] if isinstance(call.func, ast.Call) else [call]:
        names = parameters(one)
        for i, _ in enumerate(one.args):
            found.append(((one.args, i), names[i] if i < len(names) else ""))
        found += [((keyword, "value"), str(keyword.arg)) for keyword in one.keywords]
    return found


def parameters(call: Any) -> list[str]:
    """The names of the arguments by position; those of a generated caller are not known before its first call."""
    function = evaluate(ast.Expression(call.func))
    if isinstance(function, nn.Module):
        function = function.forward
    named = [p for p in inspect.signature(function).parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
    return [p.name for p in named]


def put(spot: Any, value: Any) -> None:
    holder, key = spot
    if isinstance(holder, list):
        holder[key] = value
    else:
        setattr(holder, key, value)


def complaint(source: str, number: int, kind: str) -> str | None:
    """What is wrong with the answer to one piece of junk at one place; None where nothing is."""
    tree = ast.parse(source, mode="eval")
    spot, name = spots(tree)[number]
    put(spot, ast.Name("junk", ast.Load()))
    junk = JUNK[kind]()
    tg.manual_seed(0)
    told = f"{source} with {kind} as {name or f'argument {number}'}"
    try:
        with switches_kept():
            evaluate(tree, junk=junk)
    except EduError as error:
        text = str(error)
        inside = [2.5] if kind == "0-d" else junk if isinstance(junk, (list, bytes)) else []
        parts = [junk, *inside]
        words = {name, "tensor" if hasattr(junk, "ndim") else ""} - {""}
        words |= {word for part in parts for word in (type(part).__name__, shown(part, 40))}
        called = source.partition("(")[0]
        own = called.split(".")[-1].rstrip("_") in error.tried and error.__cause__ is None  # its own words, not NumPy's
        said = own or (called, name) in SAID or any(word in text for word in words)
        if not said and not re.search(r"\(.*\)", error.tried):
            return f"{told}: it does not say which argument:\n{text}"
    except TypeError as error:
        if not re.search(r"argument|positional|keyword", str(error)):
            return f"{told}: {error!r}"
    except Exception as error:  # whatever else comes out is the finding
        return f"{told}: {error!r}"
    return None


@contextmanager
def switches_kept() -> Iterator[None]:
    """Some of the calls are switches."""
    switches = (settings._DEFAULT, settings._HERE)
    before = [{name: getattr(one, name) for name in settings.Modes.__slots__} for one in switches]
    inside = settings.modes()
    try:
        yield
    finally:
        settings.MODES.set(inside)
        for one, values in zip(switches, before, strict=True):
            for name, value in values.items():
                setattr(one, name, value)
        tg.set_printoptions(profile="default")


def places() -> Iterator[tuple[str, int]]:
    for source in calls():
        tree = ast.parse(source, mode="eval")
        total = sum(len(node.args) + len(node.keywords) for node in chain(tree.body))
        yield from ((source, number) for number in range(total))


def chain(call: Any) -> list[Any]:
    return [call, call.func] if isinstance(call.func, ast.Call) else [call]


def run(share: float, seed: int) -> None:
    draw, wrong = random.Random(seed), []
    with pytest.MonkeyPatch.context() as patched, np.errstate(all="ignore"):
        patched.setattr("builtins.print", lambda *args, **kwargs: None)
        for source, number in places():
            for kind in JUNK:
                if draw.random() < share and not any(source.startswith(f) and kind == k for f, k in ANYTHING):
                    found = complaint(source, number, kind)
                    wrong += [found] if found else []
    assert not wrong, f"seed {seed}, {len(wrong)} of them:\n" + "\n".join(wrong[:40])


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files that junk names are written to a folder that goes."""
    monkeypatch.chdir(tmp_path)


@pytest.mark.filterwarnings("ignore")
def test_junk() -> None:
    run(share=0.1, seed=18)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.filterwarnings("ignore")
def test_all_junk() -> None:
    run(share=1.0, seed=0)


@pytest.mark.filterwarnings("ignore")
def test_every_call_is_valid() -> None:
    for source in calls():
        try:
            with switches_kept():
                evaluate(ast.parse(source, mode="eval"))
        except Exception as error:
            pytest.fail(f"{source}: {error!r}")


def public() -> set[str]:
    """Every public callable, under the name by which a call speaks of it."""
    methods = inspect.getmembers(tg.Tensor, callable)
    found = {f"Tensor.{name}" for name, _ in methods if not name.startswith("_")}
    for short, module in MODULES_BY_NAME.items():
        names = getattr(module, "__all__", None) or [
            name for name, value in vars(module).items()
            if getattr(value, "__module__", "") == module.__name__ and not name.startswith("_")
        ]  # fmt: skip
        for name in names:
            value = getattr(module, name)
            if callable(value) and not isinstance(value, (types.ModuleType, np.dtype)):
                found.add(f"{short}.{name}")
    return found


def called() -> set[str]:
    """What is called; the same function under another name counts too."""
    found = set()
    for source in calls():
        call: Any = ast.parse(source, mode="eval").body
        function = call.func.func if isinstance(call.func, ast.Call) else call.func
        text = ast.unparse(function)
        found.add(text if text.split(".")[0] in MODULES_BY_NAME else f"Tensor.{text.split('.')[1]}")
    return found


def test_every_public_callable_has_a_call() -> None:
    tried = {id(getattr(MODULES_BY_NAME.get(a, tg.Tensor), b)) for a, b in (name.rsplit(".", 1) for name in called())}
    missing = {
        name for name in public() - called() - set(EXEMPT)
        if id(getattr(MODULES_BY_NAME.get(name.rsplit(".", 1)[0], tg.Tensor), name.rsplit(".", 1)[1])) not in tried
    }  # fmt: skip
    assert not missing, f"add a call to tests/junk_calls.py: {sorted(missing)}"
    assert set(EXEMPT) <= public(), "exempt, and not there"


def test_a_users_own_error_passes() -> None:
    class Own(nn.Module):
        def forward(self, x: Any) -> Any:
            return x + {}["missing"]

    for model in (Own(), nn.Sequential(Own())):
        with pytest.raises(KeyError, match="missing"):
            model(tg.ones(2))
    for call in (
        lambda: tg.autograd.gradcheck(lambda x: x.nothing, tg.ones(2, dtype="float64", requires_grad=True)),
        lambda: tg.optim.lr_scheduler.LambdaLR(tg.optim.SGD([tg.ones(1, requires_grad=True)]), lambda epoch: epoch.a),
    ):
        with pytest.raises(AttributeError) as caught:
            call()
        assert not isinstance(caught.value, EduError)


def test_a_copy_of_an_explained_function_is_found_again() -> None:
    assert copy.deepcopy(nn.functional.interpolate) is nn.functional.interpolate
    assert list(inspect.signature(nn.functional.one_hot).parameters) == ["tensor", "num_classes"]
