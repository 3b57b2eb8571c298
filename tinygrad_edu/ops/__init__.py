"""Every operation, one class each: ``forward`` above ``backward``, written once for all worlds."""

from ..inputs import explain as _explain  # noqa: F401  (the core calls it, and the next)
from ..inputs import source as _source  # noqa: F401
