"""Programs as users write them, for `tips.advise`: what must be reported for SLOW, and nothing for CLEAN.

Written without a look at the detectors, by somebody who knew only what each tip says.
"""

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import tinygrad_edu as tg
from tinygrad_edu import Tensor, nn
from tinygrad_edu import distributions as dist
from tinygrad_edu.data import DataLoader, Dataset, TensorDataset, random_split
from tinygrad_edu.nn import functional as F
from tinygrad_edu.utils.checkpoint import checkpoint

# SLOW: programs with a habit


def predict_csv_rows() -> None:
    """A script scores the rows of a table, one after the other, and records a graph for each."""
    tg.manual_seed(0)
    model = nn.Sequential(nn.Linear(12, 48), nn.Tanh(), nn.Linear(48, 1))
    model.eval()
    table = np.random.default_rng(0).normal(size=(200, 12)).astype(np.float32)
    scores = []
    for record in table:
        scores.append(model(tg.tensor(record).unsqueeze(0)).squeeze())
    scores = tg.stack(scores)
    assert scores.shape == (200,)


def standardise_by_row() -> None:
    """Subtracts the mean of the columns from each row in a comprehension."""
    tg.manual_seed(1)
    features = tg.randn(300, 40) * 3 + 1
    mean, std = features.mean(0), features.std(0)
    normed = tg.stack([(features[i] - mean) / std for i in range(features.shape[0])])
    assert abs(normed.mean().item()) < 1e-3


def summed_regression_losses() -> None:
    """Adds up the squared error of every sample by hand in a training loop."""
    tg.manual_seed(2)
    net = nn.Linear(6, 1)
    optimizer = tg.optim.SGD(net.parameters(), lr=0.05)
    x, y = tg.randn(96, 6), tg.randn(96, 1)
    for _epoch in range(4):
        optimizer.zero_grad()
        prediction = net(x)
        loss: Any = 0
        for guess, truth in zip(prediction, y, strict=True):
            loss = loss + F.mse_loss(guess, truth)
        (loss / len(x)).backward()
        optimizer.step()


def heads_one_by_one() -> None:
    """Multi-head attention that goes through the heads, and keeps the scores."""
    tg.manual_seed(3)
    q, k, v = (tg.randn(16, 64, 24) for _ in range(3))
    outputs = []
    for head in range(16):
        scores = tg.mm(q[head], k[head].T) / 24**0.5
        outputs.append(tg.mm(F.softmax(scores, dim=-1), v[head]))
    assert tg.cat(outputs, dim=-1).shape == (64, 16 * 24)


def handmade_attention_layer() -> None:
    """Causal self-attention with a mask of -inf, over 768 tokens, trained for a step."""
    tg.manual_seed(4)
    tokens, width = 768, 32
    qkv = nn.Linear(width, 3 * width)
    mask = tg.triu(tg.ones(tokens, tokens), diagonal=1).bool()
    x = tg.randn(2, tokens, width)
    q, k, v = qkv(x).chunk(3, dim=-1)
    weights = q @ k.transpose(-2, -1) / width**0.5
    weights = weights.masked_fill(mask, float("-inf")).softmax(dim=-1)
    (weights @ v).square().mean().backward()


def dense_inference_by_hand() -> None:
    """A two-layer network written with matrices, for inference."""
    tg.manual_seed(5)
    w1, b1, w2, b2 = tg.randn(64, 512) / 8, tg.zeros(512), tg.randn(512, 256) / 22, tg.zeros(256)
    for _ in range(8):
        batch = tg.randn(1024, 64)
        hidden = tg.relu(tg.matmul(batch, w1) + b1)
        out = tg.relu(tg.matmul(hidden, w2) + b2)
        assert out.shape == (1024, 256)


def gpt2_gelu() -> None:
    """GELU as in the GPT-2 repository, in each block."""
    tg.manual_seed(6)

    def gelu(x: Tensor) -> Tensor:
        return 0.5 * x * (1 + tg.tanh((2 / 3.141592653589793) ** 0.5 * (x + 0.044715 * tg.pow(x, 3))))

    up, down = nn.Linear(64, 256), nn.Linear(256, 64)
    with tg.no_grad():
        x = tg.randn(512, 64)
        for _ in range(6):
            x = x + down(gelu(up(x)))
    assert x.shape == (512, 64)


def swish_by_hand() -> None:
    """x times its sigmoid, in a convolutional network."""
    tg.manual_seed(7)
    conv1, conv2 = nn.Conv2d(3, 16, 3, padding=1), nn.Conv2d(16, 16, 3, padding=1)
    with tg.no_grad():
        for _ in range(4):
            h = conv1(tg.randn(8, 3, 24, 24))
            h = h * tg.sigmoid(h)
            h = conv2(h)
            h = h * (1 / (1 + tg.exp(-h)))


