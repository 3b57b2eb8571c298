"""Random numbers. One stream per thread, one call to seed them all, and a `Generator` for a separate stream."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import backends
from ..backends import room
from ..common.blocks import block
from ..common.locks import local
from ..core.above import above
from ..core.base import TensorBase
from ..core.slow import announce
from ..dtypes import as_dtype, is_float
from ..errors import ArgumentError, DtypeError, ShapeError
from ..inputs.arguments import as_tensor, new_shape, number, size_of
from ..inputs.kinds import explain_all
from ..inputs.outside import outside
from ..ops.convert import laid
from ..settings import modes

if TYPE_CHECKING:
    from .tensor import Tensor


class _State:
    """The seed that everybody starts from, and each thread's own generator."""

    def __init__(self) -> None:
        self.seed: int | None = None
        self.local = local()
        self.epoch = 0  # raised by manual_seed, so that other threads restart too


_state = _State()


def manual_seed(seed: int) -> None:
    """Start the random streams of every thread from ``seed``: the same program then gives the same numbers.

    >>> import tinygrad_edu as tg
    >>> tg.manual_seed(0)
    >>> first = tg.rand(3)
    >>> tg.manual_seed(0)
    >>> (tg.rand(3) == first).all()
    tensor(True)
    """
    outside("stream", None)
    if getattr(_state.local, "alone", False):
        _state.local.generator = np.random.default_rng([_seed(seed)])
    else:
        _state.seed, _state.epoch = _seed(seed), _state.epoch + 1


def generator() -> np.random.Generator:
    """This thread's generator. The main thread's stream depends on the seed alone, another's on its name too."""
    own = _state.local
    if getattr(own, "alone", False):
        alone: np.random.Generator = own.generator
        return alone
    if getattr(own, "epoch", None) != _state.epoch or not hasattr(own, "generator"):
        own.epoch = _state.epoch
        own.generator = np.random.default_rng(None if _state.seed is None else [_state.seed, *_salt()])
    found: np.random.Generator = own.generator
    return found


def _salt() -> list[int]:
    """What makes this thread's stream different from the main thread's."""
    import threading

    thread = threading.current_thread()
    return [] if thread is threading.main_thread() else [int.from_bytes(thread.name.encode(), "big")]


@block
def seeded(seed: int) -> Iterator[None]:
    """In the block, this thread draws from a stream that begins at ``seed``; afterwards it goes on with its own.

    `manual_seed` inside the block is for this block only: no other thread starts again.
    """
    found, state, alone = generator(), _state.local, getattr(_state.local, "alone", False)
    state.generator, state.alone = np.random.default_rng([_seed(seed)]), True
    try:
        yield
    finally:
        state.generator, state.alone = found, alone


def _seed(seed: Any) -> int:
    """The seed as PyTorch reads it: it takes negative ones too."""
    try:
        return int(seed) % 2**64
    except (TypeError, ValueError, OverflowError):
        raise DtypeError(f"manual_seed({seed!r:.40})", "a seed is an integer", "use manual_seed(0)") from None


class Generator:
    """A separate stream of random numbers, beside that of `manual_seed`. Pass it as ``generator=…``.

    Until `manual_seed` or `seed` gives it another, it starts from a fixed seed, as PyTorch's does. A NumPy generator
    may be passed instead. Whatever its ``device``, it draws on the host, and serves every device.

    >>> import tinygrad_edu as tg
    >>> g = tg.Generator().manual_seed(3)
    >>> first = tg.rand(2, generator=g)
    >>> (tg.rand(2, generator=g.manual_seed(3)) == first).all()
    tensor(True)
    """

    def __init__(self, device: str = backends.CPU.name) -> None:
        self.device = backends.get(device).device
        self.manual_seed(67280421310721)  # PyTorch's

    def manual_seed(self, seed: int) -> Generator:
        """Start again from ``seed``, with the same numbers as after `tinygrad_edu.manual_seed`. Returns itself."""
        outside("stream", self)
        self._seed = _seed(seed)
        self.stream = np.random.default_rng([self._seed])
        return self

    def seed(self) -> int:
        """Start again from a seed that nobody can foresee. Returns the seed."""
        import secrets  # takes 3 ms, and few programs need it

        return self.manual_seed(secrets.randbits(64)).initial_seed()

    def initial_seed(self) -> int:
        """The seed that it last started from."""
        return self._seed

    def get_state(self) -> Tensor:
        """Its position in the stream, as bytes for `set_state`: a tensor of uint8, which `save` can write."""
        return _place(self._seed, self.stream)

    def set_state(self, new_state: Any) -> Generator:
        """Go on from the position that `get_state` returned. Raises `ArgumentError` for anything else."""
        mend = "pass what get_state() of a Generator returned"
        self._seed, self.stream = _placed("set_state of a Generator", new_state, mend)
        return self

    def __repr__(self) -> str:
        return f"Generator(seed={self._seed})"


