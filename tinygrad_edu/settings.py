"""Scoped values: what holds *here*, in this thread or task, and what holds everywhere.

All switches of the engine are fields of one immutable record, ``Modes``. Reading it is one lookup, so an operation
can consult every switch at once. New threads start with the default, as in PyTorch.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeVar

from .common.blocks import Block
from .errors import ArgumentError

F = TypeVar("F", bound=Callable[..., Any])


_GENERATOR = 0x20  # the flag of a code object, as in `inspect`, which takes long to import
GUARD_LEVELS = ("off", "on", "verify")
PROMOTION_TABLES = ("torch", "numpy", "jax")
_WORDS = {
    "guard": ("the guard's levels", GUARD_LEVELS),
    "promotion": ("the tables", PROMOTION_TABLES),
    "dtype": ("the dtypes that new floats may have", ("float16", "bfloat16", "float32", "float64")),
}


class _Kept:
    """What a `Modes` remembers besides its switches."""

    __slots__ = ("twin",)
    twin: Modes | None  # with `grad` the other way round


class Modes(_Kept):
    """The engine's switches. Only `set_default` changes them in place; `replace` makes a changed copy."""

    __slots__ = ("device", "dtype", "grad", "guard", "inference", "line", "observers", "plain", "promotion", "scope")

    def __init__(self, **values: Any) -> None:
        self.grad: bool = values.get("grad", True)  # record operations?
        self.inference: bool = values.get("inference", False)  # inside inference_mode nothing switches `grad` on
        self.guard: str = values.get("guard", "on")  # one of GUARD_LEVELS
        self.observers: tuple[Any, ...] = values.get("observers", ())  # innermost last
        self.promotion: str = values.get("promotion", "torch")  # one of PROMOTION_TABLES
        self.device: str = values.get("device", "cpu")  # where new tensors go
        self.dtype: str = values.get("dtype", "float32")  # of new tensors made from Python floats
        self.scope: Any = values.get("scope")  # the nn.Module call in progress
        self.line: Any = values.get("line")  # the user's line, if all code between it and here is ours
        # One flag for the fast path: nobody watches and nothing has to be checksummed.
        self.plain: bool = not self.observers and self.guard != "verify"
        self.twin = None

    def replace(self, **changes: Any) -> Modes:
        """A copy with some fields changed."""
        values = {name: getattr(self, name) for name in self.__slots__ if name != "plain"}
        unknown = set(changes) - set(values)
        if unknown:
            raise TypeError(f"no such setting: {', '.join(sorted(unknown))}; there are {', '.join(sorted(values))}")
        for name, (what, words) in _WORDS.items():
            value = changes.get(name, words[0])
            if not isinstance(value, str) or value not in words:
                raise ArgumentError(f"{name}={value!r}", f"{what} are {', '.join(words)}", "name one of these")
        if not isinstance(changes.get("device", "cpu"), str):
            tried, why = f"device={changes['device']!r}", "devices are known by their names"
            raise ArgumentError(tried, why, "give a name, such as 'cpu'")
        values.update(changes)
        values["grad"] = values["grad"] and not values["inference"]
        return Modes(**values)

    # Programs make these three changes at every step, so they are written out, for speed:

    def recording(self, grad: bool) -> Modes:
        """``replace(grad=grad)``. The changed copy is kept, because programs go back and forth between the two."""
        changes = self.grad is not grad
        if changes and self.twin is not None:
            return self.twin
        copy = self._copy()
        copy.grad = grad and not self.inference
        if changes:
            self.twin = copy
        return copy

    def within(self, scope: Any, line: Any) -> Modes:
        """``replace(scope=scope, line=line)``."""
        copy = self._copy()
        copy.scope, copy.line = scope, line
        return copy

    def watched_by(self, observers: tuple[Any, ...]) -> Modes:
        """``replace(observers=observers)``."""
        copy = self._copy()
        copy.observers, copy.plain = observers, not observers and self.guard != "verify"
        return copy

    def _copy(self) -> Modes:
        copy = object.__new__(Modes)
        copy.grad, copy.inference, copy.guard, copy.plain = self.grad, self.inference, self.guard, self.plain
        copy.promotion, copy.device, copy.dtype, copy.scope = self.promotion, self.device, self.dtype, self.scope
        copy.observers, copy.line, copy.twin = self.observers, self.line, None
        return copy


