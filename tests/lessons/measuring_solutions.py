"""Right and wrong answers for the tasks of the lesson on measuring."""

from __future__ import annotations

import statistics
import time
from typing import Any

MEASURING_SOLUTIONS: dict[str, str] = {
    "measure_runs": """
def runs(function, make, count, clock):
    function(make())
    found = []
    for _ in range(count):
        x = make()
        start = clock()
        function(x)
        found.append(clock() - start)
    return found

answer = runs""",
    "measure_queue": """
def device_seconds(device, work, clock):
    device.synchronize()
    start = clock()
    work(device)
    device.synchronize()
    return clock() - start

answer = device_seconds""",
    "measure_decide": """
def decide(a, b):
    a_wins = sum(x < y for x, y in zip(a, b))
    b_wins = sum(y < x for x, y in zip(a, b))
    return "B" if b_wins >= 15 else "A" if a_wins >= 15 else "not settled"

answer = decide""",
    "measure_report": """
import statistics

def report(a, b, machine):
    wins = sum(y < x for x, y in zip(a, b))
    verdict = "B is faster" if wins >= 15 else "A is faster" if wins <= 5 else "not settled"
    told = []
    for name, times in (("A", a), ("B", b)):
        low, middle, high = statistics.quantiles(times, n=4)
        told.append(f"{name} {middle:.1f} ms ({low:.1f} to {high:.1f})")
    return f"{verdict}: {', '.join(told)}; median, middle half, {len(a)} pairs, on {machine}"

answer = report""",
    "measure_seeds": 'answer = (14, 4, "gelu")',
    "measure_exit": 'answer = "cbdaec"',
}


def runs(*, warm: bool = True, new: bool = True, inside: bool = False, drop: bool = False, total: bool = False) -> Any:
    """The task's function with some of its faults left in."""

    def found(function: Any, make: Any, count: int, clock: Any) -> Any:
        shared = make()
        if warm:
            function(make() if new else shared)
        times = []
        for _ in range(count - drop):
            x = make() if new and not inside else shared
            start = clock()
            function(make() if inside else x)
            times.append(clock() - start)
        return sum(times) if total else times

    return found


def _chosen(more: int, choose: Any) -> Any:
    """One that runs more often than asked, and chooses among the times: after a call that is not counted, or not."""

    def found(function: Any, make: Any, count: int, clock: Any) -> Any:
        return choose(runs()(function, make, more * count, clock), count)

    return found


def _of_all(choose: Any) -> Any:
    """One that counts its very first call, too, and then chooses."""

    def found(function: Any, make: Any, count: int, clock: Any) -> Any:
        times = []
        for _ in range(count + 1):
            x = make()
            start = clock()
            function(x)
            times.append(clock() - start)
        return choose(times, count)

    return found


def _without_the_slowest(times: list[float], count: int) -> list[float]:
    return [one for one in times if one != max(times)][:count]


def _backwards(function: Any, make: Any, count: int, clock: Any) -> list[float]:
    return [-one for one in runs()(function, make, count, clock)]


def _own_input(function: Any, make: Any, count: int, clock: Any) -> list[float]:
    for _ in range(count + 1):
        clock()
        function([])
        clock()
    return [1e-6] * count


def _own_clock(function: Any, make: Any, count: int, clock: Any) -> Any:
    return runs()(function, make, count, time.time)


def _three_warm_ups(function: Any, make: Any, count: int, clock: Any) -> Any:
    function(make())
    function(make())
    return runs()(function, make, count, clock)


def device(steps: str) -> Any:
    """One that does ``steps`` in order: s synchronises, c reads the clock, w works."""

    def found(device: Any, work: Any, clock: Any) -> Any:
        read = []
        for step in steps:
            if step == "s":
                device.synchronize()
            elif step == "c":
                read.append(clock())
            else:
                work(device)
        return read[-1] - read[0] if read else 0.05

    return found