def get_rng_state() -> Tensor:
    """Where this thread stands in its stream, in bytes for `set_rng_state`: a tensor of uint8, which `save` writes."""
    return _place(_state.seed, generator())


def set_rng_state(new_state: Any) -> None:
    """Go on drawing from where `get_rng_state` found the stream, in this thread.

    Raises `ArgumentError` for what does not say it.

    >>> import tinygrad_edu as tg
    >>> state = tg.get_rng_state()
    >>> first = tg.rand(3)
    >>> tg.set_rng_state(state)
    >>> (tg.rand(3) == first).all()
    tensor(True)
    """
    outside("stream", None)
    _, placed = _placed("set_rng_state", new_state, "pass what get_rng_state() returned")
    generator()  # a thread that has yet to draw would begin anew
    _state.local.generator = placed


def _place(seed: int | None, stream: np.random.Generator) -> Tensor:
    import json

    text = json.dumps([seed, stream.bit_generator.state])
    return above.wrap(np.array(bytearray(text.encode())))


def _placed(tried: str, state: Any, mend: str) -> tuple[Any, np.random.Generator]:
    """The seed and the stream that `_place` wrote down."""
    import json

    fresh = np.random.default_rng()
    try:
        seed, fresh.bit_generator.state = json.loads(np.asarray(_values(state), np.uint8).tobytes())
    except (KeyError, OverflowError, TypeError, ValueError):
        raise ArgumentError(tried, "the bytes do not hold the state of a stream", mend) from None
    return seed, fresh


if TYPE_CHECKING:
    AnyGenerator = Generator | np.random.Generator | None
else:  # numpy.random takes as long to import as all of the engine
    AnyGenerator = Any


def stream(given: AnyGenerator) -> np.random.Generator:
    """The generator that a ``generator=`` argument stands for. Raises `ArgumentError` for what cannot draw."""
    if modes().observers:
        outside("stream", given)
    return _stream(given)


def _stream(given: AnyGenerator) -> np.random.Generator:
    if isinstance(given, Generator):
        return given.stream
    if isinstance(given, np.random.Generator):
        return given
    if given is not None:
        why = f"random numbers come from a Generator, but this is a {type(given).__name__}"
        raise ArgumentError(f"generator={given!r:.60}", why, "use Generator().manual_seed(0)")
    return generator()


def drawn(draw: Callable[[np.random.Generator], Any], given: AnyGenerator, dtype: Any, home: backends.Backend) -> Any:
    """An array of random numbers on a device: what ``draw(rng)`` takes from the generator that ``given`` stands for."""

    def values() -> Any:
        return np.asarray(draw(_stream(given)), dtype)

    found = outside("draw", _stream(given), values) if modes().observers else None
    array = home.from_numpy(values()) if found is None else found
    announce(modes().observers, array, "created")
    return array


def _finish(
    draw: Callable[[np.random.Generator], Any], given: AnyGenerator, dtype: Any, device: str | None, requires_grad: bool
) -> Tensor:
    result = above.wrap(drawn(draw, given, dtype, backends.get(device or modes().device)))
    return result.requires_grad_() if requires_grad else result


def _float(name: str, dtype: Any) -> np.dtype[Any]:
    found = as_dtype(dtype or modes().dtype)
    if not is_float(found):
        why, mend = "these numbers have fractions", "use randint, or a float dtype"
        raise DtypeError(f"{name} of dtype {found}", why, mend)
    return found


# Uniform and normal -------------------------------------------------------------------------------------------------


