"""Tasks of the lesson on measuring: what a clock sees, when it may be read, and what its numbers show."""

from __future__ import annotations

import re
import statistics
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .checking import NOTHING, quiz, task
from .noisy import AFTERNOONS, USUAL, afternoon

# Milliseconds that each call of the check takes, on its own clock. The first one is not the slowest.
CALLS = (40, 3, 70, 5, 9, 2, 8, 4, 6, 11, 7, 13, 12, 15, 14, 17, 16, 19, 18, 21, 20)
MAKING = 100  # milliseconds for each input
COUNT = 5


class _Calls:
    """A function and what makes its inputs, on a clock of their own: each call takes what `CALLS` says."""

    def __init__(self) -> None:
        self.now, self.reads = 0, 0
        self.made: list[list[int]] = []
        self.seen: list[int] = []

    def clock(self) -> float:
        self.reads += 1
        return self.now / 1000

    def make(self) -> list[int]:
        self.now += MAKING
        self.made.append([])  # kept, so no two have the same id
        return self.made[-1]

    def function(self, x: Any) -> None:
        self.now += CALLS[len(self.seen) % len(CALLS)]
        self.seen.append(id(x))


@task(
    "measure_runs",
    "Fix runs(function, make, count, clock): the times of `count` calls, each with an input of its own; neither the "
    "making of inputs nor what only a first call does is in them.",
    "what is asked about stands between the two readings of the clock, and everything else before or after them. Which "
    "runs count is fixed before any time is known.",
    function=True,
)
def _runs(answer: Any) -> str:
    ran = _Calls()
    found = answer(ran.function, ran.make, COUNT, ran.clock)
    if found is None:
        return NOTHING
    if not isinstance(found, (list, tuple)):
        return f"it gives a {type(found).__name__}. Return the list of all times: one number has no spread."
    if len(found) != COUNT:
        return f"asked for {COUNT} times, it gives {len(found)}. Which of its calls should not be in the list?"
    if not all(isinstance(one, (int, float)) for one in found):
        return "the list should hold seconds, one number for each call."
    if ran.reads < 2 * COUNT:
        return "read the clock that is handed in, by clock(), before and after each call."
    if min(found) < 0:
        return "some times are below 0: take the later reading of the clock minus the earlier one."
    return _inputs_of(ran) or _kept([round(1000 * one) for one in found], ran)


def _inputs_of(ran: _Calls) -> str:
    """What is wrong with the calls and their inputs; "" if nothing is."""
    if len(ran.seen) == COUNT:
        return f"it calls the function {COUNT} times and keeps every time, that of the very first call, too."
    if len(ran.seen) < COUNT:
        return f"it gives {COUNT} times, and calls the function {len(ran.seen)} times."
    if not set(ran.seen) <= set(map(id, ran.made)):
        return "the function must be given what make() returns."
    if len(set(ran.seen)) < len(ran.seen):
        return "some calls get an input that another call had before, and may have changed. Make one for each call."
    return ""


def _kept(found: list[int], ran: _Calls) -> str:
    """What is wrong with the times that were kept, in milliseconds; "" if they are those of the last calls."""
    took = list(CALLS[: len(ran.seen)])
    if found == took[-COUNT:]:
        return ""
    if min(found) >= MAKING:
        return "every time holds the making of an input. Make it before the clock is read for the first time."
    if len(set(found)) == 1:
        return "all its times are the same number, and the calls of the check differ. Keep the time of each run."
    if took[0] in found:
        return "the time of the very first call is still in the list. Call the function before, and keep no time of it."
    if sorted(found) == sorted(took[-COUNT:]):
        return (
            "these are the right times in another order. Keep the order of the runs: it shows what changed meanwhile."
        )
    return (
        f"it made {len(took)} calls and chose among their times. Decide before the clock is read which runs count: "
        "whoever chooses afterwards can show anything."
    )


class _Device:
    """A device that needs no real time: its own clock says when each product would be done."""

    each, ask, left = 0.010, 0.0001, 7  # seconds for a product, and for asking; products left from before

    def __init__(self) -> None:
        self.now, self.reads = 0.0, 0
        self.free = self.left * self.each

    def clock(self) -> float:
        self.reads += 1
        return self.now

    def product(self, x: object) -> None:
        self.now += self.ask
        self.free = max(self.free, self.now) + self.each

    def synchronize(self) -> None:
        self.now = max(self.now, self.free)


