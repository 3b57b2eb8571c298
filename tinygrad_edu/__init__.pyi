"""Made by tools/write_stub.py of `__init__.py`: what loads when it is used, for type checkers and editors."""

import builtins
from typing import Any

from . import accelerator as accelerator
from . import amp as amp
from . import autograd as autograd
from . import backends as backends
from . import compiler as compiler
from . import cuda as cuda
from . import data as data
from . import distributed as distributed
from . import distributions as distributions
from . import dtypes as dtypes
from . import errors as errors
from . import guard as guard
from . import jit as jit
from . import lessons as lessons
from . import linalg as linalg
from . import metrics as metrics
from . import nn as nn
from . import observe as observe
from . import optim as optim
from . import settings as settings
from . import sim as sim
from . import state as state
from . import tips as tips
from . import training as training
from . import utils as utils
from . import views as views
from .amp.autocast import autocast as autocast
from .amp.autocast import get_autocast_dtype as get_autocast_dtype
from .amp.autocast import is_autocast_enabled as is_autocast_enabled
from .backends import Device as device
from .compiler import compile as compile
from .dtypes import bool_ as bool
from .dtypes import float16 as float16
from .dtypes import float16 as half
from .dtypes import float32 as float
from .dtypes import float32 as float32
from .dtypes import float64 as double
from .dtypes import float64 as float64
from .dtypes import int16 as int16
from .dtypes import int16 as short
from .dtypes import int32 as int
from .dtypes import int32 as int32
from .dtypes import int64 as int64
from .dtypes import int64 as long
from .dtypes import int8 as int8
from .dtypes import uint8 as uint8
from .linalg.tops import cholesky_solve as cholesky_solve
from .linalg.tops import det as det
from .linalg.tops import inverse as inverse
from .linalg.tops import svd as svd
from .ops.activation import relu as relu
from .ops.arrange import diag_embed as diag_embed
from .ops.arrange import flip as flip
from .ops.arrange import fliplr as fliplr
from .ops.arrange import flipud as flipud
from .ops.arrange import repeat_interleave as repeat_interleave
from .ops.arrange import roll as roll
from .ops.arrange import rot90 as rot90
from .ops.arrange import tile as tile
from .ops.choice import masked_fill as masked_fill
from .ops.formats import channels_last as channels_last
from .ops.formats import clone as clone
from .ops.formats import contiguous_format as contiguous_format
from .ops.formats import preserve_format as preserve_format
from .ops.gathering import argwhere as argwhere
from .ops.gathering import fill as fill
from .ops.gathering import index_fill as index_fill
from .ops.gathering import index_put as index_put
from .ops.gathering import meshgrid as meshgrid
from .ops.linalg import cdist as cdist
from .ops.linalg import einsum as einsum
from .ops.logic import allclose as allclose
from .ops.logic import equal as equal
from .ops.logic import isclose as isclose
from .ops.logic import isfinite as isfinite
from .ops.logic import isinf as isinf
from .ops.logic import isnan as isnan
from .ops.movement import flatten as flatten
from .ops.movement import permute as permute
from .ops.movement import reshape as reshape
from .ops.movement import squeeze as squeeze
from .ops.movement import transpose as transpose
from .ops.movement import unsqueeze as unsqueeze
from .ops.out import abs as abs
from .ops.out import acos as acos
from .ops.out import acosh as acosh
from .ops.out import add as add
from .ops.out import addcdiv as addcdiv
from .ops.out import addcmul as addcmul
from .ops.out import addmm as addmm
from .ops.out import all as all
from .ops.out import amax as amax
from .ops.out import amin as amin
from .ops.out import aminmax as aminmax
from .ops.out import any as any
from .ops.out import arccos as arccos
from .ops.out import arcsin as arcsin
from .ops.out import arctan as arctan
from .ops.out import arctan2 as arctan2
from .ops.out import argmax as argmax
from .ops.out import argmin as argmin
from .ops.out import argsort as argsort
from .ops.out import asin as asin
from .ops.out import asinh as asinh
from .ops.out import atan as atan
from .ops.out import atan2 as atan2
from .ops.out import atanh as atanh
from .ops.out import baddbmm as baddbmm
from .ops.out import bitwise_and as bitwise_and
from .ops.out import bitwise_not as bitwise_not
from .ops.out import bitwise_or as bitwise_or
from .ops.out import bitwise_xor as bitwise_xor
from .ops.out import bmm as bmm
from .ops.out import cat as cat
from .ops.out import ceil as ceil
from .ops.out import clamp as clamp
from .ops.out import clamp_max as clamp_max
from .ops.out import clamp_min as clamp_min
from .ops.out import clip as clip
from .ops.out import column_stack as column_stack
from .ops.out import concat as concat
from .ops.out import cos as cos
from .ops.out import cosh as cosh
from .ops.out import cross as cross
from .ops.out import cummax as cummax
from .ops.out import cummin as cummin
from .ops.out import cumprod as cumprod
from .ops.out import cumsum as cumsum
from .ops.out import diag as diag
from .ops.out import diff as diff
from .ops.out import digamma as digamma
from .ops.out import div as div
from .ops.out import dot as dot
from .ops.out import dstack as dstack
from .ops.out import eq as eq
from .ops.out import erf as erf
from .ops.out import erfc as erfc
from .ops.out import exp as exp
from .ops.out import exp2 as exp2
from .ops.out import expm1 as expm1
from .ops.out import floor as floor
from .ops.out import floor_divide as floor_divide
from .ops.out import fmod as fmod
from .ops.out import gather as gather
from .ops.out import ge as ge
from .ops.out import gt as gt
from .ops.out import hstack as hstack
from .ops.out import hypot as hypot
from .ops.out import index_add as index_add
from .ops.out import index_copy as index_copy
from .ops.out import index_select as index_select
from .ops.out import inner as inner
from .ops.out import isin as isin
from .ops.out import kron as kron
from .ops.out import kthvalue as kthvalue
from .ops.out import le as le
from .ops.out import lerp as lerp
from .ops.out import lgamma as lgamma
from .ops.out import log as log
from .ops.out import log10 as log10
from .ops.out import log1p as log1p
from .ops.out import log2 as log2
from .ops.out import log_softmax as log_softmax
from .ops.out import logaddexp as logaddexp
from .ops.out import logaddexp2 as logaddexp2
from .ops.out import logical_and as logical_and
from .ops.out import logical_not as logical_not
from .ops.out import logical_or as logical_or
from .ops.out import logical_xor as logical_xor
from .ops.out import logit as logit
from .ops.out import logsumexp as logsumexp
from .ops.out import lt as lt
from .ops.out import masked_select as masked_select
from .ops.out import matmul as matmul
from .ops.out import max as max
from .ops.out import maximum as maximum
from .ops.out import mean as mean
from .ops.out import median as median
from .ops.out import min as min
from .ops.out import minimum as minimum
from .ops.out import mm as mm
from .ops.out import mul as mul
from .ops.out import mv as mv
from .ops.out import nan_to_num as nan_to_num
from .ops.out import nanmean as nanmean
from .ops.out import nansum as nansum
from .ops.out import ne as ne
from .ops.out import neg as neg
from .ops.out import nonzero as nonzero
from .ops.out import norm as norm
from .ops.out import outer as outer
from .ops.out import pow as pow
from .ops.out import prod as prod
from .ops.out import quantile as quantile
from .ops.out import reciprocal as reciprocal
from .ops.out import remainder as remainder
from .ops.out import round as round
from .ops.out import rsqrt as rsqrt
from .ops.out import scatter as scatter
from .ops.out import scatter_add as scatter_add
from .ops.out import searchsorted as searchsorted
from .ops.out import sigmoid as sigmoid
from .ops.out import sign as sign
from .ops.out import sin as sin
from .ops.out import sinh as sinh
from .ops.out import softmax as softmax
from .ops.out import sort as sort
from .ops.out import sqrt as sqrt
from .ops.out import square as square
from .ops.out import stack as stack
from .ops.out import std as std
from .ops.out import sub as sub
from .ops.out import sum as sum
from .ops.out import take_along_dim as take_along_dim
from .ops.out import tan as tan
from .ops.out import tanh as tanh
from .ops.out import tensordot as tensordot
from .ops.out import topk as topk
from .ops.out import tril as tril
from .ops.out import triu as triu
from .ops.out import trunc as trunc
from .ops.out import var as var
from .ops.out import vstack as vstack
from .ops.out import where as where
from .ops.out import xlogy as xlogy
from .ops.parts import as_strided as as_strided
from .ops.parts import chunk as chunk
from .ops.parts import diagonal as diagonal
from .ops.parts import narrow as narrow
from .ops.parts import select as select
from .ops.parts import split as split
from .ops.parts import split_with_sizes as split_with_sizes
from .ops.parts import tensor_split as tensor_split
from .ops.parts import unbind as unbind
from .ops.products import trace as trace
from .ops.shapes import atleast_1d as atleast_1d
from .ops.shapes import atleast_2d as atleast_2d
from .ops.shapes import atleast_3d as atleast_3d
from .ops.shapes import broadcast_tensors as broadcast_tensors
from .ops.shapes import broadcast_to as broadcast_to
from .ops.shapes import moveaxis as moveaxis
from .ops.shapes import movedim as movedim
from .ops.shapes import ravel as ravel
from .ops.shapes import swapaxes as swapaxes
from .ops.shapes import t as t
from .ops.shapes import unflatten as unflatten
from .ops.sorting import unique as unique
from .ops.statistics import bincount as bincount
from .ops.statistics import count_nonzero as count_nonzero
from .ops.statistics import std_mean as std_mean
from .ops.statistics import var_mean as var_mean
from .ops.unary import positive as positive
from .settings import enable_grad as enable_grad
from .settings import inference_mode as inference_mode
from .settings import is_grad_enabled as is_grad_enabled
from .settings import is_inference_mode_enabled as is_inference_mode_enabled
from .settings import no_grad as no_grad
from .settings import set_grad_enabled as set_grad_enabled
from .state import load as load
from .state import save as save
from .tensor import Tensor as Tensor
from .tensor import as_tensor as as_tensor
from .tensor import from_numpy as from_numpy
from .tensor import random as random
from .tensor import tensor as tensor
from .tensor.creation import arange as arange
from .tensor.creation import empty as empty
from .tensor.creation import empty_like as empty_like
from .tensor.creation import eye as eye
from .tensor.creation import full as full
from .tensor.creation import full_like as full_like
from .tensor.creation import linspace as linspace
from .tensor.creation import logspace as logspace
from .tensor.creation import ones as ones
from .tensor.creation import ones_like as ones_like
from .tensor.creation import zeros as zeros
from .tensor.creation import zeros_like as zeros_like
from .tensor.exchange import from_dlpack as from_dlpack
from .tensor.inquiry import can_cast as can_cast
from .tensor.inquiry import default_device as default_device
from .tensor.inquiry import finfo as finfo
from .tensor.inquiry import get_default_device as get_default_device
from .tensor.inquiry import get_default_dtype as get_default_dtype
from .tensor.inquiry import iinfo as iinfo
from .tensor.inquiry import is_floating_point as is_floating_point
from .tensor.inquiry import is_tensor as is_tensor
from .tensor.inquiry import numel as numel
from .tensor.inquiry import promote_types as promote_types
from .tensor.inquiry import result_type as result_type
from .tensor.inquiry import set_default_device as set_default_device
from .tensor.inquiry import set_default_dtype as set_default_dtype
from .tensor.inquiry import set_default_tensor_type as set_default_tensor_type
from .tensor.printing import set_printoptions as set_printoptions
from .tensor.random import Generator as Generator
from .tensor.random import bernoulli as bernoulli
from .tensor.random import get_rng_state as get_rng_state
from .tensor.random import manual_seed as manual_seed
from .tensor.random import multinomial as multinomial
from .tensor.random import normal as normal
from .tensor.random import rand as rand
from .tensor.random import rand_like as rand_like
from .tensor.random import randint as randint
from .tensor.random import randint_like as randint_like
from .tensor.random import randn as randn
from .tensor.random import randn_like as randn_like
from .tensor.random import randperm as randperm
from .tensor.random import set_rng_state as set_rng_state
from .tensor.size import Size as Size
from .tensor.typed import BFloat16Tensor as BFloat16Tensor
from .tensor.typed import BoolTensor as BoolTensor
from .tensor.typed import ByteTensor as ByteTensor
from .tensor.typed import CharTensor as CharTensor
from .tensor.typed import DoubleTensor as DoubleTensor
from .tensor.typed import FloatTensor as FloatTensor
from .tensor.typed import HalfTensor as HalfTensor
from .tensor.typed import IntTensor as IntTensor
from .tensor.typed import LongTensor as LongTensor
from .tensor.typed import ShortTensor as ShortTensor
from .threads import get_num_threads as get_num_threads
from .threads import set_num_threads as set_num_threads

