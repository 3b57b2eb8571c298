"""The tip lab's right answers, and the usual wrong ones."""

from __future__ import annotations

from typing import Any

import numpy as np

import tinygrad_edu as tg
from tinygrad_edu.observe.machine import conditions
from tinygrad_edu.observe.results import Comparison, Timing

LAB_SOLUTIONS: dict[str, str] = {
    "lab_centre": """
def centre(readings):
    return readings - readings.mean(1, keepdim=True)

answer = centre""",
    "lab_thin": """
def thin(readings):
    return readings[::2]

answer = thin""",
    "lab_scores": """
def scores(rows, weights):
    return rows @ weights

answer = scores""",
    "lab_shape": """
from tinygrad_edu.observe.machine import conditions
from tinygrad_edu.observe.results import Comparison, Timing

loop, once = Timing("loop", (2e-3,) * 6, (), 1), Timing("at once", (4e-3,) * 6, (), 1)
answer = (10, 200_000, Comparison(loop, once, (0.5,) * 6, conditions(None)))""",
    "lab_channels": """
def centre_channels(images):
    return images - images.mean((0, 1, 2), keepdim=True)

answer = centre_channels""",
    "exit_lab": 'answer = "cac"',
}


def _centre_in_a_loop(x: Any) -> Any:
    return tg.stack([row - row.mean() for row in x])


def _centre_in_place(x: Any) -> Any:
    x -= x.mean(1, keepdim=True)
    return x


def _scores_in_a_loop(rows: Any, weights: Any) -> Any:
    return tg.stack([(row * weights).sum() for row in rows])


def _channels_in_a_loop(images: Any) -> Any:
    means = [images[..., c].mean() for c in range(3)]
    return tg.stack([tg.stack([image[..., c] - means[c] for c in range(3)], -1) for image in images])


def _each_channel(images: Any) -> Any:
    return tg.stack([images[..., c] - images[..., c].mean() for c in range(3)], -1)


def measured(sensors: int, each: int, ratio: float, spread: bool = False) -> tuple[int, int, Comparison]:
    """What the notebook's ``raced`` would give on a machine where the ratio of the times is known."""
    ratios = (ratio, ratio * 2, ratio / 2) * 4 if spread else (ratio,) * 12
    times = tuple(1e-3 * one for one in ratios)
    loop, once = Timing("loop", times, (), 1), Timing("at once", (1e-3,) * len(times), (), 1)
    return sensors, each, Comparison(loop, once, ratios, conditions(None))