PRODUCTS = 5


@task(
    "measure_queue",
    "Fix device_seconds(device, work, clock): how long the device takes for work(device), from an empty queue until it "
    "is empty again.",
    "wait for the queue before each reading of the clock: the first wait shuts out older work, the second lets in all "
    "of yours.",
    function=True,
)
def _queue(answer: Any) -> str:
    device = _Device()
    calls: list[float] = []

    def work(device: _Device) -> None:
        calls.append(device.now)
        for i in range(PRODUCTS):
            device.product(i)

    found = answer(device, work, device.clock)
    if found is None:
        return NOTHING
    if len(calls) != 1:
        return f"work(device) should run once; it ran {len(calls)} times."
    if device.reads < 2:
        return "read the clock that is handed in, by clock(), once before the work and once after it."
    if not isinstance(found, (int, float)):
        return "return one number: seconds."
    right, asking = PRODUCTS * device.each + device.ask, PRODUCTS * device.ask
    older = device.left * device.each
    known = (
        (right, ""),
        (0.0, "both readings of the clock come at the same moment: the work must be between them."),
        (asking, "that is how long Python took to *ask* for the products. When the clock stops, the device works on."),
        (older, "that is how long older work took, which was in the queue before, and yours is not in it."),
        (older + asking, "older work is in it, and your own is not: at the second reading, who waits for it?"),
        (older + PRODUCTS * device.each, "the queue was not empty at the beginning: older work is in that time, too."),
    )
    near = (hint for seconds, hint in known if abs(found - seconds) < 2 * device.ask)
    otherwise = f"simulated, the products take {right:.4f} s, and it gives {found:.4f} s. Where is the queue empty?"
    return next(near, otherwise)


SAID = ("A", "B", "not settled")
PAIRS, GAIN = 20, 1.1
FALSE, FOUND = 5, 90  # of a hundred afternoons


def _counted(rule: Callable[..., Any], pairs: Sequence[tuple[list[float], list[float]]]) -> list[Any]:
    return [rule(list(a), list(b)) for a, b in pairs]


@task(
    "measure_decide",
    f"Write decide(a, b) for {PAIRS} pairs of times, in turns: which one is faster, 'A', 'B', or 'not settled'?",
    "it found what was there, and hardly ever what was not. A count of pairs works whatever the size of the noise; the "
    "least times would do here, too, because this noise only adds. 'Not settled' is a result: more runs are needed. It "
    "does not say that the two are equal.",
    function=True,
)
def _decide(answer: Any) -> str:
    equal = [afternoon("turns", PAIRS, seed=seed) for seed in range(AFTERNOONS)]
    apart = [afternoon("turns", PAIRS, GAIN, seed) for seed in range(AFTERNOONS)]
    same = _counted(answer, [(one.a, one.b) for one in equal])
    if any(verdict is None for verdict in same):
        return NOTHING
    if odd := next((verdict for verdict in same if verdict not in SAID), None):
        return f"it said {odd!r}. Let it say 'A', 'B' or 'not settled'."
    faster = _counted(answer, [(one.a, one.b) for one in apart])
    if faster.count("A") > FOUND:
        return "it names the slower one: with 'B' it should say that the times of B are the shorter ones."
    slower = _counted(answer, [(one.b, one.a) for one in apart])
    named = AFTERNOONS - same.count("not settled")
    words = f"A and B were the same function on {AFTERNOONS} afternoons, and it named a winner on {named}. "
    if named == AFTERNOONS:
        return f"{words}It never says 'not settled'."
    if named > FALSE:
        if _counted(answer, [(one.a, one.b[::-1]) for one in equal]) == same:
            return f"{words}In another order of the runs it says the same: it does not compare run with run."
        return f"{words}How many pairs must one of them win, so that a coin does that only about once in twenty?"
    found = min(faster.count("B"), slower.count("A"))
    if found < FOUND:
        one_sided = max(faster.count("B"), slower.count("A")) >= FOUND
        hint = "It finds it only in one direction: A may win, too." if one_sided else "It asks for too many pairs."
        return f"one was {GAIN:g} times as fast on {AFTERNOONS} afternoons, and it found that on {found}. {hint}"
    tie = answer([USUAL] * PAIRS, [USUAL] * PAIRS)
    if tie != "not settled":
        return f"in all {PAIRS} pairs both times were equal, and it says {tie!r}. A tie is no win, for either of them."
    return ""