def contract_by_broadcasting() -> None:
    """Similarity of all queries with all keys: products first, then a sum."""
    tg.manual_seed(8)
    queries, keys = tg.randn(256, 64), tg.randn(300, 64)
    for _ in range(3):
        similarity = (queries.unsqueeze(1) * keys.unsqueeze(0)).sum(dim=-1)
        best = similarity.argmax(1)
    assert best.shape == (256,)


def resnet_inference() -> None:
    """Convolution, batch norm and ReLU, evaluated over many batches."""
    tg.manual_seed(9)
    layers = nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU(),
        nn.Conv2d(16, 32, 3, padding=1, bias=False), nn.BatchNorm2d(32), nn.ReLU(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10),
    )  # fmt: skip
    layers.eval()
    with tg.inference_mode():
        for _ in range(8):
            logits = layers(tg.randn(8, 3, 20, 20))
    assert logits.shape == (8, 10)


def request_server_on_sim() -> None:
    """Answers a queue of requests one by one on the accelerator."""
    tg.manual_seed(10)
    model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 8)).to("sim").eval()
    queue = [tg.randn(64) for _ in range(48)]
    answers = []
    with tg.no_grad():
        while queue:
            request = queue.pop(0)
            logits = model(request[None].to("sim"))
            answers.append(int(logits.argmax(dim=1).cpu()[0]))
    assert len(answers) == 48


def validation_with_gradients() -> None:
    """The validation loop forgot no_grad, though it has eval()."""
    tg.manual_seed(11)
    model = nn.Sequential(nn.Linear(32, 256), nn.ReLU(), nn.Dropout(0.2), nn.Linear(256, 10))
    loader = DataLoader(TensorDataset(tg.randn(640, 32), tg.randint(0, 10, (640,))), batch_size=64)
    model.eval()
    right = seen = 0
    for x, y in loader:
        guess = model(x).argmax(1)
        right += (guess == y).sum().item()
        seen += len(y)
    assert seen == 640


def running_loss_list() -> None:
    """Collects the losses of an epoch in a list, graphs and all, and takes their mean."""
    tg.manual_seed(12)
    model = nn.Sequential(nn.Linear(20, 64), nn.GELU(), nn.Linear(64, 1))
    optimizer = tg.optim.Adam(model.parameters(), lr=1e-3)
    losses = []
    for _ in range(40):
        x = tg.randn(32, 20)
        loss = F.mse_loss(model(x), x.sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss)
    assert sum(losses) / len(losses) > 0


def zeros_in_gradients() -> None:
    """An old training loop, which fills gradients with zeros and searches for nan all the time."""
    tg.manual_seed(13)
    model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 64))
    optimizer = tg.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    tg.autograd.set_detect_anomaly(True)
    try:
        for _ in range(30):
            x = tg.randn(64, 64)
            optimizer.zero_grad(set_to_none=False)
            F.mse_loss(model(x), x).backward()
            optimizer.step()
    finally:
        tg.autograd.set_detect_anomaly(False)


def numpy_float64_normalisation() -> None:
    """Images are normalised with mean and std from NumPy, which are float64."""
    tg.manual_seed(14)
    images = tg.rand(64, 3, 32, 32)
    mean = np.array([0.485, 0.456, 0.406])
    std = np.array([0.229, 0.224, 0.225])
    mean_t, std_t = tg.from_numpy(mean).view(1, 3, 1, 1), tg.from_numpy(std).view(1, 3, 1, 1)
    for _ in range(4):
        normed = (images - mean_t) / std_t
        assert normed.clamp(-2, 2).mean(dim=(2, 3)).shape == (64, 3)


def half_precision_without_scaler() -> None:
    """Trains under autocast in float16, without a GradScaler; the gradients are tiny."""
    tg.manual_seed(15)
    model = nn.Linear(64, 64, bias=False)
    optimizer = tg.optim.SGD(model.parameters(), lr=1.0)
    x = tg.randn(4096, 64)
    with tg.no_grad():
        y = model(x) + 1e-5 * tg.randn(4096, 64)
    for _ in range(5):
        optimizer.zero_grad()
        with tg.autocast("cpu", dtype=tg.float16):
            loss = F.mse_loss(model(x).float(), y)
        loss.backward()
        optimizer.step()


def wide_mlp_on_sim_in_float32() -> None:
    """A wide network on the accelerator, trained in float32."""
    tg.manual_seed(16)
    model = nn.Sequential(nn.Linear(768, 768), nn.ReLU(), nn.Linear(768, 768), nn.ReLU(), nn.Linear(768, 10))
    model = model.to("sim")
    optimizer = tg.optim.SGD(model.parameters(), lr=0.01)
    x, y = tg.randn(1024, 768).to("sim"), tg.randint(0, 10, (1024,)).to("sim")
    for _ in range(4):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()


