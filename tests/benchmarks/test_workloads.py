"""The benchmarks themselves: every workload runs, computes what NumPy by hand computes, and its figures are written
down. Nothing is timed for its own sake: times depend on the machine."""

from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import __main__ as cli
from benchmarks import compete, harness, report
from benchmarks.compete import Mismatch, Result, agree
from benchmarks.contenders import by_hand
from benchmarks.contenders.base import Contender, Running, Unsupported
from benchmarks.contenders.registry import CONTENDERS, GROUPS
from benchmarks.harness import Here, Ratio
from benchmarks.worker import Absent, Numbers, Worker, finite, first_steps, prepare
from benchmarks.workloads import WORKLOADS, Workload

OURS = [contender for contender in CONTENDERS if contender.group == "ours"]


# Numbers -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", WORKLOADS)
def test_ours_computes_what_numpy_by_hand_computes(name: str) -> None:
    """With the guard off, on, and with all arrays exposed: values of three steps, and what they changed."""
    workload = WORKLOADS[name]
    wanted = first_steps(by_hand.make(workload), workload)
    assert len(wanted.values) == 3
    assert bool(wanted.moved) == (workload.kind != "value")
    for contender in OURS:
        agree((contender.name, "NumPy by hand"), first_steps(contender.make(workload), workload), wanted, name)


@pytest.mark.parametrize("name", ["mlp", "rnn", "cnn", "block"])
def test_gradients_by_hand_are_slopes(name: str) -> None:
    """Along a random direction in all parameters, in float64: the loss changes as the gradients say."""
    workload, rng = WORKLOADS[name], np.random.default_rng(1)
    p, inputs = workload.fresh()
    p = {name: array.astype("f8") for name, array in p.items()}
    inputs = tuple(x if x.dtype.kind == "i" else x.astype("f8") for x in inputs)
    program, way = by_hand.PROGRAMS[name], {name: rng.standard_normal(array.shape) for name, array in p.items()}
    _, grads = program(p, *inputs)
    assert grads.keys() == p.keys()

    def loss(by: float) -> float:
        return float(program({name: array + by * way[name] for name, array in p.items()}, *inputs)[0])

    near = 1e-8  # so that hardly a relu turns on or off between the two
    slope = (loss(near) - loss(-near)) / (2 * near)
    assert sum((grads[name] * way[name]).sum() for name in p) == pytest.approx(slope, rel=1e-4)


def test_every_workload_starts_from_the_same_numbers_each_time() -> None:
    for workload in WORKLOADS.values():
        (p, inputs), (q, others) = workload.fresh(), workload.fresh()
        for a, b in zip((*p.values(), *inputs), (*q.values(), *others), strict=True):
            np.testing.assert_array_equal(a, b)
            assert a.dtype == np.float32 or a.dtype.kind == "i"
            assert not np.shares_memory(a, b)


def numbers(value: float, moved: dict[str, Any]) -> Numbers:
    return Numbers([np.float32(value)] * 3, {name: np.asarray(array, "f4") for name, array in moved.items()})


@pytest.mark.parametrize(
    "found",
    [
        numbers(2.01, {"w": [1, 2]}),
        numbers(float("nan"), {"w": [1, 2]}),
        numbers(2, {"w": [1, 2.01]}),
        numbers(2, {"w": [1, 2, 3]}),
        numbers(2, {"v": [1, 2]}),
        numbers(2, {}),
    ],
    ids=["value", "not a number", "gradient", "shape", "name", "nothing moved"],
)
def test_other_numbers_are_an_error_that_names_both(found: Numbers) -> None:
    wanted = numbers(2, {"w": [1, 2]})
    agree(("mine", "theirs"), numbers(2.0002, {"w": [1.0005, 2]}), wanted, "mlp")
    with pytest.raises(Mismatch, match=r"mlp.*mine has .*theirs has"):
        agree(("mine", "theirs"), found, wanted, "mlp")


@pytest.mark.parametrize(("loss", "good"), [(0.5, True), (float("inf"), False), (float("nan"), False)])
def test_training_that_runs_away_is_noticed(loss: float, good: bool) -> None:
    assert finite(Running(lambda: loss, np.array, dict)) == good


def broken(workload: Workload) -> Running:
    raise (Unsupported("it knows scalars only") if workload.name == "cnn" else RuntimeError("no compiler"))


def test_a_peer_that_cannot_run_is_absent_with_the_reason() -> None:
    peer = Contender("Peer", "peer", "numpy", broken)
    with pytest.raises(Absent, match=r"^it knows scalars only$"):
        prepare(peer, WORKLOADS["cnn"])
    with pytest.raises(Absent, match=r"^it does not run here: RuntimeError: no compiler$"):
        prepare(peer, WORKLOADS["mlp"])


def test_ours_has_no_excuse() -> None:
    with pytest.raises(RuntimeError, match="no compiler"):
        prepare(Contender("ours", "ours", "tinygrad_edu", broken), WORKLOADS["mlp"])


