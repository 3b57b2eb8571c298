"""The code of a guide to PyTorch's performance runs as it stands, and does what the guide wants of it."""

from __future__ import annotations

import gc
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import tinygrad_edu as tg
from tests.compat import contexts
from tests.compat.contexts import BATCH, FEATURES, GUIDE, SAMPLES
from tests.support import ROOT
from tinygrad_edu.backends import cudnn
from tinygrad_edu.observe import Counters
from tinygrad_edu.observe.memory import Memory

BATCHES = SAMPLES // BATCH


class Ran(NamedTuple):
    """A block that was run: its names, what it printed, and what the simulated device did."""

    names: dict[str, Any]
    printed: str
    timeline: Any

    def copies(self) -> list[Any]:
        return [one for one in self.timeline if one.kind == "copy" and one.lane != "host"]


Block = Callable[..., Ran]


@pytest.fixture
def block(torch: Any, capsys: Any, tmp_path: Any, monkeypatch: Any) -> Block:
    """Run a block, by its number, with nothing but its imports changed; ``changed`` are other names than usual."""
    monkeypatch.chdir(tmp_path)  # some write files

    def run(number: int, **changed: Any) -> Ran:
        path = GUIDE[number - 1]
        text = path.read_text(encoding="utf-8")
        text = re.sub(r"^from torch\b", "from tinygrad_edu.compat.torch", text, flags=re.M)
        text = re.sub(r"^import torch$", "import tinygrad_edu.compat.torch as torch", text, flags=re.M)
        found = contexts.names(torch, path.name) | changed
        tg.sim.restart()
        with tg.sim.timeline() as timeline:
            exec(compile(text, str(path), "exec"), found)
        return Ran(found, capsys.readouterr().out, timeline)

    return run


def test_there_are_25() -> None:
    assert [int(path.name[:2]) for path in GUIDE] == list(range(1, 26))


def test_all_run_as_they_stand() -> None:
    """In one process, with ``import torch``, on a machine without a GPU: said once."""
    command = [sys.executable, "-m", "tinygrad_edu.compat", "run", str(ROOT / "tests/compat/as_it_stands.py")]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=110, check=False)
    assert ran.returncode == 0, ran.stderr
    assert re.findall(r"^ran (\S+)$", ran.stdout, re.M) == [path.name for path in GUIDE]
    told = "There is no GPU here: 'cuda' is the simulated accelerator, and its times are virtual (tg.sim.explain())."
    assert Counter(ran.stderr.splitlines())[told] == (0 if tg.cuda.is_available() else 1)


# Data loading ----------------------------------------------------------------------------------------------------


def test_1_workers(block: Block) -> None:
    loader = block(1).names["loader"]
    assert (loader.num_workers, loader.pin_memory, loader.prefetch_factor) == (4, True, 2)
    rows = [data for data, _ in loader]
    assert all(one.is_pinned() for one in rows)
    np.testing.assert_array_equal(np.concatenate(rows), loader.dataset.tensors[0])
    assert {batch.worker for batch in loader.timeline.batches} == {0, 1, 2, 3}


def test_2_sweep(block: Block) -> None:
    ran = block(2)
    assert re.findall(r"^num_workers=(\d): \d+\.\d\ds$", ran.printed, re.M) == ["0", "2", "4", "8"]
    assert ran.names["loader"].num_workers == 8
    assert ran.names["loader"].timeline.count == BATCHES


def test_3_pin_memory(block: Block) -> None:
    """From pinned memory the host does not wait for a copy."""
    ran = block(3)
    assert len(ran.copies()) == 2 * BATCHES
    assert not [one for one in ran.timeline if one.kind == "wait"]
    assert ran.names["data"].is_cuda


def test_4_prefetcher(block: Block) -> None:
    """Batches are copied in another stream than the one that computes, and all arrive."""
    ran = block(4)
    streams = {one.stream for one in ran.copies()}
    assert len(ran.copies()) == 2 * BATCHES
    assert streams == {f"sim stream {ran.names['prefetcher'].stream.lane.name.split()[-1]}"}
    assert ran.names["data"] is None


