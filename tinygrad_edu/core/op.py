"""An operation: a pure function of arrays, its derivative below it, and what must be remembered between the two."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

from ..backends.cost import Costed
from ..backends.layout import broadcast_shape, why_not_broadcast

Params = dict[str, Any]


class Save(NamedTuple):
    """One thing that backward needs: ``source`` (an operand, ``out``, ``cache`` or a parameter) or a part of it."""

    source: str
    part: str  # "", "shape" or "dtype"
    needed_by: str  # the operand whose gradient uses it, or "" when all do
    again: bool = False  # used only where backward must compute again what forward cached

    @classmethod
    def parse(cls, text: str) -> Save:
        """``"x"``, ``"x.shape"``, or ``"x if y"``: x is saved only when y wants a gradient.

        ``"x if not cache"``: it is used only in place of a recomputed cache, and may be overwritten where there is one.
        """
        what, _, needed_by = text.partition(" if ")
        source, _, part = what.partition(".")
        again = needed_by.strip() == "not cache"
        return cls(source.strip(), part.strip(), "" if again else needed_by.strip(), again)


class Op(Costed):
    """Base of all operations. A subclass states `forward`, `backward` and `saves`; the rest has defaults.

    ``forward(xp, x, y, *, param)`` takes arrays of one world and that world's namespace ``xp``.
    ``backward(xp, g, needs, *saved)`` takes the gradient of the result and returns one gradient per operand, or None;
    ``needs`` is truthy where an operand wants one. Both run in all worlds: see `backends.base.NAMES` for what they use.
    """

    saves: ClassVar[tuple[str, ...]] = ()
    # How operands of different dtypes meet, by the active table of `dtypes.PROMOTIONS`:
    #   "same"      they promote to one dtype
    #   "float"     the same, and integers become floats, as under exp; "quotient": as under division
    #   "floating"  the same, but PyTorch refuses integers: means, softmax
    #   "equal"     PyTorch refuses to mix dtypes: products of matrices
    #   "where"     the first operand keeps its own, the others meet
    #   "each"      every operand keeps its own
    dtypes: ClassVar[str] = "same"
    computes: ClassVar[bool] = True  # False: elements are only moved or converted, so 16-bit floats need no care
    converts: ClassVar[bool] = False  # the result's dtype is a parameter
    broadcasts: ClassVar[bool] = False  # the engine sums gradients back to the operands' shapes
    view: ClassVar[bool] = False  # the result may share the first operand's memory
    differentiable: ClassVar[bool] = True
    recomputes: ClassVar[bool] = False  # backward runs operations again: observers see those, not one backward step
    into: ClassVar[tuple[Any, ...]] = ()  # NumPy's function with ``out=``, and its last operands: saves a temporary
    # Forward returns (out, cache). "constant": the cache has no derivative (positions). "recomputed": backward is
    # given None in its place when the gradient itself is recorded, and computes it again; a kept one would be a
    # constant there, and second derivatives silently wrong.
    caches: ClassVar[str] = ""

    # What users call the operands, where bodies have shorter names: as in PyTorch.
    public: ClassVar[dict[str, str]] = {"x": "input", "y": "other"}

    # Derived from the signature of `forward`:
    name: ClassVar[str]
    operands: ClassVar[tuple[str, ...]]
    optional: ClassVar[frozenset[str]]
    variadic: ClassVar[bool]
    params: ClassVar[Params]
    save_plan: ClassVar[tuple[Save, ...]]
    frees: ClassVar[bool | None]  # does backward free arrays? None: only if the index holds any
    narrow: ClassVar[Any] = None  # a variant's 16-bit float: see `core.narrow`
    source: ClassVar[Any] = ""  # the generated caller, for those who want to read it

    def __init_subclass__(cls, name: str = "", register: bool = True, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if not register:
            return  # a variant of the op that it subclasses, under the same name
        cls.name = name or cls.__name__.lower()
        _read_signature(cls)
        cls.save_plan = tuple(Save.parse(text) for text in cls.saves)
        sources = {save.source for save in cls.save_plan if not save.part}
        cls.frees = True if sources - set(cls.params) else None if "index" in sources else False
        _check(cls)
        OPS[cls.name] = cls

    @staticmethod
    def forward(xp: Any, *arrays: Any) -> Any:
        """The value."""
        raise NotImplementedError

    @staticmethod
    def backward(xp: Any, g: Any, needs: Any, *saved: Any) -> Any:
        """The gradients of the operands, given the gradient ``g`` of the value."""
        raise NotImplementedError

    @staticmethod
    def hint(shapes: list[tuple[int, ...]], params: Params) -> tuple[str, str] | None:
        """Why these shapes do not fit, and how to fix that; None where NumPy's own words must do."""
        pairs = ((x, y) for i, x in enumerate(shapes) for y in shapes[i + 1 :])
        return next((found for x, y in pairs if (found := why_not_broadcast(x, y))), None)

    @staticmethod
    def result_shape(shapes: list[tuple[int, ...]]) -> tuple[int, ...] | None:
        """The shape of the result, for ops with ``into``; None where it is not known in advance."""
        return broadcast_shape(shapes)


OPS: dict[str, type[Op]] = {}
CO_VARARGS = 0x04  # of `inspect`, which takes long to import


class _Required:
    """Stands in for the default of a parameter that has none."""

    def __repr__(self) -> str:
        return "required"


REQUIRED = _Required()
DTYPES = ("same", "float", "quotient", "floating", "equal", "where", "each")


def _read_signature(cls: type[Op]) -> None:
    """Operands and parameters of `forward`. `inspect.signature` would take most of the import, so from its code."""
    function = getattr(cls.forward, "__wrapped__", cls.forward)
    code, defaults = function.__code__, function.__defaults__ or ()
    count, keywords = code.co_argcount, code.co_kwonlyargcount
    operands = code.co_varnames[1:count]  # without xp
    cls.variadic = bool(code.co_flags & CO_VARARGS)
    if cls.variadic:
        operands += (code.co_varnames[count + keywords],)
    given = function.__kwdefaults__ or {}
    cls.operands = operands
    cls.params = {name: given.get(name, REQUIRED) for name in code.co_varnames[count : count + keywords]}
    cls.optional = frozenset(
        name for name, value in zip(reversed(operands), reversed(defaults), strict=False) if value is None
    )


def _check(cls: type[Op]) -> None:
    sources, parts, wanting = {*cls.operands, *cls.params, "out", "cache"}, ("", "shape", "dtype"), ("", *cls.operands)
    for save in cls.save_plan:
        if save.source not in sources or save.part not in parts or save.needed_by not in wanting:
            raise TypeError(f"{cls.__name__}.saves: {save} names nothing in forward's signature")
    # The same class again is not a mistake: Ctrl-C interrupted the loading of its module, which now starts again.
    namesake = OPS.get(cls.name, cls)
    if (namesake.__module__, namesake.__qualname__) != (cls.__module__, cls.__qualname__):
        raise TypeError(f"an operation called {cls.name!r} exists already: {OPS[cls.name]}")
    if cls.dtypes not in DTYPES:
        raise TypeError(f"{cls.__name__}.dtypes is {cls.dtypes!r}: there are {', '.join(DTYPES)}")
    if cls.caches not in ("", "constant", "recomputed"):
        raise TypeError(f"{cls.__name__}.caches is {cls.caches!r}: say whether it is 'constant' or 'recomputed'")