def _load_engine() -> None: ...
__version__: str
bfloat16: Any
newaxis: None
e: builtins.float
inf: builtins.float
nan: builtins.float
pi: builtins.float

__all__ = [
    "BFloat16Tensor",
    "BoolTensor",
    "ByteTensor",
    "CharTensor",
    "DoubleTensor",
    "FloatTensor",
    "Generator",
    "HalfTensor",
    "IntTensor",
    "LongTensor",
    "ShortTensor",
    "Size",
    "Tensor",
    "abs",
    "acos",
    "acosh",
    "add",
    "addcdiv",
    "addcmul",
    "addmm",
    "all",
    "allclose",
    "amax",
    "amin",
    "aminmax",
    "amp",
    "any",
    "arange",
    "arccos",
    "arcsin",
    "arctan",
    "arctan2",
    "argmax",
    "argmin",
    "argsort",
    "argwhere",
    "as_strided",
    "as_tensor",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "autocast",
    "autograd",
    "baddbmm",
    "bernoulli",
    "bincount",
    "bitwise_and",
    "bitwise_not",
    "bitwise_or",
    "bitwise_xor",
    "bmm",
    "bool",
    "broadcast_tensors",
    "broadcast_to",
    "can_cast",
    "cat",
    "cdist",
    "ceil",
    "channels_last",
    "cholesky_solve",
    "chunk",
    "clamp",
    "clamp_max",
    "clamp_min",
    "clip",
    "clone",
    "column_stack",
    "compile",
    "concat",
    "contiguous_format",
    "cos",
    "cosh",
    "count_nonzero",
    "cross",
    "cummax",
    "cummin",
    "cumprod",
    "cumsum",
    "data",
    "default_device",
    "det",
    "device",
    "diag",
    "diag_embed",
    "diagonal",
    "diff",
    "digamma",
    "distributions",
    "div",
    "dot",
    "double",
    "dstack",
    "dtypes",
    "e",
    "einsum",
    "empty",
    "empty_like",
    "enable_grad",
    "eq",
    "equal",
    "erf",
    "erfc",
    "exp",
    "exp2",
    "expm1",
    "eye",
    "fill",
    "finfo",
    "flatten",
    "flip",
    "fliplr",
    "flipud",
    "float",
    "float16",
    "float32",
    "float64",
    "floor",
    "floor_divide",
    "fmod",
    "from_dlpack",
    "from_numpy",
    "full",
    "full_like",
    "gather",
    "ge",
    "get_autocast_dtype",
    "get_default_device",
    "get_default_dtype",
    "get_num_threads",
    "get_rng_state",
    "gt",
    "guard",
    "half",
    "hstack",
    "hypot",
    "iinfo",
    "index_add",
    "index_copy",
    "index_fill",
    "index_put",
    "index_select",
    "inf",
    "inference_mode",
    "inner",
    "int",
    "int16",
    "int32",
    "int64",
    "int8",
    "inverse",
    "is_autocast_enabled",
    "is_floating_point",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "is_tensor",
    "isclose",
    "isfinite",
    "isin",
    "isinf",
    "isnan",
    "jit",
    "kron",
    "kthvalue",
    "le",
    "lerp",
    "lgamma",
    "linalg",
    "linspace",
    "load",
    "log",
    "log10",
    "log1p",
    "log2",
    "log_softmax",
    "logaddexp",
    "logaddexp2",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "logit",
    "logspace",
    "logsumexp",
    "long",
    "lt",
    "manual_seed",
    "masked_fill",
    "masked_select",
    "matmul",
    "max",
    "maximum",
    "mean",
    "median",
    "meshgrid",
    "metrics",
    "min",
    "minimum",
    "mm",
    "moveaxis",
    "movedim",
    "mul",
    "multinomial",
    "mv",
    "nan",
    "nan_to_num",
    "nanmean",
    "nansum",
    "narrow",
    "ne",
    "neg",
    "newaxis",
    "nn",
    "no_grad",
    "nonzero",
    "norm",
    "normal",
    "numel",
    "ones",
    "ones_like",
    "optim",
    "outer",
    "permute",
    "pi",
    "positive",
    "pow",
    "preserve_format",
    "prod",
    "promote_types",
    "quantile",
    "rand",
    "rand_like",
    "randint",
    "randint_like",
    "randn",
    "randn_like",
    "random",
    "randperm",
    "ravel",
    "reciprocal",
    "relu",
    "remainder",
    "repeat_interleave",
    "reshape",
    "result_type",
    "roll",
    "rot90",
    "round",
    "rsqrt",
    "save",
    "scatter",
    "scatter_add",
    "searchsorted",
    "select",
    "set_default_device",
    "set_default_dtype",
    "set_default_tensor_type",
    "set_grad_enabled",
    "set_num_threads",
    "set_printoptions",
    "set_rng_state",
    "short",
    "sigmoid",
    "sign",
    "sin",
    "sinh",
    "softmax",
    "sort",
    "split",
    "split_with_sizes",
    "sqrt",
    "square",
    "squeeze",
    "stack",
    "state",
    "std",
    "std_mean",
    "sub",
    "sum",
    "svd",
    "swapaxes",
    "t",
    "take_along_dim",
    "tan",
    "tanh",
    "tensor",
    "tensor_split",
    "tensordot",
    "tile",
    "topk",
    "trace",
    "training",
    "transpose",
    "tril",
    "triu",
    "trunc",
    "uint8",
    "unbind",
    "unflatten",
    "unique",
    "unsqueeze",
    "var",
    "var_mean",
    "vstack",
    "where",
    "xlogy",
    "zeros",
    "zeros_like",
]