def test_4_prefetcher_gives_the_batches_of_its_loader(block: Block) -> None:
    ran = block(4)
    again = ran.names["DataPrefetcher"](ran.names["train_loader"])
    for data, target in ran.names["train_loader"]:
        theirs = again.next()
        np.testing.assert_array_equal(theirs[0].cpu(), data)
        np.testing.assert_array_equal(theirs[1].cpu(), target)
    assert again.next() == (None, None)


# The GPU ---------------------------------------------------------------------------------------------------------


def test_5_mixed_precision(block: Block, torch: Any) -> None:
    """It learns as in float32; the product is in float16, the loss and the weights in float32."""
    plain = contexts.names(torch, "")
    for data, target in plain["train_loader"]:
        plain["optimizer"].zero_grad()
        plain["criterion"](plain["model"](data), target).backward()
        plain["optimizer"].step()
    ran = block(5)
    assert (ran.names["output"].dtype, ran.names["loss"].dtype) == (torch.float16, torch.float32)
    assert {p.dtype for p in ran.names["model"].parameters()} == {np.dtype("float32")}
    for ours, theirs in zip(ran.names["model"].parameters(), plain["model"].parameters(), strict=True):
        np.testing.assert_allclose(ours.detach().cpu(), theirs.detach().cpu(), atol=2e-3)
    assert ran.names["scaler"].get_scale() == 65536.0


def test_6_accumulation(block: Block, torch: Any) -> None:
    """Four small batches move the weights as one of four times the size does."""
    small = block(6).names
    large = contexts.names(torch, "")
    loader = torch.utils.data.DataLoader(large["dataset"], batch_size=4 * BATCH)
    for data, target in loader:
        large["criterion"](large["model"](data.cuda()), target.cuda()).backward()
        large["optimizer"].step()
        large["optimizer"].zero_grad()
    for ours, theirs in zip(small["model"].parameters(), large["model"].parameters(), strict=True):
        np.testing.assert_allclose(ours.detach().cpu(), theirs.detach().cpu(), rtol=1e-4, atol=1e-6)


def test_7_checkpointing(block: Block, torch: Any) -> None:
    """Two layers run again in backward, and the gradients are the same. A layer by itself keeps no more than its input,

    which checkpointing keeps too: so here it costs time and saves nothing.
    """
    model = block(7).names["MyModel"]()
    x = torch.randn(64, 1000)
    plain = tg.nn.Sequential(model.layer1, model.layer2, model.layer3)

    def gradients(run: Any) -> tuple[int, int, list[Any]]:
        model.zero_grad()
        with Memory(model, x) as seen:
            loss = run(x).sum()
        kept = seen.now["activation"] + seen.now["temporary"]
        with torch.profiler.profile() as profiled:
            loss.backward()
        again = sum(one.count for one in profiled.key_averages() if one.key == "linear")
        return kept, again, [p.grad.numpy().copy() for p in model.parameters()]

    (kept, again, ours), (kept_plain, again_plain, theirs) = gradients(model), gradients(plain)
    assert (again, again_plain) == (2, 0)
    assert kept == kept_plain
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5)


def test_8_benchmark_mode(block: Block, monkeypatch: Any) -> None:
    monkeypatch.setattr(cudnn, "benchmark", True)
    monkeypatch.setattr(cudnn, "deterministic", False)
    block(8)
    assert (cudnn.deterministic, cudnn.benchmark) == (True, False)


# Memory ----------------------------------------------------------------------------------------------------------


def test_9_intermediates(block: Block, torch: Any) -> None:
    """The block defines `forward` twice; the second one, which is left, rebinds. Both give the same."""
    text = GUIDE[8].read_text(encoding="utf-8")
    keeps: dict[str, Any] = {}
    exec(text[: text.index("# Good")], keeps)
    rebinds = block(9).names["forward"]
    layers = [torch.nn.Linear(256, 256) for _ in range(3)]
    model = type("Model", (), {f"layer{i + 1}": layer for i, layer in enumerate(layers)})
    x = torch.randn(2048, 256)
    peaks = []
    for forward in (keeps["forward"], rebinds):
        with torch.no_grad(), Counters() as seen:
            found = forward(model, x)
        peaks.append((seen.peak, found.numpy().copy()))
        del found
    np.testing.assert_array_equal(peaks[0][1], peaks[1][1])
    assert peaks[0][0] - peaks[1][0] >= x.nbytes  # one of the two intermediates is gone when the last layer runs


