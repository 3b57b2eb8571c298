"""PyTorch's module tree: what is ours under its paths, and what is different there."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tests.support import ROOT, run_python, teaches
from tinygrad_edu import backends
from tinygrad_edu.errors import ArgumentError, DeviceError, OutOfMemoryError

HERE = "tinygrad_edu.compat.torch"
OURS = [
    "optim", "optim.lr_scheduler", "utils.data", "utils.data.sampler", "utils.checkpoint", "nn.init", "nn.utils",
    "nn.utils.rnn", "nn.modules.module", "amp", "profiler", "distributed", "utils.data.distributed", "distributions",
    "linalg", "backends.cudnn",
]  # fmt: skip


@pytest.mark.parametrize("path", OURS)
def test_our_modules_are_the_same_under_its_paths(torch: Any, path: str) -> None:
    ours = importlib.import_module(f"tinygrad_edu.{path}")
    assert importlib.import_module(f"{HERE}.{path}") is ours
    assert ours.__name__ == ours.__spec__.name == f"tinygrad_edu.{path}"
    found = torch
    for part in path.split("."):
        found = getattr(found, part)
    assert found is ours


def test_modules_that_it_has_not_are_missing(torch: Any) -> None:
    for name in ("views", "tips", "data", "guard", "fx"):
        with pytest.raises(ModuleNotFoundError, match=f"No module named '{HERE}.{name}'"):
            importlib.import_module(f"{HERE}.{name}")
        assert not hasattr(torch, name)
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module(f"{HERE}.nn.quantized")
    with pytest.raises(AttributeError, match="has no attribute 'sparse_coo_tensor'"):
        torch.sparse_coo_tensor  # noqa: B018


def test_its_names_are_ours(torch: Any) -> None:
    assert (torch.Tensor, torch.zeros, torch.bfloat16) == (tg.Tensor, tg.zeros, tg.bfloat16)
    assert {"zeros", "nn", "cuda", "compile", "bfloat16"} <= set(dir(torch))
    assert torch.nn.Linear is tg.nn.Linear
    assert torch.nn.functional.relu is tg.nn.functional.relu
    assert torch.autograd.grad is tg.autograd.grad


def test_cuda_is_the_simulated_accelerator(torch: Any, capsys: Any) -> None:
    x = torch.ones(3).cuda()
    assert (str(x.device), x.device.type, x.is_cuda) == ("cuda", "cuda", True)
    assert x.device == torch.device("cuda") == tg.ones(2, device="sim").device
    assert x.to("cuda:0").device == "cuda"
    assert repr(x) == "tensor([1., 1., 1.], device='cuda')"
    model = torch.nn.Linear(3, 2).to(torch.device("cuda"))
    assert model(x).is_cuda
    told = "There is no GPU here: 'cuda' is the simulated accelerator, and its times are virtual (tg.sim.explain()).\n"
    assert capsys.readouterr().err == told
    assert (torch.cuda.is_available(), torch.cuda.device_count(), torch.cuda.current_device()) == (True, 1, 0)
    assert torch.cuda.get_device_name(0) == torch.cuda.get_device_properties("cuda").name == "simulated T4"
    assert torch.cuda.memory_allocated() == tg.accelerator.memory_allocated() > 0
    with pytest.raises(DeviceError, match="there is no such device here"):
        x.to("cuda:1")


def test_it_ends(torch: Any) -> None:
    end = backends.simulate_cuda()
    assert torch.ones(2, device="cuda").device == "cuda"
    end()
    with pytest.raises(DeviceError):
        tg.ones(2, device="cuda")
    assert tg.ones(2, device="sim").device == "sim"


def test_several_devices(torch: Any) -> None:
    torch.ones(1).cuda()
    tg.sim.use(devices=2)
    try:
        x = torch.ones(2, device="cuda:1")
        assert (x.device, torch.cuda.device_count()) == ("cuda:1", 2)
        with torch.cuda.device(1):
            assert torch.cuda.memory_allocated() == x.to("cuda:1").nbytes + 504  # a block of the allocator: 512 bytes
        mend = "name it: x.to('cuda:1'), or write with torch.cuda.device(1)"
        with teaches(DeviceError, "set_device(1)", "the first device stays the one that is meant", mend):
            torch.cuda.set_device(1)
        torch.cuda.set_device(0)
        del x
    finally:
        tg.sim.use(devices=1)


def test_memory_of_a_device(torch: Any) -> None:
    torch.ones(1).cuda()
    free, total = torch.cuda.mem_get_info()
    x = torch.ones(1 << 23, device="cuda")
    assert (total, free - torch.cuda.mem_get_info()[0]) == (16_000_000_000, x.nbytes)
    with pytest.raises(OutOfMemoryError, match="out of memory") as caught:
        torch.empty(1 << 33, device="cuda")
    assert isinstance(caught.value, RuntimeError)
    assert torch.cuda.OutOfMemoryError is OutOfMemoryError
    many = [torch.empty(1 << 29, device="cuda") for _ in range(7)]  # nobody has written to them
    with pytest.raises(OutOfMemoryError, match="out of memory") as caught:
        torch.empty(1 << 29, device="cuda")
    assert "of 16,000,000,000 on 'cuda', " in caught.value.why
    del many


@pytest.mark.parametrize("average", [None, True, False])
@pytest.mark.parametrize("reduce", [None, True, False])
def test_older_arguments_of_losses(torch: Any, average: Any, reduce: Any) -> None:
    x, y = torch.tensor([1.0, 2.0]), torch.tensor([2.0, 4.0])
    F = torch.nn.functional
    if average is None and reduce is None:
        assert F.mse_loss(x, y).item() == 2.5
        return
    expected = {"mean": 2.5, "sum": 5.0, "none": [1.0, 4.0]}
    said = "none" if reduce is False else "sum" if average is False else "mean"
    text = f"old arguments of (mse_loss|MSELoss): write reduction='{said}'"
    with pytest.warns(UserWarning, match=text) as warned:
        found = F.mse_loss(x, y, size_average=average, reduce=reduce)
        loss = torch.nn.MSELoss(size_average=average, reduce=reduce)
    assert {Path(one.filename).name for one in warned} == {"test_torch.py"}
    assert found.tolist() == loss(x, y).tolist() == expected[said]
    assert isinstance(loss, tg.nn.MSELoss)
    with pytest.raises(ArgumentError, match="both say how the losses become one"):
        F.mse_loss(x, y, size_average=average, reduce=reduce, reduction="sum")


def test_a_loss_is_one_class(torch: Any) -> None:
    assert torch.nn.MSELoss is torch.nn.MSELoss
    assert repr(torch.nn.MSELoss()) == "MSELoss()"
    assert torch.nn.CrossEntropyLoss(label_smoothing=0.1).label_smoothing == 0.1


def test_data_parallel(torch: Any) -> None:
    inner = torch.nn.Linear(3, 2)
    model = torch.nn.DataParallel(inner)
    x = torch.ones(1, 3)
    np.testing.assert_array_equal(model(x).detach(), inner(x).detach())
    assert model.module is inner
    assert [*model.state_dict()] == ["module.weight", "module.bias"]
    assert torch.nn.parallel.DataParallel is torch.nn.DataParallel
    assert torch.nn.parallel.DistributedDataParallel is tg.distributed.DistributedDataParallel


def test_precision_of_products_is_that_of_the_simulated_device(torch: Any) -> None:
    a = torch.ones(512, 512, device="cuda")
    tg.sim.use("A100")
    try:
        times = {}
        for precision in ("highest", "high"):
            torch.set_float32_matmul_precision(precision)
            assert torch.get_float32_matmul_precision() == precision
            with tg.sim.timeline() as seen:
                found = a @ a
            times[precision] = sum(one.duration for one in seen if one.kind == "kernel")
            assert found[0, 0].item() == 512
        assert times["high"] < times["highest"]
        mend = "use 'highest', 'high' or 'medium'"
        with teaches(ArgumentError, "set_float32_matmul_precision('low')", "there is no such precision", mend):
            torch.set_float32_matmul_precision("low")
    finally:
        torch.backends.cuda.matmul.allow_tf32 = False
        del a, found
        tg.sim.use("T4")


def test_backends_of_compile(torch: Any) -> None:
    def double(x: Any) -> Any:
        return x * 2

    assert torch.compile(double, backend="eager") is double
    for backend in ("inductor", "aot_eager", "numpy"):
        assert torch.compile(double, backend=backend)(torch.ones(1)).item() == 2
    assert torch.compile(backend="eager")(double)(torch.ones(1)).item() == 2
    with pytest.raises(ArgumentError, match="there is no such backend"):
        torch.compile(double, backend="tensorrt")


def test_deterministic_algorithms(torch: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(tg.backends.cudnn, "deterministic", False)
    torch.use_deterministic_algorithms(True)
    assert torch.backends.cudnn.deterministic is True


def test_older_profiler(torch: Any) -> None:
    x = torch.ones(4, device="cuda")
    with torch.autograd.profiler.profile(use_cuda=True) as seen, torch.autograd.profiler.record_function("mine"):
        x + x
    assert [one.key for one in seen.key_averages()] == ["mine", "add"]
    assert "Self device" in seen.key_averages().table(sort_by="self_cuda_time_total")


def test_older_mixed_precision(torch: Any) -> None:
    x, w = torch.ones(2, 2, device="cuda"), torch.ones(2, 2, device="cuda")

    @torch.cuda.amp.autocast(dtype=torch.bfloat16)
    def product() -> Any:
        return x @ w

    assert product().dtype == torch.bfloat16
    with torch.cuda.amp.autocast(enabled=False):
        assert (x @ w).dtype == torch.float32
    assert torch.cuda.amp.GradScaler(init_scale=8.0).get_scale() == 8.0


class TestScript:
    def test_saves_what_it_was_last_called_with(self, torch: Any, tmp_path: Path) -> None:
        model = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3), torch.nn.ReLU(), torch.nn.Dropout())
        scripted = torch.jit.script(model.eval())
        x = torch.randn(5, 1, 4, 4)
        expected = scripted(x).detach()
        scripted.save(tmp_path / "m.pt")
        np.testing.assert_allclose(torch.jit.load(tmp_path / "m.pt").eval()(x), expected, rtol=1e-6)

    def test_a_model_in_training_is_saved_for_inference(self, torch: Any, tmp_path: Path) -> None:
        model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Dropout(), torch.nn.BatchNorm1d(2))
        torch.jit.save(torch.jit.script(model), tmp_path / "m.pt")
        assert all(one.training for one in model.modules())
        x = torch.randn(1, 3)
        np.testing.assert_allclose(torch.jit.load(tmp_path / "m.pt")(x), model.eval()(x).detach(), rtol=1e-5)

    def test_nothing_tells_what_it_takes(self, torch: Any, tmp_path: Path) -> None:
        scripted = torch.jit.script(torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3)))
        tried = "jit.save of a scripted module that was never called"
        why = "its first layer, Conv2d, does not tell what the module takes"
        with teaches(ArgumentError, tried, why, "call it once before"):
            torch.jit.save(scripted, tmp_path / "m.pt")

    def test_functions(self, torch: Any) -> None:
        assert torch.jit.script(lambda x: x + 1)(torch.ones(1)).item() == 2
        assert isinstance(torch.jit.script(lambda x: x + 1, example_inputs=[torch.ones(1)]), tg.jit.Traced)


# A script as it stands -----------------------------------------------------------------------------------------------

SCRIPT = """
import sys
import torch
import torch.nn as nn
from torch.optim.lr_scheduler import StepLR
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
print("using", device, sys.argv[1:], __name__)
torch.manual_seed(1)
x = torch.randn(64, 4)
loader = DataLoader(TensorDataset(x, (x.sum(1) > 0).long()), batch_size=16, pin_memory=device.type == "cuda")
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2)).to(device)
optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
scheduler = StepLR(optimizer, step_size=10)
for epoch in range(10):
    for data, target in loader:
        data, target = data.to(device, non_blocking=True), target.to(device)
        assert data.device == device and data.is_cuda
        optimizer.zero_grad()
        loss = F.cross_entropy(model(data), target)
        loss.backward()
        optimizer.step()
    scheduler.step()