_DEFAULT = Modes()
MODES: ContextVar[Modes] = ContextVar("tinygrad_edu.modes", default=_DEFAULT)
modes: Callable[[], Modes] = MODES.get
# The modes outside all scopes in the thread that imported this, mostly the main thread. Its tasks share this record,
# because a context is copied by reference: so `set_grad_enabled` outlives the task that calls it. Notebooks need that,
# as they run each cell that has an await in a task of its own.
_HERE = Modes()
MODES.set(_HERE)


def set_default(**changes: Any) -> None:
    """Change the default for every thread, and the value here. Scopes that are already open keep theirs."""
    changed = _DEFAULT.replace(**changes)
    here = _HERE.replace(**changes)
    for name in Modes.__slots__:
        setattr(_DEFAULT, name, getattr(changed, name))
        setattr(_HERE, name, getattr(here, name))
    _DEFAULT.twin = _HERE.twin = None
    if modes() not in (_DEFAULT, _HERE):
        MODES.set(modes().replace(**changes))


def defaults() -> tuple[Modes, Modes]:
    """The defaults as they are now, for `put_back_defaults`."""
    return _DEFAULT.replace(), _HERE.replace()


def put_back_defaults(kept: tuple[Modes, Modes]) -> None:
    """Make the defaults what they were, whatever `set_default` did since."""
    for record, before in zip((_DEFAULT, _HERE), kept, strict=True):
        for name in Modes.__slots__:
            setattr(record, name, getattr(before, name))
        record.twin = None


class Scope(Block):
    """Modes that hold inside a with block."""

    _open: list[Modes]

    def _changed(self, m: Modes) -> Modes:
        """The modes inside."""
        raise NotImplementedError

    def __enter__(self) -> Any:
        m = modes()
        self._open.append(m)
        MODES.set(self._changed(m))
        return self

    def _restore(self, found: Modes) -> None:
        MODES.set(found)

    def _leave(self, kind: Any = None, error: Any = None, traceback: Any = None) -> None:
        MODES.set(self._open[-1])  # as in `Block`, with one call fewer
        del self._open[-1]


class Decorating(Scope):
    """A scope that is also a decorator: ``@scope`` holds its modes whenever the function runs."""

    def afresh(self) -> Scope:
        """A fresh scope with the same changes: a decorated function may run in two threads at once."""
        raise NotImplementedError

    def __call__(self, function: F) -> F:
        code = getattr(function, "__code__", None)
        if code is not None and code.co_flags & _GENERATOR:
            return self._around_each_step(function)

        @functools.wraps(function)
        def inside(*args: Any, **kwargs: Any) -> Any:
            with self.afresh():
                return function(*args, **kwargs)

        return inside  # type: ignore[return-value]

    def _around_each_step(self, function: F) -> F:
        """A generator runs in pieces, between which its caller's modes must hold."""

        @functools.wraps(function)
        def steps(*args: Any, **kwargs: Any) -> Any:
            generator, sent = function(*args, **kwargs), None
            while True:
                try:
                    with self.afresh():
                        item = generator.send(sent)
                except StopIteration as stop:
                    return stop.value
                sent = yield item

        return steps  # type: ignore[return-value]


class scoped(Decorating):
    """Hold some switches at a value: ``with scoped(grad=False): ...`` or ``@scoped(grad=False)``."""

    def __init__(self, **changes: Any) -> None:
        modes().replace(**changes)  # an unknown name is refused here, not on entry
        self._changes = changes
        self._open = []

    def _changed(self, m: Modes) -> Modes:
        return m.replace(**self._changes)

    def afresh(self) -> scoped:
        return scoped(**self._changes)


