"""PyTorch's own samples: every operation that both have, on the inputs that PyTorch tests itself with.

Values, shapes, dtypes and gradients must agree, a result must be a view where PyTorch's is one, and what PyTorch
refuses must be refused here, by an error of ours. ``python -m tests.peers.test_samples NAME …`` prints each failure.
"""

from __future__ import annotations

import sys
import traceback
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tinygrad_edu as tg
from tests.peers import sample_notes as notes
from tinygrad_edu.errors import EduError

torch = pytest.importorskip("torch", reason="needs PyTorch: pip install -e '.[peers]'")
invocations = pytest.importorskip(
    "torch.testing._internal.common_methods_invocations", reason="needs expecttest, for PyTorch's own samples"
)
pytestmark = pytest.mark.peers

DTYPES = ("float64", "float32", "int64", "bool")
TOLERANCE = {"float64": 1e-10, "float32": 2e-4}


def infos() -> list[Any]:
    """PyTorch's descriptions of the operations that we have too, their variants told apart."""
    return [info for info in invocations.op_db if info.name in notes.NAMES and full_name(info) not in notes.NOT_OURS]


def full_name(info: Any) -> str:
    return f"{info.name}.{info.variant_test_name}" if info.variant_test_name else info.name


def ours(info: Any) -> Any:
    """The function of the same name."""
    for name in (full_name(info), info.name):
        if name in notes.CALLS:
            return notes.CALLS[name]
    if info.name.startswith("nn.functional."):
        return getattr(tg.nn.functional, info.name.removeprefix("nn.functional."))
    return getattr(tg, info.name, None) or getattr(tg.Tensor, info.name)


def name_of(dtype: Any) -> str:
    return str(dtype).removeprefix("torch.")


def translate(value: Any, leaves: list[tuple[Any, Any]]) -> Any:
    """An argument of PyTorch's as one of ours, tensors with the same strides. Leaves are noted in pairs."""
    if isinstance(value, torch.Tensor):
        array = value.detach().numpy()
        result = tg.from_numpy(array.copy() if any(s < 0 for s in array.strides) else array)
        if value.requires_grad:
            result.requires_grad_()
            leaves.append((result, value))
        return result
    if isinstance(value, torch.dtype):
        return tg.dtypes.as_dtype(name_of(value))
    if isinstance(value, torch.device):
        return str(value)
    if isinstance(value, torch.Size):
        return tuple(value)
    if isinstance(value, (tuple, list)):
        return type(value)(translate(item, leaves) for item in value)
    return value


def flat(result: Any) -> list[Any]:
    """The tensors of a result, which may be one, several, or a number."""
    if isinstance(result, (tuple, list)):
        return [part for item in result for part in flat(item)]
    return [result]


def compare(found: Any, expected: Any, dtype: str, views: bool) -> None:
    """One tensor, or number, with PyTorch's."""
    if not isinstance(expected, torch.Tensor):
        assert type(found) is type(expected), f"{found!r} is no {type(expected)}"
        assert found == expected or (found != found and expected != expected)
        return
    assert isinstance(found, tg.Tensor), f"not a tensor: {found!r}"
    assert tuple(found.shape) == tuple(expected.shape), f"shape {found.shape}, not {tuple(expected.shape)}"
    assert found.dtype.name == name_of(expected.dtype), f"dtype {found.dtype}, not {expected.dtype}"
    assert found.requires_grad == expected.requires_grad, f"requires_grad is {found.requires_grad}"
    if views:
        assert (found.origin is not None) == expected._is_view(), f"PyTorch's result is a view: {expected._is_view()}"
    tolerance = TOLERANCE.get(dtype, 1e-6)
    np.testing.assert_allclose(
        np.asarray(found.detach().array), values_of(expected), rtol=tolerance, atol=tolerance, equal_nan=True
    )


def values_of(tensor: Any) -> Any:
    """PyTorch's values as an array; NumPy knows no bfloat16 of theirs."""
    plain = tensor.detach()
    return (plain.float() if plain.dtype == torch.bfloat16 else plain).numpy()


def samples(info: Any, dtype: str) -> Iterator[Any]:
    """What PyTorch tries the operation on, less what our notes leave out, with a reason."""
    kind = getattr(torch, dtype)
    if kind not in info.dtypes:
        return
    grad = info.supports_autograd and kind.is_floating_point
    torch.manual_seed(0)
    for sample in info.sample_inputs("cpu", kind, requires_grad=grad):
        if not notes.left_out(full_name(info), sample, torch):
            yield sample