def activation_histogram_on_host() -> None:
    """Between two layers on the accelerator, the activations go to NumPy to be clipped, and back."""
    tg.manual_seed(17)
    layers = [nn.Linear(128, 128).to("sim") for _ in range(6)]
    with tg.no_grad():
        h = tg.randn(512, 128).to("sim")
        for layer in layers:
            h = layer(h)
            array = np.clip(h.cpu().numpy(), -1, 1)
            h = tg.from_numpy(array).to("sim")
    assert h.shape == (512, 128)


def noise_made_on_the_host() -> None:
    """A denoising step makes its noise and masks on the host, and sends them over."""
    tg.manual_seed(18)
    x = tg.zeros(256, 1024, device="sim")
    for _ in range(10):
        noise = tg.randn(256, 1024).to("sim")
        mask = tg.zeros(256, 1024).to("sim")
        x = x + noise * 0.1 + mask
    assert x.cpu().shape == (256, 1024)


def loader_without_pins() -> None:
    """Several epochs over large batches in ordinary memory, copied to the accelerator."""
    tg.manual_seed(19)
    net = nn.Linear(512, 4).to("sim")
    loader = DataLoader(TensorDataset(tg.randn(2048, 512), tg.randint(0, 4, (2048,))), batch_size=512)
    optimizer = tg.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(4):
        for x, y in loader:
            x, y = x.to("sim"), y.to("sim")
            optimizer.zero_grad()
            F.cross_entropy(net(x), y).backward()
            optimizer.step()


def logging_each_step_on_sim() -> None:
    """Reads the loss with float() in each of many short steps, and empties the cache."""
    tg.manual_seed(20)
    net = nn.Linear(256, 256).to("sim")
    optimizer = tg.optim.SGD(net.parameters(), lr=0.1)
    x = tg.randn(1024, 256).to("sim")
    history = []
    for _ in range(25):
        optimizer.zero_grad()
        loss = net(x).square().mean()
        loss.backward()
        optimizer.step()
        history.append(float(loss))
        tg.accelerator.empty_cache()
    assert history[-1] < history[0]


def threshold_elements_on_sim() -> None:
    """Cuts off scores in a loop over the elements on the accelerator."""
    tg.manual_seed(21)
    scores = tg.rand(96, device="sim")
    kept = []
    for i in range(scores.shape[0]):
        if scores[i] > 0.5:
            kept.append(i)
    for i in kept:
        scores[i] = 1.0
    assert len(kept) > 10


def clip_by_hand_on_sim() -> None:
    """Computes the norm of the gradients with a float for each parameter."""
    tg.manual_seed(22)
    net = nn.Sequential(*[nn.Linear(32, 32) for _ in range(8)]).to("sim")
    optimizer = tg.optim.SGD(net.parameters(), lr=0.1)
    x = tg.randn(128, 32).to("sim")
    for _ in range(5):
        optimizer.zero_grad()
        net(x).square().sum().backward()
        norm = 0.0
        for p in net.parameters():
            norm += p.grad.norm().item() ** 2
        norm = norm**0.5
        if norm > 1.0:
            for p in net.parameters():
                p.grad *= 1.0 / norm
        optimizer.step()


class SlowDisk(Dataset):
    """Each sample takes a few milliseconds to arrive."""

    def __init__(self, count: int = 80) -> None:
        self.values = tg.randn(count, 16)

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, i: int) -> Tensor:
        time.sleep(0.005)
        return self.values[i]


def waits_for_the_disk() -> None:
    """The loop reads by itself, and every sample waits for a slow disk."""
    tg.manual_seed(23)
    net = nn.Linear(16, 16)
    optimizer = tg.optim.SGD(net.parameters(), lr=0.01)
    for batch in DataLoader(SlowDisk(), batch_size=8, shuffle=True):
        optimizer.zero_grad()
        F.mse_loss(net(batch), batch).backward()
        optimizer.step()


def workers_anew_each_epoch() -> None:
    """Workers, which each epoch starts again."""
    tg.manual_seed(24)
    loader = DataLoader(TensorDataset(tg.randn(64, 8)), batch_size=16, num_workers=2)
    total = tg.zeros(8)
    for _ in range(5):
        for (x,) in loader:
            total += x.sum(0)


def copies_before_reading() -> None:
    """Clones an array before each statistic, “to be on the safe side”."""
    tg.manual_seed(25)
    x = tg.randn(1500, 1024)
    for _ in range(4):
        safe = x.clone()
        low, high = safe.amin(), safe.amax()
        copy = x.clone()
        assert copy.mean() < high and low < high


