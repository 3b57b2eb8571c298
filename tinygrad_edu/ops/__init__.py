"""Every operation, one class each: ``forward`` above ``backward``, written once for every kind of array."""

from ..inputs import explain as _explain  # noqa: F401  (the core calls these three)
from ..inputs import source as _source  # noqa: F401
from . import into as _into  # noqa: F401
