"""Tasks of the lesson on feeding a model: time per batch, a loader, noise in workers, choices, the capstone."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from ..common.wording import bytes_text, plural, seconds_text
from ..data import DataLoader
from ..settings import no_grad
from ..tensor import Tensor, from_numpy
from .checking import NOTHING, numbers, quiz, task
from .feeding_programs import centred, learned, noises, on_disk, stalled
from .ledger import Ledger, Try

PER_BATCH = (40, 30, 15, 10)  # milliseconds, of task 1
STEP, MOST_WORKERS, MOST_READY, ENOUGH = 0.010, 6, 12, 1 / 3  # of task 2
CHANGES = 5  # lines that differ from the one above
ERRORS = "softmax", "by_batch", "dropping"  # of the capstone's script, as `learned` calls them
VARIANTS = sorted(  # the correct one first, then those with one error, and so on
    [tuple(name for name, left in zip(ERRORS, lefts, strict=True) if left)
     for lefts in product((False, True), repeat=len(ERRORS))]
    + [("never", *more) for more in ((), ("softmax",), ("by_batch",), ("softmax", "by_batch"))],
    key=len,
)  # fmt: skip
STILL_WRONG = {
    "never": "from the second epoch on it learns without dropout. Which mode is the model in after a test?",
    "softmax": "the loss begins at 2.29 and hardly falls (guessing gives ln 10 = 2.30). What does cross_entropy do "
    "with the scores that it is given?",
    "by_batch": "an epoch's loss is not the mean over its 300 images. What would it be for batches of one and of nine?",
    "dropping": "ask the model twice about the same image. Are the answers equal?",
}


@task(
    "per_batch",
    "Milliseconds from one batch to the next, with 0, 1, 2 and 4 workers?",
    "side by side, the slower of the two sets the pace: the readers together, or the step.",
)
def _per_batch(answer: Any) -> str:
    try:
        given = numbers(answer).reshape(-1)
    except (TypeError, ValueError):
        given = np.zeros(0)
    if given.size != 4:
        return "give four numbers, such as [60, 50, 40, 30]."
    known: tuple[dict[float, str], ...] = (
        {30: "without workers, the loop reads and steps in turn.", 10: "who reads, without workers?"},
        {40: "one worker reads while the loop steps: they do not take turns."},
        {25: "the step runs while the next batches are read, so the two are not added.",
         30: "two workers read two batches in 30 ms.", 10: "two workers finish a batch every 15 ms."},
        {7.5: "the batches would come that fast, but who takes them?",
         17.5: "the step runs while the next batches are read, so the two are not added."},
    )  # fmt: skip
    for workers, found, right, hints in zip((0, 1, 2, 4), given, PER_BATCH, known, strict=True):
        if not np.isclose(found, right):
            near = next((hint for value, hint in hints.items() if np.isclose(found, value)), "")
            return f"with {workers}: {near or 'how often is a batch ready, and how often is one asked for?'}"
    return ""


@task(
    "fed_loop",
    "Write load(images): a loader for which the loop hardly waits.",
    "enough readers at once, and a look at what starts them.",
    function=True,
)
def _fed_loop(answer: Any) -> str:
    images, _ = on_disk()
    loader = answer(images)
    if loader is None:
        return NOTHING
    if not isinstance(loader, DataLoader):
        return "return a DataLoader."
    if loader.dataset is not images:
        return "let it read `images` itself. A copy of all samples would be 19 batches in memory, and 12 are allowed."
    if loader.num_workers > MOST_WORKERS:
        return f"those are {loader.num_workers} workers, and {MOST_WORKERS} are allowed."
    ahead = loader.num_workers * (loader.prefetch_factor or 0)
    if ahead > MOST_READY:
        return f"{ahead} batches may lie ready (workers times prefetch_factor), and {MOST_READY} are allowed."
    found = [y for _, y in loader]  # a pass that does not count
    right = [from_numpy(images.y[start : start + 16]) for start in range(0, len(images), 16)]
    if [tuple(one.tolist()) for one in found] != [tuple(one.tolist()) for one in right]:
        return "the batches are others: 16 images each, in order, and none left out."
    share = min(stalled(loader, STEP) for _ in range(3))  # something else may run beside one of them
    if share <= ENOUGH:
        return ""
    told = f"the loop waits for {share:.0%} of the second pass"
    if not loader.num_workers:
        return f"{told}. Nobody reads while it steps."
    if loader.worker == "process" and not loader.persistent_workers:
        return f"{told}. Its processes are started anew for each pass: what keeps them?"
    return f"{told}. A batch takes 32 ms to read, a step 10 ms: how many must read at once?"


@task(
    "worker_noise",
    "Fix Noisy: with workers, each image has noise of its own, other noise in each pass, the same from the same seed.",
    "a worker is a copy: what it draws must follow a seed of its own.",
)
def _worker_noise(answer: Any) -> str:
    if not callable(answer):
        return "hand in the class itself: answer = Noisy."
    try:
        first, alone = noises(answer, 4, passes=2), noises(answer, 0)
    except AttributeError as error:
        if "'NoneType'" in str(error):
            return "get_worker_info() is None where there is no worker: while __init__ runs, and in a loader without."
        raise
    if len({*first[:8]}) < 8:
        count = len({*first[:8]})
        told = f"four workers give eight images {plural(count, 'different noise')}. "
        known = {2: "Who runs __init__, and when?", 4: "Does each image start its generator again?"}
        return told + known.get(count, "Which generator has each, and from which seed?")
    values = np.stack([np.frombuffer(one, np.float32 if len(one) == 256 else np.float64) for one in first])
    if not 0.05 < values.std(1).min() <= values.std(1).max() < 0.2:
        return f"among the pixels of an image the noise should have a spread of 0.1; it has {values.std(1).mean():.2g}."
    kept = noises(answer, 4, passes=2, kept=True)
    if first[:8] == first[8:] or kept[:8] == kept[8:]:
        return "the second pass adds the noise of the first, by workers that are new, or stay. What does it depend on?"
    if first != noises(answer, 4, passes=2):
        return "from the same seed, tg.manual_seed(…), it should give the same noise again."
    if len({*alone}) < 8:
        return "without workers, images share their noise."
    return ""


@task(
    "capstone",
    "Bring train under the budget, with the numbers of a correct program, and defend each change by a line.",
    "under the budget, with the right numbers, and it can be seen which change did what.",
)
def _capstone(answer: Any) -> str:
    if not isinstance(answer, Ledger) or not answer.tries:
        return "hand in the ledger, with your last version in its last line: answer = ledger."
    last = answer.tries[-1]
    return _not_as_it_should_be(last) or _over_budget(answer, last) or _undefended(answer)


def _not_as_it_should_be(last: Try) -> str:
    """Which of the script's errors its numbers still have, or which one was made."""
    if last.launches < 60:
        return "it starts next to no kernels. Let it train on the accelerator, and anew each time."
    if last.read < 400:
        return f"it has read {last.read} images, and there are 400. Let it read them in each run."
    losses_of = {left: learned(**dict.fromkeys(left, True)) for left in VARIANTS}
    matching = [left for left, (losses, _) in losses_of.items() if np.allclose(last.losses, losses, rtol=2e-3, atol=0)]
    exact = [left for left in matching if np.allclose(last.accuracies, losses_of[left][1], atol=0.011)]
    if exact:
        return STILL_WRONG[exact[0][0]] if exact[0] else _not_what_the_model_does(last)
    if matching:
        return (
            "the losses are those of a known program, and the accuracies are not. Are they of all 100 new images, "
            "after each epoch, and which mode is the model in?"
        )
    told = ", ".join(f"{loss:.4f}" for loss in last.losses)
    told = f"its losses, {told}, are those of no program known here. In which line of the ledger did they change?"
    return f"{told} Are the batches, the clipping, the rate, the dropout and the order of random numbers as given?"