def _numbers(text: str) -> list[float]:
    return [float(one.replace(",", ".")) for one in re.findall(r"\d+(?:[.,]\d+)?", text)]


def _has(text: str, value: float) -> bool:
    """Whether a text holds a number, rounded or not."""
    return any(abs(one - value) <= max(0.005 * value, 0.051) for one in _numbers(text))


def _has_spread(text: str, times: list[float]) -> bool:
    """Whether a text holds both ends of the middle half, by any usual rule, or of all times."""
    ends = [tuple(np.percentile(times, (25, 75))), (min(times), max(times))]
    ends += [
        (q[0], q[2]) for q in (statistics.quantiles(times, n=4), statistics.quantiles(times, n=4, method="inclusive"))
    ]
    return any(_has(text, low) and _has(text, high) for low, high in ends)


MACHINE = "AMD EPYC, 2 cores, Python 3.11"
UNDECIDED = ("not settled", "no difference", "unsettled", "cannot tell")
OPEN_QUESTION = re.compile(r"\b(?:which|whether|if|who)\b[^,;:.]*", re.I)  # "not settled which is faster" names nobody
NAMED = re.compile(r"\b([AB])\b[^,;:.]{0,20}?(?:\d\.\d+[^,;:.]{0,9})?\b(faster|slower)\b")


def _named(text: str) -> set[str]:
    """Whom a report calls the faster one."""
    other = {"A": "B", "B": "A"}
    return {who if how == "faster" else other[who] for who, how in NAMED.findall(OPEN_QUESTION.sub("", text))}


@task(
    "measure_report",
    "Fix report(a, b, machine): a text with the verdict, both medians in ms and their spread, the number of pairs, "
    "and the machine.",
    "whoever reads it can repeat it, and see how far to trust it: a factor alone allows neither.",
    function=True,
)
def _report(answer: Any) -> str:
    clear, equal = afternoon("turns", PAIRS, 1.5, seed=3), afternoon("turns", PAIRS, seed=4)  # 10 of 20 pairs
    clear_text, equal_text = answer(clear.a, clear.b, MACHINE), answer(equal.a, equal.b, MACHINE)
    if clear_text is None or equal_text is None:
        return NOTHING
    if not isinstance(clear_text, str) or not isinstance(equal_text, str):
        return f"it gives a {type(clear_text).__name__}. A report is a text: return it, as well as printing it."
    for name, times in (("A", clear.a), ("B", clear.b)):
        if not _has(clear_text, statistics.median(times)):
            told = f"{statistics.median(times):.1f} ms in the check, which is simulated"
            return f"how long does {name} take? Its median is missing: {told}."
    if "ms" not in clear_text:
        return "the times have no unit: the lists are in ms."
    for name, times in (("A", clear.a), ("B", clear.b)):
        if not _has_spread(clear_text, times):
            return (
                f"the median of {name} is there, and no spread. statistics.quantiles(times, n=4) gives three numbers; "
                "the middle half of the times is between the first and the last."
            )
    if PAIRS not in _numbers(clear_text.replace(MACHINE, "")):
        return f"of how many pairs? {PAIRS} in the check."
    if MACHINE not in clear_text:
        return "on which machine? Put in what is handed over as `machine`."
    if any(words in clear_text.lower() for words in UNDECIDED):
        return (
            "B is 1.5 times as fast in the check, and the report leaves that open. Take the verdict from decide(a, b)."
        )
    if not any(words in equal_text.lower() for words in UNDECIDED):
        return "A and B were the same function, and the report does not say 'not settled'. Let decide(a, b) decide."
    if re.search(r"\b(?:faster|slower)\b", OPEN_QUESTION.sub("", equal_text)):
        return "of two equal functions it says 'not settled', and 'faster' too. Where nothing is settled, name neither."
    turned = answer(clear.b, clear.a, MACHINE)
    if _named(clear_text) - {"B"} or (isinstance(turned, str) and _named(turned) - {"A"}):
        return "decide(a, b) names one, and the report calls the other one faster. Put in what decide says."
    if isinstance(turned, str) and not _named(turned) and any(words in turned.lower() for words in UNDECIDED):
        return "with A the faster one, the report says 'not settled'. Does decide(a, b) find it in both directions?"
    return ""


