"""All contenders, in the order of the table."""

from __future__ import annotations

from functools import partial

from benchmarks.contenders import by_hand, hips_autograd, jax_jit, micrograd, mygrad, tinygrad_jit, torch_style
from benchmarks.contenders.base import Contender

CONTENDERS = (
    Contender("ours, guard off", "ours", "tinygrad_edu", partial(torch_style.ours, guarded=False)),
    Contender("ours", "ours", "tinygrad_edu", torch_style.ours),
    Contender("ours, all exposed", "ours", "tinygrad_edu", partial(torch_style.ours, exposed=True)),
    Contender(
        "ours, all exposed, guard off", "ours", "tinygrad_edu", partial(torch_style.ours, exposed=True, guarded=False)
    ),
    Contender("ours, compiled", "ours", "tinygrad_edu", torch_style.ours_compiled),
    Contender("ours, by Numba", "ours", "tinygrad_edu", torch_style.ours_by_numba),
    Contender("NumPy by hand", "numpy", "numpy", by_hand.make),
    Contender("PyTorch eager", "torch", "torch", torch_style.pytorch),
    Contender("torch.compile", "compile", "torch", torch_style.pytorch_compiled),
    Contender("jax.jit", "jax", "jax", jax_jit.make),
    Contender("MyGrad, guard on", "mygrad", "mygrad", partial(mygrad.make, guarded=True)),
    Contender("MyGrad, guard off", "mygrad", "mygrad", partial(mygrad.make, guarded=False)),
    Contender("HIPS autograd", "autograd", "autograd", hips_autograd.make),
    Contender("tinygrad JIT", "tinygrad", "tinygrad", tinygrad_jit.make),
    Contender("micrograd", "micrograd", "micrograd", micrograd.make),
)
GROUPS = tuple(dict.fromkeys(contender.group for contender in CONTENDERS))
BASELINES = ("PyTorch eager", "ours")  # the first that takes part
REFERENCE = by_hand.make  # what everyone's numbers are compared with
