"""Gradients on request: `backward` and `grad`."""

from __future__ import annotations

from typing import Any

from .. import backends
from ..backends.layout import lay_as_leaf
from ..backends.room import refused
from ..core.above import above
from ..core.base import TensorBase
from ..core.graph import ARRAYS, Backward, Leaf, Node, World, accumulate, run_hooks
from ..core.inplace import settle
from ..core.slow import announce
from ..errors import ArgumentError, AutogradError, DeviceError, DtypeError, EduError, OutOfMemoryError, ShapeError
from ..ops import convert as ct
from ..settings import MODES, modes
from .leaves import WAITED_FOR
from .tensors import TENSORS


def _roots(name: str, outputs: Any, gradients: Any) -> list[tuple[Node, Any]]:
    """The nodes to start from, and the gradient at each, checked. ``name`` is what the user called."""
    roots = []
    for output, gradient in zip(outputs, gradients, strict=True):
        if not isinstance(output, TensorBase):
            tried = f"{name} from a {type(output).__name__}"
            raise DtypeError(tried, "only tensors remember how they were computed", "pass a tensor")
        settle(output)
        if output.node is None:
            raise AutogradError(
                _from(name, output),
                "nothing that it was computed from requires grad, or a step on the way lets no gradient through: "
                "no_grad(), detach(), argmax, a comparison",
                "make the leaves with requires_grad=True before computing, and compute the loss from the scores "
                "themselves"
                + ("; for a second derivative, take the first with create_graph=True" if name == "grad()" else ""),
            )
        array = output.array
        if gradient is None:
            if array.size != 1:
                raise AutogradError(
                    _from(name, output),
                    f"it has {array.size} elements, and each has a gradient of its own",
                    "reduce it to one number first (y.sum().backward()), or pass y.backward(gradient)",
                )
            one = backends.of(array).xp.ones_like(array)
            announce(modes().observers, one, "gradient")
            roots.append((output.node, above.wrap(one)))
            continue
        gradient = above.as_tensor(gradient)
        if tuple(gradient.array.shape) != tuple(array.shape):
            raise ShapeError(
                _from(name, output),
                f"the gradient given has shape {tuple(gradient.array.shape)}",
                f"pass one of shape {tuple(array.shape)}",
            )
        if gradient.device != output.device:
            mend = f"move it first: gradient.to({output.device!r})"
            why = f"it lives on {output.device!r}, and the gradient given on {gradient.device!r}"
            raise DeviceError(_from(name, output), why, mend)
        roots.append((output.node, gradient.to(output.array.dtype)))
    return roots


def _from(name: str, output: Any) -> str:
    return f"{name} from a tensor {tuple(output.array.shape)} {output.array.dtype}"


def _run(
    roots: list[tuple[Node, Any]], retain: bool, create: bool, only: Any = None, early: _Leaves | None = None
) -> Backward:
    """One walk: with tensors if ``create``, which records them, or under forward mode; else with raw arrays."""
    m = modes()
    tensors = create or any(observer.differentiates for observer in m.observers)
    world = TENSORS if tensors else ARRAYS
    starts = [node for node, _ in roots]
    if early is not None and len(WAITED_FOR) and not tensors:
        run: Backward = _Early(starts, early, retain, world)
    else:
        run = Backward(retain=retain, world=world) if only is None else _Toward(starts, only, retain, world)
    for node, gradient in roots:
        run.send(node, gradient if tensors else gradient.array)
    _walk(run, create)
    return run


def _walk(run: Backward, create: bool) -> None:
    """Do the walk, with operations recorded only if ``create``."""
    m = modes()
    try:
        if m.grad != create:
            MODES.set(m.recording(create))
        run.run()
    except MemoryError as error:
        if isinstance(error, EduError):  # a tensor operation has said it already
            raise
        why, mend = refused(error) or (str(error), "")
        raise OutOfMemoryError("a walk back through the graph", why, mend) from error
    finally:
        MODES.set(m)