LAB_WRONG: dict[str, list[tuple[Any, str]]] = {
    "lab_centre": [
        (_centre_in_a_loop, "on 60 × 7 readings: right, but it starts 181 operations, so it still has a loop"),
        (lambda x: tg.stack([x[:, c] - x.mean(1) for c in range(x.shape[1])], 1), "on 7 × 7 readings: right, but"),
        (
            lambda x: tg.tensor(np.stack([row - row.mean() for row in x.numpy()])),
            "no tensor operation was counted: the work was done outside the engine",
        ),
        (_centre_in_place, "its input has changed"),
        (lambda x: x - x.mean(1), "Compare the two shapes from the right"),
        (lambda x: x - x.mean(1) if len(x) == x.shape[1] else _centre_few(x), "each mean met a column"),
        (lambda x: x - x.mean(0), "the mean of each column"),
        (lambda x: x - x.mean(), "the mean of all readings"),
        (lambda x: x.mean(1, keepdim=True), "those are the means"),
        (lambda x: x[0], "the result has shape (7,)"),
        (lambda x: x * 0, "the numbers differ"),
        (lambda x: None, "is there a return?"),
        (3, "the function itself"),
    ],
    "lab_thin": [
        (lambda x: x[list(range(0, len(x), 2))], "a list or a tensor of positions copies"),
        (lambda x: x[tg.arange(0, len(x), 2)], "a list or a tensor of positions copies"),
        (lambda x: x[::2].clone(), "so do clone and stack"),
        (lambda x: tg.stack([x[i] for i in range(0, len(x), 2)]), "so do clone and stack"),
        (lambda x: x[1::2], "begin with row 0"),
        (lambda x: x[:, ::2], "every second column"),
        (lambda x: x[: (len(x) + 1) // 2], "the first half"),
        (lambda x: x[:5000:2], "on 10,000 rows: those are the first 2,500 of 5,000 rows"),
        (lambda x: x[:9:2], "on 10,000 rows: those are the first 5 of 5,000 rows"),
        (lambda x: x[:8:2], "on 10 rows: those are the first 4 of 5 rows"),
        (lambda x: x[2::2], "on 10 rows: the result has shape (4, 3), and it should be (5, 3)"),
        (lambda x: None, "is there a return?"),
        (3, "the function itself"),
    ],
    "lab_scores": [
        (_scores_in_a_loop, "so it still has a loop"),
        (lambda rows, w: tg.tensor(rows.numpy() @ w.numpy()), "the tensors' own operations"),
        (lambda rows, w: (rows * w).sum(1), "all products are written out"),
        (lambda rows, w: rows * w, "not added up yet"),
        (lambda rows, w: (rows * w).sum(0), "adds up the columns"),
        (lambda rows, w: (rows * w).sum(), "Each row has one score"),
        (lambda rows, w: w @ rows, "as many as there are weights"),
        (lambda rows, w: w @ rows if len(rows) == len(w) else rows @ w, "changed places"),
        (lambda rows, w: None, "is there a return?"),
        (3, "the function itself"),
    ],
    "lab_shape": [
        (measured(1000, 2000, 8.0), "at once is faster than loop: 8.0× (8.0–8.0). The loop starts five operations for"),
        (measured(1000, 2000, 8.0), "5,001 here, with one to join them"),
        (measured(20, 100_000, 1.2), "101 here"),
        (measured(1, 2_000_000, 1.2), "its row is the whole table"),
        (measured(2, 1_000_000, 1.2), "leave this task open"),
        (measured(1, 2_000_000, 1.0), "with one sensor, its row is the whole table"),
        (measured(100, 20_000, 1.2, spread=True), "The runs vary too much to tell"),
        (measured(20, 200_000, 0.5), "20 × 200,000 is 4,000,000, not two million"),
        ((20, 100_000), "hand in what `raced` gives"),
        (("a", "b", "c"), "hand in what `raced` gives"),
        ("x", "hand in what `raced` gives"),
        (7, "hand in what `raced` gives"),
    ],
    "lab_channels": [
        (_channels_in_a_loop, "a loop over the images"),
        (_each_channel, "starts 13 operations, and as many for 10 images: its loop is over something else"),
        (lambda x: tg.tensor(x.numpy() - x.numpy().mean((0, 1, 2))), "the tensors' own operations"),
        (lambda x: x - x.mean((1, 2), keepdim=True), "each image has its own means"),
        (lambda x: x - x.mean(0), "the mean picture"),
        (lambda x: x - x.mean(), "one mean for all channels"),
        (lambda x: x - x.mean(3, keepdim=True), "over the channels of each pixel"),
        (lambda x: None, "is there a return?"),
        (3, "the function itself"),
    ],
    "exit_lab": [
        ("aac", "the mean of each column"),
        ("bac", "50 meets the 20 readings"),
        ("cbc", "even where a slice could do it"),
        ("ccc", "already shares"),
        ("caa", "depends on size and machine"),
        ("cab", "the counts are something"),
        ("b", "for each of the three questions"),
        ("caz", "for each of the three questions"),
    ],
}


def _centre_few(x: Any) -> Any:
    return x - x.mean(1, keepdim=True)


LAB_ALSO_RIGHT: dict[str, list[Any]] = {
    "lab_centre": [
        lambda x: x - x.mean(1).unsqueeze(1),
        lambda x: x - x.mean(1)[:, None],
        lambda x: (x.T - x.mean(1)).T,
    ],
    "lab_thin": [lambda x: x[0::2], lambda x: x[: len(x) : 2]],
    "lab_scores": [lambda rows, w: rows.matmul(w), lambda rows, w: tg.einsum("ij,j->i", rows, w)],
    "lab_shape": [measured(2, 1_000_000, 1.0), measured(1000, 2000, 0.9), measured(40, 50_000, 1.01)],
    "lab_channels": [
        lambda x: x - x.mean((0, 1, 2)),
        lambda x: x - x.reshape(-1, 3).mean(0),
        lambda x: x - x.mean(0, keepdim=True).mean(1, keepdim=True).mean(2, keepdim=True),
    ],
    "exit_lab": [("c", "a", "c"), "C, A, C"],
}
