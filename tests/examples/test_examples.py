"""The examples: each runs in a short form and learns; in full, if asked for, it reaches the quality that it states."""

from __future__ import annotations

import importlib
import math
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import tinygrad_edu as tg

FOLDER = Path(__file__).parents[2] / "examples"
MODULES = {file.stem for file in FOLDER.glob("*.py")}
SCRIPTS = sorted(MODULES - {"python_help"})


@pytest.fixture(autouse=True)
def as_if_run_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Examples import each other as ``python examples/NAME.py`` lets them, and write into a folder of the test."""
    monkeypatch.syspath_prepend(FOLDER)
    monkeypatch.chdir(tmp_path)
    yield
    for name in MODULES:
        sys.modules.pop(name, None)


def example(name: str) -> Any:
    return importlib.import_module(name)


def run(name: str, *options: str) -> list[str]:
    """The lines that the program prints, run as a user runs it; by one thread, for arrays are small and cores busy."""
    threads = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL")}
    environment = os.environ | threads | {"PYTHONPATH": str(FOLDER.parent), "PYTHONUTF8": "1"}
    command = [sys.executable, "-W", "error", str(FOLDER / f"{name}.py"), *options]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


# Text ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def text() -> Any:
    return example("python_help").Text()


def test_the_text_is_prose_and_comes_back_from_its_numbers(text: Any) -> None:
    training, held_out = text.decode(text.training), text.decode(text.held_out)
    assert len(training) > 100_000
    assert 10_000 < len(held_out) < len(training) / 5
    assert "a user-defined function" in training
    assert text.encode(held_out).equal(text.held_out)
    assert text.alphabet == sorted({*training, *held_out})


def test_no_paragraph_is_both_learnt_and_held_out(text: Any) -> None:
    learnt, held_out = (text.decode(part).split("\n") for part in (text.training, text.held_out))
    assert len(learnt) == len(set(learnt))
    assert not {*learnt} & {*held_out}


def test_targets_are_the_letters_that_come_next(text: Any) -> None:
    x, y = text.batch(size=3, length=20)
    assert x.shape == y.shape == (3, 20)
    for row, following in zip(x, y, strict=True):
        assert text.decode(row)[1:] == text.decode(following)[:-1]
        assert text.decode(row) + text.decode(following)[-1] in text.decode(text.training)

    x, y = text.held_out_rows(50)
    whole = text.decode(text.held_out)
    assert text.decode(x.flatten()) == whole[: x.numel()]
    assert text.decode(y.flatten()) == whole[1 : 1 + x.numel()]
    assert 0 < len(whole) - x.numel() <= 50


def test_every_passage_can_come_the_first_and_the_last_too(text: Any) -> None:
    text.training = text.training[:4]
    starts = {text.batch(size=1, length=2)[0][0, 0].item() for _ in range(100)}
    assert starts == {text.training[0].item(), text.training[1].item()}


def test_perplexity_of_pairs_as_counted_by_hand(text: Any) -> None:
    x, y = text.held_out_rows(1)
    training, letters = text.decode(text.training), len(text.alphabet)
    pairs, firsts = Counter(pairwise(training)), Counter(training[:-1])
    held_out = pairwise(text.decode(text.held_out))
    logs = [math.log((pairs[a, b] + 0.1) / (firsts[a] + 0.1 * letters)) for a, b in held_out]
    assert text.perplexity_of_pairs(x, y) == pytest.approx(math.exp(-sum(logs) / len(logs)), rel=1e-4)


def test_another_text_can_be_learnt_if_it_is_long_enough(tmp_path: Path) -> None:
    file = tmp_path / "numbers.txt"
    file.write_text("\n\n".join(f"Ünd {i} bottles of beer on the wall" for i in range(400)), encoding="utf-8")
    text = example("python_help").Text(file)
    assert text.decode(text.held_out).startswith("Ünd 0 bottles of beer on the wall\nÜnd 10 bottles")

    file.write_text("Too short. " * 5000, encoding="utf-8")  # one paragraph: nothing would be left to learn
    with pytest.raises(SystemExit, match="empty lines between paragraphs"):
        example("python_help").Text(file)


def test_a_python_without_help_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pydoc_data.topics", None)
    with pytest.raises(SystemExit, match="--text FILE"):
        example("python_help").Text()


# Short forms -----------------------------------------------------------------------------------------------------


def test_digits_cnn_learns_and_keeps_its_best_model_in_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    script = example("digits_cnn")
    reached = script.main(epochs=4, path="best.safetensors")
    assert reached > 0.9  # by chance 0.1

    model = script.Net()
    model.load_state_dict(tg.load("best.safetensors"))
    test = tg.data.DataLoader(script.read_digits()[1], batch_size=100)
    assert script.accuracy(model, test) == reached
    assert f"test accuracy {reached:.1%}" in capsys.readouterr().out


def test_digits_cnn_keeps_the_best_and_not_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    """Accuracies are made up, so that the second of three epochs is the best."""
    script = example("digits_cnn")
    made_up, seen = iter([0.3, 0.5, 0.4, 0.45]), []

    def accuracy(model: Any, loader: Any) -> float:
        seen.append({name: value.clone() for name, value in model.state_dict().items()})
        return next(made_up)

    monkeypatch.setattr(script, "accuracy", accuracy)
    assert script.main(epochs=3) == 0.45
    first, second, third, loaded = (state["classifier.2.weight"] for state in seen)
    assert loaded.equal(second)
    assert not loaded.equal(first)
    assert not loaded.equal(third)


@pytest.mark.parametrize("name", ["char_gru", "tiny_transformer"])
def test_writers_learn_and_write_letters_of_the_text(name: str, text: Any) -> None:
    pairs, reached, *written = run(name, "--steps", "40")
    assert pairs.startswith("held-out perplexity of letter pairs 1")
    assert reached.startswith("step   40/40")
    assert float(reached.split()[-1]) < 20  # one letter in a hundred at first; by how often each occurs, 22

    letters = "\n".join(written)
    assert letters.startswith(text.decode(text.held_out[:10]))
    assert len(letters) == 310
    assert {*letters} <= {*text.alphabet}
    assert len({*letters}) > 5


@pytest.mark.parametrize("name", ["char_gru", "tiny_transformer"])
def test_what_comes_later_does_not_change_a_score(name: str) -> None:
    script = example(name)
    model = (script.Writer if name == "char_gru" else script.Transformer)(letters=20).eval()
    x = tg.randint(0, 20, (2, 12))
    other = x.clone()
    other[:, 8:] = (other[:, 8:] + 1) % 20
    with tg.no_grad():
        ours, theirs = (out[0] if isinstance(out, tuple) else out for out in (model(x), model(other)))
    assert ours[:, :8].allclose(theirs[:, :8], atol=1e-5)
    assert not ours[:, 8:].allclose(theirs[:, 8:], atol=1e-2)


def test_a_gru_goes_on_from_its_state() -> None:
    model = example("char_gru").Writer(letters=20)
    x = tg.randint(0, 20, (2, 12))
    with tg.no_grad():
        whole, _ = model(x)
        _, state = model(x[:, :7])
        rest, _ = model(x[:, 7:], state)
    assert rest.allclose(whole[:, 7:], atol=1e-5)


def test_the_transformer_reads_and_scores_with_one_matrix() -> None:
    model = example("tiny_transformer").Transformer(letters=20)
    assert model.scores.weight is model.embedding.weight
    assert sum(p.shape == (20, 64) for p in model.parameters()) == 1


def test_denoising_autoencoder_removes_more_noise_than_a_blur(capsys: pytest.CaptureFixture[str]) -> None:
    reached = example("denoising_autoencoder").main(epochs=6)
    lines = [line.split() for line in capsys.readouterr().out.splitlines() if "noise removed" in line]
    shares = {words[0]: float(words[-1].rstrip("%")) / 100 for words in lines}
    assert shares == {"noisy": 0, "blurred": pytest.approx(0.65, abs=0.03), "network": pytest.approx(reached, abs=1e-3)}
    assert reached > 0.75


def test_denoising_autoencoder_draws_ten_digits_in_four_rows(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="draws with matplotlib")
    run("denoising_autoencoder", "--epochs", "1", "--plot", "made.png")
    picture = (tmp_path / "made.png").read_bytes()
    assert picture.startswith(b"\x89PNG")
    width, height = (int.from_bytes(picture[i : i + 4], "big") for i in (16, 20))
    assert width * 4 == height * 10


def test_denoising_autoencoder_without_matplotlib_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(SystemExit, match="pip install matplotlib"):
        example("denoising_autoencoder").plot("digits.png", {})


def test_noise_is_new_each_time_and_as_strong_as_stated() -> None:
    script = example("denoising_autoencoder")
    pictures = tg.zeros(2, 1, 100, 100)
    data = script.Noisy(pictures)
    (first, clean), (again, _) = data[0], data[0]
    assert len(data) == 2
    assert clean.equal(pictures[0])
    assert not first.equal(again)
    assert first.std().item() == pytest.approx(script.NOISE, rel=0.05)


def test_a_blur_mixes_neighbours() -> None:
    picture = tg.zeros(1, 1, 3, 3)
    picture[0, 0, 1, 1] = 16.0
    assert example("denoising_autoencoder").blurred(picture)[0, 0].tolist() == [[1, 2, 1], [2, 4, 2], [1, 2, 1]]


SHORT = {
    "char_gru": ["--steps", "2", "--text", "little.txt"],
    "denoising_autoencoder": ["--epochs", "1"],
    "digits_cnn": ["--epochs", "1", "--path", "made.safetensors"],
    "digits_on_a_device": ["--epochs", "1"],
    "tiny_transformer": ["--steps", "2", "--text", "little.txt"],
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_seed_decides_everything(name: str, tmp_path: Path) -> None:
    paragraphs = (f"The {word} has number {i}." for i in range(200) for word in ("shape", "tensor", "buffer", "queue"))
    (tmp_path / "little.txt").write_text("\n\n".join(paragraphs), encoding="utf-8")

    def printed(seed: str) -> list[str]:
        lines = run(name, *SHORT[name], "--seed", seed)
        return [line for line in lines if not line.endswith(" s")]  # those say how long it took

    once = printed("7")
    assert (tmp_path / "made.safetensors").exists() == (name == "digits_cnn")
    assert printed("7") == once
    assert printed("8") != once


# Full forms ------------------------------------------------------------------------------------------------------

STATED: dict[str, tuple[str, Callable[[float], bool]]] = {
    "char_gru": ("below 4 on text held out", lambda perplexity: perplexity < 4),
    "denoising_autoencoder": ("at least 83 % of the noise", lambda share: share >= 0.83),
    "digits_cnn": ("at least 98 % of the 360 test images", lambda accuracy: accuracy >= 0.98),
    "digits_on_a_device": ("at least 95 % of the 360 test images", lambda found: found[1] >= 0.95),
    "tiny_transformer": ("below 4.5 on text held out", lambda perplexity: perplexity < 4.5),
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_documents_state_the_quality_that_is_tested(name: str) -> None:
    phrase = STATED[name][0]
    assert phrase in " ".join((FOLDER / f"{name}.py").read_text(encoding="utf-8").split())
    (line,) = [s for s in (FOLDER / "README.md").read_text(encoding="utf-8").splitlines() if f"({name}.py)" in s]
    assert phrase in line


@pytest.mark.slow
@pytest.mark.timeout(400)
@pytest.mark.parametrize("name", SCRIPTS)
def test_the_stated_quality_is_reached(name: str) -> None:
    assert STATED[name][1](example(name).main())


# On a device ---------------------------------------------------------------------------------------------------------

GOLDEN = Path(__file__).with_name("digits_on_sim.txt")


def test_digits_on_every_device_give_the_same_losses() -> None:
    main = example("digits_on_a_device").main
    found = {device: main(device, epochs=2, images=256) for device in ("cpu", "sim")}
    losses, right = found["cpu"]
    assert losses[1] < losses[0] and 0 < right <= 1
    assert found["sim"][0] == pytest.approx(losses, rel=1e-5) and found["sim"][1] == pytest.approx(right, abs=0.01)


@pytest.mark.parametrize(("device", "compiler"), [("cpu", "numpy"), ("cpu", "numba"), ("sim", "numpy")])
def test_a_compiled_step_trains_the_same_digits(device: str, compiler: str) -> None:
    main = example("digits_on_a_device").main
    losses, right = main(device, epochs=2, images=256)
    found = main(device, epochs=2, images=256, compiler=compiler)
    assert found[0] == pytest.approx(losses, rel=1e-4) and found[1] == pytest.approx(right, abs=0.01)


def test_compiled_digits_need_fewer_launches_and_less_time_on_the_device() -> None:
    main = example("digits_on_a_device").main
    asked = []
    for compiler in (None, "numpy"):
        main("sim", epochs=2, images=256, compiler=compiler)
        tg.sim.synchronize()
        launches, time = tg.sim.counts()["launches"], tg.sim.now()
        main("sim", epochs=6, images=256, compiler=compiler)
        tg.sim.synchronize()
        asked.append((tg.sim.counts()["launches"] - launches, tg.sim.now() - time))
    (launches, time), (fewer, sooner) = asked
    assert fewer < launches and sooner < time


def test_the_timeline_of_digits_on_the_simulated_device_is_the_golden_one() -> None:
    """Delete the file and run this again, after a change that is meant to move it."""
    main = example("digits_on_a_device").main
    tg.sim.use("T4")
    tg.sim.restart()
    main("sim", epochs=1, images=128)
    tg.sim.restart()
    with tg.sim.timeline() as seen:
        main("sim", epochs=1, images=128)
        tg.sim.synchronize()
    told = "".join(f"{work.start} {work.end} {work.lane}: {work.kind} {work.name}\n" for work in seen)
    if not GOLDEN.exists():
        GOLDEN.write_text(told, encoding="utf-8")
    assert told == GOLDEN.read_text(encoding="utf-8")
    assert seen.overlap() > 0, "batches travel while others are worked on"