def test_10_in_place(block: Block, torch: Any) -> None:
    ran = block(10)
    x = contexts.names(torch, "10")["x"]
    found = torch.relu(torch.relu(x + 1) + 1)
    np.testing.assert_array_equal(ran.names["x"], found)
    given = torch.randn(3)
    assert ran.names["self"].relu(given) is given
    assert given.min().item() >= 0


def test_11_empty_cache(block: Block, torch: Any) -> None:
    names = contexts.names(torch, "")
    x = torch.ones(4 << 20, device="cuda")
    del x
    gc.collect()
    reserved = torch.cuda.memory_reserved()
    ran = block(11, **names)
    assert torch.cuda.memory_reserved() <= reserved - (16 << 20)
    allocated, reserved = torch.cuda.memory_allocated() / 1e9, torch.cuda.memory_reserved() / 1e9
    assert ran.printed == f"Allocated: {allocated:.2f} GB\nReserved: {reserved:.2f} GB\n"


def test_12_no_grad(block: Block) -> None:
    ran = block(12)
    assert not ran.names["model"].training
    assert ran.names["output"].grad_fn is None


def test_13_reduce_precision(block: Block, torch: Any) -> None:
    ran = block(13)
    assert ran.names["data"].dtype == torch.float16
    assert {p.dtype.name for p in ran.names["model"].parameters()} == {"bfloat16"}
    assert ran.names["data"].element_size() == 2


# Models ----------------------------------------------------------------------------------------------------------


def test_14_layers(block: Block, torch: Any) -> None:
    """The guide calls the first model slow. It is worse: none of its layers is known, and so none is trained."""
    names = block(14).names
    with pytest.warns(UserWarning, match="plain list"):
        slow = names["SlowModel"]()
        slow(torch.randn(2, 100))
        parameters = list(slow.parameters())
    assert (len(parameters), len(list(names["FastModel"]().parameters()))) == (0, 20)


@pytest.mark.parametrize("bias", [False, True])
def test_15_fuse(block: Block, torch: Any, bias: bool) -> None:
    """One convolution in place of two operations. The guide's code forgets a bias that the convolution has."""
    names = block(15).names
    conv, norm = torch.nn.Conv2d(3, 4, 3, bias=bias), torch.nn.BatchNorm2d(4)
    norm(torch.randn(8, 4, 5, 5) * 3 + 1)  # some statistics
    norm.eval()
    x = torch.randn(2, 3, 8, 8)
    with torch.no_grad():
        expected = norm(conv(x)).numpy()
        fused = names["fuse_conv_bn"](conv, norm)(x).numpy()
    gap = np.abs(expected - fused).max()
    assert gap > 1e-2 if bias else gap < 1e-5


def test_16_torchscript(block: Block, torch: Any, tmp_path: Any) -> None:
    """What was loaded needs no code of the model, and gives the same."""
    names = block(16).names
    x = names["example_input"]
    expected = names["model"](x).detach().numpy()
    for one in (names["output"], names["traced_model"](x), names["scripted_model"](x)):
        np.testing.assert_allclose(one.detach(), expected, rtol=1e-6)
    code = (
        "import tinygrad_edu as tg, numpy as np\n"
        f"model = tg.jit.load({str(tmp_path / 'model_scripted.pt')!r})\n"
        f"print(model(tg.tensor({x.tolist()!r})).tolist())"
    )
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    np.testing.assert_allclose(json.loads(ran.stdout), expected, rtol=1e-5)