def test_a_peer_that_is_not_installed_is_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    missing = Contender("Missing", "peer", "a_package_that_nobody_has", broken)
    monkeypatch.setattr(compete, "CONTENDERS", (missing,))
    with ExitStack() as stack:
        found = compete.line_up(WORKLOADS["mlp"], ("peer",), stack)
    assert found == ({}, {"Missing": "a_package_that_nobody_has is not installed"})


# Times -------------------------------------------------------------------------------------------------------


def test_ratios_are_taken_within_a_turn() -> None:
    """A turn in which everything took ten times as long changes no ratio."""
    found = harness.ratio("a", [2.0, 20.0, 2.0, 3.0], [1.0, 10.0, 1.0, 1.0])
    assert (found.low, found.middle, found.high) == (2.0, 2.0, 2.25)
    assert harness.ratio("a", [3.0], [2.0]).middle == 1.5


def test_contenders_take_turns_under_their_own_setting() -> None:
    """Each runs inside its scope alone, and the scope is not entered for every call."""
    log: list[str] = []

    class Scope:
        def __enter__(self) -> None:
            log.append("in")

        def __exit__(self, *error: object) -> None:
            log.append("out")

    timers = {"a": Here(lambda: log.append("a")), "b": Here(lambda: log.append("b"), Scope)}
    ratios = harness.compare(timers, "a", turns=3, seconds=1e-5)
    assert [ratio.name for ratio in ratios] == ["a", "b"]
    assert log.count("in") == log.count("out") == 3 + 5  # once a turn, and to warm up and to count calls
    inside = False
    for entry in log:
        inside = entry == "in" or (inside and entry != "out")
        assert entry in ("in", "out") or inside == (entry == "b")


def test_a_worker_computes_and_counts_in_a_process_of_its_own() -> None:
    """That of micrograd refuses: the reason arrives here."""
    workload = WORKLOADS["inference"]
    with Worker(OURS[0], workload) as worker:
        agree(("worker", "here"), worker.numbers, first_steps(OURS[0].make(workload), workload), "inference")
        assert worker.calls_for(1e-4) >= 1
        assert worker.timed(2) > 0
        assert worker.finite()
    assert not worker.process.is_alive()
    micrograd = next(one for one in CONTENDERS if one.group == "micrograd")
    with pytest.raises(Absent, match="scalars only"):
        Worker(micrograd, workload)


# Tables ------------------------------------------------------------------------------------------------------

RESULTS = [
    Result(WORKLOADS["mlp"], "ours", [Ratio("ours", 1, 1, 1, 2e-4), Ratio("jax.jit", 0.25, 0.5, 0.75, 1e-4)], {}),
    Result(WORKLOADS["cnn"], "ours", [Ratio("ours", 1, 1, 1, 2e-2)], {"jax.jit": "it has no such thing"}),
]


def test_the_table_of_markdown() -> None:
    head, rule, *rest = report.markdown(RESULTS, turns=7).splitlines()
    assert head == "| | ours | jax.jit |"
    assert rule == "|---|---|---|"
    assert rest[0] == "| MLP 64-32-10, batch 32 | 1.00 [1.00, 1.00] | 0.50 [0.25, 0.75] |"
    assert rest[1].endswith("| 1.00 [1.00, 1.00] | – |")
    assert any("jax.jit: it has no such thing" in line for line in rest)
    assert "Ratios to ours: median [quartiles] of 7 turns" in rest[-1]
    assert f"numpy {np.__version__}" in rest[-1]


def test_the_table_of_text() -> None:
    lines = compete.text(RESULTS[1]).splitlines()
    assert lines[0] == "cnn: CNN of two convolutions, batch 64×28×28"
    assert lines[2].split() == ["ours", "1.00", "[1.00", "..", "1.00]", "20000.0", "µs"]
    assert lines[3].split(maxsplit=2) == ["jax.jit", "–", "it has no such thing"]


def test_the_command_line_writes_what_it_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(harness, "one_thread", lambda: None)  # it would bind all later tests to one core
    file = tmp_path / "figures.json"
    chosen = "workloads --only inference --contenders ours,numpy --turns 2 --markdown --json".split()
    assert cli.main([*chosen, str(file)]) == 0
    record = json.loads(file.read_text(encoding="utf-8"))
    names = [one.name for one in CONTENDERS if one.group in ("ours", "numpy")]
    assert [figure["contender"] for figure in record["figures"]] == names
    assert all(figure["median"] > 0 and figure["baseline"] == "ours" for figure in record["figures"])
    first = {figure["contender"]: figure["first"] for figure in record["figures"]}
    assert min(first.values()) > 0 and first["ours, compiled"] > first["ours"], "compiling takes a while"
    assert f"| | {' | '.join(names)} |" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments", [["speed"], ["workloads", "--only", "gan"], ["workloads", "--contenders", "ours,theano"]]
)
def test_unknown_names_are_refused_with_those_that_exist(
    arguments: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(harness, "one_thread", lambda: None)
    with pytest.raises(SystemExit):
        cli.main(arguments)
    assert "no such" in (told := capsys.readouterr().err)
    assert any(name in told for name in (*cli.COMMANDS, *WORKLOADS, *GROUPS))
