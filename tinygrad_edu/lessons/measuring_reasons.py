"""Why the predictions of lesson 0 come out as they do: for each choice the reason why it is right, or why not."""

from __future__ import annotations

MEASURING: dict[str, str | dict[str, str]] = {
    "order_of_runs": {
        "more than 5 times faster": "If the character made the difference, the order would not matter. A part of "
        "the work happens only once, whoever asks for it.",
        "less than 5 times apart": "The work that happens once did not vanish. Now the other function pays for it.",
        "more than 5 times slower": "**The first call makes the window**; the second finds it ready. The clock told "
        "who came first, not which is faster.",
    },
    "square_race": "A power takes **slightly longer to start** than a product. With 1000 numbers that may show; with "
    "100,000, where data lie matters as much.",
    "first_run": "Run 1 of A **makes the window**: far beyond the axis. The verdict stays, as a median hardly notices "
    "one run. A mean would.",
    "sorted_once": {
        "more than 5 times faster": "The first run left the list sorted. The best of five was one of the four that had "
        "nothing left to do.",
        "less than 5 times apart": "Both now **sort shuffled numbers**. Before, four of five runs of `x.sort()` were "
        "given a list in order, which Python's sort notices.",
        "more than 5 times slower": "Both sort with the same algorithm; `sorted` also copies the list, which is too "
        "little for these few pairs to show.",
    },
    "last_number": {
        "about a twentieth of the time": "“The line with the time on it is the slow line” is a misconception. Reading "
        "is quick; a number must be there first.",
        "about half of the time": "The queue does one product after the other. The last one has all others before it.",
        "about as long as before": "The last number is ready when **all twenty products** are done. The clock showed "
        "the wait for them, not the reading.",
    },
    "overlap": "With reading at the end: the device computes **while Python works**. Reading each number at once makes "
    "Python wait for every product.",
    "blocks": {
        "fewer than 10": "A median is safe against a few long runs only. Here the spell lasts as long as all runs of "
        "one function.",
        "10 to 60": "On a quieter computer, perhaps. Here one spell takes half of the time, and nearly always hits one "
        "function more.",
        "more than 60": "The spell is long, and **seldom hits A and B equally**. More runs in blocks do not change "
        "that.",
    },
    "design_of_medians": "Without the other program, yes. With it, a median of half quiet, half busy runs **falls on "
    "either side**, also in turns.",
    "ten_numbers": "**Starting an operation** on a tensor takes longer than ten multiplications in Python, and as long "
    "for any number of elements.",
    "list_first": "**Making the tensor** took longer than the sum (recorded 23 November 2026: the list 1.35 times as "
    "fast). PyTorch loses, too; `np.array` wins narrowly.",
    "counts": "**The same**: a square is one operation, whichever way it is written, and makes as many bytes.",
    "coin": "**4 times**, computed: 15 of 20 or more on one side. That is about once in twenty-five.",
    "same_counts": "Equal work makes a large factor **unlikely**: look for a fault first. Counts do not say how long "
    "an operation takes.",
    "first_counts": "Where **every user pays for the first call**: a command that runs once, a page that opens, a "
    "phone that starts.",
    "item_is_slow": "How much was **still in the queue** when the line began: synchronise before it, then time it "
    "again.",
    "coin_in_blocks": "A spell that covers most of one function's runs **decides many pairs at once**. They are no "
    "longer separate throws of a coin.",
}