def randn(
    *given: Any, size: Any = None,
    generator: AnyGenerator = None, dtype: Any = None, device: str | None = None, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """Normally distributed numbers, mean 0 and standard deviation 1. Raises `DtypeError` for a dtype of integers."""
    dtype = _float("randn", dtype)
    shape = new_shape("randn", size_of("randn", given, size), 8)
    return _finish(lambda rng: rng.standard_normal(shape), generator, dtype, device, requires_grad)


def rand(
    *given: Any, size: Any = None,
    generator: AnyGenerator = None, dtype: Any = None, device: str | None = None, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """Numbers spread evenly over [0, 1). Raises `DtypeError` for a dtype of integers."""
    dtype = _float("rand", dtype)
    shape = new_shape("rand", size_of("rand", given, size), 8)
    return _finish(lambda rng: _unit(rng, shape, dtype), generator, dtype, device, requires_grad)


_BITS = {"bfloat16": 8, "float16": 11, "float32": 24, "float64": 53}  # of the significand


def _unit(rng: np.random.Generator, shape: tuple[int, ...], dtype: Any) -> Any:
    """Numbers over [0, 1) that the dtype holds exactly: rounding would reach 1."""
    steps = 2.0 ** _BITS[dtype.name]
    return np.floor(rng.random(shape) * steps) / steps


def randint(
    low: Any = 0, high: Any = None, size: Any = None, *,
    generator: AnyGenerator = None, dtype: Any = None, device: str | None = None, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """Integers from ``low`` up to, not including, ``high``: ``randint(high, size)`` or ``randint(low, high, size)``.

    Raises `ShapeError` if there are none in between, `DtypeError` if the dtype cannot hold them all.
    """
    if size is None:
        low, high, size = 0, low, high
    elif high is None:
        low, high = 0, low
    kind = as_dtype(dtype or "int64")
    return _finish(lambda rng: _integers(rng, "randint", low, high, size, kind), generator, kind, device, requires_grad)


def _integers(rng: np.random.Generator, name: str, low: Any, high: Any, size: Any, dtype: Any) -> Any:
    tried = f"{name}({low!r}, {high!r}, {size!r})"
    try:
        first, last = operator.index(low), operator.index(high) - 1
    except TypeError:
        raise DtypeError(tried, "the limits are integers", "round them first") from None
    if not isinstance(size, (tuple, list)):
        raise DtypeError(tried, "the size is a tuple", f"write ({size!r},)")
    if first > last:
        raise ShapeError(tried, f"there is no integer from {first} up to, not including, {last + 1}", "raise high")
    lowest, highest = _range(dtype)
    if first < lowest or last > highest:
        raise DtypeError(tried, f"{dtype} holds all integers from {lowest} to {highest} only", "use int64")
    return rng.integers(first, last, new_shape(name, (size,), 8), endpoint=True)


def _range(dtype: Any) -> tuple[int, int]:
    """The limits between which this dtype holds every integer."""
    if dtype == np.bool_:
        return 0, 1
    if is_float(dtype):
        return -(2 ** _BITS[dtype.name]), 2 ** _BITS[dtype.name]
    limits = np.iinfo(dtype)
    return int(limits.min), int(limits.max)


def randperm(
    n: int, *,
    generator: AnyGenerator = None, dtype: Any = None, device: str | None = None, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """The integers 0 to n - 1 in random order. Raises `DtypeError` if the dtype cannot hold them all."""
    dtype = as_dtype(dtype or "int64")
    (count,), (_, highest) = new_shape("randperm", (n,), 8), _range(dtype)
    if count - 1 > highest:
        why, mend = f"{dtype} holds all integers up to {highest} only", "use int64"
        raise DtypeError(f"randperm({n})", why, mend)
    return _finish(lambda rng: rng.permutation(count), generator, dtype, device, requires_grad)


def rand_like(
    input: Any, *,
    generator: AnyGenerator = None, dtype: Any = None, device: str | None = None, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """`rand` with the shape, dtype and device of ``input`` unless others are named."""
    x = as_tensor(input)
    dtype, device = dtype or x.dtype, device or x.device
    made = laid(x, rand(tuple(x.shape), generator=generator, dtype=dtype, device=device))
    return made.requires_grad_() if requires_grad else made


def randn_like(
    input: Any, *,
    generator: AnyGenerator = None, dtype: Any = None, device: str | None = None, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """`randn` with the shape, dtype and device of ``input`` unless others are named."""
    x = as_tensor(input)
    dtype, device = dtype or x.dtype, device or x.device
    made = laid(x, randn(tuple(x.shape), generator=generator, dtype=dtype, device=device))
    return made.requires_grad_() if requires_grad else made


def randint_like(
    input: Any, low: Any = 0, high: Any = None, *,
    generator: AnyGenerator = None, dtype: Any = None, device: str | None = None, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """`randint` like ``input`` in shape, dtype and device.

    ``randint_like(input, high)`` or ``randint_like(input, low, high)``.
    """
    x = as_tensor(input)
    low, high = (0, low) if high is None else (low, high)
    kind = as_dtype(dtype or x.dtype)
    shape = tuple(x.shape)
    draw = partial(_integers, name="randint_like", low=low, high=high, size=shape, dtype=kind)
    made = laid(x, _finish(draw, generator, kind, device or x.device, False))
    return made.requires_grad_() if requires_grad else made


# With given probabilities. The results are outside the graph: a draw has no slope -----------------------------------


def normal(
    mean: Any, std: Any = 1.0, size: Any = None, *,
    generator: AnyGenerator = None, dtype: Any = None, device: str | None = None, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """Normally distributed numbers: one for each mean and deviation in tensors; for two numbers, ``size`` of them.

    Raises `ArgumentError` for a negative deviation, and `DtypeError` for integer tensors.
    """
    given = [x for x in (mean, std) if isinstance(x, (TensorBase, np.ndarray))]
    if not given:
        if size is None:
            why, mend = "two numbers do not say how many to draw", "give a size: normal(0.0, 1.0, (3,))"
            raise ShapeError(f"normal({mean!r}, {std!r})", why, mend)
        mean, std, shape = number("normal", mean), number("normal", std), new_shape("normal", (size,), 8)
        kind = _float("normal", dtype)
    else:
        first = as_tensor(given[0])
        kind, device = _float("normal", first.dtype), first.device
        mean, std = _values(mean), _values(std)
        try:
            shape = np.broadcast_shapes(np.shape(mean), np.shape(std))
        except ValueError:
            tried = f"normal with means {np.shape(mean)} and deviations {np.shape(std)}"
            why, mend = "they cannot be stretched to one shape", "make them equally long"
            raise ShapeError(tried, why, mend) from None
    return _finish(lambda rng: _normal(rng, "normal", mean, std, shape), generator, kind, device, requires_grad)


def _normal(rng: np.random.Generator, name: str, mean: Any, std: Any, shape: tuple[int, ...]) -> Any:
    if not np.all(np.asarray(std) >= 0):
        why, mend = "a standard deviation is not negative", "use its absolute value"
        raise ArgumentError(f"{name} with std={np.min(std)}", why, mend)
    return rng.standard_normal(shape) * np.asarray(std, np.float64) + np.asarray(mean, np.float64)


def bernoulli(input: Any, p: float | None = None, *, generator: AnyGenerator = None) -> Tensor:
    """Random 0s and 1s in the shape and dtype of ``input``, which holds the probability of a 1 at each place.

    With ``p`` that one probability holds everywhere. Raises `ArgumentError` for what is not a probability.
    """
    x = as_tensor(input)
    if p is None:
        _float("bernoulli", x.dtype)
    shares, shape = _values(x) if p is None else p, tuple(x.shape)
    return _finish(lambda rng: _flips(rng, "bernoulli", shares, shape), generator, x.dtype, x.device, False)


def _flips(rng: np.random.Generator, name: str, p: Any, shape: tuple[int, ...]) -> Any:
    """True with probability ``p``, a number or a tensor."""
    p = _values(as_tensor(p)) if hasattr(p, "ndim") else number(name, p, "p")
    p = np.asarray(p, np.float64)
    fits = zip(reversed(p.shape), reversed(shape), strict=False)
    if p.ndim > len(shape) or any(n not in (1, size) for n, size in fits):
        raise ShapeError(f"{name} with p {p.shape}", f"there is one for each element of {shape}", "give one number")
    wrong = p[~((p >= 0) & (p <= 1))]
    if wrong.size:
        why = f"a probability lies between 0 and 1, and {wrong[0]} does not"
        raise ArgumentError(name, why, "use sigmoid() to make probabilities of any numbers")
    return rng.random(shape) < p


def multinomial(input: Any, num_samples: int, replacement: bool = False, *, generator: AnyGenerator = None) -> Tensor:
    """Positions, as int64, drawn in proportion to the weights ``input``, of shape (n,) or (rows, n).

    Without ``replacement`` no position comes twice in a row. Raises `ShapeError` for weights that are negative, not
    finite or all 0, and for more samples than there are positions with a weight.
    """
    x = as_tensor(input)
    tried = f"multinomial of weights {tuple(x.shape)} {x.dtype} with num_samples={num_samples}"
    if not is_float(x.dtype):
        raise DtypeError(tried, "weights are floats", "convert them: x.float()")
    if x.ndim not in (1, 2):
        raise ShapeError(tried, "weights are a vector, or a matrix with one draw for each row", "reshape them")
    if num_samples < 1:
        raise ArgumentError(tried, "at least one sample is drawn", "use num_samples=1 or more")
    weights = np.asarray(_values(x), np.float64).reshape(math.prod(x.shape[:-1]), x.shape[-1])
    if not np.all(np.isfinite(weights) & (weights >= 0)):
        why, mend = "some weights are negative, infinite or nan", "use softmax() to make weights of any numbers"
        raise ShapeError(tried, why, mend)
    choices = np.count_nonzero(weights, axis=1)
    if np.any(choices < (1 if replacement else num_samples)):
        why = f"a row has {choices.min()} positions with a weight that is not 0"
        raise ShapeError(tried, why, "draw fewer, or with replacement=True")
    room.check(tried, (*x.shape[:-1], num_samples), 8)
    if replacement:
        sums = np.cumsum(weights, axis=1)
        draws = stream(generator).random((len(weights), num_samples))
        rows = [np.searchsorted(s, d * s[-1], side="right") for s, d in zip(sums, draws, strict=True)]
        found = np.reshape(rows, draws.shape)
    else:  # a race: a position with twice the weight arrives in half the time, on average
        with np.errstate(divide="ignore"):
            arrivals = stream(generator).standard_exponential(weights.shape) / weights
        found = np.argsort(arrivals, axis=1)[:, :num_samples]
    array = backends.get(x.device).from_numpy(np.asarray(found.reshape(*x.shape[:-1], num_samples), np.int64))
    announce(modes().observers, array, "created")
    return above.wrap(array)


_LIMITS = {"normal_": ("mean", "std"), "exponential_": ("lambd",), "uniform_": ("from_", "to")}


def values_for(x: TensorBase, name: str, *limits: Any, generator: AnyGenerator = None) -> Any:
    """The numbers with which an in-place method fills ``x``: ``normal_``, ``uniform_``, ``random_`` and the like."""
    shape, dtype, rng = tuple(x.shape), x.dtype, stream(generator)
    if name == "random_":  # over all integers from 0 that the dtype holds, unless there are limits
        low, high = (0, _range(dtype)[1] + 1) if not limits else (0, *limits) if len(limits) == 1 else limits
        return _integers(rng, name, low, high, shape, dtype)
    if name != "bernoulli_":
        limits = tuple(number(name, limit, what) for what, limit in zip(_LIMITS[name], limits, strict=True))
    else:
        return _flips(rng, name, limits[0], shape)
    dtype = _float(name, dtype)
    if name == "normal_":
        mean, std = limits
        return _normal(rng, name, mean, std, shape)
    if name == "exponential_":
        (rate,) = limits
        if not rate > 0:
            raise ShapeError(f"exponential_({rate})", "the rate is more than 0", "use 1 / mean")
        return rng.exponential(1 / rate, shape)
    low, high = limits
    if not low <= high:
        why, mend = "they run from the lower number to the higher", "swap them"
        raise ShapeError(f"uniform_({low}, {high})", why, mend)
    return low + (high - low) * _unit(rng, shape, dtype)


def _values(x: Any) -> Any:
    """The values of a tensor, on the host; numbers and arrays as they are."""
    return np.asarray(backends.of(x.array).to_numpy(x.array)) if isinstance(x, TensorBase) else x


explain_all(globals(), "generator", "stream", "values_for", "seeded")
