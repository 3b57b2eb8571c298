"""Names of parameters, their order, keyword-only marks and defaults, beside PyTorch's own; and NumPy's spellings."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

import tinygrad_edu as tg
import tinygrad_edu.nn.functional as F
from tests.support import ROOT
from tinygrad_edu import data, nn, optim
from tinygrad_edu.errors import EduError, KeywordError
from tinygrad_edu.inputs.kinds import OLD_ARGUMENTS
from tinygrad_edu.inputs.left_out import LEFT_OUT, why_not
from tinygrad_edu.tensor.typed import WORDS

torch = pytest.importorskip("torch", reason="needs PyTorch: pip install -e '.[peers]'")
pytestmark = pytest.mark.peers

from tests.peers import signatures  # noqa: E402  (it imports PyTorch)


class Case(NamedTuple):
    """A public callable of ours that PyTorch has too, and how it is called there."""

    where: str
    name: str
    ours: Any
    theirs: list[inspect.Signature]

    def differences(self) -> list[str]:
        method = self.where in ("Tensor", "Module")
        return signatures.differences(inspect.signature(self.ours), self.theirs, method)


PLACES: dict[str, tuple[Any, Any]] = {
    "tg": (tg, torch), "Tensor": (tg.Tensor, torch.Tensor), "F": (F, torch.nn.functional), "nn": (nn, torch.nn),
    "Module": (nn.Module, torch.nn.Module), "init": (nn.init, torch.nn.init), "utils": (nn.utils, torch.nn.utils),
    "optim": (optim, torch.optim), "lrs": (optim.lr_scheduler, torch.optim.lr_scheduler),
    "data": (data, torch.utils.data),
}  # fmt: skip
# Of these the stubs tell no signature, or another one than the function has.
UNTOLD = {
    ("tg", "finfo"): "a class, with one argument", ("tg", "iinfo"): "a class, with one argument",
    ("tg", "tensor"): "the stub lets dtype stand by position, the function does not",
    ("tg", "einsum"): "*args, for the equation may stand among the operands",
    ("tg", "result_type"): "overloads for numbers alone; a number may stand for any tensor here",
    ("tg", "linspace"): "a deprecated overload without steps",
    ("tg", "logspace"): "a deprecated overload without steps",
    ("Tensor", "requires_grad_"): "the stub calls it mode, the function requires_grad",
    ("Tensor", "random_"): "from is a word of Python's, so both limits go by position",
    ("F", "gelu"): "its help lets approximate stand by position, the function does not",
    ("Tensor", "contiguous"): "the stub lets memory_format stand by position, the function does not",
    ("Tensor", "is_contiguous"): "the stub lets memory_format stand by position, the function does not",
    **{("tg", name): "a class, with numbers or a size, as Tensor has" for name in WORDS.values()},
    ("nn", "RNN"): "*args and **kwargs, for two overloads", ("nn", "GRU"): "*args and **kwargs, for two overloads",
    ("nn", "LSTM"): "*args and **kwargs, for two overloads",
}  # fmt: skip


def cases() -> Iterator[Case]:
    for where, (ours, theirs) in PLACES.items():
        for name in dir(ours):
            mine, other = getattr(ours, name, None), getattr(theirs, name, None)
            if name.startswith("_") or (where, name) in UNTOLD or not (callable(mine) and callable(other)):
                continue
            if isinstance(mine, type) and (where in ("tg", "Tensor", "F") or name in ("Tensor", "Generator")):
                continue
            if where == "tg" and name not in tg.__all__:
                continue
            told = {"tg": signatures.of_function, "Tensor": signatures.of_method}.get(where)
            yield Case(where, name, mine, told(name) if told else signatures.of_python(other))


CASES = {f"{case.where}.{case.name}": case for case in cases()}
_LINALG = "linalg's function, with its own name for the matrix and its out="
_PIECES = (
    "indices missing", "sections missing", "tensor_indices_or_sections missing", "indices_or_sections is ours alone",
)  # fmt: skip
_ONE = "one signature covers all of PyTorch's overloads, and its own error names what is missing"
# What is different on purpose, besides keywords that are left out: see `inputs.left_out`.
DIFFERENT: dict[str, tuple[tuple[str, ...], str]] = {
    "tg.compile": (
        ("backend='numpy'", "name missing", "recompile_limit", "isolate_recompiles", "shapes_spec"),
        "its generators are its own; the ledger tells what programs there are, and their number has one limit; "
        "`dynamic` is off unless asked for",
    ),
    "tg.arange": (("end=None, not required",), _ONE),
    "tg.broadcast_to": (("size=None, not required",), _ONE),
    "tg.flip": (("dims=None, not required",), _ONE),
    "tg.permute": (("dims=None, not required",), _ONE),
    "tg.reshape": (("shape=None, not required",), _ONE),
    "tg.tile": (("dims=None, not required",), _ONE),
    "tg.repeat_interleave": (("repeats=None, not required",), _ONE),
    "tg.randint": (("high=None, not required", "size=None, not required"), _ONE),
    "tg.randint_like": (("high=None, not required",), _ONE),
    "tg.std": (("unbiased=None, not True",), "None means that it was not given, and counts as True"),
    "tg.var": (("unbiased=None, not True",), "None means that it was not given, and counts as True"),
    "tg.std_mean": (("unbiased=None, not True",), "None means that it was not given, and counts as True"),
    "tg.var_mean": (("unbiased=None, not True",), "None means that it was not given, and counts as True"),
    "tg.isin": (("element missing", "test_element missing"), "a number takes the place of the tensor, under its name"),
    "tg.meshgrid": (("indexing='ij', not None",), "PyTorch's None means 'ij', and warns"),
    "tg.norm": (("out at None, not 4", "dtype at 4, not 5"), "out= is always given by name"),
    "Tensor.broadcast_to": (("size=None, not required",), _ONE),
    "Tensor.expand": (("size=None, not required",), _ONE),
    "Tensor.flip": (("dims=None, not required",), _ONE),
    "Tensor.permute": (("dims=None, not required",), _ONE),
    "Tensor.repeat": (("repeats=None, not required",), _ONE),
    "Tensor.repeat_interleave": (("repeats=None, not required",), _ONE),
    "Tensor.reshape": (("shape=None, not required",), _ONE),
    "Tensor.tile": (("dims=None, not required",), _ONE),
    **{f"tg.{name}": (("size=None, not required",), _ONE) for name in ("empty", "ones", "rand", "randn", "zeros")},
    "tg.tensor_split": (_PIECES, "indices_or_sections covers both, as in PyTorch's documentation"),
    "Tensor.tensor_split": (_PIECES, "indices_or_sections covers both, as in PyTorch's documentation"),
    "tg.tensordot": (("out at None, not 3",), "out= is always given by name"),
    "tg.det": (("input missing", "A is ours alone", "out is ours alone"), _LINALG),
    "tg.svd": (("input missing", "x is ours alone", "out missing"), _LINALG),
    "tg.inverse": (("input missing", "x is ours alone"), _LINALG),
    "Tensor.cholesky_solve": (("out is ours alone",), _LINALG),
    "Tensor.det": (("out is ours alone",), _LINALG),
    "Tensor.inverse": (("out is ours alone",), _LINALG),
    "Tensor.squeeze_": (("*dim missing",), "several axes are given as a tuple"),
    "Tensor.count_nonzero": (("*dim missing",), "several axes are given as a tuple"),
    "Tensor.squeeze": (("*dim missing",), "several axes are given as a tuple"),
    "Tensor.std": (("unbiased=None, not True",), "None means that it was not given, and counts as True"),
    "Tensor.var": (("unbiased=None, not True",), "None means that it was not given, and counts as True"),
    "F.huber_loss": (("weight at None, not 4",), "weight is given by name, as in the other losses"),
    "F.softmax": (("dtype at None, not 3",), "dtype is given by name"),
    "F.log_softmax": (("dtype at None, not 3",), "dtype is given by name"),
    "F.softmin": (("dtype at None, not 3",), "dtype is given by name"),
    "data.DataLoader": (("worker is ours alone",), "worker='thread' makes the workers threads"),
    "data.random_split": (("generator=None, not ",), "the same generator: the one that manual_seed seeds"),
    "Module.state_dict": (("*args missing",), "deprecated in PyTorch: its arguments are given by name"),
}


def excused(case: Case, difference: str) -> bool:
    if difference.endswith(" missing") and why_not(case.name, difference.removesuffix(" missing")):
        return True
    if why_not(case.name, "size_average") and " at None, not " in difference:
        return True  # what follows the two that are left out goes by name, so that no value lands in another place
    return any(difference.startswith(known) for known in DIFFERENT.get(f"{case.where}.{case.name}", ((), ""))[0])


def test_most_of_what_there_is_has_been_compared() -> None:
    counts = {where: sum(case.where == where for case in CASES.values()) for where in PLACES}
    least = {"tg": 170, "Tensor": 230, "F": 50, "nn": 90, "Module": 40, "init": 14, "utils": 4, "optim": 5, "lrs": 14}
    assert {where: count for where, count in counts.items() if count < least.get(where, 10)} == {}
    assert [name for name, case in CASES.items() if not case.theirs] == []


@pytest.mark.parametrize("name", sorted(CASES))
def test_signature(name: str) -> None:
    case = CASES[name]
    assert [difference for difference in case.differences() if not excused(case, difference)] == []


def test_no_excuse_is_out_of_date() -> None:
    found = {name: case.differences() for name, case in CASES.items()}
    for name, (differences, _) in DIFFERENT.items():
        for known in differences:
            assert any(one.startswith(known) for one in found[name]), f"{name}: {known}"
    untold = {name for _, name in UNTOLD}
    for keyword, names, _ in LEFT_OUT:
        for name in set(names.split()) - untold:
            same = [key for key in found if key.endswith(f".{name}")]
            assert any(f"{keyword} missing" in found[key] for key in same), f"{name}: {keyword}"


@pytest.mark.parametrize(
    ("ours", "overload", "expected"),
    [
        (lambda input, dim: 0, lambda input, dim: 0, []),
        (lambda x, dim: 0, lambda input, dim: 0, ["input missing", "x is ours alone"]),
        (lambda dim, input: 0, lambda input, dim: 0, ["input at 1, not 0", "dim at 0, not 1"]),
        (lambda input, p=1: 0, lambda input, p=2: 0, ["p=1, not 2"]),
        (lambda input, p=1: 0, lambda input, p=True: 0, ["p=1, not True"]),
        (lambda input, p: 0, lambda input, p=2: 0, ["p without default 2"]),
        (lambda input, p=2: 0, lambda input, p: 0, ["p=2, not required"]),
        (lambda input, p=2: 0, lambda input, *, p=2: 0, ["p is not keyword-only"]),
        (lambda input, *, p=2: 0, lambda input, p=2: 0, ["p at None, not 1"]),
        (lambda input: 0, lambda *input: 0, ["*input missing"]),
    ],
)  # fmt: skip
def test_every_kind_of_difference_is_seen(ours: Any, overload: Any, expected: list[str]) -> None:
    assert signatures.differences(inspect.signature(ours), [inspect.signature(overload)]) == expected


# Calls by name, on both sides -----------------------------------------------------------------------------------------

CALLS = {
    "mul": lambda t, x, y: t.mul(input=x, other=y), "add": lambda t, x, y: t.add(input=x, other=y, alpha=2),
    "pow": lambda t, x, y: t.pow(input=x, exponent=y), "x.add": lambda t, x, y: x.add(other=y),
    "x.mul": lambda t, x, y: x.mul(other=y), "x.add_": lambda t, x, y: x.clone().add_(other=y),
    "tanh": lambda t, x, y: t.tanh(input=x), "matmul": lambda t, x, y: t.matmul(input=x, other=y.T),
    "lerp": lambda t, x, y: t.lerp(input=x, end=y, weight=0.5),
    "where": lambda t, x, y: t.where(condition=x > y, input=x, other=y),
    "sum": lambda t, x, y: t.sum(x, axis=1, keepdims=True), "x.sum": lambda t, x, y: x.sum(axis=0),
    "x.mean": lambda t, x, y: x.mean(axis=0, keepdims=True), "max": lambda t, x, y: t.max(x, axis=1).values,
    "max of two": lambda t, x, y: t.max(x, other=y), "argmax": lambda t, x, y: x.argmax(axis=-1),
    "softmax": lambda t, x, y: t.softmax(x, axis=-1), "cat": lambda t, x, y: t.cat([x, y], axis=1),
    "stack": lambda t, x, y: t.stack(tensors=[x, y], axis=1), "cumsum": lambda t, x, y: x.cumsum(axis=0),
    "unsqueeze": lambda t, x, y: x.unsqueeze(axis=0), "sort": lambda t, x, y: t.sort(x, axis=0).indices,
    "x1 and x2": lambda t, x, y: t.sub(x1=x, x2=y), "var": lambda t, x, y: x.var(axis=1),
    "relu": lambda t, x, y: t.nn.functional.relu(input=x), "split": lambda t, x, y: x.split(split_size=1)[1],
    "split of": lambda t, x, y: t.split(tensor=x, split_size_or_sections=1)[1],
    "max, out": lambda t, x, y: t.max(x, 1, out=(t.zeros(2), t.zeros(2, dtype=t.int64))).values,
    "index_select, out": lambda t, x, y: t.index_select(x, 0, t.tensor([1]), out=t.zeros(1, 3)),
    "softmax, dtype": lambda t, x, y: t.softmax(x, 1, t.float64), "uniform_": lambda t, x, y: x.uniform_(to=0.0) * 0,
}  # fmt: skip


@pytest.mark.parametrize("name", list(CALLS))
def test_calls_by_name(name: str) -> None:
    values = np.random.default_rng(0).normal(size=(2, 2, 3)).astype(np.float32) ** 2
    results = [CALLS[name](t, *(t.tensor(v.tolist()) for v in values)) for t in (tg, torch)]
    assert tuple(results[0].shape) == tuple(results[1].shape)
    assert str(results[0].dtype) == str(results[1].dtype).removeprefix("torch.")
    np.testing.assert_allclose(results[0].numpy(), results[1].numpy(), rtol=1e-6)


# Keywords that there are not ------------------------------------------------------------------------------------------

# One call costs these most of what they do, so nothing stands around them, and Python itself refuses the keyword.
BARE = {
    ("out", "add"), ("out", "sub"), ("out", "mul"), ("out", "floor_divide"), ("dtype", "view"), ("implicit", "expand"),
    ("always_call", "register_forward_hook"),
}  # fmt: skip


def ours(name: str) -> Callable[..., Any]:
    """What is called so and has something around it, which may speak for it."""
    found = (getattr(place, name, None) for place in (tg, F, nn, tg.Tensor))
    return next(one for one in found if isinstance(one, type) or hasattr(one, "__wrapped__"))


@pytest.mark.parametrize(
    ("keyword", "name"),
    [(k, n) for k, names, _ in LEFT_OUT for n in names.split() if (k, n) not in BARE and k not in OLD_ARGUMENTS],
)
def test_a_keyword_that_is_left_out_is_told(keyword: str, name: str) -> None:
    required = [
        p
        for p in inspect.signature(ours(name)).parameters.values()
        if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD
    ]
    given = [tg.ones(2) if p.name in ("input", "self") else 1 for p in required]
    with pytest.raises(KeywordError, match=rf"^{name} with {keyword}=.*\n  why:  PyTorch's {name} has it, .*leaves"):
        ours(name)(*given, **{keyword: None})


@pytest.mark.parametrize(("keyword", "name"), sorted(BARE - {("always_call", "register_forward_hook")}))
def test_python_refuses_the_others_by_name(keyword: str, name: str) -> None:
    with pytest.raises(TypeError, match=keyword) as caught:
        getattr(tg.ones(2), name)(**{keyword: None})
    assert not isinstance(caught.value, EduError), "take it off BARE"


@pytest.mark.parametrize(
    ("call", "why", "mend"),
    [
        (lambda x: x.sum(dims=1), "it takes input, dim, keepdim, dtype", "did you mean dim?"),
        (lambda x: tg.sum(x, whatever=1), "it takes input, dim, keepdim, dtype, out", "there are: input, dim"),
        (lambda x: tg.sum(x, dim=1, axis=0), "NumPy's word for dim, which is given too", "give one of the two"),
        (lambda x: tg.zeros(2, dtyp="int8"), "it takes size, dtype, device, requires_grad", "did you mean dtype?"),
    ],
)  # fmt: skip
def test_other_keywords_are_refused_in_words(call: Any, why: str, mend: str) -> None:
    with pytest.raises(KeywordError) as caught:
        call(tg.ones(2, 2))
    assert isinstance(caught.value, TypeError)
    assert why in caught.value.why and mend in caught.value.mend


def test_a_failure_inside_is_not_taken_for_a_wrong_keyword() -> None:
    def collate(batch: list[Any]) -> Any:
        return max(batch, axis=0)  # type: ignore[call-overload]

    with pytest.raises(TypeError, match="axis") as caught:
        next(iter(data.DataLoader([1, 2], collate_fn=collate)))
    assert not isinstance(caught.value, KeywordError)


def test_the_documentation_names_what_is_left_out() -> None:
    page = (ROOT / "docs" / "left_out.md").read_text()
    for keyword, names, why in LEFT_OUT:
        row = f"| `{keyword}` | {', '.join(f'`{name}`' for name in names.split())} | {why} |"
        assert row in page, f"write it into docs/left_out.md:\n{row}"
    for name, (_, reason) in DIFFERENT.items():
        assert f"`{name}`" in page and reason in page, f"{name}: {reason}"
