"""What an operation's caller tells those who ask before it was ever called, and so before it was generated."""

from __future__ import annotations

from inspect import Parameter, Signature

from ..core.above import above
from ..core.dispatch import write_caller
from ..core.op import REQUIRED, Op


def signature(op: type[Op], out: bool) -> Signature:
    """The signature that the caller will have; with ``out``, of the one that takes ``out=`` too."""
    plain, keyword = Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY
    found = [Parameter(n, plain, default=None if n in op.optional else Parameter.empty) for n in op.operands]
    for name, default in op.params.items():
        found.append(Parameter(name, keyword, default=Parameter.empty if default is REQUIRED else default))
    return Signature(found + [Parameter("out", keyword, default=None)] * out)


class _Source:
    """The text of an op's caller, written when somebody asks."""

    def __get__(self, instance: object, op: type[Op]) -> str:
        return write_caller(op)


Op.source = _Source()
above.signature = signature
