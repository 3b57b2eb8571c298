"""`fit` is the loop that one writes by hand; what it measures, prints, restores and refuses."""

from __future__ import annotations

import copy
import io
import math
import re
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tests.support import teaches
from tinygrad_edu import data, nn, optim, training
from tinygrad_edu.errors import ArgumentError, DtypeError, TrainingError
from tinygrad_edu.metrics import accuracy, mean_absolute_error
from tinygrad_edu.nn.utils import clip_grad_norm_
from tinygrad_edu.training import History, evaluate, fit

F = nn.functional


def task(count: int = 10) -> data.TensorDataset:
    """Points of the plane, and whether they lie above the diagonal."""
    x = tg.tensor(np.random.default_rng(0).normal(size=(count, 2)), dtype="float32")
    return data.TensorDataset(x, (x[:, 0] < x[:, 1]).long())


def learner(lr: float = 0.5) -> tuple[Any, Any]:
    tg.manual_seed(1)
    model = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 2))
    return model, optim.SGD(model.parameters(), lr=lr, momentum=0.9)


def weights(model: Any) -> list[Any]:
    return [p.tolist() for p in model.parameters()]


@pytest.mark.parametrize("clip", [None, 0.05])
@pytest.mark.parametrize("per_batch", [False, True])
def test_it_is_the_loop_that_one_writes(clip: float | None, per_batch: bool) -> None:
    """Batches of 4, 4 and 2, to the last bit; means weighted by samples."""
    loader, check = data.DataLoader(task(), 4, shuffle=True), data.DataLoader(task(7), 3)
    model, optimizer = learner()
    scheduler = optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
    expected = []
    for epoch in (1, 2, 3):
        rate, losses, right = optimizer.param_groups[0]["lr"], [], []
        for x, y in loader:
            optimizer.zero_grad()
            output = model(x)
            loss = F.cross_entropy(output, y)
            loss.backward()
            if clip is not None:
                clip_grad_norm_(model.parameters(), clip)
            optimizer.step()
            if per_batch:
                scheduler.step()
            losses += [loss.item()] * len(y)
            right += (output.argmax(1) == y).tolist()
        if not per_batch:
            scheduler.step()
        with tg.no_grad():
            found = [(F.cross_entropy(model(x), y).item(), (model(x).argmax(1) == y).tolist()) for x, y in check]
        expected.append({
            "epoch": epoch, "lr": rate, "loss": np.mean(losses), "accuracy": np.mean(right),
            "val_loss": sum(loss * len(hits) for loss, hits in found) / 7,
            "val_accuracy": sum(sum(hits) for _, hits in found) / 7,
        })  # fmt: skip
    by_hand = weights(model)
    model, optimizer = learner()
    history = fit(
        model, loader, F.cross_entropy, optimizer, 3, validate=check, metrics=[accuracy], clip_grad_norm=clip,
        scheduler=optim.lr_scheduler.ExponentialLR(optimizer, 0.9), scheduler_per_batch=per_batch, progress=False,
    )  # fmt: skip
    assert weights(model) == by_hand
    assert [list(epoch) for epoch in history.epochs] == [list(epoch) for epoch in expected]
    for ours, theirs in zip(history.epochs, expected, strict=True):
        assert ours == pytest.approx(theirs, rel=1e-12)
    assert len(history) == len(history.seconds) == 3
    assert history["lr"] == [epoch["lr"] for epoch in history.epochs]
    assert list(history) == history.epochs
    assert not history.interrupted


def test_a_plateau_watches_the_validation_if_there_is_one() -> None:
    for validate in (None, data.DataLoader(task(5), 5)):
        model, optimizer = learner(lr=0.0)  # so that nothing becomes better
        plateau = optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=1)
        seen: list[Any] = []
        step = plateau.step
        plateau.step = lambda value, step=step, seen=seen: (seen.append(value), step(value))  # type: ignore[method-assign]
        history = fit(
            model, data.DataLoader(task(), 5), F.cross_entropy, optimizer, 3,
            scheduler=plateau, validate=validate, progress=False,
        )  # fmt: skip
        assert seen == history["loss" if validate is None else "val_loss"]