def across_the_rows() -> None:
    """A recurrent update adds a transposed matrix in every step."""
    tg.manual_seed(26)
    kernel = tg.randn(1024, 1024)
    state = tg.zeros(1024, 1024)
    flipped = kernel.t()
    for _ in range(10):
        state = state * 0.9 + flipped
    assert state.shape == (1024, 1024)


def batches_by_arange() -> None:
    """Batches in order, picked by tensors of positions."""
    tg.manual_seed(27)
    x = tg.randn(8192, 128)
    w = tg.randn(128, 4)
    with tg.no_grad():
        for start in range(0, 8192, 512):
            rows = tg.arange(start, start + 512)
            assert (x[rows] @ w).shape == (512, 4)


def training_into_nan() -> None:
    """A learning rate much too large; the loss becomes nan, and nobody looks."""
    tg.manual_seed(28)
    w = tg.tensor([4.0, 0.0, 1.0], requires_grad=True)
    optimizer = tg.optim.SGD([w], lr=0.1)
    for _ in range(6):
        optimizer.zero_grad()
        loss = (w * tg.tensor([1.0, 0.0, 2.0])).sqrt().sum()
        loss.backward()
        optimizer.step()


class Stack(nn.Module):
    """Has its hidden layers in a plain list."""

    def __init__(self) -> None:
        super().__init__()
        self.hidden = [nn.Linear(16, 16) for _ in range(3)]
        self.out = nn.Linear(16, 2)

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.hidden:
            x = layer(x).relu()
        return self.out(x)


def layers_in_a_list() -> None:
    """Trains a model most of whose layers are in a plain list."""
    tg.manual_seed(30)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = Stack()
        optimizer = tg.optim.Adam(model.parameters(), lr=0.01)
        x, y = tg.randn(64, 16), tg.randint(0, 2, (64,))
        for _ in range(10):
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()


def sentences_of_every_length() -> None:
    """A compiled function meets sentences of all lengths."""
    tg.manual_seed(31)

    @tg.compile
    def score(sentence: Tensor, w: Tensor) -> Tensor:
        return (sentence @ w).tanh().mean(0)

    w = tg.randn(16, 16)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for length in (5, 9, 7, 12, 6, 8):
            score(tg.randn(length, 16), w)


def tiny_kernels_on_sim() -> None:
    """Euler steps of many particles, one by one, on the accelerator."""
    tg.manual_seed(32)
    positions = tg.rand(60, 3, device="sim")
    field = tg.randn(3, 3, device="sim")
    moved = []
    for i in range(60):
        p = positions[i]
        moved.append(p + 0.01 * (p @ field).sin())
    assert tg.stack(moved).cpu().shape == (60, 3)


def gradients_zeroed_by_hand() -> None:
    """The first training loop of many courses: no optimiser, and zero_() on each gradient."""
    tg.manual_seed(33)
    w, b = tg.randn(256, 64, requires_grad=True), tg.zeros(64, requires_grad=True)
    x, y = tg.randn(128, 256), tg.randn(128, 64)
    for _ in range(20):
        loss = ((x @ w + b - y) ** 2).mean()
        loss.backward()
        with tg.no_grad():
            for p in (w, b):
                p -= 0.01 * p.grad
                p.grad.zero_()


def compiled_anew_each_time() -> None:
    """Compiles the function inside the loop, so that it is recorded in every step."""
    tg.manual_seed(34)
    x = tg.randn(64, 64)
    for _ in range(10):
        forward = tg.compile(lambda t: (t * 2).tanh() + t)
        x = forward(x)
    assert x.shape == (64, 64)


