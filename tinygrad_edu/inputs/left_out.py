"""PyTorch's keywords that are left out here on purpose, and why. `tests/peers/test_signatures.py` finds all others."""

from __future__ import annotations

_MAKERS = "empty eye full ones rand randint randn zeros arange linspace randperm normal"
_LIKE = "empty_like full_like ones_like zeros_like rand_like randn_like randint_like"
_LOSSES = (
    "binary_cross_entropy binary_cross_entropy_with_logits cosine_embedding_loss cross_entropy hinge_embedding_loss "
    "kl_div l1_loss margin_ranking_loss mse_loss multi_margin_loss multilabel_margin_loss multilabel_soft_margin_loss "
    "nll_loss poisson_nll_loss smooth_l1_loss soft_margin_loss triplet_margin_loss BCELoss BCEWithLogitsLoss "
    "CosineEmbeddingLoss CrossEntropyLoss HingeEmbeddingLoss KLDivLoss L1Loss MSELoss MarginRankingLoss "
    "MultiLabelMarginLoss MultiLabelSoftMarginLoss MultiMarginLoss NLLLoss PoissonNLLLoss SmoothL1Loss SoftMarginLoss "
    "TripletMarginLoss"
)
_OLDER = "it is deprecated in PyTorch, and reduction= does the same"
_NO_PICKLE = "files are safetensors, and no pickle is read or written"

# The keyword, the functions, methods and classes that have it in PyTorch, and why they do without it here.
LEFT_OUT: tuple[tuple[str, str, str], ...] = (
    ("layout", f"{_MAKERS} {_LIKE}", "all tensors are dense"),
    ("pin_memory", f"{_MAKERS} {_LIKE} tensor", "pin_memory() copies a tensor to such memory"),
    (
        "memory_format",
        f"cpu cuda empty {_LIKE.replace('empty_like ', '')}",
        "contiguous(), to() and empty_like() take it",
    ),
    ("out", f"{_MAKERS} bernoulli multinomial normalize", "it makes a new tensor; fill an old one with copy_()"),
    ("out", "add sub mul floor_divide", "a method returns a new tensor; the function of the same name takes out="),
    ("names", "full", "axes have numbers, not names"),
    ("out_dtype", "addmm baddbmm bmm mm", "a product has the dtype of its factors"),
    ("sparse_grad", "gather", "all gradients are dense"),
    ("dtype", "view", "bytes are not read as another dtype; to() converts"),
    ("inputs", "backward", "autograd.grad gives the gradients of chosen tensors"),
    ("implicit", "expand", "it is private to PyTorch"),
    ("pickle_module", "load save", _NO_PICKLE),
    ("pickle_protocol", "save", _NO_PICKLE),
    ("mmap", "load", "a file is read whole, and checked"),
    ("_use_new_zipfile_serialization", "save", _NO_PICKLE),
    ("_disable_byteorder_record", "save", _NO_PICKLE),
    ("size_average", _LOSSES, _OLDER),
    ("reduce", _LOSSES, _OLDER),
    ("min_value", "Hardtanh", "it is deprecated in PyTorch, in favour of min_val"),
    ("max_value", "Hardtanh", "it is deprecated in PyTorch, in favour of max_val"),
    ("antialias", "interpolate", "an image that shrinks is not smoothed first"),
    ("_stacklevel", "softmax log_softmax softmin", "it is private to PyTorch"),
    ("always_call", "register_forward_hook", "a forward that raises has no output to look at"),
)


def why_not(name: str, keyword: str) -> str:
    """Why PyTorch's ``name`` has this keyword and ours does not; empty where PyTorch has none either."""
    found = (reason for known, names, reason in LEFT_OUT if known == keyword and name in names.split())
    return next(found, "")