def test_a_plateau_does_not_look_at_single_batches() -> None:
    model, optimizer = learner()
    before, plateau = weights(model), optim.lr_scheduler.ReduceLROnPlateau(optimizer)
    tried, why = "fit with ReduceLROnPlateau and scheduler_per_batch", "it compares the losses of whole epochs"
    with teaches(ArgumentError, tried, why, "leave scheduler_per_batch out", "fit("):
        fit(model, data.DataLoader(task(), 5), F.cross_entropy, optimizer, scheduler=plateau, scheduler_per_batch=True)
    assert weights(model) == before


def test_several_inputs_and_losses_that_are_modules() -> None:
    class Sum(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scale = nn.Parameter(tg.ones(1))

        def forward(self, x: Any, y: Any) -> Any:
            return (x + y) * self.scale

    x, y = tg.rand(8, 1), tg.rand(8, 1)
    model = Sum()
    optimizer = optim.SGD(model.parameters(), lr=0.3)
    loader = data.DataLoader(data.TensorDataset(x, y, (x + y) * 3), 4)
    history = fit(model, loader, nn.MSELoss(), optimizer, 40, metrics={"off": mean_absolute_error}, progress=False)
    assert model.scale.item() == pytest.approx(3, rel=1e-2)
    assert history["off"][-1] < 0.1 < history["off"][0]


# Modes ------------------------------------------------------------------------------------------------------------


class Modes(nn.Module):
    """Notes in which modes it is called; fails if told to."""

    def __init__(self, fail: bool = False) -> None:
        super().__init__()
        self.layer, self.fail = nn.Linear(2, 2), fail
        self.seen: list[tuple[bool, bool]] = []

    def forward(self, x: Any) -> Any:
        self.seen.append((self.training, tg.is_grad_enabled()))
        if self.fail:
            raise RuntimeError("no more")
        return self.layer(x)


def test_training_learns_evaluation_does_not_and_modes_are_restored() -> None:
    model = Modes()
    model.layer.eval()
    before = [module.training for module in model.modules()]
    loader = data.DataLoader(task(4), 4)
    fit(model, loader, F.cross_entropy, optim.SGD(model.parameters(), lr=0.1), 2, validate=loader, progress=False)
    assert model.seen == [(True, True), (False, False)] * 2
    assert [module.training for module in model.modules()] == before == [True, False]
    model.seen.clear()
    evaluate(model.train(), loader, F.cross_entropy)
    assert (model.seen, model.training, tg.is_grad_enabled()) == ([(False, False)], True, True)


def test_modes_are_restored_after_an_error() -> None:
    model = Modes(fail=True).eval()
    with pytest.raises(RuntimeError, match="no more"):
        fit(model, data.DataLoader(task(), 5), F.cross_entropy, optim.SGD(model.parameters()), progress=False)
    assert model.seen == [(True, True)]
    assert not any(module.training for module in model.modules())


def test_evaluation_leaves_no_graph_and_no_gradient() -> None:
    model, _ = learner()
    found = evaluate(model, data.DataLoader(task(), 3), F.cross_entropy, [accuracy])
    assert list(found) == ["loss", "accuracy"]
    x, y = task()[:]
    assert found["loss"] == pytest.approx(F.cross_entropy(model(x), y).item(), rel=1e-6)
    assert found["accuracy"] == accuracy(model(x), y)
    assert list(evaluate(model, data.DataLoader(task(), 3), metrics=[accuracy])) == ["accuracy"]
    assert all(p.grad is None for p in model.parameters())


# What stops it ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_loss_that_is_no_number_stops_before_the_step(bad: float) -> None:
    x, target = task(8)[:][0], tg.ones(8, 2)
    target[5] = bad

    def distance(output: Any, target: Any) -> Any:
        return (output - target).abs().sum()

    model, optimizer = learner()
    fit(model, data.DataLoader(data.TensorDataset(x[:4], target[:4]), 2), distance, optimizer, progress=False)
    after_two_batches = weights(model)
    model, optimizer = learner()
    with teaches(
        TrainingError,
        f"epoch 1/2, batch 3: the loss is {'nan' if math.isnan(bad) else 'inf'}",
        "a step along its gradient would spoil every parameter; none was taken",
        "lower lr, or give clip_grad_norm; and look for nan and inf in the data",
        "fit(",
    ):
        fit(model, data.DataLoader(data.TensorDataset(x, target), 2), distance, optimizer, 2, progress=False)
    assert weights(model) == after_two_batches


def test_ctrl_c_gives_what_is_complete(capsys: pytest.CaptureFixture[str]) -> None:
    class Interrupted(data.DataLoader):
        walks = 0

        def __iter__(self) -> Any:
            self.walks += 1
            for number, batch in enumerate(super().__iter__()):
                if (self.walks, number) == (3, 1):
                    raise KeyboardInterrupt
                yield batch

    model, optimizer = learner()
    history = fit(model.eval(), Interrupted(task(), 5), F.cross_entropy, optimizer, 12, times=False)
    assert (len(history), history.interrupted, model.training) == (2, True, False)
    assert capsys.readouterr().out.splitlines()[-1] == "interrupted in epoch  3/12"


def test_on_epoch_may_look_and_stop() -> None:
    model, optimizer = learner()
    lengths: list[int] = []

    def look(history: History) -> bool:
        lengths.append(len(history))
        return len(history) == 3

    history = fit(model, data.DataLoader(task(), 5), F.cross_entropy, optimizer, 9, on_epoch=look, progress=False)
    assert (lengths, len(history), history.interrupted) == ([1, 2, 3], 3, False)
    fit(model, data.DataLoader(task(), 5), F.cross_entropy, optimizer, 2, on_epoch=lengths.append, progress=False)  # type: ignore[arg-type]
    assert len(lengths) == 5, "a callback that returns nothing stops nothing"


def test_loaders_that_do_not_fit() -> None:
    model, optimizer = learner()
    why, mend = "a batch is inputs, then a target", "use TensorDataset(x, y), or (x, x) for an autoencoder"
    x = task()[:][0]
    for dataset, what in ((x, "a Tensor"), (data.TensorDataset(x), "a list of 1"), ([{"x": 1}], "a dict")):
        with teaches(DtypeError, f"a batch that is {what}", why, mend, "fit("):
            fit(model, data.DataLoader(dataset, 2), F.cross_entropy, optimizer, progress=False)
    empty = data.DataLoader(task(3), 4, drop_last=True)
    why = "there is nothing to measure or to learn from"
    mend = "look at len(loader), and drop_last; an iterator gives its batches once"
    with teaches(TrainingError, "the loader gave no batch", why, mend, "fit("):
        fit(model, empty, F.cross_entropy, optimizer, progress=False)
    with teaches(TrainingError, "the loader gave no batch", why, mend, "evaluate("):
        evaluate(model, empty, F.cross_entropy)


@pytest.mark.parametrize("validating", [False, True])
@pytest.mark.parametrize("make", [
    lambda loader: (batch for batch in loader), lambda loader: iter(list(loader)), lambda loader: map(list, loader),
], ids=["generator", "list_iterator", "map"])  # fmt: skip
def test_batches_that_come_only_once_are_refused_before_anything_is_lost(make: Any, validating: bool) -> None:
    model, optimizer = learner()
    loader, before = data.DataLoader(task(), 5), weights(model)
    once = make(loader)
    loaders = (loader, once) if validating else (once, None)
    with teaches(
        ArgumentError, f"fit with a {type(once).__name__} of batches",
        "it gives its batches only once, but every epoch needs them", "use a DataLoader, or a list", "fit(",
    ):  # fmt: skip
        fit(model, loaders[0], F.cross_entropy, optimizer, 2, validate=loaders[1], progress=False)
    assert weights(model) == before
    history = fit(model, loaders[0], F.cross_entropy, optimizer, 1, validate=loaders[1], progress=False)
    assert len(history) == 1, "for one epoch they will do"


def test_an_iterator_that_begins_anew_may_be_walked_again() -> None:
    class Anew:
        def __iter__(self) -> Any:
            self.batches = iter(data.DataLoader(task(), 5))
            return self

        def __next__(self) -> Any:
            return next(self.batches)

    model, optimizer = learner()
    assert len(fit(model, Anew(), F.cross_entropy, optimizer, 3, progress=False)) == 3


def test_the_optimiser_of_another_model_would_train_nothing() -> None:
    model, optimizer = learner()
    loader, twin = data.DataLoader(task(), 5), copy.deepcopy(model)
    why = "the optimiser moves none of the 4 parameters of the Sequential"
    mend = "make it of this model, once the model is complete: SGD(model.parameters())"
    with teaches(ArgumentError, "fit with SGD", why, mend, "fit("):
        fit(twin, loader, F.cross_entropy, optimizer, progress=False)
    part = optim.SGD([*twin[0].parameters(), tg.zeros(1, requires_grad=True)], lr=0.1)
    before = weights(twin)
    fit(twin, loader, F.cross_entropy, part, progress=False)
    assert [a != b for a, b in zip(weights(twin), before, strict=True)] == [True, True, False, False]


def test_an_optimiser_without_groups_is_taken() -> None:
    class Constant:
        steps = 0

        def zero_grad(self) -> None:
            pass

        def step(self) -> None:
            self.steps += 1

    model, optimizer = learner()[0], Constant()
    fit(model, data.DataLoader(task(), 5), F.cross_entropy, optimizer, progress=False)
    assert optimizer.steps == 2


def test_metrics_need_names() -> None:
    model, _ = learner()
    loader = data.DataLoader(task(), 5)
    with teaches(
        ArgumentError, "metrics with a MSELoss", "it has no name",
        "give a dict of names and metrics", "evaluate(",
    ):  # fmt: skip
        evaluate(model, loader, metrics=[nn.MSELoss()])


@pytest.mark.parametrize(
    ("metrics", "name", "what"),
    [
        ({"loss": accuracy}, "loss", "the loss itself"),
        ({"epoch": accuracy}, "epoch", "the number of the epoch"),
        ({"lr": accuracy}, "lr", "the learning rate"),
        ({"val_loss": accuracy}, "val_loss", "the loss of the other loader"),
        ({"right": accuracy, "val_right": accuracy}, "val_right", "the right of the other loader"),
        ([lambda a, b: 1.0, lambda a, b: 2.0], "<lambda>", "another metric"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_metrics_do_not_hide_each_other(metrics: Any, name: str, what: str) -> None:
    """Nor what `fit` itself shows; said before anything is trained."""
    model, optimizer = learner()
    loader, before = data.DataLoader(task(), 5), weights(model)
    tried, mend = f"metrics with the name {name!r}", "choose another name, in a dict of names and metrics"
    with teaches(ArgumentError, tried, f"{what} has that name", mend, "fit("):
        fit(model, loader, F.cross_entropy, optimizer, metrics=metrics)
    assert weights(model) == before
    with teaches(ArgumentError, tried, f"{what} has that name", mend, "evaluate("):
        evaluate(model, loader, metrics=metrics)
    fine = {"val": accuracy, "val_epoch": accuracy, "epochs": accuracy}
    assert list(evaluate(model, loader, metrics=fine)) == list(fine)


# What is printed --------------------------------------------------------------------------------------------------


def run(**given: Any) -> History:
    model, optimizer = learner()
    return fit(model, data.DataLoader(task(), 4), F.cross_entropy, optimizer, **given)


def test_a_line_for_each_epoch(capsys: pytest.CaptureFixture[str]) -> None:
    history = run(epochs=10, metrics=[accuracy], times=False)
    lines = capsys.readouterr().out.splitlines()
    assert lines == [
        f"epoch {e['epoch']:2}/10  loss {e['loss']:.4f}  accuracy {e['accuracy']:.4f}" for e in history.epochs
    ]
    again = run(epochs=10, metrics=[accuracy], times=False)
    assert capsys.readouterr().out.splitlines() == lines, "without times it can be compared"
    assert repr(again) == repr(history)
    run(epochs=2)
    for line in capsys.readouterr().out.splitlines():
        assert re.fullmatch(r"epoch \d/2  loss [\d.]+  +\d+\.\d s", line)
    run(epochs=2, progress=False)
    assert capsys.readouterr().out == ""


def test_the_lines_stand_in_columns(capsys: pytest.CaptureFixture[str]) -> None:
    values = iter([1.45, 0.5831, 0.959, -0.25, 12.3456, 2345.678, 99999.96, 0.0, 3.16e-4, -4e-12, 1.5e7, math.inf])
    model, optimizer = learner()
    decay = optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: 3.0**-epoch)
    whole = data.DataLoader(task(), 10)
    fit(
        model, whole, F.cross_entropy, optimizer, 12, metrics={"m": lambda a, b: next(values)}, scheduler=decay,
        times=False,
    )  # fmt: skip
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("  m ")[1] for line in lines] == [
        "1.4500", "0.5831", "0.9590", "-0.250", "12.346", "2345.7", "100000", "0.0000", "3.2e-4", "-4e-12", "1.5e+7",
        "   inf",
    ]  # fmt: skip
    assert [line.split("12  ")[1][:9] for line in lines[:2] + lines[-2:]] == [
        "lr 0.5000",
        "lr 0.1667",
        "lr 8.5e-6",
        "lr 2.8e-6",
    ]
    assert len({len(line) for line in lines}) == 1


def test_a_history_prints_as_a_table() -> None:
    history = History()
    assert repr(history) == "History of no epochs"
    history.epochs = [
        {"epoch": 1, "loss": 2.302585, "val_accuracy": 0.1},
        {"epoch": 10, "loss": 1.5e-7, "val_accuracy": 1.0},
    ]
    assert repr(history) == (
        "epoch     loss  val_accuracy\n"
        "    1    2.303           0.1\n"
        "   10  1.5e-07             1"
    )  # fmt: skip


class Terminal(io.StringIO):
    """Somebody watches."""

    def isatty(self) -> bool:
        return True


def watch(monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, step: float, loader: Any = None) -> str:
    """What an epoch of three batches writes, by a clock that goes on by ``step`` seconds each time it is read."""
    now = iter(np.arange(0, 10_000, step).tolist())
    monkeypatch.setattr(training.time, "perf_counter", lambda: next(now))
    monkeypatch.setattr("sys.stdout", stream)
    model, optimizer = learner()
    fit(model, data.DataLoader(task(), 4) if loader is None else loader, F.cross_entropy, optimizer, times=False)
    return stream.getvalue()


def test_a_long_epoch_shows_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    written = watch(monkeypatch, Terminal(), 2.0)
    assert [re.sub(r"loss \S+", "loss …", part) for part in written.split("\r")] == [
        "",
        "epoch 1/1  batch 1/3, 4 s left",
        "epoch 1/1  batch 2/3, 2 s left",
        "epoch 1/1  batch 3/3, 0 s left",
        " " * 30,
        "epoch 1/1  loss …\n",
    ]


def test_a_stream_does_not_know_how_long_still(monkeypatch: pytest.MonkeyPatch) -> None:
    class Stream(data.IterableDataset):
        def __iter__(self) -> Any:
            return iter(task())

    written = watch(monkeypatch, Terminal(), 2.0, data.DataLoader(Stream(), 5))
    assert "\repoch 1/1  batch 2\r" in written


@pytest.mark.parametrize(("stream", "step"), [(Terminal, 0.05), (io.StringIO, 2.0)], ids=["short", "nobody watches"])
def test_nothing_is_written_over_otherwise(stream: Any, step: float, monkeypatch: pytest.MonkeyPatch) -> None:
    written = watch(monkeypatch, stream(), step)
    assert "\r" not in written
    assert written.count("\n") == 1


def test_the_digits_in_six_lines() -> None:
    train_x, train_y, test_x, test_y = data.digits().split()
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    loader = data.DataLoader(data.TensorDataset(train_x, train_y), 64, shuffle=True)
    check = data.DataLoader(data.TensorDataset(test_x, test_y), 500)
    optimizer = optim.SGD(model.parameters(), lr=0.2, momentum=0.9)
    history = fit(
        model, loader, F.cross_entropy, optimizer, 12, validate=check, metrics=[accuracy],
        scheduler=optim.lr_scheduler.OneCycleLR(optimizer, 0.4, total_steps=12 * len(loader)),
        scheduler_per_batch=True, clip_grad_norm=5.0, progress=False,
    )  # fmt: skip
    assert history["val_accuracy"][-1] > 0.95