def _at_least(wins: int, ties: bool = False) -> Any:
    """A count of pairs. With ``ties``, those that are equal count for A."""

    def decide(a: list[float], b: list[float]) -> str:
        shorter = sum(y < x for x, y in zip(a, b, strict=True))
        longer = len(a) - shorter if ties else sum(y > x for x, y in zip(a, b, strict=True))
        return "B" if shorter >= wins else "A" if longer >= wins else "not settled"

    return decide


def _by(middle: Any) -> Any:
    def decide(a: list[float], b: list[float]) -> str:
        ratio = middle(a) / middle(b)
        return "B" if ratio > 1.05 else "A" if ratio < 1 / 1.05 else "not settled"

    return decide


def _one_sided(a: list[float], b: list[float]) -> str:
    return "B" if _at_least(15)(a, b) == "B" else "not settled"


def _slower(a: list[float], b: list[float]) -> str:
    return str(_at_least(15)(b, a))


def median_ratio(a: list[float], b: list[float]) -> str:
    ratio = statistics.median(x / y for x, y in zip(a, b, strict=True))
    return "B" if ratio > 1.05 else "A" if ratio < 1 / 1.05 else "not settled"


def report(*, verdict: bool = True, without: str = "") -> Any:
    """A report that leaves something out, or names a winner whatever the times."""

    def found(a: list[float], b: list[float], machine: str) -> str:
        said = _at_least(15)(a, b) if verdict else "B"
        parts = {"verdict": said if said == "not settled" else f"{said} is faster", "machine": machine}
        for name, times in (("A", a), ("B", b)):
            low, middle, high = statistics.quantiles(times, n=4)
            parts[f"median {name}"] = f"{name}: {middle:.1f}"
            parts[f"spread {name}"] = f"{low:.2f}-{high:.2f}"
        parts |= {"unit": "ms", "pairs": f"{len(a)} pairs"}
        return ", ".join(words for name, words in parts.items() if name != without)

    return found


def _says(equal: str, clear: str) -> Any:
    """A complete report that words its verdict like this."""

    def found(a: list[float], b: list[float], machine: str) -> str:
        said = _at_least(15)(a, b)
        return f"{equal if said == 'not settled' else clear.format(said)}; {report(without='verdict')(a, b, machine)}"

    return found


MEASURING_ALSO_RIGHT: dict[str, list[Any]] = {
    "measure_runs": [runs(), _three_warm_ups],
    "measure_queue": [device("scwsc"), device("sscwssc")],
    "measure_decide": [_at_least(15), _at_least(17), median_ratio, _by(min)],
    "measure_report": [report(), _says("not settled which is faster", "{} is 1.50 times faster")],
    "measure_seeds": [[14, 4, "Gelu"]],
    "measure_exit": ["CBDAEC", "c b d a e c"],
}

