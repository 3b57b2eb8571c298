"""Everyday programs, written once: each is given PyTorch or this package, and returns what it found."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np


def data(*shape: int, dtype: str = "float32", seed: int = 0) -> Any:
    return np.random.default_rng([seed, *shape]).normal(size=shape).astype(dtype)


def labels(classes: int, *shape: int, seed: int = 0) -> Any:
    return np.random.default_rng([seed, classes, *shape]).integers(0, classes, shape)


def name_of(dtype: Any) -> str:
    return str(dtype).removeprefix("torch.")


# Models fitted by hand -----------------------------------------------------------------------------------------


def linear_regression(torch: Any) -> Any:
    x = torch.from_numpy(data(40, 3))
    true = torch.tensor([[1.5], [-2.0], [0.5]])
    y = x @ true + 0.3
    w = torch.zeros(3, 1, requires_grad=True)
    b = torch.zeros(1, requires_grad=True)
    history = []
    for _ in range(20):
        loss = ((x @ w + b - y) ** 2).mean()
        loss.backward()
        with torch.no_grad():
            w -= 0.1 * w.grad
            b -= 0.1 * b.grad
            w.grad.zero_()
            b.grad.zero_()
        history.append(loss.item())
    return history, w, b, w.grad


def logistic_regression_through_data(torch: Any) -> Any:
    x = torch.tensor(data(30, 2))
    y = (x[:, 0] + x[:, 1] > 0).float()
    w = torch.randn(2, requires_grad=True)
    w.data.fill_(0.0)
    for _ in range(10):
        p = torch.sigmoid(x @ w)
        loss = -(y * torch.log(p + 1e-7) + (1 - y) * torch.log(1 - p + 1e-7)).mean()
        if w.grad is not None:
            w.grad.zero_()
        loss.backward()
        w.data -= 0.5 * w.grad
        w.data = w.data * 0.99
    accuracy = ((torch.sigmoid(x @ w) > 0.5) == y.bool()).float().mean()
    return loss, w, accuracy, w.is_leaf


def softmax_regression_with_manual_gradients(torch: Any) -> Any:
    x = torch.tensor(data(12, 5))
    y = torch.tensor(labels(3, 12))
    W = torch.zeros((5, 3), dtype=torch.float32)
    b = torch.zeros(3)
    for _ in range(5):
        logits = x.mm(W) + b
        logits = logits - logits.max(dim=1, keepdim=True).values
        p = logits.exp() / logits.exp().sum(1, keepdim=True)
        loss = -p[torch.arange(12), y].log().mean()
        d = p.clone()
        d[range(12), y] -= 1
        d /= len(x)
        W -= 1.0 * x.t() @ d
        b -= d.sum(0)
    return loss, W, b, p.argmax(-1), (p.argmax(1) == y).sum().item()


def adam_by_hand(torch: Any) -> Any:
    p = torch.tensor([1.0, -3.0, 2.0], requires_grad=True)
    m, s = torch.zeros_like(p), torch.zeros_like(p)
    for t in range(1, 6):
        (p**4).sum().backward()
        with torch.no_grad():
            m.lerp_(p.grad, 0.1)
            s.mul_(0.999).addcmul_(p.grad, p.grad, value=1e-3)
            p.addcdiv_(m / (1 - 0.9**t), (s / (1 - 0.999**t)).sqrt().add_(1e-8), value=-0.1)
        p.grad.zero_()
    return p, m, s


def kmeans(torch: Any) -> Any:
    x = torch.from_numpy(data(50, 2, dtype="float64"))
    c = x[:4].clone()
    for _ in range(6):
        distance = ((x[:, None] - c[None]) ** 2).sum(-1).sqrt()
        nearest = distance.argmin(dim=1)
        for k in range(4):
            if (nearest == k).any():
                c[k] = x[nearest == k].mean(0)
    counts = [int((nearest == k).sum()) for k in range(4)]
    return c, nearest, counts, distance.min(1)[0].mean()


# Sequences -----------------------------------------------------------------------------------------------------


def causal_attention(torch: Any) -> Any:
    B, T, H, D = 2, 5, 2, 4
    x = torch.tensor(data(B, T, H * D), requires_grad=True)
    W = torch.tensor(data(H * D, 3 * H * D))
    q, k, v = (x @ W).split(H * D, dim=2)
    q, k, v = (z.view(B, T, H, D).transpose(1, 2) for z in (q, k, v))
    s = q @ k.transpose(-2, -1) / D**0.5
    mask = torch.tril(torch.ones(T, T)).view(1, 1, T, T)
    s = s.masked_fill(mask == 0, float("-inf"))
    p = torch.nn.functional.softmax(s, dim=-1)
    y = (p @ v).transpose(1, 2).contiguous().view(B, T, H * D)
    y.square().mean().backward()
    same = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    e = torch.einsum("bhtd,bhsd->bhts", q, k)
    return p, y, x.grad, same, e, torch.allclose(same.transpose(1, 2).reshape(B, T, -1), y, atol=1e-5)


def beam_search(torch: Any) -> Any:
    logp = torch.log_softmax(torch.tensor(data(3, 4, 6)), dim=-1)
    scores, beams = torch.zeros(1), torch.zeros(1, 0, dtype=torch.long)
    for t in range(3):
        total = scores[:, None] + logp[t, : len(scores)]
        scores, flat = total.flatten().topk(3)
        parent, token = flat // 6, flat % 6
        beams = torch.cat([beams[parent], token[:, None]], dim=1)
    parent2 = torch.div(flat, 6, rounding_mode="floor")
    return scores, beams, beams.tolist(), parent2


def top_k_and_nucleus(torch: Any) -> Any:
    logits = torch.tensor(data(2, 8)) / 0.7
    v, _ = torch.topk(logits, 3)
    logits[logits < v[:, [-1]]] = -float("Inf")
    p = torch.softmax(logits, -1)
    sp, si = torch.sort(p, descending=True, dim=-1)
    cum = sp.cumsum(-1)
    keep = cum - sp < 0.8
    nucleus = torch.zeros_like(p).scatter_(1, si, sp * keep)
    nxt = torch.multinomial(torch.tensor([[0.0, 1.0], [1.0, 0.0]]), num_samples=1)
    return p, cum, keep, nucleus / nucleus.sum(-1, keepdim=True), nxt, p.argmax(-1, keepdim=True)


def bigram_counts(torch: Any) -> Any:
    words = ["emma", "ava", "mia"]
    chars = sorted(set("".join(words)))
    stoi = {s: i + 1 for i, s in enumerate(chars)}
    stoi["."] = 0
    N = torch.zeros((len(stoi), len(stoi)), dtype=torch.int32)
    xs = []
    for w in words:
        cs = [".", *w, "."]
        for a, b in itertools.pairwise(cs):
            N[stoi[a], stoi[b]] += 1
            xs.append((stoi[a], stoi[b]))
    P = (N + 1).float()
    P /= P.sum(1, keepdim=True)
    nll = 0.0
    for a, b in xs:
        nll += -torch.log(P[a, b])
    t = torch.tensor(xs)
    oh = torch.nn.functional.one_hot(t[:, 0], num_classes=len(stoi)).float()
    return N, P, nll, nll.item() / len(xs), oh, P[0].sum().item(), N[0, 1].item()


def embedding_with_padding(torch: Any) -> Any:
    F = torch.nn.functional
    table = torch.tensor(data(7, 3), requires_grad=True)
    idx = torch.tensor([[1, 2, 0], [2, 0, 0]])
    e = F.embedding(idx, table, padding_idx=0)
    e2 = table[idx]
    (e.sum() + (e2**2).sum()).backward()
    bag = (e * (idx != 0)[..., None]).sum(1) / (idx != 0).sum(1)[:, None]
    return e, table.grad, bag, e.shape


# Images and layers ---------------------------------------------------------------------------------------------


def convolution_through_windows(torch: Any) -> Any:
    F = torch.nn.functional
    x = torch.tensor(data(2, 3, 6, 6, dtype="float64"), requires_grad=True)  # the first gradient is all rounding
    w = torch.tensor(data(4, 3, 3, 3, dtype="float64"), requires_grad=True)
    win = x.unfold(2, 3, 1).unfold(3, 3, 1)
    y = torch.einsum("nchwij,fcij->nfhw", win, w)
    z = F.conv2d(x, w)
    (y - z.detach()).pow(2).sum().backward()
    z.tanh().sum().backward()
    return win.shape, y, z, x.grad, w.grad


def image_tricks(torch: Any) -> Any:
    img = torch.tensor(data(3, 4, 6))
    hwc = img.permute(1, 2, 0)
    gray = (img * torch.tensor([0.299, 0.587, 0.114]).view(3, 1, 1)).sum(0)
    u8 = ((img - img.min()) / (img.max() - img.min()) * 255).round().to(torch.uint8)
    patches = img.reshape(3, 2, 2, 3, 2).permute(1, 3, 0, 2, 4).flatten(2)
    norm = (img - img.mean((1, 2), keepdim=True)) / img.std(dim=(1, 2), keepdim=True)
    up = img.repeat_interleave(2, dim=1).repeat_interleave(2, dim=2)
    return (
        img.flip(-1), torch.roll(img, shifts=(1, -1), dims=(1, 2)), img[:, 1:-1, 1:-1], img[..., ::2],
        hwc.is_contiguous(), hwc.stride(), gray, u8, u8.dtype, patches, norm, up, torch.flip(img, [1, 2]),
        img.transpose(1, 2).flip(1),
    )  # fmt: skip


def batch_norm_by_hand(torch: Any) -> Any:
    F = torch.nn.functional
    x = torch.tensor(data(6, 3), requires_grad=True)
    g = torch.ones(3, requires_grad=True)
    b = torch.zeros(3, requires_grad=True)
    rm, rv = torch.zeros(3), torch.ones(3)
    mu = x.mean(0)
    var = x.var(0, unbiased=False)
    y = g * (x - mu) / torch.sqrt(var + 1e-5) + b
    with torch.no_grad():
        rm = 0.9 * rm + 0.1 * mu
        rv = 0.9 * rv + 0.1 * x.var(0)
    rm2, rv2 = torch.zeros(3), torch.ones(3)
    y2 = F.batch_norm(x, rm2, rv2, g, b, training=True)
    (y**3).sum().backward()
    g1 = x.grad.clone()
    x.grad = None
    (y2**3).sum().backward()
    return y, y2, g1, x.grad, g.grad, rm, rm2, rv, rv2, F.batch_norm(x, rm, rv)


# Reading and writing by index ----------------------------------------------------------------------------------


def one_hot_rows(torch: Any) -> Any:
    y = torch.tensor([2, 0, 1, 2])
    a = torch.zeros(4, 3).scatter_(1, y.unsqueeze(1), 1)
    b = torch.eye(3)[y]
    c = (y[:, None] == torch.arange(3)).float()
    counts = torch.zeros(3).index_add_(0, y, torch.ones(4))
    counts2 = torch.zeros(3, dtype=torch.long).scatter_add_(0, y, torch.ones_like(y))
    smooth = torch.full((4, 3), 0.1 / 2).scatter(1, y[:, None], 0.9)
    d = torch.nn.functional.one_hot(y)
    return a, b, torch.equal(a, b), c, counts, counts2, smooth, d, d.dtype


def q_learning(torch: Any) -> Any:
    F = torch.nn.functional
    q = torch.tensor(data(5, 3), requires_grad=True)
    qn = torch.tensor(data(5, 3, seed=1))
    act = torch.tensor([0, 2, 1, 1, 0])
    rew = torch.tensor([1.0, 0, 0, -1, 2])
    done = torch.tensor([False, False, True, False, True])
    qa = q.gather(1, act.unsqueeze(1)).squeeze(1)
    with torch.no_grad():
        target = rew + 0.9 * qn.max(1)[0] * (~done)
        t2 = rew + 0.9 * qn.max(dim=1).values * (1 - done.float())
        double = qn.gather(1, q.argmax(1, keepdim=True)).squeeze()
    loss = F.smooth_l1_loss(qa, target)
    loss.backward()
    return qa, target, t2, loss, q.grad, double


def masks(torch: Any) -> Any:
    x = torch.tensor(data(4, 5))
    y = x.clone()
    y[y < 0] = 0
    z = x.clone()
    z[0] = torch.arange(5)
    z[:, [0, 2]] = z[:, [2, 0]]
    z[1:3, -1] += 10
    z[x > 1] *= 2
    z[[0, 3], [1, 1]] = torch.tensor([7.0, 8.0])
    z[..., 3] = -1
    z[2] = torch.where(z[2] > 0, z[2], torch.tensor(0.0))
    z[3, None, 2:4].mul_(2)
    m = (x > 0) & (x < 1) | (x == x.max())
    n = ~m ^ (x < -1)
    return (
        y, z, x[x > 0], x[m].shape, m.sum(), n, m.any(1), m.all(), torch.where(x > 0),
        x[:, torch.tensor([True, False, True, False, True])], torch.nonzero(m), x[m.any(1)], (x > 0).float().mean(),
        x[x > 100], torch.masked_select(x, m), x[torch.tensor([0, -1])],
    )  # fmt: skip


def kinds_of_index(torch: Any) -> Any:
    x = torch.arange(12).view(3, 4)
    i = torch.tensor(1)
    return (
        x[i], x[i, i], x[-1], x[..., -1], x[1:, ::2], x[None, :, None].shape, x[:, i], x[i:], x[[0, 2]], x[(0, 2)],
        x[0:0].shape, x[True].shape, x[x % 2 == 0], x[:, [True, False, True, False]], x[np.array([0, 1])], x[range(2)],
        x[torch.tensor([[0, 1], [1, 2]])].shape,
    )  # fmt: skip


def assignment_by_index(torch: Any) -> Any:
    x = torch.zeros(3, 4)
    x[torch.arange(3), torch.tensor([0, 2, 1])] = 1
    x[:, -1] = torch.tensor([5, 6, 7])
    x[[0, 1]] += 10
    x[torch.tensor([0, 0])] += 1
    x.index_put_((torch.tensor([2, 2]), torch.tensor([0, 0])), torch.tensor([1.0, 1.0]), accumulate=True)
    x[0, 1:3] = torch.tensor([[8.0, 9.0]])
    x[x == 11] = -1
    return x


def gradients_through_writes(torch: Any) -> Any:
    x = torch.tensor(data(3), requires_grad=True)
    out = torch.zeros(2, 3)
    out[0] = x * 2
    out[1, 1:] = x[:2] ** 2
    out[1, 0] += x[2]
    out.sum().backward()
    return out, x.grad, out.requires_grad


# Shapes, orders and counts -------------------------------------------------------------------------------------


def tensor_puzzles(torch: Any) -> Any:
    a, b = torch.tensor([1, 2, 3]), torch.tensor([10, 20])
    outer = a[:, None] * b
    eye = torch.where(torch.arange(4)[:, None] == torch.arange(4), 1, 0)
    triu = torch.where(torch.arange(4)[:, None] <= torch.arange(4), 1, 0)
    cumsum = torch.arange(5) @ torch.where(torch.arange(5)[:, None] <= torch.arange(5), 1, 0)
    diff = a - torch.where(torch.arange(3) == 0, 0, a[torch.arange(3) - 1])
    roll = a[(torch.arange(3) + 1) % 3]
    flip = a[torch.arange(3 - 1, -1, -1)]
    compress = torch.tensor([True, False, True]).long() @ torch.eye(3, dtype=torch.long)
    vstack = torch.where(torch.arange(2)[:, None] == 0, a, a * 2)
    bucket = (a[:, None] >= torch.tensor([0, 2, 3])[None]).sum(1) - 1
    return torch.where(torch.arange(3) > -1, 1, 0), outer, eye, triu, cumsum, diff, roll, flip, compress, vstack, bucket


def broadcasting(torch: Any) -> Any:
    x = torch.arange(6).view(2, 3)
    y = torch.arange(2.0).unsqueeze(-1)
    d = torch.tensor(data(3, 2))
    e = torch.tensor(data(4, 2))
    dist = ((d.unsqueeze(1) - e.unsqueeze(0)) ** 2).sum(2)
    dist2 = (d**2).sum(1, keepdim=True) - 2 * d @ e.T + (e**2).sum(1)
    p, q = torch.broadcast_tensors(x, torch.tensor([[1], [2]]))
    return (
        x + y, (x + y).dtype, dist, torch.allclose(dist, dist2, atol=1e-5), p, q, y.expand(2, 3).stride(),
        y.expand(-1, 4), x.expand(4, 2, 3).shape, x * x.new_tensor([1, 2, 3]),
        torch.ones(5, 1, 4).add(torch.ones(3, 1)).shape,
    )  # fmt: skip


def views_share_memory(torch: Any) -> Any:
    x = torch.zeros(2, 3)
    v = x.view(6)
    v[0] = 1
    x[1].fill_(2)
    x.T[2, 0] = 9
    y = x.reshape(3, 2)
    y += 1
    r = x.flatten()
    z = x[:, ::2]
    z.add_(100)
    d = x.detach()
    d[0, 0] = -1
    return (
        x, v, r.data_ptr() == x.data_ptr(), z, z.is_contiguous(), z.stride(), x.t().contiguous().stride(),
        z.storage_offset(), x[1:].storage_offset(), x.clone().data_ptr() == x.data_ptr(), x.view(-1, 2).shape,
        x.squeeze().shape, x[None].shape, x.unsqueeze(-1).shape, torch.zeros(1, 2, 1).squeeze(0).shape,
        x.unflatten(1, (3, 1)).shape,
    )  # fmt: skip


def counting(torch: Any) -> Any:
    x = torch.tensor(data(100))
    edges = torch.linspace(-3, 3, 7)
    bins = ((x[:, None] >= edges[:-1]) & (x[:, None] < edges[1:])).sum(0)
    idx = ((x + 3) / 6 * 6).clamp(0, 5).long()
    h = torch.zeros(6, dtype=torch.long).index_add_(0, idx, torch.ones_like(idx))
    conf = torch.zeros(3, 3, dtype=torch.int64)
    t, p = torch.tensor(labels(3, 20)), torch.tensor(labels(3, 20, seed=1))
    for a, b in zip(t, p, strict=True):
        conf[a, b] += 1
    conf2 = torch.zeros(9, dtype=torch.long).scatter_add(0, t * 3 + p, torch.ones(20, dtype=torch.long)).view(3, 3)
    return edges, bins, h, conf, torch.equal(conf, conf2), conf.diagonal().sum() / conf.sum(), conf.diag() / conf.sum(1)


# Gradients -----------------------------------------------------------------------------------------------------


def hooks(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    seen = []
    y = x * 3
    h = y.register_hook(lambda g: g * 2)
    y.register_hook(lambda g: seen.append(g.clone()))
    y.retain_grad()
    (y**2).sum().backward()
    h.remove()
    return x.grad, y.grad, seen, x.is_leaf, y.is_leaf, x.grad_fn is None, y.grad_fn is None, y.requires_grad


def straight_through(torch: Any) -> Any:
    x = torch.tensor([0.2, 0.7, 1.6], requires_grad=True)
    q = x + (x.round() - x).detach()
    (q * torch.tensor([1.0, 2.0, 3.0])).sum().backward()
    soft = torch.softmax(x, 0)
    hard = torch.zeros_like(soft).scatter_(0, soft.argmax(0, keepdim=True), 1.0)
    y = hard - soft.detach() + soft
    y[0].backward()
    return q, x.grad, y, q.detach().requires_grad


def custom_function(torch: Any) -> Any:
    class Exp(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, scale):
            y = (x * scale).exp()
            ctx.save_for_backward(y)
            ctx.scale = scale
            return y

        @staticmethod
        def backward(ctx, g):
            (y,) = ctx.saved_tensors
            return g * y * ctx.scale, None

    class Rounded(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.round()

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx, g):
            return g.clone()

    x = torch.tensor(data(4, dtype="float64"), requires_grad=True)
    y = Exp.apply(x, 0.5)
    y.sum().backward()
    once = torch.autograd.grad((Rounded.apply(x) * x).sum(), x, create_graph=True)
    again = torch.autograd.grad(Rounded.apply(x).sum(), x, create_graph=True)
    return y, x.grad, torch.autograd.gradcheck(lambda t: Exp.apply(t, 0.5), (x,)), once, again


def gradient_penalty(torch: Any) -> Any:
    w = torch.tensor(data(3, 4), requires_grad=True)
    v = torch.tensor(data(4), requires_grad=True)
    x = torch.tensor(data(5, 3), requires_grad=True)
    score = torch.tanh(x @ w) @ v
    (g,) = torch.autograd.grad(score.sum(), x, create_graph=True)
    gp = ((g.norm(2, dim=1) - 1) ** 2).mean()
    (score.mean() + 10 * gp).backward()
    return score, g, gp, w.grad, v.grad


def hessian_vector_product(torch: Any) -> Any:
    A = torch.tensor(data(4, 4, dtype="float64"))
    x = torch.tensor(data(4, dtype="float64"), requires_grad=True)
    v = torch.ones(4, dtype=torch.float64)
    (g,) = torch.autograd.grad(x @ A @ x + x.sin().sum(), [x], create_graph=True)
    (hv,) = torch.autograd.grad(g, x, grad_outputs=v, retain_graph=True)
    H = torch.stack([torch.autograd.grad(gi, x, retain_graph=True)[0] for gi in g])
    return hv, H, torch.allclose(H @ v, hv)


def ways_to_say_no_grad(torch: Any) -> Any:
    w = torch.ones(2, requires_grad=True)

    @torch.no_grad()
    def evaluate():
        return (w * 2).requires_grad

    @torch.inference_mode()
    def infer():
        return (w * 2).requires_grad

    with torch.set_grad_enabled(False):
        a = (w * 2).requires_grad
    with torch.no_grad():
        b = w * 3
        with torch.enable_grad():
            c = w * 3
    return (
        evaluate(), infer(), a, b.requires_grad, c.requires_grad, torch.is_grad_enabled(), w.detach().requires_grad,
        (w.data * 2).requires_grad,
    )  # fmt: skip


def reparametrisation(torch: Any) -> Any:
    mu = torch.tensor(data(3, 2), requires_grad=True)
    lv = torch.tensor(data(3, 2, seed=1), requires_grad=True)
    eps = torch.tensor(data(3, 2, seed=2))
    z = mu + eps * torch.exp(0.5 * lv)
    kl = -0.5 * torch.sum(1 + lv - mu.pow(2) - lv.exp())
    (z.sum() + kl).backward()
    return z, kl, mu.grad, lv.grad


# Dtypes, and Python around tensors -----------------------------------------------------------------------------


def division(torch: Any) -> Any:
    a = torch.tensor([7, -7, 7, -7])
    b = torch.tensor([2, 2, -2, -2])
    f = a / 2
    return (
        a // b, a % b, torch.div(a, b, rounding_mode="trunc"), torch.div(a, b, rounding_mode="floor"),
        torch.remainder(a, 3), f // 1, f % 1, a // 2.0, f.floor().long(), f.int(), f.round(), torch.floor_divide(a, 2),
        a.float() % 3, -7 // b,
    )  # fmt: skip


def sixteen_bits(torch: Any) -> Any:
    h = torch.tensor([1.1, 2.2], dtype=torch.float16)
    b = torch.tensor([1.1, 2.2], dtype=torch.bfloat16)
    return (
        h * h, h.sum(), b / 3, b @ b, h.mean(), h + 1e4, b.exp(), torch.softmax(b, 0), h.to(torch.float32), b.tolist(),
        h[0].item(), h.max(),
    )  # fmt: skip


def nan_and_inf(torch: Any) -> Any:
    x = torch.tensor([1.0, float("nan"), float("inf")])
    return (
        x.isnan(), torch.isfinite(x), x[~torch.isnan(x)], x.max(), x.isnan().any().item(), x == x, torch.isinf(x).sum(),
        x.sum(), torch.where(torch.isnan(x), torch.zeros_like(x), x), x.argmax(), x.sort()[0],
    )  # fmt: skip


def tensors_from_anything(torch: Any) -> Any:
    return (
        torch.tensor(3), torch.tensor(3.0), torch.tensor(True), torch.tensor([[1, 2], [3, 4]]), torch.tensor([1, 2.5]),
        torch.tensor([True, False]), torch.tensor(np.arange(3)), torch.tensor(np.float64(2.5)),
        torch.tensor(np.ones((2, 2), dtype="f4")), torch.tensor([]), torch.tensor([[]]).shape,
        torch.tensor((1, 2), dtype=torch.float), torch.tensor(range(3)), torch.as_tensor([1, 2]),
        torch.tensor([np.float32(1), np.float32(2)]), torch.zeros(2, 3), torch.ones((2,)), torch.full((2,), 7),
        torch.full((2,), 7.0), torch.full((2,), True), torch.zeros_like(torch.ones(2, dtype=torch.int)), torch.eye(2),
        torch.empty(0, 3).shape, torch.zeros(()), torch.tensor([1], dtype=torch.uint8), torch.tensor(1e10).long(),
        torch.tensor([10**10]), torch.arange(2, 8, 3), torch.ones(2, dtype=bool), torch.ones(2, dtype=int).dtype,
    )  # fmt: skip


def numpy_bridge(torch: Any) -> Any:
    a = np.zeros(3, dtype="float32")
    t = torch.from_numpy(a)
    a[0] = 5
    t[1] = 7
    n = t.numpy()
    n[2] = 9
    c = torch.tensor(a)
    a[0] = -1
    g = torch.ones(2, requires_grad=True)
    s = torch.as_tensor(a)
    return (
        t, a, c, g.detach().numpy(), np.sqrt(torch.tensor([4.0]).numpy()), s, torch.arange(3).numpy().dtype,
        t.cpu().numpy().sum(),
    )  # fmt: skip


def python_protocols(torch: Any) -> Any:
    x = torch.tensor([[1, 2, 3], [4, 5, 6]])
    s = torch.tensor(2.5)
    a, b = x
    rows, columns = x.shape
    h, *rest = x.size()
    return (
        len(x), [row.sum().item() for row in x], a, b, rows, columns, h, rest, x.shape == (2, 3), x.shape[0],
        x.shape[-1], x.size(), x.size(1), x.size(dim=0), x.numel(), x.ndim, x.dim(), 3 in x, 9 in x, bool(s), float(s),
        int(s), round(s.item(), 1), x.tolist(), s.tolist(), s.item(), type(x[0, 0].item()).__name__,
        list(torch.arange(3)), [10, 20, 30][torch.tensor(1)], list(range(torch.tensor(3))), x.shape[1:], tuple(x.shape),
        torch.zeros(x.shape).shape == x.shape, torch.zeros(*x.shape), x.reshape(-1).shape, isinstance(x, torch.Tensor),
        torch.is_tensor(x), sum(x), max(torch.tensor([1, 3, 2])), sorted(torch.tensor([3, 1, 2])), (*x.shape, 4),
        len(x.shape), list(x.shape), sum(x.shape), x.T.shape, abs(-s), bool(torch.tensor([0])), x.dtype == torch.int64,
        x.dtype, str(x.device), s > 2 and s < 3, s.shape, math.sqrt(s), s**2, int(torch.tensor(3)).bit_length(),
    )  # fmt: skip


def old_types(torch: Any) -> Any:
    names = "Byte Char Short Int Long Half Float Double Bool BFloat16".split()
    types = [getattr(torch, f"{name}Tensor") for name in names]
    x = torch.ones(2, 3, requires_grad=True)
    wide = data(4, dtype="float64")
    shared = torch.DoubleTensor(wide)
    wide[0] = 7.0
    noise = torch.FloatTensor(x.size()).normal_()
    return (
        [kind([0, 1]) for kind in types],
        [torch.zeros(2).type(kind) for kind in types],
        [torch.zeros(2).type(kind).type() for kind in types],
        [[isinstance(torch.zeros(1).type(a), b) for a in types] for b in types],
        [kind.dtype for kind in types],
        [torch.LongTensor([1.5, -2.5]), torch.LongTensor(labels(4, 3).astype(np.int32)), torch.FloatTensor(wide)],
        [torch.LongTensor(), torch.FloatTensor([]), torch.LongTensor(range(3)), torch.IntTensor(((1, 2), (3, 4)))],
        [tuple(made.shape) for made in (torch.LongTensor(2, 3), torch.FloatTensor(np.int64(3)), noise)],
        [tuple(torch.FloatTensor(size=(2, 2)).shape), tuple(torch.Tensor(x.size()).shape)],
        shared,
        torch.FloatTensor(x * 2),
        x.type("torch.DoubleTensor"),
    )


def old_variables(torch: Any) -> Any:
    variable = torch.autograd.Variable
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 3
    again, leaf = variable(y), variable(y, requires_grad=True)
    (leaf**2).sum().backward()
    again[0] = 5.0
    return again, leaf, leaf.grad, y, x.grad, isinstance(x, variable), isinstance(1, variable)


def gradients_of_every_parameter(torch: Any) -> Any:
    model = torch.nn.Linear(3, 2)
    for p in model.parameters():
        p.data.fill_(0.5)
    x = torch.from_numpy(data(4, 3))
    named = dict(model.named_parameters())
    first = torch.autograd.grad(model(x).sum(), model.parameters())
    second = torch.autograd.grad(iter([model(x).sum()]), named.values(), create_graph=True)
    unused = torch.zeros(2, requires_grad=True)
    y = torch.ones(2, requires_grad=True)
    third = torch.autograd.grad(
        outputs=(y * 2).sum(), inputs=[y, unused], only_inputs=True, create_graph=True, materialize_grads=True
    )
    return first, second, third


def derivatives_of_functions(torch: Any) -> Any:
    functional = torch.autograd.functional
    x = torch.from_numpy(data(3, dtype="float64")).requires_grad_()
    w, v = torch.from_numpy(data(2, 3, dtype="float64")), torch.from_numpy(data(2, dtype="float64"))

    def two(x: Any, w: Any) -> Any:
        return w @ x.sin(), (x * w).sum(), x.detach() * 2

    def number(x: Any) -> Any:
        return (x**3).sum() * x[0]

    def numbers(x: Any, w: Any) -> Any:
        return (w * x.exp()).sum(dim=(0, 1), keepdim=True)

    with torch.no_grad():
        plain = [functional.jacobian(torch.exp, x), functional.hessian(number, x), functional.jacobian(two, (x, w))]
    deeper = functional.jacobian(torch.exp, x, create_graph=True)
    deeper.sum().backward()
    return (
        plain,
        deeper,
        x.grad,
        functional.jacobian(lambda x: torch.ones(2), x),
        functional.jacobian(lambda x: w @ x, x, vectorize=True),
        functional.hessian(numbers, (x, w)),
        functional.hessian(number, x, create_graph=True).sum(),
        functional.vjp(lambda x: w @ x.sin(), x, v),
        functional.vjp(number, (x,)),
        functional.jvp(two, (x, w), (x, w)),
        functional.jvp(lambda x: w @ x.sin(), x, x.detach(), create_graph=True),
        functional.hvp(number, x, x.detach()),
        functional.vhp(numbers, (x, w), (x.detach(), w), create_graph=True),
        functional.hvp(lambda x: x.sum(), x[0], torch.tensor(1.0, dtype=torch.float64)),
    )


PROGRAMS: list[Callable[..., Any]] = [
    linear_regression, logistic_regression_through_data, softmax_regression_with_manual_gradients, adam_by_hand,
    kmeans, causal_attention, beam_search, top_k_and_nucleus, bigram_counts, embedding_with_padding,
    convolution_through_windows, image_tricks, batch_norm_by_hand, one_hot_rows, q_learning, masks, kinds_of_index,
    assignment_by_index, gradients_through_writes, tensor_puzzles, broadcasting, views_share_memory, counting,
    hooks, straight_through, custom_function, gradient_penalty, hessian_vector_product, ways_to_say_no_grad,
    reparametrisation, division, sixteen_bits, nan_and_inf, tensors_from_anything, numpy_bridge, python_protocols,
    old_types, old_variables, derivatives_of_functions, gradients_of_every_parameter,
]  # fmt: skip