class _Selective(Backward):
    """A walk that goes only where something is wanted, and leaves the rest of the graph as it is."""

    def leads(self, node: Node) -> bool:
        """Whether to send a gradient to this node."""
        raise NotImplementedError

    def visit(self, node: Node, g: Any) -> tuple[Any, ...]:
        """`pull`, if any of it is wanted, and hand that on."""
        onward = [parent is not None and self.leads(parent) for parent in node.parents]
        if not any(onward):
            return ()
        grads = self.pull(node, g)
        for parent, part, wanted in zip(node.parents, grads, onward, strict=False):
            if wanted and parent is not None and part is not None:
                self.send(parent, part)
        return grads


class _Toward(_Selective):
    """For `grad`: to the wanted nodes and those on the way to them."""

    def __init__(self, roots: list[Node], wanted: list[Node], retain: bool, world: World) -> None:
        super().__init__(retain=retain, world=world, only=wanted)
        self.on_the_way = set(wanted)
        reached, todo = set(roots), list(roots)
        while todo:
            for parent in todo.pop().parents:
                if parent is not None and parent not in reached:
                    reached.add(parent)
                    todo.append(parent)
        for node in sorted(reached, key=lambda node: node.number):  # parents come before their results
            if any(parent in self.on_the_way for parent in node.parents):
                self.on_the_way.add(node)

    def leads(self, node: Node) -> bool:
        """Whether a wanted node is found from here."""
        return node in self.on_the_way


class _Young(_Selective):
    """Over the nodes made after ``since``, and no farther than ``ends``, where gradients stay as they arrive."""

    def __init__(self, ends: list[Node], since: int, retain: bool, world: World) -> None:
        super().__init__(retain=retain, world=world)
        self.arrived: dict[Node, Any] = dict.fromkeys(ends)
        self.since = since

    def leads(self, node: Node) -> bool:
        """Whether it is one of the ends, or of those nodes."""
        return node in self.arrived or node.number > self.since

    def send(self, node: Node, g: Any) -> None:
        """An end is not visited, and its hooks do not run."""
        if node not in self.arrived:
            return super().send(node, g)
        held = self.arrived[node]
        self.arrived[node] = g if held is None else held + g
        for observer in self.observers if held is not None else ():
            observer.made(self.arrived[node], "gradient")


def transpose(output: Any, x: Any, since: int, create: bool) -> Any:
    """The gradient of one number with respect to the leaf ``x``, over a graph made after ``since``; None for zero.

    For `forward`: the graph is one op's backward body. The older graph that it grew from stays as it is.
    """
    run = _Young([x.node], since, True, TENSORS)
    run.send(output.node, above.wrap(backends.of(output.array).xp.ones_like(output.array)))
    _walk(run, create)
    return run.arrived[x.node]


def between(outputs: Any, gradients: Any, ends: list[Node], since: int) -> list[Any]:
    """The gradients of ``outputs`` that arrive at the nodes ``ends``, over a graph made after ``since``; None for none.

    For `utils.checkpoint`: the graph is one part of a model, computed again. The older graph around it stays as it is.
    """
    m = modes()
    world = TENSORS if m.grad or any(observer.differentiates for observer in m.observers) else ARRAYS
    run = _Young(ends, since, m.grad, world)
    for node, gradient in _roots("a checkpoint", outputs, gradients):
        run.send(node, gradient if world is TENSORS else gradient.array)
    _walk(run, m.grad)
    arrived = (g if g is None or isinstance(g, TensorBase) else above.wrap(g) for g in map(run.arrived.get, ends))
    hooked = run.exposed and not any(observer.keeps for observer in m.observers)  # those are asked farther out, too
    return [ct.clone(g) if g is not None and hooked else g for g in arrived]  # a hook may have kept it


