"""What each argument takes, by its annotation or its name: looked up where a function fails or a layer is made.

A function that was given junk fails somewhere inside, in NumPy's words. Only then does `explained` look for the
argument to blame, so a call that succeeds pays next to nothing.
"""

from __future__ import annotations

import inspect
import numbers
import os
from collections.abc import Callable, Mapping
from functools import wraps
from types import FunctionType
from typing import Any, ParamSpec, TypeVar

import numpy as np

from ..common.lines import PACKAGE, own
from ..common.wording import shown
from ..core.base import TensorBase
from ..errors import ArgumentError, DtypeError, EduError, KeywordError
from .keywords import never_began, respelt, signature_of

P = ParamSpec("P")
R = TypeVar("R")
Taken = tuple[Callable[[Any], bool], str, str]  # whether a value fits, what is taken, how to fix it
_GENERATED = f"{PACKAGE}generated"
_PYTHON = os.path.dirname(os.__file__) + os.sep
_NUMPY = os.path.dirname(np.__file__) + os.sep
JUNK = (TypeError, ValueError, AttributeError, LookupError, ArithmeticError)  # what junk causes, deep inside


def kind_of(value: Any) -> str:
    """What a value is, in two or three words."""
    if value is None:
        return "None"
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if isinstance(value, TensorBase):
        return f"a tensor {tuple(value.array.shape)}"
    name = type(value).__name__
    return f"{'an' if name[:1] in 'aeiou' else 'a'} {name}"


# What each annotation, and each name that speaks for itself, takes ---------------------------------------------------


def _is_one(value: Any) -> bool:
    """A tensor or an array with a single element, which stands for its number."""
    return hasattr(value, "ndim") and value.ndim == 0


def _is_whole(value: Any) -> bool:
    if isinstance(value, TensorBase):
        return value.array.size == 1 and value.array.dtype.kind in "iu"
    return hasattr(type(value), "__index__") and not isinstance(value, np.ndarray)


def _is_number(value: Any) -> bool:
    return isinstance(value, (numbers.Real, np.bool_)) or (_is_one(value) and value.dtype.kind not in "OUSMmc")


def _is_flag(value: Any) -> bool:
    return isinstance(value, (numbers.Integral, np.bool_)) or (_is_one(value) and value.dtype.kind in "biu")


def _is_data(value: Any) -> bool:
    return isinstance(value, (TensorBase, np.ndarray, list, tuple, range, numbers.Real, np.generic))


def _is_tensor(value: Any) -> bool:
    return isinstance(value, TensorBase)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _several(value: Any) -> bool:
    """One integer, or a row of them."""
    if isinstance(value, (list, tuple, range)):
        return all(_is_whole(item) for item in value)
    return _is_whole(value)


def _row(value: Any) -> bool:
    return isinstance(value, (list, tuple)) or (isinstance(value, TensorBase) and value.array.ndim > 0)


_INT: Taken = (_is_whole, "an integer", "give one integer, such as 1")
_SIZES: Taken = (_several, "an integer, or a tuple of them", "give integers, such as 2 or (2, 3)")
_FLAG: Taken = (_is_flag, "True or False", "write True or False")
_NUMBER: Taken = (_is_number, "a number", "give one number, such as 0.5")
_TENSOR: Taken = (_is_tensor, "a tensor", "make a tensor of it first: tensor(…)")
_DATA: Taken = (_is_data, "a tensor", "pass a tensor, or what tensor(…) takes")
_TENSORS: Taken = (_row, "a list of tensors", "put them into a list: [x, y]")

BY_ANNOTATION: dict[str, Taken] = {
    "int": _INT,
    "float": _NUMBER,
    "bool": _FLAG,
    "str": (_is_text, "text", "write a name in quotes"),
    "Tensor": _TENSOR,
    "Dims": _SIZES,
    "int | tuple[int, ...]": _SIZES,
    "Callable[..., Any]": (callable, "a function", "pass a function, without calling it"),
}
_NAMES = {
    "x y input other target input1 input2 x1 x2 anchor positive negative query key value mask index indices source src "
    "tensor1 tensor2 mat1 mat2 vec vec2 end weight bias running_mean running_var attn_mask pos_weight var logits "
    "condition tensor grad_outputs": _DATA,
    "tensors parameters": _TENSORS,
    "kernel_size stride padding dilation output_padding output_size normalized_shape size split_size_or_sections "
    "split_sizes sizes shifts dims source_dims pad": _SIZES,
    "alpha beta fill_value p": _NUMBER,
    "generator": (lambda value: hasattr(value, "random") or hasattr(value, "stream"), "a Generator",
                  "use Generator().manual_seed(0)"),
}  # fmt: skip
BY_NAME = {name: taken for names, taken in _NAMES.items() for name in names.split()}


def taken(parameter: inspect.Parameter, names: bool = True) -> Taken | None:
    """What a parameter takes, by its annotation, or else by its name; None where nothing tells."""
    annotation = parameter.annotation if isinstance(parameter.annotation, str) else ""
    known = BY_ANNOTATION.get(annotation.removesuffix(" | None"))
    return known or (BY_NAME.get(parameter.name) if names else None)