class _Recording(scoped):
    """`scoped(grad=…)`, quickly. Used bare, as ``@no_grad``, it decorates too."""

    _grad: bool

    def __new__(cls, function: Any = None) -> Any:
        self = object.__new__(cls)
        self._open = []
        return self if function is None else self(function)

    if TYPE_CHECKING:

        def __init__(self, function: Any = None) -> None: ...
    else:
        __init__ = object.__init__  # `__new__` does everything: one call is quicker than two

    def __enter__(self) -> Any:
        m = modes()
        self._open.append(m)
        MODES.set(m.recording(self._grad))
        return self

    def afresh(self) -> scoped:
        return type(self)()


class no_grad(_Recording):
    """Do not record operations: results have ``requires_grad=False``. Context manager and decorator.

    >>> import tinygrad_edu as tg
    >>> w = tg.ones(2, requires_grad=True)
    >>> with tg.no_grad():
    ...     w.sub_(0.5)
    tensor([0.5000, 0.5000], requires_grad=True)
    """

    _grad = False


class enable_grad(_Recording):
    """Record operations again, inside a `no_grad` block. Context manager and decorator."""

    _grad = True


class inference_mode(scoped):
    """`no_grad` that nothing inside can undo, for code that only computes results; ``inference_mode(False)`` ends it.

    PyTorch gains speed here by forgetting what a later backward would need, and refuses to use the results in a graph.
    This engine has nothing to forget: the results are ordinary tensors.
    """

    def __init__(self, mode: bool = True) -> None:
        super().__init__(inference=bool(mode), grad=not mode)


class promotion(scoped):
    """Let dtypes meet by another framework's rules: ``with promotion("numpy"): ...``; "torch", "numpy" or "jax".

    Raises `ArgumentError` for another name. The rules are data: `tinygrad_edu.dtypes.PROMOTIONS`.

    >>> import tinygrad_edu as tg
    >>> x = tg.tensor([1, 2])
    >>> with promotion("numpy"):
    ...     print((x * 0.5).dtype)
    float64
    >>> print((x * 0.5).dtype)
    float32
    """

    def __init__(self, table: str) -> None:
        super().__init__(promotion=table)


class set_grad_enabled(scoped):
    """Switch recording on or off: at once, or for a ``with`` block, as in PyTorch.

    Called at once, outside all scopes, it holds for the tasks of this thread too. A block holds for its own task alone.
    """

    def __init__(self, mode: bool) -> None:
        super().__init__(grad=bool(mode))
        m = modes()
        self._was: Modes | bool | None = m.grad
        if m is _HERE:
            m.grad = bool(mode) and not m.inference
            m.twin = None
        else:
            self._was = m
            MODES.set(self._changed(m))

    def __enter__(self) -> Any:
        self._take_back()
        return super().__enter__()

    def __call__(self, function: F) -> F:
        self._take_back()
        return super().__call__(function)

    def _take_back(self) -> None:
        """Undo the switch that was made at once: this is a block or a decorator."""
        if isinstance(self._was, Modes):
            MODES.set(self._was)
        elif self._was is not None:
            _HERE.grad, _HERE.twin = self._was, None
        self._was = None


def set_observers(change: Callable[[tuple[Any, ...]], tuple[Any, ...]]) -> tuple[Any, ...]:
    """Change who watches, from now on: in the innermost scope that is open here, or outside all. Returns the old ones.

    As `set_grad_enabled`, outside all scopes it holds for the tasks of this thread too.
    """
    m = modes()
    before, found = m.observers, change(m.observers)
    if m is _HERE:
        m.observers, m.plain, m.twin = found, not found and m.guard != "verify", None
    else:
        MODES.set(m.watched_by(found))
    return before


def is_grad_enabled() -> bool:
    """Whether operations are being recorded here."""
    return modes().grad


def is_inference_mode_enabled() -> bool:
    """Whether an `inference_mode` is in force here."""
    return modes().inference
