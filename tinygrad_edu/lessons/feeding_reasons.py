"""Why the predictions of lesson 9 come out as they do: for each choice the reason why it is right, or why not."""

from __future__ import annotations

FEEDING: dict[str, str | dict[str, str]] = {
    "share_waited": {
        "about a tenth": "A step takes 3 ms, and 16 images from this disk take more than 32.",
        "about half": "Reading and the step take turns, but not turns of the same length.",
        "about nine tenths": "Before each step of 3 ms the loop itself **reads 16 images, 2 ms each**.",
    },
    "threads_in_python": {
        "about a half": "“Two threads, twice as fast”? They would, if each could run Python at the same time.",
        "about as long": "Only **one thread at a time runs Python**, so the two take turns. While a thread waits for a "
        "disk, the other can run.",
        "more than 10 times as long": "To take turns costs something, but not that much.",
    },
    "from_memory": {
        "about a half": "There is nothing to share: the digits are in memory, and a batch is a slice.",
        "about as long": "“At worst they do not help”? Processes have to be started, and every batch travels.",
        "more than 10 times as long": "A batch from memory takes microseconds. **Starting two processes** and sending "
        "each batch takes far longer.",
    },
    "eight_noises": {
        "8": "They would be, if all workers drew from one generator. Each has a copy of it.",
        "2": "Each worker has **a copy of the generator** and reads two images. The first ones get the same noise, and "
        "so do the second.",
        "1": "A generator moves on with every draw: a worker's second image gets other noise than its first.",
    },
    "launches": {
        "about 30": "That would do for a batch of 32. This loop calls the model for each image.",
        "about 800": "Each of the 32 images goes through the model **by itself**, forward and backward, with more than "
        "20 kernels.",
        "about 25,000": "That is the whole training: 30 steps, and the tests.",
    },
    "certain": {
        "0.00": "It would be 0 for a score of infinity. A probability is at most 1.",
        "1.46": "cross_entropy takes **scores, and makes probabilities itself**: of 1 and nine zeros it makes 0.23 for "
        "the right digit.",
        "2.30": "That is guessing: the same probability for ten digits.",
    },
    "more_threads": "Once **the readers together keep up with the step**, the step sets the pace. More of them read "
    "more at once, and none reads faster.",
    "read_ahead": "**Room evens out, it adds no speed**: in (a) reading is slower, in (b) it is ahead anyway, in (c) "
    "quick batches cover slow ones.",
    "one_lock": "A thread that **waits for a disk holds no lock**, nor does NumPy's sort. A loop in Python holds it, "
    "even against the training loop.",
    "copies_of_state": "Its **seed must differ from worker to worker**: a copy of a generator draws the same numbers.",
    "other_numbers": "Each change **should leave the numbers as they are**, up to rounding. Else it is a mistake, "
    "mends one, or draws other random numbers.",
}
