"""One recording for every length: what is filled in is what would have been recorded, or it is recorded."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tinygrad_edu as tg
from tests.compiler.test_random_programs import CHOICES, Choice, agree, leaves, play, same
from tinygrad_edu.compiler import compile
from tinygrad_edu.compiler.lengths import Length
from tinygrad_edu.errors import ShapeError
from tinygrad_edu.settings import scoped

SHAPES = ((), (1,), ("n",), (3, 1), (3, "n"), ("n", 2), (2, 3, "n"))
INPUTS = st.lists(st.tuples(st.sampled_from(SHAPES), st.booleans()), min_size=1, max_size=3)
LENGTHS = st.lists(st.integers(1, 12), min_size=3, max_size=6, unique=True)


@given(choices=CHOICES, inputs=INPUTS, lengths=LENGTHS)
@settings(max_examples=600, deadline=None)
def test_random_programs(choices: list[Choice], inputs: Any, lengths: list[int]) -> None:
    """Decisions on shapes, errors that are caught, lengths that equal others by chance: what comes out is right."""

    def function(*tensors: Any) -> Any:
        return tuple(play(choices, list(tensors)))

    fast = compile(function, dynamic=True, fullgraph=True)
    for n in lengths:
        given_now = [(tuple(n if d == "n" else d for d in shape), wants) for shape, wants in inputs]
        ours, theirs = leaves(given_now, n), leaves(given_now, n)
        with np.errstate(all="ignore"):  # few programs give numbers that are not finite
            agree(fast(*ours), function(*theirs), ours, theirs)


# What is filled in ----------------------------------------------------------------------------------------------------


GRU = tg.nn.GRU(3, 4, batch_first=True)


def batch(n: int, *rest: int, seed: int = 0) -> Any:
    return tg.tensor(np.random.default_rng(n + seed).normal(size=(n, *rest)).astype("f4"), requires_grad=True)


def later(n: int) -> Any:
    return tg.ones(n, n).triu(1).bool()


def written(x: Any) -> Any:
    y = x * 1
    y[1:] = 2 * x[:-1]
    y[0] = 5
    y += 1
    return y


FUNCTIONS: dict[str, Any] = {
    "elementwise": (lambda x: (x * 2 + 1).tanh() / x.shape[0], (3,)),
    "means and sums": (lambda x: x.mean() + x.sum(0) + x.var() + x.std(0) + x.mean(0, keepdim=True).amax(), (3,)),
    "products": (lambda x: (x @ x.T) @ x, (3,)),
    "softmax over it": (lambda x: x.softmax(0) + x.log_softmax(1), (3,)),
    "shapes": (lambda x: x.reshape(x.shape[0] * 3).reshape(-1, 3).permute(1, 0).unsqueeze(0).expand(2, 3, -1), (3,)),
    "flattened": (lambda x: x.flatten(1) @ tg.ones(12, 2), (3, 4)),
    "pieces": (lambda x: tg.cat([x[1:], x[:-1], x[:2], x[-1:], x.flip(0)]), (3,)),
    "stacked": (lambda x: tg.stack([x, x * 2]).sum(0), (3,)),
    "numbers from 0": (lambda x: x * tg.arange(x.shape[0]).reshape(-1, 1) + tg.zeros(x.shape[0], 1), (3,)),
    "a mask": (lambda x: tg.where(tg.arange(x.shape[0])[:, None] > 2, x, tg.zeros_like(x)), (3,)),
    "triangles": (lambda x: (x @ x.T).masked_fill(later(x.shape[0]), -1e9).softmax(1), (3,)),
    "sorted": (lambda x: x.sort(0)[0] + x.cumsum(0), (3,)),
    "by half": (lambda x: x[: x.shape[0] // 2] / (x.shape[0] - 1), (3,)),
    "losses": (lambda x: tg.nn.functional.cross_entropy(x, (x.detach() * 0).argmax(1)) + x.square().mean(), (3,)),
    "layer norm": (lambda x: tg.nn.functional.layer_norm(x, (3,)), (3,)),
    "convolution": (lambda x: tg.nn.functional.conv2d(x, tg.ones(2, 3, 2, 2), padding=1).relu(), (3, 5, 5)),
    "pooling": (lambda x: tg.nn.functional.max_pool2d(x, 2) + tg.nn.functional.avg_pool2d(x, 2), (2, 4, 4)),
    "attention": (lambda x: tg.nn.functional.scaled_dot_product_attention(x, x, x, is_causal=True), (2, 3, 4)),
    "recurrent": (lambda x: GRU(x)[0], (2, 3)),
    "einsum": (lambda x: tg.einsum("ni,mi->nm", x, x).sum(0), (3,)),
    "written": (written, (3,)),
    "padded": (lambda x: tg.nn.functional.pad(x, (1, 1)), (3,)),
    "embedding": (lambda x: tg.ones(4, 2)[(x.detach() > 0).long()[:, 0]] * x, (2,)),
}  # fmt: skip


def outcome(function: Any, x: Any) -> tuple[Any, Any]:
    x = x.detach().requires_grad_()
    y = function(x)
    (y * y).sum().backward()
    return y.detach().cpu().array, x.grad.cpu().array


@pytest.mark.parametrize("device", ["cpu", "sim"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_another_length_is_filled_in(name: str, device: str) -> None:
    function, rest = FUNCTIONS[name]
    GRU.to(device)
    fast = compile(function, dynamic=True, fullgraph=True)
    for n in (8, 12, 5, 3, 6, 40, 12, 5):
        x = batch(n, *rest).detach().to(device)
        with scoped(device=device):
            for found, expected in zip(outcome(fast, x), outcome(function, x), strict=True):
                same(found, expected)
    assert [one.origin is None for one in fast.ledger] == [True, True, False, False, False, False]
    assert [one.calls for one in fast.ledger] == [1, 2, 2, 1, 1, 1]
    assert all(
        one.origin is fast.ledger[1] and "filled in, from those for 8 and 12" in one.reason for one in fast.ledger[2:]
    )


def trained(device: str, dynamic: bool) -> tuple[list[float], list[Any], Any]:
    """Losses and weights of a whole training step, with everything that belongs to one, over uneven batches."""
    tg.manual_seed(1)
    net = tg.nn.Sequential(
        tg.nn.Linear(5, 8, bias=False), tg.nn.BatchNorm1d(8), tg.nn.ReLU(), tg.nn.Dropout(0.5), tg.nn.Linear(8, 3)
    )
    net = net.to(device)
    optimizer = tg.optim.Adam(net.parameters(), lr=0.1)
    scheduler = tg.optim.lr_scheduler.CosineAnnealingLR(optimizer, 10)

    def step(x: Any, y: Any) -> Any:
        optimizer.zero_grad()
        loss = tg.nn.functional.cross_entropy(net(x), y)
        loss.backward()
        tg.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        return loss

    run = compile(step, dynamic=True, fullgraph=True) if dynamic else step
    losses = []
    for n in (8, 12, 5, 31, 8, 5):
        x, y = batch(n, 5).detach(), tg.tensor(np.arange(n) % 3)
        losses.append(run(x.to(device), y.to(device)).item())
    return losses, [one.detach().cpu().array for one in net.parameters()], run


@pytest.mark.parametrize("device", ["cpu", "sim"])
def test_a_whole_step_over_uneven_batches(device: str) -> None:
    """Dropout draws as many numbers as there are rows, the rate falls, the statistics go on."""
    losses, weights, _ = trained(device, False)
    found, ours, run = trained(device, True)
    np.testing.assert_allclose(found, losses, rtol=1e-4)
    for one, other in zip(ours, weights, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-5)
    assert [one.origin is None for one in run.ledger] == [True, True, False, False]


def test_a_module_for_every_length() -> None:
    net = tg.nn.Sequential(tg.nn.Linear(3, 4), tg.nn.ReLU(), tg.nn.Linear(4, 2))
    fast = compile(net, dynamic=True)
    for n in (4, 6, 9, 1, 30):
        x = batch(n, 3)
        for found, expected in zip(outcome(fast, x), outcome(net, x), strict=True):
            same(found, expected)
    assert [one.origin is None for one in fast.ledger] == [True, True, False, True, False]


# What is recorded instead ---------------------------------------------------------------------------------------------


def both(function: Any, *shapes: tuple[int, ...]) -> Any:
    """The compiled function, after it has been compared with the other for a tensor of each shape."""
    fast = compile(function, dynamic=True)
    for i, shape in enumerate(shapes):
        x = tg.tensor(np.random.default_rng(i).normal(size=shape).astype("f4"))
        same(fast(x).array, function(x).array)
    return fast


def many(x: Any) -> Any:
    return x * 2 if x.shape[0] > 10 else x + 1


def least(x: Any) -> Any:
    return x / min(x.shape[0], 10)


def looked_up(x: Any) -> Any:
    return x * {24: 2.0}.get(x.shape[0], 1.0)


def counted(x: Any) -> Any:
    return x * (2 if len(x) > 20 else 3)


def ranged(x: Any) -> Any:
    return x * len(range(0, x.shape[0], 8))


def rounded(x: Any) -> Any:
    return x * int(x.shape[0] / 100 + 0.9)


def odd(x: Any) -> Any:
    return x * 2 if x.shape[0] % 2 else x


def rooted(x: Any) -> Any:
    return x * (2 if np.sqrt(x.shape[0]) > 4.5 else 3) + (math.log2(x.shape[0]) > 4.5)


def caught(x: Any) -> Any:
    try:
        return x + tg.ones(24)
    except ShapeError:
        return x


def given_rows(x: Any) -> Any:
    return x * tg.tensor([min(i, 20) for i in range(x.shape[0])])


def in_text(x: Any) -> Any:
    return x * (2 if f"{x.shape[0]}".startswith("2") else 3)


def halves(x: Any) -> Any:
    whole, rest = divmod(x.shape[0], 8)
    return x * (2 if whole > 2 else 3) + rest


def bytes_of(x: Any) -> Any:
    return x * (2 if x.nbytes > 80 else 3)


def steps_of(x: Any) -> Any:
    return x * (2 if x.expand(2, -1).clone().stride(0) > 20 else 3)


def divided(x: Any) -> Any:
    return x * 2 if x.shape[0] == 24 else x * (100 // (24 - x.shape[0]))


@pytest.mark.parametrize(
    "function",
    [
        halves,
        bytes_of,
        steps_of,
        divided,
        many,
        least,
        looked_up,
        counted,
        ranged,
        rounded,
        odd,
        rooted,
        caught,
        given_rows,
        in_text,
    ],
)
def test_what_another_length_would_do_otherwise(function: Any) -> None:
    """8 and 12 rows take one way, 24 and 25 another: nothing of that is filled in wrongly."""
    both(function, (8,), (12,), (24,), (25,), (9,), (8,), (36,))


def test_the_ledger_says_why_it_was_recorded_again() -> None:
    fast = both(many, (8,), (9,), (24,))
    assert fast.ledger[-1].origin is None and fast.ledger[-1].reason.endswith("a decision was False, and would be True")
    fast = both(counted, (8,), (9,), (7,))
    assert fast.ledger[-1].reason.endswith("an int is made of a length, as by len, range or int: use x.shape[0]")
    assert len(both(many, (12,), (13,), (40,), (99,)).ledger) == 4


def test_a_single_row_and_none_are_recorded_for_themselves() -> None:
    fast = both(lambda x: x.sum(0, keepdim=True) + x.amax(1).sum(), (8, 3), (9, 3), (1, 3), (4, 3))
    assert [one.origin is None for one in fast.ledger] == [True, True, True, False]
    assert both(lambda x: x.sum(0) + 1, (8, 3), (9, 3), (0, 3)).ledger[-1].origin is None


def test_two_lengths_that_vary() -> None:
    fast = both(lambda x: x.softmax(1) @ x.T, (4, 3), (8, 3), (8, 5), (8, 6), (5, 6), (5, 7))
    assert [one.origin is None for one in fast.ledger] == [True, True, True, False, True, True]
    square = both(lambda x: x @ x.T + x, (4, 4), (8, 8), (5, 5), (5, 6)[:1] * 2)
    assert [one.origin is None for one in square.ledger] == [True, True, False]


def test_a_number_of_python_that_changes_together_with_the_length() -> None:
    """It would seem to follow from the length, and does not."""
    rows = 8

    def scaled(x: Any) -> Any:
        return x * rows + x.shape[0]

    fast = compile(scaled, dynamic=True)
    for n in (8, 12, 20, 16):
        rows = n if n < 20 else 12
        x = tg.ones(n)
        same(fast(x).array, scaled(x).array)


def test_a_program_that_was_filled_in_is_let_go_when_there_are_many() -> None:
    fast = both(lambda x: (x * 2).sum(0), *[(n, 2) for n in range(2, 40)], (5, 2))
    assert sum(bool(one.codes) for one in fast.ledger) == 2 + 8
    assert sum(one.origin is None for one in fast.ledger) == 2
    assert len(fast.ledger) == 39 and fast.ledger[-1].signature == "float32[5, 2]"


def test_a_length_that_is_kept_is_a_number() -> None:
    n = Length(6)
    assert isinstance(n, int) and n == 6 and hash(n) == hash(6) and 2 * n == 12 and n / 4 == 1.5 and [0] * n == [0] * 6
    assert tg.ones(n).shape == (6,) and f"{n:3}" == "  6" and divmod(n, 4) == (1, 2) and np.arange(8)[: n - 4].size == 2
    assert (np.arange(3) * n).tolist() == [0, 6, 12] and np.sqrt(n) == np.sqrt(6) and n.bit_length() == 3
    assert round(n / 4) == 2 and -n == -6 and bool(n) and float(n) == 6.0 and (tg.ones(2) * n).tolist() == [6, 6]
