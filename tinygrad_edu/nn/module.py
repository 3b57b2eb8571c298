"""A module: parameters and other modules under names, and a forward."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import FunctionType
from typing import TYPE_CHECKING, Any, Self

from ..common.lines import Line, own, user_line
from ..dtypes import is_float
from ..errors import ArgumentError, DtypeError, EduError, ModuleError
from ..inputs.kinds import JUNK, checked, explanation
from ..settings import MODES, modes
from ..tensor import RemovableHandle, Tensor, clear_gradient
from .construction import check
from .hooks import Hooks, add, changes
from .parameter import Parameter as Parameter
from .parameter import UninitializedBuffer, is_lazy
from .registry import NotYet, Registry
from .stateful import Stateful
from .unregistered import notice

_REGISTRIES = {"_parameters": "parameter", "_buffers": "buffer", "_modules": "module"}


class Scope:
    """One module call in progress: the module, the call around it, and the line that started it."""

    __slots__ = ("line", "module", "parent")

    def __init__(self, parent: Scope | None, module: Module, line: Line) -> None:
        self.parent, self.module, self.line = parent, module, line

    @property
    def label(self) -> str:
        """Its name in the enclosing module, else its class."""
        return self.module._label or type(self.module).__name__

    def path(self) -> tuple[str, ...]:
        """The names from the outermost module inwards."""
        outer = () if self.parent is None else self.parent.path()
        return (*outer, self.label)


class Module(Stateful):
    """Base of layers. Assign parameters and modules in ``__init__``; compute in ``forward``.

    Registered values are both in the instance, where Python finds them fastest, and in ``_parameters``, ``_buffers``
    or ``_modules``, in the order in which they came; see `Registry`.

    >>> import tinygrad_edu as tg
    >>> from tinygrad_edu import nn
    >>> class Scale(nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.gain = nn.Parameter(tg.ones(2))
    ...     def forward(self, x):
    ...         return x * self.gain
    >>> Scale()(tg.tensor([1.0, 2.0])).tolist()
    [1.0, 2.0]
    >>> Scale().state_dict()
    {'gain': tensor([1., 1.])}
    """

    training: bool
    _parameters: dict[str, Any] = NotYet()  # type: ignore[assignment]
    _buffers: dict[str, Any] = NotYet()  # type: ignore[assignment]
    _modules: dict[str, Any] = NotYet()  # type: ignore[assignment]
    _unsaved: set[str] = NotYet()  # type: ignore[assignment]  # buffers that are not part of the state
    _label: str | None = None  # its name in the enclosing module
    _hooks: Hooks | None = None
    _ours = True  # is `forward` part of this package? Then the line that calls it is the user's last one
    _noticed: frozenset[str] = frozenset()  # attributes that `notice` has warned about

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...  # registered names cannot be known to a type checker

    def __new__(cls, *inputs: Any, **options: Any) -> Self:
        if inputs or options:
            check(cls, inputs, options)
        return super().__new__(cls)

    def __init__(self) -> None:
        self.__dict__.update({name: Registry(self) for name in _REGISTRIES}, _unsaved=set(), training=True)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        code = getattr(cls.forward, "__code__", None)
        cls._ours = code is not None and own[code.co_filename]
        init = cls.__dict__.get("__init__")
        if isinstance(init, FunctionType) and own[init.__code__.co_filename]:
            cls.__init__ = checked(init)  # type: ignore[method-assign]

    def forward(self, *inputs: Any, **options: Any) -> Any:
        """The module's value, which a subclass defines."""
        raise NotImplementedError(f"{type(self).__name__} has no forward(): define one")

    def __call__(self, *inputs: Any, **options: Any) -> Any:
        m = modes()
        if m.plain and not m.grad and self._hooks is None:
            try:
                return self.forward(*inputs, **options)  # no node is made and nobody watches: no scope is needed
            except JUNK as error:
                raise self._explained(inputs, options, error)  # noqa: B904
        outer, line = m.scope, m.line or user_line()
        scope = Scope(outer, self, line if outer is None else outer.line)
        try:
            MODES.set(m.within(scope, line if self._ours and self._hooks is None else None))
            if self._hooks is None:
                return self.forward(*inputs, **options)
            return self._hooks.call(self, inputs, options)
        except JUNK as error:
            raise self._explained(inputs, options, error)  # noqa: B904
        finally:
            MODES.set(m)

    def _explained(self, inputs: tuple[Any, ...], options: dict[str, Any], error: Exception) -> Exception:
        """What a call raises instead of an error from deep inside one of this package's forwards."""
        if isinstance(error, EduError) or not self._ours:
            return error
        return explanation(type(self).__name__, type(self).forward, (self, *inputs), options, error)

    # Names ------------------------------------------------------------------------------------------------------

    def __setattr__(self, name: str, value: Any) -> None:
        changes.count += 1
        if isinstance(value, Module):
            self._register("_modules", name, value)
        elif isinstance(value, Parameter):
            self._register("_parameters", name, value)
        elif isinstance(value, UninitializedBuffer):
            self._register("_buffers", name, value)
            (self._unsaved.discard if value.persistent else self._unsaved.add)(name)
        else:
            registry = self._home(name) if name in self.__dict__ else None
            if registry is not None:
                if value is not None and not (registry == "_buffers" and isinstance(value, Tensor)):
                    raise self._cannot_become(registry, name, value)
                self.__dict__[registry][name] = value
            else:
                object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        changes.count += 1
        object.__delattr__(self, name)
        self._forget(name)

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if name.isidentifier()]  # not the "0" of a Sequential

    def _home(self, name: str) -> str | None:
        """The registry that has the name."""
        return next((registry for registry in _REGISTRIES if name in self.__dict__.get(registry, ())), None)

    def _forget(self, name: str) -> None:
        for registry in _REGISTRIES:
            self.__dict__.get(registry, {}).pop(name, None)
        self.__dict__.get("_unsaved", set()).discard(name)

    def _register(self, registry: str, name: str, value: Any, *, fresh: bool = False) -> None:
        """Enter ``value`` under ``name``, replacing its old value; with ``fresh``, a plain attribute keeps its name."""
        if registry not in self.__dict__:
            raise ModuleError(
                f"self.{name} = {type(value).__name__}(…) in {type(self).__name__}",
                "Module.__init__ has not run yet, so there is nowhere to register it",
                "call super().__init__() first",
            )
        self._check_name(registry, name, fresh)
        if registry == "_modules" and value is not None and any(inner is self for inner in value.modules()):
            why = f"this {type(value).__name__} already has the {type(self).__name__} inside it, or is it"
            tried, mend = f"self.{name} = a module around self", "pass what it needs of the outer one to forward"
            raise ArgumentError(tried, why, mend)
        changes.count += 1
        if self._home(name) != registry:  # otherwise it keeps its place in the order
            self._forget(name)
        self.__dict__[registry][name] = value

    def _check_name(self, registry: str, name: Any, fresh: bool) -> None:
        """Refuse names that could not be found again, or that would hide something."""
        tried = f"a {_REGISTRIES[registry]} {name!r} in {type(self).__name__}"
        if not isinstance(name, str):
            raise DtypeError(tried, f"a name is text, not {type(name).__name__}", f"write {str(name)!r}")
        if not name or "." in name:
            why, mend = "a name is text without dots: dots lead into the modules inside", "use '_' in place of '.'"
            raise ArgumentError(tried, why, mend)
        if isinstance(getattr(type(self), name, None), (FunctionType, property, NotYet)):
            why, mend = f"{type(self).__name__} has a method or property of that name", "choose another name"
            raise ArgumentError(tried, why, mend)
        if fresh and name in self.__dict__ and self._home(name) != registry:
            why, mend = "an attribute already has that name", f"delete it first: del module.{name}"
            raise ArgumentError(tried, why, mend)

    def _cannot_become(self, registry: str, name: str, value: Any) -> DtypeError:
        """The error for a plain value in place of something registered."""
        own, what = type(self).__name__, _REGISTRIES[registry]
        if registry == "_parameters" and isinstance(value, Tensor):
            return DtypeError(
                f"self.{name} = a plain tensor, in {own}",
                f"{name!r} is a parameter: the optimiser would go on moving the old tensor, unseen",
                f"assign nn.Parameter(tensor), or write into it: with no_grad(): self.{name}.copy_(tensor)",
            )
        return DtypeError(
            f"self.{name} = a {type(value).__name__}, in {own}",
            f"{name!r} is a {what}, and would silently drop out of {own}.state_dict()",
            f"assign a {what} or None, or delete it first: del self.{name}",
        )

    def register_parameter(self, name: str, param: Any) -> None:
        """Register ``param`` under ``name``. None keeps the name for later, as in a layer without bias.

        Raises `DtypeError` for anything else, `ArgumentError` for a name with a dot or one that is taken.
        """
        if param is not None and not isinstance(param, Parameter):
            tried = f"register_parameter({name!r}, {type(param).__name__})"
            raise DtypeError(tried, "only a parameter can be registered so", "wrap it: nn.Parameter(tensor)")
        self._register("_parameters", name, param, fresh=True)

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Keep a tensor that belongs to the module but is not learnt, such as a running mean: `to` moves it.

        Only ``persistent`` ones are part of `state_dict`. Raises `DtypeError` for anything but a tensor or None,
        `ArgumentError` for a name with a dot or one that is taken.
        """
        if tensor is not None and not isinstance(tensor, Tensor):
            tried = f"register_buffer({name!r}, {type(tensor).__name__})"
            raise DtypeError(tried, "a buffer is a tensor", "make it one: tensor(…)")
        self._register("_buffers", name, tensor, fresh=True)
        (self._unsaved.discard if persistent else self._unsaved.add)(name)

    def add_module(self, name: str, module: Module | None) -> None:
        """Register ``module`` under ``name``.

        Raises `DtypeError` for anything but a module or None, `ArgumentError` for a name with a dot or one that is
        taken, and for a module that contains this one.
        """
        if module is not None and not isinstance(module, Module):
            tried = f"{type(module).__name__} as module {name!r} in {type(self).__name__}"
            raise DtypeError(tried, "it is not an nn.Module", _as_module(module))
        self._register("_modules", name, module, fresh=True)

    register_module = add_module

    # Walks ------------------------------------------------------------------------------------------------------

    def named_modules(
        self, memo: set[Module] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """This module and all inside it, outermost first, with dotted names.

        A shared one appears once, unless ``remove_duplicate`` is false.
        """
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                yield from module.named_modules(memo, f"{prefix}.{name}" if prefix else name, remove_duplicate)

    def modules(self, remove_duplicate: bool = True) -> Iterator[Module]:
        """This module and all inside it; a shared one appears once, unless ``remove_duplicate`` is false."""
        return (module for _, module in self.named_modules(remove_duplicate=remove_duplicate))

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """The modules directly inside, with their names; a shared one appears once."""
        seen: set[Module] = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def children(self) -> Iterator[Module]:
        """The modules directly inside; a shared one appears once."""
        return (module for _, module in self.named_children())

    def _named_members(
        self, registry: str, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Any]]:
        """What is registered in this module and all inside it, with dotted names."""
        seen: set[int] = set()
        places = self.named_modules(None, prefix, remove_duplicate) if recurse else iter([(prefix, self)])
        for path, module in places:
            for name, member in module.__dict__[registry].items():
                if member is not None and id(member) not in seen:
                    if remove_duplicate:
                        seen.add(id(member))
                    yield (f"{path}.{name}" if path else name), member

    def _members(self, registry: str) -> Iterator[Any]:
        return (member for _, member in self._named_members(registry))

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """All parameters with dotted names, this module's own first; a shared one appears once.

        With ``recurse=False``, only those of this module itself. Warns about layers in plain lists; see
        `UnregisteredWarning`.
        """
        if recurse:
            notice(self)
        return self._named_members("_parameters", prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Tensor]:
        """All parameters, as `named_parameters` gives them."""
        return (parameter for _, parameter in self.named_parameters(recurse=recurse))

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """All buffers with dotted names, persistent or not; a shared one appears once."""
        return self._named_members("_buffers", prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """All buffers, as `named_buffers` gives them."""
        return (buffer for _, buffer in self.named_buffers(recurse=recurse))

    def get_submodule(self, target: str) -> Module:
        """The module at a dotted name; this one for "". Raises AttributeError if there is none."""
        found = self
        for name in target.split(".") if target else ():
            found = found._get("_modules", name)
        return found

    def get_parameter(self, target: str) -> Any:
        """The parameter at a dotted name. Raises AttributeError if there is none."""
        path, _, name = target.rpartition(".")
        return self.get_submodule(path)._get("_parameters", name)

    def get_buffer(self, target: str) -> Any:
        """The buffer at a dotted name. Raises AttributeError if there is none."""
        path, _, name = target.rpartition(".")
        return self.get_submodule(path)._get("_buffers", name)

    def _get(self, registry: str, name: str) -> Any:
        found = self.__dict__[registry].get(name)
        if found is None:
            message = f"{type(self).__name__} has no {_REGISTRIES[registry]} {name!r}"
            raise AttributeError(message, name=name, obj=self)  # with these two, Python suggests a name
        return found

    def apply(self, fn: Callable[[Module], Any]) -> Self:
        """Call ``fn`` on every module inside and then on this one, for example to initialise them."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def __setstate__(self, state: dict[str, Any]) -> None:
        """For ``copy`` and ``pickle``: the attributes of another module, with new registries.

        In PyTorch a shallow copy shares the registries, and a value assigned to one appears in both.
        """
        self.__dict__.update(state)
        self.__dict__.update({name: Registry(self, state[name]) for name in _REGISTRIES if name in state})
        if "_unsaved" in state:
            self.__dict__["_unsaved"] = set(state["_unsaved"])

    # Modes and conversion ---------------------------------------------------------------------------------------

    def train(self, mode: bool = True) -> Self:
        """Training mode for this module and all inside it. Raises `ArgumentError` for anything but a bool."""
        if not isinstance(mode, bool):
            tried, why = f"train({mode!r:.40})", "it only switches training mode on or off; it trains nothing"
            raise ArgumentError(tried, why, "write model.train() or model.train(False)")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Self:
        """Evaluation mode: no dropout, no new running statistics. Gradients are still recorded; see `no_grad`."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Start or stop recording gradients for every parameter: ``False`` freezes the module."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Release all gradients, or fill them with zeros."""
        for parameter in self._members("_parameters"):
            clear_gradient(parameter, set_to_none)

    def _apply(self, convert: Callable[[Tensor], Tensor]) -> Self:
        """Convert every parameter, in place so that optimisers still hold it, and every buffer."""
        for module in self.children():
            module._apply(convert)
        for parameter in self._parameters.values():
            if parameter is not None:
                parameter.data = convert(parameter.data)
                parameter.grad = None if parameter.grad is None else convert(parameter.grad)
        for name, buffer in self._buffers.items():
            if is_lazy(buffer):
                buffer.data = convert(buffer.data)
            elif buffer is not None:
                self._buffers[name] = convert(buffer)
        return self

    def to(
        self,
        *target: Any,
        dtype: Any = None,
        device: str | None = None,
        non_blocking: bool = False,
        memory_format: Any = None,
    ) -> Self:
        """Move or convert every parameter and buffer, in place; returns the module. Integers keep their dtype.

        ``to(dtype)``, ``to(device)``, ``to(device, dtype)`` or ``to(tensor)``, like that tensor. Raises `DtypeError`
        for a dtype that is not a float. ``memory_format`` is for tensors with four axes: kernels of 2-d convolutions.
        """

        def convert(tensor: Tensor) -> Tensor:
            order = memory_format if tensor.ndim == 4 else None
            moved = tensor.to(*target, dtype=dtype, device=device, non_blocking=non_blocking, memory_format=order)
            if not is_float(tensor.dtype):
                return tensor.to(device=moved.device, non_blocking=non_blocking, memory_format=order)
            if not is_float(moved.dtype):
                tried, why = f"{type(self).__name__}.to({moved.dtype})", "parameters are floats, and would be rounded"
                raise DtypeError(tried, why, "use float16, bfloat16, float32 or float64")
            return moved

        notice(self)
        return self._apply(convert)

    def float(self) -> Self:
        """All floats as float32, in place; returns the module."""
        return self.to("float32")

    def double(self) -> Self:
        """All floats as float64, in place; returns the module."""
        return self.to("float64")

    def half(self) -> Self:
        """All floats as float16, in place; returns the module."""
        return self.to("float16")

    def bfloat16(self) -> Self:
        """All floats as bfloat16, in place; returns the module."""
        return self.to("bfloat16")

    def cpu(self) -> Self:
        """To main memory, in place; returns the module."""
        return self.to("cpu")

    def cuda(self, device: Any = None) -> Self:
        """To an NVIDIA GPU, given by its number, in place; returns the module.

        Raises `DeviceError` if there is none.
        """
        return self.to(f"cuda:{device}" if isinstance(device, int) else device or "cuda")

    # Hooks ------------------------------------------------------------------------------------------------------

    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, inputs)`` before forward; its result, if any, replaces the inputs.

        With ``with_kwargs`` it is ``hook(module, inputs, keywords)``, and may return both. With ``prepend`` it comes
        before the other hooks. The handle's ``remove()`` takes the hook away; it is a context manager too.
        """
        return add(self, "before", (hook, with_kwargs), prepend)

    def register_forward_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, inputs, output)`` after forward; its result, if any, replaces the output.

        With ``with_kwargs`` it is ``hook(module, inputs, keywords, output)``. For ``prepend`` and the handle see
        `register_forward_pre_hook`.
        """
        return add(self, "after", (hook, with_kwargs), prepend)

    def register_full_backward_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call ``hook(module, grad_output)`` when the gradients of the outputs are known; it may return others.

        They come as a tuple, one for each output: None for one that requires no grad. For ``prepend`` and the handle
        see `register_forward_pre_hook`.
        """
        return add(self, "backward_before", hook, prepend)

    def register_full_backward_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call ``hook(module, grad_input, grad_output)`` when the gradients of the inputs are known.

        Both are tuples, with one gradient for each positional input and each output, and None for those that require
        none. A tuple that it returns replaces ``grad_input``. Where no input requires grad, it is called once the
        gradients of the outputs are known. For ``prepend`` and the handle see `register_forward_pre_hook`.
        """
        return add(self, "backward", hook, prepend)

    # Printing ---------------------------------------------------------------------------------------------------

    def extra_repr(self) -> str:
        """The text between the parentheses in print, usually sizes."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        inside = [f"({name}): {indented(repr(module))}" for name, module in self._modules.items()]
        return described(type(self).__name__, extra.split("\n") if extra else [], inside)


def described(name: str, extra: list[str], inside: list[str]) -> str:
    """A module in print: one line if possible, else a line for each module inside."""
    if not inside and len(extra) < 2:
        return f"{name}({''.join(extra)})"
    return "\n  ".join([f"{name}(", *extra, *inside]) + "\n)"


def indented(text: str) -> str:
    """The text with all lines but the first indented by two spaces; blank ones stay blank."""
    first, *rest = text.split("\n")
    return "\n".join([first, *(f"  {line}" if line.strip() else "" for line in rest)])


def _as_module(value: Any) -> str:
    """How to get a module from something else."""
    if isinstance(value, type) and issubclass(value, Module):
        return f"make a module of the class: {value.__name__}(…)"
    if isinstance(value, (list, tuple, Iterator)):
        return "pass its modules one by one: nn.Sequential(*layers)"
    if callable(value):
        return "use the module for it, such as nn.ReLU(), or write one whose forward calls it"
    return "pass an nn.Module"