MEASURING_WRONG: dict[str, list[tuple[Any, str]]] = {
    "measure_runs": [
        (runs(warm=False, new=False), "of the very first call"),
        (runs(warm=False), "of the very first call"),
        (runs(new=False), "another call had before"),
        (runs(inside=True), "holds the making of an input"),
        (runs(drop=True), "asked for 5 times, it gives 4"),
        (runs(total=True), "one number has no spread"),
        (_of_all(lambda times, count: times[:-1]), "very first call is still in the list"),
        (_of_all(_without_the_slowest), "very first call is still in the list"),
        (_of_all(lambda times, count: sorted(times)[:count]), "very first call is still in the list"),
        (_chosen(1, lambda times, count: [min(times)] * count), "Keep the time of each run"),
        (_chosen(1, lambda times, count: sorted(times)), "in another order"),
        (_chosen(4, lambda times, count: sorted(times)[:count]), "chose among their times"),
        (_chosen(2, lambda times, count: times[:count]), "chose among their times"),
        (_own_clock, "read the clock that is handed in"),
        (_backwards, "below 0"),
        (_own_input, "what make() returns"),
        (lambda function, make, count, clock: ["a"] * count, "hold seconds"),
        (
            lambda function, make, count, clock: [0.1 * clock() for _ in range(9 * count)][::9],
            "calls the function 0 times",
        ),
        (lambda function, make, count, clock: None, "is there a return?"),
        (3, "hand in the function itself"),
    ],
    "measure_queue": [
        (device("cwc"), "to *ask* for the products"),
        (device("scwc"), "to *ask* for the products"),
        (device("scwcs"), "to *ask* for the products"),
        (device("cwsc"), "was not empty at the beginning"),
        (device("cswc"), "older work is in it, and your own is not"),
        (device("cswsc"), "was not empty at the beginning"),
        (device("cscw"), "older work took"),
        (device("ccw"), "come at the same moment"),
        (device("scwwsc"), "should run once; it ran 2 times"),
        (device("sws"), "read the clock that is handed in"),
        (lambda device, work, clock: work(device), "is there a return?"),
        (lambda device, work, clock: (work(device), clock(), str(clock()))[-1], "return one number"),
        (lambda device, work, clock: (work(device), clock(), clock(), 1.0)[-1], "it gives 1.0000 s"),
    ],
    "measure_decide": [
        (lambda a, b: "B" if sum(b) < sum(a) else "A", "It never says 'not settled'"),
        (_by(statistics.median), "does not compare run with run"),
        (_by(statistics.mean), "does not compare run with run"),
        (_at_least(15, ties=True), "A tie is no win"),
        (_at_least(14), "How many pairs must one of them win"),
        (_at_least(19), "It asks for too many pairs"),
        (lambda a, b: "not settled", "It asks for too many pairs"),
        (_one_sided, "only in one direction"),
        (_slower, "it names the slower one"),
        (lambda a, b: None, "is there a return?"),
        (lambda a, b: 15, "it said 15"),
    ],
    "measure_report": [
        (lambda a, b, machine: "B is 1.5 times faster.", "how long does A take?"),
        (report(without="median A"), "how long does A take?"),
        (report(without="median B"), "how long does B take?"),
        (report(without="unit"), "no unit"),
        (report(without="spread A"), "no spread"),
        (report(without="spread B"), "no spread"),
        (report(without="pairs"), "of how many pairs?"),
        (report(without="machine"), "on which machine?"),
        (report(verdict=False), "does not say 'not settled'"),
        (lambda a, b, machine: f"not settled {report()(a, b, machine)}", "leaves that open"),
        (_says("not settled, B is 1.0 times faster", "{}, B is 1.5 times faster"), "name neither"),
        (_says("not settled is faster", "{} is faster"), "name neither"),
        (_says("not settled", "{}; B is 0.7 times faster"), "calls the other one faster"),
        (_says("not settled", "A is faster"), "calls the other one faster"),
        (lambda a, b, machine: print(end=""), "is there a return?"),
        (lambda a, b, machine: 1.5, "A report is a text"),
    ],
    "measure_seeds": [
        ((14, 4, "not settled"), "How often is a coin as uneven as 14 of 18?"),
        ((14, 4, "relu"), "not in favour of relu"),
        ((14, 4, "both"), "The verdict is"),
        ((4, 14, "gelu"), "changed places"),
        ((16, 4, "gelu"), "in 2 seeds both read as many"),
        ((14, 6, "not settled"), "in 2 seeds both read as many"),
        ((5, 5, "gelu"), "count again"),
        (("many", 3, "gelu"), "counts of seeds"),
        ("gelu", "give three things"),
    ],
    "measure_exit": [
        ("ebdaec", "question 1: a GPU works through a queue"),
        ("cedaec", "question 2: what is left to add"),
        ("cbeaec", "question 3: 4 %"),
        ("cbdeec", "question 4: a server calls it many times"),
        ("cbdaac", "question 5: three calls came before"),
        ("cbdaee", "question 6: the brackets make a generator"),
        ("abdaec", "question 1: would what happens only once"),
        ("cbdaeb", "question 6: does any run change"),
        ("abc", "one letter from a to e"),
        ("cbdaez", "one letter from a to e"),
    ],
}