torch.save(model.state_dict(), "weights.pt")
print("loss below 0.3:", loss.item() < 0.3, sorted(torch.load("weights.pt")))
"""


def compat(*arguments: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tinygrad_edu.compat", *arguments]
    env = {"PYTHONPATH": str(ROOT), "PATH": ""}
    return subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, timeout=100, check=False)


def test_a_script_runs_without_a_change(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(SCRIPT)
    ran = compat("run", "train.py", "--epochs", "3", cwd=tmp_path)
    assert ran.stderr.count("simulated accelerator") == 1
    assert ran.returncode == 0, ran.stderr
    using, loss = ran.stdout.splitlines()
    assert using == "using cuda ['--epochs', '3'] __main__"
    assert loss == "loss below 0.3: True ['0.bias', '0.weight', '2.bias', '2.weight']"


def test_a_script_beside_its_modules(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text("import torch\nx = torch.ones(2)\n")
    (tmp_path / "main.py").write_text("from model import x\nimport sys\nprint(x)\nsys.exit(3)\n")
    ran = compat("run", str(tmp_path / "main.py"))
    assert (ran.returncode, ran.stdout) == (3, "tensor([1., 1.])\n")


def test_what_cannot_be_run() -> None:
    usage = "usage: python -m tinygrad_edu.compat run script.py [arguments of the script]\n"
    for arguments in ((), ("run",), ("walk", "x.py")):
        ran = compat(*arguments)
        assert (ran.returncode, ran.stderr) == (1, usage)
    ran = compat("run", "nowhere.py")
    assert (ran.returncode, ran.stderr) == (1, f"nowhere.py: there is no such file\n{usage}")


def test_pytorch_must_not_be_there_already() -> None:
    code = "import sys, types; sys.modules['torch'] = types.ModuleType('torch')\n"
    code += "from tinygrad_edu.compat.paths import be_torch; be_torch()"
    ran = run_python(code)
    assert "PyTorch is imported already: start a new Python, or a new kernel" in ran.stderr


def test_being_torch_ends() -> None:
    code = """
import importlib, sys
from tinygrad_edu.compat import paths
import tinygrad_edu as tg, tinygrad_edu.compat.torch as ours
end = paths.be_torch()
import torch, torch.nn.functional, torch.optim
assert torch is ours and torch.optim is tg.optim and torch.nn.functional is ours.nn.functional
assert torch.__spec__.name == "tinygrad_edu.compat.torch"
end()
assert not [name for name in sys.modules if name.partition(".")[0] == "torch"]
print("ended")
"""
    assert run_python(code).stdout == "ended\n"