def check(info: Any, sample: Any, dtype: str) -> None:
    """One sample: the result and its gradients."""
    pairs: list[tuple[Any, Any]] = []
    expected = info.op(sample.input, *sample.args, **sample.kwargs)
    function = ours(info)
    arguments = [translate(a, pairs) for a in (sample.input, *sample.args)]
    keywords = {key: translate(value, pairs) for key, value in sample.kwargs.items() if key != "memory_format"}
    found = function(*arguments, **keywords)
    parts, wanted = flat(found), flat(expected)
    assert len(parts) == len(wanted), f"{len(parts)} results, not {len(wanted)}"
    views = full_name(info) not in notes.COPIES_MAY_DIFFER
    for one, other in zip(parts, wanted, strict=True):
        if full_name(info) in notes.UNPREDICTABLE:
            assert (tuple(one.shape), one.dtype.name) == (tuple(other.shape), name_of(other.dtype))
        else:
            compare(one, other, dtype, views)
    if full_name(info) in notes.UNPREDICTABLE:
        return
    smooth = [i for i, w in enumerate(wanted) if isinstance(w, torch.Tensor) and w.requires_grad]
    if not smooth or full_name(info) in notes.NO_GRADIENT:
        return
    rng = np.random.default_rng(0)
    weights = [np.asarray(rng.normal(size=tuple(wanted[i].shape))).astype("float32") for i in smooth]
    kinds = [wanted[i].dtype for i in smooth]
    leaves = [theirs for _, theirs in pairs]
    theirs = torch.autograd.grad(
        [wanted[i] for i in smooth],
        leaves,
        [torch.from_numpy(w).to(kind) for w, kind in zip(weights, kinds, strict=True)],
        allow_unused=True,
    )
    mine = tg.autograd.grad(
        [parts[i] for i in smooth],
        [leaf for leaf, _ in pairs],
        [tg.tensor(w, dtype=name_of(kind)) for w, kind in zip(weights, kinds, strict=True)],
        allow_unused=True,
    )
    for one, other in zip(mine, theirs, strict=True):
        if one is None or other is None:  # PyTorch sometimes answers zeros where nothing depends on it
            for g in (one, other):
                assert g is None or not np.asarray(g.detach().numpy()).any(), "a gradient is missing"
        else:
            compare(one, other, dtype, views=False)


@pytest.mark.drawn(1 / 2)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("info", infos(), ids=full_name)
def test_samples(info: Any, dtype: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for sample in samples(info, dtype):
            check(info, sample, dtype)


def mistakes(info: Any) -> Iterator[Any]:
    """What PyTorch refuses, less what our notes leave out."""
    if info.error_inputs_func is None:
        return
    for error in info.error_inputs("cpu"):
        if not notes.left_out_mistake(full_name(info), error, torch):
            yield error


def refuse(info: Any, error: Any) -> None:
    """Both refuse."""
    sample = error.sample_input
    arguments = [translate(a, []) for a in (sample.input, *sample.args)]
    keywords = {key: translate(value, []) for key, value in sample.kwargs.items()}
    try:
        result = ours(info)(*arguments, **keywords)
    except (EduError, TypeError):
        return
    raise AssertionError(f"PyTorch refuses this: {error.error_regex}; ours gave {result!r:.200}")


@pytest.mark.parametrize("info", infos(), ids=full_name)
def test_mistakes(info: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for error in mistakes(info):
            refuse(info, error)


def main(names: list[str]) -> None:
    """Print what fails, and the counts."""
    warnings.simplefilter("ignore")
    total = good = 0
    for info in infos():
        if names and info.name not in names and full_name(info) not in names:
            continue
        tried = [(dtype, sample, check) for dtype in DTYPES for sample in samples(info, dtype)]
        tried += [("mistake", error, lambda i, e, _: refuse(i, e)) for error in mistakes(info)]
        failures = 0
        for dtype, sample, run in tried:
            total += 1
            try:
                run(info, sample, dtype)
                good += 1
            except Exception as error:
                failures += 1
                if failures <= 3 and names:
                    print(f"--- {full_name(info)} {dtype}: {str(sample)[:600]}")
                    print("   ", " | ".join(traceback.format_exception_only(error)).strip()[:600])
        print(f"{full_name(info)}: {len(tried) - failures} of {len(tried)}{'   <---' if failures else ''}")
    print(f"{good} of {total} samples of {len(infos())} operations")


if __name__ == "__main__":
    main(sys.argv[1:])