def backward(
    tensors: Any, grad_tensors: Any = None, retain_graph: bool | None = None, create_graph: bool = False
) -> None:
    """Add the gradients of ``tensors``, one or several, to the ``.grad`` of the leaves; see `Tensor.backward`.

    ``grad_tensors`` are the gradients to start from, one each; None for a tensor of one element.
    """
    outputs, gradients = _starts("backward", tensors, grad_tensors)
    roots = _roots("backward()", outputs, gradients)
    leaves = _Leaves({id(gradient.array) for _, gradient in roots}, create_graph)
    retain = create_graph if retain_graph is None else retain_graph or create_graph
    run = _run(roots, retain, create_graph, early=leaves)
    for leaf, g in run.waiting.items():
        leaves.arrive(leaf, g, run.exposed)


class _Leaves:
    """What arrives at leaves is added to their ``.grad``. ``seen`` are the arrays, by id, that somebody else has."""

    def __init__(self, seen: set[int], create: bool) -> None:
        self.seen, self.create, self.modes = seen, create, modes()

    def arrive(self, leaf: Node, g: Any, exposed: bool) -> None:
        """All of a leaf's gradient is there. ``exposed``: somebody else may have the array."""
        assert isinstance(leaf, Leaf)
        hooked = leaf.extra is not None and bool(leaf.extra.hooks)
        if hooked:
            g = run_hooks(leaf, g)
        array = g.array if isinstance(g, TensorBase) else g
        tensor = leaf.tensor() if array.ndim > 1 else None
        # A gradient is laid out in memory as its leaf is: then an optimiser reads both in the same order.
        if tensor is not None and array.strides != tensor.array.strides:
            if array is g:
                g = lay_as_leaf(backends.of(array).xp, array, tensor.array.strides)
                if g is not array:
                    announce(modes().observers, g, "gradient")
            else:
                g = lay_as_leaf(TENSORS.namespace(g), g, tensor.array.strides)
            array = g.array if isinstance(g, TensorBase) else g
        # .grad adopts an array only if nobody else can have it: later gradients are added to it in place.
        shared = exposed or hooked or id(array) in self.seen or getattr(array, "base", None) is not None
        self.seen.add(id(array))
        accumulate(leaf, g, array, _gradient, shared, self.create)

    def early(self, leaf: Node, g: Any, exposed: bool) -> None:
        """The same in the middle of a walk, in the modes of the program, as hooks are called there."""
        before = modes()
        try:
            MODES.set(self.modes)
            self.arrive(leaf, g, exposed)
        finally:
            MODES.set(before)


class _Early(Backward):
    """A walk that gives a leaf whose hooks wait for ``.grad`` its gradient as soon as all of it is there.

    So they run while the walk goes on, as in PyTorch. What is there is known by counting: each edge that leads to the
    leaf is walked once. Where some are not walked, because no gradient comes that way, it waits until the end.
    """

    def __init__(self, roots: list[Node], leaves: _Leaves, retain: bool, world: World) -> None:
        super().__init__(retain=retain, world=world)
        self.leaves = leaves
        self.left: dict[Node, int] = {}
        reached, todo = set(roots), list(roots)
        while todo:
            for parent in todo.pop().parents:
                if parent is None:
                    continue
                if parent.extra is not None and parent.extra.after:
                    self.left[parent] = self.left.get(parent, 0) + 1
                if parent not in reached:
                    reached.add(parent)
                    todo.append(parent)

    def visit(self, node: Node, g: Any) -> tuple[Any, ...]:
        """`Backward.visit`; then leaves whose last edge this was are served."""
        grads = super().visit(node, g)
        for parent in node.parents:
            if parent is not None and parent in self.left:
                self.left[parent] -= 1
                if not self.left[parent] and parent in self.waiting:
                    part = self.waiting.pop(parent)
                    self.leaves.early(parent, part, self.exposed or self._is_waiting(part))
        return grads

    def _is_waiting(self, part: Any) -> bool:
        """Whether another gradient that waits is the same memory."""
        owner = backends.of(part).owner(part)
        return any(backends.of(one).owner(one) is owner for one in self.waiting.values())