SLOW: dict[str, tuple[Callable[[], None], set[str]]] = {
    "predict csv rows": (predict_csv_rows, {"batch-the-stream", "no-grad"}),
    "standardise by row": (standardise_by_row, {"broadcasting"}),
    "summed regression losses": (summed_regression_losses, {"vectorise-loss"}),
    "heads one by one": (heads_one_by_one, {"batched-matmul"}),
    "handmade attention layer": (handmade_attention_layer, {"efficient-attention"}),
    "dense inference by hand": (dense_inference_by_hand, {"fused-linear-bias-activation"}),
    "GELU of GPT-2": (gpt2_gelu, {"fast-activation"}),
    "swish by hand": (swish_by_hand, {"fast-activation"}),
    "contract by broadcasting": (contract_by_broadcasting, {"flatten-to-2d"}),
    "ResNet inference": (resnet_inference, {"fold-batch-norm"}),
    "request server on sim": (request_server_on_sim, {"vectorise"}),
    "validation with gradients": (validation_with_gradients, {"no-grad"}),
    "running loss list": (running_loss_list, {"keep-the-number-not-the-graph"}),
    "zeros in gradients": (zeros_in_gradients, {"zero-grad-to-none", "debug-aids-off"}),
    "NumPy float64 normalisation": (numpy_float64_normalisation, {"spurious-promotion"}),
    "half precision without scaler": (half_precision_without_scaler, {"loss-scaling"}),
    "wide MLP on sim in float32": (wide_mlp_on_sim_in_float32, {"mixed-precision"}),
    "activations on the host": (activation_histogram_on_host, {"avoid-transfers"}),
    "noise made on the host": (noise_made_on_the_host, {"allocate-on-device"}),
    "loader without pins": (loader_without_pins, {"pinned-memory"}),
    "logging each step on sim": (logging_each_step_on_sim, {"async-dispatch", "empty-cache"}),
    "threshold elements on sim": (threshold_elements_on_sim, {"scalar-indexing"}),
    "clip by hand on sim": (clip_by_hand_on_sim, {"gradient-clipping"}),
    "waits for the disk": (waits_for_the_disk, {"loader-workers"}),
    "workers anew each epoch": (workers_anew_each_epoch, {"persistent-workers"}),
    "copies before reading": (copies_before_reading, {"share-storage"}),
    "across the rows": (across_the_rows, {"contiguous-access"}),
    "batches by arange": (batches_by_arange, {"basic-vs-advanced-indexing"}),
    "training into nan": (training_into_nan, {"watch-training"}),
    "layers in a list": (layers_in_a_list, {"registered-layers"}),
    "sentences of every length": (sentences_of_every_length, {"retracing"}),
    "gradients zeroed by hand": (gradients_zeroed_by_hand, {"zero-grad-to-none"}),
    "compiled anew each time": (compiled_anew_each_time, {"retracing"}),
    "tiny kernels on sim": (tiny_kernels_on_sim, {"launch-bound-vs-bandwidth-bound-vs-compute-bound"}),
}


# CLEAN: programs without these habits


def classifier_on_cpu() -> None:
    tg.manual_seed(50)
    x = tg.randn(512, 20)
    y = (x[:, 0] + x[:, 1] > 0).long()
    train, test = random_split(TensorDataset(x, y), [400, 112])
    model = nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Linear(32, 2))
    optimizer = tg.optim.Adam(model.parameters(), lr=0.01)
    schedule = tg.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
    for _ in range(4):
        model.train()
        running = 0.0
        for a, b in DataLoader(train, batch_size=50, shuffle=True):
            loss = F.cross_entropy(model(a), b)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            running += loss.item()
        schedule.step()
        model.eval()
        with tg.no_grad():
            right = sum((model(a).argmax(1) == b).sum().item() for a, b in DataLoader(test, batch_size=56))
    assert right > 60


def mixed_precision_on_sim() -> None:
    tg.manual_seed(51)
    data = TensorDataset(tg.randn(2048, 512), tg.randint(0, 10, (2048,)))
    loader = DataLoader(data, batch_size=512, shuffle=True, pin_memory=True)
    model = nn.Sequential(nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10)).to("sim")
    optimizer = tg.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    scaler = tg.amp.GradScaler("sim")
    for _ in range(2):
        total = tg.zeros((), device="sim")
        for x, y in loader:
            x, y = x.to("sim", non_blocking=True), y.to("sim", non_blocking=True)
            optimizer.zero_grad()
            with tg.autocast("sim", dtype=tg.float16):
                loss = F.cross_entropy(model(x), y)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            total += loss.detach()
        assert total.item() > 0


def evaluate_on_sim() -> None:
    tg.manual_seed(52)
    loader = DataLoader(TensorDataset(tg.randn(1024, 64), tg.randint(0, 5, (1024,))), batch_size=256, pin_memory=True)
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 5)).to("sim").eval()
    with tg.inference_mode():
        right = tg.zeros((), dtype=tg.int64, device="sim")
        for x, y in loader:
            logits = model(x.to("sim", non_blocking=True))
            right += (logits.argmax(1) == y.to("sim", non_blocking=True)).sum()
    assert 0 <= right.item() <= 1024


def accumulated_gradients() -> None:
    tg.manual_seed(53)
    model = nn.Sequential(nn.Linear(16, 64), nn.Tanh(), nn.Linear(64, 1))
    optimizer = tg.optim.AdamW(model.parameters(), lr=1e-2)
    x = tg.randn(256, 16)
    y = x.sum(1, keepdim=True)
    history = []
    for _ in range(6):
        optimizer.zero_grad()
        for a, b in zip(x.split(64), y.split(64), strict=True):
            loss = F.mse_loss(model(a), b) / 4
            loss.backward()
            history.append(loss.detach())
        optimizer.step()
    assert history[-1] < history[0]