def _not_what_the_model_does(last: Try) -> str:
    """Whether the model that was returned is as good as was said."""
    _, new = on_disk()
    parameter: Tensor = next(iter(last.model.parameters()))
    x = centred(new).to(parameter.dtype).to(parameter.device)
    last.model.eval()
    with no_grad():
        found = (last.model(x).argmax(1).cpu().numpy() == new.y).mean()
    return "" if abs(found - last.accuracy) < 0.011 else f"the model that it returns is right for {found:.0%}."


def _over_budget(ledger: Ledger, last: Try) -> str:
    budget = ledger.budget
    fast, fed, small = ledger.within(last)
    if not fast:
        told = f"the accelerator is at work for {seconds_text(last.seconds)}, and {seconds_text(budget.seconds)} are"
        return f"{told} allowed. What does tips.advise still list?"
    if not fed:
        told = f"it waits {seconds_text(last.waited)} for data, and {seconds_text(budget.waited)} are allowed"
        return f"{told}. How many images are read at once, how many times is each, and what starts who reads?"
    if not small:
        told = f"it needs {bytes_text(last.nbytes)}, and {bytes_text(budget.nbytes)} are allowed"
        return f"{told}. How many bytes has each number, and what is kept that nobody reads again?"
    return ""


def _undefended(ledger: Ledger) -> str:
    if ledger.tries[0].seconds < 10 * ledger.budget.seconds:
        return "it keeps to the budget. For comparison, let the script as given stand in the first line."
    if ledger.changes >= CHANGES:
        return ""
    return (
        f"it keeps to the budget, but nobody sees which change did it: {plural(ledger.changes, 'change')} can be told "
        f"apart in the ledger. Take yours back one by one, and give each its line: at least {CHANGES} have to show one."
    )


