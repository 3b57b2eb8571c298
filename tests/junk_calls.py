"""One valid call of every public callable, as text, so that each argument can be replaced by junk.

The names in the calls are those of `VALUES`. A module's call stands behind its constructor.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np

import tinygrad_edu as tg
import tinygrad_edu.observe.memory
from tinygrad_edu import (
    autograd,
    data,
    distributions,
    guard,
    linalg,
    metrics,
    nn,
    observe,
    optim,
    profiler,
    settings,
    training,
)
from tinygrad_edu.utils import checkpoint


def _optimizer() -> optim.Optimizer:
    return optim.SGD([tg.ones(2, 3, requires_grad=True)], lr=0.1, momentum=0.5)


def _schedulers(optimizer: optim.Optimizer) -> list[Any]:
    return [optim.lr_scheduler.ConstantLR(optimizer), optim.lr_scheduler.ExponentialLR(optimizer, 0.9)]


def _leaf() -> Any:
    return tg.ones(2, 3, requires_grad=True)


# What the calls speak of, made anew for each call: some write to it.
VALUES: dict[str, Callable[[], Any]] = {
    "x": lambda: tg.full((2, 3), 0.25), "y": lambda: tg.full((2, 3), 1.5), "z": lambda: tg.full((2, 3), 2.5),
    "leaf": _leaf, "grown": lambda: _leaf() * 2, "total": lambda: _leaf().sum(), "one": lambda: tg.tensor(1.5),
    "square": lambda: tg.eye(3), "tall": lambda: tg.ones(3, 2), "v": lambda: tg.ones(3),
    "mask": lambda: tg.tensor([[True, False, True], [False, True, True]]),
    "ints": lambda: tg.tensor([[0, 1, 1], [1, 0, 1]]), "places": lambda: tg.tensor([0, 1]),
    "labels": lambda: tg.tensor([0, 2]), "signs": lambda: tg.tensor([1.0, -1.0]),
    "cube": lambda: tg.ones(2, 2, 3), "cube2": lambda: tg.ones(2, 3, 2), "image": lambda: tg.ones(1, 2, 4, 4),
    "song": lambda: tg.ones(1, 2, 6), "solid": lambda: tg.ones(1, 2, 3, 3, 3), "pair": lambda: tg.ones(2, 3, 3),
    "words": lambda: tg.ones(2, 1, 4), "stream": tg.backends.CPU.stream, "array": lambda: np.ones((2, 3)),
    "model": lambda: nn.Sequential(nn.Linear(3, 3), nn.ReLU()), "optimizer": _optimizer,
    "conv": lambda: nn.Conv2d(3, 4, 2), "norm": lambda: nn.BatchNorm2d(4), "norm1": lambda: nn.BatchNorm1d(2),
    "layer": lambda: nn.Linear(3, 2), "schedulers": lambda: _schedulers,
    "loader": lambda: [(tg.ones(2, 3), tg.ones(2, 3))],
    "table": lambda: data.TensorDataset(tg.ones(2, 3), tg.ones(2, 3)),
    "g": tg.Generator, "order": lambda: tg.contiguous_format,
    "double": lambda: tg.ones(2, 3, dtype="float64", requires_grad=True),
    "traced": lambda: tg.jit.trace(tg.exp, tg.ones(2)),
    "folder": lambda: data.draw_images(os.path.join(tempfile.gettempdir(), "tinygrad_edu-junk"), 3, 8).root,
    "path": lambda: os.path.join(tempfile.gettempdir(), "tinygrad_edu-junk.safetensors"),
}  # fmt: skip
MODULES_BY_NAME: dict[str, Any] = {
    "tg": tg, "amp": tg.amp, "nn": nn, "F": nn.functional, "init": nn.init, "utils": nn.utils, "optim": optim,
    "lrs": optim.lr_scheduler, "data": data, "metrics": metrics, "autograd": autograd,
    "functional": autograd.functional, "training": training, "jit": tg.jit,
    "observe": observe, "settings": settings, "guard": guard,
    "memory": observe.memory, "profiler": profiler, "checkpointing": checkpoint,
    "rnn": nn.utils.rnn, "dist": distributions, "linalg": linalg, "attention": nn.attention,
}  # fmt: skip


# Functions of tensors. Where the first argument is a tensor, and `Tensor` has a method of the name, or a twin in place,
# the same call serves these.
FUNCTIONS = """
abs(x)  ceil(x)  clone(x, memory_format=order)
cos(x)  erf(x)  exp(x)  expm1(x)  floor(x)  isfinite(x)  isinf(x)  isnan(x)  log(x)
log1p(x)  log2(x)  neg(x)  positive(x)  reciprocal(x)  relu(x)  rsqrt(x)  sigmoid(x)  sign(x)  sin(x)  sqrt(x)
square(x)  tan(x)  tanh(x)  asin(x)  acos(x)  atan(x)  atan2(x, y)  sinh(x)  cosh(x)  asinh(x)  acosh(y)  atanh(x)
hypot(x, y)  exp2(x)  log10(x)  trunc(x)  fmod(x, y)  erfc(x)  logit(x, 0.1)  xlogy(x, y)  logaddexp(x, y)
logaddexp2(x, y)  lgamma(x)  digamma(x)  nan_to_num(x, 0.0, 1.0, -1.0)
logical_not(x)  bitwise_not(ints)  t(x)  ravel(x)  numel(x)  is_floating_point(x)
is_tensor(x)  argwhere(x)  round(x, decimals=1)  add(x, y, alpha=2)  sub(x, y, alpha=2)  mul(x, y)
div(x, y, rounding_mode="floor")  pow(x, 2)  floor_divide(x, y)  remainder(x, y)  maximum(x, y)  minimum(x, y)
eq(x, y)  ne(x, y)  lt(x, y)  le(x, y)  gt(x, y)  ge(x, y)  logical_and(x, y)  logical_or(x, y)  logical_xor(x, y)
bitwise_and(ints, ints)  bitwise_or(ints, ints)  bitwise_xor(ints, ints)  lerp(x, y, 0.5)  addcmul(x, y, z, value=2)
addcdiv(x, y, z, value=2)  allclose(x, y, 1e-5, 1e-8, False)  isclose(x, y, 1e-5, 1e-8, False)  equal(x, y)
clamp(x, 0.0, 1.0)  clamp_min(x, 0.0)  clamp_max(x, 1.0)  masked_fill(x, mask, 0.5)  masked_select(x, mask)
where(mask, x, y)  fill(x, 1.0)  all(x, 0, False)  any(x, 0, False)  amax(x, 0, False)  amin(x, 0, False)
argmax(x, 0, False)  argmin(x, 0, False)  argsort(x, 0, False, stable=False)  sum(x, 0, False, dtype="float64")
mean(x, 0, False, dtype="float64")  prod(x, 0, False, dtype="float64")  std(x, 0, correction=1)
var(x, 0, True, False)  norm(x, 2.0, 0, False, dtype="float64")  max(x, 0, False)  min(x, 0, False)
kthvalue(x, 1, 0, False)
median(x, 0, False)  sort(x, 0, False, stable=False)  topk(x, 2, 1, True, True)  unique(x, True, False, False, 0)
logsumexp(x, 0, False)  softmax(x, 0, dtype="float64")  log_softmax(x, 0, dtype="float64")
count_nonzero(x, 0)  std_mean(x, 0, correction=1)  var_mean(x, 0, True, False)  aminmax(x, dim=0, keepdim=False)
nansum(x, 0, False, dtype="float64")  nanmean(x, 0, False, dtype="float64")
quantile(x, 0.5, 0, False, interpolation="lower")  bincount(places, v[:2], 3)  cummax(x, 0)  cummin(x, 0)
diff(x, 1, 0, x, x)  isin(x, y, assume_unique=False, invert=True)
searchsorted(x, y, out_int32=False, right=False, side="left", sorter=None)
cumsum(x, 0, dtype="float64")  cumprod(x, 0, dtype="float64")  matmul(x, tall)  mm(x, tall)  bmm(cube, cube2)
mv(x, v)  dot(v, v)  outer(v, v)  einsum("ij,jk->ik", x, tall)  addmm(square, tall, x, beta=1, alpha=1)
cdist(x, y, 2.0, "")  reshape(x, 3, 2)  permute(x, 1, 0)  transpose(x, 0, 1)  squeeze(x, 0)  unsqueeze(x, 0)
flatten(x, 0, 1)  swapaxes(x, 0, 1)  movedim(x, 0, 1)  moveaxis(x, 0, 1)  broadcast_to(x, 2, 2, 3)
unflatten(x, 1, (3, 1))  cat([x, y], 0)  concat([x, y], 0)  stack([x, y], 0)  hstack([x, y])  vstack([x, y])
dstack([x, y])  broadcast_tensors(x, y)  meshgrid(v, v, indexing="ij")  chunk(x, 2, 0)  split(x, 1, 0)
split_with_sizes(x, [1, 1], 0)  unbind(x, 0)  narrow(x, 0, 0, 1)  select(x, 0, 1)  diagonal(x, 0, 0, 1)
as_strided(x, (2, 2), (1, 1), 0)  diag(x, 0)  flip(x, 0)  repeat_interleave(x, 2, 0, output_size=4)  roll(x, 1, 0)
diag_embed(x, 0, 0, 1)  rot90(x, 1, (0, 1))  fliplr(x)  flipud(x)  trace(x)  column_stack([x, y])  atleast_1d(x, y)
atleast_2d(x, y)  atleast_3d(x, y)  tensor_split(x, 2, 0)  tensordot(x, tall, 1)
baddbmm(pair, pair, pair, beta=1, alpha=2)  cross(x, y, 1)  kron(x, y)  inner(x, y)
tile(x, 2, 2)  tril(x, 0)  triu(x, 0)  gather(x, 0, ints)  scatter(x, 0, ints, 1.0)  scatter_add(x, 0, ints, y)
take_along_dim(x, ints, 0)  index_select(x, 0, places)  index_add(x, 0, places, y, alpha=1)
index_copy(x, 0, places, y)  index_fill(x, 0, places, 1.0)  index_put(x, (places,), y, False)
nonzero(x, as_tuple=False)  arange(0, 5, 1, dtype="int64", device="cpu", requires_grad=False)
linspace(0, 1, 5, dtype="float32", device="cpu")
logspace(0, 1, 5, 10.0, dtype="float32", device="cpu")  eye(3, 2, dtype="float32", device="cpu")
zeros(2, 3, dtype="float32", device="cpu", requires_grad=False)
ones(2, 3, dtype="float32", device="cpu", requires_grad=False)  empty(2, 3, dtype="float32", device="cpu")
full((2, 3), 1.0, dtype="float32", device="cpu", requires_grad=False)  zeros_like(x, dtype="float32", device="cpu")
ones_like(x, dtype="float32", device="cpu", requires_grad=False)
empty_like(x, dtype="float32", device="cpu", memory_format=order)
full_like(x, 1.0, dtype="float32", device="cpu", requires_grad=False)
tensor([1.0, 2.0], dtype="float32", device="cpu", requires_grad=False)  as_tensor([1.0], "float32", "cpu")
from_numpy(array)  from_dlpack(array)  Tensor(2, 3, device="cpu")  set_default_tensor_type("torch.FloatTensor")
BFloat16Tensor([1.0])  BoolTensor([1.0])  ByteTensor([1.0])  CharTensor([1.0])  DoubleTensor([1.0])
FloatTensor(2, 3, device="cpu")  HalfTensor([1.0])  IntTensor([1.0])  LongTensor(size=(2, 3))  ShortTensor([1.0])
rand(2, 3, generator=g, dtype="float32", device="cpu", requires_grad=False)  randn(2, 3, generator=g)
rand_like(x, generator=g, dtype="float32", device="cpu")  randn_like(x, generator=g, dtype="float32", device="cpu")
randint(0, 5, (2, 3), generator=g, dtype="int64", device="cpu")  randint_like(x, 0, 5, generator=g, dtype="int64")
randperm(5, generator=g, dtype="int64", device="cpu")  normal(x, y, generator=g)  bernoulli(mask, 0.5, generator=g)
multinomial(x, 2, False, generator=g)  Generator("cpu")  promote_types("float32", "int64")  result_type(x, y)
can_cast("float32", "int64")  finfo("float32")  iinfo("int64")  manual_seed(0)
get_rng_state()  set_rng_state(tg.get_rng_state())  get_num_threads()  set_num_threads(tg.get_num_threads())
set_printoptions(4, 1000, 3, 80, "default", False)  set_default_dtype("float32")  get_default_dtype()
set_default_device("cpu")  default_device("cpu")  get_default_device()  Size([2, 3])
is_grad_enabled()  is_inference_mode_enabled()  set_grad_enabled(True)  inference_mode(True)  no_grad()  enable_grad()
device("cpu", 0)  det(square)  inverse(square)  cholesky_solve(tall, square, False)  svd(x, True, True)
"""
METHODS = """
x.bernoulli(0.5)  x.bernoulli_(0.5)  x.bfloat16()  x.bool()  x.byte()  x.char()  x.contiguous(memory_format=order)
x.copy_(y)  x.cpu()  x.pin_memory("cpu")  x.is_pinned("cpu")  x.record_stream(stream)
x.data_ptr()  x.detach()  x.dim()  x.double()
x.element_size()  x.expand(2, 3)  x.expand_as(y)
x.exponential_(1.0, generator=g)  x.fill_(1.0)  x.float()  x.half()  x.int()  x.is_contiguous(memory_format=order)
one.item()  x.long()
x.multinomial(2, False, generator=g)  x.ndimension()  x.nelement()  x.new_empty(2, dtype="float32")
x.new_full((2,), 1.0, dtype="float32")  x.new_ones(2, dtype="float32")  x.new_tensor([1.0], dtype="float32")
x.new_zeros(2, dtype="float32")  x.normal_(0.0, 1.0, generator=g)  x.numpy(force=False)  x.random_(0, 5, generator=g)
x.repeat(2, 2)  leaf.register_hook(print)  leaf.register_post_accumulate_grad_hook(print)  x.requires_grad_(True)
x.reshape_as(y)  grown.retain_grad()  x.short()  x.size(0)  x.storage_offset()  x.stride(0)
x.to("float32", copy=False, memory_format=order)  x.tolist()  x.type("float32")  x.type_as(y)  x.unfold(1, 2, 1)
x.uniform_(0.0, 1.0, generator=g)  x.view(3, 2)  x.view_as(y)  x.where(mask, y)  x.zero_()
leaf.backward(x, False, False)  x.detach_()
"""
FUNCTIONAL = """
adaptive_avg_pool1d(song, 2)  adaptive_avg_pool2d(image, (2, 2))  avg_pool1d(song, 2, 1, 0, False, True)
avg_pool2d(image, 2, 1, 0, False, True, 1)  max_pool1d(song, 2, 1, 0, 1, False, False)
max_pool2d(image, 2, 1, 0, 1, False, False)  batch_norm(x, v, v, v, v, False, 0.1, 1e-5)
instance_norm(song, None, None, None, None, True, 0.1, 1e-5)  group_norm(song, 2, None, None, 1e-5)
layer_norm(x, (3,), v, v, 1e-5)  rms_norm(x, (3,), v, 1e-5)  bilinear(x, y, tg.rand(2, 3, 3), None)
binary_cross_entropy(mask.float(), mask.float(), None, reduction="mean")
binary_cross_entropy_with_logits(x, y, None, reduction="mean", pos_weight=None)  celu(x, 1.0, False)
elu(x, 1.0, False)  gelu(x, approximate="none")  glu(tall, 1)  hardshrink(x, 0.5)  hardsigmoid(x, False)
hardswish(x, False)  hardtanh(x, -1.0, 1.0, False)  leaky_relu(x, 0.1, False)  logsigmoid(x)  mish(x, False)
prelu(x, v)  relu(x, False)  relu_(x)  relu6(x, False)  selu(x, False)  sigmoid(x)  silu(x, False)
softmin(x, 0, dtype="float64")  softplus(x, 1.0, 20.0)  softshrink(x, 0.5)  softsign(x)  tanh(x)  tanhshrink(x)
threshold(x, 0.5, 0.0, False)  softmax(x, 0, dtype="float64")  log_softmax(x, 0, dtype="float64")
gumbel_softmax(x, 1.0, False, 1e-10, -1)  conv1d(song, tg.rand(2, 2, 3), None, 1, 0, 1, 1)
conv2d(image, tg.rand(2, 2, 3, 3), None, 1, 0, 1, 1)  conv_transpose1d(song, tg.rand(2, 2, 3), None, 1, 0, 0, 1, 1)
conv_transpose2d(image, tg.rand(2, 2, 3, 3), None, 1, 0, 0, 1, 1)
cosine_embedding_loss(x, y, signs, 0.0, reduction="mean")  cosine_similarity(x, y, 1, 1e-8)
hinge_embedding_loss(signs, signs, 1.0, reduction="mean")
margin_ranking_loss(signs, signs, signs, 0.0, reduction="mean")  soft_margin_loss(signs, signs, reduction="mean")
triplet_margin_loss(x, y, z, 1.0, 2.0, 1e-6, False, reduction="mean")  pairwise_distance(x, y, 2.0, 1e-6, False)
normalize(x, 2.0, 1, 1e-12)  cross_entropy(x, labels, v, ignore_index=-100, reduction="mean", label_smoothing=0.0)
nll_loss(x, labels, v, ignore_index=-100, reduction="mean")  mse_loss(x, y, reduction="mean", weight=None)
l1_loss(x, y, reduction="mean", weight=None)  smooth_l1_loss(x, y, reduction="mean", beta=1.0)
huber_loss(x, y, "mean", 1.0, weight=None)  kl_div(x, y, reduction="mean", log_target=False)
poisson_nll_loss(x, y, True, False, eps=1e-8, reduction="mean")  gaussian_nll_loss(x, y, z, False, 1e-6, "mean")
dropout(x, 0.5, True, False)  dropout1d(song, 0.5, True, False)  dropout2d(image, 0.5, True, False)
fused_dense_bias_activation(x, square, v, "relu")  bias_activation(x, v, "relu")  bias_activation_(x, v, "tanh")
fused_conv_bias_activation(image, tg.ones(2, 2, 2, 2), tg.ones(2), "relu", 1, 0, 1, 1)
fast_activation(x, "gelu")  fast_activation_(x, "silu")
embedding(labels, square, None)  linear(x, square, None)  one_hot(labels, 3)  pad(x, (1, 1), "constant", 0.0)
interpolate(image, (8, 8), None, "nearest", None, None)  unfold(image, 2, 1, 0, 1)
scaled_dot_product_attention(cube, cube, cube, None, 0.0, False, 1.0, False)  adaptive_max_pool1d(song, 2, False)
adaptive_max_pool2d(image, (2, 2), False)  fold(tg.ones(1, 4, 9), (4, 4), 2, 1, 0, 1)
pixel_shuffle(tg.ones(4, 2, 2), 2)  pixel_unshuffle(image, 2)
adaptive_max_pool3d(solid, 2, False)  adaptive_avg_pool3d(solid, (2, 1, 1))
avg_pool3d(solid, 2, 1, 0, False, True, 1)  max_pool3d(solid, 2, 1, 0, 1, False, False)
dropout3d(solid, 0.5, True, False)
conv3d(solid, tg.rand(2, 2, 3, 1, 1), None, 1, 0, 1, 1)
conv_transpose3d(solid, tg.rand(2, 2, 3, 1, 1), None, 1, 0, 0, 1, 1)
local_response_norm(song, 2, 1e-4, 0.75, 1.0)
ctc_loss(tg.rand(3, 2, 4), ints + 1, tg.tensor([3, 3]), tg.tensor([2, 1]), 0, "mean", False)
multi_margin_loss(x, labels, 1, 1.0, v, reduction="mean")  multilabel_margin_loss(x, ints, reduction="mean")
multilabel_soft_margin_loss(x, y, v, reduction="mean")
triplet_margin_with_distance_loss(x, y, z, distance_function=None, margin=1.0, swap=False, reduction="mean")
embedding_bag(places, square, tg.tensor([0, 1]), 1.0, 2.0, False, "sum", False, signs, False, 2)
"""
# The constructor, and where there is something to call, the arguments behind it.
MODULES = """
CELU(1.0, False)(x)  ELU(1.0, False)(x)  GELU("none")(x)  GLU(1)(tall)  SELU(False)(x)  Hardshrink(0.5)(x)
Hardsigmoid(False)(x)  Hardswish(False)(x)  Hardtanh(-1.0, 1.0, False)(x)  LeakyReLU(0.1, False)(x)  LogSigmoid()(x)
LogSoftmax(1)(x)  Mish(False)(x)  PReLU(3, 0.25, "cpu", "float32")(x)  ReLU(False)(x)  ReLU6(False)(x)  SiLU(False)(x)
Sigmoid()(x)  Softmax(1)(x)  Softmax2d()(image)  Softmin(1)(x)  Softplus(1.0, 20.0)(x)  Softshrink(0.5)(x)
Softsign()(x)  Tanh()(x)  Tanhshrink()(x)  Threshold(0.5, 0.0, False)(x)
GRU(4, 3, 1, True, False, 0.0, False, "cpu", "float32")(words)  LSTM(4, 3, 1, True, False, 0.0, False, 2)(words)
RNN(4, 3, 1, "tanh", True, False, 0.0, False)(words)  RNNBase("GRU", 4, 3)
GRUCell(3, 3, True, "cpu", "float32")(x, y)  LSTMCell(3, 3, True, "cpu", "float32")(x)
RNNCell(3, 3, True, "tanh")(x, y)  AdaptiveAvgPool1d(2)(song)  AdaptiveAvgPool2d((2, 2))(image)
AvgPool1d(2, 1, 0, False, True)(song)  AvgPool2d(2, 1, 0, False, True, 1)(image)
MaxPool1d(2, 1, 0, 1, False, False)(song)  MaxPool2d(2, 1, 0, 1, False, False)(image)
BCELoss(None, reduction="mean")(mask.float(), mask.float())
BCEWithLogitsLoss(None, reduction="mean", pos_weight=None)(x, y)
BatchNorm1d(3, 1e-5, 0.1, True, True, "cpu", "float32")(x)  BatchNorm2d(2, 1e-5, 0.1, True, True)(image)
InstanceNorm1d(2, 1e-5, 0.1, False, False)(song)  InstanceNorm2d(2, 1e-5, 0.1, False, False)(image)
GroupNorm(2, 2, 1e-5, True, "cpu", "float32")(song)  LayerNorm((3,), 1e-5, True, True, "cpu", "float32")(x)
RMSNorm((3,), 1e-5, True, "cpu", "float32")(x)  Bilinear(3, 3, 2, True, "cpu", "float32")(x, y)
CircularPad1d(1)(song)  CircularPad2d(1)(image)  ConstantPad1d(1, 0.0)(song)  ConstantPad2d(1, 0.0)(image)
ReflectionPad1d(1)(song)  ReflectionPad2d(1)(image)  ReplicationPad1d(1)(song)  ReplicationPad2d(1)(image)
ZeroPad1d(1)(song)  ZeroPad2d(1)(image)  Conv1d(2, 2, 3, 1, 0, 1, 1, True, "zeros", "cpu", "float32")(song)
Conv2d(2, 2, 3, 1, 0, 1, 1, True, "zeros")(image)  ConvTranspose1d(2, 2, 3, 1, 0, 0, 1, True, 1)(song)
ConvTranspose2d(2, 2, 3, 1, 0, 0, 1, True, 1)(image)  CosineEmbeddingLoss(0.0, reduction="mean")(x, y, signs)
CosineSimilarity(1, 1e-8)(x, y)
CrossEntropyLoss(v, ignore_index=-100, reduction="mean", label_smoothing=0.0)(x, labels)
NLLLoss(v, ignore_index=-100, reduction="mean")(x, labels)  Dropout(0.5, False)(x)  Dropout1d(0.5, False)(song)
Dropout2d(0.5, False)(image)  Embedding(3, 2, 0, 1.0, 2.0, False)(labels)  Flatten(1, -1)(x)
GaussianNLLLoss(full=False, eps=1e-6, reduction="mean")(x, y, z)
HingeEmbeddingLoss(1.0, reduction="mean")(signs, signs)  HuberLoss("mean", 1.0)(x, y)  Identity()(x)
KLDivLoss(reduction="mean", log_target=False)(x, y)  L1Loss(reduction="mean")(x, y)
LazyBatchNorm1d(1e-5, 0.1, True, True, "cpu", "float32")(x)  LazyBatchNorm2d(1e-5, 0.1, True, True)(image)
LazyBatchNorm3d(1e-5, 0.1, True, True)(solid)  LazyInstanceNorm1d(1e-5, 0.1, False, False, "cpu", "float32")(song)
LazyInstanceNorm2d(1e-5, 0.1, False, False)(image)  LazyInstanceNorm3d(1e-5, 0.1, False, False)(solid)
LazyConv1d(2, 3, 1, 0, 1, 1, True, "zeros", "cpu", "float32")(song)  LazyConv2d(2, 3, 1, 0, 1, 1, True, "zeros")(image)
LazyConv3d(2, 3, 1, 0, 1, 1, True, "zeros")(solid)  LazyConvTranspose1d(2, 3, 1, 0, 0, 1, True, 1)(song)
LazyConvTranspose2d(2, 3, 1, 0, 0, 1, True, 1)(image)  LazyConvTranspose3d(2, 3, 1, 0, 0, 1, True, 1)(solid)
LazyLinear(2, True, "cpu", "float32")(x)
UninitializedBuffer(False, "cpu", "float32", True)  UninitializedParameter(True, "cpu", "float32")
Linear(3, 2, True, "cpu", "float32")(x)  MSELoss(reduction="mean")(x, y)
MarginRankingLoss(0.0, reduction="mean")(signs, signs, signs)  ModuleDict({"a": nn.ReLU()})  ModuleList([nn.ReLU()])
ParameterDict({"a": leaf})  ParameterList([leaf])  Module()  Parameter(x, True)  Sequential(nn.ReLU(), nn.ReLU())(x)
PairwiseDistance(2.0, 1e-6, False)(x, y)  PoissonNLLLoss(True, False, eps=1e-8, reduction="mean")(x, y)
SmoothL1Loss(reduction="mean", beta=1.0)(x, y)  SoftMarginLoss(reduction="mean")(signs, signs)
TripletMarginLoss(1.0, 2.0, 1e-6, False, reduction="mean")(x, y, z)
MultiheadAttention(4, 2, 0.0, True, False, False, 4, 4)(words, words, words)
Transformer(4, 2, 1, 1, 8, 0.0, "relu")(words, words)
TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8), 1, None, True, True)(words)
TransformerDecoder(nn.TransformerDecoderLayer(4, 2, 8), 1, None)(words, words)
TransformerEncoderLayer(4, 2, 8, 0.0, "relu", 1e-5, False, False, True)(words)
TransformerDecoderLayer(4, 2, 8, 0.0, "relu", 1e-5, False, False, True)(words, words)  Unflatten(1, (3, 1))(x)
AdaptiveMaxPool1d(2, False)(song)  AdaptiveMaxPool2d((2, 2), False)(image)  PixelShuffle(2)(tg.ones(4, 2, 2))
PixelUnshuffle(2)(image)  Unfold(2, 1, 0, 1)(image)  Fold((4, 4), 2, 1, 0, 1)(tg.ones(1, 4, 9))
CTCLoss(0, "mean", False)(tg.rand(3, 2, 4), ints + 1, tg.tensor([3, 3]), tg.tensor([2, 1]))
MultiMarginLoss(1, 1.0, v, reduction="mean")(x, labels)  MultiLabelMarginLoss(reduction="mean")(x, ints)
MultiLabelSoftMarginLoss(v, reduction="mean")(x, y)
TripletMarginWithDistanceLoss(distance_function=None, margin=1.0, swap=False, reduction="mean")(x, y, z)
AdaptiveMaxPool3d(2, False)(solid)  AdaptiveAvgPool3d((2, 1, 1))(solid)  AvgPool3d(2, 1, 0, False, True, 1)(solid)
MaxPool3d(2, 1, 0, 1, False, False)(solid)  Dropout3d(0.5, False)(solid)  BatchNorm3d(2, 1e-5, 0.1, True, True)(solid)
InstanceNorm3d(2, 1e-5, 0.1, False, False)(solid)  ConstantPad3d(1, 0.0)(solid)  ReflectionPad3d(1)(solid)
ReplicationPad3d(1)(solid)  ZeroPad3d(1)(solid)  Conv3d(2, 2, 3, 1, 0, 1, 1, True, "zeros")(solid)
ConvTranspose3d(2, 2, 3, 1, 0, 0, 1, True, 1)(solid)  LocalResponseNorm(2, 1e-4, 0.75, 1.0)(song)
EmbeddingBag(3, 2, 1.0, 2.0, False, "sum", False, None, False, 0)(labels, tg.tensor([0, 1]), signs)
Upsample((8, 8), None, "nearest", None, None)(image)  summary(model, x, depth=1)
"""
OTHERS = """
init.calculate_gain("leaky_relu", 0.1)  init.constant_(leaf, 1.0)  init.dirac_(tg.ones(2, 2, 3), 1)  init.eye_(leaf)
init.kaiming_normal_(leaf, 0.0, "fan_in", "leaky_relu")  init.kaiming_uniform_(leaf, 0.0, "fan_in", "leaky_relu")
init.normal_(leaf, 0.0, 1.0)  init.ones_(leaf)  init.orthogonal_(leaf, 1.0)  init.sparse_(leaf, 0.5, 0.1)
init.trunc_normal_(leaf, 0.0, 1.0, -2.0, 2.0)  init.uniform_(leaf, 0.0, 1.0)  init.xavier_normal_(leaf, 1.0)
init.xavier_uniform_(leaf, 1.0)  init.zeros_(leaf)  utils.clip_grad_norm_([leaf], 1.0, 2.0, False)
attention.local_attention(cube, cube, cube, 2, 1.0, False)  attention.sdpa_kernel(attention.SDPBackend.MATH)
utils.clip_grad_value_([leaf], 1.0)  utils.clip_grads_with_norm_([leaf], 1.0, one)
utils.fuse_conv_bn_eval(conv.eval(), norm.eval(), False)  utils.fuse_linear_bn_eval(layer.eval(), norm1.eval())
utils.fuse_conv_bn_weights(conv.weight, conv.bias, norm.running_mean, norm.running_var, 1e-5, norm.weight, norm.bias)
utils.fuse_linear_bn_weights(layer.weight, layer.bias, norm1.running_mean, norm1.running_var, 1e-5, None, None)
utils.check_stable(layer, x)  utils.dtype_report([x])  utils.match_dtype(layer, "ignore")
utils.get_total_norm([x, y], 2.0, False)  utils.parameters_to_vector([x, y])
utils.vector_to_parameters(tg.ones(6), [leaf])
utils.weight_norm(layer, "weight", 0)  utils.spectral_norm(layer, "weight", 1, 1e-12, 0)
utils.remove_weight_norm(utils.weight_norm(layer), "weight")
utils.remove_spectral_norm(utils.spectral_norm(layer), "weight")
optim.SGD([leaf], 0.1, 0.5, 0.0, 0.0, False)
optim.Adagrad([leaf], 0.1, 0.0, 0.0, 0.0, 1e-10)  optim.Adam([leaf], 0.1, (0.9, 0.99), 1e-8, 0.0, False)
optim.AdamW([leaf], 0.1, (0.9, 0.99), 1e-8, 0.0, False)  optim.RMSprop([leaf], 0.1, 0.9, 1e-8, 0.0, 0.0, False)
optim.Adadelta([leaf], 0.1, 0.9, 1e-6, 0.0)  optim.Adamax([leaf], 0.1, (0.9, 0.99), 1e-8, 0.0)
optim.NAdam([leaf], 0.1, (0.9, 0.99), 1e-8, 0.0, 4e-3, False)
optim.RAdam([leaf], 0.1, (0.9, 0.99), 1e-8, 0.0, False)  optim.Rprop([leaf], 0.1, (0.5, 1.2), (1e-6, 50.0))
optim.LBFGS([leaf], 0.1, 20, 25, 1e-7, 1e-9, 100, None)
optim.Optimizer([leaf], {"lr": 0.1})  optim.master_weights(optimizer)
lrs.ChainedScheduler(schedulers(optimizer), optimizer)
lrs.ConstantLR(optimizer, 0.5, 5, -1)  lrs.CosineAnnealingLR(optimizer, 5, 0.0, -1)
lrs.CosineAnnealingWarmRestarts(optimizer, 5, 1, 0.0, -1)  lrs.ExponentialLR(optimizer, 0.9, -1)
lrs.CyclicLR(optimizer, 0.1, 0.2, 5, 5, "triangular", 1.0, None, "cycle", True, 0.8, 0.9, -1)
lrs.LambdaLR(optimizer, abs, -1)  lrs.LinearLR(optimizer, 0.5, 1.0, 5, -1)
lrs.MultiStepLR(optimizer, [2, 4], 0.1, -1)  lrs.MultiplicativeLR(optimizer, abs, -1)
lrs.OneCycleLR(optimizer, 0.1, 10, None, None, 0.3, "cos", True, 0.8, 0.9, 25.0, 1e4, False, -1)
lrs.PolynomialLR(optimizer, 5, 1.0, -1)  lrs.ReduceLROnPlateau(optimizer, "min", 0.1, 10, 1e-4, "rel", 0, 0.0, 1e-8)
lrs.SequentialLR(optimizer, schedulers(optimizer), [2], -1)  lrs.StepLR(optimizer, 2, 0.1, -1)
data.BatchSampler([0, 1], 2, False)  data.ConcatDataset([table, table])  data.DataLoader(table, 2, False)
data.get_worker_info()  data.Chores(4, "waits", 1)
data.ImageFolder(folder, None)  data.draw_images(folder, 3, 8, 0)  data.text()
data.Text("abba", "ab", labels)
data.Digits(tg.rand(2, 8, 8), labels)  data.RandomSampler(table, False, None, g)  data.SequentialSampler(table)
data.Subset(table, [0, 1])  data.SubsetRandomSampler([0, 1], g)  data.TensorDataset(x, y)
data.WeightedRandomSampler([1.0, 2.0], 2, True, g)  data.default_collate([x, y])  data.default_convert([1, 2])
data.digits()  data.random_split(table, [1, 1], g)  data.Dataset()  data.IterableDataset()  data.Sampler()
metrics.Mean()  metrics.accuracy(x, places, 1)  metrics.confusion_matrix(x, places, 3)
metrics.f1_score(x, places, "macro", 3)  metrics.mean_absolute_error(x, y)  metrics.mean_squared_error(x, y)
metrics.perplexity(x, places)  metrics.precision(x, places, "macro", 3)  metrics.r2_score(square, square)
metrics.recall(x, places, "macro", 3)  autograd.backward(total, None, False, False)
autograd.grad(leaf.sum(), leaf, None, False, False, True, False, False, False)
autograd.gradcheck(tg.exp, double, eps=1e-6, atol=1e-5, rtol=1e-3)  autograd.gradgradcheck(tg.exp, double)
autograd.detect_anomaly(check_nan=True)
autograd.jvp(tg.exp, x, y)  autograd.Variable(x, True, False)
functional.jacobian(tg.exp, x, False, False, False, "reverse-mode")  functional.jvp(tg.exp, x, y, False, False)
functional.hessian(tg.sum, x, False, False, False, "reverse-mode")  functional.vjp(tg.exp, x, y, False, False)
functional.hvp(tg.sum, x, y, False, False)  functional.vhp(tg.sum, x, y, False, False)
training.evaluate(model, loader, F.mse_loss, ())
training.accumulate(F.mse_loss, leaf, y, size=1)
training.fit(model, loader, F.mse_loss, optim.SGD(model.parameters(), 0.1), 1)  observe.Counters()
memory.Memory(model)
memory.mark("start", kept=False)
profiler.profile()  profiler.record_function('a', None)  profiler.schedule(wait=1, warmup=1, active=1)
profiler.tensorboard_trace_handler('a', 'b', False)  checkpointing.checkpoint(tg.exp, leaf)
checkpointing.checkpoint_sequential(model, 2, x)  jit.trace(tg.exp, x)
jit.script(tg.exp, x)  jit.save(traced, path)  tg.compile(tg.exp, fullgraph=False, backend='numpy', mode=None)
observe.measure(print, repeats=3, warmup=1, budget=0.01)  settings.scoped(dtype="float32")
settings.promotion("numpy")  settings.set_default(dtype="float32")
tg.autocast("cpu", "bfloat16", True, True)  tg.get_autocast_dtype("cpu")  tg.is_autocast_enabled("cpu")
amp.GradScaler("cpu", 4.0, 2.0, 0.5, 10, True)  amp.is_autocast_available("cpu")
tg.save(x, path)  guard.explain(array)  guard.is_on()  guard.on()
guard.off()  guard.verify()  guard.let_go()
dist.Bernoulli(x, None, True)  dist.Bernoulli(None, x)  dist.Categorical(y, None, True)  dist.Categorical(None, x)
dist.Normal(x, y, True)  dist.Independent(dist.Normal(x, y), 1, True)
dist.MultivariateNormal(v, square, None, None, True)  dist.MultivariateNormal(v, None, square)
dist.MultivariateNormal(v, None, None, square)  dist.Uniform(x, y, True)  dist.Distribution((2,), (3,), True)
dist.kl_divergence(dist.Normal(x, y), dist.Normal(x, z))  dist.register_kl(dist.Normal, dist.Categorical)
linalg.cholesky(square, upper=True)  linalg.det(square)  linalg.eigh(square, "L")  linalg.inv(square)
linalg.matrix_norm(x, "fro", (-2, -1), False, dtype="float64")  linalg.matrix_power(square, 2)
linalg.multi_dot([x, tall])  linalg.norm(x, 2, (0, 1), False, dtype="float64")  linalg.qr(x, "reduced")
linalg.slogdet(square)  linalg.solve(square, v, left=True)
linalg.solve_triangular(square, tall, upper=False, left=True, unitriangular=False)  linalg.svd(x, True)
linalg.vector_norm(x, 2, 0, False, dtype="float64")
rnn.pack_padded_sequence(cube, [2, 1], True, True)  rnn.pack_sequence([x, y], True)
rnn.PackedSequence(x, places)  rnn.pad_packed_sequence(rnn.pack_sequence([x, y]), True, 0.0, 2)
rnn.pad_sequence([x, y], True, 0.0, "right")  rnn.unpad_sequence(x, places + 1, True)
"""