def transfer_learning() -> None:
    tg.manual_seed(54)
    backbone = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten())
    for p in backbone.parameters():
        p.requires_grad_(False)
    head = nn.Linear(8 * 8 * 8, 4)
    optimizer = tg.optim.SGD(head.parameters(), lr=0.01)
    for _ in range(8):
        images, labels = tg.rand(32, 3, 16, 16), tg.randint(0, 4, (32,))
        loss = F.cross_entropy(head(backbone(images)), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def character_lstm() -> None:
    tg.manual_seed(55)
    text = tg.tensor([ord(c) - 97 for c in "hellohelloworldworldhello" * 20])
    embed, lstm, out = nn.Embedding(26, 16), nn.LSTM(16, 32, batch_first=True), nn.Linear(32, 26)
    parameters = [*embed.parameters(), *lstm.parameters(), *out.parameters()]
    optimizer = tg.optim.RMSprop(parameters, lr=0.005)
    for _ in range(5):
        starts = tg.randint(0, len(text) - 21, (16,))
        windows = text[starts[:, None] + tg.arange(21)]
        hidden, _ = lstm(embed(windows[:, :-1]))
        loss = F.cross_entropy(out(hidden).flatten(0, 1), windows[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def transformer_with_sdpa() -> None:
    tg.manual_seed(56)
    width, heads = 32, 4
    qkv, project, norm = nn.Linear(width, 3 * width), nn.Linear(width, width), nn.LayerNorm(width)
    parameters = [*qkv.parameters(), *project.parameters(), *norm.parameters()]
    optimizer = tg.optim.AdamW(parameters, lr=1e-3)
    for _ in range(4):
        x = tg.randn(4, 64, width)
        q, k, v = (t.unflatten(-1, (heads, -1)).transpose(1, 2) for t in qkv(norm(x)).chunk(3, dim=-1))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        loss = F.mse_loss(project(y.transpose(1, 2).flatten(2)), x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def autoregressive_sampling() -> None:
    """Each token depends on the one before, so this loop is none that could be a batch."""
    tg.manual_seed(57)
    embed, cell, out = nn.Embedding(30, 16), nn.GRUCell(16, 32), nn.Linear(32, 30)
    with tg.no_grad():
        token, h = tg.zeros(1, dtype=tg.int64), tg.zeros(1, 32)
        text = []
        for _ in range(60):
            h = cell(embed(token), h)
            token = dist.Categorical(logits=out(h)).sample()
            text.append(token.item())
    assert len(text) == 60


def compiled_train_step() -> None:
    tg.manual_seed(58)
    net = nn.Sequential(nn.Linear(16, 32), nn.Tanh(), nn.Linear(32, 1))
    optimizer = tg.optim.SGD(net.parameters(), lr=0.05)

    @tg.compile
    def step(x: Tensor, y: Tensor) -> Tensor:
        optimizer.zero_grad()
        loss = F.mse_loss(net(x), y)
        loss.backward()
        optimizer.step()
        return loss.detach()

    for _ in range(20):
        x = tg.randn(64, 16)
        step(x, x.mean(1, keepdim=True))


def variational_inference() -> None:
    tg.manual_seed(59)
    mean, log_std = tg.zeros(4, requires_grad=True), tg.zeros(4, requires_grad=True)
    target = dist.Normal(tg.tensor([1.0, -1.0, 0.5, 2.0]), tg.ones(4) * 0.5)
    optimizer = tg.optim.Adam([mean, log_std], lr=0.05)
    for _ in range(100):
        q = dist.Normal(mean, log_std.exp())
        z = q.rsample((16,))
        loss = (q.log_prob(z) - target.log_prob(z)).sum(-1).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def gan_steps() -> None:
    tg.manual_seed(60)
    g = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 2))
    d = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
    opt_g, opt_d = tg.optim.Adam(g.parameters(), lr=2e-4), tg.optim.Adam(d.parameters(), lr=2e-4)
    ones, zeros = tg.ones(64, 1), tg.zeros(64, 1)
    for _ in range(10):
        real, fake = tg.randn(64, 2) * 0.5 + 1, g(tg.randn(64, 8))
        opt_d.zero_grad()
        loss_d = F.binary_cross_entropy_with_logits(d(real), ones)
        loss_d = loss_d + F.binary_cross_entropy_with_logits(d(fake.detach()), zeros)
        loss_d.backward()
        opt_d.step()
        opt_g.zero_grad()
        F.binary_cross_entropy_with_logits(d(fake), ones).backward()
        opt_g.step()


def regression_with_lbfgs() -> None:
    tg.manual_seed(61)
    x = tg.linspace(-1, 1, 100).unsqueeze(1)
    y = 3 * x + 0.5 + 0.01 * tg.randn(100, 1)
    model = nn.Linear(1, 1)
    optimizer = tg.optim.LBFGS(model.parameters(), lr=0.5, max_iter=20)

    def closure() -> Tensor:
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        return loss

    for _ in range(3):
        loss = optimizer.step(closure)
    assert loss < 0.01


def newton_and_curvature() -> None:
    tg.manual_seed(62)
    x = tg.tensor([1.5, 2.0, -1.0], requires_grad=True)
    for _ in range(5):
        f = (x**4 / 4 - x).sum()
        (g,) = tg.autograd.grad(f, x, create_graph=True)
        (h,) = tg.autograd.grad(g.sum(), x)
        with tg.no_grad():
            x -= g / h
    assert f.item() < 0


def gradient_penalty() -> None:
    tg.manual_seed(63)
    critic = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 1))
    optimizer = tg.optim.Adam(critic.parameters(), lr=1e-3)
    for _ in range(8):
        x = tg.randn(64, 4, requires_grad=True)
        score = critic(x)
        (slope,) = tg.autograd.grad(score.sum(), x, create_graph=True)
        loss = score.mean() + 10 * (slope.norm(dim=1) - 1).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def images_with_batch_norm() -> None:
    """Training with batch norm, then a single evaluation batch."""
    tg.manual_seed(64)
    net = nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(8 * 16, 10),
    )  # fmt: skip
    optimizer = tg.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    for _ in range(10):
        x, y = tg.rand(32, 1, 8, 8), tg.randint(0, 10, (32,))
        loss = F.cross_entropy(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def ema_teacher() -> None:
    """A teacher that follows its student: clones that are needed, and updates in place."""
    tg.manual_seed(65)
    student = nn.Linear(16, 16)
    best = {name: value.clone() for name, value in student.state_dict().items()}
    averages = [p.detach().clone() for p in student.parameters()]
    optimizer = tg.optim.SGD(student.parameters(), lr=0.05)
    lowest = float("inf")
    for _ in range(30):
        x = tg.randn(64, 16)
        loss = F.mse_loss(student(x), x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with tg.no_grad():
            for a, p in zip(averages, student.parameters(), strict=True):
                a.lerp_(p, 0.05)
        if loss.item() < lowest:
            lowest = loss.item()
            best = {name: value.clone() for name, value in student.state_dict().items()}
    student.load_state_dict(best)


def k_means() -> None:
    """Clusters points; in each round the centres depend on those before."""
    tg.manual_seed(66)
    points = tg.randn(600, 2) + tg.randint(0, 3, (600, 1)) * 4
    centres = points[tg.randperm(600)[:3]].clone()
    for _ in range(10):
        nearest = tg.cdist(points, centres).argmin(1)
        sums = tg.zeros(3, 2).index_add(0, nearest, points)
        counts = tg.bincount(nearest, minlength=3).clamp(min=1)
        centres = sums / counts[:, None]
    assert centres.shape == (3, 2)


def q_learning() -> None:
    """An agent acts step by step (nothing to batch) and learns from batches of a memory."""
    tg.manual_seed(67)
    q = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
    optimizer = tg.optim.Adam(q.parameters(), lr=1e-3)
    state = tg.zeros(4)
    memory: list[tuple[Tensor, int, float]] = []
    for step in range(60):
        with tg.no_grad():
            action = int(q(state).argmax())
        memory.append((state, action, float(state[0])))
        state = (state + 0.1 * (2 * action - 1) + 0.01 * tg.randn(4)).clamp(-1, 1)
        if step % 10 == 9:
            states = tg.stack([s for s, _, _ in memory])
            actions = tg.tensor([a for _, a, _ in memory])
            rewards = tg.tensor([r for _, _, r in memory])
            chosen = q(states).gather(1, actions[:, None]).squeeze(1)
            optimizer.zero_grad()
            F.smooth_l1_loss(chosen, rewards).backward()
            optimizer.step()


def checkpointed_bfloat16() -> None:
    """bfloat16 needs no scaler, and the deep part is checkpointed."""
    tg.manual_seed(68)
    blocks = nn.ModuleList(nn.Sequential(nn.Linear(64, 64), nn.GELU()) for _ in range(8))
    optimizer = tg.optim.SGD(blocks.parameters(), lr=0.01)
    for _ in range(2):
        h = x = tg.randn(256, 64)
        with tg.autocast("cpu", dtype=tg.bfloat16):
            for block in blocks:
                h = checkpoint(block, h, use_reentrant=False)
        optimizer.zero_grad()
        F.mse_loss(h.float(), x).backward()
        optimizer.step()


def loss_of_a_test_set() -> None:
    """The mean loss over thirty batches, without gradients."""
    tg.manual_seed(69)
    model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4)).eval()
    loader = DataLoader(TensorDataset(tg.randn(960, 16), tg.randint(0, 4, (960,))), batch_size=32, shuffle=True)
    total = 0.0
    with tg.no_grad():
        for x, y in loader:
            total += F.cross_entropy(model(x), y, reduction="sum").item()
    assert total / 960 > 0