CHOICES = (
    {"a": "who opens the next files while it trains?", "c": "they would help as well, but each costs a process: what "
     "does opening a file, or Pillow, keep Python from doing?", "d": "decoded to float32 they take 24 GB."},
    {"a": "they are read in all fifty epochs.", "b": "they would hide it fifty times. Could it happen once?",
     "c": "they would hide it fifty times. Could it happen once?"},
    {"a": "four cores are there.", "b": "only one thread at a time runs Python.", "d": "each is used once."},
    {"b": "what is there to wait for?", "c": "the batches would have to travel to the loop.",
     "d": "it is in memory already."},
)  # fmt: skip


@task(
    "who_reads",
    "For each of the four loops, the cheapest way that ends the waiting, as four letters.",
    "what reading waits for decides: for a disk, for Python, or for nothing.",
)
def _who_reads(answer: Any) -> str:
    given = [letter for letter in str(answer).lower() if letter.isalpha()]
    if len(given) != 4 or not set(given) <= set("abcd"):
        return "give four letters from a to d, such as answer = 'abcd'."
    wrong = (
        (place, hints[letter])
        for place, (letter, hints) in enumerate(zip(given, CHOICES, strict=True), 1)
        if letter in hints
    )
    return next((f"loop {place}: {hint}" for place, hint in wrong), "")


quiz(
    "quiz_feeding",
    "1 a second worker, 2 further ahead, 3 two answers",
    "look for what the loop waits for before you add anything.",
    (
        {"a": "a batch is ready every 12 ms already. How often is one asked for?", "b": "",
         "c": "the disk is not the limit here."},
        {"a": "batches leave the readers as fast as before.", "b": "", "c": "who reads faster then?"},
        {"a": "the seed decides what is drawn, not whether.", "b": "asked for, it stores what backward needs, and "
         "computes the same.", "c": ""},
    ),
    "give three letters, one for each question, such as answer = 'abc'.",
)  # fmt: skip
