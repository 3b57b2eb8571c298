"""Why the predictions of lesson 6 come out as they do: for each choice the reason why it is right, or why not."""

from __future__ import annotations

BOUNDS: dict[str, str | dict[str, str]] = {
    "hundred_times": {
        "about as long": "Each operation costs **about a microsecond to start**, whatever it carries; 300 additions "
        "take a small part of that.",
        "about 10 times as long": "That would be so if the work itself took most of the time.",
        "about 100 times as long": "A hundred times the arithmetic, yes. But arithmetic was not what took the time.",
    },
    "chain_bytes": {
        "as many": "“The same arithmetic, the same bytes”? Only what leaves a kernel has to go through memory.",
        "about half": "That would be four reads and four writes; a kernel makes one of each.",
        "an eighth": "One kernel reads x once and writes the result once. Seven results in between **never reach "
        "memory**.",
    },
    "one_step": {
        "longer": "NumPy is called as often as before, and each time the program first checks that it fits: **one "
        "step does not repay that**.",
        "about as long": "It saves what the library does for each operation, but must first check that it fits.",
        "half as long": "It saves what the library does for each operation, half of a start. But to call the program "
        "takes as long as several starts.",
    },
    "many_steps": "A program saves **the library's part of each start**, and keeps the NumPy call. Calling it costs "
    "several starts, once, so one step loses.",
    "chain_race": "In strips, results in between stay **in the cache**, not in memory. 100,000 numbers fit the cache "
    "anyway: there little is saved.",
    "one_product": {
        "NumPy calls": "One product is one NumPy call, before and after.",
        "bytes": "It reads both matrices and writes one, before and after. Nothing is in between.",
        "neither": "There is **nothing to merge**: one operation is one kernel already, and its time is arithmetic.",
    },
    "remainder": {
        "1": "A program holds for the shapes that it was recorded with, and the last batch has another one.",
        "2": "The last batch has fewer rows: **its shape is another one**, and no program was made for that.",
        "5": "Batches of equal shape share a program, whatever numbers are in them.",
    },
    "rates": {
        "1": "The rate is written into the program as a constant. With it, the next call would be wrong.",
        "2": "So it is in PyTorch, which then turns the number into an input. Here the third rate is as new as the "
        "second.",
        "6": "A number of Python **becomes a constant of the program**: for another number it would be wrong.",
    },
    "faster_chip": "Only **the product of two matrices**, limited by arithmetic. The others wait for a start or bytes.",
    "crossing": "Where moving takes as long as a start: **1,250 numbers of 8 bytes** at 10 GB/s, ten times as many at "
    "a cache's 100.",
    "mean_of_padded": "The zeros **count as rows**, so the mean shrinks. Divide the sum by the rows that are real.",
    "which_tool": "Bytes limit large arrays: merge. Starts limit small ones: fewer calls, many steps in a "
    "program. Arithmetic limits large products: **fewer bits, a faster machine**.",
    "strips": "The results in between still move, **through the cache**: 80 times what 100,000 numbers take. Memory "
    "moves x and the result besides.",
    "why_recorded_again": "The branch was decided by a number that the recording saw once; **another input could take "
    "the other side**.",
}