def policy_rollout() -> None:
    """Each state follows from the action before: there is no batch."""
    tg.manual_seed(70)
    policy = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 4))
    state = tg.zeros(4)
    with tg.no_grad():
        for _ in range(100):
            state = (0.9 * state + 0.1 * policy(state) + 0.01 * tg.randn(4)).clamp(-1, 1)
    assert state.abs().max() <= 1


def deep_mlp_moved_to_sim() -> None:
    """Weights move once, before the first batch; the batches are pinned."""
    tg.manual_seed(71)
    model = nn.Sequential(*[nn.Sequential(nn.Linear(128, 128), nn.ReLU()) for _ in range(5)], nn.Linear(128, 1))
    model = model.to("sim")
    optimizer = tg.optim.AdamW(model.parameters(), lr=1e-3)
    data = TensorDataset(tg.randn(1024, 128), tg.randn(1024, 1))
    loader = DataLoader(data, batch_size=256, shuffle=True, pin_memory=True)
    for x, y in loader:
        loss = F.mse_loss(model(x.to("sim", non_blocking=True)), y.to("sim", non_blocking=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def jacobian_row_by_row() -> None:
    """One backward for each output, over one graph."""
    tg.manual_seed(72)
    net = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 8))
    x = tg.randn(6, requires_grad=True)
    outputs = net(x).unbind(0)
    rows = [tg.autograd.grad(y, x, retain_graph=True)[0] for y in outputs]
    assert tg.stack(rows).shape == (8, 6)