# Digits read right, of the 359 for testing, after 100 steps: seeds 0 to 19 of the playground, with 16 hidden units.
RELU = (322, 315, 311, 307, 308, 317, 322, 328, 312, 327, 326, 322, 318, 319, 316, 318, 322, 315, 317, 318)
GELU = (324, 316, 313, 316, 305, 316, 322, 329, 320, 328, 326, 321, 319, 323, 318, 319, 325, 314, 320, 319)


@task(
    "measure_seeds",
    "Twenty seeds, each trained once with relu and once with gelu. In how many does gelu read more digits, in how many "
    "fewer, and which is better: 'gelu', 'relu' or 'not settled'? Give (more, fewer, verdict).",
    "seeds are runs, and the same seed makes a pair. One that is equal throws no coin, so it leaves the count. The "
    "post was right, by luck: its one pair differs by 9 digits, and more than half of the pairs by 1 at most. Settled "
    "does not mean large.",
)
def _seeds(answer: Any) -> str:
    if not isinstance(answer, (tuple, list)) or len(answer) != 3:
        return 'give three things, such as (12, 8, "relu").'
    more = sum(g > r for r, g in zip(RELU, GELU, strict=True))
    fewer = sum(g < r for r, g in zip(RELU, GELU, strict=True))
    equal = len(RELU) - more - fewer
    try:
        given = (int(answer[0]), int(answer[1]))
    except (TypeError, ValueError):
        return "the first two are counts of seeds."
    if given in ((fewer, more), (fewer + equal, more), (fewer, more + equal)):
        return "the two counts have changed places: first the seeds in which gelu reads more."
    if given in ((more + equal, fewer), (more, fewer + equal)):
        return f"in {equal} seeds both read as many, which is neither more nor fewer."
    if given != (more, fewer):
        return f"count again: {len(RELU)} pairs, seed by seed. zip(relu, gelu) gives them."
    verdict = str(answer[2]).strip().lower()
    if verdict == "gelu":
        return ""
    if verdict == "not settled":
        counts = f"{more} of {more + fewer}"
        return f"the counts are right. How often is a coin as uneven as {counts}? coin({more}, {more + fewer}) tells."
    if verdict == "relu":
        return "the counts are right, and most of them are not in favour of relu."
    return "the counts are right. The verdict is 'gelu', 'relu' or 'not settled'."


EXIT = {
    "a": "would what happens only once matter to the question that is asked?",
    "b": "does any run change what the next one is given?",
    "c": "is all of the work done when the clock is read, and read only then?",
    "d": "think of the order in which the runs were made, and of how many there are.",
    "e": "one thing is wrong with it.",
}


def _exit(number: int, right: str, **known: str) -> dict[str, str]:
    """The hints of a question: its own for the tempting letters, else what that letter's fault is about."""
    hints = {letter: f"question {number}: {known.get(letter, words)}" for letter, words in EXIT.items()}
    return {**hints, right: ""}


quiz(
    "measure_exit",
    "Six benchmarks, answered by six letters.",
    "you read each benchmark line by line, and asked what its clock saw.",
    (
        _exit(1, "c", e="a GPU works through a queue. Who waits for it?"),
        _exit(2, "b", e="what is left to add after the first run?"),
        _exit(3, "d", e="4 % is less than many spells cost, and the runs did not take turns."),
        _exit(4, "a", e="a server calls it many times, and each of these processes once."),
        _exit(5, "e", a="three calls came before.", b="every call gets a list of its own.", d="they took turns.",
              c="a call on a Python list returns when it is done: nothing is queued."),
        _exit(6, "c", e="the brackets make a generator. When does it compute a score?"),
    ),
    'give one letter from a to e for each of the six, such as "abcdea".',
)  # fmt: skip