def misfit(tried: str, parameter: inspect.Parameter, value: Any, names: bool = True) -> DtypeError | None:
    """The error for a value that its parameter does not take. The default always fits, and for a flag so does None."""
    known = taken(parameter, names)
    if known is None or value is parameter.default:
        return None
    fits, takes, mend = known
    optional = parameter.default is None or str(parameter.annotation).endswith("| None")
    if fits(value) or (value is None and (optional or takes == _FLAG[1])):
        return None
    why = f"{parameter.name} takes {takes}{', or None' if optional else ''}, but this is {kind_of(value)}"
    if takes == _INT[1] and isinstance(value, (float, np.floating)):
        mend = "use // where / gave a fraction"
    return DtypeError(f"{tried} with {parameter.name}={shown(value)}", why, mend)


# What old programs write, and what to write in its place.
OLD_ARGUMENTS = {
    "size_average": "write reduction='mean' for True, and reduction='sum' for False",
    "reduce": "leave it out for True, and write reduction='none' for False",
}

# Who is to blame -----------------------------------------------------------------------------------------------------


def blame(
    name: str, function: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], error: Exception
) -> EduError | None:
    """The error that names the argument; None if a function of the user's, called inside, has raised."""
    frame = error.__traceback__
    while frame is not None:
        filename = frame.tb_frame.f_code.co_filename
        if not own[filename] and not _known(filename):
            return None
        frame = frame.tb_next
    signature = signature_of(function)
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError:
        if "reduction" in signature.parameters and (old := sorted(kwargs.keys() & OLD_ARGUMENTS)):
            tried, why = f"{name}({old[0]}={shown(kwargs[old[0]])})", f"{old[0]} is an old name that is gone"
            return KeywordError(tried, why, OLD_ARGUMENTS[old[0]])
        return None  # Python's own words: an argument is missing, or is not known
    given = dict(bound.arguments)
    given.pop("self", None)
    for key, value in given.items():
        parameter = signature.parameters[key]
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        wrong = misfit(name, parameter, value)
        if wrong is not None:
            return wrong
    told = ", ".join(f"{key}={shown(value, 40)}" for key, value in given.items())
    kind = DtypeError if isinstance(error, (TypeError, AttributeError)) else ArgumentError
    return kind(f"{name}({told})", f"with these arguments it fails: {error}", "check what each of them is")


def _known(filename: str) -> bool:
    """Whether the file is NumPy's, or Python's own: code that we call, and that never calls the user's."""
    if filename.startswith((_NUMPY, "numpy/", "<__array_function__", "<frozen")):
        return True
    return filename.startswith(_PYTHON) and "site-packages" not in filename


def explained(function: Callable[P, R]) -> Callable[P, R]:
    """``function``, whose failures name the argument that caused them."""

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except EduError:
            raise
        except JUNK as error:
            spelt: Any = again(function, args, kwargs, error)
        return call(*args, **spelt)

    return call


def again(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], error: Exception) -> dict[str, Any]:
    """The keywords to call ``function`` with once more, where NumPy's spellings are all that was wrong.

    For the frame that has caught ``error``; raises what explains it otherwise.
    """
    if kwargs and never_began(error) and not kwargs.keys() & OLD_ARGUMENTS.keys():
        return respelt(function.__name__, function, kwargs, error)
    raise explanation(function.__name__, function, args, kwargs, error) from error


def explanation(name: str, function: Any, args: Any, kwargs: Mapping[str, Any], error: Exception) -> Exception:
    """What the frame that has caught ``error`` should raise: the error itself, if no argument is to blame."""
    inside = error.__traceback__ and error.__traceback__.tb_next
    return blame(name, function, args, kwargs, error.with_traceback(inside)) or error


def checked(init: Callable[..., None]) -> Callable[..., None]:
    """An ``__init__`` whose failures name the argument, and that refuses what its annotations do not take.

    The annotations are checked last, because its own errors explain more.
    """
    own = [p for p in signature_of(init).parameters.values() if p.kind is not p.VAR_KEYWORD][1:]
    places: list[Any] = [p if taken(p, names=False) and p.kind is p.POSITIONAL_OR_KEYWORD else None for p in own]
    named = {p.name: p for p in own if taken(p, names=False)}

    @wraps(init)
    def call(self: Any, *args: Any, **kwargs: Any) -> None:
        name = type(self).__name__
        try:
            init(self, *args, **kwargs)
        except EduError:
            raise
        except JUNK as error:
            if kwargs and never_began(error) and not kwargs.keys() & OLD_ARGUMENTS.keys():
                respelt(name, init, kwargs, error, {})
            raise explanation(name, init, (self, *args), kwargs, error) from error
        for parameter, value in [*zip(places, args, strict=False), *((named.get(k), v) for k, v in kwargs.items())]:
            if parameter is not None and (wrong := misfit(name, parameter, value, names=False)):
                raise wrong

    return call


def explain_all(namespace: dict[str, Any], *but: str) -> None:
    """Make the public functions of a module `explained`, and its constructors `checked`.

    All ``but`` those that are called so often that the extra call would show.
    """
    made: dict[Any, Any] = {}
    for name, found in list(namespace.items()):
        if name.startswith("_") or name in but or getattr(found, "__module__", "") != namespace["__name__"]:
            continue
        if isinstance(found, FunctionType) and not found.__code__.co_filename.startswith(_GENERATED):
            if found not in made:
                made[found] = explained(found)
            namespace[name] = made[found]  # one for all its names
        elif isinstance(found, type) and isinstance(found.__dict__.get("__init__"), FunctionType):
            found.__init__ = checked(found.__init__)  # type: ignore[misc]