def projection_with_einsum() -> None:
    """The tip says that einsum flattens by itself."""
    tg.manual_seed(73)
    w = tg.randn(64, 64)
    with tg.no_grad():
        for _ in range(6):
            y = tg.einsum("btd,df->btf", tg.randn(16, 32, 64), w)
    assert y.shape == (16, 32, 64)


def batch_norm_estimated_anew() -> None:
    """Running statistics are estimated again, in training mode and without gradients: nothing can be folded."""
    tg.manual_seed(74)
    net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU()).train()
    net[1].reset_running_stats()
    with tg.no_grad():
        for _ in range(8):
            net(tg.rand(16, 3, 12, 12))
    assert net[1].num_batches_tracked == 8


def log_of_zero() -> None:
    """A forward algorithm in log space, where -inf is a fine number: the log of a probability of 0."""
    tg.manual_seed(75)
    total = tg.log(tg.tensor(0.0))
    for p in tg.rand(10):
        total = tg.logaddexp(total, tg.log(p))
    assert tg.isfinite(total)


def compiled_loss() -> None:
    """A compiled function that must not fall apart, and ends in one number."""
    tg.manual_seed(76)

    def energy(x: Tensor, w: Tensor) -> Tensor:
        return ((x @ w).tanh() ** 2).mean()

    fast = tg.compile(energy, fullgraph=True)
    w = tg.randn(16, 16)
    assert sum(fast(tg.randn(32, 16), w).item() for _ in range(5)) > 0


CLEAN: dict[str, Callable[[], None]] = {
    "classifier on the CPU": classifier_on_cpu,
    "mixed precision on sim": mixed_precision_on_sim,
    "evaluation on sim": evaluate_on_sim,
    "accumulated gradients": accumulated_gradients,
    "transfer learning": transfer_learning,
    "character LSTM": character_lstm,
    "transformer with F.scaled_dot_product_attention": transformer_with_sdpa,
    "autoregressive sampling": autoregressive_sampling,
    "compiled training step": compiled_train_step,
    "variational inference": variational_inference,
    "GAN steps": gan_steps,
    "regression with LBFGS": regression_with_lbfgs,
    "Newton steps": newton_and_curvature,
    "gradient penalty": gradient_penalty,
    "images with batch norm": images_with_batch_norm,
    "a teacher that follows": ema_teacher,
    "k-means": k_means,
    "Q-learning": q_learning,
    "checkpoints and bfloat16": checkpointed_bfloat16,
    "loss of a test set": loss_of_a_test_set,
    "policy rollout": policy_rollout,
    "deep MLP moved to sim": deep_mlp_moved_to_sim,
    "Jacobian row by row": jacobian_row_by_row,
    "projection with einsum": projection_with_einsum,
    "batch norm estimated anew": batch_norm_estimated_anew,
    "log of zero": log_of_zero,
    "compiled loss": compiled_loss,
}