def _starts(name: str, tensors: Any, gradients: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Outputs and their gradients, as tuples of one length."""
    outputs = _several(tensors)
    given = tuple(gradients) if isinstance(gradients, (list, tuple)) else (gradients,) * len(outputs)
    if len(given) != len(outputs):
        raise AutogradError(
            f"{name} of {len(outputs)} outputs",
            f"{len(given)} gradients were given for them",
            "pass one for each; None stands for 1 where an output has one element",
        )
    return outputs, given


def _several(tensors: Any) -> tuple[Any, ...]:
    """One tensor or several, as a tuple. Any iterable of tensors works, such as ``model.parameters()``."""
    if isinstance(tensors, TensorBase) or not hasattr(tensors, "__iter__"):
        return (tensors,)
    return tuple(tensors)


def _gradient(g: Any, shared: bool) -> Any:
    """A leaf's gradient: a tensor with memory of its own."""
    if isinstance(g, TensorBase):
        return ct.clone(g) if shared else g
    if shared:
        g = backends.of(g).xp.copy(g)
        announce(modes().observers, g, "gradient")
    return above.wrap(g)


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Any, ...]:
    """The gradients of ``outputs`` with respect to ``inputs``, as a tuple; no ``.grad`` is touched.

    ``inputs`` may be leaves or results, one or several: ``model.parameters()`` works too. Raises `AutogradError` for an
    input that the outputs do not depend on, unless ``allow_unused`` gives None for it, or ``materialize_grads`` zeros.
    ``only_inputs`` and ``is_grads_batched`` must keep their defaults: only the requested gradients are computed, and
    one of each.

    >>> import tinygrad_edu as tg
    >>> x = tg.tensor(3.0, requires_grad=True)
    >>> (slope,) = tg.autograd.grad(x * x, x, create_graph=True)
    >>> (curvature,) = tg.autograd.grad(slope, x)
    >>> slope.item(), curvature.item()
    (6.0, 2.0)
    """
    if not only_inputs or is_grads_batched:
        setting = "is_grads_batched=True" if is_grads_batched else "only_inputs=False"
        why = "it finds one gradient for each input, and touches no others"
        raise ArgumentError(f"grad with {setting}", why, "call it once for each gradient, or backward() for all")
    if materialize_grads and allow_unused is False:
        why = "zeros stand for the gradients of inputs that were not used"
        mend = "leave allow_unused out"
        raise ArgumentError("grad with materialize_grads=True and allow_unused=False", why, mend)
    outputs, gradients = _starts("grad", outputs, grad_outputs)
    inputs = _several(inputs)
    for position, x in enumerate(inputs):
        if not isinstance(x, TensorBase):
            raise DtypeError(
                f"grad with respect to input {position}, a {type(x).__name__}",
                "gradients are taken with respect to tensors",
                "pass the tensor itself, or a list of tensors",
            )
        settle(x)
    nodes = [x.node for x in inputs]
    retain = create_graph if retain_graph is None else retain_graph
    run = _run(_roots("grad()", outputs, gradients), retain, create_graph, [n for n in nodes if n is not None])
    found = {**run.waiting, **run.captured}
    result = []
    for position, node in enumerate(nodes):
        g = None if node is None else found.get(node)
        if g is not None and isinstance(node, Leaf):
            g = run_hooks(node, g)
        if g is None and materialize_grads:
            array = inputs[position].array
            g = above.wrap(backends.of(array).xp.zeros_like(array)).requires_grad_(create_graph)
        if g is None and not allow_unused:
            raise AutogradError(
                f"grad with respect to input {position}",
                "the outputs were not computed from it, or it does not require grad",
                "leave it out, or pass allow_unused=True to get None for it",
            )
        result.append(g if g is None or isinstance(g, TensorBase) else above.wrap(g))
    return tuple(result)