def test_17_batch_size(block: Block, torch: Any) -> None:
    """It ends at the device's memory, recovers, and is right by a factor of two."""
    torch.cuda.empty_cache()
    others, room, image = torch.cuda.memory_reserved(), 80e6, 3 * 224 * 224 * 4
    torch.cuda.set_per_process_memory_fraction((others + room) / 16e9)
    ran = block(17)
    found = ran.names["optimal_bs"]
    assert f"Batch size {found}: OK\nMax batch size: {found}\n" in ran.printed
    assert found * image < room < 2 * found * image * 1.1
    assert ran.names["model"](torch.randn(2, 3, 224, 224).cuda()).shape == (2, 3)


# Loops -----------------------------------------------------------------------------------------------------------


def test_18_vectorize(block: Block, torch: Any) -> None:
    ran = block(18)
    launched = Counter(one.name for one in ran.timeline if one.kind == "kernel")
    assert launched["linear"] == 2 * BATCH + 2  # two layers, for each sample and then for all
    expected = contexts.names(torch, "18")["output"]
    np.testing.assert_allclose(ran.names["predictions"].detach().cpu(), expected.detach().cpu(), rtol=1e-5)


def test_19_transfers(block: Block) -> None:
    """Its good version moves all data, too; its loader, without a batch size, does so sample by sample."""
    ran = block(19)
    assert len(ran.copies()) == 2 * BATCHES + SAMPLES
    assert sum(one.read for one in ran.copies()) == SAMPLES * (2 * FEATURES * 4 + 8)
    assert ran.names["data"].is_cuda


def test_20_loss(block: Block) -> None:
    """Its loop sums, and its fast twin averages."""
    names = block(20).names
    total = names["total_loss"].item()
    each = [names["criterion"](names["output"][i], names["target"][i]).item() for i in range(BATCH)]
    assert total == pytest.approx(sum(each) / BATCH, rel=1e-5)
    assert sum(one.item() for one in names["losses"]) == pytest.approx(sum(each), rel=1e-5)


# Measuring -------------------------------------------------------------------------------------------------------


def test_21_profiler(block: Block, tmp_path: Any) -> None:
    ran = block(21)
    heads, first = [line for line in ran.printed.splitlines() if not line.startswith("-")][:2]
    assert {"Self CPU", "Self device", "Device total", "# of Calls"} <= set(re.split(r"  +", heads))
    rows = ran.names["prof"].key_averages()
    most = max(rows, key=lambda one: one.device_time_total)
    assert first.startswith(most.key)
    assert most.device_time_total > 0
    counts = {one.key: one.count for one in rows}
    assert (counts["linear"], counts["linear backward"]) == (2 * BATCHES, 2 * BATCHES)
    assert json.loads((tmp_path / "trace.json").read_text())["traceEvents"]


def test_22_timing(block: Block) -> None:
    ran = block(22)
    assert re.fullmatch(r"Forward: .+s\nBackward: .+s\nForward \(sync\): .+s\n", ran.printed)
    assert [one.name for one in ran.timeline if one.kind == "wait"] == ["synchronize"]
    assert ran.names["model"][0].weight.grad is not None


def test_23_memory(block: Block, torch: Any) -> None:
    ran = block(23)
    assert ran.names["peak_memory"] == torch.cuda.max_memory_allocated() / 1e9 > 0
    assert ran.printed.startswith("Peak memory: ")


def test_24_compile(block: Block, torch: Any) -> None:
    ran = block(24)
    data = ran.names["data"]
    expected = contexts.names(torch, "24")["model"](data).detach().cpu()
    with tg.sim.timeline() as seen, torch.no_grad():
        found = ran.names["model"](data)
    assert [one.name for one in seen if one.kind == "kernel"] == ["matmul+add+relu", "matmul+add"]
    np.testing.assert_allclose(found.detach().cpu(), expected, rtol=1e-5)


def test_25_quick_wins(block: Block, torch: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(cudnn, "benchmark", False)
    names = block(25).names
    assert cudnn.benchmark is True
    assert names["train_loader"].persistent_workers
    assert not names["evaluate"](names["model"], names["test_loader"])
    assert names["model"].training
    assert [len(data) for data, _ in names["train_loader"]] == [BATCH] * BATCHES
    del names["train_loader"]
    assert torch.is_grad_enabled()
